//! Purpose: short answers to comments: one small function per sentence.

use super::checklist::done;
use super::status::status;
use super::{Voice, line};
use crate::actions::number_of;
use crate::domain::{Command, ForgeKind, Permission};
use crate::planning::{LeftOut, Notice, Owed, Record, Round, Run};

/// The comment that is owed, or nothing where a reaction says it.
#[must_use]
pub fn reply(owed: &Owed, record: &Record, voice: &Voice) -> Option<String> {
    match owed {
        // 😕 on the comment is enough; a text for every refused word would be a lever for noise.
        Owed::Refusal { comment: Some(_), .. } => None,
        Owed::Refusal { to, what, needs, .. } => Some(format!(
            "@{to}, to {what} here I need you to have at least **{}** permission on this repository, so I did not.",
            voice.role(*needs)
        )),
        Owed::Reply { to, notice, .. } => Some(answer(to, notice, record, voice)),
    }
}

fn answer(to: &str, notice: &Notice, record: &Record, voice: &Voice) -> String {
    match notice {
        Notice::HelpAsked => help(voice),
        Notice::UnknownVerb { word } => unknown(word, voice),
        Notice::StatusAsked => status_of(record.run.as_deref(), voice),
        Notice::PlanningIsOff => planning_is_off(to),
        Notice::RepoFileBroken { why } => repo_file_broken(to, why),
        Notice::TooManyRuns => format!(
            "@{to}, there were many runs on this thread within the hour, so I did not start another. Please try again later."
        ),
        Notice::AlreadyRunning => already_running(record.run.as_deref(), voice),
        Notice::NothingRunning { verb } => nothing_running(verb, voice),
        Notice::AlreadyPaused => format!("I am paused already; {} goes on.", voice.command("resume")),
        Notice::NotPaused => "I am not paused, so there is nothing to resume.".to_owned(),
        Notice::NothingToAnswer { verb } => nothing_to_answer(verb, record.run.as_deref(), voice),
        Notice::BadApproval { why } => bad_approval(to, why, voice),
        Notice::LeftOutOfApproval { left_out } => left_out_of_approval(left_out),
        Notice::CannotSkip { step, why } => format!("I cannot skip `{}`: {why}.", line(step, 40)),
        Notice::BadBudget { words } => {
            format!("“{}” is no amount; write it like {}.", line(words, 40), voice.command("budget +1.50"))
        }
        Notice::NothingToRetry => {
            format!("There is nothing to retry here. {} starts a new run.", voice.command("plan"))
        }
        Notice::AnswerUnclear { round } => answer_unclear(to, round_of(record, *round), voice),
        Notice::AnswersDiffer { question, counts } => answers_differ(question, counts),
        Notice::StillWaiting { round } => still_waiting(to, record, *round, voice),
        Notice::NoSuchChoice { words, known } => no_such_choice(words, known),
        Notice::TwoOptions { decision } => two_options(to, decision, voice),
        Notice::AskedAltered { .. } => asked_altered(to),
        Notice::NotYet { command } => not_yet(command),
    }
}

fn help(voice: &Voice) -> String {
    let rows: Vec<String> = HELP
        .iter()
        .map(|(words, who, does)| format!("| {} | {} | {does} |", voice.command(words), who_may(who, voice)))
        .collect();
    let other = match voice.forge {
        ForgeKind::Gitlab => String::new(),
        ForgeKind::Github | ForgeKind::Local => {
            format!("\n\n`@{} verb` works as well as `/verb`.", voice.handle())
        }
    };
    format!("| write | who may | what I do |\n|---|---|---|\n{}{other}", rows.join("\n"))
}

enum Who {
    Has(Permission),
    /// Who asked for the run may as well.
    HasOrAsked(Permission),
}

fn who_may(who: &Who, voice: &Voice) -> String {
    match who {
        Who::Has(permission) => voice.role(*permission).to_owned(),
        Who::HasOrAsked(permission) => format!("{}, or who asked", voice.role(*permission)),
    }
}

