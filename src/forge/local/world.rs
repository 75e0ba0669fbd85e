//! Purpose: a forge as plain data: people, projects, threads, and who did what. It serves the local forge, and in tests
//! the fakes of GitHub and GitLab.
//!
//! What can be done in it is in `deeds.rs`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::super::{ForgeError, Reaction};
use super::bare;
use crate::domain::{
    Account, AccountId, ChangeBranch, Comment, CommentId, DiffLine, FileDiff, Millis, Permission, Project,
    Thread, ThreadRef,
};

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct World {
    pub(super) accounts: BTreeMap<AccountId, Account>,
    pub(super) projects: BTreeMap<Project, ProjectState>,
    pub(super) threads: BTreeMap<ThreadRef, ThreadState>,
    last_id: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    Public,
    Private,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProjectState {
    pub id: i64,
    pub visibility: Visibility,
    /// The files of the default branch.
    pub files: BTreeMap<String, String>,
    pub members: BTreeMap<AccountId, Permission>,
    #[serde(default)]
    pub archived: bool,
    /// A bare repository on this machine.
    #[serde(default)]
    pub git: Option<PathBuf>,
    /// Counts where there is no repository to look into; `None` as long as nothing was pushed.
    #[serde(default = "usual_branch")]
    pub default_branch: Option<String>,
}

fn usual_branch() -> Option<String> {
    Some("main".into())
}

impl ProjectState {
    /// What a clone checks out. A repository knows it best.
    #[must_use]
    pub fn trunk(&self) -> Option<String> {
        self.git.as_deref().map_or_else(|| self.default_branch.clone(), bare::head)
    }

    /// Without a repository every branch may be there.
    #[must_use]
    pub fn has_branch(&self, name: &str) -> bool {
        self.git.as_deref().is_none_or(|git| bare::has_branch(git, name))
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ThreadState {
    pub id: i64,
    pub title: String,
    pub body: String,
    pub author: AccountId,
    pub open: bool,
    /// What only a change request has.
    #[serde(default)]
    pub change: Option<ChangeState>,
    pub confidential: bool,
    pub assignees: Vec<AccountId>,
    pub labels: Vec<String>,
    pub created_at: Millis,
    pub updated_at: Millis,
    pub comments: Vec<CommentState>,
    pub reactions: Vec<Reacted>,
    pub log: Vec<LogEntry>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ChangeState {
    pub branch: ChangeBranch,
    pub draft: bool,
    pub merged: bool,
    pub reviewers: Vec<AccountId>,
    #[serde(default)]
    pub reviews: Vec<ReviewState>,
    /// What it changes, as people are shown it.
    #[serde(default)]
    pub diff: Vec<FileDiff>,
}

/// What somebody said in a review: as a whole, or about a line.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReviewState {
    pub comment: CommentState,
    pub on: Option<DiffLine>,
    pub asks_for_changes: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CommentState {
    pub id: CommentId,
    pub author: AccountId,
    pub body: String,
    pub created_at: Millis,
    pub updated_at: Millis,
    pub edited_by: Option<AccountId>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Reacted {
    pub id: i64,
    /// `None` means the thread itself.
    pub on: Option<CommentId>,
    pub by: AccountId,
    pub reaction: Reaction,
}

/// What forges keep in their own event logs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LogEntry {
    pub id: i64,
    pub at: Millis,
    pub by: AccountId,
    pub what: Logged,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Logged {
    Assigned(AccountId),
    Unassigned(AccountId),
    Labelled(String),
    Unlabelled(String),
}

/// What a new thread starts with; the rest of the fields are for `..NewThread::titled(…)`.
#[derive(Debug, Clone)]
pub struct NewThread {
    pub title: String,
    pub body: String,
    pub author: AccountId,
    pub is_change_request: bool,
    /// A change request without one gets a branch that is named after its number.
    pub branch: Option<ChangeBranch>,
    pub confidential: bool,
    pub assignees: Vec<AccountId>,
    pub labels: Vec<String>,
}

impl NewThread {
    #[must_use]
    pub fn titled(title: &str, author: AccountId) -> Self {
        Self {
            title: title.into(),
            body: String::new(),
            author,
            is_change_request: false,
            branch: None,
            confidential: false,
            assignees: Vec::new(),
            labels: Vec::new(),
        }
    }
}

/// Looking.
impl World {
    /// # Errors
    /// `NotFound`.
    pub fn account(&self, id: AccountId) -> Result<&Account, ForgeError> {
        self.accounts.get(&id).ok_or_else(|| ForgeError::NotFound(format!("there is no account {}", id.0)))
    }

    /// Logins differ in more than case, as on the other forges.
    #[must_use]
    pub fn account_called(&self, login: &str) -> Option<&Account> {
        self.accounts().find(|account| account.login.eq_ignore_ascii_case(login))
    }

    pub fn accounts(&self) -> impl Iterator<Item = &Account> {
        self.accounts.values()
    }

    /// # Errors
    /// `NotFound`.
    pub fn project(&self, p: &Project) -> Result<&ProjectState, ForgeError> {
        self.projects.get(p).ok_or_else(|| ForgeError::NotFound(format!("there is no project {p}")))
    }

    pub fn projects(&self) -> impl Iterator<Item = (&Project, &ProjectState)> {
        self.projects.iter()
    }

    /// # Errors
    /// `NotFound`.
    pub fn thread(&self, t: &ThreadRef) -> Result<&ThreadState, ForgeError> {
        self.threads.get(t).ok_or_else(|| ForgeError::NotFound(format!("there is no thread {t}")))
    }

    pub fn threads(&self) -> impl Iterator<Item = (&ThreadRef, &ThreadState)> {
        self.threads.iter()
    }

    /// The thread as the domain sees it.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn picture(&self, t: &ThreadRef) -> Result<Thread, ForgeError> {
        let state = self.thread(t)?;
        let assignees = state.assignees.iter().map(|id| self.account(*id).cloned());
        Ok(Thread {
            title: state.title.clone(),
            body: state.body.clone(),
            author: self.account(state.author)?.clone(),
            open: state.open,
            is_change_request: state.change.is_some(),
            confidential: state.confidential,
            assignees: assignees.collect::<Result<_, _>>()?,
            labels: state.labels.clone(),
            web_url: None,
            branch: state.change.as_ref().map(|change| change.branch.clone()),
        })
    }

    /// # Errors
    /// `NotFound`.
    pub fn comments(&self, t: &ThreadRef) -> Result<Vec<Comment>, ForgeError> {
        self.thread(t)?.comments.iter().map(|comment| self.comment_of(comment)).collect()
    }

    pub(super) fn comment_of(&self, comment: &CommentState) -> Result<Comment, ForgeError> {
        Ok(Comment {
            id: comment.id,
            author: self.account(comment.author)?.clone(),
            body: comment.body.clone(),
            created_at: Some(comment.created_at),
            edited: comment.updated_at != comment.created_at,
            on: None,
        })
    }

    /// `None` for projects that do not exist, as for those that an account may not see.
    #[must_use]
    pub fn permission(&self, p: &Project, who: AccountId) -> Permission {
        let Some(project) = self.projects.get(p) else { return Permission::None };
        let everybody = match project.visibility {
            Visibility::Public if self.accounts.contains_key(&who) => Permission::Read,
            Visibility::Public | Visibility::Private => Permission::None,
        };
        project.members.get(&who).copied().unwrap_or(Permission::None).max(everybody)
    }

    /// Refuses as a forge does: what one may not see does not exist.
    ///
    /// # Errors
    /// `NotFound` or `Forbidden`.
    pub fn must(&self, p: &Project, who: AccountId, needs: Permission) -> Result<(), ForgeError> {
        let has = self.permission(p, who);
        if has == Permission::None {
            return Err(ForgeError::NotFound(format!("there is no project {p}")));
        }
        if has < needs {
            let why = format!("this needs {} in {p}, and there is only {}", needs.as_str(), has.as_str());
            return Err(ForgeError::Forbidden(why));
        }
        Ok(())
    }
}

/// Setting the stage.
impl World {
    pub fn add_account(&mut self, account: Account) -> AccountId {
        let id = account.id;
        self.accounts.insert(id, account);
        id
    }

    pub fn add_project(&mut self, p: &Project, visibility: Visibility) {
        let id = self.fresh_id();
        let state = ProjectState {
            id,
            visibility,
            files: BTreeMap::new(),
            members: BTreeMap::new(),
            archived: false,
            git: None,
            default_branch: usual_branch(),
        };
        self.projects.insert(p.clone(), state);
    }

    /// # Errors
    /// `NotFound`.
    pub fn project_mut(&mut self, p: &Project) -> Result<&mut ProjectState, ForgeError> {
        self.projects.get_mut(p).ok_or_else(|| ForgeError::NotFound(format!("there is no project {p}")))
    }

    /// # Errors
    /// `NotFound`.
    pub fn set_member(&mut self, p: &Project, who: AccountId, level: Permission) -> Result<(), ForgeError> {
        self.project_mut(p)?.members.insert(who, level);
        Ok(())
    }

    /// # Errors
    /// `NotFound`.
    pub fn set_git(&mut self, p: &Project, bare: &Path) -> Result<(), ForgeError> {
        self.project_mut(p)?.git = Some(bare.to_owned());
        Ok(())
    }

    /// # Errors
    /// `NotFound`.
    pub fn set_file(&mut self, p: &Project, path: &str, content: &str) -> Result<(), ForgeError> {
        self.project_mut(p)?.files.insert(path.into(), content.into());
        Ok(())
    }
}

/// What `deeds.rs` builds on.
impl World {
    pub(super) fn log(
        &mut self,
        t: &ThreadRef,
        by: AccountId,
        what: Logged,
        at: Millis,
    ) -> Result<(), ForgeError> {
        let id = self.fresh_id();
        self.thread_mut(t)?.log.push(LogEntry { id, at, by, what });
        Ok(())
    }

    pub(super) fn touch(&mut self, t: &ThreadRef, now: Millis) -> Result<&mut ThreadState, ForgeError> {
        let thread = self.thread_mut(t)?;
        thread.updated_at = now;
        Ok(thread)
    }

    pub(super) fn thread_mut(&mut self, t: &ThreadRef) -> Result<&mut ThreadState, ForgeError> {
        self.threads.get_mut(t).ok_or_else(|| ForgeError::NotFound(format!("there is no thread {t}")))
    }

    /// One counter for everything, so that ids grow with time as they do on the forges.
    pub(super) fn fresh_id(&mut self) -> i64 {
        self.last_id += 1;
        self.last_id
    }
}
