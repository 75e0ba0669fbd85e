//! Purpose: a model's word on whether the plan should change: how sure it is, how far back to go, and why.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::question::Question;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReplanPhase {
    GoalUnderstanding,
    TaskDecomposition,
    ActionSequence,
    Execution,
    Reflection,
}

impl ReplanPhase {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::GoalUnderstanding => "goal understanding",
            Self::TaskDecomposition => "task decomposition",
            Self::ActionSequence => "action sequence",
            Self::Execution => "execution",
            Self::Reflection => "reflection",
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReplanType {
    ClarificationRequest,
    GoalRevision,
    TaskRedecomposition,
    ActionRegeneration,
    PartialReplan,
    FullReplan,
    PlanRevision,
    Retry,
    #[default]
    None,
}

/// How far a replan goes back; each level redoes what the levels below it do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// 1: the same action once more.
    Retry,
    /// 2: what is not done yet is planned anew.
    Partial,
    /// 3: all open actions are chosen anew.
    Actions,
    /// 4: the work is cut into steps anew.
    Decomposition,
    /// 5: the goal is worked out anew.
    Goal,
}

impl Level {
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            Self::Retry => 1,
            Self::Partial => 2,
            Self::Actions => 3,
            Self::Decomposition => 4,
            Self::Goal => 5,
        }
    }

    #[must_use]
    pub fn of_number(number: u64) -> Option<Self> {
        [Self::Retry, Self::Partial, Self::Actions, Self::Decomposition, Self::Goal]
            .into_iter()
            .find(|level| u64::from(level.number()) == number)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    Transient,
    Persistent,
    Fatal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EvaluationResult {
    Success,
    PartialSuccess,
    Failure,
}

impl EvaluationResult {
    fn words(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::PartialSuccess => "partial success",
            Self::Failure => "failure",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RevisionScope {
    Minor,
    Moderate,
    Major,
}

/// A decision as the model gave it, checked. What it leads to is decided by the policy, never here.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReplanDecision {
    pub replan_needed: bool,
    /// 0.0 to 1.0.
    pub confidence: f64,
    pub reasoning: String,
    pub replan_type: ReplanType,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_phase: Option<ReplanPhase>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replan_level: Option<Level>,
    pub issues_found: Vec<String>,
    pub recommended_actions: Vec<String>,
    pub clarification_needed: bool,
    pub clarification_questions: Vec<Question>,
    #[serde(flatten)]
    pub details: ReplanDetails,
}

/// What the phases add. Each is empty where it does not apply.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReplanDetails {
    // After understanding.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assumptions_to_make: Vec<String>,
    // After decomposition.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing_steps: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub recommended_granularity: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub scope_adjustment: String,
    // After sequencing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unavailable_tools: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub alternative_tools: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dependency_issues: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plan_adjustments: Vec<String>,
    // After an action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_classification: Option<ErrorClass>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub recovery_strategy: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub affected_actions: Vec<String>,
    // At the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evaluation_result: Option<EvaluationResult>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub achievement_rate: Option<u8>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub issues_identified: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub additional_actions: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision_scope: Option<RevisionScope>,
}

impl ReplanDecision {
    /// What the next plan has to mind: everything that the decision says is wrong, missing or better.
    #[must_use]
    pub fn advice(&self) -> Vec<String> {
        let d = &self.details;
        let named = |what: &str, items: &[String]| {
            items.iter().map(|item| format!("{what}: {item}")).collect::<Vec<_>>()
        };
        let one = |what: &str, text: &str| {
            if text.is_empty() { vec![] } else { vec![format!("{what}: {text}")] }
        };
        [
            one("why", &self.reasoning),
            d.error_classification
                .map_or(vec![], |class| vec![format!("the error is {class:?}").to_lowercase()]),
            d.evaluation_result.map_or(vec![], |result| vec![format!("so far: {}", result.words())]),
            d.achievement_rate.map_or(vec![], |rate| vec![format!("achieved so far: {rate} %")]),
            named("issue", &self.issues_found),
            named("issue", &d.issues_identified),
            named("recommended", &self.recommended_actions),
            named("assume", &d.assumptions_to_make),
            named("missing step", &d.missing_steps),
            one("granularity", &d.recommended_granularity),
            one("scope", &d.scope_adjustment),
            named("not available", &d.unavailable_tools),
            named("use instead", &d.alternative_tools),
            named("dependency", &d.dependency_issues),
            named("adjust", &d.plan_adjustments),
            one("recover by", &d.recovery_strategy),
            named("affected action", &d.affected_actions),
            named("additional action", &d.additional_actions),
        ]
        .concat()
    }
}

/// What came with a phase's answer about replanning.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "said", rename_all = "snake_case")]
pub enum Decided {
    /// Nothing: no replan.
    #[default]
    Nothing,
    /// Something that is no decision, and why not.
    Unreadable {
        why: String,
    },
    Decision {
        decision: Box<ReplanDecision>,
    },
}

impl Decided {
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::Nothing
    }
}

