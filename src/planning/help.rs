//! Purpose: who is asked when a worker is stuck, and what becomes of the answer. The table is the crew's; here it meets
//! the run.

use super::crew::{CrewFact, Escalation, EscalationState, Fallback, Plea};
use super::cursor::Next;
use super::effect::{Policy, Question};
use super::fact::Fact;
use super::run::{Revision, Run};
use super::work::{Outcome, Turn, Work};
use crate::crew::{Cause, Helps, Roster, Route, Target, after, cause_of, helps, route};
use crate::plan::{Action, ActionId, Call, Feedback, StepId};

/// After so many failures of one step another try is no answer any more.
pub(super) const TRIES: u32 = 3;
/// So many steps that fail in a row put the whole plan in doubt.
const IN_A_ROW: usize = 3;

/// A failure that the table has a row for is given to whom it names, before anybody judges it.
pub(super) fn escalate<'a>(run: &'a Run, policy: &Policy) -> Option<Next<'a>> {
    let fresh = run.replans.fresh.as_ref().filter(|fresh| !fresh.routed && !fresh.asked)?;
    let stuck = Stuck::of(run, fresh.failed.as_ref()?)?;
    let cause = stuck.cause()?;
    match route(cause, &run.crew.asked(), &policy.crew.limits, roster(policy)) {
        Route::To { first, .. } => Some(ask(run, &stuck.question(run, cause), first, policy)),
        // The planner judges it like any other failure.
        Route::Nobody { .. } => None,
    }
}

fn roster(policy: &Policy) -> Roster {
    Roster { advisor: policy.crew.advisor }
}

/// What became of those that were asked: advice is followed or passed on, and a time that is up has consequences.
pub(super) fn advised<'a>(run: &'a Run, policy: &Policy) -> Option<Next<'a>> {
    run.crew.open().find_map(|escalation| match escalation.target {
        Target::LogicValidator | Target::ExternalAdvisor => Some(counsel(run, escalation, policy)),
        Target::People if escalation.overdue && escalation.state == EscalationState::Open => {
            let (number, fallback) = (escalation.number, fallback(escalation, policy));
            Some(note(CrewFact::EscalationExpired { number, fallback }))
        }
        Target::People | Target::Planner => None,
    })
}

/// To wait on is of no use where nobody can see the question.
fn fallback(escalation: &Escalation, policy: &Policy) -> Fallback {
    match policy.crew.on_no_answer {
        Fallback::Hold if escalation.unposted.is_some() => Fallback::Stop,
        fallback @ (Fallback::Hold | Fallback::SkipStep | Fallback::Stop) => fallback,
    }
}

fn note<'a>(fact: CrewFact) -> Next<'a> {
    Next::Note(vec![Fact::Crew(fact)])
}

fn counsel<'a>(run: &'a Run, escalation: &Escalation, policy: &Policy) -> Next<'a> {
    let Some(advice) = &escalation.advice else { return Next::Ask(Question::Advise) };
    let asked = run.crew.asked();
    let (cause, why) = match helps(advice) {
        Helps::Yes => {
            let (number, text) = (escalation.number, advice.advice.clone());
            return note(CrewFact::EscalationResolved { number, by: None, text, comment: None });
        }
        Helps::AskPeople { why } if advice.contradiction.is_some() => (Cause::Contradiction, Some(why)),
        Helps::AskPeople { why } => (Cause::Ambiguity, Some(why)),
        Helps::AskNext => (escalation.cause, None),
    };
    let next = match &why {
        Some(_) => route(cause, &asked, &policy.crew.limits, roster(policy)),
        None => after(cause, escalation.target, &asked, &policy.crew.limits, roster(policy)),
    };
    let said = format!("{}: {}", escalation.target.words(), advice.advice.trim());
    let tried = escalation.tried.iter().cloned().chain([said]).chain(why).collect();
    let question = Want { cause, tried, ..Want::again(escalation) };
    match next {
        Route::To { first, .. } => ask(run, &question, first, policy),
        Route::Nobody { why } => note(CrewFact::NobodyLeft { number: escalation.number, why }),
    }
}

/// What is asked, whoever is asked.
struct Want {
    cause: Cause,
    step: Option<StepId>,
    action: Option<ActionId>,
    issue: String,
    tried: Vec<String>,
    suggestion: Option<String>,
}

impl Want {
    fn again(escalation: &Escalation) -> Self {
        Self {
            cause: escalation.cause,
            step: escalation.step.clone(),
            action: escalation.action.clone(),
            issue: escalation.issue.clone(),
            tried: escalation.tried.clone(),
            suggestion: escalation.suggestion.clone(),
        }
    }
}

