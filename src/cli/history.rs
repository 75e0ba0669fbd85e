//! Purpose: `history show|explain|export`: the JSONL files, for people and programs.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, anyhow, bail};
use clap::Subcommand;

use serde_json::json;

use super::explain::Explainer;
use super::journal::{self, Journal};
use super::out::{complain, say};
use super::terminal::{BOLD, DIM, RED, paint};
use super::{plans, verifying};
use crate::config::Config;
use crate::domain::ThreadRef;
use crate::planning::Entry;
use crate::store::{History, newest};

#[derive(Debug, Subcommand)]
pub(super) enum HistoryCommand {
    /// Show the newest entries of a thread
    Show {
        /// The thread, such as `github:acme/web#12`
        thread: ThreadRef,
        /// How many
        #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 20)]
        newest: usize,
        /// Print the lines as they are in the file
        #[arg(long)]
        json: bool,
    },
    /// Tell in plain words who asked, who approved what, what ran, and with what result
    Explain {
        /// The thread, such as `github:acme/web#12`
        thread: ThreadRef,
        /// Print one JSON array, for programs
        #[arg(long)]
        json: bool,
    },
    /// Check the hash chain of one thread, or of all, and that nothing is missing which the database has; exit code 1 when
    /// something is wrong
    Verify {
        /// The thread, such as `github:acme/web#12`; without it every thread is checked
        thread: Option<ThreadRef>,
        /// Print one JSON object, for programs
        #[arg(long)]
        json: bool,
    },
    /// Print the whole history of a thread as JSON lines, or write its plans into a folder
    Export {
        /// The thread, such as `github:acme/web#12`; with `--plans` it may be left out to take every thread
        #[arg(required_unless_present = "plans")]
        thread: Option<ThreadRef>,
        /// Write plan.json, approval.json and full diffs of every plan into this folder, which must be empty or absent
        #[arg(long, value_name = "DIR")]
        plans: Option<PathBuf>,
    },
}

pub(super) async fn run(command: &HistoryCommand, config: Config) -> anyhow::Result<ExitCode> {
    let history = History::new(&config.data_dir);
    match command {
        HistoryCommand::Show { thread, newest, json } => show(&of(&history, thread)?, *newest, *json),
        HistoryCommand::Verify { thread, json } => {
            verifying::run(&history, thread.as_ref(), *json, &config).await
        }
        HistoryCommand::Explain { thread, json } => explain(&of(&history, thread)?, *json),
        HistoryCommand::Export { thread: Some(thread), plans: None } => export(&of(&history, thread)?),
        HistoryCommand::Export { thread: Some(thread), plans: Some(dir) } => {
            plans::export(dir, &[of(&history, thread)?], &config).await
        }
        HistoryCommand::Export { thread: None, plans: Some(dir) } => {
            plans::export(dir, &history.files()?, &config).await
        }
        HistoryCommand::Export { thread: None, plans: None } => bail!("name a thread"),
    }
}

/// One line per fact that matters; what follows a damaged line is not told.
fn explain(path: &Path, json: bool) -> anyhow::Result<ExitCode> {
    let Journal { entries, damage } = journal::read(path)?;
    let mut explainer = Explainer::default();
    let told: Vec<(&Entry, String)> =
        entries.iter().filter_map(|entry| Some((entry, explainer.explain(&entry.fact)?))).collect();
    if json {
        let list: Vec<_> = told
            .iter()
            .map(|(entry, words)| json!({"seq": entry.seq, "at": entry.at.to_string(), "run": entry.run, "words": words}))
            .collect();
        say(&serde_json::to_string_pretty(&list)?);
    } else {
        tell(&told);
    }
    let Some(damage) = damage else { return Ok(ExitCode::SUCCESS) };
    complain(&format!("planwright: the history is damaged and was told up to there: {damage}"));
    Ok(ExitCode::FAILURE)
}

fn tell(told: &[(&Entry, String)]) {
    let mut run = None;
    for (entry, words) in told {
        if let Some(id) = entry.run.as_ref().filter(|id| run != Some(*id)) {
            run = Some(id);
            say(&paint(BOLD, &format!("run {id}")));
        }
        say(&line(entry, words));
    }
}

/// When it was, and what.
pub(super) fn line(entry: &Entry, words: &str) -> String {
    format!("{}  {words}", paint(DIM, &entry.at.to_string()))
}

/// The file with a thread's history, which must be there.
fn of(history: &History, thread: &ThreadRef) -> anyhow::Result<PathBuf> {
    let path = history.path(thread);
    if path.try_exists().with_context(|| format!("cannot look for {}", path.display()))? {
        return Ok(path);
    }
    Err(none_of(thread, &path))
}

pub(super) fn none_of(thread: &ThreadRef, path: &Path) -> anyhow::Error {
    anyhow!(
        "there is no history of {thread} (no {}); `planwright runs list` shows the threads that have one",
        path.display()
    )
}

fn show(path: &Path, count: usize, json: bool) -> anyhow::Result<ExitCode> {
    let mut code = ExitCode::SUCCESS;
    for line in newest(path, count).with_context(|| format!("cannot read {}", path.display()))? {
        if json {
            say(&line.text)
        } else {
            say(&for_people(&line.text))
        }
        if let Some(problem) = line.problem {
            code = ExitCode::FAILURE;
            complain(&format!("planwright: the line above is damaged: it {problem}"));
        }
    }
    Ok(code)
}

/// Number, time and type, then what the fact says, without what only the machinery needs.
fn for_people(line: &str) -> String {
    let Ok(serde_json::Value::Object(mut fields)) = serde_json::from_str(line) else {
        return paint(RED, &format!("damaged: {}", line.chars().take(80).collect::<String>()));
    };
    let mut take = |name: &str| match fields.remove(name) {
        Some(serde_json::Value::String(text)) => text,
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let (seq, at, kind) = (take("seq"), take("at"), take("type"));
    for common in ["v", "run", "thread", "prev", "hash", "key"] {
        take(common);
    }
    let told = fields.iter().filter(|(_, value)| !value.is_null());
    let rest: Vec<String> = told.map(|(name, value)| format!("{name}={}", short(value))).collect();
    format!("{seq:>4}  {}  {kind:18} {}", paint(DIM, &at), rest.join(" "))
}

fn short(value: &serde_json::Value) -> String {
    let login = value.get("login").and_then(serde_json::Value::as_str).map(|login| format!("@{login}"));
    let text = login.or_else(|| value.as_str().map(str::to_owned)).unwrap_or_else(|| value.to_string());
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    if text.chars().count() > 100 {
        format!("{}…", text.chars().take(99).collect::<String>())
    } else {
        text
    }
}

fn export(path: &Path) -> anyhow::Result<ExitCode> {
    let mut file = std::fs::File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    std::io::copy(&mut file, &mut std::io::stdout()).context("cannot write the history out")?;
    Ok(ExitCode::SUCCESS)
}
