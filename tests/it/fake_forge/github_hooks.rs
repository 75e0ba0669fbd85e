//! Purpose: GitHub's webhook deliveries, in the shape and with the headers of real ones.

use hmac::{Hmac, KeyInit, Mac};
use planwright::domain::{Comment, Event, EventKind};
use serde_json::{Value, json};
use sha2::Sha256;

use super::github::{issue, label, repository, user};
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
    let t = &event.thread;
    let subject = issue(stage, t);
    let is_pull = subject.get("pull_request").is_some();
    let mut payload = json!({
        "repository": repository(stage, &t.project),
        "sender": user(stage, event.actor.id),
    });
    let (name, action) = if is_pull { ("pull_request", "pull_request") } else { ("issues", "issue") };
    let (name, action) = match &event.kind {
        EventKind::Opened { .. } => (name, put(&mut payload, "opened", action, subject)),
        EventKind::DescriptionEdited => {
            payload["changes"] = json!({ "body": { "from": "" } });
            (name, put(&mut payload, "edited", action, subject))
        }
        EventKind::Closed => (name, put(&mut payload, "closed", action, subject)),
        EventKind::Reopened => (name, put(&mut payload, "reopened", action, subject)),
        EventKind::Assigned { assignee } => {
            payload["assignee"] = user(stage, assignee.id);
            (name, put(&mut payload, "assigned", action, subject))
        }
        EventKind::Unassigned { assignee } => {
            payload["assignee"] = user(stage, assignee.id);
            (name, put(&mut payload, "unassigned", action, subject))
        }
        EventKind::Labelled { label: given } => {
            payload["label"] = label(given);
            (name, put(&mut payload, "labeled", action, subject))
        }
        EventKind::Unlabelled { label: taken } => {
            payload["label"] = label(taken);
            (name, put(&mut payload, "unlabeled", action, subject))
        }
        EventKind::ReviewRequested { reviewer } => {
            payload["requested_reviewer"] = user(stage, reviewer.id);
            ("pull_request", put(&mut payload, "review_requested", "pull_request", subject))
        }
        EventKind::CommentCreated { comment } => {
            payload["comment"] = told(stage, comment);
            ("issue_comment", put(&mut payload, "created", "issue", subject))
        }
        EventKind::CommentEdited { comment } => {
            payload["comment"] = told(stage, comment);
            payload["changes"] = json!({ "body": { "from": "" } });
            ("issue_comment", put(&mut payload, "edited", "issue", subject))
        }
        EventKind::CommentDeleted { comment_id } => {
            payload["comment"] = json!({
                "id": comment_id.0, "body": "", "user": user(stage, event.actor.id), "created_at": event.at.map(time),
            });
            ("issue_comment", put(&mut payload, "deleted", "issue", subject))
        }
        EventKind::Reviewed { comment, asks_for_changes } => {
            let state = if *asks_for_changes { "changes_requested" } else { "commented" };
            payload["review"] = told(stage, comment);
            payload["review"]["state"] = json!(state);
            payload["review"]["submitted_at"] = json!(comment.created_at.map(time));
            ("pull_request_review", put(&mut payload, "submitted", "pull_request", subject))
        }
        EventKind::ReviewCommented { comment } => {
            payload["comment"] = told(stage, comment);
            ("pull_request_review_comment", put(&mut payload, "created", "pull_request", subject))
        }
    };
    payload["action"] = json!(action);
    (name, payload)
}

/// Sets the thread under its key and hands the action back. Issues inside payloads carry no repository of their own,
/// and pull requests do not say of themselves that they are.
fn put(payload: &mut Value, action: &'static str, key: &str, mut subject: Value) -> &'static str {
    if let Some(fields) = subject.as_object_mut() {
        fields.remove("repository");
        if key == "pull_request" {
            fields.remove("pull_request");
            payload["number"] = fields["number"].clone();
        }
    }
    payload[key] = subject;
    action
}

fn told(stage: &Stage, comment: &Comment) -> Value {
    json!({
        "id": comment.id.0, "body": comment.body, "user": user(stage, comment.author.id),
        "author_association": "NONE",
        "created_at": comment.created_at.map(time), "updated_at": comment.created_at.map(time),
    })
}
