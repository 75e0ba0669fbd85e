//! Purpose: history files are complete copies of the journal; damage of any kind is found, kept and mended.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use futures_util::future::join_all;
use planwright::domain::ThreadRef;
use planwright::store::{Appended, Caught, History, NewFact, Row, ThreadLease, newest, verify};
use serde_json::json;

use crate::store::{Fixture, thread, turn};

const NAME: &str = "gitlab:group/sub/proj!7";

/// A thread with a journal of `facts` facts and its file.
struct Written {
    at: Fixture,
    history: History,
    thread: ThreadRef,
    lease: ThreadLease,
    path: PathBuf,
}

impl Written {
    async fn new(facts: usize) -> Self {
        let at = Fixture::new().await;
        let history = History::new(at.dir.path());
        let lease = at.leased(NAME).await;
        let path = history.path(&thread(NAME));
        let written = Self { at, history, thread: thread(NAME), lease, path };
        written.append(facts).await;
        assert_eq!(written.catch_up().await, Caught { written: facts as u64, damage: None });
        written
    }

    async fn append(&self, facts: usize) -> Vec<Row> {
        let mut turn = turn(&[]);
        turn.facts = (0..facts)
            .map(|n| NewFact {
                run: None,
                json: json!({"type": "noted", "n": n, "text": "zwei\nZeilen, \"ein\" Ende \u{1F389}"}),
            })
            .collect();
        match self.at.store.append(&self.lease, turn).await.unwrap() {
            Appended::Done(rows) => rows,
            refused @ (Appended::LeaseLost | Appended::NotWhilePending) => panic!("{refused:?}"),
        }
    }

    async fn catch_up(&self) -> Caught {
        self.history.catch_up(&self.at.store, &self.thread).await.unwrap()
    }

    /// What the file must hold, whatever happened to it.
    async fn expected(&self) -> String {
        let rows = self.at.store.journal(&self.thread).await.unwrap();
        rows.iter().map(|row| format!("{}\n", row.line)).collect()
    }

    fn side_files(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = fs::read_dir(self.path.parent().unwrap())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| *path != self.path)
            .collect();
        files.sort();
        files
    }

    /// Damages the file, lets it be mended, and checks that nothing was dropped without a word.
    async fn survives(&self, what: &str, damaged: &[u8]) {
        fs::write(&self.path, damaged).unwrap();
        let caught = self.history.repair(&self.at.store, &self.thread).await.unwrap();
        let expected = self.expected().await;
        assert_eq!(fs::read_to_string(&self.path).unwrap(), expected, "{what}");
        let is_prefix =
            expected.as_bytes().starts_with(damaged) && (damaged.is_empty() || damaged.ends_with(b"\n"));
        match caught.damage {
            None => assert!(is_prefix, "{what}: damage went unseen"),
            Some(damage) => {
                let kept = fs::read(&damage.kept_in).unwrap();
                assert_eq!(kept, damaged[usize::try_from(damage.byte_offset).unwrap()..], "{what}");
                assert!(!is_prefix, "{what}: reported without need");
                fs::remove_file(damage.kept_in).unwrap();
            }
        }
    }
}

#[tokio::test]
async fn a_file_is_where_and_what_is_promised() {
    let w = Written::new(3).await;
    assert!(w.path.ends_with("history/gitlab/group/sub/proj/merge_requests/7.jsonl"), "{}", w.path.display());
    let issue = w.history.path(&thread("github:acme/web#12"));
    assert!(issue.ends_with("history/github/acme/web/issues/12.jsonl"), "{}", issue.display());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&w.path), mode(w.path.parent().unwrap())), (0o600, 0o700));
    assert_eq!(fs::read_to_string(&w.path).unwrap(), w.expected().await);
    assert_eq!(verify(&w.path).unwrap().lines, 3);
}

#[tokio::test]
async fn catching_up_adds_only_what_is_missing() {
    let w = Written::new(3).await;
    assert_eq!(w.catch_up().await.written, 0);
    w.append(1200).await;
    assert_eq!(w.catch_up().await, Caught { written: 1200, damage: None });
    assert_eq!(fs::read_to_string(&w.path).unwrap(), w.expected().await);
    fs::remove_file(&w.path).unwrap();
    assert_eq!(w.catch_up().await.written, 1203);
}

