//! Purpose: what a run should be doing now. Effects are started by the engine, each under a key that names it for ever.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::converse::Interactive;
use super::crew::{Fallback, Plea};
use super::cursor::{Next, finish, is_reflection_due, lead, turn};
use super::fact::Fact;
use super::lanes::Lane;
use super::leader::{assign, awaits_judge, called_in, judgement, lanes};
use super::notice::AskProblem;
use super::reconsider::at_limit;
use super::replanned::unrecorded;
use super::replans::ReplanPolicy;
use super::retry::Retry;
use super::run::{Hold, Run};
use crate::actions::Risk;
use crate::crew::Limits;
use crate::domain::Millis;
use crate::plan::{ActionId, Call, Decided, StepId};

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
    /// Take what a worker made onto the run's branch.
    Merge {
        key: Key,
        step: StepId,
    },
    /// Find out who is to be asked, and ask them.
    Escalate {
        key: Key,
        plea: Box<Plea>,
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
    /// What the steps are of a plan that somebody wrote.
    ReadDocument,
    Understand,
    Decompose,
    Sequence,
    /// The next turn of the worker on the action that its lane is at.
    Work,
    /// Whether what a worker made is what its step is for.
    Judge,
    /// What a model knows about a difficulty.
    Advise,
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
    /// one failure more ends the run. While the forge is away, the last one is repeated.
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
    /// How many steps may be worked on side by side.
    pub workers: u32,
    pub crew: CrewPolicy,
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
            workers: 1,
            crew: CrewPolicy::default(),
            interactive: Interactive::Auto,
            replan: ReplanPolicy::default(),
        }
    }
}

/// Whom a worker's difficulties may be taken to, and what follows when nobody answers.
#[derive(Debug, Clone, PartialEq)]
pub struct CrewPolicy {
    pub limits: Limits,
    /// Whether there is a second model to ask.
    pub advisor: bool,
    pub remind_after_ms: i64,
    pub answer_within_ms: i64,
    pub on_no_answer: Fallback,
    /// Whether workers are heard during the work, not only at the end of an action.
    pub reports: bool,
}

