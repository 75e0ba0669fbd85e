//! Purpose: write deliveries without a detour.
//!
//! sqlx keeps each connection to SQLite in a thread of its own, and copies every value on the way there. A batch of
//! deliveries would go there and back while all who stand in line wait. So the scribe, which is a thread anyway, has a
//! connection of its own for them, with the same settings and behind the same lock as the other one that writes.
//! (PostgreSQL, when it comes, will get the same rows through sqlx.)

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, params};

use super::inbox::Put;
use super::leases;
use super::location::Location;
use super::open::writer_settings;
use super::parcel::{PENDING, Parcel, UNREADABLE};

pub(super) struct Pen(Connection);

/// A delivery on its way into the table.
pub(super) struct Arriving<'p> {
    pub(super) parcel: &'p Parcel,
    /// Grows from row to row.
    pub(super) arrival: i64,
}

/// A trigger makes the row's thread due.
const INSERT: &str = "INSERT INTO deliveries (key, thread, forge, event, state, reason, body, received_at, arrival) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (key) DO NOTHING";

const REVIVE: &str = "UPDATE deliveries SET thread = $1, state = $2, reason = NULL, body = $3, received_at = $4, arrival = $5 \
     WHERE key = $6 AND state = $7";

impl Pen {
    /// A file that is gone is not made anew: it would be an empty one.
    #[expect(clippy::disallowed_methods, reason = "the store opens the database")]
    pub(super) fn open(location: &Location) -> rusqlite::Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&location.path, flags)?;
        connection.execute_batch(&writer_settings(location))?;
        Ok(Self(connection))
    }

    /// All rows or none. It blocks until they are on disk.
    pub(super) fn write(&mut self, rows: &[Arriving<'_>]) -> rusqlite::Result<Vec<Put>> {
        let transaction = self.0.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let puts = rows.iter().map(|row| put(&transaction, row)).collect::<Result<_, _>>()?;
        transaction.commit()?;
        Ok(puts)
    }
}

fn put(transaction: &Transaction<'_>, row: &Arriving<'_>) -> rusqlite::Result<Put> {
    let taken = insert(transaction, row)? == 1 || revive(transaction, row)? == 1;
    Ok(if taken { Put::New } else { Put::Seen })
}

fn insert(
    transaction: &Transaction<'_>,
    Arriving { parcel, arrival }: &Arriving<'_>,
) -> rusqlite::Result<usize> {
    transaction.prepare_cached(INSERT)?.execute(params![
        parcel.key,
        parcel.thread,
        parcel.forge,
        parcel.event,
        parcel.state,
        parcel.reason,
        parcel.body,
        parcel.received_at,
        arrival,
    ])
}

/// What was only kept to be looked at gets another try when somebody has it sent again.
fn revive(
    transaction: &Transaction<'_>,
    Arriving { parcel, arrival }: &Arriving<'_>,
) -> rusqlite::Result<usize> {
    let (PENDING, Some(thread)) = (parcel.state, &parcel.thread) else { return Ok(0) };
    let row = params![thread, PENDING, parcel.body, parcel.received_at, arrival, parcel.key, UNREADABLE];
    let revived = transaction.prepare_cached(REVIVE)?.execute(row)?;
    if revived == 1 {
        transaction.prepare_cached(leases::MAKE_DUE)?.execute(params![thread, parcel.received_at])?;
    }
    Ok(revived)
}
