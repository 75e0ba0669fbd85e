//! Purpose: `config check|show|schema`: look at the settings without starting anything.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use serde_json::json;

use crate::config::{self, Config, ConfigError, DEFAULT_PATH, Env, Problem, SecretState, Severity};
use crate::domain::Project;

#[derive(Debug, clap::Args)]
pub struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ConfigCommand {
    /// Look for mistakes, missing secrets and risky combinations; exit code 1 when the server would not start
    Check {
        /// Print the findings as JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the settings that hold, and for each secret whether it is set
    Show {
        /// Print what holds for one repository, such as `github:acme/web`
        #[arg(long, value_name = "REPO")]
        repo: Option<Project>,
        /// Print JSON instead of YAML
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON schema of the file, for editors
    Schema,
}

/// # Errors
/// When the settings cannot be shown, or nothing can be written to `out`.
pub fn run(
    args: &ConfigArgs,
    path: Option<&Path>,
    env: &Env,
    out: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    match &args.command {
        ConfigCommand::Check { json: false } => check(path, env, out),
        ConfigCommand::Check { json: true } => check_json(path, env, out),
        ConfigCommand::Show { repo: None, json: false } => show(path, env, out),
        ConfigCommand::Show { repo: None, json: true } => show_json(path, env, out),
        ConfigCommand::Show { repo: Some(repo), json: false } => show_repo(path, env, repo, out),
        ConfigCommand::Show { repo: Some(repo), json: true } => show_repo_json(path, env, repo, out),
        ConfigCommand::Schema => schema(out),
    }
}

fn check(path: Option<&Path>, env: &Env, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let file = path.unwrap_or(Path::new(DEFAULT_PATH)).display();
    let problems = match Config::load(path, env) {
        Ok(config) => config.check(env),
        Err(error) => {
            writeln!(out, "error: {error}")?;
            return Ok(ExitCode::FAILURE);
        }
    };
    if problems.is_empty() {
        writeln!(out, "{file}: no problems found")?;
    } else {
        let errors = count(&problems, Severity::Error);
        let warnings = count(&problems, Severity::Warning);
        writeln!(out, "{file}: {}, {}", number(errors, "error"), number(warnings, "warning"))?;
    }
    for problem in &problems {
        writeln!(out, "{problem}")?;
    }
    Ok(verdict(&problems))
}

fn check_json(path: Option<&Path>, env: &Env, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let file = path.unwrap_or(Path::new(DEFAULT_PATH)).display().to_string();
    let (code, problems) = match Config::load(path, env) {
        Ok(config) => {
            let problems = config.check(env);
            (verdict(&problems), serde_json::to_value(&problems)?)
        }
        Err(error) => (ExitCode::FAILURE, json!([load_problem(&error)])),
    };
    let ok = code == ExitCode::SUCCESS;
    print_json(out, &json!({ "file": file, "ok": ok, "problems": problems }))?;
    Ok(code)
}

fn load_problem(error: &ConfigError) -> serde_json::Value {
    match error {
        ConfigError::Invalid { path: _, line, column, message } if *line > 0 => {
            json!({ "severity": "error", "line": line, "column": column, "message": message })
        }
        ConfigError::Invalid { .. }
        | ConfigError::Missing { .. }
        | ConfigError::Unreadable { .. }
        | ConfigError::TooBig { .. }
        | ConfigError::Variable { .. } => json!({ "severity": "error", "message": error.to_string() }),
    }
}

fn show(path: Option<&Path>, env: &Env, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let config = Config::load(path, env)?;
    write!(out, "{}", serde_yaml::to_string(&config).context("cannot write the settings as YAML")?)?;
    for SecretState { key, source, set } in config.secrets(env) {
        writeln!(out, "# {key}: {} ({source})", if set { "set" } else { "not set" })?;
    }
    Ok(ExitCode::SUCCESS)
}

fn show_json(path: Option<&Path>, env: &Env, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let config = Config::load(path, env)?;
    print_json(out, &json!({ "config": config, "secrets": config.secrets(env) }))?;
    Ok(ExitCode::SUCCESS)
}

fn show_repo(
    path: Option<&Path>,
    env: &Env,
    repo: &Project,
    out: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    let settings = Config::load(path, env)?.for_repo(repo);
    let yaml = serde_yaml::to_string(&settings).context("cannot write the settings as YAML")?;
    writeln!(out, "# {repo}, before its own `{}`", config::REPO_FILE)?;
    write!(out, "{yaml}")?;
    Ok(ExitCode::SUCCESS)
}

fn show_repo_json(
    path: Option<&Path>,
    env: &Env,
    repo: &Project,
    out: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    let settings = Config::load(path, env)?.for_repo(repo);
    print_json(out, &json!({ "repo": repo, "settings": settings }))?;
    Ok(ExitCode::SUCCESS)
}

fn schema(out: &mut impl Write) -> anyhow::Result<ExitCode> {
    print_json(out, &config::schema().into())?;
    Ok(ExitCode::SUCCESS)
}

fn print_json(out: &mut impl Write, value: &serde_json::Value) -> anyhow::Result<()> {
    writeln!(out, "{}", serde_json::to_string_pretty(value)?)?;
    Ok(())
}

fn verdict(problems: &[Problem]) -> ExitCode {
    if problems.iter().any(Problem::is_error) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn count(problems: &[Problem], severity: Severity) -> usize {
    problems.iter().filter(|problem| problem.severity == severity).count()
}

fn number(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}
