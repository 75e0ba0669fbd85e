//! Purpose: what every part of the engine works with, passed first.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Context as _;
use sha2::{Digest as _, Sha256};
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;

use super::approvers::PermissionCache;
use super::gather::Sightings;
use super::hands::Hands;
use super::pace::Pace;
use super::redraws::Redraws;
use super::setbacks::Setbacks;
use super::settings::RepoFiles;
use crate::actions::Risk;
use crate::config::{self, AutoApproval, Config, Deliver, Planning, Redactor, RepoSettings};
use crate::domain::{ForgeKind, Millis, ThreadRef};
use crate::forge::{Forge, ForgeError};
use crate::llm::Model;
use crate::planning::{CrewPolicy, Fallback, Interactive, Key, OnLimit, Policy, ReplanPolicy, RunId};
use crate::store::{Caught, History, Row, Store, Transcripts};

/// "This thread has a new delivery." Losing one costs at most the poll interval.
pub type Pokes = broadcast::Sender<ThreadRef>;

pub type Forges = BTreeMap<ForgeKind, Forge>;

pub struct Ctx {
    pub store: Store,
    pub history: History,
    pub transcripts: Transcripts,
    pub forges: Forges,
    pub planner: Model,
    pub worker: Model,
    /// Decides whether a step is done.
    pub judge: Model,
    /// A second opinion on difficulties, if there is one.
    pub advisor: Option<Model>,
    pub hands: Hands,
    pub config: Arc<Config>,
    pub policy: Policy,
    pub pokes: Pokes,
    pub shutdown: CancellationToken,
    /// How many sweeps are done.
    pub swept: watch::Sender<u64>,
    /// How long after one sweep the next begins.
    pub sweep_every: Duration,
    /// Names this installation in leases.
    pub owner: String,
    /// How long to wait before something that was out of reach is tried again.
    pub patience_ms: i64,
    /// How long a claim lasts unless renewed. A crashed process delays its threads by at most this much.
    pub lease_ms: i64,
    /// How many threads are driven at once.
    pub parallel: usize,
    /// The one thread that is driven; all of them when none is named.
    pub only: Option<ThreadRef>,
    /// Takes what people say and shows what comes of it, and begins nothing.
    pub only_hears: bool,
    /// What the names of new runs begin with.
    pub run_prefix: &'static str,
    pub clock: fn() -> Millis,
    pub paces: BTreeMap<ForgeKind, Pace>,
    pub repo_files: RepoFiles,
    pub sightings: Sightings,
    /// Knows our secrets, to keep them out of the journal and of comments.
    pub redactor: Redactor,
    pub setbacks: Setbacks,
    pub redraws: Redraws,
    pub permissions: PermissionCache,
    /// Known to this process alone; what marks data in prompts is made of it.
    pub fence_key: uuid::Uuid,
    /// What this process began and has not launched yet; whatever else is found begun was begun by one that died.
    pub begun: Mutex<BTreeSet<Key>>,
}

/// Who thinks, and with which hands the work is done.
pub struct Crew {
    pub planner: Model,
    pub worker: Model,
    pub judge: Model,
    pub advisor: Option<Model>,
    pub hands: Hands,
}

impl Ctx {
    /// Without secrets to hide; whoever has some sets [`Ctx::redactor`].
    #[must_use]
    pub fn new(config: Arc<Config>, store: Store, forges: Forges, crew: Crew, owner: String) -> Self {
        let Crew { planner, worker, judge, advisor, hands } = crew;
        let sweep_every = Duration::from_secs(60 * u64::from(config.server.reconcile_minutes.get()));
        let paces = forges.keys().map(|kind| (*kind, Pace::default())).collect();
        Self {
            history: History::new(&config.data_dir),
            transcripts: Transcripts::new(&config.data_dir),
            store,
            forges,
            planner,
            worker,
            judge,
            advisor,
            hands,
            config,
            policy: Policy::default(),
            pokes: broadcast::channel(1_024).0,
            shutdown: CancellationToken::new(),
            swept: watch::Sender::new(0),
            sweep_every,
            owner,
            patience_ms: 30_000,
            lease_ms: 15_000,
            parallel: 32,
            only: None,
            only_hears: false,
            run_prefix: "",
            clock: super::now,
            paces,
            repo_files: RepoFiles::default(),
            sightings: Sightings::default(),
            redactor: Redactor::default(),
            setbacks: Setbacks::default(),
            redraws: Redraws::default(),
            permissions: PermissionCache::default(),
            fence_key: uuid::Uuid::new_v4(),
            begun: Mutex::default(),
        }
    }

