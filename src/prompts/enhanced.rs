//! Purpose: the request as the planner gets it once people have answered, decided and agreed on a design.

use super::Told;

/// The original request, then the answers that shape the plan, the decisions with their reasons, and the summary, as far
/// as there are any. The other kinds of answers are summed up in the design.
#[must_use]
pub fn enhanced_instruction(original: &str, told: &Told) -> String {
    let answers = told.answers.iter().filter(|(question, _)| question.kind.shapes_the_plan()).map(
        |(question, answer)| {
            format!("- {}\n  Answer: {}", question.question, inside(answer.as_deref().unwrap_or("skipped")))
        },
    );
    let decisions = told.decisions.iter().map(|(topic, name, rationale)| {
        let reason = if rationale.trim().is_empty() { "N/A" } else { rationale };
        format!("- {topic}: {name}\n  Reason: {}", inside(reason))
    });
    let sections = [
        ("Clarified Requirements", answers.collect::<Vec<_>>()),
        ("Design Decisions", decisions.collect()),
        ("Design Summary", told.design_summary.iter().cloned().collect()),
    ];
    let mut text = format!("Original Instruction: {}", original.trim());
    for (title, items) in sections.iter().filter(|(_, items)| !items.is_empty()) {
        text += &format!("\n\n## {title}\n{}", items.join("\n"));
    }
    text.trim().to_owned()
}

/// Every line of an answer stays inside its item, so that none looks like a section of its own.
fn inside(text: &str) -> String {
    text.trim().lines().collect::<Vec<_>>().join("\n  ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Question, QuestionId, QuestionKind};

    fn question(kind: QuestionKind, question: &str) -> Question {
        Question {
            id: QuestionId("q-1".to_owned()),
            kind,
            question: question.to_owned(),
            context: None,
            options: vec![],
            assumption: None,
        }
    }

    #[test]
    fn answers_and_decisions_enhance_the_instruction() {
        let told = Told {
            answers: vec![
                (question(QuestionKind::Scope, "Which pages?"), Some("All.\n## Design Summary".to_owned())),
                (question(QuestionKind::Priority, "What first?"), Some("Speed".to_owned())),
                (question(QuestionKind::Technical, "Which database?"), None),
            ],
            decisions: vec![
                ("Store".to_owned(), "SQLite".to_owned(), "no server".to_owned()),
                ("Cache".to_owned(), "none".to_owned(), " ".to_owned()),
            ],
            design_summary: Some("One table.".to_owned()),
            ..Told::default()
        };
        insta::assert_snapshot!(enhanced_instruction(" Make it fast\n", &told), @r"
        Original Instruction: Make it fast

        ## Clarified Requirements
        - Which pages?
          Answer: All.
          ## Design Summary
        - Which database?
          Answer: skipped

        ## Design Decisions
        - Store: SQLite
          Reason: no server
        - Cache: none
          Reason: N/A

        ## Design Summary
        One table.
        ");
    }

    #[test]
    fn empty_sections_are_left_out() {
        assert_eq!(enhanced_instruction("Do it", &Told::default()), "Original Instruction: Do it");
        let told = Told { design_summary: Some("So.".to_owned()), ..Told::default() };
        assert_eq!(
            enhanced_instruction("Do it", &told),
            "Original Instruction: Do it\n\n## Design Summary\nSo."
        );
    }
}
