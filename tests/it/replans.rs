//! Purpose: whatever a model says about replanning, the limits hold, and the run ends or waits for people.

use planwright::actions::{Finding, Found, Ground};
use planwright::domain::{Account, CommentId, Millis, Permission};
use planwright::plan::{
    Action, ActionId, ActionKind, ActionSpec, Alternative, Complexity, Decided, DecisionPoint, DesignOption,
    Goal, Level, OtherWay, Question as Asked, QuestionId, QuestionKind, ReplanDecision, ReplanPhase,
    ReplanType, Step, StepId, Tradeoffs,
};
use planwright::planning::{
    Actor, AskProblem, CrewFact, Effect, Entry, Evidence, Fact, Hold, How, InFlight, Key, Limits, OnLimit,
    Outcome, Place, Policy, Purpose, Question, Record, Replan, ReplanFact, ReplanPolicy, ReplanState, Reply,
    Resource, Run, RunId, StepState, StopReason, TalkFact, Trigger, Verdict, next_effects, plan_tool,
};
use planwright::prompts::Usage;
use proptest::prelude::*;

pub(crate) fn usage() -> Usage {
    Usage { model: "m".to_owned(), calls: 1, input_tokens: 1, output_tokens: 1, cost_micro_usd: None, ms: 1 }
}

pub(crate) fn maria() -> Account {
    Account::person(2, "maria")
}

pub(crate) fn step(n: usize) -> Step {
    Step {
        id: StepId(format!("task_{n}")),
        description: format!("step {n}"),
        dependencies: vec![],
        estimated_complexity: Complexity::Low,
        required_tools: vec![],
        rests_on: vec![],
    }
}

pub(crate) fn look(step: &Step, what: u8) -> Action {
    Action {
        id: ActionId("a1".to_owned()),
        task_id: step.id.clone(),
        action_type: ActionKind::Read,
        tool: "files".to_owned(),
        purpose: format!("look {what}"),
        expected_outcome: String::new(),
        fallback_strategy: String::new(),
        spec: ActionSpec { path: Some(format!("f{what}.md")), ..ActionSpec::default() },
        optional: false,
    }
}

/// What a model may answer at one turn.
#[derive(Debug, Clone)]
pub(crate) struct Whim {
    pub(crate) said: Decided,
    pub(crate) open: bool,
    pub(crate) fails: bool,
    pub(crate) what: u8,
    pub(crate) way: OtherWay,
    /// Why there is no answer at all.
    pub(crate) trouble: Option<AskProblem>,
    /// How much it wants to have asked and decided before the plan.
    pub(crate) asks: u8,
    pub(crate) decides: u8,
    /// What somebody does while the model thinks.
    pub(crate) person: Option<Deed>,
}

impl Whim {
    fn discovers(&self, key: Key) -> TalkFact {
        let questions = (0..self.asks).map(|n| asked(format!("what about {} {n}?", self.what))).collect();
        TalkFact::QuestionsFound { key, questions, usage: usage() }
    }

