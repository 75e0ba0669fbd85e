//! Purpose: where a run stands, in one line.

use super::words::{count, moment};
use super::{Voice, line};
use crate::actions::number_of;
use crate::domain::{Account, AccountKind};
use crate::planning::{
    Design, EndState, Hold, Limit, Phase, Reached, Replan, Request, Resource, Revision, Round, Run,
    StepState, StopReason,
};

const REASON_CAP: usize = 500;

pub(super) fn status(run: &Run, voice: &Voice) -> String {
    if let Some(end) = &run.end {
        return ended(run, &end.state, voice);
    }
    match run.hold() {
        Some(Hold::Paused(pause)) => {
            format!("⏸ paused by {} · {} goes on from here", who(&pause.by), voice.command("resume"))
        }
        Some(Hold::Retry(retry)) => {
            format!("⏳ {} I will try again by myself.", sentence(&line(&retry.reason, REASON_CAP)))
        }
        Some(Hold::Approval(request)) => waiting(request, voice),
        Some(Hold::Budget(reached)) => out_of_budget(reached, voice),
        Some(Hold::Unclear(action)) => format!(
            "⏸ action {} was interrupted, and I cannot know what became of it. {} does it once more, \
             {} leaves its step out.",
            number_of(action),
            voice.command("resume"),
            voice.command("skip task_n")
        ),
        Some(Hold::Answers(round)) => answers(run, round),
        Some(Hold::Decisions(design)) => decisions(design, voice),
        Some(Hold::Review(_)) => format!(
            "🧭 waiting for a review of the design · {} accepts it, {} goes back to it",
            voice.command("approve"),
            voice.command("reject why")
        ),
        Some(Hold::Confirm(replan)) => confirm(replan, voice),
        Some(Hold::Limit(hit)) => format!("⏸ {}. {}", stuck(hit.limit), limit_choices(run, voice)),
        None => at_work(run),
    }
}

fn answers(run: &Run, round: &Round) -> String {
    let all = round.questions.len();
    let settled = all - run.talk.unanswered(round).len();
    let until = match round.deadline {
        Some(deadline) if round.assumes => {
            format!(" · until {}, then I go on with assumptions", moment(deadline))
        }
        Some(_) | None => String::new(),
    };
    format!("❓ waiting for answers: {settled} of {} answered{until}", count(all, "question"))
}

fn decisions(design: &Design, voice: &Voice) -> String {
    let open = design.open_decisions();
    let all = design.decisions.len();
    let example = open.first().map_or("d-1", |decision| decision.id.as_str());
    format!(
        "🧭 waiting for decisions: {} of {all} made · tick a box, or {}",
        all - open.len(),
        voice.command(&format!("choose {example} opt-b because …"))
    )
}

fn confirm(replan: &Replan, voice: &Voice) -> String {
    let until = replan.deadline.map_or(String::new(), |deadline| {
        format!(" · without a word by {} it stays as it is", moment(deadline))
    });
    format!(
        "🔄 waiting for a word on changing the plan · {} is a yes, {} a no{until}",
        voice.command("replan why"),
        voice.command("resume")
    )
}

fn stuck(limit: Limit) -> String {
    match limit {
        Limit::NoDecision => limit.words().to_owned(),
        Limit::Clarifications
        | Limit::GoalRevisions
        | Limit::Redecompositions
        | Limit::Regenerations
        | Limit::ActionRetries
        | Limit::PartialReplans
        | Limit::PlanRevisions
        | Limit::Total
        | Limit::SameTrigger
        | Limit::SamePlan => format!("I would change the plan, but {}", limit.words()),
    }
}

/// What people can do where the bot may not replan any more.
pub(super) fn limit_choices(run: &Run, voice: &Voice) -> String {
    let failed = run.replans.limit.as_ref().and_then(|hit| hit.failed.as_ref());
    let action = failed.and_then(|id| run.plan()?.actions().find(|action| action.id == *id));
    let skip = action.map_or(String::new(), |action| {
        format!(" {} leaves the step out,", voice.command(&format!("skip {}", action.task_id)))
    });
    format!(
        "{} has me plan once more,{skip} {} goes on with the plan as it is, {} ends the run.",
        voice.command("replan why"),
        voice.command("resume"),
        voice.command("cancel")
    )
}

