//! Purpose: take what a worker made in a checkout of its own onto the run's branch.
//!
//! After a crash it may be there already: then there is nothing left to do. What cannot be merged is no fault of anybody;
//! the step is done again on top of what others did.

use super::errand::Errand;
use super::hands::{Bench, Trouble};
use super::keep::push;
use crate::plan::StepId;
use crate::planning::{CrewFact, Fact, Key, Run};
use crate::render;
use crate::tools::git::{Commit, Merged};

pub(super) async fn merge(errand: &Errand, key: Key, step: StepId) -> Fact {
    match try_merge(errand, &key, step).await {
        Ok(fact) => Fact::Crew(fact),
        Err(trouble) => trouble.into_fact(&errand.ctx, key),
    }
}

async fn try_merge(errand: &Errand, key: &Key, step: StepId) -> Result<CrewFact, Trouble> {
    let (run, trunk) = errand.ready().await?;
    let key = key.clone();
    let made = commits_of(run, &step);
    // A checkout that is gone is made anew from the run's branch: it has the commits if they are there.
    let worker = errand.bench_of(&step).await?;
    if !worker.workspace.contains_all(&made).await? {
        push_after(errand, run, &step, &trunk).await?;
        let why = "what was made of it is lost, so it has to be done again".to_owned();
        return Ok(CrewFact::StepConflicted { key, step, files: vec![], why });
    }
    let message = render::merge_message(run, &step);
    let message = errand.ctx.redactor.clean_outgoing(&message);
    let merged = trunk.workspace.merge(&worker.workspace, &message).await?;
    let pushed = push_after(errand, run, &step, &trunk).await?;
    let head = match merged {
        Merged::Conflict { files } => {
            let shown: Vec<&str> = files.iter().take(5).map(String::as_str).collect();
            let why = format!("other steps have changed the same: {}", shown.join(", "));
            return Ok(CrewFact::StepConflicted { key, step, files, why });
        }
        Merged::FastForward(commit) | Merged::Merge(commit) => Some(commit),
        Merged::Already | Merged::Nothing => made.last().cloned(),
    };
    if let Some(lane) = run.lanes.get(&step) {
        errand.benches.put_away(&errand.ctx, run, &lane.name(&step)).await;
    }
    Ok(CrewFact::StepMerged { key, step, commit: head.map(|commit| commit.as_str().to_owned()), pushed })
}

/// A push takes long, so it is left to the last of those that wait to be merged, whatever becomes of that one.
async fn push_after(errand: &Errand, run: &Run, step: &StepId, trunk: &Bench) -> Result<bool, Trouble> {
    let is_last = !run.lanes.iter().any(|(other, lane)| other != step && lane.judged.is_some());
    let has_work = trunk.workspace.head().await? != *trunk.workspace.start();
    Ok(is_last && has_work && push(&errand.ctx, &errand.thread, run, trunk, None).await)
}

/// The commits that the journal names for a step, and that are not known to be on the run's branch.
fn commits_of(run: &Run, step: &StepId) -> Vec<Commit> {
    let actions = run.plan().into_iter().flat_map(|plan| plan.actions()).filter(|a| a.task_id == *step);
    let works = actions.filter_map(|action| run.work.get(&action.id)).filter(|work| !work.on_branch);
    works.filter_map(|work| work.ended.as_ref()?.evidence.commit.as_ref()?.parse().ok()).collect()
}
