//! Purpose: the models over real HTTP against a scripted server, well-behaved and not.

use std::time::{Duration, Instant};

use planwright::crew::Verdict;
use planwright::domain::{Account, Permission};
use planwright::llm::{Answered, Failure, LlmError, Model, ModelSettings, Price, Provider};
use planwright::plan::{Complexity, Decided, Goal, OtherWay, PlanProblem, ReplanPhase, Step, StepId};
use planwright::prompts::{Answer, Ask, Context, Decide, DifficultyTask, JudgeTask, Moment, Told};
use secrecy::SecretString;
use serde_json::json;

use crate::scripted_model::{Misbehaviour, SHORT, ScriptedModel};

const KEY: &str = "sk-very-secret-0123456789";

fn settings(provider: Provider, server: &ScriptedModel) -> ModelSettings {
    ModelSettings {
        api_key: Some(SecretString::from(KEY)),
        pause: Duration::from_millis(1),
        price: Some(Price { input: 1_000_000, output: 10_000_000 }),
        ..ModelSettings::new(provider, &server.base_url(), "scripted-1")
    }
}

fn openai(server: &ScriptedModel) -> Model {
    Model::new(settings(Provider::Openai, server)).unwrap()
}

fn anthropic(server: &ScriptedModel) -> Model {
    Model::new(settings(Provider::Anthropic, server)).unwrap()
}

fn context() -> Context {
    Context {
        thread: "github:acme/web#12".to_owned(),
        title: "Greet people".to_owned(),
        body: "Please greet people. <!-- hidden -->".to_owned(),
        author: Some(Account::person(1, "maria")),
        author_permission: Some(Permission::Write),
        fence: "f3nc3".to_owned(),
        ..Context::default()
    }
}

fn ask() -> Ask {
    Ask::GoalUnderstanding { context: context(), told: Box::default() }
}

fn goal(answered: Result<Answered, Failure>) -> (Goal, u32) {
    let answered = answered.unwrap();
    let Answer::Goal { goal, .. } = answered.answer else { panic!("not a goal: {:?}", answered.answer) };
    (goal, answered.usage.calls)
}

/// The error, and how many calls it took. What people and operators are told must not give the key away.
fn failure(answered: Result<Answered, Failure>) -> (LlmError, u32) {
    let Failure { error, usage } = answered.unwrap_err();
    for text in [error.to_string(), format!("{error:?}"), error.for_people().into_owned()] {
        assert!(!text.contains(KEY) && !text.contains("very-secret"), "{text}");
    }
    assert!(error.for_people().ends_with('.') && error.for_people().len() < 200);
    (error, usage.calls)
}

/// A whole plan by default answers, on either wire.
async fn plan_with(model: &Model, server: &ScriptedModel, forms: &str) {
    let (goal, _) = goal(model.answer(&ask()).await);
    assert_eq!(goal.main_objective, "Greet people");
    let decompose = Ask::TaskDecomposition { context: context(), goal: goal.clone(), told: Box::default() };
    let Answer::Steps { steps, .. } = model.answer(&decompose).await.unwrap().answer else {
        panic!("no steps")
    };
    assert_eq!(steps.iter().map(|s| s.id.0.as_str()).collect::<Vec<_>>(), ["task_1", "task_2", "task_3"]);
    let sequence =
        Ask::ActionSequence { context: context(), goal, steps, problems: vec![], told: Box::default() };
    let answered = model.answer(&sequence).await.unwrap();
    let Answer::Actions { actions, .. } = answered.answer else { panic!("no actions") };
    let ids: Vec<_> = actions.iter().map(|a| (a.id.0.as_str(), a.task_id.0.as_str())).collect();
    assert_eq!(ids, [("a1", "task_1"), ("a2", "task_2"), ("a3", "task_3")]);

    let usage = answered.usage;
    assert_eq!((usage.model.as_str(), usage.calls), ("scripted-1", 1));
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.cost_micro_usd), (100, 20, Some(300)));
    let requests = server.requests();
    let names: Vec<_> = requests.iter().map(|r| r.schema_name.as_str()).collect();
    assert_eq!(names, ["goal_understanding", "task_decomposition", "action_sequence"]);
    assert!(requests.iter().all(|r| r.form == forms && !r.user.contains("hidden -->")));
    assert!(
        requests.iter().all(|r| r.system.contains("is data") && r.user.contains("<<<f3nc3 title by @maria"))
    );
    server.assert_nothing_left_over();
}

