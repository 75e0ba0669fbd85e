//! Purpose: what talking costs: decisions in the answer of a phase beside decisions in calls of their own, and thousands
//! of runs that wait for an answer.
//!
//! `cargo bench --bench talking` prints a table with the target of each. Both ways of deciding carry out the same twelve
//! actions with the same model; the waiting runs are in the journal of a server that is started anew.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and stops when it cannot go on"
)]

#[expect(dead_code, reason = "of the tests' fakes only a part is needed here")]
#[path = "../it/fake_forge/mod.rs"]
mod fake_forge;
#[expect(dead_code, reason = "of the tests' model only a part is needed here")]
#[path = "../it/scripted_model.rs"]
mod scripted_model;
#[expect(dead_code, reason = "of the tests' harness only a part is needed here")]
#[path = "../it/story"]
mod story {
    pub(crate) mod bot;
    pub(crate) mod repo;
}

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use planwright::domain::{Account, CommentId, ForgeKind, Permission, ThreadRef};
use planwright::engine::now;
use planwright::plan::{Decided, Goal, Question, QuestionId, QuestionKind};
use planwright::planning::{Fact, Key, Limits, Purpose, TalkFact, Trigger};
use planwright::prompts::Usage;
use planwright::store::{Appended, NewFact, Pending, Store, Turn};
use serde_json::{Value, json};
use story::bot::{MARIA, Process, Scene};

const WAITING: usize = 10_000;

fn main() {
    // `cargo test --benches` runs this binary too; it has nothing to test.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        println!("{:<54} {:>10}   target", "talking", "measured");
        decisions().await;
        waiting().await;
    });
}

fn row(what: &str, measured: f64, target: &str) {
    println!("{what:<54} {measured:>10.2}   {target}");
}

/// Model calls, and what the model had to read, of one run.
struct Cost {
    calls: usize,
    tokens: usize,
}

/// Tokenizers differ; for English and JSON four bytes to a token is the usual estimate. It divides out of the ratio.
const BYTES_A_TOKEN: usize = 4;

async fn decisions() {
    let (along, separate) = (carry_out(false).await, carry_out(true).await);
    row("model calls, decisions along with the answers", along.calls as f64, "");
    row("model calls, decisions asked for by themselves", separate.calls as f64, "");
    row("ratio of the calls", along.calls as f64 / separate.calls as f64, "≤ 0.55");
    row("prompt tokens along (estimated, 4 bytes each)", along.tokens as f64, "");
    row("prompt tokens by themselves (estimated, 4 bytes each)", separate.tokens as f64, "");
    row("ratio of the prompt tokens", along.tokens as f64 / separate.tokens as f64, "≤ 0.55");
}

async fn carry_out(separate: bool) -> Cost {
    let settings = format!(
        "planning: {{ enabled: true, replanning: {{ llm_decision: {{ separate_call: {separate} }} }} }}\n\
         approval: {{ auto: medium }}\n"
    );
    let scene = Scene::on(ForgeKind::Github).await.settings(&settings);
    scene.model.say("action_sequence", twelve_actions());
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    assert_eq!(scene.entries("action_ended").len(), 12, "{:?}", scene.facts());
    assert_eq!(scene.entries("completed").len(), 1, "{:?}", scene.facts());
    bot.stops().await;
    let asked = scene.model.requests();
    let bytes: usize = asked.iter().map(|asked| asked.system.len() + asked.user.len()).sum();
    Cost { calls: asked.len(), tokens: bytes / BYTES_A_TOKEN }
}

fn twelve_actions() -> Value {
    let action = |n: usize| {
        json!({
            "task_id": format!("task_{}", n / 4 + 1), "action_type": "create", "tool": "files",
            "purpose": format!("note {n}"), "expected_outcome": "it is there", "fallback_strategy": "ask",
            "optional": false,
            "spec": {"path": format!("notes/{n}.md"), "content": format!("{n}\n"), "command": [], "arguments_json": null},
        })
    };
    let actions: Vec<Value> = (0..12).map(action).collect();
    json!({"execution_order": ["task_1", "task_2", "task_3"], "actions": actions})
}

