//! Purpose: ask the model one question: gather what it may see, send it, turn the answer into a fact.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::ctx::Ctx;
use super::hands::remote;
use super::preflight::may_use;
use super::settings::{Settled, settings};
use crate::actions::tools_of;
use crate::config::RepoSettings;
use crate::domain::{Account, AccountId, Comment, Permission, ThreadRef};
use crate::forge::{Forge, ForgeError};
use crate::llm::{Failure, LlmError};
use crate::plan::{Action, ActionId, ActionKind};
use crate::planning::{AskProblem, Ended, Fact, Key, Outcome, Question, Record, Revision, Run};
use crate::prompts::{Answer, Ask, Context, Remark, Task, Told, Usage, hidden_in};

const DOCUMENTS: [&str; 3] = ["README.md", "CONTRIBUTING.md", "AGENTS.md"];

/// The newest comments are read, and of each author the permission is looked up; more would cost more than they tell.
const COMMENTS: usize = 100;
/// How many files of the repository the planner is told of.
const TREE: usize = 2_000;
/// How many of the actions before are told of; more would make every prompt longer than the one before it.
const NEWEST: usize = 5;

/// Why a question could not be answered.
enum Unanswered {
    Forge(ForgeError),
    Model(Failure),
    Broken(String),
}

/// A question in waiting: everything it needs is its own, so that it can be dropped at any time.
pub(super) fn ask(
    ctx: Arc<Ctx>,
    thread: ThreadRef,
    record: Record,
) -> impl FnOnce(Key, Question) -> BoxFuture<'static, Fact> {
    move |key, question| {
        Box::pin(async move {
            match try_ask(&ctx, &thread, &record, question).await {
                Ok(asked) => asked.into_fact(key, &record),
                Err(unanswered) => unanswered.into_fact(key, question),
            }
        })
    }
}

struct Asked {
    answer: Answer,
    usage: Usage,
    hidden: u64,
}

async fn try_ask(
    ctx: &Ctx,
    thread: &ThreadRef,
    record: &Record,
    question: Question,
) -> Result<Asked, Unanswered> {
    let run = record.live_run().ok_or_else(|| Unanswered::Broken("the run has ended".to_owned()))?;
    let forge = ctx.forge(thread.project.forge).map_err(|e| Unanswered::Broken(e.to_string()))?;
    let context = gather(ctx, forge, thread, run, question).await.map_err(Unanswered::Forge)?;
    let hidden = hidden_in(&context);
    let ask = typed(ctx, run, context, question).await?;
    let model = match question {
        Question::Work => &ctx.worker,
        Question::Understand | Question::Decompose | Question::Sequence | Question::Reflect => &ctx.planner,
    };
    let answered = model.answer(&ask).await.map_err(Unanswered::Model)?;
    Ok(Asked { answer: answered.answer, usage: answered.usage, hidden })
}

async fn typed(ctx: &Ctx, run: &Run, context: Context, question: Question) -> Result<Ask, Unanswered> {
    let missing = |what: &str| Unanswered::Broken(format!("the run has no {what} yet"));
    let goal = || run.goal.clone().ok_or_else(|| missing("goal"));
    let plan = || run.plan().ok_or_else(|| missing("steps"));
    let told = Box::<Told>::default();
    Ok(match question {
        Question::Understand => Ask::GoalUnderstanding { context, told },
        Question::Decompose => Ask::TaskDecomposition { context, goal: goal()?, told },
        Question::Sequence => {
            let Revision { steps, problems, .. } = plan()?.clone();
            Ask::ActionSequence { context, goal: goal()?, steps, problems, told }
        }
        Question::Work => Ask::WorkerTurn { context, task: Box::new(task(ctx, run, plan()?).await?) },
        Question::Reflect => {
            let done = newest(run, plan()?);
            let last = plan()?.actions().filter(|action| ended(run, action).is_some()).last();
            let action_id = last.map_or(String::new(), |action| action.id.0.clone());
            Ask::Reflection { context, goal: goal()?, done, action_id, told }
        }
    })
}

async fn task(ctx: &Ctx, run: &Run, plan: &Revision) -> Result<Task, Unanswered> {
    let (action, work) =
        run.current_action().ok_or_else(|| Unanswered::Broken("there is no action to work on".to_owned()))?;
    let step = plan.steps.iter().find(|step| step.id == action.task_id);
    let turns = work.turns.iter().map(|turn| (turn.call.clone(), turn.result.clone().unwrap_or_default()));
    let tool_schema = if action.action_type == ActionKind::Tool {
        ctx.hands.mcp.tool(&action.tool).await.map(|tool| tool.schema)
    } else {
        None
    };
    Ok(Task {
        objective: run.goal.as_ref().map_or(String::new(), |goal| goal.main_objective.clone()),
        step: step.map_or(String::new(), |step| step.description.clone()),
        action: action.clone(),
        before: newest(run, plan),
        turns: turns.collect(),
        tools: tools_of(action).into_iter().map(str::to_owned).collect(),
        tool_schema,
    })
}

fn ended<'a>(run: &'a Run, action: &Action) -> Option<&'a Ended> {
    run.work.get(&action.id)?.ended.as_ref()
}