impl Default for CrewPolicy {
    fn default() -> Self {
        Self {
            limits: Limits { planner: 2, logic_validator: 2, external_advisor: 1, people: 3 },
            advisor: false,
            remind_after_ms: 4 * 3_600_000,
            answer_within_ms: 24 * 3_600_000,
            on_no_answer: Fallback::Hold,
            reports: true,
        }
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
    let mut effects: Vec<Effect> = match run.hold() {
        Some(Hold::Retry(retry)) => vec![try_again(run, retry, policy)],
        Some(Hold::Answers(round)) => until(round.key(&run.id), round.deadline).into_iter().collect(),
        Some(Hold::Confirm(replan)) => until(replan.key(&run.id), replan.deadline).into_iter().collect(),
        Some(Hold::Limit(hit)) => {
            let facts = at_limit(run, hit, policy);
            facts.map(|facts| Effect::Note { key: run.key(), facts }).into_iter().collect()
        }
        Some(
            Hold::Paused(_) | Hold::Approval(_) | Hold::Unclear(_) | Hold::Decisions(_) | Hold::Review(_),
        ) => vec![],
        // What costs nothing more is still done: an end has to be written down.
        Some(Hold::Budget(_)) => {
            wanted(run, in_flight, policy).into_iter().filter(|effect| !effect.costs()).collect()
        }
        // Whoever waits for people may have used up everything as well.
        Some(Hold::Escalation(_)) | None => {
            let spent = run.budget.reached(&run.spent).is_some() && run.hold().is_some();
            wanted(run, in_flight, policy).into_iter().filter(|effect| !(spent && effect.costs())).collect()
        }
    };
    if run.pause.is_none() {
        effects.extend(deadlines(run));
    }
    effects.retain(|effect| !in_flight.contains(effect.key()));
    effects
}

/// What is at work goes on. What concerns the whole run waits until nothing is, and nothing new begins before it.
fn wanted(run: &Run, in_flight: &InFlight, policy: &Policy) -> Vec<Effect> {
    let lead = lead(run, policy);
    let mut effects = at_work(run, policy);
    let busy = !effects.is_empty() || in_flight.iter().any(|key| run.lane_awaiting(key).is_some());
    let Some(plan) = run.plan() else {
        return lead.map(|next| effect(run.key(), next)).into_iter().collect();
    };
    match lead {
        Some(_) if busy => effects,
        Some(next) => match called_in(run, plan, &next) {
            Some((step, lane, next)) => vec![effect(lane.key(&run.id, step), next)],
            None => vec![effect(run.key(), next)],
        },
        None => {
            let assigned = assign(run, plan, policy);
            if !assigned.is_empty() {
                return vec![Effect::Note { key: Key(format!("{}/assign", run.id)), facts: assigned }];
            }
            let lanes = lanes(run, plan, in_flight).into_iter();
            effects.extend(lanes.map(|(step, lane, next)| effect(lane.key(&run.id, step), next)));
            if effects.is_empty() && !busy {
                return ending(run, policy);
            }
            effects
        }
    }
}

/// The end of the plan, unless something of it is in hand or waits for an answer.
fn ending(run: &Run, policy: &Policy) -> Vec<Effect> {
    if !run.lanes.is_empty() || run.crew.open().next().is_some() {
        return vec![];
    }
    vec![effect(run.key(), finish(run, policy))]
}

/// The next of each action that has begun, and of each lane that has to try something again.
fn at_work(run: &Run, policy: &Policy) -> Vec<Effect> {
    let tries = |(step, lane): (&StepId, &Lane)| {
        let retry = lane.retry.as_ref()?;
        Some(lane_again(run, (step, lane), retry, policy))
    };
    let mut effects: Vec<Effect> = run.lanes.iter().filter_map(tries).collect();
    for (action, work) in run.current_actions() {
        if run.lanes.get(&action.task_id).is_none_or(Lane::is_free) {
            effects.push(effect(run.key_of(&action.id), turn(run, action, work, policy)));
        }
    }
    effects
}

/// What cannot be had in the end leaves its lane where it is: the run ends once the others are called in. Only a judge
/// can be done without: then what can be shown decides alone.
fn lane_again(run: &Run, (step, lane): (&StepId, &Lane), retry: &Retry, policy: &Policy) -> Effect {
    if let Some(until) = policy.retry_at(retry) {
        return Effect::Wait { key: retry.key.clone(), until };
    }
    let key = lane.key(&run.id, step);
    let judged = awaits_judge(run, step, lane).then(|| judgement(run, &key, None, None)).flatten();
    let fact = judged.map(Fact::Crew).unwrap_or_else(|| {
        let (problem, reason) = (AskProblem::Lasting, retry.reason.clone());
        Fact::EffectFailed { key: key.clone(), problem, reason, not_before: None }
    });
    Effect::Note { key, facts: vec![fact] }
}

/// When people who were asked are reminded, and when their time is up.
fn deadlines(run: &Run) -> impl Iterator<Item = Effect> {
    run.crew.open().flat_map(|escalation| {
        let remind = escalation.remind_at.map(|until| (escalation.reminder_key(&run.id), until));
        let deadline = escalation.deadline.map(|until| (escalation.deadline_key(&run.id), until));
        remind.into_iter().chain(deadline).map(|(key, until)| Effect::Wait { key, until })
    })
}

fn effect(key: Key, next: Next<'_>) -> Effect {
    match next {
        Next::Ask(question) => Effect::Ask { key, question },
        Next::Preflight => Effect::Preflight { key },
        Next::Begin(action) => Effect::Begin { key, action: action.id.clone() },
        Next::Act(action) => Effect::Act { key, action: action.id.clone() },
        Next::Use(action, call) => Effect::Use { key, action: action.id.clone(), call: call.clone() },
        Next::Merge(step) => Effect::Merge { key, step: step.clone() },
        Next::Escalate(plea) => Effect::Escalate { key, plea },
        Next::Deliver => Effect::Deliver { key },
        Next::Note(facts) => Effect::Note { key, facts },
    }
}

fn try_again(run: &Run, retry: &Retry, policy: &Policy) -> Effect {
    let key = retry.key.clone();
    match policy.retry_at(retry) {
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
            | Self::Merge { .. }
            | Self::Escalate { .. }
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
            | Self::Merge { key, .. }
            | Self::Escalate { key, .. }
            | Self::Deliver { key }
            | Self::Wait { key, .. }
            | Self::Note { key, .. } => key,
        }
    }
}

/// Whether an effect that is under way should go on. A pause lets it finish; an end drops it.
#[must_use]
pub fn keeps(run: &Run, key: &Key) -> bool {
    run.is_live() && (run.key() == *key || run.lane_awaiting(key).is_some())
}
