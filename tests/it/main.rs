//! Purpose: all integration tests in one binary.

mod config;
