//! Purpose: the steps of a plan as boxes. A box is ticked from evidence in the journal, never because somebody said so.

use super::crew::{held, holding, verdict, worker};
use super::line;
use super::sentences::reason;
use super::status::who;
use super::words::{count, few};
use crate::actions::number_of;
use crate::domain::{Account, AccountId, Lang};
use crate::plan::{Action, ActionId, Step, StepId};
use crate::planning::{
    Ended, Escalation, EscalationState, Fallback, NOTHING_TO_CHANGE, Outcome, Revision, Run, StepState,
};

const SHOWN_COMMITS: usize = 3;

pub(super) fn checklist(run: &Run, plan: &Revision, cap: usize) -> String {
    let lines: Vec<String> = plan.steps.iter().map(|step| box_of(run, plan, step, cap)).collect();
    lines.join("\n")
}

fn box_of(run: &Run, plan: &Revision, step: &Step, cap: usize) -> String {
    let what = format!("**{}**: {}", step.id, line(&step.description, cap));
    let (id, live, lang) = (&step.id, run.is_live(), run.lang);
    let judged = |accepted: bool| verdict(run, id, accepted);
    let in_hand = run.lanes.contains_key(id);
    if let (StepState::Failed(_), Some(number)) = (run.step_state(plan, id), unanswered(run, plan, id)) {
        return format!("- [ ] ~~{what}~~ ⏭ {}", without_answer(number, lang));
    }
    match (run.step_state(plan, id), holding(run, id)) {
        (StepState::Waiting | StepState::AtWork, Some(holding)) => {
            format!("- [ ] {what} — {}{}", held(holding, lang), judged(false))
        }
        // Where the whole plan is in doubt, it shows why.
        (StepState::Failed(_), Some(holding)) if holding.step.is_some() => {
            format!("- [ ] {what} — {}{}", held(holding, lang), judged(false))
        }
        (StepState::AtWork, None) if live => {
            format!("- [ ] {what} ⏳{}{}", worker(run, id, cap), judged(false))
        }
        (StepState::Waiting, None) if live && in_hand => {
            format!("- [ ] {what} ⏳{}{}", worker(run, id, cap), judged(false))
        }
        (StepState::Waiting, None) => format!("- [ ] {what}{}", judged(false)),
        (StepState::AtWork, None) => format!("- [ ] {what} — {}", lang.pick("begun", "着手済み")),
        (StepState::Done(ended), _) => format!("- [x] {what} — {}{}", evidence(&ended, lang), judged(true)),
        (StepState::Partly { ended, missing }, _) => {
            let (shown, rest) = (evidence(&ended, lang), is_missing(plan, &missing, cap, lang));
            format!("- [ ] {what} — {shown} · {rest}{}", judged(true))
        }
        (StepState::Failed(why), _) => {
            format!("- [ ] {what} — ❌ {}{}", line(&reason(why, lang), cap), judged(false))
        }
        (StepState::SkippedBy(by), _) => format!("- [ ] ~~{what}~~ ⏭ {}", skipped(by, lang)),
        (StepState::LeftOut, _) => format!("- [ ] ~~{what}~~ ⏭ {}", left_out(plan, id, cap, lang)),
    }
}

/// What a reader can check: commits, exit codes; else that all was as it should be, or that it was looked at.
pub(super) fn evidence(ended: &[&Ended], lang: Lang) -> String {
    let mut shown: Vec<String> = vec![];
    let commits: Vec<&str> = ended.iter().filter_map(|ended| ended.evidence.commit.as_deref()).collect();
    shown.extend(
        commits.iter().take(SHOWN_COMMITS).map(|commit| format!("`{}`", commit.get(..7).unwrap_or(commit))),
    );
    if commits.len() > SHOWN_COMMITS {
        let more = commits.len() - SHOWN_COMMITS;
        shown.push(lang.pick(format!("and {}", count(more, "more commit")), format!("ほか {more} コミット")));
    }
    let codes = ended.iter().filter_map(|ended| ended.evidence.exit_code);
    shown.extend(codes.map(|code| lang.pick(format!("exit code {code}"), format!("終了コード {code}"))));
    let failed = ended.iter().filter(|ended| matches!(ended.outcome, Outcome::Failed { .. })).count();
    if failed > 0 {
        shown.push(lang.pick(format!("{failed} optional failed"), format!("任意の {failed} 件が失敗")));
    }
    let idle = ended.iter().any(|ended| ended.actual == NOTHING_TO_CHANGE);
    match (shown.is_empty(), idle) {
        (false, _) => shown.join(", "),
        (true, true) => lang.pick("nothing to change", "変更の必要なし").to_owned(),
        (true, false) => lang.pick("looked", "確認済み").to_owned(),
    }
}

