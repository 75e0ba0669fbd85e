//! Purpose: credentials that nobody told us about, known by their looks: the beginnings that their makers give them so
//! that they are found, and private keys.
//!
//! A measure of randomness alone was not chosen: it would take commits, digests, ids and pictures for secrets.

use super::index::Span;

pub(super) const INSTEAD: &str = "[looks like a secret]";

struct Look {
    begins: &'static str,
    /// How many characters follow at least.
    least: usize,
    tail: Tail,
}

/// What follows the beginning.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tail {
    /// Letters, digits, `_` and `-`.
    Any,
    /// As `Any`; but the beginning is a common one, so capitals and digits have to be among it.
    Mixed,
    /// Capitals and digits, exactly so many.
    Capitals,
    /// As `Any`, and two dots.
    Token,
}

const fn look(begins: &'static str, least: usize, tail: Tail) -> Look {
    Look { begins, least, tail }
}

const LOOKS: [Look; 28] = [
    look("ghp_", 30, Tail::Any),
    look("gho_", 30, Tail::Any),
    look("ghu_", 30, Tail::Any),
    look("ghs_", 30, Tail::Any),
    look("ghr_", 30, Tail::Any),
    look("github_pat_", 22, Tail::Any),
    look("glpat-", 16, Tail::Any),
    look("gldt-", 16, Tail::Any),
    look("glrt-", 16, Tail::Any),
    look("glptt-", 16, Tail::Any),
    look("glcbt-", 16, Tail::Any),
    look("gloas-", 16, Tail::Any),
    look("xoxb-", 20, Tail::Any),
    look("xoxp-", 20, Tail::Any),
    look("xoxa-", 20, Tail::Any),
    look("xoxr-", 20, Tail::Any),
    look("xoxs-", 20, Tail::Any),
    look("xapp-", 20, Tail::Any),
    look("AKIA", 16, Tail::Capitals),
    look("ASIA", 16, Tail::Capitals),
    look("sk-", 20, Tail::Mixed),
    look("sk_live_", 16, Tail::Any),
    look("rk_live_", 16, Tail::Any),
    look("npm_", 36, Tail::Any),
    look("pypi-", 40, Tail::Mixed),
    look("hf_", 30, Tail::Mixed),
    look("AIza", 35, Tail::Any),
    look("eyJ", 30, Tail::Token),
];

/// The other half of an Amazon key has no beginning of its own, only this length.
const AMAZON_SECRET: usize = 40;
const KEY_BEGINS: &str = "-----BEGIN ";
const KEY_ENDS: &str = "-----END";
const DASHES: &str = "-----";
const LONGEST_NAME: usize = 40;
/// How entries, headings and folds begin in our own comments: no key goes on beyond them.
const OURS: [&str; 6] = ["\n- [ ] **", "\n- [x] **", "\n## ", "\n### ", "\n<details>", "\n**"];

/// Where such credentials stand, in order and without overlaps.
pub(super) fn suspicious(text: &str) -> Vec<Span> {
    let keys = private_keys(text);
    let mut spans = keys.clone();
    let words = words(text);
    let kinds: Vec<Option<&Look>> = words.iter().map(|(from, to)| kind_of(&text[*from..*to])).collect();
    let with_amazon = kinds.iter().flatten().any(|look| look.tail == Tail::Capitals);
    for ((from, to), kind) in words.into_iter().zip(kinds) {
        let in_key = keys.iter().any(|(begin, end)| from < *end && *begin < to);
        let is_one = kind.is_some() || (with_amazon && is_amazon_secret(&text[from..to]));
        if is_one && !in_key {
            spans.push((from, to));
        }
    }
    spans.sort_unstable();
    spans
}

/// Runs of characters of which credentials are made.
fn words(text: &str) -> Vec<Span> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.+/".contains(&byte);
    let mut words = vec![];
    let mut begin = None;
    for (at, byte) in text.bytes().chain([b' ']).enumerate() {
        match (begin, is_part(byte)) {
            (None, true) => begin = Some(at),
            (Some(from), false) => {
                words.extend(pieces(text, from, at));
                begin = None;
            }
            (None, false) | (Some(_), true) => {}
        }
    }
    words
}

