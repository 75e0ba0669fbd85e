//! Purpose: find out who is to be asked about a difficulty: whoever wanted the work, owns the files, or runs the bot.

use super::errand::Errand;
use super::preflight::settings_of;
use crate::actions::RepoPath;
use crate::crew::{CodeOwners, Owner, People, places, whom};
use crate::domain::Permission;
use crate::forge::Forge;
use crate::plan::StepId;
use crate::planning::{CrewFact, Fact, Plea, Run};

/// How many owners are looked up at most; each costs a request.
const LOOKED_UP: usize = 6;

/// The question with the names of those who are asked. Whoever cannot be found out about is not asked.
pub(super) async fn ask_people(errand: &Errand, mut plea: Plea) -> Fact {
    if let Some(run) = &errand.run {
        let owners = owners(errand, run, plea.step.as_ref()).await;
        let operators = match settings_of(&errand.ctx, &errand.thread.project).await {
            Ok(settings) => settings.crew.operators.clone(),
            Err(_) => errand.ctx.config.crew.operators.clone(),
        };
        let people = People { requester: run.requester.login.clone(), owners, operators };
        plea.asked = whom(plea.cause, &people);
    }
    Fact::Crew(CrewFact::Escalated(Box::new(plea)))
}

/// The owners of the files that a step is about, those of them that may change something here.
async fn owners(errand: &Errand, run: &Run, step: Option<&StepId>) -> Vec<String> {
    let Ok(forge) = errand.ctx.forge(errand.thread.project.forge) else { return vec![] };
    let Some(file) = code_owners(errand, forge).await else { return vec![] };
    let about = |action: &&crate::plan::Action| step.is_none_or(|step| action.task_id == *step);
    let actions = run.plan().into_iter().flat_map(|plan| plan.actions()).filter(about);
    let mut found: Vec<String> = vec![];
    let paths = actions.filter_map(|action| action.spec.path.as_ref()?.parse::<RepoPath>().ok());
    for owner in paths.flat_map(|path| file.owners_of(&path)) {
        if let Owner::User(login) = owner
            && !found.contains(&login)
            && found.len() < LOOKED_UP
        {
            found.push(login);
        }
    }
    let mut with_access = vec![];
    for login in found {
        if may_write(errand, forge, &login).await {
            with_access.push(login);
        }
    }
    with_access
}

async fn code_owners(errand: &Errand, forge: &Forge) -> Option<CodeOwners> {
    let project = &errand.thread.project;
    for place in places(project.forge) {
        match errand.ctx.repo_files.read(forge, project, place).await {
            Ok(Some(text)) => {
                let file = CodeOwners::parse(&text, project.forge);
                for problem in file.problems().iter().take(3) {
                    tracing::warn!("{place} of {project}: {problem}");
                }
                return Some(file);
            }
            Ok(None) => {}
            Err(error) => {
                tracing::warn!("cannot read {place} of {project}: {error}");
                return None;
            }
        }
    }
    None
}

/// Someone who could answer by doing something; naming others would only wake them up.
async fn may_write(errand: &Errand, forge: &Forge, login: &str) -> bool {
    let looked = async {
        let Some(account) = forge.account(login).await? else { return Ok(Permission::None) };
        forge.permission(&errand.thread.project, &account).await
    };
    match looked.await {
        Ok(permission) => permission >= Permission::Write,
        Err(error) => {
            tracing::warn!("cannot find out whether @{login} may write: {error}");
            false
        }
    }
}
