//! Purpose: what both HTTP forges share: our client, bounded answers, and what a status means.

use std::error::Error;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode, header};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{ForgeError, Patience};

pub(super) const USER_AGENT: &str = concat!("planwright/", env!("CARGO_PKG_VERSION"));

/// A page of a hundred long comments stays well below this; a forge that sends more is not the forge.
const ANSWER_CAP: usize = 32 * 1024 * 1024;
/// GitHub asks for at least a minute when it names no time.
const UNNAMED_PAUSE: Duration = Duration::from_secs(60);
/// No limit of a forge lasts longer than an hour; a header that says more must not silence us for good.
const LONGEST_PAUSE: Duration = Duration::from_secs(24 * 3_600);

pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Answer {
    pub(super) fn json<T: DeserializeOwned>(&self) -> Result<T, ForgeError> {
        serde_json::from_slice(&self.body).map_err(|error| not_understood(&error))
    }
}

/// Redirects stay on the host that was configured, so neither credentials nor texts reach another one.
pub(super) fn client(patience: &Patience) -> Result<reqwest::Client, ForgeError> {
    let stay_on_host = reqwest::redirect::Policy::custom(|attempt| {
        let same = attempt.previous().first().is_some_and(|from| from.origin() == attempt.url().origin());
        if !same {
            return attempt.error("a redirect to another host is not followed");
        }
        if attempt.previous().len() > 5 {
            return attempt.error("too many redirects");
        }
        attempt.follow()
    });
    reqwest::Client::builder()
        .user_agent(USER_AGENT)
        .connect_timeout(patience.connect)
        .timeout(patience.request)
        // Shorter than the forges keep idle connections: a request on a dead one would end unclear.
        .pool_idle_timeout(Duration::from_secs(20))
        .redirect(stay_on_host)
        .retry(reqwest::retry::never())
        .build()
        .map_err(|error| ForgeError::Invalid(format!("cannot set up the HTTP client: {error}")))
}

pub(super) fn check_token(token: &SecretString) -> Result<(), ForgeError> {
    let token = token.expose_secret();
    if token.is_empty() || !token.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(ForgeError::Unauthorized(
            "the token is empty or has characters that no token has (a line break at its end?)".into(),
        ));
    }
    Ok(())
}

pub(super) async fn read(mut response: reqwest::Response) -> Result<Answer, ForgeError> {
    let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
    let mut body = BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| lost(&error))? {
        if body.len() + chunk.len() > ANSWER_CAP {
            return Err(ForgeError::Broken(format!("the answer is longer than {} MiB", ANSWER_CAP >> 20)));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Answer { status, headers, body: body.freeze() })
}

/// Passes good answers on and gives every other status its meaning.
pub(super) fn judge(answer: Answer) -> Result<Answer, ForgeError> {
    if answer.status.is_success() {
        return Ok(answer);
    }
    Err(refusal(answer.status, &answer.headers, &message_of(&answer.body)))
}

pub(super) fn refusal(status: StatusCode, headers: &HeaderMap, message: &str) -> ForgeError {
    let why = if message.is_empty() {
        format!("the answer is {}", status.as_u16())
    } else {
        format!("the answer is {} ({})", status.as_u16(), tame(message))
    };
    if is_limit(status, headers, message) {
        return ForgeError::RateLimited { retry_after: pause(headers).min(LONGEST_PAUSE), why };
    }
    match status.as_u16() {
        401 => ForgeError::Unauthorized(why),
        403 => ForgeError::Forbidden(why),
        404 | 410 => ForgeError::NotFound(why),
        // Only what cannot be followed arrives here: a write, or another host.
        300..400 => ForgeError::NotFound(format!("{why}; it was renamed or moved, use its new name")),
        408 | 500.. => ForgeError::Unclear(why),
        400..500 => ForgeError::Invalid(why),
        _ => ForgeError::Broken(why),
    }
}

