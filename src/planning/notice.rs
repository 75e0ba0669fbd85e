//! Purpose: why a run began or stopped, and what a comment is owed an answer for.

use serde::{Deserialize, Serialize};

use crate::domain::CommentId;
use crate::plan::ActionId;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    Assigned,
    Labelled,
    Mentioned,
    /// Assigned to a thread whose description is the plan, as its label says.
    Document,
    /// `/retry`: the unfinished part of the run before.
    Retried,
    /// A reviewer asked for changes on a change request of ours.
    ChangesRequested,
    /// `/replan why` after the run had ended.
    Replanned,
}

/// An action that will not run although its plan does, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    pub id: ActionId,
    pub why: String,
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
    /// The forge is out of reach or wants silence. It is waited for, and that costs none of the tries.
    Away,
    /// The answer will not become better by waiting.
    Lasting,
}

/// Where there are boxes to tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Boxes {
    Preview,
    Questions,
    Decisions,
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
    /// An approval, a rejection or a raise with nothing that it could answer.
    NothingToAnswer {
        verb: String,
    },
    /// An approval that was not understood, or names what was not put up; nothing of it counts.
    BadApproval {
        why: String,
    },
    /// An approval of what the preview no longer says as it was posted; it is posted anew.
    PreviewAltered,
    /// An approval that would cover actions of which the preview does not show everything; nothing of it counts.
    UnreadableActions {
        actions: Vec<ActionId>,
    },
    /// An approval that counts in part: what stays out, and why.
    LeftOutOfApproval {
        left_out: Vec<LeftOut>,
    },
    /// A step that is unknown, at work or done cannot be skipped.
    CannotSkip {
        step: String,
        why: String,
    },
    BadBudget {
        words: String,
    },
    NothingToRetry,
    /// Words that no question could be found for; asked once in a round.
    AnswerUnclear {
        round: u32,
    },
    /// Two people answered differently; which answer counts.
    AnswersDiffer {
        question: String,
        counts: String,
    },
    /// Nobody has answered in time, and nothing may be assumed.
    StillWaiting {
        round: u32,
    },
    /// A question, decision or option that was never put up.
    NoSuchChoice {
        words: String,
        known: Vec<String>,
    },
    /// More than one option of a decision is ticked.
    TwoOptions {
        decision: String,
    },
    /// Somebody changed the words of questions or decisions of ours.
    AskedAltered {
        comment: CommentId,
    },
    /// An answer to a question that has been answered, or is no more.
    QuestionSettled {
        number: u32,
    },
    /// An answer to a question that nobody asked; which ones are open.
    NoSuchQuestion {
        number: u32,
        open: Vec<u32>,
    },
    /// Boxes were changed while nobody looked, so that nobody knows by whom.
    BoxesUnseen {
        of: Boxes,
    },
}
