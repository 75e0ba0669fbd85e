//! Purpose: what one needs to know to reach an MCP server, and what of it may be used.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

/// `Debug` shows no secret: `SecretString` sees to that.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// Stands before the names of its tools, with `/` between; it has no `/` itself.
    pub name: String,
    pub reach: Reach,
    /// The tools that may be used; `*` at the end stands for any ending.
    pub allow: Vec<String>,
    /// For one call. Starting the server and listing its tools each take no longer than this either.
    pub timeout: Duration,
    /// Tools that are used only while their hash is this one (SHA-256 in hex).
    pub pins: BTreeMap<String, String>,
}

#[derive(Debug, Clone)]
pub enum Reach {
    /// Started by us; it speaks on its standard input and output. Its environment is `PATH` and `env`, no more.
    Process { argv: Vec<String>, env: Vec<(String, SecretString)>, dir: Option<PathBuf> },
    /// Runs elsewhere. The token goes to the host of this URL and to no other.
    Http { url: String, token: Option<SecretString> },
}

impl ServerSettings {
    pub(super) fn allows(&self, tool: &str) -> bool {
        self.allow.iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(start) => tool.starts_with(start),
            None => tool == pattern,
        })
    }

    /// The text without the secrets of this server, for logs and messages.
    pub(super) fn without_secrets(&self, text: &str) -> String {
        let secrets: Vec<_> = match &self.reach {
            Reach::Process { env, .. } => env.iter().map(|(_, value)| value).collect(),
            Reach::Http { token, .. } => token.iter().collect(),
        };
        let secrets = secrets.into_iter().map(ExposeSecret::expose_secret);
        secrets.filter(|secret| !secret.is_empty()).fold(text.to_owned(), |text, secret| {
            if text.contains(secret) { text.replace(secret, "[secret]") } else { text }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(reach: Reach, allow: &[&str]) -> ServerSettings {
        ServerSettings {
            name: "s".to_owned(),
            reach,
            allow: allow.iter().map(|pattern| (*pattern).to_owned()).collect(),
            timeout: Duration::from_secs(1),
            pins: BTreeMap::new(),
        }
    }

    fn process(value: &str) -> Reach {
        Reach::Process {
            argv: vec![],
            env: vec![("A".to_owned(), value.to_owned().into()), ("B".to_owned(), String::new().into())],
            dir: None,
        }
    }

    #[test]
    fn patterns_end_in_a_star_or_are_names() {
        for (allow, tool, allowed) in [
            (&["*"][..], "anything", true),
            (&["read_*"], "read_file", true),
            (&["read_*"], "thread_read", false),
            (&["list", "read_*"], "list", true),
            (&["list"], "list_all", false),
            (&["l*t"], "list", false),
            (&[], "list", false),
        ] {
            assert_eq!(settings(process(""), allow).allows(tool), allowed, "{allow:?} {tool}");
        }
    }

    #[test]
    fn secrets_are_cut_out() {
        let local = settings(process("hush"), &[]);
        assert_eq!(local.without_secrets("a hush and hushhush"), "a [secret] and [secret][secret]");
        let token = Some(SecretString::from("t0ken"));
        let remote = settings(Reach::Http { url: "http://x".to_owned(), token }, &[]);
        assert_eq!(remote.without_secrets("Bearer t0ken!"), "Bearer [secret]!");
        assert!(!format!("{local:?}{remote:?}").contains("hush") && !format!("{remote:?}").contains("t0ken"));
    }
}
