//! Purpose: the routes of the door, and which answer means what.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::header::{CONNECTION, RETRY_AFTER};
use http::{HeaderMap, StatusCode};
use serde::de::IgnoredAny;
use sha2::{Digest, Sha256};

use super::activity::Authentic;
use super::body::{Limits, NotTaken, Taken, Taker};
use super::translate::{INTERNAL_EVENT, Translated, translate};
use super::verify::{self, GitlabKeys, Proof, SIGNATURE, SIGNED_ID, single};
use super::{Intake, Secrets};
use crate::domain::{ForgeKind, Millis, ThreadRef};
use crate::store::{NewDelivery, Put};

pub fn router(intake: Intake) -> Router {
    router_with(intake, Limits::default())
}

pub fn router_with(intake: Intake, limits: Limits) -> Router {
    let door = Arc::new(Door { intake, taker: Taker::new(limits) });
    Router::new()
        .route("/webhooks/github", post(github))
        .route("/webhooks/gitlab", post(gitlab))
        .route("/webhooks/local", post(local))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .with_state(door)
}

struct Door {
    intake: Intake,
    taker: Taker,
}

async fn github(State(door): State<Arc<Door>>, request: Request) -> Response {
    receive(door, ForgeKind::Github, request).await
}

async fn gitlab(State(door): State<Arc<Door>>, request: Request) -> Response {
    receive(door, ForgeKind::Gitlab, request).await
}

async fn local(State(door): State<Arc<Door>>, request: Request) -> Response {
    receive(door, ForgeKind::Local, request).await
}

async fn ready(State(door): State<Arc<Door>>) -> Response {
    match door.intake.store.ready().await {
        Ok(()) => "ok\n".into_response(),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")).into_response(),
    }
}

/// A body this long takes longer to hash and parse than other requests should wait.
const LARGE_BODY: usize = 256 * 1024;
const RETRY_SECONDS: &str = "10";

async fn receive(door: Arc<Door>, forge: ForgeKind, request: Request) -> Response {
    if !is_configured(&door.intake.secrets, forge) {
        return StatusCode::NOT_FOUND.into_response();
    }
    let (parts, body) = request.into_parts();
    let Taken { bytes, share } = match door.taker.take(&parts.headers, body).await {
        Ok(taken) => taken,
        Err(not_taken) => return refuse_body(forge, &not_taken),
    };
    let arrived = Arrived { forge, headers: parts.headers, body: bytes, at: (door.intake.clock)() };
    let (judged, share) = if arrived.body.len() > LARGE_BODY {
        let door = Arc::clone(&door);
        // The share goes with the body: when the sender hangs up now, the body is still in memory until this is over.
        match tokio::task::spawn_blocking(move || (arrived.judge(&door.intake), share)).await {
            Ok(judged) => judged,
            Err(_) => return StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        }
    } else {
        (arrived.judge(&door.intake), share)
    };
    let is_authentic = !matches!(judged, Judged::Forged);
    let mut answer = act(&door.intake, forge, judged).await;
    if is_authentic {
        answer.extensions_mut().insert(Authentic);
    }
    drop(share);
    answer
}

fn is_configured(secrets: &Secrets, forge: ForgeKind) -> bool {
    match forge {
        ForgeKind::Github => secrets.github.is_some(),
        ForgeKind::Gitlab => secrets.gitlab.is_some() || secrets.gitlab_signing.is_some(),
        ForgeKind::Local => secrets.local.is_some(),
    }
}

fn refuse_body(forge: ForgeKind, why: &NotTaken) -> Response {
    tracing::warn!(forge = %forge, why = ?why, "a delivery from {forge} could not be read");
    match why {
        NotTaken::TooLarge => StatusCode::PAYLOAD_TOO_LARGE.into_response(),
        NotTaken::TooSlow => StatusCode::REQUEST_TIMEOUT.into_response(),
        NotTaken::Busy => later(),
        NotTaken::Broken | NotTaken::TooManyChunks => StatusCode::BAD_REQUEST.into_response(),
    }
}

fn later() -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, RETRY_SECONDS)]).into_response()
}

async fn act(intake: &Intake, forge: ForgeKind, judged: Judged) -> Response {
    match judged {
        Judged::Forged => {
            tracing::warn!(forge = %forge, "a request to the webhook of {forge} has no valid signature");
            // Many forged requests then cost a connection each.
            (StatusCode::UNAUTHORIZED, [(CONNECTION, "close")]).into_response()
        }
        Judged::Unusable(sentence) => {
            tracing::warn!(forge = %forge, "a genuine delivery from {forge} cannot be used: {sentence}");
            (StatusCode::BAD_REQUEST, format!("{sentence}\n")).into_response()
        }
        Judged::NotForUs(why) => {
            tracing::debug!(forge = %forge, "a delivery from {forge} is not for us: {why}");
            StatusCode::OK.into_response()
        }
        Judged::Deliver(delivery) => store(intake, *delivery).await,
    }
}

