//! Purpose: the beginning of a text that is shown to people, with the size of everything that was cut off.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The first lines of a text. What is missing is counted, so that no cut goes unseen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excerpt {
    pub lines: Vec<ExcerptLine>,
    /// How many lines follow that are not part of the excerpt.
    pub more_lines: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExcerptLine {
    pub text: String,
    /// How many characters of the line are cut off.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_chars: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Excerpt {
    /// At most `most_lines` lines, each of at most `width` characters.
    #[must_use]
    pub fn of(text: &str, most_lines: usize, width: usize) -> Self {
        let lines: Vec<ExcerptLine> = text.lines().take(most_lines).map(|line| cut(line, width)).collect();
        let more_lines = text.lines().count() - lines.len();
        Self { lines, more_lines }
    }

    /// The same with fewer lines.
    #[must_use]
    pub fn shortened(&self, most_lines: usize) -> Self {
        let kept = self.lines.len().min(most_lines);
        let more_lines = self.more_lines + self.lines.len() - kept;
        Self { lines: self.lines.iter().take(kept).cloned().collect(), more_lines }
    }

    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.more_lines == 0 && self.lines.iter().all(|line| line.more_chars == 0)
    }
}

fn cut(line: &str, width: usize) -> ExcerptLine {
    let text: String = line.chars().take(width).collect();
    let more_chars = line.get(text.len()..).unwrap_or_default().chars().count();
    ExcerptLine { text, more_chars }
}

/// For the terminal and for files; comments say it in the language of their thread.
impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, line) in self.lines.iter().enumerate() {
            let (before, text) = (if at == 0 { "" } else { "\n" }, &line.text);
            match line.more_chars {
                0 => write!(f, "{before}{text}")?,
                more => write!(f, "{before}{text}… ({more} more characters)")?,
            }
        }
        match self.more_lines {
            0 => Ok(()),
            more => write!(f, "\n… {more} more lines"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cut_is_counted() {
        let long = format!("{}é", "x".repeat(9));
        for (text, lines, width, shown, whole) in [
            ("", 2, 5, "", true),
            ("a\nb", 2, 5, "a\nb", true),
            ("a\nb\nc\nd", 2, 5, "a\nb\n… 2 more lines", false),
            (long.as_str(), 2, 9, "xxxxxxxxx… (1 more characters)", false),
            (long.as_str(), 2, 10, long.as_str(), true),
        ] {
            let excerpt = Excerpt::of(text, lines, width);
            assert_eq!((excerpt.to_string().as_str(), excerpt.is_whole()), (shown, whole));
        }
        let excerpt = Excerpt::of("a\nb\nc\nd", 3, 5);
        assert_eq!(excerpt.shortened(1).to_string(), "a\n… 3 more lines");
        assert_eq!(excerpt.shortened(9), excerpt);
    }
}
