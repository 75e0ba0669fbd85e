//! Purpose: typed questions to a model: question → prompt text and JSON schema; text → typed answer.
//!
//! An [`Ask`] is what the run wants to know; [`prompt`] writes it for a language model, [`read_answer`] turns what came
//! back into an [`Answer`] or says what is wrong with it in a sentence that the model can act on. Text from people is
//! shown as people see it ([`visible_text`]), wrapped as data and capped in size.

use serde::{Deserialize, Serialize};

use crate::domain::{Account, Permission};
use crate::plan::{Action, Goal, Step};

/// One question, with all that is needed to answer it. One variant per schema name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    GoalUnderstanding { context: Context },
    TaskDecomposition { context: Context, goal: Goal },
    ActionSequence { context: Context, goal: Goal, steps: Vec<Step> },
}

impl Ask {
    /// The name on the wire: `response_format.json_schema.name`, or the name of Anthropic's forced tool.
    #[must_use]
    pub fn schema_name(&self) -> &'static str {
        match self {
            Self::GoalUnderstanding { .. } => "goal_understanding",
            Self::TaskDecomposition { .. } => "task_decomposition",
            Self::ActionSequence { .. } => "action_sequence",
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
}

/// What the planner sees of the thread and its repository. Texts are as written; the prompt cleans and caps them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Context {
    pub thread: String,
    pub title: String,
    pub body: String,
    pub author: Option<Account>,
    pub author_permission: Option<Permission>,
    pub is_change_request: bool,
    /// Oldest first.
    pub comments: Vec<Remark>,
    /// README, CONTRIBUTING and AGENTS.md of the default branch, where they exist: name and text.
    pub documents: Vec<(String, String)>,
    /// Language that people should be answered in; `None`: the thread's own.
    pub language: Option<String>,
    /// Unguessable per run: marks where text from people begins and ends.
    pub fence: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    pub author: Account,
    pub permission: Permission,
    pub body: String,
}

/// What one answer cost, repairs and retries included.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub model: String,
    pub calls: u32,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cost_micro_usd: Option<u64>,
}
