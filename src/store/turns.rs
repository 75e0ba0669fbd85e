//! Purpose: group commit for the journal: threads that append while the disk is busy share one transaction, one sync.
//!
//! Who leads (see `lead`) writes all turns that stand in line, each with its own checks; a turn that is refused writes
//! nothing and does not concern the others.
//!
//! Unlike a delivery, a turn must not be written twice. A leader that vanishes while it commits, because its drive was
//! dropped, leaves the others in doubt. So before it commits it notes at each turn which rows those are; whoever leads
//! next looks, in its own transaction, whether they are there.

use std::sync::{Arc, Mutex, PoisonError};

use super::journal::{self, Appended, Row, Turn};
use super::lead::{Lead, Line, Told};
use super::open::Writer;
use super::{Store, StoreError, ThreadLease};

pub(super) type Turns = Line<Order, Answer>;
type Waiting = super::lead::Waiting<Order, Answer>;
type Answer = Result<Appended, StoreError>;

/// A turn, and whose it is.
pub(super) struct Order {
    lease: ThreadLease,
    turn: Turn,
    /// What an earlier leader was about to commit.
    tried: Mutex<Option<Vec<Row>>>,
}

/// More than threads are driven at once; those that come later are not held up by a long transaction.
const BATCH: usize = 64;

impl Store {
    /// Writes a turn, whole or not at all. Returns when it is on disk.
    ///
    /// # Errors
    /// When the database cannot be written, or the turn itself is wrong; then nothing of it is written.
    pub async fn append(&self, lease: &ThreadLease, turn: Turn) -> Answer {
        let order = Arc::new(Order { lease: lease.clone(), turn, tried: Mutex::default() });
        let mut place = self.shared.turns.stand(order);
        loop {
            match place.told().await {
                Told::Answer(answer) => return answer,
                Told::Lead(lead) => self.lead_turns(&lead).await,
            }
        }
    }

    async fn lead_turns(&self, lead: &Lead<Order, Answer>) {
        let writer = self.writer().await;
        let mut count = 0;
        let mut batch = lead.take(|_| {
            count += 1;
            count <= BATCH
        });
        // Whoever has left the line wants nothing written any more.
        batch.retain(|waiting| !waiting.is_gone());
        let written = match writer {
            Ok(writer) => write_together(writer, &batch).await,
            Err(error) => Err(error),
        };
        match written {
            Ok((answers, writer)) => {
                answer_each(batch, answers);
                writer.keep();
            }
            // Which of them is wrong is found out by writing each alone.
            Err(StoreError::Broken(_)) if batch.len() > 1 => {
                for waiting in batch {
                    self.write_alone(vec![waiting]).await;
                }
            }
            Err(error) => answer_each(batch, std::iter::repeat(Err(error))),
        }
    }

    async fn write_alone(&self, one: Vec<Waiting>) {
        let written = match self.writer().await {
            Ok(writer) => write_together(writer, &one).await,
            Err(error) => Err(error),
        };
        match written {
            Ok((answers, writer)) => {
                answer_each(one, answers);
                writer.keep();
            }
            Err(error) => answer_each(one, [Err(error)]),
        }
    }
}

impl Order {
    fn tried(&self) -> std::sync::MutexGuard<'_, Option<Vec<Row>>> {
        self.tried.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn write_together<'w>(
    mut writer: Writer<'w>,
    batch: &[Waiting],
) -> Result<(Vec<Answer>, Writer<'w>), StoreError> {
    if batch.is_empty() {
        return Ok((vec![], writer));
    }
    let mut appended = Vec::with_capacity(batch.len());
    let mut transaction = writer.begin().await?;
    for Waiting { order, .. } in batch {
        let tried = order.tried().clone();
        appended.push(match tried {
            Some(rows) if journal::is_written(&mut transaction, &order.lease, &order.turn, &rows).await? => {
                Appended::Done(rows)
            }
            Some(_) | None => journal::write_turn(&mut transaction, &order.lease, &order.turn).await?,
        });
    }
    for (Waiting { order, .. }, appended) in batch.iter().zip(&appended) {
        *order.tried() = if let Appended::Done(rows) = appended { Some(rows.clone()) } else { None };
    }
    transaction.commit().await?;
    Ok((appended.into_iter().map(Ok).collect(), writer))
}

fn answer_each(batch: Vec<Waiting>, answers: impl IntoIterator<Item = Answer>) {
    for (waiting, answer) in batch.into_iter().zip(answers) {
        waiting.answer(answer);
    }
}
