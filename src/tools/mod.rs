//! Purpose: the hands of a run: its checkout, the files in it, commands in a cage, and the tools of MCP servers.
//!
//! Nobody decides here: what may be touched was approved before, and is checked by the engine for every action. Each
//! part keeps to its own limits all the same, so that a mistake elsewhere stays small.
//!
//! - [`git`]: a mirror of each repository, and a checkout of its own for each run.
//! - [`files`]: the one gate to the files of a checkout.
//! - [`sandbox`]: commands in a cage.
//! - [`mcp`]: the servers of the settings, and their tools.

pub mod files;
pub mod git;
pub mod mcp;
pub mod sandbox;
