//! Purpose: what happened on a thread, in neutral words; and the neutral picture of a thread and its comments.

use serde::{Deserialize, Serialize};

use super::{Account, ChangeBranch, Millis, ThreadRef};

/// One thing that somebody did on a thread. `actor` is who acted, which is not always who wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    pub thread: ThreadRef,
    pub actor: Account,
    /// The forge's own time of the event where it tells one; deliveries come late and out of order.
    pub at: Option<Millis>,
    pub kind: EventKind,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EventKind {
    /// Opened with these assignees and labels already on it.
    Opened {
        assignees: Vec<Account>,
        labels: Vec<String>,
    },
    DescriptionEdited,
    Closed,
    Reopened,
    Assigned {
        assignee: Account,
    },
    Unassigned {
        assignee: Account,
    },
    Labelled {
        label: String,
    },
    Unlabelled {
        label: String,
    },
    ReviewRequested {
        reviewer: Account,
    },
    CommentCreated {
        comment: Comment,
    },
    /// The actor is the editor, who may be somebody else than the comment's author.
    CommentEdited {
        comment: Comment,
    },
    CommentDeleted {
        comment_id: CommentId,
    },
    /// A review of a change request, with its summary and whether it asks for changes. GitLab sends the summary as a
    /// comment of its own; what asks for changes there has an empty body and the id 0.
    Reviewed {
        comment: Comment,
        asks_for_changes: bool,
    },
    /// A comment on a line of the diff.
    ReviewCommented {
        comment: Comment,
    },
}

/// A comment's id on its forge. Unique per forge and thread, growing with time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CommentId(pub i64);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    pub id: CommentId,
    pub author: Account,
    pub body: String,
    pub created_at: Option<Millis>,
    /// Its words are not those that were first written, and nobody knows whose they are: others than the author may
    /// edit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub edited: bool,
    /// Where it stands in the diff, for a word about one line of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<DiffLine>,
}

/// A place in the diff of a change request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffLine {
    pub path: String,
    /// None where the word is about the whole file, or its line is gone.
    pub line: Option<u64>,
}

/// A thread as it stands on the forge now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    pub title: String,
    pub body: String,
    pub author: Account,
    pub open: bool,
    pub is_change_request: bool,
    /// Visible to members only (GitLab's confidential issues).
    pub confidential: bool,
    pub assignees: Vec<Account>,
    pub labels: Vec<String>,
    pub web_url: Option<String>,
    /// The branches of a change request; `None` for everything else.
    #[serde(default)]
    pub branch: Option<ChangeBranch>,
}

/// The faces the bot shows. Never 👍 or ✅: people read those as approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reaction {
    /// 👀 seen, at work
    Eyes,
    /// 🚀 done
    Rocket,
    /// 😕 refused, or failed
    Confused,
}

impl Reaction {
    /// GitHub and GitLab happen to use the same three names.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Eyes => "eyes",
            Self::Rocket => "rocket",
            Self::Confused => "confused",
        }
    }
}
