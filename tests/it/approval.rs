//! Purpose: what runs is what was approved: every single change of a plan, of its ground or of an approval is found, and
//! nothing that it touches begins.
//!
//! Runs are built by the same functions that the engine uses; then exactly one thing is changed. Cases are drawn from a
//! seeded generator, so that a failure can be repeated.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use planwright::actions::{
    BadSelection, Before, DestructiveHint, Finding, Found, Ground, InScope, Offered, OperatorWord,
    OutOfScope, PutUp, RepoPath, Risk, Selection, Spec, What, action_digest, choose, examine_again,
    plan_digest, within,
};
use planwright::domain::{
    Account, AccountKind, Comment, CommentId, Event, EventKind, Millis, Permission, ThreadRef,
};
use planwright::plan::{
    Action, ActionId, ActionKind, ActionSpec, Call, Complexity, Confidence, Decided, Feedback, Goal, Step,
    StepId,
};
use planwright::planning::plan_tool::{self, Approver, Recheck, Refusal};
use planwright::planning::{
    Actor, Counts, CrewFact, Effect, Entry, Fact, InFlight, Limits, Named, Observation, Place, Policy,
    Record, Rules, Run, RunId, Trigger, interpret, next_effects,
};
use planwright::prompts::Usage;
use proptest::prelude::*;

const PREVIEW: CommentId = CommentId(1_000);

/// Splitmix64: small, and the same everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.roll() % n as u64).unwrap()
    }

    fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }

    fn word(&mut self) -> String {
        format!("w{:x}", self.roll() % 100_000)
    }
}

fn maria() -> Account {
    Account::person(2, "maria")
}

fn ann() -> Account {
    Account::person(21, "ann")
}

fn step(n: usize) -> Step {
    Step {
        id: StepId(format!("task_{n}")),
        description: format!("Step {n}"),
        dependencies: vec![],
        estimated_complexity: Complexity::Low,
        required_tools: vec![],
        rests_on: vec![],
    }
}

/// Any action of which one could approve that it runs, with what is found for it.
fn any_action(dice: &mut Dice, n: usize) -> (Action, Finding) {
    let kind = dice.of(&[
        ActionKind::Create,
        ActionKind::Write,
        ActionKind::Mkdir,
        ActionKind::Delete,
        ActionKind::Read,
        ActionKind::Analyze,
        ActionKind::Run,
        ActionKind::Tool,
    ]);
    let path = format!("dir{}/{n}-{}.md", dice.below(3), dice.word());
    let text = dice.word();
    let mut spec = ActionSpec { path: Some(path), ..ActionSpec::default() };
    let file = Found::File { bytes: 4, sha256: dice.word(), text: None };
    let (found, tool) = match kind {
        ActionKind::Create => {
            spec.content = (dice.below(3) > 0).then_some(text);
            (Found::Nothing, None)
        }
        ActionKind::Write => {
            spec.content = (dice.below(3) > 0).then_some(text);
            (dice.of(&[Found::Nothing, file]), None)
        }
        ActionKind::Mkdir => (Found::Nothing, None),
        ActionKind::Delete | ActionKind::Read => (file, None),
        ActionKind::Analyze => (Found::Nothing, None),
        ActionKind::Run => {
            spec = ActionSpec { command: vec!["make".to_owned(), text], ..ActionSpec::default() };
            (Found::Nothing, None)
        }
        ActionKind::Tool => {
            let arguments = serde_json::json!({"text": text}).as_object().cloned();
            let arguments = arguments.filter(|_| dice.below(3) > 0);
            spec = ActionSpec { arguments, ..ActionSpec::default() };
            let hint = dice.of(&[DestructiveHint::Yes, DestructiveHint::No, DestructiveHint::Missing]);
            let word = dice.of(&[OperatorWord::ReadOnly, OperatorWord::Nothing]);
            (Found::Nothing, Some(Offered { hash: dice.word(), hint, word }))
        }
    };
    let action = Action {
        id: ActionId(format!("a{n}")),
        task_id: StepId(format!("task_{}", 1 + dice.below(3))),
        action_type: kind,
        tool: if kind == ActionKind::Tool { format!("odd/echo{n}") } else { "files".to_owned() },
        purpose: dice.word(),
        expected_outcome: dice.word(),
        fallback_strategy: dice.word(),
        spec,
        optional: dice.below(4) == 0,
    };
    (action, Finding { found, tool, forbidden: None })
}

/// A run on its way, told fact by fact as the engine tells it.
#[derive(Clone)]
struct Play {
    record: Record,
    policy: Policy,
    findings: Vec<Finding>,
}

impl Play {
    fn tell(&mut self, fact: Fact) {
        let seq = self.record.seq + 1;
        let run = Some(RunId("r1".to_owned()));
        self.record.apply(&Entry { seq, at: Millis(seq * 1_000), run, fact });
    }

    fn run(&self) -> &Run {
        self.record.live_run().unwrap()
    }

