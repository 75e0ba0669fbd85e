//! Purpose: the fakes' webhook deliveries have the headers and fields of real ones.

use planwright::domain::{
    Account, Comment, CommentId, Event, EventKind, ForgeKind, Millis, Permission, ThreadRef,
};
use planwright::forge::ForgeError;
use planwright::forge::local::{NewReview, NewThread, Verdict};
use planwright::intake::translate::{Confidential, Translated, translate};
use serde_json::{Value, json};

use crate::fake_forge::{Delivery, FakeGithub, FakeGitlab};
use crate::forge_contract::{BOT, Face, MARIA, NOW, TOM, rig};

/// One of everything that can happen to an issue, in the order it happened.
async fn story(face: Face) -> (planwright::forge::Local, ThreadRef, Vec<Event>) {
    let rig = rig(face).await;
    let t = rig.issue.clone();
    let events = rig.world.with(|world| {
        let opened = NewThread {
            assignees: vec![BOT],
            labels: vec!["bug".into()],
            ..NewThread::titled("Second", MARIA)
        };
        let mut events = vec![world.open(&rig.project, opened, NOW)?];
        events.push(world.assign(&t, BOT, MARIA, NOW)?);
        events.push(world.label(&t, "go: now", MARIA, NOW)?);
        let comment = world.comment(&t, TOM, "/help", NOW)?;
        let EventKind::CommentCreated { comment: Comment { id, .. } } = &comment.kind else { unreachable!() };
        let id: CommentId = *id;
        events.push(comment);
        events.push(world.edit_comment((&t, id), MARIA, "/status", Millis(NOW.0 + 1_000))?);
        events.push(world.unassign(&t, BOT, TOM, NOW)?);
        events.push(world.unlabel(&t, "go: now", TOM, NOW)?);
        events.push(world.edit_description(&t, MARIA, "new words", NOW)?);
        events.push(world.close(&t, MARIA, NOW)?);
        events.push(world.reopen(&t, MARIA, NOW)?);
        events.push(world.delete_comment(&t, id, MARIA, NOW)?);
        Ok::<_, ForgeError>(events)
    });
    (rig.world, t, events.unwrap().unwrap())
}

fn header<'a>(delivery: &'a Delivery, name: &str) -> &'a str {
    delivery.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str()).unwrap()
}

fn body(delivery: &Delivery) -> Value {
    serde_json::from_slice(&delivery.body).unwrap()
}

#[tokio::test]
async fn github_deliveries() {
    let (world, t, events) = story(Face::GithubToken).await;
    let fake = FakeGithub::start(world).await;
    let told: Vec<(String, String)> = events
        .iter()
        .map(|event| {
            let delivery = fake.webhook(event, "secret");
            let body = body(&delivery);
            assert_eq!(body["repository"]["full_name"], "acme/web");
            assert_eq!(body["sender"]["id"], event.actor.id.0);
            assert_eq!(body["issue"]["number"], event.thread.number);
            assert_eq!(header(&delivery, "x-hub-signature-256").len(), "sha256=".len() + 64);
            (header(&delivery, "x-github-event").to_owned(), body["action"].as_str().unwrap().to_owned())
        })
        .collect();
    let expected = [
        ("issues", "opened"),
        ("issues", "assigned"),
        ("issues", "labeled"),
        ("issue_comment", "created"),
        ("issue_comment", "edited"),
        ("issues", "unassigned"),
        ("issues", "unlabeled"),
        ("issues", "edited"),
        ("issues", "closed"),
        ("issues", "reopened"),
        ("issue_comment", "deleted"),
    ];
    assert_eq!(told, expected.map(|(event, action)| (event.to_owned(), action.to_owned())));

    assert_eq!(body(&fake.webhook(&events[1], "s"))["assignee"]["id"], BOT.0);
    assert_eq!(body(&fake.webhook(&events[2], "s"))["label"]["name"], "go: now");
    let edited = body(&fake.webhook(&events[4], "s"));
    assert_eq!((&edited["comment"]["user"]["id"], &edited["sender"]["id"]), (&json!(TOM.0), &json!(MARIA.0)));
    assert_eq!(t.number, 1);
}

