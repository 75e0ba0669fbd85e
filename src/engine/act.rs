//! Purpose: carry out one action that has begun: exactly what was approved, in the checkout, and bring back evidence.
//!
//! An action that was begun by an earlier process is *settled*: what it changed is looked for in the history of the
//! branch. If it is not there, a change of files is done again, which comes to the same; a program or a tool that may
//! have run is not run twice, but reported as interrupted.
//!
//! Trouble that passes (the disk is full, the forge is away) is no failure of the action. What can be done again without
//! harm is tried again later; what has run, and only could not be kept, is reported as interrupted too.

use std::sync::Arc;

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::approvers::lost_before;
use super::ctx::Ctx;
use super::gate::{self, Gate};
use super::hands::{Bench, Trouble, allowed_command};
use super::preflight::settings_of;
use crate::actions::{InScope, RepoPath, ToolEffect, within};
use crate::domain::ThreadRef;
use crate::plan::{Action, ActionKind, Call};
use crate::planning::{AskProblem, Evidence, Fact, Key, NOTHING_TO_CHANGE, Outcome, Run};
use crate::tools::files::{FileError, Files};
use crate::tools::git::Commit;
use crate::tools::mcp::McpError;
use crate::tools::sandbox::{End, Job, Network, default_limits};

/// How much of what a tool gives is kept for the journal, and for the model.
const OUTPUT: usize = 8_000;
const READ_BYTES: usize = 24 * 1024;
const LISTED: usize = 500;

/// Whether this process began the action, so that nobody else can have carried it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begun {
    ByUs,
    Before,
}

pub(super) struct Doing {
    pub ctx: Arc<Ctx>,
    pub thread: ThreadRef,
    pub run: Arc<Run>,
    pub action: Action,
    pub bench: Arc<Bench>,
    pub begun: Begun,
    pub stop: CancellationToken,
    pub key: Key,
}

/// How a deed ended, before it becomes facts.
enum Deed {
    Done {
        evidence: Evidence,
        actual: String,
    },
    Failed {
        evidence: Evidence,
        why: String,
    },
    /// It was stopped, or nobody knows whether it happened.
    Unknown,
}

/// Whether the settings let a worker look at a file.
enum Look {
    Allowed,
    Refused(String),
}

impl Deed {
    fn failed(why: impl Into<String>) -> Self {
        Self::Failed { evidence: Evidence::default(), why: why.into() }
    }

    /// A program or a tool did its work, and what came of it could not be kept. Doing that again takes a person's word.
    fn not_kept(trouble: Trouble) -> Result<Self, Trouble> {
        match trouble.problem {
            AskProblem::Passing | AskProblem::Away => Ok(Self::Unknown),
            AskProblem::Lasting => Err(trouble),
        }
    }

    /// What was done is found on the branch.
    fn settled(commit: &Commit, exit_code: Option<i32>) -> Self {
        let evidence =
            Evidence { commit: Some(commit.as_str().to_owned()), exit_code, ..Evidence::default() };
        Self::Done { evidence, actual: "it had been done by an earlier try".to_owned() }
    }
}

/// Whether what was begun may still be done.
pub(super) enum Again {
    GoOn,
    /// Something came up that the run has to hear first.
    Facts(Vec<Fact>),
}

impl Again {
    fn heard(facts: Vec<Fact>) -> Self {
        if facts.is_empty() { Self::GoOn } else { Self::Facts(facts) }
    }
}

impl Doing {
    /// Between the beginning of an action and a change that its worker asks for lie questions to a model, and maybe a
    /// pause or a restart. So the gate is asked again before each such change. What an earlier process may have done
    /// already is not judged by what stands there now: it is settled.
    pub(super) async fn look_again(&self, call: Option<&Call>) -> Result<Again, Trouble> {
        let (ctx, thread, run) = (&self.ctx, &self.thread, &self.run);
        let changes = match call {
            Some(Call::WriteFile { .. } | Call::CallTool { .. }) => self.is_undone().await?,
            Some(
                Call::ReadFile { .. }
                | Call::ListFiles { .. }
                | Call::RunCommand { .. }
                | Call::Report { .. }
                | Call::Finish { .. },
            )
            | None => false,
        };
        if changes {
            return Ok(match gate::gate(ctx, thread, run, &self.action.id, &self.bench).await? {
                Gate::Pass { .. } => Again::GoOn,
                Gate::Facts(facts) => Again::Facts(facts),
                Gate::Impossible(why) => Again::Facts(self.facts_of(Ok(Deed::failed(why)))),
            });
        }
        match self.begun {
            Begun::ByUs => Ok(Again::GoOn),
            // Begun by a process that died: who knows what people have done since.
            Begun::Before => {
                let mut facts = gate::heard(ctx, thread, run).await?;
                if facts.is_empty() && self.is_undone().await? {
                    facts = lost_before(ctx, thread, run, &self.action.id).await?;
                }
                Ok(Again::heard(facts))
            }
        }
    }

