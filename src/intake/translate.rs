//! Purpose: bytes of a verified delivery to an event, or the reason why it is none. Pure.

use serde::Deserialize;

use crate::domain::{Account, AccountId, AccountKind, Event, EventKind, ForgeKind, Project, ThreadRef};

/// Whether events about confidential issues and notes are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confidential {
    Ignored,
    Accepted,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Translated {
    Event(Event),
    NotForUs(&'static str),
    Unreadable { thread: Option<ThreadRef>, why: String },
}

#[must_use]
pub fn translate(forge: ForgeKind, event: &str, body: &[u8], confidential: Confidential) -> Translated {
    let read = match (forge, event) {
        (ForgeKind::Local, _) => serde_json::from_slice(body).map_err(|error| error.to_string()),
        (ForgeKind::Github, "issues" | "issue_comment") => github(body),
        (ForgeKind::Gitlab, "Issue Hook") => gitlab(body),
        (ForgeKind::Gitlab, "Confidential Issue Hook") if confidential == Confidential::Accepted => {
            gitlab(body)
        }
        (ForgeKind::Github | ForgeKind::Gitlab, _) => return Translated::NotForUs("an event we do not use"),
    };
    read.map_or_else(|why| Translated::Unreadable { thread: None, why }, Translated::Event)
}

#[derive(Deserialize)]
struct Github<'a> {
    issue: Numbered,
    #[serde(borrow)]
    repository: Repository<'a>,
    sender: Sender,
}

#[derive(Deserialize)]
struct Numbered {
    #[serde(alias = "iid")]
    number: u64,
}

#[derive(Deserialize)]
struct Repository<'a> {
    #[serde(alias = "path_with_namespace")]
    full_name: &'a str,
}

#[derive(Deserialize)]
struct Sender {
    id: i64,
    #[serde(alias = "username")]
    login: String,
}

fn github(body: &[u8]) -> Result<Event, String> {
    let read: Github<'_> = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    event(ForgeKind::Github, read.repository.full_name, read.issue.number, read.sender)
}

#[derive(Deserialize)]
struct Gitlab<'a> {
    #[serde(borrow)]
    project: Repository<'a>,
    object_attributes: Numbered,
    user: Sender,
}

fn gitlab(body: &[u8]) -> Result<Event, String> {
    let read: Gitlab<'_> = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    event(ForgeKind::Gitlab, read.project.full_name, read.object_attributes.number, read.user)
}

fn event(forge: ForgeKind, path: &str, number: u64, sender: Sender) -> Result<Event, String> {
    let project = Project::new(forge, path).map_err(|error| error.to_string())?;
    let actor = Account { id: AccountId(sender.id), login: sender.login, kind: AccountKind::Person };
    Ok(Event {
        thread: ThreadRef::issue(project, number),
        actor,
        at: None,
        kind: EventKind::DescriptionEdited,
    })
}
