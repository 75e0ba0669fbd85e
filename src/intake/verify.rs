//! Purpose: whether a request comes from the forge it says: over the raw bytes, in constant time, and when in doubt not.
//!
//! A header that must be there once and is there twice is refused, because two readers may believe different ones.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use http::HeaderMap;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::domain::Millis;

#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    Genuine,
    Refused,
}

impl From<bool> for Proof {
    fn from(genuine: bool) -> Self {
        if genuine { Self::Genuine } else { Self::Refused }
    }
}

/// GitHub, and our own local forge: `X-Hub-Signature-256: sha256=<hex>`, an HMAC of the body.
pub fn github(headers: &HeaderMap, body: &[u8], secret: &SecretString) -> Proof {
    let signature = single(headers, "x-hub-signature-256").and_then(|value| value.strip_prefix("sha256="));
    let Some(signature) = signature.and_then(lower_hex) else { return Proof::Refused };
    match mac(secret.expose_secret().as_bytes()) {
        Some(mac) => mac.chain_update(body).verify_slice(&signature).is_ok().into(),
        None => Proof::Refused,
    }
}

/// What a GitLab hook may be verified with. With both, a signed request is judged by its signature alone.
#[derive(Clone, Copy)]
pub struct GitlabKeys<'a> {
    pub token: Option<&'a SecretString>,
    pub signing: Option<&'a SecretString>,
}

/// GitLab: signed where a signature is present, else by its token.
pub fn gitlab(headers: &HeaderMap, body: &[u8], keys: GitlabKeys<'_>, now: Millis) -> Proof {
    if headers.contains_key(SIGNATURE) {
        // Never the token here: it is sent in plain text, and who has read it could otherwise sign nothing and pass.
        return keys.signing.map_or(Proof::Refused, |key| gitlab_signed(headers, body, key, now));
    }
    match (keys.token, single(headers, "x-gitlab-token")) {
        (Some(token), Some(sent)) => same(token.expose_secret(), sent).into(),
        (Some(_) | None, _) => Proof::Refused,
    }
}

pub(super) const SIGNATURE: &str = "webhook-signature";
pub(super) const SIGNED_ID: &str = "webhook-id";

/// A replayed request is older than this, or its delivery id is known.
const FRESH_SECONDS: u64 = 5 * 60;

/// `webhook-signature: v1,<base64> v1,<base64>`: several while keys are being changed; one that fits is enough.
fn gitlab_signed(headers: &HeaderMap, body: &[u8], key: &SecretString, now: Millis) -> Proof {
    let parts =
        (single(headers, SIGNED_ID), single(headers, "webhook-timestamp"), single(headers, SIGNATURE));
    let (Some(id), Some(timestamp), Some(signatures)) = parts else { return Proof::Refused };
    let mac = signing_key(key).and_then(|key| mac(&key));
    let (Some(mac), true) = (mac, is_fresh(timestamp, now)) else { return Proof::Refused };
    let mac = mac.chain_update(format!("{id}.{timestamp}.")).chain_update(body);
    let fits = |signature: &str| {
        let bytes = signature.strip_prefix("v1,").and_then(|text| STANDARD.decode(text).ok());
        bytes.is_some_and(|bytes| mac.clone().verify_slice(&bytes).is_ok())
    };
    signatures.split(' ').any(fits).into()
}

/// Whether a signing token is one: `whsec_` and base64. For the check of the settings at start.
#[must_use]
pub fn is_signing_token(key: &SecretString) -> bool {
    signing_key(key).is_some_and(|key| !key.is_empty())
}

fn signing_key(key: &SecretString) -> Option<Vec<u8>> {
    STANDARD.decode(key.expose_secret().strip_prefix("whsec_")?).ok()
}

fn is_fresh(timestamp: &str, now: Millis) -> bool {
    let digits = !timestamp.is_empty() && timestamp.bytes().all(|byte| byte.is_ascii_digit());
    let seconds: Option<i64> = timestamp.parse().ok().filter(|_| digits);
    seconds.is_some_and(|seconds| seconds.abs_diff(now.0.div_euclid(1000)) <= FRESH_SECONDS)
}

/// An empty secret is no secret: everybody knows it.
fn mac(key: &[u8]) -> Option<Hmac<Sha256>> {
    if key.is_empty() { None } else { Hmac::new_from_slice(key).ok() }
}

/// Compares hashes, so that not even the length of the token shows in the time it takes.
fn same(token: &str, sent: &str) -> bool {
    let equal: bool = Sha256::digest(token).ct_eq(&Sha256::digest(sent)).into();
    !token.is_empty() && equal
}

/// The value of a header that is there exactly once and is plain text.
pub(super) fn single<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// Forges write lower case only; being strict leaves one way to write a signature.
fn lower_hex(text: &str) -> Option<Vec<u8>> {
    let lower = text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    if lower { hex::decode(text).ok() } else { None }
}

#[cfg(test)]
#[path = "verify_tests.rs"]
mod tests;
