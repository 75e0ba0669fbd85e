//! Purpose: the conversation in the terminal: what the run needs is shown, and what somebody says to it goes onto the thread.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;

use super::face::Face;
use super::guest::Guest;
use super::need::{Need, need};
use super::prompt::{Heard, Prompt};
use super::seat::Seat;
use super::sheet::{Said, Sheet};
use super::{Way, words};
use crate::domain::{CommentId, Spoken, parse_command};
use crate::planning::{Record, Round, Run, RunId};
use crate::render;

pub(in crate::cli) struct Story<'a> {
    pub seat: &'a Seat,
    pub face: &'a mut Face,
    pub sheet: &'a mut Sheet,
    pub prompt: &'a mut Option<Prompt>,
    pub way: Way,
    pub config_option: &'a str,
    /// The run that this is about; none when none began.
    pub run: Option<RunId>,
    /// Replies of the bot that were shown.
    heard: BTreeSet<CommentId>,
    /// The requests that were approved here.
    approved: BTreeSet<String>,
}

/// What is said after five minutes without a word.
fn offer(round: &Round) -> String {
    let otherwise = match round.deadline.filter(|_| round.assumes) {
        Some(at) => format!("without a word it goes on at {at} with what it assumes"),
        None => "otherwise it waits for you".to_owned(),
    };
    format!("Still there? Write s to skip this question; {otherwise}.")
}

/// Why the conversation is over.
#[derive(Debug, PartialEq)]
pub(in crate::cli) enum Over {
    Ended,
    /// The run never began; the bot has said why.
    NotBegun,
    /// Somebody wants to go on another time.
    Later,
    /// There is nobody to say what is needed.
    Waiting,
}

/// What somebody does about a need.
enum Move {
    Say(String),
    /// What is asked for has changed.
    Again,
    Leave(Over),
}

impl<'a> Story<'a> {
    /// What the bot had written before is no news.
    pub(in crate::cli) fn new(
        seat: &'a Seat,
        guest: &'a mut Guest,
        way: Way,
        run: Option<RunId>,
        before: &[(CommentId, String)],
    ) -> Self {
        let heard = before.iter().map(|(id, _)| *id).collect();
        let Guest { face, sheet, prompt, config_option } = guest;
        Self { seat, face, sheet, prompt, way, config_option, run, heard, approved: BTreeSet::new() }
    }

    pub(in crate::cli) async fn tell(&mut self) -> anyhow::Result<Over> {
        loop {
            let record = self.seat.rest(self.face).await?;
            self.show_replies();
            let is_it = |run: &&Arc<Run>| Some(&run.id) == self.run.as_ref();
            let Some(run) = record.run.as_ref().filter(is_it) else { return Ok(Over::NotBegun) };
            let Some(need) = need(run) else { return Ok(Over::Ended) };
            self.face.show(run, &need, self.preview(&need).as_deref());
            match self.answer(&record, run, &need).await? {
                Move::Again => {}
                Move::Leave(over) => return Ok(over),
                Move::Say(words) => {
                    self.face.event(&json!({"event": "said", "for": need.name(), "words": words}));
                    self.seat.say(&words).await?;
                }
            }
        }
    }

    /// The preview as it stands on the thread: that is what an approval is about.
    fn preview(&self, need: &Need<'_>) -> Option<String> {
        let Need::Execute(request) = need else { return None };
        let comments = self.seat.bot_comments();
        let part =
            |id: &CommentId| comments.iter().find(|(known, _)| known == id).map(|(_, body)| body.as_str());
        let parts: Option<Vec<&str>> = request.comments.iter().map(part).collect();
        parts.filter(|parts| !parts.is_empty()).map(|parts| parts.join("\n\n"))
    }

    /// What the bot answers to words that it cannot take; the rest is shown as what it is.
    fn show_replies(&mut self) {
        for (id, body) in self.seat.bot_comments() {
            let is_reply = render::marker_of(&body).is_some_and(|marker| marker.contains("/reply/"));
            if self.heard.insert(id) && is_reply {
                self.face.reply(&body);
            }
        }
    }

