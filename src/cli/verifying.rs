//! Purpose: `history verify`: whether the files are whole, each in itself and beside the journal.
//!
//! The hash chain tells whether what stands in a file is what was written. That its end was cut off, or that it is gone,
//! only the journal can tell.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;

use super::history::none_of;
use super::out::{complain, say};
use super::terminal::{GREEN, RED, paint};
use crate::config::Config;
use crate::domain::ThreadRef;
use crate::store::{History, Store, Verified, verify};

/// A server that runs writes to the file right after the journal.
const MOMENT: Duration = Duration::from_secs(1);

/// What one file comes to.
struct Verdict {
    path: PathBuf,
    lines: u64,
    problem: Option<String>,
}

pub(super) async fn run(
    history: &History,
    only: Option<&ThreadRef>,
    as_json: bool,
    config: &Config,
) -> anyhow::Result<ExitCode> {
    let (mut lengths, not_compared) = match lengths(history, config).await {
        Ok(lengths) => (lengths, None),
        Err(error) => (BTreeMap::new(), Some(format!("{error:#}"))),
    };
    if let Some(error) = &not_compared {
        complain(&format!("planwright: the files cannot be compared with the journal: {error}"));
    }
    for path in history.files()? {
        lengths.entry(path).or_insert(0);
    }
    if let Some(thread) = only {
        let path = history.path(thread);
        lengths.retain(|other, _| *other == path);
        if lengths.is_empty() {
            return Err(none_of(thread, &path));
        }
    }
    let mut verdicts = vec![];
    for (path, length) in lengths {
        verdicts.push(match look(&path, length).await {
            Ok(verified) => Verdict { lines: verified.lines, problem: problem(&verified, length), path },
            Err(error) => Verdict { lines: 0, problem: Some(format!("it cannot be read: {error}")), path },
        });
    }
    let sound = not_compared.is_none() && verdicts.iter().all(|verdict| verdict.problem.is_none());
    if as_json {
        print_json(&verdicts, sound, not_compared)?
    } else {
        print(&verdicts)
    }
    Ok(if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print_json(verdicts: &[Verdict], sound: bool, not_compared: Option<String>) -> anyhow::Result<()> {
    let file = |it: &Verdict| json!({"path": it.path.display().to_string(), "lines": it.lines, "problem": it.problem});
    let files: Vec<_> = verdicts.iter().map(file).collect();
    let whole = json!({"ok": sound, "not_compared": not_compared, "files": files});
    say(&serde_json::to_string_pretty(&whole)?);
    Ok(())
}

fn print(verdicts: &[Verdict]) {
    if verdicts.is_empty() {
        say("There are no histories yet.");
    }
    for Verdict { path, lines, problem } in verdicts {
        match problem {
            None => say(&format!("{} {}: {lines} lines", paint(GREEN, "sound"), path.display())),
            Some(problem) => say(&format!("{} {}: {problem}", paint(RED, "damaged"), path.display())),
        }
    }
}

/// The file of every thread that has a journal, and how many lines it should have.
async fn lengths(history: &History, config: &Config) -> anyhow::Result<BTreeMap<PathBuf, u64>> {
    let Some(store) = Store::open_existing(config.store.url.as_str()).await? else {
        return Ok(BTreeMap::new());
    };
    let lengths = store.journal_lengths().await;
    store.close().await;
    Ok(lengths?.into_iter().map(|(thread, length)| (history.path(&thread), length)).collect())
}

/// A file that is shorter than it should be is looked at once more.
async fn look(path: &Path, length: u64) -> std::io::Result<Verified> {
    let verified = verify_if_there(path)?;
    if verified.first_problem.is_some() || verified.lines >= length {
        return Ok(verified);
    }
    tokio::time::sleep(MOMENT).await;
    verify_if_there(path)
}

fn verify_if_there(path: &Path) -> std::io::Result<Verified> {
    match verify(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Ok(Verified { lines: 0, first_problem: None })
        }
        verified => verified,
    }
}

fn problem(verified: &Verified, length: u64) -> Option<String> {
    if let Some(problem) = &verified.first_problem {
        return Some(format!("line {}, byte {}: {}", problem.line, problem.byte_offset, problem.what));
    }
    let missing = length.checked_sub(verified.lines).filter(|missing| *missing > 0)?;
    Some(format!(
        "the last {missing} of {length} entries are missing; the server writes them again from its database when it starts"
    ))
}
