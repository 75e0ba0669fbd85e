//! Purpose: `demo`: the real server with the rule-based model on a sample issue, told as a short story to its end.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::app::App;
use super::hook::Hook;
use super::out::{is_watched, program, say, shell_word};
use super::sample::Sample;
use super::serve::Signals;
use super::stage::{self, Cast, Stage};
use super::terminal::{BOLD, DIM, GREEN, RED, paint};
use crate::config::{Config, Env};
use crate::domain::ForgeKind;
use crate::engine::{Forges, now};
use crate::forge::Forge;
use crate::llm::Model;
use crate::planning::{Delivery, Run};
use crate::store::{History, verify};

#[derive(Debug, Args)]
pub(super) struct DemoArgs {
    /// Put everything the demo makes into this folder, which must be empty or absent, instead of a temporary one
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
    /// Keep the server running at the end, until Ctrl-C
    #[arg(long)]
    keep: bool,
}

pub(super) async fn run(args: &DemoArgs) -> anyhow::Result<ExitCode> {
    let dir = folder(args.into.as_deref())?;
    let secret = uuid::Uuid::new_v4().to_string();
    let (config, env) = settings(&dir, &secret)?;
    let (cast, sample) = (Cast::new(), Sample::make(&dir)?);
    let local = stage::build(&dir.join("data/local/world.json"), &sample.bare, &cast)?;
    let forges = Forges::from([(ForgeKind::Local, Forge::Local(local.clone()))]);
    let mut app = App::with_forges(config, &env, forges).await?;
    // Slow enough for the thread to be seen growing.
    if let (true, Some(ctx)) = (is_watched(), Arc::get_mut(&mut app.ctx)) {
        ctx.planner = Model::Offline { thinking: Duration::from_millis(400) };
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.context("cannot listen on the loopback address")?;
    let base = format!("http://{}", listener.local_addr()?);
    let hook = format!("{base}/webhooks/local");
    let (store, engine, stop) = (app.ctx.store.clone(), app.engine(), app.ctx.shutdown.clone());
    let story = async {
        let mut stage = Stage::new(local, store, engine, Hook::new(hook, secret)?)?;
        let mut told = tell(&mut stage, &cast, &sample, &dir).await;
        if told.is_ok() && args.keep {
            told = keep_serving(&base, stop.clone()).await;
        }
        stop.cancel();
        told
    };
    let (ran, told) = tokio::join!(app.run(listener), story);
    told?;
    ran?;
    Ok(ExitCode::SUCCESS)
}

/// Where everything goes. What somebody has there already is left alone.
fn folder(wanted: Option<&Path>) -> anyhow::Result<PathBuf> {
    let Some(dir) = wanted else {
        let made = tempfile::Builder::new().prefix("planwright-demo-").tempdir();
        return Ok(made.context("cannot make a directory")?.keep());
    };
    std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let mut there = std::fs::read_dir(dir).with_context(|| format!("cannot look into {}", dir.display()))?;
    if there.next().is_some() {
        bail!("{} is not empty; name a new folder for the demo", dir.display());
    }
    std::fs::canonicalize(dir).with_context(|| format!("cannot use {}", dir.display()))
}

async fn keep_serving(base: &str, stop: CancellationToken) -> anyhow::Result<()> {
    let signals = Signals::listen()?;
    say(&format!("\nThe server is still running at {base}; Ctrl-C ends it."));
    signals.cancel(stop).await;
    Ok(())
}

/// The settings are written to a file, so that the other commands can be tried on what the demo leaves behind.
fn settings(dir: &Path, secret: &str) -> anyhow::Result<(Config, Env)> {
    let write = |path: &Path, text: &str| {
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    let (path, secret_file, data) = (dir.join("config.yaml"), dir.join("webhook-secret"), dir.join("data"));
    let quoted = |path: &Path| serde_json::to_string(&path.display().to_string());
    let text = format!(
        "data_dir: {data}\nstore: {{ url: {store} }}\n\
         forges: {{ local: {{ enabled: true, webhook_secret_file: {secret} }} }}\n\
         models: {{ default: {{ provider: offline }} }}\nplanning: {{ enabled: true }}\n",
        data = quoted(&data)?,
        store = serde_json::to_string(&format!("sqlite://{}/planwright.db", data.display()))?,
        secret = quoted(&secret_file)?,
    );
    write(&path, &text)?;
    write(&secret_file, secret)?;
    let env = Env::default();
    Ok((Config::load(Some(&path), &env)?, env))
}

async fn tell(stage: &mut Stage, cast: &Cast, sample: &Sample, dir: &Path) -> anyhow::Result<()> {
    let (ada, mallory, bot) = (cast.ada.id, cast.mallory.id, cast.bot.id);
    say(&paint(BOLD, "Planwright demo"));
    say("The real server at work on a sample repository, on this machine only.");
    say(
        "Its model is rule-based, no language model: it reads the checklist and writes what that spells out.",
    );
    scene("1", "@ada opens an issue").await;
    let issue = stage.local.look(|world| world.picture(&stage.thread))?;
    stage.show_comment("ada", &format!("opened {}: {}", stage.thread, issue.title), &issue.body).await;

    scene("2", "@ada assigns @planwright: it plans, and asks before it changes anything").await;
    let assigned = stage.act(|world, thread| world.assign(thread, bot, ada, now())).await?;

    scene("3", "@mallory, who may only read here, writes `/approve`").await;
    stage.act(|world, thread| world.comment(thread, mallory, "/approve", now())).await?;

    scene("4", "@ada writes `/pause`, then `/approve`: it is approved, and still nothing starts").await;
    stage.act(|world, thread| world.comment(thread, ada, "/pause", now())).await?;
    stage.act(|world, thread| world.comment(thread, ada, "/approve", now())).await?;
    let held = stage.run().await?.is_some_and(|run| run.pause.is_some() && run.work.is_empty());
    anyhow::ensure!(held, "the run should be held by the pause, but is not");

    scene("5", "@ada writes `/resume`: it goes on exactly there, to the end").await;
    stage.act(|world, thread| world.comment(thread, ada, "/resume", now())).await?;

    scene("6", "The forge sends the first webhook twice more").await;
    for _ in 0..2 {
        let status = stage.deliver(&assigned).await?;
        stage.line(&paint(DIM, &format!("signed webhook → {status}, seen before"))).await;
    }
    stage.engine.idle().await?;
    let cards = stage.cards();
    anyhow::ensure!(cards == 1, "there should be one card, but there are {cards}");
    stage.line("One event, one effect: there is still one card, and one run.").await;

    let run = stage.run().await?.context("there is no run")?;
    let delivery = delivered(&run)?;
    scene("7", "What @ada finds: a branch, and a draft that she can merge").await;
    show_work(stage, sample, delivery).await?;
    farewell(stage, sample, delivery, dir)
}

/// The end that the demo is about; any other is a failure of it.
fn delivered(run: &Run) -> anyhow::Result<&Delivery> {
    let state = run.end.as_ref().map_or("still going on", |end| end.state.as_str());
    anyhow::ensure!(run.is_complete(), "the run should be completed, but is {state}");
    run.delivery.as_ref().context("the run is completed, but nothing was delivered")
}

async fn show_work(stage: &Stage, sample: &Sample, delivery: &Delivery) -> anyhow::Result<()> {
    let branch = &delivery.branch;
    if let Some(change) = &delivery.change {
        let request = stage.local.look(|world| world.change_request(change))?;
        let kind = if request.draft { "draft" } else { "change request" };
        stage.line(&format!("{} {change}: {}", paint(BOLD, kind), request.title)).await;
    }
    stage.line(&format!("branch `{branch}`, one commit per action:")).await;
    stage.box_of(sample.log(branch)?.lines()).await;
    stage.line(&paint(BOLD, "git diff main...branch")).await;
    for line in sample.diff(branch)?.lines() {
        let style = match line.as_bytes().first() {
            Some(b'+') => GREEN,
            Some(b'-') => RED,
            Some(_) | None => DIM,
        };
        stage.line(&format!("  ┃ {}", paint(style, line))).await;
    }
    Ok(())
}

async fn scene(number: &str, title: &str) {
    say(&paint(BOLD, &format!("\n{number}. {title}")));
    if is_watched() {
        tokio::time::sleep(Duration::from_millis(400)).await;
    }
}

fn farewell(stage: &Stage, sample: &Sample, delivery: &Delivery, dir: &Path) -> anyhow::Result<()> {
    let path = History::new(&dir.join("data")).path(&stage.thread);
    let verified = verify(&path).with_context(|| format!("cannot read {}", path.display()))?;
    if let Some(problem) = verified.first_problem {
        bail!("the history is damaged in line {}: {}", problem.line, problem.what);
    }
    let config = dir.join("config.yaml");
    say(&format!(
        "\n{} {} facts, hash chain sound:",
        paint(GREEN, "Everything is in the history."),
        verified.lines
    ));
    say(&format!("  {}", path.display()));
    say("\nLook around:");
    let thread = &stage.thread;
    for command in [
        format!("history explain {thread}"),
        format!("runs show {thread}"),
        format!("history export --plans {}", shell_word(dir.join("plans"))),
        "history verify".to_owned(),
    ] {
        say(&format!("  {} --config {} {command}", program(), shell_word(&config)));
    }
    say(&format!("  git -C {} log -p main..{}", shell_word(&sample.bare), delivery.branch));
    say(&format!("\nAll that the demo made is in {}; delete it when you are done.", dir.display()));
    say("To connect it to GitHub or GitLab, see README.md; `planwright doctor` checks the connection.");
    Ok(())
}
