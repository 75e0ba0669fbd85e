//! Purpose: reads what a server writes to its standard error, so that it never blocks there, and logs the beginning.

use std::future::pending;
use std::io;
use std::sync::Arc;

use tokio::io::AsyncReadExt;
use tokio::process::ChildStderr;

use super::ServerSettings;
use super::capped::Meter;
use super::fate::Fate;
use crate::prompts::plain_text;

/// Of one line, and of all lines of one process.
const LONGEST_LINE: usize = 1 << 10;
const MOST_LOGGED: usize = 64 << 10;

#[derive(Debug)]
pub(super) struct Stderr {
    /// Gone when the server closed it.
    pipe: Option<ChildStderr>,
    settings: Arc<ServerSettings>,
    line: Vec<u8>,
    left: usize,
}

impl Stderr {
    pub(super) fn new(pipe: ChildStderr, settings: Arc<ServerSettings>) -> Self {
        Self { pipe: Some(pipe), settings, line: Vec::new(), left: MOST_LOGGED }
    }

    /// Reads a piece. Never ends once the server has closed it. Nothing is lost when the future is dropped.
    ///
    /// # Errors
    /// When the server writes without end; the fate is sealed then.
    pub(super) async fn drain(&mut self, meter: &Meter, fate: &Fate) -> io::Result<()> {
        let Some(pipe) = &mut self.pipe else { return pending().await };
        let mut piece = [0; 4096];
        match pipe.read(&mut piece).await {
            Ok(0) | Err(_) => {
                self.pipe = None;
                self.log_line();
                Ok(())
            }
            Ok(n) => {
                self.take(&piece[..n]);
                meter.add(n, fate)
            }
        }
    }

    /// Reads until nobody can write any more: the last words mostly say why it ended.
    pub(super) async fn drain_rest(&mut self, meter: &Meter, fate: &Fate) {
        while self.pipe.is_some() && self.drain(meter, fate).await.is_ok() {}
    }

    fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if *byte == b'\n' {
                self.log_line();
            } else if self.line.len() < LONGEST_LINE {
                self.line.push(*byte);
            }
        }
    }

    fn log_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() || self.left == 0 {
            return;
        }
        self.left = self.left.saturating_sub(line.len());
        let line = plain_text(&self.settings.without_secrets(&String::from_utf8_lossy(&line))).text;
        let server = &self.settings.name;
        tracing::debug!(mcp.server = %server, "the MCP server `{server}` writes: {line}");
        if self.left == 0 {
            tracing::debug!(mcp.server = %server, "the MCP server `{server}` writes too much, the rest is not logged");
        }
    }
}
