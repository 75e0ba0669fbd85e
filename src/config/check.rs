//! Purpose: what can be read but should not be run with: missing secrets, unknown names, risky combinations.

use std::collections::BTreeSet;

use serde::Serialize;

use super::explain::nearest;
use super::{
    AutoApproval, BaseUrl, Config, Deliver, Env, GithubAuth, Model, Models, Provider, RepoSettings, Role,
    SecretRef, Store,
};

/// One thing that is wrong or doubtful, with the key it is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    pub severity: Severity,
    pub key: String,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The server does not start.
    Error,
    /// It starts, and says this.
    Warning,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let word = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{word}: {}: {}", self.key, self.message)
    }
}

/// Whether a secret that the settings name is there. The secret itself is not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SecretState {
    pub key: String,
    /// Where it is looked for.
    pub source: String,
    pub set: bool,
}

impl Config {
    /// Looks at the whole; errors come first.
    #[must_use]
    pub fn check(&self, env: &Env) -> Vec<Problem> {
        let mut found = Findings { env, problems: Vec::new() };
        found.server(self);
        found.forges(self);
        found.models(&self.models);
        found.repos(self);
        found.problems.sort_by_key(|problem| problem.severity);
        found.problems
    }

    /// Every secret that the settings name, in the order of the file.
    #[must_use]
    pub fn secrets(&self, env: &Env) -> Vec<SecretState> {
        let state = |(key, secret): (String, &SecretRef)| SecretState {
            key,
            source: secret.to_string(),
            set: matches!(secret.read(env), Ok(Some(_))),
        };
        self.secret_refs().into_iter().map(state).collect()
    }

    fn secret_refs(&self) -> Vec<(String, &SecretRef)> {
        let mut refs = Vec::new();
        if let Some(github) = &self.forges.github {
            match &github.auth {
                GithubAuth::Token(token) => refs.push(("forges.github.token".to_owned(), token)),
                GithubAuth::App { id: _, private_key } => {
                    refs.push(("forges.github.app.private_key".to_owned(), private_key));
                }
            }
            refs.push(("forges.github.webhook_secret".to_owned(), &github.webhook_secret));
        }
        if let Some(gitlab) = &self.forges.gitlab {
            refs.push(("forges.gitlab.token".to_owned(), &gitlab.token));
            refs.push(("forges.gitlab.webhook_secret".to_owned(), &gitlab.webhook_secret));
            refs.extend(gitlab.signing_token.iter().map(|s| ("forges.gitlab.signing_token".to_owned(), s)));
        }
        if self.forges.local.enabled {
            refs.push(("forges.local.webhook_secret".to_owned(), &self.forges.local.webhook_secret));
        }
        let keys = self.models.iter().filter_map(|(name, model)| Some((name, model.api_key.as_ref()?)));
        refs.extend(keys.map(|(name, key)| (format!("models.{name}.api_key"), key)));
        refs
    }
}

struct Findings<'a> {
    env: &'a Env,
    problems: Vec<Problem>,
}

