//! Purpose: whether the plan has to change: what has come out is judged, and if it must not change, another way is sought.

use super::cursor::{Next, is_reflection_due};
use super::effect::{Policy, Question};
use super::fact::Fact;
use super::plan_tool;
use super::replans::{
    AskedFor, Fresh, LimitHit, OnLimit, ReplanFact, ReplanResult, Settled, Source, Verdict, judge, level_of,
    trigger_of,
};
use super::revise::{outline, repeats};
use super::run::{Origin, Revision, Run};
use super::talk::{Assumption, Given};
use crate::domain::Account;
use crate::plan::{Decided, Level, ReplanDecision, ReplanPhase, ReplanType, Step};

/// What comes first because of the newest result, or nothing.
pub(super) fn reconsider<'a>(run: &'a Run, policy: &Policy) -> Option<Next<'a>> {
    // An action that has begun comes to its end before the plan is changed under it.
    if run.current_action().is_some() {
        return None;
    }
    if let Some(wish) = &run.replans.asked {
        return Some(Next::Note(vec![decision(run, &asked_by(run, wish), Source::Person, policy)]));
    }
    if let Some(fresh) = contradicted(run) {
        return Some(Next::Note(vec![decision(run, &fresh, Source::Answer, policy)]));
    }
    if run.replans.limit.as_ref().is_some_and(|hit| !hit.told) {
        return Some(Next::Ask(Question::OtherWay));
    }
    let fresh = run.replans.fresh.as_ref()?;
    if fresh.said.is_nothing() && !fresh.asked {
        let asks = policy.replan.enabled && (policy.replan.separate_call || fresh.failed.is_some());
        // Looking back brings a decision along.
        let waits = !asks || is_reflection_due(run, policy);
        return (!waits).then_some(Next::Ask(Question::Decide));
    }
    Some(Next::Note(vec![decision(run, fresh, Source::Result, policy)]))
}

/// What a person wants: the rest anew once work has begun, else all of it.
fn asked_by(run: &Run, wish: &AskedFor) -> Fresh {
    let worked = run.plan().is_some_and(|plan| plan.actions().any(|a| run.work.contains_key(&a.id)));
    let level = match (run.plan(), worked) {
        (None, _) => Level::Goal,
        (Some(_), true) => Level::Partial,
        (Some(_), false) => Level::Decomposition,
    };
    let decision = ReplanDecision {
        replan_needed: true,
        confidence: 1.0,
        reasoning: wish.why.clone(),
        replan_type: ReplanType::FullReplan,
        replan_level: Some(level),
        ..ReplanDecision::default()
    };
    by_person(decision, wish.by.clone())
}

fn by_person(decision: ReplanDecision, by: Account) -> Fresh {
    let said = Decided::Decision { decision: Box::new(decision) };
    Fresh { phase: ReplanPhase::Reflection, said, asked: true, failed: None, by: Some(by) }
}

/// Answers that came late say otherwise than was assumed: what rests on the assumptions is planned anew.
fn contradicted(run: &Run) -> Option<Fresh> {
    let plan = run.plan().filter(|plan| !plan.steps.is_empty())?;
    let wrong: Vec<(&Assumption, &Given)> = run
        .talk
        .assumptions
        .iter()
        .filter(|known| run.talk.contradicted.contains(&known.id))
        .filter_map(|known| Some((known, run.talk.answers.get(&known.question)?)))
        .collect();
    let by = wrong.first()?.1.by.clone();
    let rests = |step: &&Step| wrong.iter().any(|(known, _)| step.rests_on.contains(&known.id));
    let resting: Vec<String> = plan.steps.iter().filter(rests).map(|step| step.id.0.clone()).collect();
    let said = |(assumption, given): &(&Assumption, &Given)| {
        format!(
            "@{} answered {}: “{}”. I had assumed ({}): {}",
            given.by.login,
            assumption.question,
            given.answer.as_deref().unwrap_or_default(),
            assumption.id,
            assumption.text
        )
    };
    let reasoning = wrong.iter().map(said).collect::<Vec<_>>().join(" ");
    let decision = ReplanDecision {
        replan_needed: !resting.is_empty(),
        confidence: 1.0,
        reasoning,
        replan_type: ReplanType::PartialReplan,
        replan_level: Some(Level::Partial),
        recommended_actions: resting.iter().map(|step| format!("plan {step} anew, and only that")).collect(),
        ..ReplanDecision::default()
    };
    Some(by_person(decision, by))
}

