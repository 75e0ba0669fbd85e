//! Purpose: from a file to a [`Config`], or to a sentence that says where the mistake is.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_yaml::Value;

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
        let rules = given.get("repos").and_then(Value::as_sequence);
        for (rule, given) in config.repos.iter_mut().zip(rules.into_iter().flatten()) {
            rule.remember(given).map_err(|error| invalid(&error, text, path))?;
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

pub(super) fn invalid(error: &serde_yaml::Error, text: &str, path: &Path) -> ConfigError {
    let explain::Mistake { line, column, message } = explain::mistake(error, text);
    ConfigError::Invalid { path: path.to_owned(), line, column, message }
}

/// The text as the typed whole, which finds mistakes where they stand, and as the keys that were written.
pub(super) fn typed_and_given<T: DeserializeOwned + Default>(
    text: &str,
    path: &Path,
) -> Result<(T, Value), ConfigError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some((line, column)) = bottomless(text) {
        let message = "the values are nested too deeply".to_owned();
        return Err(ConfigError::Invalid { path: path.to_owned(), line, column, message });
    }
    let invalid = |error: serde_yaml::Error| invalid(&error, text, path);
    // Read untyped first: what is no YAML at all should not be reported as a key that is unknown.
    let value: Value = serde_yaml::from_str(text).map_err(invalid)?;
    if let Some(message) = oddity(&value) {
        return Err(ConfigError::Invalid { path: path.to_owned(), line: 0, column: 0, message });
    }
    match value {
        Value::Null => Ok((T::default(), value)),
        Value::Mapping(_) => Ok((serde_yaml::from_str(text).map_err(invalid)?, value)),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Sequence(_) | Value::Tagged(_) => {
            let message = "the file must hold keys and values, like `data_dir: ./data`".to_owned();
            Err(ConfigError::Invalid { path: path.to_owned(), line: 1, column: 1, message })
        }
    }
}

/// No file that means anything has so many brackets open at once, in texts and comments or out of them.
const MOST_OPEN: usize = 500;

