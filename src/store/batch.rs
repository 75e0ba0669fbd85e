//! Purpose: group commit: deliveries that arrive while the disk is busy are written together, with one sync.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};

use futures_util::StreamExt as _;
use sqlx::any::AnyArguments;
use sqlx::query::Query;
use sqlx::{Any, AnyConnection, Either, Executor as _};

use super::error::concerns_one_row;
use super::inbox::Put;
use super::parcel::{PENDING, Parcel, UNREADABLE};
use super::scribe::{self, Line, Orders};
use super::{Store, StoreError, leases};

pub(super) struct Inbox {
    line: Line<Parcel, Put>,
    last_arrival: Mutex<i64>,
    /// Random, below 2^19: tells the arrivals of one process from those of another in the same millisecond.
    nonce: i64,
    deliveries: AtomicU64,
    commits: AtomicU64,
}

type Waiting = scribe::Waiting<Parcel, Put>;
type Answer = Result<Put, StoreError>;

/// How well the group commit works: deliveries put so far, and the commits they took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InboxStats {
    pub deliveries: u64,
    pub commits: u64,
}

/// A batch of large bodies would hold up the small ones behind it.
const BATCH_BYTES: usize = 8 * 1024 * 1024;
const BATCH_ROWS: usize = 256;

impl Store {
    #[must_use]
    pub fn inbox_stats(&self) -> InboxStats {
        let inbox = &self.shared.inbox;
        InboxStats {
            deliveries: inbox.deliveries.load(Ordering::Relaxed),
            commits: inbox.commits.load(Ordering::Relaxed),
        }
    }

    pub(super) async fn put_parcel(&self, parcel: Parcel) -> Answer {
        self.shared.inbox.line.ask(parcel).await
    }

    pub(super) async fn put_all(&self, batch: &[Waiting]) -> Vec<Answer> {
        match self.write_batch(batch).await {
            Ok(puts) => puts.into_iter().map(Ok).collect(),
            Err(Failure::PerhapsOne(_)) if batch.len() > 1 => self.put_one_by_one(batch).await,
            Err(failure) => vec![Err(failure.into_error()); batch.len()],
        }
    }

    /// One bad row must not cost the others their place.
    async fn put_one_by_one(&self, batch: &[Waiting]) -> Vec<Answer> {
        let mut answers = Vec::with_capacity(batch.len());
        for one in batch.chunks(1) {
            let put = self.write_batch(one).await.map_err(Failure::into_error);
            answers.push(put.map(|puts| puts.first().copied().unwrap_or(Put::Seen)));
        }
        answers
    }

    async fn write_batch(&self, batch: &[Waiting]) -> Result<Vec<Put>, Failure> {
        let mut writer = self.writer().await.map_err(Failure::ForAll)?;
        let rows: Vec<Arriving<'_>> =
            batch.iter().map(|waiting| self.shared.inbox.arrive(&waiting.order)).collect();
        let puts = if rows.len() <= ROWS {
            insert(&mut writer.connection, &rows).await?
        } else {
            let mut transaction = writer.begin().await?;
            let puts = insert(&mut transaction, &rows).await?;
            transaction.commit().await?;
            puts
        };
        writer.keep();
        let inbox = &self.shared.inbox;
        inbox.deliveries.fetch_add(rows.len() as u64, Ordering::Relaxed);
        inbox.commits.fetch_add(1, Ordering::Relaxed);
        Ok(puts)
    }
}

/// A delivery on its way into the table.
struct Arriving<'p> {
    parcel: &'p Parcel,
    /// Differs for every row, so that a row of ours is known again.
    arrival: i64,
}

impl Inbox {
    pub(super) fn new() -> (Self, Orders<Parcel, Put>) {
        let (line, orders) =
            scribe::line(BATCH_BYTES, |parcel: &Parcel| parcel.body.len().max(BATCH_BYTES / BATCH_ROWS));
        let inbox = Self {
            line,
            last_arrival: Mutex::new(i64::MIN),
            nonce: (RandomState::new().build_hasher().finish() >> 45).cast_signed(),
            deliveries: AtomicU64::default(),
            commits: AtomicU64::default(),
        };
        (inbox, orders)
    }

    /// The arrival grows with every call and follows the clock, so that order survives a restart as well.
    fn arrive<'p>(&self, parcel: &'p Parcel) -> Arriving<'p> {
        let mut last = self.last_arrival.lock().unwrap_or_else(PoisonError::into_inner);
        let by_clock = parcel.received_at.saturating_mul(1 << 20).saturating_add(self.nonce);
        *last = by_clock.max(last.saturating_add(1));
        Arriving { parcel, arrival: *last }
    }
}

enum Failure {
    ForAll(StoreError),
    PerhapsOne(StoreError),
}

impl Failure {
    fn into_error(self) -> StoreError {
        match self {
            Self::ForAll(error) | Self::PerhapsOne(error) => error,
        }
    }
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        if concerns_one_row(&error) { Self::PerhapsOne(error.into()) } else { Self::ForAll(error.into()) }
    }
}

