//! Purpose: small things that several comments say alike: times, lists that come to an end, text that has to fit.

use super::line;
use crate::domain::{Lang, Millis};

/// GitHub takes 65,536 characters, and counts some as two.
const LARGEST: usize = 60_000;
/// So many of a list are named within a sentence.
const FEW: usize = 5;

/// The first that fits into a comment; they come in the order of preference.
pub(super) fn fitting(mut texts: impl Iterator<Item = String>) -> Option<String> {
    texts.find(|text| fits(&[text]))
}

/// Whether these texts together fit into a comment.
pub(super) fn fits(texts: &[&str]) -> bool {
    texts.iter().map(|text| text.encode_utf16().count()).sum::<usize>() <= LARGEST
}

pub(super) fn moment(at: Millis) -> String {
    match jiff::Timestamp::from_millisecond(at.0) {
        Ok(time) => time.strftime("%Y-%m-%d %H:%M UTC").to_string(),
        Err(_) => at.to_string(),
    }
}

/// How long that is, in whole minutes.
pub(super) fn span(ms: i64, lang: Lang) -> String {
    const HOUR: usize = 60;
    const DAY: usize = 24 * HOUR;
    let minutes = usize::try_from(ms.saturating_add(59_999) / 60_000).unwrap_or(0).max(1);
    let japanese = match minutes {
        m if m % DAY == 0 => format!("{}日", m / DAY),
        m if m % HOUR == 0 => format!("{}時間", m / HOUR),
        m if m < HOUR => format!("{m}分"),
        m => format!("{}時間{}分", m / HOUR, m % HOUR),
    };
    let english = match minutes {
        m if m % DAY == 0 => count(m / DAY, "day"),
        m if m % HOUR == 0 => count(m / HOUR, "hour"),
        m if m < HOUR => count(m, "minute"),
        m => format!("{} and {}", count(m / HOUR, "hour"), count(m % HOUR, "minute")),
    };
    lang.pick(english, japanese)
}

pub(super) fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// Each in a line of its own, and how many there are besides.
pub(super) fn bullets<T: AsRef<str>>(items: &[T], most: usize, cap: usize, lang: Lang) -> String {
    let shown = items.iter().take(most).map(|item| format!("- {}", line(item.as_ref(), cap)));
    ended(shown.collect(), items.len().saturating_sub(most), lang).join("\n")
}

/// A list that says how much of it is not shown.
pub(super) fn ended(mut lines: Vec<String>, more: usize, lang: Lang) -> Vec<String> {
    if more > 0 {
        lines.push(lang.pick(format!("- and {more} more"), format!("- ほか {more} 件")));
    }
    lines
}

/// The first of a list within a sentence, and how many there are besides.
pub(super) fn few<T: AsRef<str>>(items: &[T], lang: Lang) -> String {
    let shown: Vec<&str> = items.iter().take(FEW).map(AsRef::as_ref).collect();
    let shown = shown.join(", ");
    match items.len().saturating_sub(FEW) {
        0 => shown,
        more => lang.pick(format!("{shown} and {more} more"), format!("{shown} ほか {more} 件")),
    }
}

/// One cell of a table. There a pipe ends the cell even within code, unless a backslash stands before it.
pub(super) fn cell(text: &str, cap: usize) -> String {
    let mut out = String::new();
    let mut slashes = 0_usize;
    for c in line(text, cap).chars() {
        if c == '|' && slashes.is_multiple_of(2) {
            out.push('\\');
        }
        slashes = if c == '\\' { slashes + 1 } else { 0 };
        out.push(c);
    }
    out
}

/// Whether a line is a box: whether it is ticked, and what stands behind it.
pub(super) fn read_box(line: &str) -> Option<(bool, &str)> {
    let rest = line.strip_prefix("- [").or_else(|| line.strip_prefix("* ["))?;
    match rest.split_at_checked(2)? {
        (" ]", words) => Some((false, words.trim())),
        ("x]" | "X]", words) => Some((true, words.trim())),
        (_, _) => None,
    }
}

/// Text of several lines. Lists stay lists and headings become bold; all else is paragraphs.
pub(super) fn paragraphs(text: &str, most: usize, cap: usize) -> String {
    let mut out = String::new();
    let mut before_is_item = false;
    let filled: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    for words in filled.iter().take(most) {
        let item = ["- ", "* ", "+ "].iter().find_map(|mark| words.strip_prefix(mark));
        let shown = match (item, words.strip_prefix('#')) {
            (Some(item), _) => format!("- {}", line(item, cap)),
            (None, Some(heading)) => bold(&line(heading.trim_start_matches('#').trim(), cap)),
            (None, None) => line(words, cap),
        };
        if shown.is_empty() {
            continue;
        }
        if !out.is_empty() {
            out.push_str(if before_is_item && item.is_some() { "\n" } else { "\n\n" });
        }
        out.push_str(&shown);
        before_is_item = item.is_some();
    }
    if filled.len() > most { format!("{out}\n\n…") } else { out }
}

fn bold(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("**{text}**") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_said_in_words() {
        for (ms, words, japanese) in [
            (0, "1 minute", "1分"),
            (60_000, "1 minute", "1分"),
            (61_000, "2 minutes", "2分"),
            (30 * 60_000, "30 minutes", "30分"),
            (60 * 60_000, "1 hour", "1時間"),
            (90 * 60_000, "1 hour and 30 minutes", "1時間30分"),
            (48 * 60 * 60_000, "2 days", "2日"),
            (-5, "1 minute", "1分"),
        ] {
            assert_eq!(
                (span(ms, Lang::English).as_str(), span(ms, Lang::Japanese).as_str()),
                (words, japanese)
            );
        }
        assert_eq!(moment(Millis(1_732_788_000_000)), "2024-11-28 10:00 UTC");
        assert_eq!(moment(Millis(i64::MAX)), format!("{} ms", i64::MAX));
    }

    #[test]
    fn lists_come_to_an_end() {
        assert_eq!(bullets(&["a", "- b", "@c"], 2, 50, Lang::English), "- a\n- \\- b\n- and 1 more");
        assert_eq!(bullets(&["a"], 2, 50, Lang::Japanese), "- a");
    }

    #[test]
    fn lists_within_a_sentence_come_to_an_end() {
        let names = ["1", "2", "3", "4", "5", "6", "7"];
        assert_eq!(few(&names[..1], Lang::English), "1");
        assert_eq!(few(&names[..5], Lang::English), "1, 2, 3, 4, 5");
        assert_eq!(few(&names, Lang::English), "1, 2, 3, 4, 5 and 2 more");
        assert_eq!(few(&names, Lang::Japanese), "1, 2, 3, 4, 5 ほか 2 件");
    }

    #[test]
    fn nothing_ends_a_cell() {
        for (text, shown) in [
            ("a | b", "a \\| b"),
            ("`a|b`", "`a\\|b`"),
            ("`a\\|b`", "`a\\|b`"),
            ("`a\\\\|b`", "`a\\\\\\|b`"),
            ("a \\| b", "a \\\\\\| b"),
        ] {
            assert_eq!(cell(text, 100), shown);
        }
    }

    #[test]
    fn lines_of_text_stay_apart_and_harmless() {
        let text = "# The way\nWe ask @maria.\n\n- one\n* two\n```\n1. /approve\n<b>\n##\n> x";
        insta::assert_snapshot!(paragraphs(text, 20, 100).replace('\u{200b}', "·"));
        assert_eq!(paragraphs("a\nb\nc", 2, 10), "a\n\nb\n\n…");
    }
}
