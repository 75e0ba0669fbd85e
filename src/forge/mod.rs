//! Purpose: the forges: where threads live, comments are written and rights are looked up.
//!
//! [`Forge`] is a closed set: GitHub, GitLab and the local forge, which is also the fake of the engine's tests. Each
//! translates its own language into the neutral words of [`crate::domain`] in its own `shapes.rs`; nothing outside this
//! room sees a forge's JSON.
//!
//! Reads and repeatable writes are retried here (see [`retry`]). Creating a comment is sent exactly once: after
//! [`ForgeError::Unclear`] the caller looks for its marker with [`Forge::find_comments`] before it tries again. The same
//! holds for change requests, which are found by their branch with [`Forge::find_change_request`].

mod error;
pub mod github;
pub mod gitlab;
mod http;
pub mod local;
mod memory;
pub mod retry;
mod silence;
mod visible;

pub use error::ForgeError;
pub use github::{Github, GithubAuth, GithubSettings};
pub use gitlab::{Gitlab, GitlabSettings};
pub use local::{Local, LocalSettings, World};
pub use retry::Patience;

use secrecy::SecretString;

use crate::domain::{
    Account, AccountId, ChangeDiff, ChangeRequest, Comment, CommentId, ForgeKind, NewChangeRequest,
    Permission, Project, Repository, Thread, ThreadRef,
};

pub use crate::domain::Reaction;

/// GitLab's limit, and far beyond GitHub's.
const LOGIN_CAP: usize = 255;

/// The longest file that is read from a repository; settings are a page, not a book.
pub const FILE_CAP: usize = 256 * 1024;

/// So many files of a diff are asked for, in one request: a page of a forge's list is no longer.
const DIFF_FILES: usize = 100;

#[derive(Debug, Clone)]
pub enum Forge {
    Github(Github),
    Gitlab(Gitlab),
    Local(Local),
}

/// How git reaches a repository.
#[derive(Debug, Clone)]
pub struct GitAccess {
    pub url: String,
    /// Empty where there is no secret.
    pub user: String,
    pub secret: Option<SecretString>,
}

impl GitAccess {
    fn with(base: &url::Url, p: &Project, user: &str, secret: SecretString) -> Self {
        Self { url: Self::below(base, p), user: user.to_owned(), secret: Some(secret) }
    }

    /// Files on this machine need no credential, and must not see one.
    fn to_files(base: &url::Url, p: &Project) -> Option<Self> {
        let open = || Self { url: Self::below(base, p), user: String::new(), secret: None };
        (base.scheme() == "file").then(open)
    }

    fn below(base: &url::Url, p: &Project) -> String {
        format!("{}/{}.git", base.as_str().trim_end_matches('/'), p.path())
    }
}

/// One short `match` per method; the error says what we were doing.
macro_rules! on_each {
    ($self:ident, $doing:expr, $method:ident($($argument:expr),*)) => {
        match $self {
            Self::Github(forge) => forge.$method($($argument),*).await,
            Self::Gitlab(forge) => forge.$method($($argument),*).await,
            Self::Local(forge) => forge.$method($($argument),*),
        }
        .map_err(|error| error.while_doing($doing))
    };
}

impl Forge {
    #[must_use]
    pub fn kind(&self) -> ForgeKind {
        match self {
            Self::Github(_) => ForgeKind::Github,
            Self::Gitlab(_) => ForgeKind::Gitlab,
            Self::Local(_) => ForgeKind::Local,
        }
    }

    /// The bot's own account, asked once and remembered.
    ///
    /// # Errors
    /// When the credentials are refused or the forge cannot be reached.
    pub async fn me(&self) -> Result<Account, ForgeError> {
        on_each!(self, "look up our own account", me())
    }

