//! Purpose: take a body in: not too large, not too slowly, and not too many large ones at once.
//!
//! Nobody has proved anything yet when a body comes in, so memory is given out with care. Every request may hold a small
//! body. One that turns out larger must first get its whole size out of a common [`MemoryBudget`] and waits, unread, until it is
//! its turn; so large deliveries pass one after another, and the small ones pass them by. While somebody waits for a share,
//! those who have one must use it: a body that comes too slowly for its size is given up.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes};
use futures_util::StreamExt;
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, EXPECT};
use tokio::time::{Instant, timeout, timeout_at};

use super::budget::{MemoryBudget, MemoryShare};

#[derive(Debug, Clone)]
pub struct Limits {
    /// GitHub sends up to 25 MB and never more.
    pub body_bytes: usize,
    /// Bodies up to this size need nothing of the budget.
    pub small_body_bytes: usize,
    pub large_bodies_bytes: usize,
    /// For the whole body, not counting the wait for the budget.
    pub read_timeout: Duration,
    pub budget_timeout: Duration,
    /// While others wait for the budget, a body with a share of it may bring nothing for this long, …
    pub large_grace: Duration,
    /// … and must bring this much in each second after.
    pub large_bytes_per_second: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 25 * 1024 * 1024 + 64 * 1024,
            small_body_bytes: 128 * 1024,
            large_bodies_bytes: 128 * 1024 * 1024,
            read_timeout: Duration::from_secs(30),
            budget_timeout: Duration::from_secs(30),
            large_grace: Duration::from_secs(2),
            // The forges wait 10 seconds, so 25 MB that come more slowly than this come in vain.
            large_bytes_per_second: 2 * 1024 * 1024,
        }
    }
}

/// How often a slow body asks whether somebody waits for its share by now.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// Each chunk costs time, however small it is. A body may come in so many of any size, …
const FREE_CHUNKS: usize = 1024;
/// … and in more if they have this length on average. Forges send no chunks, and proxies make them of kilobytes.
const CHUNK_BYTES: usize = 64;

/// A body in memory. Its share of the budget is given back when this is dropped.
pub(super) struct Taken {
    pub(super) bytes: Bytes,
    pub(super) share: Option<MemoryShare>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum NotTaken {
    TooLarge,
    TooSlow,
    TooManyChunks,
    /// Too many large bodies at once; later it will fit.
    Busy,
    /// The sender went away or broke the protocol.
    Broken,
}

pub(super) struct Taker {
    limits: Limits,
    budget: Arc<MemoryBudget>,
}

impl Taker {
    pub(super) fn new(limits: Limits) -> Self {
        let budget = MemoryBudget::new(limits.large_bodies_bytes);
        Self { limits, budget }
    }

    pub(super) async fn take(&self, headers: &HeaderMap, body: Body) -> Result<Taken, NotTaken> {
        let declared = declared_length(headers);
        let deadline = Instant::now() + self.limits.read_timeout;
        let mut incoming = Incoming { stream: body.into_data_stream(), deadline, chunks: 0, bytes: 0 };
        let taken = self.collect(&mut incoming, declared).await;
        // Who sends `Expect: 100-continue` sends no body before the first attempt to read it.
        let waits_to_be_asked = headers.contains_key(EXPECT) && incoming.chunks == 0;
        if matches!(taken, Err(NotTaken::TooLarge)) && !waits_to_be_asked {
            incoming.discard(self.limits.body_bytes).await;
        }
        taken
    }

    async fn collect(&self, incoming: &mut Incoming, declared: Option<usize>) -> Result<Taken, NotTaken> {
        if declared.is_some_and(|length| length > self.limits.body_bytes) {
            return Err(NotTaken::TooLarge);
        }
        // The share is asked for before the last byte is read. While a connection waits for it, its request is not
        // complete, and the connection can be closed for another.
        if let Some(length) = declared.filter(|length| !self.is_small(*length)) {
            return self.collect_large(incoming, Vec::new(), length).await;
        }
        let mut next = incoming.next().await?;
        // A small body mostly comes as one chunk, which need not be copied.
        if let Some(whole) = next.take_if(|chunk| Some(chunk.len()) == declared) {
            return Ok(Taken { bytes: whole, share: None });
        }
        let mut bytes = Vec::with_capacity(declared.unwrap_or(0));
        while let Some(chunk) = next {
            let length = bytes.len() + chunk.len();
            if length > self.limits.body_bytes {
                return Err(NotTaken::TooLarge);
            }
            if !self.is_small(length) {
                bytes.reserve_exact(chunk.len());
                bytes.extend_from_slice(&chunk);
                drop(chunk);
                return self.collect_large(incoming, bytes, self.limits.body_bytes).await;
            }
            reserve(&mut bytes, chunk.len(), self.limits.small_body_bytes);
            bytes.extend_from_slice(&chunk);
            next = incoming.next().await?;
        }
        Ok(Taken { bytes: bytes.into(), share: None })
    }

