//! Purpose: plans that change: how sure the model has to be, how far it goes back, what is kept, and where it ends.

use std::time::Duration;

use planwright::domain::ForgeKind;
use planwright::render::Voice;
use serde_json::{Value, json};

use super::acting::{action, sequence};
use super::bot::{FACES, MARIA, Scene};
use super::talk::decision;
use crate::scripted_model::Misbehaviour;

pub(crate) const AUTO: &str = "planning: { enabled: true }\napproval: { auto: medium }\n";

pub(crate) fn file(task: &str, name: &str) -> Value {
    action(task, "create", json!({"path": format!("notes/{name}.md"), "content": format!("{name}\n")}))
}

/// How a command is called in what the bot writes on this forge.
pub(crate) fn called(scene: &Scene, words: &str) -> String {
    let forge = scene.thread.project.forge;
    Voice { forge, bot_login: scene.world.bot().login.clone() }.command(words)
}

/// The second action fails: the worker says that it cannot.
pub(crate) fn failing(scene: &Scene) {
    let open = action("task_2", "write", json!({"path": "notes/2.md"}));
    scene.model.say("action_sequence", sequence(vec![file("task_1", "1"), open, file("task_3", "3")]));
}

pub(crate) fn difficulty(scene: &Scene) {
    scene.model.say(
        "worker_turn",
        json!({
            "thought": "t", "tool": "finish", "path": null, "content": null, "name": null, "arguments_json": null,
            "command": [], "feedback": {"type": "implementation", "result": "failed", "changes": [], "notes": "The library is gone."},
        }),
    );
}

pub(crate) fn writes(scene: &Scene, path: &str) {
    scene.model.say(
        "worker_turn",
        json!({
            "thought": "t", "tool": "write_file", "path": path, "content": "done\n", "name": null,
            "arguments_json": null, "command": [], "feedback": {"type": "implementation", "result": "success", "changes": [], "notes": ""},
        }),
    );
}

/// Looking back, with a decision.
pub(crate) fn reflects(scene: &Scene, given: Value) {
    scene.model.say(
        "reflection",
        json!({
            "action_id": "a2", "status": "failure", "evaluation": "It did not work.", "alignment_with_plan": "none",
            "issues_identified": ["the library is gone"], "plan_revision_needed": false,
            "replan_decision": decision(given),
        }),
    );
}

pub(crate) fn revision(steps: &[(&str, &str)], actions: Vec<Value>) -> Value {
    let subtask = |(id, description): &(&str, &str)| {
        json!({"id": id, "description": description, "dependencies": [], "estimated_complexity": "low",
               "required_tools": [], "rests_on": []})
    };
    let order: Vec<&str> = steps.iter().map(|(id, _)| *id).collect();
    json!({"subtasks": steps.iter().map(subtask).collect::<Vec<_>>(), "execution_order": order, "actions": actions})
}

pub(crate) fn outcomes(scene: &Scene) -> Vec<String> {
    let of = |entry: &Value| {
        format!("{} {}", entry["action"].as_str().unwrap(), entry["outcome"]["result"].as_str().unwrap())
    };
    scene.entries("action_ended").iter().map(of).collect()
}

#[tokio::test]
async fn a_failed_action_is_tried_again_and_that_is_no_news() {
    let scene = Scene::on(ForgeKind::Github).await.settings(AUTO);
    failing(&scene);
    difficulty(&scene);
    reflects(
        &scene,
        json!({"replan_needed": true, "replan_type": "retry", "replan_level": 1, "error_classification": "transient"}),
    );
    writes(&scene, "notes/2.md");
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    assert!(scene.card().contains("🚀 done"), "{}", scene.card());
    assert_eq!(outcomes(&scene), ["a1 succeeded", "a2 failed", "a2 succeeded", "a3 succeeded"]);
    let decided = scene.entries("replan_decision");
    let retry = decided.iter().find(|entry| entry["executed"] == true).unwrap();
    assert_eq!(retry["llm_decision"]["error_classification"], "transient");
    assert_eq!(scene.bot_comments().len(), 1, "a retry is no comment: {:?}", scene.comments());
    bot.ends().await;
}

