//! Purpose: pause, resume, cancel, unassign, unlabel, close: what people do, the run honours.

use planwright::domain::{ForgeKind, Reaction};
use serde_json::json;

use super::acting::{action, sequence};
use super::bot::{ALL, MARIA, Scene};
use super::replan::{AUTO, asked_worker, file, worker_is_held, writes};
use crate::scripted_model::Misbehaviour;

#[tokio::test]
async fn pause_and_resume_show_on_the_card() {
    for kind in ALL {
        let scene = Scene::on(kind).await;
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        bot.told(MARIA, "@planwright pause").await;
        assert!(scene.card().contains("⏸ paused by @maria"), "{kind}: {}", scene.card());
        bot.told(MARIA, "@planwright pause").await;
        assert!(scene.comments().last().unwrap().starts_with("I am paused already"), "{kind}");
        bot.told(MARIA, "@planwright resume").await;
        assert!(scene.card().contains("waiting for approval"), "{kind}: {}", scene.card());
        bot.ends().await;
    }
}

#[tokio::test]
async fn every_way_to_stop_stops() {
    for kind in ALL {
        for way in ["unassign", "close", "cancel"] {
            let scene = Scene::on(kind).await;
            let bot = scene.start().await;
            bot.assigned(MARIA).await;
            let me = scene.world.bot().id;
            let (event, says) = match way {
                "unassign" => (
                    scene.act(|world, thread, now| world.unassign(thread, me, MARIA, now)),
                    "took me off this",
                ),
                "close" => {
                    (scene.act(|world, thread, now| world.close(thread, MARIA, now)), "@maria closed this")
                }
                _ => (scene.said(MARIA, "@planwright cancel"), "cancelled by @maria"),
            };
            bot.hears(&event).await;
            assert!(scene.card().contains(says), "{kind} {way}: {}", scene.card());
            assert!(scene.faces(None).is_empty(), "{kind} {way}: 👀 is still there");
            bot.ends().await;
        }
    }
}

#[tokio::test]
async fn a_run_started_by_a_label_ends_with_the_label_and_not_with_an_assignment() {
    let scene = Scene::on(ForgeKind::Github).await;
    let bot = scene.start().await;
    let me = scene.world.bot().id;
    bot.hears(&scene.act(|world, thread, now| world.label(thread, "planwright", MARIA, now))).await;
    scene.assigned(MARIA);
    bot.hears(&scene.act(|world, thread, now| world.unassign(thread, me, MARIA, now))).await;
    assert!(scene.card().contains("waiting for approval"));
    bot.hears(&scene.act(|world, thread, now| world.unlabel(thread, "planwright", MARIA, now))).await;
    assert!(scene.card().contains("removed my label"), "{}", scene.card());
    bot.ends().await;
}

#[tokio::test]
async fn the_pause_label_holds_for_as_long_as_it_is_on() {
    let scene = Scene::on(ForgeKind::Gitlab).await;
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    bot.hears(&scene.act(|world, thread, now| world.label(thread, "planwright:paused", MARIA, now))).await;
    assert!(scene.card().contains("paused by @maria"));
    bot.hears(&scene.act(|world, thread, now| world.unlabel(thread, "planwright:paused", MARIA, now))).await;
    assert!(scene.card().contains("waiting for approval"));
    bot.ends().await;
}

/// The model thinks, the person leaves: the call is dropped and its answer never used.
#[tokio::test]
async fn a_stop_while_the_model_thinks_drops_the_call() {
    let scene = Scene::on(ForgeKind::Github).await;
    let bot = scene.start().await;
    scene.model.misbehave(Misbehaviour::Silent);
    let event = scene.assigned(MARIA);
    assert_eq!(scene.post(&bot.base, &scene.webhook(&event)).await, 202);
    scene.until_seen("the model is asked", |scene| !scene.model.requests().is_empty()).await;
    bot.told(MARIA, "/cancel").await;
    assert!(scene.card().contains("cancelled by @maria"), "{}", scene.card());
    assert_eq!(scene.facts(), ["triggered", "ask_begun", "cancelled"]);
    assert_eq!(scene.model.requests().len(), 1);
    bot.stops().await;
}

