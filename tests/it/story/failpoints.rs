//! Purpose: the real binary dies at every single point of a run where something leaves it: at each request to the forge,
//! before and after it takes effect, and at each append to the journal. Afterwards all is as if nothing had happened.
//!
//! A small plan is gone through point by point on every run of the tests. Of a long one each kind of point has its turn,
//! because all of them take minutes: `cargo test --test it a_run_of_twenty_actions -- --ignored --nocapture`.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::time::Instant;

use futures_util::{FutureExt as _, StreamExt as _};
use planwright::domain::{ForgeKind, Reaction};
use serde_json::{Value, json};
use sqlx::{Connection as _, SqliteConnection};

use super::acting::{action, sequence};
use super::bot::{Front, MARIA, Process, Scene};
use super::talk::{clear, decision, unclear};
use crate::fake_forge::{Ambush, Delivery, Moment, Stage};
use crate::scripted_model::Asked;

/// How many stories go on side by side.
const AT_ONCE: usize = 3;

/// Of the requests of a long run, one of so many is died at on every run of the tests.
const STRIDE: usize = 5;

/// Where the bot dies.
#[derive(Debug, Clone, Copy)]
enum Point {
    Never,
    Request(usize, Moment),
    /// The nth request that changes something.
    Change(usize, Moment),
    Append(usize),
}

/// What a story comes to, without what differs each time.
#[derive(Debug, PartialEq)]
struct Ending {
    card: Vec<String>,
    files: BTreeMap<String, String>,
    commits: Vec<String>,
    ended: Vec<String>,
    change: String,
}

struct Told {
    ending: Ending,
    died: bool,
    requests: usize,
    /// The requests that change something.
    changes: usize,
    /// What each entry of the journal says, without what differs each time.
    journal: Vec<String>,
}

/// What the story is about.
#[derive(Clone, Copy)]
struct Tale {
    name: &'static str,
    plan: fn() -> Vec<Value>,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Plain,
    /// The goal is asked about, and people let the model plan the rest anew in the middle.
    Talks,
    /// It is designed with people first, who answer and confirm nothing in time; the model is unsure, and gets stuck
    /// twice.
    Designs,
    /// On a long thread people are reminded of a question and answer it in words; the model changes the plan, and may not
    /// do so again when it gets stuck once more.
    Waits,
    /// Three workers are at it side by side.
    Crew,
}

const SMALL: Tale = Tale { name: "small", plan: small_plan, kind: Kind::Plain };
const LONG: Tale = Tale { name: "long", plan: long_plan, kind: Kind::Plain };
const TALK: Tale = Tale { name: "talk", plan: stuck_plan, kind: Kind::Talks };
const DESIGN: Tale = Tale { name: "design", plan: stuck_plan, kind: Kind::Designs };
const WAIT: Tale = Tale { name: "wait", plan: stuck_plan, kind: Kind::Waits };
const CREW: Tale = Tale { name: "crew", plan: three_at_once, kind: Kind::Crew };

impl Tale {
    /// Each plan is put up once.
    fn previews(self) -> usize {
        match self.kind {
            Kind::Plain | Kind::Crew => 1,
            Kind::Talks | Kind::Designs | Kind::Waits => 2,
        }
    }

    /// How many comments ask something, and how many tell of replans.
    fn asides(self) -> (usize, usize) {
        match self.kind {
            Kind::Plain | Kind::Crew => (0, 0),
            Kind::Talks => (1, 1),
            Kind::Designs => (1, 3),
            Kind::Waits => (1, 2),
        }
    }

    fn planning(self) -> &'static str {
        match self.kind {
            Kind::Plain | Kind::Talks | Kind::Crew => "{ enabled: true }",
            Kind::Designs => {
                "{ enabled: true, interactive: always, \
                 replanning: { goal_understanding: { auto_assume_timeout_minutes: 0 } } }"
            }
            Kind::Waits => {
                "{ enabled: true, replanning: { execution: { max_partial_replans: 1 }, goal_understanding: { \
                 auto_assume_timeout_minutes: 0, auto_assume_on_no_response: false } } }"
            }
        }
    }
}

