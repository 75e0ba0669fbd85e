//! Purpose: what each fact of the conversation does to the run.

use super::apply::{spend, takes};
use super::crew::Escalation;
use super::run::Run;
use super::talk::{
    Changed, Choice, Design, Difference, Given, How, Purpose, Reply, Round, Talk, TalkFact, TurnedDown,
    Words, plain,
};
use crate::crew::Target;
use crate::domain::{CommentId, Millis, Right, Verdict};
use crate::plan::QuestionId;

/// How often the design is begun anew because it came without a summary.
const LOST_SUMMARIES: u32 = 3;

impl Run {
    /// Whether something is asked of which nobody knows yet that it is on the thread.
    #[must_use]
    pub fn awaits_post(&self) -> bool {
        let round = self.talk.open_round().is_some_and(|round| round.comment.is_none());
        let design = self.talk.design.as_ref().filter(|design| design.approved.is_none());
        let decisions = design.is_some_and(|d| !d.decisions.is_empty() && d.comment.is_none());
        let review = design.is_some_and(|d| d.summary.is_some() && d.review.is_none());
        // What the forge does not take is not waited for.
        let unknown = |open: &Escalation| open.comment.is_none() && open.unposted.is_none();
        let asks = |open: &Escalation| open.target == Target::People && unknown(open);
        let help = self.crew.open().any(asks);
        round || decisions || review || help
    }

    pub(super) fn talks(&mut self, at: Millis, fact: &TalkFact) {
        match fact {
            TalkFact::QuestionsAsked { .. } => self.asked(fact),
            TalkFact::QuestionsPosted { round, comment } => {
                self.talk.with_round(*round, |round| round.stands(*comment, at));
            }
            TalkFact::WordsHeard { by, permission, comment } => {
                // Once nothing is asked any more, it has to be read first what they are.
                self.sources.extend(self.talk.open_round().map(|_| *comment));
                self.talk.unread.push(Words { by: by.clone(), permission: *permission, comment: *comment });
            }
            TalkFact::TicksSeen { questions, decisions } => self.ticks_seen(questions, decisions),
            TalkFact::AskedBack { round } => {
                self.talk.unclear = None;
                self.talk.with_round(*round, |round| round.asked_back = true);
            }
            TalkFact::Answered { by, permission, how, answers, withdrawn, comment } => {
                self.sources.extend(*comment);
                let by = Words { by: by.clone(), permission: *permission, comment: CommentId(0) };
                self.talk.take_back(withdrawn);
                self.talk.take(&by, *how, answers);
                self.mind_changes();
            }
            TalkFact::DifferenceSaid { question } => {
                self.talk.differences.retain(|known| known.question != *question);
            }
            TalkFact::AskedAltered { comment, .. } => self.talk.forget_boxes(*comment),
            TalkFact::Assumed { round, assumptions } => {
                self.talk.assumptions.extend(assumptions.iter().cloned());
                self.talk.close(*round);
            }
            TalkFact::Reminded { round } => self.talk.with_round(*round, |round| round.reminded = true),
            TalkFact::DecisionsPosted { comment } => self.design(|design| {
                design.comment = Some(*comment);
                design.seen.clear();
            }),
            TalkFact::ReviewPosted { comment } => self.design(|design| design.review = Some(*comment)),
            TalkFact::Chosen { .. } | TalkFact::ChoiceWithdrawn { .. } => self.chosen(fact),
            TalkFact::DesignApproved { by, .. } => self.design(|design| design.approved = Some(by.clone())),
            TalkFact::DesignRejected { by, why, .. } => {
                self.talk.rejections.push(format!("@{}: {why}", by.login));
                let (number, by, why) = (self.talk.summaries, by.clone(), why.clone());
                let design = self.talk.design.take();
                self.talk.turned_down.extend(design.map(|design| TurnedDown { number, design, by, why }));
            }
            TalkFact::ConversationSummed { summary, until, usage } => {
                spend(self, usage);
                // It was no question of the run's own, so that no beginning of it was counted.
                self.spent.model_calls += usage.calls.min(1);
                (self.talk.before, self.talk.before_until) = (Some(summary.clone()), Some(*until));
            }
            TalkFact::QuestionsFound { .. }
            | TalkFact::AnswersMapped { .. }
            | TalkFact::DecisionsFound { .. }
            | TalkFact::DesignSummarised { .. } => self.heard_from_model(at, fact),
        }
        if !self.talk.is_consistent() {
            self.talk.back_to_discovery();
        }
    }

