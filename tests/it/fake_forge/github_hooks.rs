//! Purpose: GitHub's webhook deliveries, in the shape and with the headers of real ones.

use hmac::{Hmac, KeyInit, Mac};
use planwright::domain::{Comment, Event, EventKind};
use serde_json::{Value, json};
use sha2::Sha256;

use super::github::{issue, label, repository, user};
use super::github_pulls::pull;
use super::{Delivery, Stage, time};

pub(super) fn delivery(stage: &Stage, event: &Event, secret: &str) -> Delivery {
    let (name, payload) = payload(stage, event);
    let body = payload.to_string().into_bytes();
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(&body);
    let signature = format!("sha256={}", hex::encode(mac.finalize().into_bytes()));
    let headers = [
        ("content-type", "application/json"),
        ("user-agent", "GitHub-Hookshot/fake"),
        ("x-github-event", name),
        ("x-github-delivery", &uuid::Uuid::now_v7().to_string()),
        ("x-hub-signature-256", &signature),
    ];
    let headers = headers.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
    Delivery { headers, body }
}

fn payload(stage: &Stage, event: &Event) -> (&'static str, Value) {
    let mut subject = issue(stage, &event.thread);
    let is_pull = subject.get("pull_request").is_some();
    let (name, action) = names(event, is_pull);
    let mut payload = json!({
        "action": action,
        "repository": repository(stage, &event.thread.project),
        "sender": user(stage, event.actor.id),
    });
    // Comments on pull requests come as comments on issues.
    let as_pull = is_pull && name != "issue_comment";
    if as_pull {
        subject = pull(stage, &event.thread);
    } else if let Some(fields) = subject.as_object_mut() {
        // Threads inside payloads carry no repository of their own.
        fields.remove("repository");
    }
    payload[if as_pull { "pull_request" } else { "issue" }] = subject;
    for (key, value) in extras(stage, event) {
        payload[key] = value;
    }
    (name, payload)
}

fn names(event: &Event, is_pull: bool) -> (&'static str, &'static str) {
    let thread = if is_pull { "pull_request" } else { "issues" };
    match &event.kind {
        EventKind::Opened { .. } => (thread, "opened"),
        EventKind::DescriptionEdited => (thread, "edited"),
        EventKind::Closed => (thread, "closed"),
        EventKind::Reopened => (thread, "reopened"),
        EventKind::Assigned { .. } => (thread, "assigned"),
        EventKind::Unassigned { .. } => (thread, "unassigned"),
        EventKind::Labelled { .. } => (thread, "labeled"),
        EventKind::Unlabelled { .. } => (thread, "unlabeled"),
        EventKind::ReviewRequested { .. } => ("pull_request", "review_requested"),
        EventKind::CommentCreated { .. } => ("issue_comment", "created"),
        EventKind::CommentEdited { .. } => ("issue_comment", "edited"),
        EventKind::CommentDeleted { .. } => ("issue_comment", "deleted"),
        EventKind::Reviewed { .. } => ("pull_request_review", "submitted"),
        EventKind::ReviewCommented { .. } => ("pull_request_review_comment", "created"),
    }
}

/// What a payload has beside the thread, the repository and the sender.
fn extras(stage: &Stage, event: &Event) -> Vec<(&'static str, Value)> {
    let edited = ("changes", json!({ "body": { "from": "" } }));
    match &event.kind {
        EventKind::Opened { .. } | EventKind::Closed | EventKind::Reopened => Vec::new(),
        EventKind::DescriptionEdited => vec![edited],
        EventKind::Assigned { assignee } | EventKind::Unassigned { assignee } => {
            vec![("assignee", user(stage, assignee.id))]
        }
        EventKind::Labelled { label: name } | EventKind::Unlabelled { label: name } => {
            vec![("label", label(name))]
        }
        EventKind::ReviewRequested { reviewer } => vec![("requested_reviewer", user(stage, reviewer.id))],
        EventKind::CommentCreated { comment } | EventKind::ReviewCommented { comment } => {
            vec![("comment", told(stage, comment))]
        }
        EventKind::CommentEdited { comment } => {
            let mut comment = told(stage, comment);
            comment["updated_at"] = json!(event.at.map(time));
            vec![("comment", comment), edited]
        }
        EventKind::CommentDeleted { comment_id } => {
            let user = user(stage, event.actor.id);
            vec![(
                "comment",
                json!({ "id": comment_id.0, "body": "", "user": user, "created_at": event.at.map(time) }),
            )]
        }
        EventKind::Reviewed { comment, asks_for_changes } => {
            let mut review = told(stage, comment);
            review["state"] = json!(if *asks_for_changes { "changes_requested" } else { "commented" });
            review["submitted_at"] = json!(comment.created_at.map(time));
            vec![("review", review)]
        }
    }
}

fn told(stage: &Stage, comment: &Comment) -> Value {
    json!({
        "id": comment.id.0, "body": comment.body, "user": user(stage, comment.author.id),
        "author_association": "NONE",
        "created_at": comment.created_at.map(time), "updated_at": comment.created_at.map(time),
    })
}
