//! Purpose: `repos:` rules, and what holds for one repository once they are laid over the file.

use globset::{GlobBuilder, GlobMatcher};
use schemars::JsonSchema;
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use serde_yaml::{Mapping, Value};

use super::checked::{self, deserialize_checked};
use super::{
    Approval, Budget, Config, Crew, Deliver, Language, Notices, Planning, RepoSettings, Tools, Triggers,
};
use crate::domain::Project;

/// One rule. The typed keys are there to be checked where they stand; what the rule lays over the file is `given`, the
/// keys that were really written.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RepoRule {
    /// Which repositories, like `github:acme/*`, `gitlab:group/**` or `*`.
    #[serde(rename = "match")]
    pub pattern: RepoPattern,
    #[serde(default)]
    triggers: Triggers,
    #[serde(default)]
    planning: Planning,
    #[serde(default)]
    approval: Approval,
    #[serde(default)]
    crew: Crew,
    #[serde(default)]
    tools: Tools,
    #[serde(default)]
    deliver: Deliver,
    #[serde(default)]
    budget: Budget,
    #[serde(default)]
    language: Language,
    #[serde(default)]
    notices: Notices,
    #[serde(skip)]
    given: Mapping,
}

/// As it was written: the rule, not what it comes to.
impl Serialize for RepoRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.given.len() + 1))?;
        map.serialize_entry("match", &self.pattern)?;
        for (key, value) in &self.given {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// A pattern over names like `github:acme/web`, without regard to case. `*` stays within one segment of the path,
/// `**` does not.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(into = "String")]
#[schemars(with = "String")]
pub struct RepoPattern {
    text: String,
    matcher: GlobMatcher,
}

impl RepoPattern {
    #[must_use]
    pub fn matches(&self, project: &Project) -> bool {
        self.matcher.is_match(project.to_string())
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl PartialEq for RepoPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

deserialize_checked! { RepoPattern => checked::text; }

impl TryFrom<String> for RepoPattern {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        let forge = text.split_once(':').map(|(forge, _)| forge.to_ascii_lowercase());
        let all = matches!(text.as_str(), "*" | "**");
        if !all && !matches!(forge.as_deref(), Some("github" | "gitlab" | "local" | "*")) {
            return Err(format!("`{text}` names no forge; write it like `github:acme/*`"));
        }
        let glob = if all { "**" } else { &text };
        let built = GlobBuilder::new(glob).literal_separator(true).case_insensitive(true).build();
        let matcher =
            built.map_err(|e| format!("`{text}` is not a pattern: {}", e.kind()))?.compile_matcher();
        Ok(Self { text, matcher })
    }
}

impl From<RepoPattern> for String {
    fn from(pattern: RepoPattern) -> Self {
        pattern.text
    }
}

impl Config {
    /// What holds for one repository before its own file is read: the file, the rules that match, the switches.
    #[must_use]
    pub fn for_repo(&self, project: &Project) -> RepoSettings {
        let rules = self.repos.iter().filter(|rule| rule.pattern.matches(project));
        self.with_rules(rules)
    }

    pub(super) fn with_rules<'a>(&self, rules: impl Iterator<Item = &'a RepoRule>) -> RepoSettings {
        let base = self.without_rules();
        let mut settings = rules.fold(base.clone(), |settings, rule| {
            // Both sides are valid and lists are replaced as a whole, so what comes of it is valid too. Should that
            // ever be wrong, the bot does nothing in that repository rather than something nobody asked for.
            settings.overlaid(rule.given.clone()).unwrap_or_else(|error| {
                tracing::error!("cannot apply the rule for `{}`: {error}", rule.pattern.as_str());
                RepoSettings {
                    planning: Planning { enabled: false, ..base.planning.clone() },
                    ..base.clone()
                }
            })
        });
        settings.switches.apply(&mut settings.planning);
        settings
    }

    fn without_rules(&self) -> RepoSettings {
        RepoSettings {
            triggers: self.triggers.clone(),
            planning: self.planning.clone(),
            approval: self.approval.clone(),
            crew: self.crew.clone(),
            tools: self.tools.clone(),
            deliver: self.deliver,
            budget: self.budget.clone(),
            language: self.language.clone(),
            notices: self.notices,
            switches: self.switches,
        }
    }
}

impl RepoRule {
    pub(super) fn remember(&mut self, mut given: Mapping) {
        given.remove("match");
        self.given = given;
    }
}

impl RepoSettings {
    pub(super) fn overlaid(&self, over: Mapping) -> Result<Self, serde_yaml::Error> {
        let mut value = serde_yaml::to_value(self)?;
        lay_over(&mut value, Value::Mapping(over));
        let settings: Self = serde_yaml::from_value(value)?;
        Ok(Self { switches: self.switches, ..settings })
    }
}

/// Mappings are joined key by key, everything else is replaced. A section without keys (`planning:` alone) says nothing.
fn lay_over(below: &mut Value, above: Value) {
    match (below, above) {
        (Value::Mapping(_), Value::Null) => {}
        (Value::Mapping(below), Value::Mapping(above)) => {
            for (key, value) in above {
                match below.get_mut(&key) {
                    Some(slot) => lay_over(slot, value),
                    None => {
                        below.insert(key, value);
                    }
                }
            }
        }
        (below, above) => *below = above,
    }
}
