//! Purpose: who answers for a path, read from a CODEOWNERS file as the forge reads it.
//!
//! GitHub: the last entry that fits decides. GitLab: the last one of each section does, an entry without owners takes
//! those of its section's heading, and what a section excludes with `!` stays excluded. A line that cannot be read is
//! skipped and reported; the reports hold nothing of the file, for it is written by anybody who could once push.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::actions::RepoPath;
use crate::domain::ForgeKind;

use super::pattern::{Parts, Pattern};
use super::whom::is_name;

/// Where GitHub looks; the first file found is the only one.
pub const GITHUB_PLACES: [&str; 3] = [".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"];
/// Where GitLab looks; the first file found is the only one.
pub const GITLAB_PLACES: [&str; 3] = ["CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"];

/// GitHub reads no file larger than this.
pub const MAX_BYTES: usize = 3 * 1024 * 1024;
/// A file cut short would name the wrong people, since later entries win; so one with more than this is not used.
const MOST_ENTRIES: usize = 50_000;
/// Letters compared for one path. The longest honest file, all `*.rs` against a path of 80 letters, needs 4 million.
const MOST_LOOKS: u32 = 20_000_000;
const MOST_OWNERS: usize = 100;
const MOST_PROBLEMS: usize = 50;

#[must_use]
pub fn places(forge: ForgeKind) -> &'static [&'static str] {
    match forge {
        ForgeKind::Github | ForgeKind::Local => &GITHUB_PLACES,
        ForgeKind::Gitlab => &GITLAB_PLACES,
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// On GitLab it may also be the name of a group.
    User(String),
    /// `group/team`, deeper on GitLab.
    Team(String),
    Email(String),
}

/// What could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Counted from 1; none for the file as a whole.
    pub line: Option<usize>,
    pub what: &'static str,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.what),
            None => f.write_str(self.what),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CodeOwners {
    entries: Vec<Entry>,
    /// How many there are, with the nameless one of what stands before the first heading.
    sections: usize,
    problems: Vec<Problem>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    pattern: Pattern,
    section: usize,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// By these, or by nobody. Shared, because many entries may take the owners of one heading.
    Owned(Arc<[Owner]>),
    Excluded,
}

impl CodeOwners {
    #[must_use]
    pub fn parse(text: &str, forge: ForgeKind) -> Self {
        let whole = |what| Self { problems: vec![Problem { line: None, what }], ..Self::default() };
        if text.len() > MAX_BYTES {
            return whole("the file is larger than 3 MB and is not used");
        }
        let mut reader = Reader::new(forge);
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (at, line) in text.lines().enumerate() {
            reader.read(line.trim(), at + 1);
            if reader.found.entries.len() + reader.found.sections > MOST_ENTRIES {
                return whole("the file has 50,000 entries or more and is not used");
            }
        }
        reader.found
    }

    /// Lines that were skipped, the first of them when there are very many.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Everybody who answers for this path, each once. Nobody, when the file is made to be looked at for ever: what was
    /// found by then may be wrong.
    #[must_use]
    pub fn owners_of(&self, path: &RepoPath) -> Vec<Owner> {
        let parts = Parts::of(path.parts());
        let mut last: Vec<Option<&Kind>> = vec![None; self.sections];
        for Entry { pattern, section, kind } in &self.entries {
            let excluded = matches!(last[*section], Some(Kind::Excluded));
            if !excluded && pattern.fits(&parts) {
                last[*section] = Some(kind);
            }
            if parts.looks() > MOST_LOOKS {
                return vec![];
            }
        }
        let mut owners: Vec<Owner> = vec![];
        for kind in last.into_iter().flatten() {
            let Kind::Owned(all) = kind else { continue };
            for owner in all.iter() {
                if !owners.iter().any(|known| known.is(owner)) {
                    owners.push(owner.clone());
                }
            }
        }
        owners
    }
}

impl Owner {
    fn read(word: &str) -> Option<Self> {
        match word.strip_prefix('@') {
            Some(name) if !is_name(name) => None,
            Some(name) if name.contains('/') => Some(Self::Team(name.to_owned())),
            Some(name) => Some(Self::User(name.to_owned())),
            None => is_email(word).then(|| Self::Email(word.to_owned())),
        }
    }

    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::User(a), Self::User(b))
            | (Self::Team(a), Self::Team(b))
            | (Self::Email(a), Self::Email(b)) => a.eq_ignore_ascii_case(b),
            (Self::User(_) | Self::Team(_) | Self::Email(_), _) => false,
        }
    }
}

fn is_email(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._%+-".contains(c);
    word.len() <= 254
        && word.split_once('@').is_some_and(|(name, host)| {
            !name.is_empty()
                && name.chars().all(plain)
                && host.contains('.')
                && is_name(host)
                && !host.contains('/')
        })
}

