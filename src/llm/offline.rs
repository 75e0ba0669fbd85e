//! Purpose: answers by rules, without a language model: lists and headings of the description become the plan.
//!
//! It invents nothing. What the description says is taken over; a step whose content is not spelled out becomes an open
//! action for a worker, and a goal without criteria says that choices are open.

use super::offline_crew as crew;
use super::offline_talk as talk;
use super::outline::{Content, File, Piece, Section, outline, paths_in};
use crate::plan::{
    Action, ActionId, ActionKind, ActionSpec, Complexity, Decided, Goal, PlanProblem, Step, StepId,
};
use crate::prompts::{Answer, Ask, Context, plain_text, visible_text};

const MAX_STEPS: usize = 100;
const MAX_ITEMS: usize = 50;
const LINE: usize = 500;

/// # Errors
/// When a document is no plan: rules that make something up would be worse.
pub(super) fn answer(ask: &Ask) -> Result<Answer, PlanProblem> {
    Ok(match ask {
        Ask::GoalUnderstanding { context, .. } => {
            Answer::Goal { goal: goal(context), replan: Decided::Nothing }
        }
        Ask::DiscoveryQuestions { goal, told, .. } => Answer::Questions(talk::questions(goal, told)),
        // Numbered answers are read before anybody is asked; which question free words answer is beyond rules.
        Ask::AnswerMapping { .. } => Answer::Mapping(vec![]),
        Ask::DesignDecisions { .. } => Answer::Decisions(vec![]),
        Ask::DesignSummary { goal, told, .. } => talk::design_summary(goal, told),
        Ask::TaskDecomposition { context, .. } => steps(context),
        Ask::ActionSequence { context, steps, .. } => {
            Answer::Actions { actions: actions(context, steps), replan: Decided::Nothing }
        }
        Ask::PlanRevision { context, open, .. } => {
            Answer::Revision { steps: open.clone(), actions: actions(context, open) }
        }
        Ask::WorkerTurn { task, .. } => Answer::Turn(crew::turn(task)),
        Ask::Reflection { done, action_id, .. } => {
            Answer::Reflection { reflection: talk::reflection(done, action_id), replan: Decided::Nothing }
        }
        Ask::ReplanDecision { .. } => talk::no_replan(),
        Ask::FinalEvaluation { done, .. } => talk::final_evaluation(done),
        Ask::AlternativeApproach { .. } => talk::no_other_way(),
        Ask::StepJudgement { task, .. } => crew::judgement(task),
        Ask::LogicValidation { .. } | Ask::ExternalAdvice { .. } => crew::no_advice(),
        Ask::PlanDocument { document, .. } => crew::document(document)?,
        Ask::ConversationSummary { messages, .. } => talk::conversation_summary(messages),
    })
}

fn goal(context: &Context) -> Goal {
    let pieces = read(context);
    let mut success_criteria = items_of(&pieces, Section::Criteria);
    if success_criteria.is_empty() {
        // A checklist says by itself when it is done.
        success_criteria = pieces.iter().filter_map(open_task).take(MAX_ITEMS).collect();
    }
    let first_words = pieces.iter().filter(|piece| piece.section != Section::Criteria).find_map(line);
    Goal {
        main_objective: objective(context),
        design_choices_open: success_criteria.is_empty(),
        success_criteria,
        constraints: items_of(&pieces, Section::Constraints),
        context: first_words.unwrap_or_default(),
    }
}

fn read(context: &Context) -> Vec<Piece> {
    outline(&visible_text(&context.body).text)
}

fn objective(context: &Context) -> String {
    let title = one_line(&context.title);
    if title.is_empty() { format!("Work on {}", one_line(&context.thread)) } else { title }
}

/// The items of a section, or its lines if it has no items. The line that names the section is not one of them.
fn items_of(pieces: &[Piece], section: Section) -> Vec<String> {
    let inside = || pieces.iter().filter(|piece| piece.section == section);
    let items: Vec<String> = inside()
        .filter_map(|piece| match &piece.content {
            Content::Task { text, .. } | Content::Numbered(text) | Content::Bullet(text) => {
                Some(one_line(text))
            }
            Content::Heading(..) | Content::Line(_) | Content::File(_) | Content::Code => None,
        })
        .take(MAX_ITEMS)
        .collect();
    if !items.is_empty() {
        return items;
    }
    inside().filter_map(line).filter(|line| !line.ends_with([':', '：', '*'])).take(MAX_ITEMS).collect()
}

fn line(piece: &Piece) -> Option<String> {
    let Content::Line(line) = &piece.content else { return None };
    Some(one_line(line))
}

fn open_task(piece: &Piece) -> Option<String> {
    let Content::Task { done: false, text } = &piece.content else { return None };
    (piece.section == Section::Other).then(|| one_line(text))
}

