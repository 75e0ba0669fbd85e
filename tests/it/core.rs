//! Purpose: properties of the pure core, for any order of things that people and models do. Those of the fold alone are in
//! `journals.rs`.

use planwright::actions::{Finding, Found, Ground};
use planwright::crew::{Judgement, Verdict};
use planwright::domain::{
    Account, Comment, CommentId, Event, EventKind, Millis, Permission, Thread, ThreadRef,
};
use planwright::plan::{
    Action, ActionId, ActionKind, ActionSpec, Call, Complexity, Confidence, Decided, Feedback, Goal, Step,
    StepId,
};
use planwright::planning::{
    AskProblem, CrewFact, Effect, Entry, Evidence, Fact, Heard, InFlight, Key, Limits, Observation, Outcome,
    Place, Policy, Question, Record, ReplanFact, Rules, RunId, Trigger, interpret, judgement, keeps,
    needs_permission, needs_thread, next_effects, plan_tool,
};
use planwright::prompts::Usage;
use proptest::prelude::*;

/// In the play an hour goes by with every fact, so that nothing happens too often.
const HOUR_MS: i64 = 3_600_000;

fn bot() -> Account {
    Account::person(1, "planwright")
}

fn thread_ref() -> ThreadRef {
    "local:sample#1".parse().unwrap()
}

fn goal() -> Goal {
    Goal {
        main_objective: "Greet".to_owned(),
        success_criteria: vec![],
        constraints: vec![],
        context: String::new(),
        design_choices_open: false,
    }
}

fn step() -> Step {
    Step {
        id: StepId("task_1".to_owned()),
        description: "Do it".to_owned(),
        dependencies: vec![],
        estimated_complexity: Complexity::Low,
        required_tools: vec![],
        rests_on: vec![],
    }
}

/// Something that needs no approval, something that does, and something whose content is still open.
fn actions() -> Vec<Action> {
    let action = |n: u32, action_type, spec| Action {
        id: ActionId(format!("a{n}")),
        task_id: StepId("task_1".to_owned()),
        action_type,
        tool: "worker".to_owned(),
        purpose: "look".to_owned(),
        expected_outcome: "seen".to_owned(),
        fallback_strategy: String::new(),
        spec,
        optional: n == 3,
    };
    let file = |path: &str, content: Option<&str>| ActionSpec {
        path: Some(path.to_owned()),
        content: content.map(str::to_owned),
        ..ActionSpec::default()
    };
    vec![
        action(1, ActionKind::Analyze, ActionSpec::default()),
        action(2, ActionKind::Create, file("a.txt", Some("a"))),
        action(3, ActionKind::Write, file("b.txt", None)),
    ]
}

fn usage() -> Usage {
    Usage {
        model: "m".to_owned(),
        calls: 1,
        input_tokens: 10,
        output_tokens: 5,
        cost_micro_usd: Some(7),
        ms: 1,
    }
}

fn answer(key: Key, question: Question) -> Fact {
    let (usage, replan) = (usage(), Decided::Nothing);
    match question {
        Question::Understand => {
            Fact::GoalUnderstood { key, goal: goal(), usage, hidden: 0, before: None, replan }
        }
        Question::Decompose => {
            Fact::Decomposed { key, reasoning: String::new(), steps: vec![step()], usage, replan }
        }
        Question::Sequence => Fact::Sequenced { key, actions: actions(), usage, replan },
        Question::Work => {
            let feedback = Feedback::Exploration {
                findings: "seen".to_owned(),
                recommendations: vec![],
                confidence: Confidence::High,
            };
            Fact::Worked { key, action: ActionId("a1".to_owned()), call: Call::Finish { feedback }, usage }
        }
        Question::Reflect => Fact::Reflected { key, reflection: None, usage: Some(usage), replan },
        Question::Evaluate => Fact::Replan(ReplanFact::Evaluated { key, said: replan, usage: Some(usage) }),
        Question::Decide => Fact::Replan(ReplanFact::DecisionGiven { key, said: replan, usage: Some(usage) }),
        Question::ReadDocument
        | Question::Discover
        | Question::MapAnswers
        | Question::Design
        | Question::Summarise
        | Question::Revise
        | Question::Judge
        | Question::Advise
        | Question::OtherWay => unreachable!("this goal leaves nothing open, and nothing is replanned"),
    }
}

