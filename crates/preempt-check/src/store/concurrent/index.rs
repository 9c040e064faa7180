//! A table of atomic words that are found by their upper half, the *tag*.
//!
//! The place of an entry is computed from its tag alone, and monotonously: slot = `tag * capacity / 2^32`; entries lie
//! there or behind, in no order. So a table is enlarged without a look at what its entries mean, and parts of it by
//! several threads.
//!
//! Invariant: between the slot of a tag and an entry with it there is no free slot.

use super::super::pages;
use super::growth::in_parts;
use super::segments::atomic_words;
use crate::platform::SLOT_MARGIN as MARGIN;
use crate::platform::sync::atomic::{AtomicU64, Ordering};
use std::ops::Range;

/// From here on it pays to move the entries of an index by several threads.
const LARGE_INDEX: usize = 1 << 19;

/// The table.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) slots: Vec<AtomicU64>,
}

impl Index {
    pub(super) fn new(capacity: usize) -> Self {
        Index { slots: atomic_words(capacity + MARGIN) }
    }

    pub(super) fn bytes(&self) -> usize {
        self.slots.len() * 8
    }

    fn capacity(&self) -> usize {
        self.slots.len() - MARGIN
    }

    /// How many entries the table takes: they are in no order, so that the search for one that is not there ends
    /// at a free slot only.
    pub(super) fn most(&self) -> usize {
        self.capacity() / 20 * 12
    }

    /// The capacity to grow to, and how many bytes a table with it takes.
    pub(super) fn larger(&self) -> (usize, usize) {
        let capacity = self.capacity();
        let larger = if capacity < 1 << 26 { capacity * 2 } else { capacity / 2 * 3 };
        (larger, (larger + MARGIN) * 8)
    }

    /// Where an entry with this tag is, or behind it.
    #[inline(always)]
    pub(super) fn slot(&self, tag: u64) -> usize {
        slot(tag, self.capacity())
    }

    /// Whether an entry may be put here: there must be free slots behind it.
    #[inline(always)]
    pub(super) fn has_room_at(&self, at: usize) -> bool {
        at + 2 < self.slots.len()
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, tag: u64) {
        pages::fetch(self.slots.as_ptr().wrapping_add(self.slot(tag)));
    }

    /// Grows, by as many threads as there are if it is large.
    pub(super) fn enlarge(&mut self, capacity: usize, threads: usize) {
        let parts = if self.capacity() < LARGE_INDEX { 1 } else { threads.max(1) };
        self.slots = enlarged(&self.slots, capacity, parts);
    }
}

/// An index of a larger capacity with the same entries, moved by as many threads as there are `parts`.
fn enlarged(old: &[AtomicU64], capacity: usize, parts: usize) -> Vec<AtomicU64> {
    let new = atomic_words(capacity + MARGIN);
    let first = |part: usize| match part == parts {
        true => old.len(),
        false => (old.len() - MARGIN) * part / parts,
    };
    let behind = in_parts(parts, |part| move_entries(old, first(part)..first(part + 1), &new));
    for entry in behind.into_iter().flatten() {
        let mut at = slot(entry >> 32, capacity);
        while new[at].load(Ordering::Relaxed) != 0 {
            at += 1;
        }
        new[at].store(entry, Ordering::Relaxed);
    }
    new
}

/// Puts the entries of part of an index into the part of a larger one that their tags belong to. Gives back
/// those that do not fit there: no other thread may write to it.
fn move_entries(old: &[AtomicU64], part: Range<usize>, new: &[AtomicU64]) -> Vec<u64> {
    let (old_capacity, capacity) = (old.len() - MARGIN, new.len() - MARGIN);
    let place = |at: usize| match at {
        at if at >= old_capacity => new.len(),
        at => (at as u64 * capacity as u64).div_ceil(old_capacity as u64) as usize,
    };
    let (first, last) = (place(part.start), place(part.end));
    let mut behind = Vec::new();
    for entry in old[part].iter().map(|slot| slot.load(Ordering::Relaxed)).filter(|e| *e != 0) {
        let mut at = slot(entry >> 32, capacity);
        if at < first {
            behind.push(entry);
            continue;
        }
        while at < last && new[at].load(Ordering::Relaxed) != 0 {
            at += 1;
        }
        match at < last {
            true => new[at].store(entry, Ordering::Relaxed),
            false => behind.push(entry),
        }
    }
    behind
}

#[inline(always)]
fn slot(tag: u64, capacity: usize) -> usize {
    ((tag * capacity as u64) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_on_the_way_to_a_larger_index() {
        let capacity = 1 << 10;
        let old = atomic_words(capacity + MARGIN);
        let mut tag = 7_u64;
        let mut entries = Vec::new();
        for number in 0..capacity as u64 * 3 / 5 {
            tag = tag.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(number);
            // Now and then many in one place, and behind the last computed one.
            let many = number % 5 == 0 && number < MARGIN as u64;
            let tag = if many { 0xffff_fff0 } else { tag >> 32 };
            entries.push(tag << 32 | (number + 1));
            let mut at = slot(tag, capacity);
            while old[at].load(Ordering::Relaxed) != 0 {
                at += 1;
            }
            old[at].store(tag << 32 | (number + 1), Ordering::Relaxed);
        }
        for (larger, parts) in [(2 << 10, 1), (2 << 10, 3), (3 << 9, 2), (3 << 9, 7)] {
            let new = enlarged(&old, larger, parts);
            let full = new.iter().filter(|entry| entry.load(Ordering::Relaxed) != 0).count();
            assert_eq!(full, entries.len());
            for entry in &entries {
                let reachable = new[slot(entry >> 32, larger)..].iter();
                let mut reachable = reachable.map(|slot| slot.load(Ordering::Relaxed));
                let found = reachable.by_ref().take_while(|e| *e != 0).any(|e| e == *entry);
                assert!(found, "{entry:x} with {parts} parts");
            }
        }
    }
}
