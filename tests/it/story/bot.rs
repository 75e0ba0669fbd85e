//! Purpose: the harness of the stories: a forge, a model, and the bot between them, as a part of this process or as the
//! real binary.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use planwright::cli::app::{App, local_bot};
use planwright::config::{Config, Env};
use planwright::domain::{
    Account, AccountId, CommentId, Event, ForgeKind, Millis, Permission, Project, Reaction, ThreadRef,
};
use planwright::engine::{Ctx, Forges};
use planwright::forge::local::{NewThread, Visibility};
use planwright::forge::{Forge, ForgeError, Local, LocalSettings, World};
use planwright::tools::sandbox::{Sandbox, SandboxSettings};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::repo::Repo;
use crate::fake_forge::{Delivery, FakeGithub, FakeGitlab, Fault, github, gitlab};
use crate::scripted_model::ScriptedModel;

pub(crate) const MARIA: AccountId = AccountId(2);
/// May only read.
pub(crate) const TOM: AccountId = AccountId(3);
const SECRET: &str = "a shared secret";

pub(crate) enum Front {
    Local,
    Github(FakeGithub),
    Gitlab(FakeGitlab),
}

/// A thread with people, and all that the bot needs; the bot itself may come and go.
pub(crate) struct Scene {
    pub(crate) world: Local,
    pub(crate) front: Front,
    pub(crate) thread: ThreadRef,
    pub(crate) model: ScriptedModel,
    pub(crate) dir: tempfile::TempDir,
    pub(crate) repo: Repo,
    http: reqwest::Client,
    extra: String,
    confidential: bool,
    provider: &'static str,
    /// Where git finds the repositories, if not on the disk.
    git_url: Option<String>,
    /// Whether there is a second model to ask.
    advised: bool,
    /// How long a model may think, in seconds.
    patience: u32,
}

/// The forges that speak HTTP.
pub(crate) const FACES: [ForgeKind; 2] = [ForgeKind::Github, ForgeKind::Gitlab];
pub(crate) const ALL: [ForgeKind; 3] = [ForgeKind::Local, ForgeKind::Github, ForgeKind::Gitlab];

impl Scene {
    pub(crate) async fn on(kind: ForgeKind) -> Self {
        let (path, bot) = match kind {
            ForgeKind::Github => ("github:acme/web", Account::person(1, "planwright")),
            ForgeKind::Gitlab => ("gitlab:acme/tools/web", Account::person(1, "planwright")),
            ForgeKind::Local => ("local:web", local_bot()),
        };
        let world = Local::open(LocalSettings { path: None, bot, clock: planwright::engine::now }).unwrap();
        let project: Project = path.parse().unwrap();
        let thread = world.with(|world| furnish(world, &project)).unwrap();
        let front = match kind {
            ForgeKind::Github => Front::Github(FakeGithub::start(world.clone()).await),
            ForgeKind::Gitlab => Front::Gitlab(FakeGitlab::start(world.clone()).await),
            ForgeKind::Local => Front::Local,
        };
        let model = ScriptedModel::start().await;
        let dir = tempfile::tempdir().unwrap();
        let repo = Repo::make(&dir.path().join("git"), &project);
        world.with(|world| world.set_git(&project, &repo.bare)).unwrap().unwrap();
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let extra = "planning: { enabled: true }\n".to_owned();
        Self {
            world,
            front,
            thread,
            model,
            dir,
            repo,
            http,
            extra,
            confidential: false,
            provider: "openai",
            git_url: None,
            advised: false,
            patience: 2,
        }
    }

    /// The same people, but another thread: the story is about that one.
    pub(crate) fn about(mut self, new: NewThread) -> Self {
        let project = self.thread.project.clone();
        let opened = self.world.with(|world| world.open(&project, new, planwright::engine::now()));
        self.thread = opened.unwrap().unwrap().thread;
        self
    }

    /// What the repository says for itself, on its default branch.
    pub(crate) fn repo_file(&self, yaml: &str) {
        let project = &self.thread.project;
        self.world.with(|world| world.set_file(project, ".planwright.yaml", yaml)).unwrap().unwrap();
    }