/// What the model proposes when a limit does not let it replan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OtherWay {
    /// Go on with the plan as it is.
    Continue,
    /// Leave the step out that does not work.
    SkipStep,
    #[default]
    Nothing,
}

/// Its answer to "you may not replan any more; is there another way?"
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alternative {
    pub way: OtherWay,
    pub reasoning: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(words: &str) -> Vec<String> {
        vec![words.to_owned(), format!("{words} too")]
    }

    /// A new field does not compile until somebody has thought about what the next plan is told of it.
    fn is_thought_of(decision: &ReplanDecision) {
        let ReplanDecision {
            replan_needed: _,
            confidence: _,
            reasoning: _,
            replan_type: _,
            target_phase: _,
            replan_level: _,
            issues_found: _,
            recommended_actions: _,
            clarification_needed: _,
            clarification_questions: _,
            details,
        } = decision;
        let ReplanDetails {
            assumptions_to_make: _,
            missing_steps: _,
            recommended_granularity: _,
            scope_adjustment: _,
            unavailable_tools: _,
            alternative_tools: _,
            dependency_issues: _,
            plan_adjustments: _,
            error_classification: _,
            recovery_strategy: _,
            affected_actions: _,
            evaluation_result: _,
            achievement_rate: _,
            issues_identified: _,
            additional_actions: _,
            // It says how far the replan goes back.
            revision_scope: _,
        } = details;
    }

    fn full() -> ReplanDecision {
        let details = ReplanDetails {
            assumptions_to_make: texts("it is Linux"),
            missing_steps: texts("run the tests"),
            recommended_granularity: "smaller steps".to_owned(),
            scope_adjustment: "only the web login".to_owned(),
            unavailable_tools: texts("npm"),
            alternative_tools: texts("make"),
            dependency_issues: texts("task_2 needs task_3"),
            plan_adjustments: texts("merge task_1 and task_2"),
            error_classification: Some(ErrorClass::Persistent),
            recovery_strategy: "take another library".to_owned(),
            affected_actions: texts("a3"),
            evaluation_result: Some(EvaluationResult::PartialSuccess),
            achievement_rate: Some(80),
            issues_identified: texts("no docs"),
            additional_actions: texts("write docs"),
            revision_scope: Some(RevisionScope::Minor),
        };
        ReplanDecision {
            reasoning: "The library is gone.".to_owned(),
            issues_found: texts("no library"),
            recommended_actions: texts("use the other one"),
            details,
            ..ReplanDecision::default()
        }
    }

    #[test]
    fn the_next_plan_is_told_all_that_a_decision_says() {
        let full = full();
        is_thought_of(&full);
        insta::assert_snapshot!(full.advice().join("\n"), @r"
        why: The library is gone.
        the error is persistent
        so far: partial success
        achieved so far: 80 %
        issue: no library
        issue: no library too
        issue: no docs
        issue: no docs too
        recommended: use the other one
        recommended: use the other one too
        assume: it is Linux
        assume: it is Linux too
        missing step: run the tests
        missing step: run the tests too
        granularity: smaller steps
        scope: only the web login
        not available: npm
        not available: npm too
        use instead: make
        use instead: make too
        dependency: task_2 needs task_3
        dependency: task_2 needs task_3 too
        adjust: merge task_1 and task_2
        adjust: merge task_1 and task_2 too
        recover by: take another library
        affected action: a3
        affected action: a3 too
        additional action: write docs
        additional action: write docs too
        ");
        assert_eq!(ReplanDecision::default().advice(), Vec::<String>::new(), "what is not said is not told");
    }
}
