//! Purpose: the words that explaining a history is made of. Texts of others are cut and lose what nobody would see.

use crate::actions::number_of;
use crate::domain::CommentId;
use crate::plan::{Action, ActionId, ActionKind};
use crate::planning::{Evidence, Mismatch, Notice, Resource, Trigger};
use crate::prompts::is_invisible;

const LINE: usize = 160;
/// How many things are named before the rest is only counted.
const NAMED: usize = 12;

pub(super) fn clip(text: &str) -> String {
    clip_to(text, LINE)
}

/// One line, cut, without control characters and what nobody sees.
pub(super) fn clip_to(text: &str, most: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let plain: String = words.join(" ").chars().filter(|c| !c.is_control() && !is_invisible(*c)).collect();
    if plain.chars().count() <= most {
        return plain;
    }
    format!("{}…", plain.chars().take(most.saturating_sub(1)).collect::<String>())
}

/// The beginning of a digest, as the preview shows it.
pub(super) fn digest(name: &str) -> String {
    name.chars().take(6).collect()
}

/// The beginning of a commit, as git shows it.
pub(super) fn commit(name: &str) -> String {
    name.chars().take(7).collect()
}

pub(super) fn plural(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// How long ago something was.
pub(super) fn age(ms: i64) -> String {
    let minutes = ms / 60_000;
    match minutes {
        ..=0 => "just now".to_owned(),
        1..=119 => format!("{minutes} min"),
        120..=2_879 => format!("{} h", minutes / 60),
        _ => format!("{} days", minutes / 1_440),
    }
}

pub(super) fn list(items: &[String]) -> String {
    let named = items.iter().take(NAMED).cloned().collect::<Vec<_>>().join("; ");
    match items.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named}; and {more} more"),
    }
}

/// Action numbers, with runs of them shortened: `actions 1-3, 5`.
pub(super) fn actions(ids: &[ActionId]) -> String {
    let names: Vec<String> = ids.iter().map(|id| number_of(id).to_owned()).collect();
    let numbers: Option<Vec<u64>> = names.iter().map(|name| name.parse().ok()).collect();
    let what = match numbers {
        Some(numbers) => ranges(numbers),
        None => names.join(", "),
    };
    match ids.len() {
        0 => "nothing".to_owned(),
        1 => format!("action {what}"),
        _ => format!("actions {what}"),
    }
}

fn ranges(mut numbers: Vec<u64>) -> String {
    numbers.sort_unstable();
    numbers.dedup();
    let mut spans: Vec<(u64, u64)> = vec![];
    for number in numbers {
        match spans.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            Some(_) | None => spans.push((number, number)),
        }
    }
    let span = |(first, last): &(u64, u64)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first}-{last}"),
    };
    spans.iter().map(span).collect::<Vec<_>>().join(", ")
}

/// What an action is about: `write README.md`.
pub(super) fn action(action: &Action) -> String {
    let target = match action.action_type {
        ActionKind::Run => Some(action.spec.command.join(" ")),
        ActionKind::Tool => Some(action.tool.clone()),
        ActionKind::Create
        | ActionKind::Write
        | ActionKind::Mkdir
        | ActionKind::Delete
        | ActionKind::Read
        | ActionKind::Analyze => action.spec.path.clone(),
    };
    match target {
        Some(target) => format!("{} `{}`", action.action_type.as_str(), clip_to(&target, 80)),
        None => action.action_type.as_str().to_owned(),
    }
}

pub(super) fn evidence(evidence: &Evidence) -> String {
    let mut parts = vec![];
    if let Some(name) = &evidence.commit {
        parts.push(format!("commit `{}`", commit(name)));
    }
    if let Some(code) = evidence.exit_code {
        parts.push(format!("exit code {code}"));
    }
    if !evidence.files.is_empty() {
        let files: Vec<String> =
            evidence.files.iter().map(|file| format!("`{}`", clip_to(file, 80))).collect();
        parts.push(list(&files));
    }
    if parts.is_empty() { String::new() } else { format!(" [{}]", parts.join(", ")) }
}

pub(super) fn amount(resource: Resource, amount: u64) -> String {
    let unit = match resource {
        Resource::MicroUsd => {
            return format!("{}.{:02} USD", amount / 1_000_000, amount % 1_000_000 / 10_000);
        }
        Resource::Tokens => "tokens",
        Resource::ModelCalls => "model calls",
        Resource::Minutes => "minutes",
        Resource::Files => "files",
        Resource::Bytes => "bytes",
    };
    format!("{amount} {unit}")
}

pub(super) fn trigger(how: Trigger) -> &'static str {
    match how {
        Trigger::Assigned => "assigned the bot",
        Trigger::Labelled => "put the label on",
        Trigger::Mentioned => "asked for a plan in a comment",
        Trigger::Document => "gave the bot a plan to carry out",
        Trigger::Retried => "asked for what was left of the run before",
        Trigger::ChangesRequested => "asked for changes in a review",
        Trigger::Replanned => "asked for another plan after the end",
    }
}

