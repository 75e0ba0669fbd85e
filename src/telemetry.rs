//! Purpose: log lines to stderr, for people or for machines.

use std::io::{self, IsTerminal, Write};

use anyhow::{Context, anyhow};
use tracing_subscriber::EnvFilter;

use crate::config::Redactor;

/// What is logged when nobody says otherwise. The libraries below us tell too much at `info`.
pub const DEFAULT_FILTER: &str = "info,sqlx=warn,octocrab=warn,hyper=warn,rmcp=off";

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    #[default]
    Human,
    /// One JSON object per line.
    Json,
}

/// Starts logging, without the secrets that the redactor knows. The filter is a level (`info`), or levels by target
/// (`info,planwright::engine=debug`).
///
/// # Errors
/// When the filter cannot be read, or logging was started before.
pub fn init(format: LogFormat, filter: &str, redactor: Redactor) -> anyhow::Result<()> {
    let filter = read_filter(filter)?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(move || Clean { to: io::stderr(), redactor: redactor.clone() })
        // Colours are for eyes; in a file or a pipe they are noise.
        .with_ansi(io::stderr().is_terminal());
    let started = match format {
        LogFormat::Human => builder.try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| anyhow!("cannot start logging: {error}"))
}

/// Takes whole log lines, as the formatter writes them, and cuts secrets out. Here and not where the lines are made:
/// the libraries below us log as well.
struct Clean<W> {
    to: W,
    redactor: Redactor,
}

impl<W: Write> Write for Clean<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.to.write_all(self.redactor.clean(&String::from_utf8_lossy(line)).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

fn read_filter(filter: &str) -> anyhow::Result<EnvFilter> {
    EnvFilter::try_new(filter).with_context(|| {
        format!("`{filter}` is not a log filter; write it like `info` or `info,planwright=debug`")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_checked() {
        for good in [DEFAULT_FILTER, "debug", "off", "warn,planwright::engine=trace"] {
            assert!(read_filter(good).is_ok(), "{good}");
        }
        for bad in ["planwright=loud", "a=b=c", "info,["] {
            let error = read_filter(bad).unwrap_err();
            assert!(error.to_string().contains("is not a log filter"), "{error}");
        }
    }

    #[test]
    fn secrets_are_cut_out_of_lines() {
        let redactor = Redactor::of(&["ghp_Fake0Token1".into()]);
        let mut clean = Clean { to: vec![], redactor };
        clean.write_all("WARN the answer is 401 (ghp_Fake0Token1)\n".as_bytes()).unwrap();
        assert_eq!(clean.to, b"WARN the answer is 401 ([secret])\n");
    }
}
