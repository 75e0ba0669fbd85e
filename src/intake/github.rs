//! Purpose: GitHub's webhook payloads as events. Pure.

use serde::Deserialize;

use super::translate::{Gap, Refusal, Text, complaint, parse, time};
use crate::domain::{
    Account, AccountId, AccountKind, Comment, CommentId, Event, EventKind, ForgeKind, Millis, Project,
    ThreadRef,
};

pub(super) fn read(event: &str, body: &[u8]) -> Result<Vec<Event>, Refusal> {
    if !matches!(
        event,
        "issues" | "issue_comment" | "pull_request" | "pull_request_review" | "pull_request_review_comment"
    ) {
        return Err(Refusal::NotForUs("a GitHub event that we do not follow"));
    }
    let payload: Payload<'_> =
        parse(body).map_err(|error| Refusal::unreadable(thread_alone(body), complaint(body, &error)))?;
    let thread = payload.thread();
    let (kind, at) = match payload.happened(event, body) {
        Ok(happened) => happened,
        Err(gap) => return Err(gap.on(thread.ok())),
    };
    let thread = thread.map_err(|why| Refusal::unreadable(None, why))?;
    Ok(vec![Event { thread, actor: account_or_ghost(payload.sender.as_ref()), at, kind }])
}

/// The thread of a payload whose other parts cannot be read.
fn thread_alone(body: &[u8]) -> Option<ThreadRef> {
    let place: Place<'_> = parse(body).ok()?;
    thread_of(place.repository?.full_name.as_deref()?, place.issue.or(place.pull_request)?.number?).ok()
}

/// Issues and pull requests are numbered together, so both are named alike.
fn thread_of(full_name: &str, number: u64) -> Result<ThreadRef, String> {
    let project = Project::new(ForgeKind::Github, full_name).map_err(|error| error.to_string())?;
    Ok(ThreadRef::issue(project, number))
}

type Happened = Result<(EventKind, Option<Millis>), Gap>;

#[derive(Deserialize)]
struct Payload<'a> {
    #[serde(borrow)]
    action: Option<Text<'a>>,
    #[serde(borrow)]
    repository: Option<Repository<'a>>,
    #[serde(borrow)]
    sender: Option<User<'a>>,
    #[serde(borrow)]
    issue: Option<Subject<'a>>,
    #[serde(borrow)]
    pull_request: Option<Subject<'a>>,
    #[serde(borrow)]
    comment: Option<Note<'a>>,
    #[serde(borrow)]
    review: Option<Note<'a>>,
    #[serde(borrow)]
    assignee: Option<User<'a>>,
    #[serde(borrow)]
    label: Option<Label<'a>>,
    #[serde(borrow)]
    requested_reviewer: Option<User<'a>>,
    changes: Option<Changes>,
}

