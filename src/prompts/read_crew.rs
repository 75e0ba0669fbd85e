//! Purpose: feedback, judgements, advice and plan documents, out of what a model said.
//!
//! What leads to something, a verdict and how sure an adviser is, must be clear or the answer is none. What a worker
//! leaves out of a difficulty is filled in, because a difficulty must never be lost.

use serde::Deserialize;
use serde_json::Value;

use super::read::{complain, lines, one_line, paragraph, steps};
use super::wire::as_flag;
use super::wire_crew::{AdviceAnswer, DocumentAnswer, FeedbackAnswer, ImpedimentAnswer, JudgementAnswer};
use super::{Answer, Told, Unreadable};
use crate::crew::{Advice, Judgement, Verdict};
use crate::plan::{Category, Confidence, Feedback, Impediment, RequestedAction, WorkResult, check_steps};

/// Longer lists of attempts or reasons are not read by anybody.
const MAX_LINES: usize = 20;
const LINE: usize = 500;

pub(super) fn feedback(answer: FeedbackAnswer) -> Result<Feedback, Unreadable> {
    match word(&answer.kind).as_str() {
        "implementation" => implementation(answer),
        "exploration" => exploration(answer),
        "difficulty" => difficulty(answer),
        _ => complain("`feedback.type` must be implementation, exploration or difficulty"),
    }
}

fn implementation(answer: FeedbackAnswer) -> Result<Feedback, Unreadable> {
    let result = match word(&answer.result).as_str() {
        "success" | "succeeded" | "done" | "" => WorkResult::Success,
        "partial" | "partially" | "partial_success" => WorkResult::Partial,
        "failed" | "failure" => WorkResult::Failed,
        _ => return complain("`feedback.result` must be success, partial or failed"),
    };
    let changes = first(&answer.changes, &answer.details);
    let notes = some(&answer.notes).or_else(|| some(&answer.summary));
    if changes.is_empty() && notes.is_none() {
        return complain("`feedback` says nothing: give `changes` or `notes`");
    }
    Ok(Feedback::Implementation { result, changes, notes })
}

fn exploration(answer: FeedbackAnswer) -> Result<Feedback, Unreadable> {
    let Some(findings) = some(&answer.findings).or_else(|| some(&answer.summary)) else {
        return complain("`feedback.findings` is empty: say what you found");
    };
    let recommendations = first(&answer.recommendations, &answer.details);
    let confidence = named(&answer.confidence).unwrap_or(Confidence::Medium);
    Ok(Feedback::Exploration { findings, recommendations, confidence })
}

fn difficulty(answer: FeedbackAnswer) -> Result<Feedback, Unreadable> {
    let Some(issue) = some(&answer.issue).or_else(|| some(&answer.summary)) else {
        return complain("`feedback.issue` is empty: say what stands in the way");
    };
    let attempts = first(&answer.attempts, &answer.details);
    let impediment = impediment(&answer.impediment);
    Ok(Feedback::Difficulty { issue, attempts, impediment, suggestion: some(&answer.suggestion) })
}

fn impediment(answer: &ImpedimentAnswer) -> Impediment {
    Impediment {
        category: named(&answer.category).unwrap_or(Category::Technical),
        requested_action: named(&answer.requested_action).unwrap_or(RequestedAction::Escalate),
    }
}

pub(super) fn judgement(answer: &JudgementAnswer) -> Result<Answer, Unreadable> {
    let Some(verdict) = named::<Verdict>(&answer.verdict) else {
        return complain("`verdict` must be done, continue or replan");
    };
    let reasons = few(&answer.reasons);
    let mut remarks = paragraph(&answer.remarks);
    match verdict {
        Verdict::Done => {}
        // What a worker is to mind must not be lost when it stands in the wrong field.
        Verdict::Continue if remarks.is_empty() => remarks = reasons.join("; "),
        Verdict::Continue | Verdict::Replan => {}
    }
    if verdict != Verdict::Done && reasons.is_empty() && remarks.is_empty() {
        return complain("`reasons` is empty: say what is missing or wrong, and by which evidence");
    }
    let contradiction = contradiction(&answer.contradiction);
    Ok(Answer::Judgement(Judgement { verdict, reasons, remarks, contradiction }))
}

pub(super) fn advice(answer: &AdviceAnswer) -> Result<Answer, Unreadable> {
    let advice = paragraph(&answer.advice);
    let contradiction = contradiction(&answer.contradiction);
    // What cannot be understood is for a person to look at.
    let needs_person = as_flag(&answer.needs_person).unwrap_or(true);
    if advice.is_empty() && contradiction.is_none() && !needs_person {
        return complain("`advice` is empty: give advice, or set `needs_person` to true");
    }
    let sure = answer.confidence.as_f64().filter(|sure| (0.0..=1.0).contains(sure));
    let confidence = match sure {
        Some(_) if advice.is_empty() => 0.0,
        Some(confidence) => confidence,
        None if needs_person || advice.is_empty() => 0.0,
        None => return complain("`confidence` must be a number from 0.0 to 1.0"),
    };
    Ok(Answer::Advice(Advice { advice, confidence, contradiction, needs_person }))
}

