//! Purpose: HTML inside Markdown, reduced to the text between its tags: tags, attributes, comments and the content of
//! scripts and styles are not seen by people.
//!
//! The scanner keeps its state from line to line and, where a browser would, from one HTML block to the next: a comment
//! or a quoted attribute that never closes hides whatever follows it.

use super::Visible;
use super::invisible::is_invisible;

/// Tags that stand inside a word or sentence. Others separate what is before them from what is after.
const INLINE: [&str; 24] = [
    "a", "abbr", "b", "bdi", "bdo", "cite", "code", "del", "dfn", "em", "font", "i", "ins", "kbd", "mark",
    "q", "s", "samp", "small", "span", "strong", "sub", "sup", "u",
];

#[derive(Default)]
pub(super) struct Scanner {
    state: State,
}

#[derive(Default, Clone, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    Tag(Tag),
    /// `<!DOCTYPE …>`, `<?…>`: a browser drops it up to the next `>`.
    Declaration,
    Comment,
    /// Inside `script` or `style`, up to its end tag.
    Raw(&'static str),
}

#[derive(Clone, PartialEq, Eq)]
struct Tag {
    name: String,
    closing: bool,
    quote: Option<char>,
    after_equals: bool,
}

impl Scanner {
    /// Whether text that follows now is hidden by what was opened before.
    pub(super) fn hides(&self) -> bool {
        self.state != State::Text
    }

    /// A paragraph ended. A `<script>` in a sentence hides the rest of that sentence, not the rest of the document:
    /// people write about tags, and forges show such a tag as text.
    pub(super) fn end_inline(&mut self) {
        if matches!(self.state, State::Raw(_)) {
            self.state = State::Text;
        }
    }

    /// An HTML block ended. What a forge puts after it begins with a tag, whose `>` closes an open tag or declaration,
    /// but no comment and no quoted attribute.
    pub(super) fn end_block(&mut self) {
        let stays = match &self.state {
            State::Comment => true,
            State::Tag(tag) => tag.quote.is_some(),
            State::Text | State::Declaration | State::Raw(_) => false,
        };
        if !stays {
            self.state = State::Text;
        }
    }

    /// Takes a line of an HTML block, or one inline tag, and appends what people see of it.
    pub(super) fn feed(&mut self, html: &str, out: &mut Visible) {
        let mut rest = html;
        while !rest.is_empty() {
            let taken = match self.state.clone() {
                State::Text => self.text(rest, out),
                State::Tag(tag) => self.tag(tag, rest, out),
                State::Declaration => self.hide_through(">", rest, out),
                State::Comment => self.hide_through("-->", rest, out),
                State::Raw(name) => self.raw(name, rest, out),
            };
            rest = rest.get(taken..).unwrap_or_default();
        }
    }

    fn text(&mut self, rest: &str, out: &mut Visible) -> usize {
        if let Some(taken) = self.open(rest, out) {
            return taken;
        }
        if let Some((length, c)) = numeric_entity(rest)
            && is_invisible(c)
        {
            out.hidden += length;
            return length;
        }
        // One character at least, then all up to the next that could mean something.
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let until = rest[first..].find(['<', '&']).map_or(rest.len(), |at| at + first);
        out.text.push_str(&rest[..until]);
        until
    }