impl Payload<'_> {
    fn thread(&self) -> Result<ThreadRef, String> {
        let missing = |field: &str| format!("the payload has no `{field}`");
        let name = self.repository.as_ref().and_then(|r| r.full_name.as_deref());
        let name = name.ok_or_else(|| missing("repository.full_name"))?;
        let number = self.subject().and_then(|s| s.number).ok_or_else(|| missing("issue.number"))?;
        thread_of(name, number)
    }

    fn subject(&self) -> Option<&Subject<'_>> {
        self.issue.as_ref().or(self.pull_request.as_ref())
    }

    fn happened(&self, event: &str, body: &[u8]) -> Happened {
        let action = self.action.as_deref().ok_or(Gap::Missing("action"))?;
        match (event, action) {
            ("issues" | "pull_request", "opened") => self.opened(body),
            ("issues" | "pull_request", "edited") => self.edited(),
            ("issues" | "pull_request", "closed") => Ok((EventKind::Closed, self.closed_at())),
            // What is gone is as good as closed: nobody can follow a run there.
            ("issues", "deleted") => Ok((EventKind::Closed, None)),
            ("issues" | "pull_request", "reopened") => Ok((EventKind::Reopened, self.updated_at())),
            ("issues" | "pull_request", "assigned") => self.assigned(),
            ("issues" | "pull_request", "unassigned") => self.unassigned(),
            ("issues" | "pull_request", "labeled") => self.labelled(),
            ("issues" | "pull_request", "unlabeled") => self.unlabelled(),
            ("pull_request", "review_requested") => self.review_requested(),
            ("issue_comment", "created") => self.comment_created(),
            ("issue_comment" | "pull_request_review_comment", "edited") => self.comment_edited(),
            ("issue_comment", "deleted") => self.comment_deleted(),
            ("pull_request_review", "submitted") => self.reviewed(),
            ("pull_request_review_comment", "created") => self.review_commented(),
            _ => Err(Gap::NotForUs("a GitHub action that we do not follow")),
        }
    }

    /// The lists are long, and nothing else needs them; so the body is read once more for them.
    fn opened(&self, body: &[u8]) -> Happened {
        let subject = self.subject().ok_or(Gap::Missing("issue"))?;
        let Opened { issue, pull_request } = parse(body).map_err(|_| Gap::Odd("assignees or labels"))?;
        let lists = issue.or(pull_request).unwrap_or_default();
        let assignees = lists.assignees.iter().flatten().filter_map(User::account).collect();
        let labels =
            lists.labels.iter().flatten().filter_map(|l| l.name.as_deref().map(str::to_owned)).collect();
        Ok((EventKind::Opened { assignees, labels }, time(subject.created_at.as_ref())))
    }

    /// A pull request is also "edited" when its base branch changes; without `changes` we rather look again.
    fn edited(&self) -> Happened {
        match &self.changes {
            Some(Changes { title: None, body: None, base: Some(_) }) => {
                Err(Gap::NotForUs("only the base branch was changed"))
            }
            Some(_) | None => Ok((EventKind::DescriptionEdited, self.updated_at())),
        }
    }

    fn assigned(&self) -> Happened {
        Ok((EventKind::Assigned { assignee: self.assignee()? }, self.updated_at()))
    }

    fn unassigned(&self) -> Happened {
        Ok((EventKind::Unassigned { assignee: self.assignee()? }, self.updated_at()))
    }

    fn labelled(&self) -> Happened {
        Ok((EventKind::Labelled { label: self.label()? }, self.updated_at()))
    }

    fn unlabelled(&self) -> Happened {
        Ok((EventKind::Unlabelled { label: self.label()? }, self.updated_at()))
    }

    /// A review can be asked of a team; we are a person's or an app's account, never a team.
    fn review_requested(&self) -> Happened {
        let reviewer =
            self.requested_reviewer.as_ref().ok_or(Gap::NotForUs("a review was asked of a team"))?;
        let reviewer = reviewer.account().ok_or(Gap::Missing("requested_reviewer.id"))?;
        Ok((EventKind::ReviewRequested { reviewer }, self.updated_at()))
    }

    fn comment_created(&self) -> Happened {
        let note = self.comment.as_ref().ok_or(Gap::Missing("comment"))?;
        Ok((
            EventKind::CommentCreated { comment: note.comment("comment.id")? },
            time(note.created_at.as_ref()),
        ))
    }

    fn comment_edited(&self) -> Happened {
        let note = self.comment.as_ref().ok_or(Gap::Missing("comment"))?;
        let comment = Comment { edited: true, ..note.comment("comment.id")? };
        Ok((EventKind::CommentEdited { comment }, time(note.updated_at.as_ref())))
    }

    /// GitHub does not say when; the comment's own times are older than its end.
    fn comment_deleted(&self) -> Happened {
        let id = self.comment.as_ref().and_then(|note| note.id).ok_or(Gap::Missing("comment.id"))?;
        Ok((EventKind::CommentDeleted { comment_id: CommentId(id) }, None))
    }

    fn reviewed(&self) -> Happened {
        let note = self.review.as_ref().ok_or(Gap::Missing("review"))?;
        let asks_for_changes =
            note.state.as_deref().is_some_and(|state| state.eq_ignore_ascii_case("changes_requested"));
        let comment = note.comment("review.id")?;
        let at = comment.created_at;
        Ok((EventKind::Reviewed { comment, asks_for_changes }, at))
    }

    fn review_commented(&self) -> Happened {
        let note = self.comment.as_ref().ok_or(Gap::Missing("comment"))?;
        Ok((
            EventKind::ReviewCommented { comment: note.comment("comment.id")? },
            time(note.created_at.as_ref()),
        ))
    }

    fn assignee(&self) -> Result<Account, Gap> {
        self.assignee.as_ref().and_then(User::account).ok_or(Gap::Missing("assignee.id"))
    }

    fn label(&self) -> Result<String, Gap> {
        let name = self.label.as_ref().and_then(|label| label.name.as_deref());
        Ok(name.ok_or(Gap::Missing("label.name"))?.to_owned())
    }

    fn updated_at(&self) -> Option<Millis> {
        time(self.subject()?.updated_at.as_ref())
    }

    fn closed_at(&self) -> Option<Millis> {
        time(self.subject()?.closed_at.as_ref()).or_else(|| self.updated_at())
    }
}

