//! Purpose: what a model said → a typed, checked answer, or a sentence about what is wrong with it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::extract;
use super::wire::{ActionAnswer, DecompositionAnswer, GoalAnswer, SequenceAnswer, SpecAnswer, SubtaskAnswer};
use super::{Answer, Ask, Told, plain_text, read_crew, read_replan, read_talk, read_turn};
use crate::plan::{
    Action, ActionId, ActionKind, ActionSpec, Complexity, Decided, Goal, PlanProblem, Step, StepId,
    check_steps,
};

/// Why an answer cannot be used. The sentence goes back to the model, so it says what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    #[error("{0}")]
    Answer(String),
    /// The answer can be read, and what it takes from a document is no plan.
    #[error("{0}")]
    Document(PlanProblem),
}

/// Longer texts are not looked at. The longest honest answers are plans that bring whole files along.
const MAX_TEXT: usize = 1 << 20;
const MAX_ITEMS: usize = 50;
const MAX_ACTIONS: usize = 300;
pub(super) const MAX_CONTENT: usize = 256 << 10;
const LINE: usize = 500;
const PARAGRAPH: usize = 4_000;

/// # Errors
/// When there is no JSON object in the text, or it does not answer the question.
pub fn read_answer(ask: &Ask, text: &str) -> Result<Answer, Unreadable> {
    match ask {
        Ask::GoalUnderstanding { told, .. } => {
            let (answer, replan) = with_decision(ask, told, text, "main_objective")?;
            Ok(Answer::Goal { goal: goal(answer)?, replan })
        }
        Ask::DiscoveryQuestions { .. } => read_talk::discovery(fit(object(ask, text, "questions")?)?),
        Ask::AnswerMapping { questions, .. } => {
            read_talk::mapping(fit(object(ask, text, "answers")?)?, questions)
        }
        Ask::DesignDecisions { .. } => read_talk::decisions(fit(object(ask, text, "decisions")?)?),
        Ask::DesignSummary { .. } | Ask::ConversationSummary { .. } => {
            read_talk::summary(fit(object(ask, text, "summary")?)?)
        }
        Ask::TaskDecomposition { told, .. } => {
            let (answer, replan) = with_decision(ask, told, text, "subtasks")?;
            decomposition(answer, told, replan)
        }
        Ask::ActionSequence { steps, told, .. } => {
            let (answer, replan) = with_decision(ask, told, text, "actions")?;
            Ok(Answer::Actions { actions: actions(answer, steps)?, replan })
        }
        Ask::PlanRevision { sealed, kept, told, .. } => {
            read_replan::revision(parse(ask, text, "subtasks")?, sealed, kept, told)
        }
        Ask::WorkerTurn { .. } => read_turn::turn(parse(ask, text, "tool")?).map(Answer::Turn),
        Ask::Reflection { action_id, told, .. } => {
            let (answer, replan) = with_decision(ask, told, text, "evaluation")?;
            Ok(Answer::Reflection { reflection: read_turn::reflection(answer, action_id)?, replan })
        }
        Ask::ReplanDecision { .. } | Ask::FinalEvaluation { .. } => {
            read_replan::alone(object(ask, text, "replan_needed")?)
        }
        Ask::AlternativeApproach { .. } => read_replan::alternative(fit(object(ask, text, "way")?)?),
        Ask::StepJudgement { .. } => read_crew::judgement(&fit(object(ask, text, "verdict")?)?),
        Ask::LogicValidation { .. } | Ask::ExternalAdvice { .. } => {
            read_crew::advice(&fit(object(ask, text, "advice")?)?)
        }
        Ask::PlanDocument { .. } => read_crew::document(parse(ask, text, "subtasks")?),
    }
}

/// A phase's answer and the decision that came along with it. A broken decision never spoils a good answer.
fn with_decision<T: DeserializeOwned>(
    ask: &Ask,
    told: &Told,
    text: &str,
    expected: &str,
) -> Result<(T, Decided), Unreadable> {
    let mut object = object(ask, text, expected)?;
    let decision = object.remove(extract::DECISION);
    check_width(&object)?;
    Ok((fit(object)?, read_replan::beside(told, decision)))
}

fn parse<T: DeserializeOwned>(ask: &Ask, text: &str, expected: &str) -> Result<T, Unreadable> {
    let object = object(ask, text, expected)?;
    check_width(&object)?;
    fit(object)
}

