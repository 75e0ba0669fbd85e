//! Purpose: the conversation before the plan: rounds of questions, assumptions, decisions and the review of the design.
//!
//! Waiting for people costs a row in the journal and a timer, nothing else. What nobody answers is assumed, if the
//! settings let it, and every assumption has a name (`A1` …) that the steps resting on it refer to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::effect::Key;
use super::run::{Run, RunId};
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
    /// A round has been asked about words that answer none of its questions.
    AskedBack {
        round: u32,
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
            | Self::AskedBack { .. }
            | Self::Assumed { .. }
            | Self::Reminded { .. }
            | Self::DecisionsFound { .. }
            | Self::DecisionsPosted { .. }
            | Self::DesignSummarised { .. }
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

/// How often the design is begun anew because it came without a summary.
const LOST_SUMMARIES: u32 = 3;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Talk {
    pub rounds: Vec<Round>,
    pub answers: BTreeMap<QuestionId, Given>,
    pub assumptions: Vec<Assumption>,
    /// Assumptions that an answer contradicts and that no replan has minded yet.
    pub contradicted: Vec<String>,
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
    /// How often there was nothing to review.
    pub lost_summaries: u32,
    /// The goal is worked out again in the light of the answers.
    pub rethink: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Wish {
    pub why: String,
    pub questions: Vec<Question>,
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
}

impl Round {
    #[must_use]
    pub fn key(&self, run: &RunId) -> Key {
        Key(format!("{run}/answers/{}", self.number))
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
    pub summary: Option<String>,
    pub review: Option<CommentId>,
    pub approved: Option<Account>,
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

    /// The questions of a round that nobody has answered or skipped.
    #[must_use]
    pub fn unanswered<'a>(&self, round: &'a Round) -> Vec<&'a Question> {
        round.questions.iter().filter(|question| !self.answers.contains_key(&question.id)).collect()
    }

    /// What may be asked of these: nothing twice, each under a number of its own.
    #[must_use]
    pub fn new_questions(&self, wanted: &[Question]) -> Vec<Question> {
        let mut known: Vec<String> = self.questions().map(|question| plain(&question.question)).collect();
        let mut next = known.len() + 1;
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
fn plain(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

impl Run {
    /// Whether something is asked of which nobody knows yet that it is on the thread.
    #[must_use]
    pub fn awaits_post(&self) -> bool {
        let round = self.talk.open_round().is_some_and(|round| round.comment.is_none());
        let design = self.talk.design.as_ref().filter(|design| design.approved.is_none());
        let decisions = design.is_some_and(|d| !d.decisions.is_empty() && d.comment.is_none());
        let review = design.is_some_and(|d| d.summary.is_some() && d.review.is_none());
        round || decisions || review
    }

    pub(super) fn talks(&mut self, at: Millis, fact: &TalkFact) {
        match fact {
            TalkFact::QuestionsAsked { round, purpose, why, questions, wait_ms, assumes } => {
                self.talk.wanted = None;
                self.talk.discovered |= *purpose == Purpose::Discovery;
                self.talk.rounds.push(Round {
                    number: *round,
                    purpose: *purpose,
                    why: why.clone(),
                    questions: questions.clone(),
                    wait_ms: *wait_ms,
                    assumes: *assumes,
                    comment: None,
                    deadline: None,
                    overdue: false,
                    reminded: false,
                    asked_back: false,
                    closed: questions.is_empty(),
                });
            }
            TalkFact::QuestionsPosted { round, comment } => self.talk.with_round(*round, |round| {
                // Posted anew because somebody deleted it: the time goes on.
                let first = round.comment.replace(*comment).is_none();
                if first {
                    round.deadline = round.wait_ms.map(|wait| at.plus(wait));
                }
            }),
            TalkFact::WordsHeard { by, permission, comment } => {
                self.sources.push(*comment);
                self.talk.unread.push(Words { by: by.clone(), permission: *permission, comment: *comment });
            }
            TalkFact::AskedBack { round } => {
                self.talk.unclear = None;
                self.talk.with_round(*round, |round| round.asked_back = true);
            }
            TalkFact::Answered { by, permission, how, answers, withdrawn, comment } => {
                self.sources.extend(*comment);
                let by = Words { by: by.clone(), permission: *permission, comment: CommentId(0) };
                self.talk.take_back(withdrawn);
                self.talk.take(&by, *how, answers);
            }
            TalkFact::Assumed { round, assumptions } => {
                self.talk.assumptions.extend(assumptions.iter().cloned());
                self.talk.close(*round);
            }
            TalkFact::Reminded { round } => self.talk.with_round(*round, |round| round.reminded = true),
            TalkFact::DecisionsPosted { comment } => self.design(|design| design.comment = Some(*comment)),
            TalkFact::ReviewPosted { comment } => self.design(|design| design.review = Some(*comment)),
            TalkFact::Chosen { by, permission, decision, option, rationale, comment } => {
                self.sources.extend(*comment);
                let choice = Choice {
                    option: option.clone(),
                    rationale: rationale.clone(),
                    by: by.clone(),
                    permission: *permission,
                };
                self.design(|design| design.choose(decision, choice));
            }
            TalkFact::DesignApproved { by, .. } => self.design(|design| design.approved = Some(by.clone())),
            TalkFact::DesignRejected { by, why, .. } => {
                self.talk.rejections.push(format!("@{}: {why}", by.login));
                self.talk.design = None;
            }
            TalkFact::QuestionsFound { .. }
            | TalkFact::AnswersMapped { .. }
            | TalkFact::DecisionsFound { .. }
            | TalkFact::DesignSummarised { .. } => self.heard_from_model(at, fact),
        }
    }

    fn heard_from_model(&mut self, at: Millis, fact: &TalkFact) {
        let (key, usage) = match fact {
            TalkFact::QuestionsFound { key, usage, .. }
            | TalkFact::AnswersMapped { key, usage, .. }
            | TalkFact::DecisionsFound { key, usage, .. }
            | TalkFact::DesignSummarised { key, usage, .. } => (key, usage),
            TalkFact::QuestionsAsked { .. }
            | TalkFact::QuestionsPosted { .. }
            | TalkFact::WordsHeard { .. }
            | TalkFact::AskedBack { .. }
            | TalkFact::Answered { .. }
            | TalkFact::Assumed { .. }
            | TalkFact::Reminded { .. }
            | TalkFact::DecisionsPosted { .. }
            | TalkFact::Chosen { .. }
            | TalkFact::ReviewPosted { .. }
            | TalkFact::DesignApproved { .. }
            | TalkFact::DesignRejected { .. } => return,
        };
        super::apply::spend(self, usage);
        if !super::apply::takes(self, at, key) {
            return;
        }
        if let TalkFact::QuestionsFound { questions, .. } = fact {
            self.talk.discovery = Some(questions.clone());
        } else if let TalkFact::DecisionsFound { decisions, .. } = fact {
            self.talk.design = Some(Design { decisions: decisions.clone(), ..Design::default() });
        } else if let TalkFact::DesignSummarised { summary, .. } = fact {
            // Without a summary there is nothing to review: back to the design.
            if summary.trim().is_empty() {
                self.talk.design = None;
                self.talk.lost_summaries += 1;
                if self.talk.lost_summaries >= LOST_SUMMARIES {
                    self.broken = Some("The design could not be summed up for review.".to_owned());
                }
            } else {
                self.design(|design| design.summary = Some(summary.clone()));
            }
        } else if let TalkFact::AnswersMapped { comment, answers, .. } = fact {
            self.talk.read(*comment, answers);
        }
    }

    fn design(&mut self, change: impl FnOnce(&mut Design)) {
        if let Some(design) = &mut self.talk.design {
            change(design);
        }
    }
}

impl Design {
    /// The higher permission counts, then the later word.
    fn choose(&mut self, decision: &str, choice: Choice) {
        let known = self.choices.get(decision);
        if known.is_none_or(|known| choice.permission >= known.permission) {
            self.choices.insert(decision.to_owned(), choice);
        }
    }
}

impl Talk {
    fn with_round(&mut self, number: u32, change: impl FnOnce(&mut Round)) {
        if let Some(round) = self.rounds.iter_mut().find(|round| round.number == number) {
            change(round);
        }
    }

    fn take(&mut self, from: &Words, how: How, answers: &[Reply]) {
        for reply in answers {
            if self.question(&reply.question).is_none() {
                continue;
            }
            let given =
                Given { answer: reply.answer.clone(), by: from.by.clone(), permission: from.permission, how };
            let counts = self
                .answers
                .get(&reply.question)
                .is_none_or(|known| known.answer.is_none() || given.permission >= known.permission);
            if counts {
                self.contradict(reply);
                self.answers.insert(reply.question.clone(), given);
            }
        }
        self.close_if_answered();
    }

    /// An answer to what was assumed: whatever rests on it has to be planned anew, unless they say the same.
    fn contradict(&mut self, reply: &Reply) {
        let Some(answer) = &reply.answer else { return };
        let Some(assumed) = self.assumptions.iter().find(|known| known.question == reply.question) else {
            return;
        };
        if plain(&assumed.text) != plain(answer) && !self.contradicted.contains(&assumed.id) {
            self.contradicted.push(assumed.id.clone());
        }
    }

    fn take_back(&mut self, withdrawn: &[QuestionId]) {
        let open: Vec<QuestionId> = self
            .open_round()
            .map(|round| round.questions.iter().map(|question| question.id.clone()).collect())
            .unwrap_or_default();
        self.answers.retain(|id, _| !withdrawn.contains(id) || !open.contains(id));
    }

    fn read(&mut self, comment: CommentId, answers: &[Reply]) {
        let Some(at) = self.unread.iter().position(|words| words.comment == comment) else { return };
        let words = self.unread.remove(at);
        if answers.is_empty() {
            self.unclear = self.open_round().filter(|round| !round.asked_back).map(|_| words);
        } else {
            self.take(&words, How::Words, answers);
        }
    }

    fn close_if_answered(&mut self) {
        let Some(round) = self.open_round() else { return };
        if self.unanswered(round).is_empty() {
            let number = round.number;
            self.close(number);
        }
    }

    /// Answers about the goal are a reason to think about it again.
    fn close(&mut self, number: u32) {
        let Some(round) = self.rounds.iter_mut().find(|round| round.number == number && !round.closed) else {
            return;
        };
        round.closed = true;
        let answered = round
            .questions
            .iter()
            .any(|question| self.answers.get(&question.id).is_some_and(|given| given.answer.is_some()));
        self.rethink |= answered && round.purpose == Purpose::Clarification;
        self.unread.clear();
    }
}
