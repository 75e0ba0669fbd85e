//! Purpose: what is worked on, and with whom: the repository, its thread on the local forge, and the person.

use std::path::Path;

use anyhow::{Context as _, bail};

use super::super::app::local_bot;
use super::super::instance;
use super::place::{self, Repository, Wish};
use crate::config::{Config, Env};
use crate::domain::{Account, ThreadRef};
use crate::engine::now;
use crate::forge::{ForgeError, Local, LocalSettings};
use crate::planning::RunId;

pub(in crate::cli) struct Table {
    pub repository: Repository,
    pub local: Local,
    pub thread: ThreadRef,
    pub me: Account,
    pub opening: Opening,
}

/// How a sitting begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) enum Opening {
    /// The bot is assigned, and a run begins.
    Assign,
    /// This run has ended; another takes up what it left.
    Retry(RunId),
    /// The run is there, and goes on.
    GoOn,
}

/// The local forge of this data directory; one process at a time has it.
pub(in crate::cli) fn open_forge(config: &Config) -> anyhow::Result<Local> {
    keep_out_of_git(&config.data_dir)?;
    let world = config.data_dir.join("local").join("world.json");
    match Local::open(LocalSettings { path: Some(world), bot: local_bot(), clock: now }) {
        Err(ForgeError::Invalid(_)) => bail!(
            "another planwright is at work on {}; wait until it rests, or leave it by Ctrl-C",
            config.data_dir.display()
        ),
        opened => Ok(opened?),
    }
}

/// In a repository, what we keep is no part of it.
pub(in crate::cli) fn keep_out_of_git(data_dir: &Path) -> anyhow::Result<()> {
    let ignore = data_dir.join(".gitignore");
    if data_dir.exists() {
        return Ok(());
    }
    instance::make(data_dir)
        .and_then(|()| std::fs::write(&ignore, "*\n"))
        .with_context(|| format!("cannot write {}", ignore.display()))
}

impl Table {
    /// A new thread about a wish, for the repository of this directory.
    pub(in crate::cli) fn lay(local: Local, dir: &Path, wish: &Wish, env: &Env) -> anyhow::Result<Self> {
        let repository = Repository::find(dir)?;
        let (me, project) = local.look(|world| (place::person(world, env), repository.project(world)));
        let project = project?;
        let thread = local.with(|world| -> anyhow::Result<ThreadRef> {
            repository.furnish(world, &project, &me)?;
            Ok(place::open(world, &project, &me, wish)?)
        })??;
        Ok(Self { repository, local, thread, me, opening: Opening::Assign })
    }

    /// A thread that is there.
    pub(in crate::cli) fn sit_down(
        local: Local,
        thread: &ThreadRef,
        opening: Opening,
        env: &Env,
    ) -> anyhow::Result<Self> {
        let project = &thread.project;
        let git = local.look(|world| world.project(project).map(|state| state.git.clone()));
        let git = git?.with_context(|| format!("{project} has no git repository"))?;
        let repository = Repository::find(&git)?;
        let me = local.look(|world| place::person(world, env));
        local.with(|world| repository.furnish(world, project, &me))??;
        Ok(Self { repository, local, thread: thread.clone(), me, opening })
    }
}
