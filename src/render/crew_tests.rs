//! Purpose: what people read of the crew, word by word: its questions to them, and its traces on card and change request.

use super::fixtures::{
    at, crewed, done, failed, github, gitlab, in_state, joao, judged, lane, maria, retry, stuck, worked,
};
use super::{Voice, card, delivery, escalation, escalation_reminder};
use crate::crew::{By, Cause, Target, Verdict};
use crate::domain::{CommentId, Lang, ThreadRef};
use crate::plan::StepId;
use crate::planning::{End, EndState, Escalation, EscalationState, Fallback, Reminder, Run, StopReason};

fn visible(text: &str) -> String {
    text.replace('\u{200b}', "·")
}

fn told(parts: &[(&str, String)]) -> String {
    visible(&parts.iter().map(|(name, text)| format!("=== {name}\n{text}\n")).collect::<Vec<_>>().join("\n"))
}

fn id(step: &str) -> StepId {
    StepId(step.to_owned())
}

fn said(escalation: &Escalation, voice: &Voice) -> String {
    super::escalation(&crewed(), escalation, Fallback::Hold, voice)
}

fn resolved(text: &str) -> EscalationState {
    EscalationState::Resolved { by: Some(maria()), text: text.to_owned() }
}

fn whole(cause: Cause) -> Escalation {
    Escalation { step: None, suggestion: None, ..stuck(cause) }
}

#[test]
fn people_are_asked() {
    insta::assert_snapshot!("asked_on_github", visible(&said(&stuck(Cause::Scope), &github())));
    insta::assert_snapshot!("asked_on_gitlab", visible(&said(&stuck(Cause::Scope), &gitlab())));
    let run = Run { lang: Lang::Japanese, ..crewed() };
    let japanese = escalation(&run, &stuck(Cause::Scope), Fallback::SkipStep, &github());
    insta::assert_snapshot!("asked_in_japanese", visible(&japanese));
}

#[test]
fn every_cause_has_its_question() {
    let asked = |lang: Lang| {
        let run = Run { lang, ..crewed() };
        let each = Cause::ALL.map(|cause| {
            let about = if cause == Cause::ThreeStepsInARow { whole(cause) } else { stuck(cause) };
            let text = escalation(&run, &about, Fallback::Hold, &github());
            let lines =
                text.lines().filter(|line| ["##", "@", "**My"].iter().any(|mark| line.starts_with(mark)));
            lines.collect::<Vec<_>>().join("\n")
        });
        each.join("\n\n")
    };
    insta::assert_snapshot!("causes", format!("{}\n\n{}", asked(Lang::English), asked(Lang::Japanese)));
}

#[test]
fn what_happens_without_an_answer_is_said_before() {
    let asked = |lang: Lang| {
        let run = Run { lang, ..crewed() };
        let mut all = vec![];
        for about in [stuck(Cause::Scope), whole(Cause::ThreeStepsInARow)] {
            for fallback in [Fallback::Hold, Fallback::SkipStep, Fallback::Stop] {
                let text = escalation(&run, &about, fallback, &github());
                let from = text.find("**If no").unwrap_or_default();
                all.push(text[from..].lines().take(2).collect::<Vec<_>>().join("\n"));
            }
        }
        all.join("\n")
    };
    insta::assert_snapshot!("fallbacks", format!("{}\n\n{}", asked(Lang::English), asked(Lang::Japanese)));
}

#[test]
fn the_plan_as_a_whole_is_asked_about() {
    let about = whole(Cause::ThreeStepsInARow);
    insta::assert_snapshot!("whole_plan", visible(&escalation(&crewed(), &about, Fallback::Stop, &gitlab())));
}

#[test]
fn nobody_is_mentioned_who_is_not_known() {
    let nobody = Escalation { asked: vec![], ..stuck(Cause::Technical) };
    let text = said(&nobody, &github());
    assert!(!text.contains('@'), "{text}");
    insta::assert_snapshot!("nobody_to_mention", visible(&text));
}

