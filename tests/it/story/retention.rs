//! Purpose: a thread long quiet is forgotten where the settings want that, and nothing else comes of it.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use planwright::domain::{ForgeKind, Millis};
use planwright::engine::Ctx;
use planwright::store::{Verified, verify};

use super::acting::three_files;
use super::bot::{ALL, Bot, MARIA, Scene};
use crate::fake_forge::Fault;

fn in_a_year() -> Millis {
    planwright::engine::now().plus(365 * 24 * 3_600_000)
}

fn keeps_a_month(ctx: &mut Ctx) {
    Arc::make_mut(&mut ctx.config).store.keep_days = NonZeroU32::new(30);
    ctx.sweep_every = Duration::from_millis(100);
}

fn is_a_year_later(ctx: &mut Ctx) {
    keeps_a_month(ctx);
    ctx.clock = in_a_year;
}

/// The bot comes back after a year and keeps what is younger than a month; some sweeps later.
async fn a_year_later(scene: &Scene) -> Bot<'_> {
    let bot = scene.start_with(is_a_year_later).await;
    sweeps_on(&bot).await;
    bot
}

async fn sweeps_on(bot: &Bot<'_>) {
    some_sweeps(bot).await;
    bot.quiet().await;
}

async fn some_sweeps(bot: &Bot<'_>) {
    let now = *bot.ctx.swept.borrow();
    bot.ctx.swept.subscribe().wait_for(|sweeps| *sweeps > now + 3).await.unwrap();
}

/// A run is begun and told something, and the bot goes away; what is written by then.
async fn told_and_left(scene: &Scene, words: &str) -> Vec<String> {
    three_files(scene);
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    bot.told(MARIA, words).await;
    let before = scene.facts();
    bot.stops().await;
    before
}

fn is_sound(scene: &Scene, lines: u64) {
    assert_eq!(verify(&scene.history()).unwrap(), Verified { lines, first_problem: None });
}

/// All files below the directory of the logs.
fn logs(scene: &Scene) -> Vec<PathBuf> {
    let runs = std::fs::read_dir(scene.dir.path().join("logs")).unwrap();
    runs.flat_map(|run| std::fs::read_dir(run.unwrap().path()).unwrap())
        .map(|file| file.unwrap().path())
        .collect()
}

#[tokio::test]
async fn a_run_that_ended_long_ago_is_forgotten_and_the_standing_assignment_begins_nothing() {
    for kind in ALL {
        let scene = Scene::on(kind).await;
        three_files(&scene);
        let bot = scene.start_with(keeps_a_month).await;
        bot.assigned(MARIA).await;
        bot.told(MARIA, "@planwright approve").await;
        assert!(scene.card().contains("🚀 done"), "{kind}: {}", scene.card());
        sweeps_on(&bot).await;
        let entries = scene.facts().len();
        assert!(scene.entries("forgotten").is_empty() && entries > 10, "{kind}: it is young");
        assert!(!logs(&scene).is_empty(), "{kind}");
        bot.stops().await;
        let aside = scene.history().with_extension("jsonl.damaged-3");
        std::fs::write(&aside, "what was damaged").unwrap();
        let said = scene.comments();

        let bot = a_year_later(&scene).await;
        assert_eq!(scene.facts(), ["forgotten"], "{kind}");
        assert_eq!(scene.entries("forgotten")[0]["entries"], entries, "{kind}");
        assert_eq!(scene.entries("forgotten")[0]["seq"], entries + 1, "{kind}: the chain goes on");
        is_sound(&scene, 1);
        assert_eq!((logs(&scene), aside.exists()), (vec![], false), "{kind}");
        assert_eq!(scene.comments(), said, "{kind}: nobody hears of it");
        if kind != ForgeKind::Local {
            let listed = || ["/comments", "/notes"].map(|path| scene.requests(&Method::GET, path).len());
            let before = listed();
            sweeps_on(&bot).await;
            assert_eq!(listed(), before, "{kind}: nothing is looked up for what is forgotten");
        }

        let id = scene.world.bot().id;
        let left = scene.act(|world, thread, now| world.unassign(thread, id, MARIA, now));
        bot.hears(&left).await;
        bot.assigned(MARIA).await;
        assert_eq!(scene.facts()[..2], ["forgotten", "triggered"], "{kind}");
        is_sound(&scene, scene.facts().len() as u64);
        bot.ends().await;
    }
}

