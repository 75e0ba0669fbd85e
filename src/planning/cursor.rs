//! Purpose: where a run is, read off what exists: what it has to do as a whole, and what comes next for an action at
//! work. Pauses and other holds come before.

use super::converse::converse;
use super::crew::Plea;
use super::effect::{Policy, Question};
use super::fact::Fact;
use super::help::{advised, escalate};
use super::plan_tool;
use super::reconsider::{announce, came_to_nothing, reconsider};
use super::run::{Revision, Run};
use super::work::{Ended, Outcome, StepState, Turn, Work};
use crate::actions::is_open;
use crate::crew::cause_of;
use crate::plan::{Action, ActionKind, Call, Feedback, Level, StepId, WorkResult};

pub(super) enum Next<'a> {
    Ask(Question),
    Preflight,
    Begin(&'a Action),
    Act(&'a Action),
    Use(&'a Action, &'a Call),
    /// Take what a worker made onto the run's branch.
    Merge(&'a StepId),
    /// Ask people; whom, is still to be found out.
    Escalate(Box<Plea>),
    Deliver,
    Note(Vec<Fact>),
}

/// What the run as a whole has to do before anything more is begun. `None`: workers may go on.
pub(super) fn lead<'a>(run: &'a Run, policy: &Policy) -> Option<Next<'a>> {
    if let Some(reason) = &run.broken {
        return Some(Next::Note(plan_tool::give_up(run, reason)));
    }
    let first = || advised(run, policy).or_else(|| escalate(run, policy));
    if let Some(first) = first().or_else(|| reconsider(run, policy)).or_else(|| converse(run, policy)) {
        return Some(first);
    }
    if run.reads_document() {
        return Some(Next::Ask(Question::ReadDocument));
    }
    if run.goal.is_none() || run.talk.rethink {
        return Some(Next::Ask(Question::Understand));
    }
    let Some(plan) = run.plan().filter(|plan| !plan.steps.is_empty()) else {
        return Some(Next::Ask(Question::Decompose));
    };
    if plan.sequence.is_none() {
        if plan.regenerated > policy.regenerations {
            let why = impossible(plan);
            let failed = came_to_nothing(run, plan, &why).map(|fact| vec![fact]);
            return Some(Next::Note(failed.unwrap_or_else(|| plan_tool::give_up(run, &why))));
        }
        let partial = plan.origin.as_ref().is_some_and(|origin| origin.level == Level::Partial);
        return Some(Next::Ask(if partial { Question::Revise } else { Question::Sequence }));
    }
    if let Some(fact) = announce(run, plan, policy) {
        return Some(Next::Note(vec![fact]));
    }
    if plan.proposal.is_none() {
        return Some(Next::Note(plan_tool::propose(run).into_iter().collect()));
    }
    if plan.ground.is_none() {
        return Some(Next::Preflight);
    }
    execution(run, plan, policy)
}

fn impossible(plan: &Revision) -> String {
    let problems: Vec<&str> = plan.problems.iter().take(3).map(String::as_str).collect();
    format!("No plan came out that can be carried out: {}", problems.join("; "))
}

fn execution<'a>(run: &'a Run, plan: &'a Revision, policy: &Policy) -> Option<Next<'a>> {
    if is_reflection_due(run, policy) {
        return Some(Next::Ask(Question::Reflect));
    }
    if let Some((action, why)) = failure(run, plan) {
        let reason = format!("Action {} failed: {why}", crate::actions::number_of(&action.id));
        return Some(Next::Note(plan_tool::give_up(run, &reason)));
    }
    plan_tool::seek_approval(run, policy).map(Next::Note)
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
    let counts = |action: &&Action| {
        !action.optional && !run.accepted.contains(&action.id) && !run.crew.is_about(&action.id)
    };
    let of_step = |action: &&Action| !run.skipped.contains_key(&action.task_id);
    plan.actions().filter(counts).filter(of_step).find_map(|action| {
        match run.work.get(&action.id).and_then(|work| work.ended.as_ref()) {
            Some(Ended { outcome: Outcome::Failed { why }, .. }) => Some((action, why.as_str())),
            Some(Ended { outcome: Outcome::Succeeded, .. }) | None => None,
        }
    })
}

