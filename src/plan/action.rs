//! Purpose: the smallest thing the bot executes: one use of a tool with a purpose and an expected outcome.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::StepId;

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ActionId(pub String);

impl std::fmt::Display for ActionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActionKind {
    Create,
    Write,
    Mkdir,
    Delete,
    Read,
    Analyze,
    Run,
    Tool,
}

impl ActionKind {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Write => "write",
            Self::Mkdir => "mkdir",
            Self::Delete => "delete",
            Self::Read => "read",
            Self::Analyze => "analyze",
            Self::Run => "run",
            Self::Tool => "tool",
        }
    }
}

/// What exactly is to be done, as far as it is known when planning. What is missing is filled in by a worker later.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ActionSpec {
    /// Path inside the repository, for the kinds that touch files.
    pub path: Option<String>,
    /// The whole content of the file to create or write.
    pub content: Option<String>,
    /// Program and arguments, for `run`.
    pub command: Vec<String>,
    /// What a tool is called with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<serde_json::Map<String, serde_json::Value>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action {
    pub id: ActionId,
    pub task_id: StepId,
    pub action_type: ActionKind,
    pub tool: String,
    pub purpose: String,
    pub expected_outcome: String,
    pub fallback_strategy: String,
    pub spec: ActionSpec,
    /// Its failure does not fail its step.
    #[serde(default)]
    pub optional: bool,
}
