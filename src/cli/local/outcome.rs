//! Purpose: how a sitting ends: what is said last, and the exit code.

use std::process::ExitCode;

use serde_json::json;

use super::super::out::complain;
use super::face::Face;
use super::place::Repository;
use crate::planning::{Delivery, EndState, Run};

/// Said in `--help`, and the same for every way to call it.
pub(in crate::cli) const EXIT_CODES: &str = "\
Exit codes:
  0    the plan is carried out, or ready and put off by your choice
  1    something is wrong, or the run failed; standard error says why
  2    the command was not understood
  3    the run waits for a person (no terminal, and nothing in --answers)
  4    the run was cancelled or stopped, such as by a third rejection
  130  left by Ctrl-C; everything so far is kept";

pub(in crate::cli) const WAITING: u8 = 3;
pub(in crate::cli) const CANCELLED: u8 = 4;
pub(in crate::cli) const INTERRUPTED: u8 = 130;

/// What is said about a run that has ended.
pub(in crate::cli) fn ended(run: &Run, repository: &Repository, face: &mut Face) -> ExitCode {
    let Some(end) = &run.end else { return ExitCode::FAILURE };
    let state = end.state.as_str();
    let reason = match &end.state {
        EndState::Completed => None,
        EndState::Failed { reason } => Some(reason.clone()),
        EndState::Cancelled { .. } => Some(cancelled(run).to_owned()),
        EndState::Stopped { by, .. } => Some(format!("It was stopped by @{}.", by.login)),
    };
    let (branch, commit) = run.delivery.as_ref().map(|d| (&d.branch, &d.commit)).unzip();
    face.event(&json!({
        "event": "outcome", "run": run.id, "state": state, "reason": reason, "branch": branch,
        "commit": commit.cloned().flatten(), "change": run.delivery.as_ref().and_then(|d| d.change.as_ref()),
    }));
    match (&end.state, reason) {
        (EndState::Completed, _) => {
            face.card(run);
            done(run.delivery.as_ref(), repository, face);
        }
        (EndState::Failed { .. }, reason) => {
            face.quiet();
            complain(&format!("planwright: the run failed: {}", reason.unwrap_or_default()));
        }
        (EndState::Cancelled { .. } | EndState::Stopped { .. }, reason) => {
            face.tell(&format!("\nThe run is {state}. {}", reason.unwrap_or_default()));
        }
    }
    code(&end.state)
}

/// What a program is told about a run that has ended.
pub(in crate::cli) fn code(end: &EndState) -> ExitCode {
    match end {
        EndState::Completed => ExitCode::SUCCESS,
        EndState::Failed { .. } => ExitCode::FAILURE,
        EndState::Cancelled { .. } | EndState::Stopped { .. } => ExitCode::from(CANCELLED),
    }
}

fn cancelled(run: &Run) -> &'static str {
    if run.talk.rejections.len() >= 3 {
        "The design was turned down for the third time."
    } else {
        "Its branch, if it has one, is kept."
    }
}

fn done(delivery: Option<&Delivery>, repository: &Repository, face: &mut Face) {
    let Some(Delivery { branch, change, .. }) = delivery else {
        face.tell("\nDone. There is nothing on a branch.");
        return;
    };
    face.tell(&format!("\nDone. The work is on the branch `{branch}` of {}.", repository.git.display()));
    if let Some(change) = change {
        face.tell(&format!("It is kept as the change request {change} of the local forge."));
    }
    face.tell(&format!("Look at it:  git diff {}...{branch}", repository.branch));
}
