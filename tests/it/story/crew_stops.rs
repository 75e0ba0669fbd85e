//! Purpose: a crew that is interrupted: what has begun comes to a clear end, and nothing half-done is left lying about.

use std::path::{Path, PathBuf};
use std::time::Duration;

use http::Method;
use planwright::domain::{AccountId, ForgeKind};
use serde_json::{Value, json};

use super::acting::action;
use super::bot::{Bot, MARIA, Scene};
use super::crew::{actions, all_write, judged, path_of, steps, turn};
use super::escalation::{AUTO, difficulty, in_two_days, is_stuck};
use crate::fake_forge::Fault;

const FOUR: &str = "planning: { enabled: true }\napproval: { auto: medium }\ncrew: { workers: 4 }\n";

async fn post(bot: &Bot<'_>, by: AccountId, words: &str) {
    let said = bot.scene.said(by, words);
    assert_eq!(bot.scene.post(&bot.base, &bot.scene.webhook(&said)).await, 202);
}

/// All files and folders of this name below a folder.
fn all_called(name: &str, below: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(below) else { return vec![] };
    let mut found = vec![];
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.file_name().is_some_and(|called| called == name) {
            found.push(path.clone());
        }
        if path.is_dir() && !path.is_symlink() {
            found.extend(all_called(name, &path));
        }
    }
    found
}

/// The checkouts of workers that are on the disk.
fn checkouts(scene: &Scene) -> Vec<PathBuf> {
    let lanes = all_called("lanes", scene.dir.path());
    lanes
        .iter()
        .flat_map(|lanes| std::fs::read_dir(lanes).unwrap())
        .map(|entry| entry.unwrap().path())
        .collect()
}

/// It begins only when what the one before has made is on the forge, where it looks for it.
#[tokio::test]
async fn a_run_that_follows_at_once_goes_on_with_all_that_the_one_before_has_made() {
    let scene = Scene::on(ForgeKind::Github).await.settings(FOUR);
    steps(&scene, &[("one", &[]), ("two", &["one"])]);
    let create = |step: &str| action(step, "create", json!({"path": format!("{step}.md")}));
    actions(&scene, vec![create("one"), create("two")]);
    actions(&scene, vec![create("two")]);
    all_write(&scene);
    scene.repo.before_a_push("touch pushing\nsleep 2");
    let bot = scene.start().await;
    let event = scene.assigned(MARIA);
    assert_eq!(scene.post(&bot.base, &scene.webhook(&event)).await, 202);
    scene.until_seen("the push", |scene| scene.repo.bare.join("pushing").exists()).await;
    post(&bot, MARIA, "@planwright cancel").await;
    bot.told(MARIA, "@planwright retry").await;
    bot.stops().await;

    let facts = scene.facts();
    let at = |kind: &str| facts.iter().rposition(|fact| fact == kind);
    assert!(at("step_merged") > at("triggered"), "the second run has merged its own: {facts:?}");
    let first = |kind: &str| facts.iter().position(|fact| fact == kind);
    assert!(first("step_merged") < at("triggered"), "the first run's work was in before: {facts:?}");
    let branch = scene.repo.work_branch();
    for file in ["one.md", "two.md"] {
        assert!(scene.repo.read(&branch, file).is_some(), "{file}: {}", scene.card());
    }
    assert!(scene.card().contains("🚀 done"), "{}", scene.card());
}

