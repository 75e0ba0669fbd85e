//! Purpose: what one fact does to the run that it belongs to.

use std::collections::BTreeSet;

use super::effect::Key;
use super::fact::Fact;
use super::notice::AskProblem;
use super::proposal::{Approval, Proposal, Request};
use super::replans::{Replan, ReplanState};
use super::retry::{Retry, Tries};
use super::run::{Delivery, End, EndState, Pause, Revision, Run, Sequence};
use super::work::{Ended, Outcome};
use crate::domain::{Account, CommentId, Millis, Permission};
use crate::plan::{ActionId, Decided, Reflection, ReplanDecision, ReplanPhase, ReplanType, Step, StepId};
use crate::prompts::Usage;

pub(super) fn apply(run: &mut Run, at: Millis, fact: &Fact) {
    match fact {
        Fact::Paused { by, comment } => paused(run, at, by, *comment),
        Fact::Resumed { .. } => resumed(run, at),
        Fact::Cancelled { by, .. } => end(run, at, EndState::Cancelled { by: by.clone() }),
        Fact::Stopped { by, why } => end(run, at, EndState::Stopped { by: by.clone(), why: *why }),
        Fact::Failed { reason } => end(run, at, EndState::Failed { reason: reason.clone() }),
        Fact::Completed { .. } => end(run, at, EndState::Completed),
        Fact::DescriptionEdited { used: false, .. } => run.unused_comments += 1,
        Fact::CommentArrived { used: false, by, .. } => {
            // Whoever may not steer any more is not taken for somebody who may.
            run.rights.remove(&by.id);
            run.unused_comments += 1;
        }
        Fact::CommentArrived { used: true, comment, by, permission } => {
            steered(run, *comment, by, *permission)
        }
        Fact::AskBegun { .. } => {
            run.spent.model_calls += 1;
            run.busy_since.get_or_insert(at);
        }
        Fact::TimerFired { key } => time_is_up(run, at, key),
        Fact::StepSkipped { by, step, .. } => skipped(run, step, by),
        Fact::BudgetRaised { resource, amount, .. } => run.budget.raise(*resource, *amount),
        Fact::AskFailed { .. }
        | Fact::EffectFailed { .. }
        | Fact::GoalUnderstood { .. }
        | Fact::Decomposed { .. }
        | Fact::Sequenced { .. }
        | Fact::Reflected { .. }
        | Fact::SpecsSet { .. }
        | Fact::Delivered { .. }
        | Fact::Executed { .. } => came_back(run, at, fact),
        Fact::PlanProposed { .. }
        | Fact::ApprovalRequested { .. }
        | Fact::PreviewPosted { .. }
        | Fact::BoxesTicked { .. }
        | Fact::PreviewTampered { .. }
        | Fact::ApprovalVoided { .. }
        | Fact::Approved { .. }
        | Fact::Rejected { .. } => {
            to_plan(run, at, fact);
            run.look_for_undecided();
        }
        Fact::ActionBegun { .. }
        | Fact::ActionEnded { .. }
        | Fact::ActionInterrupted { .. }
        | Fact::Worked { .. }
        | Fact::Used { .. } => to_work(run, at, fact),
        Fact::Talk(fact) => run.talks(at, fact),
        Fact::Replan(fact) => run.replans(at, fact),
        Fact::Crew(fact) => run.crews(at, fact),
        Fact::DescriptionEdited { .. } => run.reflections.feedback |= !run.work.is_empty(),
        Fact::Aborted { .. }
        | Fact::Triggered { .. }
        | Fact::Refused { .. }
        | Fact::CommentUnconfirmed { .. }
        | Fact::LanguageSeen { .. }
        | Fact::Forgotten { .. }
        | Fact::Noticed { .. }
        | Fact::Replied { .. } => {}
    }
}

fn steered(run: &mut Run, comment: CommentId, by: &Account, permission: Permission) {
    run.rights.insert(by.id, permission);
    run.sources.push(comment);
    run.reflections.feedback |= !run.work.is_empty();
}

fn paused(run: &mut Run, at: Millis, by: &Account, comment: Option<CommentId>) {
    run.pause.get_or_insert_with(|| Pause { by: by.clone(), comment, since: at });
}