    /// The account with this login, whatever its case. `None` when nobody has it or could have it, and for an
    /// organization, which never acts itself. GitLab does not say here who is a bot, so one with a name of somebody's
    /// choice looks like a person.
    ///
    /// # Errors
    /// When it cannot be looked up. That nobody has it is only ever the forge's own word.
    pub async fn account(&self, login: &str) -> Result<Option<Account>, ForgeError> {
        if !is_possible_login(login) {
            return Ok(None);
        }
        on_each!(self, format_args!("look up the account `{login}`"), account(login))
    }

    /// Asks only whether it changed where it was read before, which the forges answer for free.
    ///
    /// # Errors
    /// `NotFound` also stands for a thread that we may not see.
    pub async fn thread(&self, t: &ThreadRef) -> Result<Thread, ForgeError> {
        on_each!(self, format_args!("read {t}"), thread(t))
    }

    /// Every comment of the thread, oldest first, without what the forge itself notes down.
    ///
    /// # Errors
    /// As [`Self::thread`].
    pub async fn comments(&self, t: &ThreadRef) -> Result<Vec<Comment>, ForgeError> {
        on_each!(self, format_args!("read the comments of {t}"), comments(t))
    }

    /// A comment of this thread as it stands now; `None` when the thread has none with this id.
    ///
    /// # Errors
    /// As [`Self::thread`].
    pub async fn comment(&self, t: &ThreadRef, id: CommentId) -> Result<Option<Comment>, ForgeError> {
        on_each!(self, format_args!("read comment {} of {t}", id.0), comment(t, id))
    }

    /// What a review says, as a whole or about a line; `None` when the change request has nothing with this id.
    ///
    /// # Errors
    /// As [`Self::conversation`].
    pub async fn review_comment(&self, t: &ThreadRef, id: CommentId) -> Result<Option<Comment>, ForgeError> {
        let reviews: Result<Vec<Comment>, ForgeError> =
            on_each!(self, format_args!("read the reviews of {t}"), reviews(t));
        match self {
            // GitLab shows it among the comments. Elsewhere a comment with this id is another one.
            Self::Gitlab(_) => self.comment(t, id).await,
            Self::Github(_) | Self::Local(_) => Ok(reviews?.into_iter().find(|comment| comment.id == id)),
        }
    }

    /// Everything that was said on a change request, oldest first: its comments, what its reviews say as a whole, and
    /// words on lines of the diff.
    ///
    /// # Errors
    /// `NotFound` also when the thread is no change request.
    pub async fn conversation(&self, t: &ThreadRef) -> Result<Vec<Comment>, ForgeError> {
        let reviews: Result<_, ForgeError> =
            on_each!(self, format_args!("read the reviews of {t}"), reviews(t));
        let mut said = reviews?;
        said.extend(self.comments(t).await?);
        said.sort_by_key(|comment| (comment.created_at, comment.id));
        Ok(said)
    }

    /// What a change request changes; of many files the first.
    ///
    /// # Errors
    /// As [`Self::conversation`].
    pub async fn diff(&self, t: &ThreadRef) -> Result<ChangeDiff, ForgeError> {
        on_each!(self, format_args!("read the diff of {t}"), diff(t))
    }

    /// Sent once and never repeated.
    ///
    /// # Errors
    /// `Unclear` when the comment may have been written all the same.
    pub async fn create_comment(&self, t: &ThreadRef, body: &str) -> Result<CommentId, ForgeError> {
        on_each!(self, format_args!("comment on {t}"), create_comment(t, body))
            .map_err(ForgeError::into_unclear)
    }

    /// A comment that people answer: on GitLab a discussion of its own, elsewhere a comment like any other.
    ///
    /// # Errors
    /// As [`Self::create_comment`].
    pub async fn open_discussion(&self, t: &ThreadRef, body: &str) -> Result<CommentId, ForgeError> {
        let opened = match self {
            Self::Gitlab(forge) => forge.open_discussion(t, body).await,
            Self::Github(_) | Self::Local(_) => return self.create_comment(t, body).await,
        };
        opened.map_err(|error| error.while_doing(format_args!("open a discussion on {t}")).into_unclear())
    }

