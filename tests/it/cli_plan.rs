//! Purpose: planning from the command line: in a pseudo-terminal, from a file of answers, and for programs.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::cli::{Said, outcome};
use crate::scripted_model::{Misbehaviour, ScriptedModel};
use crate::story::acting::{action, sequence};
use crate::story::design::{decisions, questions};

const PROGRAM: &str = env!("CARGO_BIN_EXE_planwright");

/// A directory with a work tree `web` in it, and settings that name the scripted model.
pub(crate) struct Room {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) model: ScriptedModel,
}

impl Room {
    pub(crate) async fn new() -> Self {
        Self::with("").await
    }

    pub(crate) async fn with(settings: &str) -> Self {
        let room = Self { dir: tempfile::tempdir().unwrap(), model: ScriptedModel::start().await };
        std::fs::create_dir(room.web()).unwrap();
        std::fs::write(room.web().join("README.md"), "# web\n").unwrap();
        for args in [
            &["init", "-q", "-b", "main"][..],
            &["add", "."],
            &["-c", "user.name=Ann", "-c", "user.email=ann@example.invalid", "commit", "-q", "-m", "First"],
        ] {
            room.git(args);
        }
        let yaml = format!(
            "data_dir: {dir}/data\nstore: {{ url: \"sqlite://{dir}/data/planwright.db?busy_timeout_ms=50\" }}\n\
             models: {{ default: {{ provider: openai, base_url: \"{url}\", model: m, api_key_env: null, \
             timeout_seconds: 5 }} }}\n{settings}",
            dir = room.dir.path().display(),
            url = room.model.base_url(),
        );
        std::fs::write(room.config(), yaml).unwrap();
        room
    }

    pub(crate) fn web(&self) -> PathBuf {
        self.dir.path().join("web")
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.dir.path().join("config.yaml")
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        let said = Command::new("git").args(args).current_dir(self.web()).output().unwrap();
        assert!(said.status.success(), "{args:?}: {}", String::from_utf8_lossy(&said.stderr));
        String::from_utf8(said.stdout).unwrap()
    }

    /// The program as it is called in the work tree, here behind another one perhaps.
    pub(crate) fn command(&self, before: &[&str], args: &[&str]) -> Command {
        let config = self.config().display().to_string();
        let words = [before, &[PROGRAM], args, &["--config", &config]].concat();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).current_dir(self.web()).env_clear();
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("USER", "ada").env("TERM", "xterm");
        command
    }

    async fn run(&self, args: &[&str]) -> Said {
        self.call(&[&["plan"], args].concat()).await
    }

    pub(crate) async fn call(&self, args: &[&str]) -> Said {
        let mut command = self.command(&[], args);
        tokio::task::spawn_blocking(move || outcome(&mut command)).await.unwrap()
    }

    async fn typing(&self, args: &[&str], steps: &[(&str, &str)]) -> Said {
        self.at_terminal(&[&["plan"], args].concat(), steps).await
    }

    /// Somebody at a terminal: each step is what they wait for, and what they type then.
    pub(crate) async fn at_terminal(&self, args: &[&str], steps: &[(&str, &str)]) -> Said {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/fixtures/terminal.py");
        let steps = json!(steps).to_string();
        let mut command = self.command(&["python3", script, &steps], args);
        let said = tokio::task::spawn_blocking(move || outcome(&mut command)).await.unwrap();
        assert!(!said.out.contains("***"), "{}{}", said.out, said.err);
        said
    }

    pub(crate) fn sheet(&self, yaml: &str) -> String {
        let path = self.dir.path().join("answers.yaml");
        std::fs::write(&path, yaml).unwrap();
        path.display().to_string()
    }

    /// Questions, decisions, a summary, and two files to write.
    pub(crate) fn script(&self) {
        self.model.say("discovery_questions", questions());
        self.design("A check in the middleware.");
        self.two_files();
    }

    fn design(&self, summary: &str) {
        self.model.say("design_decisions", decisions());
        self.model.say("design_summary", json!({"summary": summary}));
    }

    fn two_files(&self) {
        let file = |n: u32| {
            let (path, content) = (format!("notes/{n}.md"), format!("note {n}\n"));
            action(&format!("task_{n}"), "create", json!({"path": path, "content": content}))
        };
        self.model.say("action_sequence", sequence(vec![file(1), file(2), file(3)]));
    }

    /// The facts of this type in the one history there is.
    pub(crate) fn entries(&self, kind: &str) -> Vec<Value> {
        let path = self.dir.path().join("data/history/local/web/issues/1.jsonl");
        let text = std::fs::read_to_string(path).unwrap();
        let all = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        all.filter(|entry| entry["type"] == kind).collect()
    }

    fn is_carried_out(&self) {
        let branch = "planwright/1-check-tokens-at-login";
        assert_eq!(self.git(&["show", &format!("{branch}:notes/3.md")]), "note 3\n");
        assert_eq!(self.git(&["status", "--porcelain"]), "", "the work tree is left alone");
        self.model.assert_nothing_left_over();
    }
}

