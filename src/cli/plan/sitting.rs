//! Purpose: one sitting of `plan`: the engine at work on the thread, the conversation beside it, and the last words.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use serde_json::json;
use tokio::net::TcpListener;

use super::super::app::App;
use super::super::hook::Hook;
use super::super::out::{complain, program};
use super::super::serve::Signals;
use super::super::terminal::{DIM, paint};
use super::Table;
use super::face::Face;
use super::outcome::{self, INTERRUPTED, WAITING};
use super::place::Repository;
use super::prompt::Prompt;
use super::resume::PREFIX;
use super::seat::{NotSaved, Seat};
use super::settings;
use super::sheet::Sheet;
use super::story::{Over, Story};
use crate::config::{Config, Env};
use crate::domain::{ForgeKind, ThreadRef};
use crate::engine::{Ctx, Forges, now};
use crate::forge::Forge;
use crate::llm::Model;
use crate::planning::Policy;

/// Tries while somebody waits for it; a server has more time.
const RETRY_AFTER_MS: [i64; 3] = [1_000, 3_000, 9_000];
const PATIENCE_MS: i64 = 2_000;

pub(super) struct Sitting {
    pub table: Table,
    pub face: Face,
    pub sheet: Option<Sheet>,
    pub prompt: Option<Prompt>,
    pub config_option: String,
}

impl Sitting {
    pub(super) async fn hold(mut self, config: Config, env: &Env) -> anyhow::Result<ExitCode> {
        let Table { local, thread, me, .. } = &self.table;
        let config = settings::for_thread(config, &thread.project);
        let forges = Forges::from([(ForgeKind::Local, Forge::Local(local.clone()))]);
        let secret = uuid::Uuid::new_v4().to_string();
        let mut app = App::with_forges(config, env, forges).await?.signed_locally(secret.clone().into());
        tune(Arc::get_mut(&mut app.ctx).context("the engine is at work already")?, thread);
        let listener =
            TcpListener::bind("127.0.0.1:0").await.context("cannot listen on the loopback address")?;
        let hook = Hook::new(format!("http://{}/webhooks/local", listener.local_addr()?), secret)?;
        let seat = Seat {
            local: local.clone(),
            store: app.ctx.store.clone(),
            hook,
            thread: thread.clone(),
            me: me.clone(),
        };
        let (ctx, mut signals) = (Arc::clone(&app.ctx), Signals::listen()?);
        let telling = async {
            let told = tokio::select! {
                told = self.tell(&ctx, &seat) => Some(told),
                () = signals.heard() => None,
                () = ctx.shutdown.cancelled() => Some(Err(anyhow!("the engine has stopped"))),
            };
            let told = self.farewell(told, &seat).await;
            ctx.shutdown.cancel();
            told
        };
        let (ran, told) = tokio::join!(app.run(listener), telling);
        let code = told?;
        ran?;
        Ok(code)
    }

    async fn tell(&mut self, ctx: &Ctx, seat: &Seat) -> anyhow::Result<ExitCode> {
        // What the thread has and the journal has not is found by the first sweep.
        let mut swept = ctx.swept.subscribe();
        swept.wait_for(|sweeps| *sweeps > 0).await.context("the engine has stopped")?;
        let before = seat.bot_comments();
        if self.table.fresh {
            let bot = seat.local.bot().id;
            seat.act(|world, thread| world.assign(thread, bot, seat.me.id, now())).await?;
        }
        let id = begun(seat, &mut self.face).await?;
        let go_on = self.go_on(id.as_deref());
        if let Some(id) = &id {
            self.introduce(ctx, seat, id)?;
        }
        let mut story = Story::new(seat, &mut self.face, go_on.clone(), &before);
        story.sheet = self.sheet.take();
        story.prompt = self.prompt.take();
        let over = story.tell().await?;
        Ok(match over {
            Over::Ended => {
                let run = seat.record().await?.run.context("the run is gone")?;
                outcome::ended(&run, &self.table.repository, &mut self.face)
            }
            Over::NotBegun => {
                self.face.event(&json!({"event": "outcome", "state": "not_begun"}));
                complain("planwright: the run did not begin");
                ExitCode::FAILURE
            }
            Over::Later => {
                self.face.event(&json!({"event": "outcome", "run": id, "state": "ready", "go_on": go_on}));
                self.face.tell(&format!("\nNothing was carried out. Go on later with\n  {go_on}"));
                ExitCode::SUCCESS
            }
            Over::Waiting => ExitCode::from(WAITING),
        })
    }

    fn introduce(&mut self, ctx: &Ctx, seat: &Seat, id: &str) -> anyhow::Result<()> {
        let Repository { git, branch, dirty, .. } = &self.table.repository;
        let offline = matches!(ctx.planner, Model::Offline { .. });
        self.face.event(&json!({
            "event": "run", "run": id, "thread": seat.thread, "resumed": !self.table.fresh,
            "model": ctx.planner.name(), "offline": offline, "repository": git, "branch": branch,
        }));
        let model = if offline {
            "offline: answers by rules, no language model (see `models:` in the settings)"
        } else {
            ctx.planner.name()
        };
        let what = seat.title()?;
        self.face.tell(&format!("{what}\n{}", paint(DIM, &format!("{id} · {}", seat.thread))));
        self.face.tell(&paint(DIM, &format!("branch {branch} of {} · model {model}", git.display())));
        if *dirty {
            self.face.tell(&paint(DIM, "What is not committed is not seen, and is left alone."));
        }
        Ok(())
    }

    fn go_on(&self, id: Option<&str>) -> String {
        let id = id.map_or(String::new(), |id| format!(" {id}"));
        format!("{} plan --resume{id}{}", program(), self.config_option)
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
        let go_on = self.go_on(run.map(|run| run.id.0.as_str()));
        self.face.quiet();
        if let Some(Err(error)) = told {
            return Err(anyhow!("{error}. Nothing is lost; go on with `{go_on}`"));
        }
        self.face.event(&json!({"event": "interrupted", "go_on": go_on}));
        self.face.tell(&format!("\nLeft. Everything so far is kept; go on with\n  {go_on}"));
        Ok(ExitCode::from(INTERRUPTED))
    }
}

/// The engine for this thread alone, with the patience of somebody at a terminal.
fn tune(ctx: &mut Ctx, thread: &ThreadRef) {
    ctx.only = Some(thread.clone());
    ctx.run_prefix = PREFIX;
    ctx.patience_ms = PATIENCE_MS;
    ctx.policy = Policy { retry_after_ms: RETRY_AFTER_MS.to_vec(), ..ctx.policy.clone() };
}

/// The name of the run, as soon as it has one; none when the bot was not allowed to begin.
async fn begun(seat: &Seat, face: &mut Face) -> anyhow::Result<Option<String>> {
    loop {
        let idle = !seat.store.is_busy_with(&seat.thread, now()).await?;
        let record = seat.record().await?;
        if let Some(run) = &record.run {
            return Ok(Some(run.id.to_string()));
        }
        if idle && record.seq > 0 {
            return Ok(None);
        }
        face.doing("starting");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
