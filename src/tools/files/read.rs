//! Purpose: look at, read and list what lies beneath the root.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Dir, DirEntry, FileType, OFlags};

use super::open::stat;
use super::{Content, Entry, FileError, Files, Found, Kind, Listing};

impl Files {
    pub(super) fn look_at(&self, path: &str) -> Result<Option<Found>, FileError> {
        let fd = match self.open_for_reading(path, OFlags::PATH | OFlags::NOFOLLOW) {
            Ok(fd) => fd,
            Err(FileError::NotFound(_) | FileError::NotADirectory(_)) => return Ok(None),
            Err(other) => return Err(other),
        };
        let stat = stat(&fd, path)?;
        let kind = FileType::from_raw_mode(stat.st_mode).into();
        Ok(Some(Found { kind, bytes: stat.st_size.try_into().unwrap_or(0) }))
    }

    pub(super) fn read_from(&self, path: &str, cap: usize) -> Result<Content, FileError> {
        let fd = self.open_for_reading(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
        let kind = Kind::from(FileType::from_raw_mode(stat(&fd, path)?.st_mode));
        if kind != Kind::File {
            return Err(FileError::NotAFile { path: path.to_owned(), kind });
        }
        // One byte more than may be kept tells whether there is more. The size that the file claims is not believed.
        let mut bytes = Vec::new();
        let most = u64::try_from(cap).unwrap_or(u64::MAX).saturating_add(1);
        File::from(fd).take(most).read_to_end(&mut bytes).map_err(|error| FileError::Io {
            doing: "read",
            path: path.to_owned(),
            cause: error.to_string(),
        })?;
        let whole = bytes.len() <= cap;
        bytes.truncate(cap);
        Ok(Content { bytes, whole })
    }

    pub(super) fn list_in(&self, dir: &str, cap: usize) -> Result<Listing, FileError> {
        let failed = |errno| FileError::from_errno(errno, "list", dir);
        let fd = self.open_for_reading(dir, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK)?;
        let mut first = BTreeSet::new();
        let mut whole = true;
        for entry in Dir::read_from(&fd).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let bytes = entry.file_name().to_bytes();
            if matches!(bytes, b"." | b"..") || bytes.eq_ignore_ascii_case(b".git") {
                continue;
            }
            // Gone meanwhile, if there is none.
            let Some(kind) = kind_of(&fd, &entry) else { continue };
            first.insert(Entry { name: entry.file_name().to_string_lossy().into_owned(), kind });
            // However many there are, only so many are held.
            if first.len() > cap {
                first.pop_last();
                whole = false;
            }
        }
        Ok(Listing { entries: first.into_iter().collect(), whole })
    }
}

/// Not every file system says it along with the name.
fn kind_of(dir: &OwnedFd, entry: &DirEntry) -> Option<Kind> {
    if entry.file_type() != FileType::Unknown {
        return Some(entry.file_type().into());
    }
    let stat = rustix::fs::statat(dir, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(FileType::from_raw_mode(stat.st_mode).into())
}