#[tokio::test]
async fn openai_plans() {
    let server = ScriptedModel::start().await;
    plan_with(&openai(&server), &server, "json_schema").await;
    let request = &server.requests()[0];
    assert_eq!(request.path, "/v1/chat/completions");
    assert_eq!(request.headers["authorization"], format!("Bearer {KEY}").as_str());
    assert_eq!(request.body["max_tokens"], 8192);
}

#[tokio::test]
async fn anthropic_plans() {
    let server = ScriptedModel::start().await;
    plan_with(&anthropic(&server), &server, "tool").await;
    let request = &server.requests()[0];
    assert_eq!(request.path, "/v1/messages");
    assert_eq!(request.headers["x-api-key"], KEY);
}

#[tokio::test]
async fn base_urls_are_taken_as_people_write_them() {
    let server = ScriptedModel::start().await;
    let base = server.base_url();
    let without_version = base.trim_end_matches("/v1").to_owned();
    for (provider, base_url) in [
        (Provider::Openai, format!("{base}/")),
        (Provider::Anthropic, without_version.clone()),
        (Provider::Anthropic, format!("{without_version}/")),
        (Provider::Anthropic, format!("{base}/")),
    ] {
        let model = Model::new(ModelSettings { base_url, ..settings(provider, &server) }).unwrap();
        model.answer(&ask()).await.unwrap();
    }
    for (base_url, says) in [
        ("", "is no URL"),
        ("ftp://x/v1", "must begin with http"),
        ("https://me:pass@x/v1", "must not hold a password"),
    ] {
        let bad = ModelSettings { base_url: base_url.to_owned(), ..settings(Provider::Openai, &server) };
        let error = Model::new(bad).unwrap_err().to_string();
        assert!(error.contains(says) && !error.contains("pass@"), "{error}");
    }
    let bad = ModelSettings { api_key: Some("sk\n-x".into()), ..settings(Provider::Anthropic, &server) };
    assert!(Model::new(bad).unwrap_err().to_string().contains("characters that no key has"));
}

#[tokio::test]
async fn answers_are_found_in_what_was_said() {
    let server = ScriptedModel::start().await;
    for model in [openai(&server), anthropic(&server)] {
        for how in [Misbehaviour::Fenced, Misbehaviour::InProse] {
            server.say("goal_understanding", json!({"main_objective": "Scripted"}));
            server.misbehave(how);
            let (goal, calls) = goal(model.answer(&ask()).await);
            assert_eq!((goal.main_objective.as_str(), calls), ("Scripted", 1));
        }
    }
    server.say("goal_understanding", json!({"goal_understanding": {"main_objective": "Wrapped"}}));
    assert_eq!(goal(openai(&server).answer(&ask()).await).0.main_objective, "Wrapped");
    server.assert_nothing_left_over();
}

#[tokio::test]
async fn an_unusable_answer_is_asked_for_once_more() {
    let server = ScriptedModel::start().await;
    for model in [openai(&server), anthropic(&server)] {
        for how in [Misbehaviour::Nonsense, Misbehaviour::Empty] {
            server.misbehave(how);
            assert_eq!(goal(model.answer(&ask()).await).1, 2);
            let repair = server.requests().pop().unwrap();
            assert!(repair.user.contains("Your previous answer cannot be used: "), "{}", repair.user);
        }
    }
    let bad_plan = json!({"reasoning": "", "subtasks": [
        {"id": "a", "description": "x", "dependencies": ["b"], "estimated_complexity": "low", "required_tools": []}]});
    server.say("task_decomposition", bad_plan);
    let goal = goal(openai(&server).answer(&ask()).await).0;
    let answered = openai(&server)
        .answer(&Ask::TaskDecomposition { context: context(), goal, told: Box::default() })
        .await
        .unwrap();
    assert_eq!((answered.usage.calls, answered.usage.cost_micro_usd), (2, Some(600)));
    let repair = server.requests().pop().unwrap();
    assert!(repair.user.contains("`a` depends on `b`, which is no step"), "{}", repair.user);
    server.assert_nothing_left_over();
}

