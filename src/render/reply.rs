//! Purpose: short answers to comments: one small function per sentence.

use super::checklist::done;
use super::escalation::{asks_people, not_asked};
use super::help::help;
use super::sentences::reason;
use super::status::status;
use super::words::ended;
use super::{Voice, line};
use crate::actions::number_of;
use crate::domain::Lang;
use crate::plan::ActionId;
use crate::planning::{Boxes, LeftOut, Notice, Owed, Record, Round, Run};

/// The comment that is owed, or nothing where a reaction says it.
#[must_use]
pub fn reply(owed: &Owed, record: &Record, voice: &Voice) -> Option<String> {
    let lang = record.lang();
    match owed {
        Owed::Refusal { to, what, .. } if what == "resolve" && asks_people(record) => {
            Some(not_asked(to, lang))
        }
        // 😕 on the comment is enough; a text for every refused word would be a lever for noise.
        Owed::Refusal { comment: Some(_), .. } => None,
        Owed::Refusal { to, what, needs, .. } => {
            let role = voice.role(*needs);
            Some(lang.pick(
                format!(
                    "@{to}, to {what} here I need you to have at least **{role}** permission on this repository, so I \
                     did not."
                ),
                format!("@{to} さん、`{what}` にはこのリポジトリの **{role}** 以上の権限が必要なため、実行しませんでした。"),
            ))
        }
        Owed::Reply { to, notice, .. } => Some(answer(to, notice, record, voice)),
    }
}

fn answer(to: &str, notice: &Notice, record: &Record, voice: &Voice) -> String {
    let lang = record.lang();
    match notice {
        Notice::HelpAsked => help(lang, voice),
        Notice::UnknownVerb { word } => unknown(word, lang, voice),
        Notice::StatusAsked => status_of(record, voice),
        Notice::PlanningIsOff => planning_is_off(to, lang),
        Notice::RepoFileBroken { why } => repo_file_broken(to, why, lang),
        Notice::TooManyRuns => too_many_runs(to, lang),
        Notice::AlreadyRunning => already_running(record.run.as_deref(), lang, voice),
        Notice::NothingRunning { verb } => nothing_running(verb, lang, voice),
        Notice::AlreadyPaused => already_paused(lang, voice),
        Notice::NotPaused => lang
            .pick(
                "I am not paused, so there is nothing to resume.",
                "一時停止していないので、再開するものはありません。",
            )
            .to_owned(),
        Notice::NothingToAnswer { verb } => nothing_to_answer(verb, record.run.as_deref(), lang, voice),
        Notice::BadApproval { why } => bad_approval(to, why, lang, voice),
        Notice::PreviewAltered => preview_altered(to, lang),
        Notice::UnreadableActions { actions } => unreadable_actions(to, actions, lang, voice),
        Notice::LeftOutOfApproval { left_out } => left_out_of_approval(left_out, lang),
        Notice::CannotSkip { step, why } => cannot_skip(&line(step, 40), why, lang),
        Notice::BadBudget { words } => bad_budget(&line(words, 40), lang, voice),
        Notice::NothingToRetry => nothing_to_retry(lang, voice),
        Notice::AnswerUnclear { round } => answer_unclear(to, round_of(record, *round), lang, voice),
        Notice::AnswersDiffer { question, counts } => answers_differ(question, counts, lang),
        Notice::StillWaiting { round } => still_waiting(to, record, *round, voice),
        Notice::NoSuchChoice { words, known } => no_such_choice(words, known, lang),
        Notice::TwoOptions { decision } => two_options(to, decision, lang, voice),
        Notice::AskedAltered { .. } => asked_altered(to, lang),
        Notice::QuestionSettled { number } => question_settled(*number, lang),
        Notice::NoSuchQuestion { number, open } => no_such_question(*number, open, lang, voice),
        Notice::BoxesUnseen { of } => boxes_unseen(*of, lang, voice),
    }
}

fn too_many_runs(to: &str, lang: Lang) -> String {
    lang.pick(
        format!(
            "@{to}, there were many runs on this thread within the hour, so I did not start another. Please try again \
             later."
        ),
        format!(
            "@{to} さん、この 1 時間にこのスレッドで多くの作業を行ったため、新たに開始しませんでした。後でもう一度お試しください。"
        ),
    )
}

