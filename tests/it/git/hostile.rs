//! Purpose: a hostile repository, and tools that make one of the checkout: nothing of theirs is ever executed.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use planwright::tools::git::{Committed, GitError, Merged, Workspace};

use super::{
    BRANCH, World, committed, git, git_with, project, put, read, script_at, take_over, try_git, write,
};

/// Every program a stranger could have us run leaves this file behind.
fn marker(world: &World) -> PathBuf {
    world.dir.path().join("EXECUTED")
}

fn command(world: &World) -> String {
    format!("touch '{}'", marker(world).display())
}

/// All that git knows to execute, as settings.
fn evil_config(world: &World) -> String {
    let run = command(world);
    format!(
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfsmonitor = \"{run}\"\n\tpager = \"{run}\"\n\teditor = \"{run}\"\n\
         \tsshCommand = \"{run}\"\n\taskPass = \"{run}\"\n\thooksPath = hooks\n\tattributesFile = x\n\
         [filter \"evil\"]\n\tclean = \"{run}; cat\"\n\tsmudge = \"{run}; cat\"\n\tprocess = \"{run}\"\n\trequired = true\n\
         [filter \"lfs\"]\n\tclean = \"{run}; cat\"\n\tsmudge = \"{run}; cat\"\n\tprocess = \"{run}\"\n\
         [diff \"evil\"]\n\tcommand = \"{run}\"\n\ttextconv = \"{run}\"\n[merge \"evil\"]\n\tdriver = \"{run}\"\n\
         [diff]\n\texternal = \"{run}\"\n[credential]\n\thelper = \"!{run}\"\n[gpg]\n\tprogram = \"{run}\"\n\
         [commit]\n\tgpgSign = true\n[alias]\n\tlog = \"!{run}\"\n\tread-tree = \"!{run}\"\n\tpush = \"!{run}\"\n\
         [protocol]\n\tallow = always\n[uploadpack]\n\tpackObjectsHook = \"{run}\"\n[submodule]\n\trecurse = true\n\
         [url \"ext::sh -c {run}\"]\n\tinsteadOf = file\n"
    )
}

const HOOKS: [&str; 9] = [
    "pre-commit",
    "post-commit",
    "post-checkout",
    "pre-push",
    "post-index-change",
    "reference-transaction",
    "fsmonitor-watchman",
    "prepare-commit-msg",
    "pre-auto-gc",
];

/// A repository with everything in it that git might obey.
fn hostile() -> World {
    let world = World::new();
    let theirs = world.theirs();
    let config = evil_config(&world);
    for place in [".gitconfig", "config", ".config/git/config", "etc/gitconfig"] {
        world.write(place, &config);
    }
    world.write(
        ".gitattributes",
        "* filter=evil diff=evil merge=evil ident\n*.bin filter=lfs diff=lfs -text\n",
    );
    world.write("a.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n");
    world.write(".lfsconfig", "[lfs]\n\turl = ext::x\n");
    let run = command(&world);
    world.write(
        ".gitmodules",
        &format!("[submodule \"sub\"]\n\tpath = sub\n\turl = https://example.invalid/x.git\n\tupdate = checkout\n# {run}\n"),
    );
    for hook in HOOKS {
        script_at(&theirs.join("hooks").join(hook), &run);
        script_at(&theirs.join(".githooks").join(hook), &run);
    }
    symlink("/etc", theirs.join("outside")).unwrap();
    symlink("../../../..", theirs.join("upwards")).unwrap();
    symlink(".git/hooks", theirs.join("into-git")).unwrap();
    git(&theirs, &["add", "-A"]);
    git(&theirs, &["update-index", "--add", "--cacheinfo", &format!("160000,{},sub", "1".repeat(40))]);
    git(&theirs, &["commit", "-qm", "Trap"]);
    world.push_theirs("main");
    world
}

/// What a run does, from the first to the last.
async fn live(world: &World, workspace: &Workspace) {
    write(workspace.tree(), "README.md", "changed\n");
    write(workspace.tree(), "a.bin", "changed\n");
    write(workspace.tree(), "new.bin", "new\n");
    committed(workspace.commit("Change", &[]).await.unwrap());
    write(workspace.tree(), "README.md", "thrown away\n");
    workspace.discard().await.unwrap();
    let diff = workspace.diff(workspace.start(), 100_000).await.unwrap();
    assert!(diff.text.contains("+changed"), "{}", diff.text);
    assert_eq!(workspace.log(workspace.start()).await.unwrap()[0].1, "Change");
    workspace.push(&world.remote(), Some("main")).await.unwrap();
}

