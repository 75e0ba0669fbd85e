//! Purpose: one owner per thread at a time. A lease runs out by itself; its fencing number never comes back.
//!
//! While a thread is leased its `wake_at` is empty, and holds only what was asked for meanwhile; letting go takes the
//! earliest of that, of what the holder wants, and of the deliveries that still wait. A lease that ran out makes the
//! thread due by itself: its holder died or lost the database.

use sqlx::{AnyConnection, Row as _};

use super::{Store, StoreError, thread_of};
use crate::domain::{Millis, ThreadRef};

/// The right to write about one thread. Who has lost the lease still has this value, but its fencing number is old, and
/// every write shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadLease {
    thread: ThreadRef,
    fence: i64,
}

impl ThreadLease {
    #[must_use]
    pub fn thread(&self) -> &ThreadRef {
        &self.thread
    }

    #[must_use]
    pub fn fence(&self) -> i64 {
        self.fence
    }
}

#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    Yes,
    /// Somebody else has the thread now, or may have had it; nothing was written.
    Lost,
}

impl Store {
    /// Takes a thread that is due: the one that waits longest.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub async fn claim(
        &self,
        owner: &str,
        now: Millis,
        lease_ms: i64,
    ) -> Result<Option<ThreadLease>, StoreError> {
        self.claim_among(None, owner, now, lease_ms).await
    }

    /// As [`Store::claim`], but takes this thread or none.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub async fn claim_only(
        &self,
        thread: &ThreadRef,
        owner: &str,
        now: Millis,
        lease_ms: i64,
    ) -> Result<Option<ThreadLease>, StoreError> {
        self.claim_among(Some(thread), owner, now, lease_ms).await
    }

    async fn claim_among(
        &self,
        only: Option<&ThreadRef>,
        owner: &str,
        now: Millis,
        lease_ms: i64,
    ) -> Result<Option<ThreadLease>, StoreError> {
        // Mostly nothing is due. Finding that out does not disturb the one writer, whom deliveries wait for.
        if !self.is_due(now).await? {
            return Ok(None);
        }
        let mut writer = self.writer().await?;
        // The condition stands twice: on PostgreSQL another claim may come between the choice and the update.
        let row = sqlx::query(
            "UPDATE threads SET lease_owner = $1, lease_until = $2, wake_at = NULL, fence = fence + 1 \
             WHERE thread = (SELECT thread FROM threads \
                 WHERE (lease_until <= $3 OR (lease_until IS NULL AND wake_at <= $3)) \
                 AND (thread = $4 OR CAST($4 AS TEXT) IS NULL) \
                 ORDER BY COALESCE(lease_until, wake_at), thread LIMIT 1) \
             AND (lease_until <= $3 OR (lease_until IS NULL AND wake_at <= $3)) \
             RETURNING thread, fence",
        )
        .bind(owner)
        .bind(now.plus(lease_ms).0)
        .bind(now.0)
        .bind(only.map(ToString::to_string))
        .fetch_all(&mut writer.connection)
        .await?;
        writer.keep();
        row.first()
            .map(|row| {
                Ok(ThreadLease { thread: thread_of(row.try_get("thread")?)?, fence: row.try_get("fence")? })
            })
            .transpose()
    }

    async fn is_due(&self, now: Millis) -> Result<bool, StoreError> {
        let due = "SELECT 1 FROM threads WHERE lease_until <= $1 OR (lease_until IS NULL AND wake_at <= $1) LIMIT 1";
        let found: Option<i64> =
            sqlx::query_scalar(due).bind(now.0).fetch_optional(&self.shared.readers).await?;
        Ok(found.is_some())
    }

    /// # Errors
    /// When the database cannot be written.
    pub async fn renew(&self, lease: &ThreadLease, now: Millis, lease_ms: i64) -> Result<Held, StoreError> {
        let mut writer = self.writer().await?;
        let renewed = sqlx::query(
            "UPDATE threads SET lease_until = $1 WHERE thread = $2 AND fence = $3 AND lease_until IS NOT NULL",
        )
        .bind(now.plus(lease_ms).0)
        .bind(lease.thread.to_string())
        .bind(lease.fence)
        .execute(&mut writer.connection)
        .await?;
        writer.keep();
        Ok(if renewed.rows_affected() == 1 { Held::Yes } else { Held::Lost })
    }

    /// Lets go. The thread is due again at `wake_at`, or at once when deliveries wait for it.
    ///
    /// # Errors
    /// When the database cannot be written; then the lease runs out by itself.
    pub async fn release(&self, lease: ThreadLease, wake_at: Option<Millis>) -> Result<(), StoreError> {
        let waiting = "(SELECT MIN(received_at) FROM deliveries WHERE thread = $2 AND state = 'pending')";
        self.let_go(lease, wake_at, "lease_owner = NULL, ", waiting).await
    }

    /// Lets go although deliveries wait, because they cannot be dealt with before `until` (the forge is down, say).
    ///
    /// # Errors
    /// When the database cannot be written; then the lease runs out by itself.
    pub async fn put_off(&self, lease: ThreadLease, until: Millis) -> Result<(), StoreError> {
        self.let_go(lease, Some(until), "lease_owner = NULL, ", "$1").await
    }

    /// As [`Store::put_off`], after a fault of the holder's own. Its name stays: when it has started anew the fault may
    /// be gone, so the thread is due at once then ([`Store::free_leases`]).
    ///
    /// # Errors
    /// When the database cannot be written; then the lease runs out by itself.
    pub async fn stumble(&self, lease: ThreadLease, until: Millis) -> Result<(), StoreError> {
        self.let_go(lease, Some(until), "", "$1").await
    }

    async fn let_go(
        &self,
        lease: ThreadLease,
        wake_at: Option<Millis>,
        owner: &'static str,
        waiting: &'static str,
    ) -> Result<(), StoreError> {
        // The earliest of three times of which each may be missing; `LEAST` is spelt differently on each database.
        let sql = format!(
            "UPDATE threads SET {owner}lease_until = NULL, wake_at = (SELECT MIN(at) FROM \
             (SELECT CAST($1 AS BIGINT) AS at UNION ALL SELECT wake_at UNION ALL SELECT {waiting}) AS times) \
             WHERE thread = $2 AND fence = $3 AND lease_until IS NOT NULL"
        );
        let mut writer = self.writer().await?;
        sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(wake_at.map(|at| at.0))
            .bind(lease.thread.to_string())
            .bind(lease.fence)
            .execute(&mut writer.connection)
            .await?;
        writer.keep();
        Ok(())
    }

    /// Ends the leases of an owner that is known to be dead, so that its threads need not wait for them to run out, nor
    /// for another try at what it stumbled over.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub async fn free_leases(&self, owner: &str) -> Result<(), StoreError> {
        let mut writer = self.writer().await?;
        sqlx::query("UPDATE threads SET lease_until = 0 WHERE lease_owner = $1")
            .bind(owner)
            .execute(&mut writer.connection)
            .await?;
        writer.keep();
        Ok(())
    }

    /// Whether any thread is due or being worked on. Threads that wait for a later time are not busy.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn is_busy(&self, now: Millis) -> Result<bool, StoreError> {
        let row = sqlx::query(
            "SELECT COUNT(*) AS busy FROM threads WHERE lease_until IS NOT NULL OR wake_at <= $1",
        )
        .bind(now.0)
        .fetch_one(&self.shared.readers)
        .await?;
        Ok(row.try_get::<i64, _>("busy")? > 0)
    }

    /// As [`Store::is_busy`], for one thread.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn is_busy_with(&self, thread: &ThreadRef, now: Millis) -> Result<bool, StoreError> {
        let row = sqlx::query(
            "SELECT COUNT(*) AS busy FROM threads WHERE thread = $2 AND (lease_until IS NOT NULL OR wake_at <= $1)",
        )
        .bind(now.0)
        .bind(thread.to_string())
        .fetch_one(&self.shared.readers)
        .await?;
        Ok(row.try_get::<i64, _>("busy")? > 0)
    }

    /// Makes the thread due at `at`, or earlier if it was due earlier.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub async fn wake(&self, thread: &ThreadRef, at: Millis) -> Result<(), StoreError> {
        let mut writer = self.writer().await?;
        let due = sqlx::query(MAKE_DUE).bind(thread.to_string()).bind(at.0);
        due.execute(&mut writer.connection).await?;
        writer.keep();
        Ok(())
    }

    /// Every thread that has a journal. Most threads that deliveries are about have none: they did not concern us.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn threads(&self) -> Result<Vec<ThreadRef>, StoreError> {
        let names: Vec<String> = sqlx::query_scalar(
            "SELECT thread FROM threads WHERE EXISTS (SELECT 1 FROM journal WHERE journal.thread = threads.thread) \
             ORDER BY thread",
        )
        .fetch_all(&self.shared.readers)
        .await?;
        names.iter().map(|name| thread_of(name)).collect()
    }

    /// As [`Store::threads`], with the number of the newest entry.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn journal_ends(&self) -> Result<Vec<(ThreadRef, i64)>, StoreError> {
        // Asked thread by thread, this looks at the end of each journal; grouped, it would read all of them.
        let ends: Vec<(String, Option<i64>)> = sqlx::query_as(
            "SELECT thread, (SELECT MAX(seq) FROM journal WHERE journal.thread = threads.thread) FROM threads \
             ORDER BY thread",
        )
        .fetch_all(&self.shared.readers)
        .await?;
        ends.iter().filter_map(|(name, end)| end.map(|end| Ok((thread_of(name)?, end)))).collect()
    }

    /// All threads that have a journal, with the number of its entries.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn journal_lengths(&self) -> Result<Vec<(ThreadRef, u64)>, StoreError> {
        let rows: Vec<(String, i64)> =
            sqlx::query_as("SELECT thread, COUNT(*) FROM journal GROUP BY thread ORDER BY thread")
                .fetch_all(&self.shared.readers)
                .await?;
        rows.iter().map(|(name, count)| Ok((thread_of(name)?, count.unsigned_abs()))).collect()
    }
}

/// A thread, and from when on.
pub(super) const MAKE_DUE: &str = "INSERT INTO threads (thread, wake_at) VALUES ($1, $2) ON CONFLICT (thread) DO UPDATE SET \
     wake_at = CASE WHEN threads.wake_at < excluded.wake_at THEN threads.wake_at ELSE excluded.wake_at END";

/// Inside a transaction: is the lease still held? Touching the row keeps others off it until the end.
pub(super) async fn hold(connection: &mut AnyConnection, lease: &ThreadLease) -> Result<Held, sqlx::Error> {
    let held = sqlx::query(
        "UPDATE threads SET fence = fence WHERE thread = $1 AND fence = $2 AND lease_until IS NOT NULL",
    )
    .bind(lease.thread.to_string())
    .bind(lease.fence)
    .execute(connection)
    .await?;
    Ok(if held.rows_affected() == 1 { Held::Yes } else { Held::Lost })
}
