//! Purpose: side checkouts of a run, one for each step that is worked on beside others: branched off, found again, removed.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::call::{blocking, trouble};
use super::checkout::{DONE, read, remove, write, write_through};
use super::names::{LANE_PREFIX, branch_ref, check_lane};
use super::workspace::Workspace;
use super::{Commit, GitError, Workspaces, folders};

/// From the git folder of a lane to the objects of its run; relative, so that the folder can be moved as a whole.
const OBJECTS_OF_THE_RUN: &str = "../../../git/objects";

impl Workspaces {
    /// Removes one lane of a run. That there is none is fine.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub async fn forget_lane(&self, run: &str, lane: &str) -> Result<(), GitError> {
        remove(&lane_dir(&self.run(run)?, lane)?).await
    }
}

impl Workspace {
    /// A checkout beside this one, which is the run's: on a branch of its own that begins where this one stands now and
    /// is never pushed. `lane` is what [`super::lane_name`] makes. One that is there already is as last committed, and
    /// began where it began: changes that were not committed are thrown away. Neither the server nor the mirror is
    /// asked.
    ///
    /// # Errors
    /// When the name is none for a lane, or a file cannot be written.
    pub async fn branch_off(&self, lane: &str) -> Result<Self, GitError> {
        let dir = lane_dir(self.dir(), lane)?;
        let branch = format!("{LANE_PREFIX}{lane}");
        let done = dir.join("git").join(DONE);
        let begun: Option<Commit> = read(&done).await?.and_then(|start| start.parse().ok());
        if let Some(start) = begun {
            let lane = self.another(&dir, &branch, start);
            lane.discard().await?;
            return Ok(lane);
        }
        let lane = self.another(&dir, &branch, self.head().await?);
        self.start_off(&lane).await?;
        write(&done, lane.start().to_string()).await?;
        Ok(lane)
    }

    /// Objects are shared and not copied: they are most of a repository, and ten lanes would hold them ten times. Git
    /// only ever adds to them, several at once if need be, and is never told to tidy up there.
    async fn start_off(&self, lane: &Self) -> Result<(), GitError> {
        remove(lane.dir()).await?;
        let (branch, git_dir) = (branch_ref(lane.branch())?, lane.git_dir().to_owned());
        let place = git_dir.join(&branch);
        for dir in [lane.tree(), &git_dir.join("info"), place.parent().unwrap_or(&git_dir)] {
            folders::make(dir).await?;
        }
        // A repository is this: which branch it is on, where that stands, settings, objects, and where its history ends.
        write_through(&git_dir.join("HEAD"), format!("ref: {branch}\n")).await?;
        write_through(&place, format!("{}\n", lane.start())).await?;
        for file in ["config", "info/attributes", "shallow"] {
            if let Some(text) = read(&self.git_dir().join(file)).await? {
                write(&git_dir.join(file), text).await?;
            }
        }
        let objects = git_dir.join(folders::OBJECTS);
        blocking(move || symlink(OBJECTS_OF_THE_RUN, objects).map_err(|error| trouble(&error))).await?;
        lane.fill().await
    }
}

fn lane_dir(run: &Path, lane: &str) -> Result<PathBuf, GitError> {
    check_lane(lane)?;
    Ok(run.join("lanes").join(lane))
}
