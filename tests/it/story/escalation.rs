//! Purpose: a worker is stuck: every row of the table says who is asked, and what becomes of the answer.

use planwright::domain::{Account, AccountId, ForgeKind, Millis, Permission};
use serde_json::{Value, json};

use super::acting::action;
use super::bot::{MARIA, Scene, TOM};
use super::crew::{actions, judged, path_of, steps, turn};
use super::talk::decision;

pub(crate) const AUTO: &str =
    "planning: { enabled: true }\napproval: { auto: medium }\ncrew: { workers: 2 }\n";
const FACES: [ForgeKind; 2] = [ForgeKind::Github, ForgeKind::Gitlab];

/// Two steps that do not need each other; who writes `stuck.md` is stuck until it has heard these words.
async fn stuck(kind: ForgeKind, category: &str, until: &'static str) -> Scene {
    let scene = Scene::on(kind).await.settings(AUTO);
    is_stuck(&scene, category, until);
    scene
}

pub(crate) fn is_stuck(scene: &Scene, category: &str, until: &'static str) {
    steps(scene, &[("hard", &[]), ("easy", &[]), ("last", &["hard"])]);
    let write = |step: &str, path: &str| action(step, "create", json!({"path": path}));
    actions(scene, vec![write("hard", "stuck.md"), write("easy", "easy.md"), write("last", "last.md")]);
    let category = category.to_owned();
    scene.model.always_say("worker_turn", move |asked| match path_of(asked) {
        path if path == "stuck.md" && !asked.user.contains(until) => difficulty(&category, "escalate"),
        path => turn("write_file", json!({"content": format!("written to {path}\n"), "path": path})),
    });
}

pub(crate) fn difficulty(category: &str, wants: &str) -> Value {
    turn(
        "finish",
        json!({"feedback": {
            "type": "difficulty", "issue": "Two readings fit the words.", "attempts": ["I read it twice."],
            "impediment": {"category": category, "requested_action": wants}, "suggestion": "Ask who wrote it.",
        }}),
    )
}

fn says(scene: &Scene, wish: Value) {
    scene.model.always_say("replan_decision", move |_| decision(wish.clone()));
}

fn retry() -> Value {
    json!({"replan_needed": true, "confidence": 0.9, "replan_type": "retry", "replan_level": 1, "reasoning": "again"})
}

/// Who was asked for what, in order.
fn asked(scene: &Scene) -> Vec<String> {
    let line = |entry: &Value| {
        format!("{} to {}", entry["cause"].as_str().unwrap(), entry["target"].as_str().unwrap())
    };
    scene.entries("escalated").iter().map(line).collect()
}

fn mentions(scene: &Scene, name: &str) -> usize {
    let with_issue = |body: &&String| body.contains("Two readings fit") && body.contains(&format!("@{name}"));
    scene.comments().iter().filter(with_issue).count()
}

#[tokio::test]
async fn what_is_wanted_is_asked_of_whoever_wants_it_and_the_rest_goes_on() {
    for kind in FACES {
        for category in ["scope", "ambiguity"] {
            let scene = stuck(kind, category, "the first one").await;
            let bot = scene.start().await;
            bot.assigned(MARIA).await;
            assert_eq!(asked(&scene), [format!("{category} to people")], "{kind}");
            assert_eq!(mentions(&scene, "maria"), 1, "{kind}: {:?}", scene.comments());
            let card = scene.card();
            assert!(card.contains("*Progress: 1/3"), "{kind}: the easy one is done meanwhile: {card}");
            assert!(!card.contains("🚀"), "{kind}: {card}");
            // Somebody without the right changes nothing, and neither does a wrong number.
            bot.told(TOM, "@planwright resolve 1 the second one").await;
            bot.told(MARIA, "@planwright resolve 7 the first one").await;
            assert_eq!(scene.entries("escalation_resolved").len(), 0, "{kind}");
            assert!(scene.comments().last().unwrap().contains("There is no question 7"), "{kind}");
            bot.told(MARIA, "@planwright resolve 1 the first one").await;
            assert!(scene.card().contains("🚀 done"), "{kind}: {}", scene.card());
            let branch = scene.repo.work_branch();
            for path in ["stuck.md", "easy.md", "last.md"] {
                assert!(scene.repo.read(&branch, path).is_some(), "{kind}: {path}");
            }
            bot.told(MARIA, "@planwright resolve 1 the second one").await;
            assert_eq!(scene.entries("escalation_resolved").len(), 1, "{kind}: it was settled");
            assert!(mentions(&scene, "maria") <= 1, "{kind}: nobody is called twice");
            bot.ends().await;
        }
    }
}

