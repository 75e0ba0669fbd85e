//! Purpose: stop means stop: from the moment that the door has taken a stop, no action begins; and what runs is ended.

use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use planwright::domain::{Event, ForgeKind, ThreadRef};
use planwright::forge::local::NewThread;
use planwright::store::Row;
use serde_json::json;

use crate::fake_forge::Fault;
use crate::story::acting::{action, sequence};
use crate::story::bot::{Bot, MARIA, Scene};

const RUNS: u64 = 12;
const ACTIONS: usize = 90;

/// Pauses, and at last something that ends the run, each at another moment of a run with many short actions.
#[tokio::test(flavor = "multi_thread")]
async fn after_a_stop_was_taken_nothing_begins() {
    let scene = Scene::on(ForgeKind::Local).await;
    let looks = (0..ACTIONS)
        .map(|n| action(&format!("task_{}", 1 + n * 3 / ACTIONS), "read", json!({"path": "README.md"})));
    let looks = sequence(looks.collect());
    scene.model.always_say("action_sequence", move |_| looks.clone());
    let bot = scene.start().await;
    let runs = (0..RUNS).map(|n| stopped_again_and_again(&bot, n));
    let stops: Vec<usize> = futures_util::stream::iter(runs).buffer_unordered(6).collect().await;
    let stops: usize = stops.iter().sum();
    assert!(stops >= 300, "only {stops} stops were tried");
    bot.stops().await;
}

async fn stopped_again_and_again(bot: &Bot<'_>, run: u64) -> usize {
    let scene = bot.scene;
    let thread = open(scene, run);
    let me = scene.world.bot().id;
    post(bot, &scene.world.with(|world| world.assign(&thread, me, MARIA, now())).unwrap().unwrap()).await;
    until(bot, &thread, |rows| rows.iter().any(|row| row.kind == "action_begun")).await;
    let mut stops = 0;
    while stops < 26 {
        // Not a wait for something: the moment is meant to differ.
        tokio::time::sleep(Duration::from_micros((run * 7_919 + stops as u64 * 3_571) % 23_000)).await;
        stops += 1;
        let paused = stop(bot, &thread, &say(scene, &thread, "/pause"), "paused").await;
        if !paused {
            break;
        }
        post(bot, &say(scene, &thread, "/resume")).await;
        let resumed = |rows: &[Row]| rows.iter().filter(|row| row.kind == "resumed").count() == stops;
        until(bot, &thread, resumed).await;
    }
    let end = scene.world.with(|world| match run % 3 {
        0 => world.unassign(&thread, me, MARIA, now()),
        1 => world.close(&thread, MARIA, now()),
        _ => world.comment(&thread, MARIA, "/cancel", now()),
    });
    let fact = if run % 3 == 2 { "cancelled" } else { "stopped" };
    stop(bot, &thread, &end.unwrap().unwrap(), fact).await;
    stops + 1
}

fn open(scene: &Scene, n: u64) -> ThreadRef {
    let new = NewThread::titled(&format!("Thread {n}"), MARIA);
    let project = scene.thread.project.clone();
    scene.world.with(|world| world.open(&project, new, now())).unwrap().unwrap().thread
}

fn say(scene: &Scene, thread: &ThreadRef, words: &str) -> Event {
    scene.world.with(|world| world.comment(thread, MARIA, words, now())).unwrap().unwrap()
}

fn now() -> planwright::domain::Millis {
    planwright::engine::now()
}

async fn post(bot: &Bot<'_>, event: &Event) {
    assert_eq!(bot.scene.post(&bot.base, &bot.scene.webhook(event)).await, 202);
}

