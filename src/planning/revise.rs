//! Purpose: what a replan does to a run: how far it goes back, what it keeps, and how a new plan is told from an old one.
//!
//! Work that is done is sealed: its actions, commits and evidence stay, whatever the level. Levels 2 and 3 keep the
//! checklist and plan the open rest anew; levels 4 and 5 begin a new, unticked one.

use super::apply::{spend, takes};
use super::replans::{
    AskedFor, Fresh, Limit, LimitHit, OVERTAKEN, Replan, ReplanFact, ReplanResult, ReplanState, Settled,
    Source, Verdict,
};
use super::run::{Origin, Reflections, Revision, Run, Sequence};
use super::talk::Wish;
use super::work::{Outcome, StepState};
use crate::actions::number_of;
use crate::domain::{Account, AccountId, AccountKind, Millis};
use crate::plan::{Action, ActionId, Decided, Level, OtherWay, ReplanDecision, ReplanPhase, Step, StepId};

/// Why others cannot go on with a step that they need.
#[derive(Clone, Copy)]
pub(super) enum Became {
    Failed,
    LeftOut,
}

impl Run {
    pub(super) fn replans(&mut self, at: Millis, fact: &ReplanFact) {
        match fact {
            ReplanFact::DecisionGiven { key, said, usage } => {
                usage.iter().for_each(|usage| spend(self, usage));
                if takes(self, at, key)
                    && let Some(fresh) = &mut self.replans.fresh
                {
                    (fresh.said, fresh.asked) = (said.clone(), true);
                }
            }
            ReplanFact::Evaluated { key, said, usage } => {
                usage.iter().for_each(|usage| spend(self, usage));
                if takes(self, at, key) {
                    self.consider(ReplanPhase::Reflection, said.clone());
                    if let Some(plan) = self.revisions.last_mut() {
                        plan.evaluated = true;
                    }
                }
            }
            ReplanFact::ReplanAsked { by, why, comment } => {
                self.sources.extend(*comment);
                self.replans.asked = Some(AskedFor { by: by.clone(), why: why.clone() });
            }
            ReplanFact::ReplanDecision { .. } => self.decided(at, fact),
            ReplanFact::ReplanConfirmed { replan_id, by, .. } => self.confirmed(at, *replan_id, by),
            ReplanFact::ReplanDeclined { replan_id, by, .. } => self.declined(at, *replan_id, by.as_ref()),
            ReplanFact::RevisionMade { key, steps, actions, usage } => {
                spend(self, usage);
                if takes(self, at, key) {
                    self.revised(at, steps, actions);
                }
            }
            ReplanFact::PlanRevised { replan_id, result, why, .. } => {
                self.replans.recorded.insert(*replan_id);
                self.ended(at, *replan_id, *result, why)
            }
            ReplanFact::ReplanEnded { replan_id, .. } => drop(self.replans.recorded.insert(*replan_id)),
            ReplanFact::AlternativeGiven { key, alternative, usage } => {
                usage.iter().for_each(|usage| spend(self, usage));
                if takes(self, at, key) {
                    self.alternative(alternative.way);
                }
            }
            ReplanFact::LimitSettled { how, .. } => self.limit_settled(*how),
        }
    }

    /// A phase has ended, with or without a word about replanning.
    pub(super) fn consider(&mut self, phase: ReplanPhase, said: Decided) {
        let before = self.replans.fresh.take().filter(|fresh| fresh.failed.is_some());
        let routed = before.as_ref().is_some_and(|fresh| fresh.routed);
        let failed = before.and_then(|fresh| fresh.failed);
        self.replans.fresh = Some(Fresh { phase, said, asked: false, failed, by: None, routed });
    }

