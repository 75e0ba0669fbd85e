//! Purpose: one action in the preview: its number, kind, target and risk, and what it would write or call a tool with.
//!
//! Each field is redacted and escaped by itself, so that nothing in one field can end, hide or imitate another.

use std::fmt::Write as _;

use serde_json::Value;

use super::sentences::reason;
use super::words::count;
use super::{Voice, line};
use crate::actions::{Excerpt, Risk, Spec, number_of};
use crate::domain::Lang;
use crate::plan::{Action, ActionId, ActionKind};
use crate::planning::Request;
use crate::prompts::is_invisible;

/// Of arguments that are not shown whole.
const ARGUMENT_LINES: usize = 25;
const ARGUMENT_WIDTH: usize = 160;

/// How much is shown of each action, in characters where nothing else is said.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub purpose: usize,
    pub diff_lines: usize,
    /// Arguments up to this size are shown whole, of longer ones the beginning.
    pub arguments: usize,
    /// Of a path, the name of a tool or a command. A path has at most 1,024 bytes.
    pub target: usize,
}

/// Removes secrets from one field.
pub type Redact<'a> = &'a dyn Fn(&str) -> String;

/// Where the preview is read: the words for commands, the language, and what must not be shown there.
#[derive(Clone, Copy)]
pub(super) struct Style<'a> {
    pub voice: &'a Voice,
    pub lang: Lang,
    pub redact: Redact<'a>,
    pub size: Size,
}

/// How far an action has come that is put up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    ToDo,
    /// It was approved before and is done, but not on the forge yet.
    DoneHere,
}

/// One action in the preview.
pub(super) struct Entry {
    pub id: ActionId,
    pub text: String,
    /// Whether everything is there that says what the action is: its target, the arguments of a tool, and what is shown
    /// of its diff without anything removed as a secret.
    pub is_whole: bool,
}

/// A part of an entry.
pub(super) struct Shown {
    pub text: String,
    pub is_whole: bool,
}

pub(super) fn entry(
    action: &Action,
    spec: &Spec,
    request: &Request,
    progress: Progress,
    style: Style<'_>,
) -> Entry {
    let lang = style.lang;
    let target = target(action, spec, style);
    let mut is_whole = target.is_whole;
    let mut text = format!(
        "- [ ] **{}** {} · {}: {}{} · {}{}{}",
        number_of(&action.id),
        target.text,
        risk_mark(spec.risk),
        reason(&spec.reason, lang),
        size_of(spec, lang),
        line(&(style.redact)(&action.task_id.0), 80),
        people(action, request, lang),
        if action.optional { lang.pick(" · optional", " · 任意") } else { "" },
    );
    let purpose = line(&(style.redact)(&action.purpose), style.size.purpose);
    if !purpose.is_empty() {
        let _ = write!(text, "  \n  {purpose}");
    }
    if progress == Progress::DoneHere {
        let done = lang.pick(
            "It is done already, but not pushed: you approve that it leaves my server.",
            "実行済みですが、まだプッシュしていません。承認すると、サーバーの外に出ます。",
        );
        let _ = write!(text, "  \n  _{done}_");
    } else if spec.open {
        let _ = write!(text, "  \n  _{}_", open_words(action, lang));
    }
    let blocks = [arguments(action, style), diff(spec, style)];
    for block in blocks.into_iter().flatten() {
        is_whole &= block.is_whole;
        let _ = write!(text, "\n\n{}", block.text);
    }
    if !is_whole {
        let _ = write!(text, "\n\n  {}", not_whole(action, style));
    }
    Entry { id: action.id.clone(), text, is_whole }
}

fn risk_mark(risk: Risk) -> &'static str {
    match risk {
        Risk::Low => "low",
        Risk::Medium => "medium",
        Risk::High => "**high**",
    }
}

fn people(action: &Action, request: &Request, lang: Lang) -> String {
    match request.wanted.get(&action.id).map_or(1, |wanted| wanted.approvals) {
        ..=1 => String::new(),
        people => lang.pick(format!(" · needs {people} people"), format!(" · {people} 人の承認が必要")),
    }
}

fn not_whole(action: &Action, style: Style<'_>) -> String {
    let all = style.voice.command("approve");
    let this = style.voice.command(&format!("approve {}", number_of(&action.id)));
    style.lang.pick(
        format!("⚠️ A part of this action is not shown here, so a plain {all} does not cover it; {this} does."),
        format!("⚠️ このアクションの一部はここに表示されていないため、{all} だけでは対象になりません。{this} のように番号で指定してください。"),
    )
}

