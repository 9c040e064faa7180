//! An index of words in the order of their upper halves, the *tags*, which grows without a pause.
//!
//! The slot of an entry is computed from its tag alone, and monotonously: `tag * capacity / 2^32`. Entries are kept in the
//! order of their tags (ordered linear probing), so that a search for an unknown tag ends early even in a crowded table.
//!
//! **Growth.** A crowded table gets a successor, to which its entries are moved some thousand slots at a time, between
//! insertions. Both tables are in the order of tags, so one number, the *boundary*, says which of them a tag belongs to, and
//! moving is a sequential sweep that reads no state and hashes nothing. The new table fills from its beginning while the
//! memory of the old one is given back from its beginning: at no time are there two whole tables, and the
//! system clears the new pages one by one, too. A lookup pays a comparison for it. (Extendible hashing, by which the indexes
//! of several threads grow (`concurrent/directory.rs`), pays a load from a directory, and a table that doubles piece by
//! piece takes more memory on average; here the factor of growth is free.)
//!
//! Invariants: tags never decrease along a table; an entry lies at its tag's slot or behind it with no free slot in
//! between; tags below the boundary are in the new table, all others in the old one; the last two slots are free.

use crate::store::memory::pages;
use std::ops::Range;

/// Free slots behind the last computed one, so that probing need not wrap around.
const MARGIN: usize = 1 << 10;
/// So many slots are moved in a step.
pub(in crate::store) const STEP: usize = 1 << 11;
/// How many insertions may follow on a step before the next one: a table is moved while a thirty-second of its slots fill.
pub(in crate::store) const PACE: usize = STEP / 32;
/// Tables of so many slots are moved in one go: in less time than a page fault of a large one takes.
pub(in crate::store) const SMALL: usize = 1 << 14;
/// Tables below this many bytes get their pages at once.
const SMALL_BYTES: usize = 2 << 20;
/// Tags are below this.
const TAGS: u64 = 1 << 32;

/// The index.
#[derive(Debug)]
pub(in crate::store) struct Ordered {
    table: Table,
    /// The table before, while its entries are moved.
    old: Table,
    /// Tags from here on are in the old table.
    boundary: u64,
    /// Slots of the old table that were moved.
    moved: usize,
    /// How often entries were moved.
    version: usize,
    /// How many entries were moved.
    #[cfg(test)]
    pub(in crate::store) moves: usize,
}

#[derive(Default, Debug)]
struct Table {
    /// 0 = free.
    slots: Vec<u64>,
    /// A number beside each slot, or nothing.
    numbers: Vec<u32>,
    capacity: usize,
    /// Bytes of both that were given back.
    released: (usize, usize),
}

impl Table {
    fn new(capacity: usize, numbered: bool) -> Self {
        let length = capacity + MARGIN;
        let numbers = if numbered { zeroed(length) } else { Vec::new() };
        Table { slots: zeroed(length), numbers, capacity, released: (0, 0) }
    }

    /// The slot of a tag.
    #[inline(always)]
    fn slot(&self, tag: u64) -> usize {
        ((tag * self.capacity as u64) >> 32) as usize
    }

    /// The lowest tag with this slot or one behind it.
    fn lowest_tag(&self, slot: usize) -> u64 {
        ((slot as u128) << 32).div_ceil(self.capacity.max(1) as u128).min(TAGS.into()) as u64
    }

    /// Bytes per slot.
    fn width(&self) -> usize {
        if self.numbers.is_empty() { 8 } else { 12 }
    }

    fn bytes(&self) -> usize {
        self.slots.len() * self.width() - self.released.0 - self.released.1
    }

    /// Makes the margin longer: more entries than it takes have the last tags.
    #[cold]
    fn lengthen(&mut self) {
        let length = self.slots.len() + MARGIN.max(self.slots.len() / 8);
        self.slots.resize(length, 0);
        if !self.numbers.is_empty() {
            self.numbers.resize(length, 0);
        }
    }

    /// Gives back the memory of the slots before this one.
    fn release(&mut self, end: usize) {
        let (slots, numbers) = self.released;
        self.released.0 = pages::release(&mut self.slots, slots, end);
        self.released.1 = pages::release(&mut self.numbers, numbers, end);
    }
}

fn zeroed<T: Copy + Default>(length: usize) -> Vec<T> {
    match length * size_of::<T>() {
        0..SMALL_BYTES => pages::zeroed_and_ready(length),
        _ => pages::zeroed(length),
    }
}

impl Ordered {
    /// An empty index; in a numbered one every entry has a number beside it.
    pub(in crate::store) fn new(capacity: usize, numbered: bool) -> Self {
        Ordered {
            table: Table::new(capacity, numbered),
            old: Table::default(),
            boundary: u64::MAX,
            moved: 0,
            version: 0,
            #[cfg(test)]
            moves: 0,
        }
    }

    /// How many slots tags belong to.
    pub(in crate::store) fn capacity(&self) -> usize {
        self.table.capacity
    }

