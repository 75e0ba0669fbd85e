//! Purpose: questions in the thread: asked once, waited for durably, answered by ticks, numbers, words or silence.

use planwright::domain::{Account, AccountId, AccountKind, CommentId, ForgeKind, Millis, Permission};
use planwright::engine::now;
use serde_json::{Value, json};

use super::acting::three_files;
use super::bot::{MARIA, Scene, TOM};
use crate::scripted_model::Misbehaviour;

/// A goal with a decision that asks these questions.
pub(crate) fn unclear(questions: Value) -> Value {
    let mut goal = clear();
    goal["replan_decision"] = decision(json!({
        "replan_needed": true, "confidence": 0.9, "replan_type": "clarification_request",
        "reasoning": "Two things are not said.", "clarification_needed": true, "clarification_questions": questions,
    }));
    goal
}

pub(crate) fn clear() -> Value {
    json!({
        "main_objective": "Check tokens at login", "success_criteria": ["the tests pass"], "constraints": [],
        "context": "", "design_choices_open": false,
    })
}

/// A decision with what matters to the story; the rest as a model leaves it that has nothing to say.
pub(crate) fn decision(given: Value) -> Value {
    let mut full = json!({
        "replan_needed": false, "confidence": 0.9, "reasoning": "It is fine.", "replan_type": "none",
        "target_phase": null, "replan_level": null, "issues_found": [], "recommended_actions": [],
        "clarification_needed": false, "clarification_questions": [],
    });
    full.as_object_mut().unwrap().extend(given.as_object().unwrap().clone());
    full
}

pub(crate) fn two_questions() -> Value {
    json!([
        {"id": "q-1", "type": "scope", "question": "Which logins?", "context": "There are two.",
         "options": ["web", "api"], "assumption": "both"},
        {"id": "q-2", "type": "technical", "question": "Which library checks them?", "context": null,
         "options": [], "assumption": "the one in use"},
    ])
}

/// The newest comment of the bot that asks something.
pub(crate) fn asked(scene: &Scene) -> (CommentId, String) {
    let mut all = scene.bot_comments();
    all.retain(|(_, body)| body.starts_with("## ❓"));
    all.pop().unwrap_or_else(|| panic!("nothing was asked: {:?}", scene.comments()))
}

pub(crate) fn tick(scene: &Scene, by: AccountId, id: CommentId, body: &str) -> planwright::domain::Event {
    scene.act(|world, thread, now| world.edit_comment((thread, id), by, body, now))
}

#[tokio::test]
async fn questions_are_answered_by_a_tick_and_a_number_on_both_forges() {
    for kind in [ForgeKind::Github, ForgeKind::Gitlab] {
        let scene = Scene::on(kind).await;
        scene.model.say("goal_understanding", unclear(two_questions()));
        scene.model.say("goal_understanding", clear());
        three_files(&scene);
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        let (id, body) = asked(&scene);
        assert!(scene.card().contains("waiting for"), "{kind}: {}", scene.card());
        assert!(body.contains("Which logins?") && body.contains("the one in use"), "{kind}: {body}");
        assert_eq!(scene.entries("decomposed").len(), 0, "{kind}: it did not wait");

        let ticked = body.replacen("- [ ] api", "- [x] api", 1);
        assert_ne!(ticked, body, "{kind}: there is no box to tick in {body}");
        bot.hears(&tick(&scene, MARIA, id, &ticked)).await;
        assert_eq!(scene.entries("decomposed").len(), 0, "{kind}: one question is open still");
        bot.told(MARIA, "2. the one that reads JWT").await;

        let answers = scene.entries("answered");
        assert_eq!(answers.len(), 2, "{kind}");
        assert_eq!(answers[0]["answers"][0]["answer"], "api", "{kind}");
        assert_eq!(answers[1]["answers"][0]["answer"], "the one that reads JWT", "{kind}");
        let goals: Vec<_> =
            scene.model.requests().into_iter().filter(|a| a.schema_name == "goal_understanding").collect();
        assert_eq!(goals.len(), 2, "{kind}: the goal is thought about again");
        assert!(goals[1].user.contains("the one that reads JWT"), "{kind}: {}", goals[1].user);
        assert!(scene.card().contains("waiting for approval"), "{kind}: {}", scene.card());
        let discussions = scene.requests(&http::Method::POST, "/discussions").len();
        assert_eq!(discussions, usize::from(kind == ForgeKind::Gitlab), "{kind}");
        let (same, after) = asked(&scene);
        assert!(same == id && after.contains("api"), "{kind}: {after}");
        bot.ends().await;
    }
}