    #[must_use]
    pub fn now(&self) -> Millis {
        (self.clock)()
    }

    /// The mark of data in the prompts of one run. The same for all of them, so that providers can cache what they begin
    /// with; and not the run's name, which comments and commits publish.
    pub(super) fn fence(&self, run: &RunId) -> String {
        let mut hasher = Sha256::new();
        hasher.update(self.fence_key.as_bytes());
        hasher.update(run.0.as_bytes());
        hex::encode(&hasher.finalize()[..16])
    }

    /// The numbers that hold for one repository.
    pub(super) fn policy_for(&self, settings: &RepoSettings) -> Policy {
        let auto = match settings.approval.auto {
            AutoApproval::Nothing => None,
            AutoApproval::Low => Some(Risk::Low),
            AutoApproval::Medium => Some(Risk::Medium),
        };
        Policy {
            auto,
            approvals: settings.approval.count.get(),
            not_requester: settings.approval.not_requester,
            regenerations: settings.planning.replanning.action_sequence.max_regeneration_attempts,
            reflection_interval: settings.planning.reflection_interval.get(),
            max_reflections: settings.planning.max_reflection_count,
            delivers: settings.deliver != Deliver::None,
            workers: settings.crew.workers.get(),
            crew: self.crew_policy(settings),
            interactive: match settings.planning.interactive {
                config::Interactive::Never => Interactive::Never,
                config::Interactive::Auto => Interactive::Auto,
                config::Interactive::Always => Interactive::Always,
            },
            replan: replan_policy(&settings.planning),
            ..self.policy.clone()
        }
    }

    fn crew_policy(&self, settings: &RepoSettings) -> CrewPolicy {
        let crew = &settings.crew;
        let ms = |hours: u32| i64::from(hours) * 3_600_000;
        CrewPolicy {
            limits: crate::crew::Limits {
                planner: crew.limits.planner,
                logic_validator: crew.limits.logic_validator,
                external_advisor: crew.limits.external_advisor,
                people: crew.limits.people,
            },
            advisor: self.advisor.is_some(),
            remind_after_ms: ms(crew.remind_after_hours.get()),
            answer_within_ms: ms(crew.answer_within_hours.get()),
            on_no_answer: match crew.on_no_answer {
                config::OnNoAnswer::Hold => Fallback::Hold,
                config::OnNoAnswer::Skip => Fallback::SkipStep,
                config::OnNoAnswer::Stop => Fallback::Stop,
            },
            reports: match crew.autonomy {
                config::Autonomy::AfterEachStep => false,
                config::Autonomy::DuringTheWork => true,
            },
        }
    }

    /// When something that was out of reach is tried again; later each time that it is.
    pub(super) fn soon(&self, thread: &ThreadRef) -> Millis {
        self.now().plus(self.setbacks.wait_ms(thread, self.patience_ms))
    }

    /// When whoever wants to be left alone for this long may be asked again.
    pub(super) fn after(&self, pause: Duration) -> Millis {
        self.now().plus(i64::try_from(pause.as_millis()).unwrap_or(i64::MAX).max(1_000))
    }

