//! Purpose: what goes wrong for longer than a moment: it costs time, but never a stop, a storm of requests or the card.

use std::time::{Duration, Instant};

use http::Method;
use planwright::domain::{EventKind, ForgeKind, Millis};
use planwright::engine::Ctx;

use super::bot::{ALL, MARIA, Scene, TOM};
use crate::fake_forge::Fault;
use crate::scripted_model::Misbehaviour;

fn shortest_gap(times: &[Instant]) -> Duration {
    times.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(Duration::MAX)
}

/// The model thinks, so that there is no card yet; the one answer that the bot owes is refused all the while.
#[tokio::test]
async fn an_answer_that_is_refused_for_good_is_not_sent_in_a_loop() {
    let scene = Scene::on(ForgeKind::Github).await;
    let bot = scene.start_with(|ctx| ctx.patience_ms = 200).await;
    scene.model.always_misbehave(Some(Misbehaviour::Silent));
    scene.fault(Method::POST, "/comments", Fault::Status(403), 1_000);
    let event = scene.assigned(MARIA);
    assert_eq!(scene.post(&bot.base, &scene.webhook(&event)).await, 202);
    scene.until_seen("the model is asked", |scene| !scene.model.requests().is_empty()).await;
    let said = scene.said(MARIA, "/status");
    assert_eq!(scene.post(&bot.base, &scene.webhook(&said)).await, 202);
    let posts = |scene: &Scene| scene.requests(&Method::POST, "/comments");
    scene.until_seen("the answer is tried again", |scene| posts(scene).len() >= 4).await;
    let gap = shortest_gap(&posts(&scene));
    assert!(gap > Duration::from_millis(150), "{gap:?} between two tries");
    bot.stops().await;
}

/// A delivery that cannot be read yet waits for its time, also while the model thinks.
#[tokio::test]
async fn a_delivery_that_has_to_wait_is_not_tried_at_every_tick() {
    let scene = Scene::on(ForgeKind::Github).await;
    let bot = scene.start().await;
    scene.model.always_misbehave(Some(Misbehaviour::Slow(Duration::from_millis(1_500))));
    let event = scene.assigned(MARIA);
    assert_eq!(scene.post(&bot.base, &scene.webhook(&event)).await, 202);
    scene.until_seen("the model is asked", |scene| !scene.model.requests().is_empty()).await;
    scene.fault(Method::GET, "tom/permission", Fault::RateLimit { retry_after: Some(3_600) }, 1_000);
    let said = scene.said(TOM, "/status");
    assert_eq!(scene.post(&bot.base, &scene.webhook(&said)).await, 202);
    scene.until_seen("the first answer", |scene| scene.facts().contains(&"goal_understood".to_owned())).await;
    // The next question looks the author up as well.
    let asked = scene.requests(&Method::GET, "tom/permission").len();
    assert!(asked <= 2, "the forge said \"not for an hour\" and was asked {asked} times");
    bot.stops().await;
}

/// A stop counts even when nothing at all can be read from the forge.
#[tokio::test]
async fn a_stop_counts_when_the_forge_cannot_be_read() {
    for (kind, file) in [(ForgeKind::Github, "/contents/"), (ForgeKind::Gitlab, "/files/")] {
        let scene = Scene::on(kind).await;
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        bot.ends().await;
        // A new process has not read the repository's own settings yet.
        let bot = scene.start_with(|ctx| ctx.patience_ms = 60_000).await;
        scene.fault(Method::GET, "/issues/", Fault::Status(403), 1_000);
        scene.fault(Method::GET, file, Fault::Status(403), 1_000);
        let me = scene.world.bot().id;
        bot.hears(&scene.act(|world, thread, now| world.unassign(thread, me, MARIA, now))).await;
        assert!(scene.facts().contains(&"stopped".to_owned()), "{kind}: {:?}", scene.facts());
        bot.stops().await;
    }
}

