//! Purpose: how far each action has come, with the evidence for it; what follows for its step is derived.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use serde::{Deserialize, Serialize};

use crate::domain::{Account, Millis};
use crate::plan::{Action, ActionId, Call, StepId};

use super::run::{Revision, Run};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum Outcome {
    Succeeded,
    Failed { why: String },
}

/// What is said of an action that would change files and found them as they should be.
pub const NOTHING_TO_CHANGE: &str = "there was nothing to change";

/// What can be shown for an action: a commit, an exit code, what was read or said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Evidence {
    pub commit: Option<String>,
    pub exit_code: Option<i32>,
    pub files: Vec<String>,
    pub bytes: u64,
    /// The beginning and the end of what came out, capped.
    pub output: Option<String>,
    /// Whether the commit is on the forge too; old journals do not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pushed: Option<bool>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    pub begun_at: Millis,
    pub turns: Vec<Turn>,
    /// Calls outside of what was approved.
    pub refused: u32,
    /// Whether what it changes is on the run's branch; else it is in the checkout of a worker.
    pub on_branch: bool,
    pub ended: Option<Ended>,
}

impl Work {
    /// Whether it has changed something that is not on the forge yet.
    pub(super) fn is_here_alone(&self) -> bool {
        let evidence = self.ended.as_ref().map(|ended| &ended.evidence);
        evidence.is_some_and(|evidence| evidence.commit.is_some() && evidence.pushed != Some(true))
    }
}

/// One call of a worker, and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    pub at: Millis,
    pub call: Call,
    pub result: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    pub outcome: Outcome,
    pub evidence: Evidence,
    /// What was found instead of, or as, the expected outcome.
    pub actual: String,
}

/// The work on each action. Which are at work and which have failed is kept beside it: that is asked several times for
/// every action, and a plan may be long.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Works {
    all: BTreeMap<ActionId, Work>,
    at_work: BTreeSet<ActionId>,
    failed: BTreeSet<ActionId>,
}

impl Deref for Works {
    type Target = BTreeMap<ActionId, Work>;

    fn deref(&self) -> &Self::Target {
        &self.all
    }
}

impl Works {
    pub(super) fn begin(&mut self, action: &ActionId, at: Millis, on_branch: bool) {
        let work = Work { begun_at: at, turns: vec![], refused: 0, on_branch, ended: None };
        self.forget(action);
        self.at_work.insert(action.clone());
        self.all.insert(action.clone(), work);
    }

    pub(super) fn end(&mut self, action: &ActionId, ended: Ended) {
        let Some(work) = self.all.get_mut(action) else { return };
        self.at_work.remove(action);
        if matches!(ended.outcome, Outcome::Failed { .. }) {
            self.failed.insert(action.clone());
        }
        let pushed = work.on_branch && ended.evidence.pushed == Some(true);
        work.ended = Some(ended);
        if pushed {
            self.note_pushed();
        }
    }

    pub(super) fn put_on_branch(&mut self, action: &ActionId, pushed: bool) {
        let Some(work) = self.all.get_mut(action).filter(|work| !work.on_branch) else { return };
        work.on_branch = true;
        if let Some(ended) = work.ended.as_mut().filter(|ended| ended.evidence.commit.is_some()) {
            ended.evidence.pushed = Some(pushed);
        }
        if pushed {
            self.note_pushed();
        }
    }

    /// Each push takes along all that came before it.
    fn note_pushed(&mut self) {
        let on_branch = self.all.values_mut().filter(|work| work.on_branch);
        for ended in on_branch.filter_map(|work| work.ended.as_mut()) {
            ended.evidence.pushed = ended.evidence.pushed.map(|_| true);
        }
    }

    /// As if it had never begun.
    pub(super) fn forget(&mut self, action: &ActionId) {
        self.all.remove(action);
        self.at_work.remove(action);
        self.failed.remove(action);
    }

