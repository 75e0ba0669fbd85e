//! Purpose: the card: one comment per run that shows its plan and where it stands.

use super::{Voice, line};
use crate::domain::{Account, AccountKind, Reaction};
use crate::plan::Step;
use crate::planning::{EndState, Hold, Phase, Revision, Run, Spent, StopReason};

const GOAL_CAP: usize = 1_000;
/// How much of each step is shown: less when the card would become too large.
const STEP_CAPS: [usize; 4] = [300, 150, 75, 30];
/// GitHub takes 65,536 characters, and counts some as two.
const LARGEST: usize = 60_000;
const REASON_CAP: usize = 500;
const MANY: u32 = 6;

/// The card's text, or nothing as long as the 👀 says enough: until the goal is known, or somebody has to be told
/// something. It stays below every forge's limit.
#[must_use]
pub fn card(run: &Run, voice: &Voice) -> Option<String> {
    let worth_a_comment = run.goal.is_some()
        || run.pause.is_some()
        || run.retry.is_some()
        || matches!(
            run.end.as_ref().map(|end| &end.state),
            Some(EndState::Failed { .. } | EndState::Cancelled { .. })
        );
    if !worth_a_comment {
        return None;
    }
    let mut texts = STEP_CAPS.iter().map(|cap| text(run, voice, *cap));
    texts.find(|text| text.encode_utf16().count() <= LARGEST)
}

fn text(run: &Run, voice: &Voice, step_cap: usize) -> String {
    let mut parts = vec!["## 📋 Execution Plan".to_owned(), head(run, voice)];
    if let Some(revision) = run.revisions.last() {
        parts.push(checklist(&revision.steps, step_cap));
        parts.extend(what_comes_next(run, voice));
        parts.push(progress(revision));
    }
    if matches!(run.end.as_ref().map(|end| &end.state), Some(EndState::Failed { .. })) {
        parts.push(format!(
            "<sub>What happened is in the history of this thread, under run `{}`.</sub>",
            run.id
        ));
    }
    if let Some(note) = unused(run) {
        parts.push(note);
    }
    parts.join("\n\n")
}

/// The face that goes with the card: 👀 while the run lives, 😕 when it failed.
#[must_use]
pub fn reaction(run: &Run) -> Option<Reaction> {
    match run.end.as_ref().map(|end| &end.state) {
        None => Some(Reaction::Eyes),
        Some(EndState::Failed { .. }) => Some(Reaction::Confused),
        Some(EndState::Cancelled { .. } | EndState::Stopped { .. }) => None,
    }
}

fn head(run: &Run, voice: &Voice) -> String {
    let goal = match &run.goal {
        Some(goal) => format!("**Goal**: {}\n", line(&goal.main_objective, GOAL_CAP)),
        None => String::new(),
    };
    format!("{goal}**Status**: {}{}", status(run, voice), cost(&run.spent))
}

pub(super) fn status(run: &Run, voice: &Voice) -> String {
    if let Some(end) = &run.end {
        return ended(&end.state, voice);
    }
    match run.hold() {
        Some(Hold::Paused(pause)) => {
            format!("⏸ paused by {} · {} goes on from here", who(&pause.by), voice.command("resume"))
        }
        Some(Hold::Retry(retry)) => {
            format!("⏳ {} I will try again by myself.", sentence(&line(&retry.reason, REASON_CAP)))
        }
        Some(Hold::Approval { .. }) => format!("plan ready, waiting for approval{}", revision_name(run)),
        None => match run.phase() {
            Phase::Understand => "⏳ working out the goal".to_owned(),
            Phase::Decompose => "⏳ breaking the work into steps".to_owned(),
            Phase::Sequence | Phase::Approve => "⏳ choosing the actions for each step".to_owned(),
        },
    }
}

fn ended(state: &EndState, voice: &Voice) -> String {
    let again = format!("Assign me again or comment {} to start anew.", voice.command("plan"));
    match state {
        EndState::Cancelled { by } => format!("cancelled by {}. {again}", who(by)),
        EndState::Stopped { by, why: StopReason::Unassigned } => {
            format!("stopped: {} took me off this. {again}", who(by))
        }
        EndState::Stopped { by, why: StopReason::Unlabelled } => {
            format!("stopped: {} removed my label. Put it on again to start anew.", who(by))
        }
        EndState::Stopped { by, why: StopReason::Closed } => format!("stopped: {} closed this.", who(by)),
        EndState::Failed { reason } => format!("😕 failed. {} {again}", sentence(&line(reason, REASON_CAP))),
    }
}

/// Nobody is called who was not there: the forge does not always say who it was.
fn who(account: &Account) -> String {
    match account.kind {
        AccountKind::Person | AccountKind::Bot => format!("@{}", account.login),
        AccountKind::Ghost => "somebody".to_owned(),
    }
}

fn revision_name(run: &Run) -> String {
    let number = run.revisions.len().saturating_sub(1);
    match run.revisions.last().and_then(|revision| revision.sequence.as_ref()) {
        Some(sequence) => format!(" · rev {number} · `{}`", sequence.digest.get(..6).unwrap_or_default()),
        None => String::new(),
    }
}

fn sentence(text: &str) -> String {
    if text.ends_with(['.', '!', '?', '…']) { text.to_owned() } else { format!("{text}.") }
}

