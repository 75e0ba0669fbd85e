//! Purpose: the demo's sample repository: a bare one on this disk, with a first commit.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

pub(super) const README: &str = "# greeter\n\nSays hello. `greet(name)` lives in `src/greet.py`.\n";
const GREET: &str = "def greet(name):\n    return f\"Hello, {name}!\"\n";
/// Where a system keeps its programs, should nobody say.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

pub(super) struct Sample {
    pub bare: PathBuf,
}

impl Sample {
    pub(super) fn make(dir: &Path) -> anyhow::Result<Self> {
        let sample = Self { bare: dir.join("greeter.git") };
        std::fs::create_dir_all(&sample.bare)
            .with_context(|| format!("cannot make {}", sample.bare.display()))?;
        sample.git(&["init", "--quiet", "--bare", "--initial-branch=main", "."], "")?;
        sample.git(&["fast-import", "--quiet"], &first_commit())?;
        Ok(sample)
    }

    /// What the branch has that `main` has not.
    pub(super) fn diff(&self, branch: &str) -> anyhow::Result<String> {
        self.git(&["diff", "--no-color", "--no-ext-diff", &format!("main...{branch}"), "--"], "")
    }

    pub(super) fn log(&self, branch: &str) -> anyhow::Result<String> {
        self.git(&["log", "--reverse", "--format=%h %s", &format!("main..{branch}"), "--"], "")
    }

    /// Without the settings of whoever watches: the demo looks the same for everybody.
    fn git(&self, args: &[&str], input: &str) -> anyhow::Result<String> {
        let started = Command::new("git")
            .args(args)
            .current_dir(&self.bare)
            .env_clear()
            .envs([
                ("PATH", PATH),
                ("GIT_CONFIG_NOSYSTEM", "1"),
                ("GIT_CONFIG_GLOBAL", "/dev/null"),
                ("LC_ALL", "C"),
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut git = match started {
            Ok(git) => git,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                bail!("the demo needs git (on Debian and Ubuntu: `apt install git`)")
            }
            Err(error) => return Err(error).context("cannot start git"),
        };
        // Small enough for the pipe; git ends when it is closed.
        if let Some(mut stdin) = git.stdin.take() {
            stdin.write_all(input.as_bytes()).context("git does not listen")?;
        }
        let output = git.wait_with_output().context("git did not end")?;
        if !output.status.success() {
            bail!("git {} failed: {}", args[0], String::from_utf8_lossy(&output.stderr).trim_end());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// In the language of `fast-import`, which counts bytes.
fn first_commit() -> String {
    let message = "Say hello";
    let mut stream = format!(
        "commit refs/heads/main\ncommitter Ada <ada@example.invalid> 1700000000 +0000\ndata {}\n{message}\n",
        message.len()
    );
    for (path, text) in [("README.md", README), ("src/greet.py", GREET)] {
        stream.push_str(&format!("M 100644 inline {path}\ndata {}\n{text}\n", text.len()));
    }
    stream
}