fn object(ask: &Ask, text: &str, expected: &str) -> Result<Map<String, Value>, Unreadable> {
    if text.trim().is_empty() {
        return complain("the answer is empty");
    }
    if text.len() > MAX_TEXT {
        return complain("the answer is longer than 1 MiB; leave file contents out");
    }
    let text = without_fence(ask, text);
    extract::object(&text, ask.schema_name(), expected)
        .ok_or_else(|| Unreadable::Answer("there is no complete JSON object in the answer".to_owned()))
}

pub(super) fn fit<T: DeserializeOwned>(object: Map<String, Value>) -> Result<T, Unreadable> {
    serde_json::from_value(Value::Object(object)).map_err(|error| {
        Unreadable::Answer(format!("the JSON does not fit the schema: {}", one_line(&error.to_string(), 300)))
    })
}

/// Weak models repeat the mark of data. In an answer it would be shown in the thread, where it could then be forged.
fn without_fence<'a>(ask: &Ask, text: &'a str) -> Cow<'a, str> {
    let fence = &ask.context().fence;
    let repeats = !fence.trim().is_empty() && text.contains(fence);
    if repeats { Cow::Owned(text.replace(fence, " ")) } else { Cow::Borrowed(text) }
}

/// Lists are counted before they become structures: a megabyte of empty objects would become a hundred of those.
fn check_width(object: &Map<String, Value>) -> Result<(), Unreadable> {
    for (key, value) in object {
        if let Some(items) = value.as_array()
            && items.len() > MAX_ACTIONS
        {
            let key = one_line(key, 40);
            return complain(format!("`{key}` has {} items; at most {MAX_ACTIONS} are allowed", items.len()));
        }
    }
    Ok(())
}

pub(super) fn complain<T>(why: impl Into<String>) -> Result<T, Unreadable> {
    Err(Unreadable::Answer(why.into()))
}

fn goal(answer: GoalAnswer) -> Result<Goal, Unreadable> {
    let main_objective = one_line(&answer.main_objective, LINE);
    if main_objective.is_empty() {
        return complain("`main_objective` is missing or empty: say in one sentence what is to be achieved");
    }
    Ok(Goal {
        main_objective,
        success_criteria: lines(&answer.success_criteria),
        constraints: lines(&answer.constraints),
        context: paragraph(&answer.context),
        design_choices_open: answer.design_choices_open,
    })
}

fn decomposition(answer: DecompositionAnswer, told: &Told, replan: Decided) -> Result<Answer, Unreadable> {
    let steps = steps(answer.subtasks, told)?;
    check_plan(&steps)?;
    Ok(Answer::Steps { reasoning: paragraph(&answer.reasoning), steps, replan })
}

pub(super) fn steps(answers: Vec<SubtaskAnswer>, told: &Told) -> Result<Vec<Step>, Unreadable> {
    answers.into_iter().map(|answer| step(answer, told)).collect()
}

pub(super) fn check_plan(steps: &[Step]) -> Result<(), Unreadable> {
    check_steps(steps).map_err(|problem| match problem {
        PlanProblem::Empty => {
            Unreadable::Answer("`subtasks` is missing or empty: give at least one step".to_owned())
        }
        PlanProblem::TooMany(_)
        | PlanProblem::Twice(_)
        | PlanProblem::BadId(_)
        | PlanProblem::NoDescription(_)
        | PlanProblem::UnknownDependency { .. }
        | PlanProblem::Cycle(_) => Unreadable::Answer(format!("`subtasks` is not a plan: {problem}")),
    })
}

fn step(answer: SubtaskAnswer, told: &Told) -> Result<Step, Unreadable> {
    let id = StepId(answer.id.trim().to_owned());
    let estimated_complexity = match answer.estimated_complexity.trim().to_ascii_lowercase().as_str() {
        "low" => Complexity::Low,
        "medium" | "" => Complexity::Medium,
        "high" => Complexity::High,
        _ => {
            let id = one_line(&id.0, 40);
            return complain(format!("`estimated_complexity` of `{id}` must be low, medium or high"));
        }
    };
    let mut dependencies: Vec<StepId> = Vec::new();
    for on in answer.dependencies {
        let on = StepId(on.trim().chars().take(60).collect());
        if !dependencies.contains(&on) {
            dependencies.push(on);
        }
    }
    Ok(Step {
        id,
        description: one_line(&answer.description, LINE),
        dependencies,
        estimated_complexity,
        required_tools: lines(&answer.required_tools),
        rests_on: rests_on(&answer.rests_on, told),
    })
}

