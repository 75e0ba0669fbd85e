//! Purpose: all that is known of a thread: the fold of its journal.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use super::apply::apply;
use super::effect::Key;
use super::entry::Entry;
use super::fact::Fact;
use super::notice::{Notice, StopReason, Trigger};
use super::proposal::Request;
use super::replanned::outline;
use super::run::{EndState, Run, RunId};
use crate::domain::{CommentId, Lang, Millis, Permission};

/// At most this many answers to comments on one thread within an hour: two bots that answer each other fall silent.
const REPLIES_AN_HOUR: usize = 10;
/// At most this many of them to one account: nobody can use up all of the answers to others.
const REPLIES_TO_ONE: usize = 6;
const BEGUN_KEPT: usize = 16;
const HOUR_MS: i64 = 3_600_000;
const EARLIER_KEPT: usize = 5;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Record {
    /// The newest run, live or ended. Shared with the effects that look at it; a long run is too much to copy for each.
    pub run: Option<Arc<Run>>,
    /// The number of the last entry.
    pub seq: i64,
    /// Whether somebody's wish for a run was turned down since the last one, or what came of it is forgotten: then the
    /// standing wish is no news.
    pub turned_away: bool,
    /// When something was last written down that is not forgotten.
    last_at: Option<Millis>,
    /// Comments that are still to be written.
    pub owed: Vec<Owed>,
    taken: BTreeSet<CommentId>,
    /// When somebody was answered, and who, within the last hour.
    replied: VecDeque<(Millis, String)>,
    /// When the newest runs began, oldest first; a few are enough to tell whether there are too many.
    begun_at: VecDeque<Millis>,
    /// What is said once per thread only, as it was said.
    said: BTreeSet<String>,
    /// What the runs before the newest came to, oldest first, a few of them.
    pub earlier: VecDeque<String>,
    /// The language of the thread, for what is said before there is a run.
    spoken: Lang,
}

/// A comment that the thread is owed. Its key names it on the forge, so that it is written once.
#[derive(Debug, Clone, PartialEq)]
pub enum Owed {
    Reply { key: Key, to: String, notice: Notice },
    Refusal { key: Key, to: String, what: String, needs: Permission, comment: Option<CommentId> },
}

/// What a comment of ours asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    Questions,
    Decisions,
}

impl Owed {
    #[must_use]
    pub fn key(&self) -> &Key {
        match self {
            Self::Reply { key, .. } | Self::Refusal { key, .. } => key,
        }
    }

    fn to(&self) -> &str {
        match self {
            Self::Reply { to, .. } | Self::Refusal { to, .. } => to,
        }
    }
}

