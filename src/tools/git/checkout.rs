//! Purpose: the checkout of a run: made from the mirror, found again after a crash, and removed.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use super::call::{Call, Git, blocking, trouble};
use super::mirror::{Entry, make_repository, records};
use super::names::branch_ref;
use super::workspace::{Author, Workspace};
use super::{Commit, GitError, TooLarge, Workspaces, folders, hardened};
use crate::domain::Project;

/// What is opened, and for whom.
#[derive(Debug, Clone, Copy)]
pub struct Opening<'a> {
    /// The id of the run; letters, digits, `-` and `_`.
    pub run: &'a str,
    pub branch: &'a str,
    /// Where the branch begins, or goes on: a commit of the mirror.
    pub start: &'a Commit,
    pub author: &'a Author,
}

/// Written last: says that the checkout is whole, and of what.
pub(super) const DONE: &str = "planwright-checkout";

impl Workspaces {
    /// The run's own checkout, on a branch that begins at `start`. Opened again with the same branch and start it is as
    /// last committed: changes that were not are thrown away. With others it begins anew.
    ///
    /// # Errors
    /// When `start` is not in the mirror, or its files are more than allowed.
    pub async fn open(&self, project: &Project, opening: Opening<'_>) -> Result<Workspace, GitError> {
        let Opening { run, branch, start, author } = opening;
        let dir = self.run(run)?;
        let of = format!("{project} {start} {}", branch_ref(branch)?);
        let workspace = Workspace::new(Arc::clone(&self.git), &dir, branch, start.clone(), author);
        let done = workspace.git_dir().join(DONE);
        if read(&done).await?.as_ref() == Some(&of) {
            folders::clear_leftovers(workspace.git_dir()).await?;
            workspace.discard().await?;
            return Ok(workspace);
        }
        self.build(project, &workspace).await?;
        write(&done, of).await?;
        Ok(workspace)
    }

    /// Whether there is a checkout of this run.
    #[must_use]
    pub fn has(&self, run: &str) -> bool {
        self.run(run).is_ok_and(|dir| dir.exists())
    }

    /// Removes the checkout of a run, and all that were branched off from it. That there is none is fine.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub async fn forget(&self, run: &str) -> Result<(), GitError> {
        remove(&self.run(run)?).await
    }

    async fn build(&self, project: &Project, workspace: &Workspace) -> Result<(), GitError> {
        let mirror = self.fetched(project)?;
        check_size(&self.git, &mirror, workspace.start()).await?;
        workspace.make_empty().await?;
        let what = format!("{}:{}", workspace.start(), branch_ref(workspace.branch())?);
        let fetch = Call::new(FETCH).args(["--depth=1", "--"]).with_repository(&mirror).args([what]);
        self.git.good(fetch.within(workspace.git_dir())).await?;
        workspace.fill().await
    }
}

const FETCH: [&str; 5] = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"];

impl Workspace {
    /// A repository and a tree with nothing in them, in place of whatever was there.
    pub(super) async fn make_empty(&self) -> Result<(), GitError> {
        remove(self.dir()).await?;
        folders::make(self.tree()).await?;
        make_repository(self.git(), self.git_dir(), self.start().format(), self.branch()).await?;
        let info = self.git_dir().join("info");
        folders::make(&info).await?;
        write(&info.join("attributes"), hardened::ATTRIBUTES.to_owned()).await
    }
}

/// A checkout that is half gone must not be taken for a whole one.
pub(super) async fn remove(dir: &Path) -> Result<(), GitError> {
    folders::remove_file(&dir.join("git").join(DONE)).await?;
    folders::remove(dir).await
}

/// A small repository can hold a tree of any size: folders that repeat themselves, files of nothing but zeros.
async fn check_size(git: &Git, mirror: &Path, commit: &Commit) -> Result<(), GitError> {
    let (files, bytes) = (git.settings.tree_files, git.settings.tree_bytes);
    let call = Call::new(["ls-tree", "-r", "-l", "-z", "--full-tree", commit.as_str()]);
    let answer = git.run(call.within(mirror).at_most_records(files)).await?;
    if answer.code == 128 {
        return Err(GitError::NoSuchCommit(commit.clone()));
    }
    let answer = answer.good()?;
    let size =
        records(&answer.out).filter_map(Entry::read).map(|entry| entry.size).fold(0, u64::saturating_add);
    if answer.cut || size > bytes { Err(GitError::TooLarge(TooLarge::Tree { files, bytes })) } else { Ok(()) }
}

pub(super) async fn read(file: &Path) -> Result<Option<String>, GitError> {
    let file = file.to_owned();
    blocking(move || match std::fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(trouble(&error)),
    })
    .await
}

pub(super) async fn write(file: &Path, text: String) -> Result<(), GitError> {
    let file = file.to_owned();
    blocking(move || std::fs::write(file, text).map_err(|error| trouble(&error))).await
}

/// To the disk, as git does it with what it finds everything else by.
pub(super) async fn write_through(file: &Path, text: String) -> Result<(), GitError> {
    let file = file.to_owned();
    blocking(move || {
        let written = File::create(file).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        written.map_err(|error| trouble(&error))
    })
    .await
}
