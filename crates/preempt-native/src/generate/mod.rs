//! Everything that emits code.
//!
//! 1. `code.rs`: a small assembler as a trait, with Cranelift behind it in `cranelift.rs` and PTX, the text that a graphics card
//!    takes, in `ptx.rs` with `dead_blocks.rs`. `on_demand.rs`: functions compiled when they are first called.
//! 2. `scope.rs`, `value.rs`, `channel.rs`: expressions, places and channels.
//! 3. `support.rs`: what has machine code at all. `moves.rs`, `rendezvous.rs`: moves, their guards and effects.
//! 4. `successors.rs`: all moves of a control state; `sequence.rs`: atomic blocks in one go; `undo_log.rs`: steps
//!    that are noted and taken back; `touch.rs`: what moves touch.
//! 5. `helpers.rs`: the functions of `execute/` that code calls. `compiled.rs`: the parts that are translated together.

pub(crate) mod channel;
pub(crate) mod code;
pub(crate) mod compiled;
pub(crate) mod cranelift;
mod dead_blocks;
pub(crate) mod helpers;
pub(crate) mod moves;
pub(crate) mod on_demand;
pub(crate) mod ptx;
pub(crate) mod rendezvous;
pub(crate) mod scope;
pub(crate) mod sequence;
pub(crate) mod successors;
pub(crate) mod support;
pub(crate) mod touch;
pub(crate) mod undo_log;
pub(crate) mod value;
