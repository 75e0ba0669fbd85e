//! Purpose: what carrying out a plan costs beside the work itself: actions per second, requests to the forge, and how
//! long the questions to a worker are after many actions.
//!
//! `cargo bench --bench acting` prints a table with the target of each. Plans are put into the journal as they stand
//! after planning; the bot looks at the repository for them, and only when it has done so for all of them they are
//! approved, so that only the acting is measured. The forge is the local one in this process, and the model, which is
//! asked only to reflect, answers at once.
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

use planwright::domain::{Account, ForgeKind, Permission, ThreadRef};
use planwright::engine::now;
use planwright::forge::local::NewThread;
use planwright::plan::{Action, ActionId, ActionKind, ActionSpec, Complexity, Decided, Goal, Step, StepId};
use planwright::planning::{Actor, Fact, Key, Limits, Named, Trigger};
use planwright::prompts::Usage;
use planwright::store::{Appended, History, NewFact, Pending, Store, Turn};
use story::bot::{Bot, MARIA, Scene};

fn main() {
    // `cargo test --benches` runs this binary too; it has nothing to test.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        println!("{:<46} {:>10}   target", "carrying out", "measured");
        one_run(1_000).await;
        many_runs(64, 50).await;
        requests(20).await;
        prompts(&[10, 100, 1_000]).await;
    });
}

async fn one_run(actions: usize) {
    let scene = scene(ForgeKind::Local, "nothing").await;
    let thread = scene.thread.clone();
    seed(&scene, &thread, planned(&reads(actions))).await;
    approve_all(&scene, std::slice::from_ref(&thread)).await;
    let spent = carry_out(&scene, std::slice::from_ref(&thread), actions).await;
    row("actions a second, one run", per_second(actions, spent), "≥ 200");
}

async fn many_runs(threads: usize, actions: usize) {
    let scene = scene(ForgeKind::Local, "nothing").await;
    let project = scene.thread.project.clone();
    let open = |n| {
        let opened = scene.world.with(|world| {
            world.open(&project, NewThread::titled(&format!("Thread {n}"), MARIA), now()).unwrap().thread
        });
        opened.unwrap()
    };
    let all: Vec<ThreadRef> = (0..threads).map(open).collect();
    for thread in &all {
        seed(&scene, thread, planned(&reads(actions))).await;
    }
    approve_all(&scene, &all).await;
    let spent = carry_out(&scene, &all, threads * actions).await;
    row(&format!("actions a second, {threads} runs"), per_second(threads * actions, spent), "≥ 1000");
}

/// On the fake GitHub, where every request is seen: from the assignment to the rocket. "The same as before" is told apart:
/// forges do not count it.
async fn requests(actions: usize) {
    let scene = scene(ForgeKind::Github, "medium").await;
    let create = |n: usize| {
        serde_json::json!({
            "task_id": format!("task_{}", 1 + n * 3 / actions), "action_type": "create", "tool": "files",
            "purpose": "note", "expected_outcome": "noted", "fallback_strategy": "ask", "optional": false,
            "spec": {
                "path": format!("notes/{n}.md"), "content": format!("note {n}\n"), "command": [],
                "arguments_json": null,
            },
        })
    };
    let all: Vec<_> = (0..actions).map(create).collect();
    let order = ["task_1", "task_2", "task_3"];
    scene.model.say("action_sequence", serde_json::json!({"execution_order": order, "actions": all}));
    let bot = scene.start().await;
    let before = scene.all_requests().len();
    bot.assigned(MARIA).await;
    wait_for(&scene, std::slice::from_ref(&scene.thread), "completed", 1).await;
    bot.quiet().await;
    let asked = scene.all_requests().split_off(before);
    bot.stops().await;
    let same = asked.iter().filter(|asked| asked.ends_with("Some(304)")).count();
    let most = format!("≤ {}", 2 * actions + 10);
    row(&format!("requests for a run of {actions} actions"), (asked.len() - same) as f64, &most);
    row("and answers that nothing has changed", same as f64, "");
}

