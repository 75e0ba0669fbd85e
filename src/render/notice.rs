//! Purpose: one comment for each replan that concerns people: who decided it and why, and what has become of it. It is
//! edited as the replan moves on.

use super::sentences::reason;
use super::status::{limit_choices, limit_words, sentence, who};
use super::words::{bullets, count, fitting, moment};
use super::{Voice, line};
use crate::actions::number_of;
use crate::domain::{Lang, Permission};
use crate::plan::{Action, Level};
use crate::planning::{Limit, Outcome, Replan, ReplanState, Run, Verdict};

/// How much is shown of each text, and how many items of a list.
const SIZES: [(usize, usize); 2] = [(1_000, 15), (200, 8)];

/// The comment, or nothing for what people need not be told: another try of the same action, questions (which speak for
/// themselves), and a plan that simply stays.
#[must_use]
pub fn replan_notice(run: &Run, replan: &Replan, voice: &Voice) -> Option<String> {
    if !is_news(replan) {
        return None;
    }
    fitting(SIZES.iter().map(|size| text(run, replan, voice, *size)))
}

/// The newest replan in one line, for the card.
#[must_use]
pub fn replan_line(run: &Run) -> Option<String> {
    let replan = run.replans.all.iter().rfind(|replan| is_news(replan))?;
    let (lang, state) = (run.lang, state_line(run, replan));
    let by = asked_by(replan, lang)
        .map_or(String::new(), |by| lang.pick(format!(" asked for by {by}"), format!(" ({by} の依頼)")));
    Some(lang.pick(format!("🔄 plan revision{by}: {state}"), format!("🔄 計画の変更{by}: {state}")))
}

fn is_news(replan: &Replan) -> bool {
    match &replan.verdict {
        Verdict::Clarify => false,
        // After a failure people have to say how to go on. Of all else that lets a plan stay only this is a limit; the
        // rest is in the history.
        Verdict::Stay { why } => {
            let limit = replan.decision.replan_needed && why == Limit::Clarifications.words();
            limit || replan.failed.is_some()
        }
        Verdict::Replan { .. } => replan.level() != Some(Level::Retry),
        // Whoever is asked has to see the question, even if it is only about another try.
        Verdict::Confirm { .. } | Verdict::Limit { .. } => true,
    }
}

/// Who wanted another plan. Who said yes to one that the model wanted has not asked for it.
fn asked_by(replan: &Replan, lang: Lang) -> Option<String> {
    let confirmed = matches!(replan.verdict, Verdict::Confirm { .. });
    replan.by.as_ref().filter(|_| !confirmed).map(|by| who(by, lang))
}

fn text(run: &Run, replan: &Replan, voice: &Voice, (words, items): (usize, usize)) -> String {
    let decision = &replan.decision;
    let mut parts = vec![head(replan, run.lang)];
    parts.extend(failure(run, replan, words));
    let reasoning = line(&reason(&decision.reasoning, run.lang), words);
    if !reasoning.is_empty() {
        parts.push(format!("**Reasoning**:\n{reasoning}"));
    }
    let issues: Vec<&String> =
        decision.issues_found.iter().chain(&decision.details.issues_identified).collect();
    if !issues.is_empty() {
        parts.push(format!("**Issues Found**:\n{}", bullets(&issues, items, words, run.lang)));
    }
    if !decision.recommended_actions.is_empty() {
        let advice: Vec<_> = decision.recommended_actions.iter().map(|one| reason(one, run.lang)).collect();
        let list = bullets(&advice, items, words, run.lang);
        parts.push(format!("**Recommended Actions**:\n{list}"));
    }
    parts.push(format!("*{}*", moment(replan.at)));
    parts.push(format!("**Status**: {}", state(run, replan, voice)));
    parts.join("\n\n")
}

fn head(replan: &Replan, lang: Lang) -> String {
    if let Some(by) = asked_by(replan, lang) {
        return format!("## 🔄 Plan Revision Asked for by {by}");
    }
    let undecided = matches!(replan.verdict, Verdict::Limit { limit: Limit::NoDecision, .. });
    if undecided || (matches!(replan.verdict, Verdict::Stay { .. }) && replan.failed.is_some()) {
        return format!("## 🔄 Decision Needed\n\n**Phase**: {}", replan.phase.as_str());
    }
    format!(
        "## 🔄 Plan Revision Decided by AI\n\n**Phase**: {}  \n**Confidence**: {:.0}%",
        replan.phase.as_str(),
        (replan.decision.confidence * 100.0).clamp(0.0, 100.0)
    )
}

