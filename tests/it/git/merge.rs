//! Purpose: what lanes committed comes onto the branch of the run: whole, once, and never over a conflict.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use planwright::tools::git::{Commit, Committed, GitError, Merged, Workspace};

use super::http_server::{Server, TOKEN};
use super::{BRANCH, World, committed, git, names, project, put, read, script_at, take_over, write};

/// Ten lines, so that changes can be near or far.
const LINES: &str = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";

async fn world() -> (World, Workspace) {
    let world = World::new();
    world.write("lines.txt", LINES);
    world.write(".gitignore", "target/\n");
    world.publish("Lines");
    let run = world.open("r1").await;
    (world, run)
}

fn merge_commit(merged: Merged) -> Commit {
    let Merged::Merge(commit) = merged else { panic!("{merged:?}") };
    commit
}

/// Everything that is the run's but objects, which nobody names.
fn everything(world: &World) -> BTreeMap<PathBuf, Vec<u8>> {
    fn collect(dir: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let kind = entry.file_type().unwrap();
            if kind.is_dir() && !path.ends_with("git/objects") && !path.ends_with("r1/lanes") {
                collect(&path, found);
            } else if kind.is_symlink() {
                found.insert(
                    path.clone(),
                    std::fs::read_link(path).unwrap().into_os_string().into_encoded_bytes(),
                );
            } else if kind.is_file() {
                found.insert(path.clone(), std::fs::read(path).unwrap());
            }
        }
    }
    let mut found = BTreeMap::new();
    collect(&world.bot().join("runs/r1"), &mut found);
    found
}

#[tokio::test]
async fn a_lane_that_nobody_overtook_is_taken_as_it_is() {
    let (world, run) = world().await;
    write(run.tree(), "target/out.o", "built");
    let lane = run.branch_off("s1-1").await.unwrap();
    put(&lane, "a.txt", "a").await;
    let last = put(&lane, "lines.txt", "new\n").await;
    assert_eq!(take_over(&run, &lane, "Unused").await, Ok(Merged::FastForward(last.clone())));
    assert_eq!(run.head().await, Ok(last.clone()));
    assert_eq!(names(&run), [".gitignore", "README.md", "a.txt", "lines.txt", "src", "target"]);
    assert_eq!(read(run.tree(), "lines.txt"), "new\n");
    assert_eq!(read(run.tree(), "target/out.o"), "built", "what was built survives");
    assert_eq!(run.commit("Nothing", &[]).await, Ok(Committed::NothingChanged));
    assert_eq!(run.find_commit("a.txt").await.unwrap(), lane.find_commit("a.txt").await.unwrap());
    // The run needs nothing of a lane any more.
    world.workspaces.forget_lane("r1", "s1-1").await.unwrap();
    let run = world.open_at("r1", BRANCH, run.start()).await.unwrap();
    assert_eq!(run.head().await, Ok(last));
}

#[tokio::test]
async fn nothing_is_committed_in_a_tree_that_is_behind_its_branch() {
    let (_world, run) = world().await;
    let mut lanes = vec![];
    for name in ["one", "two", "three"] {
        let lane = run.branch_off(&format!("{name}-1")).await.unwrap();
        put(&lane, &format!("{name}.txt"), name).await;
        lanes.push(lane);
    }
    std::fs::remove_file(lanes[2].tree().join("lines.txt")).unwrap();
    committed(lanes[2].commit("Delete", &[]).await.unwrap());
    put(&run, "own.txt", "own").await;
    for lane in &lanes {
        merge_commit(run.merge(lane, "Merge").await.unwrap());
        assert_eq!(names(&run), [".gitignore", "README.md", "lines.txt", "own.txt", "src"], "left as it was");
        assert!(matches!(run.commit("Undo it all", &[]).await, Err(GitError::Broken(_))));
        assert!(matches!(run.changed(&[]).await, Err(GitError::Broken(_))));
    }
    run.catch_up().await.unwrap();
    let all = [".gitignore", "README.md", "one.txt", "own.txt", "src", "three.txt", "two.txt"];
    assert_eq!(names(&run), all);
    assert_eq!(run.commit("Nothing", &[]).await, Ok(Committed::NothingChanged));
    write(run.tree(), "half.txt", "half");
    run.catch_up().await.unwrap();
    assert!(run.tree().join("half.txt").exists(), "nothing to catch up with");
}

