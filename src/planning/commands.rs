//! Purpose: what a command means for the thread as it stands: the facts that follow, or the words that it is answered
//! with. Whether its author may give it has been asked before.

use super::budget::Limits;
use super::crew::{CrewFact, Escalation};
use super::fact::Fact;
use super::interpret::Reading;
use super::notice::{Boxes, Notice, Trigger};
use super::plan_tool::{self, Approver, Refusal};
use super::replans::{ReplanFact, Settled};
use super::run::{Hold, Run};
use super::work::StepState;
use crate::actions::{Selection, What};
use crate::crew::Target;
use crate::domain::{Account, Command, CommentId, Right, Verdict};
use crate::plan::StepId;

impl Reading<'_> {
    pub(super) fn command(&self, command: &Command, comment: CommentId) -> Vec<Fact> {
        self.allowed(self.right_to(command), command.verb(), Some(comment), |by| {
            let word = Word { by, comment };
            match (command, self.record.live_run()) {
                (Command::Help, _) => word.notice(Notice::HelpAsked),
                (Command::Status, _) => word.notice(Notice::StatusAsked),
                (Command::Unknown { word: unknown }, _) => {
                    word.notice(Notice::UnknownVerb { word: unknown.clone() })
                }
                (Command::Plan, None) => self.mentioned(comment),
                (Command::Retry, None) => self.retry(&word),
                (Command::Replan { why }, None) => self.replan_anew(&word, why),
                (Command::Plan | Command::Retry, Some(_)) => word.notice(Notice::AlreadyRunning),
                (_, None) => word.notice(Notice::NothingRunning { verb: command.verb().to_owned() }),
                (command, Some(run)) => self.to_run(command, run, &word),
            }
        })
    }

    fn right_to(&self, command: &Command) -> Right {
        match (command, self.record.live_run()) {
            (Command::Resolve { number, .. }, Some(run)) if self.is_asked(question(run, *number)) => {
                Right::ASKED
            }
            (command, _) => Right::of(command),
        }
    }

    /// Whether a question names the actor, so that the answer is theirs to give. One about the whole plan has it made
    /// anew, which takes more than having been asked.
    pub(super) fn is_asked(&self, question: Option<&Escalation>) -> bool {
        let by = &self.event.actor;
        question.is_some_and(|question| {
            let named = question.asked.iter().any(|login| login.eq_ignore_ascii_case(&by.login));
            let right = match question.step {
                Some(_) => Right::ASKED,
                None => Right::of(&Command::Replan { why: String::new() }),
            };
            named && right.judge(by, self.permission(), false) == Verdict::Allowed
        })
    }

    fn to_run(&self, command: &Command, run: &Run, word: &Word<'_>) -> Vec<Fact> {
        match command {
            Command::Pause if run.pause.is_some() => word.notice(Notice::AlreadyPaused),
            Command::Pause => vec![self.paused(Some(word.comment))],
            Command::Resume => self.resume(run, word),
            Command::Cancel => plan_tool::clear_current(run, word.by, Some(word.comment)),
            Command::Approve { what } => {
                self.review(run, None, word.by, word.comment).unwrap_or_else(|| self.approve(run, word, what))
            }
            Command::Reject { why } => self
                .review(run, Some(why), word.by, word.comment)
                .unwrap_or_else(|| word.answered(plan_tool::reject(run, word.approver(), why), "reject")),
            Command::SkipStep { step } => word.skip(run, step),
            Command::Budget { by } => word.raise(run, by),
            Command::SkipQuestion { question } => self.skip_question(run, question, word.comment),
            Command::Choose { decision, option, because } => {
                self.choose(run, (decision, option, because), word.comment)
            }
            Command::Replan { why } => word.replan(run, why),
            Command::Resolve { number, text } => word.resolve(run, *number, text),
            Command::Help | Command::Status | Command::Plan | Command::Retry | Command::Unknown { .. } => {
                vec![]
            }
        }
    }

    /// Goes on: after a pause, with an action that nobody knows of, or with the plan as it is.
    fn resume(&self, run: &Run, word: &Word<'_>) -> Vec<Fact> {
        let (by, comment) = (word.by.clone(), Some(word.comment));
        match run.awaits_word() {
            Some(Hold::Paused(_) | Hold::Unclear(_)) => vec![self.resumed(comment)],
            Some(Hold::Confirm(replan)) => {
                let declined = ReplanFact::ReplanDeclined { replan_id: replan.id, by: Some(by), comment };
                vec![Fact::Replan(declined)]
            }
            Some(Hold::Limit(_)) => {
                let settled = ReplanFact::LimitSettled { how: Settled::GoOn, by: Some(by), comment };
                vec![Fact::Replan(settled)]
            }
            Some(
                Hold::Retry(_)
                | Hold::Answers(_)
                | Hold::Decisions(_)
                | Hold::Review(_)
                | Hold::Approval(_)
                | Hold::Escalation(_)
                | Hold::Budget(_),
            )
            | None => word.notice(Notice::NotPaused),
        }
    }

    /// What is approved is what people could read: a preview that somebody changed is put up anew, whoever told us of it
    /// or not. Boxes count as they stand now: what somebody took out again is out.
    fn approve(&self, run: &Run, word: &Word<'_>, words: &str) -> Vec<Fact> {
        let Some(seen) = &self.seen.preview else { return word.approve(run, words) };
        let (by, request) = (self.event.actor.clone(), seen.request);
        if !seen.intact {
            let tampered = Fact::PreviewTampered { by: None, request };
            return std::iter::once(tampered).chain(word.notice(Notice::PreviewAltered)).collect();
        }
        if !Selection::parse(words).is_ok_and(|selection| selection.what == What::Ticked) {
            return word.approve(run, words);
        }
        let (permission, boxes) = (self.permission(), seen.boxes.clone());
        let looked = Fact::BoxesTicked { by, permission, request, boxes, counted: false };
        let mut now = run.clone();
        super::apply::apply(&mut now, self.seen.now, &looked);
        std::iter::once(looked).chain(word.approve(&now, words)).collect()
    }

    fn retry(&self, word: &Word<'_>) -> Vec<Fact> {
        let unfinished = self.record.run.as_deref().is_some_and(Run::has_unfinished_steps);
        let open = self.seen.thread.is_some_and(|thread| thread.open);
        match (unfinished, open) {
            (true, true) => self.trigger(Trigger::Retried, Some(word.comment)),
            (true, false) => vec![],
            (false, _) => word.notice(Notice::NothingToRetry),
        }
    }

    /// After the end of a run another plan is another run, which is told why the first was not enough. On a change
    /// request of ours it goes on with that branch, as after a review.
    fn replan_anew(&self, word: &Word<'_>, why: &str) -> Vec<Fact> {
        if self.record.run.is_none() && !self.is_ours() {
            return word.notice(Notice::NothingRunning { verb: "replan".to_owned() });
        }
        match self.seen.thread.is_some_and(|thread| thread.open) {
            true => self.trigger_because(Trigger::Replanned, Some(word.comment), Some(why)),
            false => vec![],
        }
    }

    /// A request whose preview is gone cannot be answered by anybody who has not read it; it is put up anew.
    pub(super) fn preview_deleted(&self, comment: CommentId) -> Vec<Fact> {
        let request = self.record.preview_request(comment).filter(|request| !request.void);
        let by = Some(self.event.actor.clone());
        request.map(|request| Fact::PreviewTampered { by, request: request.number }).into_iter().collect()
    }

    /// Boxes ticked in a preview of ours. The editor's right counts, not the author's, which is the bot.
    pub(super) fn preview_edited(&self) -> Vec<Fact> {
        let (Some(seen), true) = (&self.seen.preview, self.record.live_run().is_some()) else {
            return vec![];
        };
        let by = self.event.actor.clone();
        if !seen.intact {
            return vec![Fact::PreviewTampered { by: Some(by), request: seen.request }];
        }
        let right = Right::of(&Command::Approve { what: String::new() });
        let counted = right.judge(&by, self.permission(), false) == Verdict::Allowed;
        let (permission, request) = (self.permission(), seen.request);
        let ticked = Fact::BoxesTicked { by, permission, request, boxes: seen.boxes.clone(), counted };
        std::iter::once(ticked).chain(self.unseen(Boxes::Preview)).collect()
    }
}

