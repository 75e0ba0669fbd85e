//! Purpose: a turn is written whole or not at all, and the journal is one chain per thread.

use planwright::store::{Appended, NewFact, Pending, Put, StoreError};
use serde_json::{Value, json};

use super::{Fixture, LEASE_MS, NOW, put, thread, turn};

const NAME: &str = "github:acme/web#1";

#[tokio::test]
async fn facts_are_numbered_and_chained_per_thread() {
    let at = Fixture::new().await;
    let one = at.leased(NAME).await;
    let two = at.leased("gitlab:group/sub/proj!7").await;
    for lease in [&one, &two, &one] {
        let _ = at.store.append(lease, turn(&["triggered", "goal_understood"])).await.unwrap();
    }
    let rows = at.store.journal(&thread(NAME)).await.unwrap();
    assert_eq!(rows.iter().map(|row| row.seq).collect::<Vec<_>>(), [1, 2, 3, 4]);
    let lines: Vec<Value> = rows.iter().map(|row| serde_json::from_str(&row.line).unwrap()).collect();
    assert_eq!(lines[0]["prev"], "0".repeat(64));
    for pair in lines.windows(2) {
        assert_eq!(pair[1]["prev"], pair[0]["hash"]);
    }
    assert_eq!(
        (&lines[3]["type"], &lines[3]["run"], &lines[3]["n"]),
        (&json!("goal_understood"), &json!("r1"), &json!(1))
    );
    assert_eq!(lines[3]["at"], NOW.to_string());
    assert_eq!(at.store.journal(&thread("gitlab:group/sub/proj!7")).await.unwrap().len(), 2);
}

/// Threads that only had deliveries are no threads of ours: no file is made for them, no sweep looks at them.
#[tokio::test]
async fn a_thread_is_known_once_it_has_a_fact() {
    let at = Fixture::new().await;
    assert_eq!(put(&at.store, "github:1", "github:acme/web#2").await, Put::New);
    assert_eq!(at.store.threads().await.unwrap(), []);
    assert_eq!(at.store.journal_ends().await.unwrap(), []);
    let lease = at.leased(NAME).await;
    let _ = at.store.append(&lease, turn(&["triggered", "goal_understood"])).await.unwrap();
    assert_eq!(at.store.threads().await.unwrap(), [thread(NAME)]);
    assert_eq!(at.store.journal_ends().await.unwrap(), [(thread(NAME), 2)]);
}

#[tokio::test]
async fn appended_rows_are_the_rows_of_the_journal() {
    let at = Fixture::new().await;
    let lease = at.leased(NAME).await;
    let Appended::Done(rows) = at.store.append(&lease, turn(&["triggered"])).await.unwrap() else {
        panic!("refused")
    };
    assert_eq!(rows, at.store.journal(&thread(NAME)).await.unwrap());
    let at = at.reopen().await;
    assert_eq!(rows, at.store.journal(&thread(NAME)).await.unwrap());
}

