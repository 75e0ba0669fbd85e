//! Purpose: where a repository lives and the token for it; the token goes into one variable of one process, nowhere else.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::GitError;

/// The address is built from the settings, never taken from a payload: `https://…`, `http://…` or `file:///…`.
#[derive(Debug, Clone)]
pub struct Remote {
    pub url: String,
    pub auth: Option<GitAuth>,
}

#[derive(Clone)]
pub struct GitAuth {
    pub user: String,
    pub secret: SecretString,
}

impl fmt::Debug for GitAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { user, secret: _ } = self;
        f.debug_struct("GitAuth").field("user", user).finish_non_exhaustive()
    }
}

/// A remote that was looked at.
pub(super) struct Address {
    pub(super) url: String,
    /// The only protocol that git may speak for it.
    pub(super) protocol: &'static str,
    /// `http.<server>.extraHeader` and its value.
    pub(super) header: Option<(String, String)>,
    /// What must never be repeated.
    pub(super) secrets: Vec<String>,
}

impl Remote {
    /// # Errors
    /// When it is no address of a repository, or carries a user, a query or a fragment.
    pub(super) fn address(&self) -> Result<Address, GitError> {
        let url = Url::parse(&self.url).map_err(|_| bad_address())?;
        let protocol = match url.scheme() {
            "https" => "https",
            "http" => "http",
            "file" if url.host_str().is_none_or(str::is_empty) => "file",
            _ => return Err(bad_address()),
        };
        let has_user = !url.username().is_empty() || url.password().is_some();
        if has_user || url.query().is_some() || url.fragment().is_some() || url.path().len() < 2 {
            return Err(bad_address());
        }
        let mut address = Address { url: url.to_string(), protocol, header: None, secrets: Vec::new() };
        if let Some(auth) = self.auth.as_ref().filter(|_| protocol != "file") {
            auth.put_into(&mut address, &url);
        }
        Ok(address)
    }
}

impl GitAuth {
    fn put_into(&self, address: &mut Address, url: &Url) {
        let secret = self.secret.expose_secret();
        let basic = STANDARD.encode(format!("{}:{secret}", self.user));
        // Bound to the server, so that git sends it to no other.
        let server = url.origin().ascii_serialization();
        address.header =
            Some((format!("http.{server}/.extraHeader"), format!("Authorization: Basic {basic}")));
        address.secrets = vec![secret.to_owned(), basic];
    }
}

fn bad_address() -> GitError {
    // The address itself is not repeated: it may carry a password, which is why it is refused.
    GitError::Broken(
        "the address of the repository must be https://, http:// or file:///, without a user".to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remote(url: &str) -> Remote {
        Remote {
            url: url.to_owned(),
            auth: Some(GitAuth { user: "x-access-token".to_owned(), secret: "hunter2".into() }),
        }
    }

    #[test]
    fn only_plain_addresses_are_taken() {
        for url in ["https://github.com/acme/web.git", "http://127.0.0.1:80/a.git", "file:///srv/git/a.git"] {
            assert!(remote(url).address().is_ok(), "{url}");
        }
        for url in [
            "",
            "/srv/git/a.git",
            "ext::sh -c touch% x",
            "ssh://git@github.com/acme/web.git",
            "git@github.com:acme/web.git",
            "https://user@github.com/acme/web.git",
            "https://user:hunter2@github.com/acme/web.git",
            "https://github.com/acme/web.git?x=y",
            "https://github.com/acme/web.git#x",
            "https://github.com",
            "file://host/srv/a.git",
            "--upload-pack=x",
        ] {
            let refused = remote(url).address().err().unwrap();
            assert!(!format!("{refused} {refused:?}").contains("hunter2"), "{url}");
        }
    }

    #[test]
    fn the_token_is_bound_to_the_server() {
        let address = remote("https://GitHub.com:443/acme/web.git").address().unwrap();
        let (key, value) = address.header.unwrap();
        assert_eq!(key, "http.https://github.com/.extraHeader");
        assert_eq!(value, "Authorization: Basic eC1hY2Nlc3MtdG9rZW46aHVudGVyMg==");
        assert!(remote("file:///srv/git/a.git").address().unwrap().header.is_none());
        assert!(!format!("{:?}", remote("https://github.com/a/b")).contains("hunter2"));
    }
}
