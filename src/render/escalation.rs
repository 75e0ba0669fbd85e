//! Purpose: a question to people that a worker's difficulty led to, in one comment: what stands in the way, what was
//! tried, and what is asked of whom until when. Once it is settled, the same comment says how it ended.

use super::sentences::reason;
use super::words::{bullets, fitting, moment};
use super::{Voice, line};
use crate::crew::{Cause, Target};
use crate::domain::{Account, AccountKind, Lang, Permission};
use crate::plan::{Step, StepId};
use crate::planning::{Escalation, EscalationState, Fallback, Record, Revision, Run};

/// How much is shown of each text, and how many of the tries. Less when it would become too large.
const SIZES: [(usize, usize); 3] = [(1_000, 10), (300, 10), (100, 5)];
const REMINDER_CAP: usize = 200;
const MOST_STEPS: usize = 15;

/// The comment. `fallback` is what happens when nobody answers in time; only an open question depends on it.
#[must_use]
pub fn escalation(run: &Run, escalation: &Escalation, fallback: Fallback, voice: &Voice) -> String {
    let text = |size: &(usize, usize)| {
        let parts = match outcome(run, escalation, size.0, voice) {
            Some(outcome) => vec![title(escalation), outcome, folded(run, escalation, *size)],
            None => asked(run, escalation, fallback, voice, *size),
        };
        parts.join("\n\n")
    };
    fitting(SIZES.iter().map(text)).unwrap_or_else(|| title(escalation))
}

/// One more comment, when some of the time is over and nobody has answered.
#[must_use]
pub fn escalation_reminder(run: &Run, escalation: &Escalation, voice: &Voice) -> String {
    let (lang, number) = (run.lang, escalation.number);
    if !escalation.is_open() {
        return lang.pick(
            format!("Question {number} needs no answer any more; its own comment says how it ended."),
            format!("質問 {number} への回答はもう必要ありません。結果は質問のコメントにあります。"),
        );
    }
    let until = escalation.deadline.map_or(String::new(), |deadline| {
        let at = moment(deadline);
        lang.pick(format!(" (until {at})"), format!(" (期限: {at})"))
    });
    let (issue, resolve) = (issue(escalation, lang, REMINDER_CAP), resolve(escalation.number, lang, voice));
    let first = match mentions(escalation) {
        Some(names) => lang.pick(
            format!("{names}: question {number} still waits for your answer{until}."),
            format!("{names} さん、質問 {number} への回答をお待ちしています{until}。"),
        ),
        None => lang.pick(
            format!("Question {number} still waits for an answer{until}."),
            format!("質問 {number} への回答をお待ちしています{until}。"),
        ),
    };
    let pointer = lang.pick(
        format!("The question is further up in this thread. {resolve} answers it."),
        format!("質問はこのスレッドの上の方にあります。{resolve} で回答できます。"),
    );
    [first, issue, pointer].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

fn title(escalation: &Escalation) -> String {
    format!("## 🙋 Question {}: {}", escalation.number, in_short(escalation.cause, Lang::English))
}

/// What is asked, in a few words.
pub(super) fn in_short(cause: Cause, lang: Lang) -> &'static str {
    match cause {
        Cause::Scope => lang.pick("May I change more?", "変更範囲を広げてよいか"),
        Cause::Ambiguity => lang.pick("What is meant?", "何を意味しているか"),
        Cause::Contradiction => lang.pick("Which goes first?", "どちらを優先するか"),
        Cause::Technical | Cause::Dependency | Cause::ThreeFailures | Cause::ThreeStepsInARow => {
            lang.pick("How shall I go on?", "どう進めるか")
        }
    }
}

fn asked(
    run: &Run,
    escalation: &Escalation,
    fallback: Fallback,
    voice: &Voice,
    size: (usize, usize),
) -> Vec<String> {
    let lang = run.lang;
    let mut parts = vec![title(escalation), call(run, escalation, size.0)];
    parts.extend(difficulty(escalation, lang, size));
    parts.push(format!("**My question**: {}", wanted(escalation.cause, lang)));
    parts.push(if_no_response(escalation, fallback, lang, voice));
    parts.push(format!("**How to answer**: {}", how_to(escalation, lang, voice)));
    let gap = lang.pick(" ", "");
    parts.push(format!("<sub>{}{gap}{}</sub>", meanwhile(run, escalation), who_may(escalation, lang, voice)));
    parts
}

