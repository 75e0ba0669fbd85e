//! Purpose: the demo's stage: a sample repository with people on the local forge, and eyes on what happens there.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;

use super::app::local_bot;
use super::explain::Explainer;
use super::hook::Hook;
use super::out::{is_watched, say};
use super::sample;
use super::terminal::{self, BOLD, DIM, paint};
use crate::domain::{Account, AccountId, CommentId, Event, Permission, Project, Reaction, ThreadRef};
use crate::engine::{Engine, now};
use crate::forge::local::{NewThread, Visibility};
use crate::forge::{ForgeError, Local, LocalSettings, World};
use crate::planning::{Entry, Record, Run, RunId};
use crate::store::Store;

const ISSUE: &str = include_str!("demo_issue.md");

pub(super) struct Cast {
    pub ada: Account,
    pub mallory: Account,
    pub bot: Account,
}

impl Cast {
    pub(super) fn new() -> Self {
        Self { ada: Account::person(2, "ada"), mallory: Account::person(3, "mallory"), bot: local_bot() }
    }
}

pub(super) fn thread() -> anyhow::Result<ThreadRef> {
    Ok("local:greeter#1".parse()?)
}

/// A repository with a maintainer, a passer-by, and one open issue.
pub(super) fn build(path: &Path, bare: &Path, cast: &Cast) -> anyhow::Result<Local> {
    let local =
        Local::open(LocalSettings { path: Some(path.to_owned()), bot: cast.bot.clone(), clock: now })?;
    local.with(|world| furnish(world, bare, cast))??;
    Ok(local)
}

fn furnish(world: &mut World, bare: &Path, cast: &Cast) -> anyhow::Result<()> {
    let project: Project = "local:greeter".parse()?;
    world.add_project(&project, Visibility::Public);
    world.set_git(&project, bare)?;
    for (who, level) in
        [(&cast.ada, Permission::Maintain), (&cast.mallory, Permission::Read), (&cast.bot, Permission::Write)]
    {
        world.add_account(who.clone());
        world.set_member(&project, who.id, level)?;
    }
    world.set_file(&project, "README.md", sample::README)?;
    let issue = NewThread {
        body: ISSUE.to_owned(),
        ..NewThread::titled("Greet people in their own language", cast.ada.id)
    };
    world.open(&project, issue, now())?;
    Ok(())
}

pub(super) struct Stage {
    pub local: Local,
    pub store: Store,
    pub engine: Engine,
    pub hook: Hook,
    pub thread: ThreadRef,
    seen: Seen,
}

/// A webhook as it was sent, to be sent again.
pub(super) struct Sent {
    event: Event,
    id: String,
}

/// What the audience has been shown.
#[derive(Default)]
struct Seen {
    facts: i64,
    explainer: Explainer,
    comments: BTreeMap<CommentId, String>,
    reactions: Vec<(Option<CommentId>, Reaction)>,
}

impl Stage {
    pub(super) fn new(local: Local, store: Store, engine: Engine, hook: Hook) -> anyhow::Result<Self> {
        Ok(Self { local, store, engine, hook, thread: thread()?, seen: Seen::default() })
    }

    /// Somebody does something; the forge tells the server by a signed webhook, and we watch until all is quiet.
    pub(super) async fn act(
        &mut self,
        deed: impl FnOnce(&mut World, &ThreadRef) -> Result<Event, ForgeError>,
    ) -> anyhow::Result<Sent> {
        let thread = self.thread.clone();
        let event = self.local.with(|world| deed(world, &thread))??;
        self.note_own_comments();
        let sent = Sent { event, id: uuid::Uuid::now_v7().to_string() };
        let status = self.deliver(&sent).await?;
        self.line(&paint(DIM, &format!("signed webhook → {status}, stored"))).await;
        if status != 202 {
            bail!("the server did not take the webhook");
        }
        self.watch().await?;
        Ok(sent)
    }

    /// Sends a webhook as a forge does, and returns the status that came back.
    pub(super) async fn deliver(&self, sent: &Sent) -> anyhow::Result<u16> {
        self.hook.send(&sent.event, &sent.id).await
    }

    async fn watch(&mut self) -> anyhow::Result<()> {
        let engine = Engine::clone(&self.engine);
        let mut quiet = std::pin::pin!(engine.idle());
        loop {
            tokio::select! {
                done = &mut quiet => { done?; break }
                () = tokio::time::sleep(Duration::from_millis(20)) => self.show_news().await?,
            }
        }
        self.show_news().await
    }