#[tokio::test]
async fn a_plain_reply_of_whoever_was_asked_is_an_answer_also_after_a_restart() {
    let scene = stuck(ForgeKind::Gitlab, "ambiguity", "the first one").await;
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    bot.stops().await;
    let bot = scene.start().await;
    bot.told(TOM, "the second one").await;
    assert_eq!(scene.entries("escalation_resolved").len(), 0);
    bot.told(MARIA, "I meant the first one.").await;
    let resolved = scene.entries("escalation_resolved");
    assert_eq!((resolved.len(), &resolved[0]["text"]), (1, &json!("I meant the first one.")));
    assert!(scene.card().contains("🚀 done"), "{}", scene.card());
    bot.ends().await;
}

/// Two questions are open: the first for whoever wants the work, the second for whoever runs the bot. Tom may only read.
#[tokio::test]
async fn whoever_was_asked_may_answer_and_nobody_else_without_the_right() {
    for kind in FACES {
        let settings =
            AUTO.replace("workers: 2", "workers: 1, operators: [Tom], limits: { logic_validator: 0 }");
        let scene = Scene::on(kind).await.settings(&settings);
        steps(&scene, &[("words", &[]), ("machine", &[])]);
        let write = |step: &str, path: &str| action(step, "create", json!({"path": path}));
        actions(&scene, vec![write("words", "words.md"), write("machine", "machine.md")]);
        scene.model.always_say("worker_turn", |asked| match path_of(asked).as_str() {
            "words.md" if !asked.user.contains("the first one") => difficulty("ambiguity", "escalate"),
            "machine.md" if !asked.user.contains("port 25") => difficulty("technical", "escalate"),
            path => turn("write_file", json!({"path": path, "content": "x\n"})),
        });
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        let named: Vec<Value> = scene.entries("escalated").iter().map(|e| e["asked"].clone()).collect();
        assert_eq!(named, [json!(["maria"]), json!(["Tom"])], "{kind}: {:?}", scene.facts());

        bot.told(TOM, "@planwright resolve 1 the first one").await;
        assert_eq!(scene.entries("escalation_resolved").len(), 0, "{kind}: it was maria who was asked");
        let last = scene.comments().pop().unwrap();
        assert!(last.contains("@tom, I did not take this for an answer"), "{kind}: {last}");
        bot.told(TOM, "port 25").await;
        assert_eq!(scene.entries("escalation_resolved").len(), 0, "{kind}: which question is not said");

        bot.told(TOM, "@planwright resolve 2 port 25").await;
        let resolved = scene.entries("escalation_resolved");
        assert_eq!((resolved.len(), &resolved[0]["by"]["login"]), (1, &json!("tom")), "{kind}");
        bot.told(MARIA, "I meant the first one.").await;
        assert!(scene.card().contains("🚀 done"), "{kind}: {}", scene.card());
        bot.ends().await;
    }
}