/// The second action cannot be done.
fn stuck_plan() -> Vec<Value> {
    vec![
        action("task_1", "create", json!({"path": "notes/1.md", "content": "note 1\n"})),
        action("task_2", "write", json!({"path": "stuck/2.md"})),
        action("task_3", "create", json!({"path": "notes/3.md", "content": "note 3\n"})),
    ]
}

/// A model that asks until it has an answer, and that would plan anew when something failed.
fn make_it_talk(scene: &Scene) {
    scene.model.always_say("goal_understanding", |asked| {
        let questions = json!([{"type": "scope", "question": "Which logins?", "options": ["web", "api"]}]);
        if asked.user.contains("only the web one") { clear() } else { unclear(questions) }
    });
    scene.model.always_say("reflection", |_| {
        json!({
            "action_id": "", "status": "failure", "evaluation": "It is stuck.", "alignment_with_plan": "no",
            "issues_identified": [], "plan_revision_needed": false,
            "replan_decision": decision(json!({
                "replan_needed": true, "confidence": 0.4, "replan_type": "partial_replan", "replan_level": 2,
                "reasoning": "There is another way.",
            })),
        })
    });
    scene.model.always_say("plan_revision", |_| {
        let step = json!({"id": "task_4", "description": "The other way", "dependencies": [],
                          "estimated_complexity": "low", "required_tools": [], "rests_on": []});
        let other = action("task_4", "create", json!({"path": "notes/4.md", "content": "note 4\n"}));
        json!({"subtasks": [step], "execution_order": ["task_4"], "actions": [other]})
    });
}

/// A model that is not sure, and whose other way does not work either.
fn make_it_unsure(scene: &Scene) {
    scene.model.always_say("goal_understanding", |_| clear());
    scene.model.always_say("discovery_questions", |_| {
        json!({"questions": [{"type": "scope", "question": "Which logins?", "options": [], "assumption": "both"}]})
    });
    scene.model.always_say("design_decisions", |_| super::design::decisions());
    scene.model.always_say("design_summary", |_| json!({"summary": "As chosen."}));
    scene.model.always_say("reflection", |_| {
        json!({
            "action_id": "", "status": "failure", "evaluation": "It is stuck.", "alignment_with_plan": "no",
            "issues_identified": [], "plan_revision_needed": false,
            "replan_decision": decision(json!({
                "replan_needed": true, "confidence": 0.4, "replan_type": "partial_replan", "replan_level": 2,
                "reasoning": "Perhaps there is another way.",
            })),
        })
    });
    scene.model.always_say("plan_revision", |_| another_that_is_stuck());
}

/// A model that reads words, and whose other way does not work either.
fn make_it_wait(scene: &Scene) {
    for n in 0..MANY_REMARKS {
        scene.said(MARIA, &format!("remark {n}"));
    }
    scene.model.always_say("conversation_summary", |_| json!({"summary": "They made remarks."}));
    scene.model.always_say("goal_understanding", |asked| {
        let questions = json!([{"type": "scope", "question": "Which logins?", "options": []}]);
        if asked.user.contains("only the web one") { clear() } else { unclear(questions) }
    });
    scene.model.always_say("answer_mapping", |asked| {
        let answer = json!({"question_id": "q-1", "answer": "only the web one"});
        let answers = if asked.user.contains("Not the API") { vec![answer] } else { vec![] };
        json!({"answers": answers})
    });
    scene.model.always_say("reflection", |_| {
        json!({
            "action_id": "", "status": "failure", "evaluation": "It is stuck.", "alignment_with_plan": "no",
            "issues_identified": [], "plan_revision_needed": false,
            "replan_decision": decision(json!({
                "replan_needed": true, "confidence": 0.9, "replan_type": "partial_replan", "replan_level": 2,
                "reasoning": "There is another way.",
            })),
        })
    });
    scene.model.always_say("plan_revision", |_| another_that_is_stuck());
    let nothing = json!({"way": "nothing", "reasoning": "I know no other."});
    scene.model.always_say("alternative_approach", move |_| nothing.clone());
}

