//! Purpose: settings of the server itself and of its store.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::checked::{self, deserialize_checked};
use super::{BaseUrl, ListenAddr};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Server {
    /// Address and port for webhooks.
    pub listen: ListenAddr,
    /// How forges reach the server from outside; `config check` warns when that is not by HTTPS.
    pub public_url: Option<BaseUrl>,
    /// Minutes between two comparisons with the forge, which find what no webhook told.
    pub reconcile_minutes: NonZeroU32,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            listen: ListenAddr(SocketAddr::from((Ipv4Addr::LOCALHOST, 8787))),
            public_url: None,
            reconcile_minutes: const { NonZeroU32::new(5).unwrap() },
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Store {
    /// `sqlite://path`; the directory is made when it does not exist.
    pub url: StoreUrl,
    /// Days after which a thread is forgotten that has no run under way and where nothing has happened since: its
    /// journal, its history file, its logs and checkouts. Null: never.
    pub keep_days: Option<NonZeroU32>,
}

impl Default for Store {
    fn default() -> Self {
        Self { url: StoreUrl("sqlite://./data/planwright.db".to_owned()), keep_days: None }
    }
}

/// A database. PostgreSQL URLs are understood as such, so that the refusal can say what they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(into = "String")]
#[schemars(with = "String")]
pub struct StoreUrl(String);

impl StoreUrl {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    #[must_use]
    pub fn is_postgres(&self) -> bool {
        !self.0.starts_with("sqlite:")
    }
}

deserialize_checked! { StoreUrl => checked::text; }

impl TryFrom<String> for StoreUrl {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        let rest = ["sqlite://", "postgres://", "postgresql://"].iter().find_map(|s| text.strip_prefix(s));
        match rest {
            None => Err("not a database; write it like `sqlite://./data/planwright.db`".to_owned()),
            Some("") => Err("a database URL without a path or host".to_owned()),
            Some(rest) if text.starts_with("postgres") && has_password(rest) => {
                Err("a URL with a password in it; secrets do not belong in this file, use a password file \
                     (PGPASSFILE) instead"
                    .to_owned())
            }
            Some(_) => Ok(Self(text)),
        }
    }
}

fn has_password(rest: &str) -> bool {
    rest.rsplit_once('@').is_some_and(|(user, _)| user.contains(':')) || rest.contains("password=")
}

impl From<StoreUrl> for String {
    fn from(url: StoreUrl) -> Self {
        url.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_are_checked() {
        for good in ["sqlite://./data/x.db", "sqlite:///var/x.db", "postgres://bot@db/planwright"] {
            assert_eq!(StoreUrl::try_from(good.to_owned()).unwrap().as_str(), good);
        }
        for bad in [
            "",
            "data/x.db",
            "mysql://h/x",
            "sqlite://",
            "postgres://bot:pw@db/x",
            "postgres://db/x?password=pw",
        ] {
            let error = StoreUrl::try_from(bad.to_owned()).unwrap_err();
            assert!(!error.contains("pw"), "{error}");
        }
    }
}
