//! Purpose: a way to a server that bounds what the server may ask of us and tell us, and says how it ended.
//!
//! rmcp starts a task for each request of a server and keeps it until its answer is written. A server that asks
//! without reading would fill the memory with them. One for each notification too: they end at once, but a server
//! that sends nothing else would keep a processor busy for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rmcp::RoleClient;
use rmcp::model::JsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;

use super::fate::Fate;

/// Requests of a server that we have not answered yet. We refuse all but pings, so honest ones ask little.
const MOST_OPEN: usize = 64;
/// Requests and notifications of a server between two requests of ours. A long call may report much progress.
const MOST_UNASKED: usize = 20_000;

pub(super) struct Guarded<T> {
    to: T,
    open: Arc<AtomicUsize>,
    unasked: usize,
    fate: Fate,
}

impl<T> Guarded<T> {
    pub(super) fn new(to: T, fate: Fate) -> Self {
        Self { to, open: Arc::default(), unasked: 0, fate }
    }

    /// Why the message is one too many.
    fn objection(&mut self, message: &RxJsonRpcMessage<RoleClient>) -> Option<&'static str> {
        let is_open = match message {
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => return None,
            JsonRpcMessage::Notification(_) => false,
            JsonRpcMessage::Request(_) => true,
        };
        self.unasked += 1;
        if self.unasked > MOST_UNASKED {
            return Some("talked without end");
        }
        let too_many = is_open && self.open.fetch_add(1, Ordering::Relaxed) >= MOST_OPEN;
        too_many.then_some("asked for more and more")
    }
}

impl<T: Transport<RoleClient> + 'static> Transport<RoleClient> for Guarded<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        let answered = match &message {
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => Some(Arc::clone(&self.open)),
            JsonRpcMessage::Request(_) => {
                self.unasked = 0;
                None
            }
            JsonRpcMessage::Notification(_) => None,
        };
        let sending = self.to.send(message);
        async move {
            let sent = sending.await;
            if let Some(open) = answered {
                // Answers to what was no proper request are not counted on the way in.
                let _ = open.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let Some(message) = self.to.receive().await else {
            self.fate.seal("closed the connection");
            return None;
        };
        if let Some(why) = self.objection(&message) {
            self.fate.seal(why);
            return None;
        }
        Some(message)
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.to.close().await
    }
}
