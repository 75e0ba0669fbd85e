//! Purpose: create, replace and remove beneath the root, never through a link and never by halves.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use uuid::Uuid;

use super::open::open_dir;
use super::{FileError, Files, Kind};

/// Beyond that it is no longer a text that somebody reviews.
pub const LARGEST_WRITE: usize = 16 * 1024 * 1024;

/// How the names of files begin that are being written. One that is left over was cut off by a crash and means nothing.
pub const TEMPORARY: &str = ".planwright-writing-";

const PERMISSIONS: u32 = 0o777;

impl Files {
    pub(super) fn create_at(&self, path: &str, content: &[u8]) -> Result<(), FileError> {
        check_size(path, content)?;
        let (parent, name) = self.parent_of(path, Missing::Make)?;
        if stat_at(&parent, name, path)?.is_some() {
            return Err(FileError::Exists(path.to_owned()));
        }
        let temporary = Temporary::write(&parent, None, content, path)?;
        // Someone may have been quicker since the look above; then theirs stays.
        temporary.rename(name, RenameFlags::NOREPLACE, path)
    }

    pub(super) fn write_at(&self, path: &str, content: &[u8]) -> Result<(), FileError> {
        check_size(path, content)?;
        let (parent, name) = self.parent_of(path, Missing::Make)?;
        let old = stat_at(&parent, name, path)?;
        if let Some(old) = &old {
            refuse_to_replace(old, path)?;
        }
        let temporary = Temporary::write(&parent, old.as_ref(), content, path)?;
        // If a link has been put there since, the link is replaced, and what it leads to is not.
        temporary.rename(name, RenameFlags::empty(), path)
    }

    pub(super) fn make_dirs(&self, path: &str) -> Result<OwnedFd, FileError> {
        let failed = |errno| FileError::from_errno(errno, "make the directory", path);
        let mut at = self.root().as_fd().try_clone_to_owned().map_err(|error| FileError::Io {
            doing: "make the directory",
            path: path.to_owned(),
            cause: error.to_string(),
        })?;
        for part in path.split('/') {
            at = match open_dir(&at, part) {
                Ok(next) => next,
                Err(Errno::NOENT) => {
                    match rustix::fs::mkdirat(&at, part, Mode::from_raw_mode(PERMISSIONS)) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(errno) => return Err(failed(errno)),
                    }
                    open_dir(&at, part).map_err(failed)?
                }
                Err(errno) => return Err(failed(errno)),
            };
        }
        Ok(at)
    }

    pub(super) fn remove_at(&self, path: &str) -> Result<(), FileError> {
        let (parent, name) = self.parent_of(path, Missing::Refuse)?;
        let failed = |errno| FileError::from_errno(errno, "remove", path);
        match rustix::fs::unlinkat(&parent, name, AtFlags::empty()) {
            Err(Errno::ISDIR) => rustix::fs::unlinkat(&parent, name, AtFlags::REMOVEDIR).map_err(failed),
            other => other.map_err(failed),
        }
    }

    /// The directory of `path`, open, and the name in it.
    fn parent_of<'a>(&self, path: &'a str, missing: Missing) -> Result<(OwnedFd, &'a str), FileError> {
        let (dir, name) = path.rsplit_once('/').unwrap_or((".", path));
        let is_name = !matches!(name, "" | "." | "..") && !name.eq_ignore_ascii_case(".git");
        if !is_name {
            return Err(FileError::LeadsOutside(path.to_owned()));
        }
        let parent = match (self.open_dir_for_writing(dir), missing) {
            (Err(FileError::NotFound(_)), Missing::Make) => self.make_dirs(dir),
            // The caller asked for `path`, not for the directory that it lies in.
            (Err(FileError::NotFound(_)), Missing::Refuse) => Err(FileError::NotFound(path.to_owned())),
            (other, _) => other,
        };
        Ok((parent?, name))
    }
}

/// What happens to directories that a path needs and that are not there.
enum Missing {
    Make,
    Refuse,
}

/// A file under a name that nobody asked for, which goes away unless it is given its real one.
struct Temporary<'a> {
    parent: &'a OwnedFd,
    name: String,
}

impl<'a> Temporary<'a> {
    fn write(parent: &'a OwnedFd, old: Option<&Stat>, content: &[u8], path: &str) -> Result<Self, FileError> {
        let failed = |errno| FileError::from_errno(errno, "write", path);
        let name = format!("{TEMPORARY}{}", Uuid::new_v4().simple());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(parent, &name, flags, Mode::from_raw_mode(0o666)).map_err(failed)?;
        let temporary = Self { parent, name };
        if let Some(old) = old {
            let kept = Mode::from_raw_mode(old.st_mode & PERMISSIONS);
            rustix::fs::fchmod(&fd, kept).map_err(failed)?;
        }
        File::from(fd).write_all(content).map_err(|error| match Errno::from_io_error(&error) {
            Some(errno) => failed(errno),
            None => FileError::Io { doing: "write", path: path.to_owned(), cause: error.to_string() },
        })?;
        Ok(temporary)
    }

    fn rename(self, name: &str, flags: RenameFlags, path: &str) -> Result<(), FileError> {
        rustix::fs::renameat_with(self.parent, &self.name, self.parent, name, flags)
            .map_err(|errno| FileError::from_errno(errno, "write", path))
    }
}

impl Drop for Temporary<'_> {
    /// After the renaming there is nothing under the name any more.
    fn drop(&mut self) {
        let _ = rustix::fs::unlinkat(self.parent, &self.name, AtFlags::empty());
    }
}

fn stat_at(parent: &OwnedFd, name: &str, path: &str) -> Result<Option<Stat>, FileError> {
    match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(FileError::from_errno(errno, "look at", path)),
    }
}

fn refuse_to_replace(old: &Stat, path: &str) -> Result<(), FileError> {
    let path = path.to_owned();
    match Kind::from(FileType::from_raw_mode(old.st_mode)) {
        Kind::File => Ok(()),
        Kind::Symlink => Err(FileError::BehindALink(path)),
        kind @ (Kind::Directory | Kind::Other) => Err(FileError::NotAFile { path, kind }),
    }
}

fn check_size(path: &str, content: &[u8]) -> Result<(), FileError> {
    if content.len() > LARGEST_WRITE {
        return Err(FileError::TooLarge { path: path.to_owned(), bytes: content.len(), most: LARGEST_WRITE });
    }
    Ok(())
}
