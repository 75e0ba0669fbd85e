//! Purpose: what a worker says when it has finished, or on the way: what it did, what it found, or what stands in its way.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::{Category, RequestedAction};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Feedback {
    Implementation {
        result: WorkResult,
        changes: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        notes: Option<String>,
    },
    Exploration {
        findings: String,
        recommendations: Vec<String>,
        confidence: Confidence,
    },
    Difficulty {
        issue: String,
        attempts: Vec<String>,
        impediment: Impediment,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        suggestion: Option<String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Impediment {
    pub category: Category,
    pub requested_action: RequestedAction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkResult {
    // Plain comments: documentation here would make the schema wider than every provider takes.
    Success,
    Partial,
    Failed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    High,
    Medium,
    Low,
}

impl Confidence {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }
}

impl Feedback {
    /// What it comes to, in the worker's own words where there are any.
    #[must_use]
    pub fn summary(&self) -> String {
        match self {
            Self::Implementation { notes: Some(notes), .. } => notes.clone(),
            Self::Implementation { changes, .. } if !changes.is_empty() => {
                format!("Changed: {}", changes.join("; "))
            }
            Self::Implementation { result, .. } => match result {
                WorkResult::Success => "The work is done".to_owned(),
                WorkResult::Partial => "The work is done in part".to_owned(),
                WorkResult::Failed => "The work could not be done".to_owned(),
            },
            Self::Exploration { findings, .. } => findings.clone(),
            Self::Difficulty { issue, .. } => issue.clone(),
        }
    }
}

/// Journals written before feedback had fields of its own hold a kind, a summary and details.
#[derive(Deserialize)]
struct Untyped {
    kind: Kind,
    summary: String,
    details: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Implementation,
    Exploration,
    Difficulty,
}

impl From<Untyped> for Feedback {
    fn from(Untyped { kind, summary, details }: Untyped) -> Self {
        match kind {
            Kind::Implementation => {
                Self::Implementation { result: WorkResult::Success, changes: details, notes: Some(summary) }
            }
            Kind::Exploration => Self::Exploration {
                findings: summary,
                recommendations: details,
                confidence: Confidence::Medium,
            },
            Kind::Difficulty => Self::Difficulty {
                issue: summary,
                attempts: details,
                impediment: Impediment {
                    category: Category::Technical,
                    requested_action: RequestedAction::Escalate,
                },
                suggestion: None,
            },
        }
    }
}

/// As it stands in a journal, of this version or of an older one.
pub(super) fn stored<'de, D: Deserializer<'de>>(from: D) -> Result<Feedback, D::Error> {
    let value = Value::deserialize(from)?;
    let read = if value.get("kind").is_some() {
        serde_json::from_value(value).map(|old: Untyped| old.into())
    } else {
        serde_json::from_value(value)
    };
    read.map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::plan::Call;

    fn finished(feedback: &Value) -> Feedback {
        let call = serde_json::from_value(json!({"tool": "finish", "feedback": feedback}));
        let Call::Finish { feedback } = call.expect("readable") else { panic!("not finished") };
        feedback
    }

    fn difficulty(suggestion: Option<&str>) -> Feedback {
        Feedback::Difficulty {
            issue: "It does not link.".to_owned(),
            attempts: vec!["asked for the library".to_owned()],
            impediment: Impediment {
                category: Category::Technical,
                requested_action: RequestedAction::Escalate,
            },
            suggestion: suggestion.map(str::to_owned),
        }
    }

    #[test]
    fn feedback_survives_the_journal() {
        for feedback in [
            Feedback::Implementation {
                result: WorkResult::Partial,
                changes: vec!["src/a.rs".to_owned()],
                notes: None,
            },
            Feedback::Exploration {
                findings: "There are two parsers.".to_owned(),
                recommendations: vec![],
                confidence: Confidence::Low,
            },
            difficulty(Some("pin it")),
            difficulty(None),
        ] {
            assert_eq!(finished(&json!(feedback)), feedback);
        }
        let written = json!(difficulty(None));
        assert_eq!(
            written,
            json!({
                "type": "difficulty", "issue": "It does not link.", "attempts": ["asked for the library"],
                "impediment": {"category": "technical", "requested_action": "escalate"},
            })
        );
    }

    #[test]
    fn journals_of_an_older_version_are_read() {
        let old = |kind: &str, summary: &str, details: &[&str]| {
            finished(&json!({"kind": kind, "summary": summary, "details": details}))
        };
        assert_eq!(old("difficulty", "It does not link.", &["asked for the library"]), difficulty(None));
        assert_eq!(
            old("exploration", "seen", &["look again"]),
            Feedback::Exploration {
                findings: "seen".to_owned(),
                recommendations: vec!["look again".to_owned()],
                confidence: Confidence::Medium,
            }
        );
        assert_eq!(
            old("implementation", "written", &["a.md"]),
            Feedback::Implementation {
                result: WorkResult::Success,
                changes: vec!["a.md".to_owned()],
                notes: Some("written".to_owned()),
            }
        );
    }

    #[test]
    fn feedback_is_summed_up_in_a_sentence() {
        let implementation = |result, changes: &[&str], notes: Option<&str>| {
            let changes = changes.iter().map(|change| (*change).to_owned()).collect();
            Feedback::Implementation { result, changes, notes: notes.map(str::to_owned) }.summary()
        };
        assert_eq!(implementation(WorkResult::Success, &["a", "b"], Some("All in.")), "All in.");
        assert_eq!(implementation(WorkResult::Partial, &["a", "b"], None), "Changed: a; b");
        assert_eq!(implementation(WorkResult::Failed, &[], None), "The work could not be done");
        assert_eq!(difficulty(None).summary(), "It does not link.");
    }
}