/// Somebody without the right takes the comment back before the bot could shake its head at it.
#[tokio::test]
async fn a_refused_comment_that_is_gone_is_let_be() {
    for (kind, reactions) in [(ForgeKind::Github, "/reactions"), (ForgeKind::Gitlab, "/award_emoji")] {
        let scene = Scene::on(kind).await;
        let bot = scene.start_with(|ctx| ctx.patience_ms = 100).await;
        bot.assigned(MARIA).await;
        let said = scene.said(TOM, "@planwright cancel");
        let EventKind::CommentCreated { comment } = &said.kind else { unreachable!() };
        // It goes away after it was read.
        scene.fault(Method::POST, &format!("/{}{reactions}", comment.id.0), Fault::Status(404), 1_000);
        bot.hears(&said).await;
        assert_eq!(scene.facts().last().unwrap(), "replied", "{kind}: {:?}", scene.facts());
        bot.ends().await;
    }
}

/// Reactions may be switched off or refused; the plan is still shown.
#[tokio::test]
async fn a_face_that_is_refused_does_not_keep_the_card_away() {
    for (kind, reactions) in [(ForgeKind::Github, "/reactions"), (ForgeKind::Gitlab, "/award_emoji")] {
        let scene = Scene::on(kind).await;
        let bot = scene.start_with(|ctx| ctx.patience_ms = 60_000).await;
        scene.fault(Method::POST, reactions, Fault::Status(403), 1_000);
        bot.assigned(MARIA).await;
        scene.until_seen("the card", |scene| scene.cards().len() == 1).await;
        bot.stops().await;
    }
}

/// A request that was given up may still have been carried out, after the bot looked: then there are two cards.
#[tokio::test]
async fn twins_of_a_card_are_folded_by_the_next_sweep() {
    for kind in ALL {
        let scene = Scene::on(kind).await;
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        bot.ends().await;
        let (_, body) = scene.bot_comments().remove(0);
        let me = scene.world.bot().id;
        scene.act(|world, thread, now| world.comment(thread, me, &body, now));
        assert_eq!(scene.cards().len(), 2);
        let bot = scene.start().await;
        scene.until_seen("one card", |scene| scene.cards().len() == 1).await;
        bot.told(MARIA, "@planwright pause").await;
        assert!(scene.card().contains("paused"), "{kind}: {}", scene.card());
        bot.ends().await;
    }
}

/// The sweep started the run, somebody ended it, and then the webhook about the same assignment comes after all.
#[tokio::test]
async fn a_late_webhook_does_not_start_again_what_the_sweep_started() {
    for kind in ALL {
        let scene = Scene::on(kind).await;
        let late = scene.webhook(&scene.assigned(MARIA));
        let bot = scene.start().await;
        scene.until_seen("the sweep finds the assignment", |scene| scene.cards().len() == 1).await;
        bot.told(MARIA, "@planwright cancel").await;
        assert_eq!(scene.post(&bot.base, &late).await, 202);
        bot.quiet().await;
        assert!(scene.card().contains("cancelled"), "{kind}: {:?}", scene.cards());
        bot.ends().await;
    }
}

/// A thread that is on hold already when the bot is called stays on hold.
#[tokio::test]
async fn a_run_on_a_thread_with_the_pause_label_starts_paused() {
    for kind in ALL {
        let scene = Scene::on(kind).await;
        let bot = scene.start().await;
        bot.hears(&scene.act(|world, thread, now| world.label(thread, "planwright:paused", MARIA, now)))
            .await;
        bot.assigned(MARIA).await;
        assert_eq!(scene.facts(), ["triggered", "paused"], "{kind}");
        assert!(scene.model.requests().is_empty(), "{kind}: the model was asked");
        bot.told(MARIA, "@planwright resume").await;
        assert!(scene.card().contains("waiting for approval"), "{kind}");
        bot.ends().await;
    }
}

/// Who took the bot off is not known, so nobody is called by name.
#[tokio::test]
async fn a_stop_that_the_sweep_found_names_nobody() {
    let scene = Scene::on(ForgeKind::Github).await;
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    bot.ends().await;
    let me = scene.world.bot().id;
    scene.act(|world, thread, now| world.unassign(thread, me, MARIA, now));
    let bot = scene.start().await;
    scene.until_seen("the stop", |scene| scene.card().contains("stopped")).await;
    assert!(!scene.card().contains('@'), "{}", scene.card());
    bot.ends().await;
}

