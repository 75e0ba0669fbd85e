//! Purpose: properties of the fold, for any journal with any facts: those that people, models and the engine make, and
//! those that only a damaged or foreign one could hold.

use std::collections::BTreeSet;

use planwright::actions::{Finding, Found, Ground};
use planwright::domain::{Account, ForgeKind, Millis};
use planwright::plan::StepId;
use planwright::planning::{
    Effect, Entry, Fact, Hold, InFlight, Key, Outcome, Place, Policy, Question, Record, Run, RunId,
    StepState, Work, keeps, next_effects, plan_tool,
};
use planwright::render::{self, Voice};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::any_fact::{SHAPES, fits, kind_of, named, thrown};

/// One page of a tale.
#[derive(Debug, Clone)]
enum Page {
    /// Whatever the dice say, for whichever run.
    Anything { kind: usize, run: Option<&'static str>, dice: Vec<u8> },
    /// The newest run goes on: what it wants next comes to something, or people settle what it waits for.
    GoesOn { dice: Vec<u8> },
}

fn any_page() -> impl Strategy<Value = Page> {
    let dice = || prop::collection::vec(any::<u8>(), 0..30);
    let run = prop_oneof![8 => Just(Some("r1")), 1 => Just(Some("r2")), 1 => Just(None)];
    let kind = 0..SHAPES.len();
    prop_oneof![
        2 => (kind, run, dice()).prop_map(|(kind, run, dice)| Page::Anything { kind, run, dice }),
        3 => dice().prop_map(|dice| Page::GoesOn { dice }),
    ]
}

/// Most tales begin with somebody who wants something; else few of them would lead anywhere.
fn any_tale() -> impl Strategy<Value = Vec<Page>> {
    let begin = Page::Anything { kind: kind_of("triggered"), run: Some("r1"), dice: vec![] };
    (prop::bool::weighted(0.9), prop::collection::vec(any_page(), 0..60))
        .prop_map(move |(begins, pages)| begins.then(|| begin.clone()).into_iter().chain(pages).collect())
}

/// The journal that a tale tells. What a page says depends on the run as it is by then.
fn journal(tale: &[Page]) -> Vec<Entry> {
    let mut record = Record::default();
    let mut journal: Vec<Entry> = vec![];
    for page in tale {
        for (run, fact) in told(&record, page) {
            let seq = i64::try_from(journal.len()).unwrap();
            let entry = Entry { seq, at: Millis(seq * 1_000), run, fact };
            record.apply(&entry);
            journal.push(entry);
        }
    }
    journal
}

fn told(record: &Record, page: &Page) -> Vec<(Option<RunId>, Fact)> {
    match page {
        Page::Anything { kind, run, dice } => {
            let fact = fits(&thrown(*kind, dice), &awaited(record).0, &json!({}));
            vec![(run.map(|run| RunId(run.to_owned())), fact)]
        }
        Page::GoesOn { dice } => {
            let Some(run) = record.live_run() else { return vec![] };
            let wanted = next_effects(run, &InFlight::new(), &Policy::default());
            let nth = usize::from(dice.first().copied().unwrap_or(0));
            let facts = match wanted.get(nth % wanted.len().max(1)) {
                Some(effect) => come_to(run, effect, dice),
                None => settle(run, dice),
            };
            facts.into_iter().map(|fact| (Some(run.id.clone()), fact)).collect()
        }
    }
}

fn awaited(record: &Record) -> Key {
    let Some(run) = record.live_run() else { return Key("nothing".to_owned()) };
    let wanted = next_effects(run, &InFlight::new(), &Policy::default());
    wanted.last().map_or_else(|| run.key(), |effect| effect.key().clone())
}

/// What an effect may come to, well or badly.
fn come_to(run: &Run, effect: &Effect, dice: &[u8]) -> Vec<Fact> {
    let made = |name: &str, values: Value| {
        let mut values = values;
        values["key"] = json!(effect.key());
        vec![fits(&named(name, dice), "", &values)]
    };
    match effect {
        Effect::Ask { question, .. } => {
            let answer = made(answer_to(*question), about(run, effect.key()));
            std::iter::once(Fact::AskBegun { key: effect.key().clone() }).chain(answer).collect()
        }
        Effect::Preflight { key } => preflight(run, key),
        Effect::Begin { action, .. } => {
            let spec = run.plan().and_then(|plan| plan.specs.get(action));
            made("action_begun", json!({"action": action, "digest": spec.map_or("d1", |spec| &spec.digest)}))
        }
        Effect::Act { action, .. } => made("action_ended", json!({"action": action})),
        Effect::Use { action, call, .. } => {
            let name =
                if matches!(call, planwright::plan::Call::Finish { .. }) { "action_ended" } else { "used" };
            made(name, json!({"action": action}))
        }
        Effect::Merge { step, .. } => {
            let fell = dice.last().is_some_and(|die| die % 4 == 0);
            made(if fell { "step_conflicted" } else { "step_merged" }, json!({"step": step}))
        }
        Effect::Escalate { plea, .. } => {
            vec![Fact::Crew(planwright::planning::CrewFact::Escalated(plea.clone()))]
        }
        Effect::Deliver { .. } => made("delivered", json!({})),
        Effect::Wait { key, .. } => vec![Fact::TimerFired { key: key.clone() }],
        Effect::Note { facts, .. } => facts.clone(),
    }
}

/// What an answer has to be about, so that it is an answer to what was asked.
fn about(run: &Run, key: &Key) -> Value {
    let mut about = json!({});
    if let Some((step, _)) = run.lane_awaiting(key) {
        about["step"] = json!(step);
    }
    if let Some(action) = run.action_awaiting(key) {
        about["action"] = json!(action.id);
    }
    if let Some(words) = run.talk.unread.first() {
        about["comment"] = json!(words.comment);
    }
    about
}

fn answer_to(question: Question) -> &'static str {
    match question {
        Question::ReadDocument | Question::Decompose => "decomposed",
        Question::Understand => "goal_understood",
        Question::Sequence => "sequenced",
        Question::Work => "worked",
        Question::Judge => "step_judged",
        Question::Advise => "advice_given",
        Question::Reflect => "reflected",
        Question::Discover => "questions_found",
        Question::MapAnswers => "answers_mapped",
        Question::Design => "decisions_found",
        Question::Summarise => "design_summarised",
        Question::Decide => "decision_given",
        Question::Revise => "revision_made",
        Question::Evaluate => "evaluated",
        Question::OtherWay => "alternative_given",
    }
}

