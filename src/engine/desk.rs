//! Purpose: a thread on the desk: its lease, its record, and the one way to append to its journal.

use anyhow::{Context as _, bail};

use super::ctx::Ctx;
use crate::domain::{Millis, ThreadRef};
use crate::planning::{Entry, Fact, Record, RunId};
use crate::render::Voice;
use crate::store::{Appended, NewFact, Pending, Row, ThreadLease, Turn};

pub(super) struct Desk {
    pub lease: ThreadLease,
    pub record: Record,
    pub voice: Voice,
}

impl Desk {
    pub(super) async fn load(ctx: &Ctx, lease: ThreadLease) -> anyhow::Result<Self> {
        let record = load_record(ctx, lease.thread()).await?;
        let forge = lease.thread().project.forge;
        let bot = ctx.forge(forge)?.me().await?;
        Ok(Self { lease, record, voice: Voice { forge, bot_login: bot.login } })
    }

    pub(super) fn thread(&self) -> &ThreadRef {
        self.lease.thread()
    }

    /// Appends facts and consumes deliveries in one transaction, then folds the facts into the record.
    pub(super) async fn append(
        &mut self,
        ctx: &Ctx,
        facts: Vec<Fact>,
        consumed: Vec<String>,
    ) -> anyhow::Result<()> {
        let turn = Turn {
            at: ctx.now(),
            facts: self.new_facts(ctx, facts)?,
            consumed,
            timers: None,
            pending: Pending::Allowed,
        };
        self.commit(ctx, turn).await
    }

    /// Replaces the thread's timers: the times at which it wants to be woken.
    pub(super) async fn set_timers(
        &mut self,
        ctx: &Ctx,
        timers: Vec<(String, Millis)>,
    ) -> anyhow::Result<()> {
        let turn = Turn {
            at: ctx.now(),
            facts: vec![],
            consumed: vec![],
            timers: Some(timers),
            pending: Pending::Allowed,
        };
        self.commit(ctx, turn).await
    }

    async fn commit(&mut self, ctx: &Ctx, turn: Turn) -> anyhow::Result<()> {
        let rows = match ctx.store.append(&self.lease, turn).await.context("cannot append to the journal")? {
            Appended::Done(rows) => rows,
            Appended::LeaseLost => bail!("the lease on {} was lost", self.lease.thread()),
            Appended::NotWhilePending => {
                bail!("{} has deliveries that were not taken yet", self.lease.thread())
            }
        };
        for row in &rows {
            let entry = read_row(row)?;
            tracing::info!(thread = %self.lease.thread(), fact = %row.kind, "{}: {}", self.lease.thread(), row.kind);
            self.record.apply(&entry);
        }
        if !rows.is_empty() {
            ctx.catch_up(self.lease.thread()).await;
        }
        Ok(())
    }

    /// Gives each fact the run it belongs to. A trigger begins a new one, which what follows it belongs to.
    fn new_facts(&self, ctx: &Ctx, facts: Vec<Fact>) -> anyhow::Result<Vec<NewFact>> {
        let mut live = self.record.live_run().map(|run| run.id.clone());
        let mut out = vec![];
        for fact in facts {
            if matches!(fact, Fact::Triggered { .. }) {
                live = Some(RunId(uuid::Uuid::now_v7().to_string()));
            }
            let run = if fact.is_of_thread() { None } else { live.clone() };
            let mut json = serde_json::to_value(&fact).context("cannot write a fact as JSON")?;
            // Before anything is drawn from it: escaped for Markdown, a secret would not be found any more.
            ctx.redactor.clean_json(&mut json);
            out.push(NewFact { run: run.map(|id| id.0), json });
        }
        Ok(out)
    }
}

pub(super) async fn load_record(ctx: &Ctx, thread: &ThreadRef) -> anyhow::Result<Record> {
    let rows = ctx.store.journal(thread).await.context("cannot read the journal")?;
    let entries = rows.iter().map(read_row).collect::<Result<Vec<Entry>, _>>()?;
    Ok(Record::fold(&entries))
}

fn read_row(row: &Row) -> anyhow::Result<Entry> {
    Ok(Entry::from_line(row.seq, row.at, row.run.clone().map(RunId), &row.line)?)
}
