//! Purpose: one exchange with a model's server: bounded in time and size, repeated where that helps, silent about keys.

use std::time::Duration;

use ::http::{HeaderMap, HeaderValue};
use bytes::Bytes;
use reqwest::{Client, Response};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use url::{Host, Url};

use super::meter::Meter;
use super::retry::{self, Fault};
use super::{BadSettings, LlmError, ModelSettings};
use crate::prompts::plain_text;

/// Ten times the longest honest answer. What is parsed from it stays within the memory that a run may use.
const MAX_BODY: usize = 2 << 20;
const MAX_ERROR_BODY: usize = 64 << 10;
const MAX_DETAIL: usize = 300;

#[derive(Debug)]
pub(super) struct Endpoint {
    client: Client,
    url: Url,
    /// Those that carry the key are marked as sensitive, so that `Debug` does not show them.
    headers: HeaderMap,
    key: Option<SecretString>,
    timeout: Duration,
    pause: Duration,
}

impl Endpoint {
    pub(super) fn new(settings: &ModelSettings, url: Url, headers: HeaderMap) -> Result<Self, BadSettings> {
        // A redirect could carry the key to another host. No server of models needs one.
        let mut builder = Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .connect_timeout(Duration::from_secs(10));
        if is_loopback(&url) {
            builder = builder.no_proxy();
        }
        let client =
            builder.build().map_err(|error| BadSettings(format!("cannot make an HTTP client: {error}")))?;
        Ok(Self {
            client,
            url,
            headers,
            key: settings.api_key.clone(),
            timeout: settings.timeout,
            pause: settings.pause,
        })
    }

    /// The body of a successful reply.
    pub(super) async fn post(&self, body: &Value, meter: &mut Meter) -> Result<Vec<u8>, Fault> {
        let body = Bytes::from(body.to_string());
        let mut tries = 0;
        loop {
            meter.call();
            tries += 1;
            let exchange = tokio::time::timeout(self.timeout, self.exchange(body.clone()));
            let fault = match exchange.await.unwrap_or(Err(Fault::TimedOut)) {
                Ok(reply) => return Ok(reply),
                Err(fault) => fault,
            };
            let Some(wait) = retry::wait(&fault, tries, self.pause, luck()) else { return Err(fault) };
            tracing::warn!(%fault, tries, ?wait, "the model's server failed ({fault}), the call is repeated");
            tokio::time::sleep(wait).await;
        }
    }

    async fn exchange(&self, body: Bytes) -> Result<Vec<u8>, Fault> {
        let request = self.client.post(self.url.clone()).headers(self.headers.clone()).body(body);
        let mut response = request.send().await.map_err(|error| self.dropped(error))?;
        let status = response.status();
        if status.is_success() {
            let (reply, complete) = self.read(&mut response, MAX_BODY).await?;
            return if complete { Ok(reply) } else { Err(Fault::TooLarge) };
        }
        let wish = retry::wish(response.headers());
        // What went wrong is known by the status; a broken explanation does not matter.
        let (reply, _) = self.read(&mut response, MAX_ERROR_BODY).await.unwrap_or_default();
        Err(Fault::Status { code: status.as_u16(), wish, detail: self.without_key(&detail(&reply)) })
    }

    /// Reads as it arrives and stops at the limit; the rest is never received. Says whether that was all.
    async fn read(&self, response: &mut Response, most: usize) -> Result<(Vec<u8>, bool), Fault> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.dropped(error))? {
            if body.len() + chunk.len() > most {
                return Ok((body, false));
            }
            body.extend_from_slice(&chunk);
        }
        Ok((body, true))
    }

    fn dropped(&self, error: reqwest::Error) -> Fault {
        if error.is_timeout() && !error.is_connect() {
            return Fault::TimedOut;
        }
        let chain = format!("{:#}", anyhow::Error::new(error.without_url()));
        Fault::Dropped(self.without_key(&chain))
    }

    fn without_key(&self, text: &str) -> String {
        let key = self.key.as_ref().map(ExposeSecret::expose_secret).filter(|key| !key.is_empty());
        let text = match key {
            Some(key) => text.replace(key, "[key]"),
            None => text.to_owned(),
        };
        plain_text(&text)
            .text
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .chars()
            .take(MAX_DETAIL)
            .collect()
    }
}

impl From<Fault> for LlmError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Status { code: status @ (401 | 403), .. } => Self::Refused { status },
            Fault::Status { code, detail, .. } if is_too_long(code, &detail) => Self::TooLong,
            Fault::Status { code: code @ (408 | 429 | 500..), wish, detail } => {
                Self::Unavailable { detail: format!("status {code}: {detail}"), retry_after: wish }
            }
            Fault::Status { code: status, detail, .. } => Self::Rejected { status, detail },
            Fault::TimedOut => Self::TimedOut,
            Fault::Dropped(detail) => Self::Unavailable { detail, retry_after: None },
            Fault::TooLarge => Self::TooLarge,
        }
    }
}

/// Every server has its own words for a prompt that does not fit.
pub(super) fn is_too_long(code: u16, detail: &str) -> bool {
    let detail = detail.to_ascii_lowercase();
    let words =
        ["context_length", "context length", "context size", "context_size", "context window", "too long"];
    code == 413 || (code == 400 && words.iter().any(|words| detail.contains(words)))
}

/// The key as the value of a header.
pub(super) fn secret_header(value: &str) -> Result<HeaderValue, BadSettings> {
    let mut header = HeaderValue::from_str(value)
        .map_err(|_| BadSettings("the API key of the model has characters that no key has".to_owned()))?;
    header.set_sensitive(true);
    Ok(header)
}

/// The server's message and code where there are any, else its words.
fn detail(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let Ok(json) = serde_json::from_str::<Value>(&text) else { return text.into_owned() };
    let error = json.get("error").unwrap_or(&json);
    let parts =
        ["type", "code", "message"].map(|key| error.get(key).and_then(Value::as_str).unwrap_or_default());
    let known = parts.join(" ");
    if known.trim().is_empty() { text.into_owned() } else { known }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

/// The last byte of a random id.
fn luck() -> u8 {
    uuid::Uuid::now_v7().as_bytes()[15]
}
