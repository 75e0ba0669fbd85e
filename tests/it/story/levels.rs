//! Purpose: where a replan goes back to, phase by phase and level by level, and what of the checklist it keeps.

use std::time::Duration;

use planwright::domain::{DiffLine, ForgeKind, Millis};
use planwright::engine::now;
use planwright::forge::local::NewThread;
use serde_json::{Value, json};

use super::acting::{action, sequence};
use super::bot::{FACES, MARIA, Scene};
use super::replan::{AUTO, difficulty, failing, file, reflects, revision};
use super::talk::{clear, decision};
use crate::scripted_model::Misbehaviour;

fn asked(scene: &Scene, name: &str) -> Vec<String> {
    let asked = scene.model.requests().into_iter().filter(|asked| asked.schema_name == name);
    asked.map(|asked| asked.user).collect()
}

/// The decisions that led to something.
fn executed(scene: &Scene) -> Vec<Value> {
    scene.entries("replan_decision").into_iter().filter(|entry| entry["executed"] == true).collect()
}

fn steps(names: &[(&str, &str)]) -> Value {
    let mut steps = revision(names, vec![]);
    json!({"reasoning": "r", "subtasks": steps["subtasks"].take()})
}

/// A decision that comes with the answer of a phase sends the run back to that phase, once.
#[tokio::test]
async fn a_phase_can_send_itself_back() {
    for kind in FACES {
        let phases = [
            ("goal_understanding", "goal_understanding", "goal_revision", 5, clear()),
            (
                "task_decomposition",
                "task_decomposition",
                "task_redecomposition",
                4,
                steps(&[("task_1", "All")]),
            ),
            (
                "action_sequence",
                "action_sequence",
                "action_regeneration",
                3,
                sequence(vec![file("task_1", "1")]),
            ),
        ];
        for (schema, phase, replan_type, level, mut answer) in phases {
            let scene = Scene::on(kind).await;
            if schema == "action_sequence" {
                answer = sequence(vec![file("task_1", "1"), file("task_2", "2"), file("task_3", "3")]);
            }
            answer["replan_decision"] = decision(json!({
                "replan_needed": true, "confidence": 0.9, "replan_type": replan_type, "target_phase": phase,
                "replan_level": level, "reasoning": "It misses the tests.", "issues_found": ["no tests"],
            }));
            scene.model.say(schema, answer);
            let bot = scene.start().await;
            bot.assigned(MARIA).await;
            let decided = executed(&scene);
            assert_eq!(decided.len(), 1, "{kind} {schema}: {:?}", scene.facts());
            assert_eq!(
                (&decided[0]["phase"], &decided[0]["llm_decision"]["replan_type"]),
                (&json!(phase), &json!(replan_type)),
                "{kind} {schema}"
            );
            let asked = asked(&scene, schema);
            assert_eq!(asked.len(), 2, "{kind} {schema}: it is thought about again");
            assert!(asked[1].contains("It misses the tests."), "{kind} {schema}: {}", asked[1]);
            assert!(scene.card().contains("waiting for approval"), "{kind} {schema}: {}", scene.card());
            bot.ends().await;
        }
    }
}

/// Levels 2 and 3 keep the ticks of what is done, levels 4 and 5 begin a new list.
#[tokio::test]
async fn a_failed_action_goes_back_as_far_as_its_level_says() {
    // The first step is done before the second one fails.
    let one_by_one = format!("{AUTO}crew: {{ workers: 1 }}\n");
    for (level, kind, keeps) in
        [(3, "action_regeneration", true), (4, "full_replan", false), (5, "goal_revision", false)]
    {
        let scene = Scene::on(ForgeKind::Github).await.settings(&one_by_one);
        failing(&scene);
        difficulty(&scene);
        reflects(
            &scene,
            json!({"replan_needed": true, "replan_type": kind, "replan_level": level, "reasoning": "Another way."}),
        );
        let again: &[(&str, &str)] = match keeps {
            true => &[("task_2", "Make the change"), ("task_3", "Run the tests")],
            false => &[("task_8", "Start over"), ("task_9", "Finish")],
        };
        if !keeps {
            scene.model.say(
                "task_decomposition",
                steps(&[("task_1", "Read"), ("task_2", "Change"), ("task_3", "Test")]),
            );
            scene.model.say("task_decomposition", steps(again));
        }
        let anew: Vec<Value> = again.iter().map(|(task, _)| file(task, &format!("new_{task}"))).collect();
        let order: Vec<&str> = again.iter().map(|(task, _)| *task).collect();
        scene.model.say("action_sequence", json!({"execution_order": order, "actions": anew}));
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        let card = scene.card();
        assert!(card.contains("(Revised #1)") && card.contains("🚀 done"), "{level}: {card}");
        let (now, before) = card.split_once("📜 Previous Plan History").unwrap();
        assert_eq!(now.contains("- [x] **task_1**"), keeps, "{level}: {card}");
        assert!(before.contains("- [x] **task_1**"), "{level}: the old list is as it was: {card}");
        let (done, all) = if keeps { (3, 3) } else { (2, 2) };
        assert!(card.contains(&format!("Progress: {done}/{all} (100%)")), "{level}: {card}");
        let goals = asked(&scene, "goal_understanding").len();
        let cuts = asked(&scene, "task_decomposition").len();
        let choices = asked(&scene, "action_sequence").len();
        let expected = (1 + usize::from(level == 5), 1 + usize::from(level >= 4), 2);
        assert_eq!((goals, cuts, choices), expected, "{level}: it goes back so far and no further");
        let branch = scene.repo.work_branch();
        assert_eq!(scene.repo.read(&branch, "notes/1.md").as_deref(), Some("1\n"), "{level}: work is kept");
        bot.ends().await;
    }
}

