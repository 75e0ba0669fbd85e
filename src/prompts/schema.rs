//! Purpose: JSON schemas in the dialect that all providers take: OpenAI's strict mode is the narrowest.
//!
//! Strict mode wants every object closed and every property required, and knows neither defaults nor formats.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

use super::extract::DECISION;
use super::wire::{DecompositionAnswer, GoalAnswer, ReflectionAnswer, SequenceAnswer, TurnAnswer};
use super::wire_crew::{AdviceAnswer, DocumentAnswer, JudgementAnswer};
use super::wire_replan::{AlternativeAnswer, ReplanAnswer, RevisionAnswer};
use super::wire_talk::{DecisionsAnswer, MappingAnswer, QuestionsAnswer, SummaryAnswer};
use super::{Ask, Decide, Told};

pub(super) fn schema(ask: &Ask) -> Value {
    match ask {
        Ask::GoalUnderstanding { told, .. } => along(strict::<GoalAnswer>(), told, &AFTER_GOAL),
        Ask::DiscoveryQuestions { .. } => strict::<QuestionsAnswer>(),
        Ask::AnswerMapping { .. } => strict::<MappingAnswer>(),
        Ask::DesignDecisions { .. } => strict::<DecisionsAnswer>(),
        Ask::DesignSummary { .. } | Ask::ConversationSummary { .. } => strict::<SummaryAnswer>(),
        Ask::TaskDecomposition { told, .. } => along(strict::<DecompositionAnswer>(), told, &AFTER_STEPS),
        Ask::ActionSequence { told, .. } => along(strict::<SequenceAnswer>(), told, &AFTER_ACTIONS),
        Ask::PlanRevision { .. } => strict::<RevisionAnswer>(),
        Ask::WorkerTurn { .. } => strict::<TurnAnswer>(),
        Ask::Reflection { told, .. } => along(strict::<ReflectionAnswer>(), told, &AFTER_REFLECTION),
        Ask::ReplanDecision { .. } => {
            decision(&[&DECIDED[..], &AFTER_GOAL, &AFTER_STEPS, &AFTER_ACTIONS, &AFTER_ACTION].concat())
        }
        Ask::FinalEvaluation { .. } => decision(&FINAL),
        Ask::AlternativeApproach { .. } => strict::<AlternativeAnswer>(),
        Ask::StepJudgement { .. } => strict::<JudgementAnswer>(),
        Ask::LogicValidation { .. } | Ask::ExternalAdvice { .. } => strict::<AdviceAnswer>(),
        Ask::PlanDocument { .. } => strict::<DocumentAnswer>(),
    }
}

/// What every decision says.
const DECIDED: [&str; 10] = [
    "replan_needed",
    "confidence",
    "reasoning",
    "replan_type",
    "target_phase",
    "replan_level",
    "issues_found",
    "recommended_actions",
    "clarification_needed",
    "clarification_questions",
];
// What the phases add. Along with an answer only the phase's own are asked for: every field is paid for each time.
const AFTER_GOAL: [&str; 1] = ["assumptions_to_make"];
const AFTER_STEPS: [&str; 3] = ["missing_steps", "recommended_granularity", "scope_adjustment"];
const AFTER_ACTIONS: [&str; 4] =
    ["unavailable_tools", "alternative_tools", "dependency_issues", "plan_adjustments"];
const AFTER_ACTION: [&str; 3] = ["error_classification", "recovery_strategy", "affected_actions"];
const AFTER_REFLECTION: [&str; 3] = ["issues_identified", "additional_actions", "revision_scope"];
const FINAL: [&str; 9] = [
    "replan_needed",
    "replan_type",
    "confidence",
    "reasoning",
    "evaluation_result",
    "achievement_rate",
    "issues_identified",
    "additional_actions",
    "revision_scope",
];

