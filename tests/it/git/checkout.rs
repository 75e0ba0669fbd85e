//! Purpose: the checkout of a run: changing, committing, finding again, throwing away.

use planwright::tools::git::Committed;

use super::{BRANCH, World, committed, git, names, project, read, write};

#[tokio::test]
async fn what_changed_is_committed() {
    let world = World::new();
    let workspace = world.open("r1").await;
    assert_eq!(names(&workspace), ["README.md", "src"]);
    assert_eq!(workspace.commit("Nothing", &[]).await, Ok(Committed::NothingChanged));
    let tree = workspace.tree().to_owned();
    write(&tree, "README.md", "changed\n");
    write(&tree, "odd/\"é\n\\.txt", "odd");
    std::fs::remove_file(tree.join("src/lib.rs")).unwrap();
    super::script_at(&tree.join("run.sh"), "exit 0");
    std::os::unix::fs::symlink("/etc/passwd", tree.join("link")).unwrap();
    let message = "Change all\n\nPlanwright-Action: 3/1\n";
    let (commit, mut files, bytes) = committed(workspace.commit(message, &[]).await.unwrap());
    files.sort();
    assert_eq!(files, ["README.md", "link", "odd/\"é\n\\.txt", "run.sh", "src/lib.rs"]);
    assert_eq!(bytes, 8 + 3 + 11 + 17);
    assert_eq!(workspace.head().await, Ok(commit.clone()));
    assert_eq!(workspace.commit("Again", &[]).await, Ok(Committed::NothingChanged));
    workspace.push(&world.remote(), Some("main")).await.unwrap();
    let shown = git(&world.origin(), &["log", "-1", "--format=%an <%ae>|%cn|%B", commit.as_str()]);
    assert_eq!(shown, "Planwright <bot@example.org>|Planwright|Change all\n\nPlanwright-Action: 3/1");
    let listed = git(&world.origin(), &["ls-tree", "-r", "-z", commit.as_str()]);
    let modes: Vec<_> =
        listed.split('\0').filter_map(|l| Some((l.get(..6)?, l.split_once('\t')?.1))).collect();
    assert_eq!(
        modes,
        [("100644", "README.md"), ("120000", "link"), ("100644", "odd/\"é\n\\.txt"), ("100755", "run.sh")]
    );
    assert_eq!(git(&world.origin(), &["show", &format!("{commit}:link")]), "/etc/passwd");
}

#[tokio::test]
async fn files_and_folders_take_each_others_place() {
    let world = World::new();
    let workspace = world.open("r1").await;
    let tree = workspace.tree();
    std::fs::remove_file(tree.join("README.md")).unwrap();
    write(tree, "README.md/inner.txt", "now a folder");
    std::fs::remove_dir_all(tree.join("src")).unwrap();
    write(tree, "src", "now a file");
    committed(workspace.commit("Swap", &[]).await.unwrap());
    let head = workspace.head().await.unwrap();
    workspace.push(&world.remote(), None).await.unwrap();
    let listed = git(&world.origin(), &["ls-tree", "-r", "--name-only", head.as_str()]);
    assert_eq!(listed, "README.md/inner.txt\nsrc");
}

#[tokio::test]
async fn ignored_files_are_committed_only_when_named() {
    let world = World::new();
    world.write(".gitignore", "target/\n*.log\n");
    world.publish("Ignore");
    let workspace = world.open("r1").await;
    write(workspace.tree(), "target/out.o", "built");
    write(workspace.tree(), "a.log", "log");
    assert_eq!(workspace.commit("Build", &[]).await, Ok(Committed::NothingChanged));
    let named = ["a.log".parse().unwrap()];
    assert_eq!(committed(workspace.commit("Log", &named).await.unwrap()).1, ["a.log"]);
    workspace.discard().await.unwrap();
    assert_eq!(read(workspace.tree(), "target/out.o"), "built", "what was built survives");
}

