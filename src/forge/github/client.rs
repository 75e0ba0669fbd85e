//! Purpose: requests to GitHub: which credentials, one answer, all pages.
//!
//! octocrab signs (token, App, installation) and knows the base address. Its retries are off, because they repeat
//! POSTs, and its error mapping is left aside, because it reads answers without a bound and hides the headers.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use http::{Method, header};
use octocrab::Octocrab;
use octocrab::models::{AppId, InstallationId};
use octocrab::service::middleware::retry::RetryConfig;
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::shapes::Installation;
use super::{GithubAuth, GithubSettings};
use crate::domain::Project;
use crate::forge::http::{self as wire, Answer};
use crate::forge::retry::{self, Repeat};
use crate::forge::{ForgeError, Patience};

/// Three hundred pages of a hundred: more than any thread holds, and an end for a forge that never says "last page".
const PAGE_CAP: u32 = 300;

pub(super) struct Client {
    auth: Auth,
    patience: Patience,
}

enum Auth {
    Token(Octocrab),
    App { app: Octocrab, known: Mutex<Known> },
}

/// Installations as we learnt them. One client per installation, since it holds the installation's token.
#[derive(Default)]
struct Known {
    of_project: HashMap<Project, u64>,
    clients: HashMap<u64, Octocrab>,
}

/// Who we are where no project is concerned.
pub(super) enum Voice<'a> {
    User(&'a Octocrab),
    /// May ask about itself and its installations only.
    App(&'a Octocrab),
}

/// One request. The path is relative to the API's base and already escaped.
pub(super) struct Ask {
    method: Method,
    path: String,
    body: Option<Value>,
    repeat: Repeat,
}

impl Ask {
    pub(super) fn get(path: impl Into<String>) -> Self {
        Self { method: Method::GET, path: path.into(), body: None, repeat: Repeat::Safe }
    }

    /// Sent once.
    pub(super) fn create(path: impl Into<String>, body: Value) -> Self {
        Self { method: Method::POST, path: path.into(), body: Some(body), repeat: Repeat::Never }
    }

    /// For POSTs that add to a set, where the second changes nothing.
    pub(super) fn add(path: impl Into<String>, body: Value) -> Self {
        Self { repeat: Repeat::Safe, ..Self::create(path, body) }
    }

    pub(super) fn patch(path: impl Into<String>, body: Value) -> Self {
        Self { method: Method::PATCH, repeat: Repeat::Safe, ..Self::create(path, body) }
    }

    pub(super) fn delete(path: impl Into<String>, body: Option<Value>) -> Self {
        Self { method: Method::DELETE, path: path.into(), body, repeat: Repeat::Safe }
    }
}

impl Client {
    pub(super) fn new(settings: &GithubSettings) -> Result<Self, ForgeError> {
        let bad = |error: octocrab::Error| {
            ForgeError::Invalid(format!("cannot set up the GitHub client: {}", plain(&error)))
        };
        // octocrab starts a task of its own, and panics where there is no runtime to start it on.
        tokio::runtime::Handle::try_current()
            .map_err(|_| ForgeError::Invalid("the GitHub client needs a running tokio runtime".into()))?;
        let http = wire::client(&settings.patience)?;
        let builder = Octocrab::builder()
            .base_uri(settings.api_url.as_str())
            .map_err(bad)?
            .add_header(header::USER_AGENT, wire::USER_AGENT.into())
            .add_retry_config(RetryConfig::None);
        let auth = match &settings.auth {
            GithubAuth::Token(token) => {
                wire::check_token(token)?;
                let anonymous = builder.build_with_reqwest(http).map_err(bad)?;
                Auth::Token(anonymous.user_access_token(token.expose_secret().to_owned()).map_err(bad)?)
            }
            GithubAuth::App { id, private_key_pem } => {
                let app = with_key(builder, *id, private_key_pem)?.build_with_reqwest(http).map_err(bad)?;
                Auth::App { app, known: Mutex::default() }
            }
        };
        Ok(Self { auth, patience: settings.patience })
    }

    pub(super) fn voice(&self) -> Voice<'_> {
        match &self.auth {
            Auth::Token(user) => Voice::User(user),
            Auth::App { app, .. } => Voice::App(app),
        }
    }

    /// Who speaks when a project is concerned.
    pub(super) async fn speaker(&self, project: &Project) -> Result<Octocrab, ForgeError> {
        let (app, known) = match &self.auth {
            Auth::Token(client) => return Ok(client.clone()),
            Auth::App { app, known } => (app, known),
        };
        let remembered = lock(known).of_project.get(project).copied();
        let id = match remembered {
            Some(id) => id,
            None => {
                self.ask::<Installation>(app, &Ask::get(format!("{}/installation", repo(project)))).await?.id
            }
        };
        lock(known).of_project.insert(project.clone(), id);
        self.installation(id)
    }

    pub(super) fn installation(&self, id: u64) -> Result<Octocrab, ForgeError> {
        let (app, known) = match &self.auth {
            Auth::Token(client) => return Ok(client.clone()),
            Auth::App { app, known } => (app, known),
        };
        let mut known = lock(known);
        if let Some(client) = known.clients.get(&id) {
            return Ok(client.clone());
        }
        let client = app
            .installation(InstallationId(id))
            .map_err(|error| ForgeError::Invalid(plain(&error).to_owned()))?;
        known.clients.insert(id, client.clone());
        Ok(client)
    }

    pub(super) async fn ask<T: DeserializeOwned>(&self, gh: &Octocrab, ask: &Ask) -> Result<T, ForgeError> {
        retry::run(&self.patience, ask.repeat, || async { self.once(gh, ask).await?.json() }).await
    }

    /// For answers without a body, or one that does not matter.
    pub(super) async fn tell(&self, gh: &Octocrab, ask: &Ask) -> Result<(), ForgeError> {
        retry::run(&self.patience, ask.repeat, || async { self.once(gh, ask).await.map(|_| ()) }).await
    }

    /// Every page of a list. Pages are counted; the addresses that GitHub sends for them are not followed.
    pub(super) async fn pages<Page: DeserializeOwned, T>(
        &self,
        gh: &Octocrab,
        path: &str,
        items: impl Fn(Page) -> Vec<T>,
    ) -> Result<Vec<T>, ForgeError> {
        let mut all = Vec::new();
        let joint = if path.contains('?') { '&' } else { '?' };
        for page in 1..=PAGE_CAP {
            let ask = Ask::get(format!("{path}{joint}per_page=100&page={page}"));
            let (list, more): (Page, bool) = retry::run(&self.patience, Repeat::Safe, || async {
                let answer = self.once(gh, &ask).await?;
                Ok((answer.json()?, has_next(&answer)))
            })
            .await?;
            all.extend(items(list));
            if !more {
                return Ok(all);
            }
        }
        Err(ForgeError::Broken(format!("the list has more than {PAGE_CAP} pages")))
    }

    async fn once(&self, gh: &Octocrab, ask: &Ask) -> Result<Answer, ForgeError> {
        let builder = http::Request::builder()
            .method(ask.method.clone())
            .uri(&ask.path)
            .header(header::ACCEPT, "application/vnd.github+json");
        let request = gh.build_request(builder, ask.body.as_ref()).map_err(|error| self.failed(&error))?;
        let response = gh.execute(request).await.map_err(|error| self.failed(&error))?;
        wire::judge(wire::read(response.map(reqwest::Body::wrap).into()).await?)
    }

    fn failed(&self, error: &octocrab::Error) -> ForgeError {
        // octocrab itself reads an answer only when it asks for an installation's token.
        if let octocrab::Error::GitHub { source, .. } = error {
            self.forget_installations();
            let headers = source.headers.clone().unwrap_or_default();
            return no_token(wire::refusal(source.status_code, &headers, &source.message));
        }
        if matches!(error, octocrab::Error::Service { .. } | octocrab::Error::Reqwest { .. }) {
            return wire::lost(error);
        }
        ForgeError::Invalid(plain(error).to_owned())
    }

    /// The App may have been removed and installed again, under another number.
    fn forget_installations(&self) {
        if let Auth::App { known, .. } = &self.auth {
            *lock(known) = Known::default();
        }
    }
}

