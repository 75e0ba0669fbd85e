//! Purpose: the engine on a thread of the local forge, with the terminal as one more face of that thread.
//!
//! There is no second loop here and no second store of truth. The words of the person become an issue that the bot is
//! assigned to; what they answer becomes comments; each goes to the engine as a signed webhook, as it would from any
//! forge. What is shown is read off the journal. So a run can be left at any time, by Ctrl-C or `kill -9`, and goes on
//! where it was: the sweep at the next start finds what the thread has and the journal has not.

pub(super) mod asked;
mod face;
mod guest;
pub(super) mod need;
pub(super) mod outcome;
mod place;
mod prompt;
mod seat;
pub(super) mod settings;
mod sheet;
mod sitting;
mod stand;
mod story;
mod table;
pub(super) mod words;

pub(super) use guest::Guest;
pub(super) use place::Wish;
pub(super) use prompt::{Heard, Prompt};
pub(super) use seat::Seat;
pub(super) use sitting::Sitting;
pub(super) use stand::{Stand, beside, swept};
pub(super) use table::{Opening, Table, keep_out_of_git, open_forge};

use std::path::Path;

use super::out::program;
use crate::config::{Config, ConfigError};
use crate::planning::RunId;

/// The settings as they were found, and the file that was named.
pub(super) struct Loaded<'a> {
    pub config: Result<Config, ConfigError>,
    pub path: Option<&'a Path>,
}

/// What somebody sits down for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Plan,
    Lead,
}

impl Way {
    const ALL: [Self; 2] = [Self::Plan, Self::Lead];

    /// What the names of runs begin with that are started this way.
    pub(super) fn prefix(self) -> &'static str {
        match self {
            Self::Plan => "planning-",
            Self::Lead => "leading-",
        }
    }

    /// The command that goes on with a run.
    pub(super) fn go_on(self, run: Option<&RunId>, config_option: &str) -> String {
        let command = match self {
            Self::Plan => "plan --resume",
            Self::Lead => "lead resume",
        };
        let id = run.map_or(String::new(), |id| format!(" {id}"));
        format!("{} {command}{id}{config_option}", program())
    }
}

/// By the id, or enough of its beginning, with or without what such ids begin with.
pub(super) fn is_meant(id: &str, wanted: &str) -> bool {
    let bare = Way::ALL.iter().find_map(|way| id.strip_prefix(way.prefix())).unwrap_or(id);
    !wanted.is_empty() && (id.starts_with(wanted) || bare.starts_with(wanted))
}
