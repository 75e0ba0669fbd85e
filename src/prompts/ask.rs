//! Purpose: the questions a run asks, what is needed to answer them, and the answers.

use serde::{Deserialize, Serialize};

use crate::domain::{Account, AccountId, AccountKind, Permission, Right, Verdict};
use crate::plan::{Action, Call, Goal, Reflection, Step};

/// One question, with all that is needed to answer it. One variant per schema name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    GoalUnderstanding {
        context: Context,
    },
    TaskDecomposition {
        context: Context,
        goal: Goal,
    },
    ActionSequence {
        context: Context,
        goal: Goal,
        steps: Vec<Step>,
        /// Why the last sequence was turned down; none the first time.
        problems: Vec<String>,
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
    },
}

/// An open action as its worker sees it. Nothing in it grows with the number of actions that are done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    pub objective: String,
    pub step: String,
    pub action: Action,
    /// What the newest actions before this one came to.
    pub before: Vec<String>,
    /// The calls of this action so far, with what they gave.
    pub turns: Vec<(Call, String)>,
    /// Names of the tools that this action's approval allows.
    pub tools: Vec<String>,
    /// The arguments that the action's own tool takes.
    pub tool_schema: Option<serde_json::Value>,
}

impl Ask {
    /// The name on the wire: `response_format.json_schema.name`, or the name of Anthropic's forced tool.
    #[must_use]
    pub fn schema_name(&self) -> &'static str {
        match self {
            Self::GoalUnderstanding { .. } => "goal_understanding",
            Self::TaskDecomposition { .. } => "task_decomposition",
            Self::ActionSequence { .. } => "action_sequence",
            Self::WorkerTurn { .. } => "worker_turn",
            Self::Reflection { .. } => "reflection",
        }
    }

    #[must_use]
    pub fn context(&self) -> &Context {
        match self {
            Self::GoalUnderstanding { context }
            | Self::TaskDecomposition { context, .. }
            | Self::ActionSequence { context, .. }
            | Self::WorkerTurn { context, .. }
            | Self::Reflection { context, .. } => context,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    Goal(Goal),
    Steps {
        reasoning: String,
        steps: Vec<Step>,
    },
    /// Ordered as they are to be carried out.
    Actions(Vec<Action>),
    Turn(Call),
    Reflection(Reflection),
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
    /// Unguessable per run: marks where text from people begins and ends.
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
}
