//! Purpose: the door over real HTTP: what is stored, what is refused, and with which answer.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::future::join_all;
use hmac::{Hmac, KeyInit, Mac};
use planwright::domain::{Account, Event, EventKind, Millis, ThreadRef};
use planwright::intake::translate::Confidential;
use planwright::intake::{ConnectionLimits, Intake, Limits, Secrets, router_with, serve};
use planwright::store::{Delivery, Turn};
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use secrecy::SecretString;
use serde_json::json;
use sha2::Sha256;
use sqlx::{Connection, SqliteConnection};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::store::trouble::{SmallDisk, where_it_may_mount};
use crate::store::{Fixture, LEASE_MS, NOW, thread, turn};

const SECRET: &str = "It's a Secret to Everybody";
const TOKEN: &str = "open sesame";
/// 32 bytes `k`.
const SIGNING: &str = "whsec_a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=";

fn now() -> Millis {
    NOW
}

struct Door {
    at: Fixture,
    address: SocketAddr,
    http: Client,
    woken: broadcast::Receiver<ThreadRef>,
    _server: JoinSet<()>,
}

fn all_secrets() -> Secrets {
    let secret = |text: &str| Some(SecretString::from(text.to_owned()));
    Secrets {
        github: secret(SECRET),
        gitlab: secret(TOKEN),
        gitlab_signing: secret(SIGNING),
        local: secret(SECRET),
    }
}

impl Door {
    async fn open() -> Self {
        Self::with(Limits::default(), all_secrets()).await
    }

    async fn with(limits: Limits, secrets: Secrets) -> Self {
        Self::on(Fixture::with_options("?busy_timeout_ms=50").await, limits, secrets).await
    }

    async fn on(at: Fixture, limits: Limits, secrets: Secrets) -> Self {
        Self::within(at, limits, ConnectionLimits::default(), secrets).await
    }

    async fn within(at: Fixture, limits: Limits, connections: ConnectionLimits, secrets: Secrets) -> Self {
        let (wake, woken) = broadcast::channel(64);
        let store = at.store.clone();
        let intake = Intake { store, secrets, clock: now, wake, confidential: Confidential::Ignored };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut server = JoinSet::new();
        server.spawn(serve(listener, router_with(intake, limits), connections, CancellationToken::new()));
        Self { at, address, http: Client::new(), woken, _server: server }
    }

    fn post(&self, path: &str) -> RequestBuilder {
        self.http.post(format!("http://{}{path}", self.address))
    }

    /// A signed delivery of an event from GitHub.
    fn github(&self, id: &str, event: &str, body: impl Into<Vec<u8>>) -> RequestBuilder {
        let body = body.into();
        self.post("/webhooks/github")
            .header("X-GitHub-Event", event)
            .header("X-GitHub-Delivery", id)
            .header("X-Hub-Signature-256", signature(&body))
            .body(body)
    }

    fn gitlab(&self, body: impl Into<Vec<u8>>) -> RequestBuilder {
        self.post("/webhooks/gitlab").header("X-Gitlab-Event", "Issue Hook").body(body.into())
    }

    /// Everything that waits, over all threads.
    async fn stored(&self) -> Vec<Delivery> {
        let mut stored = Vec::new();
        while let Some(lease) = self.at.store.claim("test", NOW, LEASE_MS).await.unwrap() {
            stored.extend(self.at.store.pending(&lease).await.unwrap());
        }
        stored
    }

    async fn get(&self, path: &str) -> (StatusCode, String) {
        let response = self.http.get(format!("http://{}{path}", self.address)).send().await.unwrap();
        (response.status(), response.text().await.unwrap())
    }
}

fn signature(body: &[u8]) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap().chain_update(body);
    format!("sha256={}", hex::encode(mac.finalize().into_bytes()))
}