/// The length of the question to a worker, after so many actions with a good deal to tell about each.
async fn prompts(curve: &[usize]) {
    for before in curve {
        let scene = scene(ForgeKind::Local, "medium").await;
        let mut actions = reads(*before);
        actions.push(action(before + 1, ActionKind::Analyze, ActionSpec::default()));
        seed(&scene, &scene.thread, planned(&actions)).await;
        carry_out(&scene, std::slice::from_ref(&scene.thread), actions.len()).await;
        let asked = scene.model.requests();
        let turn = asked.iter().rfind(|asked| asked.schema_name == "worker_turn").unwrap();
        let bytes = turn.system.len() + turn.user.len();
        row(&format!("bytes of a question after {before} actions"), bytes as f64, "the same");
    }
}

fn row(what: &str, measured: f64, target: &str) {
    println!("{what:<46} {measured:>10.0}   {target}");
}

fn per_second(count: usize, spent: Duration) -> f64 {
    count as f64 / spent.as_secs_f64().max(1e-9)
}

async fn scene(kind: ForgeKind, auto: &str) -> Scene {
    let settings = format!(
        "planning: {{ enabled: true }}\napproval: {{ auto: {auto} }}\n\
         budget: {{ model_calls: null, usd: null, minutes: null, files: null, bytes: null }}\n"
    );
    Scene::on(kind).await.settings(&settings)
}

fn reads(count: usize) -> Vec<Action> {
    let spec = ActionSpec { path: Some("README.md".to_owned()), ..ActionSpec::default() };
    (1..=count).map(|n| action(n, ActionKind::Read, spec.clone())).collect()
}

fn action(n: usize, action_type: ActionKind, spec: ActionSpec) -> Action {
    Action {
        id: ActionId(format!("a{n}")),
        task_id: StepId("task_1".to_owned()),
        action_type,
        tool: "files".to_owned(),
        purpose: "look at it once more".to_owned(),
        expected_outcome: "it is as it was".to_owned(),
        fallback_strategy: "ask".to_owned(),
        spec,
        optional: false,
    }
}

/// Adds facts to the journal of a thread, in its newest run or, with the first of them, in a new one.
async fn seed(scene: &Scene, thread: &ThreadRef, facts: impl FnOnce(&str) -> Vec<Fact>) {
    let url = format!("sqlite://{}/planwright.db", scene.dir.path().display());
    let store = Store::open(&url).await.unwrap();
    store.wake(thread, now()).await.unwrap();
    // Later, so that the next thread is claimed; the bench wakes them all.
    let later = Some(now().plus(3_600_000));
    let lease = loop {
        let lease = store.claim("seed", now(), 60_000).await.unwrap().unwrap();
        if lease.thread() == thread {
            break lease;
        }
        store.release(lease, later).await.unwrap();
    };
    let before = store.journal(thread).await.unwrap();
    let run = before.into_iter().rev().find_map(|row| row.run);
    let run = run.unwrap_or_else(|| uuid::Uuid::now_v7().to_string());
    let facts = facts(&run)
        .into_iter()
        .map(|fact| NewFact { run: Some(run.clone()), json: serde_json::to_value(fact).unwrap() });
    let turn =
        Turn { at: now(), facts: facts.collect(), consumed: vec![], timers: None, pending: Pending::Allowed };
    assert!(matches!(store.append(&lease, turn).await.unwrap(), Appended::Done(_)));
    store.release(lease, later).await.unwrap();
    store.close().await;
}

/// What has happened when the actions have been chosen.
fn planned(actions: &[Action]) -> impl FnOnce(&str) -> Vec<Fact> {
    move |run| facts_of(run, actions)
}

