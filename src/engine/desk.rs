//! Purpose: a thread on the desk: its lease, its record, and the one way to append to its journal.

use anyhow::{Context as _, bail};

use super::asides::Manner;
use super::ctx::Ctx;
use crate::config::Notices;
use crate::domain::{Millis, ThreadRef};
use crate::planning::{Entry, Fact, Record, ReplanFact, RunId, Verdict};
use crate::render::Voice;
use crate::store::{Appended, NewFact, Pending, Row, ThreadLease, Turn};

pub(super) struct Desk {
    pub lease: ThreadLease,
    pub record: Record,
    pub voice: Voice,
    pub manner: Manner,
    /// Facts that the record knows already and the journal does not: they share the next append, which is soon.
    held: Option<Held>,
}

struct Held {
    at: Millis,
    facts: Vec<NewFact>,
}

/// Whether a turn was written.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    Yes,
    /// A delivery waits that has to be heard first.
    NotYet,
}

impl Desk {
    pub(super) async fn load(ctx: &Ctx, lease: ThreadLease) -> anyhow::Result<Self> {
        let record = load_record(ctx, lease.thread()).await?;
        if record.seq > 0 {
            // Whoever held the thread before may have died between the commit and the file.
            ctx.catch_up(lease.thread()).await;
        }
        let forge = lease.thread().project.forge;
        let bot = ctx.forge(forge)?.me().await?;
        Ok(Self {
            lease,
            record,
            voice: Voice { forge, bot_login: bot.login },
            manner: Manner { notices: Notices::Normal, fallback: ctx.policy.crew.on_no_answer },
            held: None,
        })
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
        match self.commit(ctx, facts, Beside { consumed, timers: None, pending: Pending::Allowed }).await? {
            Written::Yes => Ok(()),
            Written::NotYet => bail!("{} has deliveries that were not taken yet", self.lease.thread()),
        }
    }

    /// Appends the beginning of an action, unless a delivery waits: it may be a stop.
    pub(super) async fn begin(&mut self, ctx: &Ctx, facts: Vec<Fact>) -> anyhow::Result<Written> {
        self.commit(ctx, facts, Beside { consumed: vec![], timers: None, pending: Pending::Forbidden }).await
    }

    /// Takes facts into the record now and into the journal with the next append. Only for what would be found out
    /// again if the server died in between.
    pub(super) fn hold(&mut self, ctx: &Ctx, facts: Vec<Fact>) -> anyhow::Result<()> {
        let at = self.held.as_ref().map_or_else(|| ctx.now(), |held| held.at);
        let facts = self.new_facts(ctx, facts)?;
        for fact in &facts {
            let run = fact.run.clone().map(RunId);
            let entry =
                Entry { seq: self.record.seq + 1, at, run, fact: serde_json::from_value(fact.json.clone())? };
            self.record.apply(&entry);
        }
        self.held.get_or_insert(Held { at, facts: vec![] }).facts.extend(facts);
        Ok(())
    }

    /// Writes down what follows from what is known; what can wait for the next append does.
    pub(super) async fn note(&mut self, ctx: &Ctx, facts: Vec<Fact>) -> anyhow::Result<()> {
        let wait = facts.iter().all(|fact| matches!(fact, Fact::Crew(fact) if fact.may_wait()));
        if wait { self.hold(ctx, facts) } else { self.append(ctx, facts, vec![]).await }
    }

    pub(super) fn is_holding(&self) -> bool {
        self.held.is_some()
    }

    /// Writes what is held back.
    pub(super) async fn flush(&mut self, ctx: &Ctx) -> anyhow::Result<()> {
        if self.is_holding() { self.append(ctx, vec![], vec![]).await } else { Ok(()) }
    }

