//! Purpose: where a run stands, in one line.

use std::borrow::Cow;

use super::crew::{also_asked, model, needs_help};
use super::ends::ended;
use super::sentences::reason;
use super::words::{count, moment};
use super::{Voice, line};
use crate::actions::number_of;
use crate::crew::Target;
use crate::domain::{Account, AccountKind, Lang};
use crate::plan::{ActionId, Step};
use crate::planning::{
    Design, Hold, Limit, Phase, Reached, Replan, Request, Resource, Revision, Round, Run, StepState,
};

const REASON_CAP: usize = 500;

pub(super) fn status(run: &Run, voice: &Voice) -> String {
    let lang = run.lang;
    if let Some(end) = &run.end {
        return ended(run, &end.state, voice);
    }
    match run.hold() {
        Some(Hold::Paused(pause)) => {
            let (by, resume) = (who(&pause.by, lang), voice.command("resume"));
            lang.pick(
                format!("⏸ paused by {by} · {resume} goes on from here"),
                format!("⏸ {by} が一時停止しました · {resume} でここから再開します"),
            )
        }
        Some(Hold::Retry(retry)) => {
            let reason = told(&retry.reason, lang);
            lang.pick(
                format!("⏳ {reason} I will try again by myself."),
                format!("⏳ {reason}{}自動で再試行します。", gap(&reason)),
            )
        }
        Some(Hold::Approval(request)) => waiting(request, lang, voice),
        Some(Hold::Budget(reached)) => out_of_budget(reached, lang, voice),
        Some(Hold::Unclear(action)) => unclear(run, action, voice),
        Some(Hold::Answers(round)) => answers(run, round),
        Some(Hold::Decisions(design)) => decisions(design, lang, voice),
        Some(Hold::Review(_)) => review(lang, voice),
        Some(Hold::Confirm(replan)) => confirm(replan, lang, voice),
        Some(Hold::Limit(hit)) => {
            let stop = lang.pick(". ", "。");
            format!("⏸ {}{stop}{}", stuck(hit.limit, lang), limit_choices(run, voice))
        }
        Some(Hold::Escalation(escalation)) => needs_help(escalation, lang, voice),
        None => at_work(run),
    }
}

fn unclear(run: &Run, id: &ActionId, voice: &Voice) -> String {
    let action = run.plan().and_then(|plan| plan.actions().find(|action| action.id == *id));
    let step = action.map_or("task_n", |action| action.task_id.0.as_str());
    let (number, resume, skip) =
        (number_of(id), voice.command("resume"), voice.command(&format!("skip {step}")));
    run.lang.pick(
        format!(
            "⏸ action {number} was interrupted, and I cannot know what became of it. {resume} does it once more, \
             {skip} leaves its step out."
        ),
        format!(
            "⏸ アクション {number} は途中で中断され、結果がわかりません。{resume} でもう一度実行し、{skip} でその\
             ステップを省きます。"
        ),
    )
}

fn review(lang: Lang, voice: &Voice) -> String {
    let (approve, reject) = (voice.command("approve"), voice.command("reject why"));
    lang.pick(
        format!("🧭 waiting for a review of the design · {approve} accepts it, {reject} goes back to it"),
        format!("🧭 設計のレビュー待ち · {approve} で承認、{reject} で設計に戻ります"),
    )
}

fn answers(run: &Run, round: &Round) -> String {
    let lang = run.lang;
    let all = round.questions.len();
    let settled = all - run.talk.unanswered(round).len();
    let until = match round.deadline {
        Some(deadline) if round.assumes => {
            let until = moment(deadline);
            lang.pick(
                format!(" · until {until}, then I go on with assumptions"),
                format!(" · {until} まで。その後は仮定で進めます"),
            )
        }
        Some(_) | None => String::new(),
    };
    lang.pick(
        format!("❓ waiting for answers: {settled} of {} answered{until}", count(all, "question")),
        format!("❓ 回答待ち: {all} 件中 {settled} 件回答済み{until}"),
    )
}

fn decisions(design: &Design, lang: Lang, voice: &Voice) -> String {
    let open = design.open_decisions();
    let all = design.decisions.len();
    let example = open.first().map_or("d-1", |decision| decision.id.as_str());
    let (made, choose) = (all - open.len(), voice.command(&format!("choose {example} opt-b because …")));
    lang.pick(
        format!("🧭 waiting for decisions: {made} of {all} made · tick a box, or {choose}"),
        format!("🧭 決定待ち: {all} 件中 {made} 件決定済み · チェックを入れるか、{choose} と書いてください"),
    )
}

