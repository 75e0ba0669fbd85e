//! Purpose: the languages that the bot's own sentences exist in, and which of them a thread is written in.

use serde::{Deserialize, Serialize};

/// A language of fixed sentences. Whatever else a thread is written in, the model answers in; only our own words are
/// English then.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lang {
    #[default]
    English,
    Japanese,
}

/// Of a hundred letters, this many kana make a text Japanese: names, paths and logs in it are often English.
const KANA_OF_HUNDRED: usize = 8;

impl Lang {
    /// The language that somebody named in the settings.
    #[must_use]
    pub fn named(name: &str) -> Self {
        let tag = name.split('-').next().unwrap_or_default();
        if tag.eq_ignore_ascii_case("ja") || tag.eq_ignore_ascii_case("japanese") {
            Self::Japanese
        } else {
            Self::English
        }
    }

    /// The language that these texts are written in. Only Japanese has kana; a Chinese text has none.
    #[must_use]
    pub fn of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let (mut letters, mut kana) = (0_usize, 0_usize);
        for c in texts.into_iter().flat_map(str::chars).filter(|c| c.is_alphabetic()) {
            letters += 1;
            kana += usize::from(is_kana(c));
        }
        if kana > 0 && kana * 100 >= letters * KANA_OF_HUNDRED { Self::Japanese } else { Self::English }
    }

    /// As a model knows it; `None` where it is to find out by itself.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::English => None,
            Self::Japanese => Some("Japanese"),
        }
    }

    #[must_use]
    pub fn is_english(&self) -> bool {
        *self == Self::English
    }

    /// The one that fits.
    #[must_use]
    pub fn pick<T>(self, english: T, japanese: T) -> T {
        match self {
            Self::English => english,
            Self::Japanese => japanese,
        }
    }
}

/// Hiragana and katakana, also in half width.
fn is_kana(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{309f}' | '\u{30a1}'..='\u{30ff}' | '\u{ff66}'..='\u{ff9d}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_known_by_its_script() {
        use Lang::{English, Japanese};
        for (texts, expected) in [
            (&[] as &[&str], English),
            (&["Check tokens at login"], English),
            (&["ログイン時にトークンを確認する"], Japanese),
            (&["ログイン", "`src/login.rs` を直す"], Japanese),
            (&["ﾛｸﾞｲﾝ"], Japanese),
            (&["登录时检查令牌，并返回错误"], English),
            (&["로그인 시 토큰 확인"], English),
            (&["Überprüfe das Token"], English),
            (&["東京都"], English),
            (
                &[
                    "Rename the label ログイン in the settings page to something that users understand, please",
                ],
                English,
            ),
            (
                &[
                    "ログイン画面で落ちる",
                    "thread 'main' panicked at src/login.rs: called unwrap on a None value",
                ],
                Japanese,
            ),
            (&["123 !? 🙂"], English),
        ] {
            assert_eq!(Lang::of(texts.iter().copied()), expected, "{texts:?}");
        }
    }

    #[test]
    fn a_language_is_known_by_its_name() {
        for (name, expected) in [
            ("ja", Lang::Japanese),
            ("ja-JP", Lang::Japanese),
            ("Japanese", Lang::Japanese),
            ("JA", Lang::Japanese),
            ("en", Lang::English),
            ("jav", Lang::English),
            ("de", Lang::English),
        ] {
            assert_eq!(Lang::named(name), expected, "{name}");
        }
    }
}
