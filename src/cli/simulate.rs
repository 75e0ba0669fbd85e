//! Purpose: `simulate THREAD`: what the bot would plan and post, without posting, storing or locking anything.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::json;

use super::app;
use super::out::{complain, say};
use super::terminal::{self, BOLD, DIM, paint};
use crate::config::{Config, Env};
use crate::domain::ThreadRef;
use crate::engine::{Ctx, Simulated, simulate};
use crate::planning::{Run, plan_tool};
use crate::store::Store;

#[derive(Debug, Args)]
pub(super) struct SimulateArgs {
    /// The thread, such as `github:acme/web#12`
    thread: ThreadRef,
    /// Print one JSON object, for programs
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &SimulateArgs, config: Config, env: &Env) -> anyhow::Result<ExitCode> {
    let SimulateArgs { thread, json } = args;
    // A running server has its own directory locked; here everything is made anew and goes away at the end.
    let scratch = tempfile::Builder::new().prefix("planwright-simulate-").tempdir();
    let scratch = scratch.context("cannot make a directory")?;
    let ctx = Arc::new(build(config, env, scratch.path()).await?);
    if !ctx.forges.contains_key(&thread.project.forge) {
        let forge = thread.project.forge;
        bail!(
            "{thread} is on {forge}, which is not configured; add `{forge}` under `forges:` in the settings"
        );
    }
    let simulated = simulate(&ctx, thread).await;
    ctx.hands.mcp.close().await;
    ctx.store.close().await;
    let simulated = simulated?;
    if *json {
        say(&as_json(thread, &simulated)?)
    } else {
        show(thread, &simulated)
    }
    let failed = trouble(&simulated.run);
    if let Some(why) = &failed {
        complain(&format!("planwright: no plan came out: {why}"));
    }
    Ok(if failed.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn build(mut config: Config, env: &Env, scratch: &Path) -> anyhow::Result<Ctx> {
    copy_local_world(&config, scratch)?;
    let redactor = config.redactor(env);
    config.data_dir = scratch.to_owned();
    let forges = app::forges(&config, env)?;
    let crew = app::crew(&config, env)?;
    let store = Store::open(&format!("sqlite://{}/simulate.db", scratch.display())).await?;
    Ok(Ctx { redactor, ..Ctx::new(Arc::new(config), store, forges, crew, "simulate".to_owned()) })
}

/// The local forge is a file, which one process has open; a copy of it can be looked at as well.
fn copy_local_world(config: &Config, scratch: &Path) -> anyhow::Result<()> {
    let world = config.data_dir.join("local/world.json");
    if !config.forges.local.enabled || !world.exists() {
        return Ok(());
    }
    let there = scratch.join("local");
    std::fs::create_dir_all(&there)
        .and_then(|()| std::fs::copy(&world, there.join("world.json")))
        .with_context(|| format!("cannot copy {}", world.display()))?;
    Ok(())
}

/// Why there is no plan, if there is none.
fn trouble(run: &Run) -> Option<String> {
    let ended = run.end.as_ref().map(|end| match &end.state {
        crate::planning::EndState::Failed { reason } => reason.clone(),
        crate::planning::EndState::Completed
        | crate::planning::EndState::Cancelled { .. }
        | crate::planning::EndState::Stopped { .. } => end.state.as_str().to_owned(),
    });
    ended.or_else(|| run.broken.clone()).or_else(|| run.retry.as_ref().map(|retry| retry.reason.clone()))
}

fn show(thread: &ThreadRef, simulated: &Simulated) {
    say(&paint(DIM, &format!("A simulation on {thread}: nothing was posted and nothing was stored.")));
    if !simulated.enabled {
        say(&paint(DIM, "Planning is switched off for this repository, so the bot would not have started."));
    }
    part("The card", simulated.card.as_deref());
    let nobody = "Nothing would be put up for approval.";
    part("The preview", Some(simulated.preview.as_deref().unwrap_or(nobody)));
}

fn part(title: &str, text: Option<&str>) {
    let Some(text) = text else { return };
    say(&paint(BOLD, &format!("\n{title}\n")));
    for line in terminal::markdown(text).lines().flat_map(terminal::wrap) {
        say(&format!("  {line}"));
    }
}

fn as_json(thread: &ThreadRef, simulated: &Simulated) -> anyhow::Result<String> {
    let Simulated { card, preview, run, enabled } = simulated;
    let told = json!({
        "thread": thread,
        "planning_enabled": enabled,
        "card": card,
        "preview": preview,
        "goal": run.goal,
        "steps": run.plan().map(|plan| &plan.steps),
        "actions": run.plan().map(|plan| plan.actions().collect::<Vec<_>>()),
        "plan": plan_tool::get_state(run),
        "files": run.plan().map(plan_tool::preview),
        "problem": trouble(run),
        "model_calls": run.spent.model_calls,
        "cost_micro_usd": run.spent.cost_micro_usd,
    });
    Ok(serde_json::to_string_pretty(&told)?)
}
