//! Purpose: what has been said, decided and tried in a run, as parts of a prompt.
//!
//! What people and tools said is fenced as data; what our own model said is quoted as JSON strings. Every part has a
//! cap, and where something must go, the oldest goes.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::context::data;
use super::read::one_line;
use super::{Context, Moment, Told, enhanced_instruction, visible_text};
use crate::plan::{Question, ReplanDecision};

const MAX_LINES: usize = 40;
const LINE: usize = 1_000;
const BLOCK: usize = 12_000;
const ANSWER: usize = 1_500;
const REQUEST: usize = 6_000;
const ENHANCED: usize = 40_000;
const MAX_BLOCKS: usize = 150;
const SHORT_BLOCK: usize = 400;

/// What earlier runs on this thread came to. It never changes during a run.
pub(super) fn earlier(context: &Context, told: &Told) -> String {
    fenced(context, "what earlier runs on this thread came to", &told.earlier)
}

/// What people were asked and what they said.
pub(super) fn talk(context: &Context, told: &Told) -> String {
    answers(context, told, |_| true)
        + &assumptions(told)
        + &decisions(context, told)
        + &design_summary(told)
        + &rejections(context, told)
}

/// The same for whoever cuts the work into steps: one request that holds all of it. Without anything to add to the
/// request there is none.
pub(super) fn request(context: &Context, told: &Told) -> String {
    let answered = told.answers.iter().any(|(_, answer)| answer.is_some());
    if !answered && told.decisions.is_empty() && told.design_summary.is_none() {
        return talk(context, told);
    }
    let body: String = visible_text(&context.body).text.chars().take(REQUEST).collect();
    let enhanced = enhanced_instruction(&format!("{}\n\n{body}", context.title.trim()), told);
    let rest = match told.design_summary {
        Some(_) => String::new(),
        None => answers(context, told, |question| !question.kind.shapes_the_plan()),
    };
    data(context, "the request with what was clarified and decided; plan for this", &enhanced, ENHANCED)
        + &rest
        + &assumptions(told)
        + &rejections(context, told)
}

/// The plan in force, what happened, how often it was changed, and what a new one has to mind.
pub(super) fn course(context: &Context, told: &Told) -> String {
    listed("The current plan:", &told.plan)
        + &fenced(context, "what happened so far, newest last", &told.history)
        + &fenced(context, "the replans of this run so far, newest last", &told.replans)
        + &listed("The plan is made anew. Mind this:", &told.advice)
}

fn answers(context: &Context, told: &Told, shown: impl Fn(&Question) -> bool) -> String {
    let shown: Vec<_> = told.answers.iter().filter(|(question, _)| shown(question)).collect();
    if shown.is_empty() {
        return String::new();
    }
    let mut text = "People were asked:\n".to_owned();
    for (question, answer) in &shown[shown.len().saturating_sub(MAX_LINES)..] {
        let asked = json!(one_line(&question.question, LINE));
        let _ = writeln!(text, "{} ({}): {asked}", question.id, question.kind.as_str());
        match answer {
            Some(answer) => text += &data(context, &format!("the answer to {}", question.id), answer, ANSWER),
            None => text += "skipped\n",
        }
    }
    text + "\n"
}

fn assumptions(told: &Told) -> String {
    let lines: Vec<String> = told.assumptions.iter().map(|(id, what)| format!("{id}: {what}")).collect();
    listed("Assumptions, by id:", &lines)
}

fn decisions(context: &Context, told: &Told) -> String {
    let mut text = String::new();
    for (topic, name, rationale) in newest(&told.decisions) {
        let _ = writeln!(text, "Decided: {} → {}", quoted(topic), quoted(name));
        if !rationale.trim().is_empty() {
            text += &data(context, "the reason", rationale, ANSWER);
        }
    }
    if text.is_empty() { text } else { text + "\n" }
}

