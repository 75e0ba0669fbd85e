//! Purpose: a text reduced to its ASCII letters and digits, in small letters, with where each of them stands.
//!
//! Whatever is put between the characters of a secret is gone then: spaces, line ends, hyphens, zero-width characters,
//! Markdown's backslashes, the colons of a hex dump. The alphabets of base64 differ in signs only, so there is one left.

/// What is made of escapes, as `%41`, `\u0041`, `\x41` or `&#65;`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escapes {
    Kept,
    /// Replaced by what they stand for.
    Read,
}

#[derive(Default)]
pub(super) struct Squeezed {
    pub(super) bytes: Vec<u8>,
    /// Where each byte comes from: begin and end in the text.
    from: Vec<(usize, usize)>,
}

impl Squeezed {
    pub(super) fn of(text: &str, escapes: Escapes) -> Self {
        let bytes = text.as_bytes();
        let mut squeezed =
            Self { bytes: Vec::with_capacity(bytes.len()), from: Vec::with_capacity(bytes.len()) };
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            let read = match escapes {
                Escapes::Read => escape(&bytes[at..]),
                Escapes::Kept => None,
            };
            let (meant, length) = read.unwrap_or((Some(*byte), 1));
            if let Some(meant) = meant.filter(u8::is_ascii_alphanumeric) {
                squeezed.bytes.push(meant.to_ascii_lowercase());
                squeezed.from.push((at, at + length));
            }
            at += length;
        }
        squeezed
    }

    /// The place in the text of some of the bytes.
    pub(super) fn span(&self, from: usize, to: usize) -> Option<(usize, usize)> {
        let last = self.from.get(to.checked_sub(1)?)?;
        Some((self.from.get(from)?.0, last.1))
    }
}

pub(super) fn may_have_escapes(text: &str) -> bool {
    text.bytes().any(|byte| matches!(byte, b'%' | b'\\' | b'&'))
}

/// What an escape at the beginning stands for, if that is ASCII, and how long it is.
fn escape(text: &[u8]) -> Option<(Option<u8>, usize)> {
    match text {
        [b'%', high, low, ..] | [b'\\', b'x', high, low, ..] => {
            let length = if text.first() == Some(&b'%') { 3 } else { 4 };
            Some((Some(hex_digit(*high)? << 4 | hex_digit(*low)?), length))
        }
        [b'\\', b'u', b'{', rest @ ..] => number(rest, 16, b'}').map(|(byte, digits)| (byte, digits + 4)),
        [b'\\', b'u', digits @ ..] => {
            let digits = digits.get(..4)?;
            let code = digits
                .iter()
                .try_fold(0_u32, |code, digit| Some(code << 4 | u32::from(hex_digit(*digit)?)))?;
            Some((u8::try_from(code).ok(), 6))
        }
        [b'\\', b'n' | b'r' | b't' | b'b' | b'f' | b'0', ..] => Some((None, 2)),
        [b'&', b'#', b'x' | b'X', rest @ ..] => {
            number(rest, 16, b';').map(|(byte, digits)| (byte, digits + 4))
        }
        [b'&', b'#', rest @ ..] => number(rest, 10, b';').map(|(byte, digits)| (byte, digits + 3)),
        [b'&', rest @ ..] => named(rest).map(|letters| (None, letters + 2)),
        _ => None,
    }
}

fn hex_digit(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// A number up to its end, and how many digits it has.
fn number(text: &[u8], radix: u32, end: u8) -> Option<(Option<u8>, usize)> {
    let digits = text.iter().take(9).position(|byte| *byte == end).filter(|digits| *digits > 0)?;
    let mut code = 0_u32;
    for digit in &text[..digits] {
        code = code.saturating_mul(radix).saturating_add(char::from(*digit).to_digit(radix)?);
    }
    Some((u8::try_from(code).ok(), digits))
}

/// `&zwnj;` and the like: mostly signs, and none of them a letter of a secret.
fn named(text: &[u8]) -> Option<usize> {
    let letters = text.iter().take(12).position(|byte| !byte.is_ascii_alphabetic())?;
    (letters >= 2 && text.get(letters) == Some(&b';')).then_some(letters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read() {
        for (text, kept, read) in [
            ("A b-c_1", "abc1", "abc1"),
            ("%41%4a%zz", "414azz", "ajzz"),
            (r"\u0041\x42\u{43}\u{200b}\n\\d", "u0041x42u43u200bnd", "abcd"),
            ("&#65;&#x42;&zwnj;&amp;c & d&", "65x42zwnjampcd", "abcd"),
            ("\\", "", ""),
            ("%4", "4", "4"),
            (r"\u12", "u12", "u12"),
            ("ä\u{200b}é1", "1", "1"),
        ] {
            let of = |escapes| String::from_utf8(Squeezed::of(text, escapes).bytes).unwrap();
            assert_eq!((of(Escapes::Kept).as_str(), of(Escapes::Read).as_str()), (kept, read), "{text}");
        }
    }

    #[test]
    fn every_byte_knows_its_place() {
        let squeezed = Squeezed::of("- %41 \u{200b}b", Escapes::Read);
        assert_eq!(squeezed.bytes, b"ab");
        assert_eq!((squeezed.span(0, 1), squeezed.span(0, 2)), (Some((2, 5)), Some((2, 10))));
        assert_eq!((squeezed.span(0, 0), squeezed.span(1, 3)), (None, None));
    }
}
