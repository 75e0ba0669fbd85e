//! Purpose: pull requests, the repository behind them, and how git gets there.

use serde_json::json;

use super::client::{Ask, escape, repo};
use super::shapes::{Pull, PullFile, Repository as Found, Review, ReviewComment};
use super::{Github, pull};
use crate::domain::{
    Account, AccountId, ChangeDiff, ChangeRequest, Comment, NewChangeRequest, Project, Readiness, Repository,
    ThreadRef,
};
use crate::forge::{DIFF_FILES, ForgeError, GitAccess};

impl Github {
    pub(in crate::forge) async fn create_change_request(
        &self,
        p: &Project,
        new: &NewChangeRequest<'_>,
    ) -> Result<ChangeRequest, ForgeError> {
        let gh = self.client().speaker(p).await?;
        let body = json!({
            "title": new.title, "body": new.body, "head": new.head, "base": new.base,
            "draft": new.readiness == Readiness::Draft,
        });
        let opened: Pull = self.client().ask(&gh, &Ask::create(format!("{}/pulls", repo(p)), body)).await?;
        Ok(opened.change_request(p))
    }

    /// GitHub leaves a filter aside that it does not understand, so every answer is looked at once more.
    pub(in crate::forge) async fn find_change_request(
        &self,
        p: &Project,
        head: &str,
    ) -> Result<Option<ChangeRequest>, ForgeError> {
        let gh = self.client().speaker(p).await?;
        let owner = p.path().split('/').next().unwrap_or_default();
        let from = escape(&format!("{owner}:{head}"));
        let path = format!("{}/pulls?state=all&sort=created&direction=desc&head={from}", repo(p));
        let newest_first: Vec<Pull> = self
            .client()
            .pages(&gh, &path, |page: Vec<Pull>| {
                page.into_iter().filter(|pull| pull.is_from(p, head)).collect()
            })
            .await?;
        let (open, closed): (Vec<_>, Vec<_>) = newest_first.into_iter().partition(Pull::is_open);
        Ok(open.into_iter().chain(closed).next().map(|pull| pull.change_request(p)))
    }

    pub(in crate::forge) async fn edit_change_request(
        &self,
        t: &ThreadRef,
        title: &str,
        body: &str,
    ) -> Result<(), ForgeError> {
        let gh = self.writer(t).await?;
        self.client().tell(&gh, &Ask::patch(pull(t), json!({ "title": title, "body": body }))).await
    }

    pub(in crate::forge) async fn request_review(
        &self,
        t: &ThreadRef,
        who: &Account,
    ) -> Result<(), ForgeError> {
        let gh = self.writer(t).await?;
        let ask = Ask::add(format!("{}/requested_reviewers", pull(t)), json!({ "reviewers": [who.login] }));
        let after: Pull = self.client().ask(&gh, &ask).await?;
        if after.requested_reviewers.iter().any(|user| AccountId(user.id) == who.id) {
            return Ok(());
        }
        Err(ForgeError::Invalid(format!("GitHub does not let `{}` review it", who.login)))
    }

    /// What reviews say as a whole, and what they say about lines: two lists on GitHub, beside that of the comments.
    pub(in crate::forge) async fn reviews(&self, t: &ThreadRef) -> Result<Vec<Comment>, ForgeError> {
        let gh = self.speaker(t).await?;
        let whole = |page: Vec<Review>| page.into_iter().filter_map(Review::comment).collect();
        let lines = |page: Vec<ReviewComment>| page.into_iter().map(ReviewComment::comment).collect();
        let mut said = self.client().pages(&gh, &format!("{}/reviews", pull(t)), whole).await?;
        said.extend(self.client().pages(&gh, &format!("{}/comments", pull(t)), lines).await?);
        Ok(said)
    }

    pub(in crate::forge) async fn diff(&self, t: &ThreadRef) -> Result<ChangeDiff, ForgeError> {
        let gh = self.speaker(t).await?;
        let ask = Ask::get(format!("{}/files?per_page={DIFF_FILES}", pull(t)));
        let files: Vec<PullFile> = self.client().ask(&gh, &ask).await?;
        let whole = files.len() < DIFF_FILES;
        Ok(ChangeDiff { files: files.into_iter().map(PullFile::diff).collect(), whole })
    }

    pub(in crate::forge) async fn repository(&self, p: &Project) -> Result<Repository, ForgeError> {
        let gh = self.client().speaker(p).await?;
        let Found { default_branch, archived, html_url, .. } =
            self.client().ask(&gh, &Ask::get(repo(p))).await?;
        let default_branch = match default_branch {
            Some(name) if self.has_branch(p, &name).await? => Some(name),
            Some(_) | None => None,
        };
        Ok(Repository { default_branch, archived, web_url: html_url })
    }

    /// GitHub names a default branch before anything was pushed.
    async fn has_branch(&self, p: &Project, name: &str) -> Result<bool, ForgeError> {
        let gh = self.client().speaker(p).await?;
        match self.client().tell(&gh, &Ask::get(format!("{}/branches/{}", repo(p), escape(name)))).await {
            Ok(()) => Ok(true),
            Err(ForgeError::NotFound(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(in crate::forge) async fn git_access(&self, p: &Project) -> Result<GitAccess, ForgeError> {
        let base = &self.0.git_url;
        if let Some(open) = GitAccess::to_files(base, p) {
            return Ok(open);
        }
        Ok(GitAccess::with(base, p, "x-access-token", self.client().git_token(p).await?))
    }
}
