//! Purpose: a plan on its way from proposed to approved: what was put up, who approved what, and what still waits.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::run::{Revision, Run};
use super::work::Work;
use crate::domain::{Account, AccountId, CommentId, Millis};
use crate::plan::ActionId;

/// Who brought a fact about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Actor {
    Ai,
    User,
    System,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    pub files: u32,
    pub specs: u32,
}

/// The plan as it was proposed, with where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    pub version: u32,
    pub title: String,
    pub rationale: String,
    pub sources: Vec<CommentId>,
    pub tags: Vec<String>,
    pub at: Millis,
}

/// Where the work is done: a branch of our own that starts at a commit of another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    pub branch: String,
    /// What the change request will ask to be merged into; `None` when the branch is that of a change request already.
    pub into: Option<String>,
}

/// An action by its id, exactly as it was when its digest was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    pub id: ActionId,
    pub digest: String,
}

/// What an action of a request needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    pub id: ActionId,
    pub digest: String,
    /// How many people have to approve it.
    pub approvals: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub number: u32,
    pub at: Millis,
    pub wanted: BTreeMap<ActionId, Wanted>,
    /// Whoever asked for the run cannot approve its high risks.
    pub not_requester: bool,
    pub digest: String,
    /// What is no longer as it was when an earlier approval was given.
    pub changed: Vec<String>,
    /// The parts of the preview in their order, once all of them are on the thread.
    pub comments: Vec<CommentId>,
    /// Actions that cannot be read whole in the preview.
    pub unreadable: BTreeSet<ActionId>,
    /// All boxes that were seen ticked, by whomever.
    pub seen: BTreeSet<ActionId>,
    /// The boxes that people with the right have ticked.
    pub ticked: BTreeSet<ActionId>,
    /// Somebody changed the text of the preview, so that nobody can know what others read there.
    pub void: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Approval {
    /// `None`: the policy lets it through.
    pub by: Option<Account>,
    /// The digest of each action: a long plan is looked through at every step of its run.
    pub actions: BTreeMap<ActionId, String>,
    pub at: Millis,
}

/// The state of a plan, derived; never stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    Proposed,
    PendingReview,
    Approved,
    Scheduled,
    Executing,
    Completed,
    Aborted,
}

impl PlanStatus {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Proposed => "proposed",
            Self::PendingReview => "pending_review",
            Self::Approved => "approved",
            Self::Scheduled => "scheduled",
            Self::Executing => "executing",
            Self::Completed => "completed",
            Self::Aborted => "aborted",
        }
    }
}

impl Run {
    /// Whether enough people, or the policy, have approved exactly this.
    #[must_use]
    pub fn is_approved(&self, plan: &Revision, id: &ActionId) -> bool {
        let Some(spec) = plan.specs.get(id) else { return false };
        let mut people: BTreeSet<AccountId> = BTreeSet::new();
        for approval in
            plan.approvals.iter().filter(|approval| approval.actions.get(id) == Some(&spec.digest))
        {
            match &approval.by {
                None => return true,
                Some(account) => drop(people.insert(account.id)),
            }
        }
        plan.requests
            .iter()
            .rev()
            .find_map(|request| request.wanted.get(id).map(|wanted| (request, wanted)))
            .is_some_and(|(request, wanted)| {
                if request.not_requester && wanted.approvals > 0 && spec.risk == crate::actions::Risk::High {
                    people.remove(&self.requester.id);
                }
                wanted.digest == spec.digest && people.len() >= wanted.approvals.max(1) as usize
            })
    }

    /// Looks again which actions nobody has decided about. Done after every fact that may change it, because the question
    /// is asked many times for every action, and the answer takes all of them.
    pub(super) fn look_for_undecided(&mut self) {
        let Some(plan) = self.revisions.last() else { return };
        let undecided: Vec<ActionId> = plan
            .actions()
            .filter(|action| {
                self.work.get(&action.id).is_none_or(Work::is_here_alone)
                    && !plan.left_out.contains_key(&action.id)
                    && !self.skipped.contains_key(&action.task_id)
                    && !self.is_approved(plan, &action.id)
            })
            .map(|action| action.id.clone())
            .collect();
        if let Some(plan) = self.revisions.last_mut() {
            plan.undecided = undecided;
        }
    }

