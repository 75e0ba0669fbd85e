//! Purpose: whatever a plan says, each action that an approval would bind can be read in the posted preview.
//!
//! The comments are read as a forge shows them: as Markdown, and by what is visible in it.

use std::collections::{BTreeMap, BTreeSet};

use planwright::actions::{
    DestructiveHint, Finding, Found, Offered, OperatorWord, Order, RepoPath, Spec, examine,
};
use planwright::config::Redactor;
use planwright::domain::{Account, CommentId, ForgeKind, Millis};
use planwright::plan::{Action, ActionId, ActionKind, ActionSpec, Complexity, Step, StepId};
use planwright::planning::plan_tool::{Approver, Refusal, approve};
use planwright::planning::{Fact, Request, Revision, Run, RunId, Sequence, Trigger, Wanted};
use planwright::prompts::is_invisible;
use planwright::render::{Preview, Voice, preview};
use proptest::prelude::*;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use serde_json::{Map, Value};

/// What somebody might write to hide, end or imitate an entry.
const HOSTILE: [&str; 34] = [
    "-----BEGIN RSA PRIVATE KEY-----",
    "-----END RSA PRIVATE KEY-----",
    "MIIEpAIBAAKCAQEA1234567890abcdefghijklmnopqrstuvwxyzABCDEFGHIJKL",
    "ghp_aB3dE5gH7jK9aB3dE5gH7jK9aB3dE5gH7jK9",
    "AKIAIOSFODNN7EXAMPLE",
    "<!--",
    "-->",
    "```",
    "````\n",
    "~~~\n",
    "`",
    "``",
    "<details>",
    "</details>",
    "<script>",
    "<a href=\"",
    "\n",
    "\n\n",
    "\r",
    "\n- [ ] **7** `read` `README.md` · low: only looks · task_1",
    "- [x] **1** ",
    "\n## ",
    "\n> ",
    "\n    ",
    "|",
    "\\",
    "](x)",
    "![",
    "[^1]: ",
    "**",
    "\u{202e}",
    "\u{200b}\u{e0041}",
    "\u{2028}",
    "目標 @maria #1",
];

fn hostile_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        40 => prop::sample::select(HOSTILE.as_slice()).prop_map(str::to_owned),
        30 => "[a-z ]{1,12}",
        10 => "\\PC{0,20}",
        10 => (1_usize..30).prop_map(|n| "x".repeat(n * n)),
        5 => (1_usize..60).prop_map(|n| "y\n".repeat(n)),
        1 => Just("z".repeat(25_000)),
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

/// A path that is made of the same.
fn hostile_path() -> impl Strategy<Value = String> {
    let common = vec![".github/workflows/ci.yml", "src/a.rs", "a  b/c"];
    let text = hostile_text().prop_map(|text| {
        let path: String = text.chars().filter(|c| !c.is_control()).take(200).collect();
        if path.parse::<RepoPath>().is_ok() { path } else { "docs/x.md".to_owned() }
    });
    prop_oneof![1 => prop::sample::select(common).prop_map(str::to_owned), 3 => text]
}

fn hostile_arguments() -> impl Strategy<Value = Option<Map<String, Value>>> {
    let value = prop_oneof![hostile_text().prop_map(Value::from), any::<i64>().prop_map(Value::from)];
    let arguments = prop::collection::btree_map(hostile_text(), value, 0..4);
    prop::option::of(arguments.prop_map(|map| map.into_iter().collect()))
}

const KINDS: [ActionKind; 8] = [
    ActionKind::Create,
    ActionKind::Write,
    ActionKind::Delete,
    ActionKind::Mkdir,
    ActionKind::Read,
    ActionKind::Analyze,
    ActionKind::Run,
    ActionKind::Tool,
];

fn hostile_action() -> impl Strategy<Value = (Action, Finding)> {
    let kind = prop::sample::select(KINDS.as_slice());
    let texts = (hostile_text(), hostile_path(), prop::option::of(hostile_text()), hostile_text());
    let command = prop::collection::vec(hostile_text(), 1..4);
    let all = (kind, texts, command, hostile_arguments(), any::<bool>());
    all.prop_map(|(kind, (purpose, path, content, before), command, arguments, optional)| {
        let (is_run, is_tool) = (kind == ActionKind::Run, kind == ActionKind::Tool);
        let (bytes, sha256) = (before.len() as u64, "s".to_owned());
        let found = match kind {
            ActionKind::Write | ActionKind::Delete | ActionKind::Read | ActionKind::Analyze => {
                Found::File { bytes, sha256, text: Some(before) }
            }
            ActionKind::Create | ActionKind::Mkdir | ActionKind::Run | ActionKind::Tool => Found::Nothing,
        };
        let (hint, word) = (DestructiveHint::No, OperatorWord::Nothing);
        let offered = Offered { hash: "h".to_owned(), hint, word };
        let action = Action {
            id: ActionId(String::new()),
            task_id: StepId("task_1".to_owned()),
            action_type: kind,
            tool: if is_tool { format!("server/{}", command.concat()) } else { "files".to_owned() },
            purpose,
            expected_outcome: String::new(),
            fallback_strategy: String::new(),
            spec: ActionSpec {
                path: (!is_run && !is_tool || optional).then_some(path),
                content: content.filter(|_| matches!(kind, ActionKind::Create | ActionKind::Write)),
                command: if is_run { command } else { vec![] },
                arguments: arguments.filter(|_| is_tool),
            },
            optional,
        };
        (action, Finding { found, tool: is_tool.then_some(offered), forbidden: None })
    })
}

