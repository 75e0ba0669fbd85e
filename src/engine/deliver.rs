//! Purpose: hand the work over: push the branch, and open one change request for it, found again after a crash.

use super::approvers::lost_before_push;
use super::ctx::Ctx;
use super::errand::Errand;
use super::hands::{Bench, Trouble, remote};
use super::keep::{expect_approved, push_branch};
use super::preflight::settings_of;
use crate::config::Deliver;
use crate::domain::{ChangeRequest, NewChangeRequest, Readiness, ThreadRef};
use crate::forge::{Forge, ForgeError};
use crate::planning::{Fact, Key, Place, Revision, Run};
use crate::render::{self, Voice};

pub(super) async fn deliver(ctx: &Ctx, thread: &ThreadRef, run: &Run, bench: &Bench, key: Key) -> Vec<Fact> {
    match try_deliver(ctx, thread, run, bench, &key).await {
        Ok(facts) => facts,
        Err(trouble) => vec![trouble.into_fact(ctx, key)],
    }
}

async fn try_deliver(
    ctx: &Ctx,
    thread: &ThreadRef,
    run: &Run,
    bench: &Bench,
    key: &Key,
) -> Result<Vec<Fact>, Trouble> {
    let plan = run.plan().ok_or_else(|| Trouble::lasting("there is no plan"))?;
    let place = plan.place.as_ref().ok_or_else(|| Trouble::lasting("the plan has no branch"))?;
    let settings = settings_of(ctx, &thread.project).await?;
    if settings.deliver == Deliver::None {
        return Ok(vec![Fact::Delivered {
            key: key.clone(),
            branch: place.branch.clone(),
            commit: None,
            change: None,
            url: None,
        }]);
    }
    let lost = lost_before_push(ctx, thread, run, None).await?;
    if !lost.is_empty() {
        return Ok(lost);
    }
    expect_approved(run)?;
    push_branch(bench, run, &remote(ctx, &thread.project).await?).await?;
    let commit = bench.workspace.head().await?;
    let delivered = |change: Option<ThreadRef>, url| {
        let (branch, commit) = (place.branch.clone(), Some(commit.as_str().to_owned()));
        vec![Fact::Delivered { key: key.clone(), branch, commit, change, url }]
    };
    let readiness = match settings.deliver {
        Deliver::Draft => Readiness::Draft,
        Deliver::Ready => Readiness::Ready,
        Deliver::BranchOnly | Deliver::None => return Ok(delivered(None, None)),
    };
    // The branch is that of a change request already, and this thread is it.
    let Some(into) = &place.into else { return Ok(delivered(Some(thread.clone()), None)) };
    let offer = Offer { thread, run, plan, place, into, readiness };
    let change = open(ctx, &offer).await?;
    Ok(delivered(Some(change.thread), change.web_url))
}

struct Offer<'a> {
    thread: &'a ThreadRef,
    run: &'a Run,
    plan: &'a Revision,
    place: &'a Place,
    into: &'a str,
    readiness: Readiness,
}

/// The one change request of the run's branch: found and brought up to date, or opened.
async fn open(ctx: &Ctx, offer: &Offer<'_>) -> Result<ChangeRequest, Trouble> {
    let project = &offer.thread.project;
    let forge = ctx.forge(project.forge).map_err(|error| Trouble::lasting(error.to_string()))?;
    let bot = forge.me().await?;
    let voice = Voice { forge: project.forge, bot_login: bot.login.clone() };
    let (title, body) = render::delivery(offer.run, offer.plan, offer.thread, &voice);
    let (title, body) = (ctx.redactor.clean_outgoing(&title), ctx.redactor.clean_outgoing(&body));
    let known = forge.find_change_request(project, &offer.place.branch).await?;
    let change = match known.filter(|change| change.open && change.author == bot.id) {
        Some(change) => {
            ctx.pace(project.forge).await;
            forge.edit_change_request(&change.thread, &title, &body).await?;
            change
        }
        None => {
            let new = NewChangeRequest {
                head: &offer.place.branch,
                base: offer.into,
                title: &title,
                body: &body,
                readiness: offer.readiness,
            };
            ctx.pace(project.forge).await;
            forge.create_change_request(project, &new).await.map_err(refused)?
        }
    };
    ask_for_review(ctx, forge, offer, &change).await;
    Ok(change)
}

fn refused(error: ForgeError) -> Trouble {
    match error {
        ForgeError::Invalid(why) | ForgeError::Forbidden(why) => {
            tracing::warn!("the forge did not take the change request: {why}");
            Trouble::lasting(
                "The forge did not let me open a change request for the branch; the branch itself is pushed.",
            )
        }
        // It may be there; the next try looks for it first.
        ForgeError::RateLimited { .. }
        | ForgeError::Unauthorized(_)
        | ForgeError::NotFound(_)
        | ForgeError::Unclear(_)
        | ForgeError::Broken(_) => Trouble::from(error),
    }
}

/// Not every requester can review: nobody reviews what they opened themselves, and some have left.
async fn ask_for_review(ctx: &Ctx, forge: &Forge, offer: &Offer<'_>, change: &ChangeRequest) {
    ctx.pace(offer.thread.project.forge).await;
    if let Err(error) = forge.request_review(&change.thread, &offer.run.requester).await {
        tracing::warn!("cannot ask {} for a review of {}: {error}", offer.run.requester.login, change.thread);
    }
}

/// The checkout of a run that has ended is not needed any more. What it holds and the forge does not is pushed first, so
/// that the branch that the card names has all of it; if that fails, the checkout stays.
pub(super) async fn put_away(errand: &Errand) -> Closed {
    let Some(run) = &errand.run else { return Closed::Yes };
    if !errand.ctx.hands.workspaces.has(&run.id.0) {
        return Closed::Yes;
    }
    let put_away = async {
        let settings = settings_of(&errand.ctx, &errand.thread.project).await?;
        if run.commits().count > 0 && run.delivery.is_none() {
            if settings.deliver == Deliver::None {
                return Ok(());
            }
            let (run, bench) = errand.ready().await?;
            expect_approved(run)?;
            if !lost_before_push(&errand.ctx, &errand.thread, run, None).await?.is_empty() {
                return Err(Trouble::lasting(
                    "Somebody who approved the work may no longer approve, so I do not push it.",
                ));
            }
            push_branch(&bench, run, &remote(&errand.ctx, &errand.thread.project).await?).await?;
        }
        errand.ctx.hands.workspaces.forget(&run.id.0).await.map_err(Trouble::from)
    };
    match put_away.await {
        Ok(()) => Closed::Yes,
        Err(Trouble { reason, .. }) => {
            tracing::warn!("the checkout of run {} on {} is kept: {reason}", run.id, errand.thread);
            Closed::Kept
        }
    }
}

/// What became of the work of a run that has ended.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closed {
    /// It is where the settings want it, or there is none.
    Yes,
    /// Something of it is still under way.
    NotYet,
    /// It could not be pushed, and is nowhere but in its checkout.
    Kept,
}
