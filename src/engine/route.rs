//! Purpose: from a stored delivery to facts: translate, look up what deciding needs, let the core read it.

use super::ctx::Ctx;
use super::desk::Desk;
use super::settings::{Settled, settings};
use crate::config::RepoSettings;
use crate::domain::{
    Account, AccountKind, Command, CommentId, Event, EventKind, Lang, Millis, Project, Spoken, Thread,
    ThreadRef, parse_command,
};
use crate::forge::{Forge, ForgeError};
use crate::intake::translate::{Confidential, Translated, translate};
use crate::planning::{
    Asked, Fact, Heard, Limits, Observation, PreviewSeen, Record, Rules, TicksSeen, confirm, interpret,
    needs_permission, needs_thread, rests_on,
};
use crate::render::{read_boxes, read_choices, read_ticks};
use crate::store::{Delivery, StoreError};

pub(super) enum Read {
    /// What follows from it, which may be nothing; the delivery is done.
    Facts(Vec<Fact>),
    /// As `Facts`, and somebody changed or deleted a comment of ours: the thread no longer shows the record.
    Altered(Vec<Fact>),
    /// The forge is out of reach; the delivery stays in the inbox until then.
    Later(Millis),
    /// Nothing can be made of it, and why; it is kept for people to look at.
    SetAside(String),
}

pub(super) async fn read(ctx: &Ctx, desk: &Desk, delivery: &Delivery) -> Read {
    if is_outdated(&delivery.key, &desk.record) {
        return Read::Facts(vec![]);
    }
    // The door has already decided about confidential threads; what it stored is meant to be read.
    let events = match translate(delivery.forge, &delivery.event, &delivery.body, Confidential::Accepted) {
        Translated::Events(events) => events,
        Translated::NotForUs(_) => return Read::Facts(vec![]),
        Translated::Unreadable { why, .. } => {
            tracing::error!(delivery.id = %delivery.key, "cannot read the delivery {}: {why}", delivery.key);
            return Read::SetAside(why);
        }
    };
    match read_all(ctx, desk, &events).await {
        Ok(read) => read,
        Err(error) => settle(ctx, desk, delivery, &error),
    }
}

async fn read_all(ctx: &Ctx, desk: &Desk, events: &[Event]) -> Result<Read, ForgeError> {
    let facts = read_events(ctx, desk, events).await?;
    Ok(if alters(ctx, desk, events).await? { Read::Altered(facts) } else { Read::Facts(facts) })
}

/// Whether somebody changed or deleted a comment of ours that is to be drawn again: that is noted in the store. A card
/// that was deleted is drawn anew, as the one card of its run. Where it happens again and again, a program is at it most
/// likely, and the comment is left as it is until there is something new to show.
async fn alters(ctx: &Ctx, desk: &Desk, events: &[Event]) -> Result<bool, ForgeError> {
    let [event] = events else { return Ok(false) };
    let (id, is_gone) = if let EventKind::CommentDeleted { comment_id } = &event.kind {
        (*comment_id, true)
    } else if let EventKind::CommentEdited { comment } = &event.kind
        && only_shows(desk, event, comment.id)
    {
        (comment.id, false)
    } else {
        return Ok(false);
    };
    let broken = |error: StoreError| ForgeError::Broken(error.to_string());
    let Some(key) = ctx.store.comment_key(&event.thread, id).await.map_err(broken)? else { return Ok(false) };
    let (store, now) = (&ctx.store, ctx.now());
    if is_gone && is_there(ctx, &event.thread, id).await? {
        return Ok(false);
    }
    if is_us(ctx, event).await? || !ctx.redraws.may_draw(&event.thread, &key, now) {
        return Ok(false);
    }
    let noted = if is_gone {
        store.comment_deleted(&desk.lease, id).await
    } else {
        store.comment_altered(&desk.lease, id, now).await
    };
    // A lost lease is found by the append that follows.
    noted.map(|_| true).map_err(broken)
}

