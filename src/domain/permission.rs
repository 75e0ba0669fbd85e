//! Purpose: who may do what: the table of rights, as one pure function.

use serde::{Deserialize, Serialize};

use super::{Account, AccountKind, Command};

/// Neutral levels, weakest first. GitLab's Reporter is `Triage`, its Developer is `Write`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    None,
    Read,
    Triage,
    Write,
    Maintain,
    Admin,
}

impl Permission {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Read => "read",
            Self::Triage => "triage",
            Self::Write => "write",
            Self::Maintain => "maintain",
            Self::Admin => "admin",
        }
    }
}

/// What a command or an event needs: a level, and whether having asked for the run is enough instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Right {
    pub level: Permission,
    pub requester_suffices: bool,
}

impl Right {
    /// Start a run by assigning, labelling or mentioning the bot.
    pub const PLAN: Self = Self { level: Permission::Triage, requester_suffices: false };
    /// Have one's comments and edits read by the run.
    pub const STEER: Self = Self { level: Permission::Write, requester_suffices: true };

    /// Answer the bot's questions and choose between its options.
    pub const ANSWER: Self = Self::TRIAGE_OR_REQUESTER;

    /// Answer a question that names one.
    pub const ASKED: Self = Self::READ;

    const READ: Self = Self { level: Permission::Read, requester_suffices: false };
    const WRITE: Self = Self { level: Permission::Write, requester_suffices: false };
    const TRIAGE_OR_REQUESTER: Self = Self { level: Permission::Triage, requester_suffices: true };

    #[must_use]
    pub fn of(command: &Command) -> Self {
        match command {
            Command::Help | Command::Status | Command::Unknown { .. } => Self::READ,
            Command::Plan => Self::PLAN,
            Command::SkipQuestion { .. } | Command::Choose { .. } => Self::TRIAGE_OR_REQUESTER,
            Command::Pause | Command::Resume | Command::Cancel => Self::STEER,
            Command::SkipStep { .. }
            | Command::Approve { .. }
            | Command::Reject { .. }
            | Command::Replan { .. }
            | Command::Retry
            | Command::Budget { .. } => Self::WRITE,
            // Whoever was asked may answer with less (`ASKED`); the run knows who that is.
            Command::Resolve { .. } => Self::WRITE,
        }
    }

    pub fn judge(self, account: &Account, has: Permission, is_requester: bool) -> Verdict {
        let acts_for_itself = account.kind == AccountKind::Person;
        let enough = has >= self.level || (self.requester_suffices && is_requester && has > Permission::None);
        if acts_for_itself && enough { Verdict::Allowed } else { Verdict::Refused { needs: self.level, has } }
    }
}

#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Allowed,
    Refused { needs: Permission, has: Permission },
}
