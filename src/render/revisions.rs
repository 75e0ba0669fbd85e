//! Purpose: a plan that took the place of another: why, how far the one before had come, and all earlier ones folded away.

use super::checklist::{checklist, done};
use super::line;
use super::sentences::reason;
use super::words::{count, moment};
use crate::domain::Millis;
use crate::planning::{End, EndState, Revision, Run, Work};

const REASON_CAP: usize = 500;
/// Boxes of earlier plans are shown shorter than those of the plan in force.
const HISTORY_CAP: usize = 150;

/// The number of the plan in force, if it took the place of another.
pub(super) fn number(run: &Run) -> Option<usize> {
    let (last, before) = run.revisions.split_last()?;
    last.origin.as_ref().filter(|_| !before.is_empty()).map(|_| before.len())
}

pub(super) fn title(run: &Run) -> String {
    match number(run) {
        Some(n) => format!("## 📋 Execution Plan (Revised #{n})"),
        None => "## 📋 Execution Plan".to_owned(),
    }
}

/// Why the plan was revised, and how far the one before had come.
pub(super) fn why(run: &Run) -> Option<String> {
    number(run)?;
    let origin = run.plan()?.origin.as_ref()?;
    let given = line(&reason(&origin.reason, run.lang), REASON_CAP);
    let given = if given.is_empty() { run.lang.pick("none was given", "記載なし") } else { &given };
    let mut text = format!("**Revision Reason**: {given}");
    if let Some((at, before)) = earlier(run).last() {
        let past = as_it_ended(run, at);
        text.push_str(&format!("\n\n**Previous Progress**: {}/{}", done(&past, before), before.steps.len()));
    }
    Some(text)
}

/// How far the plan in force has come, and which one it is.
pub(super) fn footer(run: &Run, plan: &Revision) -> String {
    let (done, all) = (done(run, plan), plan.steps.len());
    let progress =
        format!("Progress: {done}/{all} ({}%) complete", (done * 100).checked_div(all).unwrap_or(0));
    let at = plan.origin.as_ref().map_or(run.started_at, |origin| origin.at);
    match number(run) {
        None => format!("*{progress}*"),
        Some(1) => format!("*{progress} | Revision: #1 at {}*", moment(at)),
        Some(n) => format!(
            "*{progress}*  \n*Plan Revisions: {}*  \n*Current Plan: #{} (started at {})*",
            count(n, "time"),
            n + 1,
            moment(at)
        ),
    }
}

/// How many earlier plans there are to show.
pub(super) fn count_earlier(run: &Run) -> usize {
    earlier(run).count()
}

/// The newest `shown` of the earlier plans, newest first.
pub(super) fn history(run: &Run, shown: usize, step_cap: usize) -> Option<String> {
    let all: Vec<(usize, &Revision)> = earlier(run).collect();
    if all.is_empty() {
        return None;
    }
    let cap = step_cap.min(HISTORY_CAP);
    let mut parts: Vec<String> =
        all.iter().rev().take(shown).map(|(at, plan)| entry(run, *at, plan, cap)).collect();
    if shown < all.len() {
        let (more, id) = (all.len() - shown, &run.id);
        parts.push(run.lang.pick(
            format!(
                "*{} not shown here; all of it is in the history of this thread, under run `{id}`.*",
                left_out(more)
            ),
            format!("*以前の計画 {more} 件はここでは省略しています。全体はこのスレッドの履歴 (run `{id}`) にあります。*"),
        ));
    }
    Some(format!(
        "<details><summary>📜 Previous Plan History</summary>\n\n{}\n\n</details>",
        parts.join("\n\n")
    ))
}

fn left_out(number: usize) -> String {
    if number == 1 { "1 older plan is".to_owned() } else { format!("{number} older plans are") }
}

