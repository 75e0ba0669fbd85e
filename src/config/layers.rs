//! Purpose: `repos:` rules, and what holds for one repository once they are laid over the file.

use std::collections::{BTreeMap, BTreeSet};

use globset::{GlobBuilder, GlobMatcher};
use schemars::JsonSchema;
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use serde_yaml::{Mapping, Value};

use super::checked::{self, deserialize_checked};
use super::env::Switches;
use super::{
    Approval, Budget, Config, Crew, Deliver, Language, McpServer, Notices, Planning, RepoSettings, ToolName,
    Tools, Triggers,
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

    /// Every label that starts a run somewhere.
    #[must_use]
    pub fn trigger_labels(&self) -> BTreeSet<String> {
        let everywhere = self.triggers.label.clone();
        let by_rule = self.with_each_rule().skip(1).filter_map(|settings| settings.triggers.label);
        everywhere.into_iter().chain(by_rule).collect()
    }

    /// Every MCP server that some repository may use, as it is started: once, for all of them. So it allows what any
    /// repository may use, and keeps the pins that all agree on; the settings of each repository are asked again for each
    /// of its actions.
    #[must_use]
    pub fn mcp_servers(&self) -> BTreeMap<ToolName, McpServer> {
        let mut servers: BTreeMap<ToolName, McpServer> = BTreeMap::new();
        let rules = std::iter::once(None).chain(self.repos.iter().map(Some));
        for (settings, rule) in self.with_each_rule().zip(rules) {
            let is_named =
                |name: &ToolName| rule.is_none_or(|rule| rule.tools.mcp_servers.contains_key(name));
            let enabled = settings.tools.mcp_servers.into_iter().filter(|(_, server)| server.enabled);
            for (name, mut server) in enabled.filter(|(name, _)| is_named(name)) {
                if let Some(known) = servers.get(&name) {
                    let more = known.allow.iter().filter(|pattern| !server.allow.contains(pattern));
                    let more: Vec<_> = more.cloned().collect();
                    server.allow.extend(more);
                    server.pins.retain(|tool, pin| known.pins.get(tool) == Some(pin));
                }
                servers.insert(name, server);
            }
        }
        servers
    }

    /// What holds where no rule matches, and where one rule matches alone.
    pub fn with_each_rule(&self) -> impl Iterator<Item = RepoSettings> {
        let alone = self.repos.iter().map(|rule| self.with_rules([rule].into_iter()));
        std::iter::once(self.with_rules(std::iter::empty())).chain(alone)
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
    /// The tools that the rule itself names.
    #[must_use]
    pub fn tools(&self) -> &Tools {
        &self.tools
    }

    pub(super) fn remember(&mut self, given: &Value) -> Result<(), serde_yaml::Error> {
        self.given = self.typed().written(given)?;
        Ok(())
    }

    fn typed(&self) -> RepoSettings {
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
            switches: Switches::default(),
        }
    }
}

impl RepoSettings {
    /// Of these settings, the keys that stand in a text. The values are the typed ones, because read without a type
    /// some differ (`label: 7` is a text, but a number by itself).
    pub(super) fn written(&self, given: &Value) -> Result<Mapping, serde_yaml::Error> {
        let picked = pick(serde_yaml::to_value(self)?, given);
        Ok(picked.as_mapping().cloned().unwrap_or_default())
    }

    pub(super) fn overlaid(&self, over: Mapping) -> Result<Self, serde_yaml::Error> {
        let mut value = serde_yaml::to_value(self)?;
        lay_over(&mut value, Value::Mapping(over));
        let settings: Self = serde_yaml::from_value(value)?;
        Ok(Self { switches: self.switches, ..settings })
    }
}

/// A section without keys (`planning:` alone) says nothing.
fn pick(typed: Value, given: &Value) -> Value {
    match (typed, given) {
        (Value::Mapping(typed), Value::Mapping(given)) => {
            let picked = typed.into_iter().filter_map(|(key, value)| {
                let picked = pick(value, given.get(&key)?);
                Some((key, picked))
            });
            Value::Mapping(picked.collect())
        }
        (Value::Mapping(_), _) => Value::Mapping(Mapping::new()),
        (typed, _) => typed,
    }
}

