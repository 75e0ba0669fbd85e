//! Purpose: take what a lane committed onto the branch of its run, as a whole or not at all.

use super::call::Call;
use super::checkout::FETCH;
use super::error::classify;
use super::mirror::records;
use super::names::branch_ref;
use super::workspace::Workspace;
use super::{Commit, GitError, folders};

#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Merged {
    /// The lane has no commits of its own.
    Nothing,
    /// All commits of the lane were on the branch.
    Already,
    /// Nothing was committed on the branch meanwhile; it now stands where the lane does.
    FastForward(Commit),
    /// A commit with two parents, that of the run first.
    Merge(Commit),
    /// Both sides changed the same. The checkout is as it was.
    Conflict { files: Vec<String> },
}

/// What git makes of two commits.
enum Joined {
    /// The name of the tree.
    Tree(String),
    Conflict(Vec<String>),
}

impl Workspace {
    /// Takes the commits of the lane onto this branch; the message is for the commit that joins them, if one is needed.
    /// To do it again is harmless. Unless there is a conflict, the tree is then as committed: changes that were not are
    /// thrown away, and what `.gitignore` names stays.
    ///
    /// # Errors
    /// When one of the checkouts is damaged, or the disk is full.
    pub async fn merge(&self, lane: &Self, message: &str) -> Result<Merged, GitError> {
        let _turn = self.turn().await;
        folders::clear_leftovers(self.git_dir()).await?;
        let (ours, theirs) = (self.head().await?, lane.head().await?);
        if theirs == *lane.start() {
            return Ok(Merged::Nothing);
        }
        let merged = if self.contains(&theirs).await? {
            Merged::Already
        } else if lane.contains(&ours).await? {
            self.fetch(lane, &theirs).await?;
            self.forward(&ours, &theirs).await?
        } else {
            self.fetch(lane, &theirs).await?;
            match self.join(&ours, &theirs).await? {
                Joined::Conflict(files) => return Ok(Merged::Conflict { files }),
                Joined::Tree(tree) => self.commit_join(&theirs, &tree, message).await?,
            }
        };
        // Also when nothing was left to do: a call that was cut short may have left the tree behind the commit.
        self.restore().await?;
        Ok(merged)
    }

    /// Only objects come over; no branch of ours is touched.
    async fn fetch(&self, lane: &Self, commit: &Commit) -> Result<(), GitError> {
        let call = Call::new(FETCH).args(["--"]).with_repository(lane.git_dir()).args([commit.as_str()]);
        self.git().good(call.within(self.git_dir())).await?;
        Ok(())
    }

    async fn forward(&self, from: &Commit, to: &Commit) -> Result<Merged, GitError> {
        self.note_files().await?;
        let args = ["update-ref", &branch_ref(self.branch())?, to.as_str(), from.as_str()];
        self.git().good(self.call(args)).await?;
        Ok(Merged::FastForward(to.clone()))
    }

    /// Without a tree or an index, so that git finds no attributes but ours, and no repository of a tool's.
    async fn join(&self, ours: &Commit, theirs: &Commit) -> Result<Joined, GitError> {
        let args = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages"];
        let call = Call::new(args).args([ours.as_str(), theirs.as_str()]);
        let answer = self.git().run(call.within(self.git_dir())).await?;
        let mut names = records(&answer.out).map(|name| String::from_utf8_lossy(name).into_owned());
        match (answer.code, names.next()) {
            (0, Some(tree)) => Ok(Joined::Tree(tree)),
            (1, Some(_)) => Ok(Joined::Conflict(plain_names(names, [ours, theirs]))),
            (_, _) => Err(classify(&answer.said)),
        }
    }

    async fn commit_join(&self, theirs: &Commit, tree: &str, message: &str) -> Result<Merged, GitError> {
        self.note_files().await?;
        let mut header = self.commit_header(message);
        header.extend(format!("merge {theirs}\nM 040000 {tree} \"\"\n").into_bytes());
        let written = self.write(header, Vec::new()).await?;
        self.import(written.stream).await.map(Merged::Merge)
    }

    /// Git removes only the files that its index names, and the commits before this one were made without an index.
    async fn note_files(&self) -> Result<(), GitError> {
        self.git().good(self.call(["read-tree", "--reset", "HEAD"])).await?;
        Ok(())
    }
}

/// Where a folder has taken the place of a file, git names the file after the commit that has it: `file~<commit>`.
fn plain_names(names: impl Iterator<Item = String>, sides: [&Commit; 2]) -> Vec<String> {
    let plain = |name: String| {
        let end = sides.iter().find_map(|side| name.find(&format!("~{side}")));
        name[..end.unwrap_or(name.len())].to_owned()
    };
    let mut names: Vec<String> = names.map(plain).collect();
    names.sort();
    names.dedup();
    names
}