    fn run_mut(&mut self) -> &mut Run {
        Arc::make_mut(self.record.run.as_mut().unwrap())
    }

    fn ids(&self) -> Vec<ActionId> {
        self.run().plan().unwrap().actions().map(|action| action.id.clone()).collect()
    }

    fn actions(&self) -> Vec<Action> {
        self.run().plan().unwrap().actions().cloned().collect()
    }

    fn spec(&self, id: &ActionId) -> &Spec {
        &self.run().plan().unwrap().specs[id]
    }

    fn ground(&self) -> &Ground {
        self.run().plan().unwrap().ground.as_ref().unwrap()
    }

    /// Writes down what only has to be written down, until somebody has to do something.
    fn settle(&mut self) {
        loop {
            let noted: Vec<Fact> = next_effects(self.run(), &InFlight::new(), &self.policy)
                .into_iter()
                .filter_map(|effect| if let Effect::Note { facts, .. } = effect { Some(facts) } else { None })
                .flatten()
                .collect();
            if noted.is_empty() {
                return;
            }
            noted.into_iter().for_each(|fact| self.tell(fact));
            if self.record.live_run().is_none() {
                return;
            }
        }
    }

    fn is_approved(&self, id: &ActionId) -> bool {
        self.run().is_approved(self.run().plan().unwrap(), id)
    }

    /// What would begin now, once the leader has given its step to a worker.
    fn begins(&self) -> Option<ActionId> {
        self.record.live_run()?;
        let mut play = self.clone();
        let assigned = |fact: &Fact| matches!(fact, Fact::Crew(CrewFact::StepAssigned { .. }));
        for effect in next_effects(self.run(), &InFlight::new(), &self.policy) {
            if let Effect::Note { facts, .. } = effect {
                facts.into_iter().filter(assigned).for_each(|fact| play.tell(fact));
            }
        }
        next_effects(play.run(), &InFlight::new(), &play.policy)
            .into_iter()
            .find_map(|effect| if let Effect::Begin { action, .. } = effect { Some(action) } else { None })
    }

    fn approve(&mut self, by: &Account, words: &str) -> Result<(), Refusal> {
        let fact = plan_tool::approve(self.run(), Approver { by, comment: CommentId(PREVIEW.0 + 1) }, words)?;
        self.tell(fact);
        Ok(())
    }

    /// What the gate says of an action in a world that may have changed; what it finds out goes to the run.
    fn passes(&mut self, id: &ActionId, finding: &Finding, ground: &Ground) -> bool {
        match plan_tool::recheck(self.run(), id, finding, ground.clone()).unwrap() {
            Recheck::Pass { .. } => true,
            Recheck::Renewed(fact) => {
                self.tell(*fact);
                false
            }
            Recheck::Impossible(_) => false,
        }
    }

    fn set_specs(&mut self, specs: Vec<Spec>, ground: Ground) {
        let key = self.run().key();
        self.tell(Fact::SpecsSet {
            key,
            actor: Actor::System,
            reason: String::new(),
            ground,
            place: place(),
            specs,
            issues: vec![],
            changed: vec!["something".to_owned()],
            counts: Counts::default(),
        });
    }
}

fn place() -> Place {
    Place { branch: "planwright/1-x".to_owned(), into: Some("main".to_owned()) }
}

/// A plan that is put up, with its preview on the thread.
fn put_up(dice: &mut Dice, policy: Policy) -> Play {
    let mut play = Play { record: Record::default(), policy, findings: vec![] };
    let usage = Usage {
        model: "m".to_owned(),
        calls: 1,
        input_tokens: 1,
        output_tokens: 1,
        cost_micro_usd: None,
        ms: 1,
    };
    play.tell(Fact::Triggered {
        by: maria(),
        permission: Permission::Write,
        how: Trigger::Assigned,
        event_at: None,
        comment: None,
        budget: Limits::default(),
        why: None,
        lang: planwright::domain::Lang::English,
    });
    let goal = Goal {
        main_objective: dice.word(),
        success_criteria: vec![],
        constraints: vec![],
        context: String::new(),
        design_choices_open: false,
    };
    let key = play.run().key();
    play.tell(Fact::GoalUnderstood {
        key,
        goal,
        usage: usage.clone(),
        hidden: 0,
        before: None,
        replan: Decided::Nothing,
    });
    let (key, steps) = (play.run().key(), vec![step(1), step(2), step(3)]);
    let (reasoning, replan) = (String::new(), Decided::Nothing);
    play.tell(Fact::Decomposed { key, reasoning, steps, usage: usage.clone(), replan });
    let count = 2 + dice.below(4);
    let (actions, findings) = (1..=count).map(|n| any_action(dice, n)).unzip();
    let key = play.run().key();
    play.tell(Fact::Sequenced { key, actions, usage, replan: Decided::Nothing });
    play.settle();
    play.findings = findings;
    let ground = Ground {
        thread: dice.word(),
        base: dice.word(),
        settings: dice.word(),
        expires: Millis(1_000_000_000 + i64::try_from(dice.below(1_000)).unwrap()),
    };
    let (report, fact) = plan_tool::set_action_specs(play.run(), &play.findings, ground, place()).unwrap();
    assert!(report.ok, "{:?}", report.issues);
    play.tell(fact);
    play.settle();
    let request = play.run().plan().unwrap().requests.last().map(|request| request.number);
    if let Some(request) = request {
        play.tell(Fact::PreviewPosted { request, comments: vec![PREVIEW], unreadable: vec![] });
    }
    play
}

