//! Purpose: merge requests, the repository behind them, and how git gets there.

use gitlab::api::common::SortOrder;
use gitlab::api::projects::merge_requests::{CreateMergeRequest, MergeRequestOrderBy, MergeRequests};
use http::Method;

use super::endpoint::OnThread;
use super::shapes::{Changed, Item, draft_title};
use super::{Gitlab, unbuilt};
use crate::domain::{
    Account, AccountId, ChangeDiff, ChangeRequest, Comment, NewChangeRequest, Project, Repository,
    ThreadKind, ThreadRef,
};
use crate::forge::{DIFF_FILES, ForgeError, GitAccess};

impl Gitlab {
    pub(in crate::forge) async fn create_change_request(
        &self,
        p: &Project,
        new: &NewChangeRequest<'_>,
    ) -> Result<ChangeRequest, ForgeError> {
        let ask = CreateMergeRequest::builder()
            .project(p.path())
            .source_branch(new.head)
            .target_branch(new.base)
            .title(draft_title(new.title, new.readiness))
            .description(new.body)
            .build()
            .map_err(unbuilt)?;
        let opened: Item = self.client().ask(ask).await?;
        opened.change_request(p).ok_or_else(|| ForgeError::Broken("the answer is no merge request".into()))
    }

    pub(in crate::forge) async fn find_change_request(
        &self,
        p: &Project,
        head: &str,
    ) -> Result<Option<ChangeRequest>, ForgeError> {
        let newest_first = MergeRequests::builder()
            .project(p.path())
            .source_branch(head)
            .order_by(MergeRequestOrderBy::CreatedAt)
            .sort(SortOrder::Descending)
            .build()
            .map_err(unbuilt)?;
        let mut found: Vec<Item> = self.client().pages(newest_first).await?;
        found.retain(Item::is_within_one_project);
        let (open, closed): (Vec<_>, Vec<_>) = found.into_iter().partition(Item::is_open);
        let named = open.into_iter().chain(closed).filter_map(|item| item.change_request(p));
        Ok(named.into_iter().find(|change| change.head == head))
    }

    /// Being a draft is a part of the title there, so the title in place is read first.
    pub(in crate::forge) async fn edit_change_request(
        &self,
        t: &ThreadRef,
        title: &str,
        body: &str,
    ) -> Result<(), ForgeError> {
        must_be_a_change(t)?;
        let title = self.item(t).await?.title_for(title);
        let edit = self.change(Method::PUT, t, "").form("title", title).form("description", body);
        self.client().tell(edit).await
    }

    /// The list is replaced as a whole. Without the paid tiers GitLab keeps the first of it alone, and says nothing.
    pub(in crate::forge) async fn request_review(
        &self,
        t: &ThreadRef,
        who: &Account,
    ) -> Result<(), ForgeError> {
        must_be_a_change(t)?;
        let reviewers = self.reviewers(t).await?;
        if reviewers.contains(&who.id) {
            return Ok(());
        }
        let all = reviewers.iter().chain([&who.id]);
        let edit = all
            .fold(self.change(Method::PUT, t, ""), |edit, id| edit.form("reviewer_ids[]", id.0.to_string()));
        self.client().tell(edit).await?;
        if self.reviewers(t).await?.contains(&who.id) {
            return Ok(());
        }
        Err(ForgeError::Invalid(format!("GitLab does not let `{}` review it", who.login)))
    }

    async fn reviewers(&self, t: &ThreadRef) -> Result<Vec<AccountId>, ForgeError> {
        Ok(self.item(t).await?.reviewers.iter().map(|user| AccountId(user.id)).collect())
    }

    /// GitLab shows what reviewers write among the notes, so nothing is missing from the comments.
    #[expect(clippy::unused_async, reason = "the same shape on every forge")]
    pub(in crate::forge) async fn reviews(&self, t: &ThreadRef) -> Result<Vec<Comment>, ForgeError> {
        must_be_a_change(t)?;
        Ok(vec![])
    }

    pub(in crate::forge) async fn diff(&self, t: &ThreadRef) -> Result<ChangeDiff, ForgeError> {
        must_be_a_change(t)?;
        let files: Vec<Changed> =
            self.client().ask(OnThread::get(t, "/diffs").query("per_page", "100")).await?;
        let whole = files.len() < DIFF_FILES;
        Ok(ChangeDiff { files: files.into_iter().map(Changed::diff).collect(), whole })
    }

    pub(in crate::forge) async fn repository(&self, p: &Project) -> Result<Repository, ForgeError> {
        Ok(self.project(p).await?.repository())
    }

    #[expect(clippy::unused_async, reason = "the same shape on every forge")]
    pub(in crate::forge) async fn git_access(&self, p: &Project) -> Result<GitAccess, ForgeError> {
        let base = &self.0.git_url;
        let open = GitAccess::to_files(base, p);
        Ok(open.unwrap_or_else(|| GitAccess::with(base, p, "oauth2", self.0.token.clone())))
    }
}

/// An issue's number may be that of a merge request, which is another thread.
fn must_be_a_change(t: &ThreadRef) -> Result<(), ForgeError> {
    match t.kind {
        ThreadKind::MergeRequest => Ok(()),
        ThreadKind::Issue => Err(ForgeError::NotFound(format!("{t} is no merge request"))),
    }
}
