//! Purpose: open the database, bring its tables up to date, and hand out what writes to it.

use std::sync::Arc;

use anyhow::{Context, bail};
use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::{AnyConnection, AnyPool, AssertSqlSafe, ConnectOptions, Connection, SqlSafeStr, Transaction};
use tokio::runtime::Handle;
use tokio::sync::{Mutex, MutexGuard};

use super::StoreError;
use super::batch::Inbox;
use super::location::Location;
use super::pen::Pen;
use super::scribe::{self, Desk};
use super::turns::{self, Turns};

#[derive(Clone)]
pub struct Store {
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    location: Location,
    connect: AnyConnectOptions,
    writing: Mutex<Writing>,
    pub(super) readers: AnyPool,
    pub(super) inbox: Inbox,
    pub(super) turns: Turns,
}

/// The two connections that write, each opened when it is needed. Whoever holds the lock may use one of them.
#[derive(Default)]
pub(super) struct Writing {
    connection: Option<AnyConnection>,
    pen: Option<Pen>,
}

/// Readers only wait for the disk; more of them than this would wait in line there anyway.
const READERS: u32 = 4;

impl Store {
    /// To be used while the runtime runs that opens it: whoever waits for a write is told there.
    ///
    /// # Errors
    /// When the URL is not one we know, or the database cannot be opened or brought up to date.
    pub async fn open(url: &str) -> anyhow::Result<Self> {
        sqlx::any::install_default_drivers();
        let location = Location::parse(url)?.prepare()?;
        let file = sqlx::sqlite::SqliteConnectOptions::new().filename(&location.path).to_url_lossy();
        let connect = AnyConnectOptions::from_url(&file)?.disable_statement_logging();
        let readers = readers(&location, connect.clone());
        let ((inbox, deliveries), (turns, orders)) = (Inbox::new(), turns::line());
        let shared = Shared { location, connect, writing: Mutex::default(), readers, inbox, turns };
        let store = Self { shared: Arc::new(shared) };
        scribe::start(Handle::current(), Arc::downgrade(&store.shared), Desk { deliveries, turns: orders })?;
        store
            .migrate()
            .await
            .with_context(|| format!("cannot use the database {}", store.shared.location.path.display()))?;
        Ok(store)
    }

    /// As [`Store::open`]. `None` when there is no database; then none is made.
    ///
    /// # Errors
    /// As for [`Store::open`].
    pub async fn open_existing(url: &str) -> anyhow::Result<Option<Self>> {
        let path = Location::parse(url)?.path;
        let exists =
            path.try_exists().with_context(|| format!("cannot look for the database {}", path.display()))?;
        if exists { Self::open(url).await.map(Some) } else { Ok(None) }
    }

    /// Whether a delivery could be stored now, as far as that can be known without storing one: a disk that is full is
    /// not noticed.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] with the cause, when not.
    pub async fn ready(&self) -> Result<(), StoreError> {
        let mut writer = self.writer().await?;
        let mut transaction = writer.begin().await?;
        // On a read-only database SQLite lets even an immediate transaction begin, and refuses only a change.
        sqlx::query("UPDATE threads SET fence = fence WHERE thread = ''").execute(&mut *transaction).await?;
        transaction.rollback().await?;
        writer.keep();
        Ok(())
    }

    /// Waits for what is being written and closes the files.
    pub async fn close(&self) {
        let Writing { connection, pen } = std::mem::take(&mut *self.shared.writing.lock().await);
        drop(pen);
        if let Some(connection) = connection
            && let Err(error) = connection.close().await
        {
            tracing::warn!(%error, "the database did not close cleanly; the next start will tidy up");
        }
        self.shared.readers.close().await;
    }

