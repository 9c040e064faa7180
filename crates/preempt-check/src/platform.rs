//! What the stores for several threads use of the standard library, and how large their tables are at first.
//!
//! The test `stores_under_control` compiles the same stores with preempt's atomics and tiny tables in place of these, and
//! executes them in every order that matters.

pub(crate) use std::{hint, sync, thread, time};

/// Words of a segment, as a power of two. Segments are as large as no allocator keeps memory back for: they come from the
/// system, zeroed.
pub(crate) const SEGMENT_BITS: u32 = 22;
/// No array has more segments.
pub(crate) const MOST_SEGMENTS: usize = 1 << 30;
/// Slots of a new index of tags.
pub(crate) const FIRST_SLOTS: usize = 1 << 16;
/// Slots behind the last computed one, so that probing need not wrap around.
pub(crate) const SLOT_MARGIN: usize = 1 << 10;
/// Lines of a new index of numbers.
pub(crate) const FIRST_LINES: usize = 1 << 9;
/// Lines behind the last that keys hash to.
pub(crate) const LINE_MARGIN: usize = 1 << 6;
/// Keys that a thread remembers.
pub(crate) const RECENT_KEYS: usize = 1 << 12;
/// Links to predecessors that a thread takes at once.
pub(crate) const LINK_BLOCK: usize = 1 << 9;
/// Where the lines of an index of numbers begin: at a multiple of so many bytes.
pub(crate) const LINE_BYTES: usize = 64;
/// Numbers that a thread takes at once.
pub(crate) const NUMBER_BLOCK: usize = 64;
