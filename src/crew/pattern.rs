//! Purpose: one pattern of a CODEOWNERS file, read as its forge reads it, and whether a path fits.
//!
//! Not done with `globset`: GitHub and GitLab differ from it and from each other in what a pattern covers below itself,
//! and the files are written by strangers. This matcher goes back to the last star only, so that its work grows with
//! pattern times path and never faster.

use std::cell::Cell;

use crate::domain::ForgeKind;

/// Longer than any path of a repository here may be.
const LONGEST: usize = 1_024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// Any number of parts of the path, also none.
    Deep,
    Name(Vec<Sign>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Star,
    One,
    Exactly(char),
}

/// The parts of a path, ready to be compared with many patterns, and how many letters were compared so far.
pub(super) struct Parts {
    names: Vec<Vec<char>>,
    looks: Cell<u32>,
}

impl Parts {
    pub(super) fn of<'a>(parts: impl Iterator<Item = &'a str>) -> Self {
        Self { names: parts.map(|part| part.chars().collect()).collect(), looks: Cell::new(0) }
    }

    pub(super) fn looks(&self) -> u32 {
        self.looks.get()
    }
}

impl Pattern {
    /// # Errors
    /// What is wrong with it, in words that hold nothing of the file.
    pub(super) fn read(text: &str, forge: ForgeKind) -> Result<Self, &'static str> {
        if text.len() > LONGEST {
            return Err("the pattern is longer than any path can be");
        }
        let names = split(text)?;
        let (first, last) = (names.first(), names.last());
        // A slash before it, or within it where the forge goes by that, ties it to the top.
        let inner = names.iter().filter(|name| !name.is_empty()).count() > 1;
        let tied = first.is_some_and(Vec::is_empty) || inner && is_gitignore(forge);
        let all_below = last.is_some_and(Vec::is_empty);
        let mut parts = if tied { vec![] } else { vec![Part::Deep] };
        let from = usize::from(first.is_some_and(Vec::is_empty));
        let to = names.len() - usize::from(all_below && names.len() > from);
        if from >= to || names[from..to].iter().any(Vec::is_empty) {
            return Err("the pattern has an empty part");
        }
        parts.extend(names[from..to].iter().map(|name| part(name)));
        end(&mut parts, all_below, forge);
        Ok(Self(parts))
    }

    pub(super) fn fits(&self, path: &Parts) -> bool {
        let is_deep = |part: &Part| matches!(part, Part::Deep);
        let is_one = |part: &Part, name: &Vec<char>| match part {
            Part::Deep => false,
            Part::Name(signs) => fits_name(signs, name, &path.looks),
        };
        fits(&self.0, &path.names, is_deep, is_one)
    }
}

fn is_gitignore(forge: ForgeKind) -> bool {
    match forge {
        ForgeKind::Github | ForgeKind::Local => true,
        ForgeKind::Gitlab => false,
    }
}

/// The signs between the slashes.
fn split(text: &str) -> Result<Vec<Vec<Sign>>, &'static str> {
    let mut names = vec![vec![]];
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let sign = match c {
            '/' => {
                names.push(vec![]);
                continue;
            }
            '*' => Sign::Star,
            '?' => Sign::One,
            '[' | ']' => return Err("ranges in `[ ]` are not understood"),
            '\\' => Sign::Exactly(chars.next().ok_or("there is nothing behind the last `\\`")?),
            c => Sign::Exactly(c),
        };
        if let Some(name) = names.last_mut() {
            name.push(sign);
        }
    }
    Ok(names)
}

fn part(name: &[Sign]) -> Part {
    match name {
        [Sign::Star, Sign::Star] => Part::Deep,
        name => Part::Name(name.to_vec()),
    }
}

