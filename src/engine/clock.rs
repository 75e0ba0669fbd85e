//! Purpose: the one place that reads the clock.

use crate::domain::Millis;

#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is the clock that everything else is given")]
pub fn now() -> Millis {
    Millis(jiff::Timestamp::now().as_millisecond())
}