fn design_summary(told: &Told) -> String {
    let Some(summary) = &told.design_summary else { return String::new() };
    let summary: String = summary.chars().take(BLOCK).collect();
    format!("The design in short: {}\n\n", json!(summary))
}

fn rejections(context: &Context, told: &Told) -> String {
    fenced(context, "why people turned the design down, newest last", &told.rejections)
}

/// What a decision about replanning is about.
pub(super) fn moment(context: &Context, moment: &Moment) -> String {
    let [finished, all, failed, in_a_row] = moment.progress;
    let mut text = format!("The phase that ended: {}.\n", moment.phase.as_str());
    text += &data(context, "its result", &moment.result, BLOCK);
    if let Some(error) = &moment.error {
        text += &data(context, "what went wrong", error, 4_000);
    }
    let _ = writeln!(
        text,
        "Progress: {finished} of {all} actions finished, {failed} failed, {in_a_row} failed in a row.\n"
    );
    text + &listed("Still to be done:", &moment.remaining)
}

pub(super) fn limit(limit: &str, wanted: &ReplanDecision) -> String {
    let mut wanted = json!(wanted);
    shorten(&mut wanted);
    format!("The limit: {}\nThe replan that you wanted: {wanted}\n\n", quoted(limit))
}

/// A decision was capped when it was read; this only keeps its longest parts from being repeated in full.
fn shorten(wanted: &mut Value) {
    if let Some(fields) = wanted.as_object_mut() {
        for list in fields.values_mut().filter_map(Value::as_array_mut) {
            list.truncate(10);
        }
    }
}

pub(super) fn open_questions(context: &Context, questions: &[Question], words: &str) -> String {
    let mut text = "The open questions, one in each line:\n".to_owned();
    for question in newest(questions) {
        let options: Vec<String> =
            question.options.iter().take(10).map(|option| one_line(option, LINE)).collect();
        let shown = json!({
            "id": question.id, "question": one_line(&question.question, LINE), "options": options,
        });
        let _ = writeln!(text, "{shown}");
    }
    text + "\n" + &data(context, "the words", words, BLOCK)
}

pub(super) fn messages(context: &Context, messages: &[String]) -> String {
    blocks(context, "a message", messages)
}

pub(super) fn done(context: &Context, done: &[String]) -> String {
    blocks(context, "an action and what it came to", done)
}

/// A block for each, the shorter the more there are.
fn blocks(context: &Context, what: &str, texts: &[String]) -> String {
    let shown = &texts[texts.len().saturating_sub(MAX_BLOCKS)..];
    let most = (MAX_BLOCKS * SHORT_BLOCK / shown.len().max(1)).clamp(SHORT_BLOCK, 2_000);
    let left_out = texts.len() - shown.len();
    let blocks: String = shown.iter().map(|text| data(context, what, text, most)).collect();
    note(left_out) + &blocks
}

fn note(left_out: usize) -> String {
    match left_out {
        0 => String::new(),
        _ => format!("({left_out} older ones were left out.)\n"),
    }
}

/// Lines that people or tools may have had a hand in. The newest that fit, oldest of them first.
fn fenced(context: &Context, what: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let mut room = BLOCK;
    let mut fitting: Vec<String> = Vec::new();
    for line in newest(lines).iter().rev() {
        let line = one_line(line, LINE);
        let length = line.chars().count() + 1;
        if length > room {
            break;
        }
        room -= length;
        fitting.push(line);
    }
    fitting.reverse();
    note(lines.len() - fitting.len()) + &data(context, what, &fitting.join("\n"), BLOCK)
}

/// Lines of our own model, quoted. The newest that fit.
fn listed(title: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let list: Vec<String> = newest(lines).iter().map(|line| format!("- {}", quoted(line))).collect();
    format!("{title}\n{}\n\n", list.join("\n"))
}

fn quoted(text: &str) -> Value {
    json!(one_line(text, LINE))
}

fn newest<T>(items: &[T]) -> &[T] {
    &items[items.len().saturating_sub(MAX_LINES)..]
}
