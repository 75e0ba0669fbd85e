//! Purpose: how the thread is shown in a terminal: as text for a person, or one JSON object per line for a program.

use std::collections::BTreeSet;
use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::super::out::{complain, say};
use super::super::terminal::{self, BOLD, DIM, paint};
use super::asked;
use super::need::Need;
use crate::domain::ForgeKind;
use crate::engine::now;
use crate::plan::{DecisionPoint, Question};
use crate::planning::{Design, Escalation, Request, Round, Run, plan_tool};
use crate::render::{self, Voice};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Kind {
    Text,
    Json,
}

pub(in crate::cli) struct Face {
    kind: Kind,
    /// What was shown already.
    shown: BTreeSet<String>,
    line: Line,
}

/// The line on standard error that says what the run is at.
struct Line {
    fancy: bool,
    text: String,
    since: Instant,
    drawn: bool,
}

impl Face {
    pub(in crate::cli) fn new(kind: Kind) -> Self {
        let fancy = std::io::stderr().is_terminal();
        let line = Line { fancy, text: String::new(), since: Instant::now(), drawn: false };
        Self { kind, shown: BTreeSet::new(), line }
    }

    /// Something for programs; people are told otherwise.
    pub(in crate::cli) fn event(&self, event: &Value) {
        if self.kind == Kind::Json {
            say(&event.to_string());
        }
    }

    /// Something for people; programs are told otherwise.
    pub(in crate::cli) fn tell(&mut self, text: &str) {
        self.quiet();
        if self.kind == Kind::Text {
            say(text);
        }
    }

    fn tell_wrapped(&mut self, indent: &str, text: &str) {
        for line in text.lines().flat_map(terminal::wrap) {
            self.tell(&format!("{indent}{line}"));
        }
    }

    fn title(&mut self, text: &str) {
        self.tell(&format!("\n{}", paint(BOLD, text)));
    }

    /// Whether this is shown for the first time.
    fn first(&mut self, what: String) -> bool {
        self.shown.insert(what)
    }

    /// What the run is at: a line that changes, or one line for each change when nobody watches.
    pub(in crate::cli) fn doing(&mut self, what: &str) {
        let new = self.line.text != what;
        if new {
            self.line.text = what.to_owned();
            self.line.since = Instant::now();
        }
        match (self.kind, self.line.fancy) {
            (Kind::Json, _) if new => self.event(&json!({"event": "progress", "doing": what})),
            (Kind::Json, _) => {}
            (Kind::Text, true) => self.line.draw(),
            (Kind::Text, false) if new => complain(&format!("… {}", render::line(what, 200))),
            (Kind::Text, false) => {}
        }
    }

    /// Takes the line away.
    pub(in crate::cli) fn quiet(&mut self) {
        if std::mem::take(&mut self.line.drawn) {
            let mut err = std::io::stderr();
            let _ = write!(err, "\r\u{1b}[K").and_then(|()| err.flush());
        }
    }

    /// Shows what is asked for, once.
    pub(in crate::cli) fn show(&mut self, run: &Run, need: &Need<'_>, preview: Option<&str>) {
        match need {
            Need::Answer(round, question) => self.question(run, round, question),
            Need::Choice(design, decision) => self.decision(run, design, decision),
            Need::Review(design) => self.review(run, design),
            Need::Execute(request) => self.plan(run, request, preview),
            Need::Help(asked) => self.asked(asked),
            Need::Steer(steer) => {
                self.card(run);
                self.tell(&steer.what);
                self.event(&json!({"event": steer.name, "what": steer.what, "card": card(run)}));
            }
        }
    }

    fn question(&mut self, run: &Run, round: &Round, question: &Question) {
        if self.first(format!("round {}", round.number)) {
            self.event(&json!({
                "event": "questions", "round": round.number, "why": round.why, "questions": round.questions,
                "deadline": round.deadline.map(|at| at.to_string()),
            }));
            if !round.why.is_empty() {
                self.tell_wrapped("", &format!("\n{}", render_text(&round.why)));
            }
        }
        if !self.first(question.id.to_string()) {
            return;
        }
        let (open, all) = (run.talk.unanswered(round).len(), round.questions.len());
        let place = all - open + 1;
        self.title(&format!("Question {place} of {all}: {}", render_text(&question.question)));
        let kind = question.kind.as_str();
        let why = question.context.as_deref().filter(|text| !text.trim().is_empty());
        let why = why.map_or(kind.to_owned(), |why| format!("{kind} · {}", render_text(why)));
        self.tell_wrapped("  ", &paint(DIM, &why));
        for (option, number) in question.options.iter().zip(1..) {
            self.tell(&format!("  {number}  {}", render_text(option)));
        }
        if let Some(assumed) = &question.assumption {
            self.tell_wrapped("  ", &paint(DIM, &format!("without an answer: {}", render_text(assumed))));
        }
    }

    fn decision(&mut self, run: &Run, design: &Design, decision: &DecisionPoint) {
        let turn = run.talk.rejections.len();
        if self.first(format!("decisions {turn}")) {
            self.event(&json!({"event": "decisions", "decisions": design.decisions, "rejections": turn}));
        }
        if !self.first(format!("{}/{turn}", decision.id)) {
            return;
        }
        self.title(&format!("Decision {}: {}", decision.id, render_text(&decision.topic)));
        for (option, number) in decision.options.iter().zip(1..) {
            let star = if option.recommendation { " ⭐ recommended" } else { "" };
            self.tell(&format!("  {number}  {}{star}", paint(BOLD, &render_text(&option.name))));
            self.tell_wrapped("     ", &render_text(&option.description));
            for (mark, reasons) in [("+", &option.tradeoffs.pros), ("−", &option.tradeoffs.cons)] {
                for reason in reasons {
                    self.tell_wrapped("     ", &format!("{mark} {}", render_text(reason)));
                }
            }
        }
    }

