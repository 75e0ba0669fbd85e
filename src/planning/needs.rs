//! Purpose: what has to be looked up before an event can be read. Most events need nothing and cost no request.

use super::interpret::{PAUSE_LABEL, has};
use super::record::Record;
use crate::domain::{Account, Command, Event, EventKind, Spoken, parse_command};

/// An event before anything was looked up for it.
#[derive(Debug, Clone, Copy)]
pub struct Heard<'a> {
    pub event: &'a Event,
    pub bot: &'a Account,
    /// The label that starts a run here, as far as is known without asking the forge.
    pub label: Option<&'a str>,
}

impl Heard<'_> {
    /// Nearly all labels that people put on are none of ours.
    fn starts_by(&self, label: &str) -> bool {
        self.label == Some(label)
    }
}

/// Whether reading this event needs the live state of the thread: it may start or stop something.
#[must_use]
pub fn needs_thread(record: &Record, heard: Heard<'_>) -> bool {
    let (running, Heard { event, bot, .. }) = (record.live_run().is_some(), heard);
    match &event.kind {
        EventKind::Opened { assignees, labels } => {
            has(assignees, bot) || labels.iter().any(|label| heard.starts_by(label))
        }
        EventKind::Assigned { assignee } => assignee.id == bot.id,
        EventKind::Unassigned { assignee } => running && assignee.id == bot.id,
        EventKind::Labelled { label } => heard.starts_by(label) || (label == PAUSE_LABEL && running),
        EventKind::Closed | EventKind::Unlabelled { .. } => running,
        EventKind::CommentCreated { comment } => match parse_command(&comment.body, &bot.login) {
            Spoken::Command(Command::Plan | Command::Retry | Command::Replan { .. }) => true,
            // Before there is a run, only the thread itself says which language to answer in.
            Spoken::Command(_) => record.run.is_none(),
            Spoken::Prose => false,
        },
        EventKind::Reviewed { asks_for_changes, .. } => *asks_for_changes && !running,
        EventKind::DescriptionEdited
        | EventKind::Reopened
        | EventKind::ReviewRequested { .. }
        | EventKind::CommentEdited { .. }
        | EventKind::CommentDeleted { .. }
        | EventKind::ReviewCommented { .. } => false,
    }
}

/// Whether reading this event needs the actor's permission. An event that needs neither this nor the thread changes
/// nothing. Prose on a thread without a run does not: busy
/// repositories would cost one request for every comment anybody writes.
#[must_use]
pub fn needs_permission(record: &Record, heard: Heard<'_>) -> bool {
    let (running, Heard { event, bot, .. }) = (record.live_run().is_some(), heard);
    match &event.kind {
        EventKind::Opened { assignees, labels } => {
            has(assignees, bot) || labels.iter().any(|label| heard.starts_by(label))
        }
        EventKind::Assigned { assignee } => assignee.id == bot.id,
        EventKind::Labelled { label } => heard.starts_by(label),
        EventKind::Unlabelled { label } => label == PAUSE_LABEL && running,
        EventKind::CommentCreated { comment } => {
            running || matches!(parse_command(&comment.body, &bot.login), Spoken::Command(_))
        }
        EventKind::Reviewed { asks_for_changes, .. } => running || *asks_for_changes,
        EventKind::DescriptionEdited | EventKind::ReviewCommented { .. } => running,
        EventKind::CommentEdited { comment } => record.asks_by(comment.id),
        EventKind::CommentDeleted { comment_id } => record.preview_request(*comment_id).is_some(),
        EventKind::Closed
        | EventKind::Reopened
        | EventKind::Unassigned { .. }
        | EventKind::ReviewRequested { .. } => false,
    }
}
