//! Purpose: a host with things to steal, break and reach, and a look at whether any of it happened.

use std::fs;
use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use planwright::tools::sandbox::{Cage, Job, Limits, Network, Ran, Sandbox, SandboxSettings};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

pub(super) const CANARY: &str = "canary-of-the-host";

/// The cages that hold on this machine, found once. There must be one, or nothing is tested.
pub(super) fn sandboxes() -> &'static [Sandbox] {
    static FOUND: OnceLock<Vec<Sandbox>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let mut found = Vec::new();
        for cage in [Cage::Bubblewrap, Cage::Landlock] {
            match Sandbox::find(SandboxSettings { cages: vec![cage], ..settings() }) {
                Ok(sandbox) => found.push(sandbox),
                Err(error) => eprintln!("{cage:?} is not tested: {error}"),
            }
        }
        assert!(!found.is_empty(), "no cage holds on this machine");
        found
    })
}

pub(super) fn settings() -> SandboxSettings {
    let helper = PathBuf::from(env!("CARGO_BIN_EXE_planwright"));
    SandboxSettings { grace: Duration::from_millis(700), ..SandboxSettings::new(helper) }
}

/// Small, so that whoever goes beyond them does so soon.
pub(super) fn small_limits() -> Limits {
    const MIB: u64 = 1024 * 1024;
    Limits {
        memory_bytes: 192 * MIB,
        processes: 100,
        file_bytes: 8 * MIB,
        open_files: 256,
        output_bytes: 16 * 1024,
        keep_free_bytes: 0,
    }
}

pub(super) struct World {
    around: Option<TempDir>,
    tcp: TcpListener,
    udp: UdpSocket,
    unix: UnixListener,
    abstract_unix: UnixListener,
    victim: Child,
    /// An argument that only processes of this world have.
    pub(super) marker: String,
}

/// Where a world lies on the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Where a cage has nothing of its own.
    Plain,
    /// In `/tmp`, of which a cage may have its own.
    Temporary,
    /// In `/dev/shm`, likewise.
    Messages,
}

impl Place {
    /// Wherever the clone of this repository lies.
    fn dir(self) -> PathBuf {
        match self {
            Self::Plain => Self::plain_dir(),
            Self::Temporary => PathBuf::from("/tmp"),
            Self::Messages => PathBuf::from("/dev/shm"),
        }
    }

    fn plain_dir() -> PathBuf {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let candidates = [Some(env!("CARGO_TARGET_TMPDIR").into()), Some("/var/tmp".into()), home];
        let real = candidates.into_iter().flatten().filter_map(|dir| fs::canonicalize(dir).ok());
        let found = real.filter(|dir| is_plain(dir)).find(|dir| tempfile::tempdir_in(dir).is_ok());
        found.unwrap_or_else(|| panic!("no directory outside of `/tmp`, `/dev` and `/usr` can be written"))
    }
}

/// Not where a cage has something of its own, or where every program may read. A socket in it can be named (the kernel
/// takes 107 bytes), and Perl reads its name as it stands.
fn is_plain(dir: &Path) -> bool {
    let special = ["/tmp", "/dev", "/usr", "/bin", "/lib", "/proc"];
    let text = dir.to_str().unwrap_or("'");
    !special.iter().any(|other| dir.starts_with(other)) && text.len() < 80 && !text.contains(PERL)
}

/// What means something between the quotes of Perl.
const PERL: &[char] = &['\'', '"', '\\', '$', '@', '{', '}'];

impl World {
    pub(super) fn new() -> Self {
        Self::at(Place::Plain)
    }

    pub(super) fn at(place: Place) -> Self {
        let around = tempfile::Builder::new().prefix("cage-").tempdir_in(place.dir()).unwrap();
        for dir in ["tree", "state", "git"] {
            fs::create_dir(around.path().join(dir)).unwrap();
        }
        fs::write(around.path().join("state/secret"), CANARY).unwrap();
        fs::write(around.path().join("git/config"), CANARY).unwrap();
        fs::write(around.path().join("tree/README.md"), "hello").unwrap();
        let marker = Uuid::new_v4().simple().to_string();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let unix = UnixListener::bind(around.path().join("state/socket")).unwrap();
        let name = SocketAddr::from_abstract_name(&marker).unwrap();
        let abstract_unix = UnixListener::bind_addr(&name).unwrap();
        tcp.set_nonblocking(true).unwrap();
        udp.set_nonblocking(true).unwrap();
        unix.set_nonblocking(true).unwrap();
        abstract_unix.set_nonblocking(true).unwrap();
        let victim =
            Command::new("sleep").arg("600").env("CANARY", CANARY).stdout(Stdio::null()).spawn().unwrap();
        Self { around: Some(around), tcp, udp, unix, abstract_unix, victim, marker }
    }

