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
mod story;
mod words;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use clap::Args;
use serde_json::json;
use tokio::net::TcpListener;

use self::face::{Face, Kind};
use self::outcome::{EXIT_CODES, INTERRUPTED, WAITING};
use self::place::Repository;
use self::prompt::{Heard, Prompt};
use self::resume::{Open, PREFIX, Runs};
use self::seat::{NotSaved, Seat};
use self::sheet::Sheet;
use self::story::{Over, Story};
use super::app::{App, local_bot};
use super::hook::Hook;
use super::out::{complain, program, say};
use super::serve::Signals;
use super::terminal::{DIM, paint};
use crate::config::{Config, ConfigError, Env};
use crate::domain::{Account, ForgeKind, ThreadRef};
use crate::engine::{Ctx, Forges, now};
use crate::forge::{Forge, Local, LocalSettings};
use crate::llm::Model;
use crate::planning::Policy;
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

/// Tries while somebody waits for it; a server has more time.
const RETRY_AFTER_MS: [i64; 3] = [1_000, 3_000, 9_000];
const PATIENCE_MS: i64 = 2_000;

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
    Evening { table, face, sheet, prompt, config_option }.spend(config, env).await
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

/// One sitting: the engine at work on the thread, and the conversation beside it.
struct Evening {
    table: Table,
    face: Face,
    sheet: Option<Sheet>,
    prompt: Option<Prompt>,
    config_option: String,
}

impl Evening {
    async fn spend(mut self, config: Config, env: &Env) -> anyhow::Result<ExitCode> {
        let Table { local, thread, me, .. } = &self.table;
        let config = settings::for_thread(config, &thread.project);
        let forges = Forges::from([(ForgeKind::Local, Forge::Local(local.clone()))]);
        let secret = uuid::Uuid::new_v4().to_string();
        let mut app = App::with_forges(config, env, forges).await?.signed_locally(secret.clone().into());
        tune(Arc::get_mut(&mut app.ctx).context("the engine is at work already")?, thread);
        let listener =
            TcpListener::bind("127.0.0.1:0").await.context("cannot listen on the loopback address")?;
        let hook = Hook::new(format!("http://{}/webhooks/local", listener.local_addr()?), secret)?;
        let seat = Seat {
            local: local.clone(),
            store: app.ctx.store.clone(),
            hook,
            thread: thread.clone(),
            me: me.clone(),
        };
        let (ctx, mut signals) = (Arc::clone(&app.ctx), Signals::listen()?);
        let telling = async {
            let told = tokio::select! {
                told = self.tell(&ctx, &seat) => Some(told),
                () = signals.heard() => None,
                () = ctx.shutdown.cancelled() => Some(Err(anyhow!("the engine has stopped"))),
            };
            let told = self.farewell(told, &seat).await;
            ctx.shutdown.cancel();
            told
        };
        let (ran, told) = tokio::join!(app.run(listener), telling);
        let code = told?;
        ran?;
        Ok(code)
    }

    async fn tell(&mut self, ctx: &Ctx, seat: &Seat) -> anyhow::Result<ExitCode> {
        // What the thread has and the journal has not is found by the first sweep.
        let mut swept = ctx.swept.subscribe();
        swept.wait_for(|sweeps| *sweeps > 0).await.context("the engine has stopped")?;
        if self.table.fresh {
            let bot = seat.local.bot().id;
            seat.act(|world, thread| world.assign(thread, bot, seat.me.id, now())).await?;
        }
        let id = begun(seat, &mut self.face).await?;
        let go_on = self.go_on(id.as_deref());
        if let Some(id) = &id {
            self.introduce(ctx, seat, id)?;
        }
        let mut story = Story::new(seat, &mut self.face, go_on.clone());
        story.sheet = self.sheet.take();
        story.prompt = self.prompt.take();
        let over = story.tell().await?;
        Ok(match over {
            Over::Ended => {
                let run = seat.record().await?.run.context("the run is gone")?;
                outcome::ended(&run, &self.table.repository, &mut self.face)
            }
            Over::NotBegun => {
                self.face.event(&json!({"event": "outcome", "state": "not_begun"}));
                complain("planwright: the run did not begin");
                ExitCode::FAILURE
            }
            Over::Later => {
                self.face.event(&json!({"event": "outcome", "run": id, "state": "ready", "go_on": go_on}));
                self.face.tell(&format!("\nNothing was carried out. Go on later with\n  {go_on}"));
                ExitCode::SUCCESS
            }
            Over::Waiting => ExitCode::from(WAITING),
        })
    }

