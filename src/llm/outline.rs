//! Purpose: the outline of a description for the offline model: headings, list items, file contents and plain lines.
//!
//! Line by line on purpose: it is read by rules that people can foresee, not understood.

/// A line, or a block of lines, and the kind of section it stands in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) section: Section,
    pub(super) content: Content,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    /// A heading of this level.
    Heading(usize, String),
    Task {
        done: bool,
        text: String,
    },
    Numbered(String),
    Bullet(String),
    Line(String),
    /// A fenced block that names a file.
    File(File),
    /// A fenced block that names none.
    Code,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct File {
    pub(super) path: String,
    pub(super) content: String,
}

/// What a section is for, by its heading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    /// How one can tell that the work is done.
    Criteria,
    Constraints,
    /// What was observed: lists in it are no work to do.
    Report,
    Other,
}

const CRITERIA: [&str; 9] = [
    "acceptance criteria",
    "done when",
    "definition of done",
    "success criteria",
    "acceptance",
    "受け入れ条件",
    "受け入れ基準",
    "完了条件",
    "成功条件",
];
const CONSTRAINTS: [&str; 6] =
    ["constraints", "non-goals", "out of scope", "limitations", "制約", "制約条件"];
const REPORT: [&str; 24] = [
    "steps to reproduce",
    "to reproduce",
    "reproduction",
    "expected behavior",
    "expected behaviour",
    "actual behavior",
    "actual behaviour",
    "environment",
    "logs",
    "screenshots",
    "context",
    "additional context",
    "background",
    "motivation",
    "summary",
    "description",
    "overview",
    "notes",
    "references",
    "再現手順",
    "背景",
    "概要",
    "環境",
    "参考",
];

pub(super) fn outline(text: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut section = Section::Other;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim().is_empty() {
            continue;
        }
        let content = match Fence::open(line) {
            Some(fence) => fence.take(&mut lines, pieces.last()),
            None => content_of(line),
        };
        if let Some(next) = section_begun(&content) {
            section = next;
        }
        pieces.push(Piece { section, content });
    }
    pieces
}

fn content_of(line: &str) -> Content {
    let line = line.trim();
    let level = line.bytes().take_while(|b| *b == b'#').count();
    if (1..=6).contains(&level) && line[level..].starts_with(' ') {
        return Content::Heading(level, line[level..].trim().trim_end_matches('#').trim().to_owned());
    }
    if let Some(item) = ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark)) {
        let item = item.trim();
        return match task(item) {
            Some((done, text)) => Content::Task { done, text: text.to_owned() },
            None => Content::Bullet(item.to_owned()),
        };
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    if let Some(item) = line[digits..].strip_prefix(". ").or_else(|| line[digits..].strip_prefix(") "))
        && (1..=3).contains(&digits)
    {
        let item = item.trim();
        return match task(item) {
            Some((done, text)) => Content::Task { done, text: text.to_owned() },
            None => Content::Numbered(item.to_owned()),
        };
    }
    Content::Line(line.to_owned())
}

fn task(item: &str) -> Option<(bool, &str)> {
    let (mark, text) = item.strip_prefix('[')?.split_once(']')?;
    let done = match mark {
        " " => false,
        "x" | "X" => true,
        _ => return None,
    };
    (text.starts_with(' ') && !text.trim().is_empty()).then(|| (done, text.trim()))
}

/// A heading begins a section; so does a line such as `**Acceptance criteria:**`, if it names one that we know.
fn section_begun(content: &Content) -> Option<Section> {
    match content {
        Content::Heading(_, text) => Some(section_named(text)),
        Content::Line(line) if line.ends_with([':', '：', '*']) => {
            Some(section_named(line)).filter(|section| *section != Section::Other)
        }
        Content::Task { .. }
        | Content::Numbered(_)
        | Content::Bullet(_)
        | Content::Line(_)
        | Content::File(_)
        | Content::Code => None,
    }
}

