//! Purpose: the bytes of a verified delivery become [`Event`]s in our own words. Pure.
//!
//! Each forge has its own file with its own borrowed structs: a body may have 25 MB, so nothing is parsed into a
//! generic value, and only what an event keeps is copied. The structs are tolerant (nearly everything may be missing
//! or null); what an event cannot do without is asked for by name, so that the complaint says what was missing.

use std::borrow::Cow;

use serde::Deserialize;

use super::{github, gitlab};
use crate::domain::{Event, ForgeKind, Millis, ThreadRef};

/// The name under which the bot itself puts events into the inbox (the reconcile sweep does). The body is an
/// [`Event`]. The door must refuse it from outside: GitHub's signature does not cover the header with the name.
pub const INTERNAL_EVENT: &str = "planwright.event";

/// What a delivery comes to.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Translated {
    /// At least one, all on the same thread, in the order in which they are to be taken. GitLab tells several changes
    /// in one delivery.
    Events(Vec<Event>),
    /// Nothing that concerns us, and why.
    NotForUs(&'static str),
    /// It should concern us but cannot be read: somebody has to look. The sentence quotes nothing of the body.
    Unreadable { thread: Option<ThreadRef>, why: String },
}

/// What to do with deliveries about things that only members may see. Answering them in public would leak them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confidential {
    Ignored,
    Accepted,
}

/// `event` is what the forge calls it: `X-GitHub-Event`, `X-Gitlab-Event`; `event` on the local forge.
pub fn translate(forge: ForgeKind, event: &str, body: &[u8], confidential: Confidential) -> Translated {
    let read = match (forge, event) {
        (_, INTERNAL_EVENT) | (ForgeKind::Local, "event") => our_own(forge, body),
        (ForgeKind::Local, _) => Err(Refusal::NotForUs("the local forge sends nothing else")),
        (ForgeKind::Github, _) => github::read(event, body),
        (ForgeKind::Gitlab, _) => gitlab::read(event, body, confidential),
    };
    match read {
        Ok(events) => Translated::Events(events),
        Err(Refusal::NotForUs(why)) => Translated::NotForUs(why),
        Err(Refusal::Unreadable { thread, why }) => Translated::Unreadable { thread, why },
    }
}

fn our_own(forge: ForgeKind, body: &[u8]) -> Result<Vec<Event>, Refusal> {
    let event: Event = parse(body).map_err(|e| Refusal::unreadable(None, complaint(body, &e)))?;
    if event.thread.project.forge != forge {
        let why = format!("the event is about {}, but came in for {forge}", event.thread);
        return Err(Refusal::unreadable(Some(event.thread), why));
    }
    Ok(vec![event])
}

/// Why there is no event.
pub(super) enum Refusal {
    NotForUs(&'static str),
    Unreadable { thread: Option<ThreadRef>, why: String },
}

impl Refusal {
    pub(super) fn unreadable(thread: Option<ThreadRef>, why: String) -> Self {
        Self::Unreadable { thread, why }
    }
}

/// What keeps one payload from being an event, before it is known which thread it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gap {
    NotForUs(&'static str),
    /// The path of the field.
    Missing(&'static str),
    /// What is there, but holds something else.
    Odd(&'static str),
}

impl Gap {
    pub(super) fn on(self, thread: Option<ThreadRef>) -> Refusal {
        match self {
            Self::NotForUs(why) => Refusal::NotForUs(why),
            Self::Missing(field) => Refusal::unreadable(thread, format!("the payload has no `{field}`")),
            Self::Odd(what) => {
                Refusal::unreadable(thread, format!("the payload's {what} are not what we expect"))
            }
        }
    }
}

/// Asks once whether all of it is UTF-8, which is far cheaper than string by string. A body that is not may still be
/// good where we read it.
pub(super) fn parse<'a, T: Deserialize<'a>>(body: &'a [u8]) -> serde_json::Result<T> {
    match std::str::from_utf8(body) {
        Ok(text) => serde_json::from_str(text),
        Err(_) => serde_json::from_slice(body),
    }
}

/// A string that stays in the body where it can. (`Option<Cow<str>>` alone would always copy.)
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl std::ops::Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// RFC 3339, or what GitLab also writes: `2013-12-03 17:15:43 UTC`. Other times are as good as none.
pub(super) fn time(text: Option<&Text<'_>>) -> Option<Millis> {
    let text = text?.trim();
    let parsed = match text.strip_suffix(" UTC") {
        Some(naive) => format!("{naive}Z").parse::<jiff::Timestamp>(),
        None => text.parse(),
    };
    parsed.ok().map(|time| Millis(time.as_millisecond()))
}

/// Says what is wrong with the bytes without repeating any of them: they may be long, or secret.
pub(super) fn complaint(body: &[u8], error: &serde_json::Error) -> String {
    let place = format!("line {}, column {}", error.line(), error.column());
    match error.classify() {
        serde_json::error::Category::Syntax if body.starts_with(b"payload=") => {
            "the body is a form; set the content type of the webhook to `application/json`".to_owned()
        }
        serde_json::error::Category::Eof => format!("the body is cut off ({place})"),
        serde_json::error::Category::Data => {
            format!("a field of the payload is not what we expect ({place})")
        }
        serde_json::error::Category::Syntax | serde_json::error::Category::Io => {
            format!("the body is not JSON ({place})")
        }
    }
}
