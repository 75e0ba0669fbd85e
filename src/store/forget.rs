//! Purpose: retention: the journal of a thread gives way to one line that continues its chain.

use super::journal::{self, Appended, NewFact, Pending, Turn};
use super::line::FORGOTTEN;
use super::{Store, StoreError, ThreadLease};
use crate::domain::Millis;

impl Store {
    /// Removes all that is known of the thread but for the keys of its deliveries, and puts this fact in its place.
    ///
    /// # Errors
    /// When the database cannot be written, or the fact is not of the type `forgotten`; then nothing is removed.
    pub async fn forget(
        &self,
        lease: &ThreadLease,
        at: Millis,
        fact: NewFact,
    ) -> Result<Appended, StoreError> {
        let turn = Turn {
            at,
            facts: vec![fact],
            consumed: vec![],
            timers: Some(vec![]),
            pending: Pending::Forbidden,
        };
        let mut writer = self.writer().await?;
        let mut transaction = writer.begin().await?;
        let appended = journal::write_turn(&mut transaction, lease, &turn).await?;
        let Appended::Done(rows) = &appended else {
            transaction.rollback().await?;
            writer.keep();
            return Ok(appended);
        };
        let [row] = rows.as_slice() else {
            return Err(StoreError::Broken("one fact makes one row".to_owned()));
        };
        if row.kind != FORGOTTEN {
            return Err(StoreError::Broken(format!("`{}` cannot stand for what is forgotten", row.kind)));
        }
        sqlx::query("DELETE FROM journal WHERE thread = $1 AND seq < $2")
            .bind(lease.thread().to_string())
            .bind(row.seq)
            .execute(&mut *transaction)
            .await?;
        sqlx::query("DELETE FROM comments WHERE thread = $1")
            .bind(lease.thread().to_string())
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        writer.keep();
        Ok(appended)
    }
}
