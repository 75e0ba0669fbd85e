//! Purpose: people who speak in the middle of things: nothing of what they say is lost, and nothing is done in their name
//! that they did not ask for.

use planwright::domain::{CommentId, Millis, Permission};
use planwright::plan::{
    Decided, Level, OtherWay, Question as Asked, QuestionId, QuestionKind, ReplanType, StepId,
};
use planwright::planning::{
    AskProblem, Effect, Entry, Evidence, Fact, Hold, How, InFlight, Limits, OnLimit, Outcome, Policy,
    Purpose, Question, ReplanFact, ReplanPolicy, ReplanResult, ReplanState, Reply, Run, RunId, StepState,
    TalkFact, Trigger, Verdict, next_effects,
};

use crate::replans::{Play, Whim, look, maria, step, sure, usage};

pub(crate) fn whim(said: Decided, fails: bool) -> Whim {
    let (way, trouble, person) = (OtherWay::Nothing, None, None);
    Whim { said, open: false, fails, what: 1, way, trouble, asks: 0, decides: 0, person }
}

fn quiet() -> [Whim; 1] {
    [whim(Decided::Nothing, false)]
}

pub(crate) fn until(play: &mut Play<'_>, stop: impl Fn(&Run) -> bool) {
    for _ in 0..300 {
        if stop(play.run()) {
            return;
        }
        if !play.turn() {
            break;
        }
    }
    assert!(stop(play.run()), "{:?} {:?}", play.run().hold(), play.run().replans);
}

fn replan_asked() -> Fact {
    Fact::Replan(ReplanFact::ReplanAsked { by: maria(), why: "x".to_owned(), comment: None })
}

fn question(n: u8, assumption: Option<&str>) -> Asked {
    Asked {
        id: QuestionId(format!("q-{n}")),
        kind: QuestionKind::Scope,
        question: format!("which database {n}"),
        context: None,
        options: vec![],
        assumption: assumption.map(str::to_owned),
    }
}

fn asked(questions: Vec<Asked>, assumes: bool) -> Fact {
    let (why, wait_ms) = (String::new(), Some(1_000));
    let purpose = Purpose::Clarification;
    Fact::Talk(TalkFact::QuestionsAsked { round: 1, purpose, why, questions, wait_ms, assumes })
}

fn answered(questions: &[u8]) -> Fact {
    let reply = |n: &u8| Reply { question: QuestionId(format!("q-{n}")), answer: Some("no".to_owned()) };
    Fact::Talk(TalkFact::Answered {
        by: maria(),
        permission: Permission::Write,
        how: How::Numbered,
        answers: questions.iter().map(reply).collect(),
        withdrawn: vec![],
        comment: Some(CommentId(99_000_000)),
    })
}

/// Step 1 has two actions, step 2 has one.
fn three_actions(play: &mut Play<'_>) {
    until(play, |run| run.plan().is_some_and(|plan| !plan.steps.is_empty()));
    let (first, second) = (step(1), step(2));
    let actions = play.run().numbered(&[look(&first, 1), look(&first, 2), look(&second, 3)]);
    let key = play.run().key();
    play.note(Fact::Sequenced { key, actions, usage: usage(), replan: Decided::Nothing });
}

#[test]
fn a_step_that_is_half_done_is_not_done_after_a_replan() {
    let whims = quiet();
    let mut play = Play::new(&whims, Policy::default());
    three_actions(&mut play);
    until(&mut play, |run| run.work.values().any(|work| work.ended.is_some()));
    play.note(replan_asked());
    let before = play.run().revisions.len();
    until(&mut play, |run| run.revisions.len() > before);
    let (run, id) = (play.run(), StepId("task_1".to_owned()));
    let plan = run.plan().unwrap();
    assert_eq!(run.step_state(plan, &id), StepState::Waiting);
    assert!(run.sealed_steps(plan).is_empty(), "{:?}", run.sealed_steps(plan));
}

#[test]
fn a_wish_that_comes_while_an_action_runs_is_heard() {
    let whims = quiet();
    let mut play = Play::new(&whims, Policy::default());
    three_actions(&mut play);
    until(&mut play, |run| run.current_actions().next().is_some());
    play.note(replan_asked());
    until(&mut play, |run| run.end.is_some());
    assert_eq!(play.run().revisions.len(), 2);
}

