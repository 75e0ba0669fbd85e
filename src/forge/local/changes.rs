//! Purpose: change requests in a [`World`]: a branch and a record. What people do with them, and what the bot does.

use super::Local;
use super::deeds::event;
use super::world::{ChangeState, NewThread, ReviewState, World};
use crate::domain::{
    Account, AccountId, ChangeBranch, ChangeDiff, ChangeRequest, Comment, DiffLine, Event, EventKind,
    FileDiff, Millis, NewChangeRequest, Permission, Project, Readiness, Repository, ThreadRef,
};
use crate::forge::{DIFF_FILES, ForgeError, GitAccess};

/// What somebody says about a change request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewReview<'a> {
    pub verdict: Verdict,
    pub body: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Comments,
    AsksForChanges,
}

/// Looking.
impl World {
    /// # Errors
    /// `NotFound`, also for a thread that is no change request.
    pub fn change_request(&self, t: &ThreadRef) -> Result<ChangeRequest, ForgeError> {
        let thread = self.thread(t)?;
        let change = thread.change.as_ref().ok_or_else(|| no_change(t))?;
        Ok(ChangeRequest {
            thread: t.clone(),
            author: thread.author,
            head: change.branch.head.clone(),
            base: change.branch.base.clone(),
            draft: change.draft,
            open: thread.open,
            title: thread.title.clone(),
            body: thread.body.clone(),
            web_url: None,
        })
    }

    /// The change requests from this branch of the same repository: open ones first, then newer ones.
    #[must_use]
    pub fn change_requests_from(&self, p: &Project, head: &str) -> Vec<ThreadRef> {
        let from = |change: &ChangeState| change.branch.same_repository && change.branch.head == head;
        let mut found: Vec<(bool, u64, ThreadRef)> = self
            .threads()
            .filter(|(t, thread)| t.project == *p && thread.change.as_ref().is_some_and(from))
            .map(|(t, thread)| (thread.open, t.number, t.clone()))
            .collect();
        found.sort_by(|a, b| b.cmp(a));
        found.into_iter().map(|(_, _, t)| t).collect()
    }

    /// What reviews say, oldest first; without those that have no words.
    ///
    /// # Errors
    /// `NotFound`, also for a thread that is no change request.
    pub fn reviews(&self, t: &ThreadRef) -> Result<Vec<Comment>, ForgeError> {
        let change = self.thread(t)?.change.as_ref().ok_or_else(|| no_change(t))?;
        let said = change.reviews.iter().filter(|review| !review.comment.body.trim().is_empty());
        said.map(|review| self.said_in(review)).collect()
    }

    fn said_in(&self, review: &ReviewState) -> Result<Comment, ForgeError> {
        Ok(Comment { on: review.on.clone(), ..self.comment_of(&review.comment)? })
    }

    /// Whom forges let be a reviewer: members who are not the author.
    ///
    /// # Errors
    /// `Invalid`, or `NotFound`.
    pub fn may_review(&self, t: &ThreadRef, who: AccountId) -> Result<(), ForgeError> {
        if self.change_request(t)?.author == who {
            return Err(ForgeError::Invalid("nobody reviews their own change request".into()));
        }
        if !self.project(&t.project)?.members.contains_key(&who) {
            return Err(ForgeError::Invalid("only members can be asked for a review".into()));
        }
        Ok(())
    }
}

/// Deeds.
impl World {
    /// # Errors
    /// `NotFound`, or `Invalid` when a branch is not there or there is an open change request from it.
    pub fn open_change_request(
        &mut self,
        p: &Project,
        by: AccountId,
        new: &NewChangeRequest<'_>,
        now: Millis,
    ) -> Result<Event, ForgeError> {
        self.can_be_asked_for(p, new)?;
        let branch = ChangeBranch { head: new.head.into(), base: new.base.into(), same_repository: true };
        let thread = NewThread {
            body: new.body.into(),
            is_change_request: true,
            branch: Some(branch),
            ..NewThread::titled(new.title, by)
        };
        let opened = self.open(p, thread, now)?;
        self.mark(&opened.thread, new.readiness, now)?;
        Ok(opened)
    }

