//! Purpose: the inbox: a verified delivery is stored once under its key, waits for its thread, and is remembered.

use bytes::Bytes;
use sqlx::{AnyConnection, Row as _};

use super::parcel::{self, Parcel};
use super::{Held, Store, StoreError, ThreadLease};
use crate::domain::{ForgeKind, Millis, ThreadRef};

#[derive(Debug, Clone)]
pub struct NewDelivery {
    /// Unique over all forges, like `github:<guid>`.
    pub key: String,
    pub thread: Option<ThreadRef>,
    pub forge: ForgeKind,
    pub event: String,
    pub body: Bytes,
    pub received_at: Millis,
    /// Why nobody can make sense of it. Such a delivery is kept for people to look at and never claimed.
    pub unreadable: Option<String>,
}

#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// It is on disk now.
    New,
    /// It was on disk before; nothing changed.
    Seen,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub key: String,
    pub forge: ForgeKind,
    pub event: String,
    pub body: Vec<u8>,
    pub received_at: Millis,
}

/// What is in the inbox that nobody has dealt with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    pub waiting: i64,
    /// When the one was received that waits longest.
    pub oldest: Option<Millis>,
    pub unreadable: i64,
    pub last_unreadable: Option<Unreadable>,
}

/// A delivery that is only kept to be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    pub key: String,
    pub why: String,
    pub received_at: Millis,
}

const FORGET_AT_ONCE: i64 = 1_000;

impl Store {
    /// Returns when the delivery is on disk. Deliveries that come in together share one commit.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when it could not be stored; then it is not stored.
    pub async fn put(&self, delivery: NewDelivery) -> Result<Put, StoreError> {
        let parcel = Parcel::of(delivery).await?;
        self.put_parcel(parcel).await
    }

    /// The deliveries that wait for the leased thread, oldest first, at most 100.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn pending(&self, lease: &ThreadLease) -> Result<Vec<Delivery>, StoreError> {
        // One turn takes no more than this, so that a flood cannot fill the memory. The number stands in the text because
        // SQLite compiles a statement anew for every limit that it is given as a parameter.
        let rows = sqlx::query(
            "SELECT key, forge, event, body, received_at FROM deliveries \
             WHERE thread = $1 AND state = 'pending' ORDER BY arrival LIMIT 100",
        )
        .bind(lease.thread().to_string())
        .fetch_all(&self.shared.readers)
        .await?;
        rows.iter().map(delivery_of).collect()
    }

    /// # Errors
    /// When the database cannot be read.
    pub async fn has_pending(&self, thread: &ThreadRef) -> Result<bool, StoreError> {
        let mut reader = self.shared.readers.acquire().await?;
        Ok(is_pending(&mut reader, &thread.to_string(), &[]).await?)
    }

    /// # Errors
    /// When the database cannot be read.
    pub async fn queue(&self) -> Result<Queue, StoreError> {
        let readers = &self.shared.readers;
        let pending = "SELECT COUNT(*), MIN(received_at) FROM deliveries WHERE state = 'pending'";
        let (waiting, oldest): (i64, Option<i64>) = sqlx::query_as(pending).fetch_one(readers).await?;
        let unreadable = "SELECT COUNT(*) FROM deliveries WHERE state = 'unreadable'";
        let unreadable = sqlx::query_scalar(unreadable).fetch_one(readers).await?;
        let last = "SELECT key, COALESCE(reason, ''), received_at FROM deliveries \
                    WHERE state = 'unreadable' ORDER BY arrival DESC LIMIT 1";
        let last: Option<(String, String, i64)> = sqlx::query_as(last).fetch_optional(readers).await?;
        let last_unreadable = last.map(|(key, why, at)| Unreadable { key, why, received_at: Millis(at) });
        Ok(Queue { waiting, oldest: oldest.map(Millis), unreadable, last_unreadable })
    }

    /// Keeps a delivery for people to look at; nobody waits for it any more.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub async fn set_aside(&self, lease: &ThreadLease, key: &str, why: &str) -> Result<Held, StoreError> {
        let aside = sqlx::query(
            "UPDATE deliveries SET state = 'unreadable', reason = $1 \
             WHERE key = $2 AND thread = $3 AND state = 'pending'",
        )
        .bind(why)
        .bind(key)
        .bind(lease.thread().to_string());
        self.while_held(lease, aside).await
    }

    /// Forgets deliveries that were done before `older_than`; a redelivery of one would count as new.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub async fn forget_deliveries(&self, older_than: Millis) -> Result<u64, StoreError> {
        let mut forgotten = 0;
        loop {
            // The writer is given back after each round: a delivery must not wait for a big clean-up.
            let mut writer = self.writer().await?;
            let round = sqlx::query(
                "DELETE FROM deliveries WHERE key IN \
                 (SELECT key FROM deliveries WHERE (state = 'done' AND done_at < $1) \
                 OR (state = 'unreadable' AND received_at < $1) LIMIT $2)",
            )
            .bind(older_than.0)
            .bind(FORGET_AT_ONCE)
            .execute(&mut writer.connection)
            .await?
            .rows_affected();
            writer.keep();
            forgotten += round;
            if round == 0 {
                return Ok(forgotten);
            }
        }
    }
}

/// Whether deliveries wait for the thread, other than these.
pub(super) async fn is_pending(
    connection: &mut AnyConnection,
    thread: &str,
    but: &[String],
) -> Result<bool, sqlx::Error> {
    // In the text, as above; nearly always it is 1.
    let limit = but.len() + 1;
    let sql = format!("SELECT key FROM deliveries WHERE thread = $1 AND state = 'pending' LIMIT {limit}");
    let keys: Vec<String> =
        sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).bind(thread).fetch_all(connection).await?;
    Ok(keys.iter().any(|key| !but.contains(key)))
}

/// Marks deliveries of the thread as done and drops their bodies: only the key is needed from here on.
pub(super) async fn consume(
    connection: &mut AnyConnection,
    thread: &str,
    keys: &[String],
    at: Millis,
) -> Result<(), StoreError> {
    for key in keys {
        let done = sqlx::query(
            "UPDATE deliveries SET state = 'done', done_at = $1, body = NULL \
             WHERE key = $2 AND thread = $3 AND state = 'pending'",
        )
        .bind(at.0)
        .bind(key.as_str())
        .bind(thread)
        .execute(&mut *connection)
        .await?;
        if done.rows_affected() != 1 {
            return Err(StoreError::Broken(format!("delivery {key} does not wait for thread {thread}")));
        }
    }
    Ok(())
}

fn delivery_of(row: &sqlx::any::AnyRow) -> Result<Delivery, StoreError> {
    let key: String = row.try_get("key")?;
    let forge: &str = row.try_get("forge")?;
    let body: &[u8] = row.try_get("body")?;
    let body = parcel::unpack(body)
        .map_err(|error| StoreError::Broken(format!("the body of delivery {key} is damaged: {error}")))?;
    let forge = match forge {
        "github" => ForgeKind::Github,
        "gitlab" => ForgeKind::Gitlab,
        "local" => ForgeKind::Local,
        other => return Err(StoreError::Broken(format!("delivery {key} is of an unknown forge `{other}`"))),
    };
    Ok(Delivery {
        key,
        forge,
        event: row.try_get("event")?,
        body,
        received_at: Millis(row.try_get("received_at")?),
    })
}
