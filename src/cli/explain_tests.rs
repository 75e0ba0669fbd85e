//! Purpose: a journal with every fact there is, told as one text.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::Explainer;
use crate::planning::Fact;

fn maria() -> Value {
    json!({"id": 2, "login": "maria", "kind": "person"})
}

fn tom() -> Value {
    json!({"id": 3, "login": "tom", "kind": "person"})
}

fn usage() -> Value {
    json!({"model": "m", "calls": 1, "input_tokens": 90, "output_tokens": 10, "cost_micro_usd": null, "ms": 5})
}

fn action(number: u32, kind: &str, spec: &Value) -> Value {
    json!({
        "id": format!("a{number}"), "task_id": "task_1", "action_type": kind, "tool": "srv/tool", "purpose": "p",
        "expected_outcome": "e", "fallback_strategy": "f", "spec": spec,
    })
}

fn spec(number: u32, risk: &str) -> Value {
    let preflight = json!({
        "exists": false, "overwrite": false, "before": {"state": "nothing"}, "added": 1, "removed": 0, "diff": null,
    });
    json!({
        "id": format!("a{number}"), "path": null, "risk": risk, "reason": "r", "preflight": preflight, "open": false,
        "tool_hash": null, "digest": format!("{number}00000ffff"),
    })
}

fn named(number: u32) -> Value {
    json!({"id": format!("a{number}"), "digest": format!("{number}00000ffff")})
}

fn asked_and_planned() -> Vec<Value> {
    let goal = json!({
        "main_objective": "Greet\n\u{202e}everybody", "success_criteria": [], "constraints": [], "context": "",
        "design_choices_open": false,
    });
    let step = json!({
        "id": "task_1", "description": "Say hello", "dependencies": [], "estimated_complexity": "low",
        "required_tools": [],
    });
    let actions = [
        action(1, "create", &json!({"path": "a.md", "content": "a"})),
        action(2, "run", &json!({"command": ["cargo", "test"]})),
        action(3, "tool", &json!({})),
    ];
    let counts = json!({"files": 1, "specs": 3});
    let ground = json!({"thread": "t", "base": "0123456789", "settings": "s", "expires": 9});
    let set = |issues: Value, changed: Value| {
        json!({
            "type": "specs_set", "key": "k", "actor": "system", "reason": "r", "ground": ground,
            "place": {"branch": "planwright/1-x", "into": "main"},
            "specs": [spec(1, "medium"), spec(2, "high")], "issues": issues, "changed": changed, "counts": counts,
        })
    };
    vec![
        json!({"type": "triggered", "by": maria(), "permission": "write", "how": "assigned", "event_at": null, "comment": null}),
        json!({"type": "refused", "by": tom(), "what": "approve", "needs": "write", "has": "read", "comment": 4}),
        json!({"type": "noticed", "by": tom(), "notice": {"notice": "unknown_verb", "word": "dance"}, "comment": 5}),
        json!({"type": "replied", "key": "reply/2", "comment": 6}),
        json!({"type": "comment_arrived", "by": maria(), "permission": "write", "comment": 7, "used": true}),
        json!({"type": "comment_arrived", "by": tom(), "permission": "read", "comment": 8, "used": false}),
        json!({"type": "description_edited", "by": maria(), "permission": "write", "used": true}),
        json!({"type": "ask_begun", "key": "k"}),
        json!({"type": "ask_failed", "key": "k", "problem": "passing", "reason": "The model is busy.", "usage": null}),
        json!({"type": "timer_fired", "key": "k"}),
        json!({"type": "goal_understood", "key": "k", "goal": goal, "usage": usage(), "hidden": 2}),
        json!({"type": "decomposed", "key": "k", "reasoning": "", "steps": [step], "usage": usage()}),
        json!({"type": "sequenced", "key": "k", "actions": actions, "usage": usage()}),
        json!({"type": "plan_proposed", "actor": "ai", "reason": "r", "version": 0, "title": "Greet", "rationale": "", "sources": [], "tags": [], "counts": counts}),
        set(json!([{"id": "a2", "what": "this command is not allowed"}]), json!([])),
        set(json!([]), json!([])),
        set(json!([]), json!(["the settings of this repository"])),
        json!({"type": "effect_failed", "key": "k", "problem": "lasting", "reason": "The branch is gone."}),
    ]
}

