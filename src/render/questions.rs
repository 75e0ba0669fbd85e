//! Purpose: questions to people in one comment: what is asked, what happens if nobody answers, and how to answer. Once
//! the round is over, the comment is edited to say what came of it.

use super::sentences::reason;
use super::status::who;
use super::words::{fitting, read_box, span};
use super::{Voice, line};
use crate::domain::{Lang, Permission};
use crate::plan::Question;
use crate::planning::{Purpose, Round, Run, Talk};

/// How much is shown of each text, and how many options of a question. Less when it would become too large.
const SIZES: [(usize, usize); 4] = [(500, 12), (200, 12), (100, 6), (40, 3)];
/// More questions than this are in no comment of ours.
const MOST: usize = 1_000;

/// The comment of a round. As long as the round is open it says the same, whatever has been answered: people tick its
/// boxes, and an edit would take their ticks away.
#[must_use]
pub fn questions(run: &Run, round: &Round, voice: &Voice) -> String {
    let text = |size: &(usize, usize)| {
        let rest =
            if round.closed { settled(run, round, size.0) } else { asked(round, run.lang, voice, *size) };
        format!("{}\n\n{rest}", title(round.purpose))
    };
    fitting(SIZES.iter().map(text)).unwrap_or_else(|| title(round.purpose).to_owned())
}

fn title(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Clarification => "## ❓ Clarification Needed (AI Decision)",
        Purpose::Discovery => "## ❓ Questions before the design",
    }
}

fn asked(round: &Round, lang: Lang, voice: &Voice, (words, options): (usize, usize)) -> String {
    let intro = match round.purpose {
        Purpose::Clarification => lang.pick(
            "I've analyzed the task and need some clarification to proceed effectively:",
            "タスクを分析しました。適切に進めるため、次の点を確認させてください。",
        ),
        Purpose::Discovery => lang.pick(
            "Before I work out the design, there are some things that only people can tell me:",
            "設計を検討する前に、皆さんに教えていただきたいことがあります。",
        ),
    };
    let list =
        round.questions.iter().zip(1..).map(|(question, n)| entry(question, n, lang, (words, options)));
    let mut parts = vec![intro.to_owned(), "**Questions**:".to_owned()];
    parts.extend(list);
    let why = line(&round.why, 1_000);
    if !why.is_empty() {
        parts.push(format!("**Context**:\n{why}"));
    }
    parts.push(if_no_response(round, lang, words));
    parts.push(how_to(round, lang, voice));
    parts.join("\n\n")
}

fn entry(question: &Question, number: usize, lang: Lang, (words, options): (usize, usize)) -> String {
    let mut text = format!("**{number}.** {}", named(question, words));
    let reason = question.context.as_deref().map_or(String::new(), |context| line(context, words));
    if !reason.is_empty() {
        text.push_str(&format!("  \n{reason}"));
    }
    for option in question.options.iter().take(options) {
        text.push_str(&format!("\n- [ ] {}", line(option, words)));
    }
    if question.options.len() > options {
        let more = question.options.len() - options;
        text.push_str(&lang.pick(
            format!("\n- and {more} more: write your answer"),
            format!("\n- ほか {more} 件: 回答を書いてください"),
        ));
    }
    text
}

fn named(question: &Question, words: usize) -> String {
    let (kind, id) = (question.kind.as_str(), &question.id);
    format!("({kind}) {} <sub>`{id}`</sub>", line(&question.question, words))
}

fn if_no_response(round: &Round, lang: Lang, words: usize) -> String {
    let Some(wait) = round.wait_ms.filter(|_| round.assumes) else {
        let waits = lang.pick(
            "I wait. Nothing is done before these are answered or skipped.",
            "お待ちします。回答またはスキップされるまで何もしません。",
        );
        return format!("**If no response**:\n{waits}");
    };
    // What would be assumed if nobody said anything.
    let assumed = Talk::default().due_assumptions(round);
    let list =
        assumed.iter().map(|due| format!("- {}: {}", due.question, line(&reason(&due.text, lang), words)));
    let (wait, list) = (span(wait, lang), list.collect::<Vec<_>>().join("\n"));
    lang.pick(
        format!("**If no response** in {wait}:\nI will proceed with the following assumptions:\n{list}"),
        format!("**If no response** ({wait}以内):\n次の仮定で進めます。\n{list}"),
    )
}

fn how_to(round: &Round, lang: Lang, voice: &Voice) -> String {
    let ticks = round.questions.iter().any(|question| !question.options.is_empty());
    let ways = if ticks {
        lang.pick("tick boxes, reply with the numbers (`1. …`)", "チェックを入れる、番号 (`1. …`) で返信する")
    } else {
        lang.pick("reply with the numbers (`1. …`)", "番号 (`1. …`) で返信する")
    };
    let first = round.questions.first().map_or(String::new(), |question| question.id.to_string());
    let (skip, role) = (voice.command(&format!("skip {first}")), voice.role(Permission::Triage));
    lang.pick(
        format!(
            "Please answer as you like: {ways}, or write it in your own words. {skip} leaves a question out.\n\n\
             <sub>I take answers from people with at least {role} permission here, and from who asked for this \
             run.</sub>"
        ),
        format!(
            "回答方法は自由です: {ways}、または自分の言葉で書いてください。{skip} で質問をスキップできます。\n\n\
             <sub>{role} 以上の権限を持つ人と、この作業の依頼者の回答を受け付けます。</sub>"
        ),
    )
}