/// The forge is slow, and one delivery takes longer to read than a lease lasts.
#[tokio::test]
async fn a_slow_forge_does_not_cost_the_lease() {
    let scene = Scene::on(ForgeKind::Github).await;
    let bot = scene.start_with(|ctx| ctx.lease_ms = 600).await;
    scene.fault(Method::GET, "/permission", Fault::Slow(Duration::from_millis(2_000)), 1);
    bot.assigned(MARIA).await;
    assert!(scene.card().contains("waiting for approval"));
    let looked_up = scene.requests(&Method::GET, "maria/permission").len();
    assert_eq!(looked_up, 1, "read once; the questions show what was known when she acted");
    bot.ends().await;
}

/// The forge hangs, the model hangs, a client holds its connection open: the bot ends all the same.
#[tokio::test]
async fn it_ends_soon_after_it_was_told_to() {
    for path in ["/permission", "/issues/"] {
        let scene = Scene::on(ForgeKind::Github).await;
        let bot = scene.start().await;
        scene.fault(Method::GET, path, Fault::Timeout, 100);
        let event = scene.assigned(MARIA);
        assert_eq!(scene.post(&bot.base, &scene.webhook(&event)).await, 202);
        let address = bot.base.trim_start_matches("http://").to_owned();
        let _silent = tokio::net::TcpStream::connect(&address).await.unwrap();
        scene.until_seen("the forge is asked", |scene| !scene.requests(&Method::GET, path).is_empty()).await;
        let ended = tokio::time::timeout(Duration::from_secs(10), bot.stops()).await;
        assert!(ended.is_ok(), "still running, with {path} hanging");
    }
}

/// A comment that is of no concern to the bot costs no request.
#[tokio::test]
async fn what_does_not_concern_the_bot_costs_no_request() {
    let scene = Scene::on(ForgeKind::Github).await;
    let bot = scene.start().await;
    // The first thread that it looks at makes it ask for its own name.
    bot.told(TOM, "I have this problem.").await;
    let before = scene.requests(&Method::GET, "").len();
    bot.told(TOM, "It is gone now.").await;
    let tom = TOM;
    bot.hears(&scene.act(|world, thread, now| world.assign(thread, tom, MARIA, now))).await;
    for label in ["bug", "planwright:paused", "planwright:document"] {
        bot.hears(&scene.act(|world, thread, now| world.label(thread, label, MARIA, now))).await;
        bot.hears(&scene.act(|world, thread, now| world.unlabel(thread, label, MARIA, now))).await;
    }
    bot.hears(&scene.act(|world, thread, now| world.close(thread, MARIA, now))).await;
    assert_eq!(scene.requests(&Method::GET, "").len(), before);
    bot.ends().await;
}

/// Anybody may comment on a public thread; that must not make the bot write without end.
#[tokio::test]
async fn many_comments_by_outsiders_are_few_edits_of_the_card() {
    let scene = Scene::on(ForgeKind::Github).await;
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let before = scene.requests(&Method::PATCH, "/comments/").len();
    for _ in 0..30 {
        bot.told(TOM, "me too").await;
    }
    let edits = scene.requests(&Method::PATCH, "/comments/").len() - before;
    assert!((1..=10).contains(&edits), "{edits} edits");
    bot.ends().await;
}

/// The pause cannot be read at first; the resume after it waits its turn, so that the run ends up as people left it.
#[tokio::test]
async fn a_resume_does_not_overtake_the_pause_before_it() {
    let scene = Scene::on(ForgeKind::Github).await;
    let bot = scene.start_with(|ctx| ctx.patience_ms = 200).await;
    bot.assigned(MARIA).await;
    scene.fault(Method::GET, "maria/permission", Fault::Status(502), 4);
    for words in ["/pause", "/resume"] {
        let said = scene.said(MARIA, words);
        assert_eq!(scene.post(&bot.base, &scene.webhook(&said)).await, 202);
    }
    scene.until_seen("the resume", |scene| scene.facts().iter().any(|fact| fact == "resumed")).await;
    bot.quiet().await;
    let facts = scene.facts();
    let order: Vec<&String> =
        facts.iter().filter(|fact| ["paused", "resumed"].contains(&fact.as_str())).collect();
    assert_eq!(order, ["paused", "resumed"]);
    bot.ends().await;
}

