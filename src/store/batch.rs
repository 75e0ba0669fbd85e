//! Purpose: group commit: deliveries that arrive while the disk is busy are written together, with one sync.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::error::concerns_one_row;
use super::inbox::Put;
use super::parcel::Parcel;
use super::pen::Arriving;
use super::scribe::{self, Line, Orders};
use super::{Store, StoreError};

pub(super) struct Inbox {
    line: Line<Parcel, Put>,
    last_arrival: Mutex<i64>,
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

    /// Only for the scribe's thread: it blocks there.
    pub(super) async fn put_all(&self, batch: &[Waiting]) -> Vec<Answer> {
        let rows: Vec<_> = batch.iter().map(|waiting| self.shared.inbox.arrive(&waiting.order)).collect();
        match self.write_rows(&rows).await {
            Ok(puts) => puts.into_iter().map(Ok).collect(),
            Err(Failure::PerhapsOne(_)) if rows.len() > 1 => self.put_one_by_one(&rows).await,
            Err(failure) => vec![Err(failure.into_error()); rows.len()],
        }
    }

    /// One bad row must not cost the others their place.
    async fn put_one_by_one(&self, rows: &[Arriving<'_>]) -> Vec<Answer> {
        let mut answers = Vec::with_capacity(rows.len());
        for row in rows.chunks(1) {
            match self.write_rows(row).await {
                Ok(puts) => answers.extend(puts.into_iter().map(Ok)),
                Err(failure) => answers.push(Err(failure.into_error())),
            }
        }
        answers
    }

    async fn write_rows(&self, rows: &[Arriving<'_>]) -> Result<Vec<Put>, Failure> {
        let puts = self.with_pen(|pen| pen.write(rows)).await?;
        let inbox = &self.shared.inbox;
        inbox.deliveries.fetch_add(rows.len() as u64, Ordering::Relaxed);
        inbox.commits.fetch_add(1, Ordering::Relaxed);
        Ok(puts)
    }
}

impl Inbox {
    pub(super) fn new() -> (Self, Orders<Parcel, Put>) {
        let (line, orders) =
            scribe::line(BATCH_BYTES, |parcel: &Parcel| parcel.body.len().max(BATCH_BYTES / BATCH_ROWS));
        let inbox = Self {
            line,
            last_arrival: Mutex::new(i64::MIN),
            deliveries: AtomicU64::default(),
            commits: AtomicU64::default(),
        };
        (inbox, orders)
    }

    /// The arrival grows with every call and follows the clock, so that order survives a restart as well.
    fn arrive<'p>(&self, parcel: &'p Parcel) -> Arriving<'p> {
        let mut last = self.last_arrival.lock().unwrap_or_else(PoisonError::into_inner);
        let by_clock = parcel.received_at.saturating_mul(1 << 20);
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

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        if concerns_one_row(&error) { Self::PerhapsOne(error.into()) } else { Self::ForAll(error.into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_only_grow() {
        let (inbox, _orders) = Inbox::new();
        let parcel = |received_at| Parcel {
            key: String::new(),
            thread: None,
            forge: "local",
            event: String::new(),
            state: crate::store::parcel::PENDING,
            reason: None,
            body: Vec::new(),
            received_at,
        };
        let arrivals: Vec<i64> = [5, 5, 4, 6, i64::MAX].map(|at| inbox.arrive(&parcel(at)).arrival).to_vec();
        assert!(arrivals.windows(2).all(|pair| pair[0] < pair[1]), "{arrivals:?}");
    }
}
