//! Purpose: deliveries in the shapes that the forges send become the right events, and bad ones never do harm.
//!
//! The fixtures are our own, written in those shapes. Those that GitHub and its servers at companies have sent come from
//! the npm package `@octokit/webhooks-examples`, which is installed when the test first needs it.

#![expect(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test that finds something else than it expects fails"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use planwright::domain::{Account, AccountId, AccountKind, Comment, CommentId, Event, EventKind, ForgeKind};
use planwright::intake::translate::{Confidential, INTERNAL_EVENT, Translated, translate};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::mcp::rig::npm_package;

const GITLAB_HOOKS: [&str; 3] = ["Issue Hook", "Merge Request Hook", "Note Hook"];
const GITHUB_EVENTS: [&str; 5] =
    ["issues", "issue_comment", "pull_request", "pull_request_review", "pull_request_review_comment"];

fn fixtures(forge: &str) -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(forge);
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 10, "{forge} has only {} fixtures", files.len());
    files
}

fn fixture(name: &str) -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

/// The name of the event is the first part of the file's name.
fn event_of(forge: ForgeKind, file: &Path) -> String {
    let name = file.file_name().unwrap().to_str().unwrap();
    let first = name.split('.').next().unwrap();
    match (forge, first) {
        (ForgeKind::Gitlab, "issue" | "work_item") => "Issue Hook".to_owned(),
        (ForgeKind::Gitlab, "merge_request") => "Merge Request Hook".to_owned(),
        (ForgeKind::Gitlab, "note") => "Note Hook".to_owned(),
        (ForgeKind::Gitlab, other) => format!("{other} Hook"),
        (ForgeKind::Github | ForgeKind::Local, other) => other.to_owned(),
    }
}

fn described(translated: &Translated) -> String {
    match translated {
        Translated::Events(events) => {
            assert!(!events.is_empty());
            assert!(events.iter().all(|event| event.thread == events[0].thread));
            events.iter().map(|event| serde_json::to_string(event).unwrap()).collect::<Vec<_>>().join("\n")
        }
        Translated::NotForUs(why) => format!("not for us: {why}"),
        Translated::Unreadable { thread, why } => {
            format!(
                "unreadable: {why} ({})",
                thread.as_ref().map_or("no thread".to_owned(), ToString::to_string)
            )
        }
    }
}

fn all(forge: ForgeKind) -> String {
    let mut text = String::new();
    for file in fixtures(forge.as_str()) {
        let body = std::fs::read(&file).unwrap();
        let translated = translate(forge, &event_of(forge, &file), &body, Confidential::Ignored);
        let name = file.file_stem().unwrap().to_str().unwrap();
        writeln!(text, "# {name}\n{}\n", described(&translated)).unwrap();
    }
    text
}

#[test]
fn github_deliveries() {
    insta::assert_snapshot!(all(ForgeKind::Github));
}

#[test]
fn gitlab_deliveries() {
    insta::assert_snapshot!(all(ForgeKind::Gitlab));
}

fn read(forge: ForgeKind, event: &str, body: &Value) -> Translated {
    translate(forge, event, &serde_json::to_vec(body).unwrap(), Confidential::Ignored)
}

#[test]
fn confidential_deliveries_are_read_only_when_they_are_asked_for() {
    let hidden = serde_json::to_vec(&fixture("gitlab/issue.confidential.json")).unwrap();
    let open = serde_json::to_vec(&fixture("gitlab/issue.assigned.json")).unwrap();
    let of = |event, body: &[u8], confidential| translate(ForgeKind::Gitlab, event, body, confidential);
    for (event, body) in
        [("Confidential Issue Hook", &hidden), ("Issue Hook", &hidden), ("Confidential Issue Hook", &open)]
    {
        assert!(matches!(of(event, body, Confidential::Ignored), Translated::NotForUs(_)), "{event}");
        assert!(matches!(of(event, body, Confidential::Accepted), Translated::Events(_)), "{event}");
    }
    let mut note = fixture("gitlab/note.issue.json");
    assert!(matches!(read(ForgeKind::Gitlab, "Confidential Note Hook", &note), Translated::NotForUs(_)));
    note["issue"]["confidential"] = json!(true);
    assert!(matches!(read(ForgeKind::Gitlab, "Note Hook", &note), Translated::NotForUs(_)));
    note["issue"]["confidential"] = json!(false);
    note["object_attributes"]["internal"] = json!(true);
    assert!(matches!(read(ForgeKind::Gitlab, "Note Hook", &note), Translated::NotForUs(_)));
}