#[tokio::test]
async fn two_lanes_become_one_history() {
    let (world, run) = world().await;
    let (one, two) = (run.branch_off("one-1").await.unwrap(), run.branch_off("two-1").await.unwrap());
    let first = put(&one, "one.txt", "one").await;
    let second = put(&two, "two.txt", "two").await;
    assert_eq!(take_over(&run, &one, "Merge one").await, Ok(Merged::FastForward(first.clone())));
    write(run.tree(), "target/out.o", "built");
    write(run.tree(), "not-committed.txt", "x");
    // Whatever is in a message, it is a message.
    let message =
        "Merge two\n\n\"é\0 data 3\ncommit refs/heads/main\nmerge HEAD\nM 100644 inline x\n\u{1b}\n";
    let merge = merge_commit(take_over(&run, &two, message).await.unwrap());
    assert_eq!(run.head().await, Ok(merge.clone()));
    assert_eq!(names(&run), [".gitignore", "README.md", "lines.txt", "one.txt", "src", "target", "two.txt"]);
    assert_eq!(read(run.tree(), "target/out.o"), "built");
    run.push(&world.remote(), Some("main")).await.unwrap();
    let origin = world.origin();
    assert_eq!(git(&origin, &["log", "-1", "--format=%P", BRANCH]), format!("{first} {second}"));
    let shown = git(&origin, &["log", "-1", "--format=%an <%ae>|%cn <%ce>|%B", BRANCH]);
    let who = "Planwright <bot@example.org>";
    assert_eq!(shown, format!("{who}|{who}|{}", message.replace('\0', "").trim_end()));
    let mut found = vec![];
    for line in ["one.txt", "two.txt", "merge HEAD"] {
        found.push(run.find_commit(line).await.unwrap().unwrap());
    }
    assert_eq!(found, [first, second, merge]);
}

#[tokio::test]
async fn changes_to_far_lines_of_one_file_are_merged() {
    let (_world, run) = world().await;
    let lane = run.branch_off("s1-1").await.unwrap();
    put(&lane, "lines.txt", &LINES.replace("9\n", "nine\r\n")).await;
    put(&run, "lines.txt", &LINES.replace("2\n", "two\n")).await;
    merge_commit(take_over(&run, &lane, "Merge").await.unwrap());
    assert_eq!(read(run.tree(), "lines.txt"), "1\ntwo\n3\n4\n5\n6\n7\n8\nnine\r\n10\n");
}

/// A change to a checkout.
type Change = fn(&Path);

/// What the run does, what the lane does, and where that meets.
const CONFLICTS: &[(&str, Change, Change, &[&str])] = &[
    (
        "the same line",
        |run| write(run, "lines.txt", "run\n"),
        |lane| write(lane, "lines.txt", "lane\n"),
        &["lines.txt"],
    ),
    (
        "two of three files",
        |run| ["lines.txt", "src/lib.rs", "README.md"].iter().for_each(|path| write(run, path, "run\n")),
        |lane| ["src/lib.rs", "new.txt", "lines.txt"].iter().for_each(|path| write(lane, path, "lane\n")),
        &["lines.txt", "src/lib.rs"],
    ),
    (
        "deleted by the run",
        |run| std::fs::remove_file(run.join("lines.txt")).unwrap(),
        |lane| write(lane, "lines.txt", "lane\n"),
        &["lines.txt"],
    ),
    (
        "deleted by the lane",
        |run| write(run, "lines.txt", "run\n"),
        |lane| std::fs::remove_file(lane.join("lines.txt")).unwrap(),
        &["lines.txt"],
    ),
    (
        "new on both sides, with an odd name",
        |run| write(run, "\"é\n\\.txt", "run\n"),
        |lane| write(lane, "\"é\n\\.txt", "lane\n"),
        &["\"é\n\\.txt"],
    ),
    (
        "no text",
        |run| std::fs::write(run.join("README.md"), b"\0run\xff").unwrap(),
        |lane| std::fs::write(lane.join("README.md"), b"\0lane\xff").unwrap(),
        &["README.md"],
    ),
    (
        "a folder in place of a file",
        |run| write(run, "README.md", "run\n"),
        |lane| {
            std::fs::remove_file(lane.join("README.md")).unwrap();
            write(lane, "README.md/inner.txt", "lane\n");
        },
        &["README.md"],
    ),
    (
        "links to different places",
        |run| symlink("/run", run.join("link")).unwrap(),
        |lane| symlink("/lane", lane.join("link")).unwrap(),
        &["link"],
    ),
];

