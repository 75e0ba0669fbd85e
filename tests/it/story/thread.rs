//! Purpose: what people see: 👀, the card, short answers, refusals.

use planwright::domain::{ForgeKind, Reaction};

use planwright::forge::local::NewThread;

use super::bot::{ALL, Front, MARIA, Scene, TOM};

#[tokio::test]
async fn an_assigned_bot_shows_eyes_and_one_card_on_every_forge() {
    for kind in ALL {
        let scene = Scene::on(kind).await;
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        assert_eq!(scene.faces(None), [Reaction::Eyes], "{kind}");
        let card = scene.card();
        insta::allow_duplicates! { insta::assert_snapshot!("card_ready", without_digest(&card).replace("@planwright ", "/")); }
        assert_eq!(
            scene.facts(),
            [
                "triggered",
                "ask_begun",
                "goal_understood",
                "ask_begun",
                "decomposed",
                "ask_begun",
                "sequenced",
                "plan_proposed",
                "specs_set",
                "approved",
                "approval_requested",
                "preview_posted"
            ],
            "{kind}"
        );
        bot.ends().await;
    }
}

/// The digest names the plan's content, which the snapshot shows anyway.
fn without_digest(card: &str) -> String {
    let Some((before, rest)) = card.split_once("1 action · `") else { return card.to_owned() };
    let (digest, after) = rest.split_at(6);
    assert!(digest.bytes().all(|b| b.is_ascii_hexdigit()), "{digest}");
    format!("{before}1 action · `DIGEST{after}")
}

#[tokio::test]
async fn a_model_of_anthropic_plans_as_well() {
    let scene = Scene::on(ForgeKind::Github).await.provider("anthropic");
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    assert!(scene.card().contains("waiting for approval"), "{}", scene.card());
    let asked = scene.model.requests();
    assert!(asked.len() == 3 && asked.iter().all(|asked| asked.path == "/v1/messages"));
    bot.ends().await;
}

#[tokio::test]
async fn a_label_or_a_mention_starts_a_run_as_well() {
    for kind in ALL {
        let scene = Scene::on(kind).await;
        let bot = scene.start().await;
        bot.hears(&scene.act(|world, thread, now| world.label(thread, "planwright", MARIA, now))).await;
        assert_eq!(scene.cards().len(), 1, "{kind}: by label");
        bot.ends().await;

        let scene = Scene::on(kind).await;
        let bot = scene.start().await;
        bot.told(MARIA, "@planwright plan").await;
        assert_eq!(scene.cards().len(), 1, "{kind}: by mention");
        bot.ends().await;
    }
}

#[tokio::test]
async fn triggers_that_are_switched_off_start_nothing() {
    let off = "planning: { enabled: true }\ntriggers: { assign: false, label: null, mention: false }\n";
    let scene = Scene::on(ForgeKind::Github).await.settings(off);
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    bot.hears(&scene.act(|world, thread, now| world.label(thread, "planwright", MARIA, now))).await;
    bot.told(MARIA, "/plan").await;
    assert!(scene.comments().is_empty() && scene.facts().is_empty());
    bot.ends().await;
}

#[tokio::test]
async fn somebody_without_the_right_is_refused_and_the_history_says_so() {
    for kind in ALL {
        let scene = Scene::on(kind).await;
        let bot = scene.start().await;
        bot.assigned(TOM).await;
        let role = if kind == ForgeKind::Gitlab { "Reporter" } else { "triage" };
        assert_eq!(
            scene.comments(),
            [format!(
                "@tom, to plan here I need you to have at least **{role}** permission on this repository, so I did not."
            )]
        );
        assert_eq!(scene.facts(), ["refused", "replied"]);
        assert!(
            scene.faces(None).is_empty() && scene.model.requests().is_empty(),
            "{kind}: something was started"
        );
        bot.ends().await;
    }
}

#[tokio::test]
async fn a_refused_command_gets_a_confused_face_and_changes_nothing() {
    for kind in ALL {
        let scene = Scene::on(kind).await;
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        let before = scene.card();
        let said = scene.said(TOM, "@planwright cancel");
        bot.hears(&said).await;
        let planwright::domain::EventKind::CommentCreated { comment } = said.kind else { unreachable!() };
        assert_eq!(scene.faces(Some(comment.id)), [Reaction::Confused], "{kind}");
        assert_eq!(scene.card(), before);
        assert_eq!(scene.comments().len(), 2, "the card and the preview");
        bot.ends().await;
    }
}