    fn decided(&mut self, at: Millis, fact: &ReplanFact) {
        let ReplanFact::ReplanDecision {
            replan_id,
            phase,
            llm_decision,
            verdict,
            trigger,
            subject,
            by,
            source,
            wait_ms,
            ..
        } = fact
        else {
            return;
        };
        self.replans.decided += 1;
        match source {
            Source::Result => {
                self.replans.fresh = None;
                self.next_failure();
            }
            Source::Person => self.replans.asked = None,
            Source::Answer => {
                self.talk.contradicted.clear();
                self.talk.changed.clear();
            }
        }
        let decision = (**llm_decision).clone();
        let state = match verdict {
            Verdict::Stay { .. } if !decision.replan_needed && !decision.clarification_needed => return,
            Verdict::Stay { why } => ReplanState::Overridden { why: why.clone() },
            Verdict::Limit { limit, .. } => ReplanState::Overridden { why: limit.words().to_owned() },
            Verdict::Confirm { .. } => ReplanState::Confirming,
            Verdict::Clarify => {
                let (why, questions) = (decision.reasoning.clone(), questions_of(&decision));
                self.talk.wanted = Some(Wish { why, questions });
                ReplanState::Done { at }
            }
            Verdict::Replan { .. } => ReplanState::Started,
        };
        let deadline = wait_ms.map(|wait| at.plus(wait));
        self.replans.all.push(Replan {
            id: *replan_id,
            phase: *phase,
            decision,
            verdict: verdict.clone(),
            trigger: trigger.clone(),
            failed: subject.clone(),
            by: by.clone(),
            at,
            deadline,
            state,
        });
        self.follow(at, fact);
    }

    /// What a verdict leads to.
    fn follow(&mut self, at: Millis, fact: &ReplanFact) {
        let ReplanFact::ReplanDecision { replan_id, verdict, subject, keeps, .. } = fact else { return };
        match verdict {
            Verdict::Replan { level, .. } => {
                self.go_back(at, *replan_id, *level);
                if let Some(plan) = self.revisions.last_mut() {
                    plan.keeps.clone_from(keeps);
                }
            }
            Verdict::Limit { limit, .. } => {
                let told =
                    self.replans.asked_at.contains(limit) || *limit == super::replans::Limit::NoDecision;
                let (replan, failed) = (*replan_id, subject.clone());
                self.replans.limit = Some(LimitHit { replan, limit: *limit, failed, since: at, told });
            }
            // Something failed and would have to be planned anew, but is not: people say how to go on.
            Verdict::Stay { .. } if subject.is_some() => self.undecided(at, *replan_id, subject.clone()),
            Verdict::Stay { .. } | Verdict::Clarify | Verdict::Confirm { .. } => {}
        }
    }

    fn undecided(&mut self, at: Millis, replan: u32, failed: Option<ActionId>) {
        let limit = Limit::NoDecision;
        self.replans.limit = Some(LimitHit { replan, limit, failed, since: at, told: true });
    }

    /// A person who says no wants the plan to go on; when nobody says anything, what failed still needs a word.
    pub(super) fn declined(&mut self, at: Millis, id: u32, by: Option<&Account>) {
        if self.replan(id).is_none_or(|replan| replan.state != ReplanState::Confirming) {
            return;
        }
        self.settle(id, ReplanState::Declined { by: by.cloned() });
        let failed = self.replan(id).and_then(|replan| replan.failed.clone());
        if failed.is_some() {
            self.undecided(at, id, failed);
            if by.is_some() {
                self.limit_settled(Settled::GoOn);
            }
        }
    }

    fn confirmed(&mut self, at: Millis, id: u32, by: &Account) {
        let level = self.replan(id).filter(|r| r.state == ReplanState::Confirming).and_then(Replan::level);
        if let Some(level) = level {
            if let Some(replan) = self.replans.all.iter_mut().find(|replan| replan.id == id) {
                replan.by = Some(by.clone());
            }
            self.settle(id, ReplanState::Started);
            self.go_back(at, id, level);
        }
    }

    #[must_use]
    pub fn replan(&self, id: u32) -> Option<&Replan> {
        self.replans.all.iter().find(|replan| replan.id == id)
    }

    pub(super) fn settle(&mut self, id: u32, state: ReplanState) {
        if let Some(replan) = self.replans.all.iter_mut().find(|replan| replan.id == id) {
            replan.state = state;
        }
    }

