//! Purpose: what a process puts on itself before it becomes a stranger's program: limits, and no powers.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities,
};

use super::super::order::Order;

pub(super) fn set_limits(order: &Order) -> io::Result<()> {
    let limits = &order.limits;
    // Not the address space: runtimes reserve much more of it than they ever use.
    set(Resource::Data, limits.memory_bytes)?;
    set(Resource::Fsize, limits.file_bytes)?;
    set(Resource::Nofile, limits.open_files)?;
    set(Resource::Nproc, order.tasks_before.saturating_add(limits.hard_processes()))?;
    set(Resource::Core, 0)
}

/// Never raises what is lower already, which only root could.
fn set(resource: Resource, most: u64) -> io::Result<()> {
    let before = getrlimit(resource).maximum;
    let most = before.map_or(most, |before| before.min(most));
    Ok(setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?)
}

/// Root without capabilities is a user who owns many files, and becomes no more by starting a program.
pub(super) fn drop_capabilities() -> io::Result<()> {
    let none = CapabilitySet::empty();
    let before = capabilities(None)?;
    if before.permitted.contains(CapabilitySet::SETPCAP) {
        for capability in every_capability() {
            remove_capability_from_bounding_set(capability)?;
        }
    }
    clear_ambient_capability_set()?;
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    let could_come_back = rustix::process::geteuid().is_root() && every_capability().next().is_some();
    if could_come_back {
        return Err(io::Error::other("capabilities could not be given up"));
    }
    Ok(())
}

/// Those that are left in the bounding set.
fn every_capability() -> impl Iterator<Item = CapabilitySet> {
    let bits = (0..u64::BITS).map(|bit| CapabilitySet::from_bits_retain(1 << bit));
    bits.filter(|capability| capability_is_in_bounding_set(*capability).unwrap_or(false))
}
