//! Purpose: all integration tests in one binary.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod llm;
mod scripted_model;
