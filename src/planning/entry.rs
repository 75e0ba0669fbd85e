//! Purpose: one line of a thread's journal, read back.

use serde::Deserialize;

use super::fact::Fact;
use super::run::RunId;
use crate::domain::Millis;

/// One line of a thread's journal: a fact, when it was recorded, and the run it belongs to.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub seq: i64,
    pub at: Millis,
    /// `None` for what concerns the thread and no run, such as a refusal.
    pub run: Option<RunId>,
    pub fact: Fact,
}

impl Entry {
    /// Reads the fact out of a journal line, which also carries the line's own fields.
    ///
    /// # Errors
    /// When the type is unknown or a field is missing: a newer version wrote it, or the line is damaged.
    pub fn from_line(seq: i64, at: Millis, run: Option<RunId>, line: &str) -> Result<Self, UnreadableEntry> {
        let fact = serde_json::from_str(line).map_err(|error| UnreadableEntry {
            seq,
            kind: kind_of(line),
            why: error.to_string(),
        })?;
        Ok(Self { seq, at, run, fact })
    }
}

fn kind_of(line: &str) -> String {
    #[derive(Deserialize)]
    struct Typed {
        r#type: String,
    }
    serde_json::from_str(line).map_or_else(|_| "unknown".to_owned(), |typed: Typed| typed.r#type)
}

/// An entry that this version cannot read; going on without it could break a promise, so the thread stands still.
#[derive(Debug, thiserror::Error)]
#[error("journal entry {seq} of type `{kind}` cannot be read: {why}; was it written by a newer version?")]
pub struct UnreadableEntry {
    pub seq: i64,
    pub kind: String,
    pub why: String,
}
