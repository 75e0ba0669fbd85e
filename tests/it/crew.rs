//! Purpose: whatever workers, judges and people do, the leader keeps to its rules: nothing begins before what it needs is
//! accepted, nobody is given what another has in hand, limits hold, and no question is left without an end.

use std::collections::BTreeSet;

use planwright::actions::{Finding, Found, Ground};
use planwright::crew::{Advice, Judgement, Target, Verdict};
use planwright::domain::{Account, CommentId, Lang, Millis, Permission};
use planwright::plan::{
    Action, ActionId, ActionKind, ActionSpec, Call, Category, Complexity, Confidence, Decided, Feedback,
    Goal, Impediment, ReplanDecision, ReplanType, RequestedAction, Step, StepId, WorkResult,
};
use planwright::planning::{
    AskProblem, CrewFact, CrewPolicy, Effect, Entry, Escalation, Evidence, Fact, Fallback, InFlight, Key,
    Limits, Outcome, Place, Policy, Question, Record, ReplanFact, Run, RunId, StepState, Trigger, judgement,
    keeps, next_effects, plan_tool,
};
use planwright::prompts::Usage;
use proptest::prelude::*;

fn usage() -> Usage {
    Usage { model: "m".to_owned(), calls: 1, input_tokens: 1, output_tokens: 1, cost_micro_usd: None, ms: 1 }
}

fn maria() -> Account {
    Account::person(2, "maria")
}

/// What a plan looks like: for each step the steps before it that it needs, and whether a worker has to fill it in.
#[derive(Debug, Clone)]
struct Shape {
    needs: Vec<Vec<usize>>,
    open: Vec<bool>,
}

/// What happens next, whatever is asked.
#[derive(Debug, Clone, Copy)]
struct Whim {
    /// Which of the things under way comes to an end.
    pick: u8,
    /// How it ends.
    mood: u8,
}

fn any_shape() -> impl Strategy<Value = Shape> {
    (2..7_usize).prop_flat_map(|count| {
        let edges = prop::collection::vec(prop::collection::vec(any::<bool>(), count), count);
        (edges, prop::collection::vec(any::<bool>(), count)).prop_map(|(edges, open)| {
            let needs = edges
                .iter()
                .enumerate()
                .map(|(at, on)| (0..at).filter(|other| on[*other] && (at + other) % 2 == 0).collect());
            Shape { needs: needs.collect(), open }
        })
    })
}

fn any_whim() -> impl Strategy<Value = Whim> {
    (any::<u8>(), any::<u8>()).prop_map(|(pick, mood)| Whim { pick, mood })
}

fn step_id(n: usize) -> StepId {
    StepId(format!("task_{n}"))
}

struct Play<'a> {
    shape: &'a Shape,
    whims: std::iter::Cycle<std::slice::Iter<'a, Whim>>,
    record: Record,
    policy: Policy,
    now: i64,
    under_way: Vec<Effect>,
    revisions: usize,
    /// Whether model, forge and disk fail now and then.
    trouble: bool,
}

impl<'a> Play<'a> {
    fn new(shape: &'a Shape, whims: &'a [Whim], policy: Policy) -> Self {
        let mut play = Self {
            shape,
            whims: whims.iter().cycle(),
            record: Record::default(),
            policy,
            now: 0,
            under_way: vec![],
            revisions: 0,
            trouble: false,
        };
        play.note(Fact::Triggered {
            by: maria(),
            permission: Permission::Write,
            how: Trigger::Assigned,
            event_at: None,
            comment: None,
            budget: Limits::default(),
            why: None,
            lang: Lang::English,
        });
        play
    }

    fn note(&mut self, fact: Fact) {
        self.now += 1_000;
        let line = serde_json::to_string(&fact).unwrap();
        let read = Entry::from_line(1, Millis(0), None, &line).unwrap();
        assert_eq!(read.fact, fact, "it does not survive its line: {line}");
        let run = Some(RunId("r".to_owned()));
        self.record.apply(&Entry { seq: self.record.seq + 1, at: Millis(self.now), run, fact });
    }

    fn run(&self) -> &Run {
        self.record.run.as_ref().unwrap()
    }

    fn steps(&self) -> Vec<Step> {
        let step = |(n, needs): (usize, &Vec<usize>)| Step {
            id: step_id(n),
            description: format!("step {n}"),
            dependencies: needs.iter().map(|on| step_id(*on)).collect(),
            estimated_complexity: Complexity::Low,
            required_tools: vec![],
            rests_on: vec![],
        };
        self.shape.needs.iter().enumerate().map(step).collect()
    }

