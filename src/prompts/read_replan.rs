//! Purpose: a decision about replanning, a final evaluation or a revised plan, out of what a model said.
//!
//! How sure a model is leads to something, so its confidence is a number from 0 to 1 or the decision is none. The rest
//! is read softly: what is unknown is left out as long as it stays clear where to go.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::extract::DECISION;
use super::read::{actions, check_plan, complain, fit, lines, one_line, paragraph, steps};
use super::read_talk::questions;
use super::wire::{SequenceAnswer, as_flag};
use super::wire_replan::{AlternativeAnswer, ReplanAnswer, RevisionAnswer};
use super::{Answer, Decide, Told, Unreadable};
use crate::plan::{
    Alternative, Decided, Level, OtherWay, ReplanDecision, ReplanDetails, ReplanPhase, ReplanType, Step,
};

/// What came under `replan_decision` beside a phase's answer, if it was asked for.
pub(super) fn beside(told: &Told, given: Option<Value>) -> Decided {
    let given = match (told.decide, given) {
        (Decide::No, _) | (Decide::Along, None | Some(Value::Null | Value::Bool(false))) => {
            return Decided::Nothing;
        }
        (Decide::Along, Some(given)) => given,
    };
    let read = match given {
        Value::Object(object) => fit(unwrapped(object)).and_then(decision),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Null => {
            complain("`replan_decision` must be an object")
        }
    };
    match read {
        Ok(decision) => Decided::Decision { decision: Box::new(decision) },
        Err(problem) => Decided::Unreadable { why: problem.to_string() },
    }
}

/// A decision that was asked for by itself has to say whether to replan: something else that was said is no "no".
pub(super) fn alone(object: Map<String, Value>) -> Result<Answer, Unreadable> {
    let object = unwrapped(object);
    if object.get("replan_needed").is_none_or(Value::is_null) {
        return complain("`replan_needed` is missing: it must be true or false");
    }
    let decision = Box::new(decision(fit(object)?)?);
    Ok(Answer::Replan(Decided::Decision { decision }))
}

/// A final evaluation, too, is sometimes put under the name of the decision.
fn unwrapped(mut object: Map<String, Value>) -> Map<String, Value> {
    match object.get(DECISION) {
        Some(Value::Object(_)) => match object.remove(DECISION) {
            Some(Value::Object(inner)) => inner,
            _ => object,
        },
        _ => object,
    }
}

fn decision(answer: ReplanAnswer) -> Result<ReplanDecision, Unreadable> {
    let Some(replan_needed) = as_flag(&answer.replan_needed) else {
        return complain("`replan_needed` must be true or false");
    };
    let sure = answer.confidence.as_f64().filter(|sure| (0.0..=1.0).contains(sure));
    let confidence = match sure {
        Some(confidence) => confidence,
        None if !replan_needed => 0.0,
        None => return complain("`confidence` must be a number from 0.0 to 1.0"),
    };
    let replan_type: ReplanType = named(&answer.replan_type).unwrap_or_default();
    let replan_level = number(&answer.replan_level).and_then(level);
    let target_phase = phase(&answer.target_phase);
    let says_a_phase = !matches!(word(&answer.target_phase).as_str(), "" | "none" | "null");
    let lost = says_a_phase && target_phase.is_none();
    if replan_needed && lost && replan_level.is_none() && replan_type == ReplanType::None {
        return complain(
            "`target_phase` must be goal_understanding, task_decomposition, action_sequence, execution or reflection",
        );
    }
    Ok(ReplanDecision {
        replan_needed,
        confidence,
        reasoning: paragraph(&answer.reasoning),
        replan_type,
        target_phase,
        replan_level,
        issues_found: lines(&answer.issues_found),
        recommended_actions: lines(&answer.recommended_actions),
        clarification_needed: answer.clarification_needed,
        details: details(&answer),
        clarification_questions: questions(answer.clarification_questions),
    })
}

fn details(answer: &ReplanAnswer) -> ReplanDetails {
    ReplanDetails {
        assumptions_to_make: lines(&answer.assumptions_to_make),
        missing_steps: lines(&answer.missing_steps),
        recommended_granularity: one_line(&answer.recommended_granularity, LINE),
        scope_adjustment: one_line(&answer.scope_adjustment, LINE),
        unavailable_tools: lines(&answer.unavailable_tools),
        alternative_tools: lines(&answer.alternative_tools),
        dependency_issues: lines(&answer.dependency_issues),
        plan_adjustments: lines(&answer.plan_adjustments),
        error_classification: named(&answer.error_classification),
        recovery_strategy: one_line(&answer.recovery_strategy, LINE),
        affected_actions: lines(&answer.affected_actions),
        evaluation_result: named(&answer.evaluation_result),
        achievement_rate: number(&answer.achievement_rate).map(rate),
        issues_identified: lines(&answer.issues_identified),
        additional_actions: lines(&answer.additional_actions),
        revision_scope: named(&answer.revision_scope),
    }
}

