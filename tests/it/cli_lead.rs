//! Purpose: a crew led from the command line: plans in Markdown, questions and their answers, leaving and going on.

use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::cli::{Said, json as read};
use crate::cli_plan::{Room, WANTED, WHOLE, events, named};
use crate::story::acting::action;
use crate::story::crew::{path_of, turn};

/// Two files, spelled out so that rules can write them; the second after the first.
const SPELLED_OUT: &str = "\
# Greet people

Everybody should be greeted.

1. Say hello in `hello.md`

   ```
   hello
   ```

2. Say goodbye in `bye.md`

   ```
   goodbye
   ```
";

impl Room {
    fn plan(&self, text: impl AsRef<[u8]>) -> String {
        let path = self.dir.path().join("plan.md");
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// Rules answer from now on, instead of the scripted model.
    fn offline(&self) {
        let dir = self.dir.path().display();
        let yaml = format!("data_dir: {dir}/data\nmodels: {{ default: {{ provider: offline }} }}\n");
        let store = format!("store: {{ url: \"sqlite://{dir}/data/planwright.db\" }}\n");
        std::fs::write(self.config(), yaml + &store).unwrap();
    }

    fn execute(&self) -> String {
        self.sheet("execute: true\n")
    }

    /// Steps in the document, each with a file that its worker has to think about.
    fn steps(&self, steps: &[(&str, &[&str])]) {
        let step = |(id, on): &(&str, &[&str])| {
            json!({
                "id": id, "description": format!("Do {id}"), "dependencies": on, "estimated_complexity": "low",
                "required_tools": ["files"],
            })
        };
        let subtasks: Vec<Value> = steps.iter().map(step).collect();
        self.model.say("plan_document", json!({"objective": "Tell the time", "subtasks": subtasks}));
        let write =
            |(id, _): &(&str, &[&str])| action(id, "create", json!({"path": format!("notes/{id}.md")}));
        let actions: Vec<Value> = steps.iter().map(write).collect();
        let order: Vec<&str> = steps.iter().map(|(id, _)| *id).collect();
        self.model.say("action_sequence", json!({"execution_order": order, "actions": actions}));
    }

    /// Whoever works on `clock` does not know the time zone until somebody says it.
    fn unsure_of_the_clock(&self) {
        self.model.always_say("worker_turn", |asked| match path_of(asked).as_str() {
            "notes/clock.md" if !asked.user.contains("in UTC") => turn(
                "finish",
                json!({"feedback": {
                    "type": "difficulty", "issue": "Which time zone?", "attempts": ["read the thread"],
                    "impediment": {"category": "ambiguity", "requested_action": "clarification"},
                    "suggestion": "UTC",
                }}),
            ),
            path => turn("write_file", json!({"path": path, "content": format!("written to {path}\n")})),
        });
    }

    /// A run that waits for the answer to its one question, with nothing else left to do.
    async fn stuck(&self) -> String {
        self.steps(&[("clock", &[]), ("page", &["clock"])]);
        self.unsure_of_the_clock();
        let said = self
            .call(&["lead", "start", &self.plan("1. clock\n2. page\n"), "--answers", &self.execute()])
            .await;
        assert_eq!(said.code, 3, "{}{}", said.out, said.err);
        assert!(said.out.contains("Question 1 about clock: Which time zone?"), "{}", said.out);
        assert!(said.out.contains("The run waits for an answer to question 1 by @ada."), "{}", said.out);
        let id = led_in(&said.out);
        assert!(said.out.contains(&format!("lead resolve 1 \"…\" --run {id} --config ")), "{}", said.out);
        id
    }

    fn lines(&self) -> usize {
        let path = self.dir.path().join("data/history/local/web/issues/1.jsonl");
        std::fs::read_to_string(path).unwrap().lines().count()
    }
}

fn led_in(text: &str) -> String {
    let at = text.find("leading-").unwrap_or_else(|| panic!("no run is named in {text}"));
    text[at..at + "leading-".len() + 36].to_owned()
}

fn says(said: &Said, code: i32, words: &[&str]) {
    assert_eq!(said.code, code, "{}{}", said.out, said.err);
    for words in words {
        assert!(said.out.contains(words), "no “{words}” in:\n{}{}", said.out, said.err);
    }
}

#[tokio::test]
async fn a_plan_in_markdown_is_carried_out_by_rules_alone() {
    let room = Room::new().await;
    room.offline();
    let plan = room.plan(SPELLED_OUT);
    let said = room.call(&["lead", "start", &plan]).await;
    says(&said, 3, &["Greet people", "📋 Execution Plan", "+hello", "+goodbye", "whether it is carried out"]);
    // How far it is when somebody looks differs each time.
    assert!(said.err.contains("… "), "{}", said.err);
    let id = led_in(&said.out);
    assert!(said.out.contains(&format!("lead resume {id} --config ")), "{}", said.out);
    assert_eq!(room.git(&["branch", "--list", "planwright/*"]), "", "nothing runs before somebody said so");
    let status = read(&room.call(&["lead", "status", "--json"]).await);
    assert_eq!(
        (&status["session"], &status["waits_for"]),
        (&json!("planning"), &json!("your word to execute"))
    );

    let said = room.call(&["lead", "resume", "--answers", &room.execute()]).await;
    says(&said, 0, &["Done. The work is on the branch `planwright/1-greet-people` of "]);
    let branch = "planwright/1-greet-people";
    assert_eq!(room.git(&["show", &format!("{branch}:hello.md")]), "hello\n");
    assert_eq!(room.git(&["log", "--format=%s", &format!("main..{branch}")]).lines().count(), 2);
    assert_eq!(room.git(&["status", "--porcelain"]), "", "the work tree is left alone");
    let triggered = room.entries("triggered");
    assert_eq!((triggered.len(), &triggered[0]["how"]), (1, &json!("document")));
    assert_eq!(room.entries("goal_understood")[0]["goal"]["main_objective"], "Greet people");
    assert_eq!(room.entries("decomposed")[0]["steps"][1]["dependencies"], json!(["task_1"]));
    assert!(room.entries("questions_found").is_empty(), "the plan is there, nothing is asked about it");

    let status = read(&room.call(&["lead", "status", &id, "--json"]).await);
    assert_eq!((&status["session"], &status["state"]), (&json!("completed"), &json!("completed")));
    assert_eq!(status["branch"], branch);
    let step = &status["steps"][1];
    assert_eq!((&step["id"], &step["state"]), (&json!("task_2"), &json!("done")));
    let taken = (&step["worker"], &step["attempt"], &step["verdict"], &step["judged_by"]);
    assert_eq!(taken, (&json!(1), &json!(1), &json!("done"), &json!("evidence")));
    let said = room.call(&["lead", "status"]).await;
    says(&said, 0, &[&id, "completed", "Goal: Greet people", "☑ task_1", "done · worker 1 · evidence: done"]);
    says(&room.call(&["lead", "list"]).await, 0, &[&id, "completed   2/2  just now  Greet people"]);
    let list = read(&room.call(&["lead", "list", "--json"]).await);
    assert_eq!(
        (&list[0]["run"], &list[0]["steps_done"], &list[0]["steps"]),
        (&json!(id), &json!(2), &json!(2))
    );

    let said = room.call(&["lead", "watch", "leading-"]).await;
    says(
        &said,
        0,
        &["@ada (admin) gave the bot a plan to carry out, and a run began", "the run is complete"],
    );
    let said = room.call(&["lead", "resume", &id]).await;
    assert_eq!((said.code, said.out.as_str()), (1, ""));
    assert!(said.err.ends_with("is completed; there is nothing to go on with\n"), "{}", said.err);
    let said = room.call(&["lead", "start", "--run", &id]).await;
    assert!(said.code == 1 && said.err.contains("no step of its plan is left"), "{}", said.err);
}

#[tokio::test]
async fn what_is_no_plan_is_refused_before_anything_starts() {
    let room = Room::new().await;
    let dir = room.dir.path().display().to_string();
    let at = |name: &str, content: &[u8]| {
        let path = room.dir.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    };
    let pipe = room.dir.path().join("pipe").display().to_string();
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for (args, code, says) in [
        (vec!["start", "/nowhere/plan.md"], 1, "there is no file /nowhere/plan.md"),
        (vec!["start", &dir], 1, "is a directory; name the Markdown file with the plan"),
        (vec!["start", &pipe], 1, "is no ordinary file"),
        (vec!["start", &at("empty.md", b"")], 1, "empty.md is empty; write the steps of the plan into it"),
        (vec!["start", &at("blank.md", b" \n\t\n")], 1, "blank.md is empty"),
        (vec!["start", &at("latin.md", b"1. caf\xe9\n")], 1, "latin.md is no text in UTF-8"),
        (vec!["start", &at("image.md", b"PNG\0\0 1. x")], 1, "image.md is no text in UTF-8"),
        (vec!["start", &at("long.md", &b"1. x\n".repeat(1_000_000))], 1, "long.md is larger than 200 KB"),
        (vec!["start", &at("heads.md", b"# One\n\n## Two\n")], 1, "heads.md has nothing but headings"),
        (
            vec!["start", &at("good.md", b"1. x\n"), "--answers", "/nowhere.yaml"],
            1,
            "cannot read /nowhere.yaml",
        ),
        (vec!["start", &at("good.md", b"1. x\n"), "--repo", &dir], 1, "is in no git repository"),
        (vec!["start", "--run", "nobody"], 1, "there is no run `nobody` here"),
        (vec!["start"], 2, "required arguments were not provided"),
        (vec!["start", "x.md", "--run", "y"], 2, "cannot be used with"),
        (vec!["stauts"], 2, "similar subcommands exist: 'start', 'status'"),
        (vec!["resolve", "one", "x"], 2, "invalid value 'one'"),
        (vec!["resolve", "1", " "], 1, "Say what the answer to question 1 is."),
        (vec!["resolve", "1", "x"], 1, "no run was led yet"),
        (vec!["status"], 1, "no run was led yet; `lead start plan.md` starts one"),
        (vec!["watch", "x"], 1, "there is no run `x` here; `planwright lead list` shows"),
    ] {
        let args: Vec<&str> = std::iter::once("lead").chain(args).collect();
        let said = room.call(&args).await;
        assert_eq!((said.code, said.out.as_str()), (code, ""), "{args:?}: {}", said.err);
        assert!(said.err.contains(says), "{args:?}: {}", said.err);
    }
    says(&room.call(&["lead", "list"]).await, 0, &["No run was led yet."]);
    says(&room.call(&["lead", "resume"]).await, 0, &["No led run is open."]);
    assert_eq!(read(&room.call(&["lead", "list", "--json"]).await), json!([]));
    assert!(!room.dir.path().join("data/history").exists(), "nothing was begun");
    assert!(room.model.requests().is_empty());
}

#[tokio::test]
async fn a_document_that_makes_no_plan_ends_the_run_with_the_reason() {
    let room = Room::new().await;
    let step = |id: &str, on: &[&str]| json!({"id": id, "description": "x", "dependencies": on, "estimated_complexity": "low", "required_tools": []});
    for (subtasks, reason) in [
        (json!([step("a", &["b"]), step("b", &["a"])]), "the steps `a`, `b` wait for each other"),
        (json!([step("a", &["z"])]), "`a` depends on `z`, which is no step"),
        (json!([]), "there are no steps"),
    ] {
        for _ in 0..2 {
            room.model.say("plan_document", json!({"objective": "Ship", "subtasks": subtasks}));
        }
        let said = room.call(&["lead", "start", &room.plan("1. a\n2. b\n")]).await;
        assert_eq!(said.code, 1, "{}{}", said.out, said.err);
        let whole = format!("the run failed: The document is no plan that can be carried out: {reason}. ");
        assert!(said.err.contains(&whole), "{}", said.err);
        room.model.assert_nothing_left_over();
    }
    let asked = room.model.requests();
    assert!(asked.iter().all(|asked| asked.schema_name == "plan_document"), "nothing else was asked");
    assert!(asked[0].user.contains("plan document\n1. a\n2. b"), "{}", asked[0].user);
    let status = read(&room.call(&["lead", "status", "--json"]).await);
    assert_eq!((&status["state"], &status["steps"]), (&json!("failed"), &json!([])));
    let said = room.call(&["lead", "start", "--run", status["run"].as_str().unwrap()]).await;
    assert!(said.code == 1 && said.err.contains("is failed and has no plan"), "{}", said.err);
}

#[tokio::test]
async fn a_question_holds_the_run_until_it_is_answered() {
    let room = Room::new().await;
    let id = room.stuck().await;
    let status = read(&room.call(&["lead", "status", "--json"]).await);
    assert_eq!((&status["session"], &status["steps"][0]["state"]), (&json!("escalating"), &json!("held")));
    let question = &status["escalations"][0];
    assert_eq!((&question["number"], &question["cause"]), (&json!(1), &json!("ambiguity")));
    assert_eq!((&question["target"], &question["asked"]), (&json!("people"), &json!(["ada"])));
    assert_eq!((&question["issue"], &question["suggestion"]), (&json!("Which time zone?"), &json!("UTC")));
    let said = room.call(&["lead", "status"]).await;
    says(
        &said,
        0,
        &[
            "escalating",
            "☐ clock",
            "held · worker 1",
            "Open questions:",
            "1  open · ambiguity · @ada · just now",
        ],
    );
    says(&room.call(&["lead", "list"]).await, 0, &["escalating  0/2", "(1 question open)"]);

    let before = room.lines();
    let said = room.call(&["lead", "resume"]).await;
    says(
        &said,
        3,
        &["Which time zone?", "The run waits for an answer to question 1 by @ada.", "lead resolve 1"],
    );
    let told = events(&room.call(&["lead", "resume", &id, "--json"]).await);
    assert_eq!(named(&told, "escalation")["escalation"]["number"], 1);
    assert_eq!(
        (&named(&told, "waiting")["for"], &named(&told, "waiting")["open"]),
        (&json!("escalation"), &json!(["1"]))
    );
    for (number, error) in [("7", "; open: 1\n"), ("0", "there is no question 0 in leading-")] {
        let said = room.call(&["lead", "resolve", number, "in UTC"]).await;
        assert!(said.code == 1 && said.err.contains(error), "{}", said.err);
    }
    assert_eq!(room.lines(), before, "nothing has happened");

    let asked = room.model.requests().len();
    let said = room.call(&["lead", "resolve", "1", "in UTC"]).await;
    says(&said, 0, &["Question 1 is answered by @ada.", &format!("lead resume {id} --config ")]);
    assert_eq!(room.model.requests().len(), asked, "what follows is for the next who goes on");
    let resolved = room.entries("escalation_resolved");
    assert_eq!((&resolved[0]["by"]["login"], &resolved[0]["text"]), (&json!("ada"), &json!("in UTC")));
    let said = room.call(&["lead", "resolve", "1", "in CET", "--run", &id]).await;
    assert_eq!((said.code, said.out.as_str()), (1, ""));
    assert!(said.err.ends_with("is settled: @ada answered: in UTC\n"), "{}", said.err);
    let list = read(&room.call(&["lead", "escalations", "--json"]).await);
    assert_eq!((&list[0]["state"], &list[0]["answer"]), (&json!("resolved"), &json!("in UTC")));
    assert_eq!(list[0]["answered_by"], "ada");

    let said = room.call(&["lead", "resume"]).await;
    says(&said, 0, &["Done. The work is on the branch "]);
    let branch = room.git(&["branch", "--list", "planwright/*", "--format=%(refname:short)"]);
    assert_eq!(
        room.git(&["show", &format!("{}:notes/clock.md", branch.trim())]),
        "written to notes/clock.md\n"
    );
    says(
        &room.call(&["lead", "escalations"]).await,
        0,
        &["resolved · ambiguity · @ada", "@ada answered: in UTC"],
    );
    room.model.assert_nothing_left_over();
}

#[tokio::test]
async fn questions_are_answered_in_the_terminal_or_from_a_file_as_well() {
    let room = Room::new().await;
    room.steps(&[("clock", &[])]);
    room.unsure_of_the_clock();
    let plan = room.plan("1. clock\n");
    let steps = [
        ("r to turn it down > ", "y"),
        ("Which time zone?", "LOOK"),
        ("your answer > ", ""),
        ("your answer > ", "in UTC"),
    ];
    let said = room.at_terminal(&["lead", "start", &plan], &steps).await;
    says(
        &said,
        0,
        &["tried: read the thread", "suggested: UTC", "Say what the answer to question 1 is.", "Done. "],
    );

    room.steps(&[("clock", &[])]);
    let sheet = room.sheet("execute: true\nresolve: { 1: in UTC }\n");
    let said = room.call(&["lead", "start", &plan, "--answers", &sheet, "--json"]).await;
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{}", said.out);
    let told = events(&said);
    let said_for: Vec<&Value> = told.iter().filter(|e| e["event"] == "said").map(|e| &e["words"]).collect();
    assert_eq!(said_for, [&json!("/approve"), &json!("/resolve 1 in UTC")]);
    assert_eq!(named(&told, "outcome")["state"], "completed");
    let both = read(&room.call(&["lead", "list", "--json"]).await);
    assert_eq!(both.as_array().unwrap().len(), 2);
    assert_eq!(both[0]["run"], named(&told, "run")["run"], "the newest is first");
}

#[tokio::test]
async fn what_a_plan_run_has_worked_out_is_carried_out() {
    let room = Room::new().await;
    room.script();
    let run_in =
        |said: &Said| said.out[said.out.find("planning-").unwrap()..][.."planning-".len() + 36].to_owned();
    let id = run_in(&room.call(&["plan", WANTED]).await);
    let said = room.call(&["lead", "start", "--run", &id]).await;
    says(&said, 3, &["The run waits for answers to q-1, q-2.", &format!("plan --resume {id}")]);
    let sheet = room.sheet(&WHOLE.replace("execute: true", ""));
    let said = room.call(&["plan", "--resume", &id, "--answers", &sheet]).await;
    says(&said, 3, &["whether it is carried out"]);
    assert_eq!(read(&room.call(&["lead", "list", "--json"]).await), json!([]), "nobody leads it yet");
    let said = room.call(&["lead", "start", "--run", &id[..20]]).await;
    says(
        &said,
        0,
        &[
            "📋 Execution Plan",
            "> /approve",
            "Done. The work is on the branch `planwright/1-check-tokens-at-login`",
        ],
    );
    let status = read(&room.call(&["lead", "status", "--json"]).await);
    assert_eq!((&status["run"], &status["steps_done"]), (&json!(id), &json!(3)), "{status}");
    assert_eq!(room.entries("triggered").len(), 1);
}

#[tokio::test]
async fn what_a_run_left_undone_is_taken_up_by_another() {
    let room = Room::new().await;
    room.steps(&[("one", &[]), ("two", &["one"])]);
    room.unsure_of_the_clock();
    let plan = room.plan("1. one\n2. two\n");
    let said = room.at_terminal(&["lead", "start", &plan], &[("r to turn it down > ", "/cancel")]).await;
    assert_eq!(said.code, 4, "{}", said.out);
    let first = led_in(&said.out);
    let said = room.call(&["lead", "resume", &first]).await;
    assert!(
        said.code == 1 && said.err.contains(&format!("`lead start --run {first}` takes up what is left")),
        "{}",
        said.err
    );
    let write = |id: &str| action(id, "create", json!({"path": format!("notes/{id}.md")}));
    room.model.say(
        "action_sequence",
        json!({"execution_order": ["one", "two"], "actions": [write("one"), write("two")]}),
    );
    let said = room.call(&["lead", "start", "--run", &first, "--answers", &room.execute()]).await;
    says(&said, 0, &["Done. The work is on the branch "]);
    let second = led_in(&said.out);
    assert_ne!(first, second);
    let how: Vec<Value> = room.entries("triggered").iter().map(|entry| entry["how"].clone()).collect();
    assert_eq!(how, ["document", "retried"]);
    assert_eq!(room.entries("decomposed").len(), 1, "the steps are not read again");
    let status = read(&room.call(&["lead", "status", "--json"]).await);
    assert_eq!((&status["run"], &status["steps_done"]), (&json!(second), &json!(2)));
    room.model.assert_nothing_left_over();
}

#[tokio::test]
async fn a_run_is_left_by_ctrl_c_and_goes_on() {
    let room = Room::new().await;
    room.offline();
    let plan = room.plan(SPELLED_OUT);
    let said = room.at_terminal(&["lead", "start", &plan], &[("r to turn it down > ", "INT")]).await;
    assert_eq!(said.code, 130, "{}", said.out);
    let id = led_in(&said.out);
    let left = said.out.split("Left. Everything so far is kept; go on with").nth(1).unwrap();
    assert!(left.contains(&format!("lead resume {id} --config ")), "{left}");
    let said = room.at_terminal(&["lead", "resume"], &[("r to turn it down > ", "KILL")]).await;
    assert!(said.out.contains(&id), "{}", said.out);
    let said = room.at_terminal(&["lead", "resume"], &[("r to turn it down > ", "y")]).await;
    says(&said, 0, &["Done. "]);
    assert_eq!((room.entries("triggered").len(), room.entries("action_begun").len()), (1, 2));
}

fn child(room: &Room, args: &[&str]) -> Child {
    room.command(&[], args).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap()
}

#[tokio::test]
async fn watching_tells_what_others_do_until_the_run_ends() {
    let room = Room::new().await;
    let id = room.stuck().await;
    let said = room
        .at_terminal(&["lead", "watch"], &[("question 1 went to people (@ada) about clock", "INT")])
        .await;
    assert_eq!(said.code, 130, "{}", said.out);
    let (lines, facts) =
        (child(&room, &["lead", "watch", &id]), child(&room, &["lead", "watch", &id, "--json"]));
    says(&room.call(&["lead", "resolve", "1", "in UTC"]).await, 0, &[]);
    says(&room.call(&["lead", "resume"]).await, 0, &[]);
    let ended = |child: Child| tokio::task::spawn_blocking(move || child.wait_with_output().unwrap());
    let (lines, facts) = (ended(lines).await.unwrap(), ended(facts).await.unwrap());
    assert_eq!((lines.status.code(), facts.status.code()), (Some(0), Some(0)));
    let lines = String::from_utf8(lines.stdout).unwrap();
    for words in [
        "worker 1 took clock in hand",
        "@ada answered question 1: in UTC",
        "the judge says that page is done",
    ] {
        assert!(lines.contains(words), "no “{words}” in:\n{lines}");
    }
    assert!(lines.trim_end().ends_with("the run is complete: the plan is carried out"), "{lines}");
    let facts = String::from_utf8(facts.stdout).unwrap();
    let facts: Vec<Value> = facts.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(facts.iter().all(|fact| fact["run"] == id.as_str() && fact["seq"].is_i64()));
    assert_eq!(
        (&facts[0]["type"], &facts.last().unwrap()["type"]),
        (&json!("triggered"), &json!("completed"))
    );
}

#[tokio::test]
async fn two_at_once_are_told_apart() {
    let room = Room::new().await;
    room.stuck().await;
    let lock = std::fs::File::options()
        .write(true)
        .open(room.dir.path().join("data/local/world.json.lock"))
        .unwrap();
    lock.lock().unwrap();
    let said = room.call(&["lead", "resolve", "1", "in UTC"]).await;
    assert_eq!((said.code, said.out.as_str()), (1, ""));
    assert!(said.err.contains("another planwright is at work on "), "{}", said.err);
    says(&room.call(&["lead", "status"]).await, 0, &["escalating"]);
    drop(lock);
    // Another run with such a question: which one is meant has to be said.
    room.steps(&[("clock", &[])]);
    let said = room.call(&["lead", "start", &room.plan("1. clock\n"), "--answers", &room.execute()]).await;
    assert_eq!(said.code, 3, "{}{}", said.out, said.err);
    let second = led_in(&said.out);
    let said = room.call(&["lead", "resolve", "1", "in UTC"]).await;
    assert!(
        said.code == 1 && said.err.contains("several runs have an open question 1; add `--run ID`:"),
        "{}",
        said.err
    );
    let said = room.call(&["lead", "resolve", "1", "in UTC", "--run", &second, "--json"]).await;
    let told = read(&said);
    assert_eq!(
        (&told["event"], &told["run"], &told["open"]),
        (&json!("resolved"), &json!(second), &json!([]))
    );
    says(&room.call(&["lead", "resume", &second]).await, 0, &["Done. "]);
}
