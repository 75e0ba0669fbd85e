//! Purpose: ask the model one question: gather what it may see, send it, turn the answer into a fact.

use futures_util::future::BoxFuture;

use super::crew_asks;
use super::ctx::Ctx;
use super::errand::Errand;
use super::gather::{Gathered, Kind, gather, messages, said as said_there};
use super::hands::Trouble;
use super::moment::moment;
use crate::crew::{Advice, Judgement};
use crate::domain::{CommentId, ThreadRef};
use crate::forge::{Forge, ForgeError};
use crate::llm::{Answered, Failure, LlmError};
use crate::plan::{Action, ActionId, Alternative, Decided, OtherWay, QuestionId, Step, StepId};
use crate::planning::{
    AskProblem, CrewFact, Ended, Fact, Key, Outcome, Policy, Question, Record, ReplanFact, Reply, Revision,
    Run, TalkFact, document_read, judgement, told,
};
use crate::prompts::{Answer, Ask, Context, Decide, Told, Usage, hidden_in, prompt};

/// How many of the actions before are told of; more would make every prompt longer than the one before it.
pub(super) const NEWEST: usize = 5;

/// Why a question could not be answered.
pub(super) enum Unanswered {
    Forge(ForgeError),
    /// The checkout is out of reach.
    Hands(Trouble),
    Model(Failure),
    Broken(String),
}

/// A question in waiting: everything it needs is its own, so that it can be dropped at any time.
pub(super) fn ask(
    errand: Errand,
    record: Record,
    policy: Policy,
) -> impl FnOnce(Key, Question) -> BoxFuture<'static, Vec<Fact>> {
    move |key, question| {
        Box::pin(async move {
            let ready = match ready(&errand, &record, question).await {
                Ok(ready) => ready,
                Err(unanswered) => return vec![unanswered.into_fact(&errand.ctx, key, question, &record)],
            };
            // What was summed up is kept and paid for, whatever becomes of the question.
            let summed = ready.before.as_ref().map(Before::fact);
            let answered = match try_ask(&errand, &record, &key, &policy, ready).await {
                Ok(asked) => asked.into_facts(key, question, &record),
                Err(unanswered) => vec![unanswered.into_fact(&errand.ctx, key, question, &record)],
            };
            summed.into_iter().chain(answered).collect()
        })
    }
}

struct Asked {
    answer: Answer,
    usage: Usage,
    hidden: u64,
}

/// What the model may see, and what was said before that.
struct Ready {
    question: Question,
    context: Context,
    before: Option<Before>,
}

async fn ready(errand: &Errand, record: &Record, question: Question) -> Result<Ready, Unanswered> {
    let (ctx, thread) = (errand.ctx.as_ref(), &errand.thread);
    let (run, forge) = at(ctx, thread, record)?;
    let gathered = gather(ctx, forge, thread, run, question).await.map_err(Unanswered::Forge)?;
    let before = before(ctx, forge, thread, run, &gathered).await?;
    Ok(Ready { question, context: gathered.context, before })
}

/// Whose question it is, and where.
fn at<'a>(ctx: &'a Ctx, thread: &ThreadRef, record: &'a Record) -> Result<(&'a Run, &'a Forge), Unanswered> {
    let run = record.live_run().ok_or_else(|| Unanswered::Broken("the run has ended".to_owned()))?;
    let forge = ctx.forge(thread.project.forge).map_err(|e| Unanswered::Broken(e.to_string()))?;
    Ok((run, forge))
}

