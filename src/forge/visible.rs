//! Purpose: which repositories were seen a moment ago, so that several files that are not there cost one look at the
//! repository, and not one each.
//!
//! A forge answers "not found" for a file that is not there and for a repository that we may not see. Only the
//! repository itself tells which of the two it is.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::domain::Project;

/// As long as it takes to ask for a handful of files. Who takes the repository away in between is noticed by the next
/// request that is about anything else.
const MOMENT: Duration = Duration::from_secs(5);

#[derive(Default)]
pub(super) struct Visible(Mutex<HashMap<Project, Instant>>);

impl Visible {
    pub(super) fn note(&self, project: &Project) {
        self.note_at(project, Instant::now());
    }

    pub(super) fn is_fresh(&self, project: &Project) -> bool {
        self.is_fresh_at(project, Instant::now())
    }

    fn note_at(&self, project: &Project, now: Instant) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.retain(|_, at| now.duration_since(*at) < MOMENT);
        seen.insert(project.clone(), now);
    }

    fn is_fresh_at(&self, project: &Project, now: Instant) -> bool {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.get(project).is_some_and(|at| now.duration_since(*at) < MOMENT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_fresh_for_a_moment_and_no_other_is() {
        let visible = Visible::default();
        let project = |path| Project::new(crate::domain::ForgeKind::Github, path).unwrap();
        let (web, now) = (project("acme/web"), Instant::now());
        assert!(!visible.is_fresh_at(&web, now));
        visible.note_at(&web, now);
        assert!(visible.is_fresh_at(&web, now));
        assert!(!visible.is_fresh_at(&project("acme/api"), now));
        assert!(!visible.is_fresh_at(&web, now + MOMENT));
    }
}
