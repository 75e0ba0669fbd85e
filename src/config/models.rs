//! Purpose: the language models by name, and which of them plays which role.
//!
//! In the file, `models:` holds the key `roles` and beside it one section per model; one of them is `default`.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;
use std::path::PathBuf;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};

use super::checked::{self, deserialize_checked};
use super::secrets::{EnvName, SecretRef};
use super::{BaseUrl, Usd};

#[derive(Debug, Clone, PartialEq)]
pub struct Models {
    named: BTreeMap<String, Model>,
    pub roles: Roles,
}

impl Models {
    pub const DEFAULT: &str = "default";

    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Model> {
        self.named.get(name)
    }

    /// Name and model; `None` when the role is not played, or names a model that is not there (`check` reports it).
    #[must_use]
    pub fn of_role(&self, role: Role) -> Option<(&str, &Model)> {
        let (name, model) = self.named.get_key_value(self.roles.name(role)?)?;
        Some((name, model))
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Model)> {
        self.named.iter().map(|(name, model)| (name.as_str(), model))
    }

    pub fn insert(&mut self, name: &str, model: Model) {
        self.named.insert(name.to_owned(), model);
    }
}

impl Default for Models {
    fn default() -> Self {
        let named = BTreeMap::from([(Self::DEFAULT.to_owned(), Model::default())]);
        Self { named, roles: Roles::default() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Planner,
    Worker,
    Judge,
    Advisor,
}

impl Role {
    pub const ALL: [Self; 4] = [Self::Planner, Self::Worker, Self::Judge, Self::Advisor];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Planner => "planner",
            Self::Worker => "worker",
            Self::Judge => "judge",
            Self::Advisor => "advisor",
        }
    }
}

/// Which model plays which role, by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Roles {
    /// Understands the goal and writes the plan.
    pub planner: String,
    /// Carries steps out.
    pub worker: String,
    /// Decides whether a step is done.
    pub judge: String,
    /// A second opinion at escalations; nobody when null.
    pub advisor: Option<String>,
}

impl Roles {
    #[must_use]
    pub fn name(&self, role: Role) -> Option<&str> {
        match role {
            Role::Planner => Some(&self.planner),
            Role::Worker => Some(&self.worker),
            Role::Judge => Some(&self.judge),
            Role::Advisor => self.advisor.as_deref(),
        }
    }
}

impl Default for Roles {
    fn default() -> Self {
        let default = || Models::DEFAULT.to_owned();
        Self { planner: default(), worker: default(), judge: default(), advisor: None }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    /// Any server that speaks `/chat/completions`.
    #[default]
    Openai,
    Anthropic,
    /// Rules instead of a model; needs no network.
    Offline,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(into = "ModelFile")]
#[schemars(with = "ModelFile")]
pub struct Model {
    pub provider: Provider,
    pub base_url: BaseUrl,
    /// The name by which the provider knows it.
    pub model: String,
    /// `None`: the server asks for no key.
    pub api_key: Option<SecretRef>,
    pub timeout_seconds: NonZeroU32,
    pub max_output_tokens: NonZeroU32,
    /// Without a price, costs are unknown and the budget in dollars cannot be kept.
    pub price: Option<Price>,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            provider: Provider::Openai,
            base_url: BaseUrl::known("https://api.openai.com/v1"),
            model: "gpt-5-mini".to_owned(),
            api_key: Some(SecretRef::env("OPENAI_API_KEY")),
            timeout_seconds: const { NonZeroU32::new(120).unwrap() },
            max_output_tokens: const { NonZeroU32::new(8192).unwrap() },
            price: None,
        }
    }
}

/// What a million tokens cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Price {
    pub input_usd_per_mtok: Usd,
    pub output_usd_per_mtok: Usd,
}

/// The keys as people write them; what is missing depends on the provider.
#[derive(Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ModelFile {
    provider: Provider,
    /// Where the API is; each provider has its own when this is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    base_url: Option<BaseUrl>,
    /// The name by which the provider knows the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// Variable with the key; `OPENAI_API_KEY` or `ANTHROPIC_API_KEY` when missing, no key when null.
    #[serde(deserialize_with = "checked::present", skip_serializing_if = "Option::is_none")]
    api_key_env: Option<Option<EnvName>>,
    /// File with the key, instead of a variable.
    #[serde(skip_serializing_if = "Option::is_none")]
    api_key_file: Option<PathBuf>,
    /// How long one answer may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_seconds: Option<NonZeroU32>,
    /// How long one answer may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<NonZeroU32>,
    /// What a million tokens cost; without it the budget in dollars cannot be kept.
    price: Option<Price>,
}

deserialize_checked! { Model => checked::section::<D, ModelFile, Self>; }

impl TryFrom<ModelFile> for Model {
    type Error = String;
    fn try_from(file: ModelFile) -> Result<Self, String> {
        let usual = Self::default();
        let (base_url, model, key) = match file.provider {
            Provider::Openai => (usual.base_url, Some(usual.model), Some("OPENAI_API_KEY")),
            Provider::Anthropic => {
                (BaseUrl::known("https://api.anthropic.com"), None, Some("ANTHROPIC_API_KEY"))
            }
            Provider::Offline => (usual.base_url, Some("offline".to_owned()), None),
        };
        let base_url = file.base_url.unwrap_or(base_url);
        if !base_url.is_web() {
            return Err("`base_url` must start with `https://` or `http://`".to_owned());
        }
        let name = file.model.or(model).filter(|name| !name.trim().is_empty());
        let api_key = match (file.api_key_env, file.api_key_file) {
            (None, None) => key.map(SecretRef::env),
            (env, file) => SecretRef::choose("api_key", env.flatten(), file)?,
        };
        Ok(Self {
            provider: file.provider,
            base_url,
            model: name.ok_or("`model` is missing; give the name by which the provider knows it")?,
            api_key,
            timeout_seconds: file.timeout_seconds.unwrap_or(usual.timeout_seconds),
            max_output_tokens: file.max_output_tokens.unwrap_or(usual.max_output_tokens),
            price: file.price,
        })
    }
}

