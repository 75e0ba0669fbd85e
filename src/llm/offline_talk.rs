//! Purpose: answers by rules to what is asked about people and about replanning: one question at most, never a replan.

use crate::plan::{
    Alternative, Decided, EvaluationResult, Goal, OtherWay, Question, QuestionId, QuestionKind, Reflection,
    ReflectionStatus, ReplanDecision, ReplanDetails,
};
use crate::prompts::{Answer, Told, plain_text};

const CRITERIA: &str = "How will one see that it is done?";
const SUMMARY: usize = 4_000;
const LINE: usize = 500;

/// Missing criteria are the one thing that rules can see. They are asked for once.
pub(super) fn questions(goal: &Goal, told: &Told) -> Vec<Question> {
    let asked = told.answers.iter().any(|(question, _)| question.question == CRITERIA);
    if asked || !goal.success_criteria.is_empty() {
        return vec![];
    }
    vec![Question {
        id: QuestionId("q-1".to_owned()),
        kind: QuestionKind::Clarification,
        question: CRITERIA.to_owned(),
        context: Some("The description has no acceptance criteria.".to_owned()),
        options: vec![],
        assumption: Some("it is done when every step below is done".to_owned()),
    }]
}

pub(super) fn design_summary(goal: &Goal, told: &Told) -> Answer {
    let mut lines = vec![format!("By rules, without a language model: {}", goal.main_objective)];
    for (question, answer) in &told.answers {
        let answer = first_line(answer.as_deref().unwrap_or("skipped"));
        lines.push(format!("- {}: {answer}", question.question));
    }
    lines.extend(told.decisions.iter().map(|(topic, name, _)| format!("- {topic}: {name}")));
    Answer::Summary(capped(&lines.join("\n")))
}

pub(super) fn conversation_summary(messages: &[String]) -> Answer {
    let lines: Vec<String> =
        messages.iter().map(|message| first_line(message)).filter(|line| !line.is_empty()).collect();
    Answer::Summary(if lines.is_empty() { "Nothing was said.".to_owned() } else { capped(&lines.join("\n")) })
}

pub(super) fn no_replan() -> Answer {
    replan(ReplanDetails::default())
}

pub(super) fn reflection(done: &[String], action_id: &str) -> Reflection {
    let last = done.last().map(String::as_str).unwrap_or_default();
    let status = if failed(last) { ReflectionStatus::Failure } else { ReflectionStatus::Success };
    Reflection {
        action_id: action_id.to_owned(),
        status,
        evaluation: format!("By rules, without a language model: {}", first_line(last)),
        alignment_with_plan: "as planned".to_owned(),
        issues_identified: vec![],
        plan_revision_needed: false,
    }
}

/// What was carried out is done, as far as its evidence says so.
pub(super) fn final_evaluation(done: &[String]) -> Answer {
    let failures = done.iter().filter(|line| failed(line)).count();
    let succeeded = done.len() - failures;
    let evaluation = match (failures, succeeded) {
        (0, _) => EvaluationResult::Success,
        (_, 0) => EvaluationResult::Failure,
        _ => EvaluationResult::PartialSuccess,
    };
    let rate = if failures == 0 { 100 } else { succeeded * 100 / done.len() };
    replan(ReplanDetails {
        evaluation_result: Some(evaluation),
        achievement_rate: u8::try_from(rate).ok(),
        issues_identified: done
            .iter()
            .filter(|line| failed(line))
            .map(|line| first_line(line))
            .take(50)
            .collect(),
        ..ReplanDetails::default()
    })
}

fn replan(details: ReplanDetails) -> Answer {
    let decision = ReplanDecision {
        confidence: 1.0,
        reasoning: "By rules, without a language model: the plan stays as it is.".to_owned(),
        details,
        ..ReplanDecision::default()
    };
    Answer::Replan(Decided::Decision { decision: Box::new(decision) })
}

pub(super) fn no_other_way() -> Answer {
    let reasoning = "By rules, without a language model: I know no other way.".to_owned();
    Answer::Alternative(Alternative { way: OtherWay::Nothing, reasoning })
}

