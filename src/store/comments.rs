//! Purpose: which comment on the forge belongs to which effect, so that a comment is never posted twice.

use sqlx::{AnyConnection, Row as _};

use super::{Held, Store, StoreError, ThreadLease, leases};
use crate::domain::{CommentId, Millis, ThreadRef};

#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommentState {
    /// Nobody has tried to post it. From now on it counts as begun.
    Fresh,
    /// A POST may have happened, before a crash say: look for the comment before posting.
    Begun,
    Posted {
        id: CommentId,
        /// Of the body as it was last written; something else where what it shows is not known.
        body_hash: String,
    },
    /// Nothing is written: the thread belongs to somebody else now.
    LeaseLost,
}

impl Store {
    /// To be called before a comment is posted.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub async fn comment_begin(
        &self,
        lease: &ThreadLease,
        key: &str,
        at: Millis,
    ) -> Result<CommentState, StoreError> {
        let mut writer = self.writer().await?;
        let mut transaction = writer.begin().await?;
        let state = begin(&mut transaction, lease, key, at).await?;
        transaction.commit().await?;
        writer.keep();
        Ok(state)
    }

    /// # Errors
    /// When the database cannot be written.
    pub async fn comment_posted(
        &self,
        lease: &ThreadLease,
        key: &str,
        id: CommentId,
        body_hash: &str,
    ) -> Result<Held, StoreError> {
        let query =
            sqlx::query("UPDATE comments SET comment_id = $3, body_hash = $4 WHERE thread = $1 AND key = $2")
                .bind(lease.thread().to_string())
                .bind(key)
                .bind(id.0)
                .bind(body_hash);
        self.while_held(lease, query).await
    }

    /// The comment was edited and shows what has the hash `after`. Whatever was noted since `before` was read stays: nobody
    /// can tell whether the edit came first.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub async fn comment_edited(
        &self,
        lease: &ThreadLease,
        key: &str,
        before: &str,
        after: &str,
    ) -> Result<Held, StoreError> {
        let query = sqlx::query(
            "UPDATE comments SET body_hash = $4 WHERE thread = $1 AND key = $2 AND body_hash = $3",
        )
        .bind(lease.thread().to_string())
        .bind(key)
        .bind(before)
        .bind(after);
        self.while_held(lease, query).await
    }

    /// Somebody deleted the comment: the next [`Store::comment_begin`] says that it may or may not be there.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub async fn comment_forgotten(&self, lease: &ThreadLease, key: &str) -> Result<Held, StoreError> {
        let query = sqlx::query("UPDATE comments SET comment_id = NULL WHERE thread = $1 AND key = $2")
            .bind(lease.thread().to_string())
            .bind(key);
        self.while_held(lease, query).await
    }

    /// The key under which this comment was posted, if it is one of ours.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn comment_key(&self, thread: &ThreadRef, id: CommentId) -> Result<Option<String>, StoreError> {
        let key = sqlx::query_scalar("SELECT key FROM comments WHERE thread = $1 AND comment_id = $2")
            .bind(thread.to_string())
            .bind(id.0);
        Ok(key.fetch_optional(&self.shared.readers).await?)
    }

    /// The hash of what was last posted as this comment; something else where somebody has changed it since.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn comment_hash(
        &self,
        thread: &ThreadRef,
        id: CommentId,
    ) -> Result<Option<String>, StoreError> {
        let hash: Option<Option<String>> =
            sqlx::query_scalar("SELECT body_hash FROM comments WHERE thread = $1 AND comment_id = $2")
                .bind(thread.to_string())
                .bind(id.0)
                .fetch_optional(&self.shared.readers)
                .await?;
        Ok(hash.flatten())
    }

    /// As [`Store::comment_forgotten`], when only the comment's id on the forge is known.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub async fn comment_deleted(&self, lease: &ThreadLease, id: CommentId) -> Result<Held, StoreError> {
        let query =
            sqlx::query("UPDATE comments SET comment_id = NULL WHERE thread = $1 AND comment_id = $2")
                .bind(lease.thread().to_string())
                .bind(id.0);
        self.while_held(lease, query).await
    }

    /// Somebody changed the comment: it shows something else than what was posted last.
    ///
    /// # Errors
    /// When the database cannot be written.
    pub async fn comment_altered(
        &self,
        lease: &ThreadLease,
        id: CommentId,
        at: Millis,
    ) -> Result<Held, StoreError> {
        // The time tells one change from the next, for whoever is editing it just now.
        let query = sqlx::query("UPDATE comments SET body_hash = $3 WHERE thread = $1 AND comment_id = $2")
            .bind(lease.thread().to_string())
            .bind(id.0)
            .bind(format!("altered at {}", at.0));
        self.while_held(lease, query).await
    }

    /// Carries out this one change, if the thread is still the holder's.
    pub(super) async fn while_held(
        &self,
        lease: &ThreadLease,
        query: sqlx::query::Query<'_, sqlx::Any, sqlx::any::AnyArguments>,
    ) -> Result<Held, StoreError> {
        let mut writer = self.writer().await?;
        let mut transaction = writer.begin().await?;
        let held = leases::hold(&mut transaction, lease).await?;
        if held == Held::Yes {
            query.execute(&mut *transaction).await?;
        }
        transaction.commit().await?;
        writer.keep();
        Ok(held)
    }
}

async fn begin(
    connection: &mut AnyConnection,
    lease: &ThreadLease,
    key: &str,
    at: Millis,
) -> Result<CommentState, StoreError> {
    if leases::hold(connection, lease).await? == Held::Lost {
        return Ok(CommentState::LeaseLost);
    }
    let thread = lease.thread().to_string();
    let row = sqlx::query("SELECT comment_id, body_hash FROM comments WHERE thread = $1 AND key = $2")
        .bind(thread.as_str())
        .bind(key)
        .fetch_optional(&mut *connection)
        .await?;
    if let Some(row) = row {
        return state_of(&row);
    }
    sqlx::query("INSERT INTO comments (thread, key, begun_at) VALUES ($1, $2, $3)")
        .bind(thread)
        .bind(key)
        .bind(at.0)
        .execute(connection)
        .await?;
    Ok(CommentState::Fresh)
}

fn state_of(row: &sqlx::any::AnyRow) -> Result<CommentState, StoreError> {
    let id: Option<i64> = row.try_get("comment_id")?;
    let body_hash: Option<String> = row.try_get("body_hash")?;
    Ok(match (id, body_hash) {
        (Some(id), Some(body_hash)) => CommentState::Posted { id: CommentId(id), body_hash },
        (Some(_) | None, _) => CommentState::Begun,
    })
}
