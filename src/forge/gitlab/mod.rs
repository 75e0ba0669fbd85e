//! Purpose: GitLab (gitlab.com and self-managed), with the token of a bot user.
//!
//! Issues and merge requests are numbered apart here and have the same requests twice; `endpoint.rs` makes them one.

mod changes;
mod client;
mod endpoint;
mod shapes;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use client::Client;
use endpoint::{OnThread, awards};
use gitlab::api::issues::{Issues, ProjectIssues};
use gitlab::api::merge_requests::{MergeRequestScope, MergeRequestState, MergeRequests};
use gitlab::api::projects::issues::{IssueScope, IssueState};
use gitlab::api::projects::members::AllProjectMember;
use gitlab::api::projects::repository::files::File as FileQuery;
use gitlab::api::projects::{Project as ProjectQuery, Projects};
use gitlab::api::users::{CurrentUser, Users};
use http::Method;
use secrecy::SecretString;
use shapes::{
    Award, Created, Discussion, File, Item, LabelEvent, Listed, Member, Note, Project as Found, User,
};
use tokio::sync::OnceCell;
use url::Url;

use super::memory::{Memory, Reread, Seen};
use super::visible::Visible;
use super::{FILE_CAP, ForgeError, Patience, Reaction, expect_login, text_of_base64};
use crate::domain::{
    Account, AccountId, AccountKind, Comment, CommentId, Permission, Project, Thread, ThreadKind, ThreadRef,
};

#[derive(Debug, Clone)]
pub struct GitlabSettings {
    /// `https://gitlab.com`, or the address of a self-managed GitLab, with its sub-path if it has one.
    pub url: Url,
    /// Where repositories are: usually the same address, or a folder as `file://`.
    pub git_url: Url,
    pub token: SecretString,
    /// When given, a token of another account is refused.
    pub bot_login: Option<String>,
    pub patience: Patience,
}

#[derive(Clone)]
pub struct Gitlab(Arc<Inner>);

struct Inner {
    client: Client,
    git_url: Url,
    token: SecretString,
    bot_login: Option<String>,
    me: OnceCell<Account>,
    seen: Memory,
    visible: Visible,
}

impl fmt::Debug for Gitlab {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { client: _, git_url: _, token: _, bot_login, me, seen: _, visible: _ } = &*self.0;
        f.debug_struct("Gitlab").field("bot_login", bot_login).field("me", me).finish_non_exhaustive()
    }
}

impl Gitlab {
    /// Sends nothing yet.
    ///
    /// # Errors
    /// When the address is no URL or the token cannot be used.
    pub fn new(settings: &GitlabSettings) -> Result<Self, ForgeError> {
        let client = Client::new(settings)?;
        Ok(Self(Arc::new(Inner {
            client,
            git_url: settings.git_url.clone(),
            token: settings.token.clone(),
            bot_login: settings.bot_login.clone(),
            me: OnceCell::new(),
            seen: Memory::default(),
            visible: Visible::default(),
        })))
    }

    pub(super) async fn me(&self) -> Result<Account, ForgeError> {
        self.0.me.get_or_try_init(|| self.ask_who_we_are()).await.cloned()
    }

    async fn ask_who_we_are(&self) -> Result<Account, ForgeError> {
        let user: User = self.client().ask(CurrentUser::builder().build().map_err(unbuilt)?).await?;
        expect_login(user.account(), self.0.bot_login.as_deref())
    }

    /// Asked as a list, which is empty where nobody has the name: there is no page per name.
    pub(super) async fn account(&self, login: &str) -> Result<Option<Account>, ForgeError> {
        let query = Users::builder().username(login).build().map_err(unbuilt)?;
        let found: Vec<User> = self.client().ask(query).await?;
        let mut accounts = found.into_iter().map(User::account);
        Ok(accounts.find(|account| account.login.eq_ignore_ascii_case(login)))
    }

    pub(super) async fn thread(&self, t: &ThreadRef) -> Result<Thread, ForgeError> {
        let seen = self.0.seen.take(t);
        let seen = match self.client().reread::<Item>(OnThread::get(t, ""), seen.as_ref()).await? {
            Reread::Same(seen) => *seen,
            Reread::New { value, etag } => {
                Seen { etag, thread: value.thread(t.kind == ThreadKind::MergeRequest) }
            }
        };
        self.0.seen.keep(t, &seen);
        Ok(seen.thread)
    }

