//! Purpose: how often a comment was drawn again because somebody changed it. Another program that insists on its own text
//! would else keep the two of us at it for ever. The count lives in memory: a restart costs a few more edits.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::domain::{CommentId, Millis, ThreadRef};

const MOST_AN_HOUR: usize = 5;
const HOUR_MS: i64 = 3_600_000;

#[derive(Debug, Default)]
pub struct Redraws(Mutex<HashMap<(ThreadRef, CommentId), Vec<Millis>>>);

impl Redraws {
    /// Whether it may be drawn once more now; if so, that counts.
    pub(super) fn may_draw(&self, thread: &ThreadRef, comment: CommentId, now: Millis) -> bool {
        let mut drawn = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        drawn.retain(|_, times| {
            times.retain(|at| *at > now.plus(-HOUR_MS));
            !times.is_empty()
        });
        let times = drawn.entry((thread.clone(), comment)).or_default();
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
        let draw =
            |comment, minute: i64| redraws.may_draw(&thread, CommentId(comment), Millis(minute * 60_000));
        assert_eq!((0..8).filter(|minute| draw(1, *minute)).count(), MOST_AN_HOUR);
        assert!(draw(2, 8), "another comment");
        assert!(!draw(1, 59));
        assert!(draw(1, 60), "the first time is an hour ago");
    }
}
