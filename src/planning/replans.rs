//! Purpose: replans of a run: what was decided, by whom, what became of it, and the limits that hold whatever a model
//! says.
//!
//! What follows from a decision is judged in `judge.rs`.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::effect::Key;
use super::run::RunId;
use crate::domain::{Account, CommentId, Millis};
use crate::plan::{Action, ActionId, Alternative, Decided, Level, ReplanDecision, ReplanPhase, Step, StepId};
use crate::prompts::Usage;

/// What happened about replanning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ReplanFact {
    /// An answer to "should the plan change?", asked by itself.
    DecisionGiven {
        key: Key,
        said: Decided,
        usage: Option<Usage>,
    },
    /// The end of the plan was looked at.
    Evaluated {
        key: Key,
        said: Decided,
        usage: Option<Usage>,
    },
    /// A person wants another plan.
    ReplanAsked {
        by: Account,
        why: String,
        comment: Option<CommentId>,
    },
    /// What follows from a decision. It is in the history whether or not anything does.
    ReplanDecision {
        replan_id: u32,
        phase: ReplanPhase,
        llm_decision: Box<ReplanDecision>,
        confidence: f64,
        executed: bool,
        override_reason: Option<String>,
        verdict: Verdict,
        /// What a second replan for the same reason is known by.
        trigger: String,
        /// The action that went wrong.
        subject: Option<ActionId>,
        by: Option<Account>,
        /// Where the decision came from.
        source: Source,
        /// How long a person has to confirm it.
        wait_ms: Option<i64>,
        /// The plan in force, a line for each step.
        plan_before: Vec<String>,
        /// Open steps that stay as they are, whatever the model makes of the others.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        keeps: Vec<StepId>,
    },
    ReplanConfirmed {
        replan_id: u32,
        by: Account,
        comment: Option<CommentId>,
        /// A yes is carried out; the decision itself could not say so yet.
        #[serde(default = "yes")]
        executed: bool,
    },
    /// `by` nobody: the time was up, and the plan stays.
    ReplanDeclined {
        replan_id: u32,
        by: Option<Account>,
        comment: Option<CommentId>,
    },
    /// Steps and actions that take the place of those not done.
    RevisionMade {
        key: Key,
        steps: Vec<Step>,
        actions: Vec<Action>,
        usage: Usage,
    },
    /// What a replan came to.
    PlanRevised {
        replan_id: u32,
        revision: u32,
        result: ReplanResult,
        why: String,
        duration_ms: i64,
        plan_after: Vec<String>,
    },
    /// What became of a replan that led to no plan: another try, questions, a no, a limit, a failure.
    ReplanEnded {
        replan_id: u32,
        result: ReplanResult,
        executed: bool,
        why: String,
        duration_ms: i64,
    },
    AlternativeGiven {
        key: Key,
        alternative: Alternative,
        usage: Option<Usage>,
    },
    /// How a run goes on that may not replan any more.
    LimitSettled {
        how: Settled,
        by: Option<Account>,
        comment: Option<CommentId>,
    },
}

impl ReplanFact {
    pub(super) fn spoken_in(&self) -> Option<CommentId> {
        match self {
            Self::ReplanAsked { comment, .. }
            | Self::ReplanConfirmed { comment, .. }
            | Self::ReplanDeclined { comment, .. }
            | Self::LimitSettled { comment, .. } => *comment,
            Self::DecisionGiven { .. }
            | Self::Evaluated { .. }
            | Self::ReplanDecision { .. }
            | Self::RevisionMade { .. }
            | Self::PlanRevised { .. }
            | Self::ReplanEnded { .. }
            | Self::AlternativeGiven { .. } => None,
        }
    }
}

fn yes() -> bool {
    true
}

/// What a decision rests on; judging it settles that and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// What a phase or an action came to.
    Result,
    /// A person asked for another plan.
    Person,
    /// An answer says otherwise than was assumed.
    Answer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplanResult {
    Success,
    Failure,
    Skipped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settled {
    /// The plan goes on as it is; what failed stays undone.
    GoOn,
    /// The step that does not work is left out.
    SkipStep,
}

/// What a decision leads to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// The plan stays as it is, and why.
    Stay { why: String },
    /// People are asked about the goal.
    Clarify,
    /// The plan is made anew from this level on; below 0.8 that is worth a warning.
    Replan { level: Level, sure: bool },
    /// A person says whether to replan.
    Confirm { level: Level },
    /// It would be one too many.
    Limit { level: Option<Level>, limit: Limit },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    Clarifications,
    GoalRevisions,
    Redecompositions,
    Regenerations,
    ActionRetries,
    PartialReplans,
    PlanRevisions,
    Total,
    SameTrigger,
    /// The new plan is one that was there before.
    SamePlan,
    /// After a failure nothing was decided that could be done.
    NoDecision,
    /// A new plan was wanted, and none came out.
    NoPlan,
}

