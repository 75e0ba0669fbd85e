//! Purpose: refuse system calls that no build needs, and those by which a program reaches around the other walls.
//!
//! Everything is allowed but what is listed: a list of what programs may do would have to know all programs. What is
//! listed answers "not permitted", or "no such call" where programs then take an older call that can be checked.
//! Calls of another architecture (32 bit) end the program.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};

use super::super::{Cage, Network};
use super::landlock::Signals;

/// Mounts, namespaces, the kernel itself, clocks, keys, and what has been a way out of sandboxes before.
const NEVER: [c_long; 39] = [
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pivot_root,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
];

/// Their arguments lie in memory, where a filter cannot look, or (`io_uring`) they make other calls unseen.
const UNKNOWN: [c_long; 5] = [
    libc::SYS_clone3,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_openat2,
];

/// Landlock leaves processes of the same user in sight and looks at no mode bits. Shared memory, semaphores and
/// messages of System V belong to the whole machine.
const NOT_UNDER_LANDLOCK: [c_long; 15] = [
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_migrate_pages,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_msgctl,
    libc::SYS_msgget,
    libc::SYS_msgrcv,
    libc::SYS_msgsnd,
    libc::SYS_semctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_shmget,
];

/// With the argument that names a process: nought is oneself, and all that is left.
const ONLY_ONESELF: [(c_long, u8); 7] = [
    (libc::SYS_prlimit64, 0),
    (libc::SYS_setpriority, 1),
    (libc::SYS_ioprio_set, 1),
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setscheduler, 0),
];

const SIGNALS: [c_long; 5] = [
    libc::SYS_kill,
    libc::SYS_pidfd_send_signal,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_tkill,
];

/// Calls that take a mode, and the argument it is.
const MODES: [(c_long, u8); 4] =
    [(libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (FCHMODAT2, 2), (libc::SYS_mknodat, 2)];

/// Calls of the one architecture that has kept the oldest ones.
#[cfg(target_arch = "x86_64")]
mod old {
    use libc::c_long;

    pub(super) const NEVER: &[c_long] = &[libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_uselib];
    pub(super) const NOT_UNDER_LANDLOCK: &[c_long] = &[libc::SYS_chmod];
    pub(super) const MODES: &[(c_long, u8)] =
        &[(libc::SYS_chmod, 1), (libc::SYS_creat, 1), (libc::SYS_mknod, 1)];
    pub(super) const OPEN: &[c_long] = &[libc::SYS_open];
    /// A second way to make every call (x32), and the numbers that are different on it.
    pub(super) const X32: c_long = 0x4000_0000;
    pub(super) const RENUMBERED: &[(c_long, c_long)] = &[
        (libc::SYS_ioctl, 514),
        (libc::SYS_rt_sigqueueinfo, 524),
        (libc::SYS_kexec_load, 528),
        (libc::SYS_rt_tgsigqueueinfo, 536),
    ];
}

#[cfg(not(target_arch = "x86_64"))]
mod old {
    use libc::c_long;

    pub(super) const NEVER: &[c_long] = &[];
    pub(super) const NOT_UNDER_LANDLOCK: &[c_long] = &[];
    pub(super) const MODES: &[(c_long, u8)] = &[];
    pub(super) const OPEN: &[c_long] = &[];
}

/// `TIOCSTI` and `TIOCLINUX`, by which a program types into the terminal that it was started from.
const TYPING: [u64; 2] = [0x5412, 0x541c];

/// Newer than the list of numbers; the same on every architecture.
const FCHMODAT2: c_long = 452;

type Rules = BTreeMap<c_long, Vec<SeccompRule>>;
type Built<T> = Result<T, seccompiler::BackendError>;

/// Takes effect at once and for good. Asks for `no_new_privs`, which is set before.
pub(super) fn apply(cage: Cage, network: Network, signals: Signals) -> Result<(), String> {
    let filters = filters(cage, network, signals)
        .map_err(|error| format!("cannot make the filter of calls: {error}"))?;
    for filter in filters {
        apply_filter(&filter).map_err(|error| format!("the filter of calls does not take: {error}"))?;
    }
    Ok(())
}

fn filters(cage: Cage, network: Network, signals: Signals) -> Built<[BpfProgram; 2]> {
    let mut refused = refused()?;
    refused.insert(libc::SYS_socket, sockets(allowed_families(cage, network))?);
    match cage {
        Cage::Landlock => add_for_landlock(&mut refused, signals)?,
        Cage::Bubblewrap | Cage::None => {}
    }
    let unknown = UNKNOWN.map(|call| (call, vec![])).into();
    Ok([program(refused, libc::EPERM)?, program(unknown, libc::ENOSYS)?])
}

fn program(rules: Rules, errno: i32) -> Built<BpfProgram> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let answer = SeccompAction::Errno(errno.unsigned_abs());
    SeccompFilter::new(with_other_numbers(rules), SeccompAction::Allow, answer, arch)?.try_into()
}

