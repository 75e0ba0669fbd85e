//! Purpose: whether a delivery tells what the forge has. Whoever knows the secret of one hook can sign a delivery about
//! any thread, with any comment and any account in it; so words count only if the forge has them as they were told.

use serde::{Deserialize, Serialize};

use super::fact::Fact;
use super::talk::TalkFact;
use crate::domain::{Account, Comment, CommentId, Event, EventKind};

/// In what the forge differs from a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mismatch {
    /// The thread has no such comment.
    Missing,
    OtherAuthor,
    OtherText,
    /// It was edited since, perhaps by somebody else.
    Edited,
    /// It is said to be deleted, and is still there.
    StillThere,
}

/// The comment that has to be looked up before these facts count; `None` when they rest on no words.
#[must_use]
pub fn rests_on(event: &Event, facts: &[Fact]) -> Option<CommentId> {
    let id = match &event.kind {
        // GitLab tells that a reviewer wants changes without a comment; the words come in one of their own.
        EventKind::Reviewed { comment, asks_for_changes: true } if is_wordless(comment) => return None,
        EventKind::CommentCreated { comment }
        | EventKind::CommentEdited { comment }
        | EventKind::Reviewed { comment, .. }
        | EventKind::ReviewCommented { comment } => comment.id,
        EventKind::CommentDeleted { comment_id } => *comment_id,
        EventKind::Opened { .. }
        | EventKind::DescriptionEdited
        | EventKind::Closed
        | EventKind::Reopened
        | EventKind::Assigned { .. }
        | EventKind::Unassigned { .. }
        | EventKind::Labelled { .. }
        | EventKind::Unlabelled { .. }
        | EventKind::ReviewRequested { .. } => return None,
    };
    facts.iter().any(needs_words).then_some(id)
}

fn is_wordless(comment: &Comment) -> bool {
    comment.id == CommentId(0) && comment.body.is_empty()
}

/// All but what says nothing of the comment, and what was read from the forge already. Also what changes little: it would
/// mark the comment as taken, and an invented id may be that of a real comment later.
fn needs_words(fact: &Fact) -> bool {
    !matches!(fact, Fact::LanguageSeen { .. } | Fact::Talk(TalkFact::AskedAltered { .. }))
}

/// Compares what a delivery tells of a comment with what the forge has under its id on this thread.
///
/// # Errors
/// In what they differ.
pub fn confirm(event: &Event, bot: &Account, found: Option<&Comment>) -> Result<(), Mismatch> {
    let (told, author, may_be_edited) = match &event.kind {
        EventKind::CommentDeleted { .. } => {
            return found.map_or(Ok(()), |_| Err(Mismatch::StillThere));
        }
        // What is told to be edited steers at most, and decides nothing. Boxes in a comment of ours: somebody else has
        // edited it.
        EventKind::CommentEdited { comment } => (comment, bot, true),
        // The forges do not tell whether a review was edited.
        EventKind::Reviewed { comment, .. } => (comment, &event.actor, true),
        EventKind::CommentCreated { comment } | EventKind::ReviewCommented { comment } => {
            (comment, &event.actor, false)
        }
        EventKind::Opened { .. }
        | EventKind::DescriptionEdited
        | EventKind::Closed
        | EventKind::Reopened
        | EventKind::Assigned { .. }
        | EventKind::Unassigned { .. }
        | EventKind::Labelled { .. }
        | EventKind::Unlabelled { .. }
        | EventKind::ReviewRequested { .. } => return Ok(()),
    };
    let found = found.ok_or(Mismatch::Missing)?;
    if !is_same(&found.author, author) {
        Err(Mismatch::OtherAuthor)
    } else if plain(&found.body) != plain(&told.body) {
        Err(Mismatch::OtherText)
    } else if found.edited && !told.edited && !may_be_edited {
        Err(Mismatch::Edited)
    } else {
        Ok(())
    }
}

/// Also by login and kind: questions are put to people by their login, and programs are not heard.
fn is_same(one: &Account, other: &Account) -> bool {
    one.id == other.id && one.login.eq_ignore_ascii_case(&other.login) && one.kind == other.kind
}