/// The one line that calls people; nobody is called in vain.
fn call(run: &Run, escalation: &Escalation, words: usize) -> String {
    let lang = run.lang;
    let names = mentions(escalation);
    let stuck = match step(run, escalation) {
        Some(step) => {
            let (id, what) = (&step.id, line(&step.description, words));
            lang.pick(
                format!("I am stuck at **{id}**: {what}"),
                format!("**{id}** で行き詰まっています: {what}"),
            )
        }
        None => lang
            .pick(
                "I am stuck: several steps failed one after the other, so the plan itself is in doubt.",
                "複数のステップが続けて失敗し、計画そのものを見直す必要があります。",
            )
            .to_owned(),
    };
    match names {
        Some(names) => lang.pick(
            format!("{names}, I need your answer. {stuck}"),
            format!("{names} さん、回答をお願いします。{stuck}"),
        ),
        None => lang.pick(
            format!("I need somebody's answer. {stuck}"),
            format!("どなたか回答をお願いします。{stuck}"),
        ),
    }
}

fn mentions(escalation: &Escalation) -> Option<String> {
    let names: Vec<String> = escalation.asked.iter().map(|login| format!("@{login}")).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// The step in the words of the plan that it was asked about.
fn step<'a>(run: &'a Run, escalation: &Escalation) -> Option<&'a Step> {
    let id = escalation.step.as_ref()?;
    plan_of(run, escalation)?.steps.iter().find(|step| step.id == *id)
}

/// The plan that was in force when it was asked: a later one may call other steps alike.
fn plan_of<'a>(run: &'a Run, escalation: &Escalation) -> Option<&'a Revision> {
    let began = |plan: &&Revision| plan.origin.as_ref().is_none_or(|origin| origin.at <= escalation.at);
    run.revisions.iter().rfind(began)
}

/// What stands in the way, what was tried, and what the worker would do.
fn difficulty(escalation: &Escalation, lang: Lang, (words, items): (usize, usize)) -> Vec<String> {
    let issue = issue(escalation, lang, words);
    let issue =
        if issue.is_empty() { lang.pick("nothing is known of it", "詳細は不明です") } else { &issue };
    let mut parts = vec![format!("**What stands in the way**: {issue}")];
    let tried: Vec<_> = escalation.tried.iter().map(|text| reason(text, lang)).collect();
    if !tried.is_empty() {
        parts.push(format!("**What was tried**:\n{}", bullets(&tried, items, words, lang)));
    }
    let suggestion = escalation.suggestion.as_deref().map_or(String::new(), |text| line(text, words));
    if !suggestion.is_empty() {
        parts.push(format!("**What the worker suggests**: {suggestion}"));
    }
    parts
}

/// What stands in the way, in one line.
pub(super) fn issue(escalation: &Escalation, lang: Lang, words: usize) -> String {
    line(&reason(&escalation.issue, lang), words)
}

fn wanted(cause: Cause, lang: Lang) -> &'static str {
    match cause {
        Cause::Scope => lang.pick(
            "May I change more than was agreed? If so, how far may I go, and what must stay as it is?",
            "合意した範囲を超えて変更してよいですか。よい場合、どこまで変更してよく、何を変えてはいけませんか。",
        ),
        Cause::Ambiguity => {
            lang.pick("What exactly is wanted here?", "ここで求められていることを具体的に教えてください。")
        }
        Cause::Contradiction => lang.pick(
            "These wishes exclude each other. Which one goes first, and what becomes of the other?",
            "要望が互いに矛盾しています。どちらを優先し、もう一方をどう扱いますか。",
        ),
        Cause::Technical => lang.pick(
            "How shall I go on? A word about another way, or about what I overlook, is enough.",
            "どう進めればよいですか。別の方法や見落としを教えてください。",
        ),
        Cause::Dependency => lang.pick(
            "This does not fit together with the rest of the work. How shall I go on?",
            "ほかの作業とうまくかみ合いません。どう進めればよいですか。",
        ),
        Cause::ThreeFailures => lang.pick(
            "It has failed again and again. How shall I go on: in another way, or without it?",
            "何度も失敗しています。別の方法で進めますか。それとも省きますか。",
        ),
        Cause::ThreeStepsInARow => lang.pick(
            "How shall I go on? Your answer goes into a new plan.",
            "どう進めればよいですか。回答をもとに計画を作り直します。",
        ),
    }
}

