//! Purpose: `plan`: words of a person become a plan on a thread of the local forge, worked out with them.

mod resume;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use self::resume::{Open, Runs};
use super::local::outcome::{EXIT_CODES, WAITING};
use super::local::{
    Guest, Heard, Loaded, Opening, Prompt, Sitting, Table, Way, Wish, open_forge, settings, words,
};
use super::out::{program, say};
use crate::config::{Config, Env};
use crate::engine::now;
use crate::forge::Local;
use crate::store::Store;

#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct PlanArgs {
    /// What you want; the first line is its title
    #[arg(value_name = "TEXT", required_unless_present = "resume", conflicts_with = "resume")]
    text: Option<String>,
    /// Go on with an open run, by its id or the beginning of it; without an id, choose from a list
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    resume: Option<String>,
    /// The git repository to plan for, if it is not that of this directory
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    repo: Option<PathBuf>,
    /// Take answers from this YAML or JSON file: `answers` (a list in order, or by question id; null skips),
    /// `decisions` (by id: an option, or `{option, because}`), `approve`, `why`, `execute`
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,
    /// Print one JSON object per line, for programs, and never ask
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &PlanArgs, loaded: Loaded<'_>, env: &Env) -> anyhow::Result<ExitCode> {
    let Loaded { config, path } = loaded;
    let config = settings::or_default(config, path.is_some(), env)?;
    let mut guest = Guest::new(args.json, args.answers.as_deref(), path)?;
    let local = open_forge(&config)?;
    let table = match &args.resume {
        None => begin(args, local, env)?,
        Some(wanted) => match choose(wanted, &config, &local, (args.json, guest.prompt.as_mut())).await? {
            Chosen::Open(open) => Table::sit_down(local, &open.thread, Opening::GoOn, env)?,
            Chosen::NoneOpen => return Ok(ExitCode::SUCCESS),
            Chosen::Nobody => return Ok(ExitCode::from(WAITING)),
        },
    };
    Sitting { table, guest, way: Way::Plan }.hold(config, env).await
}

fn begin(args: &PlanArgs, local: Local, env: &Env) -> anyhow::Result<Table> {
    let text = args.text.as_deref().unwrap_or_default();
    anyhow::ensure!(!text.trim().is_empty(), "say what you want, such as `plan \"Add a login page\"`");
    Table::lay(local, args.repo.as_deref().unwrap_or(Path::new(".")), &Wish::in_words(text), env)
}

enum Chosen {
    Open(Open),
    NoneOpen,
    /// There is nobody to choose.
    Nobody,
}

/// Which run is meant.
async fn choose(
    wanted: &str,
    config: &Config,
    local: &Local,
    (json, prompt): (bool, Option<&mut Prompt>),
) -> anyhow::Result<Chosen> {
    let store = Store::open(config.store.url.as_str()).await?;
    let runs = Runs::of(&store, local, now()).await;
    store.close().await;
    let runs = runs?;
    if !wanted.is_empty() {
        return runs.find(wanted).cloned().map(Chosen::Open);
    }
    if json {
        runs.open.iter().for_each(|open| say(&open.json().to_string()));
        return Ok(if runs.open.is_empty() { Chosen::NoneOpen } else { Chosen::Nobody });
    }
    if runs.open.is_empty() {
        say("No planning run is open. Start one with `planwright plan \"…\"`.");
        return Ok(Chosen::NoneOpen);
    }
    for (open, number) in runs.open.iter().zip(1..) {
        say(&format!("{number:>3}  {}", open.line()));
    }
    let Some(prompt) = prompt else {
        say(&format!("Go on with one of them:  {} plan --resume ID", program()));
        return Ok(Chosen::Nobody);
    };
    loop {
        prompt.invite(&format!("which one? 1-{}", runs.open.len()));
        let Heard::Line(typed) = prompt.hear(std::future::pending()).await else { return Ok(Chosen::Nobody) };
        let number = words::clean(&typed).parse::<usize>().ok();
        if let Some(open) = number.and_then(|number| runs.open.get(number.checked_sub(1)?)) {
            return Ok(Chosen::Open(open.clone()));
        }
    }
}
