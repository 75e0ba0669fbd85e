//! Purpose: the runs of the local forge, as the journal has them, and which of them is meant.

use std::sync::Arc;

use anyhow::{Context as _, bail};

use super::super::local::{Way, is_meant};
use super::super::runs::records;
use crate::domain::{ForgeKind, ThreadRef};
use crate::planning::{Phase, Run};
use crate::store::Store;

#[derive(Debug, Clone)]
pub(super) struct Led {
    pub thread: ThreadRef,
    pub run: Arc<Run>,
}

/// The newest run of each thread, the newest first.
pub(super) async fn all(store: &Store) -> anyhow::Result<Vec<Led>> {
    let known = records(store).await?.into_iter();
    let local = known.filter(|(thread, _)| thread.project.forge == ForgeKind::Local);
    let mut runs: Vec<Led> =
        local.filter_map(|(thread, record)| Some(Led { thread, run: record.run? })).collect();
    runs.sort_by_key(|led| std::cmp::Reverse(led.run.started_at));
    Ok(runs)
}

impl Led {
    /// Whether it was started to be carried out, or has come so far.
    fn is_led(&self) -> bool {
        self.run.id.0.starts_with(Way::Lead.prefix()) || self.run.phase() >= Phase::Execute
    }

    /// What it is for.
    pub(super) fn title(&self) -> &str {
        self.run.goal.as_ref().map_or("", |goal| goal.main_objective.as_str())
    }
}

pub(super) fn led(runs: &[Led]) -> impl Iterator<Item = &Led> {
    runs.iter().filter(|run| run.is_led())
}

/// The run that is meant; without a name, the newest that was led.
pub(super) fn one<'a>(runs: &'a [Led], wanted: Option<&str>) -> anyhow::Result<&'a Led> {
    match wanted {
        Some(wanted) => find(runs.iter(), wanted),
        None => led(runs).next().context("no run was led yet; `lead start plan.md` starts one"),
    }
}

pub(super) fn find<'a>(runs: impl Iterator<Item = &'a Led>, wanted: &str) -> anyhow::Result<&'a Led> {
    let found: Vec<&Led> = runs.filter(|led| is_meant(&led.run.id.0, wanted)).collect();
    match found.as_slice() {
        [one] => Ok(one),
        [] => bail!("there is no run `{wanted}` here; `planwright lead list` shows those that were led"),
        _ => bail!("`{wanted}` is the beginning of several runs; give more of the id"),
    }
}
