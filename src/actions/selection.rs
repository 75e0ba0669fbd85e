//! Purpose: which actions an approval means: `1-3,5`, `except 4`, `task_2`, `all`, `ticked`; and what has to stay out
//! because its ground is missing.
//!
//! An approval must never cover more than its author wrote. A word that is no action refuses the whole command.

use std::collections::{BTreeMap, BTreeSet};

use super::examine::{Before, Spec};
use crate::plan::{Action, ActionId, Step, StepId};

/// An approval as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    pub what: What,
    /// The beginning of a digest: the approval is for that plan and no other.
    pub digest: Option<String>,
    /// Words after the list, kept with the approval.
    pub note: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    All,
    /// The boxes that are ticked in the preview.
    Ticked,
    Only(Vec<Item>),
    Except(Vec<Item>),
    /// A list, and what is taken out of it again.
    OnlyExcept(Vec<Item>, Vec<Item>),
}

impl What {
    /// Whether these words mean this action by itself, and not as one of many: by its number, or by its own box.
    #[must_use]
    pub fn names(&self, id: &ActionId) -> bool {
        match self {
            Self::Ticked => true,
            Self::Only(items) | Self::OnlyExcept(items, _) => {
                items.iter().any(|item| matches!(item, Item::Number(number) if numbered(*number) == *id))
            }
            Self::All | Self::Except(_) => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    Number(u32),
    Range(u32, u32),
    Step(String),
}

/// Why the words are no selection; the sentence goes to the person who wrote them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSelection {
    #[error("“{0}” is no number of an action, no range like 1-3 and no step like task_2")]
    Word(String),
    #[error("after “except” there must be numbers")]
    NothingExcepted,
    #[error("there is no action {} in what was put up for approval", list(.0))]
    Unknown(Vec<String>),
    #[error("nothing is left of what you approved")]
    Nothing,
}

fn list(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

const LONGEST_NOTE: usize = 500;
const SHORTEST_DIGEST: usize = 6;

impl Selection {
    /// # Errors
    /// When a word is neither an action nor part of a note. Words that stand alone are no note: “only the first” must
    /// not be read as everything.
    pub fn parse(text: &str) -> Result<Self, BadSelection> {
        let mut reader = Reader { items: vec![], except: None, digest: None, all: false, ticked: false };
        let mut rest = text.trim();
        let mut after_comma = false;
        while !rest.is_empty() {
            let (word, after) = next_word(rest);
            match reader.take(word) {
                Taken::Yes => {}
                Taken::No if reader.has_something() && !after_comma => {
                    check_note(rest)?;
                    break;
                }
                Taken::No => return Err(BadSelection::Word(word.chars().take(40).collect())),
            }
            after_comma = after.trim_start().starts_with(',');
            rest = after.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
        }
        reader.finish(rest)
    }
}

/// Words that take something back. Behind a list they would be read as a mere note, and the list would count in full.
const LIMITING: [&str; 8] = ["except", "but", "not", "without", "only", "minus", "besides", "excluding"];

/// A note may say anything but what could be meant to change the list.
fn check_note(note: &str) -> Result<(), BadSelection> {
    let words = note.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '.' | ':' | '(' | ')'));
    for word in words.map(str::to_ascii_lowercase) {
        let word = word.trim_start_matches('#');
        if LIMITING.contains(&word) || item(word).is_some() {
            return Err(BadSelection::Word(note.chars().take(40).collect()));
        }
    }
    Ok(())
}

fn next_word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| c.is_whitespace() || c == ',').unwrap_or(text.len());
    text.split_at(end)
}

struct Reader {
    items: Vec<Item>,
    except: Option<Vec<Item>>,
    digest: Option<String>,
    all: bool,
    ticked: bool,
}

enum Taken {
    Yes,
    No,
}

