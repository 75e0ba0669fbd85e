//! Purpose: start the cage, count what is used in it, and see to it that nothing outlives it.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, pidfd_open, pidfd_send_signal,
    set_child_subreaper, setpriority_process,
};
use tempfile::TempDir;

use super::super::order::{Ended, Order, Word};
use super::super::{Cage, Resource, bubblewrap};
use super::cgroup::Cgroup;
use super::enter::say;
use super::{Part, tree};

/// How often it looks whether there are suddenly many processes, which costs next to nothing.
const GLANCE: Duration = Duration::from_millis(20);
/// How often it counts what there is.
const COUNT: Duration = Duration::from_millis(100);
/// How often it kills again, while there is something left.
const AGAIN: Duration = Duration::from_millis(10);
/// What cannot be killed in that time waits for a disk or a network, and will not be killed later either.
const GIVE_UP: Duration = Duration::from_secs(4);

/// Memory that the whole machine keeps, if it has so much: programs can hold some that is counted nowhere else.
const MEMORY_FOR_OTHERS: u64 = 256 * 1024 * 1024;

pub(super) fn watch() -> ExitCode {
    let word = match try_to_watch() {
        Ok(ended) => Word::Ended(ended),
        Err(error) => Word::Refused(format!("the watcher failed: {error}")),
    };
    say(&word);
    ExitCode::SUCCESS
}

fn try_to_watch() -> io::Result<Ended> {
    let mut stdin = BufReader::new(io::stdin());
    let mut line = String::new();
    stdin.read_line(&mut line)?;
    let mut order: Order = serde_json::from_str(&line)?;
    order.tasks_before = tree::tasks_of_my_user();
    // Only root may; it matters when hundreds of processes want to run and this one must.
    let _ = setpriority_process(None, -20);
    // Goes away when this function ends, after everything that could use it.
    let _temporary = make_temporary(&mut order)?;
    let root_mode = std::fs::metadata(&order.root)?.permissions().mode();
    // Whoever loses its parent below this process gets it for one.
    set_child_subreaper(Some(getpid()))?;
    let (tasks, started) = (tree::tasks_of_all(), Instant::now());
    let cgroup = Cgroup::make(order.limits.hard_processes());
    let first = match &cgroup {
        Ok(cgroup) => cgroup.around(|| start(&order))?,
        Err(error) => {
            refuse_unlimited(order.cage, error)?;
            start(&order)?
        }
    };
    // Before anybody can have reaped it, so that it is a handle to no other.
    let handle = pidfd_open(first, PidfdFlags::empty())?;
    let (events, inbox) = channel();
    let reaper = events.clone();
    std::thread::spawn(move || reap(&reaper));
    std::thread::spawn(move || {
        // Nothing more is ever said there; that it ends is the message.
        let _ = stdin.read_to_end(&mut Vec::new());
        let _ = events.send(Event::LetGo);
    });
    let ended = Watch { order: &order, first, handle, tasks, started, inbox }.until_all_are_gone();
    // A program may take the mode of its root from the bot, which then could not enter it.
    let _ = std::fs::set_permissions(&order.root, std::fs::Permissions::from_mode(root_mode));
    Ok(ended)
}

/// Nothing would keep root's processes from becoming so many that the watcher never runs again. Bubblewrap ends them at
/// one stroke; to catch them one by one takes longer than they take to grow.
fn refuse_unlimited(cage: Cage, error: &io::Error) -> io::Result<()> {
    let is_root = rustix::process::getuid().is_root();
    match cage {
        Cage::Landlock if is_root => Err(io::Error::other(format!(
            "Landlock alone cannot hold root's processes, and no cgroup can be made ({error}); run the bot as another user"
        ))),
        Cage::Landlock | Cage::Bubblewrap | Cage::None => Ok(()),
    }
}

