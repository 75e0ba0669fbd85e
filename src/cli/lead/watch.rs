//! Purpose: `lead watch`: what happens in a run, line by line as the journal grows, whoever is at work on it.

use std::process::ExitCode;
use std::time::Duration;

use super::super::explain::Explainer;
use super::super::history::line;
use super::super::local::outcome::{self, INTERRUPTED};
use super::super::out::stream;
use super::super::serve::Signals;
use super::led::{self, Led};
use super::{Office, OneRun};
use crate::planning::{Entry, Fact, Record, RunId};
use crate::store::Store;

const LOOK: Duration = Duration::from_millis(300);

pub(super) async fn watch(one: &OneRun, office: &Office<'_>) -> anyhow::Result<ExitCode> {
    let store = office.store().await?;
    let mut signals = Signals::listen()?;
    let watching = async {
        let runs = led::all(&store).await?;
        let led = led::one(&runs, one.run.as_deref())?;
        follow(&store, led, one.json).await
    };
    let code = tokio::select! {
        code = watching => code,
        () = signals.heard() => Ok(ExitCode::from(INTERRUPTED)),
    };
    store.close().await;
    code
}

async fn follow(store: &Store, led: &Led, json: bool) -> anyhow::Result<ExitCode> {
    let (mut explainer, mut record) = (Explainer::default(), Record::default());
    loop {
        for row in store.journal_since(&led.thread, record.seq).await? {
            let entry = Entry::from_line(row.seq, row.at, row.run.clone().map(RunId), &row.line)?;
            let is_gone = record.seq > 0 && matches!(entry.fact, Fact::Forgotten { .. });
            record.apply(&entry);
            let words = explainer.explain(&entry.fact);
            if is_gone {
                return Ok(ExitCode::SUCCESS);
            }
            if entry.run.as_ref() != Some(&led.run.id) {
                continue;
            }
            match words {
                _ if json => stream(&row.line)?,
                Some(words) => stream(&line(&entry, &words))?,
                None => {}
            }
            if let Some(end) = record.run.as_ref().and_then(|run| run.end.as_ref()) {
                return Ok(outcome::code(&end.state));
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}