    fn can_be_asked_for(&self, p: &Project, new: &NewChangeRequest<'_>) -> Result<(), ForgeError> {
        let project = self.project(p)?;
        let missing = [new.head, new.base].into_iter().find(|name| !project.has_branch(name));
        if let Some(name) = missing {
            return Err(ForgeError::Invalid(format!("there is no branch `{name}` in {p}")));
        }
        if new.head == new.base {
            return Err(ForgeError::Invalid(format!("`{}` cannot be merged into itself", new.head)));
        }
        let newest = self.change_requests_from(p, new.head).into_iter().next();
        match newest {
            Some(t) if self.thread(&t)?.open => {
                Err(ForgeError::Invalid(format!("a change request already exists for `{}`: {t}", new.head)))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// # Errors
    /// `NotFound`.
    pub fn edit_change_request(
        &mut self,
        t: &ThreadRef,
        by: AccountId,
        (title, body): (&str, &str),
        now: Millis,
    ) -> Result<Event, ForgeError> {
        let actor = self.account(by)?.clone();
        self.change_mut(t)?;
        let thread = self.touch(t, now)?;
        (thread.title, thread.body) = (title.into(), body.into());
        Ok(event(t, actor, now, EventKind::DescriptionEdited))
    }

    /// Nothing that the bot follows, so there is no event.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn mark(&mut self, t: &ThreadRef, readiness: Readiness, now: Millis) -> Result<(), ForgeError> {
        self.touch(t, now)?;
        self.change_mut(t)?.draft = readiness == Readiness::Draft;
        Ok(())
    }

    /// # Errors
    /// `NotFound`.
    pub fn request_review(
        &mut self,
        t: &ThreadRef,
        who: AccountId,
        by: AccountId,
        now: Millis,
    ) -> Result<Event, ForgeError> {
        let (actor, reviewer) = (self.account(by)?.clone(), self.account(who)?.clone());
        self.touch(t, now)?;
        let reviewers = &mut self.change_mut(t)?.reviewers;
        if !reviewers.contains(&who) {
            reviewers.push(who);
        }
        Ok(event(t, actor, now, EventKind::ReviewRequested { reviewer }))
    }

    /// Nothing that the bot follows, so there is no event.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn release_reviewer(&mut self, t: &ThreadRef, who: AccountId, now: Millis) -> Result<(), ForgeError> {
        self.touch(t, now)?;
        self.change_mut(t)?.reviewers.retain(|id| *id != who);
        Ok(())
    }

    /// # Errors
    /// `NotFound`.
    pub fn review(
        &mut self,
        t: &ThreadRef,
        by: AccountId,
        review: NewReview<'_>,
        now: Millis,
    ) -> Result<Event, ForgeError> {
        let actor = self.account(by)?.clone();
        let asks_for_changes = review.verdict == Verdict::AsksForChanges;
        let comment = self.new_comment(by, review.body, now);
        let comment = self.keep_review(t, ReviewState { comment, on: None, asks_for_changes }, now)?;
        Ok(event(t, actor, now, EventKind::Reviewed { comment, asks_for_changes }))
    }

    /// A word about one line of the diff.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn review_line(
        &mut self,
        t: &ThreadRef,
        by: AccountId,
        (on, body): (DiffLine, &str),
        now: Millis,
    ) -> Result<Event, ForgeError> {
        let actor = self.account(by)?.clone();
        let comment = self.new_comment(by, body, now);
        let review = ReviewState { comment, on: Some(on), asks_for_changes: false };
        let comment = self.keep_review(t, review, now)?;
        Ok(event(t, actor, now, EventKind::ReviewCommented { comment }))
    }

    fn keep_review(
        &mut self,
        t: &ThreadRef,
        review: ReviewState,
        now: Millis,
    ) -> Result<Comment, ForgeError> {
        let told = self.said_in(&review)?;
        self.change_mut(t)?.reviews.push(review);
        self.touch(t, now)?;
        Ok(told)
    }

