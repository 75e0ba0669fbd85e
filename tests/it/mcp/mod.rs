//! Purpose: MCP servers, real ones and hostile ones: what they offer, what they may do, and how they end.

mod hostile;
mod lifecycle;
mod real;
mod remote;
pub(crate) mod rig;
