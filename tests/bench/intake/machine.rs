//! Purpose: how much of the processors' time a host took away from this machine.

use std::fs;

use anyhow::Context;

/// Since the machine started, in ticks.
pub(crate) struct Time {
    all: f64,
    stolen: f64,
}

impl Time {
    pub(crate) fn now() -> anyhow::Result<Self> {
        let stat = fs::read_to_string("/proc/stat")?;
        let line = stat.lines().next().context("odd /proc/stat")?;
        let ticks: Vec<f64> = line.split_whitespace().skip(1).filter_map(|it| it.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal; the two behind them are parts of the first two.
        let stolen = *ticks.get(7).context("odd /proc/stat")?;
        Ok(Self { all: ticks.iter().take(8).sum(), stolen })
    }

    /// In per cent.
    pub(crate) fn lost_since(&self, earlier: &Self) -> f64 {
        100.0 * (self.stolen - earlier.stolen) / (self.all - earlier.all).max(1.0)
    }
}
