//! Purpose: the commands around acting: simulate without a trace, explain in plain words, export whole plans.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use planwright::domain::ForgeKind;
use serde_json::{Value, json};

use crate::cli::{Said, call, json as parsed, outcome};
use crate::scripted_model::Misbehaviour;
use crate::story::acting::{action, sequence, three_files};
use crate::story::bot::{ALL, MARIA, Scene, TOM};

/// The program on a scene, with what it says.
pub(crate) async fn on(scene: &Scene, args: &[&str]) -> Said {
    let mut command = scene.command("127.0.0.1:0", args);
    tokio::task::spawn_blocking(move || outcome(&mut command)).await.unwrap()
}

/// Every file below a folder with its content, to see whether anything changed.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.insert(path.display().to_string(), std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

#[tokio::test]
async fn simulate_shows_card_and_preview_and_leaves_no_trace() {
    for kind in [ForgeKind::Github, ForgeKind::Gitlab] {
        let scene = Scene::on(kind).await;
        three_files(&scene);
        let thread = scene.thread.to_string();
        scene.command("127.0.0.1:0", &[]);
        let (before, world) = (files(scene.dir.path()), scene.world.look(|world| format!("{world:?}")));
        let said = on(&scene, &["simulate", &thread]).await;
        assert_eq!((said.code, said.err.as_str()), (0, ""), "{kind}: {}", said.out);
        for words in [
            "nothing was posted and nothing was stored",
            "📋 Execution Plan",
            "☐ task_3: Run the tests",
            "waiting for approval of 3 actions",
            "☐ 2 create notes/2.md · medium",
            "+note 2",
        ] {
            assert!(said.out.contains(words), "{kind}: no “{words}” in:\n{}", said.out);
        }
        for method in [http::Method::POST, http::Method::PUT, http::Method::PATCH, http::Method::DELETE] {
            assert_eq!(scene.requests(&method, "").len(), 0, "{kind}: a {method} was sent");
        }
        assert!(!scene.requests(&http::Method::GET, "").is_empty());
        assert_eq!(scene.world.look(|world| format!("{world:?}")), world, "{kind}");
        assert!(files(scene.dir.path()) == before, "{kind}: a file was written");
        assert_eq!(scene.repo.branches(), ["main"]);
        scene.model.assert_nothing_left_over();
    }
}

#[tokio::test]
async fn simulate_works_beside_a_running_server_and_for_programs() {
    let scene = Scene::on(ForgeKind::Github).await;
    three_files(&scene);
    let _server = scene.spawn().await;
    let thread = scene.thread.to_string();
    let told = parsed(&on(&scene, &["simulate", "--json", &thread]).await);
    assert_eq!(told["plan"]["status"], "pending_review");
    assert_eq!(told["files"]["files"], json!(["notes/1.md", "notes/2.md", "notes/3.md"]));
    assert_eq!(told["problem"], Value::Null);
    assert!(told["preview"].as_str().unwrap().starts_with("## 🔎 Approval 1"));
}

#[tokio::test]
async fn simulate_says_why_there_is_nothing_to_show() {
    let scene = Scene::on(ForgeKind::Github).await;
    for (thread, says) in [
        (
            "github:acme/web#77",
            "cannot read github:acme/web#77: the answer is 404 (Not Found); check the name",
        ),
        ("github:acme/wbe#1", "`planwright doctor --repo github:acme/wbe`"),
        ("gitlab:acme/web#1", "which is not configured; add `gitlab` under `forges:`"),
    ] {
        let said = on(&scene, &["simulate", thread]).await;
        assert_eq!((said.code, said.out.as_str()), (1, ""), "{thread}");
        assert!(said.err.contains(says), "{thread}: {}", said.err);
        assert_eq!(said.err.lines().count(), 1, "{}", said.err);
    }
    scene.model.always_misbehave(Some(Misbehaviour::Status(401, "{}".to_owned())));
    let said = on(&scene, &["simulate", &scene.thread.to_string()]).await;
    assert!(said.code == 1 && said.err.contains("no plan came out: "), "{}{}", said.out, said.err);
}

#[tokio::test]
async fn a_history_is_explained_in_plain_words() {
    let scene = Scene::on(ForgeKind::Github).await;
    three_files(&scene);
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    bot.told(TOM, "/approve").await;
    bot.told(MARIA, "/pause").await;
    bot.told(MARIA, "/approve except 3 for now").await;
    bot.told(MARIA, "/resume").await;
    bot.ends().await;
    let thread = scene.thread.to_string();
    let said = on(&scene, &["history", "explain", &thread]).await;
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    let told = parsed(&on(&scene, &["history", "explain", "--json", &thread]).await);
    let told = told.as_array().unwrap();
    for words in [
        "@maria (write) assigned the bot, and a run began",
        "@tom was refused `approve`: it takes write, they have read",
        "@maria paused the run",
        "approval 1 (`",
        "; left out: 3 (@maria did not approve it)",
        "action 1 (create `notes/1.md`) succeeded: committed [commit `",
        "the work is through: 2 succeeded, 0 failed, 1 left out",
        ", and offered as github:acme/web#2",
        "the run is complete: the plan is carried out",
    ] {
        assert_eq!(said.out.lines().filter(|line| line.contains(words)).count(), 1, "{words}:\n{}", said.out);
        assert!(told.iter().any(|line| line["words"].as_str().unwrap().contains(words)), "{words}");
    }
    // The numbers and digests of the explanation are those of the journal.
    let approved = scene.entries("approved").remove(0);
    for named in approved["actions"].as_array().unwrap() {
        let digest = &named["digest"].as_str().unwrap()[..6];
        assert!(said.out.contains(&format!("{} (`{digest}`)", &named["id"].as_str().unwrap()[1..])));
    }
    let text = std::fs::read_to_string(scene.history()).unwrap();
    std::fs::write(scene.history(), text.replacen("except 3", "except 2", 1)).unwrap();
    let said = on(&scene, &["history", "explain", &thread]).await;
    assert!(said.code == 1 && said.err.contains("damaged"), "{}", said.err);
    assert!(said.out.contains("@maria paused") && !said.out.contains("succeeded"), "{}", said.out);
}

