//! Purpose: text by a model (or any stranger) as one harmless line of Markdown.

use crate::prompts::plain_text;

/// Put between a sign and a name, it keeps forges from seeing a mention or a reference, and people from seeing it.
const BREAK: char = '\u{200b}';

/// Signs that begin a block of Markdown where a line begins with them.
const BEGINS_A_BLOCK: [char; 7] = ['/', '#', '>', '-', '+', '=', ':'];

/// One line of at most `cap` characters, before signs are made harmless. Code spans stay as they are; outside of them
/// nothing is left that notifies, links, embeds, closes or hides. It may stand at the beginning of a line: it begins no
/// command, heading, list, box, quote or table.
#[must_use]
pub fn line(text: &str, cap: usize) -> String {
    let plain = shorten(&one_line(text), cap);
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
    begin_nothing(&mut out);
    out
}

/// One line of at most `cap` characters for where there is no Markdown, as in titles and the messages of commits. Forges
/// read these too: they mention, link and close from there, and leave out checks when they are told so.
#[must_use]
pub(super) fn plain_line(text: &str, cap: usize) -> String {
    let words = one_line(text);
    let words = shorten(words.trim_start_matches(['-', '/', ' ']), cap);
    let lower = words.to_lowercase();
    let tells_checks = ["skip", "no ci"].iter().any(|words| lower.contains(words));
    let mut out = String::with_capacity(words.len() + 16);
    for (c, before, next) in with_neighbours(&words) {
        push_apart(&mut out, c, before, next);
        // `[skip ci]`
        if c == '[' && tells_checks {
            out.push(BREAK);
        }
    }
    out
}

/// Whatever is invisible could hide words from people, also inside code.
fn one_line(text: &str) -> String {
    plain_text(text).text.split_whitespace().collect::<Vec<_>>().join(" ")
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
    for (c, before, next) in with_neighbours(text) {
        match c {
            '<' => out.push_str("&lt;"),
            // `&#64;` is an `@` to a forge that looks for mentions in what Markdown made of it.
            '&' if next == '#' || next.is_ascii_alphabetic() => out.push_str("&amp;"),
            // A backslash of theirs would undo ours.
            '\\' | '[' | ']' | '`' | '*' | '~' | '|' | '$' => out.extend(['\\', c]),
            // Inside of a word it means nothing.
            '_' if !(before.is_alphanumeric() && next.is_alphanumeric()) => out.push_str("\\_"),
            c => push_apart(out, c, before, next),
        }
    }
}

/// A character, kept apart from what would make it a mention, a reference or an address.
fn push_apart(out: &mut String, c: char, before: char, next: char) {
    match c {
        '@' => out.extend(['@', BREAK]),
        // Issues, merge requests, epics and snippets.
        '#' | '!' | '&' | '$' if next.is_ascii_digit() => out.extend([c, BREAK]),
        // Milestones.
        '%' if next.is_alphanumeric() || next == '"' => out.extend([c, BREAK]),
        '-' if next.is_ascii_digit() && is_gh(out) => out.extend([c, BREAK]),
        // Forges make links of bare addresses.
        ':' if next == '/' => out.extend([':', BREAK]),
        '.' if matches!(before, 'w' | 'W') => out.extend([BREAK, '.']),
        c => out.push(c),
    }
}

/// Each character with the one before and the one after it; there are spaces around.
fn with_neighbours(text: &str) -> impl Iterator<Item = (char, char, char)> {
    let before = std::iter::once(' ').chain(text.chars());
    let next = text.chars().skip(1).chain([' ']);
    text.chars().zip(before).zip(next).map(|((c, before), next)| (c, before, next))
}