fn preflight(run: &Run, key: &Key) -> Vec<Fact> {
    let nothing = Finding { found: Found::Nothing, tool: None, forbidden: None };
    let ground = Ground {
        thread: "t".to_owned(),
        base: "b".to_owned(),
        settings: "s".to_owned(),
        expires: Millis(i64::MAX),
    };
    let place = Place { branch: "planwright/1".to_owned(), into: Some("main".to_owned()) };
    let findings = vec![nothing; run.plan().map_or(0, |plan| plan.open_actions().count())];
    let set = plan_tool::set_action_specs(run, &findings, ground, place);
    set.map(|(_, fact)| fits(&fact, "", &json!({"key": key}))).into_iter().collect()
}

/// What people say to what a run waits for.
fn settle(run: &Run, dice: &[u8]) -> Vec<Fact> {
    let made = |name: &str, values: Value| vec![fits(&named(name, dice), "", &values)];
    let by = Account::person(2, "p2");
    match run.hold() {
        None => vec![],
        Some(Hold::Paused(_) | Hold::Unclear(_)) => made("resumed", json!({})),
        Some(Hold::Retry(retry)) => vec![Fact::TimerFired { key: retry.key.clone() }],
        Some(Hold::Answers(round)) => {
            let answers = round.questions.iter().map(|asked| json!({"question": asked.id, "answer": "All"}));
            made("answered", json!({"answers": answers.collect::<Vec<_>>(), "withdrawn": []}))
        }
        Some(Hold::Decisions(design)) => {
            let open = design.open_decisions();
            let choose = |point: &&planwright::plan::DecisionPoint| {
                made("chosen", json!({"decision": point.id, "option": "opt-a"}))
            };
            open.iter().flat_map(choose).collect()
        }
        Some(Hold::Review(_)) => made("design_approved", json!({})),
        Some(Hold::Confirm(replan)) => made("replan_confirmed", json!({"replan_id": replan.id})),
        Some(Hold::Limit(_)) => made("limit_settled", json!({})),
        Some(Hold::Approval(request)) => {
            let named = request.wanted.values().map(|w| json!({"id": w.id, "digest": w.digest}));
            let actions: Vec<Value> = named.collect();
            let values = json!({"request": request.number, "actions": actions, "left_out": [], "by": by});
            made("approved", values)
        }
        Some(Hold::Escalation(asked)) => made("escalation_resolved", json!({"number": asked.number})),
        Some(Hold::Budget(_)) => made("budget_raised", json!({})),
    }
}

