//! Purpose: a seat at the thread: what is said there goes out as a signed webhook, and what comes of it is watched.

use std::time::Duration;

use anyhow::{Context as _, bail};

use super::super::hook::Hook;
use super::face::Face;
use super::need::{doing, need};
use crate::domain::{Account, CommentId, Event, EventKind, ThreadRef};
use crate::engine::now;
use crate::forge::{ForgeError, Local, World};
use crate::planning::{Entry, Record, Run, RunId};
use crate::store::Store;

/// How often something that could not be saved is tried again, and the pause before each.
const RETRIES: u32 = 3;
const PAUSE: Duration = Duration::from_millis(500);
const LOOK: Duration = Duration::from_millis(150);
/// Every so many looks it is made sure that what the run does can be saved.
const LOOKS_PER_CHECK: u32 = 7;

pub(in crate::cli) struct Seat {
    pub local: Local,
    pub store: Store,
    pub hook: Hook,
    pub thread: ThreadRef,
    pub me: Account,
}

/// Something could not be saved, although it was tried again and again.
#[derive(Debug, thiserror::Error)]
#[error("this could not be saved, and three more tries did not help: {0}")]
pub(in crate::cli) struct NotSaved(String);

impl Seat {
    /// Says something on the thread.
    pub(in crate::cli) async fn say(&self, words: &str) -> anyhow::Result<CommentId> {
        let said = self.act(|world, thread| world.comment(thread, self.me.id, words, now())).await?;
        let EventKind::CommentCreated { comment } = said.kind else {
            bail!("the local forge took a comment for something else");
        };
        Ok(comment.id)
    }

    /// Does something on the thread, and tells the engine as a forge does. Both are on disk when this returns; what only
    /// the thread has is found by the sweep at the next start.
    pub(in crate::cli) async fn act(
        &self,
        deed: impl Fn(&mut World, &ThreadRef) -> Result<Event, ForgeError>,
    ) -> anyhow::Result<Event> {
        let mut tries = Tries::default();
        let event = loop {
            match self.local.with(|world| deed(world, &self.thread)) {
                Ok(done) => break done?,
                Err(error) => tries.failed(&error.to_string()).await?,
            }
        };
        let id = uuid::Uuid::now_v7().to_string();
        loop {
            match self.hook.send(&event, &id).await? {
                200 | 202 => return Ok(event),
                503 => {
                    let why = self.store.ready().await.err().map(|error| error.to_string());
                    tries.failed(why.as_deref().unwrap_or("the database takes nothing more")).await?;
                }
                status => bail!("the engine did not take what happened ({status})"),
            }
        }
    }

    pub(in crate::cli) async fn record(&self) -> anyhow::Result<Record> {
        let rows = self.store.journal(&self.thread).await?;
        let entries = rows
            .iter()
            .map(|row| Entry::from_line(row.seq, row.at, row.run.clone().map(RunId), &row.line))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Record::fold(&entries))
    }

    /// Watches until the run needs somebody, or has ended.
    pub(in crate::cli) async fn rest(&self, face: &mut Face) -> anyhow::Result<Record> {
        let mut looks = Looks::default();
        loop {
            let idle = !self.store.is_busy_with(&self.thread, now()).await?;
            let record = self.record().await?;
            if idle && rests(&record) {
                face.quiet();
                return Ok(record);
            }
            face.doing(&record.run.as_deref().map_or_else(|| "starting".to_owned(), doing));
            looks.pause(&self.store).await?;
        }
    }

    /// Watches until the engine has taken what was said.
    pub(in crate::cli) async fn heard(&self, comment: CommentId) -> anyhow::Result<Record> {
        let mut looks = Looks::default();
        loop {
            let record = self.record().await?;
            if record.has_taken(comment) {
                return Ok(record);
            }
            looks.pause(&self.store).await?;
        }
    }

    /// Returns when the journal has grown beyond this entry.
    pub(in crate::cli) async fn moved(&self, seen: i64) {
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let grown = self.record().await.is_ok_and(|record| record.seq > seen);
            // Nothing is said while it is still at it.
            if grown && matches!(self.store.is_busy_with(&self.thread, now()).await, Ok(false)) {
                return;
            }
        }
    }

    /// What the bot wrote on the thread, by comment.
    pub(in crate::cli) fn bot_comments(&self) -> Vec<(CommentId, String)> {
        let bot = self.local.bot().id;
        self.local.look(|world| {
            let comments = world.comments(&self.thread).unwrap_or_default();
            comments.into_iter().filter(|c| c.author.id == bot).map(|c| (c.id, c.body)).collect()
        })
    }

    pub(in crate::cli) fn title(&self) -> anyhow::Result<String> {
        let picture = self.local.look(|world| world.picture(&self.thread));
        Ok(picture.with_context(|| format!("{} is not on the local forge any more", self.thread))?.title)
    }
}

/// Whether there is nothing to watch any more.
fn rests(record: &Record) -> bool {
    match &record.run {
        None => record.turned_away || record.seq > 0,
        Some(run) => !run.is_live() || needs_somebody(run),
    }
}

fn needs_somebody(run: &Run) -> bool {
    need(run).is_some()
}

/// Looking again and again, and making sure now and then that what is waited for can happen.
#[derive(Default)]
struct Looks {
    count: u32,
    tries: Tries,
}

impl Looks {
    async fn pause(&mut self, store: &Store) -> Result<(), NotSaved> {
        self.count += 1;
        if self.count.is_multiple_of(LOOKS_PER_CHECK) || self.tries.count > 0 {
            match store.ready().await {
                Ok(()) => self.tries = Tries::default(),
                Err(error) => self.tries.failed(&error.to_string()).await?,
            }
        }
        tokio::time::sleep(LOOK).await;
        Ok(())
    }
}

#[derive(Default)]
struct Tries {
    count: u32,
}

impl Tries {
    /// Pauses before the next try, or says that there is none.
    async fn failed(&mut self, why: &str) -> Result<(), NotSaved> {
        self.count += 1;
        if self.count > RETRIES {
            return Err(NotSaved(why.to_owned()));
        }
        tokio::time::sleep(PAUSE).await;
        Ok(())
    }
}
