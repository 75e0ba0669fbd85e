//! Purpose: the conversation before the plan: rounds of questions, assumptions, decisions and the review of the design.
//!
//! Waiting for people costs a row in the journal and a timer, nothing else. What nobody answers is assumed, if the
//! settings let it, and every assumption has a name (`A1` …) that the steps resting on it refer to.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::effect::Key;
use super::run::RunId;
use crate::domain::{Account, CommentId, Millis, Permission};
use crate::plan::{DecisionPoint, Question, QuestionId};
use crate::prompts::Usage;

/// What happened in the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TalkFact {
    /// The model named what people should be asked before the design.
    QuestionsFound {
        key: Key,
        questions: Vec<Question>,
        usage: Usage,
    },
    /// Questions are put up. Without `wait_ms` the run waits as long as it takes.
    QuestionsAsked {
        round: u32,
        purpose: Purpose,
        why: String,
        questions: Vec<Question>,
        wait_ms: Option<i64>,
        /// Whether what nobody answers in time is assumed.
        assumes: bool,
    },
    /// They are on the thread; the time for answers runs from here on.
    QuestionsPosted {
        round: u32,
        comment: CommentId,
    },
    /// Words that a model has to read: which question do they answer?
    WordsHeard {
        by: Account,
        permission: Permission,
        comment: CommentId,
    },
    AnswersMapped {
        key: Key,
        comment: CommentId,
        answers: Vec<Reply>,
        usage: Usage,
    },
    /// The boxes of what was asked, as somebody who may answer left them.
    TicksSeen {
        questions: Vec<Vec<usize>>,
        decisions: Vec<(String, Vec<String>)>,
    },
    /// A round has been asked about words that answer none of its questions.
    AskedBack {
        round: u32,
    },
    /// The thread has been told whose words count where two people's differ.
    DifferenceSaid {
        question: QuestionId,
    },
    /// Somebody changed the words of what was asked: its boxes mean nothing, and it is put up as it was.
    AskedAltered {
        by: Account,
        comment: CommentId,
    },
    Answered {
        by: Account,
        permission: Permission,
        how: How,
        answers: Vec<Reply>,
        /// Ticks that were taken back.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        withdrawn: Vec<QuestionId>,
        comment: Option<CommentId>,
    },
    Assumed {
        round: u32,
        assumptions: Vec<Assumption>,
    },
    Reminded {
        round: u32,
    },
    DecisionsFound {
        key: Key,
        decisions: Vec<DecisionPoint>,
        usage: Usage,
    },
    DecisionsPosted {
        comment: CommentId,
    },
    Chosen {
        by: Account,
        permission: Permission,
        decision: String,
        option: String,
        rationale: String,
        comment: Option<CommentId>,
    },
    /// A ticked choice was unticked again.
    ChoiceWithdrawn {
        by: Account,
        permission: Permission,
        decision: String,
    },
    DesignSummarised {
        key: Key,
        summary: String,
        usage: Usage,
    },
    ReviewPosted {
        comment: CommentId,
    },
    DesignApproved {
        by: Account,
        comment: Option<CommentId>,
    },
    /// What was said before the newest comments, in short: there were too many to read.
    ConversationSummed {
        summary: String,
        /// The newest comment that is in it.
        until: CommentId,
        usage: Usage,
    },
    DesignRejected {
        by: Account,
        why: String,
        comment: Option<CommentId>,
    },
}

