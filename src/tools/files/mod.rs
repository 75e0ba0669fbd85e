//! Purpose: the one gate to the files of a run's work tree: nothing is opened that does not lie beneath its root.
//!
//! A path that is checked first and opened later can lead elsewhere in between, because commands of the same run may
//! exchange a directory for a link at any moment. So nothing is checked first: the kernel resolves and opens in one
//! step (`openat2`), and refuses to leave the root on the way.
//!
//! | | links on the way | link at the end |
//! |---|---|---|
//! | [`Files::look`] | followed, beneath the root | described, not followed |
//! | [`Files::read`], [`Files::list`] | followed, beneath the root | followed, beneath the root |
//! | [`Files::create`], [`Files::write`], [`Files::make_dir`] | refused | refused |
//! | [`Files::remove`] | refused | removed itself |
//!
//! Links of `/proc` that lead anywhere (magic links) are never followed. A file is replaced, never written into: a
//! hard link to a file elsewhere loses its name here, and that file stays as it is. Nothing is synced to the disk; the
//! commit that follows is what lasts.
//!
//! All functions block and are short; asynchronous callers put them onto a thread of their own.

mod error;
mod open;
mod read;
mod write;

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{FileType, OFlags};

pub use error::FileError;
pub use write::{LARGEST_WRITE, TEMPORARY};

use crate::actions::RepoPath;

/// The work tree of one run, held open: it stays the same directory even if its path is given to another.
#[derive(Debug)]
pub struct Files {
    root: OwnedFd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    File,
    Directory,
    Symlink,
    /// A device, pipe or socket.
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    pub kind: Kind,
    pub bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    pub bytes: Vec<u8>,
    /// Whether that was all; otherwise the rest is left out.
    pub whole: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// Sorted by name.
    pub entries: Vec<Entry>,
    /// Whether that was all; otherwise these are the first ones.
    pub whole: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// What is not UTF-8 in it is replaced.
    pub name: String,
    pub kind: Kind,
}

impl Files {
    /// # Errors
    /// If the root is not a directory, or the system has no `openat2`: there is no second-best way.
    pub fn open(root: &Path) -> Result<Self, FileError> {
        let name = root.display().to_string();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(root, flags, rustix::fs::Mode::empty())
            .map_err(|errno| FileError::from_errno(errno, "open the work tree", &name))?;
        let files = Self { root };
        files.open_for_reading(".", OFlags::PATH)?;
        Ok(files)
    }

    /// What stands at `path` itself, if anything does.
    pub fn look(&self, path: &RepoPath) -> Result<Option<Found>, FileError> {
        self.look_at(path.as_str())
    }

    /// The first `cap` bytes of a regular file.
    pub fn read(&self, path: &RepoPath, cap: usize) -> Result<Content, FileError> {
        self.read_from(path.as_str(), cap)
    }

    /// The first `cap` names in a directory (the root, if none is named), without git's own.
    pub fn list(&self, dir: Option<&RepoPath>, cap: usize) -> Result<Listing, FileError> {
        self.list_in(dir.map_or(".", RepoPath::as_str), cap)
    }

    /// A new file, with the directories that it needs.
    pub fn create(&self, path: &RepoPath, content: &[u8]) -> Result<(), FileError> {
        self.create_at(path.as_str(), content)
    }

    /// A file with this content, whether it was there before or not; readers see the old or the new one, never a part.
    pub fn write(&self, path: &RepoPath, content: &[u8]) -> Result<(), FileError> {
        self.write_at(path.as_str(), content)
    }

    /// A directory, with those above it; it may be there already.
    pub fn make_dir(&self, path: &RepoPath) -> Result<(), FileError> {
        self.make_dirs(path.as_str()).map(drop)
    }

    /// One file, one link itself, or one empty directory.
    pub fn remove(&self, path: &RepoPath) -> Result<(), FileError> {
        self.remove_at(path.as_str())
    }
}

impl From<FileType> for Kind {
    fn from(kind: FileType) -> Self {
        if kind.is_file() {
            Self::File
        } else if kind.is_dir() {
            Self::Directory
        } else if kind.is_symlink() {
            Self::Symlink
        } else {
            Self::Other
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Below the names that [`RepoPath`] lets through: whatever reaches the gate, the kernel says no.
    #[test]
    fn raw_paths_do_not_leave_either() {
        let around = tempfile::tempdir().unwrap();
        let root = around.path().join("tree");
        std::fs::create_dir_all(root.join("sub/.git")).unwrap();
        std::fs::write(root.join("sub/.git/config"), "of git").unwrap();
        std::fs::write(around.path().join("secret"), "outside").unwrap();
        std::os::unix::fs::symlink("sub/.git/config", root.join("config")).unwrap();
        let absolute = around.path().join("secret").display().to_string();
        let files = Files::open(&root).unwrap();
        for path in [
            "../secret",
            "sub/../../secret",
            "./../secret",
            "sub/../sub/../../secret",
            "..",
            "/",
            "",
            "/etc/passwd",
            &absolute,
            "//etc/passwd",
            // The kernel's own link to `/`.
            concat!("/proc/self/", "root", "/etc/passwd"),
            "/proc/self/cwd",
            "/dev/stdin",
            "config",
            "sub/.git/config",
        ] {
            assert!(files.read_from(path, 100).is_err(), "read {path:?}");
            assert!(files.create_at(path, b"x").is_err(), "create {path:?}");
            assert!(files.remove_at(&format!("{path}/..")).is_err(), "remove {path:?}/..");
        }
        for path in ["../secret", "..", "/etc", &absolute, "../new"] {
            assert!(files.write_at(path, b"x").is_err(), "write {path:?}");
            assert!(files.remove_at(path).is_err(), "remove {path:?}");
            assert!(files.make_dirs(path).is_err(), "make {path:?}");
        }
        let mut left: Vec<_> =
            std::fs::read_dir(around.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["secret", "tree"]);
        assert_eq!(std::fs::read_to_string(around.path().join("secret")).unwrap(), "outside");
    }
}
