//! Purpose: what the bot, the watcher and the enterer say to each other.
//!
//! The order goes down through standard input, so that nothing of it shows in the list of processes. Words come up
//! through standard error, one JSON text a line; what the program prints, on either of its streams, is standard output.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Cage, Job, Limits, Network, Resource, Sandbox, SandboxError};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) cage: Cage,
    pub(super) argv: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    pub(super) root: PathBuf,
    pub(super) network: Network,
    pub(super) limits: Limits,
    pub(super) timeout_ms: u64,
    pub(super) grace_ms: u64,
    pub(super) helper: PathBuf,
    pub(super) bubblewrap: PathBuf,
    pub(super) readable: Vec<PathBuf>,
    /// Where the watcher may make a private directory, if the cage cannot put one up in memory.
    pub(super) temporary_in: PathBuf,
    /// That directory, once it is made.
    pub(super) temporary: Option<PathBuf>,
    /// Tasks that the bot's user had before: the kernel counts those too.
    pub(super) tasks_before: u64,
}

impl Order {
    pub(super) fn new(sandbox: &Sandbox, job: &Job<'_>) -> Result<Self, SandboxError> {
        if job.argv.first().is_none_or(String::is_empty) {
            return Err(SandboxError::NoCommand);
        }
        let settings = &sandbox.settings;
        let absolute = |path: &Path| {
            std::fs::canonicalize(path)
                .map_err(|source| SandboxError::Io { doing: "find what the cage needs", source })
        };
        let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let mut env =
            vec![("PATH".to_owned(), settings.path.clone()), ("LANG".to_owned(), "C.UTF-8".to_owned())];
        env.extend_from_slice(job.env);
        Ok(Self {
            cage: sandbox.cage,
            argv: job.argv.to_vec(),
            env,
            root: absolute(job.root)?,
            network: job.network,
            limits: job.limits,
            timeout_ms: millis(job.timeout),
            grace_ms: millis(settings.grace),
            helper: absolute(&settings.helper)?,
            bubblewrap: settings.bubblewrap.clone(),
            readable: settings.readable.clone(),
            temporary_in: std::env::temp_dir(),
            temporary: None,
            tasks_before: 0,
        })
    }

    pub(super) fn to_line(&self) -> Result<String, SandboxError> {
        // Paths that are not UTF-8 have no JSON text.
        serde_json::to_string(self)
            .map(|order| format!("{order}\n"))
            .map_err(|error| SandboxError::NotStarted(error.to_string()))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Word {
    /// By the enterer, just before it becomes the program: the cage is shut.
    Entered,
    /// By the watcher or the enterer: nothing was run, and why.
    Refused(String),
    NoProgram(String),
    /// By the watcher, as its last word.
    Ended(Ended),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ended {
    Exited(i32),
    Killed(i32),
    TimedOut,
    LetGo,
    Exhausted(Resource),
}

impl Word {
    /// On a line of its own, whatever was said before it.
    pub(super) fn to_line(&self) -> String {
        // A word is made of plain strings and numbers, for which there is always a JSON text.
        format!("\n{}\n", serde_json::to_string(self).unwrap_or_default())
    }
}

/// The words in what came up, and what else was said, which is bubblewrap's.
pub(super) fn read_words(text: &str) -> (Vec<Word>, String) {
    let mut words = Vec::new();
    let mut rest = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match serde_json::from_str(line) {
            Ok(word) => words.push(word),
            Err(_) => rest.push(line),
        }
    }
    (words, rest.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_told_from_noise() {
        let words = [Word::Entered, Word::Refused("a\nb".to_owned()), Word::Ended(Ended::Exited(3))];
        let said: String = words.iter().map(|word| format!("noise{}", word.to_line())).collect();
        assert_eq!(read_words(&said), (words.to_vec(), "noise; noise; noise".to_owned()));
        assert_eq!(read_words(""), (vec![], String::new()));
    }
}