#[tokio::test]
async fn a_turn_that_fails_leaves_nothing() {
    let at = Fixture::new().await;
    assert_eq!(put(&at.store, "github:a", NAME).await, Put::New);
    let lease = at.store.claim("me", NOW, LEASE_MS).await.unwrap().unwrap();
    let mut bad = turn(&["triggered"]);
    bad.consumed = vec!["github:a".to_owned()];
    bad.timers = Some(vec![("t".to_owned(), NOW)]);
    bad.facts.push(NewFact { run: None, json: json!({"type": "x", "seq": 9}) });
    assert!(
        matches!(at.store.append(&lease, bad).await, Err(StoreError::Broken(why)) if why.contains("`seq`"))
    );
    let mut unknown = turn(&["triggered"]);
    unknown.consumed = vec!["github:zzz".to_owned()];
    assert!(matches!(at.store.append(&lease, unknown).await, Err(StoreError::Broken(_))));
    assert!(at.store.journal(&thread(NAME)).await.unwrap().is_empty());
    assert!(at.store.timers(&thread(NAME)).await.unwrap().is_empty());
    assert_eq!(at.store.pending(&lease).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_delivery_is_consumed_once() {
    let at = Fixture::new().await;
    assert_eq!(put(&at.store, "github:a", NAME).await, Put::New);
    let lease = at.store.claim("me", NOW, LEASE_MS).await.unwrap().unwrap();
    let mut taken = turn(&["triggered"]);
    taken.consumed = vec!["github:a".to_owned()];
    assert!(matches!(at.store.append(&lease, taken.clone()).await.unwrap(), Appended::Done(_)));
    assert!(at.store.append(&lease, taken).await.is_err());
    assert_eq!(at.store.journal(&thread(NAME)).await.unwrap().len(), 1);
}

#[tokio::test]
async fn an_action_does_not_begin_while_a_delivery_waits() {
    let at = Fixture::new().await;
    let lease = at.leased(NAME).await;
    let mut begin = turn(&["action_begun"]);
    begin.pending = Pending::Forbidden;
    assert!(matches!(at.store.append(&lease, begin.clone()).await.unwrap(), Appended::Done(_)));
    assert_eq!(put(&at.store, "github:stop", NAME).await, Put::New);
    assert_eq!(at.store.append(&lease, begin.clone()).await.unwrap(), Appended::NotWhilePending);
    assert_eq!(at.store.journal(&thread(NAME)).await.unwrap().len(), 1);
    // The same turn that takes the last delivery may begin.
    begin.consumed = vec!["github:stop".to_owned()];
    assert!(matches!(at.store.append(&lease, begin).await.unwrap(), Appended::Done(_)));
}

#[tokio::test]
async fn timers_are_replaced_as_a_whole() {
    let at = Fixture::new().await;
    let lease = at.leased(NAME).await;
    let set = |timers| {
        let mut turn = turn(&[]);
        turn.timers = timers;
        turn
    };
    let two = vec![("b".to_owned(), NOW.plus(9)), ("a".to_owned(), NOW.plus(5))];
    let _ = at.store.append(&lease, set(Some(two))).await.unwrap();
    let _ = at.store.append(&lease, set(None)).await.unwrap();
    let kept = at.store.timers(&thread(NAME)).await.unwrap();
    assert_eq!(kept, [("a".to_owned(), NOW.plus(5)), ("b".to_owned(), NOW.plus(9))]);
    let _ = at.store.append(&lease, set(Some(Vec::new()))).await.unwrap();
    assert!(at.store.timers(&thread(NAME)).await.unwrap().is_empty());
}

/// Turns of several threads share a commit, and whoever waits for it may be dropped at any moment. What was answered is
/// there once, in order; what was not answered is there once at most.
#[tokio::test(flavor = "multi_thread")]
async fn turns_that_share_a_commit_are_written_once_whoever_vanishes() {
    const TURNS: u64 = 30;
    let at = Fixture::new().await;
    let mut leases = vec![];
    for n in 1..=16 {
        leases.push(at.leased(&format!("github:acme/web#{n}")).await);
    }
    let all = leases.iter().enumerate().map(|(thread, lease)| {
        let store = &at.store;
        async move {
            let mut answered = vec![];
            for n in 0..TURNS {
                let mut turn = turn(&[]);
                turn.facts = vec![NewFact { run: None, json: json!({"type": "noted", "n": n}) }];
                let appending = store.append(lease, turn);
                // Long enough to stand in line, too short to be answered most of the time.
                let patience = if (n + thread as u64).is_multiple_of(3) { n * 100 } else { 60_000_000 };
                match tokio::time::timeout(std::time::Duration::from_micros(patience), appending).await {
                    Ok(appended) => {
                        assert!(matches!(appended, Ok(Appended::Done(_))), "{appended:?}");
                        answered.push(n);
                    }
                    Err(_dropped) => {}
                }
            }
            answered
        }
    });
    for (lease, answered) in leases.iter().zip(futures_util::future::join_all(all).await) {
        let rows = at.store.journal(lease.thread()).await.unwrap();
        let written: Vec<u64> = rows
            .iter()
            .map(|row| serde_json::from_str::<Value>(&row.line).unwrap()["n"].as_u64().unwrap())
            .collect();
        assert!(written.is_sorted_by(|a, b| a < b), "{written:?}");
        assert!(answered.iter().all(|n| written.contains(n)), "{answered:?} of {written:?}");
    }
}

#[tokio::test]
async fn a_wrong_turn_costs_the_others_nothing() {
    let at = Fixture::new().await;
    let mut leases = vec![];
    for n in 1..=5 {
        leases.push(at.leased(&format!("github:acme/web#{n}")).await);
    }
    let all = leases.iter().enumerate().map(|(n, lease)| {
        let mut turn = turn(&["noted"]);
        if n == 2 {
            turn.consumed = vec!["github:unheard-of".to_owned()];
        }
        at.store.append(lease, turn)
    });
    let answers = futures_util::future::join_all(all).await;
    let done: Vec<bool> = answers.iter().map(|answer| matches!(answer, Ok(Appended::Done(_)))).collect();
    assert_eq!(done, [true, true, false, true, true], "{answers:?}");
    for (lease, done) in leases.iter().zip(done) {
        assert_eq!(at.store.journal(lease.thread()).await.unwrap().len(), usize::from(done));
    }
}
