//! Purpose: answers in the shape they have on the wire. The schema that a model is given is made from these types.
//!
//! Reading is lenient where meaning is clear: a missing list is an empty one, a number will do as an id, a lone string as
//! a list of one. Fields that we do not know are passed over; a `replan_decision` beside the answer is taken out before.
//! The doc comments of the fields are part of the schema: they are written to the model. Talk with people is in
//! `wire_talk`, changes of the plan in `wire_replan`, what the crew says in `wire_crew`.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::wire_crew::FeedbackAnswer;
use crate::plan::{ActionKind, Complexity, ReflectionStatus};

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct GoalAnswer {
    /// What is to be achieved, in one sentence.
    #[serde(default, deserialize_with = "text")]
    pub(super) main_objective: String,
    /// How one can tell that it is achieved; each checkable on its own.
    #[serde(default, deserialize_with = "texts")]
    pub(super) success_criteria: Vec<String>,
    /// What must not change or must be kept to.
    #[serde(default, deserialize_with = "texts")]
    pub(super) constraints: Vec<String>,
    /// What one needs to know to understand the request, in a few sentences.
    #[serde(default, deserialize_with = "text")]
    pub(super) context: String,
    /// True if choices remain that the people in the thread should make before the work is cut into steps.
    #[serde(default, deserialize_with = "flag")]
    pub(super) design_choices_open: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct DecompositionAnswer {
    /// Why the work is cut this way.
    #[serde(default, deserialize_with = "text")]
    pub(super) reasoning: String,
    #[serde(default)]
    pub(super) subtasks: Vec<SubtaskAnswer>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct SubtaskAnswer {
    /// task_1, task_2 and so on.
    #[serde(default, deserialize_with = "text")]
    pub(super) id: String,
    /// What is done in this step, in one line.
    #[serde(default, deserialize_with = "text")]
    pub(super) description: String,
    /// Ids of the steps that must be done before this one.
    #[serde(default, deserialize_with = "texts")]
    pub(super) dependencies: Vec<String>,
    #[serde(default, deserialize_with = "text")]
    #[schemars(with = "Complexity")]
    pub(super) estimated_complexity: String,
    /// Kinds of tools that the step needs.
    #[serde(default, deserialize_with = "texts")]
    pub(super) required_tools: Vec<String>,
    /// Ids (A1, A2 and so on) of the assumptions without which the step would have to be planned anew.
    #[serde(default, deserialize_with = "soft_texts")]
    pub(super) rests_on: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct SequenceAnswer {
    /// The ids of all steps, in the order in which they are to be carried out.
    #[serde(default, deserialize_with = "texts")]
    pub(super) execution_order: Vec<String>,
    /// At least one action for each step.
    #[serde(default)]
    pub(super) actions: Vec<ActionAnswer>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ActionAnswer {
    /// Id of the step that this action belongs to.
    #[serde(default, deserialize_with = "text")]
    pub(super) task_id: String,
    #[serde(default, deserialize_with = "text")]
    #[schemars(with = "ActionKind")]
    pub(super) action_type: String,
    /// Name of the tool that is used.
    #[serde(default, deserialize_with = "text")]
    pub(super) tool: String,
    /// What the action is for, in one line.
    #[serde(default, deserialize_with = "text")]
    pub(super) purpose: String,
    /// What one can check afterwards.
    #[serde(default, deserialize_with = "text")]
    pub(super) expected_outcome: String,
    /// What to do if it fails.
    #[serde(default, deserialize_with = "text")]
    pub(super) fallback_strategy: String,
    /// True if the step is done even when this action fails.
    #[serde(default, deserialize_with = "flag")]
    pub(super) optional: bool,
    /// The exact change, as far as it is known already.
    #[serde(default)]
    #[schemars(with = "SpecAnswer")]
    pub(super) spec: Option<SpecAnswer>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(super) struct SpecAnswer {
    /// Path inside the repository, for actions on files; else null.
    #[serde(default)]
    pub(super) path: Option<String>,
    /// The whole content of the file to create or write, if it is known already; else null.
    #[serde(default)]
    pub(super) content: Option<String>,
    /// Program and arguments, for `run`; else an empty list.
    #[serde(default, deserialize_with = "texts")]
    pub(super) command: Vec<String>,
    /// The arguments of a tool as a JSON object in a string, if they are known already; else null.
    #[serde(default)]
    pub(super) arguments_json: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct TurnAnswer {
    /// Why this is the next thing to do, in one line.
    #[serde(default, deserialize_with = "text")]
    #[expect(dead_code, reason = "thinking before acting makes better answers; nobody reads it")]
    pub(super) thought: String,
    /// One of the tools that are named in the task.
    #[serde(default, deserialize_with = "text")]
    pub(super) tool: String,
    /// Path inside the repository, for read_file, list_files and write_file; else null.
    #[serde(default)]
    pub(super) path: Option<String>,
    /// The whole new content of the file, for write_file; else null.
    #[serde(default)]
    pub(super) content: Option<String>,
    /// Name of the tool, for call_tool; else null.
    #[serde(default)]
    pub(super) name: Option<String>,
    /// The arguments of that tool as a JSON object in a string, for call_tool; else null.
    #[serde(default)]
    pub(super) arguments_json: Option<String>,
    /// Program and arguments, for run_command; else an empty list.
    #[serde(default, deserialize_with = "texts")]
    pub(super) command: Vec<String>,
    /// What the work came to, for finish; what you have to tell, for report; empty otherwise.
    #[serde(default)]
    #[schemars(with = "FeedbackAnswer")]
    pub(super) feedback: Option<FeedbackAnswer>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ReflectionAnswer {
    #[serde(default, deserialize_with = "text")]
    pub(super) action_id: String,
    #[serde(default, deserialize_with = "text")]
    #[schemars(with = "ReflectionStatus")]
    pub(super) status: String,
    /// What the result is worth, in a few sentences.
    #[serde(default, deserialize_with = "text")]
    pub(super) evaluation: String,
    /// How well it fits the plan.
    #[serde(default, deserialize_with = "text")]
    pub(super) alignment_with_plan: String,
    #[serde(default, deserialize_with = "texts")]
    pub(super) issues_identified: Vec<String>,
    /// True only if the plan cannot reach its goal as it is.
    #[serde(default, deserialize_with = "flag")]
    pub(super) plan_revision_needed: bool,
}

fn text<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    as_text(Value::deserialize(from)?).ok_or_else(|| serde::de::Error::custom("expected a string"))
}

pub(super) fn texts<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let texts: Option<Vec<String>> = items(Value::deserialize(from)?).into_iter().map(as_text).collect();
    texts.ok_or_else(|| serde::de::Error::custom("expected a list of strings"))
}

fn items(value: Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items,
        Value::Null => vec![],
        one @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => vec![one],
    }
}

/// Lists are cut before they become structures: a megabyte of empty items would become a hundred of those.
const WIDEST: usize = 300;

/// What is more than a text is written as JSON: a model that says more than it was asked for has still said it.
pub(super) fn soft_text<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Ok(said(Value::deserialize(from)?))
}

pub(super) fn soft_texts<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    Ok(items(Value::deserialize(from)?).into_iter().take(WIDEST).map(said).collect())
}

fn said(value: Value) -> String {
    match value {
        Value::Array(_) | Value::Object(_) => value.to_string(),
        Value::String(_) | Value::Number(_) | Value::Null | Value::Bool(_) => {
            as_text(value).unwrap_or_default()
        }
    }
}

pub(super) fn soft_flag<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    Ok(as_flag(&Value::deserialize(from)?).unwrap_or(false))
}

/// Models write `"true"` as well as `true`.
pub(super) fn as_flag(value: &Value) -> Option<bool> {
    match value {
        Value::Null => Some(false),
        Value::Bool(flag) => Some(*flag),
        Value::String(word) => word.trim().to_ascii_lowercase().parse().ok(),
        Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The items that can be understood, each an object or, in short, its main text.
pub(super) fn each<'de, D, T>(from: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + From<String>,
{
    let item = |item| match item {
        Value::String(text) => Some(T::from(text)),
        Value::Object(_) => serde_json::from_value(item).ok(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    };
    Ok(items(Value::deserialize(from)?).into_iter().take(WIDEST).filter_map(item).collect())
}

/// As [`each`], for a list whose absence says that the question was not answered.
pub(super) fn listed<'de, D, T>(from: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + From<String>,
{
    each(from).map(Some)
}

fn as_text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Null => Some(String::new()),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn flag<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    Ok(Option::<bool>::deserialize(from)?.unwrap_or(false))
}