    /// Two files for each step; every revision has others, so that no plan is the same as the one before.
    fn actions(&self, steps: &[Step]) -> Vec<Action> {
        let action = |step: &Step, part: usize| {
            let n: usize = step.id.0.trim_start_matches("task_").parse().unwrap_or(0);
            let open = part == 1 && self.shape.open.get(n).copied().unwrap_or(false);
            Action {
                id: ActionId(format!("a{n}{part}")),
                task_id: step.id.clone(),
                action_type: ActionKind::Create,
                tool: String::new(),
                purpose: format!("{} {part} {}", step.id, self.revisions),
                expected_outcome: String::new(),
                fallback_strategy: String::new(),
                spec: ActionSpec {
                    path: Some(format!("{}/{part}-{}", step.id, self.revisions)),
                    content: (!open).then(|| "x".to_owned()),
                    ..ActionSpec::default()
                },
                optional: false,
            }
        };
        let actions: Vec<Action> = steps.iter().flat_map(|step| [action(step, 1), action(step, 2)]).collect();
        self.run().numbered(&actions)
    }

    fn whim(&mut self) -> Whim {
        *self.whims.next().unwrap()
    }

    /// Starts all that is wanted; then one thing that is under way comes to its end. Whether anything happened.
    fn turn(&mut self) -> bool {
        let started = self.start();
        let run = self.record.run.clone().unwrap();
        self.under_way.retain(|effect| keeps(&run, effect.key()));
        if self.under_way.is_empty() {
            return started;
        }
        let whim = self.whim();
        let effect = self.under_way.remove(usize::from(whim.pick) % self.under_way.len());
        for fact in self.come_to(effect, whim) {
            self.note(fact);
        }
        true
    }

    fn start(&mut self) -> bool {
        let mut started = false;
        for _ in 0..50 {
            let Some(run) = self.record.live_run() else { return started };
            let busy: InFlight = self.under_way.iter().map(|effect| effect.key().clone()).collect();
            let mut wanted = next_effects(run, &busy, &self.policy);
            // Time passes only when nothing else does.
            if !self.under_way.is_empty() || wanted.iter().any(|e| !matches!(e, Effect::Wait { .. })) {
                wanted.retain(|effect| !matches!(effect, Effect::Wait { .. }));
            }
            let mut noted = false;
            for effect in wanted {
                started = true;
                match effect {
                    Effect::Note { facts, .. } => {
                        facts.into_iter().for_each(|fact| self.note(fact));
                        noted = true;
                        break;
                    }
                    Effect::Wait { key, until } => {
                        self.now = self.now.max(until.0);
                        self.note(Fact::TimerFired { key });
                        noted = true;
                        break;
                    }
                    effect @ (Effect::Ask { .. }
                    | Effect::Preflight { .. }
                    | Effect::Begin { .. }
                    | Effect::Act { .. }
                    | Effect::Use { .. }
                    | Effect::Merge { .. }
                    | Effect::Escalate { .. }
                    | Effect::Deliver { .. }) => {
                        self.check(&effect);
                        assert!(!busy.contains(effect.key()));
                        if let Effect::Ask { key, .. } = &effect {
                            self.note(Fact::AskBegun { key: key.clone() });
                        }
                        self.under_way.push(effect);
                    }
                }
            }
            self.post();
            if !noted {
                return started;
            }
        }
        started
    }

    /// The rules that hold whenever something begins.
    fn check(&self, effect: &Effect) {
        let run = self.run();
        let busy: Vec<u32> =
            run.lanes.values().filter(|lane| lane.judged.is_none()).map(|lane| lane.worker).collect();
        assert!(busy.len() <= self.policy.workers as usize, "more at work than there are workers");
        assert_eq!(BTreeSet::from_iter(&busy).len(), busy.len(), "a worker has two steps");
        let Effect::Begin { action, .. } = effect else { return };
        let plan = run.plan().unwrap();
        assert!(run.is_approved(plan, action), "{action} begins without an approval");
        let step = run.step_of(action).unwrap();
        let step = plan.steps.iter().find(|known| known.id == *step).unwrap();
        assert!(!run.crew.holds(&step.id), "{} begins although an answer is missing", step.id);
        for on in &step.dependencies {
            let state = run.step_state(plan, on);
            let accepted = matches!(state, StepState::Done(_) | StepState::SkippedBy(_) | StepState::LeftOut);
            assert!(accepted && !run.lanes.contains_key(on), "{} begins before {on}: {state:?}", step.id);
        }
    }

