//! Purpose: the commands that people type, as the real binary answers them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use planwright::domain::ForgeKind;
use serde_json::Value;

use super::bot::Scene;

/// Runs beside the fakes, which answer from this process.
async fn output(command: Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } =
        tokio::process::Command::from(command).kill_on_drop(true).output().await.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

fn planwright(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_planwright"));
    command.env_clear().args(arguments);
    command
}

/// The one file of this name below the directory.
fn find(dir: &Path, name: &str) -> PathBuf {
    let mut found = vec![];
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.ends_with(name) {
                found.push(path);
            }
        }
    }
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// No account, key, network or settings: the demo ends well, and what it leaves behind can be looked at.
#[tokio::test]
async fn the_demo_ends_well_and_leaves_something_to_look_at() {
    let dir = tempfile::tempdir().unwrap();
    let mut demo = planwright(&["demo"]);
    demo.env("TMPDIR", dir.path()).current_dir(dir.path());
    let (code, told, complaints) = output(demo).await;
    assert_eq!((code, complaints.as_str()), (Some(0), ""), "{told}");
    for part in [
        "@ada assigns @planwright",
        "webhook, signed → 202",
        "Execution Plan",
        "paused by @ada",
        "one card",
        "hash chain sound",
    ] {
        assert!(told.contains(part), "`{part}` is not in {told}");
    }

    let config = find(dir.path(), "config.yaml");
    let ask = async |arguments: &[&str]| {
        let mut command = planwright(arguments);
        command.arg("--config").arg(&config);
        output(command).await
    };
    let (code, runs, _) = ask(&["runs", "list", "--json"]).await;
    let runs: Value = serde_json::from_str(&runs).unwrap();
    assert_eq!(
        (code, &runs[0]["thread"], &runs[0]["requester"]),
        (Some(0), &"local:greeter#1".into(), &"ada".into())
    );
    let (code, card, _) = ask(&["runs", "show", "local:greeter#1"]).await;
    assert!(
        code == Some(0) && card.contains("asked for by @ada") && card.contains("Execution Plan"),
        "{card}"
    );
    assert_eq!(ask(&["runs", "show", "local:greeter#2"]).await.0, Some(1));

    let history = find(dir.path(), "1.jsonl");
    let lines = std::fs::read_to_string(&history).unwrap();
    assert_eq!(ask(&["history", "export", "local:greeter#1"]).await, (Some(0), lines.clone(), String::new()));
    let (code, shown, _) = ask(&["history", "show", "local:greeter#1", "--json"]).await;
    assert!(code == Some(0) && lines.ends_with(&shown) && !shown.is_empty(), "{shown}");
    assert_eq!(ask(&["history", "verify"]).await.0, Some(0));

    // Somebody makes it @eve who asked; the last line still looks well by itself.
    std::fs::write(&history, lines.replacen("\"ada\"", "\"eve\"", 1)).unwrap();
    let (code, says, _) = ask(&["history", "verify", "local:greeter#1"]).await;
    assert!(code == Some(1) && says.contains("line 1, byte 0: does not match its hash"), "{says}");
    let (code, _, complaints) = ask(&["history", "show", "local:greeter#1", "--newest", "1000"]).await;
    assert!(code == Some(1) && complaints.contains("it does not match its hash"), "{complaints}");
}

#[tokio::test]
async fn doctor_finds_everything_in_order() {
    for kind in [ForgeKind::Github, ForgeKind::Gitlab] {
        let scene = Scene::on(kind).await;
        let project = scene.thread.project.to_string();
        let command = scene.command("127.0.0.1:0", &["doctor", "--json", "--repo", &project]);
        let (code, told, complaints) = output(command).await;
        let findings: Vec<Value> = serde_json::from_str(&told).unwrap();
        let bad: Vec<&Value> = findings.iter().filter(|finding| finding["health"] == "bad").collect();
        assert!(code == Some(0) && bad.is_empty(), "{kind}: {bad:?} {complaints}");
        for part in [
            "the webhook secret is set",
            "can be opened",
            "I am @planwright",
            "I have write permission",
            "planning is switched on",
            "the model `default` answers",
        ] {
            let found = findings.iter().any(|finding| finding["what"].as_str().unwrap().contains(part));
            assert!(found, "{kind}: `{part}` is not in {told}");
        }
    }
}

#[tokio::test]
async fn what_is_not_understood_is_said_with_code_2() {
    let (code, told, complaints) = output(planwright(&["serv"])).await;
    assert!(code == Some(2) && told.is_empty() && complaints.contains("serve"), "{complaints}");
}