fn run_in(text: &str) -> String {
    let at = text.find("planning-").unwrap_or_else(|| panic!("no run is named in {text}"));
    text[at..at + "planning-".len() + 36].to_owned()
}

pub(crate) fn events(said: &Said) -> Vec<Value> {
    said.out.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
}

pub(crate) fn named<'a>(events: &'a [Value], name: &str) -> &'a Value {
    events.iter().find(|event| event["event"] == name).unwrap_or_else(|| panic!("no {name}: {events:#?}"))
}

pub(crate) const WANTED: &str = "Check tokens at login\n\nThey are not checked.";
pub(crate) const WHOLE: &str = "answers: { q-1: 2, q-2: null }\ndecisions: { d-1: opt-b, d-2: { option: recommended, because: it \
                     lasts } }\napprove: true\nexecute: true\n";

#[tokio::test]
async fn a_plan_is_worked_out_and_carried_out_in_a_terminal() {
    let room = Room::new().await;
    room.script();
    room.model.misbehave(Misbehaviour::Slow(Duration::from_millis(500)));
    let said = room
        .typing(
            &[WANTED],
            &[
                ("Question 1 of 2: Which logins?", "LOOK"),
                ("or s to skip > ", "7"),
                ("There is no 7 here: 1 to 2", "LOOK"),
                ("or s to skip > ", "2"),
                ("Question 2 of 2: What comes first?", "LOOK"),
                ("or s to skip > ", "s"),
                ("Middleware ⭐ recommended", "LOOK"),
                ("1-2, Enter for 1 > ", "2"),
                ("why (Enter: no reason) > ", "we log there"),
                ("Decision d-2: How to store", "LOOK"),
                ("Enter for 2 > ", ""),
                ("why (Enter: no reason) > ", ""),
                ("A check in the middleware.", "LOOK"),
                ("accept this design? y/n > ", "y"),
                ("r to turn it down > ", "y"),
            ],
        )
        .await;
    assert_eq!(said.code, 0, "{}", said.out);
    for words in [
        "Check tokens at login",
        "+ simple",
        "− slow",
        "• How to store: Disk",
        "📋 Execution Plan",
        "create notes/2.md · medium",
        "+note 2",
        "3/3 (100%) complete",
        "Done. The work is on the branch `planwright/1-check-tokens-at-login` of ",
        "git diff main...planwright/1-check-tokens-at-login",
        "understanding the request",
    ] {
        assert!(said.out.contains(words), "no “{words}” in:\n{}", said.out);
    }
    let answered = room.entries("answered");
    assert_eq!(answered[0]["answers"], json!([{"question": "q-1", "answer": "api"}]));
    assert_eq!(answered[1]["answers"], json!([{"question": "q-2", "answer": null}]));
    assert_eq!(answered[0]["by"]["login"], "ada");
    assert_eq!(room.entries("triggered")[0]["permission"], "admin");
    let chosen = room.entries("chosen");
    assert_eq!((&chosen[0]["option"], &chosen[0]["rationale"]), (&json!("opt-b"), &json!("we log there")));
    assert_eq!((&chosen[1]["option"], &chosen[1]["rationale"]), (&json!("opt-b"), &json!("")));
    assert_eq!(run_in(&said.out), room.entries("completed")[0]["run"].as_str().unwrap());
    room.is_carried_out();
}

