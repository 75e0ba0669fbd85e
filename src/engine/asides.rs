//! Purpose: the comments of a run beside its card and its previews: what is asked before the plan, and what is told of
//! replans.

use crate::config::Notices;
use crate::domain::CommentId;
use crate::planning::{Fact, OVERTAKEN, Replan, ReplanState, Run, TalkFact, Verdict};
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
}

impl What {
    pub(super) fn post(self) -> Post {
        match self {
            Self::Questions(_) | Self::Decisions | Self::Review | Self::Past => Post::Discussion,
            Self::Notice => Post::Comment,
        }
    }

    /// The journal keeps where people answer; a notice is found by its key alone.
    pub(super) fn posted(self, comment: CommentId) -> Option<Fact> {
        match self {
            Self::Questions(round) => Some(Fact::Talk(TalkFact::QuestionsPosted { round, comment })),
            Self::Decisions => Some(Fact::Talk(TalkFact::DecisionsPosted { comment })),
            Self::Review => Some(Fact::Talk(TalkFact::ReviewPosted { comment })),
            Self::Past | Self::Notice => None,
        }
    }
}

pub(super) fn asides(run: &Run, voice: &Voice, notices: Notices) -> Vec<Aside> {
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
    for replan in run.replans.all.iter().filter(|replan| notices == Notices::Normal || needs_person(replan)) {
        if let Some(text) = render::replan_notice(run, replan, voice) {
            let key = format!("replan/{id}/{}", replan.id);
            all.push(Aside { key, text, what: What::Notice, known: None });
        }
    }
    // Nobody is asked anything any more; what was asked and told shows how it ended.
    all.retain(|aside| {
        (run.is_live() && aside.what != What::Past) || aside.known.is_some() || aside.what == What::Notice
    });
    all
}

/// What waits for somebody, or did, is said aloud however quiet the bot shall be.
fn needs_person(replan: &Replan) -> bool {
    let undecided = matches!(replan.verdict, Verdict::Stay { .. }) && replan.failed.is_some();
    let asks = matches!(replan.verdict, Verdict::Confirm { .. } | Verdict::Limit { .. });
    let stuck = matches!(&replan.state, ReplanState::Failed { why } if why != OVERTAKEN);
    asks || undecided || stuck
}