    /// What people are shown as the diff. The world looks into no repository for it.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn set_diff(&mut self, t: &ThreadRef, diff: Vec<FileDiff>) -> Result<(), ForgeError> {
        self.change_mut(t)?.diff = diff;
        Ok(())
    }

    /// Merged is closed for good.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn merge(&mut self, t: &ThreadRef, by: AccountId, now: Millis) -> Result<Event, ForgeError> {
        self.change_mut(t)?.merged = true;
        self.close(t, by, now)
    }

    fn change_mut(&mut self, t: &ThreadRef) -> Result<&mut ChangeState, ForgeError> {
        self.thread_mut(t)?.change.as_mut().ok_or_else(|| no_change(t))
    }
}

/// What every forge can do.
impl Local {
    pub(in crate::forge) fn create_change_request(
        &self,
        p: &Project,
        new: &NewChangeRequest<'_>,
    ) -> Result<ChangeRequest, ForgeError> {
        self.act(p, Permission::Write, |world, bot, now| {
            if world.project(p)?.archived {
                return Err(ForgeError::Forbidden(format!("{p} is archived")));
            }
            let opened = world.open_change_request(p, bot, new, now)?;
            world.change_request(&opened.thread)
        })
    }

    pub(in crate::forge) fn find_change_request(
        &self,
        p: &Project,
        head: &str,
    ) -> Result<Option<ChangeRequest>, ForgeError> {
        self.see(p, |world| {
            let first = world.change_requests_from(p, head).into_iter().next();
            first.map(|t| world.change_request(&t)).transpose()
        })
    }

    pub(in crate::forge) fn edit_change_request(
        &self,
        t: &ThreadRef,
        title: &str,
        body: &str,
    ) -> Result<(), ForgeError> {
        self.act(&t.project, Permission::Write, |world, bot, now| {
            world.edit_change_request(t, bot, (title, body), now).map(|_| ())
        })
    }

    pub(in crate::forge) fn request_review(&self, t: &ThreadRef, who: &Account) -> Result<(), ForgeError> {
        self.act(&t.project, Permission::Write, |world, bot, now| {
            world.may_review(t, who.id)?;
            world.request_review(t, who.id, bot, now).map(|_| ())
        })
    }

    pub(in crate::forge) fn reviews(&self, t: &ThreadRef) -> Result<Vec<Comment>, ForgeError> {
        self.see(&t.project, |world| world.reviews(t))
    }

    pub(in crate::forge) fn diff(&self, t: &ThreadRef) -> Result<ChangeDiff, ForgeError> {
        self.see(&t.project, |world| {
            let change = world.thread(t)?.change.as_ref().ok_or_else(|| no_change(t))?;
            let files: Vec<FileDiff> = change.diff.iter().take(DIFF_FILES).cloned().collect();
            let whole = change.diff.len() < DIFF_FILES;
            Ok(ChangeDiff { files, whole })
        })
    }

    pub(in crate::forge) fn repository(&self, p: &Project) -> Result<Repository, ForgeError> {
        self.see(p, |world| {
            let project = world.project(p)?;
            Ok(Repository { default_branch: project.trunk(), archived: project.archived, web_url: None })
        })
    }

    pub(in crate::forge) fn git_access(&self, p: &Project) -> Result<GitAccess, ForgeError> {
        let git = self.see(p, |world| Ok(world.project(p)?.git.clone()))?;
        let git = git.ok_or_else(|| ForgeError::Invalid(format!("{p} has no git repository")))?;
        let url = url::Url::from_file_path(&git).map_err(|()| {
            ForgeError::Invalid(format!("the repository of {p} has no absolute path: `{}`", git.display()))
        })?;
        Ok(GitAccess { url: url.into(), user: String::new(), secret: None })
    }
}

fn no_change(t: &ThreadRef) -> ForgeError {
    ForgeError::NotFound(format!("{t} is no change request"))
}
