//! Purpose: the command line that puts up a cage with bubblewrap.

use std::ffi::OsString;
use std::path::Path;

use super::order::Order;
use super::places::{SYSTEM, etc};
use super::{Network, inside};

/// Where a program finds room that goes away with it.
pub(super) const TEMPORARY: &str = "/tmp";

/// In memory, so not larger than what the program may have of it.
const ROOM_FOR_MESSAGES: u64 = 64 * 1024 * 1024;

/// Arguments for bubblewrap. Later mounts lie on top of earlier ones, so the work tree comes late.
pub(super) fn arguments(order: &Order) -> Vec<OsString> {
    let mut line = Line::default();
    line.words("--unshare-user --unshare-ipc --unshare-pid --unshare-uts --unshare-cgroup-try");
    match order.network {
        Network::Off => line.words("--unshare-net"),
        Network::On => {}
    }
    line.words("--die-with-parent --new-session --clearenv --hostname cage --cap-drop ALL");
    for place in SYSTEM.map(Path::new) {
        line.system(place);
    }
    for place in etc(order.network) {
        line.bind("--ro-bind-try", Path::new(place));
    }
    // Settings of the kernel ask for root's number, not for its powers; a bot that is root must not reach them here.
    line.words("--proc /proc --remount-ro /proc --dev /dev");
    line.words(&format!("--size {ROOM_FOR_MESSAGES} --tmpfs /dev/shm --remount-ro /dev"));
    line.words(&format!("--size {} --tmpfs {TEMPORARY}", order.limits.memory_bytes / 2));
    for place in &order.readable {
        line.bind("--ro-bind-try", place);
    }
    line.bind("--bind", &order.root);
    line.bind("--ro-bind", &order.helper);
    line.words("--remount-ro / --chdir");
    line.push(&order.root);
    line.words("--");
    line.push(&order.helper);
    line.words(&inside::Part::Enter.arguments().join(" "));
    line.0
}

#[derive(Default)]
struct Line(Vec<OsString>);

impl Line {
    /// Our own words, without spaces in them.
    fn words(&mut self, words: &str) {
        self.0.extend(words.split(' ').map(OsString::from));
    }

    fn push(&mut self, word: &Path) {
        self.0.push(word.into());
    }

    fn bind(&mut self, how: &str, place: &Path) {
        self.words(how);
        self.push(place);
        self.push(place);
    }

    /// A link into `/usr` stays a link.
    fn system(&mut self, place: &Path) {
        match std::fs::read_link(place) {
            Ok(target) => {
                self.words("--symlink");
                self.push(&target);
                self.push(place);
            }
            Err(_) => self.bind("--ro-bind-try", place),
        }
    }
}
