//! Purpose: go into the cage, shut it, and become the program.

use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode, Stdio};

use rustix::io::Errno;
use rustix::process::{Signal, set_parent_process_death_signal, setpriority_process, setsid};
use rustix::thread::set_no_new_privs;

use super::super::Cage;
use super::super::order::{Order, Word};
use super::landlock::Signals;
use super::{filter, landlock, limits};

pub(super) fn enter() -> ExitCode {
    // Where the cage talks. An attempt to become the program turns standard error over to it, also when it fails; this
    // one is closed when it succeeds.
    let Ok(talk) = io::stderr().as_fd().try_clone_to_owned() else { return ExitCode::FAILURE };
    let word = match try_to_enter() {
        Ok(never) => match never {},
        Err(NotEntered::Refused(why)) => Word::Refused(why),
        Err(NotEntered::NoProgram(name)) => Word::NoProgram(name),
    };
    let _ = File::from(talk).write_all(word.to_line().as_bytes());
    ExitCode::FAILURE
}

enum NotEntered {
    Refused(String),
    NoProgram(String),
}

fn try_to_enter() -> Result<Infallible, NotEntered> {
    let order = read_order().map_err(|error| refused("read the order", &error))?;
    // Behind everybody else on the machine, the bot and the watcher first of all.
    let _ = setpriority_process(None, 19);
    setsid().map_err(|error| refused("leave the session", &error.into()))?;
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| refused("tie itself to the watcher", &error.into()))?;
    limits::set_limits(&order).map_err(|error| refused("set limits", &error))?;
    set_no_new_privs(true).map_err(|error| refused("renounce privileges", &error.into()))?;
    // Opened before the door closes.
    let mut program = program(&order).map_err(|error| refused("prepare the program", &error))?;
    shut(&order)?;
    say(&Word::Entered);
    let error = program.exec();
    let name = order.argv.first().cloned().unwrap_or_default();
    Err(match Errno::from_io_error(&error) {
        // The last is a text without `#!`.
        Some(Errno::NOENT | Errno::ACCESS | Errno::NOTDIR | Errno::NOEXEC) => NotEntered::NoProgram(name),
        Some(_) | None => refused("start the program", &error),
    })
}

fn shut(order: &Order) -> Result<(), NotEntered> {
    let mut signals = Signals::StayInside;
    match order.cage {
        Cage::None => return Ok(()),
        Cage::Bubblewrap => landlock::close_scopes()
            .map_err(|error| NotEntered::Refused(format!("cannot shut the cage: {error}")))?,
        Cage::Landlock => {
            signals = landlock::signals();
            landlock::close(order).map_err(|error| {
                NotEntered::Refused(format!("the kernel's Landlock does not do: {error}"))
            })?;
        }
    }
    limits::drop_capabilities().map_err(|error| refused("give up capabilities", &error))?;
    filter::apply(order.cage, order.network, signals).map_err(NotEntered::Refused)
}

/// Both streams go where the program's output goes; the way on which the cage talks stays closed to it.
fn program(order: &Order) -> io::Result<Command> {
    let (name, arguments) = order.argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut program = Command::new(name);
    program
        .args(arguments)
        .env_clear()
        .envs(order.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&order.root)
        .stdin(Stdio::null())
        .stderr(io::stdout().as_fd().try_clone_to_owned()?);
    Ok(program)
}

fn read_order() -> io::Result<Order> {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    Ok(serde_json::from_str(&text)?)
}

pub(super) fn say(word: &Word) {
    let _ = io::stderr().write_all(word.to_line().as_bytes());
}

fn refused(doing: &str, error: &io::Error) -> NotEntered {
    NotEntered::Refused(format!("cannot {doing}: {error}"))
}
