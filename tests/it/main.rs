//! Purpose: all integration tests in one binary.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so and stop")]

mod fake_forge;
mod fake_hooks;
mod forge_contract;
mod forge_faults;
mod local_forge;
