//! Purpose: GitLab's webhook deliveries, in the shape and with the headers of real ones.

use planwright::domain::{Account, Comment, Event, EventKind, ThreadKind, ThreadRef};
use serde_json::{Value, json};

use super::gitlab::{hook_project, hook_user, label};
use super::gitlab_merges::add_change;
use super::{Delivery, Stage, time};

pub(super) fn delivery(stage: &Stage, event: &Event, secret: &str) -> Delivery {
    let (name, payload) = payload(stage, event);
    let id = uuid::Uuid::now_v7().to_string();
    let headers = [
        ("content-type", "application/json"),
        ("user-agent", "GitLab/fake"),
        ("x-gitlab-event", name),
        ("x-gitlab-token", secret),
        ("idempotency-key", &id),
        ("x-gitlab-event-uuid", &id),
        ("x-gitlab-instance", &stage.url()),
    ];
    let headers = headers.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
    Delivery { headers, body: payload.to_string().into_bytes() }
}

fn payload(stage: &Stage, event: &Event) -> (&'static str, Value) {
    let changed = |changes: Value| thread_hook(stage, event, "update", changes);
    match &event.kind {
        EventKind::Opened { .. } => thread_hook(stage, event, "open", json!({})),
        EventKind::Closed if is_merged(stage, event) => {
            thread_hook(stage, event, "merge", json!({ "state_id": { "previous": 1, "current": 3 } }))
        }
        EventKind::Closed => {
            thread_hook(stage, event, "close", json!({ "state_id": { "previous": 1, "current": 2 } }))
        }
        EventKind::Reopened => {
            thread_hook(stage, event, "reopen", json!({ "state_id": { "previous": 2, "current": 1 } }))
        }
        EventKind::DescriptionEdited => {
            let body = stage.world.look(|world| world.thread(&event.thread).map(|s| s.body.clone()));
            changed(json!({ "description": { "previous": "", "current": body.unwrap_or_default() } }))
        }
        EventKind::Assigned { assignee } => {
            changed(json!({ "assignees": people(stage, event, assignee, Done::Added) }))
        }
        EventKind::Unassigned { assignee } => {
            changed(json!({ "assignees": people(stage, event, assignee, Done::Removed) }))
        }
        EventKind::Labelled { label } => {
            changed(json!({ "labels": labels(stage, event, label, Done::Added) }))
        }
        EventKind::Unlabelled { label } => {
            changed(json!({ "labels": labels(stage, event, label, Done::Removed) }))
        }
        EventKind::ReviewRequested { reviewer } => {
            let current = reviewer_in(stage, reviewer, "unreviewed");
            changed(json!({ "reviewers": { "previous": [], "current": [current] } }))
        }
        EventKind::Reviewed { comment: Comment { author, .. }, asks_for_changes: true } => {
            let (previous, current) = (
                reviewer_in(stage, author, "review_started"),
                reviewer_in(stage, author, "requested_changes"),
            );
            changed(json!({ "reviewers": { "previous": [previous], "current": [current] } }))
        }
        EventKind::CommentCreated { comment } => note_hook(stage, event, comment, "create"),
        EventKind::CommentEdited { comment } => note_hook(stage, event, comment, "update"),
        // GitLab sends nothing when a note is deleted, and what a reviewer writes is a note.
        EventKind::CommentDeleted { .. } => ("Emoji Hook", json!({ "object_kind": "emoji" })),
        EventKind::Reviewed { comment, .. } | EventKind::ReviewCommented { comment } => {
            note_hook(stage, event, comment, "create")
        }
    }
}

fn is_merged(stage: &Stage, event: &Event) -> bool {
    let thread = stage.world.look(|world| world.thread(&event.thread).cloned());
    thread.is_ok_and(|thread| thread.change.is_some_and(|change| change.merged))
}

fn reviewer_in(stage: &Stage, who: &Account, state: &str) -> Value {
    let mut told = hook_user(stage, who.id);
    told["state"] = json!(state);
    told["re_requested"] = json!(false);
    told
}

#[derive(Clone, Copy, PartialEq)]
enum Done {
    Added,
    Removed,
}

/// The world is already as it is after the change; before, one was there more or less.
fn people(stage: &Stage, event: &Event, one: &Account, done: Done) -> Value {
    let now = stage
        .world
        .look(|world| world.thread(&event.thread).map(|s| s.assignees.clone()))
        .unwrap_or_default();
    let others: Vec<Value> = now.iter().filter(|id| **id != one.id).map(|id| hook_user(stage, *id)).collect();
    let with: Vec<Value> = others.iter().cloned().chain([hook_user(stage, one.id)]).collect();
    before_and_after(others, with, done)
}

