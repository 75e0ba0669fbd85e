//! Purpose: what a plan would change, file by file, in full: the preview on the thread shows only the beginning.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::dossier::Dossier;
use crate::actions::{Before, RepoPath, Spec, number_of};
use crate::domain::ThreadRef;
use crate::plan::{Action, ActionKind};
use crate::tools::git::{Commit, Workspaces};

const FILE_BYTES: usize = 4 * 1024 * 1024;

pub(super) struct Diff {
    pub name: String,
    pub text: String,
}

/// Of every action whose content the plan spells out. What stood there before comes from the actions before it, or
/// from the mirror of the repository, and only counts if it is exactly what was looked at then.
pub(super) async fn diffs(dossier: &Dossier, thread: &ThreadRef, workspaces: &Workspaces) -> Vec<Diff> {
    let base = dossier.ground.as_ref().and_then(|ground| ground.base.parse::<Commit>().ok());
    let mut written: BTreeMap<&str, &str> = BTreeMap::new();
    let mut found = vec![];
    for action in &dossier.actions {
        let spec = dossier.specs.iter().find(|spec| spec.id == action.id);
        let (Some(spec), Some(path)) = (spec, spec.and_then(|spec| spec.path.as_ref())) else { continue };
        let Some(after) = after(action) else { continue };
        let before = match (written.get(path.as_str()), &base) {
            (Some(text), _) => Some((*text).to_owned()),
            (None, Some(base)) => in_mirror(workspaces, thread, base, path).await,
            (None, None) => None,
        };
        found.extend(diff(action, spec, path, (before.as_deref(), after)));
        written.insert(path.as_str(), after);
    }
    found
}

/// What the plan says will stand there; nothing for a file that goes.
fn after(action: &Action) -> Option<&str> {
    match action.action_type {
        ActionKind::Create | ActionKind::Write => action.spec.content.as_deref(),
        ActionKind::Delete => Some(""),
        ActionKind::Mkdir | ActionKind::Read | ActionKind::Analyze | ActionKind::Run | ActionKind::Tool => {
            None
        }
    }
}

async fn in_mirror(
    workspaces: &Workspaces,
    thread: &ThreadRef,
    base: &Commit,
    path: &RepoPath,
) -> Option<String> {
    let blob = workspaces.read(&thread.project, base, path, FILE_BYTES).await.ok()??;
    String::from_utf8(blob.bytes).ok()
}

fn diff(action: &Action, spec: &Spec, path: &RepoPath, sides: (Option<&str>, &str)) -> Option<Diff> {
    let (before, after) = sides;
    let known = match &spec.preflight.before {
        Before::Nothing => Some(""),
        Before::File { sha256, .. } => {
            before.filter(|text| hex::encode(Sha256::digest(text.as_bytes())) == *sha256)
        }
        Before::Directory | Before::Other | Before::After { .. } | Before::NoTarget => None,
    };
    let text = match known {
        Some(before) => unified(action, spec, path, (before, after)),
        None => format!(
            "# what stood there before is not known here any more; this is the beginning, as it was shown\n{}\n",
            spec.preflight.diff.as_ref()?
        ),
    };
    Some(Diff { name: name(action, path), text })
}

/// As `git apply` takes it.
fn unified(action: &Action, spec: &Spec, path: &RepoPath, (before, after): (&str, &str)) -> String {
    let is_new = spec.preflight.before == Before::Nothing;
    let old = if is_new { "/dev/null".to_owned() } else { format!("a/{path}") };
    let goes = action.action_type == ActionKind::Delete;
    let new = if goes { "/dev/null".to_owned() } else { format!("b/{path}") };
    similar::TextDiff::from_lines(before, after)
        .unified_diff()
        .context_radius(3)
        .header(&old, &new)
        .to_string()
}

/// Numbered, so that two actions on one file stay apart; plain, so that every system can store it.
fn name(action: &Action, path: &RepoPath) -> String {
    let plain: String = path
        .as_str()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-') { c } else { '_' })
        .take(100)
        .collect();
    format!("{}-{}-{plain}.diff", number_of(&action.id), action.action_type.as_str())
}
