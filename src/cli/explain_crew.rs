//! Purpose: what happens among leader, workers and judge, and with those they ask, as plain sentences.

use super::phrases::{clip, list};
use crate::crew::{By, Checkout, Verdict};
use crate::planning::{CrewFact, Fallback, Plea};

fn asked(plea: &Plea) -> String {
    let about = plea.step.as_ref().map_or(String::new(), |step| format!(" about {step}"));
    let names: Vec<String> = plea.asked.iter().map(|login| format!("@{login}")).collect();
    let names = if names.is_empty() { String::new() } else { format!(" ({})", list(&names)) };
    let (number, whom, cause) = (plea.number, plea.target.words(), plea.cause.as_str());
    format!("question {number} went to {whom}{names}{about}, {cause}: {}", clip(&plea.issue))
}

/// The sentence, or nothing for what only the machinery needs.
pub(super) fn crew(fact: &CrewFact) -> Option<String> {
    Some(match fact {
        CrewFact::StepAssigned { step, worker, checkout, attempt } => {
            let again = if *attempt > 1 { format!(", try {attempt}") } else { String::new() };
            let place = match checkout {
                Checkout::Own => "in a checkout of its own",
                Checkout::Shared => "in the run's checkout",
            };
            format!("worker {worker} took {step} in hand {place}{again}")
        }
        CrewFact::StepJudged { step, judgement, by, overruled, .. } => {
            let who = match by {
                By::Evidence => "the evidence says",
                By::Judge => "the judge says",
            };
            let verdict = match judgement.verdict {
                Verdict::Done => "is done",
                Verdict::Continue => "needs more work",
                Verdict::Replan => "needs another plan",
            };
            let over = overruled.as_ref().map_or(String::new(), |why| format!("; {}", clip(why)));
            format!("{who} that {step} {verdict}: {}{over}", clip(&judgement.reasons.join("; ")))
        }
        CrewFact::StepMerged { commit: None, .. } => return None,
        CrewFact::StepMerged { step, commit: Some(commit), pushed, .. } => {
            let pushed = if *pushed { "" } else { ", not pushed yet" };
            let short: String = commit.chars().take(8).collect();
            format!("the work on {step} is on the run's branch as {short}{pushed}")
        }
        CrewFact::StepConflicted { step, why, .. } => {
            format!("the work on {step} could not be taken over: {}", clip(why))
        }
        CrewFact::Escalated(plea) => asked(plea),
        CrewFact::EscalationPosted { number, comment } => {
            format!("question {number} was posted as comment {}", comment.0)
        }
        CrewFact::EscalationUnposted { number, why } => {
            format!("question {number} could not be put on the thread: {}", clip(why))
        }
        CrewFact::EscalationReminded { number, .. } => format!("people were reminded of question {number}"),
        CrewFact::AdviceGiven { number, advice: None, .. } => format!("question {number} got no answer"),
        CrewFact::AdviceGiven { number, advice: Some(advice), .. } => {
            let sure = advice.confidence;
            format!("the advice on question {number} (confidence {sure:.2}): {}", clip(&advice.advice))
        }
        CrewFact::EscalationResolved { number, by, text, .. } => {
            let by = by.as_ref().map_or("an adviser".to_owned(), |by| format!("@{}", by.login));
            format!("{by} answered question {number}: {}", clip(text))
        }
        CrewFact::NobodyLeft { number, why } => {
            format!("nobody else can be asked about question {number}: {}", clip(why))
        }
        CrewFact::EscalationExpired { number, fallback } => {
            let then = match fallback {
                Fallback::Hold => "what depends on it waits",
                Fallback::SkipStep => "its step is left out",
                Fallback::Stop => "the run stops",
            };
            format!("nobody answered question {number} in time: {then}")
        }
    })
}
