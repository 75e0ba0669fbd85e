//! Purpose: the environment, captured once, and the four switches that it may set over the file.

use std::collections::BTreeMap;

use super::{Confidence, ConfigError, Planning};

/// The variables of the process. It is handed down, so nothing else reads the environment and tests can set it.
#[derive(Clone, Default)]
pub struct Env {
    variables: BTreeMap<String, String>,
}

impl Env {
    /// Variables that are not Unicode are left out: no setting or secret of ours can be one.
    #[must_use]
    pub fn from_process() -> Self {
        let unicode = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self { variables: std::env::vars_os().filter_map(unicode).collect() }
    }

    #[must_use]
    pub fn of(pairs: &[(&str, &str)]) -> Self {
        Self { variables: pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect() }
    }

    /// A variable that is set to nothing counts as not set, as container tools often pass empty ones.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

/// Values may be secrets: only their number is shown.
impl std::fmt::Debug for Env {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { variables } = self;
        write!(f, "Env({} variables)", variables.len())
    }
}

/// What the environment decides over every file.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Switches {
    planning_enabled: Option<bool>,
    replanning_enabled: Option<bool>,
    min_confidence: Option<Confidence>,
    max_total_replans: Option<u32>,
}

impl Switches {
    pub(super) fn read(env: &Env) -> Result<Self, ConfigError> {
        Ok(Self {
            planning_enabled: switch(env, "PLANNING_ENABLED", "`true` or `false`", truth)?,
            replanning_enabled: switch(env, "REPLANNING_ENABLED", "`true` or `false`", truth)?,
            min_confidence: switch(env, "REPLANNING_MIN_CONFIDENCE", "a number from 0 to 1", |text| {
                Confidence::try_from(text.parse::<f64>().ok()?).ok()
            })?,
            max_total_replans: switch(env, "MAX_TOTAL_REPLANS", "a whole number, zero or more", |text| {
                text.parse().ok()
            })?,
        })
    }

    pub(super) fn apply(&self, planning: &mut Planning) {
        let Self { planning_enabled, replanning_enabled, min_confidence, max_total_replans } = *self;
        let replanning = &mut planning.replanning;
        set(&mut planning.enabled, planning_enabled);
        set(&mut replanning.enabled, replanning_enabled);
        set(&mut replanning.llm_decision.min_confidence_threshold, min_confidence);
        set(&mut replanning.global.max_total_replans, max_total_replans);
    }
}

fn set<T>(target: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *target = value;
    }
}

fn switch<T>(
    env: &Env,
    name: &'static str,
    expected: &'static str,
    read: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, ConfigError> {
    let Some(text) = env.get(name) else { return Ok(None) };
    match read(text.trim()) {
        Some(value) => Ok(Some(value)),
        None => Err(ConfigError::Variable { name, value: text.chars().take(40).collect(), expected }),
    }
}

fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Some(true),
        "false" | "0" | "no" | "off" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_set() {
        let env = Env::of(&[
            ("PLANNING_ENABLED", "TRUE"),
            ("REPLANNING_ENABLED", "0"),
            ("REPLANNING_MIN_CONFIDENCE", "0.7"),
            ("MAX_TOTAL_REPLANS", "4"),
        ]);
        let mut planning = Planning::default();
        Switches::read(&env).unwrap().apply(&mut planning);
        let mut expected = Planning { enabled: true, ..Planning::default() };
        expected.replanning.enabled = false;
        expected.replanning.llm_decision.min_confidence_threshold = Confidence::try_from(0.7).unwrap();
        expected.replanning.global.max_total_replans = 4;
        assert_eq!(planning, expected);
    }

    #[test]
    fn unset_and_empty_switches_change_nothing() {
        for env in [Env::default(), Env::of(&[("PLANNING_ENABLED", ""), ("MAX_TOTAL_REPLANS", "")])] {
            assert_eq!(Switches::read(&env).unwrap(), Switches::default());
        }
    }

    #[test]
    fn bad_switches_are_named() {
        for (name, value, says) in [
            ("PLANNING_ENABLED", "maybe", "PLANNING_ENABLED is `maybe`; it must be `true` or `false`"),
            ("REPLANNING_ENABLED", "2", "REPLANNING_ENABLED is `2`; it must be `true` or `false`"),
            (
                "REPLANNING_MIN_CONFIDENCE",
                "1.5",
                "REPLANNING_MIN_CONFIDENCE is `1.5`; it must be a number from 0 to 1",
            ),
            (
                "REPLANNING_MIN_CONFIDENCE",
                "NaN",
                "REPLANNING_MIN_CONFIDENCE is `NaN`; it must be a number from 0 to 1",
            ),
            ("MAX_TOTAL_REPLANS", "-1", "MAX_TOTAL_REPLANS is `-1`; it must be a whole number, zero or more"),
        ] {
            let error = Switches::read(&Env::of(&[(name, value)])).unwrap_err();
            assert_eq!(error.to_string(), format!("the environment variable {says}"));
        }
    }

    #[test]
    fn values_are_not_shown() {
        assert_eq!(format!("{:?}", Env::of(&[("GITHUB_TOKEN", "ghp_secret")])), "Env(1 variables)");
    }
}