#[tokio::test]
async fn bytes_are_kept_as_they_are() {
    let world = World::new();
    world.write("a.txt", "$Id$ one\n");
    world.write(".gitattributes", "* text=auto eol=crlf ident working-tree-encoding=UTF-16\n");
    git(&world.theirs(), &["config", "core.attributesFile", "/dev/null"]);
    std::fs::write(
        world.theirs().join(".git/info/attributes"),
        "* -text -ident -working-tree-encoding !eol\n",
    )
    .unwrap();
    world.publish("Attributes");
    let workspace = world.open("r1").await;
    assert_eq!(read(workspace.tree(), "a.txt"), "$Id$ one\n");
    write(workspace.tree(), "a.txt", "mixed\r\nends\n");
    let (commit, _, _) = committed(workspace.commit("Ends", &[]).await.unwrap());
    assert_eq!(workspace.commit("Ends", &[]).await, Ok(Committed::NothingChanged));
    workspace.push(&world.remote(), None).await.unwrap();
    let bytes = super::try_git(&world.origin(), &["cat-file", "blob", &format!("{commit}:a.txt")], "").stdout;
    assert_eq!(bytes, b"mixed\r\nends\n");
}

#[tokio::test]
async fn a_checkout_is_found_again_after_a_crash() {
    let world = World::new();
    let start = world.refresh().await.commit;
    let workspace = world.open_at("r1", BRANCH, &start).await.unwrap();
    write(workspace.tree(), "done.txt", "done");
    let message = "Step 1\n\nPlanwright-Action: 1/1";
    let (commit, _, _) = committed(workspace.commit(message, &[]).await.unwrap());
    write(workspace.tree(), "half.txt", "half");
    write(workspace.tree(), "README.md", "half");
    std::fs::remove_dir_all(workspace.tree().join("src")).unwrap();
    std::os::unix::fs::symlink("/etc", workspace.tree().join("src")).unwrap();
    std::fs::create_dir(workspace.tree().join(".git")).unwrap();
    let git_dir = world.bot().join("runs/r1/git");
    for lock in ["index.lock", "HEAD.lock", "shallow.lock", "refs/heads/planwright/7-search.lock"] {
        std::fs::write(git_dir.join(lock), "").unwrap();
    }
    drop(workspace);
    world.write("later", "x");
    world.publish("The base moves on");
    world.refresh().await;

    let workspace = world.open_at("r1", BRANCH, &start).await.unwrap();
    assert_eq!(workspace.head().await, Ok(commit.clone()));
    assert_eq!(names(&workspace), ["README.md", "done.txt", "src"]);
    assert_eq!(read(workspace.tree(), "README.md"), "hello\n");
    assert_eq!(read(workspace.tree(), "src/lib.rs"), "fn one() {}\n");
    assert!(!workspace.tree().join("src").is_symlink());
    assert_eq!(workspace.commit("Nothing is left", &[]).await, Ok(Committed::NothingChanged));
    assert_eq!(workspace.find_commit("Planwright-Action: 1/1").await, Ok(Some(commit)));
    assert_eq!(workspace.find_commit("Planwright-Action: 1").await, Ok(None));
    assert_eq!(workspace.find_commit("Begin").await, Ok(None), "older than the run");
}

#[tokio::test]
async fn damage_to_the_index_is_mended_and_half_a_checkout_made_anew() {
    let world = World::new();
    let start = world.refresh().await.commit;
    let workspace = world.open_at("r1", BRANCH, &start).await.unwrap();
    write(workspace.tree(), "a", "a");
    let (commit, _, _) = committed(workspace.commit("A", &[]).await.unwrap());
    let git_dir = world.bot().join("runs/r1/git");
    std::fs::write(git_dir.join("index"), "garbage").unwrap();
    let workspace = world.open_at("r1", BRANCH, &start).await.unwrap();
    assert_eq!(workspace.head().await, Ok(commit));
    assert_eq!(names(&workspace), ["README.md", "a", "src"]);

    std::fs::remove_file(git_dir.join("planwright-checkout")).unwrap();
    std::fs::remove_file(git_dir.join("HEAD")).unwrap();
    let workspace = world.open_at("r1", BRANCH, &start).await.unwrap();
    assert_eq!(workspace.head().await, Ok(start));
    assert_eq!(names(&workspace), ["README.md", "src"]);
}

