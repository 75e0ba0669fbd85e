//! Purpose: connections of the door: who sends nothing is not held, who sends is served, and an end is an end.

use std::fs;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use futures_util::future::join_all;
use hmac::{Hmac, KeyInit as _, Mac as _};
use planwright::domain::{Account, Event, EventKind};
use planwright::intake::{CONNECTION_BYTES, ConnectionLimits, Limits, bind, serve};
use reqwest::StatusCode;
use sha2::Sha256;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

const HEAD: Duration = Duration::from_millis(300);
const ASK: &[u8] = b"GET /at-once HTTP/1.1\r\nHost: x\r\n\r\n";
const ASK_WHEN_TOLD: &[u8] = b"GET /when-told HTTP/1.1\r\nHost: x\r\n\r\n";
const HALF_A_HEAD: &[u8] = b"GET /at-once HTTP/1.1\r\nHost: x\r\nX-Slow: ";
const HALF_A_BODY: &[u8] = b"POST /read HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf";
const ANSWERED: &[u8] = b"HTTP/1.1 200";

struct House {
    address: SocketAddr,
    stop: CancellationToken,
    serving: JoinSet<()>,
}

/// Nothing ends by itself while a test runs, and who waited for a moment may be closed.
fn few(max_connections: usize) -> ConnectionLimits {
    let minute = Duration::from_secs(60);
    let patience = Duration::from_millis(50);
    ConnectionLimits { max_connections, head_timeout: minute, answer_timeout: minute, patience }
}

impl House {
    async fn open(told: &'static Notify) -> Self {
        Self::with(ConnectionLimits { head_timeout: HEAD, ..ConnectionLimits::default() }, told).await
    }

    /// Answers one path at once, one when it is told to, and one when it has read the body.
    async fn with(limits: ConnectionLimits, told: &'static Notify) -> Self {
        let router = Router::new()
            .route("/at-once", get(|| async { "here" }))
            .route("/when-told", get(move || async { told.notified().await }))
            .route("/read", post(|body: Bytes| async move { body.len().to_string() }))
            .layer(DefaultBodyLimit::disable());
        let listener = bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let (address, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, router, limits, stop.clone()));
        Self { address, stop, serving }
    }

    async fn sent(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        stream
    }

    /// A connection whose request was answered, and which is kept.
    async fn answered(&self) -> TcpStream {
        let mut stream = self.sent(ASK).await;
        assert_answered(&mut stream).await;
        stream
    }
}

async fn assert_answered(stream: &mut TcpStream) {
    let mut answer = [0; ANSWERED.len()];
    let reading = tokio::time::timeout(Duration::from_secs(20), stream.read_exact(&mut answer));
    reading.await.unwrap().unwrap();
    assert_eq!(answer, ANSWERED);
}

/// Reads what is there of answers.
fn is_open(stream: &TcpStream) -> bool {
    let mut rest = [0; 1024];
    loop {
        match stream.try_read(&mut rest) {
            Ok(0) => return false,
            Ok(_) => {}
            Err(error) => return error.kind() == std::io::ErrorKind::WouldBlock,
        }
    }
}

