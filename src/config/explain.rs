//! Purpose: what the YAML reader found wrong, as a sentence with its place and the nearest right key.
//!
//! The reader's errors are texts only: a path, then one of serde's fixed phrases. They are taken apart here; a phrase
//! that is not known is passed on as it is.

use super::keys;

/// Line and column count from 1; both are 0 when the mistake has no single place.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mistake {
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) message: String,
}

pub(super) fn mistake(error: &serde_yaml::Error, text: &str) -> Mistake {
    let (line, column) = error.location().map_or((0, 0), |place| (place.line(), place.column()));
    let whole = error.to_string();
    let whole = whole.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&whole);
    let (path, phrase) = split_path(whole);
    if let Some(key) = between(phrase, "duplicate entry with key \"", "\"") {
        let (line, column) = second_place(text, key, (line, column)).unwrap_or((line, column));
        return Mistake { line, column, message: format!("the key `{key}` is given twice{}", inside(path)) };
    }
    Mistake { line, column, message: sentence(path, phrase) }
}

/// Line and column right after a text.
pub(super) fn end_of(text: &str) -> (usize, usize) {
    let line = text.matches('\n').count() + 1;
    let column = text.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}

/// The candidate that was probably meant.
pub(super) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase().replace('-', "_");
    let distance = |candidate: &str| strsim::damerau_levenshtein(&lower, &candidate.replace('-', "_"));
    let allowed = |candidate: &str| (candidate.len().min(word.len()) / 3).max(1);
    candidates
        .into_iter()
        .filter(|c| distance(c) <= allowed(c) || (lower.len() >= 4 && (c.starts_with(&lower))))
        .min_by_key(|c| distance(c))
}

fn sentence(path: &str, phrase: &str) -> String {
    if let Some(key) = between(phrase, "unknown field `", "`, ") {
        return unknown_key(path, key, &quoted(phrase));
    }
    if let Some(value) = between(phrase, "unknown variant `", "`, ") {
        return unknown_value(path, value, &quoted(phrase));
    }
    if let Some(key) = between(phrase, "missing field `", "`") {
        return format!("the key `{key}` is missing{}", inside(path));
    }
    if let Some(rest) = phrase.strip_prefix("invalid type: ").or(phrase.strip_prefix("invalid value: "))
        && let Some((found, expected)) = rest.rsplit_once(", expected ")
    {
        return wrong_type(path, found, expected);
    }
    known_limits(phrase)
        .unwrap_or_else(|| if path.is_empty() { phrase.to_owned() } else { format!("`{path}`: {phrase}") })
}

fn unknown_key(path: &str, key: &str, known: &[&str]) -> String {
    let hint = match nearest(key, known.iter().copied()) {
        _ if key == "<<" => "; merge keys are not supported".to_owned(),
        Some(near) if near.ends_with("_env") => {
            format!("; secrets do not belong in this file, name the variable that holds it with `{near}`")
        }
        Some(near) => format!("; did you mean `{near}`?"),
        None => elsewhere(key).unwrap_or_else(|| one_of(known)),
    };
    format!("unknown key `{key}`{}{hint}", inside(path))
}

/// A right key at the wrong depth is the other usual mistake.
fn elsewhere(key: &str) -> Option<String> {
    let all = keys::all();
    let mut homes = all.iter().filter_map(|path| path.rsplit_once('.')).filter(|(_, last)| *last == key);
    match (homes.next(), homes.next()) {
        (Some((home, _)), None) => Some(format!("; it belongs in `{home}`")),
        _ => None,
    }
}

fn unknown_value(path: &str, value: &str, known: &[&str]) -> String {
    let hint = match nearest(value, known.iter().copied()) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => one_of(known),
    };
    format!("`{path}` cannot be {}{hint}", shown(value))
}

fn wrong_type(path: &str, found: &str, expected: &str) -> String {
    let subject = if path.is_empty() { "the file".to_owned() } else { format!("`{path}`") };
    format!("{subject} must be {}, but is {}", expected_words(expected), found_words(found))
}

