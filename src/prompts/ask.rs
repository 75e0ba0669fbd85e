//! Purpose: the questions a run asks, what is needed to answer them, and the answers.

use serde::{Deserialize, Serialize};

use crate::crew::{Advice, Judgement};
use crate::domain::{Account, AccountId, AccountKind, ChangeDiff, DiffLine, Permission, Right, Verdict};
use crate::plan::{
    Action, Alternative, Call, Decided, DecisionPoint, Goal, Question, QuestionId, Reflection,
    ReplanDecision, ReplanPhase, Step,
};

/// One question, with all that is needed to answer it. One variant per schema name.
#[derive(Debug, Clone, PartialEq)]
pub enum Ask {
    GoalUnderstanding {
        context: Context,
        told: Box<Told>,
    },
    /// What people should be asked before the work is cut into steps.
    DiscoveryQuestions {
        context: Context,
        goal: Goal,
        told: Box<Told>,
    },
    /// Which of the open questions somebody's words answer.
    AnswerMapping {
        context: Context,
        questions: Vec<Question>,
        words: String,
    },
    DesignDecisions {
        context: Context,
        goal: Goal,
        told: Box<Told>,
    },
    DesignSummary {
        context: Context,
        goal: Goal,
        told: Box<Told>,
    },
    TaskDecomposition {
        context: Context,
        goal: Goal,
        told: Box<Told>,
    },
    ActionSequence {
        context: Context,
        goal: Goal,
        steps: Vec<Step>,
        /// Why the last sequence was turned down; none the first time.
        problems: Vec<String>,
        told: Box<Told>,
    },
    /// Steps and actions that take the place of those that are not done.
    PlanRevision {
        context: Context,
        goal: Goal,
        /// The steps that are done: they stay as they are, and others may depend on them.
        sealed: Vec<Step>,
        /// Steps that are not done and stay as they are all the same: none of them is planned anew.
        kept: Vec<Step>,
        /// The steps that are not done, as they were planned.
        open: Vec<Step>,
        problems: Vec<String>,
        told: Box<Told>,
    },
    /// The next turn of a worker on one open action.
    WorkerTurn {
        context: Context,
        task: Box<Task>,
    },
    Reflection {
        context: Context,
        goal: Goal,
        /// The newest actions with what came of them, oldest first.
        done: Vec<String>,
        /// The action that is looked at.
        action_id: String,
        told: Box<Told>,
    },
    /// Whether to replan, as a question of its own.
    ReplanDecision {
        context: Context,
        goal: Option<Goal>,
        moment: Moment,
        told: Box<Told>,
    },
    /// What the whole plan came to, once all of it is carried out.
    FinalEvaluation {
        context: Context,
        goal: Goal,
        done: Vec<String>,
        told: Box<Told>,
    },
    /// A limit does not let it replan: is there another way?
    AlternativeApproach {
        context: Context,
        goal: Goal,
        /// Which limit, in words.
        limit: String,
        wanted: Box<ReplanDecision>,
        told: Box<Told>,
    },
    /// Whether a step has come to what was expected of it.
    StepJudgement {
        context: Context,
        task: Box<JudgeTask>,
    },
    /// What to do about a difficulty of a worker, and whether the requirements fit together.
    LogicValidation {
        context: Context,
        task: Box<DifficultyTask>,
    },
    /// The same, from a second model.
    ExternalAdvice {
        context: Context,
        task: Box<DifficultyTask>,
    },
    /// The steps of a plan that somebody wrote as Markdown.
    PlanDocument {
        context: Context,
        document: String,
    },
    /// The oldest part of a conversation, to be kept in short.
    ConversationSummary {
        context: Context,
        messages: Vec<String>,
    },
}

