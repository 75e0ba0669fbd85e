//! Purpose: fakes of GitHub and GitLab over HTTP. Both answer from a `World` and write into it.
//!
//! A fake keeps an audit of every request and can be told to fail: see [`Fault`].

pub(crate) mod connection;
pub(crate) mod github;
mod github_hooks;
mod github_pulls;
pub(crate) mod gitlab;
mod gitlab_hooks;
mod gitlab_merges;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::response::Response;
use connection::{Cut, CuttableListener};
pub(crate) use github::FakeGithub;
pub(crate) use gitlab::FakeGitlab;
use http::{HeaderMap, Method};
use planwright::domain::{Account, AccountId, AccountKind, CommentId, EventKind, Millis, ThreadRef};
use planwright::forge::{ForgeError, Local};
use serde_json::{Value, json};
use tokio::net::TcpListener;

pub(crate) const PAGE: usize = 30;

/// What goes wrong with the next matching requests.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    /// Refused with this status; nothing happens.
    Status(u16),
    /// Refused with this status and a message that repeats the credentials it came with; nothing happens.
    Echo(u16),
    /// 429, with or without a `retry-after`.
    RateLimit { retry_after: Option<u64> },
    /// It happens, then the connection is cut without an answer.
    ResetAfterBody,
    /// It happens, and no answer ever comes.
    Timeout,
    /// It happens, and the answer is a page of HTML.
    Garbage,
    /// It happens, and the answer comes late.
    Slow(Duration),
    /// Sends the client elsewhere.
    Redirect { status: u16, to: String },
}

#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) at: Instant,
    pub(crate) headers: HeaderMap,
    /// The status of the answer, once there is one.
    pub(crate) answered: Option<u16>,
}

/// Whoever asks such a thing for the nth time from now on is struck down, before or after it happens, and never gets an
/// answer.
pub(crate) struct Ambush {
    pub(crate) of: fn(&Method) -> bool,
    pub(crate) nth: usize,
    pub(crate) moment: Moment,
    pub(crate) strike: Box<dyn Fn() + Send>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    Before,
    After,
}

struct Planned {
    method: Method,
    path_contains: String,
    fault: Fault,
    times: u32,
}

/// A request as the routes of a fake see it.
pub(crate) struct Asked {
    pub(crate) method: Method,
    pub(crate) segments: Vec<String>,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Asked {
    pub(crate) fn value<'a>(&'a self, key: &str) -> Option<&'a str> {
        self.query.get(key).map(String::as_str)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    pub(crate) fn form(&self) -> Vec<(String, String)> {
        url::form_urlencoded::parse(&self.body).into_owned().collect()
    }

    pub(crate) fn form_value(&self, key: &str) -> String {
        self.form().into_iter().find(|(k, _)| k == key).map(|(_, v)| v).unwrap_or_default()
    }

    fn page(&self) -> (usize, usize) {
        let number = |key: &str| self.query.get(key).and_then(|v| v.parse::<usize>().ok());
        (number("page").unwrap_or(1).max(1), number("per_page").unwrap_or(PAGE).clamp(1, 100))
    }
}

/// What a route answers.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Value,
    pub(crate) headers: Vec<(&'static str, String)>,
}

impl Reply {
    pub(crate) fn new(status: u16, body: Value) -> Self {
        Self { status, body, headers: Vec::new() }
    }

    pub(crate) fn ok(body: Value) -> Self {
        Self::new(200, body)
    }

    pub(crate) fn message(status: u16, text: &str) -> Self {
        Self::new(status, json!({ "message": text }))
    }

    /// Names the state that the answer shows, and says "the same" to whoever names it too.
    fn conditional(mut self, asked: &Asked) -> Self {
        if asked.method != Method::GET || self.status != 200 {
            return self;
        }
        let mut state = DefaultHasher::new();
        self.body.to_string().hash(&mut state);
        let etag = format!("W/\"{:x}\"", state.finish());
        if asked.headers.get("if-none-match").is_some_and(|named| named == etag.as_str()) {
            self = Self::new(304, Value::Null);
        }
        self.headers.push(("etag", etag));
        self
    }