    /// Replaces the thread's timers: the times at which it wants to be woken.
    pub(super) async fn set_timers(
        &mut self,
        ctx: &Ctx,
        timers: Vec<(String, Millis)>,
    ) -> anyhow::Result<()> {
        let beside = Beside { consumed: vec![], timers: Some(timers), pending: Pending::Allowed };
        self.commit(ctx, vec![], beside).await.map(|_| ())
    }

    async fn commit(&mut self, ctx: &Ctx, facts: Vec<Fact>, beside: Beside) -> anyhow::Result<Written> {
        let Beside { consumed, timers, pending } = beside;
        let mut new = self.new_facts(ctx, facts)?;
        let held = self.held.as_ref().map_or(0, |held| held.facts.len());
        let at = self.held.as_ref().map_or_else(|| ctx.now(), |held| held.at);
        if let Some(held) = &self.held {
            new.splice(0..0, held.facts.iter().cloned());
        }
        let turn = Turn { at, facts: new, consumed, timers, pending };
        let rows = match ctx.store.append(&self.lease, turn).await.context("cannot append to the journal")? {
            Appended::Done(rows) => rows,
            Appended::LeaseLost => bail!("the lease on {} was lost", self.lease.thread()),
            Appended::NotWhilePending => return Ok(Written::NotYet),
        };
        self.held = None;
        for (place, row) in rows.iter().enumerate() {
            tracing::info!(thread = %self.lease.thread(), fact = %row.kind, "{}: {}", self.lease.thread(), row.kind);
            if place >= held {
                let entry = read_row(row)?;
                warn_if_unsure(self.lease.thread(), &entry.fact);
                self.record.apply(&entry);
            }
        }
        if !rows.is_empty() {
            ctx.follow(self.lease.thread(), rows).await;
        }
        Ok(Written::Yes)
    }

    /// Gives each fact the run it belongs to. A trigger begins a new one, which what follows it belongs to. What began
    /// before the end of a run may come to its own end after it.
    fn new_facts(&self, ctx: &Ctx, facts: Vec<Fact>) -> anyhow::Result<Vec<NewFact>> {
        let mut newest = self.record.run.as_ref().map(|run| run.id.clone());
        let mut out = vec![];
        for fact in facts {
            if matches!(fact, Fact::Triggered { .. }) {
                newest = Some(RunId(format!("{}{}", ctx.run_prefix, uuid::Uuid::now_v7())));
            }
            let run = if fact.is_of_thread() { None } else { newest.clone() };
            let mut json = serde_json::to_value(&fact).context("cannot write a fact as JSON")?;
            // Before anything is drawn from it: escaped for Markdown, a secret would not be found any more.
            ctx.redactor.clean_json(&mut json);
            out.push(NewFact { run: run.map(|id| id.0), json });
        }
        Ok(out)
    }
}

/// A replan that is done although the model is not quite sure is worth a look by whoever runs the bot.
fn warn_if_unsure(thread: &ThreadRef, fact: &Fact) {
    if let Fact::Replan(ReplanFact::ReplanDecision { replan_id, phase, confidence, verdict, .. }) = fact
        && let Verdict::Replan { level, sure: false } = verdict
    {
        tracing::warn!(
            %thread,
            replan = replan_id,
            "{thread}: replan {replan_id} after {} goes back to level {} at a confidence of only {confidence:.2}",
            phase.as_str(),
            level.number()
        );
    }
}

/// What is written together with facts.
struct Beside {
    consumed: Vec<String>,
    timers: Option<Vec<(String, Millis)>>,
    pending: Pending,
}

pub(super) async fn load_record(ctx: &Ctx, thread: &ThreadRef) -> anyhow::Result<Record> {
    let rows = ctx.store.journal(thread).await.context("cannot read the journal")?;
    let entries = rows.iter().map(read_row).collect::<Result<Vec<Entry>, _>>()?;
    Ok(Record::fold(&entries))
}

fn read_row(row: &Row) -> anyhow::Result<Entry> {
    Ok(Entry::from_line(row.seq, row.at, row.run.clone().map(RunId), &row.line)?)
}
