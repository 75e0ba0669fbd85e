//! Purpose: what the card and the change request show of the crew: who works on what, what the judge said, and what people
//! are or were asked. Names are given without calling anybody.

use super::escalation::{in_short, issue, resolve, unmentioned};
use super::sentences::reason;
use super::words::{ended, moment};
use super::{Voice, line};
use crate::crew::{By, Target, Verdict};
use crate::domain::Lang;
use crate::plan::StepId;
use crate::planning::{Escalation, EscalationState, Fallback, Run, Taken};

const MOST: usize = 20;
/// What is settled is shown shorter than the plan.
const SETTLED_CAP: usize = 150;

/// What people are asked while the rest goes on.
pub(super) fn also_asked(run: &Run) -> String {
    let open = run.crew.open().filter(|open| open.target == Target::People);
    let numbers: Vec<String> = open.map(|open| open.number.to_string()).collect();
    match numbers.as_slice() {
        [] => String::new(),
        [one] => {
            run.lang.pick(format!(" · 🙋 question {one} is open"), format!(" · 🙋 質問 {one} が回答待ち"))
        }
        many => {
            let many = many.join(", ");
            run.lang.pick(format!(" · 🙋 questions {many} are open"), format!(" · 🙋 質問 {many} が回答待ち"))
        }
    }
}

/// What holds everything up.
pub(super) fn needs_help(escalation: &Escalation, lang: Lang, voice: &Voice) -> String {
    let number = escalation.number;
    let until = escalation.deadline.map_or(String::new(), |deadline| {
        let at = moment(deadline);
        lang.pick(format!(" · until {at}"), format!(" · {at} まで"))
    });
    let (resolve, unseen) = (resolve(number, lang, voice), unseen(escalation, lang));
    lang.pick(
        format!("🙋 waiting for an answer to question {number}{until}{unseen} · {resolve}"),
        format!("🙋 質問 {number} への回答待ち{until}{unseen} · {resolve}"),
    )
}

/// Who has a step in hand, as far as that is news: one worker that tries for the first time is not.
pub(super) fn worker(run: &Run, step: &StepId, cap: usize) -> String {
    let Some(lane) = run.lanes.get(step) else { return String::new() };
    let mut notes: Vec<String> = vec![];
    if lane.judged.is_some() {
        notes.push(run.lang.pick("being merged".to_owned(), "マージ中".to_owned()));
    } else if run.lanes.len() > 1 {
        notes.push(run.lang.pick(format!("worker {}", lane.worker), format!("ワーカー {}", lane.worker)));
    }
    let nth = run.crew.steps.get(step).map_or(lane.attempt, |taken| taken.nth(lane.attempt));
    if nth > 1 {
        notes.push(run.lang.pick(format!("try {nth}"), format!("{nth} 回目")));
    }
    if lane.stuck {
        notes.push(run.lang.pick("cannot go on".to_owned(), "続行できません".to_owned()));
    }
    if let Some(retry) = &lane.retry {
        let why = line(&reason(&retry.reason, run.lang), cap);
        notes.push(run.lang.pick(format!("will try again: {why}"), format!("自動で再試行します: {why}")));
    }
    notes.iter().map(|note| format!(" · {note}")).collect()
}

/// What came of a step that the judge looked at. Accepted is said only of what is.
pub(super) fn verdict(run: &Run, step: &StepId, accepted: bool) -> String {
    let Some(Taken { judged: Some(weighed), rounds, .. }) = run.crew.steps.get(step) else {
        return String::new();
    };
    let lang = run.lang;
    let looked_at = weighed.by == By::Judge || weighed.overruled.is_some();
    let back = match rounds {
        0 => String::new(),
        1 => lang.pick("sent back once", "差し戻し 1 回").to_owned(),
        2 => lang.pick("sent back twice", "差し戻し 2 回").to_owned(),
        n => lang.pick(format!("sent back {n} times"), format!("差し戻し {n} 回")),
    };
    let now = match (weighed.judgement.verdict, accepted) {
        (Verdict::Done, true) if looked_at && *rounds > 0 => lang.pick("then accepted", "その後合格"),
        (Verdict::Done, true) if looked_at => lang.pick("accepted", "合格"),
        // What can be shown outranks what the judge thinks.
        (Verdict::Continue, false) if weighed.overruled.is_some() => {
            lang.pick("the evidence overruled the judge", "証拠により判定を覆しました")
        }
        (Verdict::Done | Verdict::Continue | Verdict::Replan, _) => "",
    };
    let said: Vec<&str> = [back.as_str(), now].into_iter().filter(|words| !words.is_empty()).collect();
    if said.is_empty() { String::new() } else { format!(" · ⚖ {}", said.join(lang.pick(", ", "、"))) }
}

/// The question that a step waits for, the one about itself first. What is being done is done to its end.
pub(super) fn holding<'a>(run: &'a Run, step: &StepId) -> Option<&'a Escalation> {
    if !run.is_live() || run.current_actions().any(|(action, _)| action.task_id == *step) {
        return None;
    }
    let about = |escalation: &&Escalation| escalation.step.as_ref() == Some(step);
    run.crew.open().find(about).or_else(|| run.crew.open().find(|escalation| escalation.step.is_none()))
}

pub(super) fn held(escalation: &Escalation, lang: Lang) -> String {
    let number = escalation.number;
    match escalation.target {
        Target::People => lang.pick(
            format!("🙋 held until question {number} is answered"),
            format!("🙋 質問 {number} への回答待ち"),
        ),
        Target::Planner | Target::LogicValidator | Target::ExternalAdvisor => {
            let whom = model(escalation.target, lang);
            lang.pick(format!("🙋 held: {whom} is asked"), format!("🙋 {whom}に相談中"))
        }
    }
}

