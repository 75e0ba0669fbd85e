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
pub use super::plan_state::{PlanPreview, PlanRef, PlanState, get_current, get_state, list, preview};
use super::proposal::{Actor, Counts, Named, Place, Request, Wanted};
use super::run::{Revision, Run};
use super::work::{Evidence, Outcome};
use crate::actions::{
    BadSelection, Finding, Ground, Issue, PutUp, Risk, Selection, Spec, action_digest, choose, examine,
    examine_again, plan_digest, risk_score, ungrounded, what_changed,
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

/// Why an operation does nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("there is no plan")]
    NoPlan,
    #[error("there is no such action")]
    NoAction,
    #[error("the action was never looked at")]
    NeverLookedAt,
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
    /// The sentence for people has its own words and language.
    #[error("these actions cannot be read whole in the preview, so they have to be named one by one")]
    Unreadable(Vec<ActionId>),
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

pub(super) fn version(run: &Run) -> u32 {
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
    let order = run.plan()?.sequence.as_ref().map(|sequence| sequence.order.clone()).unwrap_or_default();
    let (mut specs, issues) = examine(&actions, findings, &order);
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
    if !request.is_answerable_by(approver.comment) {
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
            waiting: &waiting(run, plan),
            ticked: &request.ticked,
        },
    )?;
    expect_readable(request, &selection, &choice.chosen)?;
    let chosen: Vec<&Spec> = choice.chosen.iter().filter_map(|id| plan.specs.get(id)).collect();
    if request.not_requester
        && approver.by.id == run.requester.id
        && chosen.iter().all(|spec| spec.risk == Risk::High)
    {
        return Err(Refusal::OwnRequest);
    }
    let ungrounded: BTreeMap<ActionId, String> = choice.ungrounded.into_iter().collect();
    // What the settings let through, or somebody approved before, goes with the ground that it needs.
    let out: BTreeSet<&ActionId> =
        asked.iter().filter(|id| !choice.chosen.contains(id)).chain(ungrounded.keys()).collect();
    let left_out = out.into_iter().map(|id| LeftOut {
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

/// What the preview does not show whole is only approved by those who name it.
fn expect_readable<'a>(
    request: &Request,
    selection: &Selection,
    chosen: impl IntoIterator<Item = &'a ActionId>,
) -> Result<(), Refusal> {
    let is_unread = |id: &&ActionId| request.unreadable.contains(*id) && !selection.what.names(id);
    let unread: Vec<ActionId> = chosen.into_iter().filter(is_unread).cloned().collect();
    if unread.is_empty() { Ok(()) } else { Err(Refusal::Unreadable(unread)) }
}

fn settled(run: &Run, plan: &Revision) -> BTreeSet<ActionId> {
    let begun =
        |action: &&Action| run.work.contains_key(&action.id) || run.skipped.contains_key(&action.task_id);
    let begun = plan.actions().filter(begun).map(|action| action.id.clone());
    begun.chain(waiting(run, plan)).collect()
}

/// Approved, and not begun.
fn waiting(run: &Run, plan: &Revision) -> BTreeSet<ActionId> {
    let waits = |action: &&Action| {
        !run.work.contains_key(&action.id)
            && !run.skipped.contains_key(&action.task_id)
            && !plan.left_out.contains_key(&action.id)
            && run.is_approved(plan, &action.id)
    };
    plan.actions().filter(waits).map(|action| action.id.clone()).collect()
}

/// What is approved and has not begun, but stands on something that is left out by now.
pub(super) fn without_ground(run: &Run, plan: &Revision) -> Vec<(ActionId, String)> {
    let nothing = BTreeSet::new();
    ungrounded(&PutUp {
        steps: &plan.steps,
        actions: plan.sequence.as_ref().map_or(&[], |sequence| &sequence.actions),
        specs: &plan.specs,
        asked: &nothing,
        settled: &settled(run, plan),
        waiting: &waiting(run, plan),
        ticked: &nothing,
    })
}

/// Turns the open request down: the actions are chosen anew, with the reason in mind.
///
/// # Errors
/// When nothing is asked, or the words are older than the question.
pub fn reject(run: &Run, approver: Approver<'_>, why: &str) -> Result<Fact, Refusal> {
    let plan = run.plan().ok_or(Refusal::NoPlan)?;
    let request = run.open_request(plan).ok_or(Refusal::NothingAsked)?;
    if !request.is_answerable_by(approver.comment) {
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

/// What a second look at an action says, right before it begins or goes on.
#[derive(Debug, Clone, PartialEq)]
pub enum Recheck {
    /// It is exactly what was approved.
    Pass { digest: String },
    /// It is not, or not any more: its specs are set anew, and what they concern is put up again.
    Renewed(Box<Fact>),
    /// It cannot be done any more, and why.
    Impossible(String),
}

/// Looks at an approved action again, as its target, its tool and its ground are now.
///
/// # Errors
/// When there is no such action, or nobody ever looked at it.
pub fn recheck(run: &Run, id: &ActionId, finding: &Finding, ground: Ground) -> Result<Recheck, Refusal> {
    let plan = run.plan().ok_or(Refusal::NoPlan)?;
    let action = plan.actions().find(|action| action.id == *id).ok_or(Refusal::NoAction)?;
    let (Some(old), Some(old_ground), Some(place)) = (plan.specs.get(id), &plan.ground, &plan.place) else {
        return Err(Refusal::NeverLookedAt);
    };
    let ran = |action: &&Action| run.work.get(&action.id).is_some_and(|work| work.ended.is_some());
    let sequence = plan.sequence.as_ref();
    let before = sequence.map_or(vec![], |sequence| sequence.order.before(&sequence.actions, id));
    let before: Vec<&Action> = before.into_iter().filter(ran).collect();
    let mut spec = match examine_again(&before, action, finding) {
        Ok(spec) => spec,
        Err(why) => return Ok(Recheck::Impossible(why)),
    };
    spec.digest = action_digest(action, &spec, &ground);
    if spec.digest == old.digest && run.is_approved(plan, id) {
        return Ok(Recheck::Pass { digest: spec.digest });
    }
    let changed = what_changed((old_ground, old), (&ground, &spec));
    let specs = renewed(run, plan, spec, &ground);
    let counts = counts(plan.actions().filter(|action| specs.iter().any(|spec| spec.id == action.id)));
    Ok(Recheck::Renewed(Box::new(Fact::SpecsSet {
        key: run.key_of(id),
        actor: Actor::System,
        reason: "what was approved has changed".to_owned(),
        ground,
        place: place.clone(),
        specs,
        issues: vec![],
        changed,
        counts,
    })))
}

/// If the ground has changed, that concerns every action that is left; else this one alone.
fn renewed(run: &Run, plan: &Revision, spec: Spec, ground: &Ground) -> Vec<Spec> {
    let mut specs = vec![];
    if plan.ground.as_ref() != Some(ground) {
        let left = |action: &&Action| !run.work.contains_key(&action.id) && action.id != spec.id;
        for action in plan.actions().filter(left) {
            if let Some(old) = plan.specs.get(&action.id) {
                specs.push(Spec { digest: action_digest(action, old, ground), ..old.clone() });
            }
        }
    }
    specs.push(spec);
    specs
}

/// An action begins, under the digest that it was approved by.
#[must_use]
pub fn begin(run: &Run, action: &ActionId, digest: String) -> Fact {
    Fact::ActionBegun { key: run.key_of(action), action: action.clone(), digest }
}

/// An action that turned out to be impossible begins and ends in one: after a crash it must not be found begun.
#[must_use]
pub fn begin_in_vain(run: &Run, action: &ActionId, why: &str) -> Vec<Fact> {
    let ended = Fact::ActionEnded {
        key: run.key_after(action),
        action: action.clone(),
        outcome: Outcome::Failed { why: why.to_owned() },
        evidence: Evidence::default(),
        expected: String::new(),
        actual: why.to_owned(),
    };
    vec![begin(run, action, String::new()), ended]
}

/// Whether a plan is held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pending {
    Yes,
    No,
}

/// Holds the plan back, or lets it go on.
#[must_use]
pub fn mark_pending(by: &Account, pending: Pending, comment: Option<CommentId>) -> Fact {
    match pending {
        Pending::Yes => Fact::Paused { by: by.clone(), comment },
        Pending::No => Fact::Resumed { by: by.clone(), comment },
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
        key: run.key_of(&action.id),
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
