//! Purpose: what a run works with: its checkout, the gate to its files, the cage for commands, the servers of tools.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::OnceCell;

use super::ctx::Ctx;
use crate::domain::{Account, Project};
use crate::forge::ForgeError;
use crate::planning::{AskProblem, Fact, Key, Run};
use crate::tools::files::{FileError, Files};
use crate::tools::git::{Author, Commit, GitAuth, GitError, Opening, Remote, Workspace, Workspaces};
use crate::tools::mcp::Mcp;
use crate::tools::sandbox::Sandbox;

/// Everything that can touch something outside; made once, when the server starts.
pub struct Hands {
    pub workspaces: Workspaces,
    pub mcp: Mcp,
    /// `None`: there is no cage on this machine, so commands are refused.
    pub sandbox: Option<Sandbox>,
}

/// A checkout, kept open by the drive of its run.
pub(super) struct Bench {
    pub workspace: Workspace,
    pub files: Arc<Files>,
}

/// Why something could not be done, and whether trying again may help. The reason is for people.
#[derive(Debug)]
pub(super) struct Trouble {
    pub problem: AskProblem,
    pub reason: String,
    /// For how long whoever was asked does not want to be asked again.
    pub pause: Option<Duration>,
}

impl Trouble {
    pub(super) fn lasting(reason: impl Into<String>) -> Self {
        Self { problem: AskProblem::Lasting, reason: reason.into(), pause: None }
    }

    pub(super) fn passing(reason: impl Into<String>) -> Self {
        Self { problem: AskProblem::Passing, reason: reason.into(), pause: None }
    }

    pub(super) fn into_fact(self, ctx: &Ctx, key: Key) -> Fact {
        let Self { problem, reason, pause } = self;
        Fact::EffectFailed { key, problem, reason, not_before: pause.map(|pause| ctx.after(pause)) }
    }
}

impl From<ForgeError> for Trouble {
    fn from(error: ForgeError) -> Self {
        tracing::warn!("the forge does not let the run go on: {error}");
        let (problem, pause) = match &error {
            ForgeError::RateLimited { retry_after, .. } => (AskProblem::Away, Some(*retry_after)),
            ForgeError::Unclear(_) => (AskProblem::Away, None),
            // Somebody has to do something about these. Until the tries are used up somebody may have.
            ForgeError::Unauthorized(_)
            | ForgeError::Forbidden(_)
            | ForgeError::NotFound(_)
            | ForgeError::Invalid(_)
            | ForgeError::Broken(_) => (AskProblem::Passing, None),
        };
        Self { problem, reason: error.for_people().to_owned(), pause }
    }
}

impl From<GitError> for Trouble {
    fn from(error: GitError) -> Self {
        tracing::warn!("git does not let the run go on: {error}");
        let problem = match &error {
            GitError::Unreachable(_) => AskProblem::Away,
            GitError::TimedOut(_) | GitError::DiskFull => AskProblem::Passing,
            GitError::NotFound
            | GitError::Unauthorized
            | GitError::Forbidden
            | GitError::ReadOnly
            | GitError::Moved
            | GitError::NoSuchCommit(_)
            | GitError::BadName(_)
            | GitError::Refused { .. }
            | GitError::Rejected { .. }
            | GitError::TooLarge(_)
            | GitError::NoGit(_)
            | GitError::Broken(_) => AskProblem::Lasting,
        };
        Self { problem, reason: error.for_people(), pause: None }
    }
}

impl From<FileError> for Trouble {
    fn from(error: FileError) -> Self {
        let problem = match &error {
            FileError::NoSpace(_) => AskProblem::Passing,
            FileError::NotFound(_)
            | FileError::Exists(_)
            | FileError::NotAFile { .. }
            | FileError::NotADirectory(_)
            | FileError::NotEmpty(_)
            | FileError::BehindALink(_)
            | FileError::LeadsOutside(_)
            | FileError::OfGit(_)
            | FileError::TooLarge { .. }
            | FileError::Denied(_)
            | FileError::Unsupported
            | FileError::Io { .. } => AskProblem::Lasting,
        };
        Self { problem, reason: error.to_string(), pause: None }
    }
}

/// Where git finds the repository, with a credential that is good for now.
pub(super) async fn remote(ctx: &Ctx, project: &Project) -> Result<Remote, Trouble> {
    let forge = ctx.forge(project.forge).map_err(|error| Trouble::lasting(error.to_string()))?;
    let access = match forge.git_access(project).await {
        Err(ForgeError::Invalid(why)) => return Err(Trouble::lasting(why)),
        access => access?,
    };
    // Some forges make a token for the occasion, which the settings cannot name.
    if let Some(secret) = &access.secret {
        ctx.redactor.learn(secret);
    }
    let auth = access.secret.map(|secret| GitAuth { user: access.user, secret });
    Ok(Remote { url: access.url, auth })
}