    pub(super) fn around(&self) -> &Path {
        self.around.as_ref().unwrap().path()
    }

    pub(super) fn tree(&self) -> PathBuf {
        self.around().join("tree")
    }

    /// What a program of this world must know to attack.
    pub(super) fn fill_in(&self, text: &str) -> String {
        text.replace("{around}", &self.around().display().to_string())
            .replace("{secret}", &self.around().join("state/secret").display().to_string())
            .replace("{socket}", &self.around().join("state/socket").display().to_string())
            .replace("{git}", &self.around().join("git").display().to_string())
            .replace("{tcp}", &self.tcp.local_addr().unwrap().port().to_string())
            .replace("{udp}", &self.udp.local_addr().unwrap().port().to_string())
            .replace("{victim}", &self.victim.id().to_string())
            .replace("{bot}", &std::process::id().to_string())
            .replace("{helper}", &in_single_quotes(env!("CARGO_BIN_EXE_planwright")))
            .replace("{marker}", &self.marker)
            .replace("{canary}", CANARY)
    }

    pub(super) async fn run(&self, sandbox: &Sandbox, argv: &[&str]) -> Ran {
        let argv: Vec<String> = argv.iter().map(|word| self.fill_in(word)).collect();
        sandbox.run(&self.job(&argv, &self.tree()), &CancellationToken::new()).await.unwrap()
    }

    pub(super) fn job<'a>(&self, argv: &'a [String], root: &'a Path) -> Job<'a> {
        let timeout = Duration::from_secs(8);
        Job { argv, root, network: Network::Off, timeout, limits: small_limits(), env: &[] }
    }

    /// Everything that a program in a cage could have done to the host, as sentences.
    pub(super) fn damage(&mut self) -> Vec<String> {
        let mut damage = Vec::new();
        let mut check = |is_well: bool, sentence: &str| {
            if !is_well {
                damage.push(sentence.to_owned());
            }
        };
        let around = self.around().to_owned();
        let names = |dir: &Path| {
            let mut names: Vec<_> = fs::read_dir(dir)
                .map(|entries| entries.map(|entry| entry.unwrap().file_name()).collect())
                .unwrap_or_default();
            names.sort();
            names
        };
        check(names(&around) == ["git", "state", "tree"], "files beside the work tree changed");
        check(names(&around.join("state")) == ["secret", "socket"], "files in the state changed");
        check(names(&around.join("git")) == ["config"], "files in the git directory changed");
        for file in ["state/secret", "git/config"] {
            let is_whole = fs::read_to_string(around.join(file)).is_ok_and(|text| text == CANARY);
            check(is_whole, "the content of a file outside changed");
            let mode = fs::metadata(around.join(file)).map(|meta| meta.mode() & 0o777);
            check(mode.is_ok_and(|mode| mode & 0o133 == 0), "the mode of a file outside changed");
        }
        let mode = fs::metadata(around.join("tree")).map(|meta| meta.mode() & 0o700);
        check(mode.is_ok_and(|mode| mode == 0o700), "the bot cannot enter the work tree any more");
        let is_waiting = |error: std::io::Error| error.kind() == ErrorKind::WouldBlock;
        check(self.tcp.accept().is_err_and(is_waiting), "a TCP connection came");
        check(self.udp.recv(&mut [0; 9]).is_err_and(is_waiting), "a UDP datagram came");
        check(self.unix.accept().is_err_and(is_waiting), "a connection to a unix socket came");
        check(self.abstract_unix.accept().is_err_and(is_waiting), "a connection to an abstract socket came");
        check(self.victim.try_wait().unwrap().is_none(), "a process of the host was ended");
        check(processes_with(&self.marker).is_empty(), "processes are left");
        for place in ["/dev/shm", "/tmp", "/var/tmp", "/usr", "/etc", "/run"] {
            check(!Path::new(place).join(&self.marker).exists(), "a file was left in a place of the host");
        }
        damage
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
        // Deeper than the standard library removes: it holds every level open.
        if let Some(around) = self.around.take() {
            let path = around.keep();
            let _ = Command::new("rm").arg("-rf").arg(path).status();
        }
    }
}

/// As Perl writes it.
fn in_single_quotes(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\'', "\\'")
}

/// Numbers of the processes that have this in their command line.
pub(super) fn processes_with(marker: &str) -> Vec<u32> {
    let pids = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
    let has = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(marker)
    };
    pids.filter(has).collect()
}
