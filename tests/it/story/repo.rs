//! Purpose: the repository behind a scene: a bare one with a first commit, and what can be seen in it afterwards.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use planwright::domain::Project;

/// Made afresh for each scene; the bot reaches it by its `file://` address.
#[derive(Clone)]
pub(crate) struct Repo {
    pub(crate) bare: PathBuf,
}

impl Repo {
    /// With a README and one source file on `main`.
    pub(crate) fn make(root: &Path, project: &Project) -> Self {
        let repo = Self::empty(root, project);
        repo.commit("main", "First", &[("README.md", "# web\n"), ("src/login.rs", "fn login() {}\n")]);
        repo
    }

    pub(crate) fn empty(root: &Path, project: &Project) -> Self {
        let bare = root.join(format!("{}.git", project.path()));
        std::fs::create_dir_all(&bare).unwrap();
        git(&bare, &["init", "-q", "--bare", "-b", "main", "."], "");
        Self { bare }
    }

    /// What somebody else pushes.
    pub(crate) fn commit(&self, branch: &str, message: &str, files: &[(&str, &str)]) {
        let from = if self.has(branch) { format!("from refs/heads/{branch}^0\n") } else { String::new() };
        let mut stream = format!(
            "commit refs/heads/{branch}\ncommitter Ann <ann@example.invalid> 1700000000 +0000\ndata {}\n{message}\n{from}",
            message.len()
        );
        for (path, text) in files {
            stream += &format!("M 100644 inline {path}\ndata {}\n{text}\n", text.len());
        }
        git(&self.bare, &["fast-import", "--quiet"], &stream);
    }

    /// From now on, as a forge does it for a protected branch.
    pub(crate) fn refuse_pushes(&self) {
        self.before_a_push("echo 'GH006: Protected branch update failed' >&2\nexit 1");
    }

    /// These lines of shell run whenever somebody pushes; when they fail, the push is refused.
    pub(crate) fn before_a_push(&self, lines: &str) {
        let hook = self.hook();
        std::fs::write(&hook, format!("#!/bin/sh\n{lines}\n")).unwrap();
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(crate) fn allow_pushes(&self) {
        std::fs::remove_file(self.hook()).unwrap();
    }

    fn hook(&self) -> PathBuf {
        self.bare.join("hooks/pre-receive")
    }

    pub(crate) fn has(&self, branch: &str) -> bool {
        let found = Command::new("git")
            .args(["rev-parse", "-q", "--verify", &format!("refs/heads/{branch}")])
            .current_dir(&self.bare)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        found.unwrap().success()
    }

    pub(crate) fn branches(&self) -> Vec<String> {
        let all = git(&self.bare, &["for-each-ref", "--format=%(refname:short)", "refs/heads"], "");
        all.lines().map(str::to_owned).collect()
    }

    /// The one branch of the bot.
    pub(crate) fn work_branch(&self) -> String {
        let ours: Vec<String> =
            self.branches().into_iter().filter(|name| name.starts_with("planwright/")).collect();
        assert_eq!(ours.len(), 1, "not one branch: {ours:?}");
        ours.into_iter().next().unwrap()
    }

    pub(crate) fn read(&self, branch: &str, path: &str) -> Option<String> {
        let out = Command::new("git")
            .args(["show", &format!("refs/heads/{branch}:{path}")])
            .current_dir(&self.bare)
            .stderr(Stdio::null())
            .output()
            .unwrap();
        out.status.success().then(|| String::from_utf8(out.stdout).unwrap())
    }

    /// Messages of the commits that the branch has and `main` has not, oldest first.
    pub(crate) fn messages(&self, branch: &str) -> Vec<String> {
        let log = git(&self.bare, &["log", "--reverse", "--format=%B%x00", &format!("main..{branch}")], "");
        log.split('\0').map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned).collect()
    }
}

pub(crate) fn git(dir: &Path, args: &[&str], input: &str) -> String {
    use std::io::Write as _;
    let mut child = Command::new("git")
        .args(args)
        .current_dir(dir)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let out = child.wait_with_output().unwrap();
    assert!(out.status.success(), "git {args:?} failed");
    String::from_utf8(out.stdout).unwrap()
}