async fn store(intake: &Intake, delivery: NewDelivery) -> Response {
    let (key, unreadable) = (delivery.key.clone(), delivery.unreadable.clone());
    let thread: Option<ThreadRef> = delivery.thread.clone();
    match intake.store.put(delivery).await {
        Ok(Put::Seen) => StatusCode::OK.into_response(),
        Ok(Put::New) => {
            match (unreadable, thread) {
                (Some(why), _) => {
                    tracing::warn!(delivery.id = %key, "delivery {key} is kept but unreadable: {why}")
                }
                // Nobody listens before the engine runs; it looks for due threads by itself.
                (None, Some(thread)) => drop(intake.wake.send(thread)),
                (None, None) => {}
            }
            StatusCode::ACCEPTED.into_response()
        }
        Err(error) => {
            tracing::error!(delivery.id = %key, "delivery {key} could not be stored: {error}");
            later()
        }
    }
}

/// A request whose body is here.
struct Arrived {
    forge: ForgeKind,
    headers: HeaderMap,
    body: Bytes,
    at: Millis,
}

enum Judged {
    Forged,
    /// Genuine, but the sentence says what must be set differently at the forge.
    Unusable(&'static str),
    NotForUs(&'static str),
    Deliver(Box<NewDelivery>),
}

impl Arrived {
    fn judge(self, intake: &Intake) -> Judged {
        if self.proof(&intake.secrets) == Proof::Refused {
            return Judged::Forged;
        }
        let Some(event) = self.event() else {
            return Judged::Unusable("the header that names the event is missing");
        };
        // Forges sign the body, not the headers: a captured delivery must not come back as one of the engine's own.
        if event == INTERNAL_EVENT {
            return Judged::NotForUs("the event's name is ours");
        }
        let (thread, unreadable) = match translate(self.forge, &event, &self.body, intake.confidential) {
            Translated::NotForUs(why) => return Judged::NotForUs(why),
            // All events of one delivery are about one thread.
            Translated::Events(events) => (events.into_iter().next().map(|event| event.thread), None),
            Translated::Unreadable { .. } if serde_json::from_slice::<IgnoredAny>(&self.body).is_err() => {
                return Judged::Unusable("the body is not JSON; set the content type to application/json");
            }
            Translated::Unreadable { thread, why } => (thread, Some(why)),
        };
        let Some(id) = self.id() else {
            return Judged::Unusable("the header that names the delivery is missing or malformed");
        };
        Judged::Deliver(Box::new(NewDelivery {
            key: format!("{}:{id}", self.forge),
            thread,
            forge: self.forge,
            event,
            body: self.body,
            received_at: self.at,
            unreadable,
        }))
    }

    fn proof(&self, secrets: &Secrets) -> Proof {
        let by_hash = |secret: Option<&_>| {
            secret.map_or(Proof::Refused, |secret| verify::github(&self.headers, &self.body, secret))
        };
        match self.forge {
            ForgeKind::Github => by_hash(secrets.github.as_ref()),
            ForgeKind::Local => by_hash(secrets.local.as_ref()),
            ForgeKind::Gitlab => {
                let keys =
                    GitlabKeys { token: secrets.gitlab.as_ref(), signing: secrets.gitlab_signing.as_ref() };
                verify::gitlab(&self.headers, &self.body, keys, self.at)
            }
        }
    }

    fn event(&self) -> Option<String> {
        let named = match self.forge {
            ForgeKind::Github => single(&self.headers, "x-github-event"),
            ForgeKind::Gitlab => single(&self.headers, "x-gitlab-event"),
            ForgeKind::Local => Some("event"),
        };
        named.filter(|event| is_name(event)).map(str::to_owned)
    }

    /// Never GitLab's event UUID: hooks that set off one another share it.
    fn id(&self) -> Option<String> {
        let name = match self.forge {
            ForgeKind::Github => "x-github-delivery",
            ForgeKind::Local => "x-planwright-delivery",
            // A signature covers this one, so that a replayed request cannot be given a new name.
            ForgeKind::Gitlab if self.headers.contains_key(SIGNATURE) => SIGNED_ID,
            ForgeKind::Gitlab if self.headers.contains_key(IDEMPOTENCY_KEY) => IDEMPOTENCY_KEY,
            ForgeKind::Gitlab if self.headers.contains_key(SIGNED_ID) => SIGNED_ID,
            ForgeKind::Gitlab => return Some(format!("sha256:{}", hex::encode(Sha256::digest(&self.body)))),
        };
        single(&self.headers, name).filter(|id| is_name(id)).map(str::to_owned)
    }
}

const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// What we store under must be short and plain; forges send a GUID or a few words.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= 200 && text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ')
}
