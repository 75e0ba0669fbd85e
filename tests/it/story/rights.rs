//! Purpose: an approval lives as long as the right of whoever gave it.

use std::sync::atomic::{AtomicI64, Ordering};

use planwright::domain::{Account, AccountId, Millis, Permission};
use serde_json::{Value, json};

use super::acting::{action, change_of, sequence, three_files};
use super::bot::{ALL, FACES, MARIA, Scene};

const ANA: AccountId = AccountId(4);

/// A second person who may write.
fn with_ana(scene: &Scene) {
    let project = scene.thread.project.clone();
    let added = scene.world.with(|world| {
        world.add_account(Account::person(ANA.0, "ana"));
        world.set_member(&project, ANA, Permission::Write)
    });
    added.unwrap().unwrap();
}

fn set_right(scene: &Scene, who: AccountId, level: Permission) {
    let project = scene.thread.project.clone();
    scene.world.with(|world| world.set_member(&project, who, level)).unwrap().unwrap();
}

fn begun(scene: &Scene) -> Vec<Value> {
    scene.entries("action_begun").into_iter().map(|entry| entry["action"].clone()).collect()
}

#[tokio::test]
async fn what_was_approved_by_somebody_who_may_no_longer_is_put_up_again() {
    for kind in ALL {
        let scene = Scene::on(kind).await;
        with_ana(&scene);
        three_files(&scene);
        let bot = scene.start().await;
        bot.assigned(ANA).await;
        bot.told(ANA, "@planwright pause").await;
        bot.told(MARIA, "@planwright approve").await;
        assert_eq!(scene.entries("approved").len(), 1, "{kind}");
        set_right(&scene, MARIA, Permission::Read);
        bot.told(ANA, "@planwright resume").await;
        assert_eq!(begun(&scene).len(), 0, "{kind}: {:?}", scene.facts());
        let voided = scene.entries("approval_voided");
        assert_eq!(voided.len(), 1, "{kind}");
        assert_eq!((&voided[0]["by"]["login"], &voided[0]["permission"]), (&json!("maria"), &json!("read")));
        let (_, preview) = scene.previews().pop().unwrap();
        assert!(preview.starts_with("## 🔎 Approval 2 "), "{kind}: {preview}");
        assert!(
            preview.contains("What changed since the approval: @\u{200b}maria may no longer approve"),
            "{preview}"
        );
        assert!(!scene.card().contains("approved by"), "{kind}: {}", scene.card());
        bot.told(MARIA, "@planwright approve").await;
        assert_eq!(scene.entries("approved").len(), 1, "{kind}: she may not");
        bot.told(ANA, "@planwright approve").await;
        assert!(scene.card().contains("🚀 done"), "{kind}: {}", scene.card());
        assert_eq!(begun(&scene), ["a1", "a2", "a3"], "{kind}");
        let change = change_of(&scene, &scene.repo.work_branch());
        assert!(change.body.contains("ana") && !change.body.contains("maria"), "{kind}: {}", change.body);
        bot.ends().await;
    }
}

/// Of two who approved, one may no longer: that one is replaced, the other's word still counts.
#[tokio::test]
async fn another_persons_approval_stays() {
    for kind in FACES {
        let scene = Scene::on(kind).await;
        let scene = scene.settings("planning: { enabled: true }\napproval: { count: 2 }\n");
        with_ana(&scene);
        let project = scene.thread.project.clone();
        scene
            .world
            .with(|world| {
                world.add_account(Account::person(5, "joao"));
                world.set_member(&project, AccountId(5), Permission::Write)
            })
            .unwrap()
            .unwrap();
        scene.model.say(
            "action_sequence",
            json!({"execution_order": ["task_1"], "actions": [action("task_1", "delete", json!({"path": "README.md"}))]}),
        );
        let bot = scene.start().await;
        bot.assigned(ANA).await;
        bot.told(ANA, "@planwright pause").await;
        bot.told(MARIA, "@planwright approve").await;
        bot.told(ANA, "@planwright approve").await;
        set_right(&scene, MARIA, Permission::Triage);
        bot.told(ANA, "@planwright resume").await;
        let deletion = scene.entries("approval_requested")[0]["wanted"][0]["id"].clone();
        assert_eq!(scene.entries("approval_voided").len(), 1, "{kind}: {:?}", scene.facts());
        assert!(!begun(&scene).contains(&deletion), "{kind}");
        bot.told(AccountId(5), "@planwright approve").await;
        assert!(begun(&scene).contains(&deletion), "{kind}: two people stand behind it again");
        bot.stops().await;
    }
}

