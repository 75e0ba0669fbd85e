//! Purpose: keep the JSONL history files a complete copy of the journal, and lose nothing when one is found damaged.
//!
//! A file is completed from the journal after each commit and at start; it is never synced, because it can always be
//! made again. What does not match the journal is damage (a torn line, NUL bytes after a power cut, an edited line, or
//! lines the database has lost): those bytes are kept in a file beside it, and the good part is completed.
//!
//! Writers exclude one another with a lock on the file, so a second process does no harm.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::Store;
use super::history_read::{Line, Lines, Tail};
use super::journal::{PAGE, Row};
use super::line::{FORGOTTEN, check, hash_of, prev_of};
use crate::domain::{ThreadKind, ThreadRef};

#[derive(Debug, Clone)]
pub struct History {
    root: PathBuf,
}

/// What completing a file came to.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caught {
    pub written: u64,
    /// Damage that was found and put aside; somebody should be told.
    pub damage: Option<Damage>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The first line that is not as the journal has it, counted from 1.
    pub line: u64,
    pub byte_offset: u64,
    pub what: String,
    /// Holds everything from there to the end of the damaged file.
    pub kept_in: PathBuf,
}

impl History {
    #[must_use]
    pub fn new(data_dir: &Path) -> Self {
        Self { root: data_dir.join("history") }
    }

    /// The file of a thread, whether it exists or not.
    #[must_use]
    pub fn path(&self, thread: &ThreadRef) -> PathBuf {
        let kind = match thread.kind {
            ThreadKind::Issue => "issues",
            ThreadKind::MergeRequest => "merge_requests",
        };
        let forge = thread.project.forge.as_str();
        self.root.join(forge).join(thread.project.path()).join(kind).join(format!("{}.jsonl", thread.number))
    }

    /// All history files there are, in the order of their names.
    ///
    /// # Errors
    /// When a directory cannot be read.
    pub fn files(&self) -> std::io::Result<Vec<PathBuf>> {
        let mut found = vec![];
        let mut open = vec![self.root.clone()];
        while let Some(dir) = open.pop() {
            if !dir.exists() {
                continue;
            }
            for entry in std::fs::read_dir(dir)? {
                let path = entry?.path();
                if path.is_dir() {
                    open.push(path);
                } else if path.extension().is_some_and(|end| end == "jsonl") {
                    found.push(path);
                }
            }
        }
        found.sort();
        Ok(found)
    }

    /// Adds what the file lacks. Looks only at its end, so it costs what is new and not what is old; damage further up
    /// is found by [`super::verify`] and mended by [`History::repair`].
    ///
    /// # Errors
    /// When the journal cannot be read or the file not be written; the next call will complete it.
    pub async fn catch_up(&self, store: &Store, thread: &ThreadRef) -> anyhow::Result<Caught> {
        let (file, end) = self.open(thread).await?;
        let page = match end {
            End::Sound { seq, .. } => store.journal_page(thread, seq - 1, PAGE).await?,
            End::Empty | End::Damaged => Vec::new(),
        };
        match (&end, page.as_slice()) {
            (End::Empty, _) => self.complete(store, thread, file, 0).await,
            // Nothing is lacking, as in nearly every file when the server starts.
            (End::Sound { line, .. }, [only]) if only.line == *line => {
                Ok(Caught { written: 0, damage: None })
            }
            (End::Sound { seq, line }, [first, ..]) if first.line == *line => {
                self.complete(store, thread, file, *seq).await
            }
            (End::Sound { .. } | End::Damaged, _) => self.mend(store, thread, file).await,
        }
    }

    /// As [`History::catch_up`], for whoever has just appended these rows. The file nearly always ends with the line that
    /// the first of them continues; their hashes say so, and then the journal need not be asked.
    ///
    /// # Errors
    /// As for [`History::catch_up`].
    pub async fn follow(&self, store: &Store, thread: &ThreadRef, rows: Vec<Row>) -> anyhow::Result<Caught> {
        let written = rows.len() as u64;
        let followed = blocking(self.path(thread), move |path| {
            let (file, end) = open_locked(path)?;
            let follows = end.is_before(&rows);
            if follows {
                write_lines(file, &rows)?;
            }
            Ok(follows)
        });
        if followed.await? {
            Ok(Caught { written, damage: None })
        } else {
            self.catch_up(store, thread).await
        }
    }

