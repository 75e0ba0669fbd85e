//! Purpose: the operations on a plan, in one place: propose, set_action_specs, preview, request_approval, approve,
//! execute, get_state, get_current, list, mark_pending, clear_current. Nothing else changes a plan.
//!
//! Each takes what is known and returns the facts that follow, or says why none do; the journal keeps them with who
//! acted, for what reason, and how much it is about. None of them does anything: carrying out is the engine's part.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::effect::{Effect, InFlight, Policy, next_effects};
use super::fact::Fact;
use super::notice::LeftOut;
use super::proposal::{Actor, Counts, Named, Place, PlanStatus, Wanted};
use super::record::Record;
use super::run::{EndState, Phase, Revision, Run, RunId};
use super::work::{Evidence, Outcome};
use crate::actions::{
    BadSelection, Finding, Ground, Issue, PutUp, Risk, Selection, Spec, action_digest, choose, examine,
    plan_digest, risk_score,
};
use crate::domain::{Account, CommentId};
use crate::plan::{Action, ActionId};

/// What setting the specs of a plan came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ValidationReport {
    pub ok: bool,
    pub issues: Vec<Issue>,
    /// The specs that are possible, normalised.
    pub normalized: Vec<Spec>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanPreview {
    pub files: Vec<String>,
    pub diffs: Vec<(ActionId, String)>,
    pub risk_score: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanState {
    pub run: RunId,
    pub version: u32,
    pub status: PlanStatus,
    pub specs: Vec<Spec>,
    pub approved: Vec<ActionId>,
    pub left_out: Vec<ActionId>,
}

/// A plan by its run, and which version of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanRef {
    pub run: RunId,
    pub version: u32,
    pub title: String,
    pub status: PlanStatus,
}

/// Why an operation does nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("there is no plan")]
    NoPlan,
    #[error("nothing is waiting for approval")]
    NothingAsked,
    #[error("the preview is younger than these words, so they cannot have been about it")]
    TooOld,
    #[error("the plan that waits for approval is `{0}`, not the one that you named")]
    OtherPlan(String),
    #[error("{0}")]
    Selection(#[from] BadSelection),
    #[error("whoever asked for the run cannot approve its high risks; somebody else has to")]
    OwnRequest,
}

/// Puts a sequence of actions forward as the plan.
#[must_use]
pub fn propose(run: &Run) -> Option<Fact> {
    let plan = run.plan()?;
    let goal = run.goal.as_ref()?;
    Some(Fact::PlanProposed {
        actor: Actor::Ai,
        reason: "the actions for each step are chosen".to_owned(),
        version: version(run),
        title: goal.main_objective.clone(),
        rationale: goal.context.clone(),
        sources: run.sources.clone(),
        tags: vec![format!("{:?}", run.how).to_lowercase()],
        counts: counts(plan.actions()),
    })
}

fn version(run: &Run) -> u32 {
    u32::try_from(run.revisions.len().saturating_sub(1)).unwrap_or(u32::MAX)
}

fn counts<'a>(actions: impl Iterator<Item = &'a Action>) -> Counts {
    let (mut paths, mut specs) = (BTreeSet::new(), 0);
    for action in actions {
        paths.extend(action.spec.path.as_deref());
        specs += 1;
    }
    Counts { files: u32::try_from(paths.len()).unwrap_or(u32::MAX), specs }
}

/// Examines the plan's actions on this ground. With issues the plan goes back to be made anew.
#[must_use]
pub fn set_action_specs(
    run: &Run,
    findings: &[Finding],
    ground: Ground,
    place: Place,
) -> Option<(ValidationReport, Fact)> {
    let actions: Vec<Action> = run.plan()?.open_actions().cloned().collect();
    let (mut specs, issues) = examine(&actions, findings);
    for spec in &mut specs {
        if let Some(action) = actions.iter().find(|action| action.id == spec.id) {
            spec.digest = action_digest(action, spec, &ground);
        }
    }
    let report =
        ValidationReport { ok: issues.is_empty(), issues: issues.clone(), normalized: specs.clone() };
    let reason = if issues.is_empty() { "every action is possible" } else { "some actions are not possible" };
    let counts = counts(actions.iter());
    let fact = Fact::SpecsSet {
        key: run.key(),
        actor: Actor::System,
        reason: reason.to_owned(),
        ground,
        place,
        specs,
        issues,
        changed: vec![],
        counts,
    };
    Some((report, fact))
}