/// The properties are worth as much as the tales: some of them have to get to the end, by all the ways there are.
#[test]
fn tales_lead_far() {
    let mut runner = TestRunner::deterministic();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for _ in 0..400 {
        let tale = any_tale().new_tree(&mut runner).unwrap().current();
        let mut record = Record::default();
        for entry in journal(&tale) {
            record.apply(&entry);
            seen.extend(record.run.iter().flat_map(|run| passed(run)));
        }
    }
    let all = [
        "a plan",
        "a question",
        "a design",
        "an approval",
        "two at work",
        "a failure",
        "a judgement",
        "a call for help",
        "another plan",
        "completed",
        "cancelled",
        "stopped",
        "failed",
    ];
    assert_eq!(seen, BTreeSet::from(all));
}

/// What a run has come through.
fn passed(run: &Run) -> Vec<&'static str> {
    let plan = run.plan();
    let failed =
        |work: &Work| matches!(work.ended.as_ref().map(|ended| &ended.outcome), Some(Outcome::Failed { .. }));
    [
        plan.is_some_and(|plan| !plan.specs.is_empty()).then_some("a plan"),
        (!run.talk.rounds.is_empty()).then_some("a question"),
        run.talk.design.is_some().then_some("a design"),
        plan.is_some_and(|plan| !plan.approvals.is_empty()).then_some("an approval"),
        (run.current_actions().count() > 1).then_some("two at work"),
        run.work.values().any(failed).then_some("a failure"),
        run.crew.steps.values().any(|taken| taken.judged.is_some()).then_some("a judgement"),
        (!run.crew.escalations.is_empty()).then_some("a call for help"),
        (run.revisions.len() > 1).then_some("another plan"),
        run.end.as_ref().map(|end| end.state.as_str()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// All that a ticked step needs of what it was last planned with has been done.
fn lacks_nothing(run: &Run) -> bool {
    let Some(plan) = run.plan() else { return true };
    let is_done = |step: &StepId| matches!(run.step_state(plan, step), StepState::Done(_));
    let mut needed = plan.open_actions().filter(|action| !action.optional && is_done(&action.task_id));
    needed.all(|action| run.work.get(&action.id).is_some_and(|work| work.ended.is_some()))
}

proptest! {
    /// Folding never fails, is deterministic, and folding step by step is folding at once.
    #[test]
    fn any_prefix_of_any_journal_folds(tale in any_tale()) {
        let journal = journal(&tale);
        let mut grown = Record::default();
        for end in 0..=journal.len() {
            let at_once = Record::fold(&journal[..end]);
            prop_assert_eq!(&at_once, &grown);
            if let Some(entry) = journal.get(end) {
                grown.apply(entry);
            }
        }
    }

    /// What the journal says can be shown, and what follows from it is the same whoever asks.
    #[test]
    fn whatever_was_folded_can_be_gone_on_with_and_shown(tale in any_tale()) {
        let voice = Voice { forge: ForgeKind::Github, bot_login: "planwright".to_owned() };
        let mut record = Record::default();
        for entry in journal(&tale) {
            record.apply(&entry);
            let Some(run) = &record.run else { continue };
            let wanted = next_effects(run, &InFlight::new(), &Policy::default());
            prop_assert_eq!(&wanted, &next_effects(run, &InFlight::new(), &Policy::default()));
            let card = render::card(run, &voice);
            prop_assert!(card.is_some() || run.goal.is_none(), "a run with a goal has a card");
            prop_assert!(card.is_none_or(|card| card.len() < 65_536));
            prop_assert!(lacks_nothing(run), "a box is ticked although something of its step was not done");
        }
    }

    #[test]
    fn a_run_that_has_ended_has_no_effects_and_stays_ended(tale in any_tale()) {
        let mut record = Record::default();
        let mut ended: Option<RunId> = None;
        for entry in &journal(&tale) {
            record.apply(entry);
            let Some(run) = &record.run else { continue };
            if !run.is_live() {
                prop_assert!(next_effects(run, &InFlight::new(), &Policy::default()).is_empty());
                prop_assert!(!keeps(run, &run.key()));
                prop_assert!(run.lanes.iter().all(|(step, lane)| !keeps(run, &lane.key(&run.id, step))));
                prop_assert!(run.crew.open().next().is_none(), "nobody is asked for help any more");
                ended = Some(run.id.clone());
            } else if ended.as_ref() == Some(&run.id) {
                prop_assert!(matches!(entry.fact, Fact::Triggered { .. }), "only a trigger starts a run again");
                ended = None;
            }
        }
    }

    /// What is written comes back: every fact survives its JSON.
    #[test]
    fn facts_survive_their_line(kind in 0..SHAPES.len(), dice in prop::collection::vec(any::<u8>(), 0..40)) {
        let fact = thrown(kind, &dice);
        let line = serde_json::to_string(&fact).unwrap();
        let entry = Entry::from_line(1, Millis(0), None, &line).unwrap();
        prop_assert_eq!(entry.fact, fact);
    }
}
