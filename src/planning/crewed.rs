//! Purpose: what the facts of the crew do to a run.

use super::apply::{spend, takes};
use super::crew::{CrewFact, Escalation, EscalationState, Fallback, Plea, Reminder};
use super::effect::Key;
use super::lanes::Lane;
use super::replans::{AskedFor, Fresh};
use super::revise::Became;
use super::run::Run;
use super::work::{Outcome, StepState, Work};
use crate::crew::{Cause, Checkout, Judgement, Target, Verdict, Weighed};
use crate::domain::{Account, Millis};
use crate::plan::{ActionId, Decided, ReplanPhase, StepId};

/// What a worker is told of an earlier try is kept short.
const REMARKS: usize = 6;

impl Run {
    pub(super) fn crews(&mut self, at: Millis, fact: &CrewFact) {
        match fact {
            CrewFact::StepAssigned { step, worker, checkout, attempt } => {
                let taken = self.crew.of(step);
                (taken.worker, taken.attempts) = (Some(*worker), *attempt);
                self.lanes.insert(step.clone(), Lane::new(*worker, *checkout, *attempt, at));
            }
            CrewFact::StepJudged { key, step, judgement, by, overruled, usage } => {
                usage.iter().for_each(|usage| spend(self, usage));
                if takes(self, at, key) {
                    let (judgement, overruled) = (judgement.clone(), overruled.clone());
                    self.judged(at, step, Weighed { judgement, by: *by, overruled });
                }
            }
            CrewFact::StepMerged { key, step, pushed, .. } => {
                if takes(self, at, key) {
                    self.merged(step, *pushed);
                    self.accepted_if_done(step);
                }
            }
            CrewFact::StepConflicted { key, step, why, .. } => {
                if takes(self, at, key) {
                    self.crew.of(step).cause = Some(Cause::Dependency);
                    self.dissolve(at, step, why);
                }
            }
            CrewFact::Escalated(plea) => self.escalated(at, plea),
            CrewFact::EscalationPosted { number, comment } => {
                self.with_escalation(*number, |escalation| {
                    (escalation.comment, escalation.unposted) = (Some(*comment), None);
                });
            }
            CrewFact::EscalationUnposted { number, why } => {
                self.with_escalation(*number, |escalation| escalation.unposted = Some(why.clone()));
            }
            CrewFact::EscalationReminded { number, comment } => {
                let posted = Some(Reminder::Posted(*comment));
                self.with_escalation(*number, |escalation| escalation.reminder = posted);
            }
            CrewFact::AdviceGiven { key, number, advice, usage } => {
                usage.iter().for_each(|usage| spend(self, usage));
                if takes(self, at, key) {
                    // No answer is one that helps nobody.
                    let advice = advice.clone().unwrap_or_default();
                    self.with_escalation(*number, |escalation| escalation.advice = Some(advice));
                }
            }
            CrewFact::EscalationResolved { number, by, text, .. } => {
                self.resolved(*number, by.as_ref(), text)
            }
            CrewFact::NobodyLeft { number, why } => self.left_alone(*number, why),
            CrewFact::EscalationExpired { number, fallback } => self.expired(*number, *fallback),
        }
    }

    fn with_escalation(&mut self, number: u32, change: impl FnOnce(&mut Escalation)) {
        if let Some(escalation) = self.crew.escalation_mut(number) {
            change(escalation);
        }
    }

