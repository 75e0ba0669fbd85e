//! Purpose: one call of git: started clean, held to time and size, and ended with all its children when nobody waits.

use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::sync::OnceCell;

use super::error::{classify, gist};
use super::remote::Address;
use super::{GitError, Settings, hardened};

/// Enough for the names of every file of a large tree.
const LONGEST_ANSWER: usize = 128 << 20;
const LONGEST_COMPLAINT: usize = 16 << 10;

#[derive(Debug)]
pub(super) struct Git {
    pub(super) settings: Settings,
    /// An empty folder of ours: no settings, no `.netrc`.
    home: PathBuf,
    program: OnceCell<PathBuf>,
}

/// What git is asked. Arguments that are names were checked by whoever put them in.
#[derive(Default)]
pub(super) struct Call {
    args: Vec<OsString>,
    git_dir: Option<PathBuf>,
    work_tree: Option<PathBuf>,
    config: Vec<(String, String)>,
    protocol: Option<&'static str>,
    secrets: Vec<String>,
    input: Option<File>,
    most_bytes: Option<usize>,
    most_records: Option<usize>,
}

/// Git came to an end by itself, or had said enough.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) out: Vec<u8>,
    /// There was more than asked for.
    pub(super) cut: bool,
    pub(super) code: i32,
    /// What it complained about, without secrets.
    pub(super) said: String,
}

impl Call {
    pub(super) fn new<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Self {
        Self { args: args.into_iter().map(|arg| arg.as_ref().to_owned()).collect(), ..Self::default() }
    }

    pub(super) fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    pub(super) fn within(mut self, git_dir: &Path) -> Self {
        self.git_dir = Some(git_dir.to_owned());
        self
    }

    pub(super) fn on_tree(mut self, tree: &Path) -> Self {
        self.work_tree = Some(tree.to_owned());
        self
    }

    pub(super) fn config(mut self, settings: &[(&str, &str)]) -> Self {
        self.config.extend(settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
        self
    }

    /// Lets git talk to this server, and to no other.
    pub(super) fn with(mut self, address: &Address) -> Self {
        self.protocol = Some(address.protocol);
        self.config.extend(address.header.clone());
        self.secrets.clone_from(&address.secrets);
        self.args.push(address.url.clone().into());
        self
    }

    /// Lets git read another repository of ours.
    pub(super) fn with_repository(mut self, git_dir: &Path) -> Self {
        self.protocol = Some("file");
        self.args.push(git_dir.into());
        self
    }

    pub(super) fn input(mut self, file: File) -> Self {
        self.input = Some(file);
        self
    }

    pub(super) fn at_most_bytes(mut self, most: usize) -> Self {
        self.most_bytes = Some(most);
        self
    }

    /// Records end with a NUL.
    pub(super) fn at_most_records(mut self, most: usize) -> Self {
        self.most_records = Some(most);
        self
    }
}

impl Answer {
    /// # Errors
    /// When git failed, as the kind that its complaint tells.
    pub(super) fn good(self) -> Result<Self, GitError> {
        if self.code == 0 || self.cut { Ok(self) } else { Err(classify(&self.said)) }
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }
}

impl Git {
    pub(super) fn new(root: &Path, settings: Settings) -> Self {
        Self { settings, home: root.join("home"), program: OnceCell::new() }
    }

    /// # Errors
    /// When there is no git, or one too old for our rules.
    pub(super) async fn check(&self) -> Result<(), GitError> {
        self.program().await.map(|_| ())
    }

    /// Runs a call that must succeed.
    pub(super) async fn good(&self, call: Call) -> Result<Answer, GitError> {
        self.run(call).await?.good()
    }

    /// # Errors
    /// When git could not be started or did not end in time. That it failed is in the answer.
    pub(super) async fn run(&self, call: Call) -> Result<Answer, GitError> {
        let program = self.program().await?;
        self.start(program, call).await
    }

    /// An old git would ignore most of what holds it to our rules, so it is not used at all.
    async fn program(&self) -> Result<&PathBuf, GitError> {
        self.program.get_or_try_init(|| self.find_program()).await
    }

