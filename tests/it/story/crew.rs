//! Purpose: the crew at work: steps side by side in checkouts of their own, merges, the judge, and what workers say.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use planwright::domain::ForgeKind;
use serde_json::{Value, json};

use super::acting::{action, change_of};
use super::bot::{ALL, MARIA, Scene};
use crate::scripted_model::Asked;

const FOUR: &str = "planning: { enabled: true }\napproval: { auto: medium }\ncrew: { workers: 4 }\n";

/// Steps as a model gives them: each with the steps that it needs.
pub(crate) fn steps(scene: &Scene, steps: &[(&str, &[&str])]) {
    let step = |(id, on): &(&str, &[&str])| {
        json!({
            "id": id, "description": format!("Do {id}"), "dependencies": on, "estimated_complexity": "low",
            "required_tools": ["files"],
        })
    };
    let subtasks: Vec<Value> = steps.iter().map(step).collect();
    scene.model.say("task_decomposition", json!({"reasoning": "so", "subtasks": subtasks}));
}

pub(crate) fn actions(scene: &Scene, actions: Vec<Value>) {
    let order: Vec<Value> = actions.iter().map(|action| action["task_id"].clone()).collect();
    scene.model.say("action_sequence", json!({"execution_order": order, "actions": actions}));
}

pub(crate) fn turn(tool: &str, more: Value) -> Value {
    let mut turn = json!({
        "thought": "t", "tool": tool, "path": null, "content": null, "name": null, "arguments_json": null,
        "command": [], "feedback": null,
    });
    turn.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    turn
}

/// The file that the worker who is asked is to write.
pub(crate) fn path_of(asked: &Asked) -> String {
    let action: Value = asked
        .user
        .split_once("The action:\n")
        .and_then(|(_, rest)| serde_json::from_str(rest.lines().next()?).ok())
        .unwrap();
    action["spec"]["path"].as_str().unwrap_or_default().to_owned()
}

/// Every worker writes its file in one turn.
pub(crate) fn all_write(scene: &Scene) {
    scene.model.always_say("worker_turn", |asked| {
        let path = path_of(asked);
        turn("write_file", json!({"content": format!("written to {path}\n"), "path": path}))
    });
}

pub(crate) fn judged(verdict: &str, remarks: &str) -> Value {
    json!({"verdict": verdict, "reasons": ["I looked at it."], "remarks": remarks, "contradiction": null})
}

/// A report that something was found.
fn tabs() -> Value {
    turn(
        "report",
        json!({"feedback": {"type": "exploration", "findings": "The house style is tabs.",
            "recommendations": ["Use tabs."], "confidence": "high"}}),
    )
}

/// A report that something stands in the way.
fn in_the_way(wants: &str) -> Value {
    turn(
        "report",
        json!({"feedback": {
            "type": "difficulty", "issue": "Two readings fit the words.", "attempts": ["I read it twice."],
            "impediment": {"category": "ambiguity", "requested_action": wants}, "suggestion": null,
        }}),
    )
}

fn is_new(asked: &Asked) -> bool {
    !asked.user.contains("Turn 1, you called")
}

fn turns_asked(scene: &Scene) -> Vec<Asked> {
    let requests = scene.model.requests().into_iter();
    requests.filter(|asked| asked.schema_name == "worker_turn").collect()
}

/// What the leader said to reports, and whether it refused them.
fn answers(scene: &Scene) -> Vec<(Value, Value)> {
    let used = scene.entries("used").into_iter().filter(|entry| entry["tool"] == "report");
    used.map(|entry| (entry["result"].clone(), entry["refused"].clone())).collect()
}

fn order_of(scene: &Scene, kinds: &[&str]) -> Vec<String> {
    scene.facts().into_iter().filter(|fact| kinds.contains(&fact.as_str())).collect()
}

