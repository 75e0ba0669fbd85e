//! Purpose: write deliveries without a detour.
//!
//! sqlx keeps each connection to SQLite in a thread of its own, and copies every value on the way there. A batch of
//! deliveries would go there and back while all who stand in line wait. So the scribe, which is a thread anyway, has a
//! connection of its own for this one statement, with the same settings and behind the same lock as the other one that
//! writes. (PostgreSQL, when it comes, will get the same rows through sqlx.)

use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use super::location::Location;
use super::open::writer_settings;
use super::parcel::Parcel;

pub(super) struct Pen(Connection);

/// A delivery on its way into the table.
pub(super) struct Arriving<'p> {
    pub(super) parcel: &'p Parcel,
    /// Grows from row to row.
    pub(super) arrival: i64,
}

/// Whether a row was put in, or there was one under its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    New,
    WasThere,
}

/// A trigger makes the row's thread due.
const INSERT: &str = "INSERT INTO deliveries (key, thread, forge, event, state, reason, body, received_at, arrival) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (key) DO NOTHING";

impl Pen {
    #[expect(clippy::disallowed_methods, reason = "the store opens the database")]
    pub(super) fn open(location: &Location) -> rusqlite::Result<Self> {
        let connection = Connection::open(&location.path)?;
        connection.execute_batch(&writer_settings(location))?;
        Ok(Self(connection))
    }

    /// All rows or none. It blocks until they are on disk.
    pub(super) fn write(&mut self, rows: &[Arriving<'_>]) -> rusqlite::Result<Vec<Written>> {
        let transaction = self.0.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let written = rows.iter().map(|row| insert(&transaction, row)).collect::<Result<_, _>>()?;
        transaction.commit()?;
        Ok(written)
    }
}

fn insert(transaction: &Transaction<'_>, row: &Arriving<'_>) -> rusqlite::Result<Written> {
    let Arriving { parcel, arrival } = row;
    let inserted = transaction.prepare_cached(INSERT)?.execute(params![
        parcel.key,
        parcel.thread,
        parcel.forge,
        parcel.event,
        parcel.state,
        parcel.reason,
        parcel.body,
        parcel.received_at,
        arrival,
    ])?;
    Ok(if inserted == 1 { Written::New } else { Written::WasThere })
}
