//! Purpose: how each forge is reached: addresses, the bot's account, and where its secrets come from.
//!
//! A forge is configured when its section is there; `github: {}` is enough. The private `…File` shapes are the keys as
//! people write them. They become the public types while they are read, so that half-given or doubled groups are
//! refused at their place in the file.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::checked::{self, deserialize_checked};
use super::secrets::{EnvName, SecretRef};
use super::{BaseUrl, Login};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Forges {
    #[serde(deserialize_with = "checked::present", skip_serializing_if = "Option::is_none")]
    pub github: Option<Github>,
    #[serde(deserialize_with = "checked::present", skip_serializing_if = "Option::is_none")]
    pub gitlab: Option<Gitlab>,
    pub local: Local,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(into = "GithubFile")]
#[schemars(with = "GithubFile")]
pub struct Github {
    pub api_url: BaseUrl,
    /// Where repositories are cloned from and pushed to.
    pub git_url: BaseUrl,
    pub bot_login: Login,
    pub auth: GithubAuth,
    pub webhook_secret: SecretRef,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GithubAuth {
    /// A machine user's token.
    Token(SecretRef),
    App {
        id: u64,
        private_key: SecretRef,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(into = "GitlabFile")]
#[schemars(with = "GitlabFile")]
pub struct Gitlab {
    pub url: BaseUrl,
    git_url: Option<BaseUrl>,
    pub bot_login: Login,
    pub token: SecretRef,
    /// Compared with `X-Gitlab-Token`.
    pub webhook_secret: SecretRef,
    /// The key of signed deliveries (`whsec_…`), where the instance sends them.
    pub signing_token: Option<SecretRef>,
    /// Whether hooks of confidential issues and notes are taken. What is said there would reach the model.
    pub confidential: bool,
}

impl Gitlab {
    /// Where repositories are cloned from and pushed to.
    #[must_use]
    pub fn git_url(&self) -> &BaseUrl {
        self.git_url.as_ref().unwrap_or(&self.url)
    }
}

/// The forge inside the server, for demonstrations and tests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(into = "LocalFile")]
#[schemars(with = "LocalFile")]
pub struct Local {
    pub enabled: bool,
    pub webhook_secret: SecretRef,
}

impl Default for Local {
    fn default() -> Self {
        Self { enabled: false, webhook_secret: SecretRef::env("PLANWRIGHT_LOCAL_SECRET") }
    }
}

#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct GithubFile {
    /// The REST API; on GitHub Enterprise Server `https://host/api/v3`.
    api_url: BaseUrl,
    /// Where repositories are cloned from and pushed to.
    git_url: BaseUrl,
    /// The account that people assign and mention.
    bot_login: Login,
    /// Variable with the machine user's token; `GITHUB_TOKEN` unless another way is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    token_env: Option<EnvName>,
    /// File with the token, instead of a variable.
    #[serde(skip_serializing_if = "Option::is_none")]
    token_file: Option<PathBuf>,
    /// A GitHub App, instead of a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    app: Option<AppFile>,
    /// Variable with the secret that signs webhooks; `GITHUB_WEBHOOK_SECRET` unless a file is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    webhook_secret_env: Option<EnvName>,
    /// File with the secret, instead of a variable.
    #[serde(skip_serializing_if = "Option::is_none")]
    webhook_secret_file: Option<PathBuf>,
}

impl Default for GithubFile {
    fn default() -> Self {
        Self {
            api_url: BaseUrl::known("https://api.github.com"),
            git_url: BaseUrl::known("https://github.com"),
            bot_login: Login::default(),
            token_env: None,
            token_file: None,
            app: None,
            webhook_secret_env: None,
            webhook_secret_file: None,
        }
    }
}

#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AppFile {
    /// The App's number.
    id: u64,
    /// Its private key (PEM).
    private_key_file: PathBuf,
}

#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct GitlabFile {
    /// The instance, with its path if it has one.
    url: BaseUrl,
    /// Where repositories are cloned from and pushed to; the instance itself when null.
    git_url: Option<BaseUrl>,
    /// The account that people assign and mention.
    bot_login: Login,
    /// Variable with the bot's token; `GITLAB_TOKEN` unless a file is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    token_env: Option<EnvName>,
    /// File with the token, instead of a variable.
    #[serde(skip_serializing_if = "Option::is_none")]
    token_file: Option<PathBuf>,
    /// Variable with the hook's secret token; `GITLAB_WEBHOOK_SECRET` unless a file is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    webhook_secret_env: Option<EnvName>,
    /// File with the secret token, instead of a variable.
    #[serde(skip_serializing_if = "Option::is_none")]
    webhook_secret_file: Option<PathBuf>,
    /// Variable with the hook's signing token (`whsec_…`), where the instance signs deliveries.
    #[serde(skip_serializing_if = "Option::is_none")]
    signing_token_env: Option<EnvName>,
    /// File with the signing token, instead of a variable.
    #[serde(skip_serializing_if = "Option::is_none")]
    signing_token_file: Option<PathBuf>,
    /// Whether hooks of confidential issues and notes are taken.
    confidential: bool,
}

