//! Purpose: keeps what a server sends from filling the memory or the day: long lines and endless talk break the line.
//!
//! rmcp has a limit of its own, but it skips what is too long and goes on: the caller would wait for an answer that
//! was thrown away. Here the connection ends and says why. Bytes alone say little: a list of zeros takes seventy
//! times its length once it is parsed, so the values are counted as well, before anybody parses them.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

use super::fate::Fate;

/// One message.
pub(super) const LARGEST_MESSAGE: usize = 4 << 20;
const MOST_VALUES: usize = 100_000;
/// All that may come between two messages of ours.
const MOST_UNASKED: u64 = 32 << 20;

/// Bytes received since we last said something.
#[derive(Debug, Clone, Default)]
pub(super) struct Meter(Arc<AtomicU64>);

impl Meter {
    pub(super) fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// # Errors
    /// When that was too much; the fate is sealed then.
    pub(super) fn add(&self, bytes: usize, fate: &Fate) -> io::Result<()> {
        let bytes = bytes as u64;
        if self.0.fetch_add(bytes, Ordering::Relaxed) + bytes <= MOST_UNASKED {
            return Ok(());
        }
        Err(broken(fate, format!("sent more than {} MiB unasked", MOST_UNASKED >> 20)))
    }
}

/// What a message will take, known from its bytes as they come.
#[derive(Debug, Default)]
pub(super) struct Weight {
    bytes: usize,
    /// Commas and opening brackets outside of texts: at least as many as there are values, but for one.
    values: usize,
    in_text: bool,
    escaped: bool,
}

impl Weight {
    /// # Errors
    /// When the message is too large with these bytes; the fate is sealed then.
    pub(super) fn add(&mut self, bytes: &[u8], fate: &Fate) -> io::Result<()> {
        self.bytes += bytes.len();
        for byte in bytes {
            self.look_at(*byte);
        }
        if self.bytes > LARGEST_MESSAGE {
            return Err(broken(fate, format!("sent a message of more than {} MiB", LARGEST_MESSAGE >> 20)));
        }
        if self.values > MOST_VALUES {
            return Err(broken(fate, format!("sent a message of more than {MOST_VALUES} values")));
        }
        Ok(())
    }

    fn look_at(&mut self, byte: u8) {
        match byte {
            // No text of JSON goes beyond its line, so whatever was before, this is outside.
            b'\n' | b'\r' => (self.in_text, self.escaped) = (false, false),
            _ if self.escaped => self.escaped = false,
            b'\\' => self.escaped = self.in_text,
            b'"' => self.in_text = !self.in_text,
            b',' | b'[' | b'{' if !self.in_text => self.values += 1,
            _ => {}
        }
    }
}

/// Passes on what it reads, as long as no line is too heavy.
#[derive(Debug)]
pub(super) struct CappedLines<R> {
    from: R,
    /// Of what came since the last line end.
    line: Weight,
    meter: Meter,
    fate: Fate,
}

impl<R> CappedLines<R> {
    pub(super) fn new(from: R, meter: Meter, fate: Fate) -> Self {
        Self { from, line: Weight::default(), meter, fate }
    }

    fn check(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.meter.add(bytes.len(), &self.fate)?;
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.add(piece, &self.fate)?;
            if piece.ends_with(b"\n") {
                self.line = Weight::default();
            }
        }
        Ok(())
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for CappedLines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.from).poll_read(context, buffer))?;
        Poll::Ready(self.check(&buffer.filled()[before..]))
    }
}

fn broken(fate: &Fate, why: String) -> io::Error {
    fate.seal(why.clone());
    io::Error::other(why)
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, repeat};

    use super::*;

    /// Reads all and says how much that was, and how it ended.
    async fn read(from: impl AsyncRead + Unpin) -> (usize, Option<String>) {
        let fate = Fate::default();
        let mut capped = CappedLines::new(from, Meter::default(), fate.clone());
        let (mut total, mut chunk) = (0, [0; 8192]);
        loop {
            match capped.read(&mut chunk).await {
                Ok(0) => return (total, None),
                Ok(n) => total += n,
                Err(error) => {
                    assert_eq!(fate.known(), Some(error.to_string().as_str()));
                    return (total, Some(error.to_string()));
                }
            }
        }
    }

    #[tokio::test]
    async fn lines_pass_up_to_the_limit() {
        let mut fitting = vec![b'x'; LARGEST_MESSAGE - 1];
        fitting.push(b'\n');
        let twice = fitting.repeat(2);
        assert_eq!(read(twice.as_slice()).await, (twice.len(), None));
    }

    #[tokio::test]
    async fn a_line_without_end_breaks_off_at_the_limit() {
        let (total, end) = read(repeat(b'x').take(100 << 20)).await;
        assert_eq!(end.as_deref(), Some("sent a message of more than 4 MiB"));
        assert!((LARGEST_MESSAGE - 8192..=LARGEST_MESSAGE).contains(&total), "{total} bytes were passed on");
    }

    #[tokio::test]
    async fn endless_short_lines_break_off_too() {
        let mut line = vec![b'x'; (1 << 20) - 1];
        line.push(b'\n');
        let (total, end) = read(line.repeat(33).as_slice()).await;
        assert_eq!(end.as_deref(), Some("sent more than 32 MiB unasked"));
        assert!(total <= MOST_UNASKED as usize, "{total} bytes were passed on");
    }

    #[test]
    fn values_are_counted_outside_of_texts() {
        for (json, values) in [
            (r#"{"a":1,"b":[1,2,3]}"#, 5),
            (r#"{"a":"1,2,[,{"}"#, 1),
            (r#"["\",[,\"",1]"#, 2),
            (r#"["\\",[1]]"#, 3),
            ("[\"\r[[\n[[", 5),
            ("\\[", 1),
        ] {
            let mut weight = Weight::default();
            // One by one: pieces end anywhere.
            for byte in json.bytes() {
                weight.add(&[byte], &Fate::default()).unwrap();
            }
            assert_eq!(weight.values, values, "{json}");
        }
    }

    #[tokio::test]
    async fn many_small_values_are_too_much() {
        let dense = "[0,".repeat(MOST_VALUES);
        let (total, end) = read(dense.as_bytes()).await;
        assert_eq!(end.as_deref(), Some("sent a message of more than 100000 values"));
        assert!(total < dense.len());
        let text = format!("[\"{}\"]\n", ",".repeat(MOST_VALUES * 2)).repeat(3);
        assert_eq!(read(text.as_bytes()).await, (text.len(), None));
        let lines = format!("[{}]\n", "0,".repeat(MOST_VALUES - 1)).repeat(3);
        assert_eq!(read(lines.as_bytes()).await, (lines.len(), None));
    }

    #[test]
    fn asking_again_gives_it_room_again() {
        let (meter, fate) = (Meter::default(), Fate::default());
        for _ in 0..10 {
            meter.reset();
            assert!(meter.add(MOST_UNASKED as usize, &fate).is_ok());
        }
        assert!(fate.known().is_none());
        assert!(meter.add(1, &fate).is_err());
        assert!(fate.known().is_some());
    }
}
