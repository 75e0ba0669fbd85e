//! Purpose: the token reaches its server and nothing else: no argument, no file, no error, no other host.

use std::path::Path;

use planwright::tools::git::{GitError, Settings};

use super::http_server::{Mood, Server, TOKEN, basic};
use super::{BRANCH, World, committed, project, script_at, write};

/// Everything in the folder, as bytes: names, contents, and where links lead.
fn all_bytes(dir: &Path, found: &mut Vec<u8>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        found.extend_from_slice(entry.file_name().as_encoded_bytes());
        if entry.file_type().unwrap().is_dir() {
            all_bytes(&entry.path(), found);
        } else {
            found.extend(std::fs::read(entry.path()).unwrap_or_default());
        }
    }
}

fn has(bytes: &[u8], needle: &str) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle.as_bytes())
}

#[tokio::test]
async fn the_token_is_in_no_argument_and_on_no_disk() {
    let spy = tempfile::TempDir::new().unwrap();
    let (args, env) = (spy.path().join("args"), spy.path().join("env"));
    let real = Settings::default().search_path.into_string().unwrap();
    let search_path = format!("{}:{real}", spy.path().join("bin").display());
    // The wrapper must find the real git, not itself.
    script_at(
        &spy.path().join("bin/git"),
        &format!(
            "printf '%s\\n' \"$@\" >> '{}'; env >> '{}'; PATH='{real}'; exec git \"$@\"",
            args.display(),
            env.display()
        ),
    );
    let network_env = [("no_proxy", "127.0.0.1"), ("LD_PRELOAD", "/x.so")];
    let network_env = network_env.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let settings = Settings { search_path: search_path.into(), network_env, ..Settings::default() };
    let world = World::with(settings);
    world.write("a", "a");
    world.publish("Begin");
    let server = Server::start(world.dir.path()).await;
    let remote = server.remote(TOKEN);
    world.workspaces.refresh(&project(), &remote).await.unwrap();
    let head = world.workspaces.default_branch(&project()).await.unwrap().unwrap();
    let workspace = world.open_at("r1", BRANCH, &head.commit).await.unwrap();
    write(workspace.tree(), "b", "b");
    committed(workspace.commit("B", &[]).await.unwrap());
    workspace.push(&remote, Some("main")).await.unwrap();

    assert!(server.seen().iter().all(|auth| auth.as_ref() == Some(&basic(TOKEN))), "sent with every request");
    let (args, env) = (std::fs::read(args).unwrap(), std::fs::read_to_string(env).unwrap());
    let encoded = basic(TOKEN).replace("Basic ", "");
    let mut disk = Vec::new();
    all_bytes(&world.bot(), &mut disk);
    assert!(has(&args, "fast-import") && has(&disk, "refs/heads/main"), "the spies work");
    for secret in [TOKEN, &encoded] {
        assert!(!has(&args, secret) && !has(&disk, secret));
    }
    assert_eq!(env.matches(&encoded).count(), 3, "ls-remote, fetch and push");
    assert_eq!(env.matches("no_proxy=").count(), 4, "these and the copy from the mirror");
    assert_eq!(env.matches(TOKEN).count(), 0);
    check_environment(&env);
}

/// No variable of ours that we did not mean.
fn check_environment(env: &str) {
    let known = ["PATH", "HOME", "LC_ALL", "TZ", "SSH_ASKPASS", "PWD", "OLDPWD", "SHLVL", "_", "no_proxy"];
    for line in env.lines().filter(|line| line.contains('=')) {
        let name = line.split('=').next().unwrap();
        assert!(known.contains(&name) || name.starts_with("GIT_"), "{name} was handed down");
    }
}

#[tokio::test]
async fn a_wrong_token_is_refused_without_being_repeated() {
    let world = World::new();
    let server = Server::start(world.dir.path()).await;
    let wrong = "ghs_WrongCanary";
    let refused = world.workspaces.refresh(&project(), &server.remote(wrong)).await.unwrap_err();
    assert_eq!(refused, GitError::Unauthorized);
    let head = world.refresh().await;
    let workspace = world.open_at("r1", BRANCH, &head.commit).await.unwrap();
    write(workspace.tree(), "b", "b");
    committed(workspace.commit("B", &[]).await.unwrap());
    assert_eq!(workspace.push(&server.remote(wrong), None).await, Err(GitError::Unauthorized));
    let mut without = server.remote(TOKEN);
    without.auth = None;
    assert_eq!(workspace.push(&without, None).await, Err(GitError::Unauthorized));
}

#[tokio::test]
async fn a_server_that_repeats_the_token_is_not_repeated() {
    let world = World::new();
    let server = Server::start(world.dir.path()).await;
    server.feel(Mood::Refuses(500, "your token is ghs_Canary0Token1Of2The3Tests4"));
    let error = world.workspaces.refresh(&project(), &server.remote(TOKEN)).await.unwrap_err();
    let told = format!("{error} {error:?} {}", error.for_people());
    assert!(!told.contains(TOKEN), "{told}");
    assert!(matches!(error, GitError::Unreachable(_)), "{error:?}");
}

#[tokio::test]
async fn the_token_does_not_follow_to_another_address() {
    let world = World::new();
    let (server, other) = (Server::start(world.dir.path()).await, Server::start(world.dir.path()).await);
    server.feel(Mood::Redirects(other.base.clone()));
    let moved = world.workspaces.refresh(&project(), &server.remote(TOKEN)).await;
    assert_eq!(moved, Err(GitError::Moved));
    assert_eq!(other.seen(), Vec::<Option<String>>::new());
}
