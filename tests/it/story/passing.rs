//! Purpose: trouble that passes while an action is at work: what is safe to do again is tried again, what has run is not.

use planwright::domain::ForgeKind;
use planwright::engine::Ctx;
use planwright::planning::Policy;
use planwright::tools::git::{Settings, Workspaces};
use serde_json::{Value, json};

use super::acting::{action, sequence};
use super::bot::{Bot, MARIA, Scene};
use super::failpoints::sql;
use crate::git::script_at;

const BUILD: [&str; 3] = ["sh", "-c", "echo built >> out.txt"];

async fn scene(actions: Vec<Value>) -> Scene {
    let settings = format!(
        "planning: {{ enabled: true }}\ntools: {{ commands: {{ build: {{ argv: {} }} }} }}\n",
        json!(BUILD)
    );
    let scene = Scene::on(ForgeKind::Github).await.settings(&settings);
    scene.model.say("action_sequence", sequence(actions));
    scene
}

/// With a git that finds the disk full once, when it is about to write the commit after `fill` was called.
async fn start(scene: &Scene) -> Bot<'_> {
    let dir = scene.dir.path();
    let real = Settings::default().search_path.into_string().unwrap();
    let script = format!(
        "case \" $* \" in *' fast-import '*) if rm '{}' 2>/dev/null; then cat >/dev/null; \
         echo 'fatal: write error: No space left on device' >&2; exit 128; fi;; esac\n\
         PATH='{real}'; exec git \"$@\"",
        dir.join("full").display()
    );
    script_at(&dir.join("bin/git"), &script);
    let search_path = format!("{}:{real}", dir.join("bin").display()).into();
    let work = dir.join("work");
    scene
        .start_with(move |ctx: &mut Ctx| {
            ctx.policy = Policy { retry_after_ms: vec![0], ..Policy::default() };
            let settings = Settings { search_path, ..Settings::default() };
            ctx.hands.workspaces = Workspaces::with_settings(&work, settings);
        })
        .await
}

fn fill(scene: &Scene) {
    std::fs::write(scene.dir.path().join("full"), "").unwrap();
}

fn counts(scene: &Scene) -> [usize; 4] {
    ["action_begun", "effect_failed", "action_interrupted", "action_ended"]
        .map(|kind| scene.entries(kind).len())
}

#[tokio::test]
async fn a_change_of_files_is_tried_again_when_the_disk_was_full() {
    for kind in ["create", "delete"] {
        let spec = match kind {
            "create" => json!({"path": "notes/1.md", "content": "note 1\n"}),
            _ => json!({"path": "src/login.rs"}),
        };
        let scene = scene(vec![
            action("task_1", kind, spec),
            action("task_2", "analyze", json!({})),
            action("task_3", "analyze", json!({})),
        ])
        .await;
        let bot = start(&scene).await;
        bot.assigned(MARIA).await;
        fill(&scene);
        bot.told(MARIA, "/approve").await;
        assert!(scene.card().contains("🚀 done"), "{kind}: {}", scene.card());
        assert_eq!(counts(&scene), [3, 1, 0, 3], "{kind}: {:?}", scene.facts());
        let branch = scene.repo.work_branch();
        assert_eq!(scene.repo.messages(&branch).len(), 1, "{kind}");
        assert_eq!(scene.repo.read(&branch, "notes/1.md").is_some(), kind == "create");
        assert_eq!(scene.repo.read(&branch, "src/login.rs").is_some(), kind == "create");
        bot.ends().await;
    }
}

/// The worker has said what to write; it is not asked again.
#[tokio::test]
async fn what_a_worker_writes_is_tried_again_too() {
    let scene = scene(vec![
        action("task_1", "write", json!({"path": "notes/1.md"})),
        action("task_2", "analyze", json!({})),
        action("task_3", "analyze", json!({})),
    ])
    .await;
    scene.model.say("worker_turn", super::others::writes("notes/1.md", "note 1\n"));
    let bot = start(&scene).await;
    bot.assigned(MARIA).await;
    fill(&scene);
    bot.told(MARIA, "/approve").await;
    assert!(scene.card().contains("🚀 done"), "{}", scene.card());
    assert_eq!(counts(&scene), [3, 1, 0, 3], "{:?}", scene.facts());
    assert_eq!(scene.repo.read(&scene.repo.work_branch(), "notes/1.md").as_deref(), Some("note 1\n"));
    bot.ends().await;
}