    /// One page of a list with the headers that both forges send along.
    pub(crate) fn list(asked: &Asked, items: Vec<Value>) -> Self {
        let (page, size) = asked.page();
        let more = items.len() > page * size;
        let shown: Vec<Value> = items.into_iter().skip((page - 1) * size).take(size).collect();
        let mut reply = Self::ok(Value::Array(shown));
        reply.headers.push(("x-next-page", if more { (page + 1).to_string() } else { String::new() }));
        if more {
            // A client must not follow addresses that an answer carries; this one leads nowhere.
            reply
                .headers
                .push(("link", format!("<http://elsewhere.invalid/?page={}>; rel=\"next\"", page + 1)));
        }
        reply
    }
}

/// The forge's own refusals, as their statuses.
impl From<ForgeError> for Reply {
    fn from(error: ForgeError) -> Self {
        match &error {
            ForgeError::NotFound(_) => Self::message(404, "Not Found"),
            ForgeError::Forbidden(why) => Self::message(403, why),
            ForgeError::Invalid(why) => Self::message(422, why),
            ForgeError::Unauthorized(why) => Self::message(401, why),
            ForgeError::RateLimited { .. } | ForgeError::Unclear(_) | ForgeError::Broken(_) => {
                Self::message(500, &error.to_string())
            }
        }
    }
}

/// What both fakes are made of: a served address, an audit, and the faults to come.
#[derive(Clone)]
pub(crate) struct Stage {
    pub(crate) world: Local,
    seen: Arc<Mutex<Vec<Seen>>>,
    faults: Arc<Mutex<Vec<Planned>>>,
    ambush: Arc<Mutex<Option<Ambush>>>,
    /// How many seconds a token is good for that the fake gives out.
    token_life: Arc<AtomicI64>,
    address: SocketAddr,
}

pub(crate) type Route = fn(&Stage, &Asked) -> Reply;

impl Stage {
    #[expect(clippy::disallowed_methods, reason = "a test's server runs beside the test")]
    pub(crate) async fn start(world: Local, route: Route) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let token_life = Arc::new(AtomicI64::new(3600));
        let (seen, faults, ambush) = Default::default();
        let stage = Self { world, seen, faults, ambush, token_life, address };
        let app = Router::new().fallback(serve).with_state((stage.clone(), route));
        let app = app.into_make_service_with_connect_info::<Cut>();
        tokio::spawn(async move { axum::serve(CuttableListener(listener), app).await });
        stage
    }

    /// Returns the number of the new comment, which need not be the newest any more: people speak at the same time.
    fn comment_by_bot(&self, t: &ThreadRef, text: &str) -> Result<CommentId, ForgeError> {
        let (bot, now) = (self.world.bot().id, self.world.now());
        let said = self.world.with(|world| world.comment(t, bot, text, now))??;
        let EventKind::CommentCreated { comment } = said.kind else { unreachable!("a comment was made") };
        Ok(comment.id)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn set_token_life(&self, seconds: i64) {
        self.token_life.store(seconds, Ordering::SeqCst);
    }

    /// When a token ends that is given out now.
    fn token_end(&self) -> String {
        time(planwright::engine::now().plus(self.token_life.load(Ordering::SeqCst) * 1000))
    }

    pub(crate) fn audit(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// The statuses that were answered to this, in order.
    pub(crate) fn answers(&self, method: &Method, path_ends: &str) -> Vec<Option<u16>> {
        let met = |seen: &&Seen| seen.method == *method && seen.path.ends_with(path_ends);
        self.audit().iter().filter(met).map(|seen| seen.answered).collect()
    }

    pub(crate) fn count(&self, method: &Method, path_contains: &str) -> usize {
        self.audit().iter().filter(|s| s.method == *method && s.path.contains(path_contains)).count()
    }

    /// The next `times` requests with this method and a path that contains this meet the fault.
    pub(crate) fn fault(&self, method: Method, path_contains: &str, fault: Fault, times: u32) {
        let path_contains = path_contains.to_owned();
        self.faults.lock().unwrap().push(Planned { method, path_contains, fault, times });
    }

    pub(crate) fn heal(&self) {
        self.faults.lock().unwrap().clear();
    }

    pub(crate) fn lay(&self, ambush: Ambush) {
        *self.ambush.lock().unwrap() = Some(ambush);
    }

    fn take_ambush(&self, method: &Method) -> Option<Ambush> {
        let mut ambush = self.ambush.lock().unwrap();
        ambush.as_mut().filter(|ambush| (ambush.of)(method))?.nth -= 1;
        ambush.take_if(|ambush| ambush.nth == 0)
    }

    fn take_fault(&self, method: &Method, path: &str) -> Option<Fault> {
        let mut faults = self.faults.lock().unwrap();
        let met = |p: &&mut Planned| p.times > 0 && p.method == *method && path.contains(&p.path_contains);
        let planned = faults.iter_mut().find(met)?;
        planned.times -= 1;
        Some(planned.fault.clone())
    }
}

async fn serve(
    State((stage, route)): State<(Stage, Route)>,
    ConnectInfo(cut): ConnectInfo<Cut>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 4 << 20).await.unwrap().to_vec();
    let path = parts.uri.to_string();
    let seen = Seen {
        method: parts.method.clone(),
        path: path.clone(),
        at: Instant::now(),
        headers: parts.headers.clone(),
        answered: None,
    };
    let number = {
        let mut all = stage.seen.lock().unwrap();
        all.push(seen);
        all.len() - 1
    };
    let asked = Asked {
        segments: parts.uri.path().split('/').filter(|s| !s.is_empty()).map(unescape).collect(),
        query: url::form_urlencoded::parse(parts.uri.query().unwrap_or("").as_bytes()).into_owned().collect(),
        method: parts.method,
        headers: parts.headers,
        body,
    };
    let response = perform(&stage, route, &asked, &path, &cut).await;
    stage.seen.lock().unwrap()[number].answered = Some(response.status().as_u16());
    response
}

