//! Purpose: all settings: one [`Config`], loaded once and passed down.
//!
//! Layers, each over the one before: defaults → `config.yaml` → its `repos:` rules by pattern → the repository's own
//! `.planwright.yaml`, which may only narrow → four switches in the environment ([`Env`]).
//!
//! Every layer is first read as the typed whole, which finds unknown keys and wrong types at their line and column;
//! what is then laid over the layer below is the text's own mapping, so that a key nobody wrote changes nothing. That
//! spares a second set of types in which everything is optional.
//!
//! Secrets are never in a file that we read as YAML: the file names a variable or another file ([`SecretRef`]).
//!
//! `config.yaml.example` explains every key and is the defaults; a test holds that.

mod check;
mod checked;
mod env;
mod explain;
mod forges;
pub mod keys;
mod layers;
mod load;
mod models;
mod narrow;
mod patterns;
mod planning;
mod redact;
mod repo;
mod secrets;
mod server;
mod tools;
mod values;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use check::{Problem, SecretState, Severity};
pub use env::Env;
pub use forges::{Forges, Github, GithubAuth, Gitlab, Local};
pub use layers::{RepoPattern, RepoRule};
pub use load::{ConfigError, DEFAULT_PATH};
pub use models::{Model, Models, Price, Provider, Role, Roles};
pub use narrow::REPO_FILE;
pub use patterns::{PathPattern, ToolName, ToolPattern};
pub use planning::{
    ActionSequence, Execution, Global, GoalUnderstanding, Interactive, LlmDecision, OnLimit, Planning,
    Reflection, Replanning, TaskDecomposition,
};
pub use redact::Redactor;
pub use repo::{
    Approval, AutoApproval, Budget, Crew, Deliver, EscalationLimits, Notices, OnNoAnswer, RepoSettings,
    Triggers,
};
pub use secrets::{EnvName, SecretError, SecretRef};
pub use server::{Server, Store, StoreUrl};
pub use tools::{McpServer, Paths, RunCommand, Tools, WithoutSandbox};
pub use values::{Autonomy, BaseUrl, Confidence, Language, ListenAddr, Login, Usd};

/// The settings of the server: the file with the defaults below it and the environment's switches above it.
///
/// What may differ per repository stands here as it holds without a rule; [`Config::for_repo`] gives what holds for
/// one repository.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(title = "config.yaml", description = "The settings of Planwright.")]
pub struct Config {
    pub server: Server,
    /// Directory of the history and the logs.
    pub data_dir: PathBuf,
    pub store: Store,
    pub forges: Forges,
    pub models: Models,
    pub triggers: Triggers,
    pub planning: Planning,
    pub approval: Approval,
    pub crew: Crew,
    pub tools: Tools,
    /// What becomes of the work.
    pub deliver: Deliver,
    pub budget: Budget,
    /// The language of comments: `auto` is the thread's own.
    pub language: Language,
    /// Whether replans are announced in comments of their own.
    pub notices: Notices,
    /// Rules for repositories by pattern; later ones win.
    pub repos: Vec<RepoRule>,
    #[serde(skip)]
    switches: env::Switches,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            server: Server::default(),
            data_dir: PathBuf::from("./data"),
            store: Store::default(),
            forges: Forges::default(),
            models: Models::default(),
            triggers: Triggers::default(),
            planning: Planning::default(),
            approval: Approval::default(),
            crew: Crew::default(),
            tools: Tools::default(),
            deliver: Deliver::default(),
            budget: Budget::default(),
            language: Language::default(),
            notices: Notices::default(),
            repos: Vec::new(),
            switches: env::Switches::default(),
        }
    }
}

/// The JSON schema of `config.yaml`.
#[must_use]
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(Config)
}