/// What a pattern covers at its end: all below a directory; the files right there for a last `*`; on GitHub also what
/// lies below something of that name, while GitLab then means the file alone.
fn end(parts: &mut Vec<Part>, all_below: bool, forge: ForgeKind) {
    let any = || Part::Name(vec![Sign::Star]);
    let ends_deep = parts.last() == Some(&Part::Deep);
    if all_below || ends_deep && is_gitignore(forge) {
        parts.extend([Part::Deep, any()]);
    } else if ends_deep {
        parts.pop();
        parts.push(any());
    } else if is_gitignore(forge) && parts.last() != Some(&any()) {
        parts.push(Part::Deep);
    }
}

fn fits_name(signs: &[Sign], name: &[char], looks: &Cell<u32>) -> bool {
    let is_star = |sign: &Sign| matches!(sign, Sign::Star);
    let is_one = |sign: &Sign, c: &char| {
        looks.set(looks.get().saturating_add(1));
        match sign {
            Sign::Star => false,
            Sign::One => true,
            Sign::Exactly(exactly) => exactly == c,
        }
    };
    fits(signs, name, is_star, is_one)
}

/// Whether the items fit the pattern, in which `is_any` tells what stands for any number of them.
fn fits<P, T>(
    pattern: &[P],
    items: &[T],
    is_any: impl Fn(&P) -> bool,
    is_one: impl Fn(&P, &T) -> bool,
) -> bool {
    let (mut at, mut item) = (0, 0);
    // Where to go on when what follows the last star does not fit: with one item more under that star.
    let mut back: Option<(usize, usize)> = None;
    while item < items.len() {
        match pattern.get(at) {
            Some(sign) if is_any(sign) => {
                back = Some((at + 1, item));
                at += 1;
            }
            Some(sign) if is_one(sign, &items[item]) => {
                at += 1;
                item += 1;
            }
            Some(_) | None => {
                let Some((behind, start)) = back else { return false };
                back = Some((behind, start + 1));
                (at, item) = (behind, start + 1);
            }
        }
    }
    pattern[at..].iter().all(is_any)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn is_fitting(pattern: &str, path: &str, forge: ForgeKind) -> bool {
        Pattern::read(pattern, forge).unwrap().fits(&Parts::of(path.split('/')))
    }

    #[test]
    fn patterns_cover_what_their_forge_says() {
        for (pattern, path, github, gitlab) in [
            ("*", "a", true, true),
            ("*", "a/b/c", true, true),
            ("*.js", "a.js", true, true),
            ("*.js", "src/deep/a.js", true, true),
            ("*.js", "a.jsx", false, false),
            ("/*.js", "a.js", true, true),
            ("/*.js", "src/a.js", false, false),
            ("/build/logs/", "build/logs/x/y", true, true),
            ("/build/logs/", "build/logs", false, false),
            ("/build/logs/", "a/build/logs/x", false, false),
            ("docs/*", "docs/getting-started.md", true, true),
            ("docs/*", "docs/build-app/troubleshooting.md", false, false),
            // With a slash in it GitHub begins at the top, GitLab anywhere.
            ("docs/*", "sub/docs/a.md", false, true),
            ("internal/README.md", "docs/internal/README.md", false, true),
            ("apps/", "apps/a", true, true),
            ("apps/", "src/apps/a/b", true, true),
            ("/docs/", "docs/a/b", true, true),
            ("/docs/", "src/docs/a", false, false),
            ("**/logs", "build/logs", true, true),
            ("**/logs", "logs", true, true),
            // Below a name without a slash behind it GitHub goes on, GitLab does not.
            ("**/logs", "deeply/nested/logs/a", true, false),
            ("/apps/github", "apps/github/x", true, false),
            ("/apps/github", "apps/github", true, true),
            ("/docs/**/index.md", "docs/index.md", true, true),
            ("/docs/**/index.md", "docs/api/graphql/index.md", true, true),
            ("/docs/*/README.md", "docs/api/README.md", true, true),
            ("/docs/*/README.md", "docs/README.md", false, false),
            ("/docs/*spec*", "docs/qa_specs.rb", true, true),
            ("/docs/**", "docs/a/b", true, false),
            ("/docs/**", "docs/a", true, true),
            ("/docs/**", "docs", false, false),
            ("/docs/**/*", "docs/a/b", true, true),
            ("a?c", "abc", true, true),
            ("a?c", "a/c", false, false),
            ("a**c", "abbc", true, true),
            ("a**c", "ab/bc", false, false),
            ("with\\ space", "with space", true, true),
            ("a\\*", "a*", true, true),
            ("a\\*", "ab", false, false),
            ("README", "readme", false, false),
            (".gitignore", "sub/.gitignore", true, true),
            ("/src/*", "src/.hidden", true, true),
            ("日本*", "docs/日本語.md", true, true),
        ] {
            assert_eq!(is_fitting(pattern, path, ForgeKind::Github), github, "{pattern} {path} on GitHub");
            assert_eq!(is_fitting(pattern, path, ForgeKind::Gitlab), gitlab, "{pattern} {path} on GitLab");
            assert_eq!(is_fitting(pattern, path, ForgeKind::Local), github, "{pattern} {path} here");
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        let long = "*".repeat(100_000);
        for (text, why) in [
            ("/", "the pattern has an empty part"),
            ("//", "the pattern has an empty part"),
            ("", "the pattern has an empty part"),
            ("a//b", "the pattern has an empty part"),
            ("//a", "the pattern has an empty part"),
            ("a//", "the pattern has an empty part"),
            ("a[bc]", "ranges in `[ ]` are not understood"),
            ("a\\", "there is nothing behind the last `\\`"),
            (&long, "the pattern is longer than any path can be"),
        ] {
            for forge in [ForgeKind::Github, ForgeKind::Gitlab] {
                assert_eq!(Pattern::read(text, forge), Err(why), "{:?}", &text[..text.len().min(20)]);
            }
        }
    }

    #[test]
    fn a_hostile_pattern_costs_no_more_than_pattern_times_path() {
        let path = format!("{0}/{0}/{0}/{0}", "a".repeat(255));
        for pattern in ["*a".repeat(500) + "b", "*".repeat(1_000) + "b", "**/".repeat(300) + "b"] {
            assert!(!is_fitting(&pattern, &path, ForgeKind::Github));
        }
        let signs = split(&("*a".repeat(120) + "b")).unwrap().remove(0);
        let (name, looks) = (['a'; 255], Cell::new(0));
        assert!(!fits_name(&signs, &name, &looks));
        assert!(looks.get() as usize <= signs.len() * name.len(), "{} looks", looks.get());
    }

    /// The plainest way to match, for comparison.
    fn plain(signs: &[char], text: &[char]) -> bool {
        match (signs.first(), text.first()) {
            (None, None) => true,
            (Some('*'), _) => plain(&signs[1..], text) || !text.is_empty() && plain(signs, &text[1..]),
            (Some(sign), Some(c)) if sign == c || *sign == '?' => plain(&signs[1..], &text[1..]),
            (Some(_) | None, _) => false,
        }
    }

    proptest! {
        #[test]
        fn stars_match_as_the_plainest_matcher_does(pattern in "[ab*?]{1,8}", name in "[ab]{1,10}") {
            let signs: Vec<char> = pattern.chars().collect();
            let chars: Vec<char> = name.chars().collect();
            // At the top and with a slash behind, so that only the name itself is compared.
            prop_assume!(pattern != "**");
            let found = is_fitting(&format!("/{pattern}/"), &format!("{name}/file"), ForgeKind::Github);
            prop_assert_eq!(found, plain(&signs, &chars));
        }

        #[test]
        fn anything_can_be_read(text in "\\PC{0,40}", path in "[a-z]{1,3}(/[a-z]{1,3}){0,3}") {
            for forge in [ForgeKind::Github, ForgeKind::Gitlab] {
                if let Ok(pattern) = Pattern::read(&text, forge) {
                    pattern.fits(&Parts::of(path.split('/')));
                }
            }
        }
    }
}
