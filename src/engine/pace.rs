//! Purpose: keep all writes of one account under what forges put up with: 80 a minute and 500 an hour.
//!
//! GitHub answers a bot that writes faster with secondary limits that it announces nowhere, and with a ban if it goes
//! on. The window lives in memory: after a restart it is empty, which costs at most one minute's worth of writes.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

#[derive(Debug)]
pub struct Pace {
    a_minute: usize,
    an_hour: usize,
    writes: Mutex<VecDeque<Instant>>,
}

impl Default for Pace {
    fn default() -> Self {
        Self { a_minute: 80, an_hour: 500, writes: Mutex::default() }
    }
}

impl Pace {
    /// Returns when one more write is within the limits, and counts it.
    pub async fn admit(&self) {
        loop {
            let Some(wait) = self.try_admit(Instant::now()) else { return };
            tokio::time::sleep(wait).await;
        }
    }

    /// Counts a write at `now`, or says how long to wait first.
    fn try_admit(&self, now: Instant) -> Option<Duration> {
        let mut writes = self.writes.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        while writes.front().is_some_and(|at| now.duration_since(*at) >= HOUR) {
            writes.pop_front();
        }
        let wait = [(self.a_minute, MINUTE), (self.an_hour, HOUR)]
            .iter()
            .filter_map(|(most, window)| {
                let oldest = writes.len().checked_sub(*most).and_then(|at| writes.get(at))?;
                window.checked_sub(now.duration_since(*oldest)).filter(|wait| !wait.is_zero())
            })
            .max();
        if wait.is_none() {
            writes.push_back(now);
        }
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_windows_hold() {
        let pace = Pace { a_minute: 2, an_hour: 3, writes: Mutex::default() };
        let start = Instant::now();
        let at = |s| start + Duration::from_secs(s);
        assert_eq!(pace.try_admit(at(0)), None);
        assert_eq!(pace.try_admit(at(10)), None);
        assert_eq!(pace.try_admit(at(20)), Some(Duration::from_secs(40)), "two within this minute");
        assert_eq!(pace.try_admit(at(60)), None);
        assert_eq!(pace.try_admit(at(200)), Some(Duration::from_secs(3_400)), "three within this hour");
        assert_eq!(pace.try_admit(at(3_600)), None);
    }
}