fn settled(run: &Run, round: &Round, words: usize) -> String {
    let open = !run.talk.unanswered(round).is_empty();
    let intro = if open {
        run.lang.pick(
            "The time for answers is over, and I go on with this. An answer is still welcome: what rests on an \
             assumption is then planned anew.",
            "回答期限が過ぎたので、次の内容で進めます。今からの回答も歓迎です。その場合は仮定に基づく部分を計画し直します。",
        )
    } else {
        run.lang
            .pick("Answered, thank you. I go on with this:", "回答ありがとうございます。次の内容で進めます。")
    };
    let list = round.questions.iter().zip(1..).map(|(question, n)| {
        let answer = outcome(run, question, words);
        format!("{n}. {}  \n   → {answer}", named(question, words))
    });
    format!("{intro}\n\n{}", list.collect::<Vec<_>>().join("\n"))
}

/// What a question came to: an answer, a skip, an assumption.
pub(super) fn outcome(run: &Run, question: &Question, words: usize) -> String {
    let lang = run.lang;
    let given = run.talk.answers.get(&question.id);
    let assumed = run.talk.assumptions.iter().find(|known| known.question == question.id);
    let assumed = assumed.map(|known| (&known.id, line(&reason(&known.text, lang), words)));
    match (given.map(|given| (&given.answer, who(&given.by, lang))), assumed) {
        (Some((Some(answer), by)), None) => format!("{} — {by}", line(answer, words)),
        (Some((Some(answer), by)), Some((id, text))) => {
            let answer = line(answer, words);
            lang.pick(
                format!("{answer} — {by} (until then I assumed {id}: {text})"),
                format!("{answer} — {by} (それまでの仮定 {id}: {text})"),
            )
        }
        (Some((None, by)), None) => lang.pick(format!("skipped by {by}"), format!("{by} がスキップ")),
        (Some((None, by)), Some((id, text))) => lang.pick(
            format!("skipped by {by}; I assume {id}: {text}"),
            format!("{by} がスキップ。仮定 {id}: {text}"),
        ),
        (None, Some((id, text))) => lang
            .pick(format!("nobody answered; I assume {id}: {text}"), format!("回答なし。仮定 {id}: {text}")),
        (None, None) => lang.pick("nobody answered", "回答なし").to_owned(),
    }
}

/// For each numbered question in order, which of its options are ticked.
#[must_use]
pub fn read_ticks(body: &str) -> Vec<Vec<usize>> {
    let mut ticks: Vec<Vec<usize>> = vec![];
    // The question that the next boxes belong to, and how many of its boxes have been seen.
    let mut at: Option<(usize, usize)> = None;
    for line in body.lines().map(str::trim_end) {
        if let Some(number) = number_of(line) {
            ticks.resize_with(ticks.len().max(number), Vec::new);
            at = Some((number - 1, 0));
        } else if let (Some((ticked, _)), Some((question, seen))) = (read_box(line), &mut at) {
            if let (true, Some(found)) = (ticked, ticks.get_mut(*question)) {
                found.push(*seen);
            }
            *seen += 1;
        } else if line.starts_with("**") {
            at = None;
        }
    }
    ticks
}

