//! Purpose: what a worker may call while it works on one approved action. The strictest reading wins.

use super::path::RepoPath;
use crate::plan::{Action, ActionKind, Call};

/// Why a call is refused. The sentence goes to the model, so that it can go on within its bounds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutOfScope {
    #[error("refused: {0}")]
    BadPath(#[from] super::BadPath),
    #[error("refused: this action may write `{allowed}` and nothing else")]
    OtherPath { allowed: String },
    #[error("refused: this action may not write files")]
    NoWriting,
    #[error("refused: this action may call `{allowed}` and nothing else")]
    OtherTool { allowed: String },
    #[error("refused: this action may not call tools")]
    NoTools,
    #[error(
        "refused: this action may not run commands; the plan has to have a `run` action that people approve"
    )]
    NoCommands,
}

/// A call that is within what was approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InScope<'a> {
    Read(RepoPath),
    List(Option<RepoPath>),
    Write(RepoPath, &'a str),
    Tool(&'a serde_json::Map<String, serde_json::Value>),
    Report,
    Finish,
}

/// # Errors
/// When the approval of the action does not cover the call.
pub fn within<'a>(action: &Action, call: &'a Call) -> Result<InScope<'a>, OutOfScope> {
    match call {
        Call::ReadFile { path } => Ok(InScope::Read(path.parse()?)),
        Call::ListFiles { path: None } => Ok(InScope::List(None)),
        Call::ListFiles { path: Some(path) } if matches!(path.trim(), "" | "." | "./" | "/") => {
            Ok(InScope::List(None))
        }
        Call::ListFiles { path: Some(path) } => Ok(InScope::List(Some(path.parse()?))),
        Call::WriteFile { path, content } => within_writing(action, path, content),
        Call::CallTool { name, arguments } => match action.action_type {
            ActionKind::Tool if *name == action.tool => Ok(InScope::Tool(arguments)),
            ActionKind::Tool => Err(OutOfScope::OtherTool { allowed: action.tool.clone() }),
            ActionKind::Create
            | ActionKind::Write
            | ActionKind::Mkdir
            | ActionKind::Delete
            | ActionKind::Read
            | ActionKind::Analyze
            | ActionKind::Run => Err(OutOfScope::NoTools),
        },
        Call::RunCommand { .. } => Err(OutOfScope::NoCommands),
        Call::Report { .. } => Ok(InScope::Report),
        Call::Finish { .. } => Ok(InScope::Finish),
    }
}

fn within_writing<'a>(action: &Action, path: &str, content: &'a str) -> Result<InScope<'a>, OutOfScope> {
    let writes = matches!(action.action_type, ActionKind::Create | ActionKind::Write);
    let Some(allowed) = action.spec.path.as_deref().filter(|_| writes) else {
        return Err(OutOfScope::NoWriting);
    };
    let (allowed, asked): (RepoPath, RepoPath) = (allowed.parse()?, path.parse()?);
    if asked != allowed {
        return Err(OutOfScope::OtherPath { allowed: allowed.to_string() });
    }
    Ok(InScope::Write(asked, content))
}

/// The tools that a worker is told of.
#[must_use]
pub fn tools_of(action: &Action) -> Vec<&'static str> {
    let mut tools = vec!["read_file", "list_files"];
    match action.action_type {
        ActionKind::Create | ActionKind::Write => tools.push("write_file"),
        ActionKind::Tool => tools.push("call_tool"),
        ActionKind::Mkdir | ActionKind::Delete | ActionKind::Read | ActionKind::Analyze | ActionKind::Run => {
        }
    }
    tools.push("finish");
    tools
}