#[tokio::test]
async fn words_are_mapped_by_the_model_and_asked_back_about_once() {
    let scene = Scene::on(ForgeKind::Github).await;
    scene.model.say("goal_understanding", unclear(two_questions()));
    scene.model.say("goal_understanding", clear());
    scene.model.say("answer_mapping", json!({"answers": []}));
    scene.model.say("answer_mapping", json!({"answers": []}));
    scene.model.say(
        "answer_mapping",
        json!({"answers": [
            {"question_id": "q-1", "answer": "web only"}, {"question_id": "q-2", "answer": "ours"},
            {"question_id": "q-9", "answer": "never asked"},
        ]}),
    );
    three_files(&scene);
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let before = scene.bot_comments().len();
    bot.told(MARIA, "Hm, let me think.").await;
    assert_eq!(scene.bot_comments().len(), before + 1, "it asks back: {:?}", scene.comments().last());
    bot.told(MARIA, "Still thinking.").await;
    assert_eq!(scene.bot_comments().len(), before + 1, "once is enough");
    bot.told(MARIA, "Only the web one, with our own library.").await;
    assert!(scene.card().contains("waiting for approval"), "{}", scene.card());
    let mapping = scene.model.requests().into_iter().rfind(|a| a.schema_name == "answer_mapping").unwrap();
    assert!(mapping.user.contains("with our own library"), "{}", mapping.user);
    bot.ends().await;
}

#[tokio::test]
async fn what_others_say_and_what_is_for_others_is_no_answer() {
    let scene = Scene::on(ForgeKind::Github).await;
    scene.model.say("goal_understanding", unclear(two_questions()));
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let (id, body) = asked(&scene);
    bot.told(TOM, "1. none of them").await;
    bot.told(MARIA, "@tom what do you think?\n1. web?").await;
    bot.hears(&tick(&scene, TOM, id, &body.replacen("- [ ] web", "- [x] web", 1))).await;
    assert_eq!(scene.entries("answered").len(), 0);
    assert!(scene.card().contains("waiting for"), "{}", scene.card());
    bot.ends().await;
}

#[tokio::test]
async fn a_question_can_be_skipped_and_an_unknown_one_cannot() {
    let scene = Scene::on(ForgeKind::Github).await;
    scene.model.say("goal_understanding", unclear(two_questions()));
    scene.model.say("goal_understanding", clear());
    three_files(&scene);
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    bot.told(MARIA, "/skip q-7").await;
    assert!(scene.comments().last().unwrap().contains("q-1"), "{:?}", scene.comments().last());
    bot.told(MARIA, "/skip q-2").await;
    bot.told(MARIA, "1. web").await;
    let skipped = &scene.entries("answered")[0]["answers"][0];
    assert!(skipped["question"] == "q-2" && skipped["answer"].is_null(), "{skipped}");
    let assumed = &scene.entries("assumed")[0]["assumptions"][0];
    assert!(assumed["id"] == "A1" && assumed["text"] == "the one in use", "{assumed}");
    assert!(scene.card().contains("A1"), "{}", scene.card());
    bot.ends().await;
}

pub(crate) const AT_ONCE: &str =
    "planning: { enabled: true, replanning: { goal_understanding: { auto_assume_timeout_minutes: 0 } } }\n";

