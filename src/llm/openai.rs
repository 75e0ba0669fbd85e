//! Purpose: the OpenAI-compatible wire, `POST {base_url}/chat/completions`, for OpenAI itself and the many that speak it.
//!
//! Not all of them can do everything. How an answer's form is asked for is lowered step by step when a server fails on
//! it (some answer a schema with a 500, each time), and what worked is remembered for as long as the model lives.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use ::http::HeaderMap;
use ::http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde_json::{Value, json};

use super::bounded::{Said, few};
use super::http::{Endpoint, is_too_long, secret_header};
use super::meter::Meter;
use super::retry::Fault;
use super::{BadSettings, LlmError, ModelSettings};
use crate::prompts::Prompt;

#[derive(Debug)]
pub struct Openai {
    pub(super) settings: ModelSettings,
    endpoint: Endpoint,
    form: AtomicU8,
    /// OpenAI's newer models take `max_completion_tokens`, most others know only `max_tokens`.
    new_limit: AtomicBool,
}

/// How the form of the answer is asked for, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Schema,
    Object,
    Text,
}

impl Form {
    const ALL: [Self; 3] = [Self::Schema, Self::Object, Self::Text];

    fn simpler(self) -> Option<Self> {
        match self {
            Self::Schema => Some(Self::Object),
            Self::Object => Some(Self::Text),
            Self::Text => None,
        }
    }
}

impl Openai {
    pub(super) fn new(settings: ModelSettings) -> Result<Self, BadSettings> {
        let url = settings.endpoint(&settings.base_url, "chat/completions")?;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = &settings.api_key {
            headers.insert(AUTHORIZATION, secret_header(&format!("Bearer {}", key.expose_secret()))?);
        }
        let new_limit = AtomicBool::new(url.host_str() == Some("api.openai.com"));
        let endpoint = Endpoint::new(&settings, url, headers)?;
        Ok(Self { settings, endpoint, form: AtomicU8::new(0), new_limit })
    }

    pub(super) async fn say(
        &self,
        name: &str,
        prompt: &Prompt,
        meter: &mut Meter,
    ) -> Result<String, LlmError> {
        let remembered = Form::ALL.get(usize::from(self.form.load(Ordering::Relaxed)));
        let mut form = remembered.copied().unwrap_or(Form::Text);
        let mut limit_tried = false;
        let mut first_fault = None;
        loop {
            let body = self.body(name, prompt, form);
            let fault = match self.endpoint.post(&body, meter).await {
                Ok(reply) => {
                    self.form.store(form as u8, Ordering::Relaxed);
                    return text(&reply, meter);
                }
                Err(fault) => fault,
            };
            if !limit_tried && blames_the_limit(&fault) {
                limit_tried = true;
                self.new_limit.fetch_xor(true, Ordering::Relaxed);
                continue;
            }
            let simpler = form.simpler().filter(|_| may_blame_the_form(&fault));
            let fault = first_fault.get_or_insert(fault);
            let Some(simpler) = simpler else { return Err(fault.clone().into()) };
            tracing::warn!(
                model = self.settings.model,
                ?form,
                ?simpler,
                "asking for the answer in a simpler form"
            );
            form = simpler;
        }
    }

    fn body(&self, name: &str, prompt: &Prompt, form: Form) -> Value {
        let spelled_out = format!(
            "{}\nThe JSON schema of the answer, named {name}:\n{}\nWrite that JSON object and nothing around it.\n",
            prompt.system, prompt.schema
        );
        let system = if form == Form::Schema { &prompt.system } else { &spelled_out };
        let new_limit = self.new_limit.load(Ordering::Relaxed);
        let limit = if new_limit { "max_completion_tokens" } else { "max_tokens" };
        let mut body = json!({
            "model": self.settings.model,
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": prompt.user}],
            limit: self.settings.max_output_tokens,
        });
        match form {
            Form::Schema => {
                body["response_format"] = json!({
                    "type": "json_schema",
                    "json_schema": {"name": name, "strict": true, "schema": prompt.schema},
                });
            }
            Form::Object => body["response_format"] = json!({"type": "json_object"}),
            Form::Text => {}
        }
        body
    }
}

/// Whether asking in a simpler form may help. Which fault it is differs from server to server.
fn may_blame_the_form(fault: &Fault) -> bool {
    match fault {
        Fault::Status { code: code @ (400 | 415 | 422 | 500 | 501), detail, .. } => {
            !is_too_long(*code, detail)
        }
        Fault::Status { .. } | Fault::TimedOut | Fault::Dropped(_) | Fault::TooLarge => false,
    }
}

fn blames_the_limit(fault: &Fault) -> bool {
    match fault {
        Fault::Status { code: 400 | 422, detail, .. } => {
            detail.contains("max_tokens") || detail.contains("max_completion_tokens")
        }
        Fault::Status { .. } | Fault::TimedOut | Fault::Dropped(_) | Fault::TooLarge => false,
    }
}

#[derive(Deserialize)]
struct Completion {
    #[serde(default, deserialize_with = "few")]
    choices: Vec<Choice>,
    #[serde(default)]
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    finish_reason: Option<String>,
    #[serde(default)]
    message: Message,
}

#[derive(Deserialize, Default)]
struct Message {
    #[serde(default)]
    content: Said,
}

#[derive(Deserialize)]
struct Tokens {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
}

fn text(reply: &[u8], meter: &mut Meter) -> Result<String, LlmError> {
    let completion: Completion = serde_json::from_slice(reply)
        .map_err(|_| LlmError::Unreadable("the server's reply is no chat completion".to_owned()))?;
    meter.tokens(completion.usage.map(|used| (used.prompt_tokens, used.completion_tokens)));
    let Some(choice) = completion.choices.into_iter().next() else { return Ok(String::new()) };
    if choice.finish_reason.as_deref() == Some("length") {
        return Err(LlmError::CutOff);
    }
    Ok(choice.message.content.0)
}
