//! Purpose: what happened, as the journal keeps it. Facts report; they never command.

use serde::{Deserialize, Serialize};

use super::budget::{Limits, Resource};
use super::effect::Key;
use super::proposal::{Actor, Counts, Named, Place, Wanted};
use super::run::RunId;
use super::work::{Evidence, Outcome};
use crate::actions::{Ground, Issue, Spec};
use crate::domain::{Account, Command, CommentId, Millis, Permission, ThreadRef};
use crate::plan::{Action, ActionId, Call, Goal, Reflection, Step, StepId};
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
        /// What the run may use, as the settings said when it began.
        #[serde(default)]
        budget: Limits,
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
        /// Characters that people cannot see, taken out of what the model was shown.
        #[serde(default)]
        hidden: u64,
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
        usage: Usage,
    },
    PlanProposed {
        actor: Actor,
        reason: String,
        version: u32,
        title: String,
        rationale: String,
        sources: Vec<CommentId>,
        tags: Vec<String>,
        counts: Counts,
    },
    /// The actions were examined: on which ground, what they would do, and what is wrong with them. Later ones replace
    /// only the specs that they name.
    SpecsSet {
        key: Key,
        actor: Actor,
        reason: String,
        ground: Ground,
        place: Place,
        specs: Vec<Spec>,
        issues: Vec<Issue>,
        /// What is no longer as it was when an approval was given.
        changed: Vec<String>,
        counts: Counts,
    },
    ApprovalRequested {
        actor: Actor,
        reason: String,
        request: u32,
        wanted: Vec<Wanted>,
        not_requester: bool,
        digest: String,
        changed: Vec<String>,
        risk_score: f64,
        counts: Counts,
    },
    /// The preview of a request is on the thread; from here on it can be answered.
    PreviewPosted {
        request: u32,
        comment: CommentId,
    },
    /// Somebody ticked boxes in the preview; they count only if that person may approve.
    BoxesTicked {
        by: Account,
        permission: Permission,
        request: u32,
        boxes: Vec<ActionId>,
        counted: bool,
    },
    /// Somebody changed the words of a preview: it is void, and put up anew.
    PreviewTampered {
        by: Account,
        request: u32,
    },
    Approved {
        actor: Actor,
        /// `None`: the policy lets these through.
        by: Option<Account>,
        reason: String,
        request: Option<u32>,
        actions: Vec<Named>,
        left_out: Vec<LeftOut>,
        note: String,
        comment: Option<CommentId>,
        counts: Counts,
    },
    Rejected {
        actor: Actor,
        by: Account,
        reason: String,
        request: u32,
        comment: Option<CommentId>,
        counts: Counts,
    },
    StepSkipped {
        by: Account,
        step: StepId,
        comment: Option<CommentId>,
    },
    BudgetRaised {
        by: Account,
        resource: Resource,
        amount: u64,
        comment: Option<CommentId>,
    },
    /// An action is about to be carried out, exactly as its digest names it.
    ActionBegun {
        key: Key,
        action: ActionId,
        digest: String,
    },
    ActionEnded {
        key: Key,
        action: ActionId,
        outcome: Outcome,
        evidence: Evidence,
        expected: String,
        actual: String,
    },
    /// It had begun when the server died, and nobody knows whether it happened.
    ActionInterrupted {
        key: Key,
        action: ActionId,
    },
    /// A worker's turn in an open action: what it wants to do next.
    Worked {
        key: Key,
        action: ActionId,
        call: Call,
        usage: Usage,
    },
    /// What came of it. Refused: it was outside of what is approved.
    Used {
        key: Key,
        action: ActionId,
        tool: String,
        result: String,
        refused: bool,
    },
    Reflected {
        key: Key,
        /// `None`: the model had nothing usable to say.
        reflection: Option<Reflection>,
        usage: Option<Usage>,
    },
    Executed {
        actor: Actor,
        reason: String,
        succeeded: u32,
        failed: u32,
        left_out: u32,
        counts: Counts,
    },
    Delivered {
        key: Key,
        branch: String,
        commit: Option<String>,
        change: Option<ThreadRef>,
        url: Option<String>,
    },
    Completed {
        actor: Actor,
        reason: String,
        counts: Counts,
    },
    /// A plan that was proposed will not be carried out, or not to its end.
    Aborted {
        actor: Actor,
        reason: String,
        counts: Counts,
    },
    /// Something else than a question could not be done: looking at the repository, the forge, delivering.
    EffectFailed {
        key: Key,
        problem: AskProblem,
        reason: String,
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
            | Self::PlanProposed { .. }
            | Self::SpecsSet { .. }
            | Self::ApprovalRequested { .. }
            | Self::PreviewPosted { .. }
            | Self::BoxesTicked { .. }
            | Self::PreviewTampered { .. }
            | Self::Approved { .. }
            | Self::Rejected { .. }
            | Self::StepSkipped { .. }
            | Self::BudgetRaised { .. }
            | Self::ActionBegun { .. }
            | Self::ActionEnded { .. }
            | Self::ActionInterrupted { .. }
            | Self::Worked { .. }
            | Self::Used { .. }
            | Self::Reflected { .. }
            | Self::Executed { .. }
            | Self::Delivered { .. }
            | Self::Completed { .. }
            | Self::Aborted { .. }
            | Self::EffectFailed { .. }
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
            | Self::Cancelled { comment, .. }
            | Self::Approved { comment, .. }
            | Self::Rejected { comment, .. }
            | Self::StepSkipped { comment, .. }
            | Self::BudgetRaised { comment, .. } => *comment,
            Self::CommentArrived { comment, .. } => Some(*comment),
            Self::Replied { .. }
            | Self::DescriptionEdited { .. }
            | Self::Stopped { .. }
            | Self::AskBegun { .. }
            | Self::GoalUnderstood { .. }
            | Self::Decomposed { .. }
            | Self::Sequenced { .. }
            | Self::PlanProposed { .. }
            | Self::SpecsSet { .. }
            | Self::ApprovalRequested { .. }
            | Self::PreviewPosted { .. }
            | Self::BoxesTicked { .. }
            | Self::PreviewTampered { .. }
            | Self::ActionBegun { .. }
            | Self::ActionEnded { .. }
            | Self::ActionInterrupted { .. }
            | Self::Worked { .. }
            | Self::Used { .. }
            | Self::Reflected { .. }
            | Self::Executed { .. }
            | Self::Delivered { .. }
            | Self::Completed { .. }
            | Self::Aborted { .. }
            | Self::EffectFailed { .. }
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
    /// `/retry`: the unfinished part of the run before.
    Retried,
    /// A reviewer asked for changes on a change request of ours.
    ChangesRequested,
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
    /// An approval, a rejection or a raise with nothing that it could answer.
    NothingToAnswer {
        verb: String,
    },
    /// An approval that was not understood, or names what was not put up; nothing of it counts.
    BadApproval {
        why: String,
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
    /// A verb that this version knows, but cannot carry out.
    NotYet {
        command: Command,
    },
}