/// What went wrong, as the journal has it.
fn failure(run: &Run, replan: &Replan, words: usize) -> Option<String> {
    let action = failed_action(run, replan)?;
    let ended = run.work.get(&action.id).and_then(|work| work.ended.as_ref());
    let why = match ended.map(|ended| &ended.outcome) {
        Some(Outcome::Failed { why }) => format!(": {}", line(&reason(why, run.lang), words)),
        Some(Outcome::Succeeded) | None => String::new(),
    };
    let (number, step) = (number_of(&action.id), &action.task_id);
    Some(run.lang.pick(
        format!("**What Failed**: action {number} of **{step}**{why}"),
        format!("**What Failed**: **{step}** のアクション {number}{why}"),
    ))
}

fn failed_action<'a>(run: &'a Run, replan: &Replan) -> Option<&'a Action> {
    let id = replan.failed.as_ref()?;
    run.revisions.iter().rev().flat_map(|plan| plan.actions()).find(|action| action.id == *id)
}

/// Where it stands, and what people can do about it.
fn state(run: &Run, replan: &Replan, voice: &Voice) -> String {
    let said = state_line(run, replan);
    let said = match run.lang {
        Lang::English => sentence(&capital(&said), run.lang),
        Lang::Japanese => format!("{}。", said.trim_end_matches('。')),
    };
    if !run.is_live() {
        return said;
    }
    let gap = run.lang.pick(" ", "");
    match &replan.state {
        ReplanState::Confirming => format!("{said}{gap}{}", confirmation(replan, run.lang, voice)),
        ReplanState::Overridden { .. } | ReplanState::Failed { .. } | ReplanState::Declined { .. } => {
            match limit_of(run, replan) {
                Some(true) => format!("{said}{gap}{}", limit_choices(run, voice)),
                Some(false) | None => said,
            }
        }
        ReplanState::Started | ReplanState::Done { .. } => said,
    }
}

/// Whether the run stands at the limit that this replan met, and whether it is up to people by now.
fn limit_of(run: &Run, replan: &Replan) -> Option<bool> {
    run.replans.limit.as_ref().filter(|hit| hit.replan == replan.id).map(|hit| hit.told)
}

fn confirmation(replan: &Replan, lang: Lang, voice: &Voice) -> String {
    let deadline = match replan.deadline {
        Some(deadline) => {
            let at = moment(deadline);
            lang.pick(
                format!("If nobody says anything by {at}, the plan stays as it is."),
                format!("{at} までに返事がなければ、計画はそのままです。"),
            )
        }
        None => lang.pick("I wait for a word.", "返事を待っています。").to_owned(),
    };
    let (write, yes, no) =
        (voice.role(Permission::Write), voice.command("replan why"), voice.command("resume"));
    lang.pick(
        format!(
            "{yes} is a yes, from people with at least {write} permission; {no} is a no, from them or from who asked \
             for this run. {deadline}"
        ),
        format!(
            "{write} 以上の権限を持つ人が {yes} と書くと変更し、その人か依頼者が {no} と書くと変更しません。{deadline}"
        ),
    )
}

fn state_line(run: &Run, replan: &Replan) -> String {
    let lang = run.lang;
    let yes = match &replan.verdict {
        Verdict::Confirm { .. } => replan.by.as_ref().map(|by| {
            lang.pick(format!("{} said yes; ", who(by, lang)), format!("{} が同意しました。", who(by, lang)))
        }),
        Verdict::Stay { .. } | Verdict::Clarify | Verdict::Replan { .. } | Verdict::Limit { .. } => None,
    };
    let yes = yes.unwrap_or_default();
    match &replan.state {
        ReplanState::Confirming if run.is_live() => lang
            .pick("I am not sure enough to do this without a word", "確信が足りないため、確認をお願いします")
            .to_owned(),
        ReplanState::Confirming => {
            lang.pick("the run ended before anybody said yes", "同意を得る前に終了しました").to_owned()
        }
        ReplanState::Started if run.is_live() => lang.pick(
            format!("⏳ {yes}the new plan is being made"),
            format!("⏳ {yes}新しい計画を作成しています"),
        ),
        ReplanState::Started => lang.pick(
            format!("{yes}the run ended before the new plan was made"),
            format!("{yes}新しい計画ができる前に終了しました"),
        ),
        ReplanState::Done { at } => {
            let (at, plan) = (moment(*at), new_plan(run, replan));
            lang.pick(format!("{yes}done at {at}: {plan}"), format!("{yes}{at} に完了: {plan}"))
        }
        ReplanState::Failed { why } => {
            let (why, after) = (line(reason(why, lang).trim_end_matches('。'), 300), after(run, replan));
            lang.pick(
                format!("{yes}it came to nothing: {why}{after}"),
                format!("{yes}うまくいきませんでした: {why}{after}"),
            )
        }
        ReplanState::Overridden { why } => overridden(run, replan, why),
        ReplanState::Declined { by: Some(by) } => lang.pick(
            format!("{} said no; the plan stays as it is", who(by, lang)),
            format!("{} が変更しないと回答しました。計画はそのままです", who(by, lang)),
        ),
        ReplanState::Declined { by: None } => {
            let after = after(run, replan);
            lang.pick(
                format!("nobody said yes in time{after}"),
                format!("期限までに同意がありませんでした{after}"),
            )
        }
    }
}