/// Where brackets are opened that nobody would close. The parser notices it too, but only at the end, and the time that it
/// takes until then grows with the square of their number: a quarter of a minute for what a repository may bring along.
fn bottomless(text: &str) -> Option<(usize, usize)> {
    let mut open = 0_usize;
    for (line, words) in (1..).zip(text.lines()) {
        for (column, letter) in (1..).zip(words.chars()) {
            match letter {
                '[' | '{' => open += 1,
                ']' | '}' => open = open.saturating_sub(1),
                _ => {}
            }
            if open > MOST_OPEN {
                return Some((line, column));
            }
        }
    }
    None
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

#[cfg(test)]
mod tests {
    use super::*;

    fn says(text: &str) -> String {
        match Config::parse(text, Path::new("config.yaml"), &Env::default()) {
            Ok(_) => "fine".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    fn check(rows: &[(&str, &str)]) {
        for (text, expected) in rows {
            assert_eq!(says(text), *expected, "{text}");
        }
    }

    #[test]
    fn a_file_that_says_nothing_is_the_defaults() {
        for text in
            ["", "\n", "# only a comment\n", "---\n", "---\n...\n", "{}", "~", "\u{feff}", "planning:\n"]
        {
            let config = Config::parse(text, Path::new("c"), &Env::default()).unwrap();
            assert_eq!(config, Config::default(), "{text:?}");
        }
    }

    #[test]
    fn unknown_keys_are_reported_with_the_nearest() {
        check(&[
            ("planing: {}", "config.yaml:1:1: unknown key `planing`; did you mean `planning`?"),
            ("\u{feff}planing: {}", "config.yaml:1:1: unknown key `planing`; did you mean `planning`?"),
            (
                "server:\n  lisen: x",
                "config.yaml:2:3: unknown key `lisen` in `server`; did you mean `listen`?",
            ),
            (
                "server: { port: 1 }",
                "config.yaml:1:11: unknown key `port` in `server`; known are `listen`, `public_url` and `reconcile_minutes`",
            ),
            (
                "store: { path: x }",
                "config.yaml:1:10: unknown key `path` in `store`; known are `url` and `keep_days`",
            ),
            (
                "repos:\n  - match: 'github:a/*'\n    planing: {}",
                "config.yaml:3:5: unknown key `planing` in `repos[0]`; did you mean `planning`?",
            ),
            (
                "repos:\n  - match: '*'\n  - match: '*'\n    planning:\n      replanning:\n        globl: {}",
                "config.yaml:6:9: unknown key `globl` in `repos[1].planning.replanning`; did you mean `global`?",
            ),
            (
                "models:\n  default:\n    modle: a",
                "config.yaml:3:5: unknown key `modle` in `models.default`; did you mean `model`?",
            ),
            (
                "models:\n  roles: { planer: a }",
                "config.yaml:2:12: unknown key `planer` in `models.roles`; did you mean `planner`?",
            ),
            (
                "tools:\n  commands:\n    t: { args: [x] }",
                "config.yaml:3:10: unknown key `args` in `tools.commands.t`; did you mean `argv`?",
            ),
            ("budget:\n  USD: 1", "config.yaml:2:3: unknown key `USD` in `budget`; did you mean `usd`?"),
            (
                "max_total_replans: 3",
                "config.yaml:1:1: unknown key `max_total_replans`; it belongs in `planning.replanning.global`",
            ),
            (
                "planning:\n  separate_call: true",
                "config.yaml:2:3: unknown key `separate_call` in `planning`; it belongs in `planning.replanning.llm_decision`",
            ),
            (
                "planning: &a { enabled: true }\nrepos: [{ match: '*', planning: { <<: *a } }]",
                "config.yaml:2:35: unknown key `<<` in `repos[0].planning`; merge keys are not supported",
            ),
        ]);
    }

    #[test]
    fn secrets_are_sent_away_and_not_repeated() {
        let away = "secrets do not belong in this file, name the variable that holds it with";
        check(&[
            (
                "forges: { github: { token: ghp_x } }",
                &format!("config.yaml:1:21: unknown key `token` in `forges.github`; {away} `token_env`"),
            ),
            (
                "forges:\n  gitlab:\n    webhook_secret: abc",
                &format!(
                    "config.yaml:3:5: unknown key `webhook_secret` in `forges.gitlab`; {away} `webhook_secret_env`"
                ),
            ),
            (
                "models: { default: { api_key: sk } }",
                &format!("config.yaml:1:22: unknown key `api_key` in `models.default`; {away} `api_key_env`"),
            ),
        ]);
        for text in [
            "forges: { github: ghp_0123456789abcdefghij }",
            "forges: { github: { token_env: ghp_0123456789abcdefghij } }",
            "planning: { interactive: ghp_0123456789abcdefghij }",
            "store: { url: 'postgres://bot:ghp_0123456789abcdefghij@db/x' }",
            "server: { public_url: 'https://u:ghp_0123456789abcdefghij@h' }",
        ] {
            let says = says(text);
            assert!(says != "fine" && !says.contains("ghp_0123456789"), "{says}");
        }
    }

    const WRONG_VALUES: &[(&str, &str)] = &[
        (
            "planning:\n  enabled: yes",
            "config.yaml:2:12: `planning.enabled` must be `true` or `false`, but is `yes`",
        ),
        ("planning: 3", "config.yaml:1:11: `planning` must be a mapping of keys, but is 3"),
        ("planning: [a]", "config.yaml:1:11: `planning` must be a mapping of keys, but is a list"),
        ("planning: ~", "config.yaml:1:11: `planning` must be a mapping of keys, but is empty"),
        (
            "planning: { interactive: sometimes }",
            "config.yaml:1:26: `planning.interactive` cannot be `sometimes`; known are `never`, `auto` and `always`",
        ),
        (
            "deliver: branch_only",
            "config.yaml:1:10: `deliver` cannot be `branch_only`; did you mean `branch-only`?",
        ),
        (
            "approval: { auto: high }",
            "config.yaml:1:19: `approval.auto` cannot be `high`; known are `nothing`, `low` and `medium`",
        ),
        (
            "crew: { workers: 0 }",
            "config.yaml:1:18: `crew.workers` must be a whole number, one or more, but is 0",
        ),
        (
            "crew: { workers: 1.5 }",
            "config.yaml:1:18: `crew.workers` must be a whole number, one or more, but is 1.5",
        ),
        (
            "crew: { autonomy: 3 }",
            "config.yaml:1:19: `crew.autonomy`: 3 is no level of autonomy; give 1 or 2",
        ),
        ("crew: { autonomy: full }", "config.yaml:1:19: `crew.autonomy` must be a number, but is `full`"),
        (
            "crew: { answer_within_hours: 0 }",
            "config.yaml:1:30: `crew.answer_within_hours` must be a whole number, one or more, but is 0",
        ),
        ("crew: { operators: maria }", "config.yaml:1:20: `crew.operators` must be a list, but is `maria`"),
        (
            "budget: { model_calls: -1 }",
            "config.yaml:1:24: `budget.model_calls` must be a whole number, zero or more, but is -1",
        ),
        (
            "budget: { usd: -1 }",
            "config.yaml:1:16: `budget.usd`: -1 is not an amount; give dollars, zero or more",
        ),
        ("budget: { usd: lots }", "config.yaml:1:16: `budget.usd` must be a number, but is `lots`"),
        ("triggers: { label: [x] }", "config.yaml:1:20: `triggers.label` must be a text, but is a list"),
        ("data_dir: [x]", "config.yaml:1:11: `data_dir` must be a path, but is a list"),
        ("models: 3", "config.yaml:1:9: `models` must be a mapping of names to models, but is 3"),
        (
            "forges: { github: { app: { id: x, private_key_file: k } } }",
            "config.yaml:1:32: `forges.github.app.id` must be a whole number, zero or more, but is `x`",
        ),
        (
            "forges: { github: { app: { id: 1 } } }",
            "config.yaml:1:26: the key `private_key_file` is missing in `forges.github.app`",
        ),
        ("forges:\n  github: ~", "config.yaml:2:11: `forges.github` must be a mapping, but is empty"),
        (
            "forges:\n  github:\n    token_env: A\n    app: { id: 3, private_key_file: k }",
            "config.yaml:3:5: `forges.github`: both a token and `app` are given; keep one of them",
        ),
        (
            "server: { listen: 'localhost:80' }",
            "config.yaml:1:19: `server.listen`: `localhost:80` is not an address with a port; write it like `127.0.0.1:8787`",
        ),
        (
            "server: { public_url: foo }",
            "config.yaml:1:23: `server.public_url`: not a URL; write it like `https://example.com`",
        ),
        (
            "store: { url: x.db }",
            "config.yaml:1:15: `store.url`: not a database; write it like `sqlite://./data/planwright.db`",
        ),
        ("repos: [{ planning: {} }]", "config.yaml:1:9: the key `match` is missing in `repos[0]`"),
        (
            "repos: [{ match: 'acme/*' }]",
            "config.yaml:1:18: `repos[0].match`: `acme/*` names no forge; write it like `github:acme/*`",
        ),
        (
            "tools: { mcp_servers: { a: { command: [x], read_only: ['get_*'] } } }",
            "config.yaml:1:56: `tools.mcp_servers.a.read_only[0]`: this name must have 1 to 64 letters, digits, `_`, `-` or `.`",
        ),
        (
            "tools: { paths: { deny: [../x] } }",
            "config.yaml:1:26: `tools.paths.deny[0]`: a pattern begins at the top of the repository, without `/` before it and without `..`",
        ),
    ];

    #[test]
    fn wrong_values_are_reported_where_they_stand() {
        check(WRONG_VALUES);
    }

    #[test]
    fn keys_given_twice_are_reported_at_the_second() {
        check(&[
            ("planning: {}\nplanning: {}", "config.yaml:2:1: the key `planning` is given twice"),
            (
                "planning:\n  enabled: true\n  interactive: auto\n  enabled: false",
                "config.yaml:4:3: the key `enabled` is given twice in `planning`",
            ),
            (
                "models:\n  default: {}\n  default: {}",
                "config.yaml:3:3: the key `default` is given twice in `models`",
            ),
            (
                "tools:\n  commands:\n    a:\n      argv: [a]\n    \"a\":\n      argv: [b]",
                "config.yaml:5:5: the key `a` is given twice in `tools.commands`",
            ),
            (
                "repos:\n  - match: '*'\n    match: '*'",
                "config.yaml:3:5: the key `match` is given twice in `repos[0]`",
            ),
            ("budget: { usd: 1, usd: 2 }", "config.yaml:1:9: the key `usd` is given twice in `budget`"),
        ]);
    }

    #[test]
    fn what_is_no_settings_file_is_refused() {
        let no_keys = "config.yaml:1:1: the file must hold keys and values, like `data_dir: ./data`";
        check(&[
            ("[]", no_keys),
            ("3", no_keys),
            ("just text", no_keys),
            ("a: 1\n b: 2", "config.yaml:2:3: mapping values are not allowed in this context"),
            ("server: *x", "config.yaml:1:9: this alias (`*name`) has no anchor (`&name`) before it"),
            (
                "server: {}\n---\nserver: {}",
                "config.yaml: there is more than one document; remove the `---` between them",
            ),
            ("server: !x {}", "config.yaml: the tag `!x` has no meaning here; remove it"),
            ("1: 2", "config.yaml: the key `1` must be a text; put it in quotes"),
            ("? [a]\n: b", "config.yaml: every key must be a text"),
        ]);
        assert!(says("\tserver: {}").contains("indent with spaces, not tabs"));
    }

    #[test]
    fn bombs_are_refused() {
        let lines =
            (1..=9).map(|n| format!("l{n}: &l{n} [{}]\n", vec![format!("*l{}", n - 1); 10].join(",")));
        let bomb = format!("l0: &l0 [x]\n{}", lines.collect::<String>());
        assert!(says(&bomb).contains("aliases (`*name`) repeat too much"), "{}", says(&bomb));
        for deep in ["[".repeat(200), "[".repeat(300_000), "{a: ".repeat(100_000), "- ".repeat(5_000)] {
            let says = says(&format!("a:\n  {deep}"));
            assert!(says.contains("nested too deeply"), "{says}");
        }
        let says = says(&format!("a: {}", "[".repeat(600)));
        assert_eq!(says, "config.yaml:1:504: the values are nested too deeply");
    }

    #[test]
    fn files_are_read_with_care() {
        let dir = tempfile::tempdir().unwrap();
        let load = |name: &str, bytes: &[u8]| {
            let path = dir.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            Config::load(Some(&path), &Env::default()).map_err(|e| e.to_string())
        };
        assert_eq!(load("good", b"deliver: none").unwrap().deliver, crate::config::Deliver::None);
        assert!(
            load("latin", b"# x\ndata_dir: d\xe9")
                .unwrap_err()
                .ends_with("latin:2:12: this is not UTF-8 text")
        );
        let mut big = b"#".repeat(1024 * 1024);
        assert!(load("full", &big).is_ok());
        big.push(b'\n');
        assert!(load("big", &big).unwrap_err().ends_with("is larger than 1024 KiB"));
        let missing =
            Config::load(Some(&dir.path().join("gone.yaml")), &Env::default()).unwrap_err().to_string();
        assert!(missing.contains("copy `config.yaml.example` to"), "{missing}");
        let directory = Config::load(Some(dir.path()), &Env::default()).unwrap_err().to_string();
        assert!(directory.starts_with("cannot read `"), "{directory}");
    }
}
