//! Purpose: `--answers FILE`: what somebody wants to say, written down beforehand, in YAML or JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, bail};
use serde::Deserialize;
use serde_yaml::Value;

use super::need::Need;
use super::words;
use crate::plan::{DecisionPoint, Question};

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Written {
    /// A list in the order of the questions, or a mapping by their ids; null skips one.
    answers: Value,
    /// By id: an option, or `{ option, because }`.
    decisions: BTreeMap<String, Value>,
    approve: Option<bool>,
    /// Why not, when `approve` is false.
    why: Option<String>,
    execute: Option<bool>,
    /// Answers to questions of the crew, by their numbers.
    resolve: BTreeMap<u32, Value>,
}

#[derive(Debug, Default)]
pub(in crate::cli) struct Sheet {
    written: Written,
    /// What was taken from it already. Nothing is said twice: what is asked again was not understood, or is new.
    taken: BTreeSet<String>,
}

/// What the sheet says to something that is asked.
#[derive(Debug, PartialEq)]
pub(in crate::cli) enum Said {
    Words(String),
    /// Not to be carried out now.
    NotNow,
    Nothing,
}

impl Sheet {
    pub(in crate::cli) fn read(path: &Path) -> anyhow::Result<Self> {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("{} is no file of answers", path.display()))
    }

    fn parse(text: &str) -> anyhow::Result<Self> {
        let written: Written = serde_yaml::from_str(text)?;
        match &written.answers {
            Value::Null | Value::Sequence(_) | Value::Mapping(_) => {}
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Tagged(_) => {
                bail!("`answers` is a list in the order of the questions, or a mapping by their ids")
            }
        }
        Ok(Self { written, taken: BTreeSet::new() })
    }

    /// Whoever wants it carried out has said so by the command.
    pub(in crate::cli) fn carry_out(&mut self) {
        self.written.execute = Some(true);
    }

    /// `turn` counts the designs that were turned down: the next one is asked about anew.
    pub(in crate::cli) fn says(&mut self, need: &Need<'_>, turn: usize) -> anyhow::Result<Said> {
        let (key, said) = match need {
            Need::Answer(_, question) => (question.id.to_string(), self.answer(question)?),
            Need::Choice(_, decision) => (format!("{}/{turn}", decision.id), self.choice(decision)?),
            Need::Review(_) => (format!("review/{turn}"), self.review()),
            Need::Execute(_) => ("execute".to_owned(), self.execute()),
            Need::Help(asked) => (format!("question {}", asked.number), self.help(asked.number)?),
            Need::Steer(_) => return Ok(Said::Nothing),
        };
        Ok(if self.taken.insert(key) { said } else { Said::Nothing })
    }

    fn answer(&self, question: &Question) -> anyhow::Result<Said> {
        let id = &question.id.0;
        let found = match &self.written.answers {
            Value::Sequence(list) => {
                let place = id.strip_prefix("q-").and_then(|n| n.parse::<usize>().ok());
                place.and_then(|place| list.get(place.checked_sub(1)?))
            }
            Value::Mapping(by_id) => by_id.get(id.as_str()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Tagged(_) => None,
        };
        let Some(value) = found else { return Ok(Said::Nothing) };
        let Some(text) = plain(value).with_context(|| format!("the answer to {id}"))? else {
            return Ok(Said::Words(words::skip(question)));
        };
        let count = question.options.len();
        let same = question.options.iter().position(|option| *option == text);
        let number = same.map(|place| place + 1);
        let number = number.or_else(|| value.as_u64().and_then(|number| usize::try_from(number).ok()));
        Ok(Said::Words(match number.and_then(|number| words::letter(number, count)) {
            Some(letter) => format!("{id}: {letter}"),
            None => format!("{id}: {text}"),
        }))
    }

    fn choice(&self, decision: &DecisionPoint) -> anyhow::Result<Said> {
        let Some(value) = self.written.decisions.get(&decision.id) else { return Ok(Said::Nothing) };
        let (chosen, why) = value
            .as_mapping()
            .map_or((value, None), |map| (map.get("option").unwrap_or(&Value::Null), map.get("because")));
        let name = plain(chosen).with_context(|| format!("decision {}", decision.id))?.unwrap_or_default();
        let Ok(option) = words::option(decision, &name) else {
            let known: Vec<&str> = decision.options.iter().map(|option| option.id.as_str()).collect();
            bail!("decision {} has no option `{name}`; there are {}", decision.id, known.join(", "));
        };
        let why = why.map(plain).transpose()?.flatten().unwrap_or_default();
        Ok(Said::Words(words::choose(decision, option, &why)))
    }

    fn review(&self) -> Said {
        match self.written.approve {
            Some(true) => Said::Words("/approve".to_owned()),
            Some(false) => Said::Words(words::reject(self.written.why.as_deref().unwrap_or_default())),
            None => Said::Nothing,
        }
    }

    fn help(&self, number: u32) -> anyhow::Result<Said> {
        let Some(value) = self.written.resolve.get(&number) else { return Ok(Said::Nothing) };
        let text = plain(value).with_context(|| format!("the answer to question {number}"))?;
        Ok(text.and_then(|text| words::resolve(number, &text).ok()).map_or(Said::Nothing, Said::Words))
    }

    fn execute(&self) -> Said {
        match self.written.execute {
            Some(true) => Said::Words("/approve".to_owned()),
            Some(false) => Said::NotNow,
            None => Said::Nothing,
        }
    }
}

