//! Purpose: a step in the hands of a worker. Each such lane names its effects by itself, so that several go on side by
//! side, and one that fails or is tried again disturbs no other.

use super::effect::Key;
use super::retry::{Retry, Tries};
use super::run::{Revision, Run, RunId};
use super::work::{Ended, Outcome, Work};
use crate::crew::{Checkout, Weighed};
use crate::domain::Millis;
use crate::plan::{Action, ActionId, StepId};

#[derive(Debug, Clone, PartialEq)]
pub struct Lane {
    pub worker: u32,
    pub checkout: Checkout,
    /// How often the step has been taken in hand, this time included.
    pub attempt: u32,
    pub since: Millis,
    /// What the judge made of it, once all of it has ended.
    pub judged: Option<Weighed>,
    pub retry: Option<Retry>,
    /// What it needs next cannot be had, so that nothing more is tried in it.
    pub stuck: bool,
    /// How often the current effect has failed, and how many have come to an end.
    pub(super) tries: Tries,
    progress: u32,
}

impl Lane {
    #[must_use]
    pub fn new(worker: u32, checkout: Checkout, attempt: u32, since: Millis) -> Self {
        Self {
            worker,
            checkout,
            attempt,
            since,
            judged: None,
            retry: None,
            stuck: false,
            tries: Tries::default(),
            progress: 0,
        }
    }

    #[must_use]
    pub fn key(&self, run: &RunId, step: &StepId) -> Key {
        self.nth_key(run, step, self.progress, self.tries.failed())
    }

    fn nth_key(&self, run: &RunId, step: &StepId, nth: u32, failed: u32) -> Key {
        Key(format!("{run}/{step}.{}/{nth}/t{failed}", self.attempt))
    }

    /// What its checkout is known by.
    #[must_use]
    pub fn name(&self, step: &StepId) -> String {
        format!("{step}-{}", self.attempt)
    }

    /// Whether it neither waits to try something again nor has given up.
    pub(super) fn is_free(&self) -> bool {
        self.retry.is_none() && !self.stuck
    }

    pub(super) fn advance(&mut self) {
        (self.tries, self.retry) = (Tries::default(), None);
        self.progress += 1;
    }
}

impl Run {
    #[must_use]
    pub fn step_of(&self, action: &ActionId) -> Option<&StepId> {
        Some(&self.plan()?.actions().find(|known| known.id == *action)?.task_id)
    }

    /// The name of what comes next for this action: that of its lane, if its step is in hand.
    #[must_use]
    pub fn key_of(&self, action: &ActionId) -> Key {
        let lane = self.step_of(action).and_then(|step| Some((step, self.lanes.get(step)?)));
        lane.map_or_else(|| self.key(), |(step, lane)| lane.key(&self.id, step))
    }

    /// The name of what comes after that.
    #[must_use]
    pub(super) fn key_after(&self, action: &ActionId) -> Key {
        let lane = self.step_of(action).and_then(|step| Some((step, self.lanes.get(step)?)));
        lane.map_or_else(
            || self.next_key(),
            |(step, lane)| lane.nth_key(&self.id, step, lane.progress + 1, 0),
        )
    }

    #[must_use]
    pub fn lane_awaiting(&self, key: &Key) -> Option<(&StepId, &Lane)> {
        self.lanes.iter().find(|(step, lane)| lane.key(&self.id, step) == *key)
    }

    /// The action at work that this is the next effect of.
    #[must_use]
    pub fn action_awaiting(&self, key: &Key) -> Option<&Action> {
        self.current_actions().map(|(action, _)| action).find(|action| self.key_of(&action.id) == *key)
    }

    pub(super) fn lane_awaiting_mut(&mut self, key: &Key) -> Option<&mut Lane> {
        let id = &self.id;
        self.lanes.iter_mut().find(|(step, lane)| lane.key(id, step) == *key).map(|(_, lane)| lane)
    }

    /// The action of this step that has begun and not ended.
    pub(super) fn at_work_in(&self, step: &StepId) -> Option<(&Action, &Work)> {
        let plan = self.plan().filter(|_| self.work.is_any_at_work())?;
        let is_it = |action: &&Action| action.task_id == *step && self.work.is_at_work(&action.id);
        let action = plan.actions().find(is_it)?;
        Some((action, self.work.get(&action.id)?))
    }

    /// Whether an action is done in a checkout that is not the run's own.
    #[must_use]
    pub fn works_apart(&self, action: &ActionId) -> bool {
        let lane = self.step_of(action).and_then(|step| self.lanes.get(step));
        lane.is_some_and(|lane| lane.checkout == Checkout::Own)
    }

    /// A step that failed before it changed anything leaves nothing behind to be taken over.
    pub(super) fn leave_if_in_vain(&mut self, action: &ActionId, failed: bool) {
        let Some(step) = self.step_of(action).cloned().filter(|_| failed) else { return };
        if !self.plan().is_some_and(|plan| self.has_unmerged(plan, &step)) {
            self.lanes.remove(&step);
        }
    }

    /// The actions of a step that are to be done, in order.
    pub(super) fn actions_of<'a>(
        &self,
        plan: &'a Revision,
        step: &StepId,
    ) -> impl Iterator<Item = &'a Action> {
        plan.actions()
            .filter(move |action| action.task_id == *step && !plan.left_out.contains_key(&action.id))
    }

    /// Whether a step has changed something that is not on the run's branch yet.
    pub(super) fn has_unmerged(&self, plan: &Revision, step: &StepId) -> bool {
        let succeeded = |ended: &Ended| ended.outcome == Outcome::Succeeded;
        let unmerged = |work: &Work| !work.on_branch && work.ended.as_ref().is_some_and(succeeded);
        self.actions_of(plan, step).any(|action| self.work.get(&action.id).is_some_and(unmerged))
    }

    /// What a step has changed in its own checkout is on the run's branch now.
    pub(super) fn merged(&mut self, step: &StepId, pushed: bool) {
        for action in self.actions_in(step) {
            self.work.put_on_branch(&action, pushed);
        }
        self.lanes.remove(step);
    }

    /// Throws away what a step has done in its own checkout, as if it had never begun.
    pub(super) fn undo(&mut self, step: &StepId) {
        for action in self.actions_in(step) {
            let undone = |work: &Work| !work.on_branch || work.ended.is_none();
            if self.work.get(&action).is_some_and(undone) {
                self.work.forget(&action);
            }
        }
        self.lanes.remove(step);
    }

    /// Throws away what a step has done, and says why: its last action stands for the failure.
    pub(super) fn dissolve(&mut self, at: Millis, step: &StepId, why: &str) {
        self.undo(step);
        let undone = |action: &&ActionId| !self.work.contains_key(*action);
        let actions = self.actions_in(step);
        let Some(last) = actions.iter().rev().find(undone).or(actions.last()) else { return };
        self.work.begin(last, at, true);
        let outcome = Outcome::Failed { why: why.to_owned() };
        let evidence = super::work::Evidence::default();
        self.work.end(last, Ended { outcome, evidence, actual: why.to_owned() });
        self.has_failed(last);
    }

    fn actions_in(&self, step: &StepId) -> Vec<ActionId> {
        let plan = self.plan();
        plan.iter().flat_map(|plan| self.actions_of(plan, step)).map(|action| action.id.clone()).collect()
    }
}
