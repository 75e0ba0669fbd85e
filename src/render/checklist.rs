//! Purpose: the steps of a plan as boxes. A box is ticked from evidence in the journal, never because somebody said so.

use super::line;
use super::status::who;
use crate::domain::{Account, AccountId};
use crate::plan::Step;
use crate::planning::{Ended, NOTHING_TO_CHANGE, Outcome, Revision, Run, StepState};

const SHOWN_COMMITS: usize = 3;

pub(super) fn checklist(run: &Run, plan: &Revision, cap: usize) -> String {
    let lines: Vec<String> = plan.steps.iter().map(|step| box_of(run, plan, step, cap)).collect();
    lines.join("\n")
}

fn box_of(run: &Run, plan: &Revision, step: &Step, cap: usize) -> String {
    let what = format!("**{}**: {}", step.id, line(&step.description, cap));
    let live = run.is_live();
    match run.step_state(plan, &step.id) {
        StepState::Waiting => format!("- [ ] {what}"),
        StepState::AtWork if live => format!("- [ ] {what} ⏳"),
        StepState::AtWork => format!("- [ ] {what} — begun"),
        StepState::Done(ended) => format!("- [x] {what} — {}", evidence(&ended)),
        StepState::Failed(why) => format!("- [ ] {what} — ❌ {}", line(why, cap)),
        StepState::SkippedBy(by) => format!("- [ ] ~~{what}~~ ⏭ {}", skipped(by)),
        StepState::LeftOut => format!("- [ ] ~~{what}~~ ⏭ not approved"),
    }
}

/// What a reader can check: commits, exit codes; else that all was as it should be, or that it was looked at.
pub(super) fn evidence(ended: &[&Ended]) -> String {
    let mut shown: Vec<String> = vec![];
    let commits: Vec<&str> = ended.iter().filter_map(|ended| ended.evidence.commit.as_deref()).collect();
    shown.extend(
        commits.iter().take(SHOWN_COMMITS).map(|commit| format!("`{}`", commit.get(..7).unwrap_or(commit))),
    );
    if commits.len() > SHOWN_COMMITS {
        shown.push(format!("and {} more commits", commits.len() - SHOWN_COMMITS));
    }
    shown.extend(
        ended.iter().filter_map(|ended| ended.evidence.exit_code).map(|code| format!("exit code {code}")),
    );
    let failed = ended.iter().filter(|ended| matches!(ended.outcome, Outcome::Failed { .. })).count();
    if failed > 0 {
        shown.push(format!("{failed} optional failed"));
    }
    let idle = ended.iter().any(|ended| ended.actual == NOTHING_TO_CHANGE);
    match (shown.is_empty(), idle) {
        (false, _) => shown.join(", "),
        (true, true) => "nothing to change".to_owned(),
        (true, false) => "looked".to_owned(),
    }
}

/// Nobody in particular skipped what was left out at a limit.
pub(super) fn skipped(by: &Account) -> String {
    if by.id == AccountId(0) { "skipped".to_owned() } else { format!("skipped by {}", who(by)) }
}

pub(super) fn done(run: &Run, plan: &Revision) -> usize {
    plan.steps.iter().filter(|step| matches!(run.step_state(plan, &step.id), StepState::Done(_))).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planning::Evidence;

    #[test]
    fn what_changed_nothing_is_told_from_what_only_looked() {
        let ended = |actual: &str, commit: Option<&str>| Ended {
            outcome: Outcome::Succeeded,
            evidence: Evidence { commit: commit.map(str::to_owned), ..Evidence::default() },
            actual: actual.to_owned(),
        };
        let (idle, looked) = (ended(NOTHING_TO_CHANGE, None), ended("read 3 lines", None));
        let changed = ended("committed", Some("a1b2c3d4"));
        assert_eq!(evidence(&[&looked]), "looked");
        assert_eq!(evidence(&[&looked, &idle]), "nothing to change");
        assert_eq!(evidence(&[&idle, &changed]), "`a1b2c3d`");
    }
}
