//! Purpose: nothing is approved that people could not read: previews that somebody tries to hide something in, that are
//! too long for one comment, or that cannot show all of an action.

use std::fmt::Write as _;

use planwright::domain::ForgeKind;
use serde_json::{Value, json};

use super::acting::{action, sequence};
use super::bot::{ALL, FACES, MARIA, Scene};
use crate::fake_forge::Fault;

/// An action with a purpose of somebody's choice.
fn with_purpose(task: &str, path: &str, purpose: &str) -> Value {
    let mut action = action(task, "create", json!({"path": path, "content": "x\n"}));
    action["purpose"] = json!(purpose);
    action
}

#[tokio::test]
async fn a_key_that_begins_in_one_action_and_ends_in_another_hides_nothing_between_them() {
    for kind in ALL {
        let scene = Scene::on(kind).await;
        let begin = "-----BEGIN RSA PRIVATE KEY-----";
        let end = "-----END RSA PRIVATE KEY-----";
        scene.model.say(
            "action_sequence",
            sequence(vec![
                with_purpose("task_1", "a.md", &format!("the first {begin}")),
                with_purpose("task_1", "b.md", "the second"),
                with_purpose("task_2", ".github/workflows/ci.yml", "the third"),
                with_purpose("task_2", "d.md", "the fourth"),
                with_purpose("task_3", "e.md", &format!("{end} the fifth")),
            ]),
        );
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        let [(_, preview)] = scene.previews().try_into().unwrap();
        for (number, path, words) in [
            (1, "a.md", "the first"),
            (2, "b.md", "the second"),
            (3, ".github/workflows/ci.yml", "the third"),
            (4, "d.md", "the fourth"),
            (5, "e.md", "the fifth"),
        ] {
            let entry = format!("- [ ] **{number}** `create` `{path}` · ");
            assert!(preview.contains(&entry) && preview.contains(words), "{preview}");
        }
        bot.told(MARIA, "/cancel").await;
        bot.ends().await;
    }
}

/// Paths that fill more than one comment.
fn long_plan() -> Value {
    let path = |n: usize| format!("{}/{n}.md", vec!["d".repeat(240); 4].join("/"));
    let create =
        |n| action(&format!("task_{}", n % 3 + 1), "create", json!({"path": path(n), "content": "x\n"}));
    sequence((0..80).map(create).collect())
}

#[tokio::test]
async fn a_plan_that_does_not_fit_into_one_comment_takes_several_and_is_approved_after_the_last() {
    for kind in ALL {
        let scene = Scene::on(kind).await;
        scene.model.say("action_sequence", long_plan());
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        let previews = scene.previews();
        assert!(previews.len() > 1, "{}", previews.len());
        let mut shown = String::new();
        for (at, (_, text)) in previews.iter().enumerate() {
            let part = format!(" · part {} of {}", at + 1, previews.len());
            assert!(text.lines().next().unwrap().ends_with(&part), "{text}");
            write!(shown, "{text}").unwrap();
        }
        for number in 1..=80 {
            assert_eq!(shown.matches(&format!("- [ ] **{number}** `create` `ddd")).count(), 1, "{number}");
        }
        // What is approved is the point here, not the work.
        bot.told(MARIA, "@planwright pause").await;
        bot.told(MARIA, "@planwright approve").await;
        assert_eq!(scene.entries("approved")[0]["actions"].as_array().unwrap().len(), 80);
        assert_eq!(scene.previews(), previews, "no part is touched again");
        bot.told(MARIA, "@planwright cancel").await;
        bot.ends().await;
    }
}