#[cfg(target_arch = "x86_64")]
fn with_other_numbers(mut rules: Rules) -> Rules {
    for (call, number) in old::RENUMBERED {
        if let Some(same) = rules.get(call).cloned() {
            rules.insert(*number, same);
        }
    }
    let again: Vec<_> = rules.iter().map(|(call, same)| (call | old::X32, same.clone())).collect();
    rules.extend(again);
    rules
}

#[cfg(not(target_arch = "x86_64"))]
fn with_other_numbers(rules: Rules) -> Rules {
    rules
}

fn refused() -> Built<Rules> {
    let mut rules: Rules = NEVER.iter().chain(old::NEVER).map(|call| (*call, vec![])).collect();
    rules.insert(libc::SYS_clone, new_namespaces()?);
    let typing: Built<_> = TYPING.into_iter().map(|code| when(&[equals(1, code)?])).collect();
    rules.insert(libc::SYS_ioctl, typing?);
    for (call, argument) in MODES.iter().chain(old::MODES) {
        rules.insert(*call, set_id_bits(*argument, None)?);
    }
    // Without that flag the mode is not one, and may be anything.
    rules.insert(libc::SYS_openat, set_id_bits(3, Some(2))?);
    for call in old::OPEN {
        rules.insert(*call, set_id_bits(2, Some(1))?);
    }
    Ok(rules)
}

fn add_for_landlock(rules: &mut Rules, signals: Signals) -> Built<()> {
    rules.extend(NOT_UNDER_LANDLOCK.iter().chain(old::NOT_UNDER_LANDLOCK).map(|call| (*call, vec![])));
    for (call, argument) in ONLY_ONESELF {
        rules.insert(call, vec![when(&[differs(argument, 0)?])?]);
    }
    match signals {
        Signals::StayInside => {}
        Signals::GoAnywhere => {
            rules.extend(SIGNALS.map(|call| (call, vec![])));
            // Runtimes nudge their own threads with this one, which does nothing to others.
            rules.insert(libc::SYS_tgkill, vec![when(&[differs(2, libc::SIGURG as u64)?])?]);
        }
    }
    Ok(())
}

/// A unix socket leads to services of the host: under bubblewrap none is in sight, under Landlock all are.
fn allowed_families(cage: Cage, network: Network) -> &'static [i32] {
    match (cage, network) {
        (Cage::Landlock, Network::Off) => &[],
        (Cage::Landlock, Network::On) => &[libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK],
        (Cage::Bubblewrap | Cage::None, _) => {
            &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]
        }
    }
}

/// No condition at all means always.
fn sockets(allowed: &[i32]) -> Built<Vec<SeccompRule>> {
    if allowed.is_empty() {
        return Ok(vec![]);
    }
    let none_of_them: Built<Vec<_>> =
        allowed.iter().map(|family| differs(0, u64::from(family.unsigned_abs()))).collect();
    Ok(vec![when(&none_of_them?)?])
}

fn new_namespaces() -> Built<Vec<SeccompRule>> {
    let flags = [
        libc::CLONE_NEWCGROUP,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWNS,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWUTS,
    ];
    flags.into_iter().map(|flag| when(&[has(0, u64::from(flag.unsigned_abs()))?])).collect()
}

/// Programs that run as their owner, who is the bot. `creating` is the argument with the flags of opening.
fn set_id_bits(mode: u8, creating: Option<u8>) -> Built<Vec<SeccompRule>> {
    let creates = creating.map(|argument| has(argument, libc::O_CREAT as u64)).transpose()?;
    [libc::S_ISUID, libc::S_ISGID]
        .into_iter()
        .map(|bit| {
            let mut conditions = vec![has(mode, u64::from(bit))?];
            conditions.extend(creates.clone());
            when(&conditions)
        })
        .collect()
}

fn when(conditions: &[SeccompCondition]) -> Built<SeccompRule> {
    SeccompRule::new(conditions.to_vec())
}

fn equals(argument: u8, value: u64) -> Built<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

fn differs(argument: u8, value: u64) -> Built<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value)
}

fn has(argument: u8, bits: u64) -> Built<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(bits), bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that do not fit, or conditions that contradict, would only show when a command is run.
    #[test]
    fn every_filter_can_be_made() {
        for cage in [Cage::Bubblewrap, Cage::Landlock] {
            for network in [Network::Off, Network::On] {
                for signals in [Signals::StayInside, Signals::GoAnywhere] {
                    let [refused, unknown] = filters(cage, network, signals).unwrap();
                    assert!(refused.len() > unknown.len() && refused.len() < 4096, "{}", refused.len());
                }
            }
        }
    }
}