/// Whether the old plan goes on after all is for people to say, not for a model or a setting.
#[test]
fn a_plan_that_a_person_wanted_and_that_cannot_be_made_waits_for_people() {
    let whims = quiet();
    let replan = ReplanPolicy { on_limit: OnLimit::Continue, ..ReplanPolicy::default() };
    let policy = Policy { replan, ..Policy::default() };
    let mut play = Play::new(&whims, policy.clone());
    three_actions(&mut play);
    until(&mut play, |run| run.work.values().any(|work| work.ended.is_some()));
    play.note(replan_asked());
    let before = play.run().revisions.len();
    until(&mut play, |run| run.revisions.len() > before);
    let key = play.run().key();
    let reason = "it cannot be read".to_owned();
    play.note(Fact::AskFailed { key, problem: AskProblem::Lasting, reason, usage: None, not_before: None });
    assert!(play.turn(), "what became of it is written down");
    assert!(matches!(play.run().hold(), Some(Hold::Limit(_))), "{:?}", play.run().hold());
    assert_eq!(next_effects(play.run(), &InFlight::new(), &policy), []);
}

/// What is said while an action runs is read when it has ended: until then the action keeps its name.
#[test]
fn words_are_read_between_actions() {
    let whims = quiet();
    let mut play = Play::new(&whims, Policy::default());
    three_actions(&mut play);
    until(&mut play, |run| run.current_actions().next().is_some());
    let key = play.run().key();
    let (by, permission, comment) = (maria(), Permission::Write, CommentId(8));
    play.note(Fact::Talk(TalkFact::WordsHeard { by, permission, comment }));
    let reads = |run: &Run| {
        let effects = next_effects(run, &InFlight::new(), &Policy::default());
        effects.iter().any(|effect| matches!(effect, Effect::Ask { question: Question::MapAnswers, .. }))
    };
    assert!(!reads(play.run()), "not now");
    assert_eq!(play.run().key(), key);
    until(&mut play, |run| run.current_actions().next().is_none());
    assert!(reads(play.run()), "but then");
}

#[test]
fn a_right_that_was_lost_is_not_believed_any_more() {
    let whims = quiet();
    let mut play = Play::new(&whims, Policy::default());
    three_actions(&mut play);
    let says =
        |permission, used| Fact::CommentArrived { by: maria(), permission, comment: CommentId(7), used };
    play.note(says(Permission::Write, true));
    assert_eq!(play.run().rights.get(&maria().id), Some(&Permission::Write));
    play.note(says(Permission::Read, false));
    assert_eq!(play.run().rights.get(&maria().id), None, "it is looked up again");
}

#[test]
fn a_late_answer_at_a_limit_costs_no_endless_calls() {
    let whims = [whim(Decided::Unreadable { why: "x".to_owned() }, true)];
    let mut play = Play::new(&whims, Policy::default());
    play.note(asked(vec![question(1, Some("yes"))], true));
    until(&mut play, |run| !run.talk.assumptions.is_empty());
    until(&mut play, |run| matches!(run.hold(), Some(Hold::Limit(_))));
    let before = play.run().spent.model_calls;
    play.note(answered(&[1]));
    let mut turns = 0;
    while turns < 100 && play.turn() {
        turns += 1;
    }
    assert!(turns < 20 && play.run().spent.model_calls <= before + 4, "{turns}");
    assert!(matches!(play.run().hold(), Some(Hold::Limit(_))), "{:?}", play.run().hold());
}

#[test]
fn a_review_cannot_be_passed_by_words_that_nobody_understood() {
    let whims = [Whim { open: true, ..whim(Decided::Nothing, false) }];
    let mut play = Play::new(&whims, Policy::default());
    until(&mut play, |run| run.goal.is_some());
    let key = play.run().key();
    let questions = vec![question(1, Some("yes"))];
    play.note(Fact::Talk(TalkFact::QuestionsFound { key, questions, usage: usage() }));
    until(&mut play, |run| run.talk.open_round().is_some());
    play.post();
    let comment = CommentId(77_000_000);
    play.note(Fact::Talk(TalkFact::WordsHeard { by: maria(), permission: Permission::Write, comment }));
    let key = play.run().key();
    play.note(Fact::Paused { by: maria(), comment: None });
    play.note(Fact::Talk(TalkFact::AnswersMapped { key, comment, answers: vec![], usage: usage() }));
    play.note(answered(&[1]));
    play.note(Fact::Resumed { by: maria(), comment: None });
    while play.turn() {}
    assert!(matches!(play.run().hold(), Some(Hold::Review(_))), "{:?}", play.run().hold());
    assert!(play.run().plan().is_none());
}

