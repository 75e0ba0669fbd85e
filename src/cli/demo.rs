//! Purpose: `demo`: the real server with the rule-based model on a sample issue, told as a short story.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::app::App;
use super::out::{is_watched, say};
use super::serve::Signals;
use super::stage::{self, Cast, Stage};
use super::terminal::{BOLD, DIM, GREEN, paint};
use crate::config::{Config, Env};
use crate::domain::ForgeKind;
use crate::engine::Forges;
use crate::forge::Forge;
use crate::llm::Model;
use crate::store::{History, verify};

#[derive(Debug, Args)]
pub(super) struct DemoArgs {
    /// Leave the server running at the end, until Ctrl-C
    #[arg(long)]
    keep: bool,
}

pub(super) async fn run(args: &DemoArgs) -> anyhow::Result<ExitCode> {
    let dir = tempfile::Builder::new()
        .prefix("planwright-demo-")
        .tempdir()
        .context("cannot make a directory")?
        .keep();
    let secret = uuid::Uuid::new_v4().to_string();
    let (config, env) = settings(&dir, &secret)?;
    let cast = Cast::new();
    let local = stage::build(&dir.join("data/local/world.json"), &cast)?;
    let forges = Forges::from([(ForgeKind::Local, Forge::Local(local.clone()))]);
    let mut app = App::with_forges(config, &env, forges).await?;
    // Slow enough for the card to be seen growing: the engine redraws a busy one every few seconds only.
    if let (true, Some(ctx)) = (is_watched(), Arc::get_mut(&mut app.ctx)) {
        ctx.planner = Model::Offline { thinking: Duration::from_millis(2_200) };
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.context("cannot listen on the loopback address")?;
    let base = format!("http://{}", listener.local_addr()?);
    let hook = format!("{base}/webhooks/local");
    let (store, engine, stop) = (app.ctx.store.clone(), app.engine(), app.ctx.shutdown.clone());
    let story = async {
        let mut stage = Stage::new(local, store, engine, hook, secret)?;
        let mut told = tell(&mut stage, &cast, &dir).await;
        if told.is_ok() && args.keep {
            told = keep(&base, stop.clone()).await;
        }
        stop.cancel();
        told
    };
    let (ran, told) = tokio::join!(app.run(listener), story);
    told?;
    ran?;
    Ok(ExitCode::SUCCESS)
}

async fn keep(base: &str, stop: CancellationToken) -> anyhow::Result<()> {
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
    let text = format!(
        "data_dir: {data}\nstore: {{ url: \"sqlite://{data}/planwright.db\" }}\n\
         forges: {{ local: {{ enabled: true, webhook_secret_file: {secret} }} }}\n\
         models: {{ default: {{ provider: offline }} }}\nplanning: {{ enabled: true }}\n",
        data = data.display(),
        secret = secret_file.display(),
    );
    write(&path, &text)?;
    write(&secret_file, secret)?;
    let env = Env::default();
    Ok((Config::load(Some(&path), &env)?, env))
}

async fn tell(stage: &mut Stage, cast: &Cast, dir: &Path) -> anyhow::Result<()> {
    let (ada, mallory, bot) = (cast.ada.id, cast.mallory.id, cast.bot.id);
    say(&paint(BOLD, "Planwright demo"));
    say("The real server at work on a sample issue, on this machine only.");
    say("The model is rule-based: it reads checklists and headings.");
    scene("1", "@ada opened an issue").await;
    let issue = stage.local.look(|world| world.picture(&stage.thread))?;
    stage.show_comment("ada", &format!("opened {}: {}", stage.thread, issue.title), &issue.body).await;

    scene("2", "@ada assigns @planwright").await;
    let assigned = stage.act(|world, thread| world.assign(thread, bot, ada, crate::engine::now())).await?;

    scene("3", "@mallory, who may only read here, writes `/cancel`").await;
    stage.act(|world, thread| world.comment(thread, mallory, "/cancel", crate::engine::now())).await?;

    scene("4", "@ada writes `/pause`: the card says so, and nothing starts any more").await;
    stage.act(|world, thread| world.comment(thread, ada, "/pause", crate::engine::now())).await?;

    scene("5", "@ada writes `/resume`: it goes on exactly there").await;
    stage.act(|world, thread| world.comment(thread, ada, "/resume", crate::engine::now())).await?;

    scene("6", "The forge sends the first webhook twice more").await;
    for _ in 0..2 {
        let status = stage.deliver(&assigned).await?;
        stage.line(&paint(DIM, &format!("signed webhook → {status}, seen before"))).await;
    }
    stage.engine.idle().await?;
    let cards = stage.cards();
    anyhow::ensure!(cards == 1, "there should be one card, but there are {cards}");
    stage.line("One event, one effect: there is still one card.").await;
    farewell(stage, dir)
}

async fn scene(number: &str, title: &str) {
    say(&paint(BOLD, &format!("\n{number}. {title}")));
    if is_watched() {
        tokio::time::sleep(Duration::from_millis(900)).await;
    }
}

/// The program as it was called, so that what is printed can be copied.
fn program() -> String {
    std::env::args().next().unwrap_or_else(|| "planwright".to_owned())
}

fn farewell(stage: &Stage, dir: &Path) -> anyhow::Result<()> {
    let path = History::new(&dir.join("data")).path(&stage.thread);
    let verified = verify(&path).with_context(|| format!("cannot read {}", path.display()))?;
    if let Some(problem) = verified.first_problem {
        anyhow::bail!("the history is damaged in line {}: {}", problem.line, problem.what);
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
    for command in
        [format!("runs show {thread}"), format!("history show {thread}"), "history verify".to_owned()]
    {
        say(&format!("  {} --config {} {command}", program(), config.display()));
    }
    say(&format!("\nAll that the demo made is in {}; delete it when you are done.", dir.display()));
    say("To connect it to GitHub or GitLab, see README.md; `planwright doctor` checks the connection.");
    Ok(())
}