impl Default for GitlabFile {
    fn default() -> Self {
        Self {
            url: BaseUrl::known("https://gitlab.com"),
            git_url: None,
            bot_login: Login::default(),
            token_env: None,
            token_file: None,
            webhook_secret_env: None,
            webhook_secret_file: None,
            signing_token_env: None,
            signing_token_file: None,
            confidential: false,
        }
    }
}

#[derive(Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct LocalFile {
    /// Whether the forge inside the server is there.
    enabled: bool,
    /// Variable with the secret that signs its webhooks; `PLANWRIGHT_LOCAL_SECRET` unless a file is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    webhook_secret_env: Option<EnvName>,
    /// File with the secret, instead of a variable.
    #[serde(skip_serializing_if = "Option::is_none")]
    webhook_secret_file: Option<PathBuf>,
}

deserialize_checked! {
    Github => checked::section::<D, GithubFile, Self>;
    Gitlab => checked::section::<D, GitlabFile, Self>;
    Local => checked::section::<D, LocalFile, Self>;
}

impl TryFrom<GithubFile> for Github {
    type Error = String;
    fn try_from(file: GithubFile) -> Result<Self, String> {
        let token = SecretRef::choose("token", file.token_env, file.token_file)?;
        let auth = match (token, file.app) {
            (Some(_), Some(_)) => {
                return Err("both a token and `app` are given; keep one of them".to_owned());
            }
            (None, Some(app)) => {
                GithubAuth::App { id: app.id, private_key: SecretRef::File(app.private_key_file) }
            }
            (token, None) => GithubAuth::Token(token.unwrap_or_else(|| SecretRef::env("GITHUB_TOKEN"))),
        };
        Ok(Self {
            api_url: web_only("api_url", file.api_url)?,
            git_url: file.git_url,
            bot_login: file.bot_login,
            auth,
            webhook_secret: SecretRef::choose(
                "webhook_secret",
                file.webhook_secret_env,
                file.webhook_secret_file,
            )?
            .unwrap_or_else(|| SecretRef::env("GITHUB_WEBHOOK_SECRET")),
        })
    }
}

impl From<Github> for GithubFile {
    fn from(github: Github) -> Self {
        let (token, app) = match github.auth {
            GithubAuth::Token(token) => (Some(token), None),
            GithubAuth::App { id, private_key } => (None, Some((id, private_key))),
        };
        let (token_env, token_file) = token.map(SecretRef::split).unwrap_or_default();
        let (webhook_secret_env, webhook_secret_file) = github.webhook_secret.split();
        let app = app.and_then(|(id, key)| Some(AppFile { id, private_key_file: key.split().1? }));
        Self {
            api_url: github.api_url,
            git_url: github.git_url,
            bot_login: github.bot_login,
            token_env,
            token_file,
            app,
            webhook_secret_env,
            webhook_secret_file,
        }
    }
}

impl TryFrom<GitlabFile> for Gitlab {
    type Error = String;
    fn try_from(file: GitlabFile) -> Result<Self, String> {
        Ok(Self {
            url: web_only("url", file.url)?,
            git_url: file.git_url,
            bot_login: file.bot_login,
            token: SecretRef::choose("token", file.token_env, file.token_file)?
                .unwrap_or_else(|| SecretRef::env("GITLAB_TOKEN")),
            webhook_secret: SecretRef::choose(
                "webhook_secret",
                file.webhook_secret_env,
                file.webhook_secret_file,
            )?
            .unwrap_or_else(|| SecretRef::env("GITLAB_WEBHOOK_SECRET")),
            signing_token: SecretRef::choose(
                "signing_token",
                file.signing_token_env,
                file.signing_token_file,
            )?,
            confidential: file.confidential,
        })
    }
}