fn ask<'a>(run: &'a Run, want: &Want, target: Target, policy: &Policy) -> Next<'a> {
    let people = target == Target::People;
    let number = run.crew.escalations.len() + 1;
    let plea = Box::new(Plea {
        key: run.key(),
        number: u32::try_from(number).unwrap_or(u32::MAX),
        cause: want.cause,
        target,
        step: want.step.clone(),
        action: want.action.clone(),
        issue: want.issue.clone(),
        tried: want.tried.clone(),
        suggestion: want.suggestion.clone(),
        asked: vec![],
        remind_in_ms: people.then_some(policy.crew.remind_after_ms),
        answer_in_ms: people.then_some(policy.crew.answer_within_ms),
    });
    if people { Next::Escalate(plea) } else { note(CrewFact::Escalated(plea)) }
}

/// A failure, with what is known of it.
struct Stuck<'a> {
    run: &'a Run,
    action: &'a Action,
    why: &'a str,
    difficulty: Option<&'a Feedback>,
}

impl<'a> Stuck<'a> {
    fn of(run: &'a Run, id: &ActionId) -> Option<Self> {
        let action = run.plan()?.actions().find(|action| action.id == *id)?;
        let work = run.work.get(id)?;
        let Outcome::Failed { why } = &work.ended.as_ref()?.outcome else { return None };
        Some(Self { run, action, why, difficulty: difficulty(work) })
    }

    /// The row of the table that it falls under. What puts the whole plan in doubt comes first.
    fn cause(&self) -> Option<Cause> {
        let taken = self.run.crew.steps.get(&self.action.task_id);
        if self.run.crew.in_a_row.len() >= IN_A_ROW {
            return Some(Cause::ThreeStepsInARow);
        }
        let told = match self.difficulty {
            Some(Feedback::Difficulty { impediment, .. }) => {
                cause_of(impediment.category, impediment.requested_action)
            }
            Some(Feedback::Implementation { .. } | Feedback::Exploration { .. }) | None => None,
        };
        let thrice = taken.is_some_and(|taken| taken.failures >= TRIES && taken.failures % TRIES == 0);
        taken.and_then(|taken| taken.cause).or(told).or(thrice.then_some(Cause::ThreeFailures))
    }

    fn question(&self, run: &Run, cause: Cause) -> Want {
        let whole = cause == Cause::ThreeStepsInARow;
        let failed = run.crew.in_a_row.iter().filter_map(|step| last_failure(run, step));
        let (issue, mut tried, suggestion) = match self.difficulty {
            Some(Feedback::Difficulty { issue, attempts, suggestion, .. }) => {
                (issue.clone(), attempts.clone(), suggestion.clone())
            }
            Some(Feedback::Implementation { .. } | Feedback::Exploration { .. }) | None => {
                (self.why.to_owned(), vec![], None)
            }
        };
        if whole {
            tried.extend(failed);
        }
        Want {
            cause,
            step: (!whole).then(|| self.action.task_id.clone()),
            action: Some(self.action.id.clone()),
            issue,
            tried,
            suggestion,
        }
    }
}

fn last_failure(run: &Run, step: &StepId) -> Option<String> {
    let plan = run.plan()?;
    let why = |action: &Action| match &run.work.get(&action.id)?.ended.as_ref()?.outcome {
        Outcome::Failed { why } => Some(format!("{step}: {why}")),
        Outcome::Succeeded => None,
    };
    run.actions_of(plan, step).filter_map(why).last()
}

/// What the worker said when it gave up, or when the leader stepped in. A report that was answered ended nothing.
fn difficulty(work: &Work) -> Option<&Feedback> {
    match work.turns.last() {
        Some(Turn { call: Call::Finish { feedback } | Call::Report { feedback }, result: None, .. }) => {
            Some(feedback)
        }
        Some(_) | None => None,
    }
}

impl Run {
    /// Nothing can go on before people have answered; the oldest question first.
    pub(super) fn waits_for_help(&self) -> Option<&Escalation> {
        let first = self.crew.open().find(|escalation| escalation.awaits_people())?;
        let plan = self.plan()?;
        let idle = !self.work.is_any_at_work() && self.lanes.keys().all(|step| self.crew.holds(step));
        let judges = self.replans.fresh.as_ref().is_some_and(|fresh| fresh.failed.is_some());
        (idle && !judges && !self.can_begin(plan)).then_some(first)
    }

    fn can_begin(&self, plan: &Revision) -> bool {
        let free = |action: &&Action| !self.crew.holds(&action.task_id);
        plan.actions().filter(free).any(|action| super::cursor::is_ready(self, plan, action))
    }
}