/// Nobody in particular skipped what was left out at a limit.
pub(super) fn skipped(by: &Account, lang: Lang) -> String {
    if by.id == AccountId(0) {
        return lang.pick("skipped", "省略").to_owned();
    }
    lang.pick(format!("skipped by {}", who(by, lang)), format!("{} が省略", who(by, lang)))
}

/// Nothing of it was approved, or what it needs is missing.
pub(super) fn left_out(plan: &Revision, step: &StepId, cap: usize, lang: Lang) -> String {
    let of_step: Vec<&Action> = plan.actions().filter(|action| action.task_id == *step).collect();
    why_left_out(plan, &of_step, cap, lang)
}

/// What a step that is done in part lacks, by the numbers of the preview.
pub(super) fn is_missing(plan: &Revision, missing: &[&Action], cap: usize, lang: Lang) -> String {
    let numbers: Vec<&str> = missing.iter().map(|action| number_of(&action.id)).collect();
    let (numbers, why) = (few(&numbers, lang), why_left_out(plan, missing, cap, lang));
    let english = match missing.len() {
        1 => format!("action {numbers} is missing ({why})"),
        _ => format!("actions {numbers} are missing ({why})"),
    };
    lang.pick(english, format!("アクション {numbers} が未実施 ({why})"))
}

fn why_left_out(plan: &Revision, actions: &[&Action], cap: usize, lang: Lang) -> String {
    let mut why = actions.iter().filter_map(|action| plan.left_out.get(&action.id));
    match why.find(|why| why.starts_with("it needs ")) {
        Some(why) => {
            let why = line(&reason(why, lang), cap);
            lang.pick(format!("left out: {why}"), format!("省略: {why}"))
        }
        None => lang.pick("not approved", "未承認").to_owned(),
    }
}

/// The question that nobody answered, if the run goes on without the step for that.
pub(super) fn unanswered(run: &Run, plan: &Revision, step: &StepId) -> Option<u32> {
    let went_on = |action: &ActionId| {
        let of_step = |known: &Action| known.id == *action && known.task_id == *step;
        run.accepted.contains(action) && plan.actions().any(of_step)
    };
    let expired = |known: &&Escalation| {
        known.state == EscalationState::Expired { fallback: Fallback::SkipStep }
            && known.action.as_ref().is_some_and(went_on)
    };
    run.crew.escalations.iter().find(expired).map(|known| known.number)
}

pub(super) fn without_answer(number: u32, lang: Lang) -> String {
    lang.pick(
        format!("left out: nobody answered question {number}"),
        format!("省略: 質問 {number} に回答がありませんでした"),
    )
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
        assert_eq!(evidence(&[&looked], Lang::English), "looked");
        assert_eq!(evidence(&[&looked, &idle], Lang::English), "nothing to change");
        assert_eq!(evidence(&[&idle, &changed], Lang::English), "`a1b2c3d`");
    }

    #[test]
    fn all_that_can_be_shown_for_a_step_is_shown() {
        let commit = |n: u32| Ended {
            outcome: Outcome::Succeeded,
            evidence: Evidence { commit: Some(format!("{n}a1b2c3d4")), ..Evidence::default() },
            actual: String::new(),
        };
        let ran = Ended {
            evidence: Evidence { exit_code: Some(0), ..Evidence::default() },
            ..Ended { evidence: Evidence::default(), ..commit(0) }
        };
        let failed = Ended {
            outcome: Outcome::Failed { why: "no".to_owned() },
            evidence: Evidence::default(),
            actual: String::new(),
        };
        let commits: Vec<Ended> = (1..=5).map(commit).collect();
        let idle = Ended { actual: NOTHING_TO_CHANGE.to_owned(), evidence: Evidence::default(), ..commit(0) };
        let looked = Ended { evidence: Evidence::default(), ..commit(0) };
        let rows: [Vec<&Ended>; 5] = [
            commits.iter().take(4).chain([&ran]).collect(),
            commits.iter().collect(),
            vec![&ran, &failed],
            vec![&idle],
            vec![&looked],
        ];
        let said = [Lang::English, Lang::Japanese]
            .map(|lang| rows.iter().map(|row| evidence(row, lang)).collect::<Vec<_>>().join("\n"));
        insta::assert_snapshot!(said.join("\n"), @r"
        `1a1b2c3`, `2a1b2c3`, `3a1b2c3`, and 1 more commit, exit code 0
        `1a1b2c3`, `2a1b2c3`, `3a1b2c3`, and 2 more commits
        exit code 0, 1 optional failed
        nothing to change
        looked
        `1a1b2c3`, `2a1b2c3`, `3a1b2c3`, ほか 1 コミット, 終了コード 0
        `1a1b2c3`, `2a1b2c3`, `3a1b2c3`, ほか 2 コミット
        終了コード 0, 任意の 1 件が失敗
        変更の必要なし
        確認済み
        ");
    }
}