#[tokio::test]
async fn starting_again_and_again_ends_with_a_sentence() {
    let scene = Scene::on(ForgeKind::Local).await;
    let bot = scene.start().await;
    for _ in 0..8 {
        bot.told(MARIA, "/plan").await;
        bot.told(MARIA, "/cancel").await;
    }
    assert_eq!(scene.cards().len(), 6, "one card per run, and no more runs than that");
    assert!(scene.comments().iter().any(|body| body.contains("many runs on this thread within the hour")));
    bot.ends().await;
}

/// What a stranger said cannot be judged for now. Whoever wants the run to end need not wait for that.
#[tokio::test]
async fn a_cancel_overtakes_what_cannot_be_read() {
    let scene = Scene::on(ForgeKind::Github).await;
    let bot = scene.start_with(|ctx| ctx.patience_ms = 60_000).await;
    bot.assigned(MARIA).await;
    scene.fault(Method::GET, "tom/permission", Fault::Status(502), 1_000);
    for (by, words) in [(TOM, "/status"), (MARIA, "/pause"), (MARIA, "/cancel")] {
        let said = scene.said(by, words);
        assert_eq!(scene.post(&bot.base, &scene.webhook(&said)).await, 202);
    }
    scene.until_seen("the end", |scene| scene.facts().contains(&"cancelled".to_owned())).await;
    assert!(!scene.facts().contains(&"paused".to_owned()), "{:?}", scene.facts());
    bot.stops().await;
}

fn in_two_days() -> Millis {
    planwright::engine::now().plus(2 * 24 * 3_600_000)
}

/// What could not be dealt with for a day waits no longer, but it is not lost: `doctor` shows it.
#[tokio::test]
async fn a_delivery_that_is_given_up_is_set_aside_with_the_reason() {
    let scene = Scene::on(ForgeKind::Github).await;
    scene.fault(Method::GET, "maria/permission", Fault::Status(401), 1_000);
    let bot = scene.start().await;
    let plan = scene.webhook(&scene.said(MARIA, "/plan"));
    assert_eq!(scene.post(&bot.base, &plan).await, 202);
    scene
        .until_seen("the question", |scene| !scene.requests(&Method::GET, "maria/permission").is_empty())
        .await;
    bot.stops().await;
    let late = |ctx: &mut Ctx| (ctx.clock, ctx.patience_ms) = (in_two_days, 100);
    let bot = scene.start_with(late).await;
    let queue = async || bot.ctx.store.queue().await.unwrap();
    scene.until("it is set aside", async || queue().await.waiting == 0).await;
    let aside = queue().await.last_unreadable.unwrap();
    assert!(aside.why.starts_with("given up after a day: cannot look up"), "{}", aside.why);
    assert_eq!(queue().await.unreadable, 1);
    scene.heal();
    // Once the cause is mended, somebody has it sent again.
    assert_eq!(scene.post(&bot.base, &plan).await, 202);
    bot.quiet().await;
    assert_eq!(scene.facts().first().map(String::as_str), Some("triggered"));
    assert_eq!(queue().await.unreadable, 0);
    bot.ends().await;
}

/// She wants another plan, and then none at all; neither can be read at first. Her last word counts.
#[tokio::test]
async fn a_cancel_does_not_overtake_what_would_begin_a_run() {
    let scene = Scene::on(ForgeKind::Github).await;
    let bot = scene.start_with(|ctx| ctx.patience_ms = 300).await;
    bot.assigned(MARIA).await;
    // While the bot looks her up for the first word, the others come in, so that they are taken together.
    scene.fault(Method::GET, "maria/permission", Fault::Slow(Duration::from_secs(1)), 1);
    let issue = format!("/issues/{}", scene.thread.number);
    scene.fault(Method::GET, &issue, Fault::Status(502), 4);
    for words in ["/status", "/replan use tabs", "/cancel"] {
        let said = scene.said(MARIA, words);
        assert_eq!(scene.post(&bot.base, &scene.webhook(&said)).await, 202);
    }
    scene.until_seen("the end", |scene| scene.facts().contains(&"cancelled".to_owned())).await;
    bot.quiet().await;
    assert_eq!(scene.facts().iter().filter(|fact| *fact == "triggered").count(), 1, "{:?}", scene.facts());
    bot.stops().await;
}