#[tokio::test]
async fn a_plain_reply_of_somebody_who_was_asked_and_may_only_read_is_an_answer() {
    let settings = AUTO.replace("workers: 2", "workers: 2, operators: [tom], limits: { logic_validator: 0 }");
    let scene = Scene::on(ForgeKind::Github).await.settings(&settings);
    is_stuck(&scene, "technical", "port 25");
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    bot.told(TOM, "It is port 25.").await;
    assert_eq!(scene.entries("escalation_resolved").len(), 1, "{:?}", scene.facts());
    assert!(scene.card().contains("🚀 done"), "{}", scene.card());
    bot.ends().await;
}

#[tokio::test]
async fn a_sure_validator_settles_a_technical_difficulty_and_nobody_is_disturbed() {
    let scene = stuck(ForgeKind::Github, "technical", "use the new parser").await;
    scene.model.say(
        "logic_validation",
        json!({"advice": "use the new parser", "confidence": 0.9, "contradiction": null, "needs_person": false}),
    );
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    assert_eq!(asked(&scene), ["technical to logic_validator"]);
    let resolved = scene.entries("escalation_resolved");
    assert_eq!((resolved.len(), &resolved[0]["by"]), (1, &Value::Null));
    assert_eq!(mentions(&scene, "maria"), 0);
    assert!(scene.card().contains("🚀 done"), "{}", scene.card());
    bot.ends().await;
}

#[tokio::test]
async fn an_unsure_validator_hands_on_to_the_adviser() {
    let scene = Scene::on(ForgeKind::Github).await.settings(AUTO).advised();
    is_stuck(&scene, "technical", "use the old parser");
    scene.model.say(
        "logic_validation",
        json!({"advice": "maybe", "confidence": 0.2, "contradiction": null, "needs_person": false}),
    );
    scene.model.say(
        "external_advice",
        json!({"advice": "use the old parser", "confidence": 0.9, "contradiction": null, "needs_person": false}),
    );
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    assert_eq!(asked(&scene), ["technical to logic_validator", "technical to external_advisor"]);
    assert!(scene.card().contains("🚀 done"), "{}", scene.card());
    bot.ends().await;
}

#[tokio::test]
async fn where_no_model_knows_the_owners_of_the_files_are_asked() {
    for kind in FACES {
        let scene = stuck(kind, "technical", "take the long way").await;
        scene.model.always_say(
            "logic_validation",
            |_| json!({"advice": "", "confidence": 0.0, "contradiction": null, "needs_person": false}),
        );
        let project = scene.thread.project.clone();
        let owner = AccountId(7);
        scene
            .world
            .with(|world| {
                world.add_account(Account::person(7, "olga"));
                world.set_member(&project, owner, Permission::Write).unwrap();
                world
                    .set_file(&project, "CODEOWNERS", "* @tom\n/stuck.md @olga @tom @nobody-knows\n")
                    .unwrap();
            })
            .unwrap();
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        assert_eq!(asked(&scene), ["technical to logic_validator", "technical to people"], "{kind}");
        assert_eq!(scene.entries("escalated")[1]["asked"], json!(["olga"]), "{kind}: only who may write");
        assert_eq!(mentions(&scene, "olga"), 1, "{kind}");
        bot.told(owner, "@planwright resolve 2 take the long way").await;
        assert!(scene.card().contains("🚀 done"), "{kind}: {}", scene.card());
        bot.ends().await;
    }
}

#[tokio::test]
async fn what_excludes_itself_is_for_people_whoever_finds_it() {
    // The validator finds it.
    let scene = stuck(ForgeKind::Github, "technical", "speed goes first").await;
    scene.model.say(
        "logic_validation",
        json!({"advice": "x", "confidence": 0.9, "contradiction": "small and complete", "needs_person": false}),
    );
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    assert_eq!(asked(&scene), ["technical to logic_validator", "contradiction to people"]);
    bot.told(MARIA, "@planwright resolve 2 speed goes first").await;
    assert!(scene.card().contains("🚀 done"), "{}", scene.card());
    bot.ends().await;
    // The judge finds it.
    let scene = Scene::on(ForgeKind::Github).await.settings(AUTO);
    steps(&scene, &[("one", &[])]);
    actions(&scene, vec![action("one", "create", json!({"path": "a.md"}))]);
    super::crew::all_write(&scene);
    let mut torn = judged("continue", "Both cannot be.");
    torn["contradiction"] = json!("small and complete");
    scene.model.say("judge_verdict", torn);
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    assert_eq!(asked(&scene), ["contradiction to people"]);
    bot.told(MARIA, "@planwright resolve 1 small").await;
    assert!(scene.card().contains("🚀 done"), "{}", scene.card());
    bot.ends().await;
}

