//! A table of atomic words that are found by their upper half, the *tag*: the index of stores with one entry per state.
//!
//! It consists of the segments of an [extendible table](super::directory). An entry lies in its home, which is computed from its
//! tag alone, or in one of the slots behind it, in no order. So a segment is split without a look at what its entries mean.
//! Behind the last slot of a cache line comes its first: all slots of a line are tried before the next line is, so that nearly
//! every look costs one cache miss.
//!
//! Invariant: between the home of a tag and an entry with it there is no free slot, and never more than [`FURTHEST`] others.

use super::super::StoreFull;
use super::directory::{Crowded, Directory, HEADER, Layout, Room, Segment, Table, WORDS};
use super::readers::{ManyReaders, Reading};
pub(super) use crate::platform::FURTHEST_SLOT as FURTHEST;
use crate::platform::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::store::memory::pages;
use preempt_core::Contention;

/// Slots of a cache line.
const LINE: usize = crate::platform::SLOTS_OF_A_LINE;
/// Slots that can be a home: behind the last of them there are as many lines as an entry may need.
const HOMES: usize = WORDS - HEADER - (FURTHEST + 1 - LINE);
const _: () = assert!((FURTHEST + 1).is_multiple_of(LINE) && HEADER.is_multiple_of(LINE));
/// What takes the place of free slots when a segment is split. No entry may have this value.
pub(super) const SEALED: u64 = u64::MAX;
/// Words for as many entries as there are places.
const MOST: usize = 1 << 34;

/// The table, with a count of its entries.
#[derive(Debug)]
pub(super) struct Index {
    directory: ManyReaders<Directory>,
    pub(super) table: Table,
    entries: AtomicUsize,
}

/// The slots in which an entry can be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slots<'a> {
    segment: Segment<'a>,
    home: usize,
}

/// Entries as they are.
struct Words;

impl Index {
    /// For so many threads.
    pub(super) fn new(threads: usize) -> Self {
        let (table, directory) = Table::new(MOST, &Words);
        let directory = ManyReaders::new(directory, threads);
        Index { directory, table, entries: AtomicUsize::new(0) }
    }

    /// The table, for this thread, which must not have it already.
    #[inline(always)]
    pub(super) fn read(&self, thread: usize) -> Reading<'_, Directory> {
        self.directory.read(thread)
    }

    /// How many entries were counted.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.entries.load(Ordering::Relaxed)
    }

    /// Counts the new entries of a batch.
    #[inline(always)]
    pub(super) fn count(&self, new: usize, contention: &mut Contention) {
        if new != 0 {
            contention.shared_bytes += 8;
            self.entries.fetch_add(new, Ordering::Relaxed);
        }
    }

    /// Memory in use, in bytes.
    #[inline(always)]
    pub(super) fn bytes(&self) -> usize {
        self.table.bytes()
    }

    /// Makes room for an entry that did not fit, if so many bytes more may be used. The thread may not be reading.
    pub(super) fn make_room(
        &self,
        thread: usize,
        crowded: Crowded,
        may_use: impl Fn(usize) -> bool,
        contention: &mut Contention,
    ) -> Result<Room<'_>, StoreFull> {
        let readers = (&self.directory, thread);
        self.table.make_room(readers, (|all| all, |all| all), crowded, &Words, may_use, contention)
    }
}

impl Directory {
    /// The slots for an entry with the tag of this hash.
    #[inline(always)]
    pub(super) fn slots(&self, hash: u64) -> Slots<'_> {
        Slots { segment: self.segment(hash), home: home((hash >> 32) as u32) }
    }
}

impl<'a> Slots<'a> {
    /// The slot so far behind the home, at most [`FURTHEST`].
    #[inline(always)]
    pub(super) fn slot(self, distance: usize) -> &'a AtomicU64 {
        &self.segment.words[behind(self.home, distance)]
    }

    #[inline(always)]
    pub(super) fn prefetch(self) {
        pages::fetch(self.slot(0));
    }

    /// For [`Index::make_room`].
    pub(super) fn crowded(self, hash: u64) -> Crowded {
        self.segment.crowded(hash)
    }
}

/// The slot so far behind another.
#[inline(always)]
fn behind(home: usize, distance: usize) -> usize {
    let line = (home & !(LINE - 1)) + (distance & !(LINE - 1));
    // A segment has a power of two of words, and none behind the last is ever asked for.
    (line + ((home + distance) & (LINE - 1))) & (WORDS - 1)
}

/// The first slot for an entry with this tag. All bits count, as segments have the first ones in common.
#[inline(always)]
fn home(tag: u32) -> usize {
    let spread = tag.wrapping_mul(0x9e37_79b1);
    HEADER + ((u64::from(spread) * HOMES as u64) >> 32) as usize
}

impl Layout for Words {
    fn layout(&self) -> usize {
        0
    }

    fn seal(&self, segment: Segment<'_>) {
        for slot in &segment.words[HEADER..] {
            if slot.load(Ordering::Relaxed) == 0 {
                // Should it not be free any more, it has its final value.
                let _ = slot.compare_exchange(0, SEALED, Ordering::AcqRel, Ordering::Acquire);
            }
        }
    }

