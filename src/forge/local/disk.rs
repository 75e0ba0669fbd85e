//! Purpose: the local forge's file: locked for one process, replaced as a whole, on disk before anybody is told.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::World;
use crate::forge::ForgeError;

#[derive(Debug)]
pub(super) struct WorldFile {
    path: PathBuf,
    /// Held as long as we live; the operating system lets go of it when we die, however we die.
    _lock: File,
}

impl WorldFile {
    /// The file need not exist yet.
    pub(super) fn open(path: PathBuf) -> Result<(Self, World), ForgeError> {
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir).map_err(|error| trouble("make", dir, &error))?;
        }
        let lock_path = beside(&path, "lock");
        let options = OpenOptions::new().create(true).truncate(false).write(true).open(&lock_path);
        let lock = options.map_err(|error| trouble("open", &lock_path, &error))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => {
                ForgeError::Invalid(format!("`{}` is in use by another process", path.display()))
            }
            TryLockError::Error(error) => trouble("lock", &lock_path, &error),
        })?;
        let world = read(&path)?;
        Ok((Self { path, _lock: lock }, world))
    }

    /// Written beside and renamed over, so that a reader or a crash sees the old world or the new one.
    pub(super) fn save(&self, world: &World) -> Result<(), ForgeError> {
        let text = serde_json::to_vec_pretty(world).map_err(|error| {
            ForgeError::Broken(format!("the local forge cannot be written down: {error}"))
        })?;
        let draft = beside(&self.path, "new");
        let written =
            File::create(&draft).and_then(|mut file| file.write_all(&text).and_then(|()| file.sync_all()));
        written.map_err(|error| trouble("write", &draft, &error))?;
        std::fs::rename(&draft, &self.path).map_err(|error| trouble("replace", &self.path, &error))?;
        let folder = self.path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(|error| trouble("sync", folder, &error))
    }
}

fn read(path: &Path) -> Result<World, ForgeError> {
    let text = match std::fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(World::default()),
        Err(error) => return Err(trouble("read", path, &error)),
    };
    serde_json::from_slice(&text).map_err(|error| {
        ForgeError::Broken(format!("`{}` is not the file of a local forge: {error}", path.display()))
    })
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{ending}"));
    name.into()
}

fn trouble(doing: &str, path: &Path, error: &std::io::Error) -> ForgeError {
    ForgeError::Unclear(format!("cannot {doing} `{}`: {error}", path.display()))
}
