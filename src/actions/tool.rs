//! Purpose: what a tool of an MCP server may do: what its server says about it, against what the operator says.
//!
//! A server writes its own hints, so none of them makes a call harmless. That a tool only looks is the word of the
//! operator, who looked at the tool and pinned it; a server that calls its tool destructive is believed all the same.

use serde::{Deserialize, Serialize};

/// A tool of an MCP server as it is on offer now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offered {
    pub hash: String,
    pub hint: DestructiveHint,
    pub word: OperatorWord,
}

/// Whether the server says that its tool may destroy something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DestructiveHint {
    Yes,
    No,
    Missing,
}

/// What the settings say about a tool with this hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperatorWord {
    ReadOnly,
    Nothing,
}

/// The strictest of what is said about a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolEffect {
    /// It only looks, by the word of the operator. Calling it twice does no harm.
    ReadOnly,
    Changes,
    Destroys,
}

impl Offered {
    #[must_use]
    pub fn effect(&self) -> ToolEffect {
        match (self.hint, self.word) {
            (DestructiveHint::Yes, _) | (DestructiveHint::Missing, OperatorWord::Nothing) => {
                ToolEffect::Destroys
            }
            (DestructiveHint::No | DestructiveHint::Missing, OperatorWord::ReadOnly) => ToolEffect::ReadOnly,
            (DestructiveHint::No, OperatorWord::Nothing) => ToolEffect::Changes,
        }
    }
}