fn issue(number: u64) -> String {
    json!({
        "action": "assigned",
        "issue": {"number": number, "title": "A title"},
        "repository": {"full_name": "acme/web"},
        "sender": {"id": 7, "login": "ann", "type": "User"},
        "assignee": {"id": 8, "login": "planwright", "type": "User"},
    })
    .to_string()
}

fn gitlab_issue() -> String {
    json!({
        "object_kind": "issue",
        "user": {"id": 7, "username": "ann"},
        "project": {"path_with_namespace": "group/sub/proj"},
        "object_attributes": {"iid": 3, "action": "open"},
    })
    .to_string()
}

async fn status(request: RequestBuilder) -> StatusCode {
    request.send().await.unwrap().status()
}

async fn empty(response: Response) -> StatusCode {
    let status = response.status();
    assert_eq!(response.text().await.unwrap(), "", "{status} must not say more");
    status
}

#[tokio::test]
async fn a_genuine_delivery_is_stored_byte_for_byte_and_wakes_its_thread() {
    let mut door = Door::open().await;
    let body = issue(12).replace("A title", "Ä title\\u0000 ");
    let answer = door.github("guid-1", "issues", body.clone()).send().await.unwrap();
    assert_eq!(empty(answer).await, StatusCode::ACCEPTED);
    assert_eq!(door.woken.try_recv().unwrap(), thread("github:acme/web#12"));
    assert_eq!(
        empty(door.github("guid-1", "issues", body.clone()).send().await.unwrap()).await,
        StatusCode::OK
    );
    assert!(door.woken.try_recv().is_err(), "a redelivery wakes nobody");
    let stored = door.stored().await;
    assert_eq!(stored.len(), 1);
    assert_eq!((stored[0].key.as_str(), stored[0].event.as_str()), ("github:guid-1", "issues"));
    assert_eq!((&stored[0].body, stored[0].received_at), (&body.into_bytes(), NOW));
}

#[tokio::test(flavor = "multi_thread")]
async fn five_copies_at_once_are_accepted_once() {
    let door = Door::open().await;
    let answers = join_all((0..5).map(|_| status(door.github("guid-1", "issues", issue(1))))).await;
    assert_eq!(answers.iter().filter(|status| **status == StatusCode::ACCEPTED).count(), 1, "{answers:?}");
    assert_eq!(answers.iter().filter(|status| **status == StatusCode::OK).count(), 4, "{answers:?}");
    assert_eq!(door.stored().await.len(), 1);
}

#[tokio::test]
async fn forged_requests_get_401_without_a_hint_and_leave_nothing() {
    let door = Door::open().await;
    let unsigned = || {
        door.post("/webhooks/github")
            .header("X-GitHub-Event", "issues")
            .header("X-GitHub-Delivery", "g")
            .body(issue(1))
    };
    let good = signature(issue(1).as_bytes());
    let wrong = signature(b"something else");
    let requests = [
        unsigned(),
        unsigned().header("X-Hub-Signature-256", &wrong),
        unsigned().header("X-Hub-Signature-256", &good[..40]),
        unsigned().header("X-Hub-Signature-256", &good).header("X-Hub-Signature-256", &good),
        unsigned().header("X-Hub-Signature-256", &wrong).header("X-Hub-Signature-256", &good),
        unsigned().header("X-Hub-Signature", "sha1=00"),
        door.gitlab(gitlab_issue()),
        door.gitlab(gitlab_issue()).header("X-Gitlab-Token", "open sesame!"),
        door.gitlab(gitlab_issue()).header("X-Gitlab-Token", TOKEN).header("X-Gitlab-Token", TOKEN),
        door.gitlab(gitlab_issue()).header("X-Gitlab-Token", TOKEN).header("webhook-signature", "v1,AAAA"),
        door.post("/webhooks/local").header("X-Planwright-Delivery", "l").body("{}"),
        // Not even JSON: the signature is looked at first.
        unsigned().body("rubbish"),
    ];
    for (n, request) in requests.into_iter().enumerate() {
        assert_eq!(empty(request.send().await.unwrap()).await, StatusCode::UNAUTHORIZED, "request {n}");
    }
    assert!(door.stored().await.is_empty());
}

