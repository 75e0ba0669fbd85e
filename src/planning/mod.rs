//! Purpose: the pure core. What happened on a thread goes in as facts; what to do next comes out as effects.
//!
//! Two functions are the heart. [`Record::apply`] folds one journal entry into what is known of a thread;
//! [`next_effects`] says what its run should be doing. Between them stands no clock, no network and no disk: times are
//! part of the entries, and a restart is nothing but the same fold again.
//!
//! [`interpret`] stands before them: it reads what somebody did ([`crate::domain::Event`]) in the light of the record,
//! the actor's rights and the live state of the thread, and says which facts follow.
//!
//! Three properties hold (see `tests/it/core.rs`): any prefix of any journal folds; folding the same entries gives the
//! same record; a run that has ended has no effects.

mod apply;
mod budget;
mod commands;
mod cursor;
mod effect;
mod fact;
mod interpret;
pub mod plan_tool;
mod proposal;
mod record;
mod run;
mod work;

pub use budget::{Limits, Reached, Resource, Spent};
pub use effect::{Effect, InFlight, Key, Policy, Question, keeps, next_effects};
pub use fact::{AskProblem, Entry, Fact, LeftOut, Notice, StopReason, Trigger, UnreadableEntry};
pub use interpret::{Observation, PreviewSeen, Rules, interpret, needs_permission, needs_thread, signals};
pub use proposal::{Actor, Approval, Counts, Named, Place, PlanStatus, Proposal, Request, Wanted};
pub use record::{Owed, Record};
pub use run::{
    Delivery, End, EndState, Hold, Pause, Phase, Reflections, Retry, Revision, Run, RunId, Sequence,
};
pub use work::{Ended, Evidence, Outcome, StepState, Turn, Work, Works};