    async fn find_program(&self) -> Result<PathBuf, GitError> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.home).map_err(|error| trouble(&error))?;
        let mut places =
            std::env::split_paths(&self.settings.search_path).filter(|place| place.is_absolute());
        let found = places.find_map(|place| Some(place.join("git")).filter(|file| file.is_file()));
        let program = found.ok_or_else(|| GitError::NoGit("it was not found".to_owned()))?;
        let answer = self.start(&program, Call::new(["version"])).await?.text();
        match hardened::version(&answer) {
            Some(version) if version >= hardened::OLDEST => Ok(program),
            Some(_) | None => {
                let (major, minor) = hardened::OLDEST;
                let is = gist(&answer);
                Err(GitError::NoGit(format!("git {major}.{minor} or later is needed, this is `{is}`")))
            }
        }
    }

    async fn start(&self, program: &Path, call: Call) -> Result<Answer, GitError> {
        let limit = self.limit(&call);
        let most = Most { bytes: call.most_bytes, records: call.most_records };
        let secrets = call.secrets.clone();
        let mut group = Group::start(self.command(program, call)).map_err(|error| trouble(&error))?;
        let answer = tokio::time::timeout(limit, group.answer(most)).await;
        let mut answer = answer.map_err(|_| GitError::TimedOut(limit.as_secs()))??;
        for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
            answer.said = answer.said.replace(secret, "[secret]");
        }
        Ok(answer)
    }

    fn limit(&self, call: &Call) -> Duration {
        let talks = call.protocol.is_some();
        if talks { self.settings.network_timeout } else { self.settings.local_timeout }
    }

    fn command(&self, program: &Path, call: Call) -> Command {
        let mut command = Command::new(program);
        command.args(&call.args).env_clear();
        command.envs(hardened::environment(
            &self.home,
            &self.settings.search_path,
            call.protocol.unwrap_or("none"),
        ));
        command.envs(hardened::settings(&call.config));
        if call.protocol.is_some() {
            let known = |(name, _): &&(String, String)| hardened::NETWORK_VARIABLES.contains(&name.as_str());
            command.envs(self.settings.network_env.iter().filter(known).map(|(name, value)| (name, value)));
        }
        if let Some(git_dir) = &call.git_dir {
            command.env("GIT_DIR", git_dir);
        }
        command.current_dir(call.work_tree.as_ref().unwrap_or(&self.home));
        if let Some(tree) = &call.work_tree {
            command.env("GIT_WORK_TREE", tree);
        }
        command.stdin(call.input.map_or_else(Stdio::null, Stdio::from));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

pub(super) fn trouble(error: &std::io::Error) -> GitError {
    let is_full = matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded);
    if is_full { GitError::DiskFull } else { GitError::Broken(error.to_string()) }
}

/// Files are slow enough to hold up other work, so they are dealt with on a thread for that.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, GitError> + Send + 'static,
) -> Result<T, GitError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(GitError::Broken(format!("the work on files broke off: {error}"))))
}

#[derive(Clone, Copy)]
struct Most {
    bytes: Option<usize>,
    records: Option<usize>,
}

/// Git and every process it starts. Dropped before its end, all of them are killed.
struct Group {
    child: Child,
    alive: Option<Pid>,
}

impl Group {
    fn start(mut command: Command) -> std::io::Result<Self> {
        let child = command.process_group(0).spawn()?;
        let alive = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Ok(Self { child, alive })
    }

    async fn answer(&mut self, most: Most) -> Result<Answer, GitError> {
        let (out, err) = (self.child.stdout.take(), self.child.stderr.take());
        let group = self.alive;
        let out = async {
            let read = read_most(out, most).await;
            if read.as_ref().is_ok_and(|(_, cut)| *cut) {
                kill(group);
            }
            read
        };
        let (out, said) = tokio::join!(out, read_tail(err));
        let status = self.child.wait().await.map_err(|error| trouble(&error))?;
        // Both pipes are closed and git is gone, so nobody of the group is left.
        self.alive = None;
        let (out, cut) = out.map_err(|error| trouble(&error))?;
        if cut && most.bytes.is_none() && most.records.is_none() {
            return Err(GitError::Broken("it said more than it ever should".to_owned()));
        }
        Ok(Answer { out, cut, code: status.code().unwrap_or(-1), said })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        kill(self.alive);
    }
}

fn kill(group: Option<Pid>) {
    if let Some(group) = group {
        // It fails only when nobody is left to be killed.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// What came, and whether there was more.
async fn read_most(from: Option<impl AsyncRead + Unpin>, most: Most) -> std::io::Result<(Vec<u8>, bool)> {
    let (mut out, mut records) = (Vec::new(), 0);
    let Some(mut from) = from else { return Ok((out, false)) };
    let most_bytes = most.bytes.unwrap_or(LONGEST_ANSWER);
    let most_records = most.records.unwrap_or(usize::MAX);
    let mut part = vec![0; 64 << 10];
    loop {
        let size = from.read(&mut part).await?;
        if size == 0 {
            return Ok((out, false));
        }
        for &byte in &part[..size] {
            if out.len() == most_bytes || records == most_records {
                return Ok((out, true));
            }
            out.push(byte);
            records += usize::from(byte == 0);
        }
    }
}

/// The end of what git complained about: there it says why it gave up.
async fn read_tail(from: Option<impl AsyncRead + Unpin>) -> String {
    let mut kept = Vec::new();
    let Some(mut from) = from else { return String::new() };
    let mut part = vec![0; 4 << 10];
    while let Ok(size @ 1..) = from.read(&mut part).await {
        kept.extend_from_slice(&part[..size]);
        if kept.len() > 2 * LONGEST_COMPLAINT {
            kept.drain(..kept.len() - LONGEST_COMPLAINT);
        }
    }
    String::from_utf8_lossy(&kept).into_owned()
}
