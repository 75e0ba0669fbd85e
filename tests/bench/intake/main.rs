//! Purpose: how fast deliveries are taken in, durably, beside a bare handler that only verifies and parses.
//!
//! `cargo bench --bench intake` runs the release binary's `serve` on loopback, the bare handler in a process of its own,
//! and Probot where Node can install it, each freshly started for each measurement, in turns, and prints medians. The
//! client shares the machine with them, so only ratios within one run mean something. On a virtual machine, a round during
//! which the host gave our processors to somebody else is measured again, up to twice, and that is said.
//!
//! `-- --seconds N --rounds N --connections N` set how long and how wide; `--bin FILE` measures another binary;
//! `--inner` measures the door alone, without the engine; `--no-probot` leaves Probot out.
#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

mod client;
mod machine;
mod payload;
mod servers;
mod table;

use std::time::Duration;

use anyhow::bail;
use client::Load;
use servers::{Probot, Server};
use table::Measured;

struct Options {
    connections: Vec<usize>,
    load_time: Duration,
    rounds: usize,
    servers: Vec<Server>,
}

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["--serve-bare", port] => servers::serve_bare(port.parse()?),
        ["--serve-inner", port, dir] => servers::serve_inner(port.parse()?, dir.as_ref()),
        options => measure_all(&read_options(options)?),
    }
}

fn read_options(words: &[&str]) -> anyhow::Result<Options> {
    let mut options = Options {
        connections: vec![1, 32, 128],
        load_time: Duration::from_secs(3),
        rounds: 5,
        servers: Vec::new(),
    };
    let mut ours = Server::Planwright { binary: env!("CARGO_BIN_EXE_planwright").into() };
    let mut with_probot = true;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().copied().ok_or_else(|| anyhow::anyhow!("{word} needs a value"));
        match *word {
            "--seconds" => options.load_time = Duration::from_secs_f64(value()?.parse()?),
            "--connections" => options.connections = vec![value()?.parse()?],
            "--rounds" => options.rounds = value()?.parse()?,
            "--bin" => ours = Server::Planwright { binary: value()?.into() },
            "--inner" => ours = Server::Inner,
            "--no-probot" => with_probot = false,
            // Cargo adds this one by itself.
            "--bench" => {}
            other => bail!("`{other}` is no option of this benchmark"),
        }
    }
    options.servers = vec![Server::Bare, ours];
    if with_probot {
        match Probot::install() {
            Ok(probot) => options.servers.push(Server::Probot(probot)),
            Err(why) => println!("Probot is left out: {why:#}"),
        }
    }
    Ok(options)
}

fn measure_all(options: &Options) -> anyhow::Result<()> {
    let request = payload::Request::new(&payload::issues_assigned());
    println!("body {} bytes, {} rounds of {:?}\n", request.body_length(), options.rounds, options.load_time);
    for &connections in &options.connections {
        let mut measured: Vec<Vec<Measured>> = options.servers.iter().map(|_| Vec::new()).collect();
        let (mut lost, mut again) = (0.0_f64, 0);
        for _ in 0..options.rounds {
            let round = quiet_round(options, &request, connections)?;
            lost = lost.max(round.lost);
            again += round.again;
            measured.iter_mut().zip(round.measured).for_each(|(measured, new)| measured.push(new));
        }
        table::print(connections, &options.servers, &measured);
        println!(
            "  the host took at most {lost:.1} % of the machine in these; {again} others were thrown away for more\n"
        );
    }
    Ok(())
}

/// One measurement of each server.
struct Round {
    measured: Vec<Measured>,
    /// What the host took meanwhile, in per cent of the processors' time.
    lost: f64,
    /// How often more was lost than is bearable.
    again: usize,
}

/// Above this, a round tells more about the neighbours than about us.
const BEARABLE: f64 = 2.0;
/// A host that is never quiet is taken as it is.
const PATIENCE: usize = 2;

fn quiet_round(options: &Options, request: &payload::Request, connections: usize) -> anyhow::Result<Round> {
    let mut again = 0;
    loop {
        let before = machine::Time::now()?;
        let measure = |server| measure(server, request, connections, options.load_time);
        let measured = options.servers.iter().map(measure).collect::<anyhow::Result<_>>()?;
        let lost = machine::Time::now()?.lost_since(&before);
        if lost <= BEARABLE || again == PATIENCE {
            return Ok(Round { measured, lost, again });
        }
        again += 1;
    }
}

fn measure(
    server: &Server,
    request: &payload::Request,
    connections: usize,
    time: Duration,
) -> anyhow::Result<Measured> {
    let running = server.start()?;
    let idle_kb = running.memory_kb("VmRSS")?;
    let load = Load { address: running.address, path: server.path(), connections };
    client::run(&load, request, time / 6)?;
    let cpu_before = running.cpu()?;
    let answers = client::run(&load, request, time)?;
    let cpu = running.cpu()?.saturating_sub(cpu_before);
    let peak_kb = running.memory_kb("VmHWM")?;
    Ok(Measured { answers, cpu, idle_kb, peak_kb, cold_start: running.cold_start })
}
