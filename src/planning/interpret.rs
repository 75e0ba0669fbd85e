//! Purpose: what an event means for this thread: from what somebody did to the facts that follow.
//!
//! Events come late, twice and out of order, so whatever can be read from the forge is read there and not from the
//! event: a trigger counts only while it still stands, a stop only while it is still true. When the forge cannot be
//! read, stops count and triggers wait for another try (the engine retries the delivery).

use super::fact::{Fact, Notice, StopReason, Trigger};
use super::record::Record;
use super::run::Run;
use crate::domain::{
    Account, AccountKind, Command, Comment, CommentId, Event, EventKind, Millis, Permission, Right, Spoken,
    Thread, Verdict, parse_command,
};

/// What the repository's settings say about starting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    pub enabled: bool,
    pub on_assign: bool,
    pub on_label: Option<String>,
    pub on_mention: bool,
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
const PAUSE_LABEL: &str = "planwright:paused";

/// What the engine looked up before an event is read.
#[derive(Debug, Clone)]
pub struct Observation<'a> {
    pub bot: &'a Account,
    pub rules: &'a Rules,
    /// The actor's live permission; `None` where nothing needs it.
    pub permission: Option<Permission>,
    /// The thread as it stands now; `None` where nothing needs it.
    pub thread: Option<&'a Thread>,
    pub now: Millis,
}

/// Whether reading this event needs the live state of the thread: it may start or stop something.
#[must_use]
pub fn needs_thread(record: &Record, event: &Event, bot: &Account) -> bool {
    let running = record.live_run().is_some();
    match &event.kind {
        EventKind::Opened { assignees, labels } => has(assignees, bot) || !labels.is_empty(),
        EventKind::Assigned { assignee } => assignee.id == bot.id,
        EventKind::Unassigned { assignee } => running && assignee.id == bot.id,
        EventKind::Labelled { .. } => true,
        EventKind::Closed | EventKind::Unlabelled { .. } => running,
        EventKind::CommentCreated { comment } => {
            matches!(parse_command(&comment.body, &bot.login), Spoken::Command(Command::Plan))
        }
        EventKind::DescriptionEdited
        | EventKind::Reopened
        | EventKind::ReviewRequested { .. }
        | EventKind::CommentEdited { .. }
        | EventKind::CommentDeleted { .. }
        | EventKind::Reviewed { .. }
        | EventKind::ReviewCommented { .. } => false,
    }
}

/// Whether reading this event needs the actor's permission. An event that needs neither this nor the thread changes
/// nothing. Prose on a thread without a run does not: busy
/// repositories would cost one request for every comment anybody writes.
#[must_use]
pub fn needs_permission(record: &Record, event: &Event, bot: &Account) -> bool {
    let running = record.live_run().is_some();
    match &event.kind {
        EventKind::Opened { assignees, labels } => has(assignees, bot) || !labels.is_empty(),
        EventKind::Assigned { assignee } => assignee.id == bot.id,
        EventKind::Labelled { .. } => true,
        EventKind::Unlabelled { label } => label == PAUSE_LABEL && running,
        EventKind::CommentCreated { comment } => {
            running || matches!(parse_command(&comment.body, &bot.login), Spoken::Command(_))
        }
        EventKind::DescriptionEdited | EventKind::Reviewed { .. } | EventKind::ReviewCommented { .. } => {
            running
        }
        EventKind::Closed
        | EventKind::Reopened
        | EventKind::Unassigned { .. }
        | EventKind::ReviewRequested { .. }
        | EventKind::CommentEdited { .. }
        | EventKind::CommentDeleted { .. } => false,
    }
}

#[must_use]
pub fn interpret(record: &Record, event: &Event, seen: &Observation<'_>) -> Vec<Fact> {
    // First of all, so that no rule below can make the bot talk to itself.
    if event.actor.id == seen.bot.id {
        return vec![];
    }
    let reading = Reading { record, event, seen };
    match &event.kind {
        EventKind::Opened { assignees, labels } => reading.opened(assignees, labels),
        EventKind::Assigned { assignee } => reading.assigned(assignee),
        EventKind::Labelled { label } => reading.labelled(label),
        EventKind::Unassigned { assignee } => reading.unassigned(assignee),
        EventKind::Unlabelled { label } => reading.unlabelled(label),
        EventKind::Closed => reading.closed(),
        EventKind::CommentCreated { comment } => reading.comment(comment),
        EventKind::Reviewed { comment, .. } | EventKind::ReviewCommented { comment } => {
            reading.prose(comment)
        }
        EventKind::DescriptionEdited => reading.description_edited(),
        // An edited comment is no command: what people reacted to must stay what was said.
        EventKind::CommentEdited { .. }
        | EventKind::CommentDeleted { .. }
        | EventKind::Reopened
        | EventKind::ReviewRequested { .. } => vec![],
    }
}

fn has(accounts: &[Account], one: &Account) -> bool {
    accounts.iter().any(|account| account.id == one.id)
}

struct Reading<'a> {
    record: &'a Record,
    event: &'a Event,
    seen: &'a Observation<'a>,
}