    /// Confidential threads are taken as well.
    pub(crate) fn with_confidential(mut self) -> Self {
        self.confidential = true;
        self
    }

    /// Other settings than "planning is on".
    pub(crate) fn settings(mut self, yaml: &str) -> Self {
        self.extra = yaml.to_owned();
        self
    }

    /// A model that is spoken to as `anthropic`, say.
    pub(crate) fn provider(mut self, provider: &'static str) -> Self {
        self.provider = provider;
        self
    }

    /// The model may think for as long as the story wants.
    pub(crate) fn patient(mut self) -> Self {
        self.patience = 60;
        self
    }

    /// Workers who are stuck may ask an adviser.
    pub(crate) fn advised(mut self) -> Self {
        self.advised = true;
        self
    }

    /// The repositories are reached by this address instead of their `file://` one.
    pub(crate) fn git_at(mut self, url: &str) -> Self {
        self.git_url = Some(url.to_owned());
        self
    }

    fn yaml(&self, listen: &str) -> String {
        let files = url::Url::from_file_path(self.dir.path().join("git")).unwrap();
        let git_url = self.git_url.as_deref().unwrap_or(files.as_str());
        let forges = match &self.front {
            Front::Local => "local: { enabled: true }".to_owned(),
            Front::Github(fake) => {
                format!("github: {{ api_url: \"{}\", git_url: \"{git_url}\" }}", fake.api_url())
            }
            Front::Gitlab(fake) => format!(
                "gitlab: {{ url: \"{}\", git_url: \"{git_url}\", confidential: {} }}",
                fake.url(),
                self.confidential
            ),
        };
        let data = self.dir.path().display();
        format!(
            "server: {{ listen: \"{listen}\" }}\ndata_dir: {data}\nstore: {{ url: \"sqlite://{data}/planwright.db\" }}\n\
             forges: {{ {forges} }}\nmodels: {{ default: {{ provider: {}, base_url: \"{}\", model: m, \
             api_key_env: MODEL_KEY, timeout_seconds: {} }}{} }}\n{}",
            self.provider,
            self.model.base_url(),
            self.patience,
            if self.advised { ", roles: { advisor: default }" } else { "" },
            self.extra
        )
    }

    pub(crate) fn env() -> [(&'static str, &'static str); 7] {
        [
            ("GITHUB_TOKEN", github::TOKEN),
            ("GITHUB_WEBHOOK_SECRET", SECRET),
            ("GITLAB_TOKEN", gitlab::TOKEN),
            ("GITLAB_WEBHOOK_SECRET", SECRET),
            ("PLANWRIGHT_LOCAL_SECRET", SECRET),
            ("MODEL_KEY", "sk-very-secret"),
            ("ODD_KEY", "odd-7Xq2-key-of-a-server"),
        ]
    }