fn numbered(piece: &Piece) -> Option<String> {
    let Content::Numbered(text) = &piece.content else { return None };
    (piece.section == Section::Other).then(|| one_line(text))
}

fn headed(piece: &Piece) -> Option<String> {
    let Content::Heading(2.., text) = &piece.content else { return None };
    (piece.section == Section::Other).then(|| one_line(text))
}

/// What makes the steps of a description: the first of these that it has.
#[derive(Clone, Copy)]
enum Source {
    Checklist,
    Numbers,
    Headings,
    Title,
}

impl Source {
    fn of(pieces: &[Piece]) -> Self {
        let lists = [Self::Checklist, Self::Numbers, Self::Headings];
        let has = |source: &Self| pieces.iter().any(|piece| source.step(piece).is_some());
        lists.into_iter().find(has).unwrap_or(Self::Title)
    }

    fn step(self, piece: &Piece) -> Option<String> {
        let step = match self {
            Self::Checklist => open_task(piece),
            Self::Numbers => numbered(piece),
            Self::Headings => headed(piece),
            Self::Title => None,
        };
        step.filter(|step| !step.is_empty())
    }
}

/// A step as it stands in the description, with the files that it spells out.
struct Found {
    description: String,
    files: Vec<File>,
}

fn find_steps(context: &Context) -> (Source, Vec<Found>) {
    let pieces = read(context);
    let source = Source::of(&pieces);
    let mut found: Vec<Found> = Vec::new();
    let mut before: Vec<File> = Vec::new();
    for piece in pieces {
        if let Some(description) = source.step(&piece) {
            found.push(Found { description, files: vec![] });
        } else if let Content::File(file) = piece.content
            && piece.section != Section::Report
        {
            let steps = found.iter_mut();
            let named = steps.rev().find(|step| paths_in(&step.description).contains(&file.path));
            match named {
                Some(step) => step.files.push(file),
                None => found.last_mut().map_or(&mut before, |step| &mut step.files).push(file),
            }
        }
    }
    if found.is_empty() {
        found.push(Found { description: objective(context), files: vec![] });
    }
    give(before, &mut found);
    shorten(&mut found);
    (source, found)
}

/// Files that stand before all steps go to the step that names them, else to the first.
fn give(files: Vec<File>, found: &mut [Found]) {
    for file in files {
        let named = found.iter().position(|step| paths_in(&step.description).contains(&file.path));
        if let Some(step) = found.get_mut(named.unwrap_or(0)) {
            step.files.push(file);
        }
    }
}

fn shorten(found: &mut Vec<Found>) {
    if found.len() > MAX_STEPS {
        let rest = found.len() - MAX_STEPS + 1;
        found.truncate(MAX_STEPS - 1);
        found.push(Found {
            description: format!("Plan the remaining {rest} items of the list"),
            files: vec![],
        });
    }
}

fn steps(context: &Context) -> Answer {
    let (source, found) = find_steps(context);
    let reasoning = match source {
        Source::Checklist => "Each open box of the checklist is a step.",
        Source::Numbers => "Each number of the list is a step; they are done in order.",
        Source::Headings => "Each section is a step.",
        Source::Title => "The description has no list and no sections, so the title is the one step.",
    };
    let steps: Vec<Step> = (0..found.len()).map(|at| step(source, &found, at)).collect();
    let reasoning = format!("By rules, without a language model: {reasoning}");
    Answer::Steps { reasoning, steps, replan: Decided::Nothing }
}

fn step(source: Source, found: &[Found], at: usize) -> Step {
    let Found { description, files } = &found[at];
    let dependencies = match source {
        Source::Numbers => at.checked_sub(1).into_iter().collect(),
        Source::Checklist | Source::Headings | Source::Title => said_dependencies(description, at),
    };
    let tool = if files.is_empty() { "worker" } else { "files" };
    Step {
        id: id(at),
        description: description.clone(),
        dependencies: dependencies.into_iter().map(id).collect(),
        estimated_complexity: complexity(description, files),
        required_tools: vec![tool.to_owned()],
        rests_on: vec![],
    }
}

pub(super) fn id(at: usize) -> StepId {
    StepId(format!("task_{}", at + 1))
}