fn already_paused(lang: Lang, voice: &Voice) -> String {
    let resume = voice.command("resume");
    lang.pick(
        format!("I am paused already; {resume} goes on."),
        format!("すでに一時停止しています。{resume} で再開します。"),
    )
}

fn cannot_skip(step: &str, why: &str, lang: Lang) -> String {
    let why = reason(why, lang);
    lang.pick(format!("I cannot skip `{step}`: {why}."), format!("`{step}` は省けません: {why}。"))
}

fn bad_budget(words: &str, lang: Lang, voice: &Voice) -> String {
    let example = voice.command("budget +1.50");
    lang.pick(
        format!("“{words}” is no amount; write it like {example}."),
        format!("「{words}」は金額として読めません。{example} のように書いてください。"),
    )
}

fn nothing_to_retry(lang: Lang, voice: &Voice) -> String {
    let plan = voice.command("plan");
    lang.pick(
        format!("There is nothing to retry here. {plan} starts a new run."),
        format!("やり直すものはありません。{plan} で新しく始めます。"),
    )
}

fn unknown(word: &str, lang: Lang, voice: &Voice) -> String {
    let what = if word.is_empty() {
        lang.pick("I was called, but not told what to do.", "呼ばれましたが、何をすればよいかわかりません。")
            .to_owned()
    } else {
        let word = line(word, 40);
        lang.pick(format!("I do not know what “{word}” means."), format!("「{word}」の意味がわかりません。"))
    };
    let known = lang.pick(" This is what I understand:", "次のコマンドが使えます。");
    format!("{what}{known}\n\n{}", help(lang, voice))
}

fn status_of(record: &Record, voice: &Voice) -> String {
    match &record.run {
        None => {
            let plan = voice.command("plan");
            record.lang().pick(
                format!("There has been no run on this thread. {plan} starts one."),
                format!("このスレッドではまだ作業していません。{plan} で開始します。"),
            )
        }
        Some(run) => {
            let steps = run.revisions.last().map_or(String::new(), |revision| {
                let (all, done) = (revision.steps.len(), done(run, revision));
                let english = match (all, done) {
                    (1, 0) => " The plan has 1 step, which is not done.".to_owned(),
                    (1, _) => " The plan has 1 step, which is done.".to_owned(),
                    (_, _) => format!(" The plan has {all} steps, {done} of them done."),
                };
                run.lang.pick(english, format!("計画は {all} ステップで、{done} ステップが完了しています。"))
            });
            let stop = run.lang.pick(".", "。");
            format!("**Status**: {}{stop}{steps}\n\n<sub>run `{}`</sub>", bare(&status(run, voice)), run.id)
        }
    }
}

/// A sentence to which a stop of its own is added.
fn bare(text: &str) -> &str {
    text.trim_end_matches(['.', '。'])
}

fn planning_is_off(to: &str, lang: Lang) -> String {
    lang.pick(
        format!(
            "@{to}, planning is switched off for this repository: whoever runs me can switch it on with \
             `planning: {{ enabled: true }}` in a rule under `repos:` in `config.yaml`, unless the repository's own \
             `.planwright.yaml` says no."
        ),
        format!(
            "@{to} さん、このリポジトリでは計画機能が無効です。運用者が `config.yaml` の `repos:` のルールに \
             `planning: {{ enabled: true }}` と書くと有効になります (リポジトリの `.planwright.yaml` が禁じていない場合)。"
        ),
    )
}

fn repo_file_broken(to: &str, why: &str, lang: Lang) -> String {
    let why = line(why, 300);
    lang.pick(
        format!(
            "@{to}, I did not start: this repository's `.planwright.yaml` cannot be understood ({why}). Please correct \
             it on the default branch and ask me again."
        ),
        format!(
            "@{to} さん、このリポジトリの `.planwright.yaml` を読み取れないため、開始しませんでした ({why})。\
             デフォルトブランチで修正して、もう一度お声がけください。"
        ),
    )
}

fn already_running(run: Option<&Run>, lang: Lang, voice: &Voice) -> String {
    let cancel = voice.command("cancel");
    let status = run.map_or(String::new(), |run| format!(" ({})", bare(&status(run, voice))));
    lang.pick(
        format!("I am at work on this thread already{status}. {cancel} ends that run."),
        format!("このスレッドではすでに作業中です{status}。{cancel} でその作業を終了します。"),
    )
}

