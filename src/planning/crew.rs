//! Purpose: what a run remembers of its crew: who had which step in hand, what the judge said, and who was asked for help.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::effect::Key;
use super::run::RunId;
use crate::crew::{Advice, Asked, By, Cause, Checkout, Judgement, Target, Weighed};
use crate::domain::{Account, CommentId, Millis};
use crate::plan::{ActionId, StepId};
use crate::prompts::Usage;

/// What happened among leader, workers and judge, and with those they asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum CrewFact {
    /// The leader gave a step to a worker.
    StepAssigned {
        step: StepId,
        worker: u32,
        checkout: Checkout,
        attempt: u32,
    },
    StepJudged {
        key: Key,
        step: StepId,
        judgement: Judgement,
        by: By,
        /// What the judge said that the evidence speaks against, and why.
        overruled: Option<String>,
        usage: Option<Usage>,
    },
    /// What a worker made is on the run's branch. Without a commit there was nothing to take over.
    StepMerged {
        key: Key,
        step: StepId,
        commit: Option<String>,
        pushed: bool,
    },
    /// It could not be taken over: others have changed the same, or it is lost. Nothing of it is kept.
    StepConflicted {
        key: Key,
        step: StepId,
        files: Vec<String>,
        why: String,
    },
    /// Somebody is asked for help.
    Escalated(Box<Plea>),
    /// Its comment is on the thread; from here on it can be answered.
    EscalationPosted {
        number: u32,
        comment: CommentId,
    },
    /// The forge does not take its comment, so that nobody can see it.
    EscalationUnposted {
        number: u32,
        why: String,
    },
    EscalationReminded {
        number: u32,
        comment: CommentId,
    },
    AdviceGiven {
        key: Key,
        number: u32,
        /// `None`: no answer came that can be read.
        advice: Option<Advice>,
        usage: Option<Usage>,
    },
    /// `by` nobody: an adviser, or the planner, settled it.
    EscalationResolved {
        number: u32,
        by: Option<Account>,
        text: String,
        comment: Option<CommentId>,
    },
    /// A model could not help, and nobody else may be asked: the failure is judged like any other.
    NobodyLeft {
        number: u32,
        why: String,
    },
    /// Nobody answered in time.
    EscalationExpired {
        number: u32,
        fallback: Fallback,
    },
}

/// What somebody is asked, and who.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plea {
    pub key: Key,
    pub number: u32,
    pub cause: Cause,
    pub target: Target,
    pub step: Option<StepId>,
    pub action: Option<ActionId>,
    pub issue: String,
    pub tried: Vec<String>,
    pub suggestion: Option<String>,
    /// Whom the comment names; nobody where a model is asked.
    pub asked: Vec<String>,
    pub remind_in_ms: Option<i64>,
    pub answer_in_ms: Option<i64>,
}

impl CrewFact {
    pub(super) fn spoken_in(&self) -> Option<CommentId> {
        match self {
            Self::EscalationResolved { comment, .. } => *comment,
            Self::StepAssigned { .. }
            | Self::StepJudged { .. }
            | Self::StepMerged { .. }
            | Self::StepConflicted { .. }
            | Self::Escalated(_)
            | Self::EscalationPosted { .. }
            | Self::EscalationUnposted { .. }
            | Self::EscalationReminded { .. }
            | Self::AdviceGiven { .. }
            | Self::NobodyLeft { .. }
            | Self::EscalationExpired { .. } => None,
        }
    }

    /// Whether it would be found out again if it were lost: then it can wait for the next append.
    #[must_use]
    pub fn may_wait(&self) -> bool {
        match self {
            Self::StepAssigned { .. } => true,
            Self::StepJudged { by, .. } => *by == By::Evidence,
            Self::StepMerged { .. }
            | Self::StepConflicted { .. }
            | Self::Escalated(_)
            | Self::EscalationPosted { .. }
            | Self::EscalationUnposted { .. }
            | Self::EscalationReminded { .. }
            | Self::AdviceGiven { .. }
            | Self::EscalationResolved { .. }
            | Self::NobodyLeft { .. }
            | Self::EscalationExpired { .. } => false,
        }
    }
}

/// What is done when nobody answers in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fallback {
    /// What depends on it waits on.
    Hold,
    SkipStep,
    Stop,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct CrewState {
    pub steps: BTreeMap<StepId, Taken>,
    /// Steps that failed one after the other, with none accepted in between.
    pub in_a_row: Vec<StepId>,
    pub escalations: Vec<Escalation>,
}

/// What is known of a step beyond its actions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Taken {
    /// Who had it in hand last.
    pub worker: Option<u32>,
    /// How often it was taken in hand, over all checklists: this names checkouts and effects.
    pub attempts: u32,
    /// How many of these were for a step of an earlier checklist that was called like it.
    pub earlier: u32,
    pub failures: u32,
    /// How often the judge has sent it back.
    pub rounds: u32,
    /// What the judge, an adviser or a person said about it, for its next worker.
    pub remarks: Vec<String>,
    pub judged: Option<Weighed>,
    /// Why it is more than a failure, where that is no word of its worker.
    pub cause: Option<Cause>,
}

