//! Purpose: GitLab's webhook payloads as events. Pure.
//!
//! GitLab tells changes as "before and after" (`changes`), several in one delivery; each becomes an event of its own.
//! Who acted is not always `user`: an edited note names its author there, and the hook's "test" button sends an old
//! note with the tester as `user`. So a note's actor is taken from the ids in `object_attributes`.

use std::collections::HashSet;
use std::hash::Hash;

use super::gitlab_payload::{Attributes, Change, Payload, Place, User};
use super::translate::{Confidential, Gap, Refusal, complaint, parse, time};
use crate::domain::{Account, Comment, CommentId, Event, EventKind, ForgeKind, Millis, Project, ThreadRef};

pub(super) fn read(event: &str, body: &[u8], confidential: Confidential) -> Result<Vec<Event>, Refusal> {
    let hook = Hook::named(event).ok_or(Refusal::NotForUs("a GitLab event that we do not follow"))?;
    let payload: Payload<'_> = parse(body)
        .map_err(|error| Refusal::unreadable(thread_alone(hook, body), complaint(body, &error)))?;
    if confidential == Confidential::Ignored
        && (event.starts_with("Confidential") || is_confidential(&payload))
    {
        return Err(Refusal::NotForUs("confidential, and those are switched off"));
    }
    let thread = thread_of(hook, &payload);
    let happened = match hook {
        Hook::Issue | Hook::MergeRequest => changed(&payload),
        Hook::Note => noted(&payload),
    };
    let Happened { actor, at, kinds } = match happened {
        Ok(happened) => happened,
        Err(gap) => return Err(gap.on(thread.ok())),
    };
    let thread = thread?;
    Ok(kinds
        .into_iter()
        .map(|kind| Event { thread: thread.clone(), actor: actor.clone(), at, kind })
        .collect())
}

#[derive(Clone, Copy)]
enum Hook {
    Issue,
    MergeRequest,
    Note,
}

impl Hook {
    fn named(event: &str) -> Option<Self> {
        match event {
            "Issue Hook" | "Confidential Issue Hook" | "Work Item Hook" | "Confidential Work Item Hook" => {
                Some(Self::Issue)
            }
            "Merge Request Hook" => Some(Self::MergeRequest),
            "Note Hook" | "Confidential Note Hook" => Some(Self::Note),
            _ => None,
        }
    }
}

struct Happened {
    actor: Account,
    at: Option<Millis>,
    kinds: Vec<EventKind>,
}

fn is_confidential(payload: &Payload<'_>) -> bool {
    let attributes = payload.object_attributes.as_ref();
    payload.event_type.as_deref().is_some_and(|name| name.starts_with("confidential"))
        || attributes.is_some_and(|it| it.confidential == Some(true) || it.internal == Some(true))
        || payload.issue.as_ref().is_some_and(|issue| issue.confidential == Some(true))
}

fn thread_of(hook: Hook, payload: &Payload<'_>) -> Result<ThreadRef, Refusal> {
    let project = payload.project.as_ref().and_then(|project| project.path_with_namespace.as_deref());
    let Some(project) = project else {
        let of_a_group = payload.object_kind.as_deref() == Some("work_item");
        let gap = if of_a_group {
            Gap::NotForUs("a work item of a group, which belongs to no project")
        } else {
            Gap::Missing("project.path_with_namespace")
        };
        return Err(gap.on(None));
    };
    let own = payload.object_attributes.as_ref().and_then(|it| it.iid);
    let of_issue = payload.issue.as_ref().and_then(|issue| issue.iid);
    let of_merge_request = payload.merge_request.as_ref().and_then(|it| it.iid);
    let (issue, merge_request, field) = match hook {
        Hook::Issue => (own, None, "object_attributes.iid"),
        Hook::MergeRequest => (None, own, "object_attributes.iid"),
        Hook::Note => (of_issue, of_merge_request, "issue.iid"),
    };
    named(project, issue, merge_request).unwrap_or_else(|| Err(Gap::Missing(field).on(None)))
}

/// The thread of a payload whose other parts cannot be read.
fn thread_alone(hook: Hook, body: &[u8]) -> Option<ThreadRef> {
    let place: Place<'_> = parse(body).ok()?;
    let project = place.project?.path_with_namespace?;
    let own = place.object_attributes.and_then(|it| it.iid);
    let (issue, merge_request) = match hook {
        Hook::Issue => (own, None),
        Hook::MergeRequest => (None, own),
        Hook::Note => (place.issue.and_then(|it| it.iid), place.merge_request.and_then(|it| it.iid)),
    };
    named(&project, issue, merge_request)?.ok()
}

