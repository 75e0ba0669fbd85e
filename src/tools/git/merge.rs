//! Purpose: take what a lane committed onto the branch of its run, as a whole or not at all.

use super::call::Call;
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
    /// To do it again is harmless. The tree stays as it is until [`Workspace::catch_up`]: in a large repository that
    /// takes long, and lanes have trees of their own.
    ///
    /// # Errors
    /// When one of the checkouts is damaged, or the disk is full.
    pub async fn merge(&self, lane: &Self, message: &str) -> Result<Merged, GitError> {
        let _turn = self.turn().await;
        folders::clear_locks(self.git_dir()).await?;
        let (ours, theirs) = (self.head().await?, lane.head().await?);
        if theirs == *lane.start() {
            return Ok(Merged::Nothing);
        }
        let base = if ours == *lane.start() { ours.clone() } else { self.base(&ours, &theirs).await? };
        if base == theirs {
            return Ok(Merged::Already);
        }
        if base == ours {
            return self.forward(&ours, &theirs).await;
        }
        match self.join(&ours, &theirs).await? {
            Joined::Conflict(files) => Ok(Merged::Conflict { files }),
            Joined::Tree(tree) => self.commit_join(&theirs, &tree, message).await,
        }
    }

    /// Brings the tree to where merges have taken the branch. Changes that were not committed are thrown away then, and
    /// what `.gitignore` names stays.
    ///
    /// # Errors
    /// When a file cannot be replaced or removed.
    pub async fn catch_up(&self) -> Result<(), GitError> {
        let _turn = self.turn().await;
        if self.is_behind() { self.restore().await } else { Ok(()) }
    }

    /// Where they parted. They share the commit that the lane began at, and all objects.
    async fn base(&self, ours: &Commit, theirs: &Commit) -> Result<Commit, GitError> {
        let answer = self.git().good(self.call(["merge-base", ours.as_str(), theirs.as_str()])).await?;
        answer.text().trim_end().parse().map_err(|error| GitError::Broken(format!("{error}")))
    }

    async fn forward(&self, from: &Commit, to: &Commit) -> Result<Merged, GitError> {
        self.leave_behind().await?;
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
        self.leave_behind().await?;
        let mut header = self.commit_header(message);
        header.extend(format!("merge {theirs}\nM 040000 {tree} \"\"\n").into_bytes());
        let written = self.write(header, Vec::new()).await?;
        self.import(written.stream).await.map(Merged::Merge)
    }

    /// The index has to name the files that the tree is left with: git removes no others, and commits are made without an
    /// index.
    async fn leave_behind(&self) -> Result<(), GitError> {
        if !self.is_behind() {
            self.git().good(self.call(["read-tree", "--reset", "HEAD"])).await?;
            self.set_behind(true);
        }
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
