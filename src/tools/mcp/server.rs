//! Purpose: one server of the settings: started when it is needed, shared by all who need it, restarted when it fails.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use rmcp::model::{CallToolRequestParams, ErrorCode, JsonObject};
use tokio::sync::Mutex;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::backoff::Health;
use super::connection::{Connection, Fault};
use super::error::Sent;
use super::listing::Listing;
use super::{CallResult, McpError, ServerSettings, ToolInfo};
use crate::prompts::plain_text;

/// A server that needs longer to start should be installed beforehand.
const LONGEST_START: Duration = Duration::from_secs(30);
const LARGEST_ARGUMENTS: usize = 1 << 20;
const LONGEST_REASON: usize = 300;
/// Tools told of as switched off. A server that invents names must not fill the log.
const MOST_TOLD: usize = 100;

pub(super) struct Server {
    settings: Arc<ServerSettings>,
    /// Held while the server is started, so that it is started once.
    state: Mutex<State>,
    closing: CancellationToken,
    told: std::sync::Mutex<BTreeSet<String>>,
}

#[derive(Default)]
struct State {
    connection: Option<Arc<Connection>>,
    health: Health,
    /// Why it failed last.
    why: String,
}

impl Server {
    pub(super) fn new(settings: ServerSettings) -> Self {
        Self {
            settings: Arc::new(settings),
            state: Mutex::default(),
            closing: CancellationToken::new(),
            told: std::sync::Mutex::default(),
        }
    }

    pub(super) async fn offered(&self) -> Result<Vec<ToolInfo>, McpError> {
        let (_, listing) = self.list().await?;
        Ok(listing.into_offered())
    }

    pub(super) async fn tool(&self, tool: &str) -> Result<ToolInfo, McpError> {
        self.find(tool).await.map(|(_, info)| info)
    }

    pub(super) async fn call(
        &self,
        tool: &str,
        hash: &str,
        arguments: JsonObject,
        stop: &CancellationToken,
    ) -> Result<CallResult, McpError> {
        check_size(&arguments)?;
        let (connection, info) = tokio::select! {
            biased;
            () = stop.cancelled() => return Err(McpError::Stopped { sent: Sent::No }),
            found = self.find(tool) => found?,
        };
        if !info.hash.eq_ignore_ascii_case(hash) {
            return Err(McpError::Changed { name: info.name, now: info.hash });
        }
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let outcome = tokio::select! {
            biased;
            answer = timeout(self.settings.timeout, connection.call(params)) => answer.ok(),
            () = stop.cancelled() => {
                self.make_sure(&connection).await;
                return Err(McpError::Stopped { sent: Sent::Yes });
            }
        };
        self.conclude(&connection, outcome).await
    }

    /// For good: nothing is started any more.
    pub(super) async fn close(&self) {
        self.closing.cancel();
        let connection = self.state.lock().await.connection.take();
        if let Some(connection) = connection {
            connection.close().await;
        }
    }

    /// `None` means that no answer came in time.
    async fn conclude(
        &self,
        connection: &Arc<Connection>,
        outcome: Option<Result<CallResult, Fault>>,
    ) -> Result<CallResult, McpError> {
        match outcome {
            Some(Ok(answer)) => {
                self.worked(connection);
                Ok(answer)
            }
            Some(Err(Fault::Said { code, message })) if code == ErrorCode::INVALID_PARAMS => {
                Err(McpError::BadArguments(self.tidy(message)))
            }
            Some(Err(Fault::Said { message, .. })) => Err(McpError::Refused(self.tidy(message))),
            Some(Err(Fault::Broken(why))) => {
                let sentence = self.sentence(&why);
                self.discard(connection, why).await;
                Err(McpError::Lost(sentence))
            }
            None => {
                self.make_sure(connection).await;
                Err(McpError::TimedOut(self.settings.timeout))
            }
        }
    }

    async fn find(&self, tool: &str) -> Result<(Arc<Connection>, ToolInfo), McpError> {
        if !self.settings.allows(tool) {
            return Err(McpError::NotAllowed(format!("{}/{tool}", self.settings.name)));
        }
        let (connection, listing) = self.list().await?;
        Ok((connection, listing.into_tool(&self.settings.name, tool)?))
    }

