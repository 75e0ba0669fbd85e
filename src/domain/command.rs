//! Purpose: commands in comments: `/verb …` or `@botname verb …` as the first words; quotes and code never count.

/// A command as the words say it; whether its author may give it is decided elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "verb", rename_all = "snake_case")]
pub enum Command {
    Help,
    Status,
    Plan,
    SkipQuestion {
        question: String,
    },
    SkipStep {
        step: String,
    },
    Choose {
        decision: String,
        option: String,
        because: String,
    },
    Approve {
        what: String,
    },
    Reject {
        why: String,
    },
    Pause,
    Resume,
    Cancel,
    Replan {
        why: String,
    },
    Retry,
    Budget {
        by: String,
    },
    Resolve {
        number: u64,
        text: String,
    },
    /// Addressed to the bot, but no verb it knows (or one that lacks what it needs).
    Unknown {
        word: String,
    },
}

impl Command {
    /// The word that people write for it.
    #[must_use]
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Help => "help",
            Self::Status => "status",
            Self::Plan => "plan",
            Self::SkipQuestion { .. } | Self::SkipStep { .. } => "skip",
            Self::Choose { .. } => "choose",
            Self::Approve { .. } => "approve",
            Self::Reject { .. } => "reject",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Cancel => "cancel",
            Self::Replan { .. } => "replan",
            Self::Retry => "retry",
            Self::Budget { .. } => "budget",
            Self::Resolve { .. } => "resolve",
            Self::Unknown { .. } => "help",
        }
    }
}

/// What a comment is to the bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spoken {
    Command(Command),
    /// Nobody addressed the bot; the text may still be context for the run.
    Prose,
}

#[must_use]
pub fn parse_command(_body: &str, _bot_login: &str) -> Spoken {
    Spoken::Prose
}