    /// Everything is looked at before anything is shown: showing takes time, in which the world goes on.
    async fn show_news(&mut self) -> anyhow::Result<()> {
        let (rows, reactions, comments) =
            (self.store.journal(&self.thread).await?, self.reactions(), self.comments());
        for row in rows.iter().filter(|row| row.seq > self.seen.facts) {
            let entry = Entry::from_line(row.seq, row.at, row.run.clone().map(RunId), &row.line)?;
            let words = self.seen.explainer.explain(&entry.fact);
            for line in words.iter().flat_map(|words| terminal::wrap(&format!("· {words}"))) {
                self.line(&paint(DIM, &line)).await;
            }
        }
        self.seen.facts = rows.last().map_or(0, |row| row.seq);
        for (who, on, reaction) in reactions {
            if !self.seen.reactions.contains(&(on, reaction)) {
                self.seen.reactions.push((on, reaction));
                let place = if on.is_some() { "to the comment" } else { "to the issue" };
                self.line(&format!("{} {} {place}", paint(BOLD, &format!("@{who} reacted")), face(reaction)))
                    .await;
            }
        }
        for (id, author, body) in comments {
            match self.seen.comments.insert(id, body.clone()) {
                None => self.show_comment(&author, "commented", &body).await,
                Some(before) if before != body => self.show_edit(&author, &before, &body).await,
                Some(_) => {}
            }
        }
        Ok(())
    }

    pub(super) async fn show_comment(&self, author: &str, deed: &str, body: &str) {
        self.line(&paint(BOLD, &format!("@{author} {deed}"))).await;
        let text = terminal::markdown(body);
        self.box_of(text.lines()).await;
    }

    /// Only the lines that are new: a card is edited often and mostly stays as it is.
    async fn show_edit(&self, author: &str, before: &str, after: &str) {
        let (before, after) = (terminal::markdown(before), terminal::markdown(after));
        let known: Vec<&str> = before.lines().collect();
        self.line(&paint(BOLD, &format!("@{author} edited its card; new are"))).await;
        self.box_of(after.lines().filter(|line| !known.contains(line))).await;
    }

    pub(super) async fn box_of(&self, lines: impl Iterator<Item = &str>) {
        for line in lines.flat_map(terminal::wrap) {
            self.line(&format!("  ┃ {line}")).await;
        }
    }

    /// On a terminal things appear at a pace that one can read.
    pub(super) async fn line(&self, text: &str) {
        say(&format!("   {text}"));
        if is_watched() {
            tokio::time::sleep(Duration::from_millis(15)).await;
        }
    }

    /// What people wrote themselves is announced by the script, so it is no news.
    fn note_own_comments(&mut self) {
        let bot = self.local.bot().login.clone();
        for (id, author, body) in self.comments() {
            if author != bot {
                self.seen.comments.insert(id, body);
            }
        }
    }

    /// How many cards the bot has on the thread.
    pub(super) fn cards(&self) -> usize {
        let bot = &self.local.bot().login;
        let is_card = |body: &str| body.starts_with("## 📋");
        self.comments().iter().filter(|(_, author, body)| author == bot && is_card(body)).count()
    }

    /// The run as the journal has it now.
    pub(super) async fn run(&self) -> anyhow::Result<Option<Arc<Run>>> {
        let rows = self.store.journal(&self.thread).await?;
        let entries = rows
            .iter()
            .map(|row| Entry::from_line(row.seq, row.at, row.run.clone().map(RunId), &row.line))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Record::fold(&entries).run)
    }

    fn comments(&self) -> Vec<(CommentId, String, String)> {
        self.local.look(|world| {
            let comments = world.comments(&self.thread).unwrap_or_default();
            comments.into_iter().map(|c| (c.id, c.author.login, c.body)).collect()
        })
    }

    fn reactions(&self) -> Vec<(String, Option<CommentId>, Reaction)> {
        self.local.look(|world| {
            let login =
                |id: AccountId| world.account(id).map_or_else(|_| id.0.to_string(), |a| a.login.clone());
            let Ok(thread) = world.thread(&self.thread) else { return vec![] };
            thread.reactions.iter().map(|r| (login(r.by), r.on, r.reaction)).collect()
        })
    }
}

fn face(reaction: Reaction) -> &'static str {
    match reaction {
        Reaction::Eyes => "👀",
        Reaction::Rocket => "🚀",
        Reaction::Confused => "😕",
    }
}
