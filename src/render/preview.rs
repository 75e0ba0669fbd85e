//! Purpose: the preview: what is put up for approval, action by action. It is posted once and never edited by us, so
//! that what was approved stays readable; people tick its boxes.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::sentences::reason;
use super::status::{actions, short, usd};
use super::words::{count, fitting};
use super::{Voice, line};
use crate::actions::{Risk, Spec, number_of, risk_score};
use crate::domain::Lang;
use crate::plan::{Action, ActionId, ActionKind};
use crate::planning::{Request, Revision, Run};
use crate::prompts::is_invisible;

/// How much is shown of each action: words, and lines of its diff. Less when it would become too large.
pub(super) const SIZES: [(usize, usize); 4] = [(200, 25), (120, 8), (80, 0), (30, 0)];
const ARGUMENT_WIDTH: usize = 160;

#[must_use]
pub fn preview(run: &Run, plan: &Revision, request: &Request, voice: &Voice) -> String {
    let texts = SIZES.iter().map(|size| text(run, plan, request, voice, *size));
    fitting(texts).unwrap_or_else(|| head(run, plan, request))
}

fn text(run: &Run, plan: &Revision, request: &Request, voice: &Voice, size: (usize, usize)) -> String {
    let mut parts = vec![head(run, plan, request)];
    if !request.changed.is_empty() {
        let what: Vec<String> =
            request.changed.iter().map(|what| line(&reason(what, run.lang), 200)).collect();
        let what = what.join("; ");
        parts.push(run.lang.pick(
            format!(
                "What changed since the approval: {what}. Only what it concerns is put up again; what is done stays done."
            ),
            format!("承認後の変更点: {what}。関係する部分だけを改めてお願いします。済んだ作業はそのままです。"),
        ));
    }
    let listed = plan.actions().filter(|action| request.wanted.contains_key(&action.id));
    let lines: Vec<String> = listed
        .filter_map(|action| {
            plan.specs.get(&action.id).map(|spec| entry(action, spec, request, run.lang, size))
        })
        .collect();
    parts.push(lines.join("\n"));
    parts.push(how_to(request, run.lang, voice));
    parts.join("\n\n")
}

fn head(run: &Run, plan: &Revision, request: &Request) -> String {
    let specs: Vec<&Spec> = request.wanted.keys().filter_map(|id| plan.specs.get(id)).collect();
    let risks: Vec<Risk> = specs.iter().map(|spec| spec.risk).collect();
    let files: std::collections::BTreeSet<&str> =
        specs.iter().filter_map(|spec| spec.path.as_ref()).map(crate::actions::RepoPath::as_str).collect();
    let (number, digest) = (request.number, short(&request.digest));
    let (what, risk) = (actions(specs.len(), run.lang), risk_score(&risks));
    let (files, calls) = (files.len(), estimate(run, &specs));
    let sizes = run.lang.pick(
        format!("{what} on {} · risk {risk:.2} · {calls}", count(files, "file")),
        format!("{what}、ファイル {files} 件 · リスク {risk:.2} · {calls}"),
    );
    format!("## 🔎 Approval {number} of `{digest}`\n{sizes}")
}

/// Open actions take a few turns of a model each; what one turn costs is known from those before.
pub(super) fn estimate(run: &Run, specs: &[&Spec]) -> String {
    let open = u64::try_from(specs.iter().filter(|spec| spec.open).count()).unwrap_or(u64::MAX);
    if open == 0 {
        return run.lang.pick("no model calls needed", "モデル呼び出しなし").to_owned();
    }
    let calls = open.saturating_mul(3);
    match run.spent.cost_micro_usd.zip(Some(u64::from(run.spent.model_calls))) {
        Some((cost, so_far @ 1..)) if cost > 0 => {
            let usd = usd((cost / so_far).saturating_mul(calls));
            run.lang.pick(
                format!("about {calls} model calls, {usd} USD"),
                format!("モデル呼び出し約 {calls} 回、{usd} USD"),
            )
        }
        Some(_) | None => {
            run.lang.pick(format!("about {calls} model calls"), format!("モデル呼び出し約 {calls} 回"))
        }
    }
}

pub(super) fn entry(
    action: &Action,
    spec: &Spec,
    request: &Request,
    lang: Lang,
    (words, diff_lines): (usize, usize),
) -> String {
    let mark = match spec.risk {
        Risk::Low => "low",
        Risk::Medium => "medium",
        Risk::High => "**high**",
    };
    let people = request.wanted.get(&action.id).map_or(1, |wanted| wanted.approvals);
    let people = match people {
        ..=1 => String::new(),
        _ => lang.pick(format!(" · needs {people} people"), format!(" · {people} 人の承認が必要")),
    };
    let optional = if action.optional { lang.pick(" · optional", " · 任意") } else { "" };
    let mut text = format!(
        "- [ ] **{}** {} · {mark}: {}{} · {}{people}{optional}",
        number_of(&action.id),
        target(action, spec),
        reason(&spec.reason, lang),
        size_of(spec, lang),
        action.task_id,
    );
    let purpose = line(&action.purpose, words);
    if !purpose.is_empty() {
        let _ = write!(text, "  \n  {purpose}");
    }
    if spec.open {
        let _ = write!(text, "  \n  _{}_", open_words(action, lang));
    }
    if let Some(arguments) = action.spec.arguments.as_ref().filter(|_| action.action_type == ActionKind::Tool)
    {
        text.push_str(&with_arguments(arguments, lang, (words, diff_lines)));
    }
    if let Some(diff) = spec.preflight.diff.as_deref().filter(|_| diff_lines > 0) {
        let _ = write!(text, "\n\n{}", fenced(diff, "diff", diff_lines, lang));
    }
    text
}

