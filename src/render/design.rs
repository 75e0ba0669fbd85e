//! Purpose: the design that people decide on: the options with what speaks for and against them, and the summary that
//! they review.

use super::ledger::decided;
use super::questions::outcome;
use super::status::who;
use super::words::{cell, ended, fitting, paragraphs, read_box};
use super::{Voice, line};
use crate::domain::{Lang, Permission};
use crate::plan::{DecisionPoint, DesignOption};
use crate::planning::{Design, Run, TurnedDown};

const TITLE: &str = "## 🧭 Design Decisions";
const SUMMARY: &str = "## 🧭 Design Summary";
/// How much is shown of each text, and how many reasons of each option. Less when it would become too large.
const SIZES: [(usize, usize); 4] = [(300, 6), (150, 4), (80, 3), (30, 1)];
/// How much is shown of a summary: lines, characters of each, and of each answer and decision below it.
const REVIEW_SIZES: [(usize, usize, usize); 3] = [(80, 1_000, 300), (40, 500, 100), (20, 200, 40)];
const ANSWERS: usize = 40;

/// The comment that people choose in. As long as something is open it says the same, for an edit would take their ticks
/// away.
#[must_use]
pub fn decisions(run: &Run, design: &Design, voice: &Voice) -> String {
    let settled = design.open_decisions().is_empty();
    let text = |size: &(usize, usize)| {
        let rest = if settled { taken(design, run.lang, *size) } else { open(run, design, voice, *size) };
        format!("{TITLE}\n\n{rest}")
    };
    fitting(SIZES.iter().map(text)).unwrap_or_else(|| TITLE.to_owned())
}

fn open(run: &Run, design: &Design, voice: &Voice, size: (usize, usize)) -> String {
    let lang = run.lang;
    let again = if run.talk.rejections.is_empty() {
        ""
    } else {
        lang.pick(
            " This is another design, since the last one was turned down.",
            "前回の設計が却下されたため、別の設計です。",
        )
    };
    let mut parts = vec![lang.pick(
        format!("Before I cut the work into steps, please decide how it should be built.{again}"),
        format!("作業をステップに分ける前に、どのように作るかを決めてください。{again}"),
    )];
    for decision in &design.decisions {
        parts.push(heading(decision, size.0));
        parts.push(table(decision, lang, size));
        parts.push(boxes(decision, size.0));
    }
    let words = design.decisions.first().map_or(String::new(), |decision| {
        let option = decision.options.last().map_or("opt-b", |option| option.id.as_str());
        format!("choose {} {option} because …", decision.id)
    });
    let recommends = design.decisions.iter().flat_map(|decision| &decision.options).any(|o| o.recommendation);
    let star = if recommends {
        lang.pick("⭐ is what I would take. ", "⭐ は私のおすすめです。")
    } else {
        ""
    };
    let (choose, role) = (voice.command(&words), voice.role(Permission::Triage));
    parts.push(lang.pick(
        format!(
            "{star}Tick one box for each decision, or write {choose}.\n\n\
             <sub>I take choices from people with at least {role} permission here, and from who asked for this \
             run.</sub>"
        ),
        format!(
            "{star}決定ごとに 1 つチェックを入れるか、{choose} と書いてください。\n\n\
             <sub>{role} 以上の権限を持つ人と、この作業の依頼者の選択を受け付けます。</sub>"
        ),
    ));
    parts.join("\n\n")
}

fn heading(decision: &DecisionPoint, words: usize) -> String {
    format!("### {}: {}", decision.id, line(&decision.topic, words))
}

fn table(decision: &DecisionPoint, lang: Lang, (words, reasons): (usize, usize)) -> String {
    let row = |option: &DesignOption| {
        let list = |items: &[String]| {
            let shown: Vec<String> = items.iter().take(reasons).map(|item| cell(item, words)).collect();
            let more = if items.len() > reasons { "<br>…" } else { "" };
            format!("{}{more}", shown.join("<br>"))
        };
        format!(
            "| **{}**{} {} | {} | {} | {} |",
            option.id,
            star(option),
            cell(&option.name, words),
            cell(&option.description, words),
            list(&option.tradeoffs.pros),
            list(&option.tradeoffs.cons)
        )
    };
    let rows: Vec<String> = decision.options.iter().map(row).collect();
    let head = lang.pick("| option | what | pros | cons |", "| 選択肢 | 内容 | 長所 | 短所 |");
    format!("{head}\n|---|---|---|---|\n{}", rows.join("\n"))
}

fn star(option: &DesignOption) -> &'static str {
    if option.recommendation { " ⭐" } else { "" }
}

fn boxes(decision: &DecisionPoint, words: usize) -> String {
    let row = |option: &DesignOption| {
        format!("- [ ] **{}**{} {}", option.id, star(option), line(&option.name, words))
    };
    decision.options.iter().map(row).collect::<Vec<_>>().join("\n")
}

