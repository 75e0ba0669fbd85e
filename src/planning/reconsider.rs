//! Purpose: whether the plan has to change: what has come out is judged, and if it must not change, another way is sought.

use super::cursor::{Next, is_reflection_due};
use super::effect::{Policy, Question};
use super::fact::Fact;
use super::judge::{judge, level_for, trigger_of};
use super::plan_tool;
use super::replanned::{outline, repeats};
use super::replans::{
    AskedFor, Fresh, Limit, LimitHit, OnLimit, ReplanFact, ReplanResult, Settled, Source, Verdict,
};
use super::revise::questions_of;
use super::run::{Origin, Revision, Run};
use super::talk::{Assumption, TalkFact, plain};
use super::work::StepState;
use crate::domain::Account;
use crate::plan::{Decided, Level, QuestionId, ReplanDecision, ReplanPhase, ReplanType, Step, StepId};

/// What comes first because of the newest result, or nothing.
pub(super) fn reconsider<'a>(run: &'a Run, policy: &Policy) -> Option<Next<'a>> {
    if let Some(wish) = &run.replans.asked {
        return Some(Next::Note(vec![decision(run, &asked_by(run, wish), Source::Person, vec![], policy)]));
    }
    if let Some((fresh, keeps)) = contradicted(run) {
        return Some(Next::Note(vec![decision(run, &fresh, Source::Answer, keeps, policy)]));
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
    let decided = decision(run, fresh, Source::Result, vec![], policy);
    let assumed = assumed(run, fresh, &judge(run, fresh, &policy.replan));
    Some(Next::Note(std::iter::once(decided).chain(assumed).collect()))
}

/// What the model goes on with where nobody is asked, or no question goes with it: it belongs to the ledger all the same.
fn assumed(run: &Run, fresh: &Fresh, verdict: &Verdict) -> Option<Fact> {
    let Decided::Decision { decision } = &fresh.said else { return None };
    let questions = questions_of(decision);
    let alone = decision.details.assumptions_to_make.iter().skip(questions.len()).cloned();
    let limit = Limit::Clarifications.words();
    let unasked = questions
        .iter()
        .filter_map(|asked| Some(format!("{} {}", asked.question, asked.assumption.as_ref()?)));
    let texts: Vec<String> = match verdict {
        _ if fresh.phase != ReplanPhase::GoalUnderstanding => return None,
        Verdict::Stay { why } if why == limit => unasked.chain(alone).collect(),
        Verdict::Stay { .. } | Verdict::Clarify => alone.collect(),
        Verdict::Replan { .. } | Verdict::Confirm { .. } | Verdict::Limit { .. } => return None,
    };
    let known = |text: &String| run.talk.assumptions.iter().any(|known| plain(&known.text) == plain(text));
    let number = |(n, text): (usize, String)| {
        let question = QuestionId(String::new());
        Assumption { id: format!("A{n}"), question, text }
    };
    let next = run.talk.assumptions.len() + 1;
    let assumptions: Vec<Assumption> =
        (next..).zip(texts.into_iter().filter(|text| !known(text))).map(number).collect();
    (!assumptions.is_empty()).then_some(Fact::Talk(TalkFact::Assumed { round: 0, assumptions }))
}

/// What a person wants: the rest anew once work has begun, else all of it.
fn asked_by(run: &Run, wish: &AskedFor) -> Fresh {
    let decision = ReplanDecision {
        replan_needed: true,
        confidence: 1.0,
        reasoning: wish.why.clone(),
        replan_type: ReplanType::FullReplan,
        replan_level: Some(level_asked_for(run)),
        ..ReplanDecision::default()
    };
    by_person(decision, wish.by.clone())
}

fn level_asked_for(run: &Run) -> Level {
    let worked = run.plan().is_some_and(|plan| plan.actions().any(|a| run.work.contains_key(&a.id)));
    match (run.plan(), worked) {
        (None, _) => Level::Goal,
        (Some(_), true) => Level::Partial,
        (Some(_), false) => Level::Decomposition,
    }
}

fn by_person(decision: ReplanDecision, by: Account) -> Fresh {
    let said = Decided::Decision { decision: Box::new(decision) };
    Fresh { phase: ReplanPhase::Reflection, said, asked: true, failed: None, by: Some(by), routed: false }
}

/// Something that the plan was made with and that is no longer so.
struct Wrong<'a> {
    question: &'a QuestionId,
    /// What it was taken for until then, in words.
    before: String,
    /// Whether it was an answer, which nobody knows the steps of unless it was assumed first.
    answered: bool,
}

