//! Purpose: how many connections are held at once, and how much memory they may take before anybody has proved anything.
//!
//! The sum, for the most connections that there are:
//!
//! | what | bytes |
//! |---|---|
//! | 512 connections, 176 KiB each ([`CONNECTION_BYTES`]) | 88 MiB |
//! | 512 small bodies of 128 KiB | 64 MiB |
//! | the budget for large bodies | 128 MiB |
//! | together ([`ConnectionLimits::unproven_bytes`]) | 280 MiB |
//!
//! With the usual limit of 1024 open files there are 256 connections, and the sum is 204 MiB. The kernel's buffers come on
//! top: [`super::bind`] bounds them to 288 KiB for each connection, 144 MiB for 512. All together leave room below the limit
//! of memory that the unit in `deploy` sets.
//!
//! The sum counts what is allocated. Under attacks in turn for a minute, the process grew by 212 MiB with
//! `MALLOC_MMAP_THRESHOLD_` set as in `deploy`, and by up to 315 MiB without: glibc then keeps free parts between others.

use std::time::Duration;

use rustix::process::{Resource, getrlimit};

use super::body::Limits;

/// hyper reads up to this much at once, and refuses a head that is longer. Its default is 400 kB for each connection.
pub(super) const READ_BUFFER: usize = 16 * 1024;

/// What one connection holds at most besides a body:
/// - four read buffers (that of the head, into which the headers point; that of the chunk at hand; that of the chunk handed
///   over by hyper; the one that is being filled), each of which may have grown to twice its size while it moved;
/// - 48 KiB for the rest: up to 100 headers with copies of their names, the buffer for answers (8 KiB), the task.
pub const CONNECTION_BYTES: usize = 4 * 2 * READ_BUFFER + 48 * 1024;

const MOST_CONNECTIONS: usize = 512;
const LEAST_CONNECTIONS: usize = 8;
/// The store, git, the clients of forges and models, and the children's pipes need the other files.
const FILES_PER_CONNECTION: u64 = 4;
/// Below this many files, work on a few threads at once may find none left.
pub const FEW_FILES: u64 = 256;

#[derive(Debug, Clone)]
pub struct ConnectionLimits {
    /// One more may be open for a moment: accepted, but waiting, unread, until there is room.
    pub max_connections: usize,
    /// For the head of a request, and between two requests on one connection.
    pub head_timeout: Duration,
    /// For the client to take an answer.
    pub answer_timeout: Duration,
    /// What a connection has in any case to bring its request; after that it may be closed in favour of another.
    pub patience: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            max_connections: MOST_CONNECTIONS,
            head_timeout: Duration::from_secs(30),
            answer_timeout: Duration::from_secs(10),
            patience: Duration::from_millis(250),
        }
    }
}

impl ConnectionLimits {
    /// As many connections as the number of files allows that this process may open.
    #[must_use]
    pub fn of_process() -> Self {
        Self { max_connections: connections_within(file_limit()), ..Self::default() }
    }

    /// The most memory that senders can make us hold without a valid signature.
    #[must_use]
    pub fn unproven_bytes(&self, bodies: &Limits) -> usize {
        self.max_connections * (CONNECTION_BYTES + bodies.small_body_bytes) + bodies.large_bodies_bytes
    }
}

/// How many files this process may open; `None` if there is no limit.
#[must_use]
pub fn file_limit() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

fn connections_within(files: Option<u64>) -> usize {
    let share = files.map_or(MOST_CONNECTIONS, |files| {
        usize::try_from(files / FILES_PER_CONNECTION).unwrap_or(MOST_CONNECTIONS)
    });
    share.clamp(LEAST_CONNECTIONS, MOST_CONNECTIONS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_take_a_quarter_of_the_files_and_never_more_than_is_useful() {
        for (files, connections) in [
            (None, 512),
            (Some(u64::MAX), 512),
            (Some(16_384), 512),
            (Some(2_048), 512),
            (Some(1_024), 256),
            (Some(256), 64),
            (Some(20), 8),
            (Some(0), 8),
        ] {
            assert_eq!(connections_within(files), connections, "{files:?}");
        }
    }

    #[test]
    fn the_memory_before_proof_is_what_the_table_says() {
        const MIB: usize = 1024 * 1024;
        let bodies = Limits::default();
        let most = ConnectionLimits::default();
        assert_eq!(most.max_connections * CONNECTION_BYTES, 88 * MIB);
        assert_eq!(most.max_connections * bodies.small_body_bytes, 64 * MIB);
        assert_eq!(most.unproven_bytes(&bodies), 280 * MIB);
        let usual = ConnectionLimits { max_connections: connections_within(Some(1_024)), ..most };
        assert_eq!(usual.unproven_bytes(&bodies), 204 * MIB);
    }
}
