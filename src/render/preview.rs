//! Purpose: the preview: what is put up for approval, action by action. It is posted once and never edited by us, so
//! that what was approved stays readable; people tick its boxes.
//!
//! People approve what they can read here, so nothing may vanish from it unseen. Secrets are removed field by field,
//! before the fields are put together: a text in one action cannot swallow another action. Every cut is marked where it
//! is made. What does not fit into one comment goes into further ones. An action whose target or arguments cannot be
//! read whole all the same is listed as [`Preview::unreadable`]: approving everything does not cover it.

use super::preview_entry::{Entry, Progress, Redact, Size, Style, entry};
use super::sentences::reason;
use super::status::{actions, short, usd};
use super::words::{count, fits};
use super::{Voice, line};
use crate::actions::{Risk, Spec, risk_score};
use crate::domain::Lang;
use crate::plan::ActionId;
use crate::planning::{Request, Revision, Run};

/// How much is shown of each action, and in how many comments at most: less where it would become more. Last comes what
/// is enough for any plan; what is cut then has to be named to be approved.
pub(super) const SIZES: [(Size, usize); 4] = [
    (Size { purpose: 200, diff_lines: 25, arguments: 20_000, target: 4_000 }, 4),
    (Size { purpose: 80, diff_lines: 6, arguments: 20_000, target: 4_000 }, 8),
    (Size { purpose: 80, diff_lines: 3, arguments: 2_000, target: 1_100 }, 8),
    (Size { purpose: 80, diff_lines: 0, arguments: 300, target: 1_100 }, usize::MAX),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    /// The texts of the comments, in their order.
    pub parts: Vec<String>,
    /// The actions of which something is missing that an approval would be about.
    pub unreadable: Vec<ActionId>,
}

#[must_use]
pub fn preview(run: &Run, plan: &Revision, request: &Request, voice: &Voice, redact: Redact<'_>) -> Preview {
    let mut preview = Preview { parts: vec![], unreadable: vec![] };
    for (size, most_parts) in SIZES {
        preview = preview_of(run, plan, request, Style { voice, lang: run.lang, redact, size });
        if preview.parts.len() <= most_parts {
            break;
        }
    }
    preview
}

fn preview_of(run: &Run, plan: &Revision, request: &Request, style: Style<'_>) -> Preview {
    let mut begin = summary(run, plan, request);
    if !request.changed.is_empty() {
        let what: Vec<String> =
            request.changed.iter().map(|what| line(&(style.redact)(&reason(what, run.lang)), 200)).collect();
        let what = what.join("; ");
        begin += &run.lang.pick(
            format!(
                "\n\nWhat changed since the approval: {what}. Only what it concerns is put up again; what is done stays done."
            ),
            format!("\n\n承認後の変更点: {what}。関係する部分だけを改めてお願いします。済んだ作業はそのままです。"),
        );
    }
    let listed = plan.actions().filter(|action| request.wanted.contains_key(&action.id));
    let unpushed = run.unpushed();
    let entries: Vec<Entry> = listed
        .filter_map(|action| {
            let is_done = unpushed.contains(&action.id);
            let progress = if is_done { Progress::DoneHere } else { Progress::ToDo };
            Some(entry(action, plan.specs.get(&action.id)?, request, progress, style))
        })
        .collect();
    let unreadable = entries.iter().filter(|entry| !entry.is_whole).map(|entry| entry.id.clone()).collect();
    let bodies = split(&begin, &entries, &how_to(request, run.lang, style.voice));
    let parts = bodies
        .iter()
        .enumerate()
        .map(|(at, body)| format!("{}\n{body}", title(request, run.lang, (at + 1, bodies.len()))));
    Preview { parts: parts.collect(), unreadable }
}

/// Fills one comment after the other. An entry alone is always smaller than a comment.
fn split(begin: &str, entries: &[Entry], end: &str) -> Vec<String> {
    let mut parts = vec![];
    let mut part = begin.to_owned();
    let mut between = "\n\n";
    for entry in entries {
        if !part.is_empty() && !fits(&[&part, between, &entry.text]) {
            parts.push(std::mem::take(&mut part));
        }
        if !part.is_empty() {
            part.push_str(between);
        }
        part.push_str(&entry.text);
        between = "\n";
    }
    if fits(&[&part, "\n\n", end]) {
        part = format!("{part}\n\n{end}");
        parts.push(part);
    } else {
        parts.extend([part, end.to_owned()]);
    }
    parts
}

fn title(request: &Request, lang: Lang, (part, of): (usize, usize)) -> String {
    let (number, digest) = (request.number, short(&request.digest));
    let part = match of {
        1 => String::new(),
        _ => lang.pick(format!(" · part {part} of {of}"), format!(" · {part}/{of}")),
    };
    format!("## 🔎 Approval {number} of `{digest}`{part}")
}

fn summary(run: &Run, plan: &Revision, request: &Request) -> String {
    let specs: Vec<&Spec> = request.wanted.keys().filter_map(|id| plan.specs.get(id)).collect();
    let risks: Vec<Risk> = specs.iter().map(|spec| spec.risk).collect();
    let files: std::collections::BTreeSet<&str> =
        specs.iter().filter_map(|spec| spec.path.as_ref()).map(crate::actions::RepoPath::as_str).collect();
    let (what, risk) = (actions(specs.len(), run.lang), risk_score(&risks));
    let (files, calls) = (files.len(), estimate(run, &specs));
    run.lang.pick(
        format!("{what} on {} · risk {risk:.2} · {calls}", count(files, "file")),
        format!("{what}、ファイル {files} 件 · リスク {risk:.2} · {calls}"),
    )
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
