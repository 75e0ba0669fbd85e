//! Purpose: looking at a repository through its mirror.

use planwright::actions::RepoPath;
use planwright::tools::git::{Blob, BlobKind, Commit, GitError, Head};

use super::{World, git, git_with, project};

fn path(text: &str) -> RepoPath {
    text.parse().unwrap()
}

#[tokio::test]
async fn a_branch_is_seen_where_it_was_last_fetched() {
    let world = World::new();
    let first = world.refresh().await;
    assert_eq!(first, Head { branch: "main".to_owned(), commit: first.commit.clone() });
    world.write("new.txt", "x");
    let second = world.publish("More");
    world.push_theirs("feature/a");
    assert_eq!(world.workspaces.branch(&project(), "main").await, Ok(Some(first.commit)));
    assert_eq!(world.refresh().await.commit, second);
    assert_eq!(world.workspaces.branch(&project(), "feature/a").await, Ok(Some(second)));
    git(&world.origin(), &["update-ref", "-d", "refs/heads/feature/a"]);
    world.push_theirs("feature");
    world.refresh().await;
    assert_eq!(world.workspaces.branch(&project(), "feature/a").await, Ok(None));
    assert!(world.workspaces.branch(&project(), "feature").await.unwrap().is_some());
    for bad in ["--all", "../x", "main^", "HEAD", ""] {
        assert_eq!(world.workspaces.branch(&project(), bad).await, Err(GitError::BadName(bad.to_owned())));
    }
}

#[tokio::test]
async fn an_empty_repository_has_no_default_branch() {
    let world = World::empty();
    assert_eq!(world.workspaces.default_branch(&project()).await, Err(GitError::NotFound), "never fetched");
    world.workspaces.refresh(&project(), &world.remote()).await.unwrap();
    assert_eq!(world.workspaces.default_branch(&project()).await, Ok(None));
    world.write("a", "a");
    let commit = world.publish("Begin");
    assert_eq!(world.refresh().await.commit, commit);
    git(&world.origin(), &["update-ref", "-d", "refs/heads/main"]);
    world.workspaces.refresh(&project(), &world.remote()).await.unwrap();
    assert_eq!(world.workspaces.default_branch(&project()).await, Ok(None), "emptied again");
}

#[tokio::test]
async fn a_default_branch_that_is_gone_or_not_named_is_none() {
    let world = World::new();
    world.refresh().await;
    git(&world.origin(), &["symbolic-ref", "HEAD", "refs/heads/gone"]);
    world.workspaces.refresh(&project(), &world.remote()).await.unwrap();
    assert_eq!(world.workspaces.default_branch(&project()).await, Ok(None));
    git(&world.origin(), &["update-ref", "--no-deref", "HEAD", "refs/heads/main"]);
    world.workspaces.refresh(&project(), &world.remote()).await.unwrap();
    assert_eq!(world.workspaces.default_branch(&project()).await, Ok(None), "detached");
}

#[tokio::test]
async fn files_are_read_from_a_commit() {
    let world = World::new();
    world.write("run.sh", "#!/bin/sh\n");
    world.write("crlf.txt", "a\r\nb\r\n");
    world.write(".gitattributes", "*.txt text eol=lf ident\n");
    let theirs = world.theirs();
    std::os::unix::fs::symlink("/etc/passwd", theirs.join("link")).unwrap();
    std::os::unix::fs::symlink("src", theirs.join("folder-link")).unwrap();
    git(&theirs, &["add", "-A"]);
    git(&theirs, &["update-index", "--chmod=+x", "run.sh"]);
    let sub = format!("160000,{},sub", "1".repeat(40));
    git(&theirs, &["update-index", "--add", "--cacheinfo", &sub]);
    git(&theirs, &["commit", "-qm", "All kinds"]);
    world.push_theirs("main");
    let commit = world.refresh().await.commit;
    let read =
        async |name: &str, cap| world.workspaces.read(&project(), &commit, &path(name), cap).await.unwrap();
    let blob = |bytes: &[u8], size, kind| Some(Blob { bytes: bytes.to_owned(), size, kind });
    assert_eq!(read("README.md", 100).await, blob(b"hello\n", 6, BlobKind::File));
    assert_eq!(read("README.md", 2).await, blob(b"he", 6, BlobKind::File));
    assert_eq!(read("run.sh", 100).await, blob(b"#!/bin/sh\n", 10, BlobKind::Executable));
    assert_eq!(read("link", 100).await, blob(b"/etc/passwd", 11, BlobKind::Symlink));
    assert_eq!(read("src", 100).await, blob(b"", 0, BlobKind::Directory));
    assert_eq!(read("sub", 100).await, blob(b"", 0, BlobKind::Submodule));
    assert_eq!(read("folder-link/lib.rs", 100).await, None);
    assert_eq!(read("nothing", 100).await, None);
    assert_eq!(read("*", 100).await, None);
    assert_eq!(read(":(glob)**", 100).await, None);
}

