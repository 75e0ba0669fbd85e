//! Purpose: a whole conversation in Japanese: our own sentences are, headings and commands stay as they are.

use super::fixtures::{
    assumption, at, decided_design, design, github, gitlab, given, maria, replan, revised_once, round, run,
};
use super::{card, decisions, delivery, questions, replan_notice, review, turned_down};
use crate::domain::{Lang, ThreadRef};
use crate::plan::{Level, QuestionId};
use crate::planning::{
    Design, End, EndState, Limit, LimitHit, Purpose, Replan, ReplanState, Round, Run, StopReason, TurnedDown,
    Verdict,
};

fn spoken(run: Run) -> Run {
    Run { lang: Lang::Japanese, ..run }
}

fn told(parts: &[(&str, String)]) -> String {
    let each = parts.iter().map(|(name, text)| format!("=== {name}\n{text}\n"));
    each.collect::<Vec<_>>().join("\n").replace('\u{200b}', "·")
}

#[test]
fn what_is_asked_is_asked_in_japanese() {
    let mut run = spoken(run());
    run.talk.assumptions = vec![assumption(1, "q-2", "今あるもの")];
    let answers = [("q-1", Some("すべて")), ("q-2", None)];
    let open = questions(&run, &round(), &github());
    let waits = questions(&run, &Round { assumes: false, ..round() }, &gitlab());
    run.talk.answers = answers.map(|(id, answer)| (QuestionId(id.to_owned()), given(answer))).into();
    let closed = questions(&run, &Round { closed: true, ..round() }, &github());
    let summary = Some("ページが挨拶します。".to_owned());
    let summed = Design { summary, ..decided_design() };
    let past =
        TurnedDown { number: 1, design: summed.clone(), by: maria(), why: "多すぎます".to_owned() };
    let accepted = Design { approved: Some(maria()), ..summed.clone() };
    insta::assert_snapshot!(told(&[
        ("questions", open),
        ("questions that wait, on GitLab", waits),
        ("questions, over", closed),
        ("decisions", decisions(&run, &design(), &github())),
        ("decisions, made", decisions(&run, &decided_design(), &github())),
        ("review", review(&run, &summed, &github())),
        ("review, accepted", review(&run, &accepted, &github())),
        ("review, turned down", turned_down(&run, &past)),
    ]));
}

#[test]
fn what_is_told_is_told_in_japanese() {
    let mut revised = spoken(revised_once());
    revised.hidden = 3;
    revised.unused_comments = 2;
    let live = revised.clone();
    revised.replans.all = vec![replan(ReplanState::Done { at: at(12) })];
    let ended = |state| Run { end: Some(End { state, at: at(60) }), ..revised.clone() };
    let shown = |run: &Run| card(run, &github()).unwrap_or_default();
    let confirm = Verdict::Confirm { level: Level::Partial };
    let asked = Replan { verdict: confirm, deadline: Some(at(40)), ..replan(ReplanState::Confirming) };
    let verdict = Verdict::Limit { level: Some(Level::Partial), limit: Limit::Total };
    let why = Limit::Total.words().to_owned();
    let limited = Replan { verdict, ..replan(ReplanState::Overridden { why }) };
    let mut stuck = live.clone();
    let failed = Some(crate::plan::ActionId("a3".to_owned()));
    stuck.replans.limit = Some(LimitHit { replan: 1, limit: Limit::Total, failed, since: at(5), told: true });
    let notice = |run: &Run, replan: &Replan| replan_notice(run, replan, &github()).unwrap_or_default();
    let thread: ThreadRef = "github:acme/web#12".parse().expect("a thread");
    let plan = live.plan().cloned().unwrap_or_default();
    insta::assert_snapshot!(told(&[
        ("card", shown(&revised)),
        ("card, done", shown(&ended(EndState::Completed))),
        ("card, cancelled", shown(&ended(EndState::Cancelled { by: maria() }))),
        ("card, stopped", shown(&ended(EndState::Stopped { by: maria(), why: StopReason::Closed }))),
        (
            "card, failed",
            shown(&ended(EndState::Failed {
                reason: "Action 2 failed: it ended with exit code 1".to_owned()
            }))
        ),
        ("card, at a limit", shown(&stuck)),
        ("notice", notice(&live, &replan(ReplanState::Started))),
        ("notice that asks", notice(&live, &asked)),
        ("notice of a limit", notice(&stuck, &limited)),
        ("change request", delivery(&live, &plan, &thread, &github()).1),
    ]));
}

/// What is asked a second time, and what came of it.
#[test]
fn what_is_asked_again_is_asked_in_japanese() {
    let mut run = spoken(run());
    run.talk.assumptions = vec![assumption(1, "q-1", "トップページ"), assumption(2, "q-2", "今あるもの")];
    let answers = [("q-1", Some("すべて")), ("q-2", None), ("q-3", Some("速さ"))];
    run.talk.answers = answers.map(|(id, answer)| (QuestionId(id.to_owned()), given(answer))).into();
    let closed = Round { closed: true, ..round() };
    let complete = questions(&run, &closed, &github());
    run.talk.answers.clear();
    let silent = questions(&run, &closed, &github());
    let before = Round { purpose: Purpose::Discovery, ..round() };
    let summed = Design { summary: Some("ページが挨拶します。".to_owned()), ..decided_design() };
    let mut reviews = vec![];
    for times in 1..3 {
        run.talk.rejections = vec!["多すぎます".to_owned(); times];
        let text = review(&run, &summed, &github());
        reviews.push(text.lines().last().unwrap_or_default().to_owned());
    }
    let again = decisions(&run, &design(), &github());
    run.talk.answers = [(QuestionId("q-1".to_owned()), given(Some("すべて")))].into();
    run.revisions = revised_once().revisions;
    insta::assert_snapshot!(told(&[
        ("answers, complete", complete),
        ("answers, none", silent),
        ("questions before the design", questions(&run, &before, &github())),
        ("decisions, once more", again.lines().take(3).collect::<Vec<_>>().join("\n")),
        ("review, after rejections", reviews.join("\n")),
        ("nothing to decide", decisions(&run, &Design::default(), &github())),
        ("assumptions on the card", card(&run, &github()).unwrap_or_default()),
    ]));
}

/// What people tick is found again, whatever language is around it.
#[test]
fn boxes_are_read_in_japanese_too() {
    let run = spoken(run());
    let asked = questions(&run, &round(), &github()).replacen("- [ ] All of them", "- [x] All of them", 1);
    assert_eq!(super::read_ticks(&asked), [vec![1], vec![], vec![]]);
    let put_up = decisions(&run, &design(), &github()).replacen("- [ ] **opt-b**", "- [x] **opt-b**", 1);
    assert_eq!(super::read_choices(&put_up)[0], ("d-1".to_owned(), vec!["opt-b".to_owned()]));
}
