//! Purpose: servers by other people: one from npm over both ways, one from PyPI.
//!
//! They are installed by name and version when a test first needs them, which takes npm and Python's `venv`.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};

use planwright::tools::mcp::{Mcp, McpError, Reach};
use serde_json::json;

use super::rig::{call, clock, everything, process, settings};

#[tokio::test]
async fn the_npm_server_works_over_its_pipes() {
    let program = everything().join("index.js");
    let server = process("everything", &["node", program.to_str().unwrap(), "stdio"]);
    check_everything(Mcp::new(vec![server])).await;
}

#[tokio::test]
async fn the_npm_server_works_over_http() {
    let web = Web::start();
    let server = settings("everything", Reach::Http { url: web.url.clone(), token: None });
    check_everything(Mcp::new(vec![server])).await;
}

async fn check_everything(mcp: Mcp) {
    let offer = mcp.offer().await;
    assert_eq!(offer.missing, []);
    assert!(offer.tools.len() >= 10, "{} tools", offer.tools.len());
    let echo = offer.tools.iter().find(|tool| tool.name == "everything/echo").unwrap();
    assert_eq!(echo.schema["properties"]["message"]["type"], "string");
    assert_eq!(echo.schema.get("$schema"), None);
    assert_eq!(mcp.offer().await, offer, "the same tools have the same hashes");

    let said = call(&mcp, "everything/echo", json!({"message": "hello"})).await.unwrap();
    assert_eq!((said.text.as_str(), said.is_error), ("Echo: hello", false));
    let sum = call(&mcp, "everything/get-sum", json!({"a": 40, "b": 2})).await.unwrap();
    assert!(sum.text.contains("42"), "{}", sum.text);
    let picture = call(&mcp, "everything/get-tiny-image", json!({})).await.unwrap();
    assert!(picture.text.contains("[image image/png") && picture.text.len() < 1_000, "{}", picture.text);
    // A fault in the arguments is an answer of the tool, not of the protocol.
    let wrong = call(&mcp, "everything/get-sum", json!({"a": "x"})).await.unwrap();
    assert!(wrong.is_error, "{wrong:?}");
    let unknown = call(&mcp, "everything/nonsense", json!({})).await;
    assert_eq!(unknown, Err(McpError::NoSuchTool("everything/nonsense".to_owned())));
    mcp.close().await;
}

#[tokio::test]
async fn the_pypi_server_works() {
    let program = clock();
    let mcp = Mcp::new(vec![process("time", &[program.to_str().unwrap(), "--local-timezone", "UTC"])]);
    let offer = mcp.offer().await;
    let names: Vec<_> = offer.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["time/convert_time", "time/get_current_time"], "{:?}", offer.missing);

    let arguments = json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"});
    let converted = call(&mcp, "time/convert_time", arguments).await.unwrap();
    assert!(converted.text.contains("T21:00:00+09:00") && !converted.is_error, "{}", converted.text);
    let wrong = call(&mcp, "time/get_current_time", json!({"timezone": "Mars/Olympus"})).await;
    assert!(matches!(&wrong, Ok(answer) if answer.is_error), "{wrong:?}");
    mcp.close().await;
}

/// The npm server over HTTP, on a port of its own.
struct Web {
    url: String,
    server: Child,
    /// It goes on talking, and must find somebody there.
    _stdout: BufReader<ChildStdout>,
}

impl Web {
    fn start() -> Self {
        let loopback = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/mcp/loopback.cjs");
        let program = everything().join("index.js");
        let mut command = Command::new("node");
        command.args(["--require", loopback]).arg(program).arg("streamableHttp");
        let mut server = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut stdout = BufReader::new(server.stdout.take().unwrap());
        let port =
            stdout.by_ref().lines().find_map(|line| line.unwrap().strip_prefix("port ").map(str::to_owned));
        Self { url: format!("http://127.0.0.1:{}/mcp", port.unwrap()), server, _stdout: stdout }
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
