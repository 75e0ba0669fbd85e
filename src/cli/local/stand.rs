//! Purpose: the engine for one thread of the local forge alone, and a seat at that thread.

use std::sync::Arc;

use anyhow::Context as _;
use tokio::net::TcpListener;

use super::super::app::App;
use super::super::hook::Hook;
use super::seat::Seat;
use super::settings;
use super::table::Table;
use crate::config::{Config, Env};
use crate::domain::ForgeKind;
use crate::engine::{Ctx, Forges};
use crate::forge::Forge;

pub(in crate::cli) struct Stand {
    pub app: App,
    pub listener: TcpListener,
    pub seat: Seat,
}

impl Stand {
    /// Nothing runs yet; `adjust` makes the engine what the caller needs.
    pub(in crate::cli) async fn open(
        table: &Table,
        config: Config,
        env: &Env,
        adjust: impl FnOnce(&mut Ctx),
    ) -> anyhow::Result<Self> {
        let Table { local, thread, me, .. } = table;
        let config = settings::for_thread(config, &thread.project);
        let forges = Forges::from([(ForgeKind::Local, Forge::Local(local.clone()))]);
        let secret = uuid::Uuid::new_v4().to_string();
        let mut app = App::with_forges(config, env, forges).await?.signed_locally(secret.clone().into());
        let ctx = Arc::get_mut(&mut app.ctx).context("the engine is at work already")?;
        ctx.only = Some(thread.clone());
        adjust(ctx);
        let listener =
            TcpListener::bind("127.0.0.1:0").await.context("cannot listen on the loopback address")?;
        let hook = Hook::new(format!("http://{}/webhooks/local", listener.local_addr()?), secret)?;
        let (local, store) = (local.clone(), app.ctx.store.clone());
        let seat = Seat { local, store, hook, thread: thread.clone(), me: me.clone() };
        Ok(Self { app, listener, seat })
    }
}

/// The engine is at work for as long as this takes.
pub(in crate::cli) async fn beside<T>(
    app: App,
    listener: TcpListener,
    telling: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<T> {
    let stop = app.ctx.shutdown.clone();
    let telling = async {
        let told = telling.await;
        stop.cancel();
        told
    };
    let (ran, told) = tokio::join!(app.run(listener), telling);
    let told = told?;
    ran?;
    Ok(told)
}

/// What the thread has and the journal has not is found by the first sweep.
pub(in crate::cli) async fn swept(ctx: &Ctx) -> anyhow::Result<()> {
    let mut swept = ctx.swept.subscribe();
    swept.wait_for(|sweeps| *sweeps > 0).await.context("the engine has stopped")?;
    Ok(())
}
