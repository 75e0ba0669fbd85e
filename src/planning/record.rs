//! Purpose: all that is known of a thread: the fold of its journal.

use std::collections::{BTreeSet, VecDeque};

use super::effect::Key;
use super::fact::{AskProblem, Entry, Fact, Notice};
use super::run::{End, EndState, Pause, Retry, Revision, Run, RunId, Sequence, Spent};
use crate::domain::{CommentId, Millis, Permission};
use crate::prompts::Usage;

/// At most this many answers to comments on one thread within an hour: two bots that answer each other fall silent.
const REPLIES_AN_HOUR: usize = 10;
const BEGUN_KEPT: usize = 16;
const HOUR_MS: i64 = 3_600_000;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Record {
    /// The newest run, live or ended.
    pub run: Option<Run>,
    /// The number of the last entry.
    pub seq: i64,
    /// Whether somebody's wish for a run was turned down since the last one: then the standing wish is no news.
    pub turned_away: bool,
    /// Comments that are still to be written.
    pub owed: Vec<Owed>,
    taken: BTreeSet<CommentId>,
    replied_at: VecDeque<Millis>,
    /// When the newest runs began, oldest first; a few are enough to tell whether there are too many.
    begun_at: VecDeque<Millis>,
    /// What is said once per thread only, as it was said.
    said: BTreeSet<String>,
}

/// A comment that the thread is owed. Its key names it on the forge, so that it is written once.
#[derive(Debug, Clone, PartialEq)]
pub enum Owed {
    Reply { key: Key, to: String, notice: Notice },
    Refusal { key: Key, to: String, what: String, needs: Permission, comment: Option<CommentId> },
}

