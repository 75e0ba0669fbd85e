//! Purpose: bring what people see in step with the record: owed answers, the card, the reaction.
//!
//! Each comment has a key and carries it as a hidden marker. A comment is begun in the store before it is posted; if a
//! POST's outcome was never learned (crash, time-out, reset), the next try finds the row begun, looks for the marker
//! among the bot's own comments, and only posts when there is none.
//!
//! What somebody does to a comment while it is edited is not lost: the edit is written down only if nothing else was.
//! Accepted: whoever changes a comment in the moment before its id is known has changed nothing of ours yet, and their
//! text stays until there is something new to show.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::asides::{Aside, Post, asides};
use super::ctx::Ctx;
use super::desk::Desk;
use crate::domain::{CommentId, Millis, Reaction, ThreadRef};
use crate::forge::{Forge, ForgeError};
use crate::plan::ActionId;
use crate::planning::{Fact, Key, Owed, Request, Revision, Run, RunId};
use crate::render;
use crate::store::{CommentState, Held, ThreadLease};

/// All that the thread should show, drawn from the record alone.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Picture {
    run: Option<RunId>,
    answers: Vec<(Owed, Option<String>)>,
    card: Option<(String, String)>,
    /// The preview that is not on the thread yet, or not all of it.
    preview: Option<UnpostedPreview>,
    /// What is asked of people before the plan, and told about replans: each a comment that is brought up to date.
    asides: Vec<Aside>,
    face: Option<(String, Option<Reaction>)>,
}

pub(super) struct Published {
    /// The run whose picture it is.
    pub run: Option<RunId>,
    pub replied: Vec<Fact>,
    pub drawn: Drawn,
}

pub(super) enum Drawn {
    Shown(Picture),
    Later(Millis),
}

/// The name under which a publication is in flight; there is one at a time.
pub(super) fn key() -> Key {
    Key("publish".to_owned())
}

impl Picture {
    pub(super) fn of(ctx: &Ctx, desk: &Desk) -> Self {
        let voice = &desk.voice;
        let run = desk.record.run.as_deref();
        let answers = desk.record.owed.iter().map(|owed| {
            let text = render::reply(owed, &desk.record, voice);
            (owed.clone(), text)
        });
        Self {
            run: run.map(|run| run.id.clone()),
            answers: answers.collect(),
            card: run.and_then(|run| Some((format!("card/{}", run.id), render::card(run, voice)?))),
            preview: preview(ctx, desk),
            asides: run.map_or(vec![], |run| asides(run, voice, desk.manner)),
            face: run.map(|run| (format!("face/{}", run.id), render::reaction(run))),
        }
    }

    /// Whether somebody waits for an answer, or for something to answer.
    pub(super) fn is_owed(desk: &Desk) -> bool {
        let unasked = desk.record.live_run().is_some_and(Run::awaits_post);
        !desk.record.owed.is_empty() || unposted(desk).is_some() || unasked
    }

    /// What remains to be seen once the answers are given.
    fn without_answers(self) -> Self {
        Self { answers: vec![], preview: None, ..self }
    }
}

/// Of the live run only: what nobody can answer any more needs no preview.
fn unposted(desk: &Desk) -> Option<(&Run, &Revision, &Request)> {
    let run = desk.record.live_run()?;
    let plan = run.plan()?;
    let request = run.open_request(plan).filter(|request| request.comments.is_empty())?;
    Some((run, plan, request))
}

/// A preview whose parts have to be posted, each under its own key.
#[derive(Debug, Clone, PartialEq)]
struct UnpostedPreview {
    request: u32,
    parts: Vec<(String, String)>,
    unreadable: Vec<ActionId>,
}

fn preview(ctx: &Ctx, desk: &Desk) -> Option<UnpostedPreview> {
    let (run, plan, request) = unposted(desk)?;
    let redact = |text: &str| ctx.redactor.clean_outgoing(text).into_owned();
    let render::Preview { parts, unreadable } = render::preview(run, plan, request, &desk.voice, &redact);
    // Requests are counted per plan, and there may be several plans in a run.
    let key = format!("preview/{}/{}/{}", run.id, run.revisions.len(), request.number);
    let keys = (1..).map(|part| if part == 1 { key.clone() } else { format!("{key}/{part}") });
    Some(UnpostedPreview { request: request.number, parts: keys.zip(parts).collect(), unreadable })
}

