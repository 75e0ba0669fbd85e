//! Purpose: `doctor`: is everything connected? Each check says what it found, and what to do when it is not well.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::app;
use super::out::say;
use super::terminal::{GREEN, RED, YELLOW, paint};
use crate::config::{Config, Env, Provider, Role, SecretRef, Severity};
use crate::domain::{ForgeKind, Permission, Project};
use crate::engine::Forges;
use crate::forge::ForgeError;
use crate::prompts::{Ask, Context};
use crate::store::Store;

#[derive(Debug, Args)]
pub(super) struct DoctorArgs {
    /// Also check what the bot may do on this repository, as `github:owner/repo`
    #[arg(long)]
    repo: Option<Project>,
    /// One JSON array, for programs
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Health {
    Good,
    Warning,
    Bad,
}

struct Finding {
    health: Health,
    what: String,
    /// What to do about it.
    remedy: Option<String>,
}

impl Finding {
    fn good(what: impl Into<String>) -> Self {
        Self { health: Health::Good, what: what.into(), remedy: None }
    }

    fn bad(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { health: Health::Bad, what: what.into(), remedy: Some(remedy.into()) }
    }

    fn warning(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { health: Health::Warning, what: what.into(), remedy: Some(remedy.into()) }
    }
}

pub(super) async fn run(args: &DoctorArgs, config: Config, env: &Env) -> anyhow::Result<ExitCode> {
    let mut findings = settings(&config, env);
    findings.extend(secrets(&config, env));
    findings.push(store(&config).await);
    match app::forges(&config, env) {
        Ok(forges) => {
            findings.extend(accounts(&forges).await.into_iter().chain(repo(args, &config, &forges).await))
        }
        Err(error) => findings.push(Finding::bad(
            format!("the forges cannot be reached: {error:#}"),
            "set what is named there, then run this again",
        )),
    }
    findings.push(model(&config, env).await);
    // What a server answered may hold anything, our own token too.
    let redactor = config.redactor(env);
    for finding in &mut findings {
        finding.what = redactor.clean(&finding.what).into_owned();
    }
    report(&findings, args.json)
}

fn settings(config: &Config, env: &Env) -> Vec<Finding> {
    let problems = config.check(env);
    if problems.is_empty() {
        return vec![Finding::good("the settings are in order")];
    }
    let remedy = "`planwright config check` shows it with its place in the file";
    let finding = |problem: &crate::config::Problem| match problem.severity {
        Severity::Error => Finding::bad(problem.to_string(), remedy),
        Severity::Warning => Finding::warning(problem.to_string(), remedy),
    };
    problems.iter().map(finding).collect()
}

fn secrets(config: &Config, env: &Env) -> Vec<Finding> {
    let github = config.forges.github.as_ref();
    let github = github.map(|github| webhook_secret("GitHub", &github.webhook_secret, env));
    let gitlab = config.forges.gitlab.as_ref().map(|gitlab| match &gitlab.signing_token {
        Some(token) => signing_token(token, env),
        None => webhook_secret("GitLab", &gitlab.webhook_secret, env),
    });
    github.into_iter().chain(gitlab).collect()
}

fn signing_token(secret: &SecretRef, env: &Env) -> Finding {
    match app::signing_token(secret, env) {
        Ok(_) => Finding::good("GitLab: the signing token is set"),
        Err(error) => Finding::bad(
            format!("GitLab: {error:#}"),
            "copy the signing token from the webhook's settings in GitLab",
        ),
    }
}

fn webhook_secret(name: &str, secret: &SecretRef, env: &Env) -> Finding {
    match secret.read(env) {
        Ok(Some(_)) => Finding::good(format!("{name}: the webhook secret is set")),
        Ok(None) => Finding::bad(
            format!("{name}: {secret} holds no webhook secret"),
            "put a long random text there and the same into the webhook's settings",
        ),
        Err(error) => Finding::bad(format!("{name}: {error}"), "make the file readable for this user"),
    }
}

async fn store(config: &Config) -> Finding {
    let url = config.store.url.as_str();
    match Store::open(url).await {
        Ok(store) => {
            store.close().await;
            Finding::good(format!("the store at {url} can be opened"))
        }
        Err(error) => {
            Finding::bad(format!("the store at {url}: {error:#}"), "check the path and who may write there")
        }
    }
}

async fn accounts(forges: &Forges) -> Vec<Finding> {
    if forges.is_empty() {
        return vec![Finding::bad(
            "no forge is configured",
            "add `forges.github` or `forges.gitlab` to config.yaml",
        )];
    }
    let mut findings = vec![];
    for (kind, forge) in forges {
        findings.push(match forge.me().await {
            Ok(me) => Finding::good(format!("{kind}: the credentials are valid, I am @{}", me.login)),
            Err(error) => unreachable(*kind, &error),
        });
    }
    findings
}

fn unreachable(kind: ForgeKind, error: &ForgeError) -> Finding {
    let remedy = match error {
        ForgeError::Unauthorized(_) => {
            "make a new token (README, “Connect …”) and put it where the settings point"
        }
        ForgeError::Forbidden(_) => "give the token the permissions that the README names",
        ForgeError::NotFound(_) | ForgeError::Broken(_) | ForgeError::Invalid(_) => {
            "check the address in the settings: on GitHub Enterprise Server it ends in /api/v3"
        }
        ForgeError::RateLimited { .. } => "wait, then run this again",
        ForgeError::Unclear(_) => "check the network, the proxy and the address",
    };
    Finding::bad(format!("{kind}: {error}"), remedy)
}

async fn repo(args: &DoctorArgs, config: &Config, forges: &Forges) -> Vec<Finding> {
    let Some(project) = &args.repo else { return vec![] };
    let Some(forge) = forges.get(&project.forge) else {
        return vec![Finding::bad(
            format!("{project}: its forge is not configured"),
            "add it under `forges:`",
        )];
    };
    let access = match forge.check_access(project).await {
        Ok(permission) if permission >= Permission::Write => {
            Finding::good(format!("{project}: I have {} permission", permission.as_str()))
        }
        Ok(permission) => Finding::bad(
            format!("{project}: I only have {} permission", permission.as_str()),
            "give the bot's account write access (GitLab: Developer)",
        ),
        Err(error) => unreachable(project.forge, &error),
    };
    let enabled = if config.for_repo(project).planning.enabled {
        Finding::good(format!("{project}: planning is switched on"))
    } else {
        Finding::warning(
            format!("{project}: planning is switched off, so I will only say so when asked"),
            format!("add `- {{ match: \"{project}\", planning: {{ enabled: true }} }}` under `repos:`"),
        )
    };
    vec![access, enabled]
}

/// Asks a small real question, so that the key, the model's name and its way of answering are all tried.
async fn model(config: &Config, env: &Env) -> Finding {
    let Some((name, settings)) = config.models.of_role(Role::Planner) else {
        return Finding::bad("no model plays the planner", "name one in `models.roles.planner`");
    };
    if settings.provider == Provider::Offline {
        return Finding::warning(
            format!(
                "the model `{name}` is the built-in rule-based one; it plans from checklists and headings only"
            ),
            "configure `models.default` for real plans",
        );
    }
    let planner = match app::planner(config, env) {
        Ok(planner) => planner,
        Err(error) => return Finding::bad(format!("{error:#}"), "put the key where the settings point"),
    };
    let context = Context {
        thread: "doctor".to_owned(),
        title: "Say hello in the README".to_owned(),
        body: "Add one line that says hello.".to_owned(),
        fence: "doctor".to_owned(),
        ..Context::default()
    };
    match planner.answer(&Ask::GoalUnderstanding { context }).await {
        Ok(answered) => {
            Finding::good(format!("the model `{name}` answers ({} tokens)", answered.usage.output_tokens))
        }
        Err(failure) => Finding::bad(format!("the model `{name}`: {failure}"), failure.error.for_people()),
    }
}

fn report(findings: &[Finding], as_json: bool) -> anyhow::Result<ExitCode> {
    if as_json {
        let list: Vec<_> = findings
            .iter()
            .map(|f| json!({"health": word(f.health), "what": f.what, "remedy": f.remedy}))
            .collect();
        say(&serde_json::to_string_pretty(&list)?);
    } else {
        for finding in findings {
            print(finding);
        }
    }
    let ill = findings.iter().any(|finding| finding.health == Health::Bad);
    Ok(if ill { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn print(finding: &Finding) {
    let mark = match finding.health {
        Health::Good => paint(GREEN, "✓"),
        Health::Warning => paint(YELLOW, "!"),
        Health::Bad => paint(RED, "✗"),
    };
    say(&format!("{mark} {}", finding.what));
    if let Some(remedy) = &finding.remedy {
        say(&format!("    → {remedy}"));
    }
}

fn word(health: Health) -> &'static str {
    match health {
        Health::Good => "good",
        Health::Warning => "warning",
        Health::Bad => "bad",
    }
}