    /// Compares the whole file with the journal, and puts aside and writes anew what differs.
    ///
    /// # Errors
    /// When the journal cannot be read or the file not be written.
    pub async fn repair(&self, store: &Store, thread: &ThreadRef) -> anyhow::Result<Caught> {
        let (file, _) = self.open(thread).await?;
        self.mend(store, thread, file).await
    }

    /// Removes all lines, and what was put aside of them. The file is made again from the journal, so the lines come
    /// back if that does not forget them as well.
    ///
    /// # Errors
    /// When a file cannot be changed.
    pub async fn clear(&self, thread: &ThreadRef) -> anyhow::Result<()> {
        blocking(self.path(thread), |path| {
            let (file, _) = open_locked(path)?;
            side_files(path)?.iter().try_for_each(std::fs::remove_file)?;
            file.set_len(0)?;
            file.sync_all()
        })
        .await
    }

    async fn open(&self, thread: &ThreadRef) -> anyhow::Result<(File, End)> {
        let path = self.path(thread);
        blocking(path, open_locked).await
    }

    async fn complete(
        &self,
        store: &Store,
        thread: &ThreadRef,
        mut file: File,
        mut seq: i64,
    ) -> anyhow::Result<Caught> {
        let mut written = 0;
        loop {
            let page = store.journal_page(thread, seq, PAGE).await?;
            let Some(last) = page.last() else { return Ok(Caught { written, damage: None }) };
            seq = last.seq;
            written += page.len() as u64;
            file = blocking(self.path(thread), move |_| write_lines(file, &page)).await?;
        }
    }

    async fn mend(&self, store: &Store, thread: &ThreadRef, file: File) -> anyhow::Result<Caught> {
        let path = self.path(thread);
        if let [first] = store.journal_page(thread, 0, 1).await?.as_slice()
            && first.kind == FORGOTTEN
            && begins_before(&path, first.seq)?
        {
            // Lines that came back after they were removed are no damage.
            file.set_len(0)?;
            return self.complete(store, thread, file, 0).await;
        }
        let mut sound = Sound::begin(&path)?;
        while sound.mismatch.is_none() {
            let before = sound.seq;
            let page = store.journal_page(thread, before, PAGE).await?;
            sound = blocking(path.clone(), move |_| sound.compare(&page)).await?;
            // The file or the journal is at its end.
            if sound.seq == before {
                break;
            }
        }
        let seq = sound.seq;
        let (file, damage) = blocking(path, move |path| put_aside(path, file, sound)).await?;
        let caught = self.complete(store, thread, file, seq).await?;
        Ok(Caught { damage, ..caught })
    }
}

/// Files are slow enough to hold up other work, so they are dealt with on a thread for that.
async fn blocking<T: Send + 'static>(
    path: PathBuf,
    work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
) -> anyhow::Result<T> {
    let context = format!("cannot write the history {}", path.display());
    tokio::task::spawn_blocking(move || work(&path)).await?.context(context)
}

/// How a file ends.
enum End {
    Empty,
    Sound { seq: i64, line: String },
    Damaged,
}

impl End {
    /// Whether these rows come right after it. A sound line with the hash that they name is the one in the journal.
    fn is_before(&self, rows: &[Row]) -> bool {
        let Some(first) = rows.first() else { return false };
        match self {
            Self::Empty => first.seq == 1,
            Self::Sound { seq, line } => seq + 1 == first.seq && hash_of(line) == prev_of(&first.line),
            Self::Damaged => false,
        }
    }
}

fn open_locked(path: &Path) -> io::Result<(File, End)> {
    let open = || OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path);
    let mut file = match (open(), path.parent()) {
        (Err(error), Some(dir)) if error.kind() == io::ErrorKind::NotFound => {
            DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
            open()?
        }
        (opened, _) => opened?,
    };
    file.lock()?;
    let end = end_of(&mut file)?;
    Ok((file, end))
}