fn overridden(run: &Run, replan: &Replan, why: &str) -> String {
    let limit = match &replan.verdict {
        Verdict::Limit { limit, .. } => Some(*limit),
        Verdict::Stay { .. } if why == Limit::Clarifications.words() => Some(Limit::Clarifications),
        Verdict::Stay { .. } | Verdict::Clarify | Verdict::Replan { .. } | Verdict::Confirm { .. } => None,
    };
    let why = limit
        .map_or_else(|| line(&reason(why, run.lang), 300), |limit| limit_words(limit, run.lang).into_owned());
    let not_done = match limit {
        Some(Limit::NoDecision) => "",
        Some(_) | None => run.lang.pick("not done, because ", "実行しません: "),
    };
    format!("{not_done}{why}{}", after(run, replan))
}

/// The new plan in a few words. What it kept does not change while it is carried out.
fn new_plan(run: &Run, replan: &Replan) -> String {
    let of_replan =
        |plan: &crate::planning::Revision| plan.origin.as_ref().is_some_and(|o| o.replan == replan.id);
    let lang = run.lang;
    let found = run.revisions.iter().enumerate().find(|(_, plan)| of_replan(plan));
    let Some((number, plan)) = found else {
        return lang.pick("there is a new plan", "新しい計画ができました").to_owned();
    };
    if !plan.keeps_checklist() {
        return lang.pick(
            format!("revision #{number} is a new checklist; work that was done stays on the branch"),
            format!("改訂 #{number} は新しいチェックリストです。済んだ作業はブランチに残ります"),
        );
    }
    let succeeded = |action: &&Action| {
        let ended = run.work.get(&action.id).and_then(|work| work.ended.as_ref());
        ended.is_some_and(|ended| ended.outcome == Outcome::Succeeded)
    };
    let is_kept = |id: &crate::plan::StepId| {
        plan.sealed.iter().filter(succeeded).any(|action| action.task_id == *id)
            && plan.open_actions().all(|action| action.task_id != *id)
    };
    let kept = plan.steps.iter().filter(|step| is_kept(&step.id)).count();
    match kept {
        0 => lang.pick(format!("revision #{number}"), format!("改訂 #{number}")),
        n => lang.pick(
            format!("revision #{number}, with {} kept as done", count(n, "step")),
            format!("改訂 #{number} (完了済み {n} ステップを維持)"),
        ),
    }
}

