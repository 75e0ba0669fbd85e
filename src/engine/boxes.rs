//! Purpose: boxes in comments of ours that somebody changed while nobody looked.
//!
//! A webhook names who ticked a box; a comment that is read later does not. So such boxes are only noted as seen, and
//! people are told how to go on.

use std::collections::BTreeSet;

use crate::actions::number_of;
use crate::domain::Comment;
use crate::plan::ActionId;
use crate::planning::{Asked, Record};
use crate::render::{read_boxes, read_choices, read_ticks};

/// Whether the boxes of this comment, which waits for people, are not as they were last seen.
pub(super) fn are_news(record: &Record, comment: &Comment) -> bool {
    let Some(run) = record.live_run() else { return false };
    let request = run.plan().and_then(|plan| run.open_request(plan));
    if let Some(request) = request.filter(|request| request.comments.contains(&comment.id)) {
        let (boxes, empty) = read_boxes(&comment.body);
        let boxes: BTreeSet<ActionId> = boxes.into_iter().collect();
        // Other parts of the preview have the boxes of other actions.
        let is_here = |id: &&ActionId| empty.contains(&format!("\n- [ ] **{}** ", number_of(id)));
        return !boxes.iter().eq(request.seen.iter().filter(is_here));
    }
    match record.asks_in(comment.id) {
        Some(Asked::Questions) => {
            let round = run.talk.open_round();
            round.is_some_and(|round| ticks(&read_ticks(&comment.body)) != ticks(&round.seen))
        }
        Some(Asked::Decisions) => {
            let design = run.talk.design.as_ref().filter(|design| !design.open_decisions().is_empty());
            design.is_some_and(|design| choices(&read_choices(&comment.body)) != choices(&design.seen))
        }
        None => false,
    }
}

/// Question by question, for what was never looked at is as good as empty.
fn ticks(seen: &[Vec<usize>]) -> BTreeSet<(usize, usize)> {
    seen.iter().enumerate().flat_map(|(at, ticks)| ticks.iter().map(move |tick| (at, *tick))).collect()
}

fn choices(seen: &[(String, Vec<String>)]) -> BTreeSet<(&str, &str)> {
    seen.iter().flat_map(|(id, all)| all.iter().map(move |one| (id.as_str(), one.as_str()))).collect()
}