fn cost(spent: &Spent) -> String {
    match (spent.model_calls, spent.cost_micro_usd) {
        (0, _) | (_, Some(0)) => String::new(),
        (_, Some(micro)) if micro < 10_000 => " · under 0.01 USD".to_owned(),
        (_, Some(micro)) => format!(" · {}.{:02} USD", micro / 1_000_000, micro % 1_000_000 / 10_000),
        (1, None) => " · 1 model call".to_owned(),
        (calls, None) => format!(" · {calls} model calls"),
    }
}

fn checklist(steps: &[Step], cap: usize) -> String {
    let lines: Vec<String> =
        steps.iter().map(|step| format!("- [ ] **{}**: {}", step.id, line(&step.description, cap))).collect();
    lines.join("\n")
}

fn what_comes_next(run: &Run, voice: &Voice) -> Option<String> {
    if !run.is_live() || run.phase() != Phase::Approve {
        return None;
    }
    Some(format!(
        "> This version of Planwright plans and stops here: it holds the plan and changes nothing in the repository. {} \
         ends the run; closing this thread does as well.",
        voice.command("cancel")
    ))
}

fn progress(revision: &Revision) -> String {
    format!("*Progress: 0/{} (0%) complete*", revision.steps.len())
}

/// Counts up to a few only: otherwise everybody could make the bot edit its card without end.
fn unused(run: &Run) -> Option<String> {
    match run.unused_comments {
        0 => None,
        MANY.. => {
            Some("<sub>Many comments by people who may not steer this run were not used.</sub>".to_owned())
        }
        1 => Some("<sub>1 comment by somebody who may not steer this run was not used.</sub>".to_owned()),
        n => Some(format!("<sub>{n} comments by people who may not steer this run were not used.</sub>")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Account, ForgeKind, Millis};
    use crate::plan::{Complexity, Goal, StepId};
    use crate::planning::{End, Pause, Retry, RunId, Sequence, Trigger};

    fn voice() -> Voice {
        Voice { forge: ForgeKind::Github, bot_login: "planwright".to_owned() }
    }

    fn goal(text: &str) -> Goal {
        Goal {
            main_objective: text.to_owned(),
            success_criteria: vec![],
            constraints: vec![],
            context: String::new(),
            design_choices_open: false,
        }
    }

    fn steps(count: usize, text: &str) -> Vec<Step> {
        let step = |n| Step {
            id: StepId(format!("task_{n:_>35}")),
            description: text.to_owned(),
            dependencies: vec![],
            estimated_complexity: Complexity::Low,
            required_tools: vec![],
        };
        (1..=count).map(step).collect()
    }

    fn run() -> Run {
        Run {
            id: RunId("r".to_owned()),
            requester: Account::person(2, "maria"),
            how: Trigger::Assigned,
            started_at: Millis(0),
            event_at: None,
            goal: None,
            revisions: vec![],
            pause: None,
            retry: None,
            failed_asks: 0,
            spent: Spent::default(),
            unused_comments: 0,
            end: None,
        }
    }

    fn planned(text: &str, count: usize) -> Run {
        let sequence = Sequence { actions: vec![], digest: "3f9a12aa".to_owned(), at: Millis(0) };
        let revision = Revision { steps: steps(count, text), sequence: Some(sequence) };
        Run { goal: Some(goal(text)), revisions: vec![revision], ..run() }
    }

    #[test]
    fn every_status_has_its_sentence() {
        let maria = || Account::person(2, "maria");
        let ended = |state| Run { end: Some(End { state, at: Millis(0) }), ..planned("Greet", 2) };
        let stopped = |why| ended(EndState::Stopped { by: maria(), why });
        let retry = Retry {
            key: crate::planning::Key("k".to_owned()),
            failed_at: Millis(0),
            reason: "The language model cannot be reached at the moment.".to_owned(),
        };
        let runs = [
            run(),
            Run { goal: Some(goal("Greet")), ..run() },
            Run {
                revisions: vec![Revision { steps: steps(1, "x"), sequence: None }],
                goal: Some(goal("Greet")),
                ..run()
            },
            planned("Greet", 2),
            Run { pause: Some(Pause { by: maria(), since: Millis(0) }), ..planned("Greet", 2) },
            Run { retry: Some(retry), ..run() },
            ended(EndState::Cancelled { by: maria() }),
            stopped(StopReason::Unassigned),
            stopped(StopReason::Unlabelled),
            stopped(StopReason::Closed),
            ended(EndState::Failed { reason: "it broke".to_owned() }),
        ];
        let said: Vec<String> = runs.iter().map(|run| status(run, &voice())).collect();
        insta::assert_snapshot!(said.join("\n"));
    }

    /// The longest card there can be, in the widest letters, still fits into a GitHub comment.
    #[test]
    fn the_longest_card_fits() {
        for letter in ["x", "目", "😀", "<", "@", "&a", "[", "\\", "`", "e\u{301}"] {
            let card = card(&planned(&letter.repeat(5_000), 100), &voice()).unwrap_or_default();
            let length = card.encode_utf16().count();
            assert!(length < 65_000, "{letter}: {length} characters");
            assert_eq!(
                card.lines().filter(|line| line.starts_with("- [ ]")).count(),
                100,
                "{letter}: a step is missing"
            );
        }
    }

    #[test]
    fn a_run_that_only_began_is_not_worth_a_comment() {
        assert_eq!(card(&run(), &voice()), None);
    }
}
