//! Purpose: where a run stands, in every state that there is and in both languages.

use super::crew_tests::held;
use super::fixtures::{
    action, at, decided_design, design, github, gitlab, given, joao, maria, plan, replan, retry,
    revised_once, round, run,
};
use super::preview_tests::put_up;
use super::status::{cost, status};
use super::{Voice, reply};
use crate::domain::{CommentId, Lang, Millis, Permission};
use crate::plan::{ActionId, Level, QuestionId, StepId};
use crate::planning::{
    Approval, Delivery, Design, End, EndState, Hold, Key, Limit, LimitHit, Limits, Notice, Owed, Pause,
    Place, Record, Replan, ReplanState, Resource, Round, Run, Spent, StopReason, Verdict, Words,
};

fn asking(round: Round) -> Run {
    let mut run = run();
    run.talk.answers = [(QuestionId("q-1".to_owned()), given(Some("All")))].into();
    run.talk.rounds = vec![round];
    run
}

fn designing(design: Option<Design>) -> Run {
    let mut run = run();
    run.talk.discovery = Some(vec![]);
    run.talk.design = design;
    run
}

fn confirming(deadline: Option<Millis>) -> Run {
    let mut run = revised_once();
    let verdict = Verdict::Confirm { level: Level::Partial };
    run.replans.all = vec![Replan { verdict, deadline, ..replan(ReplanState::Confirming) }];
    run
}

fn at_limit(failed: Option<u32>, told: bool) -> Run {
    let mut run = revised_once();
    let failed = failed.map(|number| ActionId(format!("a{number}")));
    run.replans.limit = Some(LimitHit { replan: 1, limit: Limit::Total, failed, since: at(5), told });
    run
}

fn interrupted() -> Run {
    Run { unclear: vec![ActionId("a3".to_owned())], ..revised_once() }
}

fn away() -> Run {
    let reason =
        "The language model cannot be reached at the moment; if that lasts, an operator should look at it.";
    Run { retry: Some(retry(reason)), ..run() }
}

fn used_up(resource: Resource) -> Run {
    let (mut budget, mut spent) = (Limits::default(), Spent::default());
    match resource {
        Resource::MicroUsd => (budget.micro_usd, spent.cost_micro_usd) = (Some(2_500_000), Some(2_500_000)),
        Resource::Tokens => (budget.tokens, spent.input_tokens) = (Some(50_000), 50_000),
        Resource::ModelCalls => (budget.model_calls, spent.model_calls) = (Some(200), 200),
        Resource::Minutes => (budget.minutes, spent.active_ms) = (Some(120), 120 * 60_000),
        Resource::Files => (budget.files, spent.files) = (Some(30), 30),
        Resource::Bytes => (budget.bytes, spent.bytes) = (Some(5_000_000), 5_000_000),
    }
    Run { budget, spent, ..revised_once() }
}

