//! Purpose: what a worker does in one turn of an open action, and what is thought of the plan on the way.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::feedback::{self, Feedback};

/// One use of a tool that a worker asks for. Whether it may is decided by the action's approval, not here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "tool", rename_all = "snake_case")]
pub enum Call {
    ReadFile {
        path: String,
    },
    ListFiles {
        path: Option<String>,
    },
    /// The whole content of the file that the action is about.
    WriteFile {
        path: String,
        content: String,
    },
    CallTool {
        name: String,
        arguments: Map<String, Value>,
    },
    /// A program; never within the scope of an open action, but a model may still ask for it.
    RunCommand {
        command: Vec<String>,
    },
    /// Tells the leader and the other workers something in the middle of the work, which goes on.
    Report {
        feedback: Feedback,
    },
    Finish {
        #[serde(deserialize_with = "feedback::stored")]
        feedback: Feedback,
    },
}

impl Call {
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::ReadFile { .. } => "read_file",
            Self::ListFiles { .. } => "list_files",
            Self::WriteFile { .. } => "write_file",
            Self::CallTool { .. } => "call_tool",
            Self::RunCommand { .. } => "run_command",
            Self::Report { .. } => "report",
            Self::Finish { .. } => "finish",
        }
    }
}

/// What the model thinks of how the plan is going.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reflection {
    pub action_id: String,
    pub status: ReflectionStatus,
    pub evaluation: String,
    pub alignment_with_plan: String,
    pub issues_identified: Vec<String>,
    pub plan_revision_needed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReflectionStatus {
    Success,
    Partial,
    Failure,
}
