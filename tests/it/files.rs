//! Purpose: shows that no path, link, device or race leads a run out of its work tree.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use planwright::actions::RepoPath;
use planwright::tools::files::{Content, Entry, FileError, Files, Found, Kind, LARGEST_WRITE, Listing};
use rustix::fs::{CWD, Mode, RenameFlags};
use tempfile::TempDir;

const OUTSIDE: &str = "of somebody else";

/// A work tree with a neighbour that must stay as it is.
struct Tree {
    around: TempDir,
    files: Files,
}

impl Tree {
    fn new() -> Self {
        let around = tempfile::tempdir().unwrap();
        let root = around.path().join("tree");
        fs::create_dir_all(root.join("src/deep")).unwrap();
        fs::write(root.join("src/main.rs"), "fn main() {}").unwrap();
        fs::create_dir(around.path().join("neighbour")).unwrap();
        fs::write(around.path().join("neighbour/file"), OUTSIDE).unwrap();
        let files = Files::open(&root).unwrap();
        Self { around, files }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.around.path().join("tree").join(path)
    }

    fn neighbour(&self, path: &str) -> PathBuf {
        self.around.path().join("neighbour").join(path)
    }

    #[track_caller]
    fn assert_neighbour_untouched(&self) {
        assert_eq!(names(&self.around.path().join("neighbour")), ["file"]);
        assert_eq!(fs::read_to_string(self.neighbour("file")).unwrap(), OUTSIDE);
        assert_eq!(names(self.around.path()), ["neighbour", "tree"]);
    }

    /// No file that was half written is left.
    #[track_caller]
    fn assert_names(&self, dir: &str, expected: &[&str]) {
        assert_eq!(names(&self.at(dir)), expected);
    }
}

fn names(dir: &Path) -> Vec<String> {
    let names: BTreeSet<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.into_iter().collect()
}

fn path(text: &str) -> RepoPath {
    text.parse().unwrap()
}

fn name(text: &str) -> String {
    text.to_owned()
}

#[test]
fn files_are_created_read_replaced_and_removed() {
    let tree = Tree::new();
    let files = &tree.files;
    files.create(&path("docs/a/b.md"), b"one").unwrap();
    assert_eq!(files.create(&path("docs/a/b.md"), b"two"), Err(FileError::Exists(name("docs/a/b.md"))));
    assert_eq!(files.read(&path("docs/a/b.md"), 100), Ok(Content { bytes: b"one".to_vec(), whole: true }));
    files.write(&path("docs/a/b.md"), b"three").unwrap();
    assert_eq!(files.read(&path("docs/a/b.md"), 4), Ok(Content { bytes: b"thre".to_vec(), whole: false }));
    assert_eq!(files.read(&path("docs/a/b.md"), 5), Ok(Content { bytes: b"three".to_vec(), whole: true }));
    files.write(&path("docs/new.md"), b"").unwrap();
    assert_eq!(files.look(&path("docs/new.md")), Ok(Some(Found { kind: Kind::File, bytes: 0 })));
    assert_eq!(files.look(&path("docs")).unwrap().unwrap().kind, Kind::Directory);
    assert_eq!(files.look(&path("docs/none/x")), Ok(None));
    assert_eq!(files.look(&path("docs/new.md/x")), Ok(None));
    tree.assert_names("docs", &["a", "new.md"]);

    assert_eq!(files.remove(&path("docs")), Err(FileError::NotEmpty(name("docs"))));
    files.remove(&path("docs/a/b.md")).unwrap();
    files.remove(&path("docs/a")).unwrap();
    files.remove(&path("docs/new.md")).unwrap();
    files.remove(&path("docs")).unwrap();
    assert_eq!(files.remove(&path("docs")), Err(FileError::NotFound(name("docs"))));
    assert_eq!(files.remove(&path("no/such")), Err(FileError::NotFound(name("no/such"))));
    files.make_dir(&path("x/y")).unwrap();
    files.make_dir(&path("x/y")).unwrap();
    tree.assert_names("", &["src", "x"]);
}

#[test]
fn lists_are_sorted_and_capped() {
    let tree = Tree::new();
    for number in 0..30 {
        fs::write(tree.at(&format!("src/deep/{number:02}")), "").unwrap();
    }
    fs::create_dir(tree.at(".git")).unwrap();
    symlink("src", tree.at("link")).unwrap();
    let entry = |name: &str, kind| Entry { name: name.to_owned(), kind };
    let whole = [entry("link", Kind::Symlink), entry("src", Kind::Directory)];
    assert_eq!(tree.files.list(None, 10), Ok(Listing { entries: whole.to_vec(), whole: true }));
    let few = tree.files.list(Some(&path("src/deep")), 2).unwrap();
    assert_eq!(few.entries, [entry("00", Kind::File), entry("01", Kind::File)]);
    assert!(!few.whole);
    assert!(tree.files.list(Some(&path("src/deep")), 30).unwrap().whole);
    let not = FileError::NotADirectory(name("src/main.rs"));
    assert_eq!(tree.files.list(Some(&path("src/main.rs")), 2), Err(not));
}

