//! Purpose: requests to GitHub: which credentials, one answer, all pages.
//!
//! octocrab signs (token, App, installation) and knows the base address. Its error mapping is left aside, because it
//! reads answers without a bound.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::{HeaderValue, Method, header};
use octocrab::auth::AppAuth;
use octocrab::models::{AppId, InstallationId};
use octocrab::service::middleware::base_uri::BaseUriLayer;
use octocrab::service::middleware::reqwest_connector::ReqwestConnector;
use octocrab::{AuthState, EncodingKey, Octocrab, OctocrabBuilder};
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::shapes::{Installation, MintedToken};
use super::{GithubAuth, GithubSettings};
use crate::domain::Project;
use crate::forge::ForgeError;
use crate::forge::http::{self as wire, Answer};
use crate::forge::memory::{Reread, Seen};
use crate::forge::retry::{Caller, Repeat};

/// Three hundred pages of a hundred: more than any thread holds, and an end for a forge that never says "last page".
const PAGE_CAP: u32 = 300;
/// A token for git is replaced when it ends sooner than this: longer than any fetch or push takes.
const GIT_TOKEN_RESERVE: Duration = Duration::from_secs(10 * 60);

pub(super) struct Client {
    auth: Auth,
    caller: Caller,
}

enum Auth {
    Token { user: Arc<Octocrab>, token: SecretString },
    App { app: Arc<Octocrab>, known: Mutex<Known> },
}

/// Installations as we learnt them. One client per installation, shared and never cloned: a clone of octocrab's client
/// loses sight of the installation's token and would ask for a new one with every request.
#[derive(Default)]
struct Known {
    of_project: HashMap<Project, u64>,
    clients: HashMap<u64, Arc<Octocrab>>,
    git_tokens: HashMap<Project, GitToken>,
}

struct GitToken {
    token: SecretString,
    good_until: Instant,
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
    /// What the answer is compared with, for reads.
    etag: Option<HeaderValue>,
    repeat: Repeat,
}

impl Ask {
    pub(super) fn get(path: impl Into<String>) -> Self {
        Self { method: Method::GET, path: path.into(), body: None, etag: None, repeat: Repeat::Safe }
    }

    /// Sent once.
    pub(super) fn create(path: impl Into<String>, body: Value) -> Self {
        Self { method: Method::POST, body: Some(body), repeat: Repeat::Never, ..Self::get(path) }
    }

    /// For POSTs that add to a set, where the second changes nothing.
    pub(super) fn add(path: impl Into<String>, body: Value) -> Self {
        Self { repeat: Repeat::Safe, ..Self::create(path, body) }
    }

    pub(super) fn patch(path: impl Into<String>, body: Value) -> Self {
        Self { method: Method::PATCH, repeat: Repeat::Safe, ..Self::create(path, body) }
    }

    pub(super) fn delete(path: impl Into<String>, body: Option<Value>) -> Self {
        Self { method: Method::DELETE, body, ..Self::get(path) }
    }
}

impl Client {
    pub(super) fn new(settings: &GithubSettings) -> Result<Self, ForgeError> {
        let auth = match &settings.auth {
            GithubAuth::Token(token) => {
                wire::check_token(token)?;
                let state = AuthState::AccessToken { token: token.expose_secret().to_owned().into() };
                Auth::Token { user: Arc::new(octocrab(settings, state)?), token: token.clone() }
            }
            GithubAuth::App { id, private_key_pem } => {
                let key =
                    EncodingKey::from_rsa_pem(private_key_pem.expose_secret().as_bytes()).map_err(|_| {
                        ForgeError::Unauthorized("the App's private key is not an RSA key in PEM form".into())
                    })?;
                let state = AuthState::App(AppAuth { app_id: AppId(*id), key });
                Auth::App { app: Arc::new(octocrab(settings, state)?), known: Mutex::default() }
            }
        };
        Ok(Self { auth, caller: Caller::new(settings.patience) })
    }

