//! Purpose: what people read before they approve, word by word and in both languages.

use std::collections::BTreeSet;

use super::fixtures::{action, at, github, gitlab, plan, run};
use super::preview::{Preview, SIZES, estimate, preview, read_boxes};
use super::preview_entry::{Progress, Style, entry, fenced};
use crate::actions::{
    DestructiveHint, Excerpt, Finding, Found, Ground, Offered, OperatorWord, Order, Spec, examine,
};
use crate::domain::{Lang, Millis};
use crate::plan::{Action, ActionId, ActionKind, ActionSpec};
use crate::planning::{Request, Revision, Run, Wanted};

fn kind_of(action: Action, action_type: ActionKind, spec: ActionSpec) -> Action {
    Action { action_type, spec, ..action }
}

fn at_path(path: &str) -> ActionSpec {
    ActionSpec { path: Some(path.to_owned()), ..ActionSpec::default() }
}

/// One of each kind that can be put up, with what was found where it will act.
fn every_action() -> Vec<(Action, Finding)> {
    let found = |found| Finding { found, tool: None, forbidden: None };
    let file = |text: &str| {
        let bytes = u64::try_from(text.len()).unwrap_or_default();
        found(Found::File { bytes, sha256: "s".to_owned(), text: Some(text.to_owned()) })
    };
    let nothing = || found(Found::Nothing);
    let offered = Offered { hash: "h".to_owned(), hint: DestructiveHint::No, word: OperatorWord::Nothing };
    let content = Some("# Notes\n\nAsk @joao.\n".to_owned());
    let command = vec!["cargo".to_owned(), "test".to_owned()];
    let mut tool = kind_of(action(4, "task_2"), ActionKind::Tool, ActionSpec::default());
    tool.tool = "tickets/create".to_owned();
    let mut tests =
        kind_of(action(6, "task_3"), ActionKind::Run, ActionSpec { command, ..ActionSpec::default() });
    tests.optional = true;
    vec![
        (kind_of(action(1, "task_1"), ActionKind::Analyze, at_path("src/login.rs")), file("a\nb\n")),
        (kind_of(action(2, "task_1"), ActionKind::Write, at_path("src/login.rs")), file("a\nb\n")),
        (
            kind_of(action(3, "task_2"), ActionKind::Create, ActionSpec { content, ..at_path("notes.md") }),
            nothing(),
        ),
        (tool, Finding { tool: Some(offered), ..nothing() }),
        (kind_of(action(5, "task_3"), ActionKind::Delete, at_path("old.md")), file("old\n")),
        (tests, nothing()),
    ]
}

/// A run whose plan is put up for approval, all of it.
pub(super) fn put_up() -> Run {
    let (actions, findings): (Vec<Action>, Vec<Finding>) = every_action().into_iter().unzip();
    let (specs, issues) = examine(&actions, &findings, &Order::default());
    assert_eq!(issues, []);
    let steps = [("task_1", "Read the code"), ("task_2", "Tell of it"), ("task_3", "Tidy up")];
    let wanted = specs.iter().map(|spec| {
        let approvals = if spec.path.as_ref().is_some_and(|path| path.as_str() == "old.md") { 2 } else { 1 };
        (spec.id.clone(), Wanted { id: spec.id.clone(), digest: spec.digest.clone(), approvals })
    });
    let request = Request { wanted: wanted.collect(), digest: "3fa9c1d2".to_owned(), ..nothing_wanted() };
    let mut plan = plan(&steps, 1);
    plan.undecided = actions.iter().map(|action| action.id.clone()).collect();
    plan.sequence.iter_mut().for_each(|sequence| sequence.actions.clone_from(&actions));
    let text = String::new;
    plan.ground = Some(Ground { thread: text(), base: text(), settings: text(), expires: at(600) });
    plan.specs = specs.into_iter().map(|spec| (spec.id.clone(), spec)).collect();
    plan.requests = vec![request];
    Run { revisions: vec![plan], ..run() }
}

fn nothing_wanted() -> Request {
    Request {
        number: 1,
        at: Millis(0),
        wanted: [].into(),
        not_requester: false,
        digest: String::new(),
        changed: vec![],
        comments: vec![],
        unreadable: BTreeSet::new(),
        seen: BTreeSet::new(),
        ticked: BTreeSet::new(),
        void: false,
    }
}

