//! Purpose: the leader's choice: which steps are given to which workers now.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::plan::StepId;

/// A step as the leader sees it. The list of them is in plan order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub id: StepId,
    pub dependencies_accepted: bool,
    pub standing: Standing,
    /// Nothing in it is left for a worker to fill in.
    pub fully_specified: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Waiting,
    /// By an open escalation, or by a person.
    Held,
    /// From the moment it is given away until it is given back, or judged to be done.
    AtWork {
        worker: u32,
        checkout: Checkout,
    },
    /// Judged to be done, and on its way to the run's branch. The worker's hands are free.
    Merging,
    Accepted,
    /// Skipped, left out, or given up.
    Closed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Checkout {
    /// A checkout for this step alone; its result is merged.
    Own,
    /// The run's own checkout: nothing is merged there while the step is at work.
    Shared,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    pub step: StepId,
    /// Workers are numbered from 1.
    pub worker: u32,
    pub checkout: Checkout,
}

/// What is given away now. Called again whenever something changed, it gives away what has become possible since.
#[must_use]
pub fn assign(steps: &[Candidate], workers: NonZeroU32) -> Vec<Assignment> {
    let merging = steps.iter().any(|step| step.standing == Standing::Merging);
    if merging && workers.get() == 1 {
        // Whoever wants one worker wants each step to begin with what the one before has made.
        return vec![];
    }
    let busy: Vec<u32> = steps.iter().filter_map(|step| worker_of(step.standing)).collect();
    // Fewer than the free numbers, when the settings were lowered while more were at work.
    let most = (workers.get() as usize).saturating_sub(busy.len());
    let free = (1..=workers.get()).filter(|worker| !busy.contains(worker)).take(most);
    let ready = || steps.iter().filter(|step| is_ready(step));
    // A checkout costs time; a step that is alone and needs no worker's eyes can do without.
    let alone = busy.is_empty() && !merging && (workers.get() == 1 || ready().nth(1).is_none());
    let give = |(step, worker): (&Candidate, u32)| {
        let checkout = if alone && step.fully_specified { Checkout::Shared } else { Checkout::Own };
        Assignment { step: step.id.clone(), worker, checkout }
    };
    ready().zip(free).map(give).collect()
}

fn is_ready(step: &Candidate) -> bool {
    step.dependencies_accepted && step.standing == Standing::Waiting
}