struct Reader {
    forge: ForgeKind,
    found: CodeOwners,
    section: usize,
    /// Their numbers by their names in small letters.
    sections: BTreeMap<String, usize>,
    /// Those of the heading last read.
    defaults: Arc<[Owner]>,
}

impl Reader {
    fn new(forge: ForgeKind) -> Self {
        let found = CodeOwners { sections: 1, ..CodeOwners::default() };
        Self { forge, found, section: 0, sections: BTreeMap::new(), defaults: Arc::default() }
    }

    fn read(&mut self, line: &str, at: usize) {
        if line.is_empty() || line.starts_with('#') {
            return;
        }
        let read = match self.forge {
            ForgeKind::Github | ForgeKind::Local => self.read_github(line),
            ForgeKind::Gitlab => self.read_gitlab(line, at),
        };
        if let Err(what) = read {
            self.report(at, what);
        }
    }

    fn report(&mut self, at: usize, what: &'static str) {
        if self.found.problems.len() < MOST_PROBLEMS {
            self.found.problems.push(Problem { line: Some(at), what });
        }
    }

    fn read_github(&mut self, line: &str) -> Result<(), &'static str> {
        if line.starts_with('!') {
            return Err("`!` does not work on GitHub");
        }
        if line.starts_with("\\#") {
            return Err("a pattern cannot begin with `#` on GitHub");
        }
        let (pattern, rest) = pattern_and_rest(line);
        let words = rest.split_whitespace().take_while(|word| !word.starts_with('#'));
        let owners: Option<Arc<[Owner]>> = words.take(MOST_OWNERS).map(Owner::read).collect();
        let owners = owners.ok_or("an owner is neither `@user` nor `@group/team` nor an e-mail address")?;
        self.add(pattern, Kind::Owned(owners))
    }

    fn read_gitlab(&mut self, line: &str, at: usize) -> Result<(), &'static str> {
        if line.starts_with('[') || line.starts_with("^[") {
            return self.read_heading(line, at);
        }
        let (pattern, rest) = pattern_and_rest(line);
        if let Some(pattern) = pattern.strip_prefix('!') {
            return self.add(pattern, Kind::Excluded);
        }
        let owners = if rest.trim().is_empty() { self.defaults.clone() } else { self.owners(rest, at) };
        self.add(pattern, Kind::Owned(owners))
    }

    /// GitLab takes the owners it finds on a line, whatever else stands there.
    fn owners(&mut self, words: &str, at: usize) -> Arc<[Owner]> {
        let mut owners = vec![];
        let mut problem = None;
        for word in words.split_whitespace().take(MOST_OWNERS) {
            match Owner::read(word) {
                Some(owner) => owners.push(owner),
                None if word.starts_with("@@") => problem = Some("a role names nobody who could be asked"),
                None => problem = Some("a word is neither `@user` nor `@group/team` nor an e-mail address"),
            }
        }
        if let Some(what) = problem {
            self.report(at, what);
        }
        owners.into()
    }

    /// `[Name]`, `^[Name]`, `[Name][2]`, with owners behind it.
    fn read_heading(&mut self, line: &str, at: usize) -> Result<(), &'static str> {
        let inner = line.trim_start_matches('^').strip_prefix('[').unwrap_or_default();
        let (name, rest) = inner.split_once(']').ok_or("the heading of a section is not closed")?;
        let name = name.trim().to_lowercase();
        if name.is_empty() {
            return Err("a section has no name");
        }
        let rest = match rest.strip_prefix('[') {
            Some(count) => count.split_once(']').ok_or("the heading of a section is not closed")?.1,
            None => rest,
        };
        self.defaults = self.owners(rest, at);
        self.section = *self.sections.entry(name).or_insert(self.found.sections);
        self.found.sections = self.sections.len() + 1;
        Ok(())
    }

    fn add(&mut self, pattern: &str, kind: Kind) -> Result<(), &'static str> {
        let pattern = Pattern::read(pattern, self.forge)?;
        self.found.entries.push(Entry { pattern, section: self.section, kind });
        Ok(())
    }
}

