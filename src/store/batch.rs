//! Purpose: group commit: deliveries that arrive while the disk is busy are written together, with one sync.
//!
//! Who leads (see `lead`) writes all parcels that stand in line. If it vanishes while it commits, the others stand in
//! line again; should the commit have got through after all, they hear `Seen` instead of `New`, which is true as well.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use sqlx::AnyConnection;

use super::error::concerns_one_row;
use super::inbox::{Parcel, Put};
use super::lead::{Lead, Line, Told};
use super::open::Writer;
use super::{Store, StoreError};

pub(super) struct Inbox {
    line: Line<Parcel, Answer>,
    last_arrival: Mutex<i64>,
    /// Random, below 2^19: tells the arrivals of one process from those of another in the same millisecond.
    nonce: i64,
    deliveries: AtomicU64,
    commits: AtomicU64,
    since_checkpoint: AtomicUsize,
}

type Waiting = super::lead::Waiting<Parcel, Answer>;
type Answer = Result<Put, StoreError>;

/// How well the group commit works: deliveries put so far, and the commits they took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InboxStats {
    pub deliveries: u64,
    pub commits: u64,
}

const BATCH_ROWS: usize = 256;
const CHECKPOINT_ROWS: usize = 1_000;
/// A batch of large bodies would hold up the small ones behind it.
const BATCH_BYTES: usize = 8 * 1024 * 1024;

impl Store {
    #[must_use]
    pub fn inbox_stats(&self) -> InboxStats {
        let inbox = &self.shared.inbox;
        InboxStats {
            deliveries: inbox.deliveries.load(Ordering::Relaxed),
            commits: inbox.commits.load(Ordering::Relaxed),
        }
    }

    pub(super) async fn put_parcel(&self, parcel: Arc<Parcel>) -> Answer {
        let mut place = self.shared.inbox.line.stand(parcel);
        loop {
            match place.told().await {
                Told::Answer(answer) => return answer,
                Told::Lead(lead) => {
                    self.lead(&lead).await;
                    // The next may lead meanwhile.
                    drop(lead);
                    self.checkpoint_if_due().await;
                }
            }
        }
    }

    async fn lead(&self, lead: &Lead<Parcel, Answer>) {
        let writer = self.writer().await;
        let batch = take_batch(lead);
        let result = match writer {
            Ok(writer) => self.write_batch(writer, &batch).await,
            Err(error) => Err(Failure::ForAll(error)),
        };
        match result {
            Ok((puts, writer)) => {
                writer.keep();
                answer_each(batch, puts.into_iter().map(Ok));
            }
            Err(Failure::PerhapsOne(_)) if batch.len() > 1 => self.write_one_by_one(batch).await,
            Err(failure) => {
                let count = batch.len();
                answer_each(batch, std::iter::repeat_n(Err(failure.into_error()), count));
            }
        }
    }

    /// One bad row must not cost the others their place.
    async fn write_one_by_one(&self, batch: Vec<Waiting>) {
        for waiting in batch {
            let result = match self.writer().await {
                Ok(writer) => self.write_batch(writer, std::slice::from_ref(&waiting)).await,
                Err(error) => Err(Failure::ForAll(error)),
            };
            let put = result.map_err(Failure::into_error).map(|(puts, writer)| {
                writer.keep();
                puts.first().copied().unwrap_or(Put::Seen)
            });
            answer_each(vec![waiting], [put]);
        }
    }

    async fn write_batch<'w>(
        &self,
        mut writer: Writer<'w>,
        batch: &[Waiting],
    ) -> Result<(Vec<Put>, Writer<'w>), Failure> {
        if batch.is_empty() {
            return Ok((Vec::new(), writer));
        }
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
        let inbox = &self.shared.inbox;
        inbox.deliveries.fetch_add(rows.len() as u64, Ordering::Relaxed);
        inbox.commits.fetch_add(1, Ordering::Relaxed);
        inbox.since_checkpoint.fetch_add(rows.len(), Ordering::Relaxed);
        Ok((puts, writer))
    }

    /// Moves the log into the database beside the writer, who would otherwise do it and hold up a whole batch. It costs
    /// the leader some milliseconds before its own answer goes out, once in a thousand deliveries.
    async fn checkpoint_if_due(&self) {
        let since = &self.shared.inbox.since_checkpoint;
        if since.load(Ordering::Relaxed) < CHECKPOINT_ROWS
            || since.swap(0, Ordering::Relaxed) < CHECKPOINT_ROWS
        {
            return;
        }
        if let Err(error) = self.checkpoint().await {
            tracing::debug!(%error, "the log of the database was not moved this time; the writer will do it");
        }
    }
}

/// A delivery on its way into the table.
struct Arriving<'p> {
    parcel: &'p Parcel,
    /// Differs for every row, so that a row of ours is known again.
    arrival: i64,
}

impl Inbox {
    /// The arrival grows with every call and follows the clock, so that order survives a restart as well.
    fn arrive<'p>(&self, parcel: &'p Parcel) -> Arriving<'p> {
        let mut last = self.last_arrival.lock().unwrap_or_else(PoisonError::into_inner);
        let by_clock = parcel.received_at.saturating_mul(1 << 20).saturating_add(self.nonce);
        *last = by_clock.max(last.saturating_add(1));
        Arriving { parcel, arrival: *last }
    }
}

fn take_batch(lead: &Lead<Parcel, Answer>) -> Vec<Waiting> {
    let (mut rows, mut bytes) = (0, 0);
    lead.take(|parcel| {
        rows += 1;
        bytes += parcel.body.len();
        rows <= BATCH_ROWS && bytes <= BATCH_BYTES
    })
}

impl Default for Inbox {
    fn default() -> Self {
        Self {
            line: Line::default(),
            last_arrival: Mutex::new(i64::MIN),
            nonce: (RandomState::new().build_hasher().finish() >> 45).cast_signed(),
            deliveries: AtomicU64::default(),
            commits: AtomicU64::default(),
            since_checkpoint: AtomicUsize::default(),
        }
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

fn answer_each(batch: Vec<Waiting>, results: impl IntoIterator<Item = Answer>) {
    for (waiting, result) in batch.into_iter().zip(results) {
        waiting.answer(result);
    }
}

/// Puts the rows in and tells for each whether it is new. A trigger makes their threads due. Mostly all are, and then their number says so; asking the database to return
/// the new keys would cost a message between threads for each.
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
        inserted += query.execute(&mut *connection).await?.rows_affected();
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

/// The row under this key is ours, or one that was there before.
async fn look_up(connection: &mut AnyConnection, row: &Arriving<'_>) -> Result<Put, sqlx::Error> {
    let arrival: i64 = sqlx::query_scalar("SELECT arrival FROM deliveries WHERE key = $1")
        .bind(row.parcel.key.as_str())
        .fetch_one(connection)
        .await?;
    Ok(if arrival == row.arrival { Put::New } else { Put::Seen })
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
    use super::super::inbox::PENDING;
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
        let inbox = Inbox::default();
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
