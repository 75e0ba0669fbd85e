//! Purpose: what a plan is made of: the goal, what people were asked about it, its steps and actions, and what a model
//! says about changing it.

mod action;
mod feedback;
mod goal;
mod impediment;
mod question;
mod replan;
mod step;
mod turn;

pub use action::{Action, ActionId, ActionKind, ActionSpec};
pub use feedback::{Confidence, Feedback, Impediment, WorkResult};
pub use goal::Goal;
pub use impediment::{Category, RequestedAction};
pub use question::{DecisionPoint, DesignOption, Question, QuestionId, QuestionKind, Tradeoffs};
pub use replan::{
    Alternative, Decided, ErrorClass, EvaluationResult, Level, OtherWay, ReplanDecision, ReplanDetails,
    ReplanPhase, ReplanType, RevisionScope,
};
pub use step::{Complexity, PlanProblem, Step, StepId, check_steps};
pub use turn::{Call, Reflection, ReflectionStatus};
