//! Purpose: the reconcile sweep: compare the forge with the record, and put into the inbox what no webhook brought.
//!
//! Forges do not redeliver by themselves. What the sweep finds goes the same way as everything else: as a delivery with
//! a key of its own, so that the same finding is taken once. Findings about starting and stopping hold for the journal
//! as the sweep saw it; if it has grown meanwhile, they are dropped (`route.rs`) and the next sweep looks again.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::ctx::Ctx;
use super::desk::load_record;
use super::{KEEP_DELIVERIES_MS, boxes, forget, publish, route};
use crate::domain::{
    Account, AccountId, AccountKind, Comment, Event, EventKind, ForgeKind, Millis, Thread, ThreadRef,
};
use crate::forge::{Forge, ForgeError};
use crate::intake::translate::INTERNAL_EVENT;
use crate::planning::{Record, Trigger};
use crate::render;
use crate::store::{NewDelivery, Put};

/// A request that was given up is not carried out later than this, nor shown.
const TWINS_MS: i64 = 3_600_000;

pub(super) async fn sweep_regularly(ctx: Arc<Ctx>) {
    let sweeping = async {
        let mut asleep = Asleep::default();
        loop {
            sweep(&ctx, &mut asleep).await;
            ctx.swept.send_modify(|sweeps| *sweeps += 1);
            tokio::time::sleep(ctx.sweep_every).await;
        }
    };
    // A sweep may be left in the middle: whatever it did not get to is found by the next one.
    ctx.shutdown.run_until_cancelled(sweeping).await;
}

/// Threads without a run under way: the newest entry of the journal, and since when it is quiet there. Most journals are of
/// this kind and never change again; they are read once, not with every sweep.
type Asleep = HashMap<ThreadRef, (i64, Millis)>;

/// One sweep over all forges. What fails is logged and left for the next one.
async fn sweep(ctx: &Ctx, asleep: &mut Asleep) {
    for (kind, forge) in &ctx.forges {
        if let Err(error) = sweep_forge(ctx, *kind, forge, asleep).await {
            tracing::warn!("the sweep of {kind} is incomplete: {error:#}");
        }
    }
    if let Err(error) = ctx.store.forget_deliveries(ctx.now().plus(-KEEP_DELIVERIES_MS)).await {
        tracing::warn!("cannot clear old deliveries: {error:#}");
    }
}

async fn sweep_forge(ctx: &Ctx, kind: ForgeKind, forge: &Forge, asleep: &mut Asleep) -> anyhow::Result<()> {
    for thread in waiting_threads(ctx, forge).await? {
        go_on(&thread, look_for_start(ctx, forge, &thread).await)?;
    }
    for (thread, end) in ctx.store.journal_ends().await? {
        let known = asleep.get(&thread).filter(|(seq, _)| *seq == end);
        if thread.project.forge == kind && !known.is_some_and(|(_, since)| sleeps_on(ctx, *since)) {
            go_on(&thread, look_for_changes(ctx, forge, &thread, asleep).await)?;
        }
    }
    Ok(())
}

/// Trouble with one thread is left behind. A forge that wants silence wants it for all of them.
fn go_on(thread: &ThreadRef, looked: anyhow::Result<()>) -> anyhow::Result<()> {
    let Err(error) = looked else { return Ok(()) };
    if matches!(error.downcast_ref(), Some(ForgeError::RateLimited { .. })) {
        return Err(error);
    }
    tracing::warn!("cannot compare {thread} with its forge: {error:#}");
    Ok(())
}

/// Whether there is nothing to look after on a thread that is quiet since then.
fn sleeps_on(ctx: &Ctx, since: Millis) -> bool {
    since < ctx.now().plus(-TWINS_MS) && !forget::is_due(ctx, since)
}

/// What waits by assignment or by the usual label, and by labels that rules name for some repositories.
async fn waiting_threads(ctx: &Ctx, forge: &Forge) -> anyhow::Result<BTreeSet<ThreadRef>> {
    let usual = ctx.config.triggers.label.as_deref();
    let mut found: BTreeSet<ThreadRef> = forge.waiting_threads(usual).await?.into_iter().collect();
    for label in ctx.config.trigger_labels().iter().filter(|label| usual != Some(label.as_str())) {
        let concerns = |thread: &ThreadRef| {
            ctx.config.for_repo(&thread.project).triggers.label.as_deref() == Some(label.as_str())
        };
        found.extend(forge.waiting_threads(Some(label)).await?.into_iter().filter(concerns));
    }
    Ok(found)
}

