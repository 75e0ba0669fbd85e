//! Purpose: the servers that are measured, each a process of its own that starts afresh.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use axum::body::Bytes;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use http::{HeaderMap, StatusCode};
use planwright::domain::Millis;
use planwright::intake::translate::Confidential;
use planwright::intake::{self, ConnectionLimits, Intake, Secrets, verify};
use planwright::store::Store;
use secrecy::SecretString;
use serde::Deserialize;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::client;
use crate::payload::SECRET;

pub(crate) enum Server {
    /// HMAC, a typed parse, 202; nothing is stored.
    Bare,
    Planwright {
        binary: PathBuf,
    },
    /// The door and the store of Planwright without its engine.
    Inner,
    Probot(Probot),
}

pub(crate) struct Running {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) cold_start: Duration,
    _dir: TempDir,
}

impl Server {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Bare => "bare axum",
            Self::Planwright { .. } => "planwright",
            Self::Inner => "door + store",
            Self::Probot(_) => "probot",
        }
    }

    pub(crate) fn path(&self) -> &'static str {
        match self {
            Self::Bare | Self::Planwright { .. } | Self::Inner => "/webhooks/github",
            Self::Probot(_) => "/api/github/webhooks",
        }
    }

    /// Returns when it answers.
    pub(crate) fn start(&self) -> anyhow::Result<Running> {
        let dir = TempDir::new()?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let mut command = self.command(port, dir.path())?;
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(dir.path().join("stderr"))?);
        let began = Instant::now();
        let child = command.spawn().with_context(|| format!("cannot start {}", self.name()))?;
        let mut running = Running { child, address, cold_start: Duration::ZERO, _dir: dir };
        while client::answers(address).is_err() {
            if running.child.try_wait()?.is_some() || began.elapsed() > Duration::from_secs(20) {
                let says = fs::read_to_string(running._dir.path().join("stderr")).unwrap_or_default();
                bail!("{} does not answer: {says}", self.name());
            }
            std::thread::sleep(Duration::from_micros(500));
        }
        running.cold_start = began.elapsed();
        Ok(running)
    }

    fn command(&self, port: u16, dir: &Path) -> anyhow::Result<Command> {
        let mut command = match self {
            Self::Bare | Self::Inner => Command::new(std::env::current_exe()?),
            Self::Planwright { binary } => Command::new(binary),
            Self::Probot(probot) => return Ok(probot.command(port)),
        };
        command.env_clear();
        match self {
            Self::Bare => command.args(["--serve-bare", &port.to_string()]),
            Self::Inner => command.args(["--serve-inner", &port.to_string()]).arg(dir),
            Self::Planwright { .. } | Self::Probot(_) => {
                fs::write(dir.join("config.yaml"), config(port, dir))?;
                command.args(["serve", "--config"]).arg(dir.join("config.yaml"));
                command.env("GITHUB_WEBHOOK_SECRET", SECRET).env("GITHUB_TOKEN", "none")
            }
        };
        Ok(command)
    }
}

/// The forge is a port where nobody listens: what is measured is the door, while the engine does what it can.
fn config(port: u16, dir: &Path) -> String {
    let dir = dir.display();
    format!(
        "server: {{ listen: \"127.0.0.1:{port}\" }}\n\
         data_dir: {dir}/data\n\
         store: {{ url: \"sqlite://{dir}/data/planwright.db\" }}\n\
         forges:\n  github: {{ api_url: \"http://127.0.0.1:9\", bot_login: planwright, token_env: GITHUB_TOKEN, \
         webhook_secret_env: GITHUB_WEBHOOK_SECRET }}\n\
         models:\n  default: {{ provider: offline }}\n"
    )
}

impl Running {
    /// `VmRSS` is what it holds now, `VmHWM` the most it ever held.
    pub(crate) fn memory_kb(&self, field: &str) -> anyhow::Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        let number = line.and_then(|line| line.split_whitespace().next());
        number.context("no such field in /proc")?.parse().context("not a number in /proc")
    }
}

