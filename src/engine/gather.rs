//! Purpose: what a question to the model may see of the thread and its repository.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::ctx::Ctx;
use super::hands::remote;
use super::preflight::may_use;
use super::settings::{Settled, settings};
use crate::config::RepoSettings;
use crate::domain::{Account, AccountId, ChangeDiff, Comment, Permission, Right, Thread, ThreadRef, Verdict};
use crate::forge::{Forge, ForgeError};
use crate::planning::{Question, Run};
use crate::prompts::{Context, Remark};

const DOCUMENTS: [&str; 3] = ["README.md", "CONTRIBUTING.md", "AGENTS.md"];

/// The newest comments are read, and of each author the permission is looked up; more would cost more than they tell.
const COMMENTS: usize = 100;
/// So many more are read before what is older is summed up anew: else every comment would cost a model call.
const SLACK: usize = 25;
/// How many of the comments before those are summed up; what is older still is left out.
const OLDER: usize = 400;
/// How many files of the repository the planner is told of.
const TREE: usize = 2_000;

/// What a question may see.
pub(super) struct Gathered {
    pub context: Context,
    /// Comments that are too old to be read one by one, oldest first; none where the question is about the work.
    pub older: Vec<Comment>,
}

/// How long what was seen of a thread is shown again, if nothing is heard of it. Before anything is done, the gate looks
/// afresh; this is only about what the model reads.
const FRESH: Duration = Duration::from_secs(30);

/// Threads as the model was last shown them, so that one question right after another costs the forge nothing.
#[derive(Default)]
pub struct Sightings(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    threads: HashMap<ThreadRef, Sighting>,
    /// When something was last heard of a thread: a look that began before it is not kept.
    heard: HashMap<ThreadRef, Instant>,
}

#[derive(Clone)]
struct Sighting {
    at: Instant,
    thread: Thread,
    comments: Vec<Comment>,
}

impl Sightings {
    /// Something was heard of the thread, so it is read anew.
    pub(super) fn forget(&self, thread: &ThreadRef) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.threads.remove(thread);
        seen.heard.retain(|_, at| at.elapsed() < FRESH);
        seen.heard.insert(thread.clone(), Instant::now());
    }

    async fn look(&self, forge: &Forge, thread: &ThreadRef) -> Result<Sighting, ForgeError> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).threads.get(thread).cloned();
        if let Some(known) = known.filter(|known| known.at.elapsed() < FRESH) {
            return Ok(known);
        }
        let at = Instant::now();
        let state = forge.thread(thread).await?;
        let comments = said(forge, thread, Kind::of(state.is_change_request)).await?;
        let seen = Sighting { at, thread: state, comments };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.threads.retain(|_, seen| seen.at.elapsed() < FRESH);
        if all.heard.get(thread).is_none_or(|heard| *heard < at) {
            all.threads.insert(thread.clone(), seen.clone());
        }
        Ok(seen)
    }
}

pub(super) async fn gather(
    ctx: &Ctx,
    forge: &Forge,
    thread: &ThreadRef,
    run: &Run,
    question: Question,
) -> Result<Gathered, ForgeError> {
    let bot = forge.me().await?;
    let Sighting { thread: state, comments, .. } = ctx.sightings.look(forge, thread).await?;
    let mut rights = Rights { forge, thread, known: run.rights.clone() };
    let sight = Sight::of(question);
    let (comments, older) = match sight {
        Sight::Work => (steering(comments, run), vec![]),
        Sight::Thread | Sight::Plan => remarks(comments, &bot, run, &mut rights).await?,
    };
    let shows_diff = state.is_change_request && sight != Sight::Work;
    let diff = if shows_diff { diff(forge, thread).await? } else { None };
    let author_permission = if sight == Sight::Work { None } else { Some(rights.of(&state.author).await?) };
    let settings = match settings(ctx, &thread.project).await? {
        Settled::Settings(settings) => *settings,
        Settled::BrokenFile(_) => ctx.config.for_repo(&thread.project),
    };
    let plans = sight == Sight::Plan;
    // Whether another tool would do is a part of the decision.
    let chooses = plans || question == Question::Decide;
    let tree = if plans { tree(ctx, thread).await } else { vec![] };
    let tools = if chooses { tools(ctx, &settings).await } else { vec![] };
    let commands = settings.tools.commands.values().filter(|command| command.enabled);
    let commands = if chooses { commands.map(|command| command.argv.clone()).collect() } else { vec![] };
    // Whoever works on one action reads the files that it needs.
    let documents = if sight == Sight::Work { vec![] } else { documents(ctx, forge, thread).await? };
    let context = Context {
        tree,
        tools,
        commands,
        thread: thread.to_string(),
        title: state.title,
        body: state.body,
        author: Some(state.author),
        author_permission,
        is_change_request: state.is_change_request,
        diff,
        comments,
        documents,
        language: settings.language.name().or(run.lang.name()).map(str::to_owned),
        fence: ctx.fence(&run.id),
        requester: Some(run.requester.id),
    };
    Ok(Gathered { context, older })
}

