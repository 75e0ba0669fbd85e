//! Purpose: interactive planning in the thread: questions, choices, a design that people accept, and the plan from it.

use planwright::domain::{CommentId, ForgeKind};
use serde_json::{Value, json};

use super::acting::three_files;
use super::bot::{MARIA, Scene, TOM};
use super::talk::clear;

const ALWAYS: &str = "planning: { enabled: true, interactive: always }\n";

pub(crate) fn questions() -> Value {
    json!({"questions": [
        {"id": "q-1", "type": "scope", "question": "Which logins?", "context": "", "options": ["web", "api"], "assumption": null},
        {"id": "q-2", "type": "priority", "question": "What comes first?", "context": "", "options": [], "assumption": null},
    ]})
}

pub(crate) fn decisions() -> Value {
    let option = |id: &str, name: &str, best: bool| {
        json!({"id": id, "name": name, "description": format!("{name} it is"),
               "tradeoffs": {"pros": ["simple"], "cons": ["slow"]}, "recommendation": best})
    };
    json!({"decisions": [
        {"id": "d-1", "topic": "Where to check", "options": [option("opt-a", "Middleware", true), option("opt-b", "Handler", false)]},
        {"id": "d-2", "topic": "How to store", "options": [option("opt-a", "Memory", false), option("opt-b", "Disk", true)]},
    ]})
}

fn script(scene: &Scene) {
    scene.model.say("discovery_questions", questions());
    scene.model.say("design_decisions", decisions());
    scene.model.say("design_summary", json!({"summary": "A check in the middleware."}));
}

fn starting(scene: &Scene, with: &str) -> (CommentId, String) {
    let mut all = scene.bot_comments();
    all.retain(|(_, body)| body.starts_with(with));
    all.pop().unwrap_or_else(|| panic!("no comment begins with {with}: {:?}", scene.comments()))
}

#[tokio::test]
async fn a_design_is_worked_out_with_people_and_shapes_the_plan() {
    for kind in [ForgeKind::Github, ForgeKind::Gitlab] {
        let scene = Scene::on(kind).await.settings(ALWAYS);
        script(&scene);
        three_files(&scene);
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        assert!(starting(&scene, "## ❓").1.contains("What comes first?"), "{kind}");
        bot.told(MARIA, "1. a\n2. safety").await;
        let (id, body) = starting(&scene, "## 🧭 Design Decisions");
        assert!(body.contains("Middleware") && body.contains("| simple"), "{kind}: {body}");
        bot.told(MARIA, "@planwright choose d-1 opt-b because we log there").await;
        assert_eq!(scene.entries("design_summarised").len(), 0, "{kind}: one decision is open");
        let ticked = tick_in(&body, "How to store", "opt-b");
        bot.hears(&scene.act(|world, thread, now| world.edit_comment((thread, id), MARIA, &ticked, now)))
            .await;
        let review = starting(&scene, "## 🧭 Design Summary").1;
        assert!(review.contains("A check in the middleware"), "{kind}: {review}");
        assert_eq!(scene.entries("decomposed").len(), 0, "{kind}: the design is not accepted yet");
        bot.told(MARIA, "@planwright approve").await;

        let asked =
            scene.model.requests().into_iter().find(|a| a.schema_name == "task_decomposition").unwrap();
        for part in [
            "Original Instruction:",
            "- Which logins?\n  Answer: web",
            "- Where to check: Handler\n  Reason: we log there",
            "- How to store: Disk\n  Reason: N/A",
            "## Design Summary\nA check in the middleware.",
        ] {
            assert!(asked.user.contains(part), "{kind}: {part} is missing in {}", asked.user);
        }
        assert!(!asked.user.contains("What comes first?\n  Answer"), "{kind}: priorities are in the summary");
        let card = scene.card();
        assert!(card.contains("waiting for approval of 3 actions"), "{kind}: {card}");
        assert!(card.contains("Where to check → **opt-b** Handler"), "{kind}: {card}");
        let review = starting(&scene, "## 🧭 Design Summary").1;
        assert!(review.contains("**Answered**: @maria accepted this design."), "{kind}: {review}");
        assert_eq!(scene.entries("approved").len(), 0, "{kind}: accepting a design authorises nothing");
        bot.ends().await;
    }
}