fn asking() -> Policy {
    Policy { auto: None, ..Policy::default() }
}

/// One thing about an action that somebody could have changed after the approval.
fn change_action(dice: &mut Dice, action: &mut Action) -> &'static str {
    let word = dice.word();
    loop {
        match dice.below(10) {
            0 => {
                let kinds = [ActionKind::Create, ActionKind::Write, ActionKind::Mkdir, ActionKind::Delete];
                let others: Vec<ActionKind> =
                    kinds.into_iter().filter(|kind| *kind != action.action_type).collect();
                action.action_type = dice.of(&others);
                return "kind";
            }
            1 => {
                action.tool.push_str(&word);
                return "tool";
            }
            2 => {
                action.spec.path = Some(format!("elsewhere/{word}.md"));
                return "path";
            }
            3 => {
                action.spec.content = Some(action.spec.content.clone().unwrap_or_default() + &word);
                return "content";
            }
            4 => {
                action.spec.command.push(word);
                return "command";
            }
            5 => {
                action.spec.arguments.get_or_insert_default().insert(word, serde_json::json!(1));
                return "arguments";
            }
            6 => {
                action.purpose.push_str(&word);
                return "purpose";
            }
            7 => {
                action.expected_outcome.push_str(&word);
                return "expected outcome";
            }
            8 => {
                action.optional = !action.optional;
                return "optional";
            }
            9 if action.task_id.0 != "task_3" => {
                action.task_id = StepId("task_3".to_owned());
                return "step";
            }
            _ => {}
        }
    }
}

/// The ground with one thing changed.
fn change_ground(dice: &mut Dice, ground: &Ground) -> (&'static str, Ground) {
    let mut new = ground.clone();
    let what = match dice.below(4) {
        0 => {
            new.thread.push_str(&dice.word());
            "title or description"
        }
        1 => {
            new.base.push_str(&dice.word());
            "base"
        }
        2 => {
            new.settings.push_str(&dice.word());
            "settings"
        }
        _ => {
            new.expires = Millis(new.expires.0 + 1 + i64::try_from(dice.below(1_000)).unwrap());
            "expiry"
        }
    };
    (what, new)
}

/// Another state of the target, another tool, or another word about it; `None` where the action has neither.
fn change_finding(dice: &mut Dice, action: &Action, finding: &Finding) -> Option<(&'static str, Finding)> {
    if let Some(tool) = &finding.tool {
        let word = match tool.word {
            OperatorWord::ReadOnly => OperatorWord::Nothing,
            OperatorWord::Nothing => OperatorWord::ReadOnly,
        };
        let other = Offered { word, ..tool.clone() };
        if other.effect() != tool.effect() && dice.below(2) == 0 {
            return Some(("tool effect", Finding { tool: Some(other), ..finding.clone() }));
        }
        let hash = format!("{}{}", tool.hash, dice.word());
        return Some((
            "tool hash",
            Finding { tool: Some(Offered { hash, ..tool.clone() }), ..finding.clone() },
        ));
    }
    action.spec.path.as_ref()?;
    let (one, two) = (format!("other{}", dice.word()), dice.word());
    let other = dice.of(&[
        Found::Nothing,
        Found::File { bytes: 4, sha256: one, text: None },
        Found::File { bytes: 5, sha256: two, text: None },
        Found::Directory,
        Found::Other,
    ]);
    (other != finding.found).then(|| ("state before", Finding { found: other, ..finding.clone() }))
}

/// The action neither counts as approved nor begins.
fn assert_waits(play: &Play, id: &ActionId, what: &str) {
    assert!(!play.is_approved(id), "{what}: {id} still counts as approved");
    assert_ne!(play.begins().as_ref(), Some(id), "{what}: {id} begins");
}

/// And they do not begin by themselves either, once what follows is written down.
fn assert_stand_still(mut play: Play, ids: &[ActionId], what: &str) {
    ids.iter().for_each(|id| assert_waits(&play, id, what));
    play.settle();
    let begins = play.begins();
    assert!(
        begins.as_ref().is_none_or(|id| !ids.contains(id)),
        "{what}: {begins:?} begins once all is noted"
    );
}

fn control(play: &Play) {
    let mut same = play.clone();
    let first = same.begins().unwrap();
    let n = play.actions().iter().position(|action| action.id == first).unwrap();
    let (finding, ground) = (play.findings[n].clone(), play.ground().clone());
    assert!(same.passes(&first, &finding, &ground), "what is unchanged passes");
    assert_eq!(same.record, play.record, "and nothing is put up anew");
}

