//! Purpose: a run as a session of its crew, in one word. It is read off the run and stored nowhere.

use super::run::{Phase, Revision, Run};
use super::work::StepState;
use crate::crew::Target;
use crate::plan::{Step, StepId};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Session {
    /// Until there is a plan that may be carried out; again when a new one takes its place.
    Planning,
    Executing,
    /// All is accepted and looked at as a whole, or an answer has come and nothing has begun with it yet.
    Reviewing,
    /// Nothing goes on before somebody has helped.
    Escalating,
    /// It is over, however it ended: that stands in [`Run::end`].
    Completed,
}

impl Session {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Planning => "planning",
            Self::Executing => "executing",
            Self::Reviewing => "reviewing",
            Self::Escalating => "escalating",
            Self::Completed => "completed",
        }
    }
}

impl Run {
    /// A pause changes nothing about where a session stands.
    #[must_use]
    pub fn session(&self) -> Session {
        if !self.is_live() {
            return Session::Completed;
        }
        match (self.phase(), self.plan()) {
            (Phase::Deliver, _) => Session::Reviewing,
            (Phase::Execute, Some(plan)) => self.at_work(plan),
            (Phase::Understand | Phase::Decompose | Phase::Sequence | Phase::Approve, Some(_))
                if !self.lanes.is_empty() =>
            {
                Session::Executing
            }
            (Phase::Understand | Phase::Decompose | Phase::Sequence | Phase::Approve | Phase::Execute, _) => {
                Session::Planning
            }
        }
    }

    fn at_work(&self, plan: &Revision) -> Session {
        // A step in hand may be held as well.
        let in_hand = !self.lanes.is_empty() || self.work.is_any_at_work();
        if self.waits_for_help().is_some() || (!in_hand && self.asks_a_model()) {
            Session::Escalating
        } else if in_hand {
            Session::Executing
        } else if self.is_through(plan) || self.is_answered(plan) {
            Session::Reviewing
        } else {
            Session::Executing
        }
    }

    fn asks_a_model(&self) -> bool {
        self.crew.open().any(|open| match open.target {
            Target::LogicValidator | Target::ExternalAdvisor => true,
            Target::People | Target::Planner => false,
        })
    }

    fn is_through(&self, plan: &Revision) -> bool {
        let accepted = |step: &Step| self.actions_of(plan, &step.id).any(|a| self.accepted.contains(&a.id));
        let through = |step: &Step| match self.step_state(plan, &step.id) {
            StepState::Done(_) | StepState::Partly { .. } | StepState::SkippedBy(_) | StepState::LeftOut => {
                true
            }
            // A failure that the run goes on without.
            StepState::Failed(_) => accepted(step),
            StepState::Waiting | StepState::AtWork => false,
        };
        plan.steps.iter().all(through)
    }

