//! Purpose: GitHub's JSON as far as we read it, and its translation. Unknown fields are ignored, missing ones forgiven.

use serde::Deserialize;

use crate::domain::ForgeKind;
use crate::domain::{
    Account, AccountId, AccountKind, Comment, CommentId, Permission, Project, Thread, ThreadRef,
};
use crate::forge::millis;

#[derive(Deserialize)]
pub(super) struct User {
    pub(super) id: i64,
    pub(super) login: String,
    #[serde(rename = "type", default)]
    kind: String,
}

impl User {
    pub(super) fn account(self) -> Account {
        let kind = match self.kind.as_str() {
            _ if self.login == "ghost" => AccountKind::Ghost,
            "User" => AccountKind::Person,
            // Whatever else GitHub invents may write, and never steers.
            _ => AccountKind::Bot,
        };
        Account { id: AccountId(self.id), login: self.login, kind }
    }
}

/// GitHub names nobody where an account was deleted; `ghost` is its own stand-in.
pub(super) fn account_or_ghost(user: Option<User>) -> Account {
    let ghost = Account { id: AccountId(10_137), login: "ghost".into(), kind: AccountKind::Ghost };
    user.map_or(ghost, User::account)
}

#[derive(Deserialize)]
pub(super) struct Label {
    pub(super) name: String,
}

#[derive(Deserialize)]
pub(super) struct Issue {
    pub(super) number: u64,
    title: String,
    body: Option<String>,
    user: Option<User>,
    state: String,
    #[serde(default)]
    pub(super) assignees: Vec<User>,
    #[serde(default)]
    labels: Vec<Label>,
    pull_request: Option<serde::de::IgnoredAny>,
    html_url: Option<String>,
    repository: Option<Repository>,
}

impl Issue {
    pub(super) fn thread(self) -> Thread {
        Thread {
            title: self.title,
            body: self.body.unwrap_or_default(),
            author: account_or_ghost(self.user),
            open: self.state == "open",
            is_change_request: self.pull_request.is_some(),
            confidential: false,
            assignees: self.assignees.into_iter().map(User::account).collect(),
            labels: self.labels.into_iter().map(|label| label.name).collect(),
            web_url: self.html_url,
        }
    }

    /// For lists over many repositories, which name the repository with each issue.
    pub(super) fn named(&self) -> Option<ThreadRef> {
        Some(ThreadRef::issue(self.repository.as_ref()?.project()?, self.number))
    }
}

#[derive(Deserialize)]
pub(super) struct Repository {
    full_name: String,
    #[serde(default)]
    pub(super) archived: bool,
    #[serde(default)]
    pub(super) permissions: Rights,
}

impl Repository {
    /// `None` for names that we do not take; they are not worth failing a whole list for.
    pub(super) fn project(&self) -> Option<Project> {
        (!self.archived).then(|| Project::new(ForgeKind::Github, &self.full_name).ok()).flatten()
    }
}

/// What a token may do in a repository.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Rights {
    admin: bool,
    maintain: bool,
    push: bool,
    triage: bool,
    pull: bool,
}

impl Rights {
    pub(super) fn highest(&self) -> Permission {
        let ladder = [
            (self.admin, Permission::Admin),
            (self.maintain, Permission::Maintain),
            (self.push, Permission::Write),
            (self.triage, Permission::Triage),
            (self.pull, Permission::Read),
        ];
        ladder.into_iter().find_map(|(has, level)| has.then_some(level)).unwrap_or(Permission::None)
    }
}

#[derive(Deserialize)]
pub(super) struct Repositories {
    pub(super) repositories: Vec<Repository>,
}

#[derive(Deserialize)]
pub(super) struct IssueComment {
    id: i64,
    body: Option<String>,
    user: Option<User>,
    created_at: Option<String>,
}

impl IssueComment {
    pub(super) fn comment(self) -> Comment {
        Comment {
            id: CommentId(self.id),
            author: account_or_ghost(self.user),
            body: self.body.unwrap_or_default(),
            created_at: millis(self.created_at.as_deref()),
        }
    }
}

/// An answer of which only the id matters.
#[derive(Deserialize)]
pub(super) struct Created {
    pub(super) id: i64,
}

#[derive(Deserialize)]
pub(super) struct GivenReaction {
    pub(super) id: i64,
    pub(super) user: Option<User>,
}

