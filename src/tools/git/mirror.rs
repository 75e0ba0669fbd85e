//! Purpose: the copy of a repository that is fetched once for all its runs, and looking at commits in it without a checkout.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::call::{Call, Git};
use super::names::{ObjectFormat, branch_ref};
use super::remote::Address;
use super::{Commit, GitError, Remote, TooLarge, Workspaces, folders, hardened};
use crate::actions::RepoPath;
use crate::domain::Project;

/// Where `HEAD` points when the server names no default branch. Nothing is ever stored there.
const NO_DEFAULT: &str = "refs/planwright/none";

/// The default branch, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    pub branch: String,
    pub commit: Commit,
}

/// The names of the files of a commit, in git's order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    pub paths: Vec<String>,
    pub truncated: bool,
}

/// What a commit has at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// The beginning, up to the cap. For a link, where it leads; for folders and submodules, nothing.
    pub bytes: Vec<u8>,
    /// Of the whole.
    pub size: u64,
    pub kind: BlobKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlobKind {
    File,
    Executable,
    Symlink,
    Directory,
    Submodule,
}

impl Workspaces {
    /// Brings the mirror up to date; makes it at first use. Callers for one repository wait for each other.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses, or the repository is larger than allowed.
    pub async fn refresh(&self, project: &Project, remote: &Remote) -> Result<(), GitError> {
        let address = remote.address()?;
        let turn = self.turn(project);
        let _turn = turn.lock().await;
        let mirror = Mirror { git: &self.git, dir: self.mirror(project) };
        let there = mirror.ask(&address).await?;
        match mirror.branches(there.format()).await {
            Ok(branches) if branches == there.branches => {}
            Ok(_) => mirror.update(&address, &there).await?,
            // It is absent, damaged or of another kind. It is only a copy, so it is made anew.
            Err(_) => mirror.renew(&address, &there).await?,
        }
        mirror.set_default(there.default.as_deref()).await
    }

    /// As last fetched. None for a repository that is empty, or whose default branch does not exist.
    ///
    /// # Errors
    /// When the repository was never fetched.
    pub async fn default_branch(&self, project: &Project) -> Result<Option<Head>, GitError> {
        let call = Call::new(["symbolic-ref", "--quiet", "HEAD"]).within(&self.fetched(project)?);
        let name = self.git.good(call).await?.text();
        let Some(branch) = name.trim_end().strip_prefix("refs/heads/") else { return Ok(None) };
        let commit = self.branch(project, branch).await?;
        Ok(commit.map(|commit| Head { branch: branch.to_owned(), commit }))
    }

    /// Where a branch stood when last fetched; None when there was no such branch.
    ///
    /// # Errors
    /// When the repository was never fetched, or the name is none for a branch.
    pub async fn branch(&self, project: &Project, name: &str) -> Result<Option<Commit>, GitError> {
        let args = ["rev-parse", "--verify", "--quiet", "--end-of-options", &branch_ref(name)?];
        let answer = self.git.run(Call::new(args).within(&self.fetched(project)?)).await?;
        if answer.code == 1 {
            return Ok(None);
        }
        Ok(answer.good()?.text().trim_end().parse().ok())
    }

