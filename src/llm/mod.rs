//! Purpose: ask a model a typed question over the network, or answer it by rules.
//!
//! [`Model::answer`] turns an [`Ask`] into an [`Answer`]: prompt → call → read → one repair round → typed failure.
//! `openai` and `anthropic` know their wire; `http` makes one bounded exchange, again where `retry` says so; `offline`
//! needs no network at all. Nobody else decides anything: what a failure means for a run is the caller's business.

mod anthropic;
mod bounded;
mod error;
mod http;
mod meter;
mod offline;
mod offline_crew;
mod offline_talk;
mod openai;
mod outline;
mod retry;
mod settings;

pub use error::{Failure, LlmError};
pub use settings::{BadSettings, ModelSettings, Price, Provider};

use std::time::Duration;

use self::anthropic::Anthropic;
use self::meter::Meter;
use self::openai::Openai;
use crate::prompts::{Answer, Ask, Prompt, Usage, prompt, read_answer, repair_prompt};

/// The closed set of ways to get an answer.
#[derive(Debug)]
pub enum Model {
    Openai(Openai),
    Anthropic(Anthropic),
    /// By rules, without any network; honest about being no language model.
    Offline {
        /// How long an answer takes, for people who want to watch.
        thinking: Duration,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    pub answer: Answer,
    pub usage: Usage,
}

impl Model {
    /// # Errors
    /// When the settings cannot work, with a sentence that says which and why.
    pub fn new(settings: ModelSettings) -> Result<Self, BadSettings> {
        match settings.provider {
            Provider::Openai => Openai::new(settings).map(Self::Openai),
            Provider::Anthropic => Anthropic::new(settings).map(Self::Anthropic),
            Provider::Offline => Ok(Self::Offline { thinking: Duration::ZERO }),
        }
    }

    /// The name under which usage is recorded.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Openai(model) => &model.settings.model,
            Self::Anthropic(model) => &model.settings.model,
            Self::Offline { .. } => "offline",
        }
    }

    /// Dropping the future drops the call.
    ///
    /// # Errors
    /// When there is no usable answer; what was spent on trying is in the failure.
    pub async fn answer(&self, ask: &Ask) -> Result<Answered, Failure> {
        let mut meter = Meter::start(self.name(), self.price());
        let outcome = self.ask(ask, &mut meter).await;
        let usage = meter.usage();
        match outcome {
            Ok(answer) => Ok(Answered { answer, usage }),
            Err(error) => Err(Failure { error, usage }),
        }
    }

    async fn ask(&self, ask: &Ask, meter: &mut Meter) -> Result<Answer, LlmError> {
        if let Self::Offline { thinking } = self {
            tokio::time::sleep(*thinking).await;
            return offline::answer(ask).map_err(LlmError::NoPlan);
        }
        let name = ask.schema_name();
        let first = prompt(ask);
        let said = self.say(name, &first, meter).await?;
        let problem = match read_answer(ask, &said) {
            Ok(answer) => return Ok(answer),
            Err(problem) => problem,
        };
        tracing::warn!(model = self.name(), question = name, %problem, "the answer to {name} is asked for again");
        let said = self.say(name, &repair_prompt(&first, &said, &problem), meter).await?;
        Ok(read_answer(ask, &said)?)
    }

    async fn say(&self, name: &str, prompt: &Prompt, meter: &mut Meter) -> Result<String, LlmError> {
        match self {
            Self::Openai(model) => model.say(name, prompt, meter).await,
            Self::Anthropic(model) => model.say(name, prompt, meter).await,
            Self::Offline { .. } => Ok(String::new()),
        }
    }

    fn price(&self) -> Option<Price> {
        match self {
            Self::Openai(model) => model.settings.price,
            Self::Anthropic(model) => model.settings.price,
            Self::Offline { .. } => Some(Price::default()),
        }
    }
}