pub(super) fn turn<'a>(run: &'a Run, action: &'a Action, work: &'a Work, policy: &Policy) -> Next<'a> {
    if !is_open(action) {
        return Next::Act(action);
    }
    match work.turns.last() {
        Some(Turn { call: Call::Finish { feedback }, result: None, .. }) => {
            Next::Note(vec![ends_with(run, action, feedback)])
        }
        Some(Turn { call: Call::Report { feedback }, result: None, .. }) => {
            Next::Note(vec![reported(run, action, feedback, policy)])
        }
        Some(Turn { call, result: None, .. }) => Next::Use(action, call),
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

fn ends_with(run: &Run, action: &Action, feedback: &Feedback) -> Fact {
    let (outcome, actual) = finished(action, feedback);
    plan_tool::ended(run, action, outcome, &actual)
}

/// What the leader says to a report. Where the table knows who can help with a difficulty, the worker is not left to
/// struggle on: its action ends as if it had given up.
fn reported(run: &Run, action: &Action, feedback: &Feedback, policy: &Policy) -> Fact {
    let answer = |result: &str, refused: bool| Fact::Used {
        key: run.key_of(&action.id),
        action: action.id.clone(),
        tool: "report".to_owned(),
        result: result.to_owned(),
        refused,
    };
    if !policy.crew.reports {
        return answer("refused: nobody reads reports during the work; say it when you finish", true);
    }
    match feedback {
        Feedback::Implementation { .. } | Feedback::Exploration { .. } => answer("noted; go on", false),
        Feedback::Difficulty { impediment, .. } => {
            match cause_of(impediment.category, impediment.requested_action) {
                Some(_) => ends_with(run, action, feedback),
                None => answer("noted; go on as you think best", false),
            }
        }
    }
}

/// What an action came to whose worker says that it has finished.
fn finished(action: &Action, feedback: &Feedback) -> (Outcome, String) {
    let summary = feedback.summary();
    match feedback {
        Feedback::Difficulty { .. } | Feedback::Implementation { result: WorkResult::Failed, .. } => {
            (Outcome::Failed { why: summary.clone() }, summary)
        }
        // A worker that says it is done has written; then the action has ended with the commit.
        Feedback::Implementation { .. } | Feedback::Exploration { .. }
            if action.action_type != ActionKind::Analyze =>
        {
            let why = "the worker came to an end without changing anything".to_owned();
            (Outcome::Failed { why: why.clone() }, why)
        }
        Feedback::Implementation { .. } | Feedback::Exploration { .. } => (Outcome::Succeeded, summary),
    }
}

pub(super) fn is_ready(run: &Run, plan: &Revision, action: &Action) -> bool {
    // What an earlier plan left out is no ground of this one; what this one does is ground that is missing.
    let is_missing = |action: &Action| !action.optional && plan.left_out.contains_key(&action.id);
    let grounded = |on: &StepId| match run.step_state(plan, on) {
        StepState::SkippedBy(_) => true,
        StepState::Done(_) | StepState::Partly { .. } | StepState::LeftOut => {
            plan.open_actions().all(|action| action.task_id != *on || !is_missing(action))
        }
        StepState::Waiting | StepState::AtWork | StepState::Failed(_) => false,
    };
    !run.work.contains_key(&action.id)
        && !plan.left_out.contains_key(&action.id)
        && !run.skipped.contains_key(&action.task_id)
        && run.is_approved(plan, &action.id)
        && waits_for(plan, &action.task_id).all(|on| {
            let named =
                plan.steps.iter().any(|step| step.id == action.task_id && step.dependencies.contains(on));
            grounded(on) || (!named && is_over(run, plan, on))
        })
}

/// Whether nothing more is done for a step, whatever came of it. What only comes after it on paper does not need it.
fn is_over(run: &Run, plan: &Revision, step: &StepId) -> bool {
    match run.step_state(plan, step) {
        StepState::Done(_) | StepState::Partly { .. } | StepState::SkippedBy(_) | StepState::LeftOut => true,
        StepState::Failed(_) => {
            run.actions_of(plan, step).any(|action| run.accepted.contains(&action.id))
                && !run.lanes.contains_key(step)
        }
        StepState::Waiting | StepState::AtWork => false,
    }
}

/// The steps that have to be accepted before this one, of those that the plan still has.
fn waits_for<'a>(plan: &'a Revision, step: &StepId) -> impl Iterator<Item = &'a StepId> {
    let order = plan.sequence.as_ref().map(|sequence| &sequence.order);
    order
        .into_iter()
        .flat_map(move |order| order.waits(step))
        .filter(|on| plan.steps.iter().any(|step| step.id == **on))
}

/// Whether anything of this plan has been carried out.
fn worked(run: &Run, plan: &Revision) -> bool {
    plan.open_actions().any(|action| run.work.contains_key(&action.id))
}

pub(super) fn finish<'a>(run: &'a Run, policy: &Policy) -> Next<'a> {
    if !run.executed {
        let looks =
            policy.replan.enabled && run.plan().is_some_and(|plan| !plan.evaluated && worked(run, plan));
        return if looks {
            Next::Ask(Question::Evaluate)
        } else {
            Next::Note(vec![plan_tool::executed(run)])
        };
    }
    if run.commits().count > 0 && policy.delivers && run.delivery.is_none() {
        return Next::Deliver;
    }
    Next::Note(vec![plan_tool::completed(run)])
}