#[tokio::test]
async fn a_forge_without_a_secret_is_not_there() {
    let door =
        Door::with(Limits::default(), Secrets { gitlab: all_secrets().gitlab, ..Secrets::default() }).await;
    assert_eq!(status(door.github("g", "issues", issue(1))).await, StatusCode::NOT_FOUND);
    assert_eq!(status(door.post("/webhooks/local").body("{}")).await, StatusCode::NOT_FOUND);
    let taken = door.gitlab(gitlab_issue()).header("X-Gitlab-Token", TOKEN);
    assert_eq!(status(taken).await, StatusCode::ACCEPTED);
}

#[tokio::test]
async fn gitlab_deliveries_are_told_apart_by_their_idempotency_key_only() {
    let door = Door::open().await;
    let send = |headers: Vec<(&'static str, &'static str)>, body: String| {
        let request = door.gitlab(body).header("X-Gitlab-Token", TOKEN);
        status(headers.into_iter().fold(request, |request, (name, value)| request.header(name, value)))
    };
    let uuid = ("X-Gitlab-Event-UUID", "shared-by-recursive-hooks");
    let other = gitlab_issue().replace("open", "close");
    assert_eq!(send(vec![("Idempotency-Key", "a"), uuid], gitlab_issue()).await, StatusCode::ACCEPTED);
    assert_eq!(send(vec![("Idempotency-Key", "a"), uuid], gitlab_issue()).await, StatusCode::OK);
    assert_eq!(send(vec![("Idempotency-Key", "b"), uuid], gitlab_issue()).await, StatusCode::ACCEPTED);
    assert_eq!(send(vec![("webhook-id", "c"), uuid], gitlab_issue()).await, StatusCode::ACCEPTED);
    // Old instances send no key: then the body tells.
    assert_eq!(send(vec![uuid], gitlab_issue()).await, StatusCode::ACCEPTED);
    assert_eq!(send(vec![uuid], gitlab_issue()).await, StatusCode::OK);
    assert_eq!(send(vec![uuid], other).await, StatusCode::ACCEPTED);
    assert_eq!(door.stored().await.len(), 5);
}

#[tokio::test]
async fn a_signed_gitlab_delivery_is_known_by_its_signed_id() {
    let door = Door::open().await;
    let timestamp = (NOW.0 / 1000).to_string();
    let send = |claimed_key: &'static str, timestamp: &str| {
        let mac = Hmac::<Sha256>::new_from_slice(&[b'k'; 32]).unwrap();
        let mac = mac.chain_update(format!("msg_1.{timestamp}.")).chain_update(gitlab_issue());
        use base64::Engine;
        let signature = base64::engine::general_purpose::STANDARD.encode(mac.finalize().into_bytes());
        let request = door
            .gitlab(gitlab_issue())
            .header("webhook-id", "msg_1")
            .header("webhook-timestamp", timestamp)
            .header("webhook-signature", format!("v1,{signature}"))
            .header("Idempotency-Key", claimed_key);
        status(request)
    };
    assert_eq!(send("msg_1", &timestamp).await, StatusCode::ACCEPTED);
    assert_eq!(send("replayed-under-another-name", &timestamp).await, StatusCode::OK);
    let stale = (NOW.0 / 1000 - 301).to_string();
    assert_eq!(send("msg_1", &stale).await, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_local_delivery_is_an_event_of_ours() {
    let mut door = Door::open().await;
    let event = Event {
        thread: thread("local:sample#1"),
        actor: Account::person(1, "ann"),
        at: None,
        kind: EventKind::Assigned { assignee: Account::person(2, "planwright") },
    };
    let body = serde_json::to_vec(&event).unwrap();
    let request = door
        .post("/webhooks/local")
        .header("X-Hub-Signature-256", signature(&body))
        .header("X-Planwright-Delivery", "1")
        .body(body);
    assert_eq!(status(request).await, StatusCode::ACCEPTED);
    assert_eq!(door.woken.try_recv().unwrap(), event.thread);
    assert_eq!(door.stored().await[0].event, "event");
}

#[tokio::test]
async fn events_we_ignore_are_answered_well_and_not_stored() {
    let door = Door::open().await;
    for event in ["ping", "star", "an_event_of_the_future"] {
        assert_eq!(
            empty(door.github("g", event, "{}").send().await.unwrap()).await,
            StatusCode::OK,
            "{event}"
        );
    }
    let confidential = door.post("/webhooks/gitlab").header("X-Gitlab-Event", "Confidential Issue Hook");
    let confidential = confidential.header("X-Gitlab-Token", TOKEN).body(gitlab_issue());
    assert_eq!(empty(confidential.send().await.unwrap()).await, StatusCode::OK);
    assert!(door.stored().await.is_empty());
    assert_eq!(door.at.store.inbox_stats().deliveries, 0);
}

#[tokio::test]
async fn a_genuine_body_that_is_no_json_is_answered_with_what_to_set() {
    let door = Door::open().await;
    let truncated = issue(1)[..60].to_owned();
    for body in ["payload=%7B%7D".to_owned(), String::new(), truncated, "[".repeat(100_000)] {
        let answer = door.github("g", "issues", body).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST);
        assert!(answer.text().await.unwrap().contains("application/json"));
    }
    assert_eq!(door.at.store.inbox_stats().deliveries, 0);
}