/// What is left without the actions that cannot be done: a plan with such a one is never put up.
fn possible(mut actions: Vec<(Action, Finding)>) -> (Vec<Action>, Vec<Spec>) {
    for ((action, _), number) in actions.iter_mut().zip(1..) {
        action.id = ActionId(format!("a{number}"));
    }
    loop {
        let (plan, findings): (Vec<Action>, Vec<Finding>) = actions.iter().cloned().unzip();
        let (specs, issues) = examine(&plan, &findings, &Order::default());
        if issues.is_empty() {
            return (plan, specs);
        }
        actions.retain(|(action, _)| issues.iter().all(|issue| issue.id != action.id));
    }
}

/// A run whose possible actions are put up, numbered from 1.
fn put_up(actions: Vec<(Action, Finding)>) -> (Run, Vec<Action>) {
    let (actions, specs) = possible(actions);
    let wanted = |spec: &Spec| Wanted { id: spec.id.clone(), digest: spec.digest.clone(), approvals: 1 };
    let request = Request {
        number: 1,
        at: Millis(0),
        wanted: specs.iter().map(|spec| (spec.id.clone(), wanted(spec))).collect(),
        not_requester: false,
        digest: "3fa9c1d2".to_owned(),
        changed: vec![],
        comments: vec![],
        unreadable: BTreeSet::new(),
        seen: BTreeSet::new(),
        ticked: BTreeSet::new(),
        void: false,
    };
    let steps = vec![Step {
        id: StepId("task_1".to_owned()),
        description: "Do it".to_owned(),
        dependencies: vec![],
        estimated_complexity: Complexity::Low,
        required_tools: vec![],
        rests_on: vec![],
    }];
    let plan = Revision {
        sequence: Some(Sequence::new(&steps, actions.clone(), Millis(0))),
        steps,
        undecided: actions.iter().map(|action| action.id.clone()).collect(),
        specs: specs.into_iter().map(|spec| (spec.id.clone(), spec)).collect(),
        requests: vec![request],
        ..Revision::default()
    };
    let run = Run::new(RunId("r".to_owned()), Account::person(1, "ana"), Trigger::Assigned, Millis(0));
    (Run { revisions: vec![plan], ..run }, actions)
}

/// An entry as people see it.
#[derive(Debug, Default)]
struct Entry {
    number: String,
    spans: Vec<String>,
    words: String,
    blocks: Vec<String>,
}

/// The entries of one comment in their order. Nothing else in it is a list, and nothing in it is HTML.
fn read(part: &str) -> Result<Vec<Entry>, TestCaseError> {
    let mut entries: Vec<Entry> = vec![];
    let (mut in_item, mut in_strong, mut in_block) = (false, false, false);
    let options = Options::ENABLE_GFM | Options::ENABLE_TASKLISTS | Options::ENABLE_TABLES;
    for event in Parser::new_ext(part, options) {
        if let Event::TaskListMarker(ticked) = event {
            prop_assert!(!ticked && in_item, "a box that is none of ours: {part}");
            entries.push(Entry::default());
            continue;
        }
        let entry = entries.last_mut().filter(|_| in_item);
        match (event, entry) {
            (Event::Html(html) | Event::InlineHtml(html), _) => {
                return Err(TestCaseError::fail(format!("HTML `{html}` in {part}")));
            }
            (Event::Start(Tag::CodeBlock(CodeBlockKind::Indented)), _) => {
                return Err(TestCaseError::fail(format!("an indented block in {part}")));
            }
            (Event::Start(Tag::Item), _) => {
                prop_assert!(!in_item, "a list in an entry: {part}");
                in_item = true;
            }
            (Event::End(TagEnd::Item), _) => in_item = false,
            (Event::Start(Tag::Strong), _) => in_strong = true,
            (Event::End(TagEnd::Strong), _) => in_strong = false,
            (Event::Start(Tag::CodeBlock(_)), Some(entry)) => {
                in_block = true;
                entry.blocks.push(String::new());
            }
            (Event::End(TagEnd::CodeBlock), _) => in_block = false,
            (Event::Code(code), Some(entry)) => entry.spans.push(code.to_string()),
            (Event::Text(text), Some(entry)) => match entry.blocks.last_mut().filter(|_| in_block) {
                Some(block) => block.push_str(&text),
                None if in_strong && entry.number.is_empty() => entry.number = text.to_string(),
                None => entry.words.push_str(&text),
            },
            (_, _) => {}
        }
    }
    Ok(entries)
}

