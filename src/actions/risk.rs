//! Purpose: how risky an action is, and why. Numbers and names in, a verdict with its reason out.

use serde::{Deserialize, Serialize};

use super::examine::{Before, Preflight, is_open};
use super::path::RepoPath;
use super::tool::ToolEffect;
use crate::plan::{Action, ActionKind};

/// Ordered: a policy says up to which one nobody is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    Low,
    Medium,
    High,
}

impl Risk {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }

    fn weight(self) -> f64 {
        match self {
            Self::Low => 0.1,
            Self::Medium => 0.4,
            Self::High => 1.0,
        }
    }
}

/// Between 0 and 1: the mean weight of the actions, and never less than half the weight of the worst.
#[must_use]
pub fn risk_score(risks: &[Risk]) -> f64 {
    let Some(worst) = risks.iter().max() else { return 0.0 };
    let count = f64::from(u32::try_from(risks.len()).unwrap_or(u32::MAX));
    let mean = risks.iter().map(|risk| risk.weight()).sum::<f64>() / count;
    (mean.max(worst.weight() / 2.0) * 100.0).round() / 100.0
}

/// More than this in place, and a person should look before it is replaced.
const BIG_BYTES: u64 = 64 * 1024;
const BIG_LINES: u32 = 100;

/// Files that make machines do things: CI, hooks, agents, owners, and our own settings.
const SENSITIVE_DIRS: [&str; 11] = [
    ".github",
    ".gitlab",
    ".circleci",
    ".husky",
    ".githooks",
    ".claude",
    ".cursor",
    ".devcontainer",
    ".vscode",
    ".buildkite",
    ".forgejo",
];
const SENSITIVE_FILES: [&str; 17] = [
    ".gitlab-ci.yml",
    ".travis.yml",
    "jenkinsfile",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    ".pre-commit-config.yaml",
    "agents.md",
    "claude.md",
    "gemini.md",
    ".cursorrules",
    ".mcp.json",
    "codeowners",
    ".gitmodules",
    ".gitattributes",
    ".planwright.yaml",
    ".envrc",
    ".npmrc",
];

/// Whether a change of this file can make a machine do something by itself.
#[must_use]
pub fn is_sensitive(path: &RepoPath) -> bool {
    let in_dir = path.parts().any(|part| SENSITIVE_DIRS.contains(&part.to_lowercase().as_str()));
    in_dir || SENSITIVE_FILES.contains(&path.file_name().to_lowercase().as_str())
}

/// The risk of an action that was found to be possible.
#[must_use]
pub(super) fn rate(
    action: &Action,
    path: Option<&RepoPath>,
    preflight: &Preflight,
    tool: Option<ToolEffect>,
) -> (Risk, String) {
    let because = |risk, reason: &str| (risk, reason.to_owned());
    // A command or a tool that names a path may change it.
    let changes = !matches!(action.action_type, ActionKind::Read | ActionKind::Analyze);
    if changes && path.is_some_and(is_sensitive) {
        return because(Risk::High, "steers CI, hooks, agents or ownership");
    }
    match action.action_type {
        ActionKind::Read | ActionKind::Analyze => because(Risk::Low, "only looks"),
        ActionKind::Create => because(Risk::Medium, "adds a file"),
        ActionKind::Mkdir => because(Risk::Medium, "adds a directory"),
        ActionKind::Delete => because(Risk::High, "deletes a file"),
        ActionKind::Run => because(Risk::High, "runs a program"),
        ActionKind::Write => rate_write(preflight),
        ActionKind::Tool => match tool {
            Some(ToolEffect::Destroys) => because(Risk::High, "a tool that may destroy"),
            Some(ToolEffect::Changes) => because(Risk::Medium, "a tool that may change things"),
            // Whoever fills in the arguments decides what is looked at, and what a server elsewhere is told.
            Some(ToolEffect::ReadOnly) if is_open(action) => {
                because(Risk::Medium, "the settings say that it only looks, but its arguments are open")
            }
            Some(ToolEffect::ReadOnly) => because(Risk::Low, "the settings say that it only looks"),
            None => because(Risk::High, "an unknown tool"),
        },
    }
}

/// What nobody has seen may be anything: a person decides about its loss.
fn rate_write(preflight: &Preflight) -> (Risk, String) {
    if matches!(preflight.before, Before::After { .. }) {
        return (Risk::High, "replaces what an earlier action leaves there".to_owned());
    }
    let big = preflight.removed > BIG_LINES
        || matches!(&preflight.before, Before::File { bytes, .. } if *bytes > BIG_BYTES);
    if big {
        (Risk::High, "replaces much of a file".to_owned())
    } else if preflight.overwrite {
        (Risk::Medium, "changes a file".to_owned())
    } else {
        (Risk::Medium, "adds a file".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_machines_is_sensitive() {
        for (path, expected) in [
            (".github/workflows/ci.yml", true),
            ("sub/.GitHub/x", true),
            (".gitlab-ci.yml", true),
            ("docs/AGENTS.md", true),
            ("Jenkinsfile", true),
            (".planwright.yaml", true),
            ("src/github/mod.rs", false),
            ("README.md", false),
        ] {
            assert_eq!(is_sensitive(&path.parse().unwrap()), expected, "{path}");
        }
    }

    #[test]
    fn one_bad_action_among_many_is_still_seen() {
        assert!((risk_score(&[]) - 0.0).abs() < 1e-9);
        assert!((risk_score(&[Risk::Low]) - 0.1).abs() < 1e-9);
        let mut many = vec![Risk::Low; 50];
        many.push(Risk::High);
        assert!((risk_score(&many) - 0.5).abs() < 1e-9);
        assert!((risk_score(&[Risk::High, Risk::Medium]) - 0.7).abs() < 1e-9);
    }
}