/// The kind of the action, and the path, tool or command that it is about.
fn target(action: &Action, spec: &Spec, style: Style<'_>) -> Shown {
    let kind = action.action_type.as_str();
    let named = match action.action_type {
        ActionKind::Run => Some(command_line(&action.spec.command)),
        ActionKind::Tool => Some(action.tool.clone()),
        ActionKind::Create
        | ActionKind::Write
        | ActionKind::Mkdir
        | ActionKind::Delete
        | ActionKind::Read
        | ActionKind::Analyze => spec.path.as_ref().map(ToString::to_string),
    };
    let Some(named) = named else { return Shown { text: format!("`{kind}`"), is_whole: true } };
    let named = one_line(&named, style);
    // What a command or a tool leaves at this path is kept, even if it makes machines act.
    let is_by_path = !matches!(action.action_type, ActionKind::Run | ActionKind::Tool);
    let Some(path) = spec.path.as_ref().filter(|_| !is_by_path) else {
        return Shown { text: format!("`{kind}` {}", named.text), ..named };
    };
    let path = one_line(path.as_str(), style);
    let changes = style.lang.pick("may change", "変更対象:");
    let text = format!("`{kind}` {} · {changes} {}", named.text, path.text);
    Shown { text, is_whole: named.is_whole && path.is_whole }
}

/// A code span with what would not be seen spelled out, and a cut marked.
fn one_line(text: &str, style: Style<'_>) -> Shown {
    let clean = (style.redact)(text);
    let visible = escape_invisible(&clean);
    let shown: String = visible.chars().take(style.size.target).collect();
    let cut = visible.chars().count() - shown.chars().count();
    let is_whole = clean == text && cut == 0;
    Shown { text: format!("{}{}", code_span(&shown), cut_mark(cut, style.lang)), is_whole }
}

/// One argument after the other, quoted where it would not be seen where it ends.
fn command_line(command: &[String]) -> String {
    let ends_unseen = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '"' | '\\');
    let words = command.iter().map(|word| {
        let is_plain = !word.is_empty() && !word.contains(ends_unseen);
        if is_plain { word.clone() } else { Value::from(word.as_str()).to_string() }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// What a tool is called with is half of what is approved.
fn arguments(action: &Action, style: Style<'_>) -> Option<Shown> {
    let arguments = action.spec.arguments.as_ref().filter(|_| action.action_type == ActionKind::Tool)?;
    let all = serde_json::to_string_pretty(arguments).unwrap_or_default();
    let size: usize = all.lines().map(|line| escape_invisible(line).chars().count()).sum();
    let most = style.size.arguments;
    let excerpt = if size <= most {
        Excerpt::of(&all, usize::MAX, usize::MAX)
    } else {
        Excerpt::of(&all, (most / ARGUMENT_WIDTH).clamp(1, ARGUMENT_LINES), ARGUMENT_WIDTH)
    };
    let shown = fenced(&excerpt, "json", style);
    Some(Shown { is_whole: shown.is_whole && excerpt.is_whole(), ..shown })
}

/// A diff may be cut: what the file will be is bound by the digest, and the cut is marked.
fn diff(spec: &Spec, style: Style<'_>) -> Option<Shown> {
    let diff = spec.preflight.diff.as_ref()?;
    Some(fenced(&diff.shortened(style.size.diff_lines), "diff", style))
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
fn code_span(text: &str) -> String {
    let fence = "`".repeat(longest_backticks(text) + 1);
    let touches = text.is_empty() || text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']);
    let space = if touches { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

fn longest_backticks(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

fn cut_mark(characters: usize, lang: Lang) -> String {
    match characters {
        0 => String::new(),
        more => lang.pick(format!("… ({})", count(more, "more character")), format!("… (ほか {more} 文字)")),
    }
}

/// A block that nothing in it can end, with what nobody would see made visible, and every cut marked. It is whole unless
/// something was removed as a secret.
pub(super) fn fenced(excerpt: &Excerpt, syntax: &str, style: Style<'_>) -> Shown {
    let lang = style.lang;
    let lines: Vec<&str> = excerpt.lines.iter().map(|line| line.text.as_str()).collect();
    let all = lines.join("\n");
    let clean = (style.redact)(&all);
    let is_whole = clean == all;
    // Where something was removed, it is no longer known which line was cut by how much.
    let cut = |at: usize| if is_whole { excerpt.lines.get(at).map_or(0, |line| line.more_chars) } else { 0 };
    let some_cut = excerpt.lines.iter().any(|line| line.more_chars > 0);
    let mut shown: Vec<String> = clean
        .split('\n')
        .take(if excerpt.lines.is_empty() { 0 } else { usize::MAX })
        .enumerate()
        .map(|(at, line)| format!("  {}{}", escape_invisible(line), cut_mark(cut(at), lang)))
        .collect();
    if !is_whole && some_cut {
        shown.push(lang.pick("  … (long lines are cut)", "  … (長い行は途中まで)").to_owned());
    }
    if excerpt.more_lines > 0 {
        let more = excerpt.more_lines;
        shown.push(lang.pick(format!("  … {}", count(more, "more line")), format!("  … ほか {more} 行")));
    }
    let fence = "`".repeat(longest_backticks(&clean).max(2) + 1);
    Shown { text: format!("  {fence}{syntax}\n{}\n  {fence}", shown.join("\n")), is_whole }
}

/// Characters that people would not see are written as their numbers, and so are the ends of lines.
fn escape_invisible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_invisible(c) || matches!(c, '\n' | '\u{2028}' | '\u{2029}') {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}