/// The sentences go to the model first and, if it cannot do better, to whoever wrote the document.
pub(super) fn document(answer: DocumentAnswer) -> Result<Answer, Unreadable> {
    let steps = steps(answer.subtasks, &Told::default())?;
    check_steps(&steps).map_err(Unreadable::Document)?;
    let objective = one_line(&answer.objective, LINE);
    if objective.is_empty() {
        return complain("`objective` is missing or empty: say in one sentence what the plan is for");
    }
    Ok(Answer::Document { objective, steps })
}

/// Weak models write that there is none.
fn contradiction(text: &str) -> Option<String> {
    let line = one_line(text, LINE);
    let none = ["", "none", "null", "no", "n/a"].contains(&word(&line).trim_end_matches('.'));
    (!none).then_some(line)
}

fn some(text: &str) -> Option<String> {
    Some(paragraph(text)).filter(|text| !text.is_empty())
}

fn first(own: &[String], otherwise: &[String]) -> Vec<String> {
    few(if own.is_empty() { otherwise } else { own })
}

fn few(texts: &[String]) -> Vec<String> {
    let mut lines = lines(texts);
    lines.truncate(MAX_LINES);
    lines
}

/// A name in the spelling of our enums, however the model spelled it.
fn word(name: &str) -> String {
    name.trim().to_ascii_lowercase().replace([' ', '-'], "_")
}

