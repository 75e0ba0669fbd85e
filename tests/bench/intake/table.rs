//! Purpose: medians of the rounds as a table, with the ratio to the bare handler.
//!
//! The ratio is taken in each round, between neighbours in time, and its median is shown: a machine that is slow for a
//! while is slow for both.

use std::time::Duration;

use crate::client::Answers;
use crate::servers::Server;

pub(crate) struct Measured {
    pub(crate) answers: Answers,
    pub(crate) cpu: Duration,
    pub(crate) idle_kb: u64,
    pub(crate) peak_kb: u64,
    pub(crate) cold_start: Duration,
}

impl Measured {
    fn cpu_per_delivery_us(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.answers.latencies.len().max(1) as f64
    }
}

pub(crate) fn print(connections: usize, servers: &[Server], measured: &[Vec<Measured>]) {
    println!("{connections} connections");
    println!(
        "  {:14} {:>12} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "", "deliveries/s", "x bare", "p50 ms", "p99 ms", "cpu us", "idle MB", "peak MB", "start ms"
    );
    let speeds = |rounds: &[Measured]| rounds.iter().map(|m| m.answers.per_second()).collect::<Vec<_>>();
    let bare = measured.first().map(|rounds| speeds(rounds)).unwrap_or_default();
    for (server, rounds) in servers.iter().zip(measured) {
        let of = |value: &dyn Fn(&Measured) -> f64| median(rounds.iter().map(value).collect());
        let per_second = median(speeds(rounds));
        let ratio = median(speeds(rounds).iter().zip(&bare).map(|(speed, bare)| speed / bare).collect());
        println!(
            "  {:14} {per_second:>12.0} {ratio:>8.2} {:>8.2} {:>8.2} {:>8.1} {:>8.1} {:>8.1} {:>8.1}",
            server.name(),
            of(&|m| m.answers.percentile_ms(50)),
            of(&|m| m.answers.percentile_ms(99)),
            of(&Measured::cpu_per_delivery_us),
            of(&|m| m.idle_kb as f64 / 1024.0),
            of(&|m| m.peak_kb as f64 / 1024.0),
            of(&|m| m.cold_start.as_secs_f64() * 1000.0),
        );
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