#[test]
fn a_decision_of_the_model_never_has_a_persons_authority() {
    let said = sure(0.05, ReplanType::GoalRevision);
    let whims = [whim(said.clone(), true)];
    let replan = ReplanPolicy { total: 0, ..ReplanPolicy::default() };
    let mut play = Play::new(&whims, Policy { replan, max_reflections: 0, ..Policy::default() });
    until(&mut play, |run| run.replans.fresh.as_ref().is_some_and(|fresh| fresh.failed.is_some()));
    let key = play.run().key();
    play.note(Fact::AskBegun { key: key.clone() });
    play.note(replan_asked());
    play.note(Fact::Replan(ReplanFact::DecisionGiven { key, said, usage: Some(usage()) }));
    let before = play.run().replans.all.len();
    until(&mut play, |run| run.replans.all.len() > before);
    let judged = play.run().replans.all.last().unwrap();
    assert_eq!(judged.verdict, Verdict::Replan { level: Level::Partial, sure: true });
    assert_eq!(judged.decision.reasoning, "x", "it is what the person asked for");
}

#[test]
fn all_contradictions_are_minded_not_only_the_first() {
    let whims = quiet();
    let mut play = Play::new(&whims, Policy::default());
    play.note(asked(vec![question(1, Some("yes")), question(2, Some("yes"))], true));
    until(&mut play, |run| run.talk.assumptions.len() == 2 && run.goal.is_some());
    let key = play.run().key();
    let resting = planwright::plan::Step { rests_on: vec!["A2".to_owned()], ..step(1) };
    let (steps, reasoning, replan) = (vec![resting], String::new(), Decided::Nothing);
    play.note(Fact::Decomposed { key, reasoning, steps, usage: usage(), replan });
    until(&mut play, |run| run.plan().is_some_and(|plan| plan.sequence.is_some()));
    play.note(answered(&[1, 2]));
    until(&mut play, |run| run.end.is_some());
    assert_eq!(play.run().revisions.len(), 2);
}

#[test]
fn a_replan_while_questions_are_open_assumes_nothing() {
    let whims = quiet();
    let replan = ReplanPolicy { assumes: false, ..ReplanPolicy::default() };
    let mut play = Play::new(&whims, Policy { replan, ..Policy::default() });
    play.note(asked(vec![question(1, None)], false));
    play.post();
    play.note(replan_asked());
    until(&mut play, |run| run.end.is_some());
    assert_eq!(play.run().talk.assumptions, []);
    assert_eq!(play.run().talk.new_questions(&[question(1, None)]).len(), 1, "it may be asked again");
}

#[test]
fn a_late_preview_of_an_old_plan_is_not_taken_for_that_of_the_new_one() {
    let whims = quiet();
    let mut play = Play::new(&whims, Policy { auto: None, ..Policy::default() });
    until(&mut play, |run| matches!(run.hold(), Some(Hold::Approval(_))));
    play.note(replan_asked());
    let before = play.run().revisions.len();
    until(&mut play, |run| run.revisions.len() > before && matches!(run.hold(), Some(Hold::Approval(_))));
    play.note(Fact::PreviewPosted { request: 1, comments: vec![CommentId(55)], unreadable: vec![] });
    assert!(play.run().awaits_preview());
}

#[test]
fn what_is_replanned_during_the_hand_over_is_handed_over_too() {
    let whims = quiet();
    let mut play = Play::new(&whims, Policy::default());
    let end = |play: &mut Play<'_>| {
        let (key, action) = {
            let action = play.run().current_actions().next().unwrap().0.id.clone();
            (play.run().key_of(&action), action)
        };
        let evidence = Evidence { commit: Some("c".to_owned()), ..Evidence::default() };
        let (expected, actual) = (String::new(), String::new());
        play.note(Fact::ActionEnded { key, action, outcome: Outcome::Succeeded, evidence, expected, actual });
    };
    until(&mut play, |run| run.current_actions().next().is_some());
    end(&mut play);
    until(&mut play, |run| run.executed);
    let key = play.run().key();
    play.note(replan_asked());
    play.note(Fact::Delivered { key, branch: "b".to_owned(), commit: None, change: None, url: None });
    let before = play.run().revisions.len();
    until(&mut play, |run| run.revisions.len() > before && run.current_actions().next().is_some());
    end(&mut play);
    until(&mut play, |run| run.executed);
    let next = next_effects(play.run(), &InFlight::new(), &Policy::default());
    assert!(matches!(next.as_slice(), [Effect::Deliver { .. }]), "{next:?}");
}

