//! Purpose: what can go wrong in the store, told apart by what the caller can do about it.

use std::fmt::Display;

use sqlx::Error as Sql;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Nothing was written. The same call will work once the cause, named in the sentence, is gone.
    #[error("{0}")]
    Unavailable(String),
    /// The database or the caller's data is wrong; trying again will not help.
    #[error("{0}")]
    Broken(String),
}

/// Whether another row might be taken although this one was not. A full disk counts: a smaller row may still fit.
pub(super) fn concerns_one_row(error: &rusqlite::Error) -> bool {
    pen_code(error).is_some_and(|code| !matches!(code, BUSY | LOCKED | READ_ONLY | IO | CANNOT_OPEN))
}

const BUSY: i32 = 5;
const LOCKED: i32 = 6;
const READ_ONLY: i32 = 8;
const IO: i32 = 10;
const CORRUPT: i32 = 11;
const FULL: i32 = 13;
const CANNOT_OPEN: i32 = 14;
const NOT_A_DATABASE: i32 = 26;

impl From<Sql> for StoreError {
    fn from(error: Sql) -> Self {
        if let Some(code) = sqlite_code(&error) {
            return from_sqlite(code, &error);
        }
        let waiting_helps = matches!(
            error,
            Sql::PoolTimedOut | Sql::PoolClosed | Sql::WorkerCrashed | Sql::Io(_) | Sql::BeginFailed
        );
        if waiting_helps {
            Self::Unavailable(format!("the database cannot be reached: {error}"))
        } else {
            Self::Broken(format!("the database refused a statement: {error}"))
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match pen_code(&error) {
            Some(code) => from_sqlite(code, &error),
            None => Self::Broken(format!("a delivery cannot be written: {error}")),
        }
    }
}

/// The primary result code of SQLite; the extended ones carry it in their low byte.
fn sqlite_code(error: &Sql) -> Option<i32> {
    let code: i32 = error.as_database_error()?.code()?.parse().ok()?;
    Some(code & 0xff)
}

fn pen_code(error: &rusqlite::Error) -> Option<i32> {
    Some(error.sqlite_error()?.extended_code & 0xff)
}

fn from_sqlite(code: i32, error: &dyn Display) -> StoreError {
    let sentence = match code {
        BUSY | LOCKED => "the database is locked by another process".to_owned(),
        READ_ONLY => {
            "the database is read-only; check the rights of its file and the mount of its disk".to_owned()
        }
        IO => format!("the disk of the database answers with an error: {error}"),
        FULL => "the disk of the database is full, or the database has reached its allowed size".to_owned(),
        CANNOT_OPEN => "the file of the database cannot be opened; check its directory and rights".to_owned(),
        CORRUPT | NOT_A_DATABASE => {
            return StoreError::Broken(format!("the file of the database is damaged: {error}"));
        }
        _ => return StoreError::Broken(format!("the database refused a statement: {error}")),
    };
    StoreError::Unavailable(sentence)
}