    /// # Errors
    /// `NotFound` when somebody deleted the comment.
    pub async fn edit_comment(&self, t: &ThreadRef, id: CommentId, body: &str) -> Result<(), ForgeError> {
        on_each!(self, format_args!("edit comment {} of {t}", id.0), edit_comment(t, id, body))
    }

    /// The comments by `author` that contain `marker`, oldest first. Others may copy a marker, so both are compared.
    ///
    /// # Errors
    /// As [`Self::comments`].
    pub async fn find_comments(
        &self,
        t: &ThreadRef,
        marker: &str,
        author: AccountId,
    ) -> Result<Vec<CommentId>, ForgeError> {
        let comments = self.comments(t).await?;
        let ours = comments.iter().filter(|c| c.author.id == author && c.body.contains(marker));
        Ok(ours.map(|c| c.id).collect())
    }

    /// A comment that is gone already counts as deleted.
    ///
    /// # Errors
    /// When the forge refuses.
    pub async fn delete_comment(&self, t: &ThreadRef, id: CommentId) -> Result<(), ForgeError> {
        let deleted = on_each!(self, format_args!("delete comment {} of {t}", id.0), delete_comment(t, id));
        missing_is_fine(deleted)
    }

    /// Reacts to a comment, or with `None` to the thread itself. Reacting twice is reacting once.
    ///
    /// # Errors
    /// When the thread or comment is gone.
    pub async fn react(&self, t: &ThreadRef, on: Option<CommentId>, r: Reaction) -> Result<(), ForgeError> {
        on_each!(self, format_args!("react on {t}"), react(t, on, r))
    }

    /// Takes our own reaction away; a missing one is fine.
    ///
    /// # Errors
    /// When the forge refuses.
    pub async fn unreact(&self, t: &ThreadRef, on: Option<CommentId>, r: Reaction) -> Result<(), ForgeError> {
        missing_is_fine(on_each!(self, format_args!("take a reaction back on {t}"), unreact(t, on, r)))
    }

    /// # Errors
    /// `Invalid` when the forge does not let this account be assigned.
    pub async fn assign(&self, t: &ThreadRef, who: &Account) -> Result<(), ForgeError> {
        on_each!(self, format_args!("assign {} to {t}", who.login), assign(t, who))
    }

    /// # Errors
    /// When the forge refuses.
    pub async fn unassign(&self, t: &ThreadRef, who: &Account) -> Result<(), ForgeError> {
        on_each!(self, format_args!("unassign {} from {t}", who.login), unassign(t, who))
    }

    /// # Errors
    /// When the forge refuses.
    pub async fn add_label(&self, t: &ThreadRef, label: &str) -> Result<(), ForgeError> {
        on_each!(self, format_args!("label {t} with `{label}`"), add_label(t, label))
    }

    /// # Errors
    /// When the forge refuses.
    pub async fn remove_label(&self, t: &ThreadRef, label: &str) -> Result<(), ForgeError> {
        missing_is_fine(on_each!(self, format_args!("take `{label}` off {t}"), remove_label(t, label)))
    }

    /// What an account may do, looked up now.
    ///
    /// # Errors
    /// When it cannot be looked up; the caller must then refuse.
    pub async fn permission(&self, p: &Project, who: &Account) -> Result<Permission, ForgeError> {
        on_each!(self, format_args!("look up what {} may do in {p}", who.login), permission(p, who))
    }

    /// A file of the default branch; `None` when the project has no such file.
    ///
    /// # Errors
    /// `Invalid` when it is no text or longer than [`FILE_CAP`].
    pub async fn read_file(&self, p: &Project, path: &str) -> Result<Option<String>, ForgeError> {
        on_each!(self, format_args!("read `{path}` of {p}"), read_file(p, path))
    }

