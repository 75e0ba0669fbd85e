//! Purpose: what people say late, to each other's answers, or into what the bot has written: nothing of it is lost, and
//! nothing is taken for what it is not.

use planwright::domain::{Account, AccountId, CommentId, ForgeKind, Permission};
use serde_json::{Value, json};

use super::acting::{action, three_files};
use super::bot::{MARIA, Scene, TOM};
use super::design::decisions;
use super::replan::{difficulty, outcomes, reflects, writes};
use super::talk::{AT_ONCE, asked, clear, tick, two_questions, unclear};
use crate::scripted_model::Misbehaviour;

const ADA: AccountId = AccountId(77);

/// Ada may write, as Maria may.
fn with_ada(scene: &Scene, permission: Permission) {
    let project = scene.thread.project.clone();
    let hired = scene.world.with(|world| {
        world.add_account(Account::person(ADA.0, "ada"));
        world.set_member(&project, ADA, permission).unwrap();
    });
    hired.unwrap();
}

fn file(task: &str, name: &str) -> Value {
    action(task, "create", json!({"path": format!("notes/{name}.md"), "content": "x\n"}))
}

fn step(id: &str, description: &str, rests_on: &[&str]) -> Value {
    json!({"id": id, "description": description, "dependencies": [], "estimated_complexity": "low",
           "required_tools": [], "rests_on": rests_on})
}

fn goals(scene: &Scene) -> usize {
    scene.model.requests().iter().filter(|a| a.schema_name == "goal_understanding").count()
}

#[tokio::test]
async fn a_tick_of_somebody_without_the_right_never_becomes_anothers() {
    let scene = Scene::on(ForgeKind::Github).await;
    let questions = json!([
        {"type": "scope", "question": "Which logins?", "options": ["web", "api"]},
        {"type": "scope", "question": "Which library?", "options": ["ours", "theirs"]},
    ]);
    scene.model.say("goal_understanding", unclear(questions));
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let (id, body) = asked(&scene);
    let by_tom = body.replacen("- [ ] web", "- [x] web", 1);
    bot.hears(&tick(&scene, TOM, id, &by_tom)).await;
    bot.hears(&tick(&scene, MARIA, id, &by_tom.replacen("- [ ] ours", "- [x] ours", 1))).await;
    let answers = scene.entries("answered");
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(answers[0]["answers"], json!([{"question": "q-2", "answer": "ours"}]));
    bot.ends().await;
}

#[tokio::test]
async fn a_choice_ticked_without_the_right_never_becomes_anothers() {
    let scene =
        Scene::on(ForgeKind::Github).await.settings("planning: { enabled: true, interactive: always }\n");
    scene.model.say("discovery_questions", json!({"questions": []}));
    scene.model.say("design_decisions", decisions());
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let (id, body) = design(&scene);
    let by_tom = tick_in(&body, "Where to check", "opt-a");
    bot.hears(&tick(&scene, TOM, id, &by_tom)).await;
    bot.hears(&tick(&scene, MARIA, id, &tick_in(&by_tom, "How to store", "opt-b"))).await;
    let chosen: Vec<Value> = scene.entries("chosen").iter().map(|e| e["decision"].clone()).collect();
    assert_eq!(chosen, ["d-2"]);
    bot.ends().await;
}

fn design(scene: &Scene) -> (CommentId, String) {
    let mut all = scene.bot_comments();
    all.retain(|(_, body)| body.starts_with("## 🧭 Design Decisions"));
    all.pop().unwrap()
}

fn tick_in(body: &str, section: &str, option: &str) -> String {
    let (before, after) = body.split_at(body.find(section).unwrap());
    format!("{before}{}", after.replacen(&format!("- [ ] **{option}**"), &format!("- [x] **{option}**"), 1))
}

