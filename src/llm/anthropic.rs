//! Purpose: Anthropic's wire, `POST {base_url}/v1/messages`: the answer is the input of a tool that the model must call.

use ::http::HeaderMap;
use ::http::header::{CONTENT_TYPE, HeaderValue};
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde_json::{Value, json};

use super::bounded::few;
use super::http::{Endpoint, secret_header};
use super::meter::Meter;
use super::{BadSettings, LlmError, ModelSettings};
use crate::prompts::Prompt;

#[derive(Debug)]
pub struct Anthropic {
    pub(super) settings: ModelSettings,
    endpoint: Endpoint,
}

impl Anthropic {
    pub(super) fn new(settings: ModelSettings) -> Result<Self, BadSettings> {
        let base = settings.base_url.trim_end_matches('/');
        let url = settings.endpoint(base.strip_suffix("/v1").unwrap_or(base), "v1/messages")?;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
        if let Some(key) = &settings.api_key {
            headers.insert("x-api-key", secret_header(key.expose_secret())?);
        }
        let endpoint = Endpoint::new(&settings, url, headers)?;
        Ok(Self { settings, endpoint })
    }

    pub(super) async fn say(
        &self,
        name: &str,
        prompt: &Prompt,
        meter: &mut Meter,
    ) -> Result<String, LlmError> {
        let reply = self.endpoint.post(&self.body(name, prompt), meter).await?;
        text(&reply, name, meter)
    }

    fn body(&self, name: &str, prompt: &Prompt) -> Value {
        json!({
            "model": self.settings.model,
            "max_tokens": self.settings.max_output_tokens,
            "system": [{"type": "text", "text": prompt.system, "cache_control": {"type": "ephemeral"}}],
            "messages": [{"role": "user", "content": prompt.user}],
            "tools": [{"name": name, "description": "Gives the answer.", "input_schema": prompt.schema}],
            "tool_choice": {"type": "tool", "name": name, "disable_parallel_tool_use": true},
        })
    }
}

#[derive(Deserialize)]
struct Message {
    #[serde(default, deserialize_with = "few")]
    content: Vec<Block>,
    #[serde(default)]
    stop_reason: Option<String>,
    #[serde(default)]
    usage: Option<Tokens>,
}

/// Kinds of block that we do not use have none of these fields.
#[derive(Deserialize)]
struct Block {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    input: Option<Value>,
    #[serde(default)]
    text: Option<String>,
}

/// What is read from the cache counts as input, at its full price: a cost that is a little too high keeps budgets.
#[derive(Deserialize)]
struct Tokens {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default)]
    cache_read_input_tokens: Option<u64>,
    #[serde(default)]
    output_tokens: u64,
}

impl Tokens {
    fn input(&self) -> u64 {
        let cached = [self.cache_creation_input_tokens, self.cache_read_input_tokens];
        cached.into_iter().flatten().fold(self.input_tokens, u64::saturating_add)
    }
}

fn text(reply: &[u8], name: &str, meter: &mut Meter) -> Result<String, LlmError> {
    let message: Message = serde_json::from_slice(reply)
        .map_err(|_| LlmError::Unreadable("the server's reply is no message".to_owned()))?;
    meter.tokens(message.usage.map(|used| (used.input(), used.output_tokens)));
    if message.stop_reason.as_deref() == Some("max_tokens") {
        return Err(LlmError::CutOff);
    }
    let called = message.content.iter().find(|block| block.name.as_deref() == Some(name));
    if let Some(input) = called.and_then(|block| block.input.as_ref()) {
        return Ok(input.to_string());
    }
    Ok(message.content.into_iter().filter_map(|block| block.text).collect())
}
