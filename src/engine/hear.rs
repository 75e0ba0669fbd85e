//! Purpose: take the deliveries that wait for a thread: in which order, what may overtake, and what has to wait.

use super::deliver::Closed;
use super::drive::Drive;
use super::route;
use crate::domain::{Command, Event, EventKind, Spoken, parse_command};
use crate::intake::translate::{Confidential, Translated, translate};
use crate::planning::{Fact, Run, TalkFact};
use crate::store::{Delivery, Held};

impl Drive<'_> {
    /// In the order of their arrival: a resume must not overtake the pause before it. Only stops may. While a preview is
    /// on its way, answers to it wait too: people can read it before it is known which comment it is.
    pub(super) async fn take_deliveries(&mut self) -> anyhow::Result<()> {
        self.unheard = false;
        let mut start_waits = false;
        for delivery in self.ctx.store.pending(&self.desk.lease).await? {
            let taken = if self.has_to_wait(&delivery, start_waits) {
                Taken::Later
            } else {
                self.ctx.sightings.forget(self.desk.thread());
                self.take(&delivery).await?
            };
            match taken {
                Taken::Yes => {}
                Taken::Later => start_waits |= may_start(&delivery, &self.desk.voice.bot_login),
                Taken::NotYet => break,
            }
        }
        Ok(())
    }

    /// `start_waits`: something before it has to wait that may begin a run.
    fn has_to_wait(&mut self, delivery: &Delivery, start_waits: bool) -> bool {
        let waits = self.put_off.get(&delivery.key).is_some_and(|at| *at > self.ctx.now());
        let behind = !self.put_off.is_empty() && !self.put_off.contains_key(&delivery.key);
        let awaits = |run: &Run| run.awaits_preview() || run.awaits_post();
        let bot_login = &self.desk.voice.bot_login;
        let early = self.desk.record.live_run().is_some_and(awaits) && is_answer(delivery, bot_login);
        let overtakes = is_stop(delivery) || (!start_waits && is_cancel(delivery, bot_login));
        let has_to_wait = waits || ((behind || early) && !overtakes);
        self.unheard |= has_to_wait && early;
        has_to_wait
    }

    async fn take(&mut self, delivery: &Delivery) -> anyhow::Result<Taken> {
        let facts = match route::read(self.ctx, &self.desk, delivery).await {
            route::Read::Facts(facts) => facts,
            route::Read::Altered(facts) => {
                self.altered = true;
                facts
            }
            route::Read::Later(at) => {
                self.put_off.insert(delivery.key.clone(), at);
                return Ok(Taken::Later);
            }
            route::Read::SetAside(why) => {
                self.put_off.remove(&delivery.key);
                let held = self.ctx.store.set_aside(&self.desk.lease, &delivery.key, &why).await?;
                anyhow::ensure!(held == Held::Yes, "the lease on {} was lost", self.desk.thread());
                return Ok(Taken::Yes);
            }
        };
        let begins = facts.iter().any(|fact| matches!(fact, Fact::Triggered { .. }));
        if begins && self.close_last().await == Closed::NotYet {
            return Ok(Taken::NotYet);
        }
        self.put_off.remove(&delivery.key);
        self.altered |= facts.iter().any(is_altered);
        self.desk.append(self.ctx, facts, vec![delivery.key.clone()]).await?;
        Ok(Taken::Yes)
    }
}

/// What became of a delivery.
enum Taken {
    Yes,
    /// It has to wait; the next one may be looked at.
    Later,
    /// The run before has to come to its end first.
    NotYet,
}

/// The record is the same, but the thread no longer shows it.
fn is_altered(fact: &Fact) -> bool {
    matches!(fact, Fact::Talk(TalkFact::AskedAltered { .. }))
}

/// Whether a delivery is a stop: it may overtake what has to wait. It counts only while it is still true.
fn is_stop(delivery: &Delivery) -> bool {
    tells(delivery, route::stops)
}

/// A word that ends the run may overtake as well, but not what would begin another one after it.
fn is_cancel(delivery: &Delivery, bot_login: &str) -> bool {
    tells(delivery, |event| matches!(command_in(event, bot_login), Some(Command::Cancel)))
}

fn may_start(delivery: &Delivery, bot_login: &str) -> bool {
    let asks = |event: &Event| {
        matches!(command_in(event, bot_login), Some(Command::Plan | Command::Retry | Command::Replan { .. }))
    };
    let stands = |event: &Event| {
        matches!(
            event.kind,
            EventKind::Opened { .. }
                | EventKind::Assigned { .. }
                | EventKind::Labelled { .. }
                | EventKind::Reviewed { .. }
        )
    };
    tells(delivery, |event| asks(event) || stands(event))
}

fn command_in(event: &Event, bot_login: &str) -> Option<Command> {
    let EventKind::CommentCreated { comment } = &event.kind else { return None };
    match parse_command(&comment.body, bot_login) {
        Spoken::Command(command) => Some(command),
        Spoken::Prose => None,
    }
}

fn tells(delivery: &Delivery, what: impl Fn(&Event) -> bool) -> bool {
    match translate(delivery.forge, &delivery.event, &delivery.body, Confidential::Accepted) {
        Translated::Events(events) => events.iter().any(what),
        Translated::NotForUs(_) | Translated::Unreadable { .. } => false,
    }
}

/// Whether a delivery may answer what is put up: then it waits until that is known to stand.
fn is_answer(delivery: &Delivery, bot_login: &str) -> bool {
    let answers = |event: &Event| match &event.kind {
        EventKind::CommentEdited { .. } => true,
        EventKind::CommentCreated { comment } => {
            let spoken = parse_command(&comment.body, bot_login);
            match spoken {
                Spoken::Command(command) => matches!(
                    command,
                    Command::Approve { .. }
                        | Command::Reject { .. }
                        | Command::SkipQuestion { .. }
                        | Command::Choose { .. }
                ),
                Spoken::Prose => true,
            }
        }
        EventKind::Opened { .. }
        | EventKind::DescriptionEdited
        | EventKind::Closed
        | EventKind::Reopened
        | EventKind::Assigned { .. }
        | EventKind::Unassigned { .. }
        | EventKind::Labelled { .. }
        | EventKind::Unlabelled { .. }
        | EventKind::ReviewRequested { .. }
        | EventKind::CommentDeleted { .. }
        | EventKind::Reviewed { .. }
        | EventKind::ReviewCommented { .. } => false,
    };
    tells(delivery, answers)
}