#[test]
fn a_retried_run_does_not_design_again() {
    let whims = [Whim { open: true, ..whim(Decided::Nothing, true) }];
    let replan = ReplanPolicy { enabled: false, ..ReplanPolicy::default() };
    let mut play = Play::new(&whims, Policy { replan, ..Policy::default() });
    until(&mut play, |run| matches!(run.hold(), Some(Hold::Review(_))));
    play.note(Fact::Talk(TalkFact::DesignApproved { by: maria(), comment: None }));
    until(&mut play, |run| run.end.is_some());
    let fact = Fact::Triggered {
        by: maria(),
        permission: Permission::Write,
        how: Trigger::Retried,
        event_at: None,
        comment: None,
        budget: Limits::default(),
        why: None,
        lang: planwright::domain::Lang::English,
    };
    let (seq, at) = (play.record.seq + 1, Millis(i64::MAX / 2));
    play.record.apply(&Entry { seq, at, run: Some(RunId("r2".to_owned())), fact });
    let next = next_effects(play.run(), &InFlight::new(), &Policy::default());
    let asks = matches!(next.as_slice(), [Effect::Ask { question: Question::Sequence, .. }]);
    assert!(asks, "{next:?}");
}

fn skips(step: &str) -> Fact {
    Fact::StepSkipped { by: maria(), step: StepId(step.to_owned()), comment: None }
}

#[test]
fn leaving_another_step_out_is_no_answer_to_a_confirmation() {
    for (step, asks) in [("task_1", false), ("task_2", true)] {
        let whims = [whim(sure(0.4, ReplanType::PartialReplan), true)];
        let mut play = Play::new(&whims, Policy::default());
        three_actions(&mut play);
        until(&mut play, |run| matches!(run.hold(), Some(Hold::Confirm(_))));
        play.note(skips(step));
        assert_eq!(matches!(play.run().hold(), Some(Hold::Confirm(_))), asks, "{step}");
        play.turn();
        assert!(play.run().end.is_none(), "{step}: {:?}", play.run().end);
    }
}

#[test]
fn where_no_step_is_open_there_are_no_actions_to_choose_anew() {
    let whims = quiet();
    let mut play = Play::new(&whims, Policy::default());
    until(&mut play, |run| {
        run.plan().is_some_and(|plan| {
            let done =
                |step: &planwright::plan::Step| matches!(run.step_state(plan, &step.id), StepState::Done(_));
            !plan.steps.is_empty() && plan.steps.iter().all(done)
        })
    });
    until(&mut play, |run| {
        let next = next_effects(run, &InFlight::new(), &Policy::default());
        matches!(next.as_slice(), [Effect::Ask { question: Question::Evaluate, .. }])
    });
    let key = play.run().key();
    let said = sure(0.9, ReplanType::ActionRegeneration);
    play.note(Fact::Replan(ReplanFact::Evaluated { key, said, usage: Some(usage()) }));
    play.turn();
    let replan = play.run().replans.all.last().unwrap();
    assert_eq!(replan.verdict, Verdict::Replan { level: Level::Partial, sure: true });
}

