//! Purpose: what may go wrong with git, in the kinds a caller branches on, and what people are told about each.

use super::Commit;

/// `Display` is for the log of the operator; [`GitError::for_people`] is for the thread. Neither has a secret in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    /// The repository does not exist, or we may not see it.
    #[error("the repository was not found, or may not be seen")]
    NotFound,
    /// The token is wrong, expired or revoked.
    #[error("the git server does not accept the token")]
    Unauthorized,
    /// The token is good and does not suffice.
    #[error("the git server does not allow this with the token")]
    Forbidden,
    /// The repository is archived.
    #[error("the repository is archived")]
    ReadOnly,
    /// The server sends us to another address, where the token must not go.
    #[error("the repository has moved to another address")]
    Moved,
    /// The server is down or cannot be reached; it may be tried again.
    #[error("the git server cannot be reached: {0}")]
    Unreachable(String),
    /// It is in no branch that was fetched, now or before.
    #[error("the commit {0} is not in the repository")]
    NoSuchCommit(Commit),
    /// A branch, a run or a file has a name that git must not be given.
    #[error("`{}` is not a name that can be used", .0.escape_debug())]
    BadName(String),
    /// We do not push there, whatever the server would say.
    #[error("not pushed to `{branch}`: {why}")]
    Refused { branch: String, why: Refusal },
    /// The server looked at the push and did not take it.
    #[error("the push was rejected: {why}")]
    Rejected { why: Rejection },
    #[error("{0}")]
    TooLarge(TooLarge),
    #[error("git took longer than {0} seconds")]
    TimedOut(u64),
    #[error("the disk is full")]
    DiskFull,
    /// There is no git, or one that is too old to be held to our rules.
    #[error("git cannot be used: {0}")]
    NoGit(String),
    #[error("git failed: {0}")]
    Broken(String),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("it is the default branch")]
    DefaultBranch,
    #[error("it is not a branch of the bot")]
    NotOurs,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// Somebody else pushed to the branch.
    #[error("the branch has commits that this run does not know")]
    NonFastForward,
    #[error("the branch is protected")]
    Protected,
    /// In the words of the server: text of strangers.
    #[error("{0}")]
    Other(String),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TooLarge {
    #[error("the repository needs more than {} MiB", limit / 1_048_576)]
    Repository { limit: u64 },
    #[error("the tree has more than {files} files, or more than {} MiB", bytes / 1_048_576)]
    Tree { files: usize, bytes: u64 },
    #[error("the change has more than {files} files, or more than {} MiB", bytes / 1_048_576)]
    Change { files: usize, bytes: u64 },
}

impl GitError {
    /// One or two sentences: the cause, and what can be done. No path of the server, no words of strangers but those
    /// of a rejection.
    #[must_use]
    pub fn for_people(&self) -> String {
        match self {
            Self::NotFound => {
                "The repository was not found, or I may not see it. Check that it exists and that my \
                               account has access."
                    .to_owned()
            }
            Self::Unauthorized => {
                "The git server does not accept my token. Whoever runs me must renew it.".to_owned()
            }
            Self::Forbidden => {
                "My token does not allow this on the repository. It needs the right to read and write \
                                its contents."
                    .to_owned()
            }
            Self::ReadOnly => {
                "The repository is archived, so I cannot push to it. Unarchive it to go on.".to_owned()
            }
            Self::Moved => {
                "The repository has moved to another address. Whoever runs me must check its name and \
                            `git_url`."
                    .to_owned()
            }
            Self::Unreachable(_) => {
                "I cannot reach the git server. If that lasts, whoever runs me must check the network and `git_url`."
                    .to_owned()
            }
            Self::NoSuchCommit(commit) => format!(
                "The commit `{}` is no longer in the repository. Ask me to plan again from the present state.",
                commit.short()
            ),
            Self::BadName(_) => {
                "A branch or a file has a name that git does not allow. Rename it to go on.".to_owned()
            }
            Self::Refused { branch, why } => refused(branch, why),
            Self::Rejected { why } => rejected(why),
            Self::TooLarge(what) => too_large(what),
            Self::TimedOut(_) => "Git took too long, so I stopped it.".to_owned(),
            Self::DiskFull => "My disk is full. Whoever runs me must make room.".to_owned(),
            Self::NoGit(_) => {
                "Git is missing or too old where I run. Whoever runs me must install it.".to_owned()
            }
            Self::Broken(_) => "Git failed in a way I do not understand; my log has the details.".to_owned(),
        }
    }
}