/// The digest of earlier runs stays short, however many there were and whatever they said.
#[test]
fn what_earlier_runs_came_to_is_bounded() {
    let mut record = Record::default();
    let mut tell = |run: usize, fact: Fact| {
        let seq = record.seq + 1;
        record.apply(&Entry { seq, at: Millis(seq), run: Some(RunId(format!("r{run}"))), fact });
    };
    let long = "very ".repeat(2_000);
    for run in 0..20 {
        tell(
            run,
            Fact::Triggered {
                by: Account::person(2, "maria"),
                permission: Permission::Write,
                how: Trigger::Replanned,
                event_at: None,
                comment: None,
                budget: Limits::default(),
                why: Some(format!("{run} {long}")),
                lang: planwright::domain::Lang::English,
            },
        );
        let goal = Goal { main_objective: format!("goal {run} {long}"), ..goal() };
        let key = Key(format!("r{run}/0/t0"));
        let replan = Decided::Nothing;
        tell(run, Fact::GoalUnderstood { key, goal, usage: usage(), hidden: 0, before: None, replan });
        tell(run, Fact::Failed { reason: long.clone() });
    }
    assert!(record.earlier.len() <= 5, "{}", record.earlier.len());
    assert!(record.earlier.iter().all(|digest| digest.chars().count() <= 1_600));
    let newest = record.earlier.iter().rev().take(2).map(String::as_str).collect::<Vec<_>>();
    assert!(newest[0].starts_with("Now @maria wants another plan: 19 "), "{newest:?}");
    assert!(newest[1].starts_with("A run for @maria: goal 18 "), "{newest:?}");
}

