//! Purpose: GitLab's JSON as far as we read it, and its translation. Unknown fields are ignored, missing ones forgiven.

use serde::Deserialize;

use crate::domain::{
    Account, AccountId, AccountKind, ChangeBranch, ChangeRequest, Comment, CommentId, DiffLine, FileDiff,
    Permission, Project as ProjectName, Readiness, Repository, Thread, ThreadRef,
};
use crate::forge::{is_edited, millis};

#[derive(Deserialize)]
pub(super) struct User {
    pub(super) id: i64,
    username: String,
    #[serde(default)]
    bot: bool,
}

impl User {
    pub(super) fn account(self) -> Account {
        let kind = kind_of(&self);
        Account { id: AccountId(self.id), login: self.username, kind }
    }
}

/// Only an account's own page says whether it is a bot; elsewhere the names that GitLab gives its token users tell.
fn kind_of(user: &User) -> AccountKind {
    let name = user.username.as_str();
    let token_user = (name.starts_with("project_") || name.starts_with("group_")) && name.contains("_bot");
    if name == "ghost" {
        AccountKind::Ghost
    } else if user.bot || token_user || name.starts_with("service_account_") {
        AccountKind::Bot
    } else {
        AccountKind::Person
    }
}

fn account_or_ghost(user: Option<User>) -> Account {
    let ghost = Account { id: AccountId(0), login: "ghost".into(), kind: AccountKind::Ghost };
    user.map_or(ghost, User::account)
}

/// An issue or a merge request; they differ in little that we read.
#[derive(Deserialize)]
pub(super) struct Item {
    iid: Option<u64>,
    title: String,
    description: Option<String>,
    author: Option<User>,
    state: String,
    #[serde(default)]
    confidential: bool,
    #[serde(default)]
    pub(super) assignees: Vec<User>,
    #[serde(default)]
    labels: Vec<String>,
    web_url: Option<String>,
    #[serde(default)]
    draft: bool,
    source_branch: Option<String>,
    target_branch: Option<String>,
    source_project_id: Option<u64>,
    target_project_id: Option<u64>,
    #[serde(default)]
    pub(super) reviewers: Vec<User>,
}

impl Item {
    pub(super) fn thread(self, is_change_request: bool) -> Thread {
        Thread {
            branch: self.branch(),
            title: self.title(),
            open: self.is_open(),
            body: self.description.unwrap_or_default(),
            author: account_or_ghost(self.author),
            is_change_request,
            confidential: self.confidential,
            assignees: self.assignees.into_iter().map(User::account).collect(),
            labels: self.labels,
            web_url: self.web_url,
        }
    }

    fn branch(&self) -> Option<ChangeBranch> {
        let (head, base) = (self.source_branch.clone()?, self.target_branch.clone()?);
        let same_repository =
            self.source_project_id.is_some() && self.source_project_id == self.target_project_id;
        Some(ChangeBranch { head, base, same_repository })
    }

    /// A draft is one by its title; everybody else has a field for that.
    fn title(&self) -> String {
        if self.draft { without_draft(&self.title).to_owned() } else { self.title.clone() }
    }

    /// As it is to be written, so that it stays a draft, or does not become one.
    pub(super) fn title_for(&self, title: &str) -> String {
        draft_title(title, if self.draft { Readiness::Draft } else { Readiness::Ready })
    }

    pub(super) fn is_open(&self) -> bool {
        self.state == "opened"
    }

    /// `None` for what is no merge request.
    pub(super) fn change_request(self, p: &ProjectName) -> Option<ChangeRequest> {
        let ChangeBranch { head, base, .. } = self.branch()?;
        Some(ChangeRequest {
            thread: ThreadRef::merge_request(p.clone(), self.iid?),
            title: self.title(),
            open: self.is_open(),
            author: account_or_ghost(self.author).id,
            head,
            base,
            draft: self.draft,
            body: self.description.unwrap_or_default(),
            web_url: self.web_url,
        })
    }

    pub(super) fn is_within_one_project(&self) -> bool {
        self.branch().is_some_and(|branch| branch.same_repository)
    }
}

pub(super) fn draft_title(title: &str, readiness: Readiness) -> String {
    let title = without_draft(title);
    match readiness {
        Readiness::Draft => format!("Draft: {title}"),
        Readiness::Ready => title.to_owned(),
    }
}

/// GitLab takes a title for a draft's when it begins with one of these, as often as it does.
fn without_draft(title: &str) -> &str {
    let mut rest = title.trim_start();
    let marks = ["draft:", "[draft]", "(draft)"];
    while let Some(mark) =
        marks.iter().find(|mark| rest.get(..mark.len()).is_some_and(|start| start.eq_ignore_ascii_case(mark)))
    {
        rest = rest[mark.len()..].trim_start();
    }
    rest
}