fn another_that_is_stuck() -> Value {
    let step = json!({"id": "task_4", "description": "The other way", "dependencies": [],
                      "estimated_complexity": "low", "required_tools": [], "rests_on": []});
    let other = action("task_4", "write", json!({"path": "stuck/4.md"}));
    json!({"subtasks": [step], "execution_order": ["task_4"], "actions": [other]})
}

/// More than are read one by one.
const MANY_REMARKS: u32 = 105;

/// Three steps that do not need each other, each with something that a worker has to fill in.
fn three_at_once() -> Vec<Value> {
    let two = |n: u32| {
        let step = format!("task_{n}");
        [
            action(
                &step,
                "create",
                json!({"path": format!("notes/{n}.md"), "content": format!("note {n}\n")}),
            ),
            action(&step, "write", json!({"path": format!("open/{n}.md")})),
        ]
    };
    (1..=3).flat_map(two).collect()
}

fn small_plan() -> Vec<Value> {
    vec![
        action("task_1", "create", json!({"path": "notes/1.md", "content": "note 1\n"})),
        action("task_2", "write", json!({"path": "src/login.rs"})),
        action("task_3", "delete", json!({"path": "notes/1.md"})),
    ]
}

/// Twenty actions of all kinds, one of them a program.
fn long_plan() -> Vec<Value> {
    let mut plan = vec![];
    for n in 1..=5 {
        let path = format!("notes/{n}.md");
        plan.push(action("task_1", "create", json!({"path": path, "content": format!("note {n}\n")})));
        plan.push(action("task_2", "write", json!({"path": format!("open/{n}.md")})));
        plan.push(action("task_2", "read", json!({"path": "README.md"})));
    }
    plan.push(action("task_3", "run", json!({"command": BUILD})));
    plan.push(action("task_3", "write", json!({"path": "README.md", "content": "# new\n"})));
    plan.push(action("task_3", "delete", json!({"path": "src/login.rs"})));
    plan.push(action("task_3", "mkdir", json!({"path": "empty"})));
    plan.push(action("task_3", "analyze", json!({})));
    plan
}

const BUILD: [&str; 3] = ["sh", "-c", "echo built >> out.txt"];

/// The worker looks once at what it works on, then does it; which turn it is stands in the question.
fn worker(asked: &Asked) -> Value {
    let action: Value = asked
        .user
        .split_once("The action:\n")
        .and_then(|(_, rest)| serde_json::from_str(rest.lines().next()?).ok())
        .unwrap();
    let path = &action["spec"]["path"];
    let turn = asked.user.matches("you called: ").count();
    let stuck = path.as_str().is_some_and(|path| path.starts_with("stuck/"));
    let (tool, content) = match (turn, path.as_str()) {
        (0, _) => ("list_files", Value::Null),
        (_, Some(_)) if stuck => ("finish", Value::Null),
        (_, Some(path)) => ("write_file", json!(format!("written to {path}\n"))),
        (_, None) => ("finish", Value::Null),
    };
    json!({
        "thought": "t", "tool": tool, "path": if turn == 0 { &Value::Null } else { path }, "content": content,
        "name": null, "arguments_json": null, "command": [],
        "feedback": if stuck {
            json!({"type": "implementation", "result": "failed", "changes": [], "notes": "seen"})
        } else {
            json!({"type": "exploration", "findings": "seen", "recommendations": [], "confidence": "high"})
        },
    })
}

async fn scene(tale: Tale) -> Scene {
    let workers = if tale.kind == Kind::Crew { 3 } else { 2 };
    let settings = format!(
        "planning: {}\ncrew: {{ workers: {workers} }}\ntools: {{ commands: {{ build: {{ argv: {} }} }} }}\n",
        tale.planning(),
        json!(BUILD)
    );
    let scene = Scene::on(ForgeKind::Github).await.settings(&settings);
    let plan = (tale.plan)();
    scene.model.always_say("action_sequence", move |_| sequence(plan.clone()));
    scene.model.always_say("worker_turn", worker);
    match tale.kind {
        Kind::Plain => {}
        Kind::Talks => make_it_talk(&scene),
        Kind::Designs => make_it_unsure(&scene),
        Kind::Waits => make_it_wait(&scene),
        Kind::Crew => make_it_share(&scene),
    }
    scene
}