static OFFSET_MS: AtomicI64 = AtomicI64::new(0);

fn clock() -> Millis {
    planwright::engine::now().plus(OFFSET_MS.load(Ordering::SeqCst))
}

/// The work is done, and could not be pushed yet. By the time it can, whoever approved it may no longer.
#[tokio::test]
async fn what_is_done_does_not_leave_the_machine_without_an_approval_that_holds() {
    for kind in ALL {
        OFFSET_MS.store(0, Ordering::SeqCst);
        let scene = Scene::on(kind).await;
        with_ana(&scene);
        three_files(&scene);
        scene.repo.refuse_pushes();
        let (world, project, repo) = (scene.world.clone(), scene.thread.project.clone(), scene.repo.clone());
        scene.model.always_say("final_evaluation", move |_| {
            repo.allow_pushes();
            OFFSET_MS.fetch_add(120_000, Ordering::SeqCst);
            world.with(|world| world.set_member(&project, MARIA, Permission::Read)).unwrap().unwrap();
            json!({
                "replan_needed": false, "replan_type": "none", "confidence": 0.9, "reasoning": "It is done.",
                "evaluation_result": "success", "achievement_rate": 100, "issues_identified": [],
                "additional_actions": [], "revision_scope": null,
            })
        });
        let bot = scene.start_with(|ctx| ctx.clock = clock).await;
        bot.assigned(ANA).await;
        bot.told(MARIA, "@planwright approve").await;
        assert_eq!(begun(&scene).len(), 3, "{kind}: {:?}", scene.facts());
        assert_eq!(scene.repo.branches(), ["main"], "{kind}: nothing has left");
        assert_eq!(scene.entries("approval_voided").len(), 1, "{kind}: {:?}", scene.facts());
        let (_, preview) = scene.previews().pop().unwrap();
        assert!(
            preview.contains("may no longer approve") && preview.contains("It is done already"),
            "{preview}"
        );
        assert!(scene.card().contains("waiting for approval of 3 actions"), "{kind}: {}", scene.card());
        bot.told(ANA, "@planwright approve").await;
        assert!(scene.card().contains("🚀 done"), "{kind}: {}", scene.card());
        assert_eq!(begun(&scene).len(), 3, "{kind}: nothing is done twice");
        assert_eq!(scene.repo.messages(&scene.repo.work_branch()).len(), 3, "{kind}");
        bot.ends().await;
    }
}

/// Between two turns of a worker the right is taken away: the change is not made.
#[tokio::test]
async fn a_worker_does_not_get_to_its_change() {
    static LATER_MS: AtomicI64 = AtomicI64::new(0);
    fn later() -> Millis {
        planwright::engine::now().plus(LATER_MS.load(Ordering::SeqCst))
    }
    for kind in FACES {
        LATER_MS.store(0, Ordering::SeqCst);
        let scene = Scene::on(kind).await;
        with_ana(&scene);
        scene.model.say(
            "action_sequence",
            sequence(vec![
                action("task_1", "write", json!({"path": "src/login.rs"})),
                action("task_2", "analyze", json!({})),
                action("task_3", "analyze", json!({})),
            ]),
        );
        let (world, project) = (scene.world.clone(), scene.thread.project.clone());
        scene.model.always_say("worker_turn", move |_| {
            LATER_MS.fetch_add(61_000, Ordering::SeqCst);
            world.with(|world| world.set_member(&project, MARIA, Permission::Read)).unwrap().unwrap();
            super::crew::turn("write_file", json!({"path": "src/login.rs", "content": "fn login() {}\n"}))
        });
        let bot = scene.start_with(|ctx| ctx.clock = later).await;
        bot.assigned(ANA).await;
        bot.told(MARIA, "@planwright approve").await;
        assert_eq!(scene.entries("action_ended").len(), 0, "{kind}: {:?}", scene.facts());
        assert_eq!(scene.repo.branches(), ["main"], "{kind}: nothing was written");
        assert_eq!(scene.previews().len(), 2, "{kind}");
        bot.told(ANA, "@planwright cancel").await;
        bot.stops().await;
    }
}
