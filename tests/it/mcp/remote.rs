//! Purpose: servers over HTTP that are too big, too slow, gone, forgetful, or send us to somebody else.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use planwright::tools::mcp::{Mcp, McpError, Reach, ServerSettings};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::rig::{call, settings};

const SESSION: &str = "mcp-session-id";

/// In what way answers come, or do not.
#[derive(Debug, Clone, Default, PartialEq)]
enum Manner {
    #[default]
    Json,
    Events,
    /// 100 MB in place of the answer to a call.
    HugeJson,
    HugeEvents,
    Status(u16),
    /// Says where else to go, with 307.
    Elsewhere(String),
    Silent,
    Page,
}

#[derive(Default)]
struct World {
    manner: Manner,
    /// Sessions that were begun and not ended or forgotten.
    sessions: Vec<String>,
    begun: usize,
    seen: Vec<Seen>,
}

struct Seen {
    method: Method,
    /// The JSON-RPC method.
    asked: String,
    authorization: Option<String>,
}

struct Remote {
    world: Arc<Mutex<World>>,
    origin: String,
    server: JoinHandle<()>,
}

impl Remote {
    async fn start() -> Self {
        let world = Arc::new(Mutex::new(World::default()));
        let router = Router::new().fallback(serve).with_state(Arc::clone(&world));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        #[expect(clippy::disallowed_methods, reason = "the server of a test runs beside it and ends with it")]
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { world, origin, server }
    }

    fn settings(&self) -> ServerSettings {
        let (url, token) = (format!("{}/mcp", self.origin), Some("t0ken".to_owned().into()));
        settings("far", Reach::Http { url, token })
    }

    fn mcp(&self) -> Mcp {
        Mcp::new(vec![self.settings()])
    }

    fn behave(&self, manner: Manner) {
        self.world.lock().unwrap().manner = manner;
    }

    fn forget_sessions(&self) {
        self.world.lock().unwrap().sessions.clear();
    }

    fn asked(&self, what: &str) -> usize {
        self.world.lock().unwrap().seen.iter().filter(|seen| seen.asked == what).count()
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn serve(
    State(world): State<Arc<Mutex<World>>>,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let manner = {
        let mut world = world.lock().unwrap();
        let authorization =
            headers.get(header::AUTHORIZATION).map(|value| value.to_str().unwrap().to_owned());
        let asked = message["method"].as_str().unwrap_or_default().to_owned();
        world.seen.push(Seen { method: method.clone(), asked, authorization });
        world.manner.clone()
    };
    match manner {
        Manner::Status(status) => return StatusCode::from_u16(status).unwrap().into_response(),
        Manner::Elsewhere(to) => {
            return (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, to)]).into_response();
        }
        Manner::Silent => std::future::pending::<()>().await,
        Manner::Page => {
            return (StatusCode::OK, [(header::CONTENT_TYPE, "text/html")], "<p>hi").into_response();
        }
        Manner::Json | Manner::Events | Manner::HugeJson | Manner::HugeEvents => {}
    }
    let mut world = world.lock().unwrap();
    match method {
        Method::POST => post(&mut world, &headers, &message),
        Method::DELETE => {
            world.sessions.retain(|id| headers[SESSION] != **id);
            StatusCode::NO_CONTENT.into_response()
        }
        _ => StatusCode::METHOD_NOT_ALLOWED.into_response(),
    }
}

fn post(world: &mut World, headers: &HeaderMap, message: &Value) -> Response {
    if message["method"] == "initialize" {
        world.begun += 1;
        let session = format!("session-{}", world.begun);
        world.sessions.push(session.clone());
        let about = json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "far", "version": "1"},
        });
        let mut response = reply(&world.manner, message, about);
        response.headers_mut().insert(SESSION, session.parse().unwrap());
        return response;
    }
    let session = headers.get(SESSION).map(|id| id.to_str().unwrap()).unwrap_or_default();
    if !world.sessions.iter().any(|id| id == session) {
        return StatusCode::NOT_FOUND.into_response();
    }
    match message["method"].as_str() {
        Some("tools/list") => {
            let echo =
                json!({"name": "echo", "description": "Says it again", "inputSchema": {"type": "object"}});
            reply(&world.manner, message, json!({"tools": [echo]}))
        }
        Some("tools/call") if matches!(world.manner, Manner::HugeJson | Manner::HugeEvents) => {
            huge(&world.manner)
        }
        Some("tools/call") => {
            let text = &message["params"]["arguments"]["text"];
            reply(&world.manner, message, json!({"content": [{"type": "text", "text": text}]}))
        }
        Some("ping") => reply(&world.manner, message, json!({})),
        _ => StatusCode::ACCEPTED.into_response(),
    }
}

fn reply(manner: &Manner, message: &Value, result: Value) -> Response {
    let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    if *manner == Manner::Events {
        let news = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}});
        let body = format!(": hello\n\nevent: message\ndata: {news}\n\ndata: {answer}\n\n");
        return ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response();
    }
    ([(header::CONTENT_TYPE, "application/json")], answer.to_string()).into_response()
}

fn huge(manner: &Manner) -> Response {
    let (kind, piece) = if *manner == Manner::HugeEvents {
        ("text/event-stream", Bytes::from("data: 1\n\n".repeat(8_000)))
    } else {
        ("application/json", Bytes::from(" ".repeat(72_000)))
    };
    let pieces = stream::iter((0..1_500).map(move |_| Ok::<_, std::io::Error>(piece.clone())));
    ([(header::CONTENT_TYPE, kind)], Body::from_stream(pieces)).into_response()
}