/// What the plan would touch, and how risky that is.
#[must_use]
pub fn preview(plan: &Revision) -> PlanPreview {
    let specs = plan.actions().filter_map(|action| plan.specs.get(&action.id));
    let mut preview = PlanPreview { files: vec![], diffs: vec![], risk_score: 0.0 };
    let mut risks = vec![];
    for spec in specs {
        risks.push(spec.risk);
        if let Some(path) = &spec.path
            && !preview.files.iter().any(|file| file == path.as_str())
        {
            preview.files.push(path.to_string());
        }
        if let Some(diff) = &spec.preflight.diff {
            preview.diffs.push((spec.id.clone(), diff.clone()));
        }
    }
    preview.risk_score = risk_score(&risks);
    preview
}

/// What has to happen before the undecided actions may run: the policy lets them through, or people are asked.
pub(super) fn seek_approval(run: &Run, policy: &Policy) -> Option<Vec<Fact>> {
    let plan = run.plan()?;
    let undecided: Vec<&Spec> = plan.undecided.iter().filter_map(|id| plan.specs.get(id)).collect();
    if undecided.is_empty() || run.open_request(plan).is_some() {
        return None;
    }
    let lets_pass =
        |spec: &&&Spec| spec.risk != Risk::High && policy.auto.is_some_and(|auto| spec.risk <= auto);
    let lets_pass = |spec: &&&Spec| lets_pass(spec) && run.knows_tool(spec);
    let passing: Vec<&Spec> = undecided.iter().filter(lets_pass).copied().collect();
    if !passing.is_empty() {
        return Some(vec![approve_by_policy(plan, &passing)]);
    }
    Some(vec![request_approval(run, plan, &undecided, policy)])
}

fn approve_by_policy(plan: &Revision, specs: &[&Spec]) -> Fact {
    Fact::Approved {
        actor: Actor::System,
        by: None,
        reason: "the settings let this risk through".to_owned(),
        request: None,
        actions: specs.iter().map(|spec| named(spec)).collect(),
        left_out: vec![],
        note: String::new(),
        comment: None,
        counts: counts_of(plan, specs),
    }
}

fn named(spec: &Spec) -> Named {
    Named { id: spec.id.clone(), digest: spec.digest.clone() }
}

fn counts_of(plan: &Revision, specs: &[&Spec]) -> Counts {
    counts(plan.actions().filter(|action| specs.iter().any(|spec| spec.id == action.id)))
}

/// Puts actions up for approval by people.
#[must_use]
pub fn request_approval(run: &Run, plan: &Revision, specs: &[&Spec], policy: &Policy) -> Fact {
    let wanted: Vec<Wanted> = specs
        .iter()
        .map(|spec| Wanted {
            id: spec.id.clone(),
            digest: spec.digest.clone(),
            approvals: if spec.risk == Risk::High { policy.approvals.max(1) } else { 1 },
        })
        .collect();
    let risks: Vec<Risk> = specs.iter().map(|spec| spec.risk).collect();
    // Over all revisions: a late word about an old request must not be taken for one about this.
    let asked = run.revisions.iter().flat_map(|plan| &plan.requests).map(|request| request.number);
    let number = asked.max().map_or(1, |last| last + 1);
    Fact::ApprovalRequested {
        actor: Actor::System,
        reason: if plan.changed.is_empty() {
            "people decide about these"
        } else {
            "what was approved has changed"
        }
        .to_owned(),
        request: number,
        digest: plan_digest(wanted.iter().map(|wanted| wanted.digest.as_str())),
        wanted,
        not_requester: policy.not_requester,
        changed: plan.changed.clone(),
        risk_score: risk_score(&risks),
        counts: counts_of(plan, specs),
    }
}

/// Who approves, in which comment, and in what words.
#[derive(Debug, Clone, Copy)]
pub struct Approver<'a> {
    pub by: &'a Account,
    pub comment: CommentId,
}

