//! Purpose: one drive: hold a thread's lease, take its deliveries, do what its run wants, until nothing is left.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast;
use tokio::task::{AbortHandle, JoinError, JoinSet};
use tokio::time::Instant;

use tokio_util::sync::CancellationToken;

use super::asides::Manner;
use super::ctx::Ctx;
use super::deliver::Closed;
use super::desk::Desk;
use super::gate::Gate;
use super::hands::Benches;
use super::publish::{Drawn, Picture, Published};
use super::settings::{Settled, settings};
use super::{deliver, perform, publish};
use crate::domain::{Millis, ThreadRef};
use crate::plan::ActionId;
use crate::planning::{
    AskProblem, CrewFact, Effect, Fact, InFlight, Key, Phase, Policy, Run, RunId, keeps, next_effects,
};
use crate::store::{Held, ThreadLease};

/// While a run is busy its card is edited at most this often; the last state is always drawn before the lease goes back.
const CARD_EVERY: Duration = Duration::from_secs(3);
const TICK: Duration = Duration::from_millis(500);
/// How long the end of an action waits for the beginning of the next, to share its append.
const SHARE: Duration = Duration::from_millis(5);
const POLICY_EVERY: Duration = Duration::from_secs(30);
/// How long a drive may take to notice that the server stops.
const GRACE: Duration = Duration::from_secs(2);

#[tracing::instrument(skip_all, fields(thread = %lease.thread()))]
pub(super) async fn drive(ctx: Arc<Ctx>, lease: ThreadLease) {
    let thread = lease.thread().clone();
    let driven = tokio::select! {
        driven = run(&ctx, lease.clone()) => driven,
        lost = keep_lease(&ctx, &lease) => Err(lost),
        () = shutdown_and_grace(&ctx) => Ok(Rest::Until(Some(ctx.now()))),
    };
    let rest = driven.unwrap_or_else(|error| {
        tracing::error!("cannot go on with {thread}, will try again: {error:#}");
        Rest::Stumbled(ctx.soon(&thread))
    });
    let given_back = match rest {
        Rest::Until(wake_at) => {
            ctx.setbacks.forget(&thread);
            ctx.store.release(lease, wake_at).await
        }
        Rest::PutOff(until) => {
            ctx.setbacks.count(&thread);
            ctx.store.put_off(lease, until).await
        }
        Rest::Stumbled(until) => {
            ctx.setbacks.count(&thread);
            ctx.store.stumble(lease, until).await
        }
    };
    if let Err(error) = given_back {
        tracing::error!("cannot give back the lease on {thread}, it will run out by itself: {error:#}");
    }
}

/// Renews the lease for as long as it can; returns why it could not. It runs beside the drive, because with a slow forge
/// one delivery may take longer to read than a lease lasts.
async fn keep_lease(ctx: &Ctx, lease: &ThreadLease) -> anyhow::Error {
    let third = Duration::from_millis(ctx.lease_ms.unsigned_abs() / 3);
    loop {
        tokio::time::sleep(third).await;
        match ctx.store.renew(lease, ctx.now(), ctx.lease_ms).await {
            Ok(Held::Yes) => {}
            Ok(Held::Lost) => return anyhow::anyhow!("the lease on {} was lost", lease.thread()),
            Err(error) => return anyhow::Error::new(error).context("cannot renew the lease"),
        }
    }
}

/// A drive that waits for a forge does not look up; what it has not appended yet is simply done again.
async fn shutdown_and_grace(ctx: &Ctx) {
    ctx.shutdown.cancelled().await;
    tokio::time::sleep(GRACE).await;
}

/// How a drive ends.
enum Rest {
    /// All is done; the next timer, if any, wakes the thread.
    Until(Option<Millis>),
    /// Something was out of reach; what waits in the inbox stays there until then.
    PutOff(Millis),
    /// A fault of our own, most likely: tried again then, or when the server has started anew.
    Stumbled(Millis),
}

/// What an effect under way ends with.
pub(super) enum Done {
    Facts(Vec<Fact>),
    /// The end of an action.
    Acted(Vec<Fact>),
    /// An action that this process began was not touched after all.
    Untouched {
        action: ActionId,
        facts: Vec<Fact>,
    },
    Gate {
        action: ActionId,
        said: Gate,
    },
    Published(Published),
}