impl From<Model> for ModelFile {
    fn from(model: Model) -> Self {
        let (api_key_env, api_key_file) = match model.api_key {
            Some(SecretRef::Env(name)) => (Some(Some(name)), None),
            Some(SecretRef::File(path)) => (None, Some(path)),
            None => (Some(None), None),
        };
        Self {
            provider: model.provider,
            base_url: Some(model.base_url),
            model: Some(model.model),
            api_key_env,
            api_key_file,
            timeout_seconds: Some(model.timeout_seconds),
            max_output_tokens: Some(model.max_output_tokens),
            price: model.price,
        }
    }
}

impl Serialize for Models {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.named.len() + 1))?;
        for (name, model) in &self.named {
            map.serialize_entry(name, model)?;
        }
        map.serialize_entry("roles", &self.roles)?;
        map.end()
    }
}

// Written by hand because `flatten`, which would do it, loses the place of a mistake.
impl<'de> Deserialize<'de> for Models {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ModelsVisitor)
    }
}

struct ModelsVisitor;

impl<'de> Visitor<'de> for ModelsVisitor {
    type Value = Models;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping of names to models")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Models, A::Error> {
        let mut roles = None;
        let mut named = BTreeMap::new();
        while let Some(name) = map.next_key::<String>()? {
            let repeated = if name == "roles" {
                roles.replace(map.next_value::<Roles>()?).is_some()
            } else {
                named.insert(name.clone(), map.next_value::<Model>()?).is_some()
            };
            if repeated {
                return Err(A::Error::custom(format!("duplicate field `{name}`")));
            }
        }
        named.entry(Models::DEFAULT.to_owned()).or_default();
        Ok(Models { named, roles: roles.unwrap_or_default() })
    }
}

impl JsonSchema for Models {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Models".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let model = generator.subschema_for::<Model>();
        let roles = generator.subschema_for::<Roles>();
        json_schema!({
            "type": "object",
            "properties": { "default": model.clone(), "roles": roles },
            "additionalProperties": model,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn models(yaml: &str) -> Result<Models, String> {
        serde_yaml::from_str(yaml).map_err(|e| e.to_string())
    }

    #[test]
    fn providers_have_their_own_defaults() {
        let claude = models("{ c: { provider: anthropic, model: claude-x } }").unwrap();
        let claude = claude.get("c").unwrap();
        assert_eq!(claude.base_url.as_str(), "https://api.anthropic.com");
        assert_eq!(claude.api_key, Some(SecretRef::env("ANTHROPIC_API_KEY")));
        let offline = models("default: { provider: offline }").unwrap();
        assert_eq!(offline.get("default").unwrap().api_key, None);
        assert_eq!(models("default: {}").unwrap(), Models::default());
        assert_eq!(models("default: { api_key_env: null }").unwrap().get("default").unwrap().api_key, None);
        let file = models("default: { api_key_file: k }").unwrap();
        assert_eq!(file.get("default").unwrap().api_key, Some(SecretRef::File("k".into())));
    }

    #[test]
    fn roles_find_their_models() {
        let models =
            models("{ big: { model: b }, roles: { planner: big, judge: gone, advisor: big } }").unwrap();
        let played = |role| models.of_role(role).map(|(name, _)| name);
        assert_eq!(played(Role::Planner), Some("big"));
        assert_eq!(played(Role::Worker), Some("default"));
        assert_eq!(played(Role::Judge), None);
        assert_eq!(played(Role::Advisor), Some("big"));
        assert_eq!(Models::default().of_role(Role::Advisor), None);
    }

    #[test]
    fn bad_models_are_refused() {
        for (yaml, says) in [
            ("default: { provider: anthropic }", "default: `model` is missing"),
            ("default: { model: ' ' }", "default: `model` is missing"),
            ("{ default: { model: a }, default: { model: b } }", "duplicate field `default`"),
            ("{ roles: {}, roles: {} }", "duplicate field `roles`"),
            ("default: { api_key: x }", "default: unknown field `api_key`"),
            ("default: { provider: gemini }", "unknown variant `gemini`"),
            ("default: { timeout_seconds: 0 }", "nonzero"),
            ("default: { price: { input_usd_per_mtok: 1 } }", "missing field `output_usd_per_mtok`"),
            ("[]", "expected a mapping of names to models"),
        ] {
            let error = models(yaml).unwrap_err();
            assert!(error.contains(says), "{yaml}: {error}");
        }
    }

    #[test]
    fn models_survive_writing_and_reading() {
        for yaml in [
            "{}",
            "{ a: { provider: offline }, b: { api_key_file: k, price: { input_usd_per_mtok: 1, \
             output_usd_per_mtok: 2 } }, roles: { advisor: a } }",
        ] {
            let read = models(yaml).unwrap();
            assert_eq!(models(&serde_yaml::to_string(&read).unwrap()).unwrap(), read);
        }
    }
}
