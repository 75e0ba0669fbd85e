//! Purpose: all that a journal says about one plan: what was proposed, who decided what, and what came of it.

use serde_json::{Value, json};

use crate::actions::{Ground, Spec};
use crate::domain::{Millis, ThreadRef};
use crate::plan::{Action, Goal, Level, Step};
use crate::planning::plan_tool::{PlanState, get_state};
use crate::planning::{Entry, Fact, PlanStatus, Record, ReplanFact, RunId, Verdict};

pub(super) struct Dossier {
    run: RunId,
    version: u32,
    pub title: String,
    pub proposed_at: Millis,
    goal: Option<Goal>,
    steps: Vec<Step>,
    pub actions: Vec<Action>,
    /// The specs as they were first put up.
    pub specs: Vec<Spec>,
    pub ground: Option<Ground>,
    state: Option<PlanState>,
    turned_down: bool,
    about_plan: Vec<Value>,
    requests: Vec<Value>,
    ticks: Vec<Value>,
    approvals: Vec<Value>,
    rejections: Vec<Value>,
    results: Vec<Value>,
}

/// One for each plan that was proposed, in the order of the journal.
pub(super) fn collect(entries: &[Entry]) -> Vec<Dossier> {
    let mut record = Record::default();
    let (mut all, mut open): (Vec<Dossier>, Option<Dossier>) = (vec![], None);
    for entry in entries {
        let ends = ends_plan(&entry.fact);
        if let Some(dossier) = open.as_mut().filter(|_| ends) {
            dossier.see(&record);
        }
        if !matches!(entry.fact, Fact::PlanProposed { .. } | Fact::Triggered { .. })
            && let Some(dossier) = &mut open
        {
            dossier.file(entry);
        }
        record.apply(entry);
        if ends {
            all.extend(open.take());
        }
        open = Dossier::proposed(entry, &record).or(open);
    }
    if let Some(dossier) = &mut open {
        dossier.see(&record);
    }
    all.extend(open);
    all
}

/// After these a plan is replaced by another one, or by none.
fn ends_plan(fact: &Fact) -> bool {
    match fact {
        Fact::SpecsSet { issues, .. } => !issues.is_empty(),
        Fact::Triggered { .. } | Fact::PlanProposed { .. } | Fact::Rejected { .. } => true,
        Fact::Refused { .. }
        | Fact::LanguageSeen { .. }
        | Fact::Forgotten { .. }
        | Fact::Noticed { .. }
        | Fact::Replied { .. }
        | Fact::CommentArrived { .. }
        | Fact::DescriptionEdited { .. }
        | Fact::Paused { .. }
        | Fact::Resumed { .. }
        | Fact::Cancelled { .. }
        | Fact::Stopped { .. }
        | Fact::AskBegun { .. }
        | Fact::GoalUnderstood { .. }
        | Fact::Decomposed { .. }
        | Fact::Sequenced { .. }
        | Fact::ApprovalRequested { .. }
        | Fact::PreviewPosted { .. }
        | Fact::BoxesTicked { .. }
        | Fact::PreviewTampered { .. }
        | Fact::CommentUnconfirmed { .. }
        | Fact::ApprovalVoided { .. }
        | Fact::Approved { .. }
        | Fact::StepSkipped { .. }
        | Fact::BudgetRaised { .. }
        | Fact::ActionBegun { .. }
        | Fact::ActionEnded { .. }
        | Fact::ActionInterrupted { .. }
        | Fact::Worked { .. }
        | Fact::Used { .. }
        | Fact::Reflected { .. }
        | Fact::Executed { .. }
        | Fact::Delivered { .. }
        | Fact::Completed { .. }
        | Fact::Aborted { .. }
        | Fact::EffectFailed { .. }
        | Fact::AskFailed { .. }
        | Fact::TimerFired { .. }
        | Fact::Talk(_)
        | Fact::Crew(_)
        | Fact::Failed { .. } => false,
        Fact::Replan(fact) => goes_back(fact),
    }
}

/// A replan from level 2 on ends the plan that it replaces.
fn goes_back(fact: &ReplanFact) -> bool {
    match fact {
        ReplanFact::ReplanDecision { verdict: Verdict::Replan { level, .. }, .. } => *level > Level::Retry,
        ReplanFact::ReplanConfirmed { .. } => true,
        ReplanFact::ReplanDecision { .. }
        | ReplanFact::DecisionGiven { .. }
        | ReplanFact::Evaluated { .. }
        | ReplanFact::ReplanAsked { .. }
        | ReplanFact::ReplanDeclined { .. }
        | ReplanFact::RevisionMade { .. }
        | ReplanFact::PlanRevised { .. }
        | ReplanFact::ReplanEnded { .. }
        | ReplanFact::AlternativeGiven { .. }
        | ReplanFact::LimitSettled { .. } => false,
    }
}