/// A directory for cages that cannot put one up in memory.
fn make_temporary(order: &mut Order) -> io::Result<Option<TempDir>> {
    let mut set = |path: &str| {
        // What the job itself says about them comes later, and counts.
        order.env.insert(0, ("HOME".to_owned(), path.to_owned()));
        order.env.insert(0, ("TMPDIR".to_owned(), path.to_owned()));
    };
    match order.cage {
        Cage::Bubblewrap => {
            set(bubblewrap::TEMPORARY);
            Ok(None)
        }
        Cage::Landlock | Cage::None => {
            let private = std::fs::Permissions::from_mode(0o700);
            let dir = tempfile::Builder::new()
                .prefix("planwright-cage-")
                .permissions(private)
                .tempdir_in(&order.temporary_in)?;
            let path = std::fs::canonicalize(dir.path())?;
            set(&path.to_string_lossy());
            order.temporary = Some(path);
            Ok(Some(dir))
        }
    }
}

/// The enterer, or bubblewrap with the enterer in it.
fn start(order: &Order) -> io::Result<Pid> {
    let mut command = match order.cage {
        Cage::Bubblewrap => {
            let mut command = Command::new(&order.bubblewrap);
            command.args(bubblewrap::arguments(order));
            command
        }
        Cage::Landlock | Cage::None => {
            let mut command = Command::new(&order.helper);
            command.args(Part::Enter.arguments());
            command
        }
    };
    let mut child = command.env_clear().stdin(Stdio::piped()).spawn()?;
    let text = serde_json::to_vec(order)?;
    if let Some(mut stdin) = child.stdin.take() {
        // Who does not read it is gone already, and its end says more.
        let _ = stdin.write_all(&text);
    }
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    pid.ok_or_else(|| io::Error::other("the first process has no number"))
}

enum Event {
    Reaped(Pid, WaitStatus),
    /// No process is left below this one.
    AllGone,
    /// The bot does not want it any more, or is no more.
    LetGo,
}

/// Children and adopted ones alike, until there are none.
fn reap(events: &Sender<Event>) {
    loop {
        let event = match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) => Event::Reaped(pid, status),
            Ok(None) | Err(rustix::io::Errno::INTR) => continue,
            Err(_) => Event::AllGone,
        };
        let is_last = matches!(event, Event::AllGone);
        if events.send(event).is_err() || is_last {
            return;
        }
    }
}

struct Watch<'a> {
    order: &'a Order,
    first: Pid,
    handle: OwnedFd,
    /// How many the whole machine had before.
    tasks: u64,
    started: Instant,
    inbox: Receiver<Event>,
}