#[tokio::test]
async fn a_tree_is_cut_at_the_cap() {
    let world = World::empty();
    let mut stream =
        String::from("blob\nmark :1\ndata 1\nx\ncommit refs/heads/main\ncommitter A <a@b> 1 +0000\ndata 0\n");
    for number in 0..20_000 {
        stream.push_str(&format!("M 100644 :1 d{}/f{number}\n", number % 100));
    }
    git_with(&world.origin(), &["fast-import", "--quiet"], &stream);
    let commit = world.refresh().await.commit;
    let whole = world.workspaces.tree(&project(), &commit, 20_000).await.unwrap();
    assert_eq!((whole.paths.len(), whole.truncated), (20_000, false));
    let cut = world.workspaces.tree(&project(), &commit, 19_999).await.unwrap();
    assert_eq!((cut.paths.len(), cut.truncated), (19_999, true));
    assert_eq!(cut.paths[..], whole.paths[..19_999]);
}

#[tokio::test]
async fn a_commit_that_nobody_has_is_said_to_be_unknown() {
    let world = World::new();
    world.refresh().await;
    let unknown: Commit = "1".repeat(40).parse().unwrap();
    let missing = || GitError::NoSuchCommit(unknown.clone());
    assert_eq!(world.workspaces.tree(&project(), &unknown, 10).await, Err(missing()));
    assert_eq!(world.workspaces.read(&project(), &unknown, &path("a"), 10).await, Err(missing()));
    assert_eq!(world.open_at("r1", super::BRANCH, &unknown).await.err(), Some(missing()));
}

#[tokio::test]
async fn a_repository_with_longer_names_takes_the_place_of_another() {
    let world = World::new();
    assert_eq!(world.refresh().await.commit.as_str().len(), 40);
    std::fs::remove_dir_all(world.origin()).unwrap();
    std::fs::remove_dir_all(world.theirs()).unwrap();
    let args = ["init", "-q", "--object-format=sha256", "-b", "main"];
    git(world.dir.path(), &[&args[..], &["--bare", "origin.git"]].concat());
    git(world.dir.path(), &[&args[..], &["theirs"]].concat());
    world.write("a", "a");
    let commit = world.publish("Begin");
    assert_eq!((world.refresh().await.commit, commit.as_str().len()), (commit.clone(), 64));
    let workspace = world.open("r1").await;
    assert_eq!(workspace.head().await, Ok(commit));
}

#[tokio::test]
async fn callers_for_one_repository_wait_for_each_other() {
    let world = World::new();
    let (remote, project) = (world.remote(), project());
    let all = (0..6).map(|_| world.workspaces.refresh(&project, &remote));
    for done in futures_util::future::join_all(all).await {
        assert_eq!(done, Ok(()));
    }
}

#[tokio::test]
async fn a_damaged_mirror_is_made_anew() {
    let world = World::new();
    let head = world.refresh().await;
    let mirror = world.bot().join("mirrors/gitlab/acme/tools/web,mirror.git");
    let damages: [fn(&std::path::Path); 4] = [
        |mirror| std::fs::remove_dir_all(mirror.join("objects")).unwrap(),
        |mirror| std::fs::write(mirror.join("HEAD"), "").unwrap(),
        |mirror| std::fs::write(mirror.join("config"), "[garbage").unwrap(),
        |mirror| std::fs::write(mirror.join("refs/heads/main"), "\0\0\0").unwrap(),
    ];
    for damage in damages {
        damage(&mirror);
        assert_eq!(world.refresh().await, head);
        assert_eq!(world.workspaces.tree(&project(), &head.commit, 10).await.unwrap().paths.len(), 2);
    }
    std::fs::write(mirror.join("shallow.lock"), "").unwrap();
    std::fs::write(mirror.join("refs/heads/main.lock"), "").unwrap();
    let next = world.publish("Next");
    assert_eq!(world.refresh().await.commit, next);
}
