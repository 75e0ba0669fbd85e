//! Purpose: what a model is told when it decides whether the plan has to change, word for word as it is sent.

use planwright::domain::ForgeKind;
use serde_json::{Value, json};

use super::acting::action;
use super::bot::{MARIA, Scene};
use super::replan::{AUTO, difficulty, failing, file, reflects, revision};
use super::talk::decision;
use crate::scripted_model::Asked;

const SEPARATE: &str = "planning: { enabled: true, replanning: { llm_decision: { separate_call: true } } }\napproval: { auto: medium }\n";

/// What asks for a decision with the answer of a phase.
const ALONG: &str = "put the verdict into `replan_decision`";

fn asked(scene: &Scene, name: &str) -> Vec<Asked> {
    scene.model.requests().into_iter().filter(|asked| asked.schema_name == name).collect()
}

fn phase_of(asked: &Asked) -> String {
    let (_, rest) =
        asked.user.split_once("The phase that ended: ").unwrap_or_else(|| panic!("{}", asked.user));
    rest.split_once(".\n").unwrap().0.to_owned()
}

fn carries(asked: &Asked, parts: &[&str]) {
    for part in parts {
        assert!(asked.user.contains(part), "`{part}` is missing in {}", asked.user);
    }
}

fn says_nothing_of(asked: &Asked, parts: &[&str]) {
    for part in parts {
        assert!(!asked.user.contains(part), "`{part}` is too early in {}", asked.user);
    }
}

#[tokio::test]
async fn decisions_can_be_asked_for_by_themselves() {
    let scene = Scene::on(ForgeKind::Github).await.settings(SEPARATE);
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    assert!(scene.card().contains("🚀 done"), "{}", scene.card());
    for name in ["goal_understanding", "task_decomposition", "action_sequence"] {
        for asked in asked(&scene, name) {
            assert!(!asked.system.contains(ALONG), "{name}: {}", asked.system);
        }
    }
    let decided = asked(&scene, "replan_decision");
    let phases: Vec<String> = decided.iter().map(phase_of).collect();
    let planning = ["goal understanding", "task decomposition", "action sequence"];
    assert_eq!(phases[..3], planning, "{phases:?}");
    assert!(phases.len() >= 5 && phases[3..].iter().all(|phase| phase == "execution"), "{phases:?}");
    bot.ends().await;
}

/// The phase and its result, the plan, what happened, the background, and the replans so far.
#[tokio::test]
async fn a_decision_is_asked_for_with_all_that_is_known() {
    for kind in [ForgeKind::Github, ForgeKind::Gitlab] {
        let scene = Scene::on(kind).await.settings(SEPARATE);
        failing(&scene);
        difficulty(&scene);
        difficulty(&scene);
        let again = action("task_2b", "write", json!({"path": "notes/2b.md"}));
        scene.model.say("plan_revision", revision(&[("task_2b", "Use the other library")], vec![again]));
        scene.model.always_say("replan_decision", |asked| {
            let first =
                asked.user.contains("what went wrong") && !asked.user.contains("the replans of this run");
            decision(if first { another_library() } else { json!({}) })
        });
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        let decided = asked(&scene, "replan_decision");
        for asked in &decided {
            carries(
                asked,
                &["The phase that ended: ", " its result\n", "Check tokens at login", "no new dependencies"],
            );
        }
        says_nothing_of(&decided[0], &["The current plan:", "what happened so far"]);
        carries(&decided[1], &["The current plan:\n- \"task_1 [open]: "]);
        let failures: Vec<&Asked> = decided.iter().filter(|a| a.user.contains("what went wrong")).collect();
        assert_eq!(failures.len(), 2, "{kind}: {:?}", decided.iter().map(phase_of).collect::<Vec<_>>());
        let (first, second) = (failures[0], failures[1]);
        carries(
            first,
            &[
                "The phase that ended: reflection.",
                " what went wrong\nThe library is gone.\n",
                "task_1 [done]: ",
                "task_2 [failed]: ",
                " what happened so far, newest last\naction a1 (create, notes/1.md): ",
                "Still to be done:\n- \"a3: ",
            ],
        );
        says_nothing_of(first, &["the replans of this run so far"]);
        carries(
            second,
            &[
                "task_1 [done]: ",
                "task_2b [failed]: Use the other library",
                " the replans of this run so far, newest last\n",
                "after reflection (level 2, confidence 0.85): Another library is needed. — done\n",
            ],
        );
        bot.ends().await;
    }
}

fn another_library() -> Value {
    json!({
        "replan_needed": true, "confidence": 0.85, "replan_type": "partial_replan", "replan_level": 2,
        "reasoning": "Another library is needed.",
    })
}

/// The same where the decision comes with the answer of a phase.
#[tokio::test]
async fn a_decision_that_comes_along_is_told_as_much() {
    let scene = Scene::on(ForgeKind::Github).await.settings(AUTO);
    failing(&scene);
    for given in [another_library(), json!({})] {
        difficulty(&scene);
        reflects(&scene, given);
    }
    let again = action("task_2b", "write", json!({"path": "notes/2b.md"}));
    let steps = [("task_2b", "Use the other library"), ("task_3", "Run the tests")];
    scene.model.say("plan_revision", revision(&steps, vec![again, file("task_3", "3")]));
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let reflections = asked(&scene, "reflection");
    assert_eq!(reflections.len(), 2, "{:?}", scene.facts());
    for asked in &reflections {
        assert!(asked.system.contains(ALONG), "{}", asked.system);
        let parts = ["Check tokens at login", "what happened so far", "The library is gone."];
        carries(asked, &parts);
    }
    carries(&reflections[0], &["task_2 [failed]: "]);
    says_nothing_of(&reflections[0], &["the replans of this run so far"]);
    let replanned = "(level 2, confidence 0.85): Another library is needed. — done\n";
    carries(&reflections[1], &["task_2b [failed]: ", "the replans of this run so far", replanned]);
    bot.ends().await;
}
