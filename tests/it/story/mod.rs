//! Purpose: short stories over the whole bot: somebody acts, the forge sends its webhook, we look at the thread.
//!
//! The bot is the real one, with its real HTTP clients and its real SQLite, in front of a fake forge that answers from
//! a [`World`](planwright::forge::World), with a scripted model behind it. [`bot`] is the harness.

pub(crate) mod acting;
mod approving;
mod away;
mod bad_input;
pub(crate) mod bot;
mod crash;
pub(crate) mod crew;
mod crew_stops;
mod deciding;
mod delivering;
pub(crate) mod design;
mod escalation;
mod failpoints;
mod forged;
mod hindsight;
mod language;
mod late;
mod levels;
mod limits;
mod mending;
mod others;
mod passing;
pub(crate) mod replan;
pub(crate) mod repo;
mod restart;
mod retention;
mod rights;
mod secrets;
mod shown;
mod signals;
mod standstill;
pub(crate) mod talk;
mod thread;
mod tools;
mod trouble;