#[tokio::test]
async fn answers_come_from_a_file_where_there_is_no_terminal() {
    let room = Room::new().await;
    room.script();
    room.model.misbehave(Misbehaviour::Slow(Duration::from_millis(500)));
    let sheet = room.sheet(WHOLE);
    let said = room.run(&["--answers", &sheet, WANTED]).await;
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    for words in ["> q-1: b", "> /skip q-2", "> /choose d-2 opt-b because it lasts", "> /approve", "Done. "] {
        assert!(said.out.contains(words), "no “{words}” in:\n{}", said.out);
    }
    assert!(!said.out.contains('\u{1b}') && !said.err.contains('\u{1b}'), "{}{}", said.out, said.err);
    assert!(said.err.contains("… understanding the request\n"), "{}", said.err);
    room.is_carried_out();
}

#[tokio::test]
async fn without_a_terminal_it_says_what_it_waits_for_and_goes_on_from_there() {
    let room = Room::new().await;
    room.script();
    let said = room.run(&[WANTED]).await;
    assert_eq!(said.code, 3, "{}{}", said.out, said.err);
    assert!(said.out.contains("The run waits for answers to q-1, q-2."), "{}", said.out);
    let id = run_in(&said.out);
    assert!(said.out.contains(&format!("plan --resume {id} --config ")), "{}", said.out);
    for (sheet, waits) in [
        ("answers: [web, speed]", "a choice for d-1, d-2"),
        ("decisions: { d-1: 1, d-2: 1 }", "somebody to accept the design"),
        ("approve: true", "whether it is carried out"),
    ] {
        let said = room.run(&["--resume", &id, "--answers", &room.sheet(sheet)]).await;
        assert_eq!(said.code, 3, "{sheet}: {}{}", said.out, said.err);
        assert!(said.out.contains(waits), "{sheet}: {}", said.out);
    }
    let said = room.run(&["--resume", &id, "--answers", &room.sheet("execute: false")]).await;
    assert!(said.code == 0 && said.out.contains("Nothing was carried out."), "{}{}", said.out, said.err);
    assert_eq!(room.git(&["branch", "--list", "planwright/*"]), "");
    let said = room.run(&["--resume", &id[..20], "--answers", &room.sheet("execute: true")]).await;
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    room.is_carried_out();
    let said = room.run(&["--resume", &id]).await;
    assert!(
        said.code == 1 && said.err.contains("is completed; there is nothing to go on with"),
        "{}",
        said.err
    );
}

#[tokio::test]
async fn programs_get_one_object_per_line_and_are_never_asked() {
    let room = Room::new().await;
    room.script();
    let told = events(&room.run(&["--json", WANTED]).await);
    let (run, waiting) = (named(&told, "run"), named(&told, "waiting"));
    assert_eq!(
        (&run["model"], &run["offline"], &run["branch"]),
        (&json!("m"), &json!(false), &json!("main"))
    );
    assert_eq!((&waiting["for"], &waiting["open"]), (&json!("answers"), &json!(["q-1", "q-2"])));
    assert_eq!(named(&told, "questions")["questions"][0]["options"], json!(["web", "api"]));
    let listed = events(&room.run(&["--json", "--resume"]).await);
    assert_eq!((&listed[0]["run"], &listed[0]["waits_for"]), (&run["run"], &json!("2 answers")));
    let id = run["run"].as_str().unwrap().to_owned();
    let said = room.run(&["--json", "--resume", &id, "--answers", &room.sheet(WHOLE)]).await;
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    let told = events(&said);
    assert_eq!(named(&told, "decisions")["decisions"].as_array().unwrap().len(), 2);
    assert_eq!(named(&told, "summary")["summary"], "A check in the middleware.");
    assert_eq!(named(&told, "plan")["plan"]["specs"].as_array().unwrap().len(), 3);
    let outcome = named(&told, "outcome");
    assert_eq!(outcome["state"], "completed");
    assert_eq!(outcome["branch"], "planwright/1-check-tokens-at-login");
    room.is_carried_out();
}

