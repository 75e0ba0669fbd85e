//! Purpose: the table of commands: what to write, who may, and what it does.

use super::Voice;
use crate::domain::{ForgeKind, Lang, Permission};

pub(super) fn help(lang: Lang, voice: &Voice) -> String {
    let rows: Vec<String> = HELP
        .iter()
        .map(|(words, who, [english, japanese])| {
            let does = lang.pick(english, japanese);
            format!("| {} | {} | {does} |", voice.command(words), who_may(who, lang, voice))
        })
        .collect();
    let other = match voice.forge {
        ForgeKind::Gitlab => String::new(),
        ForgeKind::Github | ForgeKind::Local => {
            let bot = voice.handle();
            lang.pick(
                format!("\n\n`@{bot} verb` works as well as `/verb`."),
                format!("\n\n`/verb` の代わりに `@{bot} verb` とも書けます。"),
            )
        }
    };
    let head = lang.pick("| write | who may | what I do |", "| コマンド | 使える人 | 動作 |");
    format!("{head}\n|---|---|---|\n{}{other}", rows.join("\n"))
}

enum Who {
    Has(Permission),
    /// Who asked for the run may as well.
    HasOrAsked(Permission),
    /// Whoever the bot asked may as well.
    HasOrWasAsked(Permission),
}

fn who_may(who: &Who, lang: Lang, voice: &Voice) -> String {
    match who {
        Who::Has(permission) => voice.role(*permission).to_owned(),
        Who::HasOrAsked(permission) => {
            let role = voice.role(*permission);
            lang.pick(format!("{role}, or who asked"), format!("{role} または依頼者"))
        }
        Who::HasOrWasAsked(permission) => {
            let role = voice.role(*permission);
            lang.pick(format!("{role}, or whom I asked"), format!("{role} または質問された人"))
        }
    }
}

/// In English and Japanese.
const HELP: &[(&str, Who, [&str; 2])] = &[
    (
        "plan",
        Who::Has(Permission::Triage),
        ["start to plan on this thread, as assigning me does", "このスレッドで計画を始める (アサインと同じ)"],
    ),
    ("status", Who::Has(Permission::Read), ["say where I am", "現在の状態を答える"]),
    (
        "pause",
        Who::HasOrAsked(Permission::Write),
        ["stop before the next thing I would do", "次の動作の前で止まる"],
    ),
    (
        "resume",
        Who::HasOrAsked(Permission::Write),
        [
            "go on exactly there; also the no when I ask whether to change the plan",
            "止まったところから続ける。計画変更の確認には「いいえ」の意味",
        ],
    ),
    (
        "cancel",
        Who::HasOrAsked(Permission::Write),
        ["end the run; what is done stays on its branch", "作業を終了する。済んだ作業はブランチに残る"],
    ),
    (
        "approve",
        Who::Has(Permission::Write),
        [
            "let me do what I put up; `approve 1-3,5`, `except 4`, `task_2` a part of it; in review, accept the design",
            "提示した内容を実行する。`approve 1-3,5`、`except 4`、`task_2` で一部だけ。レビューでは設計を承認する",
        ],
    ),
    (
        "reject why",
        Who::Has(Permission::Write),
        ["send me back to choose again; in review, back to the design", "選び直す。レビューでは設計に戻る"],
    ),
    ("skip q-2", Who::HasOrAsked(Permission::Triage), ["leave a question unanswered", "質問に答えずに進む"]),
    (
        "choose d-1 opt-b because …",
        Who::HasOrAsked(Permission::Triage),
        ["decide between the options of a design", "設計の選択肢から決める"],
    ),
    (
        "replan why",
        Who::Has(Permission::Write),
        [
            "make a new plan for that reason, after the end in a new run; also the yes when I ask whether to change it",
            "その理由で計画を作り直す (終了後は新しく始める)。計画変更の確認には「はい」の意味",
        ],
    ),
    ("skip task_4", Who::Has(Permission::Write), ["leave a step out", "ステップを省く"]),
    (
        "resolve N your answer",
        Who::HasOrWasAsked(Permission::Write),
        ["answer question N, which I asked because I am stuck", "行き詰まったときの質問 N に答える"],
    ),
    ("budget +N", Who::Has(Permission::Write), ["raise what the run may use", "使える予算を増やす"]),
    (
        "retry",
        Who::Has(Permission::Write),
        [
            "start a run with the steps that the last one did not finish",
            "前回終わらなかったステップから始める",
        ],
    ),
    ("help", Who::Has(Permission::Read), ["show this table", "この表を表示する"]),
];