/// What the settings allow is used up before the step has failed three times: the model knows no other way, and people
/// say how to go on.
#[tokio::test]
async fn a_failed_action_is_tried_again_only_so_often() {
    for kind in [ForgeKind::Github, ForgeKind::Gitlab] {
        let scene = Scene::on(kind).await.settings(
            "planning: { enabled: true, replanning: { execution: { max_action_retries: 1 } } }\napproval: { auto: medium }\n",
        );
        failing(&scene);
        for _ in 0..2 {
            difficulty(&scene);
            reflects(&scene, json!({"replan_needed": true, "replan_type": "retry", "replan_level": 1}));
        }
        scene.model.say("alternative_approach", json!({"way": "nothing", "reasoning": "-"}));
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        assert_eq!(outcomes(&scene), ["a1 succeeded", "a2 failed", "a2 failed"], "{kind}");
        let last = scene.entries("replan_decision").pop().unwrap();
        assert_eq!(last["verdict"]["limit"], "action_retries", "{kind}: {last}");
        let card = scene.card();
        assert!(
            card.contains("the action has been tried again as often as the settings allow"),
            "{kind}: {card}"
        );
        bot.told(MARIA, "@planwright skip task_2").await;
        assert!(scene.card().contains("🚀 done"), "{kind}: {}", scene.card());
        bot.ends().await;
    }
}

#[tokio::test]
async fn the_rest_is_planned_anew_what_is_done_is_sealed_and_only_the_difference_is_put_up() {
    for kind in [ForgeKind::Github, ForgeKind::Gitlab] {
        let scene = Scene::on(kind).await;
        failing(&scene);
        difficulty(&scene);
        reflects(
            &scene,
            json!({
                "replan_needed": true, "confidence": 0.85, "replan_type": "partial_replan", "replan_level": 2,
                "reasoning": "Another library is needed.", "issues_found": ["the library is gone"],
                "recommended_actions": ["use the other one"], "recovery_strategy": "take another library",
            }),
        );
        scene.model.say(
            "plan_revision",
            revision(
                &[("task_2b", "Use the other library"), ("task_3", "Run the tests")],
                vec![file("task_2b", "other"), file("task_3", "3")],
            ),
        );
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        bot.told(MARIA, "@planwright approve").await;
        let card = scene.card();
        assert!(card.contains("## 📋 Execution Plan (Revised #1)"), "{kind}: {card}");
        assert!(card.contains("**Revision Reason**: Another library is needed."), "{kind}: {card}");
        assert!(card.contains("- [x] **task_1**"), "{kind}: done work keeps its tick: {card}");
        assert!(card.contains("📜 Previous Plan History"), "{kind}: {card}");
        let asked = scene.model.requests().into_iter().find(|a| a.schema_name == "plan_revision").unwrap();
        for part in ["take another library", "use the other one", "the library is gone"] {
            assert!(asked.user.contains(part), "{kind}: {part} is missing: {}", asked.user);
        }
        let requests = scene.entries("approval_requested");
        assert_eq!(requests.len(), 2, "{kind}: {:?}", scene.facts());
        let wanted: Vec<&str> =
            requests[1]["wanted"].as_array().unwrap().iter().map(|w| w["id"].as_str().unwrap()).collect();
        assert!(wanted.contains(&"a4") && !wanted.contains(&"a1"), "{kind}: {wanted:?}");
        let notice = scene.comments().into_iter().find(|body| body.starts_with("## 🔄")).unwrap();
        assert!(notice.contains("85%") && notice.contains("Another library is needed."), "{kind}: {notice}");
        bot.told(MARIA, "@planwright approve").await;
        assert!(scene.card().contains("🚀 done"), "{kind}: {}", scene.card());
        let branch = scene.repo.work_branch();
        assert_eq!(scene.repo.read(&branch, "notes/other.md").as_deref(), Some("other\n"), "{kind}");
        assert_eq!(scene.repo.read(&branch, "notes/1.md").as_deref(), Some("1\n"), "{kind}");
        let revised = &scene.entries("plan_revised")[0];
        assert!(revised["result"] == "success" && revised["duration_ms"].is_i64(), "{kind}: {revised}");
        assert!(!revised["plan_after"].as_array().unwrap().is_empty(), "{kind}");
        bot.ends().await;
    }
}

