//! Purpose: reasons that the journal keeps as English sentences, in the language of the thread.
//!
//! A reason is written down where something happens, long before anybody knows who will read it, and it goes to models
//! as well. So it is kept in English and looked up here when people read it. What stands for a name, a number or another
//! reason is carried over, and looked up in turn. Words that are none of ours stay as they are: a model writes in the
//! thread's language by itself.

use std::borrow::Cow;

use super::japanese_sentences::SENTENCES;
use crate::domain::Lang;

/// Between the reasons of a list.
const BETWEEN: &str = "; ";

/// A reason from the journal, as the thread's people read it.
#[must_use]
pub fn reason(text: &str, lang: Lang) -> Cow<'_, str> {
    match lang {
        Lang::English => Cow::Borrowed(text),
        Lang::Japanese => japanese(text).map_or(Cow::Borrowed(text), Cow::Owned),
    }
}

/// A sentence of ours in Japanese; `None` if it is not one, or nobody has put it into Japanese.
fn japanese(text: &str) -> Option<String> {
    SENTENCES.iter().find_map(|(english, japanese)| Some(filled(japanese, &gaps(english, text)?)))
}

/// What stands in a sentence where its pattern has `{}`, if it is that sentence.
fn gaps<'a>(pattern: &str, text: &'a str) -> Option<Vec<&'a str>> {
    let mut fixed = pattern.split("{}");
    let mut rest = text.strip_prefix(fixed.next()?)?;
    let mut fixed: Vec<&str> = fixed.collect();
    let Some(last) = fixed.pop() else { return rest.is_empty().then(Vec::new) };
    let mut found = vec![];
    for words in fixed {
        let (gap, after) = rest.split_once(words)?;
        found.push(gap);
        rest = after;
    }
    found.push(rest.strip_suffix(last)?);
    Some(found)
}

fn filled(pattern: &str, gaps: &[&str]) -> String {
    let mut out = String::new();
    let mut rest = pattern;
    while let Some((before, (number, after))) =
        rest.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        out.push_str(before);
        let gap = number.parse().ok().and_then(|number: usize| gaps.get(number));
        out.push_str(&gap.map_or(String::new(), |gap| each(gap)));
        rest = after;
    }
    out + rest
}

/// A gap may hold a reason, or a list of them.
fn each(gap: &str) -> String {
    japanese(gap).unwrap_or_else(|| {
        let all = gap.split(BETWEEN).map(|one| japanese(one).unwrap_or_else(|| one.to_owned()));
        all.collect::<Vec<_>>().join(BETWEEN)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ours_is_put_into_the_language_of_the_thread() {
        for (english, expected) in [
            ("it is done", "完了しています"),
            ("`src/a.rs` does not exist", "`src/a.rs` は存在しません"),
            (
                "Action 3 failed: it ended with exit code 2",
                "アクション 3 が失敗しました: 終了コード 2 で終わりました",
            ),
            (
                "No plan came out that can be carried out: action a1: `x` is a directory; action a2: `run` needs a command",
                "実行できる計画ができませんでした: アクション a1: `x` はディレクトリです; アクション a2: `run` にはコマンドが必要です",
            ),
            (
                "it needs `task_2`, of which action 4 is left out",
                "必要な `task_2` のアクション 4 が省かれています",
            ),
        ] {
            assert_eq!(reason(english, Lang::Japanese), expected);
            assert_eq!(reason(english, Lang::English), english);
        }
    }

    #[test]
    fn what_is_not_ours_stays_as_it_is() {
        for words in
            ["", "ライブラリがありません", "The library is gone.", "it is done already", "Action 3 failed"]
        {
            assert_eq!(reason(words, Lang::Japanese), words);
        }
        let words = "Action 3 failed: the library {0} is gone";
        assert_eq!(reason(words, Lang::Japanese), "アクション 3 が失敗しました: the library {0} is gone");
    }

    /// Each sentence is found by itself and says all that it was given, whatever stands before it in the table.
    #[test]
    fn every_sentence_keeps_what_it_was_given() {
        for (english, expected) in SENTENCES {
            let count = english.matches("{}").count();
            let mut given = (*english).to_owned();
            for n in 0..count {
                given = given.replacen("{}", &format!("gap{n}"), 1);
            }
            let said = reason(&given, Lang::Japanese);
            let mut wanted = (*expected).to_owned();
            for n in 0..count {
                assert!(wanted.contains(&format!("{{{n}}}")), "{english} loses gap {n}");
                wanted = wanted.replace(&format!("{{{n}}}"), &format!("gap{n}"));
            }
            assert_eq!(said, wanted, "{english}");
        }
    }
}
