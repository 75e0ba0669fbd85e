//! Purpose: what workers, the judge, advisers and plan documents say, in the shape it has on the wire.
//!
//! Read softly: a field that is left out is an empty one, and what that means is the reader's business.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::wire::{SubtaskAnswer, soft_text, soft_texts};
use crate::crew::Verdict;
use crate::plan::{Category, Confidence, RequestedAction, WorkResult};

#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(super) struct FeedbackAnswer {
    #[serde(rename = "type", alias = "kind", default, deserialize_with = "soft_text")]
    #[schemars(with = "FeedbackType")]
    pub(super) kind: String,
    /// For implementation: how much of it is done; else null.
    #[serde(default, deserialize_with = "soft_text")]
    #[schemars(with = "Option<WorkResult>")]
    pub(super) result: String,
    /// For implementation: what was changed, one thing in each line; else empty.
    #[serde(default, deserialize_with = "soft_texts")]
    pub(super) changes: Vec<String>,
    /// For implementation: what others should know about it; else null.
    #[serde(default, deserialize_with = "soft_text")]
    #[schemars(with = "Option<String>")]
    pub(super) notes: String,
    /// For exploration: what was found, in a few sentences that stand alone; else null.
    #[serde(default, deserialize_with = "soft_text")]
    #[schemars(with = "Option<String>")]
    pub(super) findings: String,
    /// For exploration: what whoever comes later should do; else empty.
    #[serde(default, deserialize_with = "soft_texts")]
    pub(super) recommendations: Vec<String>,
    /// For exploration: how sure you are of the findings; else null.
    #[serde(default, deserialize_with = "soft_text")]
    #[schemars(with = "Option<Confidence>")]
    pub(super) confidence: String,
    /// For difficulty: what stands in the way, in a few sentences; else null.
    #[serde(default, deserialize_with = "soft_text")]
    #[schemars(with = "Option<String>")]
    pub(super) issue: String,
    /// For difficulty: what you tried, and what came of it; else empty.
    #[serde(default, deserialize_with = "soft_texts")]
    pub(super) attempts: Vec<String>,
    /// For difficulty; else both null.
    #[serde(default, deserialize_with = "impediment")]
    #[schemars(with = "ImpedimentAnswer")]
    pub(super) impediment: ImpedimentAnswer,
    /// For difficulty: what would help; else null.
    #[serde(default, deserialize_with = "soft_text")]
    #[schemars(with = "Option<String>")]
    pub(super) suggestion: String,
    // What weak models say instead of the fields of the type; never asked for.
    #[serde(default, deserialize_with = "soft_text")]
    #[schemars(skip)]
    pub(super) summary: String,
    #[serde(default, deserialize_with = "soft_texts")]
    #[schemars(skip)]
    pub(super) details: Vec<String>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
enum FeedbackType {
    Implementation,
    Exploration,
    Difficulty,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(super) struct ImpedimentAnswer {
    #[serde(default, deserialize_with = "soft_text")]
    #[schemars(with = "Option<Category>")]
    pub(super) category: String,
    #[serde(default, alias = "requestedAction", deserialize_with = "soft_text")]
    #[schemars(with = "Option<RequestedAction>")]
    pub(super) requested_action: String,
}

/// A difficulty must not be lost over the words for its kind.
fn impediment<'de, D: serde::Deserializer<'de>>(from: D) -> Result<ImpedimentAnswer, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(from)?).unwrap_or_default())
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct JudgementAnswer {
    #[serde(default, deserialize_with = "soft_text")]
    #[schemars(with = "Verdict")]
    pub(super) verdict: String,
    /// Why, each with the evidence that it rests on.
    #[serde(default, deserialize_with = "soft_texts")]
    pub(super) reasons: Vec<String>,
    /// What the worker has to mind when it goes on, for continue; else empty.
    #[serde(default, deserialize_with = "soft_text")]
    pub(super) remarks: String,
    /// Requirements that cannot both be met, in one sentence; null if there are none.
    #[serde(default, deserialize_with = "soft_text")]
    #[schemars(with = "Option<String>")]
    pub(super) contradiction: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct AdviceAnswer {
    /// What the worker should do, concretely; empty if you know nothing that would help.
    #[serde(default, deserialize_with = "soft_text")]
    pub(super) advice: String,
    /// How sure you are that this removes the difficulty, from 0.0 to 1.0.
    #[serde(default)]
    #[schemars(with = "f64")]
    pub(super) confidence: Value,
    /// Requirements that cannot both be met, in one sentence; null if there are none.
    #[serde(default, deserialize_with = "soft_text")]
    #[schemars(with = "Option<String>")]
    pub(super) contradiction: String,
    /// True if only a person can decide this.
    #[serde(default)]
    #[schemars(with = "bool")]
    pub(super) needs_person: Value,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct DocumentAnswer {
    /// What the plan is for, in one sentence.
    #[serde(default, deserialize_with = "soft_text")]
    pub(super) objective: String,
    /// The steps as the document gives them; empty if it gives none.
    #[serde(default, alias = "steps")]
    pub(super) subtasks: Vec<SubtaskAnswer>,
}