#[test]
fn no_single_change_after_the_approval_is_accepted() {
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    std::thread::scope(|scope| {
        let tries = [1, 2, 3, 4].map(|seed| scope.spawn(move || try_changes(seed, 25_000)));
        for (what, count) in tries.into_iter().flat_map(|tried| tried.join().unwrap()) {
            *seen.entry(what).or_default() += count;
        }
    });
    assert!(seen.values().sum::<u32>() >= 100_000);
    assert_eq!(seen.len(), 31, "every kind of change was tried: {seen:?}");
    assert!(seen.values().all(|count| *count > 500), "{seen:?}");
}

fn try_changes(seed: u64, cases: u32) -> BTreeMap<&'static str, u32> {
    let (mut dice, mut seen) = (Dice(seed), BTreeMap::new());
    while seen.values().sum::<u32>() < cases {
        let mut approved = put_up(&mut dice, asking());
        let open = approved.clone();
        approved.approve(&ann(), "").unwrap();
        control(&approved);
        for _ in 0..100 {
            let what = match dice.below(4) {
                0 => changed_plan(&mut dice, &approved),
                1 => changed_world(&mut dice, &approved),
                2 => changed_approval(&mut dice, &approved),
                _ => changed_asking(&mut dice, &open),
            };
            *seen.entry(what.unwrap_or("nothing")).or_default() += u32::from(what.is_some());
        }
    }
    seen.remove("nothing");
    seen
}

fn changed_plan(dice: &mut Dice, approved: &Play) -> Option<&'static str> {
    let mut play = approved.clone();
    let mut actions = play.actions();
    let n = dice.below(actions.len());
    let ground = play.ground().clone();
    if dice.below(8) == 0 {
        // A plan in another order is told by other numbers.
        let m = (n + 1) % actions.len();
        actions.swap(n, m);
        let (one, other) = (actions[n].id.clone(), actions[m].id.clone());
        (actions[n].id, actions[m].id) = (other, one);
        play.findings.swap(n, m);
        let changed = [actions[n].id.clone(), actions[m].id.clone()];
        sequence_of(&mut play, actions);
        let (_, fact) = plan_tool::set_action_specs(play.run(), &play.findings, ground, place()).unwrap();
        play.tell(fact);
        assert_stand_still(play, &changed, "order");
        return Some("order");
    }
    let what = change_action(dice, &mut actions[n]);
    let id = actions[n].id.clone();
    sequence_of(&mut play, actions);
    // Looked at afresh, as after every change of a plan; an action that is impossible now has no spec at all.
    match examine_again(&[], &play.actions()[n], &play.findings[n]) {
        Ok(mut spec) => {
            spec.digest = action_digest(&play.actions()[n], &spec, &ground);
            play.set_specs(vec![spec], ground);
        }
        Err(_) => drop(play.run_mut().revisions.last_mut().unwrap().specs.remove(&id)),
    }
    assert_stand_still(play, std::slice::from_ref(&id), what);
    Some(what)
}

fn sequence_of(play: &mut Play, actions: Vec<Action>) {
    play.run_mut().revisions.last_mut().unwrap().sequence.as_mut().unwrap().actions = actions;
}

fn changed_world(dice: &mut Dice, approved: &Play) -> Option<&'static str> {
    let mut play = approved.clone();
    let actions = play.actions();
    let n = dice.below(actions.len());
    let id = actions[n].id.clone();
    if dice.below(2) == 0 {
        let (what, ground) = change_ground(dice, play.ground());
        let finding = play.findings[n].clone();
        assert!(!play.passes(&id, &finding, &ground), "{what}");
        let ids = play.ids();
        assert_stand_still(play, &ids, what);
        return Some(what);
    }
    let (what, finding) = change_finding(dice, &actions[n], &approved.findings[n])?;
    let ground = play.ground().clone();
    let possible = examine_again(&[], &actions[n], &finding).is_ok();
    assert!(!play.passes(&id, &finding, &ground), "{what}");
    if possible {
        assert_stand_still(play.clone(), std::slice::from_ref(&id), what);
        for other in actions.iter().filter(|other| other.id != id) {
            assert!(play.is_approved(&other.id), "only the difference is put up: {}", other.id);
        }
    }
    Some(what)
}

/// The approval itself is not what was given.
fn changed_approval(dice: &mut Dice, approved: &Play) -> Option<&'static str> {
    let mut play = approved.clone();
    let actions = play.actions();
    let id = dice.of(&actions).id;
    let word = dice.word();
    let kind = dice.below(4);
    let plan = play.run_mut().revisions.last_mut().unwrap();
    let approval = plan.approvals.last_mut().unwrap();
    let what = match kind {
        0 => {
            let ground = Ground { thread: word, ..plan.ground.clone().unwrap() };
            let other = action_digest(&actions[0], &plan.specs[&actions[0].id], &ground);
            approval.actions.insert(id.clone(), other);
            "digest in the approval"
        }
        1 => {
            let digest = approval.actions.remove(&id).unwrap();
            approval.actions.insert(ActionId("a99".to_owned()), digest);
            "id in the approval"
        }
        2 => {
            approval.actions.remove(&id);
            "approval without it"
        }
        _ => {
            let request = plan.requests.last_mut().unwrap();
            request.wanted.get_mut(&id).unwrap().digest = word;
            // Put up anew as what it is, it is what was approved; so only until then.
            assert_waits(&play, &id, "digest in the request");
            return Some("digest in the request");
        }
    };
    assert_stand_still(play, std::slice::from_ref(&id), what);
    Some(what)
}