#[tokio::test]
async fn a_second_unusable_answer_is_a_failure() {
    let server = ScriptedModel::start().await;
    for (how, why) in [
        (Misbehaviour::Nonsense, "there is no complete JSON object in the answer"),
        (Misbehaviour::Empty, "the answer is empty"),
    ] {
        for model in [openai(&server), anthropic(&server)] {
            server.always_misbehave(Some(how.clone()));
            let failed = model.answer(&ask()).await;
            assert_eq!(failed.as_ref().unwrap_err().usage.input_tokens, 200, "what was spent is told");
            assert_eq!(failure(failed), (LlmError::Unreadable(why.to_owned()), 2));
        }
    }
    server.always_misbehave(Some(Misbehaviour::Page));
    assert!(matches!(failure(openai(&server).answer(&ask()).await), (LlmError::Unreadable(_), 1)));
    assert!(matches!(failure(anthropic(&server).answer(&ask()).await), (LlmError::Unreadable(_), 1)));
}

#[tokio::test]
async fn an_answer_that_is_cut_off_is_not_guessed_at() {
    let server = ScriptedModel::start().await;
    server.always_misbehave(Some(Misbehaviour::CutOff));
    assert_eq!(failure(openai(&server).answer(&ask()).await), (LlmError::CutOff, 1));
    assert_eq!(failure(anthropic(&server).answer(&ask()).await), (LlmError::CutOff, 1));
}

/// What is not received needs no memory. Buffers of the kernel and of the connection let the server run ahead a little.
#[tokio::test]
async fn a_hundred_megabytes_are_not_read() {
    for provider in [Provider::Openai, Provider::Anthropic] {
        let server = ScriptedModel::start().await;
        server.always_misbehave(Some(Misbehaviour::Huge(100 << 20)));
        let model = Model::new(settings(provider, &server)).unwrap();
        assert_eq!(failure(model.answer(&ask()).await), (LlmError::TooLarge, 1));
        let sent = server.huge_bytes_sent();
        assert!((1 << 20..32 << 20).contains(&sent), "{sent} bytes were sent");
    }
}

#[tokio::test]
async fn huge_error_pages_are_cut() {
    let server = ScriptedModel::start().await;
    let page = format!("<html>{}{KEY}</html>", "x ".repeat(1 << 20));
    server.always_misbehave(Some(Misbehaviour::Status(404, page)));
    let (LlmError::Rejected { status: 404, detail }, 1) = failure(openai(&server).answer(&ask()).await)
    else {
        panic!("not rejected")
    };
    assert!(detail.len() <= 300);
}

#[tokio::test]
async fn silence_ends_with_the_time_out() {
    let server = ScriptedModel::start().await;
    for how in [Misbehaviour::Silent, Misbehaviour::Dripping] {
        server.always_misbehave(Some(how));
        let model =
            Model::new(ModelSettings { timeout: SHORT, ..settings(Provider::Openai, &server) }).unwrap();
        let started = Instant::now();
        assert_eq!(failure(model.answer(&ask()).await), (LlmError::TimedOut, 2));
        assert!(started.elapsed() >= SHORT * 2 && started.elapsed() < SHORT * 20, "{:?}", started.elapsed());
    }
}

