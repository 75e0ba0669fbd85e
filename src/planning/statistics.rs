//! Purpose: the replans of a run in numbers.

use serde::Serialize;

use super::replans::{Replan, ReplanState, Replans};
use crate::plan::Level;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ReplanStatistics {
    /// Decisions that were judged, most of which want nothing.
    pub decided: u32,
    pub executed: u32,
    pub done: u32,
    pub failed: u32,
    /// Wanted, and not done: too unsure, or one too many.
    pub overridden: u32,
    pub declined: u32,
    pub waiting: u32,
    /// By level, from 1 (retry) to 5 (goal).
    pub by_level: [u32; 5],
}

impl Replans {
    #[must_use]
    pub fn statistics(&self) -> ReplanStatistics {
        let count = |is: &dyn Fn(&Replan) -> bool| {
            u32::try_from(self.all.iter().filter(|replan| is(replan)).count()).unwrap_or(u32::MAX)
        };
        let levels = [Level::Retry, Level::Partial, Level::Actions, Level::Decomposition, Level::Goal];
        ReplanStatistics {
            decided: self.decided,
            executed: count(&|replan| replan.executed() && replan.level().is_some()),
            done: count(&|replan| {
                matches!(replan.state, ReplanState::Done { .. }) && replan.level().is_some()
            }),
            failed: count(&|replan| matches!(replan.state, ReplanState::Failed { .. })),
            overridden: count(&|replan| matches!(replan.state, ReplanState::Overridden { .. })),
            declined: count(&|replan| matches!(replan.state, ReplanState::Declined { .. })),
            waiting: count(&|replan| replan.state == ReplanState::Confirming),
            by_level: levels.map(|level| count(&|replan| replan.executed() && replan.level() == Some(level))),
        }
    }
}
