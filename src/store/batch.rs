//! Purpose: group commit: deliveries that arrive while the disk is busy are written together, with one sync.
//!
//! There is no writer task. Whoever comes in puts a parcel into the line and waits for two things at once: an answer,
//! or the writing connection. Who gets the connection *leads*: it writes everything that stands in line, its own parcel
//! among it, and answers the others. While it waits for the disk, the next line forms.
//!
//! A leader can vanish at any await, because its client hung up. Then its transaction is undone with its connection,
//! the others see their answer channel close, and stand in line again. If the commit had got through after all, they
//! hear `Seen` instead of `New`, which is true as well.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use sqlx::AnyConnection;
use tokio::sync::oneshot;

use super::error::concerns_one_row;
use super::inbox::{Parcel, Put};
use super::open::Writer;
use super::{Store, StoreError};

#[derive(Default)]
pub(super) struct Inbox {
    line: Mutex<VecDeque<Waiting>>,
    last_arrival: Mutex<i64>,
    deliveries: AtomicU64,
    commits: AtomicU64,
}

struct Waiting {
    parcel: Arc<Parcel>,
    answer: oneshot::Sender<Result<Put, StoreError>>,
}

/// How well the group commit works: deliveries put so far, and the commits they took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InboxStats {
    pub deliveries: u64,
    pub commits: u64,
}