    fn review(&mut self, run: &Run, design: &Design) {
        let rejections = run.talk.rejections.len();
        if !self.first(format!("review {rejections}")) {
            return;
        }
        let summary = design.summary.as_deref().unwrap_or_default();
        self.event(&json!({"event": "summary", "summary": summary, "rejections": rejections}));
        self.title("The design");
        self.tell_wrapped("  ", &terminal::markdown(summary));
        for decision in &design.decisions {
            let Some(choice) = design.choices.get(&decision.id) else { continue };
            let name = decision.option(&choice.option).map_or("", |option| option.name.as_str());
            let (topic, name) = (render_text(&decision.topic), render_text(name));
            self.tell_wrapped("  ", &format!("• {topic}: {name}"));
        }
    }

    fn asked(&mut self, asked: &Escalation) {
        if !self.first(format!("escalation {}", asked.number)) {
            return;
        }
        self.event(&json!({"event": "escalation", "escalation": asked::describe(asked, now())}));
        let about = asked.step.as_ref().map_or_else(|| "the whole plan".to_owned(), ToString::to_string);
        self.title(&format!("Question {} about {about}: {}", asked.number, render_text(&asked.issue)));
        for tried in &asked.tried {
            self.tell_wrapped("  ", &paint(DIM, &format!("tried: {}", render_text(tried))));
        }
        if let Some(suggestion) = &asked.suggestion {
            self.tell_wrapped("  ", &format!("suggested: {}", render_text(suggestion)));
        }
    }

    /// Says what is waited for, and how to go on.
    pub(in crate::cli) fn waits(&mut self, run: &Run, need: &Need<'_>, go_on: &str) {
        let open: Vec<String> = match need {
            Need::Answer(round, _) => {
                run.talk.unanswered(round).into_iter().map(|question| question.id.to_string()).collect()
            }
            Need::Choice(design, _) => design.open_decisions().into_iter().map(|d| d.id.clone()).collect(),
            Need::Help(asked) => vec![asked.number.to_string()],
            Need::Review(_) | Need::Execute(_) | Need::Steer(_) => vec![],
        };
        self.event(&json!({"event": "waiting", "for": need.name(), "open": open, "go_on": go_on}));
        let what = match need {
            Need::Answer(..) => format!("answers to {}", open.join(", ")),
            Need::Choice(..) => format!("a choice for {}", open.join(", ")),
            Need::Review(_) => "somebody to accept the design (`approve: true`) or not".to_owned(),
            Need::Execute(_) => "somebody to say whether it is carried out (`execute: true`)".to_owned(),
            Need::Help(asked) => format!("an answer to question {} by {}", asked.number, asked::whom(asked)),
            Need::Steer(steer) => format!("somebody to decide: {}", steer.what),
        };
        self.tell(&format!("\nThe run waits for {what}."));
        self.tell(&match need {
            Need::Help(_) => format!("Answer it with\n  {go_on}"),
            Need::Answer(..) | Need::Choice(..) | Need::Review(_) | Need::Execute(_) | Need::Steer(_) => {
                format!("Go on in a terminal with\n  {go_on}\nor add `--answers FILE`.")
            }
        });
    }

    /// The plan as it stands on the card, and to the letter what would be done.
    fn plan(&mut self, run: &Run, request: &Request, preview: Option<&str>) {
        if !self.first(format!("plan {}/{}", run.revisions.len(), request.number)) {
            return;
        }
        self.event(&json!({
            "event": "plan", "card": card(run), "preview": preview, "digest": request.digest,
            "plan": plan_tool::get_state(run),
        }));
        self.card(run);
        if let Some(preview) = preview {
            // How to approve by comment is for those who read it in a browser.
            let actions = preview.split("\n\n`/approve`").next().unwrap_or(preview);
            self.tell("");
            self.tell_wrapped("  ", &terminal::markdown(actions));
        }
    }

    pub(in crate::cli) fn card(&mut self, run: &Run) {
        if let Some(card) = card(run) {
            self.tell("");
            self.tell_wrapped("  ", &terminal::markdown(&card));
        }
    }

    /// A reply of the bot to what was said.
    pub(in crate::cli) fn reply(&mut self, text: &str) {
        self.event(&json!({"event": "reply", "text": text}));
        self.tell_wrapped("  ", &terminal::markdown(text));
    }
}

fn card(run: &Run) -> Option<String> {
    render::card(run, &Voice { forge: ForgeKind::Local, bot_login: "planwright".to_owned() })
}

/// A text of the model for a terminal, in one line.
fn render_text(text: &str) -> String {
    terminal::markdown(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Line {
    fn draw(&mut self) {
        const TURNS: [&str; 4] = ["·  ", "·· ", "···", "   "];
        let passed = self.since.elapsed();
        let turn = usize::try_from(passed.as_millis() / 400).unwrap_or_default() % TURNS.len();
        let seconds =
            if passed > Duration::from_secs(2) { format!(" {} s", passed.as_secs()) } else { String::new() };
        let text: String = terminal::markdown(&self.text).chars().take(90).collect();
        let text = text.replace('\n', " ");
        let mut err = std::io::stderr();
        let _ = write!(err, "\r\u{1b}[K{} {text}{seconds}", TURNS[turn]).and_then(|()| err.flush());
        self.drawn = true;
    }
}
