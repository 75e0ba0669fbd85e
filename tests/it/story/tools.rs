//! Purpose: tools of MCP servers and commands in a run: who is asked, what is filled in, what happens when they change,
//! fail, hang, or are running when the bot dies.

use std::path::Path;

use planwright::domain::ForgeKind;
use planwright::planning::Policy;
use serde_json::{Value, json};

use super::acting::{action, sequence};
use super::bot::{FACES, MARIA, Scene};
use crate::mcp::rig::{hash_of, odd, process_words};
use crate::scripted_model::Asked;

/// Settings with a small MCP server of ours, `odd`, of which they say `more`, and some commands.
fn settings(how: &str, dir: &Path, more: &str) -> String {
    let odd = json!(process_words(&odd(how, &dir.join("diary"))));
    // Long enough for it to start on a busy machine, short enough to wait for in vain.
    let seconds = if how == "stalling" { 8 } else { 20 };
    format!(
        "planning: {{ enabled: true }}\ntools:\n  mcp_servers: {{ odd: {{ command: {odd}, timeout_seconds: {seconds}, \
         pass_env: [ODD_KEY]{more} }} }}\n  paths: {{ deny: ['.git/**', 'vault/**'] }}\n  \
         commands:\n    build: {{ argv: {} }}\n    spoil: {{ argv: {} }}\n    sleep: {{ argv: {}, timeout_seconds: 1 }}\n    \
         steer: {{ argv: {} }}\n    agent: {{ argv: {} }}\n    break_in: {{ argv: {} }}\n",
        json!(BUILD),
        json!(SPOIL),
        json!(SLEEP),
        json!(STEER),
        json!(AGENT),
        json!(BREAK_IN),
    )
}

const BUILD: [&str; 3] = ["sh", "-c", "echo built > out.txt"];
const SPOIL: [&str; 3] = ["sh", "-c", "echo half > out.txt; echo no luck; exit 3"];
const SLEEP: [&str; 2] = ["sleep", "60"];
const STEER: [&str; 3] =
    ["sh", "-c", "mkdir -p .github/workflows; echo on > .github/workflows/x.yml; echo built > out.txt"];
const AGENT: [&str; 3] = ["sh", "-c", "echo built > out.txt; echo obey > CLAUDE.md"];
const BREAK_IN: [&str; 3] = ["sh", "-c", "echo built > out.txt; mkdir vault; echo x > vault/door"];

/// What an operator writes about a tool of `odd` after a look at it: it is pinned, and it only looks.
async fn vouched(how: &str, tool: &str) -> String {
    format!(", pins: {{ {tool}: '{}' }}, read_only: [{tool}]", hash_of(how, tool).await)
}

async fn scene(actions: Vec<Value>) -> Scene {
    scene_with("good", "", actions).await
}

async fn scene_with(how: &str, more: &str, actions: Vec<Value>) -> Scene {
    scene_on(ForgeKind::Github, how, more, actions).await
}

async fn scene_on(kind: ForgeKind, how: &str, more: &str, actions: Vec<Value>) -> Scene {
    let scene = Scene::on(kind).await;
    let settings = settings(how, scene.dir.path(), more);
    let mut all = actions;
    let used: Vec<Value> = all.iter().map(|action| action["task_id"].clone()).collect();
    for n in 1..=3 {
        let task = format!("task_{n}");
        if !used.contains(&json!(task)) {
            all.push(action(&task, "analyze", json!({})));
        }
    }
    scene.model.always_say("action_sequence", move |_| sequence(all.clone()));
    scene.settings(&settings)
}

pub(crate) fn tool(task: &str, name: &str, arguments: Option<Value>) -> Value {
    let arguments = arguments.map(|arguments| arguments.to_string());
    let mut tool = action(task, "tool", json!({"arguments_json": arguments}));
    tool["tool"] = json!(name);
    tool
}

fn turn(tool: &str, name: &str, arguments: &Value) -> Value {
    json!({
        "thought": "t", "tool": tool, "path": null, "content": null, "name": name,
        "arguments_json": arguments.to_string(), "command": [],
        "feedback": {"type": "exploration", "findings": "seen", "recommendations": [], "confidence": "high"},
    })
}

