//! Purpose: whether a failed call is made again, and after how long. Pure; `http` does the waiting.
//!
//! A question may be asked twice without harm, it only costs. So everything that may pass by itself is tried again, at
//! most twice. A server's own wish is kept; one that is longer than we care to hold a run for is left to the caller.

use std::time::Duration;

use ::http::HeaderMap;
use ::http::header::{DATE, RETRY_AFTER};

/// How one exchange failed. In words for the log it does not quote the server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    #[error("status {code}")]
    Status {
        code: u16,
        /// How long the server wants us to wait.
        wish: Option<Duration>,
        detail: String,
    },
    #[error("no answer in time")]
    TimedOut,
    /// No connection, or it broke before the reply was complete.
    #[error("no connection, or a broken one")]
    Dropped(String),
    #[error("too long an answer")]
    TooLarge,
}

const LONGEST: Duration = Duration::from_secs(30);
/// A header that says more must not hold a run for good.
const LONGEST_WISH: Duration = Duration::from_secs(24 * 3_600);

/// The wait before trying again after `tries` failed tries; `None`: give up. `luck` spreads the tries of many runs.
pub(super) fn wait(fault: &Fault, tries: u32, pause: Duration, luck: u8) -> Option<Duration> {
    let (most, wish) = match fault {
        // An account without credit stays without it.
        Fault::Status { detail, .. } if detail.contains("insufficient_quota") => (1, None),
        Fault::Status { code: 408 | 429, wish, .. } => (3, *wish),
        // A plain 500 is often our request's fault and comes back every time.
        Fault::Status { code: 500, wish, .. } => (2, *wish),
        Fault::Status { code: 502..=504 | 520..=529, wish, .. } => (3, *wish),
        Fault::Status { .. } | Fault::TooLarge => (1, None),
        // Each costs the whole time-out.
        Fault::TimedOut => (2, None),
        Fault::Dropped(_) => (3, None),
    };
    if tries >= most {
        return None;
    }
    match wish {
        Some(wish) => (wish <= LONGEST).then_some(wish),
        None => Some(spread(pause.saturating_mul(4_u32.saturating_pow(tries.saturating_sub(1))), luck)),
    }
}

/// Between three quarters and five quarters.
fn spread(pause: Duration, luck: u8) -> Duration {
    (pause.saturating_mul(384 + u32::from(luck)) / 512).min(LONGEST)
}

pub(super) fn wish(headers: &HeaderMap) -> Option<Duration> {
    named(headers).map(|wish| wish.min(LONGEST_WISH))
}

/// What the headers ask for: milliseconds, seconds, or a date that is compared with the server's own clock.
fn named(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok();
    if let Some(ms) = text("retry-after-ms").and_then(|ms| ms.trim().parse().ok()) {
        return Some(Duration::from_millis(ms));
    }
    let after = text(RETRY_AFTER.as_str())?.trim();
    if let Ok(seconds) = after.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let until = jiff::fmt::rfc2822::parse(after).ok()?.timestamp();
    let now = jiff::fmt::rfc2822::parse(text(DATE.as_str())?).ok()?.timestamp();
    Some(Duration::try_from(until.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn status(code: u16, wish: Option<Duration>) -> Fault {
        Fault::Status { code, wish, detail: String::new() }
    }

    /// The waits in milliseconds until it is given up.
    fn waits(fault: &Fault) -> Vec<u128> {
        (1..10).map_while(|tries| wait(fault, tries, SECOND, 128)).map(|wait| wait.as_millis()).collect()
    }

    #[test]
    fn what_may_pass_is_tried_again() {
        assert_eq!(waits(&status(429, None)), [1_000, 4_000]);
        assert_eq!(waits(&status(429, Some(Duration::ZERO))), [0, 0]);
        assert_eq!(waits(&status(503, Some(SECOND * 30))), [30_000, 30_000]);
        assert_eq!(waits(&status(503, Some(SECOND * 31))), [0_u128; 0], "too long to hold a run for");
        assert_eq!(waits(&status(408, None)), [1_000, 4_000]);
        assert_eq!(waits(&status(529, None)), [1_000, 4_000]);
        assert_eq!(waits(&status(500, None)), [1_000]);
        assert_eq!(waits(&Fault::TimedOut), [1_000]);
        assert_eq!(waits(&Fault::Dropped(String::new())), [1_000, 4_000]);
    }

    #[test]
    fn what_stays_is_not() {
        let none: [u128; 0] = [];
        for code in [301, 307, 400, 401, 403, 404, 413, 422, 501, 505] {
            assert_eq!(waits(&status(code, None)), none, "{code}");
        }
        assert_eq!(waits(&Fault::TooLarge), none);
        let broke = Fault::Status { code: 429, wish: None, detail: "insufficient_quota".to_owned() };
        assert_eq!(waits(&broke), none);
    }

    #[test]
    fn luck_spreads_the_waits_within_bounds() {
        let fault = status(503, None);
        let lengths: Vec<_> = (0..=255).filter_map(|luck| wait(&fault, 1, SECOND, luck)).collect();
        assert_eq!(lengths.len(), 256);
        assert!(lengths.iter().all(|wait| *wait >= SECOND * 3 / 4 && *wait <= SECOND * 5 / 4));
        assert!(lengths.is_sorted() && lengths[0] < lengths[255]);
        assert_eq!(wait(&fault, 2, SECOND * 600, 255), Some(LONGEST));
    }

    #[test]
    fn wishes_are_read() {
        let read = |pairs: &[(&'static str, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.insert(*name, value.parse().unwrap());
            }
            wish(&headers)
        };
        assert_eq!(read(&[]), None);
        assert_eq!(read(&[("retry-after", "7")]), Some(SECOND * 7));
        assert_eq!(read(&[("retry-after", "0.5")]), Some(SECOND / 2));
        assert_eq!(read(&[("retry-after", "9"), ("retry-after-ms", "250")]), Some(SECOND / 4));
        assert_eq!(read(&[("retry-after", "-1")]), None);
        assert_eq!(read(&[("retry-after", "1e12")]), Some(LONGEST_WISH));
        assert_eq!(read(&[("retry-after", "1e400")]), None);
        assert_eq!(read(&[("retry-after", "soon")]), None);
        let date = ("date", "Wed, 21 Oct 2015 07:28:00 GMT");
        assert_eq!(read(&[date, ("retry-after", "Wed, 21 Oct 2015 07:28:20 GMT")]), Some(SECOND * 20));
        assert_eq!(read(&[date, ("retry-after", "Wed, 21 Oct 2015 07:27:00 GMT")]), Some(Duration::ZERO));
        assert_eq!(
            read(&[("retry-after", "Wed, 21 Oct 2015 07:28:20 GMT")]),
            None,
            "no clock to compare with"
        );
    }
}
