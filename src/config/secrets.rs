//! Purpose: where secrets come from. The file names a variable or a file; it never holds the secret itself.

use std::io::Read;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use secrecy::SecretString;
use serde::Serialize;

use super::Env;
use super::checked::{self, deserialize_checked};

/// The name of an environment variable. Capitals only: people sometimes write the token itself where its variable's
/// name belongs, and tokens have small letters. Such a text is refused without repeating it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(into = "String")]
#[schemars(with = "String")]
pub struct EnvName(String);

impl EnvName {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

deserialize_checked! { EnvName => checked::text; }

impl TryFrom<String> for EnvName {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        let capitals = text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
        let starts_well = text.starts_with(|c: char| c.is_ascii_uppercase() || c == '_');
        if capitals && starts_well && text.len() <= 128 {
            Ok(Self(text))
        } else {
            Err("not the name of an environment variable (capitals, digits and `_`); \
                 name the variable here and put the secret into it"
                .to_owned())
        }
    }
}

impl From<EnvName> for String {
    fn from(name: EnvName) -> Self {
        name.0
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretRef {
    Env(EnvName),
    File(PathBuf),
}

#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    #[error("cannot read the secret from `{path}`: {source}")]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("`{path}` is larger than 64 KiB, so it is no secret")]
    TooBig { path: PathBuf },
}

const MAX_SECRET: u64 = 64 * 1024;

impl SecretRef {
    /// `None` when the variable is not set, or nothing but white space is found: an empty secret protects nothing.
    ///
    /// # Errors
    /// When a file is named that cannot be read.
    pub fn read(&self, env: &Env) -> Result<Option<SecretString>, SecretError> {
        let text = match self {
            Self::Env(name) => env.get(name.as_str()).map(str::to_owned),
            Self::File(path) => Some(read_small(path)?),
        };
        Ok(text
            .map(|t| t.trim_end_matches(['\n', '\r']).to_owned())
            .filter(|t| !t.trim().is_empty())
            .map(SecretString::from))
    }

    /// The pair of keys in the file: at most one of them is given, and with neither the usual variable is meant.
    pub(super) fn choose(
        name: &str,
        env: Option<EnvName>,
        file: Option<PathBuf>,
    ) -> Result<Option<Self>, String> {
        match (env, file) {
            (Some(_), Some(_)) => {
                Err(format!("both `{name}_env` and `{name}_file` are given; keep one of them"))
            }
            (Some(env), None) => Ok(Some(Self::Env(env))),
            (None, Some(file)) => Ok(Some(Self::File(file))),
            (None, None) => Ok(None),
        }
    }

    pub(super) fn env(name: &str) -> Self {
        Self::Env(EnvName(name.to_owned()))
    }

    /// Back to the pair of keys.
    pub(super) fn split(self) -> (Option<EnvName>, Option<PathBuf>) {
        match self {
            Self::Env(name) => (Some(name), None),
            Self::File(path) => (None, Some(path)),
        }
    }
}

impl std::fmt::Display for SecretRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Env(name) => write!(f, "the environment variable `{}`", name.as_str()),
            Self::File(path) => write!(f, "the file `{}`", path.display()),
        }
    }
}

fn read_small(path: &Path) -> Result<String, SecretError> {
    let unreadable = |source| SecretError::Unreadable { path: path.to_owned(), source };
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut text = String::new();
    // Read with a limit, because the size of a pipe or a device is not known beforehand.
    let read = file.take(MAX_SECRET + 1).read_to_string(&mut text).map_err(unreadable)?;
    if read as u64 > MAX_SECRET { Err(SecretError::TooBig { path: path.to_owned() }) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    fn read(secret: &SecretRef, env: &Env) -> Option<String> {
        secret.read(env).unwrap().map(|s| s.expose_secret().to_owned())
    }

    #[test]
    fn secrets_come_from_the_environment() {
        let env = Env::of(&[("A", "one"), ("EMPTY", ""), ("BLANK", " \n"), ("LINE", "two\n")]);
        for (name, expected) in
            [("A", Some("one")), ("EMPTY", None), ("BLANK", None), ("LINE", Some("two")), ("GONE", None)]
        {
            assert_eq!(read(&SecretRef::env(name), &env).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn secrets_come_from_files() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &[u8]| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            SecretRef::File(path)
        };
        let env = Env::default();
        assert_eq!(read(&write("a", b" key \r\n"), &env).as_deref(), Some(" key "));
        assert_eq!(read(&write("b", b"\n\n"), &env), None);
        assert!(write("c", &vec![b'x'; 70_000]).read(&env).unwrap_err().to_string().contains("64 KiB"));
        assert!(write("d", b"\xff\xfe").read(&env).is_err());
        let gone = SecretRef::File(dir.path().join("gone"));
        assert!(gone.read(&env).unwrap_err().to_string().starts_with("cannot read the secret from `"));
    }

    #[test]
    fn a_token_in_place_of_a_name_is_refused_and_not_repeated() {
        for bad in ["ghp_0123abcdABCD", "glpat-XYZ", "sk-ABC", "", "1A", "A B", "A=B"] {
            let error = EnvName::try_from(bad.to_owned()).unwrap_err();
            assert!(bad.len() < 2 || !error.contains(bad), "{error}");
        }
        assert!(EnvName::try_from("GITHUB_TOKEN_2".to_owned()).is_ok());
    }
}
