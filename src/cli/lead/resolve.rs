//! Purpose: `lead resolve`: the answer to a question goes onto the thread as a comment, and the engine takes it. What
//! follows from it is left to `lead resume`.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{anyhow, bail, ensure};
use serde_json::json;

use super::super::local::outcome::INTERRUPTED;
use super::super::local::{Opening, Seat, Stand, Table, Way, asked, beside, open_forge, swept, words};
use super::super::out::say;
use super::super::serve::Signals;
use super::led::{self, Led};
use super::{Office, ResolveArgs};
use crate::crew::Target;
use crate::engine::Ctx;
use crate::planning::{Escalation, EscalationState, Run};

pub(super) async fn resolve(args: &ResolveArgs, office: Office<'_>) -> anyhow::Result<ExitCode> {
    let words = words::resolve(args.number, &args.text).map_err(|hint| anyhow!(hint))?;
    let guest = office.guest(args.json, None)?;
    let runs = office.runs().await?;
    let led = meant(&runs, args)?;
    check(&led.run, args.number)?;
    let local = open_forge(&office.config)?;
    let table = Table::sit_down(local, &led.thread, Opening::GoOn, office.env)?;
    let stand = Stand::open(&table, office.config, office.env, |ctx| ctx.only_hears = true).await?;
    let Stand { app, listener, seat } = stand;
    let (ctx, mut signals) = (Arc::clone(&app.ctx), Signals::listen()?);
    let telling = async {
        tokio::select! {
            told = answer(&ctx, &seat, &words) => told.map(Some),
            () = signals.heard() => Ok(None),
            () = ctx.shutdown.cancelled() => Err(anyhow!("the engine has stopped")),
        }
    };
    let Some(run) = beside(app, listener, telling).await? else { return Ok(ExitCode::from(INTERRUPTED)) };
    tell(&run, args, &guest.config_option)
}

/// The named run, or the one with such an open question; else the newest, to say what it has.
fn meant<'a>(runs: &'a [Led], args: &ResolveArgs) -> anyhow::Result<&'a Led> {
    if args.run.is_some() {
        return led::one(runs, args.run.as_deref());
    }
    let has_it = |led: &&Led| led.run.crew.escalation(args.number).is_some_and(Escalation::is_open);
    let with_it: Vec<&Led> = led::led(runs).filter(has_it).collect();
    match with_it.as_slice() {
        [one] => Ok(one),
        [] => led::one(runs, None),
        several => {
            let ids: Vec<String> = several.iter().map(|led| format!("  {}", led.run.id)).collect();
            bail!("several runs have an open question {}; add `--run ID`:\n{}", args.number, ids.join("\n"))
        }
    }
}

/// What the engine would turn down is said at once.
fn check(run: &Run, number: u32) -> anyhow::Result<()> {
    let Some(known) = run.crew.escalation(number) else {
        let open: Vec<String> = run.crew.open().map(|open| open.number.to_string()).collect();
        let open =
            if open.is_empty() { "none is open".to_owned() } else { format!("open: {}", open.join(", ")) };
        bail!("there is no question {number} in {}; {open}", run.id)
    };
    if let Some(how) = asked::settled(known) {
        bail!("question {number} of {} is settled: {how}", run.id);
    }
    let whom = known.target.words();
    ensure!(
        known.target == Target::People,
        "question {number} of {} is with {whom}, not with people",
        run.id
    );
    Ok(())
}

async fn answer(ctx: &Ctx, seat: &Seat, words: &str) -> anyhow::Result<Arc<Run>> {
    swept(ctx).await?;
    let comment = seat.say(words).await?;
    seat.heard(comment).await?.run.ok_or_else(|| anyhow!("the run is gone"))
}

fn tell(run: &Run, args: &ResolveArgs, config_option: &str) -> anyhow::Result<ExitCode> {
    let number = args.number;
    let known = run.crew.escalation(number);
    let Some(EscalationState::Resolved { by: Some(by), text }) = known.map(|known| &known.state) else {
        let how = known.and_then(asked::settled).unwrap_or_else(|| "it is still open".to_owned());
        bail!("the answer to question {number} of {} was not taken: {how}", run.id)
    };
    let open: Vec<u32> = run.crew.open().map(|open| open.number).collect();
    let go_on = Way::Lead.go_on(Some(&run.id), config_option);
    if args.json {
        say(&json!({
            "event": "resolved", "run": run.id, "number": number, "by": by.login, "text": text, "open": open,
            "go_on": go_on,
        })
        .to_string());
        return Ok(ExitCode::SUCCESS);
    }
    say(&format!("Question {number} is answered by @{}.", by.login));
    if !open.is_empty() {
        let open: Vec<String> = open.iter().map(u32::to_string).collect();
        say(&format!("Still open: {}", open.join(", ")));
    }
    say(&format!("Go on with\n  {go_on}"));
    Ok(ExitCode::SUCCESS)
}