/// Mappings are joined key by key, everything else is replaced.
fn lay_over(below: &mut Value, above: Value) {
    match (below, above) {
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::{AutoApproval, Env, ToolPattern};

    fn config(text: &str) -> Config {
        Config::parse(text, Path::new("config.yaml"), &Env::default()).unwrap()
    }

    fn settings(text: &str, project: &str) -> RepoSettings {
        config(text).for_repo(&project.parse().unwrap())
    }

    #[test]
    fn every_label_that_starts_a_run_somewhere_is_known() {
        let rules = "repos: [{ match: '*:a/*', triggers: { label: bot } }, { match: '*:b/*', deliver: none }, \
                     { match: '*:c/*', triggers: { label: null } }]";
        let labels = |text: &str| config(text).trigger_labels().into_iter().collect::<Vec<_>>().join(", ");
        assert_eq!(labels(rules), "bot, planwright");
        assert_eq!(labels(&format!("triggers: {{ label: null }}\n{rules}")), "bot");
        assert_eq!(labels("triggers: { label: null }"), "");
    }

    #[test]
    fn patterns_match_by_name() {
        for (pattern, project, matches) in [
            ("github:acme/*", "github:acme/web", true),
            ("github:ACME/Web", "github:acme/web", true),
            ("github:acme/*", "github:acme2/web", false),
            ("github:acme/*", "gitlab:acme/web", false),
            ("gitlab:group/*", "gitlab:group/proj", true),
            ("gitlab:group/*", "gitlab:group/sub/proj", false),
            ("gitlab:group/**", "gitlab:group/sub/proj", true),
            ("*:acme/{web,api}", "github:acme/api", true),
            ("*", "gitlab:group/sub/proj", true),
            ("**", "local:sample", true),
            ("local:*", "local:sample", true),
        ] {
            let found = RepoPattern::try_from(pattern.to_owned()).unwrap().matches(&project.parse().unwrap());
            assert_eq!(found, matches, "{pattern} and {project}");
        }
        for bad in ["", "acme/*", "acme", "github/acme", "github:{", "forgejo:a/b"] {
            assert!(RepoPattern::try_from(bad.to_owned()).is_err(), "{bad} was taken");
        }
    }

    #[test]
    fn later_rules_win_and_unwritten_keys_stay() {
        let text = "
planning: { max_reflection_count: 7, replanning: { on_limit: stop } }
approval: { auto: medium }
crew: { operators: [ann, bob] }
repos:
  - { match: '*', planning: { enabled: true, replanning: { global: { max_total_replans: 4 } } } }
  - { match: 'github:acme/*', approval: { auto: nothing }, crew: { operators: [eve] }, budget: { usd: null } }
  - { match: 'github:acme/old', planning: { enabled: false } }
";
        let mut expected = config(text).without_rules();
        expected.planning.enabled = true;
        expected.planning.replanning.global.max_total_replans = 4;
        assert_eq!(settings(text, "gitlab:g/p"), expected);
        expected.approval.auto = AutoApproval::Nothing;
        expected.crew.operators = vec!["eve".to_owned()];
        expected.budget.usd = None;
        assert_eq!(settings(text, "github:acme/web"), expected);
        expected.planning.enabled = false;
        assert_eq!(settings(text, "github:acme/old"), expected);
        assert_eq!(expected.planning.max_reflection_count, 7, "the file's own value stays below the rules");
    }

    /// A rule changes single keys of a server; the others stay as the file has them.
    #[test]
    fn a_server_is_started_for_all_repositories() {
        let text = "
tools: { mcp_servers: { near: { command: [x], allow: [a], pins: { a: '1', b: '2' } }, off: { enabled: false, command: [y] } } }
repos:
  - { match: 'github:acme/*', tools: { mcp_servers: { near: { allow: [b], pins: { b: '3' } } } } }
  - { match: 'github:acme/x', tools: { mcp_servers: { near: { enabled: false }, off: { enabled: true } } } }
  - { match: '*', tools: { mcp_servers: { own: { command: [z] } } } }
";
        let near = McpServer {
            command: vec!["x".to_owned()],
            allow: ["b", "a"].map(|name| ToolPattern::try_from(name.to_owned()).unwrap()).to_vec(),
            pins: BTreeMap::from([("a".to_owned(), "1".to_owned())]),
            ..McpServer::default()
        };
        let plain = |word: &str| McpServer { command: vec![word.to_owned()], ..McpServer::default() };
        let found = config(text).mcp_servers().into_iter().map(|(name, server)| (name.to_string(), server));
        let expected = [("near", near), ("off", plain("y")), ("own", plain("z"))];
        assert_eq!(found.collect::<Vec<_>>(), expected.map(|(name, server)| (name.to_owned(), server)));
    }

    #[test]
    fn values_that_read_differently_without_a_type_are_laid_over_too() {
        let text = "repos: [{ match: '*', planning: , tools: { commands: { t: { argv: [1, true] } } }, \
                    triggers: { label: 7 }, language: no, budget: { usd: 3 } }]";
        let found = settings(text, "local:x");
        assert_eq!(found.triggers.label.as_deref(), Some("7"));
        assert_eq!(found.language.name(), Some("no"));
        assert_eq!(found.budget.usd.map(crate::config::Usd::micros), Some(3_000_000));
        assert_eq!(found.tools.commands.values().next().unwrap().argv, ["1", "true"]);
        assert_eq!(found.planning, Planning::default());
    }

    #[test]
    fn every_value_of_the_defaults_can_be_a_rule() {
        // Laying valid settings over valid settings must give valid settings; `for_repo` relies on it.
        let all = serde_yaml::to_value(RepoSettings::default()).unwrap();
        let base = RepoSettings { deliver: Deliver::Ready, ..RepoSettings::default() };
        let laid = base.overlaid(RepoSettings::default().written(&all).unwrap()).unwrap();
        assert_eq!(laid, RepoSettings::default());
    }

    #[test]
    fn the_environment_wins_over_rules() {
        let env = Env::of(&[("PLANNING_ENABLED", "false"), ("MAX_TOTAL_REPLANS", "1")]);
        let text = "{ planning: { enabled: true }, repos: [{ match: '*', planning: { enabled: true, \
                    replanning: { global: { max_total_replans: 9 } } } }] }";
        let config = Config::parse(text, Path::new("c"), &env).unwrap();
        let found = config.for_repo(&"github:a/b".parse().unwrap()).planning;
        assert_eq!((found.enabled, found.replanning.global.max_total_replans), (false, 1));
        assert!(!config.planning.enabled);
    }

    #[test]
    fn rules_are_written_as_they_were_given() {
        let text = "repos:\n- match: github:acme/*\n  planning:\n    enabled: true\n";
        assert!(serde_yaml::to_string(&config(text)).unwrap().ends_with(text));
    }
}
