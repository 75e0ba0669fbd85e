//! Purpose: what `doctor` says about this machine and what a run works with: the data, git, the sandbox, tool servers.

use planwright::domain::ForgeKind;
use planwright::store::{Put, Store};
use serde_json::Value;

use crate::cli::{json, outcome};
use crate::mcp::rig::{hash_of, odd, process_words};
use crate::store::delivery;
use crate::story::bot::Scene;

/// All findings as `health: what → remedy`.
async fn doctor(extra: &str) -> (i32, Vec<String>) {
    let scene = Scene::on(ForgeKind::Github).await;
    let scene = scene.settings(&format!("planning: {{ enabled: true }}\nbudget: {{ usd: null }}\n{extra}"));
    doctor_on(&scene).await
}

async fn doctor_on(scene: &Scene) -> (i32, Vec<String>) {
    let mut command = scene.command("127.0.0.1:0", &["doctor", "--json"]);
    let said = tokio::task::spawn_blocking(move || outcome(&mut command)).await.unwrap();
    let findings = json(&said);
    let line = |finding: &Value| {
        let word = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
        format!("{}: {} → {}", word("health"), word("what"), word("remedy"))
    };
    (said.code, findings.as_array().unwrap().iter().map(line).collect())
}

fn has(found: &[String], words: &[&str]) {
    let all = |line: &&String| words.iter().all(|word| line.contains(word));
    assert_eq!(found.iter().filter(all).count(), 1, "not once {words:?} in {found:#?}");
}

#[tokio::test]
async fn git_and_the_sandbox_are_tried() {
    let (code, found) = doctor("").await;
    assert_eq!(code, 0, "{found:#?}");
    has(&found, &["good: the data directory ", " can be written"]);
    has(&found, &["good: the inbox: no delivery waits"]);
    has(&found, &["good: git can be used"]);
    has(&found, &["good: no commands are allowed (`tools.commands` is empty)"]);
    let (code, found) = doctor("tools: { commands: { test: { argv: [\"true\"] } } }\n").await;
    assert_eq!(code, 0, "{found:#?}");
    has(&found, &["good: commands run in a sandbox: "]);
}

#[tokio::test]
async fn deliveries_that_nobody_dealt_with_are_named() {
    let scene = Scene::on(ForgeKind::Github).await.settings("planning: { enabled: true }\n");
    let url = format!("sqlite://{}/planwright.db", scene.dir.path().display());
    let store = Store::open(&url).await.unwrap();
    let mut lost = delivery("github:u", "github:acme/web#1");
    lost.unreadable = Some("the payload has no `sender`".to_owned());
    let mut fresh = delivery("github:f", "github:acme/web#1");
    fresh.received_at = planwright::engine::now();
    for new in [lost, fresh] {
        assert_eq!(store.put(new).await.unwrap(), Put::New);
    }
    let (code, found) = doctor_on(&scene).await;
    assert_eq!(code, 0, "{found:#?}");
    has(&found, &["good: the inbox: deliveries that wait: 1"]);
    has(
        &found,
        &[
            "warning: the inbox: deliveries that were set aside: 1; the last one, ",
            " is github:u: the payload has no `sender`",
        ],
    );

    let waiting_long = delivery("github:w", "github:acme/web#2");
    assert_eq!(store.put(waiting_long).await.unwrap(), Put::New);
    store.close().await;
    let (code, found) = doctor_on(&scene).await;
    assert_eq!(code, 0, "{found:#?}");
    has(
        &found,
        &["warning: the inbox: deliveries that wait: 2, the oldest for ", "is `planwright serve` running?"],
    );
}

#[test]
fn a_data_directory_that_cannot_be_is_named_and_git_is_not_blamed() {
    let dir = crate::cli::home("data_dir: config.yaml/data\n");
    let said = crate::cli::call(dir.path(), &["doctor"]);
    assert_eq!(said.code, 1, "{}", said.out);
    assert!(
        said.out.contains("✗ the data directory config.yaml/data cannot be written, so git was not tried: "),
        "{}",
        said.out
    );
    assert!(said.out.contains("→ check `data_dir`") && !said.out.contains("a current git"), "{}", said.out);
}

#[tokio::test]
async fn servers_of_tools_are_asked_and_compared_with_their_pins() {
    let diary = tempfile::tempdir().unwrap();
    let argv = process_words(&odd("fine", &diary.path().join("diary")));
    let argv = serde_json::to_string(&argv).unwrap();
    let with = |more: &str| format!("tools: {{ mcp_servers: {{ odd: {{ command: {argv}{more} }} }} }}\n");
    let (code, found) = doctor(&with("")).await;
    assert_eq!(code, 0, "{found:#?}");
    has(&found, &["good: MCP server `odd` offers ", "echo"]);

    let (code, found) = doctor(&with(", allow: [\"none_*\"]")).await;
    assert_eq!(code, 0, "{found:#?}");
    has(&found, &["warning: MCP server `odd` answers, but none of its tools may be used", "odd.allow"]);

    let pins = format!(", pins: {{ echo: \"{}\", gone: \"{}\" }}", "0".repeat(64), "1".repeat(64));
    let (code, found) = doctor(&with(&pins)).await;
    assert_eq!(code, 1, "{found:#?}");
    has(&found, &["bad: `odd/echo` is not the tool that was pinned", "write `echo: "]);
    has(&found, &["warning: `odd/gone` is pinned, but not on offer"]);
    let line = found.iter().find(|line| line.contains("write `echo: ")).unwrap();
    let hash = line.split("write `echo: ").nth(1).unwrap().split('`').next().unwrap();
    let (code, found) = doctor(&with(&format!(", pins: {{ echo: \"{hash}\" }}"))).await;
    assert_eq!(code, 0, "the hash that doctor names is the right pin: {found:#?}");

    let (code, found) = doctor(&with(", read_only: [echo]")).await;
    assert_eq!(code, 1, "{found:#?}");
    has(&found, &["bad: tools.mcp_servers.odd.read_only: `echo` has no pin"]);
    has(&found, &["bad: `odd/echo` is in `read_only`, but has no pin", &format!("write `echo: {hash}` in")]);
    let rule = |pin: &str| {
        format!(
            "{}repos: [{{ match: '*', tools: {{ mcp_servers: {{ odd: {{ pins: {{ echo: '{pin}' }}, read_only: [echo] }} }} }} }}]\n",
            with("")
        )
    };
    let (code, found) = doctor(&rule(hash)).await;
    assert_eq!(code, 0, "{found:#?}");
    let (code, found) = doctor(&rule("0")).await;
    assert_eq!(code, 1, "{found:#?}");
    has(&found, &["bad: `odd/echo` is not the tool that was pinned", &format!("write `echo: {hash}`")]);

    let words = serde_json::to_string(&process_words(&odd("fierce", &diary.path().join("diary")))).unwrap();
    let pins = format!("pins: {{ echo: '{}' }}, read_only: [echo]", hash_of("fierce", "echo").await);
    let (code, found) =
        doctor(&format!("tools: {{ mcp_servers: {{ odd: {{ command: {words}, {pins} }} }} }}\n")).await;
    assert_eq!(code, 0, "{found:#?}");
    has(&found, &["warning: `odd/echo` is in `read_only`, but its server says that it may destroy"]);

    let gone = "tools: { mcp_servers: { odd: { command: [\"/nowhere/at/all\"] } } }\n";
    let (code, found) = doctor(gone).await;
    assert_eq!(code, 1, "{found:#?}");
    has(&found, &["bad: MCP server `odd`: ", "check `tools.mcp_servers.odd`"]);
}
