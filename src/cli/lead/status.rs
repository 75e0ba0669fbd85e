//! Purpose: `lead status` and `lead list`: how far runs have come, read off the journal.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::super::local::need::waits_for;
use super::super::local::{asked, words};
use super::super::out::say;
use super::super::phrases::{age, clip, clip_to, plural};
use super::super::terminal::{BOLD, DIM, paint};
use super::OneRun;
use super::led::{self, Led};
use crate::crew::{By, Verdict, Weighed};
use crate::engine::now;
use crate::plan::Step;
use crate::planning::{Revision, Run, StepState};

pub(super) fn status(one: &OneRun, runs: &[Led]) -> anyhow::Result<ExitCode> {
    let led = led::one(runs, one.run.as_deref())?;
    if one.json {
        say(&serde_json::to_string_pretty(&describe(led))?)
    } else {
        show(led)
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn list(json: bool, runs: &[Led]) -> anyhow::Result<ExitCode> {
    let led: Vec<&Led> = led::led(runs).collect();
    if json {
        let all: Vec<Value> = led.into_iter().map(in_list).collect();
        say(&serde_json::to_string_pretty(&all)?);
    } else if led.is_empty() {
        say("No run was led yet. Start one with `planwright lead start plan.md`.");
    } else {
        led.into_iter().for_each(|led| say(&line(led)));
    }
    Ok(ExitCode::SUCCESS)
}

/// The session, and for one that is over how it ended.
fn state(run: &Run) -> &'static str {
    run.end.as_ref().map_or_else(|| run.session().as_str(), |end| end.state.as_str())
}

fn line(led: &Led) -> String {
    let run = &led.run;
    let (done, all) = progress(run);
    let open = run.crew.open().count();
    let open = if open == 0 { String::new() } else { format!(" ({} open)", plural(open, "question")) };
    let age = age(now().0 - run.started_at.0);
    format!("{}  {:10}  {done}/{all}  {age:>8}  {}{open}", run.id, state(run), clip(led.title()))
}

fn progress(run: &Run) -> (usize, usize) {
    let Some(plan) = run.plan() else { return (0, 0) };
    let done = |step: &&Step| matches!(run.step_state(plan, &step.id), StepState::Done(_));
    (plan.steps.iter().filter(done).count(), plan.steps.len())
}

fn in_list(led: &Led) -> Value {
    let run = &led.run;
    let (done, all) = progress(run);
    json!({
        "run": run.id, "thread": led.thread, "session": run.session().as_str(), "state": state(run),
        "goal": led.title(), "steps_done": done, "steps": all, "open_questions": run.crew.open().count(),
        "started_at": run.started_at.to_string(), "waits_for": waits(run),
    })
}

/// What a live run waits for.
fn waits(run: &Run) -> Option<String> {
    run.is_live().then(|| waits_for(run))
}

fn describe(led: &Led) -> Value {
    let run = led.run.as_ref();
    let steps: Vec<Value> = run
        .plan()
        .iter()
        .flat_map(|plan| plan.steps.iter().map(move |step| in_detail(run, plan, step)))
        .collect();
    let open: Vec<Value> = run.crew.open().map(|open| asked::describe(open, now())).collect();
    let mut all = in_list(led);
    if let Some(fields) = all.as_object_mut() {
        fields.insert("steps".to_owned(), json!(steps));
        fields.insert("escalations".to_owned(), json!(open));
        fields.insert("branch".to_owned(), json!(branch(run)));
        fields.insert("ended_at".to_owned(), json!(run.end.as_ref().map(|end| end.at.to_string())));
    }
    all
}

fn branch(run: &Run) -> Option<&str> {
    let delivered = run.delivery.as_ref().map(|delivery| delivery.branch.as_str());
    delivered.or_else(|| run.foundation().map(|(place, _)| place.branch.as_str()))
}

fn in_detail(run: &Run, plan: &Revision, step: &Step) -> Value {
    let taken = run.crew.steps.get(&step.id);
    let judged = taken.and_then(|taken| taken.judged.as_ref());
    json!({
        "id": step.id, "description": step.description, "dependencies": step.dependencies,
        "state": state_of(run, plan, step), "worker": taken.and_then(|taken| taken.worker),
        "attempt": taken.map(|taken| taken.nth(taken.attempts)), "verdict": judged.map(|judged| judged.judgement.verdict),
        "judged_by": judged.map(|judged| judged.by),
        "reasons": judged.map(|judged| &judged.judgement.reasons),
        "overruled": judged.and_then(|judged| judged.overruled.as_ref()),
    })
}

fn state_of(run: &Run, plan: &Revision, step: &Step) -> &'static str {
    match run.step_state(plan, &step.id) {
        StepState::Waiting | StepState::Failed(_) if run.crew.holds(&step.id) => "held",
        StepState::Waiting => "waiting",
        StepState::AtWork => "at_work",
        StepState::Done(_) => "done",
        StepState::Partly { .. } => "partly_done",
        StepState::Failed(_) => "failed",
        StepState::SkippedBy(_) => "skipped",
        StepState::LeftOut => "left_out",
    }
}

fn show(led: &Led) {
    let run = led.run.as_ref();
    say(&format!("{} · {} · {}", paint(BOLD, &run.id.0), led.thread, state(run)));
    let title = clip(led.title());
    say(&if title.is_empty() { "No goal is known yet.".to_owned() } else { format!("Goal: {title}") });
    say(&paint(DIM, &format!("asked for by @{} at {}", run.requester.login, run.started_at)));
    if let Some(branch) = branch(run) {
        say(&paint(DIM, &format!("branch {branch}")));
    }
    if let Some(plan) = run.plan().filter(|plan| !plan.steps.is_empty()) {
        say("");
        plan.steps.iter().for_each(|step| say(&step_line(run, plan, step)));
    }
    let open: Vec<_> = run.crew.open().collect();
    if !open.is_empty() {
        say("\nOpen questions:");
    }
    for open in open {
        say(&super::escalations::line(open));
        say(&paint(DIM, &format!("     {}", words::to_resolve(&run.id, open.number, ""))));
    }
    if let Some(waits) = waits(run) {
        say(&format!("\nIt waits for {waits}."));
    }
}

fn step_line(run: &Run, plan: &Revision, step: &Step) -> String {
    let state = state_of(run, plan, step);
    let mark = if state == "done" { "☑" } else { "☐" };
    let mut parts = vec![state.replace('_', " ")];
    if let Some(taken) = run.crew.steps.get(&step.id) {
        parts.extend(taken.worker.map(|worker| format!("worker {worker}")));
        let nth = taken.nth(taken.attempts);
        parts.extend((nth > 1).then(|| format!("try {nth}")));
        parts.extend(taken.judged.as_ref().map(verdict));
    }
    format!("  {mark} {}  {}: {}", step.id, clip_to(&step.description, 80), parts.join(" · "))
}

fn verdict(weighed: &Weighed) -> String {
    let who = match weighed.by {
        By::Evidence => "evidence",
        By::Judge => "judge",
    };
    let said = match weighed.judgement.verdict {
        Verdict::Done => "done",
        Verdict::Continue => "needs more work",
        Verdict::Replan => "needs another plan",
    };
    format!("{who}: {said}")
}