fn nothing_running(verb: &str, lang: Lang, voice: &Voice) -> String {
    let plan = voice.command("plan");
    lang.pick(
        format!("There is nothing to {verb}: no run is under way on this thread. {plan} starts one."),
        format!("`{verb}` の対象がありません。このスレッドで進行中の作業はありません。{plan} で開始します。"),
    )
}

fn nothing_to_answer(verb: &str, run: Option<&Run>, lang: Lang, voice: &Voice) -> String {
    let status = run.map_or(String::new(), |run| {
        let status = status(run, voice);
        lang.pick(format!(" I am here: {}.", bare(&status)), format!("現在の状態: {}。", bare(&status)))
    });
    lang.pick(
        format!("There is nothing to {verb} at the moment, so I did nothing.{status}"),
        format!("今は `{verb}` の対象がないため、何もしませんでした。{status}"),
    )
}

fn bad_approval(to: &str, why: &str, lang: Lang, voice: &Voice) -> String {
    let why = line(&reason(why, lang), 300);
    let (all, part) = (voice.command("approve"), voice.command("approve 1-3,5"));
    lang.pick(
        format!(
            "@{to}, I took that for nothing: {why}. Write {all} for all of it, or the numbers of the preview, like \
             {part}."
        ),
        format!(
            "@{to} さん、承認として受け付けませんでした: {why}。すべてなら {all}、一部ならプレビューの番号で {part} の\
             ように書いてください。"
        ),
    )
}

fn preview_altered(to: &str, lang: Lang) -> String {
    lang.pick(
        format!(
            "@{to}, nothing is approved yet: somebody edited or deleted a part of the preview, so it no longer says what \
             would be approved. I put it up again below."
        ),
        format!(
            "@{to} さん、まだ何も承認されていません。プレビューの一部が編集または削除されたため、内容を確認できません。\
             改めて下に掲載します。"
        ),
    )
}

fn unreadable_actions(to: &str, actions: &[ActionId], lang: Lang, voice: &Voice) -> String {
    let numbers: Vec<&str> = actions.iter().map(number_of).collect();
    let (all, list) = (numbers.join(","), numbers.join(", "));
    let (this, except) =
        (voice.command(&format!("approve {all}")), voice.command(&format!("approve except {all}")));
    let reject = voice.command("reject why");
    lang.pick(
        format!(
            "@{to}, nothing is approved yet: the preview does not show all of action {list}, because a part is too long \
             or looks like a secret. `planwright history export --plans DIR` on the server writes it out whole. Then \
             name the numbers that you mean one by one, as in {this}, leave these out with {except}, or send me back \
             with {reject}."
        ),
        format!(
            "@{to} さん、まだ何も承認されていません。アクション {list} は、長すぎるか秘密情報に見える部分があるため、プレビューに全体が表示されていません。\
             サーバー上の `planwright history export --plans DIR` で全体を確認できます。そのうえで {this} のように番号を一つずつ指定するか、\
             {except} で除外するか、{reject} で差し戻してください。"
        ),
    )
}

fn left_out_of_approval(left_out: &[LeftOut], lang: Lang) -> String {
    const SHOWN: usize = 30;
    let mut lines: Vec<String> = left_out
        .iter()
        .take(SHOWN)
        .map(|out| {
            let (number, why) = (number_of(&out.id), line(&reason(&out.why, lang), 200));
            lang.pick(format!("- action {number}: {why}"), format!("- アクション {number}: {why}"))
        })
        .collect();
    let more = left_out.len().saturating_sub(SHOWN);
    lines = ended(lines, more, lang);
    format!("{}\n{}", lang.pick("I go on without:", "次のものを除いて進めます。"), lines.join("\n"))
}

fn round_of(record: &Record, number: u32) -> Option<&Round> {
    record.run.as_ref()?.talk.rounds.iter().find(|round| round.number == number)
}

fn answer_unclear(to: &str, round: Option<&Round>, lang: Lang, voice: &Voice) -> String {
    let first = round.and_then(|round| round.questions.first()).map_or("q-1", |question| &question.id.0);
    let skip = voice.command(&format!("skip {first}"));
    lang.pick(
        format!(
            "@{to}, I could not tell which of my questions that answers. Please put the number of the question first, \
             like `1. …`. {skip} leaves one out."
        ),
        format!(
            "@{to} さん、どの質問への回答かわかりませんでした。`1. …` のように質問の番号を先に書いてください。\
             {skip} でスキップできます。"
        ),
    )
}

