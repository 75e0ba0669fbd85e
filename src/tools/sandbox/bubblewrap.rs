//! Purpose: the command line that puts up a cage with bubblewrap.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::order::Order;
use super::places::{SYSTEM, etc};
use super::{Network, inside};

/// Where a program finds room that goes away with it.
pub(super) const TEMPORARY: &str = "/tmp";
const MESSAGES: &str = "/dev/shm";

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
    line.words(&format!("--size {ROOM_FOR_MESSAGES} --tmpfs {MESSAGES} --remount-ro /dev"));
    line.words(&format!("--size {} --tmpfs {TEMPORARY}", order.limits.memory_bytes / 2));
    let above = above(order);
    for dir in &above {
        line.words("--tmpfs");
        line.push(dir);
    }
    for place in &order.readable {
        line.bind("--ro-bind-try", place);
    }
    line.bind("--bind", &order.root);
    line.bind("--ro-bind", &order.helper);
    for dir in ["/"].map(Path::new).into_iter().chain(above.iter().map(PathBuf::as_path)) {
        line.words("--remount-ro");
        line.push(dir);
    }
    line.words("--chdir");
    line.push(&order.root);
    line.words("--");
    line.push(&order.helper);
    line.words(&inside::Part::Enter.arguments().join(" "));
    line.0
}

/// The directories above places of the host that lie where a program finds room. What it writes there would go away
/// unseen, and beside a work tree it would believe that it had written into its neighbours. So these directories are
/// shut, as they are everywhere else.
fn above(order: &Order) -> BTreeSet<PathBuf> {
    let places = order.readable.iter().chain([&order.root, &order.helper]);
    places
        .flat_map(|place| [TEMPORARY, MESSAGES].map(|room| (Path::new(room), place)))
        .filter_map(|(room, place)| {
            let mut inside = place.strip_prefix(room).ok()?.components();
            let first = inside.next()?;
            inside.next().is_some().then(|| room.join(first))
        })
        .collect()
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