impl Record {
    #[must_use]
    pub fn fold<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        let mut record = Self::default();
        for entry in entries {
            record.apply(entry);
        }
        record
    }

    #[must_use]
    pub fn live_run(&self) -> Option<&Run> {
        self.run.as_deref().filter(|run| run.is_live())
    }

    /// The language of the newest run; before there is one, that of the thread as it was last looked at.
    #[must_use]
    pub fn lang(&self) -> Lang {
        self.run.as_ref().map_or(self.spoken, |run| run.lang)
    }

    /// The request that this comment is the preview of, if the live run has such a one.
    #[must_use]
    pub fn preview_request(&self, comment: CommentId) -> Option<&Request> {
        let plan = self.live_run()?.plan()?;
        plan.requests.iter().find(|request| request.comments.contains(&comment))
    }

    /// What the live run asks people in this comment.
    #[must_use]
    pub fn asks_in(&self, comment: CommentId) -> Option<Asked> {
        let talk = &self.live_run()?.talk;
        let by_round = talk.rounds.last().is_some_and(|round| round.comment == Some(comment));
        let by_design = talk.design.as_ref().is_some_and(|design| design.comment == Some(comment));
        match (by_round, by_design) {
            (true, _) => Some(Asked::Questions),
            (false, true) => Some(Asked::Decisions),
            (false, false) => None,
        }
    }

    /// Whether what people do to this comment is an answer: a preview, questions or decisions.
    #[must_use]
    pub fn asks_by(&self, comment: CommentId) -> bool {
        self.preview_request(comment).is_some() || self.asks_in(comment).is_some()
    }

    /// How many runs began since then, of the newest few.
    #[must_use]
    pub fn runs_since(&self, then: Millis) -> usize {
        self.begun_at.iter().filter(|at| **at >= then).count()
    }

    /// Whether this comment has already been acted on; redeliveries and the sweep bring the same one again.
    #[must_use]
    pub fn has_taken(&self, comment: CommentId) -> bool {
        self.taken.contains(&comment)
    }

    /// Whether a wish for a run that stands on the forge may begin one, if nobody has told of it.
    #[must_use]
    pub fn may_start(&self) -> bool {
        if self.turned_away {
            return false;
        }
        match self.run.as_ref().map(|run| run.end.as_ref()) {
            None => true,
            Some(None) => false,
            Some(Some(end)) => match &end.state {
                EndState::Stopped { why, .. } => *why != StopReason::Closed,
                EndState::Completed | EndState::Cancelled { .. } | EndState::Failed { .. } => false,
            },
        }
    }

    /// When something was last written down, if nothing is under way or owed.
    #[must_use]
    pub fn quiet_since(&self) -> Option<Millis> {
        self.last_at.filter(|_| self.live_run().is_none() && self.owed.is_empty())
    }

    pub fn apply(&mut self, entry: &Entry) {
        self.seq = entry.seq;
        self.last_at = Some(entry.at);
        self.taken.extend(entry.fact.spoken_in());
        if let Fact::Replied { key, .. } = &entry.fact {
            self.settle(key, entry.at);
        } else if let Fact::LanguageSeen { lang } = &entry.fact {
            self.spoken = *lang;
        } else if let Fact::Forgotten { may_start, .. } = &entry.fact {
            *self = Self { seq: entry.seq, turned_away: !may_start, ..Self::default() };
        } else if entry.fact.is_of_thread() {
            self.owe(entry);
        } else if matches!(entry.fact, Fact::Triggered { .. }) {
            self.start(entry);
        } else {
            self.apply_to_run(entry);
        }
    }

    fn start(&mut self, entry: &Entry) {
        let (Some(id), Fact::Triggered { by, permission, how, event_at, budget, why, lang, .. }) =
            (&entry.run, &entry.fact)
        else {
            return;
        };
        self.turned_away = false;
        self.begun_at.push_back(entry.at);
        if self.begun_at.len() > BEGUN_KEPT {
            self.begun_at.pop_front();
        }
        let run = Run::new(id.clone(), by.clone(), *how, entry.at);
        let run = Run {
            event_at: *event_at,
            budget: budget.clone(),
            lang: *lang,
            sources: entry.fact.spoken_in().into_iter().collect(),
            rights: [(by.id, *permission)].into(),
            ..run
        };
        let before = self.run.as_ref().map(|before| sum_up(before));
        let wish = why.as_ref().filter(|why| !why.is_empty());
        let wish = wish.map(|why| format!("Now @{} wants another plan: {}", by.login, cut(why)));
        self.earlier.extend(before.into_iter().chain(wish));
        while self.earlier.len() > EARLIER_KEPT {
            self.earlier.pop_front();
        }
        self.run = Some(Arc::new(match (&self.run, how) {
            (Some(before), Trigger::Retried) => run.with_the_rest_of(before),
            (_, _) => run,
        }));
    }

    fn owe(&mut self, entry: &Entry) {
        let key = Key(format!("reply/{}", entry.seq));
        let owed = if let Fact::Noticed { notice, by, .. } = &entry.fact {
            self.turned_away |=
                matches!(notice, Notice::PlanningIsOff | Notice::RepoFileBroken { .. } | Notice::TooManyRuns);
            Owed::Reply { key, to: by.login.clone(), notice: notice.clone() }
        } else if let Fact::Refused { by, what, needs, comment, .. } = &entry.fact {
            self.turned_away |= comment.is_none() && self.run.as_ref().is_none_or(|run| !run.is_live());
            Owed::Refusal { key, to: by.login.clone(), what: what.clone(), needs: *needs, comment: *comment }
        } else {
            return;
        };
        if self.may_reply(owed.to(), entry.at) && said_once(&owed).is_none_or(|said| self.said.insert(said)) {
            self.owed.push(owed);
        }
    }

    fn may_reply(&mut self, to: &str, now: Millis) -> bool {
        let hour_ago = now.plus(-HOUR_MS);
        while self.replied.front().is_some_and(|(at, _)| *at < hour_ago) {
            self.replied.pop_front();
        }
        let answered = self.replied.iter().map(|(_, who)| who.as_str());
        let all: Vec<&str> = answered.chain(self.owed.iter().map(Owed::to)).collect();
        all.len() < REPLIES_AN_HOUR && all.iter().filter(|who| **who == to).count() < REPLIES_TO_ONE
    }

    fn settle(&mut self, key: &Key, at: Millis) {
        let settled = self.owed.extract_if(.., |owed| owed.key() == key).next();
        self.replied.push_back((at, settled.map_or(String::new(), |owed| owed.to().to_owned())));
    }

    /// Facts of another run than the newest, or of one that has ended, are evidence and change nothing; but where its
    /// work and its comments are stays true.
    fn apply_to_run(&mut self, entry: &Entry) {
        let counts = |run: &&mut Arc<Run>| run.is_live() || entry.fact.outlives_its_run();
        let Some(run) = self.run.as_mut().filter(|run| is_of(run, entry.run.as_ref())).filter(counts) else {
            return;
        };
        apply(Arc::make_mut(run), entry.at, &entry.fact);
    }
}