type Unsigned = octocrab::OctocrabBuilder<
    octocrab::NoSvc,
    octocrab::DefaultOctocrabBuilderConfig,
    octocrab::NoAuth,
    octocrab::NotLayerReady,
>;

fn with_key(builder: Unsigned, id: u64, pem: &SecretString) -> Result<Unsigned, ForgeError> {
    builder
        .app_from_rsa_pem(AppId(id), pem.expose_secret())
        .map_err(|_| ForgeError::Unauthorized("the App's private key is not an RSA key in PEM form".into()))
}

pub(super) fn repo(project: &Project) -> String {
    format!("/repos/{}", project.path())
}

/// One segment of a path, or one value of a query.
pub(super) fn escape(text: &str) -> String {
    let kept = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'~');
    text.bytes().map(|b| if kept(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

fn has_next(answer: &Answer) -> bool {
    answer.headers.get(header::LINK).and_then(|v| v.to_str().ok()).is_some_and(|v| v.contains("rel=\"next\""))
}

fn no_token(error: ForgeError) -> ForgeError {
    if let ForgeError::NotFound(why) | ForgeError::Forbidden(why) = error {
        let why =
            format!("GitHub gives no token for the App's installation, {why}; is it still installed there?");
        return ForgeError::Unauthorized(why);
    }
    error
}

/// octocrab's own texts end in backtraces.
fn plain(error: &octocrab::Error) -> &'static str {
    if matches!(error, octocrab::Error::UriParse { .. } | octocrab::Error::Uri { .. }) {
        "the address is not a URL"
    } else if matches!(error, octocrab::Error::JWT { .. }) {
        "the App's private key cannot sign"
    } else {
        "the request cannot be built"
    }
}

/// A poisoned lock only means that a thread died while it held a cache.
fn lock(known: &Mutex<Known>) -> std::sync::MutexGuard<'_, Known> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_escaped() {
        assert_eq!(escape("planwright[bot]"), "planwright%5Bbot%5D");
        assert_eq!(escape("needs work: a/b ü"), "needs%20work%3A%20a%2Fb%20%C3%BC");
    }
}