/// Forges tell line ends and the space at the end of a text in one way here and in another there.
fn plain(body: &str) -> String {
    body.replace("\r\n", "\n").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{AccountKind, ThreadRef};

    fn comment(author: i64, body: &str, edited: bool) -> Comment {
        let author = Account::person(author, if author == 1 { "planwright" } else { "Maria" });
        Comment { id: CommentId(5), author, body: body.to_owned(), created_at: None, edited, on: None }
    }

    #[test]
    fn words_count_only_as_the_forge_has_them() {
        let bot = Account::person(1, "planwright");
        let thread: ThreadRef = "github:acme/web#1".parse().unwrap();
        let told =
            |kind| Event { thread: thread.clone(), actor: Account::person(2, "maria"), at: None, kind };
        let created = told(EventKind::CommentCreated { comment: comment(2, "/approve\r\n", false) });
        let remark = told(EventKind::CommentCreated { comment: comment(2, "/approve", true) });
        let reviewed =
            told(EventKind::Reviewed { comment: comment(2, "/approve", false), asks_for_changes: false });
        let ticked = told(EventKind::CommentEdited { comment: comment(1, "- [x] **1**", true) });
        let deleted = told(EventKind::CommentDeleted { comment_id: CommentId(5) });
        // The right account under another name, or as another kind.
        let by_joao = Comment { author: Account::person(2, "joao"), ..comment(2, "/approve", false) };
        let maria = Account { kind: AccountKind::Bot, ..Account::person(2, "maria") };
        let by_bot = Comment { author: maria, ..comment(2, "/approve", false) };
        for (event, found, verdict) in [
            (&created, Some(comment(2, "/approve", false)), Ok(())),
            (&created, None, Err(Mismatch::Missing)),
            (&created, Some(comment(3, "/approve", false)), Err(Mismatch::OtherAuthor)),
            (&created, Some(comment(2, "/approve 1", false)), Err(Mismatch::OtherText)),
            (&created, Some(comment(2, "/approve", true)), Err(Mismatch::Edited)),
            (&remark, Some(comment(2, "/approve", true)), Ok(())),
            (&reviewed, Some(comment(2, "/approve", true)), Ok(())),
            (&reviewed, Some(comment(3, "/approve", true)), Err(Mismatch::OtherAuthor)),
            (&ticked, Some(comment(1, "- [x] **1**", true)), Ok(())),
            (&ticked, Some(comment(2, "- [x] **1**", true)), Err(Mismatch::OtherAuthor)),
            (&ticked, Some(comment(1, "- [ ] **1**", true)), Err(Mismatch::OtherText)),
            (&created, Some(by_joao), Err(Mismatch::OtherAuthor)),
            (&created, Some(by_bot), Err(Mismatch::OtherAuthor)),
            (&deleted, None, Ok(())),
            (&deleted, Some(comment(1, "x", false)), Err(Mismatch::StillThere)),
        ] {
            assert_eq!(confirm(event, &bot, found.as_ref()), verdict, "{event:?}");
        }
    }

    /// Only what GitLab tells without words is taken without them.
    #[test]
    fn an_id_that_no_comment_has_is_looked_up_as_well() {
        let thread: ThreadRef = "gitlab:acme/web#1".parse().unwrap();
        let told =
            |kind| Event { thread: thread.clone(), actor: Account::person(2, "maria"), at: None, kind };
        let nameless = |body: &str| Comment { id: CommentId(0), ..comment(2, body, false) };
        let paused = [Fact::Paused { by: Account::person(2, "maria"), comment: Some(CommentId(0)) }];
        for (kind, id) in [
            (EventKind::CommentCreated { comment: nameless("/pause") }, Some(CommentId(0))),
            (EventKind::Reviewed { comment: nameless("x"), asks_for_changes: true }, Some(CommentId(0))),
            (EventKind::Reviewed { comment: nameless(""), asks_for_changes: true }, None),
            (EventKind::Closed, None),
        ] {
            assert_eq!(rests_on(&told(kind.clone()), &paused), id, "{kind:?}");
        }
    }
}
