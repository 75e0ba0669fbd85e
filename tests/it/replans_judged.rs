//! Purpose: what follows from a decision about replanning, as tables: how sure it is, how often it was, how far it goes.

use planwright::domain::Millis;
use planwright::plan::{
    ActionId, Decided, Level, Question, QuestionId, QuestionKind, ReplanDecision, ReplanDetails, ReplanPhase,
    ReplanType, RevisionScope,
};
use planwright::planning::{
    Fresh, Limit, Purpose, Replan, ReplanPolicy, ReplanState, Revision, Round, Run, RunId, Sequence, Taken,
    Trigger, Verdict, judge, level_of,
};

use crate::replans::{look, maria, step, sure};

fn fresh(said: Decided, phase: ReplanPhase) -> Fresh {
    Fresh { phase, said, asked: false, failed: None, by: None, routed: false }
}

fn empty_run() -> Run {
    Run::new(RunId("r".to_owned()), maria(), Trigger::Assigned, Millis(0))
}

/// Replans that were carried out, each for a reason of its own.
fn done(phase: ReplanPhase, level: Level, times: usize) -> Vec<Replan> {
    let one = |n: usize| Replan {
        id: u32::try_from(n).unwrap(),
        phase,
        decision: ReplanDecision::default(),
        verdict: Verdict::Replan { level, sure: true },
        trigger: format!("trigger {n}"),
        failed: None,
        by: None,
        at: Millis(0),
        deadline: None,
        state: ReplanState::Done { at: Millis(0) },
    };
    (0..times).map(one).collect()
}

fn goes_to(level: Level) -> Verdict {
    Verdict::Replan { level, sure: true }
}

fn stands_at(level: Level, limit: Limit) -> Verdict {
    Verdict::Limit { level: Some(level), limit }
}

#[test]
fn confidence_has_four_bands() {
    let policy = ReplanPolicy::default();
    let says = |confidence: f64| {
        let fresh = fresh(sure(confidence, ReplanType::TaskRedecomposition), ReplanPhase::TaskDecomposition);
        judge(&empty_run(), &fresh, &policy)
    };
    let level = Level::Decomposition;
    for (confidence, verdict) in [
        (1.0, Verdict::Replan { level, sure: true }),
        (0.8, Verdict::Replan { level, sure: true }),
        (0.79, Verdict::Replan { level, sure: false }),
        (0.5, Verdict::Replan { level, sure: false }),
        (0.49, Verdict::Confirm { level }),
        (0.3, Verdict::Confirm { level }),
        (0.29, Verdict::Stay { why: "the model is not sure enough".to_owned() }),
        (0.0, Verdict::Stay { why: "the model is not sure enough".to_owned() }),
    ] {
        assert_eq!(says(confidence), verdict, "{confidence}");
    }
    let nobody = ReplanPolicy { ask_from: None, ..ReplanPolicy::default() };
    let asked = fresh(sure(0.4, ReplanType::GoalRevision), ReplanPhase::GoalUnderstanding);
    assert!(matches!(judge(&empty_run(), &asked, &nobody), Verdict::Stay { .. }));
    let off = ReplanPolicy { enabled: false, ..ReplanPolicy::default() };
    let certain = fresh(sure(1.0, ReplanType::GoalRevision), ReplanPhase::GoalUnderstanding);
    assert!(matches!(judge(&empty_run(), &certain, &off), Verdict::Stay { .. }));
}

#[test]
fn every_limit_has_its_number() {
    use ReplanPhase as P;
    let check = |phase: P, replan_type: ReplanType, level: Level, most: usize, limit: Limit| {
        for times in [most - 1, most] {
            let mut run = empty_run();
            run.replans.all = done(phase, level, times);
            let verdict = judge(&run, &fresh(sure(0.9, replan_type), phase), &ReplanPolicy::default());
            let expected = if times < most { goes_to(level) } else { stands_at(level, limit) };
            assert_eq!(verdict, expected, "{phase:?} {level:?} after {times}");
        }
    };
    check(P::GoalUnderstanding, ReplanType::GoalRevision, Level::Goal, 2, Limit::GoalRevisions);
    check(
        P::TaskDecomposition,
        ReplanType::TaskRedecomposition,
        Level::Decomposition,
        3,
        Limit::Redecompositions,
    );
    check(P::ActionSequence, ReplanType::ActionRegeneration, Level::Actions, 3, Limit::Regenerations);
    check(P::Execution, ReplanType::PartialReplan, Level::Partial, 2, Limit::PartialReplans);
    check(P::Reflection, ReplanType::PlanRevision, Level::Partial, 2, Limit::PlanRevisions);
    let mut run = empty_run();
    run.replans.all = [Level::Goal, Level::Decomposition, Level::Actions, Level::Partial, Level::Retry]
        .into_iter()
        .flat_map(|level| done(P::Execution, level, 2))
        .collect();
    let verdict = judge(
        &run,
        &fresh(sure(0.9, ReplanType::TaskRedecomposition), P::TaskDecomposition),
        &ReplanPolicy::default(),
    );
    assert_eq!(verdict, stands_at(Level::Decomposition, Limit::Total));
}

