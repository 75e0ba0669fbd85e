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
