//! Purpose: the words that every room shares: threads, accounts, permissions, events, commands.
//!
//! Bytes from a forge become these types once, at the door; everything behind it speaks only them.

mod account;
mod change;
mod command;
mod event;
mod lang;
mod permission;
mod thread;

pub use account::{Account, AccountId, AccountKind};
pub use change::{
    ChangeBranch, ChangeDiff, ChangeRequest, FileDiff, NewChangeRequest, Readiness, Repository,
};
pub use command::{Command, Spoken, VERBS, Verb, parse_command};
pub use event::{Comment, CommentId, DiffLine, Event, EventKind, Reaction, Thread};
pub use lang::Lang;
pub use permission::{Permission, Right, Verdict};
pub use thread::{ForgeKind, ParseThreadError, Project, ThreadKind, ThreadRef};

/// Milliseconds since the Unix epoch. Times enter the pure rooms as values; nothing in them reads a clock.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub struct Millis(pub i64);

impl Millis {
    #[must_use]
    pub fn plus(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }
}

/// RFC 3339 in UTC with seconds, as people and the history read it.
impl std::fmt::Display for Millis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(time) => write!(f, "{}", time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ")),
            Err(_) => write!(f, "{} ms", self.0),
        }
    }
}