    /// Goes on with a body of at most `length` bytes once there is room for it.
    async fn collect_large(
        &self,
        incoming: &mut Incoming,
        mut bytes: Vec<u8>,
        length: usize,
    ) -> Result<Taken, NotTaken> {
        let share = self.share_of_budget(length, incoming).await?;
        let mut rate = MinimumRate::new(&self.limits, &self.budget, incoming.bytes);
        bytes.reserve_exact(length.saturating_sub(bytes.len()));
        while let Some(chunk) = incoming.next_at(&mut rate).await? {
            if bytes.len() + chunk.len() > length {
                return Err(NotTaken::TooLarge);
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(Taken { bytes: bytes.into(), share: Some(share) })
    }

    fn is_small(&self, length: usize) -> bool {
        length <= self.limits.small_body_bytes
    }

    async fn share_of_budget(&self, bytes: usize, incoming: &mut Incoming) -> Result<MemoryShare, NotTaken> {
        let began = Instant::now();
        let share = self.budget.take(bytes.min(self.limits.large_bodies_bytes));
        let share = timeout(self.limits.budget_timeout, share).await;
        incoming.deadline += began.elapsed();
        share.map_err(|_| NotTaken::Busy)
    }
}

/// Grows like a `Vec`, but never beyond what a small body may have.
fn reserve(bytes: &mut Vec<u8>, more: usize, most: usize) {
    let needed = bytes.len() + more;
    if needed > bytes.capacity() {
        let capacity = needed.max(2 * bytes.capacity()).min(most);
        bytes.reserve_exact(capacity - bytes.len());
    }
}

struct Incoming {
    stream: BodyDataStream,
    deadline: Instant,
    chunks: usize,
    bytes: usize,
}

impl Incoming {
    async fn next(&mut self) -> Result<Option<Bytes>, NotTaken> {
        match timeout_at(self.deadline, self.stream.next()).await {
            Ok(chunk) => self.accept(chunk),
            Err(_) => Err(NotTaken::TooSlow),
        }
    }

    /// As [`Incoming::next`], and not more slowly than the rate while somebody waits.
    async fn next_at(&mut self, rate: &mut MinimumRate<'_>) -> Result<Option<Bytes>, NotTaken> {
        loop {
            if rate.is_too_slow(self.bytes) {
                return Err(NotTaken::TooSlow);
            }
            match timeout_at(self.deadline.min(rate.ask_at), self.stream.next()).await {
                Ok(chunk) => return self.accept(chunk),
                Err(_) if Instant::now() >= self.deadline => return Err(NotTaken::TooSlow),
                Err(_) => {}
            }
        }
    }

    fn accept(&mut self, chunk: Option<Result<Bytes, axum::Error>>) -> Result<Option<Bytes>, NotTaken> {
        let Some(chunk) = chunk.transpose().map_err(|_| NotTaken::Broken)? else { return Ok(None) };
        self.chunks += 1;
        self.bytes += chunk.len();
        if self.chunks > FREE_CHUNKS + self.bytes / CHUNK_BYTES {
            return Err(NotTaken::TooManyChunks);
        }
        Ok(Some(chunk))
    }

    /// Reads a while what nobody wants: an answer sent while the sender still writes may be lost with the connection.
    async fn discard(&mut self, at_most: usize) {
        let mut left = at_most;
        while let Ok(Some(chunk)) = self.next().await {
            left = left.saturating_sub(chunk.len());
            if left == 0 {
                return;
            }
        }
    }
}

/// How fast a body with a share of the budget must come while others wait for one.
struct MinimumRate<'a> {
    limits: &'a Limits,
    budget: &'a MemoryBudget,
    began: Instant,
    bytes_before: usize,
    /// When to look again.
    ask_at: Instant,
}

impl<'a> MinimumRate<'a> {
    fn new(limits: &'a Limits, budget: &'a MemoryBudget, bytes_before: usize) -> Self {
        let began = Instant::now();
        Self { limits, budget, began, bytes_before, ask_at: began + limits.large_grace }
    }

    fn is_too_slow(&mut self, bytes: usize) -> bool {
        let now = Instant::now();
        if now < self.ask_at {
            return false;
        }
        let seconds = (bytes - self.bytes_before) as f64 / f64::from(self.limits.large_bytes_per_second);
        let due = self.began + self.limits.large_grace + Duration::from_secs_f64(seconds);
        self.ask_at = due.max(now + ASK_EVERY);
        now >= due && self.budget.is_wanted()
    }
}

fn declared_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
