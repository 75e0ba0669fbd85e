//! Purpose: what an event means for this thread: from what somebody did to the facts that follow.
//!
//! Events come late, twice and out of order, so whatever can be read from the forge is read there and not from the
//! event: a trigger counts only while it still stands, a stop only while it is still true. When the forge cannot be
//! read, stops count and triggers wait for another try (the engine retries the delivery).

use super::answers::TicksSeen;
use super::budget::Limits;
use super::crew::CrewFact;
use super::document::by_assignment;
use super::fact::Fact;
use super::notice::{Notice, StopReason, Trigger};
use super::plan_tool::{self, Pending};
use super::proposal::Actor;
use super::record::Record;
use super::run::Run;
use crate::crew::Target;
use crate::domain::{
    Account, AccountId, AccountKind, Command, Comment, CommentId, Event, EventKind, Lang, Millis, Permission,
    Right, Spoken, Thread, Verdict, parse_command,
};
use crate::plan::ActionId;

/// What the repository's settings say about starting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    pub enabled: bool,
    pub on_assign: bool,
    pub on_label: Option<String>,
    pub on_mention: bool,
    /// What a run may use that starts now.
    pub budget: Limits,
    /// The language that people are answered in; `None`: the thread's own.
    pub lang: Option<Lang>,
    /// Why the repository's own settings file cannot be understood, if so.
    pub broken_file: Option<String>,
}

impl Rules {
    /// What keeps a run from starting at all, whoever asks.
    fn obstacle(&self) -> Option<Notice> {
        match &self.broken_file {
            Some(why) => Some(Notice::RepoFileBroken { why: why.clone() }),
            None => (!self.enabled).then_some(Notice::PlanningIsOff),
        }
    }
}

/// A program that starts and cancels runs must not be able to spend without end.
const RUNS_AN_HOUR: usize = 6;
const HOUR_MS: i64 = 3_600_000;

/// The label that holds a run for as long as it is on.
pub(super) const PAUSE_LABEL: &str = "planwright:paused";

/// What the engine looked up before an event is read.
#[derive(Debug, Clone)]
pub struct Observation<'a> {
    pub bot: &'a Account,
    pub rules: &'a Rules,
    /// The actor's live permission; `None` where nothing needs it.
    pub permission: Option<Permission>,
    /// The thread as it stands now; `None` where nothing needs it.
    pub thread: Option<&'a Thread>,
    /// The preview that was edited, if it is one.
    pub preview: Option<PreviewSeen>,
    /// The boxes in a comment that asks something, if that was edited.
    pub ticks: Option<TicksSeen>,
    pub now: Millis,
}

/// A preview of ours after somebody edited it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviewSeen {
    pub request: u32,
    /// The actions whose boxes are ticked now.
    pub boxes: Vec<ActionId>,
    /// Whether nothing but boxes differs from what we wrote.
    pub intact: bool,
}

/// What the thread itself says to a run, whether or not a webhook came: it may have to stop or to pause.
#[must_use]
pub fn signals(run: &Run, thread: &Thread, rules: &Rules, bot: &Account) -> Vec<Fact> {
    let nobody = Account { id: AccountId(0), login: "ghost".to_owned(), kind: AccountKind::Ghost };
    let lost = match run.how {
        _ if !thread.open => Some(StopReason::Closed),
        Trigger::Assigned | Trigger::Document if !has(&thread.assignees, bot) => Some(StopReason::Unassigned),
        Trigger::Labelled => {
            let label = rules.on_label.as_ref().filter(|label| !thread.labels.contains(label));
            label.map(|_| StopReason::Unlabelled)
        }
        Trigger::Assigned
        | Trigger::Document
        | Trigger::Mentioned
        | Trigger::Retried
        | Trigger::ChangesRequested
        | Trigger::Replanned => None,
    };
    if let Some(why) = lost {
        return stop(run, nobody, why);
    }
    let on_hold = thread.labels.iter().any(|label| label == PAUSE_LABEL);
    if on_hold && run.pause.is_none() {
        vec![plan_tool::mark_pending(&nobody, Pending::Yes, None)]
    } else {
        vec![]
    }
}

fn stop(run: &Run, by: Account, why: StopReason) -> Vec<Fact> {
    let reason = format!("{why:?}").to_lowercase();
    plan_tool::abort(run, Actor::User, reason).into_iter().chain([Fact::Stopped { by, why }]).collect()
}

