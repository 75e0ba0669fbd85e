//! Purpose: the server as a whole: settings in, the engine and the HTTP door out.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use secrecy::SecretString;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::instance::Instance;
use crate::config::{
    Config, Env, EnvName, GithubAuth as ConfigAuth, McpServer, Provider, Redactor, RepoRule, Role, SecretRef,
    WithoutSandbox,
};
use crate::domain::{Account, AccountKind, ForgeKind};
use crate::engine::{Crew, Ctx, Engine, Forges, Hands, now};
use crate::forge::{
    Forge, Github, GithubAuth, GithubSettings, Gitlab, GitlabSettings, Local, LocalSettings, Patience,
};
use crate::intake::translate::Confidential;
use crate::intake::verify::is_signing_token;
use crate::intake::{ConnectionLimits, Intake, Secrets, router, serve};
use crate::llm::{Model, ModelSettings};
use crate::store::Store;
use crate::tools::git::Workspaces;
use crate::tools::mcp::{Mcp, Reach, ServerSettings};
use crate::tools::sandbox::{Cage, Sandbox, SandboxSettings};

/// How long requests under way may take to end once the server stops; most take milliseconds.
const GRACE: Duration = Duration::from_secs(5);

pub struct App {
    pub ctx: Arc<Ctx>,
    intake: Intake,
    /// Held as long as the app lives.
    _instance: Instance,
}

impl App {
    /// Opens the store and wires forges, model and engine; nothing runs yet.
    ///
    /// # Errors
    /// When a secret is missing, the store cannot be opened, or a client cannot be built.
    pub async fn build(config: Config, env: &Env) -> anyhow::Result<Self> {
        let instance = Instance::claim(&config.data_dir)?;
        let forges = forges(&config, env)?;
        Self::assemble(config, env, forges, instance).await
    }

    /// As [`App::build`], with forges that the caller made.
    ///
    /// # Errors
    /// As [`App::build`].
    pub async fn with_forges(config: Config, env: &Env, forges: Forges) -> anyhow::Result<Self> {
        let instance = Instance::claim(&config.data_dir)?;
        Self::assemble(config, env, forges, instance).await
    }

    async fn assemble(config: Config, env: &Env, forges: Forges, instance: Instance) -> anyhow::Result<Self> {
        let crew = crew(&config, env)?;
        let secrets = secrets(&config, env)?;
        let confidential = match &config.forges.gitlab {
            Some(gitlab) if gitlab.confidential => Confidential::Accepted,
            Some(_) | None => Confidential::Ignored,
        };
        let store = Store::open(config.store.url.as_str()).await?;
        let owner = instance.name().to_owned();
        let redactor = config.redactor(env);
        let ctx = Ctx { redactor, ..Ctx::new(Arc::new(config), store.clone(), forges, crew, owner) };
        let ctx = Arc::new(ctx);
        let intake = Intake { store, secrets, clock: now, wake: ctx.pokes.clone(), confidential };
        Ok(Self { ctx, intake, _instance: instance })
    }

    /// With a redactor that somebody else uses too, instead of one of its own.
    pub(super) fn hiding(mut self, redactor: Redactor) -> anyhow::Result<Self> {
        Arc::get_mut(&mut self.ctx).context("the app is at work already")?.redactor = redactor;
        Ok(self)
    }

    /// With this secret for the webhooks of the local forge, whatever the settings say.
    pub(super) fn signed_locally(mut self, secret: SecretString) -> Self {
        self.intake.secrets.local = Some(secret);
        self
    }

    #[must_use]
    pub fn engine(&self) -> Engine {
        Engine::new(Arc::clone(&self.ctx))
    }

    /// Serves webhooks and drives threads until `ctx.shutdown` is cancelled.
    ///
    /// # Errors
    /// When the store fails for good.
    pub async fn run(self, listener: TcpListener) -> anyhow::Result<()> {
        let stop = self.ctx.shutdown.clone();
        let engine = self.engine();
        let serving = async {
            tokio::select! {
                () = serve(listener, router(self.intake), ConnectionLimits::of_process(), stop.clone()) => {}
                () = shutdown_and_grace(&stop) => {}
            }
        };
        let driving = async {
            let driven = engine.run().await;
            stop.cancel();
            driven
        };
        let ((), driven) = tokio::join!(serving, driving);
        self.ctx.hands.mcp.close().await;
        self.ctx.store.close().await;
        driven
    }
}