    /// The names of at most `cap` files.
    ///
    /// # Errors
    /// When the commit is not in the mirror.
    pub async fn tree(&self, project: &Project, commit: &Commit, cap: usize) -> Result<Tree, GitError> {
        let call = Call::new(["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit.as_str()]);
        let call = call.within(&self.fetched(project)?).at_most_records(cap);
        let answer = self.git.run(call).await?;
        if answer.code == 128 {
            return Err(GitError::NoSuchCommit(commit.clone()));
        }
        let answer = answer.good()?;
        let paths = records(&answer.out).map(|path| String::from_utf8_lossy(path).into_owned()).collect();
        Ok(Tree { paths, truncated: answer.cut })
    }

    /// What the commit has at the path, at most `cap` bytes of it. Links are never followed, so below one there is
    /// nothing.
    ///
    /// # Errors
    /// When the commit is not in the mirror.
    pub async fn read(
        &self,
        project: &Project,
        commit: &Commit,
        path: &RepoPath,
        cap: usize,
    ) -> Result<Option<Blob>, GitError> {
        let dir = self.fetched(project)?;
        let args = ["ls-tree", "-l", "-z", "--full-tree", commit.as_str(), "--", path.as_str()];
        let answer = self.git.run(Call::new(args).within(&dir)).await?;
        if answer.code == 128 {
            return Err(GitError::NoSuchCommit(commit.clone()));
        }
        let answer = answer.good()?;
        let Some(entry) = records(&answer.out).find_map(Entry::read) else { return Ok(None) };
        let bytes = match entry.kind {
            BlobKind::Directory | BlobKind::Submodule => Vec::new(),
            BlobKind::File | BlobKind::Executable | BlobKind::Symlink => {
                let call = Call::new(["cat-file", "blob", &entry.object]).within(&dir).at_most_bytes(cap);
                self.git.good(call).await?.out
            }
        };
        Ok(Some(Blob { bytes, size: entry.size, kind: entry.kind }))
    }

    /// The mirror, which must be there.
    pub(super) fn fetched(&self, project: &Project) -> Result<PathBuf, GitError> {
        let dir = self.mirror(project);
        if dir.is_dir() { Ok(dir) } else { Err(GitError::NotFound) }
    }
}

pub(super) fn records(out: &[u8]) -> impl Iterator<Item = &[u8]> {
    out.split(|byte| *byte == 0).filter(|record| !record.is_empty())
}

/// One line of `ls-tree -l`: `<mode> <type> <object> <size>\t<path>`.
pub(super) struct Entry {
    kind: BlobKind,
    object: String,
    pub(super) size: u64,
}

impl Entry {
    pub(super) fn read(record: &[u8]) -> Option<Self> {
        let head = record.split(|byte| *byte == b'\t').next()?;
        let head = std::str::from_utf8(head).ok()?;
        let [mode, _, object, size] = head.split_ascii_whitespace().collect::<Vec<_>>()[..] else {
            return None;
        };
        let kind = match mode {
            "100755" => BlobKind::Executable,
            "120000" => BlobKind::Symlink,
            "040000" => BlobKind::Directory,
            "160000" => BlobKind::Submodule,
            _ => BlobKind::File,
        };
        Some(Self { kind, object: object.to_owned(), size: size.parse().unwrap_or(0) })
    }
}

/// What the server has.
struct Listing {
    default: Option<String>,
    branches: BTreeMap<String, Commit>,
}

impl Listing {
    /// Of `ls-remote --symref`: `ref: refs/heads/main\tHEAD` and `<commit>\t<name>`, perhaps with more behind a tab.
    fn read(text: &str) -> Self {
        let mut listing = Self { default: None, branches: BTreeMap::new() };
        for (value, name) in text.lines().filter_map(|line| line.split_once('\t')) {
            let name = name.split('\t').next().unwrap_or(name);
            if let ("HEAD", Some(target)) = (name, value.strip_prefix("ref: refs/heads/")) {
                listing.default = Some(target.to_owned());
            } else if let (Some(branch), Ok(commit)) = (name.strip_prefix("refs/heads/"), value.parse()) {
                listing.branches.insert(branch.to_owned(), commit);
            }
        }
        listing
    }

    fn format(&self) -> ObjectFormat {
        self.branches.values().next().map_or(ObjectFormat::Sha1, Commit::format)
    }
}

struct Mirror<'a> {
    git: &'a Git,
    dir: PathBuf,
}

impl Mirror<'_> {
    async fn ask(&self, address: &Address) -> Result<Listing, GitError> {
        let call = Call::new(["ls-remote", "--symref", "--"]).with(address).args(["HEAD", "refs/heads/*"]);
        Ok(Listing::read(&self.git.good(call).await?.text()))
    }

    async fn branches(&self, format: ObjectFormat) -> Result<BTreeMap<String, Commit>, GitError> {
        let call = Call::new(["rev-parse", "--show-object-format"]).within(&self.dir);
        if self.git.good(call).await?.text().trim_end() != format.as_str() {
            return Err(GitError::Broken("the names of its commits are of another length".to_owned()));
        }
        // Asking for the tree makes git read each commit, so that damage shows.
        let call =
            Call::new(["for-each-ref", "--format=%(objectname)%09%(refname)%09%(tree)", "refs/heads/"]);
        Ok(Listing::read(&self.git.good(call.within(&self.dir)).await?.text()).branches)
    }