#[tokio::test]
async fn a_payload_without_the_fields_we_need_is_kept_but_not_claimed() {
    let door = Door::open().await;
    for (n, body) in ["{}", r#"{"issue":null}"#, "[]", r#"{"issue":{"number":-1}}"#].into_iter().enumerate() {
        let id = format!("odd-{n}");
        assert_eq!(status(door.github(&id, "issues", body)).await, StatusCode::ACCEPTED, "{body}");
        assert_eq!(status(door.github(&id, "issues", body)).await, StatusCode::OK, "{body}");
    }
    assert!(door.stored().await.is_empty());
    assert_eq!(door.at.store.inbox_stats().deliveries, 8);
}

#[tokio::test]
async fn a_delivery_needs_one_plain_id() {
    let door = Door::open().await;
    let long = "x".repeat(201);
    let body = issue(1);
    let without = || {
        door.post("/webhooks/github")
            .header("X-Hub-Signature-256", signature(body.as_bytes()))
            .body(body.clone())
    };
    let requests = [
        without().header("X-GitHub-Delivery", "g"),
        without().header("X-GitHub-Event", "issues"),
        without().header("X-GitHub-Event", "issues").header("X-GitHub-Delivery", ""),
        without().header("X-GitHub-Event", "issues").header("X-GitHub-Delivery", &long),
        without()
            .header("X-GitHub-Event", "issues")
            .header("X-GitHub-Delivery", "a")
            .header("X-GitHub-Delivery", "b"),
    ];
    for (n, request) in requests.into_iter().enumerate() {
        assert_eq!(status(request).await, StatusCode::BAD_REQUEST, "request {n}");
    }
}