impl From<Gitlab> for GitlabFile {
    fn from(gitlab: Gitlab) -> Self {
        let (token_env, token_file) = gitlab.token.split();
        let (webhook_secret_env, webhook_secret_file) = gitlab.webhook_secret.split();
        let (signing_token_env, signing_token_file) =
            gitlab.signing_token.map(SecretRef::split).unwrap_or_default();
        Self {
            url: gitlab.url,
            git_url: gitlab.git_url,
            bot_login: gitlab.bot_login,
            token_env,
            token_file,
            webhook_secret_env,
            webhook_secret_file,
            signing_token_env,
            signing_token_file,
            confidential: gitlab.confidential,
        }
    }
}

impl TryFrom<LocalFile> for Local {
    type Error = String;
    fn try_from(file: LocalFile) -> Result<Self, String> {
        let secret = SecretRef::choose("webhook_secret", file.webhook_secret_env, file.webhook_secret_file)?;
        let webhook_secret = secret.unwrap_or_else(|| Self::default().webhook_secret);
        Ok(Self { enabled: file.enabled, webhook_secret })
    }
}

impl From<Local> for LocalFile {
    fn from(local: Local) -> Self {
        let (webhook_secret_env, webhook_secret_file) = local.webhook_secret.split();
        Self { enabled: local.enabled, webhook_secret_env, webhook_secret_file }
    }
}

fn web_only(key: &str, url: BaseUrl) -> Result<BaseUrl, String> {
    if url.is_web() { Ok(url) } else { Err(format!("`{key}` must start with `https://` or `http://`")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn github(yaml: &str) -> Result<Github, String> {
        serde_yaml::from_str(yaml).map_err(|e| e.to_string())
    }

    #[test]
    fn an_empty_section_has_the_usual_names() {
        let github = github("{}").unwrap();
        assert_eq!(github.api_url.as_str(), "https://api.github.com");
        assert_eq!(github.git_url.as_str(), "https://github.com");
        assert_eq!(github.bot_login.as_str(), "planwright");
        assert_eq!(github.auth, GithubAuth::Token(SecretRef::env("GITHUB_TOKEN")));
        assert_eq!(github.webhook_secret, SecretRef::env("GITHUB_WEBHOOK_SECRET"));
        let gitlab: Gitlab = serde_yaml::from_str("{}").unwrap();
        assert_eq!(gitlab.git_url().as_str(), "https://gitlab.com");
        assert_eq!(gitlab.token, SecretRef::env("GITLAB_TOKEN"));
        assert_eq!(gitlab.webhook_secret, SecretRef::env("GITLAB_WEBHOOK_SECRET"));
        assert_eq!((gitlab.signing_token, gitlab.confidential), (None, false));
    }

    #[test]
    fn one_way_in_replaces_the_usual_one() {
        let app = github("app: { id: 7, private_key_file: k.pem }").unwrap();
        assert_eq!(app.auth, GithubAuth::App { id: 7, private_key: SecretRef::File("k.pem".into()) });
        let file = github("{ token_file: t, webhook_secret_file: s }").unwrap();
        assert_eq!(file.auth, GithubAuth::Token(SecretRef::File("t".into())));
        assert_eq!(file.webhook_secret, SecretRef::File("s".into()));
    }

    #[test]
    fn doubled_and_half_groups_are_refused() {
        for (yaml, says) in [
            ("{ token_env: GITHUB_TOKEN, app: { id: 7, private_key_file: k } }", "both a token and `app`"),
            ("{ token_env: A, token_file: t }", "both `token_env` and `token_file`"),
            ("{ webhook_secret_env: A, webhook_secret_file: t }", "both `webhook_secret_env` and"),
            ("app: { id: 7 }", "missing field `private_key_file`"),
            ("app: { private_key_file: k }", "missing field `id`"),
            ("api_url: file:///x", "`api_url` must start with"),
            ("token_env: ghp_abc", "not the name of an environment variable"),
        ] {
            let error = github(yaml).unwrap_err();
            assert!(error.contains(says), "{yaml}: {error}");
        }
    }

    #[test]
    fn sections_survive_writing_and_reading() {
        for yaml in ["{}", "token_file: t", "{ app: { id: 7, private_key_file: k }, webhook_secret_file: s }"]
        {
            let read = github(yaml).unwrap();
            assert_eq!(github(&serde_yaml::to_string(&read).unwrap()).unwrap(), read);
        }
        let read: Gitlab =
            serde_yaml::from_str("{ git_url: 'file:///x', signing_token_env: S, confidential: true }")
                .unwrap();
        let written = serde_yaml::to_string(&read).unwrap();
        assert_eq!(serde_yaml::from_str::<Gitlab>(&written).unwrap(), read);
    }
}
