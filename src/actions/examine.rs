//! Purpose: look at a plan's actions before they run: are they possible, what would they change, how risky is that?
//!
//! The engine finds out what stands at each target ([`Finding`]); this room draws the conclusions. Actions of one plan
//! build on each other, so a target is seen as the actions before it leave it: exactly where their content is known,
//! otherwise as "whatever that action leaves" ([`Before::After`]). The same function looks again right before an
//! action runs, at what then really stands there; if the picture differs, the approval of it is void.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::excerpt::Excerpt;
use super::order::Order;
use super::path::RepoPath;
use super::risk::{Risk, rate};
use super::tool::{Offered, ToolEffect};
use crate::plan::{Action, ActionId, ActionKind, StepId};

/// What stands at a target, as the engine found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    Nothing,
    File {
        bytes: u64,
        sha256: String,
        /// For a diff, where it is short and text.
        text: Option<String>,
    },
    Directory,
    /// A link, a device, a submodule.
    Other,
}

/// All that has to be looked up for one action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub found: Found,
    pub tool: Option<Offered>,
    /// Why the settings forbid it, if they do.
    pub forbidden: Option<String>,
}

/// What stands where the action will write, when it is its turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Before {
    Nothing,
    File {
        bytes: u64,
        sha256: String,
    },
    Directory,
    Other,
    /// Whatever this earlier action of the plan leaves there.
    After {
        action: ActionId,
    },
    /// The action has no target in the repository.
    NoTarget,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preflight {
    pub exists: bool,
    pub overwrite: bool,
    pub before: Before,
    /// Lines that would come and go. Where the new content is not written yet, every line that is there may go; where
    /// the old is no text, neither is known.
    pub added: u32,
    pub removed: u32,
    /// The beginning of the diff, for the preview.
    pub diff: Option<Excerpt>,
}

/// An action with what was found out about it. Its id and its digest name it in approvals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    pub id: ActionId,
    pub path: Option<RepoPath>,
    pub risk: Risk,
    pub reason: String,
    pub preflight: Preflight,
    /// Content or arguments are left to a worker; approved is only the envelope.
    pub open: bool,
    pub tool_hash: Option<String>,
    /// What the tool may do. Journals from before this was known leave it out, and so take nothing for harmless.
    #[serde(default)]
    pub tool_effect: Option<ToolEffect>,
    pub digest: String,
}

/// What keeps a plan from being put up for approval. The sentences go to the model, so that it can mend its plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    pub id: ActionId,
    pub what: String,
}

pub const MAX_CONTENT: usize = 512 * 1024;
/// Built things do not belong into a repository, and nobody can review them.
const FORBIDDEN_EXTENSIONS: [&str; 14] =
    ["exe", "dll", "so", "dylib", "bin", "o", "a", "class", "jar", "pyc", "wasm", "msi", "apk", "dmg"];
const DIFF_LINES: usize = 24;
const DIFF_WIDTH: usize = 160;

/// How targets look by the time it is an action's turn.
#[derive(Debug, Default)]
struct Overlay {
    left: BTreeMap<RepoPath, Left>,
    /// The last action that may have changed anything: a program, or a tool.
    blurred_by: Option<ActionId>,
}

#[derive(Debug, Clone)]
enum Left {
    Content(String),
    Nothing,
    Directory,
    By(ActionId),
}

/// Whether targets are seen as the plan foresees them, or as they really are at the action's turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sight {
    Planned,
    Real,
}

