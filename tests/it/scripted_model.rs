//! Purpose: a language model's server that speaks both wires, answers by the question's schema name, and misbehaves when
//! told to. Answers that a test does not give are derived from the question, so that a whole plan comes out of it.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use futures_util::stream;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// What one request gets instead of a good answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Misbehaviour {
    /// The good answer, in a fenced block with words around it.
    Fenced,
    /// The good answer in the middle of a sentence, after another pair of braces.
    InProse,
    Nonsense,
    Empty,
    /// Cut off in the middle by the limit of output tokens.
    CutOff,
    /// This many bytes of answer.
    Huge(usize),
    /// A good answer, after this long.
    Slow(Duration),
    /// A good answer, once somebody lets it go ([`ScriptedModel::release`]).
    Held,
    /// Never answers.
    Silent,
    /// Sends the head and a few bytes, then nothing more.
    Dripping,
    /// Breaks the connection in the middle of the body.
    Reset,
    /// This status with this body.
    Status(u16, String),
    /// 429, with this `retry-after` in seconds.
    RateLimited(u64),
    /// Sends the client somewhere else.
    Redirect(String),
    /// Not even JSON.
    Page,
    /// A good answer without the tokens that it used.
    NoUsage,
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) schema_name: String,
    /// `json_schema`, `json_object`, `text` or `tool`.
    pub(crate) form: &'static str,
    pub(crate) headers: HeaderMap,
    pub(crate) system: String,
    pub(crate) user: String,
    pub(crate) body: Value,
}

/// An answer that is derived from the question, each time that it is asked.
type Standing = Arc<dyn Fn(&Asked) -> Value + Send + Sync>;