    /// The bot as a part of this process.
    pub(crate) async fn start(&self) -> Bot<'_> {
        self.start_with(|_| {}).await
    }

    /// As [`Scene::start`], with a shorter patience or other numbers.
    pub(crate) async fn start_with(&self, tune: impl FnOnce(&mut Ctx)) -> Bot<'_> {
        let env = Env::of(&Self::env());
        let whole = Config::parse(&self.yaml("127.0.0.1:0"), Path::new("config.yaml"), &env).unwrap();
        let mut config = whole.clone();
        // The cage starts this program again inside itself. Here that is the tests, which would take the cage's words for
        // the names of tests to run, so it is put up below, around the program that is told.
        config.tools.commands.clear();
        let mut app = match &self.front {
            Front::Local => {
                let forges = Forges::from([(ForgeKind::Local, Forge::Local(self.world.clone()))]);
                App::with_forges(config, &env, forges).await.unwrap()
            }
            Front::Github(_) | Front::Gitlab(_) => App::build(config, &env).await.unwrap(),
        };
        let ctx = Arc::get_mut(&mut app.ctx).unwrap();
        ctx.config = Arc::new(whole);
        if !ctx.config.tools.commands.is_empty() {
            let helper = SandboxSettings::new(env!("CARGO_BIN_EXE_planwright").into());
            ctx.hands.sandbox = Some(Sandbox::find(helper).unwrap());
        }
        tune(ctx);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let ctx = Arc::clone(&app.ctx);
        #[expect(clippy::disallowed_methods, reason = "the server runs beside the story")]
        let task = tokio::spawn(app.run(listener));
        // What the world shows by now belongs to the first sweep; what comes later comes by webhook.
        ctx.swept.subscribe().wait_for(|sweeps| *sweeps > 0).await.unwrap();
        Bot { scene: self, base, ctx, task }
    }

    /// The bot as its users run it.
    pub(crate) async fn spawn(&self) -> Process<'_> {
        self.spawn_logging("info").await
    }

    pub(crate) async fn spawn_logging(&self, level: &str) -> Process<'_> {
        loop {
            let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
            let listen = format!("127.0.0.1:{port}");
            let mut serve = self.command(&listen, &["serve", "--log", level]);
            let child = serve.stderr(log_file(self.dir.path())).stdout(Stdio::null()).spawn().unwrap();
            let mut process = Process { scene: self, base: format!("http://{listen}"), child };
            // Another test may have got the port in between; then it is that one's server who answers there.
            if process.is_ready().await || !self.log().contains("Address already in use") {
                process.wait_until_ready().await;
                return process;
            }
        }
    }

    /// The binary with the scene's settings and nothing of this process's environment.
    pub(crate) fn command(&self, listen: &str, arguments: &[&str]) -> Command {
        let path = self.dir.path().join("config.yaml");
        std::fs::write(&path, self.yaml(listen)).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_planwright"));
        command.args(arguments).arg("--config").arg(path).env_clear().envs(Self::env());
        command
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("log.txt")).unwrap_or_default()
    }

    pub(crate) fn fault(&self, method: http::Method, path_contains: &str, fault: Fault, times: u32) {
        match &self.front {
            Front::Github(fake) => fake.stage.fault(method, path_contains, fault, times),
            Front::Gitlab(fake) => fake.stage.fault(method, path_contains, fault, times),
            Front::Local => panic!("the local forge has no network that could fail"),
        }
    }

    /// No fault comes any more.
    pub(crate) fn heal(&self) {
        match &self.front {
            Front::Github(fake) => fake.stage.heal(),
            Front::Gitlab(fake) => fake.stage.heal(),
            Front::Local => {}
        }
    }

    /// When requests of this kind reached the forge.
    pub(crate) fn requests(&self, method: &http::Method, path_contains: &str) -> Vec<std::time::Instant> {
        let audit = match &self.front {
            Front::Github(fake) => fake.stage.audit(),
            Front::Gitlab(fake) => fake.stage.audit(),
            Front::Local => panic!("nobody sends requests to the local forge"),
        };
        let wanted = audit.iter().filter(|s| s.method == *method && s.path.contains(path_contains));
        wanted.map(|s| s.at).collect()
    }

    /// Every request that reached the forge, with how it was answered.
    pub(crate) fn all_requests(&self) -> Vec<String> {
        let audit = match &self.front {
            Front::Github(fake) => fake.stage.audit(),
            Front::Gitlab(fake) => fake.stage.audit(),
            Front::Local => panic!("nobody sends requests to the local forge"),
        };
        audit.iter().map(|seen| format!("{} {} {:?}", seen.method, seen.path, seen.answered)).collect()
    }

    /// Something that somebody does on the thread; the event that it makes is not told to anybody yet.
    pub(crate) fn act(
        &self,
        deed: impl FnOnce(&mut World, &ThreadRef, Millis) -> Result<Event, ForgeError>,
    ) -> Event {
        let thread = self.thread.clone();
        self.world.with(|world| deed(world, &thread, planwright::engine::now())).unwrap().unwrap()
    }

    pub(crate) fn assigned(&self, by: AccountId) -> Event {
        let bot = self.world.bot().id;
        self.act(|world, thread, now| world.assign(thread, bot, by, now))
    }

    pub(crate) fn said(&self, by: AccountId, words: &str) -> Event {
        self.act(|world, thread, now| world.comment(thread, by, words, now))
    }

    /// The webhook that the forge sends about an event.
    pub(crate) fn webhook(&self, event: &Event) -> Delivery {
        match &self.front {
            Front::Github(fake) => fake.webhook(event, SECRET),
            Front::Gitlab(fake) => fake.webhook(event, SECRET),
            Front::Local => local_webhook(event),
        }
    }

    pub(crate) async fn post(&self, base: &str, delivery: &Delivery) -> u16 {
        let path = self.thread.project.forge.as_str();
        let mut request = self.http.post(format!("{base}/webhooks/{path}")).body(delivery.body.clone());
        for (name, value) in &delivery.headers {
            request = request.header(name, value);
        }
        request.send().await.unwrap().status().as_u16()
    }

    /// What the bot has written, without the hidden markers.
    pub(crate) fn comments(&self) -> Vec<String> {
        self.bot_comments()
            .into_iter()
            .map(|(_, body)| body.split("\n\n<!-- ").next().unwrap().to_owned())
            .collect()
    }

    pub(crate) fn bot_comments(&self) -> Vec<(CommentId, String)> {
        let bot = self.world.bot().id;
        let comments = self.world.look(|world| world.comments(&self.thread)).unwrap();
        comments.into_iter().filter(|c| c.author.id == bot).map(|c| (c.id, c.body)).collect()
    }

    pub(crate) fn cards(&self) -> Vec<String> {
        self.comments().into_iter().filter(|body| body.starts_with("## 📋")).collect()
    }

    /// The one card; more or fewer than one is a failure.
    pub(crate) fn card(&self) -> String {
        let cards = self.cards();
        assert_eq!(cards.len(), 1, "not one card: {cards:#?}");
        cards.into_iter().next().unwrap()
    }

    /// The previews, oldest first, with the ids of their comments.
    pub(crate) fn previews(&self) -> Vec<(CommentId, String)> {
        self.bot_comments().into_iter().filter(|(_, body)| body.starts_with("## 🔎")).collect()
    }

    /// The history's lines of one type.
    pub(crate) fn entries(&self, kind: &str) -> Vec<serde_json::Value> {
        let text = self.whole_lines();
        let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        lines.filter(|line| line["type"] == kind).collect()
    }

    /// The history without a line that is being written right now.
    fn whole_lines(&self) -> String {
        let mut text = std::fs::read_to_string(self.history()).unwrap_or_default();
        text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
        text
    }

    pub(crate) fn faces(&self, on: Option<CommentId>) -> Vec<Reaction> {
        let bot = self.world.bot().id;
        self.world.look(|world| {
            let thread = world.thread(&self.thread).unwrap();
            thread.reactions.iter().filter(|r| r.by == bot && r.on == on).map(|r| r.reaction).collect()
        })
    }

    pub(crate) fn history(&self) -> PathBuf {
        planwright::store::History::new(self.dir.path()).path(&self.thread)
    }

    /// The types of all facts in the history file, whose chain must be sound.
    pub(crate) fn facts(&self) -> Vec<String> {
        let text = self.whole_lines();
        if !text.is_empty() {
            // A copy, so that it does not grow while it is looked at.
            let copy = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(copy.path(), &text).unwrap();
            assert_eq!(planwright::store::verify(copy.path()).unwrap().first_problem, None);
        }
        let kind = |line: &str| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["type"].as_str().unwrap().to_owned()
        };
        text.lines().map(kind).collect()
    }
}