fn make_it_share(scene: &Scene) {
    let step = |n: u32| {
        json!({"id": format!("task_{n}"), "description": format!("Part {n}"), "dependencies": [],
               "estimated_complexity": "low", "required_tools": []})
    };
    let steps: Vec<Value> = (1..=3).map(step).collect();
    scene.model.always_say("task_decomposition", move |_| json!({"reasoning": "so", "subtasks": steps}));
}

fn stage(scene: &Scene) -> &Stage {
    let Front::Github(fake) = &scene.front else { unreachable!("these stories are on GitHub") };
    &fake.stage
}

/// What people do in the story, each thing when it is time for it, told again until the bot has taken it.
#[derive(Default)]
struct People {
    assigned: Option<(Delivery, bool)>,
    answered: Option<(Delivery, bool)>,
    /// What is answered with these words, once.
    replied: BTreeMap<&'static str, (Delivery, bool)>,
    /// A box of the first decision is ticked, and unticked again.
    ticked: Vec<(Delivery, bool)>,
    /// One for each preview.
    approved: Vec<(Delivery, bool)>,
    resumed: usize,
}

/// How a comment begins that is answered, what it has, and the answer.
type Replies = &'static [(&'static str, &'static str, &'static str)];

const TO_DESIGN: Replies = &[
    ("## 🧭 Design Decisions", "d-1", CHOICES[0]),
    ("## 🧭 Design Decisions", "d-2", CHOICES[1]),
    ("## 🧭 Design Summary", "As chosen.", "/approve the design"),
    ("## 🔄", "skip task_2", "/replan it another way"),
    ("## 🔄", "skip task_4", "/skip task_4"),
];

const CHOICES: [&str; 2] = ["/choose d-1 opt-a because it is simple", "/choose d-2 opt-b because it lasts"];

const TO_TALK: Replies = &[("## 🔄", "`/replan why` is a yes", "/replan yes")];

const TO_WAIT: Replies = &[
    ("@maria, I am still waiting", "q-1", "Hm, let me think."),
    ("@maria, I could not tell", "1. …", "Not the API, just the other."),
    ("## 🔄", "skip task_4", "/resume"),
];

impl People {
    async fn act(&mut self, tale: Tale, scene: &Scene, bot: &Process<'_>) {
        let assigned = self.assigned.get_or_insert_with(|| (scene.webhook(&scene.assigned(MARIA)), false));
        tell(bot, assigned).await;
        let replies = match tale.kind {
            Kind::Plain | Kind::Crew => &[],
            Kind::Talks => TO_TALK,
            Kind::Designs => TO_DESIGN,
            Kind::Waits => TO_WAIT,
        };
        let undecided = tale.kind == Kind::Designs && !self.changes_its_mind(scene);
        for (begins, has, words) in replies {
            let asked = |body: &String| body.starts_with(begins) && body.contains(has);
            let waits = undecided && CHOICES.contains(words);
            if !waits && !self.replied.contains_key(words) && scene.comments().iter().any(asked) {
                self.replied.insert(words, (scene.webhook(&scene.said(MARIA, words)), false));
            }
        }
        // What has no options is answered by nobody.
        let asks = |body: &String| body.starts_with("## ❓") && body.contains("- [ ] web");
        if self.answered.is_none() && scene.comments().iter().any(asks) {
            self.answered = Some((scene.webhook(&scene.said(MARIA, "1. only the web one")), false));
        }
        if self.approved.len() < scene.previews().len() {
            self.approved.push((scene.webhook(&scene.said(MARIA, "/approve")), false));
        }
        let said = self.replied.values_mut().chain(&mut self.ticked);
        for said in said.chain(&mut self.answered).chain(&mut self.approved) {
            tell(bot, said).await;
        }
        // A program that was running when the bot died is run again only when somebody says so.
        if scene.entries("action_interrupted").len() > self.resumed {
            let resume = scene.webhook(&scene.said(MARIA, "/resume"));
            self.resumed += usize::from(bot.try_post(&resume).await == Some(202));
        }
    }
}

