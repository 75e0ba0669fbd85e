//! Purpose: GitHub's JSON as far as we read it, and its translation. Unknown fields are ignored, missing ones forgiven.

use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::domain::{
    Account, AccountId, AccountKind, ChangeBranch, ChangeRequest, Comment, CommentId, DiffLine, FileDiff,
    ForgeKind, Permission, Project, Thread, ThreadRef,
};
use crate::forge::{ForgeError, is_edited, is_edited_later, millis};

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

    pub(super) fn is_organization(&self) -> bool {
        self.kind == "Organization"
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
    /// Pull requests are listed and shown among the issues, without their branches.
    pub(super) fn is_pull(&self) -> bool {
        self.pull_request.is_some()
    }

    pub(super) fn thread(self) -> Thread {
        Thread {
            title: self.title,
            body: self.body.unwrap_or_default(),
            author: account_or_ghost(self.user),
            open: self.state == "open",
            is_change_request: false,
            confidential: false,
            assignees: self.assignees.into_iter().map(User::account).collect(),
            labels: self.labels.into_iter().map(|label| label.name).collect(),
            web_url: self.html_url,
            branch: None,
        }
    }

    /// For lists over many repositories, which name the repository with each issue.
    pub(super) fn named(&self) -> Option<ThreadRef> {
        Some(ThreadRef::issue(self.repository.as_ref()?.project()?, self.number))
    }
}

#[derive(Deserialize)]
pub(super) struct Pull {
    number: u64,
    title: String,
    body: Option<String>,
    user: Option<User>,
    state: String,
    #[serde(default)]
    draft: bool,
    html_url: Option<String>,
    head: End,
    base: End,
    #[serde(default)]
    assignees: Vec<User>,
    #[serde(default)]
    labels: Vec<Label>,
    #[serde(default)]
    pub(super) requested_reviewers: Vec<User>,
}

#[derive(Deserialize)]
struct End {
    #[serde(rename = "ref")]
    name: String,
    /// Nothing where a fork was deleted.
    repo: Option<Repository>,
}

impl Pull {
    pub(super) fn thread(self, p: &Project) -> Thread {
        let (open, same_repository) = (self.is_open(), self.is_within(p));
        Thread {
            title: self.title,
            body: self.body.unwrap_or_default(),
            author: account_or_ghost(self.user),
            open,
            is_change_request: true,
            confidential: false,
            assignees: self.assignees.into_iter().map(User::account).collect(),
            labels: self.labels.into_iter().map(|label| label.name).collect(),
            web_url: self.html_url,
            branch: Some(ChangeBranch { head: self.head.name, base: self.base.name, same_repository }),
        }
    }

    /// Whether it comes from this branch of the project itself.
    pub(super) fn is_from(&self, p: &Project, head: &str) -> bool {
        self.head.name == head && self.is_within(p)
    }

    fn is_within(&self, p: &Project) -> bool {
        self.head.repo.as_ref().is_some_and(|repo| repo.full_name.eq_ignore_ascii_case(p.path()))
    }

    pub(super) fn is_open(&self) -> bool {
        self.state == "open"
    }

    pub(super) fn change_request(self, p: &Project) -> ChangeRequest {
        ChangeRequest {
            thread: ThreadRef::issue(p.clone(), self.number),
            open: self.is_open(),
            author: account_or_ghost(self.user).id,
            head: self.head.name,
            base: self.base.name,
            draft: self.draft,
            title: self.title,
            body: self.body.unwrap_or_default(),
            web_url: self.html_url,
        }
    }
}

#[derive(Deserialize)]
pub(super) struct Repository {
    full_name: String,
    #[serde(default)]
    pub(super) archived: bool,
    pub(super) default_branch: Option<String>,
    pub(super) html_url: Option<String>,
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
    issue_url: Option<String>,
    body: Option<String>,
    user: Option<User>,
    created_at: Option<String>,
    updated_at: Option<String>,
}

impl IssueComment {
    /// Whether it stands on this thread, in whose repository it was found.
    pub(super) fn is_of(&self, t: &ThreadRef) -> bool {
        let number = self.issue_url.as_deref().and_then(|url| url.rsplit('/').next()?.parse().ok());
        number == Some(t.number)
    }

    pub(super) fn comment(self) -> Comment {
        Comment {
            id: CommentId(self.id),
            author: account_or_ghost(self.user),
            body: self.body.unwrap_or_default(),
            created_at: millis(self.created_at.as_deref()),
            edited: is_edited(self.created_at.as_deref(), self.updated_at.as_deref()),
            on: None,
        }
    }
}

/// A review as a whole; what it says about lines is listed apart.
#[derive(Deserialize)]
pub(super) struct Review {
    id: i64,
    body: Option<String>,
    user: Option<User>,
    #[serde(default)]
    state: String,
    submitted_at: Option<String>,
}

impl Review {
    /// `None` for one without words, and for one of our own that was never sent.
    pub(super) fn comment(self) -> Option<Comment> {
        let body = self.body.filter(|body| !body.trim().is_empty())?;
        (!self.state.eq_ignore_ascii_case("pending")).then(|| Comment {
            id: CommentId(self.id),
            author: account_or_ghost(self.user),
            body,
            created_at: millis(self.submitted_at.as_deref()),
            // GitHub does not tell for reviews.
            edited: true,
            on: None,
        })
    }
}

#[derive(Deserialize)]
pub(super) struct ReviewComment {
    id: i64,
    body: Option<String>,
    user: Option<User>,
    created_at: Option<String>,
    updated_at: Option<String>,
    path: String,
    line: Option<u64>,
    /// Where it stood when it was written; later commits may take its line away.
    original_line: Option<u64>,
}

impl ReviewComment {
    pub(super) fn comment(self) -> Comment {
        Comment {
            id: CommentId(self.id),
            author: account_or_ghost(self.user),
            body: self.body.unwrap_or_default(),
            created_at: millis(self.created_at.as_deref()),
            edited: is_edited_later(self.created_at.as_deref(), self.updated_at.as_deref()),
            on: Some(DiffLine { path: self.path, line: self.line.or(self.original_line) }),
        }
    }
}

#[derive(Deserialize)]
pub(super) struct PullFile {
    filename: String,
    /// Nothing for files that are no text, and for long ones.
    patch: Option<String>,
}

impl PullFile {
    pub(super) fn diff(self) -> FileDiff {
        FileDiff { path: self.filename, patch: self.patch.unwrap_or_default() }
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
    workflows: Option<String>,
}

impl Installation {
    pub(super) fn is_active(&self) -> bool {
        self.suspended_at.is_none()
    }

    /// What a token for git may do: no more than git needs, and of that only what was granted. GitHub asks for a right of
    /// its own where a push changes workflows.
    pub(super) fn rights_for_git(&self) -> Result<Map<String, Value>, ForgeError> {
        let AppRights { contents, workflows, .. } = &self.permissions;
        let Some(contents) = contents else {
            return Err(ForgeError::Forbidden(
                "the App has no access to the contents of repositories".into(),
            ));
        };
        let granted = [("contents", Some(contents)), ("workflows", workflows.as_ref())];
        let named =
            granted.into_iter().filter_map(|(name, right)| Some((name.into(), right?.clone().into())));
        Ok(named.collect())
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
pub(super) struct MintedToken {
    token: String,
    pub(super) expires_at: String,
}

impl MintedToken {
    pub(super) fn secret(self) -> SecretString {
        self.token.into()
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
