//! Purpose: what keeps a worker from going on, and what it asks for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

// Plain comments: documentation of the variants would make the schema wider than every provider takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    Technical,
    Ambiguity,
    Scope,
    Dependency,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequestedAction {
    Clarification,
    Replan,
    Escalate,
    // The worker only tells, and tries again.
    Continue,
}
