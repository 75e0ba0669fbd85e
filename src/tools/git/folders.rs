//! Purpose: the folders that repositories and checkouts lie in: made private, measured, tidied and removed.

use std::fs::{DirBuilder, FileType, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

use super::GitError;
use super::call::{blocking, trouble};

/// Where git keeps the contents of everything.
pub(super) const OBJECTS: &str = "objects";

pub(super) async fn make(dir: &Path) -> Result<(), GitError> {
    let dir = dir.to_owned();
    blocking(move || {
        DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|error| trouble(&error))
    })
    .await
}

/// Puts one folder in the place of another, which may be absent. A crash in between leaves none there.
pub(super) async fn replace(dir: &Path, with: &Path) -> Result<(), GitError> {
    let old = dir.with_extension("old");
    remove(&old).await?;
    let (dir, with, away) = (dir.to_owned(), with.to_owned(), old.clone());
    blocking(move || {
        match std::fs::rename(&dir, &away) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(trouble(&error)),
            Ok(()) | Err(_) => {}
        }
        std::fs::rename(&with, &dir).map_err(|error| trouble(&error))
    })
    .await?;
    remove(&old).await
}

/// Of all files in it. One that goes away meanwhile counts nothing.
pub(super) async fn size(dir: &Path) -> Result<u64, GitError> {
    let dir = dir.to_owned();
    blocking(move || Ok(size_of(&dir))).await
}

/// Removes a folder with everything in it. Folders in it that were made read-only are opened first.
pub(super) async fn remove(dir: &Path) -> Result<(), GitError> {
    let dir = dir.to_owned();
    blocking(move || match std::fs::remove_dir_all(&dir) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            make_writable(&dir);
            std::fs::remove_dir_all(&dir).map_err(|error| trouble(&error))
        }
        Err(error) if error.kind() != ErrorKind::NotFound => Err(trouble(&error)),
        Ok(()) | Err(_) => Ok(()),
    })
    .await
}

fn make_writable(dir: &Path) {
    // What cannot be changed is found out by the removal that follows.
    let _ = std::fs::set_permissions(dir, Permissions::from_mode(0o700));
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            make_writable(&entry.path());
        }
    }
}

pub(super) async fn remove_file(file: &Path) -> Result<(), GitError> {
    let file = file.to_owned();
    blocking(move || match std::fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(trouble(&error)),
        Ok(()) | Err(_) => Ok(()),
    })
    .await
}

/// What a git that was killed leaves behind: locks, and packs that were never finished. Only while no git of ours is at
/// work there.
pub(super) async fn clear_leftovers(git_dir: &Path) -> Result<(), GitError> {
    let git_dir = git_dir.to_owned();
    blocking(move || {
        clear(&git_dir, is_lock);
        clear(&git_dir.join(OBJECTS), |name| is_lock(name) || name.starts_with("tmp_"));
        Ok(())
    })
    .await
}

/// The locks alone, for whoever holds the turn: another checkout of the run may be writing to the objects just now.
pub(super) async fn clear_locks(git_dir: &Path) -> Result<(), GitError> {
    let git_dir = git_dir.to_owned();
    blocking(move || {
        clear(&git_dir, is_lock);
        Ok(())
    })
    .await
}

/// No branch may be called like that, whereas one may be called `tmp_…`.
fn is_lock(name: &str) -> bool {
    name.ends_with(".lock") || name == "gc.pid"
}

/// Objects that lie in the folder are left alone.
fn clear(dir: &Path, is_left_over: impl Fn(&str) -> bool + Copy) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let kind = entry.file_type();
        if kind.as_ref().is_ok_and(FileType::is_dir) {
            if name != OBJECTS {
                clear(&entry.path(), is_left_over);
            }
        } else if is_left_over(&name) {
            // One that stays makes git fail with a sentence that names it.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn size_of(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(data) if data.is_dir() => size_of(&entry.path()),
            Ok(data) => data.len(),
            Err(_) => 0,
        })
        .sum()
}
