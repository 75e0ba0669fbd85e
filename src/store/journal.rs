//! Purpose: the journal: facts in order, written with what they consumed and what they wait for, or not at all.

use serde_json::Value;
use sqlx::{AnyConnection, Row as _};

use super::line::{NO_HASH, Place, compose, hash_of};
use super::{Store, StoreError, ThreadLease, inbox};
use crate::domain::{Millis, ThreadRef};

/// A fact as it is stored. `line` is the whole line of the history and holds everything else, too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub seq: i64,
    pub at: Millis,
    pub run: Option<String>,
    pub kind: String,
    pub line: String,
}

/// What one turn of the engine leaves behind.
#[derive(Debug, Clone)]
pub struct Turn {
    pub at: Millis,
    pub facts: Vec<NewFact>,
    /// Keys of the deliveries that these facts came from.
    pub consumed: Vec<String>,
    /// Replaces the thread's timers; `None` leaves them as they are.
    pub timers: Option<Vec<(String, Millis)>>,
    pub pending: Pending,
}

#[derive(Debug, Clone)]
pub struct NewFact {
    pub run: Option<String>,
    /// An object with a `type`. The names of the line's own frame (`v, seq, at, run, thread, prev, hash`) are taken.
    pub json: Value,
}

/// Whether a turn may be written while deliveries wait that it does not consume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pending {
    Allowed,
    /// For the beginning of an action: a stop that has been received must be heard first.
    Forbidden,
}

#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Appended {
    /// Everything is written; these are the new rows.
    Done(Vec<Row>),
    /// Nothing is written: the thread belongs to somebody else now.
    LeaseLost,
    /// Nothing is written: deliveries wait, and the turn forbids that.
    NotWhilePending,
}

/// How many rows are read at once where a whole journal is gone through.
pub(super) const PAGE: i64 = 500;

impl Store {
    /// All facts of the thread, oldest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn journal(&self, thread: &ThreadRef) -> Result<Vec<Row>, StoreError> {
        self.journal_since(thread, 0).await
    }

    /// The facts that come after this one.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn journal_since(&self, thread: &ThreadRef, seq: i64) -> Result<Vec<Row>, StoreError> {
        self.journal_page(thread, seq, i64::MAX).await
    }

    /// At most `limit` facts that come after `seq`.
    pub(super) async fn journal_page(
        &self,
        thread: &ThreadRef,
        seq: i64,
        limit: i64,
    ) -> Result<Vec<Row>, StoreError> {
        let rows = sqlx::query(
            "SELECT seq, at, run, kind, line FROM journal WHERE thread = $1 AND seq > $2 ORDER BY seq LIMIT $3",
        )
        .bind(thread.to_string())
        .bind(seq)
        .bind(limit)
        .fetch_all(&self.shared.readers)
        .await?;
        rows.iter().map(row_of).collect()
    }

    /// What the thread waits for, earliest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn timers(&self, thread: &ThreadRef) -> Result<Vec<(String, Millis)>, StoreError> {
        let rows = sqlx::query("SELECT key, at FROM timers WHERE thread = $1 ORDER BY at, key")
            .bind(thread.to_string())
            .fetch_all(&self.shared.readers)
            .await?;
        rows.iter().map(|row| Ok((row.try_get("key")?, Millis(row.try_get("at")?)))).collect()
    }
}

/// Inside a transaction. What is not [`Appended::Done`] has changed nothing: others may share the transaction.
pub(super) async fn write_turn(
    connection: &mut AnyConnection,
    lease: &ThreadLease,
    turn: &Turn,
) -> Result<Appended, StoreError> {
    let thread = lease.thread().to_string();
    let Some(head) = hold(connection, lease).await? else { return Ok(Appended::LeaseLost) };
    if turn.pending == Pending::Forbidden && inbox::is_pending(connection, &thread, &turn.consumed).await? {
        return Ok(Appended::NotWhilePending);
    }
    inbox::consume(connection, &thread, &turn.consumed, turn.at).await?;
    if let Some(timers) = &turn.timers {
        replace_timers(connection, &thread, timers).await?;
    }
    let rows = chain(head, lease.thread(), turn)?;
    for some in rows.chunks(ROWS) {
        add_rows(connection, &thread, some).await?;
    }
    Ok(Appended::Done(rows))
}

