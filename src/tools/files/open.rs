//! Purpose: open beneath the root in one step of the kernel, or not at all.

use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use super::{FileError, Files};

const READING: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);
const WRITING: ResolveFlags = READING.union(ResolveFlags::NO_SYMLINKS);

/// The kernel says "again" when something was renamed while it looked; someone may rename on purpose, and for ever.
const ATTEMPTS: usize = 128;

impl Files {
    /// Links are followed as long as they stay beneath the root. Never waits for the other end of a pipe.
    pub(super) fn open_for_reading(&self, path: &str, flags: OFlags) -> Result<OwnedFd, FileError> {
        let fd = open_beneath(&self.root, path, flags, READING).map_err(|errno| match errno {
            // Links are allowed here, so this is one that leads in circles, or through `/proc`.
            Errno::LOOP => FileError::LeadsOutside(path.to_owned()),
            other => FileError::from_errno(other, "open", path),
        })?;
        self.refuse_git(&fd, path)?;
        Ok(fd)
    }

    /// Not through any link.
    pub(super) fn open_dir_for_writing(&self, dir: &str) -> Result<OwnedFd, FileError> {
        open_dir(&self.root, dir).map_err(|errno| FileError::from_errno(errno, "open", dir))
    }

    pub(super) fn root(&self) -> &OwnedFd {
        &self.root
    }

    /// A path has no `.git` in it, but a link may lead there. What was opened is asked for its place, which says more
    /// than any look at the path before.
    fn refuse_git(&self, fd: &OwnedFd, path: &str) -> Result<(), FileError> {
        let place = place_of(fd);
        let root = place_of(&self.root);
        let (Ok(place), Ok(root)) = (place, root) else {
            return Err(FileError::OfGit(path.to_owned()));
        };
        let inside = Path::new(&place).strip_prefix(&root).unwrap_or(Path::new(&place));
        if inside.iter().any(|part| part.eq_ignore_ascii_case(".git")) {
            return Err(FileError::OfGit(path.to_owned()));
        }
        Ok(())
    }
}

/// One directory further, not through a link. `dir` has one part or many.
pub(super) fn open_dir(from: impl AsFd, dir: &str) -> Result<OwnedFd, Errno> {
    // A link at the end would be "not a directory"; without O_NOFOLLOW the kernel says that it is a link.
    open_beneath(from, dir, OFlags::PATH | OFlags::DIRECTORY, WRITING)
}

pub(super) fn stat(fd: &OwnedFd, path: &str) -> Result<Stat, FileError> {
    rustix::fs::fstat(fd).map_err(|errno| FileError::from_errno(errno, "look at", path))
}

fn open_beneath(from: impl AsFd, path: &str, flags: OFlags, resolve: ResolveFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::CLOEXEC;
    for _ in 0..ATTEMPTS {
        match rustix::fs::openat2(&from, path, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            other => return other,
        }
    }
    Err(Errno::XDEV)
}

fn place_of(fd: &OwnedFd) -> Result<String, Errno> {
    let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
    rustix::fs::readlink(link, Vec::new()).map(|place| place.to_string_lossy().into_owned())
}