#[tokio::test]
async fn the_signature_covers_the_body_with_the_secret() {
    let (world, _, events) = story(Face::GithubToken).await;
    let fake = FakeGithub::start(world).await;
    let delivery = fake.webhook(&events[1], "one");
    let signature = header(&delivery, "x-hub-signature-256").to_owned();
    assert_eq!(header(&fake.webhook(&events[1], "one"), "x-hub-signature-256"), signature);
    assert_ne!(header(&fake.webhook(&events[1], "two"), "x-hub-signature-256"), signature);
    assert_ne!(header(&fake.webhook(&events[2], "one"), "x-hub-signature-256"), signature);
    let again = fake.webhook(&events[1], "one");
    assert_ne!(header(&again, "x-github-delivery"), header(&delivery, "x-github-delivery"));
}

#[tokio::test]
async fn github_pull_requests() {
    let rig = rig(Face::GithubToken).await;
    let new = NewThread { is_change_request: true, ..NewThread::titled("Change", MARIA) };
    let opened = rig.world.with(|world| world.open(&rig.project, new, NOW)).unwrap().unwrap();
    let fake = FakeGithub::start(rig.world).await;
    let comment = Comment {
        id: CommentId(77),
        author: Account::person(TOM.0, "tom"),
        body: "rather not".into(),
        created_at: Some(NOW),
        edited: false,
        on: None,
    };
    let review = EventKind::Reviewed { comment: comment.clone(), asks_for_changes: true };
    let review = body(&fake.webhook(&Event { kind: review, ..opened.clone() }, "s"));
    assert_eq!(review["review"]["state"], "changes_requested");
    assert_eq!(review["pull_request"]["number"], opened.thread.number);

    let plain =
        body(&fake.webhook(&Event { kind: EventKind::CommentCreated { comment }, ..opened.clone() }, "s"));
    assert!(
        plain["issue"]["pull_request"].is_object(),
        "comments come as issue_comment, marked as of a pull request"
    );
    let asked = EventKind::ReviewRequested { reviewer: Account::person(BOT.0, "planwright") };
    let asked = fake.webhook(&Event { kind: asked, ..opened }, "s");
    assert_eq!(header(&asked, "x-github-event"), "pull_request");
    assert_eq!(body(&asked)["requested_reviewer"]["id"], BOT.0);
}

#[tokio::test]
async fn gitlab_deliveries() {
    let (world, t, events) = story(Face::Gitlab).await;
    let fake = FakeGitlab::start(world).await;
    let deliveries: Vec<Delivery> = events.iter().map(|event| fake.webhook(event, "secret")).collect();
    let told: Vec<(String, Value)> = deliveries
        .iter()
        .map(|d| (header(d, "x-gitlab-event").to_owned(), body(d)["object_attributes"]["action"].clone()))
        .collect();
    let expected = [
        ("Issue Hook", json!("open")),
        ("Issue Hook", json!("update")),
        ("Issue Hook", json!("update")),
        ("Note Hook", json!("create")),
        ("Note Hook", json!("update")),
        ("Issue Hook", json!("update")),
        ("Issue Hook", json!("update")),
        ("Issue Hook", json!("update")),
        ("Issue Hook", json!("close")),
        ("Issue Hook", json!("reopen")),
        ("Emoji Hook", Value::Null),
    ];
    assert_eq!(told, expected.map(|(event, action)| (event.to_owned(), action)));
    assert!(deliveries.iter().all(|d| header(d, "x-gitlab-token") == "secret"));

    let assigned = body(&deliveries[1]);
    let ids = |people: &Value| people.as_array().unwrap().iter().map(|p| p["id"].clone()).collect::<Vec<_>>();
    assert_eq!(ids(&assigned["changes"]["assignees"]["previous"]), [] as [Value; 0]);
    assert_eq!(ids(&assigned["changes"]["assignees"]["current"]), [json!(BOT.0)]);
    assert_eq!(assigned["project"]["path_with_namespace"], "acme/tools/web");
    assert_eq!(assigned["object_attributes"]["iid"], t.number);
    let unassigned = body(&deliveries[5]);
    assert_eq!(ids(&unassigned["changes"]["assignees"]["current"]), [] as [Value; 0]);
    assert!(unassigned.get("assignees").is_none(), "absent, not empty");
    let edited = body(&deliveries[4]);
    assert_eq!(edited["user"]["id"], TOM.0, "GitLab names the note's author");
    assert_eq!(edited["object_attributes"]["updated_by_id"], MARIA.0, "and the editor apart");
}

/// What the door makes of a delivery.
fn heard(forge: ForgeKind, delivery: &Delivery) -> Translated {
    let name = match forge {
        ForgeKind::Github => "x-github-event",
        ForgeKind::Gitlab => "x-gitlab-event",
        ForgeKind::Local => unreachable!("the local forge has no headers of its own"),
    };
    translate(forge, header(delivery, name), &delivery.body, Confidential::Ignored)
}

