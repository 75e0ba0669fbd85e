//! Purpose: what a decision about replanning is told of the moment that it is asked in.

use super::perform::{NEWEST, ended, newest};
use crate::plan::ReplanPhase;
use crate::planning::{Outcome, Run, outline};
use crate::prompts::Moment;

pub(super) fn moment(run: &Run) -> Moment {
    let fresh = run.replans.fresh.as_ref();
    let plan = run.plan();
    let outcomes: Vec<bool> = plan
        .iter()
        .flat_map(|plan| plan.actions())
        .filter_map(|action| ended(run, action))
        .map(|ended| ended.outcome == Outcome::Succeeded)
        .collect();
    let failed = outcomes.iter().filter(|good| !**good).count();
    let in_a_row = outcomes.iter().rev().take_while(|good| !**good).count();
    let all = plan.map_or(0, |plan| plan.actions().count());
    let error = fresh.and_then(|fresh| fresh.failed.as_ref()).and_then(|id| run.work.get(id)?.ended.as_ref());
    let error = error.and_then(|ended| match &ended.outcome {
        Outcome::Failed { why } => Some(why.clone()),
        Outcome::Succeeded => None,
    });
    let remaining = plan.iter().flat_map(|plan| plan.actions()).filter(|a| !run.work.contains_key(&a.id));
    Moment {
        phase: fresh.map_or(ReplanPhase::Reflection, |fresh| fresh.phase),
        result: result_of(run),
        error,
        progress: [outcomes.len(), all, failed, in_a_row],
        remaining: remaining
            .take(NEWEST * 4)
            .map(|action| format!("{}: {}", action.id, action.purpose))
            .collect(),
    }
}

/// What the phase that ended last came to.
fn result_of(run: &Run) -> String {
    let phase = run.replans.fresh.as_ref().map(|fresh| fresh.phase);
    match (phase, run.plan()) {
        (Some(ReplanPhase::GoalUnderstanding), _) | (_, None) => serde_json::json!(run.goal).to_string(),
        (Some(ReplanPhase::TaskDecomposition), Some(plan)) => serde_json::json!(plan.steps).to_string(),
        (Some(ReplanPhase::ActionSequence), Some(plan)) => outline(run, plan).join("\n"),
        (Some(ReplanPhase::Execution | ReplanPhase::Reflection) | None, Some(plan)) => {
            newest(run, plan).pop().unwrap_or_default()
        }
    }
}
