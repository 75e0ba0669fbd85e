//! Purpose: what people say to questions and decisions: by ticks, by numbers, in words, or by skipping.

use super::fact::Fact;
use super::interpret::Reading;
use super::notice::{Boxes, Notice};
use super::run::{Hold, Run};
use super::talk::{Design, How, Reply, Round, TalkFact, Words, plain};
use crate::domain::{Account, AccountId, AccountKind, Comment, CommentId, Right, Verdict};
use crate::plan::{Question, QuestionId};

/// Boxes in a comment of ours that asks something, as they stand now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TicksSeen {
    /// For each question in order, the options that are ticked.
    Questions(Vec<Vec<usize>>),
    /// For each decision, the options that are ticked.
    Decisions(Vec<(String, Vec<String>)>),
    /// The words beside the boxes are no longer ours, so that the boxes say nothing.
    Altered(CommentId),
}

/// How many comments wait to be read at a time; more are remarks like any other.
const UNREAD: usize = 20;
/// How often a design may be turned down before the run ends.
const REJECTIONS: usize = 3;

impl Reading<'_> {
    /// A comment as an answer, if it can be one: younger than the questions, by somebody who may, and not for others.
    pub(super) fn answer(&self, run: &Run, comment: &Comment) -> Option<Vec<Fact>> {
        if !self.may_answer(run) || is_for_somebody_else(&comment.body, &self.seen.bot.login) {
            return None;
        }
        let round = run.talk.rounds.last()?;
        round.comment.filter(|asked| comment.id > *asked)?;
        let answers = numbered(without_mention(&comment.body, &self.seen.bot.login), run, round);
        if !answers.is_empty() {
            return Some(self.answered(run, How::Numbered, answers, Some(comment.id)));
        }
        // Words that come when nothing is left to answer are read as remarks on the work.
        let open = !run.talk.answerable().is_empty() && run.talk.unread.len() < UNREAD;
        open.then(|| {
            let by = self.event.actor.clone();
            vec![Fact::Talk(TalkFact::WordsHeard { by, permission: self.permission(), comment: comment.id })]
        })
    }

    fn may_answer(&self, run: &Run) -> bool {
        let requester = run.requester.id == self.event.actor.id;
        Right::ANSWER.judge(&self.event.actor, self.permission(), requester) == Verdict::Allowed
    }

    fn answered(&self, run: &Run, how: How, answers: Vec<Reply>, comment: Option<CommentId>) -> Vec<Fact> {
        self.answered_and_withdrawn(run, how, (answers, vec![]), comment)
    }

    fn answered_and_withdrawn(
        &self,
        run: &Run,
        how: How,
        (answers, withdrawn): (Vec<Reply>, Vec<QuestionId>),
        comment: Option<CommentId>,
    ) -> Vec<Fact> {
        let (by, permission) = (self.event.actor.clone(), self.permission());
        let differences: Vec<Fact> = answers.iter().filter_map(|reply| self.differs(run, reply)).collect();
        let answered = TalkFact::Answered { by, permission, how, answers, withdrawn, comment };
        std::iter::once(Fact::Talk(answered)).chain(differences).collect()
    }

    /// Two people who say different things are told whose word counts.
    fn differs(&self, run: &Run, reply: &Reply) -> Option<Fact> {
        let by = self.event.actor.clone();
        let words = Words { by, permission: self.permission(), comment: CommentId(0) };
        let differs = run.talk.differs(&words, reply)?;
        Some(self.differ(&differs.question.0, differs.counts))
    }

    fn differ(&self, question: &str, counts: String) -> Fact {
        let notice = Notice::AnswersDiffer { question: question.to_owned(), counts };
        Fact::Noticed { by: self.event.actor.clone(), notice, comment: None }
    }

    /// Boxes in the questions or the decisions; the editor's right counts. What others ticked is seen and says nothing:
    /// it must not speak in the name of whoever ticks next.
    pub(super) fn ticked(&self, run: &Run, seen: &TicksSeen) -> Vec<Fact> {
        let may = self.may_answer(run);
        let (facts, of) = match seen {
            TicksSeen::Questions(ticks) => (self.questions_ticked(run, ticks), Boxes::Questions),
            TicksSeen::Decisions(ticks) => (self.decisions_ticked(run, ticks), Boxes::Decisions),
            TicksSeen::Altered(comment) => return self.altered(*comment),
        };
        let only_seen = |fact: &Fact| matches!(fact, Fact::Talk(TalkFact::TicksSeen { .. }));
        let unseen = if facts.is_empty() { None } else { self.unseen(of) };
        facts.into_iter().filter(|fact| may || only_seen(fact)).chain(unseen).collect()
    }

    /// What is found only later says nothing of who did it. It does not count, and people are told how to go on.
    pub(super) fn unseen(&self, of: Boxes) -> Option<Fact> {
        let by = self.event.actor.clone();
        let nobody = by.id == AccountId(0);
        nobody.then_some(Fact::Noticed { by, notice: Notice::BoxesUnseen { of }, comment: None })
    }

    fn altered(&self, comment: CommentId) -> Vec<Fact> {
        let by = self.event.actor.clone();
        let notice = Notice::AskedAltered { comment };
        let noticed = Fact::Noticed { by: by.clone(), notice, comment: None };
        // Programs are not answered.
        let noticed = Some(noticed).filter(|_| by.kind == AccountKind::Person);
        std::iter::once(Fact::Talk(TalkFact::AskedAltered { by, comment })).chain(noticed).collect()
    }

    /// Only what differs from what was seen before: an old tick does not speak again.
    fn questions_ticked(&self, run: &Run, ticks: &[Vec<usize>]) -> Vec<Fact> {
        let Some(round) = run.talk.open_round().filter(|round| round.seen != ticks) else { return vec![] };
        let (mut answers, mut withdrawn) = (vec![], vec![]);
        for (at, (question, ticked)) in round.questions.iter().zip(ticks).enumerate() {
            if round.seen.get(at).map_or(&[][..], Vec::as_slice) == ticked.as_slice() {
                continue;
            }
            let options: Vec<&str> =
                ticked.iter().filter_map(|at| question.options.get(*at)).map(String::as_str).collect();
            let known = run.talk.answers.get(&question.id);
            let may = known.is_none_or(|known| self.permission() >= known.permission);
            if !options.is_empty() {
                answers.push(Reply { question: question.id.clone(), answer: Some(options.join("; ")) });
            } else if may && known.is_some_and(|known| known.how == How::Ticked) {
                withdrawn.push(question.id.clone());
            }
        }
        let seen = TalkFact::TicksSeen { questions: ticks.to_vec(), decisions: vec![] };
        let mut facts = vec![Fact::Talk(seen)];
        if !answers.is_empty() || !withdrawn.is_empty() {
            facts.extend(self.answered_and_withdrawn(run, How::Ticked, (answers, withdrawn), None));
        }
        facts
    }

    fn decisions_ticked(&self, run: &Run, ticks: &[(String, Vec<String>)]) -> Vec<Fact> {
        let design = run.talk.design.as_ref().filter(|design| design.approved.is_none());
        let Some(design) = design.filter(|design| design.seen != ticks) else { return vec![] };
        let seen = TalkFact::TicksSeen { questions: vec![], decisions: ticks.to_vec() };
        let mut facts = vec![Fact::Talk(seen)];
        for decision in &design.decisions {
            let Some((_, options)) = ticks.iter().find(|(id, _)| *id == decision.id) else { continue };
            let before = design.seen.iter().find(|(id, _)| *id == decision.id).map(|(_, options)| options);
            match options.as_slice() {
                _ if before == Some(options) => {}
                [] => facts.extend(self.withdrawn(design, &decision.id)),
                [one] => {
                    let chosen = decision.option(one).map(|option| (&*decision.id, &*option.id));
                    facts.extend(self.choice(design, chosen, "", None));
                }
                [_, _, ..] => facts.push(Fact::Noticed {
                    by: self.event.actor.clone(),
                    notice: Notice::TwoOptions { decision: decision.id.clone() },
                    comment: None,
                }),
            }
        }
        facts
    }

    /// A box that was taken out again: the decision is open again. What was said in words stands.
    fn withdrawn(&self, design: &Design, decision: &str) -> Option<Fact> {
        let known = design.choices.get(decision).filter(|_| design.ticked.contains(decision))?;
        let (by, permission) = (self.event.actor.clone(), self.permission());
        let withdrawn = TalkFact::ChoiceWithdrawn { by, permission, decision: decision.to_owned() };
        (permission >= known.permission).then_some(Fact::Talk(withdrawn))
    }

    /// A choice, and whose counts if somebody else made another.
    fn choice(
        &self,
        design: &Design,
        what: Option<(&str, &str)>,
        because: &str,
        comment: Option<CommentId>,
    ) -> Vec<Fact> {
        let Some((decision, option)) = what else { return vec![] };
        let known = design.choices.get(decision);
        let other = known.filter(|known| known.option != option && known.by.id != self.event.actor.id);
        let differs = other.map(|known| {
            let counts = if self.permission() >= known.permission { option } else { known.option.as_str() };
            self.differ(decision, counts.to_owned())
        });
        let chosen = Fact::Talk(TalkFact::Chosen {
            by: self.event.actor.clone(),
            permission: self.permission(),
            decision: decision.to_owned(),
            option: option.to_owned(),
            rationale: because.to_owned(),
            comment,
        });
        std::iter::once(chosen).chain(differs).collect()
    }

    /// `choose d-1 opt-b because …`
    pub(super) fn choose(&self, run: &Run, words: (&str, &str, &str), comment: CommentId) -> Vec<Fact> {
        let (decision, option, because) = words;
        let Some(design) = run.talk.design.as_ref().filter(|design| design.approved.is_none()) else {
            return self.nothing_to("choose", comment);
        };
        let known = design.decisions.iter().find(|known| known.id.eq_ignore_ascii_case(decision));
        let chosen = known.and_then(|known| Some((&*known.id, &*known.option(option)?.id)));
        match chosen {
            Some(_) => self.choice(design, chosen, because, Some(comment)),
            None => {
                let ids = |d: &crate::plan::DecisionPoint| {
                    d.options.iter().map(|o| format!("{} {}", d.id, o.id)).collect::<Vec<_>>()
                };
                let known = known.map_or_else(|| design.decisions.iter().flat_map(ids).collect(), ids);
                let notice = Notice::NoSuchChoice { words: format!("{decision} {option}"), known };
                vec![Fact::Noticed { by: self.event.actor.clone(), notice, comment: Some(comment) }]
            }
        }
    }

    /// `skip q-2`
    pub(super) fn skip_question(&self, run: &Run, words: &str, comment: CommentId) -> Vec<Fact> {
        let Some(round) = run.talk.open_round() else { return self.nothing_to("skip", comment) };
        match question_of(words, round) {
            Some(question) => {
                let reply = Reply { question: question.id.clone(), answer: None };
                self.answered(run, How::Skipped, vec![reply], Some(comment))
            }
            None => {
                let known = round.questions.iter().map(|question| question.id.0.clone()).collect();
                let notice = Notice::NoSuchChoice { words: words.to_owned(), known };
                vec![Fact::Noticed { by: self.event.actor.clone(), notice, comment: Some(comment) }]
            }
        }
    }

    fn nothing_to(&self, verb: &str, comment: CommentId) -> Vec<Fact> {
        let notice = Notice::NothingToAnswer { verb: verb.to_owned() };
        vec![Fact::Noticed { by: self.event.actor.clone(), notice, comment: Some(comment) }]
    }

    /// In review an approval accepts the design, and never authorises an action.
    pub(super) fn review(
        &self,
        run: &Run,
        accepts: Option<&str>,
        by: &Account,
        comment: CommentId,
    ) -> Option<Vec<Fact>> {
        let Some(Hold::Review(design)) = run.hold() else { return None };
        let too_early = design.review.is_none_or(|review| comment <= review);
        if too_early {
            let why = "the design summary is younger than these words, so they cannot have been about it"
                .to_owned();
            let notice = Notice::BadApproval { why };
            return Some(vec![Fact::Noticed { by: by.clone(), notice, comment: Some(comment) }]);
        }
        let Some(why) = accepts else {
            return Some(vec![Fact::Talk(TalkFact::DesignApproved {
                by: by.clone(),
                comment: Some(comment),
            })]);
        };
        let rejected = Fact::Talk(TalkFact::DesignRejected {
            by: by.clone(),
            why: why.to_owned(),
            comment: Some(comment),
        });
        let mut facts = vec![rejected];
        if run.talk.rejections.len() + 1 >= REJECTIONS {
            facts.extend(super::plan_tool::clear_current(run, by, None));
        }
        Some(facts)
    }
}