/// Approvals that are refused, or count for less than they say.
fn changed_asking(dice: &mut Dice, open: &Play) -> Option<&'static str> {
    let mut play = open.clone();
    let (by, words) = (ann(), "");
    let before = play.record.clone();
    let ask = |play: &Play, by: &Account, comment: i64, words: &str| {
        plan_tool::approve(play.run(), Approver { by, comment: CommentId(comment) }, words)
    };
    let request = play.run().plan().unwrap().requests.last().unwrap().clone();
    let what = match dice.below(9) {
        0 => {
            let earlier = PREVIEW.0 - i64::try_from(dice.below(1_000)).unwrap();
            assert_eq!(ask(&play, &by, earlier, words), Err(Refusal::TooOld));
            "words older than the preview"
        }
        1 => {
            play.run_mut().revisions.last_mut().unwrap().requests.last_mut().unwrap().comments.clear();
            assert_eq!(ask(&play, &by, PREVIEW.0 + 1, words), Err(Refusal::TooOld));
            return Some("no preview yet");
        }
        2 => {
            play.tell(Fact::PreviewTampered { by: Some(maria()), request: request.number });
            assert_eq!(ask(&play, &by, PREVIEW.0 + 1, words), Err(Refusal::NothingAsked));
            let ids = play.ids();
            assert_stand_still(play, &ids, "void");
            return Some("void preview");
        }
        3 => {
            let other = plan_digest([dice.word().as_str()]);
            let refused = ask(&play, &by, PREVIEW.0 + 1, &other[..12]);
            assert!(matches!(refused, Err(Refusal::OtherPlan(_))), "{refused:?}");
            "digest of another plan"
        }
        4 => {
            // The ground moved after the preview was read: the request is not about the plan as it is.
            let (_, ground) = change_ground(dice, play.ground());
            let (_, fact) = plan_tool::set_action_specs(play.run(), &play.findings, ground, place()).unwrap();
            play.tell(fact);
            assert_eq!(ask(&play, &by, PREVIEW.0 + 1, words), Err(Refusal::NothingAsked));
            let ids = play.ids();
            assert_stand_still(play, &ids, "stale request");
            return Some("stale request");
        }
        5 => {
            let refused = ask(&play, &by, PREVIEW.0 + 1, &format!("1,{}", 50 + dice.below(900)));
            assert!(matches!(refused, Err(Refusal::Selection(BadSelection::Unknown(_)))), "{refused:?}");
            "unknown number"
        }
        6 => return approved_by_too_few(dice, open),
        7 => return approved_by_the_requester(open),
        _ => return approved_by_a_bot(open),
    };
    assert_eq!(play.record, before);
    let ids = play.ids();
    assert_stand_still(play, &ids, what);
    Some(what)
}

fn strict(open: &Play, change: impl FnOnce(&mut planwright::planning::Request)) -> (Play, Vec<ActionId>) {
    let mut play = open.clone();
    let plan = play.run_mut().revisions.last_mut().unwrap();
    let high: Vec<ActionId> =
        plan.specs.values().filter(|spec| spec.risk == Risk::High).map(|spec| spec.id.clone()).collect();
    change(plan.requests.last_mut().unwrap());
    (play, high)
}

fn approved_by_too_few(dice: &mut Dice, open: &Play) -> Option<&'static str> {
    let (mut play, high) = strict(open, |request| {
        request.wanted.values_mut().for_each(|wanted| wanted.approvals = 2);
    });
    for _ in 0..=dice.below(3) {
        play.approve(&ann(), "").unwrap();
    }
    let ids = play.ids();
    assert_stand_still(play.clone(), &ids, "one person of two");
    play.approve(&Account::person(22, "bob"), "").unwrap();
    assert!(high.iter().all(|id| play.is_approved(id)), "two people are enough");
    Some("the same person again")
}

fn approved_by_the_requester(open: &Play) -> Option<&'static str> {
    let (mut play, high) = strict(open, |request| request.not_requester = true);
    if high.is_empty() {
        return None;
    }
    // Refused when there is nothing else; otherwise the rest counts.
    let all_high = high.len() == play.actions().len();
    assert_eq!(play.approve(&maria(), "").is_err(), all_high);
    assert_stand_still(play, &high, "the requester");
    Some("the requester")
}