/// The circle closes: what happened in the world comes out of the webhook as the same event, on either forge.
#[tokio::test]
async fn an_event_survives_the_way_over_either_forge() {
    let (world, _, events) = story(Face::GithubToken).await;
    let github = FakeGithub::start(world).await;
    for event in &events {
        // GitHub does not tell when a comment was deleted.
        let at = event.at.filter(|_| !matches!(event.kind, EventKind::CommentDeleted { .. }));
        let expected = Translated::Events(vec![Event { at, ..event.clone() }]);
        assert_eq!(heard(ForgeKind::Github, &github.webhook(event, "s")), expected);
    }
    let (world, _, events) = story(Face::Gitlab).await;
    let gitlab = FakeGitlab::start(world).await;
    for event in &events {
        let heard = heard(ForgeKind::Gitlab, &gitlab.webhook(event, "s"));
        match (&event.kind, heard) {
            // GitLab sends nothing about it.
            (EventKind::CommentDeleted { .. }, heard) => assert!(matches!(heard, Translated::NotForUs(_))),
            // The hook names the editor by number only; the door leaves the login open.
            (EventKind::CommentEdited { .. }, heard) => {
                let actor = Account { login: String::new(), ..event.actor.clone() };
                assert_eq!(heard, Translated::Events(vec![Event { actor, ..event.clone() }]));
            }
            (_, heard) => assert_eq!(heard, Translated::Events(vec![event.clone()])),
        }
    }
}

#[tokio::test]
async fn what_happens_to_a_change_request_survives_as_well() {
    for (face, forge) in [(Face::GithubToken, ForgeKind::Github), (Face::Gitlab, ForgeKind::Gitlab)] {
        let rig = rig(face).await;
        let new = NewThread { is_change_request: true, ..NewThread::titled("Change", MARIA) };
        let events = rig.world.with(|world| {
            world.set_member(&rig.project, TOM, Permission::Read)?;
            let t = world.open(&rig.project, new, NOW)?.thread;
            let asks = NewReview { verdict: Verdict::AsksForChanges, body: "rather not" };
            let told = world.comment(&t, BOT, "- [ ] 1", NOW)?;
            let EventKind::CommentCreated { comment: Comment { id, .. } } = told.kind else { unreachable!() };
            Ok::<_, ForgeError>([
                world.request_review(&t, TOM, MARIA, NOW)?,
                world.assign(&t, BOT, MARIA, NOW)?,
                world.comment(&t, TOM, "rather not", NOW)?,
                world.unassign(&t, BOT, MARIA, NOW)?,
                world.edit_comment((&t, id), MARIA, "- [x] 1", NOW.plus(1_000))?,
                world.review(&t, TOM, asks, NOW)?,
                world.edit_change_request(&t, MARIA, ("Better", "words"), NOW)?,
                world.merge(&t, MARIA, NOW)?,
            ])
        });
        let events = events.unwrap().unwrap();
        let (github, gitlab) =
            (FakeGithub::start(rig.world.clone()).await, FakeGitlab::start(rig.world.clone()).await);
        let webhook = |event: &Event| match forge {
            ForgeKind::Github => github.webhook(event, "s"),
            ForgeKind::Gitlab | ForgeKind::Local => gitlab.webhook(event, "s"),
        };
        for event in &events {
            let expected = Translated::Events(vec![as_told_by(forge, event)]);
            assert_eq!(heard(forge, &webhook(event)), expected);
        }
        let EventKind::CommentCreated { comment } = &events[2].kind else { unreachable!() };
        let kind = EventKind::ReviewCommented { comment: comment.clone() };
        let event = Event { kind, ..events[2].clone() };
        assert_eq!(heard(forge, &webhook(&event)), Translated::Events(vec![event]));
    }
}

/// GitLab names an editor by number only, and what a reviewer wrote is not in the hook about the review.
fn as_told_by(forge: ForgeKind, event: &Event) -> Event {
    let mut event = event.clone();
    if forge != ForgeKind::Gitlab {
        return event;
    }
    if let EventKind::CommentEdited { .. } = &event.kind {
        event.actor.login = String::new();
    }
    if let EventKind::Reviewed { comment, .. } = &mut event.kind {
        (comment.id, comment.body) = (CommentId(0), String::new());
    }
    event
}