async fn try_ask(
    errand: &Errand,
    record: &Record,
    key: &Key,
    policy: &Policy,
    Ready { question, context, before }: Ready,
) -> Result<Asked, Unanswered> {
    let (ctx, thread) = (errand.ctx.as_ref(), &errand.thread);
    let (run, forge) = at(ctx, thread, record)?;
    let hidden = hidden_in(&context);
    let ask = match question {
        Question::Work => crew_asks::worker(errand, run, key, &policy.crew, context).await?,
        Question::Judge => crew_asks::judge(errand, run, key, context).await?,
        Question::Advise => crew_asks::adviser(run, context)?,
        Question::MapAnswers => mapping(forge, thread, run, context).await?,
        Question::ReadDocument => crew_asks::document(context),
        Question::Understand
        | Question::Decompose
        | Question::Sequence
        | Question::Reflect
        | Question::Discover
        | Question::Design
        | Question::Summarise
        | Question::Decide
        | Question::Revise
        | Question::Evaluate
        | Question::OtherWay => {
            let mut told = said(record, run, question, policy);
            let summary = before.as_ref().map(|before| before.summary.clone());
            told.earlier.extend(summary.or_else(|| run.talk.before.clone()));
            typed(run, context, question, told)?
        }
    };
    let answered = crew_asks::model_of(ctx, question, run).answer(&ask).await;
    transcribe(ctx, run, &ask, &answered).await;
    let answered = answered.map_err(Unanswered::Model)?;
    Ok(Asked { answer: answered.answer, usage: answered.usage, hidden })
}

/// Keeps question and answer for whoever looks for a fault; the run does not depend on it.
async fn transcribe(ctx: &Ctx, run: &Run, ask: &Ask, answered: &Result<Answered, Failure>) {
    let asked = prompt(ask);
    let said = match answered {
        Ok(answered) => serde_json::to_string(&answered.answer).unwrap_or_default(),
        Err(failure) => format!("no answer: {}", failure.error),
    };
    let entry = format!("--- {}\n{}\n{}\n--- answer\n{said}", ctx.now(), asked.system, asked.user);
    let entry = ctx.redactor.clean(&entry);
    if let Err(error) = ctx.transcripts.add(&run.id.0, ask.schema_name(), &entry).await {
        tracing::warn!("cannot keep what the model was asked for {}: {error}", run.id);
    }
}

/// A long conversation in short, and what that cost.
struct Before {
    summary: String,
    until: CommentId,
    usage: Usage,
}

impl Before {
    fn fact(&self) -> Fact {
        let (summary, until, usage) = (self.summary.clone(), self.until, self.usage.clone());
        Fact::Talk(TalkFact::ConversationSummed { summary, until, usage })
    }
}

/// What is too old to be read is summed up and kept in the history. Later questions read that, until the thread has
/// grown so much that it misses something; then what is missing is summed up with it.
async fn before(
    ctx: &Ctx,
    forge: &Forge,
    thread: &ThreadRef,
    run: &Run,
    Gathered { context, older }: &Gathered,
) -> Result<Option<Before>, Unanswered> {
    let covered = older.iter().rposition(|comment| Some(comment.id) == run.talk.before_until);
    // A journal of an older version does not say how far its summary goes.
    let unknown = run.talk.before.is_some() && run.talk.before_until.is_none();
    let missing = older.get(covered.map_or(0, |at| at + 1)..).unwrap_or_default();
    let Some(until) = missing.last().map(|comment| comment.id).filter(|_| !unknown) else { return Ok(None) };
    let mut said = messages(forge, thread, run, missing).await.map_err(Unanswered::Forge)?;
    if said.is_empty() {
        return Ok(None);
    }
    said.splice(0..0, run.talk.before.clone());
    let context = Context { comments: vec![], documents: vec![], tree: vec![], ..context.clone() };
    let ask = Ask::ConversationSummary { context, messages: said };
    let answered = match ctx.planner.answer(&ask).await {
        Ok(answered) => answered,
        // The newest comments say most; the goal can be worked out from them.
        Err(Failure { error, .. }) => {
            tracing::warn!("what was said earlier on {thread} is left out: {error}");
            return Ok(None);
        }
    };
    let Answer::Summary(text) = answered.answer else { return Ok(None) };
    let summary = format!("Earlier in this conversation: {text}");
    Ok(Some(Before { summary, until, usage: answered.usage }))
}

pub(super) fn missing(what: &str) -> Unanswered {
    Unanswered::Broken(format!("the run has no {what} yet"))
}

