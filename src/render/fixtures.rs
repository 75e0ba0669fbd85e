//! Purpose: runs in all the states that a comment can be about, for the tests of this room.

use super::Voice;
use crate::crew::{By, Cause, Checkout, Judgement, Target, Weighed};
use crate::domain::{Account, ForgeKind, Millis, Permission};
use crate::plan::{
    Action, ActionId, ActionKind, ActionSpec, Complexity, DecisionPoint, DesignOption, Goal, Level, Question,
    QuestionId, QuestionKind, ReplanDecision, ReplanPhase, ReplanType, Step, StepId, Tradeoffs,
};
use crate::planning::{
    AskProblem, Assumption, Choice, Design, Ended, Escalation, EscalationState, Evidence, Given, How, Key,
    Lane, Origin, Outcome, Purpose, Replan, ReplanState, Retry, Revision, Round, Run, RunId, Sequence, Taken,
    Trigger, Verdict, Work,
};

/// 2024-11-28 10:00 UTC, and minutes after it.
pub(super) fn at(minutes: i64) -> Millis {
    Millis(1_732_788_000_000).plus(minutes * 60_000)
}

pub(super) fn github() -> Voice {
    Voice { forge: ForgeKind::Github, bot_login: "planwright".to_owned() }
}

pub(super) fn gitlab() -> Voice {
    Voice { forge: ForgeKind::Gitlab, bot_login: "planwright".to_owned() }
}

pub(super) fn maria() -> Account {
    Account::person(2, "maria")
}

pub(super) fn joao() -> Account {
    Account::person(3, "joao")
}

pub(super) fn retry(reason: &str) -> Retry {
    let (key, reason) = (Key("k".to_owned()), reason.to_owned());
    Retry { key, failed_at: at(3), reason, problem: AskProblem::Passing, nth: 1, not_before: None }
}

pub(super) fn run() -> Run {
    let goal = Goal {
        main_objective: "Greet people by name".to_owned(),
        success_criteria: vec![],
        constraints: vec![],
        context: String::new(),
        design_choices_open: false,
    };
    Run { goal: Some(goal), ..Run::new(RunId("r-1".to_owned()), maria(), Trigger::Assigned, at(0)) }
}

pub(super) fn step(id: &str, description: &str) -> Step {
    Step {
        id: StepId(id.to_owned()),
        description: description.to_owned(),
        dependencies: vec![],
        estimated_complexity: Complexity::Low,
        required_tools: vec![],
        rests_on: vec![],
    }
}

pub(super) fn action(number: u32, step: &str) -> Action {
    Action {
        id: ActionId(format!("a{number}")),
        task_id: StepId(step.to_owned()),
        action_type: ActionKind::Write,
        tool: "write_file".to_owned(),
        purpose: format!("Write for {step}"),
        expected_outcome: String::new(),
        fallback_strategy: String::new(),
        spec: ActionSpec::default(),
        optional: false,
    }
}

/// A plan with one action for each step, numbered from `first` on.
pub(super) fn plan(steps: &[(&str, &str)], first: u32) -> Revision {
    let actions = steps.iter().zip(first..).map(|((id, _), number)| action(number, id)).collect();
    let steps: Vec<Step> = steps.iter().map(|(id, text)| step(id, text)).collect();
    let sequence = Some(Sequence::new(&steps, actions, at(1)));
    Revision { steps, sequence, ..Revision::default() }
}

pub(super) fn origin(replan: u32, level: Level, minutes: i64) -> Option<Origin> {
    let reason = "The template engine is not there, ask @joao".to_owned();
    Some(Origin { replan, level, reason, at: at(minutes) })
}

pub(super) fn done(minutes: i64, commit: &str) -> Work {
    let evidence = Evidence { commit: Some(commit.to_owned()), ..Evidence::default() };
    let ended = Ended { outcome: Outcome::Succeeded, evidence, actual: String::new() };
    Work { begun_at: at(minutes), turns: vec![], refused: 0, on_branch: true, ended: Some(ended) }
}

pub(super) fn failed(minutes: i64, why: &str) -> Work {
    let outcome = Outcome::Failed { why: why.to_owned() };
    let ended = Ended { outcome, evidence: Evidence::default(), actual: String::new() };
    Work { begun_at: at(minutes), turns: vec![], refused: 0, on_branch: true, ended: Some(ended) }
}

pub(super) fn worked(run: Run, works: &[(u32, Work)]) -> Run {
    let work = works.iter().map(|(number, work)| (ActionId(format!("a{number}")), work.clone()));
    Run { work: work.collect(), ..run }
}