fn taken(design: &Design, lang: Lang, size: (usize, usize)) -> String {
    if design.decisions.is_empty() {
        return lang.pick("There is nothing to decide.", "決めることはありません。").to_owned();
    }
    let tables: Vec<String> = design
        .decisions
        .iter()
        .map(|decision| format!("{}\n\n{}", heading(decision, size.0), table(decision, lang, size)))
        .collect();
    let (thanks, options) = lang.pick(
        ("All decided, thank you:", "The options"),
        ("すべて決まりました。ありがとうございます。", "選択肢"),
    );
    format!(
        "{thanks}\n\n{}\n\n<details><summary>{options}</summary>\n\n{}\n\n</details>",
        decided(design, lang, size.0).join("\n"),
        tables.join("\n\n")
    )
}

/// For each decision, the options that are ticked.
#[must_use]
pub fn read_choices(body: &str) -> Vec<(String, Vec<String>)> {
    let mut choices: Vec<(String, Vec<String>)> = vec![];
    for line in body.lines().map(str::trim_end) {
        if let Some(heading) = line.strip_prefix("### d-") {
            let number: String = heading.chars().take_while(char::is_ascii_digit).collect();
            choices.push((format!("d-{number}"), vec![]));
        } else if let (Some((true, words)), Some((_, ticked))) = (read_box(line), choices.last_mut()) {
            let id = words.strip_prefix("**").and_then(|words| words.split_once("**"));
            ticked.extend(id.map(|(id, _)| id.to_owned()));
        }
    }
    choices
}

/// The summary that people accept or turn down. Accepting it authorises nothing else. Once it is answered it says how.
#[must_use]
pub fn review(run: &Run, design: &Design, voice: &Voice) -> String {
    let end = match &design.approved {
        Some(by) => accepted(&who(by, run.lang), run.lang),
        None => what_now(run, voice),
    };
    reviewed(run, design, &end)
}

/// The summary of a design that was turned down.
#[must_use]
pub fn turned_down(run: &Run, past: &TurnedDown) -> String {
    let why = line(&past.why, 500);
    let reason = if why.is_empty() { run.lang.pick(".", "。").to_owned() } else { format!(": {why}") };
    let by = who(&past.by, run.lang);
    let end = run.lang.pick(
        format!("**Answered**: {by} turned this design down{reason}"),
        format!("**Answered**: {by} がこの設計を却下しました{reason}"),
    );
    reviewed(run, &past.design, &end)
}

fn accepted(by: &str, lang: Lang) -> String {
    lang.pick(
        format!(
            "**Answered**: {by} accepted this design. What I would change is put up for approval by itself."
        ),
        format!("**Answered**: {by} がこの設計を承認しました。変更内容は別途承認をお願いします。"),
    )
}

fn reviewed(run: &Run, design: &Design, end: &str) -> String {
    let texts = REVIEW_SIZES.iter().map(|size| summary(run, design, end, *size));
    fitting(texts).unwrap_or_else(|| format!("{SUMMARY}\n\n{end}"))
}

fn summary(run: &Run, design: &Design, end: &str, (lines, width, words): (usize, usize, usize)) -> String {
    let text = design.summary.as_deref().unwrap_or_default();
    let mut parts = vec![SUMMARY.to_owned(), paragraphs(text, lines, width)];
    if !design.decisions.is_empty() {
        parts.push(format!("**Decisions**:\n{}", decided(design, run.lang, words).join("\n")));
    }
    let answers = answers(run, words);
    if !answers.is_empty() {
        parts.push(format!("**Answers**:\n{}", answers.join("\n")));
    }
    parts.push(end.to_owned());
    parts.join("\n\n")
}

fn answers(run: &Run, words: usize) -> Vec<String> {
    let all: Vec<String> = run
        .talk
        .questions()
        .map(|question| {
            let asked = line(&question.question, words);
            format!("- **{}** {asked} → {}", question.id, outcome(run, question, words))
        })
        .collect();
    let more = all.len().saturating_sub(ANSWERS);
    ended(all.into_iter().take(ANSWERS).collect(), more, run.lang)
}

fn what_now(run: &Run, voice: &Voice) -> String {
    let (approve, reject, so_far) = (voice.command("approve"), voice.command("reject why"), so_far(run));
    run.lang.pick(
        format!(
            "{approve} accepts this design and authorises nothing else: what I would change is put up for approval \
             by itself. {reject} sends me back to the design. {so_far}"
        ),
        format!(
            "{approve} でこの設計を承認します (変更の実行は許可されません。変更内容は別途承認をお願いします)。\
             {reject} で設計に戻ります。{so_far}"
        ),
    )
}

