//! Purpose: the escalation table: what went wrong in, whom to turn to out, and never more often than allowed.

use serde::{Deserialize, Serialize};

use crate::plan::{Category, RequestedAction};

/// Whoever may be turned to. Ordered by priority: what touches the wishes of people goes before the shape of the plan,
/// that before its logic, and technical advice comes last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    People,
    Planner,
    LogicValidator,
    ExternalAdvisor,
}

impl Target {
    pub const ALL: [Self; 4] = [Self::People, Self::Planner, Self::LogicValidator, Self::ExternalAdvisor];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::People => "people",
            Self::Planner => "planner",
            Self::LogicValidator => "logic_validator",
            Self::ExternalAdvisor => "external_advisor",
        }
    }

    /// As it stands in a sentence.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::People => "people",
            Self::Planner => "the planner",
            Self::LogicValidator => "the logic validator",
            Self::ExternalAdvisor => "the external advisor",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The same step failed three times.
    ThreeFailures,
    /// More would have to be touched than was agreed.
    Scope,
    /// It is not clear what is wanted.
    Ambiguity,
    Technical,
    /// Steps do not fit together, also when their changes cannot be merged.
    Dependency,
    /// Two things that are wanted exclude each other, found by a worker, the judge or the logic validator.
    Contradiction,
    /// Three steps, one after the other, failed.
    ThreeStepsInARow,
}

impl Cause {
    pub const ALL: [Self; 7] = [
        Self::ThreeFailures,
        Self::Scope,
        Self::Ambiguity,
        Self::Technical,
        Self::Dependency,
        Self::Contradiction,
        Self::ThreeStepsInARow,
    ];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ThreeFailures => "three_failures",
            Self::Scope => "scope",
            Self::Ambiguity => "ambiguity",
            Self::Technical => "technical",
            Self::Dependency => "dependency",
            Self::Contradiction => "contradiction",
            Self::ThreeStepsInARow => "three_steps_in_a_row",
        }
    }

    /// The table: whom to turn to, in turn. People stand at the end of every row, so that a run whose models are at
    /// their end still finds somebody; only where the whole plan is in doubt they come first and the planner follows.
    fn row(self) -> &'static [Target] {
        match self {
            Self::ThreeFailures | Self::Dependency => &[Target::Planner, Target::People],
            Self::Scope | Self::Ambiguity | Self::Contradiction => &[Target::People],
            Self::Technical => &[Target::LogicValidator, Target::ExternalAdvisor, Target::People],
            Self::ThreeStepsInARow => &[Target::People, Target::Planner],
        }
    }
}

/// What an impediment means for the leader; nothing when the worker only tells and goes on by itself.
#[must_use]
pub fn cause_of(category: Category, requested: RequestedAction) -> Option<Cause> {
    let by_category = match category {
        Category::Technical => Cause::Technical,
        Category::Ambiguity => Cause::Ambiguity,
        Category::Scope => Cause::Scope,
        Category::Dependency => Cause::Dependency,
    };
    match requested {
        RequestedAction::Continue => None,
        RequestedAction::Escalate => Some(by_category),
        // What is wanted is for people to say, also where a worker would rather have another plan.
        RequestedAction::Replan => Some(match category {
            Category::Scope | Category::Ambiguity => by_category,
            Category::Technical | Category::Dependency => Cause::Dependency,
        }),
        // Only people can make a wish clearer, whatever it is about.
        RequestedAction::Clarification => Some(match category {
            Category::Scope => Cause::Scope,
            Category::Technical | Category::Ambiguity | Category::Dependency => Cause::Ambiguity,
        }),
    }
}

/// How often a run may turn to each target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub planner: u32,
    pub logic_validator: u32,
    pub external_advisor: u32,
    pub people: u32,
}

impl Limits {
    #[must_use]
    pub fn of(&self, target: Target) -> u32 {
        match target {
            Target::People => self.people,
            Target::Planner => self.planner,
            Target::LogicValidator => self.logic_validator,
            Target::ExternalAdvisor => self.external_advisor,
        }
    }
}

/// How often each target was asked in this run: collected from the targets of its escalations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Asked {
    pub planner: u32,
    pub logic_validator: u32,
    pub external_advisor: u32,
    pub people: u32,
}