/// How much of the thread and its repository a question is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sight {
    /// What steers the work, and nothing else.
    Work,
    Thread,
    /// The files and the tools as well.
    Plan,
}

impl Sight {
    fn of(question: Question) -> Self {
        match question {
            Question::Work
            | Question::Judge
            | Question::Advise
            | Question::Reflect
            | Question::MapAnswers
            | Question::Decide
            | Question::Evaluate
            | Question::OtherWay => Self::Work,
            Question::ReadDocument | Question::Understand | Question::Discover | Question::Summarise => {
                Self::Thread
            }
            Question::Decompose | Question::Sequence | Question::Design | Question::Revise => Self::Plan,
        }
    }
}

/// What a thread is, for what can be said on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Issue,
    /// People say things in reviews as well.
    ChangeRequest,
}

impl Kind {
    pub(super) fn of(is_change_request: bool) -> Self {
        if is_change_request { Self::ChangeRequest } else { Self::Issue }
    }
}

/// Everything that was said there, oldest first.
pub(super) async fn said(forge: &Forge, thread: &ThreadRef, kind: Kind) -> Result<Vec<Comment>, ForgeError> {
    match kind {
        Kind::Issue => forge.comments(thread).await,
        Kind::ChangeRequest => forge.conversation(thread).await,
    }
}

/// What everybody wrote, with what each may do now, and the comments before those.
async fn remarks(
    said: Vec<Comment>,
    bot: &Account,
    run: &Run,
    rights: &mut Rights<'_>,
) -> Result<(Vec<Remark>, Vec<Comment>), ForgeError> {
    let mut remarks = vec![];
    let mut older = said;
    let newest = older.len().saturating_sub(COMMENTS);
    let covered = older.iter().rposition(|comment| Some(comment.id) == run.talk.before_until);
    let unread = covered.map(|at| (at + 1).min(newest)).filter(|unread| newest - unread < SLACK);
    let newest = older.split_off(unread.unwrap_or(newest));
    for comment in newest {
        if comment.author.id != bot.id {
            let permission = rights.of(&comment.author).await?;
            remarks.push(remark(comment, permission));
        }
    }
    Ok((remarks, older))
}

fn remark(comment: Comment, permission: Permission) -> Remark {
    Remark { author: comment.author, permission, body: comment.body, on: comment.on }
}

