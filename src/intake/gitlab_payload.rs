//! Purpose: what we read of GitLab's payloads, borrowed from the body. Nearly everything may be missing.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::translate::{Gap, Text};
use crate::domain::{Account, AccountId, AccountKind};

#[derive(Deserialize)]
pub(super) struct Payload<'a> {
    #[serde(borrow)]
    pub(super) object_kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) event_type: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) user: Option<User<'a>>,
    #[serde(borrow)]
    pub(super) project: Option<ProjectPart<'a>>,
    #[serde(borrow)]
    pub(super) object_attributes: Option<Attributes<'a>>,
    pub(super) issue: Option<Subject>,
    pub(super) merge_request: Option<Subject>,
    #[serde(borrow)]
    pub(super) assignees: Option<Vec<User<'a>>>,
    #[serde(borrow)]
    pub(super) reviewers: Option<Vec<User<'a>>>,
    #[serde(borrow)]
    pub(super) labels: Option<Vec<Label<'a>>>,
    #[serde(borrow)]
    pub(super) changes: Option<Changes<'a>>,
}

/// Only what names the thread.
#[derive(Deserialize)]
pub(super) struct Place<'a> {
    #[serde(borrow)]
    pub(super) project: Option<ProjectPart<'a>>,
    pub(super) object_attributes: Option<Subject>,
    pub(super) issue: Option<Subject>,
    pub(super) merge_request: Option<Subject>,
}

#[derive(Deserialize)]
pub(super) struct ProjectPart<'a> {
    #[serde(borrow)]
    pub(super) path_with_namespace: Option<Text<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Subject {
    pub(super) iid: Option<u64>,
    pub(super) confidential: Option<bool>,
}

/// Of an issue, a merge request or a note.
#[derive(Deserialize)]
pub(super) struct Attributes<'a> {
    pub(super) id: Option<i64>,
    pub(super) iid: Option<u64>,
    #[serde(borrow)]
    pub(super) action: Option<Text<'a>>,
    pub(super) author_id: Option<i64>,
    pub(super) updated_by_id: Option<i64>,
    pub(super) assignee_ids: Option<Vec<i64>>,
    pub(super) confidential: Option<bool>,
    pub(super) internal: Option<bool>,
    #[serde(borrow)]
    pub(super) created_at: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) updated_at: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) note: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) noteable_type: Option<Text<'a>>,
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Text<'a>>,
    pub(super) system: Option<bool>,
}

#[derive(Deserialize)]
pub(super) struct Changes<'a> {
    #[serde(borrow)]
    pub(super) assignees: Option<Change<User<'a>>>,
    #[serde(borrow)]
    pub(super) reviewers: Option<Change<User<'a>>>,
    #[serde(borrow)]
    pub(super) labels: Option<Change<Label<'a>>>,
    pub(super) title: Option<IgnoredAny>,
    pub(super) description: Option<IgnoredAny>,
}

#[derive(Deserialize)]
pub(super) struct Change<T> {
    pub(super) previous: Option<Vec<T>>,
    pub(super) current: Option<Vec<T>>,
}

#[derive(Deserialize)]
pub(super) struct Label<'a> {
    #[serde(borrow)]
    pub(super) title: Option<Text<'a>>,
}

#[derive(Deserialize)]
pub(super) struct User<'a> {
    pub(super) id: Option<i64>,
    #[serde(borrow)]
    username: Option<Text<'a>>,
    pub(super) re_requested: Option<bool>,
    /// What a reviewer has come to.
    #[serde(borrow)]
    pub(super) state: Option<Text<'a>>,
}

impl User<'_> {
    /// The account of this id; the login is empty where the payload tells only the id.
    pub(super) fn account(user: Option<&Self>, id: i64) -> Account {
        let login = user.and_then(|user| user.username.as_deref()).unwrap_or_default();
        Account { id: AccountId(id), login: login.to_owned(), kind: kind_of(login) }
    }

    pub(super) fn asks_for_changes(&self) -> bool {
        self.state.as_deref() == Some("requested_changes")
    }

    pub(super) fn required(&self, field: &'static str) -> Result<Account, Gap> {
        Ok(Self::account(Some(self), self.id.ok_or(Gap::Missing(field))?))
    }

    /// Somebody acted and the payload does not say who. No account has this id.
    pub(super) fn nobody() -> Account {
        Account { id: AccountId(0), login: "ghost".to_owned(), kind: AccountKind::Ghost }
    }
}

/// Hooks do not tell the type of an account, but GitLab names those that it makes itself.
fn kind_of(username: &str) -> AccountKind {
    let of_a_token = ["project_", "group_"].iter().any(|prefix| {
        let number_on = username.strip_prefix(prefix).unwrap_or_default();
        let after_number = number_on.trim_start_matches(|c: char| c.is_ascii_digit());
        let after_bot = after_number.strip_prefix("_bot").filter(|_| after_number.len() < number_on.len());
        after_bot.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphabetic()))
    });
    match username {
        "ghost" => AccountKind::Ghost,
        "alert-bot" | "support-bot" | "automation-bot" | "security-bot" | "migration-bot" => AccountKind::Bot,
        _ if of_a_token || username.starts_with("service_account_") => AccountKind::Bot,
        _ => AccountKind::Person,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_that_gitlab_made_are_bots() {
        for (username, kind) in [
            ("maria", AccountKind::Person),
            ("project_manager", AccountKind::Person),
            ("project_7_botany", AccountKind::Person),
            ("group_bot", AccountKind::Person),
            ("project_123_bot", AccountKind::Bot),
            ("project_123_bot1", AccountKind::Bot),
            ("project_123_bot_4ffca233d8298ea1", AccountKind::Bot),
            ("group_109_bot_ab", AccountKind::Bot),
            ("service_account_group_345_60", AccountKind::Bot),
            ("support-bot", AccountKind::Bot),
            ("ghost", AccountKind::Ghost),
            ("", AccountKind::Person),
        ] {
            assert_eq!(kind_of(username), kind, "{username}");
        }
    }
}
