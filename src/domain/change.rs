//! Purpose: change requests (pull requests, merge requests) and the repository they go to, in neutral words.

use serde::{Deserialize, Serialize};

use super::{AccountId, ThreadRef};

/// Where the changes of a change request are, and where they are to go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeBranch {
    pub head: String,
    pub base: String,
    /// Whether `head` is in the repository of `base`; from a fork we could not push to it.
    pub same_repository: bool,
}

/// A change request as it stands on the forge now. The title says nothing about being a draft.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeRequest {
    pub thread: ThreadRef,
    pub author: AccountId,
    pub head: String,
    pub base: String,
    pub draft: bool,
    pub open: bool,
    pub title: String,
    pub body: String,
    pub web_url: Option<String>,
}

/// What is to be asked for; both branches are in the same repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewChangeRequest<'a> {
    pub head: &'a str,
    pub base: &'a str,
    pub title: &'a str,
    pub body: &'a str,
    pub readiness: Readiness,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Readiness {
    /// Not to be merged yet, and shown as such.
    Draft,
    Ready,
}

/// What a change request changes, as far as the forge shows it at once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeDiff {
    pub files: Vec<FileDiff>,
    /// False when there are more files than these.
    pub whole: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDiff {
    pub path: String,
    /// In the way of `diff -u`, without the two lines that name the files; empty for what is no text, or too long.
    pub patch: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    /// `None` as long as nothing was pushed.
    pub default_branch: Option<String>,
    /// Nobody can push to it.
    pub archived: bool,
    pub web_url: Option<String>,
}
