//! Purpose: mirrors and checkouts with a real git, over `file://` and over HTTP, with friendly and hostile repositories.

mod checkout;
mod hostile;
pub(crate) mod http_server;
mod lanes;
mod limits;
mod merge;
mod mirror;
mod push;
mod token;
mod trouble;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use planwright::domain::Project;
use planwright::tools::git::{
    Author, Commit, Committed, GitError, Head, Merged, Opening, Remote, Settings, Workspace, Workspaces,
};
use tempfile::TempDir;

/// A server's repository on disk, somebody who pushes to it, and the bot's folder.
pub(crate) struct World {
    pub(crate) dir: TempDir,
    pub(crate) workspaces: Workspaces,
}

pub(crate) const BRANCH: &str = "planwright/7-search";

impl World {
    /// With one commit on `main`.
    pub(crate) fn new() -> Self {
        let world = Self::empty();
        world.write("README.md", "hello\n");
        world.write("src/lib.rs", "fn one() {}\n");
        world.publish("Begin");
        world
    }

    pub(crate) fn empty() -> Self {
        Self::with(Settings::default())
    }

    pub(crate) fn with(settings: Settings) -> Self {
        let dir = TempDir::new().unwrap();
        let workspaces = Workspaces::with_settings(&dir.path().join("bot"), settings);
        let world = Self { dir, workspaces };
        git(world.dir.path(), &["init", "-q", "--bare", "-b", "main", "origin.git"]);
        git(world.dir.path(), &["init", "-q", "-b", "main", "theirs"]);
        world
    }

    pub(crate) fn origin(&self) -> PathBuf {
        self.dir.path().join("origin.git")
    }

    /// Where somebody else works.
    pub(crate) fn theirs(&self) -> PathBuf {
        self.dir.path().join("theirs")
    }

    pub(crate) fn bot(&self) -> PathBuf {
        self.dir.path().join("bot")
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        write(&self.theirs(), path, text);
    }

    /// Commits what somebody wrote, and pushes it to `main`.
    pub(crate) fn publish(&self, message: &str) -> Commit {
        git(&self.theirs(), &["add", "-A"]);
        git(&self.theirs(), &["commit", "-q", "--allow-empty", "-m", message]);
        self.push_theirs("main");
        git(&self.theirs(), &["rev-parse", "HEAD"]).parse().unwrap()
    }

    pub(crate) fn push_theirs(&self, branch: &str) {
        git(&self.theirs(), &["push", "-q", "-f", "../origin.git", &format!("HEAD:refs/heads/{branch}")]);
    }

    pub(crate) fn remote(&self) -> Remote {
        Remote { url: format!("file://{}", self.origin().display()), auth: None }
    }

    /// A hook of the server.
    pub(crate) fn hook(&self, name: &str, script: &str) {
        script_at(&self.origin().join("hooks").join(name), script);
    }

    pub(crate) async fn refresh(&self) -> Head {
        self.workspaces.refresh(&project(), &self.remote()).await.unwrap();
        self.workspaces.default_branch(&project()).await.unwrap().unwrap()
    }

    /// The checkout of a run that begins at `main`.
    pub(crate) async fn open(&self, run: &str) -> Workspace {
        let head = self.refresh().await;
        self.open_at(run, BRANCH, &head.commit).await.unwrap()
    }

    pub(crate) async fn open_at(
        &self,
        run: &str,
        branch: &str,
        start: &Commit,
    ) -> Result<Workspace, GitError> {
        let author = author();
        self.workspaces.open(&project(), Opening { run, branch, start, author: &author }).await
    }
}

pub(crate) fn project() -> Project {
    "gitlab:acme/tools/web".parse().unwrap()
}

pub(crate) fn author() -> Author {
    Author { name: "Planwright".to_owned(), email: "bot@example.org".to_owned() }
}

pub(crate) fn write(root: &Path, path: &str, text: &str) {
    let file = root.join(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

pub(crate) fn read(root: &Path, path: &str) -> String {
    std::fs::read_to_string(root.join(path)).unwrap()
}

pub(crate) fn script_at(path: &Path, script: &str) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

pub(crate) fn committed(committed: Committed) -> (Commit, Vec<String>, u64) {
    match committed {
        Committed::Commit { commit, files, bytes } => (commit, files, bytes),
        Committed::NothingChanged => panic!("nothing was committed"),
    }
}

/// Writes one file and commits it, named after its path.
pub(crate) async fn put(workspace: &Workspace, path: &str, text: &str) -> Commit {
    write(workspace.tree(), path, text);
    committed(workspace.commit(path, &[]).await.unwrap()).0
}

/// Takes a lane onto the branch, and the tree with it.
pub(crate) async fn take_over(run: &Workspace, lane: &Workspace, message: &str) -> Result<Merged, GitError> {
    let merged = run.merge(lane, message).await;
    run.catch_up().await.unwrap();
    merged
}

/// What lies at the top of the tree.
pub(crate) fn names(workspace: &Workspace) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(workspace.tree())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A git of somebody else: it must succeed.
pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    git_with(dir, args, "")
}

pub(crate) fn git_with(dir: &Path, args: &[&str], input: &str) -> String {
    let output = try_git(dir, args, input);
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

pub(crate) fn try_git(dir: &Path, args: &[&str], input: &str) -> Output {
    use std::io::Write;
    let mut command = Command::new("git");
    command.args(["-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main"]).args(args);
    command.current_dir(dir).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", dir);
    for (name, value) in [
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_SYSTEM", "/dev/null"),
        ("GIT_AUTHOR_NAME", "Ann"),
        ("GIT_AUTHOR_EMAIL", "ann@example.org"),
        ("GIT_COMMITTER_NAME", "Ann"),
        ("GIT_COMMITTER_EMAIL", "ann@example.org"),
    ] {
        command.env(name, value);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}
