//! Purpose: the card as a whole: how it ends, what it notes below the plan, and that it fits into a comment.

use super::fixtures::{
    action, assumption, at, done, done_in_part, github, given, judged, maria, origin, plan, revised_once,
    run, step, worked,
};
use super::status_tests::on_a_branch;
use super::{card, delivery};
use crate::crew::Verdict;
use crate::domain::{Lang, ThreadRef};
use crate::plan::{Action, Level, QuestionId, Step, StepId};
use crate::planning::{Delivery, End, EndState, Ended, Evidence, Outcome, Revision, Run, Sequence, Work};

fn shown(run: &Run, lang: Lang) -> String {
    card(&Run { lang, ..run.clone() }, &github()).unwrap_or_default().replace('\u{200b}', "·")
}

/// What stands below the plan.
fn below(run: &Run, lang: Lang) -> String {
    let card = shown(run, lang);
    let (_, below) = card.rsplit_once("complete").unwrap_or_default();
    below.split_once('\n').map_or(String::new(), |(_, below)| below.trim().to_owned())
}

fn in_both(name: &str, text: impl Fn(Lang) -> String) -> String {
    format!("=== {name}\n{}\n\n{}\n", text(Lang::English), text(Lang::Japanese))
}

fn failed(run: Run) -> Run {
    let reason = "Action 2 failed: it ended with exit code 1".to_owned();
    Run { end: Some(End { state: EndState::Failed { reason }, at: at(60) }), ..run }
}

fn cancelled(run: Run) -> Run {
    Run { end: Some(End { state: EndState::Cancelled { by: maria() }, at: at(60) }), ..run }
}

#[test]
fn a_run_that_failed_says_where_its_work_is() {
    for (lang, name) in [(Lang::English, "failed"), (Lang::Japanese, "failed_in_japanese")] {
        insta::assert_snapshot!(name, shown(&failed(on_a_branch(true)), lang));
    }
}

