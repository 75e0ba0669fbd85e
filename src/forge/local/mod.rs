//! Purpose: the local forge: a [`World`] in this process, kept in a file if one is given. No network, no account.
//!
//! It is the forge of the demo and the fake of the engine's tests, so it refuses what the others refuse.

mod bare;
mod changes;
mod deeds;
mod disk;
mod world;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use changes::{NewReview, Verdict};
use disk::WorldFile;
pub use world::{
    ChangeState, CommentState, LogEntry, Logged, NewThread, ProjectState, Reacted, ReviewState, ThreadState,
    Visibility, World,
};

use super::{ForgeError, Reaction, text_of_file};
use crate::domain::{
    Account, AccountId, AccountKind, Comment, CommentId, Millis, Permission, Project, Thread, ThreadRef,
};

pub struct LocalSettings {
    /// Where the world is kept; without it, it lives as long as the process.
    pub path: Option<PathBuf>,
    pub bot: Account,
    pub clock: fn() -> Millis,
}

#[derive(Clone)]
pub struct Local(Arc<Inner>);

struct Inner {
    world: Mutex<World>,
    bot: Account,
    clock: fn() -> Millis,
    file: Option<WorldFile>,
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { world: _, bot, clock: _, file } = &*self.0;
        f.debug_struct("Local").field("bot", bot).field("file", file).finish_non_exhaustive()
    }
}

impl Local {
    /// # Errors
    /// `Invalid` when another process has the file open; otherwise when it cannot be read or written.
    pub fn open(settings: LocalSettings) -> Result<Self, ForgeError> {
        let LocalSettings { path, bot, clock } = settings;
        let (file, mut world) = match path {
            Some(path) => WorldFile::open(path).map(|(file, world)| (Some(file), world))?,
            None => (None, World::default()),
        };
        world.add_account(bot.clone());
        Ok(Self(Arc::new(Inner { world: Mutex::new(world), bot, clock, file })))
    }

    /// Acts on the world as people do. What `act` changed is on disk before this returns; if it cannot be stored, the
    /// world stays as it was.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn with<T>(&self, act: impl FnOnce(&mut World) -> T) -> Result<T, ForgeError> {
        let mut world = self.lock();
        let mut draft = world.clone();
        let done = act(&mut draft);
        if let Some(file) = &self.0.file {
            file.save(&draft)?;
        }
        *world = draft;
        Ok(done)
    }

    /// Looks without touching.
    pub fn look<T>(&self, look: impl FnOnce(&World) -> T) -> T {
        look(&self.lock())
    }

    #[must_use]
    pub fn bot(&self) -> &Account {
        &self.0.bot
    }

    #[must_use]
    pub fn now(&self) -> Millis {
        (self.0.clock)()
    }

    /// Changes are made on a copy, so a thread that died in the middle left the world whole.
    fn lock(&self) -> MutexGuard<'_, World> {
        self.0.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something in the bot's name, if the bot may.
    fn act<T>(
        &self,
        p: &Project,
        needs: Permission,
        act: impl FnOnce(&mut World, AccountId, Millis) -> Result<T, ForgeError>,
    ) -> Result<T, ForgeError> {
        let (bot, now) = (self.0.bot.id, self.now());
        self.with(|world| {
            world.must(p, bot, needs)?;
            act(world, bot, now)
        })?
    }

    fn see<T>(
        &self,
        p: &Project,
        look: impl FnOnce(&World) -> Result<T, ForgeError>,
    ) -> Result<T, ForgeError> {
        self.look(|world| {
            world.must(p, self.0.bot.id, Permission::Read)?;
            look(world)
        })
    }
}

/// What every forge can do.
impl Local {
    pub(super) fn me(&self) -> Result<Account, ForgeError> {
        Ok(self.0.bot.clone())
    }

    pub(super) fn account(&self, login: &str) -> Result<Option<Account>, ForgeError> {
        Ok(self.look(|world| world.account_called(login).cloned()))
    }

    pub(super) fn thread(&self, t: &ThreadRef) -> Result<Thread, ForgeError> {
        self.see(&t.project, |world| world.picture(t))
    }

    pub(super) fn comments(&self, t: &ThreadRef) -> Result<Vec<Comment>, ForgeError> {
        self.see(&t.project, |world| world.comments(t))
    }

    pub(super) fn comment(&self, t: &ThreadRef, id: CommentId) -> Result<Option<Comment>, ForgeError> {
        Ok(self.comments(t)?.into_iter().find(|comment| comment.id == id))
    }

    pub(super) fn create_comment(&self, t: &ThreadRef, body: &str) -> Result<CommentId, ForgeError> {
        self.act(&t.project, Permission::Read, |world, bot, now| {
            world.comment(t, bot, body, now)?;
            let newest = world.thread(t)?.comments.last().map(|comment| comment.id);
            newest.ok_or_else(|| ForgeError::Broken("the comment is not there".into()))
        })
    }

