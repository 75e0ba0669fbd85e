//! Purpose: one sitting: the engine at work on the thread, the conversation beside it, and the last words.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use serde_json::json;

use super::super::out::complain;
use super::super::serve::Signals;
use super::super::terminal::{DIM, paint};
use super::Way;
use super::face::Face;
use super::guest::Guest;
use super::outcome::{self, INTERRUPTED, WAITING};
use super::place::Repository;
use super::seat::{NotSaved, Seat};
use super::stand::{Stand, beside, swept};
use super::story::{Over, Story};
use super::table::{Opening, Table};
use crate::config::{Config, Env};
use crate::engine::{Ctx, now};
use crate::llm::Model;
use crate::planning::{Policy, RunId};

/// Tries while somebody waits for it; a server has more time.
const RETRY_AFTER_MS: [i64; 3] = [1_000, 3_000, 9_000];
const PATIENCE_MS: i64 = 2_000;

pub(in crate::cli) struct Sitting {
    pub table: Table,
    pub guest: Guest,
    pub way: Way,
}

impl Sitting {
    pub(in crate::cli) async fn hold(mut self, config: Config, env: &Env) -> anyhow::Result<ExitCode> {
        let way = self.way;
        let stand = Stand::open(&self.table, config, env, |ctx| tune(ctx, way)).await?;
        let Stand { app, listener, seat } = stand;
        let (ctx, mut signals) = (Arc::clone(&app.ctx), Signals::listen()?);
        let telling = async {
            let told = tokio::select! {
                told = self.tell(&ctx, &seat) => Some(told),
                () = signals.heard() => None,
                () = ctx.shutdown.cancelled() => Some(Err(anyhow!("the engine has stopped"))),
            };
            self.farewell(told, &seat).await
        };
        beside(app, listener, telling).await
    }

    async fn tell(&mut self, ctx: &Ctx, seat: &Seat) -> anyhow::Result<ExitCode> {
        swept(ctx).await?;
        let before = seat.bot_comments();
        let id = self.open(seat).await?;
        if let Some(id) = &id {
            self.introduce(ctx, seat, id)?;
        }
        let over = Story::new(seat, &mut self.guest, self.way, id.clone(), &before).tell().await?;
        let face = &mut self.guest.face;
        Ok(match over {
            Over::Ended => {
                let run = seat.record().await?.run.context("the run is gone")?;
                outcome::ended(&run, &self.table.repository, face)
            }
            Over::NotBegun => {
                face.event(&json!({"event": "outcome", "state": "not_begun"}));
                complain("planwright: the run did not begin");
                ExitCode::FAILURE
            }
            Over::Later => {
                let go_on = self.way.go_on(id.as_ref(), &self.guest.config_option);
                face.event(&json!({"event": "outcome", "run": id, "state": "ready", "go_on": go_on}));
                face.tell(&format!("\nNothing was carried out. Go on later with\n  {go_on}"));
                ExitCode::SUCCESS
            }
            Over::Waiting => ExitCode::from(WAITING),
        })
    }

    /// Lets a run begin, if it is not there; its name as soon as it has one, and none when the bot was not allowed to.
    async fn open(&mut self, seat: &Seat) -> anyhow::Result<Option<RunId>> {
        let seen = seat.record().await?.seq;
        let ended = match &self.table.opening {
            Opening::Assign => {
                let bot = seat.local.bot().id;
                seat.act(|world, thread| world.assign(thread, bot, seat.me.id, now())).await?;
                None
            }
            Opening::Retry(ended) => {
                seat.say("/retry").await?;
                Some(ended)
            }
            Opening::GoOn => None,
        };
        begun(seat, &mut self.guest.face, ended, seen).await
    }

    fn introduce(&mut self, ctx: &Ctx, seat: &Seat, id: &RunId) -> anyhow::Result<()> {
        let Repository { git, branch, dirty, .. } = &self.table.repository;
        let offline = matches!(ctx.planner, Model::Offline { .. });
        let (face, resumed) = (&mut self.guest.face, self.table.opening == Opening::GoOn);
        face.event(&json!({
            "event": "run", "run": id, "thread": seat.thread, "resumed": resumed,
            "model": ctx.planner.name(), "offline": offline, "repository": git, "branch": branch,
        }));
        let model = if offline {
            "offline: answers by rules, no language model (see `models:` in the settings)"
        } else {
            ctx.planner.name()
        };
        let what = seat.title()?;
        face.tell(&format!("{what}\n{}", paint(DIM, &format!("{id} · {}", seat.thread))));
        face.tell(&paint(DIM, &format!("branch {branch} of {} · model {model}", git.display())));
        if *dirty {
            face.tell(&paint(DIM, "What is not committed is not seen, and is left alone."));
        }
        Ok(())
    }

    /// The last words about what went wrong, or about having been interrupted.
    async fn farewell(
        &mut self,
        told: Option<anyhow::Result<ExitCode>>,
        seat: &Seat,
    ) -> anyhow::Result<ExitCode> {
        let interrupted = told.is_none();
        let unsaved = matches!(&told, Some(Err(error)) if error.is::<NotSaved>());
        if !interrupted && !unsaved {
            return told.unwrap_or(Ok(ExitCode::FAILURE));
        }
        let record = seat.record().await.ok();
        let run = record.as_ref().and_then(|record| record.live_run());
        let go_on = self.way.go_on(run.map(|run| &run.id), &self.guest.config_option);
        let face = &mut self.guest.face;
        face.quiet();
        if let Some(Err(error)) = told {
            return Err(anyhow!("{error}. Nothing is lost; go on with `{go_on}`"));
        }
        face.event(&json!({"event": "interrupted", "go_on": go_on}));
        face.tell(&format!("\nLeft. Everything so far is kept; go on with\n  {go_on}"));
        Ok(ExitCode::from(INTERRUPTED))
    }
}

/// With the patience of somebody at a terminal.
fn tune(ctx: &mut Ctx, way: Way) {
    ctx.run_prefix = way.prefix();
    ctx.patience_ms = PATIENCE_MS;
    ctx.policy = Policy { retry_after_ms: RETRY_AFTER_MS.to_vec(), ..ctx.policy.clone() };
}

/// The run that is not the one that ended.
async fn begun(
    seat: &Seat,
    face: &mut Face,
    ended: Option<&RunId>,
    seen: i64,
) -> anyhow::Result<Option<RunId>> {
    loop {
        let idle = !seat.store.is_busy_with(&seat.thread, now()).await?;
        let record = seat.record().await?;
        if let Some(run) = record.run.as_ref().filter(|run| Some(&run.id) != ended) {
            return Ok(Some(run.id.clone()));
        }
        if idle && record.seq > seen {
            return Ok(None);
        }
        face.doing("starting");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