/// The judgement with all that the history keeps of it.
fn decision(run: &Run, fresh: &Fresh, source: Source, policy: &Policy) -> Fact {
    let verdict = judge(run, fresh, &policy.replan);
    let decision = match &fresh.said {
        Decided::Decision { decision } => (**decision).clone(),
        Decided::Nothing | Decided::Unreadable { .. } => ReplanDecision::default(),
    };
    let level = level_of(&decision, fresh.phase, fresh.failed.is_some());
    let (executed, override_reason) = match &verdict {
        Verdict::Replan { .. } | Verdict::Clarify => (true, None),
        Verdict::Confirm { .. } => (false, Some("a person is asked first".to_owned())),
        Verdict::Stay { why } => (false, Some(why.clone())),
        Verdict::Limit { limit, .. } => (false, Some(limit.words().to_owned())),
    };
    let waits = matches!(verdict, Verdict::Confirm { .. });
    Fact::Replan(ReplanFact::ReplanDecision {
        replan_id: run.replans.decided + 1,
        phase: fresh.phase,
        confidence: decision.confidence,
        executed,
        override_reason,
        trigger: trigger_of(run, fresh, level.unwrap_or(Level::Retry)),
        verdict,
        subject: fresh.failed.clone(),
        by: fresh.by.clone(),
        source,
        wait_ms: waits.then_some(policy.replan.answer_within_ms),
        plan_before: run.plan().map_or(vec![], |plan| outline(run, plan)),
        llm_decision: Box::new(decision),
    })
}

/// Once a new plan stands it is told what it came to. A plan that was there before is no new one.
pub(super) fn announce(run: &Run, plan: &Revision, policy: &Policy) -> Option<Fact> {
    let origin = plan.origin.as_ref().filter(|_| !plan.announced)?;
    let by_person = run.replan(origin.replan).is_some_and(|replan| replan.by.is_some());
    let repeated = repeats(run, plan).filter(|_| policy.replan.same_trigger.is_some() && !by_person);
    if let Some(earlier) = repeated {
        let why = format!("the new plan is nearly the same as that of revision {earlier}");
        return Some(revised(run, plan, origin, ReplanResult::Failure, why));
    }
    plan.ground.is_some().then(|| revised(run, plan, origin, ReplanResult::Success, String::new()))
}

fn revised(run: &Run, plan: &Revision, origin: &Origin, result: ReplanResult, why: String) -> Fact {
    let ready = plan.sequence.as_ref().map_or(origin.at, |sequence| sequence.at);
    Fact::Replan(ReplanFact::PlanRevised {
        replan_id: origin.replan,
        revision: u32::try_from(run.revisions.len().saturating_sub(1)).unwrap_or(u32::MAX),
        result,
        why,
        duration_ms: ready.0.saturating_sub(origin.at.0),
        plan_after: outline(run, plan),
    })
}

/// What becomes of a run that stands at a limit and knows no other way, if the settings do not want people asked.
pub(super) fn at_limit(run: &Run, hit: &LimitHit, policy: &Policy) -> Option<Vec<Fact>> {
    match policy.replan.on_limit {
        OnLimit::Ask => None,
        OnLimit::Continue => {
            let settled = ReplanFact::LimitSettled { how: Settled::GoOn, by: None, comment: None };
            Some(vec![Fact::Replan(settled)])
        }
        OnLimit::Stop => Some(plan_tool::give_up(run, &stopped(hit))),
    }
}

fn stopped(hit: &LimitHit) -> String {
    let words = hit.limit.words();
    format!("I would have to change the plan, but {words}")
}