/// GitHub answers 403 as well as 429 when a limit is reached.
fn is_limit(status: StatusCode, headers: &HeaderMap, message: &str) -> bool {
    let named = || {
        headers.contains_key("retry-after")
            || number(headers, "x-ratelimit-remaining") == Some(0)
            || message.to_ascii_lowercase().contains("rate limit")
    };
    status == StatusCode::TOO_MANY_REQUESTS || (status == StatusCode::FORBIDDEN && named())
}

/// `retry-after`, else the time until the reset by the server's own clock, else a minute.
fn pause(headers: &HeaderMap) -> Duration {
    if let Some(seconds) = number(headers, "retry-after") {
        return Duration::from_secs(seconds);
    }
    let reset = number(headers, "x-ratelimit-reset").or_else(|| number(headers, "ratelimit-reset"));
    let now = headers.get("date").and_then(|date| date.to_str().ok()).and_then(server_seconds);
    match (reset, now) {
        (Some(reset), Some(now)) => Duration::from_secs(reset.saturating_sub(now).max(1)),
        _ => UNNAMED_PAUSE,
    }
}

/// How long something lasts that ends at this time, by the server's own clock.
pub(super) fn lasts(headers: &HeaderMap, until: &str) -> Option<Duration> {
    let now = headers.get(header::DATE)?.to_str().ok().and_then(server_seconds)?;
    let until: jiff::Timestamp = until.parse().ok()?;
    Some(Duration::from_secs(u64::try_from(until.as_second()).ok()?.saturating_sub(now)))
}

fn server_seconds(date: &str) -> Option<u64> {
    let time = jiff::fmt::rfc2822::parse(date).ok()?;
    u64::try_from(time.timestamp().as_second()).ok()
}

fn number(headers: &HeaderMap, name: &str) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

/// A request that got no whole answer.
pub(super) fn lost(error: &(dyn Error + 'static)) -> ForgeError {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<reqwest::Error>() {
            return lost_request(error);
        }
        cause = error.source();
    }
    ForgeError::Unclear("the connection broke".into())
}

fn lost_request(error: &reqwest::Error) -> ForgeError {
    if error.is_redirect() {
        return ForgeError::Broken("the answer is a redirect to another host, which is not followed".into());
    }
    let why = if error.is_connect() {
        "no connection could be made"
    } else if error.is_timeout() {
        "there was no answer in time"
    } else {
        "the connection broke before the whole answer came"
    };
    ForgeError::Unclear(why.into())
}

/// Serde quotes values in most of its messages, and those may be anybody's text; a missing field names only itself.
pub(super) fn not_understood(error: &serde_json::Error) -> ForgeError {
    let text = error.to_string();
    let detail = if text.starts_with("missing field") { tame(&text) } else { "unexpected shape".into() };
    ForgeError::Broken(format!("the answer is not understood: {detail}"))
}

/// The forge's own sentence about an error, from the places where GitHub and GitLab put it.
fn message_of(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Told {
        #[serde(default)]
        message: serde_json::Value,
        #[serde(default)]
        error: serde_json::Value,
        /// GitHub's `message` is often only "Validation Failed"; what failed stands here.
        #[serde(default)]
        errors: serde_json::Value,
    }
    let Ok(told) = serde_json::from_slice::<Told>(body) else { return String::new() };
    let said = if told.message.is_null() { told.error } else { told.message };
    if said.is_null() {
        return String::new();
    }
    let said = said.as_str().map_or_else(|| said.to_string(), str::to_owned);
    match told.errors.pointer("/0/message").and_then(serde_json::Value::as_str) {
        Some(detail) => format!("{said}: {detail}"),
        None => said,
    }
}

