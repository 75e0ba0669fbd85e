//! Purpose: what working side by side brings, and what leading costs.
//!
//! `cargo bench --bench crew` gives eight steps that do not need each other to one worker and to four, with a model that
//! takes 200 ms for every answer, and prints both times from the first step given away to the last one accepted. Then it
//! goes through the journal of such a run once more and asks the leader after every entry what comes next: that is all
//! that leading adds to the work itself.
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

use planwright::domain::ForgeKind;
use planwright::planning::{Entry, InFlight, Policy, Record, RunId, next_effects};
use planwright::store::Store;
use scripted_model::Misbehaviour;
use serde_json::{Value, json};
use story::bot::{MARIA, Scene};

const STEPS: usize = 8;
const THINKS: Duration = Duration::from_millis(200);

fn main() {
    // `cargo test --benches` runs this binary too; it has nothing to test.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut ratios = vec![];
        let mut leading = vec![];
        println!("{:<12} {:>14} {:>14} {:>8}", "", "1 worker, ms", "4 workers, ms", "ratio");
        for round in 1..=3 {
            let (one, _) = work(1).await;
            let (four, led) = work(4).await;
            println!("round {round:<6} {one:>14.0} {four:>14.0} {:>8.2}", four / one);
            ratios.push(four / one);
            leading.push(led);
        }
        println!("ratio, median: {:.2} (target ≤ 0.35)", median(&mut ratios));
        println!("leading a step, median: {:.3} ms (target ≤ 5)", median(&mut leading));
    });
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The milliseconds from the first step that was given away to the last that was accepted, and those that the leader
/// thinks for each step.
async fn work(workers: u32) -> (f64, f64) {
    let settings = format!(
        "planning: {{ enabled: true, reflection_interval: 100 }}\napproval: {{ auto: medium }}\n\
         crew: {{ workers: {workers} }}\nbudget: {{ model_calls: null, usd: null, minutes: null }}\n"
    );
    let scene = Scene::on(ForgeKind::Local).await.settings(&settings);
    script(&scene);
    scene.model.always_misbehave(Some(Misbehaviour::Slow(THINKS)));
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    bot.stops().await;
    let (from, to) = (scene.entries("step_assigned"), scene.entries("step_merged"));
    assert_eq!((from.len(), to.len()), (STEPS, STEPS), "not all steps are accepted: {:?}", scene.facts());
    let at = |entry: &Value| entry["at"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let spent = at(to.last().unwrap()).duration_since(at(&from[0]));
    (spent.as_secs_f64() * 1_000.0, leading(&scene, workers).await)
}

fn script(scene: &Scene) {
    let step = |n: usize| {
        json!({"id": format!("task_{n}"), "description": format!("Part {n}"), "dependencies": [],
               "estimated_complexity": "low", "required_tools": []})
    };
    let steps: Vec<Value> = (1..=STEPS).map(step).collect();
    scene.model.say("task_decomposition", json!({"reasoning": "so", "subtasks": steps}));
    let write = |n: usize| {
        json!({"task_id": format!("task_{n}"), "action_type": "create", "tool": "files", "purpose": "write it",
               "expected_outcome": "it is there", "fallback_strategy": "ask", "optional": false,
               "spec": {"path": format!("notes/{n}.md"), "content": null, "command": [], "arguments_json": null}})
    };
    let order: Vec<String> = (1..=STEPS).map(|n| format!("task_{n}")).collect();
    let actions: Vec<Value> = (1..=STEPS).map(write).collect();
    scene.model.say("action_sequence", json!({"execution_order": order, "actions": actions}));
    scene.model.always_say("worker_turn", |asked| {
        let action = asked.user.split_once("The action:\n").unwrap().1.lines().next().unwrap();
        let action: Value = serde_json::from_str(action).unwrap();
        json!({"thought": "t", "tool": "write_file", "path": action["spec"]["path"], "content": "x\n", "name": null,
               "arguments_json": null, "command": [], "feedback": null})
    });
}

/// Folds the journal entry by entry and asks after each one what to do next.
async fn leading(scene: &Scene, workers: u32) -> f64 {
    let url = format!("sqlite://{}/planwright.db", scene.dir.path().display());
    let store = Store::open(&url).await.unwrap();
    let rows = store.journal(&scene.thread).await.unwrap();
    let entries: Vec<Entry> = rows
        .iter()
        .map(|row| Entry::from_line(row.seq, row.at, row.run.clone().map(RunId), &row.line).unwrap())
        .collect();
    let policy = Policy { workers, ..Policy::default() };
    let (mut record, begun) = (Record::default(), Instant::now());
    let mut wanted = 0;
    for entry in &entries {
        record.apply(entry);
        wanted += record.live_run().map_or(0, |run| next_effects(run, &InFlight::new(), &policy).len());
    }
    assert!(wanted > STEPS);
    begun.elapsed().as_secs_f64() * 1_000.0 / STEPS as f64
}