fn tomorrow() -> Millis {
    now().plus(24 * 3_600_000)
}

#[tokio::test]
async fn a_replan_that_nobody_confirms_in_time_is_none() {
    for kind in FACES {
        let scene = Scene::on(kind).await.settings(AUTO);
        scene.model.say(
            "action_sequence",
            sequence(vec![file("task_1", "1"), file("task_2", "2"), file("task_3", "3")]),
        );
        scene.model.say("final_evaluation", json!({
        "replan_needed": true, "replan_type": "plan_revision", "confidence": 0.4, "reasoning": "Perhaps docs.",
        "evaluation_result": "partial_success", "achievement_rate": 80, "issues_identified": [],
        "additional_actions": [], "revision_scope": "minor",
    }));
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        assert!(scene.card().contains("waiting for a word on changing the plan"), "{}", scene.card());
        bot.stops().await;
        let bot = scene.start_with(|ctx| ctx.clock = tomorrow).await;
        scene.until_seen("the plan stays", |scene| scene.card().contains("🚀 done")).await;
        bot.quiet().await;
        assert_eq!(executed(&scene).len(), 0);
        let notice = scene.comments().into_iter().find(|body| body.starts_with("## 🔄")).unwrap();
        assert!(notice.contains("Nobody said yes in time; the plan stays as it is."), "{notice}");
        bot.ends().await;
    }
}

/// A target that does not exist is no target: what the level or the type says counts, and without them nothing does.
#[tokio::test]
async fn an_unknown_phase_leads_nowhere_by_itself() {
    for (kind, level, leads) in [("none", Value::Null, false), ("partial_replan", json!(2), true)] {
        let scene = Scene::on(ForgeKind::Github).await.settings(AUTO);
        failing(&scene);
        difficulty(&scene);
        reflects(
            &scene,
            json!({"replan_needed": true, "replan_type": kind, "target_phase": "moon_landing", "replan_level": level}),
        );
        if leads {
            scene.model.say("plan_revision", revision(&[("task_4", "Other")], vec![file("task_4", "other")]));
        }
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        assert_eq!(executed(&scene).len(), usize::from(leads), "{kind}: {:?}", scene.facts());
        let card = scene.card();
        assert!(card.contains(if leads { "🚀 done" } else { "could not be decided" }), "{kind}: {card}");
        bot.ends().await;
    }
}

/// On a change request, a remark on its lines is a word on the work like any other.
#[tokio::test]
async fn a_review_comment_during_the_work_is_looked_at_before_the_next_action() {
    for kind in FACES {
        let thread = NewThread { is_change_request: true, ..NewThread::titled("Check tokens", MARIA) };
        let scene = Scene::on(kind).await.settings(AUTO).about(thread);
        let branch = format!("change-{}", scene.thread.number);
        scene.repo.commit(&branch, "Theirs", &[("src/fast.rs", "fn fast() {}\n")]);
        let open = action("task_1", "write", json!({"path": "notes/1.md"}));
        scene.model.say("action_sequence", sequence(vec![open, file("task_2", "2"), file("task_3", "3")]));
        // However often it is asked: on a loaded machine the first answer may come too late.
        scene.model.always_say("worker_turn", |_| {
        json!({
            "thought": "t", "tool": "write_file", "path": "notes/1.md", "content": "done\n", "name": null,
            "arguments_json": null, "command": [], "feedback": {"type": "implementation", "result": "success", "changes": [], "notes": ""},
        })
    });
        let bot = scene.start().await;
        // Goal, steps and actions are told at once; the worker takes its time.
        for _ in 0..3 {
            scene.model.misbehave(Misbehaviour::Slow(Duration::ZERO));
        }
        scene.model.misbehave(Misbehaviour::Slow(Duration::from_millis(1_500)));
        assert_eq!(scene.post(&bot.base, &scene.webhook(&scene.assigned(MARIA))).await, 202);
        scene.until_seen("the worker is asked", |scene| !asked(scene, "worker_turn").is_empty()).await;
        let on = DiffLine { path: "src/fast.rs".to_owned(), line: Some(1) };
        let words = (on, "Please keep this line.");
        bot.hears(&scene.act(|world, thread, now| world.review_line(thread, MARIA, words, now))).await;
        assert!(scene.card().contains("🚀 done"), "{kind}: {}", scene.card());
        let arrived = scene.entries("comment_arrived");
        assert!(arrived.len() == 1 && arrived[0]["used"] == true, "{kind}: {:?}", scene.facts());
        let facts = scene.facts();
        let first = |entry: &str, after: usize| {
            let found = facts.iter().skip(after).position(|fact| fact == entry).map(|at| at + after);
            found.unwrap_or_else(|| panic!("no {entry} after {after}: {facts:?}"))
        };
        let heard = first("comment_arrived", 0);
        assert!(first("reflected", heard) < first("action_begun", heard), "{facts:?}");
        bot.ends().await;
    }
}