#[tokio::test]
async fn an_unsure_model_asks_a_person_who_says_yes_or_no() {
    for kind in FACES {
        for yes in [true, false] {
            let scene = Scene::on(kind).await.settings(AUTO);
            failing(&scene);
            difficulty(&scene);
            reflects(
                &scene,
                json!({
                    "replan_needed": true, "confidence": 0.4, "replan_type": "partial_replan", "replan_level": 2,
                    "reasoning": "Perhaps another library.",
                }),
            );
            if yes {
                scene.model.say(
                    "plan_revision",
                    revision(
                        &[("task_2b", "Use the other library"), ("task_3", "Run the tests")],
                        vec![file("task_2b", "other"), file("task_3", "3")],
                    ),
                );
            }
            let bot = scene.start().await;
            bot.assigned(MARIA).await;
            let notice = scene.comments().into_iter().find(|body| body.starts_with("## 🔄")).unwrap();
            for choice in ["replan why", "resume"] {
                assert!(notice.contains(&called(&scene, choice)), "{kind}: {notice}");
            }
            assert_eq!(scene.entries("plan_revised").len(), 0, "{kind}: it did not wait");
            bot.told(MARIA, if yes { "@planwright replan yes" } else { "@planwright resume" }).await;
            if yes {
                assert!(scene.card().contains("🚀 done"), "{kind}: {}", scene.card());
            } else {
                assert_eq!(scene.entries("replan_declined").len(), 1, "{kind}");
                assert!(scene.card().contains("The library is gone"), "{kind}: {}", scene.card());
            }
            bot.ends().await;
        }
    }
}

#[tokio::test]
async fn a_person_can_ask_for_another_plan_at_any_time() {
    for kind in FACES {
        let scene = Scene::on(kind).await;
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        assert!(scene.card().contains("waiting for approval"), "{}", scene.card());
        scene.model.say("task_decomposition", json!({"reasoning": "r", "subtasks": [
        {"id": "task_1", "description": "Do it the short way", "dependencies": [], "estimated_complexity": "low",
         "required_tools": [], "rests_on": []}]}));
        scene.model.say(
            "action_sequence",
            json!({"execution_order": ["task_1"], "actions": [file("task_1", "short")]}),
        );
        bot.told(MARIA, "@planwright replan this is too long").await;
        let card = scene.card();
        assert!(card.contains("Revised #1") && card.contains("Do it the short way"), "{card}");
        assert!(card.contains("this is too long"), "{card}");
        let asked =
            scene.model.requests().into_iter().rfind(|a| a.schema_name == "task_decomposition").unwrap();
        assert!(asked.user.contains("this is too long"), "{}", asked.user);
        bot.told(MARIA, "@planwright approve").await;
        assert!(scene.card().contains("🚀 done"), "{}", scene.card());
        bot.ends().await;
    }
}

/// Every failure of the same action leads to the same wish.
fn fails_for_ever(scene: &Scene) {
    let wish = json!({"replan_needed": true, "confidence": 0.9, "replan_type": "partial_replan", "replan_level": 2, "reasoning": "again"});
    scene.model.always_say("reflection", move |_| {
        json!({"action_id": "", "status": "failure", "evaluation": "no", "alignment_with_plan": "no", "issues_identified": [],
               "plan_revision_needed": false, "replan_decision": decision(wish.clone())})
    });
    let wish = json!({"replan_needed": true, "confidence": 0.9, "replan_type": "partial_replan", "replan_level": 2, "reasoning": "again"});
    scene.model.always_say("replan_decision", move |_| decision(wish.clone()));
    scene.model.always_say("worker_turn", |_| {
        json!({"thought": "t", "tool": "finish", "path": null, "content": null, "name": null, "arguments_json": null,
               "command": [], "feedback": {"type": "implementation", "result": "failed", "changes": [], "notes": "It never works."}})
    });
    let count = std::sync::atomic::AtomicU32::new(0);
    scene.model.always_say("plan_revision", move |_| {
        let n = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let open = action("task_x", "write", json!({"path": format!("notes/x{n}.md")}));
        revision(&[("task_x", "Try once more")], vec![open])
    });
}

#[tokio::test]
async fn a_model_that_replans_for_ever_is_stopped_and_people_decide() {
    for kind in FACES {
        let scene = Scene::on(kind).await.settings(AUTO);
        failing(&scene);
        fails_for_ever(&scene);
        scene.model.say("alternative_approach", json!({"way": "nothing", "reasoning": "I know no other."}));
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        let done = scene.entries("replan_decision").iter().filter(|entry| entry["executed"] == true).count();
        assert_eq!(done, 2, "{kind}: {:?}", scene.facts());
        let notice = scene.comments().into_iter().rfind(|body| body.starts_with("## 🔄")).unwrap();
        for choice in ["skip task_x", "cancel"] {
            assert!(notice.contains(&called(&scene, choice)), "{kind}: {notice}");
        }
        bot.told(MARIA, "@planwright skip task_x").await;
        assert!(scene.card().contains("🚀 done"), "{kind}: {}", scene.card());
        bot.ends().await;
    }
}

