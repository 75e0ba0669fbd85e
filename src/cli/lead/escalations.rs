//! Purpose: `lead escalations`: what was asked in a run, and what became of it.

use std::process::ExitCode;

use serde_json::Value;

use super::super::local::asked;
use super::super::out::say;
use super::super::phrases::{age, clip};
use super::OneRun;
use super::led::{self, Led};
use crate::engine::now;
use crate::planning::Escalation;

pub(super) fn escalations(one: &OneRun, runs: &[Led]) -> anyhow::Result<ExitCode> {
    let led = led::one(runs, one.run.as_deref())?;
    let (mut all, settled): (Vec<&Escalation>, Vec<&Escalation>) =
        led.run.crew.escalations.iter().partition(|asked| asked.is_open());
    all.extend(settled);
    if one.json {
        let all: Vec<Value> = all.into_iter().map(|each| asked::describe(each, now())).collect();
        say(&serde_json::to_string_pretty(&all)?);
    } else if all.is_empty() {
        say(&format!("Nobody was asked anything in {}.", led.run.id));
    } else {
        say(&led.run.id.0);
        all.into_iter().for_each(|each| say(&line(each)));
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn line(asked: &Escalation) -> String {
    let state = asked::state(asked).replace('_', " ");
    let about = asked.step.as_ref().map_or_else(|| "the plan".to_owned(), ToString::to_string);
    let cause = asked.cause.as_str().replace('_', " ");
    let age = age(now().0 - asked.at.0);
    let head = format!("{:>3}  {state} · {cause} · {} · {age}", asked.number, asked::whom(asked));
    let settled = asked::settled(asked).map_or(String::new(), |how| format!("\n     {how}"));
    format!("{head}\n     {about}: {}{settled}", clip(&asked.issue))
}
