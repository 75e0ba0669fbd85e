//! Purpose: `kill -9` of the real binary at the worst moments. Afterwards: one card, no lost delivery, a sound history.

use planwright::domain::ForgeKind;

use super::bot::{MARIA, Scene};
use crate::fake_forge::Fault;
use crate::scripted_model::Misbehaviour;

const FORGES: [ForgeKind; 2] = [ForgeKind::Github, ForgeKind::Gitlab];

async fn ready(scene: &Scene) {
    let is_ready = |scene: &Scene| scene.cards().iter().any(|card| card.contains("waiting for approval"));
    scene.until_seen("the card shows the plan", is_ready).await;
    scene
        .until_seen("the history is complete", |scene| {
            scene.facts().last().is_some_and(|f| f == "preview_posted")
        })
        .await;
    scene.card();
}

#[tokio::test]
async fn killed_right_after_the_202() {
    for kind in FORGES {
        let scene = Scene::on(kind).await;
        let bot = scene.spawn().await;
        let event = scene.assigned(MARIA);
        let delivery = scene.webhook(&event);
        assert_eq!(bot.post(&delivery).await, 202);
        bot.kill();
        let bot = scene.spawn().await;
        ready(&scene).await;
        assert_eq!(bot.post(&delivery).await, 200, "{kind}: the redelivery is known");
        scene.card();
        assert_eq!(scene.facts().iter().filter(|fact| *fact == "triggered").count(), 1, "{kind}");
    }
}

/// Nobody is assigned: only the stored deliveries know that somebody asked for a run, and then for a pause.
#[tokio::test]
async fn killed_right_after_words_that_no_sweep_can_find() {
    for kind in FORGES {
        let scene = Scene::on(kind).await;
        let bot = scene.spawn().await;
        let plan = scene.said(MARIA, "@planwright plan");
        let pause = scene.said(MARIA, "@planwright pause");
        for said in [&plan, &pause] {
            assert_eq!(bot.post(&scene.webhook(said)).await, 202);
        }
        bot.kill();
        let _bot = scene.spawn().await;
        scene.until_seen("both are heard", |scene| scene.facts().contains(&"paused".to_owned())).await;
        assert_eq!(scene.facts().first().unwrap(), "triggered", "{kind}");
    }
}

#[tokio::test]
async fn killed_while_the_model_thinks() {
    for kind in FORGES {
        let scene = Scene::on(kind).await;
        let bot = scene.spawn().await;
        // Fenced is a good answer too: the goal is understood, then the second question hangs.
        scene.model.misbehave(Misbehaviour::Fenced);
        scene.model.misbehave(Misbehaviour::Silent);
        let event = scene.assigned(MARIA);
        assert_eq!(bot.post(&scene.webhook(&event)).await, 202);
        scene.until_seen("the second question is asked", |scene| scene.model.requests().len() == 2).await;
        bot.kill();
        let _bot = scene.spawn().await;
        ready(&scene).await;
        let goals =
            scene.model.requests().iter().filter(|asked| asked.schema_name == "goal_understanding").count();
        assert_eq!(goals, 1, "{kind}: what was known was not asked again");
    }
}

#[tokio::test]
async fn killed_right_after_the_comment_was_posted() {
    for (kind, comments) in [(ForgeKind::Github, "/comments"), (ForgeKind::Gitlab, "/notes")] {
        let scene = Scene::on(kind).await;
        let bot = scene.spawn().await;
        // The comment is there, but the bot never learns so.
        scene.fault(http::Method::POST, comments, Fault::Timeout, 1);
        let event = scene.assigned(MARIA);
        assert_eq!(bot.post(&scene.webhook(&event)).await, 202);
        scene.until_seen("the card is posted", |scene| scene.cards().len() == 1).await;
        bot.kill();
        let _bot = scene.spawn().await;
        ready(&scene).await;
    }
}

/// Many times over, at whatever moment comes: the card is one, and the run gets there.
#[tokio::test]
async fn killed_again_and_again() {
    for kind in FORGES {
        let scene = Scene::on(kind).await;
        let event = scene.assigned(MARIA);
        let delivery = scene.webhook(&event);
        for round in 0..8_u64 {
            let bot = scene.spawn().await;
            assert!(matches!(bot.post(&delivery).await, 200 | 202));
            // Not a wait for something: the moment of death is meant to differ.
            tokio::time::sleep(std::time::Duration::from_millis(7 * round)).await;
            bot.kill();
        }
        let _bot = scene.spawn().await;
        ready(&scene).await;
        assert_eq!(scene.facts().iter().filter(|fact| *fact == "triggered").count(), 1, "{kind}");
    }
}
