//! Purpose: the operations of [`planwright::planning::plan_tool`], each by its name, through whole lives of a plan: which
//! state follows on which, and what the journal keeps of each: who, why, and how much.

use planwright::actions::{Finding, Found, Ground};
use planwright::domain::{Account, CommentId, Millis, Permission};
use planwright::plan::{Action, ActionId, ActionKind, ActionSpec, Complexity, Decided, Goal, Step, StepId};
use planwright::planning::plan_tool::{self, Approver, Pending, Recheck, Refusal};
use planwright::planning::{
    Effect, Entry, Evidence, Fact, Limits, Outcome, Place, PlanStatus, Policy, Record, RunId, Trigger,
};
use planwright::prompts::Usage;
use serde_json::Value;

const PREVIEW: CommentId = CommentId(100);

fn maria() -> Account {
    Account::person(2, "maria")
}

/// A plan on its way, with the journal as it would be written.
struct Life {
    record: Record,
    policy: Policy,
    journal: Vec<Value>,
    actions: Vec<Action>,
}

impl Life {
    fn tell(&mut self, fact: Fact) {
        self.journal.push(serde_json::to_value(&fact).unwrap());
        let seq = self.record.seq + 1;
        let run = Some(RunId("r1".to_owned()));
        self.record.apply(&Entry { seq, at: Millis(seq), run, fact });
    }

    fn run(&self) -> &planwright::planning::Run {
        self.record.run.as_deref().unwrap()
    }

