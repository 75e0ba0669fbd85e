//! Purpose: this installation: its name, and the lock that keeps a second server out of the same data directory.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, bail};

/// Holding it means being the only server on its data directory. The lock goes with the process, however it ends.
pub(super) struct Instance {
    name: String,
    _lock: File,
}

impl Instance {
    pub(super) fn claim(data_dir: &Path) -> anyhow::Result<Self> {
        make(data_dir).with_context(|| format!("cannot make {}", data_dir.display()))?;
        let path = data_dir.join("instance");
        let cannot = || format!("cannot use {}", path.display());
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .with_context(cannot)?;
        match lock(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => bail!("another planwright is running on {}", data_dir.display()),
            Err(TryLockError::Error(error)) => return Err(error).with_context(cannot),
        }
        let name = name(&mut file).with_context(cannot)?;
        Ok(Self { name, _lock: file })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

/// For its owner alone: what people wrote on private threads goes there.
pub(super) fn make(data_dir: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(data_dir)
}

/// A server that has just ended may have started a program that still is a copy of it for a moment.
fn lock(file: &File) -> Result<(), TryLockError> {
    for _ in 0..20 {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(25)),
            locked => return locked,
        }
    }
    file.try_lock()
}

/// The name in the file; a file without one (new, or cut off by a crash) gets a new name.
fn name(file: &mut File) -> std::io::Result<String> {
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    if let Ok(known) = uuid::Uuid::parse_str(text.trim()) {
        return Ok(known.to_string());
    }
    let new = uuid::Uuid::now_v7().to_string();
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{new}")?;
    file.sync_all()?;
    Ok(new)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn one_server_per_directory_and_one_name_for_ever() {
        let dir = tempfile::tempdir().unwrap();
        let first = Instance::claim(dir.path()).unwrap();
        let refused = Instance::claim(dir.path()).err().unwrap();
        assert!(refused.to_string().starts_with("another planwright is running on "), "{refused}");
        let name = first.name().to_owned();
        drop(first);
        assert_eq!(Instance::claim(dir.path()).unwrap().name(), name);
    }

    #[test]
    fn nobody_else_may_look_into_the_data() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("a/data");
        let _instance = Instance::claim(&data).unwrap();
        assert_eq!(data.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }
}
