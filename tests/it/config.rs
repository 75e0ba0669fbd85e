//! Purpose: the example file is the defaults and names every key; `config check|show|schema` say what holds.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use planwright::cli::config::{ConfigArgs, run};
use planwright::config::{Config, Env, Github, Gitlab, McpServer, RunCommand, keys};
use serde_yaml::Value;

fn example() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("config.yaml.example");
    std::fs::read_to_string(path).unwrap()
}

fn parse(text: &str) -> Config {
    Config::parse(text, Path::new("config.yaml.example"), &Env::default())
        .unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// A line of the example: `# prose`, `#key: value` (off by default), `#or key: value` (instead of the line above).
enum Line {
    Plain(String),
    Off(String),
    Or(String),
}

fn lines() -> Vec<Line> {
    let read = |line: &str| {
        let text = line.trim_start();
        let indent = &line[..line.len() - text.len()];
        match (text.strip_prefix("#or "), text.strip_prefix('#')) {
            (Some(other), _) => Line::Or(format!("{indent}{other}")),
            (None, Some(off)) if !off.starts_with(' ') && !off.is_empty() => {
                Line::Off(format!("{indent}{off}"))
            }
            (None, _) => Line::Plain(line.to_owned()),
        }
    };
    example().lines().map(read).collect()
}

/// Everything switched on, each line said in its first way.
fn switched_on() -> Vec<String> {
    let on = |line: Line| match line {
        Line::Plain(text) | Line::Off(text) => Some(text),
        Line::Or(_) => None,
    };
    lines().into_iter().filter_map(on).collect()
}

/// Everything switched on, once for each `#or` line, which takes the place of the line it belongs to.
fn alternatives() -> Vec<String> {
    let mut found = Vec::new();
    let mut said = 0;
    for line in lines() {
        match line {
            Line::Plain(_) | Line::Off(_) => said += 1,
            Line::Or(other) => {
                let mut text = switched_on();
                text[said - 1] = other;
                found.push(text.join("\n"));
            }
        }
    }
    found
}

#[test]
fn the_example_is_the_defaults() {
    assert_eq!(parse(&example()), Config::default());
}

#[test]
fn what_is_off_in_the_example_has_the_documented_defaults() {
    let config = parse(&switched_on().join("\n"));
    let usual: Github = serde_yaml::from_str("{}").unwrap();
    assert_eq!(config.forges.github, Some(usual));
    let usual: Gitlab = serde_yaml::from_str("signing_token_env: GITLAB_SIGNING_TOKEN").unwrap();
    assert_eq!(config.forges.gitlab, Some(usual));
    let server = config.tools.mcp_servers.into_values().next().unwrap();
    assert_eq!(server, McpServer { command: server.command.clone(), ..McpServer::default() });
    let command = config.tools.commands.into_values().next().unwrap();
    assert_eq!(command, RunCommand { argv: command.argv.clone(), ..RunCommand::default() });
    assert_eq!(config.repos.len(), 1);
    assert_eq!(config.models.iter().count(), 2);
}

#[test]
fn other_ways_of_the_example_can_be_read() {
    let alternatives = alternatives();
    assert!(alternatives.len() >= 9, "only {} were found", alternatives.len());
    let usual = parse(&switched_on().join("\n"));
    for text in alternatives {
        assert_ne!(parse(&text), usual, "an `#or` line says nothing else:\n{text}");
    }
}

#[test]
fn the_example_names_every_key() {
    let mut texts = alternatives();
    texts.push(switched_on().join("\n"));
    let texts: Vec<Value> = texts.iter().map(|text| serde_yaml::from_str(text).unwrap()).collect();
    let missing: Vec<String> = keys::all()
        .into_iter()
        .filter(|path| !texts.iter().any(|text| holds(text, &path.split('.').collect::<Vec<_>>())))
        .collect();
    assert_eq!(missing, Vec::<String>::new());
}

fn holds(value: &Value, path: &[&str]) -> bool {
    let Some((key, rest)) = path.split_first() else { return true };
    match value {
        Value::Mapping(map) if *key == "*" => map.values().any(|inner| holds(inner, rest)),
        Value::Mapping(map) => map.get(key).is_some_and(|inner| holds(inner, rest)),
        Value::Sequence(items) => items.iter().any(|item| holds(item, path)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Tagged(_) => false,
    }
}

#[test]
fn the_schema_knows_the_keys_of_the_contract() {
    let keys = keys::all();
    for key in [
        "server.reconcile_minutes",
        "forges.github.app.private_key_file",
        "forges.gitlab.confidential",
        "forges.local.webhook_secret_env",
        "models.default.price.input_usd_per_mtok",
        "models.*.api_key_file",
        "models.roles.advisor",
        "planning.replanning.llm_decision.separate_call",
        "planning.replanning.global.same_trigger_max_count",
        "crew.limits.logic_validator",
        "crew.answer_within_hours",
        "crew.autonomy",
        "crew.on_no_answer",
        "tools.commands.*.argv",
        "tools.paths.deny",
        "budget.model_calls",
        "repos.match",
    ] {
        assert!(keys.contains(key), "{key} is not in the schema:\n{keys:#?}");
    }
}

#[derive(Parser)]
struct Words {
    #[command(flatten)]
    args: ConfigArgs,
}

/// What `config …` prints for a file with this text, and whether it ended well.
fn config_command(words: &[&str], text: &str, env: &Env) -> (String, ExitCode) {
    let dir = tempfile::tempdir().unwrap();
    let path: PathBuf = dir.path().join("config.yaml");
    std::fs::write(&path, text).unwrap();
    let line = Words::try_parse_from(std::iter::once("config").chain(words.iter().copied())).unwrap();
    let mut out = Vec::new();
    let code = run(&line.args, Some(&path), env, &mut out).unwrap();
    let printed = String::from_utf8(out).unwrap();
    (printed.replace(&format!("{}/", dir.path().display()), ""), code)
}

fn env() -> Env {
    Env::of(&[
        ("GITHUB_TOKEN", "ghp_hidden"),
        ("GITHUB_WEBHOOK_SECRET", "hidden-too"),
        ("OPENAI_API_KEY", "sk-hidden"),
    ])
}

const SMALL: &str =
    "forges: { github: {} }\nrepos: [{ match: 'github:acme/*', planning: { enabled: true } }]\n";

#[test]
fn check_says_what_it_found() {
    let (printed, code) = config_command(&["check"], SMALL, &env());
    insta::assert_snapshot!(printed, @"
    config.yaml: 0 errors, 1 warning
    warning: models.default.price: without a price its costs are unknown, so `budget.usd` cannot be kept; `budget.tokens` and `budget.model_calls` can
    ");
    assert_eq!(code, ExitCode::SUCCESS);
    let quiet = format!("{SMALL}models: {{ default: {{ provider: offline }} }}\n");
    let (printed, code) = config_command(&["check"], &quiet, &env());
    assert_eq!((printed.as_str(), code), ("config.yaml: no problems found\n", ExitCode::SUCCESS));
    let (printed, code) = config_command(&["check"], &quiet, &Env::default());
    assert!(
        printed.starts_with("config.yaml: 2 errors, 0 warnings\nerror: forges.github.token: "),
        "{printed}"
    );
    assert_eq!(code, ExitCode::FAILURE);
    let (printed, code) = config_command(&["check"], "repos:\n  - match: '*'\n    planing: {}\n", &env());
    insta::assert_snapshot!(printed, @"error: config.yaml:3:5: unknown key `planing` in `repos[0]`; did you mean `planning`?");
    assert_eq!(code, ExitCode::FAILURE);
}

#[test]
fn check_can_be_read_by_programs() {
    let (printed, code) = config_command(&["check", "--json"], "server:\n  lisen: x\n", &env());
    let found: serde_json::Value = serde_json::from_str(&printed).unwrap();
    let problem = &found["problems"][0];
    assert_eq!(found["ok"], false);
    assert_eq!((&problem["line"], &problem["column"]), (&2.into(), &3.into()));
    assert_eq!(code, ExitCode::FAILURE);
    let (printed, code) = config_command(&["check", "--json"], SMALL, &env());
    let found: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(found["ok"], true);
    assert_eq!(found["problems"][0]["severity"], "warning");
    assert_eq!(found["problems"][0]["key"], "models.default.price");
    assert_eq!(code, ExitCode::SUCCESS);
}

#[test]
fn show_prints_what_holds_and_no_secret() {
    let (printed, _) = config_command(&["show"], SMALL, &env());
    assert_eq!(parse(&printed), parse(SMALL), "what is shown is a file that means the same");
    assert!(printed.contains("# forges.github.token: set (the environment variable `GITHUB_TOKEN`)\n"));
    assert!(!printed.contains("hidden"), "{printed}");
    let (json, _) = config_command(&["show", "--json"], SMALL, &Env::default());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["config"]["server"]["listen"], "127.0.0.1:8787");
    assert_eq!(json["secrets"][0]["set"], false);
}

#[test]
fn show_prints_what_holds_for_a_repository() {
    let (printed, _) = config_command(&["show", "--repo", "github:ACME/web"], SMALL, &env());
    assert!(
        printed.starts_with("# github:acme/web, before its own `.planwright.yaml`\ntriggers:\n"),
        "{printed}"
    );
    assert!(printed.contains("planning:\n  enabled: true\n"), "{printed}");
    let (json, _) = config_command(&["show", "--repo", "gitlab:acme/web", "--json"], SMALL, &env());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["settings"]["planning"]["enabled"], false);
    assert!(Words::try_parse_from(["config", "show", "--repo", "acme/web"]).is_err());
}

#[test]
fn schema_is_a_json_schema() {
    let (printed, code) = config_command(&["schema"], "", &Env::default());
    let schema: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(schema["type"], "object");
    assert_eq!(schema["properties"]["deliver"]["default"], "draft");
    assert_eq!(code, ExitCode::SUCCESS);
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 64, failure_persistence: None, ..Default::default() })]

    /// Whatever is done to a file, reading it ends in settings or in a sentence.
    #[test]
    fn no_text_makes_reading_panic(at in 0usize..9000, cut in 0usize..40, put in "[ \\n\\t:#&*!{}\\[\\]\"'|>%@`a-z0-9é-]{0,6}") {
        let text: Vec<char> = switched_on().join("\n").chars().collect();
        let at = at % text.len();
        let end = (at + cut).min(text.len());
        let changed: String = text[..at].iter().copied().chain(put.chars()).chain(text[end..].iter().copied()).collect();
        if let Err(error) = Config::parse(&changed, Path::new("c"), &Env::default()) {
            let says = error.to_string();
            proptest::prop_assert!(says.starts_with("c:"), "{says}");
            proptest::prop_assert!(!says.contains("struct ") && !says.contains("Option<"), "{says}");
        }
        let _ = planwright::config::RepoSettings::default().narrowed_by(&changed);
    }
}
