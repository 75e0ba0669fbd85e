//! Purpose: GitHub (github.com and Enterprise Server), with a token or as a GitHub App.
//!
//! GitHub numbers issues and pull requests together and serves both under `/issues`, so a thread is one thing here.

mod changes;
mod client;
mod shapes;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use client::{Ask, Client, Voice, escape, installation_of, repo};
use octocrab::Octocrab;
use secrecy::SecretString;
use serde_json::json;
use shapes::{
    App, CollaboratorPermission, Content, Created, GivenReaction, Installation, Issue, IssueComment,
    IssueEvent, Pull, Repositories, Repository, User, account_or_ghost,
};
use tokio::sync::OnceCell;
use url::Url;

use super::memory::{Memory, Reread, Seen};
use super::visible::Visible;
use super::{FILE_CAP, ForgeError, Patience, Reaction, expect_login, text_of_base64};
use crate::domain::{
    Account, AccountId, AccountKind, Comment, CommentId, Permission, Project, Thread, ThreadRef,
};

#[derive(Debug, Clone)]
pub struct GithubSettings {
    /// `https://api.github.com`, or `https://host/api/v3` on an Enterprise Server.
    pub api_url: Url,
    /// Where repositories are: `https://github.com`, or a folder as `file://`.
    pub git_url: Url,
    pub auth: GithubAuth,
    /// When given, credentials of another account are refused.
    pub bot_login: Option<String>,
    pub patience: Patience,
}

#[derive(Debug, Clone)]
pub enum GithubAuth {
    Token(SecretString),
    App { id: u64, private_key_pem: SecretString },
}

#[derive(Clone)]
pub struct Github(Arc<Inner>);

struct Inner {
    client: Client,
    git_url: Url,
    bot_login: Option<String>,
    me: OnceCell<Account>,
    seen: Memory,
    visible: Visible,
}

impl fmt::Debug for Github {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { client: _, git_url: _, bot_login, me, seen: _, visible: _ } = &*self.0;
        f.debug_struct("Github").field("bot_login", bot_login).field("me", me).finish_non_exhaustive()
    }
}