    fn go_back(&mut self, at: Millis, id: u32, level: Level) {
        let Some(replan) = self.replan(id) else { return };
        let (reason, failed) = (replan.decision.reasoning.clone(), replan.failed.clone());
        let advice = replan.decision.advice();
        if let (Level::Retry, Some(action)) = (level, &failed) {
            self.work.forget(action);
            self.settle(id, ReplanState::Done { at });
            return;
        }
        self.talk.withdraw();
        self.overtake(id);
        (self.replans.limit, self.replans.fresh, self.delivery) = (None, None, None);
        self.replans.failures.clear();
        self.lanes.clear();
        let origin = Origin { replan: id, level, reason, at };
        self.reflections =
            Reflections { all: std::mem::take(&mut self.reflections.all), ..Reflections::default() };
        self.executed = false;
        let next = match (level, self.plan()) {
            (Level::Retry | Level::Partial | Level::Actions, Some(plan)) => self.rest_of(plan),
            (Level::Decomposition | Level::Goal, _) | (_, None) => {
                // Step ids begin anew, and would be taken for those of before.
                self.crew.begin_anew();
                let skipped = std::mem::take(&mut self.skipped);
                if let Some(plan) = self.revisions.last_mut() {
                    plan.skipped = skipped;
                }
                Revision::default()
            }
        };
        let set_aside = (level == Level::Goal).then(|| Box::new(self.set_goal_aside()));
        self.revisions.push(Revision { origin: Some(origin), problems: advice, set_aside, ..next });
        self.cancel_escalations();
    }

    /// The plan without what is still open in it.
    pub(super) fn rest_of(&self, plan: &Revision) -> Revision {
        let is_sealed = |action: &&Action| {
            plan.left_out.contains_key(&action.id)
                || self.skipped.contains_key(&action.task_id)
                || self.succeeded(&action.id)
        };
        // What was left out of a step before it was planned anew is no part of it any more.
        let is_past = |action: &&Action| {
            plan.left_out.contains_key(&action.id)
                && plan.open_actions().any(|open| open.task_id == action.task_id)
        };
        let before = plan.sealed.iter().filter(|action| !is_past(action));
        let sealed: Vec<Action> = before.chain(plan.open_actions()).filter(is_sealed).cloned().collect();
        let kept = |id: &ActionId| sealed.iter().any(|action| action.id == *id);
        let is_through = |step: &&Step| match self.step_state(plan, &step.id) {
            StepState::Done(_) | StepState::Partly { .. } | StepState::SkippedBy(_) | StepState::LeftOut => {
                true
            }
            StepState::Waiting | StepState::AtWork | StepState::Failed(_) => false,
        };
        Revision {
            steps: plan.steps.clone(),
            sealed_steps: plan.steps.iter().filter(is_through).map(|step| step.id.clone()).collect(),
            specs: plan
                .specs
                .iter()
                .filter(|(id, _)| kept(id))
                .map(|(id, s)| (id.clone(), s.clone()))
                .collect(),
            left_out: plan.left_out.clone(),
            // They name digests, so they hold for what stays exactly as it was, and for nothing else.
            approvals: plan.approvals.clone(),
            requests: plan
                .requests
                .iter()
                .cloned()
                .map(|request| super::proposal::Request { void: true, ..request })
                .collect(),
            sealed,
            ..Revision::default()
        }
    }

    pub(super) fn succeeded(&self, action: &ActionId) -> bool {
        let ended = self.work.get(action).and_then(|work| work.ended.as_ref());
        ended.is_some_and(|ended| ended.outcome == Outcome::Succeeded)
    }

