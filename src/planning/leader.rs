//! Purpose: the leader: which steps are given to whom, what comes next in each lane, and what ends it. Only workers go on
//! side by side; whatever concerns the run as a whole is decided one thing at a time, when no action is at work.

use std::num::NonZeroU32;

use super::crew::CrewFact;
use super::cursor::{Next, is_ready};
use super::effect::{InFlight, Key, Policy, Question};
use super::fact::Fact;
use super::lanes::Lane;
use super::replans::ReplanFact;
use super::run::{Revision, Run};
use super::work::{Ended, NOTHING_TO_CHANGE, Outcome, StepState, Work};
use crate::actions::is_open;
use crate::crew::{
    self, ActionEvidence, Assignment, Candidate, Change, Checkout, Judgement, Need, Shown, Standing,
    StepEvidence, Weighed, weigh,
};
use crate::plan::{Action, ActionKind, StepId};
use crate::prompts::Usage;

/// What a lane wants next.
pub(super) type Wanted<'a> = (&'a StepId, &'a Lane, Next<'a>);

/// The steps that are given to workers now.
pub(super) fn assign(run: &Run, plan: &Revision, policy: &Policy) -> Vec<Fact> {
    let candidates: Vec<Candidate> = plan.steps.iter().map(|step| candidate(run, plan, &step.id)).collect();
    let workers = NonZeroU32::new(policy.workers).unwrap_or(NonZeroU32::MIN);
    let assigned = |Assignment { step, worker, checkout }| {
        let attempt = run.crew.steps.get(&step).map_or(0, |taken| taken.attempts) + 1;
        Fact::Crew(CrewFact::StepAssigned { step, worker, checkout, attempt })
    };
    crew::assign(&candidates, workers).into_iter().map(assigned).collect()
}

fn candidate(run: &Run, plan: &Revision, step: &StepId) -> Candidate {
    let standing = match (run.lanes.get(step), run.step_state(plan, step)) {
        (Some(lane), _) if lane.judged.is_some() => Standing::Merging,
        (Some(lane), _) => Standing::AtWork { worker: lane.worker, checkout: lane.checkout },
        (None, StepState::Done(_) | StepState::Partly { .. } | StepState::SkippedBy(_)) => Standing::Accepted,
        (None, StepState::Failed(_) | StepState::LeftOut) => Standing::Closed,
        (None, StepState::Waiting | StepState::AtWork) if run.crew.holds(step) => Standing::Held,
        (None, StepState::Waiting | StepState::AtWork) => Standing::Waiting,
    };
    Candidate {
        id: step.clone(),
        dependencies_accepted: upcoming(run, plan, step).is_some(),
        standing,
        fully_specified: !needs_opinion(run, plan, step),
    }
}

/// The first action of a step that may begin now.
fn upcoming<'a>(run: &Run, plan: &'a Revision, step: &StepId) -> Option<&'a Action> {
    run.actions_of(plan, step).find(|action| is_ready(run, plan, action))
}

/// Whether somebody has to look at what a worker made of it. What is specified to the letter shows for itself.
fn needs_opinion(run: &Run, plan: &Revision, step: &StepId) -> bool {
    run.actions_of(plan, step).any(is_open)
}

/// What comes next in a lane none of whose actions is at work.
pub(super) fn in_lane<'a>(
    run: &'a Run,
    plan: &'a Revision,
    step: &'a StepId,
    lane: &Lane,
) -> Option<Next<'a>> {
    if has_failed(run, plan, step) || lane.judged.is_some() {
        return Some(Next::Merge(step));
    }
    if let Some(action) = upcoming(run, plan, step) {
        return (!run.crew.holds(step)).then_some(Next::Begin(action));
    }
    // Something of it is still to be decided about.
    if run.actions_of(plan, step).any(|action| !run.work.contains_key(&action.id)) {
        return None;
    }
    if needs_opinion(run, plan, step) {
        return Some(Next::Ask(Question::Judge));
    }
    let judged = judgement(run, &lane.key(&run.id, step), None, None);
    judged.map(|fact| Next::Note(vec![Fact::Crew(fact)]))
}

pub(super) fn awaits_judge(run: &Run, step: &StepId, lane: &Lane) -> bool {
    let next = run.plan().filter(|_| run.at_work_in(step).is_none());
    matches!(next.and_then(|plan| in_lane(run, plan, step, lane)), Some(Next::Ask(Question::Judge)))
}

/// What a judge said about the step whose lane waits for it, weighed against what can be shown. Without an opinion that
/// decides alone.
#[must_use]
pub fn judgement(run: &Run, key: &Key, opinion: Option<Judgement>, usage: Option<Usage>) -> Option<CrewFact> {
    let (step, _) = run.lane_awaiting(key)?;
    let rounds = run.crew.steps.get(step).map_or(0, |taken| taken.rounds);
    let Weighed { judgement, by, overruled } = weigh(&evidence(run, run.plan()?, step), opinion, rounds);
    Some(CrewFact::StepJudged { key: key.clone(), step: step.clone(), judgement, by, overruled, usage })
}