/// Whether a comment that is said to be deleted is still there.
async fn is_there(ctx: &Ctx, thread: &ThreadRef, id: CommentId) -> Result<bool, ForgeError> {
    match ctx.forge(thread.project.forge) {
        Ok(forge) => Ok(forge.comment(thread, id).await?.is_some()),
        Err(_) => Ok(false),
    }
}

/// What a person does to the card is no answer, and no program is argued with. A preview is never written twice, and boxes
/// of questions are answers.
fn only_shows(desk: &Desk, event: &Event, comment: CommentId) -> bool {
    event.actor.kind == AccountKind::Person && !desk.record.asks_by(comment)
}

async fn is_us(ctx: &Ctx, event: &Event) -> Result<bool, ForgeError> {
    match ctx.forge(event.thread.project.forge) {
        Ok(forge) => Ok(forge.me().await?.id == event.actor.id),
        Err(_) => Ok(false),
    }
}

/// What the sweep found holds for the journal that it saw. If something has happened since, it holds no more.
fn is_outdated(key: &str, record: &Record) -> bool {
    super::sweep::seq_seen(key).is_some_and(|seq| seq != record.seq)
}

/// After this long nobody waits for an answer any more, and later deliveries should not wait behind it.
const GIVE_UP_MS: i64 = 24 * 3_600_000;

fn settle(ctx: &Ctx, desk: &Desk, delivery: &Delivery, error: &ForgeError) -> Read {
    let is_old = delivery.received_at.plus(GIVE_UP_MS) < ctx.now();
    let is_a_limit = matches!(error, ForgeError::RateLimited { .. });
    // After a day of downtime everything is old, and gets more than one try.
    if is_old && !is_a_limit && ctx.setbacks.is_known(desk.thread()) {
        tracing::error!(delivery.id = %delivery.key, "gave up the delivery {} after a day: {error}", delivery.key);
        return Read::SetAside(format!("given up after a day: {error}"));
    }
    match error {
        ForgeError::NotFound(_) => {
            tracing::warn!(delivery.id = %delivery.key, "set the delivery {} aside: {error}", delivery.key);
            Read::SetAside(error.to_string())
        }
        ForgeError::RateLimited { retry_after, .. } => Read::Later(ctx.after(*retry_after)),
        ForgeError::Unauthorized(_)
        | ForgeError::Forbidden(_)
        | ForgeError::Invalid(_)
        | ForgeError::Unclear(_)
        | ForgeError::Broken(_) => {
            tracing::error!(delivery.id = %delivery.key, "cannot act on the delivery {} yet: {error}", delivery.key);
            Read::Later(ctx.soon(desk.thread()))
        }
    }
}

/// Several events of one delivery are read one after the other, each in the light of the journal before the delivery.
/// What two of them mean together (taken off and labelled at once) is left to the next sweep.
async fn read_events(ctx: &Ctx, desk: &Desk, events: &[Event]) -> Result<Vec<Fact>, ForgeError> {
    let mut facts = vec![];
    for event in events {
        if begins_run(&facts) {
            break;
        }
        facts.extend(read_event(ctx, desk, event).await?);
    }
    Ok(facts)
}

/// A delivery that says "assigned and labelled" starts one run, not two.
fn begins_run(facts: &[Fact]) -> bool {
    facts.iter().any(|fact| matches!(fact, Fact::Triggered { .. }))
}

