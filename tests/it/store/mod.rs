//! Purpose: the store on a real file: inbox, leases, journal, comments, migrations, and trouble with the disk.

mod comments;
mod forget;
mod inbox;
mod journal;
mod leases;
mod migrations;
pub(crate) mod trouble;

use planwright::domain::{ForgeKind, Millis, ThreadRef};
use planwright::store::{NewDelivery, NewFact, Pending, Put, Store, ThreadLease, Turn};
use sqlx::{Connection, SqliteConnection};
use tempfile::TempDir;

/// A store in a directory of its own, which goes away with it.
pub(crate) struct Fixture {
    pub(crate) dir: TempDir,
    pub(crate) store: Store,
}

pub(crate) const NOW: Millis = Millis(1_700_000_000_000);
pub(crate) const LEASE_MS: i64 = 30_000;

impl Fixture {
    pub(crate) async fn new() -> Self {
        Self::with_options("").await
    }

    pub(crate) async fn with_options(options: &str) -> Self {
        let dir = TempDir::new().unwrap();
        let store = Store::open(&url(&dir, options)).await.unwrap();
        Self { dir, store }
    }

    /// Closes the database and opens it again, as a restart does.
    pub(crate) async fn reopen(self) -> Self {
        self.store.close().await;
        let store = Store::open(&url(&self.dir, "")).await.unwrap();
        Self { dir: self.dir, store }
    }

    /// Nobody can write before this is rolled back.
    pub(crate) async fn lock(&self) -> SqliteConnection {
        let file = self.dir.path().join("data/planwright.db");
        let mut other = SqliteConnection::connect(file.to_str().unwrap()).await.unwrap();
        sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
        other
    }

    pub(crate) async fn leased(&self, name: &str) -> ThreadLease {
        self.store.wake(&thread(name), NOW).await.unwrap();
        self.store.claim("test", NOW, LEASE_MS).await.unwrap().unwrap()
    }
}

fn url(dir: &TempDir, options: &str) -> String {
    format!("sqlite://{}/data/planwright.db{options}", dir.path().display())
}

pub(crate) fn thread(name: &str) -> ThreadRef {
    name.parse().unwrap()
}

pub(crate) fn delivery(key: &str, name: &str) -> NewDelivery {
    NewDelivery {
        key: key.to_owned(),
        thread: Some(thread(name)),
        forge: ForgeKind::Github,
        event: "issues".to_owned(),
        body: format!(r#"{{"delivery":"{key}"}}"#).into(),
        received_at: NOW,
        unreadable: None,
    }
}

pub(crate) async fn put(store: &Store, key: &str, name: &str) -> Put {
    store.put(delivery(key, name)).await.unwrap()
}

pub(crate) fn turn(kinds: &[&str]) -> Turn {
    let fact =
        |kind: &&str| NewFact { run: Some("r1".to_owned()), json: serde_json::json!({"type": kind, "n": 1}) };
    Turn {
        at: NOW,
        facts: kinds.iter().map(fact).collect(),
        consumed: Vec::new(),
        timers: None,
        pending: Pending::Allowed,
    }
}
