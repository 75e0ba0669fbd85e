//! Purpose: the names git is given: commits, branches, runs; none of them can be taken for an option or a path.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::GitError;

/// Branches of the bot stand below this, and it pushes to no others.
pub const BRANCH_PREFIX: &str = "planwright/";
/// Branches of side checkouts stand below this. It is not [`BRANCH_PREFIX`], so they are never pushed.
pub(super) const LANE_PREFIX: &str = "lane/";
const LONGEST_SLUG: usize = 40;
const LONGEST_STEP: usize = 40;
/// File systems end at 255 bytes for one part; `.lock` is put behind it.
const LONGEST_REF: usize = 240;

/// The whole name of a commit, in small hexadecimal letters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Commit(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a commit is named by 40 or 64 hexadecimal letters")]
pub struct BadCommit;

impl Commit {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// As people write it.
    #[must_use]
    pub fn short(&self) -> &str {
        self.0.get(..7).unwrap_or(&self.0)
    }

    pub(super) fn format(&self) -> ObjectFormat {
        if self.0.len() == 64 { ObjectFormat::Sha256 } else { ObjectFormat::Sha1 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ObjectFormat {
    Sha1,
    Sha256,
}

impl ObjectFormat {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Sha1 => "sha1",
            Self::Sha256 => "sha256",
        }
    }
}

// Display and FromStr are each other's inverse.
impl fmt::Display for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Commit {
    type Err = BadCommit;

    fn from_str(text: &str) -> Result<Self, BadCommit> {
        let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hex || !matches!(text.len(), 40 | 64) {
            return Err(BadCommit);
        }
        Ok(Self(text.to_ascii_lowercase()))
    }
}

impl<'de> Deserialize<'de> for Commit {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// The branch for a thread: `planwright/<number>-<slug>`, or without a slug when the title has no letter for one.
#[must_use]
pub fn branch_name(number: u64, title: &str) -> String {
    let mut slug = String::new();
    for c in title.chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() == LONGEST_SLUG {
            break;
        }
    }
    match slug.trim_end_matches('-') {
        "" => format!("{BRANCH_PREFIX}{number}"),
        slug => format!("{BRANCH_PREFIX}{number}-{slug}"),
    }
}

/// What `git check-ref-format` takes, and less: nothing that could be an option, a pattern, a path or another revision.
#[must_use]
pub fn is_branch_name(name: &str) -> bool {
    let has_strange =
        name.chars().any(|c| c.is_control() || c.is_whitespace() || "~^:?*[\\\"'`$".contains(c));
    let has_sequence = name.contains("..") || name.contains("@{");
    let is_special = matches!(name, "HEAD" | "@") || name.starts_with('-');
    name.len() <= LONGEST_REF
        && !has_strange
        && !has_sequence
        && !is_special
        && name.split('/').all(is_ref_part)
}

fn is_ref_part(part: &str) -> bool {
    !part.is_empty() && !part.starts_with('.') && !part.ends_with('.') && !part.ends_with(".lock")
}

/// The whole reference of a branch.
pub(super) fn branch_ref(name: &str) -> Result<String, GitError> {
    if is_branch_name(name) {
        Ok(format!("refs/heads/{name}"))
    } else {
        Err(GitError::BadName(name.to_owned()))
    }
}

/// The lane for one attempt at a step. No two attempts have the same: what follows the last `-` is the number.
#[must_use]
pub fn lane_name(step: &str, attempt: u32) -> String {
    format!("{step}-{attempt}")
}

/// The id of a run becomes the name of a folder.
pub(super) fn check_run(run: &str) -> Result<(), GitError> {
    if is_plain(run, 100) { Ok(()) } else { Err(GitError::BadName(run.to_owned())) }
}

/// A lane becomes the name of a folder too, and of a branch: what [`lane_name`] makes of the id of a step.
pub(super) fn check_lane(lane: &str) -> Result<(), GitError> {
    let is_number = |text: &str| text.parse::<u32>().is_ok_and(|number| number.to_string() == text);
    match lane.rsplit_once('-') {
        Some((step, attempt)) if is_plain(step, LONGEST_STEP) && is_number(attempt) => Ok(()),
        Some(_) | None => Err(GitError::BadName(lane.to_owned())),
    }
}

fn is_plain(name: &str, longest: usize) -> bool {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=longest).contains(&name.len()) && name.bytes().all(is_known)
}

