//! Purpose: a question that the crew has put to somebody, for people and for programs.

use serde_json::{Value, json};

use super::super::phrases::{age, clip};
use crate::domain::Millis;
use crate::planning::{Escalation, EscalationState, Fallback};

/// What programs are told of it.
pub(in crate::cli) fn describe(asked: &Escalation, now: Millis) -> Value {
    let (by, text) = match &asked.state {
        EscalationState::Resolved { by, text } => (by.as_ref().map(|by| by.login.as_str()), Some(text)),
        EscalationState::PassedOn { why } => (None, Some(why)),
        EscalationState::Open | EscalationState::Expired { .. } | EscalationState::Cancelled => (None, None),
    };
    json!({
        "number": asked.number, "state": state(asked), "open": asked.is_open(), "cause": asked.cause,
        "target": asked.target, "asked": asked.asked, "step": asked.step, "issue": asked.issue,
        "tried": asked.tried, "suggestion": asked.suggestion, "at": asked.at.to_string(),
        "age": age(now.0 - asked.at.0), "deadline": asked.deadline.map(|at| at.to_string()), "answered_by": by,
        "answer": text,
    })
}

/// In one word.
pub(in crate::cli) fn state(asked: &Escalation) -> &'static str {
    match asked.state {
        EscalationState::Open => "open",
        EscalationState::Resolved { .. } => "resolved",
        EscalationState::PassedOn { .. } => "passed_on",
        EscalationState::Expired { fallback: Fallback::Hold } => "overdue",
        EscalationState::Expired { fallback: Fallback::SkipStep | Fallback::Stop } => "expired",
        EscalationState::Cancelled => "cancelled",
    }
}

/// What became of it, where it is settled.
pub(in crate::cli) fn settled(asked: &Escalation) -> Option<String> {
    Some(match &asked.state {
        EscalationState::Open | EscalationState::Expired { fallback: Fallback::Hold } => return None,
        EscalationState::Resolved { by: Some(by), text } => format!("@{} answered: {}", by.login, clip(text)),
        EscalationState::Resolved { by: None, text } => clip(text),
        EscalationState::PassedOn { why } if why.trim().is_empty() => "somebody else was asked".to_owned(),
        EscalationState::PassedOn { why } => format!("somebody else was asked: {}", clip(why)),
        EscalationState::Expired { fallback: Fallback::SkipStep } => {
            "nobody answered in time, and its step was left out".to_owned()
        }
        EscalationState::Expired { fallback: Fallback::Stop } => {
            "nobody answered in time, and the run was stopped".to_owned()
        }
        EscalationState::Cancelled => "what it was about is no more".to_owned(),
    })
}

/// Whom it went to: a model, or people by name.
pub(in crate::cli) fn whom(asked: &Escalation) -> String {
    let names: Vec<String> = asked.asked.iter().map(|login| format!("@{}", clip(login))).collect();
    if names.is_empty() { asked.target.words().to_owned() } else { names.join(", ") }
}
