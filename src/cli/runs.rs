//! Purpose: `runs list` and `runs show`: what the bot has been doing, from the journal.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Subcommand;
use serde_json::{Value, json};

use super::out::say;
use super::terminal;
use crate::config::Config;
use crate::domain::ThreadRef;
use crate::planning::plan_tool::{self, PlanRef};
use crate::planning::{Entry, Record, Run, RunId};
use crate::render::{self, Voice};
use crate::store::Store;

/// A title in a list, in letters.
const TITLE: usize = 80;

#[derive(Debug, Subcommand)]
pub(super) enum RunsCommand {
    /// List the newest run of every thread
    List {
        /// Print one JSON array, for programs
        #[arg(long)]
        json: bool,
    },
    /// Show one run with its plan
    Show {
        /// The thread, as `github:owner/repo#12`, or the run's id (or its beginning)
        run: String,
        /// Print one JSON object, for programs
        #[arg(long)]
        json: bool,
    },
}

pub(super) async fn run(command: &RunsCommand, config: Config) -> anyhow::Result<ExitCode> {
    let store = Store::open(config.store.url.as_str()).await?;
    let records = records(&store).await?;
    match command {
        RunsCommand::List { json: true } => {
            let runs: Vec<Value> = records.iter().filter_map(describe).collect();
            say(&serde_json::to_string_pretty(&runs)?);
        }
        RunsCommand::List { json: false } => list(&records),
        RunsCommand::Show { run, json } => {
            let found = find(&records, run)?;
            if *json { say(&serde_json::to_string_pretty(&describe(found))?) } else { show(found) }
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) type Known = (ThreadRef, Record);

pub(super) async fn records(store: &Store) -> anyhow::Result<Vec<Known>> {
    let mut records = vec![];
    for thread in store.threads().await? {
        let rows = store.journal(&thread).await?;
        let entries = rows
            .iter()
            .map(|row| Entry::from_line(row.seq, row.at, row.run.clone().map(RunId), &row.line))
            .collect::<Result<Vec<_>, _>>()
            .with_context(|| format!("cannot read the journal of {thread}"))?;
        records.push((thread, Record::fold(&entries)));
    }
    Ok(records)
}

fn list(records: &[Known]) {
    let runs: Vec<(&ThreadRef, &Run)> =
        records.iter().filter_map(|(thread, record)| Some((thread, record.run.as_deref()?))).collect();
    if runs.is_empty() {
        say("There are no runs. Assign the bot to an issue to start one, or watch `planwright demo`.");
        return;
    }
    let width = runs.iter().map(|(thread, _)| thread.to_string().len()).max().unwrap_or_default();
    let plans = plan_tool::list(records.iter().map(|(_, record)| record));
    let plans: BTreeMap<RunId, PlanRef> = plans.into_iter().map(|plan| (plan.run.clone(), plan)).collect();
    for (thread, run) in runs {
        say(&format!(
            "{thread:width$}  {:20}  {}  @{}{}",
            state(run),
            run.started_at,
            run.requester.login,
            plans.get(&run.id).map_or(String::new(), |plan| format!("  {}", named(plan))),
            thread = thread.to_string()
        ));
    }
}

/// Which plan it is, and how far it has come.
fn named(plan: &PlanRef) -> String {
    let title: String = plan.title.chars().filter(|c| !c.is_control()).take(TITLE).collect();
    format!("plan {} {}: {title}", plan.version, plan.status.as_str())
}

/// The run in two words: how it ended, or what it is at.
fn state(run: &Run) -> String {
    match (&run.end, &run.pause) {
        (Some(end), _) => end.state.as_str().to_owned(),
        (None, Some(_)) => "paused".to_owned(),
        (None, None) if run.hold().is_some() => format!("waiting ({})", run.phase().as_str()),
        (None, None) => run.phase().as_str().to_owned(),
    }
}

fn find<'a>(records: &'a [Known], wanted: &str) -> anyhow::Result<&'a Known> {
    let is_it = |(thread, record): &&Known| {
        let id = record.run.as_deref().map(|run| run.id.0.as_str()).unwrap_or_default();
        thread.to_string() == wanted.to_ascii_lowercase() || (!wanted.is_empty() && id.starts_with(wanted))
    };
    let found: Vec<&Known> =
        records.iter().filter(is_it).filter(|(_, record)| record.run.is_some()).collect();
    match found.as_slice() {
        [one] => Ok(one),
        [] => bail!("there is no run `{wanted}`; `planwright runs list` shows them all"),
        _ => bail!("`{wanted}` is the beginning of several runs; give more of the id"),
    }
}

fn show((thread, record): &Known) {
    let Some(run) = &record.run else { return };
    say(&format!(
        "{thread} · run {} · asked for by @{} at {}\n",
        run.id, run.requester.login, run.started_at
    ));
    if let Some(plan) = plan_tool::get_current(record) {
        say(&format!("{}\n", named(&plan)));
    }
    let voice = Voice { forge: thread.project.forge, bot_login: "planwright".to_owned() };
    let card = render::card(run, &voice).unwrap_or_else(|| "No plan yet.".to_owned());
    say(&terminal::markdown(&card));
    let replans = run.replans.statistics();
    if replans.decided > 0 {
        let [retries, partial, actions, steps, goals] = replans.by_level;
        say(&format!(
            "\nReplanning: {} decisions, {} carried out ({retries} retries, {partial} partial, {actions} of the actions, \
             {steps} of the steps, {goals} of the goal), {} overridden, {} declined, {} failed",
            replans.decided, replans.executed, replans.overridden, replans.declined, replans.failed
        ));
    }
}

fn describe((thread, record): &Known) -> Option<Value> {
    let run = record.run.as_deref()?;
    let revision = run.revisions.last();
    Some(json!({
        "thread": thread,
        "run": run.id,
        "state": run.end.as_ref().map_or("live", |end| end.state.as_str()),
        "phase": run.phase().as_str(),
        "paused": run.pause.is_some(),
        "requester": run.requester.login,
        "started_at": run.started_at.to_string(),
        "ended_at": run.end.as_ref().map(|end| end.at.to_string()),
        "goal": run.goal,
        "steps": revision.map(|revision| &revision.steps),
        "actions": revision.and_then(|revision| revision.sequence.as_ref()).map(|sequence| &sequence.actions),
        "plan": plan_tool::get_state(run),
        "delivery": run.delivery.as_ref().map(|delivery| json!({
            "branch": delivery.branch,
            "commit": delivery.commit,
            "change": delivery.change,
            "url": delivery.url,
        })),
        "replanning": run.replans.statistics(),
        "assumptions": run.talk.assumptions,
        "model_calls": run.spent.model_calls,
        "input_tokens": run.spent.input_tokens,
        "output_tokens": run.spent.output_tokens,
        "cost_micro_usd": run.spent.cost_micro_usd,
    }))
}
