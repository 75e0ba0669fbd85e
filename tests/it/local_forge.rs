//! Purpose: the local forge's file: kept, locked, and never half written.

use std::path::Path;
use std::process::Command;

use planwright::domain::{Account, ForgeKind, Millis, NewChangeRequest, Permission, Project, Readiness};
use planwright::forge::local::{NewThread, Visibility};
use planwright::forge::{Forge, ForgeError, Local, LocalSettings};

fn open(path: &Path) -> Result<Local, ForgeError> {
    let bot = Account::person(1, "planwright");
    Local::open(LocalSettings { path: Some(path.to_owned()), bot, clock: || Millis(5) })
}

#[tokio::test]
async fn what_was_done_is_there_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("world.json");
    let project = Project::new(ForgeKind::Local, "sample").unwrap();
    let local = open(&path).unwrap();
    let opened = local.with(|world| {
        let maria = world.add_account(Account::person(2, "maria"));
        world.add_project(&project, Visibility::Private);
        world.set_member(&project, local.bot().id, Permission::Write)?;
        world.open(&project, NewThread::titled("Hello", maria), Millis(1))
    });
    let t = opened.unwrap().unwrap().thread;
    let forge = Forge::Local(local.clone());
    let id = forge.create_comment(&t, "kept").await.unwrap();
    drop((forge, local));

    let again = Forge::Local(open(&path).unwrap());
    let comments = again.comments(&t).await.unwrap();
    assert_eq!(comments.iter().map(|c| (c.id, c.body.as_str())).collect::<Vec<_>>(), [(id, "kept")]);
    assert_eq!(again.thread(&t).await.unwrap().title, "Hello");
}

#[test]
fn a_second_process_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("world.json");
    let first = open(&path).unwrap();
    let second = open(&path).unwrap_err();
    assert_eq!(second, ForgeError::Invalid(format!("`{}` is in use by another process", path.display())));
    drop(first);
    open(&path).unwrap();
}

#[test]
fn a_damaged_file_is_reported_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("world.json");
    std::fs::write(&path, "{\"accounts\": ").unwrap();
    assert!(matches!(open(&path), Err(ForgeError::Broken(_))));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"accounts\": ");
}

#[test]
fn what_cannot_be_stored_did_not_happen() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("gone");
    std::fs::create_dir(&folder).unwrap();
    let local = open(&folder.join("world.json")).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let added = local.with(|world| world.add_account(Account::person(2, "maria")));
    assert!(matches!(added, Err(ForgeError::Unclear(_))), "{added:?}");
    assert_eq!(local.look(|world| world.accounts().count()), 1, "only the bot");
}

/// Runs git in a folder, untouched by whoever runs the tests.
fn git(dir: &Path, words: &[&str]) {
    let identity = ["user.name=t", "user.email=t@example.invalid"].map(|set| ["-c", set]).concat();
    let done = Command::new("git")
        .args(identity)
        .args(words)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .unwrap();
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
}

#[tokio::test]
async fn a_change_request_is_a_branch_and_a_record() {
    let dir = tempfile::tempdir().unwrap();
    let (bare, work) = (dir.path().join("sample.git"), dir.path().join("work"));
    git(dir.path(), &["init", "-q", "--bare", "-b", "trunk", "sample.git"]);
    let project = Project::new(ForgeKind::Local, "sample").unwrap();
    let local = open(&dir.path().join("world.json")).unwrap();
    let furnished = local.with(|world| {
        world.add_project(&project, Visibility::Private);
        world.set_member(&project, local.bot().id, Permission::Write)?;
        world.project_mut(&project)?.git = Some(bare.clone());
        Ok::<_, ForgeError>(())
    });
    furnished.unwrap().unwrap();
    let forge = Forge::Local(local.clone());
    assert_eq!(forge.repository(&project).await.unwrap().default_branch, None, "nothing was pushed");

    let url = forge.git_access(&project).await.unwrap().url;
    git(dir.path(), &["clone", "-q", &url, "work"]);
    git(&work, &["commit", "-q", "--allow-empty", "-m", "begin"]);
    git(&work, &["push", "-q", "origin", "HEAD:trunk"]);
    assert_eq!(forge.repository(&project).await.unwrap().default_branch.as_deref(), Some("trunk"));

    let new = NewChangeRequest {
        head: "planwright/1-hello",
        base: "trunk",
        title: "Hello",
        body: "",
        readiness: Readiness::Draft,
    };
    let early = forge.create_change_request(&project, &new).await;
    assert!(matches!(&early, Err(ForgeError::Invalid(why)) if why.contains("no branch")), "{early:?}");
    git(&work, &["push", "-q", "origin", "HEAD:planwright/1-hello"]);
    let opened = forge.create_change_request(&project, &new).await.unwrap();
    git(&bare, &["pack-refs", "--all"]);
    drop((forge, local));
    let again = Forge::Local(open(&dir.path().join("world.json")).unwrap());
    assert_eq!(again.find_change_request(&project, new.head).await.unwrap(), Some(opened), "kept");
    assert_eq!(again.repository(&project).await.unwrap().default_branch.as_deref(), Some("trunk"), "packed");
}