impl Asked {
    #[must_use]
    pub fn of(&self, target: Target) -> u32 {
        match target {
            Target::People => self.people,
            Target::Planner => self.planner,
            Target::LogicValidator => self.logic_validator,
            Target::ExternalAdvisor => self.external_advisor,
        }
    }
}

impl Extend<Target> for Asked {
    fn extend<I: IntoIterator<Item = Target>>(&mut self, targets: I) {
        for target in targets {
            let count = match target {
                Target::People => &mut self.people,
                Target::Planner => &mut self.planner,
                Target::LogicValidator => &mut self.logic_validator,
                Target::ExternalAdvisor => &mut self.external_advisor,
            };
            *count = count.saturating_add(1);
        }
    }
}

impl FromIterator<Target> for Asked {
    fn from_iter<I: IntoIterator<Item = Target>>(targets: I) -> Self {
        let mut asked = Self::default();
        asked.extend(targets);
        asked
    }
}

/// Who is there at all; everybody else always is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Roster {
    /// A model is configured for the external advisor.
    pub advisor: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Route {
    To {
        first: Target,
        then: Then,
    },
    /// Nobody may be asked any more; the reason is for people to read.
    Nobody {
        why: String,
    },
}

/// What follows once the first target has spoken. It is a forecast: limits are looked at again by [`after`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    End,
    /// Only when the first one could not help.
    Unhelped(Target),
    /// In any case, with what the first one said.
    Also(Target),
}

/// Whom to turn to first.
pub fn route(cause: Cause, asked: &Asked, limits: &Limits, roster: Roster) -> Route {
    along(cause, cause.row(), &Desk { asked, limits, roster })
}

/// Whom to turn to once `past` is through: because it could not help or did not answer, or because its turn comes in
/// any case ([`Then::Also`]). A target that is not in the row of the cause has nobody behind it, so that no chain can
/// begin anew.
pub fn after(cause: Cause, past: Target, asked: &Asked, limits: &Limits, roster: Roster) -> Route {
    let row = cause.row();
    let rest = row.iter().position(|target| *target == past).map_or(&[][..], |at| &row[at + 1..]);
    if rest.is_empty() {
        return Route::Nobody { why: format!("there is nobody to turn to after {}", past.words()) };
    }
    along(cause, rest, &Desk { asked, limits, roster })
}

struct Desk<'a> {
    asked: &'a Asked,
    limits: &'a Limits,
    roster: Roster,
}

impl Desk<'_> {
    /// Why a target cannot be asked now.
    fn closed(&self, target: Target) -> Option<String> {
        let (asked, limit) = (self.asked.of(target), self.limits.of(target));
        if target == Target::ExternalAdvisor && !self.roster.advisor {
            Some("no external advisor is configured".to_owned())
        } else if limit == 0 {
            Some(format!("the settings allow no questions to {}", target.words()))
        } else if asked >= limit {
            Some(format!("the limit for questions to {} is reached ({asked} of {limit})", target.words()))
        } else {
            None
        }
    }
}

