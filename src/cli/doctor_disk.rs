//! Purpose: `doctor` on what lies on this machine: the data directory, the store with its inbox, git.

use std::io::Write as _;
use std::path::Path;

use super::doctor::Finding;
use super::doctor_tools;
use super::instance;
use super::out::reason;
use crate::config::Config;
use crate::domain::Millis;
use crate::engine::now;
use crate::store::{Queue, Store, StoreError, Unreadable};

pub(super) async fn all(config: &Config) -> Vec<Finding> {
    let dir = &config.data_dir;
    let mut findings = store(config).await;
    match try_to_write(dir) {
        Ok(()) => {
            findings.push(Finding::good(format!("the data directory {} can be written", dir.display())));
            findings.push(doctor_tools::git(config).await);
        }
        Err(error) => findings.push(Finding::bad(
            format!("the data directory {} cannot be written, so git was not tried: {error}", dir.display()),
            "check `data_dir`, who may write there, and whether the disk is full",
        )),
    }
    findings
}

/// An empty file fits onto a full disk, so something is written.
fn try_to_write(dir: &Path) -> std::io::Result<()> {
    instance::make(dir)?;
    let mut file = tempfile::tempfile_in(dir)?;
    file.write_all(&[0; 64 * 1024])?;
    file.sync_all()
}

async fn store(config: &Config) -> Vec<Finding> {
    let url = config.store.url.as_str();
    let store = match Store::open(url).await {
        Ok(store) => store,
        Err(error) => {
            let what = format!("the store at {url}: {}", reason(&error));
            return vec![Finding::bad(what, "check `store.url` and who may write there")];
        }
    };
    let queue = store.queue().await;
    store.close().await;
    let mut findings = vec![Finding::good(format!("the store at {url} can be opened"))];
    findings.extend(inbox(queue, now()));
    findings
}

/// A server that runs takes a delivery within seconds, unless its forge cannot be reached or it has very much to do.
const LONG_MS: i64 = 10 * 60 * 1000;

fn inbox(queue: Result<Queue, StoreError>, now: Millis) -> Vec<Finding> {
    let queue = match queue {
        Ok(queue) => queue,
        Err(error) => {
            let remedy = "run this again; if that does not help, restore the database from a backup";
            return vec![Finding::bad(format!("the inbox: {error}"), remedy)];
        }
    };
    let count = queue.waiting;
    let waiting = match queue.oldest {
        None => Finding::good("the inbox: no delivery waits"),
        Some(oldest) if now.0 - oldest.0 < LONG_MS => {
            Finding::good(format!("the inbox: deliveries that wait: {count}"))
        }
        Some(oldest) => Finding::warning(
            format!("the inbox: deliveries that wait: {count}, the oldest for {}", span(oldest, now)),
            "is `planwright serve` running? Its log says what keeps it",
        ),
    };
    let unreadable = queue.last_unreadable.map(|last| unreadable(queue.unreadable, &last, now));
    std::iter::once(waiting).chain(unreadable).collect()
}

fn unreadable(count: i64, last: &Unreadable, now: Millis) -> Finding {
    let Unreadable { key, why, received_at } = last;
    let ago = span(*received_at, now);
    Finding::warning(
        format!(
            "the inbox: deliveries that were set aside: {count}; the last one, {ago} ago, is {key}: {why}"
        ),
        "nothing was done about them; once the cause is mended, let the forge send them again",
    )
}

fn span(from: Millis, to: Millis) -> String {
    let minutes = (to.0 - from.0) / 60_000;
    match minutes {
        ..120 => format!("{minutes} min"),
        120..2_880 => format!("{} h", minutes / 60),
        2_880.. => format!("{} days", minutes / 1_440),
    }
}