#[derive(Deserialize)]
struct Place<'a> {
    #[serde(borrow)]
    repository: Option<Repository<'a>>,
    issue: Option<Numbered>,
    pull_request: Option<Numbered>,
}

#[derive(Deserialize)]
struct Numbered {
    number: Option<u64>,
}

#[derive(Deserialize)]
struct Repository<'a> {
    #[serde(borrow)]
    full_name: Option<Text<'a>>,
}

/// The issue or the pull request.
#[derive(Deserialize)]
struct Subject<'a> {
    number: Option<u64>,
    #[serde(borrow)]
    created_at: Option<Text<'a>>,
    #[serde(borrow)]
    updated_at: Option<Text<'a>>,
    #[serde(borrow)]
    closed_at: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Opened<'a> {
    #[serde(borrow)]
    issue: Option<Lists<'a>>,
    #[serde(borrow)]
    pull_request: Option<Lists<'a>>,
}

#[derive(Default, Deserialize)]
struct Lists<'a> {
    #[serde(borrow)]
    assignees: Option<Vec<User<'a>>>,
    #[serde(borrow)]
    labels: Option<Vec<Label<'a>>>,
}

#[derive(Deserialize)]
struct Label<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
}

/// Only whether they are there is of interest.
#[derive(Deserialize)]
struct Changes {
    title: Option<serde::de::IgnoredAny>,
    body: Option<serde::de::IgnoredAny>,
    base: Option<serde::de::IgnoredAny>,
}

/// A comment, a review, or a comment on a line.
#[derive(Deserialize)]
struct Note<'a> {
    id: Option<i64>,
    #[serde(borrow)]
    user: Option<User<'a>>,
    #[serde(borrow)]
    body: Option<Text<'a>>,
    #[serde(borrow)]
    state: Option<Text<'a>>,
    #[serde(borrow)]
    created_at: Option<Text<'a>>,
    #[serde(borrow)]
    updated_at: Option<Text<'a>>,
    #[serde(borrow)]
    submitted_at: Option<Text<'a>>,
}

impl Note<'_> {
    /// `id_field` is the name to complain about; a review without a summary has a body of null.
    fn comment(&self, id_field: &'static str) -> Result<Comment, Gap> {
        Ok(Comment {
            id: CommentId(self.id.ok_or(Gap::Missing(id_field))?),
            author: account_or_ghost(self.user.as_ref()),
            body: self.body.as_deref().unwrap_or_default().to_owned(),
            created_at: time(self.created_at.as_ref().or(self.submitted_at.as_ref())),
            edited: false,
            on: None,
        })
    }
}

#[derive(Deserialize)]
struct User<'a> {
    id: Option<i64>,
    #[serde(borrow)]
    login: Option<Text<'a>>,
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
}

impl User<'_> {
    fn account(&self) -> Option<Account> {
        let id = self.id?;
        let login = self.login.as_deref().unwrap_or_default();
        Some(Account { id: AccountId(id), login: login.to_owned(), kind: self.account_kind(id, login) })
    }

    /// What is neither a user nor of no type (organisations, imported placeholders) must not steer.
    fn account_kind(&self, id: i64, login: &str) -> AccountKind {
        match self.kind.as_deref() {
            _ if id == GHOST || login.eq_ignore_ascii_case("ghost") => AccountKind::Ghost,
            _ if login.ends_with("[bot]") => AccountKind::Bot,
            None | Some("User") => AccountKind::Person,
            Some(_) => AccountKind::Bot,
        }
    }
}

/// The id of the account that GitHub names when it knows of none.
const GHOST: i64 = 10137;

fn account_or_ghost(user: Option<&User<'_>>) -> Account {
    user.and_then(User::account).unwrap_or_else(|| Account {
        id: AccountId(GHOST),
        login: "ghost".to_owned(),
        kind: AccountKind::Ghost,
    })
}