/// What the question carries along, and whether a word about replanning is wanted with the answer.
fn said(record: &Record, run: &Run, question: Question, policy: &Policy) -> Box<Told> {
    let along = matches!(
        question,
        Question::Understand | Question::Decompose | Question::Sequence | Question::Reflect
    );
    let wanted = along && policy.replan.enabled && !policy.replan.separate_call;
    Box::new(Told {
        history: run.plan().map_or(vec![], |plan| newest(run, plan)),
        earlier: record.earlier.iter().cloned().collect(),
        decide: if wanted { Decide::Along } else { Decide::No },
        ..told(run)
    })
}

fn typed(run: &Run, context: Context, question: Question, told: Box<Told>) -> Result<Ask, Unanswered> {
    let goal = || run.goal.clone().ok_or_else(|| missing("goal"));
    let plan = || run.plan().ok_or_else(|| missing("steps"));
    Ok(match question {
        Question::Understand => Ask::GoalUnderstanding { context, told },
        Question::Discover => Ask::DiscoveryQuestions { context, goal: goal()?, told },
        Question::Design => Ask::DesignDecisions { context, goal: goal()?, told },
        Question::Summarise => Ask::DesignSummary { context, goal: goal()?, told },
        Question::Decompose => Ask::TaskDecomposition { context, goal: goal()?, told },
        Question::Sequence => {
            let problems = plan()?.problems.clone();
            Ask::ActionSequence { context, goal: goal()?, steps: open_steps(run, plan()?), problems, told }
        }
        Question::Revise => {
            let sealed: Vec<Step> = run.sealed_steps(plan()?).into_iter().cloned().collect();
            let problems = plan()?.problems.clone();
            let stays = |step: &Step| plan().is_ok_and(|plan| plan.keeps.contains(&step.id));
            let (kept, open) = open_steps(run, plan()?).into_iter().partition(stays);
            Ask::PlanRevision { context, goal: goal()?, sealed, kept, open, problems, told }
        }
        Question::Reflect => {
            let done = newest(run, plan()?);
            let last = plan()?.actions().filter(|action| ended(run, action).is_some()).last();
            let action_id = last.map_or(String::new(), |action| action.id.0.clone());
            Ask::Reflection { context, goal: goal()?, done, action_id, told }
        }
        Question::Evaluate => {
            Ask::FinalEvaluation { context, goal: goal()?, done: newest(run, plan()?), told }
        }
        Question::Decide => {
            Ask::ReplanDecision { context, goal: run.goal.clone(), moment: moment(run), told }
        }
        Question::OtherWay => {
            let hit = run.replans.limit.as_ref().ok_or_else(|| missing("limit"))?;
            let wanted = run.replan(hit.replan).map(|replan| replan.decision.clone()).unwrap_or_default();
            let limit = hit.limit.words().to_owned();
            Ask::AlternativeApproach { context, goal: goal()?, limit, wanted: Box::new(wanted), told }
        }
        Question::Work
        | Question::Judge
        | Question::Advise
        | Question::MapAnswers
        | Question::ReadDocument => {
            return Err(Unanswered::Broken("this question is asked elsewhere".to_owned()));
        }
    })
}

/// The steps that actions are wanted for, without what they rest on that is done.
fn open_steps(run: &Run, plan: &Revision) -> Vec<Step> {
    let sealed = run.sealed_steps(plan);
    let is_open = |step: &&Step| !sealed.iter().any(|sealed| sealed.id == step.id);
    let open: Vec<&Step> = plan.steps.iter().filter(is_open).collect();
    let without_sealed = |step: &Step| {
        let known = |on: &StepId| open.iter().any(|open| open.id == *on);
        let dependencies = step.dependencies.iter().filter(|on| known(on)).cloned().collect();
        Step { dependencies, ..step.clone() }
    };
    open.iter().map(|step| without_sealed(step)).collect()
}

