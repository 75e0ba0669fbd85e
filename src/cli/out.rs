//! Purpose: the one place that prints.

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;

/// A line for the person or program at standard output. A reader that went away (`| head`) is no error.
pub(super) fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// A line of something that goes on for as long as somebody reads it.
///
/// # Errors
/// When nobody does any more; see [`reader_left`].
pub(super) fn stream(line: &str) -> std::io::Result<()> {
    writeln!(std::io::stdout(), "{line}")
}

pub(super) fn complain(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Whether somebody is watching: then there are colours and a pace to read by.
pub(super) fn is_watched() -> bool {
    std::io::stdout().is_terminal()
}

/// The program as it was called, so that what is printed can be copied.
pub(super) fn program() -> String {
    shell_word(std::env::args().next().unwrap_or_else(|| "planwright".to_owned()))
}

/// A path or another word as a shell reads it, for commands that are printed to be copied.
pub(super) fn shell_word(word: impl AsRef<Path>) -> String {
    let word = word.as_ref().display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:,@%=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word;
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Whether the only trouble is a reader that went away (`| head`), which has what it wanted.
pub(super) fn reader_left(error: &anyhow::Error) -> bool {
    let cause = error.root_cause().downcast_ref::<std::io::Error>();
    cause.is_some_and(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}

/// An error with its causes, each said once: many libraries repeat their cause in their own words.
pub(super) fn reason(error: &anyhow::Error) -> String {
    let mut said = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if said.is_empty() {
            said = cause;
        } else if !said.ends_with(&cause) {
            said = format!("{said}: {cause}");
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use anyhow::{Context as _, anyhow};

    use super::{reason, shell_word};

    #[test]
    fn words_are_quoted_where_a_shell_would_take_them_apart() {
        for (word, quoted) in [
            ("planwright", "planwright"),
            ("/srv/bot-1/a_b.yaml", "/srv/bot-1/a_b.yaml"),
            ("/srv/jürgen/x", "/srv/jürgen/x"),
            ("/a b/c", "'/a b/c'"),
            ("/a(1)", "'/a(1)'"),
            ("/it's", r"'/it'\''s'"),
            ("~/x", "'~/x'"),
            ("", "''"),
        ] {
            assert_eq!(shell_word(word), quoted, "{word}");
        }
    }

    #[test]
    fn no_cause_is_said_twice() {
        let error = Err::<(), _>(anyhow!("disk full")).context("cannot write: disk full").context("no plan");
        assert_eq!(reason(&error.unwrap_err()), "no plan: cannot write: disk full");
    }
}