#[tokio::test]
async fn a_run_that_still_waits_is_kept() {
    let scene = Scene::on(ForgeKind::Github).await;
    let before = told_and_left(&scene, "@planwright pause").await;
    let bot = a_year_later(&scene).await;
    assert_eq!(scene.facts()[..before.len()], before);
    assert!(scene.entries("forgotten").is_empty());
    bot.stops().await;
}

#[tokio::test]
async fn who_was_unassigned_long_ago_is_still_found_when_assigned_unheard() {
    for kind in ALL {
        let scene = Scene::on(kind).await;
        three_files(&scene);
        let bot = scene.start().await;
        bot.assigned(MARIA).await;
        let id = scene.world.bot().id;
        bot.hears(&scene.act(|world, thread, now| world.unassign(thread, id, MARIA, now))).await;
        bot.stops().await;
        let bot = a_year_later(&scene).await;
        assert_eq!(scene.facts(), ["forgotten"], "{kind}");
        bot.stops().await;
        scene.assigned(MARIA);
        let bot = a_year_later(&scene).await;
        assert_eq!(scene.entries("triggered").len(), 1, "{kind}: the sweep finds it");
        bot.stops().await;
    }
}

#[tokio::test]
async fn what_cannot_be_removed_leaves_all_as_it_is() {
    let scene = Scene::on(ForgeKind::Github).await;
    let before = told_and_left(&scene, "@planwright cancel").await;
    // Where a directory is expected there is a file, which cannot be removed as one.
    let run = scene.entries("triggered")[0]["run"].as_str().unwrap().to_owned();
    let logs = scene.dir.path().join("logs").join(run);
    std::fs::remove_dir_all(&logs).unwrap();
    std::fs::write(&logs, "in the way").unwrap();
    let bot = a_year_later(&scene).await;
    assert_eq!(scene.facts(), before);
    is_sound(&scene, before.len() as u64);
    std::fs::remove_file(&logs).unwrap();
    bot.stops().await;
    let bot = a_year_later(&scene).await;
    assert_eq!(scene.facts(), ["forgotten"]);
    bot.stops().await;
}

/// The branch cannot be pushed, when the run is ended and a year later: its work is nowhere else.
#[tokio::test]
async fn work_that_could_not_be_pushed_is_kept_until_it_can() {
    let scene = Scene::on(ForgeKind::Github).await;
    three_files(&scene);
    scene.repo.refuse_pushes();
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    bot.told(MARIA, "@planwright approve").await;
    let before = scene.facts();
    assert!(before.contains(&"failed".to_owned()), "{before:?}");
    bot.stops().await;
    let bot = a_year_later(&scene).await;
    assert_eq!(scene.facts(), before);
    assert_eq!(scene.repo.branches(), ["main"]);
    scene.repo.allow_pushes();
    sweeps_on(&bot).await;
    assert_eq!(scene.facts(), ["forgotten"]);
    assert_eq!(scene.repo.branches().len(), 2, "it was pushed first");
    bot.stops().await;
}

/// The forge takes no edits when the run ends, and not a year later either.
#[tokio::test]
async fn how_a_run_ended_is_shown_before_it_is_forgotten() {
    let scene = Scene::on(ForgeKind::Github).await;
    three_files(&scene);
    let bot = scene.start().await;
    bot.assigned(MARIA).await;
    scene.fault(http::Method::PATCH, "/comments/", Fault::Status(502), u32::MAX);
    bot.told(MARIA, "@planwright cancel").await;
    let before = scene.facts();
    bot.stops().await;
    let bot = scene.start_with(is_a_year_later).await;
    some_sweeps(&bot).await;
    assert_eq!(scene.facts(), before);
    assert!(!scene.card().contains("cancelled"), "{}", scene.card());
    bot.stops().await;
    scene.heal();
    let bot = a_year_later(&scene).await;
    assert_eq!(scene.facts(), ["forgotten"]);
    assert!(scene.card().contains("cancelled"), "{}", scene.card());
    bot.stops().await;
}

#[tokio::test]
async fn whoever_sits_with_one_thread_loses_nothing_of_it() {
    let scene = Scene::on(ForgeKind::Local).await;
    let before = told_and_left(&scene, "@planwright cancel").await;
    let sits = |ctx: &mut Ctx| {
        keeps_a_month(ctx);
        ctx.clock = in_a_year;
        ctx.only = Some(scene.thread.clone());
    };
    let bot = scene.start_with(sits).await;
    bot.ctx.store.wake(&scene.thread, planwright::engine::now()).await.unwrap();
    sweeps_on(&bot).await;
    assert_eq!(scene.facts(), before);
    bot.stops().await;
}