    fn judged(&mut self, at: Millis, step: &StepId, weighed: Weighed) {
        let Judgement { verdict, remarks, reasons, contradiction } = weighed.judgement.clone();
        let why = if remarks.is_empty() { reasons.join("; ") } else { remarks };
        let taken = self.crew.of(step);
        taken.judged = Some(weighed.clone());
        if contradiction.is_some() {
            taken.cause = Some(Cause::Contradiction);
            let said = contradiction.unwrap_or(why);
            return self.dissolve(at, step, &said);
        }
        match verdict {
            Verdict::Done => match self.lanes.get_mut(step) {
                Some(lane) if lane.checkout == Checkout::Own => lane.judged = Some(weighed),
                Some(_) | None => {
                    self.lanes.remove(step);
                    self.accepted_if_done(step);
                }
            },
            Verdict::Continue => {
                taken.rounds += 1;
                self.remark(step, format!("The judge sent it back: {why}"));
                self.undo(step);
            }
            Verdict::Replan => self.dissolve(at, step, &format!("the judge wants another plan: {why}")),
        }
    }

    pub(super) fn remark(&mut self, step: &StepId, remark: String) {
        let remarks = &mut self.crew.of(step).remarks;
        remarks.push(remark);
        let over = remarks.len().saturating_sub(REMARKS);
        remarks.drain(..over);
    }

    fn accepted_if_done(&mut self, step: &StepId) {
        let state = self.plan().map(|plan| self.step_state(plan, step));
        if matches!(state, Some(StepState::Done(_) | StepState::Partly { .. })) {
            self.crew.in_a_row.clear();
        }
    }

    /// A failure that nobody has judged yet. Others may wait to be judged before it.
    pub(super) fn has_failed(&mut self, action: &ActionId) {
        if let Some(step) = self.step_of(action).cloned() {
            self.crew.of(&step).failures += 1;
            self.crew.in_a_row.retain(|other| *other != step);
            self.crew.in_a_row.push(step);
        }
        self.replans.failures.push(action.clone());
        self.next_failure();
    }

    /// Puts up the oldest failure that is still one.
    pub(super) fn next_failure(&mut self) {
        if self.replans.fresh.as_ref().is_some_and(|fresh| fresh.failed.is_some() || fresh.by.is_some()) {
            return;
        }
        while !self.replans.failures.is_empty() {
            let action = self.replans.failures.remove(0);
            if self.is_failed(&action) && !self.crew.is_about(&action) && !self.accepted.contains(&action) {
                let (phase, said) = (ReplanPhase::Execution, Decided::Nothing);
                let failed = Some(action);
                self.replans.fresh =
                    Some(Fresh { phase, said, asked: false, failed, by: None, routed: false });
                return;
            }
        }
    }

    fn is_failed(&self, action: &ActionId) -> bool {
        let failed = |work: &Work| {
            matches!(work.ended.as_ref().map(|ended| &ended.outcome), Some(Outcome::Failed { .. }))
        };
        self.work.get(action).is_some_and(failed) && self.step_of(action).is_some()
    }

    fn escalated(&mut self, at: Millis, plea: &Plea) {
        let Plea { key, number, cause, target, step, action, .. } = plea;
        if !takes(self, at, key) {
            return;
        }
        if let Some(step) = step {
            self.crew.of(step).cause = None;
        }
        if *cause == Cause::ThreeStepsInARow {
            self.crew.in_a_row.clear();
        }
        self.pass_on(action.as_ref());
        self.crew.escalations.push(Escalation::new(plea, at));
        match (&mut self.replans.fresh, target) {
            // It is judged as every failure is, by the planner.
            (Some(fresh), Target::Planner) => {
                fresh.routed = true;
                let state = EscalationState::Resolved { by: None, text: "the planner decides".to_owned() };
                self.with_escalation(*number, |escalation| escalation.state = state);
            }
            (_, Target::People | Target::LogicValidator | Target::ExternalAdvisor | Target::Planner) => {
                self.replans.fresh = None;
                self.next_failure();
            }
        }
    }

    /// Somebody else is asked about the same.
    fn pass_on(&mut self, action: Option<&ActionId>) {
        let about =
            |known: &&mut Escalation| known.is_open() && action.is_some() && known.action.as_ref() == action;
        for earlier in self.crew.escalations.iter_mut().filter(about) {
            let why = earlier.advice.as_ref().map(|advice| advice.advice.clone()).unwrap_or_default();
            earlier.state = EscalationState::PassedOn { why };
        }
    }

