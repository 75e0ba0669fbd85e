//! Purpose: from a file to a [`Config`], or to a sentence that says where the mistake is.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_yaml::{Mapping, Value};

use super::env::Switches;
use super::{Config, Env, explain};

/// The file that is read when none is named.
pub const DEFAULT_PATH: &str = "config.yaml";
const MAX_FILE: u64 = 1024 * 1024;

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error(
        "there is no `{path}`; copy `config.yaml.example` to `{path}` and edit it, or name another file with `--config`",
        path = .path.display()
    )]
    Missing { path: PathBuf },
    #[error("cannot read `{}`: {source}", .path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("`{}` is larger than {} KiB", .path.display(), .limit / 1024)]
    TooBig { path: PathBuf, limit: u64 },
    /// Line and column count from 1; both are 0 when the mistake has no single place.
    #[error("{}{}: {message}", .path.display(), place(*.line, *.column))]
    Invalid { path: PathBuf, line: usize, column: usize, message: String },
    #[error("the environment variable {name} is `{value}`; it must be {expected}")]
    Variable { name: &'static str, value: String, expected: &'static str },
}

fn place(line: usize, column: usize) -> String {
    if line == 0 { String::new() } else { format!(":{line}:{column}") }
}

impl Config {
    /// Reads the file, `config.yaml` when none is named, and the switches in the environment.
    ///
    /// # Errors
    /// When there is no such file, or something in it or in a switch is wrong.
    pub fn load(path: Option<&Path>, env: &Env) -> Result<Self, ConfigError> {
        let path = path.unwrap_or(Path::new(DEFAULT_PATH));
        Self::parse(&read(path)?, path, env)
    }

    /// As [`Config::load`], from a text at hand; `path` is what errors call it.
    ///
    /// # Errors
    /// When something in the text or in a switch is wrong.
    pub fn parse(text: &str, path: &Path, env: &Env) -> Result<Self, ConfigError> {
        let (mut config, given) = typed_and_given::<Self>(text, path)?;
        let rules = given.get("repos").and_then(Value::as_sequence).cloned().unwrap_or_default();
        for (rule, given) in config.repos.iter_mut().zip(rules) {
            if let Value::Mapping(given) = given {
                rule.remember(given);
            }
        }
        config.switches = Switches::read(env)?;
        config.switches.apply(&mut config.planning);
        Ok(config)
    }
}

fn read(path: &Path) -> Result<String, ConfigError> {
    let unreadable = |source: std::io::Error| {
        let path = path.to_owned();
        if source.kind() == std::io::ErrorKind::NotFound {
            ConfigError::Missing { path }
        } else {
            ConfigError::Unreadable { path, source }
        }
    };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(unreadable)?;
    // One byte more than allowed, so that too much can be told from just enough.
    file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(ConfigError::TooBig { path: path.to_owned(), limit: MAX_FILE });
    }
    String::from_utf8(bytes).map_err(|error| not_text(path, error.utf8_error(), error.as_bytes()))
}

fn not_text(path: &Path, error: std::str::Utf8Error, bytes: &[u8]) -> ConfigError {
    let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
    let (line, column) = explain::end_of(&before);
    let message = "this is not UTF-8 text".to_owned();
    ConfigError::Invalid { path: path.to_owned(), line, column, message }
}

/// The text as the typed whole, which finds mistakes where they stand, and as the keys that were written.
pub(super) fn typed_and_given<T: DeserializeOwned + Default>(
    text: &str,
    path: &Path,
) -> Result<(T, Mapping), ConfigError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let invalid = |error: serde_yaml::Error| {
        let explain::Mistake { line, column, message } = explain::mistake(&error, text);
        ConfigError::Invalid { path: path.to_owned(), line, column, message }
    };
    // Read untyped first: what is no YAML at all should not be reported as a key that is unknown.
    let value: Value = serde_yaml::from_str(text).map_err(invalid)?;
    if let Some(message) = oddity(&value) {
        return Err(ConfigError::Invalid { path: path.to_owned(), line: 0, column: 0, message });
    }
    match value {
        Value::Null => Ok((T::default(), Mapping::new())),
        Value::Mapping(given) => Ok((serde_yaml::from_str(text).map_err(invalid)?, given)),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Sequence(_) | Value::Tagged(_) => {
            let message = "the file must hold keys and values, like `data_dir: ./data`".to_owned();
            Err(ConfigError::Invalid { path: path.to_owned(), line: 1, column: 1, message })
        }
    }
}

/// What would not mean the same in both readings.
fn oddity(value: &Value) -> Option<String> {
    match value {
        Value::Tagged(tagged) => Some(format!("the tag `{}` has no meaning here; remove it", tagged.tag)),
        Value::Sequence(items) => items.iter().find_map(oddity),
        Value::Mapping(map) => map.iter().find_map(|(key, value)| match key {
            Value::String(_) => oddity(value),
            Value::Number(number) => Some(format!("the key `{number}` must be a text; put it in quotes")),
            Value::Null | Value::Bool(_) | Value::Sequence(_) | Value::Mapping(_) | Value::Tagged(_) => {
                Some("every key must be a text".to_owned())
            }
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}
