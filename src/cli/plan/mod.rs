//! Purpose: `plan`: the engine on a thread of the local forge, with the terminal as one more face of that thread.
//!
//! There is no second loop here and no second store of truth. The words of the person become an issue that the bot is
//! assigned to; what they answer becomes comments; each goes to the engine as a signed webhook, as it would from any
//! forge. What is shown is read off the journal. So a run can be left at any time, by Ctrl-C or `kill -9`, and goes on
//! where it was: the sweep at the next start finds what the thread has and the journal has not.

mod face;
mod need;
mod outcome;
mod place;
mod prompt;
mod resume;
mod seat;
mod settings;
mod sheet;
mod sitting;
mod story;
mod words;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;

use self::face::{Face, Kind};
use self::outcome::{EXIT_CODES, WAITING};
use self::place::Repository;
use self::prompt::{Heard, Prompt};
use self::resume::{Open, Runs};
use self::sheet::Sheet;
use self::sitting::Sitting;
use super::app::local_bot;
use super::out::{program, say};
use crate::config::{Config, ConfigError, Env};
use crate::domain::{Account, ThreadRef};
use crate::engine::now;
use crate::forge::{Local, LocalSettings};
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

/// The settings as they were found, and the file that was named.
pub(super) struct Loaded<'a> {
    pub config: Result<Config, ConfigError>,
    pub path: Option<&'a Path>,
}

/// What is planned, and with whom.
struct Table {
    repository: Repository,
    local: Local,
    thread: ThreadRef,
    me: Account,
    /// Whether the run is still to begin.
    fresh: bool,
}

pub(super) async fn run(args: &PlanArgs, loaded: Loaded<'_>, env: &Env) -> anyhow::Result<ExitCode> {
    let Loaded { config, path } = loaded;
    let config = settings::or_default(config, path.is_some(), env)?;
    let sheet = args.answers.as_deref().map(Sheet::read).transpose()?;
    let face = Face::new(if args.json { Kind::Json } else { Kind::Text });
    let terminal = !args.json && std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let mut prompt = terminal.then(Prompt::at_keyboard);
    keep_out_of_git(&config.data_dir)?;
    let world = config.data_dir.join("local").join("world.json");
    let local = Local::open(LocalSettings { path: Some(world), bot: local_bot(), clock: now })?;
    let table = match &args.resume {
        None => begin(args, local, env)?,
        Some(wanted) => match choose(wanted, &config, &local, (args.json, prompt.as_mut())).await? {
            Chosen::Open(open) => sit_down(local, &open, env)?,
            Chosen::NoneOpen => return Ok(ExitCode::SUCCESS),
            Chosen::Nobody => return Ok(ExitCode::from(WAITING)),
        },
    };
    let config_option = path.map_or(String::new(), |path| format!(" --config {}", path.display()));
    Sitting { table, face, sheet, prompt, config_option }.hold(config, env).await
}

/// In a repository, what we keep is no part of it.
fn keep_out_of_git(data_dir: &Path) -> anyhow::Result<()> {
    let ignore = data_dir.join(".gitignore");
    if data_dir.exists() {
        return Ok(());
    }
    std::fs::create_dir_all(data_dir)
        .and_then(|()| std::fs::write(&ignore, "*\n"))
        .with_context(|| format!("cannot write {}", ignore.display()))
}

fn begin(args: &PlanArgs, local: Local, env: &Env) -> anyhow::Result<Table> {
    let here = Path::new(".");
    let repository = Repository::find(args.repo.as_deref().unwrap_or(here))?;
    let text = args.text.as_deref().unwrap_or_default();
    anyhow::ensure!(!text.trim().is_empty(), "say what you want, such as `plan \"Add a login page\"`");
    let (me, project) = local.look(|world| (place::person(world, env), repository.project(world)));
    let project = project?;
    let thread = local.with(|world| -> anyhow::Result<ThreadRef> {
        repository.furnish(world, &project, &me)?;
        Ok(place::open(world, &project, &me, text)?)
    })??;
    Ok(Table { repository, local, thread, me, fresh: true })
}

fn sit_down(local: Local, open: &Open, env: &Env) -> anyhow::Result<Table> {
    let project = &open.thread.project;
    let git = local.look(|world| world.project(project).map(|state| state.git.clone()));
    let git = git?.with_context(|| format!("{project} has no git repository"))?;
    let repository = Repository::find(&git)?;
    let me = local.look(|world| place::person(world, env));
    local.with(|world| repository.furnish(world, project, &me))??;
    Ok(Table { repository, local, thread: open.thread.clone(), me, fresh: false })
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