/// Three steps: one done, one failed, one open. Then the rest is planned anew, and one step of that is done.
pub(super) fn revised_once() -> Run {
    let first = plan(&[("task_1", "Read the code"), ("task_2", "Use the engine"), ("task_3", "Test it")], 1);
    let steps = [("task_1", "Read the code"), ("task_4", "Write it by hand"), ("task_3", "Test it")];
    let next = plan(&steps, 4);
    let mut actions = next.sequence.map_or(vec![], |sequence| sequence.actions);
    actions.retain(|action| action.task_id.0 != "task_1");
    // What stays exactly as it was keeps its number.
    actions.iter_mut().filter(|a| a.task_id.0 == "task_3").for_each(|a| a.id = ActionId("a3".to_owned()));
    let second = Revision {
        origin: origin(1, Level::Partial, 10),
        sealed_steps: vec![StepId("task_1".to_owned())],
        sealed: vec![action(1, "task_1")],
        sequence: Some(Sequence::new(&next.steps, actions, at(12))),
        ..next
    };
    let work =
        [(1, done(2, "a1b2c3d4e5")), (2, failed(4, "`engine` is not there")), (3, done(20, "c0ffee1234"))];
    worked(Run { revisions: vec![first, second], ..run() }, &work)
}

/// Thereafter the work was cut into steps anew, under the same names.
pub(super) fn revised_twice() -> Run {
    let mut run = revised_once();
    let third = plan(&[("task_1", "Start from nothing"), ("task_2", "Finish")], 7);
    run.revisions.push(Revision { origin: origin(2, Level::Decomposition, 30), ..third });
    let more = (ActionId("a7".to_owned()), done(40, "beef567890"));
    run.work = run.work.iter().map(|(id, work)| (id.clone(), work.clone())).chain([more]).collect();
    run.skipped.insert(StepId("task_2".to_owned()), joao());
    run
}

/// Of two steps a part was approved, or could be done; of one all, and of another nothing.
pub(super) fn done_in_part() -> Run {
    let steps = [
        step("task_1", "Delete the old login"),
        step("task_2", "Read the code"),
        step("task_3", "Tell of it"),
        step("task_4", "Test it"),
    ];
    let of = ["task_1", "task_1", "task_2", "task_3", "task_3", "task_3", "task_4"];
    let actions = of.iter().zip(1..).map(|(step, number)| action(number, step)).collect();
    let lost = "it needs `task_4`, of which action 7 is left out";
    let refused = "@maria did not approve it";
    let left_out = [(1, refused), (5, lost), (6, lost), (7, refused)];
    let plan = Revision {
        sequence: Some(Sequence::new(&steps, actions, at(1))),
        steps: steps.into(),
        left_out: left_out.map(|(n, why)| (ActionId(format!("a{n}")), why.to_owned())).into(),
        ..Revision::default()
    };
    let work = [(2, done(2, "a1b2c3d4e5")), (3, done(3, "c0ffee1234")), (4, done(4, "beef567890"))];
    worked(Run { revisions: vec![plan], ..run() }, &work)
}

pub(super) fn replan(state: ReplanState) -> Replan {
    Replan {
        id: 1,
        phase: ReplanPhase::Execution,
        decision: ReplanDecision {
            replan_needed: true,
            confidence: 0.854,
            reasoning: "The engine is missing, see #12".to_owned(),
            replan_type: ReplanType::PartialReplan,
            issues_found: vec!["no engine".to_owned(), "- [x] **1** tests".to_owned()],
            recommended_actions: vec!["write it by hand".to_owned()],
            ..ReplanDecision::default()
        },
        verdict: Verdict::Replan { level: Level::Partial, sure: true },
        trigger: String::new(),
        failed: None,
        by: None,
        at: at(10),
        deadline: None,
        state,
    }
}

pub(super) fn question(number: u32, kind: QuestionKind, text: &str, options: &[&str]) -> Question {
    Question {
        id: QuestionId(format!("q-{number}")),
        kind,
        question: text.to_owned(),
        context: None,
        options: options.iter().map(|option| (*option).to_owned()).collect(),
        assumption: None,
    }
}

pub(super) fn round() -> Round {
    let first = question(1, QuestionKind::Scope, "Which pages greet?", &["The start page", "All of them"]);
    let second = question(2, QuestionKind::Technical, "Which engine, @joao?", &[]);
    let third = question(3, QuestionKind::Priority, "What comes first?", &["Speed", "Beauty"]);
    let context = Some("It decides how much is changed.".to_owned());
    Round {
        number: 1,
        purpose: Purpose::Clarification,
        why: "The issue does not say where people are greeted.".to_owned(),
        questions: vec![
            Question { context, assumption: Some("Only the start page".to_owned()), ..first },
            Question { assumption: Some("The one that is there".to_owned()), ..second },
            third,
        ],
        wait_ms: Some(30 * 60_000),
        assumes: true,
        comment: None,
        deadline: None,
        overdue: false,
        reminded: false,
        asked_back: false,
        closed: false,
        withdrawn: false,
        seen: vec![],
    }
}

