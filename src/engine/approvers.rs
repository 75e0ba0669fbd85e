//! Purpose: whether those who approved still may. A right that was taken away takes along what was approved by it.
//!
//! Looked up before each action and before each push. What was found is believed for a minute, so that a plan of many
//! small actions does not cost a request for each.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use super::ctx::Ctx;
use super::hands::Trouble;
use crate::domain::{Account, AccountId, Command, Millis, Permission, Project, Right, ThreadRef, Verdict};
use crate::plan::ActionId;
use crate::planning::{Fact, Run};

const BELIEVED_MS: i64 = 60_000;

/// What accounts were found to be allowed, and when.
#[derive(Debug, Default)]
pub struct PermissionCache(Mutex<HashMap<(Project, AccountId), (Millis, Permission)>>);

impl PermissionCache {
    fn find(&self, project: &Project, account: AccountId, now: Millis) -> Option<Permission> {
        let found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, permission) = found.get(&(project.clone(), account))?;
        (at.plus(BELIEVED_MS) > now && *at <= now).then_some(*permission)
    }

    fn keep(&self, project: &Project, account: AccountId, now: Millis, permission: Permission) {
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        found.retain(|_, (at, _)| at.plus(BELIEVED_MS) > now);
        found.insert((project.clone(), account), (now, permission));
    }
}

/// The facts that follow from rights which the approvers of an action have lost; none if all of them still may.
pub(super) async fn lost_before(
    ctx: &Ctx,
    thread: &ThreadRef,
    run: &Run,
    action: &ActionId,
) -> Result<Vec<Fact>, Trouble> {
    lost(ctx, thread, run, &[action].into(), Some(action)).await
}

async fn lost(
    ctx: &Ctx,
    thread: &ThreadRef,
    run: &Run,
    actions: &BTreeSet<&ActionId>,
    at: Option<&ActionId>,
) -> Result<Vec<Fact>, Trouble> {
    let mut facts = vec![];
    for by in run.approvers(actions).into_values() {
        let permission = permission_of(ctx, &thread.project, by).await?;
        if !is_enough(by, permission) {
            tracing::warn!(%thread, "@{} approved on {thread} and may no longer do so", by.login);
            let (by, actions, action) = (by.clone(), run.approved_by(by), at.cloned());
            facts.push(Fact::ApprovalVoided { by, permission, actions, action });
        }
    }
    Ok(facts)
}

/// As [`lost_before`], for everything that a push would bring to the forge: what is committed and not there yet, and the
/// action that is being committed.
pub(super) async fn lost_before_push(
    ctx: &Ctx,
    thread: &ThreadRef,
    run: &Run,
    current: Option<&ActionId>,
) -> Result<Vec<Fact>, Trouble> {
    let mut actions = run.unpushed();
    actions.extend(current);
    lost(ctx, thread, run, &actions, None).await
}

fn is_enough(account: &Account, permission: Permission) -> bool {
    let right = Right::of(&Command::Approve { what: String::new() });
    right.judge(account, permission, false) == Verdict::Allowed
}

async fn permission_of(ctx: &Ctx, project: &Project, account: &Account) -> Result<Permission, Trouble> {
    let now = ctx.now();
    if let Some(permission) = ctx.permissions.find(project, account.id, now) {
        return Ok(permission);
    }
    let forge = ctx.forge(project.forge).map_err(|error| Trouble::lasting(error.to_string()))?;
    let permission = forge.permission(project, account).await?;
    // Who got a right back and approves again must not hear that they may not.
    if is_enough(account, permission) {
        ctx.permissions.keep(project, account.id, now, permission);
    }
    Ok(permission)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_right_is_believed_for_a_minute() {
        let (cache, project) = (PermissionCache::default(), "github:acme/web".parse().unwrap());
        cache.keep(&project, AccountId(2), Millis(1_000), Permission::Write);
        for (account, now, found) in [
            (2, 1_000, Some(Permission::Write)),
            (2, 60_999, Some(Permission::Write)),
            (2, 61_000, None),
            (2, 999, None),
            (3, 1_000, None),
        ] {
            assert_eq!(cache.find(&project, AccountId(account), Millis(now)), found, "{account} at {now}");
        }
    }
}