/// Approves what the selection means of the newest open request.
///
/// # Errors
/// When nothing is asked, the words are older than the question, or they name what was not put up.
pub fn approve(run: &Run, approver: Approver<'_>, words: &str) -> Result<Fact, Refusal> {
    let plan = run.plan().ok_or(Refusal::NoPlan)?;
    let request = run.open_request(plan).ok_or(Refusal::NothingAsked)?;
    if request.comment.is_none_or(|preview| approver.comment <= preview) {
        return Err(Refusal::TooOld);
    }
    let selection = Selection::parse(words)?;
    if let Some(digest) = &selection.digest
        && !request.digest.starts_with(digest.as_str())
    {
        return Err(Refusal::OtherPlan(request.digest.chars().take(6).collect()));
    }
    let asked: BTreeSet<ActionId> = plan.undecided.iter().cloned().collect();
    let choice = choose(
        &selection.what,
        &PutUp {
            steps: &plan.steps,
            actions: plan.sequence.as_ref().map_or(&[], |sequence| &sequence.actions),
            specs: &plan.specs,
            asked: &asked,
            settled: &settled(run, plan),
            ticked: &request.ticked,
        },
    )?;
    let chosen: Vec<&Spec> = choice.chosen.iter().filter_map(|id| plan.specs.get(id)).collect();
    if request.not_requester
        && approver.by.id == run.requester.id
        && chosen.iter().all(|spec| spec.risk == Risk::High)
    {
        return Err(Refusal::OwnRequest);
    }
    let ungrounded: BTreeMap<ActionId, String> = choice.ungrounded.into_iter().collect();
    let left_out = asked.iter().filter(|id| !choice.chosen.contains(id)).map(|id| LeftOut {
        id: id.clone(),
        why: ungrounded
            .get(id)
            .cloned()
            .unwrap_or_else(|| format!("@{} did not approve it", approver.by.login)),
    });
    Ok(Fact::Approved {
        actor: Actor::User,
        by: Some(approver.by.clone()),
        reason: if words.is_empty() { "everything that was put up".to_owned() } else { words.to_owned() },
        request: Some(request.number),
        actions: chosen.iter().map(|spec| named(spec)).collect(),
        left_out: left_out.collect(),
        note: selection.note,
        comment: Some(approver.comment),
        counts: counts_of(plan, &chosen),
    })
}

fn settled(run: &Run, plan: &Revision) -> BTreeSet<ActionId> {
    let stands = |action: &&Action| {
        run.work.contains_key(&action.id)
            || run.is_approved(plan, &action.id)
            || run.skipped.contains_key(&action.task_id)
    };
    plan.actions().filter(stands).map(|action| action.id.clone()).collect()
}

/// Turns the open request down: the actions are chosen anew, with the reason in mind.
///
/// # Errors
/// When nothing is asked, or the words are older than the question.
pub fn reject(run: &Run, approver: Approver<'_>, why: &str) -> Result<Fact, Refusal> {
    let plan = run.plan().ok_or(Refusal::NoPlan)?;
    let request = run.open_request(plan).ok_or(Refusal::NothingAsked)?;
    if request.comment.is_none_or(|preview| approver.comment <= preview) {
        return Err(Refusal::TooOld);
    }
    Ok(Fact::Rejected {
        actor: Actor::User,
        by: approver.by.clone(),
        reason: why.to_owned(),
        request: request.number,
        comment: Some(approver.comment),
        counts: counts(plan.actions()),
    })
}

/// What there is to do now for the approved part of the plan; nothing that is not approved is ever among it.
#[must_use]
pub fn execute(run: &Run, policy: &Policy) -> Vec<Effect> {
    next_effects(run, &InFlight::new(), policy)
}

#[must_use]
pub fn get_state(run: &Run) -> Option<PlanState> {
    let plan = run.plan()?;
    plan.proposal.as_ref()?;
    Some(PlanState {
        run: run.id.clone(),
        version: version(run),
        status: status(run, plan),
        specs: plan.actions().filter_map(|action| plan.specs.get(&action.id).cloned()).collect(),
        approved: plan.actions().map(|a| &a.id).filter(|id| run.is_approved(plan, id)).cloned().collect(),
        left_out: plan.left_out.keys().cloned().collect(),
    })
}