fn furnish(world: &mut World, project: &Project) -> ThreadRef {
    world.add_project(project, Visibility::Public);
    world.add_account(Account::person(2, "maria"));
    world.add_account(Account::person(3, "tom"));
    for (who, level) in
        [(AccountId(1), Permission::Write), (MARIA, Permission::Write), (TOM, Permission::Read)]
    {
        world.set_member(project, who, level).unwrap();
    }
    world.set_file(project, "README.md", "# web\n").unwrap();
    let issue = NewThread { body: "Please.".to_owned(), ..NewThread::titled("Check tokens at login", MARIA) };
    world.open(project, issue, planwright::engine::now()).unwrap().thread
}

fn local_webhook(event: &Event) -> Delivery {
    use hmac::{Hmac, KeyInit as _, Mac as _};
    let body = serde_json::to_vec(event).unwrap();
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(&body);
    let signature = format!("sha256={}", hex::encode(mac.finalize().into_bytes()));
    let id = uuid::Uuid::now_v7().to_string();
    Delivery {
        headers: vec![("x-hub-signature-256".into(), signature), ("x-planwright-delivery".into(), id)],
        body,
    }
}

fn log_file(dir: &Path) -> std::fs::File {
    std::fs::File::options().create(true).append(true).open(dir.join("log.txt")).unwrap()
}

