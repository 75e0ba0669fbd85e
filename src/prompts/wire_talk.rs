//! Purpose: questions, choices, summaries and mapped answers in the shape they have on the wire.
//!
//! What is asked in a list is read item by item: a plain string will do as a question or an option, and an item that
//! cannot be understood is passed over. A list that is not there at all is told apart from an empty one.

use schemars::JsonSchema;
use serde::Deserialize;

use super::wire::{each, listed, soft_flag, soft_text, soft_texts};
use crate::plan::QuestionKind;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct QuestionsAnswer {
    /// Only what must be known before the work is planned; an empty list if that is nothing.
    #[serde(default, deserialize_with = "listed")]
    #[schemars(with = "Vec<QuestionAnswer>")]
    pub(super) questions: Option<Vec<QuestionAnswer>>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(super) struct QuestionAnswer {
    /// q-1, q-2 and so on.
    #[serde(default, deserialize_with = "soft_text")]
    #[expect(dead_code, reason = "questions are numbered by us; a model that numbers them asks fewer twice")]
    pub(super) id: String,
    #[serde(default, rename = "type", deserialize_with = "soft_text")]
    #[schemars(with = "QuestionKind")]
    pub(super) kind: String,
    /// One question that can be answered in a sentence.
    #[serde(default, deserialize_with = "soft_text")]
    pub(super) question: String,
    /// Why the answer matters, in one line; else null.
    #[serde(default, deserialize_with = "soft_text")]
    #[schemars(with = "Option<String>")]
    pub(super) context: String,
    /// Possible answers, if there are only a few; else an empty list.
    #[serde(default, deserialize_with = "soft_texts")]
    pub(super) options: Vec<String>,
    /// What you take for true if nobody answers, in one line; else null.
    #[serde(default, deserialize_with = "soft_text")]
    #[schemars(with = "Option<String>")]
    pub(super) assumption: String,
}

impl From<String> for QuestionAnswer {
    fn from(question: String) -> Self {
        Self { question, ..Self::default() }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct DecisionsAnswer {
    /// Only what people should decide; an empty list if that is nothing.
    #[serde(default, deserialize_with = "listed")]
    #[schemars(with = "Vec<DecisionAnswer>")]
    pub(super) decisions: Option<Vec<DecisionAnswer>>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(super) struct DecisionAnswer {
    /// d-1, d-2 and so on.
    #[serde(default, deserialize_with = "soft_text")]
    #[expect(dead_code, reason = "decisions are numbered by us")]
    pub(super) id: String,
    /// What is to be decided, in one line.
    #[serde(default, deserialize_with = "soft_text")]
    pub(super) topic: String,
    /// Two to six ways that differ in what they lead to.
    #[serde(default, deserialize_with = "each")]
    pub(super) options: Vec<OptionAnswer>,
}

impl From<String> for DecisionAnswer {
    fn from(topic: String) -> Self {
        Self { topic, ..Self::default() }
    }
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(super) struct OptionAnswer {
    /// opt-a, opt-b and so on.
    #[serde(default, deserialize_with = "soft_text")]
    #[expect(dead_code, reason = "options are lettered by us")]
    pub(super) id: String,
    /// A few words.
    #[serde(default, deserialize_with = "soft_text")]
    pub(super) name: String,
    /// What is done if this is chosen, in one line.
    #[serde(default, deserialize_with = "soft_text")]
    pub(super) description: String,
    #[serde(default)]
    #[schemars(with = "TradeoffsAnswer")]
    pub(super) tradeoffs: Option<TradeoffsAnswer>,
    /// True for the one option that you would choose.
    #[serde(default, deserialize_with = "soft_flag")]
    pub(super) recommendation: bool,
}

impl From<String> for OptionAnswer {
    fn from(name: String) -> Self {
        Self { name, ..Self::default() }
    }
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(super) struct TradeoffsAnswer {
    #[serde(default, deserialize_with = "soft_texts")]
    pub(super) pros: Vec<String>,
    #[serde(default, deserialize_with = "soft_texts")]
    pub(super) cons: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct SummaryAnswer {
    /// The summary, in plain sentences or a short list.
    #[serde(default, deserialize_with = "soft_text")]
    pub(super) summary: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct MappingAnswer {
    /// One entry for each question that the words answer; an empty list if they answer none.
    #[serde(default, deserialize_with = "listed")]
    #[schemars(with = "Vec<MappedAnswer>")]
    pub(super) answers: Option<Vec<MappedAnswer>>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(super) struct MappedAnswer {
    /// Id of an open question.
    #[serde(default, deserialize_with = "soft_text")]
    pub(super) question_id: String,
    /// The part of the words that answers it, as it was written.
    #[serde(default, deserialize_with = "soft_text")]
    pub(super) answer: String,
}

/// Words without a question answer nothing.
impl From<String> for MappedAnswer {
    fn from(answer: String) -> Self {
        Self { answer, ..Self::default() }
    }
}
