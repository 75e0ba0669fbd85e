//! Purpose: honest commands work in a cage, say how they ended, and end when told.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use planwright::tools::sandbox::{Cage, End, Job, Limits, Network, Sandbox, SandboxError, SandboxSettings};
use tokio_util::sync::CancellationToken;

use super::world::{World, processes_with, sandboxes, settings};

fn words(argv: &[&str]) -> Vec<String> {
    argv.iter().map(|word| (*word).to_owned()).collect()
}

#[tokio::test]
async fn a_command_works_in_its_tree() {
    for sandbox in sandboxes() {
        let mut world = World::new();
        let script = r#"cat README.md; echo " and error" >&2; echo made > made; mkdir -p a/b; mv made a/b/; rm README.md
            echo temporary > "$TMPDIR/x" && cat "$TMPDIR/x"; test "$HOME" = "$TMPDIR" && echo home; exit 7"#;
        let ran = world.run(sandbox, &["sh", "-c", script]).await;
        assert_eq!(ran.output.text(), "hello and error\ntemporary\nhome\n", "{:?}", sandbox.cage());
        assert_eq!(ran.end, End::Exited(7));
        let made = fs::metadata(world.tree().join("a/b/made")).unwrap();
        assert_eq!(made.uid(), fs::metadata(world.tree()).unwrap().uid());
        assert!(!world.tree().join("README.md").exists());
        assert_eq!(world.damage(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn words_are_not_read_by_a_shell() {
    for sandbox in sandboxes() {
        let world = World::new();
        let odd = ["$(touch x)", "; touch x", "a b", "*", "'\"", "--", "-n", "", "ä\n"];
        let argv = [&["printf", "<%s>"][..], &odd].concat();
        let ran = world.run(sandbox, &argv).await;
        assert_eq!(ran.output.text(), odd.map(|word| format!("<{word}>")).concat());
        assert!(!world.tree().join("x").exists());
    }
}

#[tokio::test]
async fn programs_of_the_tree_can_be_run() {
    for sandbox in sandboxes() {
        let world = World::new();
        let script = world.tree().join("script");
        fs::write(&script, "#!/bin/sh\necho ran \"$1\"\n").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(world.tree().join("text"), "just text").unwrap();
        assert_eq!(world.run(sandbox, &["./script", "x"]).await.output.text(), "ran x\n");
        let root = world.tree();
        for name in ["no-such-program", "./no-such-program", "./text", "./README.md/x"] {
            let argv = words(&[name]);
            let error = sandbox.run(&world.job(&argv, &root), &CancellationToken::new()).await.unwrap_err();
            assert!(matches!(&error, SandboxError::NoSuchProgram(found) if found == name), "{name}: {error}");
        }
        for argv in [vec![], words(&[""])] {
            let error = sandbox.run(&world.job(&argv, &root), &CancellationToken::new()).await.unwrap_err();
            assert!(matches!(error, SandboxError::NoCommand));
        }
    }
}

#[tokio::test]
async fn ends_are_told_apart() {
    for sandbox in sandboxes() {
        let world = World::new();
        for (script, end) in [
            ("exit 0", End::Exited(0)),
            ("exit 129", End::Exited(129)),
            ("exit 255", End::Exited(255)),
            ("kill -SEGV $$", End::Killed(11)),
            ("kill -KILL $$", End::Killed(9)),
        ] {
            assert_eq!(
                world.run(sandbox, &["sh", "-c", script]).await.end,
                end,
                "{:?}: {script}",
                sandbox.cage()
            );
        }
    }
}

#[tokio::test]
async fn long_output_keeps_its_beginning_and_end() {
    for sandbox in sandboxes() {
        let world = World::new();
        let script = r#"$| = 1; print "begin\n"; print 'x' x 5_000_000; print "\nend\n""#;
        let ran = world.run(sandbox, &["perl", "-e", script]).await;
        assert!(ran.output.head.starts_with("begin\nxxx") && ran.output.tail.ends_with("xxx\nend\n"));
        let kept = (ran.output.head.len() + ran.output.tail.len()) as u64;
        assert_eq!((kept, kept + ran.output.left_out_bytes), (16 * 1024, 5_000_011));
        assert_eq!(ran.end, End::Exited(0));
    }
}

/// Named variables come in, and nothing else; a job may say where its home is.
#[tokio::test]
async fn the_environment_is_what_the_job_says() {
    for sandbox in sandboxes() {
        let world = World::new();
        let argv = words(&["perl", "-e", r#"print "$_=$ENV{$_}\n" for sort keys %ENV"#]);
        let env = [("HOME".to_owned(), "/nowhere".to_owned()), ("A".to_owned(), "b c".to_owned())];
        let root = world.tree();
        let job = Job { env: &env, ..world.job(&argv, &root) };
        let text = sandbox.run(&job, &CancellationToken::new()).await.unwrap().output.text();
        let names: Vec<_> = text.lines().filter_map(|line| line.split('=').next()).collect();
        assert_eq!(names, ["A", "HOME", "LANG", "PATH", "TMPDIR"]);
        assert!(text.contains("A=b c\nHOME=/nowhere\n"), "{text}");
    }
}

#[tokio::test]
async fn the_network_can_be_opened() {
    for sandbox in sandboxes() {
        let mut world = World::new();
        let program = world.fill_in(
            r#"use Socket; socket my $s, PF_INET, SOCK_STREAM, 0 or die $!;
            connect $s, pack_sockaddr_in {tcp}, inet_aton '127.0.0.1' or die $!; print 'connected'"#,
        );
        let argv = words(&["perl", "-e", &program]);
        let root = world.tree();
        let job = Job { network: Network::On, ..world.job(&argv, &root) };
        let ran = sandbox.run(&job, &CancellationToken::new()).await.unwrap();
        assert_eq!(ran.output.text(), "connected", "{:?}", sandbox.cage());
        assert_eq!(world.damage(), ["a TCP connection came"]);
    }
}

/// A program that is told to stop may put things in order; one that does not listen is gone all the same.
#[tokio::test]
async fn a_stop_is_polite_first() {
    for sandbox in sandboxes() {
        for (handler, left) in [("sub { print 'tidied'; exit }", "ready tidied"), ("'IGNORE'", "ready ")] {
            let mut world = World::new();
            // When the file is there, the program is ready for the signal.
            let script = format!(
                "$| = 1; $SIG{{TERM}} = {handler}; print 'ready '; open my $f, '>', 'started'; sleep 1 while 1"
            );
            let argv = words(&["perl", "-e", &script, &world.marker]);
            let root = world.tree();
            let job = Job { timeout: Duration::from_secs(60), ..world.job(&argv, &root) };
            let stop = CancellationToken::new();
            let started = root.join("started");
            let stopping = async {
                wait_until(|| started.exists()).await;
                stop.cancel();
                Instant::now()
            };
            let (ran, stopped) = tokio::join!(sandbox.run(&job, &stop), stopping);
            let ran = ran.unwrap();
            assert_eq!((ran.end, ran.output.text().as_str()), (End::Stopped, left), "{:?}", sandbox.cage());
            assert!(stopped.elapsed() < Duration::from_secs(10));
            assert_eq!(world.damage(), Vec::<String>::new());
        }
    }
}

/// As when the bot crashes: nobody is there to say stop.
#[tokio::test]
async fn whoever_is_let_go_of_ends() {
    for sandbox in sandboxes() {
        let mut world = World::new();
        let script = "$SIG{TERM} = 'IGNORE'; fork; open my $f, '>', 'started'; sleep 1 while 1";
        let argv = words(&["perl", "-e", script, &world.marker]);
        let root = world.tree();
        let started = root.join("started");
        let job = Job { timeout: Duration::from_secs(60), ..world.job(&argv, &root) };
        let stop = CancellationToken::new();
        tokio::select! {
            ran = sandbox.run(&job, &stop) => panic!("it ended: {ran:?}"),
            () = wait_until(|| started.exists()) => {}
        }
        wait_until(|| processes_with(&world.marker).is_empty()).await;
        assert_eq!(world.damage(), Vec::<String>::new());
    }
}

async fn wait_until(mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(10);
    while !is_so() {
        assert!(Instant::now() < until, "it did not come to pass");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn threads_and_processes_within_the_limits_are_fine() {
    for sandbox in sandboxes() {
        let world = World::new();
        let script =
            r#"for (1..40) { my $p = fork; if (!$p) { sleep 1; exit } } 1 while wait > 0; print 'all'"#;
        let argv = words(&["perl", "-e", script]);
        let root = world.tree();
        let job = Job {
            limits: Limits { processes: 60, ..super::world::small_limits() },
            ..world.job(&argv, &root)
        };
        let ran = sandbox.run(&job, &CancellationToken::new()).await.unwrap();
        assert_eq!((ran.end, ran.output.text().as_str()), (End::Exited(0), "all"), "{:?}", sandbox.cage());
    }
}

#[test]
fn the_first_cage_that_holds_is_taken() {
    let holds: Vec<Cage> = sandboxes().iter().map(Sandbox::cage).collect();
    assert_eq!(Sandbox::find(settings()).unwrap().cage(), holds[0]);
    let without = SandboxSettings { bubblewrap: PathBuf::from("/no/such/program"), ..settings() };
    let found = Sandbox::find(without).map(|sandbox| sandbox.cage());
    match holds.contains(&Cage::Landlock) {
        true => assert_eq!(found.unwrap(), Cage::Landlock),
        false => assert!(found.unwrap_err().to_string().contains("Bubblewrap: ")),
    }
}

#[test]
fn no_cage_is_an_error_that_says_why() {
    let none = SandboxSettings { cages: vec![], ..settings() };
    let error = Sandbox::find(none).unwrap_err().to_string();
    assert_eq!(
        error,
        "there is no cage for commands on this system (the settings name none); commands are refused"
    );
    let broken = SandboxSettings {
        cages: vec![Cage::Bubblewrap],
        bubblewrap: PathBuf::from("/bin/false"),
        ..settings()
    };
    let error = Sandbox::find(broken).unwrap_err().to_string();
    assert!(error.contains("Bubblewrap: it ended without a word"), "{error}");
    // A program that runs everything where it stands looks like a cage, and is none.
    let lazy = tempfile::tempdir().unwrap();
    let lazy = lazy.path().join("bwrap");
    fs::write(&lazy, "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done; shift; exec \"$@\"\n").unwrap();
    fs::set_permissions(&lazy, fs::Permissions::from_mode(0o755)).unwrap();
    let pretender = SandboxSettings { cages: vec![Cage::Bubblewrap], bubblewrap: lazy, ..settings() };
    let error = Sandbox::find(pretender).unwrap_err().to_string();
    assert!(error.contains("Bubblewrap: it does not hold"), "{error}");
}
