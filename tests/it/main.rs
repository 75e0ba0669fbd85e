//! Purpose: all integration tests in one binary.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod authority;
mod cli;
mod config;
mod core;
mod fake_forge;
mod fake_hooks;
mod forge_contract;
mod forge_faults;
mod history;
mod intake;
mod llm;
mod local_forge;
mod scripted_model;
mod store;
mod story;
mod translate;