#[tokio::test]
async fn a_run_goes_on_exactly_where_it_was_killed() {
    let room = Room::new().await;
    room.script();
    let said = room.typing(&[WANTED], &[("or s to skip > ", "1"), ("What comes first?", "KILL")]).await;
    let id = run_in(&said.out);
    let said = room.typing(&["--resume"], &[("which one? 1-1 > ", "1"), ("What comes first?", "KILL")]).await;
    assert!(
        said.out.contains(&format!("1  {id}")) && said.out.contains("waits for 1 answer: Check"),
        "{}",
        said.out
    );
    assert!(!said.out.contains("Which logins?"), "it was answered before: {}", said.out);
    let steps = [
        ("Question 2 of 2: What comes first?", "LOOK"),
        ("or s to skip > ", "safety"),
        ("Enter for 1 > ", ""),
        ("why (Enter: no reason) > ", "KILL"),
    ];
    room.typing(&["--resume", &id], &steps).await;
    let steps = [
        ("Enter for 1 > ", ""),
        ("why (Enter: no reason) > ", ""),
        ("Enter for 2 > ", ""),
        ("why (Enter: no reason) > ", ""),
        ("accept this design? y/n > ", "y"),
        ("execute now? y/n", "KILL"),
    ];
    room.typing(&["--resume", &id], &steps).await;
    let said = room.typing(&["--resume", &id], &[("r to turn it down > ", "y")]).await;
    assert_eq!(said.code, 0, "{}", said.out);
    assert_eq!(room.entries("triggered").len(), 1);
    assert_eq!(room.entries("answered").len(), 2);
    room.is_carried_out();
}

#[tokio::test]
async fn ctrl_c_leaves_the_run_and_says_how_to_go_on() {
    let room = Room::new().await;
    room.script();
    let said = room.typing(&[WANTED], &[("or s to skip > ", "INT")]).await;
    assert_eq!(said.code, 130, "{}", said.out);
    let id = run_in(&said.out);
    let left = said.out.split("Left. Everything so far is kept; go on with").nth(1).unwrap();
    assert_eq!(run_in(left), id);
    let said = room.typing(&["--resume", &id], &[("or s to skip > ", "EOF")]).await;
    assert_eq!(said.code, 3, "{}", said.out);
    let said = room.typing(&["--resume", &id], &[("or s to skip > ", "/cancel")]).await;
    assert_eq!(said.code, 4, "{}", said.out);
}

#[tokio::test]
async fn several_runs_are_listed_and_a_wrong_id_is_answered_with_them() {
    let room = Room::new().await;
    room.script();
    let said = room.run(&["--resume"]).await;
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    assert!(said.out.starts_with("No planning run is open."), "{}", said.out);
    let first = run_in(&room.run(&[WANTED]).await.out);
    room.model.say("discovery_questions", questions());
    let second = run_in(&room.run(&["Say hello"]).await.out);
    let said = room.run(&["--resume", "planning-typo"]).await;
    assert_eq!((said.code, said.out.as_str()), (1, ""));
    assert!(
        said.err.starts_with("planwright: there is no open run `planning-typo`; these are open:"),
        "{}",
        said.err
    );
    for (id, title) in [(&first, "Check tokens at login"), (&second, "Say hello")] {
        let line = said.err.lines().find(|line| line.contains(id.as_str())).unwrap();
        assert!(
            line.contains("just now") && line.ends_with(&format!("waits for 2 answers: {title}")),
            "{line}"
        );
    }
    let said = room.run(&["--resume"]).await;
    assert!(said.code == 3 && said.out.contains("plan --resume ID"), "{}", said.out);
    let steps = [("which one? 1-2 > ", "5"), ("which one? 1-2 > ", "2"), ("or s to skip > ", "INT")];
    let said = room.typing(&["--resume"], &steps).await;
    assert!(said.out.contains(&format!("plan --resume {first}")), "the newest is first: {}", said.out);
}

