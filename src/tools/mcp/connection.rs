//! Purpose: one open connection to a server: greeting, listing, calling, and asking whether it still hears us.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ClientConfig, ClientRequest, ClientResult,
    ErrorCode, Implementation, ListToolsRequest, PaginatedRequestParams, PingRequest, ServerNotification,
    ServerRequest, ServerResult, Tool,
};
use rmcp::service::{
    ClientInitializeError, NotificationContext, RequestContext, RunningService, Service, ServiceExt,
};
use rmcp::transport::Transport;
use rmcp::{ErrorData, Peer, RoleClient, ServiceError};
use tokio::time::timeout;

use super::fate::Fate;
use super::guarded::Guarded;
use super::process::{self, Group, Process};
use super::{CallResult, Reach, ServerSettings, http};

/// More than that no prompt could hold.
const MOST_TOOLS: usize = 256;
const MOST_PAGES: usize = 32;
/// For the answer to a ping.
const SIGN_OF_LIFE: Duration = Duration::from_secs(2);
/// For saying goodbye, which takes a few seconds at worst.
const FAREWELL: Duration = Duration::from_secs(10);

pub(super) struct Connection {
    peer: Peer<RoleClient>,
    service: Mutex<Option<RunningService<RoleClient, Refusing>>>,
    group: Option<Group>,
    pub(super) fate: Fate,
    pub(super) since: Instant,
}

/// What went wrong while talking.
pub(super) enum Fault {
    /// The connection is of no use any more.
    Broken(String),
    /// It answered with an error of the protocol.
    Said { code: ErrorCode, message: String },
}

impl Connection {
    /// # Errors
    /// What became of the server, as the end of a sentence that begins with it.
    pub(super) async fn open(settings: &Arc<ServerSettings>, within: Duration) -> Result<Self, String> {
        let fate = Fate::default();
        let (greeting, group) = match &settings.reach {
            Reach::Process { argv, env, dir } => {
                let command = process::command(argv, env, dir.as_deref())?;
                let (process, group) = Process::start(command, settings, &fate)?;
                (timeout(within, greet(process, &fate)).await, Some(group))
            }
            Reach::Http { url, token } => {
                let remote = http::transport(url, token.as_ref(), &fate)?;
                (timeout(within, greet(remote, &fate)).await, None)
            }
        };
        let service = match greeting {
            Ok(Ok(service)) => service,
            Ok(Err(error)) => return Err(why_not(&error, &fate)),
            Err(_) => return Err(format!("said nothing for {} s after its start", within.as_secs_f32())),
        };
        let peer = service.peer().clone();
        Ok(Self { peer, service: Mutex::new(Some(service)), group, fate, since: Instant::now() })
    }

    /// Always asks: what the library remembers may be as old as the server wishes.
    pub(super) async fn list(&self) -> Result<Vec<Tool>, Fault> {
        let (mut tools, mut cursor) = (Vec::new(), None);
        for _ in 0..MOST_PAGES {
            let page = PaginatedRequestParams::default().with_cursor(cursor.take());
            let request = ClientRequest::ListToolsRequest(ListToolsRequest::with_param(page));
            let ServerResult::ListToolsResult(listed) = self.ask(self.peer.send_request(request)).await?
            else {
                return Err(Fault::Broken("listed its tools in a form that is not MCP".to_owned()));
            };
            tools.extend(listed.tools);
            if tools.len() > MOST_TOOLS {
                break;
            }
            cursor = listed.next_cursor;
            if cursor.is_none() {
                return Ok(tools);
            }
        }
        Err(Fault::Broken(format!("lists more than {MOST_TOOLS} tools")))
    }

    /// Dropping the future tells the server that nobody waits any more.
    pub(super) async fn call(&self, params: CallToolRequestParams) -> Result<CallResult, Fault> {
        match self.ask(self.peer.call_tool_once(params)).await? {
            CallToolResponse::Complete(answer) => Ok(CallResult::read(&answer)),
            CallToolResponse::InputRequired(_) => {
                Err(unexpected("it asks for input, and nobody is there to give any"))
            }
            CallToolResponse::Task(_) => {
                Err(unexpected("it wants to answer later, and that is not supported"))
            }
            _ => Err(unexpected("it answered in a form that is not known here")),
        }
    }

    pub(super) async fn is_alive(&self) -> bool {
        let ping = self.peer.send_request(ClientRequest::PingRequest(PingRequest::default()));
        match timeout(SIGN_OF_LIFE, self.ask(ping)).await {
            Ok(Ok(_) | Err(Fault::Said { .. })) => true,
            Ok(Err(Fault::Broken(_))) | Err(_) => false,
        }
    }

    /// At once, without a word.
    pub(super) fn kill(&self) {
        if let Some(group) = &self.group {
            group.kill();
        }
    }

    /// Politely, then by force. Whoever still waits for an answer hears of it first.
    pub(super) async fn close(&self) {
        self.fate.seal("was told to end");
        let service = self.service.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(service) = service {
            let _ = timeout(FAREWELL, service.cancel()).await;
        }
        self.kill();
    }

    async fn ask<T>(&self, answer: impl Future<Output = Result<T, ServiceError>>) -> Result<T, Fault> {
        let answer = tokio::select! {
            // An answer that came just before the end is an answer.
            biased;
            answer = answer => answer,
            why = self.fate.sealed() => return Err(Fault::Broken(why)),
        };
        answer.map_err(|error| self.fault(error))
    }

    fn fault(&self, error: ServiceError) -> Fault {
        if let ServiceError::McpError(error) = error {
            return Fault::Said { code: error.code, message: error.message.into_owned() };
        }
        if let ServiceError::UnexpectedResponse = error {
            return unexpected("it answered in a form that is not MCP");
        }
        if let Some(why) = self.fate.known() {
            return Fault::Broken(why.to_owned());
        }
        if let ServiceError::TransportSend(sending) = error {
            return Fault::Broken(format!("failed: {}", sending.error));
        }
        Fault::Broken(format!("failed: {error}"))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.kill();
    }
}

async fn greet<T>(to: T, fate: &Fate) -> Result<RunningService<RoleClient, Refusing>, ClientInitializeError>
where
    T: Transport<RoleClient> + 'static,
{
    Refusing.serve(Guarded::new(to, fate.clone())).await
}

fn why_not(error: &ClientInitializeError, fate: &Fate) -> String {
    if let Some(why) = fate.known() {
        return why.to_owned();
    }
    if let ClientInitializeError::TransportError { error, .. } = error {
        return format!("cannot be reached: {}", error.error);
    }
    format!("did not greet as MCP servers do: {error}")
}

fn unexpected(message: &str) -> Fault {
    Fault::Said { code: ErrorCode::INTERNAL_ERROR, message: message.to_owned() }
}

/// Our side of the talk. We declare no abilities, and servers that ask for one all the same get a no. What they tell
/// us unasked is not needed: tools are listed anew before every use.
struct Refusing;

impl Service<RoleClient> for Refusing {
    async fn handle_request(
        &self,
        request: ServerRequest,
        _context: RequestContext<RoleClient>,
    ) -> Result<ClientResult, ErrorData> {
        if let ServerRequest::PingRequest(_) = request {
            return Ok(ClientResult::empty(()));
        }
        let no = "this client answers no requests but pings";
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, no, None))
    }

    async fn handle_notification(
        &self,
        _notification: ServerNotification,
        _context: NotificationContext<RoleClient>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), us)
    }
}