fn has_failed(run: &Run, plan: &Revision, step: &StepId) -> bool {
    let failed = |action: &Action| {
        let ended = run.work.get(&action.id).and_then(|work| work.ended.as_ref());
        !action.optional && ended.is_some_and(|ended| matches!(ended.outcome, Outcome::Failed { .. }))
    };
    run.actions_of(plan, step).any(failed)
}

/// What can be shown for a step, action by action.
fn evidence(run: &Run, plan: &Revision, step: &StepId) -> StepEvidence {
    StepEvidence { actions: run.actions_of(plan, step).map(|action| shown(run, action)).collect() }
}

fn shown(run: &Run, action: &Action) -> ActionEvidence {
    let ended = run.work.get(&action.id).and_then(|work: &Work| work.ended.as_ref());
    ActionEvidence {
        id: action.id.clone(),
        need: if action.optional { Need::Optional } else { Need::Required },
        shown: match ended.map(|ended| &ended.outcome) {
            Some(Outcome::Succeeded) => Shown::Succeeded,
            Some(Outcome::Failed { why }) => Shown::Failed { why: why.clone() },
            None => Shown::Missing,
        },
        exit_code: ended.and_then(|ended| ended.evidence.exit_code),
        change: change(action, ended),
    }
}

fn change(action: &Action, ended: Option<&Ended>) -> Change {
    match action.action_type {
        ActionKind::Create | ActionKind::Write | ActionKind::Delete => match ended {
            Some(Ended { evidence, .. }) if evidence.commit.is_some() => Change::Committed,
            Some(Ended { actual, .. }) if actual == NOTHING_TO_CHANGE => Change::NothingToChange,
            Some(_) | None => Change::Absent,
        },
        // An empty directory is nothing to git.
        ActionKind::Mkdir | ActionKind::Read | ActionKind::Analyze | ActionKind::Run | ActionKind::Tool => {
            Change::NotWanted
        }
    }
}

/// What the lanes want that have no action at work, each under the key of its lane. One merge at a time, and none while
/// a step is worked on in the run's own checkout.
pub(super) fn lanes<'a>(run: &'a Run, plan: &'a Revision, in_flight: &InFlight) -> Vec<Wanted<'a>> {
    let idle = |step: &StepId, lane: &Lane| run.at_work_in(step).is_none() && lane.is_free();
    let mut wanted: Vec<Wanted<'a>> = (plan.steps.iter())
        .filter_map(|step| run.lanes.get_key_value(&step.id))
        .filter(|(step, lane)| idle(step, lane))
        .filter_map(|(step, lane)| Some((step, lane, in_lane(run, plan, step, lane)?)))
        .collect();
    let is_merge = |(_, _, next): &Wanted<'a>| matches!(next, Next::Merge(_));
    let under_way = wanted
        .iter()
        .filter(|wanted| is_merge(wanted))
        .find(|(step, lane, _)| in_flight.contains(&lane.key(&run.id, step)));
    let shared = run.lanes.values().any(|lane| lane.checkout == Checkout::Shared);
    let first = under_way.or_else(|| wanted.iter().find(|wanted| is_merge(wanted)));
    let first = first.map(|(step, _, _)| (*step).clone()).filter(|_| !shared);
    wanted.retain(|wanted| !is_merge(wanted) || first.as_ref() == Some(wanted.0));
    wanted
}

/// A lane whose work has to be on the run's branch before the plan changes or the run ends: what is done stays done. What
/// is done as a whole is judged first.
pub(super) fn called_in<'a>(run: &'a Run, plan: &'a Revision, next: &Next<'_>) -> Option<Wanted<'a>> {
    let settles = |fact: &Fact| {
        matches!(
            fact,
            Fact::Replan(ReplanFact::ReplanDecision { .. }) | Fact::Failed { .. } | Fact::Executed { .. }
        )
    };
    let settles = matches!(next, Next::Note(facts) if facts.iter().any(settles));
    // A lane is left where it is once nothing helps: it may be this very merge that ends the run.
    let unmerged = |(step, lane): &(&StepId, &Lane)| {
        lane.checkout == Checkout::Own && lane.is_free() && run.has_unmerged(plan, step)
    };
    let (step, lane) = run.lanes.iter().find(|lane| settles && unmerged(lane))?;
    let shown = || judgement(run, &lane.key(&run.id, step), None, None);
    let next = match in_lane(run, plan, step, lane) {
        // A run that is broken asks nobody any more: it may be the model that is gone, or the budget.
        Some(Next::Ask(_)) if run.broken.is_some() => {
            shown().map_or(Next::Merge(step), |judged| Next::Note(vec![Fact::Crew(judged)]))
        }
        Some(judges @ (Next::Ask(_) | Next::Note(_))) => judges,
        Some(_) | None => Next::Merge(step),
    };
    Some((step, lane, next))
}