/// `**3.** …`
fn number_of(line: &str) -> Option<usize> {
    let (number, _) = line.strip_prefix("**")?.split_once(".**")?;
    number.parse().ok().filter(|number| (1..=MOST).contains(number))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::fixtures::{assumption, github, gitlab, given, question, round, run};
    use super::*;
    use crate::plan::{QuestionId, QuestionKind};

    #[test]
    fn questions_are_asked() {
        insta::assert_snapshot!("asked", questions(&run(), &round(), &github()));
    }

    #[test]
    fn questions_before_the_design_on_gitlab() {
        let mut only_words = round();
        only_words.questions.truncate(2);
        only_words.questions.remove(0);
        let round = Round { purpose: Purpose::Discovery, why: String::new(), assumes: false, ..only_words };
        insta::assert_snapshot!("asked_for_the_design", questions(&run(), &round, &gitlab()));
    }

    #[test]
    fn options_that_are_not_shown_are_counted() {
        let options = ["a", "b", "c", "d", "e"];
        let question = question(1, QuestionKind::Scope, "Which?", &options);
        let said = [Lang::English, Lang::Japanese].map(|lang| entry(&question, 1, lang, SIZES[3]));
        insta::assert_snapshot!(said.join("\n\n"), @r"
        **1.** (scope) Which? <sub>`q-1`</sub>
        - [ ] a
        - [ ] b
        - [ ] c
        - and 2 more: write your answer

        **1.** (scope) Which? <sub>`q-1`</sub>
        - [ ] a
        - [ ] b
        - [ ] c
        - ほか 2 件: 回答を書いてください
        ");
    }

    #[test]
    fn answers_are_shown_once_they_are_complete() {
        let mut run = run();
        run.talk.assumptions = vec![assumption(1, "q-2", "The one that is there")];
        let answers = [("q-1", Some("All of them, @joao")), ("q-2", None), ("q-3", Some("Speed"))];
        run.talk.answers = answers.map(|(id, answer)| (QuestionId(id.to_owned()), given(answer))).into();
        insta::assert_snapshot!("answered", questions(&run, &Round { closed: true, ..round() }, &github()));
    }

    #[test]
    fn what_nobody_answered_is_shown() {
        let mut run = run();
        run.talk.assumptions =
            vec![assumption(1, "q-1", "Only the start page"), assumption(2, "q-2", "The one that is there")];
        run.talk.answers = [(QuestionId("q-1".to_owned()), given(Some("All")))].into();
        run.talk.rounds = vec![Round { closed: true, ..round() }];
        insta::assert_snapshot!("not_answered", questions(&run, &run.talk.rounds[0], &github()));
        let mut skipped = run.clone();
        skipped.talk.answers.insert(QuestionId("q-3".to_owned()), given(None));
        assert_eq!(outcome(&skipped, &round().questions[2], 100), "skipped by @maria");
    }

    /// An edit takes ticks away, so nothing that is answered may change the text while the round is open.
    #[test]
    fn an_open_round_always_reads_the_same() {
        let mut later = run();
        later.talk.rounds = vec![round()];
        later.talk.answers = [(QuestionId("q-1".to_owned()), given(Some("All")))].into();
        let posted = Round { comment: Some(crate::domain::CommentId(5)), overdue: true, ..round() };
        assert_eq!(questions(&later, &posted, &github()), questions(&run(), &round(), &github()));
    }

    #[test]
    fn the_longest_questions_fit() {
        for letter in ["x", "😀", "<", "&a", "\\"] {
            let text = letter.repeat(500);
            let options = [text.as_str(); 6];
            let many = (1..=20).map(|n| Question {
                context: Some(text.clone()),
                assumption: Some(text.clone()),
                ..question(n, QuestionKind::Scope, &text, &options)
            });
            let round = Round { questions: many.collect(), why: text.clone(), ..round() };
            for closed in [false, true] {
                let shown = questions(&run(), &Round { closed, ..round.clone() }, &github());
                assert!(shown.encode_utf16().count() < 65_000);
                assert!(shown.contains("`q-20`"), "{letter}");
            }
        }
    }

    #[test]
    fn ticks_are_read() {
        let asked = questions(&run(), &round(), &github());
        assert_eq!(read_ticks(&asked), [vec![], vec![], Vec::<usize>::new()]);
        let ticked = asked.replacen("- [ ]", "- [x]", 1).replace("[ ] Beauty", "[X] Beauty");
        assert_eq!(read_ticks(&ticked), [vec![0], vec![], vec![1]]);
        assert_eq!(read_ticks(&ticked.replace('\n', "\r\n")), [vec![0], vec![], vec![1]]);
        let edited = format!("hello\n- [x] mine\n{ticked}\n\n- [x] mine too");
        assert_eq!(read_ticks(&edited), [vec![0], vec![], vec![1]]);
        assert_eq!(read_ticks("**1.** a\n- [x] b\n**9999999.** c\n**0.** d"), [vec![0]]);
        let closed = questions(&run(), &Round { closed: true, ..round() }, &github());
        assert_eq!(read_ticks(&closed), Vec::<Vec<usize>>::new());
    }

    proptest! {
        /// Exactly the boxes that are ticked are found, whatever the questions and options say.
        #[test]
        fn every_tick_is_found(
            texts in prop::collection::vec(
                ("\\PC{0,40}", prop::collection::vec(("\\PC{0,30}", any::<bool>()), 0..6)),
                1..6,
            ),
            crlf: bool,
        ) {
            let list = texts.iter().zip(1..).map(|((text, options), n)| {
                let options: Vec<&str> = options.iter().map(|(option, _)| option.as_str()).collect();
                Question { context: Some(text.clone()), ..question(n, QuestionKind::Scope, text, &options) }
            });
            let round = Round { questions: list.collect(), ..round() };
            let asked = questions(&run(), &round, &github());
            let mut ticks = texts.iter().flat_map(|(_, options)| options.iter().map(|(_, tick)| *tick));
            let shown = asked.split('\n').map(|line| match line.strip_prefix("- [ ]") {
                Some(rest) if ticks.next() == Some(true) => format!("- [x]{rest}"),
                Some(_) | None => line.to_owned(),
            });
            let shown = shown.collect::<Vec<_>>().join(if crlf { "\r\n" } else { "\n" });
            let expected: Vec<Vec<usize>> = texts
                .iter()
                .map(|(_, options)| (0..options.len()).filter(|at| options[*at].1).collect())
                .collect();
            prop_assert_eq!(read_ticks(&shown), expected, "{}", shown);
        }
    }
}