    /// Slots that were found before stay what they are, but for insertions in front of them, while this does.
    #[inline(always)]
    pub(in crate::store) fn version(&self) -> usize {
        self.version
    }

    /// Memory in use, in bytes.
    pub(in crate::store) fn bytes(&self) -> usize {
        let all = self.table.bytes();
        if !self.is_moving() {
            return all;
        }
        // Of the new table the part that was written to.
        let begun = self.table.slot(self.boundary.min(TAGS)) * self.table.width();
        self.old.bytes() + all.min(begun + pages::PIECE)
    }

    /// How many bytes there are at most while the index grows to this capacity, and afterwards.
    pub(in crate::store) fn bytes_to_grow(&self, capacity: usize) -> usize {
        (capacity + MARGIN) * self.table.width() + self.bytes().min(2 * pages::PIECE)
    }

    #[inline(always)]
    fn table(&self, tag: u64) -> &Table {
        if tag < self.boundary { &self.table } else { &self.old }
    }

    /// The slots among which an entry with this tag is, and the first of them where it can be.
    #[inline(always)]
    pub(in crate::store) fn slots(&self, tag: u64) -> (&[u64], usize) {
        let table = self.table(tag);
        (&table.slots, table.slot(tag))
    }

    /// The number beside the slot of an entry with this tag.
    #[inline(always)]
    pub(in crate::store) fn number(&self, tag: u64, at: usize) -> Option<u32> {
        self.table(tag).numbers.get(at).copied()
    }

    /// Asks the processor to fetch the slot of a tag.
    #[inline(always)]
    pub(in crate::store) fn prefetch(&self, tag: u64) {
        let (slots, at) = self.slots(tag);
        pages::fetch(slots.as_ptr().wrapping_add(at));
    }

    /// Puts an entry into the first of these slots; what lies there moves up. The last one is free, and no other.
    #[inline(always)]
    pub(in crate::store) fn put(&mut self, slots: Range<usize>, entry: u64, number: u32) {
        let is_new = entry >> 32 < self.boundary;
        let table = if is_new { &mut self.table } else { &mut self.old };
        if !table.numbers.is_empty() {
            let mut moved = number;
            for number in &mut table.numbers[slots.clone()] {
                moved = std::mem::replace(number, moved);
            }
        }
        let mut moved = entry;
        for slot in &mut table.slots[slots] {
            moved = std::mem::replace(slot, moved);
        }
    }

    /// Makes room where the free slot for an entry with this tag is one of the last two.
    #[cold]
    pub(in crate::store) fn lengthen(&mut self, tag: u64) {
        match tag < self.boundary {
            true => self.table.lengthen(),
            false => self.old.lengthen(),
        }
    }

    /// Whether entries are being moved, so that [`Ordered::advance`] must be called at least every [`PACE`] insertions.
    #[inline(always)]
    pub(in crate::store) fn is_moving(&self) -> bool {
        !self.old.slots.is_empty()
    }

    /// Begins to move to a table of a larger capacity. Nothing may be moving.
    pub(in crate::store) fn begin(&mut self, capacity: usize) {
        debug_assert!(!self.is_moving() && capacity >= self.capacity());
        let larger = Table::new(capacity, !self.table.numbers.is_empty());
        let is_small = self.table.capacity <= SMALL;
        self.old = std::mem::replace(&mut self.table, larger);
        (self.boundary, self.moved) = (0, 0);
        self.version += 1;
        while is_small && self.is_moving() {
            self.advance();
        }
    }