fn so_far(run: &Run) -> &'static str {
    let lang = run.lang;
    match run.talk.rejections.len() {
        0 => lang.pick("The third rejection ends the run.", "3 回目の却下で終了します。"),
        1 => lang.pick(
            "It was turned down once so far; the third rejection ends the run.",
            "これまでに 1 回却下されました。3 回目の却下で終了します。",
        ),
        _ => lang.pick(
            "It was turned down twice so far; one more rejection ends the run.",
            "これまでに 2 回却下されました。もう 1 回の却下で終了します。",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{
        assumption, choice, decided_design, design, github, gitlab, given, round, run,
    };
    use super::*;
    use crate::plan::QuestionId;
    use crate::planning::Round;

    #[test]
    fn options_are_put_up() {
        insta::assert_snapshot!("put_up", decisions(&run(), &design(), &github()).replace('\u{200b}', "·"));
    }

    #[test]
    fn options_are_put_up_again_on_gitlab() {
        let mut run = run();
        run.talk.rejections = vec!["@maria: too much".to_owned()];
        let mut one = design();
        one.decisions.truncate(1);
        insta::assert_snapshot!("put_up_again", decisions(&run, &one, &gitlab()).replace('\u{200b}', "·"));
    }

    #[test]
    fn choices_are_shown_once_all_are_made() {
        let shown = decisions(&run(), &decided_design(), &github());
        insta::assert_snapshot!("taken", shown.replace('\u{200b}', "·"));
        assert_eq!(
            decisions(&run(), &Design::default(), &github()),
            format!("{TITLE}\n\nThere is nothing to decide.")
        );
    }

    /// An edit takes ticks away, so the text stays while something is open.
    #[test]
    fn open_decisions_always_read_the_same() {
        let mut half = design();
        half.choices.insert("d-1".to_owned(), choice("opt-a", "so"));
        assert_eq!(decisions(&run(), &half, &github()), decisions(&run(), &design(), &github()));
    }

    #[test]
    fn choices_are_read() {
        let shown = decisions(&run(), &design(), &github());
        let none = [("d-1".to_owned(), vec![]), ("d-2".to_owned(), vec![])];
        assert_eq!(read_choices(&shown), none);
        let boxes: Vec<usize> = shown.match_indices("- [ ]").map(|(at, _)| at).collect();
        let mut ticked = shown.clone();
        for (at, with) in [(boxes[0], "- [X]"), (boxes[1], "- [x]"), (boxes[3], "- [x]")] {
            ticked.replace_range(at..at + 5, with);
        }
        let expected = [
            ("d-1".to_owned(), vec!["opt-a".to_owned(), "opt-b".to_owned()]),
            ("d-2".to_owned(), vec!["opt-b".to_owned()]),
        ];
        assert_eq!(read_choices(&ticked), expected);
        assert_eq!(read_choices(&ticked.replace('\n', "\r\n")), expected);
        assert_eq!(read_choices("- [x] **opt-a** x\n### d-1: y\n- [x] mine"), none[..1]);
    }

    #[test]
    fn the_most_decisions_fit() {
        for letter in ["x", "😀", "<", "|", "\\"] {
            let text = letter.repeat(500);
            let mut design = design();
            let mut option = design.decisions[0].options[0].clone();
            (option.name, option.description) = (text.clone(), text.clone());
            option.tradeoffs =
                crate::plan::Tradeoffs { pros: vec![text.clone(); 6], cons: vec![text.clone(); 6] };
            let options = vec![option; 6];
            design.decisions = (1..=8)
                .map(|n| DecisionPoint {
                    id: format!("d-{n}"),
                    topic: text.clone(),
                    options: options.clone(),
                })
                .collect();
            let shown = decisions(&run(), &design, &github());
            assert!(shown.encode_utf16().count() < 65_000);
            assert_eq!(read_choices(&shown).len(), 8, "{letter}");
        }
    }

    #[test]
    fn the_design_is_reviewed() {
        let mut run = run();
        run.talk.rounds = vec![Round { closed: true, ..round() }];
        run.talk.assumptions = vec![assumption(1, "q-3", "Speed")];
        let answers = [("q-1", Some("All")), ("q-2", None)];
        run.talk.answers = answers.map(|(id, answer)| (QuestionId(id.to_owned()), given(answer))).into();
        let summary = Some("## Pages\nThey greet @joao.\n- first\n- `second`".to_owned());
        let design = Design { summary, ..decided_design() };
        insta::assert_snapshot!("review", review(&run, &design, &github()).replace('\u{200b}', "·"));
        let mut ends = vec![];
        for voice in [github(), gitlab()] {
            for rejections in 0..3 {
                run.talk.rejections = vec!["no".to_owned(); rejections];
                ends.push(what_now(&run, &voice));
            }
        }
        insta::assert_snapshot!("what_now", ends.join("\n"));
        let approved = Some(crate::domain::Account::person(3, "joao"));
        let accepted = review(&run, &Design { approved, ..design.clone() }, &github());
        let by = crate::domain::Account::person(2, "maria");
        let past =
            |why: &str| TurnedDown { number: 1, design: design.clone(), by: by.clone(), why: why.to_owned() };
        let ends = [accepted, turned_down(&run, &past("too much, @joao")), turned_down(&run, &past(""))];
        let ends = ends.map(|text| text.lines().last().unwrap_or_default().replace('\u{200b}', "·"));
        insta::assert_snapshot!("answered_review", ends.join("\n"));
    }
}
