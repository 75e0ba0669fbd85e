//! Purpose: `doctor` on what lies on this machine: the data directory, the store with its inbox, git.

use super::doctor::Finding;
use super::doctor_tools;
use super::instance;
use super::out::reason;
use crate::config::Config;
use crate::domain::Millis;
use crate::engine::now;
use crate::store::{Queue, Store, StoreError};

pub(super) async fn all(config: &Config) -> Vec<Finding> {
    let data_dir = data_dir(config);
    // Without the directory git has no place to work in, and would be blamed for it.
    let git = if data_dir.is_bad() { None } else { Some(doctor_tools::git(config).await) };
    std::iter::once(data_dir).chain(store(config).await).chain(git).collect()
}

fn data_dir(config: &Config) -> Finding {
    let dir = &config.data_dir;
    match instance::make(dir).and_then(|()| tempfile::tempfile_in(dir)) {
        Ok(_) => Finding::good(format!("the data directory {} can be written", dir.display())),
        Err(error) => Finding::bad(
            format!("the data directory {} cannot be written: {error}", dir.display()),
            "check `data_dir` and who may write there",
        ),
    }
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

/// A thread that is at work takes its deliveries within seconds.
const LONG_MS: i64 = 10 * 60 * 1000;

fn inbox(queue: Result<Queue, StoreError>, now: Millis) -> Vec<Finding> {
    let queue = match queue {
        Ok(queue) => queue,
        Err(error) => {
            return vec![Finding::bad(
                format!("the inbox: {error}"),
                "the database may be damaged or locked",
            )];
        }
    };
    let waiting = match queue.oldest {
        None => Finding::good("the inbox: no delivery waits"),
        Some(oldest) if now.0 - oldest.0 < LONG_MS => {
            Finding::good(format!("the inbox: deliveries that wait: {}", queue.waiting))
        }
        Some(oldest) => Finding::warning(
            format!(
                "the inbox: deliveries that wait: {}, the oldest since {} minutes",
                queue.waiting,
                (now.0 - oldest.0) / 60_000
            ),
            "is `planwright serve` running? Its log says what keeps it",
        ),
    };
    let unreadable = queue.last_unreadable.map(|why| {
        Finding::warning(
            format!(
                "the inbox: deliveries that could not be read: {}; the last one: {why}",
                queue.unreadable
            ),
            "compare the events that the webhook sends with the README; nothing was done about them",
        )
    });
    std::iter::once(waiting).chain(unreadable).collect()
}