fn answers_differ(question: &str, counts: &str, lang: Lang) -> String {
    let (question, counts) = (line(question, 40), line(counts, 300));
    lang.pick(
        format!(
            "There are different answers to `{question}`. I take “{counts}”: the word of who has the higher permission \
             counts, then the later one."
        ),
        format!(
            "`{question}` に異なる回答があります。「{counts}」を採用します。権限の高い人の回答、次に新しい回答を優先します。"
        ),
    )
}

fn asked_altered(to: &str, lang: Lang) -> String {
    lang.pick(
        format!(
            "@{to}, the words of what I asked were changed, so I cannot tell what its boxes stand for. I have put it back \
             as it was: please tick there, or answer in a comment."
        ),
        format!(
            "@{to} さん、質問の文面が変更されたため、チェックの意味を判断できません。元の文面に戻しました。そこでチェックするか、\
             コメントで回答してください。"
        ),
    )
}

fn boxes_unseen(of: Boxes, lang: Lang, voice: &Voice) -> String {
    let (approve, ticked) = (voice.command("approve 1-3,5"), voice.command("approve ticked"));
    let choose = voice.command("choose d-1 opt-b because …");
    let (place, how) = match of {
        Boxes::Preview => lang.pick(
            (
                "the preview",
                format!("Write the numbers, like {approve}, or untick and tick them again for {ticked}."),
            ),
            (
                "プレビュー",
                format!("{approve} のように番号で書くか、チェックを付け直して {ticked} と書いてください。"),
            ),
        ),
        Boxes::Questions => lang.pick(
            ("my questions", "Answer in a comment, like `1. …`, or untick and tick them again.".to_owned()),
            ("質問", "`1. …` のようにコメントで回答するか、チェックを付け直してください。".to_owned()),
        ),
        Boxes::Decisions => lang.pick(
            ("the decisions", format!("Write {choose}, or untick and tick them again.")),
            ("決定事項", format!("{choose} と書くか、チェックを付け直してください。")),
        ),
    };
    lang.pick(
        format!(
            "Boxes in {place} were changed while I was away. I cannot know by whom, so they do not count. {how}"
        ),
        format!("不在の間に{place}のチェックが変更されました。誰によるものかわからないため、数えません。{how}"),
    )
}

fn still_waiting(to: &str, record: &Record, number: u32, voice: &Voice) -> String {
    let run = record.run.as_ref();
    let open = run
        .zip(round_of(record, number))
        .map_or(vec![], |(run, round)| run.talk.unanswered(round).iter().map(|q| q.id.to_string()).collect());
    let skip = open.first().map_or("skip q-1".to_owned(), |id| format!("skip {id}"));
    let lang = record.lang();
    let which = if open.is_empty() { String::new() } else { format!(" ({})", listed(&open, lang)) };
    let (skip, cancel) = (voice.command(&skip), voice.command("cancel"));
    lang.pick(
        format!(
            "@{to}, I am still waiting for answers to my questions{which}, and do nothing until then. {skip} leaves a \
             question out, {cancel} ends the run."
        ),
        format!(
            "@{to} さん、質問への回答{which}をお待ちしています。それまでは何もしません。{skip} で質問をスキップし、\
             {cancel} で終了します。"
        ),
    )
}

fn no_such_choice(words: &str, known: &[String], lang: Lang) -> String {
    let words = line(words, 60);
    let said = lang.pick(
        format!("I did not put up “{words}”, so I did nothing."),
        format!("「{words}」は提示していないため、何もしませんでした。"),
    );
    if known.is_empty() {
        return said;
    }
    let known = listed(known, lang);
    lang.pick(format!("{said} There are {known}."), format!("{said}選べるのは {known} です。"))
}

fn two_options(to: &str, decision: &str, lang: Lang, voice: &Voice) -> String {
    let id = line(decision, 40);
    let choose = voice.command(&format!("choose {id} opt-b because …"));
    lang.pick(
        format!(
            "@{to}, more than one option of `{id}` is ticked, so I took none. Please leave one box ticked, or write \
             {choose}."
        ),
        format!(
            "@{to} さん、`{id}` で複数の選択肢にチェックがあるため、どれも採用しませんでした。チェックを 1 つにするか、\
             {choose} と書いてください。"
        ),
    )
}

