//! Purpose: an MCP server over streamable HTTP: our own client, bounded answers, and a token for one host only.
//!
//! rmcp drives the session; only the exchange of bytes is ours, because its own reads JSON answers of any size.
//! Servers may offer a stream for what they want to say unasked. It is not opened: tools are listed anew before
//! every use, and requests of servers are refused, so there is nothing to hear.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use ::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use ::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, RequestBuilder, Response};
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::{BoxedSseResponse, FixedInterval};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
    StreamableHttpPostResponse,
};
use secrecy::{ExposeSecret, SecretString};
use sse_stream::SseStream;
use url::{Host, Url};

use super::capped::{LARGEST_MESSAGE, Weight};
use super::fate::Fate;

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const SESSION: &str = "mcp-session-id";
const MAX_REDIRECTS: usize = 3;
/// Tries to read on where a stream of events broke off.
const RESUMES: usize = 3;

type HttpError = StreamableHttpError<reqwest::Error>;

/// # Errors
/// What is wrong with the settings.
pub(super) fn transport(
    url: &str,
    token: Option<&SecretString>,
    fate: &Fate,
) -> Result<StreamableHttpClientTransport<Exchange>, String> {
    let url = checked(url)?;
    let exchange = Exchange { client: client(&url, token)?, fate: fate.clone() };
    let mut resumes = FixedInterval::default();
    resumes.max_times = Some(RESUMES);
    let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
        // A new session is a new connection: its tools must be looked at again before one is called.
        .reinit_on_expired_session(false)
        .max_sse_event_size(LARGEST_MESSAGE);
    config.retry_config = Arc::new(resumes);
    Ok(StreamableHttpClientTransport::with_client(exchange, config))
}

fn checked(url: &str) -> Result<Url, String> {
    let url = Url::parse(url).map_err(|error| format!("has an address that is no URL: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("has an address that does not begin with http:// or https://".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("has a password in its address; use a token".to_owned());
    }
    Ok(url)
}

fn client(url: &Url, token: Option<&SecretString>) -> Result<Client, String> {
    let mut headers = HeaderMap::new();
    if let Some(token) = token {
        let value = format!("Bearer {}", token.expose_secret());
        let mut value = HeaderValue::from_str(&value)
            .map_err(|_| "has a token with characters that no token has".to_owned())?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    let mut builder = Client::builder()
        .default_headers(headers)
        .redirect(Policy::custom(stay_at_home))
        .retry(reqwest::retry::never())
        .connect_timeout(Duration::from_secs(10));
    if is_loopback(url) {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| format!("cannot be reached: {error}"))
}

/// Token and arguments go to nobody else, and a redirect that loses the body helps nobody.
fn stay_at_home(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let keeps_body =
        matches!(attempt.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
    let first = attempt.previous().first();
    let is_home = first.is_some_and(|first| first.origin() == attempt.url().origin());
    if keeps_body && is_home && attempt.previous().len() <= MAX_REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

#[derive(Debug, Clone)]
pub(super) struct Exchange {
    client: Client,
    fate: Fate,
}

impl StreamableHttpClient for Exchange {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let wants_answer = matches!(message, JsonRpcMessage::Request(_));
        let had_session = session.is_some();
        let request = self.client.post(uri.as_ref()).header(ACCEPT, format!("{JSON}, {EVENTS}"));
        let request = request.header(CONTENT_TYPE, JSON).body(serde_json::to_vec(&message)?);
        let response = with_headers(request, session, headers).send().await.map_err(silent)?;
        match response.status() {
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT => Ok(StreamableHttpPostResponse::Accepted),
            StatusCode::NOT_FOUND if had_session => Err(StreamableHttpError::SessionExpired),
            status if status.is_success() && wants_answer => self.answer(response).await,
            status if status.is_success() => Ok(StreamableHttpPostResponse::Accepted),
            status => self.refusal(status, response).await,
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        _token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), HttpError> {
        let request = with_headers(self.client.delete(uri.as_ref()), Some(session), headers);
        // A server that keeps its sessions says 405, and nothing depends on the answer.
        request.send().await.map(drop).map_err(silent)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxedSseResponse, HttpError> {
        let Some(last_event) = last_event else { return Err(StreamableHttpError::ServerDoesNotSupportSse) };
        let request =
            self.client.get(uri.as_ref()).header(ACCEPT, EVENTS).header("last-event-id", last_event);
        let response = with_headers(request, session, headers).send().await.map_err(silent)?;
        if response.status().is_success() && is(&response, EVENTS) {
            return Ok(self.events(response));
        }
        Err(StreamableHttpError::ServerDoesNotSupportSse)
    }
}

impl Exchange {
    async fn answer(&self, response: Response) -> Result<StreamableHttpPostResponse, HttpError> {
        let session = response.headers().get(SESSION).and_then(|id| id.to_str().ok()).map(str::to_owned);
        if is(&response, EVENTS) {
            return Ok(StreamableHttpPostResponse::Sse(self.events(response), session));
        }
        if !is(&response, JSON) {
            return Err(StreamableHttpError::UnexpectedContentType(None));
        }
        let message = serde_json::from_slice(&self.read(response).await?)?;
        Ok(StreamableHttpPostResponse::Json(message, session))
    }

    /// Some servers put the protocol's own errors into replies with a status of failure.
    async fn refusal(
        &self,
        status: StatusCode,
        response: Response,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let said = !matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) && is(&response, JSON);
        let body = if said { self.read(response).await? } else { Vec::new() };
        match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
            Ok(message @ JsonRpcMessage::Error(_)) => Ok(StreamableHttpPostResponse::Json(message, None)),
            _ => Err(StreamableHttpError::UnexpectedServerResponse(Cow::Owned(format!("status {status}")))),
        }
    }

    fn events(&self, response: Response) -> BoxedSseResponse {
        SseStream::from_bytes_stream(self.capped(response)).boxed()
    }

    async fn read(&self, response: Response) -> Result<Vec<u8>, HttpError> {
        let mut pieces = std::pin::pin!(self.capped(response));
        let mut body = Vec::new();
        while let Some(piece) = pieces.next().await {
            body.extend_from_slice(&piece?);
        }
        Ok(body)
    }

    /// The whole reply to one message of ours is bounded, in whatever form it comes.
    fn capped(&self, response: Response) -> impl Stream<Item = io::Result<Bytes>> + Send + use<> {
        let (fate, mut weight) = (self.fate.clone(), Weight::default());
        response.bytes_stream().map(move |piece| {
            let piece = piece.map_err(|error| io::Error::other(error.without_url()))?;
            weight.add(&piece, &fate)?;
            Ok(piece)
        })
    }
}

fn with_headers(
    mut request: RequestBuilder,
    session: Option<Arc<str>>,
    headers: HashMap<HeaderName, HeaderValue>,
) -> RequestBuilder {
    if let Some(session) = session {
        request = request.header(SESSION, session.as_ref());
    }
    headers.into_iter().fold(request, |request, (name, value)| request.header(name, value))
}

fn is(response: &Response, kind: &str) -> bool {
    let given = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    given.is_some_and(|given| given.trim_start().to_ascii_lowercase().starts_with(kind))
}

/// An address may hold what is nobody's business.
fn silent(error: reqwest::Error) -> HttpError {
    StreamableHttpError::Client(error.without_url())
}
