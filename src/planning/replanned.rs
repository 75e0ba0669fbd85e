//! Purpose: what becomes of a replan: a new plan, one that was there before, or none at all.

use std::collections::{BTreeMap, BTreeSet};

use super::fact::Fact;
use super::replans::{Limit, LimitHit, Replan, ReplanFact, ReplanResult, ReplanState, Verdict};
use super::retry::Tries;
use super::run::{Revision, Run, SetAside};
use super::work::StepState;
use crate::actions::{is_open, number_of};
use crate::domain::Millis;
use crate::plan::{Action, Step, StepId};

/// How much of two plans may differ for them to be called the same.
const ALIKE: f64 = 0.9;

impl Run {
    /// The replan whose plan is being made now.
    pub(super) fn replan_in_the_making(&self) -> Option<u32> {
        let plan = self.plan().filter(|plan| !plan.announced && plan.sequence.is_none())?;
        let id = plan.origin.as_ref()?.replan;
        self.replan(id).filter(|replan| replan.state == ReplanState::Started).map(|replan| replan.id)
    }

    pub(super) fn set_goal_aside(&mut self) -> SetAside {
        let talk = &mut self.talk;
        SetAside {
            goal: self.goal.take(),
            discovery: talk.discovery.take(),
            discovered: std::mem::take(&mut talk.discovered),
            design: talk.design.take(),
        }
    }

    /// A revision together with the steps that it leaves as they are, and their actions.
    #[must_use]
    pub fn with_kept(&self, steps: Vec<Step>, actions: Vec<Action>) -> (Vec<Step>, Vec<Action>) {
        let Some((plan, [.., before])) = self.revisions.split_last() else { return (steps, actions) };
        let is_kept = |id: &StepId| plan.keeps.contains(id) && !self.skipped.contains_key(id);
        if !plan.keeps.iter().any(is_kept) {
            return (steps, actions);
        }
        // In the order of the plan before; what is new comes last.
        let place = |step: &Step| before.steps.iter().position(|old| old.id == step.id).unwrap_or(usize::MAX);
        let kept = before.steps.iter().filter(|step| is_kept(&step.id)).cloned();
        let mut steps: Vec<Step> = kept.chain(steps).collect();
        steps.sort_by_key(place);
        let is_sealed = |action: &Action| plan.sealed.iter().any(|sealed| sealed.id == action.id);
        let kept = before.actions().filter(|action| is_kept(&action.task_id) && !is_sealed(action)).cloned();
        let mut actions: Vec<Action> = kept.chain(actions).collect();
        actions.sort_by_key(|action| steps.iter().position(|step| step.id == action.task_id));
        (steps, actions)
    }

    /// No new plan came out: the one before is in force again, and another way is sought.
    pub(super) fn replan_failed(&mut self, at: Millis, id: u32, why: &str) {
        if let Some(set_aside) = self.revisions.last_mut().and_then(|plan| plan.set_aside.take()) {
            let SetAside { goal, discovery, discovered, design } = *set_aside;
            (self.goal, self.talk.rethink) = (goal, false);
            (self.talk.discovery, self.talk.discovered, self.talk.design) = (discovery, discovered, design);
        }
        self.back_to_the_plan_before();
        (self.tries, self.retry, self.broken) = (Tries::default(), None, None);
        self.progress += 1;
        self.came_to_nothing(at, id, why, Limit::NoPlan);
        self.look_for_undecided();
    }

    /// What people have seen of the plan that failed keeps its numbers, so then the one before comes after it.
    fn back_to_the_plan_before(&mut self) {
        let Some(failed) = self.revisions.pop() else { return };
        let Some(before) = self.revisions.last_mut() else { return };
        let asked = if failed.keeps_checklist() { before.requests.len() } else { 0 };
        if !failed.keeps_checklist() {
            self.skipped = std::mem::take(&mut before.skipped);
        }
        if failed.requests.len() > asked {
            let again = before.clone();
            self.revisions.extend([failed, again]);
        }
    }

    pub(super) fn came_to_nothing(&mut self, at: Millis, id: u32, why: &str, limit: Limit) {
        self.settle(id, ReplanState::Failed { why: why.to_owned() });
        // A person wanted another plan: whether the old one goes on is not for a model to say.
        let by_person = self.replan(id).is_some_and(|replan| replan.by.is_some());
        let told = by_person || self.replans.asked_at.contains(&limit);
        let failed = self.replan(id).and_then(|replan| replan.failed.clone());
        self.replans.limit = Some(LimitHit { replan: id, limit, failed, since: at, told });
    }
}