fn expected_words(expected: &str) -> &str {
    match expected {
        "a boolean" => "`true` or `false`",
        "u32" | "u64" => "a whole number, zero or more",
        "a nonzero u32" => "a whole number, one or more",
        "a string" | "string" => "a text",
        "path string" => "a path",
        "a sequence" => "a list",
        "a map" => "a mapping of names",
        "field identifier" => "a mapping with texts as keys",
        other if other.starts_with("struct ") => "a mapping of keys",
        other => other,
    }
}

fn found_words(found: &str) -> String {
    if let Some(text) = between(found, "string \"", "\"") {
        return shown(text);
    }
    match found {
        "unit value" => "empty".to_owned(),
        "map" => "a mapping".to_owned(),
        "sequence" => "a list".to_owned(),
        other => other.split_once('`').map_or(other, |(_, number)| number.trim_end_matches('`')).to_owned(),
    }
}

/// Long texts are not repeated: one that stands in the wrong place may be a token.
fn shown(text: &str) -> String {
    if text.chars().count() <= 20 { format!("`{text}`") } else { "a longer text".to_owned() }
}

fn known_limits(phrase: &str) -> Option<String> {
    let says = match phrase {
        "repetition limit exceeded" => "aliases (`*name`) repeat too much; the file would grow without bound",
        "recursion limit exceeded" => "the values are nested too deeply",
        "unknown anchor" => "this alias (`*name`) has no anchor (`&name`) before it",
        "deserializing from YAML containing more than one document is not supported" => {
            "there is more than one document; remove the `---` between them"
        }
        // The reader's way to say it met a tab.
        other if other.starts_with("found character that cannot start any token") => {
            "this character cannot stand here; indent with spaces, not tabs, and put texts that begin with it in quotes"
        }
        _ => return None,
    };
    Some(says.to_owned())
}

fn inside(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(" in `{path}`") }
}

fn one_of(known: &[&str]) -> String {
    match known {
        [] => String::new(),
        [only] => format!("; only `{only}` is known there"),
        [first @ .., last] => format!("; known are {} and `{last}`", list(first)),
    }
}

fn list(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// The names in backquotes after `expected`.
fn quoted(phrase: &str) -> Vec<&str> {
    let list = phrase.rsplit_once(", expected ").map_or("", |(_, list)| list);
    list.split('`').skip(1).step_by(2).collect()
}

/// `repos[0].planning: what is wrong`: paths have no spaces, and no phrase of the reader is one word with a colon.
fn split_path(whole: &str) -> (&str, &str) {
    match whole.split_once(": ") {
        Some((path, phrase)) if !path.contains([' ', '`', '"']) => (path, phrase),
        _ => ("", whole),
    }
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(start)?;
    rest.find(end).map(|at| &rest[..at])
}

/// The reader gives the place where the mapping begins. In block style its keys stand below each other, so the second
/// of two equal ones can be found; in `{…}` the beginning has to do.
fn second_place(text: &str, key: &str, start: (usize, usize)) -> Option<(usize, usize)> {
    let (first_line, column) = start;
    let is_key = |line: &str| {
        let rest: String = line.chars().skip(column.saturating_sub(1)).collect();
        let rest = rest
            .trim_start_matches(['"', '\''])
            .strip_prefix(key)
            .map(|r| r.trim_start_matches(['"', '\'']).to_owned());
        rest.is_some_and(|rest| rest.trim_start().starts_with(':'))
    };
    let depth = |line: &str| line.chars().take_while(|c| *c == ' ').count() + 1;
    let mut keys = text
        .lines()
        .enumerate()
        .skip(first_line.saturating_sub(1))
        // The first key of a list's item stands behind its dash.
        .filter(|(at, line)| (depth(line) == column || *at + 1 == first_line) && is_key(line));
    keys.nth(1).map(|(at, _)| (at + 1, column))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_found() {
        let known = ["planning", "server", "repos", "usd", "branch-only", "token_env"];
        for (word, expected) in [
            ("planing", Some("planning")),
            ("Planning", Some("planning")),
            ("plannign", Some("planning")),
            ("repo", Some("repos")),
            ("sever", Some("server")),
            ("use", Some("usd")),
            ("branch_only", Some("branch-only")),
            ("token", Some("token_env")),
            ("x", None),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
    }

    #[test]
    fn places_are_counted_in_characters() {
        assert_eq!(end_of(""), (1, 1));
        assert_eq!(end_of("a\nbé"), (2, 3));
    }
}