fn wrong(run: &Run) -> Vec<Wrong<'_>> {
    let talk = &run.talk;
    let assumed =
        talk.assumptions.iter().filter(|known| talk.contradicted.contains(&known.id)).map(|known| {
            let before = format!("I had assumed ({}): {}", known.id, known.text);
            Wrong { question: &known.question, before, answered: false }
        });
    let changed = talk.changed.iter().map(|known| {
        let before = format!("The plan was made with another answer: “{}”.", known.before);
        Wrong { question: &known.question, before, answered: true }
    });
    assumed.chain(changed).collect()
}

/// Answers that came late say otherwise than the plan was made with: what rests on that is planned anew, and of the rest
/// nothing changes. Of an answer that was never assumed nobody knows what rests on it, so all that is open does.
fn contradicted(run: &Run) -> Option<(Fresh, Vec<StepId>)> {
    let plan = run.plan().filter(|plan| !plan.steps.is_empty())?;
    let wrong = wrong(run);
    let by = run.talk.answers.get(wrong.first()?.question)?.by.clone();
    let rests = |step: &Step, on: &Wrong<'_>| {
        let assumed = run.talk.assumptions.iter().filter(|known| known.question == *on.question);
        assumed.into_iter().any(|known| step.rests_on.contains(&known.id))
    };
    let resting: Vec<&Step> =
        plan.steps.iter().filter(|step| wrong.iter().any(|on| rests(step, on))).collect();
    let anywhere = wrong.iter().any(|on| on.answered && !resting.iter().any(|step| rests(step, on)));
    let level = if anywhere { level_asked_for(run) } else { Level::Partial };
    let decision = ReplanDecision {
        replan_needed: anywhere || !resting.is_empty(),
        confidence: 1.0,
        reasoning: wrong.iter().map(|on| said(run, on)).collect::<Vec<_>>().join(" "),
        replan_type: ReplanType::PartialReplan,
        replan_level: Some(level),
        recommended_actions: resting.iter().map(|step| advice(run, plan, step)).collect(),
        ..ReplanDecision::default()
    };
    let stays = |step: &&Step| {
        let planned = plan.open_actions().any(|action| action.task_id == step.id);
        planned && !anywhere && !is_through(run, plan, step) && !resting.iter().any(|on| on.id == step.id)
    };
    let keeps = plan.steps.iter().filter(stays).map(|step| step.id.clone()).collect();
    Some((by_person(decision, by), keeps))
}

fn said(run: &Run, on: &Wrong<'_>) -> String {
    let given = run.talk.answers.get(on.question);
    let (by, answer) = given.map_or(("somebody", ""), |given| {
        (given.by.login.as_str(), given.answer.as_deref().unwrap_or_default())
    });
    format!("@{by} answered {}: “{answer}”. {}", on.question, on.before)
}

/// What is done stays done: only another step can put it right.
fn advice(run: &Run, plan: &Revision, step: &Step) -> String {
    let id = &step.id;
    match run.step_state(plan, id) {
        StepState::Done(_) => {
            format!(
                "{id} is done and stays: add a new step, with an id of its own, that puts right what is wrong in it"
            )
        }
        StepState::Partly { .. } => {
            format!(
                "{id} is done as far as it was approved and stays so: add a new step, with an id of its own, that puts right what is wrong in it"
            )
        }
        StepState::SkippedBy(_) | StepState::LeftOut => format!("{id} was left out and stays out"),
        StepState::Waiting | StepState::AtWork | StepState::Failed(_) => {
            format!("plan {id} anew, and only that")
        }
    }
}

fn is_through(run: &Run, plan: &Revision, step: &Step) -> bool {
    match run.step_state(plan, &step.id) {
        StepState::Done(_) | StepState::Partly { .. } | StepState::SkippedBy(_) | StepState::LeftOut => true,
        StepState::Waiting | StepState::AtWork | StepState::Failed(_) => false,
    }
}

/// The judgement with all that the history keeps of it.
fn decision(run: &Run, fresh: &Fresh, source: Source, keeps: Vec<StepId>, policy: &Policy) -> Fact {
    let verdict = judge(run, fresh, &policy.replan);
    let decision = match &fresh.said {
        Decided::Decision { decision } => (**decision).clone(),
        Decided::Nothing | Decided::Unreadable { .. } => ReplanDecision::default(),
    };
    let level = level_for(run, &decision, fresh);
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
        keeps,
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

/// The same for a plan that cannot be carried out, where it was to take another's place.
pub(super) fn came_to_nothing(run: &Run, plan: &Revision, why: &str) -> Option<Fact> {
    let origin = plan.origin.as_ref().filter(|origin| run.replan_in_the_making() == Some(origin.replan))?;
    Some(revised(run, plan, origin, ReplanResult::Failure, why.to_owned()))
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
    let by_person = run.replan(hit.replan).is_some_and(|replan| replan.by.is_some());
    match policy.replan.on_limit {
        OnLimit::Ask => None,
        // Who asked for another plan says whether the old one goes on.
        OnLimit::Continue if by_person => None,
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