#[tokio::test]
async fn independent_steps_are_worked_on_side_by_side_on_every_forge() {
    for kind in ALL {
        let scene = Scene::on(kind).await.settings(FOUR);
        steps(&scene, &[("one", &[]), ("two", &[]), ("three", &[]), ("four", &["one", "two", "three"])]);
        let write = |step: &str| action(step, "create", json!({"path": format!("notes/{step}.md")}));
        actions(&scene, ["one", "two", "three", "four"].map(write).to_vec());
        all_write(&scene);
        let bot = scene.start().await;
        bot.assigned(MARIA).await;

        assert!(scene.card().contains("*Progress: 4/4 (100%) complete*"), "{kind}: {}", scene.card());
        let order = order_of(&scene, &["step_assigned", "step_merged"]);
        assert_eq!(order[..3], ["step_assigned"; 3], "{kind}: three were given away at once: {order:?}");
        assert_eq!(order.len(), 8, "{kind}: {order:?}");
        let last = scene.entries("step_assigned").into_iter().find(|e| e["step"] == "four").unwrap();
        let merged = scene.entries("step_merged");
        let before = merged.iter().filter(|e| e["seq"].as_i64() < last["seq"].as_i64()).count();
        assert_eq!(before, 3, "{kind}: the last one begins when all that it needs is accepted");
        let branch = scene.repo.work_branch();
        for step in ["one", "two", "three", "four"] {
            let text = scene.repo.read(&branch, &format!("notes/{step}.md"));
            assert_eq!(text, Some(format!("written to notes/{step}.md\n")), "{kind}");
        }
        let tip = change_of(&scene, &branch);
        assert!(tip.open && tip.draft, "{kind}");
        let judged = scene.entries("step_judged");
        assert!(judged.len() == 4 && judged.iter().all(|e| e["by"] == "judge"), "{kind}: {judged:?}");
        // Every box stands on a commit that is on the branch.
        for line in scene.card().lines().filter(|line| line.starts_with("- [x]")) {
            let commit = line.rsplit('`').nth(1).unwrap();
            let inside = super::repo::git(&scene.repo.bare, &["branch", "--contains", commit], "");
            assert!(inside.contains(&branch), "{kind}: {line} is not on {branch}: {inside}");
        }
        bot.ends().await;
    }
}

#[tokio::test]
async fn one_worker_does_one_step_after_the_other() {
    let scene = Scene::on(ForgeKind::Github).await.settings(&FOUR.replace("workers: 4", "workers: 1"));
    steps(&scene, &[("one", &[]), ("two", &[])]);
    let write = |step: &str| action(step, "create", json!({"path": format!("notes/{step}.md")}));
    actions(&scene, ["one", "two"].map(write).to_vec());
    all_write(&scene);
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let order = order_of(&scene, &["step_assigned", "step_merged"]);
    assert_eq!(order, ["step_assigned", "step_merged", "step_assigned", "step_merged"]);
    bot.ends().await;
}

#[tokio::test]
async fn what_one_finds_out_reaches_those_that_come_later() {
    let scene = Scene::on(ForgeKind::Github).await.settings(FOUR);
    steps(&scene, &[("look", &[]), ("write", &["look"])]);
    actions(
        &scene,
        vec![action("look", "analyze", json!({})), action("write", "create", json!({"path": "a.md"}))],
    );
    scene.model.always_say("worker_turn", |asked| match path_of(asked).as_str() {
        "" => turn(
            "finish",
            json!({"feedback": {"type": "exploration", "findings": "The house style is tabs.",
                "recommendations": ["Use tabs."], "confidence": "high"}}),
        ),
        path => turn("write_file", json!({"path": path, "content": "x\n"})),
    });
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let requests = scene.model.requests();
    let writer = requests.iter().filter(|asked| asked.schema_name == "worker_turn").nth(1).unwrap();
    assert!(writer.user.contains("The house style is tabs.") && writer.user.contains("Use tabs."));
    assert!(scene.card().contains("🚀 done"), "{}", scene.card());
    bot.ends().await;
}

/// Neither comes to an end before the other has heard.
#[tokio::test]
async fn what_one_reports_reaches_another_that_works_beside_it() {
    for kind in ALL {
        let scene = Scene::on(kind).await.settings(FOUR);
        steps(&scene, &[("look", &[]), ("write", &[])]);
        let write = |step: &str| action(step, "create", json!({"path": format!("{step}.md")}));
        actions(&scene, vec![write("look"), write("write")]);
        let heard = Arc::new(AtomicBool::new(false));
        let hears = Arc::clone(&heard);
        scene.model.always_say("worker_turn", move |asked| {
            let path = path_of(asked);
            let goes_on = match path.as_str() {
                "look.md" if is_new(asked) => return tabs(),
                "look.md" => hears.load(Ordering::SeqCst),
                _ => asked.user.contains("look (high confidence): The house style is tabs. Use tabs."),
            };
            hears.fetch_or(path == "write.md" && goes_on, Ordering::SeqCst);
            match goes_on {
                true => turn("write_file", json!({"path": path, "content": "x\n"})),
                false => turn("list_files", json!({})),
            }
        });
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        assert!(heard.load(Ordering::SeqCst), "{kind}: {:?}", scene.facts());
        assert_eq!(answers(&scene), [(json!("noted; go on"), json!(false))], "{kind}");
        assert!(scene.card().contains("🚀 done"), "{kind}: {}", scene.card());
        let asked = turns_asked(&scene);
        assert!(asked.iter().all(|asked| asked.user.contains("finish, report\n")), "{kind}");
        bot.ends().await;
    }
}

