//! Purpose: a journal with every fact there is, told as one text.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::Explainer;
use crate::planning::{Fact, ReplanFact, TalkFact};

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
        json!({"type": "language_seen", "lang": "japanese"}),
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
        json!({"type": "preview_posted", "request": 1, "comments": [9, 10], "unreadable": ["a2"]}),
        json!({"type": "boxes_ticked", "by": maria(), "permission": "write", "request": 1, "boxes": ["a1"], "counted": true}),
        json!({"type": "boxes_ticked", "by": tom(), "permission": "read", "request": 1, "boxes": ["a1", "a2", "a3"], "counted": false}),
        json!({"type": "preview_tampered", "by": tom(), "request": 1}),
        json!({"type": "preview_tampered", "by": null, "request": 1}),
        json!({"type": "approval_voided", "by": maria(), "permission": "read", "actions": ["a1", "a2"]}),
        json!({"type": "comment_unconfirmed", "by": maria(), "comment": 7, "mismatch": "missing"}),
        json!({"type": "comment_unconfirmed", "by": maria(), "comment": 7, "mismatch": "other_text"}),
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

fn question(number: u32) -> Value {
    json!({"id": format!("q-{number}"), "type": "scope", "question": "Which\npages?", "options": ["All"]})
}

fn talked() -> Vec<Value> {
    let asked = |questions: Value| {
        json!({
            "type": "questions_asked", "round": 1, "purpose": "clarification", "why": "w", "questions": questions,
            "wait_ms": 60_000, "assumes": true,
        })
    };
    let answered = |how: &str, answer: Value, withdrawn: Value| {
        json!({
            "type": "answered", "by": maria(), "permission": "write", "how": how, "withdrawn": withdrawn,
            "answers": [{"question": "q-1", "answer": answer}], "comment": 20,
        })
    };
    let option =
        json!({"id": "opt-a", "name": "By hand", "description": "", "tradeoffs": {"pros": [], "cons": []}});
    let decision = json!({"id": "d-1", "topic": "How pages are made", "options": [option]});
    let assumption = json!({"id": "A1", "question": "q-2", "text": "The start page"});
    let chosen = |why: &str| {
        json!({
            "type": "chosen", "by": tom(), "permission": "triage", "decision": "d-1", "option": "opt-a",
            "rationale": why, "comment": null,
        })
    };
    vec![
        json!({"type": "questions_found", "key": "k", "questions": [question(1)], "usage": usage()}),
        asked(json!([question(1), question(2)])),
        asked(json!([])),
        json!({"type": "questions_posted", "round": 1, "comment": 17}),
        json!({"type": "words_heard", "by": maria(), "permission": "write", "comment": 18}),
        json!({"type": "answers_mapped", "key": "k", "comment": 18, "answers": [], "usage": usage()}),
        json!({"type": "answers_mapped", "key": "k", "comment": 18, "answers": [{"question": "q-1", "answer": "All"}], "usage": usage()}),
        json!({"type": "ticks_seen", "questions": [[0]], "decisions": []}),
        json!({"type": "asked_altered", "by": tom(), "comment": 22}),
        json!({"type": "difference_said", "question": "q-1"}),
        json!({"type": "choice_withdrawn", "by": tom(), "permission": "triage", "decision": "d-1"}),
        json!({"type": "asked_back", "round": 1}),
        answered("ticked", json!("All"), json!(["q-2"])),
        answered("numbered", json!("All"), json!([])),
        answered("words", json!("All"), json!([])),
        answered("skipped", Value::Null, json!([])),
        json!({"type": "assumed", "round": 1, "assumptions": [assumption]}),
        json!({"type": "assumed", "round": 1, "assumptions": []}),
        json!({"type": "reminded", "round": 1}),
        json!({"type": "decisions_found", "key": "k", "decisions": [decision], "usage": usage()}),
        json!({"type": "decisions_posted", "comment": 21}),
        chosen("we know it"),
        chosen(""),
        json!({"type": "design_summarised", "key": "k", "summary": "By hand it is", "usage": usage()}),
        json!({"type": "review_posted", "comment": 22}),
        json!({"type": "design_approved", "by": maria(), "comment": 23}),
        json!({"type": "conversation_summed", "summary": "They agreed.", "until": 3, "usage": usage()}),
        json!({"type": "design_rejected", "by": maria(), "why": "too much", "comment": 24}),
    ]
}