fn approved_by_a_bot(open: &Play) -> Option<&'static str> {
    let mut play = open.clone();
    let thread: ThreadRef = "local:sample#1".parse().unwrap();
    let robot = Account { kind: AccountKind::Bot, ..Account::person(9, "robot") };
    let comment = Comment {
        id: CommentId(PREVIEW.0 + 1),
        author: robot.clone(),
        body: "/approve".to_owned(),
        created_at: None,
        edited: false,
        on: None,
    };
    let event = Event { thread, actor: robot, at: None, kind: EventKind::CommentCreated { comment } };
    let rules = Rules {
        enabled: true,
        on_assign: true,
        on_label: None,
        on_mention: true,
        budget: Limits::default(),
        lang: None,
        broken_file: None,
    };
    let me = Account::person(1, "planwright");
    let seen = Observation {
        bot: &me,
        rules: &rules,
        permission: Some(Permission::Admin),
        thread: None,
        preview: None,
        ticks: None,
        now: Millis(5),
    };
    for fact in interpret(&play.record, &event, &seen) {
        assert!(!matches!(fact, Fact::Approved { .. }), "a bot approves");
        play.tell(fact);
    }
    let ids = play.ids();
    assert_stand_still(play, &ids, "a bot");
    Some("a bot")
}

/// What the settings let through is bound to its digest just as well, and high risks are never among it.
#[test]
fn what_the_settings_let_through_is_bound_as_well() {
    let mut dice = Dice(7);
    for _ in 0..500 {
        let auto = dice.of(&[Risk::Low, Risk::Medium, Risk::High]);
        let play = put_up(&mut dice, Policy { auto: Some(auto), ..Policy::default() });
        for action in play.actions() {
            let risk = play.spec(&action.id).risk;
            let passes = risk <= auto && risk != Risk::High;
            assert_eq!(play.is_approved(&action.id), passes, "{risk:?} under {auto:?}");
            if passes {
                let mut changed = play.clone();
                let spec = Spec { digest: dice.word(), ..play.spec(&action.id).clone() };
                changed.set_specs(vec![spec], play.ground().clone());
                // Then the settings are asked again.
                assert_waits(&changed, &action.id, "by the settings");
                let mut other_tool = play.clone();
                let old = play.spec(&action.id).clone();
                let tool_hash = old.tool_hash.as_ref().map(|_| dice.word());
                other_tool.set_specs(
                    vec![Spec { digest: dice.word(), tool_hash, ..old.clone() }],
                    play.ground().clone(),
                );
                other_tool.settle();
                let asks = old.tool_hash.is_some();
                assert_eq!(!other_tool.is_approved(&action.id), asks, "a tool that changed takes a person");
            }
        }
    }
}

/// An approval that was given counts again when exactly what it was given for is back, and for nothing else.
#[test]
fn an_approval_of_something_else_never_wakes_up() {
    let mut dice = Dice(11);
    for _ in 0..300 {
        let mut play = put_up(&mut dice, asking());
        play.approve(&ann(), "").unwrap();
        let (finding, id) = (play.findings[0].clone(), play.actions()[0].id.clone());
        for _ in 0..4 {
            let (what, ground) = change_ground(&mut dice, play.ground());
            assert!(!play.passes(&id, &finding, &ground), "{what}");
            play.settle();
            assert_stand_still(play.clone(), std::slice::from_ref(&id), what);
            let request = play.run().plan().unwrap().requests.last().unwrap().number;
            play.tell(Fact::PreviewPosted {
                request,
                comments: vec![CommentId(PREVIEW.0 + i64::from(request))],
                unreadable: vec![],
            });
        }
    }
}

fn named_fact_is_ignored(play: &mut Play, id: &ActionId) {
    play.tell(Fact::Approved {
        actor: Actor::User,
        by: Some(ann()),
        reason: String::new(),
        request: Some(77),
        actions: vec![Named { id: id.clone(), digest: "f00".to_owned() }],
        left_out: vec![],
        note: String::new(),
        comment: None,
        counts: Counts::default(),
    });
}

#[test]
fn an_approval_fact_of_another_request_or_digest_changes_nothing() {
    let mut dice = Dice(13);
    for _ in 0..300 {
        let mut play = put_up(&mut dice, asking());
        let id = dice.of(&play.actions()).id;
        named_fact_is_ignored(&mut play, &id);
        assert_stand_still(play, std::slice::from_ref(&id), "foreign approval");
    }
}

