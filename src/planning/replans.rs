//! Purpose: replans of a run: what was decided, by whom, what became of it, and the limits that hold whatever a model
//! says.
//!
//! [`judge`] is the policy: numbers in, verdict out. It owns no counter; everything is counted from the record.

use serde::{Deserialize, Serialize};

use super::effect::Key;
use super::run::{Run, RunId};
use crate::domain::{Account, CommentId, Millis};
use crate::plan::{
    Action, ActionId, Alternative, Decided, Level, ReplanDecision, ReplanPhase, ReplanType, RevisionScope,
    Step,
};
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
    },
    ReplanConfirmed {
        replan_id: u32,
        by: Account,
        comment: Option<CommentId>,
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
            | Self::AlternativeGiven { .. } => None,
        }
    }
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

/// From here on a replan needs no warning.
const SURE: f64 = 0.8;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Replans {
    pub all: Vec<Replan>,
    /// The newest result of which nobody has judged yet whether it changes the plan.
    pub fresh: Option<Fresh>,
    /// What a person asked for and nobody has judged yet.
    pub asked: Option<AskedFor>,
    pub limit: Option<LimitHit>,
    /// How many decisions have been judged, whatever came of them.
    pub decided: u32,
    /// Limits at which the model has been asked for another way.
    pub asked_at: Vec<Limit>,
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

/// The level that a decision means, with the phase it was made in: before anything runs there is less to go back to.
#[must_use]
pub fn level_of(decision: &ReplanDecision, phase: ReplanPhase, failed: bool) -> Option<Level> {
    let by_type = match decision.replan_type {
        ReplanType::GoalRevision => Some(Level::Goal),
        ReplanType::TaskRedecomposition => Some(Level::Decomposition),
        ReplanType::ActionRegeneration => Some(Level::Actions),
        ReplanType::PartialReplan => Some(Level::Partial),
        ReplanType::FullReplan => Some(Level::Decomposition),
        ReplanType::PlanRevision => Some(match decision.details.revision_scope {
            Some(RevisionScope::Major) => Level::Decomposition,
            Some(RevisionScope::Minor | RevisionScope::Moderate) | None => Level::Partial,
        }),
        ReplanType::Retry => Some(Level::Retry),
        ReplanType::ClarificationRequest | ReplanType::None => None,
    };
    let by_target = decision.target_phase.map(|target| match target {
        ReplanPhase::GoalUnderstanding => Level::Goal,
        ReplanPhase::TaskDecomposition => Level::Decomposition,
        ReplanPhase::ActionSequence => Level::Actions,
        ReplanPhase::Execution | ReplanPhase::Reflection => Level::Partial,
    });
    let wanted = decision.replan_level.or(by_type).or(by_target)?;
    let lowest = match phase {
        ReplanPhase::GoalUnderstanding => Level::Goal,
        ReplanPhase::TaskDecomposition => Level::Decomposition,
        ReplanPhase::ActionSequence => Level::Actions,
        ReplanPhase::Execution | ReplanPhase::Reflection if failed => Level::Retry,
        ReplanPhase::Execution | ReplanPhase::Reflection => Level::Partial,
    };
    Some(wanted.max(lowest))
}

/// What follows from a decision: the strictest rule wins.
#[must_use]
pub fn judge(run: &Run, fresh: &Fresh, policy: &ReplanPolicy) -> Verdict {
    let stay = |why: &str| Verdict::Stay { why: why.to_owned() };
    let failed = fresh.failed.is_some();
    let decision = match &fresh.said {
        Decided::Decision { decision } => decision,
        Decided::Unreadable { .. } if failed => {
            return Verdict::Limit { level: None, limit: Limit::NoDecision };
        }
        Decided::Unreadable { why } => return stay(&format!("the decision could not be read: {why}")),
        Decided::Nothing => return stay("no replan was asked for"),
    };
    if wants_answers(decision, fresh.phase) {
        return clarify(run, decision, policy);
    }
    if !decision.replan_needed {
        return stay("the plan is good as it is");
    }
    if fresh.by.is_none() && !policy.enabled {
        return stay("the settings switch replanning off");
    }
    let Some(level) = level_of(decision, fresh.phase, failed) else {
        return stay("the decision does not say where to go back to");
    };
    if fresh.by.is_some() {
        return Verdict::Replan { level, sure: true };
    }
    let confidence = decision.confidence;
    let limit = limit_of(run, fresh, level, policy);
    if confidence >= policy.min_confidence {
        return match limit {
            Some(limit) => Verdict::Limit { level: Some(level), limit },
            None => Verdict::Replan { level, sure: confidence >= SURE },
        };
    }
    let may_ask = policy.ask_from.is_some_and(|from| confidence >= from);
    match limit {
        _ if !may_ask => stay("the model is not sure enough"),
        // People are not asked for what could not be done, nor again and again.
        Some(limit) => stay(limit.words()),
        None if asked_people(run) >= policy.total as usize => stay(Limit::Total.words()),
        None => Verdict::Confirm { level },
    }
}

/// How often a person was asked whether to replan.
fn asked_people(run: &Run) -> usize {
    run.replans.all.iter().filter(|replan| matches!(replan.verdict, Verdict::Confirm { .. })).count()
}

fn wants_answers(decision: &ReplanDecision, phase: ReplanPhase) -> bool {
    let asks = decision.clarification_needed || decision.replan_type == ReplanType::ClarificationRequest;
    asks && !decision.clarification_questions.is_empty() && phase == ReplanPhase::GoalUnderstanding
}

fn clarify(run: &Run, decision: &ReplanDecision, policy: &ReplanPolicy) -> Verdict {
    if run.talk.new_questions(&decision.clarification_questions).is_empty() {
        return Verdict::Stay { why: "all of that has been asked before".to_owned() };
    }
    let rounds = run.talk.rounds.iter().filter(|round| !round.questions.is_empty()).count();
    if rounds >= policy.clarifications as usize {
        return Verdict::Stay { why: Limit::Clarifications.words().to_owned() };
    }
    Verdict::Clarify
}

/// The first limit that one more replan of this level would break.
fn limit_of(run: &Run, fresh: &Fresh, level: Level, policy: &ReplanPolicy) -> Option<Limit> {
    // A person may always ask for more; what a person only agreed to was still the model's wish.
    let own = |replan: &&Replan| replan.by.is_none() || matches!(replan.verdict, Verdict::Confirm { .. });
    let executed = || run.replans.all.iter().filter(own).filter(|replan| replan.executed());
    let at_level = |level: Level| executed().filter(|replan| replan.level() == Some(level)).count();
    let reached = |count: usize, most: u32| count >= most as usize;
    if reached(executed().count(), policy.total) {
        return Some(Limit::Total);
    }
    let trigger = trigger_of(run, fresh, level);
    let same = executed().filter(|replan| replan.trigger == trigger).count();
    if level != Level::Retry && policy.same_trigger.is_some_and(|most| reached(same, most)) {
        return Some(Limit::SameTrigger);
    }
    if fresh.phase == ReplanPhase::Reflection && level != Level::Retry {
        let revisions = executed()
            .filter(|replan| replan.phase == ReplanPhase::Reflection && replan.level() != Some(Level::Retry));
        if reached(revisions.count(), policy.plan_revisions) {
            return Some(Limit::PlanRevisions);
        }
    }
    let retries = executed().filter(|r| r.level() == Some(Level::Retry) && r.failed == fresh.failed).count();
    let (count, most, limit) = match level {
        Level::Retry => (retries, policy.action_retries, Limit::ActionRetries),
        Level::Partial => (at_level(level), policy.partial_replans, Limit::PartialReplans),
        Level::Actions => (at_level(level), policy.regenerations, Limit::Regenerations),
        Level::Decomposition => (at_level(level), policy.redecompositions, Limit::Redecompositions),
        Level::Goal => (at_level(level), policy.clarifications, Limit::GoalRevisions),
    };
    reached(count, most).then_some(limit)
}

/// Two replans have the same trigger when the same thing went wrong in the same phase.
pub(super) fn trigger_of(run: &Run, fresh: &Fresh, level: Level) -> String {
    let failed = fresh.failed.as_ref().and_then(|id| run.plan()?.actions().find(|a| a.id == *id));
    let what = match (failed, &fresh.said) {
        (Some(action), _) => {
            let target = action.spec.path.as_deref().unwrap_or(&action.tool);
            format!("{} {target} {}", action.action_type.as_str(), action.spec.command.join(" "))
        }
        (None, Decided::Decision { decision }) => {
            let mut issues: Vec<String> = decision.issues_found.iter().map(|i| i.to_lowercase()).collect();
            issues.sort();
            issues.join("; ")
        }
        (None, Decided::Nothing | Decided::Unreadable { .. }) => String::new(),
    };
    format!("{}/{}/{}", fresh.phase.as_str(), level.number(), what.trim())
}
