//! Purpose: a secret never leaves: whoever repeats one to us, it is in no comment, no log, no history, no database.

use std::path::Path;

use planwright::domain::ForgeKind;
use serde_json::json;

use super::bot::{MARIA, Scene};
use crate::fake_forge::Fault;
use crate::scripted_model::Misbehaviour;

/// The secrets that the settings of a scene on this forge name.
fn secrets(kind: ForgeKind) -> Vec<&'static str> {
    let prefix = kind.as_str().to_uppercase();
    let named =
        Scene::env().into_iter().filter(|(name, _)| name.starts_with(&prefix) || *name == "MODEL_KEY");
    named.map(|(_, secret)| secret).collect()
}

/// The forge and the model repeat our credentials in their errors, and the model writes them into its plan.
#[tokio::test]
async fn secrets_that_come_back_to_us_go_nowhere() {
    for (kind, comments) in [(ForgeKind::Github, "/comments"), (ForgeKind::Gitlab, "/notes")] {
        let scene = Scene::on(kind).await;
        let bot = scene.spawn_logging("trace").await;
        scene.fault(http::Method::GET, "/acme", Fault::Echo(502), 2);
        scene.fault(http::Method::POST, comments, Fault::Echo(502), 1);
        let all = secrets(kind).join(" and ");
        scene.model.misbehave(Misbehaviour::Status(500, json!({"error": {"message": all}}).to_string()));
        scene.model.say("goal_understanding", goal(&format!("Use {all}, `{all}`")));
        let event = scene.assigned(MARIA);
        assert_eq!(bot.post(&scene.webhook(&event)).await, 202);
        let is_ready = |scene: &Scene| scene.cards().iter().any(|card| card.contains("waiting for approval"));
        scene.until_seen("the plan", is_ready).await;
        bot.kill();

        assert!(scene.card().contains("`[secret] and [secret]"), "the plan kept its form: {}", scene.card());
        let log = scene.log();
        assert!(log.contains("who is ") && log.contains("[secret]?"), "the echo was logged: {log}");
        let mut places = files(scene.dir.path());
        assert!(places.len() >= 4, "log, database and history: {:?}", places.iter().map(|p| &p.0));
        places.extend(
            scene.bot_comments().into_iter().map(|(_, body)| ("a comment".into(), body.into_bytes())),
        );
        for (place, bytes) in &places {
            for secret in secrets(kind) {
                let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
                assert!(!found, "{kind}: `{secret}` is in {place}");
            }
        }
    }
}

#[tokio::test]
async fn doctor_does_not_repeat_what_a_forge_repeats() {
    for kind in [ForgeKind::Github, ForgeKind::Gitlab] {
        let scene = Scene::on(kind).await;
        scene.fault(http::Method::GET, "/user", Fault::Echo(401), 1);
        let mut doctor = tokio::process::Command::from(scene.command("127.0.0.1:0", &["doctor"]));
        let told = doctor.output().await.unwrap();
        let text =
            format!("{}{}", String::from_utf8_lossy(&told.stdout), String::from_utf8_lossy(&told.stderr));
        assert!(!told.status.success() && text.contains("[secret]?"), "{text}");
        assert!(text.contains("make new ones"), "it says what to do: {text}");
        assert!(secrets(kind).iter().all(|secret| !text.contains(secret)), "{text}");
    }
}

/// Without a secret anybody could send deliveries; with a wrong signing token nobody could.
#[tokio::test]
async fn the_server_does_not_start_without_the_secrets_it_needs() {
    let signed =
        "forges: { gitlab: { signing_token_env: SIGNING } }\nmodels: { default: { provider: offline } }\n";
    for (kind, name, value, says) in [
        (ForgeKind::Github, "GITHUB_WEBHOOK_SECRET", "", "`GITHUB_WEBHOOK_SECRET` is empty or not set"),
        (ForgeKind::Gitlab, "GITLAB_WEBHOOK_SECRET", " ", "`GITLAB_WEBHOOK_SECRET` is empty or not set"),
        (ForgeKind::Local, "PLANWRIGHT_LOCAL_SECRET", "", "`PLANWRIGHT_LOCAL_SECRET` is empty or not set"),
        (ForgeKind::Github, "GITHUB_TOKEN", "", "`GITHUB_TOKEN` is empty or not set"),
        (ForgeKind::Gitlab, "SIGNING", "not-base64!", "`SIGNING` holds no signing token"),
    ] {
        let scene = Scene::on(kind).await;
        let mut serve = scene.command("127.0.0.1:0", &["serve"]);
        if name == "SIGNING" {
            std::fs::write(scene.dir.path().join("config.yaml"), signed).unwrap();
        }
        let mut serve = tokio::process::Command::from({
            serve.env(name, value).current_dir(scene.dir.path());
            serve
        });
        let told = serve.kill_on_drop(true).output().await.unwrap();
        let text = String::from_utf8_lossy(&told.stderr);
        assert!(told.status.code() == Some(1) && text.contains(says), "{kind} {name}: {text}");
        assert!(value.trim().is_empty() || !text.contains(value), "{text}");
    }
}

fn goal(text: &str) -> serde_json::Value {
    json!({"main_objective": text, "success_criteria": [], "constraints": [], "context": text, "design_choices_open": false})
}

/// All files below the directory but the settings, by name.
fn files(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = vec![];
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_none_or(|end| end != "yaml") {
            found.push((path.display().to_string(), std::fs::read(&path).unwrap()));
        }
    }
    found
}
