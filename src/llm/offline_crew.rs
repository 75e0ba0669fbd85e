//! Purpose: answers by rules to what the crew asks: a turn of work, a judgement, advice, and the steps of a document.

use super::offline::{complexity, id, one_line};
use super::outline::{Content, Piece, Section, outline};
use crate::crew::{Advice, Judgement, Verdict};
use crate::plan::{
    ActionKind, Call, Category, Confidence, Feedback, Impediment, PlanProblem, RequestedAction, Step, StepId,
    check_steps,
};
use crate::prompts::{Answer, JudgeTask, JudgedAction, Task, visible_text};

/// Rules can look at a file that is named and say that it is there. Everything else is beyond them, and they say so.
pub(super) fn turn(task: &Task) -> Call {
    if task.action.action_type != ActionKind::Analyze {
        return Call::Finish { feedback: beyond_rules() };
    }
    let found = |findings: String| {
        let (recommendations, confidence) = (vec![], Confidence::High);
        Call::Finish { feedback: Feedback::Exploration { findings, recommendations, confidence } }
    };
    match (&task.action.spec.path, task.turns.last()) {
        (Some(path), None) => Call::ReadFile { path: path.clone() },
        (Some(path), Some((_, seen))) => found(format!("Looked at `{path}`: {} lines", seen.lines().count())),
        (None, None) => Call::ListFiles { path: None },
        (None, Some((_, seen))) => {
            found(format!("Looked at the repository: {} entries", seen.lines().count()))
        }
    }
}

fn beyond_rules() -> Feedback {
    let issue = "This needs a language model: I work by rules and write only what the thread spells out";
    Feedback::Difficulty {
        issue: issue.to_owned(),
        attempts: vec![],
        impediment: Impediment { category: Category::Technical, requested_action: RequestedAction::Escalate },
        suggestion: None,
    }
}

/// Done is what succeeded; whether it is good is beyond rules.
pub(super) fn judgement(task: &JudgeTask) -> Answer {
    let failed = |action: &&JudgedAction| !action.succeeded && !action.optional;
    let missing: Vec<String> = task
        .actions
        .iter()
        .filter(failed)
        .map(|action| format!("{} did not succeed: {}", action.id, action.purpose))
        .take(20)
        .collect();
    let judgement = if missing.is_empty() {
        let reasons = vec!["By rules, without a language model: every action succeeded".to_owned()];
        Judgement { verdict: Verdict::Done, reasons, remarks: String::new(), contradiction: None }
    } else {
        let remarks = missing.join("; ");
        Judgement { verdict: Verdict::Continue, reasons: missing, remarks, contradiction: None }
    };
    Answer::Judgement(judgement)
}

pub(super) fn no_advice() -> Answer {
    Answer::Advice(Advice { advice: String::new(), confidence: 0.0, contradiction: None, needs_person: true })
}

/// What makes the steps of a document: the first of these that it has. What is numbered is done in that order, unless
/// the document says somewhere what depends on what.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    NumberedHeadings,
    Checklist,
    Numbers,
    Headings,
}

/// # Errors
/// Why the document is no plan that can be carried out.
pub(super) fn document(text: &str) -> Result<Answer, PlanProblem> {
    let pieces = outline(&visible_text(text).text);
    let sources = [Source::NumberedHeadings, Source::Checklist, Source::Numbers, Source::Headings];
    let source = sources.into_iter().find(|source| pieces.iter().any(|piece| source.step(piece).is_some()));
    let noted = source.map(|source| noted(source, &pieces)).unwrap_or_default();
    let steps = steps(source, &noted);
    check_steps(&steps)?;
    Ok(Answer::Document { objective: objective(&pieces, &noted), steps })
}

/// A step as it stands in the document.
struct Noted {
    description: String,
    /// The number that it has in the document.
    number: usize,
    /// What it says it depends on, as it names it.
    on: Vec<String>,
}

fn noted(source: Source, pieces: &[Piece]) -> Vec<Noted> {
    let mut found: Vec<Noted> = Vec::new();
    for piece in pieces {
        if let Some(description) = source.step(piece) {
            let number = leading_number(&description).map_or(found.len() + 1, |(number, _)| number);
            let on = noted_in(&description);
            found.push(Noted { description, number, on });
        } else if let Some(step) = found.last_mut()
            && let Some(on) = dependency_line(piece)
        {
            step.on.extend(on);
        }
    }
    found
}

impl Source {
    fn step(self, piece: &Piece) -> Option<String> {
        let text = match (self, &piece.content) {
            (Self::NumberedHeadings, Content::Heading(_, text)) => leading_number(text).map(|_| text)?,
            (Self::Checklist, Content::Task { done: false, text })
            | (Self::Numbers, Content::Numbered(text))
            | (Self::Headings, Content::Heading(2.., text)) => text,
            (Self::NumberedHeadings | Self::Checklist | Self::Numbers | Self::Headings, _) => return None,
        };
        let text = one_line(text);
        (piece.section == Section::Other && !text.is_empty()).then_some(text)
    }
}

