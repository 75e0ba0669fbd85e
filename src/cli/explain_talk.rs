//! Purpose: the conversation before a plan, and its replans, as plain sentences.

use super::phrases::{clip, list, plural};
use crate::domain::Account;
use crate::plan::{OtherWay, Question};
use crate::planning::{How, ReplanFact, ReplanResult, Reply, Settled, TalkFact, Verdict};

pub(super) fn talk(fact: &TalkFact) -> Option<String> {
    Some(match fact {
        TalkFact::QuestionsFound { questions, .. } => {
            format!("the model wants to ask {}", plural(questions.len(), "question"))
        }
        TalkFact::TicksSeen { .. } => return None,
        TalkFact::QuestionsAsked { questions, .. } if questions.is_empty() => return None,
        TalkFact::QuestionsAsked { round, questions, .. } => {
            format!("round {round} of questions: {}", asked(questions))
        }
        TalkFact::QuestionsPosted { round, comment } => {
            format!("the questions of round {round} were posted as comment {}", comment.0)
        }
        TalkFact::WordsHeard { by, .. } => format!("{} said something that may be an answer", at(by)),
        TalkFact::AnswersMapped { answers, .. } if answers.is_empty() => {
            "the model found no question that these words answer".to_owned()
        }
        TalkFact::AnswersMapped { answers, .. } => format!("the model read them as: {}", given(answers)),
        TalkFact::AskedBack { round } => format!("it was asked back what was meant, in round {round}"),
        TalkFact::Answered { by, permission, how, answers, withdrawn, .. } => {
            let back = if withdrawn.is_empty() { "" } else { " and took ticks back" };
            let how = match how {
                How::Ticked => "ticked",
                How::Numbered | How::Words => "answered",
                How::Skipped => "skipped",
            };
            format!("{} ({}) {how} {}{back}", at(by), permission.as_str(), given(answers))
        }
        TalkFact::Assumed { assumptions, .. } if assumptions.is_empty() => return None,
        TalkFact::Assumed { assumptions, .. } => {
            let each: Vec<String> = assumptions
                .iter()
                .map(|known| format!("{} for {}: {}", known.id, known.question, clip(&known.text)))
                .collect();
            format!("it was assumed: {}", list(&each))
        }
        TalkFact::Reminded { round } => {
            format!("nobody had answered round {round}, and people were reminded")
        }
        TalkFact::DecisionsFound { decisions, .. } => {
            let topics: Vec<String> =
                decisions.iter().map(|d| format!("{} {}", d.id, clip(&d.topic))).collect();
            format!("the design leaves {} open: {}", plural(decisions.len(), "decision"), list(&topics))
        }
        TalkFact::DecisionsPosted { comment } => {
            format!("the decisions were posted as comment {}", comment.0)
        }
        TalkFact::Chosen { by, permission, decision, option, rationale, .. } => {
            let why =
                if rationale.is_empty() { String::new() } else { format!(" because {}", clip(rationale)) };
            format!("{} ({}) chose {option} for {decision}{why}", at(by), permission.as_str())
        }
        TalkFact::DesignSummarised { summary, .. } => format!("the design was summed up: {}", clip(summary)),
        TalkFact::ReviewPosted { comment } => format!("the summary was posted as comment {}", comment.0),
        TalkFact::ConversationSummed { summary, .. } => {
            format!("older comments were read in short: {}", clip(summary))
        }
        TalkFact::DesignApproved { by, .. } => format!("{} accepted the design", at(by)),
        TalkFact::DesignRejected { by, why, .. } => turned_down(by, why),
    })
}

fn turned_down(by: &Account, why: &str) -> String {
    format!("{} turned the design down: {}", at(by), clip(why))
}

fn asked(questions: &[Question]) -> String {
    let each: Vec<String> = questions.iter().map(|q| format!("{} {}", q.id, clip(&q.question))).collect();
    list(&each)
}

fn given(answers: &[Reply]) -> String {
    let each: Vec<String> = answers
        .iter()
        .map(|reply| match &reply.answer {
            Some(answer) => format!("{}: {}", reply.question, clip(answer)),
            None => reply.question.to_string(),
        })
        .collect();
    list(&each)
}

pub(super) fn replan(fact: &ReplanFact) -> Option<String> {
    Some(match fact {
        ReplanFact::DecisionGiven { .. } | ReplanFact::Evaluated { .. } => return None,
        ReplanFact::ReplanAsked { by, why, .. } => {
            format!("{} asked for another plan: {}", at(by), clip(why))
        }
        ReplanFact::ReplanDecision { .. } => return decided(fact),
        ReplanFact::ReplanConfirmed { replan_id, by, .. } => {
            format!("{} said yes to replan {replan_id}", at(by))
        }
        ReplanFact::ReplanDeclined { replan_id, by: Some(by), .. } => {
            format!("{} said no to replan {replan_id}", at(by))
        }
        ReplanFact::ReplanDeclined { replan_id, by: None, .. } => {
            format!("nobody confirmed replan {replan_id} in time, so the plan stays")
        }
        ReplanFact::RevisionMade { steps, actions, .. } => format!(
            "the model planned the rest anew: {}, {}",
            plural(steps.len(), "step"),
            plural(actions.len(), "action")
        ),
        ReplanFact::PlanRevised { replan_id, revision, result, why, duration_ms, .. } => {
            let seconds = *duration_ms as f64 / 1_000.0;
            match result {
                ReplanResult::Success => {
                    format!("replan {replan_id} led to revision {revision} in {seconds:.1} s")
                }
                ReplanResult::Failure | ReplanResult::Skipped => {
                    format!("replan {replan_id} led nowhere: {}", clip(why))
                }
            }
        }
        ReplanFact::AlternativeGiven { alternative, .. } => {
            let way = match alternative.way {
                OtherWay::Continue => "to go on with the plan",
                OtherWay::SkipStep => "to leave the step out",
                OtherWay::Nothing => "none",
            };
            format!("the other way is {way}: {}", clip(&alternative.reasoning))
        }
        ReplanFact::LimitSettled { how, by, .. } => {
            let who =
                by.as_ref().map_or_else(|| "by the settings, ".to_owned(), |by| format!("{}: ", at(by)));
            let how = match how {
                Settled::GoOn => "the run goes on with the plan as it is",
                Settled::SkipStep => "the step is left out",
            };
            format!("{who}{how}")
        }
    })
}

fn decided(fact: &ReplanFact) -> Option<String> {
    let ReplanFact::ReplanDecision {
        replan_id,
        phase,
        llm_decision,
        confidence,
        verdict,
        override_reason,
        ..
    } = fact
    else {
        return None;
    };
    let wanted = format!(
        "replan {replan_id} after {} (confidence {confidence:.2}): {}",
        phase.as_str(),
        clip(&llm_decision.reasoning)
    );
    let why = override_reason.as_deref().map(clip).unwrap_or_default();
    match verdict {
        Verdict::Replan { level, .. } => Some(format!("{wanted}; it goes back to level {}", level.number())),
        Verdict::Clarify => Some(format!("{wanted}; people are asked")),
        Verdict::Confirm { .. } => Some(format!("{wanted}; a person has to confirm it")),
        Verdict::Stay { .. } if !llm_decision.replan_needed => None,
        Verdict::Stay { .. } | Verdict::Limit { .. } => Some(format!("{wanted}; NOT done: {why}")),
    }
}

fn at(account: &Account) -> String {
    format!("@{}", account.login)
}