    fn designs(&self, key: Key) -> TalkFact {
        let decisions = (1..=self.decides).map(open_decision).collect();
        TalkFact::DecisionsFound { key, decisions, usage: usage() }
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Deed {
    AsksForReplan,
    Answers,
    Speaks,
    Pauses,
    Resumes,
    Raises,
    SkipsStep,
    Cancels,
    Stops(StopReason),
}

fn asked(text: String) -> Asked {
    Asked {
        id: QuestionId(String::new()),
        kind: QuestionKind::Scope,
        question: text,
        context: None,
        options: vec![],
        assumption: None,
    }
}

/// A decision between two options.
fn open_decision(n: u8) -> DecisionPoint {
    let option = |id: &str| DesignOption {
        id: id.to_owned(),
        name: format!("{id} of {n}"),
        description: String::new(),
        tradeoffs: Tradeoffs::default(),
        recommendation: false,
    };
    DecisionPoint {
        id: format!("d-{n}"),
        topic: format!("topic {n}"),
        options: vec![option("opt-a"), option("opt-b")],
    }
}

fn any_decision() -> impl Strategy<Value = Decided> {
    let types = prop_oneof![
        Just(ReplanType::ClarificationRequest),
        Just(ReplanType::GoalRevision),
        Just(ReplanType::TaskRedecomposition),
        Just(ReplanType::ActionRegeneration),
        Just(ReplanType::PartialReplan),
        Just(ReplanType::FullReplan),
        Just(ReplanType::PlanRevision),
        Just(ReplanType::Retry),
        Just(ReplanType::None),
    ];
    let level = prop_oneof![3 => Just(None), 2 => (1_u64..=5).prop_map(Level::of_number)];
    let phases = prop_oneof![
        Just(ReplanPhase::GoalUnderstanding),
        Just(ReplanPhase::TaskDecomposition),
        Just(ReplanPhase::ActionSequence),
        Just(ReplanPhase::Execution),
        Just(ReplanPhase::Reflection),
    ];
    let target = prop_oneof![2 => Just(None), 1 => phases.prop_map(Some)];
    let decision = (
        any::<bool>(),
        (0_u8..=100).prop_map(|n| f64::from(n) / 100.0),
        types,
        (level, target),
        any::<bool>(),
        0_u8..4,
    )
        .prop_map(|(needed, confidence, replan_type, (replan_level, target_phase), asks, n)| {
            let question = asked(format!("question {n}?"));
            let decision = ReplanDecision {
                replan_needed: needed,
                confidence,
                reasoning: format!("because {n}"),
                replan_type,
                target_phase,
                replan_level,
                issues_found: vec![format!("issue {n}")],
                clarification_needed: asks,
                clarification_questions: vec![question],
                ..ReplanDecision::default()
            };
            Decided::Decision { decision: Box::new(decision) }
        });
    prop_oneof![
        1 => Just(Decided::Nothing),
        1 => Just(Decided::Unreadable { why: "nonsense".to_owned() }),
        6 => decision,
    ]
}

fn any_whim() -> impl Strategy<Value = Whim> {
    let way = prop_oneof![Just(OtherWay::Continue), Just(OtherWay::SkipStep), Just(OtherWay::Nothing)];
    // What ends a run is rare, or hardly any would come far.
    let deed = prop_oneof![
        8 => Just(Deed::AsksForReplan),
        8 => Just(Deed::Answers),
        8 => Just(Deed::Speaks),
        8 => Just(Deed::Pauses),
        8 => Just(Deed::Resumes),
        8 => Just(Deed::Raises),
        8 => Just(Deed::SkipsStep),
        1 => Just(Deed::Cancels),
        1 => prop_oneof![
            Just(StopReason::Unassigned),
            Just(StopReason::Unlabelled),
            Just(StopReason::Closed),
        ].prop_map(Deed::Stops),
    ];
    let person = prop_oneof![3 => Just(None), 1 => deed.prop_map(Some)];
    let trouble = prop_oneof![
        20 => Just(None),
        3 => Just(Some(AskProblem::Passing)),
        1 => Just(Some(AskProblem::Lasting)),
    ];
    let open = (prop_oneof![2 => Just(false), 1 => Just(true)], 0_u8..3, 0_u8..3);
    (any_decision(), open, any::<bool>(), 0_u8..5, way, person, trouble).prop_map(
        |(said, (open, asks, decides), fails, what, way, person, trouble)| Whim {
            said,
            open,
            fails,
            what,
            way,
            person,
            trouble,
            asks,
            decides,
        },
    )
}

/// Plays a run against these whims; people answer nothing, and time passes whenever the run waits for it.
pub(crate) struct Play<'a> {
    pub(crate) record: Record,
    whims: std::iter::Cycle<std::slice::Iter<'a, Whim>>,
    policy: Policy,
    now: i64,
    /// What people may still do: they have better things to do than to speak for ever.
    deeds: u32,
    /// What they say when they are asked for a word: whether to replan, and whether a design is good.
    confirms: Option<bool>,
}

impl<'a> Play<'a> {
    pub(crate) fn new(whims: &'a [Whim], policy: Policy) -> Self {
        let mut play = Self {
            record: Record::default(),
            whims: whims.iter().cycle(),
            policy,
            now: 0,
            deeds: 12,
            confirms: None,
        };
        play.note(Fact::Triggered {
            by: maria(),
            permission: Permission::Write,
            how: Trigger::Assigned,
            event_at: None,
            comment: None,
            budget: Limits { model_calls: Some(200), ..Limits::default() },
            why: None,
            lang: planwright::domain::Lang::English,
        });
        play
    }

