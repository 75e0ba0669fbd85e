//! Purpose: when a server that failed may be started again. The time is an argument.
//!
//! A start that went well proves little: many a broken server greets politely and dies at the first call. So only an
//! answered call, or having been up for longer than the longest pause, makes the past forgotten.

use std::time::{Duration, Instant};

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Health {
    /// Nothing speaks against starting or using it.
    #[default]
    Good,
    /// It failed this many times without doing anything useful in between.
    Failed { times: u32, until: Instant },
}

impl Health {
    /// How long it must be left alone still.
    pub(super) fn wait(self, now: Instant) -> Option<Duration> {
        match self {
            Self::Good => None,
            Self::Failed { until, .. } => Some(until.saturating_duration_since(now)).filter(|d| !d.is_zero()),
        }
    }

    /// It failed now, after having been up for so long.
    #[must_use]
    pub(super) fn failed(self, now: Instant, up: Duration) -> Self {
        let before = match self {
            Self::Failed { times, .. } if up < LONGEST => times,
            Self::Good | Self::Failed { .. } => 0,
        };
        let pause = FIRST.saturating_mul(2_u32.saturating_pow(before)).min(LONGEST);
        Self::Failed { times: before.saturating_add(1), until: now + pause }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Duration = Duration::ZERO;

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn each_failure_doubles_the_pause_up_to_a_minute() {
        let mut now = Instant::now();
        let mut health = Health::Good;
        assert_eq!(health.wait(now), None);
        for pause in [1, 2, 4, 8, 16, 32, 60, 60, 60] {
            health = health.failed(now, NONE);
            assert_eq!(health.wait(now), Some(seconds(pause)));
            assert_eq!(
                health.wait(now + seconds(pause) - Duration::from_nanos(1)),
                Some(Duration::from_nanos(1))
            );
            now += seconds(pause);
            assert_eq!(health.wait(now), None, "after {pause} s");
        }
    }

    #[test]
    fn only_a_long_life_shortens_the_pause_again() {
        let now = Instant::now();
        let twice = Health::Good.failed(now, NONE).failed(now, NONE);
        for (up, pause) in [(0, 4), (59, 4), (60, 1), (3_600, 1)] {
            assert_eq!(twice.failed(now, seconds(up)).wait(now), Some(seconds(pause)), "up for {up} s");
        }
    }

    #[test]
    fn endless_failures_do_not_overflow() {
        let now = Instant::now();
        let health = Health::Failed { times: u32::MAX, until: now }.failed(now, NONE);
        assert_eq!(health, Health::Failed { times: u32::MAX, until: now + LONGEST });
    }
}
