//! Purpose: what a question to the model may see of the thread and its repository.

use std::collections::BTreeMap;

use super::ctx::Ctx;
use super::hands::remote;
use super::preflight::may_use;
use super::settings::{Settled, settings};
use crate::config::RepoSettings;
use crate::domain::{Account, AccountId, Comment, Permission, Right, ThreadRef, Verdict};
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

pub(super) async fn gather(
    ctx: &Ctx,
    forge: &Forge,
    thread: &ThreadRef,
    run: &Run,
    question: Question,
) -> Result<Gathered, ForgeError> {
    let bot = forge.me().await?;
    let state = forge.thread(thread).await?;
    let mut rights = Rights { forge, thread, known: BTreeMap::new() };
    let sight = Sight::of(question);
    let (comments, older) = match sight {
        Sight::Work => (steering(forge, thread, run, &state.author).await?, vec![]),
        Sight::Thread | Sight::Plan => remarks(forge, thread, &bot, run, &mut rights).await?,
    };
    let author_permission = if sight == Sight::Work { None } else { Some(rights.of(&state.author).await?) };
    let settings = match settings(ctx, &thread.project).await? {
        Settled::Settings(settings) => *settings,
        Settled::BrokenFile(_) => ctx.config.for_repo(&thread.project),
    };
    let plans = sight == Sight::Plan;
    let (tree, tools) =
        if plans { (tree(ctx, thread).await, tools(ctx, &settings).await) } else { (vec![], vec![]) };
    let commands = settings.tools.commands.values().filter(|command| command.enabled);
    let commands = if plans { commands.map(|command| command.argv.clone()).collect() } else { vec![] };
    // Whoever works on one action reads the files that it needs.
    let documents = if sight == Sight::Work { vec![] } else { documents(forge, thread).await? };
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
        comments,
        documents,
        language: settings.language.name().or(run.lang.name()).map(str::to_owned),
        fence: run.id.0.replace('-', ""),
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
            | Question::Reflect
            | Question::MapAnswers
            | Question::Decide
            | Question::Evaluate
            | Question::OtherWay => Self::Work,
            Question::Understand | Question::Discover | Question::Summarise => Self::Thread,
            Question::Decompose | Question::Sequence | Question::Design | Question::Revise => Self::Plan,
        }
    }
}

/// What everybody wrote, with what each may do now, and the comments before those.
async fn remarks(
    forge: &Forge,
    thread: &ThreadRef,
    bot: &Account,
    run: &Run,
    rights: &mut Rights<'_>,
) -> Result<(Vec<Remark>, Vec<Comment>), ForgeError> {
    let mut remarks = vec![];
    let mut older = forge.comments(thread).await?;
    let newest = older.len().saturating_sub(COMMENTS);
    let covered = older.iter().rposition(|comment| Some(comment.id) == run.talk.before_until);
    let unread = covered.map(|at| (at + 1).min(newest)).filter(|unread| newest - unread < SLACK);
    let newest = older.split_off(unread.unwrap_or(newest));
    for comment in newest {
        if comment.author.id != bot.id {
            let permission = rights.of(&comment.author).await?;
            remarks.push(Remark { author: comment.author, permission, body: comment.body });
        }
    }
    Ok((remarks, older))
}

/// What people said in these comments whose words the run reads, oldest first. Long conversations are read in short.
pub(super) async fn messages(
    forge: &Forge,
    thread: &ThreadRef,
    run: &Run,
    comments: &[Comment],
) -> Result<Vec<String>, ForgeError> {
    let bot = forge.me().await?;
    let mut rights = Rights { forge, thread, known: BTreeMap::new() };
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

/// What a worker reads: words of who asked for the run and of who wrote the thread, and what came in during the run from
/// people who may steer it, whose right was looked up when it came. Nobody is looked up again for every turn.
async fn steering(
    forge: &Forge,
    thread: &ThreadRef,
    run: &Run,
    author: &Account,
) -> Result<Vec<Remark>, ForgeError> {
    let counts = |comment: &Comment| {
        let by = comment.author.id;
        by == run.requester.id || by == author.id || run.sources.contains(&comment.id)
    };
    let all = forge.comments(thread).await?;
    let newest: Vec<Comment> = all.into_iter().filter(counts).rev().take(COMMENTS).collect();
    let remark = |comment: Comment| Remark {
        author: comment.author,
        permission: Permission::Write,
        body: comment.body,
    };
    Ok(newest.into_iter().rev().map(remark).collect())
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
    let allowed = offer.tools.into_iter().filter(|tool| may_use(&tool.name, settings));
    allowed.map(|tool| (tool.name, tool.description.chars().take(300).collect())).collect()
}

/// Each author is looked up once per question.
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

async fn documents(forge: &Forge, thread: &ThreadRef) -> Result<Vec<(String, String)>, ForgeError> {
    let mut found = vec![];
    for name in DOCUMENTS {
        match forge.read_file(&thread.project, name).await {
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
