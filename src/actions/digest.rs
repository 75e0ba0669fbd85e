//! Purpose: the name of exactly one action on exactly this ground. Approvals name digests, so whatever changes after an
//! approval is something else than what was approved.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::examine::{Before, Spec};
use super::tool::ToolEffect;
use crate::domain::Millis;
use crate::plan::Action;

/// What an approval rests on besides the action itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ground {
    /// Title and description of the thread, hashed.
    pub thread: String,
    /// The commit that the run forked from.
    pub base: String,
    /// The settings that hold for the repository, hashed.
    pub settings: String,
    /// After this time an approval is worth nothing.
    pub expires: Millis,
}

/// What is hashed, field by field in this order. Numbers and names are part of the JSON, so nothing runs together.
#[derive(Serialize)]
struct Named<'a> {
    v: u8,
    action: &'a Action,
    path: Option<&'a str>,
    open: bool,
    before: &'a Before,
    tool_hash: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_effect: Option<ToolEffect>,
    ground: &'a Ground,
}

/// Hex SHA-256 of the action with all that its approval rests on.
#[must_use]
pub fn action_digest(action: &Action, spec: &Spec, ground: &Ground) -> String {
    let named = Named {
        v: 1,
        action,
        path: spec.path.as_ref().map(super::RepoPath::as_str),
        open: spec.open,
        before: &spec.preflight.before,
        tool_hash: spec.tool_hash.as_deref(),
        tool_effect: spec.tool_effect,
        ground,
    };
    // Plain structs, strings and sorted maps: this cannot fail, and if it could, nothing would equal the error.
    let text = serde_json::to_vec(&named).unwrap_or_else(|error| error.to_string().into_bytes());
    hex::encode(Sha256::digest(&text))
}

/// The digest of a plan hashes those of its actions, in their order.
#[must_use]
pub fn plan_digest<'a>(digests: impl IntoIterator<Item = &'a str>) -> String {
    let mut hasher = Sha256::new();
    for digest in digests {
        hasher.update(digest.as_bytes());
        hasher.update(b"\n");
    }
    hex::encode(hasher.finalize())
}

/// Says in words what is no longer as it was when the approval was given.
#[must_use]
pub fn what_changed(then: (&Ground, &Spec), now: (&Ground, &Spec)) -> Vec<String> {
    let ((old_ground, old), (new_ground, new)) = (then, now);
    let mut changed = vec![];
    let mut note = |is: bool, what: &str| {
        if is {
            changed.push(what.to_owned());
        }
    };
    note(old_ground.thread != new_ground.thread, "the title or the description of this thread");
    note(old_ground.settings != new_ground.settings, "the settings of this repository");
    note(old_ground.expires != new_ground.expires, "the time: the approval has run out");
    note(old.tool_hash != new.tool_hash, "the tool behind it");
    let other_word = old.tool_hash == new.tool_hash && old.tool_effect != new.tool_effect;
    note(other_word, "what the settings say about its tool");
    let target = new.path.as_ref().map_or_else(|| "its target".to_owned(), |path| format!("`{path}`"));
    note(old.preflight.before != new.preflight.before, &target);
    changed
}
