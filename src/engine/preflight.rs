//! Purpose: look at the repository for a plan: where the work would be done, and what stands at each action's target.
//! Nothing is written. For the first plan there is not even a checkout: everything is read from the mirror. A plan that
//! takes the place of another is looked at where its work stands.

use std::collections::HashMap;

use sha2::{Digest, Sha256};

use super::ctx::Ctx;
use super::gate;
use super::hands::{Trouble, allowed_command, bench, remote};
use super::settings::{Settled, settings};
use crate::actions::{Finding, Found, Ground, Offered, OperatorWord, RepoPath};
use crate::config::{McpServer, RepoSettings};
use crate::domain::{Account, Project, Thread, ThreadRef};
use crate::plan::{Action, ActionKind};
use crate::planning::{Fact, Key, Place, Run, plan_tool};
use crate::tools::git::{BlobKind, Commit, branch_name};
use crate::tools::mcp::{McpError, ToolInfo};

/// Longer files are compared by their hash alone, and shown without a diff.
const DIFF_BYTES: usize = 256 * 1024;
/// Nobody overwrites a file that is longer than that.
const FILE_BYTES: usize = 4 * 1024 * 1024;
const HOUR_MS: i64 = 3_600_000;
const OUR_BRANCHES: &str = "planwright/";

pub(super) async fn preflight(ctx: &Ctx, thread: &ThreadRef, run: &Run, key: Key) -> Fact {
    match try_preflight(ctx, thread, run).await {
        Ok(fact) => fact,
        Err(trouble) => trouble.into_fact(ctx, key),
    }
}

async fn try_preflight(ctx: &Ctx, thread: &ThreadRef, run: &Run) -> Result<Fact, Trouble> {
    let project = &thread.project;
    let forge = ctx.forge(project.forge).map_err(|error| Trouble::lasting(error.to_string()))?;
    let settings = settings_of(ctx, project).await?;
    let state = forge.thread(thread).await?;
    let bot = forge.me().await?;
    if forge.repository(project).await?.archived {
        return Err(Trouble::lasting("This repository is archived: nobody can push to it."));
    }
    let mut findings = vec![];
    let (place, ground) = if let Some((place, old)) = run.foundation() {
        // The work goes on where it is, on what is there by now.
        let bench = bench(ctx, project, run, &bot).await?;
        for action in run.plan().iter().flat_map(|plan| plan.open_actions()) {
            findings.push(gate::find(ctx, action, &settings, &bench).await?);
        }
        (place.clone(), gate::ground_now(old, thread_hash(&state), &settings, ctx.now()))
    } else {
        ctx.hands.workspaces.refresh(project, &remote(ctx, project).await?).await?;
        let (place, base) = place(ctx, thread, &state, run, &bot).await?;
        let mut base = Base { ctx, project, commit: base, seen: HashMap::new() };
        for action in run.plan().iter().flat_map(|plan| plan.open_actions()) {
            findings.push(find(&mut base, action, &settings).await?);
        }
        let ground = Ground {
            thread: thread_hash(&state),
            base: base.commit.as_str().to_owned(),
            settings: settings_hash(&settings),
            expires: ctx.now().plus(i64::from(settings.approval.expires_hours.get()) * HOUR_MS),
        };
        (place, ground)
    };
    let set = plan_tool::set_action_specs(run, &findings, ground, place);
    set.map(|(_, fact)| fact).ok_or_else(|| Trouble::lasting("there is no plan to look at"))
}

/// The settings in force. A file of the repository that cannot be understood may forbid anything, so nothing is done.
pub(super) async fn settings_of(ctx: &Ctx, project: &Project) -> Result<RepoSettings, Trouble> {
    match settings(ctx, project).await? {
        Settled::Settings(settings) => Ok(*settings),
        Settled::BrokenFile(why) => Err(Trouble::lasting(format!(
            "This repository's `.planwright.yaml` cannot be understood ({why}), so I do nothing."
        ))),
    }
}

