//! Purpose: whether the advice of a model is enough to go on with.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the logic validator or the external advisor says about a difficulty.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Advice {
    pub advice: String,
    /// From 0 to 1.
    pub confidence: f64,
    /// Two things that are wanted and exclude each other.
    pub contradiction: Option<String>,
    /// The adviser itself says that a person has to decide.
    pub needs_person: bool,
}

/// From here on advice is followed.
pub const CONFIDENT: f64 = 0.7;

#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Helps {
    /// It is followed, and the escalation is settled by it.
    Yes,
    /// It is not enough; the next target may know more.
    AskNext,
    /// No model may decide this; the reason is for people to read.
    AskPeople { why: String },
}

/// What excludes each other is weighed by people, however sure a model is of its advice.
pub fn helps(advice: &Advice) -> Helps {
    let contradiction = advice.contradiction.as_deref().map(str::trim).filter(|text| !text.is_empty());
    if let Some(contradiction) = contradiction {
        return Helps::AskPeople { why: format!("two wishes exclude each other: {contradiction}") };
    }
    if advice.needs_person {
        return Helps::AskPeople { why: "the adviser says that a person has to decide".to_owned() };
    }
    // What is no number, or not a share, says nothing. A comparison with NaN is false, so it needs no case.
    let confident = (CONFIDENT..=1.0).contains(&advice.confidence);
    if confident && !advice.advice.trim().is_empty() { Helps::Yes } else { Helps::AskNext }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sure_and_plain_advice_helps() {
        let people = |why: &str| Helps::AskPeople { why: why.to_owned() };
        let clash = || people("two wishes exclude each other: fast and never cached");
        let person = || people("the adviser says that a person has to decide");
        let contradicted = Some("fast and never cached");
        for (advice, confidence, contradiction, needs_person, expected) in [
            ("pin the version", 0.9, None, false, Helps::Yes),
            ("pin the version", 0.7, None, false, Helps::Yes),
            ("pin the version", 1.0, Some("  "), false, Helps::Yes),
            ("pin the version", 0.69, None, false, Helps::AskNext),
            ("pin the version", 0.0, None, false, Helps::AskNext),
            ("pin the version", f64::NAN, None, false, Helps::AskNext),
            ("pin the version", f64::INFINITY, None, false, Helps::AskNext),
            ("pin the version", 90.0, None, false, Helps::AskNext),
            ("pin the version", -1.0, None, false, Helps::AskNext),
            ("", 0.9, None, false, Helps::AskNext),
            (" \n", 0.9, None, false, Helps::AskNext),
            ("pin the version", 0.9, None, true, person()),
            ("", f64::NAN, None, true, person()),
            ("pin the version", 0.9, contradicted, false, clash()),
            ("", 0.1, contradicted, true, clash()),
        ] {
            let contradiction = contradiction.map(str::to_owned);
            let given = Advice { advice: advice.to_owned(), confidence, contradiction, needs_person };
            assert_eq!(helps(&given), expected, "{given:?}");
        }
    }
}
