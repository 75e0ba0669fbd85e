//! Purpose: a fact of the journal as one plain sentence: who did what, and what came of it.

use std::collections::BTreeMap;

use super::phrases::{
    action, actions, amount, clip, clip_to, commit, digest, evidence, list, notice, plural, preview_posted,
    trigger, unconfirmed,
};
use super::{explain_crew, explain_talk};
use crate::actions::{Issue, Spec, number_of};
use crate::domain::{Account, Permission};
use crate::plan::{Action, ActionId, Call, Goal, Step};
use crate::planning::{
    AskProblem, Counts, Evidence, Fact, LeftOut, Named, Outcome, Place, ReplanFact, StopReason, Wanted,
};
use crate::prompts::Usage;

/// Goes through a journal from its beginning, because later facts name actions by number only.
#[derive(Default)]
pub(super) struct Explainer {
    actions: BTreeMap<ActionId, String>,
}

impl Explainer {
    /// The sentence, or nothing for what only the machinery needs. Every fact has its line here.
    #[expect(clippy::too_many_lines, reason = "one line for each fact, so that none is forgotten")]
    pub(super) fn explain(&mut self, fact: &Fact) -> Option<String> {
        let said = match fact {
            Fact::Triggered { by, permission, how, .. } => {
                format!("{} ({}) {}, and a run began", at(by), permission.as_str(), trigger(*how))
            }
            Fact::LanguageSeen { lang } => {
                format!("people are answered in {} here", lang.name().unwrap_or("English"))
            }
            Fact::Forgotten { entries, .. } => {
                format!("the {entries} entries before this one were removed, as `store.keep_days` wants it")
            }
            Fact::Refused { by, what, needs, has, .. } => refused(by, what, *needs, *has),
            Fact::Noticed { by, notice: about, .. } => format!("{} {}", at(by), notice(about)),
            Fact::CommentArrived { by, permission, used, .. } => heard(by, *permission, "commented", *used),
            Fact::DescriptionEdited { by, permission, used } => {
                heard(by, *permission, "edited the description", *used)
            }
            Fact::Paused { by, .. } => format!("{} paused the run", at(by)),
            Fact::Resumed { by, .. } => format!("{} let the run go on", at(by)),
            Fact::Cancelled { by, .. } => format!("{} cancelled the run", at(by)),
            Fact::Stopped { by, why } => format!("{} {}, which stopped the run", at(by), stopped(*why)),
            Fact::GoalUnderstood { goal, usage, hidden, .. } => understood(goal, usage, *hidden),
            Fact::Decomposed { steps, usage, .. } => decomposed(steps, usage),
            Fact::Sequenced { actions, usage, .. } => self.sequenced(actions, usage),
            Fact::PlanProposed { version, title, counts, .. } => {
                format!("plan {version} was proposed: “{}” ({})", clip(title), sizes(*counts))
            }
            Fact::SpecsSet { ground, place, specs, issues, changed, .. } => {
                self.looked(Looked { base: &ground.base, place, specs, issues, changed })
            }
            Fact::ApprovalRequested { request, wanted, digest: name, risk_score, changed, .. } => {
                let asked =
                    format!("approval {request} (`{}`) was asked for: {}", digest(name), asked_for(wanted));
                format!("{asked}, risk {risk_score:.2}{}", because(changed))
            }
            Fact::PreviewPosted { request, comments, unreadable } => {
                preview_posted(*request, comments, unreadable)
            }
            Fact::BoxesTicked { by, permission, request, boxes, counted } => {
                ticked(by, *permission, &format!("{} of approval {request}", actions(boxes)), *counted)
            }
            Fact::PreviewTampered { by, request } => {
                let who = by.as_ref().map_or_else(|| "somebody".to_owned(), at);
                format!("{who} changed the words of the preview of approval {request}, so it is void")
            }
            Fact::ApprovalVoided { by, permission, actions: lost, .. } => {
                let now = permission.as_str();
                format!(
                    "{} ({now}) may no longer approve, so the approval of {} is void",
                    at(by),
                    actions(lost)
                )
            }
            Fact::CommentUnconfirmed { by, comment, mismatch } => {
                format!("a delivery told of comment {} by {}, {}", comment.0, at(by), unconfirmed(*mismatch))
            }
            Fact::Approved { by, actions, left_out, note, request, .. } => {
                approved(by.as_ref(), actions, *request) + &left(left_out) + &noted(note)
            }
            Fact::Rejected { by, reason, request, .. } => {
                format!("{} turned approval {request} down: {}", at(by), clip(reason))
            }
            Fact::StepSkipped { by, step, .. } => format!("{} left {step} out", at(by)),
            Fact::BudgetRaised { by, resource, amount: more, .. } => {
                format!("{} raised the budget by {}", at(by), amount(*resource, *more))
            }
            Fact::ActionBegun { action, digest: name, .. } => {
                format!("{} began, as approved under `{}`", self.name(action), digest(name))
            }
            Fact::ActionEnded { action, outcome, evidence, actual, .. } => {
                self.ended(action, outcome, evidence, actual)
            }
            Fact::ActionInterrupted { action, .. } => {
                format!("{} was cut off; nobody knows whether it happened", self.name(action))
            }
            Fact::Worked { action, call, usage, .. } => {
                format!("the worker on {} {}{}", self.name(action), wish(call), spent(usage))
            }
            Fact::Used { tool, result, refused: false, .. } => {
                format!("`{}` answered {}", clip(tool), plural(result.chars().count(), "character"))
            }
            Fact::Used { action, tool, result, refused: true, .. } => {
                format!("the worker on {} was REFUSED `{}`: {}", self.name(action), clip(tool), clip(result))
            }
            Fact::Reflected { reflection: Some(reflection), .. } => {
                format!("the model looked back: {}", clip(&reflection.evaluation))
            }
            Fact::Reflected { reflection: None, .. } => {
                "the model was to look back, and had nothing usable to say".to_owned()
            }
            Fact::Executed { succeeded, failed, left_out, .. } => {
                format!("the work is through: {succeeded} succeeded, {failed} failed, {left_out} left out")
            }
            Fact::Delivered { branch, commit: head, change, .. } => {
                let at = head.as_ref().map(|head| format!(" at `{}`", commit(head))).unwrap_or_default();
                let offer = change.as_ref().map(|change| format!(", and offered as {change}"));
                format!("the branch `{}` was pushed{at}{}", clip(branch), offer.unwrap_or_default())
            }
            Fact::Completed { reason, .. } => format!("the run is complete: {}", clip(reason)),
            Fact::Aborted { reason, .. } => format!("the plan was given up: {}", clip(reason)),
            Fact::EffectFailed { problem, reason, .. } => {
                trouble("something could not be done", *problem, reason)
            }
            Fact::AskFailed { problem, reason, .. } => trouble("the model gave no answer", *problem, reason),
            Fact::Failed { reason } => format!("the run failed: {}", clip(reason)),
            Fact::Talk(fact) => return explain_talk::talk(fact),
            Fact::Crew(fact) => return explain_crew::crew(fact),
            Fact::Replan(fact) => {
                if let ReplanFact::RevisionMade { actions, .. } = fact {
                    self.remember(actions);
                }
                return explain_talk::replan(fact);
            }
            Fact::Replied { .. } | Fact::AskBegun { .. } | Fact::TimerFired { .. } => return None,
        };
        Some(said)
    }