/// What names an answer that is given once per thread; `None` for those that are given every time.
fn said_once(owed: &Owed) -> Option<String> {
    match owed {
        Owed::Refusal { comment: Some(_), .. } => None,
        Owed::Refusal { to, what, comment: None, .. } => Some(format!("no {what} for {to}")),
        Owed::Reply { notice, .. } => match notice {
            Notice::PlanningIsOff => Some("planning is off".to_owned()),
            Notice::RepoFileBroken { why } => Some(format!("broken: {why}")),
            Notice::UnknownVerb { .. } => Some("unknown verb".to_owned()),
            Notice::AskedAltered { comment } => Some(format!("altered {}", comment.0)),
            Notice::HelpAsked
            | Notice::StatusAsked
            | Notice::TooManyRuns
            | Notice::AlreadyRunning
            | Notice::NothingRunning { .. }
            | Notice::AlreadyPaused
            | Notice::NotPaused
            | Notice::NothingToAnswer { .. }
            | Notice::BadApproval { .. }
            | Notice::PreviewAltered
            | Notice::UnreadableActions { .. }
            | Notice::LeftOutOfApproval { .. }
            | Notice::CannotSkip { .. }
            | Notice::BadBudget { .. }
            | Notice::NothingToRetry
            | Notice::AnswerUnclear { .. }
            | Notice::AnswersDiffer { .. }
            | Notice::StillWaiting { .. }
            | Notice::NoSuchChoice { .. }
            | Notice::TwoOptions { .. }
            | Notice::BoxesUnseen { .. }
            | Notice::QuestionSettled { .. }
            | Notice::NoSuchQuestion { .. } => None,
        },
    }
}

fn is_of(run: &Run, id: Option<&RunId>) -> bool {
    id == Some(&run.id)
}

/// A digest stays short, whatever was said.
fn cut(text: &str) -> String {
    text.chars().take(1_500).collect()
}

/// A run in a few lines, for the one that comes after it.
fn sum_up(run: &Run) -> String {
    let end = match run.end.as_ref().map(|end| &end.state) {
        Some(EndState::Failed { reason }) => format!("failed: {reason}"),
        Some(state) => state.as_str().to_owned(),
        None => "unfinished".to_owned(),
    };
    let goal = run.goal.as_ref().map_or("", |goal| goal.main_objective.as_str());
    let plan = run.plan().map_or(String::new(), |plan| outline(run, plan).join("; "));
    let text = format!("A run for @{}: {goal}. It {end}. {plan}", run.requester.login);
    cut(&text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Account;

    /// Somebody asks for help in this minute, and is told when there is an answer.
    fn ask(record: &mut Record, who: &str, minute: i64) -> bool {
        let at = Millis(minute * 60_000);
        let by = Account::person(7, who);
        let asked = Fact::Noticed { notice: Notice::HelpAsked, by, comment: None };
        record.apply(&Entry { seq: record.seq + 1, at, run: None, fact: asked });
        let Some(owed) = record.owed.first() else { return false };
        let replied = Fact::Replied { key: owed.key().clone(), comment: None };
        record.apply(&Entry { seq: record.seq + 1, at, run: None, fact: replied });
        true
    }

    #[test]
    fn who_asks_too_often_waits_and_leaves_answers_to_others() {
        let mut record = Record::default();
        let answered = (0..12).filter(|minute| ask(&mut record, "tom", *minute)).count();
        assert_eq!(answered, REPLIES_TO_ONE);
        let others = (12..24).filter(|minute| ask(&mut record, &format!("p{minute}"), *minute)).count();
        assert_eq!(answered + others, REPLIES_AN_HOUR);
        assert!(!ask(&mut record, "tom", 59));
        assert!(ask(&mut record, "tom", 62), "the first answers are an hour old");
    }

    #[test]
    fn answers_that_are_still_to_be_given_count_as_well() {
        let mut record = Record::default();
        for seq in 1..=12 {
            let by = Account::person(7, "tom");
            let fact = Fact::Noticed { notice: Notice::StatusAsked, by, comment: None };
            record.apply(&Entry { seq, at: Millis(seq), run: None, fact });
        }
        assert_eq!(record.owed.len(), REPLIES_TO_ONE);
    }
}
