//! Purpose: the name of a plan's content. Approvals name it, so that a plan that changed is not the plan approved.

use sha2::{Digest, Sha256};

use crate::plan::Action;

/// Hex SHA-256 over the actions in their order. Struct fields serialise in their written order, so equal plans have
/// equal digests; there are no maps in an action.
#[must_use]
pub fn plan_digest(actions: &[Action]) -> String {
    let mut hasher = Sha256::new();
    for action in actions {
        let text = serde_json::to_vec(action).unwrap_or_default();
        // The length keeps two neighbours from being read as one.
        hasher.update((text.len() as u64).to_be_bytes());
        hasher.update(&text);
    }
    hex::encode(hasher.finalize())
}