impl Reading<'_> {
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
        let still =
            self.seen.thread.is_some_and(|thread| thread.open && has(&thread.assignees, self.seen.bot));
        if assignee.id != self.seen.bot.id || !self.seen.rules.on_assign || !still {
            return vec![];
        }
        self.trigger(Trigger::Assigned, None)
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
            if gone && run.how == Trigger::Assigned {
                vec![self.stopped(StopReason::Unassigned)]
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
            if label == PAUSE_LABEL && run.pause.is_some() {
                return self.allowed(Right::STEER, "resume", None, |_| vec![self.resumed(None)]);
            }
            let lost = run.how == Trigger::Labelled && self.starts(label);
            if lost { vec![self.stopped(StopReason::Unlabelled)] } else { vec![] }
        })
    }

    fn closed(&self) -> Vec<Fact> {
        if self.seen.thread.is_some_and(|thread| thread.open) {
            return vec![];
        }
        self.with_run(|_| vec![self.stopped(StopReason::Closed)])
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
        match parse_command(&comment.body, &self.seen.bot.login) {
            Spoken::Command(command) => self.command(&command, comment.id),
            Spoken::Prose => self.prose(comment),
        }
    }

    fn prose(&self, comment: &Comment) -> Vec<Fact> {
        if self.record.has_taken(comment.id) {
            return vec![];
        }
        self.with_run(|run| {
            let (permission, used) = self.steers(run);
            vec![Fact::CommentArrived { by: self.event.actor.clone(), permission, comment: comment.id, used }]
        })
    }

    fn command(&self, command: &Command, comment: CommentId) -> Vec<Fact> {
        let verb = command.verb();
        self.allowed(Right::of(command), verb, Some(comment), |by| {
            let notice = |notice| vec![Fact::Noticed { by: by.clone(), notice, comment: Some(comment) }];
            match (command, self.record.live_run()) {
                (Command::Help, _) => notice(Notice::HelpAsked),
                (Command::Status, _) => notice(Notice::StatusAsked),
                (Command::Unknown { word }, _) => notice(Notice::UnknownVerb { word: word.clone() }),
                (Command::Plan, None) => self.mentioned(comment),
                (Command::Plan, Some(_)) => notice(Notice::AlreadyRunning),
                (_, None) => notice(Notice::NothingRunning { verb: verb.to_owned() }),
                (Command::Pause, Some(Run { pause: Some(_), .. })) => notice(Notice::AlreadyPaused),
                (Command::Pause, Some(_)) => vec![self.paused(Some(comment))],
                (Command::Resume, Some(Run { pause: None, .. })) => notice(Notice::NotPaused),
                (Command::Resume, Some(_)) => vec![self.resumed(Some(comment))],
                (Command::Cancel, Some(_)) => {
                    vec![Fact::Cancelled { by: by.clone(), comment: Some(comment) }]
                }
                (
                    Command::SkipQuestion { .. }
                    | Command::SkipStep { .. }
                    | Command::Choose { .. }
                    | Command::Approve { .. }
                    | Command::Reject { .. }
                    | Command::Replan { .. }
                    | Command::Retry
                    | Command::Budget { .. }
                    | Command::Resolve { .. },
                    Some(_),
                ) => notice(Notice::NotYet { command: command.clone() }),
            }
        })
    }

    fn mentioned(&self, comment: CommentId) -> Vec<Fact> {
        let open = self.seen.thread.is_some_and(|thread| thread.open);
        if self.seen.rules.on_mention && open {
            self.trigger(Trigger::Mentioned, Some(comment))
        } else {
            vec![]
        }
    }

    fn trigger(&self, how: Trigger, comment: Option<CommentId>) -> Vec<Fact> {
        if self.record.live_run().is_some() || self.is_late_copy() {
            return vec![];
        }
        let by = self.event.actor.clone();
        self.allowed(Right::PLAN, "plan", comment, |_| {
            let too_often = self.record.runs_since(self.seen.now.plus(-HOUR_MS)) >= RUNS_AN_HOUR;
            let obstacle = self.seen.rules.obstacle().or_else(|| too_often.then_some(Notice::TooManyRuns));
            if let Some(notice) = obstacle {
                return vec![Fact::Noticed { by: by.clone(), notice, comment }];
            }
            let permission = self.permission();
            let triggered =
                Fact::Triggered { by: by.clone(), permission, how, event_at: self.event.at, comment };
            if self.is_on_hold() { vec![triggered, self.paused(None)] } else { vec![triggered] }
        })
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
    fn allowed(
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

    fn with_run(&self, then: impl FnOnce(&Run) -> Vec<Fact>) -> Vec<Fact> {
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
    fn permission(&self) -> Permission {
        self.seen.permission.unwrap_or(Permission::None)
    }

    fn paused(&self, comment: Option<CommentId>) -> Fact {
        Fact::Paused { by: self.event.actor.clone(), comment }
    }

    fn resumed(&self, comment: Option<CommentId>) -> Fact {
        Fact::Resumed { by: self.event.actor.clone(), comment }
    }

    fn stopped(&self, why: StopReason) -> Fact {
        Fact::Stopped { by: self.event.actor.clone(), why }
    }
}
