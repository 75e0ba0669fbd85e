//! Planwright: a bot that plans in the thread, waits for approval, and keeps its checklist true.
//!
//! # The path of one webhook
//!
//! 1. [`intake`] caps the body, verifies it over the raw bytes, names it, and puts it into the inbox of [`store`].
//!    Only when it is on disk does the forge get its 202.
//! 2. [`engine`] claims the *thread* (one issue or one change request) with a lease and a fencing number, and turns
//!    each delivery into a [`domain::Event`], then into a [`planning::Fact`].
//! 3. [`planning`] is the pure core: `apply(run, fact)` and `next_effects(run, in_flight, policy)`. It knows no clock,
//!    no network and no disk.
//! 4. The engine performs each [`planning::Effect`] (ask the model, write a comment) and appends the fact that came
//!    of it. Facts form the thread's journal; a run is the fold of its journal.
//! 5. [`render`] draws the run as the card; the engine edits the comment when the picture differs.
//!
//! # Rooms
//!
//! | kind | rooms | may use |
//! |---|---|---|
//! | doors | [`cli`], [`intake`] | store and the pure rooms; `cli` wires everything |
//! | pure | [`domain`], [`plan`], [`planning`], [`prompts`], [`render`] | each other; no IO, no clock, no async |
//! | IO | [`forge`], [`llm`], [`store`] | the pure rooms and one outside thing each, never one another |
//! | sees all | [`engine`] | everything but the doors |
//! | settings | [`config`] | the pure rooms |
//!
//! `tests/tidy.rs` holds these rules.
//!
//! # Deliberately absent
//!
//! No in-memory queue (a crash would lose it), no state read back from our own comments (anyone with write access can
//! edit them), no retries inside the HTTP clients (they repeat POSTs), no trait objects for forges and models (both
//! sets are closed, so they are enums).

pub mod cli;
pub mod config;
pub mod domain;
pub mod engine;
pub mod forge;
pub mod intake;
pub mod llm;
pub mod plan;
pub mod planning;
pub mod prompts;
pub mod render;
pub mod store;
pub mod telemetry;
