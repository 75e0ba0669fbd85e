//! Purpose: characters that people do not see: Unicode's Default_Ignorable ones, controls and terminal sequences.
//!
//! They can carry whole sentences (tag characters mirror ASCII), reorder what is shown (bidi controls) or split words
//! that a filter looks for (zero width). None of them reaches a model.

use std::iter::Peekable;
use std::str::Chars;

use super::Visible;

/// `Default_Ignorable_Code_Point` of Unicode 16, and the interlinear annotation characters, which show nothing either.
const IGNORABLE: [(u32, u32); 18] = [
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0xFFF9, 0xFFFB),
    (0x1_BCA0, 0x1_BCA3),
    (0x1_D173, 0x1_D17A),
    (0xE_0000, 0xE_0FFF),
];

/// Whether a person sees nothing where this character stands. Line ends and tabs are seen.
#[must_use]
pub fn is_invisible(c: char) -> bool {
    if c.is_control() {
        return !matches!(c, '\n' | '\t');
    }
    let code = u32::from(c);
    // Most text is below the first ignorable character.
    code >= 0xAD && IGNORABLE.iter().any(|(from, to)| (*from..=*to).contains(&code))
}

/// The text without what people cannot see in it. Line ends become `\n`; Unicode's two line separators become spaces,
/// because they look like that where Markdown is shown and must not start a line here.
#[must_use]
pub fn plain_text(text: &str) -> Visible {
    let mut kept = Visible { text: String::with_capacity(text.len()), hidden: 0 };
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' => {
                chars.next_if_eq(&'\n');
                kept.text.push('\n');
            }
            '\u{2028}' | '\u{2029}' => kept.text.push(' '),
            '\u{1b}' | '\u{9b}' => kept.hidden += 1 + skip_terminal_sequence(c, &mut chars),
            _ if is_invisible(c) => kept.hidden += 1,
            _ => kept.text.push(c),
        }
    }
    kept
}

/// Skips what follows an escape: `[`, parameters and a final letter. Other escapes lose only their first character.
fn skip_terminal_sequence(start: char, chars: &mut Peekable<Chars<'_>>) -> usize {
    let mut skipped = 0;
    if start == '\u{1b}' {
        if chars.next_if_eq(&'[').is_none() {
            return 0;
        }
        skipped += 1;
    }
    while chars.next_if(|c| matches!(c, '\u{20}'..='\u{3f}')).is_some() {
        skipped += 1;
    }
    if chars.next_if(|c| matches!(c, '\u{40}'..='\u{7e}')).is_some() {
        skipped += 1;
    }
    skipped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, visible: &str, hidden: usize) {
        assert_eq!(plain_text(text), Visible { text: visible.to_owned(), hidden }, "{text:?}");
    }

    #[test]
    fn what_nobody_sees_is_removed_and_counted() {
        check("plain\ttext\n", "plain\ttext\n", 0);
        check("日本語 – ok ✅", "日本語 – ok ✅", 0);
        check("pass\u{200b}word\u{2060}", "password", 2);
        check("a\u{202e}b\u{2066}c", "abc", 2);
        check("\u{e0049}\u{e0067}x", "x", 2);
        check("a\u{0}b\u{7}c\u{7f}", "abc", 3);
        check("\u{1b}[31mred\u{1b}[0m", "red", 9);
        check("\u{9b}1;2Hx", "x", 5);
        check("\u{1b}", "", 1);
        check("a\r\nb\rc", "a\nb\nc", 0);
        check("a\u{2028}b", "a b", 0);
        check("\u{feff}a\u{fe0f}", "a", 2);
    }

    #[test]
    fn every_code_point_is_kept_or_removed() {
        let mut removed = 0;
        for c in char::MIN..=char::MAX {
            let once = plain_text(&format!("a{c}b"));
            assert_eq!(plain_text(&once.text), Visible { text: once.text.clone(), hidden: 0 }, "{c:?}");
            removed += once.hidden;
            let expected = match c {
                '\r' => "a\nb".to_owned(),
                '\u{2028}' | '\u{2029}' => "a b".to_owned(),
                // A lone introducer takes the letter after it along.
                '\u{9b}' => "a".to_owned(),
                _ if is_invisible(c) => "ab".to_owned(),
                _ => format!("a{c}b"),
            };
            assert_eq!(once.text, expected, "{c:?}");
        }
        // 4,174 default ignorable code points, three annotation marks, 62 controls, and the letter after U+009B.
        assert_eq!(removed, 4174 + 3 + 62 + 1);
    }
}