/// A value as somebody would have typed it; nothing for null and for empty words.
fn plain(value: &Value) -> anyhow::Result<Option<String>> {
    let text = match value {
        Value::Null => return Ok(None),
        Value::Bool(yes) => (if *yes { "yes" } else { "no" }).to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => words::clean(text),
        Value::Sequence(_) | Value::Mapping(_) | Value::Tagged(_) => bail!("it must be words or a number"),
    };
    Ok((!text.is_empty()).then_some(text))
}

#[cfg(test)]
mod tests {
    use super::super::words::tests::{decision, question};
    use super::*;

    fn answer(sheet: &str, options: &[&str]) -> Said {
        Sheet::parse(sheet).unwrap().answer(&question(options)).unwrap()
    }

    #[test]
    fn answers_are_found_by_place_and_by_id() {
        let said = |words: &str| Said::Words(words.to_owned());
        for (sheet, options, expected) in [
            ("answers: [x, all]", &[][..], said("q-2: all")),
            ("answers: [x, 2]", &["web", "api"], said("q-2: b")),
            ("answers: [x, web]", &["web", "api"], said("q-2: a")),
            ("answers: [x, 7]", &["web", "api"], said("q-2: 7")),
            ("answers: [x, null]", &[], said("/skip q-2")),
            ("answers: [x]", &[], Said::Nothing),
            ("answers: { q-2: all }", &[], said("q-2: all")),
            ("{\"answers\": {\"q-2\": true}}", &[], said("q-2: yes")),
            ("answers: { q-1: all }", &[], Said::Nothing),
            ("{}", &[], Said::Nothing),
        ] {
            assert_eq!(answer(sheet, options), expected, "{sheet}");
        }
    }

    #[test]
    fn choices_come_with_a_reason_or_without() {
        let choice = |sheet: &str| Sheet::parse(sheet).unwrap().choice(&decision());
        let said = |words: &str| Said::Words(words.to_owned());
        assert_eq!(choice("decisions: { d-1: opt-a }").unwrap(), said("/choose d-1 opt-a"));
        assert_eq!(choice("decisions: { d-1: 2 }").unwrap(), said("/choose d-1 opt-b"));
        let why = "decisions: { d-1: { option: recommended, because: it lasts } }";
        assert_eq!(choice(why).unwrap(), said("/choose d-1 opt-b because it lasts"));
        assert_eq!(choice("{}").unwrap(), Said::Nothing);
        let unknown = choice("decisions: { d-1: opt-z }").unwrap_err().to_string();
        assert_eq!(unknown, "decision d-1 has no option `opt-z`; there are opt-a, opt-b");
    }

    #[test]
    fn questions_of_the_crew_are_answered_by_number() {
        let sheet = Sheet::parse("resolve: { 1: in UTC, 2: 3, 3: '' }").unwrap();
        assert_eq!(sheet.help(1).unwrap(), Said::Words("/resolve 1 in UTC".to_owned()));
        assert_eq!(sheet.help(2).unwrap(), Said::Words("/resolve 2 3".to_owned()));
        assert_eq!((sheet.help(3).unwrap(), sheet.help(4).unwrap()), (Said::Nothing, Said::Nothing));
    }

    #[test]
    fn mistakes_in_the_file_are_said() {
        for (text, says) in [
            ("answer: [x]", "unknown field `answer`"),
            ("answers: x", "`answers` is a list"),
            ("approve: perhaps", "invalid type"),
        ] {
            let error = format!("{:#}", Sheet::parse(text).unwrap_err());
            assert!(error.contains(says), "{text}: {error}");
        }
        let odd = Sheet::parse("answers: [x, [y]]").unwrap().answer(&question(&[])).unwrap_err();
        assert_eq!(format!("{odd:#}"), "the answer to q-2: it must be words or a number");
    }
}