#[tokio::test]
async fn plans_are_exported_whole_and_their_diffs_apply() {
    for kind in ALL {
        let scene = Scene::on(kind).await;
        let long: String = (1..200).map(|n| format!("line {n}\n")).collect();
        let write = json!({"path": "src/login.rs", "content": "fn login() { check() }\n"});
        three_files(&scene);
        scene.model.say(
            "action_sequence",
            sequence(vec![
                action("task_1", "create", json!({"path": "notes/long.md", "content": long})),
                action("task_2", "write", write),
                action(
                    "task_3",
                    "write",
                    json!({"path": "notes/long.md", "content": long.replace("line 7\n", "")}),
                ),
                action("task_3", "delete", json!({"path": "README.md"})),
            ]),
        );
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        bot.told(MARIA, "@planwright reject write more").await;
        bot.told(MARIA, "@planwright approve").await;
        bot.ends().await;
        let out = tempfile::tempdir().unwrap();
        let dir = out.path().join("plans");
        let name = dir.display().to_string();
        let said = on(&scene, &["history", "export", "--plans", &name]).await;
        assert_eq!((said.code, said.err.as_str()), (0, ""), "{}", said.out);
        let index = read(&dir.join("index.json"));
        let plans = index["plans"].as_array().unwrap();
        assert_eq!(plans.len(), 2, "{kind}: {index:#}");
        assert_eq!((&plans[0]["status"], &plans[1]["status"]), (&json!("proposed"), &json!("completed")));
        let folder = |n: usize| dir.join(plans[n]["folder"].as_str().unwrap());
        assert!(folder(0).ends_with(format!("{}-v0-turned-down-1", plans[0]["run"].as_str().unwrap())));
        assert!(folder(1).ends_with(format!("{}-v0", plans[1]["run"].as_str().unwrap())));
        let turned_down = read(&folder(0).join("approval.json"));
        assert_eq!(turned_down["rejections"][0]["reason"], "write more");
        let approval = read(&folder(1).join("approval.json"));
        assert_eq!(approval["approvals"][0]["by"]["login"], "maria", "{kind}: {approval:#}");
        assert_eq!(approval["requests"][0]["wanted"].as_array().unwrap().len(), 4);
        let plan = read(&folder(1).join("plan.json"));
        assert_eq!(plan["state"]["specs"].as_array().unwrap().len(), 4);
        let ended = plan["results"].as_array().unwrap().iter().filter(|fact| fact["type"] == "action_ended");
        assert!(ended.filter(|fact| fact["evidence"]["commit"].is_string()).count() == 4, "{kind}: {plan:#}");
        assert_eq!(applied(&scene, &folder(1).join("preview"), out.path()), work_tree(&scene), "{kind}");
        once_more(&scene, &name).await;
    }
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn git(dir: &Path, args: &[&str]) -> String {
    let said = Command::new("git").args(args).current_dir(dir).stdin(Stdio::null()).output().unwrap();
    assert!(said.status.success(), "{args:?}: {}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8(said.stdout).unwrap()
}

/// The tree that the exported diffs make of `main`, one after the other.
fn applied(scene: &Scene, diffs: &Path, at: &Path) -> String {
    let tree = at.join("tree");
    git(at, &["clone", "-q", &scene.repo.bare.display().to_string(), "tree"]);
    let mut names: Vec<_> = std::fs::read_dir(diffs).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    for diff in names {
        git(&tree, &["apply", "--index", &diff.display().to_string()]);
    }
    git(&tree, &["write-tree"])
}

/// The tree that the run made of it.
fn work_tree(scene: &Scene) -> String {
    git(&scene.repo.bare, &["rev-parse", &format!("{}^{{tree}}", scene.repo.work_branch())])
}

/// Into the same folder again is fine; into a folder of somebody else is not.
async fn once_more(scene: &Scene, name: &str) {
    let thread = scene.thread.to_string();
    let said = on(scene, &["history", "export", "--plans", name, &thread]).await;
    assert_eq!((said.code, said.out), (0, format!("2 plans written to {name}\n")), "{}", said.err);
    let foreign = scene.dir.path().display().to_string();
    let said = on(scene, &["history", "export", "--plans", &foreign]).await;
    assert!(said.code == 1 && said.err.contains("name another folder"), "{}", said.err);
}

#[test]
fn the_demo_makes_no_mess_of_a_folder_in_use() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("thesis.txt"), "mine").unwrap();
    let said = call(dir.path(), &["demo", "--into", "."]);
    assert_eq!((said.code, said.out.as_str()), (1, ""));
    assert!(said.err.contains("is not empty; name a new folder"), "{}", said.err);
    assert_eq!(files(dir.path()).len(), 1);
}