    pub(super) fn edit_comment(&self, t: &ThreadRef, id: CommentId, body: &str) -> Result<(), ForgeError> {
        self.act(&t.project, self.to_change(t, id)?, |world, bot, now| {
            world.edit_comment((t, id), bot, body, now).map(|_| ())
        })
    }

    pub(super) fn delete_comment(&self, t: &ThreadRef, id: CommentId) -> Result<(), ForgeError> {
        self.act(&t.project, self.to_change(t, id)?, |world, bot, now| {
            world.delete_comment(t, id, bot, now).map(|_| ())
        })
    }

    /// One's own comments are one's own; those of others need the right to write.
    fn to_change(&self, t: &ThreadRef, id: CommentId) -> Result<Permission, ForgeError> {
        let comments = self.comments(t)?;
        let others = comments.iter().any(|comment| comment.id == id && comment.author.id != self.0.bot.id);
        Ok(if others { Permission::Write } else { Permission::Read })
    }

    pub(super) fn react(&self, t: &ThreadRef, on: Option<CommentId>, r: Reaction) -> Result<(), ForgeError> {
        self.act(&t.project, Permission::Read, |world, bot, _| world.react(t, on, r, bot).map(|_| ()))
    }

    pub(super) fn unreact(
        &self,
        t: &ThreadRef,
        on: Option<CommentId>,
        r: Reaction,
    ) -> Result<(), ForgeError> {
        self.act(&t.project, Permission::Read, |world, bot, _| {
            let given = &world.thread(t)?.reactions;
            let ours = given.iter().find(|g| g.on == on && g.by == bot && g.reaction == r).map(|g| g.id);
            ours.map_or(Ok(()), |id| world.unreact(t, id))
        })
    }

    pub(super) fn assign(&self, t: &ThreadRef, who: &Account) -> Result<(), ForgeError> {
        self.act(&t.project, Permission::Triage, |world, bot, now| {
            if world.permission(&t.project, who.id) == Permission::None {
                return Err(ForgeError::Invalid(format!("`{}` cannot be assigned there", who.login)));
            }
            world.assign(t, who.id, bot, now).map(|_| ())
        })
    }

    pub(super) fn unassign(&self, t: &ThreadRef, who: &Account) -> Result<(), ForgeError> {
        self.act(&t.project, Permission::Triage, |world, bot, now| {
            world.unassign(t, who.id, bot, now).map(|_| ())
        })
    }

    pub(super) fn add_label(&self, t: &ThreadRef, label: &str) -> Result<(), ForgeError> {
        self.act(&t.project, Permission::Triage, |world, bot, now| {
            world.label(t, label, bot, now).map(|_| ())
        })
    }

    pub(super) fn remove_label(&self, t: &ThreadRef, label: &str) -> Result<(), ForgeError> {
        self.act(&t.project, Permission::Triage, |world, bot, now| {
            world.unlabel(t, label, bot, now).map(|_| ())
        })
    }

    pub(super) fn permission(&self, p: &Project, who: &Account) -> Result<Permission, ForgeError> {
        Ok(match who.kind {
            AccountKind::Ghost => Permission::None,
            AccountKind::Person | AccountKind::Bot => self.look(|world| world.permission(p, who.id)),
        })
    }

    pub(super) fn read_file(&self, p: &Project, path: &str) -> Result<Option<String>, ForgeError> {
        let found = self.see(p, |world| Ok(world.project(p)?.files.get(path).cloned()))?;
        found.map(|text| text_of_file(text.into_bytes())).transpose()
    }

    pub(super) fn waiting_threads(&self, label: Option<&str>) -> Result<Vec<ThreadRef>, ForgeError> {
        let bot = self.0.bot.id;
        Ok(self.look(|world| {
            let member =
                |t: &ThreadRef| world.project(&t.project).is_ok_and(|p| p.members.contains_key(&bot));
            let labelled =
                |thread: &ThreadState| label.is_some_and(|l| thread.labels.iter().any(|given| given == l));
            let waits = |(t, thread): &(&ThreadRef, &ThreadState)| {
                thread.open && (thread.assignees.contains(&bot) || (labelled(thread) && member(t)))
            };
            world.threads().filter(waits).map(|(t, _)| t.clone()).collect()
        }))
    }

    pub(super) fn who_assigned(&self, t: &ThreadRef) -> Result<Option<Account>, ForgeError> {
        self.who_did(t, &Logged::Assigned(self.0.bot.id))
    }

    pub(super) fn who_labelled(&self, t: &ThreadRef, label: &str) -> Result<Option<Account>, ForgeError> {
        self.who_did(t, &Logged::Labelled(label.into()))
    }

    fn who_did(&self, t: &ThreadRef, what: &Logged) -> Result<Option<Account>, ForgeError> {
        self.see(&t.project, |world| {
            let newest = world.thread(t)?.log.iter().rfind(|entry| entry.what == *what);
            newest.map(|entry| world.account(entry.by).cloned()).transpose()
        })
    }

    pub(super) fn check_access(&self, p: &Project) -> Result<Permission, ForgeError> {
        self.see(p, |world| Ok(world.permission(p, self.0.bot.id)))
    }
}
