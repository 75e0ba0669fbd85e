//! Purpose: the program as people and scripts call it: what it prints, and its exit codes.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use planwright::domain::{AccountId, ForgeKind, Permission};
use serde_json::Value;

use crate::fake_forge::Fault;
use crate::scripted_model::Misbehaviour;
use crate::story::bot::Scene;

pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

fn planwright(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_planwright"));
    command.current_dir(dir).env_clear().env("TMPDIR", dir);
    command
}

pub(crate) fn outcome(command: &mut Command) -> Said {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Said { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

pub(crate) fn call(dir: &Path, args: &[&str]) -> Said {
    outcome(planwright(dir).args(args))
}

pub(crate) fn json(said: &Said) -> Value {
    serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {}{}", said.out, said.err))
}

/// A directory with a `config.yaml` of this text.
pub(crate) fn home(text: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("config.yaml"), text).unwrap();
    dir
}

const COMMANDS: [&[&str]; 25] = [
    &["serve"],
    &["demo"],
    &["plan"],
    &["lead"],
    &["lead", "start"],
    &["lead", "status"],
    &["lead", "list"],
    &["lead", "escalations"],
    &["lead", "resolve"],
    &["lead", "resume"],
    &["lead", "watch"],
    &["simulate"],
    &["runs"],
    &["runs", "list"],
    &["runs", "show"],
    &["history"],
    &["history", "show"],
    &["history", "explain"],
    &["history", "verify"],
    &["history", "export"],
    &["config"],
    &["config", "check"],
    &["config", "show"],
    &["config", "schema"],
    &["doctor"],
];

#[test]
fn every_command_has_help_that_explains_every_argument() {
    let dir = tempfile::tempdir().unwrap();
    for command in COMMANDS {
        let said = call(dir.path(), &[command, &["--help"]].concat());
        assert_eq!((said.code, said.err.as_str()), (0, ""), "{command:?}");
        let unexplained = |line: &&str| {
            let line = line.trim();
            (line.starts_with('<') || line.starts_with("[THREAD")) && !line.contains("  ")
        };
        assert_eq!(said.out.lines().find(unexplained), None, "{command:?}");
    }
}

#[test]
fn what_is_not_understood_is_code_2_with_a_hint() {
    let dir = tempfile::tempdir().unwrap();
    for (args, hint) in [
        (&["serv"] as &[&str], "'serve'"),
        (&["runs", "lst"], "'list'"),
        (&[], "Usage: planwright"),
        (&["runs"], "Usage: planwright runs"),
        (&["runs", "show"], "<RUN>"),
        (&["history", "show"], "<THREAD>"),
        (&["history", "show", "github:a/b"], "write it like `github:owner/repo#12`"),
        (&["history", "show", "github:a/b#1", "-n", "few"], "'few'"),
        (&["history", "export"], "<THREAD>"),
        (&["history", "explan", "github:a/b#1"], "'explain'"),
        (&["simulate"], "<THREAD>"),
        (&["simulate", "github:a/b"], "write it like `github:owner/repo#12`"),
        (&["demo", "--into"], "--into <DIR>"),
        (&["doctor", "--repo", "web"], "write it like `github:owner/repo`"),
        (&["doctor", "--jsn"], "'--json'"),
    ] {
        let said = call(dir.path(), args);
        assert_eq!((said.code, said.out.as_str()), (2, ""), "{args:?}");
        assert!(said.err.contains(hint), "{args:?}: {}", said.err);
    }
}

#[test]
fn bad_settings_are_code_1_with_one_reason() {
    let dir = home("servr: {}\n");
    let said = call(dir.path(), &["runs", "list"]);
    assert_eq!((said.code, said.out.as_str()), (1, ""));
    assert_eq!(said.err, "planwright: config.yaml:1:1: unknown key `servr`; did you mean `server`?\n");

    let said = call(dir.path(), &["--config", ".", "serve"]);
    assert_eq!(
        (said.code, said.err.as_str()),
        (1, "planwright: cannot read `.`: Is a directory (os error 21)\n")
    );

    let said = call(dir.path(), &["--config", "none.yaml", "doctor"]);
    assert_eq!(said.code, 1);
    assert!(said.err.starts_with("planwright: there is no `none.yaml`; copy"), "{}", said.err);

    let said = call(dir.path(), &["--log", "planwright=loud", "serve"]);
    assert_eq!(said.code, 1);
    assert_eq!(said.err.matches("error parsing level filter").count(), 1, "{}", said.err);
}

#[test]
fn check_fails_whenever_the_server_would_not_start() {
    let sound = "forges: { local: { enabled: true } }\nmodels: { default: { provider: offline } }\nplanning: { enabled: true }\n";
    for (text, says) in [
        ("", "forges: no forge is configured"),
        ("forges: { github: {} }", "GITHUB_WEBHOOK_SECRET"),
        (sound, "PLANWRIGHT_LOCAL_SECRET"),
        ("forges: { local: { enabled: true } }", "OPENAI_API_KEY"),
        ("data_dir: config.yaml/data", "data_dir: `config.yaml` is a file, not a folder"),
    ] {
        let dir = home(text);
        let check = call(dir.path(), &["config", "check"]);
        assert!(check.code == 1 && check.out.contains(says), "{text}: {}", check.out);
        let check = call(dir.path(), &["config", "check", "--json"]);
        assert!(check.code == 1 && json(&check)["ok"] == false, "{text}");
        let serve = call(dir.path(), &["serve"]);
        assert!(serve.code == 1 && serve.err.contains(says), "{text}: {}", serve.err);
        assert!(!serve.err.contains("error: "), "the list needs no such word: {}", serve.err);
    }
    let dir = home(sound);
    let check = outcome(planwright(dir.path()).args(["config", "check"]).env("PLANWRIGHT_LOCAL_SECRET", "s"));
    assert_eq!((check.code, check.out.as_str()), (0, "config.yaml: no problems found\n"));
}

#[test]
fn nothing_yet_is_no_error_and_an_unknown_thread_is() {
    let dir = home("");
    let list = call(dir.path(), &["runs", "list"]);
    assert!(list.code == 0 && list.out.starts_with("There are no runs."), "{}", list.out);
    assert_eq!(json(&call(dir.path(), &["runs", "list", "--json"])), serde_json::json!([]));
    let verify = call(dir.path(), &["history", "verify"]);
    assert_eq!((verify.code, verify.out.as_str()), (0, "There are no histories yet.\n"));
    for args in [
        &["runs", "show", "github:a/b#1"] as &[&str],
        &["history", "show", "github:a/b#1"],
        &["history", "verify", "github:a/b#1"],
        &["history", "export", "github:a/b#1"],
        &["history", "explain", "github:a/b#1"],
        &["history", "export", "--plans", "out", "github:a/b#1"],
    ] {
        let said = call(dir.path(), args);
        assert_eq!((said.code, said.out.as_str()), (1, ""), "{args:?}");
        assert!(said.err.contains("there is no ") && said.err.contains("github:a/b#1"), "{}", said.err);
        assert!(said.err.contains("`planwright runs list`"), "{}", said.err);
    }
}

#[test]
fn settings_are_printed_for_programs() {
    let dir = home("repos: [{ match: 'github:acme/*', planning: { enabled: true } }]\n");
    let show = |args: &[&str]| json(&call(dir.path(), &[&["config", "show", "--json"], args].concat()));
    assert_eq!(show(&[])["config"]["planning"]["enabled"], false);
    let of_repo = show(&["--repo", "github:acme/web"]);
    assert_eq!(of_repo["settings"]["planning"]["enabled"], true);
    assert_eq!(json(&call(dir.path(), &["config", "schema"]))["type"], "object");
}

/// The demo, and then every command on what it leaves behind, as a newcomer copies them.
#[test]
fn the_demo_ends_well_and_its_history_can_be_looked_at() {
    let dir = tempfile::Builder::new().prefix("Maria's place (1) ").tempdir().unwrap();
    let demo = call(dir.path(), &["demo"]);
    assert_eq!((demo.code, demo.err.as_str()), (0, ""), "{}", demo.out);
    for words in [
        "@planwright reacted 👀",
        "📋 Execution Plan",
        "☐ task_4",
        "rule-based, no language model",
        "☐ 3 write src/greet.py · medium: changes a file (+7 −2) · task_3",
        "@mallory was refused `approve`: it takes write, they have read",
        "@planwright reacted 😕 to the comment",
        "⏸ paused by @ada",
        "@ada approved actions 2 (`",
        "Progress: 4/4 (100%) complete",
        "there is still one card",
        "draft local:greeter#2",
        "┃ +++ b/src/greetings.py",
    ] {
        assert!(demo.out.contains(words), "no “{words}” in:\n{}", demo.out);
    }
    assert!(!demo.out.contains('\u{1b}'), "colours in a pipe");
    let ends = |line: &str, end: &str| line.trim_end_matches('\'').ends_with(end);
    let line = |end: &str| demo.out.lines().find(|line| ends(line, end)).unwrap().trim().to_owned();
    assert!(Path::new(&line(".jsonl")).is_file());

    let copied = |command: &str| {
        outcome(Command::new("/bin/sh").args(["-c", &line(command)]).current_dir(dir.path()).env_clear())
    };
    let (run, facts) = (copied("runs show local:greeter#1"), copied("history explain local:greeter#1"));
    assert!(run.code == 0 && run.out.contains("☑ task_1"), "{}{}", run.out, run.err);
    assert!(facts.code == 0 && facts.out.contains("@ada let the run go on"), "{}{}", facts.out, facts.err);
    let log = copied("log -p main..planwright/1-greet-people-in-their-own-language");
    assert!(log.code == 0 && log.out.matches("\ncommit ").count() == 2, "{}{}", log.out, log.err);
    let plans = copied("plans");
    assert!(plans.code == 0 && plans.out.starts_with("1 plan written to "), "{}{}", plans.out, plans.err);
    let verified = copied("history verify");
    assert!(verified.code == 0 && verified.out.starts_with("sound "), "{}{}", verified.out, verified.err);
    let printed = line("history verify");
    let config = printed.split_once(" --config ").unwrap().1.strip_suffix(" history verify").unwrap();
    look_around(dir.path(), &config.trim_matches('\'').replace(r"'\''", "'"));
}

fn look_around(dir: &Path, config: &str) {
    let on_it = |args: &[&str]| {
        let said = call(dir, &[&["--config", config], args].concat());
        assert_eq!((said.code, said.err.as_str()), (0, ""), "{args:?}");
        said
    };
    let list = json(&on_it(&["runs", "list", "--json"]));
    let id = list[0]["run"].as_str().unwrap();
    assert_eq!(json(&on_it(&["runs", "show", "--json", id]))["thread"], "local:greeter#1");
    let listed = on_it(&["runs", "list"]).out;
    assert!(listed.starts_with("local:greeter#1  completed"), "{listed}");
    assert!(listed.contains("  plan 0 completed: Greet"), "{listed}");
    let exported = on_it(&["history", "export", "local:greeter#1"]).out;
    let newest = on_it(&["history", "show", "--json", "-n", "2", "local:greeter#1"]).out;
    assert!(newest.lines().count() == 2 && exported.ends_with(&newest));
    assert!(exported.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
    let health = json(&on_it(&["doctor", "--json", "--repo", "local:greeter"]));
    assert!(health.as_array().unwrap().iter().all(|finding| finding["health"] != "bad"), "{health:#}");
    on_it(&["config", "check"]);
    let sound = json(&on_it(&["history", "verify", "--json"]));
    assert_eq!((&sound["ok"], &sound["files"][0]["lines"]), (&true.into(), &exported.lines().count().into()));
    assert!(sound["files"][0]["problem"].is_null(), "{sound:#}");
    damage(dir, config, &exported);
}

fn damage(dir: &Path, config: &str, exported: &str) {
    let file = Path::new(config).with_file_name("data/history/local/greeter/issues/1.jsonl");
    let verify = |thread: &[&str]| {
        let said = call(dir, &[&["--config", config, "history", "verify"], thread].concat());
        assert!(said.code == 1 && said.out.starts_with("damaged "), "{}{}", said.out, said.err);
        said.out
    };
    std::fs::write(&file, exported.replacen("maintain", "admin", 1)).unwrap();
    verify(&["local:greeter#1"]);
    // The chain of what is left is sound; only the journal knows that there was more.
    let (lines, kept) = (exported.lines().count(), exported.lines().take(5).collect::<Vec<_>>().join("\n"));
    std::fs::write(&file, kept + "\n").unwrap();
    let missing = format!("the last {} of {lines} entries are missing", lines - 5);
    assert!(verify(&["local:greeter#1"]).contains(&missing));
    std::fs::remove_file(&file).unwrap();
    let missing = format!("the last {lines} of {lines} entries are missing");
    assert!(verify(&[]).contains(&missing));
    let said = call(dir, &["--config", config, "history", "verify", "--json"]);
    assert_eq!((said.code, &json(&said)["ok"]), (1, &false.into()), "{}", said.out);
    assert!(json(&said)["files"][0]["problem"].as_str().unwrap().contains(&missing), "{}", said.out);
    // A sound file beside a database that cannot be read is not known to be whole.
    std::fs::write(&file, exported).unwrap();
    let data = Path::new(config).with_file_name("data");
    for side in ["planwright.db-wal", "planwright.db-shm"] {
        let _ = std::fs::remove_file(data.join(side));
    }
    std::fs::write(data.join("planwright.db"), "no database at all").unwrap();
    let said = call(dir, &["--config", config, "history", "verify", "--json"]);
    assert_eq!((said.code, &json(&said)["ok"]), (1, &false.into()), "{}", said.out);
    assert!(json(&said)["not_compared"].is_string(), "{}", said.out);
    assert!(said.err.contains("cannot be compared with the journal"), "{}", said.err);
}

#[test]
fn a_kept_demo_ends_on_a_signal() {
    let dir = tempfile::tempdir().unwrap();
    let mut child =
        Running(planwright(dir.path()).args(["demo", "--keep"]).stdout(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(child.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.starts_with("The server is still running at http://127.0.0.1:")));
    assert_eq!(child.interrupt(), Some(0));
}

/// A program that does not outlive its test.
struct Running(Child);

impl Running {
    /// What Ctrl-C does; returns the exit code.
    fn interrupt(&mut self) -> Option<i32> {
        let sent = Command::new("sh").args(["-c", &format!("kill -INT {}", self.0.id())]).status().unwrap();
        assert!(sent.success());
        self.0.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_server_says_where_it_listens_and_a_second_one_why_it_does_not() {
    let text = "forges: { local: { enabled: true } }\nmodels: { default: { provider: offline } }\nplanning: { enabled: true }\n";
    let dir = home(&format!("server: {{ listen: '127.0.0.1:0' }}\n{text}"));
    let serve = |dir: &Path| {
        let mut command = planwright(dir);
        command.args(["--log-json", "serve"]).env("PLANWRIGHT_LOCAL_SECRET", "s").stderr(Stdio::piped());
        command
    };
    let mut first = Running(serve(dir.path()).spawn().unwrap());
    let mut log = BufReader::new(first.0.stderr.take().unwrap());
    let mut line = String::new();
    log.read_line(&mut line).unwrap();
    let message = serde_json::from_str::<Value>(&line).unwrap()["message"].as_str().unwrap().to_owned();
    let address = message.strip_prefix("listening on http://").unwrap();

    let second = outcome(&mut serve(dir.path()));
    assert_eq!(
        (second.code, second.err.as_str()),
        (1, "planwright: another planwright is running on ./data\n")
    );
    let elsewhere = home(&format!("server: {{ listen: '{address}' }}\n{text}"));
    let third = outcome(&mut serve(elsewhere.path()));
    assert_eq!(third.code, 1);
    assert!(third.err.starts_with(&format!("planwright: cannot listen on {address}")), "{}", third.err);

    assert_eq!(first.interrupt(), Some(0));
    let mut rest = String::new();
    log.read_to_string(&mut rest).unwrap();
    assert!(rest.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{rest}");
    assert!(rest.contains("asked to stop"), "{rest}");
}

/// What `doctor` finds on a scene: the exit code, and each finding that is not good with what to do about it.
async fn doctor(scene: &Scene, change: impl FnOnce(&mut Command)) -> (i32, Vec<(String, String)>) {
    let repo = scene.thread.project.to_string();
    let mut command = scene.command("127.0.0.1:0", &["doctor", "--json", "--repo", &repo]);
    change(&mut command);
    let said = tokio::task::spawn_blocking(move || outcome(&mut command)).await.unwrap();
    let findings = json(&said);
    let word = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_owned();
    let ill = findings.as_array().unwrap().iter().filter(|finding| finding["health"] != "good");
    (said.code, ill.map(|finding| (word(finding, "what"), word(finding, "remedy"))).collect())
}

const WELL: &str = "planning: { enabled: true }\nbudget: { usd: null }\n";

async fn scene(kind: ForgeKind) -> Scene {
    Scene::on(kind).await.settings(WELL)
}

#[tokio::test]
async fn doctor_finds_nothing_where_all_is_well() {
    for kind in [ForgeKind::Github, ForgeKind::Gitlab] {
        assert_eq!(doctor(&scene(kind).await, |_| {}).await, (0, vec![]), "{kind}");
    }
}

#[tokio::test]
async fn doctor_says_what_to_do_about_credentials() {
    for (kind, token, secret) in [
        (ForgeKind::Github, "GITHUB_TOKEN", "GITHUB_WEBHOOK_SECRET"),
        (ForgeKind::Gitlab, "GITLAB_TOKEN", "GITLAB_WEBHOOK_SECRET"),
    ] {
        let scene = scene(kind).await;
        let (code, found) = doctor(&scene, |command| {
            command.env(token, "wrong");
        })
        .await;
        assert_eq!(code, 1);
        assert!(found[0].0.contains("401") && found[0].1.contains("make new ones"), "{found:?}");

        let (code, found) = doctor(&scene, |command| {
            command.env_remove(token);
        })
        .await;
        assert_eq!((code, found.len()), (1, 1), "said once: {found:?}");
        assert!(found[0].0.contains(token), "{found:?}");

        let (code, found) = doctor(&scene, |command| {
            command.env_remove(secret);
        })
        .await;
        assert_eq!((code, found.len()), (1, 1), "said once: {found:?}");
        assert!(found[0].0.contains(secret) && found[0].1.contains("openssl rand"), "{found:?}");
    }
}

#[tokio::test]
async fn doctor_says_what_to_do_about_the_account() {
    for (kind, least) in [(ForgeKind::Github, Permission::Write), (ForgeKind::Gitlab, Permission::Write)] {
        let scene = scene(kind).await;
        let project = scene.thread.project.clone();
        let give = |level| {
            scene.world.with(|world| world.set_member(&project, AccountId(1), level)).unwrap().unwrap()
        };
        give(least);
        assert_eq!(doctor(&scene, |_| {}).await, (0, vec![]), "{kind}");
        give(Permission::Read);
        let (code, found) = doctor(&scene, |_| {}).await;
        assert_eq!((code, found.len()), (1, 1), "{found:?}");
        assert!(found[0].0.ends_with("I only have read permission"), "{found:?}");
        assert!(found[0].1.starts_with("give the bot's account the role "), "{found:?}");
    }
}

#[tokio::test]
async fn doctor_says_what_to_do_about_the_network() {
    for kind in [ForgeKind::Github, ForgeKind::Gitlab] {
        let scene = scene(kind).await;
        scene.fault(http::Method::GET, "/user", Fault::Garbage, 10);
        let (code, found) = doctor(&scene, |_| {}).await;
        assert!(code == 1 && found[0].1.contains(&format!("check `forges.{kind}.")), "{found:?}");
    }
    let nobody = home(
        "forges: { github: { api_url: 'http://127.0.0.1:9' } }\nmodels: { default: { provider: offline } }\n",
    );
    let mut command = planwright(nobody.path());
    command.args(["doctor"]).env("GITHUB_TOKEN", "t").env("GITHUB_WEBHOOK_SECRET", "s");
    let said = outcome(&mut command);
    assert_eq!(said.code, 1);
    assert!(said.out.contains("✗ github: cannot look up our own account: no connection"), "{}", said.out);
    assert!(
        said.out.contains("→ check the network, the proxy and the address in `forges.github`"),
        "{}",
        said.out
    );
}

#[tokio::test]
async fn doctor_says_what_to_do_about_the_model() {
    let refused = Misbehaviour::Status(401, "{}".to_owned());
    let missing = Misbehaviour::Status(404, "{}".to_owned());
    for (how, remedy) in [
        (refused, "check the key"),
        (missing, "check `models.default.model`"),
        (Misbehaviour::Nonsense, "follows a JSON schema"),
        (Misbehaviour::CutOff, "raise `models.default.max_output_tokens`"),
        (Misbehaviour::Slow(Duration::from_secs(30)), "raise `models.default.timeout_seconds`"),
    ] {
        let scene = scene(ForgeKind::Github).await;
        scene.model.always_misbehave(Some(how.clone()));
        let (code, found) = doctor(&scene, |_| {}).await;
        assert_eq!((code, found.len()), (1, 1), "{found:?}");
        assert!(found[0].1.contains(remedy), "{how:?}: {found:?}");
    }
}

/// Roles that share a model share its check; the advisor has one of its own.
#[test]
fn doctor_asks_every_model_that_plays_a_role() {
    let settings = "forges: { local: { enabled: true } }\nplanning: { enabled: true }\nmodels:\n  default: { provider: offline }\n  \
                    far: { base_url: 'http://127.0.0.1:9', api_key_env: null, timeout_seconds: 2 }\n  idle: { provider: offline }\n  \
                    roles: { advisor: far }\n";
    let nobody = home(settings);
    let mut command = planwright(nobody.path());
    command.args(["doctor"]).env("PLANWRIGHT_LOCAL_SECRET", "s");
    let said = outcome(&mut command);
    assert_eq!(said.code, 1, "{}", said.out);
    assert_eq!(said.out.matches("the model `default` is the built-in").count(), 1, "{}", said.out);
    assert!(said.out.contains("✗ the model `far`: the model cannot be reached"), "{}", said.out);
    assert!(said.out.contains("→ check `models.far.base_url`"), "{}", said.out);
    assert!(!said.out.contains("the model `idle`"), "{}", said.out);
}

#[tokio::test]
async fn doctor_says_where_planning_is_off() {
    let scene = Scene::on(ForgeKind::Github).await.settings(
        "budget: { usd: null }\nrepos: [{ match: 'github:other/*', planning: { enabled: true } }]\n",
    );
    let (code, found) = doctor(&scene, |_| {}).await;
    assert_eq!((code, found.len()), (0, 1), "{found:?}");
    assert!(found[0].1.contains("match: \"github:acme/web\""), "{found:?}");
}
