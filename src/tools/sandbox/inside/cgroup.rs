//! Purpose: a group of processes that the kernel lets grow only so far, where one can be made.
//!
//! Users have `RLIMIT_NPROC`, but the kernel does not count root's processes. Root, on the other hand, can often make a
//! cgroup. In a container it usually cannot, and a service that shares its own group with nobody cannot either.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use uuid::Uuid;

pub(super) struct Cgroup {
    dir: PathBuf,
    /// Where this process is, and is to stay.
    home: PathBuf,
}

impl Cgroup {
    pub(super) fn make(most_tasks: u64) -> io::Result<Self> {
        let home = home().ok_or_else(|| io::Error::other("there is no group that counts processes"))?;
        let dir = home.join(format!("planwright-cage-{}", Uuid::new_v4().simple()));
        fs::create_dir(&dir)?;
        let cgroup = Self { dir, home };
        fs::write(cgroup.dir.join("pids.max"), most_tasks.to_string())?;
        Ok(cgroup)
    }

    /// What is started in `start` begins in the group, with everything that it starts itself. Moving it in afterwards
    /// would miss what it has started by then.
    pub(super) fn around<T>(&self, start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        move_into(&self.dir)?;
        let started = start();
        move_into(&self.home)?;
        started
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.dir);
    }
}

fn move_into(group: &Path) -> io::Result<()> {
    fs::write(group.join("cgroup.procs"), std::process::id().to_string())
}

/// The directory of this process in the tree of groups that counts processes.
fn home() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let (kind, path) = group(&groups)?;
    let home = mount_point(&mounts, kind)?.join(path.trim_start_matches('/'));
    let is_ready = match kind {
        Kind::Own => home.join("cgroup.procs").exists(),
        // Groups below count only what this one is told to have counted there.
        Kind::Unified => fs::write(home.join("cgroup.subtree_control"), "+pids").is_ok(),
    };
    is_ready.then_some(home)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A tree for counting processes alone (version 1).
    Own,
    /// One tree for everything (version 2).
    Unified,
}

fn group(groups: &str) -> Option<(Kind, &str)> {
    let of = |wanted: fn(&str) -> bool| {
        groups.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            wanted(controllers).then_some(path)
        })
    };
    let own = of(|controllers| controllers.split(',').any(|name| name == "pids"));
    own.map(|path| (Kind::Own, path)).or_else(|| of(str::is_empty).map(|path| (Kind::Unified, path)))
}

fn mount_point(mounts: &str, kind: Kind) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let (file_system, options) = after.split_once(' ')?;
        let is_it = match kind {
            Kind::Own => file_system == "cgroup" && options.split([' ', ',']).any(|option| option == "pids"),
            Kind::Unified => file_system == "cgroup2",
        };
        is_it.then(|| before.split(' ').nth(4).map(PathBuf::from)).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_that_counts_processes_is_found() {
        let old = "9:name=systemd:/\n8:cpu,pids:/a/b\n0::/\n";
        let new = "0::/system.slice/x.service\n";
        assert_eq!(group(old), Some((Kind::Own, "/a/b")));
        assert_eq!(group(new), Some((Kind::Unified, "/system.slice/x.service")));
        assert_eq!(group("1:cpu:/\n"), None);
        let mounts = "1 2 0:3 / /proc rw - proc proc rw\n\
            30 25 0:26 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n\
            31 25 0:27 / /sys/fs/cgroup/pids rw shared:9 - cgroup cgroup rw,pids\n\
            32 25 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        assert_eq!(mount_point(mounts, Kind::Own), Some(PathBuf::from("/sys/fs/cgroup/pids")));
        assert_eq!(mount_point(mounts, Kind::Unified), Some(PathBuf::from("/sys/fs/cgroup/unified")));
        assert_eq!(mount_point("", Kind::Own), None);
    }
}