pub(super) struct Drive<'a> {
    pub(super) ctx: &'a Arc<Ctx>,
    pub(super) desk: Desk,
    /// Effects run as tasks of their own: one that waited for the drive to look at it could hold the store's one writer
    /// while the drive itself waits for that writer. Dropping the set ends them all.
    pub(super) under_way: JoinSet<(Key, Done)>,
    pub(super) handles: BTreeMap<Key, AbortHandle>,
    /// Ends an action in an orderly way: its processes are asked to go first.
    pub(super) stops: BTreeMap<Key, CancellationToken>,
    pub(super) benches: Arc<Benches>,
    pub(super) policy: Policy,
    pub(super) policy_at: Option<Instant>,
    /// When to try again to read what nothing can go on without.
    pub(super) try_after: Option<Millis>,
    /// What the forge was last seen to show.
    pub(super) shown: Option<Picture>,
    /// Somebody changed what it shows.
    pub(super) altered: bool,
    pub(super) drawn_at: Option<Instant>,
    /// When to try again to show what could not be shown.
    pub(super) draw_after: Option<Millis>,
    /// Whether something waits in the inbox until it is known what it may answer.
    pub(super) unheard: bool,
    /// Deliveries that cannot be read yet, each with the time to try again.
    pub(super) put_off: BTreeMap<String, Millis>,
}

/// Drives until nothing is left to do now.
async fn run(ctx: &Arc<Ctx>, lease: ThreadLease) -> anyhow::Result<Rest> {
    let mut pokes = ctx.pokes.subscribe();
    let desk = Desk::load(ctx, lease).await?;
    let mut drive = Drive {
        ctx,
        desk,
        under_way: JoinSet::new(),
        handles: BTreeMap::new(),
        stops: BTreeMap::new(),
        benches: Arc::default(),
        policy: ctx.policy.clone(),
        policy_at: None,
        try_after: None,
        shown: None,
        altered: false,
        drawn_at: None,
        draw_after: None,
        unheard: false,
        put_off: BTreeMap::new(),
    };
    loop {
        drive.take_deliveries().await?;
        drive.drop_unwanted();
        drive.put_away_left();
        let timers = drive.start_effects().await?;
        drive.start_publishing().await?;
        // Whoever only hears stays: what the run wants next is left to who comes after.
        if drive.handles.is_empty() && !ctx.only_hears {
            return drive.finish(timers).await;
        }
        tokio::select! {
            Some(ended) = drive.under_way.join_next() => drive.take_result(ended).await?,
            () = tokio::time::sleep(SHARE), if drive.desk.is_holding() => drive.desk.flush(ctx).await?,
            () = poked(&mut pokes, drive.desk.thread()) => {}
            () = tokio::time::sleep(TICK) => {}
            () = ctx.shutdown.cancelled() => {
                drive.desk.flush(ctx).await?;
                return Ok(Rest::Until(Some(ctx.now())));
            }
        }
    }
}

