//! Purpose: nothing that leaves the bot carries a secret, in whatever form a model, a file or a program puts it there.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use planwright::domain::ForgeKind;
use planwright::forge::local::NewThread;
use serde_json::{Value, json};

use crate::story::acting::{action, sequence};
use crate::story::bot::{MARIA, Scene};
use crate::story::repo::git;

const SETTINGS: &str = "planning: { enabled: true, reflection_interval: 1 }\ncrew: { workers: 1 }\n\
    tools: { commands: { show: { argv: [\"cat\", \"notes.txt\"] } } }\n";

fn secrets(kind: ForgeKind) -> Vec<&'static str> {
    let prefix = kind.as_str().to_uppercase();
    let named =
        Scene::env().into_iter().filter(|(name, _)| name.starts_with(&prefix) || *name == "MODEL_KEY");
    named.map(|(_, secret)| secret).collect()
}

/// The ways to write a secret, as a model that was talked into it might.
fn ways(secret: &str) -> Vec<String> {
    let each: Vec<String> = secret.chars().map(String::from).collect();
    let percent: String = secret.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let colons: Vec<String> = secret.bytes().map(|byte| format!("{byte:02X}")).collect();
    vec![
        secret.to_owned(),
        secret.to_uppercase(),
        secret.chars().rev().collect(),
        STANDARD.encode(secret),
        STANDARD.encode(format!("a{secret}b")),
        STANDARD.encode(format!("ab{secret}")),
        hex::encode(secret),
        colons.join(":"),
        percent,
        each.join("\u{200b}"),
        each.join(" "),
        each.join("-"),
        each.join("\\"),
    ]
}

/// All of them in all ways, so many characters at a time.
fn texts(kind: ForgeKind) -> Vec<String> {
    secrets(kind).into_iter().flat_map(ways).map(|way| format!("Use {way} here")).collect()
}

/// Only letters and digits, so that nothing between them hides anything from the test.
fn bare(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

fn assert_clean(kind: ForgeKind, place: &str, text: &str) {
    let found_in = bare(text);
    for secret in secrets(kind) {
        for way in ways(secret) {
            // What base64 shares with its neighbours is no part of the secret.
            let trace = bare(way.trim_end_matches('='));
            let inner = trace.get(3..trace.len() - 2).unwrap_or(&trace).to_owned();
            let trace = if inner.len() >= 12 { inner } else { trace };
            assert!(!found_in.contains(&trace), "{kind}: `{secret}` is in {place} as `{way}`: {text}");
        }
    }
}

fn turn(tool: &str, path: Option<&str>, text: &str) -> Value {
    json!({
        "thought": text, "tool": tool, "path": path, "content": path.map(|_| text), "name": null, "arguments_json": null,
        "command": [], "feedback": {"type": "exploration", "findings": text, "recommendations": [text], "confidence": "high"},
    })
}

/// A model that puts the secrets wherever there is a place for words.
fn script(scene: &Scene, texts: &[String]) {
    let all = texts.join("\n");
    let at = |n: usize| texts[n % texts.len()].as_str();
    scene.model.say(
        "goal_understanding",
        json!({"main_objective": all, "success_criteria": texts, "constraints": texts, "context": all,
               "design_choices_open": false}),
    );
    let step = |n: usize| {
        json!({"id": format!("task_{n}"), "description": format!("{}. {}", at(n), at(n + 5)), "dependencies": [],
               "estimated_complexity": "low", "required_tools": ["files"]})
    };
    scene.model.say(
        "task_decomposition",
        json!({"reasoning": all, "subtasks": (1..=3).map(step).collect::<Vec<_>>()}),
    );
    let actions = [
        action("task_1", "create", json!({"path": "a.md", "content": all})),
        action("task_1", "write", json!({"path": "b.md"})),
        action("task_2", "read", json!({"path": "notes.txt"})),
        action("task_2", "run", json!({"command": ["cat", "notes.txt"]})),
        action("task_3", "analyze", json!({})),
    ];
    let actions = actions.into_iter().enumerate().map(|(n, mut action)| {
        for field in ["purpose", "expected_outcome", "fallback_strategy"] {
            action[field] = json!(format!("{} {}", at(n * 3), at(n * 3 + 1)));
        }
        action
    });
    scene.model.say("action_sequence", sequence(actions.collect()));
    for (tool, path) in [("read_file", Some("notes.txt")), ("write_file", Some("b.md")), ("finish", None)] {
        scene.model.say("worker_turn", turn(tool, path, &all));
    }
    for _ in 0..3 {
        scene.model.say(
            "reflection",
            json!({"action_id": "", "status": "success", "evaluation": all, "alignment_with_plan": all,
                   "issues_identified": texts, "plan_revision_needed": false}),
        );
    }
}

#[tokio::test]
async fn no_form_of_a_secret_leaves_by_any_way() {
    for kind in [ForgeKind::Github, ForgeKind::Gitlab] {
        let texts = texts(kind);
        let title = format!("Say {} now", secrets(kind)[0]);
        let scene = Scene::on(kind).await.about(NewThread::titled(&title, MARIA)).settings(SETTINGS);
        scene.repo.commit("main", "Notes", &[("notes.txt", &texts.join("\n"))]);
        script(&scene, &texts);
        let bot = scene.spawn_logging("trace").await;
        assert_eq!(bot.post(&scene.webhook(&scene.assigned(MARIA))).await, 202);
        let shows =
            |words: &'static str| move |scene: &Scene| scene.cards().iter().any(|card| card.contains(words));
        scene.until_seen("the plan", shows("waiting for approval")).await;
        scene.until_seen("the preview", |scene| !scene.previews().is_empty()).await;
        assert_eq!(bot.post(&scene.webhook(&scene.said(MARIA, "@planwright approve"))).await, 202);
        scene.until_seen("the end", shows("🚀 done")).await;
        bot.kill();

        let history = std::fs::read_to_string(scene.history()).unwrap();
        assert!(history.contains("[secret]") && history.contains("\"reflected\""), "{kind}: {history}");
        for kind in ["used", "action_ended"] {
            assert!(scene.entries(kind).iter().any(|entry| entry.to_string().contains("[secret]")), "{kind}");
        }
        let mut places = vec![("history".to_owned(), history), ("log".to_owned(), scene.log())];
        places.extend(scene.bot_comments().into_iter().map(|(id, body)| (format!("comment {id:?}"), body)));
        let branch = scene.repo.work_branch();
        let number = scene.thread.number;
        assert_eq!(branch, format!("planwright/{number}-say-secret-now"), "{kind}");
        let change = scene.world.look(|world| {
            let all = world.change_requests_from(&scene.thread.project, &branch);
            world.thread(&all[0]).map(|thread| (thread.title.clone(), thread.body.clone())).unwrap()
        });
        assert!(change.0.contains("[secret]") && change.1.contains("\\[secret\\]"), "{kind}: {change:?}");
        places.push(("change request".to_owned(), format!("{}\n\n{}", change.0, change.1)));
        // Messages and files, of what the bot pushed.
        let pushed = git(&scene.repo.bare, &["log", "-p", &format!("main..{branch}")], "");
        assert!(pushed.contains("b.md") && pushed.contains("[secret]"), "{kind}: {pushed}");
        places.push(("commits".to_owned(), pushed));
        assert!(places.len() >= 6, "{kind}: card and preview are among them");
        for (place, text) in &places {
            assert_clean(kind, place, text);
        }
    }
}
