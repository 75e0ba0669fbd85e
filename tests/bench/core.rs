//! Purpose: how long the core and the history take: fold a long journal, read the end of a long history.
//!
//! `cargo bench --bench core` prints medians, each beside the naive way of doing the same in the same run.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark prints, and stops when it cannot go on"
)]

use std::hint::black_box;
use std::io::Write as _;
use std::time::{Duration, Instant};

use planwright::domain::{Account, CommentId, Millis, Permission};
use planwright::planning::{Entry, Fact, Limits, Record, RunId, Trigger};
use planwright::store::newest;

const FACTS: i64 = 10_000;
const LINES: u64 = 1_000_000;

fn main() {
    // `cargo test --benches` runs this binary too; it has nothing to test.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    fold();
    read_newest();
}

fn median(rounds: usize, mut work: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[rounds / 2]
}

/// A run that people talk to a lot: mostly comments, pauses and model calls.
fn journal() -> Vec<(i64, String)> {
    let by = Account::person(7, "maria");
    let fact = |n: i64| match n {
        0 => Fact::Triggered {
            by: by.clone(),
            permission: Permission::Write,
            how: Trigger::Assigned,
            event_at: None,
            comment: None,
            budget: Limits::default(),
            why: None,
            lang: planwright::domain::Lang::English,
        },
        n if n % 50 == 0 => Fact::Paused { by: by.clone(), comment: Some(CommentId(n)) },
        n if n % 50 == 1 => Fact::Resumed { by: by.clone(), comment: Some(CommentId(n)) },
        n => Fact::CommentArrived {
            by: by.clone(),
            permission: Permission::Write,
            comment: CommentId(n),
            used: n % 3 == 0,
        },
    };
    (0..FACTS).map(|n| (n, serde_json::to_string(&fact(n)).expect("facts are JSON"))).collect()
}

fn fold() {
    let lines = journal();
    let run = Some(RunId("bench".to_owned()));
    let read = || -> Vec<Entry> {
        lines
            .iter()
            .map(|(seq, line)| {
                Entry::from_line(*seq, Millis(*seq), run.clone(), line).expect("our own lines")
            })
            .collect()
    };
    let entries = read();
    let folded = median(21, || drop(black_box(Record::fold(black_box(&entries)))));
    let with_reading = median(21, || drop(black_box(Record::fold(&read()))));
    println!("fold of {FACTS} facts            {:>9.2} ms   (target ≤ 20 ms)", ms(folded));
    println!(
        "  with reading them from JSON    {:>9.2} ms   × {:.1}",
        ms(with_reading),
        ratio(with_reading, folded)
    );
}

fn read_newest() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("long.jsonl");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).expect("a file"));
    let zeros = "0".repeat(64);
    for seq in 1..=LINES {
        writeln!(file, r#"{{"v":1,"seq":{seq},"at":"2026-11-16T00:00:00Z","run":null,"thread":"local:a#1","type":"ask_begun","key":"k{seq}","prev":"{zeros}","hash":"{zeros}"}}"#)
            .expect("disk space");
    }
    file.flush().expect("disk space");
    let end = median(21, || assert_eq!(newest(&path, 20).expect("a history").len(), 20));
    let whole = median(3, || {
        let text = std::fs::read_to_string(&path).expect("a history");
        assert_eq!(black_box(text.lines().rev().take(20).count()), 20);
    });
    println!("newest 20 of {LINES} lines     {:>9.3} ms   (target ≤ 5 ms)", ms(end));
    println!("  by reading the whole file      {:>9.2} ms   × {:.0}", ms(whole), ratio(whole, end));
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64().max(1e-9)
}
