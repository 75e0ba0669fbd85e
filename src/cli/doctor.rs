//! Purpose: `doctor`: is everything connected? Each check says what it found, and what to do when it is not well.

use std::collections::BTreeSet;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::app;
use super::out::{reason, say};
use super::terminal::{GREEN, RED, YELLOW, paint};
use super::{doctor_disk, doctor_tools};
use crate::config::{Config, Env, Problem, Provider, Role, SecretRef, Severity};
use crate::domain::{ForgeKind, Permission, Project};
use crate::engine::Forges;
use crate::forge::ForgeError;
use crate::llm::{LlmError, Model};
use crate::prompts::{Ask, Context};

#[derive(Debug, Args)]
pub(super) struct DoctorArgs {
    /// Also check what the bot may do on this repository, such as `github:acme/web`
    #[arg(long)]
    repo: Option<Project>,
    /// Print one JSON array, for programs
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Health {
    Good,
    Warning,
    Bad,
}

pub(super) struct Finding {
    health: Health,
    what: String,
    /// What to do about it.
    remedy: Option<String>,
}

impl Finding {
    pub(super) fn good(what: impl Into<String>) -> Self {
        Self { health: Health::Good, what: what.into(), remedy: None }
    }

    pub(super) fn bad(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { health: Health::Bad, what: what.into(), remedy: Some(remedy.into()) }
    }