/// A pause ends, or else somebody says that what is unclear shall be done once more.
fn resumed(run: &mut Run, at: Millis) {
    if let Some(pause) = run.pause.take() {
        move_deadlines(run, at.0.saturating_sub(pause.since.0));
        return;
    }
    if !run.unclear.is_empty() {
        let action = run.unclear.remove(0);
        run.work.forget(&action);
    }
}

/// Time does not run against people while a run is paused.
fn move_deadlines(run: &mut Run, by: i64) {
    let rounds = run.talk.rounds.iter_mut().filter(|round| !round.closed).map(|round| &mut round.deadline);
    let replans = run.replans.all.iter_mut().map(|replan| &mut replan.deadline);
    let asked = run.crew.escalations.iter_mut();
    let asked = asked.flat_map(|asked| [&mut asked.remind_at, &mut asked.deadline]);
    for deadline in rounds.chain(replans).chain(asked) {
        *deadline = deadline.map(|deadline| deadline.plus(by));
    }
}

fn time_is_up(run: &mut Run, at: Millis, key: &Key) {
    run.retry.take_if(|retry| retry.key == *key);
    for lane in run.lanes.values_mut() {
        lane.retry.take_if(|retry| retry.key == *key);
    }
    run.escalation_times_up(key);
    let id = run.id.clone();
    if let Some(round) = run.talk.rounds.iter_mut().find(|round| round.key(&id) == *key) {
        round.overdue = true;
        round.deadline = None;
    }
    let waiting = run
        .replans
        .all
        .iter_mut()
        .find(|replan| replan.key(&id) == *key && replan.state == ReplanState::Confirming);
    if let Some(id) = waiting.map(|replan| replan.id) {
        run.declined(at, id, None);
    }
}

/// What is unclear in a step that is left out needs no answer any more.
fn skipped(run: &mut Run, step: &StepId, by: &Account) {
    run.skipped.insert(step.clone(), by.clone());
    let at_limit = run.replans.limit.as_ref().and_then(|hit| hit.failed.clone());
    let of_step = |action: &ActionId| {
        run.plan().is_some_and(|plan| plan.actions().any(|a| a.id == *action && a.task_id == *step))
    };
    let settles_limit = at_limit.is_some_and(|failed| of_step(&failed));
    let unclear: Vec<ActionId> = run.unclear.iter().filter(|action| of_step(action)).cloned().collect();
    // A no to what would mend this step; what a person is asked about another one is still asked.
    let asks = |replan: &&Replan| replan.state == ReplanState::Confirming;
    let about_step = |replan: &&Replan| replan.failed.as_ref().is_some_and(of_step);
    let confirming = run.replans.all.last().filter(asks).filter(about_step).map(|replan| replan.id);
    if settles_limit {
        run.replans.limit = None;
    }
    if let Some(id) = confirming {
        run.settle(id, ReplanState::Declined { by: Some(by.clone()) });
    }
    for action in unclear {
        run.work.forget(&action);
        run.unclear.retain(|other| *other != action);
    }
    run.undo(step);
    run.cancel_escalations();
    run.look_for_undecided();
}

/// What was asked for has come, or failed. Which facts come here is decided above, where all are listed.
fn came_back(run: &mut Run, at: Millis, fact: &Fact) {
    if let Fact::AskFailed { key, problem, reason, usage, not_before } = fact {
        usage.iter().for_each(|usage| spend(run, usage));
        if *problem == AskProblem::Away {
            // The beginning counted a call, and the forge kept us from making it.
            run.spent.model_calls = run.spent.model_calls.saturating_sub(1);
        }
        failed(run, at, Failure { key, problem: *problem, reason, not_before: *not_before });
    } else if let Fact::EffectFailed { key, problem, reason, not_before } = fact {
        failed(run, at, Failure { key, problem: *problem, reason, not_before: *not_before });
    } else if let Fact::Executed { .. } = fact {
        run.executed = true;
    } else if let Fact::Reflected { key, reflection, usage, replan } = fact {
        usage.iter().for_each(|usage| spend(run, usage));
        if takes(run, at, key) {
            reflected(run, reflection.as_ref(), replan);
        }
    } else if let Fact::Delivered { key, branch, commit, change, url } = fact
        && takes(run, at, key)
    {
        let (branch, commit) = (branch.clone(), commit.clone());
        run.delivery = Some(Delivery { branch, commit, change: change.clone(), url: url.clone() });
    } else {
        planned(run, at, fact);
    }
}

