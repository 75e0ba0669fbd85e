//! Purpose: what happened, as the journal keeps it. Facts report; they never command.

use serde::{Deserialize, Serialize};

use super::budget::{Limits, Resource};
use super::confirm::Mismatch;
use super::crew::CrewFact;
use super::effect::Key;
use super::notice::{AskProblem, LeftOut, Notice, StopReason, Trigger};
use super::proposal::{Actor, Counts, Named, Place, Wanted};
use super::replans::ReplanFact;
use super::talk::TalkFact;
use super::work::{Evidence, Outcome};
use crate::actions::{Ground, Issue, Spec};
use crate::domain::{Account, CommentId, Lang, Millis, Permission, ThreadRef};
use crate::plan::{Action, ActionId, Call, Decided, Goal, Reflection, Step, StepId};
use crate::prompts::Usage;

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
        /// Why somebody wants another plan than the one of the run before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
        /// The language of our own sentences, as the settings or the thread had it when the run began.
        #[serde(default, skip_serializing_if = "Lang::is_english")]
        lang: Lang,
    },
    /// Somebody asked for something without the right to it.
    Refused {
        by: Account,
        what: String,
        needs: Permission,
        has: Permission,
        comment: Option<CommentId>,
    },
    /// A delivery told of words that the forge does not have like that. Nothing follows from it.
    CommentUnconfirmed {
        by: Account,
        comment: CommentId,
        mismatch: Mismatch,
    },
    /// A word to the bot that is answered with a comment and changes nothing.
    Noticed {
        by: Account,
        notice: Notice,
        comment: Option<CommentId>,
    },
    /// The language that the thread is written in, where people are answered before there is a run that knows it.
    LanguageSeen {
        lang: Lang,
    },
    /// All that came before was removed, as the settings want it for a thread long quiet.
    Forgotten {
        entries: i64,
        /// Whether what was known of the thread let a standing wish begin a run.
        may_start: bool,
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
        /// What was said before the newest comments, in short. Older journals have it here; now it is a fact of its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<String>,
        #[serde(default, skip_serializing_if = "Decided::is_nothing")]
        replan: Decided,
    },
    Decomposed {
        key: Key,
        reasoning: String,
        steps: Vec<Step>,
        usage: Usage,
        #[serde(default, skip_serializing_if = "Decided::is_nothing")]
        replan: Decided,
    },
    Sequenced {
        key: Key,
        actions: Vec<Action>,
        usage: Usage,
        #[serde(default, skip_serializing_if = "Decided::is_nothing")]
        replan: Decided,
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
        /// Its parts, in their order.
        comments: Vec<CommentId>,
        /// Actions that cannot be read whole in it; approving everything does not cover them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unreadable: Vec<ActionId>,
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
        /// `None`: it was found like that, and nobody knows who did it.
        by: Option<Account>,
        request: u32,
    },
    /// Somebody who approved may not approve any more: what they approved is put up again.
    ApprovalVoided {
        by: Account,
        permission: Permission,
        actions: Vec<ActionId>,
        /// The action at whose turn this was found; what its worker wanted is not done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        action: Option<ActionId>,
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
        #[serde(default, skip_serializing_if = "Decided::is_nothing")]
        replan: Decided,
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
        /// Whoever was asked does not want to be asked again before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_before: Option<Millis>,
    },
    AskFailed {
        key: Key,
        problem: AskProblem,
        reason: String,
        usage: Option<Usage>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_before: Option<Millis>,
    },
    TimerFired {
        key: Key,
    },
    Failed {
        reason: String,
    },
    /// What belongs to the conversation before the plan, under names of its own.
    #[serde(untagged)]
    Talk(TalkFact),
    /// What belongs to replanning.
    #[serde(untagged)]
    Replan(ReplanFact),
    /// What happens among leader, workers and judge.
    #[serde(untagged)]
    Crew(CrewFact),
}

impl Fact {
    /// Whether it is about the thread and no run of it.
    #[must_use]
    pub fn is_of_thread(&self) -> bool {
        matches!(
            self,
            Self::Refused { .. }
                | Self::Noticed { .. }
                | Self::CommentUnconfirmed { .. }
                | Self::LanguageSeen { .. }
                | Self::Forgotten { .. }
                | Self::Replied { .. }
        )
    }

    /// Whether it tells where something is that began before the end of its run: on the branch, or on the thread.
    #[must_use]
    pub fn outlives_its_run(&self) -> bool {
        matches!(
            self,
            Self::Crew(
                CrewFact::StepMerged { .. }
                    | CrewFact::EscalationPosted { .. }
                    | CrewFact::EscalationReminded { .. }
            )
        )
    }

    /// The comment that brought this fact about: its text has been taken, and never is again. Exhaustive, so that every
    /// new fact is thought about.
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
            Self::Talk(fact) => fact.spoken_in(),
            Self::Replan(fact) => fact.spoken_in(),
            Self::Crew(fact) => fact.spoken_in(),
            // The comment itself may still come.
            Self::CommentUnconfirmed { .. }
            | Self::ApprovalVoided { .. }
            | Self::Replied { .. }
            | Self::LanguageSeen { .. }
            | Self::Forgotten { .. }
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