#[tokio::test]
async fn planning_that_is_off_is_said_once() {
    let scene = Scene::on(ForgeKind::Github).await.settings("");
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    bot.told(MARIA, "/plan").await;
    insta::assert_snapshot!(scene.comments().join("\n---\n"), @"@maria, planning is switched off for this repository: whoever runs me can switch it on with `planning: { enabled: true }` in a rule under `repos:` in `config.yaml`, unless the repository's own `.planwright.yaml` says no.");
    assert!(scene.faces(None).is_empty());
    bot.ends().await;
}

#[tokio::test]
async fn help_and_status_are_answered_in_one_comment_each() {
    let scene = Scene::on(ForgeKind::Github).await;
    let bot = scene.start().await;
    bot.told(MARIA, "/status").await;
    bot.told(TOM, "/help").await;
    bot.assigned(MARIA).await;
    bot.told(MARIA, "@planwright status").await;
    let answers: Vec<String> = scene.comments().into_iter().filter(|body| !body.starts_with("## ")).collect();
    assert_eq!(answers.len(), 3);
    insta::assert_snapshot!(answers[0], @"There has been no run on this thread. `/plan` starts one.");
    insta::assert_snapshot!("help_on_github", answers[1]);
    assert!(answers[2].starts_with("**Status**: waiting for approval of 1 action · `"), "{}", answers[2]);
    assert!(answers[2].contains("The plan has 3 steps, 0 of them done."), "{}", answers[2]);
    bot.ends().await;
}

/// GitLab itself carries out `/cancel` and the like, so there the bot is always called by name.
#[tokio::test]
async fn on_gitlab_commands_are_shown_by_name() {
    let scene = Scene::on(ForgeKind::Gitlab).await;
    let bot = scene.start().await;
    bot.told(MARIA, "@planwright help").await;
    bot.assigned(MARIA).await;
    bot.told(MARIA, "@planwright pause").await;
    let all = scene.comments().join("\n");
    assert!(all.contains("`@planwright pause`") && all.contains("`@planwright resume` goes on"), "{all}");
    assert!(!all.contains("`/"), "{all}");
    bot.ends().await;
}

#[tokio::test]
async fn an_unknown_verb_gets_help_once() {
    let scene = Scene::on(ForgeKind::Github).await;
    let bot = scene.start().await;
    bot.told(MARIA, "@planwright make coffee").await;
    bot.told(MARIA, "@planwright make tea").await;
    let comments = scene.comments();
    assert_eq!(comments.len(), 1, "{comments:#?}");
    assert!(comments[0].starts_with("I do not know what “make” means."), "{}", comments[0]);
    bot.ends().await;
}

#[tokio::test]
async fn a_card_that_somebody_deleted_comes_back_as_the_one_card() {
    for kind in [ForgeKind::Github, ForgeKind::Gitlab] {
        let scene = Scene::on(kind).await;
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        let (id, _) = scene.bot_comments()[0];
        let gone = scene.act(|world, thread, now| world.delete_comment(thread, id, MARIA, now));
        assert!(scene.cards().is_empty());
        // GitLab tells nobody about deleted notes; there the next change finds out.
        if kind == ForgeKind::Github {
            bot.hears(&gone).await;
            assert_eq!(scene.cards().len(), 1);
        }
        bot.told(MARIA, "@planwright pause").await;
        assert!(scene.card().contains("paused by @maria"), "{kind}");
        bot.ends().await;
    }
}

#[tokio::test]
async fn a_repository_can_switch_planning_off_for_itself_but_not_on() {
    let scene = Scene::on(ForgeKind::Github).await;
    scene.repo_file("planning: { enabled: false }\n");
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    assert!(scene.comments()[0].contains("planning is switched off"), "{:?}", scene.comments());
    bot.ends().await;

    let scene = Scene::on(ForgeKind::Github).await.settings("");
    scene.repo_file("planning: { enabled: true }\n");
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    assert!(scene.comments()[0].contains("planning is switched off"), "{:?}", scene.comments());
    bot.ends().await;
}

