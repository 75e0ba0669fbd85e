//! Purpose: take a body in: not too large, not too slowly, and not too many large ones at once.
//!
//! Nobody has proved anything yet when a body comes in, so memory is given out with care. Every request may hold a small
//! body. One that turns out larger must first get its whole size out of a common budget and waits, unread, until it is
//! its turn; so large deliveries pass one after another, and the small ones pass them by.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes};
use bytes::BytesMut;
use futures_util::StreamExt;
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout, timeout_at};

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
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 25 * 1024 * 1024 + 64 * 1024,
            small_body_bytes: 128 * 1024,
            large_bodies_bytes: 128 * 1024 * 1024,
            read_timeout: Duration::from_secs(30),
            budget_timeout: Duration::from_secs(30),
        }
    }
}

/// A body in memory. Its share of the budget is given back when this is dropped.
pub(super) struct Taken {
    pub(super) bytes: Bytes,
    pub(super) share: Option<OwnedSemaphorePermit>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum NotTaken {
    TooLarge,
    TooSlow,
    /// Too many large bodies at once; later it will fit.
    Busy,
    /// The sender went away or broke the protocol.
    Broken,
}

pub(super) struct Taker {
    limits: Limits,
    budget: Arc<Semaphore>,
}

impl Taker {
    pub(super) fn new(limits: Limits) -> Self {
        let budget = Arc::new(Semaphore::new(limits.large_bodies_bytes));
        Self { limits, budget }
    }

    pub(super) async fn take(&self, headers: &HeaderMap, body: Body) -> Result<Taken, NotTaken> {
        let declared = declared_length(headers);
        let mut incoming =
            Incoming { stream: body.into_data_stream(), deadline: Instant::now() + self.limits.read_timeout };
        let taken = self.collect(&mut incoming, declared).await;
        if matches!(taken, Err(NotTaken::TooLarge)) {
            incoming.discard(self.limits.body_bytes).await;
        }
        taken
    }

    async fn collect(&self, incoming: &mut Incoming, declared: Option<usize>) -> Result<Taken, NotTaken> {
        if declared.is_some_and(|length| length > self.limits.body_bytes) {
            return Err(NotTaken::TooLarge);
        }
        let mut next = incoming.next().await?;
        // A small body mostly comes as one chunk, which need not be copied.
        if let Some(whole) = next.take_if(|chunk| Some(chunk.len()) == declared && self.is_small(chunk.len()))
        {
            return Ok(Taken { bytes: whole, share: None });
        }
        let mut bytes = BytesMut::with_capacity(declared.unwrap_or(0).min(self.limits.small_body_bytes));
        let mut share = None;
        while let Some(chunk) = next {
            let length = bytes.len() + chunk.len();
            if length > self.limits.body_bytes {
                return Err(NotTaken::TooLarge);
            }
            if !self.is_small(length) && share.is_none() {
                let whole = declared.unwrap_or(self.limits.body_bytes).max(length);
                share = Some(self.share_of_budget(whole, incoming).await?);
                bytes.reserve(whole - bytes.len());
            }
            bytes.extend_from_slice(&chunk);
            next = incoming.next().await?;
        }
        Ok(Taken { bytes: bytes.freeze(), share })
    }

    fn is_small(&self, length: usize) -> bool {
        length <= self.limits.small_body_bytes
    }

    async fn share_of_budget(
        &self,
        bytes: usize,
        incoming: &mut Incoming,
    ) -> Result<OwnedSemaphorePermit, NotTaken> {
        let bytes =
            u32::try_from(bytes.min(self.limits.large_bodies_bytes)).map_err(|_| NotTaken::TooLarge)?;
        let began = Instant::now();
        let share = Arc::clone(&self.budget).acquire_many_owned(bytes);
        let share = timeout(self.limits.budget_timeout, share).await;
        incoming.deadline += began.elapsed();
        match share {
            Ok(Ok(share)) => Ok(share),
            Ok(Err(_)) | Err(_) => Err(NotTaken::Busy),
        }
    }
}

struct Incoming {
    stream: BodyDataStream,
    deadline: Instant,
}

impl Incoming {
    async fn next(&mut self) -> Result<Option<Bytes>, NotTaken> {
        match timeout_at(self.deadline, self.stream.next()).await {
            Ok(Some(Ok(chunk))) => Ok(Some(chunk)),
            Ok(Some(Err(_))) => Err(NotTaken::Broken),
            Ok(None) => Ok(None),
            Err(_) => Err(NotTaken::TooSlow),
        }
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

fn declared_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
