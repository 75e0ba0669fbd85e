//! Purpose: `lead start` and `lead resume`: a sitting on a plan, unless it is clear beforehand that nothing would come of it.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, bail};

use super::super::local::need::{Need, need};
use super::super::local::outcome::WAITING;
use super::super::local::{Guest, Opening, Sitting, Table, Way, open_forge, words};
use super::super::out::say;
use super::led::{self, Led};
use super::{Office, ResumeArgs, StartArgs, Terms, document};
use crate::engine::now;
use crate::planning::Run;

pub(super) async fn start(args: &StartArgs, office: Office<'_>) -> anyhow::Result<ExitCode> {
    let Terms { answers, json } = &args.terms;
    if let Some(wanted) = &args.run {
        let guest = office.guest(*json, answers.as_ref())?;
        let runs = office.runs().await?;
        return take_up(led::find(runs.iter(), wanted)?, guest, office).await;
    }
    let plan = args.plan.as_deref().context("name a file with a plan")?;
    let wish = document::read(plan)?;
    let guest = office.guest(*json, answers.as_ref())?;
    let local = open_forge(&office.config)?;
    let dir = args.repo.as_deref().unwrap_or(Path::new("."));
    let table = Table::lay(local, dir, &wish, office.env)?;
    Sitting { table, guest, way: Way::Lead }.hold(office.config, office.env).await
}

/// The plan of a run: with the word that it waits for, or in a new run with what it left undone.
async fn take_up(led: &Led, mut guest: Guest, office: Office<'_>) -> anyhow::Result<ExitCode> {
    let run = led.run.as_ref();
    if run.is_live() {
        match need(run) {
            Some(Need::Execute(_)) => guest.sheet.carry_out(),
            Some(asked @ Need::Help(_)) if !is_overdue(&asked) => return Ok(blocked(run, &asked, guest)),
            Some(other @ (Need::Answer(..) | Need::Choice(..) | Need::Review(_))) => {
                let go_on = Way::Plan.go_on(Some(&run.id), &guest.config_option);
                guest.face.waits(run, &other, &go_on);
                return Ok(ExitCode::from(WAITING));
            }
            Some(Need::Help(_) | Need::Steer(_)) | None => {}
        }
        return sit_down(led, Opening::GoOn, guest, office).await;
    }
    let state = run.end.as_ref().map_or("over", |end| end.state.as_str());
    if run.plan().is_none_or(|plan| plan.steps.is_empty()) {
        bail!("the run {} is {state} and has no plan; `lead start plan.md` starts with one", run.id);
    }
    if !run.has_unfinished_steps() {
        bail!("the run {} is {state}; no step of its plan is left", run.id);
    }
    sit_down(led, Opening::Retry(run.id.clone()), guest, office).await
}

pub(super) async fn resume(args: &ResumeArgs, office: Office<'_>) -> anyhow::Result<ExitCode> {
    let guest = office.guest(args.terms.json, args.terms.answers.as_ref())?;
    let runs = office.runs().await?;
    let found = match &args.run {
        Some(wanted) => Some(led::find(runs.iter(), wanted)?),
        None => led::led(&runs).find(|led| led.run.is_live()),
    };
    let Some(led) = found else {
        if !args.terms.json {
            say("No led run is open. Start one with `planwright lead start plan.md`.");
        }
        return Ok(ExitCode::SUCCESS);
    };
    let run = led.run.as_ref();
    if let Some(end) = &run.end {
        let left = if run.has_unfinished_steps() {
            format!("; `lead start --run {}` takes up what is left", run.id)
        } else {
            String::new()
        };
        bail!("the run {} is {}; there is nothing to go on with{left}", run.id, end.state.as_str());
    }
    match need(run) {
        Some(asked @ Need::Help(_)) if !is_overdue(&asked) => Ok(blocked(run, &asked, guest)),
        _ => sit_down(led, Opening::GoOn, guest, office).await,
    }
}

/// What nobody answered in time is settled by the engine, which has to run for that.
fn is_overdue(need: &Need<'_>) -> bool {
    match need {
        Need::Help(asked) => asked.deadline.is_some_and(|deadline| deadline <= now()),
        Need::Answer(..) | Need::Choice(..) | Need::Review(_) | Need::Execute(_) | Need::Steer(_) => false,
    }
}

/// Everything waits for this question; going on would change nothing.
fn blocked(run: &Run, need: &Need<'_>, mut guest: Guest) -> ExitCode {
    guest.face.show(run, need, None);
    if let Need::Help(asked) = need {
        guest.face.waits(run, need, &words::to_resolve(&run.id, asked.number, &guest.config_option));
    }
    ExitCode::from(WAITING)
}

async fn sit_down(led: &Led, opening: Opening, guest: Guest, office: Office<'_>) -> anyhow::Result<ExitCode> {
    let local = open_forge(&office.config)?;
    let table = Table::sit_down(local, &led.thread, opening, office.env)?;
    Sitting { table, guest, way: Way::Lead }.hold(office.config, office.env).await
}