fn along(cause: Cause, row: &[Target], desk: &Desk<'_>) -> Route {
    let mut open = row.iter().copied().filter(|target| desk.closed(*target).is_none());
    let Some(first) = open.next() else {
        let reasons: Vec<String> = row.iter().filter_map(|target| desk.closed(*target)).collect();
        return Route::Nobody { why: reasons.join("; ") };
    };
    let then = match (open.next(), cause) {
        (None, _) => Then::End,
        (Some(next), Cause::ThreeStepsInARow) => Then::Also(next),
        (Some(next), _) => Then::Unhelped(next),
    };
    Route::To { first, then }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PLENTY: Limits = Limits { planner: 2, logic_validator: 2, external_advisor: 1, people: 3 };
    const ADVISED: Roster = Roster { advisor: true };
    const ALONE: Roster = Roster { advisor: false };

    fn to(first: Target, then: Then) -> Route {
        Route::To { first, then }
    }

    fn nobody(why: &str) -> Route {
        Route::Nobody { why: why.to_owned() }
    }

    #[test]
    fn every_row_of_the_table_is_kept() {
        use Target::{ExternalAdvisor, LogicValidator, People, Planner};
        for (cause, expected) in [
            (Cause::ThreeFailures, to(Planner, Then::Unhelped(People))),
            (Cause::Scope, to(People, Then::End)),
            (Cause::Ambiguity, to(People, Then::End)),
            (Cause::Technical, to(LogicValidator, Then::Unhelped(ExternalAdvisor))),
            (Cause::Dependency, to(Planner, Then::Unhelped(People))),
            // Requirements that exclude each other, and a contradiction that the logic validator finds.
            (Cause::Contradiction, to(People, Then::End)),
            (Cause::ThreeStepsInARow, to(People, Then::Also(Planner))),
        ] {
            assert_eq!(route(cause, &Asked::default(), &PLENTY, ADVISED), expected, "{cause:?}");
        }
    }

    #[test]
    fn what_a_worker_says_becomes_a_cause() {
        use Category::{Ambiguity, Dependency, Scope, Technical};
        use RequestedAction::{Clarification, Continue, Escalate, Replan};
        for (category, requested, expected) in [
            (Technical, Escalate, Some(Cause::Technical)),
            (Ambiguity, Escalate, Some(Cause::Ambiguity)),
            (Scope, Escalate, Some(Cause::Scope)),
            (Dependency, Escalate, Some(Cause::Dependency)),
            (Technical, Clarification, Some(Cause::Ambiguity)),
            (Ambiguity, Clarification, Some(Cause::Ambiguity)),
            (Scope, Clarification, Some(Cause::Scope)),
            (Dependency, Clarification, Some(Cause::Ambiguity)),
            (Technical, Replan, Some(Cause::Dependency)),
            (Ambiguity, Replan, Some(Cause::Ambiguity)),
            (Scope, Replan, Some(Cause::Scope)),
            (Dependency, Replan, Some(Cause::Dependency)),
            (Technical, Continue, None),
            (Ambiguity, Continue, None),
            (Scope, Continue, None),
            (Dependency, Continue, None),
        ] {
            assert_eq!(cause_of(category, requested), expected, "{category:?} {requested:?}");
        }
    }

    #[test]
    fn a_technical_difficulty_goes_from_the_validator_to_the_advisor_to_people() {
        use Target::{ExternalAdvisor, LogicValidator, People};
        let mut asked = Asked::default();
        let next = |past, asked: &Asked, roster| after(Cause::Technical, past, asked, &PLENTY, roster);
        asked.extend([LogicValidator]);
        assert_eq!(next(LogicValidator, &asked, ADVISED), to(ExternalAdvisor, Then::Unhelped(People)));
        assert_eq!(
            next(LogicValidator, &asked, ALONE),
            to(People, Then::End),
            "an advisor that is not there"
        );
        asked.extend([ExternalAdvisor]);
        assert_eq!(
            next(LogicValidator, &asked, ADVISED),
            to(People, Then::End),
            "an advisor that is used up"
        );
        assert_eq!(next(ExternalAdvisor, &asked, ADVISED), to(People, Then::End));
        assert_eq!(next(People, &asked, ADVISED), nobody("there is nobody to turn to after people"));
    }

    #[test]
    fn three_failures_in_a_row_go_to_people_and_then_to_the_planner() {
        let cause = Cause::ThreeStepsInARow;
        let asked = Asked { people: 1, ..Asked::default() };
        assert_eq!(after(cause, Target::People, &asked, &PLENTY, ADVISED), to(Target::Planner, Then::End));
        let spent = Asked { people: 3, ..Asked::default() };
        assert_eq!(route(cause, &spent, &PLENTY, ADVISED), to(Target::Planner, Then::End));
        let spent = Asked { planner: 2, ..Asked::default() };
        assert_eq!(route(cause, &spent, &PLENTY, ADVISED), to(Target::People, Then::End));
    }

    #[test]
    fn when_nobody_may_be_asked_the_reason_is_said() {
        let none = Limits { planner: 0, logic_validator: 0, external_advisor: 0, people: 0 };
        let spent = Asked { planner: 2, logic_validator: 2, external_advisor: 1, people: 4 };
        for (cause, asked, limits, roster, why) in [
            (Cause::Scope, Asked::default(), none, ADVISED, "the settings allow no questions to people"),
            (
                Cause::Technical,
                Asked::default(),
                none,
                ALONE,
                "the settings allow no questions to the logic validator; no external advisor is configured; \
                 the settings allow no questions to people",
            ),
            (
                Cause::Dependency,
                spent,
                PLENTY,
                ADVISED,
                "the limit for questions to the planner is reached (2 of 2); \
                 the limit for questions to people is reached (4 of 3)",
            ),
        ] {
            assert_eq!(route(cause, &asked, &limits, roster), nobody(why), "{cause:?}");
        }
        let astray = after(Cause::Scope, Target::Planner, &Asked::default(), &PLENTY, ADVISED);
        assert_eq!(astray, nobody("there is nobody to turn to after the planner"));
    }

    /// The rows once more, as the table of the test; with every set of targets used up, what is left of a row is asked
    /// in its order.
    #[test]
    fn whoever_is_used_up_is_left_out_and_nobody_else() {
        use Target::{ExternalAdvisor, LogicValidator, People, Planner};
        let rows: [(Cause, &[Target]); 7] = [
            (Cause::ThreeFailures, &[Planner, People]),
            (Cause::Scope, &[People]),
            (Cause::Ambiguity, &[People]),
            (Cause::Technical, &[LogicValidator, ExternalAdvisor, People]),
            (Cause::Dependency, &[Planner, People]),
            (Cause::Contradiction, &[People]),
            (Cause::ThreeStepsInARow, &[People, Planner]),
        ];
        for (cause, row) in rows {
            for set in 0..16_u32 {
                let spent = |target: Target| set & (1 << (target as u32)) != 0;
                let count = |target| if spent(target) { PLENTY.of(target) } else { 0 };
                let asked = Asked {
                    planner: count(Planner),
                    logic_validator: count(LogicValidator),
                    external_advisor: count(ExternalAdvisor),
                    people: count(People),
                };
                let left: Vec<Target> = row.iter().copied().filter(|target| !spent(*target)).collect();
                let found = route(cause, &asked, &PLENTY, ADVISED);
                match (&found, left.first()) {
                    (Route::To { first, then }, Some(expected)) => {
                        assert_eq!(first, expected, "{cause:?} {set}");
                        let next = match then {
                            Then::End => None,
                            Then::Unhelped(next) | Then::Also(next) => Some(next),
                        };
                        assert_eq!(next, left.get(1), "{cause:?} {set}");
                    }
                    (Route::Nobody { .. }, None) => {}
                    (Route::To { .. } | Route::Nobody { .. }, _) => panic!("{cause:?} {set}: {found:?}"),
                }
            }
        }
    }

    #[test]
    fn names_are_the_same_in_the_journal_and_in_sentences() {
        for cause in Cause::ALL {
            assert_eq!(serde_json::to_value(cause).unwrap(), cause.as_str());
        }
        for target in Target::ALL {
            assert_eq!(serde_json::to_value(target).unwrap(), target.as_str());
        }
        assert!(Target::ALL.is_sorted(), "in the order of their priority");
    }

    proptest! {
        /// Whatever goes wrong, and if nobody ever helps: every chain ends, and no limit is exceeded.
        #[test]
        fn every_chain_ends_within_the_limits(
            causes in prop::collection::vec(prop::sample::select(Cause::ALL.to_vec()), 0..40),
            limits in (0..4_u32, 0..4_u32, 0..4_u32, 0..4_u32),
            advisor: bool,
        ) {
            let (planner, logic_validator, external_advisor, people) = limits;
            let limits = Limits { planner, logic_validator, external_advisor, people };
            let roster = Roster { advisor };
            let mut asked = Asked::default();
            for cause in causes {
                let mut turns = 0;
                let mut found = route(cause, &asked, &limits, roster);
                while let Route::To { first, .. } = found {
                    asked.extend([first]);
                    turns += 1;
                    prop_assert!(turns <= 3, "{cause:?} goes in a circle");
                    prop_assert!(asked.of(first) <= limits.of(first), "{first:?} is asked too often");
                    prop_assert!(advisor || first != Target::ExternalAdvisor, "there is no advisor");
                    found = after(cause, first, &asked, &limits, roster);
                }
                let Route::Nobody { why } = found else { unreachable!() };
                prop_assert!(!why.is_empty());
            }
        }
    }
}