/// The assumptions that there are, as they are named; others cannot be contradicted later.
fn rests_on(said: &[String], told: &Told) -> Vec<String> {
    let named = |id: &str| said.iter().any(|said| said.trim().eq_ignore_ascii_case(id));
    told.assumptions.iter().map(|(id, _)| id).filter(|id| named(id)).take(MAX_ITEMS).cloned().collect()
}

pub(super) fn actions(answer: SequenceAnswer, steps: &[Step]) -> Result<Vec<Action>, Unreadable> {
    let order = execution_order(&answer.execution_order, steps)?;
    let mut of_step: BTreeMap<&StepId, Vec<Action>> = BTreeMap::new();
    for action in answer.actions {
        let Some(step) = steps.iter().find(|step| step.id.0 == action.task_id.trim()) else {
            let id = one_line(&action.task_id, 60);
            return complain(format!(
                "an action has the `task_id` `{id}`, which is no step; {}",
                known(steps)
            ));
        };
        of_step.entry(&step.id).or_default().push(self::action(action, step)?);
    }
    if let Some(idle) = steps.iter().find(|step| !of_step.contains_key(&step.id)) {
        return complain(format!("the step `{}` has no action; give at least one for each step", idle.id));
    }
    let ordered = order.into_iter().filter_map(|id| of_step.remove(id)).flatten();
    Ok((1..).zip(ordered).map(|(n, action)| Action { id: ActionId(format!("a{n}")), ..action }).collect())
}

fn known(steps: &[Step]) -> String {
    let ids: Vec<String> = steps.iter().map(|step| format!("`{}`", step.id)).collect();
    format!("the steps are {}", ids.join(", "))
}

/// The wanted order, completed by the steps it leaves out, and mended where it would start a step before what it
/// depends on: again and again the first step that waits for nothing.
fn execution_order<'a>(wanted: &[String], steps: &'a [Step]) -> Result<Vec<&'a StepId>, Unreadable> {
    let mut waiting: Vec<&Step> = Vec::new();
    for id in wanted {
        let Some(step) = steps.iter().find(|step| step.id.0 == id.trim()) else {
            let id = one_line(id, 60);
            return complain(format!("`execution_order` names `{id}`, which is no step; {}", known(steps)));
        };
        if !waiting.contains(&step) {
            waiting.push(step);
        }
    }
    let left_out: Vec<&Step> = steps.iter().filter(|step| !waiting.contains(step)).collect();
    waiting.extend(left_out);

    let mut order: Vec<&StepId> = Vec::new();
    while !waiting.is_empty() {
        let ready = waiting.iter().position(|step| step.dependencies.iter().all(|on| order.contains(&on)));
        // Steps were checked when they were read, so one is always ready.
        let Some(next) = ready else { return complain("the steps wait for each other") };
        order.push(&waiting.remove(next).id);
    }
    Ok(order)
}

fn action(answer: ActionAnswer, step: &Step) -> Result<Action, Unreadable> {
    let action_type = kind(&answer.action_type, &step.id)?;
    let or_else = |text: &str, otherwise: &str| {
        let line = one_line(text, LINE);
        if line.is_empty() { otherwise.to_owned() } else { line }
    };
    Ok(Action {
        id: ActionId(String::new()),
        task_id: step.id.clone(),
        action_type,
        tool: or_else(&answer.tool, action_type.as_str()),
        purpose: or_else(&answer.purpose, &step.description),
        expected_outcome: one_line(&answer.expected_outcome, LINE),
        fallback_strategy: one_line(&answer.fallback_strategy, LINE),
        spec: spec(answer.spec.unwrap_or_default(), &step.id)?,
        optional: answer.optional,
    })
}

fn kind(text: &str, step: &StepId) -> Result<ActionKind, Unreadable> {
    let name = text.trim().to_ascii_lowercase();
    serde_json::from_value(Value::String(name.clone())).map_err(|_| {
        let name = one_line(&name, 40);
        Unreadable::Answer(format!(
            "`{name}` in an action of `{step}` is no `action_type`; use create, write, mkdir, delete, read, analyze, run or tool"
        ))
    })
}