fn named(
    project: &str,
    issue: Option<u64>,
    merge_request: Option<u64>,
) -> Option<Result<ThreadRef, Refusal>> {
    let project = Project::new(ForgeKind::Gitlab, project);
    let thread = match (issue, merge_request) {
        (Some(number), _) => project.map(|project| ThreadRef::issue(project, number)),
        (None, Some(number)) => project.map(|project| ThreadRef::merge_request(project, number)),
        (None, None) => return None,
    };
    Some(thread.map_err(|error| Refusal::unreadable(None, error.to_string())))
}

fn changed(payload: &Payload<'_>) -> Result<Happened, Gap> {
    let attributes = payload.object_attributes.as_ref().ok_or(Gap::Missing("object_attributes"))?;
    let kinds = match attributes.action.as_deref() {
        Some("open") => opened(payload, attributes)?,
        // What is reopened is open before anything else is done to it; what is closed is closed after it.
        Some("reopen") => [vec![EventKind::Reopened], changes(payload)?].concat(),
        Some("close" | "merge") => [changes(payload)?, vec![EventKind::Closed]].concat(),
        // The hook's "test" button sends no action and no changes.
        Some("update") | None => changes(payload)?,
        Some(_) => return Err(Gap::NotForUs("a GitLab action that we do not follow")),
    };
    if kinds.is_empty() {
        return Err(Gap::NotForUs("nothing changed that concerns us"));
    }
    let is_new = attributes.action.as_deref() == Some("open");
    let at = if is_new { &attributes.created_at } else { &attributes.updated_at };
    Ok(Happened { actor: actor(payload, attributes), at: time(at.as_ref()), kinds })
}

/// Old versions send `user` without an id.
fn actor(payload: &Payload<'_>, attributes: &Attributes<'_>) -> Account {
    let is_new = attributes.action.as_deref() == Some("open");
    let told = if is_new { attributes.author_id } else { attributes.updated_by_id };
    let user = payload.user.as_ref();
    match user.and_then(|user| user.id).or(told) {
        Some(id) => User::account(user, id),
        None => User::nobody(),
    }
}

/// GitHub tells of a review that was asked for at the opening in a delivery of its own, so it is an event here too.
fn opened(payload: &Payload<'_>, attributes: &Attributes<'_>) -> Result<Vec<EventKind>, Gap> {
    let people = payload.assignees.as_deref().unwrap_or_default();
    let assignees = match attributes.assignee_ids.as_deref() {
        Some(ids) => ids.iter().map(|id| assignee(people, ids.len(), *id)).collect(),
        None => people.iter().map(|user| user.required("assignees.id")).collect::<Result<_, _>>()?,
    };
    let labels =
        payload.labels.iter().flatten().filter_map(|label| label.title.as_deref().map(str::to_owned));
    let mut kinds = vec![EventKind::Opened { assignees, labels: labels.collect() }];
    for user in payload.reviewers.iter().flatten() {
        kinds.push(EventKind::ReviewRequested { reviewer: user.required("reviewers.id")? });
    }
    Ok(kinds)
}

