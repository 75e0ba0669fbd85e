//! Purpose: why a tool was not called, or its answer not received, in sentences that a model can act on.

use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum McpError {
    #[error("there is no tool `{0}`; use one of those on offer")]
    NoSuchTool(String),
    #[error("the tool `{0}` may not be used here; use another one")]
    NotAllowed(String),
    #[error("the tool `{name}` is no longer the one that was approved; a person must approve it anew")]
    Changed {
        name: String,
        /// The hash of the tool as it is now.
        now: String,
    },
    #[error("the tool `{name}` is switched off: {why}")]
    SwitchedOff { name: String, why: String },
    /// Nothing was called.
    #[error("{0}; nothing was called, go on without it or try again later")]
    Unavailable(String),
    /// The server went away after it had got the call.
    #[error("{0} before it answered; whether the call was carried out is not known")]
    Lost(String),
    #[error("the tool gave no answer within {} s; whether the call was carried out is not known", .0.as_secs_f32())]
    TimedOut(Duration),
    #[error("the call was stopped")]
    Stopped { sent: Sent },
    #[error("the tool does not take these arguments: {0}")]
    BadArguments(String),
    /// The server said no, in the protocol's own way.
    #[error("the server refused the call: {0}")]
    Refused(String),
}

/// Whether a call had left when it was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    Yes,
    No,
}

impl McpError {
    /// Whether the tool may have done its work although no answer came.
    #[must_use]
    pub fn may_have_run(&self) -> bool {
        match self {
            Self::Lost(_) | Self::TimedOut(_) | Self::Stopped { sent: Sent::Yes } => true,
            Self::NoSuchTool(_)
            | Self::NotAllowed(_)
            | Self::Changed { .. }
            | Self::SwitchedOff { .. }
            | Self::Unavailable(_)
            | Self::Stopped { sent: Sent::No }
            | Self::BadArguments(_)
            | Self::Refused(_) => false,
        }
    }
}