/// What became of a replan that leads to no plan, where the history does not say so yet.
pub(super) fn unrecorded(run: &Run) -> Option<(u32, Vec<Fact>)> {
    let is_new = |replan: &&Replan| !run.replans.recorded.contains(&replan.id);
    let of = |replan: &Replan| Some((replan.id, ending(run, replan)?));
    run.replans.all.iter().filter(is_new).find_map(of)
}

fn ending(run: &Run, replan: &Replan) -> Option<Vec<Fact>> {
    let since = run.replans.limit.as_ref().filter(|hit| hit.replan == replan.id).map(|hit| hit.since);
    let since = since.unwrap_or(replan.at);
    let (result, why, ended) = match &replan.state {
        ReplanState::Confirming | ReplanState::Started => return None,
        ReplanState::Done { at } => (ReplanResult::Success, String::new(), *at),
        ReplanState::Failed { why } => (ReplanResult::Failure, why.clone(), since),
        ReplanState::Overridden { why } => (ReplanResult::Skipped, why.clone(), replan.at),
        ReplanState::Declined { by: Some(by) } => {
            (ReplanResult::Skipped, format!("@{} said no", by.login), replan.at)
        }
        ReplanState::Declined { by: None } => {
            (ReplanResult::Skipped, "nobody said yes in time".to_owned(), replan.deadline.unwrap_or(since))
        }
    };
    let by_time = replan.state == ReplanState::Declined { by: None };
    let declined =
        by_time.then_some(ReplanFact::ReplanDeclined { replan_id: replan.id, by: None, comment: None });
    let asked = replan.verdict == Verdict::Clarify;
    let ended = ReplanFact::ReplanEnded {
        replan_id: replan.id,
        result,
        executed: asked || replan.executed(),
        why,
        duration_ms: ended.0.saturating_sub(replan.at.0),
    };
    Some(declined.into_iter().chain([ended]).map(Fact::Replan).collect())
}

/// An earlier revision that this plan is nearly the same as. What is done of the earlier one is not planned again, so it
/// is its open rest that tells.
#[must_use]
pub fn repeats(run: &Run, plan: &Revision) -> Option<usize> {
    let new = fingerprint(plan.open_actions());
    let is_like = |old: &Revision| {
        let rest = old.open_actions().filter(|action| !run.succeeded(&action.id));
        alike(&fingerprint(rest), &new) || alike(&fingerprint(old.open_actions()), &new)
    };
    let earlier = run.revisions.iter().enumerate().rev().skip(1);
    earlier.filter(|(_, old)| is_like(old)).map(|(at, _)| at).next()
}

fn fingerprint<'a>(actions: impl Iterator<Item = &'a Action>) -> BTreeSet<String> {
    let of = |action: &Action| {
        // What a worker makes of an open action depends on what it is told to do.
        let content =
            if is_open(action) { Some(action.purpose.as_str()) } else { action.spec.content.as_deref() };
        let content = content.unwrap_or_default();
        let arguments = action.spec.arguments.as_ref().map(|a| serde_json::json!(a).to_string());
        format!(
            "{} {} {} {} {} {}",
            action.action_type.as_str(),
            action.spec.path.as_deref().unwrap_or(&action.purpose),
            action.tool,
            action.spec.command.join(" "),
            content,
            arguments.unwrap_or_default()
        )
    };
    actions.map(of).collect()
}

fn alike(one: &BTreeSet<String>, other: &BTreeSet<String>) -> bool {
    let (shared, all) = (one.intersection(other).count(), one.union(other).count());
    all > 0 && shared as f64 / all as f64 >= ALIKE
}