    /// The people whose word lets these actions run; where the policy let them through, nobody's.
    #[must_use]
    pub fn approvers<'a>(&'a self, actions: &BTreeSet<&ActionId>) -> BTreeMap<AccountId, &'a Account> {
        let approvals = self.revisions.iter().flat_map(|plan| {
            let counts = |approval: &&Approval| {
                approval.actions.iter().any(|(id, digest)| {
                    actions.contains(id) && plan.specs.get(id).is_some_and(|spec| spec.digest == *digest)
                })
            };
            plan.approvals.iter().filter(counts)
        });
        approvals.filter_map(|approval| approval.by.as_ref()).map(|by| (by.id, by)).collect()
    }

    /// What this account has approved.
    #[must_use]
    pub fn approved_by(&self, account: &Account) -> Vec<ActionId> {
        let approvals = self.revisions.iter().flat_map(|plan| &plan.approvals);
        let theirs = approvals.filter(|approval| approval.by.as_ref().is_some_and(|by| by.id == account.id));
        let actions: BTreeSet<&ActionId> = theirs.flat_map(|approval| approval.actions.keys()).collect();
        actions.into_iter().cloned().collect()
    }

    /// The actions whose changes are committed here, and not on the forge yet.
    #[must_use]
    pub fn unpushed(&self) -> BTreeSet<&ActionId> {
        self.work.iter().filter(|(_, work)| work.is_here_alone()).map(|(id, _)| id).collect()
    }

    /// Of these, one that is approved no longer: what it changed must not leave this machine.
    #[must_use]
    pub fn unpushed_and_unapproved(&self) -> Option<&ActionId> {
        let is_approved = |id: &ActionId| {
            let plan = self.revisions.iter().rev().find(|plan| plan.specs.contains_key(id));
            plan.is_some_and(|plan| self.is_approved(plan, id))
        };
        self.unpushed().into_iter().find(|id| !is_approved(id))
    }

    /// What was approved by this account is approved no more, in whichever plan. The action at whose turn that was found
    /// begins anew once it is approved again. Others that are at work are not: they may be under way at this moment.
    pub(super) fn void_approvals(&mut self, by: &Account, at: Option<&ActionId>) {
        for plan in &mut self.revisions {
            plan.approvals.retain(|approval| approval.by.as_ref().is_none_or(|other| other.id != by.id));
        }
        let Some(plan) = self.revisions.last_mut() else { return };
        plan.requests.iter_mut().for_each(|request| request.void = true);
        plan.note_changed(&[format!("@{} may no longer approve", by.login)]);
        let lost = |id: &&ActionId| self.plan().is_some_and(|plan| !self.is_approved(plan, id));
        if let Some(action) = at.filter(|action| self.work.is_at_work(action)).filter(lost) {
            self.work.forget(action);
        }
    }

    /// The newest request, while it is still to be answered and still about the plan as it is.
    #[must_use]
    pub fn open_request<'a>(&self, plan: &'a Revision) -> Option<&'a Request> {
        let request = plan.requests.last().filter(|request| !request.void && !plan.undecided.is_empty())?;
        plan.undecided.iter().all(|id| request.covers(plan, id)).then_some(request)
    }
}

impl Run {
    /// Whether a request is open of whose preview nobody knows yet that it is on the thread.
    #[must_use]
    pub fn awaits_preview(&self) -> bool {
        let request = self.plan().and_then(|plan| self.open_request(plan));
        request.is_some_and(|request| request.comments.is_empty())
    }
}

impl Revision {
    /// Everything is said that changed since the last request, once.
    pub(super) fn note_changed(&mut self, changed: &[String]) {
        let new = changed.iter().filter(|what| !self.changed.contains(what));
        let new: Vec<String> = new.cloned().collect();
        self.changed.extend(new);
    }
}

impl Request {
    /// Whether words in this comment can be about the preview: it is younger than all parts of it.
    #[must_use]
    pub fn is_answerable_by(&self, comment: CommentId) -> bool {
        self.comments.iter().max().is_some_and(|newest| comment > *newest)
    }

    fn covers(&self, plan: &Revision, id: &ActionId) -> bool {
        match (self.wanted.get(id), plan.specs.get(id)) {
            (Some(wanted), Some(spec)) => wanted.digest == spec.digest,
            (_, _) => false,
        }
    }

    /// Boxes as somebody with the right left them. What others ticked before stays out although it is among them.
    pub(super) fn tick(&mut self, boxes: BTreeSet<ActionId>) {
        self.ticked.extend(boxes.difference(&self.seen).cloned());
        self.see(boxes);
    }

    /// Boxes as somebody without the right left them: what is no longer ticked is gone, what is new does not count.
    pub(super) fn see(&mut self, boxes: BTreeSet<ActionId>) {
        self.ticked.retain(|id| boxes.contains(id));
        self.seen = boxes;
    }
}