#[tokio::test]
async fn what_depends_on_others_is_for_the_planner() {
    let scene = stuck(ForgeKind::Github, "dependency", "never").await;
    says(
        &scene,
        json!({
            "replan_needed": true, "confidence": 0.9, "replan_type": "partial_replan", "replan_level": 2, "reasoning": "other order"
        }),
    );
    let other = json!({"id": "other", "description": "Another way", "dependencies": [], "estimated_complexity": "low",
                       "required_tools": [], "rests_on": []});
    scene.model.say(
        "plan_revision",
        json!({"subtasks": [other], "execution_order": ["other"],
        "actions": [action("other", "create", json!({"path": "other.md", "content": "x\n"}))]}),
    );
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    assert_eq!(asked(&scene), ["dependency to planner"]);
    assert_eq!(mentions(&scene, "maria"), 0);
    assert!(scene.card().contains("🚀 done"), "{}", scene.card());
    bot.ends().await;
}

/// A worker fails twice and is let try again; the third time it is the plan that changes.
#[tokio::test]
async fn the_third_failure_of_a_step_is_for_the_planner_and_no_further_try() {
    let scene = Scene::on(ForgeKind::Github).await.settings(AUTO);
    steps(&scene, &[("hard", &[])]);
    actions(&scene, vec![action("hard", "create", json!({"path": "stuck.md"}))]);
    scene.model.always_say("worker_turn", |_| {
        turn(
            "finish",
            json!({"feedback": {"type": "implementation", "result": "failed", "changes": [], "notes": "no"}}),
        )
    });
    says(&scene, retry());
    let other = json!({"id": "other", "description": "Another way", "dependencies": [], "estimated_complexity": "low",
                       "required_tools": [], "rests_on": []});
    scene.model.say(
        "plan_revision",
        json!({"subtasks": [other], "execution_order": ["other"],
        "actions": [action("other", "create", json!({"path": "other.md", "content": "x\n"}))]}),
    );
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    assert_eq!(asked(&scene), ["three_failures to planner"]);
    assert_eq!(scene.entries("action_begun").len(), 4, "three tries, and the other way: {:?}", scene.facts());
    assert!(scene.card().contains("🚀 done"), "{}", scene.card());
    bot.ends().await;
}

#[tokio::test]
async fn three_steps_that_fail_in_a_row_are_for_people_and_then_for_the_planner() {
    let scene = Scene::on(ForgeKind::Github).await.settings(&AUTO.replace("workers: 2", "workers: 3"));
    steps(&scene, &[("one", &[]), ("two", &[]), ("three", &[])]);
    let write = |step: &str| action(step, "create", json!({"path": format!("{step}.md")}));
    actions(&scene, ["one", "two", "three"].map(write).to_vec());
    scene.model.always_say("worker_turn", |_| {
        turn(
            "finish",
            json!({"feedback": {"type": "implementation", "result": "failed", "changes": [], "notes": "no"}}),
        )
    });
    says(&scene, retry());
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    assert_eq!(asked(&scene).first().map(String::as_str), Some("three_steps_in_a_row to people"));
    assert_eq!(scene.entries("escalated")[0]["step"], Value::Null);
    let other = json!({"id": "other", "description": "Another way", "dependencies": [], "estimated_complexity": "low",
                       "required_tools": [], "rests_on": []});
    scene.model.say(
        "plan_revision",
        json!({"subtasks": [other], "execution_order": ["other"],
        "actions": [action("other", "create", json!({"path": "other.md", "content": "x\n"}))]}),
    );
    bot.told(MARIA, "@planwright resolve 1 do it in one file").await;
    assert!(scene.card().contains("🚀 done"), "{}", scene.card());
    let revised =
        scene.model.requests().into_iter().rfind(|asked| asked.schema_name == "plan_revision").unwrap();
    assert!(revised.user.contains("do it in one file"), "{}", revised.user);
    bot.ends().await;
}