impl People {
    /// Whether the box has been ticked and unticked, and both were seen.
    fn changes_its_mind(&mut self, scene: &Scene) -> bool {
        let seen = scene.entries("ticks_seen").len();
        if seen == self.ticked.len() && seen < 2 && !scene.entries("decisions_posted").is_empty() {
            let is_asked = |body: &String| body.starts_with("## 🧭 Design Decisions");
            let (id, body) = scene.bot_comments().into_iter().find(|(_, body)| is_asked(body)).unwrap();
            let (empty, full) = ("- [ ] **opt-a**", "- [x] **opt-a**");
            let (from, to) = if seen == 0 { (empty, full) } else { (full, empty) };
            let edited = body.replacen(from, to, 1);
            let event = scene.act(|world, thread, now| world.edit_comment((thread, id), MARIA, &edited, now));
            self.ticked.push((scene.webhook(&event), false));
        }
        seen >= 2
    }
}

async fn tell(bot: &Process<'_>, (delivery, taken): &mut (Delivery, bool)) {
    if !*taken {
        *taken = matches!(bot.try_post(delivery).await, Some(200 | 202));
    }
}

fn is_done(scene: &Scene) -> bool {
    scene.cards().iter().any(|card| card.contains("🚀 done"))
        && scene.faces(None) == [Reaction::Rocket]
        && scene.facts().last().is_some_and(|fact| fact == "completed")
}

async fn lay_in_wait(scene: &Scene, bot: &Process<'_>, point: Point) {
    match point {
        Point::Never => {}
        Point::Request(nth, moment) => lay(scene, bot, nth, (|_| true, moment)),
        Point::Change(nth, moment) => lay(scene, bot, nth, (changes, moment)),
        Point::Append(nth) => {
            let trigger = format!(
                "CREATE TRIGGER failpoint AFTER INSERT ON journal WHEN NEW.seq = {nth} \
                 BEGIN SELECT RAISE(ABORT, 'the failpoint'); END"
            );
            sql(scene, &trigger).await;
        }
    }
}

fn changes(method: &http::Method) -> bool {
    *method != http::Method::GET
}

fn lay(scene: &Scene, bot: &Process<'_>, nth: usize, (of, moment): (fn(&http::Method) -> bool, Moment)) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(bot.pid()).unwrap()).unwrap();
    let strike = move || rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap_or(());
    stage(scene).lay(Ambush { of, nth, moment, strike: Box::new(strike) });
}

