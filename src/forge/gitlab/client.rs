//! Purpose: requests to GitLab: the gitlab crate's endpoints on our own HTTP client.
//!
//! The crate's own client has no time-outs and asks the network in its constructor. Statuses are judged here and not in
//! the crate, because its paged queries forget how long GitLab asked us to wait.

use std::pin::Pin;

use bytes::Bytes;
use gitlab::api::{ApiError, AsyncClient, AsyncQuery, Endpoint, Pageable, Pagination, RestClient};
use http::{HeaderValue, Method, Response, header};
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use url::Url;

use super::GitlabSettings;
use crate::forge::ForgeError;
use crate::forge::http::{self as wire, Answer};
use crate::forge::memory::{Reread, Seen};
use crate::forge::retry::{Caller, Repeat};

pub(super) struct Client {
    http: reqwest::Client,
    /// Ends in a slash, so that joining keeps a sub-path.
    api: Url,
    token: SecretString,
    caller: Caller,
}

impl Client {
    pub(super) fn new(settings: &GitlabSettings) -> Result<Self, ForgeError> {
        wire::check_token(&settings.token)?;
        let base = settings.url.as_str().trim_end_matches('/');
        let api = Url::parse(&format!("{base}/api/v4/")).map_err(|error| {
            ForgeError::Invalid(format!("`{base}` is not the address of a GitLab: {error}"))
        })?;
        let http = wire::client(&settings.patience)?;
        Ok(Self { http, api, token: settings.token.clone(), caller: Caller::new(settings.patience) })
    }

    pub(super) async fn ask<T>(&self, endpoint: impl Endpoint + Sync) -> Result<T, ForgeError>
    where
        T: DeserializeOwned + 'static,
    {
        endpoint.query_async(self).await.map_err(failed)
    }

    /// For answers without a body, or one that does not matter.
    pub(super) async fn tell(&self, endpoint: impl Endpoint + Sync) -> Result<(), ForgeError> {
        gitlab::api::ignore(endpoint).query_async(self).await.map_err(failed)
    }

    pub(super) async fn pages<T>(
        &self,
        endpoint: impl Endpoint + Pageable + Sync,
    ) -> Result<Vec<T>, ForgeError>
    where
        T: DeserializeOwned + Send + 'static,
    {
        gitlab::api::paged(endpoint, Pagination::All).query_async(self).await.map_err(failed)
    }

    /// Past the crate, whose requests carry no headers of ours and whose answers are never "unchanged".
    pub(super) async fn reread<T: DeserializeOwned>(
        &self,
        endpoint: impl Endpoint + Sync,
        seen: Option<&Seen>,
    ) -> Result<Reread<T>, ForgeError> {
        let mut request = http::Request::new(Vec::new());
        let url = self.api.join(&endpoint.endpoint()).map(String::from).unwrap_or_default();
        *request.uri_mut() =
            url.parse().map_err(|_| ForgeError::Invalid("the address is not a URL".into()))?;
        if let Some(etag) = seen.and_then(|seen| seen.etag.clone()) {
            request.headers_mut().insert(header::IF_NONE_MATCH, etag);
        }
        let once = || async { Reread::of(self.exchange(request.clone()).await?, seen) };
        self.caller.call(Repeat::Safe, once).await
    }

    async fn send(&self, request: http::Request<Vec<u8>>) -> Result<Answer, ForgeError> {
        let repeat = match *request.method() {
            Method::GET | Method::PUT | Method::DELETE => Repeat::Safe,
            _ => Repeat::Never,
        };
        self.caller.call(repeat, || self.once(request.clone())).await
    }

    async fn once(&self, request: http::Request<Vec<u8>>) -> Result<Answer, ForgeError> {
        let answer = wire::judge(self.exchange(request).await?)?;
        // Looked at here, inside the retries: a page of a proxy in between is worth asking again.
        if !answer.body.is_empty() {
            answer.json::<serde::de::IgnoredAny>()?;
        }
        Ok(answer)
    }

    /// One request, and its answer whatever it is.
    async fn exchange(&self, mut request: http::Request<Vec<u8>>) -> Result<Answer, ForgeError> {
        let mut token = HeaderValue::from_str(self.token.expose_secret())
            .map_err(|_| ForgeError::Unauthorized("the token cannot be sent".into()))?;
        token.set_sensitive(true);
        request.headers_mut().insert("private-token", token);
        let request = reqwest::Request::try_from(request).map_err(|error| wire::lost(&error))?;
        let response = self.http.execute(request).await.map_err(|error| wire::lost(&error))?;
        wire::read(response).await
    }
}

impl RestClient for Client {
    type Error = ForgeError;

    fn rest_endpoint(&self, endpoint: &str) -> Result<Url, ApiError<Self::Error>> {
        Ok(self.api.join(endpoint)?)
    }
}

type Sent<'a> = Pin<Box<dyn Future<Output = Result<Response<Bytes>, ApiError<ForgeError>>> + Send + 'a>>;

impl AsyncClient for Client {
    // Written as the `async_trait` macro of the crate would expand it, to do without that dependency.
    fn rest_async<'life0, 'async_trait>(
        &'life0 self,
        request: http::request::Builder,
        body: Vec<u8>,
    ) -> Sent<'async_trait>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(async move {
            let request = request
                .body(body)
                .map_err(|_| ApiError::client(ForgeError::Invalid("the request cannot be built".into())))?;
            let answer = self.send(request).await.map_err(ApiError::client)?;
            let mut response = Response::new(answer.body);
            *response.status_mut() = answer.status;
            *response.headers_mut() = answer.headers;
            Ok(response)
        })
    }
}

/// Whatever the crate itself finds fault with came after a good status, so it is about the answer's shape.
fn failed(error: ApiError<ForgeError>) -> ForgeError {
    if let ApiError::Client { source } = error {
        return source;
    }
    if let ApiError::DataType { source, .. } = error {
        return wire::not_understood(&source);
    }
    ForgeError::Broken("the answer is not understood".into())
}