#[tokio::test]
async fn a_conflict_changes_nothing_and_names_the_files() {
    for (name, on_run, on_lane, files) in CONFLICTS {
        let (world, run) = world().await;
        let lane = run.branch_off("s1-1").await.unwrap();
        on_lane(lane.tree());
        committed(lane.commit("Lane", &[]).await.unwrap());
        on_run(run.tree());
        committed(run.commit("Run", &[]).await.unwrap());
        write(run.tree(), "target/out.o", "built");
        write(run.tree(), "not-committed.txt", "x");
        let before = everything(&world);
        let files: Vec<String> = files.iter().map(|&file| file.to_owned()).collect();
        for _ in 0..2 {
            assert_eq!(
                take_over(&run, &lane, "Merge").await,
                Ok(Merged::Conflict { files: files.clone() }),
                "{name}"
            );
            assert!(everything(&world) == before, "{name}: something changed");
        }
        // The run goes on, and other lanes are merged.
        let other = run.branch_off("s2-1").await.unwrap();
        let commit = put(&other, "other.txt", "other").await;
        assert_eq!(take_over(&run, &other, "Merge").await, Ok(Merged::FastForward(commit)), "{name}");
        run.push(&world.remote(), Some("main")).await.unwrap();
        assert_eq!(git(&world.origin(), &["fsck", "--strict"]), "", "{name}");
    }
}

#[tokio::test]
async fn a_lane_is_merged_once() {
    let (_world, run) = world().await;
    let lane = run.branch_off("s1-1").await.unwrap();
    assert_eq!(take_over(&run, &lane, "Merge").await, Ok(Merged::Nothing));
    put(&run, "run.txt", "run").await;
    assert_eq!(take_over(&run, &lane, "Merge").await, Ok(Merged::Nothing), "also when the run went on");
    let own = put(&lane, "own.txt", "own").await;
    let merge = merge_commit(take_over(&run, &lane, "Merge").await.unwrap());
    for _ in 0..2 {
        assert_eq!(take_over(&run, &lane, "Merge").await, Ok(Merged::Already));
        let lane = run.branch_off("s1-1").await.unwrap();
        assert_eq!(take_over(&run, &lane, "Merge").await, Ok(Merged::Already), "after a restart");
    }
    assert_eq!(run.head().await, Ok(merge.clone()));
    assert_eq!(run.contains_all(&[own.clone(), merge.clone()]).await, Ok(true));
    // What the lane does after that is merged too.
    put(&lane, "more.txt", "more").await;
    merge_commit(take_over(&run, &lane, "Merge again").await.unwrap());
    assert_eq!(read(run.tree(), "more.txt"), "more");
}

