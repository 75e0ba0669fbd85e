//! Purpose: one thread that writes for all: the shape of every group commit here.
//!
//! Orders stand in line. The scribe takes what stands there, deals with all of it at once, and answers each; what comes
//! meanwhile is its next batch. Whoever orders may go away at any time: the scribe goes on.
//!
//! It is a thread of its own and no task, because what happens between two commits decides how many there can be: a task
//! stands in the queue behind requests that all wait for the next commit, and the disk waits with them.

use std::panic::AssertUnwindSafe;
use std::sync::Weak;

use anyhow::Context as _;
use futures_util::FutureExt as _;
use futures_util::future::join;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use super::open::Shared;
use super::parcel::Parcel;
use super::{Appended, Put, Store, StoreError, turns};

/// Where callers stand.
pub(super) struct Line<O, A>(mpsc::UnboundedSender<Waiting<O, A>>);

pub(super) struct Waiting<O, A> {
    pub(super) order: O,
    answer: oneshot::Sender<Result<A, StoreError>>,
}

/// Where the scribe takes from: as many at once as weigh less than this together, and one more.
pub(super) struct Orders<O, A> {
    from: mpsc::UnboundedReceiver<Waiting<O, A>>,
    limit: usize,
    weigh: fn(&O) -> usize,
}

pub(super) fn line<O, A>(limit: usize, weigh: fn(&O) -> usize) -> (Line<O, A>, Orders<O, A>) {
    let (line, from) = mpsc::unbounded_channel();
    (Line(line), Orders { from, limit, weigh })
}

impl<O, A> Line<O, A> {
    /// Waits until the order is carried out, and for all that stood before it.
    pub(super) async fn ask(&self, order: O) -> Result<A, StoreError> {
        let (answer, told) = oneshot::channel();
        let failed = || {
            let why = "the thread that writes is gone or has panicked, or the runtime has ended";
            StoreError::Unavailable(why.to_owned())
        };
        self.0.send(Waiting { order, answer }).map_err(|_| failed())?;
        told.await.unwrap_or_else(|_| Err(failed()))
    }
}

impl<O, A> Waiting<O, A> {
    pub(super) fn is_gone(&self) -> bool {
        self.answer.is_closed()
    }
}

impl<O, A> Orders<O, A> {
    /// This one, and those who wait behind it.
    fn and_waiting(&mut self, first: Waiting<O, A>) -> Vec<Waiting<O, A>> {
        let mut weight = (self.weigh)(&first.order);
        let mut batch = vec![first];
        while weight < self.limit
            && let Ok(next) = self.from.try_recv()
        {
            weight += (self.weigh)(&next.order);
            batch.push(next);
        }
        batch
    }
}

/// All that the scribe takes from.
pub(super) struct Desk {
    pub(super) deliveries: Orders<Parcel, Put>,
    pub(super) turns: Orders<turns::Order, Appended>,
}

/// The scribe works until the store is gone. `home` is where the callers are: there they are told.
pub(super) fn start(home: Handle, shared: Weak<Shared>, desk: Desk) -> anyhow::Result<()> {
    let work = async move {
        let deliveries =
            serve(home.clone(), &shared, desk.deliveries, async |store, batch| store.put_all(batch).await);
        let turns = serve(home, &shared, desk.turns, async |store, batch| store.append_all(batch).await);
        join(deliveries, turns).await;
    };
    std::thread::Builder::new()
        .name("scribe".to_owned())
        // Nothing that the scribe does waits for a socket or a timer.
        .spawn(move || match tokio::runtime::Builder::new_current_thread().build() {
            Ok(runtime) => runtime.block_on(work),
            Err(error) => tracing::error!("nothing can be written: {error}"),
        })
        .context("cannot start the thread that writes")?;
    Ok(())
}

async fn serve<O: Send + 'static, A: Send + 'static>(
    home: Handle,
    shared: &Weak<Shared>,
    mut orders: Orders<O, A>,
    write: impl AsyncFn(&Store, &[Waiting<O, A>]) -> Vec<Result<A, StoreError>>,
) {
    while let Some(first) = orders.from.recv().await {
        let batch = orders.and_waiting(first);
        let Some(shared) = shared.upgrade() else { return };
        let store = Store { shared };
        // A panic has said why; whoever waits sees the answer's channel close.
        if let Ok(answers) = AssertUnwindSafe(write(&store, &batch)).catch_unwind().await {
            // Each wake-up from outside takes a lock and may have to rouse a thread; from within, only the first one does.
            #[expect(clippy::disallowed_methods, reason = "it only tells, at once, and nobody waits for it")]
            home.spawn(async move { tell(batch, answers) });
        }
    }
}

fn tell<O, A>(batch: Vec<Waiting<O, A>>, answers: Vec<Result<A, StoreError>>) {
    for (waiting, answer) in batch.into_iter().zip(answers) {
        // Whoever has gone away misses it.
        let _ = waiting.answer.send(answer);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    async fn store(dir: &tempfile::TempDir) -> Store {
        Store::open(&format!("sqlite://{}/planwright.db", dir.path().display())).await.unwrap()
    }

    #[tokio::test]
    async fn a_batch_that_panics_fails_alone() {
        let dir = tempfile::tempdir().unwrap();
        let store = store(&dir).await;
        let (line, orders) = line::<u8, u8>(10, |_| 1);
        let asking = async {
            assert!(matches!(line.ask(13).await, Err(StoreError::Unavailable(_))));
            assert_eq!(line.ask(1).await.unwrap(), 2);
            drop(line);
        };
        let shared = Arc::downgrade(&store.shared);
        let serving = serve(Handle::current(), &shared, orders, async |_, batch| {
            assert!(batch.iter().all(|waiting| waiting.order != 13), "a test wants this");
            batch.iter().map(|waiting| Ok(waiting.order + 1)).collect()
        });
        join(serving, asking).await;
    }

    #[tokio::test]
    async fn a_batch_is_what_waits_up_to_its_limit() {
        let dir = tempfile::tempdir().unwrap();
        let store = store(&dir).await;
        let (line, orders) = line::<usize, usize>(10, |weight| *weight);
        let asking = async {
            let asked = [1, 1, 20, 3, 3, 3, 3, 3].map(|weight| line.ask(weight));
            let together = futures_util::future::join_all(asked).await;
            drop(line);
            together
        };
        let shared = Arc::downgrade(&store.shared);
        let serving = serve(Handle::current(), &shared, orders, async |_, batch| {
            vec![batch.len(); batch.len()].into_iter().map(Ok).collect()
        });
        let ((), sizes) = join(serving, asking).await;
        let sizes: Vec<usize> = sizes.into_iter().map(Result::unwrap).collect();
        assert_eq!(sizes, [3, 3, 3, 4, 4, 4, 4, 1]);
    }

    #[tokio::test]
    async fn the_scribe_goes_with_the_store() {
        let dir = tempfile::tempdir().unwrap();
        let store = store(&dir).await;
        let shared = Arc::downgrade(&store.shared);
        let (line, orders) = line::<(), ()>(1, |()| 1);
        drop(store);
        let asking = async { assert!(matches!(line.ask(()).await, Err(StoreError::Unavailable(_)))) };
        join(serve(Handle::current(), &shared, orders, async |_, _| vec![]), asking).await;
    }
}