    pub(super) fn take_turn(&mut self, action: &ActionId, at: Millis, call: &Call) {
        if let Some(work) = self.all.get_mut(action) {
            work.turns.push(Turn { at, call: call.clone(), result: None });
        }
    }

    pub(super) fn end_turn(&mut self, action: &ActionId, result: &str, refused: bool) {
        if let Some(work) = self.all.get_mut(action) {
            work.refused += u32::from(refused);
            if let Some(turn) = work.turns.last_mut() {
                turn.result = Some(result.to_owned());
            }
        }
    }

    pub(super) fn is_at_work(&self, action: &ActionId) -> bool {
        self.at_work.contains(action)
    }

    pub(super) fn is_any_at_work(&self) -> bool {
        !self.at_work.is_empty()
    }

    pub(super) fn at_work(&self) -> usize {
        self.at_work.len()
    }

    pub(super) fn has_failures(&self) -> bool {
        !self.failed.is_empty()
    }
}

impl FromIterator<(ActionId, Work)> for Works {
    fn from_iter<I: IntoIterator<Item = (ActionId, Work)>>(works: I) -> Self {
        let mut all = Self::default();
        for (action, work) in works {
            let ended = work.ended.clone();
            all.at_work.insert(action.clone());
            all.all.insert(action.clone(), Work { ended: None, ..work });
            if let Some(ended) = ended {
                all.end(&action, ended);
            }
        }
        all
    }
}

/// Where a step stands, as the card shows it.
#[derive(Debug, Clone, PartialEq)]
pub enum StepState<'a> {
    Waiting,
    AtWork,
    /// With the evidence of its actions, in order.
    Done(Vec<&'a Ended>),
    /// What was approved of it is done; the rest of what it needs is left out.
    Partly {
        ended: Vec<&'a Ended>,
        missing: Vec<&'a Action>,
    },
    Failed(&'a str),
    SkippedBy(&'a Account),
    /// None of its actions was approved.
    LeftOut,
}

/// The commits of a run, and whether they are all on the forge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commits {
    pub count: usize,
    pub pushed: bool,
}

impl Run {
    #[must_use]
    pub fn commits(&self) -> Commits {
        let made = (self.work.values().filter(|work| work.on_branch))
            .filter_map(|work| Some(&work.ended.as_ref()?.evidence))
            .filter(|evidence| evidence.commit.is_some());
        Commits { count: made.clone().count(), pushed: made.clone().all(|made| made.pushed != Some(false)) }
    }

    #[must_use]
    pub fn step_state<'a>(&'a self, revision: &'a Revision, step: &StepId) -> StepState<'a> {
        if let Some(by) = self.skipped.get(step) {
            return StepState::SkippedBy(by);
        }
        let actions: Vec<&Action> = revision.actions().filter(|action| action.task_id == *step).collect();
        // Of a step that is planned anew the old actions alone say nothing.
        let replanned = revision.keeps_checklist() && !revision.sealed_steps.contains(step);
        let unplanned = replanned && revision.open_actions().all(|action| action.task_id != *step);
        if actions.is_empty() || unplanned {
            return StepState::Waiting;
        }
        let left_out = |action: &&&Action| revision.left_out.contains_key(&action.id);
        if actions.iter().all(|action| left_out(&action)) {
            return StepState::LeftOut;
        }
        let works: Vec<(&Action, Option<&Work>)> = actions
            .iter()
            .filter(|action| !left_out(action))
            .map(|action| (*action, self.work.get(&action.id)))
            .collect();
        let state = state_of(&works);
        let StepState::Done(ended) = state else { return state };
        let missing = revision.misses(step);
        // Done is what has been accepted, and not before.
        match (self.lanes.contains_key(step), missing.is_empty()) {
            (true, _) => StepState::AtWork,
            (false, true) => StepState::Done(ended),
            (false, false) => StepState::Partly { ended, missing },
        }
    }
}

impl Revision {
    /// The actions that a step needs and that are left out. Of a step that is planned anew only the new ones count: what
    /// was left out before is no part of it any more. A step that is through keeps what it lacks.
    #[must_use]
    pub fn misses(&self, step: &StepId) -> Vec<&Action> {
        let of_step = |action: &&Action| action.task_id == *step;
        let is_missing = |action: &&Action| !action.optional && self.left_out.contains_key(&action.id);
        match self.open_actions().any(|action| of_step(&action)) {
            true => self.open_actions().filter(of_step).filter(is_missing).collect(),
            false => self.sealed.iter().filter(of_step).filter(is_missing).collect(),
        }
    }
}

fn state_of<'a>(works: &[(&Action, Option<&'a Work>)]) -> StepState<'a> {
    let ended = |work: &Option<&'a Work>| work.and_then(|work| work.ended.as_ref());
    for (action, work) in works {
        if let Some(Ended { outcome: Outcome::Failed { why }, .. }) = ended(work)
            && !action.optional
        {
            return StepState::Failed(why);
        }
    }
    let done: Vec<&Ended> = works.iter().filter_map(|(_, work)| ended(work)).collect();
    if done.len() == works.len() {
        StepState::Done(done)
    } else if works.iter().any(|(_, work)| work.is_some()) {
        StepState::AtWork
    } else {
        StepState::Waiting
    }
}