/// A run as it is, unless it is a path or a sentence's end: then what stands between its slashes.
fn pieces(text: &str, from: usize, to: usize) -> Vec<Span> {
    let run = &text[from..to];
    if is_amazon_secret(run) || !run.contains('/') {
        let trimmed = run.trim_matches(['.', '/', '-', '+']);
        let begin = from + (run.len() - run.trim_start_matches(['.', '/', '-', '+']).len());
        return vec![(begin, begin + trimmed.len())];
    }
    let mut at = from;
    let mut out = vec![];
    for part in run.split('/') {
        out.push((at, at + part.trim_end_matches('.').len()));
        at += part.len() + 1;
    }
    out
}

fn kind_of(word: &str) -> Option<&'static Look> {
    LOOKS.iter().find(|look| word.strip_prefix(look.begins).is_some_and(|tail| look.fits(tail)))
}

impl Look {
    fn fits(&self, tail: &str) -> bool {
        let all = |is: fn(&u8) -> bool| tail.as_bytes().iter().all(is);
        let any = |is: fn(&u8) -> bool| tail.as_bytes().iter().any(is);
        let plain = || all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(byte));
        match self.tail {
            Tail::Any => tail.len() >= self.least && plain(),
            Tail::Mixed => {
                let mixed = any(u8::is_ascii_digit) && any(u8::is_ascii_uppercase);
                tail.len() >= self.least && plain() && mixed
            }
            Tail::Capitals => {
                tail.len() == self.least && all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
            }
            Tail::Token => tail.len() >= self.least && plain() && tail.matches('.').count() == 2,
        }
    }
}

fn is_amazon_secret(word: &str) -> bool {
    let has = |is: fn(&u8) -> bool| word.as_bytes().iter().any(is);
    word.len() == AMAZON_SECRET
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/".contains(&byte))
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
}

/// From `BEGIN … PRIVATE KEY` to its end, or to the end of the text when that was cut off; but never over the next entry of
/// a comment of ours: whoever writes the two lines of a key into two entries must not make those between them vanish.
fn private_keys(text: &str) -> Vec<Span> {
    let mut spans = vec![];
    let mut at = 0;
    while let Some(found) = text[at..].find(KEY_BEGINS) {
        let begin = at + found;
        let named = begin + KEY_BEGINS.len();
        let Some(name) = text[named..].find(DASHES).filter(|name| *name < LONGEST_NAME) else {
            at = named;
            continue;
        };
        let after = named + name + DASHES.len();
        if !text[named..named + name].contains("PRIVATE KEY") {
            at = after;
            continue;
        }
        let end = key_end(text, after);
        spans.push((begin, end));
        at = end;
    }
    spans
}