fn keep(text: &str) -> String {
    text.to_owned()
}

fn posted(run: &Run, plan: &Revision, request: &Request) -> Preview {
    preview(run, plan, request, &github(), &keep)
}

fn shown(run: &Run, change: impl FnOnce(&mut Request)) -> String {
    let plan = run.plan().cloned().unwrap_or_default();
    let mut request = plan.requests[0].clone();
    change(&mut request);
    posted(run, &plan, &request).parts.join("\n=== next comment ===\n").replace('\u{200b}', "·")
}

#[test]
fn a_plan_is_put_up() {
    for (lang, name) in [(Lang::English, "put_up"), (Lang::Japanese, "put_up_in_japanese")] {
        insta::assert_snapshot!(name, shown(&Run { lang, ..put_up() }, |_| ()));
    }
    let run = put_up();
    let plan = run.plan().cloned().unwrap_or_default();
    let text = preview(&run, &plan, &plan.requests[0], &gitlab(), &keep).parts.join("\n");
    insta::assert_snapshot!("how_to_on_gitlab", text.lines().last().unwrap_or_default());
}

/// Only the difference is put up again, and what makes the difference is said.
#[test]
fn what_changed_since_the_approval_is_said() {
    let mut run = put_up();
    (run.spent.model_calls, run.spent.cost_micro_usd) = (4, Some(80_000));
    for (lang, name) in [(Lang::English, "delta"), (Lang::Japanese, "delta_in_japanese")] {
        let again = |request: &mut Request| {
            request.number = 2;
            request.not_requester = true;
            request.wanted.retain(|id, _| ["a2", "a5"].contains(&id.0.as_str()));
            request.changed =
                vec!["`old.md`".to_owned(), "the preview: @joao edited or deleted it".to_owned()];
        };
        insta::assert_snapshot!(name, shown(&Run { lang, ..run.clone() }, again));
    }
}

/// Where everything is written already, approving it costs nothing.
#[test]
fn a_plan_that_needs_no_model_says_so() {
    for (lang, name) in [(Lang::English, "closed"), (Lang::Japanese, "closed_in_japanese")] {
        let only = |request: &mut Request| request.wanted.retain(|id, _| id.0 == "a3");
        insta::assert_snapshot!(name, shown(&Run { lang, ..put_up() }, only));
    }
}

#[test]
fn boxes_are_read_and_emptied() {
    let body = "## x\n\n- [x] **1** `write` `a`\n  - [x] **2** no\n- [X] **12** y\n- [ ] **3** z";
    let (ticked, empty) = read_boxes(body);
    assert_eq!(ticked, [ActionId("a1".to_owned()), ActionId("a12".to_owned())]);
    assert_eq!(empty, "## x\n\n- [ ] **1** `write` `a`\n  - [x] **2** no\n- [ ] **12** y\n- [ ] **3** z");
    assert_eq!(read_boxes(&empty).1, empty);
}

#[test]
fn nothing_ends_a_diff_early() {
    let voice = github();
    let diff = |text: &str, lang| {
        fenced(
            &Excerpt::of(text, 2, 20),
            "diff",
            Style { voice: &voice, lang, redact: &keep, size: SIZES[0].0 },
        )
        .text
    };
    let text = diff("+```\n+</details> \u{202e}x", Lang::English);
    assert!(text.starts_with("  ````diff\n") && text.ends_with("\n  ````"), "{text}");
    assert!(text.contains("\\u{202e}x"));
    assert!(diff("a\nb\nc", Lang::English).contains("… 1 more line\n"));
    assert!(diff("a\nb\nc", Lang::Japanese).contains("… ほか 1 行"));
    let wide = "x".repeat(23);
    assert!(diff(&wide, Lang::English).contains("xx… (3 more characters)\n"));
    assert!(diff(&wide, Lang::Japanese).contains("xx… (ほか 3 文字)\n"));
}

fn calling(arguments: &str) -> (Action, Spec) {
    let mut action = action(1, "task_1");
    action.action_type = ActionKind::Tool;
    action.tool = "tickets/create".to_owned();
    action.spec.arguments = serde_json::from_str(arguments).unwrap();
    let offered = Offered { hash: "h".to_owned(), hint: DestructiveHint::No, word: OperatorWord::Nothing };
    let finding = Finding { found: Found::Nothing, tool: Some(offered), forbidden: None };
    let (mut specs, issues) = examine(std::slice::from_ref(&action), &[finding], &Order::default());
    assert_eq!(issues, []);
    (action, specs.remove(0))
}