/// The branch to work on, and where it starts.
async fn place(
    ctx: &Ctx,
    thread: &ThreadRef,
    state: &Thread,
    run: &Run,
    bot: &Account,
) -> Result<(Place, Commit), Trouble> {
    let (project, workspaces) = (&thread.project, &ctx.hands.workspaces);
    if let Some(branch) = state.branch.as_ref().filter(|branch| branch.same_repository) {
        let head = workspaces.branch(project, &branch.head).await?;
        let Some(head) = head else {
            return Err(Trouble::lasting(format!("The branch `{}` is gone.", branch.head)));
        };
        if state.author.id == bot.id && branch.head.starts_with(OUR_BRANCHES) {
            return Ok((Place { branch: branch.head.clone(), into: None }, head));
        }
        let name = free_name(ctx, thread, &state.title).await?;
        return Ok((Place { branch: name, into: Some(branch.head.clone()) }, head));
    }
    let Some(default) = workspaces.default_branch(project).await? else {
        return Err(Trouble::lasting("This repository is empty: push a first commit to its default branch."));
    };
    if let Some(branch) = &run.continues
        && let Some(commit) = workspaces.branch(project, branch).await?
    {
        return Ok((Place { branch: branch.clone(), into: Some(default.branch) }, commit));
    }
    let name = free_name(ctx, thread, &state.title).await?;
    Ok((Place { branch: name, into: Some(default.branch) }, default.commit))
}

/// What an earlier run left on a branch stays there.
async fn free_name(ctx: &Ctx, thread: &ThreadRef, title: &str) -> Result<String, Trouble> {
    let wanted = branch_name(thread.number, &ctx.redactor.clean_outgoing(title));
    for n in 1..100 {
        let name = if n == 1 { wanted.clone() } else { format!("{wanted}-{n}") };
        if ctx.hands.workspaces.branch(&thread.project, &name).await?.is_none() {
            return Ok(name);
        }
    }
    Err(Trouble::lasting(format!("There are too many branches named `{wanted}`; please delete some.")))
}

async fn find(base: &mut Base<'_>, action: &Action, settings: &RepoSettings) -> Result<Finding, Trouble> {
    let (tool, forbidden) = permitted(base.ctx, action, settings).await?;
    let path = action.spec.path.as_deref().and_then(|path| path.parse::<RepoPath>().ok());
    let found = match path {
        Some(path) => base.found(path).await?,
        None => Found::Nothing,
    };
    Ok(Finding { found, tool, forbidden })
}

/// The tool behind an action, and what the settings have against it.
pub(super) async fn permitted(
    ctx: &Ctx,
    action: &Action,
    settings: &RepoSettings,
) -> Result<(Option<Offered>, Option<String>), Trouble> {
    let path = action.spec.path.as_deref().and_then(|path| path.parse::<RepoPath>().ok());
    if let Some(path) = path.filter(|path| !settings.tools.paths.permits(path.as_str())) {
        return Ok((None, Some(format!("the settings do not let me touch `{path}`"))));
    }
    Ok(match action.action_type {
        ActionKind::Run => {
            let known = allowed_command(&settings.tools, &action.spec.command).is_some();
            let why = "this command is not among those that the settings allow; use one of them exactly";
            (None, (!known).then(|| why.to_owned()))
        }
        ActionKind::Tool => match offered(ctx, &action.tool, settings).await? {
            Some(tool) => (Some(tool), None),
            None => (None, Some(format!("there is no tool `{}` here", action.tool))),
        },
        ActionKind::Create
        | ActionKind::Write
        | ActionKind::Mkdir
        | ActionKind::Delete
        | ActionKind::Read
        | ActionKind::Analyze => (None, None),
    })
}

