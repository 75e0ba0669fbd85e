//! Purpose: repositories, trees and changes that are too large, and a server that never answers.

use std::time::{Duration, Instant};

use planwright::tools::git::{Committed, GitError, Settings, TooLarge};

use super::http_server::{Mood, Server, TOKEN};
use super::{BRANCH, World, git_with, project, write};

fn noise(seed: u64, size: usize) -> String {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut text = String::new();
    while text.len() < size {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        text.push_str(&format!("{state:016x}\n"));
    }
    text
}

#[tokio::test]
async fn a_repository_over_the_limit_is_refused_and_not_kept() {
    let world = World::with(Settings { mirror_bytes: 200_000, ..Settings::default() });
    world.write("a", &noise(1, 1_000_000));
    world.publish("Large");
    let refused = world.workspaces.refresh(&project(), &world.remote()).await;
    assert_eq!(refused, Err(GitError::TooLarge(TooLarge::Repository { limit: 200_000 })));
    assert_eq!(world.workspaces.default_branch(&project()).await, Err(GitError::NotFound));
    assert!(!world.bot().join("mirrors/gitlab/acme/tools/web,mirror.git").exists());
}

#[tokio::test]
async fn a_mirror_that_has_grown_is_made_anew() {
    let world = World::with(Settings { mirror_bytes: 400_000, ..Settings::default() });
    for round in 1..=4 {
        world.write("a", &noise(round, 250_000));
        let commit = world.publish("Another");
        assert_eq!(world.refresh().await.commit, commit);
    }
}

#[tokio::test]
async fn the_past_of_a_repository_is_not_fetched() {
    let world = World::with(Settings { mirror_bytes: 400_000, ..Settings::default() });
    for round in 1..=8 {
        world.write("a", &noise(round, 250_000));
        world.publish("Another");
    }
    let workspace = world.open("r1").await;
    write(workspace.tree(), "b", "b");
    assert_ne!(workspace.commit("B", &[]).await, Ok(Committed::NothingChanged));
    workspace.push(&world.remote(), Some("main")).await.unwrap();
    assert_eq!(super::git(&world.origin(), &["rev-list", "--count", BRANCH]), "9");
}

/// Ten folders deep, ten entries each: a few hundred bytes that name ten thousand million files.
#[tokio::test]
async fn a_tree_that_repeats_itself_is_not_checked_out() {
    let world = World::empty();
    let mut object = git_with(&world.origin(), &["hash-object", "-w", "--stdin"], "x");
    let mut kind = "100644 blob";
    for _ in 0..10 {
        let list: String = (0..10).map(|n| format!("{kind} {object}\t{n}\n")).collect();
        object = git_with(&world.origin(), &["mktree"], &list);
        kind = "040000 tree";
    }
    let commit = git_with(&world.origin(), &["commit-tree", &object, "-m", "Bomb"], "");
    git_with(&world.origin(), &["update-ref", "refs/heads/main", &commit], "");
    let head = world.refresh().await;
    let refused = world.open_at("r1", BRANCH, &head.commit).await.err();
    assert!(matches!(refused, Some(GitError::TooLarge(TooLarge::Tree { .. }))), "{refused:?}");
    assert!(!world.bot().join("runs/r1/tree").exists());
    assert!(world.workspaces.tree(&project(), &head.commit, 100).await.unwrap().truncated);
}

#[tokio::test]
async fn a_tree_with_too_many_bytes_is_not_checked_out() {
    let world = World::with(Settings { tree_bytes: 10_000, ..Settings::default() });
    world.write("a", &"0".repeat(10_001));
    world.publish("Zeros");
    let head = world.refresh().await;
    let refused = world.open_at("r1", BRANCH, &head.commit).await.err();
    assert!(matches!(refused, Some(GitError::TooLarge(TooLarge::Tree { .. }))), "{refused:?}");
}

#[tokio::test]
async fn a_change_over_the_limits_is_not_committed() {
    let world = World::with(Settings { commit_files: 3, commit_bytes: 1_000, ..Settings::default() });
    world.write("a", "a");
    world.publish("Begin");
    let workspace = world.open("r1").await;
    let too_large = Err(GitError::TooLarge(TooLarge::Change { files: 3, bytes: 1_000 }));
    write(workspace.tree(), "one", &"1".repeat(1_001));
    assert_eq!(workspace.commit("Bytes", &[]).await, too_large);
    write(workspace.tree(), "one", &"1".repeat(600));
    write(workspace.tree(), "two", &"2".repeat(401));
    assert_eq!(workspace.commit("Bytes in two files", &[]).await, too_large);
    workspace.discard().await.unwrap();
    for name in ["1", "2", "3", "4"] {
        write(workspace.tree(), name, "");
    }
    assert_eq!(workspace.commit("Files", &[]).await, too_large);
    assert_eq!(workspace.head().await.as_ref(), Ok(workspace.start()));
    std::fs::remove_file(workspace.tree().join("4")).unwrap();
    assert!(matches!(workspace.commit("Just so", &[]).await, Ok(Committed::Commit { bytes: 0, .. })));
}

#[tokio::test]
async fn a_server_that_never_answers_is_left() {
    let world = World::with(Settings { network_timeout: Duration::from_millis(300), ..Settings::default() });
    let server = Server::start(world.dir.path()).await;
    server.feel(Mood::Silent);
    let began = Instant::now();
    let left = world.workspaces.refresh(&project(), &server.remote(TOKEN)).await;
    assert_eq!(left, Err(GitError::TimedOut(0)));
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_call_nobody_waits_for_is_ended_with_its_children() {
    let world = World::empty();
    let (pids, gate) = (world.dir.path().join("pids"), world.dir.path().join("gate"));
    assert!(std::process::Command::new("mkfifo").arg(&gate).status().unwrap().success());
    world.write("a", "a");
    world.publish("Begin");
    let workspace = world.open("r1").await;
    write(workspace.tree(), "b", "b");
    assert_ne!(workspace.commit("B", &[]).await, Ok(Committed::NothingChanged));
    // A hook of the server that tells its id, then waits at a pipe that nobody opens.
    world.hook(
        "pre-receive",
        &format!("echo $$ > '{}'; trap '' TERM; read x < '{}'", pids.display(), gate.display()),
    );
    let remote = world.remote();
    let mut push = Box::pin(workspace.push(&remote, None));
    let pid = loop {
        tokio::select! {
            done = &mut push => panic!("{done:?}"),
            () = tokio::time::sleep(Duration::from_millis(5)) => {}
        }
        match std::fs::read_to_string(&pids) {
            Ok(pid) if pid.ends_with('\n') => break pid.trim().to_owned(),
            Ok(_) | Err(_) => {}
        }
    };
    let stat = format!("/proc/{pid}/stat");
    let lives = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
    assert!(lives());
    drop(push);
    let began = Instant::now();
    while lives() {
        assert!(began.elapsed() < Duration::from_secs(5), "it goes on");
        tokio::task::yield_now().await;
    }
}