    /// What begins with `<` here, if anything does.
    fn open(&mut self, rest: &str, out: &mut Visible) -> Option<usize> {
        let inner = rest.strip_prefix('<')?;
        if let Some(comment) = inner.strip_prefix("!--") {
            let empty = [">", "->"].into_iter().find(|end| comment.starts_with(end));
            if empty.is_none() {
                self.state = State::Comment;
            }
            let taken = 4 + empty.map_or(0, str::len);
            out.hidden += taken;
            return Some(taken);
        }
        if inner.starts_with(['!', '?']) {
            self.state = State::Declaration;
            out.hidden += 2;
            return Some(2);
        }
        let closing = inner.starts_with('/');
        let name_at = 1 + usize::from(closing);
        let name: String = rest[name_at..].chars().take_while(|c| is_of_name(*c)).collect();
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return None;
        }
        let taken = name_at + name.len();
        let name = name.to_ascii_lowercase();
        self.state = State::Tag(Tag { name, closing, quote: None, after_equals: false });
        Some(taken)
    }

    /// Attributes, up to the `>` that is not inside a quoted value.
    fn tag(&mut self, mut tag: Tag, rest: &str, out: &mut Visible) -> usize {
        for (at, c) in rest.char_indices() {
            match tag.quote {
                None if c == '>' => {
                    self.close_tag(&tag, out);
                    return at + 1;
                }
                None if tag.after_equals && matches!(c, '"' | '\'') => tag.quote = Some(c),
                Some(quote) if c == quote => tag.quote = None,
                None | Some(_) => {}
            }
            tag.after_equals = c == '=' || (tag.after_equals && c.is_whitespace());
            out.hidden += usize::from(!c.is_whitespace() && c != '/');
        }
        self.state = State::Tag(tag);
        rest.len()
    }

    fn close_tag(&mut self, tag: &Tag, out: &mut Visible) {
        self.state = match tag.name.as_str() {
            "script" if !tag.closing => State::Raw("</script"),
            "style" if !tag.closing => State::Raw("</style"),
            _ => State::Text,
        };
        if tag.name == "img" {
            out.text.push_str(" (image) ");
        } else if !INLINE.contains(&tag.name.as_str()) && !out.text.ends_with(char::is_whitespace) {
            out.text.push(' ');
        }
    }

    fn raw(&mut self, end: &'static str, rest: &str, out: &mut Visible) -> usize {
        let found = rest
            .char_indices()
            .map(|(at, _)| at)
            .find(|at| rest.get(*at..at + end.len()).is_some_and(|part| part.eq_ignore_ascii_case(end)));
        out.hidden += rest[..found.unwrap_or(rest.len())].chars().filter(|c| !c.is_whitespace()).count();
        match found {
            Some(at) => {
                let name = end[2..].to_owned();
                self.state = State::Tag(Tag { name, closing: true, quote: None, after_equals: false });
                at + end.len()
            }
            None => rest.len(),
        }
    }

    fn hide_through(&mut self, end: &str, rest: &str, out: &mut Visible) -> usize {
        let taken = match rest.find(end) {
            Some(at) => {
                self.state = State::Text;
                at + end.len()
            }
            None => rest.len(),
        };
        out.hidden += rest[..taken].chars().filter(|c| *c != '\n').count();
        taken
    }
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-'
}

/// A character written as its number: how long that is, and the character. Browsers do without the semicolon.
fn numeric_entity(text: &str) -> Option<(usize, char)> {
    let number = text.strip_prefix("&#")?;
    let (digits, radix) = match number.strip_prefix(['x', 'X']) {
        Some(hex) => (hex, 16),
        None => (number, 10),
    };
    let length = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let c = char::from_u32(u32::from_str_radix(digits.get(..length)?, radix).ok()?)?;
    let semicolon = usize::from(digits[length..].starts_with(';'));
    Some((text.len() - digits.len() + length + semicolon, c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(html: &str, visible: &str, hidden: usize) {
        let mut out = Visible::default();
        let mut scanner = Scanner::default();
        for line in html.split_inclusive('\n') {
            scanner.feed(line, &mut out);
        }
        assert_eq!(out, Visible { text: visible.to_owned(), hidden }, "{html:?}");
    }

    #[test]
    fn only_the_text_between_tags_remains() {
        check("plain < 3 & more", "plain < 3 & more", 0);
        check("<b>bold</b>", "bold", 0);
        check("a<br>b<hr/>c", "a b c", 0);
        check("<details><summary>More</summary>inside</details>", " More inside ", 0);
        check("x<!-- secret -->y", "xy", 15);
        check("x<!-- two\nlines -->y", "xy", 17);
        check("x<!-->y<!--->z", "xyz", 11);
        check("<p title=\"a > b\" hidden>text</p>", " text ", 17);
        check("<p don't>text", " text", 5);
        check("<img alt=\"do this\" src=x>", " (image) ", 17);
        check("<script>alert(1)</script>x<STYLE>p{}</style>y", " x y", 11);
        check("<?php echo 1 ?>x<!DOCTYPE html>y", "xy", 30);
        check("a&#x200b;b&#8203c&#65;", "abc&#65;", 14);
        check("&#xE0049;&#x110000;&#;&#x;", "&#x110000;&#;&#x;", 9);
        check("<!-- never closed", "", 17);
        check("<div title=\"never closed\n text", "", 22);
        check("< b>x</ b>", "< b>x</ b>", 0);
    }
}
