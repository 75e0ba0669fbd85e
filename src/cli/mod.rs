//! Purpose: the command line: reads arguments, wires the rooms together, prints for people or programs.
//!
//! Exit codes: 0 all is well, 1 something is wrong and was said on standard error, 2 the command was not understood.
//! `plan` and `lead` have three more: 3 it waits for a person, 4 it was cancelled, 130 it was left by Ctrl-C.

pub mod app;
pub mod config;
mod demo;
mod doctor;
mod doctor_disk;
mod doctor_tools;
mod dossier;
mod explain;
mod explain_crew;
mod explain_talk;
mod history;
mod hook;
mod instance;
mod journal;
mod lead;
mod local;
mod out;
mod phrases;
mod plan;
mod plan_diffs;
mod plans;
mod runs;
mod sample;
mod serve;
mod simulate;
mod stage;
mod terminal;
mod verifying;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Parser, Subcommand};

use crate::config::{Config, Env, Redactor};
use crate::telemetry::{self, LogFormat};
use crate::tools::sandbox::inside::Part;

/// Plans in the thread, waits for approval, keeps its checklist true.
#[derive(Debug, Parser)]
#[command(name = "planwright", version, about, max_term_width = 100)]
struct Args {
    /// The settings file, if it is not `config.yaml` in this directory
    #[arg(long, short, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// What to log: `info`, `debug` or `planwright=debug,warn`
    #[arg(long, global = true, value_name = "LEVEL")]
    log: Option<String>,
    /// One JSON object per log line
    #[arg(long, global = true)]
    log_json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Take webhooks and work on threads until stopped
    Serve,
    /// Watch the bot at work on a sample issue: no account, key or network needed
    Demo(demo::DemoArgs),
    /// Plan with you in the terminal, on the git repository of this directory
    Plan(plan::PlanArgs),
    /// Carry out a plan with a crew, and look after it: who works on what, and who is asked for help
    #[command(subcommand, after_help = local::outcome::EXIT_CODES)]
    Lead(lead::LeadCommand),
    /// Plan a thread and print what would be posted, without posting anything
    Simulate(simulate::SimulateArgs),
    /// List the runs, or show one with its plan
    #[command(subcommand)]
    Runs(runs::RunsCommand),
    /// Read and check the history: everything that was decided, line by line
    #[command(subcommand)]
    History(history::HistoryCommand),
    /// Check, show or describe the settings
    Config(config::ConfigArgs),
    /// Check tokens, permissions, secrets, git, sandbox, tools and the model, and say what to do
    Doctor(doctor::DoctorArgs),
}

/// Runs the program and returns its exit code.
#[must_use]
pub fn main() -> ExitCode {
    // No command for people, so it is asked for before any of theirs: it must not read settings or environment.
    if let Some((part, arguments)) = Part::asked_for(std::env::args_os()) {
        return part.run(&arguments);
    }
    let args = Args::parse();
    let env = Env::from_process();
    match dispatch(&args, &env) {
        Ok(code) => code,
        Err(error) if out::reader_left(&error) => ExitCode::SUCCESS,
        Err(error) => {
            out::complain(&format!("planwright: {}", out::reason(&error)));
            ExitCode::FAILURE
        }
    }
}

fn dispatch(args: &Args, env: &Env) -> anyhow::Result<ExitCode> {
    let default_filter = match &args.command {
        Command::Serve => telemetry::DEFAULT_FILTER,
        // What goes wrong is said where the person looks, in between questions.
        Command::Plan(_) | Command::Lead(_) => "off",
        Command::Demo(_)
        | Command::Simulate(_)
        | Command::Runs(_)
        | Command::History(_)
        | Command::Config(_)
        | Command::Doctor(_) => "error",
    };
    let path = args.config.as_deref();
    // Not every command needs settings; the log only wants to know which secrets it must not show.
    let config = Config::load(path, env);
    let redactor = config.as_ref().map(|config| config.redactor(env)).unwrap_or_default();
    init_logs(args, default_filter, redactor.clone())?;
    match &args.command {
        Command::Serve => block_on(serve::run(config?, env, redactor)),
        Command::Demo(demo) => block_on(demo::run(demo)),
        Command::Plan(plan) => block_on(plan::run(plan, local::Loaded { config, path }, env)),
        Command::Lead(command) => block_on(lead::run(command, local::Loaded { config, path }, env)),
        Command::Simulate(simulate) => block_on(simulate::run(simulate, config?, env)),
        Command::Runs(command) => block_on(runs::run(command, config?)),
        Command::History(command) => block_on(history::run(command, config?)),
        Command::Config(command) => config::run(command, path, env, &mut std::io::stdout()),
        Command::Doctor(doctor) => block_on(doctor::run(doctor, config?, env)),
    }
}

fn init_logs(args: &Args, default: &str, redactor: Redactor) -> anyhow::Result<()> {
    let format = if args.log_json { LogFormat::Json } else { LogFormat::Human };
    telemetry::init(format, args.log.as_deref().unwrap_or(default), redactor)
}

fn block_on(work: impl Future<Output = anyhow::Result<ExitCode>>) -> anyhow::Result<ExitCode> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the asynchronous runtime")?
        .block_on(work)
}
