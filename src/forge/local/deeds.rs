//! Purpose: what people and bots do in a [`World`].
//!
//! Every deed returns the [`Event`] that a forge would send about it. It says who did it and asks no right: whether
//! somebody may is asked with [`World::must`] by those who act in somebody's name.

use super::world::{ChangeState, CommentState, Logged, NewThread, Reacted, ThreadState, World};
use crate::domain::{
    Account, AccountId, ChangeBranch, CommentId, Event, EventKind, ForgeKind, Millis, Project, ThreadKind,
    ThreadRef,
};
use crate::forge::{ForgeError, Reaction};

impl World {
    /// # Errors
    /// `NotFound` when the project or somebody named is unknown.
    pub fn open(&mut self, p: &Project, new: NewThread, now: Millis) -> Result<Event, ForgeError> {
        self.project(p)?;
        let actor = self.account(new.author)?.clone();
        let assignees: Vec<Account> =
            new.assignees.iter().map(|id| self.account(*id).cloned()).collect::<Result<_, _>>()?;
        let t = self.next_ref(p, new.is_change_request);
        let log = new.assignees.iter().map(|id| Logged::Assigned(*id));
        let log: Vec<Logged> = log.chain(new.labels.iter().cloned().map(Logged::Labelled)).collect();
        let labels = new.labels.clone();
        let change = new.is_change_request.then(|| self.new_change(&t, new.branch));
        let state = ThreadState {
            id: self.fresh_id(),
            title: new.title,
            body: new.body,
            author: new.author,
            open: true,
            change,
            confidential: new.confidential,
            assignees: new.assignees,
            labels: new.labels,
            created_at: now,
            updated_at: now,
            comments: Vec::new(),
            reactions: Vec::new(),
            log: Vec::new(),
        };
        self.threads.insert(t.clone(), state);
        for what in log {
            self.log(&t, new.author, what, now)?;
        }
        Ok(Event { thread: t, actor, at: Some(now), kind: EventKind::Opened { assignees, labels } })
    }

    fn new_change(&self, t: &ThreadRef, branch: Option<ChangeBranch>) -> ChangeState {
        let branch = branch.unwrap_or_else(|| ChangeBranch {
            head: format!("change-{}", t.number),
            base: self.project(&t.project).ok().and_then(|p| p.trunk()).unwrap_or_else(|| "main".into()),
            same_repository: true,
        });
        ChangeState {
            branch,
            draft: false,
            merged: false,
            reviewers: Vec::new(),
            reviews: Vec::new(),
            diff: Vec::new(),
        }
    }

    /// GitLab numbers merge requests apart; the others number everything together.
    fn next_ref(&self, p: &Project, is_change_request: bool) -> ThreadRef {
        let kind = match p.forge {
            ForgeKind::Gitlab if is_change_request => ThreadKind::MergeRequest,
            ForgeKind::Gitlab | ForgeKind::Github | ForgeKind::Local => ThreadKind::Issue,
        };
        let same = self.threads.keys().filter(|t| t.project == *p && t.kind == kind);
        let number = same.map(|t| t.number).max().unwrap_or(0) + 1;
        ThreadRef { project: p.clone(), kind, number }
    }

    /// # Errors
    /// `NotFound`.
    pub fn comment(
        &mut self,
        t: &ThreadRef,
        by: AccountId,
        body: &str,
        now: Millis,
    ) -> Result<Event, ForgeError> {
        let actor = self.account(by)?.clone();
        let comment = self.new_comment(by, body, now);
        let told = self.comment_of(&comment)?;
        self.touch(t, now)?.comments.push(comment);
        Ok(event(t, actor, now, EventKind::CommentCreated { comment: told }))
    }

    pub(super) fn new_comment(&mut self, by: AccountId, body: &str, now: Millis) -> CommentState {
        let id = CommentId(self.fresh_id());
        CommentState { id, author: by, body: body.into(), created_at: now, updated_at: now, edited_by: None }
    }

    /// # Errors
    /// `NotFound`.
    pub fn edit_comment(
        &mut self,
        (t, id): (&ThreadRef, CommentId),
        by: AccountId,
        body: &str,
        now: Millis,
    ) -> Result<Event, ForgeError> {
        let actor = self.account(by)?.clone();
        let comment = self.touch(t, now)?.comments.iter_mut().find(|comment| comment.id == id);
        let comment = comment.ok_or_else(|| no_comment(t, id))?;
        comment.body = body.into();
        comment.updated_at = now;
        comment.edited_by = Some(by);
        let comment = comment.clone();
        Ok(event(t, actor, now, EventKind::CommentEdited { comment: self.comment_of(&comment)? }))
    }

    /// # Errors
    /// `NotFound`.
    pub fn delete_comment(
        &mut self,
        t: &ThreadRef,
        id: CommentId,
        by: AccountId,
        now: Millis,
    ) -> Result<Event, ForgeError> {
        let actor = self.account(by)?.clone();
        let thread = self.touch(t, now)?;
        let before = thread.comments.len();
        thread.comments.retain(|comment| comment.id != id);
        thread.reactions.retain(|reacted| reacted.on != Some(id));
        if thread.comments.len() == before {
            return Err(no_comment(t, id));
        }
        Ok(event(t, actor, now, EventKind::CommentDeleted { comment_id: id }))
    }

