//! Purpose: the name of a thread, `github:owner/repo#12`, `gitlab:group/sub/proj!7`, `local:name#1`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ForgeKind {
    Github,
    Gitlab,
    Local,
}

impl ForgeKind {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Github => "github",
            Self::Gitlab => "gitlab",
            Self::Local => "local",
        }
    }
}

impl fmt::Display for ForgeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A repository on a forge, `github:owner/repo`. The path is lower-cased: forges compare it without case.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Project {
    pub forge: ForgeKind,
    path: String,
}

impl Project {
    /// # Errors
    /// When the path is empty, has an empty or dotted segment, or has characters that no forge allows in a name.
    pub fn new(forge: ForgeKind, path: &str) -> Result<Self, ParseThreadError> {
        let segments: Vec<&str> = path.split('/').collect();
        let enough = match forge {
            ForgeKind::Github => segments.len() == 2,
            ForgeKind::Gitlab => segments.len() >= 2,
            ForgeKind::Local => segments.len() == 1,
        };
        if !enough || !segments.iter().all(|s| is_name(s)) {
            return Err(ParseThreadError(format!("`{path}` is not the path of a repository on {forge}")));
        }
        Ok(Self { forge, path: path.to_ascii_lowercase() })
    }

    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }
}

/// The path becomes a file name of the history and a part of URLs, so `.`, `..` and odd characters are refused here.
fn is_name(segment: &str) -> bool {
    !segment.is_empty()
        && segment != "."
        && segment != ".."
        && segment.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+'))
}

/// GitHub numbers issues and pull requests together, so there a thread is always an `Issue` by name; what it really
/// is stands in [`super::Thread`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ThreadKind {
    Issue,
    MergeRequest,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadRef {
    pub project: Project,
    pub kind: ThreadKind,
    pub number: u64,
}

impl ThreadRef {
    #[must_use]
    pub fn issue(project: Project, number: u64) -> Self {
        Self { project, kind: ThreadKind::Issue, number }
    }

    #[must_use]
    pub fn merge_request(project: Project, number: u64) -> Self {
        Self { project, kind: ThreadKind::MergeRequest, number }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseThreadError(String);

// Display and FromStr are each other's inverse; `names_round_trip` holds them in step.
impl fmt::Display for Project {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.forge, self.path)
    }
}

impl FromStr for Project {
    type Err = ParseThreadError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (forge, path) = text.split_once(':').ok_or_else(|| {
            ParseThreadError(format!("`{text}` names no forge; write it like `github:owner/repo`"))
        })?;
        let forge = match forge {
            "github" => ForgeKind::Github,
            "gitlab" => ForgeKind::Gitlab,
            "local" => ForgeKind::Local,
            other => {
                return Err(ParseThreadError(format!(
                    "`{other}` is no forge; known are github, gitlab and local"
                )));
            }
        };
        Self::new(forge, path)
    }
}

impl fmt::Display for ThreadRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.kind {
            ThreadKind::Issue => '#',
            ThreadKind::MergeRequest => '!',
        };
        write!(f, "{}{mark}{}", self.project, self.number)
    }
}

impl FromStr for ThreadRef {
    type Err = ParseThreadError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad =
            || ParseThreadError(format!("`{text}` is not a thread; write it like `github:owner/repo#12`"));
        let at = text.rfind(['#', '!']).ok_or_else(bad)?;
        let (project, rest) = text.split_at(at);
        let number = rest[1..].parse().map_err(|_| bad())?;
        let kind = if rest.starts_with('!') { ThreadKind::MergeRequest } else { ThreadKind::Issue };
        let project: Project = project.parse()?;
        if kind == ThreadKind::MergeRequest && project.forge != ForgeKind::Gitlab {
            return Err(bad());
        }
        Ok(Self { project, kind, number })
    }
}

/// Names are stored and sent as the text people write.
macro_rules! serde_as_text {
    ($type:ty) => {
        impl Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
serde_as_text!(Project);
serde_as_text!(ThreadRef);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for name in
            ["github:acme/web#12", "gitlab:group/sub/proj#12", "gitlab:group/sub/proj!7", "local:sample#1"]
        {
            let thread: ThreadRef = name.parse().unwrap();
            assert_eq!(thread.to_string(), name);
            assert_eq!(
                serde_json::from_str::<ThreadRef>(&serde_json::to_string(&thread).unwrap()).unwrap(),
                thread
            );
        }
    }

    #[test]
    fn case_does_not_matter() {
        assert_eq!("github:ACME/Web#1".parse::<ThreadRef>(), "github:acme/web#1".parse());
    }

    #[test]
    fn bad_names_are_refused() {
        for name in [
            "",
            "acme/web#1",
            "github:acme#1",
            "github:acme/web",
            "github:acme/web#x",
            "github:../web#1",
            "github:a/b/c#1",
            "github:acme/web!1",
            "gitlab:proj#1",
            "local:a/b#1",
            "forgejo:a/b#1",
            "github:acme/w b#1",
            "github:acme/#1",
            "gitlab:a//b#1",
        ] {
            assert!(name.parse::<ThreadRef>().is_err(), "{name} was taken");
        }
    }
}