fn is_for_somebody_else(body: &str, bot_login: &str) -> bool {
    let handle = bot_login.strip_suffix("[bot]").unwrap_or(bot_login);
    let Some(rest) = body.trim_start().strip_prefix('@') else { return false };
    !rest.get(..handle.len()).is_some_and(|name| name.eq_ignore_ascii_case(handle))
}

fn question_of<'a>(words: &str, round: &'a Round) -> Option<&'a Question> {
    let words = words.trim().to_ascii_lowercase();
    let by_id = round.questions.iter().find(|question| question.id == QuestionId(words.clone()));
    // People also write the number that stands before the question.
    let number = words.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
    by_id.or_else(|| round.questions.get(number?))
}

fn without_mention<'a>(body: &'a str, bot_login: &str) -> &'a str {
    let handle = bot_login.strip_suffix("[bot]").unwrap_or(bot_login);
    let rest = body.trim_start().strip_prefix('@').and_then(|rest| {
        let (name, rest) = rest.split_at_checked(handle.len())?;
        name.eq_ignore_ascii_case(handle).then_some(rest)
    });
    rest.map_or(body, |rest| rest.trim_start_matches([',', ':', ' ']))
}

/// The question that a number or a name means. Once a round is over, a bare number means only what was assumed, or what
/// one of the question's own options is given for: a list of remarks is no list of answers.
fn meant<'a>(words: &str, said: &str, run: &'a Run, round: &'a Round) -> Option<&'a Question> {
    let named = words.to_ascii_lowercase();
    if let Some(question) = run.talk.questions().find(|question| question.id.0 == named) {
        return Some(question);
    }
    let assumed =
        |question: &Question| run.talk.assumptions.iter().any(|known| known.question == question.id);
    let chosen = |question: &Question| {
        let answer = option_of(said.trim(), question);
        question.options.iter().any(|option| plain(option) == plain(&answer))
    };
    question_of(words, round).filter(|question| !round.closed || assumed(question) || chosen(question))
}