pub(super) fn given(answer: Option<&str>) -> Given {
    let how = if answer.is_some() { How::Words } else { How::Skipped };
    Given { answer: answer.map(str::to_owned), by: maria(), permission: Permission::Write, how }
}

pub(super) fn assumption(number: u32, question: &str, text: &str) -> Assumption {
    Assumption { id: format!("A{number}"), question: QuestionId(question.to_owned()), text: text.to_owned() }
}

pub(super) fn design() -> Design {
    let option = |id: &str, name: &str, pros: &[&str], cons: &[&str]| DesignOption {
        id: id.to_owned(),
        name: name.to_owned(),
        description: format!("{name} does it | or not"),
        tradeoffs: Tradeoffs {
            pros: pros.iter().map(|text| (*text).to_owned()).collect(),
            cons: cons.iter().map(|text| (*text).to_owned()).collect(),
        },
        recommendation: id == "opt-b",
    };
    let options = vec![
        option("opt-a", "By hand", &["small", "`a|b` works"], &["slow to write"]),
        option("opt-b", "An engine", &["known"], &["one more dependency", "asks @joao"]),
    ];
    let point = |id: &str, topic: &str| DecisionPoint {
        id: id.to_owned(),
        topic: topic.to_owned(),
        options: options.clone(),
    };
    let decisions = vec![point("d-1", "How pages are made"), point("d-2", "How they are tested")];
    Design { decisions, ..Design::default() }
}

pub(super) fn choice(option: &str, rationale: &str) -> Choice {
    let (option, rationale) = (option.to_owned(), rationale.to_owned());
    Choice { option, rationale, by: joao(), permission: Permission::Triage }
}

pub(super) fn decided_design() -> Design {
    let choices = [("d-1", choice("opt-b", "we know it")), ("d-2", choice("opt-a", ""))];
    let choices = choices.map(|(id, choice)| (id.to_owned(), choice)).into();
    Design { choices, ..design() }
}

/// Five steps, of which the third builds on the second and the fourth on the third; the first is done.
pub(super) fn crewed() -> Run {
    let steps = [
        ("task_1", "Read the code"),
        ("task_2", "Add the token check"),
        ("task_3", "Test it"),
        ("task_4", "Tell of it"),
        ("task_5", "Correct the spelling"),
    ];
    let mut plan = plan(&steps, 1);
    plan.steps[2].dependencies = vec![StepId("task_2".to_owned())];
    plan.steps[3].dependencies = vec![StepId("task_3".to_owned())];
    let actions = plan.sequence.take().map_or(vec![], |sequence| sequence.actions);
    plan.sequence = Some(Sequence::new(&plan.steps, actions, at(1)));
    worked(Run { revisions: vec![plan], ..run() }, &[(1, done(2, "a1b2c3d4e5"))])
}

/// A question to people about `task_2`.
pub(super) fn stuck(cause: Cause) -> Escalation {
    Escalation {
        number: 2,
        cause,
        target: Target::People,
        step: Some(StepId("task_2".to_owned())),
        action: Some(ActionId("a2".to_owned())),
        issue: "The check needs `src/session.rs`, which is not part of the plan".to_owned(),
        tried: vec![
            "kept the token in the request".to_owned(),
            "the logic validator: put it into the session".to_owned(),
        ],
        suggestion: Some("Change `src/session.rs` as well".to_owned()),
        asked: vec!["maria".to_owned(), "joao".to_owned()],
        at: at(5),
        comment: None,
        unposted: None,
        remind_at: Some(at(245)),
        deadline: Some(at(1_445)),
        overdue: false,
        reminder: None,
        advice: None,
        state: EscalationState::Open,
    }
}

pub(super) fn in_state(state: EscalationState) -> Escalation {
    Escalation { state, deadline: None, ..stuck(Cause::Scope) }
}

pub(super) fn lane(worker: u32, attempt: u32) -> Lane {
    Lane::new(worker, Checkout::Own, attempt, at(3))
}

/// A step that the judge looked at, and sent back so often.
pub(super) fn judged(verdict: crate::crew::Verdict, rounds: u32) -> Taken {
    let reasons = vec!["there is no test".to_owned()];
    let judgement = Judgement { verdict, reasons, remarks: String::new(), contradiction: None };
    let judged = Some(Weighed { judgement, by: By::Judge, overruled: None });
    Taken { rounds, judged, ..Taken::default() }
}