/// A pause lets the call finish, and asks nothing after it.
#[tokio::test]
async fn a_pause_while_the_model_thinks_keeps_its_answer() {
    let scene = Scene::on(ForgeKind::Github).await;
    let bot = scene.start().await;
    scene.model.misbehave(Misbehaviour::Slow(std::time::Duration::from_millis(600)));
    let event = scene.assigned(MARIA);
    assert_eq!(scene.post(&bot.base, &scene.webhook(&event)).await, 202);
    scene.until_seen("the model is asked", |scene| !scene.model.requests().is_empty()).await;
    bot.told(MARIA, "/pause").await;
    assert_eq!(scene.facts(), ["triggered", "ask_begun", "paused", "goal_understood"]);
    bot.told(MARIA, "/resume").await;
    assert!(scene.card().contains("waiting for approval"), "{}", scene.card());
    assert_eq!(scene.model.requests().len(), 3, "the goal was asked for once");
    bot.ends().await;
}

/// Between two turns of one action: what the worker asked for waits, and is done once.
#[tokio::test]
async fn a_pause_between_two_turns_of_a_worker_holds_there() {
    let scene = Scene::on(ForgeKind::Github).await.settings(AUTO).patient();
    let open = action("task_1", "write", json!({"path": "notes/1.md"}));
    scene.model.say("action_sequence", sequence(vec![open, file("task_2", "2"), file("task_3", "3")]));
    scene.model.say(
        "worker_turn",
        json!({
            "thought": "t", "tool": "read_file", "path": "README.md", "content": null, "name": null,
            "arguments_json": null, "command": [], "feedback": {"kind": "exploration", "summary": "", "details": []},
        }),
    );
    writes(&scene, "notes/1.md");
    let bot = scene.start().await;
    worker_is_held(&scene);
    assert_eq!(scene.post(&bot.base, &scene.webhook(&scene.assigned(MARIA))).await, 202);
    scene.until_seen("the worker is asked", |scene| asked_worker(scene) == 1).await;
    let pause = scene.said(MARIA, "/pause");
    assert_eq!(scene.post(&bot.base, &scene.webhook(&pause)).await, 202);
    scene.until_seen("it is heard", |scene| scene.entries("paused").len() == 1).await;
    scene.model.release();
    bot.quiet().await;
    assert!(scene.card().contains("⏸ paused by @maria"), "{}", scene.card());
    assert_eq!(scene.entries("worked").len(), 1, "the turn that was under way is kept");
    assert_eq!((scene.entries("used").len(), asked_worker(&scene)), (0, 1), "nothing further happened");
    assert_eq!(scene.repo.branches(), ["main"]);

    bot.told(MARIA, "/resume").await;
    assert!(scene.card().contains("🚀 done"), "{}", scene.card());
    assert_eq!((scene.entries("used").len(), asked_worker(&scene)), (1, 2), "nothing was done twice");
    assert_eq!(scene.entries("action_begun").len(), 3);
    let branch = scene.repo.work_branch();
    assert_eq!(scene.repo.read(&branch, "notes/1.md").as_deref(), Some("done\n"));
    assert_eq!(scene.repo.messages(&branch).len(), 3, "one commit for each action");
    bot.ends().await;
}

#[tokio::test]
async fn a_run_that_ended_can_be_followed_by_another() {
    let scene = Scene::on(ForgeKind::Github).await;
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    bot.told(MARIA, "/cancel").await;
    bot.told(MARIA, "/plan").await;
    let cards = scene.cards();
    assert_eq!(cards.len(), 2, "one card per run");
    assert!(cards[0].contains("cancelled") && cards[1].contains("waiting for approval"), "{cards:#?}");
    bot.ends().await;
}

#[tokio::test]
async fn a_model_that_fails_for_good_fails_the_run_with_a_next_step() {
    let scene = Scene::on(ForgeKind::Github).await;
    let bot = scene.start().await;
    scene.model.say("goal_understanding", json!({"nonsense": true}));
    scene.model.say("goal_understanding", json!({"nonsense": true}));
    bot.assigned(MARIA).await;
    let card = scene.card();
    let (before, run) = card.split_once("under run `").unwrap();
    assert!(uuid::Uuid::parse_str(run.split('`').next().unwrap()).is_ok(), "{card}");
    insta::assert_snapshot!(before, @"
    ## 📋 Execution Plan

    **Status**: 😕 failed. The language model gave no usable answer, even when asked a second time. Describing the task in other words may help. Assign me again or comment `/plan` to start anew. · 2 of 200 model calls

    <sub>What happened is in the history of this thread,
    ");
    assert_eq!(scene.faces(None), [Reaction::Confused]);
    bot.ends().await;
}
