//! Purpose: runs that cannot go on by themselves: each says so in one comment, with what people can do, and none of them
//! ends because a new plan could not be made.

use planwright::domain::{ForgeKind, Millis};
use planwright::engine::now;
use serde_json::{Value, json};

use super::bot::{FACES, MARIA, Scene};
use super::replan::{AUTO, called, difficulty, failing, file, outcomes, reflects, revision};

fn notices(scene: &Scene) -> Vec<String> {
    scene.comments().into_iter().filter(|body| body.starts_with("## 🔄")).collect()
}

fn wish(confidence: f64) -> Value {
    json!({"replan_needed": true, "confidence": confidence, "replan_type": "partial_replan", "replan_level": 2,
           "reasoning": "Perhaps another library."})
}

fn says_the_choices(scene: &Scene) {
    let notices = notices(scene);
    assert_eq!(notices.len(), 1, "{notices:?}");
    for choice in ["replan why", "skip task_2", "resume", "cancel"] {
        let choice = called(scene, choice);
        assert!(notices[0].contains(&choice), "{choice} is missing: {}", notices[0]);
    }
}

#[tokio::test]
async fn a_failure_that_the_model_is_too_unsure_about_is_put_to_people() {
    for kind in FACES {
        for quiet in ["", "notices: quiet\n"] {
            let scene = Scene::on(kind).await.settings(&format!("{AUTO}{quiet}"));
            failing(&scene);
            difficulty(&scene);
            reflects(&scene, wish(0.1));
            let bot = scene.start().await;
            bot.assigned(MARIA).await;
            says_the_choices(&scene);
            bot.told(MARIA, "@planwright skip task_2").await;
            assert!(scene.card().contains("🚀 done"), "{}", scene.card());
            assert_eq!(notices(&scene).len(), 1, "{:?}", notices(&scene));
            bot.ends().await;
        }
    }
}

fn an_hour_later() -> Millis {
    now().plus(60 * 60_000)
}

#[tokio::test]
async fn a_confirmation_that_nobody_gives_after_a_failure_leaves_the_choice_to_people() {
    for kind in FACES {
        let scene = Scene::on(kind).await.settings(AUTO);
        failing(&scene);
        difficulty(&scene);
        reflects(&scene, wish(0.4));
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        bot.stops().await;
        let bot = scene.start_with(|ctx| ctx.clock = an_hour_later).await;
        bot.quiet().await;
        says_the_choices(&scene);
        assert!(!notices(&scene)[0].contains("the plan stays as it is"), "{:?}", notices(&scene));
        let declined = scene.entries("replan_declined");
        assert!(declined.len() == 1 && declined[0]["by"].is_null(), "{declined:?}");
        let ended = scene.entries("replan_ended").pop().unwrap();
        assert!(ended["result"] == "skipped" && ended["executed"] == false, "{ended}");
        assert!(ended["duration_ms"].as_i64().unwrap() > 0, "{ended}");
        bot.ends().await;
    }
}

#[tokio::test]
async fn in_quiet_repositories_too_the_same_plan_again_is_put_to_people() {
    let scene = Scene::on(ForgeKind::Github).await.settings(&format!("{AUTO}notices: quiet\n"));
    failing(&scene);
    difficulty(&scene);
    reflects(&scene, json!({"replan_needed": true, "replan_type": "action_regeneration", "replan_level": 3}));
    let open = super::acting::action("task_2", "write", json!({"path": "notes/2.md"}));
    scene.model.say(
        "action_sequence",
        json!({"execution_order": ["task_2", "task_3"], "actions": [open, file("task_3", "3")]}),
    );
    scene.model.say("alternative_approach", json!({"way": "nothing", "reasoning": "-"}));
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let notices = notices(&scene);
    assert!(notices.len() == 1 && notices[0].contains("/cancel"), "{notices:?}");
    bot.ends().await;
}

#[tokio::test]
async fn a_new_plan_that_cannot_be_made_leaves_the_old_one_and_people_decide() {
    for kind in FACES {
        let scene = Scene::on(kind).await.settings(AUTO);
        failing(&scene);
        difficulty(&scene);
        reflects(&scene, wish(0.9));
        // Without subtasks, and again when it is complained about.
        scene
            .model
            .always_say("plan_revision", |_| json!({"subtasks": [], "execution_order": [], "actions": []}));
        scene.model.say("alternative_approach", json!({"way": "nothing", "reasoning": "I know no other."}));
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        assert_eq!(scene.entries("failed").len(), 0, "{:?}", scene.facts());
        says_the_choices(&scene);
        let ended = scene.entries("replan_ended").pop().unwrap();
        assert!(ended["result"] == "failure" && ended["executed"] == true, "{ended}");
        let asked = scene.model.requests();
        assert_eq!(asked.iter().filter(|a| a.schema_name == "alternative_approach").count(), 1);
        bot.told(MARIA, "@planwright skip task_2").await;
        assert!(scene.card().contains("🚀 done"), "{}", scene.card());
        assert_eq!(outcomes(&scene), ["a1 succeeded", "a2 failed", "a3 succeeded"]);
        bot.ends().await;
    }
}

#[tokio::test]
async fn a_goal_that_cannot_be_found_anew_stays_the_old_one() {
    let scene = Scene::on(ForgeKind::Github).await.settings(AUTO);
    failing(&scene);
    difficulty(&scene);
    reflects(
        &scene,
        json!({"replan_needed": true, "replan_type": "goal_revision", "replan_level": 5, "reasoning": "No."}),
    );
    let asked = std::sync::atomic::AtomicU32::new(0);
    scene.model.always_say("goal_understanding", move |_| {
        let first = asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0;
        if first { super::talk::clear() } else { json!({"main_objective": ""}) }
    });
    scene.model.say("alternative_approach", json!({"way": "skip_step", "reasoning": "It is not needed."}));
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    assert!(scene.card().contains("🚀 done") && scene.card().contains("Check tokens"), "{}", scene.card());
    bot.ends().await;
}

#[tokio::test]
async fn what_became_of_every_replan_is_in_the_history() {
    for kind in FACES {
        let scene = Scene::on(kind).await.settings(AUTO);
        failing(&scene);
        difficulty(&scene);
        reflects(&scene, wish(0.4));
        scene
            .model
            .say("plan_revision", revision(&[("task_2b", "Use the other")], vec![file("task_2b", "other")]));
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        bot.told(MARIA, "@planwright replan yes").await;
        assert_eq!(scene.entries("replan_confirmed")[0]["executed"], true);
        assert_eq!(scene.entries("plan_revised")[0]["result"], "success");
        bot.ends().await;
    }
}
