//! Purpose: Markdown as a terminal shows it: bold, colours and boxes when somebody watches, plain text otherwise.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::out::is_watched;

pub(super) const BOLD: &str = "\u{1b}[1m";
pub(super) const DIM: &str = "\u{1b}[2m";
pub(super) const GREEN: &str = "\u{1b}[32m";
pub(super) const RED: &str = "\u{1b}[31m";
pub(super) const YELLOW: &str = "\u{1b}[33m";
const CYAN: &str = "\u{1b}[36m";
const RESET: &str = "\u{1b}[0m";

/// The text in this style, if anybody watches.
pub(super) fn paint(style: &str, text: &str) -> String {
    if is_watched() { format!("{style}{text}{RESET}") } else { text.to_owned() }
}

/// Renders a comment, blank lines at most one at a time. HTML, hidden markers included, is left out; control characters cannot reach the terminal.
pub(super) fn markdown(text: &str) -> String {
    let mut page = Page::default();
    let options = Options::ENABLE_TASKLISTS | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES;
    for event in Parser::new_ext(text, options) {
        page.take(event);
    }
    let mut lines: Vec<&str> = page.out.trim().lines().map(str::trim_end).collect();
    lines.dedup_by(|next, line| next.is_empty() && line.is_empty());
    lines.join("\n")
}

/// Breaks a line between words so that it fits a small terminal, with what follows under its text. Styles take no room.
pub(super) fn wrap(line: &str) -> Vec<String> {
    const WIDTH: usize = 72;
    const BOXES: [char; 4] = ['☐', '☑', '•', '·'];
    let text = line.trim_start_matches(|c| c == ' ' || c == '│' || BOXES.contains(&c));
    let lead = line.strip_suffix(text).unwrap_or_default();
    let mut words = text.split(' ');
    let mut current = format!("{lead}{}", words.next().unwrap_or_default());
    let mut lines = vec![];
    for word in words {
        if visible(&current) + 1 + visible(word) > WIDTH {
            lines.push(std::mem::replace(&mut current, format!("{}{word}", lead.replace(BOXES, " "))));
        } else {
            current = format!("{current} {word}");
        }
    }
    lines.push(current);
    lines
}

/// How many characters of a text take room.
fn visible(text: &str) -> usize {
    let mut in_style = false;
    let shown = text.chars().filter(|c| {
        let is_style = in_style || *c == '\u{1b}';
        in_style = is_style && *c != 'm';
        !is_style
    });
    shown.count()
}

#[derive(Default)]
struct Page {
    out: String,
    lists: usize,
    quoted: bool,
    /// An item has begun; unless it is a box it gets a bullet.
    bullet: bool,
    /// Inside a block of code, whose lines stay as they are.
    code: bool,
}

