//! Purpose: a locked, full or read-only database refuses with a sentence, loses nothing, and works again by itself.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use futures_util::future::join_all;
use planwright::store::{NewDelivery, Put, Store, StoreError};
use tempfile::TempDir;
use tokio::time::timeout;

use super::{Fixture, LEASE_MS, NOW, delivery, put, turn, url};

const NAME: &str = "github:acme/web#1";

fn noise(bytes: usize) -> bytes::Bytes {
    // Bytes that do not compress: what lz4 could shrink would not fill a disk.
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..bytes).map(|_| next()).collect()
}

fn refusal<T: std::fmt::Debug>(result: Result<T, StoreError>) -> String {
    match result {
        Err(StoreError::Unavailable(why)) => why,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_database_refuses_all_and_recovers() {
    let at = Fixture::with_options("?busy_timeout_ms=50").await;
    assert_eq!(put(&at.store, "github:before", NAME).await, Put::New);
    let mut other = at.lock().await;
    let keys: Vec<String> = (0..10).map(|n| format!("github:{n}")).collect();
    let answers = join_all(keys.iter().map(|key| at.store.put(delivery(key, NAME)))).await;
    for answer in answers {
        assert!(refusal(answer).contains("locked"));
    }
    assert!(refusal(at.store.claim("me", NOW, LEASE_MS).await).contains("locked"));
    assert!(refusal(at.store.ready().await).contains("locked"));
    sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
    at.store.ready().await.unwrap();
    for key in &keys {
        assert_eq!(put(&at.store, key, NAME).await, Put::New, "a refused delivery was stored after all");
    }
}

/// While the database is locked, the first request is being written and the others stand in line; the first two hang up.
/// The others must be stored all the same.
#[tokio::test]
async fn whoever_hangs_up_leaves_those_behind_unharmed() {
    let at = Fixture::new().await;
    let mut other = at.lock().await;
    let moment = Duration::from_millis(100);
    let mut first = Box::pin(at.store.put(delivery("github:first", NAME)));
    assert!(timeout(moment, &mut first).await.is_err(), "the database is locked");
    let mut second = Box::pin(at.store.put(delivery("github:second", NAME)));
    let keys: Vec<String> = (0..10).map(|n| format!("github:{n}")).collect();
    let mut others = join_all(keys.iter().map(|key| at.store.put(delivery(key, NAME))));
    assert!(timeout(moment, futures_util::future::join(&mut second, &mut others)).await.is_err());
    drop(first);
    assert!(timeout(moment, &mut second).await.is_err());
    drop(second);
    assert!(timeout(moment, &mut others).await.is_err());
    sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
    for answer in others.await {
        assert_eq!(answer, Ok(Put::New));
    }
    for key in &keys {
        assert_eq!(put(&at.store, key, NAME).await, Put::Seen);
    }
}

#[tokio::test]
async fn a_full_database_refuses_and_recovers_when_space_is_free() {
    let at = Fixture::with_options("?max_page_count=64").await;
    let mut stored = Vec::new();
    let why = loop {
        let key = format!("github:{}", stored.len());
        let mut d = delivery(&key, NAME);
        d.body = noise(20_000);
        match at.store.put(d).await {
            Ok(answer) => assert_eq!(answer, Put::New),
            refused => break refusal(refused),
        }
        stored.push(key);
        assert!(stored.len() < 1_000, "it never became full");
    };
    assert!(why.contains("full"), "{why}");
    let lease = at.store.claim("me", NOW, LEASE_MS).await.unwrap().unwrap();
    assert_eq!(at.store.pending(&lease).await.unwrap().len(), stored.len(), "what was acknowledged is there");
    let mut done = turn(&[]);
    done.consumed = stored.clone();
    let _ = at.store.append(&lease, done).await.unwrap();
    let mut again = delivery("github:again", NAME);
    again.body = noise(20_000);
    assert_eq!(at.store.put(again).await.unwrap(), Put::New);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_row_too_large_does_not_cost_the_others_their_place() {
    let at = Fixture::with_options("?max_page_count=128").await;
    let rows = (0..20).map(|n| {
        let mut d = delivery(&format!("github:{n}"), NAME);
        if n == 7 {
            d.body = noise(2_000_000);
        }
        at.store.put(d)
    });
    let answers = join_all(rows).await;
    for (n, answer) in answers.into_iter().enumerate() {
        if n == 7 {
            assert!(refusal(answer).contains("full"));
        } else {
            assert_eq!(answer.unwrap(), Put::New, "row {n}");
        }
    }
}

/// A small file system of its own. Only made where mounting is allowed; see [`where_it_may_mount`].
pub(crate) struct SmallDisk(TempDir);

impl SmallDisk {
    pub(crate) fn new() -> Self {
        let dir = TempDir::new().unwrap();
        assert!(mount(&["-t", "tmpfs", "-o", "size=2m", "tmpfs"], dir.path()), "a small disk is mounted");
        Self(dir)
    }

    pub(crate) async fn store(&self) -> Store {
        Store::open(&url(&self.0, "")).await.unwrap()
    }

    pub(crate) fn fill(&self) {
        let path = self.0.path().join("fill");
        let _ = std::fs::write(&path, vec![1; 4 << 20]);
        assert!(path.metadata().unwrap().len() > 0);
    }

    pub(crate) fn clear(&self) {
        std::fs::remove_file(self.0.path().join("fill")).unwrap();
    }

    /// Only possible while nobody writes: a refused writer is closed, though not at the very instant.
    pub(crate) async fn protect(&self) {
        while !mount(&["-o", "remount,ro"], self.0.path()) {
            tokio::task::yield_now().await;
        }
    }

    pub(crate) fn free(&self) {
        assert!(mount(&["-o", "remount,rw"], self.0.path()));
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").args(["--lazy"]).arg(self.0.path()).status();
    }
}

fn mount(arguments: &[&str], at: &Path) -> bool {
    Command::new("mount").args(arguments).arg(at).output().is_ok_and(|done| done.status.success())
}

/// Runs an ignored test of this program in namespaces of its own, where anybody may mount. Some machines let nobody make
/// any: there only the tests remain that cap the pages of the database.
pub(crate) fn where_it_may_mount(test: &str) {
    let within = || {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount"]);
        command
    };
    if !within().arg("true").status().is_ok_and(|status| status.success()) {
        eprintln!("skipped {test}: this machine allows no namespaces");
        return;
    }
    let done =
        within().arg(std::env::current_exe().unwrap()).args(["--ignored", "--exact", test]).output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(
        done.status.success() && said.contains("1 passed"),
        "{said}\n{}",
        String::from_utf8_lossy(&done.stderr)
    );
}

#[test]
fn a_disk_that_is_full_or_read_only_refuses_and_recovers() {
    where_it_may_mount("store::trouble::refused_by_a_real_disk");
}

#[tokio::test]
#[ignore = "mounts a file system; run by the test above, where that is allowed"]
async fn refused_by_a_real_disk() {
    let disk = SmallDisk::new();
    let store = disk.store().await;
    assert_eq!(put(&store, "github:first", NAME).await, Put::New);

    disk.fill();
    let why = refusal(store.put(large("github:full")).await);
    assert!(why.contains("full") || why.contains("disk"), "{why}");
    disk.clear();

    disk.protect().await;
    let why = refusal(store.put(delivery("github:read-only", NAME)).await);
    assert!(why.contains("read-only") || why.contains("cannot be opened"), "{why}");
    let why = refusal(store.ready().await);
    assert!(why.contains("read-only") || why.contains("cannot be opened"), "{why}");
    disk.free();
    for key in ["github:full", "github:read-only"] {
        assert_eq!(store.put(large(key)).await.unwrap(), Put::New);
    }
    assert_eq!(put(&store, "github:first", NAME).await, Put::Seen);
    store.close().await;
}

/// An empty one in its place would forget what was taken in.
#[tokio::test]
async fn a_database_that_is_gone_is_not_made_anew() {
    let at = Fixture::with_options("?busy_timeout_ms=50").await;
    let (file, away) = (at.dir.path().join("data/planwright.db"), at.dir.path().join("away"));
    let lock = at.lock().await;
    assert!(at.store.put(delivery("github:locked", NAME)).await.is_err(), "closes what writes");
    std::fs::rename(&file, &away).unwrap();
    let why = refusal(at.store.put(delivery("github:gone", NAME)).await);
    assert!(why.contains("cannot be opened"), "{why}");
    assert!(!file.exists());
    drop(lock);
}

/// More than the log can have reserved beforehand.
fn large(key: &str) -> NewDelivery {
    let mut delivery = delivery(key, NAME);
    delivery.body = noise(300_000);
    delivery
}
