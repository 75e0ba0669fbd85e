//! Purpose: hold the connections of the door: each while it brings requests, none that only holds on.
//!
//! `axum::serve` would do, but for two things: it waits for the head of a request as long as that takes, and it accepts as
//! many connections as come. Nobody has proved anything when they connect.
//!
//! There is a bound on open connections, well below the limit of open files. Who opens many and sends little could take all
//! places below any bound, so the bound alone would shut out the forges. Therefore, when all places are taken and one more
//! connection comes, the one is closed that has waited longest for its request: idle, or with half a head or half a body.
//! One whose request is complete is never closed. If no connection may be closed, the new one waits, and those after it
//! wait in the kernel's queue.
//!
//! Not chosen: a limit per address, since behind a reverse proxy all have the same one. Accepted: who opens more than
//! `max_connections / patience` connections each second (1,000 and more) can delay others; the proxy has to stop that.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Notify;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::activity::{Activity, WatchedBody};
use super::answer_timeout::AnswerTimeout;
use super::limits::{ConnectionLimits, READ_BUFFER};

/// When the system has no room for one more connection, the next ones wait so long.
const NO_ROOM: Duration = Duration::from_millis(200);
/// The log says at most this often that all connections are taken.
const REPORT_EVERY: Duration = Duration::from_secs(60);

/// The kernel doubles both sizes. Without them it lets the buffers of each connection grow to several megabytes, which count
/// as memory of the service.
const RECEIVE_BUFFER: u32 = 128 * 1024;
/// Answers have a few hundred bytes.
const SEND_BUFFER: u32 = 16 * 1024;
const BACKLOG: u32 = 1024;

/// Listens on an address, with small buffers in the kernel for each connection.
///
/// # Errors
/// When the address is taken or not ours.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    // Accepted connections inherit these.
    socket.set_recv_buffer_size(RECEIVE_BUFFER)?;
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves until told to stop; then whatever is under way is answered, and this returns.
pub async fn serve(listener: TcpListener, router: Router, limits: ConnectionLimits, stop: CancellationToken) {
    let mut connections = OpenConnections::new(router, limits, stop.clone());
    while !stop.is_cancelled() {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => tokio::select! {
                    () = connections.make_room() => connections.open(stream),
                    () = stop.cancelled() => {}
                },
                Err(error) => {
                    tracing::warn!("a connection could not be accepted: {error}");
                    tokio::time::sleep(NO_ROOM).await;
                }
            },
            Some(ended) = connections.tasks.join_next_with_id() => connections.forget(&ended),
            () = stop.cancelled() => {}
        }
    }
    drop(listener);
    while connections.tasks.join_next().await.is_some() {}
}

struct OpenConnections {
    http: http1::Builder,
    service: TowerToHyperService<Router>,
    limits: ConnectionLimits,
    stop: CancellationToken,
    tasks: JoinSet<()>,
    open: HashMap<Id, Arc<Activity>>,
    /// Told when a connection that could not be closed may be closed now.
    changed: Arc<Notify>,
    reported: Option<Instant>,
}

impl OpenConnections {
    fn new(router: Router, limits: ConnectionLimits, stop: CancellationToken) -> Self {
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(limits.head_timeout).max_buf_size(READ_BUFFER);
        Self {
            http,
            service: TowerToHyperService::new(router),
            limits,
            stop,
            tasks: JoinSet::new(),
            open: HashMap::new(),
            changed: Arc::new(Notify::new()),
            reported: None,
        }
    }

    fn open(&mut self, stream: TcpStream) {
        let activity = Arc::new(Activity::new(Arc::clone(&self.changed)));
        let connection = HeldConnection {
            stream: AnswerTimeout::new(stream, self.limits.answer_timeout),
            service: self.service.clone(),
            activity: Arc::clone(&activity),
            patience: self.limits.patience,
            stop: self.stop.clone(),
        };
        let task = self.tasks.spawn(connection.hold(self.http.clone()));
        self.open.insert(task.id(), activity);
    }

    fn forget(&mut self, ended: &Result<(Id, ()), JoinError>) {
        let id = match ended {
            Ok((id, ())) => *id,
            Err(panicked) => panicked.id(),
        };
        self.open.remove(&id);
    }

    /// Returns when one more connection may be opened.
    async fn make_room(&mut self) {
        while self.open.len() >= self.limits.max_connections {
            self.report_shortage();
            // To ask the same connection again does no harm.
            let next_at = self.ask_one_to_close();
            let next = async {
                match next_at {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                Some(ended) = self.tasks.join_next_with_id() => self.forget(&ended),
                () = self.changed.notified() => {}
                () = next => {}
            }
        }
    }

    /// Asks the connection that has waited longest for its request. If it has not waited long enough, returns when it will
    /// have.
    fn ask_one_to_close(&self) -> Option<Instant> {
        let waiting = self.open.values().filter_map(|activity| Some((activity.waiting_since()?, activity)));
        let (since, activity) = waiting.min_by_key(|(since, _)| *since)?;
        let closable_at = since + self.limits.patience;
        if closable_at > Instant::now() {
            return Some(closable_at);
        }
        activity.ask_to_close();
        None
    }

    fn report_shortage(&mut self) {
        if self.reported.is_none_or(|reported| reported.elapsed() >= REPORT_EVERY) {
            self.reported = Some(Instant::now());
            let all = self.limits.max_connections;
            tracing::warn!(
                "all {all} connections are taken; those that bring no request are closed for new ones"
            );
        }
    }
}

struct HeldConnection {
    stream: AnswerTimeout<TcpStream>,
    service: TowerToHyperService<Router>,
    activity: Arc<Activity>,
    patience: Duration,
    stop: CancellationToken,
}

impl HeldConnection {
    async fn hold(self, http: http1::Builder) {
        let Self { stream, service, activity, patience, stop } = self;
        let service = service_fn(|request: Request<Incoming>| {
            let answer = service.call(request.map(|body| WatchedBody::new(body, Arc::clone(&activity))));
            let activity = Arc::clone(&activity);
            async move {
                let answer = answer.await?;
                activity.end_handling(&answer);
                Ok::<_, std::convert::Infallible>(answer)
            }
        });
        let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
        let mut is_stopping = false;
        let ended = loop {
            tokio::select! {
                // The connection first: a request that has arrived by now is taken, and an answer is sent, before the
                // connection is asked whether it may be closed.
                biased;
                ended = connection.as_mut() => break ended,
                () = stop.cancelled(), if !is_stopping => {
                    is_stopping = true;
                    connection.as_mut().graceful_shutdown();
                }
                () = activity.asked_to_close() => {
                    if activity.agrees_to_close(patience) {
                        tracing::debug!("a connection is closed for another: it brought no request");
                        return;
                    }
                }
            }
        };
        if let Err(error) = ended {
            tracing::debug!("a connection ended: {error}");
        }
    }
}