    pub(crate) fn note(&mut self, fact: Fact) {
        self.now += 1_000;
        let run = (!fact.is_of_thread()).then(|| RunId("r".to_owned()));
        let line = serde_json::to_string(&fact).unwrap();
        let read = Entry::from_line(1, Millis(0), None, &line).unwrap();
        assert_eq!(read.fact, fact, "it does not survive its line: {line}");
        self.record.apply(&Entry { seq: self.record.seq + 1, at: Millis(self.now), run, fact });
    }

    pub(crate) fn run(&self) -> &Run {
        self.record.run.as_ref().unwrap()
    }

    /// Whether something was done.
    pub(crate) fn turn(&mut self) -> bool {
        self.post();
        self.say();
        let Some(run) = self.record.live_run() else { return false };
        let Some(effect) = next_effects(run, &InFlight::new(), &self.policy).into_iter().next() else {
            return false;
        };
        match effect {
            Effect::Ask { key, question } => {
                self.note(Fact::AskBegun { key: key.clone() });
                let fact = self.answer(key, question);
                let deed = self.whims.next().unwrap().person;
                self.meanwhile(deed);
                self.note(fact);
            }
            Effect::Note { facts, .. } => facts.into_iter().for_each(|fact| self.note(fact)),
            Effect::Wait { key, until } => {
                self.now = self.now.max(until.0);
                self.note(Fact::TimerFired { key });
            }
            Effect::Preflight { key } => {
                let trouble = self.whims.next().unwrap().trouble;
                let reason = "the forge is away".to_owned();
                let fact = match trouble {
                    Some(problem) => Fact::EffectFailed { key, problem, reason, not_before: None },
                    None => self.preflight(),
                };
                self.note(fact);
            }
            Effect::Begin { key, action } => {
                self.note(Fact::ActionBegun { key, action, digest: String::new() });
            }
            Effect::Act { key, action } => {
                let fails = self.whims.next().unwrap().fails;
                let outcome =
                    if fails { Outcome::Failed { why: "no".to_owned() } } else { Outcome::Succeeded };
                let (evidence, text) = (Evidence::default(), String::new());
                self.note(Fact::ActionEnded {
                    key,
                    action,
                    outcome,
                    evidence,
                    expected: text.clone(),
                    actual: text,
                });
            }
            Effect::Merge { key, step } => {
                self.note(Fact::Crew(CrewFact::StepMerged { key, step, commit: None, pushed: false }));
            }
            Effect::Escalate { plea, .. } => self.note(Fact::Crew(CrewFact::Escalated(plea))),
            Effect::Use { .. } | Effect::Deliver { .. } => unreachable!("only reading is planned"),
        }
        true
    }

    /// Somebody acts between a question and its answer.
    fn meanwhile(&mut self, deed: Option<Deed>) {
        let Some(deed) = deed.filter(|_| self.deeds > 0) else { return };
        self.deeds -= 1;
        let (by, comment) = (maria(), Some(CommentId(self.now + 90_000_000)));
        let permission = Permission::Write;
        let first = self.run().talk.questions().next().map(|question| question.id.clone());
        let fact = match (deed, first) {
            (Deed::Cancels, _) => {
                let facts = plan_tool::clear_current(self.run(), &by, comment);
                return facts.into_iter().for_each(|fact| self.note(fact));
            }
            (Deed::Stops(why), _) => {
                let aborted = plan_tool::abort(self.run(), Actor::User, String::new());
                aborted.into_iter().for_each(|fact| self.note(fact));
                Fact::Stopped { by, why }
            }
            (Deed::AsksForReplan, _) => {
                Fact::Replan(ReplanFact::ReplanAsked { by, why: "please".to_owned(), comment })
            }
            (Deed::Answers, Some(question)) => {
                let answers = vec![Reply { question, answer: Some(format!("answer {}", self.now)) }];
                let (how, withdrawn) = (How::Numbered, vec![]);
                Fact::Talk(TalkFact::Answered { by, permission, how, answers, withdrawn, comment })
            }
            (Deed::Speaks, Some(_)) if self.run().talk.open_round().is_some() => {
                Fact::Talk(TalkFact::WordsHeard { by, permission, comment: comment.unwrap() })
            }
            (Deed::Answers | Deed::Speaks, _) => {
                Fact::CommentArrived { by, permission, comment: comment.unwrap(), used: true }
            }
            (Deed::SkipsStep, _) => {
                let open = self.run().plan().and_then(|plan| {
                    let waits = |step: &&Step| self.run().step_state(plan, &step.id) == StepState::Waiting;
                    plan.steps.iter().find(waits).map(|step| step.id.clone())
                });
                match open {
                    Some(step) => Fact::StepSkipped { by, step, comment },
                    None => Fact::CommentArrived { by, permission, comment: comment.unwrap(), used: true },
                }
            }
            (Deed::Pauses, _) => Fact::Paused { by, comment },
            (Deed::Resumes, _) => Fact::Resumed { by, comment },
            (Deed::Raises, _) => {
                Fact::BudgetRaised { by, resource: Resource::ModelCalls, amount: 5, comment }
            }
        };
        self.note(fact);
    }