fn if_no_response(escalation: &Escalation, fallback: Fallback, lang: Lang, voice: &Voice) -> String {
    if matches!(escalation.state, EscalationState::Expired { .. }) {
        let waits = lang.pick(
            "Nobody answered in time. What depends on the answer waits on, and you can still give it.",
            "期限までに回答がありませんでした。この回答が必要な作業は待機を続けます。今からでも回答できます。",
        );
        return format!("**Overdue**: {waits}");
    }
    let then = match (fallback, &escalation.step) {
        (Fallback::Hold, _) => lang
            .pick(
                "What depends on the answer waits on, and you can still give it.",
                "この回答が必要な作業は待機を続けます。その後も回答できます。",
            )
            .to_owned(),
        (Fallback::SkipStep, Some(step)) => lang.pick(
            format!("I leave **{step}** out, with what depends on it, and go on with the rest."),
            format!("**{step}** と、それに依存するステップを省いて、残りを進めます。"),
        ),
        (Fallback::SkipStep, None) | (Fallback::Stop, _) => ends(lang, voice),
    };
    let Some(at) = escalation.deadline.map(moment) else { return format!("**If no response**:\n{then}") };
    lang.pick(
        format!("**If no response** by {at}:\n{then}"),
        format!("**If no response** ({at} まで):\n{then}"),
    )
}

fn ends(lang: Lang, voice: &Voice) -> String {
    let retry = voice.command("retry");
    lang.pick(
        format!("The run ends. What is done is kept, and {retry} starts a run with the rest."),
        format!("作業を終了します。完了した分は残り、{retry} で残りを実行できます。"),
    )
}

fn how_to(escalation: &Escalation, lang: Lang, voice: &Voice) -> String {
    let resolve = resolve(escalation.number, lang, voice);
    let mut ways = if escalation.asked.is_empty() {
        lang.pick(format!("{resolve}."), format!("{resolve} と書いてください。"))
    } else {
        lang.pick(
            format!("{resolve}, or just reply in your own words if you are named above."),
            format!("{resolve} と書くか、名前を呼ばれた方はそのまま返信してください。"),
        )
    };
    if let Some(step) = &escalation.step {
        let skip = voice.command(&format!("skip {step}"));
        ways.push_str(&lang.pick(
            format!(" {skip} goes on without this step."),
            format!("{skip} でこのステップを省いて進めます。"),
        ));
    }
    ways
}

/// The command that answers it.
pub(super) fn resolve(number: u32, lang: Lang, voice: &Voice) -> String {
    voice.command(&lang.pick(format!("resolve {number} your answer"), format!("resolve {number} 回答")))
}

fn who_may(escalation: &Escalation, lang: Lang, voice: &Voice) -> String {
    let role = voice.role(Permission::Write);
    if escalation.asked.is_empty() {
        return lang.pick(
            format!("I take an answer from people with at least {role} permission."),
            format!("{role} 以上の権限を持つ方の回答を受け付けます。"),
        );
    }
    lang.pick(
        format!(
            "I take an answer from those named and from people with at least {role} permission. Plain words count as \
             long as this is my only open question."
        ),
        format!(
            "名前を呼ばれた方と、{role} 以上の権限を持つ方の回答を受け付けます。コマンドなしの返信は、未回答の質問がこれ 1 件の\
             ときだけ回答とみなします。"
        ),
    )
}

/// What waits for the answer; it says the same whatever else is done meanwhile, so that the comment need not change.
fn meanwhile(run: &Run, escalation: &Escalation) -> String {
    let lang = run.lang;
    let Some(step) = &escalation.step else {
        return lang
            .pick(
                "No further step is begun before the answer.",
                "回答があるまで、新しいステップは始めません。",
            )
            .to_owned();
    };
    let after = plan_of(run, escalation).map_or(vec![], |plan| building_on(plan, step));
    let mut names: Vec<String> = after.iter().take(MOST_STEPS).map(|id| format!("`{id}`")).collect();
    if after.len() > MOST_STEPS {
        let more = after.len() - MOST_STEPS;
        names.push(lang.pick(format!("{more} more"), format!("ほか {more} 件")));
    }
    if names.is_empty() {
        return lang.pick(
            format!("`{step}` waits for the answer; the other steps go on meanwhile."),
            format!("`{step}` は回答を待ちます。ほかのステップはその間も進めます。"),
        );
    }
    let names = names.join(", ");
    lang.pick(
        format!("`{step}` waits for the answer, with what builds on it ({names}); the other steps go on meanwhile."),
        format!("`{step}` と、それに依存するステップ ({names}) は回答を待ちます。ほかのステップはその間も進めます。"),
    )
}

/// The steps that cannot begin before this one is accepted.
fn building_on<'a>(plan: &'a Revision, step: &StepId) -> Vec<&'a StepId> {
    let Some(sequence) = &plan.sequence else { return vec![] };
    plan.steps.iter().map(|known| &known.id).filter(|id| sequence.order.is_before(step, id)).collect()
}