#[tokio::test]
async fn a_broken_repository_file_stops_the_start_and_says_where() {
    let scene = Scene::on(ForgeKind::Github).await;
    scene.repo_file("planing: { enabled: true }\n");
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let comments = scene.comments();
    assert_eq!(comments.len(), 1);
    assert!(comments[0].contains("did you mean `planning`"), "{}", comments[0]);
    assert!(scene.model.requests().is_empty());
    bot.ends().await;
}

/// The run moves through its phases quickly; the thread sees one comment and hardly any edits.
#[tokio::test]
async fn edits_are_coalesced() {
    let scene = Scene::on(ForgeKind::Github).await;
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let Front::Github(fake) = &scene.front else { unreachable!() };
    let created = fake.stage.count(&http::Method::POST, "/issues/1/comments");
    let edited = fake.stage.count(&http::Method::PATCH, "/issues/comments/")
        + fake.stage.count(&http::Method::POST, "/issues/comments/");
    assert_eq!(created, 2, "the card and the preview");
    assert!(edited <= 1, "{edited} edits for one quick run");
    bot.ends().await;
}

#[tokio::test]
async fn a_repository_can_choose_its_language() {
    let scene = Scene::on(ForgeKind::Github).await;
    scene.repo_file("language: Japanese\n");
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let asked = scene.model.requests();
    assert!(asked.len() == 3 && asked.iter().all(|asked| asked.user.contains("for people in Japanese")));
    bot.ends().await;
}

#[tokio::test]
async fn a_pull_or_merge_request_is_a_thread_like_any_other() {
    for kind in [ForgeKind::Github, ForgeKind::Gitlab] {
        let request = NewThread { is_change_request: true, ..NewThread::titled("Faster login", MARIA) };
        let scene = Scene::on(kind).await.about(request);
        let branch = format!("change-{}", scene.thread.number);
        scene.repo.commit(&branch, "Theirs", &[("src/fast.rs", "fn fast() {}\n")]);
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        bot.told(MARIA, "@planwright pause").await;
        assert!(
            scene.card().contains("Faster login") && scene.card().contains("paused"),
            "{kind}: {}",
            scene.card()
        );
        let folder = if kind == ForgeKind::Gitlab { "merge_requests" } else { "issues" };
        assert!(scene.history().parent().unwrap().ends_with(folder), "{kind}");
        bot.hears(&scene.act(|world, thread, now| world.close(thread, MARIA, now))).await;
        assert!(scene.card().contains("stopped"), "{kind}: {}", scene.card());
        bot.ends().await;
    }
}

/// What is said in confidence would reach the model and the history, so it is left alone unless somebody says otherwise.
#[tokio::test]
async fn a_confidential_issue_is_left_alone_unless_the_settings_say_otherwise() {
    let secret = || NewThread { confidential: true, ..NewThread::titled("A leak", MARIA) };
    let scene = Scene::on(ForgeKind::Gitlab).await.about(secret());
    let event = scene.assigned(MARIA);
    let bot = scene.start().await;
    assert_eq!(
        scene.post(&bot.base, &scene.webhook(&event)).await,
        200,
        "answered, so that the hook stays on"
    );
    bot.quiet().await;
    assert!(scene.facts().is_empty() && scene.comments().is_empty() && scene.model.requests().is_empty());
    bot.ends().await;

    let scene = Scene::on(ForgeKind::Gitlab).await.about(secret()).with_confidential();
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    scene.card();
    bot.ends().await;
}

#[tokio::test]
async fn the_command_line_tells_which_plan_a_run_has_and_how_far_it_is() {
    let scene = Scene::on(ForgeKind::Github).await;
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    bot.ends().await;
    let thread = scene.thread.to_string();
    for arguments in [&["runs", "list"] as &[&str], &["runs", "show", &thread]] {
        let said = scene.command("127.0.0.1:0", arguments).output().unwrap();
        let out = String::from_utf8(said.stdout).unwrap();
        assert!(out.contains("plan 0 pending_review: "), "{arguments:?}: {out}");
        assert!(out.contains(&thread), "{arguments:?}: {out}");
    }
}