    /// A summary that is being written while a choice changes would be that of another design.
    fn chosen(&mut self, fact: &TalkFact) {
        let open = self.talk.design.as_mut();
        let changed = if let TalkFact::Chosen { by, permission, decision, option, rationale, comment } = fact
        {
            self.sources.extend(*comment);
            let choice = Choice {
                option: option.clone(),
                rationale: rationale.clone(),
                by: by.clone(),
                permission: *permission,
            };
            open.is_some_and(|design| design.choose(decision, choice, comment.is_none()))
        } else if let TalkFact::ChoiceWithdrawn { permission, decision, .. } = fact {
            let open = open.filter(|design| design.approved.is_none());
            open.is_some_and(|design| design.take_back(decision, *permission))
        } else {
            false
        };
        self.progress += u32::from(changed && self.busy_since.is_some());
    }

    fn ticks_seen(&mut self, questions: &[Vec<usize>], decisions: &[(String, Vec<String>)]) {
        if let Some(round) = self.talk.rounds.last_mut().filter(|_| !questions.is_empty()) {
            round.seen = questions.to_vec();
        }
        if !decisions.is_empty() {
            self.design(|design| design.seen = decisions.to_vec());
        }
    }

    fn asked(&mut self, fact: &TalkFact) {
        let TalkFact::QuestionsAsked { round, purpose, why, questions, wait_ms, assumes } = fact else {
            return;
        };
        self.talk.wanted = None;
        self.talk.discovered |= *purpose == Purpose::Discovery;
        self.talk.rounds.push(Round {
            number: *round,
            purpose: *purpose,
            why: why.clone(),
            questions: questions.clone(),
            wait_ms: *wait_ms,
            assumes: *assumes,
            comment: None,
            deadline: None,
            overdue: false,
            reminded: false,
            asked_back: false,
            closed: questions.is_empty(),
            withdrawn: false,
            seen: vec![],
        });
    }

    fn heard_from_model(&mut self, at: Millis, fact: &TalkFact) {
        let (key, usage) = match fact {
            TalkFact::QuestionsFound { key, usage, .. }
            | TalkFact::AnswersMapped { key, usage, .. }
            | TalkFact::DecisionsFound { key, usage, .. }
            | TalkFact::DesignSummarised { key, usage, .. } => (key, usage),
            TalkFact::QuestionsAsked { .. }
            | TalkFact::QuestionsPosted { .. }
            | TalkFact::WordsHeard { .. }
            | TalkFact::TicksSeen { .. }
            | TalkFact::AskedBack { .. }
            | TalkFact::DifferenceSaid { .. }
            | TalkFact::AskedAltered { .. }
            | TalkFact::ChoiceWithdrawn { .. }
            | TalkFact::Answered { .. }
            | TalkFact::Assumed { .. }
            | TalkFact::Reminded { .. }
            | TalkFact::DecisionsPosted { .. }
            | TalkFact::Chosen { .. }
            | TalkFact::ReviewPosted { .. }
            | TalkFact::ConversationSummed { .. }
            | TalkFact::DesignApproved { .. }
            | TalkFact::DesignRejected { .. } => return,
        };
        spend(self, usage);
        if !takes(self, at, key) {
            return;
        }
        if let TalkFact::QuestionsFound { questions, .. } = fact {
            self.talk.discovery = Some(questions.clone());
        } else if let TalkFact::DecisionsFound { decisions, .. } = fact {
            self.talk.designs += 1;
            self.talk.design = Some(Design { decisions: decisions.clone(), ..Design::default() });
        } else if let TalkFact::DesignSummarised { summary, .. } = fact {
            // Without a summary there is nothing to review: back to the design.
            if summary.trim().is_empty() {
                self.talk.design = None;
                self.talk.lost_summaries += 1;
                if self.talk.lost_summaries >= LOST_SUMMARIES {
                    self.broken = Some("The design could not be summed up for review.".to_owned());
                }
            } else {
                self.talk.summaries += 1;
                self.design(|design| design.summary = Some(summary.clone()));
            }
        } else if let TalkFact::AnswersMapped { comment, answers, .. } = fact {
            let asked = self.talk.open_round().is_some();
            let words = self.talk.read(*comment, answers);
            self.mind_changes();
            if !asked {
                self.read_late(words.as_ref(), !answers.is_empty());
            }
        }
    }

