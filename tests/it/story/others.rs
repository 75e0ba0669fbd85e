//! Purpose: runs with what other people made: servers of tools from npm and from PyPI, and git's own server over HTTP.

use std::sync::{Arc, Mutex};

use planwright::domain::ForgeKind;
use planwright::planning::Policy;
use serde_json::{Value, json};

use super::acting::{action, change_of, sequence, three_files};
use super::bot::{MARIA, Scene};
use super::tools::tool;
use crate::fake_forge::{github, gitlab};
use crate::git::http_server::{Mood, Server, basic_of};
use crate::mcp::rig::{clock, everything};

/// The plan calls both servers, and a worker writes down what they said. How they are installed: `mcp/rig.rs`.
#[tokio::test]
async fn a_run_uses_a_tool_from_npm_and_a_tool_from_pypi() {
    let node = json!(["node", everything().join("index.js"), "stdio"]);
    let python = json!([clock(), "--local-timezone", "UTC"]);
    let settings = format!(
        "planning: {{ enabled: true }}\napproval: {{ auto: nothing }}\ntools: {{ mcp_servers: {{ \
         everything: {{ command: {node} }}, time: {{ command: {python} }} }} }}\n"
    );
    let scene = Scene::on(ForgeKind::Github).await.settings(&settings);
    let noon = json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"});
    scene.model.say(
        "action_sequence",
        sequence(vec![
            tool("task_1", "everything/get-sum", Some(json!({"a": 40, "b": 2}))),
            tool("task_2", "time/convert_time", Some(noon)),
            action("task_3", "write", json!({"path": "notes/answers.md"})),
        ]),
    );
    let told = Arc::new(Mutex::new(String::new()));
    let worker = Arc::clone(&told);
    scene.model.always_say("worker_turn", move |asked| {
        worker.lock().unwrap().clone_from(&asked.user);
        writes("notes/answers.md", "42, and nine in the evening\n")
    });
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    assert!(scene.card().contains("waiting for approval of 3 actions"), "{}", scene.card());
    let asked = scene.model.requests();
    let planner = asked.iter().find(|asked| asked.schema_name == "action_sequence").unwrap();
    for name in ["everything/get-sum", "time/convert_time"] {
        assert!(planner.user.contains(name), "the planner does not know {name}");
    }
    bot.told(MARIA, "/approve").await;

    assert!(scene.card().contains("🚀 done"), "{}", scene.card());
    let ended = scene.entries("action_ended");
    let said: Vec<&str> = ended.iter().filter_map(|entry| entry["evidence"]["output"].as_str()).collect();
    assert!(said[0].contains("42") && said[1].contains("T21:00:00+09:00"), "{said:?}");
    let told = told.lock().unwrap().clone();
    assert!(told.contains("42") && told.contains("T21:00:00+09:00"), "the worker was told neither: {told}");
    let branch = scene.repo.work_branch();
    let written = scene.repo.read(&branch, "notes/answers.md");
    assert_eq!(written.as_deref(), Some("42, and nine in the evening\n"));
    assert!(change_of(&scene, &branch).open);
    bot.ends().await;
}

pub(crate) fn writes(path: &str, content: &str) -> Value {
    json!({
        "thought": "t", "tool": "write_file", "path": path, "content": content, "name": null,
        "arguments_json": null, "command": [],
        "feedback": {"type": "implementation", "result": "success", "changes": [], "notes": "written"},
    })
}

/// Each forge has its own name for who holds a token; without the right one the server lets nobody in.
#[tokio::test]
async fn a_repository_is_cloned_and_pushed_to_over_http_with_a_token() {
    for (kind, user, token) in
        [(ForgeKind::Github, "x-access-token", github::TOKEN), (ForgeKind::Gitlab, "oauth2", gitlab::TOKEN)]
    {
        let scene = Scene::on(kind).await;
        let server = Server::for_user(&scene.dir.path().join("git"), user, token).await;
        let scene = scene.git_at(&server.base);
        three_files(&scene);
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        bot.told(MARIA, "/approve").await;

        assert!(scene.card().contains("🚀 done"), "{kind}: {}", scene.card());
        let branch = scene.repo.work_branch();
        assert_eq!(scene.repo.messages(&branch).len(), 3, "{kind}");
        assert_eq!(scene.repo.read(&branch, "notes/3.md").as_deref(), Some("note 3\n"), "{kind}");
        assert!(change_of(&scene, &branch).open, "{kind}");
        let seen = server.seen();
        let ours = Some(basic_of(user, token));
        assert!(!seen.is_empty() && seen.iter().all(|auth| *auth == ours), "{kind}: {seen:?}");
        bot.ends().await;
    }
}

/// The actions need no server; handing over does, and waits for it.
#[tokio::test]
async fn a_git_server_that_is_away_for_a_while_costs_nothing_but_time() {
    let scene = Scene::on(ForgeKind::Github).await;
    let server = Server::for_user(&scene.dir.path().join("git"), "x-access-token", github::TOKEN).await;
    let scene = scene.git_at(&server.base);
    three_files(&scene);
    let policy = Policy { retry_after_ms: vec![50; 400], ..Policy::default() };
    let bot = scene.start_with(|ctx| ctx.policy = policy).await;
    bot.assigned(MARIA).await;
    server.feel(Mood::Refuses(503, "back soon"));
    let approval = scene.said(MARIA, "/approve");
    assert_eq!(scene.post(&bot.base, &scene.webhook(&approval)).await, 202);
    scene.until_seen("it cannot hand over", |scene| scene.entries("effect_failed").len() >= 2).await;
    assert_eq!((scene.entries("action_ended").len(), scene.repo.branches().len()), (3, 1));
    server.feel(Mood::Good);
    scene.until_seen("the end", |scene| scene.card().contains("🚀 done")).await;
    let branch = scene.repo.work_branch();
    assert_eq!(scene.repo.messages(&branch).len(), 3);
    assert!(change_of(&scene, &branch).open);
    bot.ends().await;
}