fn in_five_hours() -> Millis {
    planwright::engine::now().plus(5 * 3_600_000)
}

pub(crate) fn in_two_days() -> Millis {
    planwright::engine::now().plus(48 * 3_600_000)
}

#[tokio::test]
async fn who_does_not_answer_is_reminded_once_and_then_the_fallback_holds() {
    for (fallback, ends) in [("hold", None), ("skip", Some("🚀 done")), ("stop", Some("Nobody answered"))] {
        let settings = AUTO.replace("workers: 2", &format!("workers: 2, on_no_answer: {fallback}"));
        let scene = Scene::on(ForgeKind::Github).await.settings(&settings);
        is_stuck(&scene, "ambiguity", "the first one");
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        bot.stops().await;
        for _ in 0..2 {
            let bot = scene.start_with(|ctx| ctx.clock = in_five_hours).await;
            bot.quiet().await;
            bot.stops().await;
        }
        assert_eq!(scene.entries("escalation_reminded").len(), 1, "{fallback}: {:?}", scene.facts());
        assert_eq!(scene.entries("escalation_expired").len(), 0, "{fallback}");
        let bot = scene.start_with(|ctx| ctx.clock = in_two_days).await;
        bot.quiet().await;
        let expired = scene.entries("escalation_expired");
        assert_eq!(expired.len(), 1, "{fallback}: {:?}", scene.facts());
        match ends {
            Some(words) => {
                let card = scene.card();
                assert!(card.contains(words), "{fallback}: {card}");
                let without = [
                    "hard~~ ⏭ left out: nobody answered question 1",
                    "last~~ ⏭ left out: it needs hard, which is left out",
                ];
                let told = without.iter().all(|words| card.contains(words));
                assert_eq!(told, fallback == "skip", "{fallback}: {card}");
                assert!(!card.contains("not approved"), "{fallback}: {card}");
            }
            None => {
                bot.told(MARIA, "@planwright resolve 1 the first one").await;
                assert!(scene.card().contains("🚀 done"), "{fallback}: {}", scene.card());
            }
        }
        bot.ends().await;
    }
}

#[tokio::test]
async fn what_is_asked_about_a_skipped_step_needs_no_answer() {
    let scene = stuck(ForgeKind::Github, "scope", "never").await;
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    bot.told(MARIA, "@planwright skip hard").await;
    assert!(scene.card().contains("🚀 done"), "{}", scene.card());
    bot.told(MARIA, "@planwright resolve 1 never mind").await;
    assert_eq!(scene.entries("escalation_resolved").len(), 0);
    bot.ends().await;
}

#[tokio::test]
async fn no_target_is_asked_more_often_than_the_settings_allow() {
    let settings = AUTO.replace("workers: 2", "workers: 2, limits: { logic_validator: 0, people: 1 }");
    let scene = Scene::on(ForgeKind::Github).await.settings(&settings);
    is_stuck(&scene, "technical", "never");
    says(
        &scene,
        json!({"replan_needed": false, "confidence": 0.9, "replan_type": "none", "reasoning": "no"}),
    );
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    assert_eq!(asked(&scene), ["technical to people"]);
    bot.told(MARIA, "@planwright resolve 1 try harder").await;
    assert_eq!(asked(&scene).len(), 1, "nobody may be asked a second time: {:?}", scene.facts());
    bot.ends().await;
}
