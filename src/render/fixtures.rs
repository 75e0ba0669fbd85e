//! Purpose: runs in all the states that a comment can be about, for the tests of this room.

use super::Voice;
use crate::domain::{Account, ForgeKind, Millis, Permission};
use crate::plan::{
    Action, ActionId, ActionKind, ActionSpec, Complexity, DecisionPoint, DesignOption, Goal, Level, Question,
    QuestionId, QuestionKind, ReplanDecision, ReplanPhase, ReplanType, Step, StepId, Tradeoffs,
};
use crate::planning::{
    Assumption, Choice, Design, Ended, Evidence, Given, How, Origin, Outcome, Purpose, Replan, ReplanState,
    Revision, Round, Run, RunId, Sequence, Trigger, Verdict, Work,
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
    Revision {
        steps: steps.iter().map(|(id, text)| step(id, text)).collect(),
        sequence: Some(Sequence { actions, at: at(1) }),
        ..Revision::default()
    }
}

pub(super) fn origin(replan: u32, level: Level, minutes: i64) -> Option<Origin> {
    let reason = "The template engine is not there, ask @joao".to_owned();
    Some(Origin { replan, level, reason, at: at(minutes) })
}

pub(super) fn done(minutes: i64, commit: &str) -> Work {
    let evidence = Evidence { commit: Some(commit.to_owned()), ..Evidence::default() };
    let ended = Ended { outcome: Outcome::Succeeded, evidence, actual: String::new() };
    Work { begun_at: at(minutes), turns: vec![], refused: 0, ended: Some(ended) }
}

pub(super) fn failed(minutes: i64, why: &str) -> Work {
    let outcome = Outcome::Failed { why: why.to_owned() };
    let ended = Ended { outcome, evidence: Evidence::default(), actual: String::new() };
    Work { begun_at: at(minutes), turns: vec![], refused: 0, ended: Some(ended) }
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
        sequence: Some(Sequence { actions, at: at(12) }),
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
