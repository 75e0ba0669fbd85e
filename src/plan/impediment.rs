//! Purpose: what kind of difficulty stands in a worker's way, and what the worker asks for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    // Plain comments: documentation here would make the schema wider than every provider takes.
    Technical,
    Ambiguity,
    Scope,
    Dependency,
}

impl Category {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Technical => "technical",
            Self::Ambiguity => "ambiguity",
            Self::Scope => "scope",
            Self::Dependency => "dependency",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequestedAction {
    Clarification,
    Replan,
    Escalate,
    Continue,
}

impl RequestedAction {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Clarification => "clarification",
            Self::Replan => "replan",
            Self::Escalate => "escalate",
            Self::Continue => "continue",
        }
    }
}