    /// What answers nothing any more is a remark on the work, if its author may steer that.
    fn read_late(&mut self, words: Option<&Words>, answers: bool) {
        let Some(words) = words else { return };
        let requester = words.by.id == self.requester.id;
        let steers = Right::STEER.judge(&words.by, words.permission, requester) == Verdict::Allowed;
        self.rights.insert(words.by.id, words.permission);
        if answers || steers {
            self.sources.push(words.comment);
        } else {
            self.unused_comments += 1;
        }
        self.reflections.feedback |= steers && !answers && !self.work.is_empty();
    }

    /// Before there is a plan, an answer that was changed is thought about at once; what is being thought about with the
    /// old one is dropped. A plan that rests on it is a matter of replanning.
    fn mind_changes(&mut self) {
        if self.plan().is_some_and(|plan| !plan.steps.is_empty()) || self.talk.changed.is_empty() {
            return;
        }
        let changed = std::mem::take(&mut self.talk.changed);
        let about_goal = |round: &Round| {
            let asks = |known: &Changed| round.questions.iter().any(|asked| asked.id == known.question);
            round.purpose == Purpose::Clarification && changed.iter().any(asks)
        };
        self.talk.rethink |= self.goal.is_some() && self.talk.rounds.iter().any(about_goal);
        if let Some(design) = self.talk.design.as_mut().filter(|design| design.approved.is_none()) {
            (design.summary, design.review) = (None, None);
        }
        self.progress += u32::from(self.busy_since.is_some());
    }

    fn design(&mut self, change: impl FnOnce(&mut Design)) {
        if let Some(design) = &mut self.talk.design {
            change(design);
        }
    }
}

impl Design {
    /// The higher permission counts, then the later word. Returns whether it is another choice than before.
    fn choose(&mut self, decision: &str, choice: Choice, ticked: bool) -> bool {
        let known = self.choices.get(decision);
        if known.is_some_and(|known| choice.permission < known.permission) {
            return false;
        }
        let changed = known.is_some_and(|known| known.option != choice.option);
        // What was summed up was another design: it is summed up and reviewed anew.
        if changed {
            (self.summary, self.review) = (None, None);
        }
        self.choices.insert(decision.to_owned(), choice);
        if ticked {
            self.ticked.insert(decision.to_owned());
        } else {
            self.ticked.remove(decision);
        }
        changed
    }

    fn take_back(&mut self, decision: &str, permission: crate::domain::Permission) -> bool {
        let may = self.choices.get(decision).is_some_and(|known| permission >= known.permission);
        if may && self.ticked.remove(decision) {
            self.choices.remove(decision);
            (self.summary, self.review) = (None, None);
            return true;
        }
        false
    }
}

impl Talk {
    /// Whether choices and decisions belong together. They always do, unless a journal was written by another version or
    /// has lost a part; then nobody can know any more what was decided.
    fn is_consistent(&self) -> bool {
        let Some(design) = &self.design else { return true };
        let known = |(id, choice): (&String, &Choice)| {
            let decision = design.decisions.iter().find(|decision| decision.id == *id);
            decision.is_some_and(|decision| decision.option(&choice.option).is_some())
        };
        let settled = design.summary.is_none() || design.open_decisions().is_empty();
        let reviewed = design.approved.is_none() || design.summary.is_some();
        design.choices.iter().all(known) && settled && reviewed
    }