fn waiting(request: &Request, voice: &Voice) -> String {
    format!(
        "waiting for approval of {} · `{}` · {} or {}",
        actions(request.wanted.len()),
        short(&request.digest),
        voice.command("approve"),
        voice.command("reject why")
    )
}

pub(super) fn actions(count: usize) -> String {
    if count == 1 { "1 action".to_owned() } else { format!("{count} actions") }
}

fn at_work(run: &Run) -> String {
    if let Some(hit) = &run.replans.limit {
        return format!("⏳ looking for another way, because {}", hit.limit.words());
    }
    if !run.talk.unread.is_empty() {
        return "⏳ reading the answers".to_owned();
    }
    match (run.phase(), run.plan()) {
        (Phase::Decompose, _) if run.talk.rethink => "⏳ thinking about the goal again".to_owned(),
        (Phase::Decompose, _) if is_designing(run) => "⏳ working out the design".to_owned(),
        (Phase::Understand, _) => "⏳ working out the goal".to_owned(),
        (Phase::Decompose, _) => "⏳ breaking the work into steps".to_owned(),
        (Phase::Sequence, _) => "⏳ choosing the actions for each step".to_owned(),
        (Phase::Approve, _) => "⏳ looking at what the actions would change".to_owned(),
        (Phase::Deliver, _) => "⏳ handing the work over".to_owned(),
        (Phase::Execute, plan) => {
            let place = plan.map_or(String::new(), |plan| at_step(run, plan));
            format!("executing{place}{}", plan.map_or(String::new(), approved_by))
        }
    }
}

/// Between the goal and the steps, as long as the design is not accepted.
fn is_designing(run: &Run) -> bool {
    let talk = &run.talk;
    let wanted = run.goal.as_ref().is_some_and(|goal| goal.design_choices_open)
        || talk.discovery.is_some()
        || talk.design.is_some()
        || !talk.rejections.is_empty();
    wanted && talk.design.as_ref().is_none_or(|design| design.approved.is_none())
}

fn at_step(run: &Run, plan: &Revision) -> String {
    let open = plan
        .steps
        .iter()
        .position(|step| matches!(run.step_state(plan, &step.id), StepState::AtWork | StepState::Waiting));
    open.map_or(String::new(), |at| format!(" step {} of {}", at + 1, plan.steps.len()))
}

fn approved_by(plan: &Revision) -> String {
    let mut people: Vec<String> = vec![];
    for by in plan.approvals.iter().filter_map(|approval| approval.by.as_ref()) {
        let name = who(by);
        if !people.contains(&name) {
            people.push(name);
        }
    }
    match plan.requests.last() {
        Some(request) if !people.is_empty() => {
            format!(" · approved by {} (`{}`)", people.join(", "), short(&request.digest))
        }
        Some(_) | None => " · nothing in it needs approval here".to_owned(),
    }
}

fn out_of_budget(reached: Reached, voice: &Voice) -> String {
    let what = match reached.resource {
        Resource::MicroUsd => format!("{} USD", usd(reached.limit)),
        Resource::Tokens => format!("{} tokens", reached.limit),
        Resource::ModelCalls => format!("{} model calls", reached.limit),
        Resource::Minutes => format!("{} minutes of work", reached.limit),
        Resource::Files => format!("{} changed files", reached.limit),
        Resource::Bytes => format!("{} written bytes", reached.limit),
    };
    format!("⏸ the budget of {what} is used up. {} raises it and goes on.", voice.command("budget +N"))
}

fn ended(run: &Run, state: &EndState, voice: &Voice) -> String {
    let again = format!("Assign me again or comment {} to start anew.", voice.command("plan"));
    match state {
        EndState::Completed => completed(run),
        EndState::Cancelled { by } => format!("cancelled by {}. {again}", who(by)),
        EndState::Stopped { by, why: StopReason::Unassigned } => {
            format!("stopped: {} took me off this. {again}", who(by))
        }
        EndState::Stopped { by, why: StopReason::Unlabelled } => {
            format!("stopped: {} removed my label. Put it on again to start anew.", who(by))
        }
        EndState::Stopped { by, why: StopReason::Closed } => format!("stopped: {} closed this.", who(by)),
        EndState::Failed { reason } if run.work.is_empty() => {
            format!("😕 failed. {} {again}", sentence(&line(reason, REASON_CAP)))
        }
        EndState::Failed { reason } => format!(
            "😕 failed. {} {} starts a run with the steps that are not done.",
            sentence(&line(reason, REASON_CAP)),
            voice.command("retry")
        ),
    }
}

