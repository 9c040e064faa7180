//! Promela as machine code.
//!
//! [`Native`] is a [`System`](preempt_core::System) like the reference interpreter and gives the same answers,
//! step for step; it only gives them faster. What has no machine code it passes on to the interpreter it was
//! made from, process by process and step by step. Translation takes milliseconds and needs no C
//! compiler; what a search does not use, or hardly uses, is not translated.
//!
//! - `execute/`: what machine code works with when it runs: the workspace, frames, undo log, helpers.
//! - `generate/`: what emits the code; `generate/cranelift.rs` is the only file that knows Cranelift.
//! - `card/`: the same code as the kernel of a graphics card.
//! - `native/`: the system made of both, one file per kind of request.
//!
//! **Invariant:** every vector handed to machine code was produced by this system or its interpreter,
//! so offsets computed from it stay inside it.

pub mod card;
mod execute;
mod generate;
mod native;

pub use generate::code::CodeError;
pub use native::Native;