#[tokio::test]
async fn silence_becomes_assumptions_that_a_late_answer_can_overturn() {
    let scene = Scene::on(ForgeKind::Github).await.settings(AT_ONCE);
    scene.model.say("goal_understanding", unclear(two_questions()));
    scene.model.say(
        "task_decomposition",
        json!({"reasoning": "r", "subtasks": [
            {"id": "task_1", "description": "Read the code", "dependencies": [], "estimated_complexity": "low",
             "required_tools": [], "rests_on": []},
            {"id": "task_2", "description": "Check both logins", "dependencies": ["task_1"],
             "estimated_complexity": "low", "required_tools": [], "rests_on": ["A1"]},
        ]}),
    );
    let file = |task: &str, path: &str| {
        super::acting::action(task, "create", json!({"path": path, "content": "x\n"}))
    };
    scene.model.say(
        "action_sequence",
        json!({"execution_order": ["task_1", "task_2"],
               "actions": [file("task_1", "notes/read.md"), file("task_2", "notes/both.md")]}),
    );
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let card = scene.card();
    assert!(card.contains("A1") && card.contains("used by task_2"), "{card}");
    assert_eq!(scene.entries("assumed")[0]["assumptions"].as_array().unwrap().len(), 2);
    let (_, body) = asked(&scene);
    assert!(body.contains("nobody answered"), "{body}");

    scene.model.say(
        "plan_revision",
        json!({"subtasks": [
                   {"id": "task_1", "description": "Read the code", "dependencies": [],
                    "estimated_complexity": "low", "required_tools": [], "rests_on": []},
                   {"id": "task_2", "description": "Check the web login", "dependencies": ["task_1"],
                    "estimated_complexity": "low", "required_tools": [], "rests_on": []}],
               "execution_order": ["task_1", "task_2"],
               "actions": [file("task_1", "notes/read.md"), file("task_2", "notes/web.md")]}),
    );
    bot.told(MARIA, "1. only the web one").await;
    let revised = scene.entries("plan_revised");
    assert_eq!(revised.len(), 1, "{:?}", scene.facts());
    let asked = scene.model.requests().into_iter().rfind(|a| a.schema_name == "plan_revision").unwrap();
    assert!(asked.user.contains("plan task_2 anew, and only that"), "{}", asked.user);
    let card = scene.card();
    assert!(card.contains("Revised #1") && card.contains("Check the web login"), "{card}");
    bot.told(MARIA, "/approve").await;
    let branch = scene.repo.work_branch();
    assert_eq!(scene.repo.read(&branch, "notes/both.md"), None);
    assert_eq!(scene.repo.read(&branch, "notes/web.md").as_deref(), Some("x\n"));
    bot.ends().await;
}

#[tokio::test]
async fn without_assumptions_the_run_waits_and_reminds_once() {
    let settings = "planning: { enabled: true, replanning: { goal_understanding: { auto_assume_timeout_minutes: 0, \
                    auto_assume_on_no_response: false } } }\n";
    let scene = Scene::on(ForgeKind::Github).await.settings(settings);
    scene.model.say("goal_understanding", unclear(two_questions()));
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    assert_eq!(scene.entries("reminded").len(), 1);
    assert_eq!(scene.entries("assumed").len(), 0);
    let reminders = scene.comments().iter().filter(|body| body.contains("@maria")).count();
    assert_eq!(reminders, 1, "{:?}", scene.comments());
    bot.quiet().await;
    assert_eq!(scene.entries("reminded").len(), 1);
    bot.ends().await;
}

fn half_an_hour_later() -> Millis {
    now().plus(31 * 60_000)
}

#[tokio::test]
async fn the_wait_survives_a_restart_and_ends_in_time() {
    let scene = Scene::on(ForgeKind::Gitlab).await;
    scene.model.say("goal_understanding", unclear(two_questions()));
    three_files(&scene);
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    bot.stops().await;
    let bot = scene.start().await;
    bot.quiet().await;
    assert_eq!(scene.entries("assumed").len(), 0, "it is not time yet");
    bot.stops().await;
    let bot = scene.start_with(|ctx| ctx.clock = half_an_hour_later).await;
    bot.quiet().await;
    assert_eq!(scene.entries("assumed").len(), 1, "{:?}", scene.facts());
    assert!(scene.card().contains("waiting for approval"), "{}", scene.card());
    let questions = scene.bot_comments().into_iter().filter(|(_, body)| body.starts_with("## ❓")).count();
    assert_eq!(questions, 1);
    bot.ends().await;
}

#[tokio::test]
async fn the_same_question_is_not_asked_twice() {
    let scene = Scene::on(ForgeKind::Github).await;
    scene.model.say("goal_understanding", unclear(two_questions()));
    scene.model.say("goal_understanding", unclear(two_questions()));
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    bot.told(MARIA, "1. web\n2. ours").await;
    assert_eq!(scene.entries("questions_asked").len(), 1, "the same questions again are no questions");
    assert!(scene.card().contains("waiting for approval"), "{}", scene.card());
    bot.ends().await;
}

#[tokio::test]
async fn however_much_a_model_asks_the_rounds_are_limited() {
    let scene = Scene::on(ForgeKind::Github).await;
    let many = |round: u32| -> Value { (0..200).map(|n| format!("Round {round}, question {n}?")).collect() };
    for round in 0..3 {
        scene.model.say("goal_understanding", unclear(many(round)));
    }
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    for round in scene.entries("questions_asked") {
        assert!(round["questions"].as_array().unwrap().len() <= 10, "{round}");
    }
    let all = (1..=10).map(|n| format!("{n}. yes")).collect::<Vec<_>>().join("\n");
    bot.told(MARIA, &all).await;
    bot.told(MARIA, &all).await;
    assert_eq!(scene.entries("questions_asked").len(), 2, "{:?}", scene.facts());
    assert!(scene.card().contains("waiting for approval"), "{}", scene.card());
    bot.ends().await;
}