/// A thread that waits for the bot, but never had a run (or whose run was stopped by taking away what is back now).
async fn look_for_start(ctx: &Ctx, forge: &Forge, thread: &ThreadRef) -> anyhow::Result<()> {
    let record = load_record(ctx, thread).await?;
    if !record.may_start() {
        return Ok(());
    }
    let bot = forge.me().await?;
    let state = forge.thread(thread).await?;
    if state.confidential && !accepts_confidential(ctx) {
        return Ok(());
    }
    let rules = route::rules(ctx, &thread.project).await?;
    let assigned = state.assignees.iter().any(|account| account.id == bot.id);
    let found = if assigned && rules.on_assign {
        let kind = EventKind::Assigned { assignee: bot };
        forge.who_assigned(thread).await?.map(|by| Finding { word: "assigned", by, kind })
    } else if let Some(label) = rules.on_label.filter(|label| state.labels.contains(label)) {
        let by = forge.who_labelled(thread, &label).await?;
        by.map(|by| Finding { word: "labelled", by, kind: EventKind::Labelled { label } })
    } else {
        None
    };
    match found {
        Some(found) => report(ctx, thread, &record, found).await,
        None => Ok(()),
    }
}

/// Only GitLab has confidential threads.
fn accepts_confidential(ctx: &Ctx) -> bool {
    ctx.config.forges.gitlab.as_ref().is_some_and(|gitlab| gitlab.confidential)
}

/// A live run whose thread was closed, that lost what started it, or that people wrote to.
async fn look_for_changes(
    ctx: &Ctx,
    forge: &Forge,
    thread: &ThreadRef,
    asleep: &mut Asleep,
) -> anyhow::Result<()> {
    let record = load_record(ctx, thread).await?;
    if let Some(since) = record.quiet_since() {
        asleep.insert(thread.clone(), (record.seq, since));
    }
    let Some(run) = record.live_run() else { return look_after(ctx, forge, thread, &record).await };
    let bot = forge.me().await?;
    let state = forge.thread(thread).await?;
    if let Some(kind) =
        lost(&state, run.how, &bot, ctx.config.for_repo(&thread.project).triggers.label.as_deref())
    {
        return report(ctx, thread, &record, Finding { word: "lost", by: nobody(), kind }).await;
    }
    let comments = forge.comments(thread).await?;
    fold_twins(ctx, forge, thread, &comments).await?;
    // While the bot is up, webhooks bring this, and say who it was.
    if *ctx.swept.borrow() == 0 {
        look_for_boxes(ctx, thread, &record, &comments).await?;
    }
    for comment in comments {
        let during = comment.created_at.is_none_or(|at| at >= run.started_at);
        if during && comment.author.id != bot.id && !record.has_taken(comment.id) {
            let (actor, at, id) = (comment.author.clone(), comment.created_at, comment.id.0);
            let kind = if comment.on.is_some() {
                EventKind::ReviewCommented { comment }
            } else {
                EventKind::CommentCreated { comment }
            };
            let event = Event { thread: thread.clone(), actor, at, kind };
            put(ctx, format!("sweep/comment/{thread}/{id}"), &event).await?;
        }
    }
    Ok(())
}

/// A thread without a run under way: what was just said there may stand there twice, and what is long past may go.
async fn look_after(ctx: &Ctx, forge: &Forge, thread: &ThreadRef, record: &Record) -> anyhow::Result<()> {
    // While an answer is owed, whoever posts it looks for twins; what is forgotten has none that are known.
    let Some(since) = record.quiet_since() else { return Ok(()) };
    if forget::is_due(ctx, since) {
        return Ok(ctx.store.wake(thread, ctx.now()).await?);
    }
    if sleeps_on(ctx, since) {
        return Ok(());
    }
    fold_twins(ctx, forge, thread, &forge.comments(thread).await?).await
}