#[test]
fn a_fact_of_a_newer_version_is_refused_by_name() {
    let error = Entry::from_line(7, Millis(0), None, r#"{"type":"teleported","to":"mars"}"#).unwrap_err();
    assert!(error.to_string().starts_with("journal entry 7 of type `teleported` cannot be read"), "{error}");
}

/// Journals of older versions do not say when somebody may be asked again.
#[test]
fn a_failure_without_a_wish_is_read() {
    for (kind, more) in [("ask_failed", r#","usage":null"#), ("effect_failed", "")] {
        let line = format!(r#"{{"type":"{kind}","key":"k","problem":"passing","reason":"r"{more}}}"#);
        let entry = Entry::from_line(1, Millis(0), None, &line).unwrap();
        assert!(
            matches!(
                entry.fact,
                Fact::AskFailed { not_before: None, .. } | Fact::EffectFailed { not_before: None, .. }
            ),
            "{entry:?}"
        );
    }
}

/// A run that has asked its first question, and what it does after each of these failures: when it tries again.
fn waits_after(failures: &[(AskProblem, Option<i64>)]) -> (Record, Vec<Option<Millis>>) {
    let mut record = Record::default();
    let id = RunId("r1".to_owned());
    let apply = |record: &mut Record, fact| {
        let seq = record.seq + 1;
        record.apply(&Entry { seq, at: Millis(0), run: Some(id.clone()), fact });
    };
    let line = r#"{"type":"triggered","how":"assigned","by":{"id":2,"login":"p","kind":"person"},"comment":null,
                   "permission":"write","event_at":null,"budget":{}}"#;
    apply(&mut record, serde_json::from_str(line).unwrap());
    let mut waits = vec![];
    for (problem, not_before) in failures {
        let Some(run) = record.live_run() else { break };
        let key = run.key();
        apply(&mut record, Fact::AskBegun { key: key.clone() });
        let (problem, reason, not_before) = (*problem, "no".to_owned(), not_before.map(Millis));
        apply(&mut record, Fact::AskFailed { key, problem, reason, usage: None, not_before });
        let effects = record.live_run().map(|run| next_effects(run, &InFlight::new(), &Policy::default()));
        match effects.unwrap_or_default().pop() {
            Some(Effect::Wait { key, until }) => {
                waits.push(Some(until));
                apply(&mut record, Fact::TimerFired { key });
            }
            Some(Effect::Note { facts, .. }) => {
                waits.push(None);
                facts.into_iter().for_each(|fact| apply(&mut record, fact));
            }
            other => panic!("neither waits nor ends: {other:?}"),
        }
    }
    (record, waits)
}

#[test]
fn the_forge_is_waited_for_and_others_are_tried_a_few_times() {
    use AskProblem::{Away, Passing};
    let ms = |waits: &[i64]| waits.iter().map(|ms| Some(Millis(*ms))).collect::<Vec<_>>();
    let (record, waits) = waits_after(&[(Away, None); 8]);
    let ten_minutes = 600_000;
    let expected = [&[30_000, 120_000][..], &[ten_minutes; 6]].concat();
    assert_eq!(waits, ms(&expected));
    let run = record.live_run().expect("an outage ends no run");
    assert_eq!(run.spent.model_calls, 0, "the model was never asked");

    let hour = Some(HOUR_MS);
    let (record, waits) = waits_after(&[(Away, hour), (Away, None), (Passing, hour), (Passing, Some(5))]);
    assert_eq!(waits, ms(&[HOUR_MS, 120_000, HOUR_MS, 120_000]), "each kind has its own list");
    assert!(record.live_run().is_some());

    let (record, waits) =
        waits_after(&[(Passing, None), (Passing, None), (Away, None), (Passing, None), (Passing, hour)]);
    assert_eq!(waits, [ms(&[30_000, 120_000, 30_000, ten_minutes]), vec![None]].concat());
    assert!(record.live_run().is_none(), "what does not pass ends the run");
    assert_eq!(record.run.unwrap().spent.model_calls, 4);
}

/// What can happen next in a small world: people act, questions are answered or fail, timers fire.
#[derive(Debug, Clone)]
enum Happening {
    Event(i64, EventKind),
    Answer,
    Fail(AskProblem),
    StaleAnswer,
    Timer,
}

fn any_happening() -> impl Strategy<Value = Happening> {
    let said = |words: &'static str| {
        (any::<u16>(), 2_i64..5).prop_map(move |(id, by)| {
            let author = Account::person(by, "p");
            let comment = Comment {
                id: CommentId(i64::from(id)),
                author,
                body: words.to_owned(),
                created_at: None,
                edited: false,
                on: None,
            };
            Happening::Event(by, EventKind::CommentCreated { comment })
        })
    };
    prop_oneof![
        Just(Happening::Event(2, EventKind::Assigned { assignee: bot() })),
        Just(Happening::Event(4, EventKind::Assigned { assignee: bot() })),
        Just(Happening::Event(2, EventKind::Unassigned { assignee: bot() })),
        Just(Happening::Event(4, EventKind::Closed)),
        Just(Happening::Event(3, EventKind::Assigned { assignee: Account::person(3, "p") })),
        Just(Happening::Event(3, EventKind::Opened { assignees: vec![bot()], labels: vec![] })),
        Just(Happening::Event(3, EventKind::Opened { assignees: vec![], labels: vec!["go".to_owned()] })),
        Just(Happening::Event(3, EventKind::Labelled { label: "go".to_owned() })),
        Just(Happening::Event(3, EventKind::Labelled { label: "planwright:paused".to_owned() })),
        Just(Happening::Event(2, EventKind::Unlabelled { label: "go".to_owned() })),
        Just(Happening::Event(2, EventKind::Unlabelled { label: "planwright:paused".to_owned() })),
        Just(Happening::Event(3, EventKind::DescriptionEdited)),
        Just(Happening::Event(3, EventKind::Reopened)),
        said("/pause"),
        said("/resume"),
        said("/cancel"),
        said("/approve"),
        said("/approve"),
        said("/approve 2"),
        said("/approve 9"),
        said("/reject not like this"),
        said("/skip task_1"),
        said("/budget +1"),
        said("/retry"),
        said("/plan"),
        said("/status"),
        said("just words"),
        Just(Happening::Answer),
        Just(Happening::Answer),
        Just(Happening::Answer),
        Just(Happening::Fail(AskProblem::Passing)),
        Just(Happening::Fail(AskProblem::Away)),
        Just(Happening::Fail(AskProblem::Lasting)),
        Just(Happening::StaleAnswer),
        Just(Happening::Timer),
    ]
}

/// A thread on a desk, without the desk: events are interpreted, facts folded, effects kept in flight.
struct Play {
    record: Record,
    in_flight: Vec<Effect>,
    waits: Vec<Key>,
    seq: i64,
    started: Vec<Key>,
    assigned: bool,
    open: bool,
    labels: Vec<String>,
}

impl Play {
    fn tell(&mut self, facts: Vec<Fact>) {
        for fact in facts {
            self.seq += 1;
            let live = self.record.live_run().map(|run| run.id.clone());
            let run = if matches!(fact, Fact::Triggered { .. }) {
                assert_eq!(live, None, "two live runs on one thread");
                Some(RunId(format!("run-{}", self.seq)))
            } else {
                live
            };
            self.record.apply(&Entry { seq: self.seq, at: Millis(self.seq * 1_000), run, fact });
        }
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Event(by, kind) => self.event(by, kind),
            Happening::Answer => {
                if let Some(effect) = self.in_flight.pop() {
                    let facts = self.come_to(effect);
                    self.tell(facts);
                }
            }
            Happening::Fail(problem) => {
                if let Some(effect) = self.in_flight.pop() {
                    let (key, reason) = (effect.key().clone(), "no".to_owned());
                    self.tell(vec![Fact::AskFailed { key, problem, reason, usage: None, not_before: None }]);
                }
            }
            Happening::StaleAnswer => {
                let before = self.record.run.as_ref().map(|run| (run.goal.clone(), run.revisions.clone()));
                self.tell(vec![answer(Key("long gone".to_owned()), Question::Understand)]);
                let after = self.record.run.as_ref().map(|run| (run.goal.clone(), run.revisions.clone()));
                assert_eq!(before, after, "a stale answer changed the plan");
            }
            Happening::Timer => {
                if let Some(key) = self.waits.pop() {
                    self.tell(vec![Fact::TimerFired { key }]);
                }
            }
        }
    }

    fn event(&mut self, by: i64, kind: EventKind) {
        let bot = bot();
        let opens = kind == EventKind::Assigned { assignee: bot.clone() };
        self.assigned = opens || (self.assigned && !matches!(kind, EventKind::Unassigned { .. }));
        self.open = opens || (self.open && kind != EventKind::Closed);
        if let EventKind::Labelled { label } = &kind {
            self.labels.push(label.clone());
        } else if let EventKind::Unlabelled { label } = &kind {
            self.labels.retain(|known| known != label);
        } else if let EventKind::Opened { labels, assignees } = &kind {
            self.labels.clone_from(labels);
            self.assigned = !assignees.is_empty();
        }
        let on_label = Some("go".to_owned());
        let budget = Limits::default();
        let rules = Rules {
            enabled: true,
            on_assign: true,
            on_label,
            on_mention: true,
            budget,
            lang: None,
            broken_file: None,
        };
        let thread = Thread {
            title: String::new(),
            body: String::new(),
            author: Account::person(2, "p"),
            open: self.open,
            is_change_request: false,
            confidential: false,
            assignees: if self.assigned { vec![bot.clone()] } else { vec![] },
            labels: self.labels.clone(),
            web_url: None,
            branch: None,
        };
        // Account 4 may only read.
        let permission = Some(if by == 4 { Permission::Read } else { Permission::Write });
        let seen = Observation {
            bot: &bot,
            rules: &rules,
            permission,
            thread: Some(&thread),
            preview: None,
            ticks: None,
            now: Millis(self.seq * HOUR_MS),
        };
        let actor = Account::person(by, "p");
        let event = Event { thread: thread_ref(), actor, at: None, kind };
        let facts = interpret(&self.record, &event, &seen);
        self.ask_for_no_more(&event, &seen, &facts);
        self.tell(facts);
    }

    /// What the core says that it needs is enough, and without any need there is nothing to say.
    fn ask_for_no_more(&self, event: &Event, all: &Observation<'_>, facts: &[Fact]) {
        let heard = Heard { event, bot: all.bot, label: all.rules.on_label.as_deref() };
        let (asks_right, asks_thread) =
            (needs_permission(&self.record, heard), needs_thread(&self.record, heard));
        let seen = Observation {
            permission: all.permission.filter(|_| asks_right),
            thread: all.thread.filter(|_| asks_thread),
            ..all.clone()
        };
        assert_eq!(interpret(&self.record, event, &seen), facts, "more was needed for {event:?}");
        assert!(asks_right || asks_thread || facts.is_empty(), "nothing was asked for {event:?}");
    }

    /// What an effect comes to when all goes well.
    fn come_to(&self, effect: Effect) -> Vec<Fact> {
        let run = self.record.run.as_ref().unwrap();
        match effect {
            Effect::Ask { key, question: Question::Judge } => {
                let opinion = Judgement {
                    verdict: Verdict::Done,
                    reasons: vec!["fine".to_owned()],
                    remarks: String::new(),
                    contradiction: None,
                };
                vec![Fact::Crew(judgement(run, &key, Some(opinion), Some(usage())).unwrap())]
            }
            Effect::Ask { key, question } => vec![answer(key, question)],
            Effect::Merge { key, step } => {
                let commit = Some("c".repeat(40));
                vec![Fact::Crew(CrewFact::StepMerged { key, step, commit, pushed: true })]
            }
            Effect::Escalate { plea, .. } => vec![Fact::Crew(CrewFact::Escalated(plea))],
            Effect::Preflight { .. } => {
                let nothing = Finding { found: Found::Nothing, tool: None, forbidden: None };
                let ground = Ground {
                    thread: "t".to_owned(),
                    base: "b".to_owned(),
                    settings: "s".to_owned(),
                    expires: Millis(i64::MAX),
                };
                let place = Place { branch: "planwright/1".to_owned(), into: Some("main".to_owned()) };
                let findings = vec![nothing; run.plan().unwrap().actions().count()];
                vec![plan_tool::set_action_specs(run, &findings, ground, place).unwrap().1]
            }
            Effect::Begin { key, action } => {
                let plan = run.plan().unwrap();
                assert!(run.is_approved(plan, &action), "{action} begins without an approval");
                let digest = plan.specs[&action].digest.clone();
                vec![Fact::ActionBegun { key, action, digest }]
            }
            Effect::Act { key, action } | Effect::Use { key, action, .. } => vec![Fact::ActionEnded {
                key,
                action,
                outcome: Outcome::Succeeded,
                evidence: Evidence { commit: Some("c".repeat(40)), ..Evidence::default() },
                expected: String::new(),
                actual: String::new(),
            }],
            Effect::Deliver { key } => {
                let branch = "planwright/1".to_owned();
                vec![Fact::Delivered { key, branch, commit: None, change: None, url: None }]
            }
            Effect::Wait { key, .. } => vec![Fact::TimerFired { key }],
            Effect::Note { facts, .. } => facts,
        }
    }

    /// Drops what is no longer wanted and starts what is, as the engine does.
    fn drive(&mut self) {
        let run = self.record.run.clone();
        self.in_flight.retain(|effect| run.as_ref().is_some_and(|run| keeps(run, effect.key())));
        for _ in 0..20 {
            let Some(run) = self.record.run.clone() else { return };
            let busy: InFlight = self.in_flight.iter().map(|effect| effect.key().clone()).collect();
            let Some(effect) = next_effects(&run, &busy, &Policy::default()).pop() else { break };
            assert!(
                run.pause.is_none() || matches!(effect, Effect::Wait { .. }),
                "a paused run does {effect:?}"
            );
            match effect {
                Effect::Wait { key, .. } => {
                    self.waits = vec![key];
                    break;
                }
                Effect::Note { facts, .. } => {
                    self.tell(facts);
                    self.post_previews();
                }
                started @ (Effect::Ask { .. }
                | Effect::Preflight { .. }
                | Effect::Begin { .. }
                | Effect::Act { .. }
                | Effect::Use { .. }
                | Effect::Merge { .. }
                | Effect::Escalate { .. }
                | Effect::Deliver { .. }) => {
                    assert!(!busy.contains(started.key()), "something in flight was started again");
                    self.started.push(started.key().clone());
                    if let Effect::Ask { key, .. } = &started {
                        self.tell(vec![Fact::AskBegun { key: key.clone() }]);
                    }
                    self.in_flight.push(started);
                }
            }
        }
        assert!(self.in_flight.len() <= 1, "a run does one thing at a time");
    }

    /// The preview of an open request is on the thread as soon as it is asked for.
    fn post_previews(&mut self) {
        let open = self.record.live_run().and_then(|run| run.open_request(run.plan()?));
        if let Some(request) =
            open.filter(|request| request.comments.is_empty()).map(|request| request.number)
        {
            self.tell(vec![Fact::PreviewPosted {
                request,
                comments: vec![CommentId(0)],
                unreadable: vec![],
            }]);
        }
    }
}

proptest! {
    #[test]
    fn the_core_keeps_its_word_whatever_happens(happenings in prop::collection::vec(any_happening(), 0..80)) {
        let mut play = Play {
            record: Record::default(),
            in_flight: vec![],
            waits: vec![],
            seq: 0,
            started: vec![],
            assigned: false,
            open: true,
            labels: vec![],
        };
        for happening in happenings {
            let outsider = matches!(happening, Happening::Event(4, EventKind::Assigned { .. } | EventKind::CommentCreated { .. }));
            let before = play.record.run.as_deref().cloned();
            play.happen(happening);
            if outsider {
                let after = play.record.run.as_deref().cloned();
                let ignoring_counts = |run: Option<planwright::planning::Run>| run.map(|mut run| { run.unused_comments = 0; run });
                prop_assert_eq!(ignoring_counts(before), ignoring_counts(after), "somebody without rights changed the run");
            }
            play.drive();
            if let Some(run) = &play.record.run && !run.is_live() {
                prop_assert!(play.in_flight.is_empty(), "a model call outlived its run");
            }
        }
        let mut keys = play.started.clone();
        keys.sort();
        keys.dedup();
        prop_assert_eq!(keys.len(), play.started.len(), "one key was started twice");
    }
}