/// An entry of a list over many projects.
#[derive(Deserialize)]
pub(super) struct Listed {
    references: References,
}

#[derive(Deserialize)]
struct References {
    /// `group/sub/project#12`, or with `!` for merge requests: but for the forge's name, this is how we write it.
    full: String,
}

impl Listed {
    /// `None` for names that we do not take; they are not worth failing a whole list for.
    pub(super) fn named(&self) -> Option<ThreadRef> {
        format!("gitlab:{}", self.references.full).parse().ok()
    }
}

#[derive(Deserialize)]
pub(super) struct Note {
    pub(super) id: i64,
    pub(super) body: Option<String>,
    pub(super) author: Option<User>,
    created_at: Option<String>,
    updated_at: Option<String>,
    /// Where it stands in the diff of a merge request.
    position: Option<Position>,
    #[serde(default)]
    pub(super) system: bool,
    /// For members only, in a thread that others may read.
    #[serde(default)]
    pub(super) internal: bool,
    /// What older versions call `internal`.
    #[serde(default)]
    pub(super) confidential: bool,
}

impl Note {
    /// Neither written by GitLab itself, nor for members only: what we make of the text is for everybody to read.
    pub(super) fn is_public_comment(&self) -> bool {
        !self.system && !self.internal && !self.confidential
    }

    pub(super) fn comment(self) -> Comment {
        Comment {
            id: CommentId(self.id),
            author: account_or_ghost(self.author),
            body: self.body.unwrap_or_default(),
            created_at: millis(self.created_at.as_deref()),
            // A reaction moves the second time as well; then a good word counts for less, never a bad one for more.
            edited: is_edited(self.created_at.as_deref(), self.updated_at.as_deref()),
            on: self.position.and_then(Position::line),
        }
    }

    /// GitLab writes down assignments as sentences: "assigned to @a, @b, and @c and unassigned @d".
    pub(super) fn assigns(&self, login: &str) -> bool {
        let Some((_, rest)) = self.body.as_deref().unwrap_or_default().split_once("assigned to ") else {
            return false;
        };
        let named = rest.split("unassigned").next().unwrap_or_default();
        let logins = named.split([' ', ',']).filter_map(|word| word.strip_prefix('@'));
        self.system && logins.into_iter().any(|name| name.eq_ignore_ascii_case(login))
    }
}

#[derive(Deserialize)]
struct Position {
    new_path: Option<String>,
    new_line: Option<u64>,
    old_path: Option<String>,
    old_line: Option<u64>,
}

impl Position {
    fn line(self) -> Option<DiffLine> {
        let path = self.new_path.or(self.old_path)?;
        Some(DiffLine { path, line: self.new_line.or(self.old_line) })
    }
}

/// One file of a merge request.
#[derive(Deserialize)]
pub(super) struct Changed {
    new_path: String,
    /// Empty for files that are no text, and for long ones.
    #[serde(default)]
    diff: String,
}

impl Changed {
    pub(super) fn diff(self) -> FileDiff {
        FileDiff { path: self.new_path, patch: self.diff }
    }
}

/// An answer of which only the id matters.
#[derive(Deserialize)]
pub(super) struct Created {
    pub(super) id: i64,
}

#[derive(Deserialize)]
pub(super) struct Discussion {
    #[serde(default)]
    pub(super) notes: Vec<Created>,
}

#[derive(Deserialize)]
pub(super) struct Award {
    pub(super) id: i64,
    pub(super) name: String,
    pub(super) user: Option<User>,
}

#[derive(Deserialize)]
pub(super) struct Member {
    pub(super) id: i64,
    #[serde(default)]
    access_level: u64,
    state: Option<String>,
}

impl Member {
    /// A blocked account keeps its membership and must not act with it.
    pub(super) fn permission(&self) -> Permission {
        if self.state.as_deref().is_some_and(|state| state != "active") {
            return Permission::None;
        }
        match self.access_level {
            50.. => Permission::Admin,
            40..50 => Permission::Maintain,
            30..40 => Permission::Write,
            20..30 => Permission::Triage,
            // Guests (10) and planners (15); 5 is "minimal access", which sees nothing.
            10..20 => Permission::Read,
            0..10 => Permission::None,
        }
    }
}

