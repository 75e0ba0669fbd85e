//! Purpose: what must not confuse the bot: copies, wrong order, strangers, a forge and a model that fail.

use planwright::domain::{Account, AccountId, AccountKind, Event, EventKind, ForgeKind, Permission};
use planwright::forge::World;

use super::bot::{ALL, MARIA, Scene};
use crate::fake_forge::Fault;
use crate::scripted_model::Misbehaviour;

#[tokio::test]
async fn the_same_delivery_five_times_is_one_event() {
    for kind in ALL {
        let scene = Scene::on(kind).await;
        let bot = scene.start().await;
        let event = scene.assigned(MARIA);
        let delivery = scene.webhook(&event);
        let mut answers = vec![];
        for _ in 0..5 {
            answers.push(scene.post(&bot.base, &delivery).await);
        }
        assert_eq!(answers, [202, 200, 200, 200, 200], "{kind}");
        bot.quiet().await;
        scene.card();
        bot.ends().await;
    }
}

/// Assigned and unassigned arrive in the wrong order: what holds is what the forge says now.
#[tokio::test]
async fn deliveries_out_of_order_end_where_the_forge_is() {
    for kind in ALL {
        let scene = Scene::on(kind).await;
        let me = scene.world.bot().id;
        let assigned = scene.assigned(MARIA);
        let unassigned = scene.act(|world, thread, now| world.unassign(thread, me, MARIA, now));
        let bot = scene.start().await;
        bot.hears(&unassigned).await;
        bot.hears(&assigned).await;
        assert!(
            scene.comments().is_empty() && scene.facts().is_empty(),
            "{kind}: it is not assigned any more"
        );

        let again = scene.assigned(MARIA);
        bot.hears(&again).await;
        bot.hears(&unassigned).await;
        assert!(scene.card().contains("waiting for approval"), "{kind}: the old unassignment does not count");
        bot.ends().await;
    }
}

/// Whatever right they have: GitHub's and GitLab's hooks name them, and only by that are they known.
#[tokio::test]
async fn ghosts_bots_and_the_bot_itself_start_nothing() {
    for kind in ALL {
        let scene = Scene::on(kind).await;
        let bot = scene.start().await;
        let ghost = Account { id: AccountId(10_137), login: "ghost".to_owned(), kind: AccountKind::Ghost };
        // GitLab says of nobody that it is a bot; those that it makes itself have a name of this form.
        let login = if kind == ForgeKind::Gitlab { "project_70_bot_1f" } else { "dependabot" };
        let other_bot = Account { id: AccountId(50), login: login.to_owned(), kind: AccountKind::Bot };
        let myself = scene.world.bot().clone();
        for strange in [&ghost, &other_bot] {
            let furnish = |world: &mut World| {
                world.add_account(strange.clone());
                world.set_member(&scene.thread.project, strange.id, Permission::Admin)
            };
            scene.world.with(furnish).unwrap().unwrap();
        }
        let by_maria = scene.assigned(MARIA);
        for actor in [ghost, other_bot, myself.clone()] {
            let happened = EventKind::Assigned { assignee: myself.clone() };
            bot.hears(&Event { thread: scene.thread.clone(), actor, at: None, kind: happened }).await;
        }
        assert!(scene.facts().is_empty() && scene.comments().is_empty(), "{kind}: {:?}", scene.facts());
        // It was not the thread: the same event by a person starts a run.
        bot.hears(&by_maria).await;
        assert!(scene.card().contains("waiting for approval"), "{kind}: {}", scene.card());
        bot.ends().await;
    }
}

/// Whatever the forge answers to the card's POST, there is one card in the end.
#[tokio::test]
async fn a_failing_forge_gets_one_card_in_the_end() {
    for (kind, comments) in [(ForgeKind::Github, "/comments"), (ForgeKind::Gitlab, "/notes")] {
        for fault in [
            Fault::Status(401),
            Fault::Status(403),
            Fault::Status(404),
            Fault::Status(422),
            Fault::Status(502),
            Fault::RateLimit { retry_after: Some(1) },
            Fault::ResetAfterBody,
            Fault::Garbage,
        ] {
            let scene = Scene::on(kind).await;
            let bot = scene.start_with(|ctx| ctx.patience_ms = 200).await;
            scene.fault(http::Method::POST, comments, fault.clone(), 1);
            bot.assigned(MARIA).await;
            let is_ready =
                |scene: &Scene| scene.cards().iter().any(|card| card.contains("waiting for approval"));
            scene.until_seen(&format!("one card after {fault:?} on {kind}"), is_ready).await;
            bot.quiet().await;
            scene.card();
            bot.ends().await;
        }
    }
}

