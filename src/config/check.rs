//! Purpose: what can be read but should not be run with: missing secrets, unknown names, risky combinations.

use std::collections::BTreeSet;
use std::path::Path;

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

impl Problem {
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Key and message, where the severity shows in another way.
    #[must_use]
    pub fn sentence(&self) -> String {
        format!("{}: {}", self.key, self.message)
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let word = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{word}: {}", self.sentence())
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
        let state = |(key, secret): (String, SecretRef)| SecretState {
            key,
            source: secret.to_string(),
            set: matches!(secret.read(env), Ok(Some(_))),
        };
        self.secret_refs().into_iter().map(state).collect()
    }

    pub(super) fn secret_refs(&self) -> Vec<(String, SecretRef)> {
        let mut refs = Vec::new();
        let mut add = |key: &str, secret: &SecretRef| refs.push((key.to_owned(), secret.clone()));
        if let Some(github) = &self.forges.github {
            match &github.auth {
                GithubAuth::Token(token) => add("forges.github.token", token),
                GithubAuth::App { id: _, private_key } => add("forges.github.app.private_key", private_key),
            }
            add("forges.github.webhook_secret", &github.webhook_secret);
        }
        if let Some(gitlab) = &self.forges.gitlab {
            add("forges.gitlab.token", &gitlab.token);
            add("forges.gitlab.webhook_secret", &gitlab.webhook_secret);
            gitlab.signing_token.iter().for_each(|secret| add("forges.gitlab.signing_token", secret));
        }
        if self.forges.local.enabled {
            add("forges.local.webhook_secret", &self.forges.local.webhook_secret);
        }
        for (name, model) in self.models.iter() {
            model.api_key.iter().for_each(|secret| add(&format!("models.{name}.api_key"), secret));
        }
        refs.extend(self.tools.secret_refs("tools"));
        for (number, rule) in self.repos.iter().enumerate() {
            refs.extend(rule.tools().secret_refs(&format!("repos[{number}].tools")));
        }
        refs
    }
}

