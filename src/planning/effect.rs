//! Purpose: what a run should be doing now. Effects are started by the engine, each under a key that names it for ever.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::converse::Interactive;
use super::cursor::{Next, is_reflection_due, next};
use super::fact::Fact;
use super::reconsider::at_limit;
use super::replanned::unrecorded;
use super::replans::ReplanPolicy;
use super::run::{Hold, Retry, Run};
use crate::actions::Risk;
use crate::domain::Millis;
use crate::plan::{ActionId, Call, Decided};

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

#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    Ask {
        key: Key,
        question: Question,
    },
    /// Look at the repository: is the plan possible, and what would it change?
    Preflight {
        key: Key,
    },
    /// Look once more whether this action may run now, and begin it.
    Begin {
        key: Key,
        action: ActionId,
    },
    /// Carry out an action that is specified to the letter.
    Act {
        key: Key,
        action: ActionId,
    },
    /// Do what a worker asked for, if it is within what was approved.
    Use {
        key: Key,
        action: ActionId,
        call: Call,
    },
    /// Push the branch and open the change request.
    Deliver {
        key: Key,
    },
    /// Nothing to do before this time.
    Wait {
        key: Key,
        until: Millis,
    },
    /// What follows from what is known already; it only has to be written down.
    Note {
        key: Key,
        facts: Vec<Fact>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    Understand,
    Decompose,
    Sequence,
    /// The next turn of the worker on the current action.
    Work,
    Reflect,
    /// What people should be asked before the design.
    Discover,
    /// Which questions somebody's words answer.
    MapAnswers,
    Design,
    Summarise,
    /// Whether the plan should change, asked by itself.
    Decide,
    /// What takes the place of what is not done.
    Revise,
    /// What the plan came to as a whole.
    Evaluate,
    /// How to go on without a replan.
    OtherWay,
}

/// The numbers that the core decides by.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// How long to wait before trying again after the first, second … passing failure. As many as there are entries;
    /// one failure more ends the run.
    pub retry_after_ms: Vec<i64>,
    /// Up to this risk nobody is asked; `high` always needs a person, whatever stands here.
    pub auto: Option<Risk>,
    /// How many people have to approve a high risk.
    pub approvals: u32,
    /// Whoever asked for the run cannot approve its high risks.
    pub not_requester: bool,
    /// How often a plan that is not possible is asked for anew.
    pub regenerations: u32,
    pub reflection_interval: u32,
    pub max_reflections: u32,
    /// How many turns a worker has for one action, and how often it may ask for what is out of bounds.
    pub max_turns: usize,
    pub max_refused: u32,
    pub delivers: bool,
    pub interactive: Interactive,
    pub replan: ReplanPolicy,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            retry_after_ms: vec![30_000, 120_000, 600_000],
            auto: Some(Risk::Low),
            approvals: 1,
            not_requester: false,
            regenerations: 3,
            reflection_interval: 5,
            max_reflections: 3,
            max_turns: 12,
            max_refused: 4,
            delivers: true,
            interactive: Interactive::Auto,
            replan: ReplanPolicy::default(),
        }
    }
}

impl Policy {
    /// When something that failed for the nth time (from 1) may be tried again, if at all.
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
    if let Some((id, facts)) = unrecorded(run) {
        return vec![Effect::Note { key: Key(format!("{}/ended/{id}", run.id)), facts }];
    }
    let until = |key: Key, deadline: Option<Millis>| deadline.map(|until| Effect::Wait { key, until });
    let effect = match run.hold() {
        Some(Hold::Retry(retry)) => Some(try_again(run, retry, policy)),
        Some(Hold::Answers(round)) => until(round.key(&run.id), round.deadline),
        Some(Hold::Confirm(replan)) => until(replan.key(&run.id), replan.deadline),
        Some(Hold::Limit(hit)) => {
            at_limit(run, hit, policy).map(|facts| Effect::Note { key: run.key(), facts })
        }
        Some(
            Hold::Paused(_) | Hold::Approval(_) | Hold::Unclear(_) | Hold::Decisions(_) | Hold::Review(_),
        ) => None,
        // What costs nothing more is still done: an end has to be written down.
        Some(Hold::Budget(_)) => Some(effect(run, policy)).filter(|effect| !effect.costs()),
        None => Some(effect(run, policy)),
    };
    effect.into_iter().filter(|effect| !in_flight.contains(effect.key())).collect()
}

fn effect(run: &Run, policy: &Policy) -> Effect {
    let key = run.key();
    match next(run, policy) {
        Next::Ask(question) => Effect::Ask { key, question },
        Next::Preflight => Effect::Preflight { key },
        Next::Begin(action) => Effect::Begin { key, action: action.id.clone() },
        Next::Act(action) => Effect::Act { key, action: action.id.clone() },
        Next::Use(action, call) => Effect::Use { key, action: action.id.clone(), call: call.clone() },
        Next::Deliver => Effect::Deliver { key },
        Next::Note(facts) => Effect::Note { key, facts },
    }
}

fn try_again(run: &Run, retry: &Retry, policy: &Policy) -> Effect {
    let key = retry.key.clone();
    match policy.retry_at(run.failed_asks, retry.failed_at) {
        Some(until) => Effect::Wait { key, until },
        // Looking back is worth something, but no reason to stop.
        None if is_reflection_due(run, policy) && run.broken.is_none() => {
            let replan = Decided::Nothing;
            let skipped = Fact::Reflected { key: run.key(), reflection: None, usage: None, replan };
            Effect::Note { key, facts: vec![skipped] }
        }
        None => Effect::Note { key, facts: super::plan_tool::give_up(run, &retry.reason) },
    }
}

impl Effect {
    /// Whether it uses up what a budget limits. An action that has begun is ended.
    fn costs(&self) -> bool {
        match self {
            Self::Ask { .. } | Self::Begin { .. } => true,
            Self::Preflight { .. }
            | Self::Act { .. }
            | Self::Use { .. }
            | Self::Deliver { .. }
            | Self::Wait { .. }
            | Self::Note { .. } => false,
        }
    }

    #[must_use]
    pub fn key(&self) -> &Key {
        match self {
            Self::Ask { key, .. }
            | Self::Preflight { key }
            | Self::Begin { key, .. }
            | Self::Act { key, .. }
            | Self::Use { key, .. }
            | Self::Deliver { key }
            | Self::Wait { key, .. }
            | Self::Note { key, .. } => key,
        }
    }
}

/// Whether an effect that is under way should go on. A pause lets it finish; an end drops it.
#[must_use]
pub fn keeps(run: &Run, key: &Key) -> bool {
    run.is_live() && run.key() == *key
}