fn named<T: for<'de> Deserialize<'de>>(name: &str) -> Option<T> {
    serde_json::from_value(Value::String(word(name))).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::plan::StepId;
    use crate::prompts::samples::every_ask;
    use crate::prompts::{Ask, Decide, read_answer};

    fn said(answer: Value) -> Result<Feedback, String> {
        feedback(serde_json::from_value(answer).expect("soft")).map_err(|problem| problem.to_string())
    }

    fn ask(name: &str) -> Ask {
        every_ask(Decide::No).into_iter().find(|ask| ask.schema_name() == name).expect(name)
    }

    fn answered(name: &str, answer: &Value) -> Result<Answer, String> {
        read_answer(&ask(name), &answer.to_string()).map_err(|problem| problem.to_string())
    }

    fn strings(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn feedback_is_read_by_its_type() {
        assert_eq!(
            said(
                json!({"type": "implementation", "result": "partial", "changes": ["a.rs", " "], "notes": null})
            ),
            Ok(Feedback::Implementation {
                result: WorkResult::Partial,
                changes: strings(&["a.rs"]),
                notes: None
            })
        );
        assert_eq!(
            said(json!({
                "type": "exploration", "findings": "Two\nparsers", "recommendations": ["use one"],
                "confidence": "High"
            })),
            Ok(Feedback::Exploration {
                findings: "Two\nparsers".to_owned(),
                recommendations: strings(&["use one"]),
                confidence: Confidence::High,
            })
        );
        assert_eq!(
            said(json!({
                "type": "difficulty", "issue": "which?", "attempts": ["read it"], "suggestion": "ask",
                "impediment": {"category": "ambiguity", "requested_action": "clarification"}
            })),
            Ok(Feedback::Difficulty {
                issue: "which?".to_owned(),
                attempts: strings(&["read it"]),
                impediment: Impediment {
                    category: Category::Ambiguity,
                    requested_action: RequestedAction::Clarification,
                },
                suggestion: Some("ask".to_owned()),
            })
        );
    }

    #[test]
    fn what_a_worker_leaves_out_is_filled_in() {
        let plain = Feedback::Difficulty {
            issue: "no".to_owned(),
            attempts: vec![],
            impediment: Impediment {
                category: Category::Technical,
                requested_action: RequestedAction::Escalate,
            },
            suggestion: None,
        };
        for given in [
            json!({"type": "difficulty", "issue": "no"}),
            json!({"kind": "difficulty", "summary": "no", "details": []}),
            json!({"type": "difficulty", "issue": "no", "impediment": "it hurts", "suggestion": null}),
            json!({"type": "Difficulty", "issue": "no", "impediment": {"category": "magic"}, "attempts": null}),
        ] {
            assert_eq!(said(given.clone()), Ok(plain.clone()), "{given}");
        }
        let Ok(Feedback::Implementation { result, .. }) =
            said(json!({"type": "implementation", "notes": "x"}))
        else {
            panic!("not read")
        };
        assert_eq!(result, WorkResult::Success);
    }

    #[test]
    fn feedback_without_words_is_complained_about() {
        for (given, complaint) in [
            (json!({}), "`feedback.type` must be implementation, exploration or difficulty"),
            (json!({"type": "implementation"}), "`feedback` says nothing: give `changes` or `notes`"),
            (
                json!({"type": "implementation", "result": "perhaps"}),
                "`feedback.result` must be success, partial or failed",
            ),
            (json!({"type": "exploration"}), "`feedback.findings` is empty: say what you found"),
            (json!({"type": "difficulty"}), "`feedback.issue` is empty: say what stands in the way"),
        ] {
            assert_eq!(said(given), Err(complaint.to_owned()));
        }
    }

    #[test]
    fn feedback_is_capped() {
        let many = vec!["z".repeat(900); 200];
        let given = json!({"type": "difficulty", "issue": "y".repeat(9_000), "attempts": many});
        let Ok(Feedback::Difficulty { issue, attempts, .. }) = said(given) else { panic!("not read") };
        assert_eq!((issue.chars().count(), attempts.len(), attempts[0].chars().count()), (4_000, 20, 500));
    }

    #[test]
    fn judgements_are_read_or_complained_about() {
        let judged = |verdict, reasons: &[&str], remarks: &str, contradiction: Option<&str>| {
            Ok(Answer::Judgement(Judgement {
                verdict,
                reasons: strings(reasons),
                remarks: remarks.to_owned(),
                contradiction: contradiction.map(str::to_owned),
            }))
        };
        for (given, read) in [
            (
                json!({"verdict": "done", "reasons": ["the tests pass"], "remarks": "", "contradiction": null}),
                judged(Verdict::Done, &["the tests pass"], "", None),
            ),
            (json!({"verdict": "Done", "contradiction": "None."}), judged(Verdict::Done, &[], "", None)),
            (
                json!({"verdict": "continue", "reasons": ["no test", "no docs"]}),
                judged(Verdict::Continue, &["no test", "no docs"], "no test; no docs", None),
            ),
            (
                json!({"verdict": "replan", "reasons": "wrong", "contradiction": "A wants x, B forbids x"}),
                judged(Verdict::Replan, &["wrong"], "", Some("A wants x, B forbids x")),
            ),
            (json!({"verdict": "fine"}), Err("`verdict` must be done, continue or replan".to_owned())),
            (json!({}), Err("`verdict` must be done, continue or replan".to_owned())),
            (
                json!({"verdict": "continue"}),
                Err("`reasons` is empty: say what is missing or wrong, and by which evidence".to_owned()),
            ),
        ] {
            assert_eq!(answered("judge_verdict", &given), read, "{given}");
        }
    }

    #[test]
    fn advice_is_read_or_complained_about() {
        let advised = |advice: &str, confidence, contradiction: Option<&str>, needs_person| {
            Ok(Answer::Advice(Advice {
                advice: advice.to_owned(),
                confidence,
                contradiction: contradiction.map(str::to_owned),
                needs_person,
            }))
        };
        for (given, read) in [
            (
                json!({"advice": "pin it", "confidence": 0.9, "contradiction": null, "needs_person": false}),
                advised("pin it", 0.9, None, false),
            ),
            (json!({"advice": "", "confidence": 0.9, "needs_person": true}), advised("", 0.0, None, true)),
            (
                json!({"contradiction": "fast and slow", "confidence": 1}),
                advised("", 0.0, Some("fast and slow"), false),
            ),
            (json!({"advice": "x", "confidence": 1, "needs_person": "who?"}), advised("x", 1.0, None, true)),
            (
                json!({"advice": "x", "confidence": 7}),
                Err("`confidence` must be a number from 0.0 to 1.0".to_owned()),
            ),
            (
                json!({"confidence": 1}),
                Err("`advice` is empty: give advice, or set `needs_person` to true".to_owned()),
            ),
        ] {
            assert_eq!(answered("logic_validation", &given), read, "{given}");
            assert_eq!(answered("external_advice", &given), read, "{given}");
        }
    }

    #[test]
    fn documents_become_steps_or_say_why_not() {
        let step = |id: &str, on: &[&str]| json!({"id": id, "description": "do it", "dependencies": on});
        let read = |steps: &[Value]| {
            answered("plan_document", &json!({"objective": "Ship", "subtasks": steps})).map(|answer| {
                let Answer::Document { objective, steps } = answer else { panic!("no document") };
                (objective, steps.into_iter().map(|step| (step.id, step.dependencies)).collect::<Vec<_>>())
            })
        };
        let id = |id: &str| StepId(id.to_owned());
        assert_eq!(
            read(&[step("a", &[]), step("b", &["a"])]),
            Ok(("Ship".to_owned(), vec![(id("a"), vec![]), (id("b"), vec![id("a")])]))
        );
        for (steps, complaint) in [
            (vec![], "there are no steps"),
            (vec![step("a", &["b"]), step("b", &["a"])], "the steps `a`, `b` wait for each other"),
            (vec![step("a", &["z"])], "`a` depends on `z`, which is no step"),
            (vec![step("a", &[]), step("a", &[])], "the id `a` is used twice"),
        ] {
            assert_eq!(read(&steps), Err(complaint.to_owned()));
        }
        assert_eq!(
            answered("plan_document", &json!({"objective": " ", "steps": [step("a", &[])]})),
            Err("`objective` is missing or empty: say in one sentence what the plan is for".to_owned())
        );
    }
}
