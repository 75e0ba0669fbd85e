//! Purpose: any fact at all: one shape for each kind, and dice that choose its values from a small world.
//!
//! The world is small (three people, three steps, four actions, a few numbers), so that facts that were made
//! independently of each other often speak of the same thing.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::LazyLock;

use planwright::planning::Fact;
use serde::Deserialize as _;
use serde::de::value::MapDeserializer;
use serde_json::{Value, json};

const ANY: &str = "any of";
const SOME: &str = "some of";

/// The key of what the run awaits, whatever that is when the fact comes; see [`fits`].
pub(crate) const AWAITED: &str = "awaited";

fn any<const N: usize>(of: [Value; N]) -> Value {
    json!({ ANY: of.to_vec() })
}

/// None, one or two of these.
fn some(of: Value) -> Value {
    json!({ SOME: of })
}

fn maybe(what: Value) -> Value {
    any([Value::Null, what])
}

/// A value of this shape, as the dice fall.
fn roll(shape: &Value, dice: &mut impl Iterator<Item = u8>) -> Value {
    match shape {
        Value::Array(items) => items.iter().map(|item| roll(item, dice)).collect(),
        Value::Object(fields) => match (fields.get(ANY).and_then(Value::as_array), fields.get(SOME)) {
            (Some(of), _) => {
                let nth = usize::from(dice.next().unwrap_or(0)) % of.len();
                roll(&of[nth], dice)
            }
            (None, Some(of)) => (0..dice.next().unwrap_or(0) % 3).map(|_| roll(of, dice)).collect(),
            (None, None) => {
                Value::Object(fields.iter().map(|(name, of)| (name.clone(), roll(of, dice))).collect())
            }
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => shape.clone(),
    }
}

fn read(value: &Value) -> Fact {
    serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{error}: {value}"))
}

/// A fact of the nth kind.
pub(crate) fn thrown(kind: usize, dice: &[u8]) -> Fact {
    read(&roll(&SHAPES[kind], &mut dice.iter().copied()))
}

/// A fact of this name.
pub(crate) fn named(name: &str, dice: &[u8]) -> Fact {
    thrown(kind_of(name), dice)
}

pub(crate) fn kind_of(name: &str) -> usize {
    SHAPES
        .iter()
        .position(|shape| shape["type"] == name)
        .unwrap_or_else(|| panic!("nothing is called {name}"))
}

/// The same fact, with the key of what is awaited instead of the word for it, and with these values where it has such.
pub(crate) fn fits(fact: &Fact, awaited: &str, values: &Value) -> Fact {
    let mut value = serde_json::to_value(fact).unwrap();
    if value["key"] == AWAITED {
        value["key"] = awaited.into();
    }
    for (name, known) in values.as_object().into_iter().flatten() {
        if let Some(value) = value.get_mut(name) {
            value.clone_from(known);
        }
    }
    read(&value)
}

pub(crate) static SHAPES: LazyLock<Vec<Value>> = LazyLock::new(|| {
    [people(), planned(), approved(), worked(), ended(), talked(), replanned(), crewed()].concat()
});

// ------------------------------------------------------------------------------------------------ the small world

fn who() -> Value {
    any([2, 3, 4].map(|id| json!({"id": id, "login": format!("p{id}"), "kind": "person"})))
}

fn right() -> Value {
    any([json!("write"), json!("read"), json!("triage"), json!("admin")])
}

fn number() -> Value {
    any([json!(1), json!(2), json!(0), json!(3)])
}

fn comment() -> Value {
    any([json!(11), json!(12), json!(13)])
}

fn yes_or_no() -> Value {
    any([json!(true), json!(false)])
}

fn key() -> Value {
    any([json!(AWAITED), json!(AWAITED), json!("r1/0/t0"), json!("x"), json!("r1/answers/1")])
}

fn words() -> Value {
    any([json!("so be it"), json!(""), json!("あ\n<!-- x -->")])
}

fn wait() -> Value {
    any([json!(60_000), Value::Null, json!(0), json!(-5)])
}

fn step_id() -> Value {
    any([json!("task_1"), json!("task_2"), json!("task_9")])
}

fn action_id() -> Value {
    any([json!("a1"), json!("a2"), json!("a3"), json!("a9")])
}

fn question_id() -> Value {
    any([json!("q-1"), json!("q-2"), json!("q-9")])
}

fn actor() -> Value {
    any([json!("ai"), json!("user"), json!("system")])
}

fn counts() -> Value {
    json!({"files": 1, "specs": 3})
}

fn problem() -> Value {
    any([json!("passing"), json!("lasting"), json!("away")])
}

fn usage() -> Value {
    let cost = any([json!(7), Value::Null, json!(9_000_000)]);
    json!({"model": "m", "calls": number(), "input_tokens": 10, "output_tokens": 5, "cost_micro_usd": cost, "ms": 1})
}

fn goal() -> Value {
    json!({
        "main_objective": words(), "success_criteria": some(words()), "constraints": [], "context": "",
        "design_choices_open": yes_or_no(),
    })
}

/// Dependencies may be missing, doubled or lead in a circle: what is read from a journal was checked by nobody.
fn step() -> Value {
    json!({
        "id": step_id(), "description": words(), "dependencies": some(step_id()),
        "estimated_complexity": any([json!("low"), json!("medium"), json!("high")]), "required_tools": [],
        "rests_on": some(json!("A1")),
    })
}

fn action() -> Value {
    let kinds = ["analyze", "create", "write", "mkdir", "delete", "read", "run", "tool"].map(Value::from);
    let spec = any([
        json!({}),
        json!({"path": "a.txt", "content": "a"}),
        json!({"path": "../x"}),
        json!({"command": ["ls"]}),
    ]);
    json!({
        "id": action_id(), "task_id": step_id(), "action_type": any(kinds), "tool": "worker", "purpose": words(),
        "expected_outcome": "e", "fallback_strategy": "", "spec": spec, "optional": yes_or_no(),
    })
}

/// Mostly a plan that can be carried out, so that what follows has something to be about.
fn steps() -> Value {
    let plain = |n: u32, after: Value| {
        json!({
            "id": format!("task_{n}"), "description": "Do it", "dependencies": after, "estimated_complexity": "low",
            "required_tools": [],
        })
    };
    let sound = || json!([plain(1, json!([])), plain(2, json!([]))]);
    any([sound(), json!([plain(1, json!([])), plain(2, json!(["task_1"]))]), sound(), some(step())])
}

fn actions() -> Value {
    let plain = |n: u32, step: u32, kind: &str, spec: Value| {
        json!({
            "id": format!("a{n}"), "task_id": format!("task_{step}"), "action_type": kind, "tool": "worker",
            "purpose": "p", "expected_outcome": "e", "fallback_strategy": "", "spec": spec,
        })
    };
    let sound = || {
        json!([
            plain(1, 1, "analyze", json!({})),
            plain(2, 1, "create", json!({"path": "a.txt", "content": "a"})),
            plain(3, 2, "write", json!({"path": "b.txt"})),
        ])
    };
    any([sound(), sound(), sound(), some(action())])
}

fn named_action() -> Value {
    json!({"id": action_id(), "digest": any([json!("d1"), json!("d2")])})
}

fn spec() -> Value {
    let before = any([
        json!({"state": "nothing"}),
        json!({"state": "file", "bytes": 3, "sha256": "s"}),
        json!({"state": "after", "action": action_id()}),
        json!({"state": "no_target"}),
    ]);
    let line = json!({"text": words(), "more_chars": any([json!(1), json!(7)])});
    let excerpt = json!({"lines": some(line), "more_lines": any([json!(0), json!(3)])});
    let preflight = json!({
        "exists": yes_or_no(), "overwrite": yes_or_no(), "before": before, "added": 1, "removed": 0,
        "diff": maybe(excerpt),
    });
    json!({
        "id": action_id(), "path": maybe(json!("a.txt")), "risk": any([json!("low"), json!("medium"), json!("high")]),
        "reason": "r", "preflight": preflight, "open": yes_or_no(), "tool_hash": maybe(json!("h")),
        "tool_effect": maybe(any([json!("read_only"), json!("changes"), json!("destroys")])),
        "digest": any([json!("d1"), json!("d2")]),
    })
}

fn feedback() -> Value {
    let impediment = json!({
        "category": any([json!("technical"), json!("ambiguity"), json!("scope"), json!("dependency")]),
        "requested_action": any([json!("escalate"), json!("clarification"), json!("replan"), json!("continue")]),
    });
    any([
        json!({"type": "implementation", "result": any([json!("success"), json!("partial"), json!("failed")]), "changes": some(words()), "notes": maybe(words())}),
        json!({"type": "exploration", "findings": words(), "recommendations": [], "confidence": any([json!("high"), json!("low")])}),
        json!({"type": "difficulty", "issue": words(), "attempts": some(words()), "impediment": impediment, "suggestion": maybe(words())}),
    ])
}

fn call() -> Value {
    any([
        json!({"tool": "finish", "feedback": feedback()}),
        json!({"tool": "report", "feedback": feedback()}),
        json!({"tool": "read_file", "path": "a.txt"}),
        json!({"tool": "list_files", "path": null}),
        json!({"tool": "write_file", "path": "../x", "content": "y"}),
        json!({"tool": "call_tool", "name": "srv/tool", "arguments": {}}),
        json!({"tool": "run_command", "command": ["ls"]}),
    ])
}

fn question() -> Value {
    let kinds = ["clarification", "scope", "technical", "priority", "constraint"].map(Value::from);
    json!({
        "id": question_id(), "type": any(kinds), "question": any([json!("Which?"), json!("How?"), json!("")]),
        "options": some(json!("All")), "assumption": maybe(json!("All")),
    })
}

fn decision_point() -> Value {
    let option = |id: &str| json!({"id": id, "name": "n", "description": "", "tradeoffs": {"pros": [], "cons": []}, "recommendation": yes_or_no()});
    let id = any([json!("d-1"), json!("d-2")]);
    json!({"id": id, "topic": "t", "options": [option("opt-a"), option("opt-b")]})
}

fn phase() -> Value {
    any([
        json!("goal_understanding"),
        json!("task_decomposition"),
        json!("action_sequence"),
        json!("execution"),
        json!("reflection"),
    ])
}

fn level() -> Value {
    any([json!("retry"), json!("partial"), json!("actions"), json!("decomposition"), json!("goal")])
}

fn decision() -> Value {
    let kinds = [
        "clarification_request",
        "goal_revision",
        "task_redecomposition",
        "action_regeneration",
        "partial_replan",
        "full_replan",
        "plan_revision",
        "retry",
        "none",
    ];
    json!({
        "replan_needed": yes_or_no(), "confidence": any([json!(0.9), json!(0.4), json!(0.1)]), "reasoning": words(),
        "replan_type": any(kinds.map(Value::from)), "target_phase": maybe(phase()), "replan_level": maybe(level()),
        "issues_found": [], "recommended_actions": [], "clarification_needed": yes_or_no(),
        "clarification_questions": some(question()),
    })
}

/// Most phases say nothing about replanning.
fn decided() -> Value {
    let nothing = || json!({"said": "nothing"});
    any([
        nothing(),
        nothing(),
        json!({"said": "decision", "decision": decision()}),
        json!({"said": "unreadable", "why": "w"}),
    ])
}

// ------------------------------------------------------------------------------------------------------ the facts

fn people() -> Vec<Value> {
    let how = ["assigned", "labelled", "mentioned", "document", "retried", "changes_requested", "replanned"];
    let notices = [
        json!({"notice": "help_asked"}),
        json!({"notice": "unknown_verb", "word": "dance"}),
        json!({"notice": "planning_is_off"}),
        json!({"notice": "too_many_runs"}),
        json!({"notice": "asked_altered", "comment": comment()}),
    ];
    vec![
        json!({"type": "triggered", "by": who(), "permission": right(), "how": any(how.map(Value::from)), "event_at": null, "comment": maybe(comment()), "why": maybe(words())}),
        json!({"type": "forgotten", "entries": 12, "may_start": any([json!(true), json!(false)])}),
        json!({"type": "language_seen", "lang": any([json!("japanese"), json!("english")])}),
        json!({"type": "refused", "by": who(), "what": "approve", "needs": "write", "has": "read", "comment": maybe(comment())}),
        json!({"type": "noticed", "by": who(), "notice": any(notices), "comment": maybe(comment())}),
        json!({"type": "comment_unconfirmed", "by": who(), "comment": comment(), "mismatch": any([json!("missing"), json!("edited")])}),
        json!({"type": "replied", "key": any([json!("reply/1"), json!("reply/9")]), "comment": maybe(comment())}),
        json!({"type": "comment_arrived", "by": who(), "permission": right(), "comment": comment(), "used": yes_or_no()}),
        json!({"type": "description_edited", "by": who(), "permission": right(), "used": yes_or_no()}),
        json!({"type": "paused", "by": who(), "comment": maybe(comment())}),
        json!({"type": "resumed", "by": who(), "comment": maybe(comment())}),
        json!({"type": "cancelled", "by": who(), "comment": maybe(comment())}),
        json!({"type": "stopped", "by": who(), "why": any([json!("unassigned"), json!("unlabelled"), json!("closed")])}),
    ]
}

fn planned() -> Vec<Value> {
    let ground = json!({"thread": "t", "base": "b", "settings": "s", "expires": any([json!(0), json!(9_000_000_000_i64)])});
    vec![
        json!({"type": "ask_begun", "key": key()}),
        json!({"type": "ask_failed", "key": key(), "problem": problem(), "reason": "r", "usage": maybe(usage()),
               "not_before": any([json!(null), json!(5_000), json!(9_000_000)])}),
        json!({"type": "goal_understood", "key": key(), "goal": goal(), "usage": usage(), "hidden": number(), "before": maybe(words()), "replan": decided()}),
        json!({"type": "decomposed", "key": key(), "reasoning": "", "steps": steps(), "usage": usage(), "replan": decided()}),
        json!({"type": "sequenced", "key": key(), "actions": actions(), "usage": usage(), "replan": decided()}),
        json!({"type": "plan_proposed", "actor": actor(), "reason": "r", "version": number(), "title": words(), "rationale": "", "sources": some(comment()), "tags": [], "counts": counts()}),
        json!({
            "type": "specs_set", "key": key(), "actor": actor(), "reason": "r", "ground": ground,
            "place": {"branch": "planwright/1-x", "into": maybe(json!("main"))}, "specs": some(spec()),
            "issues": some(json!({"id": action_id(), "what": "w"})), "changed": some(words()), "counts": counts(),
        }),
        json!({"type": "effect_failed", "key": key(), "problem": problem(), "reason": "r", "not_before": maybe(json!(5_000))}),
        json!({"type": "timer_fired", "key": key()}),
    ]
}

fn approved() -> Vec<Value> {
    let wanted = json!({"id": action_id(), "digest": any([json!("d1"), json!("d2")]), "approvals": number()});
    let left_out = json!({"id": action_id(), "why": "w"});
    let resources = ["micro_usd", "tokens", "model_calls", "minutes", "files", "bytes"].map(Value::from);
    let amount = any([json!(5), json!(0), json!(u64::MAX)]);
    vec![
        json!({"type": "approval_requested", "actor": actor(), "reason": "r", "request": number(), "wanted": some(wanted), "not_requester": yes_or_no(), "digest": "d", "changed": [], "risk_score": 0.5, "counts": counts()}),
        json!({"type": "preview_posted", "request": number(), "comments": some(comment()), "unreadable": some(action_id())}),
        json!({"type": "boxes_ticked", "by": who(), "permission": right(), "request": number(), "boxes": some(action_id()), "counted": yes_or_no()}),
        json!({"type": "preview_tampered", "by": maybe(who()), "request": number()}),
        json!({"type": "approval_voided", "by": who(), "permission": right(), "actions": some(action_id()), "action": maybe(action_id())}),
        json!({"type": "approved", "actor": actor(), "by": maybe(who()), "reason": "", "request": maybe(number()), "actions": some(named_action()), "left_out": some(left_out), "note": "", "comment": maybe(comment()), "counts": counts()}),
        json!({"type": "rejected", "actor": actor(), "by": who(), "reason": words(), "request": number(), "comment": maybe(comment()), "counts": counts()}),
        json!({"type": "step_skipped", "by": who(), "step": step_id(), "comment": maybe(comment())}),
        json!({"type": "budget_raised", "by": who(), "resource": any(resources), "amount": amount, "comment": maybe(comment())}),
    ]
}

fn worked() -> Vec<Value> {
    let outcome = any([json!({"result": "succeeded"}), json!({"result": "failed", "why": words()})]);
    let evidence = any([
        json!({"commit": "c0ffee", "files": ["a.txt"], "bytes": 1, "pushed": true}),
        json!({"exit_code": 1, "output": "o"}),
        json!({}),
    ]);
    let status = any([json!("success"), json!("partial"), json!("failure")]);
    let reflection = json!({
        "action_id": "a1", "status": status, "evaluation": words(), "alignment_with_plan": "", "issues_identified": [],
        "plan_revision_needed": yes_or_no(),
    });
    vec![
        json!({"type": "action_begun", "key": key(), "action": action_id(), "digest": any([json!("d1"), json!("d2")])}),
        json!({"type": "action_ended", "key": key(), "action": action_id(), "outcome": outcome, "evidence": evidence, "expected": "e", "actual": words()}),
        json!({"type": "action_interrupted", "key": key(), "action": action_id()}),
        json!({"type": "worked", "key": key(), "action": action_id(), "call": call(), "usage": usage()}),
        json!({"type": "used", "key": key(), "action": action_id(), "tool": "read_file", "result": words(), "refused": yes_or_no()}),
        json!({"type": "reflected", "key": key(), "reflection": maybe(reflection), "usage": maybe(usage()), "replan": decided()}),
    ]
}

fn ended() -> Vec<Value> {
    let change = maybe(json!("local:sample#2"));
    vec![
        json!({"type": "executed", "actor": actor(), "reason": "r", "succeeded": number(), "failed": number(), "left_out": number(), "counts": counts()}),
        json!({"type": "delivered", "key": key(), "branch": "planwright/1-x", "commit": maybe(json!("c0ffee")), "change": change, "url": null}),
        json!({"type": "completed", "actor": actor(), "reason": "r", "counts": counts()}),
        json!({"type": "aborted", "actor": actor(), "reason": "r", "counts": counts()}),
        json!({"type": "failed", "reason": words()}),
    ]
}

fn talked() -> Vec<Value> {
    let reply = || json!({"question": question_id(), "answer": maybe(any([json!("All"), json!("None")]))});
    let how = ["ticked", "numbered", "words", "skipped"].map(Value::from);
    let assumption = json!({"id": any([json!("A1"), json!("A2")]), "question": question_id(), "text": "All"});
    let option = || any([json!("opt-a"), json!("opt-b"), json!("opt-z")]);
    let point = || any([json!("d-1"), json!("d-2"), json!("d-9")]);
    let ticks = json!([any([json!("d-1"), json!("d-9")]), some(option())]);
    vec![
        json!({"type": "questions_found", "key": key(), "questions": some(question()), "usage": usage()}),
        json!({"type": "questions_asked", "round": number(), "purpose": any([json!("clarification"), json!("discovery")]), "why": words(), "questions": some(question()), "wait_ms": wait(), "assumes": yes_or_no()}),
        json!({"type": "questions_posted", "round": number(), "comment": comment()}),
        json!({"type": "words_heard", "by": who(), "permission": right(), "comment": comment()}),
        json!({"type": "answers_mapped", "key": key(), "comment": comment(), "answers": some(reply()), "usage": usage()}),
        json!({"type": "ticks_seen", "questions": some(some(number())), "decisions": some(ticks)}),
        json!({"type": "asked_back", "round": number()}),
        json!({"type": "difference_said", "question": question_id()}),
        json!({"type": "asked_altered", "by": who(), "comment": comment()}),
        json!({"type": "answered", "by": who(), "permission": right(), "how": any(how), "answers": some(reply()), "withdrawn": some(question_id()), "comment": maybe(comment())}),
        json!({"type": "assumed", "round": number(), "assumptions": some(assumption)}),
        json!({"type": "reminded", "round": number()}),
        json!({"type": "decisions_found", "key": key(), "decisions": some(decision_point()), "usage": usage()}),
        json!({"type": "decisions_posted", "comment": comment()}),
        json!({"type": "chosen", "by": who(), "permission": right(), "decision": point(), "option": option(), "rationale": words(), "comment": maybe(comment())}),
        json!({"type": "choice_withdrawn", "by": who(), "permission": right(), "decision": point()}),
        json!({"type": "design_summarised", "key": key(), "summary": words(), "usage": usage()}),
        json!({"type": "review_posted", "comment": comment()}),
        json!({"type": "design_approved", "by": who(), "comment": maybe(comment())}),
        json!({"type": "design_rejected", "by": who(), "why": words(), "comment": maybe(comment())}),
        json!({"type": "conversation_summed", "summary": words(), "until": comment(), "usage": usage()}),
    ]
}

fn replanned() -> Vec<Value> {
    let limits = [
        "clarifications",
        "goal_revisions",
        "redecompositions",
        "regenerations",
        "action_retries",
        "partial_replans",
        "plan_revisions",
        "total",
        "same_trigger",
        "same_plan",
        "no_decision",
        "no_plan",
    ];
    let verdict = any([
        json!({"verdict": "stay", "why": "w"}),
        json!({"verdict": "clarify"}),
        json!({"verdict": "replan", "level": level(), "sure": yes_or_no()}),
        json!({"verdict": "confirm", "level": level()}),
        json!({"verdict": "limit", "level": maybe(level()), "limit": any(limits.map(Value::from))}),
    ]);
    let result = || any([json!("success"), json!("failure"), json!("skipped")]);
    let way = any([json!("continue"), json!("skip_step"), json!("nothing")]);
    vec![
        json!({"type": "decision_given", "key": key(), "said": decided(), "usage": maybe(usage())}),
        json!({"type": "evaluated", "key": key(), "said": decided(), "usage": maybe(usage())}),
        json!({"type": "replan_asked", "by": who(), "why": words(), "comment": maybe(comment())}),
        json!({
            "type": "replan_decision", "replan_id": number(), "phase": phase(), "llm_decision": decision(),
            "confidence": 0.9, "executed": yes_or_no(), "override_reason": maybe(words()), "verdict": verdict,
            "trigger": any([json!("t"), json!("u")]), "subject": maybe(action_id()), "by": maybe(who()),
            "source": any([json!("result"), json!("person"), json!("answer")]), "wait_ms": wait(),
            "plan_before": some(words()), "keeps": some(step_id()),
        }),
        json!({"type": "replan_confirmed", "replan_id": number(), "by": who(), "comment": maybe(comment()), "executed": yes_or_no()}),
        json!({"type": "replan_declined", "replan_id": number(), "by": maybe(who()), "comment": maybe(comment())}),
        json!({"type": "revision_made", "key": key(), "steps": steps(), "actions": actions(), "usage": usage()}),
        json!({"type": "plan_revised", "replan_id": number(), "revision": number(), "result": result(), "why": words(), "duration_ms": wait_given(), "plan_after": some(words())}),
        json!({"type": "replan_ended", "replan_id": number(), "result": result(), "executed": yes_or_no(), "why": words(), "duration_ms": wait_given()}),
        json!({"type": "alternative_given", "key": key(), "alternative": {"way": way, "reasoning": words()}, "usage": maybe(usage())}),
        json!({"type": "limit_settled", "how": any([json!("go_on"), json!("skip_step")]), "by": maybe(who()), "comment": maybe(comment())}),
    ]
}

fn wait_given() -> Value {
    any([json!(60_000), json!(0), json!(-5)])
}

fn crewed() -> Vec<Value> {
    let verdict = any([json!("done"), json!("continue"), json!("replan")]);
    let judgement = json!({"verdict": verdict, "reasons": some(words()), "remarks": words(), "contradiction": maybe(words())});
    let causes = [
        "three_failures",
        "scope",
        "ambiguity",
        "technical",
        "dependency",
        "contradiction",
        "three_steps_in_a_row",
    ];
    let targets = ["people", "planner", "logic_validator", "external_advisor"];
    let advice = json!({"advice": words(), "confidence": any([json!(0.9), json!(0.1)]), "contradiction": maybe(words()), "needs_person": yes_or_no()});
    vec![
        json!({"type": "step_assigned", "step": step_id(), "worker": number(), "checkout": any([json!("own"), json!("shared")]), "attempt": number()}),
        json!({"type": "step_judged", "key": key(), "step": step_id(), "judgement": judgement, "by": any([json!("judge"), json!("evidence")]), "overruled": maybe(words()), "usage": maybe(usage())}),
        json!({"type": "step_merged", "key": key(), "step": step_id(), "commit": maybe(json!("c0ffee")), "pushed": yes_or_no()}),
        json!({"type": "step_conflicted", "key": key(), "step": step_id(), "files": some(json!("a.txt")), "why": words()}),
        json!({
            "type": "escalated", "key": key(), "number": number(), "cause": any(causes.map(Value::from)),
            "target": any(targets.map(Value::from)), "step": maybe(step_id()), "action": maybe(action_id()),
            "issue": words(), "tried": some(words()), "suggestion": maybe(words()), "asked": some(json!("p2")),
            "remind_in_ms": wait(), "answer_in_ms": wait(),
        }),
        json!({"type": "escalation_posted", "number": number(), "comment": comment()}),
        json!({"type": "escalation_unposted", "number": number(), "why": words()}),
        json!({"type": "escalation_reminded", "number": number(), "comment": comment()}),
        json!({"type": "advice_given", "key": key(), "number": number(), "advice": maybe(advice), "usage": maybe(usage())}),
        json!({"type": "escalation_resolved", "number": number(), "by": maybe(who()), "text": words(), "comment": maybe(comment())}),
        json!({"type": "nobody_left", "number": number(), "why": words()}),
        json!({"type": "escalation_expired", "number": number(), "fallback": any([json!("hold"), json!("skip_step"), json!("stop")])}),
    ]
}

// ------------------------------------------------------------------------------------------------------ the guard

thread_local! {
    static KNOWN: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
}

/// An error that remembers which names would have been right: serde says them to whoever gives another.
#[derive(Debug)]
struct Listening;

impl fmt::Display for Listening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a fact")
    }
}