    /// Whether nothing of it can have happened yet.
    async fn is_undone(&self) -> Result<bool, Trouble> {
        match (self.begun, self.action.action_type) {
            (Begun::ByUs, _) => Ok(true),
            (Begun::Before, ActionKind::Tool) => Ok(self.only_looks()),
            (Begun::Before, _) => Ok(self.commit_before().await?.is_none()),
        }
    }

    /// Whether it is a tool that changes nothing, by the word of the operator.
    fn only_looks(&self) -> bool {
        let spec = self.run.plan().and_then(|plan| plan.specs.get(&self.action.id));
        spec.is_some_and(|spec| spec.tool_effect == Some(ToolEffect::ReadOnly))
    }

    /// An action that is specified to the letter.
    pub(super) async fn act(self) -> Vec<Fact> {
        let deed = self.deed().await;
        self.facts_of(deed)
    }

    /// A call that a worker asked for.
    pub(super) async fn use_tool(self, call: Call) -> Vec<Fact> {
        let scope = match within(&self.action, &call) {
            Ok(scope) => scope,
            Err(why) => return vec![self.used(&call, why.to_string(), true)],
        };
        match scope {
            InScope::Read(path) => match self.may_look(&path).await {
                Ok(Look::Allowed) => self.looked(&call, move |files| read_text(&files, &path)).await,
                Ok(Look::Refused(why)) => vec![self.used(&call, why, true)],
                Err(trouble) => self.facts_of(Err(trouble)),
            },
            InScope::List(dir) => self.looked(&call, move |files| list_text(&files, dir.as_ref())).await,
            InScope::Write(path, content) => {
                let content = content.to_owned();
                let deed = self.change(move |files| files.write(&path, content.as_bytes())).await;
                self.facts_of(deed)
            }
            InScope::Tool(arguments) => {
                let arguments = arguments.clone();
                self.call_for_worker(&call, arguments).await
            }
            // Words only: the leader answers them.
            InScope::Report | InScope::Finish => vec![],
        }
    }

    async fn deed(&self) -> Result<Deed, Trouble> {
        let action = &self.action;
        let path = action.spec.path.as_deref().map(str::parse::<RepoPath>).transpose();
        let path = path.map_err(|bad| Trouble::lasting(bad.to_string()))?;
        let content = action.spec.content.clone().unwrap_or_default().into_bytes();
        let again = self.begun == Begun::Before;
        match (action.action_type, path) {
            (ActionKind::Create, Some(path)) => {
                self.change(move |files| match files.create(&path, &content) {
                    Err(FileError::Exists(_)) if again => files.write(&path, &content),
                    created => created,
                })
                .await
            }
            (ActionKind::Write, Some(path)) => self.change(move |files| files.write(&path, &content)).await,
            (ActionKind::Mkdir, Some(path)) => self.change(move |files| files.make_dir(&path)).await,
            (ActionKind::Delete, Some(path)) => {
                self.change(move |files| match files.remove(&path) {
                    Err(FileError::NotFound(_)) if again => Ok(()),
                    removed => removed,
                })
                .await
            }
            (ActionKind::Read, Some(path)) => self.read(path).await,
            (ActionKind::Run, _) => self.run_command().await,
            (ActionKind::Tool, _) => {
                let arguments = action.spec.arguments.clone().unwrap_or_default();
                self.call_tool(arguments).await
            }
            (
                ActionKind::Create
                | ActionKind::Write
                | ActionKind::Mkdir
                | ActionKind::Delete
                | ActionKind::Read,
                None,
            ) => Ok(Deed::failed("the action names no path")),
            (ActionKind::Analyze, _) => Ok(Deed::failed("an analysis needs a worker")),
        }
    }

    /// A change of files, and its commit.
    async fn change(
        &self,
        change: impl FnOnce(Arc<Files>) -> Result<(), FileError> + Send + 'static,
    ) -> Result<Deed, Trouble> {
        if let Some(commit) = self.commit_before().await? {
            return Ok(Deed::settled(&commit, None));
        }
        self.with_files(change).await??;
        let evidence = self.commit().await?;
        let actual = match &evidence.commit {
            Some(_) => "committed".to_owned(),
            None => NOTHING_TO_CHANGE.to_owned(),
        };
        Ok(Deed::Done { evidence, actual })
    }

