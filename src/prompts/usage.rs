//! Purpose: what answering a question cost, as it is journaled.

use serde::{Deserialize, Serialize};

/// All the calls that one question took, failed ones included: retries and repairs cost as well.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub model: String,
    pub calls: u32,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// `None` when no price is configured: an unknown cost is not a cost of nothing.
    pub cost_micro_usd: Option<u64>,
    /// Wall-clock time from the question to its answer.
    pub ms: u64,
}

impl Usage {
    /// What two calls cost together; costs that are unknown stay unknown.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            calls: self.calls + other.calls,
            input_tokens: self.input_tokens + other.input_tokens,
            output_tokens: self.output_tokens + other.output_tokens,
            cost_micro_usd: self.cost_micro_usd.zip(other.cost_micro_usd).map(|(one, two)| one + two),
            ms: self.ms + other.ms,
            model: other.model,
        }
    }
}