impl Running {
    /// What the process has computed so far; unlike the time on the wall, it hardly depends on who else is busy.
    pub(crate) fn cpu(&self) -> anyhow::Result<Duration> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // Behind the name in brackets, user and system time are the fields 12 and 13, in hundredths of a second.
        let (_, fields) = stat.rsplit_once(')').context("odd stat in /proc")?;
        let ticks: u64 =
            fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
        Ok(Duration::from_millis(ticks * 10))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serve(port: u16, router: axum::Router) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
        Ok(axum::serve(listener, router).await?)
    })
}

pub(crate) fn serve_bare(port: u16) -> anyhow::Result<()> {
    let router = axum::Router::new()
        .route("/webhooks/github", post(bare))
        .route("/healthz", get(|| async { "ok\n" }))
        .layer(DefaultBodyLimit::max(26 << 20));
    serve(port, router)
}

async fn bare(headers: HeaderMap, body: Bytes) -> StatusCode {
    #[derive(Deserialize)]
    struct Payload<'a> {
        action: &'a str,
        #[serde(borrow)]
        repository: Repository<'a>,
        issue: Issue,
    }
    #[derive(Deserialize)]
    struct Repository<'a> {
        full_name: &'a str,
    }
    #[derive(Deserialize)]
    struct Issue {
        number: u64,
    }
    let secret = SecretString::from(SECRET.to_owned());
    if verify::github(&headers, &body, &secret) == verify::Proof::Refused {
        return StatusCode::UNAUTHORIZED;
    }
    match serde_json::from_slice::<Payload<'_>>(&body) {
        Ok(Payload {
            action: "assigned",
            repository: Repository { full_name: "acme/web" },
            issue: Issue { number: 12 },
        }) => StatusCode::ACCEPTED,
        Ok(_) | Err(_) => StatusCode::BAD_REQUEST,
    }
}

pub(crate) fn serve_inner(port: u16, dir: &Path) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let store = runtime.block_on(Store::open(&format!("sqlite://{}/planwright.db", dir.display())))?;
    let secrets = Secrets { github: Some(SecretString::from(SECRET.to_owned())), ..Secrets::default() };
    let wake = tokio::sync::broadcast::channel(16).0;
    let at = Intake { store, secrets, clock: now, wake, confidential: Confidential::Ignored };
    runtime.block_on(async {
        let listener = intake::bind(([127, 0, 0, 1], port).into())?;
        let limits = ConnectionLimits::of_process();
        intake::serve(listener, intake::router(at), limits, CancellationToken::new()).await;
        Ok(())
    })
}

#[expect(clippy::disallowed_methods, reason = "this is the outermost edge of a program of its own")]
fn now() -> Millis {
    Millis(jiff::Timestamp::now().as_millisecond())
}

/// A minimal app on Probot, the usual way to write a GitHub bot.
pub(crate) struct Probot {
    dir: TempDir,
    key: String,
}

const APP: &str = "export default (app) => { app.on('issues.assigned', async () => {}); };\n";
const MAKE_KEY: &str = "process.stdout.write(require('crypto').generateKeyPairSync('rsa', { modulusLength: 2048, \
    publicKeyEncoding: { type: 'spki', format: 'pem' }, privateKeyEncoding: { type: 'pkcs1', format: 'pem' } }).privateKey)";

impl Probot {
    pub(crate) fn install() -> anyhow::Result<Self> {
        let dir = TempDir::new()?;
        fs::write(dir.path().join("app.mjs"), APP)?;
        fs::write(dir.path().join("package.json"), "{\"private\":true}")?;
        let made = Command::new("node").args(["-e", MAKE_KEY]).output().context("Node is not here")?;
        let install = ["install", "--silent", "--no-audit", "--no-fund", "probot@14"];
        let installed =
            Command::new("npm").args(install).current_dir(dir.path()).output().context("npm is not here")?;
        if !installed.status.success() {
            bail!("npm cannot install probot@14");
        }
        Ok(Self { dir, key: String::from_utf8(made.stdout)? })
    }

    fn command(&self, port: u16) -> Command {
        let mut command = Command::new("node");
        command.args(["node_modules/probot/bin/probot.js", "run", "./app.mjs"]).current_dir(self.dir.path());
        command.env("NODE_ENV", "production").env("LOG_LEVEL", "fatal").env("HOST", "127.0.0.1");
        command.env("PORT", port.to_string()).env("APP_ID", "12345").env("WEBHOOK_SECRET", SECRET);
        command.env("PRIVATE_KEY", &self.key);
        command
    }
}