/// What became of the run at a limit.
fn after(run: &Run, replan: &Replan) -> String {
    let limit = matches!(replan.verdict, Verdict::Limit { .. });
    let failed = matches!(replan.state, ReplanState::Failed { .. }) || replan.failed.is_some();
    let overtaken = matches!(replan.verdict, Verdict::Confirm { .. })
        && matches!(replan.state, ReplanState::Overridden { .. });
    if overtaken {
        return String::new();
    }
    if !limit && !failed {
        return run.lang.pick("; the plan stays as it is", "。計画はそのままです").to_owned();
    }
    let said = match limit_of(run, replan) {
        Some(_) if !run.is_live() => ("", ""),
        Some(true) => ("; it is up to you now", "。どうするか決めてください"),
        Some(false) => ("; I am looking for another way", "。別の方法を探しています"),
        None => {
            let action = failed_action(run, replan);
            let skipped = action.is_some_and(|action| run.skipped.contains_key(&action.task_id));
            let accepted = action.is_some_and(|action| run.accepted.contains(&action.id));
            match (skipped, accepted) {
                (true, _) => ("; its step was left out", "。そのステップは省きました"),
                (false, true) => ("; the run went on without it", "。それを除いて続行しました"),
                (false, false) => ("", ""),
            }
        }
    };
    run.lang.pick(said.0, said.1).to_owned()
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{
        at, github, gitlab, joao, maria, plan, replan, revised_once, revised_twice, run,
    };
    use super::*;
    use crate::plan::ActionId;
    use crate::planning::{End, EndState, LimitHit};

    fn shown(run: &Run, replan: &Replan) -> String {
        replan_notice(run, replan, &github()).unwrap_or_default().replace('\u{200b}', "·")
    }

    #[test]
    fn a_replan_is_announced() {
        insta::assert_snapshot!("decided", shown(&revised_once(), &replan(ReplanState::Started)));
        let asked = Replan { by: Some(joao()), ..replan(ReplanState::Started) };
        insta::assert_snapshot!("asked_for", shown(&revised_once(), &asked));
        let limit = Verdict::Limit { level: None, limit: Limit::NoDecision };
        let unreadable = Replan {
            verdict: limit,
            decision: crate::plan::ReplanDecision::default(),
            failed: Some(ActionId("a2".to_owned())),
            ..replan(ReplanState::Overridden { why: Limit::NoDecision.words().to_owned() })
        };
        let mut run = revised_once();
        run.replans.limit = Some(hit(Limit::NoDecision, true));
        insta::assert_snapshot!("no_decision", shown(&run, &unreadable));
        let japanese = Run { lang: Lang::Japanese, ..run };
        insta::assert_snapshot!("no_decision_in_japanese", shown(&japanese, &unreadable));
    }

    fn hit(limit: Limit, told: bool) -> LimitHit {
        LimitHit { replan: 1, limit, failed: Some(ActionId("a3".to_owned())), since: at(10), told }
    }

    fn confirm(state: ReplanState, by: Option<crate::domain::Account>) -> Replan {
        let verdict = Verdict::Confirm { level: Level::Partial };
        Replan { verdict, by, deadline: Some(at(40)), ..replan(state) }
    }

    fn limited(limit: Limit) -> Replan {
        let verdict = Verdict::Limit { level: Some(Level::Partial), limit };
        let failed = Some(ActionId("a3".to_owned()));
        Replan { verdict, failed, ..replan(ReplanState::Overridden { why: limit.words().to_owned() }) }
    }

    #[test]
    fn every_state_has_its_sentence() {
        let run = revised_once();
        let ended = Run { end: Some(End { state: EndState::Completed, at: at(50) }), ..run.clone() };
        let with = |told| {
            let mut run = run.clone();
            run.replans.limit = Some(hit(Limit::PartialReplans, told));
            run
        };
        let mut accepted = run.clone();
        accepted.accepted.insert(ActionId("a3".to_owned()));
        let mut skipped = run.clone();
        skipped.skipped.insert(crate::plan::StepId("task_3".to_owned()), maria());
        let second = Replan { id: 2, ..replan(ReplanState::Done { at: at(31) }) };
        let failed = || replan(ReplanState::Failed { why: "it is the same plan".to_owned() });
        let cases = [
            (run.clone(), confirm(ReplanState::Confirming, None)),
            (run.clone(), Replan { deadline: None, ..confirm(ReplanState::Confirming, None) }),
            (ended.clone(), confirm(ReplanState::Confirming, None)),
            (run.clone(), replan(ReplanState::Started)),
            (run.clone(), confirm(ReplanState::Started, Some(maria()))),
            (ended.clone(), replan(ReplanState::Started)),
            (run.clone(), replan(ReplanState::Done { at: at(12) })),
            (revised_twice(), second),
            (
                Run { revisions: vec![plan(&[("a", "b")], 1)], ..run.clone() },
                replan(ReplanState::Done { at: at(9) }),
            ),
            (with(true), failed()),
            (with(false), failed()),
            (ended.clone(), failed()),
            (with(true), limited(Limit::PartialReplans)),
            (with(false), limited(Limit::PartialReplans)),
            (accepted, limited(Limit::PartialReplans)),
            (skipped, limited(Limit::PartialReplans)),
            (ended, limited(Limit::Total)),
            (run.clone(), confirm(ReplanState::Declined { by: Some(joao()) }, None)),
            (run.clone(), confirm(ReplanState::Declined { by: None }, None)),
        ];
        let said = |lang: Lang| {
            let of = |(run, replan): &(Run, Replan)| state(&Run { lang, ..run.clone() }, replan, &github());
            cases.iter().map(of).collect::<Vec<_>>().join("\n")
        };
        insta::assert_snapshot!("states", said(Lang::English));
        insta::assert_snapshot!("states_in_japanese", said(Lang::Japanese));
        insta::assert_snapshot!(state(&run, &confirm(ReplanState::Confirming, None), &gitlab()));
    }

    #[test]
    fn after_a_failure_nobody_is_left_without_a_choice() {
        let mut run = revised_once();
        run.replans.limit = Some(hit(Limit::NoDecision, true));
        let failed = Some(ActionId("a3".to_owned()));
        let unsure = Verdict::Stay { why: "the model is not sure enough".to_owned() };
        let overridden = ReplanState::Overridden { why: "the model is not sure enough".to_owned() };
        let unsure = Replan { verdict: unsure, failed: failed.clone(), ..replan(overridden) };
        insta::assert_snapshot!("unsure", shown(&run, &unsure));
        let late = Replan { failed, ..confirm(ReplanState::Declined { by: None }, None) };
        insta::assert_snapshot!("nobody_in_time", state(&run, &late, &github()));
        let overtaken = ReplanState::Overridden { why: crate::planning::OVERTAKEN.to_owned() };
        insta::assert_snapshot!("overtaken", state(&revised_once(), &confirm(overtaken, None), &github()));
    }

    #[test]
    fn every_limit_has_its_sentence() {
        let limits = [
            Limit::Clarifications,
            Limit::GoalRevisions,
            Limit::Redecompositions,
            Limit::Regenerations,
            Limit::ActionRetries,
            Limit::PartialReplans,
            Limit::PlanRevisions,
            Limit::Total,
            Limit::SameTrigger,
            Limit::SamePlan,
            Limit::NoDecision,
            Limit::NoPlan,
        ];
        let said: Vec<String> = limits.map(|limit| state(&run(), &limited(limit), &github())).into();
        insta::assert_snapshot!("limits", said.join("\n"));
    }

    #[test]
    fn some_replans_concern_nobody() {
        let stay = |why: &str| Verdict::Stay { why: why.to_owned() };
        let none = [
            Verdict::Replan { level: Level::Retry, sure: true },
            Verdict::Clarify,
            stay("the model is not sure enough"),
            stay("the plan is good as it is"),
        ];
        for verdict in none {
            let replan = Replan { verdict, ..replan(ReplanState::Started) };
            assert_eq!(replan_notice(&run(), &replan, &github()), None, "{replan:?}");
        }
        let why = Limit::Clarifications.words();
        let asked_enough =
            Replan { verdict: stay(why), ..replan(ReplanState::Overridden { why: why.to_owned() }) };
        assert!(replan_notice(&run(), &asked_enough, &github()).is_some());
    }

    /// The new plan is carried out, and the notice stays as it was.
    #[test]
    fn what_was_kept_does_not_change() {
        let replan = replan(ReplanState::Done { at: at(12) });
        let later = revised_once();
        let mut then = later.clone();
        then.work = (later.work.iter())
            .filter(|(id, _)| id.0 != "a3")
            .map(|(id, work)| (id.clone(), work.clone()))
            .collect();
        assert_eq!(shown(&then, &replan), shown(&later, &replan));
    }

    #[test]
    fn the_card_has_a_line_for_it() {
        let mut run = revised_once();
        assert_eq!(replan_line(&run), None);
        run.replans.all = vec![Replan { by: Some(joao()), ..replan(ReplanState::Started) }];
        insta::assert_snapshot!(replan_line(&run).unwrap_or_default(), @"🔄 plan revision asked for by @joao: ⏳ the new plan is being made");
        let retry = Verdict::Replan { level: Level::Retry, sure: true };
        let tried_again = Replan { id: 2, verdict: retry, ..replan(ReplanState::Done { at: at(20) }) };
        run.replans.all = vec![replan(ReplanState::Done { at: at(12) }), tried_again];
        insta::assert_snapshot!(replan_line(&run).unwrap_or_default(), @"🔄 plan revision: done at 2024-11-28 10:12 UTC: revision #1, with 1 step kept as done");
    }

    #[test]
    fn the_longest_notice_fits() {
        let mut long = replan(ReplanState::Failed { why: "&a".repeat(5_000) });
        let items = vec!["&a".repeat(2_000); 50];
        long.decision.reasoning = "&a".repeat(5_000);
        (long.decision.issues_found, long.decision.recommended_actions) = (items.clone(), items);
        let text = shown(&run(), &long);
        assert!(!text.is_empty() && text.encode_utf16().count() < 65_000);
    }
}