fn outputs(scene: &Scene) -> Vec<String> {
    let ended = scene.entries("action_ended");
    ended.iter().filter_map(|entry| entry["evidence"]["output"].as_str().map(str::to_owned)).collect()
}

#[tokio::test]
async fn what_a_tool_answers_is_kept() {
    let scene = scene(vec![tool("task_1", "odd/paint", Some(json!({})))]).await;
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    assert!(scene.card().contains("waiting for approval of 1 action"), "{}", scene.card());
    bot.told(MARIA, "/approve").await;
    assert!(scene.card().contains("🚀 done"), "{}", scene.card());
    assert_eq!(outputs(&scene), ["red password done"], "nothing invisible came along");
    bot.ends().await;
}

/// What is said about `echo`: by its server (`how`), about the server, in rules, and in the repository.
#[derive(Default)]
struct Said<'a> {
    how: &'a str,
    more: &'a str,
    rules: String,
    repo_file: &'a str,
}

/// How risky the call is to those who are asked about it. If nobody is asked, it was made.
async fn asked(forge: ForgeKind, said: &Said<'_>, arguments: Option<Value>) -> Option<String> {
    let how = if said.how.is_empty() { "good" } else { said.how };
    let scene = scene_on(forge, how, said.more, vec![tool("task_1", "odd/echo", arguments)]).await;
    let all = settings(how, scene.dir.path(), said.more);
    let scene = scene.settings(&format!("{all}{}", said.rules));
    scene.repo_file(said.repo_file);
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let previews = scene.previews();
    let asked = previews.first().map(|(_, preview)| {
        let line = preview.lines().find(|line| line.contains("`odd/echo`")).unwrap();
        line.split(" · ").nth(1).unwrap().replace("**", "")
    });
    let state = if asked.is_some() { "waiting for approval of 1 action" } else { "🚀 done" };
    assert!(scene.card().contains(state), "{}", scene.card());
    assert_eq!(calls(&scene), usize::from(asked.is_none()), "{asked:?}");
    bot.ends().await;
    asked
}

/// Its server says that `echo` only looks. Nobody is asked only if the operator says so of the very tool, in the file of
/// the server, and the plan says what the tool is called with.
#[tokio::test]
async fn that_a_tool_only_looks_is_for_the_operator_to_say() {
    let (vouched, fierce) = (vouched("good", "echo").await, vouched("fierce", "echo").await);
    let pinned = vouched.split(", read_only").next().unwrap();
    let rule = |project: &str| {
        let odd = &vouched[2..];
        format!("repos: [{{ match: '*:{project}/**', tools: {{ mcp_servers: {{ odd: {{ {odd} }} }} }} }}]\n")
    };
    let itself = "tools: { mcp_servers: { odd: { read_only: [echo] } } }\n";
    let less = "tools: { mcp_servers: { odd: { read_only: [] } } }\n";
    let by_default = Said::default;
    let changes = Some("medium: a tool that may change things");
    let is_open = Some("medium: the settings say that it only looks, but its arguments are open");
    let destroys = Some("high: a tool that may destroy");
    let given = || Some(json!({"text": "hello"}));
    for (said, arguments, risk) in [
        (by_default(), given(), changes),
        (Said { more: pinned, repo_file: itself, ..by_default() }, given(), changes),
        (Said { more: &vouched, ..by_default() }, given(), None),
        (Said { more: &vouched, ..by_default() }, None, is_open),
        (Said { more: &vouched, repo_file: less, ..by_default() }, given(), changes),
        (Said { rules: rule("acme"), ..by_default() }, given(), None),
        (Said { rules: rule("other"), ..by_default() }, given(), changes),
        (Said { how: "fierce", more: &fierce, ..by_default() }, given(), destroys),
    ] {
        let tried = FACES.map(|forge| asked(forge, &said, arguments.clone()));
        let found = futures_util::future::join_all(tried).await;
        let case = (said.how, said.more, &said.rules, said.repo_file, arguments);
        assert_eq!(found.iter().map(Option::as_deref).collect::<Vec<_>>(), [risk; 2], "{case:?}");
    }
}