/// What a tool is called with is half of what is approved: however little room there is, something of it is shown.
fn with_arguments(arguments: &Map<String, Value>, lang: Lang, (words, lines): (usize, usize)) -> String {
    if lines == 0 {
        let all = serde_json::to_string(arguments).unwrap_or_default();
        return format!("  \n  {}", code_up_to(&all, words));
    }
    let all = serde_json::to_string_pretty(arguments).unwrap_or_default();
    let cut: Vec<String> = all.lines().map(|line| up_to(line, ARGUMENT_WIDTH)).collect();
    format!("\n\n{}", fenced(&cut.join("\n"), "json", lines, lang))
}

fn target(action: &Action, spec: &Spec) -> String {
    let kind = action.action_type.as_str();
    match action.action_type {
        ActionKind::Run => format!("`{kind}` {}", code(&action.spec.command.join(" "))),
        ActionKind::Tool => format!("`{kind}` {}", code(&action.tool)),
        ActionKind::Create
        | ActionKind::Write
        | ActionKind::Mkdir
        | ActionKind::Delete
        | ActionKind::Read
        | ActionKind::Analyze => match &spec.path {
            Some(path) => format!("`{kind}` {}", code(path.as_str())),
            None => format!("`{kind}`"),
        },
    }
}

fn open_words(action: &Action, lang: Lang) -> &'static str {
    match action.action_type {
        ActionKind::Create | ActionKind::Write => lang.pick(
            "The content is not written yet: you approve that I write this file, and no other.",
            "内容はまだ書かれていません。承認すると、このファイルだけを書きます。",
        ),
        ActionKind::Tool => lang.pick(
            "The arguments are not chosen yet: you approve that I call this tool, and no other.",
            "引数はまだ決まっていません。承認すると、このツールだけを呼び出します。",
        ),
        ActionKind::Analyze | ActionKind::Mkdir | ActionKind::Delete | ActionKind::Read | ActionKind::Run => {
            lang.pick("I only look.", "見るだけです。")
        }
    }
}

fn size_of(spec: &Spec, lang: Lang) -> String {
    match (spec.preflight.added, spec.preflight.removed) {
        (0, 0) => String::new(),
        // Nobody knows yet what will stay of the file.
        (_, removed) if spec.open => lang.pick(format!(" (up to −{removed})"), format!(" (最大 −{removed})")),
        (added, removed) => format!(" (+{added} −{removed})"),
    }
}

/// One code span, whatever is in it.
fn code(text: &str) -> String {
    code_up_to(text, 200)
}

fn code_up_to(text: &str, most: usize) -> String {
    format!("`{}`", up_to(&visible(&text.replace('`', "'")), most))
}

fn up_to(text: &str, most: usize) -> String {
    let cut: String = text.chars().take(most).collect();
    let more = if cut.len() < text.len() { "…" } else { "" };
    format!("{cut}{more}")
}

/// A block that nothing in it can end, with what nobody would see made visible.
pub(super) fn fenced(text: &str, syntax: &str, most: usize, lang: Lang) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let all: Vec<&str> = text.lines().collect();
    let mut lines: Vec<String> = all.iter().take(most).map(|line| format!("  {}", visible(line))).collect();
    if all.len() > most {
        let more = all.len() - most;
        lines.push(lang.pick(format!("  … {}", count(more, "more line")), format!("  … ほか {more} 行")));
    }
    format!("  {fence}{syntax}\n{}\n  {fence}", lines.join("\n"))
}

fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_invisible(c) { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    out
}

fn how_to(request: &Request, lang: Lang, voice: &Voice) -> String {
    let not_requester = match request.not_requester {
        true => lang.pick(
            " Who asked for this run cannot approve its high risks.",
            "依頼者は高リスクのアクションを承認できません。",
        ),
        false => "",
    };
    let (all, part) = (voice.command("approve"), voice.command("approve 1-3,5"));
    let (ticked, reject) = (voice.command("approve ticked"), voice.command("reject why"));
    if request.wanted.len() == 1 {
        return lang.pick(
            format!(
                "{all} lets me do it. {reject} sends me back to choose again.{not_requester} Before I do it, I check \
                 that nothing has changed since."
            ),
            format!(
                "{all} で実行します。{reject} で選び直します。{not_requester}実行の前に、承認後の変更がないことを確認します。"
            ),
        );
    }
    lang.pick(
        format!(
            "{all} lets me do all of it; {part} a part; or tick boxes above and say {ticked}. {reject} sends me back \
             to choose again.{not_requester} I check before every action that nothing has changed since."
        ),
        format!(
            "{all} ですべて、{part} で一部を実行します。上のボックスにチェックを入れて {ticked} と書くこともできます。\
             {reject} で選び直します。{not_requester}各アクションの前に、承認後の変更がないことを確認します。"
        ),
    )
}

/// The boxes that are ticked in a preview, and its text with all of them empty again.
#[must_use]
pub fn read_boxes(body: &str) -> (Vec<ActionId>, String) {
    let mut ticked = vec![];
    let mut lines: Vec<String> = vec![];
    for line in body.replace("\r\n", "\n").split('\n') {
        let full = line.strip_prefix("- [x] **").or_else(|| line.strip_prefix("- [X] **"));
        match full.and_then(|rest| rest.split_once("** ")) {
            Some((number, rest)) if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => {
                ticked.push(ActionId(format!("a{number}")));
                lines.push(format!("- [ ] **{number}** {rest}"));
            }
            Some(_) | None => lines.push(line.to_owned()),
        }
    }
    (ticked, lines.join("\n"))
}