    async fn answer(&mut self, record: &Record, run: &Run, need: &Need<'_>) -> anyhow::Result<Move> {
        if let Need::Execute(request) = need
            && self.approved.contains(&format!("{}/{}", run.revisions.len(), request.number))
        {
            self.face.tell("\nYour approval is noted; the settings want that of somebody else as well.");
            return Ok(Move::Leave(self.wait(run, need)));
        }
        let next = match self.sheet.says(need, run.talk.rejections.len())? {
            Said::Words(words) => {
                self.face.tell(&format!("> {words}"));
                Move::Say(words)
            }
            Said::NotNow => Move::Leave(Over::Later),
            Said::Nothing if self.prompt.is_some() => self.ask(record.seq, run, need).await,
            Said::Nothing => Move::Leave(self.wait(run, need)),
        };
        if let (Need::Execute(request), Move::Say(words)) = (need, &next)
            && words == "/approve"
        {
            self.approved.insert(format!("{}/{}", run.revisions.len(), request.number));
        }
        Ok(next)
    }

    /// Says what is waited for. A question of the crew is answered by a command of its own.
    fn wait(&mut self, run: &Run, need: &Need<'_>) -> Over {
        let go_on = match need {
            Need::Help(asked) => words::to_resolve(&run.id, asked.number, self.config_option),
            Need::Answer(..) | Need::Choice(..) | Need::Review(_) | Need::Execute(_) | Need::Steer(_) => {
                self.way.go_on(Some(&run.id), self.config_option)
            }
        };
        self.face.waits(run, need, &go_on);
        Over::Waiting
    }

    async fn ask(&mut self, seen: i64, run: &Run, need: &Need<'_>) -> Move {
        match need {
            Need::Answer(round, question) => {
                let hint = if question.options.is_empty() {
                    "your answer, or s to skip".to_owned()
                } else {
                    format!("1-{}, your own words, or s to skip", question.options.len())
                };
                self.hear(seen, &hint, Some(&offer(round)), |typed| words::answer(question, typed)).await
            }
            Need::Choice(_, decision) => {
                let recommended = decision.options.iter().position(|option| option.recommendation);
                let enter = recommended.map_or(String::new(), |place| format!(", Enter for {}", place + 1));
                let hint = format!("1-{}{enter}", decision.options.len());
                let chosen = |typed: &str| words::option(decision, typed).map(|option| option.id.clone());
                match self.hear(seen, &hint, None, chosen).await {
                    Move::Say(id) => match decision.option(&id) {
                        Some(option) => {
                            let choose = |why: &str| Ok(words::choose(decision, option, why));
                            self.hear(seen, "why (Enter: no reason)", None, choose).await
                        }
                        // A command of their own.
                        None => Move::Say(id),
                    },
                    other @ (Move::Again | Move::Leave(_)) => other,
                }
            }
            Need::Review(_) => self.ask_review(seen, run).await,
            Need::Execute(_) => self.ask_execute(seen).await,
            Need::Help(asked) => {
                self.hear(seen, "your answer", None, |typed| words::resolve(asked.number, typed)).await
            }
            Need::Steer(steer) => {
                for ((way, _), number) in steer.ways.iter().zip(1..) {
                    self.face.tell(&format!("  {number}  {way}"));
                }
                let ways = steer.ways.len();
                let way = |typed: &str| {
                    let number = words::clean(typed).parse::<usize>().ok();
                    let way = number.and_then(|number| steer.ways.get(number.checked_sub(1)?));
                    way.map(|(_, words)| words.clone()).ok_or(format!("Write a number from 1 to {ways}."))
                };
                self.hear(seen, &format!("1-{ways}, Ctrl-C to leave"), None, way).await
            }
        }
    }

