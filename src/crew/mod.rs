//! Purpose: how the steps of a plan are led: who works on what, whether it is done, and who is asked when it is not.
//!
//! The room decides over small inputs and knows no run; [`crate::planning`] counts, asks here, and writes down what
//! came of it. Reading order, as a step lives:
//!
//! 1. The **leader** ([`assign`]) gives the steps whose dependencies are accepted to free workers, in plan order.
//! 2. The **worker** does the work and tells of it; what keeps it from going on is an impediment, which [`cause_of`]
//!    turns into a cause.
//! 3. The **judge** ([`weigh`]) says done, continue or replan. What can be shown outranks what a model thinks.
//! 4. **Escalation** ([`route`], [`after`]) is a table: cause in, target out, each target within its limit. Whether the
//!    advice of a model is enough says [`helps`].
//! 5. Where people are the target, [`whom()`] names them; who answers for a path is read from [`CodeOwners`].

mod advice;
mod codeowners;
mod escalation;
mod judge;
mod leader;
mod pattern;
mod whom;

pub use advice::{Advice, CONFIDENT, Helps, helps};
pub use codeowners::{CodeOwners, GITHUB_PLACES, GITLAB_PLACES, MAX_BYTES, Owner, Problem, places};
pub use escalation::{Asked, Cause, Limits, Roster, Route, Target, Then, after, cause_of, route};
pub use judge::{
    ActionEvidence, By, Change, Judgement, MAX_REMARKS, Need, Shown, StepEvidence, Verdict, Weighed, weigh,
};
pub use leader::{Assignment, Candidate, Checkout, Standing, assign};
pub use whom::{MOST_MENTIONED, People, whom};
