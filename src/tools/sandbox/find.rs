//! Purpose: find a cage that holds on this system, by trying it.
//!
//! That a program is installed, or that the kernel knows Landlock, says little: containers forbid namespaces, and
//! kernels switch Landlock off at boot. So each cage is put up once around a program of our own that tries to get out.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::inside::Part;
use super::order::{Ended, Order, Word, read_words};
use super::{Cage, Job, Limits, Network, Sandbox, SandboxError, SandboxSettings, default_limits};

const PATIENCE: Duration = Duration::from_secs(10);

impl Sandbox {
    /// Blocks for as long as a few small programs take; once, when the bot starts.
    ///
    /// # Errors
    /// If no cage of the settings holds.
    pub fn find(settings: SandboxSettings) -> Result<Self, SandboxError> {
        let mut reasons = Vec::new();
        for cage in settings.cages.clone() {
            let sandbox = Self { cage, settings: settings.clone() };
            match sandbox.prove() {
                Ok(()) => return Ok(sandbox),
                Err(reason) => reasons.push(format!("{cage:?}: {reason}")),
            }
        }
        if reasons.is_empty() {
            reasons.push("the settings name none".to_owned());
        }
        Err(SandboxError::NoCage(reasons.join("; ")))
    }

    fn prove(&self) -> Result<(), String> {
        let around = tempfile::tempdir().map_err(|error| format!("cannot make a directory: {error}"))?;
        let (root, outside) = (around.path().join("root"), around.path().join("outside"));
        let canary = outside.join("canary");
        std::fs::create_dir(&root)
            .and_then(|()| std::fs::create_dir(&outside))
            .and_then(|()| std::fs::write(&canary, "canary"))
            .map_err(|error| format!("cannot write a file: {error}"))?;
        let order = self.proving(&root, &canary).map_err(|error| error.to_string())?;
        let said = self.ask_watcher(&order).map_err(|error| error.to_string())?;
        let (words, rest) = read_words(&said);
        match words.last() {
            Some(Word::Ended(Ended::Exited(0))) if words.contains(&Word::Entered) => Ok(()),
            Some(Word::Ended(Ended::Exited(_))) if words.contains(&Word::Entered) => {
                Err("it does not hold".to_owned())
            }
            _ => Err(reason(&words, &rest)),
        }
    }

    /// The order for a program of our own that ends well if, and only if, it cannot get out.
    fn proving(&self, root: &Path, canary: &Path) -> Result<String, SandboxError> {
        let part = match self.cage {
            Cage::Bubblewrap | Cage::Landlock => Part::Prove,
            // There is nothing that could hold; that the watcher works is all there is to show.
            Cage::None => Part::Nothing,
        };
        let mut argv = vec![self.settings.helper.display().to_string()];
        argv.extend(part.arguments().map(str::to_owned));
        argv.push(canary.display().to_string());
        let job = Job {
            argv: &argv,
            root,
            network: Network::Off,
            timeout: PATIENCE,
            limits: Limits { keep_free_bytes: 0, ..default_limits() },
            env: &[],
        };
        Order::new(self, &job)?.to_line()
    }

    fn ask_watcher(&self, order: &str) -> std::io::Result<String> {
        let mut watcher = Command::new(&self.settings.helper)
            .args(Part::Watch.arguments())
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        // Held until the end: letting go of it would be the order to stop.
        let mut held = watcher.stdin.take();
        if let Some(stdin) = &mut held {
            stdin.write_all(order.as_bytes())?;
        }
        let output = watcher.wait_with_output()?;
        Ok(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// Why nothing was run, as well as it is known.
pub(super) fn reason(words: &[Word], rest: &str) -> String {
    let refused = words.iter().find_map(|word| match word {
        Word::Refused(why) => Some(why.clone()),
        Word::NoProgram(name) => Some(format!("`{name}` cannot be run")),
        Word::Entered | Word::Ended(_) => None,
    });
    match refused {
        Some(why) => why,
        None if rest.is_empty() => "it ended without a word".to_owned(),
        None => rest.to_owned(),
    }
}
