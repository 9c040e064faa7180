//! What the searches and stores for several threads use of the standard library, and how large their tables are at first.
//!
//! The crate `controlled` compiles the same sources with preempt's atomics and tiny tables in place of these, and executes
//! them in every order that matters.

pub(crate) use std::{hint, sync, thread, time};

/// Words of a segment, as a power of two. Segments are as large as no allocator keeps memory back for: they come from the
/// system, zeroed.
pub(crate) const SEGMENT_BITS: u32 = 22;
/// No array has more segments.
pub(crate) const MOST_SEGMENTS: usize = 1 << 30;
/// Words of a segment of an extendible table, the first line of which is its header.
pub(crate) const TABLE_WORDS: usize = 1 << 11;
/// Segments of a new table, and locks for splits: by the first bits of a hash.
pub(crate) const FIRST_DEPTH: u32 = 4;
/// How far an entry may lie from its home: a segment is split when two thirds of its slots are used, on average.
pub(crate) const FURTHEST_SLOT: usize = 32;
/// How many lines behind its own a key may be: a segment is split when five sixths of its places are used, on average.
pub(crate) const FURTHEST_LINE: usize = 8;
/// Entries of a line have at least so many bits for numbers, and a bit of a tag.
pub(crate) const LEAST_BITS: u32 = 16;
/// Keys that a thread remembers.
pub(crate) const RECENT_KEYS: usize = 1 << 12;
/// Links to predecessors that a thread takes at once.
pub(crate) const LINK_BLOCK: usize = 1 << 9;
/// Numbers that a thread takes at once: a block of keys.
pub(crate) const NUMBER_BLOCK: usize = 64;
/// States of a chunk of work where these are taken level by level: it should be a small part of a level.
pub(crate) const LEVEL_CHUNK: usize = 64;

/// The words of a segment.
pub(crate) type Words = Vec<sync::atomic::AtomicU64>;

/// Words where they are.
pub(crate) fn words(words: Vec<sync::atomic::AtomicU64>) -> Words {
    words
}