#[tokio::test]
async fn a_difficulty_reported_on_the_way_is_taken_to_people_without_another_turn() {
    let scene = Scene::on(ForgeKind::Github).await.settings(FOUR);
    steps(&scene, &[("hard", &[])]);
    actions(&scene, vec![action("hard", "create", json!({"path": "a.md"}))]);
    scene.model.always_say("worker_turn", |asked| match asked.user.contains("the first one") {
        true => turn("write_file", json!({"path": "a.md", "content": "x\n"})),
        false if is_new(asked) => turn("list_files", json!({})),
        false => in_the_way("clarification"),
    });
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    assert_eq!(turns_asked(&scene).len(), 2, "{:?}", scene.facts());
    let escalated = scene.entries("escalated");
    assert_eq!(escalated.len(), 1, "{:?}", scene.facts());
    let (cause, target, issue) = (&escalated[0]["cause"], &escalated[0]["target"], &escalated[0]["issue"]);
    assert_eq!((cause, target), (&json!("ambiguity"), &json!("people")));
    assert_eq!(issue, "Two readings fit the words.");
    assert_eq!(escalated[0]["tried"], json!(["I read it twice."]));
    bot.told(MARIA, "@planwright resolve 1 the first one").await;
    assert_eq!(turns_asked(&scene).len(), 3);
    assert!(scene.card().contains("🚀 done"), "{}", scene.card());
    bot.ends().await;
}

#[tokio::test]
async fn who_reports_a_difficulty_and_can_go_on_goes_on() {
    let scene = Scene::on(ForgeKind::Gitlab).await.settings(FOUR);
    steps(&scene, &[("one", &[])]);
    actions(&scene, vec![action("one", "create", json!({"path": "a.md"}))]);
    scene.model.always_say("worker_turn", |asked| match is_new(asked) {
        true => in_the_way("continue"),
        false => turn("write_file", json!({"path": "a.md", "content": "x\n"})),
    });
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    assert_eq!(answers(&scene), [(json!("noted; go on as you think best"), json!(false))]);
    assert_eq!(scene.entries("escalated").len(), 0);
    assert_eq!(turns_asked(&scene).len(), 2);
    assert!(scene.card().contains("🚀 done"), "{}", scene.card());
    bot.ends().await;
}

#[tokio::test]
async fn who_only_reports_comes_to_an_end_like_anybody_else() {
    let scene = Scene::on(ForgeKind::Github).await.settings(FOUR);
    steps(&scene, &[("one", &[])]);
    actions(&scene, vec![action("one", "create", json!({"path": "a.md"}))]);
    scene.model.always_say("worker_turn", |_| in_the_way("continue"));
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    assert_eq!(turns_asked(&scene).len(), 12);
    let ended = scene.entries("action_ended");
    assert_eq!(ended[0]["actual"], "the worker did not come to an end in 12 turns", "{ended:?}");
    bot.ends().await;
}

/// The first is sent away with its report and writes; what it would have told reaches nobody.
#[tokio::test]
async fn where_the_leader_decides_after_each_step_nobody_reports_on_the_way() {
    let settings = FOUR.replace("workers: 4", "workers: 4, autonomy: 1");
    let scene = Scene::on(ForgeKind::Github).await.settings(&settings);
    steps(&scene, &[("one", &[]), ("two", &["one"])]);
    let write = |step: &str| action(step, "create", json!({"path": format!("{step}.md")}));
    actions(&scene, vec![write("one"), write("two")]);
    scene.model.always_say("worker_turn", |asked| match path_of(asked).as_str() {
        "one.md" if is_new(asked) => tabs(),
        "one.md" if !asked.user.contains("Turn 2, you called") => in_the_way("escalate"),
        path => turn("write_file", json!({"path": path, "content": "x\n"})),
    });
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let refused = json!("refused: nobody reads reports during the work; say it when you finish");
    assert_eq!(answers(&scene), [(refused.clone(), json!(true)), (refused.clone(), json!(true))]);
    assert_eq!(scene.entries("escalated").len(), 0);
    let asked = turns_asked(&scene);
    assert_eq!(asked.len(), 4);
    assert!(asked.iter().all(|asked| asked.user.contains("write_file, finish\n")), "{}", asked[0].user);
    assert!(asked[1].user.contains(refused.as_str().unwrap()), "{}", asked[1].user);
    assert!(!asked[3].user.contains("The house style is tabs."), "{}", asked[3].user);
    assert!(scene.card().contains("🚀 done"), "{}", scene.card());
    bot.ends().await;
}