fn call_table() -> Vec<(ActionKind, Call, bool)> {
    use ActionKind as K;
    let write = |path: &str| Call::WriteFile { path: path.to_owned(), content: "x".to_owned() };
    let read = |path: &str| Call::ReadFile { path: path.to_owned() };
    let list = |path: Option<&str>| Call::ListFiles { path: path.map(str::to_owned) };
    let tool = |name: &str| Call::CallTool { name: name.to_owned(), arguments: serde_json::Map::new() };
    let run = || Call::RunCommand { command: vec!["true".to_owned()] };
    let feedback = Feedback::Exploration {
        findings: String::new(),
        recommendations: vec![],
        confidence: Confidence::High,
    };
    let every = [K::Create, K::Write, K::Mkdir, K::Delete, K::Read, K::Analyze, K::Run, K::Tool];
    let mut table = vec![];
    for kind in every {
        let writes = matches!(kind, K::Create | K::Write);
        table.extend([
            (kind, write("src/a.rs"), writes),
            (kind, write("./src//a.rs"), writes),
            (kind, write("src/b.rs"), false),
            (kind, write("src/a.rs/../b.rs"), false),
            (kind, write("SRC/a.rs"), false),
            (kind, write("/etc/passwd"), false),
            (kind, write(".git/config"), false),
            (kind, write("src/a.rs\u{200b}"), false),
            (kind, read("README.md"), true),
            (kind, read("../x"), false),
            (kind, read("/proc/self/environ"), false),
            (kind, read(".git/config"), false),
            (kind, read("sub/.GIT/config"), false),
            (kind, list(None), true),
            (kind, list(Some(".")), true),
            (kind, list(Some("..")), false),
            (kind, list(Some(".git")), false),
            (kind, tool("odd/echo"), kind == K::Tool),
            (kind, tool("odd/other"), false),
            (kind, tool("odd/echo "), false),
            (kind, tool("ODD/ECHO"), false),
            (kind, run(), false),
            (kind, Call::Report { feedback: feedback.clone() }, true),
            (kind, Call::Finish { feedback: feedback.clone() }, true),
        ]);
    }
    table
}

#[test]
fn a_worker_calls_what_its_action_allows_and_nothing_else() {
    for (kind, call, allowed) in call_table() {
        let (mut action, _) = any_action(&mut Dice(1), 1);
        action.action_type = kind;
        action.tool = "odd/echo".to_owned();
        action.spec.path = Some("src/a.rs".to_owned());
        let said = within(&action, &call);
        assert_eq!(said.is_ok(), allowed, "{kind:?} {call:?}: {said:?}");
        match said {
            Ok(InScope::Write(path, _)) => assert_eq!(path.as_str(), "src/a.rs"),
            Ok(
                InScope::Read(_) | InScope::List(_) | InScope::Tool(_) | InScope::Report | InScope::Finish,
            ) => {}
            Err(
                why @ (OutOfScope::BadPath(_)
                | OutOfScope::OtherPath { .. }
                | OutOfScope::NoWriting
                | OutOfScope::OtherTool { .. }
                | OutOfScope::NoTools
                | OutOfScope::NoCommands),
            ) => assert!(why.to_string().starts_with("refused: "), "{why}"),
        }
    }
}

#[test]
fn words_of_an_approval_mean_what_they_say_or_nothing() {
    // After a program or a tool everything else builds on it; here each action stands alone.
    let alone = |play: &Play| {
        let actions = play.actions();
        let blurs = |action: &Action| matches!(action.action_type, ActionKind::Run | ActionKind::Tool);
        actions.len() == 5 && !actions.iter().any(blurs)
    };
    let mut dice = Dice(3);
    let play = std::iter::repeat_with(|| put_up(&mut dice, asking())).find(alone).unwrap();
    let digest = play.run().plan().unwrap().requests.last().unwrap().digest.clone();
    let ids = |words: &str| -> Result<Vec<String>, Refusal> {
        let fact = plan_tool::approve(
            play.run(),
            Approver { by: &ann(), comment: CommentId(PREVIEW.0 + 1) },
            words,
        )?;
        let Fact::Approved { actions, .. } = fact else { unreachable!() };
        Ok(actions.into_iter().map(|named| named.id.0).collect())
    };
    for (words, expected) in [
        ("", "a1 a2 a3 a4 a5"),
        ("all", "a1 a2 a3 a4 a5"),
        ("1-3,5", "a1 a2 a3 a5"),
        ("1, 2 and 4", "a1 a2 a4"),
        ("except 4", "a1 a2 a3 a5"),
        ("all except 2-3", "a1 a4 a5"),
        ("2 looks good to me", "a2"),
        ("#2 #3", "a2 a3"),
        ("a2", "a2"),
        ("2 2 2", "a2"),
        ("1–2", "a1 a2"),
        (&digest[..6], "a1 a2 a3 a4 a5"),
        (&format!("{} 3", &digest[..10]), "a3"),
    ] {
        assert_eq!(ids(words).unwrap().join(" "), expected, "{words:?}");
    }
    for words in [
        "6",
        "0",
        "1,6",
        "3-9",
        "3-1",
        "except 9",
        "except",
        "only the first",
        "yes",
        "go ahead",
        "1,please",
        "task_9",
        "-1",
        "1.5",
        "99999999999",
        "ticked",
        "everything",
        "not 3",
        "abcdef0",
        "1-2000",
    ] {
        assert!(ids(words).is_err(), "{words:?} approves {:?}", ids(words));
    }
}