    fn sequenced(&mut self, chosen: &[Action], usage: &Usage) -> String {
        self.remember(chosen);
        let named: Vec<String> =
            chosen.iter().map(|each| format!("{} {}", number_of(&each.id), action(each))).collect();
        format!("the model chose {}: {}{}", plural(chosen.len(), "action"), list(&named), spent(usage))
    }

    fn remember(&mut self, chosen: &[Action]) {
        self.actions.extend(chosen.iter().map(|each| (each.id.clone(), action(each))));
    }

    fn name(&self, id: &ActionId) -> String {
        match self.actions.get(id) {
            Some(what) => format!("action {} ({what})", number_of(id)),
            None => format!("action {}", number_of(id)),
        }
    }

    fn looked(&self, looked: Looked<'_>) -> String {
        let Looked { base, place, specs, issues, changed } = looked;
        if !issues.is_empty() {
            let named: Vec<String> = issues
                .iter()
                .map(|issue| format!("{}: {}", self.name(&issue.id), clip(&issue.what)))
                .collect();
            return format!("the plan cannot be carried out as it is: {}", list(&named));
        }
        let risks: Vec<String> =
            specs.iter().map(|spec| format!("{} {}", number_of(&spec.id), spec.risk.as_str())).collect();
        format!(
            "{} looked at on `{}`, to be done on the branch `{}`; risk of each: {}{}",
            if specs.len() == 1 {
                "1 action was".to_owned()
            } else {
                format!("{} actions were", specs.len())
            },
            commit(base),
            clip(&place.branch),
            risks.join(", "),
            because(changed)
        )
    }

    fn ended(&self, id: &ActionId, outcome: &Outcome, shown: &Evidence, actual: &str) -> String {
        match outcome {
            Outcome::Succeeded => {
                format!("{} succeeded: {}{}", self.name(id), clip(actual), evidence(shown))
            }
            Outcome::Failed { why } => format!("{} FAILED: {}{}", self.name(id), clip(why), evidence(shown)),
        }
    }
}

struct Looked<'a> {
    base: &'a str,
    place: &'a Place,
    specs: &'a [Spec],
    issues: &'a [Issue],
    changed: &'a [String],
}

fn at(who: &Account) -> String {
    format!("@{}", clip(&who.login))
}

