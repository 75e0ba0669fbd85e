//! Purpose: what the model was asked and what it answered, in files for whoever looks for a fault. Nothing reads them
//! back: the journal is the truth, and a file that cannot be written is no reason to stop.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// A file of this size gives way to a new one; one old file is kept.
const LARGEST: u64 = 1 << 20;
const ENTRY: usize = 64 << 10;

#[derive(Debug, Clone)]
pub struct Transcripts {
    root: PathBuf,
}

impl Transcripts {
    #[must_use]
    pub fn new(data_dir: &Path) -> Self {
        Self { root: data_dir.join("logs") }
    }

    /// The file of a run's phase, whether it exists or not.
    #[must_use]
    pub fn path(&self, run: &str, phase: &str) -> PathBuf {
        self.root.join(run).join(format!("{phase}.log"))
    }

    /// # Errors
    /// When there are files of this run that cannot be removed.
    pub async fn remove(&self, run: &str) -> io::Result<()> {
        let dir = self.root.join(run);
        tokio::task::spawn_blocking(move || match std::fs::remove_dir_all(dir) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        })
        .await
        .map_err(io::Error::other)?
    }

    /// Adds to the file. The text must be free of secrets already.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub async fn add(&self, run: &str, phase: &str, text: &str) -> io::Result<()> {
        let path = self.path(run, phase);
        let entry: String = text.chars().take(ENTRY).chain(['\n']).collect();
        tokio::task::spawn_blocking(move || write(&path, &entry)).await.map_err(io::Error::other)?
    }
}

fn write(path: &Path, entry: &str) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    }
    let size = std::fs::metadata(path).map_or(0, |known| known.len());
    if size > LARGEST {
        std::fs::rename(path, path.with_extension("log.1"))?;
    }
    let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
    file.write_all(entry.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[tokio::test]
    async fn a_file_grows_to_its_limit_and_one_old_one_is_kept() {
        let dir = tempfile::tempdir().expect("a directory");
        let transcripts = Transcripts::new(dir.path());
        let long = "x".repeat(2 * ENTRY);
        for _ in 0..40 {
            transcripts.add("r", "decompose", &long).await.expect("written");
        }
        let path = transcripts.path("r", "decompose");
        let size = |path: &Path| std::fs::metadata(path).expect("a file").len();
        assert!(size(&path) <= LARGEST + ENTRY as u64 + 1);
        assert!(size(&path.with_extension("log.1")) > LARGEST);
        assert_eq!(std::fs::read_dir(path.parent().expect("a folder")).expect("a folder").count(), 2);
        let mode = std::fs::metadata(&path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
