//! Purpose: the text of the change request that a run hands over. All of it comes from the journal: what was done with
//! its commits, what was not done and why.

use super::checklist::{done, evidence, is_missing, left_out, skipped, unanswered, without_answer};
use super::crew::answers;
use super::ledger::{assumptions, decided};
use super::neutral::plain_line;
use super::revisions::given_up;
use super::sentences::reason;
use super::status::who;
use super::words::{ended, fitting};
use super::{Voice, line};
use crate::domain::{Lang, ThreadRef};
use crate::plan::{Step, StepId};
use crate::planning::{Revision, Run, StepState};

const TITLE_CAP: usize = 120;
/// How much is shown of each step: less when it would become too large.
const CAPS: [usize; 4] = [300, 150, 75, 30];
const MOST_BEFORE: usize = 60;

/// Title and body.
#[must_use]
pub fn delivery(run: &Run, plan: &Revision, thread: &ThreadRef, voice: &Voice) -> (String, String) {
    let objective = run.goal.as_ref().map_or("", |goal| goal.main_objective.as_str());
    let title = plain_line(objective, TITLE_CAP);
    let title = if title.is_empty() { format!("Work on #{}", thread.number) } else { title };
    let body = fitting(CAPS.iter().map(|cap| body(run, plan, thread, voice, *cap)));
    (title, body.unwrap_or_else(|| link(run, plan, thread)))
}

