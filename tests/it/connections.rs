//! Purpose: connections of the door: who sends nothing is not held, who sends is served, and an end is an end.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use planwright::intake::serve;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

const HEAD: Duration = Duration::from_millis(300);
const ASK: &[u8] = b"GET /at-once HTTP/1.1\r\nHost: x\r\n\r\n";

struct House {
    address: SocketAddr,
    stop: CancellationToken,
    serving: JoinSet<()>,
}

impl House {
    /// Answers one path at once, and the other when it is told to.
    async fn open(told: &'static Notify) -> Self {
        let router = Router::new()
            .route("/at-once", get(|| async { "here" }))
            .route("/when-told", get(move || async { told.notified().await }));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, router, HEAD, stop.clone()));
        Self { address, stop, serving }
    }

    async fn sent(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        stream
    }
}

/// What comes until the other side closes.
async fn to_the_end(mut stream: TcpStream) -> String {
    let mut text = String::new();
    let reading = tokio::time::timeout(Duration::from_secs(20), stream.read_to_string(&mut text));
    assert!(reading.await.is_ok(), "the connection stays open");
    text
}

#[tokio::test]
async fn a_head_that_never_ends_is_not_waited_for_and_others_are_served_meanwhile() {
    static TOLD: Notify = Notify::const_new();
    let house = House::open(&TOLD).await;
    let mut slow = vec![];
    for bytes in [&b""[..], b"G", b"GET /at-once HTTP/1.1\r\nHost: x\r\nX-Slow: "] {
        for _ in 0..50 {
            slow.push(house.sent(bytes).await);
        }
    }
    let mut good = house.sent(ASK).await;
    let mut answer = vec![0; 12];
    good.read_exact(&mut answer).await.unwrap();
    assert_eq!(answer, b"HTTP/1.1 200");
    for stream in slow {
        let said = to_the_end(stream).await;
        assert!(!said.contains(" 200 "), "{said}");
    }
}

#[tokio::test]
async fn a_connection_brings_many_requests_and_ends_when_no_more_come() {
    static TOLD: Notify = Notify::const_new();
    let house = House::open(&TOLD).await;
    let mut stream = house.sent(ASK).await;
    // Longer than a head may take, all of them together.
    for _ in 0..4 {
        tokio::time::sleep(HEAD / 2).await;
        stream.write_all(ASK).await.unwrap();
    }
    let said = to_the_end(stream).await;
    assert_eq!(said.matches("HTTP/1.1 200 OK").count(), 5, "{said}");
}

#[tokio::test]
async fn at_the_end_what_is_under_way_is_answered_and_nothing_else_is_waited_for() {
    static TOLD: Notify = Notify::const_new();
    let mut house = House::open(&TOLD).await;
    let idle = house.sent(b"").await;
    let busy = house.sent(b"GET /when-told HTTP/1.1\r\nHost: x\r\n\r\n").await;
    // Served after the others were accepted.
    let mut later = house.sent(ASK).await;
    later.read_exact(&mut [0; 12]).await.unwrap();
    house.stop.cancel();
    assert_eq!(to_the_end(idle).await, "");
    TOLD.notify_one();
    let said = to_the_end(busy).await;
    assert!(said.starts_with("HTTP/1.1 200 OK") && said.contains("connection: close"), "{said}");
    house.serving.join_next().await.unwrap().unwrap();
    assert!(TcpStream::connect(house.address).await.is_err(), "nobody listens any more");
}
