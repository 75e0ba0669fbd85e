//! Purpose: one live lease per thread, whoever claims and whenever; nothing that should wake a thread is forgotten.

use std::collections::{HashMap, HashSet};

use futures_util::future::join_all;
use planwright::domain::{CommentId, Millis};
use planwright::store::{Appended, CommentState, Held, Put};

use super::{Fixture, LEASE_MS, NOW, put, thread, turn};

const NAME: &str = "github:acme/web#1";

#[tokio::test]
async fn a_thread_is_claimed_once_and_again_when_its_lease_ran_out() {
    let at = Fixture::new().await;
    at.store.wake(&thread(NAME), NOW).await.unwrap();
    assert!(at.store.claim("early", NOW.plus(-1), LEASE_MS).await.unwrap().is_none());
    let first = at.store.claim("a", NOW, LEASE_MS).await.unwrap().unwrap();
    assert_eq!(first.thread(), &thread(NAME));
    assert!(at.store.claim("b", NOW.plus(LEASE_MS - 1), LEASE_MS).await.unwrap().is_none());
    let second = at.store.claim("b", NOW.plus(LEASE_MS), LEASE_MS).await.unwrap().unwrap();
    assert!(second.fence() > first.fence());
}

#[tokio::test]
async fn who_works_for_one_thread_takes_no_other_and_waits_for_no_other() {
    let at = Fixture::new().await;
    let (mine, other) = (thread(NAME), thread("github:acme/web#2"));
    at.store.wake(&other, NOW.plus(-1)).await.unwrap();
    assert!(at.store.claim_only(&mine, "a", NOW, LEASE_MS).await.unwrap().is_none());
    assert!(!at.store.is_busy_with(&mine, NOW).await.unwrap() && at.store.is_busy(NOW).await.unwrap());
    at.store.wake(&mine, NOW).await.unwrap();
    assert!(at.store.is_busy_with(&mine, NOW).await.unwrap());
    let lease = at.store.claim_only(&mine, "a", NOW, LEASE_MS).await.unwrap().unwrap();
    assert_eq!(lease.thread(), &mine);
    assert!(at.store.claim_only(&mine, "b", NOW, LEASE_MS).await.unwrap().is_none());
    assert_eq!(at.store.claim("b", NOW, LEASE_MS).await.unwrap().unwrap().thread(), &other);
}

#[tokio::test]
async fn a_renewed_lease_lasts() {
    let at = Fixture::new().await;
    let lease = at.leased(NAME).await;
    assert_eq!(at.store.renew(&lease, NOW.plus(LEASE_MS - 1), LEASE_MS).await.unwrap(), Held::Yes);
    assert!(at.store.claim("b", NOW.plus(LEASE_MS), LEASE_MS).await.unwrap().is_none());
}

#[tokio::test]
async fn who_lost_the_lease_can_write_nothing() {
    let at = Fixture::new().await;
    let old = at.leased(NAME).await;
    let new = at.store.claim("b", NOW.plus(LEASE_MS), LEASE_MS).await.unwrap().unwrap();
    assert_eq!(at.store.append(&old, turn(&["triggered"])).await.unwrap(), Appended::LeaseLost);
    assert_eq!(at.store.renew(&old, NOW, LEASE_MS).await.unwrap(), Held::Lost);
    assert_eq!(at.store.comment_begin(&old, "card", NOW).await.unwrap(), CommentState::LeaseLost);
    assert_eq!(at.store.comment_posted(&old, "card", CommentId(7), "h").await.unwrap(), Held::Lost);
    at.store.release(old, Some(NOW)).await.unwrap();
    assert!(
        at.store.claim("c", NOW.plus(LEASE_MS), LEASE_MS).await.unwrap().is_none(),
        "a stale release freed it"
    );
    assert!(at.store.journal(&thread(NAME)).await.unwrap().is_empty());
    assert!(
        matches!(at.store.append(&new, turn(&["triggered"])).await.unwrap(), Appended::Done(rows) if rows.len() == 1)
    );
}

#[tokio::test]
async fn a_released_thread_sleeps_until_its_time() {
    let at = Fixture::new().await;
    let lease = at.leased(NAME).await;
    at.store.release(lease, Some(NOW.plus(500))).await.unwrap();
    assert!(at.store.claim("b", NOW.plus(499), LEASE_MS).await.unwrap().is_none());
    let lease = at.store.claim("b", NOW.plus(500), LEASE_MS).await.unwrap().unwrap();
    at.store.release(lease, None).await.unwrap();
    assert!(at.store.claim("b", Millis(i64::MAX), LEASE_MS).await.unwrap().is_none());
}

#[tokio::test]
async fn what_comes_in_during_a_lease_keeps_the_thread_awake() {
    let at = Fixture::new().await;
    let lease = at.leased(NAME).await;
    assert_eq!(put(&at.store, "github:late", NAME).await, Put::New);
    assert!(at.store.claim("b", NOW, LEASE_MS).await.unwrap().is_none(), "the lease still holds");
    at.store.release(lease, None).await.unwrap();
    let lease = at.store.claim("b", NOW, LEASE_MS).await.unwrap().unwrap();
    let mut done = turn(&[]);
    done.consumed = vec!["github:late".to_owned()];
    let _ = at.store.append(&lease, done).await.unwrap();
    at.store.release(lease, None).await.unwrap();
    assert!(at.store.claim("b", NOW, LEASE_MS).await.unwrap().is_none(), "nothing waits any more");
}

