//! Purpose: programs that try to get out, to harm the host, or not to end; each must be held, on every cage.
//!
//! A program says `TRIED` when it begins and `ESCAPED` with a reason when it got through. Whether it did harm is seen
//! on the host, see [`World::damage`].

use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use planwright::tools::sandbox::{Cage, End, Job, Limits, Network, Resource, Sandbox};
use tokio_util::sync::CancellationToken;

use super::world::{Place, World, sandboxes, small_limits};

/// Ended, with all that it started.
const MOST_TIME: Duration = Duration::from_secs(10);

/// What every program begins with.
const PRELUDE: &str = r#"$| = 1; use strict; use Socket; use Fcntl; use POSIX ();
print "TRIED\n"; sub out { print "ESCAPED: @_\n" }
sub reads { my $f; for (@_) { if (open $f, '<', $_) { my $t; out "read $_" if sysread $f, $t, 9 } } }
sub writes { my $f; for (@_) { out "opened $_" if open $f, '>>', $_ } }
"#;

/// A cage that does not hold must not take the machine with it, so there is an end to forking: forty times the limit.
const TOKENS: &str = r#"pipe my $r, my $w; syswrite $w, 'x' x 4000; sub token { sysread $r, my $t, 1 }"#;

#[derive(Clone, Copy)]
enum Ends {
    /// By itself, well or badly.
    Alone,
    TimedOut,
    TooMuchOutput,
    /// One of these, whatever the machine comes to first; not by time.
    Short(&'static [Resource]),
    With(i32),
}

#[derive(Clone)]
struct Attack {
    name: &'static str,
    /// Perl, which every Debian has.
    program: String,
    ends: Ends,
}

fn attack(name: &'static str, program: impl Into<String>) -> Attack {
    Attack { name, program: program.into(), ends: Ends::Alone }
}

impl Attack {
    fn ends(self, ends: Ends) -> Self {
        Self { ends, ..self }
    }
}

fn stealing() -> Vec<Attack> {
    vec![
        attack(
            "password hashes",
            r#"reads '/etc/shadow', '/etc/gshadow', '/etc/ssl/private/ssl-cert-snakeoil.key'"#,
        ),
        attack(
            "homes",
            r#"while (my @user = getpwent) { my ($home, $d) = $user[7]; next if $home =~ m{^/(usr|bin|dev|proc|run|$)|nonexistent};
            out $home if opendir $d, $home; reads "$home/.profile", "$home/.ssh/id_ed25519", "$home/.netrc" }"#,
        ),
        attack(
            "the state directory",
            r#"reads '{secret}'; my $d; out 'listed' if opendir $d, '{around}/state'"#,
        ),
        attack(
            "up and over",
            r#"reads '../state/secret', '../git/config'; chdir '..'; reads 'state/secret'"#,
        ),
        attack("the environment", r#"for (keys %ENV) { out $_ unless /^(PATH|HOME|TMPDIR|LANG)$/ }"#),
    ]
}

fn spying() -> Vec<Attack> {
    vec![
        attack(
            "environments of others",
            r#"my @pids = ('{bot}', '{victim}', 1, getppid, 'self', map { m{(\d+)} } </proc/[0-9]*>);
            for my $p (@pids) { my $f; open $f, '<', "/proc/$p/environ" or next; local $/; my $t = <$f>;
            out $p if ($t // '') =~ /CARGO|{canary}/ }"#,
        ),
        attack("command lines of others", r#"reads '/proc/{bot}/cmdline', '/proc/{victim}/cmdline'"#),
        attack(
            "memory of others",
            r#"reads map { ("/proc/$_/mem", "/proc/$_/maps", "/proc/$_/exe") } '{bot}', '{victim}';
            my $buffer = "\0" x 64; my $local = pack 'QQ', unpack('Q', pack 'p', $buffer), 64;
            my $remote = pack 'QQ', 0x400000, 64;
            out 'process_vm_readv' if syscall({process_vm_readv}, {victim}, $local, 1, $remote, 1, 0) > 0;
            out 'ptrace' for grep { syscall({ptrace}, $_, {victim}, 0, 0) == 0 } 16, 0x4206"#,
        ),
        attack(
            "open files of others",
            r#"my $h = syscall({pidfd_open}, {bot}, 0); out 'handle' if $h >= 0 && syscall({pidfd_getfd}, $h, 1, 0) >= 0;
            for my $p ('{bot}', '{victim}') { my $d; out $p if opendir($d, "/proc/$p/fd") && readdir $d }"#,
        ),
        attack(
            "roots of others",
            r#"my $slash = 'root'; # the kernel's link to what a process takes for `/`
            reads map { ("/proc/$_/$slash{secret}", "/proc/$_/cwd/../state/secret", "/proc/$_/$slash/etc/shadow") }
            'self', 1, getppid, '{bot}', '{victim}'"#,
        ),
        attack(
            "links",
            r#"symlink '{around}', 'l'; symlink '../state/secret', 'm'; reads 'l/state/secret', 'm'"#,
        ),
        attack("second names", r#"out 'linked' if link '{secret}', 'twin'; reads 'twin'"#),
        attack(
            "raw disks",
            r#"reads '/dev/mem', '/dev/kmsg', '/dev/sda', '/dev/vda', '/dev/nvme0n1', '/proc/kcore'"#,
        ),
        attack(
            "file handles",
            r#"my $h = pack 'IIQ', 8, 1, 2; syscall({open_by_handle_at}, -100, $h, 0); out $! if $! != 1"#,
        ),
        attack(
            "keys",
            r#"out 'keyring' if syscall({keyctl}, 0, -3, 1) >= 0;
            my ($t, $n) = ('user', 'x'); out 'key' if syscall({add_key}, $t, $n, $n, 1, -3) >= 0"#,
        ),
    ]
}

fn reaching() -> Vec<Attack> {
    vec![
        attack(
            "TCP",
            r#"for my $to ('127.0.0.1', '0.0.0.0', '127.1.2.3') { socket(my $s, PF_INET, SOCK_STREAM, 0) or next;
            out $to if connect $s, pack_sockaddr_in({tcp}, inet_aton $to) }"#,
        ),
        attack(
            "TCP over IPv6",
            r#"if (socket(my $s, PF_INET6, SOCK_STREAM, 0)) {
            for my $to ('::1', '::ffff:127.0.0.1') {
            out $to if connect $s, pack_sockaddr_in6({tcp}, Socket::inet_pton(PF_INET6, $to)) } }"#,
        ),
        attack(
            "UDP",
            r#"if (socket my $s, PF_INET, SOCK_DGRAM, 0) { send $s, 'x', 0, pack_sockaddr_in {udp}, inet_aton '127.0.0.1' }"#,
        ),
        attack(
            "a service's unix socket",
            r#"for my $to ('{socket}', '../state/socket') { socket(my $s, PF_UNIX, SOCK_STREAM, 0) or next;
            out $to if connect $s, pack_sockaddr_un $to }"#,
        ),
        attack(
            "an abstract unix socket",
            r#"if (socket my $s, PF_UNIX, SOCK_STREAM, 0) { out 'in' if connect $s, pack_sockaddr_un "\0{marker}" }"#,
        ),
        attack(
            "odd sockets",
            r#"for my $f (17, 38, 40, 44, 31) { for my $t (1, 2, 3, 5) { out "family $f" if socket my $s, $f, $t, 0 } }
            out 'raw' if socket my $s, PF_INET, SOCK_RAW, 1"#,
        ),
        attack("io_uring", r#"my $p = "\0" x 256; out 'ring' if syscall({io_uring_setup}, 4, $p) >= 0"#),
    ]
}

fn meddling() -> Vec<Attack> {
    vec![
        attack(
            "killing a process of the host",
            r#"out 'killed' if kill 'KILL', {victim}; kill 'KILL', -{victim}"#,
        ),
        attack(
            "killing the watcher",
            r#"my $p = getppid; out "killed $p" if kill('KILL', $p) && kill(0, $p)"#,
        ),
        attack(
            "queueing signals",
            r#"my $i = pack 'iiix112', 9, 0, -1; out 'sent' if syscall({rt_sigqueueinfo}, {victim}, 9, $i) == 0;
            my $h = syscall({pidfd_open}, {victim}, 0); out 'sent' if $h >= 0 && syscall({pidfd_send_signal}, $h, 9, 0, 0) == 0"#,
        ),
        attack(
            "limits of others",
            r#"my $l = pack 'QQ', 0, 0; out 'set' if syscall({prlimit64}, {victim}, 0, $l, 0) == 0"#,
        ),
        attack(
            "priority of others",
            r#"out 'set' if syscall({setpriority}, 0, {victim}, 19) == 0;
            my $m = pack 'Q', 1; out 'bound' if syscall({sched_setaffinity}, {victim}, 8, $m) == 0"#,
        ),
        attack(
            "typing into the terminal",
            r#"for my $n ('/dev/tty', '/dev/stdin', '/dev/console', '/proc/self/fd/0') {
            open(my $f, '+<', $n) or next; my $c = 'x'; out $n if ioctl $f, 0x5412, $c }"#,
        ),
        attack(
            "forging the watcher's report",
            r#"for my $p (1, getppid) { open(my $f, '>', "/proc/$p/fd/2") or next;
            print $f "\n{\"ended\":{\"exited\":0}}\n" } exit 3"#,
        )
        .ends(Ends::With(3)),
    ]
}

fn breaking() -> Vec<Attack> {
    vec![
        attack(
            "writing outside",
            r#"writes '{secret}', '{around}/new', '../state/new', '{git}/config', '{git}/hooks'"#,
        ),
        attack(
            "writing to the system",
            r#"writes '/usr/{marker}', '/etc/{marker}', '/run/{marker}', '/usr/bin/perl', '/etc/passwd'"#,
        ),
        attack(
            "writing to shared places",
            r#"for ('/dev/shm', '/tmp', '/var/tmp') { open my $f, '>', "$_/{marker}" }"#,
        ),
        attack(
            "cutting off",
            r#"out 'cut' if truncate '{secret}', 0; sysopen(my $f, '{secret}', O_RDONLY | O_TRUNC) and out 'opened'"#,
        ),
        attack(
            "changing modes",
            r#"out 'mode' if chmod 0777, '{secret}', '{around}/state'; chmod 0, '{git}/config'"#,
        ),
        attack(
            "moving and removing",
            r#"out 'moved' if rename '{secret}', 'mine'; out 'in' if rename 'README.md', '{git}/x';
            out 'gone' if unlink '{git}/config'; out 'link' if symlink 'x', '{around}/y'; out 'dir' if mkdir '{around}/z'"#,
        ),
        attack("removing everything", r#"system 'rm', '-rf', '..', '{around}'"#),
        attack(
            "through a link",
            r#"symlink '{around}', 'l'; writes 'l/state/secret', 'l/new'; out 'gone' if unlink 'l/git/config'"#,
        ),
        attack(
            "its own root",
            r#"out 'moved' if rename '{around}/tree', '{around}/other'; rmdir '.'; chmod 0, '.', '{around}/tree';
            my $f; sysopen($f, '.', O_RDONLY) and chmod 0, $f"#,
        ),
        attack(
            "the bot's program",
            r#"writes '{helper}'; out 'gone' if unlink '{helper}'; out 'mode' if chmod 0, '{helper}'"#,
        ),
        attack(
            "settings of the kernel",
            r#"writes '/proc/sys/kernel/hostname', '/proc/sysrq-trigger', '/sys/power/state', '/proc/{bot}/oom_score_adj'"#,
        ),
    ]
}

fn rising() -> Vec<Attack> {
    vec![
        attack(
            "a program with its owner's rights",
            r#"open my $f, '>', 'p'; chmod 06755, $f; chmod 06755, 'p'; my $m = (stat 'p')[2];
            out 'chmod' if $m & 06000; umask 0; sysopen my $g, 'q', O_CREAT | O_WRONLY, 06755; $m = (stat 'q')[2]; out 'open' if ($m // 0) & 06000"#,
        ),
        attack(
            "powers of root",
            r#"open my $f, '<', '/proc/self/status' or out 'no status'; while (<$f>) {
            out $_ if /^Cap(Prm|Eff|Amb|Inh):\s*(?!0+$)\S/ || $< == 0 && /^CapBnd:\s*(?!0+$)\S/ || /^NoNewPrivs:\s*0/ || /^Seccomp:\s*0/ }"#,
        ),
        attack(
            "another user",
            r#"$! = 0; POSIX::setuid(1); out 'setuid' if $< == 1; $) = 1; out 'setgid' if $) =~ /^1\b/; out 'chown' if chown 1, 1, 'README.md'"#,
        ),
        attack(
            "mounting",
            r#"my ($t, $d) = ('tmpfs', '.'); out 'mounted' if syscall({mount}, $t, $d, $t, 0, 0) == 0; out 'new' if syscall({fsopen}, $t, 0) >= 0"#,
        ),
        attack(
            "another root",
            r#"mkdir 'r'; out 'chroot' if chroot 'r'; my ($n, $o) = ('r', 'r'); out 'pivot' if syscall({pivot_root}, $n, $o) == 0"#,
        ),
        attack(
            "devices",
            r#"for my $m (0020666, 0060666) { my $n = "d$m"; out $n if syscall({mknodat}, -100, $n, $m, 0x801) == 0 }"#,
        ),
        attack(
            "new namespaces",
            r#"for (0x10000000, 0x20000, 0x40000000, 0x20000000) { out 'unshare' if syscall({unshare}, $_) == 0;
            my $p = syscall({clone}, $_ | 17, 0, 0, 0, 0); POSIX::_exit(0) if $p == 0; out 'clone' if $p > 0 }
            my $a = pack 'Q11', 0x10000000, (0) x 10; my $p = syscall({clone3}, $a, 88); POSIX::_exit(0) if $p == 0; out 'clone3' if $p > 0"#,
        ),
        attack(
            "the kernel",
            r#"my $x = "\0" x 128; out 'bpf' if syscall({bpf}, 0, $x, 128) >= 0; out 'perf' if syscall({perf_event_open}, $x, 0, -1, -1, 0) >= 0;
            out 'fault' if syscall({userfaultfd}, 1) >= 0; my $n = 'x'; out 'name' if syscall({sethostname}, $n, 1) == 0;
            out 'module' if syscall({init_module}, $x, 128, $n) == 0; out 'log' if syscall({syslog}, 3, $x, 64) >= 0"#,
        ),
        attack(
            "higher limits",
            r#"out 'files' if system('sh', '-c', 'ulimit -f unlimited && ulimit -n 9999') == 0"#,
        ),
    ]
}

fn exhausting() -> Vec<Attack> {
    use Resource::{Disk, Memory, Processes};
    vec![
        attack("forking for ever", format!("{TOKENS} fork while token()")).ends(Ends::Short(&[Processes])),
        attack(
            "forking out of its session",
            format!("{TOKENS} while (token()) {{ my $p = fork; POSIX::setsid() unless $p }}"),
        )
        .ends(Ends::Short(&[Processes])),
        attack("memory", r#"my $x = ''; $x .= 'x' x 1_000_000 while 1"#).ends(Ends::Short(&[Memory])),
        attack("memory in many places", r#"for (1..30) { next if fork; my $x = 'x' x 20_000_000; sleep 60; exit } sleep 60"#)
            .ends(Ends::Short(&[Memory])),
        attack("much output", r#"my $x = 'x' x 65536; print $x while 1"#).ends(Ends::TooMuchOutput),
        attack("much output on both", r#"my $x = 'x' x 65536; if (fork) { print $x while 1 } print STDERR $x while 1"#)
            .ends(Ends::TooMuchOutput),
        attack("a large file", r#"open my $f, '>', 'big'; my $x = 'x' x 1_000_000; syswrite $f, $x for 1..10_000; out 'big'"#),
        attack("a large empty file", r#"open my $f, '>', 'big'; $SIG{XFSZ} = 'IGNORE'; out 'big' if truncate $f, 10_000_000_000"#),
        attack("a full disk", r#"my $x = 'x' x 4_000_000; my $f; for (1..1_000) { open($f, '>', "f$_") && syswrite $f, $x or last } sleep 60"#)
            .ends(Ends::Short(&[Disk])),
        attack("many files open", r#"my @f; for (0..9999) { open $f[$_], '<', '/dev/null' or last } out scalar @f if @f > 300"#),
        attack("deep directories", r#"for (1..2_000) { mkdir 'd' and chdir 'd' or last }"#),
    ]
}

fn lasting() -> Vec<Attack> {
    vec![
        attack("sleeping", "sleep 600").ends(Ends::TimedOut),
        attack("working for ever", "1 while 1").ends(Ends::TimedOut),
        attack("deaf to signals", r#"$SIG{$_} = 'IGNORE' for qw(TERM INT HUP QUIT XCPU ALRM); sleep 1 while 1"#).ends(Ends::TimedOut),
        attack("stopping the watcher", r#"kill 'STOP', getppid; sleep 1 while 1"#).ends(Ends::TimedOut),
        attack("stopping itself", r#"kill 'STOP', $$; out 'on'"#).ends(Ends::TimedOut),
        attack("a daemon", r#"exit if fork; POSIX::setsid(); exit if fork; close STDIN; close STDOUT; close STDERR; sleep 1 while 1"#)
            .ends(Ends::With(0)),
        attack("a daemon that is deaf and forks", r#"exit if fork; POSIX::setsid(); $SIG{TERM} = $SIG{HUP} = 'IGNORE'; chdir '/';
            while (1) { exit if fork; select undef, undef, undef, 0.01 }"#)
            .ends(Ends::With(0)),
        attack("a late bomb", r#"exit if fork; sleep 1; open my $f, '>', '../late'; sleep 60"#).ends(Ends::With(0)),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn hostile_programs_are_held() {
    let attacks: Vec<Attack> =
        [stealing(), spying(), reaching(), meddling(), breaking(), rising(), exhausting(), lasting()]
            .into_iter()
            .flatten()
            .collect();
    assert!(attacks.len() >= 40, "only {}", attacks.len());
    // Those that are after files, once more where a cage has files of its own.
    let after_files = [stealing(), breaking()].concat();
    let places =
        [(Place::Plain, &attacks), (Place::Temporary, &after_files), (Place::Messages, &after_files)];
    let all = sandboxes().iter().flat_map(|sandbox| {
        let attacks =
            places.into_iter().flat_map(|(place, attacks)| attacks.iter().map(move |attack| (place, attack)));
        attacks.map(move |(place, attack)| (sandbox, attack, place))
    });
    let wrong: Vec<Vec<String>> = futures_util::stream::iter(all)
        .map(|(sandbox, attack, place)| held(sandbox, attack, place))
        .buffer_unordered(6)
        .collect()
        .await;
    let wrong = wrong.concat();
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
    eprintln!(
        "{} hostile programs held by {:?}",
        attacks.len(),
        sandboxes().iter().map(Sandbox::cage).collect::<Vec<_>>()
    );
}

/// What went wrong with one of them.
async fn held(sandbox: &Sandbox, attack: &Attack, place: Place) -> Vec<String> {
    let mut world = World::at(place);
    let program = world.fill_in(&with_numbers(&format!("{PRELUDE}{}", attack.program)));
    let argv = ["perl", "-e", &program, &world.marker].map(str::to_owned);
    let root = world.tree();
    let timeout = match attack.ends {
        Ends::TimedOut => Duration::from_millis(2_500),
        // Tens of megabytes take their time while others need the processor; it ends as soon as they are there.
        Ends::TooMuchOutput => Duration::from_secs(40),
        Ends::Alone | Ends::Short(_) | Ends::With(_) => Duration::from_secs(8),
    };
    let job = Job { limits: limits(attack, &world), timeout, ..world.job(&argv, &root) };
    let started = Instant::now();
    let ran = sandbox.run(&job, &CancellationToken::new()).await.unwrap();
    let took = started.elapsed();
    let mut wrong = world.damage();
    let text = ran.output.text();
    if !text.starts_with("TRIED") {
        wrong.push(format!("it did not begin: {text}"));
    }
    wrong.extend(text.lines().filter(|line| line.contains("ESCAPED")).map(str::to_owned));
    if !is_as_expected(attack.ends, ran.end) {
        wrong.push(format!("it ended with {:?}: {}", ran.end, text.chars().take(300).collect::<String>()));
    }
    if took > MOST_TIME.max(timeout) {
        wrong.push(format!("it took {took:?}"));
    }
    wrong
        .into_iter()
        .map(|what| format!("{:?}, {place:?}, {}: {what}", sandbox.cage(), attack.name))
        .collect()
}

fn is_as_expected(expected: Ends, end: End) -> bool {
    match (expected, end) {
        (Ends::Alone, End::Exited(_) | End::Killed(_)) => true,
        (Ends::TimedOut, end) => end == End::TimedOut,
        (Ends::TooMuchOutput, end) => end == End::TooMuchOutput,
        (Ends::Short(resources), End::Exhausted(resource)) => resources.contains(&resource),
        // The kernel may say no before the watcher does, to one process at a time.
        (Ends::Short(resources), End::Exited(_) | End::Killed(_)) => resources.contains(&Resource::Memory),
        // A user's processes are counted by the kernel, with those that other tests have just now.
        (Ends::Short(resources), End::TimedOut) => resources.contains(&Resource::Processes),
        (Ends::With(code), end) => end == End::Exited(code),
        (Ends::Alone | Ends::Short(_), _) => false,
    }
}

fn limits(attack: &Attack, world: &World) -> Limits {
    if attack.name != "a full disk" {
        return small_limits();
    }
    let disk = rustix::fs::statvfs(world.around()).unwrap();
    let free = disk.f_bavail * disk.f_frsize;
    Limits { keep_free_bytes: free - 64 * 1024 * 1024, ..small_limits() }
}

/// Calls have other numbers on other machines.
fn with_numbers(program: &str) -> String {
    let numbers = [
        ("add_key", libc::SYS_add_key),
        ("bpf", libc::SYS_bpf),
        ("clone", libc::SYS_clone),
        ("clone3", libc::SYS_clone3),
        ("fsopen", libc::SYS_fsopen),
        ("init_module", libc::SYS_init_module),
        ("io_uring_setup", libc::SYS_io_uring_setup),
        ("keyctl", libc::SYS_keyctl),
        ("mknodat", libc::SYS_mknodat),
        ("mount", libc::SYS_mount),
        ("open_by_handle_at", libc::SYS_open_by_handle_at),
        ("perf_event_open", libc::SYS_perf_event_open),
        ("pidfd_getfd", libc::SYS_pidfd_getfd),
        ("pidfd_open", libc::SYS_pidfd_open),
        ("pidfd_send_signal", libc::SYS_pidfd_send_signal),
        ("pivot_root", libc::SYS_pivot_root),
        ("prlimit64", libc::SYS_prlimit64),
        ("process_vm_readv", libc::SYS_process_vm_readv),
        ("ptrace", libc::SYS_ptrace),
        ("rt_sigqueueinfo", libc::SYS_rt_sigqueueinfo),
        ("sched_setaffinity", libc::SYS_sched_setaffinity),
        ("sethostname", libc::SYS_sethostname),
        ("setpriority", libc::SYS_setpriority),
        ("syslog", libc::SYS_syslog),
        ("unshare", libc::SYS_unshare),
        ("userfaultfd", libc::SYS_userfaultfd),
    ];
    numbers.iter().fold(program.to_owned(), |text, (name, number)| {
        text.replace(&format!("{{{name}}}"), &number.to_string())
    })
}

/// With the network on, services of the host's own sockets stay out of reach all the same.
#[tokio::test]
async fn the_network_being_on_opens_no_unix_sockets() {
    for sandbox in sandboxes() {
        let mut world = World::new();
        let program = world.fill_in(&format!(
            r#"{PRELUDE} for my $to ('{{socket}}', "\0{{marker}}") {{ socket(my $s, PF_UNIX, SOCK_STREAM, 0) or next;
            out $to if connect $s, pack_sockaddr_un $to }}"#
        ));
        let argv = ["perl", "-e", &program].map(str::to_owned);
        let root = world.tree();
        let job = Job { network: Network::On, ..world.job(&argv, &root) };
        let ran = sandbox.run(&job, &CancellationToken::new()).await.unwrap();
        assert_eq!(
            (ran.output.text().as_str(), ran.end),
            ("TRIED\n", End::Exited(0)),
            "{:?}",
            sandbox.cage()
        );
        assert_eq!(world.damage(), Vec::<String>::new());
    }
}

/// The attacks bite: without a cage, many of them do what they are meant to.
#[tokio::test]
async fn without_a_cage_they_would_escape() {
    let settings =
        planwright::tools::sandbox::SandboxSettings { cages: vec![Cage::None], ..super::world::settings() };
    let sandbox = Sandbox::find(settings).unwrap();
    let names =
        ["the state directory", "up and over", "links", "TCP", "UDP", "writing outside", "cutting off"];
    let attacks: Vec<Attack> = [stealing(), spying(), reaching(), breaking()].into_iter().flatten().collect();
    let chosen: Vec<_> = attacks.iter().filter(|attack| names.contains(&attack.name)).collect();
    assert_eq!(chosen.len(), names.len());
    for attack in chosen {
        for place in [Place::Plain, Place::Temporary, Place::Messages] {
            let harm = held(&sandbox, attack, place).await;
            assert!(!harm.is_empty(), "{} is no attack on {place:?}", attack.name);
        }
    }
}
