//! Purpose: all integration tests in one binary.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod actions_hostile;
mod actions_stop;
mod approval;
mod authority;
mod cli;
mod cli_acting;
mod cli_doctor;
mod cli_plan;
mod config;
mod core;
mod fake_forge;
mod fake_hooks;
mod files;
mod forge_accounts;
mod forge_change_faults;
mod forge_changes;
mod forge_contract;
mod forge_faults;
mod git;
mod history;
mod intake;
mod japanese;
mod llm;
mod local_forge;
mod mcp;
mod outbound;
mod plan_life;
mod replans;
mod replans_people;
mod sandbox;
mod scripted_model;
mod store;
mod story;
mod translate;
