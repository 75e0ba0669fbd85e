//! Purpose: read `store.url`, and make the file it names with rights for its owner only.

use std::fs::{DirBuilder, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// Where the database is. The limits can be set behind a `?` in the URL:
/// `sqlite://./data/planwright.db?busy_timeout_ms=3000&max_page_count=131072`. A page has 8 KiB, and 16 in
/// a database that an earlier version made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Location {
    pub(super) path: PathBuf,
    /// How long a write waits for another process that holds the database.
    pub(super) busy_timeout_ms: u32,
    pub(super) max_page_count: Option<u32>,
}

/// Forges give up on a delivery after ten seconds; a locked database must have been reported by then.
const BUSY_TIMEOUT_MS: u32 = 3_000;

impl Location {
    pub(super) fn parse(url: &str) -> anyhow::Result<Self> {
        if url.starts_with("postgres:") || url.starts_with("postgresql:") {
            bail!("PostgreSQL comes later; for now `store.url` must be like `sqlite://./data/planwright.db`");
        }
        let Some(rest) = url.strip_prefix("sqlite://") else {
            bail!(
                "`{}` is no store this version knows; write it like `sqlite://./data/planwright.db`",
                scheme(url)
            );
        };
        let (path, options) = rest.split_once('?').unwrap_or((rest, ""));
        if path.is_empty() || path.contains(":memory:") {
            bail!("`store.url` must name a file: what is only in memory would be lost with the process");
        }
        let mut location =
            Self { path: PathBuf::from(path), busy_timeout_ms: BUSY_TIMEOUT_MS, max_page_count: None };
        for option in options.split('&').filter(|o| !o.is_empty()) {
            location.set(option)?;
        }
        Ok(location)
    }

    fn set(&mut self, option: &str) -> anyhow::Result<()> {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let number = value.parse().with_context(|| format!("`{name}` in `store.url` needs a number"))?;
        match name {
            "busy_timeout_ms" => self.busy_timeout_ms = number,
            "max_page_count" => self.max_page_count = Some(number),
            _ => bail!("`store.url` knows no option `{name}`; known are busy_timeout_ms and max_page_count"),
        }
        Ok(())
    }

    /// Creates what is missing and makes the path absolute. SQLite gives its side files the rights of the main one.
    pub(super) fn prepare(mut self) -> anyhow::Result<Self> {
        let parent = match self.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            Some(_) | None => Path::new("."),
        };
        let parent = make_private_dir(parent)?;
        let name = self.path.file_name().context("`store.url` must name a file")?;
        self.path = parent.join(name);
        OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&self.path)
            .with_context(|| format!("cannot open the database {}", self.path.display()))?;
        Ok(self)
    }
}

fn make_private_dir(dir: &Path) -> anyhow::Result<PathBuf> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .and_then(|()| dir.canonicalize())
        .with_context(|| format!("cannot create the directory {}", dir.display()))
}

/// Enough to recognise the mistake; the rest of a URL may hold a password.
fn scheme(url: &str) -> &str {
    url.split_once(':').map_or(url, |(scheme, _)| scheme)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read() {
        let location = |path: &str, busy_timeout_ms, max_page_count| Location {
            path: path.into(),
            busy_timeout_ms,
            max_page_count,
        };
        assert_eq!(
            Location::parse("sqlite://./d/p.db").unwrap(),
            location("./d/p.db", BUSY_TIMEOUT_MS, None)
        );
        assert_eq!(
            Location::parse("sqlite:///var/p.db?busy_timeout_ms=50&max_page_count=64").unwrap(),
            location("/var/p.db", 50, Some(64))
        );
    }

    #[test]
    fn other_urls_are_refused_with_a_sentence() {
        for (url, says) in [
            ("postgres://u:secret@host/db", "PostgreSQL comes later"),
            ("mysql://u:secret@host/db", "`mysql` is no store"),
            ("./data/planwright.db", "is no store this version knows"),
            ("sqlite://", "must name a file"),
            ("sqlite://:memory:", "must name a file"),
            ("sqlite://x.db?busy_timeout_ms=soon", "needs a number"),
            ("sqlite://x.db?mode=1", "knows no option `mode`"),
        ] {
            let error = Location::parse(url).unwrap_err().to_string();
            assert!(error.contains(says), "{url}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
