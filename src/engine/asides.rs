//! Purpose: the comments of a run beside its card and its previews: what is asked before the plan and while it is carried
//! out, and what is told of replans.

use crate::config::Notices;
use crate::crew::Target;
use crate::domain::CommentId;
use crate::planning::{
    CrewFact, Escalation, Fact, Fallback, OVERTAKEN, Reminder, Replan, ReplanState, Run, TalkFact, Verdict,
};
use crate::render::{self, Voice};

/// How a comment comes onto the thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Post {
    Comment,
    /// People answer in it, where the forge has such a thing.
    Discussion,
}

/// A comment beside the card.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Aside {
    pub key: String,
    pub text: String,
    pub what: What,
    /// Where it stands, as the journal knows.
    pub known: Option<CommentId>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum What {
    Questions(u32),
    Decisions,
    Review,
    /// A review that is over; where it stood needs no fact any more.
    Past,
    Notice,
    /// What people are asked because a worker is stuck, by its number.
    Escalation(u32),
    Reminder(u32),
}

impl What {
    pub(super) fn post(self) -> Post {
        match self {
            Self::Questions(_) | Self::Decisions | Self::Review | Self::Past | Self::Escalation(_) => {
                Post::Discussion
            }
            Self::Notice | Self::Reminder(_) => Post::Comment,
        }
    }

    /// The journal keeps where people answer; a notice is found by its key alone.
    pub(super) fn posted(self, comment: CommentId) -> Option<Fact> {
        match self {
            Self::Questions(round) => Some(Fact::Talk(TalkFact::QuestionsPosted { round, comment })),
            Self::Decisions => Some(Fact::Talk(TalkFact::DecisionsPosted { comment })),
            Self::Review => Some(Fact::Talk(TalkFact::ReviewPosted { comment })),
            Self::Escalation(number) => Some(Fact::Crew(CrewFact::EscalationPosted { number, comment })),
            Self::Reminder(number) => Some(Fact::Crew(CrewFact::EscalationReminded { number, comment })),
            Self::Past | Self::Notice => None,
        }
    }

    /// A question that nobody can see holds up a run, so the journal keeps why.
    pub(super) fn unposted(self, why: &str) -> Option<Fact> {
        match self {
            Self::Escalation(number) => {
                Some(Fact::Crew(CrewFact::EscalationUnposted { number, why: why.to_owned() }))
            }
            Self::Questions(_)
            | Self::Decisions
            | Self::Review
            | Self::Past
            | Self::Notice
            | Self::Reminder(_) => None,
        }
    }
}

/// What the settings of a repository say about what is told there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Manner {
    /// How much the repository wants to be told in comments.
    pub notices: Notices,
    /// What happens when nobody answers in time.
    pub fallback: Fallback,
}

pub(super) fn asides(run: &Run, voice: &Voice, manner: Manner) -> Vec<Aside> {
    let id = &run.id;
    let mut all = vec![];
    for round in run.talk.rounds.iter().filter(|round| !round.questions.is_empty()) {
        let key = format!("questions/{id}/{}", round.number);
        let text = render::questions(run, round, voice);
        all.push(Aside { key, text, what: What::Questions(round.number), known: round.comment });
    }
    if let Some(design) = &run.talk.design {
        let (designs, summaries) = (run.talk.designs, run.talk.summaries);
        if !design.decisions.is_empty() {
            let (key, text) = (format!("decisions/{id}/{designs}"), render::decisions(run, design, voice));
            all.push(Aside { key, text, what: What::Decisions, known: design.comment });
        }
        if design.summary.is_some() {
            let (key, text) = (format!("review/{id}/{summaries}"), render::review(run, design, voice));
            all.push(Aside { key, text, what: What::Review, known: design.review });
        }
    }
    for past in &run.talk.turned_down {
        let (key, text) = (format!("review/{id}/{}", past.number), render::turned_down(run, past));
        all.push(Aside { key, text, what: What::Past, known: past.design.review });
    }
    for replan in
        run.replans.all.iter().filter(|replan| manner.notices == Notices::Normal || needs_person(replan))
    {
        if let Some(text) = render::replan_notice(run, replan, voice) {
            let key = format!("replan/{id}/{}", replan.id);
            all.push(Aside { key, text, what: What::Notice, known: None });
        }
    }
    all.extend(run.crew.escalations.iter().flat_map(|known| help(run, known, manner.fallback, voice)));
    // Nobody is asked anything any more; what was asked and told shows how it ended.
    all.retain(|aside| {
        (run.is_live() && aside.what != What::Past) || aside.known.is_some() || aside.what == What::Notice
    });
    all
}

/// What people are asked because a worker is stuck, however quiet the bot shall be. What was settled before it was on the
/// thread needs no comment, nor does what only models were asked.
fn help(run: &Run, known: &Escalation, fallback: Fallback, voice: &Voice) -> Vec<Aside> {
    if known.target != Target::People {
        return vec![];
    }
    let mut shown = vec![];
    let (id, number) = (&run.id, known.number);
    if known.is_open() || known.comment.is_some() {
        let text = render::escalation(run, known, fallback, voice);
        let (key, what) = (format!("escalation/{id}/{number}"), What::Escalation(number));
        shown.push(Aside { key, text, what, known: known.comment });
    }
    let reminded = match known.reminder {
        Some(Reminder::Posted(comment)) => Some(Some(comment)),
        Some(Reminder::Due) if known.is_open() => Some(None),
        Some(Reminder::Due) | None => None,
    };
    if let Some(posted) = reminded {
        let (key, what) = (format!("escalation/{id}/{number}/reminder"), What::Reminder(number));
        shown.push(Aside { key, text: render::escalation_reminder(run, known, voice), what, known: posted });
    }
    shown
}