#[tokio::test]
async fn at_a_limit_the_settings_can_say_how_to_go_on() {
    for (on_limit, ends) in [("stop", "😕 failed"), ("continue", "🚀 done")] {
        let settings = format!(
            "planning: {{ enabled: true, replanning: {{ on_limit: {on_limit} }} }}\napproval: {{ auto: medium }}\n"
        );
        let scene = Scene::on(ForgeKind::Github).await.settings(&settings);
        failing(&scene);
        fails_for_ever(&scene);
        scene.model.say("alternative_approach", json!({"way": "nothing", "reasoning": "I know no other."}));
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        assert!(scene.card().contains(ends), "{on_limit}: {}", scene.card());
        bot.ends().await;
    }
}

#[tokio::test]
async fn the_model_may_know_another_way() {
    let scene = Scene::on(ForgeKind::Github).await.settings(AUTO);
    failing(&scene);
    fails_for_ever(&scene);
    scene.model.say("alternative_approach", json!({"way": "skip_step", "reasoning": "It is not needed."}));
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    assert!(scene.card().contains("🚀 done") && scene.card().contains("⏭"), "{}", scene.card());
    bot.ends().await;
}

#[tokio::test]
async fn an_identical_plan_is_no_new_plan() {
    let scene = Scene::on(ForgeKind::Github).await.settings(AUTO);
    failing(&scene);
    difficulty(&scene);
    reflects(
        &scene,
        json!({"replan_needed": true, "replan_type": "action_regeneration", "replan_level": 3, "reasoning": "anew"}),
    );
    let open = action("task_2", "write", json!({"path": "notes/2.md"}));
    scene.model.say(
        "action_sequence",
        json!({"execution_order": ["task_2", "task_3"], "actions": [open, file("task_3", "3")]}),
    );
    scene.model.say("alternative_approach", json!({"way": "nothing", "reasoning": "-"}));
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let revised = scene.entries("plan_revised");
    assert!(revised.len() == 1 && revised[0]["result"] == "failure", "{revised:?}");
    assert!(scene.card().contains("waiting") || scene.card().contains("⏸"), "{}", scene.card());
    bot.ends().await;
}

/// The first plan, another, and the first again: what it comes back to was tried already.
#[tokio::test]
async fn plans_that_take_turns_are_found_out() {
    // One after the other, so that what failed is known by its place.
    let alone = format!("{AUTO}crew: {{ workers: 1 }}\n");
    let scene = Scene::on(ForgeKind::Github).await.settings(&alone);
    let open = |name: &str| action("task_x", "write", json!({"path": format!("notes/{name}.md")}));
    let step = json!({"id": "task_x", "description": "Try", "dependencies": [], "estimated_complexity": "low",
                      "required_tools": [], "rests_on": []});
    let first = json!({"id": "task_1", "description": "Begin", "dependencies": [], "estimated_complexity": "low",
                       "required_tools": [], "rests_on": []});
    scene.model.say("task_decomposition", json!({"reasoning": "r", "subtasks": [first, step]}));
    scene.model.say(
        "action_sequence",
        json!({"execution_order": ["task_1", "task_x"], "actions": [file("task_1", "1"), open("a")]}),
    );
    for name in ["b", "a"] {
        difficulty(&scene);
        let wish = json!({"replan_needed": true, "replan_type": "partial_replan", "replan_level": 2, "reasoning": name});
        reflects(&scene, wish);
        scene.model.say("plan_revision", revision(&[("task_x", "Try")], vec![open(name)]));
    }
    scene.model.say("alternative_approach", json!({"way": "nothing", "reasoning": "-"}));
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let results: Vec<Value> = scene.entries("plan_revised").iter().map(|e| e["result"].clone()).collect();
    assert_eq!(results, ["success", "failure"], "{:?}", scene.facts());
    assert_eq!(outcomes(&scene), ["a1 succeeded", "a2 failed", "a3 failed"], "it is not tried again");
    bot.ends().await;
}

#[tokio::test]
async fn a_decision_that_cannot_be_read_changes_nothing_but_after_a_failure_people_are_asked() {
    let scene = Scene::on(ForgeKind::Github).await.settings(AUTO);
    failing(&scene);
    difficulty(&scene);
    let mut goal = super::talk::clear();
    goal["replan_decision"] =
        decision(json!({"replan_needed": true, "confidence": 7, "replan_type": "goal_revision"}));
    scene.model.say("goal_understanding", goal);
    reflects(&scene, json!({"replan_needed": true, "confidence": "high", "replan_type": "partial_replan"}));
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    assert_eq!(scene.entries("replan_decision").iter().filter(|entry| entry["executed"] == true).count(), 0);
    assert_eq!(scene.entries("completed").len() + scene.entries("failed").len(), 0, "{:?}", scene.facts());
    writes(&scene, "notes/2.md");
    bot.told(MARIA, "/skip task_2").await;
    assert!(scene.card().contains("🚀 done"), "{}", scene.card());
    bot.stops().await;
}