#[tokio::test]
async fn a_commit_that_broke_off_is_not_made_twice() {
    let world = World::new();
    let workspace = world.open("r1").await;
    write(workspace.tree(), "a", "a");
    let index = world.bot().join("runs/r1/git/index");
    let before = std::fs::read(&index).unwrap();
    committed(workspace.commit("A", &[]).await.unwrap());
    // As if we had died between the commit and the index.
    std::fs::write(&index, before).unwrap();
    assert_eq!(workspace.commit("A", &[]).await, Ok(Committed::NothingChanged));
}

#[tokio::test]
async fn two_runs_of_one_repository_do_not_meet() {
    let world = World::new();
    let start = world.refresh().await.commit;
    let work = async |run: &str, branch: &str| {
        let workspace = world.open_at(run, branch, &start).await.unwrap();
        for number in 0..3 {
            write(workspace.tree(), &format!("{run}-{number}"), run);
            committed(workspace.commit(&format!("{run} {number}"), &[]).await.unwrap());
        }
        workspace.push(&world.remote(), Some("main")).await.unwrap();
        workspace.log(&start).await.unwrap()
    };
    let (one, two) = tokio::join!(work("r1", "planwright/1"), work("r2", "planwright/2"));
    let subjects = |log: &[(_, String)]| log.iter().map(|(_, subject)| subject.clone()).collect::<Vec<_>>();
    assert_eq!(subjects(&one), ["r1 2", "r1 1", "r1 0"]);
    assert_eq!(subjects(&two), ["r2 2", "r2 1", "r2 0"]);
    world.refresh().await;
    assert_eq!(world.workspaces.branch(&project(), "planwright/1").await.unwrap(), Some(one[0].0.clone()));
    world.workspaces.forget("r1").await.unwrap();
    world.workspaces.forget("r1").await.unwrap();
    assert!(!world.bot().join("runs/r1").exists() && world.bot().join("runs/r2/tree").exists());
}

#[tokio::test]
async fn a_checkout_shares_no_file_with_the_mirror() {
    use std::os::unix::fs::MetadataExt;
    fn inodes(dir: &std::path::Path, found: &mut std::collections::BTreeSet<u64>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                inodes(&entry.path(), found)
            } else {
                found.insert(entry.metadata().unwrap().ino());
            }
        }
    }
    let world = World::new();
    world.open("r1").await;
    let (mut mirror, mut run) = Default::default();
    inodes(&world.bot().join("mirrors"), &mut mirror);
    inodes(&world.bot().join("runs"), &mut run);
    assert!(mirror.len() > 3 && run.len() > 3 && mirror.is_disjoint(&run));
    assert!(!world.bot().join("runs/r1/git/objects/info/alternates").exists());
}

#[tokio::test]
async fn what_was_committed_can_be_shown() {
    let world = World::new();
    let workspace = world.open("r1").await;
    write(workspace.tree(), "README.md", "héllo\n");
    committed(workspace.commit("Greet", &[]).await.unwrap());
    let diff = workspace.diff(workspace.start(), 10_000).await.unwrap();
    assert!(!diff.truncated && diff.text.ends_with("@@ -1 +1 @@\n-hello\n+héllo\n"), "{}", diff.text);
    let in_the_letter = diff.text.find('é').unwrap() + 1;
    let cut = workspace.diff(workspace.start(), in_the_letter).await.unwrap();
    assert_eq!((cut.truncated, cut.text), (true, diff.text[..in_the_letter - 1].to_owned()));
}

#[tokio::test]
async fn a_run_goes_on_on_a_branch_that_exists() {
    let world = World::new();
    let workspace = world.open("r1").await;
    write(workspace.tree(), "a", "a");
    let (first, _, _) = committed(workspace.commit("A", &[]).await.unwrap());
    workspace.push(&world.remote(), Some("main")).await.unwrap();
    world.refresh().await;
    let tip = world.workspaces.branch(&project(), BRANCH).await.unwrap().unwrap();
    assert_eq!(tip, first);
    let workspace = world.open_at("r2", BRANCH, &tip).await.unwrap();
    write(workspace.tree(), "b", "b");
    let (second, _, _) = committed(workspace.commit("B", &[]).await.unwrap());
    workspace.push(&world.remote(), Some("main")).await.unwrap();
    assert_eq!(git(&world.origin(), &["log", "--format=%s", BRANCH]), "B\nA\nBegin");
    assert_eq!(git(&world.origin(), &["rev-parse", BRANCH]), second.as_str());
}
