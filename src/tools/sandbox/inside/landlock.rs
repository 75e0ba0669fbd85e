//! Purpose: close the file system, and the way to other processes, by rules that the kernel keeps.

use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

use super::super::order::Order;
use super::super::places::{SYSTEM, etc};

/// Without it (before Linux 6.2) a program could cut any file of the bot to nothing.
const AT_LEAST: ABI = ABI::V3;
const AT_BEST: ABI = ABI::V9;

/// Whatever a program may want of them, also to write.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Of `/proc`, what tells about the machine and not about anybody on it, and the process itself.
const PROC: [&str; 6] = [
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/filesystems",
    "/proc/version",
    "/proc/sys/kernel",
    "/proc/self",
];

/// Whether programs in the cage can be kept from sending signals out of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signals {
    StayInside,
    /// The kernel knows no such rule.
    GoAnywhere,
}

pub(super) fn signals() -> Signals {
    let scoped = Ruleset::default().set_compatibility(CompatLevel::HardRequirement).scope(Scope::Signal);
    if scoped.is_ok() { Signals::StayInside } else { Signals::GoAnywhere }
}

/// Files, signals and abstract sockets.
pub(super) fn close(order: &Order) -> Result<(), RulesetError> {
    let read = AccessFs::from_read(AT_BEST);
    let devices = AccessFs::ReadFile | AccessFs::WriteFile;
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(AT_LEAST))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(AT_BEST))?
        .scope(Scope::Signal | Scope::AbstractUnixSocket)?
        .create()?
        .add_rules(path_beneath_rules(SYSTEM, read))?
        .add_rules(path_beneath_rules(etc(order.network), read))?
        .add_rules(path_beneath_rules(PROC, read))?
        .add_rules(path_beneath_rules(&order.readable, read))?
        .add_rules(path_beneath_rules([&order.helper], read))?
        .add_rules(path_beneath_rules(DEVICES, devices))?
        .add_rules(path_beneath_rules(own_places(order), own()))?
        .restrict_self()?;
    debug_assert_ne!(status.ruleset, RulesetStatus::NotEnforced, "required above");
    Ok(())
}

/// Inside bubblewrap files are closed already; what is left are abstract sockets of a shared network, and the watcher's
/// neighbours. A kernel that cannot do that leaves bubblewrap as it is.
pub(super) fn close_scopes() -> Result<(), RulesetError> {
    if signals() == Signals::GoAnywhere {
        return Ok(());
    }
    Ruleset::default().scope(Scope::Signal | Scope::AbstractUnixSocket)?.create()?.restrict_self()?;
    Ok(())
}

fn own_places(order: &Order) -> impl Iterator<Item = &Path> {
    [Some(order.root.as_path()), order.temporary.as_deref()].into_iter().flatten()
}

/// Everything but devices.
fn own() -> BitFlags<AccessFs> {
    AccessFs::from_all(AT_BEST) & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev)
}