fn worker_of(standing: Standing) -> Option<u32> {
    match standing {
        Standing::AtWork { worker, .. } => Some(worker),
        Standing::Waiting | Standing::Held | Standing::Merging | Standing::Accepted | Standing::Closed => {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use Checkout::{Own, Shared};

    type Given<'a> = (&'a str, u32, Checkout);

    fn step(id: &str, accepted: bool, standing: Standing, specified: bool) -> Candidate {
        Candidate {
            id: StepId(id.to_owned()),
            dependencies_accepted: accepted,
            standing,
            fully_specified: specified,
        }
    }

    fn ready(id: &str) -> Candidate {
        step(id, true, Standing::Waiting, false)
    }

    fn specified(id: &str) -> Candidate {
        step(id, true, Standing::Waiting, true)
    }

    fn at_work(id: &str, worker: u32, checkout: Checkout) -> Candidate {
        step(id, true, Standing::AtWork { worker, checkout }, true)
    }

    fn gives(steps: &[Candidate], workers: u32) -> Vec<(String, u32, Checkout)> {
        let given = assign(steps, NonZeroU32::new(workers).unwrap());
        given.into_iter().map(|a| (a.step.0, a.worker, a.checkout)).collect()
    }

    #[test]
    fn steps_are_given_away_in_plan_order() {
        let blocked = step("b", false, Standing::Waiting, true);
        let held = step("h", true, Standing::Held, true);
        let over = [step("x", true, Standing::Accepted, true), step("y", true, Standing::Closed, true)];
        let merging = step("m", true, Standing::Merging, true);
        let rows: [(Vec<Candidate>, u32, &[Given<'_>]); 17] = [
            (vec![], 2, &[]),
            (vec![ready("a"), ready("b"), ready("c")], 2, &[("a", 1, Own), ("b", 2, Own)]),
            (vec![ready("a"), blocked.clone(), ready("c")], 3, &[("a", 1, Own), ("c", 2, Own)]),
            (vec![held.clone(), ready("a")], 2, &[("a", 1, Own)]),
            (vec![blocked.clone(), held.clone(), over[0].clone(), over[1].clone()], 2, &[]),
            (vec![at_work("a", 1, Own), ready("b"), ready("c")], 2, &[("b", 2, Own)]),
            (vec![at_work("a", 2, Own), ready("b"), ready("c")], 3, &[("b", 1, Own), ("c", 3, Own)]),
            (vec![at_work("a", 1, Own), at_work("b", 2, Own), ready("c")], 2, &[]),
            // The settings were lowered while two were at work: first the third number is waited for.
            (vec![at_work("a", 2, Own), at_work("b", 3, Own), ready("c")], 2, &[]),
            // Alone, with nothing left to fill in.
            (vec![specified("a"), blocked], 2, &[("a", 1, Shared)]),
            (vec![specified("a"), specified("b")], 1, &[("a", 1, Shared)]),
            (vec![specified("a"), specified("b")], 2, &[("a", 1, Own), ("b", 2, Own)]),
            (vec![ready("a"), held], 1, &[("a", 1, Own)]),
            // What is being merged needs no hands, but the run's own checkout.
            (vec![merging.clone(), at_work("a", 1, Own), ready("b"), ready("c")], 2, &[("b", 2, Own)]),
            (vec![merging.clone(), ready("a")], 1, &[]),
            (vec![merging, specified("a")], 2, &[("a", 1, Own)]),
            // Beside one in the run's own checkout everybody has another.
            (vec![at_work("a", 1, Shared), specified("b")], 2, &[("b", 2, Own)]),
        ];
        for (steps, workers, expected) in rows {
            let expected: Vec<_> = expected.iter().map(|(id, w, c)| ((*id).to_owned(), *w, *c)).collect();
            assert_eq!(gives(&steps, workers), expected, "{steps:?} with {workers}");
        }
    }

    #[test]
    fn very_many_workers_cost_nothing() {
        assert_eq!(gives(&[ready("a"), ready("b")], u32::MAX).len(), 2);
    }

    /// A plan of which each step may depend on earlier ones, in an order on paper that says nothing.
    #[derive(Debug, Clone)]
    struct Sample {
        dependencies: Vec<Vec<usize>>,
        specified: Vec<bool>,
        held: Vec<bool>,
        on_paper: Vec<usize>,
    }

    fn any_sample() -> impl Strategy<Value = Sample> {
        (1..12_usize).prop_flat_map(|count| {
            let edges = prop::collection::vec(prop::collection::vec(any::<bool>(), count), count);
            let flags = || prop::collection::vec(any::<bool>(), count);
            let on_paper = Just((0..count).collect::<Vec<_>>()).prop_shuffle();
            (edges, flags(), flags(), on_paper).prop_map(move |(edges, specified, held, on_paper)| {
                let before = |at: usize| (0..at).filter(|on| edges[at][*on]).collect();
                Sample { dependencies: (0..count).map(before).collect(), specified, held, on_paper }
            })
        })
    }

    struct World {
        sample: Sample,
        standings: Vec<Standing>,
        workers: NonZeroU32,
    }

    impl World {
        fn new(sample: Sample, workers: u32) -> Self {
            let start = |held: &bool| if *held { Standing::Held } else { Standing::Waiting };
            let standings = sample.held.iter().map(start).collect();
            Self { sample, standings, workers: NonZeroU32::new(workers).unwrap() }
        }

        fn may_begin(&self, at: usize) -> bool {
            self.sample.dependencies[at].iter().all(|on| self.standings[*on] == Standing::Accepted)
        }

        fn candidates(&self) -> Vec<Candidate> {
            let candidate = |at: &usize| {
                let specified = self.sample.specified[*at];
                step(&at.to_string(), self.may_begin(*at), self.standings[*at], specified)
            };
            self.sample.on_paper.iter().map(candidate).collect()
        }

        fn at_work(&self) -> usize {
            self.standings.iter().filter(|standing| worker_of(**standing).is_some()).count()
        }

        /// What is at work, or on its way to the run's branch.
        fn in_hand(&self) -> Vec<usize> {
            let is_it = |at: &usize| {
                let standing = self.standings[*at];
                standing == Standing::Merging || worker_of(standing).is_some()
            };
            (0..self.standings.len()).filter(is_it).collect()
        }

        fn advance(&mut self, at: usize) {
            let merged = matches!(
                self.standings[at],
                Standing::Merging | Standing::AtWork { checkout: Checkout::Shared, .. }
            );
            self.standings[at] = if merged { Standing::Accepted } else { Standing::Merging };
        }

        /// Gives away what can be given, and checks that all of it may be.
        fn lead(&mut self) -> Result<(), TestCaseError> {
            let given = assign(&self.candidates(), self.workers);
            let lonely = given.len() == 1 && self.in_hand().is_empty();
            for Assignment { step, worker, checkout } in given {
                let at: usize = step.0.parse().unwrap();
                prop_assert_eq!(
                    self.standings[at],
                    Standing::Waiting,
                    "held by nobody else, and not held up"
                );
                prop_assert!(self.may_begin(at), "its dependencies come first");
                prop_assert!((1..=self.workers.get()).contains(&worker));
                let taken = self.standings.iter().any(|standing| worker_of(*standing) == Some(worker));
                prop_assert!(!taken, "worker {worker} has two steps");
                prop_assert!(checkout == Own || lonely && self.sample.specified[at]);
                self.standings[at] = Standing::AtWork { worker, checkout };
            }
            prop_assert!(self.at_work() <= self.workers.get() as usize);
            Ok(())
        }

        fn release_one(&mut self) -> bool {
            let held = self.standings.iter_mut().find(|standing| **standing == Standing::Held);
            held.map(|standing| *standing = Standing::Waiting).is_some()
        }
    }

    proptest! {
        /// Dependencies before dependants, nobody with two steps, no step with two workers, never too many at work; and
        /// when everything succeeds and every hold ends, every step is accepted in the end.
        #[test]
        fn a_plan_is_worked_through(
            sample in any_sample(),
            workers in 1..6_u32,
            picks in prop::collection::vec(any::<prop::sample::Index>(), 24),
        ) {
            let mut world = World::new(sample, workers);
            let mut picks = picks.into_iter();
            loop {
                world.lead()?;
                let in_hand = world.in_hand();
                if in_hand.is_empty() {
                    if world.release_one() {
                        continue;
                    }
                    break;
                }
                world.advance(in_hand[picks.next().unwrap().index(in_hand.len())]);
            }
            let all = world.standings.iter().all(|standing| *standing == Standing::Accepted);
            prop_assert!(all, "{:?}", world.standings);
        }
    }
}