    /// Comments stand as soon as they are wanted.
    fn post(&mut self) {
        let Some(run) = self.record.live_run() else { return };
        let unposted = |e: &&Escalation| e.target == Target::People && e.is_open() && e.comment.is_none();
        let comment = CommentId(self.now);
        if let Some(number) = run.crew.escalations.iter().find(unposted).map(|e| e.number) {
            self.note(Fact::Crew(CrewFact::EscalationPosted { number, comment }));
        }
    }

    /// What goes wrong in a lane that is no fault of its worker.
    fn goes_wrong(&self, effect: &Effect, whim: Whim) -> Option<Fact> {
        let lasting = match effect {
            Effect::Ask { question: Question::Work, .. } | Effect::Begin { .. } | Effect::Merge { .. } => {
                whim.mood % 32 == 25
            }
            Effect::Ask { question: Question::Judge, .. } | Effect::Act { .. } | Effect::Use { .. } => false,
            Effect::Ask { .. }
            | Effect::Preflight { .. }
            | Effect::Escalate { .. }
            | Effect::Deliver { .. }
            | Effect::Wait { .. }
            | Effect::Note { .. } => return None,
        };
        let problem = if lasting { AskProblem::Lasting } else { AskProblem::Passing };
        let (key, reason) = (effect.key().clone(), "it is away".to_owned());
        let wrong = self.trouble && (lasting || whim.mood % 16 == 3);
        wrong.then_some(Fact::EffectFailed { key, problem, reason, not_before: None })
    }

    fn come_to(&mut self, effect: Effect, whim: Whim) -> Vec<Fact> {
        if let Some(fact) = self.goes_wrong(&effect, whim) {
            return vec![fact];
        }
        match effect {
            Effect::Ask { key, question } => vec![self.answer(key, question, whim)],
            Effect::Preflight { .. } => {
                let nothing = Finding { found: Found::Nothing, tool: None, forbidden: None };
                let text = String::new;
                let ground =
                    Ground { thread: text(), base: text(), settings: text(), expires: Millis(i64::MAX) };
                let place = Place { branch: "b".to_owned(), into: None };
                let run = self.run();
                let findings = vec![nothing; run.plan().unwrap().open_actions().count()];
                vec![plan_tool::set_action_specs(run, &findings, ground, place).unwrap().1]
            }
            Effect::Begin { key, action } => vec![Fact::ActionBegun { key, action, digest: String::new() }],
            Effect::Act { key, action } | Effect::Use { key, action, .. } => {
                let fails = whim.mood.is_multiple_of(5);
                let outcome =
                    if fails { Outcome::Failed { why: "no".to_owned() } } else { Outcome::Succeeded };
                let commit = (!fails).then(|| "c".repeat(40));
                let evidence = Evidence { commit, ..Evidence::default() };
                let (expected, actual) = (String::new(), String::new());
                vec![Fact::ActionEnded { key, action, outcome, evidence, expected, actual }]
            }
            Effect::Merge { key, step } if whim.mood.is_multiple_of(7) => {
                let (files, why) = (vec!["x".to_owned()], "others changed x".to_owned());
                vec![Fact::Crew(CrewFact::StepConflicted { key, step, files, why })]
            }
            Effect::Merge { key, step } => {
                let commit = Some("d".repeat(40));
                vec![Fact::Crew(CrewFact::StepMerged { key, step, commit, pushed: true })]
            }
            Effect::Escalate { plea, .. } => vec![Fact::Crew(CrewFact::Escalated(plea))],
            Effect::Deliver { key } => {
                let branch = "b".to_owned();
                vec![Fact::Delivered { key, branch, commit: None, change: None, url: None }]
            }
            Effect::Wait { .. } | Effect::Note { .. } => unreachable!("these are never under way"),
        }
    }