    async fn read(&self, path: RepoPath) -> Result<Deed, Trouble> {
        let text = self.with_files(move |files| read_text(&files, &path)).await??;
        let lines = text.lines().count();
        let evidence = Evidence { output: Some(self.kept(&text)), ..Evidence::default() };
        Ok(Deed::Done { evidence, actual: format!("read {lines} lines") })
    }

    async fn run_command(&self) -> Result<Deed, Trouble> {
        if self.begun == Begun::Before {
            // Only what ended with exit code 0 is committed. What was printed is lost.
            let commit = self.commit_before().await?;
            return Ok(commit.map_or(Deed::Unknown, |commit| Deed::settled(&commit, Some(0))));
        }
        let settings = settings_of(&self.ctx, &self.thread.project).await?;
        let argv = &self.action.spec.command;
        let (Some(allowed), Some(sandbox)) =
            (allowed_command(&settings.tools, argv), &self.ctx.hands.sandbox)
        else {
            let why = if self.ctx.hands.sandbox.is_none() {
                "There is no sandbox on my server, so I run no commands."
            } else {
                "The settings do not allow this command."
            };
            return Ok(Deed::failed(why));
        };
        let job = Job {
            argv,
            root: self.bench.workspace.tree(),
            network: if allowed.network { Network::On } else { Network::Off },
            timeout: allowed.timeout,
            limits: default_limits(),
            env: &[],
        };
        let ran = match sandbox.run(&job, &self.stop).await {
            Ok(ran) => ran,
            Err(error) => return Ok(Deed::failed(error.to_string())),
        };
        self.after_command(ran.end, &ran.output.text()).await.or_else(Deed::not_kept)
    }

    async fn after_command(&self, end: End, output: &str) -> Result<Deed, Trouble> {
        let output = self.kept(output);
        let why = match end {
            End::Exited(0) => {
                let evidence = self.commit().await?;
                let evidence = Evidence { exit_code: Some(0), output: Some(output), ..evidence };
                return Ok(Deed::Done { evidence, actual: "it ended with exit code 0".to_owned() });
            }
            End::Stopped => {
                self.throw_away_the_half_done().await;
                return Ok(Deed::Unknown);
            }
            End::Exited(code) => format!("it ended with exit code {code}"),
            End::Killed(signal) => format!("it was killed by signal {signal}"),
            End::TimedOut => "it took too long and was ended".to_owned(),
            End::TooMuchOutput => "it printed too much and was ended".to_owned(),
            End::Exhausted(resource) => {
                format!("it used up its share of {resource:?} and was ended").to_lowercase()
            }
        };
        // What a failed command left behind was never approved.
        self.bench.workspace.discard().await?;
        let exit_code = if let End::Exited(code) = end { Some(code) } else { None };
        Ok(Deed::Failed {
            evidence: Evidence { exit_code, output: Some(output), ..Evidence::default() },
            why,
        })
    }

    /// Half of what a stopped command was to write would be committed with whatever comes next.
    async fn throw_away_the_half_done(&self) {
        if let Err(error) = self.bench.workspace.discard().await {
            tracing::warn!("what action {} left behind is still there: {error}", self.action.id);
        }
    }

    async fn call_tool(&self, arguments: Map<String, Value>) -> Result<Deed, Trouble> {
        let spec = self.run.plan().and_then(|plan| plan.specs.get(&self.action.id));
        let read_only = self.only_looks();
        if self.begun == Begun::Before && !read_only {
            return Ok(Deed::Unknown);
        }
        let hash = spec.and_then(|spec| spec.tool_hash.clone()).unwrap_or_default();
        match self.ctx.hands.mcp.call(&self.action.tool, &hash, arguments, &self.stop).await {
            Ok(answer) => {
                let output = self.kept(&answer.text);
                if answer.is_error {
                    let why = format!("the tool reported an error: {output}");
                    let evidence = Evidence { output: Some(output), ..Evidence::default() };
                    return Ok(Deed::Failed { evidence, why });
                }
                let kept = match self.commit().await {
                    Err(trouble) if !read_only => return Deed::not_kept(trouble),
                    kept => kept?,
                };
                let evidence = Evidence { output: Some(output), ..kept };
                Ok(Deed::Done { evidence, actual: "the tool answered".to_owned() })
            }
            Err(error) if error.may_have_run() && !read_only => Ok(Deed::Unknown),
            // Looking once more does no harm; whether another call would is not for us to say.
            Err(McpError::Unavailable(why)) if read_only => {
                tracing::warn!("the run waits for the tool `{}`: {why}", self.action.tool);
                let reason = format!("The server of the tool `{}` does not answer.", self.action.tool);
                Err(Trouble::passing(reason))
            }
            Err(error) => Ok(Deed::failed(error.to_string())),
        }
    }

