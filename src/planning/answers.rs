//! Purpose: what people say to questions and decisions: by ticks, by numbers, in words, or by skipping.

use super::fact::Fact;
use super::interpret::Reading;
use super::notice::Notice;
use super::run::{Hold, Run};
use super::talk::{How, Reply, Round, TalkFact};
use crate::domain::{Account, Comment, CommentId, Right, Verdict};
use crate::plan::{Question, QuestionId};

/// Boxes in a comment of ours that asks something, as they stand now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TicksSeen {
    /// For each question in order, the options that are ticked.
    Questions(Vec<Vec<usize>>),
    /// For each decision, the options that are ticked.
    Decisions(Vec<(String, Vec<String>)>),
}

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
        let answers = numbered(&comment.body, round);
        if !answers.is_empty() {
            return Some(self.answered(run, How::Numbered, answers, Some(comment.id)));
        }
        // Words that come late are read as remarks on the work.
        let open = !round.closed && run.hold().is_some_and(|hold| matches!(hold, Hold::Answers(_)));
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
        let by = self.event.actor.clone();
        let permission = self.permission();
        let mut facts: Vec<Fact> = answers.iter().filter_map(|reply| self.differs(run, reply)).collect();
        let withdrawn = vec![];
        facts.insert(0, Fact::Talk(TalkFact::Answered { by, permission, how, answers, withdrawn, comment }));
        facts
    }

    /// Two people who say different things are told whose word counts.
    fn differs(&self, run: &Run, reply: &Reply) -> Option<Fact> {
        let known = run.talk.answers.get(&reply.question)?;
        let (said, answer) = (known.answer.as_ref()?, reply.answer.as_ref()?);
        if said == answer || known.by.id == self.event.actor.id {
            return None;
        }
        let later = self.permission() >= known.permission;
        let counts = if later { answer.clone() } else { said.clone() };
        let notice = Notice::AnswersDiffer { question: reply.question.0.clone(), counts };
        Some(Fact::Noticed { by: self.event.actor.clone(), notice, comment: None })
    }

    /// Boxes in the questions or the decisions; the editor's right counts.
    pub(super) fn ticked(&self, run: &Run, seen: &TicksSeen) -> Vec<Fact> {
        if !self.may_answer(run) {
            return vec![];
        }
        match seen {
            TicksSeen::Questions(ticks) => self.questions_ticked(run, ticks),
            TicksSeen::Decisions(ticks) => self.decisions_ticked(run, ticks),
        }
    }

    fn questions_ticked(&self, run: &Run, ticks: &[Vec<usize>]) -> Vec<Fact> {
        let Some(round) = run.talk.rounds.last() else { return vec![] };
        let (mut answers, mut withdrawn) = (vec![], vec![]);
        for (question, ticked) in round.questions.iter().zip(ticks) {
            let options: Vec<&str> =
                ticked.iter().filter_map(|at| question.options.get(*at)).map(String::as_str).collect();
            let known = run.talk.answers.get(&question.id);
            let said = (!options.is_empty()).then(|| options.join("; "));
            match (said, known) {
                (Some(said), known) if known.is_none_or(|known| known.answer.as_ref() != Some(&said)) => {
                    answers.push(Reply { question: question.id.clone(), answer: Some(said) });
                }
                (None, Some(known)) if known.how == How::Ticked => withdrawn.push(question.id.clone()),
                (Some(_) | None, _) => {}
            }
        }
        if answers.is_empty() && withdrawn.is_empty() {
            return vec![];
        }
        let mut facts = self.answered(run, How::Ticked, answers, None);
        if let Some(Fact::Talk(TalkFact::Answered { withdrawn: back, .. })) = facts.first_mut() {
            *back = withdrawn;
        }
        facts
    }

    fn decisions_ticked(&self, run: &Run, ticks: &[(String, Vec<String>)]) -> Vec<Fact> {
        let Some(design) = &run.talk.design else { return vec![] };
        let mut facts = vec![];
        for decision in &design.decisions {
            let Some((_, options)) = ticks.iter().find(|(id, _)| *id == decision.id) else { continue };
            let chosen = design.choices.get(&decision.id).map(|choice| choice.option.as_str());
            match options.as_slice() {
                [] => {}
                [one] if Some(one.as_str()) == chosen => {}
                [one] => {
                    facts.extend(self.choice(decision.option(one).map(|o| (&*decision.id, &*o.id)), "", None))
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

    fn choice(&self, what: Option<(&str, &str)>, because: &str, comment: Option<CommentId>) -> Option<Fact> {
        let (decision, option) = what?;
        Some(Fact::Talk(TalkFact::Chosen {
            by: self.event.actor.clone(),
            permission: self.permission(),
            decision: decision.to_owned(),
            option: option.to_owned(),
            rationale: because.to_owned(),
            comment,
        }))
    }

    /// `choose d-1 opt-b because …`
    pub(super) fn choose(&self, run: &Run, words: (&str, &str, &str), comment: CommentId) -> Vec<Fact> {
        let (decision, option, because) = words;
        let Some(design) = run.talk.design.as_ref().filter(|design| design.approved.is_none()) else {
            return self.nothing_to("choose", comment);
        };
        let known = design.decisions.iter().find(|known| known.id.eq_ignore_ascii_case(decision));
        let chosen = known.and_then(|known| Some((&*known.id, &*known.option(option)?.id)));
        match self.choice(chosen, because, Some(comment)) {
            Some(fact) => vec![fact],
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

/// `1. text` or `q-1: text` in lines of their own; lines that follow belong to the answer.
fn numbered(body: &str, round: &Round) -> Vec<Reply> {
    let mut answers: Vec<(QuestionId, String)> = vec![];
    for line in body.lines().filter(|line| !line.trim_start().starts_with('>')) {
        match split_number(line).and_then(|(number, rest)| Some((question_of(number, round)?, rest))) {
            Some((question, rest)) => answers.push((question.id.clone(), rest.trim().to_owned())),
            None => {
                if let Some((_, text)) = answers.last_mut() {
                    text.push(' ');
                    text.push_str(line.trim());
                }
            }
        }
    }
    let reply = |(question, text): (QuestionId, String)| {
        let text = text.trim();
        let asked = round.questions.iter().find(|known| known.id == question)?;
        (!text.is_empty()).then(|| Reply { answer: Some(option_of(text, asked)), question })
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