/// A disk that stays full ends the run, which says why.
#[tokio::test]
async fn trouble_that_does_not_pass_ends_the_run_in_the_end() {
    let note = json!({"path": "notes/1.md", "content": "note 1\n"});
    let scene = scene(vec![
        action("task_1", "create", note),
        action("task_2", "analyze", json!({})),
        action("task_3", "analyze", json!({})),
    ])
    .await;
    let bot = start(&scene).await;
    bot.assigned(MARIA).await;
    // What cannot be removed stays in the way.
    std::fs::create_dir(scene.dir.path().join("full")).unwrap();
    let script = scene.dir.path().join("bin/git");
    let text = std::fs::read_to_string(&script).unwrap().replace("if rm ", "if test -d ");
    std::fs::write(&script, text).unwrap();
    bot.told(MARIA, "/approve").await;
    assert!(scene.card().contains("😕 failed. My disk is full."), "{}", scene.card());
    // The last one says that nothing more is tried.
    assert_eq!(counts(&scene), [1, 3, 0, 0], "{:?}", scene.facts());
    bot.ends().await;
}

/// It ran, and what came of it is lost: only a person can say that it shall run again.
#[tokio::test]
async fn a_command_whose_work_cannot_be_kept_is_asked_about() {
    let scene = scene(vec![
        action("task_1", "run", json!({"command": BUILD})),
        action("task_2", "analyze", json!({})),
        action("task_3", "analyze", json!({})),
    ])
    .await;
    let bot = start(&scene).await;
    bot.assigned(MARIA).await;
    fill(&scene);
    bot.told(MARIA, "/approve").await;
    assert!(scene.card().contains("⏸ action 1 was interrupted"), "{}", scene.card());
    assert_eq!(counts(&scene), [1, 0, 1, 0], "{:?}", scene.facts());
    assert_eq!(scene.repo.branches(), ["main"]);
    bot.told(MARIA, "/resume").await;
    assert!(scene.card().contains("🚀 done"), "{}", scene.card());
    assert_eq!(counts(&scene), [4, 0, 1, 3], "{:?}", scene.facts());
    assert_eq!(scene.repo.read(&scene.repo.work_branch(), "out.txt").as_deref(), Some("built\n"));
    bot.ends().await;
}

/// The commit names the action, and only what ended well is committed: nobody has to be asked.
#[tokio::test]
async fn a_command_that_was_committed_before_the_crash_needs_no_answer() {
    let scene = scene(vec![
        action("task_1", "run", json!({"command": BUILD})),
        action("task_2", "analyze", json!({})),
        action("task_3", "analyze", json!({})),
    ])
    .await;
    let bot = scene.spawn().await;
    assert_eq!(bot.post(&scene.webhook(&scene.assigned(MARIA))).await, 202);
    scene.until_seen("the preview", |scene| scene.entries("preview_posted").len() == 1).await;
    let trigger = "CREATE TRIGGER failpoint AFTER INSERT ON journal WHEN NEW.kind = 'action_ended' \
                   BEGIN SELECT RAISE(ABORT, 'the failpoint'); END";
    sql(&scene, trigger).await;
    assert_eq!(bot.post(&scene.webhook(&scene.said(MARIA, "/approve"))).await, 202);
    scene.until_seen("the end cannot be written", |scene| scene.log().contains("the failpoint")).await;
    bot.kill();
    sql(&scene, "DROP TRIGGER failpoint").await;
    let _bot = scene.spawn().await;
    scene.until_seen("the end", |scene| scene.card().contains("🚀 done")).await;
    assert_eq!(counts(&scene), [3, 0, 0, 3], "{:?}", scene.facts());
    let evidence = scene.entries("action_ended")[0]["evidence"].clone();
    assert!(evidence["exit_code"] == 0 && evidence["commit"].is_string(), "{evidence}");
    let branch = scene.repo.work_branch();
    assert_eq!(scene.repo.read(&branch, "out.txt").as_deref(), Some("built\n"), "it ran once");
    assert_eq!(scene.repo.messages(&branch).len(), 1);
}