fn confirm(replan: &Replan, lang: Lang, voice: &Voice) -> String {
    let until = replan.deadline.map_or(String::new(), |deadline| {
        let at = moment(deadline);
        lang.pick(
            format!(" · without a word by {at} it stays as it is"),
            format!(" · {at} までに返事がなければ計画はそのままです"),
        )
    });
    let (yes, no) = (voice.command("replan why"), voice.command("resume"));
    lang.pick(
        format!("🔄 waiting for a word on changing the plan · {yes} is a yes, {no} a no{until}"),
        format!("🔄 計画変更の確認待ち · {yes} で変更、{no} でそのまま続行{until}"),
    )
}

/// Why a run may not replan, in words for people.
pub(super) fn limit_words(limit: Limit, lang: Lang) -> Cow<'static, str> {
    reason(limit.words(), lang)
}

fn stuck(limit: Limit, lang: Lang) -> String {
    let words = limit_words(limit, lang);
    match limit {
        Limit::NoDecision => words.into_owned(),
        Limit::Clarifications
        | Limit::GoalRevisions
        | Limit::Redecompositions
        | Limit::Regenerations
        | Limit::ActionRetries
        | Limit::PartialReplans
        | Limit::PlanRevisions
        | Limit::Total
        | Limit::SameTrigger
        | Limit::SamePlan
        | Limit::NoPlan => lang.pick(
            format!("I would change the plan, but {words}"),
            format!("計画を変更したいのですが、{words}"),
        ),
    }
}

/// What people can do where the bot may not replan any more.
pub(super) fn limit_choices(run: &Run, voice: &Voice) -> String {
    let lang = run.lang;
    let failed = run.replans.limit.as_ref().and_then(|hit| hit.failed.as_ref());
    let action = failed.and_then(|id| run.plan()?.actions().find(|action| action.id == *id));
    let skip = action.map_or(String::new(), |action| {
        let skip = voice.command(&format!("skip {}", action.task_id));
        lang.pick(format!(" {skip} leaves the step out,"), format!("{skip} でそのステップを省き、"))
    });
    let (replan, resume) = (voice.command("replan why"), voice.command("resume"));
    let cancel = voice.command("cancel");
    lang.pick(
        format!(
            "{replan} has me plan once more,{skip} {resume} goes on with the plan as it is, {cancel} ends the run."
        ),
        format!("{replan} でもう一度計画し、{skip}{resume} で今の計画のまま続け、{cancel} で終了します。"),
    )
}

fn waiting(request: &Request, lang: Lang, voice: &Voice) -> String {
    let (what, digest) = (actions(request.wanted.len(), lang), short(&request.digest));
    let (approve, reject) = (voice.command("approve"), voice.command("reject why"));
    lang.pick(
        format!("waiting for approval of {what} · `{digest}` · {approve} or {reject}"),
        format!("{what}の承認待ち · `{digest}` · {approve} または {reject}"),
    )
}

pub(super) fn actions(number: usize, lang: Lang) -> String {
    lang.pick(count(number, "action"), format!("アクション {number} 件"))
}

fn at_work(run: &Run) -> String {
    let lang = run.lang;
    if let Some(hit) = &run.replans.limit {
        let why = limit_words(hit.limit, lang);
        return lang.pick(
            format!("⏳ looking for another way, because {why}"),
            format!("⏳ {why}。別の方法を探しています"),
        );
    }
    if !run.talk.unread.is_empty() {
        return lang.pick("⏳ reading the answers", "⏳ 回答を読んでいます").to_owned();
    }
    let doing = match (run.phase(), run.plan()) {
        (Phase::Decompose, _) if run.talk.rethink => {
            lang.pick("⏳ thinking about the goal again", "⏳ 目標を考え直しています")
        }
        (Phase::Decompose, _) if is_designing(run) => {
            lang.pick("⏳ working out the design", "⏳ 設計を検討しています")
        }
        (Phase::Understand, _) => lang.pick("⏳ working out the goal", "⏳ 目標を整理しています"),
        (Phase::Decompose, _) => {
            lang.pick("⏳ breaking the work into steps", "⏳ 作業をステップに分けています")
        }
        (Phase::Sequence, _) => {
            lang.pick("⏳ choosing the actions for each step", "⏳ 各ステップのアクションを選んでいます")
        }
        (Phase::Approve, _) => lang
            .pick("⏳ looking at what the actions would change", "⏳ アクションによる変更内容を調べています"),
        (Phase::Deliver, _) => lang.pick("⏳ handing the work over", "⏳ 成果を引き渡しています"),
        (Phase::Execute, plan) => return executing(run, plan),
    };
    doing.to_owned()
}

