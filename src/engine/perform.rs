//! Purpose: ask the model one question: gather what it may see, send it, turn the answer into a fact.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::ctx::Ctx;
use super::settings::{Settled, settings};
use crate::domain::{Account, AccountId, Permission, ThreadRef};
use crate::forge::{Forge, ForgeError};
use crate::llm::{Failure, LlmError};
use crate::planning::{AskProblem, Fact, Key, Question, Record, Run, plan_digest};
use crate::prompts::{Answer, Ask, Context, Remark, Usage};

const DOCUMENTS: [&str; 3] = ["README.md", "CONTRIBUTING.md", "AGENTS.md"];

/// The newest comments are read, and of each author the permission is looked up; more would cost more than they tell.
const COMMENTS: usize = 100;

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
                Ok((answer, usage)) => fact(key, answer, usage),
                Err(unanswered) => unanswered.into_fact(key),
            }
        })
    }
}

async fn try_ask(
    ctx: &Ctx,
    thread: &ThreadRef,
    record: &Record,
    question: Question,
) -> Result<(Answer, Usage), Unanswered> {
    let run = record.live_run().ok_or_else(|| Unanswered::Broken("the run has ended".to_owned()))?;
    let forge = ctx.forge(thread.project.forge).map_err(|e| Unanswered::Broken(e.to_string()))?;
    let context = gather(ctx, forge, thread, run).await.map_err(Unanswered::Forge)?;
    let ask = typed(run, context, question)?;
    let answered = ctx.planner.answer(&ask).await.map_err(Unanswered::Model)?;
    Ok((answered.answer, answered.usage))
}

fn typed(run: &Run, context: Context, question: Question) -> Result<Ask, Unanswered> {
    let missing = |what: &str| Unanswered::Broken(format!("the run has no {what} yet"));
    let goal = || run.goal.clone().ok_or_else(|| missing("goal"));
    Ok(match question {
        Question::Understand => Ask::GoalUnderstanding { context },
        Question::Decompose => Ask::TaskDecomposition { context, goal: goal()? },
        Question::Sequence => {
            let revision = run.revisions.last().ok_or_else(|| missing("steps"))?;
            Ask::ActionSequence { context, goal: goal()?, steps: revision.steps.clone() }
        }
    })
}

fn fact(key: Key, answer: Answer, usage: Usage) -> Fact {
    match answer {
        Answer::Goal(goal) => Fact::GoalUnderstood { key, goal, usage },
        Answer::Steps { reasoning, steps } => Fact::Decomposed { key, reasoning, steps, usage },
        Answer::Actions(actions) => {
            let digest = plan_digest(&actions);
            Fact::Sequenced { key, actions, digest, usage }
        }
    }
}

impl Unanswered {
    fn into_fact(self, key: Key) -> Fact {
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

async fn gather(ctx: &Ctx, forge: &Forge, thread: &ThreadRef, run: &Run) -> Result<Context, ForgeError> {
    let bot = forge.me().await?;
    let state = forge.thread(thread).await?;
    let mut rights = Rights { forge, thread, known: BTreeMap::new() };
    let mut comments = vec![];
    let all = forge.comments(thread).await?;
    for comment in all.into_iter().rev().take(COMMENTS).rev() {
        if comment.author.id != bot.id {
            let permission = rights.of(&comment.author).await?;
            comments.push(Remark { author: comment.author, permission, body: comment.body });
        }
    }
    let author_permission = Some(rights.of(&state.author).await?);
    let settings = match settings(ctx, &thread.project).await? {
        Settled::Settings(settings) => *settings,
        Settled::BrokenFile(_) => ctx.config.for_repo(&thread.project),
    };
    Ok(Context {
        thread: thread.to_string(),
        title: state.title,
        body: state.body,
        author: Some(state.author),
        author_permission,
        is_change_request: state.is_change_request,
        comments,
        documents: documents(forge, thread).await?,
        language: settings.language.name().map(str::to_owned),
        fence: run.id.0.replace('-', ""),
        requester: Some(run.requester.id),
    })
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
