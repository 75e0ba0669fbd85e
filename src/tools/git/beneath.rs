//! Purpose: files of a checkout, opened beneath its root and never through a link, whatever tools made of the tree.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::GitError;
use super::call::trouble;

pub(super) struct Root(OwnedFd);

/// What git keeps of a file.
pub(super) struct Content {
    pub(super) mode: &'static str,
    pub(super) data: Vec<u8>,
}

impl Root {
    pub(super) fn open(tree: &Path) -> Result<Self, GitError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::open(tree, flags, Mode::empty()).map(Self).map_err(|error| trouble(&error.into()))
    }

    /// What is at the path now, cut one byte after the limit; None when nothing is, or nothing that git keeps.
    pub(super) fn read(&self, path: &[u8], most: u64) -> Result<Option<Content>, GitError> {
        let place = match self.at(path, OFlags::PATH | OFlags::NOFOLLOW) {
            Ok(place) => place,
            // With a link on the way to it, the file is not in the tree.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
            Err(error) => return Err(trouble(&error.into())),
        };
        let stat = rustix::fs::fstat(&place).map_err(|error| trouble(&error.into()))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => read_link(&place).map(Some),
            FileType::RegularFile => {
                let mode = if stat.st_mode & 0o100 == 0 { "100644" } else { "100755" };
                Ok(Some(Content { mode, data: self.read_file(path, most)? }))
            }
            FileType::Directory
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => Ok(None),
        }
    }

    /// Opened a second time, for reading: what may have come in its place meanwhile is no link either.
    fn read_file(&self, path: &[u8], most: u64) -> Result<Vec<u8>, GitError> {
        let file = self.at(path, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK);
        let file = file.map_err(|error| trouble(&error.into()))?;
        let mut data = Vec::new();
        File::from(file).take(most + 1).read_to_end(&mut data).map_err(|error| trouble(&error))?;
        Ok(data)
    }

    /// Removes what has this name in a folder of the tree, with everything in it.
    pub(super) fn remove(&self, folder: &[u8], name: &str) -> Result<(), GitError> {
        let folder = if folder.is_empty() { b"." } else { folder };
        let folder =
            self.at(folder, OFlags::PATH | OFlags::DIRECTORY).map_err(|error| trouble(&error.into()))?;
        // A path through the open folder: no link can lead it elsewhere.
        let path = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name);
        let removed = match std::fs::symlink_metadata(&path) {
            Ok(data) if data.is_dir() => std::fs::remove_dir_all(&path),
            Ok(_) => std::fs::remove_file(&path),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        };
        removed.map_err(|error| trouble(&error))
    }

    fn at(&self, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        rustix::fs::openat2(&self.0, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve)
    }
}

fn read_link(place: &OwnedFd) -> Result<Content, GitError> {
    let target = rustix::fs::readlinkat(place, "", Vec::new()).map_err(|error| trouble(&error.into()))?;
    Ok(Content { mode: "120000", data: target.into_bytes() })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn no_link_is_followed() {
        let dir = tempfile::TempDir::new().unwrap();
        let (tree, secret) = (dir.path().join("tree"), dir.path().join("secret"));
        for folder in [tree.join("real/.git"), secret.join(".git")] {
            std::fs::create_dir_all(folder).unwrap();
        }
        std::fs::write(tree.join("real/a"), "inside").unwrap();
        std::fs::write(secret.join("a"), "CANARY").unwrap();
        symlink(&secret, tree.join("folder")).unwrap();
        symlink("real", tree.join("near")).unwrap();
        symlink(secret.join("a"), tree.join("file")).unwrap();
        let root = Root::open(&tree).unwrap();
        let read = |path: &str, most| {
            root.read(path.as_bytes(), most).unwrap().map(|content| (content.mode, content.data))
        };
        assert_eq!(read("real/a", 100), Some(("100644", b"inside".to_vec())));
        assert_eq!(read("real/a", 2), Some(("100644", b"ins".to_vec())), "enough to see that it is too long");
        assert_eq!(read("file", 100).map(|(mode, _)| mode), Some("120000"));
        for path in ["folder/a", "near/a", "real", "nothing", "real/a/b"] {
            assert_eq!(read(path, 100), None, "{path}");
        }
        for path in ["../secret/a", "real/../../secret/a", "/etc/passwd"] {
            assert!(root.read(path.as_bytes(), 100).is_err(), "{path}");
        }
        for folder in ["folder", "near", "../secret", "nothing"] {
            assert!(root.remove(folder.as_bytes(), ".git").is_err(), "{folder}");
        }
        root.remove(b"real", ".git").unwrap();
        root.remove(b"", ".git").unwrap();
        assert!(!tree.join("real/.git").exists() && secret.join(".git").exists());
    }
}