pub(crate) async fn sql(scene: &Scene, text: &str) {
    let url = format!("sqlite://{}/planwright.db", scene.dir.path().display());
    let mut connection = SqliteConnection::connect(&url).await.unwrap();
    sqlx::raw_sql(sqlx::AssertSqlSafe(text.to_owned())).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

/// The story from the assignment to the change request, with one death at most.
async fn tell_story(tale: Tale, point: Point) -> Told {
    let scene = scene(tale).await;
    let mut bot = scene.spawn().await;
    let before = stage(&scene).audit().len();
    lay_in_wait(&scene, &bot, point).await;
    let (mut people, mut died) = (People::default(), false);
    let started = Instant::now();
    while !is_done(&scene) {
        assert!(
            started.elapsed().as_secs() < 180,
            "{point:?}: never done: {:?}\n{}",
            scene.facts(),
            scene.log()
        );
        people.act(tale, &scene, &bot).await;
        let failed = matches!(point, Point::Append(_)) && !died && scene.log().contains("the failpoint");
        if failed || bot.is_dead() {
            assert!(!died, "{point:?}: it died of itself\n{}", scene.log());
            died = true;
            bot.kill();
            if failed {
                sql(&scene, "DROP TRIGGER failpoint").await;
            }
            bot = scene.spawn().await;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let audit = stage(&scene).audit().split_off(before);
    let (requests, changes) = (audit.len(), audit.iter().filter(|seen| changes(&seen.method)).count());
    bot.kill();
    let ending = look(&scene, tale, point);
    Told { ending, died, requests, changes, journal: journal(&scene) }
}

/// Each entry by its type, and by the kind of its action if it has one.
fn journal(scene: &Scene) -> Vec<String> {
    let planned = scene.entries("sequenced").remove(0)["actions"].take();
    let kind_of = |id: &Value| {
        let action = planned.as_array().unwrap().iter().find(|action| action["id"] == *id);
        action.map_or("", |action| action["action_type"].as_str().unwrap()).to_owned()
    };
    let text = std::fs::read_to_string(scene.history()).unwrap();
    let entries = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    entries
        .map(|entry| format!("{} {}", entry["type"].as_str().unwrap(), kind_of(&entry["action"])))
        .collect()
}

/// What must be so whatever happened, and what can be compared.
fn look(scene: &Scene, tale: Tale, point: Point) -> Ending {
    let card = scene.card();
    assert_eq!(scene.previews().len(), tale.previews(), "{point:?}: one request, one preview");
    let asides = |with: &str| scene.comments().iter().filter(|body| body.starts_with(with)).count();
    assert_eq!((asides("## ❓"), asides("## 🔄")), tale.asides(), "{point:?}: {:?}", scene.comments());
    let interrupted = scene.entries("action_interrupted");
    let begun = counted(scene, "action_begun");
    for (action, times) in &begun {
        let again = interrupted.iter().filter(|entry| entry["action"] == action.as_str()).count();
        assert_eq!(*times, 1 + again, "{point:?}: {action} began {times} times: {:?}", scene.facts());
    }
    let once = ["action_ended", "triggered", "delivered", "completed", "questions_asked", "plan_revised"];
    for (kind, most) in once
        .map(|kind| (kind, 1))
        .into_iter()
        .chain([("approved", tale.previews()), ("approval_requested", tale.previews())])
    {
        for (what, times) in counted(scene, kind) {
            assert_eq!(times, most, "{point:?}: {kind} {what} {times} times");
        }
    }
    let branch = scene.repo.work_branch();
    let messages = scene.repo.messages(&branch);
    let mut commits: Vec<String> = messages.iter().map(|message| without_ids(message)).collect();
    let mut ended: Vec<String> = scene
        .entries("action_ended")
        .iter()
        .map(|entry| format!("{} {}", entry["action"], entry["outcome"]))
        .collect();
    if tale.kind == Kind::Crew {
        // Who of three is first, and so what is a merge, differs each time.
        commits.retain(|message| !message.starts_with("Merge "));
        commits.sort();
        ended.sort();
    }
    let mut once = commits.clone();
    once.dedup();
    assert_eq!(once, commits, "{point:?}: a commit is there twice");
    let tree = super::repo::git(&scene.repo.bare, &["ls-tree", "-r", "--name-only", &branch], "");
    let file = |path: &str| (path.to_owned(), scene.repo.read(&branch, path).unwrap());
    let project = &scene.thread.project;
    let change = scene.world.look(|world| {
        let all = world.change_requests_from(project, &branch);
        assert_eq!(all.len(), 1, "{point:?}: not one change request: {all:?}");
        world.change_request(&all[0]).unwrap()
    });
    Ending {
        card: card.lines().filter(|line| is_compared(line)).map(|line| without_ids(unpriced(line))).collect(),
        files: tree.lines().map(file).collect(),
        commits,
        ended,
        change: without_ids(&format!("{} {} {}", change.open, change.title, change.body)),
    }
}

fn counted(scene: &Scene, kind: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for entry in scene.entries(kind) {
        let what = entry["action"].as_str().or(entry["actor"].as_str());
        *counts.entry(what.unwrap_or_default().to_owned()).or_default() += 1;
    }
    counts
}

/// What was used up differs when something was asked twice.
fn is_compared(line: &str) -> bool {
    line.starts_with("- [") || line.starts_with("*Progress") || line.contains("🚀") || line.starts_with("##")
}

fn unpriced(line: &str) -> &str {
    line.split_once(" · ").map_or(line, |(before, _)| before)
}

/// Commits and runs have other names each time, and every time has its own.
fn without_ids(text: &str) -> String {
    let timeless = |part: &str| match part.char_indices().rev().nth(4) {
        Some((at, _)) if part.ends_with(|c: char| c.is_ascii_digit()) => format!("{}TIME", &part[..at]),
        _ => part.to_owned(),
    };
    let mut parts: Vec<String> = text.split(" UTC").map(timeless).collect();
    if let Some(last) = parts.last_mut() {
        *last = text.rsplit(" UTC").next().unwrap_or_default().to_owned();
    }
    let text = &parts.join(" UTC");
    let is_id = |word: &str| {
        // Of a thousand short names of commits, one has no digit.
        word.len() >= 7
            && word.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
            && word.bytes().any(|b| b.is_ascii_hexdigit())
    };
    let mut out = String::new();
    for piece in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric() && c != '-') {
        let word = piece.trim_end_matches(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        out += &if is_id(word) { piece.replace(word, "ID") } else { piece.to_owned() };
    }
    out
}

/// Dies at each of these points, and compares. One that fails does not keep the others from being tried. Comes back with
/// those that never came about.
async fn go_through(tale: Tale, points: Vec<Point>, expected: &Ending) -> Vec<Point> {
    let all = points.len();
    let started = Instant::now();
    let stories = points.into_iter().map(|point| async move {
        let began = Instant::now();
        let told = AssertUnwindSafe(tell_story(tale, point)).catch_unwind().await;
        eprintln!("{point:?}: {:.1} s", began.elapsed().as_secs_f32());
        (point, told.ok())
    });
    let told: Vec<(Point, Option<Told>)> =
        futures_util::stream::iter(stories).buffer_unordered(AT_ONCE).collect().await;
    let lived =
        |(point, told): &(Point, Option<Told>)| told.as_ref().filter(|told| !told.died).map(|_| *point);
    let missing: Vec<Point> = told.iter().filter_map(lived).collect();
    let seconds = started.elapsed().as_secs_f32();
    eprintln!("{}: died at {} of {all} points, in {seconds:.0} s", tale.name, all - missing.len());
    let is_as_ever = |told: &Option<Told>| told.as_ref().is_some_and(|told| told.ending == *expected);
    let bad: Vec<_> = told.iter().filter(|(_, told)| !is_as_ever(told)).map(|(point, _)| point).collect();
    for (point, told) in told.iter().flat_map(|(point, told)| told.as_ref().map(|told| (point, told))) {
        assert_eq!(told.ending, *expected, "{point:?}, of {bad:?}");
    }
    assert!(bad.is_empty(), "each of these told why above: {bad:?}");
    missing
}

/// Requests that only look cannot be doubled; they have their turn in the long run.
#[tokio::test(flavor = "multi_thread")]
async fn a_small_run_survives_death_at_every_request_that_changes_something() {
    let control = tell_story(SMALL, Point::Never).await;
    let points = (1..=control.changes)
        .flat_map(|n| [Point::Change(n, Moment::Before), Point::Change(n, Moment::After)])
        .collect();
    survive(SMALL, points, &control.ending).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_small_run_survives_death_at_every_append() {
    let control = tell_story(SMALL, Point::Never).await;
    survive(SMALL, every_append(&control), &control.ending).await;
}

/// Each append that is of another kind than all before it, and every few requests.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_twenty_actions_survives_death_at_each_kind_of_point() {
    let control = tell_story(LONG, Point::Never).await;
    let mut seen = BTreeSet::new();
    let is_new = |(_, entry): &(usize, &String)| seen.insert((*entry).clone());
    let appends = control.journal.iter().enumerate().filter(is_new);
    let mut points: Vec<Point> = appends.map(|(place, _)| Point::Append(place + 1)).collect();
    for (place, n) in (1..=control.requests).step_by(STRIDE).enumerate() {
        points.push(Point::Request(n, if place % 2 == 0 { Moment::Before } else { Moment::After }));
    }
    survive(LONG, points, &control.ending).await;
}

/// A question that is waited for, an answer, a failure, a replan that is agreed to, and a second approval.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_talks_and_replans_survives_death_at_every_append() {
    let control = tell_story(TALK, Point::Never).await;
    has_all(&control.journal, &["answered", "replan_confirmed", "plan_revised"]);
    survive(TALK, every_append(&control), &control.ending).await;
}

fn every_append(control: &Told) -> Vec<Point> {
    (1..=control.journal.len()).map(Point::Append).collect()
}

fn kind_of(entry: &str) -> &str {
    entry.split(' ').next().unwrap_or_default()
}

fn has_all(journal: &[String], kinds: &[&str]) {
    let missing: Vec<_> = kinds.iter().filter(|kind| !journal.iter().any(|e| kind_of(e) == **kind)).collect();
    assert!(missing.is_empty(), "no {missing:?} in {journal:?}");
}

/// What only a design, silence and a standstill bring.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_designs_and_stands_still_survives_death_at_every_append() {
    const KINDS: [&str; 16] = [
        "questions_posted",
        "timer_fired",
        "assumed",
        "decisions_found",
        "decisions_posted",
        "ticks_seen",
        "chosen",
        "choice_withdrawn",
        "design_summarised",
        "review_posted",
        "design_approved",
        "replan_decision",
        "replan_asked",
        "replan_declined",
        "replan_ended",
        "step_skipped",
    ];
    let control = tell_story(DESIGN, Point::Never).await;
    has_all(&control.journal, &KINDS);
    survive(DESIGN, every_append(&control), &control.ending).await;
}

/// What only a reminder, words and a limit bring.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_waits_for_words_survives_death_at_every_append() {
    const KINDS: [&str; 7] = [
        "conversation_summed",
        "reminded",
        "words_heard",
        "answers_mapped",
        "asked_back",
        "alternative_given",
        "limit_settled",
    ];
    let control = tell_story(WAIT, Point::Never).await;
    has_all(&control.journal, &KINDS);
    survive(WAIT, every_append(&control), &control.ending).await;
}