fn body(run: &Run, plan: &Revision, thread: &ThreadRef, voice: &Voice, cap: usize) -> String {
    let objective = run.goal.as_ref().map_or("", |goal| goal.main_objective.as_str());
    let design = run.talk.design.as_ref();
    let parts = [
        line(objective, 1_000),
        link(run, plan, thread),
        format!("### What was done\n{}", what_was_done(run, plan, cap).join("\n")),
        section("What was not done", &what_was_not_done(run, plan, cap)),
        section("Done before the plan was changed", &done_before(run, cap)),
        section("Assumptions", &assumptions(run, cap)),
        section("Decisions", &design.map_or(vec![], |design| decided(design, run.lang, cap))),
        section("Answered Questions", &answers(run, cap)),
        approvals(plan, run.lang),
        signature(run, voice),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

fn signature(run: &Run, voice: &Voice) -> String {
    let (bot, by, id) = (voice.handle(), who(&run.requester, run.lang), &run.id);
    run.lang.pick(
        format!(
            "<sub>By {bot} for {by}, run `{id}`. A review that asks for changes sends me back to work on this branch.</sub>"
        ),
        format!("<sub>{by} の依頼による {bot} の作業 (run `{id}`)。レビューで変更を求められると、このブランチで作業を続けます。</sub>"),
    )
}

fn section(title: &str, lines: &[String]) -> String {
    if lines.is_empty() { String::new() } else { format!("### {title}\n{}", lines.join("\n")) }
}

/// What earlier checklists have brought: a new one begins without ticks, but the work is in these commits.
fn done_before(run: &Run, cap: usize) -> Vec<String> {
    let mut lines = vec![];
    for (number, plan, then) in &given_up(run) {
        let name = match number {
            0 => run.lang.pick("first plan", "最初の計画").to_owned(),
            n => run.lang.pick(format!("revision #{n}"), format!("改訂 #{n}")),
        };
        for step in &plan.steps {
            if let Some(shown) = accomplished(&then.step_state(plan, &step.id), run.lang) {
                let what = line(&step.description, cap);
                lines.push(format!("- **{}**: {what} — {shown} ({name})", step.id));
            }
        }
    }
    let more = lines.len().saturating_sub(MOST_BEFORE);
    lines.truncate(MOST_BEFORE);
    ended(lines, more, run.lang)
}

/// What can be shown for a step of which something is done.
fn accomplished(state: &StepState<'_>, lang: Lang) -> Option<String> {
    match state {
        StepState::Done(ended) => Some(evidence(ended, lang)),
        StepState::Partly { ended, .. } => {
            Some(format!("{}{}", evidence(ended, lang), lang.pick(", in part", "、一部のみ")))
        }
        StepState::SkippedBy(_)
        | StepState::LeftOut
        | StepState::Failed(_)
        | StepState::Waiting
        | StepState::AtWork => None,
    }
}

/// Merging closes the issue only if all of it is done.
fn link(run: &Run, plan: &Revision, thread: &ThreadRef) -> String {
    let verb = if done(run, plan) == plan.steps.len() { "Closes" } else { "Part of" };
    format!("{verb} #{}", thread.number)
}

fn what_was_done(run: &Run, plan: &Revision, cap: usize) -> Vec<String> {
    let shown = |step: &Step| accomplished(&run.step_state(plan, &step.id), run.lang);
    let lines = plan.steps.iter().filter_map(|step| Some(about(step, &shown(step)?, cap)));
    lines.collect()
}

fn what_was_not_done(run: &Run, plan: &Revision, cap: usize) -> Vec<String> {
    let lines = plan.steps.iter().filter_map(|step| Some(about(step, &not_done(run, plan, step, cap)?, cap)));
    lines.collect()
}

fn about(step: &Step, said: &str, cap: usize) -> String {
    format!("- **{}**: {} — {said}", step.id, line(&step.description, cap))
}

/// Why a step is not done, or not all of it.
fn not_done(run: &Run, plan: &Revision, step: &Step, cap: usize) -> Option<String> {
    let lang = run.lang;
    Some(match run.step_state(plan, &step.id) {
        StepState::Done(_) => return None,
        StepState::Partly { missing, .. } => is_missing(plan, &missing, cap, lang),
        StepState::SkippedBy(by) => skipped(by, lang),
        StepState::LeftOut => left_out(plan, &step.id, cap, lang),
        StepState::Failed(why) => match unanswered(run, plan, &step.id) {
            Some(number) => without_answer(number, lang),
            None => format!("{}: {}", lang.pick("failed", "失敗"), line(&reason(why, lang), cap)),
        },
        StepState::Waiting | StepState::AtWork => lang.pick("not finished", "未完了").to_owned(),
    })
}

fn approvals(plan: &Revision, lang: Lang) -> String {
    let people = plan.approvals.iter().filter_map(|approval| approval.by.as_ref());
    let mut names: Vec<String> = vec![];
    for name in people.map(|by| format!("`{}`", by.login)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() {
        return String::new();
    }
    let names = names.join(", ");
    lang.pick(
        format!("Approved by {names}, exactly as it was carried out."),
        format!("実行した内容はすべて {names} の承認を得ています。"),
    )
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

/// The message of the commit that takes a worker's changes onto the run's branch.
#[must_use]
pub fn merge_message(run: &Run, step: &StepId) -> String {
    let plan = run.plan();
    let step_is = plan.and_then(|plan| plan.steps.iter().find(|known| known.id == *step));
    let about = step_is.map_or(String::new(), |step| plain_line(&step.description, 60));
    format!("Merge {step}: {about}\n\nPlanwright-Step: {}/{step}", run.id)
}

/// The line that names an action in its commit.
#[must_use]
pub fn commit_trailer(run: &Run, action: &crate::plan::Action) -> String {
    format!("Planwright-Action: {}/{}", run.id, action.id)
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{assumption, decided_design, github, given, joao, maria, revised_twice};
    use super::*;
    use crate::plan::QuestionId;
    use crate::planning::Approval;

    #[test]
    fn what_it_rests_on_is_handed_over() {
        let mut run = revised_twice();
        run.talk.assumptions = vec![assumption(1, "q-2", "The engine"), assumption(2, "q-3", "Speed")];
        run.talk.answers = [(QuestionId("q-3".to_owned()), given(None))].into();
        run.revisions[2].steps[0].rests_on = vec!["A1".to_owned()];
        run.talk.design = Some(decided_design());
        let thread: ThreadRef = "github:acme/web#12".parse().expect("a thread");
        let plan = run.plan().cloned().unwrap_or_default();
        let (title, body) = delivery(&run, &plan, &thread, &github());
        insta::assert_snapshot!("handed_over", format!("{title}\n\n{body}"));
    }

    #[test]
    fn who_approved_it_is_named_once() {
        let by = |by| Approval { by, actions: [].into(), at: crate::domain::Millis(0) };
        let mut plan = Revision::default();
        assert_eq!(approvals(&plan, Lang::English), "");
        plan.approvals = vec![by(None)];
        assert_eq!(approvals(&plan, Lang::English), "", "the settings are nobody");
        plan.approvals.extend([maria(), joao(), maria()].map(|person| by(Some(person))));
        let said = [Lang::English, Lang::Japanese].map(|lang| approvals(&plan, lang));
        insta::assert_snapshot!(said.join("\n"), @r"
        Approved by `maria`, `joao`, exactly as it was carried out.
        実行した内容はすべて `maria`, `joao` の承認を得ています。
        ");
    }

    #[test]
    fn commits_name_what_they_are_for() {
        let run = revised_twice();
        let plan = run.plan().cloned().unwrap_or_default();
        let action = plan.actions().next().cloned().expect("an action");
        let nameless = crate::plan::Action { purpose: " \n ".to_owned(), ..action.clone() };
        let said = [
            commit_message(&run, &plan, &action),
            commit_message(&run, &plan, &nameless),
            merge_message(&run, &action.task_id),
        ];
        insta::assert_snapshot!(said.join("\n\n---\n"), @r"
        Write for task_1

        task_1: Start from nothing

        Planwright-Action: r-1/a7

        ---
        write

        task_1: Start from nothing

        Planwright-Action: r-1/a7

        ---
        Merge task_1: Start from nothing

        Planwright-Step: r-1/task_1
        ");
    }
}
