//! Purpose: where a run is: the one thing that comes next, read off what exists. Pauses and other holds come before.

use super::converse::converse;
use super::effect::{Policy, Question};
use super::fact::Fact;
use super::plan_tool;
use super::reconsider::{announce, came_to_nothing, reconsider};
use super::run::{Revision, Run};
use super::work::{Ended, Outcome, StepState, Turn, Work};
use crate::actions::is_open;
use crate::plan::{Action, Call, FeedbackKind, Level, StepId};

pub(super) enum Next<'a> {
    Ask(Question),
    Preflight,
    Begin(&'a Action),
    Act(&'a Action),
    Use(&'a Action, &'a Call),
    Deliver,
    Note(Vec<Fact>),
}

pub(super) fn next<'a>(run: &'a Run, policy: &Policy) -> Next<'a> {
    if let Some(reason) = &run.broken {
        return Next::Note(plan_tool::give_up(run, reason));
    }
    if let Some(first) = reconsider(run, policy).or_else(|| converse(run, policy)) {
        return first;
    }
    if run.goal.is_none() || run.talk.rethink {
        return Next::Ask(Question::Understand);
    }
    let Some(plan) = run.plan().filter(|plan| !plan.steps.is_empty()) else {
        return Next::Ask(Question::Decompose);
    };
    if plan.sequence.is_none() {
        if plan.regenerated > policy.regenerations {
            let why = impossible(plan);
            let failed = came_to_nothing(run, plan, &why).map(|fact| vec![fact]);
            return Next::Note(failed.unwrap_or_else(|| plan_tool::give_up(run, &why)));
        }
        let partial = plan.origin.as_ref().is_some_and(|origin| origin.level == Level::Partial);
        return Next::Ask(if partial { Question::Revise } else { Question::Sequence });
    }
    if let Some(fact) = announce(run, plan, policy) {
        return Next::Note(vec![fact]);
    }
    if plan.proposal.is_none() {
        return Next::Note(plan_tool::propose(run).into_iter().collect());
    }
    if plan.ground.is_none() {
        return Next::Preflight;
    }
    execution(run, plan, policy)
}

fn impossible(plan: &Revision) -> String {
    let problems: Vec<&str> = plan.problems.iter().take(3).map(String::as_str).collect();
    format!("No plan came out that can be carried out: {}", problems.join("; "))
}

fn execution<'a>(run: &'a Run, plan: &'a Revision, policy: &Policy) -> Next<'a> {
    // What has begun comes to its end first.
    if let Some((action, work)) = run.current_action() {
        return turn(run, action, work, policy);
    }
    if is_reflection_due(run, policy) {
        return Next::Ask(Question::Reflect);
    }
    if let Some((action, why)) = failure(run, plan) {
        let reason = format!("Action {} failed: {why}", crate::actions::number_of(&action.id));
        return Next::Note(plan_tool::give_up(run, &reason));
    }
    if let Some(facts) = plan_tool::seek_approval(run, policy) {
        return Next::Note(facts);
    }
    match plan.actions().find(|action| is_ready(run, plan, action)) {
        Some(action) => Next::Begin(action),
        None => finish(run, policy),
    }
}

/// After every few actions and after each failure, while the plan is not through.
pub(super) fn is_reflection_due(run: &Run, policy: &Policy) -> bool {
    let reflections = &run.reflections;
    let due = reflections.failure || reflections.since >= policy.reflection_interval.max(1);
    let counted = due && reflections.count < policy.max_reflections;
    (counted || reflections.feedback) && !run.executed
}

fn failure<'a>(run: &'a Run, plan: &'a Revision) -> Option<(&'a Action, &'a str)> {
    if !run.work.has_failures() {
        return None;
    }
    let counts = |action: &&Action| !action.optional && !run.accepted.contains(&action.id);
    let of_step = |action: &&Action| !run.skipped.contains_key(&action.task_id);
    plan.actions().filter(counts).filter(of_step).find_map(|action| {
        match run.work.get(&action.id).and_then(|work| work.ended.as_ref()) {
            Some(Ended { outcome: Outcome::Failed { why }, .. }) => Some((action, why.as_str())),
            Some(Ended { outcome: Outcome::Succeeded, .. }) | None => None,
        }
    })
}

fn turn<'a>(run: &'a Run, action: &'a Action, work: &'a Work, policy: &Policy) -> Next<'a> {
    if !is_open(action) {
        return Next::Act(action);
    }
    match work.turns.last() {
        Some(Turn { call: Call::Finish { feedback }, result: None }) => {
            let (outcome, actual) = match feedback.kind {
                FeedbackKind::Difficulty => {
                    (Outcome::Failed { why: feedback.summary.clone() }, feedback.summary.clone())
                }
                // A worker that says it is done has written; then the action has ended with the commit.
                FeedbackKind::Implementation | FeedbackKind::Exploration
                    if action.action_type != crate::plan::ActionKind::Analyze =>
                {
                    let why = "the worker came to an end without changing anything".to_owned();
                    (Outcome::Failed { why: why.clone() }, why)
                }
                FeedbackKind::Implementation | FeedbackKind::Exploration => {
                    (Outcome::Succeeded, feedback.summary.clone())
                }
            };
            Next::Note(vec![plan_tool::ended(run, action, outcome, &actual)])
        }
        Some(Turn { call, result: None }) => Next::Use(action, call),
        Some(Turn { result: Some(_), .. }) | None => {
            let why = if work.turns.len() >= policy.max_turns {
                format!("the worker did not come to an end in {} turns", policy.max_turns)
            } else if work.refused > policy.max_refused {
                "the worker asked again and again for what was not approved".to_owned()
            } else {
                return Next::Ask(Question::Work);
            };
            Next::Note(vec![plan_tool::ended(run, action, Outcome::Failed { why: why.clone() }, &why)])
        }
    }
}

fn is_ready(run: &Run, plan: &Revision, action: &Action) -> bool {
    // What an earlier plan left out is no ground of this one; what this one does is ground that is missing.
    let is_missing = |action: &Action| !action.optional && plan.left_out.contains_key(&action.id);
    let grounded = |on: &StepId| match run.step_state(plan, on) {
        StepState::SkippedBy(_) => true,
        StepState::Done(_) | StepState::LeftOut => {
            plan.open_actions().all(|action| action.task_id != *on || !is_missing(action))
        }
        StepState::Waiting | StepState::AtWork | StepState::Failed(_) => false,
    };
    !run.work.contains_key(&action.id)
        && !plan.left_out.contains_key(&action.id)
        && !run.skipped.contains_key(&action.task_id)
        && run.is_approved(plan, &action.id)
        && (plan.steps.iter().find(|step| step.id == action.task_id))
            .is_none_or(|step| step.dependencies.iter().all(grounded))
}

/// Whether anything of this plan has been carried out.
fn worked(run: &Run, plan: &Revision) -> bool {
    plan.open_actions().any(|action| run.work.contains_key(&action.id))
}

fn finish<'a>(run: &'a Run, policy: &Policy) -> Next<'a> {
    if !run.executed {
        let looks =
            policy.replan.enabled && run.plan().is_some_and(|plan| !plan.evaluated && worked(run, plan));
        return if looks {
            Next::Ask(Question::Evaluate)
        } else {
            Next::Note(vec![plan_tool::executed(run)])
        };
    }
    let changed = run
        .work
        .values()
        .any(|work| work.ended.as_ref().is_some_and(|ended| ended.evidence.commit.is_some()));
    if changed && policy.delivers && run.delivery.is_none() {
        return Next::Deliver;
    }
    Next::Note(vec![plan_tool::completed(run)])
}
