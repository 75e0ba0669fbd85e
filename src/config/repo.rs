//! Purpose: the settings that may differ from repository to repository.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::env::Switches;
use super::{Autonomy, Language, Planning, Tools, Usd};

/// What holds for one repository, all layers applied.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RepoSettings {
    pub triggers: Triggers,
    pub planning: Planning,
    pub approval: Approval,
    pub crew: Crew,
    pub tools: Tools,
    pub deliver: Deliver,
    pub budget: Budget,
    pub language: Language,
    pub notices: Notices,
    /// Kept here because the environment wins over the repository's own file too.
    #[serde(skip)]
    pub(super) switches: Switches,
}

/// What starts a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Triggers {
    /// The bot's account is assigned.
    pub assign: bool,
    /// This label is put on; null: no label starts a run.
    pub label: Option<String>,
    /// A comment begins with `@bot plan` or `/plan`.
    pub mention: bool,
}

impl Default for Triggers {
    fn default() -> Self {
        Self { assign: true, label: Some("planwright".to_owned()), mention: true }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Approval {
    /// Actions up to this risk run without a person's approval; `high` always needs one.
    pub auto: AutoApproval,
    /// How many people have to approve an action of high risk.
    pub count: NonZeroU32,
    /// Whoever asked for the run cannot approve its high risks.
    pub not_requester: bool,
    /// After this long an approval is worth nothing.
    pub expires_hours: NonZeroU32,
}

impl Default for Approval {
    fn default() -> Self {
        Self {
            auto: AutoApproval::default(),
            count: NonZeroU32::MIN,
            not_requester: false,
            expires_hours: const { NonZeroU32::new(168).unwrap() },
        }
    }
}

/// Ordered by how much runs unasked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AutoApproval {
    Nothing,
    /// Looking is free, every change needs a person.
    #[default]
    Low,
    /// Ordinary edits pass too.
    Medium,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Crew {
    /// Steps that are worked on side by side.
    pub workers: NonZeroU32,
    /// When workers are heard: 1, after each step; 2, also during the work.
    pub autonomy: Autonomy,
    /// Logins of the people asked about infrastructure.
    pub operators: Vec<String>,
    /// How long people have to answer when they are asked for help.
    pub answer_within_hours: NonZeroU32,
    /// When they are reminded, once; before the time is up.
    pub remind_after_hours: NonZeroU32,
    /// What happens when nobody has answered by then.
    pub on_no_answer: OnNoAnswer,
    pub limits: EscalationLimits,
}

impl Default for Crew {
    fn default() -> Self {
        Self {
            workers: const { NonZeroU32::new(2).unwrap() },
            autonomy: Autonomy::default(),
            operators: Vec::new(),
            answer_within_hours: const { NonZeroU32::new(24).unwrap() },
            remind_after_hours: const { NonZeroU32::new(4).unwrap() },
            on_no_answer: OnNoAnswer::default(),
            limits: EscalationLimits::default(),
        }
    }
}

/// Ordered by how much is done without an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnNoAnswer {
    /// The run ends.
    Stop,
    /// The steps that depend on the answer wait on; the others are carried out.
    #[default]
    Hold,
    /// The step is left out.
    Skip,
}

/// How often a run may turn to each target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EscalationLimits {
    pub planner: u32,
    pub logic_validator: u32,
    pub external_advisor: u32,
    pub people: u32,
}

impl Default for EscalationLimits {
    fn default() -> Self {
        Self { planner: 2, logic_validator: 2, external_advisor: 1, people: 3 }
    }
}

/// What becomes of the work, ordered by how far it goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Deliver {
    None,
    BranchOnly,
    #[default]
    Draft,
    Ready,
}

/// What one run may use; null: no limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    pub usd: Option<Usd>,
    pub tokens: Option<u64>,
    pub model_calls: Option<u32>,
    pub minutes: Option<u32>,
    /// Files that may be changed.
    pub files: Option<u32>,
    /// Bytes that may be written.
    pub bytes: Option<u64>,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            usd: Some(Usd::of(2.0)),
            tokens: None,
            model_calls: Some(200),
            minutes: Some(120),
            files: Some(200),
            bytes: Some(5_000_000),
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Notices {
    #[default]
    Normal,
    /// Notices stand on the card only.
    Quiet,
}