    fn divide(
        &self,
        sealed: Segment<'_>,
        halves: [Segment<'_>; 2],
        choose: impl Fn(u32) -> usize,
        mut left_over: impl FnMut(usize, u32, u64),
    ) {
        for slot in &sealed.words[HEADER..] {
            let entry = slot.load(Ordering::Acquire);
            if entry == SEALED {
                continue;
            }
            let tag = (entry >> 32) as u32;
            let (half, home) = (choose(tag), home(tag));
            // No other thread knows the halves yet.
            let mut slots = (0..=FURTHEST).map(|at| &halves[half].words[behind(home, at)]);
            match slots.find(|slot| slot.load(Ordering::Relaxed) == 0) {
                Some(slot) => slot.store(entry, Ordering::Relaxed),
                None => left_over(half, tag, entry),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::growth::in_parts;
    use super::*;
    use std::collections::HashSet;

    /// As the stores do it. Says whether the entry is new.
    fn insert(index: &Index, thread: usize, entry: u64, contention: &mut Contention) -> bool {
        loop {
            let crowded = {
                let directory = index.read(thread);
                let slots = directory.slots(entry);
                let mut distance = 0;
                loop {
                    if distance > FURTHEST {
                        break slots.crowded(entry);
                    }
                    let slot = slots.slot(distance);
                    let found = match slot.load(Ordering::Acquire) {
                        0 => slot.compare_exchange(0, entry, Ordering::AcqRel, Ordering::Acquire),
                        other => Err(other),
                    };
                    match found {
                        Ok(_) => return true,
                        Err(SEALED) => break slots.crowded(entry),
                        Err(other) if other == entry => return false,
                        Err(_) => distance += 1,
                    }
                }
            };
            match index.make_room(thread, crowded, |_| true, contention).expect("there is room") {
                Room::Elsewhere => {}
                Room::Attic(mut attic) => {
                    let list = attic.entry((entry >> 32) as u32).or_default();
                    let is_new = !list.contains(&entry);
                    if is_new {
                        list.push(entry);
                    }
                    return is_new;
                }
            }
        }
    }

    /// Threads insert overlapping sets: each entry is new to one thread.
    fn all_are_new_once(entries: &[u64], threads: usize) -> Index {
        let index = Index::new(threads);
        let new: Vec<Vec<u64>> = in_parts(threads, |thread| {
            let mut contention = Contention::default();
            let start = entries.len() * thread / (2 * threads);
            let mine = entries[start..].iter().chain(&entries[..start]);
            mine.copied().filter(|entry| insert(&index, thread, *entry, &mut contention)).collect()
        });
        let all: Vec<u64> = new.into_iter().flatten().collect();
        let truth: HashSet<u64> = entries.iter().copied().collect();
        assert_eq!(all.len(), truth.len());
        assert_eq!(all.into_iter().collect::<HashSet<_>>(), truth);
        for entry in entries {
            assert!(!insert(&index, 0, *entry, &mut Contention::default()));
        }
        index
    }

    fn scattered(count: u64) -> Vec<u64> {
        (1..=count).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ n << 40).collect()
    }

    /// Each of the slots for an entry is tried once, all of a line before the next one.
    #[test]
    fn a_line_is_searched_before_the_next() {
        for home in (HEADER..HEADER + HOMES).chain([home(0), home(u32::MAX)]) {
            let slots: Vec<usize> = (0..=FURTHEST).map(|distance| behind(home, distance)).collect();
            assert_eq!(slots[0], home);
            for (further, line) in slots.chunks(LINE).enumerate() {
                let expected = (home / LINE + further) * LINE;
                let mut line = line.to_vec();
                line.sort_unstable();
                assert_eq!(line, (expected..expected + LINE).collect::<Vec<_>>());
            }
            assert!(slots.iter().all(|slot| *slot < WORDS));
        }
    }

    #[test]
    fn every_entry_is_new_once_while_segments_are_split() {
        let entries = scattered(300_000);
        for threads in [1, 4] {
            let index = all_are_new_once(&entries, threads);
            let per_entry = index.bytes() as f64 / entries.len() as f64;
            assert!((10.0..24.0).contains(&per_entry), "{per_entry} bytes per entry");
            let (most, all) = &index.table.moves;
            let (most, all) = (most.load(Ordering::Relaxed), all.load(Ordering::Relaxed));
            assert!(most <= WORDS, "{most} entries moved by one insertion");
            assert!(all > entries.len() && all < 3 * entries.len(), "{all} moved");
        }
    }

    /// Tags that no bits tell apart, between others: their segment is closed, not split for ever.
    #[test]
    fn crowds_of_equal_tags_go_to_the_attic() {
        let mut entries = scattered(40_000);
        entries.extend((1..5_000).map(|n| 0xffff_ffff_0000_0000 | n));
        entries.extend((1..300).map(|n| 0x1234_5678_0000_0000 | n));
        for threads in [1, 3] {
            let index = all_are_new_once(&entries, threads);
            let attic: usize = index.table.attic_len();
            assert!((4_000..30_000).contains(&attic), "{attic}");
            assert!(index.bytes() < 4 << 20, "{}", index.bytes());
        }
    }
}