    /// A mirror only grows, and one that has grown too large is made anew; if that is too large as well, so is the
    /// repository. The same mends what a crash of the machine left half written.
    async fn update(&self, address: &Address, there: &Listing) -> Result<(), GitError> {
        match self.fetch(address).await {
            Err(GitError::TooLarge(_) | GitError::Broken(_)) => self.renew(address, there).await,
            fetched => fetched,
        }
    }

    /// Fetched beside and then put in place, so that a mirror is there with all its commits or not at all.
    async fn renew(&self, address: &Address, there: &Listing) -> Result<(), GitError> {
        let draft = Mirror { git: self.git, dir: self.dir.with_extension("new") };
        // Which branch is the default one is set afterwards, whether the mirror is new or not.
        make_repository(self.git, &draft.dir, there.format(), "main").await?;
        // Checkouts may start at a commit that no branch names any more.
        let args = ["config", "uploadpack.allowAnySHA1InWant", "true"];
        self.git.good(Call::new(args).within(&draft.dir)).await?;
        // Git calls it a failure to fetch from an empty repository.
        let fetched = if there.branches.is_empty() { Ok(()) } else { draft.fetch(address).await };
        if let Err(error) = fetched {
            folders::remove(&draft.dir).await?;
            return Err(error);
        }
        folders::replace(&self.dir, &draft.dir).await
    }

    async fn fetch(&self, address: &Address) -> Result<(), GitError> {
        folders::clear_leftovers(&self.dir).await?;
        let args = ["fetch", "--quiet", "--prune", "--depth=1", "--no-tags", "--no-write-fetch-head", "--"];
        let call = Call::new(args).with(address).args(["+refs/heads/*:refs/heads/*"]);
        let call = call.within(&self.dir).config(hardened::CHECK_OBJECTS);
        tokio::select! {
            answer = self.git.good(call) => answer?,
            error = self.outgrown() => return Err(error),
        };
        self.check_size().await
    }

    /// Git has no limit of its own for what it fetches.
    async fn outgrown(&self) -> GitError {
        loop {
            tokio::time::sleep(Duration::from_millis(500)).await;
            if let Err(error) = self.check_size().await {
                return error;
            }
        }
    }

    async fn check_size(&self) -> Result<(), GitError> {
        let limit = self.git.settings.mirror_bytes;
        if folders::size(&self.dir).await? > limit {
            Err(GitError::TooLarge(TooLarge::Repository { limit }))
        } else {
            Ok(())
        }
    }

    async fn set_default(&self, branch: Option<&str>) -> Result<(), GitError> {
        let target = branch.map_or(Ok(NO_DEFAULT.to_owned()), branch_ref)?;
        self.git.good(Call::new(["symbolic-ref", "HEAD", &target]).within(&self.dir)).await?;
        Ok(())
    }
}

/// An empty repository at a path, in place of whatever was there. `branch` is the one that it stands on.
pub(super) async fn make_repository(
    git: &Git,
    at: &Path,
    format: ObjectFormat,
    branch: &str,
) -> Result<(), GitError> {
    folders::remove(at).await?;
    folders::make(at.parent().unwrap_or(at)).await?;
    let (format, branch) =
        (format!("--object-format={}", format.as_str()), format!("--initial-branch={branch}"));
    let call = Call::new(["init", "--quiet", "--bare", "--template=", &format, &branch, "--"]).args([at]);
    git.good(call).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listings_are_read() {
        let a = "a".repeat(40);
        let listing = Listing::read(&format!(
            "ref: refs/heads/main\tHEAD\n{a}\tHEAD\n{a}\trefs/heads/main\n{a}\trefs/heads/x/HEAD\n{a}\trefs/pull/1/head\n"
        ));
        assert_eq!(listing.default.as_deref(), Some("main"));
        assert_eq!(listing.branches.keys().collect::<Vec<_>>(), ["main", "x/HEAD"]);
        let detached = Listing::read(&format!("{a}\tHEAD\n{a}\trefs/heads/main\n"));
        assert_eq!(detached.default, None);
    }
}