/// One line of at most 200 characters.
fn tame(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap()))
            .collect()
    }

    #[test]
    fn a_status_has_a_meaning() {
        let check = |status: u16, pairs: &[(&'static str, &str)], body: &str, expected: &str| {
            let status = StatusCode::from_u16(status).unwrap();
            let got = refusal(status, &headers(pairs), &message_of(body.as_bytes()));
            assert_eq!(format!("{got:?}"), expected);
        };
        check(
            401,
            &[],
            r#"{"message":"Bad credentials"}"#,
            r#"Unauthorized("the answer is 401 (Bad credentials)")"#,
        );
        check(
            403,
            &[],
            r#"{"error":"insufficient_scope"}"#,
            r#"Forbidden("the answer is 403 (insufficient_scope)")"#,
        );
        check(404, &[], "<html>", r#"NotFound("the answer is 404")"#);
        check(410, &[], "", r#"NotFound("the answer is 410")"#);
        check(
            422,
            &[],
            r#"{"message":{"body":["is too long"]}}"#,
            r#"Invalid("the answer is 422 ({\"body\":[\"is too long\"]})")"#,
        );
        check(
            422,
            &[],
            r#"{"message":"Validation Failed","errors":[{"message":"A pull request already exists"}]}"#,
            r#"Invalid("the answer is 422 (Validation Failed: A pull request already exists)")"#,
        );
        check(422, &[], r#"{"message":"No","errors":["odd"]}"#, r#"Invalid("the answer is 422 (No)")"#);
        check(400, &[], "", r#"Invalid("the answer is 400")"#);
        check(502, &[], "<html>", r#"Unclear("the answer is 502")"#);
        check(307, &[], "", r#"NotFound("the answer is 307; it was renamed or moved, use its new name")"#);
        check(101, &[], "", r#"Broken("the answer is 101")"#);
        check(
            403,
            &[("retry-after", "7")],
            "",
            r#"RateLimited { retry_after: 7s, why: "the answer is 403" }"#,
        );
        check(429, &[], "", r#"RateLimited { retry_after: 60s, why: "the answer is 429" }"#);
        check(
            403,
            &[
                ("x-ratelimit-remaining", "0"),
                ("x-ratelimit-reset", "1794794410"),
                ("date", "Mon, 16 Nov 2026 02:00:00 GMT"),
            ],
            "",
            r#"RateLimited { retry_after: 10s, why: "the answer is 403" }"#,
        );
        check(
            403,
            &[],
            r#"{"message":"You have exceeded a secondary rate limit."}"#,
            r#"RateLimited { retry_after: 60s, why: "the answer is 403 (You have exceeded a secondary rate limit.)" }"#,
        );
    }

    #[test]
    fn no_header_silences_us_for_good() {
        let endless = headers(&[("retry-after", "18446744073709551615")]);
        let got = refusal(StatusCode::TOO_MANY_REQUESTS, &endless, "");
        let expected =
            ForgeError::RateLimited { retry_after: LONGEST_PAUSE, why: "the answer is 429".into() };
        assert_eq!(got, expected);
    }

    #[test]
    fn time_left_is_counted_by_the_servers_clock() {
        let check = |date: &str, until: &str, expected: Option<u64>| {
            assert_eq!(
                lasts(&headers(&[("date", date)]), until),
                expected.map(Duration::from_secs),
                "{until}"
            );
        };
        check("Mon, 16 Nov 2026 02:00:00 GMT", "2026-11-16T03:00:00Z", Some(3600));
        check("Mon, 16 Nov 2026 02:00:00 GMT", "2026-11-16T01:00:00Z", Some(0));
        check("Mon, 16 Nov 2026 02:00:00 GMT", "soon", None);
        check("yesterday", "2026-11-16T03:00:00Z", None);
    }

    #[test]
    fn errors_quote_nobody() {
        let error = serde_json::from_str::<u8>(r#""a private sentence""#).unwrap_err();
        assert_eq!(not_understood(&error).to_string(), "the answer is not understood: unexpected shape");
        assert_eq!(tame(&"x\n".repeat(300)).len(), 200);
    }
}