/// The ids are the truth; some versions leave them out of `assignees`, which then only tells the name of a single one.
fn assignee(people: &[User<'_>], ids: usize, id: i64) -> Account {
    let named = people.iter().find(|user| user.id == Some(id));
    let only = people.first().filter(|user| people.len() == 1 && ids == 1 && user.id.is_none());
    User::account(named.or(only), id)
}

/// What was taken away comes before what was put on.
fn changes(payload: &Payload<'_>) -> Result<Vec<EventKind>, Gap> {
    let Some(changes) = &payload.changes else { return Ok(Vec::new()) };
    let (unassigned, assigned) = moved(changes.assignees.as_ref(), |user| user.id);
    let (unlabelled, labelled) = moved(changes.labels.as_ref(), |label| label.title.as_deref());
    let mut kinds = Vec::new();
    for user in unassigned {
        kinds.push(EventKind::Unassigned { assignee: user.required("changes.assignees.id")? });
    }
    let titles = unlabelled.into_iter().filter_map(|label| label.title.as_deref());
    kinds.extend(titles.map(|label| EventKind::Unlabelled { label: label.to_owned() }));
    if changes.title.is_some() || changes.description.is_some() {
        kinds.push(EventKind::DescriptionEdited);
    }
    for user in assigned {
        kinds.push(EventKind::Assigned { assignee: user.required("changes.assignees.id")? });
    }
    let titles = labelled.into_iter().filter_map(|label| label.title.as_deref());
    kinds.extend(titles.map(|label| EventKind::Labelled { label: label.to_owned() }));
    for user in asked_for_review(changes.reviewers.as_ref()) {
        kinds.push(EventKind::ReviewRequested { reviewer: user.required("changes.reviewers.id")? });
    }
    for user in asking_for_changes(changes.reviewers.as_ref()) {
        kinds.push(asks_for_changes(payload, user.required("changes.reviewers.id")?));
    }
    Ok(kinds)
}

/// A formal request for changes is a reviewer's new state; older versions do not tell of it. What the reviewer wrote comes
/// as notes.
fn asking_for_changes<'a, 'b>(change: Option<&'a Change<User<'b>>>) -> Vec<&'a User<'b>> {
    let (_, new) = moved(change, |user| (user.id, user.asks_for_changes()));
    new.into_iter().filter(|user| user.asks_for_changes()).collect()
}

fn asks_for_changes(payload: &Payload<'_>, by: Account) -> EventKind {
    let at = payload.object_attributes.as_ref().and_then(|it| time(it.updated_at.as_ref()));
    let comment = Comment {
        id: CommentId(0),
        author: by,
        body: String::new(),
        created_at: at,
        edited: false,
        on: None,
    };
    EventKind::Reviewed { comment, asks_for_changes: true }
}

/// The new reviewers, and those who are asked once more.
fn asked_for_review<'a, 'b>(change: Option<&'a Change<User<'b>>>) -> Vec<&'a User<'b>> {
    let again =
        change.iter().flat_map(|it| it.current.iter().flatten()).filter(|it| it.re_requested == Some(true));
    let (_, mut asked) = moved(change, |user| user.id);
    // Whoever asks for changes without having been asked becomes a reviewer by that.
    asked.retain(|user| !user.asks_for_changes());
    let known: HashSet<_> = asked.iter().map(|user| user.id).collect();
    asked.extend(again.filter(|user| !known.contains(&user.id)));
    asked
}

/// What is only in `previous`, and what is only in `current`.
fn moved<'a, T, K: Hash + Eq>(
    change: Option<&'a Change<T>>,
    key: impl Fn(&'a T) -> K,
) -> (Vec<&'a T>, Vec<&'a T>) {
    let Some(change) = change else { return (Vec::new(), Vec::new()) };
    let before = change.previous.as_deref().unwrap_or_default();
    let after = change.current.as_deref().unwrap_or_default();
    let keys = |items: &'a [T]| items.iter().map(&key).collect::<HashSet<_>>();
    let (keys_before, keys_after) = (keys(before), keys(after));
    let removed = before.iter().filter(|item| !keys_after.contains(&key(item))).collect();
    let added = after.iter().filter(|item| !keys_before.contains(&key(item))).collect();
    (removed, added)
}

fn noted(payload: &Payload<'_>) -> Result<Happened, Gap> {
    let note = payload.object_attributes.as_ref().ok_or(Gap::Missing("object_attributes"))?;
    if note.system == Some(true) {
        return Err(Gap::NotForUs("a note that GitLab itself wrote"));
    }
    let on = note.noteable_type.as_deref().ok_or(Gap::Missing("object_attributes.noteable_type"))?;
    if !matches!(on, "Issue" | "MergeRequest") {
        return Err(Gap::NotForUs("a note on something else than an issue or a merge request"));
    }
    let comment = Comment { edited: is_edit(note), ..comment(payload, note)? };
    if comment.edited {
        let actor = editor(payload, note);
        return Ok(Happened {
            actor,
            at: time(note.updated_at.as_ref()),
            kinds: vec![EventKind::CommentEdited { comment }],
        });
    }
    let (actor, at) = (comment.author.clone(), comment.created_at);
    let on_the_diff = note.kind.as_deref() == Some("DiffNote");
    let kind = if on_the_diff {
        EventKind::ReviewCommented { comment }
    } else {
        EventKind::CommentCreated { comment }
    };
    Ok(Happened { actor, at, kinds: vec![kind] })
}

fn comment(payload: &Payload<'_>, note: &Attributes<'_>) -> Result<Comment, Gap> {
    let user = payload.user.as_ref();
    let author = match note.author_id.or(user.and_then(|user| user.id)) {
        Some(id) => User::account(user.filter(|user| user.id.is_none_or(|it| it == id)), id),
        None => User::nobody(),
    };
    Ok(Comment {
        id: CommentId(note.id.ok_or(Gap::Missing("object_attributes.id"))?),
        author,
        body: note.note.as_deref().ok_or(Gap::Missing("object_attributes.note"))?.to_owned(),
        created_at: time(note.created_at.as_ref()),
        edited: false,
        on: None,
    })
}

/// Old versions send no action.
fn is_edit(note: &Attributes<'_>) -> bool {
    match note.action.as_deref() {
        Some("create") => false,
        Some(_) => true,
        None => time(note.created_at.as_ref()) != time(note.updated_at.as_ref()),
    }
}

/// Without an `updated_by_id` nobody knows who it was, and nobody has no rights.
fn editor(payload: &Payload<'_>, note: &Attributes<'_>) -> Account {
    match note.updated_by_id {
        Some(id) => User::account(payload.user.as_ref().filter(|user| user.id == Some(id)), id),
        None => User::nobody(),
    }
}
