//! Purpose: who acted. Accounts are told apart by id; the login is for people to read.

use serde::{Deserialize, Serialize};

/// The forge's numeric id of an account. Logins can be renamed and taken over, ids cannot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AccountId(pub i64);

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Account {
    pub id: AccountId,
    pub login: String,
    pub kind: AccountKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccountKind {
    Person,
    /// An app or another bot: it may write, it never steers.
    Bot,
    /// GitHub's stand-in for "no actor could be found"; it has no rights whatsoever.
    Ghost,
}

impl Account {
    #[must_use]
    pub fn person(id: i64, login: &str) -> Self {
        Self { id: AccountId(id), login: login.to_owned(), kind: AccountKind::Person }
    }
}