    /// What was asked about is tried again, with the answer in mind; a whole plan is made anew with it.
    fn resolved(&mut self, number: u32, by: Option<&Account>, text: &str) {
        let Some(escalation) = self.crew.escalation_mut(number).filter(|known| known.is_open()) else {
            return;
        };
        escalation.state = EscalationState::Resolved { by: by.cloned(), text: text.to_owned() };
        let (cause, step, action) = (escalation.cause, escalation.step.clone(), escalation.action.clone());
        let remark = match by {
            Some(by) => format!("@{} answered: {text}", by.login),
            None => format!("An adviser said: {text}"),
        };
        if let Some(step) = &step {
            self.remark(step, remark);
        }
        if let (Cause::ThreeStepsInARow, Some(by)) = (cause, by) {
            self.replans.asked = Some(AskedFor { by: by.clone(), why: text.to_owned() });
            return;
        }
        if let Some(action) = action {
            self.work.forget(&action);
        }
    }

    fn left_alone(&mut self, number: u32, why: &str) {
        let Some(escalation) = self.crew.escalation_mut(number).filter(|known| known.is_open()) else {
            return;
        };
        escalation.state = EscalationState::PassedOn { why: why.to_owned() };
        let Some(action) = escalation.action.clone() else { return };
        self.replans.failures.insert(0, action.clone());
        self.next_failure();
        let fresh = self.replans.fresh.as_mut();
        if let Some(fresh) = fresh.filter(|fresh| fresh.failed.as_ref() == Some(&action)) {
            fresh.routed = true;
        }
    }

    fn expired(&mut self, number: u32, fallback: Fallback) {
        let Some(escalation) = self.crew.escalation_mut(number).filter(|known| known.is_open()) else {
            return;
        };
        escalation.state = EscalationState::Expired { fallback };
        (escalation.remind_at, escalation.deadline) = (None, None);
        let (step, action) = (escalation.step.clone(), escalation.action.clone());
        let unposted = escalation.unposted.is_some();
        match (fallback, step) {
            (Fallback::Hold, _) => {}
            (Fallback::SkipStep, Some(step)) => {
                self.accepted.extend(action);
                self.leave_out_after(&step, Became::LeftOut);
                self.look_for_undecided();
            }
            (Fallback::Stop, _) | (Fallback::SkipStep, None) => {
                self.broken = Some(if unposted {
                    format!(
                        "Question {number} could not be put on the thread, so that nobody could answer it. Is the \
                         thread locked?"
                    )
                } else {
                    format!("Nobody answered question {number} in time.")
                });
            }
        }
    }

    pub(super) fn escalation_times_up(&mut self, key: &Key) {
        let id = self.id.clone();
        for escalation in &mut self.crew.escalations {
            if escalation.reminder_key(&id) == *key && escalation.is_open() {
                escalation.remind_at = None;
                escalation.reminder = Some(Reminder::Due);
            }
            if escalation.deadline_key(&id) == *key && escalation.is_open() {
                (escalation.deadline, escalation.overdue) = (None, true);
            }
        }
    }

    /// What is asked about something that is no more needs no answer.
    pub(super) fn cancel_escalations(&mut self) {
        let mut escalations = std::mem::take(&mut self.crew.escalations);
        // One by one and not by number: a journal that was put together from two may have a number twice.
        for escalation in escalations.iter_mut().filter(|escalation| escalation.is_open()) {
            let gone = escalation.action.as_ref().is_some_and(|action| !self.is_failed(action));
            let skipped = escalation.step.as_ref().is_some_and(|step| self.skipped.contains_key(step));
            if !self.is_live() || skipped || gone {
                escalation.state = EscalationState::Cancelled;
            }
        }
        self.crew.escalations = escalations;
    }
}
