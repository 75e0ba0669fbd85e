//! Purpose: an MCP server as a child of ours: started with nothing but its own secrets, ended with all its children.

use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::JsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rustix::process::{Pid, Signal, kill_process_group};
use secrecy::{ExposeSecret, SecretString};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::ServerSettings;
use super::capped::{CappedLines, Meter};
use super::fate::Fate;
use super::stderr::Stderr;

/// How long a server may take to end by itself after its input was closed, and again after it was told to.
const GRACE: Duration = Duration::from_secs(1);
/// For what it wrote just before it ended.
const ECHO: Duration = Duration::from_millis(200);

/// The way to a server's standard input and output. Dropping it ends the server at once.
pub(super) struct Process {
    wire: AsyncRwTransport<RoleClient, CappedLines<ChildStdout>, ChildStdin>,
    stderr: Stderr,
    child: Child,
    group: Group,
    /// How it ended. What it said last may still be on the way.
    ended: Option<String>,
    meter: Meter,
    fate: Fate,
}

impl Process {
    /// # Errors
    /// Why it cannot be started, without its arguments: they may be secret.
    pub(super) fn start(
        mut command: Command,
        settings: &Arc<ServerSettings>,
        fate: &Fate,
    ) -> Result<(Self, Group), String> {
        let mut child = command.spawn().map_err(|error| {
            format!("cannot be started: `{}`: {error}", command.as_std().get_program().display())
        })?;
        let group = Group::of(&child);
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            group.kill();
            return Err("cannot be started: it has no pipes".to_owned());
        };
        let meter = Meter::default();
        let lines = CappedLines::new(stdout, meter.clone(), fate.clone());
        let process = Self {
            wire: AsyncRwTransport::new_client(lines, stdin),
            stderr: Stderr::new(stderr, Arc::clone(settings)),
            child,
            group: group.clone(),
            ended: None,
            meter,
            fate: fate.clone(),
        };
        Ok((process, group))
    }

    /// Its output has ended. If we did not break off ourselves, then mostly because it has.
    async fn note_end(&mut self) {
        if self.fate.known().is_none() {
            let status = timeout(GRACE, self.child.wait()).await;
            let why = status.map_or_else(|_| "closed its output".to_owned(), how_it_ended);
            self.seal(&why).await;
        }
    }

    /// The rest of what it said, then nothing. Whatever it started ends with it, lest that keep the pipes open.
    async fn last_words(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.group.kill();
        let message = timeout(GRACE, self.wire.receive()).await.ok().flatten();
        if let (None, Some(ended)) = (&message, self.ended.clone()) {
            self.seal(&ended).await;
        }
        message
    }

    async fn seal(&mut self, why: &str) {
        let _ = timeout(ECHO, self.stderr.drain_rest(&self.meter, &self.fate)).await;
        self.fate.seal(why);
    }
}

fn how_it_ended(status: io::Result<ExitStatus>) -> String {
    status.map_or_else(|_| "ended".to_owned(), |status| format!("ended with {status}"))
}

/// # Errors
/// When there is no program in it.
pub(super) fn command(
    argv: &[String],
    env: &[(String, SecretString)],
    dir: Option<&Path>,
) -> Result<Command, String> {
    let (program, arguments) = argv.split_first().ok_or("has an empty command")?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear();
    // Not a setting: without it no program finds another.
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command.envs(env.iter().map(|(name, value)| (name, value.expose_secret())));
    if let Some(dir) = dir {
        command.current_dir(dir);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0).kill_on_drop(true);
    Ok(command)
}

impl Transport<RoleClient> for Process {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        if let JsonRpcMessage::Request(_) = message {
            self.meter.reset();
        }
        self.wire.send(message)
    }

    /// Reads standard error on the side: nobody else is there to do it, and it lives as long as this does.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        while self.ended.is_none() {
            tokio::select! {
                message = self.wire.receive() => {
                    if message.is_none() {
                        self.note_end().await;
                    }
                    return message;
                }
                drained = self.stderr.drain(&self.meter, &self.fate) => drained.ok()?,
                status = self.child.wait() => self.ended = Some(how_it_ended(status)),
            }
        }
        self.last_words().await
    }

    /// Politely first: no more input, then a word, then force.
    async fn close(&mut self) -> io::Result<()> {
        // A server that does not read may hold a writer, and that one the lock.
        let _ = timeout(GRACE, self.wire.close()).await;
        if timeout(GRACE, self.child.wait()).await.is_err() {
            self.group.signal(Signal::TERM);
            let _ = timeout(GRACE, self.child.wait()).await;
        }
        self.group.kill();
        let _ = timeout(GRACE, self.child.wait()).await;
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.group.kill();
    }
}

/// The child and whatever it has started. Killed once: later its number may be another's.
#[derive(Debug, Clone)]
pub(super) struct Group(Arc<Mutex<Option<Pid>>>);

impl Group {
    fn of(child: &Child) -> Self {
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Self(Arc::new(Mutex::new(pid)))
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            // It may be gone already.
            let _ = kill_process_group(pid, signal);
        }
    }

    /// The number cannot have become another's, even if the child was waited for: it stays taken while anybody is
    /// left in the group, and this comes right after.
    pub(super) fn kill(&self) {
        if let Some(pid) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}
