//! Purpose: what happened, as the journal keeps it. Facts report; they never command.

use serde::{Deserialize, Serialize};

use super::effect::Key;
use super::run::RunId;
use crate::domain::{Account, Command, CommentId, Millis, Permission};
use crate::plan::{Action, Goal, Step};
use crate::prompts::Usage;

/// One line of a thread's journal: a fact, when it was recorded, and the run it belongs to.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub seq: i64,
    pub at: Millis,
    /// `None` for what concerns the thread and no run, such as a refusal.
    pub run: Option<RunId>,
    pub fact: Fact,
}

impl Entry {
    /// Reads the fact out of a journal line, which also carries the line's own fields.
    ///
    /// # Errors
    /// When the type is unknown or a field is missing: a newer version wrote it, or the line is damaged.
    pub fn from_line(seq: i64, at: Millis, run: Option<RunId>, line: &str) -> Result<Self, UnreadableEntry> {
        let fact = serde_json::from_str(line).map_err(|error| UnreadableEntry {
            seq,
            kind: kind_of(line),
            why: error.to_string(),
        })?;
        Ok(Self { seq, at, run, fact })
    }
}

fn kind_of(line: &str) -> String {
    #[derive(Deserialize)]
    struct Typed {
        r#type: String,
    }
    serde_json::from_str(line).map_or_else(|_| "unknown".to_owned(), |typed: Typed| typed.r#type)
}

/// An entry that this version cannot read; going on without it could break a promise, so the thread stands still.
#[derive(Debug, thiserror::Error)]
#[error("journal entry {seq} of type `{kind}` cannot be read: {why}; was it written by a newer version?")]
pub struct UnreadableEntry {
    pub seq: i64,
    pub kind: String,
    pub why: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Fact {
    /// Somebody with the right asked for a run.
    Triggered {
        by: Account,
        permission: Permission,
        how: Trigger,
        /// The forge's time of the event, to tell a late copy of it from a new wish.
        event_at: Option<Millis>,
        comment: Option<CommentId>,
    },
    /// Somebody asked for something without the right to it.
    Refused {
        by: Account,
        what: String,
        needs: Permission,
        has: Permission,
        comment: Option<CommentId>,
    },
    /// A word to the bot that is answered with a comment and changes nothing.
    Noticed {
        by: Account,
        notice: Notice,
        comment: Option<CommentId>,
    },
    /// What an earlier fact called for is on the thread: a comment, or only a reaction.
    Replied {
        key: Key,
        comment: Option<CommentId>,
    },
    /// A comment by somebody: read by the run if the author may steer, else only counted.
    CommentArrived {
        by: Account,
        permission: Permission,
        comment: CommentId,
        used: bool,
    },
    DescriptionEdited {
        by: Account,
        permission: Permission,
        used: bool,
    },
    Paused {
        by: Account,
        comment: Option<CommentId>,
    },
    Resumed {
        by: Account,
        comment: Option<CommentId>,
    },
    Cancelled {
        by: Account,
        comment: Option<CommentId>,
    },
    Stopped {
        by: Account,
        why: StopReason,
    },
    /// A model call is about to be made; its cost counts from here on.
    AskBegun {
        key: Key,
    },
    GoalUnderstood {
        key: Key,
        goal: Goal,
        usage: Usage,
    },
    Decomposed {
        key: Key,
        reasoning: String,
        steps: Vec<Step>,
        usage: Usage,
    },
    Sequenced {
        key: Key,
        actions: Vec<Action>,
        digest: String,
        usage: Usage,
    },
    AskFailed {
        key: Key,
        problem: AskProblem,
        reason: String,
        usage: Option<Usage>,
    },
    TimerFired {
        key: Key,
    },
    Failed {
        reason: String,
    },
}

impl Fact {
    /// Whether it is about the thread and no run of it. Exhaustive, so that every new fact is thought about.
    #[must_use]
    pub fn is_of_thread(&self) -> bool {
        match self {
            Self::Refused { .. } | Self::Noticed { .. } | Self::Replied { .. } => true,
            Self::Triggered { .. }
            | Self::CommentArrived { .. }
            | Self::DescriptionEdited { .. }
            | Self::Paused { .. }
            | Self::Resumed { .. }
            | Self::Cancelled { .. }
            | Self::Stopped { .. }
            | Self::AskBegun { .. }
            | Self::GoalUnderstood { .. }
            | Self::Decomposed { .. }
            | Self::Sequenced { .. }
            | Self::AskFailed { .. }
            | Self::TimerFired { .. }
            | Self::Failed { .. } => false,
        }
    }

    /// The comment that brought this fact about: its text has been taken, and never is again.
    #[must_use]
    pub fn spoken_in(&self) -> Option<CommentId> {
        match self {
            Self::Triggered { comment, .. }
            | Self::Refused { comment, .. }
            | Self::Noticed { comment, .. }
            | Self::Paused { comment, .. }
            | Self::Resumed { comment, .. }
            | Self::Cancelled { comment, .. } => *comment,
            Self::CommentArrived { comment, .. } => Some(*comment),
            Self::Replied { .. }
            | Self::DescriptionEdited { .. }
            | Self::Stopped { .. }
            | Self::AskBegun { .. }
            | Self::GoalUnderstood { .. }
            | Self::Decomposed { .. }
            | Self::Sequenced { .. }
            | Self::AskFailed { .. }
            | Self::TimerFired { .. }
            | Self::Failed { .. } => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    Assigned,
    Labelled,
    Mentioned,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    Unassigned,
    Unlabelled,
    Closed,
}

/// Whether asking again may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskProblem {
    /// Nobody answered, or too many asked: later may go well.
    Passing,
    /// The answer will not become better by waiting.
    Lasting,
}

/// What a comment is owed an answer for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "notice", rename_all = "snake_case")]
pub enum Notice {
    HelpAsked,
    StatusAsked,
    UnknownVerb {
        word: String,
    },
    /// A trigger on a repository where planning is switched off.
    PlanningIsOff,
    /// The repository's own settings file cannot be obeyed, because it cannot be understood.
    RepoFileBroken {
        why: String,
    },
    /// There have been too many runs on this thread within the last hour.
    TooManyRuns,
    AlreadyRunning,
    NothingRunning {
        verb: String,
    },
    AlreadyPaused,
    NotPaused,
    /// A verb that this version knows, but cannot carry out.
    NotYet {
        command: Command,
    },
}