async fn read_event(ctx: &Ctx, desk: &Desk, event: &Event) -> Result<Vec<Fact>, ForgeError> {
    let Ok(forge) = ctx.forge(event.thread.project.forge) else { return Ok(vec![]) };
    let bot = forge.me().await?;
    if event.actor.id == bot.id {
        return Ok(vec![]);
    }
    let project = &event.thread.project;
    // As the server has it: the repository's own file can only switch the label off.
    let label = ctx.config.for_repo(project).triggers.label;
    let heard = Heard { event, bot: &bot, label: label.as_deref() };
    let (asks_right, asks_thread) =
        (needs_permission(&desk.record, heard), needs_thread(&desk.record, heard));
    if !asks_right && !asks_thread {
        // Most deliveries of a busy repository; they must cost no request, and not wait for a forge that is down.
        return Ok(vec![]);
    }
    let permission = if asks_right { Some(forge.permission(project, &event.actor).await?) } else { None };
    let thread = if asks_thread { live_thread(forge, event).await? } else { None };
    let rules = match rules(ctx, project).await {
        Err(error) if stops(event) => {
            tracing::warn!("cannot read the settings of {project}, the stop counts: {error}");
            rules_of(&ctx.config.for_repo(project))
        }
        rules => rules?,
    };
    let preview = preview_seen(ctx, desk, event).await?;
    let ticks = ticks_seen(ctx, forge, desk, event).await?;
    let thread = thread.as_ref();
    let seen = Observation { bot: &bot, rules: &rules, permission, thread, preview, ticks, now: ctx.now() };
    confirmed(forge, event, &bot, interpret(&desk.record, event, &seen)).await
}

/// What follows from words only if the forge has them as the delivery tells; see [`crate::planning::confirm`].
async fn confirmed(
    forge: &Forge,
    event: &Event,
    bot: &Account,
    facts: Vec<Fact>,
) -> Result<Vec<Fact>, ForgeError> {
    let Some(id) = rests_on(event, &facts) else { return Ok(facts) };
    let of_review = matches!(event.kind, EventKind::Reviewed { .. } | EventKind::ReviewCommented { .. });
    let found = match of_review {
        true => forge.review_comment(&event.thread, id).await?,
        false => forge.comment(&event.thread, id).await?,
    };
    let Err(mismatch) = confirm(event, bot, found.as_ref()) else { return Ok(facts) };
    let (by, thread) = (event.actor.clone(), &event.thread);
    tracing::warn!(%thread, ?mismatch, "comment {} of {thread} is not as a delivery tells it", id.0);
    Ok(vec![Fact::CommentUnconfirmed { by, comment: id, mismatch }])
}

/// A preview of ours that somebody edited or approves: the boxes of all its parts, and whether their words are still
/// ours.
async fn preview_seen(ctx: &Ctx, desk: &Desk, event: &Event) -> Result<Option<PreviewSeen>, ForgeError> {
    let request = if let EventKind::CommentEdited { comment } = &event.kind {
        desk.record.preview_request(comment.id)
    } else if is_approval(event, &desk.voice.bot_login) {
        desk.record.live_run().and_then(|run| run.open_request(run.plan()?))
    } else {
        None
    };
    let Some(request) = request.filter(|request| !request.comments.is_empty()) else { return Ok(None) };
    // As it stands now, not as the webhook says: edits come out of order.
    let forge = ctx.forge(event.thread.project.forge).map_err(|e| ForgeError::Broken(e.to_string()))?;
    let now = forge.comments(&event.thread).await?;
    let mut seen = PreviewSeen { request: request.number, boxes: vec![], intact: true };
    for id in &request.comments {
        let Some(part) = now.iter().find(|comment| comment.id == *id) else {
            seen.intact = false;
            continue;
        };
        let (boxes, empty) = read_boxes(&part.body);
        let posted = ctx.store.comment_hash(&event.thread, *id).await;
        let posted = posted.map_err(|error| ForgeError::Broken(error.to_string()))?;
        seen.intact &= posted.is_some_and(|hash| hash == super::publish::hash(&empty));
        seen.boxes.extend(boxes);
    }
    Ok(Some(seen))
}