/// One action of one step, which has failed so often.
fn failing(failures: u32) -> Run {
    let mut run = empty_run();
    let steps = vec![step(1)];
    let sequence = Some(Sequence::new(&steps, vec![look(&steps[0], 1)], Millis(0)));
    run.crew.steps.insert(steps[0].id.clone(), Taken { failures, ..Taken::default() });
    run.revisions = vec![Revision { steps, sequence, ..Revision::default() }];
    run
}

fn failed(said: Decided) -> Fresh {
    Fresh { failed: Some(ActionId("a1".to_owned())), ..fresh(said, ReplanPhase::Execution) }
}

#[test]
fn a_failed_action_is_tried_again_as_often_as_the_settings_say() {
    let after = |retried: usize, most: u32, action: &str| {
        let mut run = failing(1);
        let of = |replan| Replan { failed: Some(ActionId(action.to_owned())), ..replan };
        run.replans.all = done(ReplanPhase::Execution, Level::Retry, retried).into_iter().map(of).collect();
        let policy = ReplanPolicy { action_retries: most, ..ReplanPolicy::default() };
        judge(&run, &failed(sure(0.9, ReplanType::Retry)), &policy)
    };
    for (retried, most) in [(0, 1), (1, 2), (2, 3)] {
        assert_eq!(after(retried, most, "a1"), goes_to(Level::Retry), "{retried} of {most}");
    }
    for (retried, most) in [(0, 0), (1, 1), (2, 2), (3, 3)] {
        let limit = stands_at(Level::Retry, Limit::ActionRetries);
        assert_eq!(after(retried, most, "a1"), limit, "{retried} of {most}");
    }
    assert_eq!(after(3, 1, "a2"), goes_to(Level::Retry), "tries of another action are not counted");
}

/// However often the settings let an action be tried: at its step's third failure the plan changes.
#[test]
fn a_step_that_failed_three_times_is_not_tried_again() {
    for (failures, level) in [(1, Level::Retry), (2, Level::Retry), (3, Level::Partial), (4, Level::Partial)]
    {
        let policy = ReplanPolicy { action_retries: 9, ..ReplanPolicy::default() };
        let verdict = judge(&failing(failures), &failed(sure(0.9, ReplanType::Retry)), &policy);
        assert_eq!(verdict, goes_to(level), "after {failures}");
    }
}

fn with_issues(replan_type: ReplanType, issues: &[&str]) -> Decided {
    let issues_found = issues.iter().map(|issue| (*issue).to_owned()).collect();
    let decision = ReplanDecision {
        replan_needed: true,
        confidence: 0.9,
        replan_type,
        issues_found,
        ..ReplanDecision::default()
    };
    Decided::Decision { decision: Box::new(decision) }
}

/// The same trouble in the same phase, whatever the model calls it first; after a failure what failed tells.
#[test]
fn the_same_trigger_leads_to_a_replan_only_so_often() {
    let roomy = ReplanPolicy { regenerations: 9, partial_replans: 9, ..ReplanPolicy::default() };
    let blind = ReplanPolicy { same_trigger: None, ..roomy.clone() };
    let after = |triggers: &[&str], fresh: &Fresh, level: Level, policy: &ReplanPolicy| {
        let mut run = failing(1);
        run.replans.all = done(fresh.phase, level, triggers.len());
        run.replans.all.iter_mut().zip(triggers).for_each(|(r, known)| r.trigger = (*known).to_owned());
        judge(&run, fresh, policy)
    };
    let named = fresh(
        with_issues(ReplanType::ActionRegeneration, &["No tool", "a cycle"]),
        ReplanPhase::ActionSequence,
    );
    let broken = failed(sure(0.9, ReplanType::PartialReplan));
    for (fresh, level, same, others) in [
        (
            &named,
            Level::Actions,
            "action sequence/3/a cycle; no tool",
            ["task decomposition/3/a cycle; no tool", "action sequence/3/a cycle"],
        ),
        (
            &broken,
            Level::Partial,
            "execution/2/read f1.md",
            ["execution/2/read f2.md", "execution/3/read f1.md"],
        ),
    ] {
        let limit = stands_at(level, Limit::SameTrigger);
        assert_eq!(after(&[same], fresh, level, &roomy), goes_to(level), "{same}: once before");
        assert_eq!(after(&[same, same], fresh, level, &roomy), limit, "{same}: twice before");
        assert_eq!(after(&[same, others[0], others[1]], fresh, level, &roomy), goes_to(level), "{others:?}");
        assert_eq!(after(&[same; 5], fresh, level, &blind), goes_to(level), "nobody looks for circles");
    }
    let again = failed(sure(0.9, ReplanType::Retry));
    let verdict = after(&["execution/1/read f1.md"; 2], &again, Level::Retry, &roomy);
    assert_eq!(verdict, goes_to(Level::Retry), "trying again has a limit of its own");
}

