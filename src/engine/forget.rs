//! Purpose: retention: what is known of a thread long quiet is removed, as the settings want it.
//!
//! The sweep wakes such threads; whoever drives one comes here at its end, when all is shown and the work is pushed. The
//! files go first: if the server dies before the journal has gone too, the history is made again from it and the next
//! sweep comes by once more.

use std::collections::BTreeSet;

use anyhow::Context as _;

use super::ctx::Ctx;
use super::drive::Drive;
use crate::domain::Millis;
use crate::planning::Fact;
use crate::store::{Appended, NewFact};

const DAY_MS: i64 = 86_400_000;

/// Whether the settings want what is quiet since then forgotten. Whoever sits at a terminal with one thread wants it for
/// something.
pub(super) fn is_due(ctx: &Ctx, quiet_since: Millis) -> bool {
    let Some(days) = ctx.config.store.keep_days.filter(|_| ctx.only.is_none()) else { return false };
    quiet_since < ctx.now().plus(-DAY_MS * i64::from(days.get()))
}

impl Drive<'_> {
    /// To be asked when nothing is left to do or to show. A thread for which a delivery waits is not forgotten.
    pub(super) async fn forget_if_due(&self) -> anyhow::Result<()> {
        let (ctx, thread) = (self.ctx, self.desk.thread());
        let quiet = self.desk.record.quiet_since();
        if !quiet.is_some_and(|since| is_due(ctx, since)) || ctx.store.has_pending(thread).await? {
            return Ok(());
        }
        self.remove_what_runs_left().await?;
        ctx.history.clear(thread).await?;
        let fact = Fact::Forgotten { entries: self.desk.record.seq, may_start: self.desk.record.may_start() };
        let fact = NewFact { run: None, json: serde_json::to_value(fact)? };
        let forgotten = ctx.store.forget(&self.desk.lease, ctx.now(), fact).await;
        // Whatever came of it: the file is as the journal, also if somebody else has completed it in between.
        ctx.repair(thread).await;
        if matches!(forgotten?, Appended::Done(_)) {
            tracing::info!(%thread, "{thread}: forgotten, because nothing happened there for `store.keep_days`");
        }
        Ok(())
    }

    async fn remove_what_runs_left(&self) -> anyhow::Result<()> {
        let rows = self.ctx.store.journal(self.desk.thread()).await?;
        // Whoever has taken over meanwhile has runs of its own.
        let known = rows.iter().filter(|row| row.seq <= self.desk.record.seq);
        for run in known.filter_map(|row| row.run.as_deref()).collect::<BTreeSet<_>>() {
            let because = || format!("cannot remove what run {run} left");
            self.ctx.transcripts.remove(run).await.with_context(because)?;
            self.ctx.hands.workspaces.forget(run).await.with_context(because)?;
        }
        Ok(())
    }
}
