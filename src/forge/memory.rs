//! Purpose: threads as they were read last, so that reading one again costs nothing when nothing changed.
//!
//! A remembered thread is only ever shown after the forge itself said that it is still so: the next read carries the
//! `ETag` of the last one, and 304 is the forge's word for "the same". Whatever we write there, or fail to, takes the
//! `ETag` away, so that the next read is a whole one.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use http::{HeaderValue, StatusCode, header};
use serde::de::DeserializeOwned;

use super::ForgeError;
use super::http::{Answer, judge};
use crate::domain::{Thread, ThreadRef};

/// More threads than a bot works on at a time; what is beyond it costs a whole answer.
const CAP: usize = 1_000;

/// A thread as it was read, and the forge's name for that state: none if it gave none, or if we changed it since.
#[derive(Clone)]
pub(super) struct Seen {
    pub(super) etag: Option<HeaderValue>,
    pub(super) thread: Thread,
}

/// What came of reading something again.
pub(super) enum Reread<T> {
    Same(Box<Seen>),
    New { value: T, etag: Option<HeaderValue> },
}

impl<T: DeserializeOwned> Reread<T> {
    /// 304 answers only a question that was asked with an `ETag`.
    pub(super) fn of(answer: Answer, asked_with: Option<&Seen>) -> Result<Self, ForgeError> {
        match asked_with {
            Some(seen) if seen.etag.is_some() && answer.status == StatusCode::NOT_MODIFIED => {
                Ok(Self::Same(Box::new(seen.clone())))
            }
            Some(_) | None => {
                let answer = judge(answer)?;
                Ok(Self::New { value: answer.json()?, etag: answer.headers.get(header::ETAG).cloned() })
            }
        }
    }
}

#[derive(Default)]
pub(super) struct Memory(Mutex<Shelf>);

#[derive(Default)]
struct Shelf {
    kept: HashMap<ThreadRef, (u64, Seen)>,
    /// Counts what was kept; the smallest number was not looked at for longest.
    last: u64,
}

impl Memory {
    /// Takes it out: a read that fails, or another one at the same time, leaves nothing behind to rely on.
    pub(super) fn take(&self, t: &ThreadRef) -> Option<Seen> {
        self.lock().kept.remove(t).map(|(_, seen)| seen)
    }

    pub(super) fn keep(&self, t: &ThreadRef, seen: &Seen) {
        let mut shelf = self.lock();
        shelf.last += 1;
        let number = shelf.last;
        shelf.kept.insert(t.clone(), (number, seen.clone()));
        if shelf.kept.len() > CAP {
            let oldest = shelf.kept.iter().min_by_key(|(_, (number, _))| *number).map(|(t, _)| t.clone());
            oldest.and_then(|t| shelf.kept.remove(&t));
        }
    }

    /// The next read is a whole one. What stays is only good for knowing what kind of thread it is.
    pub(super) fn distrust(&self, t: &ThreadRef) {
        if let Some((_, seen)) = self.lock().kept.get_mut(t) {
            seen.etag = None;
        }
    }

    /// A poisoned lock only means that a thread died while it held a cache.
    fn lock(&self) -> MutexGuard<'_, Shelf> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Account;

    fn thread(title: &str) -> Thread {
        Thread {
            title: title.into(),
            body: String::new(),
            author: Account::person(1, "maria"),
            open: true,
            is_change_request: false,
            confidential: false,
            assignees: vec![],
            labels: vec![],
            web_url: None,
            branch: None,
        }
    }

    fn numbered(number: usize) -> ThreadRef {
        format!("github:acme/web#{number}").parse().unwrap()
    }

    fn seen(etag: Option<&'static str>, title: &str) -> Seen {
        Seen { etag: etag.map(HeaderValue::from_static), thread: thread(title) }
    }

    #[test]
    fn what_was_looked_at_last_stays() {
        let memory = Memory::default();
        for number in 1..=CAP {
            memory.keep(&numbered(number), &seen(Some("\"a\""), "old"));
        }
        let first = memory.take(&numbered(1)).unwrap();
        assert!(memory.take(&numbered(1)).is_none(), "taken out");
        memory.keep(&numbered(1), &first);
        memory.keep(&numbered(CAP + 1), &seen(Some("\"b\""), "new"));
        assert_eq!(memory.lock().kept.len(), CAP);
        assert!(memory.take(&numbered(1)).is_some(), "looked at a moment ago");
        assert!(memory.take(&numbered(2)).is_none(), "not looked at for longest");
        let kept = memory.take(&numbered(CAP + 1)).unwrap();
        assert_eq!((kept.etag.unwrap().to_str().unwrap(), kept.thread.title.as_str()), ("\"b\"", "new"));
        memory.distrust(&numbered(3));
        memory.distrust(&numbered(CAP + 2));
        assert_eq!(memory.take(&numbered(3)).map(|seen| seen.etag), Some(None), "nothing to ask with");
    }

    #[test]
    fn the_same_is_only_believed_when_it_was_asked() {
        let answer = |status: u16, body: &'static str| Answer {
            status: StatusCode::from_u16(status).unwrap(),
            headers: [(header::ETAG, HeaderValue::from_static("W/\"7\""))].into_iter().collect(),
            body: bytes::Bytes::from_static(body.as_bytes()),
        };
        let old = seen(Some("W/\"6\""), "old");
        assert!(
            matches!(Reread::<u8>::of(answer(304, ""), Some(&old)), Ok(Reread::Same(seen)) if seen.thread.title == "old")
        );
        assert!(matches!(Reread::<u8>::of(answer(304, ""), None), Err(ForgeError::NotFound(_))));
        let distrusted = seen(None, "old");
        assert!(matches!(Reread::<u8>::of(answer(304, ""), Some(&distrusted)), Err(ForgeError::NotFound(_))));
        assert!(matches!(Reread::<u8>::of(answer(404, ""), Some(&old)), Err(ForgeError::NotFound(_))));
        let new = Reread::<u8>::of(answer(200, "5"), Some(&old));
        assert!(matches!(new, Ok(Reread::New { value: 5, etag: Some(etag) }) if etag == "W/\"7\""));
    }
}