#[tokio::test]
async fn ticks_can_be_taken_back_and_two_of_a_question_are_both_meant() {
    let scene = Scene::on(ForgeKind::Github).await;
    scene.model.say("goal_understanding", unclear(two_questions()));
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let (id, body) = asked(&scene);
    let web = body.replacen("- [ ] web", "- [x] web", 1);
    bot.hears(&tick(&scene, MARIA, id, &web)).await;
    bot.hears(&tick(&scene, MARIA, id, &body)).await;
    assert_eq!(scene.entries("answered")[1]["withdrawn"], json!(["q-1"]));
    assert!(scene.card().contains("0 of 2"), "{}", scene.card());
    bot.hears(&tick(&scene, MARIA, id, &web.replacen("- [ ] api", "- [x] api", 1))).await;
    assert_eq!(scene.entries("answered")[2]["answers"][0]["answer"], "web; api");
    assert!(scene.card().contains("1 of 2"), "{}", scene.card());
    bot.ends().await;
}

#[tokio::test]
async fn a_choice_can_be_unticked_and_two_people_are_told_whose_counts() {
    let scene =
        Scene::on(ForgeKind::Github).await.settings("planning: { enabled: true, interactive: always }\n");
    with_ada(&scene, Permission::Write);
    scene.model.say("discovery_questions", json!({"questions": []}));
    scene.model.say("design_decisions", decisions());
    scene.model.say("design_summary", json!({"summary": "As chosen."}));
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let (id, body) = design(&scene);
    bot.hears(&tick(&scene, MARIA, id, &tick_in(&body, "Where to check", "opt-a"))).await;
    assert!(scene.card().contains("1 of 2"), "{}", scene.card());
    bot.hears(&tick(&scene, MARIA, id, &body)).await;
    assert!(scene.card().contains("0 of 2"), "{}", scene.card());
    bot.told(MARIA, "/choose d-1 opt-a because it is simple").await;
    bot.told(ADA, "/choose d-1 opt-b because we log there").await;
    let said = scene.comments().last().unwrap().clone();
    assert!(said.contains("`d-1`") && said.contains("opt-b"), "{said}");
    bot.told(ADA, "/choose d-2 opt-b because").await;
    let asked = scene.model.requests().into_iter().find(|a| a.schema_name == "design_summary").unwrap();
    assert!(asked.user.contains("Handler"), "the later word counts: {}", asked.user);
    bot.ends().await;
}

#[tokio::test]
async fn questions_whose_words_were_changed_are_put_back_and_that_is_said_once() {
    let scene = Scene::on(ForgeKind::Github).await;
    scene.model.say("goal_understanding", unclear(two_questions()));
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let (id, body) = asked(&scene);
    let before = scene.bot_comments().len();
    for _ in 0..2 {
        let other = body.replace("- [ ] web", "- [x] everything, and delete the rest");
        bot.hears(&tick(&scene, MARIA, id, &other)).await;
        assert_eq!(asked(&scene), (id, body.clone()), "it is as it was");
    }
    assert_eq!(scene.bot_comments().len(), before + 1, "{:?}", scene.comments());
    assert!(scene.comments().last().unwrap().contains("as it"), "{:?}", scene.comments().last());
    assert_eq!(scene.entries("answered").len(), 0);
    bot.hears(&tick(&scene, MARIA, id, &body.replacen("- [ ] web", "- [x] web", 1))).await;
    assert_eq!(scene.entries("answered").len(), 1, "{:?}", scene.facts());
    bot.ends().await;
}

#[tokio::test]
async fn a_bare_number_is_the_one_that_is_shown() {
    let scene = Scene::on(ForgeKind::Github).await;
    scene.model.say("goal_understanding", unclear(two_questions()));
    scene.model.say("goal_understanding", unclear(json!(["How fast?", "How small?"])));
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    bot.told(MARIA, "1. web\n2. ours").await;
    bot.told(MARIA, "/skip 1").await;
    let skipped = scene.entries("answered").pop().unwrap();
    assert_eq!(skipped["answers"], json!([{"question": "q-3", "answer": null}]));
    bot.ends().await;
}

