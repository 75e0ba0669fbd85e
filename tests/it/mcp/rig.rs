//! Purpose: what the tests of MCP servers stand on: servers of ours that misbehave, installed ones, and processes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use planwright::tools::mcp::{CallResult, Mcp, McpError, Reach, ServerSettings};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// Long enough for a Python that starts beside a dozen others.
pub(super) const LIMIT: Duration = Duration::from_secs(20);

/// A server that misbehaves, and the diary in which it notes what happens to it.
pub(super) struct Odd {
    pub(super) mcp: Mcp,
    dir: TempDir,
}

impl Odd {
    pub(super) fn new(how: &str) -> Self {
        Self::with(how, |_| {})
    }

    pub(super) fn with(how: &str, change: impl FnOnce(&mut ServerSettings)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut settings = odd(how, &dir.path().join("diary"));
        change(&mut settings);
        Self { mcp: Mcp::new(vec![settings]), dir }
    }

    /// Calls a tool as it is now.
    pub(super) async fn call(&self, tool: &str, text: &str) -> Result<CallResult, McpError> {
        call(&self.mcp, &format!("odd/{tool}"), json!({ "text": text })).await
    }

    /// Why nothing of it is on offer.
    pub(super) async fn why_missing(&self) -> String {
        let offer = self.mcp.offer().await;
        assert_eq!(offer.tools, [], "there are tools on offer");
        let [(server, why)] = offer.missing.as_slice() else { panic!("{:?}", offer.missing) };
        assert_eq!(server, "odd");
        why.clone()
    }

    /// How often the diary has this line.
    pub(super) fn noted(&self, line: &str) -> usize {
        let diary = std::fs::read_to_string(self.dir.path().join("diary")).unwrap_or_default();
        diary.lines().filter(|noted| *noted == line).count()
    }

    /// The server's process and one that it started.
    pub(super) async fn processes(&self) -> [u32; 2] {
        let text = self.call("pid", "").await.unwrap().text;
        let pids: Vec<u32> = text.split(' ').map(|pid| pid.parse().unwrap()).collect();
        assert!(pids.iter().all(|pid| is_running(*pid)), "{text}");
        pids.try_into().unwrap()
    }
}

pub(crate) fn odd(how: &str, diary: &Path) -> ServerSettings {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/mcp/server.py");
    let argv = [python(), "-u", script.to_str().unwrap(), how, diary.to_str().unwrap()];
    process("odd", &argv)
}

/// The hash of a tool of such a server, as an operator pins it.
pub(crate) async fn hash_of(how: &str, tool: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let mcp = Mcp::new(vec![odd(how, &dir.path().join("diary"))]);
    let hash = mcp.tool(&format!("odd/{tool}")).await.unwrap().hash;
    mcp.close().await;
    hash
}

/// The words that start a server.
pub(crate) fn process_words(settings: &ServerSettings) -> Vec<String> {
    match &settings.reach {
        Reach::Process { argv, .. } => argv.clone(),
        Reach::Http { url, .. } => panic!("{url} is no process"),
    }
}

/// The interpreter itself: what is found first may be a script that sets variables of its own.
fn python() -> &'static str {
    static FOUND: OnceLock<String> = OnceLock::new();
    FOUND.get_or_init(|| run("python3", &["-c", "import sys; print(sys.executable)"]).trim().to_owned())
}

pub(super) fn process(name: &str, argv: &[&str]) -> ServerSettings {
    let argv = argv.iter().map(|word| (*word).to_owned()).collect();
    settings(name, Reach::Process { argv, env: vec![], dir: None })
}

pub(super) fn settings(name: &str, reach: Reach) -> ServerSettings {
    let (name, allow) = (name.to_owned(), vec!["*".to_owned()]);
    ServerSettings { name, reach, allow, timeout: LIMIT, pins: BTreeMap::new() }
}

/// Calls a tool as it is now, for as long as it takes.
pub(super) async fn call(mcp: &Mcp, name: &str, arguments: Value) -> Result<CallResult, McpError> {
    call_until(mcp, name, arguments, &CancellationToken::new()).await
}

pub(super) async fn call_until(
    mcp: &Mcp,
    name: &str,
    arguments: Value,
    stop: &CancellationToken,
) -> Result<CallResult, McpError> {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    let hash = mcp.tool(name).await.map(|tool| tool.hash).unwrap_or_default();
    mcp.call(name, &hash, arguments, stop).await
}

pub(super) fn no_arguments() -> Map<String, Value> {
    Map::new()
}

/// Whether there is such a process. One that has ended and is not yet waited for is none.
fn is_running(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    let state = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next());
    !matches!(state, None | Some("Z" | "X"))
}

/// Waits until something is so. The kernel and other processes tell nobody when they are done.
pub(super) async fn until(what: &str, is_so: impl Fn() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(LIMIT, waiting).await.unwrap_or_else(|_| panic!("still not: {what}"));
}

pub(super) async fn all_gone(pids: [u32; 2]) {
    until("all processes gone", || !pids.into_iter().any(is_running)).await;
}

/// The directory of the npm package's program.
pub(crate) fn everything() -> PathBuf {
    static READY: OnceLock<PathBuf> = OnceLock::new();
    let package = || npm_package("@modelcontextprotocol/server-everything", "2026.8.31");
    READY.get_or_init(package).join("dist")
}

/// The directory of a package from npm. For one caller at a time.
pub(crate) fn npm_package(package: &str, version: &str) -> PathBuf {
    let install = |into: &Path| {
        let into = into.to_str().unwrap();
        let flags = ["--no-audit", "--no-fund", "--ignore-scripts"];
        run(
            "npm",
            &[&["install", "--prefix", into][..], &flags, &[&format!("{package}@{version}")]].concat(),
        );
    };
    let name = package.rsplit('/').next().unwrap();
    installed(&format!("{name}-{version}"), install).join("node_modules").join(package)
}

/// The program of the PyPI package.
pub(crate) fn clock() -> PathBuf {
    static READY: OnceLock<PathBuf> = OnceLock::new();
    let install = |into: &Path| {
        run("python3", &["-m", "venv", into.to_str().unwrap()]);
        let pip = into.join("bin/pip");
        run(pip.to_str().unwrap(), &["install", "--quiet", "mcp-server-time==2026.10.19"]);
    };
    // Not moved afterwards: the programs in it know where they are.
    let dir = READY.get_or_init(|| installed("time-2026.10.19", install));
    dir.join("bin/mcp-server-time")
}

/// Installs once for all runs of the tests. A mark tells a whole installation from one that broke off.
fn installed(name: &str, install: impl FnOnce(&Path)) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("installed").join(name);
    let mark = dir.join(".whole");
    if !mark.exists() {
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        install(&dir);
        std::fs::write(mark, "").unwrap();
    }
    dir
}

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("`{program}` is needed for this test: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}
