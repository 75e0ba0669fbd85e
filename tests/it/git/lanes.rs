//! Purpose: side checkouts of a run: branched off, found again after a crash, removed with the run, many at once.

use futures_util::future::join_all;
use planwright::tools::git::{Committed, GitError, Merged, Refusal, Workspaces, lane_name};

use super::{BRANCH, World, author, committed, git, names, project, put, read, take_over, write};

#[tokio::test]
async fn a_lane_begins_where_the_run_stands() {
    let world = World::new();
    let run = world.open("r1").await;
    let before = put(&run, "before.txt", "before").await;
    let lane = run.branch_off("s1-1").await.unwrap();
    assert_eq!((lane.start(), lane.head().await.as_ref()), (&before, Ok(&before)));
    assert_eq!(names(&lane), ["README.md", "before.txt", "src"]);
    assert_eq!(lane.commit("Nothing", &[]).await, Ok(Committed::NothingChanged));

    let own = put(&lane, "own.txt", "own").await;
    let meanwhile = put(&run, "meanwhile.txt", "meanwhile").await;
    assert_eq!(names(&lane), ["README.md", "before.txt", "own.txt", "src"]);
    assert_eq!(names(&run), ["README.md", "before.txt", "meanwhile.txt", "src"]);
    assert_eq!(lane.log(lane.start()).await.unwrap(), [(own.clone(), "own.txt".to_owned())]);
    assert_eq!(lane.find_commit("own.txt").await, Ok(Some(own.clone())));
    assert_eq!(lane.find_commit("before.txt").await, Ok(None), "older than the lane");
    let diff = lane.diff(lane.start(), 10_000).await.unwrap().text;
    assert!(diff.contains("own.txt") && !diff.contains("before.txt"), "{diff}");
    for (workspace, commit, is_there) in [
        (&lane, &own, true),
        (&lane, &before, true),
        (&lane, run.start(), true),
        (&lane, &meanwhile, false),
        (&run, &own, false),
        (&run, &meanwhile, true),
        (&run, &"1".repeat(40).parse().unwrap(), false),
    ] {
        assert_eq!(
            workspace.contains_all(std::slice::from_ref(commit)).await,
            Ok(is_there),
            "{commit} on {}",
            workspace.branch()
        );
    }
    let refused = lane.push(&world.remote(), Some("main")).await;
    let branch = "lane/s1-1".to_owned();
    assert_eq!(refused, Err(GitError::Refused { branch, why: Refusal::NotOurs }));
}

#[tokio::test]
async fn a_lane_is_found_again_with_its_commits_and_its_beginning() {
    let world = World::new();
    world.write(".gitignore", "target/\n");
    world.publish("Ignore");
    let run = world.open("r1").await;
    let start = run.start().clone();
    let lane = run.branch_off("s1-1").await.unwrap();
    let own = put(&lane, "own.txt", "own").await;
    put(&run, "meanwhile.txt", "meanwhile").await;
    write(lane.tree(), "half.txt", "half");
    write(lane.tree(), "README.md", "half");
    write(lane.tree(), "target/out.o", "built");
    std::fs::create_dir(lane.tree().join(".git")).unwrap();
    for lock in ["index.lock", "HEAD.lock", "refs/heads/lane/s1-1.lock"] {
        std::fs::write(world.bot().join("runs/r1/lanes/s1-1/git").join(lock), "").unwrap();
    }
    drop((lane, run));
    // Nothing but the run's folder is needed, wherever it lies now.
    std::fs::remove_dir_all(world.bot().join("mirrors")).unwrap();
    std::fs::remove_dir_all(world.origin()).unwrap();
    let moved = world.dir.path().join("moved");
    std::fs::rename(world.bot(), &moved).unwrap();
    let workspaces = Workspaces::new(&moved);
    let author = author();
    let opening =
        planwright::tools::git::Opening { run: "r1", branch: BRANCH, start: &start, author: &author };
    let run = workspaces.open(&project(), opening).await.unwrap();
    let lane = run.branch_off("s1-1").await.unwrap();
    assert_eq!((lane.start(), lane.head().await.as_ref()), (&start, Ok(&own)));
    assert_eq!(names(&lane), [".gitignore", "README.md", "own.txt", "src", "target"]);
    assert_eq!(read(lane.tree(), "README.md"), "hello\n");
    assert_eq!(read(lane.tree(), "target/out.o"), "built", "what was built survives");
    assert_eq!(lane.find_commit("own.txt").await, Ok(Some(own)));
    assert_eq!(run.branch_off("s1-2").await.unwrap().head().await, run.head().await, "a new one too");
}