    fn answer(&mut self, key: Key, question: Question, whim: Whim) -> Fact {
        let (usage, replan) = (usage(), Decided::Nothing);
        match question {
            Question::Understand | Question::Decompose | Question::Sequence | Question::Revise => {
                self.plans(key, question)
            }
            Question::Work | Question::Judge | Question::Advise => self.crew_answers(key, question, whim),
            Question::Reflect => Fact::Reflected { key, reflection: None, usage: Some(usage), replan },
            Question::Evaluate => {
                Fact::Replan(ReplanFact::Evaluated { key, said: replan, usage: Some(usage) })
            }
            Question::Decide => {
                let replan_type =
                    if whim.mood.is_multiple_of(2) { ReplanType::Retry } else { ReplanType::PartialReplan };
                let decision = ReplanDecision {
                    replan_needed: true,
                    confidence: 0.9,
                    replan_type,
                    ..ReplanDecision::default()
                };
                let said = Decided::Decision { decision: Box::new(decision) };
                Fact::Replan(ReplanFact::DecisionGiven { key, said, usage: Some(usage) })
            }
            Question::OtherWay => {
                let way = planwright::plan::OtherWay::SkipStep;
                let alternative = planwright::plan::Alternative { way, reasoning: String::new() };
                Fact::Replan(ReplanFact::AlternativeGiven { key, alternative, usage: Some(usage) })
            }
            Question::ReadDocument
            | Question::Discover
            | Question::MapAnswers
            | Question::Design
            | Question::Summarise => {
                unreachable!("nothing is left open")
            }
        }
    }

    /// A plan of this shape, and another one each time that it is asked for.
    fn plans(&mut self, key: Key, question: Question) -> Fact {
        let (usage, replan) = (usage(), Decided::Nothing);
        self.revisions += 1;
        if question == Question::Understand {
            let goal = Goal {
                main_objective: "g".to_owned(),
                success_criteria: vec![],
                constraints: vec![],
                context: String::new(),
                design_choices_open: false,
            };
            return Fact::GoalUnderstood { key, goal, usage, hidden: 0, before: None, replan };
        }
        if question == Question::Decompose {
            let (steps, reasoning) = (self.steps(), String::new());
            return Fact::Decomposed { key, reasoning, steps, usage, replan };
        }
        let run = self.run();
        let plan = run.plan().unwrap();
        let sealed = run.sealed_steps(plan);
        let steps: Vec<Step> =
            plan.steps.iter().filter(|step| !sealed.iter().any(|done| done.id == step.id)).cloned().collect();
        let actions = self.actions(&steps);
        if question == Question::Sequence {
            return Fact::Sequenced { key, actions, usage, replan };
        }
        Fact::Replan(ReplanFact::RevisionMade { key, steps, actions, usage })
    }

    fn crew_answers(&self, key: Key, question: Question, whim: Whim) -> Fact {
        let usage = usage();
        if question == Question::Work {
            let action = self.run().action_awaiting(&key).unwrap().id.clone();
            return Fact::Worked { key, action, call: self.call(whim), usage };
        }
        if question == Question::Judge {
            let verdict = match whim.mood % 8 {
                0 => Verdict::Replan,
                1 | 2 => Verdict::Continue,
                _ => Verdict::Done,
            };
            let contradiction = whim.mood.is_multiple_of(11).then(|| "a and b".to_owned());
            let opinion = Judgement { verdict, reasons: vec![], remarks: "more".to_owned(), contradiction };
            let opinion = (!whim.mood.is_multiple_of(13)).then_some(opinion);
            return Fact::Crew(judgement(self.run(), &key, opinion, Some(usage)).unwrap());
        }
        let asked = |e: &&Escalation| matches!(e.target, Target::LogicValidator | Target::ExternalAdvisor);
        let open = |e: &&Escalation| e.is_open() && e.advice.is_none();
        let number = self.run().crew.escalations.iter().filter(asked).find(open).unwrap().number;
        let advice = Advice {
            advice: "do it otherwise".to_owned(),
            confidence: f64::from(whim.mood % 5) / 4.0,
            contradiction: None,
            needs_person: whim.mood.is_multiple_of(3),
        };
        let advice = (!whim.mood.is_multiple_of(5)).then_some(advice);
        Fact::Crew(CrewFact::AdviceGiven { key, number, advice, usage: Some(usage) })
    }