/// The bot, running in this process.
pub(crate) struct Bot<'a> {
    pub(crate) scene: &'a Scene,
    pub(crate) base: String,
    pub(crate) ctx: Arc<Ctx>,
    task: JoinHandle<anyhow::Result<()>>,
}

impl Bot<'_> {
    /// Tells the bot of an event as the forge does, and waits until it has nothing left to do.
    pub(crate) async fn hears(&self, event: &Event) {
        assert_eq!(self.scene.post(&self.base, &self.scene.webhook(event)).await, 202);
        self.quiet().await;
    }

    pub(crate) async fn assigned(&self, by: AccountId) {
        self.hears(&self.scene.assigned(by)).await;
    }

    pub(crate) async fn told(&self, by: AccountId, words: &str) {
        self.hears(&self.scene.said(by, words)).await;
    }

    pub(crate) async fn quiet(&self) {
        let engine = planwright::engine::Engine::new(Arc::clone(&self.ctx));
        let waited = tokio::time::timeout(Duration::from_secs(20), engine.idle()).await;
        assert!(waited.is_ok(), "the bot is still busy");
    }

    /// Stops the bot as SIGTERM does. Nothing may be left over: no open delivery, no unused words of the model.
    pub(crate) async fn ends(self) {
        let open = self.ctx.store.has_pending(&self.scene.thread).await.unwrap();
        assert!(!open, "a delivery was not taken");
        let model = &self.scene.model;
        self.stops().await;
        model.assert_nothing_left_over();
    }

    pub(crate) async fn stops(self) {
        self.ctx.shutdown.cancel();
        self.task.await.unwrap().unwrap();
    }
}

/// The bot as a process of its own.
pub(crate) struct Process<'a> {
    scene: &'a Scene,
    base: String,
    child: Child,
}

impl Process<'_> {
    /// Whether it says that it listens, and answers, before it ends.
    async fn is_ready(&mut self) -> bool {
        let says = format!("listening on {}", self.base);
        for _ in 0..3_000 {
            let answer = self.scene.http.get(format!("{}/readyz", self.base)).send().await;
            if self.child.try_wait().unwrap().is_some() {
                return false;
            }
            if self.scene.log().contains(&says) && answer.is_ok_and(|answer| answer.status().is_success()) {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        false
    }

    async fn wait_until_ready(&self) {
        self.scene
            .until("the server is ready", || async {
                let answer = self.scene.http.get(format!("{}/readyz", self.base)).send().await;
                answer.is_ok_and(|answer| answer.status().is_success())
            })
            .await;
    }

    pub(crate) async fn post(&self, delivery: &Delivery) -> u16 {
        self.scene.post(&self.base, delivery).await
    }

    /// The status of the answer, if the bot lives long enough to give one.
    pub(crate) async fn try_post(&self, delivery: &Delivery) -> Option<u16> {
        let path = self.scene.thread.project.forge.as_str();
        let mut request =
            self.scene.http.post(format!("{}/webhooks/{path}", self.base)).body(delivery.body.clone());
        for (name, value) in &delivery.headers {
            request = request.header(name, value);
        }
        request.send().await.ok().map(|answer| answer.status().as_u16())
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn is_dead(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// `kill -9`: no goodbye, no flush.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Scene {
    /// Waits for something that can be seen, and fails with the bot's log if it never comes.
    pub(crate) async fn until<F: Future<Output = bool>>(&self, what: &str, mut is_so: impl FnMut() -> F) {
        for _ in 0..3_000 {
            if is_so().await {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!(
            "never: {what}\n{}\n{}",
            std::fs::read_to_string(self.history()).unwrap_or_default(),
            self.log()
        );
    }

    pub(crate) async fn until_seen(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        self.until(what, || std::future::ready(is_so(self))).await;
    }
}