#[tokio::test]
async fn the_third_rejection_cancels_the_run() {
    let room = Room::new().await;
    room.model.say("discovery_questions", json!({"questions": []}));
    for turn in 1..=3 {
        room.model.say("design_decisions", json!({"decisions": []}));
        room.model.say("design_summary", json!({"summary": format!("Design {turn}.")}));
    }
    let steps = [
        ("Design 1.", "LOOK"),
        ("accept this design? y/n > ", "perhaps"),
        ("Write y to accept the design, or n.", "LOOK"),
        ("accept this design? y/n > ", "n"),
        ("what should be different? > ", "smaller"),
        ("Design 2.", "LOOK"),
        ("accept this design? y/n > ", "n"),
        ("what should be different? > ", "much smaller"),
        ("Design 3.", "LOOK"),
        ("a no cancels the run > ", "n"),
        ("what should be different? > ", ""),
    ];
    let said = room.typing(&[WANTED], &steps).await;
    assert_eq!(said.code, 4, "{}", said.out);
    assert!(
        said.out.contains("The run is cancelled. The design was turned down for the third time."),
        "{}",
        said.out
    );
    assert_eq!(room.entries("design_rejected")[1]["why"], "much smaller");
    room.model.assert_nothing_left_over();
}

#[tokio::test]
async fn a_model_that_is_down_ends_the_run_with_the_reason() {
    let room = Room::new().await;
    room.model.always_misbehave(Some(Misbehaviour::Status(401, "{}".to_owned())));
    let said = room.run(&[WANTED]).await;
    assert_eq!(said.code, 1, "{}{}", said.out, said.err);
    assert!(said.err.contains("planwright: the run failed: "), "{}", said.err);
    let told = events(&room.run(&["--json", "Say hello"]).await);
    assert_eq!(named(&told, "outcome")["state"], "failed");
    let reason = named(&told, "outcome")["reason"].as_str().unwrap();
    assert!(said.err.contains(reason), "{reason}");
    assert_eq!(room.entries("failed").len(), 1);
}

#[tokio::test]
async fn a_model_that_stays_down_is_asked_again_before_the_run_fails() {
    let room = Room::new().await;
    room.model.always_misbehave(Some(Misbehaviour::Status(503, "{}".to_owned())));
    let said = room.run(&[WANTED]).await;
    assert_eq!(said.code, 1, "{}{}", said.out, said.err);
    assert!(said.err.contains("… trying again soon: "), "{}", said.err);
    assert!(said.err.contains("planwright: the run failed: "), "{}", said.err);
    assert!(room.entries("ask_failed").len() >= 4, "three more tries");
}

#[tokio::test]
async fn a_run_that_is_killed_at_work_is_carried_on() {
    let room = Room::new().await;
    room.script();
    let sheet = room.sheet(&WHOLE.replace("execute: true", ""));
    let id = run_in(&room.run(&["--answers", &sheet, WANTED]).await.out);
    // The look at the end takes its time, so that there is one in which to kill it.
    room.model.misbehave(Misbehaviour::Slow(Duration::from_secs(5)));
    let said = room
        .typing(
            &["--resume", &id],
            &[("r to turn it down > ", "y"), ("carrying out", "LOOK"), (" 2 s", "KILL")],
        )
        .await;
    assert!(!said.out.contains("Done."), "{}", said.out);
    let said = room.run(&["--resume", &id]).await;
    assert_eq!(said.code, 0, "nobody has to say anything any more: {}{}", said.out, said.err);
    assert_eq!(room.entries("approved").len(), 1);
    assert_eq!(room.entries("action_begun").len(), 3, "no action runs twice");
    room.is_carried_out();
}

