//! Purpose: the tools of MCP servers, over standard input and output or over HTTP, by rmcp.
//!
//! Needs: a run may use tools that we did not write, on servers that we did not write either. They may be slow,
//! broken or hostile; what they say may change from one moment to the next.
//!
//! Properties:
//! - A server is started when it is first needed and then shared. One that fails is left alone for a while, then
//!   started anew (`backoff`); the others do not notice.
//! - A tool is called only while it is word for word the one that was approved. Tools are listed anew before every
//!   call: a server that changes them need not tell us.
//! - A server sees no secret but its own (`process`, `http`), and is asked for nothing but tools: what it asks
//!   of us is refused (`connection`).
//! - Nothing a server does takes more than bounded memory and time (`capped`, `guarded`, `stderr`).
//! - Every future can be dropped at any point. A call that nobody waits for is cancelled, a half-started server ends.
//!
//! Accepted: a child that leaves its process group is not found again when its server is ended. A server that
//! answers pings but ignores that a call was cancelled goes on with that call.

mod answer;
mod backoff;
mod capped;
mod connection;
mod error;
mod fate;
mod guarded;
mod http;
mod listing;
mod process;
mod server;
mod settings;
mod stderr;
mod tool;

use std::collections::BTreeMap;

use futures_util::future::join_all;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

pub use answer::CallResult;
pub use error::{McpError, Sent};
use server::Server;
pub use settings::{Reach, ServerSettings};
pub use tool::ToolInfo;

/// All servers of the settings. Dropping it kills them; [`Mcp::close`] asks them to end first.
pub struct Mcp {
    servers: BTreeMap<String, Server>,
}

/// What is on offer now.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Offer {
    /// By server, then by name.
    pub tools: Vec<ToolInfo>,
    /// Servers that cannot be used at the moment, and why.
    pub missing: Vec<(String, String)>,
}

impl Mcp {
    /// Starts nothing yet. Of servers with the same name the last counts.
    #[must_use]
    pub fn new(servers: Vec<ServerSettings>) -> Self {
        let named = servers.into_iter().map(|settings| (settings.name.clone(), Server::new(settings)));
        Self { servers: named.collect() }
    }

    /// Asks all servers side by side; one that does not answer costs its time limit.
    pub async fn offer(&self) -> Offer {
        let asked = self.servers.iter().map(|(name, server)| async move { (name, server.offered().await) });
        let mut offer = Offer::default();
        for (name, offered) in join_all(asked).await {
            match offered {
                Ok(tools) => offer.tools.extend(tools),
                Err(error) => offer.missing.push((name.clone(), error.to_string())),
            }
        }
        offer
    }

    /// The tool as it is now.
    ///
    /// # Errors
    /// When it is not on offer; [`McpError::Unavailable`] when its server is away, which may pass.
    pub async fn tool(&self, name: &str) -> Result<ToolInfo, McpError> {
        let (server, tool) = self.find(name)?;
        server.tool(tool).await
    }

    /// Calls only if the tool is still exactly the one that `hash` names.
    ///
    /// # Errors
    /// Why it was not called, or no answer came; [`McpError::may_have_run`] tells these apart.
    pub async fn call(
        &self,
        name: &str,
        hash: &str,
        arguments: Map<String, Value>,
        stop: &CancellationToken,
    ) -> Result<CallResult, McpError> {
        let (server, tool) = self.find(name)?;
        server.call(tool, hash, arguments, stop).await
    }

    /// Ends all servers with everything they have started. Nothing can be called afterwards.
    pub async fn close(&self) {
        join_all(self.servers.values().map(Server::close)).await;
    }

    fn find<'a>(&self, name: &'a str) -> Result<(&Server, &'a str), McpError> {
        let unknown = || McpError::NoSuchTool(name.to_owned());
        let (server, tool) = name.split_once('/').ok_or_else(unknown)?;
        Ok((self.servers.get(server).ok_or_else(unknown)?, tool))
    }
}