/// How it ended; nothing as long as it can be answered.
fn outcome(run: &Run, escalation: &Escalation, words: usize, voice: &Voice) -> Option<String> {
    let lang = run.lang;
    let step = escalation.step.as_ref();
    Some(match &escalation.state {
        EscalationState::Open | EscalationState::Expired { fallback: Fallback::Hold } => return None,
        EscalationState::Resolved { by, text } => answered(by.as_ref(), text, step, lang, words),
        EscalationState::Expired { fallback } => {
            let then = match (fallback, step) {
                (Fallback::SkipStep, Some(step)) => lang.pick(
                    format!("I go on without **{step}** and what depends on it."),
                    format!("**{step}** と、それに依存するステップを省いて進めます。"),
                ),
                (Fallback::SkipStep, None) | (Fallback::Stop | Fallback::Hold, _) => ends(lang, voice),
            };
            let late = lang.pick("**Nobody answered in time.**", "**期限までに回答がありませんでした。**");
            format!("{late} {then}")
        }
        EscalationState::PassedOn { .. } => {
            not_needed(lang.pick("another question took its place.", "別の質問に引き継ぎました。"), lang)
        }
        EscalationState::Cancelled => not_needed(&why_not(run, escalation), lang),
    })
}

fn not_needed(why: &str, lang: Lang) -> String {
    format!("**{}**: {why}", lang.pick("No answer needed any more", "回答は不要になりました"))
}

fn answered(by: Option<&Account>, text: &str, step: Option<&StepId>, lang: Lang, words: usize) -> String {
    let by = by.map_or(String::new(), |by| {
        let name = unmentioned(by, lang);
        lang.pick(format!(" by {name}"), format!(" ({name})"))
    });
    let then = match step {
        Some(step) => lang.pick(
            format!("I try **{step}** again with this in mind."),
            format!("これを踏まえて **{step}** をやり直します。"),
        ),
        None => {
            lang.pick("I make a new plan with this in mind.", "これを踏まえて計画を作り直します。").to_owned()
        }
    };
    format!("**{}**{by}: {}\n\n{then}", lang.pick("Answered", "回答済み"), line(text, words))
}

/// Who is named because of what they did, not to call them.
pub(super) fn unmentioned(account: &Account, lang: Lang) -> String {
    match account.kind {
        AccountKind::Person | AccountKind::Bot => format!("`{}`", account.login),
        AccountKind::Ghost => lang.pick("somebody", "誰か").to_owned(),
    }
}

fn why_not(run: &Run, escalation: &Escalation) -> String {
    let lang = run.lang;
    let skipped = escalation.step.as_ref().and_then(|step| Some((step, run.skipped.get(step)?)));
    if let Some((step, by)) = skipped {
        let by = unmentioned(by, lang);
        return lang.pick(format!("{by} left **{step}** out."), format!("{by} が **{step}** を省きました。"));
    }
    let replanned = plan_of(run, escalation).map(|plan| &plan.origin) != run.plan().map(|plan| &plan.origin);
    match (replanned, run.is_live()) {
        (true, _) => lang.pick("the plan has changed.", "計画が変わりました。"),
        (false, false) => lang.pick("the run has ended.", "作業が終了しました。"),
        (false, true) => lang.pick("what it was about is settled.", "対象の問題は解決しました。"),
    }
    .to_owned()
}

/// The question as it was, for who wants to read it again. Nobody is called by it.
fn folded(run: &Run, escalation: &Escalation, size: (usize, usize)) -> String {
    let mut parts: Vec<String> = step(run, escalation)
        .map(|step| format!("**{}**: {}", step.id, line(&step.description, size.0)))
        .into_iter()
        .collect();
    parts.extend(difficulty(escalation, run.lang, size));
    format!("<details><summary>What was asked</summary>\n\n{}\n\n</details>", parts.join("\n\n"))
}

pub(super) fn asks_people(record: &Record) -> bool {
    record.live_run().is_some_and(|run| run.crew.open().any(|open| open.target == Target::People))
}

/// Who answers means well, and the run waits for somebody else.
pub(super) fn not_asked(to: &str, lang: Lang) -> String {
    lang.pick(
        format!(
            "@{to}, I did not take this for an answer: it has to come from somebody whom the question names, or who can \
             write to this repository."
        ),
        format!(
            "@{to} さん、これは回答として扱いませんでした。質問で名指しされた方、またはこのリポジトリへの書き込み権限がある方の\
             回答が必要です。"
        ),
    )
}
