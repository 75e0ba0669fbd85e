//! Purpose: questions, choices, summaries and mapped answers, out of what a model said.
//!
//! What is too much is cut, not refused: people are asked ten good questions rather than none. Ids are ours, counted in
//! the order given.

use std::collections::BTreeSet;

use super::read::{complain, one_line, paragraph};
use super::wire_talk::{
    DecisionAnswer, DecisionsAnswer, MappingAnswer, OptionAnswer, QuestionAnswer, QuestionsAnswer,
    SummaryAnswer,
};
use super::{Answer, Unreadable};
use crate::plan::{DecisionPoint, DesignOption, Question, QuestionId, QuestionKind, Tradeoffs};

pub(super) const MAX_QUESTIONS: usize = 10;
pub(super) const MAX_DECISIONS: usize = 8;
pub(super) const MAX_OPTIONS: usize = 6;
const MAX_TRADEOFFS: usize = 6;
const MAX_MAPPED: usize = 50;
const LINE: usize = 500;
const SHORT_LINE: usize = 200;

pub(super) fn discovery(answer: QuestionsAnswer) -> Result<Answer, Unreadable> {
    let Some(given) = answer.questions else {
        return complain("`questions` is missing: give an empty list if there is nothing to ask");
    };
    let wanted = !given.is_empty();
    let questions = questions(given);
    if wanted && questions.is_empty() {
        return complain("no item of `questions` has a `question`");
    }
    Ok(Answer::Questions(questions))
}

/// Each question once, however it is spaced and spelled.
pub(super) fn questions(given: Vec<QuestionAnswer>) -> Vec<Question> {
    let mut asked = BTreeSet::new();
    let texts =
        given.into_iter().filter_map(question).filter(|question| asked.insert(same(&question.question)));
    (1..)
        .zip(texts.take(MAX_QUESTIONS))
        .map(|(n, question)| Question { id: QuestionId(format!("q-{n}")), ..question })
        .collect()
}

fn question(answer: QuestionAnswer) -> Option<Question> {
    let question = one_line(&answer.question, LINE);
    if question.is_empty() {
        return None;
    }
    Some(Question {
        id: QuestionId(String::new()),
        kind: kind(&answer.kind),
        question,
        context: some_line(&answer.context),
        options: short_lines(&answer.options, MAX_OPTIONS),
        assumption: some_line(&answer.assumption),
    })
}

fn kind(name: &str) -> QuestionKind {
    match name.trim().to_ascii_lowercase().as_str() {
        "scope" => QuestionKind::Scope,
        "technical" => QuestionKind::Technical,
        "priority" => QuestionKind::Priority,
        "constraint" => QuestionKind::Constraint,
        _ => QuestionKind::Clarification,
    }
}

fn some_line(text: &str) -> Option<String> {
    Some(one_line(text, LINE)).filter(|line| !line.is_empty())
}

fn short_lines(texts: &[String], most: usize) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let lines = texts.iter().map(|text| one_line(text, SHORT_LINE));
    lines.filter(|line| !line.is_empty() && seen.insert(same(line))).take(most).collect()
}

fn same(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).collect()
}

pub(super) fn decisions(answer: DecisionsAnswer) -> Result<Answer, Unreadable> {
    let Some(given) = answer.decisions else {
        return complain("`decisions` is missing: give an empty list if there is nothing to decide");
    };
    let wanted = !given.is_empty();
    let usable = given.into_iter().filter_map(decision).take(MAX_DECISIONS);
    let decisions: Vec<DecisionPoint> =
        (1..).zip(usable).map(|(n, point)| DecisionPoint { id: format!("d-{n}"), ..point }).collect();
    if wanted && decisions.is_empty() {
        return complain("no item of `decisions` has a `topic` and at least two `options` with a `name`");
    }
    Ok(Answer::Decisions(decisions))
}

/// A choice with fewer than two options is none.
fn decision(answer: DecisionAnswer) -> Option<DecisionPoint> {
    let topic = one_line(&answer.topic, LINE);
    let mut names = BTreeSet::new();
    let named = answer.options.into_iter().filter_map(option);
    let distinct = named.filter(|option| names.insert(same(&option.name))).take(MAX_OPTIONS);
    let mut options: Vec<DesignOption> =
        ('a'..).zip(distinct).map(|(c, option)| DesignOption { id: format!("opt-{c}"), ..option }).collect();
    let recommended = options.iter().position(|option| option.recommendation);
    for (at, option) in options.iter_mut().enumerate() {
        option.recommendation = Some(at) == recommended;
    }
    (!topic.is_empty() && options.len() >= 2).then(|| DecisionPoint { id: String::new(), topic, options })
}

fn option(answer: OptionAnswer) -> Option<DesignOption> {
    let name = one_line(&answer.name, SHORT_LINE);
    if name.is_empty() {
        return None;
    }
    let tradeoffs = answer.tradeoffs.unwrap_or_default();
    Some(DesignOption {
        id: String::new(),
        name,
        description: one_line(&answer.description, LINE),
        tradeoffs: Tradeoffs {
            pros: short_lines(&tradeoffs.pros, MAX_TRADEOFFS),
            cons: short_lines(&tradeoffs.cons, MAX_TRADEOFFS),
        },
        recommendation: answer.recommendation,
    })
}

pub(super) fn summary(answer: SummaryAnswer) -> Result<Answer, Unreadable> {
    let summary = paragraph(&answer.summary);
    if summary.is_empty() {
        return complain("`summary` is missing or empty");
    }
    Ok(Answer::Summary(summary))
}

/// Answers to questions that are not open are left out; two answers to one question are one.
pub(super) fn mapping(answer: MappingAnswer, questions: &[Question]) -> Result<Answer, Unreadable> {
    let Some(given) = answer.answers else {
        return complain("`answers` is missing: give an empty list if the words answer no question");
    };
    let mut mapped: Vec<(QuestionId, String)> = Vec::new();
    for item in given {
        let id = item.question_id.trim();
        let Some(question) = questions.iter().find(|open| open.id.0.eq_ignore_ascii_case(id)) else {
            continue;
        };
        let answer = paragraph(&item.answer);
        if answer.is_empty() {
            continue;
        }
        match mapped.iter_mut().find(|(known, _)| *known == question.id) {
            Some((_, before)) => *before = paragraph(&format!("{before}\n{answer}")),
            None => mapped.push((question.id.clone(), answer)),
        }
    }
    mapped.truncate(MAX_MAPPED);
    Ok(Answer::Mapping(mapped))
}
