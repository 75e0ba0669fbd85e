//! Purpose: one run as it stands: what it has brought forth, whether it is held, and how it ended.
//!
//! The phase is a cursor over what exists (goal, steps, actions, work), never a stored field: a jump back loses nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::budget::{Limits, Reached, Spent};
use super::crew::{CrewState, Escalation};
use super::effect::Key;
use super::lanes::Lane;
use super::notice::{StopReason, Trigger};
use super::proposal::{Approval, Place, Proposal, Request};
use super::replans::{LimitHit, Replan, ReplanState, Replans};
use super::retry::{Retry, Tries};
use super::talk::{Design, Round, Talk};
use super::work::{StepState, Work, Works};
use crate::actions::{Ground, Order, Spec};
use crate::domain::{Account, AccountId, CommentId, Lang, Millis, Permission, ThreadRef};
use crate::plan::{Action, ActionId, Goal, Level, Question, Reflection, Step, StepId};

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
    /// The language of our own sentences.
    pub lang: Lang,
    pub goal: Option<Goal>,
    pub talk: Talk,
    pub replans: Replans,
    /// MCP tools by name, with their hashes: as first planned with, or as a person last approved them.
    pub tools: BTreeMap<String, String>,
    /// Actions that failed, and that the run goes on without.
    pub accepted: BTreeSet<ActionId>,
    /// Characters that nobody sees, taken out of what the model was shown.
    pub hidden: u64,
    /// #0 is the first plan; each replan adds one. The last is the one in force.
    pub revisions: Vec<Revision>,
    pub work: Works,
    /// The steps that workers have in hand.
    pub lanes: BTreeMap<StepId, Lane>,
    pub crew: CrewState,
    pub skipped: BTreeMap<StepId, Account>,
    pub reflections: Reflections,
    pub delivery: Option<Delivery>,
    /// All that could be done is done, and has been summed up.
    pub executed: bool,
    pub pause: Option<Pause>,
    /// What was asked of the model or the forge failed for a passing reason, and is tried again at its time.
    pub retry: Option<Retry>,
    /// Why the run cannot go on, before it is summed up and ended.
    pub broken: Option<String>,
    /// Actions of which nobody knows whether they happened; people are asked about one after the other.
    pub unclear: Vec<ActionId>,
    /// How often the current effect has failed.
    pub tries: Tries,
    /// How many effects have come to an end: names the one that is awaited now.
    pub progress: u32,
    pub budget: Limits,
    pub spent: Spent,
    pub busy_since: Option<Millis>,
    /// Comments that steer the run.
    pub sources: Vec<CommentId>,
    /// What those who steer it might do in the repository when their words were taken.
    pub rights: BTreeMap<AccountId, Permission>,
    pub unused_comments: u32,
    /// The branch of the run before, which this one goes on with.
    pub continues: Option<String>,
    pub end: Option<End>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reflections {
    pub all: Vec<Reflection>,
    /// How many were asked for, answered or not.
    pub count: u32,
    /// Actions that ended since the last one, and whether one of them failed.
    pub since: u32,
    pub failure: bool,
    /// Somebody who may steer has said something since.
    pub feedback: bool,
}

