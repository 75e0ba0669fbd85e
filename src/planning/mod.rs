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

mod digest;
mod effect;
mod fact;
mod interpret;
mod record;
mod run;

pub use digest::plan_digest;
pub use effect::{Effect, InFlight, Key, Policy, Question, keeps, next_effects};
pub use fact::{AskProblem, Entry, Fact, Notice, StopReason, Trigger, UnreadableEntry};
pub use interpret::{Observation, Rules, concerns, interpret, needs_permission, needs_thread};
pub use record::{Owed, Record};
pub use run::{End, EndState, Hold, Pause, Phase, Retry, Revision, Run, RunId, Sequence, Spent};