#[cfg(test)]
mod tests {
    use super::super::notice::Trigger;
    use super::super::run::{Origin, RunId, Sequence};
    use super::*;
    use crate::plan::{ActionKind, ActionSpec, Complexity, Level, Step};

    fn step(id: &str) -> Step {
        Step {
            id: StepId(id.to_owned()),
            description: format!("do {id}"),
            dependencies: vec![],
            estimated_complexity: Complexity::Low,
            required_tools: vec![],
            rests_on: vec![],
        }
    }

    /// `a1 one` is an action of the step `one`; `a1 one?` one that it can do without.
    fn action(words: &str) -> Action {
        let (id, step) = words.split_once(' ').expect("an action and its step");
        Action {
            id: ActionId(id.to_owned()),
            task_id: StepId(step.trim_end_matches('?').to_owned()),
            action_type: ActionKind::Read,
            tool: "files".to_owned(),
            purpose: "look".to_owned(),
            expected_outcome: String::new(),
            fallback_strategy: String::new(),
            spec: ActionSpec::default(),
            optional: step.ends_with('?'),
        }
    }

    fn out(ids: &[&str]) -> BTreeMap<ActionId, String> {
        ids.iter().map(|id| (ActionId((*id).to_owned()), "@maria did not approve it".to_owned())).collect()
    }

    fn planned(before: Revision, actions: &[&str]) -> Revision {
        let actions = actions.iter().map(|words| action(words)).collect();
        Revision { sequence: Some(Sequence::new(&before.steps, actions, Millis(0))), ..before }
    }

    fn after(id: &str, outcome: Outcome) -> (ActionId, Work) {
        let ended = Some(Ended { outcome, evidence: Evidence::default(), actual: String::new() });
        let work = Work { begun_at: Millis(0), turns: vec![], refused: 0, on_branch: true, ended };
        (ActionId(id.to_owned()), work)
    }

    fn done(id: &str) -> (ActionId, Work) {
        after(id, Outcome::Succeeded)
    }

    fn failed(id: &str) -> (ActionId, Work) {
        after(id, Outcome::Failed { why: "no".to_owned() })
    }