impl Dossier {
    fn proposed(entry: &Entry, record: &Record) -> Option<Self> {
        let Fact::PlanProposed { version, title, .. } = &entry.fact else { return None };
        let run = record.run.as_deref()?;
        let plan = run.plan()?;
        Some(Self {
            run: run.id.clone(),
            version: *version,
            title: title.clone(),
            proposed_at: entry.at,
            goal: run.goal.clone(),
            steps: plan.steps.clone(),
            actions: plan.actions().cloned().collect(),
            specs: vec![],
            ground: None,
            state: None,
            turned_down: false,
            about_plan: vec![fact_of(entry)],
            requests: vec![],
            ticks: vec![],
            approvals: vec![],
            rejections: vec![],
            results: vec![],
        })
    }

    /// Takes down how the plan stands, before it is replaced.
    fn see(&mut self, record: &Record) {
        self.state = record.run.as_deref().and_then(get_state);
    }

    fn file(&mut self, entry: &Entry) {
        let pile = match &entry.fact {
            Fact::SpecsSet { specs, ground, issues, .. } => {
                self.turned_down |= !issues.is_empty();
                if self.ground.is_none() {
                    (self.specs, self.ground) = (specs.clone(), Some(ground.clone()));
                }
                &mut self.about_plan
            }
            Fact::Rejected { .. } => {
                self.turned_down = true;
                &mut self.rejections
            }
            Fact::ApprovalRequested { .. } | Fact::PreviewPosted { .. } | Fact::PreviewTampered { .. } => {
                &mut self.requests
            }
            Fact::BoxesTicked { .. } => &mut self.ticks,
            Fact::Approved { .. } | Fact::ApprovalVoided { .. } => &mut self.approvals,
            Fact::ActionBegun { .. }
            | Fact::ActionEnded { .. }
            | Fact::ActionInterrupted { .. }
            | Fact::StepSkipped { .. }
            | Fact::Executed { .. }
            | Fact::Delivered { .. }
            | Fact::Completed { .. }
            | Fact::Aborted { .. }
            | Fact::Cancelled { .. }
            | Fact::Stopped { .. }
            | Fact::Failed { .. } => &mut self.results,
            Fact::Triggered { .. }
            | Fact::CommentUnconfirmed { .. }
            | Fact::PlanProposed { .. }
            | Fact::Refused { .. }
            | Fact::LanguageSeen { .. }
            | Fact::Forgotten { .. }
            | Fact::Noticed { .. }
            | Fact::Replied { .. }
            | Fact::CommentArrived { .. }
            | Fact::DescriptionEdited { .. }
            | Fact::Paused { .. }
            | Fact::Resumed { .. }
            | Fact::AskBegun { .. }
            | Fact::GoalUnderstood { .. }
            | Fact::Decomposed { .. }
            | Fact::Sequenced { .. }
            | Fact::BudgetRaised { .. }
            | Fact::Worked { .. }
            | Fact::Used { .. }
            | Fact::Reflected { .. }
            | Fact::EffectFailed { .. }
            | Fact::AskFailed { .. }
            | Fact::Talk(_)
            | Fact::TimerFired { .. } => return,
            Fact::Replan(_) => &mut self.about_plan,
            Fact::Crew(_) => &mut self.results,
        };
        pile.push(fact_of(entry));
    }

    pub(super) fn id(&self) -> (String, u32) {
        (self.run.0.clone(), self.version)
    }

    /// A plan that was turned down is proposed once more, in another form.
    pub(super) fn status(&self) -> PlanStatus {
        match &self.state {
            Some(state) if !self.turned_down => state.status,
            Some(_) | None => PlanStatus::Proposed,
        }
    }

    pub(super) fn plan(&self, thread: &ThreadRef) -> Value {
        json!({
            "thread": thread,
            "run": self.run,
            "version": self.version,
            "title": self.title,
            "status": self.status(),
            "turned_down": self.turned_down,
            "goal": self.goal,
            "steps": self.steps,
            "actions": self.actions,
            "state": self.state,
            "facts": self.about_plan,
            "results": self.results,
        })
    }

    pub(super) fn approval(&self) -> Value {
        json!({
            "run": self.run,
            "version": self.version,
            "requests": self.requests,
            "ticked": self.ticks,
            "approvals": self.approvals,
            "rejections": self.rejections,
        })
    }
}

fn fact_of(entry: &Entry) -> Value {
    let mut value = serde_json::to_value(&entry.fact).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.remove("key");
        fields.insert("seq".to_owned(), entry.seq.into());
        fields.insert("at".to_owned(), entry.at.to_string().into());
    }
    value
}