fn status(run: &Run, plan: &Revision) -> PlanStatus {
    match run.end.as_ref().map(|end| &end.state) {
        Some(EndState::Completed) => return PlanStatus::Completed,
        Some(EndState::Cancelled { .. } | EndState::Stopped { .. } | EndState::Failed { .. }) => {
            return PlanStatus::Aborted;
        }
        None => {}
    }
    if plan.ground.is_none() {
        return PlanStatus::Proposed;
    }
    if !plan.undecided.is_empty() {
        return PlanStatus::PendingReview;
    }
    match (run.phase(), run.current_action()) {
        (_, Some(_)) => PlanStatus::Executing,
        (Phase::Deliver, None) => PlanStatus::Executing,
        (_, None) if run.work.is_empty() && run.hold().is_some() => PlanStatus::Approved,
        (_, None) if run.work.is_empty() => PlanStatus::Scheduled,
        (_, None) => PlanStatus::Executing,
    }
}

/// The plan of the live run, if there is one.
#[must_use]
pub fn get_current(record: &Record) -> Option<PlanRef> {
    record.live_run().and_then(plan_ref)
}

fn plan_ref(run: &Run) -> Option<PlanRef> {
    let plan = run.plan()?;
    let proposal = plan.proposal.as_ref()?;
    Some(PlanRef {
        run: run.id.clone(),
        version: proposal.version,
        title: proposal.title.clone(),
        status: status(run, plan),
    })
}

/// The newest plan of each thread.
#[must_use]
pub fn list<'a>(records: impl IntoIterator<Item = &'a Record>) -> Vec<PlanRef> {
    records.into_iter().filter_map(|record| record.run.as_deref()).filter_map(plan_ref).collect()
}

/// Whether a plan is held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pending {
    Yes,
    No,
}

/// Holds the plan back, or lets it go on.
#[must_use]
pub fn mark_pending(by: &Account, pending: Pending) -> Fact {
    match pending {
        Pending::Yes => Fact::Paused { by: by.clone(), comment: None },
        Pending::No => Fact::Resumed { by: by.clone(), comment: None },
    }
}

/// Ends the current plan.
#[must_use]
pub fn clear_current(run: &Run, by: &Account, comment: Option<CommentId>) -> Vec<Fact> {
    let reason = format!("cancelled by @{}", by.login);
    let cancelled = Fact::Cancelled { by: by.clone(), comment };
    abort(run, Actor::User, reason).into_iter().chain([cancelled]).collect()
}

/// What is noted when a run with a plan ends before its time.
#[must_use]
pub fn abort(run: &Run, actor: Actor, reason: String) -> Option<Fact> {
    let plan = run.plan().filter(|plan| plan.proposal.is_some())?;
    Some(Fact::Aborted { actor, reason, counts: counts(plan.actions()) })
}

pub(super) fn give_up(run: &Run, reason: &str) -> Vec<Fact> {
    let sums_up = !run.work.is_empty() && !run.executed;
    let executed = sums_up.then(|| executed(run));
    let aborted = abort(run, Actor::System, reason.to_owned());
    let failed = Fact::Failed { reason: reason.to_owned() };
    executed.into_iter().chain(aborted).chain([failed]).collect()
}

pub(super) fn ended(run: &Run, action: &Action, outcome: Outcome, actual: &str) -> Fact {
    Fact::ActionEnded {
        key: run.key(),
        action: action.id.clone(),
        outcome,
        evidence: Evidence::default(),
        expected: action.expected_outcome.clone(),
        actual: actual.to_owned(),
    }
}

pub(super) fn executed(run: &Run) -> Fact {
    let (mut succeeded, mut failed) = (0, 0);
    for ended in run.work.values().filter_map(|work| work.ended.as_ref()) {
        match ended.outcome {
            Outcome::Succeeded => succeeded += 1,
            Outcome::Failed { .. } => failed += 1,
        }
    }
    let planned = run.plan().map_or(0, |plan| u32::try_from(plan.actions().count()).unwrap_or(u32::MAX));
    Fact::Executed {
        actor: Actor::Ai,
        reason: "every approved action has ended".to_owned(),
        succeeded,
        failed,
        left_out: planned.saturating_sub(succeeded + failed),
        counts: run.plan().map(|plan| counts(plan.actions())).unwrap_or_default(),
    }
}

pub(super) fn completed(run: &Run) -> Fact {
    Fact::Completed {
        actor: Actor::System,
        reason: "the plan is carried out".to_owned(),
        counts: run.plan().map(|plan| counts(plan.actions())).unwrap_or_default(),
    }
}
