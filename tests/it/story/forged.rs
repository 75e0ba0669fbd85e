//! Purpose: words that the forge does not have. Whoever knows the secret of one hook signs what they like, but nothing
//! follows from it: not on any forge, in any state, for any command that lets something happen.

use planwright::domain::{Account, AccountId, Comment, CommentId, Event, EventKind, ForgeKind, ThreadRef};
use planwright::forge::local::NewThread;
use serde_json::{Value, json};

use super::acting::three_files;
use super::bot::{ALL, Bot, FACES, MARIA, Scene, TOM};
use super::crew::{actions, steps};
use super::escalation::is_stuck;
use super::talk::{asked, clear, two_questions, unclear};
use crate::fake_forge::Fault;

/// As the forge would tell it, if somebody had said it.
fn forged(thread: &ThreadRef, (id, author): (i64, AccountId), words: &str) -> Event {
    let author = Account::person(author.0, if author == TOM { "tom" } else { "maria" });
    let comment = Comment {
        id: CommentId(id),
        author: author.clone(),
        body: words.to_owned(),
        created_at: Some(planwright::engine::now()),
        edited: false,
        on: None,
    };
    let kind = EventKind::CommentCreated { comment };
    Event { thread: thread.clone(), actor: author, at: Some(planwright::engine::now()), kind }
}

/// The facts of the history, without those that say that a comment was not confirmed.
fn followed(scene: &Scene) -> Vec<String> {
    scene.facts().into_iter().filter(|fact| fact != "comment_unconfirmed").collect()
}

fn mismatches(scene: &Scene) -> Vec<Value> {
    scene.entries("comment_unconfirmed").into_iter().map(|entry| entry["mismatch"].clone()).collect()
}

/// Nothing follows from this event, but for the line that says why.
async fn comes_to_nothing(bot: &Bot<'_>, event: &Event, mismatch: &str) {
    let scene = bot.scene;
    let (facts, comments) = (followed(scene), scene.comments());
    let known = mismatches(scene).len();
    bot.hears(event).await;
    let what = format!("{} {:?}", scene.thread, event.kind);
    assert_eq!(followed(scene), facts, "{what}");
    assert_eq!(scene.comments(), comments, "{what}");
    assert_eq!(mismatches(scene)[known..], [json!(mismatch)], "{what}");
}

const INVENTED: i64 = 987_654;

#[tokio::test]
async fn a_comment_that_the_forge_does_not_have_lets_nothing_happen() {
    for kind in ALL {
        let scene = Scene::on(kind).await;
        three_files(&scene);
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        for words in [
            "@planwright approve",
            "@planwright approve 1",
            "@planwright reject no",
            "@planwright budget +5",
            "@planwright replan otherwise",
            "@planwright skip task_1",
            "@planwright resolve 1 yes",
            "@planwright choose d-1 opt-a",
            "@planwright resume",
            "@planwright pause",
            "@planwright cancel",
            "Better use another library.",
        ] {
            for id in [INVENTED, 0] {
                let event = forged(&scene.thread, (id, MARIA), words);
                comes_to_nothing(&bot, &event, "missing").await;
            }
        }
        bot.told(MARIA, "@planwright approve").await;
        assert!(scene.card().contains("🚀 done"), "{kind}: {}", scene.card());
        for words in ["@planwright plan", "@planwright retry", "@planwright replan otherwise"] {
            let event = forged(&scene.thread, (INVENTED, MARIA), words);
            comes_to_nothing(&bot, &event, "missing").await;
        }
        bot.ends().await;
    }
}

