//! Purpose: which steps wait for which, beyond what the plan says of itself.
//!
//! Steps that run side by side must not be able to tell. So a step also waits for those before it that touch the same
//! files: that is how its actions were looked at and approved. And one that runs programs or tools but names nothing that
//! it needs waits for all that stands before it: a program may look at anything.

use std::collections::{BTreeMap, BTreeSet};

use crate::plan::{Action, ActionId, ActionKind, Step, StepId};

/// Which steps wait for which.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Order {
    /// In the order in which they could be done one after the other.
    sorted: Vec<StepId>,
    /// The steps that have to be accepted before each.
    waits: BTreeMap<StepId, BTreeSet<StepId>>,
    /// With all that those wait for in turn.
    after: BTreeMap<StepId, BTreeSet<StepId>>,
}

impl Order {
    #[must_use]
    pub fn of(steps: &[Step], actions: &[Action]) -> Self {
        let mut order = Self::default();
        let mut touched = Touched::default();
        for step in sorted(steps) {
            let own: Vec<&Action> = actions.iter().filter(|action| action.task_id == step.id).collect();
            let mut waits: BTreeSet<StepId> = step.dependencies.iter().cloned().collect();
            own.iter().for_each(|action| waits.extend(touched.by_others(action)));
            if step.dependencies.is_empty() && own.iter().any(|action| may_look_anywhere(action)) {
                // What has nothing to do is never through, and nothing to wait for.
                let acts = |before: &&StepId| actions.iter().any(|action| action.task_id == **before);
                waits.extend(order.sorted.iter().filter(acts).cloned());
            }
            own.iter().for_each(|action| touched.add(action));
            order.add(&step.id, waits);
        }
        order
    }

    fn add(&mut self, step: &StepId, waits: BTreeSet<StepId>) {
        let further = waits.iter().filter_map(|on| self.after.get(on)).flatten();
        let after = waits.iter().chain(further).cloned().collect();
        self.sorted.push(step.clone());
        self.after.insert(step.clone(), after);
        self.waits.insert(step.clone(), waits);
    }

    /// What a step waits for.
    pub fn waits(&self, step: &StepId) -> impl Iterator<Item = &StepId> {
        self.waits.get(step).into_iter().flatten()
    }

    /// Whether one step is always through before another begins.
    #[must_use]
    pub fn is_before(&self, earlier: &StepId, later: &StepId) -> bool {
        self.after.get(later).is_some_and(|after| after.contains(earlier))
    }

    /// The actions whose work an action finds done, in the order in which they are: those of steps before its own, and
    /// those before it in its own.
    pub fn before<'a>(&self, actions: &'a [Action], id: &ActionId) -> Vec<&'a Action> {
        let Some(own) = actions.iter().find(|action| action.id == *id) else { return vec![] };
        let mut before: Vec<&Action> =
            actions.iter().filter(|action| self.is_before(&action.task_id, &own.task_id)).collect();
        before.sort_by_key(|action| self.sorted.iter().position(|step| *step == action.task_id));
        let same = actions.iter().take_while(|action| action.id != *id);
        before.extend(same.filter(|action| action.task_id == own.task_id));
        before
    }
}

/// Steps in an order that keeps what they say they depend on, as near to the plan's own as that goes.
fn sorted(steps: &[Step]) -> Vec<&Step> {
    let mut sorted: Vec<&Step> = vec![];
    let mut left: Vec<&Step> = steps.iter().collect();
    let known = |on: &StepId| steps.iter().any(|step| step.id == *on);
    while !left.is_empty() {
        let is_free = |step: &&Step| {
            step.dependencies.iter().all(|on| !known(on) || sorted.iter().any(|done| done.id == *on))
        };
        // Plans with circles are turned down long before; whatever stands first goes first then.
        let at = left.iter().position(is_free).unwrap_or(0);
        sorted.push(left.remove(at));
    }
    sorted
}

fn may_look_anywhere(action: &Action) -> bool {
    match action.action_type {
        ActionKind::Run | ActionKind::Tool => true,
        ActionKind::Create
        | ActionKind::Write
        | ActionKind::Mkdir
        | ActionKind::Delete
        | ActionKind::Read
        | ActionKind::Analyze => false,
    }
}

fn changes(action: &Action) -> bool {
    match action.action_type {
        ActionKind::Create
        | ActionKind::Write
        | ActionKind::Mkdir
        | ActionKind::Delete
        | ActionKind::Run
        | ActionKind::Tool => true,
        ActionKind::Read | ActionKind::Analyze => false,
    }
}

/// The paths that steps touch, and whether they change them.
#[derive(Default)]
struct Touched(BTreeMap<String, Vec<(StepId, bool)>>);

impl Touched {
    fn add(&mut self, action: &Action) {
        if let Some(path) = &action.spec.path {
            self.0.entry(path.clone()).or_default().push((action.task_id.clone(), changes(action)));
        }
    }

