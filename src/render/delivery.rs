//! Purpose: the text of the change request that a run hands over. All of it comes from the journal: what was done with
//! its commits, what was not done and why.

use super::checklist::{done, evidence};
use super::neutral::plain_line;
use super::status::who;
use super::{Voice, line};
use crate::domain::ThreadRef;
use crate::planning::{Revision, Run, StepState};

const TITLE_CAP: usize = 120;
const LINE_CAP: usize = 300;

/// Title and body.
#[must_use]
pub fn delivery(run: &Run, plan: &Revision, thread: &ThreadRef, voice: &Voice) -> (String, String) {
    let objective = run.goal.as_ref().map_or("", |goal| goal.main_objective.as_str());
    let title = plain_line(objective, TITLE_CAP);
    let title = if title.is_empty() { format!("Work on #{}", thread.number) } else { title };
    let mut parts = vec![line(objective, 1_000), link(run, plan, thread)];
    parts.push(format!("### What was done\n{}", list(run, plan, Part::Done)));
    let open = list(run, plan, Part::NotDone);
    if !open.is_empty() {
        parts.push(format!("### What was not done\n{open}"));
    }
    parts.push(approvals(plan));
    parts.push(format!(
        "<sub>By {} for {}, run `{}`. A review that asks for changes sends me back to work on this branch.</sub>",
        voice.handle(),
        who(&run.requester),
        run.id
    ));
    (title, parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n"))
}

/// Merging closes the issue only if all of it is done.
fn link(run: &Run, plan: &Revision, thread: &ThreadRef) -> String {
    let verb = if done(run, plan) == plan.steps.len() { "Closes" } else { "Part of" };
    format!("{verb} #{}", thread.number)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Done,
    NotDone,
}

fn list(run: &Run, plan: &Revision, part: Part) -> String {
    let lines = plan.steps.iter().filter_map(|step| {
        let what = format!("**{}**: {}", step.id, line(&step.description, LINE_CAP));
        match (run.step_state(plan, &step.id), part) {
            (StepState::Done(ended), Part::Done) => Some(format!("- {what} — {}", evidence(&ended))),
            (StepState::Done(_), Part::NotDone) => None,
            (StepState::SkippedBy(by), Part::NotDone) => Some(format!("- {what} — skipped by {}", who(by))),
            (StepState::LeftOut, Part::NotDone) => Some(format!("- {what} — not approved")),
            (StepState::Failed(why), Part::NotDone) => {
                Some(format!("- {what} — failed: {}", line(why, LINE_CAP)))
            }
            (StepState::Waiting | StepState::AtWork, Part::NotDone) => {
                Some(format!("- {what} — not finished"))
            }
            (
                StepState::SkippedBy(_)
                | StepState::LeftOut
                | StepState::Failed(_)
                | StepState::Waiting
                | StepState::AtWork,
                Part::Done,
            ) => None,
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn approvals(plan: &Revision) -> String {
    let people = plan.approvals.iter().filter_map(|approval| approval.by.as_ref());
    let mut names: Vec<String> = people.map(|by| format!("`{}`", by.login)).collect();
    names.dedup();
    if names.is_empty() {
        return String::new();
    }
    format!("Approved by {}, exactly as it was carried out.", names.join(", "))
}

/// The message of one action's commit. Its last line names the action, so that the commit is found again after a crash.
#[must_use]
pub fn commit_message(run: &Run, plan: &Revision, action: &crate::plan::Action) -> String {
    let step = plan.steps.iter().find(|step| step.id == action.task_id);
    let subject: String = plain_line(&action.purpose, 68);
    let subject = if subject.is_empty() { action.action_type.as_str().to_owned() } else { subject };
    let step = step.map_or(String::new(), |step| plain_line(&step.description, 200));
    format!("{subject}\n\n{}: {step}\n\n{}", action.task_id, commit_trailer(run, action))
}

/// The line that names an action in its commit.
#[must_use]
pub fn commit_trailer(run: &Run, action: &crate::plan::Action) -> String {
    format!("Planwright-Action: {}/{}", run.id, action.id)
}
