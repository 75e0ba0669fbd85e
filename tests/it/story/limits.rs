//! Purpose: a forge or a model that wants to be left alone, or is away for longer than a run has tries: it costs time, and
//! neither a run nor a request before the allowed instant.

use std::time::Duration;

use http::Method;
use planwright::domain::{ForgeKind, Millis};
use planwright::engine::{Ctx, now};
use planwright::forge::local::NewThread;
use planwright::forge::{Forge, Github, GithubAuth, GithubSettings};
use serde_json::Value;

use super::bot::{Front, MARIA, Scene};
use crate::fake_forge::{Fault, github};
use crate::forge_contract::quick;
use crate::scripted_model::Misbehaviour;

const HOUR: u64 = 3_600;
/// Where the comments of the thread are read, which the model is shown.
const COMMENTS: [(ForgeKind, &str); 2] =
    [(ForgeKind::Github, "/issues/1/comments"), (ForgeKind::Gitlab, "/issues/1/notes")];

fn half_an_hour_later() -> Millis {
    now().plus(30 * 60_000)
}

fn more_than_an_hour_later() -> Millis {
    now().plus(61 * 60_000)
}

/// One try more, at once: whoever heeds nobody's wishes asks again and gives up.
fn hasty(ctx: &mut Ctx) {
    ctx.policy.retry_after_ms = vec![20];
    ctx.patience_ms = 100;
}

/// With a client that does not ask again by itself for long.
fn hasty_client(scene: &Scene, ctx: &mut Ctx) {
    hasty(ctx);
    let Front::Github(fake) = &scene.front else { panic!("this is a story about GitHub") };
    let settings = GithubSettings {
        api_url: fake.api_url(),
        git_url: url::Url::from_file_path(scene.dir.path().join("git")).unwrap(),
        auth: GithubAuth::Token(github::TOKEN.into()),
        bot_login: None,
        patience: quick(),
    };
    ctx.forges.insert(ForgeKind::Github, Forge::Github(Github::new(&settings).unwrap()));
}

fn has_plan(scene: &Scene) -> bool {
    scene.cards().iter().any(|card| card.contains("waiting for approval"))
}

/// How long after it was written down a failure may be looked at again.
fn wish(entry: &Value) -> Duration {
    let (at, until) = (entry["at"].as_str().unwrap(), entry["not_before"].as_i64().unwrap());
    let at: jiff::Timestamp = at.parse().unwrap();
    Duration::from_millis((until - at.as_millisecond()).unsigned_abs())
}

#[tokio::test]
async fn a_limit_while_the_thread_is_read_is_waited_for() {
    for (kind, comments) in COMMENTS {
        let scene = Scene::on(kind).await;
        let bot = scene.start_with(hasty).await;
        scene.fault(Method::GET, comments, Fault::RateLimit { retry_after: Some(HOUR) }, 1_000);
        bot.assigned(MARIA).await;
        let failed = scene.entries("ask_failed");
        assert_eq!(failed.len(), 1, "{kind}: {:?}", scene.facts());
        assert_eq!(failed[0]["problem"], "away", "{kind}");
        assert!(wish(&failed[0]) > Duration::from_secs(HOUR - 60), "{kind}: {}", failed[0]);
        // It would answer by now, but it said "not for an hour".
        scene.heal();
        let asked = scene.all_requests();
        let said = scene.said(MARIA, "/status");
        bot.hears(&said).await;
        assert_eq!(scene.all_requests(), asked, "{kind}: asked before the allowed instant");
        bot.stops().await;

        // A new process does not know of the silence; the run does.
        let bot = scene.start_with(|ctx| ctx.clock = half_an_hour_later).await;
        bot.quiet().await;
        assert_eq!(scene.entries("ask_begun").len(), 1, "{kind}: {:?}", scene.facts());
        assert!(scene.card().contains("wants a pause"), "{kind}: {}", scene.card());
        bot.stops().await;

        let bot = scene.start_with(|ctx| ctx.clock = more_than_an_hour_later).await;
        scene.until_seen("the plan", has_plan).await;
        bot.ends().await;
    }
}