pub(super) async fn publish(ctx: Arc<Ctx>, lease: ThreadLease, picture: Picture) -> Published {
    let mut replied = vec![];
    let mut failed = None;
    let easel = match Easel::new(&ctx, &lease) {
        Ok(easel) => easel,
        Err(trouble) => {
            return Published {
                run: picture.run,
                replied,
                drawn: Drawn::Later(trouble.when(&ctx, lease.thread())),
            };
        }
    };
    for (owed, text) in &picture.answers {
        match easel.answer(owed, text.as_deref()).await {
            Ok(comment) => replied.push(Fact::Replied { key: owed.key().clone(), comment }),
            Err(trouble) => failed = Some(trouble),
        }
        if failed.as_ref().is_some_and(Trouble::is_a_limit) {
            break;
        }
    }
    if !failed.as_ref().is_some_and(Trouble::is_a_limit)
        && let Err(trouble) = easel.draw(&picture).await
    {
        failed = Some(trouble);
    }
    // After the card, so that the thread reads in order.
    for aside in &picture.asides {
        if failed.as_ref().is_some_and(Trouble::is_a_limit) {
            break;
        }
        match easel.show(&aside.key, &aside.text, aside.what.post()).await {
            Ok(comment) if aside.known != Some(comment) => replied.extend(aside.what.posted(comment)),
            Ok(_) => {}
            Err(trouble) => {
                replied.extend(trouble.refusal().and_then(|why| aside.what.unposted(why)));
                failed = Some(trouble);
            }
        }
    }
    if let Some(preview) = &picture.preview {
        match easel.post_preview(preview).await {
            Ok(fact) => replied.push(fact),
            Err(trouble) => failed = Some(trouble),
        }
    }
    let run = picture.run.clone();
    let drawn = match failed {
        None => Drawn::Shown(picture.without_answers()),
        Some(trouble) => Drawn::Later(trouble.when(&ctx, lease.thread())),
    };
    Published { run, replied, drawn }
}

enum Trouble {
    Forge(ForgeError),
    Store(anyhow::Error),
}

impl From<ForgeError> for Trouble {
    fn from(error: ForgeError) -> Self {
        Self::Forge(error)
    }
}

impl From<crate::store::StoreError> for Trouble {
    fn from(error: crate::store::StoreError) -> Self {
        Self::Store(error.into())
    }
}

impl Trouble {
    /// The forge wants to be left alone: nothing more is tried.
    fn is_a_limit(&self) -> bool {
        matches!(self, Self::Forge(ForgeError::RateLimited { .. }))
    }

    /// Why the forge will not take it, however often it is asked.
    fn refusal(&self) -> Option<&str> {
        match self {
            Self::Forge(
                ForgeError::Forbidden(why) | ForgeError::NotFound(why) | ForgeError::Invalid(why),
            ) => Some(why),
            Self::Forge(
                ForgeError::RateLimited { .. }
                | ForgeError::Unauthorized(_)
                | ForgeError::Unclear(_)
                | ForgeError::Broken(_),
            )
            | Self::Store(_) => None,
        }
    }

    fn when(&self, ctx: &Ctx, thread: &ThreadRef) -> Millis {
        match self {
            Self::Forge(ForgeError::RateLimited { retry_after, .. }) => ctx.after(*retry_after),
            // It may have happened: look soon whether it did.
            Self::Forge(ForgeError::Unclear(why)) => {
                tracing::warn!("{thread}: not clear whether a comment was written, will look: {why}");
                ctx.now().plus(1_000)
            }
            Self::Forge(error) => {
                tracing::error!("cannot show {thread} as it is: {error}");
                ctx.soon(thread)
            }
            Self::Store(error) => {
                tracing::error!("cannot show {thread} as it is: {error:#}");
                ctx.soon(thread)
            }
        }
    }
}