    pub(super) async fn comments(&self, t: &ThreadRef) -> Result<Vec<Comment>, ForgeError> {
        let notes = self.notes(t).await?;
        Ok(notes.into_iter().filter(Note::is_public_comment).map(Note::comment).collect())
    }

    pub(super) async fn comment(&self, t: &ThreadRef, id: CommentId) -> Result<Option<Comment>, ForgeError> {
        match self.client().ask::<Note>(OnThread::get(t, &note(id))).await {
            Err(ForgeError::NotFound(_)) => Ok(None),
            found => Ok(Some(found?).filter(Note::is_public_comment).map(Note::comment)),
        }
    }

    pub(super) async fn create_comment(&self, t: &ThreadRef, body: &str) -> Result<CommentId, ForgeError> {
        let note = self.change(Method::POST, t, "/notes").form("body", body);
        Ok(CommentId(self.client().ask::<Created>(note).await?.id))
    }

    pub(super) async fn open_discussion(&self, t: &ThreadRef, body: &str) -> Result<CommentId, ForgeError> {
        let discussion = self.change(Method::POST, t, "/discussions").form("body", body);
        let opened = self.client().ask::<Discussion>(discussion).await?;
        let first = opened.notes.first().map(|note| CommentId(note.id));
        first.ok_or_else(|| ForgeError::Unclear("GitLab opened a discussion without a note".to_owned()))
    }

    pub(super) async fn edit_comment(
        &self,
        t: &ThreadRef,
        id: CommentId,
        body: &str,
    ) -> Result<(), ForgeError> {
        self.client().tell(self.change(Method::PUT, t, &note(id)).form("body", body)).await
    }

    pub(super) async fn delete_comment(&self, t: &ThreadRef, id: CommentId) -> Result<(), ForgeError> {
        self.client().tell(self.change(Method::DELETE, t, &note(id))).await
    }

    /// GitLab refuses a second award of the same name with 404, so a refusal is checked against what is there.
    pub(super) async fn react(
        &self,
        t: &ThreadRef,
        on: Option<CommentId>,
        r: Reaction,
    ) -> Result<(), ForgeError> {
        let award = self.change(Method::POST, t, &awards(on)).form("name", r.as_str());
        match self.client().tell(award).await {
            Err(error @ (ForgeError::NotFound(_) | ForgeError::Invalid(_))) => {
                let given = self.own_awards(t, on, r).await?;
                if given.is_empty() { Err(error) } else { Ok(()) }
            }
            other => other,
        }
    }

    pub(super) async fn unreact(
        &self,
        t: &ThreadRef,
        on: Option<CommentId>,
        r: Reaction,
    ) -> Result<(), ForgeError> {
        for id in self.own_awards(t, on, r).await? {
            self.client().tell(self.change(Method::DELETE, t, &format!("{}/{id}", awards(on)))).await?;
        }
        Ok(())
    }

    async fn own_awards(
        &self,
        t: &ThreadRef,
        on: Option<CommentId>,
        r: Reaction,
    ) -> Result<Vec<i64>, ForgeError> {
        let me = self.me().await?;
        let given: Vec<Award> = self.client().pages(OnThread::get(t, &awards(on))).await?;
        let ours = given.into_iter().filter(|award| {
            award.name == r.as_str() && award.user.as_ref().is_some_and(|user| AccountId(user.id) == me.id)
        });
        Ok(ours.map(|award| award.id).collect())
    }

    pub(super) async fn assign(&self, t: &ThreadRef, who: &Account) -> Result<(), ForgeError> {
        let mut ids = self.assignees(t).await?;
        if !ids.insert(who.id) {
            return Ok(());
        }
        // Without the paid tiers a thread has one assignee, and GitLab keeps the first of the list: ours comes first.
        let others = ids.into_iter().filter(|id| *id != who.id);
        self.set_assignees(t, &[who.id].into_iter().chain(others).collect::<Vec<_>>()).await?;
        if self.assignees(t).await?.contains(&who.id) {
            return Ok(());
        }
        Err(ForgeError::Invalid(format!("GitLab does not let `{}` be assigned there", who.login)))
    }

