//! Purpose: what no webhook told: what people did while the bot was down is found by the first sweep, and what was lost
//! while it was up by the next.

use std::time::Duration;

use planwright::domain::{CommentId, ForgeKind};
use serde_json::json;

use super::acting::three_files;
use super::bot::{ALL, Bot, MARIA, Scene};
use super::design::decisions;
use super::talk::{asked, clear, tick, two_questions, unclear};

/// The bot goes away, Maria ticks, and nobody tells; it comes back.
async fn ticked_away<'a>(scene: &'a Scene, bot: Bot<'a>, id: CommentId, body: &str) -> Bot<'a> {
    bot.stops().await;
    tick(scene, MARIA, id, body);
    let bot = scene.start().await;
    bot.quiet().await;
    bot
}

fn told_of_boxes(scene: &Scene) -> Vec<String> {
    scene.comments().into_iter().filter(|words| words.contains("were changed while I was away")).collect()
}

#[tokio::test]
async fn ticks_in_questions_do_not_count_and_people_are_told_how_to_go_on() {
    for kind in [ForgeKind::Github, ForgeKind::Gitlab] {
        let scene = Scene::on(kind).await;
        scene.model.say("goal_understanding", unclear(two_questions()));
        scene.model.say("goal_understanding", clear());
        three_files(&scene);
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        let (id, body) = asked(&scene);
        let ticked = body.replacen("- [ ] api", "- [x] api", 1);
        let bot = ticked_away(&scene, bot, id, &ticked).await;
        assert_eq!(scene.entries("answered").len(), 0, "{kind}: nobody knows who ticked");
        assert_eq!(
            told_of_boxes(&scene),
            [
                "Boxes in my questions were changed while I was away. I cannot know by whom, so they do not count. Answer \
              in a comment, like `1. …`, or untick and tick them again."
            ],
            "{kind}"
        );
        bot.stops().await;
        let bot = scene.start().await;
        bot.quiet().await;
        assert_eq!(told_of_boxes(&scene).len(), 1, "{kind}: it is said once");

        // What was ticked by nobody in particular does not speak in the name of whoever ticks next.
        let more = ticked.replacen("- [ ] web", "- [x] web", 1);
        bot.hears(&tick(&scene, MARIA, id, &body)).await;
        assert_eq!(scene.entries("answered").len(), 0, "{kind}");
        bot.hears(&tick(&scene, MARIA, id, &more)).await;
        assert_eq!(scene.entries("answered")[0]["answers"][0]["answer"], "web; api", "{kind}: tick again");
        bot.told(MARIA, "2. ours").await;
        assert!(scene.card().contains("waiting for approval"), "{kind}: {}", scene.card());
        bot.ends().await;
    }
}

#[tokio::test]
async fn ticks_in_a_preview_do_not_count_either() {
    for kind in [ForgeKind::Github, ForgeKind::Gitlab] {
        let scene = Scene::on(kind).await;
        three_files(&scene);
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        let (id, body) = scene.previews().remove(0);
        let ticked = body.replacen("- [ ] **1**", "- [x] **1**", 1);
        assert_ne!(ticked, body, "{kind}");
        let bot = ticked_away(&scene, bot, id, &ticked).await;
        let told = told_of_boxes(&scene);
        assert!(
            told.len() == 1 && told[0].starts_with("Boxes in the preview were changed"),
            "{kind}: {told:?}"
        );
        bot.told(MARIA, "@planwright approve ticked").await;
        let last = scene.comments().pop().unwrap();
        assert!(last.contains("nothing is left of what you approved"), "{kind}: {last}");
        assert!(scene.entries("action_begun").is_empty() && told_of_boxes(&scene).len() == 1, "{kind}");
        bot.told(MARIA, "@planwright approve").await;
        assert!(scene.card().contains("🚀 done"), "{kind}: {}", scene.card());
        bot.ends().await;
    }
}

#[tokio::test]
async fn ticks_in_decisions_do_not_count_either() {
    let settings = "planning: { enabled: true, interactive: always }\n";
    let scene = Scene::on(ForgeKind::Gitlab).await.settings(settings);
    scene.model.say("discovery_questions", json!({"questions": []}));
    scene.model.say("design_decisions", decisions());
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let (id, body) = scene.bot_comments().into_iter().find(|(_, body)| body.starts_with("## 🧭")).unwrap();
    let bot = ticked_away(&scene, bot, id, &body.replacen("- [ ] **opt-a**", "- [x] **opt-a**", 1)).await;
    let told = told_of_boxes(&scene);
    assert!(told.len() == 1 && told[0].contains("`@planwright choose d-1"), "{told:?}");
    assert_eq!(scene.entries("chosen").len(), 0);
    bot.told(MARIA, "@planwright choose d-1 opt-a because it is simple").await;
    assert_eq!(scene.entries("chosen").len(), 1);
    bot.stops().await;
}

/// The forge gives up on a delivery, and the server never stops: each finding waits for no more than the next sweep.
#[tokio::test]
async fn deliveries_that_were_lost_while_the_bot_is_up_are_found_by_the_next_sweep() {
    for kind in ALL {
        let scene = Scene::on(kind).await;
        three_files(&scene);
        let bot = scene.start_with(|ctx| ctx.sweep_every = Duration::from_millis(200)).await;
        let before = *bot.ctx.swept.borrow();
        scene.assigned(MARIA);
        let waits = |scene: &Scene| scene.cards().iter().any(|card| card.contains("waiting for approval"));
        scene.until_seen(&format!("the assignment on {kind} is found"), waits).await;
        assert!(*bot.ctx.swept.borrow() > before, "{kind}: it was another sweep than the first");
        assert_eq!(scene.entries("triggered").len(), 1, "{kind}: it is found once");

        scene.said(MARIA, "@planwright cancel");
        let ended = |scene: &Scene| !scene.entries("cancelled").is_empty();
        scene.until_seen(&format!("the comment on {kind} is found"), ended).await;
        let now = *bot.ctx.swept.borrow();
        bot.ctx.swept.subscribe().wait_for(|sweeps| *sweeps > now + 1).await.unwrap();
        bot.quiet().await;
        assert_eq!(scene.entries("cancelled").len(), 1, "{kind}: later sweeps have nothing to add");
        assert_eq!(scene.entries("triggered").len(), 1, "{kind}: what was cancelled stays so");
        bot.ends().await;
    }
}
