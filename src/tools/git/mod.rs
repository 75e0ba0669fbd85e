//! Purpose: the repository: a mirror to look at, and for each run a checkout of its own to change, commit, merge and push.
//!
//! # What must hold
//!
//! A repository is written by strangers, and the tools of a run write into its checkout. Neither may make the git that
//! we run execute anything, read anything else, or say our token to anybody.
//!
//! # How
//!
//! * Every call goes through `call.rs`, with the environment and settings of `hardened.rs` and no others. Git's own
//!   files (settings, hooks, attributes) lie in `mirrors/` and in folders `git` below `runs/`, where no tool can write;
//!   a checkout (the folder `tree` beside it) has no `.git` in it at all.
//! * Git never reads a changed file. `changes.rs` asks it only *which* files changed, reads them itself without
//!   following a link, and `workspace.rs` hands git the finished commit (`fast-import`). `git add` would look into
//!   folders that a tool made a repository of its own, and obey the settings in there.
//! * Files are taken byte for byte: no line ends, filters or encodings are converted in either direction, so what was
//!   shown at approval, what tools see and what is committed are the same bytes. Files kept by LFS are their pointers.
//! * Mirrors and checkouts hold one commit of each branch, without its past. That keeps a repository with gigabytes of
//!   history small; the rest would be needed only to blame, and to merge what began before the run, which nobody does
//!   here. A mirror is a cache and may be deleted at any time; a checkout shares nothing with it.
//! * A step that is worked on beside others has a checkout of its own, a *lane*, branched off from the run's
//!   (`lanes.rs`). It reads the objects of the run's checkout where they lie, lives no longer than that, and is never
//!   pushed. What it committed is taken onto the run's branch (`merge.rs`) by commits alone: files are merged in git's
//!   own store, by their lines, whatever attributes say; the tree is filled afterwards. Merges that would need a
//!   decision are not made at all.
//! * The token is in the environment of the one process that talks to the server.
//!
//! # Accepted
//!
//! Links in the repository are links in the checkout, wherever they lead: builds need them. Nothing here follows one.
//!
//! Files that `.gitignore` names survive a restart and a discard: they are what commands installed and built.

mod beneath;
mod call;
mod changes;
mod checkout;
mod error;
mod folders;
mod hardened;
mod lanes;
mod merge;
mod mirror;
mod names;
mod remote;
mod workspace;

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::domain::Project;
use call::Git;
pub use checkout::Opening;
pub use error::{GitError, Refusal, Rejection, TooLarge};
pub use hardened::NETWORK_VARIABLES;
pub use merge::Merged;
pub use mirror::{Blob, BlobKind, Head, Tree};
pub use names::{BRANCH_PREFIX, BadCommit, Commit, branch_name, is_branch_name, lane_name};
pub use remote::{GitAuth, Remote};
pub use workspace::{Author, Committed, Diff, Workspace};

#[derive(Debug, Clone)]
pub struct Settings {
    /// Where `git` is looked for; also the `PATH` of git itself.
    pub search_path: OsString,
    /// Variables for the calls that talk to a server: a proxy, other certificates. Only those of [`NETWORK_VARIABLES`].
    pub network_env: Vec<(String, String)>,
    /// How long a call that only touches the disk may take.
    pub local_timeout: Duration,
    /// How long a call that talks to the server may take.
    pub network_timeout: Duration,
    /// How much disk the mirror of one repository may use.
    pub mirror_bytes: u64,
    /// What may be checked out.
    pub tree_files: usize,
    pub tree_bytes: u64,
    /// What may be in one commit.
    pub commit_files: usize,
    pub commit_bytes: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            search_path: OsString::from("/usr/local/bin:/usr/bin:/bin"),
            network_env: Vec::new(),
            local_timeout: Duration::from_secs(120),
            network_timeout: Duration::from_secs(900),
            mirror_bytes: 2 << 30,
            tree_files: 300_000,
            tree_bytes: 4 << 30,
            commit_files: 5_000,
            commit_bytes: 64 << 20,
        }
    }
}

/// All repositories below one folder: `mirrors/<forge>/<path>,mirror.git`, `runs/<run>/{git,tree}`,
/// `runs/<run>/lanes/<lane>/{git,tree}` and an empty `home`. One process uses the folder at a time.
#[derive(Debug)]
pub struct Workspaces {
    root: PathBuf,
    git: Arc<Git>,
    /// Fetches into one mirror wait for each other.
    turns: Mutex<HashMap<Project, Arc<tokio::sync::Mutex<()>>>>,
}

impl Workspaces {
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self::with_settings(root, Settings::default())
    }

    #[must_use]
    pub fn with_settings(root: &Path, settings: Settings) -> Self {
        let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
        let git = Arc::new(Git::new(&root, settings));
        Self { root, git, turns: Mutex::default() }
    }

    /// # Errors
    /// When there is no git, or one too old for our rules.
    pub async fn check(&self) -> Result<(), GitError> {
        self.git.check().await
    }

    fn turn(&self, project: &Project) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(turns.entry(project.clone()).or_default())
    }

    /// A comma is in no name of a project, so a mirror is never the folder of a group.
    fn mirror(&self, project: &Project) -> PathBuf {
        let name = format!("{},mirror.git", project.path());
        self.root.join("mirrors").join(project.forge.as_str()).join(name)
    }

    fn run(&self, run: &str) -> Result<PathBuf, GitError> {
        names::check_run(run)?;
        Ok(self.root.join("runs").join(run))
    }
}
