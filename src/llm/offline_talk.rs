//! Purpose: answers by rules to what is asked about people and about replanning: one question at most, never a replan.

use crate::plan::{
    Alternative, Decided, EvaluationResult, Goal, OtherWay, Question, QuestionId, QuestionKind,
    ReplanDecision, ReplanDetails,
};
use crate::prompts::{Answer, Told, plain_text};

const CRITERIA: &str = "How will one see that it is done?";
const SUMMARY: usize = 4_000;
const LINE: usize = 200;

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
