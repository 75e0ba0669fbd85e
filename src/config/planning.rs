//! Purpose: the settings of planning and replanning: how often, how sure, and what happens at a limit.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Confidence;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Planning {
    /// Whether the bot acts at all. Off by default: it works only where someone switched it on.
    pub enabled: bool,
    /// Whether it asks and designs with people before planning.
    pub interactive: Interactive,
    /// Reflections per revision of the plan.
    pub max_reflection_count: u32,
    /// Revisions of the plan; the lower of this and `replanning.reflection.max_plan_revisions` holds.
    pub max_plan_revision_count: u32,
    /// Actions between two reflections.
    pub reflection_interval: NonZeroU32,
    pub replanning: Replanning,
}

impl Default for Planning {
    fn default() -> Self {
        Self {
            enabled: false,
            interactive: Interactive::Auto,
            max_reflection_count: 3,
            max_plan_revision_count: 2,
            reflection_interval: const { NonZeroU32::new(5).unwrap() },
            replanning: Replanning::default(),
        }
    }
}

impl Planning {
    /// How often a plan may be revised: two keys of the file limit it, the lower one holds.
    #[must_use]
    pub fn plan_revisions(&self) -> u32 {
        self.max_plan_revision_count.min(self.replanning.reflection.max_plan_revisions)
    }
}

/// Ordered by how much people are asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Interactive {
    Never,
    /// When the goal leaves design choices open.
    #[default]
    Auto,
    Always,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Replanning {
    /// Whether a plan may be changed at all once it runs.
    pub enabled: bool,
    /// What happens when a limit is reached and the model knows no other way.
    pub on_limit: OnLimit,
    pub llm_decision: LlmDecision,
    pub goal_understanding: GoalUnderstanding,
    pub task_decomposition: TaskDecomposition,
    pub action_sequence: ActionSequence,
    pub execution: Execution,
    pub reflection: Reflection,
    pub global: Global,
}

impl Default for Replanning {
    fn default() -> Self {
        Self {
            enabled: true,
            on_limit: OnLimit::Ask,
            llm_decision: LlmDecision::default(),
            goal_understanding: GoalUnderstanding::default(),
            task_decomposition: TaskDecomposition::default(),
            action_sequence: ActionSequence::default(),
            execution: Execution::default(),
            reflection: Reflection::default(),
            global: Global::default(),
        }
    }
}

/// Ordered by how far the bot goes without a person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnLimit {
    Stop,
    /// Wait for a person.
    #[default]
    Ask,
    /// Go on with the plan as it is.
    Continue,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LlmDecision {
    /// From this confidence on, a replan is carried out.
    pub min_confidence_threshold: Confidence,
    /// Whether a person is asked when the confidence is lower.
    pub require_user_confirmation_on_low_confidence: bool,
    /// Below this confidence nobody is asked: the plan stays as it is.
    pub user_confirmation_threshold: Confidence,
    /// Ask for each decision in a call of its own, instead of in the answer of the phase.
    pub separate_call: bool,
}

impl Default for LlmDecision {
    fn default() -> Self {
        Self {
            min_confidence_threshold: Confidence::of(0.5),
            require_user_confirmation_on_low_confidence: true,
            user_confirmation_threshold: Confidence::of(0.3),
            separate_call: false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GoalUnderstanding {
    /// Rounds of questions about the goal.
    pub max_clarification_requests: u32,
    /// Whether the bot goes on with stated assumptions when nobody answers.
    pub auto_assume_on_no_response: bool,
    /// How long it waits for an answer before that.
    pub auto_assume_timeout_minutes: u32,
}

impl Default for GoalUnderstanding {
    fn default() -> Self {
        Self {
            max_clarification_requests: 2,
            auto_assume_on_no_response: true,
            auto_assume_timeout_minutes: 30,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TaskDecomposition {
    /// How often the steps may be cut anew.
    pub max_redecomposition_attempts: u32,
}

impl Default for TaskDecomposition {
    fn default() -> Self {
        Self { max_redecomposition_attempts: 3 }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ActionSequence {
    /// How often the actions may be written anew.
    pub max_regeneration_attempts: u32,
}

impl Default for ActionSequence {
    fn default() -> Self {
        Self { max_regeneration_attempts: 3 }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Execution {
    /// How often a failed action is tried again. At the third failure of a step the rest of the plan is changed
    /// instead, so more than 2 changes nothing.
    pub max_action_retries: u32,
    /// How often the rest of a plan may be changed while it runs.
    pub max_partial_replans: u32,
}

impl Default for Execution {
    fn default() -> Self {
        Self { max_action_retries: 3, max_partial_replans: 2 }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Reflection {
    /// How often reflection may revise the plan.
    pub max_plan_revisions: u32,
}

impl Default for Reflection {
    fn default() -> Self {
        Self { max_plan_revisions: 2 }
    }
}

/// Limits over all phases of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Global {
    /// Replans of all kinds in one run.
    pub max_total_replans: u32,
    /// Whether replans that go in a circle are stopped.
    pub infinite_loop_detection: bool,
    /// How often the same trigger may lead to a replan.
    pub same_trigger_max_count: u32,
}

impl Default for Global {
    fn default() -> Self {
        Self { max_total_replans: 10, infinite_loop_detection: true, same_trigger_max_count: 2 }
    }
}
