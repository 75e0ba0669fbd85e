//! Purpose: plan a thread as the bot would, and show what it would post, without posting or storing anything.
//!
//! The facts go into a record in memory; the same core says what comes next, and the same functions ask the model and
//! look at the repository. It ends where people would be asked, or where something would be done.

use std::sync::Arc;

use anyhow::Context as _;

use super::ctx::Ctx;
use super::errand::Errand;
use super::route::rules_of;
use super::settings::{Settled, settings};
use super::{perform, preflight};
use crate::config::RepoSettings;
use crate::domain::{Lang, Permission, ThreadRef};
use crate::forge::ForgeError;
use crate::planning::{
    Effect, Entry, Fact, InFlight, Key, Policy, Question, Record, Run, RunId, Trigger, next_effects,
};
use crate::render::{self, Voice};

/// What the thread would show.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulated {
    pub card: Option<String>,
    /// `None`: nothing is put up for approval.
    pub preview: Option<String>,
    pub run: Arc<Run>,
    /// Whether the bot would have started at all: planning may be switched off here.
    pub enabled: bool,
}

/// # Errors
/// When the thread's forge is not configured, the thread cannot be read, or the repository's own settings cannot be
/// understood.
pub async fn simulate(ctx: &Arc<Ctx>, thread: &ThreadRef) -> anyhow::Result<Simulated> {
    let forge = ctx.forge(thread.project.forge)?;
    let bot = forge.me().await.context("cannot look up the bot's own account")?;
    let state = forge.thread(thread).await.map_err(|error| unreadable(thread, error))?;
    let settings = match settings(ctx, &thread.project).await? {
        Settled::Settings(settings) => *settings,
        Settled::BrokenFile(why) => {
            anyhow::bail!("`.planwright.yaml` of {} cannot be understood: {why}", thread.project)
        }
    };
    let mut desk = Memory::new(ctx, thread, &settings);
    let lang = settings.language.name().map(Lang::named);
    let lang = lang.unwrap_or_else(|| Lang::of([state.title.as_str(), state.body.as_str()]));
    // Nobody asked for it, so it is in the bot's own name: no comment counts for more than it would anyway.
    desk.note(vec![Fact::Triggered {
        by: bot.clone(),
        permission: Permission::Write,
        how: Trigger::Mentioned,
        event_at: None,
        comment: None,
        budget: rules_of(&settings).budget,
        why: None,
        lang,
    }])?;
    desk.plan().await?;
    let run = desk.record.run.context("there is no run")?;
    let voice = Voice { forge: thread.project.forge, bot_login: bot.login };
    let request = run.plan().and_then(|plan| Some((plan, run.open_request(plan)?)));
    let redact = |text: &str| ctx.redactor.clean_outgoing(text).into_owned();
    let preview = request
        .map(|(plan, request)| render::preview(&run, plan, request, &voice, &redact).parts.join("\n\n"));
    let card = render::card(&run, &voice);
    Ok(Simulated { card, preview, enabled: settings.planning.enabled, run })
}

fn unreadable(thread: &ThreadRef, error: ForgeError) -> anyhow::Error {
    let hidden = matches!(error, ForgeError::NotFound(_));
    let error = anyhow::Error::new(error);
    if hidden {
        let project = &thread.project;
        return anyhow::anyhow!(
            "{error:#}; check the name and the number, and with `planwright doctor --repo {project}` whether the bot may see it"
        );
    }
    error
}

/// Stands where the thread's lease and journal stand otherwise.
struct Memory<'a> {
    ctx: &'a Arc<Ctx>,
    thread: &'a ThreadRef,
    policy: Policy,
    id: RunId,
    record: Record,
}

/// Whether there is more to plan.
enum Then {
    GoOn,
    Stop,
}

impl<'a> Memory<'a> {
    fn new(ctx: &'a Arc<Ctx>, thread: &'a ThreadRef, settings: &RepoSettings) -> Self {
        let id = RunId(uuid::Uuid::now_v7().to_string());
        Self { ctx, thread, policy: ctx.policy_for(settings), id, record: Record::default() }
    }

    async fn plan(&mut self) -> anyhow::Result<()> {
        loop {
            let Some(run) = self.record.live_run() else { return Ok(()) };
            let next = next_effects(run, &InFlight::new(), &self.policy).into_iter().next();
            match next {
                Some(effect) => match self.perform(effect).await? {
                    Then::GoOn => {}
                    Then::Stop => return Ok(()),
                },
                None => return Ok(()),
            }
        }
    }

    /// Reads and thinks; whatever would change something ends the simulation.
    async fn perform(&mut self, effect: Effect) -> anyhow::Result<Then> {
        match effect {
            Effect::Ask { key, question } => self.ask(key, question).await?,
            Effect::Preflight { key } => {
                let Some(run) = self.record.live_run() else { return Ok(Then::Stop) };
                let fact = preflight::preflight(self.ctx, self.thread, run, key).await;
                self.note(vec![fact])?;
            }
            Effect::Note { facts, .. } => self.note(facts)?,
            // A person at the terminal does not wait for minutes: what did not work is shown as it is.
            Effect::Wait { .. }
            | Effect::Begin { .. }
            | Effect::Act { .. }
            | Effect::Use { .. }
            | Effect::Merge { .. }
            | Effect::Escalate { .. }
            | Effect::Deliver { .. } => return Ok(Then::Stop),
        }
        Ok(Then::GoOn)
    }

    async fn ask(&mut self, key: Key, question: Question) -> anyhow::Result<()> {
        self.note(vec![Fact::AskBegun { key: key.clone() }])?;
        let (record, policy) = (self.record.clone(), self.policy.clone());
        let errand = Errand::new(Arc::clone(self.ctx), self.thread.clone(), record.run.clone());
        let ask = perform::ask(errand, record, policy);
        let facts = ask(key, question).await;
        self.note(facts)
    }

    /// As the journal would take them: without our secrets.
    fn note(&mut self, facts: Vec<Fact>) -> anyhow::Result<()> {
        for fact in facts {
            let run = (!fact.is_of_thread()).then(|| self.id.clone());
            let mut json = serde_json::to_value(&fact).context("cannot write a fact as JSON")?;
            self.ctx.redactor.clean_json(&mut json);
            let entry = Entry {
                seq: self.record.seq + 1,
                at: self.ctx.now(),
                run,
                fact: serde_json::from_value(json)?,
            };
            self.record.apply(&entry);
        }
        Ok(())
    }
}
