//! Purpose: a delivery is stored once, durably, and found by its thread.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use planwright::domain::Millis;
use planwright::store::Put;

use super::{Fixture, LEASE_MS, NOW, delivery, put, thread, turn};

#[tokio::test]
async fn the_same_delivery_five_times_in_a_row_is_new_once() {
    let at = Fixture::new().await;
    let mut answers = Vec::new();
    for _ in 0..5 {
        answers.push(put(&at.store, "github:a", "github:acme/web#1").await);
    }
    assert_eq!(answers, [Put::New, Put::Seen, Put::Seen, Put::Seen, Put::Seen]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_delivery_five_times_at_once_is_new_once() {
    let at = Fixture::new().await;
    for round in 0..20 {
        let key = format!("github:{round}");
        let answers = join_all((0..5).map(|_| put(&at.store, &key, "github:acme/web#1"))).await;
        assert_eq!(answers.iter().filter(|answer| **answer == Put::New).count(), 1, "{answers:?}");
    }
}

#[tokio::test]
async fn a_delivery_is_known_after_a_restart_and_after_it_is_done() {
    let at = Fixture::new().await;
    assert_eq!(put(&at.store, "github:a", "github:acme/web#1").await, Put::New);
    let at = at.reopen().await;
    assert_eq!(put(&at.store, "github:a", "github:acme/web#1").await, Put::Seen);
    let lease = at.store.claim("me", NOW, LEASE_MS).await.unwrap().unwrap();
    let mut done = turn(&["triggered"]);
    done.consumed = vec!["github:a".to_owned()];
    let _ = at.store.append(&lease, done).await.unwrap();
    assert_eq!(put(&at.store, "github:a", "github:acme/web#1").await, Put::Seen);
    assert!(at.store.pending(&lease).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn many_deliveries_share_few_commits() {
    let at = Fixture::new().await;
    let tasks = (0..500).map(|n| {
        let store = at.store.clone();
        async move { put(&store, &format!("github:{n}"), &format!("github:acme/web#{}", n % 7)).await }
    });
    // All of them stand in line before the first can be written.
    let mut lock = at.lock().await;
    let mut answers = join_all(tasks);
    assert!((&mut answers).now_or_never().is_none());
    sqlx::raw_sql("ROLLBACK").execute(&mut lock).await.unwrap();
    let answers = answers.await;
    assert!(answers.iter().all(|answer| *answer == Put::New));
    let stats = at.store.inbox_stats();
    assert_eq!(stats.deliveries, 500);
    // One for whoever came first, and two full ones.
    assert!(stats.commits <= 3, "{stats:?}");
}

#[tokio::test]
async fn pending_deliveries_come_oldest_first_and_whole() {
    let at = Fixture::new().await;
    let mut bodies = Vec::new();
    for n in 0..120_u32 {
        let mut d = delivery(&format!("github:{:03}", 999 - n), "github:acme/web#1");
        d.body = format!("{n} {}", "ä\0".repeat(n as usize * 50)).into();
        bodies.push(d.body.to_vec());
        assert_eq!(at.store.put(d).await.unwrap(), Put::New);
    }
    let _ = put(&at.store, "github:other", "github:acme/web#2").await;
    let lease = at.store.claim("me", NOW, LEASE_MS).await.unwrap().unwrap();
    let pending = at.store.pending(&lease).await.unwrap();
    // All came in within one millisecond; their order is kept all the same.
    assert_eq!(pending.iter().map(|d| d.body.clone()).collect::<Vec<_>>(), bodies[..100]);
    assert_eq!((pending[0].key.as_str(), pending[0].event.as_str()), ("github:999", "issues"));
}

#[tokio::test]
async fn an_unreadable_delivery_is_kept_and_never_claimed() {
    let at = Fixture::new().await;
    let mut lost = delivery("github:u", "github:acme/web#1");
    lost.thread = None;
    lost.unreadable = Some("it has no issue".to_owned());
    let mut half = delivery("github:v", "github:acme/web#1");
    half.unreadable = Some("it has no sender".to_owned());
    for d in [lost, half] {
        assert_eq!(at.store.put(d.clone()).await.unwrap(), Put::New);
        assert_eq!(at.store.put(d).await.unwrap(), Put::Seen);
    }
    assert!(at.store.claim("me", NOW, LEASE_MS).await.unwrap().is_none());
    assert!(!at.store.has_pending(&thread("github:acme/web#1")).await.unwrap());
}

/// Somebody mends what made it unreadable, and has it sent again.
#[tokio::test]
async fn an_unreadable_delivery_that_comes_again_readable_is_taken() {
    let at = Fixture::new().await;
    let name = "github:acme/web#1";
    let mut odd = delivery("github:u", name);
    (odd.thread, odd.unreadable) = (None, Some("it has no issue".to_owned()));
    assert_eq!(at.store.put(odd).await.unwrap(), Put::New);
    let again = ["github:u", "github:v", "github:u"].map(|key| put(&at.store, key, name));
    assert_eq!(join_all(again).await, [Put::New, Put::New, Put::Seen]);
    let lease = at.store.claim("me", NOW, LEASE_MS).await.unwrap().unwrap();
    let pending = at.store.pending(&lease).await.unwrap();
    assert_eq!(pending.iter().map(|d| d.key.as_str()).collect::<Vec<_>>(), ["github:u", "github:v"]);
    assert_eq!(pending[0].body, delivery("github:u", name).body);
}

#[tokio::test]
async fn only_what_is_done_and_old_is_forgotten() {
    let at = Fixture::new().await;
    for key in ["github:a", "github:b"] {
        assert_eq!(put(&at.store, key, "github:acme/web#1").await, Put::New);
    }
    let lease = at.store.claim("me", NOW, LEASE_MS).await.unwrap().unwrap();
    let mut done = turn(&[]);
    done.consumed = vec!["github:a".to_owned()];
    let _ = at.store.append(&lease, done).await.unwrap();
    assert_eq!(at.store.forget_deliveries(NOW).await.unwrap(), 0);
    assert_eq!(at.store.forget_deliveries(NOW.plus(1)).await.unwrap(), 1);
    assert_eq!(put(&at.store, "github:a", "github:acme/web#1").await, Put::New);
    assert_eq!(put(&at.store, "github:b", "github:acme/web#1").await, Put::Seen);
}

/// A client that hangs up drops its request in the middle of anything; the others must not notice.
#[tokio::test(flavor = "multi_thread")]
async fn requests_that_vanish_do_not_harm_the_others() {
    let at = Arc::new(Fixture::new().await);
    let putting = (0..400_u64).map(|n| {
        let at = Arc::clone(&at);
        async move {
            let key = format!("github:{n}");
            let put = put(&at.store, &key, "github:acme/web#1");
            if n % 3 == 0 {
                // Long enough to stand in line, too short to be answered most of the time.
                let _ = tokio::time::timeout(std::time::Duration::from_micros(n * 10), put).await;
                None
            } else {
                Some((put.await, key))
            }
        }
    });
    for (_, key) in join_all(putting).await.into_iter().flatten() {
        assert_eq!(
            put(&at.store, &key, "github:acme/web#1").await,
            Put::Seen,
            "{key} was answered and is lost"
        );
    }
}

#[tokio::test]
async fn times_before_1970_and_far_ahead_do_no_harm() {
    let at = Fixture::new().await;
    for (key, time) in [("github:min", i64::MIN), ("github:max", i64::MAX)] {
        let mut d = delivery(key, "github:acme/web#1");
        d.received_at = Millis(time);
        assert_eq!(at.store.put(d).await.unwrap(), Put::New);
    }
}