/// Looks at a whole plan before it is put up. `findings` has one entry for each action, in order.
#[must_use]
pub fn examine(actions: &[Action], findings: &[Finding], order: &Order) -> (Vec<Spec>, Vec<Issue>) {
    // What each step begins with, and then what its own actions make of that.
    let mut overlays: BTreeMap<&StepId, Overlay> = BTreeMap::new();
    let (mut specs, mut issues) = (vec![], vec![]);
    for (action, finding) in actions.iter().zip(findings) {
        let overlay = overlays.entry(&action.task_id).or_insert_with(|| {
            let mut overlay = Overlay::default();
            order.before(actions, &action.id).into_iter().for_each(|earlier| overlay.pass(earlier));
            overlay
        });
        match look(action, finding, overlay, Sight::Planned) {
            Ok(spec) => specs.push(spec),
            Err(what) => issues.push(Issue { id: action.id.clone(), what }),
        }
        overlay.pass(action);
    }
    (specs, issues)
}

/// Looks at one action again when it is its turn. `before` are the actions of the plan that come before it and ran.
///
/// # Errors
/// The sentence that says why it cannot run any more.
pub fn examine_again(before: &[&Action], action: &Action, finding: &Finding) -> Result<Spec, String> {
    let mut overlay = Overlay::default();
    before.iter().for_each(|earlier| overlay.pass(earlier));
    look(action, finding, &overlay, Sight::Real)
}

impl Overlay {
    fn pass(&mut self, action: &Action) {
        let path = action.spec.path.as_deref().and_then(|path| path.parse::<RepoPath>().ok());
        match (action.action_type, path) {
            (ActionKind::Create | ActionKind::Write, Some(path)) => {
                let left = action.spec.content.clone().map_or(Left::By(action.id.clone()), Left::Content);
                self.left.insert(path, left);
            }
            (ActionKind::Mkdir, Some(path)) => drop(self.left.insert(path, Left::Directory)),
            (ActionKind::Delete, Some(path)) => drop(self.left.insert(path, Left::Nothing)),
            (ActionKind::Run | ActionKind::Tool, _) => {
                self.blurred_by = Some(action.id.clone());
                self.left.clear();
            }
            (ActionKind::Read | ActionKind::Analyze, _)
            | (ActionKind::Create | ActionKind::Write | ActionKind::Mkdir | ActionKind::Delete, None) => {}
        }
    }

    /// The target, and its text where it is known.
    fn before(&self, path: &RepoPath, found: &Found, sight: Sight) -> (Before, Option<String>) {
        match (self.left.get(path), &self.blurred_by) {
            (Some(Left::By(id)), _) | (None, Some(id)) => (Before::After { action: id.clone() }, None),
            (Some(Left::Content(content)), _) if sight == Sight::Planned => {
                (file(content), Some(content.clone()))
            }
            (Some(Left::Nothing), _) if sight == Sight::Planned => (Before::Nothing, None),
            (Some(Left::Directory), _) if sight == Sight::Planned => (Before::Directory, None),
            (Some(_) | None, _) => match found {
                Found::Nothing if sight == Sight::Planned && self.makes(path) => (Before::Directory, None),
                Found::Nothing => (Before::Nothing, None),
                Found::File { bytes, sha256, text } => {
                    (Before::File { bytes: *bytes, sha256: sha256.clone() }, text.clone())
                }
                Found::Directory => (Before::Directory, None),
                Found::Other => (Before::Other, None),
            },
        }
    }

    /// Files bring their directories with them.
    fn makes(&self, path: &RepoPath) -> bool {
        let inside = format!("{path}/");
        self.left
            .iter()
            .any(|(other, left)| !matches!(left, Left::Nothing) && other.as_str().starts_with(&inside))
    }
}

fn file(content: &str) -> Before {
    Before::File { bytes: content.len() as u64, sha256: hex::encode(Sha256::digest(content.as_bytes())) }
}

fn look(action: &Action, finding: &Finding, overlay: &Overlay, sight: Sight) -> Result<Spec, String> {
    if let Some(why) = &finding.forbidden {
        return Err(why.clone());
    }
    let path = target(action)?;
    let (before, text) = match &path {
        Some(path) => overlay.before(path, &finding.found, sight),
        None => (Before::NoTarget, None),
    };
    check(action, path.as_ref(), &before, finding)?;
    let preflight = preflight(action, before, text);
    let tool_hash = finding.tool.as_ref().map(|tool| tool.hash.clone());
    let tool_effect = finding.tool.as_ref().map(Offered::effect);
    let (risk, reason) = rate(action, path.as_ref(), &preflight, tool_effect);
    Ok(Spec {
        id: action.id.clone(),
        path,
        risk,
        reason,
        preflight,
        open: is_open(action),
        tool_hash,
        tool_effect,
        digest: String::new(),
    })
}