impl Limit {
    /// In words that people and models understand.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Clarifications => "the goal has been asked about as often as the settings allow",
            Self::GoalRevisions => "the goal has been worked out anew as often as the settings allow",
            Self::Redecompositions => "the work has been cut into steps anew as often as the settings allow",
            Self::Regenerations => "the actions have been chosen anew as often as the settings allow",
            Self::ActionRetries => "the action has been tried again as often as the settings allow",
            Self::PartialReplans => "the rest of the plan has been changed as often as the settings allow",
            Self::PlanRevisions => "the plan has been revised as often as the settings allow",
            Self::Total => "the run has replanned as often as the settings allow",
            Self::SameTrigger => "the same trouble has led to a replan as often as the settings allow",
            Self::SamePlan => "the new plan is one that was tried before",
            Self::NoDecision => "something failed, and how to go on could not be decided",
            Self::NoPlan => "the new plan could not be made",
        }
    }
}

/// The numbers that the settings give.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplanPolicy {
    pub enabled: bool,
    pub min_confidence: f64,
    /// From here up to `min_confidence` a person is asked; `None`: nobody ever is.
    pub ask_from: Option<f64>,
    pub separate_call: bool,
    pub clarifications: u32,
    pub assumes: bool,
    pub answer_within_ms: i64,
    pub redecompositions: u32,
    pub regenerations: u32,
    pub action_retries: u32,
    pub partial_replans: u32,
    pub plan_revisions: u32,
    pub total: u32,
    /// `None`: circles are not looked for.
    pub same_trigger: Option<u32>,
    pub on_limit: OnLimit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnLimit {
    Stop,
    Ask,
    Continue,
}

impl Default for ReplanPolicy {
    fn default() -> Self {
        Self {
            enabled: true,
            min_confidence: 0.5,
            ask_from: Some(0.3),
            separate_call: false,
            clarifications: 2,
            assumes: true,
            answer_within_ms: 30 * 60_000,
            redecompositions: 3,
            regenerations: 3,
            action_retries: 3,
            partial_replans: 2,
            plan_revisions: 2,
            total: 10,
            same_trigger: Some(2),
            on_limit: OnLimit::Ask,
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Replans {
    pub all: Vec<Replan>,
    /// The newest result of which nobody has judged yet whether it changes the plan.
    pub fresh: Option<Fresh>,
    /// Failures of which nobody has judged yet what follows from them; the oldest is put up first.
    pub failures: Vec<ActionId>,
    /// What a person asked for and nobody has judged yet.
    pub asked: Option<AskedFor>,
    pub limit: Option<LimitHit>,
    /// How many decisions have been judged, whatever came of them.
    pub decided: u32,
    /// Limits at which the model has been asked for another way.
    pub asked_at: Vec<Limit>,
    /// Replans of which the history says what became of them.
    pub recorded: BTreeSet<u32>,
}

/// A phase or an action came to an end; what was said about replanning with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Fresh {
    pub phase: ReplanPhase,
    pub said: Decided,
    /// Whether the decision was asked for by itself already.
    pub asked: bool,
    /// The action that failed.
    pub failed: Option<ActionId>,
    /// A person asked for it.
    pub by: Option<Account>,
    /// Whether the leader has given it to the planner.
    pub routed: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct AskedFor {
    pub by: Account,
    pub why: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct LimitHit {
    pub replan: u32,
    pub limit: Limit,
    pub failed: Option<ActionId>,
    pub since: Millis,
    /// The model knows no other way: people decide.
    pub told: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Replan {
    pub id: u32,
    pub phase: ReplanPhase,
    pub decision: ReplanDecision,
    pub verdict: Verdict,
    pub trigger: String,
    pub failed: Option<ActionId>,
    pub by: Option<Account>,
    pub at: Millis,
    /// When a person has to have confirmed it.
    pub deadline: Option<Millis>,
    pub state: ReplanState,
}

/// Why a replan came to nothing whose plan was still being made when the next one began.
pub const OVERTAKEN: &str = "another plan came first";

#[derive(Debug, Clone, PartialEq)]
pub enum ReplanState {
    Confirming,
    Started,
    Done { at: Millis },
    Failed { why: String },
    Overridden { why: String },
    Declined { by: Option<Account> },
}

impl Replan {
    #[must_use]
    pub fn level(&self) -> Option<Level> {
        match &self.verdict {
            Verdict::Replan { level, .. } | Verdict::Confirm { level } => Some(*level),
            Verdict::Limit { level, .. } => *level,
            Verdict::Stay { .. } | Verdict::Clarify => None,
        }
    }

    /// Whether something was really done again for it. Asking people is no replan.
    #[must_use]
    pub fn executed(&self) -> bool {
        self.level().is_some()
            && match self.state {
                ReplanState::Started | ReplanState::Done { .. } | ReplanState::Failed { .. } => true,
                ReplanState::Confirming | ReplanState::Overridden { .. } | ReplanState::Declined { .. } => {
                    false
                }
            }
    }

    #[must_use]
    pub fn key(&self, run: &RunId) -> Key {
        Key(format!("{run}/confirm/{}", self.id))
    }
}
