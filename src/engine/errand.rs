//! Purpose: the part of a drive that works with hands: look at the repository, pass the gate, act, hand over.

use std::sync::{Arc, PoisonError};

use tokio_util::sync::CancellationToken;

use super::act::{Again, Begun, Doing};
use super::ctx::Ctx;
use super::desk::Written;
use super::drive::{Done, Drive};
use super::gate::{Gate, gate};
use super::hands::{Bench, Benches, Trouble, Whose};
use super::{ask_people, deliver, gate, merge, preflight};
use crate::crew::Checkout;
use crate::domain::ThreadRef;
use crate::plan::{ActionId, Call, StepId};
use crate::planning::{Effect, Fact, Key, Plea, Run, plan_tool};

impl Drive<'_> {
    /// The one who is asked about anything in the checkout.
    pub(super) fn errand(&self) -> Errand {
        Errand {
            ctx: Arc::clone(self.ctx),
            thread: self.desk.thread().clone(),
            run: self.desk.record.run.clone(),
            benches: Arc::clone(&self.benches),
        }
    }

    /// Before approval: reading only.
    pub(super) fn look_at_repository(&mut self, key: Key) {
        let errand = self.errand();
        self.launch(key.clone(), async move {
            let Some(run) = &errand.run else { return Done::Facts(vec![]) };
            Done::Facts(vec![preflight::preflight(&errand.ctx, &errand.thread, run, key).await])
        });
    }

    pub(super) fn ask_at_gate(&mut self, key: Key, action: ActionId) {
        let errand = self.errand();
        self.launch(key.clone(), async move {
            let asked = async {
                let (run, bench) = errand.ready_for(&action).await?;
                let said = gate(&errand.ctx, &errand.thread, run, &action, &bench).await?;
                Ok::<_, Trouble>(Done::Gate { action, said })
            };
            asked.await.unwrap_or_else(|trouble| Done::Facts(vec![trouble.into_fact(&errand.ctx, key)]))
        });
    }

    pub(super) fn act(&mut self, key: Key, action: &ActionId, call: Option<Call>) {
        let errand = self.errand();
        let planned = errand
            .run
            .as_deref()
            .and_then(Run::plan)
            .and_then(|plan| plan.actions().find(|a| a.id == *action));
        let Some(action) = planned.cloned() else { return };
        // Taken out: what is launched once is never again known not to have happened.
        let ours = self.ctx.begun.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
        let begun = if ours { Begun::ByUs } else { Begun::Before };
        let stop = CancellationToken::new();
        self.stops.insert(key.clone(), stop.clone());
        self.launch(key.clone(), async move {
            let id = action.id.clone();
            let (run, bench) = match errand.ready_for(&id).await {
                Ok((run, bench)) => (Arc::clone(run), bench),
                Err(trouble) => return untouched(begun, id, vec![trouble.into_fact(&errand.ctx, key)]),
            };
            let Errand { ctx, thread, .. } = errand;
            let doing = Doing { ctx, thread, run, action, bench, begun, stop, key };
            match doing.look_again(call.as_ref()).await {
                Ok(Again::GoOn) => {}
                Ok(Again::Facts(facts)) => return untouched(begun, id, facts),
                Err(trouble) => {
                    return untouched(begun, id, vec![trouble.into_fact(&doing.ctx, doing.key)]);
                }
            }
            Done::Acted(match call {
                Some(call) => doing.use_tool(call).await,
                None => doing.act().await,
            })
        });
    }

    pub(super) fn deliver(&mut self, key: Key) {
        let errand = self.errand();
        self.launch(key.clone(), async move {
            match errand.ready().await {
                Ok((run, bench)) => {
                    match gate::heard(&errand.ctx, &errand.thread, run).await {
                        Ok(signals) if signals.is_empty() => {}
                        Ok(signals) => return Done::Facts(signals),
                        Err(trouble) => return Done::Facts(vec![trouble.into_fact(&errand.ctx, key)]),
                    }
                    Done::Facts(deliver::deliver(&errand.ctx, &errand.thread, run, &bench, key).await)
                }
                Err(trouble) => Done::Facts(vec![trouble.into_fact(&errand.ctx, key)]),
            }
        });
    }

    pub(super) fn merge(&mut self, key: Key, step: StepId) {
        let errand = self.errand();
        self.finishes(&key);
        self.launch(key.clone(), async move { Done::Facts(vec![merge::merge(&errand, key, step).await]) });
    }

    /// What has begun is not broken off, whatever becomes of the run: nobody listens to this stop.
    fn finishes(&mut self, key: &Key) {
        self.stops.insert(key.clone(), CancellationToken::new());
    }

    /// Removes the checkouts of tries that came to nothing.
    pub(super) fn put_away_left(&mut self) {
        let errand = self.errand();
        let Some(run) = errand.run.filter(|run| run.is_live()) else { return };
        for lane in errand.benches.left_by(&run) {
            let key = Key(format!("put_away/{}/{lane}", run.id));
            if self.handles.contains_key(&key) {
                continue;
            }
            self.finishes(&key);
            let (ctx, benches, run) = (Arc::clone(self.ctx), Arc::clone(&self.benches), Arc::clone(&run));
            self.launch(key, async move {
                benches.put_away(&ctx, &run, &lane).await;
                Done::Facts(vec![])
            });
        }
    }

    pub(super) fn escalate(&mut self, key: Key, plea: Plea) {
        let errand = self.errand();
        self.launch(key, async move { Done::Facts(vec![ask_people::ask_people(&errand, plea).await]) });
    }

    /// What was begun or asked for in this very drive cannot have been carried out by anybody else.
    pub(super) fn note_begun(&mut self, action: &ActionId) {
        if let Some(run) = self.desk.record.live_run() {
            self.ctx.begun.lock().unwrap_or_else(PoisonError::into_inner).insert(run.key_of(action));
        }
    }

    pub(super) async fn take_gate(&mut self, key: Key, action: ActionId, said: Gate) -> anyhow::Result<()> {
        let live = self.desk.record.live_run();
        let Some(run) = live.filter(|run| run.key_of(&action) == key) else { return Ok(()) };
        let (digest, impossible) = match said {
            Gate::Facts(facts) => return self.desk.append(self.ctx, facts, vec![]).await,
            Gate::Pass { digest } => (digest, None),
            Gate::Impossible(why) => (String::new(), Some(why)),
        };
        // While the gate was asked, somebody may have paused, or skipped its step.
        let is_it =
            |effect: &Effect| matches!(effect, Effect::Begin { action: wanted, .. } if *wanted == action);
        if !plan_tool::execute(run, &self.policy).iter().any(is_it) {
            return Ok(());
        }
        let facts = match impossible {
            Some(why) => plan_tool::begin_in_vain(run, &action, &why),
            None => vec![plan_tool::begin(run, &action, digest)],
        };
        if self.desk.begin(self.ctx, facts).await? == Written::NotYet {
            // A delivery waits: it is heard first, and then the gate is asked again.
            return self.desk.flush(self.ctx).await;
        }
        self.note_begun(&action);
        Ok(())
    }
}