impl Github {
    /// Sends nothing yet. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// When the address is no URL or the credentials cannot be used.
    pub fn new(settings: &GithubSettings) -> Result<Self, ForgeError> {
        let client = Client::new(settings)?;
        Ok(Self(Arc::new(Inner {
            client,
            git_url: settings.git_url.clone(),
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
        let user: User = match self.client().voice() {
            Voice::User(user) => self.client().ask(user, &Ask::get("/user")).await?,
            Voice::App(app) => self.ask_bot_of(app).await?,
        };
        expect_login(user.account(), self.0.bot_login.as_deref())
    }

    async fn ask_bot_of(&self, app: &Octocrab) -> Result<User, ForgeError> {
        let slug = self.slug(app).await?;
        let gh = self.any_installation(app).await?;
        self.client().ask(&gh, &Ask::get(user(&format!("{slug}[bot]")))).await
    }

    /// The App's own token may only ask about the App, so one of its installations asks for accounts.
    async fn any_installation(&self, app: &Octocrab) -> Result<Arc<Octocrab>, ForgeError> {
        if let Some(first) = self.installations(app).await?.first() {
            return self.client().installation(first.id);
        }
        let slug = self.slug(app).await?;
        let why = format!("the App `{slug}` is not installed anywhere yet; install it on a repository");
        Err(ForgeError::NotFound(why))
    }

    async fn slug(&self, app: &Octocrab) -> Result<String, ForgeError> {
        Ok(self.client().ask::<App>(app, &Ask::get("/app")).await?.slug)
    }

    /// An answer about another login than was asked for is no answer: names are given up and taken over.
    pub(super) async fn account(&self, login: &str) -> Result<Option<Account>, ForgeError> {
        let ask = Ask::get(user(login));
        let found: Result<User, _> = match self.client().voice() {
            Voice::User(user) => self.client().ask(user, &ask).await,
            Voice::App(app) => self.client().ask(&*self.any_installation(app).await?, &ask).await,
        };
        match found {
            Ok(user) if user.is_organization() || !user.login.eq_ignore_ascii_case(login) => Ok(None),
            Ok(user) => Ok(Some(user.account())),
            Err(ForgeError::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn thread(&self, t: &ThreadRef) -> Result<Thread, ForgeError> {
        let gh = self.speaker(t).await?;
        let seen = match self.0.seen.take(t) {
            Some(seen) if seen.thread.is_change_request => self.read_pull(t, &gh, Some(&seen)).await?,
            seen => self.read_issue(t, &gh, seen.as_ref()).await?,
        };
        self.0.seen.keep(t, &seen);
        Ok(seen.thread)
    }

    async fn read_issue(
        &self,
        t: &ThreadRef,
        gh: &Octocrab,
        seen: Option<&Seen>,
    ) -> Result<Seen, ForgeError> {
        match self.client().reread::<Issue>(gh, issue(t), seen).await? {
            Reread::Same(seen) => Ok(*seen),
            Reread::New { value, .. } if value.is_pull() => self.read_pull(t, gh, None).await,
            Reread::New { value, etag } => Ok(Seen { etag, thread: value.thread() }),
        }
    }

    /// A pull request tells everything that an issue does, so the next time one request will do.
    async fn read_pull(&self, t: &ThreadRef, gh: &Octocrab, seen: Option<&Seen>) -> Result<Seen, ForgeError> {
        match self.client().reread::<Pull>(gh, pull(t), seen).await? {
            Reread::Same(seen) => Ok(*seen),
            Reread::New { value, etag } => Ok(Seen { etag, thread: value.thread(&t.project) }),
        }
    }

    pub(super) async fn comments(&self, t: &ThreadRef) -> Result<Vec<Comment>, ForgeError> {
        let gh = self.speaker(t).await?;
        let path = format!("{}/comments", issue(t));
        self.client()
            .pages(&gh, &path, |page: Vec<IssueComment>| {
                page.into_iter().map(IssueComment::comment).collect()
            })
            .await
    }

    pub(super) async fn comment(&self, t: &ThreadRef, id: CommentId) -> Result<Option<Comment>, ForgeError> {
        let gh = self.speaker(t).await?;
        let found: IssueComment = match self.client().ask(&gh, &Ask::get(comment(t, id))).await {
            Err(ForgeError::NotFound(_)) => return Ok(None),
            found => found?,
        };
        // GitHub finds a comment anywhere in the repository.
        Ok(found.is_of(t).then(|| found.comment()))
    }

    pub(super) async fn create_comment(&self, t: &ThreadRef, body: &str) -> Result<CommentId, ForgeError> {
        let gh = self.writer(t).await?;
        let ask = Ask::create(format!("{}/comments", issue(t)), json!({ "body": body }));
        Ok(CommentId(self.client().ask::<Created>(&gh, &ask).await?.id))
    }

    pub(super) async fn edit_comment(
        &self,
        t: &ThreadRef,
        id: CommentId,
        body: &str,
    ) -> Result<(), ForgeError> {
        let gh = self.writer(t).await?;
        self.client().tell(&gh, &Ask::patch(comment(t, id), json!({ "body": body }))).await
    }

    pub(super) async fn delete_comment(&self, t: &ThreadRef, id: CommentId) -> Result<(), ForgeError> {
        let gh = self.writer(t).await?;
        self.client().tell(&gh, &Ask::delete(comment(t, id), None)).await
    }

    pub(super) async fn react(
        &self,
        t: &ThreadRef,
        on: Option<CommentId>,
        r: Reaction,
    ) -> Result<(), ForgeError> {
        let gh = self.writer(t).await?;
        let ask = Ask::add(reactions(t, on), json!({ "content": r.as_str() }));
        self.client().tell(&gh, &ask).await
    }

    pub(super) async fn unreact(
        &self,
        t: &ThreadRef,
        on: Option<CommentId>,
        r: Reaction,
    ) -> Result<(), ForgeError> {
        let (me, gh) = (self.me().await?, self.writer(t).await?);
        let path = format!("{}?content={}", reactions(t, on), r.as_str());
        let given: Vec<GivenReaction> = self.client().pages(&gh, &path, |page| page).await?;
        let ours = given.into_iter().filter(|g| g.user.as_ref().is_some_and(|u| AccountId(u.id) == me.id));
        for reaction in ours {
            let path = format!("{}/{}", reactions(t, on), reaction.id);
            self.client().tell(&gh, &Ask::delete(path, None)).await?;
        }
        Ok(())
    }

    /// GitHub answers 201 and assigns nobody when an account cannot be assigned, so the answer is looked at.
    pub(super) async fn assign(&self, t: &ThreadRef, who: &Account) -> Result<(), ForgeError> {
        let gh = self.writer(t).await?;
        let ask = Ask::add(format!("{}/assignees", issue(t)), json!({ "assignees": [who.login] }));
        let after: Issue = self.client().ask(&gh, &ask).await?;
        if after.assignees.iter().any(|user| AccountId(user.id) == who.id) {
            return Ok(());
        }
        Err(ForgeError::Invalid(format!("GitHub does not let `{}` be assigned there", who.login)))
    }

    pub(super) async fn unassign(&self, t: &ThreadRef, who: &Account) -> Result<(), ForgeError> {
        let gh = self.writer(t).await?;
        let body = json!({ "assignees": [who.login] });
        self.client().tell(&gh, &Ask::delete(format!("{}/assignees", issue(t)), Some(body))).await
    }

    pub(super) async fn add_label(&self, t: &ThreadRef, label: &str) -> Result<(), ForgeError> {
        let gh = self.writer(t).await?;
        let ask = Ask::add(format!("{}/labels", issue(t)), json!({ "labels": [label] }));
        self.client().tell(&gh, &ask).await
    }

    pub(super) async fn remove_label(&self, t: &ThreadRef, label: &str) -> Result<(), ForgeError> {
        let gh = self.writer(t).await?;
        self.client().tell(&gh, &Ask::delete(format!("{}/labels/{}", issue(t), escape(label)), None)).await
    }

    pub(super) async fn permission(&self, p: &Project, who: &Account) -> Result<Permission, ForgeError> {
        if who.kind == AccountKind::Ghost {
            return Ok(Permission::None);
        }
        let gh = self.client().speaker(p).await?;
        let path = format!("{}/collaborators/{}/permission", repo(p), escape(&who.login));
        match self.client().ask::<CollaboratorPermission>(&gh, &Ask::get(path)).await {
            Ok(answer) => Ok(answer.of(who)),
            Err(ForgeError::NotFound(_)) => Ok(Permission::None),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn read_file(&self, p: &Project, path: &str) -> Result<Option<String>, ForgeError> {
        let gh = self.client().speaker(p).await?;
        let escaped: Vec<String> = path.split('/').map(escape).collect();
        let ask = Ask::get(format!("{}/contents/{}", repo(p), escaped.join("/")));
        match self.client().ask::<Content>(&gh, &ask).await {
            Ok(Content::File { size, .. }) if size > FILE_CAP => {
                Err(ForgeError::Invalid(format!("the file is longer than {} KiB", FILE_CAP / 1024)))
            }
            Ok(Content::File { content, .. }) => {
                self.0.visible.note(p);
                text_of_base64(&content).map(Some)
            }
            Ok(Content::Other(_)) => Err(ForgeError::Invalid("there is something else than a file".into())),
            // A repository that we may not see answers the same; that must not pass for "has no such file".
            Err(ForgeError::NotFound(_)) if self.0.visible.is_fresh(p) => Ok(None),
            Err(ForgeError::NotFound(_)) => {
                self.client().ask::<Repository>(&gh, &Ask::get(repo(p))).await?;
                self.0.visible.note(p);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    pub(super) async fn waiting_threads(&self, label: Option<&str>) -> Result<Vec<ThreadRef>, ForgeError> {
        let found = match self.client().voice() {
            Voice::User(user) => self.waiting_for_user(user, label).await?,
            Voice::App(app) => self.waiting_for_app(app, label).await?,
        };
        Ok(found.into_iter().collect())
    }

    /// `filter=all` means the repositories we have to do with. The search API would find the label in all of GitHub.
    async fn waiting_for_user(
        &self,
        user: &Octocrab,
        label: Option<&str>,
    ) -> Result<BTreeSet<ThreadRef>, ForgeError> {
        let labelled = label.map(|label| format!("/issues?filter=all&state=open&labels={}", escape(label)));
        let mut found = BTreeSet::new();
        for path in ["/issues?filter=assigned&state=open".to_owned()].into_iter().chain(labelled) {
            let named = |page: Vec<Issue>| page.iter().filter_map(Issue::named).collect();
            found.extend(self.client().pages(user, &path, named).await?);
        }
        Ok(found)
    }

    /// An App cannot be assigned, so only the label counts, in the repositories where it is installed.
    async fn waiting_for_app(
        &self,
        app: &Octocrab,
        label: Option<&str>,
    ) -> Result<BTreeSet<ThreadRef>, ForgeError> {
        let mut found = BTreeSet::new();
        let Some(label) = label else { return Ok(found) };
        for installation in self.installations(app).await? {
            let gh = self.client().installation(installation.id)?;
            let named =
                |page: Repositories| page.repositories.iter().filter_map(Repository::project).collect();
            let projects: Vec<Project> =
                self.client().pages(&gh, "/installation/repositories", named).await?;
            for project in projects {
                let path = format!("{}/issues?state=open&labels={}", repo(&project), escape(label));
                let issues: Vec<Issue> = self.client().pages(&gh, &path, |page| page).await?;
                found.extend(issues.iter().map(|issue| ThreadRef::issue(project.clone(), issue.number)));
            }
        }
        Ok(found)
    }

    pub(super) async fn who_assigned(&self, t: &ThreadRef) -> Result<Option<Account>, ForgeError> {
        let me = self.me().await?;
        let ours = |event: &IssueEvent| {
            event.event == "assigned" && event.assignee.as_ref().is_some_and(|who| AccountId(who.id) == me.id)
        };
        let newest = self.events(t).await?.into_iter().rfind(ours);
        Ok(newest.map(|event| account_or_ghost(event.assigner.or(event.actor))))
    }

    pub(super) async fn who_labelled(
        &self,
        t: &ThreadRef,
        label: &str,
    ) -> Result<Option<Account>, ForgeError> {
        let named = |event: &IssueEvent| {
            let same = event.label.as_ref().is_some_and(|given| given.name.eq_ignore_ascii_case(label));
            event.event == "labeled" && same
        };
        let newest = self.events(t).await?.into_iter().rfind(named);
        Ok(newest.map(|event| account_or_ghost(event.actor)))
    }

    pub(super) async fn check_access(&self, p: &Project) -> Result<Permission, ForgeError> {
        if let Voice::App(app) = self.client().voice() {
            let ask = Ask::get(installation_of(p));
            return Ok(self.client().ask::<Installation>(app, &ask).await?.highest());
        }
        let gh = self.client().speaker(p).await?;
        Ok(self.client().ask::<Repository>(&gh, &Ask::get(repo(p))).await?.permissions.highest())
    }

    async fn installations(&self, app: &Octocrab) -> Result<Vec<Installation>, ForgeError> {
        let active = |page: Vec<Installation>| page.into_iter().filter(Installation::is_active).collect();
        self.client().pages(app, "/app/installations", active).await
    }

    async fn events(&self, t: &ThreadRef) -> Result<Vec<IssueEvent>, ForgeError> {
        let gh = self.speaker(t).await?;
        self.client().pages(&gh, &format!("{}/events", issue(t)), |page| page).await
    }

    /// For requests that change the thread: what we know of it ends here, whether they work or not.
    async fn writer(&self, t: &ThreadRef) -> Result<Arc<Octocrab>, ForgeError> {
        self.0.seen.distrust(t);
        self.speaker(t).await
    }

    async fn speaker(&self, t: &ThreadRef) -> Result<Arc<Octocrab>, ForgeError> {
        self.client().speaker(&t.project).await
    }

    fn client(&self) -> &Client {
        &self.0.client
    }
}

fn user(login: &str) -> String {
    format!("/users/{}", escape(login))
}

fn issue(t: &ThreadRef) -> String {
    format!("{}/issues/{}", repo(&t.project), t.number)
}

fn pull(t: &ThreadRef) -> String {
    format!("{}/pulls/{}", repo(&t.project), t.number)
}

fn comment(t: &ThreadRef, id: CommentId) -> String {
    format!("{}/issues/comments/{}", repo(&t.project), id.0)
}

fn reactions(t: &ThreadRef, on: Option<CommentId>) -> String {
    let what = on.map_or_else(|| issue(t), |id| comment(t, id));
    format!("{what}/reactions")
}
