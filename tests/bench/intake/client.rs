//! Purpose: a client that costs little: kept-alive connections, one prepared request, answers read to their end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::payload::{Ids, Request};

pub(crate) struct Load {
    pub(crate) address: SocketAddr,
    pub(crate) path: &'static str,
    pub(crate) connections: usize,
}

pub(crate) struct Answers {
    /// Sorted, in microseconds.
    pub(crate) latencies: Vec<u32>,
    pub(crate) took: Duration,
}

impl Answers {
    pub(crate) fn per_second(&self) -> f64 {
        self.latencies.len() as f64 / self.took.as_secs_f64()
    }

    pub(crate) fn percentile_ms(&self, percent: usize) -> f64 {
        let last = self.latencies.len().saturating_sub(1);
        self.latencies.get(last * percent / 100).map_or(0.0, |micros| f64::from(*micros) / 1000.0)
    }
}

/// Sends for `time` over all connections. Any answer that is not 2xx ends the benchmark.
pub(crate) fn run(load: &Load, request: &Request, time: Duration) -> anyhow::Result<Answers> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut connections = JoinSet::new();
        let began = Instant::now();
        for _ in 0..load.connections {
            let mut connection = Connection::open(load, request).await?;
            let ids = Arc::clone(&request.ids);
            connections.spawn(async move { connection.send_until(began + time, &ids).await });
        }
        let mut latencies = Vec::new();
        while let Some(done) = connections.join_next().await {
            latencies.extend(done??);
        }
        latencies.sort_unstable();
        Ok(Answers { latencies, took: began.elapsed() })
    })
}

struct Connection {
    stream: TcpStream,
    request: Vec<u8>,
    id_at: usize,
    answer: Vec<u8>,
}

impl Connection {
    async fn open(load: &Load, request: &Request) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(load.address).await?;
        stream.set_nodelay(true)?;
        let (request, id_at) = request.bytes(load.path);
        Ok(Self { stream, request, id_at, answer: Vec::with_capacity(4096) })
    }

    async fn send_until(&mut self, end: Instant, ids: &Ids) -> anyhow::Result<Vec<u32>> {
        let mut latencies = Vec::new();
        loop {
            let began = Instant::now();
            if began >= end {
                return Ok(latencies);
            }
            let id = ids.next();
            self.request[self.id_at..self.id_at + id.len()].copy_from_slice(id.as_bytes());
            self.stream.write_all(&self.request).await?;
            self.read_answer().await?;
            latencies.push(began.elapsed().as_micros() as u32);
        }
    }

    async fn read_answer(&mut self) -> anyhow::Result<()> {
        self.answer.clear();
        while !is_whole(&self.answer) {
            if self.stream.read_buf(&mut self.answer).await? == 0 {
                bail!("the server closed the connection after {:?}", String::from_utf8_lossy(&self.answer));
            }
        }
        if !self.answer.starts_with(b"HTTP/1.1 2") {
            bail!("the server refused: {}", String::from_utf8_lossy(&self.answer));
        }
        Ok(())
    }
}

fn is_whole(answer: &[u8]) -> bool {
    let Some(head) = answer.windows(4).position(|four| four == b"\r\n\r\n") else { return false };
    let body = &answer[head + 4..];
    let head = String::from_utf8_lossy(&answer[..head]).to_ascii_lowercase();
    if head.contains("transfer-encoding: chunked") {
        return body.ends_with(b"0\r\n\r\n");
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    body.len() >= length.and_then(|length| length.trim().parse().ok()).unwrap_or(0)
}

/// Whether something answers HTTP there.
pub(crate) fn answers(address: SocketAddr) -> anyhow::Result<()> {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(address)?;
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut start = [0; 9];
    stream.read_exact(&mut start).context("no answer")?;
    if &start == b"HTTP/1.1 " { Ok(()) } else { bail!("no HTTP") }
}
