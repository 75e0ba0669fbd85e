//! Purpose: a plan that somebody wrote: the description of a thread is read into steps instead of being thought through.

use super::effect::Key;
use super::fact::Fact;
use super::notice::Trigger;
use super::run::Run;
use crate::domain::Thread;
use crate::plan::{Decided, Goal, Step};
use crate::prompts::Usage;

/// The label that says so. It is on the thread before the bot is assigned, so that a sweep finds it as well.
pub const DOCUMENT_LABEL: &str = "planwright:document";

pub(super) fn by_assignment(thread: &Thread) -> Trigger {
    let labelled = thread.labels.iter().any(|label| label == DOCUMENT_LABEL);
    if labelled { Trigger::Document } else { Trigger::Assigned }
}

impl Run {
    /// Once the goal is to be found anew, the document is a description like any other.
    pub(super) fn reads_document(&self) -> bool {
        self.how == Trigger::Document && self.goal.is_none() && self.revisions.is_empty()
    }
}

/// What is known once the document is read: what it is for, and its steps. Both belong in one append.
#[must_use]
pub fn document_read(run: &Run, objective: String, steps: Vec<Step>, usage: Usage, hidden: u64) -> Vec<Fact> {
    let goal = Goal {
        main_objective: objective,
        success_criteria: vec![],
        constraints: vec![],
        context: String::new(),
        design_choices_open: false,
    };
    let replan = Decided::Nothing;
    let understood =
        Fact::GoalUnderstood { key: run.key(), goal, usage, hidden, before: None, replan: replan.clone() };
    let (reasoning, usage) = ("These are the steps of the document.".to_owned(), Usage::default());
    let key: Key = run.next_key();
    vec![understood, Fact::Decomposed { key, reasoning, steps, usage, replan }]
}

#[cfg(test)]
mod tests {
    use super::super::apply::apply;
    use super::super::converse::Interactive;
    use super::super::effect::{Effect, InFlight, Policy, Question, next_effects};
    use super::super::run::RunId;
    use super::*;
    use crate::domain::{Account, Millis};
    use crate::plan::{Complexity, StepId};

    fn asked(run: &Run) -> Option<Question> {
        let policy = Policy { interactive: Interactive::Always, ..Policy::default() };
        next_effects(run, &InFlight::new(), &policy)
            .into_iter()
            .find_map(|effect| if let Effect::Ask { question, .. } = effect { Some(question) } else { None })
    }

    fn steps() -> Vec<Step> {
        let step = |id: &str| Step {
            id: StepId(id.to_owned()),
            description: id.to_owned(),
            dependencies: vec![],
            estimated_complexity: Complexity::Low,
            required_tools: vec![],
            rests_on: vec![],
        };
        vec![step("one"), step("two")]
    }

    #[test]
    fn a_document_gives_goal_and_steps_at_once_and_nothing_is_asked_about_them() {
        let requester = Account::person(1, "ada");
        let mut run = Run::new(RunId("r".to_owned()), requester, Trigger::Document, Millis(0));
        assert_eq!(asked(&run), Some(Question::ReadDocument));
        for fact in document_read(&run, "Ship".to_owned(), steps(), Usage::default(), 0) {
            apply(&mut run, Millis(1), &fact);
        }
        assert_eq!(run.goal.as_ref().map(|goal| goal.main_objective.as_str()), Some("Ship"));
        assert_eq!(run.plan().map(|plan| plan.steps.clone()), Some(steps()));
        assert_eq!(
            asked(&run),
            Some(Question::Sequence),
            "the design is settled, however much people like to talk"
        );
        run.goal = None;
        assert_eq!(asked(&run), Some(Question::Understand), "a new goal is not read off the old plan");
    }
}
