//! Purpose: trying again: what failed, how often, and when it may be tried next.
//!
//! A run has a list of tries for what goes wrong with what it asks for. The forge's own trouble (it is away, or it wants
//! silence) is no fault of any run, and hits all of them at once: it is waited for, a day at least. Ending those runs
//! instead would make people start each of them anew after every outage.

use super::effect::{Key, Policy};
use super::notice::AskProblem;
use crate::domain::Millis;

/// By then a forge has been away for a day at least. What fails that often will not mend itself, and somebody has to know.
const MOST_AWAY: usize = 150;

/// How often what is awaited now has failed, by what was the matter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tries {
    pub passing: u32,
    pub away: u32,
}

impl Tries {
    /// Names the try that comes next.
    pub(super) fn failed(self) -> u32 {
        self.passing.saturating_add(self.away)
    }

    /// Counts one more; returns how many of its kind there are now.
    pub(super) fn count(&mut self, problem: AskProblem) -> u32 {
        let kind = match problem {
            AskProblem::Away => &mut self.away,
            AskProblem::Passing | AskProblem::Lasting => &mut self.passing,
        };
        *kind = kind.saturating_add(1);
        *kind
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Retry {
    pub key: Key,
    pub failed_at: Millis,
    pub reason: String,
    pub problem: AskProblem,
    /// The how manyth failure of its kind it is, from 1.
    pub nth: u32,
    /// Whoever was asked does not want to be asked again before.
    pub not_before: Option<Millis>,
}

impl Policy {
    /// When something that failed may be tried again, if at all.
    #[must_use]
    pub fn retry_at(&self, retry: &Retry) -> Option<Millis> {
        let nth = usize::try_from(retry.nth.checked_sub(1)?).ok()?;
        let delays = &self.retry_after_ms;
        let delay = match retry.problem {
            AskProblem::Away if nth < MOST_AWAY => delays.get(nth).or(delays.last()),
            AskProblem::Away => None,
            AskProblem::Passing | AskProblem::Lasting => delays.get(nth),
        };
        let at = retry.failed_at.plus(*delay?);
        Some(retry.not_before.map_or(at, |not_before| not_before.max(at)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_it_is_tried_again() {
        use AskProblem::{Away, Passing};
        let check = |problem, nth, not_before: Option<i64>, expected: Option<i64>| {
            let policy = Policy { retry_after_ms: vec![30, 120, 600], ..Policy::default() };
            let (key, reason) = (Key("k".to_owned()), "away".to_owned());
            let not_before = not_before.map(Millis);
            let retry = Retry { key, failed_at: Millis(1_000), reason, problem, nth, not_before };
            assert_eq!(policy.retry_at(&retry), expected.map(Millis), "{retry:?}");
        };
        // The list, and then the end.
        check(Passing, 1, None, Some(1_030));
        check(Passing, 3, None, Some(1_600));
        check(Passing, 4, None, None);
        check(Passing, 0, None, None);
        // A wish counts when it is later, and gives no more tries.
        check(Passing, 1, Some(1_010), Some(1_030));
        check(Passing, 1, Some(9_000), Some(9_000));
        check(Passing, 4, Some(9_000), None);
        // What is away is waited for.
        check(Away, 1, None, Some(1_030));
        check(Away, 2, Some(9_000), Some(9_000));
        check(Away, 3, Some(1_010), Some(1_600));
        check(Away, 4, None, Some(1_600));
        check(Away, 150, None, Some(1_600));
        check(Away, 151, None, None);
    }

    #[test]
    fn who_grants_no_tries_gets_none() {
        let policy = Policy { retry_after_ms: vec![], ..Policy::default() };
        for problem in [AskProblem::Away, AskProblem::Passing] {
            let (key, reason) = (Key("k".to_owned()), "away".to_owned());
            let retry = Retry { key, failed_at: Millis(0), reason, problem, nth: 1, not_before: None };
            assert_eq!(policy.retry_at(&retry), None, "{problem:?}");
        }
    }

    #[test]
    fn each_kind_is_counted_by_itself() {
        let mut tries = Tries::default();
        let kinds = [AskProblem::Away, AskProblem::Away, AskProblem::Passing, AskProblem::Away];
        assert_eq!(kinds.map(|kind| tries.count(kind)), [1, 2, 1, 3]);
        assert_eq!(tries.failed(), 4);
    }
}
