//! Purpose: commands of a run, each in a cage: what it may see, change, use up, and how it ends.
//!
//! A command is a list of words, never a line for a shell. Four processes stand in a row:
//!
//! ```text
//! the bot ── watcher ── [bubblewrap] ── enterer, which becomes the program
//! ```
//!
//! Watcher and enterer are this program again, with a hidden argument ([`inside`]). The *enterer* puts on itself what
//! can be put on oneself without `unsafe` code (limits, Landlock, the filter of system calls) and then turns into the
//! program. The *watcher* stays outside of the cage. It adopts whatever the program leaves behind, counts memory,
//! processes and free disk again and again, and ends everything when the program has ended, when the time is up,
//! or when the bot lets go of it: the bot holds the watcher's standard input open and does nothing else, so that a bot
//! that crashes, or a caller that drops [`Sandbox::run`], ends the command too.
//!
//! # What each cage really guarantees
//!
//! | | bubblewrap | Landlock |
//! |---|---|---|
//! | read | `/usr`, a few files of `/etc`, settings' `readable`, the work tree; nothing else exists | the same; of the rest, names, sizes and modes can be seen, contents not |
//! | write | the work tree; a `/tmp` in memory that goes away, but for the directories above a work tree that lies there | the work tree; a private directory named by `TMPDIR` |
//! | environment, `/proc`, memory of other processes | none: new PID namespace, fresh `/proc` | none: `/proc` is closed, tracing is refused |
//! | network off | own network with nothing in it but itself | no sockets at all, also no unix sockets |
//! | network on | the host's, with its loopback | the same, no unix sockets |
//! | signals, limits, priority of others | out of sight | refused |
//! | mode bits | may be changed in the work tree | only through an open file: `chmod` by path is refused, because Landlock does not look at it. As root, modes of readable system files could be changed |
//! | times and extended attributes of the bot's own files | out of sight | **not held** |
//! | end | the kernel ends the PID namespace at one stroke | the watcher adopts orphans and kills until none is left; if the watcher itself is killed from outside, only the first process dies with it |
//! | memory | of all processes together, counted ten times a second, so a burst may go beyond for that long; `RLIMIT_DATA` for each | the same |
//! | processes | the kernel says no: by `RLIMIT_NPROC` to a user, by a cgroup to root. Where root can make no cgroup, the watcher looks fifty times a second | the same; refused where root can make no cgroup |
//! | disk | `RLIMIT_FSIZE` per file; ended when the disk has less than `keep_free_bytes` | the same, and the private directory is on the disk |
//! | needs | bubblewrap 0.7, user namespaces | Linux 6.2; before 6.12 programs in it cannot send signals at all |
//!
//! In both, capabilities are dropped, `no_new_privs` is set, and calls that have no place in a build are refused:
//! mounts, new namespaces, kernel modules, keys, `bpf`, `io_uring`, device numbers, set-user-id bits, typing into
//! terminals. `/proc` is read-only, because the kernel lets root's *number* change its settings, without any powers.
//! Hard limits for memory as a whole belong into the settings of the service or container that the bot runs in.
//!
//! [`Cage::None`] has the limits, the watcher and the empty environment, and nothing else: the program can read and
//! change what the bot can. It is taken only where the settings list it.

mod bubblewrap;
mod find;
pub mod inside;
mod order;
mod output;
mod places;
mod run;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use output::Output;

/// A cage that was tried when the bot started, and held.
#[derive(Debug)]
pub struct Sandbox {
    cage: Cage,
    settings: SandboxSettings,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cage {
    Bubblewrap,
    Landlock,
    /// No cage at all, for those who wrote into their settings that they want that.
    None,
}

#[derive(Debug, Clone)]
pub struct SandboxSettings {
    /// Tried in this order; the first that holds is taken.
    pub cages: Vec<Cage>,
    /// This program. In the bot itself `std::env::current_exe()`; tests are another program.
    pub helper: PathBuf,
    pub bubblewrap: PathBuf,
    /// What programs may read besides the system's own directories, say a toolchain.
    pub readable: Vec<PathBuf>,
    /// `PATH` of the programs.
    pub path: String,
    /// Between the polite and the final signal.
    pub grace: Duration,
}

impl SandboxSettings {
    /// Without [`Cage::None`]: that takes a setting.
    #[must_use]
    pub fn new(helper: PathBuf) -> Self {
        Self {
            cages: vec![Cage::Bubblewrap, Cage::Landlock],
            helper,
            bubblewrap: PathBuf::from("/usr/bin/bwrap"),
            readable: Vec::new(),
            path: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned(),
            grace: Duration::from_secs(5),
        }
    }
}

/// One command to be run.
#[derive(Debug, Clone)]
pub struct Job<'a> {
    /// The program and its arguments. No shell reads them.
    pub argv: &'a [String],
    /// Where it starts, and the only place besides a private temporary directory where it may write.
    pub root: &'a Path,
    pub network: Network,
    pub timeout: Duration,
    pub limits: Limits,
    /// Besides `PATH`, `HOME`, `TMPDIR` and `LANG`; nothing of the bot's own environment is passed on.
    pub env: &'a [(String, String)],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    Off,
    On,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Of all its processes together.
    pub memory_bytes: u64,
    /// With threads.
    pub processes: u64,
    /// Of one file.
    pub file_bytes: u64,
    pub open_files: u64,
    /// How much of what it prints is kept: half from the beginning, half from the end.
    pub output_bytes: usize,
    /// The command ends when the disk of the work tree has less room than that.
    pub keep_free_bytes: u64,
}

impl Limits {
    /// Where the kernel says no. A little more than the limit, so that the watcher sees that it was passed and ends it,
    /// instead of a program that tries again and again.
    fn hard_processes(&self) -> u64 {
        self.processes.saturating_add(self.processes / 4).saturating_add(16)
    }
}

/// Enough for builds and tests of ordinary projects.
#[must_use]
pub fn default_limits() -> Limits {
    const MIB: u64 = 1024 * 1024;
    Limits {
        memory_bytes: 4096 * MIB,
        processes: 1024,
        file_bytes: 1024 * MIB,
        open_files: 4096,
        output_bytes: 64 * 1024,
        keep_free_bytes: 512 * MIB,
    }
}

/// A command that ran, however it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    pub end: End,
    pub output: Output,
    pub took: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum End {
    Exited(i32),
    /// By a signal, not by us: it crashed, or was killed by what it started itself. Bubblewrap says that as shells do, so
    /// there an exit code of 132 to 159 counts as the signal 4 to 31.
    Killed(i32),
    TimedOut,
    /// The caller asked for it.
    Stopped,
    /// It printed more than anybody could want.
    TooMuchOutput,
    Exhausted(Resource),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    Memory,
    Processes,
    Disk,
}

#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// For the operator: every cage that was tried, and why it does not do.
    #[error("there is no cage for commands on this system ({0}); commands are refused")]
    NoCage(String),
    #[error("the command is empty")]
    NoCommand,
    /// For the model: it can name another program.
    #[error("the program `{0}` does not exist in the cage, or cannot be run")]
    NoSuchProgram(String),
    /// For the operator: the cage could not be put up, so nothing was run.
    #[error("the cage could not be put up: {0}")]
    NotStarted(String),
    #[error("cannot {doing}")]
    Io { doing: &'static str, source: std::io::Error },
}

impl Sandbox {
    #[must_use]
    pub fn cage(&self) -> Cage {
        self.cage
    }
}