/// Whether a part of a path is git's own, also as file systems without case or with short names would find it.
pub(super) fn is_of_git(part: &[u8]) -> bool {
    let text = String::from_utf8_lossy(part);
    let seen: String = text.chars().filter(|c| !crate::prompts::is_invisible(*c)).collect();
    let small = seen.to_lowercase();
    let name = small.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    name == ".git" || name.starts_with("git~")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn commits_are_whole_hexadecimal_names() {
        let commit: Commit = "ABCDEF0123456789abcdef0123456789abcdef01".parse().unwrap();
        assert_eq!(
            (commit.as_str(), commit.short()),
            ("abcdef0123456789abcdef0123456789abcdef01", "abcdef0")
        );
        assert_eq!(commit.to_string().parse(), Ok(commit.clone()));
        assert_eq!(serde_json::to_string(&commit).unwrap(), format!("\"{commit}\""));
        assert_eq!(serde_json::from_str::<Commit>(&format!("\"{commit}\"")).unwrap(), commit);
        assert!("a".repeat(64).parse::<Commit>().is_ok());
        for bad in ["", "HEAD", "abcdef0", &"g".repeat(40), &"a".repeat(41), &format!("-{}", "a".repeat(39))]
        {
            assert_eq!(bad.parse::<Commit>(), Err(BadCommit), "{bad}");
            assert!(serde_json::from_str::<Commit>(&format!("\"{bad}\"")).is_err());
        }
    }

    #[test]
    fn branches_are_named_after_the_thread() {
        let check = |title: &str, expected: &str| assert_eq!(branch_name(12, title), expected, "{title:?}");
        check("Add a search box", "planwright/12-add-a-search-box");
        check("  [Bug] It's --broken--!  ", "planwright/12-bug-it-s-broken");
        check("目標", "planwright/12");
        check("", "planwright/12");
        check("../../etc/passwd\0", "planwright/12-etc-passwd");
        check("x.lock", "planwright/12-x-lock");
        check(&"word ".repeat(30), "planwright/12-word-word-word-word-word-word-word-word");
        check(&"a".repeat(99), &format!("planwright/12-{}", "a".repeat(40)));
    }

    #[test]
    fn strange_branches_are_refused() {
        for good in ["main", "release/1.2", "planwright/1-x", "ünïcode", "a@b", "feature#1", "v1.0+x"] {
            assert!(is_branch_name(good), "{good}");
        }
        for bad in [
            "",
            "-x",
            "--upload-pack=x",
            "a..b",
            "a b",
            "a~1",
            "a^",
            "a:b",
            "a?",
            "a*",
            "a[",
            "a\\b",
            "a\nb",
            "a\0",
            "/a",
            "a/",
            "a//b",
            ".a",
            "a/.b",
            "a.",
            "a.lock",
            "a.lock/b",
            "@",
            "a@{1}",
            "HEAD",
            "$(x)",
            "`x`",
            "a\u{a0}b",
            &"a".repeat(241),
        ] {
            assert!(!is_branch_name(bad), "{bad:?}");
        }
    }

    #[test]
    fn folders_of_runs_are_plain() {
        for (run, good) in [
            ("01J_x-9", true),
            ("", false),
            (".", false),
            ("..", false),
            ("a/b", false),
            ("a.git", false),
            (&"a".repeat(101), false),
        ] {
            assert_eq!(check_run(run).is_ok(), good, "{run}");
        }
    }

    #[test]
    fn lanes_are_an_attempt_at_a_step() {
        let longest = "a".repeat(40);
        for step in ["s1", "add_api-2", "-", "7", &longest] {
            let lane = lane_name(step, 12);
            assert!(check_lane(&lane).is_ok() && is_branch_name(&format!("{LANE_PREFIX}{lane}")), "{lane}");
        }
        assert_ne!(lane_name("a-1", 1), lane_name("a", 11));
        for bad in [
            "",
            "a",
            "-1",
            "a-",
            "a-x",
            "a-01",
            "a-+1",
            "a-4294967296",
            "a/b-1",
            "..-1",
            "a,b-1",
            "a.lock-1",
            "é-1",
            &format!("a{longest}-1"),
        ] {
            assert_eq!(check_lane(bad), Err(GitError::BadName(bad.to_owned())));
        }
    }

    #[test]
    fn names_of_git_are_known_in_every_spelling() {
        for part in
            [".git", ".GIT", ".Git.", ".git ", ".git::$INDEX_ALLOCATION", "git~1", "GIT~2", ".g\u{200c}it"]
        {
            assert!(is_of_git(part.as_bytes()), "{part:?}");
        }
        for part in [".gitignore", ".github", "git", "x.git", ".gi", "gitx~1"] {
            assert!(!is_of_git(part.as_bytes()), "{part:?}");
        }
    }

    proptest! {
        #[test]
        fn every_title_makes_a_branch(number: u64, title in "\\PC{0,80}|[ -~\\n\\t]{0,120}") {
            let name = branch_name(number, &title);
            let slug = name.strip_prefix(&format!("{BRANCH_PREFIX}{number}")).unwrap();
            let good = slug.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
            prop_assert!(good && slug.len() <= LONGEST_SLUG + 1 && !slug.ends_with('-'), "{name}");
            prop_assert!(is_branch_name(&name));
        }
    }
}