    fn status(&self) -> PlanStatus {
        let state = plan_tool::get_state(self.run()).unwrap();
        let all = plan_tool::list([&self.record]);
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].status, all[0].version), (state.status, state.version), "both say the same");
        let current = plan_tool::get_current(&self.record);
        assert_eq!(
            current.is_some(),
            self.record.live_run().is_some(),
            "only a live plan is the current one"
        );
        state.status
    }

    /// What only has to be written down.
    fn note(&mut self) {
        loop {
            let effects = self.record.live_run().map(|run| plan_tool::execute(run, &self.policy));
            let noted = effects.into_iter().flatten().filter_map(|effect| {
                if let Effect::Note { facts, .. } = effect { Some(facts) } else { None }
            });
            let facts: Vec<Fact> = noted.flatten().collect();
            if facts.is_empty() {
                return;
            }
            facts.into_iter().for_each(|fact| self.tell(fact));
        }
    }

    /// Two actions for one step, up to the moment in which they can be proposed.
    fn begin() -> Self {
        Self::of(vec![action(1), action(2)])
    }

    fn of(actions: Vec<Action>) -> Self {
        let policy = Policy { delivers: false, ..Policy::default() };
        let policy = Policy {
            replan: planwright::planning::ReplanPolicy { enabled: false, ..policy.replan },
            ..policy
        };
        let mut life = Self { record: Record::default(), policy, journal: vec![], actions };
        life.tell(Fact::Triggered {
            by: maria(),
            permission: Permission::Write,
            how: Trigger::Mentioned,
            event_at: None,
            comment: None,
            budget: Limits::default(),
            why: None,
            lang: planwright::domain::Lang::default(),
        });
        let goal = Goal {
            main_objective: "Greet people".to_owned(),
            success_criteria: vec![],
            constraints: vec![],
            context: "because".to_owned(),
            design_choices_open: false,
        };
        let (key, replan) = (life.run().key(), Decided::Nothing);
        life.tell(Fact::GoalUnderstood { key, goal, usage: usage(), hidden: 0, before: None, replan });
        let step = Step {
            id: StepId("task_1".to_owned()),
            description: "Do it".to_owned(),
            dependencies: vec![],
            estimated_complexity: Complexity::Low,
            required_tools: vec![],
            rests_on: vec![],
        };
        let (key, reasoning) = (life.run().key(), String::new());
        life.tell(Fact::Decomposed {
            key,
            reasoning,
            steps: vec![step],
            usage: usage(),
            replan: Decided::Nothing,
        });
        life.sequence();
        life
    }

    fn sequence(&mut self) {
        let key = self.run().key();
        self.tell(Fact::Sequenced {
            key,
            actions: self.actions.clone(),
            usage: usage(),
            replan: Decided::Nothing,
        });
    }

    fn propose(&mut self) {
        let proposed = plan_tool::propose(self.run()).unwrap();
        self.tell(proposed);
    }

    fn set_action_specs(&mut self) {
        let set =
            plan_tool::set_action_specs(self.run(), &vec![finding(); self.actions.len()], ground(), place());
        let (report, fact) = set.unwrap();
        assert!(report.ok && report.normalized.len() == self.actions.len(), "{report:?}");
        self.tell(fact);
    }

    fn request_approval(&mut self) {
        let plan = self.run().plan().unwrap();
        let specs: Vec<_> = plan.specs.values().collect();
        let fact = plan_tool::request_approval(self.run(), plan, &specs, &self.policy);
        let Fact::ApprovalRequested { request, .. } = fact else { unreachable!() };
        self.tell(fact);
        let comment = CommentId(PREVIEW.0 + i64::from(request));
        self.tell(Fact::PreviewPosted { request, comments: vec![comment], unreadable: vec![] });
    }

    fn approve(&mut self) {
        let approver = Approver { by: &maria(), comment: CommentId(1_000) };
        let approved = plan_tool::approve(self.run(), approver, "").unwrap();
        self.tell(approved);
    }

    /// Up to the moment in which people are asked.
    fn asked() -> Self {
        let mut life = Self::begin();
        assert_eq!(plan_tool::get_state(life.run()), None, "there is no plan before it is proposed");
        life.propose();
        assert_eq!(life.status(), PlanStatus::Proposed);
        life.set_action_specs();
        assert_eq!(life.status(), PlanStatus::PendingReview);
        life.request_approval();
        assert_eq!(life.status(), PlanStatus::PendingReview);
        let preview = plan_tool::preview(life.run().plan().unwrap());
        assert_eq!(preview.files, ["notes/1.md", "notes/2.md"]);
        life
    }

    fn carry_out(&mut self, id: &str) {
        let id = ActionId(id.to_owned());
        let Ok(Recheck::Pass { digest }) = plan_tool::recheck(self.run(), &id, &finding(), ground()) else {
            panic!("what is unchanged passes")
        };
        let begun = plan_tool::begin(self.run(), &id, digest);
        self.tell(begun);
        assert_eq!(self.status(), PlanStatus::Executing);
        let (key, evidence) = (self.run().key_of(&id), Evidence::default());
        let (expected, actual) = (String::new(), String::new());
        self.tell(Fact::ActionEnded {
            key,
            action: id,
            outcome: Outcome::Succeeded,
            evidence,
            expected,
            actual,
        });
    }

    /// Every fact about the plan says who, why and how much.
    fn kept(&self) -> Vec<String> {
        let about = self.journal.iter().filter(|fact| fact["counts"].is_object());
        about
            .map(|fact| {
                assert!(!fact["reason"].as_str().unwrap().is_empty(), "{fact}");
                let text = |name: &str| fact[name].as_str().unwrap().to_owned();
                format!(
                    "{} by {}: {} ({} actions on {} files)",
                    text("type"),
                    text("actor"),
                    text("reason"),
                    fact["counts"]["specs"],
                    fact["counts"]["files"]
                )
            })
            .collect()
    }
}

fn usage() -> Usage {
    Usage { model: "m".to_owned(), calls: 1, input_tokens: 1, output_tokens: 1, cost_micro_usd: None, ms: 1 }
}

fn action(n: u32) -> Action {
    Action {
        id: ActionId(format!("a{n}")),
        task_id: StepId("task_1".to_owned()),
        action_type: ActionKind::Create,
        tool: "files".to_owned(),
        purpose: "write".to_owned(),
        expected_outcome: String::new(),
        fallback_strategy: String::new(),
        spec: ActionSpec {
            path: Some(format!("notes/{n}.md")),
            content: Some("x".to_owned()),
            ..ActionSpec::default()
        },
        optional: false,
    }
}