fn labels(stage: &Stage, event: &Event, one: &str, done: Done) -> Value {
    let now =
        stage.world.look(|world| world.thread(&event.thread).map(|s| s.labels.clone())).unwrap_or_default();
    let others: Vec<Value> = now.iter().filter(|l| *l != one).map(|l| label(l)).collect();
    let with: Vec<Value> = others.iter().cloned().chain([label(one)]).collect();
    before_and_after(others, with, done)
}

fn before_and_after(without: Vec<Value>, with: Vec<Value>, done: Done) -> Value {
    match done {
        Done::Added => json!({ "previous": without, "current": with }),
        Done::Removed => json!({ "previous": with, "current": without }),
    }
}

fn thread_hook(stage: &Stage, event: &Event, action: &str, changes: Value) -> (&'static str, Value) {
    let t = &event.thread;
    let Ok(state) = stage.world.look(|world| world.thread(t).cloned()) else {
        return ("Issue Hook", Value::Null);
    };
    let (name, kind) = match t.kind {
        ThreadKind::Issue if state.confidential => ("Confidential Issue Hook", "issue"),
        ThreadKind::Issue => ("Issue Hook", "issue"),
        ThreadKind::MergeRequest => ("Merge Request Hook", "merge_request"),
    };
    let mut attributes = item(stage, t);
    attributes["action"] = json!(action);
    let mut payload = json!({
        "object_kind": kind,
        "event_type": if state.confidential { "confidential_issue" } else { kind },
        "user": hook_user(stage, event.actor.id),
        "project": hook_project(stage, &t.project),
        "object_attributes": attributes,
        "labels": state.labels.iter().map(|l| label(l)).collect::<Vec<_>>(),
        "changes": changes,
    });
    // Absent, not empty, when nobody is assigned.
    if !state.assignees.is_empty() {
        payload["assignees"] = state.assignees.iter().map(|id| hook_user(stage, *id)).collect();
    }
    (name, payload)
}

fn note_hook(stage: &Stage, event: &Event, comment: &Comment, action: &str) -> (&'static str, Value) {
    let t = &event.thread;
    let confidential = stage.world.look(|world| world.thread(t).is_ok_and(|s| s.confidential));
    let (noteable, key) = match t.kind {
        ThreadKind::Issue => ("Issue", "issue"),
        ThreadKind::MergeRequest => ("MergeRequest", "merge_request"),
    };
    let at = comment.created_at.map(old_time);
    let mut payload = json!({
        "object_kind": "note",
        "event_type": if confidential { "confidential_note" } else { "note" },
        // GitLab names the note's author here, even when somebody else edited it.
        "user": hook_user(stage, comment.author.id),
        "project": hook_project(stage, &t.project),
        "object_attributes": {
            "id": comment.id.0, "note": comment.body, "noteable_type": noteable,
            "type": matches!(event.kind, EventKind::ReviewCommented { .. }).then_some("DiffNote"), "author_id": comment.author.id.0,
            "system": false, "action": action, "created_at": at, "updated_at": event.at.map(old_time),
            "updated_by_id": (action == "update").then_some(event.actor.id.0),
        },
    });
    payload[key] = item(stage, t);
    (if confidential { "Confidential Note Hook" } else { "Note Hook" }, payload)
}

fn item(stage: &Stage, t: &ThreadRef) -> Value {
    let Ok(state) = stage.world.look(|world| world.thread(t).cloned()) else { return Value::Null };
    let mut item = json!({
        "id": state.id, "iid": t.number, "title": state.title, "description": state.body,
        "author_id": state.author.0, "state": if state.open { "opened" } else { "closed" },
        "confidential": state.confidential,
        "assignee_ids": state.assignees.iter().map(|id| id.0).collect::<Vec<_>>(),
        "labels": state.labels.iter().map(|l| label(l)).collect::<Vec<_>>(),
        "created_at": time(state.created_at), "updated_at": time(state.updated_at),
    });
    add_change(stage, &mut item, t, &state);
    item
}

/// Notes still carry the old form of times.
fn old_time(at: planwright::domain::Millis) -> String {
    time(at).replace('T', " ").split('.').next().map(|t| format!("{t} UTC")).unwrap_or_default()
}