#[tokio::test]
async fn what_comes_in_and_is_dealt_with_during_a_lease_lets_the_thread_sleep() {
    let at = Fixture::new().await;
    let lease = at.leased(NAME).await;
    assert_eq!(put(&at.store, "github:late", NAME).await, Put::New);
    let mut done = turn(&[]);
    done.consumed = vec!["github:late".to_owned()];
    let _ = at.store.append(&lease, done).await.unwrap();
    at.store.release(lease, None).await.unwrap();
    assert!(at.store.claim("b", Millis(i64::MAX), LEASE_MS).await.unwrap().is_none());
}

#[tokio::test]
async fn what_an_owner_stumbled_over_is_due_when_it_has_started_anew() {
    let at = Fixture::new().await;
    let (later, name) = (NOW.plus(500), thread(NAME));
    let lease = at.leased(NAME).await;
    at.store.stumble(lease, later).await.unwrap();
    at.store.free_leases("another").await.unwrap();
    assert!(at.store.claim("b", NOW, LEASE_MS).await.unwrap().is_none(), "the other has not started anew");
    at.store.free_leases("test").await.unwrap();
    let lease = at.store.claim("test", NOW, LEASE_MS).await.unwrap().unwrap();
    assert_eq!(lease.thread(), &name);
    at.store.put_off(lease, later).await.unwrap();
    at.store.free_leases("test").await.unwrap();
    assert!(at.store.claim("b", NOW, LEASE_MS).await.unwrap().is_none(), "the forge wants to be left alone");
    assert!(at.store.claim("b", later, LEASE_MS).await.unwrap().is_some());
}

#[tokio::test]
async fn a_wake_during_a_lease_is_not_forgotten() {
    let at = Fixture::new().await;
    let lease = at.leased(NAME).await;
    at.store.wake(&thread(NAME), NOW.plus(700)).await.unwrap();
    at.store.release(lease, Some(NOW.plus(900))).await.unwrap();
    assert!(at.store.claim("b", NOW.plus(699), LEASE_MS).await.unwrap().is_none());
    assert!(at.store.claim("b", NOW.plus(700), LEASE_MS).await.unwrap().is_some());
}

#[tokio::test]
async fn the_earliest_wake_wins() {
    let at = Fixture::new().await;
    for ms in [500, 300, 800] {
        at.store.wake(&thread(NAME), NOW.plus(ms)).await.unwrap();
    }
    assert!(at.store.claim("a", NOW.plus(299), LEASE_MS).await.unwrap().is_none());
    assert!(at.store.claim("a", NOW.plus(300), LEASE_MS).await.unwrap().is_some());
}

#[tokio::test]
async fn a_thread_put_off_waits_although_deliveries_wait() {
    let at = Fixture::new().await;
    assert_eq!(put(&at.store, "github:a", NAME).await, Put::New);
    let lease = at.store.claim("a", NOW, LEASE_MS).await.unwrap().unwrap();
    at.store.put_off(lease, NOW.plus(5_000)).await.unwrap();
    assert!(at.store.claim("a", NOW.plus(4_999), LEASE_MS).await.unwrap().is_none());
    assert_eq!(put(&at.store, "github:b", NAME).await, Put::New);
    assert!(at.store.claim("a", NOW, LEASE_MS).await.unwrap().is_some(), "a new delivery wakes it");
}

/// Eight claimers go at twenty threads at once; some die with the lease in hand. No thread is ever held twice.
#[tokio::test(flavor = "multi_thread")]
async fn many_claimers_never_hold_one_thread_twice() {
    let at = Fixture::new().await;
    for n in 0..20 {
        at.store.wake(&thread(&format!("github:acme/web#{n}")), NOW).await.unwrap();
    }
    let mut fences: HashMap<String, i64> = HashMap::new();
    let mut died = HashSet::new();
    for round in 0..30 {
        let now = NOW.plus(round * 100);
        let names: Vec<String> = (0..8).map(|n| format!("worker-{n}")).collect();
        let claims = join_all(names.iter().map(|name| at.store.claim(name, now, 1_000))).await;
        let leases: Vec<_> = claims.into_iter().filter_map(Result::unwrap).collect();
        let distinct: HashSet<_> = leases.iter().map(|lease| lease.thread().clone()).collect();
        assert_eq!(distinct.len(), leases.len(), "one thread was given out twice");
        for (n, lease) in leases.into_iter().enumerate() {
            let name = lease.thread().to_string();
            assert!(fences.insert(name.clone(), lease.fence()).is_none_or(|before| lease.fence() > before));
            if (n + round as usize).is_multiple_of(5) {
                died.insert((name, now.plus(1_000)));
            } else {
                assert!(
                    !died.iter().any(|(thread, until)| *thread == name && now < *until),
                    "{name} was still held"
                );
                at.store.release(lease, Some(now)).await.unwrap();
            }
        }
    }
    assert!(!died.is_empty());
}