fn section_named(heading: &str) -> Section {
    let name = heading.to_lowercase();
    let name = name.trim_matches(|c: char| !c.is_alphanumeric());
    if CRITERIA.contains(&name) {
        Section::Criteria
    } else if CONSTRAINTS.contains(&name) {
        Section::Constraints
    } else if REPORT.contains(&name) {
        Section::Report
    } else {
        Section::Other
    }
}

struct Fence<'a> {
    mark: &'a str,
    indent: usize,
    info: &'a str,
}

impl<'a> Fence<'a> {
    fn open(line: &'a str) -> Option<Self> {
        let text = line.trim_start();
        let sign = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let info = text.trim_start_matches(sign);
        let mark = &text[..text.len() - info.len()];
        let opens = mark.len() >= 3 && !(sign == '`' && info.contains('`'));
        opens.then(|| Self { mark, indent: line.len() - text.len(), info: info.trim() })
    }

    fn take(&self, lines: &mut std::str::Lines<'_>, before: Option<&Piece>) -> Content {
        let mut content = String::new();
        for line in lines.by_ref() {
            let text = line.trim();
            if text.starts_with(self.mark) && text.trim_start_matches(&self.mark[..1]).is_empty() {
                break;
            }
            let indent = line.bytes().take(self.indent).take_while(|b| *b == b' ').count();
            content.push_str(&line[indent..]);
            content.push('\n');
        }
        match path_in_info(self.info).or_else(|| before.and_then(path_before)) {
            Some(path) => Content::File(File { path, content }),
            None => Content::Code,
        }
    }
}

/// `rust path=src/x.rs`, `rust src/x.rs`, `rust:src/x.rs`, `src/x.rs`.
fn path_in_info(info: &str) -> Option<String> {
    info.split([' ', ':', ',', '{', '}']).find_map(|word| {
        let value = word.split_once('=').map_or(word, |(_, value)| value);
        let value = value.trim_matches(['"', '\'']);
        is_path(value).then(|| value.to_owned())
    })
}

/// The line or item above a block: `src/x.rs:`, **src/x.rs**, or words with one path in backticks.
fn path_before(piece: &Piece) -> Option<String> {
    let (Content::Line(text)
    | Content::Bullet(text)
    | Content::Numbered(text)
    | Content::Task { text, .. }
    | Content::Heading(_, text)) = &piece.content
    else {
        return None;
    };
    let bare = text.trim_end_matches(':').trim_matches(['*', '`', '_']);
    if is_path(bare) {
        return Some(bare.to_owned());
    }
    match paths_in(text).as_slice() {
        [only] => Some(only.clone()),
        _ => None,
    }
}

/// The files that a text names in backticks, each once.
pub(super) fn paths_in(text: &str) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for word in text.split('`').skip(1).step_by(2) {
        if is_path(word) && !paths.iter().any(|path| path == word) {
            paths.push(word.to_owned());
        }
    }
    paths
}

const BARE_NAMES: [&str; 6] = ["Dockerfile", "Makefile", "LICENSE", "CODEOWNERS", "justfile", "Procfile"];

/// Whether a word looks like a file inside a repository. A dot alone is not enough (`self.name`), so without a directory
/// the ending must be a usual one: short and in lower case.
fn is_path(word: &str) -> bool {
    let plain = word.chars().all(|c| c.is_alphanumeric() || "._/-+@".contains(c));
    let inside =
        word.split('/').all(|part| !matches!(part, "" | "." | ".." | ".git")) && !word.starts_with('-');
    if !plain || !inside || word.len() > 200 {
        return false;
    }
    let name = word.rsplit('/').next().unwrap_or(word);
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let has_directory = word.contains('/') && !ending.is_empty();
    has_directory || BARE_NAMES.contains(&name) || ENDINGS.contains(&ending)
}