#[test]
fn how_it_ended_is_shown_in_the_same_comment() {
    let shown = |lang: Lang| {
        let run = Run { lang, ..crewed() };
        let mut skipped = run.clone();
        skipped.skipped.insert(id("task_2"), joao());
        let ended = End { state: EndState::Stopped { by: maria(), why: StopReason::Closed }, at: at(60) };
        let ended = Run { end: Some(ended), ..run.clone() };
        let expired = |fallback| in_state(EscalationState::Expired { fallback });
        let of = |run: &Run, known: &Escalation, voice: &Voice| escalation(run, known, Fallback::Hold, voice);
        told(&[
            ("answered", of(&run, &in_state(resolved("Yes, but only the session")), &github())),
            (
                "answered, about the plan",
                of(&run, &Escalation { step: None, ..in_state(resolved("Ask @joao!")) }, &github()),
            ),
            ("time is over, it waits on", of(&run, &expired(Fallback::Hold), &github())),
            ("time is over, left out", of(&run, &expired(Fallback::SkipStep), &github())),
            ("time is over, the run stops", of(&run, &expired(Fallback::Stop), &gitlab())),
            ("skipped", of(&skipped, &in_state(EscalationState::Cancelled), &github())),
            ("the run ended", of(&ended, &in_state(EscalationState::Cancelled), &github())),
            ("settled otherwise", of(&run, &in_state(EscalationState::Cancelled), &github())),
            ("passed on", of(&run, &in_state(EscalationState::PassedOn { why: String::new() }), &github())),
        ])
    };
    insta::assert_snapshot!("ends", shown(Lang::English));
    insta::assert_snapshot!("ends_in_japanese", shown(Lang::Japanese));
}

/// Nothing builds on the last step; of some nothing is known, and nobody to ask.
#[test]
fn less_is_said_where_less_is_known() {
    let shown = |lang: Lang| {
        let run = Run { lang, ..crewed() };
        let last = Escalation { step: Some(id("task_5")), ..stuck(Cause::Scope) };
        let unknown = Escalation { asked: vec![], issue: String::new(), ..whole(Cause::ThreeStepsInARow) };
        let mut changed = run.clone();
        let anew = super::fixtures::plan(&[("task_2", "Another way")], 9);
        let origin = super::fixtures::origin(1, crate::plan::Level::Decomposition, 30);
        changed.revisions.push(crate::planning::Revision { origin, ..anew });
        let of = |run: &Run, known: &Escalation| escalation(run, known, Fallback::Hold, &github());
        let mut many = held();
        many.lang = lang;
        many.crew.escalations.push(Escalation { number: 3, step: Some(id("task_5")), ..stuck(Cause::Scope) });
        many.lanes = [(id("task_3"), lane(1, 1))].into();
        told(&[
            ("nothing builds on it", of(&run, &last)),
            ("nothing is known", of(&run, &unknown)),
            ("the plan has changed", of(&changed, &in_state(EscalationState::Cancelled))),
            ("two are open", super::status::status(&many, &github())),
        ])
    };
    insta::assert_snapshot!("less", shown(Lang::English));
    insta::assert_snapshot!("less_in_japanese", shown(Lang::Japanese));
}

/// Forges tell people of a mention that an edit adds.
#[test]
fn an_edit_calls_nobody() {
    let cancelled = EscalationState::Cancelled;
    let expired = EscalationState::Expired { fallback: Fallback::Stop };
    for state in [resolved("fine by @eve"), cancelled, expired] {
        let text = said(&in_state(state), &github());
        assert!(!visible(&text).replace("@·", "").contains('@'), "{text}");
    }
    let waits = said(&in_state(EscalationState::Expired { fallback: Fallback::Hold }), &github());
    assert_eq!(waits.matches('@').count(), 2, "the two that were called before: {waits}");
}

#[test]
fn people_are_reminded_once() {
    let shown = |lang: Lang, voice: &Voice| {
        let run = Run { lang, ..crewed() };
        let late = in_state(EscalationState::Expired { fallback: Fallback::Hold });
        let nobody = Escalation { asked: vec![], ..stuck(Cause::Scope) };
        told(&[
            ("reminder", escalation_reminder(&run, &stuck(Cause::Scope), voice)),
            ("reminder, nobody known", escalation_reminder(&run, &nobody, voice)),
            ("reminder, too late", escalation_reminder(&run, &late, voice)),
            ("reminder, settled", escalation_reminder(&run, &in_state(resolved("Yes")), voice)),
        ])
    };
    insta::assert_snapshot!("reminders_on_github", shown(Lang::English, &github()));
    insta::assert_snapshot!("reminders_on_gitlab", shown(Lang::English, &gitlab()));
    insta::assert_snapshot!("reminders_in_japanese", shown(Lang::Japanese, &github()));
}

/// A line that is shown calls nobody, closes nothing, is no command and hides nothing.
#[test]
fn hostile_words_stay_words() {
    let text = "ask @everyone, fixes #1\n/approve\n- [x] done\n</details><!-- planwright:card/r-1 --> `@eve`";
    let hostile = Escalation {
        issue: text.to_owned(),
        tried: vec![text.to_owned(), "\n\n# Question 3".to_owned()],
        suggestion: Some(text.to_owned()),
        ..stuck(Cause::Ambiguity)
    };
    insta::assert_snapshot!("hostile", visible(&said(&hostile, &github())));
    let settled = Escalation { state: resolved(text), ..hostile };
    insta::assert_snapshot!("hostile_and_settled", visible(&said(&settled, &github())));
}

