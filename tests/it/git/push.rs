//! Purpose: pushing: only our branch, never by force, and every refusal by its kind.

use planwright::tools::git::{GitError, Refusal, Rejection, Workspace};

use super::http_server::{Mood, Server, TOKEN};
use super::{BRANCH, World, committed, git, project, write};

async fn with_commit(world: &World, branch: &str) -> Workspace {
    let head = world.refresh().await;
    let workspace = world.open_at("r1", branch, &head.commit).await.unwrap();
    write(workspace.tree(), "new.txt", "new");
    committed(workspace.commit("New", &[]).await.unwrap());
    workspace
}

fn branches(world: &World) -> String {
    git(&world.origin(), &["for-each-ref", "--format=%(refname)"])
}

#[tokio::test]
async fn only_the_branch_of_the_run_is_pushed() {
    let world = World::new();
    let workspace = with_commit(&world, BRANCH).await;
    workspace.push(&world.remote(), Some("main")).await.unwrap();
    workspace.push(&world.remote(), Some("main")).await.unwrap();
    assert_eq!(branches(&world), format!("refs/heads/main\nrefs/heads/{BRANCH}"));
    assert_eq!(git(&world.origin(), &["rev-parse", BRANCH]), workspace.head().await.unwrap().as_str());
    assert_eq!(git(&world.origin(), &["fsck", "--strict"]), "");
}

#[tokio::test]
async fn the_default_branch_and_those_of_others_are_never_pushed_to() {
    let world = World::new();
    for (branch, default, why) in [
        ("main", Some("main"), Refusal::DefaultBranch),
        ("main", None, Refusal::NotOurs),
        ("feature", Some("main"), Refusal::NotOurs),
        ("planwrighter", Some("main"), Refusal::NotOurs),
        ("planwright/1", Some("planwright/1"), Refusal::DefaultBranch),
    ] {
        let workspace = with_commit(&world, branch).await;
        let refused = workspace.push(&world.remote(), default).await;
        assert_eq!(refused, Err(GitError::Refused { branch: branch.to_owned(), why }));
        assert_eq!(branches(&world), "refs/heads/main");
        world.workspaces.forget("r1").await.unwrap();
    }
}

#[tokio::test]
async fn what_others_pushed_is_never_overwritten() {
    let world = World::new();
    let workspace = with_commit(&world, BRANCH).await;
    world.write("theirs.txt", "theirs");
    git(&world.theirs(), &["add", "-A"]);
    git(&world.theirs(), &["commit", "-qm", "Theirs"]);
    world.push_theirs(BRANCH);
    let before = git(&world.origin(), &["rev-parse", BRANCH]);
    let rejected = workspace.push(&world.remote(), Some("main")).await;
    assert_eq!(rejected, Err(GitError::Rejected { why: Rejection::NonFastForward }));
    assert_eq!(git(&world.origin(), &["rev-parse", BRANCH]), before);
}

#[tokio::test]
async fn a_protected_branch_is_known_by_the_words_of_the_server() {
    let world = World::new();
    let workspace = with_commit(&world, BRANCH).await;
    world.hook(
        "pre-receive",
        "echo 'GitLab: You are not allowed to push code to protected branches on this project.' >&2; exit 1",
    );
    let rejected = workspace.push(&world.remote(), Some("main")).await;
    assert_eq!(rejected, Err(GitError::Rejected { why: Rejection::Protected }));
    world.hook("pre-receive", "echo 'No pushes on Fridays' >&2; exit 1");
    let rejected = workspace.push(&world.remote(), Some("main")).await.unwrap_err();
    let GitError::Rejected { why: Rejection::Other(words) } = rejected else { panic!("{rejected:?}") };
    assert!(words.contains("No pushes on Fridays"), "{words}");
    assert_eq!(branches(&world), "refs/heads/main");
}

#[tokio::test]
async fn it_works_over_http_too() {
    let world = World::new();
    let server = Server::start(world.dir.path()).await;
    let remote = server.remote(TOKEN);
    world.workspaces.refresh(&project(), &remote).await.unwrap();
    let head = world.workspaces.default_branch(&project()).await.unwrap().unwrap();
    let workspace = world.open_at("r1", BRANCH, &head.commit).await.unwrap();
    // Larger than what git sends in one piece.
    let large: String = (0..400_000_u32).map(|n| format!("{:x}\n", n.wrapping_mul(2_654_435_761))).collect();
    write(workspace.tree(), "large.txt", &large);
    let (commit, _, _) = committed(workspace.commit("Large", &[]).await.unwrap());
    workspace.push(&remote, Some("main")).await.unwrap();
    assert_eq!(git(&world.origin(), &["rev-parse", BRANCH]), commit.as_str());
    world.workspaces.refresh(&project(), &remote).await.unwrap();
    assert_eq!(world.workspaces.branch(&project(), BRANCH).await, Ok(Some(commit)));
}

#[tokio::test]
async fn answers_of_a_server_are_told_apart() {
    let world = World::new();
    let workspace = with_commit(&world, BRANCH).await;
    let server = Server::start(world.dir.path()).await;
    let remote = server.remote(TOKEN);
    let push = async || workspace.push(&remote, Some("main")).await.unwrap_err();
    server.feel(Mood::Refuses(403, "This repository was archived so it is read-only."));
    assert_eq!(push().await, GitError::ReadOnly);
    server.feel(Mood::Refuses(403, "Permission to acme/web.git denied."));
    assert_eq!(push().await, GitError::Forbidden);
    server.feel(Mood::Refuses(404, "Repository not found."));
    assert_eq!(push().await, GitError::NotFound);
    server.feel(Mood::Refuses(503, "Down for repairs."));
    assert!(matches!(push().await, GitError::Unreachable(_)));
    server.feel(Mood::Good);
    let mut other = remote.clone();
    other.url = format!("{}/nothing.git", server.base);
    assert_eq!(workspace.push(&other, None).await, Err(GitError::NotFound));
    drop(server);
    assert!(matches!(push().await, GitError::Unreachable(_)));
}
