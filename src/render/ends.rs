//! Purpose: how a run ended, in one line, and what can be done then.

use super::Voice;
use super::status::{gap, told, who};
use super::words::count;
use crate::domain::Lang;
use crate::planning::{EndState, Run, StopReason};

pub(super) fn ended(run: &Run, state: &EndState, voice: &Voice) -> String {
    let lang = run.lang;
    let plan = voice.command("plan");
    let again = lang.pick(
        format!("Assign me again or comment {plan} to start anew."),
        format!("もう一度始めるには、私を再度アサインするか {plan} とコメントしてください。"),
    );
    match state {
        EndState::Completed => format!("{}{}", completed(run), what_is_left(run, voice)),
        EndState::Cancelled { by } => lang.pick(
            format!("cancelled by {}. {again}", who(by, lang)),
            format!("{} がキャンセルしました。{again}", who(by, lang)),
        ),
        EndState::Stopped { by, why } => stopped(&who(by, lang), *why, &again, lang),
        EndState::Failed { reason } => failed(run, &told(reason, lang), &again, voice),
    }
}

fn stopped(by: &str, why: StopReason, again: &str, lang: Lang) -> String {
    match why {
        StopReason::Unassigned => lang.pick(
            format!("stopped: {by} took me off this. {again}"),
            format!("停止: {by} がアサインを外しました。{again}"),
        ),
        StopReason::Unlabelled => lang.pick(
            format!("stopped: {by} removed my label. Put it on again to start anew."),
            format!("停止: {by} がラベルを外しました。もう一度付けると始めから行います。"),
        ),
        StopReason::Closed => {
            lang.pick(format!("stopped: {by} closed this."), format!("停止: {by} がクローズしました。"))
        }
    }
}

fn failed(run: &Run, reason: &str, again: &str, voice: &Voice) -> String {
    let retry = voice.command("retry");
    let rest = run.lang.pick(
        format!("{retry} starts a run with the steps that are not done."),
        format!("{retry} で残りのステップを実行します。"),
    );
    let next = if run.work.is_empty() { again } else { &rest };
    let gap = gap(reason);
    run.lang.pick(format!("😕 failed. {reason} {next}"), format!("😕 失敗しました。{reason}{gap}{next}"))
}

/// What was not approved, or failed and was gone on without, is left for another run; what was skipped is not.
fn what_is_left(run: &Run, voice: &Voice) -> String {
    if !run.has_unfinished_steps() {
        return String::new();
    }
    let retry = voice.command("retry");
    run.lang.pick(
        format!(" · {retry} starts a run with the steps that are not done"),
        format!(" · {retry} で残りのステップを実行します"),
    )
}

fn completed(run: &Run) -> String {
    let lang = run.lang;
    match run.delivery.as_ref() {
        Some(delivery) => match (&delivery.change, &delivery.url) {
            (Some(_), Some(url)) => lang.pick(format!("🚀 done: {url}"), format!("🚀 完了: {url}")),
            (Some(thread), None) => {
                lang.pick(format!("🚀 done: see `{thread}`"), format!("🚀 完了: `{thread}` をご覧ください"))
            }
            (None, _) => lang.pick(
                format!("🚀 done, on the branch `{}`", delivery.branch),
                format!("🚀 完了 (ブランチ `{}`)", delivery.branch),
            ),
        },
        None => kept_here(run),
    }
}

/// Nothing was handed over: there is nothing, or the settings want it so.
fn kept_here(run: &Run) -> String {
    let place = run.plan().and_then(|plan| plan.place.as_ref());
    match (run.commits().count, place) {
        (commits @ 1.., Some(place)) => {
            let (branch, many) = (&place.branch, count(commits, "commit"));
            run.lang.pick(
                format!(
                    "🚀 done. The settings have me hand nothing over: the work stays in my checkout, {many} on `{branch}`"
                ),
                format!("🚀 完了。設定により引き渡しません。作業はサーバー上の `{branch}` にあります ({commits} コミット)"),
            )
        }
        (_, _) => run
            .lang
            .pick("🚀 done; there was nothing to hand over", "🚀 完了。引き渡すものはありませんでした")
            .to_owned(),
    }
}
