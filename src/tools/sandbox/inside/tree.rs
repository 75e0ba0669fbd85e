//! Purpose: all processes below one, what they use, and how to end them.
//!
//! A number of a process can be given to another one while we look at it. So a signal goes through a handle to the
//! process, taken after the look, and only if the process behind the number still began at the same time.

use std::collections::HashMap;
use std::fs;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Processes that begin others faster than they are found are stopped first; more rounds than that would not help.
const ROUNDS: usize = 200;

#[derive(Debug, Clone, Copy)]
pub(super) struct Process {
    pub(super) pid: u32,
    parent: u32,
    /// How far below the one that was asked for; its children have 1.
    pub(super) depth: usize,
    began: u64,
    pub(super) threads: u64,
    /// Pages in memory, shared ones too.
    pub(super) pages: u64,
}

/// Everything below `top`, nearest first.
pub(super) fn below(top: u32) -> Vec<Process> {
    let mut children: HashMap<u32, Vec<Process>> = HashMap::new();
    for process in all() {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found: Vec<Process> = Vec::new();
    let mut next = vec![(top, 0)];
    while let Some((parent, depth)) = next.pop() {
        for mut child in children.remove(&parent).unwrap_or_default() {
            child.depth = depth + 1;
            next.push((child.pid, child.depth));
            found.push(child);
        }
    }
    found.sort_by_key(|process| process.depth);
    found
}

/// Tasks of the user that this process belongs to.
pub(super) fn tasks_of_my_user() -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let me = rustix::process::getuid().as_raw();
    let is_mine =
        |process: &Process| fs::metadata(format!("/proc/{}", process.pid)).is_ok_and(|meta| meta.uid() == me);
    all().filter(is_mine).map(|process| process.threads).sum()
}

/// Tasks of the whole machine, as the kernel counts them anyway.
pub(super) fn tasks_of_all() -> u64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let count = text.split_whitespace().nth(3).and_then(|field| field.split_once('/')?.1.parse().ok());
    count.unwrap_or(0)
}

pub(super) fn signal(process: &Process, signal: Signal) {
    let Some(pid) = i32::try_from(process.pid).ok().and_then(Pid::from_raw) else { return };
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    let is_same = look(process.pid).is_some_and(|now| now.began == process.began);
    if is_same {
        let _ = pidfd_send_signal(handle, signal);
    }
}

/// Ends everything below `top`, also what starts new processes all the time: all are stopped before any is ended.
pub(in super::super) fn end_tree(top: u32) {
    let mut stopped = 0;
    for _ in 0..ROUNDS {
        let found = below(top);
        for process in &found {
            signal(process, Signal::STOP);
        }
        if found.len() <= stopped {
            break;
        }
        stopped = found.len();
    }
    for process in below(top) {
        signal(&process, Signal::KILL);
    }
}

/// When the machine runs out of memory, the kernel ends these, and not the bot. Children are born with it.
pub(super) fn let_go_first(processes: &[Process]) {
    for process in processes.iter().filter(|process| process.depth <= 3) {
        let _ = fs::write(format!("/proc/{}/oom_score_adj", process.pid), "1000");
    }
}

/// How much memory they share out between them, which is less than the sum of their pages. Slow, so asked rarely.
pub(super) fn proportional_bytes(processes: &[Process]) -> u64 {
    let of = |process: &Process| {
        let text = fs::read_to_string(format!("/proc/{}/smaps_rollup", process.pid)).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
        line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok())
    };
    let page = rustix::param::page_size() as u64;
    processes.iter().map(|process| of(process).map_or(process.pages * page, |kib| kib * 1024)).sum()
}

fn all() -> impl Iterator<Item = Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| look(entry.file_name().to_str()?.parse().ok()?))
}

fn look(pid: u32) -> Option<Process> {
    parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The name of a program stands in parentheses and may hold anything, parentheses and line breaks too.
fn parse(pid: u32, stat: &str) -> Option<Process> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    Some(Process {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        depth: 0,
        began: fields.get(19)?.parse().ok()?,
        threads: fields.get(17)?.parse().ok()?,
        pages: fields.get(21)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_programs_do_not_confuse() {
        let stat = "7 (a) R 1 (b\n) S 42 7 7 0 -1 0 1 2 3 4 5 6 7 8 20 0 3 0 9876 1000 250 0\n";
        let process = parse(7, stat).unwrap();
        assert_eq!((process.parent, process.threads, process.began, process.pages), (42, 3, 9876, 250));
        assert!(parse(7, "7 (x) S 1").is_none());
        assert!(parse(7, "").is_none());
    }

    #[test]
    fn this_process_is_below_its_parent() {
        let me = std::process::id();
        let parent = rustix::process::getppid().unwrap().as_raw_pid().unsigned_abs();
        assert!(below(parent).iter().any(|process| process.pid == me && process.depth == 1));
        assert!(tasks_of_my_user() > 0);
    }
}
