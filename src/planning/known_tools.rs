//! Purpose: the tools of a run as it knows them. One that changes under its name says itself whether it may destroy, so
//! a person looks at it before it is used again, however low its risk.

use super::proposal::Named;
use super::run::{Revision, Run};
use crate::actions::Spec;

impl Run {
    /// Tools as they are when the run first plans with them.
    pub(super) fn meet_tools(&mut self, specs: &[Spec]) {
        for (tool, hash) in tools_of(self.revisions.last(), specs.iter()) {
            self.tools.entry(tool).or_insert(hash);
        }
    }

    /// What a person approves is known from then on.
    pub(super) fn trust_tools(&mut self, approved: &[Named]) {
        let plan = self.revisions.last();
        let specs = approved.iter().filter_map(|named| {
            plan.and_then(|plan| plan.specs.get(&named.id)).filter(|spec| spec.digest == named.digest)
        });
        let tools = tools_of(plan, specs);
        self.tools.extend(tools);
    }

    pub(super) fn knows_tool(&self, spec: &Spec) -> bool {
        let used = tools_of(self.plan(), std::iter::once(spec));
        used.iter().all(|(tool, hash)| self.tools.get(tool) == Some(hash))
    }
}

fn tools_of<'a>(plan: Option<&Revision>, specs: impl Iterator<Item = &'a Spec>) -> Vec<(String, String)> {
    let Some(plan) = plan else { return vec![] };
    let hashed = specs.filter_map(|spec| Some((spec, spec.tool_hash.clone()?)));
    hashed
        .filter_map(|(spec, hash)| {
            let action = plan.actions().find(|action| action.id == spec.id)?;
            Some((action.tool.clone(), hash))
        })
        .collect()
}
