//! Purpose: the Markdown file with a plan: looked at before anything starts, so that what is wrong is said at once.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::super::local::Wish;

/// As much as a model is shown of it.
const LARGEST: u64 = 200_000;

/// # Errors
/// When it is no plan that anybody could read, with what to do about it.
pub(super) fn read(path: &Path) -> anyhow::Result<Wish> {
    let name = path.display();
    let bytes = bytes(path)?;
    let Ok(text) = std::str::from_utf8(&bytes) else {
        bail!("{name} is no text in UTF-8; save the plan as a Markdown file")
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    ensure!(!text.contains('\0'), "{name} is no text in UTF-8; save the plan as a Markdown file");
    ensure!(!text.trim().is_empty(), "{name} is empty; write the steps of the plan into it");
    let Content { heading, has_text } = content(text);
    ensure!(has_text, "{name} has nothing but headings; write under them what is to be done");
    let file = path.file_name().map(|file| file.to_string_lossy().into_owned());
    let title = heading.or(file).unwrap_or_default();
    Ok(Wish::document(&title, text))
}

fn bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    let name = path.display();
    let about = match std::fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => bail!("there is no file {name}"),
        about => about.with_context(|| format!("cannot read {name}"))?,
    };
    ensure!(!about.is_dir(), "{name} is a directory; name the Markdown file with the plan");
    // A pipe would be waited for without end.
    ensure!(about.is_file(), "{name} is no ordinary file; name the Markdown file with the plan");
    let mut bytes = vec![];
    let read = File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes));
    read.with_context(|| format!("cannot read {name}"))?;
    ensure!(
        u64::try_from(bytes.len()).is_ok_and(|length| length <= LARGEST),
        "{name} is larger than {} KB; keep the steps in it, and leave the rest to files that they name",
        LARGEST / 1_000
    );
    Ok(bytes)
}

struct Content {
    /// The first heading.
    heading: Option<String>,
    /// Whether people see anything besides headings.
    has_text: bool,
}

fn content(text: &str) -> Content {
    let (mut headings, mut inside, mut has_text): (Vec<String>, bool, bool) = (vec![], false, false);
    for event in Parser::new_ext(text, Options::ENABLE_TASKLISTS | Options::ENABLE_TABLES) {
        if let Event::Start(Tag::Heading { .. }) = event {
            inside = true;
            headings.push(String::new());
        } else if let Event::End(TagEnd::Heading(_)) = event {
            inside = false;
        } else if let Event::Text(words) | Event::Code(words) = event {
            match headings.last_mut().filter(|_| inside) {
                Some(heading) => heading.push_str(&words),
                None => has_text |= !words.trim().is_empty(),
            }
        }
    }
    let plain = |heading: String| {
        let shown: String = heading.chars().filter(|c| !c.is_control()).collect();
        Some(shown.trim().to_owned()).filter(|heading| !heading.is_empty())
    };
    Content { heading: headings.into_iter().find_map(plain), has_text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_heading_is_the_title() {
        for (text, heading, has_text) in [
            ("# Ship `it`\n\n1. Build", Some("Ship it"), true),
            ("Ship it\n=======\n\n- [ ] Build", Some("Ship it"), true),
            ("#\n\n## Second\n\nwords", Some("Second"), true),
            ("1. Build", None, true),
            ("```\ncode\n```", None, true),
            ("# One\n\n## Two\n\n---\n", Some("One"), false),
            ("# One\n\n<!-- nobody sees this -->\n", Some("One"), false),
        ] {
            let found = content(text);
            assert_eq!((found.heading.as_deref(), found.has_text), (heading, has_text), "{text}");
        }
    }
}