    /// What people answered stays answered, and nothing is asked twice.
    fn back_to_discovery(&mut self) {
        self.discovery = None;
        self.discovered = false;
        self.design = None;
    }

    fn with_round(&mut self, number: u32, change: impl FnOnce(&mut Round)) {
        if let Some(round) = self.rounds.iter_mut().find(|round| round.number == number) {
            change(round);
        }
    }

    fn take(&mut self, from: &Words, how: How, answers: &[Reply]) {
        for reply in answers {
            if self.question(&reply.question).is_none() {
                continue;
            }
            let given =
                Given { answer: reply.answer.clone(), by: from.by.clone(), permission: from.permission, how };
            let counts = self
                .answers
                .get(&reply.question)
                .is_none_or(|known| known.answer.is_none() || given.permission >= known.permission);
            if counts {
                self.contradict(reply);
                self.change(reply);
                self.answers.insert(reply.question.clone(), given);
            }
        }
        self.close_if_answered();
    }

    /// An answer to what was assumed: whatever rests on it has to be planned anew, unless they say the same.
    fn contradict(&mut self, reply: &Reply) {
        let Some(answer) = &reply.answer else { return };
        let in_force = self.answers.get(&reply.question).and_then(|given| given.answer.as_ref());
        if in_force.is_some_and(|known| plain(known) == plain(answer)) {
            return;
        }
        let Some(assumed) = self.assumptions.iter().find(|known| known.question == reply.question) else {
            return;
        };
        if plain(&assumed.text) != plain(answer) && !self.contradicted.contains(&assumed.id) {
            self.contradicted.push(assumed.id.clone());
        }
    }

    /// Another answer than the one that the run has gone on with since.
    fn change(&mut self, reply: &Reply) {
        let in_force = self.answers.get(&reply.question).and_then(|given| given.answer.as_ref());
        let (Some(known), Some(answer)) = (in_force, &reply.answer) else { return };
        let asks = |round: &&Round| round.questions.iter().any(|asked| asked.id == reply.question);
        let over = self.rounds.iter().find(asks).is_some_and(|round| round.closed);
        if !over || plain(known) == plain(answer) {
            return;
        }
        // It is minded as this change, and not as that of what was assumed before.
        let assumed = self.assumptions.iter().filter(|known| known.question == reply.question);
        let assumed: Vec<String> = assumed.map(|known| known.id.clone()).collect();
        self.contradicted.retain(|id| !assumed.contains(id));
        if !self.changed.iter().any(|known| known.question == reply.question) {
            self.changed.push(Changed { question: reply.question.clone(), before: known.clone() });
        }
    }

    fn forget_boxes(&mut self, comment: CommentId) {
        for round in self.rounds.iter_mut().filter(|round| round.comment == Some(comment)) {
            round.seen.clear();
        }
        if let Some(design) = self.design.as_mut().filter(|design| design.comment == Some(comment)) {
            design.seen.clear();
        }
    }

    fn take_back(&mut self, withdrawn: &[QuestionId]) {
        let open: Vec<QuestionId> = self
            .open_round()
            .map(|round| round.questions.iter().map(|question| question.id.clone()).collect())
            .unwrap_or_default();
        self.answers.retain(|id, _| !withdrawn.contains(id) || !open.contains(id));
    }

    /// Returns the words that were read.
    fn read(&mut self, comment: CommentId, answers: &[Reply]) -> Option<Words> {
        let at = self.unread.iter().position(|words| words.comment == comment)?;
        let words = self.unread.remove(at);
        if answers.is_empty() {
            self.unclear = self.open_round().filter(|round| !round.asked_back).map(|_| words.clone());
        } else {
            let differences: Vec<Difference> =
                answers.iter().filter_map(|reply| self.differs(&words, reply)).collect();
            self.differences.extend(differences);
            self.take(&words, How::Words, answers);
        }
        Some(words)
    }

