//! Purpose: downtime costs delay, not events: what happened while the bot was away is found by the sweep.

use std::sync::Arc;

use planwright::domain::{EventKind, ForgeKind};
use planwright::engine::Ctx;
use planwright::planning::Policy;

use super::bot::{ALL, MARIA, Scene, TOM};
use crate::scripted_model::Misbehaviour;

#[tokio::test]
async fn an_assignment_that_nobody_told_us_about_is_found() {
    for kind in ALL {
        let scene = Scene::on(kind).await;
        scene.assigned(MARIA);
        let bot = scene.start().await;
        scene.until_seen("the sweep finds the assignment", |scene| scene.cards().len() == 1).await;
        bot.quiet().await;
        assert!(scene.card().contains("waiting for approval"), "{kind}");
        bot.ends().await;
        // Another start finds nothing new.
        let bot = scene.start().await;
        bot.quiet().await;
        scene.card();
        bot.ends().await;
    }
}

/// The usual label, and one that a rule names for some repositories.
#[tokio::test]
async fn a_label_that_nobody_told_us_about_is_found_if_its_giver_had_the_right() {
    let rule = "repos: [{ match: '**', triggers: { label: robot }, planning: { enabled: true } }]";
    for kind in ALL {
        for (settings, label) in [("planning: { enabled: true }", "planwright"), (rule, "robot")] {
            let scene = Scene::on(kind).await.settings(settings);
            scene.act(|world, thread, now| world.label(thread, label, MARIA, now));
            let bot = scene.start().await;
            scene.until_seen("the sweep finds the label", |scene| scene.cards().len() == 1).await;
            bot.ends().await;
        }
    }
}

#[tokio::test]
async fn an_assignment_by_somebody_without_the_right_is_found_and_refused_once() {
    let scene = Scene::on(ForgeKind::Github).await;
    scene.assigned(TOM);
    for _ in 0..2 {
        let bot = scene.start().await;
        scene.until_seen("the refusal", |scene| scene.comments().len() == 1).await;
        bot.quiet().await;
        bot.ends().await;
    }
    assert_eq!(scene.facts(), ["refused", "replied"]);
}

#[tokio::test]
async fn stops_and_comments_during_downtime_are_found() {
    for kind in ALL {
        let scene = Scene::on(kind).await;
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        bot.ends().await;
        scene.said(MARIA, "@planwright pause");
        let bot = scene.start().await;
        scene.until_seen("the pause", |scene| scene.card().contains("paused by @maria")).await;
        bot.ends().await;
        let me = scene.world.bot().id;
        scene.act(|world, thread, now| world.unassign(thread, me, MARIA, now));
        let bot = scene.start().await;
        scene.until_seen("the stop", |scene| scene.card().contains("stopped")).await;
        bot.ends().await;
    }
}

/// Whoever may edit comments could put `/approve` into somebody else's mouth while nobody listens.
#[tokio::test]
async fn a_comment_that_was_edited_during_downtime_is_no_command() {
    for kind in ALL {
        let scene = Scene::on(kind).await;
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        assert!(scene.card().contains("waiting for approval"), "{kind}: {}", scene.card());
        bot.ends().await;
        let said = scene.said(MARIA, "I will look at it tomorrow.");
        let EventKind::CommentCreated { comment } = said.kind else { unreachable!() };
        let later = planwright::engine::now().plus(1_000);
        let edit = |world: &mut planwright::forge::World, thread: &_, _| {
            world.edit_comment((thread, comment.id), TOM, "@planwright approve", later)
        };
        scene.act(edit);
        let bot = scene.start().await;
        scene.until_seen("it is heard", |scene| scene.entries("comment_arrived").len() == 1).await;
        bot.quiet().await;
        let by_people: Vec<_> =
            scene.entries("approved").into_iter().filter(|e| e["actor"] == "user").collect();
        assert!(by_people.is_empty(), "{kind}: {by_people:?}");
        assert!(scene.card().contains("waiting for approval"), "{kind}: {}", scene.card());
        bot.told(MARIA, "@planwright approve").await;
        assert!(scene.card().contains("🚀 done"), "{kind}: {}", scene.card());
        bot.ends().await;
    }
}