#[tokio::test]
async fn the_judge_sends_a_step_back_with_remarks_and_nothing_of_the_first_try_is_kept() {
    let scene = Scene::on(ForgeKind::Gitlab).await.settings(FOUR);
    steps(&scene, &[("one", &[])]);
    actions(&scene, vec![action("one", "create", json!({"path": "a.md"}))]);
    scene.model.always_say("worker_turn", |asked| {
        let second = asked.user.contains("Say it in Latin.");
        turn("write_file", json!({"path": "a.md", "content": if second { "salve\n" } else { "hello\n" }}))
    });
    scene.model.say("judge_verdict", judged("continue", "Say it in Latin."));
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let branch = scene.repo.work_branch();
    assert_eq!(scene.repo.read(&branch, "a.md").as_deref(), Some("salve\n"));
    assert_eq!(scene.repo.messages(&branch).len(), 1, "the first try is not on the branch");
    let attempts: Vec<Value> =
        scene.entries("step_assigned").iter().map(|entry| entry["attempt"].clone()).collect();
    assert_eq!(attempts, [1, 2]);
    bot.ends().await;
}

#[tokio::test]
async fn a_judge_that_answers_nonsense_is_outvoted_by_the_evidence() {
    let scene = Scene::on(ForgeKind::Github).await.settings(FOUR);
    steps(&scene, &[("one", &[])]);
    actions(&scene, vec![action("one", "create", json!({"path": "a.md"}))]);
    all_write(&scene);
    scene.model.always_say("judge_verdict", |_| json!({"verdict": "purple"}));
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    assert!(scene.card().contains("🚀 done"), "{}", scene.card());
    let judged = scene.entries("step_judged");
    assert_eq!((judged.len(), &judged[0]["by"]), (1, &json!("evidence")), "{judged:?}");
    bot.ends().await;
}

/// Commands that say what they need, so that they are not kept behind one another; both write the same file.
#[tokio::test]
async fn two_that_change_the_same_are_a_matter_of_order_and_both_changes_arrive() {
    let settings = format!(
        "{FOUR}tools: {{ commands: {{ one: {{ argv: [\"sh\", \"-c\", \"echo one >> both.txt\"] }}, \
         two: {{ argv: [\"sh\", \"-c\", \"echo two >> both.txt\"] }} }} }}\n"
    );
    let scene = Scene::on(ForgeKind::Github).await.settings(&settings);
    steps(&scene, &[("base", &[]), ("one", &["base"]), ("two", &["base"])]);
    let run = |step: &str, word: &str| {
        action(step, "run", json!({"command": ["sh", "-c", format!("echo {word} >> both.txt")]}))
    };
    actions(
        &scene,
        vec![
            action("base", "create", json!({"path": "both.txt", "content": "base\n"})),
            run("one", "one"),
            run("two", "two"),
        ],
    );
    scene.model.always_say("replan_decision", |_| {
        super::talk::decision(json!({
            "replan_needed": true, "confidence": 0.9, "replan_type": "retry", "replan_level": 1, "reasoning": "on top"
        }))
    });
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    bot.told(MARIA, "/approve").await;
    let conflicts = scene.entries("step_conflicted");
    assert_eq!((conflicts.len(), &conflicts[0]["files"]), (1, &json!(["both.txt"])), "{:?}", scene.facts());
    let asked = scene.entries("escalated");
    assert_eq!((&asked[0]["cause"], &asked[0]["target"]), (&json!("dependency"), &json!("planner")));
    let branch = scene.repo.work_branch();
    let text = scene.repo.read(&branch, "both.txt").unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["base", "one", "two"], "{}", scene.card());
    assert!(scene.card().contains("🚀 done"), "{}", scene.card());
    bot.ends().await;
}
