//! Purpose: what changed in a checkout, read without following a link, and written down as a commit for git.

use std::fs::File;
use std::io::{Seek, Write};
use std::path::PathBuf;

use super::beneath::{Content, Root};
use super::call::{Call, blocking, trouble};
use super::mirror::records;
use super::names::is_of_git;
use super::workspace::Workspace;
use super::{GitError, Settings, TooLarge};
use crate::actions::RepoPath;

/// How deep repositories may lie in one another before we stop to unpack them.
const DEEPEST: usize = 16;
const GITLINK: &str = "160000";

/// A file that git knows and that is different or gone, or one that git does not know.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Change {
    /// Gone before new: a folder may have taken the place of a file.
    what: What,
    path: Vec<u8>,
}

impl Change {
    pub(super) fn shown(&self) -> String {
        String::from_utf8_lossy(&self.path).into_owned()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Gone,
    Changed,
    New,
}

/// Where files are read, and where the commit is written down.
pub(super) struct Spool {
    pub(super) tree: PathBuf,
    pub(super) beside: PathBuf,
}

/// A commit in the language of `fast-import`.
pub(super) struct Written {
    pub(super) stream: File,
    pub(super) files: Vec<String>,
    pub(super) bytes: u64,
}

impl Workspace {
    /// In the order in which they must be written.
    pub(super) async fn changes(&self, named: &[RepoPath]) -> Result<Vec<Change>, GitError> {
        // A call that was cut short may have left the index behind the commit.
        self.git().good(self.call(["read-tree", "--reset", "HEAD"])).await?;
        self.remove_git_folder(b"").await?;
        for _ in 0..DEEPEST {
            let found = self.look(named).await?;
            if found.repositories.is_empty() {
                return in_order(found.changes);
            }
            for path in &found.repositories {
                self.remove_git_folder(path).await?;
            }
        }
        Err(GitError::Broken("there are repositories within repositories within the tree".to_owned()))
    }

    async fn look(&self, named: &[RepoPath]) -> Result<Found, GitError> {
        // It fails when a file differs, which is what we want to know.
        self.git().run(self.call(["update-index", "-q", "--ignore-submodules", "--refresh"])).await?;
        let mut found = Found::default();
        let known = self.call(["diff-files", "-z", "--raw", "--no-renames", "--ignore-submodules=all"]);
        found.add_known(&self.git().good(known).await?.out);
        let new = self.call(["ls-files", "-z", "--others", "--exclude-standard"]);
        found.add_new(&self.git().good(self.limited(new)).await?.out);
        if !named.is_empty() {
            let new =
                self.call(["ls-files", "-z", "--others", "--"]).args(named.iter().map(RepoPath::as_str));
            found.add_new(&self.git().good(self.limited(new)).await?.out);
        }
        Ok(found)
    }

    /// One more than allowed is enough to know that it is too many.
    fn limited(&self, call: Call) -> Call {
        call.at_most_records(self.git().settings.commit_files.saturating_add(1))
    }

    /// A tool that makes a repository of its own in the tree (`cargo new` does) hides its files from ours, and git
    /// must not come to read settings there. So only the files stay.
    pub(super) async fn remove_git_folder(&self, within: &[u8]) -> Result<(), GitError> {
        let (tree, within) = (self.tree().to_owned(), within.to_owned());
        blocking(move || Root::open(&tree)?.remove(&within, ".git")).await
    }
}

#[derive(Default)]
struct Found {
    changes: Vec<Change>,
    /// Folders that are repositories of their own.
    repositories: Vec<Vec<u8>>,
}

impl Found {
    /// `:<mode> <mode> <object> <object> <status>` and the path, in turns.
    fn add_known(&mut self, out: &[u8]) {
        let mut records = records(out);
        while let (Some(head), Some(path)) = (records.next(), records.next()) {
            let head = String::from_utf8_lossy(head);
            let mut words = head.trim_start_matches(':').split(' ');
            let (before, after) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            if before == GITLINK {
                // A submodule of the repository stays at its commit.
                continue;
            }
            if after == GITLINK {
                self.repositories.push(path.to_owned());
            } else {
                let what = if after == "000000" { What::Gone } else { What::Changed };
                self.changes.push(Change { what, path: path.to_owned() });
            }
        }
    }

    fn add_new(&mut self, out: &[u8]) {
        for path in records(out) {
            match path.strip_suffix(b"/") {
                Some(folder) => self.repositories.push(folder.to_owned()),
                None => self.changes.push(Change { what: What::New, path: path.to_owned() }),
            }
        }
    }
}

fn in_order(mut changes: Vec<Change>) -> Result<Vec<Change>, GitError> {
    changes.sort();
    changes.dedup();
    let is_bad =
        |change: &&Change| change.what == What::New && change.path.split(|b| *b == b'/').any(is_of_git);
    match changes.iter().find(is_bad) {
        Some(bad) => Err(GitError::BadName(bad.shown())),
        None => Ok(changes),
    }
}

/// Writes the commit into a file without a name, so that it is never whole in memory and goes away with us.
pub(super) fn spool(
    place: &Spool,
    head: &[u8],
    changes: &[Change],
    limits: &Settings,
) -> Result<Written, GitError> {
    let (most_files, most_bytes) = (limits.commit_files, limits.commit_bytes);
    let too_large = || GitError::TooLarge(TooLarge::Change { files: most_files, bytes: most_bytes });
    if changes.len() > most_files {
        return Err(too_large());
    }
    let root = Root::open(&place.tree)?;
    let mut stream = tempfile::tempfile_in(&place.beside).map_err(|error| trouble(&error))?;
    stream.write_all(head).map_err(|error| trouble(&error))?;
    let (mut files, mut bytes) = (Vec::new(), 0);
    for change in changes {
        let content = match change.what {
            What::Gone => None,
            What::Changed | What::New => root.read(&change.path, most_bytes - bytes)?,
        };
        if change.what == What::New && content.is_none() {
            continue;
        }
        bytes += content.as_ref().map_or(0, |content| content.data.len() as u64);
        if bytes > most_bytes {
            return Err(too_large());
        }
        write_change(&mut stream, &change.path, content.as_ref()).map_err(|error| trouble(&error))?;
        files.push(String::from_utf8_lossy(&change.path).into_owned());
    }
    stream.rewind().map_err(|error| trouble(&error))?;
    Ok(Written { stream, files, bytes })
}

fn write_change(stream: &mut File, path: &[u8], content: Option<&Content>) -> std::io::Result<()> {
    let Some(content) = content else { return writeln!(stream, "D {}", quoted(path)) };
    writeln!(stream, "M {} inline {}", content.mode, quoted(path))?;
    writeln!(stream, "data {}", content.data.len())?;
    stream.write_all(&content.data)?;
    writeln!(stream)
}

/// Always in quotes, so that no path can end early.
fn quoted(path: &[u8]) -> String {
    let mut text = String::from("\"");
    for &byte in path {
        match byte {
            b'"' | b'\\' => text.extend(['\\', char::from(byte)]),
            b' '..=b'~' => text.push(char::from(byte)),
            _ => text.push_str(&format!("\\{byte:03o}")),
        }
    }
    text + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted() {
        assert_eq!(quoted(b"a b"), r#""a b""#);
        assert_eq!(quoted("é\n\"\\".as_bytes()), r#""\303\251\012\"\\""#);
    }
}