/// `1. text` or `q-1: text` in lines of their own; lines that follow belong to the answer. One number that means nothing
/// makes the whole a list of something else.
fn numbered(body: &str, run: &Run, round: &Round) -> Vec<Reply> {
    let mut answers: Vec<(&Question, String)> = vec![];
    for line in body.lines().filter(|line| !line.trim_start().starts_with('>')) {
        match split_number(line) {
            Some((number, rest)) => match meant(number, rest, run, round) {
                Some(question) => answers.push((question, rest.trim().to_owned())),
                None if round.closed => return vec![],
                None => {}
            },
            None => {
                if let Some((_, text)) = answers.last_mut() {
                    text.push(' ');
                    text.push_str(line.trim());
                }
            }
        }
    }
    let reply = |(question, text): (&Question, String)| {
        let text = text.trim();
        let (question_id, answer) = (question.id.clone(), Some(option_of(text, question)));
        (!text.is_empty()).then_some(Reply { question: question_id, answer })
    };
    answers.into_iter().filter_map(reply).collect()
}

fn split_number(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start().trim_start_matches("- ");
    let digits = line.strip_prefix("q-").or_else(|| line.strip_prefix("Q-")).unwrap_or(line);
    let named = digits.len() != line.len();
    let end = digits.find(|c: char| !c.is_ascii_digit()).filter(|end| *end > 0)?;
    let rest = digits[end..].strip_prefix(['.', ')', ':']).or_else(|| named.then_some(&digits[end..]))?;
    rest.starts_with(char::is_whitespace).then_some((&line[..line.len() - digits.len() + end], rest))
}

/// A single letter names an option; anything else is taken as it is.
fn option_of(text: &str, question: &Question) -> String {
    let letter = match text.trim_end_matches(['.', ')']).as_bytes() {
        [letter] if letter.is_ascii_alphabetic() => usize::from(letter.to_ascii_lowercase() - b'a'),
        _ => return text.to_owned(),
    };
    question.options.get(letter).cloned().unwrap_or_else(|| text.to_owned())
}
