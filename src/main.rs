//! Purpose: arguments → config → tracing → one cli function.

fn main() {}