    /// What a worker does in a turn: mostly it writes, sometimes it gives up for one reason or another.
    fn call(&self, whim: Whim) -> Call {
        let category = match whim.mood % 4 {
            0 => Category::Technical,
            1 => Category::Ambiguity,
            2 => Category::Scope,
            _ => Category::Dependency,
        };
        let requested_action = match whim.pick % 4 {
            0 => RequestedAction::Clarification,
            1 => RequestedAction::Replan,
            2 => RequestedAction::Escalate,
            _ => RequestedAction::Continue,
        };
        match whim.mood % 9 {
            0 | 1 => Call::Finish {
                feedback: Feedback::Difficulty {
                    issue: "stuck".to_owned(),
                    attempts: vec!["all".to_owned()],
                    impediment: Impediment { category, requested_action },
                    suggestion: None,
                },
            },
            2 => Call::Finish {
                feedback: Feedback::Implementation {
                    result: WorkResult::Success,
                    changes: vec![],
                    notes: None,
                },
            },
            3 => Call::Report {
                feedback: Feedback::Exploration {
                    findings: "it is round".to_owned(),
                    recommendations: vec![],
                    confidence: Confidence::Low,
                },
            },
            4 => Call::Report {
                feedback: Feedback::Difficulty {
                    issue: "in the way".to_owned(),
                    attempts: vec![],
                    impediment: Impediment { category, requested_action },
                    suggestion: None,
                },
            },
            _ => Call::WriteFile { path: "x".to_owned(), content: "x".to_owned() },
        }
    }

    /// Somebody answers one of the open questions.
    fn people_answer(&mut self, whim: Whim) {
        let Some(run) = self.record.live_run() else { return };
        let open: Vec<u32> =
            run.crew.open().filter(|e| e.target == Target::People).map(|e| e.number).collect();
        if let Some(number) = open.first().filter(|_| whim.mood.is_multiple_of(3)) {
            let (number, by, text) = (*number, Some(maria()), "do it so".to_owned());
            self.note(Fact::Crew(CrewFact::EscalationResolved { number, by, text, comment: None }));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn the_leader_keeps_to_its_rules(
        shape in any_shape(),
        whims in prop::collection::vec(any_whim(), 1..40),
        workers in 1_u32..5,
        on_no_answer in prop_oneof![Just(Fallback::Hold), Just(Fallback::SkipStep), Just(Fallback::Stop)],
        advisor in any::<bool>(),
        answers in any::<bool>(),
        reports in any::<bool>(),
        trouble in any::<bool>(),
        retries in 0_usize..3,
    ) {
        let crew = CrewPolicy { advisor, on_no_answer, reports, ..CrewPolicy::default() };
        let limits = crew.limits;
        let policy = Policy {
            workers, crew, auto: Some(planwright::actions::Risk::Medium),
            retry_after_ms: vec![1_000; retries], ..Policy::default()
        };
        let mut play = Play { trouble, ..Play::new(&shape, &whims, policy) };
        let mut turns = 0;
        while play.turn() {
            if answers {
                let whim = play.whim();
                play.people_answer(whim);
            }
            turns += 1;
            prop_assert!(turns < 5_000, "it never ends: {:?}", play.run());
        }
        let run = play.run();
        let asked = run.crew.asked();
        for target in Target::ALL {
            prop_assert!(asked.of(target) <= limits.of(target), "{target:?} was asked too often");
        }
        prop_assert!(!run.is_live() || run.hold().is_some(), "it neither ended nor waits: {run:?}");
        if !run.is_live() {
            prop_assert!(run.crew.open().next().is_none(), "a question without an end: {:?}", run.crew);
        }
        let plan = run.plan().unwrap();
        for step in &plan.steps {
            let filled_in = |action: &Action| action.task_id == step.id && action.spec.content.is_none();
            if matches!(run.step_state(plan, &step.id), StepState::Done(_)) && plan.actions().any(filled_in) {
                let judged = run.crew.steps.get(&step.id).is_some_and(|taken| taken.judged.is_some());
                prop_assert!(judged, "{} was accepted without a judge: {:?}", step.id, run.crew);
            }
        }
        let changed = |work: &planwright::planning::Work| {
            work.ended.as_ref().is_some_and(|ended| ended.evidence.commit.is_some())
        };
        if !run.is_live() {
            for (step, _) in run.lanes.iter().filter(|(_, lane)| !lane.stuck) {
                let of_step = plan.actions().filter(|action| action.task_id == *step);
                let mut works = of_step.filter_map(|action| run.work.get(&action.id));
                let kept = works.all(|work| !changed(work) || work.on_branch);
                prop_assert!(kept, "what was finished of {step} is lost: {run:?}");
            }
        }
        if run.is_complete() {
            prop_assert!(run.lanes.is_empty(), "somebody is still at work: {:?}", run.lanes);
            let kept = run.work.values().filter(|work| changed(work)).all(|work| work.on_branch);
            prop_assert!(kept, "something that was done is not on the branch");
        }
    }
}
