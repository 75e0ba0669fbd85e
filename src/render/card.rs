//! Purpose: the card: one comment per run that shows its plan and where it stands.

use super::{Voice, line};
use crate::domain::Reaction;
use crate::plan::Step;
use crate::planning::{EndState, Hold, Phase, Revision, Run, Spent, StopReason};

const GOAL_CAP: usize = 1_000;
const STEP_CAP: usize = 300;
const REASON_CAP: usize = 500;

/// The card's text, or nothing as long as the 👀 says enough: until the goal is known, or somebody has to be told
/// something. At most 100 steps of bounded length: the text stays far below every forge's limit.
#[must_use]
pub fn card(run: &Run, voice: &Voice) -> Option<String> {
    let worth_a_comment = run.goal.is_some()
        || run.pause.is_some()
        || run.retry.is_some()
        || matches!(
            run.end.as_ref().map(|end| &end.state),
            Some(EndState::Failed { .. } | EndState::Cancelled { .. })
        );
    if !worth_a_comment {
        return None;
    }
    let mut parts = vec!["## 📋 Execution Plan".to_owned(), head(run, voice)];
    if let Some(revision) = run.revisions.last() {
        parts.push(checklist(&revision.steps));
        parts.extend(what_comes_next(run, voice));
        parts.push(progress(revision));
    }
    if let Some(note) = unused(run) {
        parts.push(note);
    }
    Some(parts.join("\n\n"))
}

/// The face that goes with the card: 👀 while the run lives, 😕 when it failed.
#[must_use]
pub fn reaction(run: &Run) -> Option<Reaction> {
    match run.end.as_ref().map(|end| &end.state) {
        None => Some(Reaction::Eyes),
        Some(EndState::Failed { .. }) => Some(Reaction::Confused),
        Some(EndState::Cancelled { .. } | EndState::Stopped { .. }) => None,
    }
}

fn head(run: &Run, voice: &Voice) -> String {
    let goal = match &run.goal {
        Some(goal) => format!("**Goal**: {}\n", line(&goal.main_objective, GOAL_CAP)),
        None => String::new(),
    };
    format!("{goal}**Status**: {}{}", status(run, voice), cost(&run.spent))
}

pub(super) fn status(run: &Run, voice: &Voice) -> String {
    if let Some(end) = &run.end {
        return ended(&end.state, voice);
    }
    match run.hold() {
        Some(Hold::Paused(pause)) => {
            format!("⏸ paused by @{} · {} goes on from here", pause.by.login, voice.command("resume"))
        }
        Some(Hold::Retry(retry)) => {
            format!("⏳ {} I will try again by myself.", sentence(&line(&retry.reason, REASON_CAP)))
        }
        Some(Hold::Approval { .. }) => format!("plan ready, waiting for approval{}", revision_name(run)),
        None => match run.phase() {
            Phase::Understand => "⏳ working out the goal".to_owned(),
            Phase::Decompose => "⏳ breaking the work into steps".to_owned(),
            Phase::Sequence | Phase::Approve => "⏳ choosing the actions for each step".to_owned(),
        },
    }
}

fn ended(state: &EndState, voice: &Voice) -> String {
    let again = format!("Assign me again or comment {} to start anew.", voice.command("plan"));
    match state {
        EndState::Cancelled { by } => format!("cancelled by @{}. {again}", by.login),
        EndState::Stopped { by, why: StopReason::Unassigned } => {
            format!("stopped: @{} took me off this. {again}", by.login)
        }
        EndState::Stopped { by, why: StopReason::Unlabelled } => {
            format!("stopped: @{} removed my label. Put it on again to start anew.", by.login)
        }
        EndState::Stopped { by, why: StopReason::Closed } => format!("stopped: @{} closed this.", by.login),
        EndState::Failed { reason } => format!("😕 failed. {} {again}", sentence(&line(reason, REASON_CAP))),
    }
}

fn revision_name(run: &Run) -> String {
    let number = run.revisions.len().saturating_sub(1);
    match run.revisions.last().and_then(|revision| revision.sequence.as_ref()) {
        Some(sequence) => format!(" · rev {number} · `{}`", sequence.digest.get(..6).unwrap_or_default()),
        None => String::new(),
    }
}

fn sentence(text: &str) -> String {
    if text.ends_with(['.', '!', '?', '…']) { text.to_owned() } else { format!("{text}.") }
}

fn cost(spent: &Spent) -> String {
    match (spent.model_calls, spent.cost_micro_usd) {
        (0, _) | (_, Some(0)) => String::new(),
        (_, Some(micro)) if micro < 10_000 => " · under 0.01 USD".to_owned(),
        (_, Some(micro)) => format!(" · {}.{:02} USD", micro / 1_000_000, micro % 1_000_000 / 10_000),
        (1, None) => " · 1 model call".to_owned(),
        (calls, None) => format!(" · {calls} model calls"),
    }
}

fn checklist(steps: &[Step]) -> String {
    let lines: Vec<String> = steps
        .iter()
        .map(|step| format!("- [ ] **{}**: {}", step.id, line(&step.description, STEP_CAP)))
        .collect();
    lines.join("\n")
}

fn what_comes_next(run: &Run, voice: &Voice) -> Option<String> {
    if !run.is_live() || run.phase() != Phase::Approve {
        return None;
    }
    Some(format!(
        "> This version of Planwright plans and stops here: it holds the plan and changes nothing in the repository. {} \
         ends the run; closing this thread does as well.",
        voice.command("cancel")
    ))
}

fn progress(revision: &Revision) -> String {
    format!("*Progress: 0/{} (0%) complete*", revision.steps.len())
}

fn unused(run: &Run) -> Option<String> {
    match run.unused_comments {
        0 => None,
        1 => Some("<sub>1 comment by somebody who may not steer this run was not used.</sub>".to_owned()),
        n => Some(format!("<sub>{n} comments by people who may not steer this run were not used.</sub>")),
    }
}