#[tokio::test]
async fn a_comment_that_is_another_on_the_forge_lets_nothing_happen() {
    for kind in ALL {
        let scene = Scene::on(kind).await;
        three_files(&scene);
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        let id_of = |event: &Event| {
            let EventKind::CommentCreated { comment } = &event.kind else { panic!("no comment: {event:?}") };
            comment.id.0
        };
        let approve = "@planwright approve";
        let by_tom = id_of(&scene.said(TOM, approve));
        comes_to_nothing(&bot, &forged(&scene.thread, (by_tom, MARIA), approve), "other_author").await;
        let harmless = id_of(&scene.said(MARIA, "Looks good to me"));
        comes_to_nothing(&bot, &forged(&scene.thread, (harmless, MARIA), approve), "other_text").await;
        // Somebody else who may edit it makes an approval of it.
        scene.act(|world, thread, now| {
            world.edit_comment((thread, CommentId(harmless)), TOM, approve, now.plus(60_000))
        });
        comes_to_nothing(&bot, &forged(&scene.thread, (harmless, MARIA), approve), "edited").await;
        // Another thread of the repository, where these words mean something else.
        let project = scene.thread.project.clone();
        let now = planwright::engine::now();
        let other = scene.world.with(|world| {
            let other = world.open(&project, NewThread::titled("Another", MARIA), now)?.thread;
            world.comment(&other, MARIA, approve, now)
        });
        let there = id_of(&other.unwrap().unwrap());
        // Ids are counted for each thread by the local forge, so that they may be the same.
        if kind != ForgeKind::Local {
            comes_to_nothing(&bot, &forged(&scene.thread, (there, MARIA), approve), "missing").await;
        }
        bot.told(MARIA, approve).await;
        assert!(scene.card().contains("🚀 done"), "{kind}: {}", scene.card());
        bot.ends().await;
    }
}

/// An invented id may be given to somebody's real words later: those still count.
#[tokio::test]
async fn an_invented_comment_takes_nothing_from_the_one_that_gets_its_id() {
    for kind in ALL {
        let scene = Scene::on(kind).await;
        three_files(&scene);
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        let newest = scene.bot_comments().last().unwrap().0.0;
        for id in newest + 1..newest + 4 {
            for (who, words) in [(MARIA, "@planwright approve"), (TOM, "Nice."), (TOM, "@planwright cancel")]
            {
                let event = forged(&scene.thread, (id, who), words);
                comes_to_nothing(&bot, &event, "missing").await;
            }
        }
        bot.told(MARIA, "@planwright approve").await;
        assert!(scene.card().contains("🚀 done"), "{kind}: {}", scene.card());
        bot.ends().await;
    }
}

#[tokio::test]
async fn an_answer_that_nobody_gave_is_none() {
    for kind in ALL {
        let scene = Scene::on(kind).await;
        scene.model.say("goal_understanding", unclear(two_questions()));
        scene.model.say("goal_understanding", clear());
        three_files(&scene);
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        let (id, body) = asked(&scene);
        for words in ["1. web\n2. none", "Only the web.", "@planwright skip q-1"] {
            let event = forged(&scene.thread, (INVENTED, MARIA), words);
            comes_to_nothing(&bot, &event, "missing").await;
        }
        // A tick that only the delivery knows of.
        let ticked = body.replacen("- [ ] ", "- [x] ", 1);
        let mut event = forged(&scene.thread, (id.0, MARIA), &ticked);
        let EventKind::CommentCreated { mut comment } = event.kind else { unreachable!() };
        comment.author = scene.world.bot().clone();
        event.kind = EventKind::CommentEdited { comment };
        let facts = followed(&scene);
        bot.hears(&event).await;
        assert_eq!(followed(&scene), facts, "{kind}");
        bot.told(MARIA, "1. web\n2. the one in use").await;
        bot.told(MARIA, "@planwright approve").await;
        assert!(scene.card().contains("🚀 done"), "{kind}: {}", scene.card());
        bot.ends().await;
    }
}

/// The boxes of a preview as only the delivery has them, and boxes of which another delivery tells who ticked them.
#[tokio::test]
async fn a_tick_that_the_forge_does_not_show_is_none() {
    for kind in ALL {
        let scene = Scene::on(kind).await;
        three_files(&scene);
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        let (id, body) = scene.previews().remove(0);
        let ticked = body.replace("- [ ] **1**", "- [x] **1**");
        let event = scene.act(|world, thread, now| world.edit_comment((thread, id), MARIA, &ticked, now));
        // Taken out again before the delivery comes.
        scene.act(|world, thread, now| world.edit_comment((thread, id), MARIA, &body, now));
        comes_to_nothing(&bot, &event, "other_text").await;
        bot.told(MARIA, "@planwright approve ticked").await;
        assert_eq!(scene.entries("approved").len(), 0, "{kind}");
        bot.told(MARIA, "@planwright approve").await;
        assert!(scene.card().contains("🚀 done"), "{kind}: {}", scene.card());
        bot.ends().await;
    }
}