const BATCH_ROWS: usize = 256;
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

    pub(super) async fn put_parcel(&self, parcel: Arc<Parcel>) -> Result<Put, StoreError> {
        let mut answer = self.shared.inbox.stand_in_line(&parcel);
        loop {
            tokio::select! {
                biased;
                answered = &mut answer => match answered {
                    Ok(result) => return result,
                    Err(_leader_vanished) => answer = self.shared.inbox.stand_in_line(&parcel),
                },
                writer = self.writer() => self.lead(writer).await,
            }
        }
    }

    /// Writes everything that stands in line and answers each; the caller's own answer comes the same way.
    async fn lead(&self, writer: Result<Writer<'_>, StoreError>) {
        let batch = self.shared.inbox.take_batch();
        let result = match writer {
            Ok(writer) => self.write_batch(writer, &batch).await,
            Err(error) => Err(Failure::ForAll(error)),
        };
        match result {
            Ok((puts, writer)) => {
                // Answers first: who got the writer without having seen its answer would lead once more for nothing.
                answer_each(batch, puts.into_iter().map(Ok));
                writer.keep();
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
        let mut transaction = writer.begin().await?;
        let parcels: Vec<&Parcel> = batch.iter().map(|waiting| &*waiting.parcel).collect();
        let mut fresh = insert(&mut transaction, &parcels, &self.shared.inbox).await?;
        wake_threads(&mut transaction, &parcels, &fresh).await?;
        transaction.commit().await?;
        self.shared.inbox.deliveries.fetch_add(batch.len() as u64, Ordering::Relaxed);
        self.shared.inbox.commits.fetch_add(1, Ordering::Relaxed);
        // Of two parcels with one key in the same batch, the first is the new one.
        let put = |parcel: &&Parcel| if fresh.remove(&parcel.key) { Put::New } else { Put::Seen };
        Ok((parcels.iter().map(put).collect(), writer))
    }
}

impl Inbox {
    fn stand_in_line(&self, parcel: &Arc<Parcel>) -> oneshot::Receiver<Result<Put, StoreError>> {
        let (answer, answered) = oneshot::channel();
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        line.push_back(Waiting { parcel: Arc::clone(parcel), answer });
        answered
    }

    fn take_batch(&self) -> Vec<Waiting> {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = 0;
        let fits = |waiting: &&Waiting| {
            bytes += waiting.parcel.body.len();
            bytes <= BATCH_BYTES
        };
        let count = line.iter().take(BATCH_ROWS).take_while(fits).count();
        // A single body over the limit is a batch of its own.
        let count = count.max(1).min(line.len());
        line.drain(..count).collect()
    }

    /// Grows with every call and follows the clock, so that order survives a restart as well.
    fn arrival(&self, received_at: i64) -> i64 {
        let mut last = self.last_arrival.lock().unwrap_or_else(PoisonError::into_inner);
        *last = received_at.saturating_mul(1024).max(last.saturating_add(1));
        *last
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

/// A waiter that has gone away misses its answer, which is all right: its delivery is stored.
fn answer_each(batch: Vec<Waiting>, results: impl IntoIterator<Item = Result<Put, StoreError>>) {
    for (waiting, result) in batch.into_iter().zip(results) {
        let _ = waiting.answer.send(result);
    }
}

/// Returns the keys that were not there before.
async fn insert(
    connection: &mut AnyConnection,
    parcels: &[&Parcel],
    inbox: &Inbox,
) -> Result<HashSet<String>, sqlx::Error> {
    let mut fresh = HashSet::with_capacity(parcels.len());
    for (sql, chunk) in statements(&INSERTS, parcels) {
        let mut query = sqlx::query_scalar::<_, String>(sql);
        for parcel in chunk {
            query = query
                .bind(parcel.key.as_str())
                .bind(parcel.thread.as_deref())
                .bind(parcel.forge)
                .bind(parcel.event.as_str())
                .bind(parcel.state)
                .bind(parcel.reason.as_deref())
                .bind(parcel.body.as_slice())
                .bind(parcel.received_at)
                .bind(inbox.arrival(parcel.received_at));
        }
        fresh.extend(query.fetch_all(&mut *connection).await?);
    }
    Ok(fresh)
}

/// A leased thread is left alone: its holder looks for pending deliveries before it lets go.
async fn wake_threads(
    connection: &mut AnyConnection,
    parcels: &[&Parcel],
    fresh: &HashSet<String>,
) -> Result<(), sqlx::Error> {
    // Each thread once and in order, which PostgreSQL asks for.
    let mut due: BTreeMap<&str, i64> = BTreeMap::new();
    for parcel in parcels.iter().filter(|p| p.state == "pending" && fresh.contains(&p.key)) {
        if let Some(thread) = parcel.thread.as_deref() {
            let at = due.entry(thread).or_insert(parcel.received_at);
            *at = (*at).min(parcel.received_at);
        }
    }
    let due: Vec<(&str, i64)> = due.into_iter().collect();
    for (sql, chunk) in statements(&WAKES, &due) {
        let mut query = sqlx::query(sql);
        for (thread, at) in chunk {
            query = query.bind(*thread).bind(*at);
        }
        query.execute(&mut *connection).await?;
    }
    Ok(())
}

/// Rows per statement. There is one statement for each number of rows up to this, and the connection keeps them
/// prepared; a batch is mostly one of them, because every statement is a trip to the database's thread and back.
const ROWS: usize = 48;

static INSERTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let insert = |rows| {
        format!(
            "INSERT INTO deliveries (key, thread, forge, event, state, reason, body, received_at, arrival) \
             VALUES {} ON CONFLICT (key) DO NOTHING RETURNING key",
            placeholders(rows, 9)
        )
    };
    (1..=ROWS).map(insert).collect()
});

static WAKES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let wake = |rows| {
        format!(
            "INSERT INTO threads (thread, wake_at) VALUES {} ON CONFLICT (thread) DO UPDATE SET wake_at = CASE \
             WHEN threads.lease_until IS NOT NULL OR threads.wake_at < excluded.wake_at THEN threads.wake_at \
             ELSE excluded.wake_at END",
            placeholders(rows, 2)
        )
    };
    (1..=ROWS).map(wake).collect()
});

/// `($1, $2), ($3, $4)` for two rows of two columns.
fn placeholders(rows: usize, columns: usize) -> String {
    let row = |row: usize| {
        let columns: Vec<String> =
            (1..=columns).map(|column| format!("${}", row * columns + column)).collect();
        format!("({})", columns.join(", "))
    };
    (0..rows).map(row).collect::<Vec<_>>().join(", ")
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
                let last = chunk.len() * 9;
                assert!(
                    sql.contains(&format!("${last})")) && !sql.contains(&format!("${},", last + 1)),
                    "{sql}"
                );
            }
        }
    }

    #[test]
    fn placeholders_count_on() {
        assert_eq!(placeholders(2, 3), "($1, $2, $3), ($4, $5, $6)");
    }

    #[test]
    fn arrivals_only_grow() {
        let inbox = Inbox::default();
        let arrivals: Vec<i64> = [5, 5, 4, 6, i64::MAX].iter().map(|at| inbox.arrival(*at)).collect();
        assert!(arrivals.windows(2).all(|pair| pair[0] < pair[1]), "{arrivals:?}");
    }
}
