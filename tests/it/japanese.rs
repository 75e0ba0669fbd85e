//! Purpose: no reason that the journal can keep is English for people who write Japanese. The places where reasons are
//! written are read as text, so that a new one that nobody put into Japanese is found.

use std::path::Path;

use planwright::domain::Lang;
use planwright::render::reason;

/// Where reasons are written: the files (a folder stands for all in it), and what comes before the words.
const PLACES: &[(&str, &[&str])] = &[
    (
        "engine",
        &[
            "Trouble::lasting(",
            "Trouble::passing(",
            "Deed::failed(",
            "Unanswered::Broken(",
            "let why = ",
            "let reason = ",
            "Some(format!(",
        ],
    ),
    ("engine/ctx.rs", &["with_context(|| "]),
    (
        "planning",
        &[
            "let why = ",
            "let reason = ",
            "= stay(",
            " stay(",
            "cannot(",
            "Verdict::Stay { why: ",
            "broken = Some(",
        ],
    ),
    ("planning/apply.rs", &["plan.changed = ", "let problems = "]),
    ("planning/plan_tool.rs", &["#[error(", "unwrap_or_else(|| "]),
    ("planning/cursor.rs", &["fn impossible"]),
    ("planning/reconsider.rs", &["fn said", "fn advice", "fn stopped", "let before = "]),
    ("planning/replans.rs", &["fn words", "const OVERTAKEN: &str = "]),
    ("planning/talk.rs", &["fn no_assumption"]),
    ("actions/digest.rs", &["note(", "let target = "]),
    ("actions/examine.rs", &["Err(", WRONG]),
    ("actions/path.rs", &["#[error("]),
    ("actions/risk.rs", &["fn rate", "fn rate_write"]),
    ("actions/selection.rs", &["#[error(", "Some(format!("]),
    ("crew/advice.rs", &["AskPeople { why: "]),
    ("crew/judge.rs", &["fn lacking", "reasons.push("]),
    ("forge/error.rs", &["fn for_people"]),
    ("llm/error.rs", &["fn for_people"]),
    ("tools/files/error.rs", &["#[error("]),
    ("tools/git/error.rs", &["fn for_people", "fn refused", "fn rejected", "fn too_large"]),
    ("tools/mcp/error.rs", &["#[error("]),
    ("tools/sandbox/mod.rs", &["#[error("]),
];

/// What is wrong with a path; its name comes before it.
const WRONG: &str = "let wrong = ";

/// These are read in the history alone, which is in English, or are nothing but the frame of others.
const NEVER_SHOWN: &[&str] = &[
    // People are told in words of their own (`render::reply`).
    "these actions cannot be read whole in the preview, so they have to be named one by one",
    "every action is possible",
    "some actions are not possible",
    "cancelled by @gap",
    "`gap` gap",
    "gap: gap",
];

#[test]
fn every_reason_is_known_in_japanese() {
    let mut found = 0;
    let mut missing = vec![];
    for (place, marks) in PLACES {
        for (name, text) in sources(place) {
            for mark in *marks {
                for words in text.match_indices(mark).flat_map(|(at, _)| sentences(mark, &text[at..])) {
                    found += 1;
                    let named = format!("`gap` {words}");
                    let known = is_known(&words) || (*mark == WRONG && is_known(&named));
                    if !known && !NEVER_SHOWN.contains(&words.as_str()) {
                        missing.push(format!("{name}: {words}"));
                    }
                }
            }
            let known = marks.iter().any(|mark| text.contains(mark));
            assert!(known || !place.ends_with(".rs"), "{name} has none of {marks:?} any more");
        }
    }
    assert!(missing.is_empty(), "not in src/render/japanese_sentences.rs:\n{}", missing.join("\n"));
    assert!(found > 150, "only {found} sentences were found");
}

fn is_known(words: &str) -> bool {
    reason(words, Lang::Japanese) != words
}

/// The file, or all of the folder, without their tests.
fn sources(place: &str) -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(place);
    let read = |path: &Path| {
        let text = std::fs::read_to_string(path).unwrap();
        let text = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
        (path.display().to_string(), text)
    };
    if path.is_file() {
        return vec![read(&path)];
    }
    let files = std::fs::read_dir(&path).unwrap().map(|file| file.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|end| end == "rs")).map(|path| read(&path)).collect()
}

/// The string literals of the expression or function that begins with the mark; single words are no sentences.
fn sentences(mark: &str, text: &str) -> Vec<String> {
    let start = if mark.starts_with("fn ") { text.find('{').unwrap() + 1 } else { mark.len() };
    let mut letters = text[start..].chars();
    let (mut depth, mut all) = (0_i32, vec![]);
    while let Some(letter) = letters.next() {
        match letter {
            '"' => all.push(literal(&mut letters)),
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ';' if depth == 0 && !mark.starts_with("fn ") => break,
            _ => {}
        }
        if depth < 0 {
            break;
        }
    }
    all.into_iter().map(|words| filled(&words)).filter(|words| words.trim().contains(' ')).collect()
}

/// A literal up to its end, as the compiler reads it.
fn literal(letters: &mut std::str::Chars<'_>) -> String {
    let mut words = String::new();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => break,
            '\\' => match letters.next() {
                Some('\n') => {
                    let rest = letters.as_str();
                    *letters = rest.trim_start().chars();
                }
                Some(other) => words.push(other),
                None => break,
            },
            other => words.push(other),
        }
    }
    words
}

/// With something in each gap.
fn filled(words: &str) -> String {
    let mut parts = words.split('{');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (_, rest) = part.split_once('}').unwrap_or_default();
        out.push_str("gap");
        out.push_str(rest);
    }
    out
}