fn refused(by: &Account, what: &str, needs: Permission, has: Permission) -> String {
    format!(
        "{} was refused `{}`: it takes {}, they have {}",
        at(by),
        clip(what),
        needs.as_str(),
        has.as_str()
    )
}

fn heard(by: &Account, permission: Permission, deed: &str, used: bool) -> String {
    if used {
        format!("{} {deed}, and the run takes it into account", at(by))
    } else {
        format!("{} ({}) {deed}; not used, they may not steer this run", at(by), permission.as_str())
    }
}

fn stopped(why: StopReason) -> &'static str {
    match why {
        StopReason::Unassigned => "took the bot off the thread",
        StopReason::Unlabelled => "took the label off",
        StopReason::Closed => "closed the thread",
    }
}

fn understood(goal: &Goal, usage: &Usage, hidden: u64) -> String {
    let hidden = if hidden == 0 {
        String::new()
    } else {
        format!("; {hidden} hidden characters were taken out of what it read")
    };
    format!("the model understood the goal: “{}”{hidden}{}", clip(&goal.main_objective), spent(usage))
}

fn decomposed(steps: &[Step], usage: &Usage) -> String {
    let named: Vec<String> =
        steps.iter().map(|step| format!("{} {}", step.id, clip_to(&step.description, 60))).collect();
    format!("the model cut the work into {}: {}{}", plural(steps.len(), "step"), list(&named), spent(usage))
}

fn spent(usage: &Usage) -> String {
    match usage.input_tokens + usage.output_tokens {
        0 => String::new(),
        tokens => format!(" [{}, {tokens} tokens]", clip(&usage.model)),
    }
}

fn sizes(counts: Counts) -> String {
    let (specs, files) = (counts.specs as usize, counts.files as usize);
    format!("{} on {}", plural(specs, "action"), plural(files, "file"))
}

fn asked_for(wanted: &[Wanted]) -> String {
    let ids: Vec<ActionId> = wanted.iter().map(|wanted| wanted.id.clone()).collect();
    match wanted.iter().map(|wanted| wanted.approvals).max() {
        Some(people @ 2..) => format!("{} (high risks need {people} people)", actions(&ids)),
        Some(_) | None => actions(&ids),
    }
}

fn because(changed: &[String]) -> String {
    if changed.is_empty() {
        return String::new();
    }
    let changed: Vec<String> = changed.iter().map(|what| clip(what)).collect();
    format!("; no longer as it was: {}", changed.join(", "))
}

fn ticked(by: &Account, permission: Permission, what: &str, counted: bool) -> String {
    if counted {
        format!("{} ticked {what}", at(by))
    } else {
        format!("{} ({}) ticked {what}; it does not count", at(by), permission.as_str())
    }
}

fn approved(by: Option<&Account>, named: &[Named], request: Option<u32>) -> String {
    let each: Vec<String> =
        named.iter().map(|named| format!("{} (`{}`)", number_of(&named.id), digest(&named.digest))).collect();
    let what = format!("{} {}", if named.len() == 1 { "action" } else { "actions" }, each.join(", "));
    match (by, request) {
        (Some(by), Some(request)) => format!("{} approved {what} of approval {request}", at(by)),
        (Some(by), None) => format!("{} approved {what}", at(by)),
        (None, _) => format!("the settings let {what} through without a person"),
    }
}

fn left(out: &[LeftOut]) -> String {
    if out.is_empty() {
        return String::new();
    }
    let each: Vec<String> =
        out.iter().map(|left| format!("{} ({})", number_of(&left.id), clip(&left.why))).collect();
    format!("; left out: {}", each.join(", "))
}

fn noted(note: &str) -> String {
    if note.is_empty() { String::new() } else { format!("; with the note “{}”", clip(note)) }
}

fn wish(call: &Call) -> String {
    match call {
        Call::ReadFile { path } => format!("wants to read `{}`", clip(path)),
        Call::ListFiles { path } => format!("wants to list `{}`", clip(path.as_deref().unwrap_or("."))),
        Call::WriteFile { path, .. } => format!("wants to write `{}`", clip(path)),
        Call::CallTool { name, .. } => format!("wants to call `{}`", clip(name)),
        Call::RunCommand { command } => format!("wants to run `{}`", clip(&command.join(" "))),
        Call::Report { feedback } => format!("reports: {}", clip(&feedback.summary())),
        Call::Finish { feedback } => format!("says: {}", clip(&feedback.summary())),
    }
}

fn trouble(what: &str, problem: AskProblem, reason: &str) -> String {
    let then = match problem {
        AskProblem::Passing => "it is tried again",
        AskProblem::Away => "it is tried again until the forge is back",
        AskProblem::Lasting => "trying again would not help",
    };
    format!("{what}: {} ({then})", clip(reason))
}

#[cfg(test)]
#[path = "explain_tests.rs"]
mod tests;