/// What a step says about its place: `finally` comes after all, `then` after the one before, `after 2` after the second.
fn said_dependencies(description: &str, at: usize) -> Vec<usize> {
    let text = description.to_lowercase();
    let begins = |words: &[&str]| words.iter().any(|word| text.starts_with(word));
    if begins(&["finally", "lastly", "最後に"]) {
        return (0..at).collect();
    }
    if begins(&["then ", "then,", "after that", "afterwards", "next,", "次に", "その後"]) {
        return at.checked_sub(1).into_iter().collect();
    }
    let mut named: Vec<usize> = Vec::new();
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| !w.is_empty()).collect();
    for (place, word) in words.iter().enumerate() {
        let number =
            words[place + 1..].iter().take(2).find_map(|next| next.trim_start_matches("task_").parse().ok());
        if *word == "after"
            && let Some(number @ 1..) = number
            && number <= at
            && !named.contains(&(number - 1))
        {
            named.push(number - 1);
        }
    }
    named
}

pub(super) fn complexity(description: &str, files: &[File]) -> Complexity {
    const HIGH: [&str; 9] = [
        "migrat",
        "refactor",
        "rewrite",
        "redesign",
        "security",
        "concurren",
        "architecture",
        "移行",
        "リファクタ",
    ];
    const LOW: [&str; 9] =
        ["typo", "rename", "readme", "document", "comment", "bump", "changelog", "wording", "ドキュメント"];
    let text = description.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if says(&HIGH) || text.chars().count() > 200 {
        Complexity::High
    } else if says(&LOW) || !files.is_empty() {
        Complexity::Low
    } else {
        Complexity::Medium
    }
}

/// In the order of the steps, which never points backwards: dependencies are always on earlier ones.
fn actions(context: &Context, steps: &[Step]) -> Vec<Action> {
    let (_, mut found) = find_steps(context);
    let mut actions: Vec<Action> = Vec::new();
    for step in steps {
        let same = found.iter().position(|found| found.description == step.description);
        let files = same.map(|at| found.remove(at).files).unwrap_or_default();
        if files.is_empty() {
            actions.extend(open_actions(step));
        } else {
            actions.extend(files.into_iter().map(|file| write_file(context, step, file)));
        }
    }
    (1..).zip(actions).map(|(n, action)| Action { id: ActionId(format!("a{n}")), ..action }).collect()
}

fn write_file(context: &Context, step: &Step, file: File) -> Action {
    let text = step.description.to_lowercase();
    let says_new = ["create", "add ", "new file", "作成", "追加"].iter().any(|word| text.contains(word));
    let is_new = if context.tree.is_empty() { says_new } else { !context.tree.contains(&file.path) };
    Action {
        id: ActionId(String::new()),
        task_id: step.id.clone(),
        action_type: if is_new { ActionKind::Create } else { ActionKind::Write },
        tool: "files".to_owned(),
        purpose: step.description.clone(),
        expected_outcome: format!("`{}` has the content that the thread gives", file.path),
        fallback_strategy: "Ask in the thread".to_owned(),
        spec: ActionSpec { path: Some(file.path), content: Some(file.content), ..ActionSpec::default() },
        optional: false,
    }
}

/// What to do is for a worker to find out: one look at each file that the step names, or one at all.
fn open_actions(step: &Step) -> Vec<Action> {
    let named = paths_in(&step.description);
    let paths: Vec<Option<String>> =
        if named.is_empty() { vec![None] } else { named.into_iter().take(5).map(Some).collect() };
    let open = |path| Action {
        id: ActionId(String::new()),
        task_id: step.id.clone(),
        action_type: ActionKind::Analyze,
        tool: "worker".to_owned(),
        purpose: step.description.clone(),
        expected_outcome: "It is known what has to change".to_owned(),
        fallback_strategy: "Report the difficulty in the thread".to_owned(),
        spec: ActionSpec { path, ..ActionSpec::default() },
        optional: false,
    };
    paths.into_iter().map(open).collect()
}

