//! Purpose: the operations that only look at a plan: preview, get_state, get_current, list. They belong to
//! [`super::plan_tool`], which offers them with those that change it.

use serde::Serialize;

use super::plan_tool::version;
use super::proposal::PlanStatus;
use super::record::Record;
use super::run::{EndState, Phase, Revision, Run, RunId};
use crate::actions::{Spec, risk_score};
use crate::plan::ActionId;

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
            preview.diffs.push((spec.id.clone(), diff.to_string()));
        }
    }
    preview.risk_score = risk_score(&risks);
    preview
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
        approved: plan
            .actions()
            .map(|action| &action.id)
            .filter(|id| run.is_approved(plan, id) && !plan.left_out.contains_key(id))
            .cloned()
            .collect(),
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
    match (run.phase(), run.current_actions().next()) {
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