#[tokio::test]
async fn a_hostile_repository_executes_nothing() {
    let world = hostile();
    let workspace = world.open("r1").await;
    assert!(workspace.tree().join("outside").is_symlink(), "links are kept as they are");
    assert_eq!(
        std::fs::read_dir(workspace.tree().join("sub")).unwrap().count(),
        0,
        "no submodule is fetched"
    );
    live(&world, &workspace).await;
    world.open_at("r1", BRANCH, workspace.start()).await.unwrap();
    assert!(!marker(&world).exists());
    // The trap is real: a git that obeys these settings falls into it.
    write(&world.theirs(), "README.md", "touched\n");
    let include = format!("include.path={}", world.theirs().join(".gitconfig").display());
    try_git(&world.theirs(), &["-c", &include, "add", "-A"], "");
    assert!(marker(&world).exists());
}

/// A tool makes repositories in the tree whose settings execute things, also where a submodule belongs.
#[tokio::test]
async fn a_repository_that_a_tool_made_in_the_tree_is_only_files() {
    let world = hostile();
    let workspace = world.open("r1").await;
    let tree = workspace.tree();
    for place in ["", "inner", "inner/deeper", "sub", "src"] {
        let repository = tree.join(place);
        std::fs::create_dir_all(&repository).unwrap();
        git(&repository, &["init", "-q", "--template="]);
        write(&repository, "file.txt", "text\n");
        write(&repository, ".gitattributes", "* filter=evil diff=evil\n");
        try_git(&repository, &["add", "file.txt"], "");
        try_git(&repository, &["commit", "-qm", "Inner"], "");
        write(&repository, "file.txt", "changed\n");
        write(&repository, ".git/config", &evil_config(&world));
        for hook in HOOKS {
            script_at(&repository.join(".git/hooks").join(hook), &command(&world));
        }
    }
    let _ = std::fs::remove_file(marker(&world));
    let (_, files, _) = committed(workspace.commit("Tools were here", &[]).await.unwrap());
    for file in ["file.txt", "inner/file.txt", "inner/deeper/file.txt", "src/file.txt"] {
        assert!(files.iter().any(|other| other == file), "{file} is not in {files:?}");
    }
    assert!(!files.iter().any(|file| file.starts_with("sub") || file.contains(".git/")), "{files:?}");
    // Where the folder's own files are known, git never looks for a repository; there it may stay.
    for place in [".git", "inner/.git", "inner/deeper/.git"] {
        assert!(!tree.join(place).exists(), "{place}");
    }
    live(&world, &workspace).await;
    assert!(!marker(&world).exists());
    git(&world.origin(), &["fsck", "--strict"]);
    // The trap is real: a git that looks at the tree in the usual way falls into it.
    let git_dir = world.bot().join("runs/r1/git");
    let args = ["--git-dir", git_dir.to_str().unwrap(), "--work-tree", tree.to_str().unwrap(), "status"];
    try_git(tree, &args, "");
    assert!(marker(&world).exists());
}

