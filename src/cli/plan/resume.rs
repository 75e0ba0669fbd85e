//! Purpose: `plan --resume`: which planning runs are open, and which of them is meant.

use anyhow::bail;
use serde_json::{Value, json};

use super::super::local::need::waits_for;
use super::super::local::{Way, is_meant};
use super::super::phrases::age;
use super::super::runs::{Known, records};
use crate::domain::{ForgeKind, Millis, ThreadRef};
use crate::forge::Local;
use crate::planning::Run;
use crate::store::Store;

/// An open run, as a list shows it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Open {
    pub id: String,
    pub thread: ThreadRef,
    age: String,
    waits_for: String,
    title: String,
}

impl Open {
    pub(super) fn line(&self) -> String {
        format!("{}  {:>8}  waits for {}: {}", self.id, self.age, self.waits_for, self.title)
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "event": "open_run", "run": self.id, "thread": self.thread, "age": self.age,
            "waits_for": self.waits_for, "instruction": self.title,
        })
    }
}

/// Which runs there are, the newest first.
pub(super) struct Runs {
    pub open: Vec<Open>,
    /// Those that are over, with how.
    ended: Vec<(String, &'static str)>,
}

impl Runs {
    pub(super) async fn of(store: &Store, local: &Local, now: Millis) -> anyhow::Result<Self> {
        let mut all = records(store).await?;
        all.retain(|(thread, _)| thread.project.forge == ForgeKind::Local);
        let mut planned: Vec<(&ThreadRef, &Run)> = all.iter().filter_map(planning).collect();
        planned.sort_by_key(|(_, run)| std::cmp::Reverse(run.started_at));
        let mut runs = Self { open: vec![], ended: vec![] };
        for (thread, run) in planned {
            let Some(end) = &run.end else {
                let title = local.look(|world| world.thread(thread).map(|state| state.title.clone()));
                runs.open.push(Open {
                    id: run.id.to_string(),
                    thread: thread.clone(),
                    age: age(now.0 - run.started_at.0),
                    waits_for: waits_for(run),
                    title: title.unwrap_or_default(),
                });
                continue;
            };
            runs.ended.push((run.id.to_string(), end.state.as_str()));
        }
        Ok(runs)
    }

    /// By the id, or enough of its beginning, with or without `planning-`.
    pub(super) fn find(&self, wanted: &str) -> anyhow::Result<&Open> {
        let is_it = |id: &str| is_meant(id, wanted);
        let found: Vec<&Open> = self.open.iter().filter(|open| is_it(&open.id)).collect();
        if let [one] = found.as_slice() {
            return Ok(one);
        }
        if !found.is_empty() {
            bail!("`{wanted}` is the beginning of several runs; give more of the id");
        }
        if let Some((id, how)) = self.ended.iter().find(|(id, _)| is_it(id)) {
            bail!("the run {id} is {how}; there is nothing to go on with");
        }
        if self.open.is_empty() {
            bail!("there is no run `{wanted}`, and none is open; `plan \"…\"` starts one");
        }
        let known: Vec<String> = self.open.iter().map(|open| format!("  {}", open.line())).collect();
        bail!("there is no open run `{wanted}`; these are open:\n{}", known.join("\n"))
    }
}

fn planning((thread, record): &Known) -> Option<(&ThreadRef, &Run)> {
    record.run.as_deref().filter(|run| run.id.0.starts_with(Way::Plan.prefix())).map(|run| (thread, run))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_found_by_their_beginning() {
        let open = |id: &str| Open {
            id: format!("planning-{id}"),
            thread: "local:web#1".parse().unwrap(),
            age: age(0),
            waits_for: "2 answers".to_owned(),
            title: "Add a login".to_owned(),
        };
        let runs =
            Runs { open: vec![open("abc1"), open("abd2")], ended: vec![("planning-e1".into(), "failed")] };
        assert_eq!(runs.find("planning-abc").unwrap().id, "planning-abc1");
        assert_eq!(runs.find("abd").unwrap().id, "planning-abd2");
        for (wanted, says) in [
            ("ab", "is the beginning of several"),
            ("e1", "the run planning-e1 is failed"),
            (
                "xyz",
                "there is no open run `xyz`; these are open:\n  planning-abc1  just now  waits for 2 answers",
            ),
        ] {
            let error = runs.find(wanted).unwrap_err().to_string();
            assert!(error.contains(says), "{wanted}: {error}");
        }
        let none = Runs { open: vec![], ended: vec![] };
        assert!(none.find("x").unwrap_err().to_string().contains("none is open"));
    }
}