    /// Open threads that are assigned to the bot or carry the label.
    ///
    /// # Errors
    /// When any page could not be read; half a list would look like threads that were let go.
    pub async fn waiting_threads(&self, label: Option<&str>) -> Result<Vec<ThreadRef>, ForgeError> {
        on_each!(self, "list the threads that wait for us", waiting_threads(label))
    }

    /// Who assigned the bot last.
    ///
    /// # Errors
    /// As [`Self::thread`].
    pub async fn who_assigned(&self, t: &ThreadRef) -> Result<Option<Account>, ForgeError> {
        on_each!(self, format_args!("find out who assigned us to {t}"), who_assigned(t))
    }

    /// Who set the label last.
    ///
    /// # Errors
    /// As [`Self::thread`].
    pub async fn who_labelled(&self, t: &ThreadRef, label: &str) -> Result<Option<Account>, ForgeError> {
        on_each!(self, format_args!("find out who labelled {t}"), who_labelled(t, label))
    }

    /// What the bot itself may do there.
    ///
    /// # Errors
    /// `NotFound` when the bot cannot see the project.
    pub async fn check_access(&self, p: &Project) -> Result<Permission, ForgeError> {
        on_each!(self, format_args!("look up what we may do in {p}"), check_access(p))
    }

    /// Sent once and never repeated.
    ///
    /// # Errors
    /// `Unclear` when it may have been opened all the same; `Invalid` when there is an open one from that branch
    /// already, or a branch is not there.
    pub async fn create_change_request(
        &self,
        p: &Project,
        new: &NewChangeRequest<'_>,
    ) -> Result<ChangeRequest, ForgeError> {
        let opened = on_each!(
            self,
            format_args!("open a change request from `{}` in {p}", new.head),
            create_change_request(p, new)
        );
        opened.map_err(ForgeError::into_unclear)
    }

    /// The change request from this branch of the repository itself, not of a fork: an open one if there is one, else
    /// the newest.
    ///
    /// # Errors
    /// `NotFound` when the project cannot be seen.
    pub async fn find_change_request(
        &self,
        p: &Project,
        head: &str,
    ) -> Result<Option<ChangeRequest>, ForgeError> {
        on_each!(
            self,
            format_args!("look for a change request from `{head}` in {p}"),
            find_change_request(p, head)
        )
    }

    /// Whether it is a draft stays as it is.
    ///
    /// # Errors
    /// `NotFound` when the thread is no change request.
    pub async fn edit_change_request(
        &self,
        t: &ThreadRef,
        title: &str,
        body: &str,
    ) -> Result<(), ForgeError> {
        on_each!(self, format_args!("edit {t}"), edit_change_request(t, title, body))
    }

    /// Adds a reviewer to those that are there.
    ///
    /// # Errors
    /// `Invalid` when the forge does not let this account review it.
    pub async fn request_review(&self, t: &ThreadRef, who: &Account) -> Result<(), ForgeError> {
        on_each!(self, format_args!("ask {} for a review of {t}", who.login), request_review(t, who))
    }

    /// # Errors
    /// `NotFound` when the bot cannot see the project.
    pub async fn repository(&self, p: &Project) -> Result<Repository, ForgeError> {
        on_each!(self, format_args!("look at the repository of {p}"), repository(p))
    }

    /// Where git fetches and pushes, with a credential that is good for some minutes at least.
    ///
    /// # Errors
    /// When the forge gives no credential; `Invalid` when the project has no repository.
    pub async fn git_access(&self, p: &Project) -> Result<GitAccess, ForgeError> {
        on_each!(self, format_args!("get access to the repository of {p}"), git_access(p))
    }
}

/// Whether any forge would let an account be called so. Dots alone would be steps in the path of a request.
fn is_possible_login(login: &str) -> bool {
    // `[bot]` ends the logins of GitHub Apps.
    let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'[' | b']');
    login.len() <= LOGIN_CAP && login.bytes().all(fits) && login.bytes().any(|b| b != b'.')
}