impl Findings<'_> {
    fn error(&mut self, key: &str, message: impl Into<String>) {
        self.add(Severity::Error, key, message.into());
    }

    fn warn(&mut self, key: &str, message: impl Into<String>) {
        self.add(Severity::Warning, key, message.into());
    }

    fn add(&mut self, severity: Severity, key: &str, message: String) {
        self.problems.push(Problem { severity, key: key.to_owned(), message });
    }

    fn server(&mut self, config: &Config) {
        if config.server.public_url.as_ref().is_some_and(BaseUrl::is_open_to_listeners) {
            self.warn("server.public_url", "plain `http://` can be read on the way; use `https://`");
        }
        if config.store.url.is_postgres() {
            self.error(
                "store.url",
                "PostgreSQL is not supported by this version; use `sqlite://` with a path",
            );
        }
        if config.data_dir != Config::default().data_dir && config.store == Store::default() {
            self.warn(
                "store.url",
                "`data_dir` was moved but the database still lies in `./data`; set `store.url` as well",
            );
        }
    }

    fn forges(&mut self, config: &Config) {
        let forges = &config.forges;
        if forges.github.is_none() && forges.gitlab.is_none() && !forges.local.enabled {
            self.warn("forges", "no forge is configured, so nothing will arrive; add `github` or `gitlab`");
        }
        if let Some(github) = &forges.github {
            match &github.auth {
                GithubAuth::Token(token) => self.needed("forges.github.token", token),
                GithubAuth::App { id: _, private_key } => {
                    self.needed("forges.github.app.private_key_file", private_key);
                }
            }
            self.webhook_secret("forges.github.webhook_secret", &[&github.webhook_secret]);
            self.open_url("forges.github.api_url", &github.api_url);
            self.open_url("forges.github.git_url", &github.git_url);
        }
        if let Some(gitlab) = &forges.gitlab {
            self.needed("forges.gitlab.token", &gitlab.token);
            let secrets: Vec<_> =
                std::iter::once(&gitlab.webhook_secret).chain(&gitlab.signing_token).collect();
            self.webhook_secret("forges.gitlab.webhook_secret", &secrets);
            self.open_url("forges.gitlab.url", &gitlab.url);
            self.open_url("forges.gitlab.git_url", gitlab.git_url());
            if gitlab.confidential {
                let message = "text of confidential issues will reach the model's provider";
                self.warn("forges.gitlab.confidential", message);
            }
        }
        if forges.local.enabled {
            self.webhook_secret("forges.local.webhook_secret", &[&forges.local.webhook_secret]);
            if !config.server.listen.0.ip().is_loopback() {
                self.warn(
                    "forges.local.enabled",
                    "the local forge is for this machine only, but the server listens to others too",
                );
            }
        }
    }

    fn needed(&mut self, key: &str, secret: &SecretRef) {
        match secret.read(self.env) {
            Ok(Some(_)) => {}
            Ok(None) => self.error(key, format!("{secret} is empty or not set")),
            Err(error) => self.error(key, error.to_string()),
        }
    }

    /// One of them is enough: GitLab has two kinds of secret, and an instance may use either.
    fn webhook_secret(&mut self, key: &str, secrets: &[&SecretRef]) {
        let mut any = false;
        for secret in secrets {
            match secret.read(self.env) {
                Ok(found) => any |= found.is_some(),
                Err(error) => self.error(key, error.to_string()),
            }
        }
        if !any && let Some(secret) = secrets.first() {
            let message = format!(
                "{secret} is empty or not set; without it anyone could send deliveries, so the server does not start"
            );
            self.error(key, message);
        }
    }

    fn open_url(&mut self, key: &str, url: &BaseUrl) {
        if url.is_open_to_listeners() {
            self.warn(key, format!("the token is sent to `{url}` unencrypted; use `https://`"));
        }
    }

    fn models(&mut self, models: &Models) {
        let names: Vec<&str> = models.iter().map(|(name, _)| name).collect();
        let mut used = BTreeSet::from([Models::DEFAULT]);
        for role in Role::ALL {
            let Some(name) = models.roles.name(role) else { continue };
            used.insert(name);
            if models.get(name).is_none() {
                let hint = nearest(name, names.iter().copied());
                let hint = hint.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                self.error(
                    &format!("models.roles.{}", role.as_str()),
                    format!("there is no model `{name}`{hint}"),
                );
            }
        }
        for (name, model) in models.iter() {
            if used.contains(name) {
                self.model(&format!("models.{name}"), model);
            } else {
                let known = ["default", "roles"];
                let hint = nearest(name, known).map(|near| format!("; did you mean `{near}`?"));
                self.warn(
                    &format!("models.{name}"),
                    format!("no role uses this model{}", hint.unwrap_or_default()),
                );
            }
        }
    }

    fn model(&mut self, key: &str, model: &Model) {
        if model.provider == Provider::Offline {
            return;
        }
        let secret = model.api_key.as_ref().map(|secret| (secret, secret.read(self.env)));
        match secret {
            Some((_, Err(error))) => self.error(&format!("{key}.api_key_file"), error.to_string()),
            Some((secret, Ok(None))) if !model.base_url.is_loopback() => self.warn(
                &format!("{key}.api_key_env"),
                format!("{secret} is empty or not set; write `api_key_env: null` if the server needs no key"),
            ),
            Some((_, Ok(Some(_)))) if model.base_url.is_open_to_listeners() => self.warn(
                &format!("{key}.base_url"),
                format!("the key is sent to `{}` unencrypted; use `https://`", model.base_url),
            ),
            Some((_, Ok(_))) | None => {}
        }
    }

    fn repos(&mut self, config: &Config) {
        let base = config.with_rules(std::iter::empty());
        self.settings(&base);
        let mut enabled = base.planning.enabled;
        for (at, rule) in config.repos.iter().enumerate() {
            let settings = config.with_rules(std::iter::once(rule));
            enabled |= settings.planning.enabled;
            // What was wrong before the rule has been said already.
            let mut with_rule = Findings { env: self.env, problems: Vec::new() };
            with_rule.settings(&settings);
            let new = with_rule.problems.into_iter().filter(|problem| !self.problems.contains(problem));
            let new: Vec<_> = new
                .map(|problem| Problem { key: format!("repos[{at}].{}", problem.key), ..problem })
                .collect();
            self.problems.extend(new);
        }
        if !enabled {
            let message = "planning is switched on nowhere, so the bot will only say how to switch it on; \
                           set it in a rule under `repos`";
            self.warn("planning.enabled", message);
        }
        self.priceless(config);
    }

    fn settings(&mut self, settings: &RepoSettings) {
        let decision = &settings.planning.replanning.llm_decision;
        if decision.user_confirmation_threshold > decision.min_confidence_threshold {
            self.error(
                "planning.replanning.llm_decision.user_confirmation_threshold",
                "it is above `min_confidence_threshold`, so no confidence would lead to a question",
            );
        }
        if settings.approval.auto == AutoApproval::Medium && settings.deliver == Deliver::Ready {
            self.warn(
                "approval.auto",
                "with `deliver: ready` edits that nobody approved are put up for merging",
            );
        }
        let budget = &settings.budget;
        if budget.usd.is_none() && budget.tokens.is_none() && budget.model_calls.is_none() {
            self.warn("budget", "nothing limits what a run may cost; set `usd`, `tokens` or `model_calls`");
        }
        if settings.triggers.label.as_ref().is_some_and(|label| label.trim().is_empty()) {
            self.error("triggers.label", "a label cannot be empty; write `null` to switch it off");
        }
        self.tools(settings);
    }

    fn tools(&mut self, settings: &RepoSettings) {
        for (name, server) in settings.tools.mcp_servers.iter().filter(|(_, server)| server.enabled) {
            let key = format!("tools.mcp_servers.{name}");
            match (server.command.is_empty(), &server.url) {
                (true, None) => self.error(&key, "it needs a `command` or a `url`"),
                (false, Some(_)) => self.error(&key, "both `command` and `url` are given; keep one of them"),
                (true, Some(url)) if !url.is_web() => {
                    self.error(&format!("{key}.url"), "it must start with `https://` or `http://`");
                }
                (true, Some(url)) if server.token_env.is_some() => self.open_url(&format!("{key}.url"), url),
                (true, Some(_)) | (false, None) => {}
            }
        }
        for (name, command) in settings.tools.commands.iter().filter(|(_, command)| command.enabled) {
            if command.argv.is_empty() {
                self.error(&format!("tools.commands.{name}.argv"), "it needs a program to run");
            }
        }
    }

    fn priceless(&mut self, config: &Config) {
        let limited = config.budget.usd.is_some();
        let unpriced = |role: &Role| {
            let (name, model) = config.models.of_role(*role)?;
            (model.provider != Provider::Offline && model.price.is_none()).then_some(name)
        };
        let names: BTreeSet<&str> = Role::ALL.iter().filter_map(unpriced).collect();
        for name in names.into_iter().filter(|_| limited) {
            let message = "without a price its costs are unknown, so `budget.usd` cannot be kept; \
                           `budget.tokens` and `budget.model_calls` can";
            self.warn(&format!("models.{name}.price"), message);
        }
    }
}
