//! Purpose: a path inside the repository, and nothing else: relative, normal, visible, and never git's own.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::prompts::is_invisible;

/// Normalised when it is made, so that two spellings of one file compare equal and an approval of one covers no other.
/// Whether a link on the disk leads elsewhere is not its business: the gate that opens files refuses those.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RepoPath(String);

const LONGEST: usize = 1_024;
const LONGEST_PART: usize = 255;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadPath {
    #[error("the path is empty")]
    Empty,
    #[error("the path is longer than {LONGEST} bytes, or a part of it longer than {LONGEST_PART}")]
    TooLong,
    #[error("the path must be relative to the repository's root")]
    Absolute,
    #[error("the path must not leave the repository with `..`")]
    Leaves,
    #[error("the path has characters that are invisible, or not allowed in every file system")]
    Strange,
    #[error("git's own files are out of reach")]
    OfGit,
}

impl RepoPath {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }

    #[must_use]
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// What stands behind the last dot of the name, in small letters.
    #[must_use]
    pub fn extension(&self) -> Option<String> {
        let (stem, extension) = self.file_name().rsplit_once('.')?;
        (!stem.is_empty()).then(|| extension.to_ascii_lowercase())
    }
}

impl FromStr for RepoPath {
    type Err = BadPath;

    fn from_str(text: &str) -> Result<Self, BadPath> {
        if text.len() > LONGEST {
            return Err(BadPath::TooLong);
        }
        if text.starts_with('/') || is_absolute_elsewhere(text) {
            return Err(BadPath::Absolute);
        }
        if text.chars().any(is_strange) {
            return Err(BadPath::Strange);
        }
        let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        for part in &parts {
            check_part(part)?;
        }
        // Also once it is normal: `./~` must not become what would be refused when it is read again.
        match parts.first() {
            None => Err(BadPath::Empty),
            Some(first) if is_absolute_elsewhere(first) => Err(BadPath::Absolute),
            Some(_) => Ok(Self(parts.join("/"))),
        }
    }
}

fn check_part(part: &str) -> Result<(), BadPath> {
    if part == ".." {
        return Err(BadPath::Leaves);
    }
    if part.len() > LONGEST_PART {
        return Err(BadPath::TooLong);
    }
    if part.trim() != part || part.ends_with('.') {
        return Err(BadPath::Strange);
    }
    if is_of_git(part) {
        return Err(BadPath::OfGit);
    }
    Ok(())
}

/// Also as file systems without case, or with short names, would find it.
fn is_of_git(part: &str) -> bool {
    let small = part.to_lowercase();
    small == ".git" || small.starts_with("git~") || small.starts_with(".git:")
}

/// Somebody's home, or a drive.
fn is_absolute_elsewhere(text: &str) -> bool {
    let bytes = text.as_bytes();
    text.starts_with('~') || bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':'
}

/// A backslash separates on some systems; what people cannot see they cannot approve.
fn is_strange(c: char) -> bool {
    c == '\\' || c.is_control() || is_invisible(c)
}

impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for RepoPath {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for RepoPath {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_normalised_or_refused() {
        let check = |text: &str, expected: Result<&str, BadPath>| {
            let got = text.parse::<RepoPath>();
            assert_eq!(got.as_ref().map(RepoPath::as_str).map_err(Clone::clone), expected, "{text:?}");
        };
        check("src/main.rs", Ok("src/main.rs"));
        check("./src//a b/./x", Ok("src/a b/x"));
        check("src/", Ok("src"));
        check(".github/workflows/ci.yml", Ok(".github/workflows/ci.yml"));
        check(".gitignore", Ok(".gitignore"));
        check("目標.md", Ok("目標.md"));
        check("", Err(BadPath::Empty));
        check("./", Err(BadPath::Empty));
        check("/etc/passwd", Err(BadPath::Absolute));
        check("~/x", Err(BadPath::Absolute));
        check("C:/x", Err(BadPath::Absolute));
        check("a/../../x", Err(BadPath::Leaves));
        check("..", Err(BadPath::Leaves));
        check("a\\b", Err(BadPath::Strange));
        check("a\0b", Err(BadPath::Strange));
        check("a\nb", Err(BadPath::Strange));
        check("a\u{202e}b", Err(BadPath::Strange));
        check("a\u{200b}b", Err(BadPath::Strange));
        check("a /b", Err(BadPath::Strange));
        check("a./b", Err(BadPath::Strange));
        check(".git/config", Err(BadPath::OfGit));
        check("x/.GIT/hooks/a", Err(BadPath::OfGit));
        check("GIT~1/config", Err(BadPath::OfGit));
        check(&"a/".repeat(513), Err(BadPath::TooLong));
        check(&"a".repeat(256), Err(BadPath::TooLong));
    }

    #[test]
    fn extensions_are_small() {
        let extension = |path: &str| path.parse::<RepoPath>().unwrap().extension();
        assert_eq!(extension("a/B.PNG").as_deref(), Some("png"));
        assert_eq!(extension(".gitignore"), None);
        assert_eq!(extension("Makefile"), None);
    }
}