/// What people were asked under this number.
fn question(run: &Run, number: u64) -> Option<&Escalation> {
    let asked = run.crew.escalation(u32::try_from(number).ok()?);
    asked.filter(|asked| asked.target == Target::People)
}

/// A command by somebody who may give it.
struct Word<'a> {
    by: &'a Account,
    comment: CommentId,
}

impl Word<'_> {
    fn notice(&self, notice: Notice) -> Vec<Fact> {
        vec![Fact::Noticed { by: self.by.clone(), notice, comment: Some(self.comment) }]
    }

    fn approver(&self) -> Approver<'_> {
        Approver { by: self.by, comment: self.comment }
    }

    fn approve(&self, run: &Run, words: &str) -> Vec<Fact> {
        let mut facts = self.answered(plan_tool::approve(run, self.approver(), words), "approve");
        let left_out = facts.iter().find_map(|fact| {
            if let Fact::Approved { left_out, .. } = fact { Some(left_out.clone()) } else { None }
        });
        let left_out = left_out.filter(|left_out| !left_out.is_empty());
        facts.extend(
            left_out.into_iter().flat_map(|left_out| self.notice(Notice::LeftOutOfApproval { left_out })),
        );
        facts
    }

    fn answered(&self, result: Result<Fact, Refusal>, verb: &str) -> Vec<Fact> {
        match result {
            Ok(fact) => vec![fact],
            Err(Refusal::NoPlan | Refusal::NoAction | Refusal::NeverLookedAt | Refusal::NothingAsked) => {
                self.notice(Notice::NothingToAnswer { verb: verb.to_owned() })
            }
            Err(Refusal::Unreadable(actions)) => self.notice(Notice::UnreadableActions { actions }),
            Err(
                refusal @ (Refusal::TooOld
                | Refusal::OtherPlan(_)
                | Refusal::Selection(_)
                | Refusal::OwnRequest),
            ) => self.notice(Notice::BadApproval { why: refusal.to_string() }),
        }
    }

    /// The yes to a replan that the model was not sure of, or a wish of one's own.
    fn replan(&self, run: &Run, why: &str) -> Vec<Fact> {
        let (by, comment) = (self.by.clone(), Some(self.comment));
        vec![Fact::Replan(match run.awaits_word() {
            Some(Hold::Confirm(replan)) => {
                ReplanFact::ReplanConfirmed { replan_id: replan.id, by, comment, executed: true }
            }
            Some(_) | None => ReplanFact::ReplanAsked { by, why: why.to_owned(), comment },
        })]
    }

    /// The answer to a question that a worker's difficulty led to.
    fn resolve(&self, run: &Run, number: u64, text: &str) -> Vec<Fact> {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        match question(run, number.into()) {
            Some(asked) if asked.is_open() => {
                let (by, comment) = (Some(self.by.clone()), Some(self.comment));
                vec![Fact::Crew(CrewFact::EscalationResolved { number, by, text: text.to_owned(), comment })]
            }
            Some(_) => self.notice(Notice::QuestionSettled { number }),
            None => {
                let open = run.crew.open().filter(|open| open.target == Target::People);
                self.notice(Notice::NoSuchQuestion { number, open: open.map(|open| open.number).collect() })
            }
        }
    }

    fn skip(&self, run: &Run, name: &str) -> Vec<Fact> {
        let cannot =
            |why: &str| self.notice(Notice::CannotSkip { step: name.to_owned(), why: why.to_owned() });
        let Some(plan) = run.plan() else { return cannot("there is no plan yet") };
        let step = plan.steps.iter().find(|step| step.id.0.eq_ignore_ascii_case(name));
        let Some(step) = step else { return cannot("there is no such step") };
        match run.step_state(plan, &step.id) {
            StepState::Waiting | StepState::LeftOut => self.skipped(step.id.clone()),
            StepState::AtWork if run.unclear.iter().any(|a| run.step_of(a) == Some(&step.id)) => {
                self.skipped(step.id.clone())
            }
            StepState::AtWork => cannot("I am at work on it"),
            StepState::Done(_) => cannot("it is done"),
            StepState::Partly { .. } => cannot("what was approved of it is done"),
            // At a limit, leaving it out is a way to go on.
            StepState::Failed(_)
                if (run.crew.holds(&step.id) && !run.lanes.contains_key(&step.id))
                    || matches!(run.awaits_word(), Some(Hold::Limit(_) | Hold::Confirm(_))) =>
            {
                self.skipped(step.id.clone())
            }
            StepState::Failed(_) => cannot("it has failed"),
            StepState::SkippedBy(_) => cannot("it is skipped already"),
        }
    }

    fn skipped(&self, step: StepId) -> Vec<Fact> {
        vec![Fact::StepSkipped { by: self.by.clone(), step, comment: Some(self.comment) }]
    }

    fn raise(&self, run: &Run, words: &str) -> Vec<Fact> {
        let reached = run.budget.reached(&run.spent).map(|reached| reached.resource);
        let resource = reached.unwrap_or_else(|| run.budget.main_resource());
        match Limits::amount(resource, words) {
            Some(amount) => {
                let (by, comment) = (self.by.clone(), Some(self.comment));
                vec![Fact::BudgetRaised { by, resource, amount, comment }]
            }
            None => self.notice(Notice::BadBudget { words: words.to_owned() }),
        }
    }
}