fn facts_of(run: &str, actions: &[Action]) -> Vec<Fact> {
    let key = |n: u32| Key(format!("{run}/{n}/t0"));
    let usage = || Usage {
        model: "m".to_owned(),
        calls: 1,
        input_tokens: 1,
        output_tokens: 1,
        cost_micro_usd: None,
        ms: 1,
    };
    let goal = Goal {
        main_objective: "Look".to_owned(),
        success_criteria: vec![],
        constraints: vec![],
        context: String::new(),
        design_choices_open: false,
    };
    let step = Step {
        id: StepId("task_1".to_owned()),
        description: "Look at it".to_owned(),
        dependencies: vec![],
        estimated_complexity: Complexity::Low,
        required_tools: vec![],
        rests_on: vec![],
    };
    vec![
        Fact::Triggered {
            by: Account::person(MARIA.0, "maria"),
            permission: Permission::Write,
            how: Trigger::Mentioned,
            event_at: None,
            comment: None,
            budget: Limits::default(),
            why: None,
            lang: planwright::domain::Lang::English,
        },
        Fact::GoalUnderstood {
            key: key(0),
            goal,
            usage: usage(),
            hidden: 0,
            before: None,
            replan: Decided::Nothing,
        },
        Fact::Decomposed {
            key: key(1),
            reasoning: String::new(),
            steps: vec![step],
            usage: usage(),
            replan: Decided::Nothing,
        },
        Fact::Sequenced { key: key(2), actions: actions.to_vec(), usage: usage(), replan: Decided::Nothing },
    ]
}

/// Lets the bot come to the point where it waits for approval, everywhere, and approves.
async fn approve_all(scene: &Scene, threads: &[ThreadRef]) {
    let bot = start(scene, threads).await;
    wait_for(scene, threads, "approval_requested", threads.len()).await;
    let mut approvals = vec![];
    for thread in threads {
        let rows = bot.ctx.store.journal(thread).await.unwrap();
        let set = rows.iter().rfind(|row| row.kind == "specs_set").unwrap();
        let Ok(Fact::SpecsSet { specs, counts, .. }) = serde_json::from_str(&set.line) else { panic!() };
        let actions = specs.into_iter().map(|spec| Named { id: spec.id, digest: spec.digest }).collect();
        approvals.push(Fact::Approved {
            actor: Actor::System,
            by: None,
            reason: "so that all begin together".to_owned(),
            request: None,
            actions,
            left_out: vec![],
            note: String::new(),
            comment: None,
            counts,
        });
    }
    bot.stops().await;
    for (thread, approval) in threads.iter().zip(approvals) {
        seed(scene, thread, |_| vec![approval]).await;
    }
}

async fn start<'a>(scene: &'a Scene, threads: &[ThreadRef]) -> Bot<'a> {
    let bot = scene.start_with(|ctx| ctx.parallel = 64).await;
    for thread in threads {
        bot.ctx.store.wake(thread, now()).await.unwrap();
        let _ = bot.ctx.pokes.send(thread.clone());
    }
    bot
}

/// Looks at the history files, which costs the bot nothing.
async fn wait_for(scene: &Scene, threads: &[ThreadRef], kind: &str, count: usize) {
    let started = Instant::now();
    let history = History::new(scene.dir.path());
    let kind = format!(r#""type":"{kind}""#);
    loop {
        let lines = |thread| std::fs::read_to_string(history.path(thread)).unwrap_or_default();
        let seen: usize = threads.iter().map(|thread| lines(thread).matches(&kind).count()).sum();
        if seen >= count {
            return;
        }
        assert!(started.elapsed() < Duration::from_secs(300), "{seen} of {count} times {kind}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Lets the bot carry the plans out; returns the time from the first action's beginning to the last one's end.
async fn carry_out(scene: &Scene, threads: &[ThreadRef], actions: usize) -> Duration {
    let bot = start(scene, threads).await;
    // Not until all is quiet: cards are drawn at the pace that forges ask for, which is not what is measured.
    wait_for(scene, threads, "action_ended", actions).await;
    let (mut first, mut last) = (i64::MAX, 0);
    for thread in threads {
        for row in bot.ctx.store.journal(thread).await.unwrap() {
            match row.kind.as_str() {
                "action_begun" => first = first.min(row.at.0),
                "action_ended" => last = last.max(row.at.0),
                _ => {}
            }
        }
    }
    bot.stops().await;
    Duration::from_millis((last - first).unsigned_abs())
}