    /// An error that the tool reports goes back to the worker, who can act on it; an answer ends the action.
    async fn call_for_worker(&self, call: &Call, arguments: Map<String, Value>) -> Vec<Fact> {
        match self.call_tool(arguments).await {
            Ok(Deed::Failed { why, .. }) => vec![self.used(call, why, false)],
            Err(Trouble { problem: AskProblem::Passing, reason, .. }) => {
                vec![self.used(call, format!("error: {reason}"), false)]
            }
            deed => self.facts_of(deed),
        }
    }

    /// What is kept of a tool's output. First without secrets, then shortened: half of one might not be told any more.
    fn kept(&self, output: &str) -> String {
        capped_to(&self.ctx.redactor.clean(output), OUTPUT)
    }

    async fn may_look(&self, path: &RepoPath) -> Result<Look, Trouble> {
        let settings = settings_of(&self.ctx, &self.thread.project).await?;
        if settings.tools.paths.permits(path.as_str()) {
            return Ok(Look::Allowed);
        }
        Ok(Look::Refused(format!("refused: the settings do not let me look at `{path}`")))
    }

    async fn looked(
        &self,
        call: &Call,
        look: impl FnOnce(Arc<Files>) -> Result<String, FileError> + Send + 'static,
    ) -> Vec<Fact> {
        let result = match self.with_files(look).await {
            Ok(Ok(text)) => text,
            Ok(Err(error)) => format!("error: {error}"),
            Err(trouble) => format!("error: {}", trouble.reason),
        };
        vec![self.used(call, result, false)]
    }

    /// Files are read and written in a thread where that may take its time.
    async fn with_files<T: Send + 'static>(
        &self,
        work: impl FnOnce(Arc<Files>) -> T + Send + 'static,
    ) -> Result<T, Trouble> {
        let files = Arc::clone(&self.bench.files);
        let worked = tokio::task::spawn_blocking(move || work(files)).await;
        worked.map_err(|error| Trouble::lasting(format!("I made a mistake with a file: {error}")))
    }

    fn used(&self, call: &Call, result: String, refused: bool) -> Fact {
        let (key, action) = (self.key.clone(), self.action.id.clone());
        let result = capped_to(&self.ctx.redactor.clean(&result), READ_BYTES);
        Fact::Used { key, action, tool: call.name().to_owned(), result, refused }
    }

    fn facts_of(&self, deed: Result<Deed, Trouble>) -> Vec<Fact> {
        let (key, action) = (self.key.clone(), self.action.id.clone());
        let expected = self.action.expected_outcome.clone();
        let deed = match deed {
            Ok(deed) => deed,
            Err(Trouble { problem: AskProblem::Lasting, reason, .. }) => Deed::failed(reason),
            Err(trouble) => return vec![trouble.into_fact(&self.ctx, key)],
        };
        let fact = match deed {
            Deed::Done { evidence, actual } => {
                Fact::ActionEnded { key, action, outcome: Outcome::Succeeded, evidence, expected, actual }
            }
            Deed::Failed { evidence, why } => {
                let outcome = Outcome::Failed { why: why.clone() };
                Fact::ActionEnded { key, action, outcome, evidence, expected, actual: why }
            }
            Deed::Unknown => Fact::ActionInterrupted { key, action },
        };
        vec![fact]
    }
}

fn read_text(files: &Files, path: &RepoPath) -> Result<String, FileError> {
    let content = files.read(path, READ_BYTES)?;
    let mut text = String::from_utf8_lossy(&content.bytes).into_owned();
    if !content.whole {
        text.push_str("\n[the file goes on]");
    }
    Ok(text)
}

fn list_text(files: &Files, dir: Option<&RepoPath>) -> Result<String, FileError> {
    let listing = files.list(dir, LISTED)?;
    let mut lines: Vec<String> =
        listing.entries.iter().map(|entry| format!("{} ({})", entry.name, entry.kind)).collect();
    if !listing.whole {
        lines.push("[there are more]".to_owned());
    }
    Ok(lines.join("\n"))
}

/// The beginning and the end: what went wrong mostly stands in one of them.
fn capped_to(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let head: String = text.chars().take(most / 4).collect();
    let tail: Vec<char> = text.chars().rev().take(most / 4).collect();
    let tail: String = tail.into_iter().rev().collect();
    format!("{head}\n[… cut …]\n{tail}")
}
