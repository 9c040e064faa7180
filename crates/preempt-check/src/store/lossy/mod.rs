//! Stores that lose states: `compact.rs` keeps 64 bits of each, `bitstate.rs` a few bits of one large field.
//!
//! Invariant: both say how many states they are expected to have lost.

pub(super) mod bitstate;
pub(super) mod compact;