fn asked_for(action: &Action) -> Request {
    let wanted = Wanted { id: action.id.clone(), digest: String::new(), approvals: 1 };
    Request { wanted: [(action.id.clone(), wanted)].into(), ..nothing_wanted() }
}

/// Nobody approves a call without having seen what it is called with.
#[test]
fn a_tool_is_shown_with_its_arguments() {
    let long = "x".repeat(500);
    let many: Vec<u32> = (0..40).collect();
    let text = serde_json::json!({
        "title": "Hello @maria, fixes #3 \u{202e}live",
        "body": "```\n- [x] **1** `delete` everything\n</details>",
        "long": long,
        "many": many,
    });
    let (action, spec) = calling(&text.to_string());
    let request = asked_for(&action);
    let voice = github();
    let style = Style { voice: &voice, lang: Lang::English, redact: &keep, size: SIZES[0].0 };
    let shown = entry(&action, &spec, &request, Progress::ToDo, style);
    assert!(shown.is_whole);
    insta::assert_snapshot!("arguments", shown.text);
    let (ticked, _) = read_boxes(&shown.text);
    assert_eq!(ticked, [], "no argument is taken for a box");
    let (action, spec) = calling("{}");
    assert!(
        entry(&action, &spec, &request, Progress::ToDo, style).text.contains("{}"),
        "that there are none is seen as well"
    );
    let (action, spec) = calling(&serde_json::json!({ "long": "x".repeat(30_000) }).to_string());
    let shown = entry(&action, &spec, &request, Progress::ToDo, style);
    assert!(!shown.is_whole);
    insta::assert_snapshot!("arguments_that_are_too_long", shown.text);
}

/// What it will cost is told from what calls have cost so far, and only where that is known.
#[test]
fn the_estimate_counts_open_actions_and_their_money() {
    let (action, spec) = calling("null");
    assert!(spec.open, "{action:?}");
    let closed = Spec { open: false, ..spec.clone() };
    let spent = |calls, cost| {
        let mut run = run();
        (run.spent.model_calls, run.spent.cost_micro_usd) = (calls, cost);
        run
    };
    for (run, specs, says) in [
        (spent(4, Some(80_000)), vec![&closed], "no model calls needed"),
        (spent(4, Some(80_000)), vec![&spec, &closed], "about 3 model calls, 0.06 USD"),
        (spent(4, Some(80_000)), vec![&spec, &spec], "about 6 model calls, 0.12 USD"),
        (spent(4, None), vec![&spec], "about 3 model calls"),
        (spent(4, Some(0)), vec![&spec], "about 3 model calls"),
        (spent(0, Some(5)), vec![&spec], "about 3 model calls"),
    ] {
        assert_eq!(estimate(&run, &specs), says);
    }
}

/// However much a plan has to say, it does not flood the thread.
#[test]
fn the_longest_plan_takes_a_few_comments() {
    let text = serde_json::json!({ "body": "\u{202e}".repeat(5_000) }).to_string();
    let (call, _) = calling(&text);
    let actions: Vec<Action> =
        (1..=300).map(|n| Action { id: ActionId(format!("a{n}")), ..call.clone() }).collect();
    let offered = Offered { hash: "h".to_owned(), hint: DestructiveHint::No, word: OperatorWord::Nothing };
    let found = Finding { found: Found::Nothing, tool: Some(offered), forbidden: None };
    let (specs, _) = examine(&actions, &vec![found; 300], &Order::default());
    let mut run = put_up();
    let plan = &mut run.revisions[0];
    plan.requests[0].wanted = actions.iter().flat_map(|action| asked_for(action).wanted).collect();
    plan.specs = specs.into_iter().map(|spec| (spec.id.clone(), spec)).collect();
    plan.sequence.iter_mut().for_each(|sequence| sequence.actions.clone_from(&actions));
    let plan = run.plan().cloned().unwrap_or_default();
    let shown = posted(&run, &plan, &plan.requests[0]);
    assert!(shown.parts.len() <= 10, "{}", shown.parts.len());
    assert_eq!(shown.unreadable.len(), 300, "none is covered by a plain approval");
}