fn entry(run: &Run, at: usize, plan: &Revision, cap: usize) -> String {
    let boxes = checklist(&as_it_ended(run, at), plan, cap);
    match &plan.origin {
        Some(origin) if at > 0 => format!(
            "### Revision #{at} ({})\n{boxes}\n\n**Revision Reason**: {}",
            moment(origin.at),
            line(&reason(&origin.reason, run.lang), REASON_CAP)
        ),
        Some(_) | None => {
            let begun = plan.sequence.as_ref().map_or(run.started_at, |sequence| sequence.at);
            format!("### First plan ({})\n{boxes}", moment(begun))
        }
    }
}

/// Earlier plans that came to steps, with their numbers.
fn earlier(run: &Run) -> impl DoubleEndedIterator<Item = (usize, &Revision)> {
    let before = run.revisions.len().saturating_sub(1);
    run.revisions.iter().enumerate().take(before).filter(|(_, plan)| !plan.steps.is_empty())
}

/// The last plan of each checklist that was given up, as it stood then: their work stays done.
pub(super) fn given_up(run: &Run) -> Vec<(usize, &Revision, Run)> {
    let begins_anew = |at: usize| run.revisions.get(at + 1).is_some_and(|next| !next.keeps_checklist());
    earlier(run)
        .filter(|(at, _)| begins_anew(*at))
        .map(|(at, plan)| (at, plan, as_it_ended(run, at)))
        .collect()
}

/// The run as it was when the plan of this number gave way to the next: later work on the same actions is not counted,
/// nor are steps of a new checklist taken for its own because they are called alike.
fn as_it_ended(run: &Run, at: usize) -> Run {
    let next = run.revisions.get(at + 1).and_then(|next| next.origin.as_ref());
    let until = next.map_or(Millis(i64::MAX), |origin| origin.at);
    let same_checklist = run.revisions.iter().skip(at + 1).all(Revision::keeps_checklist);
    let mut past = Run::new(run.id.clone(), run.requester.clone(), run.how, run.started_at);
    let began = run.work.iter().filter(|(_, work)| work.begun_at < until);
    past.work = began
        .map(|(id, work)| {
            let (begun_at, ended) = (work.begun_at, work.ended.clone());
            (id.clone(), Work { begun_at, turns: vec![], refused: 0, on_branch: true, ended })
        })
        .collect();
    let of_plan = run.revisions.get(at).map(|plan| &plan.skipped);
    past.skipped = if same_checklist { run.skipped.clone() } else { of_plan.cloned().unwrap_or_default() };
    past.lang = run.lang;
    past.end = Some(End { state: EndState::Completed, at: until });
    past
}

#[cfg(test)]
mod tests {
    use super::super::card;
    use super::super::fixtures::{
        assumption, at, decided_design, done, failed, github, given, origin, plan, replan, revised_once,
        revised_twice, run, worked,
    };
    use super::*;
    use crate::domain::{Account, AccountId, AccountKind};
    use crate::plan::{Level, QuestionId, StepId};
    use crate::planning::ReplanState;

    fn shown(run: &Run) -> String {
        card(run, &github()).unwrap_or_default().replace('\u{200b}', "·")
    }

    #[test]
    fn a_plan_that_was_never_revised() {
        let mut run = Run { revisions: vec![plan(&[("task_1", "Read"), ("task_2", "Write")], 1)], ..run() };
        let nobody = Account { id: AccountId(0), login: "ghost".to_owned(), kind: AccountKind::Ghost };
        run.skipped.insert(StepId("task_1".to_owned()), nobody);
        insta::assert_snapshot!("first_plan", shown(&run));
    }

    #[test]
    fn a_plan_that_was_revised_once() {
        let mut run = revised_once();
        run.replans.all = vec![replan(ReplanState::Done { at: at(12) })];
        insta::assert_snapshot!("revised_once", shown(&run));
    }

