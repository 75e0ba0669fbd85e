//! Purpose: from what somebody typed to the comment that says it on the thread.

use super::super::out::program;
use crate::plan::{DecisionPoint, DesignOption, Question};
use crate::planning::RunId;

/// What people type lands in a comment as it is, without what a terminal may have slipped in.
pub(in crate::cli) fn clean(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    text.trim().to_owned()
}

pub(in crate::cli) fn skip(question: &Question) -> String {
    format!("/skip {}", question.id)
}

/// A number chooses, `s` skips, anything else is the answer itself.
///
/// # Errors
/// With a hint for the person, when it is none of these.
pub(in crate::cli) fn answer(question: &Question, typed: &str) -> Result<String, String> {
    let text = clean(typed);
    let count = question.options.len();
    match text.as_str() {
        "" if count == 0 => Err("Write your answer, or s to skip it.".to_owned()),
        "" => Err(format!("Write a number from 1 to {count}, your own words, or s to skip it.")),
        "s" | "S" => Ok(skip(question)),
        _ => match text.parse::<usize>() {
            Ok(number) if count > 0 => match letter(number, count) {
                Some(letter) => Ok(format!("{}: {letter}", question.id)),
                None => Err(format!("There is no {number} here: 1 to {count}, or your own words.")),
            },
            Ok(_) | Err(_) => Ok(format!("{}: {text}", question.id)),
        },
    }
}

/// Options are named by letter on the thread: their own words could be read as another option.
pub(in crate::cli) fn letter(number: usize, count: usize) -> Option<char> {
    let place = u8::try_from(number.checked_sub(1)?).ok().filter(|_| number <= count)?;
    (place < 26).then(|| char::from(b'a' + place))
}

/// By its number, its id, or nothing for the one that is recommended.
///
/// # Errors
/// With a hint for the person.
pub(in crate::cli) fn option<'a>(
    decision: &'a DecisionPoint,
    typed: &str,
) -> Result<&'a DesignOption, String> {
    let text = clean(typed);
    let options = &decision.options;
    let by_number = text.parse::<usize>().ok().and_then(|number| options.get(number.checked_sub(1)?));
    let recommended = || options.iter().find(|option| option.recommendation);
    let found = match text.as_str() {
        "" | "recommended" => recommended(),
        text => by_number
            .or_else(|| decision.option(text))
            .or_else(|| options.iter().find(|option| option.name.eq_ignore_ascii_case(text))),
    };
    found.ok_or_else(|| format!("Write a number from 1 to {}.", options.len()))
}

pub(in crate::cli) fn choose(decision: &DecisionPoint, option: &DesignOption, why: &str) -> String {
    let words = format!("/choose {} {}", decision.id, option.id);
    let why = clean(why);
    if why.is_empty() { words } else { format!("{words} because {why}") }
}

pub(in crate::cli) fn reject(why: &str) -> String {
    format!("/reject {}", clean(why)).trim_end().to_owned()
}

/// The answer to a question of the crew.
///
/// # Errors
/// With a hint for the person, when there is none.
pub(in crate::cli) fn resolve(number: u32, typed: &str) -> Result<String, String> {
    let plain = |c: char| if c.is_control() && c != '\n' { ' ' } else { c };
    let text: String = typed.chars().map(plain).collect();
    let text = text.trim();
    if text.is_empty() {
        return Err(format!("Say what the answer to question {number} is."));
    }
    Ok(format!("/resolve {number} {text}"))
}

/// The command that answers a question of the crew.
pub(in crate::cli) fn to_resolve(run: &RunId, number: u32, config_option: &str) -> String {
    format!("{} lead resolve {number} \"…\" --run {run}{config_option}", program())
}

/// Whether somebody says yes or no; nothing when it is neither.
pub(in crate::cli) fn yes(typed: &str) -> Option<bool> {
    match clean(typed).to_ascii_lowercase().as_str() {
        "y" | "yes" => Some(true),
        "n" | "no" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
pub(in crate::cli) mod tests {
    use super::*;
    use crate::plan::{QuestionId, QuestionKind, Tradeoffs};

    pub(in super::super) fn question(options: &[&str]) -> Question {
        Question {
            id: QuestionId("q-2".to_owned()),
            kind: QuestionKind::Scope,
            question: "Which?".to_owned(),
            context: None,
            options: options.iter().map(|text| (*text).to_owned()).collect(),
            assumption: None,
        }
    }

    pub(in super::super) fn decision() -> DecisionPoint {
        let option = |id: &str, name: &str, recommendation| DesignOption {
            id: id.to_owned(),
            name: name.to_owned(),
            description: String::new(),
            tradeoffs: Tradeoffs::default(),
            recommendation,
        };
        let options = vec![option("opt-a", "Memory", false), option("opt-b", "Disk", true)];
        DecisionPoint { id: "d-1".to_owned(), topic: "Where".to_owned(), options }
    }

    #[test]
    fn answers_are_chosen_said_or_skipped() {
        let (free, choice) = (question(&[]), question(&["b", "a"]));
        for (question, typed, words) in [
            (&free, " all\tof them ", Ok("q-2: all of them")),
            (&free, "3", Ok("q-2: 3")),
            (&free, "s", Ok("/skip q-2")),
            (&free, " ", Err("Write your answer, or s to skip it.")),
            (&choice, "2", Ok("q-2: b")),
            (&choice, "none of these", Ok("q-2: none of these")),
            (&choice, "3", Err("There is no 3 here: 1 to 2, or your own words.")),
            (&choice, "0", Err("There is no 0 here: 1 to 2, or your own words.")),
            (&choice, "", Err("Write a number from 1 to 2, your own words, or s to skip it.")),
        ] {
            let words = words.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(answer(question, typed), words, "{typed}");
        }
    }

    #[test]
    fn an_answer_to_the_crew_has_words() {
        assert_eq!(
            resolve(2, " UTC,\tplease\nand say so "),
            Ok("/resolve 2 UTC, please\nand say so".to_owned())
        );
        assert_eq!(resolve(2, " \n "), Err("Say what the answer to question 2 is.".to_owned()));
    }

    #[test]
    fn options_are_chosen_by_number_name_or_recommendation() {
        let decision = decision();
        for (typed, id) in
            [("1", "opt-a"), ("", "opt-b"), ("recommended", "opt-b"), ("OPT-A", "opt-a"), ("disk", "opt-b")]
        {
            assert_eq!(option(&decision, typed).unwrap().id, id, "{typed}");
        }
        assert_eq!(option(&decision, "3"), Err("Write a number from 1 to 2.".to_owned()));
        let chosen = option(&decision, "2").unwrap();
        assert_eq!(choose(&decision, chosen, " it\nlasts "), "/choose d-1 opt-b because it lasts");
        assert_eq!(choose(&decision, chosen, ""), "/choose d-1 opt-b");
        assert_eq!((reject(" no "), reject("")), ("/reject no".to_owned(), "/reject".to_owned()));
    }
}