#[test]
fn what_is_no_file_is_refused_and_nobody_waits_for_it() {
    let tree = Tree::new();
    rustix::fs::mknodat(CWD, tree.at("pipe"), rustix::fs::FileType::Fifo, Mode::RWXU, 0).unwrap();
    let _listener = UnixListener::bind(tree.at("socket")).unwrap();
    // Only root can make one; for the others two kinds have to do.
    let device = rustix::fs::makedev(1, 5);
    let kind = rustix::fs::FileType::CharacterDevice;
    let _ = rustix::fs::mknodat(CWD, tree.at("zero"), kind, Mode::RWXU, device);
    for odd in ["pipe", "socket", "zero"].into_iter().filter(|odd| tree.at(odd).exists()) {
        let refused = FileError::NotAFile { path: name(odd), kind: Kind::Other };
        assert_eq!(tree.files.read(&path(odd), 10), Err(refused.clone()));
        assert_eq!(tree.files.write(&path(odd), b"x"), Err(refused));
        assert_eq!(tree.files.create(&path(odd), b"x"), Err(FileError::Exists(name(odd))));
        assert_eq!(tree.files.look(&path(odd)).unwrap().unwrap().kind, Kind::Other);
        tree.files.remove(&path(odd)).unwrap();
    }
    let directory = FileError::NotAFile { path: name("src"), kind: Kind::Directory };
    assert_eq!(tree.files.read(&path("src"), 10), Err(directory.clone()));
    assert_eq!(tree.files.write(&path("src"), b"x"), Err(directory));
    let within = FileError::NotADirectory(name("src/main.rs"));
    assert_eq!(tree.files.write(&path("src/main.rs/x"), b"x"), Err(within));
    tree.assert_names("", &["src"]);
}

/// A link in every position of `a/b/c`, to every kind of place, by every kind of target.
#[test]
fn links_are_followed_for_reading_beneath_the_root_only() {
    for (position, link) in ["a", "a/b", "a/b/c"].into_iter().enumerate() {
        for (target, is_inside) in targets() {
            let tree = Tree::new();
            let depth = "../".repeat(position);
            let is_last = link == "a/b/c";
            // What the link stands for, with the rest of the path in it: inside `src/deep`, outside in the neighbour.
            let rest = ["b/c", "c", ""][position];
            for place in [tree.at("src/deep"), tree.neighbour("")] {
                if !is_last {
                    fs::create_dir_all(place.join(rest).parent().unwrap()).unwrap();
                    fs::write(place.join(rest), OUTSIDE).unwrap();
                }
            }
            if let Some(parent) = Path::new(link).parent() {
                fs::create_dir_all(tree.at("").join(parent)).unwrap();
            }
            let end = if is_last { ["src/main.rs", "neighbour/file"] } else { ["src/deep", "neighbour"] };
            let target = target
                .replace("{up}", &depth)
                .replace("{inside}", end[0])
                .replace("{outside}", end[1])
                .replace("{around}", &tree.around.path().display().to_string());
            symlink(&target, tree.at(link)).unwrap();
            let before = fingerprint(tree.around.path());

            let read = tree.files.read(&path("a/b/c"), 100);
            assert_eq!(read.is_ok(), is_inside, "{link} -> {target}: {read:?}");
            let wrote = tree.files.write(&path("a/b/c"), b"x");
            assert_eq!(wrote, Err(FileError::BehindALink(name(if is_last { "a/b/c" } else { "a/b" }))));
            let _ = tree.files.create(&path("a/b/c"), b"x").unwrap_err();
            let _ = tree.files.make_dir(&path("a/b/c/d")).unwrap_err();
            if is_last {
                assert_eq!(tree.files.look(&path("a/b/c")).unwrap().unwrap().kind, Kind::Symlink);
                assert_eq!(fingerprint(tree.around.path()), before);
                tree.files.remove(&path("a/b/c")).unwrap();
                assert!(fs::symlink_metadata(tree.at(link)).is_err());
            } else {
                let _ = tree.files.remove(&path("a/b/c")).unwrap_err();
                assert_eq!(fingerprint(tree.around.path()), before, "{link} -> {target}");
            }
        }
    }
}