impl TalkFact {
    /// The comment that brought this about.
    pub(super) fn spoken_in(&self) -> Option<CommentId> {
        match self {
            Self::Answered { comment, .. }
            | Self::Chosen { comment, .. }
            | Self::DesignApproved { comment, .. }
            | Self::DesignRejected { comment, .. } => *comment,
            Self::WordsHeard { comment, .. } => Some(*comment),
            Self::QuestionsFound { .. }
            | Self::QuestionsAsked { .. }
            | Self::QuestionsPosted { .. }
            | Self::AnswersMapped { .. }
            | Self::TicksSeen { .. }
            | Self::AskedBack { .. }
            | Self::DifferenceSaid { .. }
            | Self::AskedAltered { .. }
            | Self::ChoiceWithdrawn { .. }
            | Self::Assumed { .. }
            | Self::Reminded { .. }
            | Self::DecisionsFound { .. }
            | Self::DecisionsPosted { .. }
            | Self::DesignSummarised { .. }
            | Self::ConversationSummed { .. }
            | Self::ReviewPosted { .. } => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Something about the goal is not clear.
    Clarification,
    /// The design is worked out with people.
    Discovery,
}

/// The answer to one question; `None`: it was skipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    pub question: QuestionId,
    pub answer: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    Ticked,
    Numbered,
    Words,
    Skipped,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assumption {
    /// `A1`, `A2` and so on.
    pub id: String,
    pub question: QuestionId,
    pub text: String,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Talk {
    pub rounds: Vec<Round>,
    pub answers: BTreeMap<QuestionId, Given>,
    pub assumptions: Vec<Assumption>,
    /// Assumptions that an answer contradicts and that no replan has minded yet.
    pub contradicted: Vec<String>,
    /// Answers that were given otherwise after their round was over, and that no replan has minded yet.
    pub changed: Vec<Changed>,
    /// Words that say otherwise than somebody else's, until the thread has been told.
    pub differences: Vec<Difference>,
    /// Comments of which nobody knows yet which question they answer.
    pub unread: Vec<Words>,
    /// Words that answer nothing, until their author has been asked what they mean.
    pub unclear: Option<Words>,
    /// What a decision about the goal wants to have asked.
    pub wanted: Option<Wish>,
    /// What the design has to be asked about; `None` until the model was asked for it.
    pub discovery: Option<Vec<Question>>,
    /// Whether people have been asked that.
    pub discovered: bool,
    /// `None` until the model was asked for it, and again when people turned it down.
    pub design: Option<Design>,
    /// Why the design was turned down, each time.
    pub rejections: Vec<String>,
    /// What was put up for review and turned down: its comment says so.
    pub turned_down: Vec<TurnedDown>,
    /// How often there was nothing to review.
    pub lost_summaries: u32,
    /// What was said on the thread before the newest comments, in short.
    pub before: Option<String>,
    /// The newest comment that this is about.
    pub before_until: Option<CommentId>,
    /// The design was settled before: in an earlier run, or by whoever brought the plan along.
    pub settled: bool,
    /// How many designs and summaries there have been: each is a comment of its own.
    pub designs: u32,
    pub summaries: u32,
    /// The goal is worked out again in the light of the answers.
    pub rethink: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Wish {
    pub why: String,
    pub questions: Vec<Question>,
}

/// A question, and what its answer was before.
#[derive(Debug, Clone, PartialEq)]
pub struct Changed {
    pub question: QuestionId,
    pub before: String,
}

/// Whoever spoke last, and the answer that counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    pub question: QuestionId,
    pub by: Account,
    pub counts: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Words {
    pub by: Account,
    pub permission: Permission,
    pub comment: CommentId,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    pub answer: Option<String>,
    pub by: Account,
    pub permission: Permission,
    pub how: How,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    pub number: u32,
    pub purpose: Purpose,
    pub why: String,
    pub questions: Vec<Question>,
    pub wait_ms: Option<i64>,
    pub assumes: bool,
    pub comment: Option<CommentId>,
    pub deadline: Option<Millis>,
    pub overdue: bool,
    pub reminded: bool,
    pub asked_back: bool,
    pub closed: bool,
    /// It belongs to a plan that is no more; what nobody answered may be asked again.
    pub withdrawn: bool,
    /// The boxes as they were last seen.
    pub seen: Vec<Vec<usize>>,
}

impl Round {
    #[must_use]
    pub fn key(&self, run: &RunId) -> Key {
        Key(format!("{run}/answers/{}", self.number))
    }

    /// It is on the thread, and the time for answers runs; posted anew because somebody deleted it, it goes on.
    pub(super) fn stands(&mut self, comment: CommentId, at: Millis) {
        let first = self.comment.replace(comment).is_none();
        self.seen.clear();
        if first {
            self.deadline = self.wait_ms.map(|wait| at.plus(wait));
        }
    }

    /// Whether there is nothing to do about it but to wait for people.
    pub(super) fn waits(&self) -> bool {
        !self.closed && (!self.overdue || (self.reminded && !self.assumes))
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Design {
    pub decisions: Vec<DecisionPoint>,
    pub comment: Option<CommentId>,
    /// By decision.
    pub choices: BTreeMap<String, Choice>,
    /// The boxes as they were last seen.
    pub seen: Vec<(String, Vec<String>)>,
    /// Decisions whose choice was ticked, and can be unticked.
    pub ticked: BTreeSet<String>,
    pub summary: Option<String>,
    pub review: Option<CommentId>,
    pub approved: Option<Account>,
}

/// A design that was turned down.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnedDown {
    /// Which summary it was.
    pub number: u32,
    pub design: Design,
    pub by: Account,
    pub why: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    pub option: String,
    pub rationale: String,
    pub by: Account,
    pub permission: Permission,
}

impl Design {
    #[must_use]
    pub fn open_decisions(&self) -> Vec<&DecisionPoint> {
        self.decisions.iter().filter(|decision| !self.choices.contains_key(&decision.id)).collect()
    }
}

impl Talk {
    /// The round that people can still answer.
    #[must_use]
    pub fn open_round(&self) -> Option<&Round> {
        self.rounds.last().filter(|round| !round.closed)
    }

    #[must_use]
    pub fn question(&self, id: &QuestionId) -> Option<&Question> {
        self.questions().find(|question| question.id == *id)
    }

    pub fn questions(&self) -> impl Iterator<Item = &Question> {
        self.rounds.iter().flat_map(|round| &round.questions)
    }

    /// What words can still be an answer to: the questions of the open round, and those that only assumptions answer.
    #[must_use]
    pub fn answerable(&self) -> Vec<&Question> {
        let of_round = |id: &QuestionId| {
            self.open_round().is_some_and(|round| round.questions.iter().any(|asked| asked.id == *id))
        };
        self.questions().filter(|asked| of_round(&asked.id) || self.is_only_assumed(&asked.id)).collect()
    }

    pub(super) fn is_only_assumed(&self, id: &QuestionId) -> bool {
        let answered = self.answers.get(id).is_some_and(|given| given.answer.is_some());
        !answered && self.assumptions.iter().any(|known| known.question == *id)
    }

    /// The questions of a round that nobody has answered or skipped.
    #[must_use]
    pub fn unanswered<'a>(&self, round: &'a Round) -> Vec<&'a Question> {
        round.questions.iter().filter(|question| !self.answers.contains_key(&question.id)).collect()
    }

    /// What may be asked of these: nothing twice, each under a number of its own.
    #[must_use]
    pub fn new_questions(&self, wanted: &[Question]) -> Vec<Question> {
        let mut next = self.questions().count() + 1;
        let stands = |round: &&Round| !round.withdrawn;
        let asked = self.rounds.iter().filter(stands).flat_map(|round| &round.questions);
        let mut known: Vec<String> = asked.map(|question| plain(&question.question)).collect();
        let mut fresh = vec![];
        for question in wanted {
            let text = plain(&question.question);
            if text.is_empty() || known.contains(&text) {
                continue;
            }
            known.push(text);
            fresh.push(Question { id: QuestionId(format!("q-{next}")), ..question.clone() });
            next += 1;
        }
        fresh
    }

    /// What is to be assumed now: what a round left unanswered, or skipped although it had something to assume.
    #[must_use]
    pub fn due_assumptions(&self, round: &Round) -> Vec<Assumption> {
        let assumed = |id: &QuestionId| self.assumptions.iter().any(|known| known.question == *id);
        let open = round.questions.iter().filter(|question| {
            let answered = self.answers.get(&question.id).is_some_and(|given| given.answer.is_some());
            !answered && !assumed(&question.id)
        });
        let mut next = self.assumptions.len() + 1;
        let mut due = vec![];
        for question in open {
            let skipped = self.answers.contains_key(&question.id);
            let Some(text) = question.assumption.clone().or_else(|| (!skipped).then(no_assumption)) else {
                continue;
            };
            due.push(Assumption { id: format!("A{next}"), question: question.id.clone(), text });
            next += 1;
        }
        due
    }
}

fn no_assumption() -> String {
    "whatever fits the repository best".to_owned()
}

/// Questions that differ only in spelling are the same question.
pub(super) fn plain(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
