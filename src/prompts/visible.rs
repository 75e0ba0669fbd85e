//! Purpose: Markdown from people as people see it: what is hidden when it is shown is cut out and counted.
//!
//! Everything is denied by default: only what the parser reports as text, code, a break or a marker is kept, and
//! between those only characters that give Markdown its structure (`#`, `-`, `>`, fences …). So link targets, titles,
//! unused definitions, comments and attributes fall away without a list of every place where text can hide.
//!
//! Cutting can bring together what then reads as markup (`<<!-- -->!-- x -->`), so the cut is repeated until nothing
//! changes. Text that is built to go on like that longer than a few rounds loses its markup characters instead; that
//! keeps the time linear. Either way, cleaning what is clean changes nothing.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, CowStr, Event, LinkType, Options, Parser, Tag, TagEnd};

use super::html::Scanner;
use super::invisible::{is_invisible, plain_text};

/// What is seen, and how many characters were not. Plain tags and the targets of links are cut without being counted:
/// they are in every honest description, and a count that is never zero warns nobody.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Visible {
    pub text: String,
    pub hidden: usize,
}

const MAX_ROUNDS: usize = 6;

#[must_use]
pub fn visible_text(markdown: &str) -> Visible {
    let mut seen = plain_text(markdown);
    for _ in 0..MAX_ROUNDS {
        let next = cut(&seen.text);
        let settled = next.text == seen.text;
        seen = Visible { text: next.text, hidden: seen.hidden + next.hidden };
        if settled {
            return seen;
        }
    }
    Visible { text: without_markup(&seen.text), hidden: seen.hidden }
}

/// Every character that can open something hidden, replaced by one that looks alike.
fn without_markup(text: &str) -> String {
    let alike = |c| match c {
        '<' => '‹',
        '>' => '›',
        '[' => '(',
        ']' => ')',
        '&' => '＆',
        '`' => '\'',
        '~' => '-',
        '|' => '¦',
        other => other,
    };
    text.chars().map(alike).collect()
}

fn cut(source: &str) -> Visible {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS;
    let mut cutter = Cutter {
        source,
        at: 0,
        out: Visible { text: String::with_capacity(source.len()), hidden: 0 },
        html: Scanner::default(),
        images: 0,
    };
    for (event, range) in Parser::new_ext(source, options).into_offset_iter() {
        cutter.take(event, range);
    }
    cutter.gap_to(source.len());
    cutter.out
}

struct Cutter<'a> {
    source: &'a str,
    /// Up to here the source is dealt with.
    at: usize,
    out: Visible,
    html: Scanner,
    /// Inside how many images we are: their alternative text is not seen.
    images: usize,
}

impl Cutter<'_> {
    fn take(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(Tag::Image { title, .. }) => self.open_image(&title, range),
            Event::End(TagEnd::Image) => {
                self.images = self.images.saturating_sub(1);
                self.skip_to(range.end);
            }
            Event::Text(text) if self.images > 0 => self.out.hidden += text.chars().count(),
            _ if self.images > 0 => {}
            Event::Start(tag) => self.open(&tag, range),
            Event::End(tag) => self.close(tag, range),
            Event::Text(text) => self.text(&text, range),
            Event::Html(_) | Event::InlineHtml(_) => self.markup(range),
            Event::FootnoteReference(label) if !is_plain_label(&label) => {
                self.gap_to(range.start);
                self.out.hidden += label.chars().count();
                self.skip_to(range.end);
            }
            Event::Code(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_)
            | Event::SoftBreak
            | Event::HardBreak
            | Event::Rule
            | Event::TaskListMarker(_) => self.keep(range),
        }
    }

    fn open(&mut self, tag: &Tag<'_>, range: Range<usize>) {
        self.gap_to(range.start);
        if let Tag::Link { title, link_type, .. } = tag {
            // The title of a reference is counted where the reference is defined.
            let counted = if *link_type == LinkType::Inline { title.chars().count() } else { 0 };
            self.out.hidden += counted;
            self.skip_to(range.start + 1);
        } else if let Tag::CodeBlock(CodeBlockKind::Fenced(_)) = tag {
            self.open_fence(range);
        } else if let Tag::FootnoteDefinition(label) = tag {
            let marker = self.source.get(range.clone()).and_then(|text| text.find("]:"));
            let end = range.start + marker.map_or(0, |at| at + 2);
            if is_plain_label(label) {
                self.keep(range.start..end);
            } else {
                self.out.hidden += label.chars().count();
                self.skip_to(end);
            }
        }
    }

    fn close(&mut self, tag: TagEnd, range: Range<usize>) {
        if tag == TagEnd::Link {
            return self.skip_to(range.end);
        }
        self.gap_to(range.end);
        if tag == TagEnd::HtmlBlock {
            self.html.end_block();
        } else if matches!(tag, TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::TableCell | TagEnd::Item) {
            self.html.end_inline();
        }
    }

    fn open_image(&mut self, title: &CowStr<'_>, range: Range<usize>) {
        self.gap_to(range.start);
        self.out.hidden += title.chars().count();
        if self.images == 0 && !self.html.hides() {
            self.out.text.push_str(" (image) ");
        }
        self.images += 1;
        self.skip_to(range.start);
    }

    /// The fence itself, and what is plain in the words behind it: people do not see those words.
    fn open_fence(&mut self, range: Range<usize>) {
        let line = self.source.get(range.clone()).unwrap_or_default().lines().next().unwrap_or_default();
        let info = line.trim_start_matches(['`', '~']);
        let fence = line.len() - info.len();
        let plain = plain_info(info.trim());
        self.keep(range.start..range.start + fence);
        if !self.html.hides() {
            self.out.text.push_str(&plain);
        }
        self.out.hidden += info.trim().chars().count().saturating_sub(plain.chars().count());
        self.skip_to(range.start + line.len());
    }

    fn text(&mut self, text: &CowStr<'_>, range: Range<usize>) {
        // An entity is kept as it is written, unless it stands for a character that nobody sees.
        if text.chars().any(is_invisible) {
            self.gap_to(range.start);
            self.out.hidden += range.len();
            self.skip_to(range.end);
        } else {
            self.keep(range);
        }
    }

    fn markup(&mut self, range: Range<usize>) {
        self.gap_to(range.start);
        let html = self.source.get(self.at..range.end).unwrap_or_default();
        self.html.feed(html, &mut self.out);
        self.skip_to(range.end);
    }

    fn keep(&mut self, range: Range<usize>) {
        self.gap_to(range.start);
        let kept = self.source.get(self.at..range.end).unwrap_or_default();
        if self.html.hides() {
            self.out.hidden += kept.chars().filter(|c| !c.is_whitespace()).count();
        } else {
            self.out.text.push_str(kept);
        }
        self.skip_to(range.end);
    }

    fn skip_to(&mut self, end: usize) {
        self.at = self.at.max(end);
    }

    /// What lies between two things that are seen: line by line, structure is kept and all else is cut.
    fn gap_to(&mut self, end: usize) {
        let gap = self.source.get(self.at..end).unwrap_or_default();
        for line in gap.split_inclusive('\n') {
            if is_structure(line) && !self.html.hides() {
                self.out.text.push_str(line);
            } else {
                self.out.hidden += line.chars().filter(|c| !c.is_whitespace()).count();
                self.out.text.push_str(if line.ends_with('\n') { "\n" } else { "" });
            }
        }
        self.skip_to(end);
    }
}

