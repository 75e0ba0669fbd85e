//! Purpose: what the plan rests on: the assumptions that nobody contradicted, and the choices that people made.

use super::line;
use super::sentences::reason;
use super::status::who;
use super::words::{ended, few};
use crate::domain::Lang;
use crate::plan::DecisionPoint;
use crate::planning::{Assumption, Choice, Design, Run};

const MOST: usize = 40;

/// Each assumption with why there is one, and the steps that rest on it.
pub(super) fn assumptions(run: &Run, words: usize) -> Vec<String> {
    let all = &run.talk.assumptions;
    let lines = all.iter().take(MOST).map(|known| {
        let steps = resting(run, known);
        let used = if steps.is_empty() {
            String::new()
        } else {
            let steps = few(&steps, run.lang);
            run.lang.pick(format!("; used by {steps}"), format!("。{steps} で使用"))
        };
        let text = line(&reason(&known.text, run.lang), words);
        format!("- **{}** {text} ({}{used})", known.id, cause(run, known, words))
    });
    ended(lines.collect(), all.len().saturating_sub(MOST), run.lang)
}

fn cause(run: &Run, known: &Assumption, words: usize) -> String {
    let id = &known.question;
    match run.talk.answers.get(id) {
        None if id.0.is_empty() => run.lang.pick("nobody was asked", "質問はしていません").to_owned(),
        None => run.lang.pick(format!("nobody answered {id}"), format!("{id} への回答なし")),
        Some(given) => match &given.answer {
            None => run.lang.pick(format!("{id} was skipped"), format!("{id} はスキップ")),
            Some(answer) => {
                let (by, answer) = (who(&given.by, run.lang), line(answer, words));
                run.lang.pick(
                    format!("no longer: {by} answered {id} with “{answer}”"),
                    format!("現在は無効: {by} が {id} に「{answer}」と回答"),
                )
            }
        },
    }
}

fn resting(run: &Run, known: &Assumption) -> Vec<String> {
    let steps = run.plan().map_or(&[][..], |plan| &plan.steps);
    steps.iter().filter(|step| step.rests_on.contains(&known.id)).map(|step| step.id.to_string()).collect()
}

/// Each decision with the option that was taken, by whom and why.
pub(super) fn decided(design: &Design, lang: Lang, words: usize) -> Vec<String> {
    let made = design.decisions.iter().filter_map(|decision| {
        let choice = design.choices.get(&decision.id)?;
        Some(format!("- {}", chosen(decision, choice, lang, words)))
    });
    let mut lines: Vec<String> = made.collect();
    let more = lines.len().saturating_sub(MOST);
    lines.truncate(MOST);
    ended(lines, more, lang)
}

fn chosen(decision: &DecisionPoint, choice: &Choice, lang: Lang, words: usize) -> String {
    let name = decision.option(&choice.option).map_or(String::new(), |option| line(&option.name, words));
    let why = line(&choice.rationale, words);
    let why = if why.is_empty() { String::new() } else { format!(": {why}") };
    format!(
        "**{}** {} → **{}** {name} ({}{why})",
        decision.id,
        line(&decision.topic, words),
        choice.option,
        who(&choice.by, lang)
    )
}

/// Both, folded away, for the card.
pub(super) fn folded(run: &Run, words: usize) -> Option<String> {
    let mut lines = assumptions(run, words);
    lines.extend(run.talk.design.iter().flat_map(|design| decided(design, run.lang, words)));
    (!lines.is_empty()).then(|| {
        format!(
            "<details><summary>🧭 Assumptions and decisions</summary>\n\n{}\n\n</details>",
            lines.join("\n")
        )
    })
}