/// What has been said, decided and tried in this run, each part bounded by whoever fills it in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Told {
    /// Questions with their answers; `None` for those that were skipped.
    pub answers: Vec<(Question, Option<String>)>,
    /// `A1` and so on with what is assumed.
    pub assumptions: Vec<(String, String)>,
    /// Topic, name of the chosen option, and why.
    pub decisions: Vec<(String, String, String)>,
    pub design_summary: Option<String>,
    /// Why people turned the design down, newest last.
    pub rejections: Vec<String>,
    /// What the plan has to mind this time: why it is made anew.
    pub advice: Vec<String>,
    /// The plan in force, a line for each step.
    pub plan: Vec<String>,
    /// What happened last, oldest first.
    pub history: Vec<String>,
    /// The replans of this run so far.
    pub replans: Vec<String>,
    /// What earlier runs on this thread came to.
    pub earlier: Vec<String>,
    pub decide: Decide,
}

/// Whether a decision about replanning is wanted with the answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Decide {
    /// Under the key `replan_decision` of the same answer.
    Along,
    /// Not here: it is asked for by itself, or not at all.
    #[default]
    No,
}

/// What a replan decision is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    pub phase: ReplanPhase,
    /// What the phase came to, in JSON or in lines of evidence.
    pub result: String,
    /// What went wrong, if something did.
    pub error: Option<String>,
    /// Finished, all, failed, and failed in a row.
    pub progress: [usize; 4],
    /// What is still to be done.
    pub remaining: Vec<String>,
}

/// An open action as its worker sees it. Nothing in it grows with the number of actions that are done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    pub objective: String,
    pub step: String,
    pub action: Action,
    /// What the newest actions before this one came to.
    pub before: Vec<String>,
    /// What other workers found and recommend, before this one or beside it.
    pub findings: Vec<String>,
    /// What the judge, an adviser or a person said about this step.
    pub remarks: Vec<String>,
    /// The calls of this action so far, with what they gave.
    pub turns: Vec<(Call, String)>,
    /// Names of the tools that this action's approval allows.
    pub tools: Vec<String>,
    /// The arguments that the action's own tool takes.
    pub tool_schema: Option<serde_json::Value>,
}

/// A step as the judge sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgeTask {
    pub objective: String,
    pub step: String,
    pub actions: Vec<JudgedAction>,
    /// What the step changed; empty: nothing.
    pub diff: String,
    /// What was said about the step before.
    pub remarks: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedAction {
    pub id: String,
    pub purpose: String,
    pub expected_outcome: String,
    pub optional: bool,
    pub succeeded: bool,
    /// What can be shown for it: exit codes, output, commits.
    pub evidence: Vec<String>,
}

/// What stands in a worker's way, as an adviser sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DifficultyTask {
    pub goal: Goal,
    pub step: String,
    pub issue: String,
    pub attempts: Vec<String>,
    pub suggestion: Option<String>,
    pub evidence: Vec<String>,
    /// What was advised before.
    pub said: Vec<String>,
}

