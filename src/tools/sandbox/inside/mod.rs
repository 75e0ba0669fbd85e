//! Purpose: the parts of the cage that run as processes of their own: this program, started with a hidden argument.
//!
//! They read no settings and no environment: all they know comes with the order.

mod cgroup;
mod enter;
mod filter;
mod landlock;
mod limits;
mod prove;
mod tree;
mod watch;

use std::ffi::OsString;
use std::process::ExitCode;

pub(super) use tree::end_tree;

const HIDDEN: &str = "sandbox-exec";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Outside of the cage: starts it, counts, and ends everything.
    Watch,
    /// Goes into the cage and becomes the program.
    Enter,
    /// Tries to get out of the cage.
    Prove,
    /// Ends well.
    Nothing,
}

impl Part {
    const ALL: [Self; 4] = [Self::Watch, Self::Enter, Self::Prove, Self::Nothing];

    /// The part that this process was started for, if it was started for one. To be asked before anything else is
    /// done: inside the cage, the current directory and what is in it belong to strangers.
    #[must_use]
    pub fn asked_for(mut arguments: impl Iterator<Item = OsString>) -> Option<(Self, Vec<OsString>)> {
        if arguments.nth(1)? != HIDDEN {
            return None;
        }
        let name = arguments.next()?;
        let part = Self::ALL.into_iter().find(|part| name == part.name())?;
        Some((part, arguments.collect()))
    }

    #[must_use]
    pub fn run(self, arguments: &[OsString]) -> ExitCode {
        match self {
            Self::Watch => watch::watch(),
            Self::Enter => enter::enter(),
            Self::Prove => prove::prove(arguments),
            Self::Nothing => ExitCode::SUCCESS,
        }
    }

    pub(super) fn arguments(self) -> [&'static str; 2] {
        [HIDDEN, self.name()]
    }

    fn name(self) -> &'static str {
        match self {
            Self::Watch => "watch",
            Self::Enter => "enter",
            Self::Prove => "prove",
            Self::Nothing => "nothing",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_hidden_argument_asks_for_a_part() {
        let asked = |line: &str| Part::asked_for(line.split(' ').map(OsString::from)).map(|(part, _)| part);
        for part in Part::ALL {
            assert_eq!(asked(&format!("planwright {}", part.arguments().join(" "))), Some(part));
        }
        for line in
            ["planwright", "planwright serve", "planwright sandbox-exec", "sandbox-exec watch", "x y watch"]
        {
            assert_eq!(asked(line), None, "{line}");
        }
        assert_eq!(asked("planwright sandbox-exec other"), None);
    }
}