#[tokio::test]
async fn what_passes_by_itself_is_tried_again() {
    let server = ScriptedModel::start().await;
    let overloaded = |status| Misbehaviour::Status(status, "busy".to_owned());
    for model in [openai(&server), anthropic(&server)] {
        for how in [
            Misbehaviour::RateLimited(0),
            Misbehaviour::Reset,
            overloaded(500),
            overloaded(503),
            overloaded(529),
        ] {
            server.misbehave(how);
            assert_eq!(goal(model.answer(&ask()).await).1, 2);
        }
        server.misbehave(overloaded(502));
        server.misbehave(Misbehaviour::Reset);
        assert_eq!(goal(model.answer(&ask()).await).1, 3);
    }
    assert!(
        server.requests().iter().all(|r| r.form != "json_object"),
        "one 500 is no reason to lower the form"
    );
    server.assert_nothing_left_over();
}

#[tokio::test]
async fn what_does_not_pass_is_given_up() {
    let server = ScriptedModel::start().await;
    let model = openai(&server);
    server.always_misbehave(Some(Misbehaviour::Status(503, format!("down, dear {KEY}"))));
    let (LlmError::Unavailable { detail, .. }, 3) = failure(model.answer(&ask()).await) else { panic!("no") };
    assert_eq!(detail, "status 503: down, dear [key]");
    server.always_misbehave(Some(Misbehaviour::Reset));
    assert!(matches!(failure(model.answer(&ask()).await), (LlmError::Unavailable { .. }, 3)));
    server.always_misbehave(Some(Misbehaviour::RateLimited(3_600)));
    let (LlmError::Unavailable { retry_after, .. }, 1) = failure(model.answer(&ask()).await) else {
        panic!("no")
    };
    assert_eq!(retry_after, Some(Duration::from_secs(3_600)), "an hour is for the caller to wait");
}

#[tokio::test]
async fn nobody_at_home() {
    let server = ScriptedModel::start().await;
    let settings = settings(Provider::Openai, &server);
    drop(server);
    // The port may stay open for a moment after the server is told to end.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let model = Model::new(ModelSettings { base_url, ..settings }).unwrap();
    assert!(matches!(failure(model.answer(&ask()).await), (LlmError::Unavailable { .. }, 3)));
}