/// Three workers are in the middle of their steps, each in its own checkout.
#[tokio::test(flavor = "multi_thread")]
async fn three_workers_survive_death_at_every_append() {
    let control = tell_story(CREW, Point::Never).await;
    let assigned = control.journal.iter().take_while(|entry| !entry.starts_with("step_merged"));
    let assigned = assigned.filter(|entry| entry.starts_with("step_assigned")).count();
    assert_eq!(assigned, 3, "they are not at work at once: {:?}", control.journal);
    survive(CREW, every_append(&control), &control.ending).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: twenty actions, every request before and after it, every append"]
async fn a_run_of_twenty_actions_survives_death_at_every_point() {
    let control = tell_story(LONG, Point::Never).await;
    let mut points = every_append(&control);
    for n in 1..=control.requests {
        points.extend([Point::Request(n, Moment::Before), Point::Request(n, Moment::After)]);
    }
    survive(LONG, points, &control.ending).await;
}

/// How often the card is edited differs a little each time, so that the last requests may not come about. Every append
/// does.
async fn survive(tale: Tale, points: Vec<Point>, expected: &Ending) {
    let all = points.len();
    let missing = go_through(tale, points, expected).await;
    let never = |point: &&Point| matches!(point, Point::Append(_));
    let appends: Vec<&Point> = missing.iter().filter(never).collect();
    assert!(appends.is_empty(), "{}: nothing died at {appends:?}", tale.name);
    let few = missing.len() <= (all / 10).max(4);
    assert!(
        missing.len() < all && few,
        "{}: of {all} deaths these did not come about: {missing:?}",
        tale.name
    );
}
