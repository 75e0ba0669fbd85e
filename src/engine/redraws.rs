//! Purpose: how often a comment was drawn again because somebody changed or deleted it. Another program that insists on its
//! own text would else keep the two of us at it for ever. The count lives in memory: a restart costs a few more edits.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::domain::{Millis, ThreadRef};

const MOST_AN_HOUR: usize = 5;
const HOUR_MS: i64 = 3_600_000;

#[derive(Debug, Default)]
pub struct Redraws(Mutex<HashMap<(ThreadRef, String), Vec<Millis>>>);

impl Redraws {
    /// Whether the comment of this key may be drawn once more now; if so, that counts. Its id would not do: each one that is
    /// drawn in place of a deleted one has another.
    pub(super) fn may_draw(&self, thread: &ThreadRef, key: &str, now: Millis) -> bool {
        let mut drawn = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        drawn.retain(|_, times| {
            times.retain(|at| *at > now.plus(-HOUR_MS));
            !times.is_empty()
        });
        let times = drawn.entry((thread.clone(), key.to_owned())).or_default();
        let may = times.len() < MOST_AN_HOUR;
        if may {
            times.push(now);
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_times_an_hour_and_each_comment_by_itself() {
        let (redraws, thread) = (Redraws::default(), "local:web#1".parse().unwrap());
        let draw = |key, minute: i64| redraws.may_draw(&thread, key, Millis(minute * 60_000));
        assert_eq!((0..8).filter(|minute| draw("card", *minute)).count(), MOST_AN_HOUR);
        assert!(draw("notice", 8), "another comment");
        assert!(!draw("card", 59));
        assert!(draw("card", 60), "the first time is an hour ago");
    }
}