/// A run on a thread that is gone has nowhere to go on.
#[test]
fn an_issue_that_is_gone_counts_as_closed() {
    let mut body = fixture("github/issues.assigned.json");
    body["action"] = json!("deleted");
    let Translated::Events(events) = read(ForgeKind::Github, "issues", &body) else { panic!("not an event") };
    assert_eq!(events[0].kind, EventKind::Closed);
}

/// Sets the value at the pointer, or takes it away.
fn without(name: &str, pointer: &str, instead: Option<Value>) -> Value {
    let mut body = fixture(name);
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = body.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    assert!(parent.contains_key(key), "{name} has no {pointer}");
    match instead {
        Some(value) => parent.insert(key.to_owned(), value),
        None => parent.remove(key),
    };
    body
}

#[test]
fn a_missing_field_is_named_with_the_thread() {
    let rows = [
        ("github/issues.assigned.json", "/action", "`action`", "github:acme/web#12"),
        ("github/issues.assigned.json", "/assignee", "`assignee.id`", "github:acme/web#12"),
        ("github/issues.assigned.json", "/assignee/id", "`assignee.id`", "github:acme/web#12"),
        ("github/issues.labeled.json", "/label/name", "`label.name`", "github:acme/web#12"),
        ("github/issues.opened.json", "/repository", "`repository.full_name`", ""),
        ("github/issues.opened.json", "/issue/number", "`issue.number`", ""),
        ("github/issue_comment.created.json", "/comment", "`comment`", "github:acme/web#12"),
        ("github/issue_comment.deleted.json", "/comment/id", "`comment.id`", "github:acme/web#12"),
        ("github/pull_request_review.submitted.json", "/review", "`review`", "github:acme/web#13"),
        ("gitlab/issue.open.json", "/object_attributes", "`object_attributes`", ""),
        ("gitlab/issue.open.json", "/object_attributes/iid", "`object_attributes.iid`", ""),
        ("gitlab/issue.open.json", "/project/path_with_namespace", "`project.path_with_namespace`", ""),
        (
            "gitlab/note.issue.json",
            "/object_attributes/id",
            "`object_attributes.id`",
            "gitlab:acme/shop/web#12",
        ),
        (
            "gitlab/note.issue.json",
            "/object_attributes/note",
            "`object_attributes.note`",
            "gitlab:acme/shop/web#12",
        ),
        ("gitlab/note.issue.json", "/issue", "`issue.iid`", ""),
    ];
    for (name, pointer, missing, thread) in rows {
        let (forge, event) = addressed(name);
        for instead in [None, Some(Value::Null)] {
            match read(forge, &event, &without(name, pointer, instead)) {
                Translated::Unreadable { thread: found, why } => {
                    assert!(why.contains(missing), "{name} {pointer}: {why}");
                    assert_eq!(found.map(|t| t.to_string()).unwrap_or_default(), thread, "{name} {pointer}");
                }
                other => panic!("{name} without {pointer}: {other:?}"),
            }
        }
    }
}

fn addressed(name: &str) -> (ForgeKind, String) {
    let forge = if name.starts_with("github") { ForgeKind::Github } else { ForgeKind::Gitlab };
    (forge, event_of(forge, Path::new(name)))
}

/// What an event does not need cannot spoil it: neither a list of the wrong kind nor bytes that are no text.
#[test]
fn the_lists_of_an_issue_matter_only_when_it_is_opened() {
    let odd = without("github/issues.assigned.json", "/issue/labels", Some(json!("hush-hush")));
    assert!(matches!(read(ForgeKind::Github, "issues", &odd), Translated::Events(_)));
    for name in ["github/issues.assigned.json", "github/issues.opened.json"] {
        let labels = Some(json!([{"name": "bug", "description": "D"}]));
        let text = without(name, "/issue/labels", labels).to_string();
        let (before, after) = text.split_once("\"D\"").unwrap();
        let bytes = [before.as_bytes(), b"\"\xff\"", after.as_bytes()].concat();
        let read = translate(ForgeKind::Github, "issues", &bytes, Confidential::Ignored);
        assert!(matches!(read, Translated::Events(_)), "{name}: {read:?}");
    }
}