impl std::error::Error for Listening {}

impl serde::de::Error for Listening {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        KNOWN.with_borrow_mut(|known| known.extend(expected.iter().map(|&name| name.to_owned())));
        Self
    }
}

/// Whoever adds a kind of fact comes by here, and writes its shape above.
#[test]
fn every_kind_of_fact_has_a_shape() {
    let stranger = [("type", "no such thing")].into_iter();
    assert!(Fact::deserialize(MapDeserializer::<_, Listening>::new(stranger)).is_err());
    let known = KNOWN.with_borrow(Clone::clone);
    for name in ["triggered", "questions_found", "replan_decision", "step_judged"] {
        assert!(known.contains(name), "serde did not tell of {name}: {known:?}");
    }
    let shaped: BTreeSet<String> = SHAPES.iter().map(|of| of["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(shaped, known);
    assert_eq!(shaped.len(), SHAPES.len(), "a kind has two shapes");
}

/// A shape that is read as another kind, or that drops a value on the way, would test something else than it says.
#[test]
fn every_shape_is_read_as_itself() {
    for (kind, shape) in SHAPES.iter().enumerate() {
        for die in 0..=u8::MAX {
            let dice: Vec<u8> = (0..40).map(|nth: u8| die.wrapping_add(nth.wrapping_mul(die | 1))).collect();
            let fact = thrown(kind, &dice);
            let rolled = roll(shape, &mut dice.into_iter());
            let written = serde_json::to_value(&fact).unwrap();
            assert_eq!(written["type"], rolled["type"]);
            for (name, value) in written.as_object().unwrap() {
                let given = rolled.get(name).is_none_or(|rolled| is_within(rolled, value));
                assert!(given, "{name} was {} and is {value}", rolled[name]);
            }
        }
    }
}

/// Whether everything that was rolled is still there; what was left to a default may have come in beside it.
fn is_within(rolled: &Value, written: &Value) -> bool {
    match (rolled, written) {
        (Value::Object(rolled), Value::Object(written)) => rolled.iter().all(|(name, value)| {
            let empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
            written.get(name).map_or(empty, |written| is_within(value, written))
        }),
        (Value::Array(rolled), Value::Array(written)) => {
            rolled.len() == written.len() && rolled.iter().zip(written).all(|(r, w)| is_within(r, w))
        }
        (rolled, written) => rolled == written,
    }
}