impl Owed {
    #[must_use]
    pub fn key(&self) -> &Key {
        match self {
            Self::Reply { key, .. } | Self::Refusal { key, .. } => key,
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
        self.run.as_ref().filter(|run| run.is_live())
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

    pub fn apply(&mut self, entry: &Entry) {
        self.seq = entry.seq;
        self.taken.extend(entry.fact.spoken_in());
        if let Fact::Replied { key, .. } = &entry.fact {
            self.settle(key, entry.at);
        } else if entry.fact.is_of_thread() {
            self.owe(entry);
        } else if matches!(entry.fact, Fact::Triggered { .. }) {
            self.start(entry);
        } else {
            self.apply_to_run(entry);
        }
    }

    fn start(&mut self, entry: &Entry) {
        let (Some(id), Fact::Triggered { by, how, event_at, .. }) = (&entry.run, &entry.fact) else { return };
        self.turned_away = false;
        self.begun_at.push_back(entry.at);
        if self.begun_at.len() > BEGUN_KEPT {
            self.begun_at.pop_front();
        }
        self.run = Some(Run {
            id: id.clone(),
            requester: by.clone(),
            how: *how,
            started_at: entry.at,
            event_at: *event_at,
            goal: None,
            revisions: vec![],
            pause: None,
            retry: None,
            failed_asks: 0,
            spent: Spent::default(),
            unused_comments: 0,
            end: None,
        });
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
        if self.may_reply(entry.at) && said_once(&owed).is_none_or(|said| self.said.insert(said)) {
            self.owed.push(owed);
        }
    }

    fn may_reply(&mut self, now: Millis) -> bool {
        let hour_ago = now.plus(-HOUR_MS);
        while self.replied_at.front().is_some_and(|at| *at < hour_ago) {
            self.replied_at.pop_front();
        }
        self.replied_at.len() + self.owed.len() < REPLIES_AN_HOUR
    }

    fn settle(&mut self, key: &Key, at: Millis) {
        self.owed.retain(|owed| owed.key() != key);
        self.replied_at.push_back(at);
    }

    /// Facts of another run than the newest, or of one that has ended, are evidence and change nothing.
    fn apply_to_run(&mut self, entry: &Entry) {
        let Some(run) = self.run.as_mut().filter(|run| run.is_live() && is_of(run, entry.run.as_ref()))
        else {
            return;
        };
        apply(run, entry.at, &entry.fact);
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
            Notice::HelpAsked
            | Notice::StatusAsked
            | Notice::TooManyRuns
            | Notice::AlreadyRunning
            | Notice::NothingRunning { .. }
            | Notice::AlreadyPaused
            | Notice::NotPaused
            | Notice::NotYet { .. } => None,
        },
    }
}

fn is_of(run: &Run, id: Option<&RunId>) -> bool {
    id == Some(&run.id)
}

fn apply(run: &mut Run, at: Millis, fact: &Fact) {
    match fact {
        Fact::Paused { by, .. } => {
            run.pause.get_or_insert_with(|| Pause { by: by.clone(), since: at });
        }
        Fact::Resumed { .. } => run.pause = None,
        Fact::Cancelled { by, .. } => end(run, at, EndState::Cancelled { by: by.clone() }),
        Fact::Stopped { by, why } => end(run, at, EndState::Stopped { by: by.clone(), why: *why }),
        Fact::Failed { reason } => end(run, at, EndState::Failed { reason: reason.clone() }),
        Fact::CommentArrived { used: false, .. } | Fact::DescriptionEdited { used: false, .. } => {
            run.unused_comments += 1;
        }
        Fact::AskBegun { .. } => run.spent.model_calls += 1,
        Fact::AskFailed { key, problem, reason, usage } => {
            usage.iter().for_each(|usage| spend(run, usage));
            if *key == run.ask_key() {
                ask_failed(run, at, *problem, reason.clone());
            }
        }
        Fact::TimerFired { key } if run.retry.as_ref().is_some_and(|retry| retry.key == *key) => {
            run.retry = None
        }
        Fact::GoalUnderstood { key, goal, usage } => {
            if takes(run, key, usage) {
                run.goal = Some(goal.clone());
            }
        }
        Fact::Decomposed { key, steps, usage, .. } => {
            if takes(run, key, usage) {
                run.revisions.push(Revision { steps: steps.clone(), sequence: None });
            }
        }
        Fact::Sequenced { key, actions, digest, usage } => {
            let awaited = takes(run, key, usage);
            if let Some(revision) = run.revisions.last_mut().filter(|_| awaited) {
                revision.sequence = Some(Sequence { actions: actions.clone(), digest: digest.clone(), at });
            }
        }
        Fact::CommentArrived { .. }
        | Fact::DescriptionEdited { .. }
        | Fact::TimerFired { .. }
        | Fact::Triggered { .. }
        | Fact::Refused { .. }
        | Fact::Noticed { .. }
        | Fact::Replied { .. } => {}
    }
}

/// Counts what an answer cost, and says whether it is the one that the run waits for. The key names phase, revision and
/// attempt; an answer under any other key came too late and is evidence only.
fn takes(run: &mut Run, key: &Key, usage: &Usage) -> bool {
    spend(run, usage);
    let awaited = *key == run.ask_key();
    if awaited {
        run.failed_asks = 0;
        run.retry = None;
    }
    awaited
}

fn ask_failed(run: &mut Run, at: Millis, problem: AskProblem, reason: String) {
    let retry_key = Key(format!("{}/again", run.ask_key()));
    run.failed_asks += 1;
    match problem {
        AskProblem::Passing => run.retry = Some(Retry { key: retry_key, failed_at: at, reason }),
        AskProblem::Lasting => end(run, at, EndState::Failed { reason }),
    }
}

fn end(run: &mut Run, at: Millis, state: EndState) {
    run.end = Some(End { state, at });
}

fn spend(run: &mut Run, usage: &Usage) {
    let spent = &mut run.spent;
    spent.input_tokens += usage.input_tokens;
    spent.output_tokens += usage.output_tokens;
    if let Some(cost) = usage.cost_micro_usd {
        *spent.cost_micro_usd.get_or_insert(0) += cost;
    }
    // The begun fact counted the first call; repairs and retries inside it come on top.
    spent.model_calls += usage.calls.saturating_sub(1);
}