fn finding() -> Finding {
    Finding { found: Found::Nothing, tool: None, forbidden: None }
}

fn ground() -> Ground {
    Ground {
        thread: "t".to_owned(),
        base: "b".to_owned(),
        settings: "s".to_owned(),
        expires: Millis(1_000_000),
    }
}

fn place() -> Place {
    Place { branch: "planwright/1-x".to_owned(), into: Some("main".to_owned()) }
}

#[test]
fn a_plan_is_proposed_approved_carried_out_and_completed() {
    let mut life = Life::asked();
    // Held back first, so that it is approved and not yet scheduled.
    let paused = plan_tool::mark_pending(&maria(), Pending::Yes, None);
    life.tell(paused);
    life.approve();
    assert_eq!(life.status(), PlanStatus::Approved);
    assert_eq!(plan_tool::execute(life.run(), &life.policy), vec![], "nothing is done while it is held back");
    let resumed = plan_tool::mark_pending(&maria(), Pending::No, None);
    life.tell(resumed);
    assert_eq!(life.status(), PlanStatus::Scheduled);
    let begins = |life: &Life, id: &str| {
        let effects = plan_tool::execute(life.run(), &life.policy);
        matches!(&effects[..], [Effect::Begin { action, .. }] if action.0 == id)
    };
    life.note();
    assert!(begins(&life, "a1"));
    life.carry_out("a1");
    assert!(begins(&life, "a2"));
    life.carry_out("a2");
    life.note();
    assert_eq!(life.status(), PlanStatus::Completed);
    assert_eq!(plan_tool::get_current(&life.record), None);
    insta::assert_snapshot!(life.kept().join("\n"), @"
    plan_proposed by ai: the actions for each step are chosen (2 actions on 2 files)
    specs_set by system: every action is possible (2 actions on 2 files)
    approval_requested by system: people decide about these (2 actions on 2 files)
    approved by user: everything that was put up (2 actions on 2 files)
    executed by ai: every approved action has ended (2 actions on 2 files)
    completed by system: the plan is carried out (2 actions on 2 files)
    ");
}

#[test]
fn a_plan_that_is_turned_down_is_proposed_anew() {
    let mut life = Life::asked();
    let approver = Approver { by: &maria(), comment: CommentId(1_000) };
    let rejected = plan_tool::reject(life.run(), approver, "other names, please").unwrap();
    life.tell(rejected);
    assert_eq!(plan_tool::get_state(life.run()), None, "the next one is not proposed yet");
    life.sequence();
    life.propose();
    assert_eq!(life.status(), PlanStatus::Proposed);
    life.set_action_specs();
    assert_eq!(life.status(), PlanStatus::PendingReview);
    insta::assert_snapshot!(life.kept().join("\n"), @"
    plan_proposed by ai: the actions for each step are chosen (2 actions on 2 files)
    specs_set by system: every action is possible (2 actions on 2 files)
    approval_requested by system: people decide about these (2 actions on 2 files)
    rejected by user: other names, please (2 actions on 2 files)
    plan_proposed by ai: the actions for each step are chosen (2 actions on 2 files)
    specs_set by system: every action is possible (2 actions on 2 files)
    ");
}

#[test]
fn a_plan_can_be_ended_at_every_state() {
    let states: [fn(&mut Life); 4] = [
        |_| {},
        |life| life.approve(),
        |life| {
            life.approve();
            life.carry_out("a1");
        },
        |life| {
            life.approve();
            let begun = plan_tool::begin(life.run(), &ActionId("a1".to_owned()), "d".to_owned());
            life.tell(begun);
        },
    ];
    for so_far in states {
        let mut life = Life::asked();
        so_far(&mut life);
        plan_tool::clear_current(life.run(), &maria(), None).into_iter().for_each(|fact| life.tell(fact));
        assert_eq!(life.status(), PlanStatus::Aborted);
        assert_eq!(
            plan_tool::execute(life.run(), &life.policy),
            vec![],
            "a plan that has ended does nothing"
        );
        assert_eq!(
            life.kept().last().unwrap(),
            "aborted by user: cancelled by @maria (2 actions on 2 files)"
        );
    }
    let mut life = Life::asked();
    let aborted = plan_tool::abort(life.run(), planwright::planning::Actor::System, "it broke".to_owned());
    life.tell(aborted.unwrap());
    assert_eq!(life.kept().last().unwrap(), "aborted by system: it broke (2 actions on 2 files)");
}

#[test]
fn what_is_not_there_is_refused() {
    let life = Life::begin();
    let approver = Approver { by: &maria(), comment: CommentId(1_000) };
    assert_eq!(plan_tool::approve(life.run(), approver, ""), Err(Refusal::NothingAsked));
    assert_eq!(plan_tool::reject(life.run(), approver, ""), Err(Refusal::NothingAsked));
    let id = |n: u32| ActionId(format!("a{n}"));
    assert_eq!(plan_tool::recheck(life.run(), &id(1), &finding(), ground()), Err(Refusal::NeverLookedAt));
    let asked = Life::asked();
    assert_eq!(plan_tool::recheck(asked.run(), &id(9), &finding(), ground()), Err(Refusal::NoAction));
    let early = Approver { by: &maria(), comment: CommentId(1) };
    assert_eq!(plan_tool::approve(asked.run(), early, ""), Err(Refusal::TooOld));
}

/// After which actions a run of so many looks back.
fn looks_back(actions: u32, interval: u32, most: u32, failing: Option<u32>) -> Vec<u32> {
    let optional = |n: u32| Action { optional: Some(n) == failing, ..action(n) };
    let mut life = Life::of((1..=actions).map(optional).collect());
    life.policy = Policy { reflection_interval: interval, max_reflections: most, ..life.policy };
    life.propose();
    life.set_action_specs();
    life.request_approval();
    life.approve();
    let (mut done, mut looked) = (0, vec![]);
    loop {
        life.note();
        let Some(run) = life.record.live_run() else { return looked };
        let key = run.key();
        match plan_tool::execute(run, &life.policy).remove(0) {
            Effect::Begin { action, .. } if failing == Some(done + 1) => {
                plan_tool::begin_in_vain(run, &action, "no luck")
                    .into_iter()
                    .for_each(|fact| life.tell(fact));
                done += 1;
            }
            Effect::Begin { action, .. } => {
                life.carry_out(&action.0);
                done += 1;
            }
            Effect::Ask { .. } => {
                looked.push(done);
                life.tell(Fact::Reflected { key, reflection: None, usage: None, replan: Decided::Nothing });
            }
            other @ (Effect::Preflight { .. }
            | Effect::Act { .. }
            | Effect::Use { .. }
            | Effect::Merge { .. }
            | Effect::Escalate { .. }
            | Effect::Deliver { .. }
            | Effect::Wait { .. }
            | Effect::Note { .. }) => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_run_looks_back_every_few_actions_after_failures_and_not_too_often() {
    for (actions, interval, most, failing, expected) in [
        (10, 3, 9, None, vec![3, 6, 9]),
        (9, 3, 9, None, vec![3, 6, 9]),
        (10, 3, 2, None, vec![3, 6]),
        (10, 3, 0, None, vec![]),
        (4, 5, 9, None, vec![]),
        (3, 1, 9, None, vec![1, 2, 3]),
        (10, 4, 9, Some(2), vec![2, 6, 10]),
        (10, 4, 1, Some(6), vec![4]),
        (10, 4, 2, Some(6), vec![4, 6]),
    ] {
        let found = looks_back(actions, interval, most, failing);
        assert_eq!(found, expected, "{actions} actions, every {interval}, at most {most}, {failing:?} fails");
    }
}
