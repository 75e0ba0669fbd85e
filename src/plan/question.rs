//! Purpose: what the bot asks people before it plans: questions with an answer, and choices between options.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `q-1`, `q-2` and so on, counted over the whole run, so that an answer always means one question.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct QuestionId(pub String);

impl std::fmt::Display for QuestionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    #[default]
    Clarification,
    Scope,
    Technical,
    Priority,
    Constraint,
}

impl QuestionKind {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Clarification => "clarification",
            Self::Scope => "scope",
            Self::Technical => "technical",
            Self::Priority => "priority",
            Self::Constraint => "constraint",
        }
    }

    /// Whether its answer goes to the planner word for word. The others are summed up in the design.
    #[must_use]
    pub fn shapes_the_plan(self) -> bool {
        match self {
            Self::Clarification | Self::Scope | Self::Technical => true,
            Self::Priority | Self::Constraint => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    pub id: QuestionId,
    #[serde(rename = "type")]
    pub kind: QuestionKind,
    pub question: String,
    /// Why it matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// What is taken for true if nobody answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assumption: Option<String>,
}

/// Something that people decide between a few options: `d-1` with `opt-a`, `opt-b` and so on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionPoint {
    pub id: String,
    pub topic: String,
    pub options: Vec<DesignOption>,
}

impl DecisionPoint {
    #[must_use]
    pub fn option(&self, id: &str) -> Option<&DesignOption> {
        self.options.iter().find(|option| option.id.eq_ignore_ascii_case(id))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DesignOption {
    pub id: String,
    pub name: String,
    pub description: String,
    pub tradeoffs: Tradeoffs,
    #[serde(default)]
    pub recommendation: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tradeoffs {
    pub pros: Vec<String>,
    pub cons: Vec<String>,
}