fn executing(run: &Run, plan: Option<&Revision>) -> String {
    if let Some(asked) = asks_a_model(run) {
        return asked;
    }
    let place = plan.map_or(String::new(), |plan| at_step(run, plan));
    let approved = plan.map_or(String::new(), |plan| approved_by(plan, run.lang));
    let open = also_asked(run);
    run.lang.pick(format!("executing{place}{approved}{open}"), format!("実行中{place}{approved}{open}"))
}

/// Nothing new is begun while a model is asked for help.
fn asks_a_model(run: &Run) -> Option<String> {
    let lang = run.lang;
    let asked =
        run.crew.open().find(|open| open.target != Target::People).filter(|_| run.lanes.is_empty())?;
    let (whom, step) = (model(asked.target, lang), asked.step.as_ref()?);
    Some(lang.pick(
        format!("⏳ asking {whom} for advice on {step}"),
        format!("⏳ {step} について{whom}に相談しています"),
    ))
}

/// Between the goal and the steps, as long as the design is not accepted.
fn is_designing(run: &Run) -> bool {
    let talk = &run.talk;
    let wanted = run.goal.as_ref().is_some_and(|goal| goal.design_choices_open)
        || talk.discovery.is_some()
        || talk.design.is_some()
        || !talk.rejections.is_empty();
    wanted && talk.design.as_ref().is_none_or(|design| design.approved.is_none())
}

/// The steps in hand, or the first that is open.
fn at_step(run: &Run, plan: &Revision) -> String {
    let all = plan.steps.len();
    let steps = || plan.steps.iter().zip(1..);
    let is_open =
        |step: &Step| matches!(run.step_state(plan, &step.id), StepState::AtWork | StepState::Waiting);
    let in_hand = steps().filter(|(step, _)| run.lanes.contains_key(&step.id));
    let mut places: Vec<String> = in_hand.map(|(_, at)| at.to_string()).collect();
    if places.is_empty() {
        places.extend(steps().find(|(step, _)| is_open(step)).map(|(_, at): (_, usize)| at.to_string()));
    }
    match places.as_slice() {
        [] => String::new(),
        [one] => run.lang.pick(format!(" step {one} of {all}"), format!(": {all} ステップ中 {one} 番目")),
        [several @ .., last] => {
            let several = several.join(", ");
            run.lang.pick(
                format!(" steps {several} and {last} of {all}"),
                format!(": {all} ステップ中 {several}, {last} 番目"),
            )
        }
    }
}

fn approved_by(plan: &Revision, lang: Lang) -> String {
    let mut people: Vec<String> = vec![];
    for by in plan.approvals.iter().filter_map(|approval| approval.by.as_ref()) {
        let name = who(by, lang);
        if !people.contains(&name) {
            people.push(name);
        }
    }
    match plan.requests.last() {
        Some(request) if !people.is_empty() => {
            let (people, digest) = (people.join(", "), short(&request.digest));
            lang.pick(
                format!(" · approved by {people} (`{digest}`)"),
                format!(" · {people} が承認 (`{digest}`)"),
            )
        }
        Some(_) | None => {
            lang.pick(" · nothing in it needs approval here", " · 承認の必要な操作はありません").to_owned()
        }
    }
}

fn out_of_budget(reached: Reached, lang: Lang, voice: &Voice) -> String {
    let limit = reached.limit;
    let (english, japanese) = match reached.resource {
        Resource::MicroUsd => (format!("{} USD", usd(limit)), format!("{} USD", usd(limit))),
        Resource::Tokens => (format!("{limit} tokens"), format!("{limit} トークン")),
        Resource::ModelCalls => (format!("{limit} model calls"), format!("モデル呼び出し {limit} 回")),
        Resource::Minutes => (format!("{limit} minutes of work"), format!("作業時間 {limit} 分")),
        Resource::Files => (format!("{limit} changed files"), format!("変更ファイル {limit} 件")),
        Resource::Bytes => (format!("{limit} written bytes"), format!("書き込み {limit} バイト")),
    };
    let more = voice.command("budget +N");
    lang.pick(
        format!("⏸ the budget of {english} is used up. {more} raises it and goes on."),
        format!("⏸ 予算 ({japanese}) を使い切りました。{more} で増やすと続行します。"),
    )
}