/// Split at the first blank that no backslash stands before.
fn pattern_and_rest(line: &str) -> (&str, &str) {
    let mut escaped = false;
    for (at, c) in line.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c.is_whitespace() => return line.split_at(at),
            _ => {}
        }
    }
    (line, "")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn owners(file: &CodeOwners, path: &str) -> Vec<String> {
        let name = |owner| match owner {
            Owner::User(name) => format!("user {name}"),
            Owner::Team(name) => format!("team {name}"),
            Owner::Email(name) => format!("email {name}"),
        };
        file.owners_of(&path.parse().unwrap()).into_iter().map(name).collect()
    }

    fn problems(file: &CodeOwners) -> Vec<String> {
        file.problems().iter().map(ToString::to_string).collect()
    }

    fn check(file: &CodeOwners, rows: &[(&str, &[&str])]) {
        for (path, expected) in rows {
            assert_eq!(owners(file, path), *expected, "{path}");
        }
    }

    #[test]
    fn the_examples_of_github_hold() {
        let text = "\
# The default owners for everything in the repo.
*       @global-owner1 @global-owner2
*.js    @js-owner #This is an inline comment.
*.go docs@example.com
*.txt @octo-org/octocats
/build/logs/ @doctocat
docs/* docs@example.com
apps/ @octocat
/docs/ @doctocat
/scripts/ @doctocat @octocat
**/logs @octocat
/apps/ @octocat
/apps/github
/apps/gitlab @doctocat
";
        let file = CodeOwners::parse(text, ForgeKind::Github);
        assert_eq!(problems(&file), Vec::<String>::new());
        check(
            &file,
            &[
                ("README.md", &["user global-owner1", "user global-owner2"]),
                ("src/index.js", &["user js-owner"]),
                ("src/main.go", &["email docs@example.com"]),
                ("notes.txt", &["team octo-org/octocats"]),
                // A later line takes `logs` anywhere.
                ("build/logs/today", &["user octocat"]),
                ("docs/getting-started.md", &["user doctocat"]),
                ("src/apps/a", &["user octocat"]),
                ("scripts/build.sh", &["user doctocat", "user octocat"]),
                ("deeply/nested/logs/x", &["user octocat"]),
                ("apps/a.js", &["user octocat"]),
                ("apps/github/a.js", &[]),
                ("apps/gitlab/a.js", &["user doctocat"]),
            ],
        );
    }

    #[test]
    fn docs_with_a_star_ends_at_the_first_level() {
        let file = CodeOwners::parse("* @all\ndocs/* @docs", ForgeKind::Github);
        check(&file, &[("docs/a.md", &["user docs"]), ("docs/b/a.md", &["user all"])]);
    }

    #[test]
    fn the_sections_of_gitlab_hold() {
        let text = "\
* @admin

[README Owners]
README.md @user1 @user2
internal/README.md @user4

[README other owners]
README.md @user3

[Documentation][2] @docs-team
docs/
*.txt @group/with-nested/subgroup

^[Ruby] @ruby-team
*.rb
!/config/**/*.rb
/config/routes.rb @ops
[readme OWNERS] @late
LICENSE
/internal/README.md @user5
";
        let file = CodeOwners::parse(text, ForgeKind::Gitlab);
        assert_eq!(problems(&file), Vec::<String>::new());
        check(
            &file,
            &[
                ("README.md", &["user admin", "user user1", "user user2", "user user3"]),
                ("internal/README.md", &["user admin", "user user5", "user user3"]),
                ("docs/a/b.md", &["user admin", "user docs-team"]),
                ("docs/a.txt", &["user admin", "team group/with-nested/subgroup"]),
                ("app/a.rb", &["user admin", "user ruby-team"]),
                ("config/a.rb", &["user admin"]),
                ("config/routes.rb", &["user admin"]),
                ("LICENSE", &["user admin", "user late"]),
            ],
        );
    }

    #[test]
    fn what_cannot_be_read_is_skipped_and_reported() {
        let odd = "an owner is neither `@user` nor `@group/team` nor an e-mail address";
        for (text, found) in [
            ("* @a\n!*.md @b", "line 2: `!` does not work on GitHub"),
            ("* @a\n\\#x @b", "line 2: a pattern cannot begin with `#` on GitHub"),
            ("* @a\n[Docs] @b", "line 2: ranges in `[ ]` are not understood"),
            ("* @a\n*.[ch] @b", "line 2: ranges in `[ ]` are not understood"),
            ("* @a\n// @b", "line 2: the pattern has an empty part"),
            ("* @a\n* b", &format!("line 2: {odd}")),
            ("* @a\n* @b @@dev", &format!("line 2: {odd}")),
            ("* @a\n* @b/", &format!("line 2: {odd}")),
            ("* @a\n* @", &format!("line 2: {odd}")),
            ("* @a\n* <x@y.z>", &format!("line 2: {odd}")),
            ("* @a\n* x@localhost", &format!("line 2: {odd}")),
        ] {
            let file = CodeOwners::parse(text, ForgeKind::Github);
            assert_eq!(problems(&file), [found], "{text}");
            assert_eq!(owners(&file, "a.md"), ["user a"], "{text}");
        }
    }

    #[test]
    fn gitlab_takes_the_owners_that_it_finds() {
        let odd = "a word is neither `@user` nor `@group/team` nor an e-mail address";
        let role = "a role names nobody who could be asked";
        for (text, expected, found) in [
            ("* @a oops", &["user a"][..], &[format!("line 1: {odd}")][..]),
            ("* @@maintainer @a", &["user a"], &[format!("line 1: {role}")]),
            ("[S] @d\n* oops", &[], &[format!("line 2: {odd}")]),
            ("[S @d\n* @a", &["user a"], &["line 1: the heading of a section is not closed".to_owned()]),
            ("[ ] @d\n* @a", &["user a"], &["line 1: a section has no name".to_owned()]),
            ("[S][2 @d\n* @a", &["user a"], &["line 1: the heading of a section is not closed".to_owned()]),
            ("\\#x.md @b\n* @a @A a@b.co A@B.co", &["user a", "email a@b.co"], &[]),
            ("[S]\n*", &[], &[]),
        ] {
            let file = CodeOwners::parse(text, ForgeKind::Gitlab);
            assert_eq!(problems(&file), found, "{text}");
            assert_eq!(owners(&file, "x.md"), expected, "{text}");
        }
    }

    #[test]
    fn blanks_marks_and_line_ends_do_not_matter() {
        let text = "\u{feff}  # a comment\r\n\r\n\tpath\\ with\\ spaces/\t@a  @b\r\n   \n";
        for forge in [ForgeKind::Github, ForgeKind::Gitlab, ForgeKind::Local] {
            let file = CodeOwners::parse(text, forge);
            assert_eq!(problems(&file), Vec::<String>::new());
            check(&file, &[("path with spaces/x", &["user a", "user b"]), ("path", &[])]);
        }
        let pound = CodeOwners::parse("\\#pound.rb @p", ForgeKind::Gitlab);
        check(&pound, &[("sub/#pound.rb", &["user p"])]);
    }

    #[test]
    fn a_hostile_file_is_borne() {
        let unused = |text: &str, forge, why: &str| {
            let file = CodeOwners::parse(text, forge);
            assert_eq!(problems(&file), [why]);
            assert_eq!(owners(&file, "a"), Vec::<String>::new());
        };
        let large = "the file is larger than 3 MB and is not used";
        unused(&"* @a\n".repeat(MAX_BYTES / 5 + 1), ForgeKind::Github, large);
        let many = "the file has 50,000 entries or more and is not used";
        unused(&"*\n".repeat(MAX_BYTES / 2), ForgeKind::Github, many);
        let sections: String = (0..200_000).map(|n| format!("[{n}]\n")).collect();
        unused(&sections, ForgeKind::Gitlab, many);

        let stars = format!("* @a\n{} @b", "*".repeat(100_000));
        let file = CodeOwners::parse(&stars, ForgeKind::Github);
        assert_eq!(problems(&file), ["line 2: the pattern is longer than any path can be"]);
        assert_eq!(owners(&file, "a"), ["user a"]);

        let slow = format!("*{}b @b\n", "a".repeat(127));
        let slow = "* @a\n".to_owned() + &slow.repeat(MAX_BYTES / slow.len() - 1);
        let file = CodeOwners::parse(&slow, ForgeKind::Github);
        assert_eq!(owners(&file, "a"), ["user a"]);
        assert_eq!(owners(&file, &["a".repeat(255).as_str(); 4].join("/")), Vec::<String>::new());

        let file = CodeOwners::parse(&"!\n".repeat(1_000), ForgeKind::Github);
        assert_eq!(file.problems().len(), MOST_PROBLEMS);
        let crowd = format!("* {}", "@a ".repeat(100_000));
        assert_eq!(owners(&CodeOwners::parse(&crowd, ForgeKind::Gitlab), "x"), ["user a"]);
    }

    #[test]
    fn each_forge_looks_in_its_own_places() {
        assert_eq!(places(ForgeKind::Github)[0], ".github/CODEOWNERS");
        assert_eq!(places(ForgeKind::Local), places(ForgeKind::Github));
        assert_eq!(places(ForgeKind::Gitlab), ["CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"]);
    }

    proptest! {
        #[test]
        fn any_file_can_be_read(text in "([*/a\\\\# !@\\[\\]^.\\n?]|\\PC){0,120}") {
            for forge in [ForgeKind::Github, ForgeKind::Gitlab] {
                let file = CodeOwners::parse(&text, forge);
                for owner in file.owners_of(&"a/b/a.a".parse().unwrap()) {
                    let (Owner::User(name) | Owner::Team(name)) = owner else { continue };
                    prop_assert!(is_name(&name));
                }
            }
        }
    }
}
