//! Purpose: how a connection ended, said once by whoever sees it first and heard at once by everybody who waits.

use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

#[derive(Debug, Clone, Default)]
pub(super) struct Fate(Arc<Sealed>);

#[derive(Debug, Default)]
struct Sealed {
    why: OnceLock<String>,
    over: CancellationToken,
}

impl Fate {
    /// The first reason stays: later ones are mostly its consequences.
    pub(super) fn seal(&self, why: impl Into<String>) {
        self.0.why.get_or_init(|| why.into());
        self.0.over.cancel();
    }

    pub(super) fn known(&self) -> Option<&str> {
        self.0.why.get().map(String::as_str)
    }

    pub(super) async fn sealed(&self) -> String {
        self.0.over.cancelled().await;
        self.known().unwrap_or_default().to_owned()
    }
}
