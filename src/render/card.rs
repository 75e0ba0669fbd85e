//! Purpose: the card: one comment per run that shows its plan and where it stands.

use super::checklist::checklist;
use super::notice::replan_line;
use super::revisions::{count_earlier, footer, history, title, why};
use super::status::{cost, status};
use super::words::fitting;
use super::{Voice, crew, ledger, line, words};
use crate::domain::Reaction;
use crate::planning::{Commits, EndState, Run};

const GOAL_CAP: usize = 1_000;
/// How much of each step is shown: less when the card would become too large.
const STEP_CAPS: [usize; 4] = [300, 150, 75, 30];
const MANY: u32 = 6;

/// The card's text, or nothing as long as the 👀 says enough: until the goal is known, or somebody has to be told
/// something. It stays below every forge's limit.
#[must_use]
pub fn card(run: &Run, voice: &Voice) -> Option<String> {
    let worth_a_comment = run.goal.is_some()
        || run.pause.is_some()
        || run.retry.is_some()
        || run.hold().is_some()
        || matches!(
            run.end.as_ref().map(|end| &end.state),
            Some(EndState::Failed { .. } | EndState::Cancelled { .. })
        );
    if !worth_a_comment {
        return None;
    }
    // The oldest plans go first; only then is the plan in force shown shorter.
    let sizes = STEP_CAPS.iter().flat_map(|cap| {
        (0..=count_earlier(run)).rev().map(|plans| Size { step: *cap, earlier_plans: plans })
    });
    Some(fitting(sizes.map(|size| text(run, voice, size))).unwrap_or_else(|| short(run, voice)))
}

/// Where the run stands, if its plan does not fit in any size: nobody would be told of it otherwise.
fn short(run: &Run, voice: &Voice) -> String {
    let mut parts = vec![title(run), head(run, voice)];
    parts.push(run.lang.pick(
        format!(
            "*The plan is too long to be shown here; all of it is in the history of this thread, under run `{}`.*",
            run.id
        ),
        format!("*計画が長すぎるため、ここでは省略しています。全体はこのスレッドの履歴 (run `{}`) にあります。*", run.id),
    ));
    parts.extend(crew::open_questions(run, voice));
    parts.extend(run.plan().filter(|plan| !plan.steps.is_empty()).map(|plan| footer(run, plan)));
    parts.extend(work_kept(run));
    parts.extend(hidden(run));
    parts.join("\n\n")
}

#[derive(Clone, Copy)]
struct Size {
    step: usize,
    earlier_plans: usize,
}

fn text(run: &Run, voice: &Voice, size: Size) -> String {
    let mut parts = vec![title(run), head(run, voice)];
    let revised = why(run);
    let is_revised = revised.is_some();
    parts.extend(revised);
    parts.extend(steps(run, is_revised, size.step));
    parts.extend(crew::open_questions(run, voice));
    parts.extend(ledger::folded(run, size.step));
    parts.extend(crew::settled_questions(run, size.step));
    parts.extend(history(run, size.earlier_plans, size.step));
    parts.extend(run.plan().filter(|plan| !plan.steps.is_empty()).map(|plan| footer(run, plan)));
    parts.extend(work_kept(run));
    if matches!(run.end.as_ref().map(|end| &end.state), Some(EndState::Failed { .. })) {
        parts.push(run.lang.pick(
            format!("<sub>What happened is in the history of this thread, under run `{}`.</sub>", run.id),
            format!("<sub>経緯はこのスレッドの履歴 (run `{}`) にあります。</sub>", run.id),
        ));
    }
    parts.extend(hidden(run));
    parts.extend(unused(run));
    parts.join("\n\n")
}

fn steps(run: &Run, is_revised: bool, cap: usize) -> Option<String> {
    let plan = run.plan()?;
    let list = match (plan.steps.is_empty(), run.is_live()) {
        (false, _) => checklist(run, plan, cap),
        (true, true) => run.lang.pick("*It is being made.*", "*作成中です。*").to_owned(),
        (true, false) => run
            .lang
            .pick("*There is none: the run ended before.*", "*作成される前に終了しました。*")
            .to_owned(),
    };
    match (is_revised, plan.steps.is_empty()) {
        (true, _) => Some(format!("### New Plan:\n{list}")),
        (false, false) => Some(list),
        (false, true) => None,
    }
}

/// The face that goes with the card: 👀 while the run lives, 🚀 when it is through, 😕 when it failed.
#[must_use]
pub fn reaction(run: &Run) -> Option<Reaction> {
    match run.end.as_ref().map(|end| &end.state) {
        None => Some(Reaction::Eyes),
        Some(EndState::Completed) => Some(Reaction::Rocket),
        Some(EndState::Failed { .. }) => Some(Reaction::Confused),
        Some(EndState::Cancelled { .. } | EndState::Stopped { .. }) => None,
    }
}

fn head(run: &Run, voice: &Voice) -> String {
    let goal = match &run.goal {
        Some(goal) => format!("**Goal**: {}\n", line(&goal.main_objective, GOAL_CAP)),
        None => String::new(),
    };
    let replan = replan_line(run).map_or(String::new(), |line| format!("  \n{line}"));
    format!("{goal}**Status**: {}{}{replan}", status(run, voice), cost(run))
}

/// A run that ended before its time says where its work is.
fn work_kept(run: &Run) -> Option<String> {
    let place = run.plan()?.place.as_ref()?;
    let Commits { count, pushed } = run.commits();
    let early = run.end.as_ref().is_some_and(|end| end.state != EndState::Completed);
    (early && count > 0 && run.delivery.is_none()).then(|| {
        let (branch, commits) = (&place.branch, words::count(count, "commit"));
        if pushed {
            run.lang.pick(
                format!("The work so far is kept on the branch `{branch}` ({commits})."),
                format!("ここまでの作業はブランチ `{branch}` に残してあります ({count} コミット)。"),
            )
        } else {
            run.lang.pick(
                format!("The work so far is kept ({commits} on `{branch}`); I did not push all of it while I worked."),
                format!("ここまでの作業はサーバー上の `{branch}` に残してあります ({count} コミット)。作業中にすべてはプッシュしていません。"),
            )
        }
    })
}

fn hidden(run: &Run) -> Option<String> {
    let (count, them) = match run.hidden {
        0 => return None,
        1 => ("1 hidden character was".to_owned(), "it"),
        n => (format!("{n} hidden characters were"), "them"),
    };
    Some(run.lang.pick(
        format!(
            "<sub>{count} removed from what I was given to read here; people do not see {them} either.</sub>"
        ),
        format!("<sub>読み込んだ文章から、人の目に見えない文字 {} 個を取り除きました。</sub>", run.hidden),
    ))
}

/// Counts up to a few only: otherwise everybody could make the bot edit its card without end.
fn unused(run: &Run) -> Option<String> {
    let (english, japanese) = match run.unused_comments {
        0 => return None,
        MANY.. => ("Many comments by people who may not steer this run were".to_owned(), "多数".to_owned()),
        1 => ("1 comment by somebody who may not steer this run was".to_owned(), "1 件".to_owned()),
        n => (format!("{n} comments by people who may not steer this run were"), format!("{n} 件")),
    };
    Some(run.lang.pick(
        format!("<sub>{english} not used.</sub>"),
        format!("<sub>この作業に指示する権限のない人のコメント ({japanese}) は使いませんでした。</sub>"),
    ))
}