/// `1. Look`, `2) Leap`, `Step 3: Land`, `Task 4 - Rest`.
fn leading_number(text: &str) -> Option<(usize, &str)> {
    let lower = text.to_lowercase();
    let word = ["step ", "task ", "ステップ", "タスク"].iter().find(|word| lower.starts_with(**word));
    let rest = text.get(word.map_or(0, |word| word.len())..)?.trim_start();
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let after = &rest[digits..];
    let ends = after.is_empty() || after.starts_with(['.', ')', ':', ' ', '：', '、', '．']);
    let marked = word.is_some() || after.starts_with(['.', ')', ':', '：', '、', '．']);
    let number = rest[..digits].parse().ok().filter(|_| (1..=3).contains(&digits) && ends && marked)?;
    Some((number, after))
}

const NOTES: [&str; 5] = ["depends on", "dependencies", "dependency", "depends", "依存"];

/// `(depends on: 1, 2)`, `(after 1)`, `[depends on task_1]` within a step.
fn noted_in(description: &str) -> Vec<String> {
    let inside = description.split(['(', '[', '（']).skip(1);
    let notes = inside.filter_map(|part| part.split([')', ']', '）']).next());
    notes.filter_map(note).flatten().collect()
}

/// `- Depends on: 1, 2` under a step.
fn dependency_line(piece: &Piece) -> Option<Vec<String>> {
    match &piece.content {
        Content::Bullet(text) | Content::Line(text) => note(text),
        Content::Heading(..)
        | Content::Task { .. }
        | Content::Numbered(_)
        | Content::File(_)
        | Content::Code => None,
    }
}

fn note(text: &str) -> Option<Vec<String>> {
    let text = text.trim().trim_matches('*').to_lowercase();
    let begins = |word: &&&str| text.starts_with(**word);
    // A line that begins with `after` is usually a sentence; one with a number behind it is not.
    let after = text.strip_prefix("after ").filter(|rest| {
        let rest = bare(rest);
        rest.starts_with(|c: char| c.is_ascii_digit())
    });
    let rest = match NOTES.iter().find(begins) {
        Some(word) => text[word.len()..].trim_start_matches(['*', ':', '：', ' ', '関', '係', '先']),
        None => after?,
    };
    let names = rest.split([',', '、', '&', ';']).flat_map(|part| part.split(" and "));
    let names = names.map(|name| name.trim().trim_matches(['`', '"', '*', '.', '#']).to_owned());
    Some(names.filter(|name| !matches!(name.as_str(), "" | "none" | "nothing" | "-" | "なし")).collect())
}

/// A name without the word for what it names.
fn bare(name: &str) -> &str {
    let words = ["task_", "task-", "task ", "tasks ", "step_", "step-", "step ", "steps ", "#"];
    words.iter().find_map(|word| name.strip_prefix(word)).unwrap_or(name).trim()
}

fn steps(source: Option<Source>, noted: &[Noted]) -> Vec<Step> {
    let says = noted.iter().any(|step| !step.on.is_empty());
    let in_order = match source {
        Some(Source::NumberedHeadings | Source::Numbers) => !says,
        Some(Source::Checklist | Source::Headings) | None => false,
    };
    let step = |(at, Noted { description, on, .. }): (usize, &Noted)| {
        let before = at.checked_sub(1).filter(|_| in_order).map(id);
        let mut dependencies: Vec<StepId> = Vec::new();
        for on in on.iter().map(|name| meant(name, noted)).chain(before) {
            if !dependencies.contains(&on) {
                dependencies.push(on);
            }
        }
        Step {
            id: id(at),
            description: description.clone(),
            dependencies,
            estimated_complexity: complexity(description, &[]),
            required_tools: vec!["worker".to_owned()],
            rests_on: vec![],
        }
    };
    noted.iter().enumerate().map(step).collect()
}

/// The step that a note means: by its number, or by what it says. One that there is not keeps its name.
fn meant(name: &str, noted: &[Noted]) -> StepId {
    let number: Option<usize> = bare(name).parse().ok();
    let titled = |step: &Noted| {
        let title = step.description.to_lowercase();
        let rest = leading_number(&title).map_or(title.as_str(), |(_, rest)| rest);
        rest.trim_start_matches(['.', ')', ':', ' ', '：', '、', '．']).starts_with(name)
    };
    let at = match number {
        Some(number) => noted.iter().position(|step| step.number == number),
        None => noted.iter().position(titled),
    };
    at.map_or_else(|| StepId(name.chars().take(60).collect()), id)
}

