//! Purpose: the door for webhooks: cap, verify, name, store, answer. Nothing else happens in the request.
//!
//! - `listen`: holds the connections, none without end, and never more than there is room for.
//! - `limits`: how many connections that is, and the memory they may take. `activity`: what each is doing.
//! - `answer_timeout`: gives up on clients that do not take their answer.
//! - `http`: the routes, and which answer means what.
//! - `body`: takes a body in within limits of size, time and memory; `budget`: who gets memory for a large one.
//! - `verify`: whether the forge sent it. Pure.
//! - `translate`, with a file per forge: bytes to [`crate::domain::Event`]. Pure. Here it only tells the thread; the
//!   engine translates the stored bytes again when their turn comes.
//!
//! | answer | meaning |
//! |---|---|
//! | 202 | on disk |
//! | 200 | on disk since an earlier delivery, or nothing for us; the forge need not send it again |
//! | 400 | genuine, but no JSON or no delivery id; the forge's settings are wrong. Or the body broke off, or came in too many small chunks |
//! | 401 | not genuine; no hint why. The connection ends |
//! | 404 | this forge is not configured |
//! | 408, 413 | too slow, too large |
//! | 431 | the head is too large; said by hyper |
//! | 503 | could not be stored; the forge should send it again |

mod activity;
mod answer_timeout;
mod body;
mod budget;
mod github;
mod gitlab;
mod gitlab_payload;
mod http;
mod limits;
mod listen;
pub mod translate;
pub mod verify;

use secrecy::SecretString;
use tokio::sync::broadcast;

pub use body::Limits;
pub use http::{router, router_with};
pub use limits::{CONNECTION_BYTES, ConnectionLimits, FEW_FILES, file_limit};
pub use listen::{bind, serve};

use crate::domain::{Millis, ThreadRef};
use crate::store::Store;
use translate::Confidential;

/// What the door needs. A forge without a secret is not configured and answers 404.
#[derive(Clone)]
pub struct Intake {
    pub store: Store,
    pub secrets: Secrets,
    pub clock: fn() -> Millis,
    /// Told of every thread that got a new delivery, once that is on disk.
    pub wake: broadcast::Sender<ThreadRef>,
    pub confidential: Confidential,
}

#[derive(Clone, Default)]
pub struct Secrets {
    pub github: Option<SecretString>,
    /// Sent as it is in `X-Gitlab-Token`.
    pub gitlab: Option<SecretString>,
    /// The signing token, `whsec_…`, of the newer form.
    pub gitlab_signing: Option<SecretString>,
    pub local: Option<SecretString>,
}
