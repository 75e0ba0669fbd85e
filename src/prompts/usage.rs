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
