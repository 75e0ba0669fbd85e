//! Purpose: memory for large bodies: who gets a share of it, and who waits.
//!
//! A share is for a whole body, so two senders cannot each hold half of what they need. Shares go to the newest first: a
//! forge gives up after about ten seconds, so the one that has waited longest has the least use for its share, and many
//! hostile senders in the queue are passed by. A semaphore of tokio would serve them in the order of their arrival.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

pub(super) struct MemoryBudget(Mutex<BudgetState>);

struct BudgetState {
    free: usize,
    /// Each wants more than is free, or has given up. The newest is the last.
    waiting: Vec<BudgetRequest>,
}

struct BudgetRequest {
    bytes: usize,
    share: oneshot::Sender<MemoryShare>,
}

/// A part of the budget, given back when this is dropped.
pub(super) struct MemoryShare {
    budget: Arc<MemoryBudget>,
    bytes: usize,
}

impl MemoryBudget {
    pub(super) fn new(bytes: usize) -> Arc<Self> {
        Arc::new(Self(Mutex::new(BudgetState { free: bytes, waiting: Vec::new() })))
    }

    /// Waits as long as it takes; who gives up drops the future. More than the whole budget is never free.
    pub(super) async fn take(self: &Arc<Self>, bytes: usize) -> MemoryShare {
        let received = {
            let mut state = self.state();
            if bytes <= state.free {
                state.free -= bytes;
                return MemoryShare { budget: Arc::clone(self), bytes };
            }
            let (share, received) = oneshot::channel();
            state.waiting.retain(|waiting| !waiting.share.is_closed());
            state.waiting.push(BudgetRequest { bytes, share });
            received
        };
        match received.await {
            Ok(share) => share,
            // The sender is only dropped with a share in it, or after this future.
            Err(_) => std::future::pending().await,
        }
    }

    /// Whether somebody waits for a share.
    pub(super) fn is_wanted(&self) -> bool {
        self.state().waiting.iter().any(|waiting| !waiting.share.is_closed())
    }

    fn give_back(self: &Arc<Self>, bytes: usize) {
        let mut served = Vec::new();
        let mut state = self.state();
        state.free += bytes;
        for at in (0..state.waiting.len()).rev() {
            if state.waiting[at].bytes <= state.free {
                let waiting = state.waiting.remove(at);
                if !waiting.share.is_closed() {
                    state.free -= waiting.bytes;
                    served.push(waiting);
                }
            }
        }
        drop(state);
        for BudgetRequest { bytes, share } in served {
            // Who gave up just now drops the share, which gives it back.
            let _ = share.send(MemoryShare { budget: Arc::clone(self), bytes });
        }
    }

    fn state(&self) -> MutexGuard<'_, BudgetState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for MemoryShare {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    fn free(budget: &MemoryBudget) -> usize {
        budget.state().free
    }

    #[test]
    fn the_newest_that_fits_comes_first_and_what_fits_at_once_waits_for_nobody() {
        let budget = MemoryBudget::new(10);
        let Poll::Ready(first) = poll(pin!(budget.take(8))) else { panic!("it is free") };
        let (mut old, mut new, mut large) =
            (pin!(budget.take(4)), pin!(budget.take(6)), pin!(budget.take(10)));
        assert!(poll(old.as_mut()).is_pending() && poll(new.as_mut()).is_pending());
        assert!(poll(large.as_mut()).is_pending());
        let Poll::Ready(small) = poll(pin!(budget.take(2))) else { panic!("it is free") };
        assert!(budget.is_wanted());
        drop(first);
        assert!(poll(large.as_mut()).is_pending() && poll(old.as_mut()).is_pending());
        let Poll::Ready(newer) = poll(new.as_mut()) else { panic!("it is the newest that fits") };
        drop(small);
        let Poll::Ready(older) = poll(old.as_mut()) else { panic!("now it fits") };
        assert_eq!(free(&budget), 0);
        drop((newer, older));
        let Poll::Ready(_all) = poll(large.as_mut()) else { panic!("now everything is free") };
        assert!(!budget.is_wanted());
    }

    #[test]
    fn who_gives_up_keeps_nothing() {
        let budget = MemoryBudget::new(10);
        let Poll::Ready(first) = poll(pin!(budget.take(10))) else { panic!("it is free") };
        {
            let mut waiting = pin!(budget.take(5));
            assert!(poll(waiting.as_mut()).is_pending() && budget.is_wanted());
        }
        assert!(!budget.is_wanted());
        {
            let mut served = pin!(budget.take(5));
            assert!(poll(served.as_mut()).is_pending());
            drop(first);
            // It has its share by now, and nobody asks for it any more.
            assert_eq!(free(&budget), 5);
        }
        assert_eq!(free(&budget), 10);
        assert!(!budget.is_wanted());
    }
}
