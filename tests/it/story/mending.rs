//! Purpose: what the thread shows is put right: a card that somebody changed, and comments that stand there twice.

use std::time::Duration;

use http::Method;
use planwright::domain::{CommentId, ForgeKind};

use super::bot::{ALL, Bot, MARIA, Scene, TOM};
use crate::fake_forge::Fault;
use crate::scripted_model::Misbehaviour;

fn card_id(scene: &Scene) -> CommentId {
    scene.bot_comments().into_iter().find(|(_, body)| body.contains("Execution Plan")).unwrap().0
}

/// Somebody ticks a box on the card, as GitHub lets everybody who may write, and changes its words.
async fn somebody_touches(scene: &Scene, bot: &Bot<'_>) {
    let (id, forged) = (card_id(scene), scene.card().replace("- [ ] ", "- [x] ").replace("0%", "100%"));
    let edited = scene.act(|world, thread, now| world.edit_comment((thread, id), TOM, &forged, now));
    assert!(scene.card().contains("- [x] "), "nothing was forged: {}", scene.card());
    bot.hears(&edited).await;
}

#[tokio::test]
async fn a_card_that_somebody_ticked_is_drawn_again_from_the_record() {
    for kind in ALL {
        let scene = Scene::on(kind).await;
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        let before = (scene.card(), scene.facts());
        somebody_touches(&scene, &bot).await;
        assert_eq!((scene.card(), scene.facts()), before, "{kind}");
        bot.ends().await;
    }
}

/// The new card is on the forge, the answer that says so is not here yet: what happens to it now is in between.
async fn while_the_card_is_drawn(scene: &Scene, bot: &Bot<'_>) -> String {
    let card = format!("/issues/comments/{}", card_id(scene).0);
    scene.fault(Method::PATCH, &card, Fault::Slow(Duration::from_secs(2)), 1);
    let (before, pause) = (scene.card(), scene.said(MARIA, "/pause"));
    assert_eq!(scene.post(&bot.base, &scene.webhook(&pause)).await, 202);
    scene.until_seen("another card", |scene| scene.card() != before).await;
    scene.card()
}

#[tokio::test]
async fn a_card_that_is_changed_while_it_is_drawn_is_drawn_again() {
    let scene = Scene::on(ForgeKind::Github).await;
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let paused = while_the_card_is_drawn(&scene, &bot).await;
    somebody_touches(&scene, &bot).await;
    assert_eq!(scene.card(), paused);
    bot.ends().await;
}

#[tokio::test]
async fn a_card_that_is_deleted_while_it_is_drawn_is_drawn_again() {
    let scene = Scene::on(ForgeKind::Github).await;
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let paused = while_the_card_is_drawn(&scene, &bot).await;
    let id = card_id(&scene);
    bot.hears(&scene.act(|world, thread, now| world.delete_comment(thread, id, MARIA, now))).await;
    let cards = scene.bot_comments().into_iter().filter(|(_, body)| body.contains("Execution Plan"));
    assert_eq!((cards.count(), scene.card()), (1, paused));
    bot.ends().await;
}

/// The model thinks all the while, so that nothing else brings the bot to draw.
#[tokio::test]
async fn a_card_that_could_not_be_drawn_again_at_once_is_drawn_later() {
    let scene = Scene::on(ForgeKind::Github).await.patient();
    scene.model.misbehave(Misbehaviour::Slow(Duration::ZERO));
    scene.model.misbehave(Misbehaviour::Held);
    let bot = scene.start_with(|ctx| ctx.patience_ms = 300).await;
    assert_eq!(scene.post(&bot.base, &scene.webhook(&scene.assigned(MARIA))).await, 202);
    let decomposing =
        |scene: &Scene| scene.cards().iter().any(|card| card.contains("breaking the work into steps"));
    scene.until_seen("the card", decomposing).await;
    let (id, before) = (card_id(&scene), scene.card());
    scene.fault(Method::PATCH, &format!("/issues/comments/{}", id.0), Fault::Status(502), 6);
    let forged = format!("{before} and a free lunch");
    let edited = scene.act(|world, thread, now| world.edit_comment((thread, id), TOM, &forged, now));
    assert_eq!(scene.post(&bot.base, &scene.webhook(&edited)).await, 202);
    scene.until_seen("the card as it was", |scene| scene.card() == before).await;
    scene.model.release();
    bot.quiet().await;
    bot.ends().await;
}

/// Another program may be at it, and would keep the two of them busy for ever.
#[tokio::test]
async fn a_card_that_is_deleted_again_and_again_waits_for_something_new() {
    let scene = Scene::on(ForgeKind::Github).await;
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let before = scene.card();
    for left in (0..6).rev() {
        let id = card_id(&scene);
        bot.hears(&scene.act(|world, thread, now| world.delete_comment(thread, id, TOM, now))).await;
        let cards = if left > 0 { vec![before.clone()] } else { vec![] };
        assert_eq!(scene.cards(), cards, "{left} left");
    }
    bot.told(MARIA, "/pause").await;
    assert!(scene.card().contains("paused"), "{}", scene.card());
    bot.ends().await;
}

#[tokio::test]
async fn the_card_of_a_run_that_has_ended_stays_true_as_well() {
    let scene = Scene::on(ForgeKind::Github).await;
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    bot.told(MARIA, "/cancel").await;
    let before = scene.card();
    somebody_touches(&scene, &bot).await;
    assert_eq!(scene.card(), before);
    bot.ends().await;
}

/// A reply that was posted twice where there is no run, and the card of a run that is over.
#[tokio::test]
async fn twins_are_folded_where_nothing_is_under_way() {
    for kind in ALL {
        for words in [&["@planwright help"][..], &["@planwright plan", "@planwright cancel"]] {
            let scene = Scene::on(kind).await;
            let bot = scene.start().await;
            for words in words {
                bot.told(MARIA, words).await;
            }
            bot.ends().await;
            let before = scene.bot_comments();
            let me = scene.world.bot().id;
            let (_, body) = before.first().unwrap();
            scene.act(|world, thread, now| world.comment(thread, me, body, now));
            assert_eq!(scene.bot_comments().len(), before.len() + 1);
            let bot = scene.start_with(|ctx| ctx.sweep_every = Duration::from_millis(100)).await;
            scene.until_seen("no twin", |scene| scene.bot_comments() == before).await;
            let swept = *bot.ctx.swept.borrow();
            bot.ctx.swept.subscribe().wait_for(|sweeps| *sweeps > swept).await.unwrap();
            bot.quiet().await;
            assert_eq!(scene.bot_comments(), before, "{kind}");
            bot.ends().await;
        }
    }
}
