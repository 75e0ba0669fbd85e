//! Purpose: text by a model (or any stranger) as one harmless line of Markdown.

use crate::prompts::plain_text;

/// Put between a sign and a name, it keeps forges from seeing a mention or a reference, and people from seeing it.
const BREAK: char = '\u{200b}';

/// One line of at most `cap` characters, before signs are made harmless. Code spans stay as they are; outside of them
/// nothing is left that notifies, links, embeds, closes or hides.
#[must_use]
pub fn line(text: &str, cap: usize) -> String {
    // Whatever is invisible could hide words from people, also inside code.
    let visible = plain_text(text).text;
    let plain: String = visible.split_whitespace().collect::<Vec<_>>().join(" ");
    let plain = shorten(&plain, cap);
    let mut out = String::with_capacity(plain.len() + 16);
    let mut rest = plain.as_str();
    while let Some((before, code, after)) = split_code(rest) {
        push_neutral(&mut out, before);
        out.push('`');
        // The bot's own marker must not be found in what somebody else wrote.
        out.push_str(&code.replace("<!--", "<!\u{200b}--"));
        out.push('`');
        rest = after;
    }
    push_neutral(&mut out, rest);
    if out.starts_with('/') {
        out.insert(0, '\\');
    }
    out
}

fn shorten(text: &str, cap: usize) -> String {
    match text.char_indices().nth(cap) {
        None => text.to_owned(),
        Some(_) => {
            let kept: String = text.chars().take(cap.saturating_sub(1)).collect();
            format!("{}…", kept.trim_end())
        }
    }
}

/// The first `code` span with what stands before and after it.
fn split_code(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('`')?;
    let (code, after) = rest.split_once('`')?;
    (!code.is_empty()).then_some((before, code, after))
}

fn push_neutral(out: &mut String, text: &str) {
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied().unwrap_or(' ');
        match c {
            '<' => out.push_str("&lt;"),
            // `&#64;` is an `@` to a forge that looks for mentions in what Markdown made of it.
            '&' if next == '#' || next.is_ascii_alphanumeric() => out.push_str("&amp;"),
            // A backslash of theirs would undo ours.
            '\\' | '[' | ']' | '`' | '*' | '~' => out.extend(['\\', c]),
            '@' => out.extend(['@', BREAK]),
            '#' | '!' | '-' if next.is_ascii_digit() && (c != '-' || is_gh(out)) => out.extend([c, BREAK]),
            // Forges make links of bare addresses.
            ':' if next == '/' => out.extend([':', BREAK]),
            '.' if matches!(before, 'w' | 'W') => out.extend([BREAK, '.']),
            c => out.push(c),
        }
        before = c;
    }
}

/// `GH-12` is the other way to write `#12`.
fn is_gh(out: &str) -> bool {
    out.len() >= 2 && out.get(out.len() - 2..).is_some_and(|end| end.eq_ignore_ascii_case("gh"))
}

#[cfg(test)]
mod tests {
    use pulldown_cmark::{Event, Options, Parser, Tag};

    use super::*;

    #[test]
    fn text_becomes_harmless() {
        for (text, expected) in [
            ("Add a check", "Add a check"),
            ("two\nlines\t here", "two lines here"),
            ("ask @maria", "ask @\u{200b}maria"),
            ("fixes #12 and !7, C# stays", "fixes #\u{200b}12 and !\u{200b}7, C# stays"),
            ("/approve", "\\/approve"),
            ("see `src/a.rs` and `@x`", "see `src/a.rs` and `@x`"),
            ("a lone ` tick", "a lone \\` tick"),
            ("<!-- hidden --> <img src=x>", "&lt;!-- hidden --> &lt;img src=x>"),
            ("![x](http://h/?s) [y](z)", "!\\[x\\](http:\u{200b}//h/?s) \\[y\\](z)"),
            ("**bold** ~~gone~~", "\\*\\*bold\\*\\* \\~\\~gone\\~\\~"),
            ("zero\u{200b}width \u{202e}rtl \u{1b}[31mred", "zerowidth rtl red"),
            ("`a\u{202e}b` `<!-- planwright:card/1 -->`", "`ab` `<!\u{200b}-- planwright:card/1 -->`"),
            ("\\[x\\](z) C:\\new", "\\\\\\[x\\\\\\](z) C:\\\\new"),
            ("&#64;maria R&D a & b", "&amp;#\u{200b}64;maria R&amp;D a & b"),
            (
                "www.evil.invalid, GH-12, UTF-8, e.g. this",
                "www\u{200b}.evil.invalid, GH-\u{200b}12, UTF-8, e.g. this",
            ),
            ("目標を理解する", "目標を理解する"),
        ] {
            assert_eq!(line(text, 200), expected);
        }
    }

    /// What Markdown makes of it has no link, no picture, no emphasis and no HTML, whatever was written.
    #[test]
    fn nothing_of_it_is_markup() {
        for text in [
            r"\[x\](http://evil.invalid) \`a` @b",
            r"\\[x](y) ![i](z)",
            "[x]: http://evil.invalid",
            "https://evil.invalid www.evil.invalid a@evil.invalid <http://evil.invalid>",
            r"\<b>x</b> &lt;i> **x** __y** ~~z~~ ``a`b``",
            "`a``<b>`` <i>x</i> `",
        ] {
            let shown = format!("- {}", line(text, 300));
            for event in Parser::new_ext(&shown, Options::ENABLE_STRIKETHROUGH | Options::ENABLE_GFM) {
                let structure = matches!(
                    event,
                    Event::Start(Tag::List(_) | Tag::Item | Tag::Paragraph) | Event::End(_) | Event::Code(_)
                );
                let harmless = if let Event::Text(words) = &event {
                    let words = words.to_lowercase();
                    !words.contains("://") && !words.contains("www.")
                } else {
                    structure
                };
                assert!(harmless, "{text}: {event:?} in {shown}");
            }
        }
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(line("目標を理解する", 4), "目標を…");
        assert_eq!(line("abcd", 4), "abcd");
    }
}