/// What somebody said, and the questions that it may answer.
async fn mapping(forge: &Forge, thread: &ThreadRef, run: &Run, context: Context) -> Result<Ask, Unanswered> {
    let words = run.talk.unread.first().ok_or_else(|| missing("answer"))?;
    let questions: Vec<_> = run.talk.answerable().into_iter().cloned().collect();
    let kind = Kind::of(context.is_change_request);
    let comments = said_there(forge, thread, kind).await.map_err(Unanswered::Forge)?;
    let said = comments.into_iter().find(|comment| comment.id == words.comment);
    // Taken back meanwhile: it answers nothing.
    let words = said.map_or(String::new(), |comment| comment.body);
    Ok(Ask::AnswerMapping { context, questions, words })
}

pub(super) fn ended<'a>(run: &'a Run, action: &Action) -> Option<&'a Ended> {
    run.work.get(&action.id)?.ended.as_ref()
}

/// The newest actions that ended, oldest first, each as one line of evidence.
pub(super) fn newest(run: &Run, plan: &Revision) -> Vec<String> {
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
    fn into_facts(self, key: Key, question: Question, record: &Record) -> Vec<Fact> {
        let Self { answer, usage, hidden } = self;
        vec![match answer {
            Answer::Document { objective, steps } => {
                let read = record.live_run().map(|run| document_read(run, objective, steps, usage, hidden));
                return read.unwrap_or_else(|| vec![unexpected(key)]);
            }
            Answer::Goal { goal, replan } => {
                Fact::GoalUnderstood { key, goal, usage, hidden, replan, before: None }
            }
            Answer::Steps { reasoning, steps, replan } => {
                Fact::Decomposed { key, reasoning, steps, usage, replan }
            }
            Answer::Actions { actions, replan } => {
                Fact::Sequenced { key, actions: numbered(record, actions), usage, replan }
            }
            Answer::Reflection { reflection, replan } => {
                Fact::Reflected { key, reflection: Some(reflection), usage: Some(usage), replan }
            }
            Answer::Turn(call) => {
                let action = record.live_run().and_then(|run| run.action_awaiting(&key));
                let action = action.map_or_else(|| ActionId(String::new()), |action| action.id.clone());
                Fact::Worked { key, action, call, usage }
            }
            Answer::Questions(questions) => Fact::Talk(TalkFact::QuestionsFound { key, questions, usage }),
            Answer::Mapping(answers) => Fact::Talk(mapped(key, answers, usage, record)),
            Answer::Decisions(decisions) => Fact::Talk(TalkFact::DecisionsFound { key, decisions, usage }),
            Answer::Summary(summary) => Fact::Talk(TalkFact::DesignSummarised { key, summary, usage }),
            Answer::Revision { steps, actions } => {
                let (steps, actions) = match record.live_run() {
                    Some(run) => run.with_kept(steps, actions),
                    None => (steps, actions),
                };
                let actions = numbered(record, actions);
                Fact::Replan(ReplanFact::RevisionMade { key, steps, actions, usage })
            }
            Answer::Replan(said) if question == Question::Evaluate => {
                Fact::Replan(ReplanFact::Evaluated { key, said, usage: Some(usage) })
            }
            Answer::Replan(said) => Fact::Replan(ReplanFact::DecisionGiven { key, said, usage: Some(usage) }),
            Answer::Alternative(alternative) => {
                Fact::Replan(ReplanFact::AlternativeGiven { key, alternative, usage: Some(usage) })
            }
            Answer::Judgement(opinion) => judged(record, key, Some(opinion), Some(usage)),
            Answer::Advice(advice) => advised(record, key, Some(advice), Some(usage)),
        }]
    }
}

fn numbered(record: &Record, actions: Vec<Action>) -> Vec<Action> {
    record.live_run().map_or_else(|| actions.clone(), |run| run.numbered(&actions))
}

fn judged(record: &Record, key: Key, opinion: Option<Judgement>, usage: Option<Usage>) -> Fact {
    let fact = record.live_run().and_then(|run| judgement(run, &key, opinion, usage));
    fact.map_or_else(|| unexpected(key), Fact::Crew)
}

