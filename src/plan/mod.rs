//! Purpose: what a plan is made of: the goal, its steps, their actions, and the digest that names them.

mod action;
mod goal;
mod step;
mod turn;

pub use action::{Action, ActionId, ActionKind, ActionSpec};
pub use goal::Goal;
pub use step::{Complexity, PlanProblem, Step, StepId, check_steps};
pub use turn::{Call, Feedback, FeedbackKind, Reflection, ReflectionStatus};
