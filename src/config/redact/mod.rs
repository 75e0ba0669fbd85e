//! Purpose: texts without secrets. What the bot writes down or sends out passes here, whoever put a secret into it.
//!
//! A server may repeat our token in its error, a proxy our key, a person the webhook's secret; a model may be talked into
//! writing one backwards. The settings know every secret there is, and what forges hand out at run time is
//! [learned](Redactor::learn), so each is looked for in all forms that are easily written, and cut out. Credentials of
//! others are not known; in what goes to people, those that give themselves away by their looks are cut out as well.

mod forms;
mod index;
mod looks;
mod squeeze;

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use self::index::{Index, Span};
use super::{Config, Env};

const INSTEAD: &str = "[secret]";
/// Anything shorter would be cut out of ordinary sentences.
const SHORTEST: usize = 8;
/// How many secrets are kept that the settings do not name. Forges' tokens last an hour, and there is one for each owner.
const LEARNED: usize = 64;

/// Clones share what they learn.
#[derive(Clone, Default)]
pub struct Redactor {
    known: Arc<RwLock<Arc<Known>>>,
}

#[derive(Default)]
struct Known {
    /// From the settings, then learned ones, oldest first.
    secrets: Vec<SecretString>,
    of_settings: usize,
    index: Option<Index>,
}

impl Redactor {
    #[must_use]
    pub fn of(secrets: &[SecretString]) -> Self {
        let secrets: Vec<SecretString> = secrets.iter().flat_map(lines_of).collect();
        let of_settings = secrets.len();
        Self { known: Arc::new(RwLock::new(Arc::new(Known::of(secrets, of_settings)))) }
    }

    /// Takes in a secret that was made at run time. The newest few are remembered.
    pub fn learn(&self, secret: &SecretString) {
        let new: Vec<SecretString> =
            lines_of(secret).filter(|line| !self.known().has(line.expose_secret())).collect();
        if new.is_empty() {
            return;
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let mut secrets = known.secrets.clone();
        secrets.extend(new);
        let of_settings = known.of_settings;
        let too_many = (secrets.len() - of_settings).saturating_sub(LEARNED);
        secrets.drain(of_settings..of_settings + too_many);
        *known = Arc::new(Known::of(secrets, of_settings));
    }

    /// Without any secret that is known.
    #[must_use]
    pub fn clean<'t>(&self, text: &'t str) -> Cow<'t, str> {
        without(text, &self.known().find(text), INSTEAD)
    }

    /// As [`Redactor::clean`], and without what looks like a credential of somebody else. For what is shown to people;
    /// a file that they approved stays as they saw it.
    #[must_use]
    pub fn clean_outgoing<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.clean(text) {
            Cow::Borrowed(text) => without(text, &looks::suspicious(text), looks::INSTEAD),
            Cow::Owned(text) => without(&text, &looks::suspicious(&text), looks::INSTEAD).into_owned().into(),
        }
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

    fn known(&self) -> Arc<Known> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Known {
    fn of(secrets: Vec<SecretString>, of_settings: usize) -> Self {
        let index = Index::of(secrets.iter().map(ExposeSecret::expose_secret));
        Self { secrets, of_settings, index: Some(index) }
    }

    fn has(&self, secret: &str) -> bool {
        self.secrets.iter().any(|known| known.expose_secret() == secret)
    }

    fn find(&self, text: &str) -> Vec<Span> {
        self.index.as_ref().map_or_else(Vec::new, |index| index.find(text))
    }
}

/// Of a private key each line counts by itself: it may come back with other line breaks.
fn lines_of(secret: &SecretString) -> impl Iterator<Item = SecretString> {
    let lines = secret.expose_secret().lines().map(str::trim);
    lines.filter(|line| can_be_told(line)).map(SecretString::from)
}

/// A plain word is no secret, and cutting it out would garble what we write and even the names of our own facts.
fn can_be_told(line: &str) -> bool {
    let is_word = line.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    line.len() >= SHORTEST && !is_word && !line.starts_with("-----")
}