fn planned(run: &mut Run, at: Millis, fact: &Fact) {
    if let Fact::GoalUnderstood { key, goal, usage, hidden, replan, before } = fact {
        spend(run, usage);
        if takes(run, at, key) {
            run.goal = Some(goal.clone());
            run.hidden = *hidden;
            run.talk.rethink = false;
            run.talk.before = before.clone().or_else(|| run.talk.before.take());
            run.consider(ReplanPhase::GoalUnderstanding, replan.clone());
        }
    } else if let Fact::Decomposed { key, steps, usage, replan, .. } = fact {
        spend(run, usage);
        if takes(run, at, key) {
            decomposed(run, steps);
            run.consider(ReplanPhase::TaskDecomposition, replan.clone());
        }
    } else if let Fact::Sequenced { key, actions, usage, replan } = fact {
        spend(run, usage);
        if takes(run, at, key) {
            if let Some(plan) = run.revisions.last_mut() {
                plan.sequence = Some(Sequence::new(&plan.steps, actions.clone(), at));
            }
            run.consider(ReplanPhase::ActionSequence, replan.clone());
        }
        run.look_for_undecided();
    } else if let Fact::SpecsSet { key, issues, .. } = fact
        && takes(run, at, key)
    {
        let problems = issues.iter().map(|issue| format!("action {}: {}", issue.id, issue.what));
        set_specs(run, fact, problems.collect());
        run.look_for_undecided();
    }
}

/// A replan has left an empty plan to be filled.
fn decomposed(run: &mut Run, steps: &[Step]) {
    match run.revisions.last_mut().filter(|plan| plan.steps.is_empty()) {
        Some(plan) => plan.steps = steps.to_vec(),
        None => run.revisions.push(Revision { steps: steps.to_vec(), ..Revision::default() }),
    }
}

/// How sure a reflection counts that says the plan needs a change and not how sure it is.
const REFLECTION_CONFIDENCE: f64 = 0.6;

fn reflected(run: &mut Run, reflection: Option<&Reflection>, replan: &Decided) {
    let reflections = &mut run.reflections;
    reflections.all.extend(reflection.cloned());
    // What people say is looked at however often they speak.
    reflections.count += u32::from(!reflections.feedback);
    (reflections.since, reflections.failure, reflections.feedback) = (0, false, false);
    let said = match (replan, reflection) {
        (Decided::Nothing, Some(reflection)) if reflection.plan_revision_needed => {
            let decision = ReplanDecision {
                replan_needed: true,
                confidence: REFLECTION_CONFIDENCE,
                reasoning: reflection.evaluation.clone(),
                replan_type: ReplanType::PlanRevision,
                issues_found: reflection.issues_identified.clone(),
                ..ReplanDecision::default()
            };
            Decided::Decision { decision: Box::new(decision) }
        }
        (said, _) => said.clone(),
    };
    run.consider(ReplanPhase::Reflection, said);
}

fn to_plan(run: &mut Run, at: Millis, fact: &Fact) {
    let Some(plan) = run.revisions.last_mut() else { return };
    if let Fact::PlanProposed { version, title, rationale, sources, tags, .. } = fact {
        let (title, rationale) = (title.clone(), rationale.clone());
        let (sources, tags) = (sources.clone(), tags.clone());
        plan.proposal = Some(Proposal { version: *version, title, rationale, sources, tags, at });
    } else if let Fact::ApprovalRequested { .. } = fact {
        requested(plan, at, fact);
    } else if let Fact::PreviewPosted { request, comments, unreadable } = fact {
        with(plan, *request, |request| {
            request.comments.clone_from(comments);
            request.unreadable = unreadable.iter().cloned().collect();
        });
    } else if let Fact::BoxesTicked { request, boxes, counted, .. } = fact {
        let boxes = boxes.iter().cloned().collect();
        with(plan, *request, |request| if *counted { request.tick(boxes) } else { request.see(boxes) });
    } else if let Fact::PreviewTampered { by, request } = fact {
        with(plan, *request, |request| request.void = true);
        plan.note_changed(&[match by {
            Some(by) => format!("the preview: @{} edited or deleted it", by.login),
            None => "the preview: somebody edited or deleted it".to_owned(),
        }]);
    } else if let Fact::ApprovalVoided { by, action, .. } = fact {
        run.void_approvals(by, action.as_ref());
    } else if let Fact::Approved { by, actions: approved, left_out, .. } = fact {
        let actions = approved.iter().map(|named| (named.id.clone(), named.digest.clone())).collect();
        plan.approvals.push(Approval { by: by.clone(), actions, at });
        plan.left_out.extend(left_out.iter().map(|out| (out.id.clone(), out.why.clone())));
        if by.is_some() {
            run.trust_tools(approved);
        }
    } else if let Fact::Rejected { by, reason, .. } = fact {
        let why = format!("@{} turned the actions down: {reason}", by.login);
        if plan.open_actions().all(|action| !run.work.contains_key(&action.id)) {
            turn_back(plan, vec![why]);
            run.progress += 1;
        } else {
            // What is done is sealed: only the open rest can still be turned down, and stays out.
            plan.left_out.extend(plan.undecided.iter().map(|id| (id.clone(), why.clone())));
            let lost = run.plan().map(|plan| super::plan_tool::without_ground(run, plan)).unwrap_or_default();
            run.revisions.last_mut().into_iter().for_each(|plan| plan.left_out.extend(lost.clone()));
        }
    }
}