/// The title of the document, or else its first words.
fn objective(pieces: &[Piece], noted: &[Noted]) -> String {
    let heading = pieces.iter().find_map(|piece| match &piece.content {
        Content::Heading(1, text) => Some(text),
        Content::Heading(..)
        | Content::Task { .. }
        | Content::Numbered(_)
        | Content::Bullet(_)
        | Content::Line(_)
        | Content::File(_)
        | Content::Code => None,
    });
    let line = pieces.iter().find_map(|piece| match &piece.content {
        Content::Line(text) => Some(text),
        Content::Heading(..)
        | Content::Task { .. }
        | Content::Numbered(_)
        | Content::Bullet(_)
        | Content::File(_)
        | Content::Code => None,
    });
    let first = noted.first().map(|step| &step.description);
    let words = [heading, line, first].into_iter().flatten().map(|text| one_line(text));
    words.into_iter().find(|words| !words.is_empty()).unwrap_or_else(|| "Carry out the plan".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The objective, then each step as `id (what it waits for): description`; or what is wrong.
    fn read(text: &str) -> Result<Vec<String>, String> {
        let answer = document(text).map_err(|problem| problem.to_string())?;
        let Answer::Document { objective, steps } = answer else { panic!("no document") };
        let line = |step: &Step| {
            let waits: Vec<&str> = step.dependencies.iter().map(|id| id.0.as_str()).collect();
            format!("{} ({}): {}", step.id, waits.join(" "), step.description)
        };
        Ok(std::iter::once(objective).chain(steps.iter().map(line)).collect())
    }

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(read(text), Ok(expected.iter().map(|line| (*line).to_owned()).collect()), "{text}");
    }

    #[test]
    fn a_document_becomes_steps() {
        check(
            "# テスト計画\n1. ファイル探索\n2. 簡単な実装\n",
            &["テスト計画", "task_1 (): ファイル探索", "task_2 (task_1): 簡単な実装"],
        );
        check(
            "# Login\n## Tasks\n### 1. Write the schema\n- Branch: feature/schema\n1. detail\n\n### 2. Write the page\n\
             ### 3. Join them\n- Depends on: 1, task 2\n",
            &[
                "Login",
                "task_1 (): 1. Write the schema",
                "task_2 (): 2. Write the page",
                "task_3 (task_1 task_2): 3. Join them",
            ],
        );
        check(
            "Ship it.\n- [ ] Build\n- [x] Done long ago\n- [ ] Pack (depends on: 1)\n- [ ] Send (after 2)\n\
             - [ ] Tell people (depends on: `Build` and Pack)\n",
            &[
                "Ship it.",
                "task_1 (): Build",
                "task_2 (task_1): Pack (depends on: 1)",
                "task_3 (task_2): Send (after 2)",
                "task_4 (task_1 task_2): Tell people (depends on: `Build` and Pack)",
            ],
        );
        check(
            "## Server\ntext\n## Client\n依存: Server\n## Background\nold\n",
            &["text", "task_1 (): Server", "task_2 (task_1): Client"],
        );
        check(
            "## Step 1: Look\n## Step 2: Leap\n",
            &["Step 1: Look", "task_1 (): Step 1: Look", "task_2 (task_1): Step 2: Leap"],
        );
    }

    #[test]
    fn what_is_no_plan_says_why() {
        for (text, problem) in [
            ("", "there are no steps"),
            ("# Only a title\nand words\n", "there are no steps"),
            ("<!--\n1. hidden\n-->", "there are no steps"),
            (
                "1. a (depends on: 2)\n2. b (depends on: 1)\n",
                "the steps `task_1`, `task_2` wait for each other",
            ),
            ("- [ ] a (depends on: 7)\n", "`task_1` depends on `7`, which is no step"),
            ("- [ ] a (depends on: the moon)\n", "`task_1` depends on `the moon`, which is no step"),
        ] {
            assert_eq!(read(text), Err(problem.to_owned()), "{text}");
        }
        let long: String = (0..150).map(|n| format!("- [ ] item {n}\n")).collect();
        assert_eq!(read(&long), Err("there are 150 steps; at most 100 are allowed".to_owned()));
    }

    fn judged(outcomes: &[(bool, bool)]) -> Judgement {
        let action = |(succeeded, optional): &(bool, bool)| JudgedAction {
            id: "a1".to_owned(),
            purpose: "look".to_owned(),
            expected_outcome: String::new(),
            optional: *optional,
            succeeded: *succeeded,
            evidence: vec![],
        };
        let task = JudgeTask {
            objective: String::new(),
            step: String::new(),
            actions: outcomes.iter().map(action).collect(),
            diff: String::new(),
            remarks: vec![],
        };
        let Answer::Judgement(judgement) = judgement(&task) else { panic!("no judgement") };
        judgement
    }

    #[test]
    fn a_step_is_done_when_its_actions_succeeded() {
        assert_eq!(judged(&[(true, false), (false, true)]).verdict, Verdict::Done);
        let judgement = judged(&[(true, false), (false, false)]);
        assert_eq!(
            (judgement.verdict, judgement.remarks.as_str()),
            (Verdict::Continue, "a1 did not succeed: look")
        );
    }

    proptest::proptest! {
        #[test]
        fn any_document_is_survived(text in "(?s)([-#\\[\\] x1.)(:a\n]|depends on|after|task_|.){0,80}") {
            if let Ok(Answer::Document { objective, steps }) = document(&text) {
                proptest::prop_assert!(!objective.is_empty() && check_steps(&steps).is_ok());
            }
        }
    }
}