/// Goal, steps and actions are told at once; the worker thinks until it is released.
pub(crate) fn worker_is_held(scene: &Scene) {
    for _ in 0..3 {
        scene.model.misbehave(Misbehaviour::Slow(Duration::ZERO));
    }
    scene.model.misbehave(Misbehaviour::Held);
}

/// How often a worker was asked.
pub(crate) fn asked_worker(scene: &Scene) -> usize {
    scene.model.requests().iter().filter(|asked| asked.schema_name == "worker_turn").count()
}

/// A comment that comes while the worker thinks is looked at before the next action, and may change the plan.
#[tokio::test]
async fn words_of_people_during_the_work_are_looked_at_before_the_next_action() {
    for kind in FACES {
        let scene = Scene::on(kind).await.settings(AUTO).patient();
        let open = action("task_1", "write", json!({"path": "notes/1.md"}));
        scene.model.say("action_sequence", sequence(vec![open, file("task_2", "2"), file("task_3", "3")]));
        writes(&scene, "notes/1.md");
        reflects(
            &scene,
            json!({
                "replan_needed": true, "confidence": 0.9, "replan_type": "plan_revision", "replan_level": 2,
                "reasoning": "Maria wants only one note.",
            }),
        );
        scene.model.say("plan_revision", revision(&[("task_4", "Stop there")], vec![file("task_4", "last")]));
        let bot = scene.start().await;
        worker_is_held(&scene);
        assert_eq!(scene.post(&bot.base, &scene.webhook(&scene.assigned(MARIA))).await, 202);
        scene.until_seen("the worker is asked", |scene| asked_worker(scene) == 1).await;
        let words = scene.said(MARIA, "One note is enough, thank you.");
        assert_eq!(scene.post(&bot.base, &scene.webhook(&words)).await, 202);
        scene.until_seen("they are heard", |scene| scene.entries("comment_arrived").len() == 1).await;
        scene.model.release();
        bot.quiet().await;
        assert!(scene.card().contains("🚀 done"), "{kind}: {}", scene.card());
        let asked =
            scene.model.requests().into_iter().find(|asked| asked.schema_name == "reflection").unwrap();
        assert!(asked.user.contains("One note is enough"), "{}", asked.user);
        assert_eq!(outcomes(&scene).len(), 2, "{:?}", outcomes(&scene));
        let branch = scene.repo.work_branch();
        assert_eq!(scene.repo.read(&branch, "notes/2.md"), None, "{kind}: it was done all the same");
        bot.ends().await;
    }
}

#[tokio::test]
async fn a_final_look_can_add_what_is_missing() {
    let scene = Scene::on(ForgeKind::Github).await.settings(AUTO);
    scene.model.say(
        "action_sequence",
        sequence(vec![file("task_1", "1"), file("task_2", "2"), file("task_3", "3")]),
    );
    scene.model.say("final_evaluation", json!({
        "replan_needed": true, "replan_type": "plan_revision", "confidence": 0.9, "reasoning": "The docs are missing.",
        "evaluation_result": "partial_success", "achievement_rate": 80, "issues_identified": ["no docs"],
        "additional_actions": ["write docs"], "revision_scope": "minor",
    }));
    scene.model.say("plan_revision", revision(&[("task_4", "Write the docs")], vec![file("task_4", "docs")]));
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let card = scene.card();
    assert!(card.contains("🚀 done") && card.contains("*Progress: 4/4 (100%) complete"), "{card}");
    let decided = scene.entries("replan_decision");
    let last = decided.iter().find(|entry| entry["executed"] == true).unwrap();
    assert_eq!(last["llm_decision"]["achievement_rate"], 80);
    bot.ends().await;
}

#[tokio::test]
async fn quiet_repositories_get_no_notices() {
    let settings = "planning: { enabled: true }\napproval: { auto: medium }\nnotices: quiet\n";
    let scene = Scene::on(ForgeKind::Github).await.settings(settings);
    failing(&scene);
    difficulty(&scene);
    reflects(
        &scene,
        json!({"replan_needed": true, "confidence": 0.9, "replan_type": "partial_replan", "replan_level": 2, "reasoning": "Another way."}),
    );
    scene.model.say("plan_revision", revision(&[("task_2b", "Other")], vec![file("task_2b", "other")]));
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    assert_eq!(scene.bot_comments().len(), 1, "{:?}", scene.comments());
    assert!(scene.card().contains("Another way."), "{}", scene.card());
    bot.ends().await;
}
