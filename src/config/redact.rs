//! Purpose: texts without our secrets. What the bot writes down or sends out passes here, whoever put a secret into it.
//!
//! A server may repeat our token in its error, a proxy our key, a person the webhook's secret. The settings know every
//! secret there is, so each is looked for as it is and cut out.

use std::borrow::Cow;
use std::fmt;

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::{Config, Env};

const INSTEAD: &str = "[secret]";
/// Anything shorter would be cut out of ordinary sentences.
const SHORTEST: usize = 8;

#[derive(Clone, Default)]
pub struct Redactor {
    /// The longest first, so that a secret that contains another one is cut out whole.
    secrets: Vec<SecretString>,
}

impl Redactor {
    #[must_use]
    pub fn of(secrets: &[SecretString]) -> Self {
        // Of a private key each line counts by itself: it may come back with other line breaks.
        let lines = secrets.iter().flat_map(|secret| secret.expose_secret().lines());
        let mut known: Vec<&str> = lines.map(str::trim).filter(|line| can_be_told(line)).collect();
        known.sort_by_key(|line| std::cmp::Reverse(line.len()));
        Self { secrets: known.into_iter().map(SecretString::from).collect() }
    }

    #[must_use]
    pub fn clean<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut clean = Cow::Borrowed(text);
        for secret in &self.secrets {
            let secret = secret.expose_secret();
            if clean.contains(secret) {
                clean = Cow::Owned(clean.replace(secret, INSTEAD));
            }
        }
        clean
    }

    /// Cleans every text in the value; the names of its fields are our own.
    pub fn clean_json(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(clean) = self.clean(text) {
                    *text = clean;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.clean_json(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.clean_json(field)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// A plain word is no secret, and cutting it out would garble what we write and even the names of our own facts.
fn can_be_told(line: &str) -> bool {
    let is_word = line.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    line.len() >= SHORTEST && !is_word && !line.starts_with("-----")
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { secrets } = self;
        write!(f, "Redactor({} secrets)", secrets.len())
    }
}

impl Config {
    /// Knows every secret that the settings point to and that is there.
    #[must_use]
    pub fn redactor(&self, env: &Env) -> Redactor {
        let there = |secret: &super::SecretRef| secret.read(env).ok().flatten();
        Redactor::of(&self.secret_refs().into_iter().filter_map(|(_, s)| there(s)).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;

    fn redactor(secrets: &[&str]) -> Redactor {
        Redactor::of(&secrets.iter().map(|s| SecretString::from(*s)).collect::<Vec<_>>())
    }

    #[test]
    fn secrets_are_cut_out_wherever_they_stand() {
        let redactor =
            redactor(&["ghp_0123456789", "ghp_0123456789-longer", "short", "planwright", "two words 1"]);
        for (text, clean) in [
            ("nothing here", "nothing here"),
            ("ghp_0123456789", "[secret]"),
            ("(ghp_0123456789ghp_0123456789)", "([secret][secret])"),
            ("ghp_0123456789-longer", "[secret]"),
            ("two words 1, two words", "[secret], two words"),
            ("planwright, in short", "planwright, in short"),
        ] {
            assert_eq!(redactor.clean(text), clean);
        }
    }

    #[test]
    fn a_private_key_is_known_by_each_of_its_lines() {
        let redactor = redactor(&["-----BEGIN KEY-----\nMIIabcDEF012\nxyzXYZ987654\n-----END KEY-----\n"]);
        assert_eq!(redactor.clean(r"key: MIIabcDEF012\nxyzXYZ987654"), r"key: [secret]\n[secret]");
        assert_eq!(redactor.clean("-----BEGIN KEY-----"), "-----BEGIN KEY-----");
    }

    #[test]
    fn values_are_cleaned_to_the_last_text() {
        let mut value =
            json!({"type": "x", "n": 1, "list": ["a sk-123456789 b", null, {"in": "sk-123456789"}]});
        redactor(&["sk-123456789"]).clean_json(&mut value);
        assert_eq!(value, json!({"type": "x", "n": 1, "list": ["a [secret] b", null, {"in": "[secret]"}]}));
    }

    #[test]
    fn the_settings_know_their_secrets_and_do_not_show_them() {
        let env = Env::of(&[
            ("GITHUB_TOKEN", "ghp_of_github_1"),
            ("GITHUB_WEBHOOK_SECRET", "hook of github"),
            ("GITLAB_TOKEN", "glpat-of-gitlab"),
            ("GITLAB_SIGNING", "whsec_b2YgZ2l0bGFi"),
            ("MODEL_KEY", "sk-of-the-model"),
        ]);
        let yaml = "forges:\n  github: {}\n  gitlab: { signing_token_env: GITLAB_SIGNING }\n\
                    models: { default: { api_key_env: MODEL_KEY } }\n";
        let config = Config::parse(yaml, Path::new("config.yaml"), &env).unwrap();
        let redactor = config.redactor(&env);
        let text = "ghp_of_github_1|hook of github|glpat-of-gitlab|whsec_b2YgZ2l0bGFi|sk-of-the-model";
        assert_eq!(redactor.clean(text), "[secret]|[secret]|[secret]|[secret]|[secret]");
        assert_eq!(format!("{redactor:?}"), "Redactor(5 secrets)");
    }
}