/// Where a plan comes from that is not the first.
#[derive(Debug, Clone, PartialEq)]
pub struct Origin {
    pub replan: u32,
    pub level: Level,
    pub reason: String,
    pub at: Millis,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Revision {
    /// `None` for the first plan.
    pub origin: Option<Origin>,
    /// Whether it is in the history that the replan has led to this plan.
    pub announced: bool,
    /// Whether its end has been looked at as a whole.
    pub evaluated: bool,
    /// What was skipped of it, once another checklist has taken its place.
    pub skipped: BTreeMap<StepId, Account>,
    /// Steps of the plan before that are through; of others some actions may be done, and the rest is planned anew.
    pub sealed_steps: Vec<StepId>,
    /// Actions of the plan before that stay as they are: done, skipped or never approved.
    pub sealed: Vec<Action>,
    pub steps: Vec<Step>,
    pub sequence: Option<Sequence>,
    pub proposal: Option<Proposal>,
    pub ground: Option<Ground>,
    pub place: Option<Place>,
    pub specs: BTreeMap<ActionId, Spec>,
    pub requests: Vec<Request>,
    pub approvals: Vec<Approval>,
    /// Actions that will not run, and why.
    pub left_out: BTreeMap<ActionId, String>,
    /// Why the last sequence of actions was turned down, for the next one to do better.
    pub problems: Vec<String>,
    pub regenerated: u32,
    /// Actions of which nobody has said yet whether they may run, in order.
    pub undecided: Vec<ActionId>,
    /// What is no longer as it was when an approval was given; said in the next request.
    pub changed: Vec<String>,
    /// Open steps of the plan before that stay as they are while the others are planned anew.
    pub keeps: Vec<StepId>,
    /// What a new goal was to take the place of, in case none is found.
    pub set_aside: Option<Box<SetAside>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SetAside {
    pub goal: Option<Goal>,
    pub discovery: Option<Vec<Question>>,
    pub discovered: bool,
    pub design: Option<Design>,
}

impl Revision {
    pub fn actions(&self) -> impl Iterator<Item = &Action> {
        self.sealed.iter().chain(self.open_actions())
    }

    /// Those that this revision has brought.
    pub fn open_actions(&self) -> impl Iterator<Item = &Action> {
        self.sequence.iter().flat_map(|sequence| &sequence.actions)
    }

    /// Whether it goes on with the steps of the plan before.
    #[must_use]
    pub fn keeps_checklist(&self) -> bool {
        self.origin.as_ref().is_some_and(|origin| origin.level <= Level::Actions)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Sequence {
    pub actions: Vec<Action>,
    pub at: Millis,
    /// Which steps wait for which.
    pub order: Order,
}

impl Sequence {
    #[must_use]
    pub fn new(steps: &[Step], actions: Vec<Action>, at: Millis) -> Self {
        let order = Order::of(steps, &actions);
        Self { actions, at, order }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Delivery {
    pub branch: String,
    pub commit: Option<String>,
    pub change: Option<ThreadRef>,
    pub url: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Pause {
    pub by: Account,
    /// The command that asked for it; `None` when the label did.
    pub comment: Option<CommentId>,
    pub since: Millis,
}

#[derive(Debug, Clone, PartialEq)]
pub struct End {
    pub state: EndState,
    pub at: Millis,
}

#[derive(Debug, Clone, PartialEq)]
pub enum EndState {
    Completed,
    Cancelled { by: Account },
    Stopped { by: Account, why: StopReason },
    Failed { reason: String },
}

impl EndState {
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Cancelled { .. } => "cancelled",
            Self::Stopped { .. } => "stopped",
            Self::Failed { .. } => "failed",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    Understand,
    Decompose,
    Sequence,
    Approve,
    Execute,
    Deliver,
}

impl Phase {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Understand => "understand",
            Self::Decompose => "decompose",
            Self::Sequence => "sequence",
            Self::Approve => "approve",
            Self::Execute => "execute",
            Self::Deliver => "deliver",
        }
    }
}

/// Why a run does nothing at the moment. At most one holds at a time.
#[derive(Debug, Clone, PartialEq)]
pub enum Hold<'a> {
    Paused(&'a Pause),
    Retry(&'a Retry),
    /// An action may or may not have happened; a person says how to go on.
    Unclear(&'a ActionId),
    Answers(&'a Round),
    Decisions(&'a Design),
    Review(&'a Design),
    Confirm(&'a Replan),
    /// It may not replan any more, and people say how to go on.
    Limit(&'a LimitHit),
    Approval(&'a Request),
    /// Nothing else can be done before people have answered this.
    Escalation(&'a Escalation),
    Budget(Reached),
}

impl Run {
    #[must_use]
    pub fn new(id: RunId, requester: Account, how: Trigger, started_at: Millis) -> Self {
        Self {
            id,
            requester,
            how,
            started_at,
            event_at: None,
            lang: Lang::English,
            goal: None,
            // Who brings a plan along has thought it through.
            talk: Talk { settled: how == Trigger::Document, ..Talk::default() },
            replans: Replans::default(),
            tools: BTreeMap::new(),
            accepted: BTreeSet::new(),
            hidden: 0,
            revisions: vec![],
            work: Works::default(),
            lanes: BTreeMap::new(),
            crew: CrewState::default(),
            skipped: BTreeMap::new(),
            reflections: Reflections::default(),
            delivery: None,
            executed: false,
            pause: None,
            retry: None,
            broken: None,
            unclear: vec![],
            tries: Tries::default(),
            progress: 0,
            budget: Limits::default(),
            spent: Spent::default(),
            busy_since: None,
            sources: vec![],
            rights: BTreeMap::new(),
            unused_comments: 0,
            continues: None,
            end: None,
        }
    }

    /// Takes over the goal of an earlier run, with the steps that it did not finish and their actions.
    #[must_use]
    pub(super) fn with_the_rest_of(self, before: &Self) -> Self {
        let Some(plan) = before.plan() else { return Self { goal: before.goal.clone(), ..self } };
        let is_done = |step: &Step| {
            matches!(before.step_state(plan, &step.id), StepState::Done(_) | StepState::SkippedBy(_))
        };
        let mut steps: Vec<Step> = plan.steps.iter().filter(|step| !is_done(step)).cloned().collect();
        let left: Vec<StepId> = steps.iter().map(|step| step.id.clone()).collect();
        steps.iter_mut().for_each(|step| step.dependencies.retain(|on| left.contains(on)));
        let branch = plan.place.as_ref().map(|place| place.branch.clone());
        let rest = Revision { steps, ..Revision::default() };
        // The steps stand, so the design does; what they rest on they still rest on.
        let assumptions = before.talk.assumptions.clone();
        let talk = Talk { assumptions, settled: true, ..Talk::default() };
        Self { goal: before.goal.clone(), talk, revisions: vec![rest], continues: branch, ..self }
    }

    #[must_use]
    pub fn is_live(&self) -> bool {
        self.end.is_none()
    }

    #[must_use]
    pub fn is_complete(&self) -> bool {
        matches!(self.end, Some(End { state: EndState::Completed, .. }))
    }

    /// Whether there is something left of its plan that another run could do.
    #[must_use]
    pub fn has_unfinished_steps(&self) -> bool {
        let is_open = |plan: &Revision, step: &Step| {
            !matches!(self.step_state(plan, &step.id), StepState::Done(_) | StepState::SkippedBy(_))
        };
        self.plan().is_some_and(|plan| plan.steps.iter().any(|step| is_open(plan, step)))
    }

    /// The plan in force.
    #[must_use]
    pub fn plan(&self) -> Option<&Revision> {
        self.revisions.last()
    }

    #[must_use]
    pub fn phase(&self) -> Phase {
        match (&self.goal, self.plan()) {
            (None, _) => Phase::Understand,
            (Some(_), None) => Phase::Decompose,
            (Some(_), Some(plan)) if plan.steps.is_empty() => Phase::Decompose,
            (Some(_), Some(Revision { sequence: None, .. })) => Phase::Sequence,
            (Some(_), Some(_)) if self.executed => Phase::Deliver,
            (Some(_), Some(plan)) if plan.open_actions().any(|a| self.work.contains_key(&a.id)) => {
                Phase::Execute
            }
            (Some(_), Some(plan)) if plan.ground.is_some() && plan.undecided.is_empty() => Phase::Execute,
            (Some(_), Some(_)) => Phase::Approve,
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
        if let Some(action) = self.unclear.first() {
            return Some(Hold::Unclear(action));
        }
        if !self.hears_people()
            && let Some(hold) = self.waits_for_people()
        {
            return Some(hold);
        }
        if let Some(escalation) = self.waits_for_help() {
            return Some(Hold::Escalation(escalation));
        }
        self.budget.reached(&self.spent).filter(|_| !self.executed && self.broken.is_none()).map(Hold::Budget)
    }

    /// What a word of a person is about, also while other words are still being read.
    pub(super) fn awaits_word(&self) -> Option<Hold<'_>> {
        let paused = self.pause.as_ref().map(Hold::Paused);
        let unclear = || self.unclear.first().map(Hold::Unclear);
        paused.or_else(unclear).or_else(|| self.waits_for_people())
    }

    /// Whether somebody has said something that may change the plan; it comes before waiting for anything else.
    fn hears_people(&self) -> bool {
        let planned = self.plan().is_some_and(|plan| !plan.steps.is_empty());
        let talk = &self.talk;
        let otherwise = !talk.contradicted.is_empty() || !talk.changed.is_empty();
        let said = !talk.unread.is_empty() || !talk.differences.is_empty();
        self.replans.asked.is_some() || said || (planned && otherwise)
    }

    fn waits_for_people(&self) -> Option<Hold<'_>> {
        let talk = &self.talk;
        if talk.unread.is_empty() {
            let unclear = talk.unclear.is_some();
            if let Some(round) = talk.open_round().filter(|round| !unclear && round.waits()) {
                return Some(Hold::Answers(round));
            }
            if let Some(design) = talk.design.as_ref().filter(|design| design.approved.is_none()) {
                if !design.open_decisions().is_empty() {
                    return Some(Hold::Decisions(design));
                }
                if design.summary.is_some() {
                    return Some(Hold::Review(design));
                }
            }
        }
        if let Some(replan) = self.replans.all.last().filter(|replan| replan.state == ReplanState::Confirming)
        {
            return Some(Hold::Confirm(replan));
        }
        // The model is asked for another way before anybody waits for anything.
        if let Some(hit) = &self.replans.limit {
            return hit.told.then_some(Hold::Limit(hit));
        }
        self.plan().and_then(|plan| self.open_request(plan)).map(Hold::Approval)
    }

    /// The branch, and what the plan in force or the last one before it stands on.
    #[must_use]
    pub fn foundation(&self) -> Option<(&Place, &Ground)> {
        self.revisions.iter().rev().find_map(|plan| Some((plan.place.as_ref()?, plan.ground.as_ref()?)))
    }

    /// The name of the effect that the run is at: how far it has come, and which attempt. Any other is stale.
    #[must_use]
    pub fn key(&self) -> Key {
        Key(format!("{}/{}/t{}", self.id, self.progress, self.tries.failed()))
    }

    /// The name of what comes after the effect that is awaited now.
    #[must_use]
    pub fn next_key(&self) -> Key {
        Key(format!("{}/{}/t0", self.id, self.progress + 1))
    }

    /// The actions that have begun and not ended, one for each worker at most.
    pub fn current_actions(&self) -> impl Iterator<Item = (&Action, &Work)> {
        let plan = self.plan().filter(|_| self.work.is_any_at_work());
        let at_work = |action: &&Action| self.work.is_at_work(&action.id);
        plan.into_iter()
            .flat_map(Revision::actions)
            .filter(at_work)
            .filter_map(|action| Some((action, self.work.get(&action.id)?)))
    }
}