async fn perform(stage: &Stage, route: Route, asked: &Asked, path: &str, cut: &Cut) -> Response {
    let route = |stage: &Stage, asked: &Asked| route(stage, asked).conditional(asked);
    if let Some(ambush) = stage.take_ambush(&asked.method) {
        if ambush.moment == Moment::After {
            route(stage, asked);
        }
        (ambush.strike)();
        return std::future::pending().await;
    }
    let Some(fault) = stage.take_fault(&asked.method, path) else { return send(route(stage, asked)) };
    match fault {
        Fault::Status(status) => send(Reply::message(status, "injected")),
        Fault::Echo(status) => send(Reply::message(status, &credentials(asked))),
        Fault::RateLimit { retry_after } => {
            let mut reply = Reply::message(429, "slow down");
            reply.headers.extend(retry_after.map(|seconds| ("retry-after", seconds.to_string())));
            send(reply)
        }
        Fault::ResetAfterBody => {
            let reply = route(stage, asked);
            cut.cut();
            send(reply)
        }
        Fault::Timeout => {
            route(stage, asked);
            std::future::pending().await
        }
        Fault::Garbage => {
            route(stage, asked);
            Response::builder().header("content-type", "text/html").body(Body::from("<html>oops")).unwrap()
        }
        Fault::Slow(wait) => {
            let reply = route(stage, asked);
            tokio::time::sleep(wait).await;
            send(reply)
        }
        Fault::Redirect { status, to } => {
            let mut reply = Reply::message(status, "Moved");
            reply.headers.push(("location", to));
            send(reply)
        }
    }
}

fn credentials(asked: &Asked) -> String {
    let sent = ["authorization", "private-token"].map(|name| asked.headers.get(name));
    sent.iter().flatten().map(|value| format!("who is {}?", value.to_str().unwrap())).collect()
}

fn send(reply: Reply) -> Response {
    let mut response = Response::builder().status(reply.status).header("content-type", "application/json");
    for (name, value) in reply.headers {
        response = response.header(name, value);
    }
    let empty = matches!(reply.status, 204 | 304);
    response.body(if empty { Body::empty() } else { Body::from(reply.body.to_string()) }).unwrap()
}

fn unescape(segment: &str) -> String {
    // `+` is a plus in paths, and the decoder is one for forms.
    let protected = segment.replace('+', "%2B");
    url::form_urlencoded::parse(format!("x={protected}").as_bytes())
        .next()
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}

pub(crate) fn time(at: Millis) -> String {
    at.to_string()
}

pub(crate) fn account(stage: &Stage, id: AccountId) -> Account {
    let nobody = Account { id, login: "ghost".into(), kind: AccountKind::Ghost };
    stage.world.look(|world| world.account(id).cloned()).unwrap_or(nobody)
}

/// A webhook delivery, ready to be posted.
pub(crate) struct Delivery {
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}