/// A tool that is on offer and that this repository may use. A server that is away for a moment takes nothing back.
async fn offered(ctx: &Ctx, name: &str, settings: &RepoSettings) -> Result<Option<Offered>, Trouble> {
    let Some((server, own_name)) = allowed_tool(name, settings) else { return Ok(None) };
    match ctx.hands.mcp.tool(name).await {
        Ok(tool) if !server.accepts(own_name, &tool.hash) => Ok(None),
        Ok(tool) => {
            let ToolInfo { hash, destructive: hint, .. } = tool;
            let is_read_only = server.is_read_only(own_name, &hash);
            let word = if is_read_only { OperatorWord::ReadOnly } else { OperatorWord::Nothing };
            Ok(Some(Offered { hash, hint, word }))
        }
        Err(McpError::Unavailable(why)) => {
            tracing::warn!("the run waits for the tool `{name}`: {why}");
            Err(Trouble::passing(format!("The server of the tool `{name}` does not answer.")))
        }
        Err(
            McpError::NoSuchTool(_)
            | McpError::NotAllowed(_)
            | McpError::Changed { .. }
            | McpError::SwitchedOff { .. }
            | McpError::Lost(_)
            | McpError::TimedOut(_)
            | McpError::Stopped { .. }
            | McpError::BadArguments(_)
            | McpError::Refused(_),
        ) => Ok(None),
    }
}

/// Whether this repository may use a tool as it is now.
pub(super) fn may_use(tool: &ToolInfo, settings: &RepoSettings) -> bool {
    allowed_tool(&tool.name, settings).is_some_and(|(server, own_name)| server.accepts(own_name, &tool.hash))
}

/// The server of a tool that the settings of this repository allow by its full name, and the name without the server's.
fn allowed_tool<'a>(name: &'a str, settings: &'a RepoSettings) -> Option<(&'a McpServer, &'a str)> {
    let (server, own_name) = name.split_once('/')?;
    let (_, server) = settings.tools.mcp_servers.iter().find(|(known, _)| known.to_string() == server)?;
    server.allows(own_name).then_some((server, own_name))
}

/// The commit that the work starts from. What stands at a path there is read once, however many actions name it.
struct Base<'a> {
    ctx: &'a Ctx,
    project: &'a Project,
    commit: Commit,
    seen: HashMap<RepoPath, Found>,
}

impl Base<'_> {
    async fn found(&mut self, path: RepoPath) -> Result<Found, Trouble> {
        if let Some(found) = self.seen.get(&path) {
            return Ok(found.clone());
        }
        let workspaces = &self.ctx.hands.workspaces;
        let found = match workspaces.read(self.project, &self.commit, &path, FILE_BYTES).await? {
            None => Found::Nothing,
            Some(blob) => match blob.kind {
                BlobKind::File | BlobKind::Executable => file_found(&blob.bytes, blob.size),
                BlobKind::Directory => Found::Directory,
                BlobKind::Symlink | BlobKind::Submodule => Found::Other,
            },
        };
        self.seen.insert(path, found.clone());
        Ok(found)
    }
}

pub(super) fn file_found(bytes: &[u8], size: u64) -> Found {
    // Of a file that was cut only the length and the beginning are known; both change with it, or nearly always.
    let text = (bytes.len() <= DIFF_BYTES && bytes.len() as u64 == size)
        .then(|| std::str::from_utf8(bytes).ok().map(str::to_owned))
        .flatten();
    Found::File { bytes: size, sha256: hex::encode(Sha256::digest(bytes)), text }
}

pub(super) const READ_AT_MOST: usize = FILE_BYTES;

pub(super) fn thread_hash(thread: &Thread) -> String {
    let mut hasher = Sha256::new();
    hasher.update((thread.title.len() as u64).to_be_bytes());
    hasher.update(thread.title.as_bytes());
    hasher.update(thread.body.as_bytes());
    hex::encode(hasher.finalize())
}

/// Only what bears on acting: another language is no reason to ask again.
pub(super) fn settings_hash(settings: &RepoSettings) -> String {
    let relevant = (&settings.tools, &settings.approval, settings.deliver);
    let text = serde_json::to_vec(&relevant).unwrap_or_default();
    hex::encode(Sha256::digest(&text))
}