/// Drivers, filters and settings of the repository, of both sides, of tools, and even in the folder that is git's own.
#[tokio::test]
async fn a_merge_executes_nothing_and_obeys_no_attribute() {
    let world = hostile();
    world.write("far.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    world.write("near.txt", "1\n");
    world.write("all.txt", "1\n");
    world.write(".gitattributes", "* filter=evil diff=evil merge=evil ident\nall.txt merge=union\n");
    let start = world.publish("Files");
    let run = world.open("r1").await;
    let lanes = [run.branch_off("far-1").await.unwrap(), run.branch_off("near-1").await.unwrap()];
    for workspace in [&run, &lanes[0], &lanes[1]] {
        let git_dir = workspace.tree().with_file_name("git");
        let config = read(&git_dir, "config")
            + &evil_config(&world)
            + "[merge]\n\tdefault = evil\n\trenormalize = true\n";
        let config = config.replace("\tbare = false\n", "").replace("[url ", "[nothing ");
        write(&git_dir, "config", &config);
        write(workspace.tree(), ".git/config", &evil_config(&world));
        for hook in HOOKS.iter().chain(&["pre-merge-commit", "post-merge"]) {
            script_at(&git_dir.join("hooks").join(hook), &command(&world));
        }
    }
    put(&lanes[0], "far.txt", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n").await;
    write(lanes[1].tree(), ".gitattributes", "* merge=ours\n");
    write(lanes[1].tree(), "near.txt", "lane\n");
    put(&lanes[1], "all.txt", "lane\n").await;
    put(&run, "far.txt", "one\n2\n3\n4\n5\n6\n7\n8\n9\n").await;
    write(run.tree(), "near.txt", "run\n");
    put(&run, "all.txt", "run\n").await;
    assert!(matches!(take_over(&run, &lanes[0], "Far").await, Ok(Merged::Merge(_))));
    assert_eq!(read(run.tree(), "far.txt"), "one\n2\n3\n4\n5\n6\n7\n8\nnine\n");
    let files = ["all.txt", "near.txt"].map(str::to_owned).to_vec();
    assert_eq!(take_over(&run, &lanes[1], "Near").await, Ok(Merged::Conflict { files }));
    world.open_at("r1", BRANCH, &start).await.unwrap().branch_off("far-1").await.unwrap();
    assert!(!marker(&world).exists());

    // The trap is real: a git that obeys attributes and settings falls into it.
    let theirs = world.theirs();
    for (branch, text) in [("one", "one\n"), ("two", "two\n")] {
        git(&theirs, &["checkout", "-q", "-b", branch, start.as_str()]);
        world.write("near.txt", text);
        git(&theirs, &["commit", "-qam", branch]);
    }
    let driver = format!("merge.evil.driver={}", command(&world));
    try_git(&theirs, &["-c", &driver, "merge", "one"], "");
    assert!(marker(&world).exists());
}

/// At the very commit that the repository names for it, so that git would look further into what differs there.
#[tokio::test]
async fn a_submodule_that_a_tool_filled_is_not_looked_into() {
    let world = hostile();
    let filled = world.dir.path().join("filled");
    git(world.dir.path(), &["init", "-q", "filled"]);
    write(&filled, "file.txt", "text\n");
    write(&filled, ".gitattributes", "* filter=evil\n");
    git(&filled, &["add", "-A"]);
    git(&filled, &["commit", "-qm", "Inner"]);
    let commit = git(&filled, &["rev-parse", "HEAD"]);
    git(&world.theirs(), &["update-index", "--cacheinfo", &format!("160000,{commit},sub")]);
    git(&world.theirs(), &["commit", "-qm", "Name the commit"]);
    world.push_theirs("main");
    // Of the same length, so that git would have to read it, and to filter it first.
    write(&filled, "file.txt", "tEXt\n");
    write(&filled, ".git/config", &evil_config(&world));

    let workspace = world.open("r1").await;
    let sub = workspace.tree().join("sub");
    std::fs::remove_dir(&sub).unwrap();
    std::fs::rename(&filled, &sub).unwrap();
    live(&world, &workspace).await;
    assert!(!marker(&world).exists());
    let listed = git(&world.origin(), &["ls-tree", BRANCH, "sub"]);
    assert_eq!(listed, format!("160000 commit {commit}\tsub"));
}

/// A file in place of a folder of git, as submodules have it, leads to settings elsewhere.
#[tokio::test]
async fn a_git_file_leads_nowhere() {
    let world = hostile();
    let workspace = world.open("r1").await;
    let elsewhere = world.dir.path().join("elsewhere");
    git(world.dir.path(), &["init", "-q", "elsewhere"]);
    write(&elsewhere, "x", "x");
    git(&elsewhere, &["add", "x"]);
    git(&elsewhere, &["commit", "-qm", "X"]);
    write(&elsewhere, ".git/config", &evil_config(&world));
    for place in ["inner", "sub"] {
        write(workspace.tree(), &format!("{place}/.git"), &format!("gitdir: {}/.git\n", elsewhere.display()));
        write(workspace.tree(), &format!("{place}/x"), "changed");
    }
    symlink(elsewhere.join(".git"), workspace.tree().join("src/.git")).unwrap();
    let (_, files, _) = committed(workspace.commit("Files", &[]).await.unwrap());
    assert_eq!(files, ["inner/x"]);
    live(&world, &workspace).await;
    assert!(elsewhere.join(".git/config").exists(), "what the link leads to is not touched");
    assert!(!marker(&world).exists());
}

#[tokio::test]
async fn names_of_git_are_neither_checked_out_nor_committed() {
    let world = World::new();
    let workspace = world.open("r1").await;
    for name in [".GIT/config", "a/.git./config", "GIT~1/config", ".git\u{200c}/config"] {
        write(workspace.tree(), name, "[core]\n");
        let refused = workspace.commit("Trap", &[]).await;
        assert_eq!(refused, Err(GitError::BadName(name.to_owned())));
        workspace.discard().await.unwrap();
    }
    assert_eq!(workspace.commit("Clean again", &[]).await, Ok(Committed::NothingChanged));

    let blob = git_with(&world.origin(), &["hash-object", "-w", "--stdin"], "[core]\n");
    for name in [".git", "..", ".GIT", "git~1"] {
        let mut raw = format!("100644 {name}\0").into_bytes();
        raw.extend(hex::decode(&blob).unwrap());
        let file = world.dir.path().join("raw-tree");
        std::fs::write(&file, raw).unwrap();
        let file = file.to_str().unwrap();
        let tree = git(&world.origin(), &["hash-object", "--literally", "-w", "-t", "tree", file]);
        let commit = git(&world.origin(), &["commit-tree", &tree, "-m", "Trap"]);
        git(&world.origin(), &["update-ref", "refs/heads/main", &commit]);
        let refused = world.workspaces.refresh(&project(), &world.remote()).await;
        assert!(matches!(refused, Err(GitError::Broken(_))), "{name}: {refused:?}");
    }
}

#[tokio::test]
async fn links_are_not_followed_when_files_are_read() {
    let world = World::new();
    let workspace = world.open("r1").await;
    let secret = world.dir.path().join("secret");
    std::fs::create_dir(&secret).unwrap();
    std::fs::write(secret.join("lib.rs"), "CANARY").unwrap();
    std::fs::remove_dir_all(workspace.tree().join("src")).unwrap();
    symlink(&secret, workspace.tree().join("src")).unwrap();
    std::fs::remove_file(workspace.tree().join("README.md")).unwrap();
    symlink(secret.join("lib.rs"), workspace.tree().join("README.md")).unwrap();
    let (commit, mut files, _) = committed(workspace.commit("Links", &[]).await.unwrap());
    files.sort();
    assert_eq!(files, ["README.md", "src", "src/lib.rs"]);
    workspace.push(&world.remote(), None).await.unwrap();
    let listed = git(&world.origin(), &["ls-tree", "-r", commit.as_str()]);
    assert!(listed.lines().count() == 2 && listed.lines().all(|line| line.starts_with("120000")), "{listed}");
    for name in ["README.md", "src"] {
        assert!(!git(&world.origin(), &["show", &format!("{commit}:{name}")]).contains("CANARY"));
    }
    // Throwing away must not write or delete through a link either.
    std::fs::remove_file(workspace.tree().join("src")).unwrap();
    symlink(&secret, workspace.tree().join("src")).unwrap();
    workspace.discard().await.unwrap();
    assert_eq!(std::fs::read_to_string(secret.join("lib.rs")).unwrap(), "CANARY");
}

#[tokio::test]
async fn pipes_and_sockets_are_nothing_to_commit() {
    let world = World::new();
    let workspace = world.open("r1").await;
    let pipe = workspace.tree().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(workspace.tree().join("socket")).unwrap();
    assert_eq!(workspace.commit("Odd", &[]).await, Ok(Committed::NothingChanged));
}

/// Also when the folder we keep lies in somebody's repository with such settings.
#[tokio::test]
async fn a_repository_around_our_folder_is_not_asked() {
    let world = World::new();
    git(world.dir.path(), &["init", "-q"]);
    write(world.dir.path(), ".git/config", &evil_config(&world));
    let workspace = world.open("r1").await;
    write(workspace.tree(), "new", "new");
    committed(workspace.commit("New", &[]).await.unwrap());
    workspace.push(&world.remote(), None).await.unwrap();
    assert!(!marker(&world).exists());
}
