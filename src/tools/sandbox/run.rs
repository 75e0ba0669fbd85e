//! Purpose: run one command in the cage: start the watcher, read what comes, let go when told.

use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::find::reason;
use super::inside::{Part, end_tree};
use super::order::{Ended, Order, Word, read_words};
use super::output::Collector;
use super::{End, Job, Ran, Sandbox, SandboxError};

/// Printing is read and dropped up to here. Beyond it somebody is filling a disk that is not there.
const FLOOD: u64 = 64 * 1024 * 1024;

/// The watcher says little; whatever else is said there is not worth more.
const MOST_WORDS: usize = 64 * 1024;

/// What a watcher gets on top of its own times before it is held for stuck.
const SPARE: Duration = Duration::from_secs(3);

impl Sandbox {
    /// Runs until the program and everything it started are gone. Dropping the future ends them too.
    ///
    /// # Errors
    /// If nothing was run. A program that failed, crashed or had to be ended is no error.
    pub async fn run(&self, job: &Job<'_>, stop: &CancellationToken) -> Result<Ran, SandboxError> {
        let order = Order::new(self, job)?.to_line()?;
        let started = Instant::now();
        let mut watcher = self.start_watcher()?;
        let (Some(mut stdin), Some(stdout), Some(stderr)) =
            (watcher.stdin.take(), watcher.stdout.take(), watcher.stderr.take())
        else {
            return Err(SandboxError::NotStarted("the watcher has no pipes".to_owned()));
        };
        // A watcher that is gone already has said why; that is the better message.
        let _ = stdin.write_all(order.as_bytes()).await;
        let mut follower = Follower {
            held: Some(stdin),
            output: Collector::new(job.limits.output_bytes),
            cut: None,
            grace: self.settings.grace,
        };
        let patience = job.timeout + self.settings.grace + SPARE;
        let follow = async {
            tokio::select! {
                () = follower.follow(stdout, stop) => {}
                () = sleep(patience) => {}
            }
            finish(&mut watcher).await
        };
        let (finished, words) = tokio::join!(follow, read_tail(stderr));
        finished?;
        let Follower { output, cut, .. } = follower;
        judge(job, &String::from_utf8_lossy(&words), cut).map(|end| Ran {
            end,
            output: output.finish(),
            took: started.elapsed(),
        })
    }

    fn start_watcher(&self) -> Result<Child, SandboxError> {
        Command::new(&self.settings.helper)
            .args(Part::Watch.arguments())
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C is for the bot, which then ends its commands in order.
            .process_group(0)
            .spawn()
            .map_err(|source| SandboxError::Io { doing: "start the watcher of a command", source })
    }
}

/// Reads what the program prints until it is gone, and lets go of it when it must end.
struct Follower {
    held: Option<ChildStdin>,
    output: Collector,
    /// Why the bot let go, if it did.
    cut: Option<End>,
    grace: Duration,
}

impl Follower {
    async fn follow(&mut self, mut stdout: impl AsyncRead + Unpin, stop: &CancellationToken) {
        let mut buffer = vec![0; 64 * 1024];
        while self.cut.is_none() {
            tokio::select! {
                () = stop.cancelled() => self.let_go(End::Stopped),
                read = stdout.read(&mut buffer) => match read {
                    Ok(0) | Err(_) => return,
                    Ok(count) => self.take(&buffer[..count]),
                },
            }
        }
        let rest = async {
            while let Ok(count @ 1..) = stdout.read(&mut buffer).await {
                self.output.push(&buffer[..count]);
            }
        };
        let _ = tokio::time::timeout(self.grace + SPARE, rest).await;
    }

    fn take(&mut self, bytes: &[u8]) {
        self.output.push(bytes);
        if self.output.total() > FLOOD {
            self.let_go(End::TooMuchOutput);
        }
    }

    /// The watcher sees its standard input end, and ends everything.
    fn let_go(&mut self, why: End) {
        self.cut = Some(why);
        self.held = None;
    }
}

/// By now the watcher has closed its output or run out of time; a stuck one is ended with all that is below it.
async fn finish(watcher: &mut Child) -> Result<(), SandboxError> {
    if let Ok(ended) = tokio::time::timeout(Duration::from_secs(1), watcher.wait()).await {
        return ended.map(drop).map_err(|source| SandboxError::Io { doing: "wait for a command", source });
    }
    if let Some(pid) = watcher.id() {
        let _ = tokio::task::spawn_blocking(move || end_tree(pid)).await;
    }
    watcher.kill().await.map_err(|source| SandboxError::Io { doing: "end a command", source })
}

/// The last of what is said, however much it is.
async fn read_tail(mut from: impl AsyncRead + Unpin) -> Vec<u8> {
    let mut tail = Vec::new();
    let mut buffer = vec![0; 4096];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        tail.extend_from_slice(&buffer[..count]);
        let surplus = tail.len().saturating_sub(MOST_WORDS);
        tail.drain(..surplus);
    }
    tail
}

fn judge(job: &Job<'_>, said: &str, cut: Option<End>) -> Result<End, SandboxError> {
    let (words, rest) = read_words(said);
    if words.iter().any(|word| matches!(word, Word::NoProgram(_))) {
        return Err(SandboxError::NoSuchProgram(job.argv.first().cloned().unwrap_or_default()));
    }
    match (words.last(), cut) {
        (_, Some(cut)) => Ok(cut),
        (Some(Word::Ended(ended)), None) if words.contains(&Word::Entered) => Ok(match *ended {
            Ended::Exited(code) => End::Exited(code),
            Ended::Killed(signal) => End::Killed(signal),
            Ended::TimedOut => End::TimedOut,
            Ended::LetGo => End::Stopped,
            Ended::Exhausted(resource) => End::Exhausted(resource),
        }),
        // The program ran, but the watcher was in no state to say how it ended.
        (_, None) if words.contains(&Word::Entered) => Ok(End::TimedOut),
        (_, None) => Err(SandboxError::NotStarted(reason(&words, &rest))),
    }
}
