//! Purpose: the settings in force for one repository, `.planwright.yaml` of its default branch included.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use super::ctx::Ctx;
use crate::config::RepoSettings;
use crate::domain::Project;
use crate::forge::{Forge, ForgeError};

const REPO_FILE: &str = ".planwright.yaml";
/// A change of the file counts after this long at the latest.
const FRESH: Duration = Duration::from_secs(60);

/// The files as last read, so that a busy repository costs one read a minute.
#[derive(Default)]
pub struct RepoFiles(Mutex<HashMap<Place, (Instant, Option<String>)>>);

/// A file of a repository, by its path.
type Place = (Project, String);

/// The settings, or the reason why the repository's own file cannot be obeyed. Then nothing is started there: what the
/// file wanted to forbid is not known.
pub(super) enum Settled {
    Settings(Box<RepoSettings>),
    BrokenFile(String),
}

pub(super) async fn settings(ctx: &Ctx, project: &Project) -> Result<Settled, ForgeError> {
    let base = ctx.config.for_repo(project);
    let Some(text) = repo_file(ctx, project).await? else {
        return Ok(Settled::Settings(Box::new(base)));
    };
    match base.narrowed_by(&text) {
        Ok((settings, refused)) => {
            for sentence in refused {
                tracing::warn!(repo.name = %project, "{REPO_FILE} of {project}: {sentence}");
            }
            Ok(Settled::Settings(Box::new(settings)))
        }
        Err(error) => Ok(Settled::BrokenFile(error.to_string())),
    }
}

async fn repo_file(ctx: &Ctx, project: &Project) -> Result<Option<String>, ForgeError> {
    let Ok(forge) = ctx.forge(project.forge) else { return Ok(None) };
    ctx.repo_files.read(forge, project, REPO_FILE).await
}

impl RepoFiles {
    pub(super) async fn read(
        &self,
        forge: &Forge,
        project: &Project,
        path: &str,
    ) -> Result<Option<String>, ForgeError> {
        let key = (project.clone(), path.to_owned());
        if let Some(known) = self.fresh(&key) {
            return Ok(known);
        }
        let text = forge.read_file(project, path).await?;
        self.keep(key, text.clone());
        Ok(text)
    }

    fn fresh(&self, key: &Place) -> Option<Option<String>> {
        let files = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        files.get(key).filter(|(at, _)| at.elapsed() < FRESH).map(|(_, text)| text.clone())
    }

    fn keep(&self, key: Place, text: Option<String>) {
        let mut files = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        files.retain(|_, (at, _)| at.elapsed() < FRESH);
        files.insert(key, (Instant::now(), text));
    }
}
