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
/// Modes, as git writes them.
const GITLINK: &[u8] = b"160000";
const NOTHING: &[u8] = b"000000";

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
        let all = self.call([
            "status",
            "-z",
            "--porcelain=v2",
            "--no-renames",
            "--untracked-files=all",
            "--ignore-submodules=all",
        ]);
        let mut found = Found::default();
        records(&self.git().good(self.limited(all)).await?.out).for_each(|record| found.add(record));
        // What was named counts although it is to be ignored.
        let missing: Vec<&str> = named.iter().map(RepoPath::as_str).filter(|path| !found.has(path)).collect();
        if !missing.is_empty() {
            let new = self.call(["ls-files", "-z", "--others", "--"]).args(missing);
            records(&self.git().good(self.limited(new)).await?.out).for_each(|path| found.add_new(path));
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
    /// `? <path>` of what git does not know, and of what it does
    /// `1 <status> <submodule> <mode in HEAD> <in the index> <in the tree> <object> <object> <path>`.
    fn add(&mut self, record: &[u8]) {
        if let Some(path) = record.strip_prefix(b"? ") {
            return self.add_new(path);
        }
        let words: Vec<&[u8]> = record.splitn(9, |byte| *byte == b' ').collect();
        if let [b"1", _, _, _, before, after, _, _, path] = words[..] {
            self.add_known(before, after, path);
        }
    }

    fn add_known(&mut self, before: &[u8], after: &[u8], path: &[u8]) {
        if before == GITLINK {
            // A submodule of the repository stays at its commit.
            return;
        }
        if after == GITLINK {
            self.repositories.push(path.to_owned());
        } else {
            let what = if after == NOTHING { What::Gone } else { What::Changed };
            self.changes.push(Change { what, path: path.to_owned() });
        }
    }

    fn add_new(&mut self, path: &[u8]) {
        match path.strip_suffix(b"/") {
            Some(folder) => self.repositories.push(folder.to_owned()),
            None => self.changes.push(Change { what: What::New, path: path.to_owned() }),
        }
    }

    fn has(&self, path: &str) -> bool {
        self.changes.iter().any(|change| change.path == path.as_bytes())
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