fn question(text: &str) -> Question {
    Question {
        id: QuestionId(text.to_owned()),
        kind: QuestionKind::Scope,
        question: text.to_owned(),
        context: None,
        options: vec![],
        assumption: None,
    }
}

fn round(number: u32) -> Round {
    Round {
        number,
        purpose: Purpose::Clarification,
        why: String::new(),
        questions: vec![question(&format!("What about {number}?"))],
        wait_ms: None,
        assumes: true,
        comment: None,
        deadline: None,
        overdue: false,
        reminded: false,
        asked_back: false,
        closed: true,
        withdrawn: false,
        seen: vec![],
    }
}

#[test]
fn the_goal_is_asked_about_only_so_often() {
    let asks = |rounds: u32, text: &str| {
        let mut run = empty_run();
        run.talk.rounds = (0..rounds).map(round).collect();
        let decision = ReplanDecision {
            replan_needed: true,
            confidence: 0.9,
            replan_type: ReplanType::ClarificationRequest,
            clarification_questions: vec![question(text)],
            ..ReplanDecision::default()
        };
        let said = Decided::Decision { decision: Box::new(decision) };
        judge(&run, &fresh(said, ReplanPhase::GoalUnderstanding), &ReplanPolicy::default())
    };
    let stays = |why: &str| Verdict::Stay { why: why.to_owned() };
    for (rounds, text, verdict) in [
        (0, "Which?", Verdict::Clarify),
        (1, "Which?", Verdict::Clarify),
        (2, "Which?", stays(Limit::Clarifications.words())),
        (1, "What about 0?", stays("all of that has been asked before")),
    ] {
        assert_eq!(asks(rounds, text), verdict, "{text} after {rounds}");
    }
}

#[test]
fn what_cannot_be_read_is_a_limit_only_after_a_failure() {
    let unreadable = || Decided::Unreadable { why: "nonsense".to_owned() };
    let policy = ReplanPolicy::default();
    let stays = Verdict::Stay { why: "the decision could not be read: nonsense".to_owned() };
    assert_eq!(judge(&empty_run(), &fresh(unreadable(), ReplanPhase::Execution), &policy), stays);
    let undecided = Verdict::Limit { level: None, limit: Limit::NoDecision };
    assert_eq!(judge(&failing(1), &failed(unreadable()), &policy), undecided);
}

#[test]
fn a_level_is_never_below_what_its_phase_can_redo() {
    let level = |replan_type, replan_level, target_phase, phase, failed| {
        let decision =
            ReplanDecision { replan_type, replan_level, target_phase, ..ReplanDecision::default() };
        level_of(&decision, phase, failed)
    };
    use ReplanPhase as P;
    for (given, expected) in [
        ((ReplanType::Retry, None, None, P::Execution, true), Some(Level::Retry)),
        ((ReplanType::Retry, None, None, P::Reflection, false), Some(Level::Partial)),
        ((ReplanType::PartialReplan, Some(Level::Goal), None, P::Execution, true), Some(Level::Goal)),
        ((ReplanType::FullReplan, None, None, P::Execution, true), Some(Level::Decomposition)),
        ((ReplanType::None, None, Some(P::ActionSequence), P::Execution, false), Some(Level::Actions)),
        ((ReplanType::Retry, None, None, P::TaskDecomposition, false), Some(Level::Decomposition)),
        ((ReplanType::None, None, None, P::Execution, true), None),
        ((ReplanType::Retry, None, Some(P::Execution), P::Execution, true), Some(Level::Retry)),
        (
            (ReplanType::PartialReplan, None, Some(P::TaskDecomposition), P::Execution, true),
            Some(Level::Decomposition),
        ),
        ((ReplanType::GoalRevision, None, Some(P::ActionSequence), P::Execution, true), Some(Level::Goal)),
        (
            (ReplanType::PartialReplan, Some(Level::Partial), Some(P::GoalUnderstanding), P::Execution, true),
            Some(Level::Partial),
        ),
    ] {
        assert_eq!(level(given.0, given.1, given.2, given.3, given.4), expected, "{given:?}");
    }
}

/// How much of the plan is wrong says how far to go back, unless the model names a level.
#[test]
fn a_major_revision_cuts_the_work_anew() {
    let level = |revision_scope, replan_level| {
        let decision = ReplanDecision {
            replan_type: ReplanType::PlanRevision,
            replan_level,
            details: ReplanDetails { revision_scope, ..ReplanDetails::default() },
            ..ReplanDecision::default()
        };
        level_of(&decision, ReplanPhase::Reflection, false)
    };
    for (scope, named, expected) in [
        (Some(RevisionScope::Major), None, Level::Decomposition),
        (Some(RevisionScope::Moderate), None, Level::Partial),
        (Some(RevisionScope::Minor), None, Level::Partial),
        (None, None, Level::Partial),
        (Some(RevisionScope::Major), Some(Level::Actions), Level::Actions),
        (Some(RevisionScope::Minor), Some(Level::Goal), Level::Goal),
    ] {
        assert_eq!(level(scope, named), Some(expected), "{scope:?} {named:?}");
    }
}