fn without<'t>(text: &'t str, spans: &[Span], instead: &str) -> Cow<'t, str> {
    if spans.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut done = 0;
    for (from, to) in spans {
        clean.push_str(text.get(done..*from).unwrap_or_default());
        clean.push_str(instead);
        done = *to;
    }
    clean.push_str(text.get(done..).unwrap_or_default());
    Cow::Owned(clean)
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { known: _ } = self;
        write!(f, "Redactor({} secrets)", self.known().secrets.len())
    }
}

impl Config {
    /// Knows every secret that the settings point to and that is there.
    #[must_use]
    pub fn redactor(&self, env: &Env) -> Redactor {
        let there = |secret: &super::SecretRef| secret.read(env).ok().flatten();
        Redactor::of(&self.secret_refs().into_iter().filter_map(|(_, s)| there(&s)).collect::<Vec<_>>())
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

    #[test]
    fn all_forms_are_found() {
        let redactor = redactor(&["ghp_Fake0Token1", "sk-very-secret", "p/a?s&s w0rd", "+?;,:-_+&!"]);
        for (text, clean) in [
            ("1nekoT0ekaF_phg", "[secret]"),
            ("Z2hwX0Zha2UwVG9rZW4x", "[secret]"),
            ("(Z2hwX0Zha2UwVG9rZW4x)", "([secret])"),
            ("6768705f46616b6530546f6b656e31", "[secret]"),
            ("67:68:70:5F:46:61:6B:65:30:54:6F:6B:65:6E:31", "[secret]"),
            (
                "0x67, 0x68, 0x70, 0x5f, 0x46, 0x61, 0x6b, 0x65, 0x30, 0x54, 0x6f, 0x6b, 0x65, 0x6e, 0x31",
                "0x[secret]",
            ),
            ("ghp%5FFake0Token1 ghp%5fFake0Token1", "[secret] [secret]"),
            ("%67%68%70%5F%46%61%6B%65%30%54%6F%6B%65%6E%31", "%[secret]"),
            ("p%2Fa%3Fs%26s+w0rd", "[secret]"),
            (r"ghp\u005fFake\u0030Token1", "[secret]"),
            ("g&#104;p_F&zwnj;ake0Token1", "[secret]"),
            ("g h p _ F a k e 0 T o k e n 1", "[secret]"),
            ("ghp_\nFake0\n  Token1", "[secret]"),
            ("g-h-p-_-F-a-k-e-0-T-o-k-e-n-1", "[secret]"),
            ("gh\u{200b}p_Fake\u{202e}0To\u{ad}ken1", "[secret]"),
            (r"ghp\_Fake0Token1", "[secret]"),
            (r"g\nh\np\n_\nFake0Token1", "[secret]"),
            ("GHP_FAKE0TOKEN1", "[secret]"),
            ("sk very secret", "[secret]"),
            ("a=+?;,:-_+&!; b", "a=[secret]; b"),
            ("!&+_-:,;?+.", "[secret]."),
            ("skverysecret", "skverysecret"),
        ] {
            assert_eq!(
                redactor.clean(text).replace("%[secret]", "[secret]"),
                clean.replace("%[secret]", "[secret]")
            );
        }
    }

    /// A cap on some text may go right through a secret.
    #[test]
    fn a_part_of_a_long_secret_is_found() {
        let secret = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5";
        let redactor = redactor(&[secret]);
        for length in 16..secret.len() {
            assert_eq!(redactor.clean(&secret[..length]), "[secret]");
            assert_eq!(redactor.clean(&format!("{}…", &secret[secret.len() - length..])), "[secret]…");
        }
    }

    #[test]
    fn what_is_learned_is_known_to_clones_and_only_so_much_of_it() {
        let redactor = redactor(&["ghp_Fake0Token1"]);
        let clone = redactor.clone();
        let token = |n: usize| format!("ghs_Minted{n}AtRunTime{n}");
        for n in 0..LEARNED + 3 {
            redactor.learn(&token(n).into());
            redactor.learn(&token(n).into());
            assert_eq!(clone.clean(&token(n)), "[secret]");
        }
        assert_eq!(format!("{clone:?}"), format!("Redactor({} secrets)", 1 + LEARNED));
        assert_eq!(clone.clean("ghp_Fake0Token1"), "[secret]", "what the settings name stays");
        let empty = Redactor::default();
        empty.learn(&token(1).into());
        assert_eq!(empty.clean(&token(1)), "[secret]");
        empty.learn(&"short".into());
        assert_eq!(format!("{empty:?}"), "Redactor(1 secrets)");
    }

    #[test]
    fn known_and_unknown_credentials_are_told_apart() {
        let stranger = format!("ghp_{}", "aB3dE5gH7j".repeat(4));
        let text = format!("ghp_Fake0Token1 {stranger}");
        assert_eq!(redactor(&["ghp_Fake0Token1"]).clean_outgoing(&text), "[secret] [looks like a secret]");
        assert_eq!(redactor(&[]).clean_outgoing("nothing"), "nothing");
        assert_eq!(redactor(&["ghp_Fake0Token1"]).clean(&text), format!("[secret] {stranger}"));
    }

    mod any {
        use base64::Engine as _;
        use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
        use proptest::prelude::*;

        use super::*;

        /// The ways to write a secret down, each with what stands for it in the text.
        fn written(secret: &str, way: usize, around: &str) -> String {
            let between = |sign: &str| {
                let each: Vec<String> = secret.chars().map(String::from).collect();
                format!("{around}{}{around}", each.join(sign))
            };
            let percent = |upper: bool| -> String {
                let hex = |byte: u8| if upper { format!("%{byte:02X}") } else { format!("%{byte:02x}") };
                secret.bytes().map(hex).collect()
            };
            match way {
                0 => format!("{around}{secret}{around}"),
                1 => STANDARD.encode(format!("{around}{secret}{around}")),
                2 => URL_SAFE_NO_PAD.encode(format!("{around}{secret}{around}")),
                3 => hex::encode(secret),
                4 => hex::encode_upper(format!("{around}{secret}{around}")),
                5 => percent(true),
                6 => format!("{around}{}", percent(false)),
                7 => format!("{around}{}{around}", secret.chars().rev().collect::<String>()),
                8 => between("\u{200b}"),
                9 => between("\n"),
                10 => between("-"),
                11 => between(" \u{2060}"),
                12 => between("\\"),
                _ => format!("{around}{}", serde_json::to_string(secret).unwrap()),
            }
        }

        /// What a reader could make the secret of, if it stood there.
        fn traces(secret: &str, way: usize) -> String {
            let text = written(secret, way, "");
            text.trim_end_matches('=').to_owned()
        }

        proptest! {
            #![proptest_config(ProptestConfig::with_cases(600))]

            #[test]
            fn secret_leaves_no_trace(
                secret in "[A-Z][a-z0-9]{3}[0-9][A-Za-z]{3}[A-Za-z0-9_?~>+/&=]{0,60}[a-z]",
                way in 0_usize..14,
                around in "[ .,a-c目]{0,7}",
                (before, after) in ("[ -~é目]{0,40} ", " [ -~é目]{0,40}"),
            ) {
                let redactor = redactor(&["ghp_of_another_1", &secret]);
                let text = format!("{before}{}{after}", written(&secret, way, &around));
                let clean = redactor.clean(&text).into_owned();
                prop_assert!(clean.contains(INSTEAD), "{text}");
                let surroundings = format!("{before}{around}{around}{after}");
                let form: Vec<char> = traces(&secret, way).chars().collect();
                for window in form.windows(8) {
                    let window: String = window.iter().collect();
                    prop_assert!(!clean.contains(&window) || surroundings.contains(&window), "{window} in {clean}");
                }
                prop_assert_eq!(redactor.clean(&clean).into_owned(), clean.clone());
            }

            #[test]
            fn ordinary_text_is_not_touched(text in "([a-z]{1,9}[ ,.]|[0-9]{1,3} |é|目|\\n|[0-9a-f]{7,40} |%20|&amp;){0,60}") {
                let secrets = ["ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5", "sk-proj-Zx9", "hook of github", "Tr0ub4dor&3"];
                prop_assert!(matches!(redactor(&secrets).clean_outgoing(&text), Cow::Borrowed(_)));
            }
        }
    }
}
