//! Purpose: where a run in the terminal works: a git repository on this machine as a project of the local forge, and the person there.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::config::{Env, REPO_FILE};
use crate::domain::{Account, AccountId, Event, ForgeKind, Permission, Project, ThreadRef};
use crate::engine::now;
use crate::forge::local::{NewThread, Visibility};
use crate::forge::{ForgeError, World};
use crate::planning::DOCUMENT_LABEL;

/// What the engine reads of a repository without a checkout.
const DOCUMENTS: [&str; 4] = [REPO_FILE, "README.md", "CONTRIBUTING.md", "AGENTS.md"];
const LONGEST_TITLE: usize = 120;

pub(in crate::cli) struct Repository {
    /// What git calls the common directory: the bare part, of which work trees are made.
    pub git: PathBuf,
    /// The branch that the work starts from.
    pub branch: String,
    /// Whether something in the work tree is not committed, and so is not seen.
    pub dirty: bool,
    name: String,
}

impl Repository {
    pub(in crate::cli) fn find(dir: &Path) -> anyhow::Result<Self> {
        let git = match ask(dir, &["rev-parse", "--path-format=absolute", "--git-common-dir"])? {
            Some(git) => PathBuf::from(git),
            None => {
                bail!("{} is in no git repository; go into one, or name it with `--repo DIR`", dir.display())
            }
        };
        let Some(branch) = ask(&git, &["symbolic-ref", "--quiet", "--short", "HEAD"])? else {
            bail!("HEAD of {} is on no branch; check one out first", git.display());
        };
        if ask(&git, &["rev-parse", "--quiet", "--verify", "HEAD^{commit}"])?.is_none() {
            bail!("there is no commit on `{branch}` in {} yet; make a first one", git.display());
        }
        let dirty = ask(dir, &["status", "--porcelain", "--untracked-files=no"])?;
        Ok(Self { branch, dirty: dirty.is_some_and(|text| !text.is_empty()), name: name_of(&git), git })
    }

    fn document(&self, path: &str) -> anyhow::Result<Option<String>> {
        ask(&self.git, &["show", &format!("HEAD:{path}")])
    }

    /// The project of this repository, by the directory that it stands for.
    pub(in crate::cli) fn project(&self, world: &World) -> anyhow::Result<Project> {
        let known = world.projects().find(|(_, state)| state.git.as_deref() == Some(&self.git));
        if let Some((project, _)) = known {
            return Ok(project.clone());
        }
        for number in 1..1_000 {
            let name = if number == 1 { self.name.clone() } else { format!("{}-{number}", self.name) };
            let project = Project::new(ForgeKind::Local, &name)?;
            if world.project(&project).is_err() {
                return Ok(project);
            }
        }
        bail!("there are too many projects named `{}`", self.name)
    }

    /// The project with its people and documents as they are now.
    pub(in crate::cli) fn furnish(&self, world: &mut World, p: &Project, me: &Account) -> anyhow::Result<()> {
        if world.project(p).is_err() {
            world.add_project(p, Visibility::Private);
            world.set_git(p, &self.git)?;
        }
        world.set_member(p, super::super::app::local_bot().id, Permission::Write)?;
        world.add_account(me.clone());
        world.set_member(p, me.id, Permission::Admin)?;
        for path in DOCUMENTS {
            match self.document(path)? {
                Some(text) => world.set_file(p, path, &text)?,
                None => drop(world.project_mut(p)?.files.remove(path)),
            }
        }
        Ok(())
    }
}

/// What somebody wants, as the issue that says so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::cli) struct Wish {
    pub title: String,
    pub body: String,
    pub labels: Vec<String>,
}

impl Wish {
    /// The first line, and what follows it. A line that is too long for a title is said in full below it.
    pub(in crate::cli) fn in_words(text: &str) -> Self {
        let text = text.trim();
        let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
        let title = cut_title(first.trim().trim_start_matches('#').trim());
        let body = if title.ends_with('…') { text } else { rest.trim() };
        Self { title, body: body.to_owned(), labels: vec![] }
    }