#[test]
fn the_longest_question_fits() {
    for letter in ["x", "目", "😀", "<", "@", "&a", "[", "\\", "`", "e\u{301}"] {
        let text = letter.repeat(20_000);
        for state in [EscalationState::Open, resolved(&text)] {
            let about = Escalation {
                issue: text.clone(),
                tried: vec![text.clone(); 500],
                suggestion: Some(text.clone()),
                state,
                ..stuck(Cause::Technical)
            };
            let shown = said(&about, &github());
            assert!(shown.encode_utf16().count() < 65_000, "{letter}");
            assert!(shown.contains("**What the worker suggests**"), "{letter}: {}", shown.len());
            assert!(escalation_reminder(&crewed(), &about, &github()).len() < 5_000);
        }
    }
    let long = Escalation {
        issue: "word ".repeat(400),
        tried: vec!["try ".repeat(30); 14],
        ..stuck(Cause::Technical)
    };
    insta::assert_snapshot!("very_long", visible(&said(&long, &github())));
}

fn shown(run: &Run) -> String {
    visible(&card(run, &github()).unwrap_or_default())
}

fn three_workers() -> Run {
    let mut run = crewed();
    run.lanes = [("task_2", lane(1, 1)), ("task_3", lane(2, 2)), ("task_4", lane(3, 3))]
        .map(|(step, lane)| (id(step), lane))
        .into();
    let retry = retry("The model is away.");
    run.lanes.entry(id("task_4")).and_modify(|lane| lane.retry = Some(retry));
    let mut overruled = judged(Verdict::Continue, 1);
    overruled.judged.iter_mut().for_each(|weighed| {
        (weighed.by, weighed.overruled) = (By::Evidence, Some("exit code 1".to_owned()));
    });
    run.crew.steps = [
        ("task_1", judged(Verdict::Done, 2)),
        ("task_3", judged(Verdict::Continue, 1)),
        ("task_4", overruled),
    ]
    .map(|(step, taken)| (id(step), taken))
    .into();
    run
}

pub(super) fn held() -> Run {
    let mut run = worked(crewed(), &[(1, done(2, "a1b2c3d4e5")), (2, failed(4, "no session"))]);
    run.crew.steps =
        [(id("task_1"), judged(Verdict::Done, 0)), (id("task_2"), judged(Verdict::Continue, 1))].into();
    let planner = Escalation {
        number: 1,
        target: Target::Planner,
        asked: vec![],
        issue: "`task_1` failed three times".to_owned(),
        step: Some(id("task_1")),
        state: EscalationState::Resolved { by: None, text: "the planner decides".to_owned() },
        ..stuck(Cause::ThreeFailures)
    };
    run.crew.escalations = vec![planner, stuck(Cause::Scope)];
    run
}

#[test]
fn the_tries_of_an_earlier_checklist_are_not_counted() {
    let line = |run: &Run| {
        let card = shown(run);
        card.lines().find(|line| line.contains("**task_3**")).unwrap_or_default().to_owned()
    };
    let mut run = three_workers();
    assert!(line(&run).contains("try 2"), "{}", line(&run));
    run.crew.steps.entry(id("task_3")).or_default().earlier = 1;
    assert!(!line(&run).contains("try"), "{}", line(&run));
}

#[test]
fn the_card_shows_the_crew() {
    let cards = |lang: Lang| {
        let of = |run: Run| shown(&Run { lang, ..run });
        let mut one = three_workers();
        one.lanes.retain(|step, _| step.0 == "task_3");
        let mut alone = held();
        alone.crew.escalations[1].target = Target::LogicValidator;
        let mut all = held();
        all.crew.escalations[1] = whole(Cause::ThreeStepsInARow);
        all.crew.escalations[1].asked.clear();
        let mut late = held();
        late.crew.escalations[1] = in_state(EscalationState::Expired { fallback: Fallback::Hold });
        let mut busy = held();
        busy.lanes = [(id("task_5"), lane(1, 1))].into();
        told(&[
            ("three workers", of(three_workers())),
            ("one worker, sent back", of(one)),
            ("held by a question", of(held())),
            ("others go on", of(busy)),
            ("held by a model", of(alone)),
            ("the whole plan is held", of(all)),
            ("nobody answered", of(late)),
        ])
    };
    insta::assert_snapshot!("cards", cards(Lang::English));
    insta::assert_snapshot!("cards_in_japanese", cards(Lang::Japanese));
}