    pub(super) async fn writer(&self) -> Result<Writer<'_>, StoreError> {
        let mut slot = self.shared.writing.lock().await;
        let connection = match slot.connection.take() {
            Some(connection) => connection,
            None => self.connect_writer().await?,
        };
        Ok(Writer { slot, connection })
    }

    /// It blocks the thread it runs on. After an error both connections are closed: what is the matter with the disk
    /// concerns the other one, too.
    pub(super) async fn with_pen<T>(
        &self,
        write: impl FnOnce(&mut Pen) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        let mut slot = self.shared.writing.lock().await;
        let Writing { connection, pen } = std::mem::take(&mut *slot);
        let mut pen = match pen {
            Some(pen) => pen,
            None => Pen::open(&self.shared.location)?,
        };
        let written = write(&mut pen)?;
        *slot = Writing { connection, pen: Some(pen) };
        Ok(written)
    }

    #[expect(clippy::disallowed_methods, reason = "this is where the database is opened")]
    async fn connect_writer(&self) -> Result<AnyConnection, sqlx::Error> {
        let mut connection = self.shared.connect.connect().await?;
        sqlx::raw_sql(AssertSqlSafe(writer_settings(&self.shared.location))).execute(&mut connection).await?;
        Ok(connection)
    }

    async fn migrate(&self) -> anyhow::Result<()> {
        let mut writer = self.writer().await?;
        // Nothing is promised to anybody yet, so these commits need not wait for the disk: a start takes far less long.
        // The first commit afterwards brings them along.
        sqlx::raw_sql("PRAGMA synchronous = NORMAL").execute(&mut writer.connection).await?;
        let migrated = migrations().run(&mut writer.connection).await;
        if let Err(MigrateError::VersionMissing(_)) = migrated {
            bail!("it was written by a newer version of Planwright; run that one, or a newer one");
        }
        migrated?;
        sqlx::raw_sql("PRAGMA synchronous = FULL").execute(&mut writer.connection).await?;
        writer.keep();
        Ok(())
    }
}

/// The writing connection, for as long as one write takes. Dropped without [`Writer::keep`], the connection is closed
/// and what it had begun is undone; that is right after any error and whenever the caller is cancelled.
pub(super) struct Writer<'s> {
    slot: MutexGuard<'s, Writing>,
    pub(super) connection: AnyConnection,
}

impl Writer<'_> {
    /// Takes SQLite's write lock at once, so that a transaction cannot fail half-way for want of it.
    pub(super) async fn begin(&mut self) -> Result<Transaction<'_, sqlx::Any>, sqlx::Error> {
        self.connection.begin_with("BEGIN IMMEDIATE").await
    }

    pub(super) fn keep(mut self) {
        self.slot.connection = Some(self.connection);
    }
}

/// - `page_size`: four usual bodies, packed, fit into 8 KB. A batch also writes a page of each index anew, so larger pages
///   are more to write, and smaller ones hold too few bodies.
/// - `synchronous = FULL` is what makes a commit reach the disk in WAL mode; the default there does not.
/// - `wal_autocheckpoint`: at 4 MB the log is moved into the database and begins anew in the same blocks, and a sync of
///   blocks that are there takes half as long as one of a growing file. Everybody waits meanwhile: 3 ms, where a log of
///   64 MB takes 36. All waits together are half as long again as with 64 MB, because pages that many batches change are
///   moved more often; that is the price for no long one.
/// - `temp_store`: a statement of many rows keeps an undo log of its own, which would be a file, made and deleted anew
///   each time.
/// - `cache_size`: 8 MB, so that under load the index over delivery keys need not be read again for every batch. What one
///   connection has written, the other reads anew.
pub(super) fn writer_settings(location: &Location) -> String {
    let cap = location.max_page_count.map(|pages| format!("PRAGMA max_page_count = {pages};"));
    format!(
        "PRAGMA busy_timeout = {};\
         PRAGMA page_size = 8192;\
         PRAGMA journal_mode = WAL;\
         PRAGMA synchronous = FULL;\
         PRAGMA wal_autocheckpoint = 500;\
         PRAGMA journal_size_limit = 67108864;\
         PRAGMA temp_store = MEMORY;\
         PRAGMA cache_size = -8000;{}",
        location.busy_timeout_ms,
        cap.unwrap_or_default()
    )
}

#[expect(clippy::disallowed_methods, reason = "this is where the database is opened")]
fn readers(location: &Location, connect: AnyConnectOptions) -> AnyPool {
    let settings = format!("PRAGMA busy_timeout = {}; PRAGMA query_only = ON;", location.busy_timeout_ms);
    AnyPoolOptions::new()
        .max_connections(READERS)
        .test_before_acquire(false)
        .after_connect(move |connection, _| {
            let settings = settings.clone();
            Box::pin(async move {
                sqlx::raw_sql(AssertSqlSafe(settings)).execute(connection).await?;
                Ok(())
            })
        })
        .connect_lazy_with(connect)
}

fn migrations() -> Migrator {
    let step = |version, name: &'static str, sql: &'static str| {
        Migration::new(version, name.into(), MigrationType::Simple, sql.into_sql_str(), false)
    };
    Migrator::with_migrations(vec![
        step(1, "init", include_str!("migrations/0001_init.sql")),
        step(2, "dictionary", include_str!("migrations/0002_dictionary.sql")),
    ])
}