/// Whether a worker has to fill something in: the plan names the target, not the content.
#[must_use]
pub fn is_open(action: &Action) -> bool {
    match action.action_type {
        ActionKind::Create | ActionKind::Write => action.spec.content.is_none(),
        ActionKind::Tool => action.spec.arguments.is_none(),
        ActionKind::Analyze => true,
        ActionKind::Mkdir | ActionKind::Delete | ActionKind::Read | ActionKind::Run => false,
    }
}

fn target(action: &Action) -> Result<Option<RepoPath>, String> {
    let needs = match action.action_type {
        ActionKind::Create
        | ActionKind::Write
        | ActionKind::Mkdir
        | ActionKind::Delete
        | ActionKind::Read => true,
        ActionKind::Analyze | ActionKind::Run | ActionKind::Tool => false,
    };
    match &action.spec.path {
        Some(path) => path.parse().map(Some).map_err(|bad| format!("{bad} (`{path}`)")),
        None if needs => Err(format!("`{}` needs a path", action.action_type.as_str())),
        None => Ok(None),
    }
}

fn check(action: &Action, path: Option<&RepoPath>, before: &Before, finding: &Finding) -> Result<(), String> {
    check_content(action, path)?;
    let name = path.map_or("", RepoPath::as_str);
    let wrong = match (action.action_type, before) {
        (ActionKind::Create, Before::File { .. }) => "exists already; use `write` to change it",
        (ActionKind::Create | ActionKind::Write, Before::Directory) => "is a directory",
        (ActionKind::Delete | ActionKind::Read, Before::Nothing) => "does not exist",
        (ActionKind::Delete | ActionKind::Read, Before::Directory) => "is a directory; name the files in it",
        (ActionKind::Mkdir, Before::File { .. }) => "is a file",
        (
            ActionKind::Create
            | ActionKind::Write
            | ActionKind::Mkdir
            | ActionKind::Delete
            | ActionKind::Read,
            Before::Other,
        ) => "is a link or something else that is not touched",
        (ActionKind::Run, _) if action.spec.command.is_empty() => {
            return Err("`run` needs a command".to_owned());
        }
        (ActionKind::Tool, _) if finding.tool.is_none() => {
            return Err(format!("there is no tool `{}`", action.tool));
        }
        (
            ActionKind::Create
            | ActionKind::Write
            | ActionKind::Mkdir
            | ActionKind::Delete
            | ActionKind::Read
            | ActionKind::Analyze
            | ActionKind::Run
            | ActionKind::Tool,
            _,
        ) => return Ok(()),
    };
    Err(format!("`{name}` {wrong}"))
}

fn check_content(action: &Action, path: Option<&RepoPath>) -> Result<(), String> {
    let writes = matches!(action.action_type, ActionKind::Create | ActionKind::Write);
    let Some(path) = path.filter(|_| writes) else { return Ok(()) };
    if path.extension().is_some_and(|extension| FORBIDDEN_EXTENSIONS.contains(&extension.as_str())) {
        return Err(format!("`{path}` is the name of a built file, which nobody could review"));
    }
    match &action.spec.content {
        Some(content) if content.len() > MAX_CONTENT => {
            Err(format!("the content of `{path}` is longer than {} KiB", MAX_CONTENT / 1024))
        }
        Some(content) if content.contains('\0') => Err(format!("the content of `{path}` is not text")),
        Some(_) | None => Ok(()),
    }
}