    async fn ask_review(&mut self, seen: i64, run: &Run) -> Move {
        let last = run.talk.rejections.len() >= 2;
        let warning = if last { "; this is the third design, and a no cancels the run" } else { "" };
        let yes = |typed: &str| match words::yes(typed) {
            Some(true) => Ok("/approve".to_owned()),
            Some(false) => Ok(String::new()),
            None => Err("Write y to accept the design, or n.".to_owned()),
        };
        match self.hear(seen, &format!("accept this design? y/n{warning}"), None, yes).await {
            Move::Say(words) if words.is_empty() => {
                let why = |typed: &str| Ok(words::reject(typed));
                self.hear(seen, "what should be different?", None, why).await
            }
            other @ (Move::Say(_) | Move::Again | Move::Leave(_)) => other,
        }
    }

    async fn ask_execute(&mut self, seen: i64) -> Move {
        let yes = |typed: &str| match (words::yes(typed), words::clean(typed).as_str()) {
            (Some(true), _) => Ok("/approve".to_owned()),
            (Some(false), _) => Ok("later".to_owned()),
            (None, "r") => Ok(String::new()),
            (None, _) => Err("Write y to carry it out, n for not now, or r to turn it down.".to_owned()),
        };
        match self.hear(seen, "execute now? y/n, r to turn it down", None, yes).await {
            Move::Say(words) if words == "later" => Move::Leave(Over::Later),
            Move::Say(words) if words.is_empty() => {
                let why = |typed: &str| Ok(words::reject(typed));
                self.hear(seen, "what should be different?", None, why).await
            }
            other @ (Move::Say(_) | Move::Again | Move::Leave(_)) => other,
        }
    }

    /// Asks until the answer can be read. A command of the thread, such as `/cancel`, counts everywhere.
    async fn hear(
        &mut self,
        seen: i64,
        hint: &str,
        offer: Option<&str>,
        read: impl Fn(&str) -> Result<String, String>,
    ) -> Move {
        let Some(prompt) = self.prompt.as_mut() else { return Move::Leave(Over::Waiting) };
        let mut offer = offer;
        prompt.invite(hint);
        loop {
            match prompt.hear(self.seat.moved(seen)).await {
                Heard::Line(typed) => {
                    let bot = self.seat.local.bot().login.as_str();
                    if let Spoken::Command(_) = parse_command(&typed, bot) {
                        return Move::Say(words::clean(&typed));
                    }
                    match read(&typed) {
                        Ok(words) => return Move::Say(words),
                        Err(advice) => {
                            self.face.tell(&advice);
                            prompt.invite(hint);
                        }
                    }
                }
                Heard::Silence => {
                    if let Some(offer) = offer.take() {
                        self.face.tell(&format!("\n{offer}"));
                        prompt.invite(hint);
                    }
                }
                Heard::Moved => {
                    self.face.tell("\nThe run has moved on without waiting any longer.");
                    return Move::Again;
                }
                Heard::Gone => {
                    let go_on = self.way.go_on(self.run.as_ref(), self.config_option);
                    self.face.tell(&format!("\nLeft. Everything so far is kept; go on with\n  {go_on}"));
                    return Move::Leave(Over::Waiting);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Millis;
    use crate::planning::Purpose;

    #[test]
    fn after_five_minutes_a_skip_is_offered() {
        let round = |deadline: Option<i64>, assumes: bool| Round {
            number: 1,
            purpose: Purpose::Clarification,
            why: String::new(),
            questions: vec![],
            wait_ms: Some(60_000),
            assumes,
            comment: None,
            deadline: deadline.map(Millis),
            overdue: false,
            reminded: false,
            asked_back: false,
            closed: false,
            withdrawn: false,
            seen: vec![],
        };
        let waits = "Still there? Write s to skip this question; otherwise it waits for you.";
        assert_eq!(
            offer(&round(Some(1_732_788_000_000), true)),
            "Still there? Write s to skip this question; without a word it goes on at 2024-11-28T10:00:00.000Z with what \
             it assumes."
        );
        assert_eq!(offer(&round(Some(1_732_788_000_000), false)), waits);
        assert_eq!(offer(&round(None, true)), waits);
    }
}