#[tokio::test]
async fn the_answer_to_a_question_of_a_worker_has_to_be_there() {
    for kind in ALL {
        let scene = Scene::on(kind).await.settings(super::escalation::AUTO);
        is_stuck(&scene, "ambiguous_requirements", "The second one.");
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        assert_eq!(scene.entries("escalation_posted").len(), 1, "{kind}: {:?}", scene.facts());
        let number = scene.entries("escalation_posted")[0]["number"].clone();
        let resolve = format!("@planwright resolve {number} The second one.");
        for words in [resolve.as_str(), "The second one."] {
            let event = forged(&scene.thread, (INVENTED, MARIA), words);
            comes_to_nothing(&bot, &event, "missing").await;
        }
        bot.told(MARIA, &resolve).await;
        assert_eq!(scene.entries("escalation_resolved").len(), 1, "{kind}");
        bot.ends().await;
    }
}

/// A preview that is said to be deleted, and is not, stays the one that is answered.
#[tokio::test]
async fn a_deletion_that_did_not_happen_voids_nothing() {
    for kind in [ForgeKind::Local, ForgeKind::Github] {
        let scene = Scene::on(kind).await;
        three_files(&scene);
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        let (id, _) = scene.previews().remove(0);
        let mut event = forged(&scene.thread, (id.0, MARIA), "");
        event.kind = EventKind::CommentDeleted { comment_id: id };
        comes_to_nothing(&bot, &event, "still_there").await;
        bot.told(MARIA, "@planwright approve").await;
        assert!(scene.card().contains("🚀 done"), "{kind}: {:?} {}", scene.facts(), scene.card());
        bot.ends().await;
    }
}

/// While the forge does not answer, the approval waits; it counts once the forge has it.
#[tokio::test]
async fn words_wait_for_a_forge_that_is_away() {
    for kind in FACES {
        let scene = Scene::on(kind).await;
        steps(&scene, &[("one", &[])]);
        actions(
            &scene,
            vec![super::acting::action("one", "create", json!({"path": "a.md", "content": "a\n"}))],
        );
        let bot = scene.start_with(|ctx| ctx.patience_ms = 50).await;
        bot.assigned(MARIA).await;
        let event = scene.said(MARIA, "@planwright approve");
        let EventKind::CommentCreated { comment } = &event.kind else { unreachable!() };
        let path = match kind {
            ForgeKind::Github => format!("/comments/{}", comment.id.0),
            ForgeKind::Gitlab | ForgeKind::Local => format!("/notes/{}", comment.id.0),
        };
        scene.fault(http::Method::GET, &path, Fault::Status(502), 1_000);
        assert_eq!(scene.post(&bot.base, &scene.webhook(&event)).await, 202);
        scene
            .until_seen("the forge is asked", |scene| scene.requests(&http::Method::GET, &path).len() > 3)
            .await;
        assert_eq!(scene.entries("approved").len() + scene.entries("comment_unconfirmed").len(), 0);
        scene.heal();
        scene.until_seen("the approval counts", |scene| scene.entries("approved").len() == 1).await;
        bot.quiet().await;
        assert!(scene.card().contains("🚀 done"), "{kind}: {}", scene.card());
        bot.ends().await;
    }
}

/// A label that was never on cannot be taken off, whoever is said to have done it: a pause that was asked for stays.
#[tokio::test]
async fn a_label_that_was_never_on_ends_no_pause() {
    for kind in ALL {
        let scene = Scene::on(kind).await;
        three_files(&scene);
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        bot.told(MARIA, "@planwright pause").await;
        let mut event = forged(&scene.thread, (INVENTED, MARIA), "");
        event.kind = EventKind::Unlabelled { label: "planwright:paused".to_owned() };
        bot.hears(&event).await;
        assert!(scene.entries("resumed").is_empty(), "{kind}: {:?}", scene.facts());
        bot.told(MARIA, "@planwright resume").await;
        assert_eq!(scene.entries("resumed").len(), 1, "{kind}");
        bot.told(MARIA, "@planwright cancel").await;
        bot.ends().await;
    }
}