fn end_of(file: &mut File) -> io::Result<End> {
    if file.metadata()?.len() == 0 {
        return Ok(End::Empty);
    }
    let tail = Tail::read(file, 1)?;
    let end = tail.last_line().and_then(|line| {
        let checked = check(line).ok()?;
        Some(End::Sound { seq: checked.seq, line: std::str::from_utf8(line).ok()?.to_owned() })
    });
    Ok(end.unwrap_or(End::Damaged))
}

/// One write for all lines: a crash tears at most the last of them, and that is found.
fn write_lines(mut file: File, rows: &[Row]) -> io::Result<File> {
    let mut text = String::with_capacity(rows.iter().map(|row| row.line.len() + 1).sum());
    for row in rows {
        text.push_str(&row.line);
        text.push('\n');
    }
    file.write_all(text.as_bytes())?;
    Ok(file)
}

/// How far the file is as the journal has it.
struct Sound {
    lines: Lines,
    seq: i64,
    count: u64,
    /// Where the first line begins that differs, and how it differs.
    mismatch: Option<(u64, String)>,
}

impl Sound {
    fn begin(path: &Path) -> io::Result<Self> {
        Ok(Self { lines: Lines::new(File::open(path)?), seq: 0, count: 0, mismatch: None })
    }

    /// Compares the next lines with the next rows. No rows left means that any further line is one too many.
    fn compare(mut self, rows: &[Row]) -> io::Result<Self> {
        let mut rows = rows.iter().peekable();
        let nothing_left = rows.peek().is_none();
        while nothing_left || rows.peek().is_some() {
            let what = match (self.lines.next()?, rows.next()) {
                (None, _) => return Ok(self),
                (Some(Line::Whole(line)), Some(row)) if line == row.line.as_bytes() => {
                    self.seq = row.seq;
                    self.count += 1;
                    continue;
                }
                (Some(Line::Torn), _) => "is torn: it has no end".to_owned(),
                (Some(Line::Whole(_)), None) => "is not in the journal of the database".to_owned(),
                (Some(Line::Whole(line)), Some(_)) => check(&line)
                    .err()
                    .unwrap_or_else(|| "is not as the journal of the database has it".to_owned()),
            };
            self.mismatch = Some((self.lines.line_start, what));
            return Ok(self);
        }
        Ok(self)
    }
}

/// Whether the file begins with a sound line from before this one.
fn begins_before(path: &Path, seq: i64) -> io::Result<bool> {
    let first = Lines::new(File::open(path)?).next()?;
    let Some(Line::Whole(line)) = first else { return Ok(false) };
    Ok(check(&line).is_ok_and(|line| line.seq < seq))
}

/// Keeps the damaged part in a file of its own, safely on disk, before it is cut off.
fn put_aside(path: &Path, mut file: File, sound: Sound) -> io::Result<(File, Option<Damage>)> {
    let Some((byte_offset, what)) = sound.mismatch else { return Ok((file, None)) };
    let (mut kept, kept_in) = side_file(path, sound.seq + 1)?;
    file.seek(SeekFrom::Start(byte_offset))?;
    io::copy(&mut file, &mut kept)?;
    kept.sync_all()?;
    file.set_len(byte_offset)?;
    Ok((file, Some(Damage { line: sound.count + 1, byte_offset, what, kept_in })))
}

/// What [`side_file`] made beside this one.
fn side_files(path: &Path) -> io::Result<Vec<PathBuf>> {
    let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else { return Ok(vec![]) };
    let beginning = format!("{}.damaged-", name.to_string_lossy());
    let entries = std::fs::read_dir(dir)?.collect::<io::Result<Vec<_>>>()?;
    let beside = entries.iter().filter(|entry| entry.file_name().to_string_lossy().starts_with(&beginning));
    Ok(beside.map(std::fs::DirEntry::path).collect())
}

/// `12.jsonl.damaged-7`; when that exists, `12.jsonl.damaged-7.2` and so on: evidence is never written over.
fn side_file(path: &Path, seq: i64) -> io::Result<(File, PathBuf)> {
    let mut copy = 1;
    loop {
        let suffix = if copy == 1 { format!(".damaged-{seq}") } else { format!(".damaged-{seq}.{copy}") };
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        let side = PathBuf::from(name);
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&side) {
            Ok(file) => return Ok((file, side)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => copy += 1,
            Err(error) => return Err(error),
        }
    }
}