#[tokio::test]
async fn what_the_repository_forbids_is_not_begun() {
    let room = Room::new().await;
    std::fs::write(room.web().join(".planwright.yaml"), "planning: { enabled: false }\n").unwrap();
    room.git(&["add", "."]);
    room.git(&["-c", "user.name=Ann", "-c", "user.email=ann@example.invalid", "commit", "-q", "-m", "No"]);
    let said = room.run(&[WANTED]).await;
    assert_eq!(said.code, 1, "{}{}", said.out, said.err);
    assert!(said.out.contains("switched off"), "{}", said.out);
    assert!(said.err.ends_with("planwright: the run did not begin\n"), "{}", said.err);
}

#[tokio::test]
async fn what_cannot_be_saved_is_tried_again_and_said_and_not_lost() {
    let room = Room::new().await;
    room.script();
    let lock = format!("LOCK {}", room.dir.path().join("data/planwright.db").display());
    let said = room.typing(&[WANTED], &[("Which logins?", &lock), ("or s to skip > ", "2")]).await;
    assert_eq!(said.code, 1, "{}", said.out);
    let id = run_in(&said.out);
    let sorry = "planwright: this could not be saved, and three more tries did not help: the database is locked by \
                 another process. Nothing is lost; go on with `";
    assert!(said.out.contains(sorry), "{}", said.out);
    let said = room.typing(&["--resume", &id], &[("What comes first?", "INT")]).await;
    assert!(!said.out.contains("Which logins?"), "{}", said.out);
    assert_eq!(room.entries("answered")[0]["answers"], json!([{"question": "q-1", "answer": "api"}]));
}

#[tokio::test]
async fn no_model_means_rules_and_never_means_no_questions() {
    let room = Room::with("planning: { interactive: never }\n").await;
    room.two_files();
    let said = room.run(&["--answers", &room.sheet("execute: true"), WANTED]).await;
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    assert!(!said.out.contains("The design"), "{}", said.out);
    room.is_carried_out();

    std::fs::write(room.config(), format!("data_dir: {}/other\n", room.dir.path().display())).unwrap();
    let said = room.run(&["--json", WANTED]).await;
    assert_eq!(named(&events(&said), "run")["offline"], true, "{}", said.out);
}

#[tokio::test]
async fn places_that_cannot_be_planned_for_are_refused_with_a_sentence() {
    let room = Room::new().await;
    let elsewhere = room.dir.path().display().to_string();
    let empty = room.dir.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    Command::new("git").args(["init", "-q", "-b", "main"]).current_dir(&empty).status().unwrap();
    let empty = empty.display().to_string();
    for (args, code, says) in [
        (
            &["--repo", elsewhere.as_str(), "x"][..],
            1,
            "is in no git repository; go into one, or name it with `--repo",
        ),
        (&["--repo", empty.as_str(), "x"], 1, "there is no commit on `main`"),
        (&["--answers", "/nowhere.yaml", "x"], 1, "cannot read /nowhere.yaml"),
        (&["  "], 1, "say what you want"),
        (&["x", "--resume", "y"], 2, "cannot be used with"),
        (&[], 2, "required arguments were not provided"),
    ] {
        let said = room.run(args).await;
        assert_eq!((said.code, said.out.as_str()), (code, ""), "{args:?}");
        assert!(said.err.contains(says), "{args:?}: {}", said.err);
    }
    let said = room.run(&["--answers", &room.sheet("answer: [x]"), "x"]).await;
    assert!(said.code == 1 && said.err.contains("unknown field `answer`"), "{}", said.err);
    assert!(!room.dir.path().join("data/planwright.db").exists(), "nothing was begun");
}