/// What the settings let through before they changed is looked at again.
#[tokio::test]
async fn a_word_that_is_taken_back_counts_no_more() {
    for forge in FACES {
        let actions = vec![
            action("task_1", "create", json!({"path": "a.md", "content": "a"})),
            tool("task_2", "odd/echo", Some(json!({"text": "hello"}))),
        ];
        let scene = scene_on(forge, "good", &vouched("good", "echo").await, actions).await;
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        assert!(scene.card().contains("waiting for approval of 1 action"), "{}", scene.card());
        bot.stops().await;
        // A bot that starts reads the file anew.
        scene.repo_file("tools: { mcp_servers: { odd: { read_only: [] } } }\n");
        let bot = scene.start().await;
        bot.told(MARIA, "/approve").await;
        bot.told(MARIA, "/approve").await;
        let begun: Vec<Value> = scene.entries("action_begun").iter().map(|e| e["action"].clone()).collect();
        assert_eq!((begun, calls(&scene)), (vec![json!("a1")], 0), "{}", scene.card());
        let (_, preview) = scene.previews().pop().unwrap();
        assert!(preview.contains("what the settings say about its tool"), "{preview}");
        assert!(preview.contains("medium: a tool that may change things"), "{preview}");
        bot.told(MARIA, "/approve").await;
        assert!(scene.card().contains("🚀 done"), "{}", scene.card());
        assert_eq!(outputs(&scene), ["hello"]);
        bot.ends().await;
    }
}

/// A rule that pins a tool changes nothing else about its server, and holds where it matches.
#[tokio::test]
async fn a_pin_of_a_rule_holds_for_its_repositories() {
    let right = hash_of("good", "echo").await;
    for (pattern, pin, says) in [
        ("github:acme/*", right.as_str(), "🚀 done"),
        ("github:acme/*", "0", "there is no tool `odd/echo` here"),
        ("github:other/*", "0", "🚀 done"),
    ] {
        let scene = scene(vec![tool("task_1", "odd/echo", Some(json!({"text": "hello"})))]).await;
        let settings = format!("{}approval: {{ auto: medium }}\n", settings("good", scene.dir.path(), ""));
        let rule = format!(
            "{{ match: '{pattern}', tools: {{ mcp_servers: {{ odd: {{ pins: {{ echo: '{pin}' }} }} }} }} }}"
        );
        let scene = scene.settings(&format!("{settings}repos: [{rule}]\n"));
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        assert!(scene.card().contains(says), "{pattern} {pin}: {}", scene.card());
        let asked = scene.model.requests();
        let planned = asked.iter().find(|asked| asked.schema_name == "action_sequence").unwrap();
        assert_eq!(planned.user.contains("odd/echo"), says == "🚀 done", "{pattern} {pin}: {}", planned.user);
        bot.ends().await;
    }
}

/// The plan leaves the arguments open; the worker is shown the schema, and held to this one tool.
#[tokio::test]
async fn a_worker_fills_in_the_arguments_of_a_tool() {
    let scene = scene(vec![tool("task_1", "odd/echo", None)]).await;
    scene.model.say("worker_turn", turn("call_tool", "odd/env", &json!({})));
    scene.model.say("worker_turn", turn("call_tool", "odd/echo", &json!({"text": "filled in"})));
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    bot.told(MARIA, "/approve").await;
    assert!(scene.card().contains("🚀 done"), "{}", scene.card());
    assert_eq!(outputs(&scene), ["filled in"]);
    let refused: Vec<Value> =
        scene.entries("used").into_iter().filter(|entry| entry["refused"] == true).collect();
    assert_eq!(refused.len(), 1, "{refused:?}");
    let asked = scene.model.requests();
    let worker = asked.iter().find(|asked: &&Asked| asked.schema_name == "worker_turn").unwrap();
    assert!(
        worker.user.contains("The arguments that \"odd/echo\" takes, as its server puts it:\n<<<"),
        "{}",
        worker.user
    );
    bot.ends().await;
}

