//! Purpose: what a connection is doing, so that the one that has waited longest for a request can be closed for another.
//!
//! Only the task of a connection changes its activity, and only that task closes it. Who needs room asks it to; by then
//! the connection may have its request, and then it stays. So a request that is complete is never cut off.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Bytes;
use axum::response::Response;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::sync::Notify;
use tokio::time::Instant;

/// Marks the answer to a request that a forge has signed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Authentic;

/// A body that brings this much more is no idle one. Only large bodies can, and those are bounded by their budget.
const PROGRESS: usize = 128 * 1024;

#[derive(Debug, Clone, Copy)]
enum RequestStage {
    /// Its request is not complete. This counts from when the connection was accepted, last brought an authentic
    /// request, or brought [`PROGRESS`]; what anybody can send, like a forged request, does not make it younger.
    Waiting { since: Instant },
    /// Its request is complete, and being judged or stored.
    Handling { since: Instant },
}

pub(super) struct Activity {
    stage: Mutex<RequestStage>,
    asked_to_close: Notify,
    /// Told whenever a connection could be closed that could not before, or refused to.
    changed: Arc<Notify>,
}

impl Activity {
    pub(super) fn new(changed: Arc<Notify>) -> Self {
        let stage = Mutex::new(RequestStage::Waiting { since: Instant::now() });
        Self { stage, asked_to_close: Notify::new(), changed }
    }

    /// Since when it has waited for a request; `None` if it has one.
    pub(super) fn waiting_since(&self) -> Option<Instant> {
        match *self.stage() {
            RequestStage::Waiting { since } => Some(since),
            RequestStage::Handling { .. } => None,
        }
    }

    pub(super) fn ask_to_close(&self) {
        self.asked_to_close.notify_one();
    }

    pub(super) async fn asked_to_close(&self) {
        self.asked_to_close.notified().await;
    }

    /// The answer of the connection's own task when it is asked.
    pub(super) fn agrees_to_close(&self, patience: Duration) -> bool {
        let agrees = self.waiting_since().is_some_and(|since| since.elapsed() >= patience);
        if !agrees {
            self.changed.notify_one();
        }
        agrees
    }

    /// The request is complete.
    fn begin_handling(&self) {
        let mut stage = self.stage();
        match *stage {
            RequestStage::Waiting { since } | RequestStage::Handling { since } => {
                *stage = RequestStage::Handling { since }
            }
        }
    }

    fn record_progress(&self) {
        *self.stage() = RequestStage::Waiting { since: Instant::now() };
    }

    /// The answer is there; from here on the connection waits for the next request.
    pub(super) fn end_handling(&self, answer: &Response) {
        let is_authentic = answer.extensions().get::<Authentic>().is_some();
        let mut stage = self.stage();
        match *stage {
            RequestStage::Waiting { since } | RequestStage::Handling { since } => {
                let since = if is_authentic { Instant::now() } else { since };
                *stage = RequestStage::Waiting { since };
            }
        }
        drop(stage);
        self.changed.notify_one();
    }

    fn stage(&self) -> MutexGuard<'_, RequestStage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The body of a request, which tells the activity of its connection when it is complete.
pub(super) struct WatchedBody {
    body: Incoming,
    activity: Arc<Activity>,
    unreported: usize,
}

impl WatchedBody {
    pub(super) fn new(body: Incoming, activity: Arc<Activity>) -> Self {
        if body.is_end_stream() {
            activity.begin_handling();
        }
        Self { body, activity, unreported: 0 }
    }

    fn report(&mut self, arrived: usize) {
        self.unreported += arrived;
        if self.body.is_end_stream() {
            self.activity.begin_handling();
        } else if self.unreported >= PROGRESS {
            self.unreported = 0;
            self.activity.record_progress();
        }
    }
}

impl Body for WatchedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        match &frame {
            Some(Ok(frame)) => self.report(frame.data_ref().map_or(0, Bytes::len)),
            Some(Err(_)) => {}
            None => self.activity.begin_handling(),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
