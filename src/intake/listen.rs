//! Purpose: hold the connections of the door: each while it brings requests, none that only holds on.
//!
//! `axum::serve` would do, but for one thing: it waits for the head of a request as long as that takes, and a thousand
//! clients that never finish theirs would leave no room for a forge. Nobody has proved anything when they connect.

use std::pin::pin;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// For the head of a request, and between two requests on one connection.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// When the system has no room for one more connection, the next ones wait so long.
const NO_ROOM: Duration = Duration::from_millis(200);

/// Serves until told to stop; then whatever is under way is answered, and this returns.
pub async fn serve(listener: TcpListener, router: Router, head_timeout: Duration, stop: CancellationToken) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(head_timeout);
    let mut connections = JoinSet::new();
    while !stop.is_cancelled() {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(hold(http.clone(), stream, router.clone(), stop.clone()));
                }
                Err(error) => {
                    tracing::warn!("a connection could not be accepted: {error}");
                    tokio::time::sleep(NO_ROOM).await;
                }
            },
            Some(_) = connections.join_next() => {}
            () = stop.cancelled() => {}
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn hold(http: http1::Builder, stream: TcpStream, router: Router, stop: CancellationToken) {
    let service = TowerToHyperService::new(router);
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!("a connection ended: {error}");
    }
}