impl Reader {
    fn take(&mut self, word: &str) -> Taken {
        let small = word.trim_start_matches('#').to_ascii_lowercase();
        match small.as_str() {
            "all" if self.is_fresh() => self.all = true,
            "ticked" if self.is_fresh() => self.ticked = true,
            "except" if self.except.is_none() && !self.ticked => self.except = Some(vec![]),
            "and" | "&" if !self.items.is_empty() || self.except.is_some() => {}
            _ => match item(&small) {
                Some(item) if !self.all && !self.ticked || self.except.is_some() => {
                    self.except.as_mut().unwrap_or(&mut self.items).push(item);
                }
                None if is_digest(&small) && self.digest.is_none() => self.digest = Some(small),
                Some(_) | None => return Taken::No,
            },
        }
        Taken::Yes
    }

    fn is_fresh(&self) -> bool {
        self.items.is_empty() && self.except.is_none() && !self.all && !self.ticked
    }

    fn has_something(&self) -> bool {
        !self.is_fresh() || self.digest.is_some()
    }

    fn finish(self, note: &str) -> Result<Selection, BadSelection> {
        let what = match (self.except, self.ticked) {
            (Some(except), _) if except.is_empty() => return Err(BadSelection::NothingExcepted),
            (Some(except), _) if self.items.is_empty() => What::Except(except),
            (Some(except), _) => What::OnlyExcept(self.items, except),
            (None, true) => What::Ticked,
            (None, false) if self.items.is_empty() => What::All,
            (None, false) => What::Only(self.items),
        };
        Ok(Selection { what, digest: self.digest, note: note.trim().chars().take(LONGEST_NOTE).collect() })
    }
}

fn item(word: &str) -> Option<Item> {
    let number = |text: &str| text.strip_prefix('a').unwrap_or(text).parse::<u32>().ok().filter(|n| *n > 0);
    if let Some(number) = number(word) {
        return (word.len() <= 5).then_some(Item::Number(number));
    }
    if let Some((from, to)) = word.split_once(['-', '–', '…']) {
        let (from, to) = (number(from)?, number(to)?);
        return (from <= to && to - from < 1_000).then_some(Item::Range(from, to));
    }
    (word.starts_with("task_") || word.starts_with("task-")).then(|| Item::Step(word.to_owned()))
}

fn is_digest(word: &str) -> bool {
    (SHORTEST_DIGEST..=64).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// What is put up for approval, in the light of which a selection is read.
#[derive(Debug, Clone, Copy)]
pub struct PutUp<'a> {
    pub steps: &'a [Step],
    /// All actions of the plan, in order; their place is their number.
    pub actions: &'a [Action],
    pub specs: &'a BTreeMap<ActionId, Spec>,
    /// The ids that are put up now.
    pub asked: &'a BTreeSet<ActionId>,
    /// What is done or approved already, and so can be built on.
    pub settled: &'a BTreeSet<ActionId>,
    /// Of that, what has not begun: it stays out as well if its ground is left out.
    pub waiting: &'a BTreeSet<ActionId>,
    pub ticked: &'a BTreeSet<ActionId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    pub chosen: BTreeSet<ActionId>,
    /// Selected, or approved before and not begun, but without ground once others are left out.
    pub ungrounded: Vec<(ActionId, String)>,
}

/// # Errors
/// When something is named that was not put up, or nothing remains.
pub fn choose(what: &What, up: &PutUp<'_>) -> Result<Choice, BadSelection> {
    let named = match what {
        What::All => up.asked.clone(),
        What::Ticked => up.ticked.intersection(up.asked).cloned().collect(),
        What::Only(items) => resolve(items, up)?,
        What::Except(items) => up.asked.difference(&resolve(items, up)?).cloned().collect(),
        What::OnlyExcept(items, except) => {
            resolve(items, up)?.difference(&resolve(except, up)?).cloned().collect()
        }
    };
    let (chosen, ungrounded) = close(named, up);
    if chosen.is_empty() {
        return Err(BadSelection::Nothing);
    }
    Ok(Choice { chosen, ungrounded })
}

