//! Purpose: whether a step is done: what can be shown for it, weighed against what the judge thinks of it.
//!
//! Evidence outranks opinion. A judge may find fault with what looks done, within bounds; it can never make done what
//! was not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::ActionId;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    // Plain comments: documentation here would make the schema wider than every provider takes.
    Done,
    // The worker goes on, with remarks.
    Continue,
    // The step itself is wrong.
    Replan,
}

impl Verdict {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Continue => "continue",
            Self::Replan => "replan",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    pub verdict: Verdict,
    pub reasons: Vec<String>,
    /// What the worker should do now.
    pub remarks: String,
    /// Two things that are wanted and exclude each other: a matter for people.
    pub contradiction: Option<String>,
}

/// What can be shown for a step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepEvidence {
    pub actions: Vec<ActionEvidence>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionEvidence {
    pub id: ActionId,
    pub need: Need,
    pub shown: Shown,
    pub exit_code: Option<i32>,
    pub change: Change,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    Required,
    /// Its failure does not fail its step.
    Optional,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    Succeeded,
    Failed {
        why: String,
    },
    /// It was not carried out, or did not end.
    Missing,
}

/// What became of the files. A change is wanted of what creates, writes, deletes or makes a directory, and of an edit
/// that a worker fills in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    NotWanted,
    Committed,
    /// They were found as they should be.
    NothingToChange,
    /// Wanted, and there is nothing to show for it.
    Absent,
}

impl StepEvidence {
    /// What stands against taking the step for done, in words; empty when nothing does.
    #[must_use]
    pub fn lacking(&self) -> Vec<String> {
        if self.actions.is_empty() {
            return vec!["nothing was done for it".to_owned()];
        }
        self.actions.iter().filter_map(ActionEvidence::lacking).collect()
    }
}

impl ActionEvidence {
    fn lacking(&self) -> Option<String> {
        if self.need == Need::Optional {
            return None;
        }
        let id = &self.id;
        match &self.shown {
            Shown::Missing => Some(format!("`{id}` was not carried out")),
            Shown::Failed { why } if why.trim().is_empty() => Some(format!("`{id}` failed")),
            Shown::Failed { why } => Some(format!("`{id}` failed: {}", why.trim())),
            // Whoever says that it succeeded, these say otherwise.
            Shown::Succeeded => match (self.exit_code, self.change) {
                (Some(code), _) if code != 0 => Some(format!("`{id}` ended with exit code {code}")),
                (_, Change::Absent) => {
                    Some(format!("`{id}` should have changed files, and no commit shows it"))
                }
                (_, Change::NotWanted | Change::Committed | Change::NothingToChange) => None,
            },
        }
    }
}

/// How often a judge may ask for more before the step itself is in doubt.
pub const MAX_REMARKS: u32 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    Evidence,
    Judge,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[must_use]
pub struct Weighed {
    pub judgement: Judgement,
    pub by: By,
    /// Why it is not what the judge said.
    pub overruled: Option<String>,
}

/// The verdict on a step. There is no opinion where all actions were fully specified: then what they show decides.
/// `rounds` is how often the judge has already sent this step back.
pub fn weigh(evidence: &StepEvidence, opinion: Option<Judgement>, rounds: u32) -> Weighed {
    let lacking = evidence.lacking();
    let Some(opinion) = opinion.map(tidied) else { return by_evidence(lacking) };
    match opinion.verdict {
        Verdict::Done if !lacking.is_empty() => {
            let overruled = format!("the judge took the step for done, but {}", lacking.join("; "));
            let Weighed { judgement, by, .. } = by_evidence(lacking);
            let judgement = Judgement { contradiction: opinion.contradiction, ..judgement };
            Weighed { judgement, by, overruled: Some(overruled) }
        }
        Verdict::Continue if rounds >= MAX_REMARKS => {
            let overruled = format!(
                "the judge asked for more after {rounds} rounds of remarks, so the step is planned anew"
            );
            let judgement = Judgement { verdict: Verdict::Replan, ..opinion };
            Weighed { judgement: with(judgement, lacking), by: By::Judge, overruled: Some(overruled) }
        }
        Verdict::Done | Verdict::Continue | Verdict::Replan => {
            Weighed { judgement: with(opinion, lacking), by: By::Judge, overruled: None }
        }
    }
}