    /// Of those who are asked for a word, some say yes, some no, and some nothing.
    fn say(&mut self) {
        let (Some(run), Some(yes)) = (self.record.live_run(), self.confirms) else { return };
        let facts = at_hold(run, yes);
        facts.into_iter().for_each(|fact| self.note(fact));
    }

    /// The comments stand as soon as they are wanted.
    pub(crate) fn post(&mut self) {
        let Some(run) = self.record.live_run() else { return };
        let facts = unposted(run, CommentId(self.now));
        facts.into_iter().for_each(|fact| self.note(fact));
    }

    fn preflight(&self) -> Fact {
        let plan = self.run().plan().unwrap();
        let found = Found::File { bytes: 1, sha256: "s".to_owned(), text: None };
        let finding = Finding { found, tool: None, forbidden: None };
        let findings: Vec<Finding> = plan.open_actions().map(|_| finding.clone()).collect();
        let ground = Ground {
            thread: String::new(),
            base: String::new(),
            settings: String::new(),
            expires: Millis(i64::MAX),
        };
        let place = Place { branch: "b".to_owned(), into: None };
        plan_tool::set_action_specs(self.run(), &findings, ground, place).unwrap().1
    }

    fn mapped(&self, key: Key, answers_all: bool) -> Fact {
        let comment = self.run().talk.unread[0].comment;
        let questions = &self.run().talk.rounds.last().unwrap().questions;
        let answer = |question: &Asked| Reply { question: question.id.clone(), answer: Some("a".to_owned()) };
        let answers = questions.iter().filter(|_| answers_all).map(answer).collect();
        Fact::Talk(TalkFact::AnswersMapped { key, comment, answers, usage: usage() })
    }

