//! Purpose: `history export --plans DIR`: every plan as a folder that people can read and keep without us.
//!
//! `index.json` lists them; each folder has `plan.json`, `approval.json` and, under `preview/`, the full diffs of what
//! was put up, where the content was known by then.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use serde::Serialize;
use serde_json::{Value, json};

use super::dossier::{Dossier, collect};
use super::journal;
use super::out::{complain, say};
use super::plan_diffs::{Diff, diffs};
use crate::config::Config;
use crate::domain::ThreadRef;
use crate::tools::git::Workspaces;

/// Says in `index.json` that the folder is one of ours, which may be written again.
const FORMAT: &str = "planwright-plans/1";

pub(super) async fn export(dir: &Path, histories: &[PathBuf], config: &Config) -> anyhow::Result<ExitCode> {
    refuse_foreign(dir)?;
    let workspaces = Workspaces::new(&config.data_dir.join("work"));
    let (mut index, mut code) = (vec![], ExitCode::SUCCESS);
    for path in histories {
        let journal = journal::read(path)?;
        if let Some(damage) = journal.damage {
            complain(&format!("planwright: only what stands before the damage is exported: {damage}"));
            code = ExitCode::FAILURE;
        }
        if journal.entries.is_empty() {
            continue;
        }
        let thread = thread_of(path)?;
        for (folder, dossier) in named(collect(&journal.entries)) {
            let diffs = diffs(&dossier, &thread, &workspaces).await;
            write_plan(&dir.join(&folder), &thread, &dossier, &diffs)?;
            index.push(listed(&folder, &thread, &dossier, diffs.len()));
        }
    }
    make(dir)?;
    write(&dir.join("index.json"), &json!({"format": FORMAT, "plans": index}))?;
    let plans = if index.len() == 1 { "1 plan".to_owned() } else { format!("{} plans", index.len()) };
    say(&format!("{plans} written to {}", dir.display()));
    Ok(code)
}

/// A folder with other things in it is left alone.
fn refuse_foreign(dir: &Path) -> anyhow::Result<()> {
    let index = dir.join("index.json");
    let ours = std::fs::read_to_string(&index)
        .ok()
        .and_then(|text| serde_json::from_str::<Value>(&text).ok())
        .is_some_and(|index| index["format"] == FORMAT);
    if ours {
        return Ok(());
    }
    match std::fs::read_dir(dir).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Ok(false) => {
            bail!("{} is not empty and was not written by this command; name another folder", dir.display())
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).with_context(|| format!("cannot use {}", dir.display())),
    }
}

/// The thread as the first line of its history names it.
fn thread_of(path: &Path) -> anyhow::Result<ThreadRef> {
    let first = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let line: Value = serde_json::from_str(first.lines().next().unwrap_or_default())
        .with_context(|| format!("{} is no history", path.display()))?;
    let name = line["thread"].as_str().unwrap_or_default();
    name.parse().with_context(|| format!("{} does not say which thread it is about", path.display()))
}

/// The plan in force has the plain name; those of the same version that were turned down before are counted.
fn named(dossiers: Vec<Dossier>) -> Vec<(String, Dossier)> {
    let mut left: BTreeMap<(String, u32), usize> = BTreeMap::new();
    for dossier in &dossiers {
        *left.entry(dossier.id()).or_default() += 1;
    }
    let total = left.clone();
    let name = |dossier: Dossier| {
        let (run, version) = dossier.id();
        let all = total.get(&dossier.id()).copied().unwrap_or(1);
        let left = left.entry(dossier.id()).or_default();
        *left = left.saturating_sub(1);
        let folder = match *left {
            0 => format!("{run}-v{version}"),
            more => format!("{run}-v{version}-turned-down-{}", all - more),
        };
        (folder, dossier)
    };
    dossiers.into_iter().map(name).collect()
}

fn write_plan(dir: &Path, thread: &ThreadRef, dossier: &Dossier, diffs: &[Diff]) -> anyhow::Result<()> {
    let preview = dir.join("preview");
    make(&preview)?;
    write(&dir.join("plan.json"), &dossier.plan(thread))?;
    write(&dir.join("approval.json"), &dossier.approval())?;
    for diff in diffs {
        put(&preview.join(&diff.name), &diff.text)?;
    }
    Ok(())
}

fn listed(folder: &str, thread: &ThreadRef, dossier: &Dossier, diffs: usize) -> Value {
    let (run, version) = dossier.id();
    json!({
        "folder": folder,
        "thread": thread,
        "run": run,
        "version": version,
        "title": dossier.title,
        "status": dossier.status(),
        "proposed_at": dossier.proposed_at.to_string(),
        "diffs": diffs,
    })
}

fn make(dir: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))
}

fn write(path: &Path, value: &impl Serialize) -> anyhow::Result<()> {
    put(path, &(serde_json::to_string_pretty(value)? + "\n"))
}

fn put(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
