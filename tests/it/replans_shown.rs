//! Purpose: whether people can see why a run does nothing, and what they can do about it.

use planwright::domain::ForgeKind;
use planwright::plan::ReplanType;
use planwright::planning::{EndState, Fallback, Hold, Policy, Run};
use planwright::render::{self, Voice};

use crate::replans::{Play, sure};
use crate::replans_people::{until, whim};

/// To try again takes no word, unless the model is not sure: then people have to see that they are asked.
#[test]
fn an_unsure_wish_to_try_again_is_put_to_people() {
    let said = sure(0.4, ReplanType::Retry);
    let whims = [whim(said, true)];
    let mut play = Play::new(&whims, Policy::default());
    until(&mut play, |run| matches!(run.hold(), Some(Hold::Confirm(_))));
    assert_eq!(missing(play.run()), None);
}

/// What should be on the thread of this run and is not.
pub(crate) fn missing(run: &Run) -> Option<String> {
    let voice = Voice { forge: ForgeKind::Github, bot_login: "planwright".to_owned() };
    let card = render::card(run, &voice);
    let Some(hold) = run.hold().filter(|_| run.is_live()) else { return ended_unseen(run, card) };
    let card = match card {
        Some(card) => card,
        None => return Some("there is no card".to_owned()),
    };
    let (text, words) = asked(run, &hold, &voice, card)?;
    let absent: Vec<&String> = words.iter().filter(|words| !text.contains(*words)).collect();
    (!absent.is_empty()).then(|| format!("{absent:?} is missing in: {text}"))
}

/// Who stops a run that has brought forth nothing yet knows it already.
fn ended_unseen(run: &Run, card: Option<String>) -> Option<String> {
    let told = match run.end.as_ref().map(|end| &end.state)? {
        EndState::Completed | EndState::Cancelled { .. } | EndState::Failed { .. } => card.is_some(),
        EndState::Stopped { .. } => card.is_some() || run.goal.is_none(),
    };
    (!told).then(|| "the end is told in no card".to_owned())
}

/// The comment that a hold is told in, and what it has to say.
fn asked(run: &Run, hold: &Hold<'_>, voice: &Voice, card: String) -> Option<(String, Vec<String>)> {
    let notice = |id: u32, words: &[&str]| {
        let replan = run.replans.all.iter().find(|replan| replan.id == id);
        let text = replan.and_then(|replan| render::replan_notice(run, replan, voice));
        let words = words.iter().map(|words| voice.command(words)).collect();
        (text.unwrap_or_else(|| format!("nothing is told of replan {id}: {replan:?}")), words)
    };
    Some(match hold {
        Hold::Paused(pause) => {
            (card, vec![format!("paused by @{}", pause.by.login), voice.command("resume")])
        }
        Hold::Retry(retry) => (card, vec![retry.reason.clone(), "I will try again by myself.".to_owned()]),
        Hold::Unclear(_) => (card, vec!["was interrupted".to_owned(), voice.command("resume")]),
        Hold::Budget(_) => (card, vec!["is used up".to_owned(), voice.command("budget +N")]),
        Hold::Answers(round) => {
            let open = run.talk.unanswered(round);
            let words = open.iter().map(|question| question.question.clone()).collect();
            (render::questions(run, round, voice), words)
        }
        Hold::Decisions(design) => {
            let words = design.open_decisions().iter().map(|open| open.topic.clone()).collect();
            (render::decisions(run, design, voice), words)
        }
        Hold::Review(design) => {
            let words = [design.summary.clone().unwrap_or_default(), voice.command("approve")];
            (render::review(run, design, voice), words.to_vec())
        }
        Hold::Confirm(replan) => notice(replan.id, &["replan why", "resume"]),
        Hold::Limit(hit) => notice(hit.replan, &["replan why", "resume", "cancel"]),
        Hold::Approval(request) => {
            let preview = render::preview(run, run.plan()?, request, voice, &str::to_owned);
            let text = preview.parts.join("\n\n");
            (text, vec![voice.command("approve")])
        }
        Hold::Escalation(open) => {
            (render::escalation(run, open, Fallback::Hold, voice), vec![open.issue.clone()])
        }
    })
}