/// As if we had died when the commit was written and the tree was not yet.
#[tokio::test]
async fn a_merge_that_broke_off_is_finished_by_the_next_opening_or_merge() {
    for forwards in [true, false] {
        let (world, run) = world().await;
        let lane = run.branch_off("s1-1").await.unwrap();
        put(&lane, "own.txt", "own").await;
        std::fs::remove_file(lane.tree().join("lines.txt")).unwrap();
        committed(lane.commit("Delete", &[]).await.unwrap());
        if !forwards {
            put(&run, "run.txt", "run").await;
        }
        let place = world.bot().join("runs/r1");
        let break_off = || {
            write(run.tree(), "lines.txt", LINES);
            std::fs::remove_file(run.tree().join("own.txt")).unwrap();
            std::fs::copy(place.join("index"), place.join("git/index")).unwrap();
        };
        run.changed(&[]).await.unwrap();
        std::fs::copy(place.join("git/index"), place.join("index")).unwrap();
        assert_ne!(take_over(&run, &lane, "Merge").await, Ok(Merged::Already));
        let head = run.head().await;
        assert_eq!(take_over(&run, &lane, "Merge").await, Ok(Merged::Already));
        break_off();
        let run = world.open_at("r1", BRANCH, run.start()).await.unwrap();
        assert!(!run.tree().join("lines.txt").exists() && run.tree().join("own.txt").exists());
        assert_eq!(run.head().await, head);
        assert_eq!(run.commit("Nothing is undone", &[]).await, Ok(Committed::NothingChanged));
    }
}

#[tokio::test]
async fn modes_links_and_names_survive() {
    let (world, run) = world().await;
    let lane = run.branch_off("s1-1").await.unwrap();
    script_at(&lane.tree().join("tool.sh"), "exit 0");
    std::fs::set_permissions(lane.tree().join("README.md"), std::fs::Permissions::from_mode(0o755)).unwrap();
    symlink("/etc/passwd", lane.tree().join("link")).unwrap();
    std::fs::rename(lane.tree().join("lines.txt"), lane.tree().join("renamed.txt")).unwrap();
    std::fs::remove_dir_all(lane.tree().join("src")).unwrap();
    write(lane.tree(), "src", "now a file");
    committed(lane.commit("Lane", &[]).await.unwrap());
    put(&run, "README.md", "changed\n").await;
    put(&run, "lines.txt", &LINES.replace("2\n", "two\n")).await;
    merge_commit(take_over(&run, &lane, "Merge").await.unwrap());
    assert_eq!(names(&run), [".gitignore", "README.md", "link", "renamed.txt", "src", "tool.sh"]);
    for path in ["README.md", "tool.sh"] {
        assert_eq!(
            std::fs::metadata(run.tree().join(path)).unwrap().permissions().mode() & 0o111,
            0o111,
            "{path}"
        );
    }
    assert_eq!(read(run.tree(), "README.md"), "changed\n");
    assert_eq!(std::fs::read_link(run.tree().join("link")).unwrap(), Path::new("/etc/passwd"));
    assert!(read(run.tree(), "renamed.txt").contains("two\n"), "changed here, renamed there");
    run.push(&world.remote(), None).await.unwrap();
    let modes = git(&world.origin(), &["ls-tree", "--format=%(objectmode) %(path)", BRANCH]);
    assert_eq!(
        modes,
        "100644 .gitignore\n100755 README.md\n120000 link\n100644 renamed.txt\n100644 src\n100755 tool.sh"
    );
}

/// Git could move the new file along, or call it a conflict. Neither is what was approved, and whoever checks the result
/// sees where the file is.
#[tokio::test]
async fn a_new_file_stays_in_the_folder_that_a_lane_renamed() {
    let (_world, run) = world().await;
    let lane = run.branch_off("s1-1").await.unwrap();
    std::fs::rename(lane.tree().join("src"), lane.tree().join("lib")).unwrap();
    committed(lane.commit("Rename", &[]).await.unwrap());
    put(&run, "src/new.rs", "new").await;
    merge_commit(take_over(&run, &lane, "Merge").await.unwrap());
    assert_eq!(
        (read(run.tree(), "src/new.rs"), read(run.tree(), "lib/lib.rs")),
        ("new".into(), "fn one() {}\n".into())
    );
    assert!(!run.tree().join("src/lib.rs").exists());
}