/// A new hold does not compile until it has a name here; it belongs into the list below as well.
fn name(hold: &Hold<'_>) -> &'static str {
    match hold {
        Hold::Paused(_) => "paused",
        Hold::Retry(_) => "retry",
        Hold::Unclear(_) => "unclear",
        Hold::Answers(_) => "answers",
        Hold::Decisions(_) => "decisions",
        Hold::Review(_) => "review",
        Hold::Confirm(_) => "confirm",
        Hold::Limit(_) => "limit",
        Hold::Approval(_) => "approval",
        Hold::Escalation(_) => "escalation",
        Hold::Budget(_) => "budget",
    }
}

/// One of each, and more of those that say different things.
fn every_hold() -> Vec<(&'static str, Run)> {
    let posted = Round { deadline: Some(at(30)), ..round() };
    let mut half = design();
    half.choices = decided_design().choices;
    half.choices.remove("d-2");
    let summary = Some("So it is.".to_owned());
    let mut undecided = at_limit(Some(3), true);
    undecided.replans.limit.iter_mut().for_each(|hit| hit.limit = Limit::NoDecision);
    vec![
        ("paused", Run { pause: Some(Pause { by: maria(), comment: None, since: at(0) }), ..revised_once() }),
        ("retry", away()),
        ("unclear", interrupted()),
        ("answers", asking(posted.clone())),
        ("answers", asking(Round { assumes: false, ..posted })),
        ("answers", asking(round())),
        ("decisions", designing(Some(half))),
        ("review", designing(Some(Design { summary, ..decided_design() }))),
        ("confirm", confirming(Some(at(30)))),
        ("confirm", confirming(None)),
        ("limit", at_limit(Some(3), true)),
        ("limit", at_limit(None, true)),
        ("limit", undecided),
        ("approval", put_up()),
        ("escalation", held()),
        ("budget", used_up(Resource::MicroUsd)),
        ("budget", used_up(Resource::Tokens)),
        ("budget", used_up(Resource::ModelCalls)),
        ("budget", used_up(Resource::Minutes)),
        ("budget", used_up(Resource::Files)),
        ("budget", used_up(Resource::Bytes)),
    ]
}

fn lines(runs: &[(&str, Run)], lang: Lang, voice: &Voice) -> String {
    let line = |(name, run): &(&str, Run)| {
        format!("{name}: {}", status(&Run { lang, ..run.clone() }, voice).replace('\u{200b}', "·"))
    };
    runs.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_hold_has_its_sentence() {
    let runs = every_hold();
    for (expected, run) in &runs {
        assert_eq!(run.hold().as_ref().map(name), Some(*expected));
    }
    insta::assert_snapshot!("holds", lines(&runs, Lang::English, &github()));
    insta::assert_snapshot!("holds_on_gitlab", lines(&runs, Lang::English, &gitlab()));
    insta::assert_snapshot!("holds_in_japanese", lines(&runs, Lang::Japanese, &github()));
}

#[test]
fn what_it_works_on_is_said() {
    let mut open = run();
    open.goal.iter_mut().for_each(|goal| goal.design_choices_open = true);
    let mut rethinking = asking(Round { closed: true, ..round() });
    rethinking.talk.rethink = true;
    let mut reading = asking(round());
    reading.talk.unread = vec![Words { by: maria(), permission: Permission::Write, comment: CommentId(1) }];
    let accepted = Design { summary: Some("x".to_owned()), approved: Some(maria()), ..decided_design() };
    let mut partial = revised_once();
    partial.revisions.iter_mut().for_each(|plan| plan.sequence = None);
    partial.revisions.iter_mut().for_each(|plan| plan.sealed = vec![action(1, "task_1")]);
    let mut approved = put_up();
    let by = |by| Approval { by: Some(by), actions: [].into(), at: at(3) };
    approved.revisions.iter_mut().for_each(|plan| {
        (plan.approvals, plan.undecided) = (vec![by(maria()), by(joao()), by(maria())], vec![]);
    });
    let ground = approved.revisions[0].ground.clone();
    assert!(ground.is_some(), "it is being carried out");
    let runs = [
        ("the goal", Run { goal: None, ..run() }),
        ("the steps", run()),
        ("the design, wanted", open),
        ("the design, after questions", designing(None)),
        ("the design, decided", designing(Some(decided_design()))),
        ("the design, accepted", designing(Some(accepted))),
        ("the goal again", rethinking),
        ("answers", reading),
        ("another way", at_limit(Some(3), false)),
        ("the actions", partial),
        ("the preview", Run { revisions: vec![plan(&[("task_1", "Read")], 1)], ..run() }),
        ("the work", revised_once()),
        ("the work that was approved", approved),
        ("the delivery", Run { executed: true, ..revised_once() }),
    ];
    insta::assert_snapshot!("at_work", lines(&runs, Lang::English, &github()));
    insta::assert_snapshot!("at_work_in_japanese", lines(&runs, Lang::Japanese, &github()));
}

fn ended(run: Run, state: EndState) -> Run {
    Run { end: Some(End { state, at: at(60) }), ..run }
}

fn delivered(change: Option<&str>, url: Option<&str>) -> Run {
    let change = change.map(|thread| thread.parse().expect("a thread"));
    let (branch, url) = ("planwright/12-greet".to_owned(), url.map(str::to_owned));
    let delivery = Some(Delivery { branch, commit: Some("a1b2c3d4".to_owned()), change, url });
    ended(Run { delivery, ..revised_once() }, EndState::Completed)
}

/// Its work is on a branch; of two commits the last one is pushed, or not.
pub(super) fn on_a_branch(pushed: bool) -> Run {
    let mut run = revised_once();
    let place = Place { branch: "planwright/12-greet".to_owned(), into: Some("main".to_owned()) };
    run.revisions.iter_mut().for_each(|plan| plan.place = Some(place.clone()));
    let push = |(id, work): (&ActionId, &crate::planning::Work)| {
        let mut work = work.clone();
        work.ended.iter_mut().for_each(|ended| ended.evidence.pushed = Some(pushed));
        (id.clone(), work)
    };
    run.work = run.work.iter().map(push).collect();
    run
}

/// A new end does not compile until it has a name here; it belongs into the list below as well.
fn end_name(state: &EndState) -> &'static str {
    match state {
        EndState::Completed => "completed",
        EndState::Cancelled { .. } => "cancelled",
        EndState::Stopped { why: StopReason::Unassigned, .. } => "unassigned",
        EndState::Stopped { why: StopReason::Unlabelled, .. } => "unlabelled",
        EndState::Stopped { why: StopReason::Closed, .. } => "closed",
        EndState::Failed { .. } => "failed",
    }
}

/// Nothing of it is left for another run.
fn without_rest(mut run: Run) -> Run {
    run.skipped.insert(StepId("task_4".to_owned()), maria());
    run
}

fn every_end() -> Vec<(&'static str, Run)> {
    let stopped = |why| ended(revised_once(), EndState::Stopped { by: maria(), why });
    let failed = |reason: &str| EndState::Failed { reason: reason.to_owned() };
    let url = Some("https://forge.example/acme/web/pull/13");
    vec![
        ("completed", without_rest(delivered(Some("github:acme/web#13"), url))),
        ("completed", without_rest(delivered(Some("github:acme/web#13"), None))),
        ("completed", without_rest(delivered(None, None))),
        ("completed", without_rest(ended(on_a_branch(true), EndState::Completed))),
        ("completed", delivered(Some("github:acme/web#13"), url)),
        ("completed", ended(run(), EndState::Completed)),
        ("cancelled", ended(revised_once(), EndState::Cancelled { by: maria() })),
        ("unassigned", stopped(StopReason::Unassigned)),
        ("unlabelled", stopped(StopReason::Unlabelled)),
        ("closed", stopped(StopReason::Closed)),
        ("failed", ended(run(), failed("I could not read this thread."))),
        ("failed", ended(revised_once(), failed("Action 2 failed: it ended with exit code 1"))),
        ("failed", ended(revised_once(), failed("Action 2 failed: no library, ask @joao"))),
    ]
}

#[test]
fn every_end_has_its_sentence() {
    let runs = every_end();
    for (expected, run) in &runs {
        assert_eq!(run.end.as_ref().map(|end| end_name(&end.state)), Some(*expected));
    }
    insta::assert_snapshot!("ends", lines(&runs, Lang::English, &github()));
    insta::assert_snapshot!("ends_on_gitlab", lines(&runs, Lang::English, &gitlab()));
    insta::assert_snapshot!("ends_in_japanese", lines(&runs, Lang::Japanese, &github()));
}

/// `/status` says the same, with the plan in numbers.
#[test]
fn the_status_can_be_asked_for() {
    let answer = |run: &Run, lang: Lang| {
        let owed =
            Owed::Reply { key: Key("k".to_owned()), to: "maria".to_owned(), notice: Notice::StatusAsked };
        let mut record = Record::default();
        record.run = Some(Run { lang, ..run.clone() }.into());
        reply(&owed, &record, &github()).unwrap_or_default()
    };
    let one = Run { revisions: vec![plan(&[("task_1", "Read")], 1)], ..run() };
    let through = super::fixtures::worked(one.clone(), &[(1, super::fixtures::done(2, "a1b2c3d4e5"))]);
    let runs = [run(), one, through, revised_once()];
    let said = [Lang::English, Lang::Japanese]
        .map(|lang| runs.iter().map(|run| answer(run, lang)).collect::<Vec<_>>().join("\n\n"));
    insta::assert_snapshot!("asked_for", said.join("\n\n"));
}

/// Money or calls are always shown; whatever else is limited, once half of it is used.
#[test]
fn what_is_limited_is_shown_in_time() {
    let limits = Limits {
        micro_usd: Some(2_000_000),
        tokens: Some(1_500),
        model_calls: Some(14),
        minutes: Some(5),
        files: Some(6),
        bytes: Some(4_000),
    };
    let ample = Limits {
        tokens: Some(50_000),
        model_calls: Some(200),
        minutes: Some(120),
        files: Some(30),
        bytes: Some(5_000_000),
        ..limits.clone()
    };
    let spent = Spent {
        model_calls: 7,
        input_tokens: 900,
        output_tokens: 100,
        cost_micro_usd: Some(250_000),
        active_ms: 180_000,
        files: 3,
        bytes: 1_001,
    };
    let said =
        |budget: &Limits, spent: &Spent| cost(&Run { budget: budget.clone(), spent: spent.clone(), ..run() });
    let unpriced = Spent { cost_micro_usd: None, ..spent.clone() };
    assert_eq!(
        said(&limits, &spent),
        " · 0.25 of 2.00 USD · 7 of 14 model calls · 1000 of 1500 tokens · 3 of 5 minutes · 3 of 6 files · 2 of 4 KB"
    );
    assert_eq!(
        said(&limits, &unpriced),
        " · 7 of 14 model calls · 1000 of 1500 tokens · 3 of 5 minutes · 3 of 6 files · 2 of 4 KB"
    );
    assert_eq!(said(&ample, &spent), " · 0.25 of 2.00 USD");
    assert_eq!(said(&ample, &unpriced), " · 7 of 200 model calls");
    assert_eq!(said(&Limits::default(), &spent), " · 0.25 USD");
    assert_eq!(said(&Limits::default(), &unpriced), " · 7 model calls");
    assert_eq!(said(&limits, &Spent::default()), "", "what is not used is not shown");
}

/// What it cost, in the fewest words that are true.
#[test]
fn what_it_cost_is_said() {
    let said = |calls, micro, limit, lang| {
        let spent = Spent { model_calls: calls, cost_micro_usd: micro, ..Spent::default() };
        let budget = Limits { micro_usd: limit, model_calls: Some(200), ..Limits::default() };
        cost(&Run { spent, budget, lang, ..run() })
    };
    for (calls, micro, limit, english, japanese) in [
        (0, None, None, "", ""),
        (3, Some(0), None, "", ""),
        (3, Some(9_999), None, " · under 0.01 USD", " · 0.01 USD 未満"),
        (3, Some(9_999), Some(2_000_000), " · under 0.01 of 2.00 USD", " · 2.00 USD 中 0.01 USD 未満"),
        (3, Some(250_000), Some(2_000_000), " · 0.25 of 2.00 USD", " · 0.25 / 2.00 USD"),
        (1, None, None, " · 1 model call", " · モデル呼び出し 1 回"),
        (7, None, None, " · 7 of 200 model calls", " · モデル呼び出し 200 回中 7 回"),
    ] {
        assert_eq!(said(calls, micro, limit, Lang::English), english);
        assert_eq!(said(calls, micro, limit, Lang::Japanese), japanese);
    }
}