impl Taken {
    /// Which try of this step it was, as people count.
    #[must_use]
    pub fn nth(&self, attempt: u32) -> u32 {
        attempt.saturating_sub(self.earlier)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Escalation {
    pub number: u32,
    pub cause: Cause,
    pub target: Target,
    /// `None`: it concerns the whole plan.
    pub step: Option<StepId>,
    pub action: Option<ActionId>,
    pub issue: String,
    pub tried: Vec<String>,
    pub suggestion: Option<String>,
    pub asked: Vec<String>,
    pub at: Millis,
    pub comment: Option<CommentId>,
    /// Why its comment is not on the thread, if the forge has refused it.
    pub unposted: Option<String>,
    pub remind_at: Option<Millis>,
    pub deadline: Option<Millis>,
    pub overdue: bool,
    /// The time for a reminder has come, and whether it is on the thread.
    pub reminder: Option<Reminder>,
    /// What a model said to it.
    pub advice: Option<Advice>,
    pub state: EscalationState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reminder {
    Due,
    Posted(CommentId),
}

#[derive(Debug, Clone, PartialEq)]
pub enum EscalationState {
    Open,
    Resolved {
        by: Option<Account>,
        text: String,
    },
    /// A model could not help; somebody else is asked.
    PassedOn {
        why: String,
    },
    Expired {
        fallback: Fallback,
    },
    /// What it was about is no more.
    Cancelled,
}

impl Escalation {
    pub(super) fn new(plea: &Plea, at: Millis) -> Self {
        let plea = plea.clone();
        Self {
            number: plea.number,
            cause: plea.cause,
            target: plea.target,
            step: plea.step,
            action: plea.action,
            issue: plea.issue,
            tried: plea.tried,
            suggestion: plea.suggestion,
            asked: plea.asked,
            at,
            comment: None,
            unposted: None,
            remind_at: plea.remind_in_ms.map(|wait| at.plus(wait)),
            deadline: plea.answer_in_ms.map(|wait| at.plus(wait)),
            overdue: false,
            reminder: None,
            advice: None,
            state: EscalationState::Open,
        }
    }

    #[must_use]
    pub fn is_open(&self) -> bool {
        match self.state {
            EscalationState::Open | EscalationState::Expired { fallback: Fallback::Hold } => true,
            EscalationState::Resolved { .. }
            | EscalationState::PassedOn { .. }
            | EscalationState::Expired { .. }
            | EscalationState::Cancelled => false,
        }
    }

    /// Whether people can still answer, and time has not run out unheard.
    #[must_use]
    pub fn awaits_people(&self) -> bool {
        let unheard = self.overdue && self.state == EscalationState::Open;
        self.is_open() && self.target == Target::People && !unheard
    }

    pub(super) fn reminder_key(&self, run: &RunId) -> Key {
        Key(format!("{run}/escalation/{}/reminder", self.number))
    }

    pub(super) fn deadline_key(&self, run: &RunId) -> Key {
        Key(format!("{run}/escalation/{}/deadline", self.number))
    }
}

impl CrewState {
    pub(super) fn of(&mut self, step: &StepId) -> &mut Taken {
        self.steps.entry(step.clone()).or_default()
    }

    /// Steps of a new checklist may be called like those before. How often one was taken in hand goes on counting: it
    /// names checkouts and effects.
    pub(super) fn begin_anew(&mut self) {
        for taken in self.steps.values_mut() {
            *taken = Taken { attempts: taken.attempts, earlier: taken.attempts, ..Taken::default() };
        }
    }

    pub fn open(&self) -> impl Iterator<Item = &Escalation> {
        self.escalations.iter().filter(|escalation| escalation.is_open())
    }

    #[must_use]
    pub fn escalation(&self, number: u32) -> Option<&Escalation> {
        self.escalations.iter().find(|escalation| escalation.number == number)
    }

    pub(super) fn escalation_mut(&mut self, number: u32) -> Option<&mut Escalation> {
        self.escalations.iter_mut().find(|escalation| escalation.number == number)
    }

    /// How often each has been asked in this run.
    #[must_use]
    pub fn asked(&self) -> Asked {
        let count = |target: Target| {
            let asked = self.escalations.iter().filter(|escalation| escalation.target == target).count();
            u32::try_from(asked).unwrap_or(u32::MAX)
        };
        Asked {
            planner: count(Target::Planner),
            logic_validator: count(Target::LogicValidator),
            external_advisor: count(Target::ExternalAdvisor),
            people: count(Target::People),
        }
    }

    /// Whether a step waits for an answer.
    #[must_use]
    pub fn holds(&self, step: &StepId) -> bool {
        self.open().any(|escalation| escalation.step.as_ref().is_none_or(|held| held == step))
    }

    /// Whether somebody has been asked about this failure, so that it is not judged as any other.
    pub(super) fn is_about(&self, action: &ActionId) -> bool {
        self.open().any(|escalation| escalation.action.as_ref() == Some(action))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_checklist_begins_without_remarks_and_with_the_first_try() {
        let step = StepId("task_1".to_owned());
        let remarks = vec!["The judge sent it back".to_owned()];
        let cause = Some(Cause::Dependency);
        let before = Taken {
            worker: Some(1),
            attempts: 3,
            failures: 2,
            rounds: 1,
            remarks,
            cause,
            ..Taken::default()
        };
        let mut crew = CrewState { steps: [(step.clone(), before)].into(), ..CrewState::default() };
        crew.begin_anew();
        let anew = Taken { attempts: 3, earlier: 3, ..Taken::default() };
        assert_eq!(anew.nth(4), 1, "the next one is called the fourth, and is the first");
        assert_eq!(crew.steps, [(step, anew)].into());
    }
}
