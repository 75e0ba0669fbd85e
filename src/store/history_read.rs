//! Purpose: read history files without the database: the newest lines, and whether the whole file is sound.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use super::line::{Checked, FORGOTTEN, NO_HASH, check};

/// A line as it stands in the file. A damaged one is shown, with what is wrong with it, never left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryLine {
    pub text: String,
    pub problem: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// Sound lines from the beginning of the file.
    pub lines: u64,
    pub first_problem: Option<Problem>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Counted from 1.
    pub line: u64,
    /// Where that line begins.
    pub byte_offset: u64,
    pub what: String,
}

/// Nothing we write comes near this; a longer "line" is damage, and must not fill the memory.
const LONGEST_LINE: u64 = 64 * 1024 * 1024;
const BLOCK: u64 = 64 * 1024;
/// The end of a file is read in blocks that grow from this: mostly the last line is all that is wanted.
const FIRST_BLOCK: u64 = 4 * 1024;

/// The newest `k` lines, oldest of them first. Reads only the end of the file.
///
/// # Errors
/// When the file cannot be read.
pub fn newest(path: &Path, k: usize) -> io::Result<Vec<HistoryLine>> {
    if k == 0 {
        return Ok(Vec::new());
    }
    let tail = Tail::read(&mut File::open(path)?, k)?;
    let lines: Vec<&[u8]> = tail.bytes.split(|byte| *byte == b'\n').collect();
    // What follows the last newline is empty when the file ends well.
    let (torn, whole) = lines.split_last().map_or((&[][..], &[][..]), |(last, rest)| (*last, rest));
    let mut out: Vec<HistoryLine> = Vec::new();
    let mut before: Option<Checked> = None;
    for line in whole {
        let (shown, checked) = show(line, before.as_ref());
        out.push(shown);
        before = checked;
    }
    if !torn.is_empty() {
        out.push(HistoryLine { text: lossy(torn), problem: Some("is torn: it has no end".to_owned()) });
    }
    Ok(out.split_off(out.len().saturating_sub(k)))
}

fn show(line: &[u8], before: Option<&Checked>) -> (HistoryLine, Option<Checked>) {
    let checked = check(line);
    let problem = match (&checked, before) {
        (Err(what), _) => Some(what.clone()),
        (Ok(checked), Some(before)) => follows(before, checked).err(),
        (Ok(_), None) => None,
    };
    (HistoryLine { text: lossy(line), problem }, checked.ok())
}

fn lossy(line: &[u8]) -> String {
    String::from_utf8_lossy(line).into_owned()
}

/// Checks every line and the chain between them, from the beginning to the first problem.
///
/// # Errors
/// When the file cannot be read.
pub fn verify(path: &Path) -> io::Result<Verified> {
    let mut lines = Lines::new(File::open(path)?);
    let mut before = Checked { hash: NO_HASH.to_owned(), ..Checked::default() };
    let mut count = 0;
    while let Some(line) = lines.next()? {
        let checked = match line {
            Line::Whole(line) => check(&line),
            Line::Torn => Err("is torn: it has no end".to_owned()),
        };
        let sound = checked.and_then(|checked| follows(&before, &checked).map(|()| checked));
        match sound {
            Ok(checked) => before = checked,
            Err(what) => {
                let first_problem = Some(Problem { line: count + 1, byte_offset: lines.line_start, what });
                return Ok(Verified { lines: count, first_problem });
            }
        }
        count += 1;
    }
    Ok(Verified { lines: count, first_problem: None })
}

fn follows(before: &Checked, line: &Checked) -> Result<(), String> {
    if before.seq == 0 && line.kind == FORGOTTEN {
        return Ok(());
    }
    if line.seq != before.seq + 1 {
        return Err(format!("has number {} where {} was expected", line.seq, before.seq + 1));
    }
    if line.prev != before.hash {
        return Err("does not continue the line before it: their hashes differ".to_owned());
    }
    if before.seq != 0 && line.thread != before.thread {
        return Err(format!("is about {} and not about {}", line.thread, before.thread));
    }
    Ok(())
}

/// Goes through a file line by line and knows where each begins.
pub(super) struct Lines {
    reader: BufReader<File>,
    pub(super) line_start: u64,
    next_start: u64,
}

pub(super) enum Line {
    /// Without its newline.
    Whole(Vec<u8>),
    /// The file ended, or the line grew beyond all reason, before a newline came.
    Torn,
}

impl Lines {
    pub(super) fn new(file: File) -> Self {
        Self { reader: BufReader::with_capacity(BLOCK as usize, file), line_start: 0, next_start: 0 }
    }

    pub(super) fn next(&mut self) -> io::Result<Option<Line>> {
        let mut line = Vec::new();
        let read = (&mut self.reader).take(LONGEST_LINE).read_until(b'\n', &mut line)?;
        self.line_start = self.next_start;
        self.next_start += read as u64;
        if read == 0 {
            return Ok(None);
        }
        Ok(Some(if line.pop() == Some(b'\n') { Line::Whole(line) } else { Line::Torn }))
    }
}

/// The end of a file.
pub(super) struct Tail {
    /// Begins at the beginning of a line, unless that line is longer than any can be.
    pub(super) bytes: Vec<u8>,
}

impl Tail {
    /// At least the last `k` lines (fewer when the file has fewer).
    pub(super) fn read(file: &mut File, k: usize) -> io::Result<Self> {
        let length = file.seek(SeekFrom::End(0))?;
        let mut start = length;
        let mut blocks: Vec<Vec<u8>> = Vec::new();
        let mut newlines = 0;
        let mut block_size = FIRST_BLOCK;
        // One newline ends the last line, so the k-th line from the end begins behind newline k + 1.
        while start > 0 && newlines <= k && length - start < LONGEST_LINE.saturating_mul(k as u64) {
            let size = block_size.min(start);
            block_size = (block_size * 2).min(BLOCK);
            start -= size;
            file.seek(SeekFrom::Start(start))?;
            let mut block = vec![0; size as usize];
            file.read_exact(&mut block)?;
            newlines += block.iter().filter(|byte| **byte == b'\n').count();
            blocks.push(block);
        }
        blocks.reverse();
        let mut bytes = blocks.concat();
        if start > 0
            && let Some(first) = bytes.iter().position(|byte| *byte == b'\n')
        {
            bytes.drain(..=first);
        }
        Ok(Self { bytes })
    }

    /// The last line without its newline, if the file ends with a whole one.
    pub(super) fn last_line(&self) -> Option<&[u8]> {
        let body = self.bytes.strip_suffix(b"\n")?;
        body.rsplit(|byte| *byte == b'\n').next()
    }
}