/// As it has to be written where people would not see it otherwise.
fn spelled(text: &str) -> String {
    let is_unseen = |c: char| is_invisible(c) || matches!(c, '\n' | '\u{2028}' | '\u{2029}');
    let spell = |c: char| if is_unseen(c) { c.escape_unicode().to_string() } else { c.to_string() };
    text.chars().map(spell).collect()
}

/// Whether these are the words of the command, each with an end that is seen.
fn is_command(words: &[String], shown: &str) -> bool {
    let mut rest = shown;
    for (at, word) in words.iter().enumerate() {
        let after = if at == 0 { Some(rest) } else { rest.strip_prefix(' ') };
        let quoted = spelled(&Value::from(word.as_str()).to_string());
        let plain = spelled(word);
        let is_plain = !word.is_empty() && !word.contains(char::is_whitespace);
        let after = after.and_then(|rest| {
            let bare = || rest.strip_prefix(plain.as_str()).filter(|_| is_plain);
            rest.strip_prefix(quoted.as_str()).or_else(bare)
        });
        let Some(after) = after else { return false };
        rest = after;
    }
    rest.is_empty()
}

fn expect_readable(action: &Action, spec: &Spec, entry: &Entry) -> Result<(), TestCaseError> {
    prop_assert_eq!(entry.spans[0].as_str(), action.action_type.as_str());
    let target = entry.spans[1].as_str();
    match action.action_type {
        ActionKind::Run => prop_assert!(is_command(&action.spec.command, target), "{target}"),
        ActionKind::Tool => prop_assert_eq!(target, spelled(&action.tool)),
        ActionKind::Create
        | ActionKind::Write
        | ActionKind::Mkdir
        | ActionKind::Delete
        | ActionKind::Read
        | ActionKind::Analyze => {
            prop_assert_eq!(Some(target.to_owned()), spec.path.as_ref().map(|path| spelled(path.as_str())));
        }
    }
    let is_by_path = !matches!(action.action_type, ActionKind::Run | ActionKind::Tool);
    if let Some(path) = spec.path.as_ref().filter(|_| !is_by_path) {
        prop_assert_eq!(entry.spans[2].as_str(), spelled(path.as_str()));
    }
    let risk = format!("{}: ", spec.risk.as_str());
    prop_assert!(entry.words.contains(risk.as_str()), "{}", entry.words);
    if let Some(arguments) = &action.spec.arguments {
        let all = serde_json::to_string_pretty(arguments).unwrap_or_default();
        let all: Vec<String> = all.lines().map(spelled).collect();
        prop_assert_eq!(entry.blocks[0].trim_end(), all.join("\n"));
    }
    Ok(())
}

/// A blanket yes covers everything, or else it covers nothing and the answer names what cannot be read.
fn expect_bound(mut run: Run, shown: &Preview, actions: &[Action]) -> Result<(), TestCaseError> {
    let request = &mut run.revisions[0].requests[0];
    request.comments = vec![CommentId(1)];
    request.unreadable = shown.unreadable.iter().cloned().collect();
    let maria = Account::person(2, "maria");
    match approve(&run, Approver { by: &maria, comment: CommentId(2) }, "") {
        Ok(Fact::Approved { actions: approved, .. }) => {
            prop_assert!(shown.unreadable.is_empty());
            prop_assert_eq!(approved.len(), actions.len());
            Ok(())
        }
        Err(Refusal::Unreadable(named)) => {
            let (named, unreadable): (BTreeSet<_>, BTreeSet<_>) =
                (named.iter().collect(), shown.unreadable.iter().collect());
            prop_assert_eq!(named, unreadable);
            Ok(())
        }
        other => Err(TestCaseError::fail(format!("{other:?}"))),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_action_that_an_approval_binds_can_be_read(plan in prop::collection::vec(hostile_action(), 1..8)) {
        let (run, actions) = put_up(plan);
        let redactor = Redactor::default();
        let redact = |text: &str| redactor.clean_outgoing(text).into_owned();
        let plan = run.plan().cloned().unwrap_or_default();
        let voice = Voice { forge: ForgeKind::Github, bot_login: "planwright".to_owned() };
        let shown = preview(&run, &plan, &plan.requests[0], &voice, &redact);
        let mut entries = BTreeMap::new();
        for part in &shown.parts {
            prop_assert!(part.encode_utf16().count() < 65_000);
            for entry in read(part)? {
                prop_assert!(entries.insert(entry.number.clone(), entry).is_none(), "a number twice: {part}");
            }
        }
        prop_assert_eq!(entries.len(), actions.len());
        for action in &actions {
            let entry = &entries[action.id.0.trim_start_matches('a')];
            if shown.unreadable.contains(&action.id) {
                prop_assert!(entry.words.contains("A part of this action is not shown here"));
                prop_assert_eq!(entry.spans[0].as_str(), action.action_type.as_str());
            } else {
                expect_readable(action, &plan.specs[&action.id], entry)?;
            }
        }
        if !actions.is_empty() {
            expect_bound(run, &shown, &actions)?;
        }
    }
}
