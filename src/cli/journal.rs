//! Purpose: a thread's history file, read back as the entries of its journal.

use std::path::Path;

use anyhow::Context as _;
use serde::Deserialize;

use crate::domain::Millis;
use crate::planning::{Entry, RunId};
use crate::store::newest;

/// What stands in every line beside its fact.
#[derive(Deserialize)]
struct Common {
    seq: i64,
    at: String,
    run: Option<String>,
}

pub(super) struct Journal {
    pub entries: Vec<Entry>,
    /// What is wrong with the file; everything before it was read.
    pub damage: Option<String>,
}

/// # Errors
/// When the file cannot be read. Damage in it is no error: what stands before is still worth something.
pub(super) fn read(path: &Path) -> anyhow::Result<Journal> {
    let lines = newest(path, usize::MAX).with_context(|| format!("cannot read {}", path.display()))?;
    let mut journal = Journal { entries: vec![], damage: None };
    for (place, line) in lines.iter().enumerate() {
        let entry = match &line.problem {
            Some(problem) => Err(format!("it {problem}")),
            None => entry(&line.text).map_err(|error| format!("{error:#}")),
        };
        match entry {
            Ok(entry) => journal.entries.push(entry),
            Err(why) => {
                journal.damage = Some(format!("line {} of {}: {why}", place + 1, path.display()));
                break;
            }
        }
    }
    Ok(journal)
}

fn entry(line: &str) -> anyhow::Result<Entry> {
    let Common { seq, at, run } = serde_json::from_str(line).context("it is no line of a history")?;
    let at: jiff::Timestamp = at.parse().context("its time is none")?;
    Ok(Entry::from_line(seq, Millis(at.as_millisecond()), run.map(RunId), line)?)
}