    /// Nobody is asked any more, and what was asked about last has not begun again.
    fn is_answered(&self, plan: &Revision) -> bool {
        let waits = |step: &StepId| matches!(self.step_state(plan, step), StepState::Waiting);
        let last = self.crew.escalations.last().filter(|_| self.crew.open().next().is_none());
        last.is_some_and(|last| match &last.step {
            Some(step) => plan.steps.iter().any(|known| known.id == *step) && waits(step),
            None => self.replans.asked.is_some(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actions::{Before, Preflight, Risk, Spec};
    use crate::crew::{Cause, Checkout};
    use crate::domain::{Account, Millis};
    use crate::plan::{Action, ActionId, ActionKind, ActionSpec, Complexity, Goal};
    use crate::planning::{
        Approval, AskedFor, End, EndState, Ended, Escalation, EscalationState, Evidence, Lane, Outcome,
        Pause, RunId, Sequence, Trigger, Work,
    };

    fn id(step: &str) -> StepId {
        StepId(step.to_owned())
    }

    fn of(action: &str) -> ActionId {
        ActionId(action.to_owned())
    }

    fn step(name: &str) -> Step {
        Step {
            id: id(name),
            description: name.to_owned(),
            dependencies: vec![],
            estimated_complexity: Complexity::Low,
            required_tools: vec![],
            rests_on: vec![],
        }
    }

    fn action(name: &str, step: &str) -> Action {
        Action {
            id: of(name),
            task_id: id(step),
            action_type: ActionKind::Write,
            tool: String::new(),
            purpose: String::new(),
            expected_outcome: String::new(),
            fallback_strategy: String::new(),
            spec: ActionSpec::default(),
            optional: false,
        }
    }

    fn spec(name: &str) -> Spec {
        let before = Before::Nothing;
        let preflight =
            Preflight { exists: false, overwrite: false, before, added: 0, removed: 0, diff: None };
        Spec {
            id: of(name),
            path: None,
            risk: Risk::Low,
            reason: String::new(),
            preflight,
            open: false,
            tool_hash: None,
            tool_effect: None,
            digest: "d".to_owned(),
        }
    }

    fn understood() -> Run {
        let goal = Goal {
            main_objective: "Greet".to_owned(),
            success_criteria: vec![],
            constraints: vec![],
            context: String::new(),
            design_choices_open: false,
        };
        let new = Run::new(RunId("r".to_owned()), Account::person(2, "maria"), Trigger::Assigned, Millis(0));
        Run { goal: Some(goal), ..new }
    }

    /// Two steps of one action each; the actions of `approved` may run.
    fn planned(approved: &[&str]) -> Run {
        let steps = vec![step("task_1"), step("task_2")];
        let actions = vec![action("a1", "task_1"), action("a2", "task_2")];
        let digests = approved.iter().map(|name| (of(name), "d".to_owned())).collect();
        let plan = Revision {
            sequence: Some(Sequence::new(&steps, actions, Millis(0))),
            steps,
            specs: ["a1", "a2"].map(|name| (of(name), spec(name))).into(),
            approvals: vec![Approval { by: None, actions: digests, at: Millis(0) }],
            ..Revision::default()
        };
        Run { revisions: vec![plan], ..understood() }
    }

    fn worked(run: Run, works: &[(&str, Outcome)]) -> Run {
        let ended = |outcome: &Outcome| Ended {
            outcome: outcome.clone(),
            evidence: Evidence::default(),
            actual: String::new(),
        };
        let work = |outcome: &Outcome| Work {
            begun_at: Millis(0),
            turns: vec![],
            refused: 0,
            on_branch: true,
            ended: Some(ended(outcome)),
        };
        let works = works.iter().map(|(name, outcome)| (of(name), work(outcome)));
        Run { work: works.collect(), ..run }
    }

    fn failed() -> Outcome {
        Outcome::Failed { why: "no".to_owned() }
    }

    fn asking(run: Run, target: Target, step: Option<&str>, state: EscalationState) -> Run {
        let mut run = run;
        run.crew.escalations.push(Escalation {
            number: 1,
            cause: Cause::Technical,
            target,
            step: step.map(id),
            action: Some(of("a1")),
            issue: String::new(),
            tried: vec![],
            suggestion: None,
            asked: vec![],
            at: Millis(0),
            comment: None,
            unposted: None,
            remind_at: None,
            deadline: None,
            overdue: false,
            reminder: None,
            advice: None,
            state,
        });
        run
    }

    fn in_hand(mut run: Run, step: &str) -> Run {
        run.lanes.insert(id(step), Lane::new(1, Checkout::Shared, 1, Millis(0)));
        run
    }

    #[test]
    fn a_session_is_read_off_its_run() {
        use EscalationState::{Cancelled, Open};
        let maria = || Account::person(2, "maria");
        let ended = |state| Run { end: Some(End { state, at: Millis(1) }), ..planned(&[]) };
        let stuck = |approved: &[&str]| worked(planned(approved), &[("a1", failed())]);
        let done =
            || worked(planned(&["a1", "a2"]), &[("a1", Outcome::Succeeded), ("a2", Outcome::Succeeded)]);
        let half = || worked(planned(&["a1", "a2"]), &[("a2", Outcome::Succeeded)]);
        let given = || EscalationState::Resolved { by: Some(maria()), text: "so".to_owned() };
        let wanted = Some(AskedFor { by: maria(), why: "so".to_owned() });
        let people = |run, state| asking(run, Target::People, Some("task_1"), state);
        let mut replanned = asking(stuck(&[]), Target::People, None, given());
        replanned.replans.asked = wanted;
        let held = in_hand(asking(stuck(&[]), Target::People, None, Open), "task_2");
        let mut without = worked(planned(&[]), &[("a1", failed()), ("a2", Outcome::Succeeded)]);
        without.accepted.insert(of("a1"));
        let pause = Some(Pause { by: maria(), comment: None, since: Millis(0) });
        for (what, run, expected) in [
            ("nothing is known", Run { goal: None, ..understood() }, Session::Planning),
            ("there is a goal", understood(), Session::Planning),
            ("a plan that nobody approved", planned(&[]), Session::Planning),
            ("a step in hand", in_hand(planned(&["a1"]), "task_1"), Session::Executing),
            ("a step may begin", half(), Session::Executing),
            ("a failure is looked at", stuck(&[]), Session::Executing),
            ("all is accepted", done(), Session::Reviewing),
            ("a failure it goes on without", without, Session::Reviewing),
            ("its last step is not taken over yet", in_hand(done(), "task_2"), Session::Executing),
            ("it is handed over", Run { executed: true, ..done() }, Session::Reviewing),
            ("people are asked, another step may begin", people(stuck(&["a2"]), Open), Session::Executing),
            (
                "people are asked, another is in hand",
                in_hand(people(stuck(&[]), Open), "task_2"),
                Session::Executing,
            ),
            ("all that is in hand waits as well", held, Session::Escalating),
            ("people are asked, nothing else goes", people(stuck(&[]), Open), Session::Escalating),
            ("the same, paused", Run { pause, ..people(stuck(&[]), Open) }, Session::Escalating),
            (
                "a model is asked",
                asking(stuck(&["a2"]), Target::LogicValidator, Some("task_1"), Open),
                Session::Escalating,
            ),
            ("people have answered", people(half(), given()), Session::Reviewing),
            ("it goes on with the answer", in_hand(people(half(), given()), "task_1"), Session::Executing),
            ("an answer asks for another plan", replanned, Session::Reviewing),
            ("what was asked about is no more", people(stuck(&["a2"]), Cancelled), Session::Executing),
            ("it went well", ended(EndState::Completed), Session::Completed),
            ("it failed", ended(EndState::Failed { reason: "no".to_owned() }), Session::Completed),
            ("it was cancelled", ended(EndState::Cancelled { by: maria() }), Session::Completed),
        ] {
            assert_eq!(run.session(), expected, "{what}");
        }
    }
}
