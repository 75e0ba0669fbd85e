//! Purpose: why the gate did not do what was asked, in words that a model can act on.

use std::fmt;

use rustix::io::Errno;

use super::Kind;

/// The path is as it was asked for; nothing outside the work tree is ever named.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    #[error("`{0}` does not exist")]
    NotFound(String),
    #[error("`{0}` exists already")]
    Exists(String),
    #[error("`{path}` is {kind}, not a file")]
    NotAFile { path: String, kind: Kind },
    #[error("`{0}` is not a directory, or a part of the path before it is not")]
    NotADirectory(String),
    #[error("the directory `{0}` is not empty")]
    NotEmpty(String),
    /// For writing, links are refused wherever they lead.
    #[error("`{0}` is a symbolic link or lies behind one; name the real path instead")]
    BehindALink(String),
    #[error("`{0}` leads out of the work tree")]
    LeadsOutside(String),
    #[error("`{0}` leads to git's own files, which are out of reach")]
    OfGit(String),
    #[error("`{path}` would have {bytes} bytes; {most} is the limit")]
    TooLarge { path: String, bytes: usize, most: usize },
    #[error("there is no space left for `{0}`")]
    NoSpace(String),
    #[error("`{0}` may not be touched by the bot: permission denied")]
    Denied(String),
    /// For the operator: without `openat2` there is no safe way to open a file, and no unsafe one is taken.
    #[error("this system cannot open files safely (it lacks openat2, which Linux has since 5.6)")]
    Unsupported,
    #[error("cannot {doing} `{path}`: {cause}")]
    Io { doing: &'static str, path: String, cause: String },
}

impl FileError {
    /// What an error number means when it comes from resolving or changing `path`.
    pub(super) fn from_errno(errno: Errno, doing: &'static str, path: &str) -> Self {
        let path = path.to_owned();
        match errno {
            Errno::NOENT => Self::NotFound(path),
            Errno::EXIST => Self::Exists(path),
            Errno::NOTDIR => Self::NotADirectory(path),
            Errno::NOTEMPTY => Self::NotEmpty(path),
            Errno::LOOP => Self::BehindALink(path),
            Errno::XDEV => Self::LeadsOutside(path),
            Errno::NOSPC | Errno::DQUOT => Self::NoSpace(path),
            Errno::ACCESS | Errno::PERM | Errno::ROFS => Self::Denied(path),
            Errno::NOSYS => Self::Unsupported,
            Errno::ISDIR => Self::NotAFile { path, kind: Kind::Directory },
            // What one gets for opening a socket.
            Errno::NXIO => Self::NotAFile { path, kind: Kind::Other },
            other => Self::Io { doing, path, cause: other.to_string() },
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "a file",
            Self::Directory => "a directory",
            Self::Symlink => "a symbolic link",
            Self::Other => "a device, pipe or socket",
        })
    }
}