#[test]
fn what_is_noted_below_the_plan() {
    let noted = |hidden, unused_comments| Run { hidden, unused_comments, ..revised_once() };
    let runs = [
        ("one of each", noted(1, 1)),
        ("some", noted(3, 2)),
        ("many", noted(1_000, 6)),
        ("cancelled, all of it pushed", cancelled(on_a_branch(true))),
        ("cancelled, not all of it pushed", cancelled(on_a_branch(false))),
        ("cancelled, nothing done", cancelled(Run { work: [].into_iter().collect(), ..on_a_branch(true) })),
    ];
    let said = runs.iter().map(|(name, run)| in_both(name, |lang| below(run, lang)));
    insta::assert_snapshot!("notes", said.collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_new_plan_that_is_not_there_yet() {
    let mut making = revised_once();
    let anew = || Revision { origin: origin(2, Level::Goal, 30), ..Revision::default() };
    making.revisions.push(anew());
    let mut why = anew();
    why.origin.iter_mut().for_each(|origin| origin.reason.clear());
    let mut silent = revised_once();
    silent.revisions.push(why);
    let head = |run: &Run, lang: Lang| {
        let card = shown(run, lang);
        card.split_once("\n\n<details>").map_or(card.clone(), |(head, _)| head.to_owned())
    };
    let runs = [("being made", making.clone()), ("ended before", cancelled(making)), ("no reason", silent)];
    let said = runs.iter().map(|(name, run)| in_both(name, |lang| head(run, lang)));
    insta::assert_snapshot!("no_plan_yet", said.collect::<Vec<_>>().join("\n"));
}

/// What was not approved of a step is not ticked, not counted and not closed by the change request.
#[test]
fn a_step_is_ticked_only_if_all_that_it_needs_is_done() {
    let thread: ThreadRef = "github:acme/web#12".parse().expect("a thread");
    let handed_over = Delivery {
        branch: "planwright/12-greet".to_owned(),
        commit: None,
        change: Some("github:acme/web#13".parse().expect("a thread")),
        url: Some("https://forge.example/acme/web/pull/13".to_owned()),
    };
    let mut run = done_in_part();
    run.crew.steps.insert(StepId("task_1".to_owned()), judged(Verdict::Done, 1));
    let plan = run.plan().cloned().unwrap_or_default();
    run.delivery = Some(handed_over);
    run.end = Some(End { state: EndState::Completed, at: at(60) });
    let change = |lang| delivery(&Run { lang, ..run.clone() }, &plan, &thread, &github()).1;
    let said = [in_both("card", |lang| shown(&run, lang)), in_both("change request", change)];
    insta::assert_snapshot!("done_in_part", said.join("\n"));
}

/// A checklist that was given up keeps what was done of it, whole or in part.
#[test]
fn what_was_done_in_part_before_is_handed_over() {
    let thread: ThreadRef = "github:acme/web#12".parse().expect("a thread");
    let mut run = done_in_part();
    let next = plan(&[("task_1", "Start from nothing")], 8);
    run.revisions.push(Revision { origin: origin(1, Level::Decomposition, 30), ..next.clone() });
    let (_, body) = delivery(&run, &next, &thread, &github());
    let (_, before) = body.split_once("### Done before the plan was changed\n").unwrap_or_default();
    insta::assert_snapshot!(before.split("\n\n").next().unwrap_or_default(), @r"
    - **task_1**: Delete the old login — `a1b2c3d`, in part (first plan)
    - **task_2**: Read the code — `c0ffee1` (first plan)
    - **task_3**: Tell of it — `beef567`, in part (first plan)
    ");
    assert!(shown(&run, Lang::English).contains("**Previous Progress**: 1/4"));
}

/// Steps with the longest names, as many as there may be. Each second one was approved in part.
fn planned(text: &str, from: usize) -> Revision {
    let steps: Vec<Step> = (1..=100).map(|n| step(&format!("task_{n:_>35}"), text)).collect();
    let number = |at: usize| u32::try_from(from + at).unwrap_or(u32::MAX);
    let of = |at: usize| action(number(at), &steps[at / 3].id.0);
    let actions: Vec<Action> = (0..300).map(of).collect();
    let why = || format!("it needs {text}, which failed");
    let left_out = actions.iter().step_by(6).map(|action| (action.id.clone(), why())).collect();
    Revision { sequence: Some(Sequence::new(&steps, actions, at(1))), steps, left_out, ..Revision::default() }
}

/// As much as a run can have to tell: plans that took each other's place, evidence for all that was done, and more
/// assumptions than are shown, each of which everything rests on.
fn longest(text: &str) -> Run {
    let revision = |n: u32| {
        let mut plan = planned(text, 1 + 300 * n as usize);
        let assumed = || (1..=50).map(|n| format!("A{n}")).collect();
        plan.steps.iter_mut().for_each(|step| step.rests_on = assumed());
        plan.origin = origin(n, Level::Decomposition, i64::from(n) * 10).filter(|_| n > 0);
        plan.origin.iter_mut().for_each(|origin| origin.reason = text.to_owned());
        plan
    };
    let revisions: Vec<Revision> = (0..2).map(revision).collect();
    let mut shows = done(2, &"c".repeat(40));
    shows.ended.iter_mut().for_each(|ended| ended.evidence.exit_code = Some(101));
    let ids = revisions.iter().flat_map(|plan| plan.actions().filter(|a| !plan.left_out.contains_key(&a.id)));
    let work = ids.map(|action| (action.id.clone(), shows.clone())).collect();
    let mut run = Run { revisions, work, ..run() };
    run.goal.iter_mut().for_each(|goal| goal.main_objective = text.to_owned());
    run.talk.assumptions = (1..=50).map(|n| assumption(n, &format!("q-{n}"), text)).collect();
    let answers = (1..=50).map(|n| (QuestionId(format!("q-{n}")), given(Some(text))));
    run.talk.answers = answers.collect();
    run
}

/// The longest card there can be, in the widest letters, still fits into a GitHub comment.
#[test]
fn the_longest_card_fits() {
    for letter in ["x", "目", "😀", "<", "@", "&a", "[", "\\", "`", "e\u{301}"] {
        let card = card(&longest(&letter.repeat(1_000)), &github()).unwrap_or_default();
        let length = card.encode_utf16().count();
        assert!(length < 65_000, "{letter}: {length} characters");
        let (plan, folded) = card.split_once("<details>").unwrap_or_default();
        assert_eq!(plan.lines().filter(|line| line.starts_with("- [x]")).count(), 50, "{letter}: {plan}");
        assert_eq!(plan.lines().filter(|line| line.starts_with("- [ ]")).count(), 50, "{letter}: {plan}");
        assert!(folded.contains(" and 95 more)") && folded.contains("- and 10 more"), "{letter}: {folded}");
        assert!(card.contains("*Progress: 50/100 (50%) complete"), "{letter}: the footer is missing");
    }
}

/// However long a plan has become, people see where it stands.
#[test]
fn a_plan_that_fits_in_no_size_leaves_the_rest_of_the_card() {
    let mut run = done_in_part();
    let shows = |n: u32| Work { ended: ran(), ..done(i64::from(n), "") };
    let many: Vec<(u32, Work)> = (1..9_000).map(|n| (n, shows(n))).collect();
    run.revisions[0].sealed = many.iter().map(|(n, _)| action(*n, "task_2")).collect();
    let run = worked(run, &many);
    insta::assert_snapshot!("too_long", in_both("too long", |lang| shown(&run, lang)));
}

fn ran() -> Option<Ended> {
    let evidence = Evidence { exit_code: Some(0), ..Evidence::default() };
    Some(Ended { outcome: Outcome::Succeeded, evidence, actual: String::new() })
}

#[test]
fn a_run_that_only_began_is_not_worth_a_comment() {
    assert_eq!(card(&Run { goal: None, ..run() }, &github()), None);
}