/// Whose checkout it is, and who commits in it.
pub(super) struct Whose<'a> {
    pub ctx: &'a Ctx,
    pub project: &'a Project,
    pub run: &'a Run,
    pub bot: Account,
}

/// The checkouts that a drive has open: that of the run, and those of its workers. Whoever needs one that somebody is
/// just opening waits for it.
#[derive(Default)]
pub(super) struct Benches(Mutex<BTreeMap<String, Arc<OnceCell<Arc<Bench>>>>>);

impl Benches {
    pub(super) async fn of_run(&self, whose: &Whose<'_>) -> Result<Arc<Bench>, Trouble> {
        let Whose { ctx, project, run, bot } = whose;
        let place = self.place(run.id.0.clone());
        place.get_or_try_init(|| async { Ok(Arc::new(bench(ctx, project, run, bot).await?)) }).await.cloned()
    }

    /// A worker's, which begins where the run stands.
    pub(super) async fn of_lane(&self, whose: &Whose<'_>, lane: &str) -> Result<Arc<Bench>, Trouble> {
        let opened = async || {
            let workspace = self.of_run(whose).await?.workspace.branch_off(lane).await?;
            Ok(Arc::new(Bench::of(workspace)?))
        };
        self.place(format!("{}/{lane}", whose.run.id)).get_or_try_init(opened).await.cloned()
    }

    fn place(&self, name: String) -> Arc<OnceCell<Arc<Bench>>> {
        Arc::clone(self.places().entry(name).or_default())
    }

    fn places(&self) -> MutexGuard<'_, BTreeMap<String, Arc<OnceCell<Arc<Bench>>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Workers' checkouts that are open and that no lane of the run names any more.
    pub(super) fn left_by(&self, run: &Run) -> Vec<String> {
        let named: Vec<String> = run.lanes.iter().map(|(step, lane)| lane.name(step)).collect();
        let of_run = format!("{}/", run.id);
        let places = self.places();
        let lanes = places.keys().filter_map(|place| place.strip_prefix(&of_run));
        lanes.filter(|lane| !named.iter().any(|name| name == lane)).map(str::to_owned).collect()
    }

    /// A worker's checkout is not needed any more.
    pub(super) async fn put_away(&self, ctx: &Ctx, run: &Run, lane: &str) {
        self.places().remove(&format!("{}/{lane}", run.id));
        if let Err(error) = ctx.hands.workspaces.forget_lane(&run.id.0, lane).await {
            tracing::warn!("the checkout {lane} of run {} stays until the run ends: {error}", run.id);
        }
    }
}

impl Bench {
    fn of(workspace: Workspace) -> Result<Self, Trouble> {
        let files = Files::open(workspace.tree()).map_err(|error| Trouble::lasting(error.to_string()))?;
        Ok(Self { workspace, files: Arc::new(files) })
    }
}

/// The run's checkout as last committed.
pub(super) async fn bench(ctx: &Ctx, project: &Project, run: &Run, bot: &Account) -> Result<Bench, Trouble> {
    let Some((place, ground)) = run.foundation() else {
        return Err(Trouble::lasting("the plan has no place to work in"));
    };
    let start: Commit =
        ground.base.parse().map_err(|_| Trouble::lasting("the base of the plan is no commit"))?;
    let author = author(bot);
    let opening = Opening { run: &run.id.0, branch: &place.branch, start: &start, author: &author };
    let workspaces = &ctx.hands.workspaces;
    let workspace = match workspaces.open(project, opening).await {
        // The mirror may be younger than the plan, or gone.
        Err(GitError::NoSuchCommit(_) | GitError::NotFound) => {
            workspaces.refresh(project, &remote(ctx, project).await?).await?;
            workspaces.open(project, opening).await?
        }
        opened => opened?,
    };
    Bench::of(workspace)
}

/// Forges show a commit as the bot's own by this address.
fn author(bot: &Account) -> Author {
    let name = bot.login.clone();
    let email = format!("{}+{}@users.noreply.planwright.invalid", bot.id.0, name.replace(['[', ']'], ""));
    Author { name, email }
}

/// A command that the settings name, with how long it may take.
pub(super) struct Allowed {
    pub timeout: Duration,
    pub network: bool,
}

pub(super) fn allowed_command(tools: &crate::config::Tools, argv: &[String]) -> Option<Allowed> {
    let found = tools.commands.values().find(|command| command.enabled && command.argv == argv)?;
    Some(Allowed { timeout: Duration::from_secs(found.timeout_seconds.get().into()), network: found.network })
}
