//! Purpose: what a worker, the judge, an adviser and the reader of a plan are told, and which model each of them is.

use super::ctx::Ctx;
use super::errand::Errand;
use super::perform::{Unanswered, ended, missing, newest};
use crate::actions::tools_of;
use crate::crew::Target;
use crate::llm::Model;
use crate::plan::{Action, ActionKind, Call, Feedback, Step, StepId};
use crate::planning::{CrewPolicy, Ended, Escalation, Key, Outcome, Question, Revision, Run};
use crate::prompts::{Ask, Context, DifficultyTask, JudgeTask, JudgedAction, Task};
use crate::tools::git::Diff;

/// How much of a step's changes the judge is shown.
const DIFF_BYTES: usize = 12 * 1024;
/// How much of what others found a worker is told.
const FINDINGS: usize = 12;

pub(super) fn model_of<'a>(ctx: &'a Ctx, question: Question, run: &Run) -> &'a Model {
    match question {
        Question::Work => &ctx.worker,
        Question::Judge => &ctx.judge,
        Question::Advise => match asked(run).map(|escalation| escalation.target) {
            Some(Target::ExternalAdvisor) => ctx.advisor.as_ref().unwrap_or(&ctx.judge),
            Some(Target::People | Target::Planner | Target::LogicValidator) | None => &ctx.judge,
        },
        Question::ReadDocument
        | Question::Understand
        | Question::Decompose
        | Question::Sequence
        | Question::Reflect
        | Question::Discover
        | Question::MapAnswers
        | Question::Design
        | Question::Summarise
        | Question::Decide
        | Question::Revise
        | Question::Evaluate
        | Question::OtherWay => &ctx.planner,
    }
}

/// The difficulty that a model is asked about.
pub(super) fn asked(run: &Run) -> Option<&Escalation> {
    run.crew.open().find(|escalation| match escalation.target {
        Target::LogicValidator | Target::ExternalAdvisor => escalation.advice.is_none(),
        Target::People | Target::Planner => false,
    })
}

/// The next turn of the worker whose lane waits for it.
pub(super) async fn worker(
    errand: &Errand,
    run: &Run,
    key: &Key,
    policy: &CrewPolicy,
    context: Context,
) -> Result<Ask, Unanswered> {
    let plan = run.plan().ok_or_else(|| missing("steps"))?;
    let action = run.action_awaiting(key).ok_or_else(|| missing("action to work on"))?;
    let turns = run.work.get(&action.id).into_iter().flat_map(|work| &work.turns);
    let turns = turns.map(|turn| (turn.call.clone(), turn.result.clone().unwrap_or_default()));
    let task = Task {
        objective: objective(run),
        step: step_of(plan, &action.task_id).map_or(String::new(), |step| step.description.clone()),
        action: action.clone(),
        before: newest(run, plan),
        findings: findings(run, plan, action, policy),
        remarks: remarks(run, &action.task_id),
        turns: turns.collect(),
        tools: tools(action, policy),
        tool_schema: tool_schema(&errand.ctx, action).await,
    };
    Ok(Ask::WorkerTurn { context, task: Box::new(task) })
}

fn tools(action: &Action, policy: &CrewPolicy) -> Vec<String> {
    let report = policy.reports.then_some("report");
    tools_of(action).into_iter().chain(report).map(str::to_owned).collect()
}

async fn tool_schema(ctx: &Ctx, action: &Action) -> Option<serde_json::Value> {
    if action.action_type != ActionKind::Tool {
        return None;
    }
    // One that is away is told of when it is called.
    let mut schema = ctx.hands.mcp.tool(&action.tool).await.ok().map(|tool| tool.schema);
    schema.iter_mut().for_each(|schema| ctx.redactor.clean_json(schema));
    schema
}

fn objective(run: &Run) -> String {
    run.goal.as_ref().map_or(String::new(), |goal| goal.main_objective.clone())
}

fn step_of<'a>(plan: &'a Revision, id: &StepId) -> Option<&'a Step> {
    plan.steps.iter().find(|step| step.id == *id)
}

fn remarks(run: &Run, step: &StepId) -> Vec<String> {
    run.crew.steps.get(step).map_or(vec![], |taken| taken.remarks.clone())
}

/// What others found out, the newest last; also those that are still at work. A worker's own words are among its turns.
fn findings(run: &Run, plan: &Revision, own: &Action, policy: &CrewPolicy) -> Vec<String> {
    let others = plan.actions().filter(|action| action.id != own.id);
    let mut found: Vec<(i64, String)> = vec![];
    for action in others {
        let Some(work) = run.work.get(&action.id) else { continue };
        for turn in &work.turns {
            if let Some(Feedback::Exploration { findings, recommendations, confidence }) =
                told(&turn.call, policy)
            {
                let advice = recommendations.join("; ");
                let sure = confidence.as_str();
                let line = format!("{} ({sure} confidence): {findings} {advice}", action.task_id);
                found.push((turn.at.0, line.trim_end().to_owned()));
            }
        }
    }
    found.sort_by_key(|(at, _)| *at);
    let over = found.len().saturating_sub(FINDINGS);
    found.into_iter().skip(over).map(|(_, line)| line).collect()
}

