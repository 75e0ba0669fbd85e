//! Purpose: text by a model (or any stranger) as one harmless line of Markdown.

/// Put between a sign and a name, it keeps forges from seeing a mention or a reference, and people from seeing it.
const BREAK: char = '\u{200b}';

/// One line of at most `cap` characters. Code spans stay as they are; outside of them nothing is left that notifies,
/// links, embeds, closes or hides.
#[must_use]
pub fn line(text: &str, cap: usize) -> String {
    let plain: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let plain = shorten(&plain, cap);
    let mut out = String::with_capacity(plain.len() + 16);
    let mut rest = plain.as_str();
    while let Some((before, code, after)) = split_code(rest) {
        push_neutral(&mut out, before);
        out.push('`');
        out.push_str(code);
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
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            // Control characters and everything invisible could hide words from people.
            c if c.is_control() || is_invisible(c) => {}
            '<' => out.push_str("&lt;"),
            '[' | ']' | '`' | '*' | '~' => out.extend(['\\', c]),
            '@' => out.extend(['@', BREAK]),
            '#' | '!' if chars.peek().is_some_and(char::is_ascii_digit) => out.extend([c, BREAK]),
            c => out.push(c),
        }
    }
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
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
            ("![x](http://h/?s) [y](z)", "!\\[x\\](http://h/?s) \\[y\\](z)"),
            ("**bold** ~~gone~~", "\\*\\*bold\\*\\* \\~\\~gone\\~\\~"),
            ("zero\u{200b}width \u{202e}rtl \u{1b}[31m", "zerowidth rtl \\[31m"),
            ("目標を理解する", "目標を理解する"),
        ] {
            assert_eq!(line(text, 200), expected);
        }
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(line("目標を理解する", 4), "目標を…");
        assert_eq!(line("abcd", 4), "abcd");
    }
}