#[test]
fn a_field_of_the_wrong_kind_is_reported_without_its_text() {
    let rows = [
        ("github/issues.assigned.json", "/assignee", "github:acme/web#12"),
        ("github/issues.opened.json", "/issue/labels", "github:acme/web#12"),
        ("github/issues.opened.json", "/issue/assignees", "github:acme/web#12"),
        ("github/issues.assigned.json", "/sender", "github:acme/web#12"),
        ("github/issues.assigned.json", "/issue", ""),
        ("github/issue_comment.created.json", "/comment/id", "github:acme/web#12"),
        ("gitlab/issue.assigned.json", "/changes/assignees", "gitlab:acme/shop/web#12"),
        ("gitlab/issue.assigned.json", "/user", "gitlab:acme/shop/web#12"),
        ("gitlab/note.on-a-diff.json", "/object_attributes/system", "gitlab:acme/shop/web!7"),
        ("gitlab/issue.assigned.json", "/project", ""),
    ];
    for (name, pointer, thread) in rows {
        let (forge, event) = addressed(name);
        match read(forge, &event, &without(name, pointer, Some(json!("hush-hush")))) {
            Translated::Unreadable { thread: found, why } => {
                assert!(!why.contains("hush"), "{name} {pointer}: {why}");
                assert_eq!(found.map(|t| t.to_string()).unwrap_or_default(), thread, "{name} {pointer}");
            }
            other => panic!("{name} with text at {pointer}: {other:?}"),
        }
    }
}

#[test]
fn names_that_cannot_be_ours_are_refused() {
    for path in ["../etc", "a/b/c", "", "a", "a b/c"] {
        let body = without("github/issues.assigned.json", "/repository/full_name", Some(json!(path)));
        let read = read(ForgeKind::Github, "issues", &body);
        assert!(matches!(read, Translated::Unreadable { thread: None, .. }), "{path}: {read:?}");
    }
}

#[test]
fn bodies_that_are_no_json_are_refused() {
    let deep = "[".repeat(100_000);
    let rows: [(&[u8], &str); 6] = [
        (b"", "cut off"),
        (b"{\"action\":", "cut off"),
        (b"payload=%7B%22action%22", "application/json"),
        (b"<html>", "not JSON"),
        (b"\xff\xfe{}", "not JSON"),
        (deep.as_bytes(), "not what we expect"),
    ];
    for (body, why) in rows {
        for (forge, event) in
            [(ForgeKind::Github, "issues"), (ForgeKind::Gitlab, "Note Hook"), (ForgeKind::Local, "event")]
        {
            match translate(forge, event, body, Confidential::Ignored) {
                Translated::Unreadable { thread: None, why: said } if said.contains(why) => {}
                other => {
                    panic!("{forge} {:?}: {other:?}", String::from_utf8_lossy(&body[..body.len().min(30)]))
                }
            }
        }
    }
}