    pub(super) fn warning(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { health: Health::Warning, what: what.into(), remedy: Some(remedy.into()) }
    }
}

pub(super) async fn run(args: &DoctorArgs, config: Config, env: &Env) -> anyhow::Result<ExitCode> {
    let mut findings = settings(&config, env);
    findings.extend(secrets(&config, env));
    findings.extend(doctor_disk::all(&config).await);
    findings.push(doctor_tools::sandbox(&config));
    findings.extend(doctor_tools::servers(&config, env).await);
    match app::forges(&config, env) {
        Ok(forges) => {
            findings.extend(accounts(&forges).await.into_iter().chain(repo(args, &config, &forges).await))
        }
        Err(error) => findings.push(Finding::bad(
            format!("the forges were not asked: {}", reason(&error)),
            "see to what is named there (README, “Connect …”), then run this again",
        )),
    }
    findings.extend(models(&config, env).await);
    // What a server answered may hold anything, our own token too.
    let redactor = config.redactor(env);
    for finding in &mut findings {
        finding.what = redactor.clean(&finding.what).into_owned();
    }
    report(&findings, args.json)
}

/// What no other check says.
fn settings(config: &Config, env: &Env) -> Vec<Finding> {
    let said_later = |problem: &Problem| {
        let secret = problem.key.contains(".api_key_") || problem.key.starts_with("forges");
        (secret || problem.key == "data_dir") && problem.severity == Severity::Error
    };
    let problems: Vec<_> = config.check(env).into_iter().filter(|problem| !said_later(problem)).collect();
    if problems.is_empty() {
        return vec![Finding::good("the settings are in order")];
    }
    let finding = |problem: &Problem| {
        let remedy = format!("look at `{}` in the settings file", problem.key);
        match problem.severity {
            Severity::Error => Finding::bad(problem.sentence(), remedy),
            Severity::Warning => Finding::warning(problem.sentence(), remedy),
        }
    };
    problems.iter().map(finding).collect()
}

fn secrets(config: &Config, env: &Env) -> Vec<Finding> {
    let forges = &config.forges;
    let github = forges.github.as_ref().map(|github| webhook_secret("github", &github.webhook_secret, env));
    let gitlab = forges.gitlab.as_ref().map(|gitlab| match &gitlab.signing_token {
        Some(token) => signing_token(token, env),
        None => webhook_secret("gitlab", &gitlab.webhook_secret, env),
    });
    let local = forges.local.enabled.then(|| webhook_secret("local", &forges.local.webhook_secret, env));
    [github, gitlab, local].into_iter().flatten().collect()
}

fn signing_token(secret: &SecretRef, env: &Env) -> Finding {
    match app::signing_token(secret, env) {
        Ok(_) => Finding::good("gitlab: the signing token is set"),
        Err(error) => Finding::bad(
            format!("gitlab: {error:#}"),
            "copy the signing token from the webhook's settings in GitLab",
        ),
    }
}

fn webhook_secret(name: &str, secret: &SecretRef, env: &Env) -> Finding {
    match secret.read(env) {
        Ok(Some(_)) => Finding::good(format!("{name}: the webhook secret is set")),
        Ok(None) => Finding::bad(
            format!("{name}: {secret} holds no webhook secret"),
            "put the output of `openssl rand -hex 32` there, and the same into the webhook's settings",
        ),
        Err(error) => Finding::bad(format!("{name}: {error}"), "make the file readable for this user"),
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
    let section = format!("forges.{kind}");
    let remedy = match error {
        ForgeError::Unauthorized(why) if why.contains("not to `") => {
            format!("write the name that owns them into `{section}.bot_login`, or use the other account's")
        }
        ForgeError::Unauthorized(_) => {
            format!("make new ones (README, “Connect …”) and put them where `{section}` points")
        }
        ForgeError::Forbidden(_) => "give them the permissions that the README names".to_owned(),
        ForgeError::NotFound(_) | ForgeError::Broken(_) | ForgeError::Invalid(_) => match kind {
            ForgeKind::Github => {
                format!("check `{section}.api_url`: on GitHub Enterprise Server it ends in /api/v3")
            }
            ForgeKind::Gitlab => {
                format!("check `{section}.url`: the address of the instance, without /api/v4")
            }
            ForgeKind::Local => "delete the file and let the demo make a new one".to_owned(),
        },
        ForgeError::RateLimited { .. } => "wait, then run this again".to_owned(),
        ForgeError::Unclear(_) => format!("check the network, the proxy and the address in `{section}`"),
    };
    Finding::bad(format!("{kind}: {error}"), remedy)
}

/// What the bot must be allowed to do: push its own branches. GitHub also shows the permissions of people only to those
/// who may write.
fn enough(kind: ForgeKind) -> (Permission, &'static str) {
    match kind {
        ForgeKind::Github => (Permission::Write, "give the bot's account the role Write"),
        ForgeKind::Gitlab => {
            (Permission::Write, "give the bot's account the role Developer, which may push branches")
        }
        ForgeKind::Local => (Permission::Write, "give the bot's account write permission"),
    }
}

async fn repo(args: &DoctorArgs, config: &Config, forges: &Forges) -> Vec<Finding> {
    let Some(project) = &args.repo else { return vec![] };
    let Some(forge) = forges.get(&project.forge) else {
        return vec![Finding::bad(
            format!("{project}: its forge is not configured"),
            format!("add `{}` under `forges:`", project.forge),
        )];
    };
    let (least, remedy) = enough(project.forge);
    let access = match forge.check_access(project).await {
        Ok(permission) if permission >= least => {
            Finding::good(format!("{project}: I have {} permission", permission.as_str()))
        }
        Ok(permission) => {
            Finding::bad(format!("{project}: I only have {} permission", permission.as_str()), remedy)
        }
        Err(error @ ForgeError::NotFound(_)) => Finding::bad(
            error.to_string(),
            "check the name; if it is right, the bot's account or its token may not see the repository: let it in",
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

/// Every model that plays a role, once. A role that names none is told of with the settings.
async fn models(config: &Config, env: &Env) -> Vec<Finding> {
    let mut asked = BTreeSet::new();
    let mut findings = vec![];
    for role in Role::ALL {
        if let Some((name, settings)) = config.models.of_role(role)
            && asked.insert(name)
        {
            let client = app::model_of(config, env, role);
            findings.push(model(name, settings, client).await);
        }
    }
    findings
}

/// Asks a small real question, so that the key, the model's name and its way of answering are all tried.
async fn model(name: &str, settings: &crate::config::Model, client: anyhow::Result<Model>) -> Finding {
    if settings.provider == Provider::Offline {
        return Finding::warning(
            format!(
                "the model `{name}` is the built-in rule-based one; it plans from checklists and headings only"
            ),
            "configure `models.default` for real plans",
        );
    }
    let client = match client {
        Ok(client) => client,
        Err(error) => {
            let remedy = format!(
                "put the key there, or write `api_key_env: null` in `models.{name}` if its server needs none"
            );
            return Finding::bad(format!("the model was not asked: {}", reason(&error)), remedy);
        }
    };
    let context = Context {
        thread: "doctor".to_owned(),
        title: "Say hello in the README".to_owned(),
        body: "Add one line that says hello.".to_owned(),
        fence: "doctor".to_owned(),
        ..Context::default()
    };
    match client.answer(&Ask::GoalUnderstanding { context, told: Box::default() }).await {
        Ok(answered) => {
            Finding::good(format!("the model `{name}` answers ({} tokens)", answered.usage.output_tokens))
        }
        Err(failure) => Finding::bad(
            format!("the model `{name}`: {failure}"),
            mend(&format!("models.{name}"), &failure.error),
        ),
    }
}

fn mend(section: &str, error: &LlmError) -> String {
    match error {
        LlmError::Refused { .. } => {
            format!("check the key that `{section}` points to, and that it may use the model")
        }
        LlmError::Rejected { .. } => format!("check `{section}.model` and `{section}.base_url`"),
        LlmError::Unavailable { .. } => format!("check `{section}.base_url`, the network and the proxy"),
        LlmError::TimedOut => format!("raise `{section}.timeout_seconds`, or use a faster model"),
        LlmError::TooLong => "use a model that can read more".to_owned(),
        LlmError::CutOff => format!("raise `{section}.max_output_tokens`"),
        LlmError::TooLarge => format!("check `{section}.base_url`: what answers there is no model"),
        LlmError::Unreadable(_) => {
            "use a model that follows a JSON schema; small ones often cannot".to_owned()
        }
        LlmError::NoPlan(_) => "mend the document".to_owned(),
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
