//! Purpose: what exactly is to be done, how risky it is, and what an approval of it names.
//!
//! Reading order: [`RepoPath`] is a path that cannot leave the repository. `examine` looks at a plan's actions before
//! they run and again when it is their turn, each after those that `order` puts before it; `tool` says what a tool may
//! do, `risk` rates them, `scope` says what a worker may call for one of them, `digest` gives each the name that an
//! approval is for, `selection` reads which of them a person means. An `excerpt` is what is shown of a long text.

mod digest;
mod examine;
mod excerpt;
mod order;
mod path;
mod risk;
mod scope;
mod selection;
mod tool;

pub use digest::{Ground, action_digest, plan_digest, what_changed};
pub use examine::{
    Before, Finding, Found, Issue, MAX_CONTENT, Preflight, Spec, examine, examine_again, is_open,
};
pub use excerpt::{Excerpt, ExcerptLine};
pub use order::Order;
pub use path::{BadPath, RepoPath};
pub use risk::{Risk, is_sensitive, risk_score};
pub use scope::{InScope, OutOfScope, tools_of, within};
pub use selection::{BadSelection, Choice, Item, PutUp, Selection, What, choose, number_of, ungrounded};
pub use tool::{DestructiveHint, Offered, OperatorWord, ToolEffect};