/// The first tool makes the server describe the second one differently: what was approved is no longer what is there.
#[tokio::test]
async fn a_tool_that_changes_after_the_approval_is_asked_for_again() {
    let scene = scene(vec![
        tool("task_1", "odd/twist", Some(json!({}))),
        tool("task_2", "odd/echo", Some(json!({"text": "hello"}))),
    ])
    .await;
    scene.repo_file("approval: { auto: nothing }\n");
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    bot.told(MARIA, "/approve").await;
    let begun: Vec<Value> = scene.entries("action_begun").iter().map(|e| e["action"].clone()).collect();
    assert_eq!(begun, ["a1"], "{}", scene.card());
    let previews = scene.previews();
    assert_eq!(previews.len(), 2, "{}", scene.card());
    assert!(previews[1].1.contains("the tool behind it"), "{}", previews[1].1);
    bot.told(MARIA, "/approve").await;
    assert!(scene.card().contains("🚀 done"), "{}", scene.card());
    bot.ends().await;
}

/// Nobody knows whether a tool did its work when the bot died in the middle; it is not called again unasked.
#[tokio::test]
async fn a_tool_call_that_a_crash_interrupts_is_not_repeated_unasked() {
    let scene = scene(vec![tool("task_1", "odd/wait", Some(json!({})))]).await;
    let bot = scene.spawn().await;
    let event = scene.assigned(MARIA);
    assert_eq!(bot.post(&scene.webhook(&event)).await, 202);
    scene.until_seen("the preview", |scene| scene.entries("preview_posted").len() == 1).await;
    let approval = scene.said(MARIA, "/approve");
    assert_eq!(bot.post(&scene.webhook(&approval)).await, 202);
    let calls = || calls(&scene);
    scene.until_seen("the tool is called", |_| calls() == 1).await;
    bot.kill();
    let bot = scene.spawn().await;
    scene.until_seen("it says so", |scene| scene.entries("action_interrupted").len() == 1).await;
    scene.until_seen("on the card too", |scene| scene.card().contains("/resume")).await;
    assert_eq!(calls(), 1, "it was called again");
    let resume = scene.said(MARIA, "/resume");
    assert_eq!(bot.post(&scene.webhook(&resume)).await, 202);
    scene.until_seen("it is called once more", |_| calls() == 2).await;
    assert_eq!(scene.entries("action_begun").len(), 2);
}

/// How often a tool of the server was called.
fn calls(scene: &Scene) -> usize {
    let diary = std::fs::read_to_string(scene.dir.path().join("diary")).unwrap_or_default();
    diary.lines().filter(|line| *line == "tools/call").count()
}

/// Looking twice does no harm, but that a tool only looks is for the operator to say.
#[tokio::test]
async fn a_call_that_only_looks_is_repeated_after_a_crash() {
    let more = vouched("good", "wait").await;
    let scene = scene_with("good", &more, vec![tool("task_1", "odd/wait", Some(json!({})))]).await;
    let bot = scene.spawn().await;
    let event = scene.assigned(MARIA);
    assert_eq!(bot.post(&scene.webhook(&event)).await, 202);
    scene.until_seen("the tool is called", |scene| calls(scene) == 1).await;
    bot.kill();
    let _bot = scene.spawn().await;
    scene.until_seen("it is called again", |scene| calls(scene) == 2).await;
    assert_eq!(scene.entries("action_interrupted"), Vec::<Value>::new());
}

#[tokio::test]
async fn what_a_command_changes_is_committed_and_a_failing_one_leaves_nothing() {
    let run = |command: &[&str]| action("task_1", "run", json!({"command": command}));
    for (command, says, out) in [
        (&BUILD[..], "🚀 done", Some("built\n")),
        (&SPOIL[..], "😕 failed. Action 1 failed: it ended with exit code 3.", None),
        (&SLEEP[..], "😕 failed. Action 1 failed: it took too long and was ended.", None),
    ] {
        let scene = scene(vec![run(command)]).await;
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        assert!(scene.card().contains("waiting for approval of 1 action"), "{command:?}: {}", scene.card());
        bot.told(MARIA, "/approve").await;
        assert!(scene.card().contains(says), "{command:?}: {}", scene.card());
        match out {
            Some(text) => {
                let branch = scene.repo.work_branch();
                assert_eq!(scene.repo.read(&branch, "out.txt").as_deref(), Some(text));
                assert_eq!(scene.repo.messages(&branch).len(), 1);
            }
            None => assert_eq!(scene.repo.branches(), ["main"], "{command:?}"),
        }
        bot.ends().await;
    }
}