/// Credentials of another account than the settings name are refused.
fn expect_login(account: Account, expected: Option<&str>) -> Result<Account, ForgeError> {
    match expected {
        Some(expected) if !expected.eq_ignore_ascii_case(&account.login) => Err(ForgeError::Unauthorized(
            format!("the credentials belong to `{}`, not to `{expected}`", account.login),
        )),
        Some(_) | None => Ok(account),
    }
}

fn missing_is_fine(result: Result<(), ForgeError>) -> Result<(), ForgeError> {
    match result {
        Err(ForgeError::NotFound(_)) => Ok(()),
        other => other,
    }
}

/// The text of a file as a forge sends it, held to [`FILE_CAP`].
fn text_of_file(bytes: Vec<u8>) -> Result<String, ForgeError> {
    if bytes.len() > FILE_CAP {
        return Err(ForgeError::Invalid(format!("the file is longer than {} KiB", FILE_CAP / 1024)));
    }
    String::from_utf8(bytes).map_err(|_| ForgeError::Invalid("the file is not UTF-8 text".into()))
}

/// Both forges send file contents as base64, GitHub with line breaks in it.
fn text_of_base64(content: &str) -> Result<String, ForgeError> {
    use base64::Engine as _;
    let joined: String = content.split_ascii_whitespace().collect();
    let bytes = base64::engine::general_purpose::STANDARD.decode(joined);
    text_of_file(bytes.map_err(|_| ForgeError::Broken("the file's content is not base64".into()))?)
}

/// Forges tell an edit by two times. Where one is missing it cannot be ruled out.
/// GitHub writes a fresh word on a line of a diff down in two steps, a moment apart.
fn is_edited_later(created: Option<&str>, updated: Option<&str>) -> bool {
    const MOMENT_MS: i64 = 5_000;
    let (Some(created), Some(updated)) = (millis(created), millis(updated)) else { return true };
    updated > created.plus(MOMENT_MS)
}

fn is_edited(created: Option<&str>, updated: Option<&str>) -> bool {
    created.is_none() || created != updated
}

/// The forge's time where it tells one that can be read.
fn millis(time: Option<&str>) -> Option<crate::domain::Millis> {
    let time: jiff::Timestamp = time?.parse().ok()?;
    Some(crate::domain::Millis(time.as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_text_within_the_cap() {
        let check = |content: &str, expected: Result<&str, &str>| {
            let got = text_of_base64(content).map_err(|e| e.to_string());
            assert_eq!(got.as_deref().map_err(String::as_str), expected, "{content}");
        };
        check("aGVs\nbG8=\n", Ok("hello"));
        check("", Ok(""));
        check("/w==", Err("the file is not UTF-8 text"));
        check("!", Err("the file's content is not base64"));
        assert!(text_of_file(vec![b'a'; FILE_CAP]).is_ok());
        assert!(matches!(text_of_file(vec![b'a'; FILE_CAP + 1]), Err(ForgeError::Invalid(_))));
    }

    #[test]
    fn logins_are_told_from_what_cannot_be_one() {
        let longest = "x".repeat(LOGIN_CAP);
        for login in ["maria", "M", "a-b_c.d", "planwright[bot]", ".maria", "maria_acme", "7", &longest] {
            assert!(is_possible_login(login), "{login:?}");
        }
        let longer = format!("{longest}x");
        let odd =
            ["", ".", "..", "../../x", "a b", "a/b", "a\\b", "@maria", "a?b", "a#b", "a%2Fb", "a\n", "ü"];
        for login in odd.into_iter().chain([longer.as_str()]) {
            assert!(!is_possible_login(login), "{login:?}");
        }
    }

    #[test]
    fn times_are_read_or_left_out() {
        assert_eq!(millis(Some("2026-11-16T02:00:00.250Z")).map(|m| m.0), Some(1_794_794_400_250));
        assert_eq!(millis(Some("2026-11-16 02:00:00 UTC")), None);
        assert_eq!(millis(None), None);
    }
}