fn preflight(action: &Action, before: Before, text: Option<String>) -> Preflight {
    let exists = matches!(before, Before::File { .. } | Before::Directory | Before::Other);
    let writes = matches!(action.action_type, ActionKind::Create | ActionKind::Write);
    let deletes = action.action_type == ActionKind::Delete;
    let old = text.or_else(|| matches!(before, Before::Nothing).then(String::new));
    let new = if deletes { Some(String::new()) } else { action.spec.content.clone().filter(|_| writes) };
    let (added, removed, diff) = match (old, new) {
        (Some(old), Some(new)) => difference(&old, &new),
        // What comes is known, what goes is not.
        (None, Some(new)) if writes => (0, 0, Some(Excerpt::of(&as_added(&new), DIFF_LINES, DIFF_WIDTH))),
        (Some(old), None) if writes => (0, u32::try_from(old.lines().count()).unwrap_or(u32::MAX), None),
        (_, _) => (0, 0, None),
    };
    let overwrite = writes && matches!(before, Before::File { .. } | Before::After { .. });
    Preflight { exists, overwrite, before, added, removed, diff }
}

fn as_added(content: &str) -> String {
    content.lines().map(|line| format!("+{line}\n")).collect()
}

/// Lines that come and go, and the beginning of the diff, short enough to be read in a comment.
fn difference(old: &str, new: &str) -> (u32, u32, Option<Excerpt>) {
    let diff = similar::TextDiff::from_lines(old, new);
    let (mut added, mut removed) = (0, 0);
    for change in diff.iter_all_changes() {
        match change.tag() {
            similar::ChangeTag::Insert => added += 1,
            similar::ChangeTag::Delete => removed += 1,
            similar::ChangeTag::Equal => {}
        }
    }
    let excerpt = Excerpt::of(&diff.unified_diff().context_radius(2).to_string(), DIFF_LINES, DIFF_WIDTH);
    (added, removed, (!excerpt.lines.is_empty()).then_some(excerpt))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actions::{DestructiveHint, OperatorWord};
    use crate::plan::ActionSpec;

    fn action(id: &str, kind: ActionKind, path: Option<&str>, content: Option<&str>) -> Action {
        Action {
            id: ActionId(id.to_owned()),
            task_id: StepId("task_1".to_owned()),
            action_type: kind,
            tool: "s/t".to_owned(),
            purpose: String::new(),
            expected_outcome: String::new(),
            fallback_strategy: String::new(),
            spec: ActionSpec {
                path: path.map(str::to_owned),
                content: content.map(str::to_owned),
                ..ActionSpec::default()
            },
            optional: false,
        }
    }

    fn at(found: Found) -> Finding {
        Finding { found, tool: None, forbidden: None }
    }

    fn a_file(text: &str) -> Found {
        let Before::File { bytes, sha256 } = file(text) else { unreachable!() };
        Found::File { bytes, sha256, text: Some(text.to_owned()) }
    }

    fn issue(action: &Action, finding: Finding) -> String {
        let (_, issues) = examine(std::slice::from_ref(action), &[finding], &Order::default());
        issues.first().map_or(String::new(), |issue| issue.what.clone())
    }

    #[test]
    fn what_cannot_be_done_is_said() {
        use ActionKind::{Create, Delete, Mkdir, Read, Run, Tool, Write};
        let long = "x".repeat(MAX_CONTENT + 1);
        for (kind, path, content, found, says) in [
            (Create, Some("a"), Some("x"), a_file("y"), "`a` exists already; use `write` to change it"),
            (Create, Some("a"), Some("x"), Found::Nothing, ""),
            (Write, Some("a"), Some("x"), Found::Nothing, ""),
            (Write, Some("a"), Some("x"), Found::Directory, "`a` is a directory"),
            (
                Write,
                Some("a"),
                Some("x"),
                Found::Other,
                "`a` is a link or something else that is not touched",
            ),
            (Write, None, Some("x"), Found::Nothing, "`write` needs a path"),
            (
                Write,
                Some("../a"),
                Some("x"),
                Found::Nothing,
                "the path must not leave the repository with `..` (`../a`)",
            ),
            (
                Write,
                Some("a.exe"),
                None,
                Found::Nothing,
                "`a.exe` is the name of a built file, which nobody could review",
            ),
            (Write, Some("a"), Some("x\0"), Found::Nothing, "the content of `a` is not text"),
            (Write, Some("a"), Some(&long), Found::Nothing, "the content of `a` is longer than 512 KiB"),
            (Delete, Some("a"), None, Found::Nothing, "`a` does not exist"),
            (Delete, Some("a"), None, Found::Directory, "`a` is a directory; name the files in it"),
            (Read, Some("a"), None, Found::Nothing, "`a` does not exist"),
            (Mkdir, Some("a"), None, a_file("y"), "`a` is a file"),
            (Mkdir, Some("a"), None, Found::Directory, ""),
            (Run, None, None, Found::Nothing, "`run` needs a command"),
            (Tool, None, None, Found::Nothing, "there is no tool `s/t`"),
        ] {
            assert_eq!(issue(&action("a1", kind, path, content), at(found)), says, "{kind:?} {path:?}");
        }
        let forbidden = Finding { forbidden: Some("no".to_owned()), ..at(Found::Nothing) };
        assert_eq!(issue(&action("a1", ActionKind::Create, Some("a"), Some("x")), forbidden), "no");
    }

    #[test]
    fn actions_build_on_each_other() {
        use ActionKind::{Create, Delete, Read, Run, Write};
        let mut run = action("a5", Run, None, None);
        run.spec.command = vec!["make".to_owned()];
        let actions = [
            action("a1", Create, Some("a"), Some("one\n")),
            action("a2", Write, Some("a"), Some("one\ntwo\n")),
            action("a3", Write, Some("b"), None),
            action("a4", Read, Some("b"), None),
            run,
            action("a6", Delete, Some("a"), None),
        ];
        let findings = vec![at(Found::Nothing); 6];
        let (specs, issues) = examine(&actions, &findings, &Order::default());
        assert_eq!(issues, []);
        let before: Vec<&Before> = specs.iter().map(|spec| &spec.preflight.before).collect();
        let after = |id: &str| Before::After { action: ActionId(id.to_owned()) };
        assert_eq!(
            before,
            [
                &Before::Nothing,
                &file("one\n"),
                &Before::Nothing,
                &after("a3"),
                &Before::NoTarget,
                &after("a5")
            ]
        );
        assert_eq!((specs[1].preflight.added, specs[1].preflight.removed), (1, 0));
        assert_eq!(specs[1].preflight.diff, Some(Excerpt::of("@@ -1 +1,2 @@\n one\n+two", 9, 99)));
    }

    /// Seen again at its turn, an action is the same if and only if the world is as foreseen.
    #[test]
    fn the_second_look_sees_what_is_really_there() {
        use ActionKind::{Create, Write};
        let first = action("a1", Create, Some("a"), Some("one"));
        let second = action("a2", Write, Some("a"), Some("two"));
        let (planned, _) =
            examine(&[first.clone(), second.clone()], &vec![at(Found::Nothing); 2], &Order::default());
        let again = |before: &[&Action], found| examine_again(before, &second, &at(found));
        assert_eq!(again(&[&first], a_file("one")).as_ref(), Ok(&planned[1]));
        assert_ne!(again(&[&first], a_file("other")).as_ref(), Ok(&planned[1]));
        assert_ne!(again(&[], Found::Nothing).as_ref(), Ok(&planned[1]), "the first was left out");
        assert!(again(&[&first], Found::Other).is_err());
    }

    /// One row for every kind, and for what makes it worse.
    #[test]
    fn every_kind_has_its_risk() {
        use ActionKind::{Analyze, Create, Delete, Mkdir, Read, Run, Tool, Write};
        let lines = |count: usize| a_file(&"line\n".repeat(count));
        let wide = |bytes: usize| a_file(&"x".repeat(bytes));
        let mut rows = String::new();
        for (kind, path, content, found) in [
            (Create, "a.md", Some("x"), Found::Nothing),
            (Create, "a.md", None, Found::Nothing),
            (Create, ".github/workflows/ci.yml", Some("x"), Found::Nothing),
            (Write, "a.md", Some("x"), Found::Nothing),
            (Write, "a.md", None, Found::Nothing),
            (Write, "a.md", Some("x"), lines(100)),
            (Write, "a.md", Some("x"), lines(101)),
            (Write, "a.md", None, lines(100)),
            (Write, "a.md", None, lines(1_500)),
            (Write, "a.md", None, wide(60 * 1024)),
            (Write, "a.md", None, wide(64 * 1024 + 1)),
            (Write, "a.md", Some("x"), wide(64 * 1024 + 1)),
            (Write, ".gitlab-ci.yml", None, Found::Nothing),
            (Mkdir, "docs", None, Found::Nothing),
            (Mkdir, ".github", None, Found::Nothing),
            (Delete, "a.md", None, lines(1)),
            (Read, "a.md", None, lines(1)),
            (Read, ".github/workflows/ci.yml", None, lines(1)),
            (Analyze, "a.md", None, Found::Nothing),
            (Run, "a.md", None, Found::Nothing),
        ] {
            let size = if let Found::File { bytes, text, .. } = &found {
                format!("{} lines, {bytes} bytes", text.as_ref().map_or(0, |text| text.lines().count()))
            } else {
                "nothing".to_owned()
            };
            let mut action = action("a1", kind, Some(path), content);
            action.spec.command = vec!["make".to_owned()];
            row(&mut rows, &action, at(found), &format!("{} on {size}", content.map_or("open", |_| "known")));
        }
        for hint in [DestructiveHint::Yes, DestructiveHint::Missing, DestructiveHint::No] {
            for word in [OperatorWord::Nothing, OperatorWord::ReadOnly] {
                for arguments in [None, Some(serde_json::Map::new())] {
                    let given = if arguments.is_some() { "given" } else { "open" };
                    let words = format!("destructive {hint:?}, the operator says {word:?}, {given}");
                    let mut call = action("a1", Tool, None, None);
                    call.spec.arguments = arguments;
                    let tool = Some(Offered { hash: String::new(), hint, word });
                    row(&mut rows, &call, Finding { tool, ..at(Found::Nothing) }, &words);
                }
            }
        }
        let (first, then) = (action("a1", Create, Some("a"), None), action("a2", Write, Some("a"), None));
        let (specs, _) = examine(&[first, then], &vec![at(Found::Nothing); 2], &Order::default());
        rows.push_str(&format!("write a after an open one: {:?}, {}\n", specs[1].risk, specs[1].reason));
        insta::assert_snapshot!("risks", rows);
    }

    fn row(rows: &mut String, action: &Action, finding: Finding, words: &str) {
        let (specs, issues) = examine(std::slice::from_ref(action), &[finding], &Order::default());
        assert_eq!(issues, []);
        let (kind, path) = (action.action_type.as_str(), action.spec.path.as_deref().unwrap_or("-"));
        rows.push_str(&format!("{kind} {path}, {words}: {:?}, {}\n", specs[0].risk, specs[0].reason));
    }

    /// What is written over something that nobody has seen is shown all the same, as what comes.
    #[test]
    fn content_is_shown_also_where_the_old_text_is_not_known() {
        let write = action("a2", ActionKind::Write, Some("a"), Some("one\ntwo"));
        let before = Before::After { action: ActionId("a1".to_owned()) };
        let seen = preflight(&write, before, None);
        assert_eq!(seen.diff, Some(Excerpt::of("+one\n+two", 9, 99)));
        assert_eq!((seen.added, seen.removed), (0, 0), "what goes is not known");
    }
}