    pub(super) async fn unassign(&self, t: &ThreadRef, who: &Account) -> Result<(), ForgeError> {
        let mut ids = self.assignees(t).await?;
        if !ids.remove(&who.id) {
            return Ok(());
        }
        self.set_assignees(t, &ids.into_iter().collect::<Vec<_>>()).await
    }

    async fn assignees(&self, t: &ThreadRef) -> Result<BTreeSet<AccountId>, ForgeError> {
        Ok(self.item(t).await?.assignees.iter().map(|user| AccountId(user.id)).collect())
    }

    async fn set_assignees(&self, t: &ThreadRef, ids: &[AccountId]) -> Result<(), ForgeError> {
        let edit = self.change(Method::PUT, t, "");
        // An empty list is not sent at all in a form; zero is GitLab's word for nobody.
        let edit = if ids.is_empty() { edit.form("assignee_ids[]", "0") } else { edit };
        let edit = ids.iter().fold(edit, |edit, id| edit.form("assignee_ids[]", id.0.to_string()));
        self.client().tell(edit).await
    }

    pub(super) async fn add_label(&self, t: &ThreadRef, label: &str) -> Result<(), ForgeError> {
        no_comma(label)?;
        self.client().tell(self.change(Method::PUT, t, "").form("add_labels", label)).await
    }

    pub(super) async fn remove_label(&self, t: &ThreadRef, label: &str) -> Result<(), ForgeError> {
        no_comma(label)?;
        self.client().tell(self.change(Method::PUT, t, "").form("remove_labels", label)).await
    }

    pub(super) async fn permission(&self, p: &Project, who: &Account) -> Result<Permission, ForgeError> {
        let Ok(user) = u64::try_from(who.id.0) else { return Ok(Permission::None) };
        if who.kind == AccountKind::Ghost {
            return Ok(Permission::None);
        }
        let query = AllProjectMember::builder().project(p.path()).user(user).build().map_err(unbuilt)?;
        match self.client().ask::<Member>(query).await {
            Ok(member) if AccountId(member.id) == who.id => Ok(member.permission()),
            Ok(_) => Ok(Permission::None),
            // No member. Where everybody may read, so may this account.
            Err(ForgeError::NotFound(_)) => match self.project(p).await {
                Ok(project) => Ok(project.open_to_all()),
                Err(ForgeError::NotFound(_)) => Ok(Permission::None),
                Err(error) => Err(error),
            },
            Err(error) => Err(error),
        }
    }