    async fn list(&self) -> Result<(Arc<Connection>, Listing), McpError> {
        let connection = self.connection().await?;
        let why = match timeout(self.start_limit(), connection.list()).await {
            Ok(Ok(tools)) => {
                let listing = Listing::sort(&self.settings, &tools);
                self.tell(&listing);
                return Ok((connection, listing));
            }
            Ok(Err(Fault::Said { message, .. })) => {
                let message = self.tidy(message);
                return Err(McpError::Unavailable(
                    self.sentence(format!("does not list its tools: {message}")),
                ));
            }
            Ok(Err(Fault::Broken(why))) => why,
            Err(_) => "does not list its tools".to_owned(),
        };
        let sentence = self.sentence(&why);
        self.discard(&connection, why).await;
        Err(McpError::Unavailable(sentence))
    }

    /// The open connection, or a new one if it is time for that.
    async fn connection(&self) -> Result<Arc<Connection>, McpError> {
        let mut state = self.state.lock().await;
        if let Some(open) = &state.connection {
            let Some(why) = open.fate.known().map(str::to_owned) else { return Ok(Arc::clone(open)) };
            self.failed(&mut state, why);
        }
        if let Some(wait) = state.health.wait(Instant::now()) {
            let seconds = wait.as_secs() + 1;
            let why = format!("{}; it is started again in {seconds} s at the earliest", state.why);
            return Err(McpError::Unavailable(self.sentence(why)));
        }
        let opened = tokio::select! {
            biased;
            () = self.closing.cancelled() => return Err(McpError::Unavailable(self.sentence("was told to end"))),
            opened = Connection::open(&self.settings, self.start_limit()) => opened,
        };
        match opened {
            Ok(connection) => Ok(Arc::clone(state.connection.insert(Arc::new(connection)))),
            Err(why) => {
                self.failed(&mut state, why);
                Err(McpError::Unavailable(self.sentence(&state.why)))
            }
        }
    }

    fn start_limit(&self) -> Duration {
        self.settings.timeout.min(LONGEST_START)
    }

    /// A call was given up. If the server does not even answer a ping now, it hangs, and nobody else should wait for it.
    async fn make_sure(&self, connection: &Arc<Connection>) {
        if !connection.is_alive().await {
            self.discard(connection, "did not answer any more".to_owned()).await;
        }
    }

    /// Whoever holds the state is about to start another one; then there is nothing to forget.
    fn worked(&self, connection: &Arc<Connection>) {
        if let Ok(mut state) = self.state.try_lock()
            && state.connection.as_ref().is_some_and(|open| Arc::ptr_eq(open, connection))
        {
            state.health = Health::Good;
        }
    }

    /// Several callers may see the same failure; it counts once.
    async fn discard(&self, connection: &Arc<Connection>, why: String) {
        connection.fate.seal(why.clone());
        connection.kill();
        let mut state = self.state.lock().await;
        if state.connection.as_ref().is_some_and(|open| Arc::ptr_eq(open, connection)) {
            self.failed(&mut state, why);
        }
    }

    fn failed(&self, state: &mut State, why: String) {
        let now = Instant::now();
        let up = state.connection.take().map_or(Duration::ZERO, |connection| now - connection.since);
        state.health = state.health.failed(now, up);
        state.why = self.tidy(why);
        let (server, why) = (&self.settings.name, &state.why);
        tracing::warn!(mcp.server = %server, "the MCP server `{server}` {why}");
    }

    /// Once for each tool and reason.
    fn tell(&self, listing: &Listing) {
        let server = &self.settings.name;
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        for (tool, why) in listing.off() {
            let tool = tool.escape_debug();
            if told.len() < MOST_TOLD && told.insert(format!("{tool}: {why}")) {
                tracing::warn!(mcp.server = %server, "the tool `{server}/{tool:.80}` is switched off: {why}");
            }
        }
    }

    fn sentence(&self, what: impl Display) -> String {
        let what = self.tidy(what);
        format!("the MCP server `{}` {what}", self.settings.name)
    }

    /// Words of a server in a message of ours: short, on one line, without secrets.
    fn tidy(&self, text: impl Display) -> String {
        let text = self.settings.without_secrets(&text.to_string());
        let text = plain_text(&text).text.split_whitespace().collect::<Vec<_>>().join(" ");
        text.chars().take(LONGEST_REASON).collect()
    }
}

fn check_size(arguments: &JsonObject) -> Result<(), McpError> {
    let length = serde_json::to_string(arguments).map_or(usize::MAX, |json| json.len());
    if length > LARGEST_ARGUMENTS {
        return Err(McpError::BadArguments(format!("they have more than {LARGEST_ARGUMENTS} bytes")));
    }
    Ok(())
}