fn advised(record: &Record, key: Key, advice: Option<Advice>, usage: Option<Usage>) -> Fact {
    let number = record.live_run().and_then(crew_asks::asked).map(|escalation| escalation.number);
    match number {
        Some(number) => Fact::Crew(CrewFact::AdviceGiven { key, number, advice, usage }),
        None => unexpected(key),
    }
}

fn unexpected(key: Key) -> Fact {
    let reason = "An answer came that nobody asked for.".to_owned();
    Fact::AskFailed { key, problem: AskProblem::Lasting, reason, usage: None, not_before: None }
}

fn mapped(key: Key, answers: Vec<(QuestionId, String)>, usage: Usage, record: &Record) -> TalkFact {
    let words = record.live_run().and_then(|run| run.talk.unread.first());
    let comment = words.map_or(CommentId(0), |words| words.comment);
    let reply = |(question, answer)| Reply { question, answer: Some(answer) };
    TalkFact::AnswersMapped { key, comment, answers: answers.into_iter().map(reply).collect(), usage }
}

impl Unanswered {
    /// What it means for the run, and what it has cost.
    fn trouble(self, key: &Key) -> (Trouble, Option<Usage>) {
        match self {
            Self::Forge(error) => (Trouble::from(error), None),
            Self::Model(Failure { error, usage }) => {
                tracing::warn!("the model did not answer {key}: {error}");
                let (problem, reason) = (lasts(&error), error.for_people().into_owned());
                (Trouble { problem, reason, pause: error.retry_after() }, Some(usage))
            }
            Self::Hands(trouble) => (trouble, None),
            Self::Broken(what) => (Trouble::lasting(what), None),
        }
    }

    fn into_fact(self, ctx: &Ctx, key: Key, question: Question, record: &Record) -> Fact {
        let (Trouble { problem, reason, pause }, usage) = self.trouble(&key);
        // These are worth something, but no reason to stop.
        let said = Decided::Unreadable { why: reason.clone() };
        match (question, problem) {
            (Question::Reflect, AskProblem::Lasting) => {
                Fact::Reflected { key, reflection: None, usage, replan: Decided::Nothing }
            }
            // Then what can be shown decides alone.
            (Question::Judge, AskProblem::Lasting) => judged(record, key, None, usage),
            (Question::Advise, AskProblem::Lasting) => advised(record, key, None, usage),
            (Question::Decide, AskProblem::Lasting) => {
                Fact::Replan(ReplanFact::DecisionGiven { key, said, usage })
            }
            (Question::Evaluate, AskProblem::Lasting) => {
                Fact::Replan(ReplanFact::Evaluated { key, said, usage })
            }
            // Without a summary there is nothing to review: back to the design.
            (Question::Summarise, AskProblem::Lasting) if usage.is_some() => {
                let (summary, usage) = (String::new(), usage.unwrap_or_default());
                Fact::Talk(TalkFact::DesignSummarised { key, summary, usage })
            }
            // Words that nobody can read answer nothing, and are asked back about.
            (Question::MapAnswers, AskProblem::Lasting) => {
                Fact::Talk(mapped(key, vec![], usage.unwrap_or_default(), record))
            }
            (Question::OtherWay, AskProblem::Lasting) => {
                let alternative = Alternative { way: OtherWay::Nothing, reasoning: reason };
                Fact::Replan(ReplanFact::AlternativeGiven { key, alternative, usage })
            }
            (
                Question::ReadDocument
                | Question::Understand
                | Question::Decompose
                | Question::Sequence
                | Question::Work
                | Question::Judge
                | Question::Advise
                | Question::Reflect
                | Question::Discover
                | Question::MapAnswers
                | Question::Design
                | Question::Summarise
                | Question::Decide
                | Question::Revise
                | Question::Evaluate
                | Question::OtherWay,
                _,
            ) => {
                let not_before = pause.map(|pause| ctx.after(pause));
                Fact::AskFailed { key, problem, reason, usage, not_before }
            }
        }
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
        | LlmError::Unreadable(_)
        | LlmError::NoPlan(_) => AskProblem::Lasting,
    }
}
