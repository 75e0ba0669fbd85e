//! Purpose: the room that sees all: claims threads, turns deliveries into facts, performs effects, draws the picture.
//!
//! # How it works
//!
//! [`Engine::run`] claims one thread after another and drives up to [`Ctx::parallel`] of them at once. A *drive*
//! (`drive.rs`) holds the thread's lease and is the only one that appends to its journal:
//!
//! 1. take the waiting deliveries (`hear.rs`), read each as facts (`route.rs`), append them;
//! 2. start what `planning::next_effects` names (`perform.rs`, `act.rs`, `merge.rs`), drop what it no longer wants;
//! 3. bring the visible thread in step with the record (`publish.rs`);
//! 4. wait for whichever comes first: an effect's end, a new delivery (a poke), a lease to renew, shutdown;
//! 5. nothing left to do: write the timers, give the lease back.
//!
//! # What makes it safe
//!
//! - Everything before an append may be lost and is simply done again: reading deliveries, permissions, the thread.
//! - Everything that people see is found again by its marker before it is written a second time.
//! - A drive that loses its lease cannot append (the store checks the fencing number), and ends.
//! - `threads.wake_at` stays in the past while a drive is on, so a thread whose process died is claimed again as soon
//!   as its lease has run out.
//!
//! # Accepted races
//!
//! The fence guards the database, not the forge: a process that is frozen longer than its lease can still send the one
//! request it was about to send. Such a comment carries the same marker as the other's and is folded by the next sweep.

mod act;
mod approvers;
mod asides;
mod ask_people;
mod boxes;
mod clock;
mod crew_asks;
mod ctx;
mod deliver;
mod desk;
mod drive;
mod errand;
mod forget;
mod gate;
mod gather;
mod hands;
mod hear;
mod keep;
mod merge;
mod moment;
mod pace;
mod perform;
mod preflight;
mod publish;
mod redraws;
mod route;
mod setbacks;
mod settings;
mod simulate;
mod sweep;

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

pub use clock::now;
pub use ctx::{Crew, Ctx, Forges, Pokes};
pub use hands::Hands;
pub use pace::Pace;
pub use simulate::{Simulated, simulate};

use crate::store::{StoreError, ThreadLease};

/// How often to look for work that no poke announced: timers, expired leases, other replicas' deliveries.
const POLL: Duration = Duration::from_millis(500);
/// How long pokes are gathered before the next look.
const BREATH: Duration = Duration::from_millis(10);
/// Deduplication rows are kept longer than any forge redelivers.
const KEEP_DELIVERIES_MS: i64 = 8 * 24 * 3_600_000;

#[derive(Clone)]
pub struct Engine {
    ctx: Arc<Ctx>,
}

impl Engine {
    #[must_use]
    pub fn new(ctx: Arc<Ctx>) -> Self {
        Self { ctx }
    }

    /// Works until shutdown is asked for, then lets running drives put down their work and returns.
    ///
    /// # Errors
    /// When the store cannot be read at the start; later faults are logged and tried again.
    pub async fn run(&self) -> anyhow::Result<()> {
        // Whoever held a lease in this installation's name is dead: the door lets in one process at a time.
        self.ctx.store.free_leases(&self.ctx.owner).await?;
        let mut drives = JoinSet::new();
        let mut pokes = self.ctx.pokes.subscribe();
        let sweeping = sweep::sweep_regularly(Arc::clone(&self.ctx));
        let claiming = async {
            while !self.ctx.shutdown.is_cancelled() {
                self.start_drives(&mut drives).await;
                tokio::select! {
                    _ = pokes.recv() => {}
                    Some(_) = drives.join_next(), if !drives.is_empty() => {}
                    () = tokio::time::sleep(POLL) => {}
                    () = self.ctx.shutdown.cancelled() => {}
                }
                // A burst of deliveries is one reason to look, not thousands: each look asks the store's one writer.
                tokio::time::sleep(BREATH).await;
                pokes = pokes.resubscribe();
            }
            while drives.join_next().await.is_some() {}
        };
        // A thread that is worked on meanwhile completes its own history, so nobody has to wait for all the others.
        let completing = self.ctx.shutdown.run_until_cancelled(self.ctx.catch_up_histories());
        tokio::join!(claiming, sweeping, completing);
        Ok(())
    }

    async fn start_drives(&self, drives: &mut JoinSet<()>) {
        while drives.len() < self.ctx.parallel {
            match self.claim().await {
                Ok(Some(lease)) => {
                    drives.spawn(drive::drive(Arc::clone(&self.ctx), lease));
                }
                Ok(None) => return,
                Err(error) => {
                    tracing::error!(%error, "cannot claim a thread; will try again");
                    return;
                }
            }
        }
    }

    async fn claim(&self) -> Result<Option<ThreadLease>, StoreError> {
        let Ctx { store, owner, lease_ms, only, .. } = &*self.ctx;
        match only {
            Some(thread) => store.claim_only(thread, owner, self.ctx.now(), *lease_ms).await,
            None => store.claim(owner, self.ctx.now(), *lease_ms).await,
        }
    }

    /// Waits until no thread has anything left to do now. Timers in the future do not count.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn idle(&self) -> anyhow::Result<()> {
        while self.is_busy().await? {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }

    async fn is_busy(&self) -> Result<bool, StoreError> {
        let (store, now) = (&self.ctx.store, self.ctx.now());
        match &self.ctx.only {
            Some(thread) => store.is_busy_with(thread, now).await,
            None => store.is_busy(now).await,
        }
    }
}
