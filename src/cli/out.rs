//! Purpose: the one place that prints.

use std::io::{IsTerminal as _, Write as _};

/// A line for the person or program at standard output. A reader that went away (`| head`) is no error.
pub(super) fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

pub(super) fn complain(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Whether somebody is watching: then there are colours and a pace to read by.
pub(super) fn is_watched() -> bool {
    std::io::stdout().is_terminal()
}
