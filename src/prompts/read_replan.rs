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
        Err(Unreadable(why)) => Decided::Unreadable { why },
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

/// Steps that are done stay as they are: others may wait for them, none may take their name.
pub(super) fn revision(answer: RevisionAnswer, sealed: &[Step], told: &Told) -> Result<Answer, Unreadable> {
    let RevisionAnswer { subtasks, execution_order, actions: wanted } = answer;
    let steps = steps(subtasks, told)?;
    let is_sealed = |id: &str| sealed.iter().any(|done| done.id.0 == id.trim());
    if let Some(step) = steps.iter().find(|step| is_sealed(&step.id.0)) {
        return complain(format!(
            "the step `{}` is done and stays as it is: leave it out, and give new steps other ids",
            step.id
        ));
    }
    let open: Vec<Step> = steps.iter().map(|step| without(step, sealed)).collect();
    check_plan(&open)?;
    let execution_order = execution_order.into_iter().filter(|id| !is_sealed(id)).collect();
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