impl Page {
    fn take(&mut self, event: Event<'_>) {
        // In a list with blank lines between its items, each begins with a paragraph.
        let begins = matches!(event, Event::Start(Tag::Paragraph));
        if !begins && std::mem::take(&mut self.bullet) && !matches!(event, Event::TaskListMarker(_)) {
            self.out.push_str("• ");
        }
        match event {
            Event::Start(tag) => self.start(&tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(code) => self.styled(CYAN, &clean(&code)),
            Event::SoftBreak | Event::HardBreak => self.next_line(),
            Event::TaskListMarker(done) => self.out.push_str(if done { "☑ " } else { "☐ " }),
            Event::Rule => self.out.push_str("\n────\n"),
            Event::Html(_)
            | Event::InlineHtml(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_) => {}
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the parser's tags; what has no style of its own is plain text"
    )]
    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                self.out.push('\n');
                self.on(if *level <= HeadingLevel::H2 { BOLD } else { "" });
            }
            Tag::Strong => self.on(BOLD),
            Tag::Emphasis => self.on(DIM),
            Tag::BlockQuote(_) => {
                self.quoted = true;
                self.out.push_str("\n│ ");
                self.on(DIM);
            }
            Tag::List(_) => self.lists += 1,
            Tag::Item => {
                self.line();
                self.out.push_str(&"  ".repeat(self.lists));
                self.bullet = true;
            }
            Tag::TableCell => self.out.push_str("  "),
            Tag::CodeBlock(_) => {
                self.code = true;
                self.out.push('\n');
            }
            _ => {}
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the parser's tags; what has no style of its own is plain text"
    )]
    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.off();
                self.out.push('\n');
            }
            TagEnd::CodeBlock => {
                self.code = false;
                self.out.push('\n');
            }
            TagEnd::Strong | TagEnd::Emphasis => self.off(),
            TagEnd::BlockQuote(_) => self.quoted = false,
            TagEnd::Paragraph => {
                if self.quoted {
                    self.off();
                }
                self.out.push_str(if self.lists == 0 { "\n\n" } else { "" });
            }
            TagEnd::List(_) => {
                self.lists = self.lists.saturating_sub(1);
                self.out.push_str(if self.lists == 0 { "\n\n" } else { "" });
            }
            TagEnd::TableRow | TagEnd::TableHead => self.out.push('\n'),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        let text = clean(text);
        if !self.code {
            self.out.push_str(&text);
            return;
        }
        let indent = if self.lists > 0 { "  ".repeat(self.lists + 1) } else { String::new() };
        for line in text.lines() {
            self.out.push_str(&indent);
            self.styled(CYAN, line);
            self.out.push('\n');
        }
    }

    /// What goes on in an item stands under its text.
    fn next_line(&mut self) {
        self.line();
        if self.lists > 0 {
            self.out.push_str(&"  ".repeat(self.lists + 1));
        }
    }

    fn styled(&mut self, style: &str, text: &str) {
        self.on(style);
        self.out.push_str(text);
        self.off();
        if self.quoted {
            self.on(DIM);
        }
    }

    fn line(&mut self) {
        self.out.push('\n');
        if self.quoted {
            self.out.push_str("│ ");
        }
    }

    fn on(&mut self, style: &str) {
        if is_watched() {
            self.out.push_str(style);
        }
    }

    fn off(&mut self) {
        if is_watched() {
            self.out.push_str(RESET);
        }
    }
}

fn clean(text: &str) -> String {
    text.chars().filter(|c| *c == '\n' || !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::{markdown, wrap};

    #[test]
    fn cards_read_well_without_colours() {
        let card = "## 📋 Execution Plan\n\n**Goal**: Add `a`\n**Status**: ready\n\n- [ ] **task_1**: One\n- [x] **task_2**: Two\n\n> held\n\n*Progress: 1/2*\n\n<!-- planwright:x -->";
        assert_eq!(
            markdown(card),
            "📋 Execution Plan\nGoal: Add a\nStatus: ready\n\n  ☐ task_1: One\n  ☑ task_2: Two\n\n│ held\n\nProgress: 1/2"
        );
    }

    #[test]
    fn what_belongs_to_an_item_stands_under_it() {
        let loose = "- [ ] one  \n  more\n\n  ```py\n  a = 1\n  ```\n\n- two";
        assert_eq!(markdown(loose), "☐ one\n    more\n    a = 1\n\n  • two");
    }

    #[test]
    fn escapes_do_not_reach_the_terminal() {
        assert_eq!(markdown("a \u{1b}[31mred `\u{7}`"), "a [31mred");
    }

    #[test]
    fn long_lines_are_broken_under_their_text() {
        let long = "word ".repeat(20);
        assert_eq!(wrap("short"), ["short"]);
        assert_eq!(wrap(""), [""]);
        for (lead, under) in [("", ""), ("  ☐ ", "    "), ("│ ", "│ ")] {
            let lines = wrap(&format!("{lead}\u{1b}[1m{}", long.trim_end()));
            assert_eq!(lines.len(), 2, "{lines:?}");
            assert!(lines[0].starts_with(lead) && lines[1].starts_with(&format!("{under}word")), "{lines:?}");
            assert!(lines.iter().all(|line| line.chars().count() <= 72 + "\u{1b}[1m".len()), "{lines:?}");
        }
    }
}