/// Whoever has appended rows hands them over; whatever the file is like, it ends up as the journal.
#[tokio::test]
async fn rows_follow_on_a_file_in_any_state() {
    let w = Written::new(3).await;
    let follow = async |rows| w.history.follow(&w.at.store, &w.thread, rows).await.unwrap();
    assert_eq!(follow(w.append(2).await).await, Caught { written: 2, damage: None });
    assert_eq!(follow(vec![]).await.written, 0);
    // Somebody else was there first.
    let rows = w.append(2).await;
    assert_eq!(w.catch_up().await.written, 2);
    assert_eq!(follow(rows).await.written, 0);
    // A line is missing, the last line is another one, or torn, or there is no file.
    let whole = w.expected().await;
    let cut = whole.trim_end().rfind('\n').unwrap() + 1;
    let other = whole.replace("ein", "kein");
    for damaged in [&whole[..cut], other.as_str(), &whole[..whole.len() - 9], ""] {
        fs::write(&w.path, damaged).unwrap();
        let caught = follow(w.append(1).await).await;
        assert_eq!(fs::read_to_string(&w.path).unwrap(), w.expected().await, "{caught:?}");
    }
    fs::remove_dir_all(w.path.parent().unwrap()).unwrap();
    let _ = follow(w.append(1).await).await;
    assert_eq!(fs::read_to_string(&w.path).unwrap(), w.expected().await);
}

#[tokio::test]
async fn a_file_cut_at_any_byte_is_completed_and_the_torn_part_kept() {
    let w = Written::new(4).await;
    let whole = w.expected().await;
    for at in 0..whole.len() {
        let cut = &whole.as_bytes()[..at];
        fs::write(&w.path, cut).unwrap();
        let at_line_end = at == 0 || cut.ends_with(b"\n");
        let sound = cut.iter().filter(|byte| **byte == b'\n').count() as u64;
        let verified = verify(&w.path).unwrap();
        assert_eq!((verified.lines, verified.first_problem.is_none()), (sound, at_line_end), "cut at {at}");
        let caught = w.catch_up().await;
        assert_eq!(fs::read_to_string(&w.path).unwrap(), whole, "cut at {at}");
        assert_eq!(caught.damage.is_none(), at_line_end, "cut at {at}");
        if let Some(damage) = caught.damage {
            let kept = fs::read(&damage.kept_in).unwrap();
            assert_eq!(kept, cut[usize::try_from(damage.byte_offset).unwrap()..], "cut at {at}");
            assert!(damage.kept_in.to_str().unwrap().ends_with(&format!("7.jsonl.damaged-{}", sound + 1)));
            fs::remove_file(damage.kept_in).unwrap();
        }
    }
}

#[tokio::test]
async fn flipped_bits_nul_runs_and_glued_lines_are_found_and_mended() {
    let w = Written::new(3).await;
    let whole = w.expected().await.into_bytes();
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (at % 8);
        fs::write(&w.path, &flipped).unwrap();
        assert!(verify(&w.path).unwrap().first_problem.is_some(), "a flip at {at} went unseen");
        w.survives(&format!("flip at {at}"), &flipped).await;
    }
    for at in (0..whole.len()).step_by(37) {
        for run in [1, 8, 4096] {
            let mut nul = whole.clone();
            nul.splice(at..(at + run).min(whole.len()), vec![0; run]);
            w.survives(&format!("{run} NUL bytes at {at}"), &nul).await;
            nul.truncate(at + run);
            w.survives(&format!("{run} NUL bytes from {at} to the end"), &nul).await;
        }
    }
    let newlines: Vec<usize> = (0..whole.len()).filter(|at| whole[*at] == b'\n').collect();
    for at in newlines {
        let mut glued = whole.clone();
        glued.remove(at);
        w.survives(&format!("lines glued at {at}"), &glued).await;
    }
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    w.survives("a line dropped", &[lines[0], lines[2]].concat()).await;
    w.survives("a line twice", &[lines[0], lines[1], lines[1], lines[2]].concat()).await;
    w.survives("lines swapped", &[lines[1], lines[0], lines[2]].concat()).await;
    w.survives("one line too many", &[lines[0], lines[1], lines[2], b"{}\n"].concat()).await;
    w.survives("only rubbish", b"rubbish").await;
    w.survives("nothing", b"").await;
    w.survives("a whole line and no more", lines[0]).await;
}

#[tokio::test]
async fn appending_goes_on_after_damage() {
    let w = Written::new(5).await;
    let mut file = fs::OpenOptions::new().append(true).open(&w.path).unwrap();
    file.write_all(&[0; 512]).unwrap();
    w.append(2).await;
    let caught = w.catch_up().await;
    assert_eq!(caught.written, 2);
    let damage = caught.damage.unwrap();
    assert_eq!((damage.line, fs::read(&damage.kept_in).unwrap()), (6, vec![0; 512]));
    w.append(1).await;
    assert_eq!(w.catch_up().await, Caught { written: 1, damage: None });
    assert_eq!(verify(&w.path).unwrap().first_problem, None);
    assert_eq!(verify(&w.path).unwrap().lines, 8);
}

