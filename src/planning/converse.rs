//! Purpose: what comes next in the conversation with people: ask, read what they said, assume, design, sum up.

use super::cursor::Next;
use super::effect::{Policy, Question};
use super::fact::Fact;
use super::notice::Notice;
use super::run::Run;
use super::talk::{Design, Purpose, Round, TalkFact};
use crate::plan::Goal;

/// Whether the design is worked out with people before the work is cut into steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interactive {
    Never,
    /// When the goal leaves design choices open.
    Auto,
    Always,
}

impl Interactive {
    #[must_use]
    pub fn applies_to(self, goal: &Goal) -> bool {
        match self {
            Self::Never => false,
            Self::Auto => goal.design_choices_open,
            Self::Always => true,
        }
    }
}

/// What has to be said or asked before the plan can be made, or nothing.
pub(super) fn converse<'a>(run: &'a Run, policy: &Policy) -> Option<Next<'a>> {
    let talk = &run.talk;
    if let (Some(words), Some(round)) = (&talk.unclear, talk.open_round()) {
        let notice = Notice::AnswerUnclear { round: round.number };
        let noticed = Fact::Noticed { by: words.by.clone(), notice, comment: None };
        return Some(Next::Note(vec![Fact::Talk(TalkFact::AskedBack { round: round.number }), noticed]));
    }
    if let Some(differs) = talk.differences.first() {
        let (question, counts) = (differs.question.clone(), differs.counts.clone());
        let notice = Notice::AnswersDiffer { question: question.0.clone(), counts };
        let noticed = Fact::Noticed { by: differs.by.clone(), notice, comment: None };
        return Some(Next::Note(vec![Fact::Talk(TalkFact::DifferenceSaid { question }), noticed]));
    }
    if !talk.unread.is_empty() {
        // What has begun comes to its end first.
        return Some(Next::Ask(Question::MapAnswers));
    }
    if let Some(facts) = talk.rounds.last().and_then(|round| after(run, round)) {
        return Some(Next::Note(facts));
    }
    let goal = run.goal.as_ref().filter(|_| !talk.rethink)?;
    if policy.interactive.applies_to(goal) && !talk.settled {
        design(run, policy)
    } else {
        clarify(run, policy)
    }
}

/// What follows when a round is over, or its time is.
fn after(run: &Run, round: &Round) -> Option<Vec<Fact>> {
    let number = round.number;
    if round.overdue && !round.closed && !round.assumes && !round.reminded {
        let notice = Notice::StillWaiting { round: number };
        let noticed = Fact::Noticed { by: run.requester.clone(), notice, comment: None };
        return Some(vec![Fact::Talk(TalkFact::Reminded { round: number }), noticed]);
    }
    if round.withdrawn {
        return None;
    }
    let over = round.closed || (round.overdue && round.assumes);
    let assumptions = if over { run.talk.due_assumptions(round) } else { return None };
    let nothing_left = round.closed && assumptions.is_empty();
    (!nothing_left).then(|| vec![Fact::Talk(TalkFact::Assumed { round: number, assumptions })])
}

fn clarify<'a>(run: &'a Run, policy: &Policy) -> Option<Next<'a>> {
    let wish = run.talk.wanted.as_ref()?;
    let questions = run.talk.new_questions(&wish.questions);
    Some(Next::Note(vec![asked(run, Purpose::Clarification, &wish.why, questions, policy)]))
}

fn asked(
    run: &Run,
    purpose: Purpose,
    why: &str,
    questions: Vec<crate::plan::Question>,
    policy: &Policy,
) -> Fact {
    let round = u32::try_from(run.talk.rounds.len() + 1).unwrap_or(u32::MAX);
    Fact::Talk(TalkFact::QuestionsAsked {
        round,
        purpose,
        why: why.to_owned(),
        questions,
        wait_ms: Some(policy.replan.answer_within_ms),
        assumes: policy.replan.assumes,
    })
}

/// Discovery, then the decisions, then the summary; people answer in between.
fn design<'a>(run: &'a Run, policy: &Policy) -> Option<Next<'a>> {
    let talk = &run.talk;
    match &talk.discovery {
        None => return Some(Next::Ask(Question::Discover)),
        Some(found) if !talk.discovered => {
            // What the goal left unclear is asked in the same round.
            let (why, wished) =
                talk.wanted.as_ref().map_or(("", &[][..]), |wish| (wish.why.as_str(), &wish.questions[..]));
            let all: Vec<_> = wished.iter().chain(found).cloned().collect();
            let questions = talk.new_questions(&all);
            return Some(Next::Note(vec![asked(run, Purpose::Discovery, why, questions, policy)]));
        }
        Some(_) => {}
    }
    match &talk.design {
        None => Some(Next::Ask(Question::Design)),
        Some(Design { summary: None, .. }) => Some(Next::Ask(Question::Summarise)),
        Some(_) => None,
    }
}