pub(super) fn one_line(text: &str) -> String {
    let words: Vec<String> = plain_text(text).text.split_whitespace().map(str::to_owned).collect();
    words.join(" ").chars().take(LINE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::check_steps;

    fn context(title: &str, body: &str) -> Context {
        Context {
            thread: "local:sample#1".to_owned(),
            title: title.to_owned(),
            body: body.to_owned(),
            ..Context::default()
        }
    }

    /// Each step as `id (what it waits for) complexity: description`, then each action as `id step kind tool path`.
    fn planned(context: &Context) -> Vec<String> {
        let Answer::Steps { steps, .. } = steps(context) else { panic!("no steps") };
        assert_eq!(check_steps(&steps), Ok(()));
        let mut lines: Vec<String> = steps
            .iter()
            .map(|step| {
                let waits: Vec<&str> = step.dependencies.iter().map(|id| id.0.as_str()).collect();
                format!(
                    "{} ({}) {:?}: {}",
                    step.id,
                    waits.join(" "),
                    step.estimated_complexity,
                    step.description
                )
            })
            .collect();
        for action in actions(context, &steps) {
            let path = action.spec.path.unwrap_or_default();
            let kind = action.action_type.as_str();
            lines.push(format!("{} {} {kind} {} {path}", action.id, action.task_id, action.tool));
        }
        lines
    }

    const CHECKLIST: &str = "We should greet people.\n\n## Tasks\n- [ ] Add `src/greet.rs`\n  ```rust\n  fn greet() {}\n  ```\n\
        - [x] Done before\n- [ ] Then call it in `src/main.rs` and `src/lib.rs`\n- [ ] Fix the typo after task 1\n\
        - [ ] Finally migrate the data\n\n## Acceptance criteria\n- [ ] says hello\n- never panics\n\n## Constraints\n- no new crates\n";

    #[test]
    fn a_checklist_becomes_steps() {
        assert_eq!(
            planned(&context("Greet", CHECKLIST)),
            [
                "task_1 () Low: Add `src/greet.rs`",
                "task_2 (task_1) Medium: Then call it in `src/main.rs` and `src/lib.rs`",
                "task_3 (task_1) Low: Fix the typo after task 1",
                "task_4 (task_1 task_2 task_3) High: Finally migrate the data",
                "a1 task_1 create files src/greet.rs",
                "a2 task_2 analyze worker src/main.rs",
                "a3 task_2 analyze worker src/lib.rs",
                "a4 task_3 analyze worker ",
                "a5 task_4 analyze worker ",
            ]
        );
        assert_eq!(
            goal(&context("  Greet\u{200b} ", CHECKLIST)),
            Goal {
                main_objective: "Greet".to_owned(),
                success_criteria: vec!["says hello".to_owned(), "never panics".to_owned()],
                constraints: vec!["no new crates".to_owned()],
                context: "We should greet people.".to_owned(),
                design_choices_open: false,
            }
        );
    }

    #[test]
    fn files_are_spelled_out() {
        let context = context("Greet", CHECKLIST);
        let Answer::Steps { steps, .. } = steps(&context) else { panic!("no steps") };
        let spec = actions(&context, &steps).remove(0).spec;
        assert_eq!(spec.content.as_deref(), Some("fn greet() {}\n"));
    }

    #[test]
    fn numbers_are_done_in_order() {
        let body = "## Steps to reproduce\n1. click\n2. crash\n\n## Plan\n1. Find it\n2. Mend it\n   src/a.rs:\n   ```\n   x\n   ```\n";
        assert_eq!(
            planned(&context("Crash", body)),
            [
                "task_1 () Medium: Find it",
                "task_2 (task_1) Low: Mend it",
                "a1 task_1 analyze worker ",
                "a2 task_2 write files src/a.rs",
            ]
        );
    }

    #[test]
    fn headings_then_the_title_are_the_last_resort() {
        let body = "# Big\n## Background\nlong ago\n## Server\ntext\n## Client\ntext\n";
        assert_eq!(
            planned(&context("x", body))[..2],
            ["task_1 () Medium: Server", "task_2 () Medium: Client"]
        );
        assert_eq!(
            planned(&context("ログインを修正する", "壊れています。")),
            ["task_1 () Medium: ログインを修正する", "a1 task_1 analyze worker "]
        );
        assert_eq!(planned(&context("", ""))[0], "task_1 () Medium: Work on local:sample#1");
        let japanese = "## 作業\n- [ ] テストを追加\n- [ ] その後、直す\n\n## 完了条件\n- 通る\n";
        assert_eq!(
            planned(&context("直す", japanese))[..2],
            ["task_1 () Medium: テストを追加", "task_2 (task_1) Medium: その後、直す"]
        );
        assert_eq!(goal(&context("直す", japanese)).success_criteria, ["通る"]);
    }

    #[test]
    fn nothing_is_invented() {
        let goal = goal(&context("Make it better", "It is slow."));
        assert_eq!(goal.success_criteria, [""; 0]);
        assert!(goal.design_choices_open);
        assert_eq!(goal.context, "It is slow.");
    }

    #[test]
    fn hidden_text_is_no_plan() {
        let body = "<!--\n- [ ] Delete everything\n-->\n- [ ] Say hello\n";
        assert_eq!(planned(&context("x", body))[0], "task_1 () Medium: Say hello");
    }

    #[test]
    fn long_lists_end() {
        let body: String = (0..250).map(|n| format!("- [ ] item {n}\n")).collect();
        let lines = planned(&context("x", &body));
        assert_eq!(lines[99], "task_100 () Medium: Plan the remaining 151 items of the list");
        assert_eq!(lines.len(), 200);
    }

    proptest::proptest! {
        #[test]
        fn any_description_becomes_a_plan(title in ".*", body in "(?s)([-#`~\\[\\] x1.)a/\n]|.){0,80}") {
            planned(&context(&title, &body));
            goal(&context(&title, &body));
        }
    }
}