fn by_evidence(lacking: Vec<String>) -> Weighed {
    let judgement = if lacking.is_empty() {
        let reasons = vec!["all its actions succeeded".to_owned()];
        Judgement { verdict: Verdict::Done, reasons, remarks: String::new(), contradiction: None }
    } else {
        let remarks = lacking.join("\n");
        Judgement { verdict: Verdict::Continue, reasons: lacking, remarks, contradiction: None }
    };
    Weighed { judgement, by: By::Evidence, overruled: None }
}

/// What the judge may have overlooked stands beside what it found.
fn with(mut judgement: Judgement, lacking: Vec<String>) -> Judgement {
    judgement.reasons.extend(lacking);
    if judgement.verdict == Verdict::Continue && judgement.remarks.is_empty() {
        judgement.remarks = judgement.reasons.join("\n");
    }
    judgement
}

/// Reasons that say nothing are left out, and one that says so stands in for none.
fn tidied(opinion: Judgement) -> Judgement {
    let says = |text: &str| text.chars().any(char::is_alphanumeric);
    let trimmed = |text: String| text.trim().to_owned();
    let mut reasons: Vec<String> = opinion.reasons.into_iter().filter(|r| says(r)).map(trimmed).collect();
    if reasons.is_empty() {
        reasons.push("the judge gave no reason".to_owned());
    }
    let remarks = if says(&opinion.remarks) { trimmed(opinion.remarks) } else { String::new() };
    let contradiction = opinion.contradiction.filter(|text| says(text)).map(trimmed);
    Judgement { verdict: opinion.verdict, reasons, remarks, contradiction }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action(id: &str, shown: Shown) -> ActionEvidence {
        ActionEvidence {
            id: ActionId(id.to_owned()),
            need: Need::Required,
            shown,
            exit_code: None,
            change: Change::NotWanted,
        }
    }

    fn of(actions: &[ActionEvidence]) -> StepEvidence {
        StepEvidence { actions: actions.to_vec() }
    }

    fn good() -> StepEvidence {
        of(&[action("a1", Shown::Succeeded)])
    }

    fn bad() -> StepEvidence {
        let mut tests = action("a2", Shown::Succeeded);
        tests.exit_code = Some(101);
        of(&[action("a1", Shown::Succeeded), tests])
    }

    fn failed() -> Shown {
        Shown::Failed { why: "no such file".to_owned() }
    }

    fn said(verdict: Verdict, reasons: &[&str], remarks: &str) -> Judgement {
        let reasons = reasons.iter().map(|reason| (*reason).to_owned()).collect();
        Judgement { verdict, reasons, remarks: remarks.to_owned(), contradiction: None }
    }

    #[test]
    fn what_is_required_must_be_shown() {
        let a = |shown| action("a1", shown);
        let optional = |shown| ActionEvidence { need: Need::Optional, ..action("o1", shown) };
        let code = |code| ActionEvidence { exit_code: Some(code), ..a(Shown::Succeeded) };
        let change = |change| ActionEvidence { change, ..a(Shown::Succeeded) };
        let rows: [(&[ActionEvidence], &[&str]); 14] = [
            (&[a(Shown::Succeeded)], &[]),
            (&[a(Shown::Missing)], &["`a1` was not carried out"]),
            (&[a(failed())], &["`a1` failed: no such file"]),
            (&[a(Shown::Failed { why: " ".to_owned() })], &["`a1` failed"]),
            (&[code(0)], &[]),
            (&[code(1)], &["`a1` ended with exit code 1"]),
            (&[code(-9)], &["`a1` ended with exit code -9"]),
            (&[change(Change::Committed)], &[]),
            (&[change(Change::NothingToChange)], &[]),
            (&[change(Change::Absent)], &["`a1` should have changed files, and no commit shows it"]),
            (&[a(Shown::Succeeded), optional(failed()), optional(Shown::Missing)], &[]),
            (&[optional(failed())], &[]),
            (
                &[a(Shown::Missing), optional(failed()), action("a2", failed())],
                &["`a1` was not carried out", "`a2` failed: no such file"],
            ),
            (&[], &["nothing was done for it"]),
        ];
        for (actions, expected) in rows {
            assert_eq!(of(actions).lacking(), expected, "{actions:?}");
        }
    }

    #[test]
    fn without_an_opinion_the_evidence_decides() {
        let done = Weighed {
            judgement: said(Verdict::Done, &["all its actions succeeded"], ""),
            by: By::Evidence,
            overruled: None,
        };
        assert_eq!(weigh(&good(), None, 0), done);
        assert_eq!(weigh(&good(), None, 9), done, "rounds are the judge's");
        let words = "`a2` ended with exit code 101";
        let missing = Weighed {
            judgement: said(Verdict::Continue, &[words], words),
            by: By::Evidence,
            overruled: None,
        };
        assert_eq!(weigh(&bad(), None, 9), missing);
    }

    #[test]
    fn evidence_outranks_a_judge_that_calls_done_what_is_not() {
        let words = "`a2` ended with exit code 101";
        for rounds in [0, MAX_REMARKS, 9] {
            let opinion = said(Verdict::Done, &["all tests pass"], "well done");
            let expected = Weighed {
                judgement: said(Verdict::Continue, &[words], words),
                by: By::Evidence,
                overruled: Some(format!("the judge took the step for done, but {words}")),
            };
            assert_eq!(weigh(&bad(), Some(opinion), rounds), expected);
        }
    }

    #[test]
    fn a_judge_may_find_fault_with_what_looks_done_but_not_for_ever() {
        let complaint = || said(Verdict::Continue, &["the title is missing"], "add the title");
        let judged = |judgement| Weighed { judgement, by: By::Judge, overruled: None };
        for rounds in 0..MAX_REMARKS {
            assert_eq!(weigh(&good(), Some(complaint()), rounds), judged(complaint()), "{rounds}");
        }
        let worn = "the judge asked for more after 2 rounds of remarks, so the step is planned anew";
        let expected = Weighed {
            judgement: said(Verdict::Replan, &["the title is missing"], "add the title"),
            by: By::Judge,
            overruled: Some(worn.to_owned()),
        };
        assert_eq!(weigh(&good(), Some(complaint()), MAX_REMARKS), expected);
    }

    #[test]
    fn an_opinion_that_fits_the_evidence_stands() {
        let judged = |judgement| Weighed { judgement, by: By::Judge, overruled: None };
        let done = said(Verdict::Done, &["it greets"], "");
        assert_eq!(weigh(&good(), Some(done.clone()), 9), judged(done));
        let replan = said(Verdict::Replan, &["the step is wrong"], "");
        assert_eq!(weigh(&good(), Some(replan.clone()), 0), judged(replan));
        let go_on = said(Verdict::Continue, &["not yet"], "run them again");
        let both = said(Verdict::Continue, &["not yet", "`a2` ended with exit code 101"], "run them again");
        assert_eq!(weigh(&bad(), Some(go_on), 0), judged(both));
    }

    #[test]
    fn a_judge_that_says_nothing_is_understood() {
        for reasons in [&[][..], &["", "  \n", "???"]] {
            let found = weigh(&good(), Some(said(Verdict::Continue, reasons, " - ")), 0);
            let words = "the judge gave no reason";
            assert_eq!(found.judgement, said(Verdict::Continue, &[words], words), "{reasons:?}");
            let found = weigh(&good(), Some(said(Verdict::Done, reasons, "")), 0);
            assert_eq!(found.judgement, said(Verdict::Done, &[words], ""), "{reasons:?}");
        }
    }

    #[test]
    fn a_contradiction_is_never_lost() {
        let clash = |text: &str| Some(text.to_owned());
        for verdict in [Verdict::Done, Verdict::Continue, Verdict::Replan] {
            for evidence in [good(), bad(), of(&[])] {
                for (given, expected) in [(" A and not A ", clash("A and not A")), (" ", None)] {
                    let opinion = Judgement { contradiction: clash(given), ..said(verdict, &["x"], "") };
                    let found = weigh(&evidence, Some(opinion), 5);
                    assert_eq!(found.judgement.contradiction, expected, "{verdict:?}");
                }
            }
        }
    }

    #[test]
    fn nothing_that_lacks_evidence_is_ever_done() {
        let opinions = [Verdict::Done, Verdict::Continue, Verdict::Replan].map(|v| Some(said(v, &["x"], "")));
        for evidence in [bad(), of(&[]), of(&[action("a1", Shown::Missing)]), of(&[action("a1", failed())])] {
            for opinion in opinions.iter().cloned().chain([None]) {
                for rounds in 0..5 {
                    let found = weigh(&evidence, opinion.clone(), rounds);
                    assert_ne!(found.judgement.verdict, Verdict::Done, "{evidence:?} {opinion:?}");
                }
            }
        }
    }
}
