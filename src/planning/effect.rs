//! Purpose: what a run should be doing now. Effects are started by the engine, each under a key that names it for ever.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::run::{Hold, Phase, Retry, Run};
use crate::domain::Millis;

/// Names one effect of one run. Derived from the run alone, so that after a crash the same effect has the same name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Key(pub String);

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

pub type InFlight = BTreeSet<Key>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    Ask {
        key: Key,
        question: Question,
    },
    /// Nothing to do before this time.
    Wait {
        key: Key,
        until: Millis,
    },
    /// The question has failed too often: the run ends with this reason.
    GiveUp {
        key: Key,
        reason: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    Understand,
    Decompose,
    Sequence,
}

/// The numbers that the core decides by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// How long to wait before asking again after the first, second … passing failure. As many as there are entries;
    /// one failure more ends the run.
    pub retry_after_ms: Vec<i64>,
}

impl Default for Policy {
    fn default() -> Self {
        Self { retry_after_ms: vec![30_000, 120_000, 600_000] }
    }
}

impl Policy {
    /// When a question that failed for the nth time (from 1) may be asked again, if at all.
    #[must_use]
    pub fn retry_at(&self, failures: u32, failed_at: Millis) -> Option<Millis> {
        let nth = usize::try_from(failures.checked_sub(1)?).ok()?;
        self.retry_after_ms.get(nth).map(|delay| failed_at.plus(*delay))
    }
}

/// What to start now. What is in flight already is not named again.
#[must_use]
pub fn next_effects(run: &Run, in_flight: &InFlight, policy: &Policy) -> Vec<Effect> {
    if !run.is_live() {
        return vec![];
    }
    let effect = match run.hold() {
        Some(Hold::Paused(_) | Hold::Approval { .. }) => None,
        Some(Hold::Retry(retry)) => Some(ask_again(run, retry, policy)),
        None => question(run.phase()).map(|question| Effect::Ask { key: run.ask_key(), question }),
    };
    effect.into_iter().filter(|effect| !in_flight.contains(effect.key())).collect()
}

fn ask_again(run: &Run, retry: &Retry, policy: &Policy) -> Effect {
    let key = retry.key.clone();
    match policy.retry_at(run.failed_asks, retry.failed_at) {
        Some(until) => Effect::Wait { key, until },
        None => Effect::GiveUp { key, reason: retry.reason.clone() },
    }
}

impl Effect {
    #[must_use]
    pub fn key(&self) -> &Key {
        match self {
            Self::Ask { key, .. } | Self::Wait { key, .. } | Self::GiveUp { key, .. } => key,
        }
    }
}

fn question(phase: Phase) -> Option<Question> {
    match phase {
        Phase::Understand => Some(Question::Understand),
        Phase::Decompose => Some(Question::Decompose),
        Phase::Sequence => Some(Question::Sequence),
        Phase::Approve => None,
    }
}

/// Whether an effect that is under way should go on. A pause lets a model call finish; an end drops it.
#[must_use]
pub fn keeps(run: &Run, key: &Key) -> bool {
    run.is_live() && run.ask_key() == *key
}
