//! Purpose: every sentence that people read: the run as a card, and short answers to their comments.
//!
//! Comments are pictures of the record, never the state. What a model wrote is put through [`line()`] first, so that it
//! can neither notify people, nor close issues, nor run GitLab's quick actions, nor hide anything.

mod card;
#[cfg(test)]
mod card_tests;
mod checklist;
mod crew;
#[cfg(test)]
mod crew_tests;
mod delivery;
mod design;
mod ends;
mod escalation;
#[cfg(test)]
mod fixtures;
mod help;
#[cfg(test)]
mod japanese;
mod japanese_sentences;
mod ledger;
mod neutral;
mod notice;
mod preview;
mod preview_entry;
#[cfg(test)]
mod preview_tests;
mod questions;
mod reply;
mod revisions;
mod sentences;
mod status;
#[cfg(test)]
mod status_tests;
mod words;

pub use card::{card, reaction};
pub use delivery::{commit_message, commit_trailer, delivery, merge_message};
pub use design::{decisions, read_choices, review, turned_down};
pub use escalation::{escalation, escalation_reminder};
pub use neutral::line;
pub use notice::{replan_line, replan_notice};
pub use preview::{Preview, preview, read_boxes};
pub use preview_entry::Redact;
pub use questions::{questions, read_ticks};
pub use reply::reply;
pub use sentences::reason;

use crate::domain::{ForgeKind, Permission};

/// How the bot names its commands here. GitLab itself carries out `/approve`, so there the bot is called by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Voice {
    pub forge: ForgeKind,
    pub bot_login: String,
}

impl Voice {
    #[must_use]
    pub fn command(&self, words: &str) -> String {
        match self.forge {
            ForgeKind::Gitlab => format!("`@{} {words}`", self.handle()),
            ForgeKind::Github | ForgeKind::Local => format!("`/{words}`"),
        }
    }

    /// A permission by the name that people find in the forge's own settings.
    #[must_use]
    pub fn role(&self, permission: Permission) -> &'static str {
        match (self.forge, permission) {
            (ForgeKind::Gitlab, Permission::None) => "no",
            (ForgeKind::Gitlab, Permission::Read) => "Guest",
            (ForgeKind::Gitlab, Permission::Triage) => "Reporter",
            (ForgeKind::Gitlab, Permission::Write) => "Developer",
            (ForgeKind::Gitlab, Permission::Maintain) => "Maintainer",
            (ForgeKind::Gitlab, Permission::Admin) => "Owner",
            (ForgeKind::Github | ForgeKind::Local, permission) => permission.as_str(),
        }
    }

    /// The name that people write: an app's account is called `name[bot]`, but mentioned as `name`.
    #[must_use]
    pub fn handle(&self) -> &str {
        self.bot_login.strip_suffix("[bot]").unwrap_or(&self.bot_login)
    }
}

/// The hidden mark by which the bot finds a comment of its own again after it lost sight of the answer to its POST.
#[must_use]
pub fn marker(key: &str) -> String {
    format!("<!-- planwright:{key} -->")
}

/// The mark of a comment that the bot wrote; it stands alone in the last line.
#[must_use]
pub fn marker_of(body: &str) -> Option<&str> {
    body.lines().last().filter(|line| line.starts_with("<!-- planwright:") && line.ends_with(" -->"))
}