/// Clients that hold a connection open, or send their request very slowly, do not hold up the end.
async fn shutdown_and_grace(stop: &CancellationToken) {
    stop.cancelled().await;
    tokio::time::sleep(GRACE).await;
}

/// The clients for all forges that the settings name.
///
/// # Errors
/// When a secret is missing or a client cannot be built.
pub fn forges(config: &Config, env: &Env) -> anyhow::Result<Forges> {
    let mut forges = Forges::new();
    if let Some(github) = &config.forges.github {
        let auth = match &github.auth {
            ConfigAuth::Token(token) => GithubAuth::Token(needed(token, env)?),
            ConfigAuth::App { id, private_key } => {
                GithubAuth::App { id: *id, private_key_pem: needed(private_key, env)? }
            }
        };
        // An app's account is named by GitHub (`slug[bot]`), so only a machine user's name is compared.
        let bot_login = matches!(auth, GithubAuth::Token(_)).then(|| github.bot_login.as_str().to_owned());
        let api_url = github.api_url.as_str().parse().context("forges.github.api_url is no URL")?;
        let git_url = github.git_url.as_str().parse().context("forges.github.git_url is no URL")?;
        let patience = Patience::default();
        let client = Github::new(&GithubSettings { api_url, git_url, auth, bot_login, patience })?;
        forges.insert(ForgeKind::Github, Forge::Github(client));
    }
    if let Some(gitlab) = &config.forges.gitlab {
        let url = gitlab.url.as_str().parse().context("forges.gitlab.url is no URL")?;
        let bot_login = Some(gitlab.bot_login.as_str().to_owned());
        let token = needed(&gitlab.token, env)?;
        let git_url = gitlab.git_url().as_str().parse().context("forges.gitlab.git_url is no URL")?;
        let patience = Patience::default();
        let client = Gitlab::new(&GitlabSettings { url, git_url, token, bot_login, patience })?;
        forges.insert(ForgeKind::Gitlab, Forge::Gitlab(client));
    }
    if config.forges.local.enabled {
        let path = Some(config.data_dir.join("local").join("world.json"));
        let local = Local::open(LocalSettings { path, bot: local_bot(), clock: now })?;
        forges.insert(ForgeKind::Local, Forge::Local(local));
    }
    Ok(forges)
}

/// The bot's account on the local forge.
#[must_use]
pub fn local_bot() -> Account {
    Account { kind: AccountKind::Bot, ..Account::person(1, "planwright") }
}

/// The models and the hands of the server. Nothing is started yet but a try of the sandbox.
pub(super) fn crew(config: &Config, env: &Env) -> anyhow::Result<Crew> {
    let mcp = Mcp::new(mcp_servers(config, env));
    let workspaces = Workspaces::new(&config.data_dir.join("work"));
    let hands = Hands { workspaces, mcp, sandbox: sandbox(config)? };
    let advisor = config.models.roles.name(Role::Advisor);
    Ok(Crew {
        planner: model_of(config, env, Role::Planner)?,
        worker: model_of(config, env, Role::Worker)?,
        judge: model_of(config, env, Role::Judge)?,
        advisor: advisor.map(|_| model_of(config, env, Role::Advisor)).transpose()?,
        hands,
    })
}

/// Which of them a repository may use is asked for each action.
pub(super) fn mcp_servers(config: &Config, env: &Env) -> Vec<ServerSettings> {
    let servers = config.mcp_servers().into_iter();
    servers.map(|(name, server)| mcp_server(name.to_string(), &server, env)).collect()
}

/// Only where there is something to run; without a cage commands are refused, and doctor and the log say why.
fn sandbox(config: &Config) -> anyhow::Result<Option<Sandbox>> {
    if !has_commands(config) {
        return Ok(None);
    }
    match Sandbox::find(sandbox_settings(config)?) {
        Ok(sandbox) => Ok(Some(sandbox)),
        Err(error) => {
            tracing::error!("commands are refused: {error}");
            Ok(None)
        }
    }
}

pub(super) fn has_commands(config: &Config) -> bool {
    let mut all = std::iter::once(&config.tools).chain(config.repos.iter().map(RepoRule::tools));
    all.any(|tools| !tools.commands.is_empty())
}