/// The boxes in questions or decisions of ours that somebody edited, as they stand now.
async fn ticks_seen(
    ctx: &Ctx,
    forge: &Forge,
    desk: &Desk,
    event: &Event,
) -> Result<Option<TicksSeen>, ForgeError> {
    let EventKind::CommentEdited { comment } = &event.kind else { return Ok(None) };
    let Some(asked) = desk.record.asks_in(comment.id) else { return Ok(None) };
    let now = forge.comments(&event.thread).await?.into_iter().find(|known| known.id == comment.id);
    let Some(now) = now else { return Ok(None) };
    let posted = ctx.store.comment_hash(&event.thread, comment.id).await;
    let posted = posted.map_err(|error| ForgeError::Broken(error.to_string()))?;
    let empty = now.body.replace("\r\n", "\n").replace("- [x] ", "- [ ] ").replace("- [X] ", "- [ ] ");
    // Boxes stand for what was written beside them; whoever changed the words has ticked something else.
    if posted.is_none_or(|hash| hash != super::publish::hash(&empty)) {
        return altered(ctx, forge, desk, event, comment.id).await;
    }
    Ok(Some(match asked {
        Asked::Questions => TicksSeen::Questions(read_ticks(&now.body)),
        Asked::Decisions => TicksSeen::Decisions(read_choices(&now.body)),
    }))
}

/// The next publication finds another text than it wants, and puts it right; while nothing is open, no box counts.
async fn altered(
    ctx: &Ctx,
    forge: &Forge,
    desk: &Desk,
    event: &Event,
    comment: CommentId,
) -> Result<Option<TicksSeen>, ForgeError> {
    let talk = desk.record.live_run().map(|run| &run.talk);
    let open = talk.is_some_and(|talk| {
        let round = talk.open_round().is_some_and(|round| round.comment == Some(comment));
        let design = talk.design.as_ref().filter(|design| design.approved.is_none());
        round || design.is_some_and(|design| design.comment == Some(comment))
    });
    if !open || event.actor.id == forge.me().await?.id {
        return Ok(None);
    }
    // A lost lease is found by the append that follows.
    if let Err(error) = ctx.store.comment_altered(&desk.lease, comment, ctx.now()).await {
        return Err(ForgeError::Broken(error.to_string()));
    }
    Ok(Some(TicksSeen::Altered(comment)))
}

/// The preview is looked at as it stands when somebody approves what it says.
fn is_approval(event: &Event, bot_login: &str) -> bool {
    let EventKind::CommentCreated { comment } = &event.kind else { return false };
    let spoken = parse_command(&comment.body, bot_login);
    matches!(spoken, Spoken::Command(Command::Approve { .. }))
}

/// The thread as it is now. When it is gone or out of reach a stop must still count, so only triggers need it.
async fn live_thread(forge: &Forge, event: &Event) -> Result<Option<Thread>, ForgeError> {
    match forge.thread(&event.thread).await {
        Ok(thread) => Ok(Some(thread)),
        Err(error) if stops(event) => {
            tracing::warn!("cannot read {}, the stop counts without it: {error}", event.thread);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

pub(super) fn stops(event: &Event) -> bool {
    matches!(event.kind, EventKind::Unassigned { .. } | EventKind::Unlabelled { .. } | EventKind::Closed)
}

pub(super) async fn rules(ctx: &Ctx, project: &Project) -> Result<Rules, ForgeError> {
    Ok(match settings(ctx, project).await? {
        Settled::Settings(settings) => rules_of(&settings),
        Settled::BrokenFile(why) => {
            Rules { broken_file: Some(why), ..rules_of(&ctx.config.for_repo(project)) }
        }
    })
}

pub(super) fn rules_of(settings: &RepoSettings) -> Rules {
    let budget = &settings.budget;
    Rules {
        budget: Limits {
            micro_usd: budget.usd.map(|usd| usd.micros().unsigned_abs()),
            tokens: budget.tokens,
            model_calls: budget.model_calls.map(u64::from),
            minutes: budget.minutes.map(u64::from),
            files: budget.files.map(u64::from),
            bytes: budget.bytes,
        },
        enabled: settings.planning.enabled,
        on_assign: settings.triggers.assign,
        on_label: settings.triggers.label.clone(),
        on_mention: settings.triggers.mention,
        broken_file: None,
        lang: settings.language.name().map(Lang::named),
    }
}