    /// Whether somebody else said otherwise, and what counts then.
    pub(super) fn differs(&self, from: &Words, reply: &Reply) -> Option<Difference> {
        let known = self.answers.get(&reply.question)?;
        let (said, answer) = (known.answer.as_ref()?, reply.answer.as_ref()?);
        if plain(said) == plain(answer) || known.by.id == from.by.id {
            return None;
        }
        let counts = if from.permission >= known.permission { answer } else { said }.clone();
        Some(Difference { question: reply.question.clone(), by: from.by.clone(), counts })
    }

    fn close_if_answered(&mut self) {
        let Some(round) = self.open_round() else { return };
        if self.unanswered(round).is_empty() {
            let number = round.number;
            self.close(number);
        }
    }

    /// Nobody has to answer any more what was asked for the plan before.
    pub(super) fn withdraw(&mut self) {
        for round in self.rounds.iter_mut().filter(|round| !round.closed) {
            (round.closed, round.withdrawn) = (true, true);
        }
        if self.answerable().is_empty() {
            self.unread.clear();
        }
        self.unclear = None;
    }

    /// Answers about the goal are a reason to think about it again.
    fn close(&mut self, number: u32) {
        let Some(round) = self.rounds.iter_mut().find(|round| round.number == number && !round.closed) else {
            return;
        };
        round.closed = true;
        self.unclear = None;
        let answered = round
            .questions
            .iter()
            .any(|question| self.answers.get(&question.id).is_some_and(|given| given.answer.is_some()));
        self.rethink |= answered && round.purpose == Purpose::Clarification;
        self.unread.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Account, Permission};
    use crate::plan::{DecisionPoint, DesignOption, Tradeoffs};
    use crate::planning::converse::Interactive;
    use crate::planning::{Effect, InFlight, Policy, Question, RunId, Trigger, next_effects};

    fn at_design() -> Run {
        let ada = Account::person(2, "ada");
        let mut run = Run::new(RunId("planning-1".to_owned()), ada, Trigger::Assigned, Millis(0));
        run.goal = Some(crate::plan::Goal {
            main_objective: "Greet".to_owned(),
            success_criteria: vec![],
            constraints: vec![],
            context: String::new(),
            design_choices_open: true,
        });
        run.talk.discovery = Some(vec![]);
        run.talk.discovered = true;
        let option = DesignOption {
            id: "opt-a".to_owned(),
            name: "Memory".to_owned(),
            description: String::new(),
            tradeoffs: Tradeoffs::default(),
            recommendation: false,
        };
        let decision =
            DecisionPoint { id: "d-1".to_owned(), topic: "Where".to_owned(), options: vec![option] };
        run.talk.design = Some(Design { decisions: vec![decision], ..Design::default() });
        run
    }

    fn chosen(decision: &str, option: &str) -> TalkFact {
        TalkFact::Chosen {
            by: Account::person(2, "ada"),
            permission: Permission::Admin,
            decision: decision.to_owned(),
            option: option.to_owned(),
            rationale: String::new(),
            comment: None,
        }
    }

    #[test]
    fn a_conversation_that_contradicts_itself_goes_back_to_discovery() {
        let by = Account::person(2, "ada");
        let approved = TalkFact::DesignApproved { by, comment: None };
        for (fact, back) in [
            (chosen("d-1", "opt-a"), false),
            (chosen("d-1", "opt-z"), true),
            (chosen("d-9", "opt-a"), true),
            (approved, true),
        ] {
            let mut run = at_design();
            run.talks(Millis(1), &fact);
            assert_eq!(run.talk.design.is_none(), back, "{fact:?}");
            let policy = Policy { interactive: Interactive::Always, ..Policy::default() };
            let next = next_effects(&run, &InFlight::new(), &policy);
            let discovers = matches!(&next[..], [Effect::Ask { question: Question::Discover, .. }]);
            assert_eq!(discovers, back, "{fact:?}: {next:?}");
        }
    }
}
