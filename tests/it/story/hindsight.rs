//! Purpose: what a run leaves behind: its replans in the history and in numbers, and the digest that the next run reads.

use std::time::Duration;

use planwright::domain::ForgeKind;
use serde_json::{Value, json};

use super::bot::{FACES, MARIA, Scene};
use super::replan::{AUTO, difficulty, failing, file, reflects, revision};
use super::talk::{clear, unclear};
use crate::cli::json as parsed;
use crate::cli_acting::on;
use crate::scripted_model::Misbehaviour;

fn question() -> Value {
    json!([{"id": "q-1", "type": "scope", "question": "Which logins?", "context": null, "options": [], "assumption": "both"}])
}

/// A run that asks, fails at its second action and plans the rest anew.
fn script(scene: &Scene) {
    scene.model.say("goal_understanding", unclear(question()));
    scene.model.say("goal_understanding", clear());
    failing(scene);
    difficulty(scene);
    reflects(
        scene,
        json!({
            "replan_needed": true, "confidence": 0.6, "replan_type": "partial_replan", "target_phase": "execution",
            "replan_level": 2, "reasoning": "Another library is needed.", "issues_found": ["the library is gone"],
            "recommended_actions": ["use the other one"], "error_classification": "persistent",
            "recovery_strategy": "take another library", "affected_actions": ["a2"],
        }),
    );
    scene.model.say(
        "plan_revision",
        revision(
            &[("task_2b", "Use the other library"), ("task_3", "Run the tests")],
            vec![file("task_2b", "other"), file("task_3", "3")],
        ),
    );
}

#[tokio::test]
async fn a_run_is_told_in_the_history_in_numbers_and_to_the_next_run() {
    for kind in FACES {
        let scene = Scene::on(kind).await.settings(AUTO);
        script(&scene);
        let process = scene.spawn().await;
        assert_eq!(process.post(&scene.webhook(&scene.assigned(MARIA))).await, 202);
        scene.until_seen("the question", |scene| !scene.entries("questions_posted").is_empty()).await;
        assert_eq!(process.post(&scene.webhook(&scene.said(MARIA, "1. only the web one"))).await, 202);
        scene
            .until_seen("the end", |scene| scene.cards().first().is_some_and(|card| card.contains("🚀 done")))
            .await;
        process.kill();
        // Between 0.5 and 0.8 it is done, and whoever runs the bot is told.
        let warned = "replan 2 after reflection goes back to level 2 at a confidence of only 0.60";
        let log = scene.log();
        assert!(log.lines().any(|line| line.contains("WARN") && line.contains(warned)), "{log}");

        the_entries_are_whole(&scene);
        let thread = scene.thread.to_string();
        let told = on(&scene, &["history", "explain", &thread]).await;
        for words in [
            "round 1 of questions: q-1 Which logins?",
            "@maria (write) answered q-1: only the web one",
            "replan 2 after reflection (confidence 0.60): Another library is needed.; it goes back to level 2",
            "the model planned the rest anew: 2 steps, 2 actions",
            "replan 2 led to revision 1 in ",
            "the run is complete",
        ] {
            assert_eq!(
                told.out.lines().filter(|line| line.contains(words)).count(),
                1,
                "{words}:\n{}",
                told.out
            );
        }
        let shown = on(&scene, &["runs", "show", &thread]).await;
        let numbers = "1 carried out (0 retries, 1 partial, 0 of the actions, 0 of the steps, 0 of the goal), \
                   0 overridden, 0 declined, 0 failed";
        assert!(shown.out.contains("Replanning: ") && shown.out.contains(numbers), "{}", shown.out);
        let counted = &parsed(&on(&scene, &["runs", "show", "--json", &thread]).await)["replanning"];
        assert_eq!((&counted["executed"], &counted["done"]), (&json!(1), &json!(1)), "{counted}");
        assert_eq!(counted["by_level"], json!([0, 1, 0, 0, 0]));
        let decided = scene.entries("replan_decision").len();
        assert_eq!(counted["decided"], json!(decided), "{counted}");

        // Another plan after the end is another run, which knows what the first came to and why it was not enough.
        let bot = scene.start().await;
        bot.told(MARIA, "@planwright replan the API as well").await;
        let goal =
            scene.model.requests().into_iter().rfind(|a| a.schema_name == "goal_understanding").unwrap();
        assert!(goal.user.contains("what earlier runs on this thread came to"), "{}", goal.user);
        assert!(
            goal.user.contains("A run for @maria: Check tokens at login. It completed."),
            "{}",
            goal.user
        );
        assert!(goal.user.contains("Now @maria wants another plan: the API as well"), "{}", goal.user);
        let runs = scene.entries("triggered");
        assert_eq!((runs.len(), &runs[1]["how"]), (2, &json!("replanned")), "{runs:?}");
        bot.ends().await;
    }
}