const ENDINGS: [&str; 42] = [
    "rs",
    "md",
    "toml",
    "yaml",
    "yml",
    "json",
    "py",
    "js",
    "mjs",
    "ts",
    "tsx",
    "jsx",
    "go",
    "java",
    "rb",
    "c",
    "h",
    "cpp",
    "hpp",
    "cs",
    "css",
    "scss",
    "html",
    "sh",
    "sql",
    "txt",
    "xml",
    "lock",
    "cfg",
    "ini",
    "kt",
    "swift",
    "php",
    "ex",
    "exs",
    "vue",
    "svelte",
    "proto",
    "tf",
    "gradle",
    "gitignore",
    "dart",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_told_from_other_words() {
        for path in
            ["src/main.rs", "README.md", "a/b/c.txt", "Dockerfile", "docs/日本語.md", ".gitignore", "main.go"]
        {
            assert!(is_path(path), "{path}");
        }
        for word in [
            "",
            "self.name",
            "and/or",
            "../x.rs",
            "a/../b.rs",
            "/etc/passwd.txt",
            "https://x.y/z.md",
            "x y.rs",
            "--flag.rs",
            "1.2.3",
            "a//b.rs",
            "src/",
            ".git/config.md",
            "foo()",
        ] {
            assert!(!is_path(word), "{word}");
        }
    }

    #[test]
    fn lines_become_pieces() {
        let text = "Intro\n\n## Plan ##\n- [ ] one `src/a.rs`\n  - [x] two\n3) three\n* four\n[ ] no task\n**Done when:**\n- five\n\
                    ### 制約\nsix\n";
        let pieces = outline(text);
        let task = |done, text: &str| Content::Task { done, text: text.to_owned() };
        let expected = [
            (Section::Other, Content::Line("Intro".to_owned())),
            (Section::Other, Content::Heading(2, "Plan".to_owned())),
            (Section::Other, task(false, "one `src/a.rs`")),
            (Section::Other, task(true, "two")),
            (Section::Other, Content::Numbered("three".to_owned())),
            (Section::Other, Content::Bullet("four".to_owned())),
            (Section::Other, Content::Line("[ ] no task".to_owned())),
            (Section::Criteria, Content::Line("**Done when:**".to_owned())),
            (Section::Criteria, Content::Bullet("five".to_owned())),
            (Section::Constraints, Content::Heading(3, "制約".to_owned())),
            (Section::Constraints, Content::Line("six".to_owned())),
        ];
        let expected: Vec<Piece> =
            expected.into_iter().map(|(section, content)| Piece { section, content }).collect();
        assert_eq!(pieces, expected);
    }

    #[test]
    fn blocks_find_their_file() {
        let file = |text: &str| {
            let Content::File(file) = outline(text).pop().expect("a piece").content else { return None };
            Some((file.path, file.content))
        };
        let main = Some(("src/main.rs".to_owned(), "fn main() {}\n".to_owned()));
        assert_eq!(file("```rust path=src/main.rs\nfn main() {}\n```"), main);
        assert_eq!(file("```rust path=\"src/main.rs\"\nfn main() {}\n```"), main);
        assert_eq!(file("```rust:src/main.rs\nfn main() {}\n```"), main);
        assert_eq!(file("```src/main.rs\nfn main() {}\n```"), main);
        assert_eq!(file("src/main.rs:\n```\nfn main() {}\n```"), main);
        assert_eq!(file("**src/main.rs**\n\n~~~rust\nfn main() {}\n~~~"), main);
        assert_eq!(file("- [ ] Add `src/main.rs`\n  ```rust\n  fn main() {}\n  ```"), main);
        assert_eq!(file("1. Write `src/main.rs`:\n````\nfn main() {}\n````"), main);
        assert_eq!(file("From `a.rs` to `b.rs`:\n```\nx\n```"), None, "two files, so neither");
        assert_eq!(file("It says:\n```\nx\n```"), None);
        assert_eq!(file("```rust path=../../etc/x.conf\nx\n```"), None);
        assert_eq!(file("```rust src/main.rs\nfn main() {}"), main, "a fence that is never closed");
    }
}