#[test]
fn a_summary_of_another_design_is_not_taken() {
    use planwright::plan::{DecisionPoint, DesignOption, Tradeoffs};
    let whims = [Whim { open: true, ..whim(Decided::Nothing, false) }];
    let mut play = Play::new(&whims, Policy::default());
    let asks = |question: Question| {
        move |run: &Run| {
            let next = next_effects(run, &InFlight::new(), &Policy::default());
            matches!(next.as_slice(), [Effect::Ask { question: asked, .. }] if *asked == question)
        }
    };
    until(&mut play, asks(Question::Design));
    let option = |id: &str| DesignOption {
        id: id.to_owned(),
        name: id.to_owned(),
        description: String::new(),
        tradeoffs: Tradeoffs::default(),
        recommendation: false,
    };
    let options = vec![option("opt-a"), option("opt-b")];
    let decisions = vec![DecisionPoint { id: "d-1".to_owned(), topic: "t".to_owned(), options }];
    let key = play.run().key();
    play.note(Fact::Talk(TalkFact::DecisionsFound { key, decisions, usage: usage() }));
    let choose = |option: &str| {
        Fact::Talk(TalkFact::Chosen {
            by: maria(),
            permission: Permission::Write,
            decision: "d-1".to_owned(),
            option: option.to_owned(),
            rationale: String::new(),
            comment: Some(CommentId(1)),
        })
    };
    play.note(choose("opt-a"));
    let key = play.run().key();
    play.note(Fact::AskBegun { key: key.clone() });
    play.note(choose("opt-b"));
    play.note(Fact::Talk(TalkFact::DesignSummarised { key, summary: "a".to_owned(), usage: usage() }));
    assert_eq!(play.run().talk.design.as_ref().unwrap().summary, None);
    assert!(asks(Question::Summarise)(play.run()));
}

#[test]
fn what_is_assumed_without_a_question_is_in_the_ledger() {
    let Decided::Decision { mut decision } = sure(0.9, ReplanType::None) else { unreachable!() };
    decision.replan_needed = false;
    decision.details.assumptions_to_make = vec!["one tenant".to_owned()];
    let whims = [whim(Decided::Decision { decision }, false)];
    let mut play = Play::new(&whims, Policy::default());
    until(&mut play, |run| run.plan().is_some());
    let assumed: Vec<&str> = play.run().talk.assumptions.iter().map(|known| known.text.as_str()).collect();
    assert_eq!(assumed, ["one tenant"]);
}

#[test]
fn what_nobody_may_be_asked_any_more_is_in_the_ledger() {
    let Decided::Decision { mut decision } = sure(0.9, ReplanType::ClarificationRequest) else {
        unreachable!()
    };
    decision.clarification_needed = true;
    decision.clarification_questions = vec![question(1, Some("SQLite"))];
    let whims = [whim(Decided::Decision { decision }, false)];
    let replan = ReplanPolicy { clarifications: 0, ..ReplanPolicy::default() };
    let mut play = Play::new(&whims, Policy { replan, ..Policy::default() });
    until(&mut play, |run| run.plan().is_some());
    let assumed: Vec<&str> = play.run().talk.assumptions.iter().map(|known| known.text.as_str()).collect();
    assert_eq!(assumed, ["which database 1 SQLite"]);
}

#[test]
fn another_try_has_a_result_too() {
    let whims = [whim(Decided::Nothing, true)];
    let mut play = Play::new(&whims, Policy { max_reflections: 0, ..Policy::default() });
    three_actions(&mut play);
    until(&mut play, |run| run.replans.fresh.as_ref().is_some_and(|fresh| fresh.failed.is_some()));
    let (key, said) = (play.run().key(), sure(0.9, ReplanType::Retry));
    play.note(Fact::Replan(ReplanFact::DecisionGiven { key, said, usage: Some(usage()) }));
    play.turn();
    let retry = play.run().replans.all.last().unwrap();
    assert_eq!(retry.level(), Some(Level::Retry));
    let next = next_effects(play.run(), &InFlight::new(), &Policy::default());
    let Some(Effect::Note { facts, .. }) = next.first() else { panic!("{next:?}") };
    let ended = matches!(
        &facts[..],
        [Fact::Replan(ReplanFact::ReplanEnded { result: ReplanResult::Success, executed: true, .. })]
    );
    assert!(ended, "{facts:?}");
}

#[test]
fn a_plan_in_the_making_is_told_when_another_comes_first() {
    let whims = quiet();
    let mut play = Play::new(&whims, Policy::default());
    until(&mut play, |run| run.plan().is_some_and(|plan| plan.sequence.is_some()));
    for _ in 0..2 {
        play.note(replan_asked());
        play.turn();
    }
    let states: Vec<bool> =
        play.run().replans.all.iter().map(|r| matches!(r.state, ReplanState::Failed { .. })).collect();
    assert_eq!(states, [true, false]);
    until(&mut play, |run| run.end.is_some());
    assert_eq!(play.run().replans.recorded.len(), 2);
}