fn completed(run: &Run) -> String {
    match run.delivery.as_ref() {
        Some(delivery) => match (&delivery.change, &delivery.url) {
            (Some(_), Some(url)) => format!("🚀 done: {url}"),
            (Some(thread), None) => format!("🚀 done: see `{thread}`"),
            (None, _) => format!("🚀 done, on the branch `{}`", delivery.branch),
        },
        None => kept_here(run),
    }
}

/// Nothing was handed over: there is nothing, or the settings want it so.
fn kept_here(run: &Run) -> String {
    let place = run.plan().and_then(|plan| plan.place.as_ref());
    match (run.commits().count, place) {
        (commits @ 1.., Some(place)) => format!(
            "🚀 done. The settings have me hand nothing over: the work stays in my checkout, {} on `{}`",
            count(commits, "commit"),
            place.branch
        ),
        (_, _) => "🚀 done; there was nothing to hand over".to_owned(),
    }
}

/// Nobody is called who was not there: the forge does not always say who it was.
pub(super) fn who(account: &Account) -> String {
    match account.kind {
        AccountKind::Person | AccountKind::Bot => format!("@{}", account.login),
        AccountKind::Ghost => "somebody".to_owned(),
    }
}

pub(super) fn short(digest: &str) -> &str {
    digest.get(..6).unwrap_or(digest)
}

pub(super) fn sentence(text: &str) -> String {
    if text.ends_with(['.', '!', '?', '…']) { text.to_owned() } else { format!("{text}.") }
}

pub(super) fn usd(micro: u64) -> String {
    format!("{}.{:02}", micro / 1_000_000, micro % 1_000_000 / 10_000)
}

pub(super) fn cost(run: &Run) -> String {
    format!("{}{}", main_cost(run), also_limited(run))
}

/// What else of the run is limited, once it has used some of it.
fn also_limited(run: &Run) -> String {
    let (budget, spent) = (&run.budget, &run.spent);
    let priced = spent.cost_micro_usd.is_some_and(|cost| cost > 0);
    let all = [
        (budget.model_calls.filter(|_| priced), u64::from(spent.model_calls), "model calls"),
        (budget.tokens, spent.input_tokens + spent.output_tokens, "tokens"),
        (budget.minutes, spent.active_ms / 60_000, "minutes"),
        (budget.files, spent.files, "files"),
        (budget.bytes.map(|bytes| bytes / 1_000), spent.bytes.div_ceil(1_000), "KB"),
    ];
    let used = all.into_iter().filter(|(_, used, _)| *used > 0);
    used.filter_map(|(limit, used, what)| Some(format!(" · {used} of {} {what}", limit?))).collect()
}

