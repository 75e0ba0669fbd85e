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
//! 4. The engine performs each [`planning::Effect`] (ask the model, look at the repository, carry out one action) and
//!    appends the fact that came of it. Facts form the thread's journal; a run is the fold of its journal.
//! 5. [`render`] draws the run as the card; the engine edits the comment when the picture differs.
//!
//! # The path of one action
//!
//! 1. The model names it; [`actions`] examines it against the repository, rates its risk and gives it a digest over all
//!    that an approval rests on.
//! 2. Somebody who may write approves that digest, or the policy lets its risk through.
//! 3. Right before it begins, the gate of the [`engine`] looks at everything afresh: the thread, the settings, the tool,
//!    the file. The digest must still be the approved one, and no delivery may wait unheard.
//! 4. [`tools`] does it: in the run's own checkout, through the one gate to its files, in the cage, or by the MCP server.
//! 5. The evidence (a commit, an exit code) goes to the journal, and from there onto the card.
//!
//! # Rooms
//!
//! | kind | rooms | may use |
//! |---|---|---|
//! | doors | [`cli`], [`intake`] | store and the pure rooms; `cli` wires everything |
//! | pure | [`domain`], [`plan`], [`actions`], [`crew`], [`planning`], [`prompts`], [`render`] | each other; no IO, no clock, no async |
//! | IO | [`forge`], [`llm`], [`store`], [`tools`] | the pure rooms and one outside thing each, never one another |
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

pub mod actions;
pub mod cli;
pub mod config;
pub mod crew;
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
pub mod tools;
