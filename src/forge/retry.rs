//! Purpose: the one place that asks a forge again: a pure rule says whether and when, one helper obeys it.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use super::ForgeError;
use super::silence::Silence;

/// How long we wait for a forge, and how often we ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    pub connect: Duration,
    pub request: Duration,
    /// Requests in all, the first one included.
    pub attempts: u32,
    pub first_wait: Duration,
    /// A forge that asks for a longer pause gets it from the caller, who can set a timer and let go of the thread.
    pub longest_wait: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            request: Duration::from_secs(30),
            attempts: 4,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(30),
        }
    }
}

/// Whether sending a request twice does the same as sending it once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    Safe,
    Never,
}

/// The pause before the next attempt, or `None` to give up. `attempt` counts the requests already sent; `jitter` is in
/// `0.0..1.0` and only ever lengthens what the forge asked for.
#[must_use]
pub fn next_wait(
    patience: &Patience,
    attempt: u32,
    error: &ForgeError,
    repeat: Repeat,
    jitter: f64,
) -> Option<Duration> {
    if repeat == Repeat::Never || attempt >= patience.attempts {
        return None;
    }
    match error {
        ForgeError::RateLimited { retry_after, .. } => {
            let spread = retry_after.max(&patience.first_wait).mul_f64(0.1 * jitter);
            (*retry_after <= patience.longest_wait).then(|| *retry_after + spread)
        }
        ForgeError::Unclear(_) | ForgeError::Broken(_) => {
            let doubled = patience.first_wait.saturating_mul(1 << (attempt.saturating_sub(1)).min(16));
            Some(doubled.mul_f64(0.5 + 0.5 * jitter).min(patience.longest_wait))
        }
        ForgeError::Unauthorized(_)
        | ForgeError::Forbidden(_)
        | ForgeError::NotFound(_)
        | ForgeError::Invalid(_) => None,
    }
}

/// The way that every request of a client goes: again where that may help, and never while the forge wants silence.
pub(super) struct Caller {
    patience: Patience,
    silence: Silence,
}

impl Caller {
    pub(super) fn new(patience: Patience) -> Self {
        Self { patience, silence: Silence::default() }
    }

    pub(super) async fn call<T, Once, Answer>(&self, repeat: Repeat, mut once: Once) -> Result<T, ForgeError>
    where
        Once: FnMut() -> Answer,
        Answer: Future<Output = Result<T, ForgeError>>,
    {
        let mut attempt = 1;
        loop {
            let error = match self.silence.keep(once()).await {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            let wait = next_wait(&self.patience, attempt, &error, repeat, jitter());
            let Some(wait) = wait else { return Err(error) };
            tracing::debug!(attempt, wait_ms = wait.as_millis(), %error, "asking the forge again");
            tokio::time::sleep(wait).await;
            attempt += 1;
        }
    }
}

/// The standard library seeds every hasher at random; that is all the chance a pause needs.
fn jitter() -> f64 {
    let random = RandomState::new().build_hasher().finish();
    f64::from(u32::try_from(random >> 32).unwrap_or(0)) / (f64::from(u32::MAX) + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Patience = Patience {
        connect: Duration::from_secs(1),
        request: Duration::from_secs(1),
        attempts: 3,
        first_wait: Duration::from_millis(100),
        longest_wait: Duration::from_secs(5),
    };

    fn limited(seconds: u64) -> ForgeError {
        ForgeError::RateLimited { retry_after: Duration::from_secs(seconds), why: "slow down".into() }
    }

    #[test]
    fn who_is_asked_again_and_when() {
        let unclear = ForgeError::Unclear("502".into());
        let ms = |n| Some(Duration::from_millis(n));
        let rows: [(u32, ForgeError, Repeat, f64, Option<Duration>); 14] = [
            (1, unclear.clone(), Repeat::Safe, 0.0, ms(50)),
            (1, unclear.clone(), Repeat::Safe, 1.0, ms(100)),
            (2, unclear.clone(), Repeat::Safe, 1.0, ms(200)),
            (3, unclear.clone(), Repeat::Safe, 1.0, None),
            (1, unclear, Repeat::Never, 0.0, None),
            (1, ForgeError::Broken("html".into()), Repeat::Safe, 1.0, ms(100)),
            (1, limited(2), Repeat::Safe, 0.0, ms(2000)),
            (1, limited(2), Repeat::Safe, 1.0, ms(2200)),
            (1, limited(6), Repeat::Safe, 0.0, None),
            (1, limited(2), Repeat::Never, 0.0, None),
            (1, ForgeError::Unauthorized(String::new()), Repeat::Safe, 0.0, None),
            (1, ForgeError::Forbidden(String::new()), Repeat::Safe, 0.0, None),
            (1, ForgeError::NotFound(String::new()), Repeat::Safe, 0.0, None),
            (1, ForgeError::Invalid(String::new()), Repeat::Safe, 0.0, None),
        ];
        for (attempt, error, repeat, jitter, expected) in rows {
            let got = next_wait(&PATIENCE, attempt, &error, repeat, jitter);
            assert_eq!(got, expected, "attempt {attempt}, {error:?}, {repeat:?}, {jitter}");
        }
    }

    #[test]
    fn jitter_stays_in_range() {
        assert!((0..1000).map(|_| jitter()).all(|j| (0.0..1.0).contains(&j)));
    }
}