    pub(super) fn voice(&self) -> Voice<'_> {
        match &self.auth {
            Auth::Token { user, .. } => Voice::User(user),
            Auth::App { app, .. } => Voice::App(app),
        }
    }

    /// Who speaks when a project is concerned.
    pub(super) async fn speaker(&self, project: &Project) -> Result<Arc<Octocrab>, ForgeError> {
        let (app, known) = match &self.auth {
            Auth::Token { user, .. } => return Ok(user.clone()),
            Auth::App { app, known } => (app, known),
        };
        let remembered = lock(known).of_project.get(project).copied();
        let id = match remembered {
            Some(id) => id,
            None => self.ask::<Installation>(app, &Ask::get(installation_of(project))).await?.id,
        };
        lock(known).of_project.insert(project.clone(), id);
        self.installation(id)
    }

    pub(super) fn installation(&self, id: u64) -> Result<Arc<Octocrab>, ForgeError> {
        let (app, known) = match &self.auth {
            Auth::Token { user, .. } => return Ok(user.clone()),
            Auth::App { app, known } => (app, known),
        };
        let mut known = lock(known);
        if let Some(client) = known.clients.get(&id) {
            return Ok(client.clone());
        }
        let client = app
            .installation(InstallationId(id))
            .map_err(|error| ForgeError::Invalid(plain(&error).to_owned()))?;
        let client = Arc::new(client);
        known.clients.insert(id, client.clone());
        Ok(client)
    }

    /// The credential for git: the user's own token, or one of the App that is good for this repository alone.
    pub(super) async fn git_token(&self, project: &Project) -> Result<SecretString, ForgeError> {
        let (app, known) = match &self.auth {
            Auth::Token { token, .. } => return Ok(token.clone()),
            Auth::App { app, known } => (app, known),
        };
        if let Some(kept) =
            lock(known).git_tokens.get(project).filter(|kept| kept.good_until > Instant::now())
        {
            return Ok(kept.token.clone());
        }
        let asked_at = Instant::now();
        let (token, lasts) = self.mint(app, project).await.map_err(no_token)?;
        let good_until = asked_at + lasts.saturating_sub(GIT_TOKEN_RESERVE);
        lock(known).git_tokens.insert(project.clone(), GitToken { token: token.clone(), good_until });
        Ok(token)
    }

    /// A token that nobody uses does no harm, so asking for one may be repeated.
    async fn mint(&self, app: &Octocrab, project: &Project) -> Result<(SecretString, Duration), ForgeError> {
        let installation: Installation = self.ask(app, &Ask::get(installation_of(project))).await?;
        let name = project.path().rsplit('/').next().unwrap_or_default();
        let body = json!({ "repositories": [name], "permissions": installation.rights_for_git()? });
        let ask = Ask::add(format!("/app/installations/{}/access_tokens", installation.id), body);
        let once = || async {
            let answer = self.once(app, &ask).await?;
            let minted: MintedToken = answer.json()?;
            let lasts = wire::lasts(&answer.headers, &minted.expires_at).unwrap_or_default();
            Ok((minted.secret(), lasts))
        };
        self.caller.call(ask.repeat, once).await
    }

    pub(super) async fn reread<T: DeserializeOwned>(
        &self,
        gh: &Octocrab,
        path: String,
        seen: Option<&Seen>,
    ) -> Result<Reread<T>, ForgeError> {
        let ask = Ask { etag: seen.and_then(|seen| seen.etag.clone()), ..Ask::get(path) };
        self.caller.call(ask.repeat, || async { Reread::of(self.send(gh, &ask).await?, seen) }).await
    }

    pub(super) async fn ask<T: DeserializeOwned>(&self, gh: &Octocrab, ask: &Ask) -> Result<T, ForgeError> {
        self.caller.call(ask.repeat, || async { self.once(gh, ask).await?.json() }).await
    }

    /// For answers without a body, or one that does not matter.
    pub(super) async fn tell(&self, gh: &Octocrab, ask: &Ask) -> Result<(), ForgeError> {
        self.caller.call(ask.repeat, || async { self.once(gh, ask).await.map(|_| ()) }).await
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
            let once = || async {
                let answer = self.once(gh, &ask).await?;
                Ok((answer.json()?, has_next(&answer)))
            };
            let (list, more): (Page, bool) = self.caller.call(Repeat::Safe, once).await?;
            all.extend(items(list));
            if !more {
                return Ok(all);
            }
        }
        Err(ForgeError::Broken(format!("the list has more than {PAGE_CAP} pages")))
    }

    async fn once(&self, gh: &Octocrab, ask: &Ask) -> Result<Answer, ForgeError> {
        wire::judge(self.send(gh, ask).await?)
    }

    /// One request, and its answer whatever it is.
    async fn send(&self, gh: &Octocrab, ask: &Ask) -> Result<Answer, ForgeError> {
        let mut builder = http::Request::builder()
            .method(ask.method.clone())
            .uri(&ask.path)
            .header(header::ACCEPT, "application/vnd.github+json");
        if let Some(etag) = &ask.etag {
            builder = builder.header(header::IF_NONE_MATCH, etag);
        }
        let request = gh.build_request(builder, ask.body.as_ref()).map_err(|error| self.failed(&error))?;
        let response = gh.execute(request).await.map_err(|error| self.failed(&error))?;
        wire::read(response.map(reqwest::Body::wrap).into()).await
    }

    fn failed(&self, error: &octocrab::Error) -> ForgeError {
        // octocrab itself reads an answer only when it asks for an installation's token.
        if let octocrab::Error::GitHub { source, .. } = error {
            let headers = source.headers.clone().unwrap_or_default();
            let error = no_token(wire::refusal(source.status_code, &headers, &source.message));
            if matches!(error, ForgeError::Unauthorized(_)) {
                self.forget_installations();
            }
            return error;
        }
        if matches!(error, octocrab::Error::Service { .. } | octocrab::Error::Reqwest { .. }) {
            return wire::lost(error);
        }
        if matches!(error, octocrab::Error::Json { .. } | octocrab::Error::Serde { .. }) {
            return ForgeError::Broken("the answer is not understood".into());
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

/// Put together by hand: octocrab's own stack repeats requests, follows redirects to any host, adds a second user agent
/// and logs every failure that we may still recover from.
fn octocrab(settings: &GithubSettings, auth: AuthState) -> Result<Octocrab, ForgeError> {
    // octocrab starts a task of its own, and panics where there is no runtime to start it on.
    tokio::runtime::Handle::try_current()
        .map_err(|_| ForgeError::Invalid("the GitHub client needs a running tokio runtime".into()))?;
    let base: http::Uri = settings.api_url.as_str().parse().map_err(|_| {
        ForgeError::Invalid(format!("`{}` is not the address of GitHub's API", settings.api_url))
    })?;
    let built = OctocrabBuilder::new_empty()
        .with_service(ReqwestConnector::new(wire::client(&settings.patience)?))
        .with_layer(&BaseUriLayer::new(base))
        .with_auth(auth)
        .build();
    built.map_err(|never| match never {})
}

pub(super) fn repo(project: &Project) -> String {
    format!("/repos/{}", project.path())
}

pub(super) fn installation_of(project: &Project) -> String {
    format!("{}/installation", repo(project))
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