fn requested(plan: &mut Revision, at: Millis, fact: &Fact) {
    let Fact::ApprovalRequested { request, wanted, not_requester, digest, changed, .. } = fact else {
        return;
    };
    plan.requests.push(Request {
        number: *request,
        at,
        wanted: wanted.iter().map(|wanted| (wanted.id.clone(), wanted.clone())).collect(),
        not_requester: *not_requester,
        digest: digest.clone(),
        changed: changed.clone(),
        comments: vec![],
        unreadable: BTreeSet::new(),
        seen: BTreeSet::new(),
        ticked: BTreeSet::new(),
        void: false,
    });
    plan.changed.clear();
}

fn with(plan: &mut Revision, number: u32, change: impl FnOnce(&mut Request)) {
    if let Some(request) = plan.requests.iter_mut().find(|request| request.number == number) {
        change(request);
    }
}

fn set_specs(run: &mut Run, fact: &Fact, problems: Vec<String>) {
    let Fact::SpecsSet { ground, place, specs, changed, .. } = fact else { return };
    let Some(plan) = run.revisions.last_mut() else { return };
    if !problems.is_empty() {
        plan.regenerated += 1;
        turn_back(plan, problems);
        return;
    }
    plan.ground = Some(ground.clone());
    plan.place = Some(place.clone());
    plan.note_changed(changed);
    for spec in specs {
        // It has begun as something else than what it is now, and has done nothing yet: people decide about it anew.
        if run.work.is_at_work(&spec.id) {
            run.work.forget(&spec.id);
        }
        plan.specs.insert(spec.id.clone(), spec.clone());
    }
    run.meet_tools(specs);
}

/// The actions are chosen anew; what was put up for them before stays readable but means nothing any more.
fn turn_back(plan: &mut Revision, problems: Vec<String>) {
    plan.problems = problems;
    (plan.sequence, plan.proposal, plan.ground) = (None, None, None);
    let sealed: BTreeSet<ActionId> = plan.sealed.iter().map(|action| action.id.clone()).collect();
    plan.specs.retain(|id, _| sealed.contains(id));
    plan.left_out.retain(|id, _| sealed.contains(id));
    // What is done rests on its approval also while the rest is planned anew.
    plan.approvals.iter_mut().for_each(|approval| approval.actions.retain(|id, _| sealed.contains(id)));
    plan.approvals.retain(|approval| !approval.actions.is_empty());
    plan.changed.clear();
    if let Some(request) = plan.requests.last_mut() {
        request.void = true;
    }
}