#[tokio::test]
async fn both_forms_of_answers_are_understood() {
    for manner in [Manner::Json, Manner::Events] {
        let remote = Remote::start().await;
        remote.behave(manner.clone());
        let mcp = remote.mcp();
        assert_eq!(mcp.offer().await.missing, [], "{manner:?}");
        assert_eq!(
            call(&mcp, "far/echo", json!({"text": "hello"})).await.unwrap().text,
            "hello",
            "{manner:?}"
        );
        mcp.close().await;
        let world = remote.world.lock().unwrap();
        assert_eq!(world.begun, 1);
        assert_eq!(world.sessions, [""; 0], "the session was not ended");
        assert!(world.seen.iter().all(|seen| seen.authorization.as_deref() == Some("Bearer t0ken")));
        assert!(world.seen.iter().all(|seen| seen.method != Method::GET), "a stream was opened");
    }
}

#[tokio::test]
async fn answers_of_100_mb_are_not_read() {
    for manner in [Manner::HugeJson, Manner::HugeEvents] {
        let remote = Remote::start().await;
        remote.behave(manner.clone());
        let mcp = remote.mcp();
        let lost = call(&mcp, "far/echo", json!({})).await.unwrap_err();
        let sentence = "the MCP server `far` sent a message of more than 4 MiB before it answered";
        assert!(lost.to_string().starts_with(sentence), "{manner:?}: {lost}");
    }
}

#[tokio::test]
async fn token_and_words_go_to_no_other_host() {
    let (remote, other) = (Remote::start().await, Remote::start().await);
    remote.behave(Manner::Elsewhere(format!("{}/mcp", other.origin)));
    let offer = remote.mcp().offer().await;
    assert!(offer.missing[0].1.contains("307"), "{:?}", offer.missing);
    assert!(other.world.lock().unwrap().seen.is_empty(), "the other host heard of it");
}

#[tokio::test]
async fn a_server_may_send_us_around_its_own_house_but_not_for_ever() {
    let remote = Remote::start().await;
    remote.behave(Manner::Elsewhere("/mcp/".to_owned()));
    assert!(!remote.mcp().offer().await.missing.is_empty());
    assert!((2..10).contains(&remote.asked("initialize")), "{}", remote.asked("initialize"));
}

#[tokio::test]
async fn refusals_nonsense_and_silence_make_it_unavailable() {
    for (manner, reason) in [
        (Manner::Status(401), "status 401"),
        (Manner::Status(403), "status 403"),
        (Manner::Status(500), "status 500"),
        (Manner::Status(404), "status 404"),
        (Manner::Page, "Unexpected content type"),
        (Manner::Silent, "said nothing for 1 s"),
    ] {
        let remote = Remote::start().await;
        remote.behave(manner.clone());
        let mut settings = remote.settings();
        settings.timeout = Duration::from_secs(1);
        let offer = Mcp::new(vec![settings]).offer().await;
        let why = &offer.missing[0].1;
        assert!(
            why.contains(reason) && !why.contains("t0ken") && !why.contains(&remote.origin),
            "{manner:?}: {why}"
        );
    }
}

#[tokio::test]
async fn nobody_there_is_said_without_the_address() {
    let remote = Remote::start().await;
    let (settings, origin) = (remote.settings(), remote.origin.clone());
    remote.server.abort();
    drop(remote);
    let why = Mcp::new(vec![settings]).offer().await.missing.remove(0).1;
    assert!(why.starts_with("the MCP server `far` ") && !why.contains(&origin), "{why}");
}

#[tokio::test]
async fn a_forgotten_session_is_a_failure_and_a_new_one_is_begun_later() {
    let remote = Remote::start().await;
    let mcp = remote.mcp();
    assert_eq!(call(&mcp, "far/echo", json!({"text": "a"})).await.unwrap().text, "a");
    remote.forget_sessions();
    let why = mcp.offer().await.missing.remove(0).1;
    assert!(why.contains("Session expired"), "{why}");
    assert_eq!(remote.asked("initialize"), 1, "it was begun anew without a pause");
    let back = async {
        while mcp.tool("far/echo").await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(super::rig::LIMIT, back).await.unwrap();
    assert_eq!(remote.asked("initialize"), 2);
    assert_eq!(remote.asked("tools/call"), 1, "a call was repeated");
}

#[tokio::test]
async fn a_call_over_http_ends_at_its_limit() {
    let remote = Remote::start().await;
    let mut settings = remote.settings();
    settings.timeout = Duration::from_secs(2);
    let mcp = Mcp::new(vec![settings]);
    let hash = mcp.tool("far/echo").await.unwrap().hash;
    remote.behave(Manner::Silent);
    let stop = tokio_util::sync::CancellationToken::new();
    let answer = mcp.call("far/echo", &hash, super::rig::no_arguments(), &stop).await;
    assert!(matches!(answer, Err(McpError::Unavailable(_))), "{answer:?}");
}

#[tokio::test]
async fn bad_addresses_are_named() {
    for (url, reason) in [
        ("nonsense", "no URL"),
        ("ftp://127.0.0.1/", "does not begin with http"),
        ("http://user:hush@127.0.0.1/", "password in its address"),
    ] {
        let settings = settings("far", Reach::Http { url: url.to_owned(), token: None });
        let why = Mcp::new(vec![settings]).offer().await.missing.remove(0).1;
        assert!(why.contains(reason) && !why.contains("hush"), "{why}");
    }
}
