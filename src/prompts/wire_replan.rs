//! Purpose: decisions about replanning, final evaluations and revised plans in the shape they have on the wire.
//!
//! A decision is read softly: a field that cannot be understood is an empty one. The two that lead to something,
//! whether to replan and how sure the model is, are kept as they were said, for the reader to judge.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::wire::{ActionAnswer, SubtaskAnswer, each, soft_flag, soft_text, soft_texts, texts};
use super::wire_talk::QuestionAnswer;
use crate::plan::{ErrorClass, EvaluationResult, ReplanPhase, ReplanType, RevisionScope};

// Everything that a decision can say, after any phase and at the end; which part of it a model is asked for is the
// schema's business. A plain comment: documentation would be written to the model.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ReplanAnswer {
    /// True only if the plan cannot go on as it is.
    #[serde(default)]
    #[schemars(with = "bool")]
    pub(super) replan_needed: Value,
    /// How sure you are of this decision, from 0.0 to 1.0.
    #[serde(default)]
    #[schemars(with = "f64")]
    pub(super) confidence: Value,
    /// Why, in a few sentences.
    #[serde(default, deserialize_with = "soft_text")]
    pub(super) reasoning: String,
    #[serde(default, deserialize_with = "soft_text")]
    #[schemars(with = "ReplanType")]
    pub(super) replan_type: String,
    /// The phase to begin again with; null if there is no replan.
    #[serde(default, deserialize_with = "soft_text")]
    #[schemars(with = "Option<ReplanPhase>")]
    pub(super) target_phase: String,
    /// 1 retry, 2 what is not done, 3 all open actions, 4 the steps, 5 the goal; null if there is no replan.
    #[serde(default)]
    #[schemars(with = "Option<u8>")]
    pub(super) replan_level: Value,
    #[serde(default, deserialize_with = "soft_texts")]
    pub(super) issues_found: Vec<String>,
    #[serde(default, deserialize_with = "soft_texts")]
    pub(super) recommended_actions: Vec<String>,
    /// True if people must be asked before the work goes on.
    #[serde(default, deserialize_with = "soft_flag")]
    pub(super) clarification_needed: bool,
    #[serde(default, deserialize_with = "each")]
    pub(super) clarification_questions: Vec<QuestionAnswer>,
    /// What you would take for true without asking.
    #[serde(default, deserialize_with = "soft_texts")]
    pub(super) assumptions_to_make: Vec<String>,
    #[serde(default, deserialize_with = "soft_texts")]
    pub(super) missing_steps: Vec<String>,
    /// Finer, coarser, or how else the work should be cut; empty if it is cut well.
    #[serde(default, deserialize_with = "soft_text")]
    pub(super) recommended_granularity: String,
    #[serde(default, deserialize_with = "soft_text")]
    pub(super) scope_adjustment: String,
    #[serde(default, deserialize_with = "soft_texts")]
    pub(super) unavailable_tools: Vec<String>,
    #[serde(default, deserialize_with = "soft_texts")]
    pub(super) alternative_tools: Vec<String>,
    #[serde(default, deserialize_with = "soft_texts")]
    pub(super) dependency_issues: Vec<String>,
    #[serde(default, deserialize_with = "soft_texts")]
    pub(super) plan_adjustments: Vec<String>,
    /// Transient passes by itself, persistent stays until something changes, fatal ends the plan; null without an error.
    #[serde(default, deserialize_with = "soft_text")]
    #[schemars(with = "Option<ErrorClass>")]
    pub(super) error_classification: String,
    #[serde(default, deserialize_with = "soft_text")]
    pub(super) recovery_strategy: String,
    /// Ids of the actions that cannot be carried out as they are.
    #[serde(default, deserialize_with = "soft_texts")]
    pub(super) affected_actions: Vec<String>,
    #[serde(default, deserialize_with = "soft_text")]
    #[schemars(with = "EvaluationResult")]
    pub(super) evaluation_result: String,
    /// How much of the goal is achieved, from 0 to 100.
    #[serde(default)]
    #[schemars(with = "u8")]
    pub(super) achievement_rate: Value,
    #[serde(default, deserialize_with = "soft_texts")]
    pub(super) issues_identified: Vec<String>,
    #[serde(default, deserialize_with = "soft_texts")]
    pub(super) additional_actions: Vec<String>,
    /// How much of the plan has to change; null if nothing has.
    #[serde(default, deserialize_with = "soft_text")]
    #[schemars(with = "Option<RevisionScope>")]
    pub(super) revision_scope: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct RevisionAnswer {
    /// The steps that take the place of those that are not done; never one that is done.
    #[serde(default)]
    pub(super) subtasks: Vec<SubtaskAnswer>,
    /// The ids of these steps, in the order in which they are to be carried out.
    #[serde(default, deserialize_with = "texts")]
    pub(super) execution_order: Vec<String>,
    /// At least one action for each of these steps.
    #[serde(default)]
    pub(super) actions: Vec<ActionAnswer>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct AlternativeAnswer {
    #[serde(default, deserialize_with = "soft_text")]
    #[schemars(with = "Way")]
    pub(super) way: String,
    /// Why this is the best that is left, in a few sentences.
    #[serde(default, deserialize_with = "soft_text")]
    pub(super) reasoning: String,
}

// As `plan::OtherWay`, without the documentation that would make the schema wider than every provider takes.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
enum Way {
    Continue,
    SkipStep,
    Nothing,
}
