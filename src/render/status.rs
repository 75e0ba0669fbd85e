//! Purpose: where a run stands, in one line.

use super::{Voice, line};
use crate::actions::number_of;
use crate::domain::{Account, AccountKind};
use crate::planning::{
    EndState, Hold, Phase, Reached, Request, Resource, Revision, Run, StepState, StopReason,
};

const REASON_CAP: usize = 500;

pub(super) fn status(run: &Run, voice: &Voice) -> String {
    if let Some(end) = &run.end {
        return ended(run, &end.state, voice);
    }
    match run.hold() {
        Some(Hold::Paused(pause)) => {
            format!("⏸ paused by {} · {} goes on from here", who(&pause.by), voice.command("resume"))
        }
        Some(Hold::Retry(retry)) => {
            format!("⏳ {} I will try again by myself.", sentence(&line(&retry.reason, REASON_CAP)))
        }
        Some(Hold::Approval(request)) => waiting(request, voice),
        Some(Hold::Budget(reached)) => out_of_budget(reached, voice),
        Some(Hold::Unclear(action)) => format!(
            "⏸ action {} was interrupted, and I cannot know what became of it. {} does it once more, \
             {} leaves its step out.",
            number_of(action),
            voice.command("resume"),
            voice.command("skip task_n")
        ),
        None => at_work(run),
    }
}

fn waiting(request: &Request, voice: &Voice) -> String {
    format!(
        "waiting for approval of {} · `{}` · {} or {}",
        actions(request.wanted.len()),
        short(&request.digest),
        voice.command("approve"),
        voice.command("reject why")
    )
}

pub(super) fn actions(count: usize) -> String {
    if count == 1 { "1 action".to_owned() } else { format!("{count} actions") }
}

fn at_work(run: &Run) -> String {
    match (run.phase(), run.plan()) {
        (Phase::Understand, _) => "⏳ working out the goal".to_owned(),
        (Phase::Decompose, _) => "⏳ breaking the work into steps".to_owned(),
        (Phase::Sequence, _) => "⏳ choosing the actions for each step".to_owned(),
        (Phase::Approve, _) => "⏳ looking at what the actions would change".to_owned(),
        (Phase::Deliver, _) => "⏳ handing the work over".to_owned(),
        (Phase::Execute, plan) => {
            let place = plan.map_or(String::new(), |plan| at_step(run, plan));
            format!("executing{place}{}", plan.map_or(String::new(), approved_by))
        }
    }
}

fn at_step(run: &Run, plan: &Revision) -> String {
    let open = plan
        .steps
        .iter()
        .position(|step| matches!(run.step_state(plan, &step.id), StepState::AtWork | StepState::Waiting));
    open.map_or(String::new(), |at| format!(" step {} of {}", at + 1, plan.steps.len()))
}

fn approved_by(plan: &Revision) -> String {
    let mut people: Vec<String> = vec![];
    for by in plan.approvals.iter().filter_map(|approval| approval.by.as_ref()) {
        let name = who(by);
        if !people.contains(&name) {
            people.push(name);
        }
    }
    match plan.requests.last() {
        Some(request) if !people.is_empty() => {
            format!(" · approved by {} (`{}`)", people.join(", "), short(&request.digest))
        }
        Some(_) | None => " · nothing in it needs approval here".to_owned(),
    }
}

fn out_of_budget(reached: Reached, voice: &Voice) -> String {
    let what = match reached.resource {
        Resource::MicroUsd => format!("{} USD", usd(reached.limit)),
        Resource::Tokens => format!("{} tokens", reached.limit),
        Resource::ModelCalls => format!("{} model calls", reached.limit),
        Resource::Minutes => format!("{} minutes of work", reached.limit),
        Resource::Files => format!("{} changed files", reached.limit),
        Resource::Bytes => format!("{} written bytes", reached.limit),
    };
    format!("⏸ the budget of {what} is used up. {} raises it and goes on.", voice.command("budget +N"))
}

fn ended(run: &Run, state: &EndState, voice: &Voice) -> String {
    let again = format!("Assign me again or comment {} to start anew.", voice.command("plan"));
    match state {
        EndState::Completed => completed(run),
        EndState::Cancelled { by } => format!("cancelled by {}. {again}", who(by)),
        EndState::Stopped { by, why: StopReason::Unassigned } => {
            format!("stopped: {} took me off this. {again}", who(by))
        }
        EndState::Stopped { by, why: StopReason::Unlabelled } => {
            format!("stopped: {} removed my label. Put it on again to start anew.", who(by))
        }
        EndState::Stopped { by, why: StopReason::Closed } => format!("stopped: {} closed this.", who(by)),
        EndState::Failed { reason } if run.work.is_empty() => {
            format!("😕 failed. {} {again}", sentence(&line(reason, REASON_CAP)))
        }
        EndState::Failed { reason } => format!(
            "😕 failed. {} {} starts a run with the steps that are not done.",
            sentence(&line(reason, REASON_CAP)),
            voice.command("retry")
        ),
    }
}

fn completed(run: &Run) -> String {
    match run.delivery.as_ref() {
        Some(delivery) => match (&delivery.change, &delivery.url) {
            (Some(_), Some(url)) => format!("🚀 done: {url}"),
            (Some(thread), None) => format!("🚀 done: see `{thread}`"),
            (None, _) => format!("🚀 done, on the branch `{}`", delivery.branch),
        },
        None => "🚀 done; there was nothing to hand over".to_owned(),
    }
}

/// Nobody is called who was not there: the forge does not always say who it was.
pub(super) fn who(account: &Account) -> String {
    match account.kind {
        AccountKind::Person | AccountKind::Bot => format!("@{}", account.login),
        AccountKind::Ghost => "somebody".to_owned(),
    }
}

pub(super) fn short(digest: &str) -> &str {
    digest.get(..6).unwrap_or(digest)
}

pub(super) fn sentence(text: &str) -> String {
    if text.ends_with(['.', '!', '?', '…']) { text.to_owned() } else { format!("{text}.") }
}

pub(super) fn usd(micro: u64) -> String {
    format!("{}.{:02}", micro / 1_000_000, micro % 1_000_000 / 10_000)
}

pub(super) fn cost(run: &Run) -> String {
    let of = run.budget.micro_usd.map_or(String::new(), |limit| format!(" of {}", usd(limit)));
    match (run.spent.model_calls, run.spent.cost_micro_usd) {
        (0, _) | (_, Some(0)) => String::new(),
        (_, Some(micro)) if micro < 10_000 => format!(" · under 0.01{of} USD"),
        (_, Some(micro)) => format!(" · {}{of} USD", usd(micro)),
        (1, None) => " · 1 model call".to_owned(),
        (calls, None) => match run.budget.model_calls {
            Some(limit) => format!(" · {calls} of {limit} model calls"),
            None => format!(" · {calls} model calls"),
        },
    }
}