    /// # Errors
    /// `NotFound`.
    pub fn edit_description(
        &mut self,
        t: &ThreadRef,
        by: AccountId,
        body: &str,
        now: Millis,
    ) -> Result<Event, ForgeError> {
        let actor = self.account(by)?.clone();
        self.touch(t, now)?.body = body.into();
        Ok(event(t, actor, now, EventKind::DescriptionEdited))
    }

    /// # Errors
    /// `NotFound`.
    pub fn close(&mut self, t: &ThreadRef, by: AccountId, now: Millis) -> Result<Event, ForgeError> {
        let actor = self.account(by)?.clone();
        self.touch(t, now)?.open = false;
        Ok(event(t, actor, now, EventKind::Closed))
    }

    /// # Errors
    /// `NotFound`.
    pub fn reopen(&mut self, t: &ThreadRef, by: AccountId, now: Millis) -> Result<Event, ForgeError> {
        let actor = self.account(by)?.clone();
        self.touch(t, now)?.open = true;
        Ok(event(t, actor, now, EventKind::Reopened))
    }

    /// # Errors
    /// `NotFound`.
    pub fn assign(
        &mut self,
        t: &ThreadRef,
        who: AccountId,
        by: AccountId,
        now: Millis,
    ) -> Result<Event, ForgeError> {
        let (actor, assignee) = (self.account(by)?.clone(), self.account(who)?.clone());
        let thread = self.touch(t, now)?;
        if !thread.assignees.contains(&who) {
            thread.assignees.push(who);
            self.log(t, by, Logged::Assigned(who), now)?;
        }
        Ok(event(t, actor, now, EventKind::Assigned { assignee }))
    }

    /// # Errors
    /// `NotFound`.
    pub fn unassign(
        &mut self,
        t: &ThreadRef,
        who: AccountId,
        by: AccountId,
        now: Millis,
    ) -> Result<Event, ForgeError> {
        let (actor, assignee) = (self.account(by)?.clone(), self.account(who)?.clone());
        let thread = self.touch(t, now)?;
        if thread.assignees.contains(&who) {
            thread.assignees.retain(|id| *id != who);
            self.log(t, by, Logged::Unassigned(who), now)?;
        }
        Ok(event(t, actor, now, EventKind::Unassigned { assignee }))
    }

    /// # Errors
    /// `NotFound`.
    pub fn label(
        &mut self,
        t: &ThreadRef,
        label: &str,
        by: AccountId,
        now: Millis,
    ) -> Result<Event, ForgeError> {
        let actor = self.account(by)?.clone();
        let thread = self.touch(t, now)?;
        if !thread.labels.iter().any(|given| given == label) {
            thread.labels.push(label.into());
            self.log(t, by, Logged::Labelled(label.into()), now)?;
        }
        Ok(event(t, actor, now, EventKind::Labelled { label: label.into() }))
    }

    /// # Errors
    /// `NotFound`.
    pub fn unlabel(
        &mut self,
        t: &ThreadRef,
        label: &str,
        by: AccountId,
        now: Millis,
    ) -> Result<Event, ForgeError> {
        let actor = self.account(by)?.clone();
        let thread = self.touch(t, now)?;
        if thread.labels.iter().any(|given| given == label) {
            thread.labels.retain(|given| given != label);
            self.log(t, by, Logged::Unlabelled(label.into()), now)?;
        }
        Ok(event(t, actor, now, EventKind::Unlabelled { label: label.into() }))
    }

    /// The reaction's id; giving it twice gives it once. Forges send no event for it.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn react(
        &mut self,
        t: &ThreadRef,
        on: Option<CommentId>,
        r: Reaction,
        by: AccountId,
    ) -> Result<i64, ForgeError> {
        let fresh = self.fresh_id();
        let thread = self.thread_mut(t)?;
        if let Some(id) = on
            && !thread.comments.iter().any(|comment| comment.id == id)
        {
            return Err(no_comment(t, id));
        }
        let given = thread.reactions.iter().find(|g| g.on == on && g.by == by && g.reaction == r);
        if let Some(given) = given {
            return Ok(given.id);
        }
        thread.reactions.push(Reacted { id: fresh, on, by, reaction: r });
        Ok(fresh)
    }

    /// # Errors
    /// `NotFound`.
    pub fn unreact(&mut self, t: &ThreadRef, reaction_id: i64) -> Result<(), ForgeError> {
        let reactions = &mut self.thread_mut(t)?.reactions;
        let before = reactions.len();
        reactions.retain(|given| given.id != reaction_id);
        if reactions.len() == before {
            return Err(ForgeError::NotFound(format!("there is no reaction {reaction_id} on {t}")));
        }
        Ok(())
    }
}

pub(super) fn event(t: &ThreadRef, actor: Account, now: Millis, kind: EventKind) -> Event {
    Event { thread: t.clone(), actor, at: Some(now), kind }
}

fn no_comment(t: &ThreadRef, id: CommentId) -> ForgeError {
    ForgeError::NotFound(format!("there is no comment {} on {t}", id.0))
}