/// Tells of a stop, and holds the journal against the moment of its answer. Returns whether it was still of use.
async fn stop(bot: &Bot<'_>, thread: &ThreadRef, event: &Event, fact: &str) -> bool {
    let before = rows(bot, thread).await.iter().filter(|row| row.kind == fact).count();
    post(bot, event).await;
    let taken = rows(bot, thread).await.last().unwrap().seq;
    // The gate sees by itself that somebody took it off, and may be faster than the webhook.
    let ends = ["completed", "failed", "stopped", "cancelled"];
    let ended = |rows: &[Row]| rows.iter().any(|row| ends.contains(&row.kind.as_str()));
    let told = |rows: &[Row]| rows.iter().filter(|row| row.kind == fact).count() > before;
    until(bot, thread, |rows| told(rows) || ended(rows)).await;
    let after = rows(bot, thread).await;
    let late: Vec<&Row> = after.iter().filter(|row| row.kind == "action_begun" && row.seq > taken).collect();
    assert!(late.is_empty(), "{thread}: {} began after the stop was taken at {taken}", late[0].line);
    told(&after)
}

async fn rows(bot: &Bot<'_>, thread: &ThreadRef) -> Vec<Row> {
    bot.ctx.store.journal(thread).await.unwrap()
}

async fn until(bot: &Bot<'_>, thread: &ThreadRef, is_so: impl Fn(&[Row]) -> bool) {
    let started = Instant::now();
    while !is_so(&rows(bot, thread).await) {
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "{thread}: {:?}",
            rows(bot, thread).await.last()
        );
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// The forge is slow to say what the thread looks like; meanwhile somebody takes the step out.
#[tokio::test]
async fn a_step_that_is_skipped_while_the_gate_is_asked_does_not_begin() {
    let scene = Scene::on(ForgeKind::Github).await;
    crate::story::acting::three_files(&scene);
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let looks = || scene.requests(&http::Method::GET, "/issues/1").len();
    let before = looks();
    scene.fault(http::Method::GET, "/issues/1", Fault::Slow(Duration::from_millis(700)), 9);
    let approval = scene.said(MARIA, "/approve");
    assert_eq!(scene.post(&bot.base, &scene.webhook(&approval)).await, 202);
    scene.until_seen("the gate asks", |_| looks() > before).await;
    bot.told(MARIA, "/skip task_1").await;
    let begun: Vec<_> = scene.entries("action_begun").iter().map(|e| e["action"].clone()).collect();
    assert_eq!(begun, ["a2", "a3"], "{:?}", scene.facts());
    bot.stops().await;
}

/// A program that will not go when it is asked to is ended all the same.
#[tokio::test]
async fn a_command_that_ignores_term_is_gone_ten_seconds_after_the_cancel() {
    const STUBBORN: [&str; 3] =
        ["sh", "-c", "trap '' TERM; touch started; while :; do sleep 0.1; done # stubborn-4711"];
    let settings = format!(
        "planning: {{ enabled: true }}\ntools: {{ commands: {{ stay: {{ argv: {} }} }} }}\n",
        json!(STUBBORN)
    );
    let scene = Scene::on(ForgeKind::Github).await.settings(&settings);
    let run = action("task_1", "run", json!({"command": STUBBORN}));
    let rest = [2, 3].map(|n| action(&format!("task_{n}"), "analyze", json!({})));
    scene.model.say("action_sequence", sequence([vec![run], rest.to_vec()].concat()));
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let approval = scene.said(MARIA, "/approve");
    assert_eq!(scene.post(&bot.base, &scene.webhook(&approval)).await, 202);
    scene.until_seen("the program runs", |_| stubborn()).await;
    let cancelled = Instant::now();
    bot.told(MARIA, "/cancel").await;
    assert!(!stubborn(), "it is still there");
    assert!(cancelled.elapsed() < Duration::from_secs(10), "{:?}", cancelled.elapsed());
    assert!(scene.card().contains("cancelled by @maria"), "{}", scene.card());
    bot.stops().await;
}

/// Whether a process with the mark in its arguments is running.
fn stubborn() -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.any(|line| line.windows(13).any(|window| window == b"stubborn-4711"))
}
