//! Purpose: threads that could not be finished, and how often in a row: each time they wait twice as long.
//!
//! A locked issue refuses comments until somebody unlocks it. Trying every half minute would use up the writes that all
//! other threads need. The count lives in memory: a restart tries everything once.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::domain::ThreadRef;

const LONGEST_MS: i64 = 3_600_000;

#[derive(Debug, Default)]
pub struct Setbacks(Mutex<HashMap<ThreadRef, u32>>);

impl Setbacks {
    pub(super) fn count(&self, thread: &ThreadRef) {
        *self.threads().entry(thread.clone()).or_insert(0) += 1;
    }

    pub(super) fn forget(&self, thread: &ThreadRef) {
        self.threads().remove(thread);
    }

    /// Whether it has come to nothing before, since the start.
    pub(super) fn is_known(&self, thread: &ThreadRef) -> bool {
        self.threads().contains_key(thread)
    }

    /// How long the thread waits before it is tried again.
    pub(super) fn wait_ms(&self, thread: &ThreadRef, first_ms: i64) -> i64 {
        let before = self.threads().get(thread).copied().unwrap_or(0);
        first_ms.saturating_mul(1 << before.min(20)).min(LONGEST_MS)
    }

    fn threads(&self) -> MutexGuard<'_, HashMap<ThreadRef, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_an_hour_and_begin_anew() {
        let (setbacks, thread) = (Setbacks::default(), "local:web#1".parse().unwrap());
        let mut waits = vec![];
        for _ in 0..9 {
            waits.push(setbacks.wait_ms(&thread, 30_000) / 1_000);
            setbacks.count(&thread);
        }
        assert_eq!(waits, [30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600]);
        setbacks.forget(&thread);
        assert_eq!(setbacks.wait_ms(&thread, 30_000), 30_000);
    }
}