    fn answer(&mut self, key: Key, question: Question) -> Fact {
        let whim = self.whims.next().unwrap().clone();
        let (usage, replan) = (usage(), whim.said.clone());
        if let Some(problem) = whim.trouble {
            return away(key, problem);
        }
        // Every step has two actions, so that some are half done when the plan changes.
        let actions = |steps: &[Step]| {
            let two = |step: &Step| [look(step, whim.what), look(step, whim.what + 10)];
            let actions: Vec<Action> = steps.iter().flat_map(two).collect();
            self.run().numbered(&actions)
        };
        match question {
            Question::Understand => {
                let goal = Goal {
                    main_objective: "g".to_owned(),
                    success_criteria: vec![],
                    constraints: vec![],
                    context: String::new(),
                    design_choices_open: whim.open,
                };
                Fact::GoalUnderstood { key, goal, usage, hidden: 0, before: None, replan }
            }
            Question::Decompose => {
                let steps = vec![step(1), step(2)];
                Fact::Decomposed { key, reasoning: String::new(), steps, usage, replan }
            }
            Question::Sequence => {
                let plan = self.run().plan().unwrap();
                let sealed = self.run().sealed_steps(plan);
                let open: Vec<Step> =
                    plan.steps.iter().filter(|s| !sealed.iter().any(|d| d.id == s.id)).cloned().collect();
                Fact::Sequenced { key, actions: actions(&open), usage, replan }
            }
            Question::Revise => {
                let steps = vec![step(10 + usize::from(whim.what))];
                let actions = actions(&steps);
                Fact::Replan(ReplanFact::RevisionMade { key, steps, actions, usage })
            }
            Question::Reflect => Fact::Reflected { key, reflection: None, usage: Some(usage), replan },
            Question::Decide => {
                Fact::Replan(ReplanFact::DecisionGiven { key, said: replan, usage: Some(usage) })
            }
            Question::Evaluate => {
                Fact::Replan(ReplanFact::Evaluated { key, said: replan, usage: Some(usage) })
            }
            Question::OtherWay => {
                let alternative = Alternative { way: whim.way, reasoning: String::new() };
                Fact::Replan(ReplanFact::AlternativeGiven { key, alternative, usage: Some(usage) })
            }
            Question::Discover => Fact::Talk(whim.discovers(key)),
            Question::Design => Fact::Talk(whim.designs(key)),
            Question::Summarise => {
                Fact::Talk(TalkFact::DesignSummarised { key, summary: "s".to_owned(), usage })
            }
            Question::MapAnswers => self.mapped(key, whim.fails),
            Question::Work | Question::Judge | Question::Advise | Question::ReadDocument => {
                unreachable!("nothing is open, and nobody wrote a plan")
            }
        }
    }
}

fn away(key: Key, problem: AskProblem) -> Fact {
    Fact::AskFailed {
        key,
        problem,
        reason: "the model is away".to_owned(),
        usage: Some(usage()),
        not_before: None,
    }
}

/// A yes or a no to what people are asked, but not to the plan itself.
fn at_hold(run: &Run, yes: bool) -> Vec<Fact> {
    let (by, comment, permission) = (maria(), None, Permission::Write);
    match run.hold() {
        Some(Hold::Confirm(replan)) if yes => {
            let replan_id = replan.id;
            vec![Fact::Replan(ReplanFact::ReplanConfirmed { replan_id, by, comment, executed: true })]
        }
        Some(Hold::Confirm(replan)) => {
            let replan_id = replan.id;
            vec![Fact::Replan(ReplanFact::ReplanDeclined { replan_id, by: Some(by), comment })]
        }
        Some(Hold::Decisions(design)) => {
            let (decision, option) = (design.open_decisions()[0].id.clone(), "opt-a".to_owned());
            let rationale = String::new();
            vec![Fact::Talk(TalkFact::Chosen { by, permission, decision, option, rationale, comment })]
        }
        Some(Hold::Review(_)) if yes => vec![Fact::Talk(TalkFact::DesignApproved { by, comment })],
        Some(Hold::Review(_)) => {
            let last = run.talk.rejections.len() >= 2;
            let cancelled = if last { plan_tool::clear_current(run, &by, comment) } else { vec![] };
            let rejected = Fact::Talk(TalkFact::DesignRejected { by, why: "no".to_owned(), comment });
            std::iter::once(rejected).chain(cancelled).collect()
        }
        Some(
            Hold::Paused(_)
            | Hold::Retry(_)
            | Hold::Unclear(_)
            | Hold::Answers(_)
            | Hold::Limit(_)
            | Hold::Approval(_)
            | Hold::Escalation(_)
            | Hold::Budget(_),
        )
        | None => vec![],
    }
}

/// That what people are asked is on the thread now.
fn unposted(run: &Run, comment: CommentId) -> Vec<Fact> {
    let round = run.talk.open_round().filter(|round| round.comment.is_none());
    let round = round.map(|round| TalkFact::QuestionsPosted { round: round.number, comment });
    let design = run.talk.design.as_ref().filter(|design| design.approved.is_none());
    let decisions = design.filter(|design| design.comment.is_none() && !design.decisions.is_empty());
    let decisions = decisions.map(|_| TalkFact::DecisionsPosted { comment });
    let review = design.filter(|design| design.review.is_none() && design.summary.is_some());
    let review = review.map(|_| TalkFact::ReviewPosted { comment });
    let request = run.plan().and_then(|plan| run.open_request(plan));
    let preview = request.filter(|request| request.comments.is_empty());
    let preview = preview.map(|request| Fact::PreviewPosted {
        request: request.number,
        comments: vec![comment],
        unreadable: vec![],
    });
    [round, decisions, review].into_iter().flatten().map(Fact::Talk).chain(preview).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_model_answers_the_limits_hold(
        whims in prop::collection::vec(any_whim(), 1..12),
        total in 0_u32..6,
        separate in any::<bool>(),
        on_limit in prop_oneof![Just(OnLimit::Ask), Just(OnLimit::Continue), Just(OnLimit::Stop)],
        confirms in any::<Option<bool>>(),
        each in prop::array::uniform5(0_u32..3),
        same_trigger in prop::option::of(0_u32..3),
        (assumes, approves) in (any::<bool>(), prop_oneof![5 => Just(true), 1 => Just(false)]),
    ) {
        let [redecompositions, regenerations, partial_replans, plan_revisions, action_retries] = each;
        let replan = ReplanPolicy {
            total,
            separate_call: separate,
            on_limit,
            redecompositions,
            regenerations,
            partial_replans,
            plan_revisions,
            action_retries,
            same_trigger,
            assumes,
            ..ReplanPolicy::default()
        };
        let limits = replan.clone();
        let auto = Policy::default().auto.filter(|_| approves);
        let mut play = Play::new(&whims, Policy { replan, auto, ..Policy::default() });
        play.confirms = confirms;
        let mut turns = 0;
        while play.turn() {
            turns += 1;
            prop_assert!(turns < 3_000, "it never ends: {:?}", play.run().replans);
        }
        let run = play.run();
        // What a person only agreed to was still the model's wish.
        let own = |replan: &&Replan| replan.by.is_none() || matches!(replan.verdict, Verdict::Confirm { .. });
        let executed: Vec<&Replan> = run.replans.all.iter().filter(own).filter(|r| r.executed()).collect();
        prop_assert!(executed.len() <= total as usize, "{} of {total}", executed.len());
        for (level, most) in [
            (Level::Partial, partial_replans),
            (Level::Actions, regenerations),
            (Level::Decomposition, redecompositions),
            (Level::Goal, limits.clarifications),
        ] {
            let count = executed.iter().filter(|replan| replan.level() == Some(level)).count();
            prop_assert!(count <= most as usize, "{level:?}: {count} of {most}");
        }
        let looked_back = |replan: &&&Replan| {
            replan.phase == ReplanPhase::Reflection && replan.level() != Some(Level::Retry)
        };
        let revisions = executed.iter().filter(looked_back).count();
        prop_assert!(revisions <= plan_revisions as usize, "{revisions} of {plan_revisions} revisions");
        let open = |replan: &&Replan| {
            matches!(replan.state, ReplanState::Confirming | ReplanState::Started)
        };
        let untold: Vec<u32> = run.replans.all.iter().filter(|r| !open(r)).map(|r| r.id).filter(|id| !run.replans.recorded.contains(id)).collect();
        prop_assert!(!run.is_live() || untold.is_empty(), "nothing is said of {untold:?}");
        let most_alike = |key: &dyn Fn(&Replan) -> Option<String>| {
            let mut seen = std::collections::BTreeMap::<String, usize>::new();
            executed.iter().filter_map(|replan| key(replan)).for_each(|key| *seen.entry(key).or_default() += 1);
            seen.into_values().max().unwrap_or(0)
        };
        let is_retry = |replan: &Replan| replan.level() == Some(Level::Retry);
        let tried = most_alike(&|replan| is_retry(replan).then(|| format!("{:?}", replan.failed)));
        prop_assert!(tried <= action_retries as usize, "{tried} tries of {action_retries}");
        let caused = most_alike(&|replan| (!is_retry(replan)).then(|| replan.trigger.clone()));
        let most = same_trigger.map_or(usize::MAX, |most| most as usize);
        prop_assert!(caused <= most, "{caused} of {most} for the same reason");
        let rounds = |purpose: Purpose| {
            let of = |round: &&planwright::planning::Round| round.purpose == purpose && !round.questions.is_empty();
            run.talk.rounds.iter().filter(of).count()
        };
        prop_assert!(rounds(Purpose::Clarification) <= 2);
        // Each goal has its design.
        let goals = run.replans.all.iter().filter(|r| r.executed() && r.level() == Some(Level::Goal)).count();
        prop_assert!(rounds(Purpose::Discovery) <= 1 + goals, "{} for {goals} goals", rounds(Purpose::Discovery));
        prop_assert!(!run.is_live() || run.hold().is_some(), "it neither ended nor waits: {:?}", run);
        let unseen = crate::replans_shown::missing(run);
        prop_assert!(unseen.is_none(), "{}: {:?}", unseen.unwrap(), run.hold());
        // No box is ticked that has something undone behind it.
        if let Some(plan) = run.plan() {
            for step in &plan.steps {
                if matches!(run.step_state(plan, &step.id), StepState::Done(_)) {
                    let sealed = plan.sealed_steps.contains(&step.id);
                    let planned = plan.open_actions().any(|action| action.task_id == step.id);
                    prop_assert!(sealed || planned, "{} is done by nothing", step.id);
                }
            }
        }
    }
}

pub(crate) fn sure(confidence: f64, replan_type: ReplanType) -> Decided {
    let decision =
        ReplanDecision { replan_needed: true, confidence, replan_type, ..ReplanDecision::default() };
    Decided::Decision { decision: Box::new(decision) }
}
