//! Purpose: the pure core. What happened on a thread goes in as facts; what to do next comes out as effects.
//!
//! Two functions are the heart. [`Record::apply`] folds one journal entry into what is known of a thread;
//! [`next_effects`] says what its run should be doing. Between them stands no clock, no network and no disk: times are
//! part of the entries, and a restart is nothing but the same fold again.
//!
//! [`interpret()`] stands before them: it reads what somebody did ([`crate::domain::Event`]) in the light of the record,
//! the actor's rights and the live state of the thread, and says which facts follow.
//!
//! Once a plan is approved, its steps are led: `leader` gives them to workers, each in a lane (`lanes`) that names its own
//! effects, so that several go on side by side; `help` says who is asked when one is stuck; `crewed` is what comes of
//! that. Whatever concerns the run as a whole waits until no action is at work.
//!
//! Three properties hold (see `tests/it/journals.rs`): any prefix of any journal folds; folding the same entries gives the
//! same record; a run that has ended has no effects.

mod answers;
mod apply;
mod budget;
mod commands;
mod confirm;
mod converse;
mod crew;
mod crewed;
mod cursor;
mod document;
mod effect;
mod entry;
mod fact;
mod help;
mod interpret;
mod judge;
mod known_tools;
mod lanes;
mod leader;
mod needs;
mod notice;
mod plan_state;
pub mod plan_tool;
mod proposal;
mod reconsider;
mod record;
mod replanned;
mod replans;
mod retry;
mod revise;
mod run;
mod session;
mod statistics;
mod talk;
mod talked;
mod told;
mod work;

pub use answers::TicksSeen;
pub use budget::{Limits, Reached, Resource, Spent};
pub use confirm::{Mismatch, confirm, rests_on};
pub use converse::Interactive;
pub use crew::{CrewFact, CrewState, Escalation, EscalationState, Fallback, Plea, Reminder, Taken};
pub use document::{DOCUMENT_LABEL, document_read};
pub use effect::{CrewPolicy, Effect, InFlight, Key, Policy, Question, keeps, next_effects};
pub use entry::{Entry, UnreadableEntry};
pub use fact::Fact;
pub use interpret::{Observation, PreviewSeen, Rules, interpret, signals};
pub use judge::{judge, level_of};
pub use lanes::Lane;
pub use leader::judgement;
pub use needs::{Heard, needs_permission, needs_thread};
pub use notice::{AskProblem, Boxes, LeftOut, Notice, StopReason, Trigger};
pub use proposal::{Actor, Approval, Counts, Named, Place, PlanStatus, Proposal, Request, Wanted};
pub use record::{Asked, Owed, Record};
pub use replanned::{outline, repeats};
pub use replans::{
    AskedFor, Fresh, Limit, LimitHit, OVERTAKEN, OnLimit, Replan, ReplanFact, ReplanPolicy, ReplanResult,
    ReplanState, Replans, Settled, Source, Verdict,
};
pub use retry::{Retry, Tries};
pub use run::{
    Delivery, End, EndState, Hold, Origin, Pause, Phase, Reflections, Revision, Run, RunId, Sequence,
    SetAside,
};
pub use session::Session;
pub use statistics::ReplanStatistics;
pub use talk::{
    Assumption, Changed, Choice, Design, Difference, Given, How, Purpose, Reply, Round, Talk, TalkFact,
    TurnedDown, Wish, Words,
};
pub use told::told;
pub use work::{Commits, Ended, Evidence, NOTHING_TO_CHANGE, Outcome, StepState, Turn, Work, Works};