/// The newest actions that ended, oldest first, each as one line of evidence.
fn newest(run: &Run, plan: &Revision) -> Vec<String> {
    let ended: Vec<String> = plan
        .actions()
        .filter_map(|action| ended(run, action).map(|ended| (action, ended)))
        .map(|(action, ended)| {
            let outcome = match &ended.outcome {
                Outcome::Succeeded => "succeeded".to_owned(),
                Outcome::Failed { why } => format!("failed: {why}"),
            };
            let output = ended.evidence.output.as_deref().unwrap_or_default();
            let output: String = output.chars().take(600).collect();
            format!(
                "action {} ({}, {}): expected {}; it {outcome}: {} {output}",
                action.id,
                action.action_type.as_str(),
                action.spec.path.as_deref().unwrap_or(&action.tool),
                action.expected_outcome,
                ended.actual,
            )
        })
        .collect();
    let skipped = ended.len().saturating_sub(NEWEST);
    ended.into_iter().skip(skipped).collect()
}

impl Asked {
    fn into_fact(self, key: Key, record: &Record) -> Fact {
        let Self { answer, usage, hidden } = self;
        match answer {
            Answer::Goal { goal, replan: _ } => Fact::GoalUnderstood { key, goal, usage, hidden },
            Answer::Steps { reasoning, steps, replan: _ } => {
                Fact::Decomposed { key, reasoning, steps, usage }
            }
            Answer::Actions { actions, replan: _ } => Fact::Sequenced { key, actions, usage },
            Answer::Reflection { reflection, replan: _ } => {
                Fact::Reflected { key, reflection: Some(reflection), usage: Some(usage) }
            }
            Answer::Turn(call) => {
                let current = record.live_run().and_then(Run::current_action);
                let action = current.map_or_else(|| ActionId(String::new()), |(action, _)| action.id.clone());
                Fact::Worked { key, action, call, usage }
            }
            // the core learns this next
            Answer::Questions(_)
            | Answer::Mapping(_)
            | Answer::Decisions(_)
            | Answer::Summary(_)
            | Answer::Revision { .. }
            | Answer::Replan(_)
            | Answer::Alternative(_) => {
                let reason = "I got an answer that nobody asked for.".to_owned();
                Fact::AskFailed { key, problem: AskProblem::Lasting, reason, usage: Some(usage) }
            }
        }
    }
}

impl Unanswered {
    fn into_fact(self, key: Key, question: Question) -> Fact {
        let (problem, reason, usage) = match self {
            Self::Forge(error) => {
                tracing::warn!("cannot read the thread for {key}: {error}");
                (AskProblem::Passing, "I could not read this thread.".to_owned(), None)
            }
            Self::Model(Failure { error, usage }) => {
                tracing::warn!("the model did not answer {key}: {error}");
                (lasts(&error), error.for_people().to_owned(), Some(usage))
            }
            Self::Broken(what) => (AskProblem::Lasting, what, None),
        };
        // Reflecting is worth something, but no reason to stop.
        if question == Question::Reflect && problem == AskProblem::Lasting {
            return Fact::Reflected { key, reflection: None, usage };
        }
        Fact::AskFailed { key, problem, reason, usage }
    }
}

fn lasts(error: &LlmError) -> AskProblem {
    match error {
        LlmError::Unavailable { .. } | LlmError::TimedOut => AskProblem::Passing,
        LlmError::Refused { .. }
        | LlmError::Rejected { .. }
        | LlmError::TooLong
        | LlmError::CutOff
        | LlmError::TooLarge
        | LlmError::Unreadable(_) => AskProblem::Lasting,
    }
}

async fn gather(
    ctx: &Ctx,
    forge: &Forge,
    thread: &ThreadRef,
    run: &Run,
    question: Question,
) -> Result<Context, ForgeError> {
    let bot = forge.me().await?;
    let state = forge.thread(thread).await?;
    let mut rights = Rights { forge, thread, known: BTreeMap::new() };
    let comments = match question {
        Question::Work | Question::Reflect => steering(forge, thread, run, &state.author).await?,
        Question::Understand | Question::Decompose | Question::Sequence => {
            remarks(forge, thread, &bot, &mut rights).await?
        }
    };
    let author_permission = match question {
        Question::Work | Question::Reflect => None,
        Question::Understand | Question::Decompose | Question::Sequence => {
            Some(rights.of(&state.author).await?)
        }
    };
    let settings = match settings(ctx, &thread.project).await? {
        Settled::Settings(settings) => *settings,
        Settled::BrokenFile(_) => ctx.config.for_repo(&thread.project),
    };
    let plans = matches!(question, Question::Decompose | Question::Sequence);
    let (tree, tools) =
        if plans { (tree(ctx, thread).await, tools(ctx, &settings).await) } else { (vec![], vec![]) };
    let commands = settings.tools.commands.values().filter(|command| command.enabled);
    let commands = if plans { commands.map(|command| command.argv.clone()).collect() } else { vec![] };
    let documents = match question {
        // Whoever works on one action reads the files that it needs.
        Question::Work | Question::Reflect => vec![],
        Question::Understand | Question::Decompose | Question::Sequence => documents(forge, thread).await?,
    };
    Ok(Context {
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
        language: settings.language.name().map(str::to_owned),
        fence: run.id.0.replace('-', ""),
        requester: Some(run.requester.id),
    })
}

/// What everybody wrote, with what each may do now.
async fn remarks(
    forge: &Forge,
    thread: &ThreadRef,
    bot: &Account,
    rights: &mut Rights<'_>,
) -> Result<Vec<Remark>, ForgeError> {
    let mut remarks = vec![];
    let all = forge.comments(thread).await?;
    for comment in all.into_iter().rev().take(COMMENTS).rev() {
        if comment.author.id != bot.id {
            let permission = rights.of(&comment.author).await?;
            remarks.push(Remark { author: comment.author, permission, body: comment.body });
        }
    }
    Ok(remarks)
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