#[derive(Default)]
struct Script {
    asked: Vec<Asked>,
    said: Vec<(String, Value)>,
    standing: Vec<(String, Standing)>,
    misbehaviours: VecDeque<Misbehaviour>,
    always: Option<Misbehaviour>,
    /// Forms that this server fails on, and the status it fails with.
    unable: Vec<(&'static str, u16)>,
    /// The name of the only limit of tokens that it knows.
    limit: Option<&'static str>,
    broken_contracts: Vec<String>,
    huge_bytes_sent: Arc<AtomicUsize>,
    released: Option<Arc<Semaphore>>,
}

impl Script {
    fn released(&mut self) -> Arc<Semaphore> {
        Arc::clone(self.released.get_or_insert_with(|| Arc::new(Semaphore::new(0))))
    }
}

pub(crate) struct ScriptedModel {
    script: Arc<Mutex<Script>>,
    origin: String,
    server: JoinHandle<()>,
}

impl ScriptedModel {
    pub(crate) async fn start() -> Self {
        let script = Arc::new(Mutex::new(Script::default()));
        let router = Router::new()
            .route("/v1/chat/completions", post(answer))
            .route("/v1/messages", post(answer))
            .with_state(script.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        #[expect(clippy::disallowed_methods, reason = "the server of a test runs beside it and ends with it")]
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { script, origin, server }
    }

    /// For both wires: OpenAI's clients add `/chat/completions`, Anthropic's find their way from `/v1` as well.
    pub(crate) fn base_url(&self) -> String {
        format!("{}/v1", self.origin)
    }

    /// The next answer to the question of this name; several are given in order.
    pub(crate) fn say(&self, schema_name: &str, answer: Value) {
        self.script.lock().unwrap().said.push((schema_name.to_owned(), answer));
    }

    /// The answer to every question of this name for which none is scripted: whoever crashes may ask it again.
    pub(crate) fn always_say(
        &self,
        schema_name: &str,
        answer: impl Fn(&Asked) -> Value + Send + Sync + 'static,
    ) {
        self.script.lock().unwrap().standing.push((schema_name.to_owned(), Arc::new(answer)));
    }

    /// For the next request that has no misbehaviour queued before it.
    pub(crate) fn misbehave(&self, how: Misbehaviour) {
        self.script.lock().unwrap().misbehaviours.push_back(how);
    }

    /// Lets one held answer go.
    pub(crate) fn release(&self) {
        self.script.lock().unwrap().released().add_permits(1);
    }

    /// For every request from now on; `None` ends it.
    pub(crate) fn always_misbehave(&self, how: Option<Misbehaviour>) {
        self.script.lock().unwrap().always = how;
    }

    /// Every request in this form (`json_schema`, `json_object`) fails with this status.
    pub(crate) fn cannot(&self, form: &'static str, status: u16) {
        self.script.lock().unwrap().unable.push((form, status));
    }

    pub(crate) fn knows_only_the_limit(&self, name: &'static str) {
        self.script.lock().unwrap().limit = Some(name);
    }

    pub(crate) fn requests(&self) -> Vec<Asked> {
        self.script.lock().unwrap().asked.clone()
    }

    /// How much of huge answers went out before the client hung up.
    pub(crate) fn huge_bytes_sent(&self) -> usize {
        self.script.lock().unwrap().huge_bytes_sent.load(Ordering::SeqCst)
    }

    /// Fails on scripted answers and misbehaviours that nobody asked for, and on requests that broke the wire's contract.
    pub(crate) fn assert_nothing_left_over(&self) {
        let script = self.script.lock().unwrap();
        assert_eq!(script.said, [], "answers that were never asked for");
        assert_eq!(script.misbehaviours, [], "misbehaviours that never happened");
        assert_eq!(script.broken_contracts, [""; 0]);
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn answer(
    State(script): State<Arc<Mutex<Script>>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let (asked, how) = {
        let mut script = script.lock().unwrap();
        let asked = match understand(uri.path(), &headers, &body) {
            Ok(asked) => asked,
            Err(problem) => {
                script.broken_contracts.push(problem.clone());
                return error(400, &problem);
            }
        };
        script.asked.push(asked.clone());
        if let Some((form, status)) = script.unable.iter().find(|(form, _)| *form == asked.form) {
            return error(*status, &format!("{form} is not supported here"));
        }
        if let Some(limit) = script.limit
            && asked.body.get(limit).is_none()
        {
            return error(400, &format!("Unsupported parameter. Use '{limit}' instead."));
        }
        let always = script.always.clone();
        let how = script.misbehaviours.pop_front().or(always);
        (asked, how)
    };
    match how {
        None => good(&asked, &content(&script, &asked), Ending::Done),
        Some(how) => bad(&script, &asked, how).await,
    }
}

/// Checks the contract of the wire and takes the question out of the request.
fn understand(path: &str, headers: &HeaderMap, body: &[u8]) -> Result<Asked, String> {
    let body: Value = serde_json::from_slice(body).map_err(|error| format!("no JSON: {error}"))?;
    if headers.get(header::CONTENT_TYPE).map(|value| value.as_bytes()) != Some(b"application/json") {
        return Err("the content type is not application/json".to_owned());
    }
    if body["model"].as_str().is_none_or(str::is_empty) {
        return Err("no model is named".to_owned());
    }
    let (form, schema_name, system, user) =
        if path.ends_with("/messages") { anthropic(headers, &body)? } else { openai(&body)? };
    Ok(Asked { path: path.to_owned(), schema_name, form, headers: headers.clone(), system, user, body })
}

type Question = (&'static str, String, String, String);

fn anthropic(headers: &HeaderMap, body: &Value) -> Result<Question, String> {
    if !headers.contains_key("anthropic-version") {
        return Err("no anthropic-version".to_owned());
    }
    if body["max_tokens"].as_u64().is_none() {
        return Err("no max_tokens".to_owned());
    }
    let name = text(&body["tool_choice"]["name"]);
    if body["tool_choice"]["type"] != "tool" || name.is_empty() || body["tools"][0]["name"] != name.as_str() {
        return Err("the tool is not forced".to_owned());
    }
    check_schema(&body["tools"][0]["input_schema"])?;
    if body["system"][0]["cache_control"]["type"] != "ephemeral" {
        return Err("the system prompt is not marked for the cache".to_owned());
    }
    Ok(("tool", name, text(&body["system"][0]["text"]), text(&body["messages"][0]["content"])))
}

fn openai(body: &Value) -> Result<Question, String> {
    if body["messages"][0]["role"] != "system" || body["messages"][1]["role"] != "user" {
        return Err("the messages are not system and user".to_owned());
    }
    let (system, user) = (text(&body["messages"][0]["content"]), text(&body["messages"][1]["content"]));
    let format = &body["response_format"];
    let (form, name) = match format["type"].as_str() {
        Some("json_schema") => {
            let schema = &format["json_schema"];
            if schema["strict"] != true {
                return Err("the schema is not strict".to_owned());
            }
            check_schema(&schema["schema"])?;
            ("json_schema", text(&schema["name"]))
        }
        // Without a schema on the wire, the prompt has to say it.
        Some("json_object") => ("json_object", named_in_prompt(&system)),
        None if format.is_null() => ("text", named_in_prompt(&system)),
        _ => return Err("an unknown response_format".to_owned()),
    };
    if name.is_empty() {
        return Err("the question has no schema name".to_owned());
    }
    Ok((form, name, system, user))
}

fn named_in_prompt(system: &str) -> String {
    system
        .split_once("named ")
        .and_then(|(_, rest)| rest.split_once(':'))
        .map(|(name, _)| name.to_owned())
        .unwrap_or_default()
}

/// As OpenAI's strict mode does.
fn check_schema(schema: &Value) -> Result<(), String> {
    if let Some(properties) = schema["properties"].as_object() {
        let names: Vec<&String> = properties.keys().collect();
        if schema["additionalProperties"] != false || schema["required"] != json!(names) {
            return Err("an object of the schema is open or has optional properties".to_owned());
        }
        for inner in properties.values() {
            check_schema(inner)?;
        }
    } else if let Some(items) = schema.get("items") {
        check_schema(items)?;
    } else if schema["type"].is_null() {
        return Err("a part of the schema has no type".to_owned());
    }
    Ok(())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The scripted answer, or one that is derived from the question.
fn content(script: &Mutex<Script>, asked: &Asked) -> Value {
    let mut script = script.lock().unwrap();
    if let Some(at) = script.said.iter().position(|(name, _)| *name == asked.schema_name) {
        return script.said.remove(at).1;
    }
    if let Some((_, answer)) = script.standing.iter().find(|(name, _)| *name == asked.schema_name) {
        return answer(asked);
    }
    match asked.schema_name.as_str() {
        "goal_understanding" => goal(asked),
        "task_decomposition" => three_steps(),
        "action_sequence" => actions_for(asked),
        "worker_turn" => json!({
            "thought": "look", "tool": "finish", "path": null, "content": null, "name": null, "arguments_json": null,
            "command": [], "feedback": {
                "type": "exploration", "findings": "It is all there.", "recommendations": [], "confidence": "high",
                "result": null, "changes": [], "notes": null, "issue": null, "attempts": [], "suggestion": null,
                "impediment": {"category": null, "requested_action": null},
            },
        }),
        "reflection" => json!({
            "action_id": "", "status": "success", "evaluation": "It went as planned.", "alignment_with_plan": "good",
            "issues_identified": [], "plan_revision_needed": false,
        }),
        "discovery_questions" => json!({"questions": []}),
        "answer_mapping" => json!({"answers": []}),
        "design_decisions" => json!({"decisions": []}),
        "design_summary" | "conversation_summary" => json!({"summary": "All was said."}),
        "plan_revision" => revised(asked),
        "replan_decision" => no_replan(),
        "final_evaluation" => json!({
            "replan_needed": false, "replan_type": "none", "confidence": 0.9, "reasoning": "It is done.",
            "evaluation_result": "success", "achievement_rate": 100, "issues_identified": [],
            "additional_actions": [], "revision_scope": null,
        }),
        "alternative_approach" => json!({"way": "nothing", "reasoning": "There is none."}),
        "judge_verdict" => json!({
            "verdict": "done", "reasons": ["The evidence shows it."], "remarks": "", "contradiction": null,
        }),
        "logic_validation" | "external_advice" => json!({
            "advice": "", "confidence": 0.0, "contradiction": null, "needs_person": true,
        }),
        "plan_document" => json!({
            "objective": "What the document says", "subtasks": three_steps()["subtasks"],
        }),
        other => panic!("no answer is known for {other}"),
    }
}

fn goal(asked: &Asked) -> Value {
    let title =
        asked.user.lines().skip_while(|line| !line.contains(" title by ")).nth(1).unwrap_or("the request");
    json!({
        "main_objective": title, "success_criteria": ["the tests pass"], "constraints": ["no new dependencies"],
        "context": "derived from the title", "design_choices_open": false,
    })
}

fn three_steps() -> Value {
    let step = |n: u32, description: &str, on: &[&str]| {
        json!({
            "id": format!("task_{n}"), "description": description, "dependencies": on,
            "estimated_complexity": "low", "required_tools": ["files"],
        })
    };
    json!({"reasoning": "look, change, check", "subtasks": [
        step(1, "Read the code", &[]), step(2, "Make the change", &["task_1"]), step(3, "Run the tests", &["task_2"]),
    ]})
}

/// One look for each step that the question lists, and a new file for the one that makes the change.
fn actions_for(asked: &Asked) -> Value {
    let ids: Vec<String> = listed(asked, "The steps").iter().map(|step| text(&step["id"])).collect();
    json!({"execution_order": ids, "actions": actions_of(&ids)})
}

/// The open steps once more, each with one action.
fn revised(asked: &Asked) -> Value {
    let mut steps = listed(asked, "The steps that are not done");
    let ids: Vec<String> = steps.iter().map(|step| text(&step["id"])).collect();
    for step in &mut steps {
        step["rests_on"] = json!([]);
    }
    json!({"subtasks": steps, "execution_order": ids, "actions": actions_of(&ids)})
}

fn listed(asked: &Asked, which: &str) -> Vec<Value> {
    let title = format!("{which}, one in each line:\n");
    let rest = asked.user.split_once(&title).map(|(_, rest)| rest).unwrap_or_default();
    rest.lines().map_while(|line| serde_json::from_str(line).ok()).collect()
}

fn no_replan() -> Value {
    json!({
        "replan_needed": false, "confidence": 0.9, "reasoning": "It goes well.", "replan_type": "none",
        "target_phase": null, "replan_level": null, "issues_found": [], "recommended_actions": [],
        "clarification_needed": false, "clarification_questions": [], "assumptions_to_make": [],
        "missing_steps": [], "recommended_granularity": "", "scope_adjustment": "", "unavailable_tools": [],
        "alternative_tools": [], "dependency_issues": [], "plan_adjustments": [], "error_classification": null,
        "recovery_strategy": "", "affected_actions": [],
    })
}

fn actions_of(ids: &[String]) -> Vec<Value> {
    ids.iter()
        .map(|id| {
            let changes = id == "task_2";
            let spec = if changes {
                json!({"path": "src/token.rs", "content": "fn check() {}\n", "command": [], "arguments_json": null})
            } else {
                json!({"path": null, "content": null, "command": [], "arguments_json": null})
            };
            json!({
                "task_id": id, "action_type": if changes { "create" } else { "analyze" }, "tool": "worker",
                "purpose": format!("do {id}"), "expected_outcome": "it is done", "fallback_strategy": "ask",
                "optional": false, "spec": spec,
            })
        })
        .collect()
}

#[derive(PartialEq, Eq, Clone, Copy)]
enum Ending {
    Done,
    Length,
}

fn good(asked: &Asked, answer: &Value, ending: Ending) -> Response {
    let body = if asked.form == "tool" {
        message(json!([{"type": "tool_use", "id": "t1", "name": asked.schema_name, "input": answer}]), ending)
    } else {
        completion(&answer.to_string(), ending)
    };
    reply(200, body.to_string())
}

/// The words of a model that does not keep to the form.
fn said(asked: &Asked, words: &str, ending: Ending) -> Response {
    let body = if asked.form == "tool" {
        message(json!([{"type": "text", "text": words}]), ending)
    } else {
        completion(words, ending)
    };
    reply(200, body.to_string())
}

fn completion(words: &str, ending: Ending) -> Value {
    json!({
        "id": "c1", "object": "chat.completion", "model": "scripted",
        "choices": [{
            "index": 0, "finish_reason": if ending == Ending::Done { "stop" } else { "length" },
            "message": {"role": "assistant", "content": words},
        }],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    })
}

fn message(content: Value, ending: Ending) -> Value {
    json!({
        "id": "m1", "type": "message", "role": "assistant", "model": "scripted", "content": content,
        "stop_reason": if ending == Ending::Done { "tool_use" } else { "max_tokens" },
        "usage": {
            "input_tokens": 60, "cache_creation_input_tokens": 30, "cache_read_input_tokens": 10, "output_tokens": 20,
        },
    })
}

async fn bad(script: &Mutex<Script>, asked: &Asked, how: Misbehaviour) -> Response {
    match how {
        Misbehaviour::Fenced => {
            let answer = content(script, asked);
            said(
                asked,
                &format!("Sure, here it is:\n\n```json\n{answer:#}\n```\nAnything else?"),
                Ending::Done,
            )
        }
        Misbehaviour::InProse => {
            let answer = content(script, asked);
            said(asked, &format!("I think {{so}}: {answer} That is all."), Ending::Done)
        }
        Misbehaviour::Nonsense => said(asked, "purple monkey dishwasher {", Ending::Done),
        Misbehaviour::Empty => said(asked, "", Ending::Done),
        Misbehaviour::CutOff => said(asked, r#"{"main_objective": "Gree"#, Ending::Length),
        Misbehaviour::Huge(bytes) => huge(bytes, script.lock().unwrap().huge_bytes_sent.clone()),
        Misbehaviour::Slow(wait) => {
            tokio::time::sleep(wait).await;
            said(asked, &content(script, asked).to_string(), Ending::Done)
        }
        Misbehaviour::Held => {
            let released = script.lock().unwrap().released();
            released.acquire().await.unwrap().forget();
            said(asked, &content(script, asked).to_string(), Ending::Done)
        }
        Misbehaviour::Silent => std::future::pending().await,
        Misbehaviour::Dripping => {
            let start = stream::iter([Ok::<_, Infallible>(Bytes::from_static(b"{\"choices\": ["))]);
            let never = stream::pending();
            streamed(Body::from_stream(futures_util::StreamExt::chain(start, never)))
        }
        Misbehaviour::Reset => {
            let broken =
                [Ok(Bytes::from_static(b"{\"choices\": [")), Err(std::io::Error::other("broken on purpose"))];
            streamed(Body::from_stream(stream::iter(broken)))
        }
        Misbehaviour::Status(status, body) => reply(status, body),
        Misbehaviour::RateLimited(seconds) => {
            let mut response = error(429, "slow down");
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
            response
        }
        Misbehaviour::Redirect(to) => {
            (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, to)]).into_response()
        }
        Misbehaviour::Page => reply(200, "<html>captive portal</html>".to_owned()),
        Misbehaviour::NoUsage => {
            let mut body = completion(&content(script, asked).to_string(), Ending::Done);
            body["usage"] = Value::Null;
            reply(200, body.to_string())
        }
    }
}

/// Sent as it is read, in pieces: neither side ever holds it whole.
fn huge(bytes: usize, sent: Arc<AtomicUsize>) -> Response {
    let piece = Bytes::from(vec![b'x'; 64 << 10]);
    let count = bytes / piece.len();
    let start = Bytes::from_static(b"{\"choices\": [{\"message\": {\"content\": \"");
    let pieces = std::iter::once(start).chain(std::iter::repeat_n(piece, count)).map(move |piece| {
        sent.fetch_add(piece.len(), Ordering::SeqCst);
        Ok::<_, Infallible>(piece)
    });
    streamed(Body::from_stream(stream::iter(pieces)))
}

fn streamed(body: Body) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

fn reply(status: u16, body: String) -> Response {
    let status = StatusCode::from_u16(status).unwrap();
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}

fn error(status: u16, message: &str) -> Response {
    reply(status, json!({"error": {"type": "scripted_error", "message": message}}).to_string())
}

/// Long enough for a loaded machine, short enough for a test that waits for it to pass.
pub(crate) const SHORT: Duration = Duration::from_millis(300);
