//! Purpose: what a question to the model carries along of the run: what was said, decided, assumed and tried.

use super::replanned::outline;
use super::replans::{Replan, ReplanState};
use super::run::{Revision, Run};
use crate::prompts::Told;

const REPLANS: usize = 10;
const LINES: usize = 60;

/// Everything but the newest events and the runs before, which whoever asks fills in.
#[must_use]
pub fn told(run: &Run) -> Told {
    let talk = &run.talk;
    let answers = talk
        .questions()
        .filter_map(|question| Some((question.clone(), talk.answers.get(&question.id)?.answer.clone())));
    let assumptions = talk.assumptions.iter().map(|assumption| {
        let question = talk.question(&assumption.question).map_or("", |question| question.question.as_str());
        (assumption.id.clone(), format!("{question} {}", assumption.text))
    });
    Told {
        answers: answers.collect(),
        assumptions: assumptions.collect(),
        decisions: decisions(run),
        design_summary: talk.design.as_ref().and_then(|design| design.summary.clone()),
        rejections: talk.rejections.clone(),
        advice: run.plan().filter(|plan| plan.origin.is_some()).map_or(vec![], |plan| plan.problems.clone()),
        plan: planned(run).map_or(vec![], |plan| outline(run, plan).into_iter().take(LINES).collect()),
        replans: run.replans.all.iter().rev().take(REPLANS).rev().map(line).collect(),
        ..Told::default()
    }
}

fn decisions(run: &Run) -> Vec<(String, String, String)> {
    let Some(design) = &run.talk.design else { return vec![] };
    let chosen = design.decisions.iter().filter_map(|decision| {
        let choice = design.choices.get(&decision.id)?;
        let name = decision.option(&choice.option).map_or("", |option| option.name.as_str());
        Some((decision.topic.clone(), name.to_owned(), choice.rationale.clone()))
    });
    chosen.collect()
}

/// The newest plan that has steps: one that is being made has none yet.
fn planned(run: &Run) -> Option<&Revision> {
    run.revisions.iter().rev().find(|plan| !plan.steps.is_empty())
}

fn line(replan: &Replan) -> String {
    let became = match &replan.state {
        ReplanState::Confirming => "a person is asked".to_owned(),
        ReplanState::Started => "under way".to_owned(),
        ReplanState::Done { .. } => "done".to_owned(),
        ReplanState::Failed { why } => format!("failed: {why}"),
        ReplanState::Overridden { why } => format!("not done: {why}"),
        ReplanState::Declined { .. } => "declined".to_owned(),
    };
    let level = replan.level().map_or(0, crate::plan::Level::number);
    format!(
        "#{} after {} (level {level}, confidence {:.2}): {} — {became}",
        replan.id,
        replan.phase.as_str(),
        replan.decision.confidence,
        replan.decision.reasoning
    )
}
