//! Purpose: what one needs to know to reach a model, checked when it is put together.

use std::time::Duration;

use secrecy::SecretString;
use url::Url;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    Openai,
    Anthropic,
    Offline,
}

/// `Debug` shows no key: `SecretString` sees to that, and a URL with a password in it is refused.
#[derive(Debug, Clone)]
pub struct ModelSettings {
    pub provider: Provider,
    /// With or without a slash at the end; for Anthropic with or without `/v1`.
    pub base_url: String,
    pub model: String,
    pub api_key: Option<SecretString>,
    /// For one call, from connecting to the last byte of the answer.
    pub timeout: Duration,
    pub max_output_tokens: u32,
    pub price: Option<Price>,
    /// The pause before the first repetition of a failed call, when the server names none; it grows from there.
    pub pause: Duration,
}

impl ModelSettings {
    #[must_use]
    pub fn new(provider: Provider, base_url: &str, model: &str) -> Self {
        Self {
            provider,
            base_url: base_url.to_owned(),
            model: model.to_owned(),
            api_key: None,
            timeout: Duration::from_secs(120),
            max_output_tokens: 8_192,
            price: None,
            pause: Duration::from_millis(500),
        }
    }

    /// # Errors
    /// When the base URL is none that a call can be made to.
    pub(super) fn endpoint(&self, base: &str, path: &str) -> Result<Url, BadSettings> {
        let url = Url::parse(&format!("{}/{path}", base.trim_end_matches('/')));
        let url = url.map_err(|error| BadSettings(format!("`base_url` of the model is no URL: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(BadSettings(
                "`base_url` of the model must begin with http:// or https://".to_owned(),
            ));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(BadSettings(
                "`base_url` of the model must not hold a password; use the API key".to_owned(),
            ));
        }
        if self.model.trim().is_empty() {
            return Err(BadSettings("the model has no name".to_owned()));
        }
        Ok(url)
    }
}

/// Micro-dollars for a million tokens: 2.50 USD per million is 2,500,000.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Price {
    pub input: u64,
    pub output: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadSettings(pub(super) String);
