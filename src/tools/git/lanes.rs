//! Purpose: side checkouts of a run, one for each step that is worked on beside others: branched off, found again, removed.

use std::path::{Path, PathBuf};

use super::call::Call;
use super::checkout::{DONE, read, remove, write};
use super::names::{LANE_PREFIX, branch_ref, check_lane};
use super::workspace::Workspace;
use super::{Commit, GitError, Workspaces};

/// From the objects of a lane to those of its run; relative, so that the folder can be moved as a whole.
const OBJECTS_OF_THE_RUN: &str = "../../../../git/objects\n";

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
        self.fill(&lane).await?;
        write(&done, lane.start().to_string()).await?;
        Ok(lane)
    }

    /// Objects are shared and not copied: they are most of a repository, and ten lanes would hold them ten times. The
    /// run only ever adds to them, and git is never told to tidy up there.
    async fn fill(&self, lane: &Self) -> Result<(), GitError> {
        lane.make_empty().await?;
        write(&lane.git_dir().join("objects/info/alternates"), OBJECTS_OF_THE_RUN.to_owned()).await?;
        // Where the history ends that the run has.
        if let Some(ends) = read(&self.git_dir().join("shallow")).await? {
            write(&lane.git_dir().join("shallow"), ends).await?;
        }
        let branch = branch_ref(lane.branch())?;
        let begin = Call::new(["update-ref", &branch, lane.start().as_str()]);
        self.git().good(begin.within(lane.git_dir())).await?;
        lane.show_branch().await
    }
}

fn lane_dir(run: &Path, lane: &str) -> Result<PathBuf, GitError> {
    check_lane(lane)?;
    Ok(run.join("lanes").join(lane))
}
