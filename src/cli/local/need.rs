//! Purpose: what a run waits for, and what it is at, read off the run. The terminal and scripts are told the same.

use crate::plan::{DecisionPoint, Question};
use crate::planning::{Design, Escalation, Hold, Phase, Request, Resource, Round, Run, Trigger};

/// The one thing that somebody is asked for now.
#[derive(Debug)]
pub(in crate::cli) enum Need<'a> {
    Answer(&'a Round, &'a Question),
    Choice(&'a Design, &'a DecisionPoint),
    Review(&'a Design),
    /// The plan stands, and may be carried out.
    Execute(&'a Request),
    /// The crew does not know how to go on, and nothing else is left to do.
    Help(&'a Escalation),
    /// Something rarer: what happened, and the ways to go on.
    Steer(Steer),
}

#[derive(Debug, PartialEq)]
pub(in crate::cli) struct Steer {
    pub name: &'static str,
    pub what: String,
    /// Each with the comment that says so.
    pub ways: Vec<(&'static str, String)>,
}

/// Nothing as long as the run is at work, or what it asks is not on the thread yet.
pub(in crate::cli) fn need(run: &Run) -> Option<Need<'_>> {
    if !run.is_live() || run.awaits_post() || run.awaits_preview() {
        return None;
    }
    match run.hold()? {
        Hold::Answers(round) => {
            run.talk.unanswered(round).into_iter().next().map(|question| Need::Answer(round, question))
        }
        Hold::Decisions(design) => {
            design.open_decisions().into_iter().next().map(|decision| Need::Choice(design, decision))
        }
        Hold::Review(design) => Some(Need::Review(design)),
        Hold::Approval(request) => Some(Need::Execute(request)),
        Hold::Escalation(escalation) => Some(Need::Help(escalation)),
        Hold::Retry(_) => None,
        hold @ (Hold::Paused(_) | Hold::Unclear(_) | Hold::Confirm(_) | Hold::Limit(_) | Hold::Budget(_)) => {
            Some(Need::Steer(steer(&hold)?))
        }
    }
}

fn steer(hold: &Hold<'_>) -> Option<Steer> {
    let resume = || "/resume".to_owned();
    Some(match hold {
        Hold::Paused(pause) => Steer {
            name: "paused",
            what: format!("The run is paused by @{}.", pause.by.login),
            ways: vec![("go on", resume())],
        },
        Hold::Unclear(action) => Steer {
            name: "unclear",
            what: format!(
                "The run was interrupted in action {action}, and nobody knows whether it happened."
            ),
            ways: vec![("go on with it", resume())],
        },
        Hold::Confirm(_) => Steer {
            name: "replan",
            what: "The plan should change, but this is not certain; the card above says why.".to_owned(),
            ways: vec![("change the plan", "/replan".to_owned()), ("keep the plan as it is", resume())],
        },
        Hold::Limit(_) => Steer {
            name: "limit",
            what: "The plan may not change any more by itself; the card above says why.".to_owned(),
            ways: vec![("go on with the plan as it is", resume())],
        },
        Hold::Budget(reached) => {
            let amount = match reached.resource {
                Resource::MicroUsd => {
                    format!("{}.{:06}", reached.limit / 1_000_000, reached.limit % 1_000_000)
                }
                Resource::Tokens
                | Resource::ModelCalls
                | Resource::Minutes
                | Resource::Files
                | Resource::Bytes => reached.limit.to_string(),
            };
            Steer {
                name: "budget",
                what: "The budget of the run is used up.".to_owned(),
                ways: vec![("allow as much again", format!("/budget +{amount}"))],
            }
        }
        Hold::Retry(_)
        | Hold::Answers(_)
        | Hold::Decisions(_)
        | Hold::Review(_)
        | Hold::Approval(_)
        | Hold::Escalation(_) => return None,
    })
}

impl Need<'_> {
    /// What programs call it.
    pub(in crate::cli) fn name(&self) -> &'static str {
        match self {
            Self::Answer(..) => "answers",
            Self::Choice(..) => "decisions",
            Self::Review(_) => "review",
            Self::Execute(_) => "execute",
            Self::Help(_) => "escalation",
            Self::Steer(steer) => steer.name,
        }
    }
}

/// In a few words, for a list.
pub(in crate::cli) fn waits_for(run: &Run) -> String {
    match need(run) {
        Some(Need::Answer(round, _)) => {
            let open = run.talk.unanswered(round).len();
            format!("{open} {}", if open == 1 { "answer" } else { "answers" })
        }
        Some(Need::Choice(_, decision)) => format!("decision {}", decision.id),
        Some(Need::Review(_)) => "review of the design".to_owned(),
        Some(Need::Execute(_)) => "your word to execute".to_owned(),
        Some(Need::Help(escalation)) => format!("the answer to question {}", escalation.number),
        Some(Need::Steer(steer)) => steer.name.to_owned(),
        None => format!("nobody ({})", doing(run)),
    }
}

/// What the run is at, for the line that changes.
pub(in crate::cli) fn doing(run: &Run) -> String {
    if let Some(retry) = &run.retry {
        return format!("trying again soon: {}", retry.reason);
    }
    let talk = &run.talk;
    match run.phase() {
        Phase::Understand if run.how == Trigger::Document => "reading the plan".to_owned(),
        Phase::Understand => "understanding the request".to_owned(),
        Phase::Decompose => match (&talk.discovery, &talk.design) {
            (_, _) if talk.open_round().is_some() => "reading what you said",
            (Some(_), None) if talk.discovered => "weighing the options",
            (Some(_), Some(design)) if design.summary.is_none() => "summing up the design",
            (Some(_), Some(design)) if design.approved.is_some() => "cutting the work into steps",
            (_, _) => "thinking the request through",
        }
        .to_owned(),
        Phase::Sequence => "writing the actions".to_owned(),
        Phase::Approve => "looking at the repository".to_owned(),
        Phase::Execute => match run.current_actions().next() {
            Some((action, _)) => {
                format!("carrying out action {}: {}", crate::actions::number_of(&action.id), action.purpose)
            }
            None => "carrying out the plan".to_owned(),
        },
        Phase::Deliver => "handing over the branch".to_owned(),
    }
}