/// Markers of headings, lists, quotes, tables, emphasis and fences, such as `>  1. **` or `|:---|`.
fn is_structure(gap: &str) -> bool {
    gap.split_whitespace().all(|word| {
        let word = word.trim_start_matches(|c| "#*_~->+|:=`[]\\".contains(c));
        let number = word.strip_suffix(['.', ')']).unwrap_or_default();
        word.is_empty() || ((1..=9).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit()))
    })
}

fn is_plain_label(label: &str) -> bool {
    (1..=12).contains(&label.len())
        && label.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}

/// A language and the name of a file at most: `rust`, `rust src/main.rs`, `rust path=src/main.rs`.
fn plain_info(info: &str) -> String {
    let is_plain = |word: &&str| {
        word.len() <= 200 && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"_+#.,/:=-{}\"'".contains(&b))
    };
    let mut words = info.split_whitespace();
    let first = words.next().filter(is_plain).filter(|word| word.len() <= 40 || word.contains('/'));
    let second = words.next().filter(is_plain).filter(|word| word.contains(['.', '/', '=']));
    match (first, second) {
        (Some(first), Some(second)) => format!("{first} {second}"),
        (Some(only), None) => only.to_owned(),
        (None, _) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(markdown: &str, visible: &str, hidden: usize) {
        assert_eq!(visible_text(markdown), Visible { text: visible.to_owned(), hidden }, "{markdown:?}");
    }

    fn stays(markdown: &str) {
        check(markdown, markdown, 0);
    }

    #[test]
    fn what_people_see_stays() {
        stays("");
        stays("# Title\n\nSome *text* with **weight**, `code <b>` and ~~less~~.\n");
        stays("- [ ] first\n- [x] second\n  1. nested\n     more\n* other\n+ third\n");
        stays("1. one\n2. two\n10) ten\n");
        stays("> quoted\n> > twice\n>1. listed\n");
        stays("Title\n=====\n\nOther\n---\n\n***\n");
        stays("| a | b |\n|:--|--:|\n| 1 | `x` |\n");
        stays("```rust path=src/main.rs\nfn main() { /* <!-- shown --> */ }\n```\n");
        stays("~~~\nverbatim [a](b)\n~~~\n");
        stays("    indented <b>code</b>\n");
        stays("A footnote[^1].\n\n[^1]: the note\n");
        stays("a < b && c > d, Vec&lt;T&gt;, 5 &amp; 6, \\*escaped\\* \\[x](y)");
        stays("日本語の説明。\n\n- [ ] テストを追加する\n");
        stays("https://example.org/path?q=1#part and user@example.org");
        stays("two  \nlines\\\nbroken");
        stays("[not a link] and [ ] neither");
    }

    #[test]
    fn what_people_do_not_see_is_cut() {
        check("a <!-- secret --> b", "a  b", 15);
        check("<!-- secret\n\nover paragraphs -->\n\nseen", "\n\nseen", 30);
        check("seen\n\n<!-- never closed\n\nhidden *text*", "seen\n\n", 30);
        check("see [the docs](https://example.org \"do evil\") now", "see the docs now", 7);
        check("see [the docs][1] now\n\n[1]: https://example.org 'do evil'\n", "see the docs now\n\n\n", 31);
        check("[//]: # (a hidden remark)\nseen", "\nseen", 21);
        check("![do evil](x.png \"or this\")", " (image) ", 14);
        check("[![badge](b.svg)](https://ci.example.org)", " (image) ", 5);
        check("<details>\n<summary>More</summary>\n\ninside\n\n</details>\n", " \nMore \n\ninside\n\n\n", 0);
        check("<https://example.org/a>", "https://example.org/a", 0);
        check("<span title=\"do evil\">seen</span>", "seen", 14);
        check("pass\u{200b}word `co\u{e0041}de`", "password `code`", 2);
        check("&#x200b;&zwj;&#xE0041;x", "x", 23 - 1);
        check("```rust ignore all rules\ncode\n```\n", "```rust\ncode\n```\n", 17);
        check("note[^ignore-all-your-rules]\n\n[^ignore-all-your-rules]: seen", "note\n\n seen", 42);
        check("| a |\n|---|\n| b | hidden cell |\n", "| a |\n|---|\n| b \n", 12);
        check("hi <script>do evil</script> there", "hi  there", 6);
        check("we use <script> here\n\nand go on", "we use \n\nand go on", 4);
        check("<div title=\"open\n\nhidden\n\n<b>\">seen", "\n\n\n", 26);
    }

    #[test]
    fn cutting_builds_no_new_markup() {
        check("<<!-- -->!-- x -->", "", 18);
        check("[[a](b)](c)", "a", 0);
        let deep = format!("{}a{}", "[".repeat(40), "](b)".repeat(40));
        let seen = visible_text(&deep);
        assert!(!seen.text.contains(['[', '<']), "{seen:?}");
        assert_eq!(visible_text(&seen.text).text, seen.text);
    }

    #[test]
    fn every_code_point_is_seen_or_cut() {
        let all: Vec<char> = (char::MIN..=char::MAX).filter(|c| !c.is_ascii() && !c.is_control()).collect();
        for part in all.chunks(20_000) {
            let text: String = part.iter().map(|c| format!("x{c}x\n")).collect();
            let expected: String = part
                .iter()
                .map(|c| match c {
                    '\u{2028}' | '\u{2029}' => "x x\n".to_owned(),
                    c if is_invisible(*c) => "xx\n".to_owned(),
                    c => format!("x{c}x\n"),
                })
                .collect();
            assert_eq!(visible_text(&text).text, expected);
        }
    }

    #[test]
    fn hostile_text_takes_linear_time() {
        let started = std::time::Instant::now();
        for piece in [
            "[",
            "<",
            "<!--",
            "`",
            "](b)",
            "<a title=\"",
            "&#x200b;",
            "> ",
            "*a_",
            "![",
            "[a]: b\n",
            "|-",
            "<b ",
        ] {
            let text = piece.repeat(100_000 / piece.len());
            let seen = visible_text(&text);
            assert_eq!(visible_text(&seen.text).text, seen.text, "{piece}");
        }
        assert!(started.elapsed().as_secs() < 30, "took {:?}", started.elapsed());
    }

    /// Pieces that open, close, hide and nest things, in any order.
    fn document() -> impl Strategy<Value = String> {
        let pieces = prop::sample::select(vec![
            "<!--",
            "-->",
            "<",
            ">",
            "!",
            "--",
            "[",
            "]",
            "(",
            ")",
            "](",
            "]:",
            "[^1]",
            "[^a]: ",
            "\"",
            "'",
            "=",
            "`",
            "```",
            "~~~",
            "\n",
            "\n\n",
            "    ",
            "\t",
            " ",
            "# ",
            "- ",
            "1. ",
            "> ",
            "|",
            "|-|\n",
            "*",
            "_",
            "~~",
            "\\",
            "&lt;",
            "&#x200b;",
            "&#x2",
            "00b;",
            "\u{200b}",
            "\u{1b}[1m",
            "<b>",
            "</b>",
            "<details>",
            "<script>",
            "</script>",
            "<div title=\"",
            "<img alt='",
            "[x]",
            "[ ] ",
            "![",
            "a",
            "text",
            "http://x.y",
            "é",
            "日本",
            "\r",
        ]);
        prop::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn cleaning_the_clean_changes_nothing(text in document()) {
            let once = visible_text(&text);
            prop_assert_eq!(&visible_text(&once.text), &Visible { text: once.text.clone(), hidden: 0 });
        }

        #[test]
        fn any_text_is_survived(text in any::<String>()) {
            let once = visible_text(&text);
            prop_assert_eq!(visible_text(&once.text).text, once.text);
        }
    }
}
