//! Purpose: one run as it stands: what it has brought forth, whether it is held, and how it ended.
//!
//! The phase is a cursor over what exists (goal, steps, actions), never a stored field: a jump back loses nothing.

use serde::{Deserialize, Serialize};

use super::effect::Key;
use super::fact::{StopReason, Trigger};
use crate::domain::{Account, Millis};
use crate::plan::{Action, Goal, Step};

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub String);

impl std::fmt::Display for RunId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    pub id: RunId,
    pub requester: Account,
    pub how: Trigger,
    pub started_at: Millis,
    pub event_at: Option<Millis>,
    pub goal: Option<Goal>,
    /// #0 is the first plan; each replan adds one. The last is the one in force.
    pub revisions: Vec<Revision>,
    pub pause: Option<Pause>,
    /// A question that failed for a passing reason and is asked again at its time.
    pub retry: Option<Retry>,
    /// How often the current question has failed.
    pub failed_asks: u32,
    pub spent: Spent,
    pub unused_comments: u32,
    pub end: Option<End>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Revision {
    pub steps: Vec<Step>,
    pub sequence: Option<Sequence>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Sequence {
    pub actions: Vec<Action>,
    pub digest: String,
    pub at: Millis,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Pause {
    pub by: Account,
    pub since: Millis,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Retry {
    pub key: Key,
    pub failed_at: Millis,
    pub reason: String,
}

/// What the run has cost so far. A call counts from its beginning, so that a crash cannot hide one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spent {
    pub model_calls: u32,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cost_micro_usd: Option<u64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct End {
    pub state: EndState,
    pub at: Millis,
}

#[derive(Debug, Clone, PartialEq)]
pub enum EndState {
    Cancelled { by: Account },
    Stopped { by: Account, why: StopReason },
    Failed { reason: String },
}

impl EndState {
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Cancelled { .. } => "cancelled",
            Self::Stopped { .. } => "stopped",
            Self::Failed { .. } => "failed",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Understand,
    Decompose,
    Sequence,
    Approve,
}

impl Phase {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Understand => "understand",
            Self::Decompose => "decompose",
            Self::Sequence => "sequence",
            Self::Approve => "approve",
        }
    }
}

/// Why a run does nothing at the moment. At most one holds at a time.
#[derive(Debug, Clone, PartialEq)]
pub enum Hold<'a> {
    Paused(&'a Pause),
    Retry(&'a Retry),
    Approval { since: Millis },
}

impl Run {
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.end.is_none()
    }

    #[must_use]
    pub fn phase(&self) -> Phase {
        match (&self.goal, self.revisions.last()) {
            (None, _) => Phase::Understand,
            (Some(_), None) => Phase::Decompose,
            (Some(_), Some(Revision { sequence: None, .. })) => Phase::Sequence,
            (Some(_), Some(Revision { sequence: Some(_), .. })) => Phase::Approve,
        }
    }

    #[must_use]
    pub fn hold(&self) -> Option<Hold<'_>> {
        if let Some(pause) = &self.pause {
            return Some(Hold::Paused(pause));
        }
        if let Some(retry) = &self.retry {
            return Some(Hold::Retry(retry));
        }
        let sequence = self.revisions.last()?.sequence.as_ref()?;
        Some(Hold::Approval { since: sequence.at })
    }

    /// The name of the question that the run is at: phase, revision and attempt. Answers to any other are stale.
    #[must_use]
    pub fn ask_key(&self) -> Key {
        let revision = self.revisions.len();
        Key(format!("{}/{}/r{revision}/t{}", self.id, self.phase().as_str(), self.failed_asks))
    }
}