/// What this version carries out. The other verbs are understood and answered with a sentence.
const HELP: &[(&str, Who, &str)] = &[
    ("plan", Who::Has(Permission::Triage), "start to plan on this thread, as assigning me does"),
    ("status", Who::Has(Permission::Read), "say where I am"),
    ("pause", Who::HasOrAsked(Permission::Write), "stop before the next thing I would do"),
    (
        "resume",
        Who::HasOrAsked(Permission::Write),
        "go on exactly there; also the no when I ask whether to change the plan",
    ),
    ("cancel", Who::HasOrAsked(Permission::Write), "end the run; what is done stays on its branch"),
    (
        "approve",
        Who::Has(Permission::Write),
        "let me do what I put up; `approve 1-3,5`, `except 4`, `task_2` a part of it; in review, accept the design",
    ),
    (
        "reject why",
        Who::Has(Permission::Write),
        "send me back to choose again; in review, back to the design",
    ),
    ("skip q-2", Who::HasOrAsked(Permission::Triage), "leave a question unanswered"),
    (
        "choose d-1 opt-b because …",
        Who::HasOrAsked(Permission::Triage),
        "decide between the options of a design",
    ),
    (
        "replan why",
        Who::Has(Permission::Write),
        "make a new plan for that reason; also the yes when I ask whether to change it",
    ),
    ("skip task_4", Who::Has(Permission::Write), "leave a step out"),
    ("budget +N", Who::Has(Permission::Write), "raise what the run may use"),
    ("retry", Who::Has(Permission::Write), "start a run with the steps that the last one did not finish"),
    ("help", Who::Has(Permission::Read), "show this table"),
];

fn unknown(word: &str, voice: &Voice) -> String {
    let what = if word.is_empty() {
        "I was called, but not told what to do.".to_owned()
    } else {
        format!("I do not know what “{}” means.", line(word, 40))
    };
    format!("{what} This is what I understand:\n\n{}", help(voice))
}

fn status_of(run: Option<&Run>, voice: &Voice) -> String {
    match run {
        None => format!("There has been no run on this thread. {} starts one.", voice.command("plan")),
        Some(run) => {
            let steps = run.revisions.last().map_or(String::new(), |revision| {
                format!(" The plan has {} steps, {} of them done.", revision.steps.len(), done(run, revision))
            });
            format!(
                "**Status**: {}.{steps}\n\n<sub>run `{}`</sub>",
                status(run, voice).trim_end_matches('.'),
                run.id
            )
        }
    }
}

fn planning_is_off(to: &str) -> String {
    format!(
        "@{to}, planning is switched off for this repository: whoever runs me can switch it on with \
         `planning: {{ enabled: true }}` in a rule under `repos:` in `config.yaml`, unless the repository's own \
         `.planwright.yaml` says no."
    )
}

fn repo_file_broken(to: &str, why: &str) -> String {
    format!(
        "@{to}, I did not start: this repository's `.planwright.yaml` cannot be understood ({}). Please correct it on \
         the default branch and ask me again.",
        line(why, 300)
    )
}

fn already_running(run: Option<&Run>, voice: &Voice) -> String {
    let status = run.map_or(String::new(), |run| format!(" ({})", status(run, voice).trim_end_matches('.')));
    format!("I am at work on this thread already{status}. {} ends that run.", voice.command("cancel"))
}

fn nothing_running(verb: &str, voice: &Voice) -> String {
    format!(
        "There is nothing to {verb}: no run is under way on this thread. {} starts one.",
        voice.command("plan")
    )
}

fn nothing_to_answer(verb: &str, run: Option<&Run>, voice: &Voice) -> String {
    let status =
        run.map_or(String::new(), |run| format!(" I am here: {}.", status(run, voice).trim_end_matches('.')));
    format!("There is nothing to {verb} at the moment, so I did nothing.{status}")
}

fn bad_approval(to: &str, why: &str, voice: &Voice) -> String {
    format!(
        "@{to}, I took that for nothing: {}. Write {} for all of it, or the numbers of the preview, like {}.",
        line(why, 300),
        voice.command("approve"),
        voice.command("approve 1-3,5")
    )
}

fn left_out_of_approval(left_out: &[LeftOut]) -> String {
    const SHOWN: usize = 30;
    let mut lines: Vec<String> = left_out
        .iter()
        .take(SHOWN)
        .map(|out| format!("- action {}: {}", number_of(&out.id), line(&out.why, 200)))
        .collect();
    if left_out.len() > SHOWN {
        lines.push(format!("- and {} more", left_out.len() - SHOWN));
    }
    format!("I go on without:\n{}", lines.join("\n"))
}