/// Whether a line of evidence tells of a failure. What an action was expected to do stands before it.
pub(super) fn failed(line: &str) -> bool {
    line.contains("failed:") || line.trim_end_matches('.').ends_with("failed")
}

fn first_line(text: &str) -> String {
    let text = plain_text(text).text;
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().chars().take(LINE).collect()
}

fn capped(text: &str) -> String {
    text.chars().take(SUMMARY).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn goal(criteria: &[&str]) -> Goal {
        Goal {
            main_objective: "Greet".to_owned(),
            success_criteria: criteria.iter().map(|text| (*text).to_owned()).collect(),
            constraints: vec![],
            context: String::new(),
            design_choices_open: criteria.is_empty(),
        }
    }

    fn answered(answer: Option<&str>) -> Told {
        let question = questions(&goal(&[]), &Told::default()).remove(0);
        Told {
            answers: vec![(question, answer.map(str::to_owned))],
            decisions: vec![("Store".to_owned(), "SQLite".to_owned(), String::new())],
            ..Told::default()
        }
    }

    #[test]
    fn missing_criteria_are_asked_for_once() {
        let asked = questions(&goal(&[]), &Told::default());
        let texts: Vec<_> = asked.iter().map(|q| (q.id.0.as_str(), q.question.as_str())).collect();
        assert_eq!(texts, [("q-1", "How will one see that it is done?")]);
        assert_eq!(asked[0].assumption.as_deref(), Some("it is done when every step below is done"));
        assert_eq!(questions(&goal(&["says hello"]), &Told::default()), []);
        assert_eq!(questions(&goal(&[]), &answered(None)), [], "skipped is answered, too");
    }

    #[test]
    fn summaries_repeat_what_was_said() {
        assert_eq!(
            design_summary(&goal(&[]), &answered(Some("\n It says hello.\nReally."))),
            Answer::Summary(
                "By rules, without a language model: Greet\n\
                 - How will one see that it is done?: It says hello.\n- Store: SQLite"
                    .to_owned()
            )
        );
        let messages = ["first\nmore", " \n", "second"].map(str::to_owned);
        assert_eq!(conversation_summary(&messages), Answer::Summary("first\nsecond".to_owned()));
        assert_eq!(conversation_summary(&[]), Answer::Summary("Nothing was said.".to_owned()));
        let Answer::Summary(long) = conversation_summary(&vec!["x".repeat(1_000); 1_000]) else {
            panic!("no summary")
        };
        assert_eq!(long.chars().count(), SUMMARY);
    }

    #[test]
    fn the_end_is_judged_by_evidence() {
        let judged = |done: &[&str]| {
            let done: Vec<String> = done.iter().map(|line| (*line).to_owned()).collect();
            let Answer::Replan(Decided::Decision { decision }) = final_evaluation(&done) else {
                panic!("no decision")
            };
            assert!(!decision.replan_needed);
            let details = decision.details;
            (details.evaluation_result, details.achievement_rate, details.issues_identified.len())
        };
        let good = "action a1: expected that no test failed; it succeeded: 3 passed";
        let bad = "action a2: expected a file; it failed: no space";
        assert_eq!(judged(&[]), (Some(EvaluationResult::Success), Some(100), 0));
        assert_eq!(judged(&[good, good]), (Some(EvaluationResult::Success), Some(100), 0));
        assert_eq!(judged(&[good, bad, good]), (Some(EvaluationResult::PartialSuccess), Some(66), 1));
        assert_eq!(judged(&[bad]), (Some(EvaluationResult::Failure), Some(0), 1));
    }

    #[test]
    fn rules_never_replan() {
        let Answer::Replan(Decided::Decision { decision }) = no_replan() else { panic!("no decision") };
        assert!(!decision.replan_needed && !decision.clarification_needed);
        let Answer::Alternative(alternative) = no_other_way() else { panic!("no answer") };
        assert_eq!(alternative.way, OtherWay::Nothing);
    }
}