struct Easel<'a> {
    ctx: &'a Ctx,
    lease: &'a ThreadLease,
    forge: &'a Forge,
}

impl<'a> Easel<'a> {
    fn new(ctx: &'a Ctx, lease: &'a ThreadLease) -> Result<Self, Trouble> {
        let forge = ctx.forge(lease.thread().project.forge).map_err(Trouble::Store)?;
        Ok(Self { ctx, lease, forge })
    }

    fn thread(&self) -> &ThreadRef {
        self.lease.thread()
    }

    async fn answer(&self, owed: &Owed, text: Option<&str>) -> Result<Option<CommentId>, Trouble> {
        if let Some(text) = text {
            let key = format!("{}/{}", self.thread(), owed.key());
            return Ok(Some(self.show_comment(&key, text).await?));
        }
        if let Owed::Refusal { comment: Some(comment), .. } = owed {
            self.write().await;
            match self.forge.react(self.thread(), Some(*comment), Reaction::Confused).await {
                // Who takes a comment back needs no answer to it.
                Ok(()) | Err(ForgeError::NotFound(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(None)
    }

    /// A face that cannot be shown does not keep the card away.
    async fn draw(&self, picture: &Picture) -> Result<(), Trouble> {
        let faced = match &picture.face {
            Some((key, face)) => self.show_face(key, *face).await,
            None => Ok(()),
        };
        if let Some((key, text)) = &picture.card {
            self.show_comment(key, text).await?;
        }
        faced
    }

    /// The comment of this key shows this text; it is created, found again or edited, whichever is needed.
    async fn show_comment(&self, key: &str, text: &str) -> Result<CommentId, Trouble> {
        self.show(key, text, Post::Comment).await
    }

    async fn show(&self, key: &str, text: &str, post: Post) -> Result<CommentId, Trouble> {
        self.show_clean(key, &self.ctx.redactor.clean_outgoing(text), post).await
    }

    /// As [`Self::show`], with a text from which secrets are removed already.
    async fn show_clean(&self, key: &str, text: &str, post: Post) -> Result<CommentId, Trouble> {
        let marker = render::marker(key);
        let body = format!("{text}\n\n{marker}");
        let hash = hash(&body);
        match self.ctx.store.comment_begin(self.lease, key, self.ctx.now()).await? {
            CommentState::Posted { id, body_hash } if body_hash == hash => Ok(id),
            CommentState::Posted { id, body_hash } => {
                self.edit(key, Standing { id, hash: &body_hash }, &body, post).await
            }
            CommentState::Fresh => self.create(key, &body, post).await,
            CommentState::Begun => match self.find(&marker).await? {
                Some(id) => {
                    // Its id first: what people do to it from now on is then known as done to this comment.
                    self.shown(key, id, UNKNOWN).await?;
                    self.edit(key, Standing { id, hash: UNKNOWN }, &body, post).await
                }
                None => self.create(key, &body, post).await,
            },
            CommentState::LeaseLost => Err(lease_lost()),
        }
    }

    /// Posts the parts in their order. Once all of them stand, none is touched again. Secrets are removed from each
    /// field where it is laid out: removing them from the whole text could take actions with them.
    async fn post_preview(&self, preview: &UnpostedPreview) -> Result<Fact, Trouble> {
        let mut comments = vec![];
        for (key, text) in &preview.parts {
            comments.push(self.show_clean(key, text, Post::Comment).await?);
        }
        let (request, unreadable) = (preview.request, preview.unreadable.clone());
        Ok(Fact::PreviewPosted { request, comments, unreadable })
    }

    async fn create(&self, key: &str, body: &str, post: Post) -> Result<CommentId, Trouble> {
        self.write().await;
        let id = match post {
            Post::Comment => self.forge.create_comment(self.thread(), body).await?,
            Post::Discussion => self.forge.open_discussion(self.thread(), body).await?,
        };
        self.shown(key, id, &hash(body)).await?;
        Ok(id)
    }

    /// Keeps what the forge shows now. A lease lost in between is found by the next write.
    async fn shown(&self, key: &str, id: CommentId, what: &str) -> Result<(), Trouble> {
        match self.ctx.store.comment_posted(self.lease, key, id, what).await? {
            Held::Yes => Ok(()),
            Held::Lost => Err(lease_lost()),
        }
    }

    async fn edit(
        &self,
        key: &str,
        before: Standing<'_>,
        body: &str,
        post: Post,
    ) -> Result<CommentId, Trouble> {
        self.write().await;
        match self.forge.edit_comment(self.thread(), before.id, body).await {
            Ok(()) => match self.ctx.store.comment_edited(self.lease, key, before.hash, &hash(body)).await? {
                Held::Yes => Ok(before.id),
                Held::Lost => Err(lease_lost()),
            },
            // Somebody deleted it. A run without its card cannot be followed, so it gets a new one.
            Err(ForgeError::NotFound(_)) => {
                self.begin_anew(key).await?;
                self.create(key, body, post).await
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn begin_anew(&self, key: &str) -> Result<(), Trouble> {
        let store = &self.ctx.store;
        let forgotten = store.comment_forgotten(self.lease, key).await?;
        match (forgotten, store.comment_begin(self.lease, key, self.ctx.now()).await?) {
            (Held::Lost, _) | (_, CommentState::LeaseLost) => Err(lease_lost()),
            (Held::Yes, CommentState::Fresh | CommentState::Begun | CommentState::Posted { .. }) => Ok(()),
        }
    }

    /// The oldest of the bot's own comments with this marker; younger twins are taken away.
    async fn find(&self, marker: &str) -> Result<Option<CommentId>, Trouble> {
        let me = self.forge.me().await?;
        let found = self.forge.find_comments(self.thread(), marker, me.id).await?;
        for twin in found.iter().skip(1) {
            self.write().await;
            self.forge.delete_comment(self.thread(), *twin).await?;
        }
        Ok(found.first().copied())
    }

    /// The run's one face on the thread. What was shown before is kept in the store, as a comment's text is; when that
    /// is not certain it can only have been 👀, and both reacting and taking back may safely be repeated.
    async fn show_face(&self, key: &str, face: Option<Reaction>) -> Result<(), Trouble> {
        let wanted = face.map_or("none", Reaction::as_str);
        let before = match self.ctx.store.comment_begin(self.lease, key, self.ctx.now()).await? {
            CommentState::Posted { body_hash, .. } if body_hash == wanted => return Ok(()),
            CommentState::Posted { body_hash, .. } => {
                FACES.into_iter().find(|face| face.as_str() == body_hash)
            }
            CommentState::Begun => Some(Reaction::Eyes),
            CommentState::Fresh => None,
            CommentState::LeaseLost => return Err(lease_lost()),
        };
        match self.change_face(before.filter(|before| Some(*before) != face), face).await {
            Err(ForgeError::Forbidden(why) | ForgeError::Invalid(why) | ForgeError::NotFound(why)) => {
                tracing::warn!("cannot react on {}, the card will do: {why}", self.thread());
            }
            changed => changed?,
        }
        self.shown(key, NO_COMMENT, wanted).await
    }

    async fn change_face(&self, before: Option<Reaction>, face: Option<Reaction>) -> Result<(), ForgeError> {
        self.write().await;
        if let Some(before) = before {
            self.forge.unreact(self.thread(), None, before).await?;
        }
        match face {
            Some(face) => self.forge.react(self.thread(), None, face).await,
            None => Ok(()),
        }
    }

    async fn write(&self) {
        self.ctx.pace(self.thread().project.forge).await;
    }
}

/// A comment as it was before an edit.
struct Standing<'s> {
    id: CommentId,
    /// As the store has it.
    hash: &'s str,
}

const FACES: [Reaction; 3] = [Reaction::Eyes, Reaction::Rocket, Reaction::Confused];

/// A face is no comment, so its row has no comment's id.
const NO_COMMENT: CommentId = CommentId(0);

/// In place of a hash: what a comment shows that was found again.
const UNKNOWN: &str = "";

fn lease_lost() -> Trouble {
    Trouble::Store(anyhow::anyhow!("the lease was lost"))
}

pub(super) fn hash(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()))
}