/// The number and hash of a thread's newest line.
struct Head {
    seq: i64,
    hash: String,
}

/// As [`super::leases::hold`], and tells the journal's head; `None` when the lease is lost. Both in one statement, because each
/// is a trip to the database's thread and back while others wait for the writer.
async fn hold(connection: &mut AnyConnection, lease: &ThreadLease) -> Result<Option<Head>, StoreError> {
    let row = sqlx::query(
        "UPDATE threads SET fence = fence WHERE thread = $1 AND fence = $2 AND lease_until IS NOT NULL RETURNING \
         (SELECT seq FROM journal WHERE journal.thread = threads.thread ORDER BY seq DESC LIMIT 1) AS seq, \
         (SELECT line FROM journal WHERE journal.thread = threads.thread ORDER BY seq DESC LIMIT 1) AS line",
    )
    .bind(lease.thread().to_string())
    .bind(lease.fence())
    .fetch_optional(connection)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let Some(seq) = row.try_get("seq")? else { return Ok(Some(Head { seq: 0, hash: NO_HASH.to_owned() })) };
    let hash = hash_of(row.try_get("line")?).ok_or_else(|| {
        StoreError::Broken(format!("the newest line in the journal of {} has no hash", lease.thread()))
    })?;
    Ok(Some(Head { seq, hash: hash.to_owned() }))
}

/// The turn's facts as the rows that continue the journal.
fn chain(head: Head, thread: &ThreadRef, turn: &Turn) -> Result<Vec<Row>, StoreError> {
    let Head { mut seq, hash: mut prev } = head;
    let mut rows = Vec::with_capacity(turn.facts.len());
    for fact in &turn.facts {
        seq += 1;
        let place = Place { seq, at: turn.at, run: fact.run.as_deref(), thread, prev: &prev };
        let (line, kind) = compose(&place, &fact.json).map_err(StoreError::Broken)?;
        prev = hash_of(&line).unwrap_or(NO_HASH).to_owned();
        rows.push(Row { seq, at: turn.at, run: fact.run.clone(), kind, line });
    }
    Ok(rows)
}

/// Rows per statement: few trips to the database's thread and back, and few statements that the connection keeps prepared.
const ROWS: usize = 48;

async fn add_rows(connection: &mut AnyConnection, thread: &str, rows: &[Row]) -> Result<(), sqlx::Error> {
    let places = placeholders(rows.len(), 6);
    let sql = format!("INSERT INTO journal (thread, seq, at, run, kind, line) VALUES {places}");
    let mut query = sqlx::query(sqlx::AssertSqlSafe(sql));
    for row in rows {
        query = query
            .bind(thread)
            .bind(row.seq)
            .bind(row.at.0)
            .bind(row.run.as_deref())
            .bind(row.kind.as_str())
            .bind(row.line.as_str());
    }
    query.execute(connection).await?;
    Ok(())
}

/// `(?, ?), (?, ?)` for two rows of two columns. Without numbers, because a parameter that has a name is looked up by it
/// among all the others; PostgreSQL wants them numbered and gets a text of its own.
fn placeholders(rows: usize, columns: usize) -> String {
    let row = format!("({})", vec!["?"; columns].join(", "));
    vec![row.as_str(); rows].join(", ")
}

async fn replace_timers(
    connection: &mut AnyConnection,
    thread: &str,
    timers: &[(String, Millis)],
) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM timers WHERE thread = $1").bind(thread).execute(&mut *connection).await?;
    for (key, at) in timers {
        sqlx::query("INSERT INTO timers (thread, key, at) VALUES ($1, $2, $3)")
            .bind(thread)
            .bind(key.as_str())
            .bind(at.0)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

fn row_of(row: &sqlx::any::AnyRow) -> Result<Row, StoreError> {
    Ok(Row {
        seq: row.try_get("seq")?,
        at: Millis(row.try_get("at")?),
        run: row.try_get("run")?,
        kind: row.try_get("kind")?,
        line: row.try_get("line")?,
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn placeholders_are_rows_of_columns() {
        assert_eq!(super::placeholders(2, 3), "(?, ?, ?), (?, ?, ?)");
    }
}