/// The push is a part of the merge, and the server takes its time with it.
#[tokio::test]
async fn a_merge_that_has_begun_is_finished_and_counted_whatever_becomes_of_the_run() {
    for word in ["cancel", "pause"] {
        let scene = Scene::on(ForgeKind::Github).await.settings(FOUR);
        steps(&scene, &[("one", &[])]);
        actions(&scene, vec![action("one", "create", json!({"path": "one.md"}))]);
        all_write(&scene);
        scene.repo.before_a_push("touch pushing\nsleep 2");
        let bot = scene.start().await;
        let event = scene.assigned(MARIA);
        assert_eq!(scene.post(&bot.base, &scene.webhook(&event)).await, 202);
        scene.until_seen("the push", |scene| scene.repo.bare.join("pushing").exists()).await;
        bot.told(MARIA, &format!("@planwright {word}")).await;

        let merged = scene.entries("step_merged");
        assert_eq!((merged.len(), &merged[0]["pushed"]), (1, &json!(true)), "{word}: {:?}", scene.facts());
        let stopped = scene.entries(if word == "cancel" { "cancelled" } else { "paused" });
        assert!(stopped[0]["seq"].as_i64() < merged[0]["seq"].as_i64(), "{word} came while it was merged");
        assert_eq!(merged[0]["run"], stopped[0]["run"], "{word}");
        assert!(scene.card().contains("- [x] **one**"), "{word}: {}", scene.card());
        let branch = scene.repo.work_branch();
        assert!(scene.repo.read(&branch, "one.md").is_some(), "{word}");
        if word == "pause" {
            bot.told(MARIA, "@planwright resume").await;
            assert!(scene.card().contains("🚀 done"), "{}", scene.card());
            assert_eq!(scene.repo.messages(&branch).len(), 1, "nothing is there twice");
        }
        bot.ends().await;
    }
}

/// Where nothing is handed over the checkout stays, so that one can look into it.
#[tokio::test]
async fn what_a_stopped_command_has_half_written_is_thrown_away() {
    const HALF: [&str; 3] = ["sh", "-c", "echo half > half.txt; while :; do sleep 0.1; done"];
    let settings =
        format!("{AUTO}deliver: none\ntools: {{ commands: {{ half: {{ argv: {} }} }} }}\n", json!(HALF));
    let settings = settings.replace("workers: 2", "workers: 1");
    let scene = Scene::on(ForgeKind::Github).await.settings(&settings);
    steps(&scene, &[("base", &[]), ("half", &["base"])]);
    let base = action("base", "create", json!({"path": "whole.txt", "content": "whole\n"}));
    actions(&scene, vec![base, action("half", "run", json!({"command": HALF}))]);
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    post(&bot, MARIA, "/approve").await;
    let half = |scene: &Scene| all_called("half.txt", scene.dir.path());
    scene.until_seen("the command writes", |scene| !half(scene).is_empty()).await;
    bot.told(MARIA, "/cancel").await;
    assert_eq!(all_called("whole.txt", scene.dir.path()).len(), 1, "the checkout is there");
    assert_eq!(half(&scene), [] as [PathBuf; 0]);
    bot.ends().await;
}

/// One step is done again on the judge's word, another one waits for an answer: nobody has a checkout in use.
#[tokio::test]
async fn checkouts_of_tries_that_came_to_nothing_are_put_away() {
    let scene = Scene::on(ForgeKind::Github).await.settings(FOUR);
    steps(&scene, &[("one", &[]), ("hard", &[])]);
    let write = |step: &str| action(step, "create", json!({"path": format!("{step}.md")}));
    actions(&scene, vec![write("one"), write("hard")]);
    scene.model.always_say("worker_turn", |asked| match path_of(asked).as_str() {
        "hard.md" if !asked.user.contains("the first one") => difficulty("ambiguity", "escalate"),
        path => turn("write_file", json!({"path": path, "content": "x\n"})),
    });
    scene.model.say("judge_verdict", judged("continue", "Say more."));
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let attempts: Vec<Value> = scene
        .entries("step_assigned")
        .iter()
        .filter(|e| e["step"] == "one")
        .map(|e| e["attempt"].clone())
        .collect();
    assert_eq!(attempts, [1, 2]);
    assert_eq!(checkouts(&scene), [] as [PathBuf; 0]);
    bot.told(MARIA, "@planwright resolve 1 the first one").await;
    assert!(scene.card().contains("🚀 done"), "{}", scene.card());
    bot.ends().await;
}