const LINE: usize = 500;

/// A name in the spelling of our enums, however the model spelled it.
fn word(name: &str) -> String {
    name.trim().to_ascii_lowercase().replace([' ', '-'], "_")
}

fn named<T: for<'de> Deserialize<'de>>(name: &str) -> Option<T> {
    serde_json::from_value(Value::String(word(name))).ok()
}

fn phase(name: &str) -> Option<ReplanPhase> {
    match word(name).as_str() {
        "action_sequence_generation" => Some(ReplanPhase::ActionSequence),
        _ => named(name),
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().trim_end_matches('%').parse().ok().filter(|n: &f64| n.is_finite()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn level(number: f64) -> Option<Level> {
    (1..=5_u8).find(|level| f64::from(*level) == number).and_then(|level| Level::of_number(level.into()))
}

fn rate(number: f64) -> u8 {
    (0..=100_u8).rev().find(|rate| f64::from(*rate) <= number).unwrap_or(0)
}

/// Steps that are done stay as they are: others may wait for them, none may take their name. Steps that are kept are left
/// out of the answer, whatever it makes of them; together with them it has to be a plan.
pub(super) fn revision(
    answer: RevisionAnswer,
    sealed: &[Step],
    kept: &[Step],
    told: &Told,
) -> Result<Answer, Unreadable> {
    let RevisionAnswer { subtasks, execution_order, actions: wanted } = answer;
    let is_kept = |id: &str| kept.iter().any(|step| step.id.0 == id.trim());
    let mut steps = steps(subtasks, told)?;
    steps.retain(|step| !is_kept(&step.id.0));
    let is_sealed = |id: &str| sealed.iter().any(|done| done.id.0 == id.trim());
    if let Some(step) = steps.iter().find(|step| is_sealed(&step.id.0)) {
        return complain(format!(
            "the step `{}` is done and stays as it is: leave it out, and give new steps other ids",
            step.id
        ));
    }
    let open: Vec<Step> = steps.iter().map(|step| without(step, sealed)).collect();
    if open.is_empty() && !kept.is_empty() {
        return complain("all of these steps stay as they are: give those that take the place of the others");
    }
    let whole: Vec<Step> =
        kept.iter().map(|step| without(step, sealed)).chain(open.iter().cloned()).collect();
    check_plan(&whole)?;
    let execution_order = execution_order.into_iter().filter(|id| !is_sealed(id) && !is_kept(id)).collect();
    let wanted = wanted.into_iter().filter(|action| !is_kept(&action.task_id)).collect();
    let open: Vec<Step> = open.iter().map(|step| without(step, kept)).collect();
    let actions = actions(SequenceAnswer { execution_order, actions: wanted }, &open)?;
    Ok(Answer::Revision { steps, actions })
}

fn without(step: &Step, sealed: &[Step]) -> Step {
    let mut open = step.clone();
    open.dependencies.retain(|on| !sealed.iter().any(|done| done.id == *on));
    open
}

pub(super) fn alternative(answer: AlternativeAnswer) -> Result<Answer, Unreadable> {
    let Some(way) = named::<OtherWay>(&answer.way) else {
        return complain("`way` must be continue, skip_step or nothing");
    };
    Ok(Answer::Alternative(Alternative { way, reasoning: paragraph(&answer.reasoning) }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::plan::{ErrorClass, EvaluationResult, Question, QuestionId, QuestionKind, RevisionScope};
    use crate::prompts::samples::{every_ask, step};
    use crate::prompts::{Ask, read_answer};

    fn ask(name: &str, decide: Decide) -> Ask {
        every_ask(decide).into_iter().find(|ask| ask.schema_name() == name).expect(name)
    }

    fn read(name: &str, answer: &Value) -> Result<Answer, String> {
        read_answer(&ask(name, Decide::No), &answer.to_string()).map_err(|problem| problem.to_string())
    }

    fn decided(answer: &Value) -> Result<ReplanDecision, String> {
        let answer = read("replan_decision", answer)?;
        let Answer::Replan(Decided::Decision { decision }) = answer else { panic!("{answer:?}") };
        Ok(*decision)
    }

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn decisions_are_read_in_full() {
        let full = json!({"replan_decision": {
            "replan_needed": true, "confidence": 0.85, "reasoning": "why\nso", "replan_type": "partial_replan",
            "target_phase": "Task Decomposition", "replan_level": 2, "issues_found": ["one", {"issue": "two"}],
            "recommended_actions": "do it", "clarification_needed": true,
            "clarification_questions": ["Why?", {"question": "How?", "type": "technical", "options": ["a"]}],
            "assumptions_to_make": ["a"], "missing_steps": ["m"], "recommended_granularity": "finer",
            "scope_adjustment": "less", "unavailable_tools": ["u"], "alternative_tools": ["t"],
            "dependency_issues": ["d"], "plan_adjustments": ["p"], "error_classification": "Transient",
            "recovery_strategy": "wait", "affected_actions": ["a1", 2], "unknown": {},
        }});
        let question = |n: usize, question: &str| Question {
            id: QuestionId(format!("q-{n}")),
            kind: QuestionKind::Clarification,
            question: question.to_owned(),
            context: None,
            options: vec![],
            assumption: None,
        };
        let how = Question { kind: QuestionKind::Technical, options: texts(&["a"]), ..question(2, "How?") };
        let expected = ReplanDecision {
            replan_needed: true,
            confidence: 0.85,
            reasoning: "why\nso".to_owned(),
            replan_type: ReplanType::PartialReplan,
            target_phase: Some(ReplanPhase::TaskDecomposition),
            replan_level: Some(Level::Partial),
            issues_found: texts(&["one", r#"{"issue":"two"}"#]),
            recommended_actions: texts(&["do it"]),
            clarification_needed: true,
            clarification_questions: vec![question(1, "Why?"), how],
            details: ReplanDetails {
                assumptions_to_make: texts(&["a"]),
                missing_steps: texts(&["m"]),
                recommended_granularity: "finer".to_owned(),
                scope_adjustment: "less".to_owned(),
                unavailable_tools: texts(&["u"]),
                alternative_tools: texts(&["t"]),
                dependency_issues: texts(&["d"]),
                plan_adjustments: texts(&["p"]),
                error_classification: Some(ErrorClass::Transient),
                recovery_strategy: "wait".to_owned(),
                affected_actions: texts(&["a1", "2"]),
                ..ReplanDetails::default()
            },
        };
        assert_eq!(decided(&full), Ok(expected));
    }

    #[test]
    fn confidence_is_a_number_or_the_decision_is_none() {
        let sure = |confidence: Value| {
            let said = json!({"replan_needed": true, "confidence": confidence, "replan_type": "retry"});
            decided(&said).map(|decision| decision.confidence)
        };
        assert_eq!((sure(json!(0)), sure(json!(1)), sure(json!(0.5))), (Ok(0.0), Ok(1.0), Ok(0.5)));
        let complaint = Err("`confidence` must be a number from 0.0 to 1.0".to_owned());
        for bad in [
            json!(7),
            json!(-0.1),
            json!(1.01),
            json!("high"),
            json!("0.9"),
            json!(null),
            json!([0.9]),
            json!({"value": 0.9}),
        ] {
            assert_eq!(sure(bad.clone()), complaint, "{bad}");
            let said = json!({"replan_needed": false, "confidence": bad});
            assert_eq!(decided(&said), Ok(ReplanDecision::default()), "{said}: not needed for a no");
        }
        assert_eq!(
            decided(&json!({"replan_needed": true})).map(|d| d.confidence),
            complaint,
            "missing altogether"
        );
    }

    #[test]
    fn whether_to_replan_has_to_be_said() {
        let needed = |needed: Value| {
            decided(&json!({"replan_needed": needed, "confidence": 0.9}))
                .map(|decision| decision.replan_needed)
        };
        assert_eq!((needed(json!(true)), needed(json!(false))), (Ok(true), Ok(false)));
        assert_eq!((needed(json!(" True")), needed(json!("false"))), (Ok(true), Ok(false)));
        for bad in [json!("maybe"), json!(1), json!([true]), json!({})] {
            assert_eq!(needed(bad.clone()), Err("`replan_needed` must be true or false".to_owned()), "{bad}");
        }
        let missing = Err("`replan_needed` is missing: it must be true or false".to_owned());
        assert_eq!(needed(Value::Null), missing);
        assert_eq!(decided(&json!({"confidence": 0.9, "error": "busy"})).map(|d| d.replan_needed), missing);
    }

    #[test]
    fn where_to_go_is_clear_or_the_decision_is_none() {
        let go = |kind: Value, phase: Value, level: Value| {
            let said = json!({
                "replan_needed": true, "confidence": 0.9, "replan_type": kind, "target_phase": phase,
                "replan_level": level,
            });
            decided(&said).map(|d| (d.replan_type, d.target_phase, d.replan_level))
        };
        let lost = "`target_phase` must be goal_understanding, task_decomposition, action_sequence, execution or reflection";
        for (kind, phase, level, expected) in [
            (json!("retry"), json!("Mars"), json!(null), Ok((ReplanType::Retry, None, None))),
            (json!("dance"), json!("Mars"), json!(3), Ok((ReplanType::None, None, Some(Level::Actions)))),
            (json!("dance"), json!("Mars"), json!(6), Err(lost.to_owned())),
            (json!("none"), json!("Mars"), json!(0), Err(lost.to_owned())),
            (json!(null), json!({"phase": "x"}), json!(2.5), Err(lost.to_owned())),
            (
                json!("Full-Replan"),
                json!("goal-understanding"),
                json!("5"),
                Ok((ReplanType::FullReplan, Some(ReplanPhase::GoalUnderstanding), Some(Level::Goal))),
            ),
            (
                json!(7),
                json!("action_sequence_generation"),
                json!(-1),
                Ok((ReplanType::None, Some(ReplanPhase::ActionSequence), None)),
            ),
            (json!("retry"), json!("none"), json!(1.0), Ok((ReplanType::Retry, None, Some(Level::Retry)))),
        ] {
            assert_eq!(go(kind.clone(), phase.clone(), level.clone()), expected, "{kind} {phase} {level}");
        }
    }

    #[test]
    fn a_broken_decision_never_spoils_the_answer() {
        let actions = ["task_1", "task_2", "task_3"].map(|id| json!({"task_id": id, "action_type": "read"}));
        let phases = [
            ("goal_understanding", json!({"main_objective": "Greet"})),
            ("task_decomposition", json!({"subtasks": [{"id": "a", "description": "x"}]})),
            ("action_sequence", json!({"actions": actions})),
            ("reflection", json!({"status": "success", "evaluation": "good"})),
        ];
        let unreadable = |why: &str| Decided::Unreadable { why: why.to_owned() };
        let no = || Decided::Decision { decision: Box::default() };
        for (name, answer) in &phases {
            let came = |decide: Decide, decision: &Value| {
                let mut answer = answer.clone();
                answer["replan_decision"] = decision.clone();
                match read_answer(&ask(name, decide), &answer.to_string()) {
                    Ok(
                        Answer::Goal { replan, .. }
                        | Answer::Steps { replan, .. }
                        | Answer::Actions { replan, .. }
                        | Answer::Reflection { replan, .. },
                    ) => replan,
                    other => panic!("{name}: {other:?}"),
                }
            };
            for (decision, expected) in [
                (json!(null), Decided::Nothing),
                (json!(false), Decided::Nothing),
                (json!({}), no()),
                (json!({"replan_needed": false}), no()),
                (json!({"replan_decision": {"replan_needed": false}}), no()),
                (json!({"replan_needed": true}), unreadable("`confidence` must be a number from 0.0 to 1.0")),
                (json!({"replan_needed": "perhaps"}), unreadable("`replan_needed` must be true or false")),
                (json!("no"), unreadable("`replan_decision` must be an object")),
                (json!([1]), unreadable("`replan_decision` must be an object")),
            ] {
                assert_eq!(came(Decide::Along, &decision), expected, "{name}: {decision}");
                assert_eq!(
                    came(Decide::No, &decision),
                    Decided::Nothing,
                    "{name}: {decision} was not asked for"
                );
            }
            let wide = json!({"replan_needed": false, "issues_found": vec!["x"; 5_000]});
            let Decided::Decision { decision } = came(Decide::Along, &wide) else { panic!("not read") };
            assert_eq!(decision.issues_found.len(), 50);
            let absent = read_answer(&ask(name, Decide::Along), &answer.to_string());
            assert!(format!("{absent:?}").contains("replan: Nothing"), "{absent:?}");
        }
    }

    #[test]
    fn final_evaluations_are_read() {
        let said = json!({
            "replan_needed": true, "replan_type": "plan_revision", "confidence": 0.7, "reasoning": "r",
            "evaluation_result": "partial success", "achievement_rate": 80, "issues_identified": ["i"],
            "additional_actions": ["a"], "revision_scope": "Minor",
        });
        let decision = ReplanDecision {
            replan_needed: true,
            confidence: 0.7,
            reasoning: "r".to_owned(),
            replan_type: ReplanType::PlanRevision,
            details: ReplanDetails {
                evaluation_result: Some(EvaluationResult::PartialSuccess),
                achievement_rate: Some(80),
                issues_identified: texts(&["i"]),
                additional_actions: texts(&["a"]),
                revision_scope: Some(RevisionScope::Minor),
                ..ReplanDetails::default()
            },
            ..ReplanDecision::default()
        };
        let expected = Ok(Answer::Replan(Decided::Decision { decision: Box::new(decision) }));
        assert_eq!(read("final_evaluation", &said), expected);
        assert_eq!(read("final_evaluation", &json!({"final_evaluation": said})), expected);
        assert_eq!(read("final_evaluation", &json!({"replan_decision": said})), expected);
        assert!(read("final_evaluation", &json!({"evaluation_result": "success"})).is_err());

        for (rate, expected) in [
            (json!(-5), Some(0)),
            (json!(250), Some(100)),
            (json!(1e300), Some(100)),
            (json!(87.5), Some(87)),
            (json!("80%"), Some(80)),
            (json!("NaN"), None),
            (json!("most"), None),
            (json!(null), None),
        ] {
            let said = json!({"replan_needed": false, "achievement_rate": rate});
            assert_eq!(decided(&said).unwrap().details.achievement_rate, expected, "{rate}");
        }
    }

    #[test]
    fn revisions_build_on_what_is_done() {
        let act = |id: &str| json!({"task_id": id, "action_type": "read"});
        let revised = |subtasks: Value, order: &[&str], actions: Value| {
            let said = json!({"subtasks": subtasks, "execution_order": order, "actions": actions});
            read("plan_revision", &said)
        };
        let sub = |id: &str, on: &[&str]| {
            json!({"id": id, "description": format!("do {id}"), "dependencies": on, "estimated_complexity": "low",
                "rests_on": ["a1"]})
        };
        let subtasks = json!([sub("task_4", &["task_2"]), sub("task_2", &["task_1"])]);
        let good = revised(
            subtasks.clone(),
            &["task_1", "task_4", "task_2"],
            json!([act("task_4"), act("task_2"), act("task_2")]),
        );
        let Ok(Answer::Revision { steps, actions }) = good else { panic!("{good:?}") };
        let rests = |step: Step| Step { rests_on: texts(&["A1"]), ..step };
        assert_eq!(steps, [rests(step("task_4", &["task_2"])), rests(step("task_2", &["task_1"]))]);
        let order: Vec<String> = actions.iter().map(|a| format!("{} {}", a.id, a.task_id)).collect();
        assert_eq!(order, ["a1 task_2", "a2 task_2", "a3 task_4"]);

        for (subtasks, actions, complaint) in [
            (json!([]), json!([]), "`subtasks` is missing or empty: give at least one step"),
            (
                json!([sub("task_1", &[])]),
                json!([act("task_1")]),
                "the step `task_1` is done and stays as it is: leave it out, and give new steps other ids",
            ),
            (
                subtasks,
                json!([act("task_4")]),
                "the step `task_2` has no action; give at least one for each step",
            ),
            (
                json!([sub("x", &["y"])]),
                json!([act("x")]),
                "`subtasks` is not a plan: `x` depends on `y`, which is no step",
            ),
            (
                json!([sub("x", &["y", "task_1"]), sub("y", &["x"])]),
                json!([]),
                "`subtasks` is not a plan: the steps `x`, `y` wait for each other",
            ),
            (
                json!([sub("x", &[])]),
                json!([act("x"), act("task_1")]),
                "an action has the `task_id` `task_1`, which is no step; the steps are `x`",
            ),
        ] {
            assert_eq!(revised(subtasks, &[], actions), Err(complaint.to_owned()));
        }
    }

    #[test]
    fn other_ways_are_read() {
        let way = |way: Value| read("alternative_approach", &json!({"way": way, "reasoning": " r "}));
        for (said, expected) in [
            ("continue", OtherWay::Continue),
            ("Skip step", OtherWay::SkipStep),
            ("skip-step", OtherWay::SkipStep),
            ("nothing", OtherWay::Nothing),
        ] {
            let expected = Alternative { way: expected, reasoning: "r".to_owned() };
            assert_eq!(way(json!(said)), Ok(Answer::Alternative(expected)));
        }
        for bad in [json!("replan"), json!(""), json!(null), json!(["continue"])] {
            assert_eq!(way(bad), Err("`way` must be continue, skip_step or nothing".to_owned()));
        }
    }
}