    /// The boxes of earlier plans are as they were, although the new steps have the same names.
    #[test]
    fn a_plan_that_was_revised_twice() {
        let mut run = revised_twice();
        run.talk.assumptions = vec![
            assumption(1, "q-2", "The engine that is there, @joao"),
            assumption(2, "q-3", "Speed"),
            assumption(3, "q-4", "Blue"),
            assumption(4, "", "Tests are run with `make`"),
        ];
        run.talk.answers = [("q-3", None), ("q-4", Some("Red"))]
            .map(|(id, answer)| (QuestionId(id.to_owned()), given(answer)))
            .into();
        run.revisions[2].steps[0].rests_on = vec!["A1".to_owned(), "A2".to_owned()];
        run.talk.design = Some(decided_design());
        insta::assert_snapshot!("revised_twice", shown(&run));
    }

    /// A goal that was thought over before there was a plan leaves nothing to show.
    #[test]
    fn a_first_plan_after_a_second_thought() {
        let empty = |replan, minutes| Revision {
            origin: origin(replan, Level::Goal, minutes),
            ..Revision::default()
        };
        let run = Run { goal: None, revisions: vec![empty(1, 1)], ..run() };
        assert_eq!((number(&run), why(&run), history(&run, 5, 100)), (None, None, None));
        let twice = Run { revisions: vec![empty(1, 1), empty(2, 2)], ..run };
        assert_eq!(why(&twice).unwrap_or_default().matches("Previous").count(), 0);
        assert_eq!(history(&twice, 5, 100), None);
    }

    #[test]
    fn the_oldest_plans_are_left_out_first() {
        let text = "x".repeat(300);
        let names: Vec<String> = (1..=100).map(|n| format!("task_{n}")).collect();
        let steps: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), text.as_str())).collect();
        let revision = |n: u32| Revision {
            origin: origin(n, Level::Decomposition, i64::from(n) * 10),
            ..plan(&steps, n * 100)
        };
        let run = Run { revisions: (0..5).map(revision).collect(), ..run() };
        let shown = shown(&run);
        assert!(shown.encode_utf16().count() < 65_000);
        assert!(shown.contains("### Revision #3 ("), "the newest is there");
        assert!(!shown.contains("### First plan ("), "the oldest is not");
        assert!(shown.contains("all of it is in the history of this thread, under run `r-1`"), "{shown}");
        assert!(shown.contains(&format!("**task_100**: {text}")), "the plan in force is whole");
    }

    #[test]
    fn plans_that_are_not_shown_are_counted() {
        let last = |run: &Run, shown| {
            let folded = history(run, shown, 100).unwrap_or_default();
            folded.lines().rev().nth(2).unwrap_or_default().to_owned()
        };
        let japanese = Run { lang: crate::domain::Lang::Japanese, ..revised_twice() };
        let said = [&revised_twice(), &japanese].map(|run| [last(run, 1), last(run, 0)].join("\n"));
        insta::assert_snapshot!(said.join("\n"), @r"
        *1 older plan is not shown here; all of it is in the history of this thread, under run `r-1`.*
        *2 older plans are not shown here; all of it is in the history of this thread, under run `r-1`.*
        *以前の計画 1 件はここでは省略しています。全体はこのスレッドの履歴 (run `r-1`) にあります。*
        *以前の計画 2 件はここでは省略しています。全体はこのスレッドの履歴 (run `r-1`) にあります。*
        ");
    }

    #[test]
    fn checklists_that_were_given_up_are_found() {
        let numbers = |run: &Run| given_up(run).iter().map(|(at, ..)| *at).collect::<Vec<_>>();
        assert_eq!(numbers(&revised_once()), Vec::<usize>::new());
        assert_eq!(numbers(&revised_twice()), [1]);
    }

    #[test]
    fn work_of_the_next_plan_is_not_counted() {
        let first = plan(&[("task_1", "a"), ("task_2", "b")], 1);
        let second = Revision { origin: origin(1, Level::Actions, 10), ..first.clone() };
        let run = Run { revisions: vec![first, second], ..run() };
        let run = worked(run, &[(1, failed(5, "no")), (2, done(15, "abcdef0"))]);
        assert!(why(&run).unwrap_or_default().ends_with("**Previous Progress**: 0/2"));
    }
}
