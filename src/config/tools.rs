//! Purpose: which tools, commands and paths a run may use.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::BaseUrl;
use super::patterns::{PathPattern, ToolName, ToolPattern};
use super::secrets::{EnvName, SecretRef};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Tools {
    /// MCP servers by name; the name stands before those of their tools.
    pub mcp_servers: BTreeMap<ToolName, McpServer>,
    /// Commands that a run may execute, by name.
    pub commands: BTreeMap<ToolName, RunCommand>,
    /// What happens to commands where nothing can cage them: neither bubblewrap nor Landlock.
    pub without_sandbox: WithoutSandbox,
    pub paths: Paths,
}

/// Variables that programs need and that hide nothing; cutting them out would garble what people read.
const PLAIN: [&str; 12] = [
    "PATH", "HOME", "LANG", "LANGUAGE", "TZ", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "PWD", "NO_PROXY",
];

impl Tools {
    /// The secrets that servers of tools are given, by their keys below `key`. A server may say again what it was given.
    pub(super) fn secret_refs(&self, key: &str) -> Vec<(String, SecretRef)> {
        let mut refs = Vec::new();
        for (name, server) in &self.mcp_servers {
            let key = format!("{key}.mcp_servers.{name}");
            refs.extend(
                server.token_env.iter().map(|env| (format!("{key}.token"), SecretRef::Env(env.clone()))),
            );
            let hides = |env: &&EnvName| !PLAIN.contains(&env.as_str()) && !env.as_str().starts_with("LC_");
            let passed = server.pass_env.iter().filter(hides);
            refs.extend(
                passed.map(|env| (format!("{key}.pass_env.{}", env.as_str()), SecretRef::Env(env.clone()))),
            );
        }
        refs
    }
}

/// Ordered by how much is risked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WithoutSandbox {
    #[default]
    Refuse,
    /// They run with all that the server's account may do.
    RunUnprotected,
}

/// Every key has a default, so that a later layer can change one of them alone; `Config::check` looks at the whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct McpServer {
    pub enabled: bool,
    /// Program and arguments of a server that is started as a process.
    pub command: Vec<String>,
    /// Address of a server that is reached over HTTP, instead of `command`.
    pub url: Option<BaseUrl>,
    /// Variable with the bearer token for `url`.
    pub token_env: Option<EnvName>,
    /// Variables that the process gets; it sees no others.
    pub pass_env: Vec<EnvName>,
    /// The tools that may be used, with `*` as wildcard at the end.
    pub allow: Vec<ToolPattern>,
    /// Hashes of tools by name; a tool that no longer has its hash is switched off.
    pub pins: BTreeMap<String, String>,
    /// Tools that only look, by the word of whoever writes this file; each needs a pin. They run without a person where
    /// `approval.auto` lets looking through and the plan gives their arguments, and may be called again after a crash.
    pub read_only: Vec<ToolName>,
    pub timeout_seconds: NonZeroU32,
}

impl Default for McpServer {
    fn default() -> Self {
        Self {
            enabled: true,
            command: Vec::new(),
            url: None,
            token_env: None,
            pass_env: Vec::new(),
            allow: vec![ToolPattern::any()],
            pins: BTreeMap::new(),
            read_only: Vec::new(),
            timeout_seconds: const { NonZeroU32::new(60).unwrap() },
        }
    }
}

impl McpServer {
    /// Whether the settings let a tool be used, whatever it is like now.
    #[must_use]
    pub fn allows(&self, tool: &str) -> bool {
        self.enabled && self.allow.iter().any(|pattern| pattern.matches(tool))
    }

    /// Whether a tool with this hash is the one that was pinned; one without a pin may be any.
    #[must_use]
    pub fn accepts(&self, tool: &str, hash: &str) -> bool {
        self.pins.get(tool).is_none_or(|pin| pin.eq_ignore_ascii_case(hash))
    }

    /// Whether the settings say that a tool with this hash only looks. Without a pin they say it of no tool: nobody knows
    /// which one they mean.
    #[must_use]
    pub fn is_read_only(&self, tool: &str, hash: &str) -> bool {
        let is_listed = self.read_only.iter().any(|listed| listed.as_ref() == tool);
        is_listed && self.pins.contains_key(tool) && self.accepts(tool, hash)
    }

    /// Tools of `read_only` that have no pin.
    pub fn read_only_without_pin(&self) -> impl Iterator<Item = &ToolName> {
        self.read_only.iter().filter(|tool| !self.pins.contains_key(tool.as_ref()))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RunCommand {
    pub enabled: bool,
    /// Program and arguments; no shell is involved.
    pub argv: Vec<String>,
    pub timeout_seconds: NonZeroU32,
    /// Whether it may reach the network.
    pub network: bool,
}

impl Default for RunCommand {
    fn default() -> Self {
        Self {
            enabled: true,
            argv: Vec::new(),
            timeout_seconds: const { NonZeroU32::new(600).unwrap() },
            network: false,
        }
    }
}

/// Patterns of paths in the repository. `deny` wins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Paths {
    pub allow: Vec<PathPattern>,
    pub deny: Vec<PathPattern>,
}

impl Paths {
    /// Whether a run may touch this path.
    #[must_use]
    pub fn permits(&self, path: &str) -> bool {
        let any = |patterns: &[PathPattern]| patterns.iter().any(|pattern| pattern.matches(path));
        any(&self.allow) && !any(&self.deny)
    }
}

impl Default for Paths {
    fn default() -> Self {
        Self { allow: vec![PathPattern::known("**")], deny: vec![PathPattern::known(".git/**")] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_tool_that_is_listed_and_pinned_as_it_is_is_read_only() {
        let server: McpServer = serde_yaml::from_str(
            "{ command: [x], pins: { listed: ABC, pinned: abc }, read_only: [listed, unpinned] }",
        )
        .unwrap();
        for (tool, hash, accepted, is_read_only) in [
            ("listed", "abc", true, true),
            ("listed", "other", false, false),
            ("pinned", "abc", true, false),
            ("unpinned", "abc", true, false),
            ("Listed", "abc", true, false),
        ] {
            let found = (server.accepts(tool, hash), server.is_read_only(tool, hash));
            assert_eq!(found, (accepted, is_read_only), "{tool} {hash}");
        }
    }
}
