//! Purpose: the requests that GitLab has twice, once for issues and once for merge requests, as one endpoint.

use std::borrow::Cow;

use gitlab::api::common::NameOrId;
use gitlab::api::{BodyError, Endpoint, FormParams, Pageable, QueryParams};
use http::Method;

use crate::domain::{CommentId, ThreadKind, ThreadRef};

/// A request below one thread, or below one of its notes.
pub(super) struct OnThread<'a> {
    method: Method,
    path: String,
    query: Vec<(&'static str, &'static str)>,
    form: Vec<(&'static str, Cow<'a, str>)>,
}

impl<'a> OnThread<'a> {
    /// `rest` is what follows the thread's number, such as `/notes`.
    pub(super) fn new(method: Method, t: &ThreadRef, rest: &str) -> Self {
        let kind = match t.kind {
            ThreadKind::Issue => "issues",
            ThreadKind::MergeRequest => "merge_requests",
        };
        let project = NameOrId::from(t.project.path());
        let path = format!("projects/{project}/{kind}/{}{rest}", t.number);
        Self { method, path, query: Vec::new(), form: Vec::new() }
    }

    pub(super) fn get(t: &ThreadRef, rest: &str) -> Self {
        Self::new(Method::GET, t, rest)
    }

    pub(super) fn query(mut self, key: &'static str, value: &'static str) -> Self {
        self.query.push((key, value));
        self
    }

    pub(super) fn form(mut self, key: &'static str, value: impl Into<Cow<'a, str>>) -> Self {
        self.form.push((key, value.into()));
        self
    }
}

impl Endpoint for OnThread<'_> {
    fn method(&self) -> Method {
        self.method.clone()
    }

    fn endpoint(&self) -> Cow<'static, str> {
        self.path.clone().into()
    }

    fn parameters(&self) -> QueryParams<'_> {
        let mut params = QueryParams::default();
        params.extend(self.query.iter().copied());
        params
    }

    fn body(&self) -> Result<Option<(&'static str, Vec<u8>)>, BodyError> {
        let mut params = FormParams::default();
        params.extend(self.form.iter().map(|(key, value)| (*key, value)));
        params.into_body()
    }
}

impl Pageable for OnThread<'_> {}

/// Where reactions to the thread or to one of its notes are kept.
pub(super) fn awards(on: Option<CommentId>) -> String {
    on.map_or_else(|| "/award_emoji".to_owned(), |id| format!("/notes/{}/award_emoji", id.0))
}