fn resolve(items: &[Item], up: &PutUp<'_>) -> Result<BTreeSet<ActionId>, BadSelection> {
    let (mut found, mut unknown) = (BTreeSet::new(), vec![]);
    for item in items {
        let (ids, name) = match item {
            Item::Number(n) => (vec![numbered(*n)], n.to_string()),
            Item::Range(from, to) => ((*from..=*to).map(numbered).collect(), format!("{from}-{to}")),
            Item::Step(step) => {
                let of_step = up.actions.iter().filter(|action| action.task_id.0.eq_ignore_ascii_case(step));
                let ids: Vec<ActionId> = of_step.map(|action| action.id.clone()).collect();
                (ids.into_iter().filter(|id| up.asked.contains(id)).collect(), step.clone())
            }
        };
        if ids.is_empty() || ids.iter().any(|id| !up.asked.contains(id)) {
            unknown.push(name);
        }
        found.extend(ids);
    }
    if unknown.is_empty() { Ok(found) } else { Err(BadSelection::Unknown(unknown)) }
}

fn numbered(number: u32) -> ActionId {
    ActionId(format!("a{number}"))
}

/// What was approved before and has not begun, and misses its ground once nothing more is approved.
#[must_use]
pub fn ungrounded(up: &PutUp<'_>) -> Vec<(ActionId, String)> {
    close(BTreeSet::new(), up).1
}

/// Takes out what would miss its ground, until nothing more has to go.
fn close(mut chosen: BTreeSet<ActionId>, up: &PutUp<'_>) -> (BTreeSet<ActionId>, Vec<(ActionId, String)>) {
    let mut waiting = up.waiting.clone();
    let mut ungrounded = vec![];
    loop {
        let can_go = |id: &ActionId| chosen.contains(id) || waiting.contains(id);
        let stands = |id: &ActionId| can_go(id) || (up.settled.contains(id) && !up.waiting.contains(id));
        let missing = up
            .actions
            .iter()
            .filter(|action| can_go(&action.id))
            .find_map(|action| missing_ground(action, &stands, up).map(|why| (action.id.clone(), why)));
        let Some((id, why)) = missing else { return (chosen, ungrounded) };
        chosen.remove(&id);
        waiting.remove(&id);
        ungrounded.push((id, why));
    }
}

fn missing_ground(action: &Action, stands: &impl Fn(&ActionId) -> bool, up: &PutUp<'_>) -> Option<String> {
    let step = up.steps.iter().find(|step| step.id == action.task_id);
    for on in step.iter().flat_map(|step| &step.dependencies) {
        if let Some(id) = unfinished(on, up, stands) {
            return Some(format!("it needs `{on}`, of which action {} is left out", number_of(&id)));
        }
    }
    match up.specs.get(&action.id).map(|spec| &spec.preflight.before) {
        Some(Before::After { action: on }) if !stands(on) => {
            Some(format!("it builds on action {}, which is left out", number_of(on)))
        }
        Some(_) | None => None,
    }
}

fn unfinished(step: &StepId, up: &PutUp<'_>, stands: &impl Fn(&ActionId) -> bool) -> Option<ActionId> {
    let of_step = up.actions.iter().filter(|action| action.task_id == *step && !action.optional);
    of_step.map(|action| &action.id).find(|id| !stands(id)).cloned()
}

/// The number that people know an action by.
#[must_use]
pub fn number_of(id: &ActionId) -> &str {
    id.0.strip_prefix('a').unwrap_or(&id.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_approval_never_covers_more_than_its_author_wrote() {
        let parse = |words: &str| Selection::parse(words).map(|selection| (selection.what, selection.note));
        let number = Item::Number;
        assert_eq!(parse(""), Ok((What::All, String::new())));
        assert_eq!(parse("2 looks good"), Ok((What::Only(vec![number(2)]), "looks good".to_owned())));
        assert_eq!(parse("all thanks"), Ok((What::All, "thanks".to_owned())));
        assert_eq!(parse("except 4"), Ok((What::Except(vec![number(4)]), String::new())));
        assert_eq!(
            parse("1-5 except 3"),
            Ok((What::OnlyExcept(vec![Item::Range(1, 5)], vec![number(3)]), String::new()))
        );
        for words in [
            "looks good",
            "only the first",
            "all but 4",
            "1-3 but not 2",
            "ticked except 2",
            "1 looks good, 2 looks wrong",
            "1,x3",
            "except",
            "except the last",
        ] {
            assert!(parse(words).is_err(), "{words}: {:?}", parse(words));
        }
    }
}
