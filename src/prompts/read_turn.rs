//! Purpose: a worker's turn and a reflection, out of what a model said.

use serde_json::{Map, Value};

use super::Unreadable;
use super::read::{MAX_CONTENT, complain, lines, one_line, paragraph};
use super::read_crew::feedback;
use super::wire::{ReflectionAnswer, TurnAnswer};
use crate::plan::{Call, Reflection, ReflectionStatus};

/// What the model wants to do. Whether it may is decided elsewhere; here it only has to be clear what it wants.
pub(super) fn turn(answer: TurnAnswer) -> Result<Call, Unreadable> {
    let path = answer.path.map(|path| path.trim().to_owned()).filter(|path| !path.is_empty());
    let needs = |what: &str| Unreadable::Answer(format!("`{}` needs `{what}`", answer.tool.trim()));
    match answer.tool.trim().to_ascii_lowercase().as_str() {
        "read_file" => Ok(Call::ReadFile { path: path.ok_or_else(|| needs("path"))? }),
        "list_files" => Ok(Call::ListFiles { path }),
        "write_file" => {
            let content = answer.content.ok_or_else(|| needs("content"))?;
            if content.len() > MAX_CONTENT {
                return complain("the `content` is too long; write a shorter file");
            }
            Ok(Call::WriteFile { path: path.ok_or_else(|| needs("path"))?, content })
        }
        "call_tool" => {
            let name = answer.name.filter(|name| !name.trim().is_empty()).ok_or_else(|| needs("name"))?;
            let arguments = arguments(answer.arguments_json.as_deref().unwrap_or("{}"))?;
            Ok(Call::CallTool { name: one_line(&name, 200), arguments })
        }
        "run_command" => Ok(Call::RunCommand { command: answer.command }),
        "report" => Ok(Call::Report { feedback: feedback(answer.feedback.unwrap_or_default())? }),
        "finish" => Ok(Call::Finish { feedback: feedback(answer.feedback.unwrap_or_default())? }),
        other => complain(format!("`{}` is no tool of this task", one_line(other, 40))),
    }
}

pub(super) fn arguments(json: &str) -> Result<Map<String, Value>, Unreadable> {
    if json.len() > 64 * 1024 {
        return complain("the arguments are too long");
    }
    serde_json::from_str(json).map_err(|_| {
        Unreadable::Answer("`arguments_json` must be a JSON object, written into a string".to_owned())
    })
}

pub(super) fn reflection(answer: ReflectionAnswer, action_id: &str) -> Result<Reflection, Unreadable> {
    let status = match answer.status.trim().to_ascii_lowercase().as_str() {
        "success" | "succeeded" => ReflectionStatus::Success,
        "partial" | "partial_success" => ReflectionStatus::Partial,
        "failure" | "failed" => ReflectionStatus::Failure,
        _ => return complain("`status` must be success, partial or failure"),
    };
    let evaluation = paragraph(&answer.evaluation);
    if evaluation.is_empty() {
        return complain("`evaluation` is missing or empty");
    }
    let named = one_line(&answer.action_id, 40);
    Ok(Reflection {
        action_id: if named.is_empty() { action_id.to_owned() } else { named },
        status,
        evaluation,
        alignment_with_plan: paragraph(&answer.alignment_with_plan),
        issues_identified: lines(&answer.issues_identified),
        plan_revision_needed: answer.plan_revision_needed,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::plan::{Confidence, Feedback};

    fn read(answer: serde_json::Value) -> Result<Call, String> {
        turn(serde_json::from_value(answer).unwrap()).map_err(|problem| problem.to_string())
    }

    #[test]
    fn turns_are_read_or_complained_about() {
        assert_eq!(
            read(json!({"tool": "read_file", "path": " a.rs "})),
            Ok(Call::ReadFile { path: "a.rs".to_owned() })
        );
        assert_eq!(read(json!({"tool": "list_files"})), Ok(Call::ListFiles { path: None }));
        let arguments = json!({"x": 1}).as_object().unwrap().clone();
        assert_eq!(
            read(json!({"tool": "call_tool", "name": "s/t", "arguments_json": "{\"x\": 1}"})),
            Ok(Call::CallTool { name: "s/t".to_owned(), arguments })
        );
        for (answer, complaint) in [
            (json!({"tool": "read_file"}), "`read_file` needs `path`"),
            (json!({"tool": "write_file", "path": "x"}), "`write_file` needs `content`"),
            (json!({"tool": "rm"}), "`rm` is no tool of this task"),
            (json!({}), "`` is no tool of this task"),
            (json!({"tool": "report"}), "`feedback.type` must be implementation, exploration or difficulty"),
            (
                json!({"tool": "report", "feedback": {"type": "exploration"}}),
                "`feedback.findings` is empty: say what you found",
            ),
            (json!({"tool": "finish"}), "`feedback.type` must be implementation, exploration or difficulty"),
            (
                json!({"tool": "finish", "feedback": {"type": "difficulty"}}),
                "`feedback.issue` is empty: say what stands in the way",
            ),
            (
                json!({"tool": "call_tool", "name": "x", "arguments_json": "[1]"}),
                "`arguments_json` must be a JSON object, written into a string",
            ),
        ] {
            assert_eq!(read(answer), Err(complaint.to_owned()));
        }
    }

    #[test]
    fn a_report_is_read_like_the_end_of_the_work_and_is_none() {
        let found = json!({"type": "exploration", "findings": "Tabs.", "confidence": "high"});
        let feedback = Feedback::Exploration {
            findings: "Tabs.".to_owned(),
            recommendations: vec![],
            confidence: Confidence::High,
        };
        let reported = read(json!({"tool": " Report ", "feedback": found})).unwrap();
        assert_eq!(reported, Call::Report { feedback: feedback.clone() });
        let line = serde_json::to_string(&reported).unwrap();
        assert_eq!(serde_json::from_str::<Call>(&line).unwrap(), reported, "{line}");
        assert_eq!(read(json!({"tool": "finish", "feedback": found})), Ok(Call::Finish { feedback }));
    }
}