async fn wait_until_closed(mut stream: TcpStream) {
    let mut rest = vec![];
    let reading = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut rest));
    // A connection that is closed with something unread in it is reset.
    assert!(reading.await.is_ok(), "the connection stays open");
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
    for bytes in [&b""[..], b"G", HALF_A_HEAD] {
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
    let busy = house.sent(ASK_WHEN_TOLD).await;
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

#[tokio::test]
async fn who_holds_all_places_and_brings_nothing_makes_room_oldest_first() {
    static TOLD: Notify = Notify::const_new();
    for bytes in [&b""[..], HALF_A_HEAD, HALF_A_BODY, ASK] {
        let house = House::with(few(3), &TOLD).await;
        let mut held = vec![];
        for _ in 0..3 {
            held.push(house.sent(bytes).await);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // The first comes when nobody has waited long enough.
        for _ in 0..2 {
            let mut good = house.sent(ASK).await;
            assert_answered(&mut good).await;
            wait_until_closed(held.remove(0)).await;
            held.push(good);
        }
        assert!(held.iter().all(is_open));
    }
}

#[tokio::test]
async fn a_request_under_way_is_never_closed_for_another() {
    static TOLD: Notify = Notify::const_new();
    let house = House::with(few(2), &TOLD).await;
    let mut busy = [house.sent(ASK_WHEN_TOLD).await, house.sent(ASK_WHEN_TOLD).await];
    let mut later = house.sent(ASK).await;
    tokio::time::sleep(few(2).patience * 4).await;
    assert!(is_open(&later) && busy.iter().all(is_open));
    // The first to be answered keeps its connection, and that may be closed.
    TOLD.notify_one();
    assert_answered(&mut later).await;
    TOLD.notify_one();
    for stream in &mut busy {
        assert_answered(stream).await;
    }
}

#[tokio::test]
async fn an_idle_connection_goes_before_an_older_one_that_is_at_work() {
    static TOLD: Notify = Notify::const_new();
    let house = House::with(few(3), &TOLD).await;
    let mut busy = house.sent(ASK_WHEN_TOLD).await;
    let length = 1024 * 1024;
    let mut sending = house
        .sent(format!("POST /read HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n").as_bytes())
        .await;
    let idle = house.answered().await;
    sending.write_all(&vec![b' '; length / 2]).await.unwrap();
    tokio::time::sleep(few(3).patience).await;
    let _good = house.answered().await;
    wait_until_closed(idle).await;
    sending.write_all(&vec![b' '; length / 2]).await.unwrap();
    assert_answered(&mut sending).await;
    TOLD.notify_one();
    assert_answered(&mut busy).await;
}

#[tokio::test]
async fn a_connection_does_not_stay_young_by_requests_that_anybody_can_send() {
    static TOLD: Notify = Notify::const_new();
    let house = House::with(few(2), &TOLD).await;
    let mut asking = house.answered().await;
    let idle = house.answered().await;
    tokio::time::sleep(few(2).patience).await;
    asking.write_all(ASK).await.unwrap();
    let mut answers = vec![];
    while String::from_utf8_lossy(&answers).matches("here").count() < 2 {
        asking.read_buf(&mut answers).await.unwrap();
    }
    let _good = house.answered().await;
    wait_until_closed(asking).await;
    assert!(is_open(&idle));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_burst_of_many_more_requests_than_places_is_served_whole() {
    static TOLD: Notify = Notify::const_new();
    let house =
        House::with(ConnectionLimits { max_connections: 4, ..ConnectionLimits::default() }, &TOLD).await;
    let one = async || {
        to_the_end(house.sent(b"GET /at-once HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await).await
    };
    let said = join_all((0..200).map(|_| one())).await;
    assert!(said.iter().all(|said| said.starts_with("HTTP/1.1 200")));
}

#[tokio::test]
async fn the_end_does_not_wait_for_room() {
    static TOLD: Notify = Notify::const_new();
    let mut house = House::with(few(1), &TOLD).await;
    let mut busy = house.sent(ASK_WHEN_TOLD).await;
    let waiting = house.sent(ASK).await;
    tokio::time::sleep(few(1).patience).await;
    house.stop.cancel();
    wait_until_closed(waiting).await;
    TOLD.notify_one();
    assert_answered(&mut busy).await;
    house.serving.join_next().await.unwrap().unwrap();
}

#[tokio::test]
async fn who_sends_requests_and_reads_no_answer_is_not_held() {
    static TOLD: Notify = Notify::const_new();
    let limits = ConnectionLimits { answer_timeout: Duration::from_millis(200), ..few(8) };
    let house = House::with(limits, &TOLD).await;
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut deaf = socket.connect(house.address).await.unwrap();
    let many = ASK.repeat(1000);
    let sending = async { while deaf.write_all(&many).await.is_ok() {} };
    assert!(
        tokio::time::timeout(Duration::from_secs(20), sending).await.is_ok(),
        "the connection stays open"
    );
}

#[tokio::test]
async fn a_head_is_bounded_and_refused_with_an_answer() {
    static TOLD: Notify = Notify::const_new();
    let house = House::with(few(8), &TOLD).await;
    let many = "X-Many: y\r\n".repeat(200);
    let long = format!("X-Long: {}\r\n", "y".repeat(40_000));
    for headers in [many, long] {
        let head = format!("GET /at-once HTTP/1.1\r\nHost: x\r\n{headers}\r\n");
        let mut stream = TcpStream::connect(house.address).await.unwrap();
        let _ = stream.write_all(head.as_bytes()).await;
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 431");
        wait_until_closed(stream).await;
    }
    // Forges and the proxies before them send much less than this.
    let usual = format!("GET /at-once HTTP/1.1\r\nHost: x\r\nX-Long: {}\r\n\r\n", "y".repeat(14_000));
    assert_answered(&mut house.sent(usual.as_bytes()).await).await;
}

const SECRET: &str = "a secret of this test";

/// The program as it is run, allowed to open only so many files.
struct Program {
    child: Child,
    address: SocketAddr,
    dir: TempDir,
}

impl Program {
    async fn start(files: u32) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let settings = "server: { listen: '127.0.0.1:0' }\nforges: { local: { enabled: true } }\n\
                        models: { default: { provider: offline } }\nplanning: { enabled: true }\n";
        fs::write(dir.path().join("config.yaml"), settings).unwrap();
        let limited = format!("ulimit -n {files}; exec \"$0\" \"$@\"");
        let child = Command::new("/bin/sh")
            .args(["-c", &limited, env!("CARGO_BIN_EXE_planwright"), "--log-json", "serve"])
            .current_dir(dir.path())
            .env_clear()
            .env("PLANWRIGHT_LOCAL_SECRET", SECRET)
            // As the unit in `deploy` has it: memory that is free again goes back at once.
            .env("MALLOC_MMAP_THRESHOLD_", "262144")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(dir.path().join("log")).unwrap())
            .spawn()
            .unwrap();
        let mut program = Self { child, address: ([127, 0, 0, 1], 0).into(), dir };
        program.address = program.logged("listening on http://").await.parse().unwrap();
        program.logged("at most ").await;
        program
    }

    /// The rest of the first message in the log that begins so.
    async fn logged(&self, beginning: &str) -> String {
        for _ in 0..2_000 {
            let log = fs::read_to_string(self.dir.path().join("log")).unwrap();
            let lines = log.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
            let mut messages = lines.filter_map(|line| Some(line["message"].as_str()?.to_owned()));
            if let Some(rest) = messages.find_map(|text| text.strip_prefix(beginning).map(str::to_owned)) {
                return rest;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the log does not say `{beginning}`");
    }

    fn open_files(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().count()
    }

    /// The most memory that it ever held.
    fn peak_bytes(&self) -> usize {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        peak.split_whitespace().next().unwrap().parse::<usize>().unwrap() * 1024
    }

    /// The peak, once it has not risen for a while.
    async fn settled_peak_bytes(&self) -> usize {
        let mut peaks = vec![self.peak_bytes()];
        while peaks.len() < 10 {
            tokio::time::sleep(Duration::from_millis(50)).await;
            let now = self.peak_bytes();
            peaks.retain(|peak| *peak == now);
            peaks.push(now);
        }
        peaks[0]
    }

    async fn deliver(&self, id: &str, padding: usize) -> StatusCode {
        let event = Event {
            thread: "local:sample#1".parse().unwrap(),
            actor: Account::person(1, "ann"),
            at: None,
            kind: EventKind::Assigned { assignee: Account::person(9, "somebody") },
        };
        let mut body = serde_json::to_vec(&event).unwrap();
        body.resize(body.len() + padding, b' ');
        let mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap().chain_update(&body);
        let signature = format!("sha256={}", hex::encode(mac.finalize().into_bytes()));
        let request = reqwest::Client::new()
            .post(format!("http://{}/webhooks/local", self.address))
            .header("X-Hub-Signature-256", signature)
            .header("X-Planwright-Delivery", id)
            .timeout(Duration::from_secs(20))
            .body(body);
        request.send().await.unwrap().status()
    }

    /// A connection that sends this, as far as it is taken within a second, and then holds on.
    async fn attack(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let _ = tokio::time::timeout(Duration::from_secs(1), stream.write_all(bytes)).await;
        stream
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// As large as heads may be, with as many headers.
fn long_head(rest: &str) -> Vec<u8> {
    let headers: String = (0..90).map(|n| format!("X-Junk-{n}: {}\r\n", "y".repeat(150))).collect();
    format!("POST /webhooks/local HTTP/1.1\r\nHost: x\r\n{headers}{rest}").into_bytes()
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_senders_on_all_places_get_no_more_memory_and_files_than_is_said() {
    let program = Program::start(512).await;
    // The rest is for the store and for what the engine does meanwhile.
    let most_files = 512 / 2;
    let limits = ConnectionLimits { max_connections: 128, ..ConnectionLimits::default() };
    assert_eq!(program.logged("at most ").await, "128 connections at once; this process may open 512 files");
    assert_eq!(program.deliver("before", 0).await, StatusCode::ACCEPTED);
    let memory = program.peak_bytes();

    // Heads and small bodies that never end.
    let bodies = Limits::default();
    let small = bodies.small_body_bytes - 1024;
    let chunks = format!("400\r\n{}\r\n", "z".repeat(1024)).repeat(small / 1024);
    let attacks = [
        long_head("X-Slow: "),
        [long_head("Transfer-Encoding: chunked\r\n\r\n"), chunks.into_bytes()].concat(),
        [long_head(&format!("Content-Length: {}\r\n\r\n", small + 1)), vec![b'z'; small]].concat(),
    ];
    let held = join_all((0..2 * limits.max_connections).map(|n| program.attack(&attacks[n % 3]))).await;
    let grown = program.settled_peak_bytes().await - memory;
    let allowed = limits.max_connections * (CONNECTION_BYTES + bodies.small_body_bytes);
    assert!(grown <= allowed, "{grown} of {allowed} bytes");
    assert!(grown >= limits.max_connections * 32 * 1024, "only {grown} bytes: nobody attacks");
    assert!(program.open_files() <= most_files, "{} of {most_files} files", program.open_files());
    assert_eq!(program.deliver("beside small ones", 0).await, StatusCode::ACCEPTED);

    // And large bodies that lack their end: the first of them take the whole budget.
    let large = bodies.body_bytes;
    let attack = [long_head(&format!("Content-Length: {large}\r\n\r\n")), vec![b'z'; large - 1]].concat();
    let mut held_too = join_all((0..8).map(|_| program.attack(&attack))).await;
    held_too.extend(join_all((0..120).map(|n| program.attack(&attacks[n % 3]))).await);
    assert_eq!(program.deliver("beside large ones", 0).await, StatusCode::ACCEPTED);
    assert_eq!(program.deliver("large itself", 1_000_000).await, StatusCode::ACCEPTED);
    let grown = program.settled_peak_bytes().await - memory;
    let allowed = limits.unproven_bytes(&bodies);
    assert!(grown <= allowed, "{grown} of {allowed} bytes");
    assert!(program.open_files() <= most_files, "{} of {most_files} files", program.open_files());
    drop((held, held_too));
}

#[tokio::test]
async fn with_few_files_the_log_warns_and_deliveries_are_still_taken() {
    let program = Program::start(100).await;
    assert_eq!(program.logged("at most ").await, "25 connections at once; this process may open 100 files");
    let warning = program.logged("100 open files are few").await;
    assert!(warning.contains("LimitNOFILE"), "{warning}");
    let _held = join_all((0..100).map(|_| program.attack(HALF_A_HEAD))).await;
    assert_eq!(program.deliver("1", 0).await, StatusCode::ACCEPTED);
    assert!(program.open_files() < 75, "{} files are open", program.open_files());
    assert!(!program.logged("all 25 connections are taken").await.is_empty());
}