/// What keeps a folder from being made there: the nearest thing that exists must be a folder itself.
fn file_above(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|path| path.exists()).filter(|path| !path.is_dir())
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
        if let Some(file) = file_above(&config.data_dir) {
            self.error(
                "data_dir",
                format!(
                    "`{}` is a file, not a folder; name a folder, or a path where nothing is yet",
                    file.display()
                ),
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
            self.error("forges", "no forge is configured, so nothing would arrive; add `github` or `gitlab`");
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
            if let Some(Ok(None)) = gitlab.signing_token.as_ref().map(|token| token.read(self.env)) {
                let message =
                    "it is named, but empty or not set; without it signed deliveries would be refused";
                self.error("forges.gitlab.signing_token", message);
            }
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
                let played = Role::ALL.into_iter().any(|role| models.roles.name(role) == Some(name));
                // Whoever plays a role is needed when the server starts.
                let keyless = if played { Severity::Error } else { Severity::Warning };
                self.model(&format!("models.{name}"), model, keyless);
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

    fn model(&mut self, key: &str, model: &Model, keyless: Severity) {
        if model.provider == Provider::Offline {
            return;
        }
        let secret = model.api_key.as_ref().map(|secret| (secret, secret.read(self.env)));
        match secret {
            Some((_, Err(error))) => self.error(&format!("{key}.api_key_file"), error.to_string()),
            Some((secret, Ok(None))) if !model.base_url.is_loopback() => self.add(
                keyless,
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
            self.warn(
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
        if settings.crew.remind_after_hours >= settings.crew.answer_within_hours {
            self.error(
                "crew.remind_after_hours",
                "it must be less than `answer_within_hours`: a reminder after the time is up helps nobody",
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
            for tool in server.read_only_without_pin() {
                let message = format!(
                    "`{tool}` has no pin, so nobody can tell whether it is still the tool that only looks; write its \
                     hash in `pins` (`planwright doctor` says it)"
                );
                self.error(&format!("{key}.read_only"), message);
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const SECRETS: [(&str, &str); 6] = [
        ("GITHUB_TOKEN", "t"),
        ("GITHUB_WEBHOOK_SECRET", "s"),
        ("GITLAB_TOKEN", "t"),
        ("GITLAB_WEBHOOK_SECRET", "s"),
        ("PLANWRIGHT_LOCAL_SECRET", "s"),
        ("OPENAI_API_KEY", "k"),
    ];

    /// Settings about which there is nothing to say; a row of a test changes one thing.
    const SOUND: &str = "forges: { github: {} }
models: { default: { price: { input_usd_per_mtok: 1, output_usd_per_mtok: 2 } } }
planning: { enabled: true }
";

    fn problems(text: &str, env: &Env) -> Vec<String> {
        let config = Config::parse(text, Path::new("config.yaml"), env).unwrap();
        config.check(env).iter().map(Problem::to_string).collect()
    }

    /// `SOUND` with some of its sections replaced or others added.
    fn sound_but(change: &str) -> String {
        let section = |line: &str| line.split(':').next().unwrap_or_default().to_owned();
        let replaced: Vec<String> =
            change.lines().filter(|line| !line.starts_with(' ')).map(section).collect();
        let kept = SOUND.lines().filter(|line| !replaced.contains(&section(line)));
        kept.chain(change.lines()).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn sound_settings_have_no_problems() {
        assert_eq!(problems(SOUND, &Env::of(&SECRETS)), Vec::<String>::new());
        let both = sound_but("forges: { github: {}, gitlab: {}, local: { enabled: true } }");
        assert_eq!(problems(&both, &Env::of(&SECRETS)), Vec::<String>::new());
    }

    /// What is changed in `SOUND`, and the one problem that comes of it.
    const DOUBTFUL: &[(&str, &str)] = &[
        (
            "forges: {}",
            "error: forges: no forge is configured, so nothing would arrive; add `github` or `gitlab`",
        ),
        (
            "planning: {}",
            "warning: planning.enabled: planning is switched on nowhere, so the bot will only say how to switch it on; set it in a rule under `repos`",
        ),
        (
            "server: { public_url: 'http://bot.example.com' }",
            "warning: server.public_url: plain `http://` can be read on the way; use `https://`",
        ),
        (
            "store: { url: 'postgres://db/x' }",
            "error: store.url: PostgreSQL is not supported by this version; use `sqlite://` with a path",
        ),
        (
            "data_dir: /var/lib/planwright",
            "warning: store.url: `data_dir` was moved but the database still lies in `./data`; set `store.url` as well",
        ),
        (
            "forges: { github: { api_url: 'http://ghe.example.com/api/v3' } }",
            "warning: forges.github.api_url: the token is sent to `http://ghe.example.com/api/v3` unencrypted; use `https://`",
        ),
        (
            "forges: { gitlab: { confidential: true } }",
            "warning: forges.gitlab.confidential: text of confidential issues will reach the model's provider",
        ),
        (
            "server: { listen: '0.0.0.0:1' }\nforges: { local: { enabled: true } }",
            "warning: forges.local.enabled: the local forge is for this machine only, but the server listens to others too",
        ),
        (
            "models: { default: {} }",
            "warning: models.default.price: without a price its costs are unknown, so `budget.usd` cannot be kept; `budget.tokens` and `budget.model_calls` can",
        ),
        (
            "models: { default: { provider: offline }, roles: { judge: defualt } }",
            "error: models.roles.judge: there is no model `defualt`; did you mean `default`?",
        ),
        (
            "models: { default: { provider: offline }, roles: { advisor: x } }",
            "error: models.roles.advisor: there is no model `x`",
        ),
        (
            "models: { default: { provider: offline }, defualt: {} }",
            "warning: models.defualt: no role uses this model; did you mean `default`?",
        ),
        (
            "models: { default: { base_url: 'http://llm.example.com', price: { input_usd_per_mtok: 0, output_usd_per_mtok: 0 } } }",
            "warning: models.default.base_url: the key is sent to `http://llm.example.com` unencrypted; use `https://`",
        ),
        (
            "planning: { enabled: true, replanning: { llm_decision: { user_confirmation_threshold: 0.6 } } }",
            "warning: planning.replanning.llm_decision.user_confirmation_threshold: it is above `min_confidence_threshold`, so no confidence would lead to a question",
        ),
        (
            "approval: { auto: medium }\ndeliver: ready",
            "warning: approval.auto: with `deliver: ready` edits that nobody approved are put up for merging",
        ),
        (
            "budget: { usd: null, model_calls: null }",
            "warning: budget: nothing limits what a run may cost; set `usd`, `tokens` or `model_calls`",
        ),
        (
            "triggers: { label: '' }",
            "error: triggers.label: a label cannot be empty; write `null` to switch it off",
        ),
        (
            "crew: { answer_within_hours: 4 }",
            "error: crew.remind_after_hours: it must be less than `answer_within_hours`: a reminder after the time is up helps nobody",
        ),
        (
            "models: { default: { provider: offline }, big: { provider: anthropic, model: b, price: { input_usd_per_mtok: 1, \
             output_usd_per_mtok: 2 } }, roles: { advisor: big } }",
            "error: models.big.api_key_env: the environment variable `ANTHROPIC_API_KEY` is empty or not set; write `api_key_env: null` if the server needs no key",
        ),
        ("tools: { mcp_servers: { a: {} } }", "error: tools.mcp_servers.a: it needs a `command` or a `url`"),
        (
            "tools: { mcp_servers: { a: { command: [x], url: 'https://h' } } }",
            "error: tools.mcp_servers.a: both `command` and `url` are given; keep one of them",
        ),
        (
            "tools: { mcp_servers: { a: { url: 'file:///x' } } }",
            "error: tools.mcp_servers.a.url: it must start with `https://` or `http://`",
        ),
        (
            "tools: { mcp_servers: { a: { url: 'http://h.example', token_env: T } } }",
            "warning: tools.mcp_servers.a.url: the token is sent to `http://h.example` unencrypted; use `https://`",
        ),
        (
            "tools: { mcp_servers: { a: { command: [x], read_only: [b, c], pins: { c: '1' } } } }",
            "error: tools.mcp_servers.a.read_only: `b` has no pin, so nobody can tell whether it is still the tool that only looks; write its hash in `pins` (`planwright doctor` says it)",
        ),
        (
            "tools: { mcp_servers: { a: { command: [x], pins: { c: '1' } } } }\n\
             repos: [{ match: '*', tools: { mcp_servers: { a: { read_only: [b, c] } } } }]",
            "error: repos[0].tools.mcp_servers.a.read_only: `b` has no pin, so nobody can tell whether it is still the tool that only looks; write its hash in `pins` (`planwright doctor` says it)",
        ),
        ("tools: { commands: { a: {} } }", "error: tools.commands.a.argv: it needs a program to run"),
        (
            "repos: [{ match: '*' }, { match: '*', tools: { commands: { a: {} } } }]",
            "error: repos[1].tools.commands.a.argv: it needs a program to run",
        ),
    ];

    #[test]
    fn problems_are_said_in_a_sentence() {
        for (change, says) in DOUBTFUL {
            assert_eq!(problems(&sound_but(change), &Env::of(&SECRETS)), [*says], "{change}");
        }
    }

    #[test]
    fn a_forge_without_secrets_does_not_start() {
        let text = sound_but("forges: { github: {}, gitlab: {}, local: { enabled: true } }");
        let end =
            "is empty or not set; without it anyone could send deliveries, so the server does not start";
        let blank = Env::of(&[("GITHUB_WEBHOOK_SECRET", "  "), ("OPENAI_API_KEY", "k")]);
        assert_eq!(
            problems(&text, &blank),
            [
                "error: forges.github.token: the environment variable `GITHUB_TOKEN` is empty or not set"
                    .to_owned(),
                format!(
                    "error: forges.github.webhook_secret: the environment variable `GITHUB_WEBHOOK_SECRET` {end}"
                ),
                "error: forges.gitlab.token: the environment variable `GITLAB_TOKEN` is empty or not set"
                    .to_owned(),
                format!(
                    "error: forges.gitlab.webhook_secret: the environment variable `GITLAB_WEBHOOK_SECRET` {end}"
                ),
                format!(
                    "error: forges.local.webhook_secret: the environment variable `PLANWRIGHT_LOCAL_SECRET` {end}"
                ),
            ]
        );
    }

    #[test]
    fn one_of_the_two_secrets_of_gitlab_is_enough() {
        let text = sound_but("forges: { gitlab: { signing_token_env: SIGNING } }");
        let env = Env::of(&[("GITLAB_TOKEN", "t"), ("SIGNING", "whsec_x"), ("OPENAI_API_KEY", "k")]);
        assert_eq!(problems(&text, &env), Vec::<String>::new());
    }

    #[test]
    fn a_file_that_is_not_there_is_an_error() {
        let text = sound_but("forges: { github: { app: { id: 1, private_key_file: /nowhere/key.pem } } }");
        let found = problems(&text, &Env::of(&SECRETS));
        assert_eq!(found.len(), 1);
        assert!(
            found[0].starts_with(
                "error: forges.github.app.private_key_file: cannot read the secret from `/nowhere"
            )
        );
    }

    #[test]
    fn a_model_on_this_machine_needs_no_key() {
        let price = "price: { input_usd_per_mtok: 0, output_usd_per_mtok: 0 }";
        let env = Env::of(&SECRETS[..2]);
        let local =
            sound_but(&format!("models: {{ default: {{ base_url: 'http://127.0.0.1:8080/v1', {price} }} }}"));
        assert_eq!(problems(&local, &env), Vec::<String>::new());
        let remote = sound_but(&format!("models: {{ default: {{ {price} }} }}"));
        assert_eq!(
            problems(&remote, &env),
            [
                "error: models.default.api_key_env: the environment variable `OPENAI_API_KEY` is empty or not set; \
              write `api_key_env: null` if the server needs no key"
            ]
        );
    }

    #[test]
    fn rules_repeat_no_problem_of_the_file() {
        let text = sound_but("triggers: { label: '' }\nrepos: [{ match: '*', deliver: none }]");
        assert_eq!(problems(&text, &Env::of(&SECRETS)).len(), 1);
        let only_in_a_rule = sound_but("planning: {}\nrepos: [{ match: '*', planning: { enabled: true } }]");
        assert_eq!(problems(&only_in_a_rule, &Env::of(&SECRETS)), Vec::<String>::new());
    }

    #[test]
    fn secrets_are_listed_by_whether_they_are_set() {
        let env = Env::of(&[("GITHUB_TOKEN", "ghp_hidden")]);
        let config = Config::parse(SOUND, Path::new("c"), &env).unwrap();
        let states: Vec<_> = config.secrets(&env).into_iter().map(|s| (s.key, s.set)).collect();
        assert_eq!(
            states,
            [
                ("forges.github.token".to_owned(), true),
                ("forges.github.webhook_secret".to_owned(), false),
                ("models.default.api_key".to_owned(), false)
            ]
        );
        assert!(!format!("{config:?} {:?}", config.secrets(&env)).contains("hidden"));
    }

    /// What a server is given it can say again.
    #[test]
    fn secrets_of_tool_servers_are_secrets() {
        let servers = "tools: { mcp_servers: { far: { url: 'https://h.example', token_env: FAR_TOKEN }, \
                       near: { command: [x], pass_env: [PATH, LC_ALL, NEAR_KEY] } } }\n\
                       repos: [{ match: '*', tools: { mcp_servers: { own: { command: [y], pass_env: [OWN_KEY] } } } }]";
        let env = Env::of(&[
            ("FAR_TOKEN", "far-token-1"),
            ("NEAR_KEY", "near-key-22"),
            ("OWN_KEY", "own-key-333"),
            ("PATH", "/usr/local/bin:/bin"),
        ]);
        let config = Config::parse(&sound_but(servers), Path::new("c"), &env).unwrap();
        let named: Vec<_> = config.secrets(&env).into_iter().filter(|s| s.set).map(|s| s.key).collect();
        assert_eq!(
            named,
            [
                "tools.mcp_servers.far.token",
                "tools.mcp_servers.near.pass_env.NEAR_KEY",
                "repos[0].tools.mcp_servers.own.pass_env.OWN_KEY"
            ]
        );
        let text = config
            .redactor(&env)
            .clean("far-token-1 near-key-22 own-key-333 /usr/local/bin:/bin")
            .into_owned();
        assert_eq!(text, "[secret] [secret] [secret] /usr/local/bin:/bin");
    }
}