/// What steers CI or agents, or lies where the settings let nobody in, is kept only if the approved action names it.
#[tokio::test]
async fn a_command_leaves_nothing_where_it_was_not_let() {
    for (command, path) in
        [(STEER, ".github/workflows/x.yml"), (AGENT, "CLAUDE.md"), (BREAK_IN, "vault/door")]
    {
        let scene = scene(vec![
            action("task_1", "run", json!({"command": command})),
            action("task_2", "create", json!({"path": "b.md", "content": "b"})),
        ])
        .await;
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        bot.told(MARIA, "/approve").await;
        let says = format!("Action 1 failed: it changed `{path}`, which only an action may do that names it");
        assert!(scene.card().contains(&says), "{}", scene.card());
        assert_eq!(scene.repo.branches(), ["main"], "{path}: nothing was pushed");
        bot.ends().await;
    }
}

/// A server works outside of every cage; what it leaves in the checkout is looked at all the same.
#[tokio::test]
async fn a_tool_leaves_nothing_where_it_was_not_let() {
    for (left, kept) in [("out.txt\nnotes/a.md", true), ("out.txt\nvault/door", false)] {
        let scene = scene_with("leaving", "", vec![]).await;
        let text = format!("{}\n{left}", scene.dir.path().join("work").display());
        scene.model.say(
            "action_sequence",
            sequence(vec![
                tool("task_1", "odd/leave", Some(json!({"text": text}))),
                action("task_2", "analyze", json!({})),
                action("task_3", "analyze", json!({})),
            ]),
        );
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        bot.told(MARIA, "/approve").await;
        if kept {
            assert!(scene.card().contains("🚀 done"), "{}", scene.card());
            let branch = scene.repo.work_branch();
            assert_eq!(scene.repo.read(&branch, "notes/a.md").as_deref(), Some("left\n"));
        } else {
            let says = "Action 1 failed: it changed `vault/door`, which only an action may do that names it";
            assert!(scene.card().contains(says), "{}", scene.card());
            assert_eq!(scene.repo.branches(), ["main"], "nothing was pushed");
            let ended = scene.entries("action_ended");
            assert!(ended[0]["evidence"]["commit"].is_null(), "nothing was committed: {ended:?}");
        }
        bot.ends().await;
    }
}

/// The server says the key that it was given, in its answer and where a model may copy it from.
#[tokio::test]
async fn the_secret_of_a_server_goes_nowhere() {
    let (_, secret) = Scene::env().into_iter().find(|(name, _)| *name == "ODD_KEY").unwrap();
    let scene = scene(vec![
        tool("task_1", "odd/env", Some(json!({}))),
        action("task_2", "write", json!({"path": "notes/out.md"})),
    ])
    .await;
    let mut write = turn("write_file", "", &json!({}));
    (write["path"], write["content"]) = (json!("notes/out.md"), json!(format!("It is {secret}.\n")));
    scene.model.say("worker_turn", write);
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    bot.told(MARIA, "/approve").await;
    assert!(scene.card().contains("🚀 done"), "{}", scene.card());
    assert!(outputs(&scene)[0].contains("ODD_KEY=[secret]"), "{:?}", outputs(&scene));
    let branch = scene.repo.work_branch();
    let pushed = super::repo::git(&scene.repo.bare, &["log", "-p", &format!("main..{branch}")], "");
    let mut places =
        vec![("commits", pushed), ("history", std::fs::read_to_string(scene.history()).unwrap())];
    places.extend(scene.bot_comments().into_iter().map(|(_, body)| ("comment", body)));
    places.extend(scene.model.requests().into_iter().map(|asked| ("prompt", asked.user)));
    for (place, text) in places {
        assert!(!text.contains(secret), "{place}: {text}");
    }
    bot.ends().await;
}