fn to_work(run: &mut Run, at: Millis, fact: &Fact) {
    if let Fact::ActionBegun { key, action, .. } = fact
        && takes(run, at, key)
    {
        let on_branch = !run.works_apart(action);
        run.work.begin(action, at, on_branch);
        run.busy_since.get_or_insert(at);
    } else if let Fact::ActionEnded { key, action, outcome, evidence, actual, .. } = fact {
        run.spent.files += u64::try_from(evidence.files.len()).unwrap_or(u64::MAX);
        run.spent.bytes += evidence.bytes;
        if takes(run, at, key) {
            run.reflections.since += 1;
            run.reflections.failure |= matches!(outcome, Outcome::Failed { .. });
            let (outcome, evidence, actual) = (outcome.clone(), evidence.clone(), actual.clone());
            let failed = matches!(outcome, Outcome::Failed { .. }) && !is_optional(run, action);
            run.work.end(action, Ended { outcome, evidence, actual });
            run.leave_if_in_vain(action, failed);
            if run.replans.fresh.as_ref().is_none_or(|fresh| fresh.failed.is_none()) {
                run.replans.fresh = None;
                run.consider(ReplanPhase::Execution, Decided::Nothing);
            }
            if failed {
                run.has_failed(action);
            }
        }
    } else if let Fact::ActionInterrupted { key, action } = fact
        && takes(run, at, key)
    {
        run.unclear.push(action.clone());
    } else if let Fact::Worked { key, action, call, usage } = fact {
        spend(run, usage);
        if takes(run, at, key) {
            run.work.take_turn(action, at, call);
        }
    } else if let Fact::Used { key, action, result, refused, .. } = fact
        && takes(run, at, key)
    {
        run.work.end_turn(action, result, *refused);
    }
}

fn is_optional(run: &Run, id: &ActionId) -> bool {
    run.plan().is_some_and(|plan| plan.actions().any(|action| action.id == *id && action.optional))
}

/// Whether this is what the run waits for. Anything under another key came too late and is evidence only.
pub(super) fn takes(run: &mut Run, at: Millis, key: &Key) -> bool {
    if let Some(lane) = run.lane_awaiting_mut(key) {
        lane.advance();
    } else if *key == run.key() {
        (run.tries, run.retry) = (Tries::default(), None);
        run.progress += 1;
    } else {
        return false;
    }
    rest(run, at);
    true
}

/// Time that several workers spend side by side counts once.
fn rest(run: &mut Run, at: Millis) {
    if let Some(since) = run.busy_since.take() {
        run.spent.active_ms += at.0.saturating_sub(since.0).unsigned_abs();
    }
    run.busy_since = (run.work.at_work() > 1).then_some(at);
}

/// What was awaited and did not come.
struct Failure<'a> {
    key: &'a Key,
    problem: AskProblem,
    reason: &'a str,
    not_before: Option<Millis>,
}

fn failed(run: &mut Run, at: Millis, failure: Failure<'_>) {
    let of_lane = run.lane_awaiting(failure.key).is_some();
    if !of_lane && *failure.key != run.key() {
        return;
    }
    rest(run, at);
    match failure.problem {
        AskProblem::Passing | AskProblem::Away => again(run, at, failure),
        AskProblem::Lasting => broke(run, at, failure.key, failure.reason),
    }
}

fn again(run: &mut Run, at: Millis, Failure { key, problem, reason, not_before }: Failure<'_>) {
    let (tries, retry) = match run.lane_awaiting_mut(key) {
        Some(lane) => (&mut lane.tries, &mut lane.retry),
        None => (&mut run.tries, &mut run.retry),
    };
    let (key, reason) = (Key(format!("{key}/again")), reason.to_owned());
    let nth = tries.count(problem);
    *retry = Some(Retry { key, failed_at: at, reason, problem, nth, not_before });
}

fn broke(run: &mut Run, at: Millis, key: &Key, reason: &str) {
    if let Some(lane) = run.lane_awaiting_mut(key) {
        (lane.retry, lane.stuck) = (None, true);
        run.broken.get_or_insert_with(|| reason.to_owned());
        return;
    }
    match run.replan_in_the_making() {
        Some(id) => run.replan_failed(at, id, reason),
        None => run.broken = Some(reason.to_owned()),
    }
}

fn end(run: &mut Run, at: Millis, state: EndState) {
    rest(run, at);
    run.busy_since = None;
    run.end = Some(End { state, at });
    run.cancel_escalations();
}

pub(super) fn spend(run: &mut Run, usage: &Usage) {
    let spent = &mut run.spent;
    spent.input_tokens += usage.input_tokens;
    spent.output_tokens += usage.output_tokens;
    if let Some(cost) = usage.cost_micro_usd {
        *spent.cost_micro_usd.get_or_insert(0) += cost;
    }
    // The begun fact counted the first call; repairs and retries inside it come on top.
    spent.model_calls += usage.calls.saturating_sub(1);
}