/// The permission cannot be looked up: nothing starts, nothing is lost; when it can be again, the run starts.
#[tokio::test]
async fn a_permission_that_cannot_be_looked_up_starts_nothing_and_loses_nothing() {
    for (kind, path) in [(ForgeKind::Github, "/permission"), (ForgeKind::Gitlab, "/members")] {
        let scene = Scene::on(kind).await;
        let bot = scene.start_with(|ctx| ctx.patience_ms = 300).await;
        scene.fault(http::Method::GET, path, Fault::Status(502), 4);
        let event = scene.assigned(MARIA);
        assert_eq!(scene.post(&bot.base, &scene.webhook(&event)).await, 202);
        scene.until_seen("the run starts after all", |scene| scene.cards().len() == 1).await;
        bot.quiet().await;
        assert_eq!(scene.facts().iter().filter(|fact| *fact == "triggered").count(), 1);
        bot.ends().await;
    }
}

#[tokio::test]
async fn a_broken_model_ends_with_a_plain_sentence() {
    for (how, times, says) in [
        (Misbehaviour::Nonsense, 2, "gave no usable answer"),
        (Misbehaviour::Empty, 2, "gave no usable answer"),
        (Misbehaviour::Huge(100 << 20), 1, "sent far too much"),
        (Misbehaviour::CutOff, 1, "was cut off"),
        (Misbehaviour::Status(401, "no".to_owned()), 1, "refused our key"),
    ] {
        let scene = Scene::on(ForgeKind::Github).await;
        let bot = scene.start().await;
        for _ in 0..times {
            scene.model.misbehave(how.clone());
        }
        bot.assigned(MARIA).await;
        let card = scene.card();
        assert!(card.contains(says) && card.contains("Assign me again"), "{how:?}: {card}");
        assert!(!card.contains("sk-very-secret"), "{card}");
        bot.ends().await;
    }
}

/// The time-out of the model is two seconds here; three calls are made before the run waits.
#[tokio::test]
async fn a_silent_model_is_given_up_and_asked_again_later() {
    let scene = Scene::on(ForgeKind::Github).await;
    scene.model.always_misbehave(Some(Misbehaviour::Silent));
    let bot = scene.start_with(|ctx| ctx.policy.retry_after_ms = vec![1_500; 3]).await;
    bot.assigned(MARIA).await;
    assert!(scene.card().contains("did not answer in time"), "{}", scene.card());
    let asked = scene.model.requests().len();
    scene.model.always_misbehave(None);
    let waits = |scene: &Scene| scene.card().contains("waiting for approval");
    scene.until_seen("the model is asked again by itself", waits).await;
    assert!(scene.model.requests().len() > asked);
    assert!(!scene.card().contains("did not answer in time"), "{}", scene.card());
    assert!(!scene.entries("ask_failed").is_empty() && scene.entries("goal_understood").len() == 1);
    bot.ends().await;
}

/// A model that writes commands, mentions and hidden text into its plan gets them shown as text.
#[tokio::test]
async fn a_hostile_plan_is_harmless_on_the_card() {
    let scene = Scene::on(ForgeKind::Gitlab).await;
    let bot = scene.start().await;
    let text = "/close @everyone fixes #1 <!-- hidden --> ![x](http://evil.invalid/?q)";
    scene.model.say(
        "goal_understanding",
        serde_json::json!({"main_objective": text, "success_criteria": [], "constraints": [], "context": "", "design_choices_open": false}),
    );
    bot.assigned(MARIA).await;
    let card = scene.card();
    assert!(
        !card.contains("@everyone")
            && !card.contains("#1")
            && !card.contains("<!--")
            && !card.contains("![x]("),
        "{card}"
    );
    assert!(!card.lines().any(|line| line.starts_with('/')), "{card}");
    bot.ends().await;
}