fn replanned() -> Vec<Value> {
    let decision = |needed: bool| {
        json!({
            "replan_needed": needed, "confidence": 0.85, "reasoning": "The engine is gone", "replan_type": "partial_replan",
            "issues_found": [], "recommended_actions": [], "clarification_needed": false, "clarification_questions": [],
        })
    };
    let said = json!({"said": "decision", "decision": decision(true)});
    let decided = |verdict: Value, executed: bool, why: Value| {
        json!({
            "type": "replan_decision", "replan_id": 1, "phase": "execution", "llm_decision": decision(why != "fine"),
            "confidence": 0.85, "executed": executed, "override_reason": why, "verdict": verdict, "trigger": "t",
            "subject": "a1", "by": null, "source": "result", "wait_ms": null, "plan_before": ["task_1"],
        })
    };
    let revised = |result: &str, why: &str| {
        json!({
            "type": "plan_revised", "replan_id": 1, "revision": 1, "result": result, "why": why, "duration_ms": 1_500,
            "plan_after": ["task_1"],
        })
    };
    let other = |way: &str| {
        let alternative = json!({"way": way, "reasoning": "so be it"});
        json!({"type": "alternative_given", "key": "k", "alternative": alternative, "usage": null})
    };
    let limit = json!({"verdict": "limit", "level": "partial", "limit": "total"});
    vec![
        json!({"type": "decision_given", "key": "k", "said": said, "usage": null}),
        json!({"type": "evaluated", "key": "k", "said": said, "usage": null}),
        json!({"type": "replan_asked", "by": maria(), "why": "too long", "comment": 25}),
        decided(json!({"verdict": "replan", "level": "partial", "sure": true}), true, Value::Null),
        decided(json!({"verdict": "clarify"}), true, Value::Null),
        decided(json!({"verdict": "confirm", "level": "actions"}), false, json!("a person is asked first")),
        decided(json!({"verdict": "stay", "why": "too unsure"}), false, json!("too unsure")),
        decided(json!({"verdict": "stay", "why": "fine"}), false, json!("fine")),
        decided(limit, false, json!("the run has replanned as often as the settings allow")),
        json!({"type": "replan_confirmed", "replan_id": 1, "by": maria(), "comment": 26}),
        json!({"type": "replan_declined", "replan_id": 1, "by": maria(), "comment": 27}),
        json!({"type": "replan_declined", "replan_id": 1, "by": null, "comment": null}),
        json!({"type": "revision_made", "key": "k", "steps": [], "actions": [action(9, "run", &json!({"command": ["ls"]}))], "usage": usage()}),
        json!({"type": "action_begun", "key": "k", "action": "a9", "digest": "900000ffff"}),
        revised("success", ""),
        revised("failure", "it is the same plan"),
        revised("skipped", "nobody said yes"),
        json!({"type": "replan_ended", "replan_id": 2, "result": "success", "executed": true, "why": "", "duration_ms": 40}),
        json!({"type": "replan_ended", "replan_id": 3, "result": "skipped", "executed": false, "why": "nobody said yes in time", "duration_ms": 60_000}),
        other("continue"),
        other("skip_step"),
        other("nothing"),
        json!({"type": "limit_settled", "how": "go_on", "by": maria(), "comment": 28}),
        json!({"type": "limit_settled", "how": "skip_step", "by": null, "comment": null}),
    ]
}

/// The names of the facts that are no part of the conversation or of replanning.
const OWN: [&str; 41] = [
    "triggered",
    "language_seen",
    "refused",
    "noticed",
    "replied",
    "comment_arrived",
    "description_edited",
    "paused",
    "resumed",
    "cancelled",
    "stopped",
    "ask_begun",
    "goal_understood",
    "decomposed",
    "sequenced",
    "plan_proposed",
    "specs_set",
    "approval_requested",
    "preview_posted",
    "boxes_ticked",
    "preview_tampered",
    "approval_voided",
    "comment_unconfirmed",
    "approved",
    "rejected",
    "step_skipped",
    "budget_raised",
    "action_begun",
    "action_ended",
    "action_interrupted",
    "worked",
    "used",
    "reflected",
    "executed",
    "delivered",
    "completed",
    "aborted",
    "effect_failed",
    "ask_failed",
    "timer_fired",
    "failed",
];