#[tokio::test]
async fn evidence_is_never_written_over() {
    let w = Written::new(2).await;
    for n in 0..3_u8 {
        fs::OpenOptions::new().append(true).open(&w.path).unwrap().write_all(&[b'a' + n]).unwrap();
        assert!(w.catch_up().await.damage.is_some());
    }
    let kept: Vec<Vec<u8>> = w.side_files().iter().map(|path| fs::read(path).unwrap()).collect();
    assert_eq!(kept, [b"a", b"b", b"c"]);
}

#[tokio::test]
async fn a_change_in_the_middle_is_reported_with_its_place() {
    let w = Written::new(9).await;
    let whole = w.expected().await;
    let start: usize = whole.lines().take(4).map(|line| line.len() + 1).sum();
    let edited = whole.replacen(r#""n":4"#, r#""n":5"#, 1);
    fs::write(&w.path, &edited).unwrap();
    let verified = verify(&w.path).unwrap();
    let problem = verified.first_problem.unwrap();
    assert_eq!((verified.lines, problem.line, problem.byte_offset), (4, 5, start as u64));
    assert_eq!(problem.what, "does not match its hash");
    assert_eq!(w.catch_up().await.written, 0, "catching up looks at the end only");
    assert_eq!(fs::read_to_string(&w.path).unwrap(), edited, "and writes nothing over it");
    w.survives("edited", edited.as_bytes()).await;
}

#[tokio::test]
async fn lines_the_database_has_lost_are_kept_aside() {
    let ahead = Written::new(5).await;
    let behind = Written::new(3).await;
    let file = fs::read(&ahead.path).unwrap();
    behind.survives("a file that is ahead", &file).await;
    fs::write(&behind.path, &file).unwrap();
    let damage = behind.catch_up().await.damage.unwrap();
    assert_eq!((damage.line, damage.what.as_str()), (4, "is not in the journal of the database"));
}

/// A database that was set back and went on differently: every line is sound, and yet they are not its lines.
#[tokio::test]
async fn lines_of_another_past_are_kept_aside() {
    let one = Written::new(3).await;
    one.append(1).await;
    let _ = one.catch_up().await;
    let other = Written::new(3).await;
    let mut different = turn(&["paused"]);
    different.facts.extend(turn(&["resumed"]).facts);
    let _ = other.at.store.append(&other.lease, different).await.unwrap();
    fs::copy(&one.path, &other.path).unwrap();
    assert_eq!(verify(&other.path).unwrap().first_problem, None);
    let damage = other.catch_up().await.damage.unwrap();
    assert_eq!((damage.line, damage.what.as_str()), (4, "is not as the journal of the database has it"));
    assert_eq!(fs::read_to_string(&other.path).unwrap(), other.expected().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_writers_at_once_write_each_line_once() {
    let w = Written::new(1).await;
    for _ in 0..20 {
        w.append(7).await;
        let other = History::new(w.at.dir.path());
        let both =
            join_all([w.history.catch_up(&w.at.store, &w.thread), other.catch_up(&w.at.store, &w.thread)])
                .await;
        let written: u64 = both.into_iter().map(|caught| caught.unwrap().written).sum();
        assert_eq!(written, 7);
    }
    assert_eq!(fs::read_to_string(&w.path).unwrap(), w.expected().await);
    assert!(w.side_files().is_empty());
}

#[tokio::test]
async fn the_newest_lines_are_read_from_the_end() {
    let w = Written::new(2000).await;
    let whole = w.expected().await;
    let lines: Vec<&str> = whole.lines().collect();
    for k in [0, 1, 2, 20, 1999, 2000, 5000] {
        let read = newest(&w.path, k).unwrap();
        assert!(read.iter().all(|line| line.problem.is_none()));
        let expected = &lines[lines.len().saturating_sub(k)..];
        assert_eq!(read.iter().map(|line| line.text.as_str()).collect::<Vec<_>>(), expected, "{k}");
    }
}

#[tokio::test]
async fn damaged_lines_are_shown_as_such() {
    let w = Written::new(5).await;
    let text = w.expected().await.replacen(r#""n":3"#, r#""n":8"#, 1);
    fs::write(&w.path, format!("{text}{{\"v\":1,\"se")).unwrap();
    let problems: Vec<bool> = newest(&w.path, 4).unwrap().iter().map(|line| line.problem.is_some()).collect();
    assert_eq!(problems, [false, true, false, true]);
}
