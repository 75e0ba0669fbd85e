//! Purpose: the gate before every action, and before every change that a worker wants to make in one: does the thread
//! still want it, is it still exactly what was approved, and may those who approved it still do so?
//!
//! Everything is looked at afresh: the thread (a lost webhook does not matter), the settings, the tool, and what stands
//! at the target in the checkout. If anything cannot be looked at, the action does not begin.

use std::sync::Arc;

use super::approvers;
use super::ctx::Ctx;
use super::hands::{Bench, Trouble};
use super::preflight::{READ_AT_MOST, file_found, permitted, settings_hash, settings_of, thread_hash};
use super::route::rules_of;
use crate::actions::{Finding, Found, Ground, RepoPath};
use crate::config::RepoSettings;
use crate::domain::{Millis, ThreadRef};
use crate::plan::{Action, ActionId};
use crate::planning::plan_tool::{self, Recheck};
use crate::planning::{Fact, Run, signals};
use crate::tools::files::{Files, Kind};

/// What the gate says.
pub(super) enum Gate {
    /// It may begin, under this digest.
    Pass { digest: String },
    /// Something came up that the run has to hear first.
    Facts(Vec<Fact>),
    /// It cannot be done any more, and why.
    Impossible(String),
}

const HOUR_MS: i64 = 3_600_000;

pub(super) async fn gate(
    ctx: &Ctx,
    thread: &ThreadRef,
    run: &Run,
    action: &ActionId,
    bench: &Bench,
) -> Result<Gate, Trouble> {
    let missing = || Trouble::lasting("there is no such action");
    let plan = run.plan().ok_or_else(missing)?;
    let action = plan.actions().find(|a| a.id == *action).ok_or_else(missing)?;
    let old_ground = plan.ground.as_ref().ok_or_else(missing)?;
    let settings = settings_of(ctx, &thread.project).await?;
    let (signals, thread_now) = look_at_thread(ctx, thread, run, &settings).await?;
    if !signals.is_empty() {
        return Ok(Gate::Facts(signals));
    }
    let lost = approvers::lost_before(ctx, thread, run, &action.id).await?;
    if !lost.is_empty() {
        return Ok(Gate::Facts(lost));
    }
    let ground = ground_now(old_ground, thread_now, &settings, ctx.now());
    let finding = find(ctx, action, &settings, bench).await?;
    match plan_tool::recheck(run, &action.id, &finding, ground) {
        Ok(Recheck::Pass { digest }) => Ok(Gate::Pass { digest }),
        Ok(Recheck::Renewed(fact)) => Ok(Gate::Facts(vec![*fact])),
        Ok(Recheck::Impossible(why)) => Ok(Gate::Impossible(why)),
        Err(refusal) => Err(Trouble::lasting(refusal.to_string())),
    }
}

/// What people have done to the thread that the run has to hear before it goes on.
pub(super) async fn heard(ctx: &Ctx, thread: &ThreadRef, run: &Run) -> Result<Vec<Fact>, Trouble> {
    let settings = settings_of(ctx, &thread.project).await?;
    Ok(look_at_thread(ctx, thread, run, &settings).await?.0)
}

/// What the thread says now; its state is asked for again each time, which costs nothing while it is the same.
async fn look_at_thread(
    ctx: &Ctx,
    thread: &ThreadRef,
    run: &Run,
    settings: &RepoSettings,
) -> Result<(Vec<Fact>, String), Trouble> {
    let forge = ctx.forge(thread.project.forge).map_err(|error| Trouble::lasting(error.to_string()))?;
    let bot = forge.me().await?;
    let state = forge.thread(thread).await?;
    Ok((signals(run, &state, &rules_of(settings), &bot), thread_hash(&state)))
}

/// The base is no part of what may change: the checkout starts at the commit that the approval names, whatever others
/// push meanwhile.
pub(super) fn ground_now(old: &Ground, thread: String, settings: &RepoSettings, now: Millis) -> Ground {
    let expires = if now <= old.expires {
        old.expires
    } else {
        now.plus(i64::from(settings.approval.expires_hours.get()) * HOUR_MS)
    };
    Ground { thread, base: old.base.clone(), settings: settings_hash(settings), expires }
}

pub(super) async fn find(
    ctx: &Ctx,
    action: &Action,
    settings: &RepoSettings,
    bench: &Bench,
) -> Result<Finding, Trouble> {
    let (tool, forbidden) = permitted(ctx, action, settings).await?;
    let path = action.spec.path.as_deref().and_then(|path| path.parse::<RepoPath>().ok());
    let found = match path {
        Some(path) => look(Arc::clone(&bench.files), path).await?,
        None => Found::Nothing,
    };
    Ok(Finding { found, tool, forbidden })
}

async fn look(files: Arc<Files>, path: RepoPath) -> Result<Found, Trouble> {
    let looked = tokio::task::spawn_blocking(move || {
        Ok(match files.look(&path)? {
            None => Found::Nothing,
            Some(found) => match found.kind {
                Kind::File => file_found(&files.read(&path, READ_AT_MOST)?.bytes, found.bytes),
                Kind::Directory => Found::Directory,
                Kind::Symlink | Kind::Other => Found::Other,
            },
        })
    });
    let looked: Result<Found, crate::tools::files::FileError> =
        looked.await.map_err(|error| Trouble::passing(error.to_string()))?;
    // What cannot be looked at is nothing that one could write to.
    Ok(looked.unwrap_or(Found::Other))
}
