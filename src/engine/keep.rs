//! Purpose: keep what an action changed: one commit on the run's branch, and the branch on the forge.

use super::act::{Begun, Doing};
use super::approvers::lost_before_push;
use super::ctx::Ctx;
use super::hands::{Bench, Trouble, remote};
use super::preflight::settings_of;
use crate::actions::{RepoPath, is_sensitive};
use crate::config::Deliver;
use crate::domain::ThreadRef;
use crate::plan::{ActionId, ActionKind};
use crate::planning::{Evidence, Run};
use crate::render;
use crate::tools::git::{Commit, Committed, GitError};

impl Doing {
    /// The commit of this action, if an earlier process, or an earlier try, got that far.
    pub(super) async fn commit_before(&self) -> Result<Option<Commit>, Trouble> {
        match self.begun {
            Begun::ByUs => Ok(None),
            Begun::Before => {
                let trailer = render::commit_trailer(&self.run, &self.action);
                Ok(self.bench.workspace.find_commit(&trailer).await?)
            }
        }
    }

    pub(super) async fn commit(&self) -> Result<Evidence, Trouble> {
        let plan = self.run.plan().ok_or_else(|| Trouble::lasting("there is no plan"))?;
        let message = render::commit_message(&self.run, plan, &self.action);
        let message = self.ctx.redactor.clean_outgoing(&message);
        let named: Vec<RepoPath> =
            self.action.spec.path.iter().filter_map(|path| path.parse().ok()).collect();
        if let Err(trouble) = self.look_at_what_is_left(&named).await {
            self.bench.workspace.discard().await?;
            return Err(trouble);
        }
        match self.bench.workspace.commit(&message, &named).await {
            Ok(Committed::Commit { commit, files, bytes }) => {
                let (commit, pushed) = (Some(commit.as_str().to_owned()), Some(self.push_at_once().await));
                Ok(Evidence { commit, files, bytes, pushed, ..Evidence::default() })
            }
            Ok(Committed::NothingChanged) => Ok(Evidence::default()),
            Err(error) => {
                self.bench.workspace.discard().await?;
                Err(error.into())
            }
        }
    }

    /// A program or a tool may leave anything behind. What makes machines do things, and what the settings keep from me,
    /// is kept only if the action that people approved names it. Files have a gate of their own.
    async fn look_at_what_is_left(&self, named: &[RepoPath]) -> Result<(), Trouble> {
        if !matches!(self.action.action_type, ActionKind::Run | ActionKind::Tool) {
            return Ok(());
        }
        let settings = settings_of(&self.ctx, &self.thread.project).await?;
        let changed = self.bench.workspace.changed(named).await?;
        let kept_back = |path: &&String| match path.parse::<RepoPath>() {
            Ok(path) if named.contains(&path) => false,
            Ok(path) => is_sensitive(&path) || !settings.tools.paths.permits(path.as_str()),
            // What has no proper name cannot be compared with what is denied.
            Err(_) => true,
        };
        let Some(path) = changed.iter().find(kept_back) else { return Ok(()) };
        let path = path.escape_debug();
        Err(Trouble::lasting(format!(
            "it changed `{path}`, which only an action may do that names it; nothing that it changed was kept"
        )))
    }

    /// What a worker makes in a checkout of its own is pushed once it is on the run's branch.
    async fn push_at_once(&self) -> bool {
        !self.run.works_apart(&self.action.id)
            && push(&self.ctx, &self.thread, &self.run, &self.bench, Some(&self.action.id)).await
    }
}

/// So that people can look at the commits that the card names. If it fails, delivering tries again and says so. Returns
/// whether they are on the forge.
pub(super) async fn push(
    ctx: &Ctx,
    thread: &ThreadRef,
    run: &Run,
    bench: &Bench,
    current: Option<&ActionId>,
) -> bool {
    let pushed = async {
        if settings_of(ctx, &thread.project).await?.deliver == Deliver::None {
            return Ok(false);
        }
        expect_approved(run)?;
        // The next gate finds the same, and puts it up again.
        if !lost_before_push(ctx, thread, run, current).await?.is_empty() {
            return Ok(false);
        }
        let remote = remote(ctx, &thread.project).await?;
        push_branch(bench, run, &remote).await.map_err(Trouble::from)?;
        Ok(true)
    };
    pushed.await.unwrap_or_else(|Trouble { reason, .. }| {
        tracing::warn!("the work on {thread} is not pushed yet: {reason}");
        false
    })
}

/// Nothing leaves this machine that is not approved, or not any more.
pub(super) fn expect_approved(run: &Run) -> Result<(), Trouble> {
    let Some(action) = run.unpushed_and_unapproved() else { return Ok(()) };
    let number = crate::actions::number_of(action);
    Err(Trouble::lasting(format!(
        "Action {number} is done, but not approved any more, so I do not push the branch."
    )))
}

/// Only to the run's own branch, and never to the one that it will be merged into.
pub(super) async fn push_branch(
    bench: &Bench,
    run: &Run,
    remote: &crate::tools::git::Remote,
) -> Result<(), GitError> {
    let into = run.plan().and_then(|plan| plan.place.as_ref()).and_then(|place| place.into.as_deref());
    bench.workspace.push(remote, into).await
}
