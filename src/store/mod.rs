//! Purpose: what survives a crash: the inbox, the threads with their leases, the journal, and the history files.
//!
//! One database holds everything that is decided on; the JSONL history beside it is a copy that people and programs can
//! read without us. In reading order:
//!
//! - `scribe`: how callers share one write.
//! - `inbox`, `parcel`, `batch`, `pen`: verified deliveries come in under a unique key, packed; many that arrive together
//!   share one sync to disk.
//! - `leases`: one owner per thread at a time, with a fencing number that every later write must show.
//! - `journal`, `turns`: a turn is written whole or not at all: facts, consumed deliveries and timers together; turns of
//!   several threads share one sync.
//! - `forget`: what is removed of a thread long quiet.
//! - `comments`: which comment on the forge belongs to which effect.
//! - `line`, `history`, `history_read`: the journal as hash-chained lines in files.
//! - `transcripts`: what the model was asked and answered, for whoever looks for a fault.
//!
//! SQLite lets one connection write at a time, so the two that write are behind one fair lock. After an error a connection is
//! thrown away and opened anew by the next write: that is how the store recovers by itself from a full disk or a lock, and
//! how a request that was dropped in the middle of a transaction leaves nothing half done.
//!
//! The SQL is plain enough for PostgreSQL, which comes later.

mod batch;
mod comments;
mod error;
mod forget;
mod history;
mod history_read;
mod inbox;
mod journal;
mod leases;
mod line;
mod location;
mod open;
mod parcel;
mod pen;
mod scribe;
mod transcripts;
mod turns;

pub use batch::InboxStats;
pub use comments::CommentState;
pub use error::StoreError;
pub use history::{Caught, Damage, History};
pub use history_read::{HistoryLine, Problem, Verified, newest, verify};
pub use inbox::{Delivery, NewDelivery, Put, Queue, Unreadable};
pub use journal::{Appended, NewFact, Pending, Row, Turn};
pub use leases::{Held, ThreadLease};
pub use open::Store;
pub use transcripts::Transcripts;

use crate::domain::ThreadRef;

/// Stored names were valid when they were written; one that is not any more means a damaged or foreign database.
fn thread_of(name: &str) -> Result<ThreadRef, StoreError> {
    name.parse()
        .map_err(|error| StoreError::Broken(format!("the database holds a thread that is none: {error}")))
}