#[tokio::test]
async fn refusals_are_told_apart() {
    let server = ScriptedModel::start().await;
    let cases = [
        (
            401,
            format!("{{\"error\": {{\"message\": \"Incorrect API key: {KEY}\"}}}}"),
            LlmError::Refused { status: 401 },
        ),
        (403, "no".to_owned(), LlmError::Refused { status: 403 }),
        (413, "no".to_owned(), LlmError::TooLong),
        (400, r#"{"error": {"code": "context_length_exceeded"}}"#.to_owned(), LlmError::TooLong),
        (
            400,
            r#"{"error": {"type": "exceed_context_size_error", "n_ctx": 10}}"#.to_owned(),
            LlmError::TooLong,
        ),
        (
            400,
            r#"{"error": {"type": "x", "message": "prompt is too long: 9 > 8"}}"#.to_owned(),
            LlmError::TooLong,
        ),
    ];
    for (status, body, expected) in cases {
        server.always_misbehave(Some(Misbehaviour::Status(status, body)));
        for model in [openai(&server), anthropic(&server)] {
            assert_eq!(failure(model.answer(&ask()).await), (expected.clone(), 1));
        }
    }
    server.always_misbehave(Some(Misbehaviour::Status(
        404,
        r#"{"error": {"message": "no such model"}}"#.to_owned(),
    )));
    let rejected = LlmError::Rejected { status: 404, detail: "no such model".to_owned() };
    assert_eq!(failure(openai(&server).answer(&ask()).await), (rejected, 1));
}

#[tokio::test]
async fn the_key_goes_nowhere_else() {
    let server = ScriptedModel::start().await;
    let elsewhere = ScriptedModel::start().await;
    server
        .always_misbehave(Some(Misbehaviour::Redirect(format!("{}/chat/completions", elsewhere.base_url()))));
    for model in [openai(&server), anthropic(&server)] {
        assert!(matches!(failure(model.answer(&ask()).await), (LlmError::Rejected { status: 307, .. }, 1)));
        assert!(!format!("{model:?}").contains("very-secret"), "{model:?}");
    }
    assert_eq!(elsewhere.requests().len(), 0);
}

#[tokio::test]
async fn a_server_that_fails_on_the_form_gets_a_simpler_one() {
    for status in [500, 400, 422] {
        let server = ScriptedModel::start().await;
        server.cannot("json_schema", status);
        let model = openai(&server);
        model.answer(&ask()).await.unwrap();
        model.answer(&ask()).await.unwrap();
        let forms: Vec<_> = server.requests().iter().map(|r| r.form).collect();
        let tries = if status == 500 { 2 } else { 1 };
        let expected = [&vec!["json_schema"; tries][..], &["json_object", "json_object"]].concat();
        assert_eq!(forms, expected, "what worked is remembered");

        server.cannot("json_object", status);
        model.answer(&ask()).await.unwrap();
        model.answer(&ask()).await.unwrap();
        let forms: Vec<_> = server.requests().iter().skip(expected.len()).map(|r| r.form).collect();
        assert_eq!(forms, [&vec!["json_object"; tries][..], &["text", "text"]].concat());
        assert!(
            server
                .requests()
                .iter()
                .all(|r| r.form == "json_schema" || r.system.contains("\"main_objective\""))
        );
    }
}

#[tokio::test]
async fn a_server_that_always_fails_is_not_remembered_as_simple() {
    let server = ScriptedModel::start().await;
    let model = openai(&server);
    server.always_misbehave(Some(Misbehaviour::Status(500, "broken".to_owned())));
    assert!(matches!(failure(model.answer(&ask()).await), (LlmError::Unavailable { .. }, 6)));
    server.always_misbehave(None);
    assert_eq!(goal(model.answer(&ask()).await).1, 1);
    assert_eq!(server.requests().pop().unwrap().form, "json_schema");
}

#[tokio::test]
async fn the_limit_of_tokens_goes_by_the_name_that_the_server_knows() {
    let server = ScriptedModel::start().await;
    server.knows_only_the_limit("max_completion_tokens");
    let model = openai(&server);
    assert_eq!(goal(model.answer(&ask()).await).1, 2);
    assert_eq!(goal(model.answer(&ask()).await).1, 1, "it is remembered");
    assert!(server.requests().iter().all(|r| r.form == "json_schema"));
}

#[tokio::test]
async fn an_unknown_cost_is_not_a_cost_of_nothing() {
    let server = ScriptedModel::start().await;
    server.misbehave(Misbehaviour::NoUsage);
    assert_eq!(openai(&server).answer(&ask()).await.unwrap().usage.cost_micro_usd, None);
    let free = Model::new(ModelSettings { price: None, ..settings(Provider::Openai, &server) }).unwrap();
    assert_eq!(free.answer(&ask()).await.unwrap().usage.cost_micro_usd, None);
}

fn a_goal() -> Goal {
    Goal {
        main_objective: "Greet people".to_owned(),
        success_criteria: vec![],
        constraints: vec![],
        context: String::new(),
        design_choices_open: true,
    }
}

fn a_step(n: usize, on: &[usize]) -> Step {
    Step {
        id: StepId(format!("task_{n}")),
        description: format!("Step {n}"),
        dependencies: on.iter().map(|n| StepId(format!("task_{n}"))).collect(),
        estimated_complexity: Complexity::Low,
        required_tools: vec![],
        rests_on: vec![],
    }
}

fn a_difficulty() -> Box<DifficultyTask> {
    Box::new(DifficultyTask {
        goal: a_goal(),
        step: "Step 1".to_owned(),
        issue: "It does not link.".to_owned(),
        attempts: vec![],
        suggestion: None,
        evidence: vec![],
        said: vec![],
    })
}

fn a_document(text: &str) -> Ask {
    Ask::PlanDocument { context: Context::default(), document: text.to_owned() }
}

/// What is asked about people, about replanning, and by the crew.
fn further_asks() -> Vec<Ask> {
    let told = Box::<Told>::default;
    let moment = Moment {
        phase: ReplanPhase::Execution,
        result: "exit code 1".to_owned(),
        error: None,
        progress: [1, 2, 1, 1],
        remaining: vec![],
    };
    vec![
        Ask::DiscoveryQuestions { context: context(), goal: a_goal(), told: told() },
        Ask::AnswerMapping { context: context(), questions: vec![], words: "yes".to_owned() },
        Ask::DesignDecisions { context: context(), goal: a_goal(), told: told() },
        Ask::DesignSummary { context: context(), goal: a_goal(), told: told() },
        Ask::PlanRevision {
            context: context(),
            goal: a_goal(),
            sealed: vec![a_step(1, &[])],
            kept: vec![],
            open: vec![a_step(2, &[1]), a_step(3, &[2])],
            problems: vec![],
            told: told(),
        },
        Ask::ReplanDecision { context: context(), goal: Some(a_goal()), moment, told: told() },
        Ask::FinalEvaluation { context: context(), goal: a_goal(), done: vec![], told: told() },
        Ask::AlternativeApproach {
            context: context(),
            goal: a_goal(),
            limit: "two replans".to_owned(),
            wanted: Box::default(),
            told: told(),
        },
        Ask::ConversationSummary { context: context(), messages: vec!["hello\nthere".to_owned()] },
        Ask::StepJudgement {
            context: context(),
            task: Box::new(JudgeTask {
                objective: "Greet people".to_owned(),
                step: "Step 1".to_owned(),
                actions: vec![],
                diff: String::new(),
                remarks: vec![],
            }),
        },
        Ask::LogicValidation { context: context(), task: a_difficulty() },
        Ask::ExternalAdvice { context: context(), task: a_difficulty() },
        a_document("# Greet\n1. Look\n2. Write\n3. Test\n"),
    ]
}

#[tokio::test]
async fn every_question_is_answered_by_every_model() {
    let server = ScriptedModel::start().await;
    let offline = Model::new(ModelSettings::new(Provider::Offline, "", "")).unwrap();
    for model in [openai(&server), anthropic(&server), offline] {
        for ask in further_asks() {
            let name = ask.schema_name();
            let answered = model.answer(&ask).await.unwrap();
            assert!(answered.usage.calls <= 1, "{name} was asked again");
            let fits = match answered.answer {
                Answer::Questions(_) => name == "discovery_questions",
                Answer::Mapping(mapped) => name == "answer_mapping" && mapped.is_empty(),
                Answer::Decisions(_) => name == "design_decisions",
                Answer::Summary(text) => {
                    ["design_summary", "conversation_summary"].contains(&name) && !text.is_empty()
                }
                Answer::Revision { steps, actions } => {
                    steps == [a_step(2, &[1]), a_step(3, &[2])] && actions.len() == 2
                }
                Answer::Replan(Decided::Decision { decision }) => !decision.replan_needed,
                Answer::Alternative(alternative) => alternative.way == OtherWay::Nothing,
                Answer::Judgement(judgement) => name == "judge_verdict" && judgement.verdict == Verdict::Done,
                Answer::Advice(advice) => advice.needs_person && advice.confidence == 0.0,
                Answer::Document { steps, .. } => name == "plan_document" && steps.len() == 3,
                Answer::Goal { .. }
                | Answer::Steps { .. }
                | Answer::Actions { .. }
                | Answer::Turn(_)
                | Answer::Reflection { .. }
                | Answer::Replan(Decided::Nothing | Decided::Unreadable { .. }) => false,
            };
            assert!(fits, "{name}");
        }
    }
    server.assert_nothing_left_over();
}

#[tokio::test]
async fn a_decision_that_cannot_be_read_is_asked_for_once_more() {
    let server = ScriptedModel::start().await;
    let model = openai(&server);
    let ask = further_asks().into_iter().find(|ask| ask.schema_name() == "replan_decision").unwrap();
    let unsure = json!({"replan_needed": true, "confidence": "high", "replan_type": "retry"});
    server.say("replan_decision", unsure.clone());
    assert_eq!(model.answer(&ask).await.unwrap().usage.calls, 2);
    let repair = server.requests().pop().unwrap();
    assert!(repair.user.contains("`confidence` must be a number from 0.0 to 1.0"), "{}", repair.user);

    let told = Box::new(Told { decide: Decide::Along, ..Told::default() });
    let along = Ask::GoalUnderstanding { context: context(), told };
    server.say("goal_understanding", json!({"main_objective": "Greet", "replan_decision": unsure}));
    let answered = model.answer(&along).await.unwrap();
    let Answer::Goal { goal, replan: Decided::Unreadable { why } } = answered.answer else {
        panic!("{:?}", answered.answer)
    };
    assert_eq!((goal.main_objective.as_str(), answered.usage.calls), ("Greet", 1));
    assert_eq!(why, "`confidence` must be a number from 0.0 to 1.0");
    server.assert_nothing_left_over();
}

#[tokio::test]
async fn a_document_that_is_no_plan_says_why() {
    let server = ScriptedModel::start().await;
    let step = |id: &str, on: &str| json!({"id": id, "description": "x", "dependencies": [on], "estimated_complexity": "low", "required_tools": []});
    let circle = json!({"objective": "Ship", "subtasks": [step("a", "b"), step("b", "a")]});
    let waiting = PlanProblem::Cycle(vec![StepId("a".to_owned()), StepId("b".to_owned())]);
    for model in [openai(&server), anthropic(&server)] {
        server.say("plan_document", circle.clone());
        assert_eq!(model.answer(&a_document("1. a")).await.unwrap().usage.calls, 2, "it may mend its answer");
        let repair = server.requests().pop().unwrap();
        assert!(repair.user.contains("the steps `a`, `b` wait for each other"), "{}", repair.user);
        server.say("plan_document", circle.clone());
        server.say("plan_document", circle.clone());
        assert_eq!(failure(model.answer(&a_document("1. a")).await), (LlmError::NoPlan(waiting.clone()), 2));
    }
    // Nonsense is the model's fault, not the document's.
    server.always_misbehave(Some(Misbehaviour::Nonsense));
    let (error, _) = failure(openai(&server).answer(&a_document("1. a")).await);
    assert!(matches!(error, LlmError::Unreadable(_)), "{error}");
    server.assert_nothing_left_over();

    let offline = Model::new(ModelSettings::new(Provider::Offline, "", "")).unwrap();
    let failed = offline.answer(&a_document("Nothing to do.")).await.unwrap_err();
    assert_eq!(failed.to_string(), "the document is no plan that can be carried out: there are no steps");
}

#[tokio::test]
async fn offline_needs_nobody() {
    let model = Model::new(ModelSettings::new(Provider::Offline, "", "")).unwrap();
    let (goal, calls) = goal(model.answer(&ask()).await);
    assert_eq!((goal.main_objective.as_str(), calls), ("Greet people", 0));
    let steps = vec![Step {
        id: StepId("task_1".to_owned()),
        description: "Greet people".to_owned(),
        dependencies: vec![],
        estimated_complexity: Complexity::Low,
        required_tools: vec![],
        rests_on: vec![],
    }];
    let answered = model
        .answer(&Ask::ActionSequence {
            context: context(),
            goal,
            steps,
            problems: vec![],
            told: Box::default(),
        })
        .await
        .unwrap();
    let Answer::Actions { actions, .. } = answered.answer else { panic!("no actions") };
    assert_eq!((actions.len(), actions[0].tool.as_str()), (1, "worker"));
    assert_eq!((answered.usage.model.as_str(), answered.usage.cost_micro_usd), ("offline", Some(0)));
}