fn decided_and_done() -> Vec<Value> {
    let counts = json!({"files": 1, "specs": 3});
    let wanted = |number: u32, approvals: u32| {
        let mut wanted = named(number);
        wanted["approvals"] = approvals.into();
        wanted
    };
    let ended = |number: u32, outcome: Value, evidence: Value| {
        json!({
            "type": "action_ended", "key": "k", "action": format!("a{number}"), "outcome": outcome,
            "evidence": evidence, "expected": "e", "actual": "committed",
        })
    };
    let reflection = json!({
        "action_id": "a1", "status": "success", "evaluation": "All is well", "alignment_with_plan": "as planned",
        "issues_identified": [], "plan_revision_needed": false,
    });
    vec![
        json!({"type": "approval_requested", "actor": "system", "reason": "r", "request": 1, "wanted": [wanted(1, 1), wanted(2, 2)], "not_requester": false, "digest": "abcdef99", "changed": [], "risk_score": 0.7, "counts": counts}),
        json!({"type": "preview_posted", "request": 1, "comment": 9}),
        json!({"type": "boxes_ticked", "by": maria(), "permission": "write", "request": 1, "boxes": ["a1"], "counted": true}),
        json!({"type": "boxes_ticked", "by": tom(), "permission": "read", "request": 1, "boxes": ["a1", "a2", "a3"], "counted": false}),
        json!({"type": "preview_tampered", "by": tom(), "request": 1}),
        json!({"type": "approved", "actor": "system", "by": null, "reason": "r", "request": null, "actions": [named(3)], "left_out": [], "note": "", "comment": null, "counts": counts}),
        json!({"type": "approved", "actor": "user", "by": maria(), "reason": "1", "request": 1, "actions": [named(1), named(2)], "left_out": [{"id": "a3", "why": "@maria did not approve it"}], "note": "with care", "comment": 10, "counts": counts}),
        json!({"type": "rejected", "actor": "user", "by": maria(), "reason": "too much", "request": 2, "comment": 11, "counts": counts}),
        json!({"type": "step_skipped", "by": maria(), "step": "task_1", "comment": 12}),
        json!({"type": "budget_raised", "by": maria(), "resource": "micro_usd", "amount": 1_500_000, "comment": 13}),
        json!({"type": "paused", "by": maria(), "comment": 14}),
        json!({"type": "resumed", "by": maria(), "comment": 15}),
        json!({"type": "action_begun", "key": "k", "action": "a1", "digest": "100000ffff"}),
        ended(
            1,
            json!({"result": "succeeded"}),
            json!({"commit": "fedcba9876", "files": ["a.md"], "bytes": 1}),
        ),
        ended(2, json!({"result": "failed", "why": "the tests fail"}), json!({"exit_code": 101})),
        json!({"type": "action_interrupted", "key": "k", "action": "a3"}),
        json!({"type": "worked", "key": "k", "action": "a3", "call": {"tool": "write_file", "path": "../x", "content": "y"}, "usage": usage()}),
        json!({"type": "used", "key": "k", "action": "a3", "tool": "write_file", "result": "`../x` was not approved", "refused": true}),
        json!({"type": "used", "key": "k", "action": "a3", "tool": "read_file", "result": "x", "refused": false}),
        json!({"type": "reflected", "key": "k", "reflection": reflection, "usage": null}),
        json!({"type": "reflected", "key": "k", "reflection": null, "usage": null}),
        json!({"type": "executed", "actor": "ai", "reason": "r", "succeeded": 1, "failed": 1, "left_out": 1, "counts": counts}),
        json!({"type": "delivered", "key": "k", "branch": "planwright/1-x", "commit": "fedcba9876", "change": "github:acme/web#2", "url": null}),
        json!({"type": "completed", "actor": "system", "reason": "the plan is carried out", "counts": counts}),
        json!({"type": "aborted", "actor": "system", "reason": "Action 2 failed", "counts": counts}),
        json!({"type": "failed", "reason": "Action 2 failed"}),
        json!({"type": "cancelled", "by": maria(), "comment": 16}),
        json!({"type": "stopped", "by": maria(), "why": "closed"}),
    ]
}

#[test]
fn every_fact_has_its_sentence() {
    let mut explainer = Explainer::default();
    let facts: Vec<Value> = asked_and_planned().into_iter().chain(decided_and_done()).collect();
    let kinds: BTreeSet<&str> = facts.iter().filter_map(|fact| fact["type"].as_str()).collect();
    assert_eq!(kinds.len(), 38, "a fact is missing here: {kinds:?}");
    let mut told = String::new();
    for fact in facts {
        let read: Fact =
            serde_json::from_value(fact.clone()).unwrap_or_else(|error| panic!("{error}: {fact}"));
        let words = explainer.explain(&read).unwrap_or_else(|| "(not told)".to_owned());
        told.push_str(&format!("{:20} {words}\n", fact["type"].as_str().unwrap_or_default()));
    }
    insta::assert_snapshot!(told);
}