/// The second comment cannot be posted at first: nothing can be answered before all of it stands, and none stands twice.
#[tokio::test]
async fn a_part_that_cannot_be_posted_is_posted_later_and_nothing_is_approved_before() {
    for kind in FACES {
        let scene = Scene::on(kind).await;
        scene.model.say("action_sequence", long_plan());
        let process = scene.spawn().await;
        let path = match kind {
            ForgeKind::Github => "/comments",
            ForgeKind::Gitlab | ForgeKind::Local => "/notes",
        };
        process.post(&scene.webhook(&scene.assigned(MARIA))).await;
        scene.until_seen("the first part", |scene| !scene.previews().is_empty()).await;
        scene.fault(http::Method::POST, path, Fault::Status(502), 1);
        process.post(&scene.webhook(&scene.said(MARIA, "/approve"))).await;
        scene.until_seen("all parts", |scene| !scene.entries("preview_posted").is_empty()).await;
        let first = scene.previews();
        let of = format!("of {}", first.len());
        assert!(first.iter().all(|(_, text)| text.lines().next().unwrap().ends_with(&of)), "{first:?}");
        let refused = scene.all_requests().iter().any(|asked| asked.ends_with("Some(502)"));
        assert!(refused, "{kind}: nothing was refused: {:?}", scene.all_requests());
        scene.heal();
        scene
            .until_seen("the answer", |scene| {
                scene.comments().iter().any(|text| text.contains("the preview is younger than these words"))
            })
            .await;
        assert_eq!(scene.entries("approved").len(), 0);
        process.kill();
    }
}

/// A part that somebody deletes takes the whole request with it.
#[tokio::test]
async fn a_deleted_part_voids_the_request() {
    // GitLab does not tell of deleted notes.
    for kind in [ForgeKind::Local, ForgeKind::Github] {
        let scene = Scene::on(kind).await;
        scene.model.say("action_sequence", long_plan());
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        let first = scene.previews();
        let last = first.last().unwrap().0;
        let gone = scene.act(|world, thread, now| world.delete_comment(thread, last, MARIA, now));
        bot.hears(&gone).await;
        let again = scene.previews();
        assert_eq!(again.len(), first.len() * 2 - 1, "all of it is put up again");
        assert!(again.last().unwrap().1.starts_with("## 🔎 Approval 2 "), "{:?}", again.last());
        bot.told(MARIA, "/cancel").await;
        bot.ends().await;
    }
}

/// Nobody told of it, but what is approved has to be there.
#[tokio::test]
async fn an_approval_of_a_preview_that_lost_a_part_does_not_count() {
    for kind in ALL {
        let scene = Scene::on(kind).await;
        scene.model.say("action_sequence", long_plan());
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        let first = scene.previews();
        scene.act(|world, thread, now| world.delete_comment(thread, first[1].0, MARIA, now));
        bot.told(MARIA, "/approve").await;
        assert_eq!(scene.entries("approved").len(), 0, "{kind}");
        let said = scene.comments();
        assert!(said.iter().any(|text| text.contains("deleted a part of the preview")), "{kind}: {said:?}");
        assert_eq!(scene.previews().len(), first.len() * 2 - 1, "{kind}: all of it is put up again");
        bot.told(MARIA, "@planwright pause").await;
        bot.told(MARIA, "@planwright approve").await;
        assert_eq!(scene.entries("approved").len(), 1, "{kind}");
        bot.told(MARIA, "@planwright cancel").await;
        bot.ends().await;
    }
}

/// What looks like a secret is not shown, so whoever approves it has to say that this is what they mean.
#[tokio::test]
async fn an_action_that_cannot_be_shown_whole_has_to_be_named() {
    for kind in ALL {
        let scene = Scene::on(kind).await;
        let secret = format!("ghp_{}", "aB3dE5gH7jK9".repeat(3));
        let path = format!("docs/{secret}.md");
        scene.model.say(
            "action_sequence",
            sequence(vec![
                action("task_1", "create", json!({"path": "a.md", "content": "a\n"})),
                action("task_2", "create", json!({"path": path, "content": "b\n"})),
                action("task_3", "create", json!({"path": "c.md", "content": "c\n"})),
            ]),
        );
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        let [(_, preview)] = scene.previews().try_into().unwrap();
        assert!(
            preview.contains("A part of this action is not shown here") && !preview.contains(&secret),
            "{preview}"
        );
        for words in ["/approve task_1 task_2", "/approve 1-3", "/approve except 3", "/approve"] {
            bot.told(MARIA, words).await;
            assert_eq!(scene.entries("approved").len(), 0, "{words}");
        }
        let answer = scene.comments().last().unwrap().clone();
        assert!(answer.contains("does not show all of action 2"), "{answer}");
        assert!(answer.contains("history export --plans"), "{answer}");
        bot.told(MARIA, "/approve 1,2,3").await;
        assert_eq!(scene.entries("approved")[0]["actions"].as_array().unwrap().len(), 3);
        bot.ends().await;
    }
}
