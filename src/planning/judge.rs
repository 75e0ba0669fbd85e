//! Purpose: what follows from a decision about replanning: numbers in, verdict out.
//!
//! [`judge`] owns no counter; everything is counted from the record.

use super::replans::{Fresh, Limit, Replan, ReplanPolicy, Verdict};
use super::run::Run;
use super::work::StepState;
use crate::plan::{Decided, Level, ReplanDecision, ReplanPhase, ReplanType, RevisionScope, Step};

/// From here on a replan needs no warning.
const SURE: f64 = 0.8;

/// The level that a decision means, with the phase it was made in: before anything runs there is less to go back to.
#[must_use]
pub fn level_of(decision: &ReplanDecision, phase: ReplanPhase, failed: bool) -> Option<Level> {
    let by_type = match decision.replan_type {
        ReplanType::GoalRevision => Some(Level::Goal),
        ReplanType::TaskRedecomposition => Some(Level::Decomposition),
        ReplanType::ActionRegeneration => Some(Level::Actions),
        ReplanType::PartialReplan => Some(Level::Partial),
        ReplanType::FullReplan => Some(Level::Decomposition),
        ReplanType::PlanRevision => Some(match decision.details.revision_scope {
            Some(RevisionScope::Major) => Level::Decomposition,
            Some(RevisionScope::Minor | RevisionScope::Moderate) | None => Level::Partial,
        }),
        ReplanType::Retry => Some(Level::Retry),
        ReplanType::ClarificationRequest | ReplanType::None => None,
    };
    let by_target = decision.target_phase.map(|target| match target {
        ReplanPhase::GoalUnderstanding => Level::Goal,
        ReplanPhase::TaskDecomposition => Level::Decomposition,
        ReplanPhase::ActionSequence => Level::Actions,
        ReplanPhase::Execution | ReplanPhase::Reflection => Level::Partial,
    });
    // Where a type is given, going back to the work itself says nothing more.
    let far = decision.target_phase.is_some_and(|target| target < ReplanPhase::Execution);
    let by_target = by_target.filter(|_| far || by_type.is_none());
    let wanted = decision.replan_level.or(by_type.max(by_target))?;
    let lowest = match phase {
        ReplanPhase::GoalUnderstanding => Level::Goal,
        ReplanPhase::TaskDecomposition => Level::Decomposition,
        ReplanPhase::ActionSequence => Level::Actions,
        ReplanPhase::Execution | ReplanPhase::Reflection if failed => Level::Retry,
        ReplanPhase::Execution | ReplanPhase::Reflection => Level::Partial,
    };
    Some(wanted.max(lowest))
}

/// The level that a decision means for this run. Where no step is open, there are no actions to choose anew: what is
/// missing needs a step.
pub(super) fn level_for(run: &Run, decision: &ReplanDecision, fresh: &Fresh) -> Option<Level> {
    let level = level_of(decision, fresh.phase, fresh.failed.is_some())?;
    let through = run.plan().is_some_and(|plan| {
        let is_open = |step: &Step| match run.step_state(plan, &step.id) {
            StepState::Done(_) | StepState::Partly { .. } | StepState::SkippedBy(_) | StepState::LeftOut => {
                false
            }
            StepState::Waiting | StepState::AtWork | StepState::Failed(_) => true,
        };
        !plan.steps.is_empty() && !plan.steps.iter().any(is_open)
    });
    // What has failed three times is not helped by a fourth.
    let thrice = fresh.failed.as_ref().and_then(|action| run.step_of(action)).is_some_and(|step| {
        run.crew.steps.get(step).is_some_and(|taken| taken.failures >= super::help::TRIES)
    });
    Some(match level {
        Level::Actions if through => Level::Partial,
        Level::Retry if thrice => Level::Partial,
        Level::Retry | Level::Partial | Level::Actions | Level::Decomposition | Level::Goal => level,
    })
}

/// What follows from a decision: the strictest rule wins.
#[must_use]
pub fn judge(run: &Run, fresh: &Fresh, policy: &ReplanPolicy) -> Verdict {
    let stay = |why: &str| Verdict::Stay { why: why.to_owned() };
    let failed = fresh.failed.is_some();
    let decision = match &fresh.said {
        Decided::Decision { decision } => decision,
        Decided::Unreadable { .. } if failed => {
            return Verdict::Limit { level: None, limit: Limit::NoDecision };
        }
        Decided::Unreadable { why } => return stay(&format!("the decision could not be read: {why}")),
        Decided::Nothing => return stay("no replan was asked for"),
    };
    if wants_answers(decision, fresh.phase) {
        return clarify(run, decision, policy);
    }
    if !decision.replan_needed {
        return stay("the plan is good as it is");
    }
    if fresh.by.is_none() && !policy.enabled {
        return stay("the settings switch replanning off");
    }
    let Some(level) = level_for(run, decision, fresh) else {
        return stay("the decision does not say where to go back to");
    };
    if fresh.by.is_some() {
        return Verdict::Replan { level, sure: true };
    }
    let confidence = decision.confidence;
    let limit = limit_of(run, fresh, level, policy);
    if confidence >= policy.min_confidence {
        return match limit {
            Some(limit) => Verdict::Limit { level: Some(level), limit },
            None => Verdict::Replan { level, sure: confidence >= SURE },
        };
    }
    let may_ask = policy.ask_from.is_some_and(|from| confidence >= from);
    match limit {
        _ if !may_ask => stay("the model is not sure enough"),
        // People are not asked for what could not be done, nor again and again.
        Some(limit) => stay(limit.words()),
        None if asked_people(run) >= policy.total as usize => stay(Limit::Total.words()),
        None => Verdict::Confirm { level },
    }
}