/// What waits for somebody, or did, is said aloud however quiet the bot shall be.
fn needs_person(replan: &Replan) -> bool {
    let undecided = matches!(replan.verdict, Verdict::Stay { .. }) && replan.failed.is_some();
    let asks = matches!(replan.verdict, Verdict::Confirm { .. } | Verdict::Limit { .. });
    let stuck = matches!(&replan.state, ReplanState::Failed { why } if why != OVERTAKEN);
    asks || undecided || stuck
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crew::Cause;
    use crate::domain::{Account, ForgeKind, Millis};
    use crate::planning::{End, EndState, EscalationState, RunId, Trigger};

    fn asked(target: Target, state: EscalationState) -> Escalation {
        Escalation {
            number: 1,
            cause: Cause::Scope,
            target,
            step: None,
            action: None,
            issue: "More would have to change".to_owned(),
            tried: vec![],
            suggestion: None,
            asked: vec!["maria".to_owned()],
            at: Millis(0),
            comment: None,
            unposted: None,
            remind_at: None,
            deadline: None,
            overdue: false,
            reminder: None,
            advice: None,
            state,
        }
    }

    fn run(known: Escalation) -> Run {
        let maria = Account::person(2, "maria");
        let mut run = Run::new(RunId("r".to_owned()), maria, Trigger::Assigned, Millis(0));
        run.crew.escalations = vec![known];
        run
    }

    fn shown(run: &Run) -> Vec<(What, Option<CommentId>)> {
        let voice = Voice { forge: ForgeKind::Github, bot_login: "planwright".to_owned() };
        let manner = Manner { notices: Notices::Quiet, fallback: Fallback::Hold };
        asides(run, &voice, manner).into_iter().map(|aside| (aside.what, aside.known)).collect()
    }

    #[test]
    fn help_is_asked_for_in_comments_even_where_it_shall_be_quiet() {
        let open = || asked(Target::People, EscalationState::Open);
        let (comment, reminder) = (CommentId(5), CommentId(6));
        let posted = |state| Escalation { comment: Some(comment), ..asked(Target::People, state) };
        let due = |known| Escalation { reminder: Some(Reminder::Due), ..known };
        let reminded = |known| Escalation { reminder: Some(Reminder::Posted(reminder)), ..known };
        let (question, again) = (What::Escalation(1), What::Reminder(1));
        let late = EscalationState::Expired { fallback: Fallback::Hold };
        for (what, known, expected) in [
            ("it is not there yet", open(), vec![(question, None)]),
            ("it is there", posted(EscalationState::Open), vec![(question, Some(comment))]),
            ("a reminder is due", due(posted(late)), vec![(question, Some(comment)), (again, None)]),
            (
                "both are there, and it is settled",
                reminded(posted(EscalationState::Cancelled)),
                vec![(question, Some(comment)), (again, Some(reminder))],
            ),
            (
                "no reminder any more",
                due(posted(EscalationState::Cancelled)),
                vec![(question, Some(comment))],
            ),
            ("settled before it was there", asked(Target::People, EscalationState::Cancelled), vec![]),
            ("a model is asked", asked(Target::LogicValidator, EscalationState::Open), vec![]),
            ("the planner is asked", asked(Target::Planner, EscalationState::Open), vec![]),
        ] {
            assert_eq!(shown(&run(known)), expected, "{what}");
        }
        let over = Some(End { state: EndState::Completed, at: Millis(1) });
        let over = Run { end: over, ..run(posted(EscalationState::Cancelled)) };
        assert_eq!(shown(&over), [(question, Some(comment))], "how it ended is shown after the end too");
    }

    #[test]
    fn answers_wait_until_the_question_is_known_to_stand() {
        let open = || asked(Target::People, EscalationState::Open);
        assert!(run(open()).awaits_post());
        assert!(!run(Escalation { comment: Some(CommentId(5)), ..open() }).awaits_post());
        assert!(!run(asked(Target::People, EscalationState::Cancelled)).awaits_post());
        assert!(!run(asked(Target::LogicValidator, EscalationState::Open)).awaits_post());
    }

    #[test]
    fn the_journal_keeps_where_a_question_and_its_reminder_stand() {
        let (number, comment) = (1, CommentId(5));
        let posted = Fact::Crew(CrewFact::EscalationPosted { number, comment });
        let reminded = Fact::Crew(CrewFact::EscalationReminded { number, comment });
        assert_eq!(What::Escalation(1).posted(comment), Some(posted));
        assert_eq!(What::Reminder(1).posted(comment), Some(reminded));
        assert_eq!((What::Escalation(1).post(), What::Reminder(1).post()), (Post::Discussion, Post::Comment));
    }
}