fn refused(branch: &str, why: &Refusal) -> String {
    match why {
        Refusal::DefaultBranch => {
            format!("`{branch}` is the default branch, and I never push to it. Give my branch another name.")
        }
        Refusal::NotOurs => format!("`{branch}` is not one of my branches, and I push only to those."),
    }
}

fn rejected(why: &Rejection) -> String {
    match why {
        Rejection::NonFastForward => {
            "Somebody else has pushed to my branch, and I never overwrite that. Delete the \
                                      branch or tell me to start again from it."
                .to_owned()
        }
        Rejection::Protected => {
            "My branch is protected on the server. Exempt branches below `planwright/` from the \
                                 rule, or allow my account to push there."
                .to_owned()
        }
        Rejection::Other(words) => format!("The server did not take my push. It says: {words}"),
    }
}

fn too_large(what: &TooLarge) -> String {
    match what {
        TooLarge::Repository { .. } => {
            "The repository is larger than I am allowed to keep. Whoever runs me can raise the limit.".to_owned()
        }
        TooLarge::Tree { .. } => {
            "The files of the repository are more than I am allowed to check out. Whoever runs me can raise the limit."
                .to_owned()
        }
        TooLarge::Change { .. } => "The change is larger than one commit of mine may be. Split the action, or let \
                                    `.gitignore` name what was built."
            .to_owned(),
    }
}

/// Reads what git said when it failed. Git has no other way to tell; its words are those of `LC_ALL=C`.
pub(super) fn classify(said: &str) -> GitError {
    let small = said.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| small.contains(word));
    if has(&["no space left on device", "disk quota exceeded"]) {
        GitError::DiskFull
    } else if has(&[
        "authentication failed",
        "could not read username",
        "could not read password",
        "unable to get password",
        "error: 401",
    ]) {
        GitError::Unauthorized
    } else if has(&["archived so it is read-only", "repository is archived", "project is archived"]) {
        GitError::ReadOnly
    } else if has(&["error: 403"]) {
        GitError::Forbidden
    } else if has(&["error: 404", "does not appear to be a git repository"])
        || small.lines().any(is_not_found)
    {
        GitError::NotFound
    } else if has(&["error: 301", "error: 302", "error: 303", "error: 307", "error: 308"]) {
        GitError::Moved
    } else if has(&["error: 413", "http 413"]) {
        // However often it is sent, it stays as large.
        GitError::Rejected {
            why: Rejection::Other("the git server takes no push of this size (413)".to_owned()),
        }
    } else if has(UNREACHABLE) {
        GitError::Unreachable(gist(said))
    } else {
        GitError::Broken(gist(said))
    }
}

/// Of a repository, not of an object in it.
fn is_not_found(line: &str) -> bool {
    line.contains("repository") && line.trim_end_matches('.').ends_with("not found")
}

const UNREACHABLE: &[&str] = &[
    "error: 429",
    "error: 5",
    "could not resolve host",
    "failed to connect",
    "couldn't connect",
    "connection reset",
    "connection refused",
    "connection timed out",
    "operation too slow",
    "empty reply from server",
    "early eof",
    "remote end hung up",
    "ssl_connect",
    "ssl connect",
    "gnutls_handshake",
    "tls connect",
    "certificate",
    "rpc failed",
];

/// The last words of git, on one line; what it says first is progress and hints.
pub(super) fn gist(said: &str) -> String {
    const LONGEST: usize = 400;
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines.iter().rev().take(3).rev().copied().collect::<Vec<_>>().join("; ");
    let plain: String = last.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
    if plain.is_empty() { "it said nothing".to_owned() } else { plain }
}