/// While a server is left alone after a failure, what needs it waits; it does not fail.
#[tokio::test]
async fn an_action_waits_for_a_server_that_comes_back() {
    let mut first = tool("task_1", "odd/echo", Some(json!({"text": "one"})));
    first["optional"] = json!(true);
    let scene = scene_with(
        "frail",
        &vouched("frail", "echo").await,
        vec![first, tool("task_2", "odd/echo", Some(json!({"text": "two"})))],
    )
    .await;
    let often = Policy { retry_after_ms: vec![500; 60], ..Policy::default() };
    let bot = scene.start_with(|ctx| ctx.policy = often).await;
    bot.hears(&scene.assigned(MARIA)).await;
    scene.until_seen("the end", |scene| scene.cards().iter().any(|card| card.contains("🚀 done"))).await;
    let ended: Vec<Value> =
        scene.entries("action_ended").iter().map(|e| e["outcome"]["result"].clone()).collect();
    assert_eq!(ended[..2], ["failed", "succeeded"], "{}", scene.card());
    assert!(outputs(&scene).contains(&"two".to_owned()));
    let waited = scene.entries("effect_failed");
    assert!(!waited.is_empty() && waited.iter().all(|entry| entry["problem"] == "passing"), "{waited:?}");
    bot.stops().await;
}

/// A server that goes away or hangs is an error that the worker is told of, and can go on from.
#[tokio::test]
async fn a_server_that_breaks_down_is_an_error_for_the_worker() {
    for (how, says) in [("frail", "before it answered"), ("stalling", "no answer within 8 s")] {
        let mut echo = tool("task_1", "odd/echo", None);
        echo["optional"] = json!(true);
        let scene = scene_with(how, &vouched(how, "echo").await, vec![echo]).await;
        scene.model.say("worker_turn", turn("call_tool", "odd/echo", &json!({"text": "hello"})));
        scene.model.say("worker_turn", turn("finish", "odd/echo", &json!({})));
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        assert_eq!(scene.post(&bot.base, &scene.webhook(&scene.said(MARIA, "/approve"))).await, 202);
        let over = |card: &String| card.contains("🚀 done") || card.contains("😕 failed");
        scene.until_seen("the end", |scene| scene.cards().iter().any(over)).await;
        assert!(scene.card().contains("🚀 done"), "{how}: {}", scene.card());
        let used = scene.entries("used");
        assert_eq!((used.len(), &used[0]["refused"]), (1, &json!(false)), "{how}: {used:?}");
        let asked = scene.model.requests();
        let turns: Vec<&Asked> = asked.iter().filter(|asked| asked.schema_name == "worker_turn").collect();
        assert!(turns[1].user.contains(says), "{how}: {}", turns[1].user);
        bot.quiet().await;
        bot.ends().await;
    }
}

/// The settings let through what does not destroy; a tool says that of itself, and when it changes, its word is worth
/// nothing.
#[tokio::test]
async fn a_harmless_tool_that_changes_is_shown_to_a_person() {
    let scene = scene(vec![
        tool("task_1", "odd/twist", Some(json!({}))),
        tool("task_2", "odd/echo", Some(json!({"text": "hello"}))),
        tool("task_3", "odd/echo", Some(json!({"text": "again"}))),
    ])
    .await;
    let settings = settings("good", scene.dir.path(), "");
    let scene = scene.settings(&format!("{settings}approval: {{ auto: medium }}\n"));
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    assert!(scene.card().contains("waiting for approval of 1 action"), "{}", scene.card());
    bot.told(MARIA, "/approve").await;
    assert!(outputs(&scene) == ["done"], "{:?}: {}", outputs(&scene), scene.card());
    let previews = scene.previews();
    assert_eq!(previews.len(), 2, "{}", scene.card());
    assert!(previews[1].1.contains("the tool behind it"), "{}", previews[1].1);
    bot.told(MARIA, "/approve").await;
    assert!(scene.card().contains("🚀 done"), "{}", scene.card());
    assert_eq!(outputs(&scene), ["done", "hello", "again"], "and what a person has seen is known");
    bot.ends().await;
}