/// Boxes that people ticked while the bot was away.
async fn look_for_boxes(
    ctx: &Ctx,
    thread: &ThreadRef,
    record: &Record,
    comments: &[Comment],
) -> anyhow::Result<()> {
    for comment in comments.iter().filter(|comment| boxes::are_news(record, comment)) {
        let key = format!("sweep/boxes/{thread}/{}/{}", comment.id.0, publish::hash(&comment.body));
        let kind = EventKind::CommentEdited { comment: comment.clone() };
        put(ctx, key, &Event { thread: thread.clone(), actor: nobody(), at: None, kind }).await?;
    }
    Ok(())
}

/// A request that was given up may have been carried out after all. Of the bot's comments with one marker the oldest
/// stays; the drive that this wakes finds it again and brings it up to date.
async fn fold_twins(
    ctx: &Ctx,
    forge: &Forge,
    thread: &ThreadRef,
    comments: &[Comment],
) -> anyhow::Result<()> {
    let bot = forge.me().await?;
    let mut ours: Vec<&Comment> = comments.iter().filter(|comment| comment.author.id == bot.id).collect();
    ours.sort_by_key(|comment| comment.id);
    let mut seen = BTreeSet::new();
    for comment in ours {
        let Some(marker) = render::marker_of(&comment.body) else { continue };
        if seen.insert(marker) {
            continue;
        }
        ctx.pace(thread.project.forge).await;
        forge.delete_comment(thread, comment.id).await?;
        let kind = EventKind::CommentDeleted { comment_id: comment.id };
        let event = Event { thread: thread.clone(), actor: nobody(), at: None, kind };
        put(ctx, format!("sweep/twin/{thread}/{}", comment.id.0), &event).await?;
    }
    Ok(())
}

fn lost(state: &Thread, how: Trigger, bot: &Account, label: Option<&str>) -> Option<EventKind> {
    if !state.open {
        return Some(EventKind::Closed);
    }
    match how {
        Trigger::Assigned | Trigger::Document
            if !state.assignees.iter().any(|account| account.id == bot.id) =>
        {
            Some(EventKind::Unassigned { assignee: bot.clone() })
        }
        Trigger::Labelled => {
            let label = label.filter(|label| !state.labels.iter().any(|l| l == label))?;
            Some(EventKind::Unlabelled { label: label.to_owned() })
        }
        Trigger::Assigned
        | Trigger::Document
        | Trigger::Mentioned
        | Trigger::Retried
        | Trigger::ChangesRequested
        | Trigger::Replanned => None,
    }
}

/// Something that no webhook told us: by whom, and the word for it in the delivery's key.
struct Finding {
    word: &'static str,
    by: Account,
    kind: EventKind,
}

/// Whoever it was, the forge does not say. Nobody has no rights, but a stop needs none.
fn nobody() -> Account {
    Account { id: AccountId(0), login: "somebody".to_owned(), kind: AccountKind::Ghost }
}

async fn report(ctx: &Ctx, thread: &ThreadRef, record: &Record, found: Finding) -> anyhow::Result<()> {
    let key = format!("sweep/{}/{}/{thread}", record.seq, found.word);
    put(ctx, key, &Event { thread: thread.clone(), actor: found.by, at: None, kind: found.kind }).await
}

/// The length of the journal that a finding holds for; `None` for other deliveries.
pub(super) fn seq_seen(key: &str) -> Option<i64> {
    key.strip_prefix("sweep/")?.split('/').next()?.parse().ok()
}

async fn put(ctx: &Ctx, key: String, event: &Event) -> anyhow::Result<()> {
    let found = NewDelivery {
        key: key.clone(),
        thread: Some(event.thread.clone()),
        forge: event.thread.project.forge,
        event: INTERNAL_EVENT.to_owned(),
        body: serde_json::to_vec(event)?.into(),
        received_at: ctx.now(),
        unreadable: None,
    };
    if ctx.store.put(found).await? == Put::New {
        tracing::info!(thread = %event.thread, "the sweep found {key}");
        // Nobody listening only means that the engine polls.
        let _ = ctx.pokes.send(event.thread.clone());
    }
    Ok(())
}