#[derive(Deserialize)]
pub(super) struct Project {
    pub(super) id: u64,
    #[serde(default)]
    visibility: String,
    default_branch: Option<String>,
    #[serde(default)]
    empty_repo: bool,
    #[serde(default)]
    archived: bool,
    web_url: Option<String>,
}

impl Project {
    pub(super) fn repository(self) -> Repository {
        let default_branch = self.default_branch.filter(|_| !self.empty_repo);
        Repository { default_branch, archived: self.archived, web_url: self.web_url }
    }

    /// What everybody with an account may do.
    pub(super) fn open_to_all(&self) -> Permission {
        match self.visibility.as_str() {
            "public" | "internal" => Permission::Read,
            _ => Permission::None,
        }
    }
}

#[derive(Deserialize)]
pub(super) struct LabelEvent {
    pub(super) user: Option<User>,
    pub(super) action: String,
    pub(super) label: Option<Label>,
}

impl LabelEvent {
    pub(super) fn author(self) -> Account {
        account_or_ghost(self.user)
    }
}

#[derive(Deserialize)]
pub(super) struct Label {
    pub(super) name: String,
}

#[derive(Deserialize)]
pub(super) struct File {
    pub(super) content: String,
    #[serde(default)]
    pub(super) size: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assignments_are_read_from_system_notes() {
        let check = |body: &str, system: bool, expected: bool| {
            let note = Note {
                id: 1,
                body: Some(body.into()),
                author: None,
                created_at: None,
                updated_at: None,
                position: None,
                system,
                internal: false,
                confidential: false,
            };
            assert_eq!(note.assigns("bot"), expected, "{body}");
        };
        check("assigned to @bot", true, true);
        check("assigned to @Bot", true, true);
        check("assigned to @maria and @bot", true, true);
        check("assigned to @maria, @bot, and @tom and unassigned @lee", true, true);
        check("assigned to @maria and unassigned @bot", true, false);
        check("assigned to @bottle", true, false);
        check("unassigned @bot", true, false);
        check("assigned to @bot", false, false);
    }

    #[test]
    fn drafts_are_told_by_their_titles() {
        for (title, bare) in [
            ("Draft: Fast", "Fast"),
            ("draft:Fast", "Fast"),
            ("[Draft] Fast", "Fast"),
            ("(DRAFT) Draft: Fast", "Fast"),
            ("Drafty", "Drafty"),
            ("Fast draft:", "Fast draft:"),
            ("Draft", "Draft"),
            ("Ärger", "Ärger"),
            ("Draft:", ""),
        ] {
            assert_eq!(draft_title(title, Readiness::Ready), bare, "{title}");
            assert_eq!(draft_title(title, Readiness::Draft), format!("Draft: {bare}"), "{title}");
        }
    }

    #[test]
    fn what_only_members_may_read_is_left_out() {
        let check = |extra: &str, expected: bool| {
            let note: Note = serde_json::from_str(&format!(r#"{{"id":1,"body":"x"{extra}}}"#)).unwrap();
            assert_eq!(note.is_public_comment(), expected, "{extra}");
        };
        check("", true);
        check(r#","system":false,"internal":false,"confidential":false"#, true);
        check(r#","system":true"#, false);
        check(r#","internal":true"#, false);
        check(r#","confidential":true"#, false);
    }

    #[test]
    fn levels_are_translated() {
        let check = |level: u64, state: Option<&str>, expected| {
            let member = Member { id: 1, access_level: level, state: state.map(Into::into) };
            assert_eq!(member.permission(), expected, "{level}");
        };
        check(5, Some("active"), Permission::None);
        check(10, Some("active"), Permission::Read);
        check(15, Some("active"), Permission::Read);
        check(20, Some("active"), Permission::Triage);
        check(30, None, Permission::Write);
        check(40, Some("active"), Permission::Maintain);
        check(50, Some("active"), Permission::Admin);
        check(50, Some("blocked"), Permission::None);
    }

    #[test]
    fn accounts_have_kinds() {
        let check = |json: &str, expected| {
            assert_eq!(account_or_ghost(serde_json::from_str(json).unwrap()).kind, expected, "{json}");
        };
        check(r#"{"id":1,"username":"maria"}"#, AccountKind::Person);
        check(r#"{"id":1,"username":"maria","bot":true}"#, AccountKind::Bot);
        check(r#"{"id":1,"username":"project_12_bot_4ffca233d8298ea1"}"#, AccountKind::Bot);
        check(r#"{"id":1,"username":"project_manager"}"#, AccountKind::Person);
        check(r#"{"id":1,"username":"ghost"}"#, AccountKind::Ghost);
        check("null", AccountKind::Ghost);
    }
}
