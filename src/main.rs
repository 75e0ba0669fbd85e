//! Purpose: arguments → config → tracing → one cli function.

use std::process::ExitCode;

fn main() -> ExitCode {
    planwright::cli::main()
}