#[test]
fn settled_questions_are_folded() {
    let cards = |lang: Lang| {
        let mut run = Run { lang, ..held() };
        let models = [
            (Target::LogicValidator, EscalationState::PassedOn { why: String::new() }),
            (
                Target::ExternalAdvisor,
                EscalationState::Resolved { by: None, text: "Use the session".to_owned() },
            ),
        ];
        let people = [
            resolved("Yes, ask @joao"),
            EscalationState::Expired { fallback: Fallback::SkipStep },
            EscalationState::Expired { fallback: Fallback::Stop },
            EscalationState::Cancelled,
        ];
        run.crew.escalations.truncate(1);
        let all = models.into_iter().chain(people.map(|state| (Target::People, state)));
        run.crew.escalations.extend(all.zip(2..).map(|((target, state), number)| Escalation {
            number,
            target,
            ..in_state(state)
        }));
        let card = shown(&run);
        let from = card.find("<details><summary>🙋").unwrap_or_default();
        card[from..].to_owned()
    };
    insta::assert_snapshot!("settled", format!("{}\n\n{}", cards(Lang::English), cards(Lang::Japanese)));
}

/// Accepted work alone is ticked, whatever the judge has said before it was taken over.
#[test]
fn nothing_is_done_before_it_is_accepted() {
    let mut run = crewed();
    run.crew.steps = [(id("task_1"), judged(Verdict::Done, 0))].into();
    assert!(shown(&run).contains("- [x] **task_1**: Read the code — `a1b2c3d` · ⚖ accepted\n"));
    run.lanes = [(id("task_1"), lane(1, 1))].into();
    assert!(shown(&run).contains("- [ ] **task_1**: Read the code ⏳\n"), "{}", shown(&run));
    assert!(!shown(&run).contains("accepted"));
}

#[test]
fn the_longest_card_of_a_crew_fits() {
    for letter in ["x", "目", "😀", "<", "@", "&a", "[", "\\", "`"] {
        let text = letter.repeat(5_000);
        let names: Vec<String> = (1..=100).map(|n| format!("task_{n:_>35}")).collect();
        let steps: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), text.as_str())).collect();
        let mut run = Run { revisions: vec![super::fixtures::plan(&steps, 1)], ..crewed() };
        let retry = retry(&text);
        for name in &names {
            let mut lane = lane(1, 9);
            lane.retry = Some(retry.clone());
            run.lanes.insert(id(name), lane);
            run.crew.steps.insert(id(name), judged(Verdict::Continue, 9));
        }
        let question = |number: u32| {
            let state = if number.is_multiple_of(2) { EscalationState::Open } else { resolved(&text) };
            let asked = vec![text.chars().take(39).collect(); 3];
            Escalation { number, issue: text.clone(), asked, ..in_state(state) }
        };
        run.crew.escalations = (1..=200).map(question).collect();
        let card = card(&run, &github()).unwrap_or_default();
        assert!(card.encode_utf16().count() < 65_000, "{letter}");
        assert_eq!(card.lines().filter(|line| line.starts_with("- [ ]")).count(), 100, "{letter}");
    }
}

#[test]
fn what_people_answered_is_handed_over() {
    let mut run = held();
    run.crew.escalations[1].state = resolved("Yes, but ask @joao first");
    let thread: ThreadRef = "github:acme/web#12".parse().expect("a thread");
    let plan = run.plan().cloned().unwrap_or_default();
    insta::assert_snapshot!("answers_handed_over", visible(&delivery(&run, &plan, &thread, &github()).1));
}

/// It is edited when it is settled, and not for each thing that happens meanwhile.
#[test]
fn an_open_question_always_reads_the_same() {
    let mut later = held();
    later.lanes = [(id("task_5"), lane(1, 1))].into();
    let (comment, reminder) = (Some(CommentId(5)), Some(Reminder::Posted(CommentId(6))));
    let posted = Escalation { comment, reminder, remind_at: None, ..stuck(Cause::Scope) };
    let other = super::fixtures::plan(&[("task_2", "Something else")], 9);
    let origin = super::fixtures::origin(1, crate::plan::Level::Decomposition, 20);
    later.revisions.push(crate::planning::Revision { origin, ..other });
    let text = escalation(&later, &posted, Fallback::Hold, &github());
    assert_eq!(text, said(&stuck(Cause::Scope), &github()));
}