impl Watch<'_> {
    /// How it ended is known first; then the rest is made to end as well.
    fn until_all_are_gone(&self) -> Ended {
        let ended = self.until_it_ends();
        match ended {
            Ended::Exited(_) | Ended::Killed(_) | Ended::Exhausted(_) => {}
            Ended::TimedOut | Ended::LetGo => {
                if self.ask_politely() {
                    return ended;
                }
            }
        }
        self.kill_all();
        ended
    }

    fn until_it_ends(&self) -> Ended {
        let timeout = Duration::from_millis(self.order.timeout_ms);
        let mut counted = self.started;
        loop {
            let left = timeout.saturating_sub(self.started.elapsed());
            if left.is_zero() {
                return Ended::TimedOut;
            }
            match self.inbox.recv_timeout(GLANCE.min(left)) {
                Ok(Event::Reaped(pid, status)) if pid == self.first => return self.ended(status),
                Ok(Event::Reaped(..)) => {}
                Ok(Event::LetGo) => return Ended::LetGo,
                Ok(Event::AllGone) | Err(RecvTimeoutError::Disconnected) => return Ended::Killed(9),
                Err(RecvTimeoutError::Timeout) => {}
            }
            // Also when there is much to reap: that may be the attack.
            if counted.elapsed() >= COUNT || self.are_suddenly_many() {
                if let Some(resource) = self.exhausted() {
                    return Ended::Exhausted(resource);
                }
                counted = Instant::now();
            }
        }
    }

    /// Whether all went within the time of grace.
    fn ask_politely(&self) -> bool {
        let programs: Vec<_> = tree::below(me())
            .into_iter()
            .filter(|process| process.depth > self.processes_of_the_cage())
            .collect();
        if programs.is_empty() {
            return false;
        }
        for process in &programs {
            tree::signal(process, Signal::TERM);
        }
        let until = Instant::now() + Duration::from_millis(self.order.grace_ms);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.inbox.recv_timeout(left) {
                Ok(Event::AllGone) => return true,
                // What it leaves behind has been asked too, and need not be waited for.
                Ok(Event::Reaped(pid, _)) if pid == self.first => return false,
                Ok(Event::Reaped(..) | Event::LetGo) => {}
                Err(_) => return false,
            }
        }
    }

    fn kill_all(&self) {
        match self.order.cage {
            // With bubblewrap goes the PID namespace, and with that all that is in it, at one stroke.
            Cage::Bubblewrap => {
                let _ = pidfd_send_signal(&self.handle, Signal::KILL);
            }
            Cage::Landlock | Cage::None => {}
        }
        let until = Instant::now() + GIVE_UP;
        let mut next = Instant::now() + AGAIN;
        while Instant::now() < until {
            match self.inbox.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(Event::AllGone) | Err(RecvTimeoutError::Disconnected) => return,
                Ok(Event::Reaped(..) | Event::LetGo) => {}
                Err(RecvTimeoutError::Timeout) => {
                    tree::end_tree(me());
                    next = Instant::now() + AGAIN;
                }
            }
        }
    }

    /// Bubblewrap has one process on either side of the wall; a polite signal would only confuse them.
    fn processes_of_the_cage(&self) -> usize {
        match self.order.cage {
            Cage::Bubblewrap => 2,
            Cage::Landlock | Cage::None => 0,
        }
    }

    fn ended(&self, status: WaitStatus) -> Ended {
        let code = status.exit_status();
        let signal = status.terminating_signal();
        match (code, signal, self.order.cage) {
            // Bubblewrap says it as shells do. Below these stand codes that programs use for themselves, git for one.
            (Some(code @ 132..=159), _, Cage::Bubblewrap) => Ended::Killed(code - 128),
            (Some(code), _, _) => Ended::Exited(code),
            (None, Some(signal), _) => Ended::Killed(signal),
            (None, None, _) => Ended::Killed(9),
        }
    }

    /// Somebody else may have begun them; counting tells.
    fn are_suddenly_many(&self) -> bool {
        tree::tasks_of_all() > self.tasks.saturating_add(self.order.limits.processes)
    }

    fn exhausted(&self) -> Option<Resource> {
        let limits = &self.order.limits;
        let processes = tree::below(me());
        tree::let_go_first(&processes);
        if processes.iter().map(|process| process.threads).sum::<u64>() > limits.processes {
            return Some(Resource::Processes);
        }
        let pages: u64 = processes.iter().map(|process| process.pages).sum();
        let bytes = pages.saturating_mul(rustix::param::page_size() as u64);
        let is_too_much =
            bytes > limits.memory_bytes && tree::proportional_bytes(&processes) > limits.memory_bytes;
        if is_too_much || machine_is_short_of_memory() {
            return Some(Resource::Memory);
        }
        let disk = rustix::fs::statvfs(&self.order.root).ok()?;
        (disk.f_bavail.saturating_mul(disk.f_frsize) < limits.keep_free_bytes).then_some(Resource::Disk)
    }
}

fn me() -> u32 {
    std::process::id()
}

fn machine_is_short_of_memory() -> bool {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let bytes = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
    };
    match (bytes("MemTotal:"), bytes("MemAvailable:")) {
        (Some(total), Some(available)) => available < MEMORY_FOR_OTHERS.min(total / 16),
        (None, _) | (_, None) => false,
    }
}