fn key_end(text: &str, after: usize) -> usize {
    let ours = OURS.iter().filter_map(|begin| text[after..].find(begin)).min();
    let limit = ours.map_or(text.len(), |ours| after + ours);
    let within = &text[after..limit];
    let Some(ends) = within.find(KEY_ENDS) else { return limit };
    let named = ends + KEY_ENDS.len();
    let name = within[named..].find(DASHES).filter(|name| *name < LONGEST_NAME);
    after + name.map_or(named, |name| named + name + DASHES.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(text: &str) -> String {
        super::super::without(text, &suspicious(text), INSTEAD).into_owned()
    }

    /// Put together here, so that nobody who searches this repository finds a credential.
    fn fake(begins: &str, length: usize) -> String {
        let tail: String = "aB3dE5gH7jK9".chars().cycle().take(length).collect();
        format!("{begins}{tail}")
    }

    #[test]
    fn credentials_of_others_are_cut_out() {
        for look in &LOOKS {
            let tail = match look.tail {
                Tail::Any | Tail::Mixed => fake("", look.least),
                Tail::Capitals => fake("", look.least).to_uppercase(),
                Tail::Token => format!("{}.{}.{}", fake("", 20), fake("eyJ", 20), fake("", 43)),
            };
            let secret = format!("{}{tail}", look.begins);
            assert_eq!(cleaned(&secret), INSTEAD, "{secret}");
            assert_eq!(cleaned(&format!("use `{secret}`.")), format!("use `{INSTEAD}`."));
            assert_eq!(cleaned(&format!("K={secret}. It is")), format!("K={INSTEAD}. It is"));
            assert_eq!(cleaned(&format!("https://x:{secret}@h/p")), format!("https://x:{INSTEAD}@h/p"));
            assert_eq!(cleaned(&format!("https://h/{secret}/p")), format!("https://h/{INSTEAD}/p"));
        }
        let (id, secret) = (fake("AKIA", 16).to_uppercase(), fake("", 40));
        assert_eq!(cleaned(&format!("{id} {secret}")), format!("{INSTEAD} {INSTEAD}"));
        assert_eq!(cleaned(&secret), secret, "by itself it may be anything");
    }

    #[test]
    fn private_keys_are_cut_out_whole() {
        let (begin, end) =
            (format!("{KEY_BEGINS}RSA PRIVATE KEY-----"), format!("{KEY_ENDS} RSA PRIVATE KEY-----"));
        let line = fake("MIIE", 60);
        for body in [
            format!("\n{line}\n{line}\nabc=\n"),
            format!("\nVersion: GnuPG v2.0.22 (GNU/Linux)\nDEK-Info: AES-256-CBC,0A0B0C0D\n\n{line}\n"),
            format!(r"\n{line}\nabc=\n"),
            format!(" {line} {line} "),
            format!("%0A{line}<br>{line}<br>"),
            format!("\n+{line}\n+{line}\n+"),
            format!("\n# {line}\n * {line}\n"),
        ] {
            assert_eq!(cleaned(&format!("a\n{begin}{body}{end}\nb")), format!("a\n{INSTEAD}\nb"));
            assert_eq!(cleaned(&format!("a {begin}{body}")), format!("a {INSTEAD}"));
        }
        let public = "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----";
        assert_eq!(cleaned(public), public);
    }

    /// Whoever writes the two lines of a key into two entries of a list does not make what stands between them vanish.
    #[test]
    fn a_key_ends_where_the_next_entry_begins() {
        let (begin, end) =
            (format!("{KEY_BEGINS}RSA PRIVATE KEY-----"), format!("{KEY_ENDS} RSA PRIVATE KEY-----"));
        for next in ["- [ ] **task_2**: all", "- [x] **2** `delete` all", "## Plan", "<details><summary>x"] {
            let text = format!("- [ ] **1** {begin} x\n{next}\n- [ ] **3** {end} y");
            assert_eq!(cleaned(&text), format!("- [ ] **1** {INSTEAD}\n{next}\n- [ ] **3** {end} y"));
        }
        let endless =
            format!("a {begin} b {KEY_ENDS} and no name, but a very long sentence after it ----- c");
        assert_eq!(
            cleaned(&endless),
            format!("a {INSTEAD} and no name, but a very long sentence after it ----- c")
        );
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        for text in [
            "3f9a12 and 3f9a12b4c5d6e7f8091a2b3c4d5e6f7081920a1b",
            "0190b6f4-5c4e-7d2a-9a53-0f1e2d3c4b5a",
            "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "https://github.com/acme/web/blob/main/src/Login2/HandlerFactoryImpl.rs#L10-L20",
            "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
            "sk-learn-contrib-is-a-long-name-for-a-package and task-force",
            "AKIA is how they begin, ghp_ as well, glpat- too, sk-… also",
            "the npm_config_registry_of_our_company variable, hf_hub_download_with_many_options_and_words",
            "eyJ is how a token begins",
            "目標を理解する ghp_目標",
            "-----BEGIN ",
            "<!-- planwright:card/0190b6f4-5c4e-7d2a-9a53-0f1e2d3c4b5a -->",
        ] {
            assert_eq!(cleaned(text), text);
        }
    }
}