#[tokio::test]
async fn a_lane_that_was_not_finished_is_made_anew() {
    let world = World::new();
    let run = world.open("r1").await;
    let place = world.bot().join("runs/r1/lanes/s1-1");
    // As far as one may have come: nothing but folders, no tree, no branch, all but the last word, half of that.
    for step in 0..5 {
        let lane = run.branch_off("s1-1").await.unwrap();
        put(&lane, "lost.txt", "lost").await;
        let done = place.join("git/planwright-checkout");
        let said = std::fs::read_to_string(&done).unwrap();
        std::fs::remove_file(&done).unwrap();
        match step {
            0 => std::fs::remove_dir_all(place.join("git")).unwrap(),
            1 => std::fs::remove_dir_all(place.join("tree")).unwrap(),
            2 => std::fs::remove_dir_all(place.join("git/refs")).unwrap(),
            3 => {}
            _ => std::fs::write(&done, &said[..20]).unwrap(),
        }
        let head = put(&run, "more.txt", &step.to_string()).await;
        let lane = run.branch_off("s1-1").await.unwrap();
        assert_eq!((lane.start(), lane.head().await.as_ref()), (&head, Ok(&head)), "{step}");
        assert_eq!(names(&lane), ["README.md", "more.txt", "src"], "{step}");
    }
}

#[tokio::test]
async fn lanes_go_with_their_run() {
    let world = World::new();
    let run = world.open("r1").await;
    let other = world.open("r2").await;
    for (run, lane) in [(&run, "s1-1"), (&run, "s1-2"), (&run, "s2-1"), (&other, "s1-1")] {
        put(&run.branch_off(lane).await.unwrap(), "own.txt", lane).await;
    }
    let lanes = |run: &str| {
        let listed = std::fs::read_dir(world.bot().join("runs").join(run).join("lanes"));
        listed.map_or(0, Iterator::count)
    };
    for _ in 0..2 {
        world.workspaces.forget_lane("r1", "s1-1").await.unwrap();
        assert_eq!((lanes("r1"), lanes("r2")), (2, 1));
    }
    let anew = run.branch_off("s1-1").await.unwrap();
    assert_eq!(anew.head().await.as_ref(), Ok(run.start()), "nothing of the one that was forgotten");
    world.workspaces.forget("r1").await.unwrap();
    assert!(!world.bot().join("runs/r1").exists());
    assert_eq!(lanes("r2"), 1);
    // A run that begins elsewhere has no use for lanes that began before.
    world.open_at("r2", "planwright/8-other", other.start()).await.unwrap();
    assert_eq!(lanes("r2"), 0);
}

#[tokio::test]
async fn a_lane_has_the_name_of_an_attempt_at_a_step() {
    let world = World::new();
    let run = world.open("r1").await;
    for name in
        ["", "s1", "../../r2-1", "s1-1/../../tree-1", "/etc-1", "s1-1\n", &lane_name(&"s".repeat(41), 1)]
    {
        let bad = GitError::BadName(name.to_owned());
        assert_eq!(run.branch_off(name).await.err(), Some(bad.clone()));
        assert_eq!(world.workspaces.forget_lane("r1", name).await, Err(bad));
    }
    assert!(run.branch_off(&lane_name(&"s".repeat(40), u32::MAX)).await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn ten_lanes_work_at_once() {
    let world = World::new();
    let run = world.open("r1").await;
    let step = async |number: u32| {
        let lane = run.branch_off(&lane_name("step", number)).await.unwrap();
        for part in 0..3 {
            put(&lane, &format!("{number}/{part}.txt"), &format!("{number} {part}")).await;
        }
        let merged = take_over(&run, &lane, &format!("Merge {number}")).await.unwrap();
        assert!(matches!(merged, Merged::FastForward(_) | Merged::Merge(_)), "{merged:?}");
        world.workspaces.forget_lane("r1", &lane_name("step", number)).await.unwrap();
    };
    join_all((0..10).map(step)).await;
    assert_eq!(run.commit("Nothing is left", &[]).await, Ok(Committed::NothingChanged));
    let log = run.log(run.start()).await.unwrap();
    for number in 0..10 {
        for part in 0..3 {
            let path = format!("{number}/{part}.txt");
            assert_eq!(read(run.tree(), &path), format!("{number} {part}"));
            assert_eq!(log.iter().filter(|(_, subject)| *subject == path).count(), 1);
        }
    }
    run.push(&world.remote(), Some("main")).await.unwrap();
    assert_eq!(git(&world.origin(), &["rev-list", "--count", "--no-merges", BRANCH]), "31");
    assert_eq!(git(&world.origin(), &["fsck", "--strict"]), "");
}

/// Each has its own folder, so a tool in one sees nothing of another, and commits of one do not show in the next.
#[tokio::test]
async fn lanes_do_not_meet_before_they_are_merged() {
    let world = World::new();
    let run = world.open("r1").await;
    let (one, two) = (run.branch_off("one-1").await.unwrap(), run.branch_off("two-1").await.unwrap());
    let first = put(&one, "README.md", "one\n").await;
    let (second, ..) = {
        write(two.tree(), "README.md", "two\n");
        committed(two.commit("Two", &[]).await.unwrap())
    };
    assert_eq!((one.head().await, two.head().await), (Ok(first.clone()), Ok(second)));
    assert_eq!(two.contains_all(std::slice::from_ref(&first)).await, Ok(false));
    assert_eq!(read(run.tree(), "README.md"), "hello\n");
    assert_eq!(run.head().await.as_ref(), Ok(run.start()));
}