/// A plan as lines, for the history and for whoever thinks about another one.
#[must_use]
pub fn outline(run: &Run, plan: &Revision) -> Vec<String> {
    let mut actions: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for action in plan.actions() {
        let target = action.spec.path.as_deref().unwrap_or(&action.tool);
        let out = if plan.left_out.contains_key(&action.id) { " (left out)" } else { "" };
        let line = format!("{} {} {target}{out}", number_of(&action.id), action.action_type.as_str());
        actions.entry(&action.task_id.0).or_default().push(line);
    }
    let line = |step: &Step| {
        let state = match run.step_state(plan, &step.id) {
            StepState::Done(_) => "done",
            StepState::Partly { .. } => "partly done",
            StepState::AtWork => "at work",
            StepState::Failed(_) => "failed",
            StepState::SkippedBy(_) => "skipped",
            StepState::LeftOut => "not approved",
            StepState::Waiting => "open",
        };
        let actions = actions.get(step.id.0.as_str()).map_or(String::new(), |list| list.join(", "));
        format!("{} [{state}]: {} ({actions})", step.id, step.description)
    };
    plan.steps.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::super::notice::Trigger;
    use super::super::run::{RunId, Sequence};
    use super::super::work::{Ended, Evidence, Outcome, Work};
    use super::*;
    use crate::domain::Account;
    use crate::plan::{ActionId, ActionKind, ActionSpec};

    /// An action whose number is its name and all that tells it from others.
    fn read(number: u32) -> Action {
        Action {
            id: ActionId(format!("a{number}")),
            task_id: StepId("task_1".to_owned()),
            action_type: ActionKind::Read,
            tool: "files".to_owned(),
            purpose: "look".to_owned(),
            expected_outcome: String::new(),
            fallback_strategy: String::new(),
            spec: ActionSpec { path: Some(format!("f{number}.md")), ..ActionSpec::default() },
            optional: false,
        }
    }

    fn plan(actions: Vec<Action>) -> Revision {
        let sequence = Some(Sequence::new(&[], actions, Millis(0)));
        Revision { sequence, ..Revision::default() }
    }

    fn reads(numbers: Range<u32>) -> Revision {
        plan(numbers.map(read).collect())
    }

    fn after(earlier: Vec<Revision>, new: &Revision) -> Run {
        let revisions = earlier.into_iter().chain([new.clone()]).collect();
        let run = Run::new(RunId("r".to_owned()), Account::person(2, "maria"), Trigger::Assigned, Millis(0));
        Run { revisions, ..run }
    }

    fn found(earlier: Vec<Revision>, new: &Revision) -> Option<usize> {
        repeats(&after(earlier, new), new)
    }

    /// Nine tenths of what is in either have to be in both.
    #[test]
    fn a_plan_repeats_another_from_nine_tenths_on() {
        for (old, new, alike) in [
            (0..10, 0..10, true),
            // 9 of 10, 18 of 20, 19 of 21
            (0..10, 0..9, true),
            (0..19, 1..20, true),
            (0..20, 1..21, true),
            // 8 of 9, 17 of 19, 9 of 11
            (0..9, 0..8, false),
            (0..18, 1..19, false),
            (0..10, 1..11, false),
            (0..0, 0..0, false),
        ] {
            let expected = alike.then_some(0);
            assert_eq!(found(vec![reads(old.clone())], &reads(new.clone())), expected, "{old:?} {new:?}");
        }
    }

    #[test]
    fn the_newest_of_all_earlier_plans_is_named() {
        let others = vec![reads(0..5), reads(20..25), reads(0..5), reads(30..35)];
        assert_eq!(found(others.clone(), &reads(0..5)), Some(2));
        assert_eq!(found(others, &reads(40..45)), None);
    }

    /// What an action is called and who carries it out makes no other plan; what it does makes one.
    #[test]
    fn actions_are_compared_by_what_they_do() {
        let old = || vec![plan(vec![read(1)])];
        let changed = |change: fn(&mut Action)| {
            let mut action = read(1);
            change(&mut action);
            found(old(), &plan(vec![action]))
        };
        assert_eq!(changed(|action| action.id = ActionId("a9".to_owned())), Some(0));
        assert_eq!(changed(|action| action.task_id = StepId("task_9".to_owned())), Some(0));
        assert_eq!(changed(|action| action.purpose = "look again".to_owned()), Some(0));
        assert_eq!(changed(|action| action.action_type = ActionKind::Delete), None);
        assert_eq!(changed(|action| action.tool = "shell".to_owned()), None);
        assert_eq!(changed(|action| action.spec.path = Some("other.md".to_owned())), None);
        assert_eq!(changed(|action| action.spec.command = vec!["make".to_owned()]), None);
        assert_eq!(changed(|action| action.spec.content = Some("x".to_owned())), None);
    }

    /// Half of the earlier plan is done: who plans the other half again has changed nothing.
    #[test]
    fn what_is_done_of_the_earlier_plan_is_not_missed_in_the_new_one() {
        let new = reads(5..10);
        let mut run = after(vec![reads(0..10)], &new);
        assert_eq!(repeats(&run, &new), None);
        let ended =
            Ended { outcome: Outcome::Succeeded, evidence: Evidence::default(), actual: String::new() };
        let work =
            Work { begun_at: Millis(0), turns: vec![], refused: 0, on_branch: true, ended: Some(ended) };
        run.work = (0..5).map(|n| (read(n).id, work.clone())).collect();
        assert_eq!(repeats(&run, &new), Some(0));
    }
}
