//! Purpose: the steps of the checklist, and the check that they form a plan that can be carried out.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct StepId(pub String);

impl std::fmt::Display for StepId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Complexity {
    Low,
    Medium,
    High,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    pub id: StepId,
    pub description: String,
    pub dependencies: Vec<StepId>,
    pub estimated_complexity: Complexity,
    pub required_tools: Vec<String>,
    /// Assumptions (`A1` and so on) that it would have to be planned anew without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rests_on: Vec<String>,
}

/// Why a list of steps is not a plan. The sentence goes to the model, so that it can mend its answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanProblem {
    #[error("there are no steps")]
    Empty,
    #[error("there are {0} steps; at most {max} are allowed", max = MAX_STEPS)]
    TooMany(usize),
    #[error("the id `{0}` is used twice")]
    Twice(StepId),
    #[error("`{0}` is not an id: use letters, digits, `_` and `-`, at most 40 of them")]
    BadId(String),
    #[error("`{0}` has no description")]
    NoDescription(StepId),
    #[error("`{step}` depends on `{on}`, which is no step")]
    UnknownDependency { step: StepId, on: StepId },
    #[error("the steps {} wait for each other", list(.0))]
    Cycle(Vec<StepId>),
}

const MAX_STEPS: usize = 100;

fn list(ids: &[StepId]) -> String {
    ids.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ")
}

/// # Errors
/// The first reason why these steps cannot be carried out in some order.
pub fn check_steps(steps: &[Step]) -> Result<(), PlanProblem> {
    if steps.is_empty() {
        return Err(PlanProblem::Empty);
    }
    if steps.len() > MAX_STEPS {
        return Err(PlanProblem::TooMany(steps.len()));
    }
    let mut known = BTreeSet::new();
    for step in steps {
        check_words(step)?;
        if !known.insert(&step.id) {
            return Err(PlanProblem::Twice(step.id.clone()));
        }
    }
    for step in steps {
        if let Some(on) = step.dependencies.iter().find(|on| !known.contains(on)) {
            return Err(PlanProblem::UnknownDependency { step: step.id.clone(), on: on.clone() });
        }
    }
    check_order(steps)
}

fn check_words(step: &Step) -> Result<(), PlanProblem> {
    let id = &step.id.0;
    let fits = (1..=40).contains(&id.len());
    if !fits || !id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')) {
        return Err(PlanProblem::BadId(id.chars().take(60).collect()));
    }
    if step.description.trim().is_empty() {
        return Err(PlanProblem::NoDescription(step.id.clone()));
    }
    Ok(())
}

/// Takes away, again and again, the steps that wait for nothing; what remains waits for itself.
fn check_order(steps: &[Step]) -> Result<(), PlanProblem> {
    let mut waiting: BTreeMap<&StepId, &[StepId]> =
        steps.iter().map(|s| (&s.id, s.dependencies.as_slice())).collect();
    loop {
        let ready: Vec<&StepId> = waiting
            .iter()
            .filter(|(_, on)| on.iter().all(|id| !waiting.contains_key(id)))
            .map(|(id, _)| *id)
            .collect();
        if ready.is_empty() {
            break;
        }
        for id in ready {
            waiting.remove(id);
        }
    }
    if waiting.is_empty() { Ok(()) } else { Err(PlanProblem::Cycle(waiting.into_keys().cloned().collect())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(id: &str, on: &[&str]) -> Step {
        Step {
            id: StepId(id.to_owned()),
            description: format!("do {id}"),
            dependencies: on.iter().map(|d| StepId((*d).to_owned())).collect(),
            estimated_complexity: Complexity::Low,
            required_tools: vec![],
            rests_on: vec![],
        }
    }

    fn says(steps: &[Step]) -> String {
        check_steps(steps).map_or_else(|e| e.to_string(), |()| "fine".to_owned())
    }

    #[test]
    fn plans_are_checked() {
        assert_eq!(says(&[step("a", &[]), step("b", &["a"])]), "fine");
        assert_eq!(says(&[step("b", &["a"]), step("a", &[])]), "fine", "order on paper does not matter");
        assert_eq!(says(&[]), "there are no steps");
        assert_eq!(says(&[step("a", &[]), step("a", &[])]), "the id `a` is used twice");
        assert_eq!(says(&[step("a", &["z"])]), "`a` depends on `z`, which is no step");
        assert_eq!(says(&[step("a", &["a"])]), "the steps `a` wait for each other");
        assert_eq!(
            says(&[step("a", &["c"]), step("b", &["a"]), step("c", &["b"]), step("d", &[])]),
            "the steps `a`, `b`, `c` wait for each other"
        );
        assert_eq!(says(&[step("a b", &[])]).split(':').next(), Some("`a b` is not an id"));
        assert_eq!(says(&[Step { description: " ".to_owned(), ..step("a", &[]) }]), "`a` has no description");
        let many: Vec<Step> = (0..101).map(|n| step(&format!("t{n}"), &[])).collect();
        assert_eq!(says(&many), "there are 101 steps; at most 100 are allowed");
    }
}