/// What it begins with is shown as it is.
fn begin_nothing(out: &mut String) {
    let digits = out.bytes().take_while(u8::is_ascii_digit).count();
    match out[digits..].chars().next() {
        Some('.' | ')') if digits > 0 => out.insert(digits, '\\'),
        Some(c) if digits == 0 && BEGINS_A_BLOCK.contains(&c) => out.insert(0, '\\'),
        Some(_) | None => {}
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
                "closes acme/web#1, &5 $6 %7 %\"v 1\" 50% ~bug",
                "closes acme/web#\u{200b}1, &\u{200b}5 \\$6 %\u{200b}7 %\u{200b}\"v 1\" 50% \\~bug",
            ),
            ("mailto:a@b.invalid", "mailto:a@\u{200b}b.invalid"),
            ("task_1 _x_ __y__", "task_1 \\_x\\_ \\_\\_y\\_\\_"),
            ("[x] **1** `write`", "\\[x\\] \\*\\*1\\*\\* `write`"),
            ("- [x] **1** done", "\\- \\[x\\] \\*\\*1\\*\\* done"),
            ("# big", "\\# big"),
            ("> said", "\\> said"),
            ("1. first", "1\\. first"),
            ("12) twelfth", "12\\) twelfth"),
            ("3.5 is fine, 12 too", "3\\.5 is fine, 12 too"),
            ("===", "\\==="),
            ("---", "\\---"),
            ("|-|", "\\|-\\|"),
            (":-:", "\\:-:"),
            ("[^1] and [^1]: note", "\\[^1\\] and \\[^1\\]: note"),
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

    /// Below any line, as in a preview below what an action does, it stays a line of text.
    #[test]
    fn it_begins_nothing() {
        for text in [
            "# x",
            "## x",
            "> x",
            "- x",
            "+ x",
            "* x",
            "1. x",
            "1) x",
            "===",
            "---",
            "- - -",
            "***",
            "___",
            "|-|",
            "-|-",
            ":-:",
            "--",
            "~~~ x",
            "``` x",
            "[x] y",
            "- [x] **1** y",
            "[^1]: x",
            "[x]: y",
            "<div>",
            "<!-- x",
            ": x",
            "<details>",
        ] {
            let shown = format!("- [ ] **1** `write` a  \n  {}\n", line(text, 300));
            let options = Options::ENABLE_GFM
                | Options::ENABLE_TABLES
                | Options::ENABLE_TASKLISTS
                | Options::ENABLE_FOOTNOTES;
            let mut blocks = vec![];
            for event in Parser::new_ext(&shown, options) {
                match event {
                    Event::Start(Tag::List(_) | Tag::Item | Tag::Paragraph | Tag::Strong) => {}
                    Event::Start(tag) => blocks.push(format!("{tag:?}")),
                    Event::TaskListMarker(ticked) => blocks.push(format!("box {ticked}")),
                    Event::Rule | Event::Html(_) | Event::InlineHtml(_) => blocks.push("markup".to_owned()),
                    Event::FootnoteReference(_) | Event::InlineMath(_) | Event::DisplayMath(_) => {
                        blocks.push("markup".to_owned());
                    }
                    Event::End(_) | Event::Text(_) | Event::Code(_) | Event::SoftBreak | Event::HardBreak => {
                    }
                }
            }
            assert_eq!(blocks, ["box false"], "{text}: {shown}");
            assert_eq!(shown.matches("\n").count(), 2);
        }
    }

    #[test]
    fn plain_lines_are_harmless_too() {
        for (text, expected) in [
            ("Add `x` to <a> & b_c", "Add `x` to <a> & b_c"),
            ("-- /approve it", "approve it"),
            (
                "fixes #1, acme/web#2, !3 &4 GH-5",
                "fixes #\u{200b}1, acme/web#\u{200b}2, !\u{200b}3 &\u{200b}4 GH-\u{200b}5",
            ),
            ("@maria at https://evil.invalid", "@\u{200b}maria at https:\u{200b}//evil.invalid"),
            ("use [secret]", "use [secret]"),
            ("done [skip ci]", "done [\u{200b}skip ci]"),
            ("a\n\nCo-authored-by: x <a@b>", "a Co-authored-by: x <a@\u{200b}b>"),
        ] {
            assert_eq!(plain_line(text, 200), expected);
        }
        assert_eq!(plain_line("abcdef", 4), "abc…");
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(line("目標を理解する", 4), "目標を…");
        assert_eq!(line("abcd", 4), "abcd");
    }
}
