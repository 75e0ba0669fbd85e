//! Purpose: no git, an old git, a server that is not there, and what people are told.

use planwright::tools::git::{GitError, Rejection, Remote, Settings, Workspaces};
use proptest::prelude::*;
use tempfile::TempDir;

use super::{World, project, script_at, try_git};

#[tokio::test]
async fn a_git_that_is_missing_or_too_old_is_not_used() {
    let dir = TempDir::new().unwrap();
    let check = async || {
        let settings = Settings { search_path: dir.path().join("bin").into(), ..Settings::default() };
        Workspaces::with_settings(&dir.path().join("bot"), settings).check().await
    };
    assert_eq!(check().await, Err(GitError::NoGit("it was not found".to_owned())));
    script_at(&dir.path().join("bin/git"), "echo git version 2.30.2");
    let old = "git 2.38 or later is needed, this is `git version 2.30.2`";
    assert_eq!(check().await, Err(GitError::NoGit(old.to_owned())));
    script_at(&dir.path().join("bin/git"), "echo git version 2.38.0");
    assert_eq!(check().await, Ok(()));
    assert_eq!(Workspaces::new(dir.path()).check().await, Ok(()));
}

#[tokio::test]
async fn a_repository_that_is_not_there_is_said_so() {
    let world = World::new();
    let remote = |url: String| Remote { url, auth: None };
    let nowhere = remote(format!("file://{}/nowhere.git", world.dir.path().display()));
    assert_eq!(world.workspaces.refresh(&project(), &nowhere).await, Err(GitError::NotFound));
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let closed = remote(format!("http://{closed}/a.git"));
    assert!(matches!(world.workspaces.refresh(&project(), &closed).await, Err(GitError::Unreachable(_))));
    assert!(!world.bot().join("mirrors").exists(), "nothing is kept of them");
    world.refresh().await;
    assert_eq!(world.workspaces.refresh(&project(), &nowhere).await, Err(GitError::NotFound));
    assert!(world.workspaces.default_branch(&project()).await.unwrap().is_some(), "the mirror stays");
}

#[test]
fn people_are_told_the_cause_and_what_to_do() {
    let broken = GitError::Broken("fatal: /place/of/the/bot/x".to_owned());
    let unreachable = GitError::Unreachable("fatal: /place/of/the/bot/x".to_owned());
    for error in [broken, unreachable, GitError::NotFound, GitError::TimedOut(5), GitError::DiskFull] {
        let told = error.for_people();
        assert!(!told.contains("/place") && told.ends_with('.') && told.len() > 30, "{told}");
    }
    let other = GitError::Rejected { why: Rejection::Other("No pushes on Fridays".to_owned()) };
    assert_eq!(other.for_people(), "The server did not take my push. It says: No pushes on Fridays");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn every_branch_we_take_is_one_to_git(name in "[a-z./@{}~^:?*\\[\\\\ -]{1,6}|\\PC{1,12}|[a-z.-]{1,4}(/[a-z.-]{1,5}){0,2}(\\.lock)?") {
        if planwright::tools::git::is_branch_name(&name) {
            let dir = std::env::temp_dir();
            let taken = try_git(&dir, &["check-ref-format", "--branch", &name], "").status.success();
            prop_assert!(taken, "{name:?}");
        }
    }
}