/// A worker is stuck once the actions are approved; all that was to be said before has been said.
async fn asks_after_approval(kind: ForgeKind, crew: &str) -> Scene {
    let settings = AUTO.replace("auto: medium", "auto: low").replace("workers: 2", crew);
    let scene = Scene::on(kind).await.settings(&settings);
    is_stuck(&scene, "ambiguity", "the first one");
    scene
}

#[tokio::test]
async fn a_question_that_the_forge_does_not_take_holds_nothing_up_beyond_its_time() {
    for (kind, place) in [(ForgeKind::Github, "/comments"), (ForgeKind::Gitlab, "/discussions")] {
        for (fallback, then) in [("hold", "failed"), ("skip", "completed"), ("stop", "failed")] {
            let scene = asks_after_approval(kind, &format!("workers: 2, on_no_answer: {fallback}")).await;
            let bot = scene.start_with(|ctx| ctx.patience_ms = 300).await;
            bot.assigned(MARIA).await;
            scene.fault(Method::POST, place, Fault::Status(403), 1_000);
            bot.told(MARIA, "@planwright approve").await;
            let told = |scene: &Scene| scene.card().contains("does not take its comment");
            scene.until_seen("the card tells of it", told).await;
            let unposted = scene.entries("escalation_unposted");
            assert_eq!(unposted.len(), 1, "{kind} {fallback}: {:?}", scene.facts());
            assert!(unposted[0]["why"].as_str().unwrap().contains("403"), "{kind}: {unposted:?}");
            bot.stops().await;
            let late = |ctx: &mut planwright::engine::Ctx| {
                ctx.clock = in_two_days;
                ctx.patience_ms = 60_000;
            };
            let bot = scene.start_with(late).await;
            bot.quiet().await;
            assert_eq!(
                scene.entries("escalation_expired").len(),
                1,
                "{kind} {fallback}: {:?}",
                scene.facts()
            );
            let ended = scene.entries(then);
            assert_eq!(ended.len(), 1, "{kind} {fallback}: {:?}", scene.facts());
            if then == "failed" {
                let reason = ended[0]["reason"].as_str().unwrap();
                assert!(reason.contains("Question 1 could not be put on the thread"), "{kind}: {reason}");
            }
            bot.stops().await;
        }
    }
}

#[tokio::test]
async fn a_question_that_the_forge_does_not_take_can_be_answered_all_the_same() {
    let scene = asks_after_approval(ForgeKind::Github, "workers: 2").await;
    let bot = scene.start_with(|ctx| ctx.patience_ms = 60_000).await;
    bot.assigned(MARIA).await;
    scene.fault(Method::POST, "/comments", Fault::Status(403), 1_000);
    bot.told(MARIA, "@planwright approve").await;
    bot.told(MARIA, "Take your time.").await;
    assert!(!bot.ctx.store.has_pending(&scene.thread).await.unwrap(), "words are heard meanwhile");
    bot.told(MARIA, "@planwright resolve 1 the first one").await;
    assert_eq!(scene.entries("completed").len(), 1, "{:?}", scene.facts());
    bot.stops().await;
}

/// The forge shows the question at once and says so late.
#[tokio::test]
async fn a_question_that_is_settled_while_it_is_posted_says_so() {
    for word in ["cancel", "skip hard"] {
        let scene = asks_after_approval(ForgeKind::Github, "workers: 2").await;
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        scene.fault(Method::POST, "/comments", Fault::Slow(Duration::from_millis(1_500)), 1);
        post(&bot, MARIA, "@planwright approve").await;
        let question = |scene: &Scene| {
            scene
                .comments()
                .into_iter()
                .find(|body| body.contains("Two readings fit") && !body.contains("📋"))
        };
        scene.until_seen("the question", |scene| question(scene).is_some()).await;
        assert_eq!(scene.entries("escalation_posted").len(), 0, "{word}: it is not known yet");
        bot.told(MARIA, &format!("@planwright {word}")).await;
        let text = question(&scene).unwrap();
        assert!(text.contains("No answer needed any more"), "{word}: {text}");
        bot.ends().await;
    }
}