#[derive(Deserialize)]
pub(super) struct CollaboratorPermission {
    #[serde(default)]
    permission: String,
    #[serde(default)]
    role_name: String,
    user: Option<User>,
}

impl CollaboratorPermission {
    /// The question is asked by login, and logins can be taken over: the answer counts only for the right account.
    pub(super) fn of(self, who: &Account) -> Permission {
        if self.user.is_none_or(|user| AccountId(user.id) != who.id) {
            return Permission::None;
        }
        // Roles that an organisation invented carry their own name; `permission` says what they are built on.
        level(&self.role_name).or_else(|| level(&self.permission)).unwrap_or(Permission::None)
    }
}

fn level(name: &str) -> Option<Permission> {
    match name {
        "none" => Some(Permission::None),
        "read" | "pull" => Some(Permission::Read),
        "triage" => Some(Permission::Triage),
        "write" | "push" => Some(Permission::Write),
        "maintain" => Some(Permission::Maintain),
        "admin" => Some(Permission::Admin),
        _ => None,
    }
}

#[derive(Deserialize)]
pub(super) struct App {
    pub(super) slug: String,
}

#[derive(Deserialize)]
pub(super) struct Installation {
    pub(super) id: u64,
    #[serde(default)]
    permissions: AppRights,
    suspended_at: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct AppRights {
    contents: Option<String>,
    issues: Option<String>,
    metadata: Option<String>,
}

impl Installation {
    pub(super) fn is_active(&self) -> bool {
        self.suspended_at.is_none()
    }

    /// An App has no role; what its permissions allow comes nearest to these.
    pub(super) fn highest(&self) -> Permission {
        let may = |right: &Option<String>, what: &str| right.as_deref() == Some(what);
        if may(&self.permissions.contents, "write") {
            Permission::Write
        } else if may(&self.permissions.issues, "write") {
            Permission::Triage
        } else if self.permissions.metadata.is_some() || self.permissions.issues.is_some() {
            Permission::Read
        } else {
            Permission::None
        }
    }
}

#[derive(Deserialize)]
pub(super) struct IssueEvent {
    #[serde(default)]
    pub(super) event: String,
    pub(super) actor: Option<User>,
    pub(super) assignee: Option<User>,
    /// For assignments the actor may be the assignee; this is who did it.
    pub(super) assigner: Option<User>,
    pub(super) label: Option<Label>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Content {
    File {
        content: String,
        size: usize,
    },
    /// A directory, a submodule or a file too long for this way of asking.
    Other(serde::de::IgnoredAny),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permission_is_the_role_of_the_right_account() {
        let maria = Account::person(7, "maria");
        let check = |json: &str, expected| {
            let answer: CollaboratorPermission = serde_json::from_str(json).unwrap();
            assert_eq!(answer.of(&maria), expected, "{json}");
        };
        check(
            r#"{"permission":"read","role_name":"triage","user":{"id":7,"login":"maria"}}"#,
            Permission::Triage,
        );
        check(
            r#"{"permission":"write","role_name":"maintain","user":{"id":7,"login":"maria"}}"#,
            Permission::Maintain,
        );
        check(
            r#"{"permission":"write","role_name":"Release crew","user":{"id":7,"login":"m"}}"#,
            Permission::Write,
        );
        check(
            r#"{"permission":"admin","role_name":"admin","user":{"id":8,"login":"maria"}}"#,
            Permission::None,
        );
        check(r#"{"permission":"admin","role_name":"admin","user":null}"#, Permission::None);
        check(r#"{"permission":"owner?","user":{"id":7,"login":"maria"}}"#, Permission::None);
    }

    #[test]
    fn accounts_have_kinds() {
        let check = |json: &str, expected| {
            assert_eq!(account_or_ghost(serde_json::from_str(json).unwrap()).kind, expected, "{json}");
        };
        check(r#"{"id":1,"login":"maria","type":"User"}"#, AccountKind::Person);
        check(r#"{"id":1,"login":"dependabot[bot]","type":"Bot"}"#, AccountKind::Bot);
        check(r#"{"id":1,"login":"acme","type":"Organization"}"#, AccountKind::Bot);
        check(r#"{"id":10137,"login":"ghost","type":"User"}"#, AccountKind::Ghost);
        check("null", AccountKind::Ghost);
    }
}