fn main_cost(run: &Run) -> String {
    let of = run.budget.micro_usd.map_or(String::new(), |limit| format!(" of {}", usd(limit)));
    match (run.spent.model_calls, run.spent.cost_micro_usd) {
        (0, _) | (_, Some(0)) => String::new(),
        (_, Some(micro)) if micro < 10_000 => format!(" · under 0.01{of} USD"),
        (_, Some(micro)) => format!(" · {}{of} USD", usd(micro)),
        (1, None) => " · 1 model call".to_owned(),
        (calls, None) => match run.budget.model_calls {
            Some(limit) => format!(" · {calls} of {limit} model calls"),
            None => format!(" · {calls} model calls"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{
        action, at, decided_design, design, github, gitlab, given, plan, replan, revised_once, round, run,
    };
    use super::*;
    use crate::domain::{CommentId, Permission};
    use crate::plan::{ActionId, Level, QuestionId};
    use crate::planning::{LimitHit, Limits, ReplanState, Spent, Verdict, Words};

    fn asking(round: Round) -> Run {
        let mut run = run();
        run.talk.answers = [(QuestionId("q-1".to_owned()), given(Some("All")))].into();
        run.talk.rounds = vec![round];
        run
    }

    fn designing(design: Option<Design>) -> Run {
        let mut run = run();
        run.talk.discovery = Some(vec![]);
        run.talk.design = design;
        run
    }

    fn confirming(deadline: Option<crate::domain::Millis>) -> Run {
        let mut run = revised_once();
        let verdict = Verdict::Confirm { level: Level::Partial };
        run.replans.all = vec![Replan { verdict, deadline, ..replan(ReplanState::Confirming) }];
        run
    }

    fn at_limit(failed: Option<u32>, told: bool) -> Run {
        let mut run = revised_once();
        let failed = failed.map(|number| ActionId(format!("a{number}")));
        run.replans.limit = Some(LimitHit { replan: 1, limit: Limit::Total, failed, since: at(5), told });
        run
    }

    #[test]
    fn every_hold_has_its_sentence() {
        let posted = Round { deadline: Some(at(30)), ..round() };
        let mut half = design();
        half.choices = decided_design().choices;
        half.choices.remove("d-2");
        let summary = Some("So it is.".to_owned());
        let mut undecided = at_limit(Some(3), true);
        undecided.replans.limit.iter_mut().for_each(|hit| hit.limit = Limit::NoDecision);
        let runs = [
            asking(posted.clone()),
            asking(Round { assumes: false, ..posted }),
            asking(round()),
            designing(Some(half)),
            designing(Some(Design { summary, ..decided_design() })),
            confirming(Some(at(30))),
            confirming(None),
            at_limit(Some(3), true),
            at_limit(None, true),
            undecided,
        ];
        let said = |voice: &Voice| runs.iter().map(|run| status(run, voice)).collect::<Vec<_>>().join("\n");
        insta::assert_snapshot!("holds", format!("{}\n\n{}", said(&github()), said(&gitlab())));
    }

    #[test]
    fn what_it_works_on_is_said() {
        let mut open = run();
        open.goal.iter_mut().for_each(|goal| goal.design_choices_open = true);
        let mut rethinking = asking(Round { closed: true, ..round() });
        rethinking.talk.rethink = true;
        let mut reading = asking(round());
        let by = crate::domain::Account::person(2, "maria");
        reading.talk.unread =
            vec![Words { by: by.clone(), permission: Permission::Write, comment: CommentId(1) }];
        let accepted = Design { summary: Some("x".to_owned()), approved: Some(by), ..decided_design() };
        let mut partial = revised_once();
        partial.revisions.iter_mut().for_each(|plan| plan.sequence = None);
        partial.revisions.iter_mut().for_each(|plan| plan.sealed = vec![action(1, "task_1")]);
        let runs = [
            run(),
            open,
            designing(None),
            designing(Some(decided_design())),
            designing(Some(accepted)),
            rethinking,
            reading,
            at_limit(Some(3), false),
            partial,
            Run { revisions: vec![plan(&[("task_1", "Read")], 1)], ..run() },
        ];
        let said: Vec<String> = runs.iter().map(|run| status(run, &github())).collect();
        insta::assert_snapshot!("at_work", said.join("\n"));
    }

    /// Whatever is limited is shown with how much of it is used.
    #[test]
    fn all_that_is_limited_is_shown() {
        let limits = Limits {
            micro_usd: Some(2_000_000),
            tokens: Some(50_000),
            model_calls: Some(200),
            minutes: Some(120),
            files: Some(30),
            bytes: Some(5_000_000),
        };
        let spent = Spent {
            model_calls: 7,
            input_tokens: 900,
            output_tokens: 100,
            cost_micro_usd: Some(250_000),
            active_ms: 180_000,
            files: 3,
            bytes: 1_001,
        };
        let said = |budget: &Limits, spent: &Spent| {
            cost(&Run { budget: budget.clone(), spent: spent.clone(), ..run() })
        };
        let unpriced = Spent { cost_micro_usd: None, ..spent.clone() };
        assert_eq!(
            said(&limits, &spent),
            " · 0.25 of 2.00 USD · 7 of 200 model calls · 1000 of 50000 tokens · 3 of 120 minutes · 3 of 30 files · 2 of 5000 KB"
        );
        assert_eq!(
            said(&limits, &unpriced),
            " · 7 of 200 model calls · 1000 of 50000 tokens · 3 of 120 minutes · 3 of 30 files · 2 of 5000 KB"
        );
        assert_eq!(said(&Limits::default(), &spent), " · 0.25 USD");
        assert_eq!(said(&Limits::default(), &unpriced), " · 7 model calls");
        assert_eq!(said(&limits, &Spent::default()), "", "what is not used is not shown");
    }
}