/// Targets of links, and whether a reader may follow them.
fn targets() -> [(&'static str, bool); 7] {
    [
        ("{up}{inside}", true),
        ("{up}src/../{inside}", true),
        ("{up}../{outside}", false),
        ("{around}/{outside}", false),
        // Also when the absolute path leads back in: what is outside is not asked.
        ("{around}/tree/{inside}", false),
        (concat!("/proc/self/", "root", "{around}/{outside}"), false),
        ("{up}src/../../{outside}", false),
    ]
}

/// Every path below with what it is and what is in it.
fn fingerprint(dir: &Path) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap().path();
        let meta = fs::symlink_metadata(&entry).unwrap();
        let content = if meta.is_file() { fs::read_to_string(&entry).unwrap() } else { String::new() };
        all.insert(format!("{} {:o} {content}", entry.display(), meta.mode()));
        if meta.is_dir() {
            all.extend(fingerprint(&entry));
        }
    }
    all
}

#[test]
fn links_in_circles_and_to_nowhere_end() {
    let tree = Tree::new();
    symlink("b", tree.at("a")).unwrap();
    symlink("a", tree.at("b")).unwrap();
    symlink("nowhere", tree.at("c")).unwrap();
    assert_eq!(tree.files.read(&path("a"), 10), Err(FileError::LeadsOutside(name("a"))));
    assert_eq!(tree.files.read(&path("c"), 10), Err(FileError::NotFound(name("c"))));
    assert_eq!(tree.files.write(&path("c"), b"x"), Err(FileError::BehindALink(name("c"))));
    assert_eq!(tree.files.create(&path("c"), b"x"), Err(FileError::Exists(name("c"))));
    tree.assert_names("", &["a", "b", "c", "src"]);
}

#[test]
fn a_file_with_two_names_is_replaced_not_written_through() {
    let tree = Tree::new();
    fs::hard_link(tree.neighbour("file"), tree.at("twin")).unwrap();
    tree.files.write(&path("twin"), b"mine").unwrap();
    assert_eq!(fs::read_to_string(tree.at("twin")).unwrap(), "mine");
    tree.assert_neighbour_untouched();
}

#[test]
fn modes_are_kept() {
    let tree = Tree::new();
    let set = |mode| fs::set_permissions(tree.at("src/main.rs"), fs::Permissions::from_mode(mode)).unwrap();
    let mode = |at: &str| fs::metadata(tree.at(at)).unwrap().mode() & 0o7777;
    for (before, after) in [(0o755, 0o755), (0o644, 0o644), (0o600, 0o600), (0o4755, 0o755)] {
        set(before);
        tree.files.write(&path("src/main.rs"), b"x").unwrap();
        assert_eq!(mode("src/main.rs"), after);
    }
    tree.files.create(&path("new"), b"x").unwrap();
    assert_eq!(mode("new") & 0o111, 0, "a new file is not for running");
}

#[test]
fn too_large_is_refused_before_anything_is_touched() {
    let tree = Tree::new();
    let content = vec![b'x'; LARGEST_WRITE + 1];
    let refused = FileError::TooLarge { path: name("x/big"), bytes: content.len(), most: LARGEST_WRITE };
    assert_eq!(tree.files.create(&path("x/big"), &content), Err(refused.clone()));
    assert_eq!(tree.files.write(&path("x/big"), &content), Err(refused));
    tree.assert_names("", &["src"]);
}

#[test]
fn hostile_paths_stay_inside() {
    let tree = Tree::new();
    symlink(tree.around.path(), tree.at("out")).unwrap();
    symlink("../neighbour", tree.at("next")).unwrap();
    symlink("/", tree.at("slash")).unwrap();
    symlink("/proc/self/cwd", tree.at("magic")).unwrap();
    let around = tree.around.path().display().to_string();
    let hostile = hostile_paths(&around);
    assert!(hostile.len() >= 400, "only {}", hostile.len());
    let mut reached = 0;
    for text in &hostile {
        let Ok(path) = text.parse::<RepoPath>() else { continue };
        reached += 1;
        let read = tree.files.read(&path, 100);
        assert!(read.as_ref().map_or(true, |content| content.bytes != OUTSIDE.as_bytes()), "{text:?}");
        let _ = tree.files.list(Some(&path), 10);
        let _ = tree.files.look(&path);
        let _ = tree.files.write(&path, b"x");
        let _ = tree.files.make_dir(&path);
        let _ = tree.files.create(&path, b"x");
        let is_link = fs::symlink_metadata(tree.at(path.as_str())).is_ok_and(|meta| meta.is_symlink());
        if !is_link {
            let _ = tree.files.remove(&path);
        }
        tree.assert_neighbour_untouched();
    }
    assert!(reached > 50, "only {reached} paths reached the gate, {} were made", hostile.len());
    assert!(!Path::new("/planwright-was-here").exists());
}