    /// When the forge may be asked again for something on this thread: as it wishes, else soon.
    pub(super) fn again(&self, thread: &ThreadRef, error: &ForgeError) -> Millis {
        match error {
            ForgeError::RateLimited { retry_after, .. } => self.after(*retry_after),
            ForgeError::Unauthorized(_)
            | ForgeError::Forbidden(_)
            | ForgeError::NotFound(_)
            | ForgeError::Invalid(_)
            | ForgeError::Unclear(_)
            | ForgeError::Broken(_) => self.soon(thread),
        }
    }

    /// # Errors
    /// When the thread's forge is not configured.
    pub fn forge(&self, kind: ForgeKind) -> anyhow::Result<&Forge> {
        self.forges.get(&kind).with_context(|| format!("the forge {kind} is not configured"))
    }

    pub async fn pace(&self, kind: ForgeKind) {
        if let Some(pace) = self.paces.get(&kind) {
            pace.admit().await;
        }
    }

    /// Completes every history file from the journal: a crash between commit and file write leaves a gap. What cannot be
    /// completed is logged, and is completed by the next fact of its thread or by the next start.
    pub(super) async fn catch_up_histories(&self) {
        let threads = match self.store.threads().await {
            Ok(threads) => threads,
            Err(error) => {
                tracing::error!("cannot look for histories to complete; the next start will: {error:#}");
                return;
            }
        };
        for thread in threads {
            self.catch_up(&thread).await;
        }
    }

    pub(super) async fn catch_up(&self, thread: &ThreadRef) {
        Self::tell(thread, self.history.catch_up(&self.store, thread).await);
    }

    pub(super) async fn repair(&self, thread: &ThreadRef) {
        Self::tell(thread, self.history.repair(&self.store, thread).await);
    }

    /// Writes to the history what has just been appended to the journal.
    pub(super) async fn follow(&self, thread: &ThreadRef, rows: Vec<Row>) {
        Self::tell(thread, self.history.follow(&self.store, thread, rows).await);
    }

    fn tell(thread: &ThreadRef, caught: anyhow::Result<Caught>) {
        match caught {
            Ok(Caught { damage: None, .. }) => {}
            Ok(Caught { damage: Some(found), .. }) => tracing::error!(
                %thread,
                "the history of {thread} was damaged: line {} {}; it is written anew from the journal, and what stood \
                 there is kept in {}",
                found.line,
                found.what,
                found.kept_in.display()
            ),
            Err(error) => {
                tracing::error!(%thread, "cannot write the history of {thread}; the journal keeps it: {error:#}");
            }
        }
    }
}

fn replan_policy(planning: &Planning) -> ReplanPolicy {
    let settings = &planning.replanning;
    let decision = &settings.llm_decision;
    let ask_from = decision.user_confirmation_threshold.get();
    ReplanPolicy {
        enabled: settings.enabled,
        min_confidence: decision.min_confidence_threshold.get(),
        ask_from: decision.require_user_confirmation_on_low_confidence.then_some(ask_from),
        separate_call: decision.separate_call,
        clarifications: settings.goal_understanding.max_clarification_requests,
        assumes: settings.goal_understanding.auto_assume_on_no_response,
        answer_within_ms: i64::from(settings.goal_understanding.auto_assume_timeout_minutes) * 60_000,
        redecompositions: settings.task_decomposition.max_redecomposition_attempts,
        regenerations: settings.action_sequence.max_regeneration_attempts,
        action_retries: settings.execution.max_action_retries,
        partial_replans: settings.execution.max_partial_replans,
        plan_revisions: planning.plan_revisions(),
        total: settings.global.max_total_replans,
        same_trigger: settings
            .global
            .infinite_loop_detection
            .then_some(settings.global.same_trigger_max_count),
        on_limit: match settings.on_limit {
            config::OnLimit::Stop => OnLimit::Stop,
            config::OnLimit::Ask => OnLimit::Ask,
            config::OnLimit::Continue => OnLimit::Continue,
        },
    }
}