    /// Other steps that touch the same file, or what lies above or below it. Two that only look do not mind each other.
    fn by_others(&self, action: &Action) -> Vec<StepId> {
        let Some(path) = action.spec.path.as_deref() else { return vec![] };
        let above = path.match_indices('/').map(|(at, _)| &path[..at]).chain([path]);
        let above = above.filter_map(|path| self.0.get(path));
        let inside = format!("{path}/");
        let below = self.0.range(inside.clone()..).take_while(|(other, _)| other.starts_with(&inside));
        above
            .chain(below.map(|(_, touched)| touched))
            .flatten()
            .filter(|(step, changed)| *step != action.task_id && (*changed || changes(action)))
            .map(|(step, _)| step.clone())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{ActionSpec, Complexity};

    fn step(id: &str, on: &[&str]) -> Step {
        Step {
            id: StepId(id.to_owned()),
            description: id.to_owned(),
            dependencies: on.iter().map(|on| StepId((*on).to_owned())).collect(),
            estimated_complexity: Complexity::Low,
            required_tools: vec![],
            rests_on: vec![],
        }
    }

    fn action(step: &str, action_type: ActionKind, path: Option<&str>) -> Action {
        Action {
            id: ActionId(format!("{step}-{path:?}")),
            task_id: StepId(step.to_owned()),
            action_type,
            tool: String::new(),
            purpose: String::new(),
            expected_outcome: String::new(),
            fallback_strategy: String::new(),
            spec: ActionSpec { path: path.map(str::to_owned), ..ActionSpec::default() },
            optional: false,
        }
    }

    fn waits(steps: &[Step], actions: &[Action], id: &str) -> String {
        let order = Order::of(steps, actions);
        order.waits(&StepId(id.to_owned())).map(|on| on.0.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn steps_that_touch_the_same_files_wait_for_each_other() {
        use ActionKind::{Create, Delete, Read, Write};
        let steps = [step("a", &[]), step("b", &[]), step("c", &[]), step("d", &[]), step("e", &[])];
        let actions = [
            action("a", Create, Some("src/one.rs")),
            action("b", Write, Some("src/one.rs")),
            action("c", Read, Some("src/one.rs")),
            action("d", Delete, Some("src")),
            action("e", Read, Some("README.md")),
        ];
        assert_eq!(waits(&steps, &actions, "a"), "");
        assert_eq!(waits(&steps, &actions, "b"), "a");
        assert_eq!(waits(&steps, &actions, "c"), "a b");
        assert_eq!(waits(&steps, &actions, "d"), "a b c", "the folder holds the file");
        assert_eq!(waits(&steps, &actions, "e"), "");
    }

    #[test]
    fn a_name_that_begins_the_same_is_another_file() {
        let steps = [step("a", &[]), step("b", &[])];
        let actions =
            [action("a", ActionKind::Write, Some("src")), action("b", ActionKind::Write, Some("src2/x"))];
        assert_eq!(waits(&steps, &actions, "b"), "");
    }

    #[test]
    fn a_program_that_names_no_need_waits_for_all_before_it() {
        let steps = [step("a", &[]), step("b", &[]), step("c", &["a"]), step("d", &[])];
        let actions = [
            action("a", ActionKind::Write, Some("x")),
            action("b", ActionKind::Run, None),
            action("c", ActionKind::Run, None),
            action("d", ActionKind::Write, Some("y")),
        ];
        assert_eq!(waits(&steps, &actions, "b"), "a");
        assert_eq!(waits(&steps, &actions, "c"), "a", "it says what it needs");
        assert_eq!(waits(&steps, &actions, "d"), "");
    }

    #[test]
    fn what_the_plan_says_is_never_turned_round() {
        // `a` is written first but depends on `b`; both touch one file.
        let steps = [step("a", &["b"]), step("b", &[])];
        let actions = [action("a", ActionKind::Write, Some("x")), action("b", ActionKind::Create, Some("x"))];
        assert_eq!(waits(&steps, &actions, "a"), "b");
        assert_eq!(waits(&steps, &actions, "b"), "");
    }

    #[test]
    fn an_action_finds_done_what_its_step_waits_for_and_nothing_else() {
        let steps = [step("a", &[]), step("b", &["a"]), step("c", &[]), step("d", &["b"])];
        let actions = [
            action("a", ActionKind::Write, Some("1")),
            action("b", ActionKind::Write, Some("2")),
            action("c", ActionKind::Write, Some("3")),
            action("d", ActionKind::Write, Some("4")),
            action("d", ActionKind::Write, Some("5")),
        ];
        let order = Order::of(&steps, &actions);
        let before = order.before(&actions, &actions[4].id);
        let ids: Vec<&str> =
            before.iter().map(|action| action.spec.path.as_deref().unwrap_or_default()).collect();
        assert_eq!(ids, ["1", "2", "4"]);
        assert!(order.before(&actions, &actions[2].id).is_empty());
    }
}
