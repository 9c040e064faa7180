//! What machine code works with when it runs. Nothing here emits code.
//!
//! 1. `shape.rs`, `frames.rs`, `control.rs`: where things lie in a vector, and what is known of control states.
//! 2. `workspace.rs`: the memory that machine code and its helpers share while they work on one state.
//! 3. `successor_writer.rs`: lists of successors that machine code writes into.
//! 4. Helpers that machine code calls: `rendezvous.rs`, `sequence.rs`, `undo_log.rs`, `promises.rs`.
//! 5. `touch.rs`: what the moves of a process touch, for sleep sets.

pub(crate) mod control;
pub(crate) mod frames;
pub(crate) mod promises;
pub(crate) mod rendezvous;
pub(crate) mod sequence;
pub(crate) mod shape;
pub(crate) mod successor_writer;
pub(crate) mod touch;
pub(crate) mod undo_log;
pub(crate) mod workspace;