fn tick_in(body: &str, section: &str, option: &str) -> String {
    let at = body.find(section).unwrap();
    let (before, after) = body.split_at(at);
    let ticked = after.replacen(&format!("- [ ] **{option}**"), &format!("- [x] **{option}**"), 1);
    assert_ne!(ticked, after, "there is no box for {option} in {body}");
    format!("{before}{ticked}")
}

#[tokio::test]
async fn a_design_that_is_turned_down_three_times_ends_the_run() {
    let scene = Scene::on(ForgeKind::Github).await.settings(ALWAYS);
    scene.model.say("discovery_questions", json!({"questions": []}));
    for turn in 0..3 {
        scene.model.say("design_decisions", json!({"decisions": []}));
        scene.model.say("design_summary", json!({"summary": format!("Design {turn}.")}));
    }
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    for turn in 0..3 {
        assert!(starting(&scene, "## 🧭 Design Summary").1.contains(&format!("Design {turn}.")));
        bot.told(TOM, "/reject I may not").await;
        bot.told(MARIA, &format!("/reject not like this {turn}")).await;
    }
    assert_eq!(scene.entries("design_rejected").len(), 3);
    let reviews = scene.comments().into_iter().filter(|body| body.starts_with("## 🧭 Design Summary"));
    for (turn, review) in reviews.enumerate() {
        let end = format!("**Answered**: @maria turned this design down: not like this {turn}");
        assert!(review.contains(&format!("Design {turn}.")) && review.ends_with(&end), "{review}");
    }
    assert_eq!(scene.entries("cancelled").len(), 1);
    let asked: Vec<_> =
        scene.model.requests().into_iter().filter(|a| a.schema_name == "design_decisions").collect();
    assert!(asked[2].user.contains("not like this 1"), "{}", asked[2].user);
    bot.ends().await;
}

#[tokio::test]
async fn a_missing_summary_goes_back_to_the_design() {
    let scene = Scene::on(ForgeKind::Github).await.settings(ALWAYS);
    scene.model.say("discovery_questions", json!({"questions": []}));
    scene.model.say("design_decisions", json!({"decisions": []}));
    scene.model.say("design_decisions", json!({"decisions": []}));
    scene.model.say("design_summary", json!({"summary": "  "}));
    scene.model.say("design_summary", json!({"summary": " "}));
    scene.model.say("design_summary", json!({"summary": "Now there is one."}));
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    assert!(starting(&scene, "## 🧭 Design Summary").1.contains("Now there is one."));
    bot.stops().await;
}

#[tokio::test]
async fn choices_that_were_never_put_up_and_two_ticks_choose_nothing() {
    let scene = Scene::on(ForgeKind::Github).await.settings(ALWAYS);
    scene.model.say("discovery_questions", json!({"questions": []}));
    scene.model.say("design_decisions", decisions());
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    bot.told(MARIA, "/choose d-1 opt-z because").await;
    assert!(scene.comments().last().unwrap().contains("opt-a"), "{:?}", scene.comments().last());
    bot.told(TOM, "/choose d-1 opt-a because I say so").await;
    let (id, body) = starting(&scene, "## 🧭 Design Decisions");
    let both = tick_in(&tick_in(&body, "Where to check", "opt-a"), "Where to check", "opt-b");
    bot.hears(&scene.act(|world, thread, now| world.edit_comment((thread, id), MARIA, &both, now))).await;
    assert_eq!(scene.entries("chosen").len(), 0, "{:?}", scene.facts());
    let said = scene.comments().last().unwrap().clone();
    assert!(said.contains("more than one option of `d-1` is ticked, so I took none"), "{said}");
    bot.ends().await;
}

#[tokio::test]
async fn open_choices_start_the_design_and_never_means_never() {
    for (interactive, asks) in [("auto", true), ("never", false)] {
        let settings = format!("planning: {{ enabled: true, interactive: {interactive} }}\n");
        let scene = Scene::on(ForgeKind::Github).await.settings(&settings);
        let mut goal = clear();
        goal["design_choices_open"] = json!(true);
        scene.model.say("goal_understanding", goal);
        if asks {
            scene.model.say("discovery_questions", questions());
        }
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        assert_eq!(scene.entries("questions_asked").len(), usize::from(asks), "{interactive}");
        bot.ends().await;
    }
}
