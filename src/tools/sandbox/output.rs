//! Purpose: keep the beginning and the end of what a program prints, and no more memory than that.

/// What is not UTF-8 is replaced; control characters are still in it, for whoever shows it to take out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Output {
    pub head: String,
    /// What came between `head` and `tail` and was not kept.
    pub left_out_bytes: u64,
    pub tail: String,
}

impl Output {
    /// As one text, which says where something is missing.
    #[must_use]
    pub fn text(&self) -> String {
        match self.left_out_bytes {
            0 => format!("{}{}", self.head, self.tail),
            bytes => format!("{}\n[{bytes} bytes left out]\n{}", self.head, self.tail),
        }
    }
}

#[derive(Debug)]
pub(super) struct Collector {
    head: Vec<u8>,
    /// Up to twice as much as is kept, so that it need not be moved for every piece.
    tail: Vec<u8>,
    /// For each of the two.
    most: usize,
    total: u64,
}

impl Collector {
    pub(super) fn new(cap: usize) -> Self {
        Self { head: Vec::new(), tail: Vec::new(), most: cap / 2, total: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let to_head = bytes.len().min(self.most - self.head.len());
        let (first, rest) = bytes.split_at(to_head);
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(self.most)..];
        self.tail.extend_from_slice(rest);
        if self.tail.len() > 2 * self.most {
            self.shorten_tail();
        }
    }

    fn shorten_tail(&mut self) {
        let surplus = self.tail.len().saturating_sub(self.most);
        self.tail.drain(..surplus);
    }

    /// How much was printed, kept or not.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    pub(super) fn finish(mut self) -> Output {
        self.shorten_tail();
        let kept = (self.head.len() + self.tail.len()) as u64;
        let left_out_bytes = self.total - kept;
        if left_out_bytes == 0 {
            // A character that lies on the seam stays whole.
            let head = String::from_utf8_lossy(&[self.head, self.tail].concat()).into_owned();
            return Output { head, left_out_bytes, tail: String::new() };
        }
        let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Output { head: lossy(&self.head), left_out_bytes, tail: lossy(&self.tail) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect(cap: usize, pieces: &[&[u8]]) -> Output {
        let mut collector = Collector::new(cap);
        for piece in pieces {
            collector.push(piece);
        }
        collector.finish()
    }

    fn output(head: &str, left_out_bytes: u64, tail: &str) -> Output {
        Output { head: head.to_owned(), left_out_bytes, tail: tail.to_owned() }
    }

    #[test]
    fn the_beginning_and_the_end_are_kept() {
        assert_eq!(collect(8, &[b"abc"]), output("abc", 0, ""));
        assert_eq!(collect(8, &[b"abcdefgh"]), output("abcdefgh", 0, ""));
        assert_eq!(collect(8, &[b"abcdefghi"]), output("abcd", 1, "fghi"));
        assert_eq!(collect(8, &[b"ab", b"cdef", b"gh", b"ijk", b"l"]), output("abcd", 4, "ijkl"));
        assert_eq!(collect(8, &[b"abcd", &[b'x'; 1000], b"yz"]), output("abcd", 998, "xxyz"));
        assert_eq!(collect(0, &[b"abc"]), output("", 3, ""));
        assert_eq!(collect(8, &["abcä".as_bytes()]), output("abcä", 0, ""));
        assert_eq!(collect(4, &[b"\xff\xfe-----"]), output("\u{fffd}\u{fffd}", 3, "--"));
    }

    #[test]
    fn a_gap_is_said() {
        assert_eq!(output("a", 0, "b").text(), "ab");
        assert_eq!(output("a", 7, "b").text(), "a\n[7 bytes left out]\nb");
    }
}