async fn waiting() {
    let nothing = Scene::on(ForgeKind::Github).await.settings("planning: { enabled: true }\n");
    let (empty, _) = started(&nothing).await;
    let scene = Scene::on(ForgeKind::Github).await.settings("planning: { enabled: true }\n");
    fill(&scene).await;
    // The first start after the journal was filled by hand writes the histories; a server has them already.
    started(&scene).await;
    let (full, ready) = started(&scene).await;
    let at_work = at_work(&scene).await;
    row(&format!("seconds to a start with {WAITING} waiting runs"), ready.as_secs_f64(), "≤ 2");
    row("seconds until it works on something new", at_work.as_secs_f64(), "≤ 2");
    row("MB of memory without any", empty, "");
    row(&format!("MB more with {WAITING} waiting runs"), full - empty, "≤ 100");
}

/// The memory of a server that has settled, and how long it took until it was ready.
async fn started(scene: &Scene) -> (f64, Duration) {
    let began = Instant::now();
    let process = scene.spawn_logging("error,planwright::cli::serve=info").await;
    let ready = began.elapsed();
    let mut most: f64 = 0.0;
    for _ in 0..50 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        most = most.max(memory(&process));
    }
    process.kill();
    (most, ready)
}

/// From the start of the server to the first fact about a thread that is assigned meanwhile.
async fn at_work(scene: &Scene) -> Duration {
    let began = Instant::now();
    let process = scene.spawn_logging("error,planwright::cli::serve=info").await;
    assert_eq!(process.post(&scene.webhook(&scene.assigned(MARIA))).await, 202);
    while scene.facts().is_empty() {
        assert!(began.elapsed() < Duration::from_secs(60), "nothing happens");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let taken = began.elapsed();
    process.kill();
    taken
}

fn memory(process: &Process<'_>) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1_024.0
}

/// Threads whose runs have asked a question and wait half an hour for the answer.
async fn fill(scene: &Scene) {
    let url = format!("sqlite://{}/planwright.db", scene.dir.path().display());
    let store = Store::open(&url).await.unwrap();
    let threads: Vec<ThreadRef> =
        (0..WAITING).map(|n| format!("github:acme/web#{}", n + 1_000).parse().unwrap()).collect();
    for some in threads.chunks(64) {
        join_all(some.iter().map(|thread| store.wake(thread, now()))).await;
        let mut leases = vec![];
        while let Some(lease) = store.claim("seed", now(), 600_000).await.unwrap() {
            leases.push(lease);
        }
        join_all(leases.into_iter().map(|lease| ask(&store, lease))).await;
    }
    store.close().await;
}

async fn ask(store: &Store, lease: planwright::store::ThreadLease) {
    let run = uuid::Uuid::now_v7().to_string();
    let later = now().plus(30 * 60_000);
    let facts = asked(&run)
        .into_iter()
        .map(|fact| NewFact { run: Some(run.clone()), json: serde_json::to_value(fact).unwrap() });
    let timers = Some(vec![(format!("{run}/answers/1"), later)]);
    let turn =
        Turn { at: now(), facts: facts.collect(), consumed: vec![], timers, pending: Pending::Allowed };
    assert!(matches!(store.append(&lease, turn).await.unwrap(), Appended::Done(_)));
    store.release(lease, Some(later)).await.unwrap();
}

fn asked(run: &str) -> Vec<Fact> {
    let usage = Usage { model: "m".to_owned(), calls: 1, ..Usage::default() };
    let goal = Goal {
        main_objective: "Check tokens at login".to_owned(),
        success_criteria: vec!["the tests pass".to_owned()],
        constraints: vec![],
        context: "There are two logins.".to_owned(),
        design_choices_open: false,
    };
    let question = Question {
        id: QuestionId("q-1".to_owned()),
        kind: QuestionKind::Scope,
        question: "Which logins?".to_owned(),
        context: Some("There are two.".to_owned()),
        options: vec!["web".to_owned(), "api".to_owned()],
        assumption: Some("both".to_owned()),
    };
    vec![
        Fact::Triggered {
            by: Account::person(MARIA.0, "maria"),
            permission: Permission::Write,
            how: Trigger::Assigned,
            event_at: None,
            comment: None,
            budget: Limits::default(),
            why: None,
            lang: planwright::domain::Lang::English,
        },
        Fact::GoalUnderstood {
            key: Key(format!("{run}/0/t0")),
            goal,
            usage,
            hidden: 0,
            before: None,
            replan: Decided::Nothing,
        },
        Fact::Talk(TalkFact::QuestionsAsked {
            round: 1,
            purpose: Purpose::Clarification,
            why: "Two are possible.".to_owned(),
            questions: vec![question],
            wait_ms: Some(30 * 60_000),
            assumes: true,
        }),
        Fact::Talk(TalkFact::QuestionsPosted { round: 1, comment: CommentId(7) }),
    ]
}