/// Puts the rows in and tells for each whether it is new. Mostly all are, and then their number says so; asking the
/// database to return the new keys would cost a message between threads for each. A trigger makes their threads due.
async fn insert(connection: &mut AnyConnection, rows: &[Arriving<'_>]) -> Result<Vec<Put>, sqlx::Error> {
    let mut inserted = 0;
    for (sql, chunk) in statements(&INSERTS, rows) {
        let mut query = sqlx::query(sql);
        for Arriving { parcel, arrival } in chunk {
            query = query
                .bind(parcel.key.as_str())
                .bind(parcel.thread.as_deref())
                .bind(parcel.forge)
                .bind(parcel.event.as_str())
                .bind(parcel.state)
                .bind(parcel.reason.as_deref())
                .bind(parcel.body.as_slice())
                .bind(parcel.received_at)
                .bind(*arrival);
        }
        inserted += rows_affected(connection, query).await?;
    }
    if inserted == rows.len() as u64 {
        return Ok(vec![Put::New; rows.len()]);
    }
    let mut puts = Vec::with_capacity(rows.len());
    for row in rows {
        puts.push(look_up(connection, row).await?);
    }
    Ok(puts)
}

/// Runs a statement that returns no rows. `execute` would also wait for the end of the answers and be woken for nothing:
/// SQLite answers when the statement has ended, and its commit with it. (PostgreSQL answers before the commit; there it has
/// to be `execute`.)
async fn rows_affected(
    connection: &mut AnyConnection,
    query: Query<'_, Any, AnyArguments>,
) -> Result<u64, sqlx::Error> {
    match connection.fetch_many(query).next().await {
        Some(Ok(Either::Left(done))) => Ok(done.rows_affected()),
        Some(Ok(Either::Right(_))) => Err(sqlx::Error::Protocol("an insert has returned a row".to_owned())),
        Some(Err(error)) => Err(error),
        None => Err(sqlx::Error::WorkerCrashed),
    }
}

/// The row under this key is ours, or one that was there before. What was only kept to be looked at gets another try when
/// somebody has it sent again.
async fn look_up(connection: &mut AnyConnection, row: &Arriving<'_>) -> Result<Put, sqlx::Error> {
    let (arrival, state): (i64, String) =
        sqlx::query_as("SELECT arrival, state FROM deliveries WHERE key = $1")
            .bind(row.parcel.key.as_str())
            .fetch_one(&mut *connection)
            .await?;
    match (arrival == row.arrival, &row.parcel.thread) {
        (true, _) => Ok(Put::New),
        (false, Some(thread)) if state == UNREADABLE && row.parcel.state == PENDING => {
            // First the thread: nobody can claim it before this writer is done, and after a crash there is nothing to take.
            leases::make_due(connection, thread, row.parcel.received_at).await?;
            revive(connection, row).await?;
            Ok(Put::New)
        }
        (false, _) => Ok(Put::Seen),
    }
}

async fn revive(connection: &mut AnyConnection, row: &Arriving<'_>) -> Result<(), sqlx::Error> {
    let Arriving { parcel, arrival } = row;
    sqlx::query(
        "UPDATE deliveries SET thread = $1, state = $2, reason = NULL, body = $3, received_at = $4, arrival = $5 \
         WHERE key = $6",
    )
    .bind(parcel.thread.as_deref())
    .bind(parcel.state)
    .bind(parcel.body.as_slice())
    .bind(parcel.received_at)
    .bind(*arrival)
    .bind(parcel.key.as_str())
    .execute(connection)
    .await?;
    Ok(())
}

/// Rows per statement. There is one statement for each number of rows up to this, and the connection keeps them
/// prepared; a batch is mostly one of them, because every statement is a trip to the database's thread and back.
pub(super) const ROWS: usize = 48;

static INSERTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let insert = |rows| {
        format!(
            "INSERT INTO deliveries (key, thread, forge, event, state, reason, body, received_at, arrival) \
             VALUES {} ON CONFLICT (key) DO NOTHING",
            placeholders(rows, 9)
        )
    };
    (1..=ROWS).map(insert).collect()
});

/// `(?, ?), (?, ?)` for two rows of two columns. Without numbers, because a parameter that has a name is looked up by it
/// among all the others; PostgreSQL wants them numbered and gets a text of its own.
pub(super) fn placeholders(rows: usize, columns: usize) -> String {
    let row = format!("({})", vec!["?"; columns].join(", "));
    vec![row.as_str(); rows].join(", ")
}

/// Pairs the rows, as many as one statement takes at a time, with the statement for that many.
fn statements<'r, T>(sql: &'static [String], rows: &'r [T]) -> impl Iterator<Item = (&'static str, &'r [T])> {
    rows.chunks(ROWS).filter_map(|chunk| Some((sql.get(chunk.len() - 1)?.as_str(), chunk)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_meets_a_statement_of_the_right_size() {
        for count in 0..300 {
            let rows: Vec<usize> = (0..count).collect();
            let chunks: Vec<_> = statements(&INSERTS, &rows).collect();
            assert_eq!(chunks.iter().flat_map(|(_, chunk)| chunk.to_vec()).collect::<Vec<_>>(), rows);
            for (sql, chunk) in chunks {
                assert_eq!(sql.matches('?').count(), chunk.len() * 9, "{sql}");
            }
        }
    }

    #[test]
    fn placeholders_are_rows_of_columns() {
        assert_eq!(placeholders(2, 3), "(?, ?, ?), (?, ?, ?)");
    }

    #[test]
    fn arrivals_only_grow() {
        let (inbox, _orders) = Inbox::new();
        let parcel = |received_at| Parcel {
            key: String::new(),
            thread: None,
            forge: "local",
            event: String::new(),
            state: PENDING,
            reason: None,
            body: Vec::new(),
            received_at,
        };
        let arrivals: Vec<i64> = [5, 5, 4, 6, i64::MAX].map(|at| inbox.arrive(&parcel(at)).arrival).to_vec();
        assert!(arrivals.windows(2).all(|pair| pair[0] < pair[1]), "{arrivals:?}");
    }
}