#[tokio::test]
async fn thirty_megabytes_are_too_large_and_twenty_five_are_not() {
    let door = Door::open().await;
    let padded = |bytes: usize| {
        let body = issue(1);
        format!("{body}{}", " ".repeat(bytes - body.len()))
    };
    assert_eq!(status(door.github("g", "issues", padded(25_000_000))).await, StatusCode::ACCEPTED);
    let large = || door.post("/webhooks/github").body(padded(30_000_000));
    assert_eq!(empty(large().send().await.unwrap()).await, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(door.stored().await[0].body.len(), 25_000_000);
}

#[tokio::test]
async fn the_limit_holds_to_the_byte_with_and_without_a_declared_length() {
    let limits = Limits { body_bytes: 300_000, ..Limits::default() };
    let door = Door::with(limits, all_secrets()).await;
    let chunked = |bytes: usize| {
        let chunks =
            (0..bytes).step_by(1000).map(move |at| Ok::<_, std::io::Error>(vec![b' '; 1000.min(bytes - at)]));
        let stream = futures_util::stream::iter(chunks);
        door.post("/webhooks/github").body(reqwest::Body::wrap_stream(stream))
    };
    for (bytes, expected) in [(300_000, StatusCode::UNAUTHORIZED), (300_001, StatusCode::PAYLOAD_TOO_LARGE)] {
        assert_eq!(status(chunked(bytes)).await, expected, "chunked, {bytes}");
        let declared = door.post("/webhooks/github").body(vec![b' '; bytes]);
        assert_eq!(status(declared).await, expected, "declared, {bytes}");
    }
}

/// Opens a connection and sends the beginning of a body that never ends.
async fn stall(door: &Door, declared: usize, sent: usize) -> TcpStream {
    let mut stream = TcpStream::connect(door.address).await.unwrap();
    let head = format!("POST /webhooks/github HTTP/1.1\r\nHost: x\r\nContent-Length: {declared}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&vec![b' '; sent]).await.unwrap();
    stream
}

#[tokio::test]
async fn a_body_that_does_not_come_is_given_up() {
    let limits = Limits { read_timeout: Duration::from_millis(50), ..Limits::default() };
    let door = Door::with(limits, all_secrets()).await;
    let mut stream = stall(&door, 1_000, 10).await;
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 408");
}

#[tokio::test]
async fn large_bodies_wait_for_one_another_and_small_ones_pass() {
    let limits = Limits {
        small_body_bytes: 10_000,
        large_bodies_bytes: 250_000,
        budget_timeout: Duration::from_secs(60),
        ..Limits::default()
    };
    let door = Door::with(limits, all_secrets()).await;
    let padded = |n: u64| format!("{}{}", issue(n), " ".repeat(100_000));
    let answers = join_all((0..12).map(|n| status(door.github(&format!("g{n}"), "issues", padded(n))))).await;
    assert_eq!(answers, [StatusCode::ACCEPTED; 12]);
    // Somebody takes the whole budget and sends no more.
    let hog = stall(&door, 250_000, 20_000).await;
    assert_eq!(status(door.github("small", "issues", issue(1))).await, StatusCode::ACCEPTED);
    drop(hog);
    assert_eq!(status(door.github("after", "issues", padded(1))).await, StatusCode::ACCEPTED);
}

#[tokio::test]
async fn too_many_large_bodies_are_put_off() {
    let limits = Limits {
        small_body_bytes: 10_000,
        large_bodies_bytes: 250_000,
        budget_timeout: Duration::from_millis(50),
        ..Limits::default()
    };
    let door = Door::with(limits, all_secrets()).await;
    let _hog = stall(&door, 250_000, 20_000).await;
    let padded = format!("{}{}", issue(1), " ".repeat(100_000));
    // The hog may be a moment late.
    for _ in 0..100 {
        let answer = door.github("large", "issues", padded.clone()).send().await.unwrap();
        if answer.status() == StatusCode::SERVICE_UNAVAILABLE {
            assert!(answer.headers().contains_key("retry-after"));
            return;
        }
    }
    panic!("nothing was put off");
}

#[tokio::test]
async fn a_large_body_that_trickles_makes_room_for_others_as_soon_as_they_come() {
    let limits = Limits {
        small_body_bytes: 10_000,
        large_bodies_bytes: 250_000,
        large_grace: Duration::from_millis(100),
        ..Limits::default()
    };
    let door = Door::with(limits, all_secrets()).await;
    let mut trickling = stall(&door, 250_000, 20_000).await;
    // While nobody waits, it has the whole time.
    for _ in 0..4 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        trickling.write_all(b" ").await.unwrap();
    }
    let padded = format!("{}{}", issue(1), " ".repeat(100_000));
    let answer = tokio::time::timeout(Duration::from_secs(5), status(door.github("large", "issues", padded)));
    assert_eq!(answer.await.unwrap(), StatusCode::ACCEPTED);
    let mut answer = [0; 12];
    trickling.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 408");
}

#[tokio::test]
async fn a_queue_of_large_bodies_that_do_not_come_holds_up_no_later_one() {
    let limits = Limits {
        small_body_bytes: 10_000,
        large_bodies_bytes: 250_000,
        large_grace: Duration::from_millis(500),
        ..Limits::default()
    };
    let door = Door::with(limits, all_secrets()).await;
    // In turn, each would have the budget for half a second.
    let _queue = join_all((0..40).map(|_| stall(&door, 250_000, 0))).await;
    let padded = format!("{}{}", issue(1), " ".repeat(100_000));
    let answer = tokio::time::timeout(Duration::from_secs(5), status(door.github("large", "issues", padded)));
    assert_eq!(answer.await.unwrap(), StatusCode::ACCEPTED);
}

#[tokio::test]
async fn a_body_in_very_many_very_small_chunks_is_refused() {
    let door = Door::open().await;
    let head = "POST /webhooks/github HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    let mut stream = TcpStream::connect(door.address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    let _ = stream.write_all(&b"1\r\nx\r\n".repeat(2_000)).await;
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 400");
}

#[tokio::test]
async fn a_sender_that_waits_to_be_asked_is_asked_or_refused_before_it_sends() {
    let door = Door::open().await;
    let begin = async |body: usize, signature: &str| {
        let mut stream = TcpStream::connect(door.address).await.unwrap();
        let head = format!(
            "POST /webhooks/github HTTP/1.1\r\nHost: x\r\nX-GitHub-Event: issues\r\nX-GitHub-Delivery: asked\r\n\
             X-Hub-Signature-256: {signature}\r\nExpect: 100-continue\r\nContent-Length: {body}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream
    };
    let said = async |stream: &mut TcpStream| {
        let mut answer = [0; 12];
        let reading = tokio::time::timeout(Duration::from_secs(5), stream.read_exact(&mut answer));
        reading.await.unwrap().unwrap();
        String::from_utf8(answer.to_vec()).unwrap()
    };
    let mut refused = begin(30_000_000, "none").await;
    assert_eq!(said(&mut refused).await, "HTTP/1.1 413");
    let body = issue(1);
    let mut asked = begin(body.len(), &signature(body.as_bytes())).await;
    assert_eq!(said(&mut asked).await, "HTTP/1.1 100");
    asked.read_exact(&mut [0; 13]).await.unwrap();
    asked.write_all(body.as_bytes()).await.unwrap();
    assert_eq!(said(&mut asked).await, "HTTP/1.1 202");
}

/// A request as it goes over the wire.
fn on_the_wire(id: &str, body: &str, signature: &str) -> String {
    format!(
        "POST /webhooks/github HTTP/1.1\r\nHost: x\r\nX-GitHub-Event: issues\r\nX-GitHub-Delivery: {id}\r\n\
         X-Hub-Signature-256: {signature}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[tokio::test]
async fn after_a_forged_request_the_connection_ends_and_after_genuine_ones_it_stays() {
    let door = Door::open().await;
    let body = issue(1);
    let mut stream = TcpStream::connect(door.address).await.unwrap();
    let genuine = |id: &str| on_the_wire(id, &body, &signature(body.as_bytes()));
    let all = [genuine("a"), genuine("b"), on_the_wire("c", &body, "sha256=00"), genuine("d")].concat();
    stream.write_all(all.as_bytes()).await.unwrap();
    let mut said = Vec::new();
    // What was sent behind the forged request may turn the end into a reset.
    let _ = stream.read_to_end(&mut said).await;
    let said = String::from_utf8(said).unwrap();
    let answers: Vec<_> = said.lines().filter_map(|line| line.strip_prefix("HTTP/1.1 ")).collect();
    assert_eq!(answers, ["202 Accepted", "202 Accepted", "401 Unauthorized"]);
    assert_eq!(door.stored().await.len(), 2);
}

#[tokio::test]
async fn a_connection_that_brings_deliveries_outlives_those_that_bring_nothing() {
    let patience = Duration::from_millis(50);
    let connections = ConnectionLimits { max_connections: 3, patience, ..ConnectionLimits::default() };
    let at = Fixture::with_options("?busy_timeout_ms=50").await;
    let door = Door::within(at, Limits::default(), connections, all_secrets()).await;
    let mut forge = TcpStream::connect(door.address).await.unwrap();
    let mut hostile = stall(&door, 1_000, 10).await;
    let _other = stall(&door, 1_000, 10).await;
    let body = issue(1);
    let deliver = async |stream: &mut TcpStream, id: &str| {
        let request = on_the_wire(id, &body, &signature(body.as_bytes()));
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 202");
    };
    deliver(&mut forge, "first").await;
    tokio::time::sleep(patience).await;
    let mut newer = TcpStream::connect(door.address).await.unwrap();
    deliver(&mut newer, "second").await;
    assert_eq!(hostile.read(&mut [0; 1]).await.unwrap_or(0), 0, "the hostile one was the oldest");
    let mut rest = [0; 1024];
    while let Ok(read) = forge.try_read(&mut rest) {
        assert!(read > 0, "the forge's connection was closed");
    }
    deliver(&mut forge, "third").await;
}

#[tokio::test]
async fn a_locked_database_answers_503_and_recovers_by_itself() {
    let door = Door::open().await;
    let file = door.at.dir.path().join("data/planwright.db");
    let mut other = SqliteConnection::connect(file.to_str().unwrap()).await.unwrap();
    assert_eq!(door.get("/readyz").await, (StatusCode::OK, "ok\n".to_owned()));
    sqlx::raw_sql("BEGIN EXCLUSIVE").execute(&mut other).await.unwrap();
    let answer = door.github("guid-1", "issues", issue(1)).send().await.unwrap();
    assert!(answer.headers().contains_key("retry-after"));
    assert_eq!(empty(answer).await, StatusCode::SERVICE_UNAVAILABLE);
    let (status_now, says) = door.get("/readyz").await;
    assert_eq!(status_now, StatusCode::SERVICE_UNAVAILABLE);
    assert!(says.contains("locked"), "{says}");
    assert_eq!(door.get("/healthz").await.0, StatusCode::OK, "the process itself is well");
    sqlx::raw_sql("ROLLBACK").execute(&mut other).await.unwrap();
    assert_eq!(status(door.github("guid-1", "issues", issue(1))).await, StatusCode::ACCEPTED);
    assert_eq!(door.get("/readyz").await.0, StatusCode::OK);
}

/// The database may not grow beyond its allowed size, which it meets as it meets the end of a disk.
#[tokio::test]
async fn a_full_database_answers_503_and_recovers_when_there_is_space() {
    let full = Fixture::with_options("?max_page_count=64").await;
    let door = Door::on(full, Limits::default(), all_secrets()).await;
    let long = |number: u64| {
        let noise: Vec<String> = (0..200).map(|n| hex::encode(hmac_of(number * 1_000 + n))).collect();
        let issue = json!({"number": number, "title": noise});
        json!({"action": "assigned", "issue": issue, "repository": {"full_name": "acme/web"},
               "assignee": {"id": 1, "login": "planwright"}, "sender": {"id": 2, "login": "maria"}})
        .to_string()
    };
    let mut taken = 0;
    let refused = loop {
        match status(door.github(&format!("guid-{taken}"), "issues", long(taken))).await {
            StatusCode::ACCEPTED => taken += 1,
            other => break other,
        }
        assert!(taken < 1_000, "it never became full");
    };
    assert_eq!(refused, StatusCode::SERVICE_UNAVAILABLE);
    assert!(taken > 0);
    while let Some(lease) = door.at.store.claim("test", NOW, LEASE_MS).await.unwrap() {
        let keys = door.at.store.pending(&lease).await.unwrap().into_iter().map(|d| d.key).collect();
        let done = Turn { consumed: keys, ..turn(&[]) };
        let _ = door.at.store.append(&lease, done).await.unwrap();
    }
    let again = format!("guid-{taken}");
    assert_eq!(status(door.github(&again, "issues", long(taken))).await, StatusCode::ACCEPTED);
    assert_eq!(
        status(door.github("guid-0", "issues", long(0))).await,
        StatusCode::OK,
        "what was taken is known"
    );
}

#[test]
fn a_real_disk_that_is_full_or_read_only_answers_503_and_recovers() {
    where_it_may_mount("intake::answered_from_a_real_disk");
}

#[tokio::test]
#[ignore = "mounts a file system; run by the test above, where that is allowed"]
async fn answered_from_a_real_disk() {
    let disk = SmallDisk::new();
    let at = Fixture { dir: TempDir::new().unwrap(), store: disk.store().await };
    let door = Door::on(at, Limits::default(), all_secrets()).await;
    let large = |number: u64| {
        let noise: Vec<String> = (0..5_000).map(|n| hex::encode(hmac_of(number * 10_000 + n))).collect();
        issue(number).replace("A title", &noise.concat())
    };
    let refused = async |id: &str, number: u64| {
        let answer = door.github(id, "issues", large(number)).send().await.unwrap();
        assert!(answer.headers().contains_key("retry-after"), "{id}");
        assert_eq!(empty(answer).await, StatusCode::SERVICE_UNAVAILABLE, "{id}");
    };
    assert_eq!(status(door.github("first", "issues", issue(1))).await, StatusCode::ACCEPTED);
    disk.fill();
    refused("full", 2).await;
    disk.clear();
    disk.protect().await;
    refused("read-only", 3).await;
    let (ready, says) = door.get("/readyz").await;
    assert_eq!(ready, StatusCode::SERVICE_UNAVAILABLE);
    assert!(says.contains("read-only") || says.contains("cannot be opened"), "{says}");
    disk.free();
    assert_eq!(door.get("/readyz").await.0, StatusCode::OK);
    for (id, number) in [("full", 2), ("read-only", 3)] {
        assert_eq!(status(door.github(id, "issues", large(number))).await, StatusCode::ACCEPTED, "{id}");
    }
    assert_eq!(status(door.github("first", "issues", issue(1))).await, StatusCode::OK, "it was kept");
    assert_eq!(door.stored().await.len(), 3);
}

fn hmac_of(number: u64) -> Vec<u8> {
    let mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap().chain_update(number.to_le_bytes());
    mac.finalize().into_bytes().to_vec()
}

#[tokio::test]
async fn a_sender_that_hangs_up_half_way_leaves_nothing() {
    let door = Door::open().await;
    let body = issue(1);
    let mut stream = TcpStream::connect(door.address).await.unwrap();
    let head = format!(
        "POST /webhooks/github HTTP/1.1\r\nHost: x\r\nX-GitHub-Event: issues\r\nX-GitHub-Delivery: cut\r\n\
         X-Hub-Signature-256: {}\r\nContent-Length: {}\r\n\r\n",
        signature(body.as_bytes()),
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&body.as_bytes()[..body.len() - 1]).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    assert!(!answer.starts_with(b"HTTP/1.1 2"), "{}", String::from_utf8_lossy(&answer));
    assert_eq!(status(door.github("cut", "issues", body)).await, StatusCode::ACCEPTED);
    assert_eq!(door.stored().await.len(), 1);
}
