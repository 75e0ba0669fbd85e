//! Purpose: remember that a forge wants to be left alone, so that not every request has to be told so by itself.
//!
//! One client keeps one silence for all that it asks, although a GitHub App has a limit for each installation: then one
//! busy organisation makes the others wait too. Keeping them apart would be fairer, but GitHub does not say which limit
//! was hit, and whoever goes on asking may be shut out for good. It is kept in memory: a new process asks once.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::ForgeError;

/// The same clock as that of the pauses between two attempts, so that neither ends before the other.
#[derive(Default)]
pub(super) struct Silence(Mutex<Option<Instant>>);

impl Silence {
    /// Sends a request, unless the forge still wants silence; whether it wants more of it is remembered.
    pub(super) async fn keep<T>(
        &self,
        request: impl Future<Output = Result<T, ForgeError>>,
    ) -> Result<T, ForgeError> {
        if let Some(retry_after) = self.rest(Instant::now()) {
            let why = "the forge wants no requests for a while".to_owned();
            return Err(ForgeError::RateLimited { retry_after, why });
        }
        let answer = request.await;
        if let Err(ForgeError::RateLimited { retry_after, .. }) = &answer {
            self.begin(Instant::now(), *retry_after);
        }
        answer
    }

    fn rest(&self, now: Instant) -> Option<Duration> {
        let rest = self.until().map(|until| until.saturating_duration_since(now));
        rest.filter(|rest| !rest.is_zero())
    }

    /// Requests that were under way together may be told different things; the longest counts.
    fn begin(&self, now: Instant, pause: Duration) {
        let mut until = self.until();
        *until = (*until).max(now.checked_add(pause));
    }

    /// A poisoned lock only means that a thread died while it looked at the time.
    fn until(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_silence_lasts_as_long_as_the_longest_wish() {
        let (silence, now) = (Silence::default(), Instant::now());
        assert_eq!(silence.rest(now), None);
        silence.begin(now, Duration::ZERO);
        assert_eq!(silence.rest(now), None);
        silence.begin(now, SECOND * 60);
        silence.begin(now + SECOND, SECOND * 5);
        assert_eq!(silence.rest(now + SECOND * 20), Some(SECOND * 40));
        assert_eq!(silence.rest(now + SECOND * 60), None);
        silence.begin(now + SECOND * 70, SECOND * 5);
        assert_eq!(silence.rest(now + SECOND * 71), Some(SECOND * 4));
    }

    /// Whether a request that would get this answer was sent.
    async fn is_sent(silence: &Silence, answer: Result<(), ForgeError>) -> bool {
        let mut sent = false;
        let request = async {
            sent = true;
            answer
        };
        let told = silence.keep(request).await;
        assert!(sent || matches!(told, Err(ForgeError::RateLimited { .. })), "{told:?}");
        sent
    }

    #[tokio::test]
    async fn only_a_limit_silences_what_comes_after() {
        let silence = Silence::default();
        assert!(is_sent(&silence, Err(ForgeError::Unclear("502".into()))).await);
        assert!(is_sent(&silence, Err(ForgeError::Forbidden("403".into()))).await);
        let limited = ForgeError::RateLimited { retry_after: SECOND * 60, why: "slow down".into() };
        assert!(is_sent(&silence, Err(limited)).await);
        assert!(!is_sent(&silence, Ok(())).await);
    }
}