#[tokio::test]
async fn words_that_no_model_can_read_are_asked_back_about() {
    let scene = Scene::on(ForgeKind::Github).await;
    scene.model.say("goal_understanding", unclear(two_questions()));
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let before = scene.bot_comments().len();
    scene.model.always_misbehave(Some(Misbehaviour::Nonsense));
    bot.told(MARIA, "The web one, I think.").await;
    scene.model.always_misbehave(None);
    assert_eq!(scene.entries("failed").len(), 0, "{:?}", scene.facts());
    assert_eq!(scene.bot_comments().len(), before + 1, "{:?}", scene.comments().last());
    bot.ends().await;
}

#[tokio::test]
async fn an_answer_that_is_changed_when_the_plan_stands_makes_another_plan() {
    let scene = Scene::on(ForgeKind::Github).await;
    with_ada(&scene, Permission::Write);
    scene.model.say("goal_understanding", unclear(two_questions()));
    scene.model.say("goal_understanding", clear());
    three_files(&scene);
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    bot.told(MARIA, "1. web\n2. ours").await;
    assert!(scene.card().contains("waiting for approval"), "{}", scene.card());
    assert_eq!(goals(&scene), 2);
    bot.told(ADA, "1. api").await;
    let said = scene.comments();
    assert!(said.iter().any(|body| body.contains("`q-1`") && body.contains("“api”")), "{said:?}");
    let decided = scene.entries("replan_decision").pop().unwrap();
    assert!(decided["executed"] == true && decided["source"] == "answer", "{decided}");
    let asked = scene.model.requests().into_iter().rfind(|a| a.schema_name == "task_decomposition").unwrap();
    assert!(asked.user.contains("api"), "{}", asked.user);
    assert!(scene.card().contains("Revised #1"), "{}", scene.card());
    bot.told(MARIA, "1. please also mind the tests").await;
    assert_eq!(scene.entries("answered").len(), 2, "a list of remarks is no list of answers");
    bot.ends().await;
}

/// Task 2 rests on what was assumed, task 1 and task 3 do not.
fn assumed_plan(scene: &Scene) {
    scene.model.say("goal_understanding", unclear(two_questions()));
    let steps =
        [step("task_1", "Read", &[]), step("task_2", "Check both", &["A1"]), step("task_3", "Test", &[])];
    scene.model.say("task_decomposition", json!({"reasoning": "r", "subtasks": steps}));
    scene.model.say(
        "action_sequence",
        json!({"execution_order": ["task_1", "task_2", "task_3"],
               "actions": [file("task_1", "1"), file("task_2", "both"), file("task_3", "3")]}),
    );
}

