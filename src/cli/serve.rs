//! Purpose: `serve`: take webhooks and work on threads until stopped.

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::app::App;
use crate::config::{Config, Env, Redactor, Severity};
use crate::intake::{ConnectionLimits, FEW_FILES, bind, file_limit};

/// The redactor is that of the log: what the engine learns, the log knows.
pub(super) async fn run(config: Config, env: &Env, redactor: Redactor) -> anyhow::Result<ExitCode> {
    refuse_bad_settings(&config, env)?;
    let listen = config.server.listen.0;
    let app = App::build(config, env).await?.hiding(redactor)?;
    let listener = bind(listen).with_context(|| format!("cannot listen on {listen} (`server.listen`)"))?;
    let signals = Signals::listen()?;
    tracing::info!("listening on http://{}", listener.local_addr()?);
    report_connection_limit();
    let forges: Vec<&str> = app.ctx.forges.keys().map(|kind| kind.as_str()).collect();
    tracing::info!("working for {} with the model {}", forges.join(" and "), app.ctx.planner.name());
    let stop = app.ctx.shutdown.clone();
    let (ran, ()) = tokio::join!(app.run(listener), signals.cancel(stop));
    ran?;
    tracing::info!("stopped; what was under way goes on at the next start");
    Ok(ExitCode::SUCCESS)
}

fn report_connection_limit() {
    let connections = ConnectionLimits::of_process().max_connections;
    let Some(files) = file_limit() else {
        tracing::info!("at most {connections} connections at once; there is no limit on open files");
        return;
    };
    tracing::info!("at most {connections} connections at once; this process may open {files} files");
    if files < FEW_FILES {
        tracing::warn!(
            "{files} open files are few: work on several threads at once may fail; allow 1024 or more \
             (`LimitNOFILE` of systemd, `--ulimit nofile` of Docker, `ulimit -n`)"
        );
    }
}

fn refuse_bad_settings(config: &Config, env: &Env) -> anyhow::Result<()> {
    let mut errors = vec![];
    for problem in config.check(env) {
        match problem.severity {
            Severity::Error => errors.push(problem.sentence()),
            Severity::Warning => tracing::warn!("{}", problem.sentence()),
        }
    }
    if errors.is_empty() { Ok(()) } else { bail!("not started:\n  - {}", errors.join("\n  - ")) }
}

/// The wishes of the outside that the process end. From `listen` on they are heard, and no longer kill it.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    pub(super) fn listen() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self { terminate: listen(SignalKind::terminate())?, interrupt: listen(SignalKind::interrupt())? })
    }

    /// Returns when the process was told to end.
    pub(super) async fn heard(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }

    /// Returns when the process was told to end, or the server ended by itself.
    pub(super) async fn cancel(mut self, stop: CancellationToken) {
        tokio::select! {
            _ = self.terminate.recv() => tracing::info!("asked to stop"),
            _ = self.interrupt.recv() => tracing::info!("asked to stop"),
            () = stop.cancelled() => {}
        }
        stop.cancel();
    }
}