impl Ask {
    /// The name on the wire: `response_format.json_schema.name`, or the name of Anthropic's forced tool.
    #[must_use]
    pub fn schema_name(&self) -> &'static str {
        match self {
            Self::GoalUnderstanding { .. } => "goal_understanding",
            Self::DiscoveryQuestions { .. } => "discovery_questions",
            Self::AnswerMapping { .. } => "answer_mapping",
            Self::DesignDecisions { .. } => "design_decisions",
            Self::DesignSummary { .. } => "design_summary",
            Self::TaskDecomposition { .. } => "task_decomposition",
            Self::ActionSequence { .. } => "action_sequence",
            Self::PlanRevision { .. } => "plan_revision",
            Self::WorkerTurn { .. } => "worker_turn",
            Self::Reflection { .. } => "reflection",
            Self::ReplanDecision { .. } => "replan_decision",
            Self::FinalEvaluation { .. } => "final_evaluation",
            Self::AlternativeApproach { .. } => "alternative_approach",
            Self::StepJudgement { .. } => "judge_verdict",
            Self::LogicValidation { .. } => "logic_validation",
            Self::ExternalAdvice { .. } => "external_advice",
            Self::PlanDocument { .. } => "plan_document",
            Self::ConversationSummary { .. } => "conversation_summary",
        }
    }

    #[must_use]
    pub fn context(&self) -> &Context {
        match self {
            Self::GoalUnderstanding { context, .. }
            | Self::DiscoveryQuestions { context, .. }
            | Self::AnswerMapping { context, .. }
            | Self::DesignDecisions { context, .. }
            | Self::DesignSummary { context, .. }
            | Self::TaskDecomposition { context, .. }
            | Self::ActionSequence { context, .. }
            | Self::PlanRevision { context, .. }
            | Self::WorkerTurn { context, .. }
            | Self::Reflection { context, .. }
            | Self::ReplanDecision { context, .. }
            | Self::FinalEvaluation { context, .. }
            | Self::AlternativeApproach { context, .. }
            | Self::StepJudgement { context, .. }
            | Self::LogicValidation { context, .. }
            | Self::ExternalAdvice { context, .. }
            | Self::PlanDocument { context, .. }
            | Self::ConversationSummary { context, .. } => context,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    Goal {
        goal: Goal,
        replan: Decided,
    },
    Questions(Vec<Question>),
    /// Which question each part of the words answers; empty: none of them.
    Mapping(Vec<(QuestionId, String)>),
    Decisions(Vec<DecisionPoint>),
    Summary(String),
    Steps {
        reasoning: String,
        steps: Vec<Step>,
        replan: Decided,
    },
    /// Ordered as they are to be carried out.
    Actions {
        actions: Vec<Action>,
        replan: Decided,
    },
    /// The open steps of the new plan, and the actions for them.
    Revision {
        steps: Vec<Step>,
        actions: Vec<Action>,
    },
    Turn(Call),
    Reflection {
        reflection: Reflection,
        replan: Decided,
    },
    /// A replan decision, or a final evaluation, which is one.
    Replan(Decided),
    Alternative(Alternative),
    Judgement(Judgement),
    Advice(Advice),
    /// What a plan document is for, and its steps.
    Document {
        objective: String,
        steps: Vec<Step>,
    },
}

/// What the planner sees of the thread and its repository. Texts are as written; the prompt cleans and caps them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Context {
    pub thread: String,
    pub title: String,
    pub body: String,
    pub author: Option<Account>,
    pub author_permission: Option<Permission>,
    /// Who started the run: their remarks are read whatever their permission.
    pub requester: Option<AccountId>,
    pub is_change_request: bool,
    /// What a change request changes.
    pub diff: Option<ChangeDiff>,
    /// Oldest first.
    pub comments: Vec<Remark>,
    /// README, CONTRIBUTING and AGENTS.md of the default branch, where they exist: name and text.
    pub documents: Vec<(String, String)>,
    /// The files of the repository, as far as they fit.
    pub tree: Vec<String>,
    /// Tools of MCP servers by name, with what they do.
    pub tools: Vec<(String, String)>,
    /// Commands that may be run, each with its arguments.
    pub commands: Vec<Vec<String>>,
    /// Language that people should be answered in; `None`: the thread's own.
    pub language: Option<String>,
    /// Marks where text from people begins and ends; something that nobody outside can know.
    pub fence: String,
}

impl Context {
    /// Whether the model may read this remark: its writer may steer the run, or wrote the description that it reads
    /// anyway. What bots write is left out: it steers nothing.
    #[must_use]
    pub fn reads(&self, remark: &Remark) -> bool {
        let id = Some(remark.author.id);
        let wrote_the_thread = self.author.as_ref().map(|author| author.id) == id;
        let may_steer = Right::STEER.judge(&remark.author, remark.permission, self.requester == id);
        may_steer == Verdict::Allowed || (wrote_the_thread && remark.author.kind == AccountKind::Person)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    pub author: Account,
    pub permission: Permission,
    pub body: String,
    /// Where it stands in the diff, for a word about a line.
    pub on: Option<DiffLine>,
}