/// Reads the answer to a push, whose lines are those of `--porcelain`.
pub(super) fn push_failed(answer: &str, said: &str) -> GitError {
    let Some(line) = answer.lines().find(|line| line.starts_with('!')) else { return classify(said) };
    let reason = line.rsplit('\t').next().unwrap_or_default();
    let words = format!("{reason} {said}").to_ascii_lowercase();
    let has = |list: &[&str]| list.iter().any(|word| words.contains(word));
    let why = if ["non-fast-forward", "fetch first", "stale info", "needs force"]
        .iter()
        .any(|w| reason.contains(w))
    {
        Rejection::NonFastForward
    } else if has(&["protected branch", "gh006", "not allowed to push", "not allowed to create"]) {
        Rejection::Protected
    } else {
        Rejection::Other(server_words(reason, said))
    };
    GitError::Rejected { why }
}

fn server_words(reason: &str, said: &str) -> String {
    let remote: Vec<&str> = said
        .lines()
        .filter_map(|line| line.strip_prefix("remote:"))
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect();
    gist(&format!("{}\n{reason}", remote.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_git_become_kinds() {
        let check = |said: &str, expected: GitError| assert_eq!(classify(said), expected, "{said}");
        let url = "fatal: unable to access 'https://h/a.git/': The requested URL returned error:";
        check(&format!("{url} 401"), GitError::Unauthorized);
        check("fatal: Authentication failed for 'https://h/a.git/'", GitError::Unauthorized);
        check(
            "fatal: could not read Username for 'https://h': terminal prompts disabled",
            GitError::Unauthorized,
        );
        check("fatal: unable to get password from user", GitError::Unauthorized);
        check(
            &format!("remote: This repository was archived so it is read-only.\n{url} 403"),
            GitError::ReadOnly,
        );
        check(&format!("remote: Permission to a denied to b.\n{url} 403"), GitError::Forbidden);
        check(
            "remote: Repository not found.\nfatal: repository 'https://h/a.git/' not found",
            GitError::NotFound,
        );
        check("fatal: '/x' does not appear to be a git repository", GitError::NotFound);
        check(&format!("{url} 301"), GitError::Moved);
        check("error: file write error: No space left on device", GitError::DiskFull);
        let why = Rejection::Other("the git server takes no push of this size (413)".to_owned());
        let large = "error: RPC failed; HTTP 413 curl 22 The requested URL returned error: 413\nfatal: the remote end hung up";
        check(large, GitError::Rejected { why });
        for said in [
            format!("{url} 503"),
            "fatal: unable to access 'https://h/': Could not resolve host: h".to_owned(),
            "error: RPC failed; curl 92 HTTP/2 stream 5 was not closed cleanly\nfatal: early EOF".to_owned(),
        ] {
            assert!(matches!(classify(&said), GitError::Unreachable(_)), "{said}");
        }
        check("hint: a\nfatal: bad tree\n", GitError::Broken("hint: a; fatal: bad tree".to_owned()));
        check("", GitError::Broken("it said nothing".to_owned()));
    }

    #[test]
    fn rejections_are_told_apart() {
        let line =
            |reason: &str| format!("To https://h/a.git\n!\trefs/heads/x:refs/heads/x\t{reason}\nDone\n");
        let check = |reason: &str, said: &str, why: Rejection| {
            assert_eq!(push_failed(&line(reason), said), GitError::Rejected { why }, "{reason} {said}");
        };
        check("[rejected] (non-fast-forward)", "", Rejection::NonFastForward);
        check("[rejected] (fetch first)", "", Rejection::NonFastForward);
        check("[remote rejected] (protected branch hook declined)", "", Rejection::Protected);
        let gitlab =
            "remote: GitLab: You are not allowed to push code to protected branches on this project.";
        check("[remote rejected] (pre-receive hook declined)", gitlab, Rejection::Protected);
        check(
            "[remote rejected] (push declined due to repository rule violations)",
            "remote: error: GH013: Repository rule violations\u{1b}[31m found\nremote: \nerror: failed to push",
            Rejection::Other(
                "error: GH013: Repository rule violations[31m found; \
                 [remote rejected] (push declined due to repository rule violations)"
                    .to_owned(),
            ),
        );
        let url = "fatal: unable to access 'https://h/a.git/': The requested URL returned error: 403";
        assert_eq!(push_failed("", url), GitError::Forbidden);
    }
}
