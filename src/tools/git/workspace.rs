//! Purpose: what is done with a checkout: commit, find a commit again, throw away, show, push.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::call::{Answer, Call, Git, blocking};
use super::changes::{Change, Spool, Written, spool};
use super::checkout::read;
use super::error::push_failed;
use super::mirror::records;
use super::names::{BRANCH_PREFIX, branch_ref};
use super::{Commit, GitError, Refusal, Remote, folders};
use crate::actions::RepoPath;

/// Who commits, as the history of the repository will say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    pub name: String,
    pub email: String,
}

/// One checkout. While one of its functions is at work, no tool may be at work in the tree.
#[derive(Debug)]
pub struct Workspace {
    git: Arc<Git>,
    dir: PathBuf,
    git_dir: PathBuf,
    tree: PathBuf,
    branch: String,
    start: Commit,
    author: Author,
    /// What changes the checkout waits for what changes it already.
    turn: tokio::sync::Mutex<()>,
    /// Whether a merge has taken the branch further than the tree.
    behind: AtomicBool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Committed {
    /// `bytes` are those of the files as they now are.
    Commit { commit: Commit, files: Vec<String>, bytes: u64 },
    /// The tree is as last committed. An empty folder is nothing to git.
    NothingChanged,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff {
    pub text: String,
    pub truncated: bool,
}

impl Workspace {
    pub(super) fn new(git: Arc<Git>, dir: &Path, branch: &str, start: Commit, author: &Author) -> Self {
        Self {
            git,
            dir: dir.to_owned(),
            git_dir: dir.join("git"),
            tree: dir.join("tree"),
            branch: branch.to_owned(),
            start,
            author: author.clone(),
            turn: tokio::sync::Mutex::default(),
            behind: AtomicBool::new(false),
        }
    }

    /// Another checkout, for the same author.
    pub(super) fn another(&self, dir: &Path, branch: &str, start: Commit) -> Self {
        Self::new(Arc::clone(&self.git), dir, branch, start, &self.author)
    }

    /// What tools may touch. Git's own folder is not in it.
    #[must_use]
    pub fn tree(&self) -> &Path {
        &self.tree
    }

    #[must_use]
    pub fn branch(&self) -> &str {
        &self.branch
    }

    /// Where the branch began for this run.
    #[must_use]
    pub fn start(&self) -> &Commit {
        &self.start
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// # Errors
    /// When the checkout is damaged.
    pub async fn head(&self) -> Result<Commit, GitError> {
        // Git keeps a branch in a file of its own until it tidies up, which it is never told to do here.
        let kept = read(&self.git_dir.join(branch_ref(&self.branch)?)).await?;
        if let Some(commit) = kept.and_then(|commit| commit.trim_end().parse().ok()) {
            return Ok(commit);
        }
        let answer = self.git.good(self.call(["rev-parse", "--verify", "HEAD^{commit}"])).await?;
        answer.text().trim_end().parse().map_err(|error| GitError::Broken(format!("{error}")))
    }

    /// Whether all of these commits are in the history of this checkout, as far back as it goes.
    ///
    /// # Errors
    /// When the checkout is damaged.
    pub async fn contains_all(&self, commits: &[Commit]) -> Result<bool, GitError> {
        // Without the past of the repository the list is short. Asking about one commit, git would call it an error that
        // it does not know it.
        if commits == [self.head().await?] {
            return Ok(true);
        }
        let text = self.git.good(self.call(["rev-list", "HEAD"])).await?.text();
        let known: BTreeSet<&str> = text.lines().collect();
        Ok(commits.iter().all(|commit| known.contains(commit.as_str())))
    }

    /// The paths that a commit would change. What is no text in them is shown as `\u{fffd}`.
    ///
    /// # Errors
    /// As [`Workspace::commit`].
    pub async fn changed(&self, named: &[RepoPath]) -> Result<Vec<String>, GitError> {
        let _turn = self.turn_on_tree().await?;
        folders::clear_locks(&self.git_dir).await?;
        Ok(self.changes(named).await?.iter().map(Change::shown).collect())
    }

    /// Commits everything that changed in the tree, except what `.gitignore` names and `named` does not.
    ///
    /// # Errors
    /// When the change is larger than allowed, or a new file has a name of git's own. Nothing is committed then.
    pub async fn commit(&self, message: &str, named: &[RepoPath]) -> Result<Committed, GitError> {
        let _turn = self.turn_on_tree().await?;
        folders::clear_locks(&self.git_dir).await?;
        let changes = self.changes(named).await?;
        if changes.is_empty() {
            return Ok(Committed::NothingChanged);
        }
        let Written { stream, files, bytes } = self.write(self.commit_header(message), changes).await?;
        if files.is_empty() {
            return Ok(Committed::NothingChanged);
        }
        Ok(Committed::Commit { commit: self.import(stream).await?, files, bytes })
    }

    pub(super) async fn write(&self, header: Vec<u8>, changes: Vec<Change>) -> Result<Written, GitError> {
        let place = Spool { tree: self.tree.clone(), beside: self.git_dir.clone() };
        let limits = self.git.settings.clone();
        blocking(move || spool(&place, &header, &changes, &limits)).await
    }

    pub(super) async fn import(&self, stream: File) -> Result<Commit, GitError> {
        self.git.good(self.call(["fast-import", "--quiet", "--date-format=now"]).input(stream)).await?;
        self.head().await
    }

    /// In the language of `fast-import`, which counts bytes: nothing in a message can be taken for a command.
    pub(super) fn commit_header(&self, message: &str) -> Vec<u8> {
        let plain = |text: &str| text.replace(|c: char| c.is_control() || matches!(c, '<' | '>'), "");
        let (name, email) = (plain(&self.author.name), plain(&self.author.email));
        let message = format!("{}\n", message.replace('\0', "").trim_end());
        let branch = &self.branch;
        let size = message.len();
        format!(
            "commit refs/heads/{branch}\ncommitter {name} <{email}> now\ndata {size}\n{message}\n\
             from refs/heads/{branch}^0\n"
        )
        .into_bytes()
    }

    /// The newest commit of this run whose message has exactly this line: what a crash left undecided is found so.
    ///
    /// # Errors
    /// When the checkout is damaged.
    pub async fn find_commit(&self, line: &str) -> Result<Option<Commit>, GitError> {
        let log = self.messages(&self.start, "%H%n%B").await?;
        let found = log.into_iter().find(|(_, message)| message.lines().any(|other| other == line));
        Ok(found.map(|(commit, _)| commit))
    }

    /// The commits after `from` with the first lines of their messages, newest first.
    ///
    /// # Errors
    /// When `from` is not in this checkout.
    pub async fn log(&self, from: &Commit) -> Result<Vec<(Commit, String)>, GitError> {
        self.messages(from, "%H%n%s").await
    }

    async fn messages(&self, from: &Commit, format: &str) -> Result<Vec<(Commit, String)>, GitError> {
        let (format, range) = (format!("--format={format}"), format!("{from}..HEAD"));
        let call = self.call(["log", "-z", "--no-color", "--no-show-signature", &format, &range, "--"]);
        let answer = known(from, self.git.run(call).await?)?;
        let log = records(&answer.out).filter_map(|record| {
            let text = String::from_utf8_lossy(record);
            let (commit, message) = text.split_once('\n')?;
            Some((commit.parse().ok()?, message.trim_end().to_owned()))
        });
        Ok(log.collect())
    }

    /// What was committed since `from`, at most `cap` bytes of it.
    ///
    /// # Errors
    /// When `from` is not in this checkout.
    pub async fn diff(&self, from: &Commit, cap: usize) -> Result<Diff, GitError> {
        let call = self.call([
            "diff-tree",
            "-r",
            "--patch",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            "--find-renames",
            "--submodule=short",
            from.as_str(),
            "HEAD",
            "--",
        ]);
        let answer = known(from, self.git.run(call.at_most_bytes(cap)).await?)?;
        let whole = match std::str::from_utf8(&answer.out) {
            Err(error) if answer.cut && error.error_len().is_none() => &answer.out[..error.valid_up_to()],
            Ok(_) | Err(_) => &answer.out[..],
        };
        Ok(Diff { text: String::from_utf8_lossy(whole).into_owned(), truncated: answer.cut })
    }

    /// Throws away what was not committed. What `.gitignore` names stays.
    ///
    /// # Errors
    /// When a file cannot be replaced or removed.
    pub async fn discard(&self) -> Result<(), GitError> {
        let _turn = self.turn().await;
        self.restore().await
    }

    /// For whoever holds the turn.
    pub(super) async fn restore(&self) -> Result<(), GitError> {
        folders::clear_locks(&self.git_dir).await?;
        self.fill().await?;
        self.git.good(self.call(["clean", "-ffdq"])).await?;
        self.remove_git_folder(b"").await?;
        self.set_behind(false);
        Ok(())
    }

    /// Brings the files of the commit into the tree. What else lies there stays.
    pub(super) async fn fill(&self) -> Result<(), GitError> {
        let reset = ["read-tree", "--reset", "-u", "--no-recurse-submodules", "HEAD"];
        if self.git.run(self.call(reset)).await?.code != 0 {
            // The index holds nothing that is not in the commit or the tree, so one that is damaged is made anew.
            folders::remove_file(&self.git_dir.join("index")).await?;
            self.git.good(self.call(reset)).await?;
        }
        Ok(())
    }

    /// Pushes this branch as it is committed; never by force. To do it again is harmless.
    ///
    /// # Errors
    /// When the branch is not ours or is the default branch, or the server does not take it.
    pub async fn push(&self, remote: &Remote, default_branch: Option<&str>) -> Result<(), GitError> {
        let refuse = |why| Err(GitError::Refused { branch: self.branch.clone(), why });
        if default_branch == Some(self.branch.as_str()) {
            return refuse(Refusal::DefaultBranch);
        }
        if !self.branch.starts_with(BRANCH_PREFIX) {
            return refuse(Refusal::NotOurs);
        }
        let branch = branch_ref(&self.branch)?;
        let args =
            ["push", "--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no", "--"];
        let call = Call::new(args).with(&remote.address()?).args([format!("{branch}:{branch}")]);
        let answer = self.git.run(call.within(&self.git_dir)).await?;
        if answer.code == 0 { Ok(()) } else { Err(push_failed(&answer.text(), &answer.said)) }
    }

    pub(super) async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// To commit a tree that is behind would undo what was merged.
    async fn turn_on_tree(&self) -> Result<tokio::sync::MutexGuard<'_, ()>, GitError> {
        let turn = self.turn().await;
        let why = "the checkout was not brought to where its branch is";
        if self.is_behind() { Err(GitError::Broken(why.to_owned())) } else { Ok(turn) }
    }

    pub(super) fn is_behind(&self) -> bool {
        self.behind.load(Ordering::Relaxed)
    }

    pub(super) fn set_behind(&self, behind: bool) {
        self.behind.store(behind, Ordering::Relaxed);
    }

    pub(super) fn call<const N: usize>(&self, args: [&str; N]) -> Call {
        Call::new(args).within(&self.git_dir).on_tree(&self.tree)
    }

    pub(super) fn git(&self) -> &Git {
        &self.git
    }
}

fn known(from: &Commit, answer: Answer) -> Result<Answer, GitError> {
    if answer.code == 128 { Err(GitError::NoSuchCommit(from.clone())) } else { answer.good() }
}