    fn introduce(&mut self, ctx: &Ctx, seat: &Seat, id: &str) -> anyhow::Result<()> {
        let Repository { git, branch, dirty, .. } = &self.table.repository;
        let offline = matches!(ctx.planner, Model::Offline { .. });
        self.face.event(&json!({
            "event": "run", "run": id, "thread": seat.thread, "resumed": !self.table.fresh,
            "model": ctx.planner.name(), "offline": offline, "repository": git, "branch": branch,
        }));
        let model = if offline {
            "offline: answers by rules, no language model (see `models:` in the settings)"
        } else {
            ctx.planner.name()
        };
        let what = seat.title()?;
        self.face.tell(&format!("{what}\n{}", paint(DIM, &format!("{id} · {}", seat.thread))));
        self.face.tell(&paint(DIM, &format!("branch {branch} of {} · model {model}", git.display())));
        if *dirty {
            self.face.tell(&paint(DIM, "What is not committed is not seen, and is left alone."));
        }
        Ok(())
    }

    fn go_on(&self, id: Option<&str>) -> String {
        let id = id.map_or(String::new(), |id| format!(" {id}"));
        format!("{} plan --resume{id}{}", program(), self.config_option)
    }

    /// The last words about what went wrong, or about having been interrupted.
    async fn farewell(
        &mut self,
        told: Option<anyhow::Result<ExitCode>>,
        seat: &Seat,
    ) -> anyhow::Result<ExitCode> {
        let interrupted = told.is_none();
        let unsaved = matches!(&told, Some(Err(error)) if error.is::<NotSaved>());
        if !interrupted && !unsaved {
            return told.unwrap_or(Ok(ExitCode::FAILURE));
        }
        let record = seat.record().await.ok();
        let run = record.as_ref().and_then(|record| record.live_run());
        let go_on = self.go_on(run.map(|run| run.id.0.as_str()));
        self.face.quiet();
        if let Some(Err(error)) = told {
            return Err(anyhow!("{error}. Nothing is lost; go on with `{go_on}`"));
        }
        self.face.event(&json!({"event": "interrupted", "go_on": go_on}));
        self.face.tell(&format!("\nLeft. Everything so far is kept; go on with\n  {go_on}"));
        Ok(ExitCode::from(INTERRUPTED))
    }
}

/// The engine for this thread alone, with the patience of somebody at a terminal.
fn tune(ctx: &mut Ctx, thread: &ThreadRef) {
    ctx.only = Some(thread.clone());
    ctx.run_prefix = PREFIX;
    ctx.patience_ms = PATIENCE_MS;
    ctx.policy = Policy { retry_after_ms: RETRY_AFTER_MS.to_vec(), ..ctx.policy.clone() };
}

/// The name of the run, as soon as it has one; none when the bot was not allowed to begin.
async fn begun(seat: &Seat, face: &mut Face) -> anyhow::Result<Option<String>> {
    loop {
        let idle = !seat.store.is_busy_with(&seat.thread, now()).await?;
        let record = seat.record().await?;
        if let Some(run) = &record.run {
            return Ok(Some(run.id.to_string()));
        }
        if idle && record.seq > 0 {
            return Ok(None);
        }
        face.doing("starting");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