/// All that is promised of a decision's entry, field by field.
fn the_entries_are_whole(scene: &Scene) {
    let entries = scene.entries("replan_decision");
    let entry = entries.iter().find(|entry| entry["llm_decision"]["replan_level"] == "partial").unwrap();
    let expected = json!({
        "replan_id": 2, "phase": "reflection", "confidence": 0.6, "executed": true, "override_reason": null,
        "subject": "a2", "by": null, "source": "result", "wait_ms": null,
        "verdict": {"verdict": "replan", "level": "partial", "sure": false},
    });
    for (field, value) in expected.as_object().unwrap() {
        assert_eq!(&entry[field], value, "{field}: {entry:#}");
    }
    let decision = json!({
        "replan_needed": true, "confidence": 0.6, "reasoning": "Another library is needed.",
        "replan_type": "partial_replan", "target_phase": "execution", "replan_level": "partial",
        "issues_found": ["the library is gone"], "recommended_actions": ["use the other one"],
        "clarification_needed": false, "clarification_questions": [], "error_classification": "persistent",
        "recovery_strategy": "take another library", "affected_actions": ["a2"],
    });
    assert_eq!(entry["llm_decision"], decision);
    assert!(entry["ts"].is_string() || entry["at"].is_string() || entry["at"].is_i64(), "no time: {entry:#}");
    let before: Vec<&str> =
        entry["plan_before"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    assert!(before.len() == 3 && before[1].starts_with("task_2"), "{before:?}");
    let revised = &scene.entries("plan_revised")[0];
    assert_eq!((&revised["replan_id"], &revised["result"]), (&json!(2), &json!("success")), "{revised}");
    assert!(revised["duration_ms"].as_i64().is_some_and(|ms| ms >= 0), "{revised}");
    let after = revised["plan_after"].to_string();
    assert!(after.contains("task_2b") && after.contains("task_1"), "{after}");
    // The clarification is a decision as well, and those that want nothing are kept with the reason.
    assert!(entries.iter().any(|entry| entry["verdict"]["verdict"] == "clarify"), "{entries:#?}");
}

/// The plan before, the decision, and how often what was done, stay through a pause and a restart.
#[tokio::test]
async fn a_pause_in_the_middle_of_a_replan_survives_a_restart() {
    let scene = Scene::on(ForgeKind::Github).await.settings(AUTO);
    failing(&scene);
    difficulty(&scene);
    reflects(
        &scene,
        json!({"replan_needed": true, "replan_type": "partial_replan", "replan_level": 2, "reasoning": "Another way."}),
    );
    scene.model.always_say("plan_revision", |_| {
        revision(&[("task_2b", "Use the other library")], vec![file("task_2b", "other")])
    });
    let bot = scene.start().await;
    // Goal, steps, actions, the worker and the look back are told at once; the new plan takes its time.
    for _ in 0..5 {
        scene.model.misbehave(Misbehaviour::Slow(Duration::ZERO));
    }
    scene.model.misbehave(Misbehaviour::Slow(Duration::from_secs(30)));
    assert_eq!(scene.post(&bot.base, &scene.webhook(&scene.assigned(MARIA))).await, 202);
    let asks = |scene: &Scene| scene.model.requests().iter().any(|a| a.schema_name == "plan_revision");
    scene.until_seen("the new plan is asked for", asks).await;
    assert_eq!(scene.post(&bot.base, &scene.webhook(&scene.said(MARIA, "/pause"))).await, 202);
    scene.until_seen("the pause", |scene| !scene.entries("paused").is_empty()).await;
    bot.stops().await;

    let thread = scene.thread.to_string();
    let before = parsed(&on(&scene, &["runs", "show", "--json", &thread]).await);
    assert_eq!(
        (&before["paused"], &before["replanning"]["by_level"]),
        (&json!(true), &json!([0, 1, 0, 0, 0]))
    );
    let bot = scene.start().await;
    bot.quiet().await;
    let card = scene.card();
    assert!(card.contains("paused by @maria") && card.contains("(Revised #1)"), "{card}");
    assert!(card.contains("**Revision Reason**: Another way.") && card.contains("task_2"), "{card}");
    assert_eq!(scene.entries("plan_revised").len(), 0, "a pause is a pause");
    bot.told(MARIA, "/resume").await;
    assert!(scene.card().contains("🚀 done"), "{}", scene.card());
    let after = parsed(&on(&scene, &["runs", "show", "--json", &thread]).await);
    assert_eq!(before["replanning"]["executed"], after["replanning"]["executed"], "nothing is counted twice");
    assert_eq!(after["replanning"]["done"], json!(1));
    bot.ends().await;
}