/// Whoever adds a fact comes by here, and writes its name above.
fn is_own(fact: &Fact) -> bool {
    match fact {
        Fact::Triggered { .. }
        | Fact::LanguageSeen { .. }
        | Fact::Forgotten { .. }
        | Fact::Refused { .. }
        | Fact::Noticed { .. }
        | Fact::Replied { .. }
        | Fact::CommentArrived { .. }
        | Fact::DescriptionEdited { .. }
        | Fact::Paused { .. }
        | Fact::Resumed { .. }
        | Fact::Cancelled { .. }
        | Fact::Stopped { .. }
        | Fact::AskBegun { .. }
        | Fact::GoalUnderstood { .. }
        | Fact::Decomposed { .. }
        | Fact::Sequenced { .. }
        | Fact::PlanProposed { .. }
        | Fact::SpecsSet { .. }
        | Fact::ApprovalRequested { .. }
        | Fact::PreviewPosted { .. }
        | Fact::BoxesTicked { .. }
        | Fact::PreviewTampered { .. }
        | Fact::CommentUnconfirmed { .. }
        | Fact::ApprovalVoided { .. }
        | Fact::Approved { .. }
        | Fact::Rejected { .. }
        | Fact::StepSkipped { .. }
        | Fact::BudgetRaised { .. }
        | Fact::ActionBegun { .. }
        | Fact::ActionEnded { .. }
        | Fact::ActionInterrupted { .. }
        | Fact::Worked { .. }
        | Fact::Used { .. }
        | Fact::Reflected { .. }
        | Fact::Executed { .. }
        | Fact::Delivered { .. }
        | Fact::Completed { .. }
        | Fact::Aborted { .. }
        | Fact::EffectFailed { .. }
        | Fact::AskFailed { .. }
        | Fact::TimerFired { .. }
        | Fact::Failed { .. } => true,
        Fact::Talk(_) | Fact::Replan(_) | Fact::Crew(_) => false,
    }
}

/// The names that serde knows for an enum: it lists them for whoever gives it another.
fn names<T: serde::de::DeserializeOwned>() -> Vec<String> {
    let error = serde_json::from_value::<T>(json!({"type": "no such thing"})).err().map(|e| e.to_string());
    let error = error.unwrap_or_default();
    let list = error.split_once("expected one of ").map(|(_, list)| list.to_owned()).unwrap_or_default();
    list.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_fact_has_its_sentence() {
    let mut explainer = Explainer::default();
    let facts: Vec<Value> =
        [asked_and_planned(), decided_and_done(), talked(), replanned()].into_iter().flatten().collect();
    let told: BTreeSet<String> =
        facts.iter().filter_map(|fact| fact["type"].as_str()).map(str::to_owned).collect();
    let (talk, replan) = (names::<TalkFact>(), names::<ReplanFact>());
    assert!(talk.len() > 10 && replan.len() > 5, "{talk:?} {replan:?}");
    let own = OWN.map(str::to_owned).into_iter();
    let all: BTreeSet<String> = own.chain(talk).chain(replan).collect();
    assert_eq!(told, all, "each fact has to be told here");
    let mut told = String::new();
    for fact in facts {
        let read: Fact =
            serde_json::from_value(fact.clone()).unwrap_or_else(|error| panic!("{error}: {fact}"));
        let name = fact["type"].as_str().unwrap_or_default();
        assert_eq!(is_own(&read), OWN.contains(&name), "{name} is not read as itself");
        let words = explainer.explain(&read).unwrap_or_else(|| "(not told)".to_owned());
        told.push_str(&format!("{name:20} {words}\n"));
    }
    insta::assert_snapshot!(told);
}
