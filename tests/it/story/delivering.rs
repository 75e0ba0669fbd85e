//! Purpose: how work is handed over: as the settings want it, to whom, and what is said when it cannot be.

use planwright::domain::ForgeKind;

use super::acting::{change_of, three_files};
use super::bot::{ALL, MARIA, Scene};

const BRANCH: &str = "planwright/1-check-tokens-at-login";

async fn delivering(kind: ForgeKind, deliver: &str) -> Scene {
    let scene = Scene::on(kind).await;
    three_files(&scene);
    scene.settings(&format!("planning: {{ enabled: true }}\ndeliver: {deliver}\n"))
}

#[tokio::test]
async fn work_can_be_handed_over_ready_for_review() {
    for kind in ALL {
        let scene = delivering(kind, "ready").await;
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        bot.told(MARIA, "@planwright approve").await;
        let change = change_of(&scene, BRANCH);
        assert!(change.open && !change.draft, "{kind}: {change:?}");
        let thread = change.thread;
        let reviewers =
            scene.world.look(|world| world.thread(&thread).unwrap().change.clone().unwrap().reviewers);
        assert_eq!(reviewers, [MARIA], "{kind}: who asked for it looks at it");
        bot.ends().await;
    }
}

#[tokio::test]
async fn work_can_be_left_on_its_branch() {
    let scene = delivering(ForgeKind::Github, "branch-only").await;
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    bot.told(MARIA, "/approve").await;
    let card = scene.card();
    assert!(card.contains(&format!("🚀 done, on the branch `{BRANCH}`")), "{card}");
    assert_eq!(scene.repo.messages(BRANCH).len(), 3);
    let project = &scene.thread.project;
    assert_eq!(scene.world.look(|world| world.change_requests_from(project, BRANCH)), []);
    bot.ends().await;
}

#[tokio::test]
async fn work_can_be_kept_and_the_card_does_not_say_that_it_was_pushed() {
    let scene = delivering(ForgeKind::Github, "none").await;
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    bot.told(MARIA, "/approve").await;
    let card = scene.card();
    assert!(card.contains("🚀 done. The settings have me hand nothing over"), "{card}");
    assert!(card.contains(&format!("the work stays in my checkout, 3 commits on `{BRANCH}`")), "{card}");
    assert_eq!(scene.repo.branches(), ["main"], "nothing is pushed");
    bot.ends().await;
}

/// Two actions are done when somebody ends the run: what was done is on the forge, and the card says where.
#[tokio::test]
async fn a_run_that_is_ended_after_some_work_leaves_it_where_the_card_says() {
    for (way, deliver) in [("cancel", "draft"), ("unassign", "draft"), ("cancel", "none")] {
        let scene = Scene::on(ForgeKind::Github)
            .await
            .settings(&format!("planning: {{ enabled: true }}\ndeliver: {deliver}\n"));
        scene.model.say("action_sequence", half_open());
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        scene.model.misbehave(crate::scripted_model::Misbehaviour::Silent);
        let approval = scene.said(MARIA, "/approve");
        assert_eq!(scene.post(&bot.base, &scene.webhook(&approval)).await, 202);
        scene.until_seen("the worker is asked", |scene| scene.model.requests().len() == 4).await;
        let me = scene.world.bot().id;
        let event = match way {
            "cancel" => scene.said(MARIA, "/cancel"),
            _ => scene.act(|world, thread, now| world.unassign(thread, me, MARIA, now)),
        };
        bot.hears(&event).await;
        let card = scene.card();
        if deliver == "none" {
            let kept = format!("kept (1 commit on `{BRANCH}`); I did not push all of it while I worked.");
            assert!(card.contains(&kept), "{card}");
            assert_eq!(scene.repo.branches(), ["main"]);
        } else {
            let kept = format!("The work so far is kept on the branch `{BRANCH}` (1 commit).");
            assert!(card.contains(&kept), "{way}: {card}");
            assert_eq!(scene.repo.read(BRANCH, "a.md").as_deref(), Some("a"), "{way}");
        }
        bot.stops().await;
    }
}

fn half_open() -> serde_json::Value {
    use serde_json::json;

    use super::acting::{action, sequence};
    sequence(vec![
        action("task_1", "create", json!({"path": "a.md", "content": "a"})),
        action("task_2", "write", json!({"path": "b.md"})),
        action("task_3", "create", json!({"path": "c.md", "content": "c"})),
    ])
}

#[tokio::test]
async fn a_refused_push_says_what_to_do_and_that_nothing_is_pushed() {
    let scene = delivering(ForgeKind::Github, "draft").await;
    scene.repo.refuse_pushes();
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    bot.told(MARIA, "/approve").await;
    let card = scene.card();
    assert!(card.contains("😕 failed.") && card.contains("protected"), "{card}");
    assert!(card.contains("I did not push all of it"), "{card}");
    assert_eq!(scene.repo.branches(), ["main"]);
    bot.ends().await;
}

/// Somebody else was faster on the branch: theirs stays, and people are told.
#[tokio::test]
async fn a_branch_that_somebody_else_moved_is_never_overwritten() {
    let scene = delivering(ForgeKind::Github, "draft").await;
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    scene.repo.commit(BRANCH, "Mine", &[("theirs.md", "theirs\n")]);
    bot.told(MARIA, "/approve").await;
    let card = scene.card();
    assert!(card.contains("Somebody else has pushed to my branch, and I never overwrite that."), "{card}");
    assert!(card.contains("I did not push all of it"), "{card}");
    assert_eq!(scene.repo.read(BRANCH, "theirs.md").as_deref(), Some("theirs\n"));
    assert_eq!(scene.repo.read(BRANCH, "notes/1.md"), None);
    bot.ends().await;
}
