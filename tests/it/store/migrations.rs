//! Purpose: a database as each migration left it, with sample rows in every table, still works with today's code.

use planwright::domain::CommentId;
use planwright::store::{CommentState, Put, Store};
use sqlx::{Connection, SqliteConnection};
use tempfile::TempDir;

use super::{LEASE_MS, NOW, put, thread, turn, url};

/// Each adds to those before it.
const SAMPLES: [&str; 2] = [
    include_str!("../../fixtures/migrations/0001_init.sql"),
    include_str!("../../fixtures/migrations/0002_dictionary.sql"),
];

/// Lets the program make its tables, then fills them from outside.
async fn fill(dir: &TempDir, sample: &'static str) {
    Store::open(&url(dir, "")).await.unwrap().close().await;
    let file = dir.path().join("data/planwright.db");
    let mut raw = SqliteConnection::connect(file.to_str().unwrap()).await.unwrap();
    sqlx::raw_sql(sample).execute(&mut raw).await.unwrap();
    raw.close().await.unwrap();
}

#[tokio::test]
async fn sample_rows_are_read_and_continued() {
    let dir = TempDir::new().unwrap();
    for sample in SAMPLES {
        fill(&dir, sample).await;
    }
    let store = Store::open(&url(&dir, "")).await.unwrap();
    let lease = store.claim("me", NOW, LEASE_MS).await.unwrap().unwrap();
    assert_eq!(lease.thread(), &thread("github:acme/web#12"));
    assert_eq!(lease.fence(), 4);
    let pending = store.pending(&lease).await.unwrap();
    assert_eq!(pending[0].body, br#"{"action":"assigned"}"#);
    let (user, packed) = ("https://api.github.com/users/maria", &pending[1].body);
    let urls = format!(r#""url":"{user}","received_events_url":"{user}/received_events","type":"User""#);
    assert_eq!(String::from_utf8_lossy(packed), format!(r#"{{"sender":{{"login":"maria",{urls}}}}}"#));
    assert_eq!(put(&store, "github:done", "github:acme/web#12").await, Put::Seen);
    assert_eq!(store.timers(lease.thread()).await.unwrap().len(), 1);
    let posted = CommentState::Posted { id: CommentId(99), body_hash: "abc".to_owned() };
    assert_eq!(store.comment_begin(&lease, "card", NOW).await.unwrap(), posted);
    let _ = store.append(&lease, turn(&["resumed"])).await.unwrap();
    let history = planwright::store::History::new(dir.path());
    assert_eq!(history.catch_up(&store, lease.thread()).await.unwrap().written, 2);
    let verified = planwright::store::verify(&history.path(lease.thread())).unwrap();
    assert_eq!((verified.lines, verified.first_problem), (2, None));
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_refused_with_a_sentence() {
    let dir = TempDir::new().unwrap();
    fill(&dir, "UPDATE _sqlx_migrations SET version = 9999 WHERE version = 2").await;
    let error = format!("{:#}", Store::open(&url(&dir, "")).await.err().unwrap());
    assert!(error.contains("newer version of Planwright"), "{error}");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let dir = TempDir::new().unwrap();
    std::fs::create_dir(dir.path().join("data")).unwrap();
    let file = dir.path().join("data/planwright.db");
    let text = "not a database, but somebody's notes\n".repeat(200);
    std::fs::write(&file, &text).unwrap();
    let error = format!("{:#}", Store::open(&url(&dir, "")).await.err().unwrap());
    assert!(error.contains("damaged"), "{error}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
}

#[tokio::test]
async fn files_are_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let at = super::Fixture::new().await;
    let _ = put(&at.store, "github:a", "github:acme/web#1").await;
    let mode = |name: &str| std::fs::metadata(at.dir.path().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("data"), 0o700);
    for name in ["data/planwright.db", "data/planwright.db-wal", "data/planwright.db-shm"] {
        assert_eq!(mode(name), 0o600, "{name}");
    }
}
