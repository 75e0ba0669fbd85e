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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::prompts::samples::every_ask;
    use crate::prompts::{Decide, read_answer};

    fn read(name: &str, answer: &Value) -> Result<Answer, String> {
        let asks = every_ask(Decide::No);
        let ask = asks.iter().find(|ask| ask.schema_name() == name).expect(name);
        read_answer(ask, &answer.to_string()).map_err(|problem| problem.to_string())
    }

    fn asked(given: &Value) -> Vec<Question> {
        match read("discovery_questions", &json!({"questions": given})) {
            Ok(Answer::Questions(questions)) => questions,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn questions_are_read() {
        let full = json!([{
            "id": "q-7", "type": " Technical ", "question": " Which\n database? ", "context": "It is slow.",
            "options": ["SQLite", " sqlite ", "Postgres\nor so", "", 3, null], "assumption": "SQLite", "more": 1,
        }]);
        assert_eq!(
            asked(&full),
            [Question {
                id: QuestionId("q-1".to_owned()),
                kind: QuestionKind::Technical,
                question: "Which database?".to_owned(),
                context: Some("It is slow.".to_owned()),
                options: vec!["SQLite".to_owned(), "Postgres or so".to_owned(), "3".to_owned()],
                assumption: Some("SQLite".to_owned()),
            }]
        );
        let plain = Question {
            id: QuestionId("q-1".to_owned()),
            kind: QuestionKind::Clarification,
            question: "Why?".to_owned(),
            context: None,
            options: vec![],
            assumption: None,
        };
        for short in [json!(["Why?"]), json!("Why?"), json!([{"question": "Why?", "type": "philosophy"}])] {
            assert_eq!(asked(&short), std::slice::from_ref(&plain), "{short}");
        }
        assert_eq!(asked(&json!([])), []);
        assert_eq!(asked(&Value::Null), []);
    }

    #[test]
    fn questions_are_cut_not_refused() {
        let texts = |questions: &[Question]| -> Vec<(String, String)> {
            questions.iter().map(|q| (q.id.0.clone(), q.question.clone())).collect()
        };
        for many in [200, 5_000] {
            let many: Vec<String> = (0..many).map(|n| format!("question {n}?")).collect();
            let kept = asked(&json!(many));
            assert_eq!(kept.len(), MAX_QUESTIONS);
            assert_eq!(texts(&kept)[9], ("q-10".to_owned(), "question 9?".to_owned()));
        }
        let twice = asked(&json!(["Why now?", " WHY  NOW ?", {"question": "why\nnow?"}, 5, [], {}, "How?"]));
        assert_eq!(
            texts(&twice),
            [("q-1".to_owned(), "Why now?".to_owned()), ("q-2".to_owned(), "How?".to_owned())]
        );
        let options: Vec<String> = (0..40).map(|n| format!("option {n} {}", "x".repeat(1_000))).collect();
        let long = &asked(&json!([{"question": "y".repeat(2_000), "options": options}]))[0];
        assert_eq!((long.question.chars().count(), long.options.len()), (LINE, MAX_OPTIONS));
        assert!(long.options.iter().all(|option| option.chars().count() == SHORT_LINE));
    }

    #[test]
    fn decisions_are_read() {
        let point = |options: Value| json!({"id": "x", "topic": " Store\n", "options": options});
        let given = json!({"decisions": [
            point(json!([
                {"id": "z", "name": "SQLite", "description": "a file", "recommendation": "true",
                 "tradeoffs": {"pros": ["simple"], "cons": "one machine"}},
                {"name": "Postgres", "recommendation": true, "tradeoffs": null},
                "sqlite", {"description": "no name"}, "None",
            ])),
            point(json!(["alone"])),
            {"topic": "", "options": ["a", "b"]},
            "Just a topic",
            point(json!(["a", "b", "c", "d", "e", "f", "g"])),
        ]});
        let Ok(Answer::Decisions(decisions)) = read("design_decisions", &given) else { panic!("not read") };
        let option = |id: &str, name: &str| DesignOption {
            id: id.to_owned(),
            name: name.to_owned(),
            description: String::new(),
            tradeoffs: Tradeoffs::default(),
            recommendation: false,
        };
        let first = DesignOption {
            description: "a file".to_owned(),
            tradeoffs: Tradeoffs { pros: vec!["simple".to_owned()], cons: vec!["one machine".to_owned()] },
            recommendation: true,
            ..option("opt-a", "SQLite")
        };
        assert_eq!(
            decisions[0],
            DecisionPoint {
                id: "d-1".to_owned(),
                topic: "Store".to_owned(),
                options: vec![first, option("opt-b", "Postgres"), option("opt-c", "None")],
            }
        );
        let ids: Vec<&str> = decisions.iter().map(|point| point.id.as_str()).collect();
        assert_eq!(ids, ["d-1", "d-2"]);
        let ids: Vec<&str> = decisions[1].options.iter().map(|option| option.id.as_str()).collect();
        assert_eq!(ids, ["opt-a", "opt-b", "opt-c", "opt-d", "opt-e", "opt-f"]);

        let many = json!({"decisions": vec![point(json!(["a", "b"])); 400]});
        let Ok(Answer::Decisions(decisions)) = read("design_decisions", &many) else { panic!("not read") };
        assert_eq!(decisions.len(), MAX_DECISIONS);
        assert_eq!(read("design_decisions", &json!({"decisions": []})), Ok(Answer::Decisions(vec![])));
    }

    #[test]
    fn answers_are_mapped_to_open_questions() {
        let given = json!({"answers": [
            {"question_id": " Q-2 ", "answer": "the second\nline"},
            {"question_id": "q-9", "answer": "nobody asked"},
            {"question_id": "q-1", "answer": " "},
            {"question_id": "q-2", "answer": "and more"},
            "no question", 7,
            {"question_id": "q-3", "answer": 42},
        ]});
        let mapped = [("q-2", "the second\nline\nand more"), ("q-3", "42")];
        let mapped = mapped.map(|(id, answer)| (QuestionId(id.to_owned()), answer.to_owned()));
        assert_eq!(read("answer_mapping", &given), Ok(Answer::Mapping(mapped.to_vec())));
        assert_eq!(read("answer_mapping", &json!({"answers": null})), Ok(Answer::Mapping(vec![])));
        let long = json!({"answers": vec![json!({"question_id": "q-1", "answer": "x".repeat(3_000)}); 200]});
        let Ok(Answer::Mapping(mapped)) = read("answer_mapping", &long) else { panic!("not read") };
        assert_eq!((mapped.len(), mapped[0].1.chars().count()), (1, 4_000));
    }

    #[test]
    fn what_was_not_answered_is_complained_about() {
        for (name, answer, complaint) in [
            (
                "discovery_questions",
                json!({"question": "Why?"}),
                "`questions` is missing: give an empty list if there is nothing to ask",
            ),
            (
                "discovery_questions",
                json!({"questions": [{"text": "Why?"}]}),
                "no item of `questions` has a `question`",
            ),
            (
                "design_decisions",
                json!({}),
                "`decisions` is missing: give an empty list if there is nothing to decide",
            ),
            (
                "design_decisions",
                json!({"decisions": [{"topic": "x", "options": ["only"]}]}),
                "no item of `decisions` has a `topic` and at least two `options` with a `name`",
            ),
            (
                "answer_mapping",
                json!({"q-1": "yes"}),
                "`answers` is missing: give an empty list if the words answer no question",
            ),
            ("design_summary", json!({"summary": " \u{200b}"}), "`summary` is missing or empty"),
            ("conversation_summary", json!({"text": "x"}), "`summary` is missing or empty"),
        ] {
            assert_eq!(read(name, &answer), Err(complaint.to_owned()), "{answer}");
        }
        let summed = Ok(Answer::Summary("One\ntable.".to_owned()));
        assert_eq!(read("design_summary", &json!({"summary": " One\ntable. "})), summed);
    }
}