/// The higher permission counts, among equals the later word; and that answer is what the goal is thought over with.
#[tokio::test]
async fn two_people_who_differ_are_told_whose_answer_counts() {
    let ada = AccountId(77);
    let (maria_says, ada_says) = ((MARIA, "1. web"), (ada, "1. api"));
    for (kind, permission, said, counts) in [
        (ForgeKind::Github, Permission::Triage, [maria_says, ada_says], "web"),
        (ForgeKind::Gitlab, Permission::Triage, [ada_says, maria_says], "web"),
        (ForgeKind::Github, Permission::Write, [maria_says, ada_says], "api"),
        (ForgeKind::Gitlab, Permission::Write, [ada_says, maria_says], "web"),
    ] {
        let story = format!("{kind}, {permission:?}, {said:?}");
        let scene = Scene::on(kind).await;
        let project = scene.thread.project.clone();
        let hired = scene.world.with(|world| {
            world.add_account(Account::person(ada.0, "ada"));
            world.set_member(&project, ada, permission).unwrap();
        });
        hired.unwrap();
        scene.model.say("goal_understanding", unclear(two_questions()));
        scene.model.say("goal_understanding", clear());
        three_files(&scene);
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        for (who, words) in said {
            bot.told(who, words).await;
        }
        let told = scene.comments().last().unwrap().clone();
        assert!(told.contains(counts) && told.contains("q-1"), "{story}: {told}");
        bot.told(MARIA, "2. ours").await;
        let asked = scene.model.requests();
        let goal = asked.iter().rfind(|asked| asked.schema_name == "goal_understanding").unwrap();
        let answered = format!("the answer to q-1\n{counts}\n");
        assert!(goal.user.contains(&answered), "{story}: {}", goal.user);
        assert_eq!(goal.user.matches("the answer to q-1").count(), 1, "{story}: {}", goal.user);
        bot.ends().await;
    }
}

#[tokio::test]
async fn a_deleted_question_comment_is_posted_again() {
    let scene = Scene::on(ForgeKind::Github).await;
    scene.model.say("goal_understanding", unclear(two_questions()));
    scene.model.say("goal_understanding", clear());
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let (id, _) = asked(&scene);
    bot.hears(&scene.act(|world, thread, now| world.delete_comment(thread, id, MARIA, now))).await;
    let (again, body) = asked(&scene);
    assert_ne!(again, id);
    bot.hears(&tick(&scene, MARIA, again, &body.replacen("- [ ] web", "- [x] web", 1))).await;
    assert_eq!(scene.entries("answered").len(), 1, "the new one can be answered");
    bot.told(MARIA, "2. ours").await;
    assert!(scene.card().contains("waiting for approval"), "{}", scene.card());
    bot.ends().await;
}

#[tokio::test]
async fn a_pause_stops_the_clock_of_a_question() {
    let scene = Scene::on(ForgeKind::Github).await;
    scene.model.say("goal_understanding", unclear(two_questions()));
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    bot.told(MARIA, "/pause").await;
    bot.stops().await;
    let bot = scene.start_with(|ctx| ctx.clock = half_an_hour_later).await;
    bot.quiet().await;
    bot.told(MARIA, "/resume").await;
    assert_eq!(scene.entries("assumed").len(), 0, "half an hour of pause is no half an hour of silence");
    assert!(scene.card().contains("waiting for"), "{}", scene.card());
    bot.stops().await;
}