/// What a change request changes. A plan can be made without it, so a forge that does not show it is no reason to wait.
async fn diff(forge: &Forge, thread: &ThreadRef) -> Result<Option<ChangeDiff>, ForgeError> {
    match forge.diff(thread).await {
        Ok(diff) => Ok(Some(diff)),
        Err(ForgeError::Broken(why) | ForgeError::Invalid(why) | ForgeError::NotFound(why)) => {
            tracing::warn!("left the diff of {thread} out: {why}");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// What people said in these comments whose words the run reads, oldest first. Long conversations are read in short.
pub(super) async fn messages(
    forge: &Forge,
    thread: &ThreadRef,
    run: &Run,
    comments: &[Comment],
) -> Result<Vec<String>, ForgeError> {
    let bot = forge.me().await?;
    let mut rights = Rights { forge, thread, known: run.rights.clone() };
    let mut messages = vec![];
    for comment in comments.iter().rev().take(OLDER) {
        let requester = comment.author.id == run.requester.id;
        if comment.author.id != bot.id
            && Right::STEER.judge(&comment.author, rights.of(&comment.author).await?, requester)
                == Verdict::Allowed
        {
            messages.push(format!("@{}: {}", comment.author.login, comment.body));
        }
    }
    messages.reverse();
    Ok(messages)
}

/// What a worker reads: words of who asked for the run, and what came in during the run from people who may steer it,
/// each with the right that was looked up when it came. Nobody is looked up again for every turn. Who only wrote the
/// thread steers nothing.
fn steering(said: Vec<Comment>, run: &Run) -> Vec<Remark> {
    let newest: Vec<Remark> =
        said.into_iter().rev().filter_map(|comment| as_steering(run, comment)).take(COMMENTS).collect();
    newest.into_iter().rev().collect()
}

fn as_steering(run: &Run, comment: Comment) -> Option<Remark> {
    let author = &comment.author;
    let requester = author.id == run.requester.id;
    let permission =
        run.rights.get(&author.id).copied().filter(|_| requester || run.sources.contains(&comment.id))?;
    let may_steer = Right::STEER.judge(author, permission, requester) == Verdict::Allowed;
    may_steer.then(|| remark(comment, permission))
}

/// The files on the default branch. Without them a plan can still be made, so no trouble here is one for the run.
async fn tree(ctx: &Ctx, thread: &ThreadRef) -> Vec<String> {
    let (project, workspaces) = (&thread.project, &ctx.hands.workspaces);
    let Ok(remote) = remote(ctx, project).await else { return vec![] };
    let looked = async {
        workspaces.refresh(project, &remote).await?;
        match workspaces.default_branch(project).await? {
            Some(head) => workspaces.tree(project, &head.commit, TREE).await.map(|tree| tree.paths),
            None => Ok(vec![]),
        }
    };
    looked.await.unwrap_or_else(|error| {
        tracing::warn!("cannot list the files of {project} for the planner: {error}");
        vec![]
    })
}

async fn tools(ctx: &Ctx, settings: &RepoSettings) -> Vec<(String, String)> {
    let offer = ctx.hands.mcp.offer().await;
    for (server, why) in &offer.missing {
        tracing::warn!("the tools of `{server}` are missing from the plan: {why}");
    }
    let allowed = offer.tools.into_iter().filter(|tool| may_use(tool, settings));
    // A server may say the secret that it was given.
    let does = |text: &str| ctx.redactor.clean(text).chars().take(300).collect();
    allowed.map(|tool| (tool.name, does(&tool.description))).collect()
}

/// Each author is looked up once per question; whose words the run has taken was looked up then.
struct Rights<'a> {
    forge: &'a Forge,
    thread: &'a ThreadRef,
    known: BTreeMap<AccountId, Permission>,
}

impl Rights<'_> {
    async fn of(&mut self, account: &Account) -> Result<Permission, ForgeError> {
        if let Some(permission) = self.known.get(&account.id) {
            return Ok(*permission);
        }
        let permission = self.forge.permission(&self.thread.project, account).await?;
        self.known.insert(account.id, permission);
        Ok(permission)
    }
}

async fn documents(
    ctx: &Ctx,
    forge: &Forge,
    thread: &ThreadRef,
) -> Result<Vec<(String, String)>, ForgeError> {
    let mut found = vec![];
    for name in DOCUMENTS {
        match ctx.repo_files.read(forge, &thread.project, name).await {
            Ok(Some(text)) => found.push((name.to_owned(), text)),
            Ok(None) => {}
            // A README that is no text, or too long, is no reason not to plan.
            Err(ForgeError::Broken(why) | ForgeError::Invalid(why)) => {
                tracing::warn!("left {name} of {} out: {why}", thread.project);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}