impl Drive<'_> {
    /// A run that ended or moved on does not wait for the answer to an old question.
    fn drop_unwanted(&mut self) {
        let run = self.desk.record.run.as_deref();
        for (key, handle) in &self.handles {
            if *key == publish::key() || run.is_some_and(|run| keeps(run, key)) {
                continue;
            }
            match self.stops.get(key) {
                Some(stop) => stop.cancel(),
                None => handle.abort(),
            }
        }
    }

    /// Starts what the run wants now; returns the times it wants to wait for.
    async fn start_effects(&mut self) -> anyhow::Result<Vec<(String, Millis)>> {
        let mut timers = vec![];
        if self.ctx.only_hears || !self.look_up_policy().await {
            return Ok(timers);
        }
        loop {
            let in_flight: InFlight = self.handles.keys().cloned().collect();
            let Some(run) = self.desk.record.live_run() else { return Ok(timers) };
            let effects = next_effects(run, &in_flight, &self.policy);
            let mut changed = false;
            timers.clear();
            for effect in effects {
                changed |= self.start(effect, &mut timers).await?;
            }
            if !changed {
                return Ok(timers);
            }
        }
    }

    /// Returns whether the record changed by it.
    async fn start(&mut self, effect: Effect, timers: &mut Vec<(String, Millis)>) -> anyhow::Result<bool> {
        match effect {
            Effect::Ask { key, question } => {
                self.desk.append(self.ctx, vec![Fact::AskBegun { key: key.clone() }], vec![]).await?;
                let (record, policy) = (self.desk.record.clone(), self.policy.clone());
                let ask = perform::ask(self.errand(), record, policy);
                self.launch(key.clone(), async move { Done::Facts(ask(key, question).await) });
                Ok(false)
            }
            Effect::Preflight { key } => {
                self.look_at_repository(key);
                Ok(false)
            }
            Effect::Begin { key, action } => {
                // What waits unread may be a stop.
                if self.put_off.is_empty() && !self.unheard {
                    self.ask_at_gate(key, action);
                }
                Ok(false)
            }
            Effect::Act { key, action } => {
                self.act(key, &action, None);
                Ok(false)
            }
            Effect::Use { key, action, call } => {
                if self.put_off.is_empty() {
                    self.act(key, &action, Some(call));
                }
                Ok(false)
            }
            Effect::Merge { key, step } => {
                self.merge(key, step);
                Ok(false)
            }
            Effect::Escalate { key, plea } => {
                self.escalate(key, *plea);
                Ok(false)
            }
            Effect::Deliver { key } => {
                if self.put_off.is_empty() {
                    self.deliver(key);
                }
                Ok(false)
            }
            Effect::Wait { key, until } if until <= self.ctx.now() => {
                self.desk.append(self.ctx, vec![Fact::TimerFired { key }], vec![]).await?;
                Ok(true)
            }
            Effect::Wait { key, until } => {
                timers.push((key.0, until));
                Ok(false)
            }
            Effect::Note { facts, .. } => {
                self.desk.note(self.ctx, facts).await?;
                Ok(true)
            }
        }
    }

    pub(super) fn launch(&mut self, key: Key, work: impl Future<Output = Done> + Send + 'static) {
        let name = key.clone();
        let handle = self.under_way.spawn(async move { (name, work.await) });
        self.handles.insert(key, handle);
    }

    /// The numbers of this repository; false while they cannot be read, and then nothing new is begun. Before people are
    /// asked they are always read again: what is asked for must be what the settings want.
    async fn look_up_policy(&mut self) -> bool {
        let Some(run) = self.desk.record.live_run() else { return true };
        let asking = run.phase() == Phase::Approve;
        if !asking && self.policy_at.is_some_and(|at| at.elapsed() < POLICY_EVERY) {
            return true;
        }
        self.try_after = None;
        match settings(self.ctx, &self.desk.thread().project).await {
            Ok(Settled::Settings(settings)) => {
                self.policy = self.ctx.policy_for(&settings);
                let fallback = self.policy.crew.on_no_answer;
                self.desk.manner = Manner { notices: settings.notices, fallback };
            }
            // Looking at the repository will say so, and end the run.
            Ok(Settled::BrokenFile(_)) => self.policy = Policy { auto: None, ..self.ctx.policy.clone() },
            Err(error) => {
                tracing::warn!("cannot read the settings of {}: {error}", self.desk.thread().project);
                self.try_after = Some(self.ctx.again(self.desk.thread(), &error));
                return false;
            }
        }
        self.policy_at = Some(Instant::now());
        true
    }

    /// One publication at a time, and only when the picture differs. A busy run is drawn now and then, a quiet one at
    /// once.
    async fn start_publishing(&mut self) -> anyhow::Result<()> {
        let busy = !self.handles.is_empty();
        let recent = self.drawn_at.is_some_and(|at| at.elapsed() < CARD_EVERY);
        // Drawing takes longer than most actions do.
        if busy && recent && !Picture::is_owed(&self.desk) {
            return Ok(());
        }
        let picture = Picture::of(self.ctx, &self.desk);
        let held_back = self.draw_after.is_some_and(|at| at > self.ctx.now());
        let same = !self.altered && self.shown.as_ref() == Some(&picture);
        if same || held_back || self.handles.contains_key(&publish::key()) {
            return Ok(());
        }
        // Nothing is shown that the journal does not have.
        self.desk.flush(self.ctx).await?;
        self.drawn_at = Some(Instant::now());
        self.altered = false;
        let publication = publish::publish(Arc::clone(self.ctx), self.desk.lease.clone(), picture);
        self.launch(publish::key(), async move { Done::Published(publication.await) });
        Ok(())
    }

    async fn take_result(&mut self, ended: Result<(Key, Done), JoinError>) -> anyhow::Result<()> {
        let (key, done) = match ended {
            Ok(ended) => ended,
            Err(error) => return self.take_end(&error).await,
        };
        self.handles.remove(&key);
        self.stops.remove(&key);
        match done {
            Done::Facts(facts) => self.take_facts(facts).await,
            Done::Acted(facts) => self.desk.hold(self.ctx, facts),
            Done::Untouched { action, facts } => {
                self.desk.append(self.ctx, facts, vec![]).await?;
                self.note_begun(&action);
                Ok(())
            }
            Done::Gate { action, said } => self.take_gate(key, action, said).await,
            Done::Published(Published { run, mut replied, drawn }) => {
                self.drop_foreign(run.as_ref(), &mut replied);
                (self.shown, self.draw_after) = match drawn {
                    Drawn::Shown(picture) => (Some(picture), None),
                    // Part of it may be drawn, and what somebody changed is still to be put right.
                    Drawn::Later(at) => (None, Some(at)),
                };
                self.desk.append(self.ctx, replied, vec![]).await
            }
        }
    }

    /// A preview of a run that has ended meanwhile is none of the run that lives now.
    fn drop_foreign(&self, run: Option<&RunId>, replied: &mut Vec<Fact>) {
        let newest = self.desk.record.run.as_deref();
        let own = newest.filter(|newest| Some(&newest.id) == run);
        let of_run = |fact: &Fact| matches!(fact, Fact::PreviewPosted { .. } | Fact::Talk(_) | Fact::Crew(_));
        replied.retain(|fact| match own {
            Some(own) if own.is_live() => is_news(own, fact),
            Some(_) => !of_run(fact) || fact.outlives_its_run(),
            None => !of_run(fact),
        });
    }

    async fn take_facts(&mut self, facts: Vec<Fact>) -> anyhow::Result<()> {
        let worked = facts.iter().find_map(|fact| {
            if let Fact::Worked { action, .. } = fact { Some(action.clone()) } else { None }
        });
        self.desk.append(self.ctx, facts, vec![]).await?;
        worked.iter().for_each(|action| self.note_begun(action));
        Ok(())
    }

    /// An effect that was dropped on purpose has nothing to report. A question that panicked ends the run: it would panic
    /// again, and cost another model call each time.
    async fn take_end(&mut self, error: &JoinError) -> anyhow::Result<()> {
        let key =
            self.handles.iter().find(|(_, handle)| handle.id() == error.id()).map(|(key, _)| key.clone());
        self.handles.retain(|_, handle| handle.id() != error.id());
        if let Some(key) = &key {
            self.stops.remove(key);
        }
        let Some(key) = key.filter(|_| !error.is_cancelled()) else { return Ok(()) };
        anyhow::ensure!(key != publish::key(), "showing {} failed: {error}", self.desk.thread());
        tracing::error!("the effect {key} failed: {error}");
        let reason = "I made a mistake while thinking; the log of my server says more.".to_owned();
        let problem = AskProblem::Lasting;
        let failed = Fact::AskFailed { key, problem, reason, usage: None, not_before: None };
        self.desk.append(self.ctx, vec![failed], vec![]).await
    }

    /// What a run that has ended has made is on the forge before another begins, which looks for it there.
    pub(super) async fn close_last(&self) -> Closed {
        let errand = self.errand();
        let has_worked = errand.run.as_ref().is_some_and(|run| !run.is_live() && !run.work.is_empty());
        if !has_worked || self.ctx.only_hears {
            return Closed::Yes;
        }
        if self.handles.keys().any(|key| *key != publish::key()) {
            return Closed::NotYet;
        }
        deliver::put_away(&errand).await
    }

    async fn finish(mut self, timers: Vec<(String, Millis)>) -> anyhow::Result<Rest> {
        self.desk.flush(self.ctx).await?;
        let closed = self.close_last().await;
        let wake_at = timers.iter().map(|(_, at)| *at).min();
        self.desk.set_timers(self.ctx, timers).await?;
        let again = self.put_off.values().copied().chain(self.draw_after).chain(self.try_after).min();
        if again.is_none() && closed == Closed::Yes {
            self.forget_if_due().await?;
        }
        Ok(match again {
            None => Rest::Until(wake_at),
            Some(at) => Rest::PutOff(wake_at.map_or(at, |wake_at| wake_at.min(at))),
        })
    }
}

/// That the forge does not take a question is written down once, however often it is tried.
fn is_news(run: &Run, fact: &Fact) -> bool {
    let Fact::Crew(CrewFact::EscalationUnposted { number, .. }) = fact else { return true };
    run.crew.escalation(*number).is_some_and(|known| known.comment.is_none() && known.unposted.is_none())
}

/// Resolves when this thread is poked. A lagging receiver counts as poked: something may have been missed.
async fn poked(pokes: &mut broadcast::Receiver<ThreadRef>, thread: &ThreadRef) {
    loop {
        match pokes.recv().await {
            Ok(other) if other != *thread => {}
            Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => return,
            Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
        }
    }
}