    /// A plan that somebody wrote, which the bot is to carry out.
    pub(in crate::cli) fn document(title: &str, text: &str) -> Self {
        Self { title: cut_title(title), body: text.to_owned(), labels: vec![DOCUMENT_LABEL.to_owned()] }
    }
}

fn cut_title(title: &str) -> String {
    if title.chars().count() <= LONGEST_TITLE {
        return title.to_owned();
    }
    format!("{}…", title.chars().take(LONGEST_TITLE).collect::<String>())
}

pub(in crate::cli) fn open(
    world: &mut World,
    p: &Project,
    me: &Account,
    wish: &Wish,
) -> Result<ThreadRef, ForgeError> {
    let Wish { title, body, labels } = wish.clone();
    let new = NewThread { body, labels, ..NewThread::titled(&title, me.id) };
    let opened: Event = world.open(p, new, now())?;
    Ok(opened.thread)
}

/// Whoever sits here. They own the machine's files, so what the environment says about their name is good enough.
pub(in crate::cli) fn person(world: &World, env: &Env) -> Account {
    let plain = |name: &str| -> String {
        name.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')).collect()
    };
    let login = ["USER", "LOGNAME"].iter().filter_map(|name| env.get(name)).map(plain);
    let login = login.into_iter().find(|name| !name.is_empty() && name != "planwright");
    let login = login.unwrap_or_else(|| format!("uid-{}", rustix::process::getuid().as_raw()));
    if let Some(known) = world.accounts().find(|account| account.login == login) {
        return known.clone();
    }
    let last = world.accounts().map(|account| account.id).max().unwrap_or(AccountId(1));
    Account::person(last.0 + 1, &login)
}

/// As people call it: the directory of the work tree, or the bare repository's own name.
fn name_of(git: &Path) -> String {
    let named = if git.file_name().is_some_and(|name| name == ".git") { git.parent() } else { Some(git) };
    let name = named.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    let name: String = name.trim_end_matches(".git").chars().map(plain).collect();
    let name = name.trim_matches(['-', '.']);
    if name.is_empty() { "repository".to_owned() } else { name.to_owned() }
}

/// What git answers, or nothing when it says no.
fn ask(dir: &Path, args: &[&str]) -> anyhow::Result<Option<String>> {
    let said = Command::new("git").args(args).current_dir(dir).stdin(std::process::Stdio::null()).output();
    let said = match said {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && dir.exists() => {
            bail!("this needs git (on Debian and Ubuntu: `apt install git`)")
        }
        said => said.with_context(|| format!("cannot ask git about {}", dir.display()))?,
    };
    let text = String::from_utf8_lossy(&said.stdout).trim_end_matches('\n').to_owned();
    Ok(said.status.success().then_some(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_the_title() {
        let long = "x".repeat(200);
        let cut = format!("{}…", "x".repeat(LONGEST_TITLE));
        for (text, title, body) in [
            ("Add a login", "Add a login", ""),
            ("  # Add a login\n\n- [ ] one\n", "Add a login", "- [ ] one"),
            (long.as_str(), cut.as_str(), long.as_str()),
        ] {
            let wish = Wish { title: title.to_owned(), body: body.to_owned(), labels: vec![] };
            assert_eq!(Wish::in_words(text), wish);
        }
    }

    #[test]
    fn repositories_have_names_that_a_forge_allows() {
        for (git, name) in [
            ("/src/web/.git", "web"),
            ("/src/web.git", "web"),
            ("/src/my web (2)/.git", "my-web--2"),
            ("/.git", "repository"),
        ] {
            assert_eq!(name_of(Path::new(git)), name);
            Project::new(ForgeKind::Local, name).unwrap();
        }
    }
}
