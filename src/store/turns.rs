//! Purpose: group commit for the journal: threads that append while the disk is busy share one transaction, one sync.
//!
//! The scribe writes all turns that stand in line, each with its own checks; a turn that is refused writes nothing and
//! does not concern the others.

use super::journal::{self, Appended, Turn};
use super::scribe::{self, Line, Orders};
use super::{Store, StoreError, ThreadLease};

pub(super) type Turns = Line<Order, Appended>;
type Waiting = scribe::Waiting<Order, Appended>;
type Answer = Result<Appended, StoreError>;

/// A turn, and whose it is.
pub(super) struct Order {
    lease: ThreadLease,
    turn: Turn,
}

/// More than threads are driven at once; those that come later are not held up by a long transaction.
const BATCH: usize = 64;

pub(super) fn line() -> (Turns, Orders<Order, Appended>) {
    scribe::line(BATCH, |_| 1)
}

impl Store {
    /// Writes a turn, whole or not at all. Returns when it is on disk.
    ///
    /// # Errors
    /// When the database cannot be written, or the turn itself is wrong; then nothing of it is written.
    pub async fn append(&self, lease: &ThreadLease, turn: Turn) -> Answer {
        self.shared.turns.ask(Order { lease: lease.clone(), turn }).await
    }

    pub(super) async fn append_all(&self, batch: &[Waiting]) -> Vec<Answer> {
        match self.write_together(batch).await {
            Ok(answers) => answers,
            // Which of them is wrong is found out by writing each alone.
            Err(StoreError::Broken(_)) if batch.len() > 1 => self.append_one_by_one(batch).await,
            Err(error) => vec![Err(error); batch.len()],
        }
    }

    async fn append_one_by_one(&self, batch: &[Waiting]) -> Vec<Answer> {
        let mut answers = Vec::with_capacity(batch.len());
        for one in batch.chunks(1) {
            answers.extend(self.write_together(one).await.unwrap_or_else(|error| vec![Err(error)]));
        }
        answers
    }

    async fn write_together(&self, batch: &[Waiting]) -> Result<Vec<Answer>, StoreError> {
        let mut writer = self.writer().await?;
        let mut transaction = writer.begin().await?;
        let mut answers = Vec::with_capacity(batch.len());
        for waiting in batch {
            answers.push(if waiting.is_gone() {
                Err(StoreError::Unavailable("whoever has left the line wants nothing written".to_owned()))
            } else {
                let Order { lease, turn } = &waiting.order;
                Ok(journal::write_turn(&mut transaction, lease, turn).await?)
            });
        }
        transaction.commit().await?;
        writer.keep();
        Ok(answers)
    }
}