fn round_of(record: &Record, number: u32) -> Option<&Round> {
    record.run.as_ref()?.talk.rounds.iter().find(|round| round.number == number)
}

fn answer_unclear(to: &str, round: Option<&Round>, voice: &Voice) -> String {
    let first = round.and_then(|round| round.questions.first()).map_or("q-1", |question| &question.id.0);
    format!(
        "@{to}, I could not tell which of my questions that answers. Please put the number of the question first, like \
         `1. …`. {} leaves one out.",
        voice.command(&format!("skip {first}"))
    )
}

fn answers_differ(question: &str, counts: &str) -> String {
    format!(
        "There are different answers to `{}`. I take “{}”: the word of who has the higher permission counts, then the \
         later one.",
        line(question, 40),
        line(counts, 300)
    )
}

fn asked_altered(to: &str) -> String {
    format!(
        "@{to}, the words of what I asked were changed, so I cannot tell what its boxes stand for. I have put it back as it \
         was: please tick there, or answer in a comment."
    )
}

fn still_waiting(to: &str, record: &Record, number: u32, voice: &Voice) -> String {
    let run = record.run.as_ref();
    let open = run
        .zip(round_of(record, number))
        .map_or(vec![], |(run, round)| run.talk.unanswered(round).iter().map(|q| q.id.to_string()).collect());
    let skip = open.first().map_or("skip q-1".to_owned(), |id| format!("skip {id}"));
    let which = if open.is_empty() { String::new() } else { format!(" ({})", listed(&open)) };
    format!(
        "@{to}, I am still waiting for answers to my questions{which}, and do nothing until then. {} leaves a question \
         out, {} ends the run.",
        voice.command(&skip),
        voice.command("cancel")
    )
}

fn no_such_choice(words: &str, known: &[String]) -> String {
    if known.is_empty() {
        return format!("I did not put up “{}”, so I did nothing.", line(words, 60));
    }
    format!("I did not put up “{}”, so I did nothing. There are {}.", line(words, 60), listed(known))
}

fn two_options(to: &str, decision: &str, voice: &Voice) -> String {
    let id = line(decision, 40);
    format!(
        "@{to}, more than one option of `{id}` is ticked, so I took none. Please leave one box ticked, or write {}.",
        voice.command(&format!("choose {id} opt-b because …"))
    )
}

fn listed(ids: &[String]) -> String {
    const SHOWN: usize = 20;
    let shown: Vec<String> = ids.iter().take(SHOWN).map(|id| format!("`{}`", line(id, 40))).collect();
    let more = if ids.len() > SHOWN { " and others" } else { "" };
    format!("{}{more}", shown.join(", "))
}

fn not_yet(command: &Command) -> String {
    format!(
        "I understood `{}`, but this version of Planwright cannot do that yet. Nothing was changed.",
        command.verb()
    )
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{github, gitlab, given, round, run};
    use super::*;
    use crate::plan::QuestionId;

    fn record() -> Record {
        let mut run = run();
        run.talk.rounds = vec![round()];
        run.talk.answers = [(QuestionId("q-1".to_owned()), given(Some("All")))].into();
        let mut record = Record::default();
        record.run = Some(run.into());
        record
    }

    #[test]
    fn every_notice_about_the_conversation_has_its_sentence() {
        let known = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
        let notices = [
            Notice::AnswerUnclear { round: 1 },
            Notice::AnswersDiffer { question: "q-1".to_owned(), counts: "All, @joao".to_owned() },
            Notice::StillWaiting { round: 1 },
            Notice::StillWaiting { round: 9 },
            Notice::NoSuchChoice { words: "d-9 opt-a".to_owned(), known: known(&["d-1 opt-a", "d-1 opt-b"]) },
            Notice::NoSuchChoice { words: "q-9".to_owned(), known: vec![] },
            Notice::TwoOptions { decision: "d-1".to_owned() },
            Notice::AskedAltered { comment: crate::domain::CommentId(7) },
        ];
        let said = |voice: &Voice| {
            let said = notices.iter().map(|notice| answer("maria", notice, &record(), voice));
            said.collect::<Vec<_>>().join("\n").replace('\u{200b}', "·")
        };
        insta::assert_snapshot!("conversation", format!("{}\n\n{}", said(&github()), said(&gitlab())));
    }

    #[test]
    fn the_help_names_who_may_what() {
        insta::assert_snapshot!("help", help(&gitlab()));
    }
}