/// The webhook comes late, after the sweep has found the same thing: one event, one effect.
#[tokio::test]
async fn the_sweep_and_the_late_webhook_are_one_event() {
    for kind in ALL {
        let scene = Scene::on(kind).await;
        let assigned = scene.assigned(MARIA);
        let bot = scene.start().await;
        scene.until_seen("the sweep finds the assignment", |scene| scene.cards().len() == 1).await;
        let paused = scene.said(MARIA, "@planwright pause");
        bot.hears(&assigned).await;
        bot.hears(&paused).await;
        bot.hears(&scene.said(MARIA, "@planwright resume")).await;
        bot.hears(&paused).await;
        assert!(scene.card().contains("waiting for approval"), "{kind}: {}", scene.card());
        bot.ends().await;
    }
}

/// A model that is away for a moment costs a moment: the run waits by a timer, which fires after a restart as well.
#[tokio::test]
async fn a_passing_failure_is_tried_again_by_a_timer_that_survives_a_restart() {
    let scene = Scene::on(ForgeKind::Github).await;
    scene.model.always_misbehave(Some(Misbehaviour::Status(503, "away".to_owned())));
    let soon = |ctx: &mut Ctx| ctx.policy = Policy { retry_after_ms: vec![3_000; 20], ..Policy::default() };
    let bot = scene.start_with(soon).await;
    bot.assigned(MARIA).await;
    assert!(scene.card().contains("I will try again by myself"), "{}", scene.card());
    let timers = bot.ctx.store.timers(&scene.thread).await.unwrap();
    assert_eq!(timers.len(), 1, "the wait is a timer");
    bot.stops().await;
    scene.model.always_misbehave(None);
    let bot = scene.start_with(soon).await;
    scene.until_seen("the plan", |scene| scene.card().contains("waiting for approval")).await;
    assert!(scene.facts().contains(&"timer_fired".to_owned()));
    bot.ends().await;
}

#[tokio::test]
async fn a_model_that_stays_away_fails_the_run_in_the_end() {
    let scene = Scene::on(ForgeKind::Github).await;
    scene.model.always_misbehave(Some(Misbehaviour::Status(503, "away".to_owned())));
    let bot = scene
        .start_with(|ctx| ctx.policy = Policy { retry_after_ms: vec![10, 10], ..Policy::default() })
        .await;
    bot.hears(&scene.assigned(MARIA)).await;
    scene.until_seen("the end", |scene| scene.cards().iter().any(|card| card.contains("😕 failed"))).await;
    assert_eq!(scene.facts().iter().filter(|fact| *fact == "ask_failed").count(), 3);
    bot.stops().await;
}

#[tokio::test]
async fn a_graceful_stop_loses_nothing() {
    let scene = Scene::on(ForgeKind::Gitlab).await;
    scene.model.misbehave(Misbehaviour::Silent);
    let bot = scene.start().await;
    let event = scene.assigned(MARIA);
    assert_eq!(scene.post(&bot.base, &scene.webhook(&event)).await, 202);
    scene.until_seen("the model is asked", |scene| !scene.model.requests().is_empty()).await;
    bot.stops().await;
    let bot = scene.start().await;
    scene
        .until_seen("the plan", |scene| {
            scene.cards().iter().any(|card| card.contains("waiting for approval"))
        })
        .await;
    let ctx = Arc::clone(&bot.ctx);
    bot.ends().await;
    assert!(ctx.shutdown.is_cancelled());
}

/// Somebody or a power cut spoilt the history while the bot was away: it says so, and nothing is thrown away.
#[tokio::test]
async fn a_damaged_history_is_reported_and_mended_at_the_start() {
    let scene = Scene::on(ForgeKind::Github).await;
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    bot.ends().await;
    let facts = scene.facts();
    let sound = std::fs::read(scene.history()).unwrap();
    std::fs::write(scene.history(), [sound.as_slice(), b"{\"v\":1,\"to"].concat()).unwrap();

    let bot = scene.spawn().await;
    scene.until_seen("the report", |scene| scene.log().contains("was damaged")).await;
    let line = format!("line {} is torn", facts.len() + 1);
    assert!(scene.log().contains(&line) && scene.log().contains(".jsonl.damaged-"), "{}", scene.log());
    scene.until_seen("the mended file", |scene| scene.facts() == facts).await;
    bot.kill();
}