#[tokio::test]
async fn a_long_conversation_is_read_in_short_and_kept_in_the_history() {
    let scene = Scene::on(ForgeKind::Github).await;
    for n in 0..130 {
        scene.said(if n % 10 == 0 { TOM } else { MARIA }, &format!("remark {n}"));
    }
    scene.model.say("conversation_summary", json!({"summary": "They agreed on the web login."}));
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let asked = scene.model.requests();
    let summed_up = asked.iter().find(|a| a.schema_name == "conversation_summary").unwrap();
    let reads = |user: &str, n: u32| user.lines().any(|line| line.ends_with(&format!("remark {n}")));
    for n in (0..130).filter(|n| n % 10 != 0) {
        assert_eq!(reads(&summed_up.user, n), n < 30, "remark {n}: {}", summed_up.user);
    }
    assert!(!summed_up.user.contains("@tom: remark"), "who may not steer is not read: {}", summed_up.user);
    let goal = asked.iter().find(|a| a.schema_name == "goal_understanding").unwrap();
    assert!(goal.user.contains("They agreed on the web login."), "{}", goal.user);
    assert!(!reads(&goal.user, 29) && reads(&goal.user, 31) && reads(&goal.user, 129), "{}", goal.user);
    let run = scene.entries("triggered")[0]["run"].as_str().unwrap().to_owned();
    let log = scene.dir.path().join("logs").join(run).join("goal_understanding.log");
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("They agreed on the web login.") && log.contains("--- answer"), "{log}");
    let kept = scene.entries("conversation_summed");
    assert_eq!(kept.len(), 1, "later questions read the same: {kept:?}");
    assert!(kept[0]["summary"].as_str().unwrap().contains("They agreed on the web login."), "{kept:?}");

    // The thread grows: what fell out of the newest comments is summed up with what was, once.
    for n in 130..170 {
        scene.said(MARIA, &format!("remark {n}"));
    }
    scene.model.say("conversation_summary", json!({"summary": "And on the other one."}));
    bot.told(MARIA, "/replan the other login too").await;
    let asked = scene.model.requests();
    let again = asked.iter().rfind(|a| a.schema_name == "conversation_summary").unwrap();
    assert!(again.user.contains("They agreed on the web login."), "{}", again.user);
    assert!(!reads(&again.user, 29) && reads(&again.user, 31) && !reads(&again.user, 100), "{}", again.user);
    let steps = asked.iter().rfind(|a| a.schema_name == "task_decomposition").unwrap();
    assert!(steps.user.contains("And on the other one."), "{}", steps.user);
    assert_eq!(scene.entries("conversation_summed").len(), 2);
    bot.ends().await;
}

/// The summary was made and paid for before the question that needed it failed.
#[tokio::test]
async fn a_summary_is_kept_although_the_question_after_it_fails() {
    let scene = Scene::on(ForgeKind::Github).await;
    for n in 0..130 {
        scene.said(MARIA, &format!("remark {n}"));
    }
    scene.model.say("conversation_summary", json!({"summary": "They agreed on the web login."}));
    scene.model.say("goal_understanding", json!({"nonsense": true}));
    scene.model.say("goal_understanding", json!({"nonsense": true}));
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let card = scene.card();
    assert!(card.contains("😕 failed") && card.contains("3 of 200 model calls"), "{card}");
    assert_eq!(scene.facts(), ["triggered", "ask_begun", "conversation_summed", "ask_failed", "failed"]);
    let kept = &scene.entries("conversation_summed")[0];
    assert_eq!((&kept["usage"]["calls"], &kept["usage"]["input_tokens"]), (&json!(1), &json!(100)), "{kept}");
    bot.ends().await;
}

/// The words of a question are put back at once, also when the one who changed them is told nothing because it is a
/// program, and while the run is busy with something else.
#[tokio::test]
async fn a_question_that_a_program_altered_is_put_back() {
    let scene = Scene::on(ForgeKind::Github).await.patient();
    let tidier = Account { id: AccountId(51), login: "tidier".to_owned(), kind: AccountKind::Bot };
    scene.world.with(|world| world.add_account(tidier.clone())).unwrap();
    scene.model.say("goal_understanding", unclear(two_questions()));
    scene.model.say("answer_mapping", json!({"answers": []}));
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let (id, body) = asked(&scene);
    scene.model.misbehave(Misbehaviour::Held);
    let words = scene.said(MARIA, "Hm, let me think.");
    assert_eq!(scene.post(&bot.base, &scene.webhook(&words)).await, 202);
    scene.until_seen("it reads", |scene| scene.card().contains("reading the answers")).await;
    let altered = tick(&scene, tidier.id, id, &body.replace("Which logins?", "All of them?"));
    assert_eq!(scene.post(&bot.base, &scene.webhook(&altered)).await, 202);
    scene.until_seen("it is put back", |scene| asked(scene).1 == body).await;
    assert_eq!(scene.entries("answers_mapped").len(), 0, "the model still thinks");
    assert_eq!(scene.entries("asked_altered").len(), 1);
    assert_eq!(scene.entries("noticed").len(), 0, "programs are not answered");
    scene.model.release();
    bot.quiet().await;
    bot.ends().await;
}