    fn names(actions: &[&Action]) -> String {
        actions.iter().map(|action| action.id.0.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_a_step_lacks_is_what_it_was_last_planned_with() {
        for (sealed, open, left_out, lacks) in [
            (&[][..], &["a1 one", "a2 one"][..], &[][..], ""),
            (&[], &["a1 one", "a2 one"], &["a1"], "a1"),
            (&[], &["a1 one", "a2 one", "a3 one"], &["a1", "a3"], "a1 a3"),
            (&[], &["a1 one?", "a2 one"], &["a1"], ""),
            (&[], &["a1 two", "a2 one"], &["a1"], ""),
            // After a replan: a step that is through, one that is planned anew, and an action that came back as it was.
            (&["a1 one", "a2 one"], &["a3 two"], &["a1"], "a1"),
            (&["a1 one"], &["a3 one"], &["a1"], ""),
            (&["a1 one"], &["a1 one", "a3 one"], &["a1"], "a1"),
        ] {
            let sealed = sealed.iter().map(|words| action(words)).collect();
            let plan = planned(Revision { sealed, left_out: out(left_out), ..Revision::default() }, open);
            assert_eq!(
                names(&plan.misses(&StepId("one".to_owned()))),
                lacks,
                "{open:?} without {left_out:?}"
            );
        }
    }

    /// Each step in a word or two, for the plan in force.
    fn states(run: &Run) -> Vec<String> {
        let plan = run.plan().expect("a plan");
        let state = |step: &Step| match run.step_state(plan, &step.id) {
            StepState::Partly { missing, .. } => format!("without {}", names(&missing)),
            StepState::Done(_) => "done".to_owned(),
            StepState::Failed(_) => "failed".to_owned(),
            StepState::LeftOut => "left out".to_owned(),
            StepState::Waiting | StepState::AtWork | StepState::SkippedBy(_) => "open".to_owned(),
        };
        plan.steps.iter().map(state).collect()
    }

    /// Nothing of `three` was approved, and half of `one` and `two`; what was approved of `two` fails.
    fn half_approved() -> Run {
        let steps = ["one", "two", "three"].map(step).to_vec();
        let first = Revision { steps, left_out: out(&["a1", "a3", "a5"]), ..Revision::default() };
        let plan = planned(first, &["a1 one", "a2 one", "a3 two", "a4 two", "a5 three"]);
        let run = Run::new(RunId("r".to_owned()), Account::person(2, "maria"), Trigger::Assigned, Millis(0));
        Run { revisions: vec![plan], work: [done("a2"), failed("a4")].into_iter().collect(), ..run }
    }

    fn replanned(run: &mut Run, actions: &[&str]) {
        let plan = run.plan().expect("a plan");
        let origin = Origin { replan: 1, level: Level::Actions, reason: String::new(), at: Millis(1) };
        let next = Revision { origin: Some(origin), ..run.rest_of(plan) };
        run.revisions.push(planned(next, actions));
    }

    #[test]
    fn a_step_of_which_a_part_was_approved_is_never_whole_unless_it_is_planned_anew() {
        let mut run = half_approved();
        assert_eq!(states(&run), ["without a1", "failed", "left out"]);
        replanned(&mut run, &["a6 two"]);
        assert_eq!(states(&run), ["without a1", "open", "left out"]);
        let more = [done("a2"), failed("a4"), done("a6")];
        run.work = more.into_iter().collect();
        assert_eq!(states(&run), ["without a1", "done", "left out"]);
        replanned(&mut run, &[]);
        assert_eq!(states(&run), ["without a1", "done", "left out"], "and so it stays");
    }

    #[test]
    fn what_was_not_approved_of_a_step_is_left_for_another_run() {
        let mut run = half_approved();
        run.work = [done("a2"), done("a4")].into_iter().collect();
        assert!(run.has_unfinished_steps());
        let id =
            |run: &Run| run.plan().map_or(vec![], |plan| plan.steps.iter().map(|s| s.id.0.clone()).collect());
        let again = Run::new(RunId("s".to_owned()), run.requester.clone(), Trigger::Retried, Millis(9));
        assert_eq!(id(&again.clone().with_the_rest_of(&run)), ["one", "two", "three"]);
        // What it can do without does not keep it open.
        let plan = planned(
            Revision { steps: vec![step("one")], left_out: out(&["a1"]), ..Revision::default() },
            &["a1 one?", "a2 one"],
        );
        run.revisions = vec![plan];
        assert!(!run.has_unfinished_steps());
        assert_eq!(id(&again.with_the_rest_of(&run)), Vec::<String>::new());
    }
}