#[must_use]
pub fn interpret(record: &Record, event: &Event, seen: &Observation<'_>) -> Vec<Fact> {
    // First of all, so that no rule below can make the bot talk to itself.
    if event.actor.id == seen.bot.id {
        return vec![];
    }
    let reading = Reading { record, event, seen };
    let facts = reading.facts();
    reading.language_for(&facts).into_iter().chain(facts).collect()
}

pub(super) fn has(accounts: &[Account], one: &Account) -> bool {
    accounts.iter().any(|account| account.id == one.id)
}

pub(super) struct Reading<'a> {
    pub(super) record: &'a Record,
    pub(super) event: &'a Event,
    pub(super) seen: &'a Observation<'a>,
}

impl Reading<'_> {
    fn facts(&self) -> Vec<Fact> {
        match &self.event.kind {
            EventKind::Opened { assignees, labels } => self.opened(assignees, labels),
            EventKind::Assigned { assignee } => self.assigned(assignee),
            EventKind::Labelled { label } => self.labelled(label),
            EventKind::Unassigned { assignee } => self.unassigned(assignee),
            EventKind::Unlabelled { label } => self.unlabelled(label),
            EventKind::Closed => self.closed(),
            EventKind::CommentCreated { comment } => self.comment(comment),
            EventKind::Reviewed { comment, asks_for_changes: true } => self.changes_requested(comment),
            EventKind::Reviewed { comment, .. } | EventKind::ReviewCommented { comment } => {
                self.prose(comment)
            }
            EventKind::DescriptionEdited => self.description_edited(),
            // An edited comment is no command: what people reacted to must stay what was said. Boxes in a preview of
            // ours are another matter.
            EventKind::CommentEdited { .. } => match &self.seen.ticks {
                Some(ticks) => self.with_run(|run| self.ticked(run, ticks)),
                None => self.preview_edited(),
            },
            EventKind::CommentDeleted { comment_id } => self.preview_deleted(*comment_id),
            EventKind::Reopened | EventKind::ReviewRequested { .. } => vec![],
        }
    }

    /// A run knows the language it is spoken to in. Before there is one, whoever is answered is answered in the thread's.
    fn language_for(&self, facts: &[Fact]) -> Option<Fact> {
        let answers = facts.iter().any(|fact| matches!(fact, Fact::Noticed { .. } | Fact::Refused { .. }));
        let known = self.seen.thread.is_some() || self.seen.rules.lang.is_some();
        let lang = self.lang();
        let news = self.record.run.is_none() && answers && known && lang != self.record.lang();
        news.then_some(Fact::LanguageSeen { lang })
    }

    fn opened(&self, assignees: &[Account], labels: &[String]) -> Vec<Fact> {
        if has(assignees, self.seen.bot) && self.seen.rules.on_assign {
            self.assigned(self.seen.bot)
        } else if let Some(label) = labels.iter().find(|label| self.starts(label)) {
            self.labelled(label)
        } else {
            vec![]
        }
    }

    fn assigned(&self, assignee: &Account) -> Vec<Fact> {
        let still = |thread: &&Thread| thread.open && has(&thread.assignees, self.seen.bot);
        let Some(thread) = self.seen.thread.filter(still) else { return vec![] };
        if assignee.id != self.seen.bot.id || !self.seen.rules.on_assign {
            return vec![];
        }
        self.trigger(by_assignment(thread), None)
    }

    fn labelled(&self, label: &str) -> Vec<Fact> {
        let still =
            self.seen.thread.is_some_and(|thread| thread.open && thread.labels.iter().any(|l| l == label));
        if !still {
            return vec![];
        }
        if label == PAUSE_LABEL {
            return self.with_run(|run| if run.pause.is_none() { vec![self.paused(None)] } else { vec![] });
        }
        if self.starts(label) { self.trigger(Trigger::Labelled, None) } else { vec![] }
    }

    fn starts(&self, label: &str) -> bool {
        self.seen.rules.on_label.as_deref() == Some(label)
    }

    fn unassigned(&self, assignee: &Account) -> Vec<Fact> {
        let gone = assignee.id == self.seen.bot.id
            && self.seen.thread.is_none_or(|thread| !has(&thread.assignees, self.seen.bot));
        self.with_run(|run| {
            if gone && matches!(run.how, Trigger::Assigned | Trigger::Document) {
                self.stopped(run, StopReason::Unassigned)
            } else {
                vec![]
            }
        })
    }

    fn unlabelled(&self, label: &str) -> Vec<Fact> {
        if self.seen.thread.is_some_and(|thread| thread.labels.iter().any(|l| l == label)) {
            return vec![];
        }
        self.with_run(|run| {
            // A pause that somebody asked for in words is not ended by a label that was never on.
            if label == PAUSE_LABEL && run.pause.as_ref().is_some_and(|pause| pause.comment.is_none()) {
                return self.allowed(Right::STEER, "resume", None, |_| vec![self.resumed(None)]);
            }
            let lost = run.how == Trigger::Labelled && self.starts(label);
            if lost { self.stopped(run, StopReason::Unlabelled) } else { vec![] }
        })
    }

    fn closed(&self) -> Vec<Fact> {
        if self.seen.thread.is_some_and(|thread| thread.open) {
            return vec![];
        }
        self.with_run(|run| self.stopped(run, StopReason::Closed))
    }

    fn description_edited(&self) -> Vec<Fact> {
        self.with_run(|run| {
            let (permission, used) = self.steers(run);
            vec![Fact::DescriptionEdited { by: self.event.actor.clone(), permission, used }]
        })
    }

    fn comment(&self, comment: &Comment) -> Vec<Fact> {
        if self.record.has_taken(comment.id) {
            return vec![];
        }
        // Who reads it late does not know who put these words into its author's mouth: they steer, and decide nothing.
        if comment.edited {
            return self.with_run(|run| self.remark(run, comment));
        }
        match parse_command(&comment.body, &self.seen.bot.login) {
            // Who is asked something and begins with our name answers.
            Spoken::Command(Command::Unknown { .. }) if self.is_asking() => self.prose(comment),
            Spoken::Command(command) => self.command(&command, comment.id),
            Spoken::Prose => self.prose(comment),
        }
    }

    fn is_asking(&self) -> bool {
        let round = self.record.live_run().and_then(|run| run.talk.open_round());
        round.is_some_and(|round| round.comment.is_some())
    }

    pub(super) fn prose(&self, comment: &Comment) -> Vec<Fact> {
        if self.record.has_taken(comment.id) {
            return vec![];
        }
        self.with_run(|run| {
            if let Some(facts) = self.answer(run, comment).filter(|_| !comment.edited) {
                return facts;
            }
            if let Some(fact) = self.help(run, comment).filter(|_| !comment.edited) {
                return vec![fact];
            }
            self.remark(run, comment)
        })
    }

    /// Plain words of somebody who was asked, where only one question can be meant. Others name it (`/resolve N`).
    fn help(&self, run: &Run, comment: &Comment) -> Option<Fact> {
        let mut open = run.crew.open().filter(|open| open.target == Target::People && open.comment.is_some());
        let (only, None) = (open.next()?, open.next()) else { return None };
        let newer = only.comment.is_some_and(|posted| comment.id > posted);
        (newer && self.is_asked(Some(only))).then(|| {
            let (number, text) = (only.number, comment.body.trim().to_owned());
            let (by, comment) = (Some(self.event.actor.clone()), Some(comment.id));
            Fact::Crew(CrewFact::EscalationResolved { number, by, text, comment })
        })
    }

    /// Words that the run reads, if their writer may steer it.
    fn remark(&self, run: &Run, comment: &Comment) -> Vec<Fact> {
        let (permission, used) = self.steers(run);
        vec![Fact::CommentArrived { by: self.event.actor.clone(), permission, comment: comment.id, used }]
    }

    /// A formal wish for changes on a change request of ours goes on with the same branch.
    fn changes_requested(&self, comment: &Comment) -> Vec<Fact> {
        let ours = self.is_ours();
        // GitLab tells the wish without words, which come as comments of their own.
        let id = (comment.id != CommentId(0)).then_some(comment.id);
        if self.record.live_run().is_some() || !ours || id.is_some_and(|id| self.record.has_taken(id)) {
            return if id.is_some() { self.prose(comment) } else { vec![] };
        }
        self.trigger(Trigger::ChangesRequested, id)
    }

    /// Whether the thread is an open change request of ours.
    pub(super) fn is_ours(&self) -> bool {
        self.seen.thread.is_some_and(|thread| {
            thread.is_change_request && thread.open && thread.author.id == self.seen.bot.id
        })
    }

    pub(super) fn mentioned(&self, comment: CommentId) -> Vec<Fact> {
        let open = self.seen.thread.is_some_and(|thread| thread.open);
        if self.seen.rules.on_mention && open {
            self.trigger(Trigger::Mentioned, Some(comment))
        } else {
            vec![]
        }
    }

    pub(super) fn trigger(&self, how: Trigger, comment: Option<CommentId>) -> Vec<Fact> {
        self.trigger_because(how, comment, None)
    }

    pub(super) fn trigger_because(
        &self,
        how: Trigger,
        comment: Option<CommentId>,
        why: Option<&str>,
    ) -> Vec<Fact> {
        if self.record.live_run().is_some() || self.is_late_copy() {
            return vec![];
        }
        let by = self.event.actor.clone();
        let (right, what) = match how {
            Trigger::Retried => (Right::of(&Command::Retry), "retry"),
            // Whose review counts is whose words would.
            Trigger::ChangesRequested => {
                (Right::of(&Command::Replan { why: String::new() }), "ask for changes")
            }
            Trigger::Replanned => (Right::of(&Command::Replan { why: String::new() }), "replan"),
            Trigger::Assigned | Trigger::Labelled | Trigger::Mentioned | Trigger::Document => {
                (Right::PLAN, "plan")
            }
        };
        self.allowed(right, what, comment, |_| {
            let too_often = self.record.runs_since(self.seen.now.plus(-HOUR_MS)) >= RUNS_AN_HOUR;
            let obstacle = self.seen.rules.obstacle().or_else(|| too_often.then_some(Notice::TooManyRuns));
            if let Some(notice) = obstacle {
                return vec![Fact::Noticed { by: by.clone(), notice, comment }];
            }
            let permission = self.permission();
            let budget = self.seen.rules.budget.clone();
            let (event_at, why, lang) = (self.event.at, why.map(str::to_owned), self.lang());
            let triggered =
                Fact::Triggered { by: by.clone(), permission, how, event_at, comment, budget, why, lang };
            if self.is_on_hold() { vec![triggered, self.paused(None)] } else { vec![triggered] }
        })
    }

    fn lang(&self) -> Lang {
        let thread = self.seen.thread.map(|thread| [thread.title.as_str(), thread.body.as_str()]);
        self.seen.rules.lang.unwrap_or_else(|| Lang::of(thread.into_iter().flatten()))
    }

    /// The label holds whatever starts on the thread, also when it was there first.
    fn is_on_hold(&self) -> bool {
        self.seen.thread.is_some_and(|thread| thread.labels.iter().any(|label| label == PAUSE_LABEL))
    }

    /// GitHub sends `opened` and `assigned` for one click; the second must not start another run when the first run
    /// has already ended. A run that the sweep started has no event; what happened before it was what the sweep saw.
    fn is_late_copy(&self) -> bool {
        let last = self.record.run.as_ref().map(|run| run.event_at.unwrap_or(run.started_at));
        matches!((self.event.at, last), (Some(at), Some(last)) if at <= last)
    }

    /// Goes on if the actor has the right; otherwise the refusal is the fact. Accounts that are no people are not
    /// answered at all: an answer could start a conversation between bots.
    pub(super) fn allowed(
        &self,
        right: Right,
        what: &str,
        comment: Option<CommentId>,
        then: impl FnOnce(&Account) -> Vec<Fact>,
    ) -> Vec<Fact> {
        let by = &self.event.actor;
        match right.judge(by, self.permission(), self.is_requester()) {
            Verdict::Allowed => then(by),
            Verdict::Refused { .. } if by.kind != AccountKind::Person => vec![],
            Verdict::Refused { needs, has } => {
                vec![Fact::Refused { by: by.clone(), what: what.to_owned(), needs, has, comment }]
            }
        }
    }

    pub(super) fn with_run(&self, then: impl FnOnce(&Run) -> Vec<Fact>) -> Vec<Fact> {
        self.record.live_run().map(then).unwrap_or_default()
    }

    fn steers(&self, run: &Run) -> (Permission, bool) {
        let permission = self.permission();
        let requester = run.requester.id == self.event.actor.id;
        (permission, Right::STEER.judge(&self.event.actor, permission, requester) == Verdict::Allowed)
    }

    fn is_requester(&self) -> bool {
        self.record.live_run().is_some_and(|run| run.requester.id == self.event.actor.id)
    }

    /// What could not be looked up counts as nothing.
    pub(super) fn permission(&self) -> Permission {
        self.seen.permission.unwrap_or(Permission::None)
    }

    pub(super) fn paused(&self, comment: Option<CommentId>) -> Fact {
        plan_tool::mark_pending(&self.event.actor, Pending::Yes, comment)
    }

    pub(super) fn resumed(&self, comment: Option<CommentId>) -> Fact {
        plan_tool::mark_pending(&self.event.actor, Pending::No, comment)
    }

    fn stopped(&self, run: &Run, why: StopReason) -> Vec<Fact> {
        stop(run, self.event.actor.clone(), why)
    }
}