pub(super) fn model(target: Target, lang: Lang) -> &'static str {
    let japanese = match target {
        Target::People => "関係者",
        Target::Planner => "プランナー",
        Target::LogicValidator => "論理検証役",
        Target::ExternalAdvisor => "外部アドバイザー",
    };
    lang.pick(target.words(), japanese)
}

/// What people are asked, for the card.
pub(super) fn open_questions(run: &Run, voice: &Voice) -> Option<String> {
    let open: Vec<&Escalation> = run.crew.open().filter(|open| open.target == Target::People).collect();
    let lines = open.iter().take(MOST).map(|open| open_question(open, run.lang, voice));
    let lines = ended(lines.collect(), open.len().saturating_sub(MOST), run.lang);
    (!lines.is_empty()).then(|| format!("**Open Questions**:\n{}", lines.join("\n")))
}

fn open_question(open: &Escalation, lang: Lang, voice: &Voice) -> String {
    let (number, short) = (open.number, in_short(open.cause, lang));
    let step = match &open.step {
        Some(step) => format!("**{step}**"),
        None => lang.pick("the whole plan", "計画全体").to_owned(),
    };
    let names: Vec<String> = open.asked.iter().map(|login| format!("`{login}`")).collect();
    let asked = if names.is_empty() {
        String::new()
    } else {
        let names = names.join(", ");
        lang.pick(format!(" · asked: {names}"), format!(" · 質問先: {names}"))
    };
    let until = match (open.deadline.map(moment), &open.state) {
        (Some(at), _) => lang.pick(format!(" · until {at}"), format!(" · {at} まで")),
        (None, EscalationState::Expired { .. }) => lang.pick(" · overdue", " · 期限切れ").to_owned(),
        (None, _) => String::new(),
    };
    let (resolve, unseen) = (resolve(number, lang, voice), unseen(open, lang));
    lang.pick(
        format!("- 🙋 **Question {number}** on {step}: {short}{asked}{until}{unseen} · {resolve}"),
        format!("- 🙋 **質問 {number}** ({step}): {short}{asked}{until}{unseen} · {resolve}"),
    )
}

/// Where the forge takes no comment, this is the only place that tells of the question.
fn unseen(open: &Escalation, lang: Lang) -> &'static str {
    match &open.unposted {
        Some(_) => lang.pick(" · this forge does not take its comment", " · コメントを投稿できません"),
        None => "",
    }
}

/// What was asked of whomever and is settled, folded away.
pub(super) fn settled_questions(run: &Run, cap: usize) -> Option<String> {
    let settled: Vec<&Escalation> = run.crew.escalations.iter().filter(|known| !known.is_open()).collect();
    let over = settled.len().saturating_sub(MOST);
    let words = cap.min(SETTLED_CAP);
    let lines = settled.iter().skip(over).map(|known| {
        let about = known.step.as_ref().map_or(String::new(), |step| format!(" {step}:"));
        format!(
            "- **{}**{about} {} → {}",
            known.number,
            issue(known, run.lang, words),
            end(known, run.lang, words)
        )
    });
    let lines = ended(lines.collect(), over, run.lang);
    (!settled.is_empty()).then(|| {
        format!(
            "<details><summary>🙋 Settled questions ({})</summary>\n\n{}\n\n</details>",
            settled.len(),
            lines.join("\n")
        )
    })
}

fn end(settled: &Escalation, lang: Lang, words: usize) -> String {
    let whom = || model(settled.target, lang);
    match &settled.state {
        EscalationState::Resolved { by: Some(by), text } => {
            format!("{}: {}", unmentioned(by, lang), line(text, words))
        }
        EscalationState::Resolved { by: None, .. } if settled.target == Target::Planner => {
            lang.pick(format!("left to {}", whom()), format!("{}に委ねました", whom()))
        }
        EscalationState::Resolved { by: None, text } => format!("{}: {}", whom(), line(text, words)),
        EscalationState::PassedOn { .. } if settled.target == Target::People => {
            lang.pick("another question took its place", "別の質問に引き継ぎました").to_owned()
        }
        EscalationState::PassedOn { .. } => lang
            .pick(format!("{} could not settle it", whom()), format!("{}では解決できませんでした", whom())),
        EscalationState::Expired { fallback: Fallback::SkipStep } => {
            lang.pick("nobody answered in time; left out", "期限までに回答がなく、省きました").to_owned()
        }
        EscalationState::Expired { fallback: Fallback::Hold | Fallback::Stop } | EscalationState::Open => {
            lang.pick("nobody answered in time", "期限までに回答がありませんでした").to_owned()
        }
        EscalationState::Cancelled => {
            lang.pick("no answer needed any more", "回答は不要になりました").to_owned()
        }
    }
}

/// What people answered while it was worked on; the change rests on it.
pub(super) fn answers(run: &Run, words: usize) -> Vec<String> {
    let given = run.crew.escalations.iter().filter_map(|known| match &known.state {
        EscalationState::Resolved { by: Some(by), text } => {
            let about = known.step.as_ref().map_or(String::new(), |step| format!(" {step}:"));
            let (issue, text) = (issue(known, run.lang, words), line(text, words));
            Some(format!("- **{}**{about} {issue} → {text} ({})", known.number, unmentioned(by, run.lang)))
        }
        EscalationState::Resolved { by: None, .. }
        | EscalationState::Open
        | EscalationState::PassedOn { .. }
        | EscalationState::Expired { .. }
        | EscalationState::Cancelled => None,
    });
    let all: Vec<String> = given.collect();
    let more = all.len().saturating_sub(MOST);
    ended(all.into_iter().take(MOST).collect(), more, run.lang)
}