/// Contents and commands are taken to the letter or not at all: half a file is worse than none.
fn spec(answer: SpecAnswer, step: &StepId) -> Result<ActionSpec, Unreadable> {
    if answer.content.as_ref().is_some_and(|content| content.len() > MAX_CONTENT) {
        return complain(format!("the `content` of an action of `{step}` is too long; make it null"));
    }
    let length: usize = answer.command.iter().map(String::len).sum();
    if answer.command.len() > MAX_ITEMS || length > 16_000 {
        return complain(format!(
            "the `command` of an action of `{step}` is too long; write a script instead"
        ));
    }
    let path = answer.path.map(|path| one_line(&path, 1_000)).filter(|path| !path.is_empty());
    let arguments = answer.arguments_json.as_deref().map(read_turn::arguments).transpose()?;
    Ok(ActionSpec { path, content: answer.content, command: answer.command, arguments })
}

pub(super) fn lines(texts: &[String]) -> Vec<String> {
    texts.iter().map(|text| one_line(text, LINE)).filter(|line| !line.is_empty()).take(MAX_ITEMS).collect()
}

/// Visible characters on one line, no longer than `most`.
pub(super) fn one_line(text: &str, most: usize) -> String {
    let words: Vec<String> = plain_text(text).text.split_whitespace().map(str::to_owned).collect();
    shortened(&words.join(" "), most)
}

pub(super) fn paragraph(text: &str) -> String {
    shortened(plain_text(text).text.trim(), PARAGRAPH)
}

fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::crew::Verdict;
    use crate::plan::Question;
    use crate::prompts::samples::every_ask;
    use crate::prompts::{Context, Decide, prompt};

    fn a_goal() -> Goal {
        Goal {
            main_objective: "Ship it".to_owned(),
            success_criteria: vec![],
            constraints: vec![],
            context: String::new(),
            design_choices_open: false,
        }
    }

    fn a_step(id: &str, on: &[&str]) -> Step {
        Step {
            id: StepId(id.to_owned()),
            description: format!("do {id}"),
            dependencies: on.iter().map(|on| StepId((*on).to_owned())).collect(),
            estimated_complexity: Complexity::Low,
            required_tools: vec![],
            rests_on: vec![],
        }
    }

    fn told() -> Box<Told> {
        let assumptions = [("A1", "it runs on Linux"), ("A2", "nobody uses the old API")];
        let assumptions = assumptions.map(|(id, what)| (id.to_owned(), what.to_owned())).to_vec();
        Box::new(Told { assumptions, ..Told::default() })
    }

    fn asks() -> [Ask; 3] {
        let context = Context::default();
        let steps = vec![a_step("a", &[]), a_step("b", &["a"]), a_step("c", &[])];
        [
            Ask::GoalUnderstanding { context: context.clone(), told: Box::default() },
            Ask::TaskDecomposition { context: context.clone(), goal: a_goal(), told: told() },
            Ask::ActionSequence { context, goal: a_goal(), steps, problems: vec![], told: Box::default() },
        ]
    }

    fn complaint(ask: &Ask, text: &str) -> String {
        read_answer(ask, text).expect_err(text).to_string()
    }

    #[test]
    fn goals_are_read() {
        let [ask, ..] = asks();
        let full = json!({
            "main_objective": " Ship\n it\u{200b} ", "success_criteria": ["one", " ", 2], "constraints": "only this",
            "context": "two\nlines", "design_choices_open": true,
            "replan_decision": {"replan_needed": false}, "surprise": [1]
        });
        let expected = Goal {
            success_criteria: vec!["one".to_owned(), "2".to_owned()],
            constraints: vec!["only this".to_owned()],
            context: "two\nlines".to_owned(),
            design_choices_open: true,
            ..a_goal()
        };
        assert_eq!(
            read_answer(&ask, &full.to_string()),
            Ok(Answer::Goal { goal: expected, replan: Decided::Nothing })
        );
        let short = r#"Sure: {"goal_understanding": {"main_objective": "Ship it", "constraints": null}}"#;
        assert_eq!(read_answer(&ask, short), Ok(Answer::Goal { goal: a_goal(), replan: Decided::Nothing }));

        let long = json!({"main_objective": "x".repeat(600), "constraints": vec!["y"; 200]}).to_string();
        let Ok(Answer::Goal { goal, .. }) = read_answer(&ask, &long) else { panic!("not read") };
        assert_eq!(goal.main_objective, format!("{}…", "x".repeat(499)));
        assert_eq!(goal.constraints.len(), 50);
    }

    #[test]
    fn the_fence_stays_secret() {
        let context = Context { fence: "f3nc3".to_owned(), ..Context::default() };
        let ask = Ask::GoalUnderstanding { context, told: Box::default() };
        let said = r#"{"main_objective": "Ship <<<f3nc3 it", "context": "f3f3nc3nc3"}"#;
        let Ok(Answer::Goal { goal, .. }) = read_answer(&ask, said) else { panic!("not read") };
        assert_eq!((goal.main_objective.as_str(), goal.context.as_str()), ("Ship <<< it", "f3 nc3"));
    }

    #[test]
    fn complaints_can_be_acted_on() {
        let [goal, steps, actions] = asks();
        assert_eq!(complaint(&goal, " "), "the answer is empty");
        assert_eq!(complaint(&goal, "I cannot."), "there is no complete JSON object in the answer");
        assert_eq!(
            complaint(&goal, r#"{"main_objective": "\u200b"}"#),
            "`main_objective` is missing or empty: say in one sentence what is to be achieved"
        );
        assert_eq!(
            complaint(&goal, r#"{"main_objective": ["a"]}"#),
            "the JSON does not fit the schema: expected a string"
        );
        assert_eq!(
            complaint(&goal, &"x".repeat(MAX_TEXT + 1)),
            "the answer is longer than 1 MiB; leave file contents out"
        );
        assert_eq!(complaint(&steps, "{}"), "`subtasks` is missing or empty: give at least one step");
        assert_eq!(
            complaint(&steps, r#"{"subtasks": [{"id": "a", "description": "x", "dependencies": ["a"]}]}"#),
            "`subtasks` is not a plan: the steps `a` wait for each other"
        );
        assert_eq!(
            complaint(
                &steps,
                r#"{"subtasks": [{"id": "a", "description": "x", "estimated_complexity": "huge"}]}"#
            ),
            "`estimated_complexity` of `a` must be low, medium or high"
        );
        let wide = json!({"subtasks": vec![json!({}); 301]}).to_string();
        assert_eq!(complaint(&steps, &wide), "`subtasks` has 301 items; at most 300 are allowed");
        assert_eq!(
            complaint(&actions, r#"{"execution_order": ["z"], "actions": []}"#),
            "`execution_order` names `z`, which is no step; the steps are `a`, `b`, `c`"
        );
        assert_eq!(
            complaint(&actions, r#"{"actions": [{"task_id": "z", "action_type": "read"}]}"#),
            "an action has the `task_id` `z`, which is no step; the steps are `a`, `b`, `c`"
        );
        assert_eq!(
            complaint(&actions, r#"{"actions": [{"task_id": "a", "action_type": "read"}]}"#),
            "the step `b` has no action; give at least one for each step"
        );
        assert_eq!(
            complaint(&actions, r#"{"actions": [{"task_id": "a", "action_type": "dance"}]}"#),
            "`dance` in an action of `a` is no `action_type`; use create, write, mkdir, delete, read, analyze, run or tool"
        );
        let content = "x".repeat(MAX_CONTENT + 1);
        let long =
            json!({"actions": [{"task_id": "a", "action_type": "write", "spec": {"content": content}}]});
        assert_eq!(
            complaint(&actions, &long.to_string()),
            "the `content` of an action of `a` is too long; make it null"
        );
    }

    #[test]
    fn steps_are_read() {
        let [_, ask, _] = asks();
        let text = r#"{"reasoning": "so", "subtasks": [
            {"id": 1, "description": "first", "estimated_complexity": "LOW"},
            {"id": "2", "description": "second", "dependencies": [1, "1"], "required_tools": ["git"],
             "rests_on": [" a2", "A2", "A9", {"x": 1}]}]}"#;
        let first = Step { description: "first".to_owned(), ..a_step("1", &[]) };
        let second = Step {
            description: "second".to_owned(),
            estimated_complexity: Complexity::Medium,
            required_tools: vec!["git".to_owned()],
            rests_on: vec!["A2".to_owned()],
            ..a_step("2", &["1"])
        };
        assert_eq!(
            read_answer(&ask, text),
            Ok(Answer::Steps {
                reasoning: "so".to_owned(),
                steps: vec![first, second],
                replan: Decided::Nothing
            })
        );
    }

    #[test]
    fn actions_follow_the_order_and_the_dependencies() {
        let [.., ask] = asks();
        let order = |wanted: &[&str]| -> Vec<String> {
            let act = |step: &str, tool: &str| json!({"task_id": step, "action_type": "Read", "tool": tool});
            let all = [act("c", "x"), act("a", "x"), act("b", "x"), act("a", "y")];
            let text = json!({"execution_order": wanted, "actions": all}).to_string();
            let Ok(Answer::Actions { actions, .. }) = read_answer(&ask, &text) else { panic!("not read") };
            actions.iter().map(|a| format!("{} {} {}", a.id, a.task_id, a.tool)).collect()
        };
        let plan_order = ["a1 a x", "a2 a y", "a3 b x", "a4 c x"];
        assert_eq!(order(&["a", "b", "c"]), plan_order);
        assert_eq!(order(&[]), plan_order);
        assert_eq!(order(&["c", "a", "b", "c"]), ["a1 c x", "a2 a x", "a3 a y", "a4 b x"]);
        assert_eq!(order(&["b", "c"]), ["a1 c x", "a2 a x", "a3 a y", "a4 b x"], "`b` waits for `a`");
    }

    #[test]
    fn specs_are_taken_to_the_letter() {
        let [.., ask] = asks();
        let rest =
            [json!({"task_id": "b", "action_type": "run"}), json!({"task_id": "c", "action_type": "tool"})];
        let write = json!({"task_id": "a", "action_type": "write", "tool": "files", "purpose": "p",
            "expected_outcome": "o", "fallback_strategy": "f",
            "spec": {"path": " src/x.rs ", "content": "fn\tmain() {}\n\u{200b}", "command": null, "more": 1}});
        let text = json!({"actions": [write, rest[0], rest[1]]}).to_string();
        let Ok(Answer::Actions { actions, .. }) = read_answer(&ask, &text) else { panic!("not read") };
        let expected = Action {
            id: ActionId("a1".to_owned()),
            task_id: StepId("a".to_owned()),
            action_type: ActionKind::Write,
            tool: "files".to_owned(),
            purpose: "p".to_owned(),
            expected_outcome: "o".to_owned(),
            fallback_strategy: "f".to_owned(),
            spec: ActionSpec {
                path: Some("src/x.rs".to_owned()),
                content: Some("fn\tmain() {}\n\u{200b}".to_owned()),
                ..ActionSpec::default()
            },
            optional: false,
        };
        assert_eq!(actions[0], expected);
        assert_eq!((actions[1].tool.as_str(), actions[1].purpose.as_str()), ("run", "do b"));
    }

    /// Text that looks like an answer in places.
    fn nearly_an_answer() -> impl Strategy<Value = String> {
        let pieces = prop::sample::select(vec![
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\"",
            "```",
            "\n",
            "json",
            "null",
            "true",
            "1",
            "a",
            "\\",
            "\\u12",
            "é",
            "\"main_objective\":",
            "\"subtasks\":",
            "\"actions\":",
            "\"execution_order\":",
            "\"task_id\":\"a\"",
            "\"action_type\":\"read\"",
            "\"id\":\"x\"",
            "\"description\":\"d\"",
            "\"dependencies\":[\"x\"]",
            "{}",
        ]);
        prop::collection::vec(pieces, 0..60).prop_map(|pieces| pieces.concat())
    }

    const WORDS: &str = "\
        main_objective questions question options decisions topic name tradeoffs pros answers \
        question_id answer summary subtasks id description dependencies rests_on execution_order \
        actions task_id action_type read task_2 A1 q-1 evaluation status success way continue \
        replan_decision replan_needed confidence replan_level target_phase achievement_rate \
        issues_found clarification_questions tool finish report verdict done reasons remarks contradiction \
        advice needs_person objective feedback type difficulty issue attempts impediment category";

    /// Any JSON whose keys and words are those of answers, in the wrong places.
    fn anything() -> impl Strategy<Value = Value> {
        let words = prop::sample::select(WORDS.split(' ').collect::<Vec<_>>());
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            words.clone().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
            (0..3_usize).prop_map(|n| Value::from("long \n".repeat(n * 900))),
        ];
        leaf.prop_recursive(5, 60, 20, move |inner| {
            let object = prop::collection::vec((words.clone(), inner.clone()), 0..12);
            prop_oneof![
                prop::collection::vec(inner, 0..20).prop_map(Value::from),
                object.prop_map(|pairs| {
                    Value::Object(pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
                }),
            ]
        })
    }

    fn check_questions(questions: &[Question]) {
        assert!(questions.len() <= 10 && questions.iter().all(|question| question.options.len() <= 6));
        assert!(questions.iter().all(|question| !question.question.is_empty()));
    }

    fn check_decided(decided: &Decided) {
        if let Decided::Decision { decision } = decided {
            assert!((0.0..=1.0).contains(&decision.confidence));
            assert!(decision.details.achievement_rate.is_none_or(|rate| rate <= 100));
            check_questions(&decision.clarification_questions);
        }
    }

    fn check_caps(answer: &Answer) {
        match answer {
            Answer::Questions(questions) => check_questions(questions),
            Answer::Mapping(mapped) => assert!(mapped.len() <= 3),
            Answer::Decisions(decisions) => {
                assert!(decisions.len() <= 8);
                for point in decisions {
                    assert!((2..=6).contains(&point.options.len()));
                    assert!(point.options.iter().filter(|option| option.recommendation).count() <= 1);
                }
            }
            Answer::Goal { replan, .. }
            | Answer::Actions { replan, .. }
            | Answer::Reflection { replan, .. }
            | Answer::Replan(replan) => check_decided(replan),
            Answer::Steps { steps, replan, .. } => {
                assert_eq!(check_steps(steps), Ok(()));
                check_decided(replan);
            }
            Answer::Revision { steps, actions } => {
                assert!(steps.iter().all(|step| step.id.0 != "task_1"));
                assert!(steps.iter().all(|step| actions.iter().any(|action| action.task_id == step.id)));
            }
            Answer::Judgement(judgement) => {
                assert!(judgement.reasons.len() <= 20);
                let silent = judgement.reasons.is_empty() && judgement.remarks.is_empty();
                assert!(judgement.verdict == Verdict::Done || !silent);
            }
            Answer::Advice(advice) => {
                assert!((0.0..=1.0).contains(&advice.confidence));
                assert!(!advice.advice.is_empty() || advice.confidence == 0.0);
            }
            Answer::Document { objective, steps } => {
                assert!(!objective.is_empty());
                assert_eq!(check_steps(steps), Ok(()));
            }
            Answer::Summary(_) | Answer::Turn(_) | Answer::Alternative(_) => {}
        }
        longest(&serde_json::to_value(answer).expect("an answer"));
    }

    fn longest(value: &Value) {
        match value {
            Value::String(text) => assert!(text.chars().count() <= MAX_CONTENT.max(PARAGRAPH)),
            Value::Array(items) => {
                assert!(items.len() <= MAX_ACTIONS);
                items.iter().for_each(longest);
            }
            Value::Object(fields) => fields.values().for_each(longest),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// All questions, each with the fields that its answer has. Made once: schemas take their time.
    static ASKED: LazyLock<Vec<(Ask, Vec<String>)>> = LazyLock::new(|| {
        let fields = |ask: &Ask| -> Vec<String> {
            let schema = prompt(ask).schema;
            schema["properties"].as_object().expect("properties").keys().cloned().collect()
        };
        every_ask(Decide::Along).into_iter().map(|ask| (ask.clone(), fields(&ask))).collect()
    });

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_text_is_survived(text in prop_oneof![any::<String>(), nearly_an_answer()]) {
            for ask in asks().iter().chain(ASKED.iter().map(|(ask, _)| ask)) {
                if let Ok(answer) = read_answer(ask, &text) {
                    check_caps(&answer);
                }
            }
        }

        #[test]
        fn any_json_stays_within_the_caps(said in anything(), inside in anything()) {
            for (ask, fields) in ASKED.iter() {
                let aimed: Map<String, Value> = fields.iter().map(|key| (key.clone(), inside.clone())).collect();
                for text in [said.to_string(), Value::Object(aimed).to_string()] {
                    if let Ok(answer) = read_answer(ask, &text) {
                        check_caps(&answer);
                    }
                }
            }
        }
    }
}