/// Steps that wait for each other, with actions that build on each other.
fn any_put_up(dice: &mut Dice) -> (Vec<Step>, Vec<Action>, BTreeMap<ActionId, Spec>) {
    let play = put_up(dice, asking());
    let mut steps: Vec<Step> = (1..=3).map(step).collect();
    if dice.below(2) == 0 {
        steps[1].dependencies = vec![steps[0].id.clone()];
    }
    if dice.below(2) == 0 {
        steps[2].dependencies = vec![steps[dice.below(2)].id.clone()];
    }
    let actions = play.actions();
    let mut specs = play.run().plan().unwrap().specs.clone();
    for n in 1..actions.len() {
        if dice.below(3) == 0 {
            let on = actions[dice.below(n)].id.clone();
            specs.get_mut(&actions[n].id).unwrap().preflight.before = Before::After { action: on };
        }
    }
    (steps, actions, specs)
}

#[test]
fn a_choice_is_never_more_than_was_asked_and_never_without_its_ground() {
    let mut dice = Dice(17);
    let mut put_up = any_put_up(&mut dice);
    for round in 1..20_000 {
        if round % 50 == 0 {
            put_up = any_put_up(&mut dice);
        }
        let (steps, actions, specs) = &put_up;
        let pick = |dice: &mut Dice| -> BTreeSet<ActionId> {
            actions.iter().filter(|_| dice.below(2) == 0).map(|action| action.id.clone()).collect()
        };
        let (asked, settled, ticked) = (pick(&mut dice), pick(&mut dice), pick(&mut dice));
        let settled: BTreeSet<ActionId> = settled.difference(&asked).cloned().collect();
        let waiting: BTreeSet<ActionId> = pick(&mut dice).intersection(&settled).cloned().collect();
        let up = PutUp {
            steps,
            actions,
            specs,
            asked: &asked,
            settled: &settled,
            waiting: &waiting,
            ticked: &ticked,
        };
        let words = any_words(&mut dice);
        let Ok(selection) = Selection::parse(&words) else { continue };
        let Ok(choice) = choose(&selection.what, &up) else { continue };
        assert!(choice.chosen.is_subset(&asked), "{words}: {choice:?} of {asked:?}");
        if selection.what == What::Ticked {
            assert!(choice.chosen.is_subset(&ticked), "{words}: {choice:?}");
        }
        let out: BTreeSet<&ActionId> = choice.ungrounded.iter().map(|(id, _)| id).collect();
        let stays = waiting.iter().filter(|id| !out.contains(id));
        for id in choice.chosen.iter().chain(stays) {
            let stands =
                |on: &ActionId| (choice.chosen.contains(on) || settled.contains(on)) && !out.contains(on);
            if let Before::After { action } = &specs[id].preflight.before {
                assert!(stands(action), "{words}: {id} without {action}");
            }
            let own = actions.iter().find(|action| action.id == *id).unwrap();
            let step = steps.iter().find(|step| step.id == own.task_id).unwrap();
            for on in &step.dependencies {
                let missing = actions.iter().find(|a| a.task_id == *on && !a.optional && !stands(&a.id));
                assert_eq!(missing.map(|action| &action.id), None, "{words}: {id} needs {on}");
            }
        }
    }
}

fn any_words(dice: &mut Dice) -> String {
    let count = dice.below(5);
    let pieces = [
        "1", "2", "3", "4", "9", "1-2", "2-4", "task_1", "task_2", "task_7", "except", "all", "ticked", ",",
        "and", "a2", "please", "abc123",
    ];
    (0..count).map(|_| dice.of(&pieces)).collect::<Vec<_>>().join(" ")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is written, a path stays below the root, out of git's directory, and is its own normal form.
    #[test]
    fn a_path_never_escapes(text in "([a-zA-Z.~:\\\\/ \\u{200b}\\u{0}é-]|\\.\\./|/|\\.git|\\./){0,12}") {
        if let Ok(path) = text.parse::<RepoPath>() {
            let root = std::path::Path::new("/srv/tree");
            let joined = root.join(path.as_str());
            prop_assert!(joined.starts_with(root) && joined != root);
            let plain = joined.components().all(|part| !matches!(
                part, std::path::Component::ParentDir | std::path::Component::CurDir
            ));
            prop_assert!(plain, "{path}");
            prop_assert!(path.parts().all(|part| !part.eq_ignore_ascii_case(".git") && !part.is_empty()), "{path}");
            prop_assert!(!path.as_str().chars().any(|c| c.is_control() || c == '\\'), "{path}");
            prop_assert_eq!(path.as_str().parse::<RepoPath>().unwrap(), path);
        }
    }

    #[test]
    fn any_words_at_all_are_read_without_harm(text in "\\PC{0,60}") {
        if let Ok(selection) = Selection::parse(&text) {
            // Nothing but silence, “all” or a digest means everything.
            if selection.what == What::All {
                let first = text.split_whitespace().next().unwrap_or("").trim_matches(|c| c == ',' || c == '#');
                let digest = selection.digest.is_some();
                prop_assert!(first.is_empty() || first.eq_ignore_ascii_case("all") || digest, "{text:?}");
            }
        }
    }
}
