//! Purpose: one line of the history: how it is written, and how it is checked. Pure.
//!
//! `{"v":1,"seq":7,"at":"…","run":"…","thread":"…","type":"…",…,"prev":"<hash>","hash":"<hash>"}`
//!
//! The hash is the SHA-256, in hex, of the bytes of the line up to and without `,"hash":`. As each line holds the hash of
//! the one before, a line cannot be changed, dropped or inserted without breaking the chain from there on.

use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::domain::{Millis, ThreadRef};

/// What stands before the first line of a thread.
pub(super) const NO_HASH: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The type of the line that stands for all that were before it and are removed.
pub(super) const FORGOTTEN: &str = "forgotten";

const VERSION: u32 = 1;
/// `,"hash":"` + 64 + `"}`
const TAIL: usize = 9 + 64 + 2;
const RESERVED: [&str; 7] = ["v", "seq", "at", "run", "thread", "prev", "hash"];

/// Where a line stands.
pub(super) struct Place<'a> {
    pub(super) seq: i64,
    pub(super) at: Millis,
    pub(super) run: Option<&'a str>,
    pub(super) thread: &'a ThreadRef,
    pub(super) prev: &'a str,
}

/// Writes the line and tells the type of its fact.
pub(super) fn compose(place: &Place<'_>, fact: &Value) -> Result<(String, String), String> {
    let fields = fact.as_object().ok_or("a fact must be a JSON object")?;
    let kind = fields.get("type").and_then(Value::as_str).ok_or("a fact must have a `type`")?;
    if let Some(taken) = RESERVED.iter().find(|name| fields.contains_key(**name)) {
        return Err(format!("the fact `{kind}` has a field `{taken}`, which the history uses itself"));
    }
    let mut line = format!(
        r#"{{"v":{VERSION},"seq":{},"at":"{}","run":{},"thread":{},"type":{}"#,
        place.seq,
        place.at,
        Value::from(place.run),
        Value::from(place.thread.to_string()),
        Value::from(kind)
    );
    for (name, value) in fields.iter().filter(|(name, _)| *name != "type") {
        line.push_str(&format!(",{}:{value}", Value::from(name.as_str())));
    }
    line.push_str(&format!(r#","prev":"{}""#, place.prev));
    let hash = hash(line.as_bytes());
    line.push_str(&format!(r#","hash":"{hash}"}}"#));
    Ok((line, kind.to_owned()))
}

/// The hash at the end of a line that [`compose`] wrote.
pub(super) fn hash_of(line: &str) -> Option<&str> {
    let start = line.len().checked_sub(64 + 2)?;
    line.get(start..line.len() - 2)
}

/// The hash of the line before, as a line that [`compose`] wrote has it.
pub(super) fn prev_of(line: &str) -> Option<&str> {
    let end = line.len().checked_sub(TAIL + 1)?;
    line.get(end.checked_sub(64)?..end)
}

/// A line that is whole and unchanged.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Checked {
    pub(super) seq: i64,
    pub(super) kind: String,
    pub(super) thread: String,
    pub(super) prev: String,
    pub(super) hash: String,
}

/// Checks one line by itself (without its newline); `Err` says what is wrong with it.
pub(super) fn check(line: &[u8]) -> Result<Checked, String> {
    if line.contains(&0) {
        return Err("holds NUL bytes".to_owned());
    }
    let head: Head =
        serde_json::from_slice(line).map_err(|error| format!("is not a whole JSON object: {error}"))?;
    if head.v != VERSION {
        return Err(format!("has version {}, and this program reads version {VERSION}", head.v));
    }
    let covered = line.len().checked_sub(TAIL).ok_or("is too short")?;
    let (covered, tail) = line.split_at(covered);
    if tail != format!(r#","hash":"{}"}}"#, head.hash).as_bytes() || hash(covered) != head.hash {
        return Err("does not match its hash".to_owned());
    }
    Ok(Checked { seq: head.seq, kind: head.kind, thread: head.thread, prev: head.prev, hash: head.hash })
}

#[derive(Deserialize)]
struct Head {
    v: u32,
    seq: i64,
    #[serde(rename = "type")]
    kind: String,
    thread: String,
    prev: String,
    hash: String,
}

fn hash(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(fact: &Value) -> Result<(String, String), String> {
        let thread = "github:acme/web#12".parse().unwrap();
        compose(&Place { seq: 3, at: Millis(0), run: Some("r1"), thread: &thread, prev: NO_HASH }, fact)
    }

    #[test]
    fn a_line_has_the_promised_shape_and_passes_its_check() {
        let (line, kind) = sample(&serde_json::json!({"type": "triggered", "by": "a\nb", "n": 1})).unwrap();
        let start = r#"{"v":1,"seq":3,"at":"1970-01-01T00:00:00.000Z","run":"r1","thread":"github:acme/web#12","type":"triggered","by":"a\nb","n":1,"prev":"0000"#;
        assert!(line.starts_with(start), "{line}");
        assert_eq!(kind, "triggered");
        let checked = check(line.as_bytes()).unwrap();
        assert_eq!((checked.seq, checked.prev.as_str(), Some(&*checked.hash)), (3, NO_HASH, hash_of(&line)));
        assert_eq!(prev_of(&line), Some(NO_HASH));
        // The rule as the format describes it, without our own code.
        let (covered, _) = line.split_once(r#","hash":"#).unwrap();
        assert_eq!(checked.hash, hex::encode(Sha256::digest(covered)));
    }

    #[test]
    fn facts_that_would_hide_the_frame_are_refused() {
        for (fact, says) in [
            (serde_json::json!(["type"]), "must be a JSON object"),
            (serde_json::json!({"kind": "x"}), "must have a `type`"),
            (serde_json::json!({"type": "x", "hash": "y"}), "has a field `hash`"),
            (serde_json::json!({"type": "x", "seq": 1}), "has a field `seq`"),
        ] {
            let error = sample(&fact).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn every_changed_byte_is_noticed() {
        let (line, _) = sample(&serde_json::json!({"type": "triggered", "text": "hällo"})).unwrap();
        for at in 0..line.len() {
            for bit in 0..8 {
                let mut bytes = line.clone().into_bytes();
                bytes[at] ^= 1 << bit;
                assert!(check(&bytes).is_err(), "bit {bit} of byte {at}");
            }
            assert!(check(&line.as_bytes()[..at]).is_err(), "cut at {at}");
        }
        assert!(check(format!("{line}{line}").as_bytes()).is_err(), "glued");
    }
}