/// A file that is ignored, committed by name, and then deleted by a lane does not stay behind as one that was built.
#[tokio::test]
async fn what_a_lane_deleted_is_gone_from_the_tree() {
    let (_world, run) = world().await;
    write(run.tree(), "target/kept.txt", "kept");
    committed(run.commit("Keep", &["target/kept.txt".parse().unwrap()]).await.unwrap());
    for meanwhile in [false, true] {
        let lane = run.branch_off(if meanwhile { "s2-1" } else { "s1-1" }).await.unwrap();
        std::fs::remove_file(lane.tree().join("target/kept.txt")).unwrap();
        committed(lane.commit("Delete", &[]).await.unwrap());
        if meanwhile {
            put(&run, "run.txt", "run").await;
        }
        assert_ne!(take_over(&run, &lane, "Merge").await, Ok(Merged::Already));
        assert!(!run.tree().join("target/kept.txt").exists());
        write(run.tree(), "target/kept.txt", "again");
        committed(run.commit("Keep again", &["target/kept.txt".parse().unwrap()]).await.unwrap());
    }
}

#[tokio::test]
async fn a_branch_with_merges_is_pushed_over_http_and_fetched_again() {
    let world = World::new();
    for round in 0..3 {
        world.write("past.txt", &round.to_string());
        world.publish("The past that is not fetched");
    }
    let server = Server::start(world.dir.path()).await;
    let remote = server.remote(TOKEN);
    world.workspaces.refresh(&project(), &remote).await.unwrap();
    let head = world.workspaces.default_branch(&project()).await.unwrap().unwrap();
    let run = world.open_at("r1", BRANCH, &head.commit).await.unwrap();
    for round in 1..=2 {
        let one = run.branch_off(&format!("one-{round}")).await.unwrap();
        let two = run.branch_off(&format!("two-{round}")).await.unwrap();
        put(&one, &format!("one-{round}"), "x").await;
        put(&two, &format!("two-{round}"), "x").await;
        assert!(matches!(take_over(&run, &one, "One").await, Ok(Merged::FastForward(_))));
        let merge = merge_commit(take_over(&run, &two, "Two").await.unwrap());
        run.push(&remote, Some("main")).await.unwrap();
        assert_eq!(git(&world.origin(), &["rev-parse", BRANCH]), merge.as_str());
    }
    assert_eq!(
        git(&world.origin(), &["rev-list", "--count", BRANCH]),
        "10",
        "four before, three in each round"
    );
    assert_eq!(git(&world.origin(), &["rev-list", "--count", "--merges", BRANCH]), "2");
    assert_eq!(git(&world.origin(), &["fsck", "--strict"]), "");
    world.workspaces.refresh(&project(), &remote).await.unwrap();
    let tip = world.workspaces.branch(&project(), BRANCH).await.unwrap().unwrap();
    assert_eq!(Ok(&tip), run.head().await.as_ref());
    // Another run goes on from the merge, without what lies behind it.
    let later = world.open_at("r2", BRANCH, &tip).await.unwrap();
    let lane = later.branch_off("s1-1").await.unwrap();
    put(&lane, "later.txt", "x").await;
    put(&later, "meanwhile.txt", "x").await;
    merge_commit(take_over(&later, &lane, "Later").await.unwrap());
    later.push(&remote, Some("main")).await.unwrap();
    assert_eq!(git(&world.origin(), &["rev-list", "--count", BRANCH]), "13");
}

#[tokio::test]
async fn commits_with_long_names_are_merged_too() {
    let world = World::empty();
    for name in ["origin.git", "theirs"] {
        std::fs::remove_dir_all(world.dir.path().join(name)).unwrap();
    }
    let init = ["init", "-q", "--object-format=sha256", "-b", "main"];
    git(world.dir.path(), &[&init[..], &["--bare", "origin.git"]].concat());
    git(world.dir.path(), &[&init[..], &["theirs"]].concat());
    world.write("README.md", "hello\n");
    world.publish("Begin");
    let run = world.open("r1").await;
    let lane = run.branch_off("s1-1").await.unwrap();
    put(&lane, "own.txt", "own").await;
    put(&run, "run.txt", "run").await;
    let merge = merge_commit(take_over(&run, &lane, "Merge").await.unwrap());
    assert_eq!(
        (merge.as_str().len(), names(&run)),
        (64, vec!["README.md".into(), "own.txt".into(), "run.txt".into()])
    );
    run.push(&world.remote(), Some("main")).await.unwrap();
}