    /// Moves the next entries.
    pub(in crate::store) fn advance(&mut self) {
        let (table, old) = (&mut self.table, &mut self.old);
        let all = old.slots.len();
        let mut end = (self.moved + STEP).min(all);
        // What is behind the end must belong there.
        while end < all && old.slots[end] != 0 && old.slot(old.slots[end] >> 32) < end {
            end += 1;
        }
        let mut free = 0;
        for from in self.moved..end {
            let entry = old.slots[from];
            if entry == 0 {
                continue;
            }
            let mut at = table.slot(entry >> 32).max(free);
            while table.slots[at] != 0 {
                at += 1;
            }
            if at + 2 >= table.slots.len() {
                table.lengthen();
            }
            table.slots[at] = entry;
            if let Some(number) = table.numbers.get_mut(at) {
                *number = old.numbers[from];
            }
            free = at + 1;
            #[cfg(test)]
            {
                self.moves += 1;
            }
        }
        self.version += 1;
        self.moved = end;
        // Behind the capacity and the entries that did not fit before it there is nothing.
        if end >= old.capacity {
            self.old = Table::default();
            self.boundary = u64::MAX;
        } else {
            self.boundary = old.lowest_tag(end);
            old.release(end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// An index and what should be in it.
    struct Pair {
        index: Ordered,
        truth: BTreeMap<u64, u32>,
        since: usize,
    }

    impl Pair {
        /// As the stores do it: an entry is looked for, and put in.
        fn insert(&mut self, entry: u64) {
            let tag = entry >> 32;
            loop {
                let (at, end) = self.find(entry);
                let (slots, _) = self.index.slots(tag);
                if slots[at] == entry {
                    if let Some(number) = self.index.number(tag, at) {
                        assert_eq!(self.truth.get(&entry), Some(&number));
                    }
                    return;
                }
                assert!(!self.truth.contains_key(&entry), "{entry:x} was lost");
                if end + 2 >= slots.len() {
                    self.index.lengthen(tag);
                    continue;
                }
                let number = self.truth.len() as u32;
                self.index.put(at..end + 1, entry, number);
                self.truth.insert(entry, number);
                break;
            }
            self.since += 1;
            if self.index.is_moving() && self.since >= PACE {
                (self.since, _) = (0, self.index.advance());
            } else if !self.index.is_moving() && self.truth.len() >= self.index.capacity() / 4 * 3 {
                self.index.begin(self.index.capacity() / 2 * 3);
            }
        }

        fn find(&self, entry: u64) -> (usize, usize) {
            let (slots, mut at) = self.index.slots(entry >> 32);
            while slots[at] != 0 && slots[at] < entry {
                at += 1;
            }
            let free = slots[at..].iter().position(|slot| *slot == 0).expect("the last is free");
            (at, at + free)
        }
    }

    fn random(seed: &mut u64) -> u64 {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        seed.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Everything is found at every moment of the growth, and no insertion moves more than a step, on which a run of used slots
    /// may follow.
    #[test]
    fn grows_in_steps_and_loses_nothing() {
        for numbered in [false, true] {
            let index = Ordered::new(1 << 12, numbered);
            let mut pair = Pair { index, truth: BTreeMap::new(), since: 0 };
            let (mut seed, mut was_moving) = (99, 0);
            for round in 0..400_000_u64 {
                let (moves, capacity) = (pair.index.moves, pair.index.capacity());
                // Many are met again.
                let entry = if round % 3 == 0 { round / 7 + 1 } else { random(&mut seed).max(1) };
                pair.insert(entry.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                let most = if capacity <= SMALL { SMALL } else { STEP + 500 };
                assert!(
                    pair.index.moves - moves <= most,
                    "{} of {round}",
                    pair.index.moves - moves
                );
                was_moving += usize::from(pair.index.is_moving());
                if round % 50_000 == 49_999 {
                    for entry in pair.truth.keys() {
                        let (at, _) = pair.find(*entry);
                        assert_eq!(pair.index.slots(entry >> 32).0[at], *entry);
                    }
                }
            }
            assert!(was_moving > 10_000, "{was_moving}");
            assert!(pair.index.moves > pair.truth.len(), "{}", pair.index.moves);
        }
    }

    /// Nearly all entries have one of a few tags, the last ones among them: the table does not grow for their sake, and they are
    /// found.
    #[test]
    fn crowds_of_equal_tags() {
        for crowd in [0, 0x8000_0000, 0xffff_ffff, 0xffff_fff0] {
            let index = Ordered::new(1 << 12, true);
            let mut pair = Pair { index, truth: BTreeMap::new(), since: 0 };
            let mut seed = 7;
            for round in 0..12_000_u64 {
                let other = random(&mut seed);
                let tag = if round % 16 == 0 { other >> 32 } else { crowd };
                pair.insert(tag << 32 | (other & 0xffff) << 16 | (round + 1) & 0xffff);
            }
            assert_eq!(pair.truth.len(), 12_000);
            assert!(pair.index.capacity() < 1 << 15, "{}", pair.index.capacity());
            for entry in pair.truth.keys() {
                let (at, _) = pair.find(*entry);
                assert_eq!(pair.index.slots(entry >> 32).0[at], *entry);
            }
        }
    }

    /// Both stores over this index: what an insertion moves does not depend on how many states there are.
    #[test]
    fn no_insertion_moves_more_than_a_step() {
        use crate::store::{Compact, Exact, Store};
        let (mut exact, mut compact) = (Exact::new(usize::MAX), Compact::new(usize::MAX, true));
        let mut seed = 5;
        for round in 0..400_000_u32 {
            let state = random(&mut seed).to_le_bytes();
            let before = (exact.moves(), compact.moves());
            assert_eq!(exact.insert(&state), compact.insert(&state));
            let moved = (exact.moves() - before.0).max(compact.moves() - before.1);
            let most = if round < SMALL as u32 { SMALL } else { STEP + 500 };
            assert!(moved <= most, "{moved} entries for state {round}");
        }
        assert!(exact.moves() > 100_000 && compact.moves() > 100_000);
    }

    /// While a large index grows, its memory is never that of two whole tables.
    #[test]
    fn two_whole_tables_never_exist() {
        let mut index = Ordered::new(1 << 22, false);
        let before = index.bytes();
        let most = index.bytes_to_grow(1 << 23);
        assert!(most < before * 5 / 2);
        index.begin(1 << 23);
        while index.is_moving() {
            assert!(index.bytes() <= most, "{} {most}", index.bytes());
            index.advance();
        }
        assert_eq!(index.bytes(), ((1 << 23) + MARGIN) * 8);
    }
}