/// The list of tries has one; the outage is longer.
#[tokio::test]
async fn a_long_outage_costs_time_and_no_run() {
    let scene = Scene::on(ForgeKind::Github).await;
    let bot = scene.start_with(|ctx| hasty_client(&scene, ctx)).await;
    scene.fault(Method::GET, "/issues/1/comments", Fault::Status(502), 100_000);
    assert_eq!(scene.post(&bot.base, &scene.webhook(&scene.assigned(MARIA))).await, 202);
    scene.until_seen("many tries", |scene| scene.entries("ask_failed").len() >= 5).await;
    scene.heal();
    scene.until_seen("the plan", has_plan).await;
    let failed = scene.entries("ask_failed");
    assert!(failed.iter().all(|entry| entry["problem"] == "away"), "{failed:?}");
    bot.ends().await;
}

/// The credentials are wrong, the right is missing, the thread is gone: that does not pass by itself.
#[tokio::test]
async fn what_the_forge_keeps_refusing_ends_the_run_with_the_cause() {
    let refusals = [
        (401, "The forge does not accept my credentials. An operator should check"),
        (403, "The forge does not let me do what I need to do here. An operator should check"),
        (404, "The forge does not find what I need here: it was moved or deleted, or"),
    ];
    for (status, says) in refusals {
        let scene = Scene::on(ForgeKind::Github).await;
        let bot = scene.start_with(hasty).await;
        scene.fault(Method::GET, "/issues/1/comments", Fault::Status(status), 100_000);
        assert_eq!(scene.post(&bot.base, &scene.webhook(&scene.assigned(MARIA))).await, 202);
        scene.until_seen("the end", |scene| scene.entries("failed").len() == 1).await;
        assert_eq!(scene.entries("ask_failed").len(), 2, "{status}: the first try and one more");
        scene.heal();
        let says_why = format!("😕 failed. {says}");
        scene.until_seen(&says_why, |scene| scene.cards().iter().any(|card| card.contains(&says_why))).await;
        bot.ends().await;
    }
}

#[tokio::test]
async fn a_model_that_wants_an_hour_gets_it() {
    let scene = Scene::on(ForgeKind::Github).await;
    scene.model.always_misbehave(Some(Misbehaviour::RateLimited(HOUR)));
    let bot = scene.start_with(hasty).await;
    bot.assigned(MARIA).await;
    assert!(scene.card().contains("The language model cannot be reached"), "{}", scene.card());
    let failed = scene.entries("ask_failed");
    assert!(wish(&failed[0]) > Duration::from_secs(HOUR - 60), "{}", failed[0]);
    bot.stops().await;
    scene.model.always_misbehave(None);
    let bot = scene.start_with(|ctx| ctx.clock = half_an_hour_later).await;
    bot.quiet().await;
    assert_eq!(scene.entries("ask_begun").len(), 1, "{:?}", scene.facts());
    bot.stops().await;
    let bot = scene.start_with(|ctx| ctx.clock = more_than_an_hour_later).await;
    scene.until_seen("the plan", has_plan).await;
    bot.ends().await;
}

/// Four threads wait for the bot, and the first look at one of them meets a limit.
#[tokio::test]
async fn a_sweep_that_meets_a_limit_asks_no_more() {
    let scene = Scene::on(ForgeKind::Github).await;
    let (me, project) = (scene.world.bot().id, scene.thread.project.clone());
    scene.assigned(MARIA);
    for number in 0..3 {
        let new = NewThread::titled(&format!("Another {number}"), MARIA);
        let opened = scene.world.with(|world| world.open(&project, new, now())).unwrap().unwrap();
        scene.world.with(|world| world.assign(&opened.thread, me, MARIA, now())).unwrap().unwrap();
    }
    scene.fault(Method::GET, "/issues/", Fault::RateLimit { retry_after: Some(HOUR) }, 1_000);
    let bot = scene.spawn().await;
    scene.until_seen("the end of the sweep", |scene| scene.log().contains("is incomplete")).await;
    let limited = |request: &String| request.ends_with("Some(429)");
    let asked = scene.all_requests();
    assert_eq!(asked.iter().filter(|request| limited(request)).count(), 1, "{asked:#?}");
    assert!(limited(asked.last().unwrap()), "{asked:#?}");
    assert!(!scene.log().contains("cannot compare"), "{}", scene.log());
    bot.kill();
}
