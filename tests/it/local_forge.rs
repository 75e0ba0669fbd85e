//! Purpose: the local forge's file: kept, locked, and never half written.

use planwright::domain::{Account, ForgeKind, Millis, Permission, Project};
use planwright::forge::local::{NewThread, Visibility};
use planwright::forge::{Forge, ForgeError, Local, LocalSettings};

fn open(path: &std::path::Path) -> Result<Local, ForgeError> {
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