/// What a worker says to others with this call.
fn told<'a>(call: &'a Call, policy: &CrewPolicy) -> Option<&'a Feedback> {
    match call {
        Call::Finish { feedback } => Some(feedback),
        Call::Report { feedback } => Some(feedback).filter(|_| policy.reports),
        Call::ReadFile { .. }
        | Call::ListFiles { .. }
        | Call::WriteFile { .. }
        | Call::CallTool { .. }
        | Call::RunCommand { .. } => None,
    }
}

/// The step whose lane waits for the judge, with all that can be shown for it.
pub(super) async fn judge(
    errand: &Errand,
    run: &Run,
    key: &Key,
    context: Context,
) -> Result<Ask, Unanswered> {
    let plan = run.plan().ok_or_else(|| missing("steps"))?;
    let (id, _) = run.lane_awaiting(key).ok_or_else(|| missing("step to judge"))?;
    let step = step_of(plan, id).ok_or_else(|| missing("step to judge"))?;
    let bench = errand.bench_of(id).await.map_err(Unanswered::Hands)?;
    let workspace = &bench.workspace;
    let diff = workspace.diff(workspace.start(), DIFF_BYTES).await;
    let diff = diff.map_err(|error| Unanswered::Hands(error.into()))?;
    let actions = plan.actions().filter(|action| action.task_id == *id);
    let left_in = actions.filter(|action| !plan.left_out.contains_key(&action.id));
    let task = JudgeTask {
        objective: objective(run),
        step: step.description.clone(),
        actions: left_in.map(|action| judged(run, action)).collect(),
        diff: errand.ctx.redactor.clean(whole_lines(&diff)).into_owned(),
        remarks: remarks(run, id),
    };
    Ok(Ask::StepJudgement { context, task: Box::new(task) })
}

/// Half a secret would not be told any more, so half a line is left out.
fn whole_lines(diff: &Diff) -> &str {
    let end = if diff.truncated { diff.text.rfind('\n').unwrap_or(0) } else { diff.text.len() };
    &diff.text[..end]
}

fn judged(run: &Run, action: &Action) -> JudgedAction {
    let ended = ended(run, action);
    JudgedAction {
        id: action.id.0.clone(),
        purpose: action.purpose.clone(),
        expected_outcome: action.expected_outcome.clone(),
        optional: action.optional,
        succeeded: ended.is_some_and(|ended| ended.outcome == Outcome::Succeeded),
        evidence: ended.map_or(vec![], shown),
    }
}

fn shown(Ended { evidence, actual, .. }: &Ended) -> Vec<String> {
    let code = evidence.exit_code.map(|code| format!("exit code {code}"));
    let commit = evidence.commit.as_ref().map(|commit| format!("commit {commit}"));
    let files = (!evidence.files.is_empty()).then(|| format!("files: {}", evidence.files.join(", ")));
    let output = evidence.output.as_ref().map(|output| output.chars().take(1_500).collect());
    [Some(actual.clone()), code, commit, files, output].into_iter().flatten().collect()
}

pub(super) fn adviser(run: &Run, context: Context) -> Result<Ask, Unanswered> {
    let plan = run.plan().ok_or_else(|| missing("steps"))?;
    let escalation = asked(run).ok_or_else(|| missing("difficulty"))?;
    let step = escalation.step.as_ref().and_then(|step| step_of(plan, step));
    let same =
        |earlier: &&Escalation| earlier.action == escalation.action && earlier.number != escalation.number;
    let said = run.crew.escalations.iter().filter(same).filter_map(|earlier| earlier.advice.as_ref());
    let task = Box::new(DifficultyTask {
        goal: run.goal.clone().ok_or_else(|| missing("goal"))?,
        step: step.map_or(String::new(), |step| step.description.clone()),
        issue: escalation.issue.clone(),
        attempts: escalation.tried.clone(),
        suggestion: escalation.suggestion.clone(),
        evidence: newest(run, plan),
        said: said.map(|advice| advice.advice.clone()).collect(),
    });
    Ok(match escalation.target {
        Target::ExternalAdvisor => Ask::ExternalAdvice { context, task },
        Target::People | Target::Planner | Target::LogicValidator => Ask::LogicValidation { context, task },
    })
}

/// The description is the plan; it is shown as that, and not as a wish to think about.
pub(super) fn document(mut context: Context) -> Ask {
    let document = std::mem::take(&mut context.body);
    Ask::PlanDocument { context, document }
}