/// Nothing was done, so that what this process began is still known not to have happened.
fn untouched(begun: Begun, action: ActionId, facts: Vec<Fact>) -> Done {
    match begun {
        Begun::ByUs => Done::Untouched { action, facts },
        Begun::Before => Done::Facts(facts),
    }
}

/// What an effect in the checkout takes along: everything is its own, so that it can outlive a turn of the drive.
pub(super) struct Errand {
    pub ctx: Arc<Ctx>,
    pub thread: ThreadRef,
    pub run: Option<Arc<Run>>,
    pub benches: Arc<Benches>,
}

impl Errand {
    /// For somebody who has no checkout open.
    pub(super) fn new(ctx: Arc<Ctx>, thread: ThreadRef, run: Option<Arc<Run>>) -> Self {
        Self { ctx, thread, run, benches: Arc::default() }
    }

    fn run(&self) -> Result<&Arc<Run>, Trouble> {
        self.run.as_ref().ok_or_else(|| Trouble::lasting("the run has ended"))
    }

    /// The run with its checkout, which is opened if it is not yet. Its tree may be behind its branch.
    pub(super) async fn ready(&self) -> Result<(&Arc<Run>, Arc<Bench>), Trouble> {
        Ok((self.run()?, self.benches.of_run(&self.whose().await?).await?))
    }

    /// The run with the checkout in which this action is done.
    async fn ready_for(&self, action: &ActionId) -> Result<(&Arc<Run>, Arc<Bench>), Trouble> {
        let run = self.run()?;
        match run.step_of(action) {
            Some(step) => Ok((run, self.bench_of(step).await?)),
            None => Ok((run, self.bench_of_run().await?)),
        }
    }

    /// The checkout in which a step is worked on: the worker's own, or that of the run.
    pub(super) async fn bench_of(&self, step: &StepId) -> Result<Arc<Bench>, Trouble> {
        let whose = self.whose().await?;
        match whose.run.lanes.get(step).filter(|lane| lane.checkout == Checkout::Own) {
            Some(lane) => self.benches.of_lane(&whose, &lane.name(step)).await,
            None => self.bench_of_run().await,
        }
    }

    /// The run's own, with everything in its tree that was merged.
    async fn bench_of_run(&self) -> Result<Arc<Bench>, Trouble> {
        let bench = self.benches.of_run(&self.whose().await?).await?;
        bench.workspace.catch_up().await?;
        Ok(bench)
    }

    async fn whose(&self) -> Result<Whose<'_>, Trouble> {
        let (ctx, project, run) = (self.ctx.as_ref(), &self.thread.project, self.run()?);
        let forge = ctx.forge(project.forge).map_err(|error| Trouble::lasting(error.to_string()))?;
        Ok(Whose { ctx, project, run, bot: forge.me().await? })
    }
}