/// How often a person was asked whether to replan.
fn asked_people(run: &Run) -> usize {
    run.replans.all.iter().filter(|replan| matches!(replan.verdict, Verdict::Confirm { .. })).count()
}

fn wants_answers(decision: &ReplanDecision, phase: ReplanPhase) -> bool {
    let asks = decision.clarification_needed || decision.replan_type == ReplanType::ClarificationRequest;
    asks && !decision.clarification_questions.is_empty() && phase == ReplanPhase::GoalUnderstanding
}

fn clarify(run: &Run, decision: &ReplanDecision, policy: &ReplanPolicy) -> Verdict {
    if run.talk.new_questions(&decision.clarification_questions).is_empty() {
        return Verdict::Stay { why: "all of that has been asked before".to_owned() };
    }
    let rounds = run.talk.rounds.iter().filter(|round| !round.questions.is_empty()).count();
    if rounds >= policy.clarifications as usize {
        return Verdict::Stay { why: Limit::Clarifications.words().to_owned() };
    }
    Verdict::Clarify
}

/// The first limit that one more replan of this level would break.
fn limit_of(run: &Run, fresh: &Fresh, level: Level, policy: &ReplanPolicy) -> Option<Limit> {
    // A person may always ask for more; what a person only agreed to was still the model's wish.
    let own = |replan: &&Replan| replan.by.is_none() || matches!(replan.verdict, Verdict::Confirm { .. });
    let executed = || run.replans.all.iter().filter(own).filter(|replan| replan.executed());
    let at_level = |level: Level| executed().filter(|replan| replan.level() == Some(level)).count();
    let reached = |count: usize, most: u32| count >= most as usize;
    if reached(executed().count(), policy.total) {
        return Some(Limit::Total);
    }
    let trigger = trigger_of(run, fresh, level);
    let same = executed().filter(|replan| replan.trigger == trigger).count();
    if level != Level::Retry && policy.same_trigger.is_some_and(|most| reached(same, most)) {
        return Some(Limit::SameTrigger);
    }
    if fresh.phase == ReplanPhase::Reflection && level != Level::Retry {
        let revisions = executed()
            .filter(|replan| replan.phase == ReplanPhase::Reflection && replan.level() != Some(Level::Retry));
        if reached(revisions.count(), policy.plan_revisions) {
            return Some(Limit::PlanRevisions);
        }
    }
    let retries = executed().filter(|r| r.level() == Some(Level::Retry) && r.failed == fresh.failed).count();
    let (count, most, limit) = match level {
        Level::Retry => (retries, policy.action_retries, Limit::ActionRetries),
        Level::Partial => (at_level(level), policy.partial_replans, Limit::PartialReplans),
        Level::Actions => (at_level(level), policy.regenerations, Limit::Regenerations),
        Level::Decomposition => (at_level(level), policy.redecompositions, Limit::Redecompositions),
        Level::Goal => (at_level(level), policy.clarifications, Limit::GoalRevisions),
    };
    reached(count, most).then_some(limit)
}

/// Two replans have the same trigger when the same thing went wrong in the same phase.
pub(super) fn trigger_of(run: &Run, fresh: &Fresh, level: Level) -> String {
    let failed = fresh.failed.as_ref().and_then(|id| run.plan()?.actions().find(|a| a.id == *id));
    let what = match (failed, &fresh.said) {
        (Some(action), _) => {
            let target = action.spec.path.as_deref().unwrap_or(&action.tool);
            format!("{} {target} {}", action.action_type.as_str(), action.spec.command.join(" "))
        }
        (None, Decided::Decision { decision }) => {
            let mut issues: Vec<String> = decision.issues_found.iter().map(|i| i.to_lowercase()).collect();
            issues.sort();
            issues.join("; ")
        }
        (None, Decided::Nothing | Decided::Unreadable { .. }) => String::new(),
    };
    format!("{}/{}/{}", fresh.phase.as_str(), level.number(), what.trim())
}
