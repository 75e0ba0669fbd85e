//! Purpose: what a run may use up, what it has used, and which limit it has reached.

use serde::{Deserialize, Serialize};

/// What one run may use; `None`: no limit. Money in millionths of a dollar.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    pub micro_usd: Option<u64>,
    pub tokens: Option<u64>,
    pub model_calls: Option<u64>,
    pub minutes: Option<u64>,
    pub files: Option<u64>,
    pub bytes: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    MicroUsd,
    Tokens,
    ModelCalls,
    Minutes,
    Files,
    Bytes,
}

/// What the run has cost so far. A call counts from its beginning, so that a crash cannot hide one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spent {
    pub model_calls: u32,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cost_micro_usd: Option<u64>,
    /// Time in which the run was at work; waiting for people costs nothing.
    pub active_ms: u64,
    pub files: u64,
    pub bytes: u64,
}

/// A limit that is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reached {
    pub resource: Resource,
    pub limit: u64,
}

const MINUTE_MS: u64 = 60_000;

impl Limits {
    /// The first limit that leaves nothing more to use.
    #[must_use]
    pub fn reached(&self, spent: &Spent) -> Option<Reached> {
        [
            (Resource::MicroUsd, self.micro_usd, spent.cost_micro_usd.unwrap_or(0)),
            (Resource::Tokens, self.tokens, spent.input_tokens + spent.output_tokens),
            (Resource::ModelCalls, self.model_calls, u64::from(spent.model_calls)),
            (Resource::Minutes, self.minutes, spent.active_ms / MINUTE_MS),
            (Resource::Files, self.files, spent.files),
            (Resource::Bytes, self.bytes, spent.bytes),
        ]
        .into_iter()
        .find_map(|(resource, limit, used)| {
            limit.filter(|limit| used >= *limit).map(|limit| Reached { resource, limit })
        })
    }

    pub(super) fn raise(&mut self, resource: Resource, amount: u64) {
        let limit = match resource {
            Resource::MicroUsd => &mut self.micro_usd,
            Resource::Tokens => &mut self.tokens,
            Resource::ModelCalls => &mut self.model_calls,
            Resource::Minutes => &mut self.minutes,
            Resource::Files => &mut self.files,
            Resource::Bytes => &mut self.bytes,
        };
        if let Some(limit) = limit {
            *limit = limit.saturating_add(amount);
        }
    }

    /// What `+N` means in this resource's unit: dollars are written with a point, everything else is counted.
    #[must_use]
    pub fn amount(resource: Resource, words: &str) -> Option<u64> {
        let number: f64 = words.parse().ok().filter(|n: &f64| n.is_finite() && *n > 0.0 && *n < 1e9)?;
        let scale = if resource == Resource::MicroUsd { 1_000_000.0 } else { 1.0 };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked above to be small and positive"
        )]
        let amount = (number * scale).ceil() as u64;
        Some(amount)
    }

    /// What a raise is about when no limit is reached: money where it is counted, else calls.
    #[must_use]
    pub fn main_resource(&self) -> Resource {
        if self.micro_usd.is_some() { Resource::MicroUsd } else { Resource::ModelCalls }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_reached_when_nothing_is_left() {
        let limits = Limits {
            micro_usd: Some(2_000_000),
            model_calls: Some(3),
            minutes: Some(1),
            ..Limits::default()
        };
        let spent = |calls, cost, ms| Spent {
            model_calls: calls,
            cost_micro_usd: cost,
            active_ms: ms,
            ..Spent::default()
        };
        let reached = |spent: &Spent| limits.reached(spent).map(|reached| reached.resource);
        assert_eq!(reached(&spent(2, Some(1_999_999), 59_999)), None);
        assert_eq!(reached(&spent(3, None, 0)), Some(Resource::ModelCalls));
        assert_eq!(reached(&spent(0, Some(2_000_000), 0)), Some(Resource::MicroUsd));
        assert_eq!(reached(&spent(0, None, 60_000)), Some(Resource::Minutes));
        assert_eq!(Limits::default().reached(&spent(9_999, Some(u64::MAX), u64::MAX)), None);
    }

    /// Each limit by itself: nothing is reached one below it, and it is reached at it.
    #[test]
    fn every_resource_is_held() {
        let none = Limits::default;
        let calls = |n: u64| Spent { model_calls: u32::try_from(n).unwrap(), ..Spent::default() };
        let tokens = |n: u64| Spent { input_tokens: n / 2, output_tokens: n - n / 2, ..Spent::default() };
        type Row = (Resource, Limits, fn(u64) -> Spent);
        let rows: [Row; 6] = [
            (Resource::MicroUsd, Limits { micro_usd: Some(7), ..none() }, |n| Spent {
                cost_micro_usd: Some(n),
                ..Spent::default()
            }),
            (Resource::Tokens, Limits { tokens: Some(7), ..none() }, tokens),
            (Resource::ModelCalls, Limits { model_calls: Some(7), ..none() }, calls),
            (Resource::Minutes, Limits { minutes: Some(7), ..none() }, |n| Spent {
                active_ms: n * MINUTE_MS,
                ..Spent::default()
            }),
            (Resource::Files, Limits { files: Some(7), ..none() }, |n| Spent {
                files: n,
                ..Spent::default()
            }),
            (Resource::Bytes, Limits { bytes: Some(7), ..none() }, |n| Spent {
                bytes: n,
                ..Spent::default()
            }),
        ];
        for (resource, limits, spent) in rows {
            assert_eq!(limits.reached(&spent(6)), None, "{resource:?}");
            assert_eq!(limits.reached(&spent(7)), Some(Reached { resource, limit: 7 }));
            assert_eq!(limits.reached(&spent(8)), Some(Reached { resource, limit: 7 }));
            let mut raised = limits.clone();
            raised.raise(resource, 3);
            assert_eq!(raised.reached(&spent(9)), None, "{resource:?} can be raised");
            assert_eq!(raised.reached(&spent(10)), Some(Reached { resource, limit: 10 }));
        }
    }

    #[test]
    fn a_raise_has_the_unit_of_its_limit() {
        for (resource, words, expected) in [
            (Resource::MicroUsd, "1.5", Some(1_500_000)),
            (Resource::ModelCalls, "20", Some(20)),
            (Resource::ModelCalls, "0", None),
            (Resource::ModelCalls, "-3", None),
            (Resource::MicroUsd, "1e300", None),
            (Resource::MicroUsd, "x", None),
        ] {
            assert_eq!(Limits::amount(resource, words), expected, "{words}");
        }
    }
}