/// Nobody is called who was not there: the forge does not always say who it was.
pub(super) fn who(account: &Account, lang: Lang) -> String {
    match account.kind {
        AccountKind::Person | AccountKind::Bot => format!("@{}", account.login),
        AccountKind::Ghost => lang.pick("somebody", "誰か").to_owned(),
    }
}

pub(super) fn short(digest: &str) -> &str {
    digest.get(..6).unwrap_or(digest)
}

/// A reason from the journal as a whole sentence.
pub(super) fn told(why: &str, lang: Lang) -> String {
    sentence(&line(&reason(why, lang), REASON_CAP), lang)
}

pub(super) fn sentence(text: &str, lang: Lang) -> String {
    if text.ends_with(['.', '!', '?', '…', '。', '！', '？']) {
        text.to_owned()
    } else {
        // What is not ours may be in another language than the thread.
        let stop = if text.ends_with(|c: char| c.is_ascii()) { "." } else { lang.pick(".", "。") };
        format!("{text}{stop}")
    }
}

/// What stands between a sentence and the next in Japanese: nothing, unless the first is in another language.
pub(super) fn gap(text: &str) -> &'static str {
    if text.ends_with(['。', '！', '？']) { "" } else { " " }
}

pub(super) fn usd(micro: u64) -> String {
    format!("{}.{:02}", micro / 1_000_000, micro % 1_000_000 / 10_000)
}

pub(super) fn cost(run: &Run) -> String {
    format!("{}{}", main_cost(run), nearly_used_up(run))
}

/// What else is limited, once half of it is used: before that it would only be noise.
fn nearly_used_up(run: &Run) -> String {
    let (budget, spent) = (&run.budget, &run.spent);
    let priced = spent.cost_micro_usd.is_some_and(|cost| cost > 0);
    let all = [
        (
            budget.model_calls.filter(|_| priced),
            u64::from(spent.model_calls),
            ["model calls", "回のモデル呼び出し"],
        ),
        (budget.tokens, spent.input_tokens + spent.output_tokens, ["tokens", "トークン"]),
        (budget.minutes, spent.active_ms / 60_000, ["minutes", "分"]),
        (budget.files, spent.files, ["files", "ファイル"]),
        (budget.bytes.map(|bytes| bytes / 1_000), spent.bytes.div_ceil(1_000), ["KB", "KB"]),
    ];
    let told = all.into_iter().filter_map(|(limit, used, [english, japanese])| {
        let limit = limit.filter(|limit| used > 0 && used.saturating_mul(2) >= *limit)?;
        Some(
            run.lang
                .pick(format!(" · {used} of {limit} {english}"), format!(" · {used} / {limit} {japanese}")),
        )
    });
    told.collect()
}

fn main_cost(run: &Run) -> String {
    let lang = run.lang;
    let of = run.budget.micro_usd.map_or(String::new(), |limit| {
        lang.pick(format!(" of {}", usd(limit)), format!(" / {}", usd(limit)))
    });
    match (run.spent.model_calls, run.spent.cost_micro_usd) {
        (0, _) | (_, Some(0)) => String::new(),
        (_, Some(micro)) if micro < 10_000 => {
            let within =
                run.budget.micro_usd.map_or(String::new(), |limit| format!("{} USD 中 ", usd(limit)));
            lang.pick(format!(" · under 0.01{of} USD"), format!(" · {within}0.01 USD 未満"))
        }
        (_, Some(micro)) => format!(" · {}{of} USD", usd(micro)),
        (calls, None) => match run.budget.model_calls.filter(|_| calls > 1) {
            Some(limit) => lang.pick(
                format!(" · {calls} of {limit} model calls"),
                format!(" · モデル呼び出し {limit} 回中 {calls} 回"),
            ),
            None => lang.pick(
                format!(" · {}", count(calls as usize, "model call")),
                format!(" · モデル呼び出し {calls} 回"),
            ),
        },
    }
}
