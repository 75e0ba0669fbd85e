//! Purpose: why there is no answer, for the caller to branch on, and in words for the thread.

use std::borrow::Cow;
use std::time::Duration;

use crate::plan::PlanProblem;
use crate::prompts::{Unreadable, Usage};

/// An error with what was spent before it: retries and unusable answers cost as much as good ones.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct Failure {
    pub error: LlmError,
    pub usage: Usage,
}

/// `Display` is for the operator's log: it may quote the server, shortened and without the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LlmError {
    /// The key is missing, wrong or not allowed to use the model.
    #[error("the model's server refuses us with status {status}; check the API key and what it may use")]
    Refused { status: u16 },
    /// The server does not accept the request as such; trying again would not help.
    #[error("the model's server rejects the request with status {status}: {detail}")]
    Rejected { status: u16, detail: String },
    /// Rate limits, server errors and broken connections, after repeated tries.
    #[error("the model cannot be reached: {detail}")]
    Unavailable { detail: String, retry_after: Option<Duration> },
    #[error("the model did not answer in time")]
    TimedOut,
    #[error("the question is longer than the model can read")]
    TooLong,
    #[error("the answer was cut off at the limit of output tokens")]
    CutOff,
    #[error("the model's server sent more than we read")]
    TooLarge,
    /// No usable answer, even after the model was told what was wrong.
    #[error("the answer cannot be used: {0}")]
    Unreadable(String),
    /// A document was read, and its steps cannot be carried out as they stand.
    #[error("the document is no plan that can be carried out: {0}")]
    NoPlan(PlanProblem),
}

impl LlmError {
    /// For how long the server wants to be left alone.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        if let Self::Unavailable { retry_after, .. } = self { *retry_after } else { None }
    }

    /// One plain sentence for the thread: what happened and what to do. It never quotes the server, and of the model only
    /// the names that it gave to the steps of a document.
    #[must_use]
    pub fn for_people(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Refused { .. } => {
                "The language model refused our key. An operator should check the API key and that it may use this model."
            }
            Self::Rejected { .. } => {
                "The language model's server does not accept our requests. An operator should check the model's name and \
                 address in the settings."
            }
            Self::Unavailable { .. } => {
                "The language model cannot be reached at the moment; if that lasts, an operator should look at it."
            }
            Self::TimedOut => {
                "The language model did not answer in time; if that happens again, an operator should raise the time-out."
            }
            Self::TooLong => {
                "The thread is too long for the language model. Shorten the description, or ask an operator for a model \
                 that reads more."
            }
            Self::CutOff => {
                "The language model's answer was cut off. Ask for less at once, or ask an operator to raise the limit of \
                 output tokens."
            }
            Self::TooLarge => {
                "The language model's server sent far too much and was cut off. An operator should check the model's address."
            }
            Self::Unreadable(_) => {
                "The language model gave no usable answer, even when asked a second time. Describing the task in other \
                 words may help."
            }
            Self::NoPlan(problem) => {
                return Cow::Owned(format!(
                    "The document is no plan that can be carried out: {problem}. Write each step as a heading, a number or a \
                     checkbox that waits only for steps that are there."
                ));
            }
        })
    }
}

impl From<Unreadable> for LlmError {
    fn from(problem: Unreadable) -> Self {
        match problem {
            Unreadable::Answer(why) => Self::Unreadable(why),
            Unreadable::Document(problem) => Self::NoPlan(problem),
        }
    }
}