fn listed(ids: &[String], lang: Lang) -> String {
    const SHOWN: usize = 20;
    let shown: Vec<String> = ids.iter().take(SHOWN).map(|id| format!("`{}`", line(id, 40))).collect();
    let more = if ids.len() > SHOWN { lang.pick(" and others", " など") } else { "" };
    format!("{}{more}", shown.join(", "))
}

fn question_settled(number: u32, lang: Lang) -> String {
    lang.pick(
        format!("Question {number} is settled already, so this answer changes nothing. A plain comment still steers me."),
        format!("質問 {number} はすでに解決済みのため、この回答では何も変わりません。通常のコメントでの指示は受け付けます。"),
    )
}

fn no_such_question(number: u32, open: &[u32], lang: Lang, voice: &Voice) -> String {
    let known: Vec<String> =
        open.iter().map(|n| voice.command(&format!("resolve {n} your answer"))).collect();
    match known.as_slice() {
        [] => lang.pick(
            format!("There is no question {number}, and nobody waits for an answer now."),
            format!("質問 {number} はありません。現在、回答待ちの質問もありません。"),
        ),
        known => {
            let known = known.join(", ");
            lang.pick(
                format!("There is no question {number}. These wait for an answer: {known}."),
                format!("質問 {number} はありません。回答待ちの質問: {known}"),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{github, gitlab, given, round, run, stuck};
    use super::*;
    use crate::crew::Cause;
    use crate::domain::{CommentId, Permission};
    use crate::plan::{ActionId, QuestionId};
    use crate::planning::Escalation;

    fn record() -> Record {
        let mut run = run();
        run.talk.rounds = vec![round()];
        run.talk.answers = [(QuestionId("q-1".to_owned()), given(Some("All")))].into();
        let mut record = Record::default();
        record.run = Some(run.into());
        record
    }

    /// A new notice does not compile until it is listed here, and then below.
    fn is_listed(notice: &Notice) {
        match notice {
            Notice::HelpAsked
            | Notice::StatusAsked
            | Notice::UnknownVerb { .. }
            | Notice::PlanningIsOff
            | Notice::RepoFileBroken { .. }
            | Notice::TooManyRuns
            | Notice::AlreadyRunning
            | Notice::NothingRunning { .. }
            | Notice::AlreadyPaused
            | Notice::NotPaused
            | Notice::NothingToAnswer { .. }
            | Notice::BadApproval { .. }
            | Notice::PreviewAltered
            | Notice::UnreadableActions { .. }
            | Notice::LeftOutOfApproval { .. }
            | Notice::CannotSkip { .. }
            | Notice::BadBudget { .. }
            | Notice::NothingToRetry
            | Notice::AnswerUnclear { .. }
            | Notice::AnswersDiffer { .. }
            | Notice::StillWaiting { .. }
            | Notice::NoSuchChoice { .. }
            | Notice::TwoOptions { .. }
            | Notice::AskedAltered { .. }
            | Notice::BoxesUnseen { .. }
            | Notice::QuestionSettled { .. }
            | Notice::NoSuchQuestion { .. } => {}
        }
    }

    /// One of each, and more of those that say different things.
    fn every_notice() -> Vec<Notice> {
        let text = |words: &str| words.to_owned();
        let known = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
        let left_out = |number: usize| LeftOut { id: ActionId(format!("a{number}")), why: text("ask @joao") };
        let first = Notice::HelpAsked;
        is_listed(&first);
        vec![
            first,
            Notice::StatusAsked,
            Notice::UnknownVerb { word: text("dance @joao") },
            Notice::UnknownVerb { word: String::new() },
            Notice::PlanningIsOff,
            Notice::RepoFileBroken { why: text("line 3: `approvl` is no key") },
            Notice::TooManyRuns,
            Notice::AlreadyRunning,
            Notice::NothingRunning { verb: text("pause") },
            Notice::AlreadyPaused,
            Notice::NotPaused,
            Notice::NothingToAnswer { verb: text("approve") },
            Notice::BadApproval { why: text("there is no action `7`") },
            Notice::PreviewAltered,
            Notice::UnreadableActions { actions: vec![ActionId(text("a4")), ActionId(text("a7"))] },
            Notice::LeftOutOfApproval { left_out: vec![left_out(2), left_out(3)] },
            Notice::LeftOutOfApproval { left_out: (1..=32).map(left_out).collect() },
            Notice::CannotSkip { step: text("task_9"), why: text("there is no such step") },
            Notice::BadBudget { words: text("much") },
            Notice::NothingToRetry,
            Notice::AnswerUnclear { round: 1 },
            Notice::AnswersDiffer { question: text("q-1"), counts: text("All, @joao") },
            Notice::StillWaiting { round: 1 },
            Notice::StillWaiting { round: 9 },
            Notice::NoSuchChoice { words: text("d-9 opt-a"), known: known(&["d-1 opt-a", "d-1 opt-b"]) },
            Notice::NoSuchChoice { words: text("q-9"), known: vec![] },
            Notice::TwoOptions { decision: text("d-1") },
            Notice::AskedAltered { comment: crate::domain::CommentId(4) },
            Notice::QuestionSettled { number: 1 },
            Notice::NoSuchQuestion { number: 9, open: vec![1, 3] },
            Notice::NoSuchQuestion { number: 9, open: vec![] },
            Notice::BoxesUnseen { of: Boxes::Preview },
            Notice::BoxesUnseen { of: Boxes::Questions },
            Notice::BoxesUnseen { of: Boxes::Decisions },
        ]
    }

    fn refusal(what: &str, comment: Option<CommentId>) -> Owed {
        let key = crate::planning::Key("reply/1".to_owned());
        Owed::Refusal {
            key,
            to: "maria".to_owned(),
            what: what.to_owned(),
            needs: Permission::Triage,
            comment,
        }
    }

    fn every_reply(record: &Record, voice: &Voice) -> String {
        let key = || crate::planning::Key("reply/1".to_owned());
        let to = || "maria".to_owned();
        let replies = every_notice().into_iter().map(|notice| Owed::Reply { key: key(), to: to(), notice });
        let refusals = [refusal("plan", None), refusal("plan", Some(CommentId(4)))];
        let all = replies.chain(refusals).map(|owed| {
            let name = match &owed {
                Owed::Reply { notice, .. } => {
                    serde_json::to_value(notice).map(|json| json["notice"].to_string()).unwrap_or_default()
                }
                Owed::Refusal { .. } => "refusal".to_owned(),
            };
            let text = reply(&owed, record, voice).unwrap_or_else(|| "(only 😕)".to_owned());
            format!("--- {}\n{text}\n", name.trim_matches('"'))
        });
        all.collect::<Vec<_>>().join("\n").replace('\u{200b}', "·")
    }

    #[test]
    fn every_reply_has_its_sentence() {
        insta::assert_snapshot!("every_reply_on_github", every_reply(&record(), &github()));
        insta::assert_snapshot!("every_reply_on_gitlab", every_reply(&record(), &gitlab()));
        let mut japanese = record();
        let run = japanese.run.take().map(|run| Run { lang: Lang::Japanese, ..Run::clone(&run) });
        japanese.run = run.map(Into::into);
        insta::assert_snapshot!("every_reply_in_japanese", every_reply(&japanese, &github()));
        let nothing = Record::default();
        insta::assert_snapshot!("every_reply_without_a_run", every_reply(&nothing, &github()));
    }

    #[test]
    fn who_answers_without_having_been_asked_is_told_who_may() {
        let asking = |escalations: Vec<Escalation>, lang| {
            let mut run = Run { lang, ..run() };
            run.crew.escalations = escalations;
            let mut record = Record::default();
            record.run = Some(run.into());
            reply(&refusal("resolve", Some(CommentId(4))), &record, &github())
        };
        assert_eq!(asking(vec![], Lang::English), None, "nobody is asked anything");
        let said = [Lang::English, Lang::Japanese]
            .map(|lang| asking(vec![stuck(Cause::Scope)], lang).unwrap_or_default());
        insta::assert_snapshot!("not_asked", said.join("\n"));
    }

    #[test]
    fn the_help_names_who_may_what() {
        insta::assert_snapshot!("help", help(Lang::English, &gitlab()));
    }
}
