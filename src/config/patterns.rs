//! Purpose: names of tools and patterns over tools and paths, which a repository's own file may hold too.

use std::sync::{Arc, OnceLock};

use schemars::JsonSchema;
use serde::Serialize;

use super::checked::{self, deserialize_checked};

/// The name that the file gives to a command, an MCP server or a tool. It is shown in comments, so it is plain.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(into = "String")]
#[schemars(with = "String")]
pub struct ToolName(String);

impl std::fmt::Display for ToolName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for ToolName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// Tools of an MCP server: a name, or the beginning of names with `*` behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(into = "String")]
#[schemars(with = "String")]
pub struct ToolPattern(String);

impl ToolPattern {
    pub(super) fn any() -> Self {
        Self("*".to_owned())
    }

    #[must_use]
    pub fn matches(&self, tool: &str) -> bool {
        match self.0.strip_suffix('*') {
            Some(start) => tool.starts_with(start),
            None => tool == self.0,
        }
    }
}

impl AsRef<str> for ToolPattern {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// Paths in a repository as a glob: `*` stays within a directory, `**` does not.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(into = "String")]
#[schemars(with = "String")]
pub struct PathPattern {
    text: String,
    /// Made at first use, for all copies: making it takes far longer than using it. `None` is one that cannot be made.
    matcher: Arc<OnceLock<Option<globset::GlobMatcher>>>,
}

impl PartialEq for PathPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for PathPattern {}

impl PathPattern {
    /// For patterns known to be good: the defaults.
    pub(super) fn known(text: &str) -> Self {
        Self { text: text.to_owned(), matcher: Arc::default() }
    }

    /// Without case, so that a file system without it opens no back door. What cannot be compiled matches nothing; it
    /// was refused when the file was read.
    #[must_use]
    pub fn matches(&self, path: &str) -> bool {
        let make = || {
            let glob =
                globset::GlobBuilder::new(&self.text).literal_separator(true).case_insensitive(true).build();
            glob.ok().map(|glob| glob.compile_matcher())
        };
        self.matcher.get_or_init(make).as_ref().is_some_and(|matcher| matcher.is_match(path))
    }
}

impl AsRef<str> for PathPattern {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

deserialize_checked! {
    ToolName => checked::text;
    ToolPattern => checked::text;
    PathPattern => checked::text;
}

impl TryFrom<String> for ToolName {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        if is_tool_name(&text) {
            Ok(Self(text))
        } else {
            Err("this name must have 1 to 64 letters, digits, `_`, `-` or `.`".to_owned())
        }
    }
}

impl From<ToolName> for String {
    fn from(name: ToolName) -> Self {
        name.0
    }
}

impl TryFrom<String> for ToolPattern {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        let start = text.strip_suffix('*').unwrap_or(&text);
        if text == "*" || is_tool_name(start) {
            Ok(Self(text))
        } else {
            Err("not a tool; write its name, the beginning of names like `read_*`, or `*`".to_owned())
        }
    }
}

impl From<ToolPattern> for String {
    fn from(pattern: ToolPattern) -> Self {
        pattern.0
    }
}

fn is_tool_name(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}

impl TryFrom<String> for PathPattern {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        // It is shown in comments and compared with paths inside a repository.
        let odd = |c: char| c.is_control() || matches!(c, '`' | '\\' | '@');
        if text.is_empty() || text.len() > 200 || text.contains(odd) || globset::Glob::new(&text).is_err() {
            Err("not a pattern of paths; write it like `src/**`".to_owned())
        } else if text.starts_with('/') || text.split('/').any(|part| part == "..") {
            Err("a pattern begins at the top of the repository, without `/` before it and without `..`"
                .to_owned())
        } else {
            Ok(Self::known(&text))
        }
    }
}

impl From<PathPattern> for String {
    fn from(pattern: PathPattern) -> Self {
        pattern.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        for good in ["test", "cargo-test_2", "a.b"] {
            assert!(ToolName::try_from(good.to_owned()).is_ok(), "{good}");
        }
        for bad in ["", "a b", "a`b", "@all", "a/b", "é", &"x".repeat(65)] {
            assert!(ToolName::try_from(bad.to_owned()).is_err(), "{bad} was taken");
        }
    }

    #[test]
    fn tools_are_matched_by_name_or_beginning() {
        for (pattern, tool, matches) in [
            ("*", "anything", true),
            ("read_*", "read_file", true),
            ("read_*", "thread_read_file", false),
            ("list", "list", true),
            ("list", "list_all", false),
        ] {
            assert_eq!(
                ToolPattern::try_from(pattern.to_owned()).unwrap().matches(tool),
                matches,
                "{pattern}"
            );
        }
        for bad in ["", "a*b", "**", "*a", "a b"] {
            assert!(ToolPattern::try_from(bad.to_owned()).is_err(), "{bad} was taken");
        }
    }

    #[test]
    fn paths_stay_in_the_repository() {
        for good in ["**", "src/**", "docs/*.md", "a/{b,c}/..d", ".github/**"] {
            assert!(PathPattern::try_from(good.to_owned()).is_ok(), "{good}");
        }
        for bad in ["", "/etc/**", "../x", "a/../b", "a/{b", "[z-a]", "a\nb", "`x`", &"x".repeat(201)] {
            assert!(PathPattern::try_from(bad.to_owned()).is_err(), "{bad} was taken");
        }
    }
}