/// Depth in parts that we do not read is nobody's business; in parts that we read it is refused.
#[test]
fn deep_nesting_does_no_harm() {
    for depth in [100, 127, 128, 129, 200, 50_000] {
        let nest = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let head = r#""action":"closed","repository":{"full_name":"a/b"},"issue":{"number":1}"#;
        let body = format!(r#"{{{head},"unread":{nest}}}"#);
        let translated = translate(ForgeKind::Github, "issues", body.as_bytes(), Confidential::Ignored);
        assert!(matches!(translated, Translated::Events(_)), "{depth}: {translated:?}");
        let body = format!(r#"{{{head},"sender":{nest}}}"#);
        let translated = translate(ForgeKind::Github, "issues", body.as_bytes(), Confidential::Ignored);
        assert!(matches!(translated, Translated::Unreadable { .. }), "{depth}: {translated:?}");
    }
}

/// Whatever a delivery is cut to, it never becomes an event.
#[test]
fn truncated_deliveries_are_refused() {
    for forge in [ForgeKind::Github, ForgeKind::Gitlab] {
        for file in fixtures(forge.as_str()) {
            let body = std::fs::read(&file).unwrap();
            let end = body.trim_ascii_end().len();
            for cut in (0..end).step_by(97).chain([end - 1]) {
                let translated =
                    translate(forge, &event_of(forge, &file), &body[..cut], Confidential::Ignored);
                assert!(!matches!(translated, Translated::Events(_)), "{} cut at {cut}", file.display());
            }
        }
    }
}

/// As large as GitHub sends them; a generic value would take more than ten times the memory.
#[test]
fn a_body_of_25_megabytes_is_read() {
    let mut body = fixture("github/issue_comment.created.json");
    body["comment"]["body"] = json!("あ".repeat(60_000));
    let unread = r#"{"a":[1,2,{}]},"#.repeat(1_650_000);
    let bytes = format!(r#"{{"unread":[{unread}0],{}"#, &serde_json::to_string(&body).unwrap()[1..]);
    assert!(bytes.len() > 24_000_000, "{}", bytes.len());
    match translate(ForgeKind::Github, "issue_comment", bytes.as_bytes(), Confidential::Ignored) {
        Translated::Events(events) => assert!(
            matches!(&events[..], [Event { kind: EventKind::CommentCreated { comment }, .. }] if comment.body.len() == 180_000)
        ),
        other => panic!("{other:?}"),
    }
}

#[test]
fn two_hundred_thousand_labels_are_compared_in_linear_time() {
    let labels =
        |from: usize| -> Value { (from..from + 200_000).map(|n| json!({"title": n.to_string()})).collect() };
    let mut body = fixture("gitlab/issue.assigned.json");
    body["changes"] = json!({"labels": {"previous": labels(0), "current": labels(1)}});
    match read(ForgeKind::Gitlab, "Issue Hook", &body) {
        Translated::Events(events) => assert_eq!(
            events.into_iter().map(|event| event.kind).collect::<Vec<_>>(),
            [
                EventKind::Unlabelled { label: "0".to_owned() },
                EventKind::Labelled { label: "200000".to_owned() }
            ]
        ),
        other => panic!("{other:?}"),
    }
}

fn first_actor(translated: Translated) -> Account {
    match translated {
        Translated::Events(events) => events[0].actor.clone(),
        other => panic!("{other:?}"),
    }
}

fn account(id: i64, login: &str, kind: AccountKind) -> Account {
    Account { id: AccountId(id), login: login.to_owned(), kind }
}

#[test]
fn who_acted_on_github() {
    let rows = [
        (json!({"login": "maria", "id": 1, "type": "User"}), account(1, "maria", AccountKind::Person)),
        (json!({"login": "maria", "id": 1}), account(1, "maria", AccountKind::Person)),
        (json!({"login": "ci", "id": 2, "type": "Bot"}), account(2, "ci", AccountKind::Bot)),
        (json!({"login": "ci[bot]", "id": 2, "type": "User"}), account(2, "ci[bot]", AccountKind::Bot)),
        (json!({"login": "acme", "id": 3, "type": "Organization"}), account(3, "acme", AccountKind::Bot)),
        (json!({"login": "ghost", "id": 10137, "type": "User"}), account(10137, "ghost", AccountKind::Ghost)),
        (json!({"login": "Ghost", "id": 4, "type": "User"}), account(4, "Ghost", AccountKind::Ghost)),
        (json!({"login": "maria"}), account(10137, "ghost", AccountKind::Ghost)),
        (json!({}), account(10137, "ghost", AccountKind::Ghost)),
        (json!(null), account(10137, "ghost", AccountKind::Ghost)),
    ];
    for (sender, expected) in rows {
        let body = without("github/issues.assigned.json", "/sender", Some(sender.clone()));
        assert_eq!(first_actor(read(ForgeKind::Github, "issues", &body)), expected, "{sender}");
    }
}

/// An edit counts for its editor, a note for its author, whatever `user` says.
#[test]
fn who_acted_on_gitlab() {
    let ghost = account(0, "ghost", AccountKind::Ghost);
    let maria = json!({"id": 11, "username": "maria"});
    let rows = [
        ("create", 11, json!(null), maria.clone(), account(11, "maria", AccountKind::Person)),
        ("create", 12, json!(null), maria.clone(), account(12, "", AccountKind::Person)),
        ("create", 11, json!(null), json!({"username": "maria"}), account(11, "maria", AccountKind::Person)),
        ("update", 11, json!(11), maria.clone(), account(11, "maria", AccountKind::Person)),
        ("update", 11, json!(12), maria.clone(), account(12, "", AccountKind::Person)),
        ("update", 11, json!(null), maria, ghost.clone()),
        ("update", 11, json!(null), json!(null), ghost),
    ];
    for (action, author, editor, user, expected) in rows {
        let mut body = fixture("gitlab/note.issue.json");
        body["object_attributes"]["action"] = json!(action);
        body["object_attributes"]["author_id"] = json!(author);
        body["object_attributes"]["updated_by_id"] = editor.clone();
        body["user"] = user.clone();
        let actor = first_actor(read(ForgeKind::Gitlab, "Note Hook", &body));
        assert_eq!(actor, expected, "{action} of {author} by {editor} as {user}");
    }
}

#[test]
fn a_note_without_an_action_is_an_edit_when_its_times_differ() {
    let mut body = without("gitlab/note.issue.json", "/object_attributes/action", None);
    let kind = |body: &Value| match read(ForgeKind::Gitlab, "Note Hook", body) {
        Translated::Events(events) => events[0].kind.clone(),
        other => panic!("{other:?}"),
    };
    assert!(matches!(kind(&body), EventKind::CommentCreated { .. }));
    body["object_attributes"]["updated_at"] = json!("2026-03-02T11:00:00.000Z");
    assert!(matches!(kind(&body), EventKind::CommentCreated { .. }), "the same time, written differently");
    body["object_attributes"]["updated_at"] = json!("2026-03-02T11:00:01Z");
    assert!(matches!(kind(&body), EventKind::CommentEdited { .. }));
}

#[test]
fn several_changes_come_in_a_safe_order() {
    let person = |id: i64| json!({"id": id, "username": format!("u{id}")});
    let mut body = fixture("gitlab/issue.assigned.json");
    body["changes"] = json!({
        "assignees": {"previous": [person(1)], "current": [person(2)]},
        "labels": {"previous": [{"title": "a"}], "current": [{"title": "b"}]},
        "title": {"previous": "x", "current": "y"},
    });
    let names = |body: &Value| match read(ForgeKind::Gitlab, "Issue Hook", body) {
        Translated::Events(events) => events
            .iter()
            .map(|event| serde_json::to_value(&event.kind).unwrap()["kind"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    let changed = ["unassigned", "unlabelled", "description_edited", "assigned", "labelled"];
    assert_eq!(names(&body), changed);
    body["object_attributes"]["action"] = json!("close");
    assert_eq!(names(&body), [&changed[..], &["closed"]].concat());
    body["object_attributes"]["action"] = json!("reopen");
    assert_eq!(names(&body), [&["reopened"], &changed[..]].concat());
}

#[test]
fn a_reviewer_who_is_asked_again_is_asked() {
    let reviewer = |again: bool| json!({"id": 90, "username": "planwright", "re_requested": again});
    let mut body = fixture("gitlab/merge_request.reviewer.json");
    body["changes"] = json!({"reviewers": {"previous": [reviewer(false)], "current": [reviewer(true)]}});
    assert!(
        matches!(read(ForgeKind::Gitlab, "Merge Request Hook", &body), Translated::Events(events) if events.len() == 1)
    );
    body["changes"] = json!({"reviewers": {"previous": [reviewer(false)], "current": [reviewer(false)]}});
    assert!(matches!(read(ForgeKind::Gitlab, "Merge Request Hook", &body), Translated::NotForUs(_)));
}

#[test]
fn a_reviewer_asks_for_changes_by_a_new_state() {
    let in_state =
        |state: &str| json!([{"id": 11, "username": "maria", "state": state, "re_requested": false}]);
    let nobody = json!([]);
    let asks = EventKind::Reviewed {
        comment: Comment {
            id: CommentId(0),
            author: account(11, "maria", AccountKind::Person),
            body: String::new(),
            created_at: Some(planwright::domain::Millis(1_772_446_530_000)),
            edited: false,
            on: None,
        },
        asks_for_changes: true,
    };
    let rows = [
        (in_state("unreviewed"), in_state("requested_changes"), Some(asks.clone())),
        (in_state("approved"), in_state("requested_changes"), Some(asks.clone())),
        (nobody, in_state("requested_changes"), Some(asks)),
        (in_state("requested_changes"), in_state("requested_changes"), None),
        (in_state("requested_changes"), in_state("unreviewed"), None),
        (in_state("unreviewed"), in_state("reviewed"), None),
    ];
    for (previous, current, expected) in rows {
        let mut body = fixture("gitlab/merge_request.requested-changes.json");
        body["changes"] = json!({"reviewers": {"previous": previous, "current": current}});
        let kinds = match read(ForgeKind::Gitlab, "Merge Request Hook", &body) {
            Translated::Events(events) => events.into_iter().map(|event| event.kind).collect(),
            _ => vec![],
        };
        assert_eq!(kinds, Vec::from_iter(expected), "{previous} to {current}");
    }
}

#[test]
fn our_own_events_pass_through_unchanged() {
    for (forge, name, thread) in [
        (ForgeKind::Local, "event", "local:sample#1"),
        (ForgeKind::Local, INTERNAL_EVENT, "local:sample#1"),
        (ForgeKind::Github, INTERNAL_EVENT, "github:acme/web#1"),
        (ForgeKind::Gitlab, INTERNAL_EVENT, "gitlab:acme/shop/web!7"),
    ] {
        let author = Account::person(1, "maria");
        let comment = Comment {
            id: CommentId(5),
            author: author.clone(),
            body: "hi".to_owned(),
            created_at: None,
            edited: false,
            on: None,
        };
        let event = Event {
            thread: thread.parse().unwrap(),
            actor: author,
            at: None,
            kind: EventKind::CommentCreated { comment },
        };
        let body = serde_json::to_vec(&event).unwrap();
        assert_eq!(translate(forge, name, &body, Confidential::Ignored), Translated::Events(vec![event]));
        assert!(matches!(translate(forge, "other", &body, Confidential::Ignored), Translated::NotForUs(_)));
    }
}

#[test]
fn an_event_of_another_forge_is_refused() {
    let event = r#"{"thread":"github:a/b#1","actor":{"id":1,"login":"m","kind":"person"},"at":null,"kind":{"kind":"closed"}}"#;
    for (forge, name) in [(ForgeKind::Local, "event"), (ForgeKind::Gitlab, INTERNAL_EVENT)] {
        let translated = translate(forge, name, event.as_bytes(), Confidential::Accepted);
        assert!(
            matches!(translated, Translated::Unreadable { thread: Some(_), .. }),
            "{forge}: {translated:?}"
        );
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_do_no_harm(body in prop::collection::vec(any::<u8>(), 0..400)) {
        for event in GITHUB_EVENTS {
            let _ = translate(ForgeKind::Github, event, &body, Confidential::Accepted);
        }
        for event in GITLAB_HOOKS {
            let _ = translate(ForgeKind::Gitlab, event, &body, Confidential::Accepted);
        }
        let _ = translate(ForgeKind::Local, "event", &body, Confidential::Accepted);
    }

    /// One value anywhere in a real delivery is replaced: an event, a refusal, a complaint, never a panic.
    #[test]
    fn damaged_deliveries_do_no_harm(pick in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), what in 0..6_usize) {
        let names = ["github/issues.opened.json", "github/issue_comment.edited.json", "gitlab/issue.unassigned-and-relabelled.json", "gitlab/note.issue.json", "gitlab/merge_request.reviewer.json", "gitlab/merge_request.requested-changes.json"];
        let name = names[pick.index(names.len())];
        let (forge, event) = addressed(name);
        let mut body = fixture(name);
        let mut pointers = Vec::new();
        collect_pointers(&body, String::new(), &mut pointers);
        let pointer = &pointers[at.index(pointers.len())];
        *body.pointer_mut(pointer).unwrap() =
            [json!(null), json!(-1), json!("x"), json!([]), json!({}), json!(1.5)][what].clone();
        let _ = read(forge, &event, &body);
    }
}

fn collect_pointers(value: &Value, at: String, pointers: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(map) => {
            map.iter().map(|(key, child)| (key.replace('~', "~0").replace('/', "~1"), child)).collect()
        }
        Value::Array(list) => list.iter().enumerate().map(|(n, child)| (n.to_string(), child)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    for (key, child) in children {
        collect_pointers(child, format!("{at}/{key}"), pointers);
    }
    pointers.push(at);
}

#[test]
fn recorded_github_deliveries_are_all_readable() {
    let package = npm_package("@octokit/webhooks-examples", "7.6.1");
    for (server, least) in [("api.github.com", 40), ("ghes-35", 20)] {
        let events = recorded(&package.join(server).join("index.json"));
        assert!(events >= least, "only {events} of the deliveries recorded at {server} are for us");
    }
}

/// How many of the deliveries in the file are for us. All must be readable.
fn recorded(index: &Path) -> usize {
    let kinds: Value = serde_json::from_slice(&std::fs::read(index).unwrap()).unwrap();
    let mut events = 0;
    for kind in kinds.as_array().unwrap() {
        let name = kind["name"].as_str().unwrap();
        for example in kind["examples"].as_array().unwrap() {
            match read(ForgeKind::Github, name, example) {
                Translated::Events(_) => events += 1,
                Translated::NotForUs(_) => {}
                Translated::Unreadable { why, .. } => panic!("{name} {}: {why}", example["action"]),
            }
        }
    }
    events
}
