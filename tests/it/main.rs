//! Purpose: all integration tests in one binary.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod history;
mod intake;
mod store;