pub(super) fn preview_posted(request: u32, comments: &[CommentId], unreadable: &[ActionId]) -> String {
    let ids: Vec<String> = comments.iter().map(|comment| comment.0.to_string()).collect();
    let comments = if ids.len() == 1 { "comment" } else { "comments" };
    let posted = format!("the preview of approval {request} was posted as {comments} {}", ids.join(", "));
    match unreadable {
        [] => posted,
        some => format!("{posted}; it does not show {} whole", actions(some)),
    }
}

pub(super) fn unconfirmed(mismatch: Mismatch) -> &'static str {
    match mismatch {
        Mismatch::Missing => "which the thread does not have; nothing was done",
        Mismatch::OtherAuthor => "which is by somebody else; nothing was done",
        Mismatch::OtherText => "which says something else on the forge; nothing was done",
        Mismatch::Edited => "which was edited since; nothing was done",
        Mismatch::StillThere => "which is said to be deleted and is still there; nothing was done",
    }
}

pub(super) fn notice(notice: &Notice) -> String {
    match notice {
        Notice::HelpAsked => "asked for help".to_owned(),
        Notice::StatusAsked => "asked how it stands".to_owned(),
        Notice::UnknownVerb { word } => format!("wrote `{}`, which is no command", clip(word)),
        Notice::PlanningIsOff => "asked for a run, but planning is switched off here".to_owned(),
        Notice::RepoFileBroken { why } => {
            format!("asked for a run, but `.planwright.yaml` cannot be understood: {}", clip(why))
        }
        Notice::TooManyRuns => "asked for a run, but there were too many within an hour".to_owned(),
        Notice::AlreadyRunning => "asked for a run, but one was going on already".to_owned(),
        Notice::NothingRunning { verb } => format!("wrote `{}`, but no run was going on", clip(verb)),
        Notice::AlreadyPaused => "wrote `pause`, but the run was paused already".to_owned(),
        Notice::NotPaused => "wrote `resume`, but the run was not paused".to_owned(),
        Notice::NothingToAnswer { verb } => format!("wrote `{}`, but nothing waited for it", clip(verb)),
        Notice::PreviewAltered => "approved a preview that somebody had changed".to_owned(),
        Notice::UnreadableActions { actions } => {
            let numbers: Vec<&str> = actions.iter().map(number_of).collect();
            format!("approved actions that the preview does not show whole: {}", numbers.join(", "))
        }
        Notice::BadApproval { why } => format!("gave an approval that does not count: {}", clip(why)),
        Notice::LeftOutOfApproval { left_out } => {
            let ids: Vec<ActionId> = left_out.iter().map(|left| left.id.clone()).collect();
            format!("was told that {} stay out of the approval", actions(&ids))
        }
        Notice::CannotSkip { step, why } => format!("cannot leave `{}` out: {}", clip(step), clip(why)),
        Notice::BadBudget { words } => format!("wrote `budget {}`, which is no amount", clip(words)),
        Notice::NothingToRetry => "wrote `retry`, but nothing was left undone".to_owned(),
        Notice::AnswerUnclear { .. } => "was asked back which question that answers".to_owned(),
        Notice::AnswersDiffer { question, counts } => {
            format!(
                "answered {} otherwise than somebody before; what counts is: {}",
                clip(question),
                clip(counts)
            )
        }
        Notice::StillWaiting { round } => format!("was reminded of the questions of round {round}"),
        Notice::NoSuchChoice { words, .. } => format!("named `{}`, which was not put up", clip(words)),
        Notice::TwoOptions { decision } => format!("ticked more than one option of {}", clip(decision)),
        Notice::AskedAltered { .. } => "was told that what was asked has been put back as it was".to_owned(),
        Notice::QuestionSettled { number } => {
            format!("answered question {number}, which was settled already")
        }
        Notice::NoSuchQuestion { number, .. } => {
            format!("answered question {number}, which nobody had asked")
        }
        Notice::BoxesUnseen { .. } => {
            "changed boxes while nobody looked, which does not count; the thread was told".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shortened() {
        let ids =
            |numbers: &[u32]| numbers.iter().map(|number| ActionId(format!("a{number}"))).collect::<Vec<_>>();
        for (numbers, said) in [
            (&[] as &[u32], "nothing"),
            (&[4], "action 4"),
            (&[1, 2], "actions 1, 2"),
            (&[5, 1, 2, 3], "actions 1-3, 5"),
        ] {
            assert_eq!(actions(&ids(numbers)), said);
        }
    }

    #[test]
    fn ages_are_short() {
        let minute = 60_000;
        let ages = [0, 5, 119, 120, 60 * 47, 60 * 48].map(|minutes| age(minutes * minute));
        assert_eq!(ages, ["just now", "5 min", "119 min", "2 h", "47 h", "2 days"]);
    }

    #[test]
    fn texts_of_others_are_one_visible_line() {
        assert_eq!(clip_to("a\n b\u{202e}\u{1b}[31m", 20), "a b[31m");
        assert_eq!(clip_to("abcdef", 4), "abc…");
    }
}
