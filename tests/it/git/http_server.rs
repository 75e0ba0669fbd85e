//! Purpose: a git server over HTTP: git's own `http-backend` behind a password, as forges have it.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::request::Parts;
use http::{Request, StatusCode};
use planwright::tools::git::{GitAuth, Remote};
use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;

pub(crate) const USER: &str = "x-access-token";
pub(crate) const TOKEN: &str = "ghs_Canary0Token1Of2The3Tests4";

/// What the server does instead of its work.
#[derive(Debug, Clone)]
pub(crate) enum Mood {
    Good,
    /// Refuses with a status and words for the user.
    Refuses(u16, &'static str),
    Redirects(String),
    /// Takes the request and never answers.
    Silent,
}

pub(crate) struct Server {
    pub(crate) base: String,
    inner: Arc<Inner>,
    _task: JoinSet<()>,
}

struct Inner {
    root: PathBuf,
    /// The `Authorization` that opens the door.
    opens: String,
    mood: Mutex<Mood>,
    /// The `Authorization` of each request.
    seen: Mutex<Vec<Option<String>>>,
}

impl Server {
    /// Serves the repositories below a folder.
    pub(crate) async fn start(root: &Path) -> Self {
        Self::for_user(root, USER, TOKEN).await
    }

    /// Lets in whoever comes with this name and token, and nobody else.
    pub(crate) async fn for_user(root: &Path, user: &str, token: &str) -> Self {
        let (root, opens) = (root.to_owned(), basic_of(user, token));
        let inner = Arc::new(Inner { root, opens, mood: Mutex::new(Mood::Good), seen: Mutex::default() });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(answer).with_state(Arc::clone(&inner));
        let mut task = JoinSet::new();
        task.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { base, inner, _task: task }
    }

    pub(crate) fn feel(&self, mood: Mood) {
        *self.inner.mood.lock().unwrap() = mood;
    }

    pub(crate) fn seen(&self) -> Vec<Option<String>> {
        self.inner.seen.lock().unwrap().clone()
    }

    pub(crate) fn remote(&self, token: &str) -> Remote {
        let auth = GitAuth { user: USER.to_owned(), secret: token.to_owned().into() };
        Remote { url: format!("{}/origin.git", self.base), auth: Some(auth) }
    }
}

pub(crate) fn basic(token: &str) -> String {
    basic_of(USER, token)
}

pub(crate) fn basic_of(user: &str, token: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{token}")))
}

async fn answer(State(server): State<Arc<Inner>>, request: Request<Body>) -> Response {
    let (head, body) = request.into_parts();
    let auth = head.headers.get("authorization").map(|value| value.to_str().unwrap().to_owned());
    server.seen.lock().unwrap().push(auth.clone());
    let mood = server.mood.lock().unwrap().clone();
    match mood {
        Mood::Good if auth.as_ref() == Some(&server.opens) => {}
        Mood::Good => {
            let plain = Response::builder().status(StatusCode::UNAUTHORIZED);
            return plain.header("www-authenticate", "Basic realm=\"git\"").body(Body::empty()).unwrap();
        }
        Mood::Refuses(status, words) => {
            let plain = Response::builder().status(status).header("content-type", "text/plain");
            return plain.body(words.into()).unwrap();
        }
        Mood::Redirects(base) => {
            let to = format!("{base}{}", head.uri);
            return Response::builder().status(302).header("location", to).body(Body::empty()).unwrap();
        }
        Mood::Silent => std::future::pending::<()>().await,
    }
    let body = axum::body::to_bytes(body, 64 << 20).await.unwrap();
    run_backend(&server.root, &head, body).await
}

/// The backend speaks CGI: the request is in its environment, the answer begins with headers.
async fn run_backend(root: &Path, head: &Parts, body: Bytes) -> Response {
    let header =
        |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut command = tokio::process::Command::new("git");
    command.args(["-c", "http.receivepack=true", "http-backend"]).env_clear();
    for (name, value) in [
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_HTTP_EXPORT_ALL", "1"),
        ("REMOTE_USER", USER),
        ("REQUEST_METHOD", head.method.as_str()),
        ("PATH_INFO", head.uri.path()),
        ("QUERY_STRING", head.uri.query().unwrap_or_default()),
        ("CONTENT_TYPE", header("content-type")),
        ("CONTENT_LENGTH", &body.len().to_string()),
        ("HTTP_CONTENT_ENCODING", header("content-encoding")),
        ("GIT_PROTOCOL", header("git-protocol")),
    ] {
        command.env(name, value);
    }
    command.env("GIT_PROJECT_ROOT", root).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.kill_on_drop(true).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let send = async move {
        // The backend may have seen enough before the end.
        let _ = stdin.write_all(&body).await;
    };
    let (output, ()) = tokio::join!(child.wait_with_output(), send);
    from_cgi(&output.unwrap().stdout)
}

fn from_cgi(output: &[u8]) -> Response {
    let end = output.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let mut response = Response::builder();
    for line in std::str::from_utf8(&output[..end]).unwrap().lines() {
        let (name, value) = line.split_once(": ").unwrap();
        response = match name {
            "Status" => response.status(&value[..3]),
            _ => response.header(name, value),
        };
    }
    response.body(Body::from(output[end + 4..].to_owned())).unwrap()
}