fn hostile_paths(around: &str) -> BTreeSet<String> {
    let starts = [
        "",
        "./",
        "/",
        "//",
        "~/",
        "../",
        "..//",
        "./../",
        "src/../",
        "src/../../",
        "src/deep/../../../",
        "out/",
        "next/",
        "slash/",
        "magic/",
        "src/main.rs/",
        "src/./deep/",
        "%2e%2e/",
        "..\\",
        "C:\\",
        "\\\\host\\",
        "\u{2024}\u{2024}/",
        "．．/",
        "\0",
        "src\0/",
        "file:///",
        ".git/",
        ".GIT/",
        "git~1/",
        " ../",
        "../ ",
        "...//",
    ];
    let ends = [
        "neighbour/file".to_owned(),
        "file".to_owned(),
        "planwright-was-here".to_owned(),
        "etc/passwd".to_owned(),
        "proc/self/environ".to_owned(),
        "..".to_owned(),
        ".".to_owned(),
        String::new(),
        "-rf".to_owned(),
        "x".repeat(300),
        "a/".repeat(60),
        "\u{202e}elif".to_owned(),
        "dev/stdin".to_owned(),
        format!("{around}/neighbour/file"),
    ];
    starts.iter().flat_map(|start| ends.iter().map(move |end| format!("{start}{end}"))).collect()
}

/// While one side works on `swap/file`, the other exchanges `swap` for a link to the neighbour, without a pause.
#[test]
fn no_race_leads_outside() {
    let tree = Tree::new();
    fs::create_dir(tree.at("swap")).unwrap();
    fs::write(tree.at("swap/file"), "inside").unwrap();
    symlink("../neighbour", tree.at("other")).unwrap();
    let done = AtomicBool::new(false);
    let (races, swaps) = std::thread::scope(|scope| {
        let swapper = scope.spawn(|| {
            let mut swaps = 0_u64;
            while !done.load(Ordering::Relaxed) {
                let (one, two) = (tree.at("swap"), tree.at("other"));
                rustix::fs::renameat_with(CWD, one, CWD, two, RenameFlags::EXCHANGE).unwrap();
                swaps += 1;
            }
            swaps
        });
        let races = race(&tree.files);
        done.store(true, Ordering::Relaxed);
        (races, swapper.join().unwrap())
    });
    tree.assert_neighbour_untouched();
    assert!(races.held > 0 && races.refused > 0, "the race never took place: {races:?}");
    eprintln!("{} attempts against {swaps} exchanges, 0 escapes ({races:?})", races.held + races.refused);
}

#[derive(Debug, Default)]
struct Races {
    held: u64,
    refused: u64,
}

fn race(files: &Files) -> Races {
    let (file, new) = (path("swap/file"), path("swap/new"));
    let until = Instant::now() + Duration::from_secs(2);
    let mut races = Races::default();
    let mut count = |is_held| *if is_held { &mut races.held } else { &mut races.refused } += 1;
    while Instant::now() < until {
        for _ in 0..50 {
            let read = files.read(&file, 100);
            assert!(read.as_ref().map_or(true, |content| content.bytes == b"inside"), "{read:?}");
            count(read.is_ok());
        }
        count(files.write(&file, b"inside").is_ok());
        count(files.create(&new, b"x").is_ok());
        count(files.remove(&new).is_ok());
        let listing = files.list(Some(&path("swap")), 10);
        count(listing.is_ok());
    }
    races
}

#[test]
fn a_full_disk_leaves_the_old_file() {
    let around = tempfile::tempdir().unwrap();
    let small = around.path().join("small");
    fs::create_dir(&small).unwrap();
    let mounted =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=256k", "tmpfs"]).arg(&small).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: a small file system can only be mounted by root");
        return;
    }
    let _unmount = Unmount(small.clone());
    fs::write(small.join("file"), "old").unwrap();
    let files = Files::open(&small).unwrap();
    let big = vec![b'x'; 512 * 1024];
    assert_eq!(files.write(&path("file"), &big), Err(FileError::NoSpace(name("file"))));
    assert_eq!(files.create(&path("new"), &big), Err(FileError::NoSpace(name("new"))));
    assert_eq!(names(&small), ["file"]);
    assert_eq!(files.read(&path("file"), 10).unwrap().bytes, b"old");
    files.write(&path("file"), b"new").unwrap();
}

struct Unmount(PathBuf);

impl Drop for Unmount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