    /// Steps that nothing is to be planned for any more.
    #[must_use]
    pub fn sealed_steps<'a>(&self, plan: &'a Revision) -> Vec<&'a Step> {
        let is_sealed =
            |step: &&Step| plan.sealed_steps.contains(&step.id) || self.skipped.contains_key(&step.id);
        plan.steps.iter().filter(is_sealed).collect()
    }

    /// A yes to a plan that is no more means nothing, and a plan in the making is not made any more.
    fn overtake(&mut self, except: u32) {
        for replan in self.replans.all.iter_mut().filter(|replan| replan.id != except) {
            let why = OVERTAKEN.to_owned();
            match replan.state {
                ReplanState::Confirming => replan.state = ReplanState::Overridden { why },
                ReplanState::Started => replan.state = ReplanState::Failed { why },
                ReplanState::Done { .. }
                | ReplanState::Failed { .. }
                | ReplanState::Overridden { .. }
                | ReplanState::Declined { .. } => {}
            }
        }
    }

    fn revised(&mut self, at: Millis, steps: &[Step], actions: &[Action]) {
        let Some(plan) = self.plan() else { return };
        let sealed = self.sealed_steps(plan).into_iter().cloned();
        let steps: Vec<Step> = sealed.chain(steps.iter().cloned()).collect();
        if let Some(plan) = self.revisions.last_mut() {
            plan.steps = steps;
            plan.sequence = Some(Sequence::new(&plan.steps, actions.to_vec(), at));
        }
        self.look_for_undecided();
    }

    /// New actions under the numbers that they have in this run: none is used twice, and what stays exactly as it was keeps its own, with its approval.
    #[must_use]
    pub fn numbered(&self, actions: &[Action]) -> Vec<Action> {
        let Some((plan, before)) = self.revisions.split_last() else { return actions.to_vec() };
        let used =
            before.iter().flat_map(Revision::actions).filter_map(|a| number_of(&a.id).parse::<u32>().ok());
        let mut next = used.max().unwrap_or(0);
        let mut old: Vec<&Action> = match (before.last(), plan.keeps_checklist()) {
            (Some(last), true) => last.actions().filter(|a| !self.work.contains_key(&a.id)).collect(),
            (_, _) => vec![],
        };
        let mut number = |action: &Action| {
            if let Some(at) = old.iter().position(|old| is_the_same(old, action)) {
                return old.remove(at).clone();
            }
            next += 1;
            Action { id: ActionId(format!("a{next}")), ..action.clone() }
        };
        actions.iter().map(&mut number).collect()
    }

    fn ended(&mut self, at: Millis, id: u32, result: ReplanResult, why: &str) {
        let making = self.replan_in_the_making() == Some(id);
        if let Some(plan) = self.revisions.last_mut() {
            plan.announced = true;
        }
        match result {
            ReplanResult::Success => self.settle(id, ReplanState::Done { at }),
            ReplanResult::Failure if making => self.replan_failed(at, id, why),
            ReplanResult::Failure => self.came_to_nothing(at, id, why, Limit::SamePlan),
            ReplanResult::Skipped => {}
        }
    }

    fn alternative(&mut self, way: OtherWay) {
        let Some(hit) = &mut self.replans.limit else { return };
        self.replans.asked_at.push(hit.limit);
        match way {
            OtherWay::Nothing => hit.told = true,
            OtherWay::Continue => self.limit_settled(Settled::GoOn),
            OtherWay::SkipStep => self.limit_settled(Settled::SkipStep),
        }
    }

    fn limit_settled(&mut self, how: Settled) {
        let Some(hit) = self.replans.limit.take() else { return };
        let Some(failed) = hit.failed else { return };
        let step =
            self.plan().and_then(|plan| plan.actions().find(|a| a.id == failed)).map(|a| a.task_id.clone());
        match (how, step) {
            (Settled::SkipStep, Some(step)) => {
                let nobody =
                    Account { id: AccountId(0), login: "ghost".to_owned(), kind: AccountKind::Ghost };
                self.skipped.insert(step, nobody);
                self.look_for_undecided();
            }
            (Settled::GoOn | Settled::SkipStep, step) => {
                self.accepted.insert(failed);
                step.into_iter().for_each(|step| self.leave_out_after(&step, Became::Failed));
                self.look_for_undecided();
            }
        }
    }

    /// What needs a step of which this became cannot be done without it.
    pub(super) fn leave_out_after(&mut self, failed: &StepId, became: Became) {
        let Some(plan) = self.revisions.last_mut() else { return };
        let mut lost = vec![failed.clone()];
        while let Some(next) = plan
            .steps
            .iter()
            .find(|step| !lost.contains(&step.id) && step.dependencies.iter().any(|on| lost.contains(on)))
        {
            lost.push(next.id.clone());
        }
        let why = match became {
            Became::Failed => format!("it needs {failed}, which failed"),
            Became::LeftOut => format!("it needs {failed}, which is left out"),
        };
        let undone: Vec<ActionId> = plan
            .actions()
            .filter(|action| lost.contains(&action.task_id) && !self.work.contains_key(&action.id))
            .map(|action| action.id.clone())
            .collect();
        plan.left_out.extend(undone.into_iter().map(|id| (id, why.clone())));
    }
}

/// Everything but the number.
fn is_the_same(one: &Action, other: &Action) -> bool {
    Action { id: other.id.clone(), ..one.clone() } == *other
}

/// The questions of a decision; what it would assume goes with them in their order.
pub(super) fn questions_of(decision: &ReplanDecision) -> Vec<crate::plan::Question> {
    let assumed = &decision.details.assumptions_to_make;
    let with = |(at, question): (usize, &crate::plan::Question)| crate::plan::Question {
        assumption: question.assumption.clone().or_else(|| assumed.get(at).cloned()),
        ..question.clone()
    };
    decision.clarification_questions.iter().enumerate().map(with).collect()
}