pub(super) fn sandbox_settings(config: &Config) -> anyhow::Result<SandboxSettings> {
    let helper = std::env::current_exe().context("cannot find my own program")?;
    let mut settings = SandboxSettings::new(helper);
    if config.tools.without_sandbox == WithoutSandbox::RunUnprotected {
        settings.cages.push(Cage::None);
    }
    Ok(settings)
}

fn mcp_server(name: String, server: &McpServer, env: &Env) -> ServerSettings {
    let value = |variable: &EnvName| env.get(variable.as_str()).map(SecretString::from);
    let reach = match &server.url {
        Some(url) => {
            let token = server.token_env.as_ref().and_then(value);
            Reach::Http { url: url.as_str().to_owned(), token }
        }
        None => {
            let given =
                server.pass_env.iter().filter_map(|name| Some((name.as_str().to_owned(), value(name)?)));
            Reach::Process { argv: server.command.clone(), env: given.collect(), dir: None }
        }
    };
    ServerSettings {
        name,
        reach,
        allow: server.allow.iter().map(|pattern| pattern.as_ref().to_owned()).collect(),
        timeout: Duration::from_secs(server.timeout_seconds.get().into()),
        pins: server.pins.clone(),
    }
}

/// The model that plays a role.
pub(super) fn model_of(config: &Config, env: &Env, role: Role) -> anyhow::Result<Model> {
    let Some((name, model)) = config.models.of_role(role) else {
        bail!("`models.roles.{}` names no model", role.as_str())
    };
    let api_key = match &model.api_key {
        Some(_) if model.provider == Provider::Offline => None,
        // A server on this machine usually wants no key, and says so if it does.
        Some(key) if model.base_url.is_loopback() => key.read(env)?,
        Some(key) => Some(needed(key, env).with_context(|| format!("model `{name}`"))?),
        None => None,
    };
    model_client(model, api_key)
}

fn model_client(model: &crate::config::Model, api_key: Option<SecretString>) -> anyhow::Result<Model> {
    let provider = match model.provider {
        Provider::Openai => crate::llm::Provider::Openai,
        Provider::Anthropic => crate::llm::Provider::Anthropic,
        Provider::Offline => crate::llm::Provider::Offline,
    };
    let price = model.price.as_ref().map(|price| crate::llm::Price {
        input: price.input_usd_per_mtok.micros().unsigned_abs(),
        output: price.output_usd_per_mtok.micros().unsigned_abs(),
    });
    Ok(Model::new(ModelSettings {
        api_key,
        timeout: Duration::from_secs(u64::from(model.timeout_seconds.get())),
        max_output_tokens: model.max_output_tokens.get(),
        price,
        ..ModelSettings::new(provider, model.base_url.as_str(), &model.model)
    })?)
}

fn secrets(config: &Config, env: &Env) -> anyhow::Result<Secrets> {
    let mut secrets = Secrets::default();
    if let Some(github) = &config.forges.github {
        secrets.github = Some(needed(&github.webhook_secret, env)?);
    }
    if let Some(gitlab) = &config.forges.gitlab {
        secrets.gitlab = gitlab.webhook_secret.read(env)?;
        secrets.gitlab_signing =
            gitlab.signing_token.as_ref().map(|token| signing_token(token, env)).transpose()?;
        if secrets.gitlab.is_none() && secrets.gitlab_signing.is_none() {
            bail!("forges.gitlab is configured, but {} holds no webhook secret", gitlab.webhook_secret);
        }
    }
    if config.forges.local.enabled {
        secrets.local = config.forges.local.webhook_secret.read(env)?;
    }
    Ok(secrets)
}

/// # Errors
/// When it is not there, or is none: then every signed delivery would be refused, and GitLab switch the hook off.
pub fn signing_token(secret: &SecretRef, env: &Env) -> anyhow::Result<SecretString> {
    let token = needed(secret, env)?;
    if !is_signing_token(&token) {
        bail!("{secret} holds no signing token of GitLab, which begins with `whsec_`");
    }
    Ok(token)
}

fn needed(secret: &SecretRef, env: &Env) -> anyhow::Result<SecretString> {
    secret.read(env)?.with_context(|| format!("{secret} is not set"))
}
