//! Purpose: `lead`: a plan that somebody wrote, or that a run has, is carried out by a crew; and how that stands.
//!
//! Nothing here leads: that is the engine's business, on a thread of the local forge as for `plan`. What is shown is read
//! off the journal, which others may be writing at the same time.

mod document;
mod escalations;
mod led;
mod resolve;
mod start;
mod status;
mod watch;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use self::led::Led;
use super::local::outcome::EXIT_CODES;
use super::local::{Guest, Loaded, settings};
use crate::config::{Config, Env};
use crate::store::Store;

#[derive(Debug, Subcommand)]
pub(super) enum LeadCommand {
    /// Carry out a plan: one that you wrote in Markdown, or that of an earlier run
    #[command(after_help = EXIT_CODES)]
    Start(StartArgs),
    /// Show a run: its steps, who works on them, what the judge says, and what is asked
    Status(OneRun),
    /// List the runs that were led, the newest first
    List {
        /// Print one JSON array, for programs
        #[arg(long)]
        json: bool,
    },
    /// List what was asked when somebody was stuck: the open questions, then the settled ones
    Escalations(OneRun),
    /// Answer an open question; `lead resume` then goes on with it
    Resolve(ResolveArgs),
    /// Go on with a run that was left; exit code 3 while everything in it waits for an answer
    #[command(after_help = EXIT_CODES)]
    Resume(ResumeArgs),
    /// Tell what happens in a run, line by line, until it ends
    #[command(after_help = EXIT_CODES)]
    Watch(OneRun),
}

#[derive(Debug, Args)]
pub(super) struct StartArgs {
    /// A Markdown file with the plan; headings, numbers or checkboxes name its steps
    #[arg(value_name = "PLAN", required_unless_present = "run", conflicts_with = "run")]
    plan: Option<PathBuf>,
    /// Carry out the plan of this run, or what it left undone; its id or the beginning of it
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// The git repository to work on, if it is not that of this directory
    #[arg(long, value_name = "DIR", conflicts_with = "run")]
    repo: Option<PathBuf>,
    #[command(flatten)]
    terms: Terms,
}

/// How somebody takes part.
#[derive(Debug, Args)]
struct Terms {
    /// Take answers from this YAML or JSON file: `execute` (true: carry it out), `resolve` (by number: the answer to a
    /// question); as for `plan`
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,
    /// Print one JSON object per line, for programs, and never ask
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct OneRun {
    /// The run, by its id or the beginning of it; without it, the newest
    #[arg(value_name = "ID")]
    run: Option<String>,
    /// Print JSON, for programs
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct ResolveArgs {
    /// The number of the question, as `lead escalations` shows it
    number: u32,
    /// The answer
    text: String,
    /// The run, by its id or the beginning of it, if several have such a question
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// Print one JSON object, for programs
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct ResumeArgs {
    /// The run, by its id or the beginning of it; without it, the newest that is open
    #[arg(value_name = "ID")]
    run: Option<String>,
    #[command(flatten)]
    terms: Terms,
}

/// What every command works with.
struct Office<'a> {
    config: Config,
    env: &'a Env,
    loaded_from: Option<&'a std::path::Path>,
}

impl Office<'_> {
    fn guest(&self, json: bool, answers: Option<&PathBuf>) -> anyhow::Result<Guest> {
        Guest::new(json, answers.map(PathBuf::as_path), self.loaded_from)
    }

    async fn store(&self) -> anyhow::Result<Store> {
        super::local::keep_out_of_git(&self.config.data_dir)?;
        Store::open(self.config.store.url.as_str()).await
    }

    /// All runs of the local forge, the newest first. The store is closed: whoever works on one opens it anew.
    async fn runs(&self) -> anyhow::Result<Vec<Led>> {
        let store = self.store().await?;
        let runs = led::all(&store).await;
        store.close().await;
        runs
    }
}

pub(super) async fn run(command: &LeadCommand, loaded: Loaded<'_>, env: &Env) -> anyhow::Result<ExitCode> {
    let Loaded { config, path } = loaded;
    let config = settings::or_default(config, path.is_some(), env)?;
    let office = Office { config, env, loaded_from: path };
    match command {
        LeadCommand::Start(args) => start::start(args, office).await,
        LeadCommand::Resume(args) => start::resume(args, office).await,
        LeadCommand::Resolve(args) => resolve::resolve(args, office).await,
        LeadCommand::Status(one) => status::status(one, &office.runs().await?),
        LeadCommand::List { json } => status::list(*json, &office.runs().await?),
        LeadCommand::Escalations(one) => escalations::escalations(one, &office.runs().await?),
        LeadCommand::Watch(one) => watch::watch(one, &office).await,
    }
}