fn along(mut answer: Value, told: &Told, own: &[&'static str]) -> Value {
    match told.decide {
        Decide::No => {}
        Decide::Along => {
            answer["properties"][DECISION] = decision(&[&DECIDED[..], own].concat());
            require_all(&mut answer);
        }
    }
    answer
}

fn decision(fields: &[&str]) -> Value {
    let mut schema = strict::<ReplanAnswer>();
    if let Some(properties) = schema["properties"].as_object_mut() {
        properties.retain(|name, _| fields.contains(&name.as_str()));
    }
    require_all(&mut schema);
    schema
}

fn require_all(schema: &mut Value) {
    let names: Vec<String> =
        schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
    schema["required"] = json!(names);
}

fn strict<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12()
        .with(|settings| {
            settings.meta_schema = None;
            settings.inline_subschemas = true;
        })
        .with_transform(schemars::transform::RecursiveTransform(close));
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

fn close(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else { return };
    for word in ["title", "default", "format", "minimum", "maximum"] {
        object.remove(word);
    }
    if let Some(properties) = object.get("properties").and_then(Value::as_object) {
        let names: Vec<&String> = properties.keys().collect();
        let required = json!(names);
        object.insert("required".to_owned(), required);
        object.insert("additionalProperties".to_owned(), json!(false));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompts::samples::every_ask;

    /// What OpenAI's strict mode refuses, by its documentation: open objects, optional properties, other keywords.
    fn check(schema: &Value, at: &str) {
        let known =
            ["type", "properties", "required", "additionalProperties", "items", "enum", "description"];
        let object = schema.as_object().unwrap_or_else(|| panic!("{at} is no schema"));
        for word in object.keys() {
            assert!(known.contains(&word.as_str()), "{at} has {word}");
        }
        if let Some(properties) = object.get("properties") {
            let properties = properties.as_object().expect("properties");
            assert_eq!(object["type"], "object", "{at}");
            assert_eq!(object["additionalProperties"], false, "{at}");
            assert_eq!(object["required"], json!(properties.keys().collect::<Vec<_>>()), "{at}");
            for (name, inner) in properties {
                check(inner, &format!("{at}.{name}"));
            }
        }
        if let Some(items) = object.get("items") {
            check(items, &format!("{at}[]"));
        }
    }

    #[test]
    fn schemas_are_strict() {
        for decide in [Decide::No, Decide::Along] {
            for ask in every_ask(decide) {
                let schema = schema(&ask);
                assert_eq!(schema["type"], "object", "{}", ask.schema_name());
                check(&schema, ask.schema_name());
            }
        }
    }

    fn fields(schema: &Value) -> Vec<&str> {
        schema["properties"].as_object().expect("properties").keys().map(String::as_str).collect()
    }

    #[test]
    fn a_decision_comes_along_only_where_it_is_wanted() {
        let own = |ask: &Ask| -> Option<&'static [&'static str]> {
            match ask.schema_name() {
                "goal_understanding" => Some(&AFTER_GOAL),
                "task_decomposition" => Some(&AFTER_STEPS),
                "action_sequence" => Some(&AFTER_ACTIONS),
                "reflection" => Some(&AFTER_REFLECTION),
                _ => None,
            }
        };
        for ask in every_ask(Decide::No) {
            assert!(schema(&ask)["properties"].get(DECISION).is_none(), "{}", ask.schema_name());
        }
        for ask in every_ask(Decide::Along) {
            let schema = schema(&ask);
            let expected = own(&ask).map(|own| {
                let mut names = [&DECIDED[..], own].concat();
                names.sort_unstable();
                names
            });
            assert_eq!(schema["properties"].get(DECISION).map(fields), expected, "{}", ask.schema_name());
        }
    }

    #[test]
    fn talk_and_replanning_have_the_fields_of_the_contract() {
        let asks = every_ask(Decide::No);
        let of = |name: &str| schema(asks.iter().find(|ask| ask.schema_name() == name).expect(name));
        let question = of("discovery_questions")["properties"]["questions"]["items"].clone();
        assert_eq!(fields(&question), ["assumption", "context", "id", "options", "question", "type"]);
        assert_eq!(
            question["properties"]["type"]["enum"],
            json!(["clarification", "scope", "technical", "priority", "constraint"])
        );
        assert_eq!(question["properties"]["context"]["type"], json!(["string", "null"]));
        let decision = of("design_decisions")["properties"]["decisions"]["items"].clone();
        assert_eq!(fields(&decision), ["id", "options", "topic"]);
        let option = &decision["properties"]["options"]["items"];
        assert_eq!(fields(option), ["description", "id", "name", "recommendation", "tradeoffs"]);
        assert_eq!(fields(&option["properties"]["tradeoffs"]), ["cons", "pros"]);
        assert_eq!(fields(&of("plan_revision")), ["actions", "execution_order", "subtasks"]);
        assert_eq!(
            fields(&of("answer_mapping")["properties"]["answers"]["items"]),
            ["answer", "question_id"]
        );
        assert_eq!(fields(&of("design_summary")), ["summary"]);
        assert_eq!(fields(&of("conversation_summary")), ["summary"]);
        let alternative = of("alternative_approach");
        assert_eq!(fields(&alternative), ["reasoning", "way"]);
        assert_eq!(alternative["properties"]["way"]["enum"], json!(["continue", "skip_step", "nothing"]));

        let replan = of("replan_decision");
        assert_eq!(fields(&replan).len(), 10 + 1 + 3 + 4 + 3);
        assert_eq!(replan["properties"]["confidence"]["type"], "number");
        assert_eq!(replan["properties"]["replan_level"]["type"], json!(["integer", "null"]));
        assert_eq!(
            replan["properties"]["target_phase"]["enum"],
            json!([
                "goal_understanding",
                "task_decomposition",
                "action_sequence",
                "execution",
                "reflection",
                null
            ])
        );
        let evaluation = of("final_evaluation");
        let mut names = FINAL.to_vec();
        names.sort_unstable();
        assert_eq!(fields(&evaluation), names);
    }

    #[test]
    fn the_crew_has_the_fields_of_the_contract() {
        let asks = every_ask(Decide::No);
        let of = |name: &str| schema(asks.iter().find(|ask| ask.schema_name() == name).expect(name));
        let feedback = of("worker_turn")["properties"]["feedback"].clone();
        assert_eq!(
            fields(&feedback),
            [
                "attempts",
                "changes",
                "confidence",
                "findings",
                "impediment",
                "issue",
                "notes",
                "recommendations",
                "result",
                "suggestion",
                "type"
            ]
        );
        let choices = |schema: &Value, field: &str| schema["properties"][field]["enum"].clone();
        assert_eq!(choices(&feedback, "type"), json!(["implementation", "exploration", "difficulty"]));
        assert_eq!(choices(&feedback, "result"), json!(["success", "partial", "failed", null]));
        let impediment = &feedback["properties"]["impediment"];
        assert_eq!(
            choices(impediment, "category"),
            json!(["technical", "ambiguity", "scope", "dependency", null])
        );
        assert_eq!(
            choices(impediment, "requested_action"),
            json!(["clarification", "replan", "escalate", "continue", null])
        );
        let judgement = of("judge_verdict");
        assert_eq!(fields(&judgement), ["contradiction", "reasons", "remarks", "verdict"]);
        assert_eq!(choices(&judgement, "verdict"), json!(["done", "continue", "replan"]));
        for name in ["logic_validation", "external_advice"] {
            assert_eq!(fields(&of(name)), ["advice", "confidence", "contradiction", "needs_person"]);
        }
        assert_eq!(fields(&of("plan_document")), ["objective", "subtasks"]);
    }

    #[test]
    fn schemas_have_the_fields_of_the_contract() {
        let names =
            |schema: &Value| json!(schema["properties"].as_object().map(|p| p.keys().collect::<Vec<_>>()));
        assert_eq!(
            names(&strict::<GoalAnswer>()),
            json!(["constraints", "context", "design_choices_open", "main_objective", "success_criteria"])
        );
        let subtask = &strict::<DecompositionAnswer>()["properties"]["subtasks"]["items"];
        assert_eq!(
            names(subtask),
            json!([
                "dependencies",
                "description",
                "estimated_complexity",
                "id",
                "required_tools",
                "rests_on"
            ])
        );
        assert_eq!(subtask["properties"]["estimated_complexity"]["enum"], json!(["low", "medium", "high"]));
        let action = &strict::<SequenceAnswer>()["properties"]["actions"]["items"];
        assert_eq!(
            names(action),
            json!([
                "action_type",
                "expected_outcome",
                "fallback_strategy",
                "optional",
                "purpose",
                "spec",
                "task_id",
                "tool"
            ])
        );
        assert_eq!(action["properties"]["spec"]["properties"]["path"]["type"], json!(["string", "null"]));
    }
}