    pub(super) async fn read_file(&self, p: &Project, path: &str) -> Result<Option<String>, ForgeError> {
        let query =
            FileQuery::builder().project(p.path()).file_path(path).ref_("HEAD").build().map_err(unbuilt)?;
        match self.client().ask::<File>(query).await {
            Ok(file) if file.size > FILE_CAP => {
                Err(ForgeError::Invalid(format!("the file is longer than {} KiB", FILE_CAP / 1024)))
            }
            Ok(file) => {
                self.0.visible.note(p);
                text_of_base64(&file.content).map(Some)
            }
            // A project that we may not see answers the same; that must not pass for "has no such file".
            Err(ForgeError::NotFound(_)) if self.0.visible.is_fresh(p) => Ok(None),
            Err(ForgeError::NotFound(_)) => {
                self.project(p).await?;
                self.0.visible.note(p);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    pub(super) async fn waiting_threads(&self, label: Option<&str>) -> Result<Vec<ThreadRef>, ForgeError> {
        let mut found = self.assigned_threads().await?;
        if let Some(label) = label {
            found.extend(self.labelled_threads(label).await?);
        }
        let named: BTreeSet<ThreadRef> = found.iter().filter_map(Listed::named).collect();
        Ok(named.into_iter().collect())
    }

    async fn assigned_threads(&self) -> Result<Vec<Listed>, ForgeError> {
        let me = u64::try_from(self.me().await?.id.0).unwrap_or_default();
        let issues =
            Issues::builder().scope(IssueScope::All).state(IssueState::Opened).assignee_id(me).build();
        let requests = MergeRequests::builder()
            .scope(MergeRequestScope::All)
            .state(MergeRequestState::Opened)
            .assignee_id(me)
            .build();
        let mut found: Vec<Listed> = self.client().pages(issues.map_err(unbuilt)?).await?;
        found.extend(self.client().pages::<Listed>(requests.map_err(unbuilt)?).await?);
        Ok(found)
    }

    /// Asked per project of ours: over the whole instance the label would be found in strangers' public projects too.
    async fn labelled_threads(&self, label: &str) -> Result<Vec<Listed>, ForgeError> {
        let ours =
            Projects::builder().membership(true).archived(false).simple(true).build().map_err(unbuilt)?;
        let mut found = Vec::new();
        for project in self.client().pages::<Found>(ours).await? {
            let issues =
                ProjectIssues::builder().project(project.id).state(IssueState::Opened).label(label).build();
            let requests = gitlab::api::projects::merge_requests::MergeRequests::builder()
                .project(project.id)
                .state(MergeRequestState::Opened)
                .label(label)
                .build();
            found.extend(self.client().pages::<Listed>(issues.map_err(unbuilt)?).await?);
            found.extend(self.client().pages::<Listed>(requests.map_err(unbuilt)?).await?);
        }
        Ok(found)
    }

    /// A thread that was opened with us on it has no note about that: then its author did it.
    pub(super) async fn who_assigned(&self, t: &ThreadRef) -> Result<Option<Account>, ForgeError> {
        let me = self.me().await?;
        let newest = self.notes(t).await?.into_iter().rfind(|note| note.assigns(&me.login));
        if let Some(note) = newest {
            return Ok(Some(note.comment().author));
        }
        let thread = self.thread(t).await?;
        Ok(thread.assignees.iter().any(|who| who.id == me.id).then_some(thread.author))
    }

    pub(super) async fn who_labelled(
        &self,
        t: &ThreadRef,
        label: &str,
    ) -> Result<Option<Account>, ForgeError> {
        let events: Vec<LabelEvent> = self.client().pages(OnThread::get(t, "/resource_label_events")).await?;
        let named = |event: &LabelEvent| {
            event.action == "add" && event.label.as_ref().is_some_and(|given| given.name == label)
        };
        Ok(events.into_iter().rfind(named).map(LabelEvent::author))
    }

    pub(super) async fn check_access(&self, p: &Project) -> Result<Permission, ForgeError> {
        let me = self.me().await?;
        self.project(p).await?;
        self.permission(p, &me).await
    }

    /// A request that changes the thread: what we know of it ends here, whether it works or not.
    fn change<'a>(&self, method: Method, t: &ThreadRef, rest: &str) -> OnThread<'a> {
        self.0.seen.distrust(t);
        OnThread::new(method, t, rest)
    }

    async fn item(&self, t: &ThreadRef) -> Result<Item, ForgeError> {
        self.client().ask(OnThread::get(t, "")).await
    }

    async fn notes(&self, t: &ThreadRef) -> Result<Vec<Note>, ForgeError> {
        let oldest_first = OnThread::get(t, "/notes").query("order_by", "created_at").query("sort", "asc");
        self.client().pages(oldest_first).await
    }

    async fn project(&self, p: &Project) -> Result<Found, ForgeError> {
        self.client().ask(ProjectQuery::builder().project(p.path()).build().map_err(unbuilt)?).await
    }

    fn client(&self) -> &Client {
        &self.0.client
    }
}

fn note(id: CommentId) -> String {
    format!("/notes/{}", id.0)
}

/// GitLab takes labels as a list with commas.
fn no_comma(label: &str) -> Result<(), ForgeError> {
    if label.contains(',') {
        return Err(ForgeError::Invalid(format!("a label of GitLab has no comma, `{label}` has")));
    }
    Ok(())
}

/// The crate's builders fail only when a field was left out.
fn unbuilt(error: impl fmt::Display) -> ForgeError {
    ForgeError::Invalid(format!("the request cannot be built: {error}"))
}