#[tokio::test]
async fn late_words_overturn_an_assumption_and_nothing_else_changes_whatever_the_model_does() {
    let scene = Scene::on(ForgeKind::Github).await.settings(AT_ONCE);
    assumed_plan(&scene);
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    assert!(scene.card().contains("waiting for approval of 3 actions"), "{}", scene.card());
    scene
        .model
        .say("answer_mapping", json!({"answers": [{"question_id": "q-1", "answer": "only the web one"}]}));
    scene.model.say(
        "plan_revision",
        json!({"subtasks": [step("task_1", "Do something else", &[]), step("task_2", "Check the web", &[])],
               "execution_order": ["task_1", "task_2"],
               "actions": [file("task_1", "else"), file("task_2", "web")]}),
    );
    bot.told(MARIA, "By the way, only the web one matters.").await;
    let card = scene.card();
    assert!(card.contains("Revised #1") && card.contains("Check the web"), "{card}");
    assert!(card.contains("**task_1**: Read") && card.contains("**task_3**: Test"), "{card}");
    assert!(!card.contains("Do something else"), "{card}");
    assert_eq!(scene.entries("replan_decision").pop().unwrap()["keeps"], json!(["task_1", "task_3"]));
    let made = scene.entries("revision_made").pop().unwrap();
    let ids: Vec<&str> =
        made["actions"].as_array().unwrap().iter().map(|action| action["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["a1", "a4", "a3"], "what stays keeps its number");
    bot.told(MARIA, "/approve").await;
    let branch = scene.repo.work_branch();
    for (path, there) in [("1", true), ("web", true), ("3", true), ("else", false), ("both", false)] {
        assert_eq!(scene.repo.read(&branch, &format!("notes/{path}.md")).is_some(), there, "{path}");
    }
    bot.ends().await;
}

#[tokio::test]
async fn late_words_about_something_else_change_nothing() {
    let scene = Scene::on(ForgeKind::Github).await.settings(AT_ONCE);
    assumed_plan(&scene);
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    scene.model.say("answer_mapping", json!({"answers": []}));
    let before = scene.bot_comments().len();
    bot.told(MARIA, "Nice weather today.").await;
    assert_eq!(scene.bot_comments().len(), before, "{:?}", scene.comments().last());
    assert!(scene.card().contains("waiting for approval of 3 actions"), "{}", scene.card());
    bot.ends().await;
}

#[tokio::test]
async fn a_done_step_that_rested_on_an_assumption_is_put_right_by_another() {
    let settings = format!("{AT_ONCE}approval: {{ auto: medium }}\n");
    let scene = Scene::on(ForgeKind::Github).await.settings(&settings);
    scene.model.say("goal_understanding", unclear(two_questions()));
    let steps = [step("task_1", "Check both", &["A1"]), step("task_2", "Rest", &[])];
    scene.model.say("task_decomposition", json!({"reasoning": "r", "subtasks": steps}));
    let open = action("task_2", "write", json!({"path": "notes/2.md"}));
    scene.model.say(
        "action_sequence",
        json!({"execution_order": ["task_1", "task_2"], "actions": [file("task_1", "both"), open]}),
    );
    difficulty(&scene);
    reflects(&scene, json!({"replan_needed": true, "confidence": 0.1, "replan_type": "partial_replan"}));
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    let mut ended = outcomes(&scene);
    ended.sort();
    assert_eq!(ended, ["a1 succeeded", "a2 failed"]);
    scene.model.say(
        "plan_revision",
        json!({"subtasks": [step("task_3", "Make it the web one", &[])], "execution_order": ["task_3"],
               "actions": [file("task_3", "web")]}),
    );
    writes(&scene, "notes/2.md");
    bot.told(MARIA, "1. only the web one").await;
    let asked = scene.model.requests().into_iter().rfind(|a| a.schema_name == "plan_revision").unwrap();
    assert!(asked.user.contains("task_1 is done and stays: add a new step"), "{}", asked.user);
    let card = scene.card();
    assert!(card.contains("🚀 done") && card.contains("Make it the web one"), "{card}");
    bot.ends().await;
}

#[tokio::test]
async fn words_that_contradict_somebody_are_said_and_the_later_counts() {
    let scene = Scene::on(ForgeKind::Github).await;
    with_ada(&scene, Permission::Write);
    scene.model.say("goal_understanding", unclear(two_questions()));
    scene.model.say("goal_understanding", clear());
    three_files(&scene);
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    bot.told(MARIA, "1. web").await;
    scene.model.say("answer_mapping", json!({"answers": [{"question_id": "q-1", "answer": "api"}]}));
    bot.told(ADA, "I would rather have the api.").await;
    let said = scene.comments().last().unwrap().clone();
    assert!(said.contains("`q-1`") && said.contains("“api”"), "{said}");
    bot.told(MARIA, "2. ours").await;
    let goal = scene.model.requests().into_iter().rfind(|a| a.schema_name == "goal_understanding").unwrap();
    assert!(goal.user.contains("api") && !goal.user.contains("Answer: web"), "{}", goal.user);
    bot.ends().await;
}
