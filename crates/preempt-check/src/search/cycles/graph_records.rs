//! What is known of each state of the system, by number, for several threads.
//!
//! States get numbers as they are stored: every thread takes some ahead, and says with each state that it inserts which
//! number it would have, so that a thread that finds the state finds its number. Numbers that were not needed are used for the next
//! states. So records are dense: half a cache line each, which the search reads far more often than the states.
//!
//! | word | what | written by |
//! |---|---|---|
//! | 0 | letter, whether a thread expands the state, where its successors are | any thread |
//! | 1, 2 | up to four product states, of 32 bits | the search |
//! | 3 | where the state is stored; where further product states are | the thread that has inserted it; the search |
//!
//! Invariant: a thread that has inserted a state says where it is, then its letter, at once and whatever happens; the search does not touch
//! the record before it sees the letter.

use crate::platform::LINK_BLOCK;
use crate::platform::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::store::concurrent::Place;
use crate::store::concurrent::segments::{SEGMENT_BITS, Segments};
use crate::store::{Pending, StoreFull};

/// Words of a record, as a power of two.
const RECORD_BITS: u32 = 2;
/// Records of a segment, as a power of two.
const BITS: u32 = SEGMENT_BITS - RECORD_BITS;
/// Numbers of states, as a power of two.
const NUMBER_BITS: u32 = 30;
/// Numbers that a thread takes at once.
const BLOCK: usize = LINK_BLOCK;

/// The records of all states.
pub(super) struct GraphRecords {
    words: Segments,
    taken: AtomicUsize,
}

/// The four words of a record.
pub(super) type Record = [AtomicU64];

impl GraphRecords {
    pub(super) fn new() -> Self {
        GraphRecords {
            words: Segments::new(1 << (NUMBER_BITS + RECORD_BITS)),
            taken: AtomicUsize::new(0),
        }
    }

    /// Memory in use, in bytes.
    pub(super) fn bytes(&self) -> usize {
        (self.taken.load(Ordering::Relaxed) * size_of::<u64>()) << RECORD_BITS
    }

    /// What is known of a state.
    #[inline(always)]
    pub(super) fn get(&self, number: u32) -> &Record {
        let at = (number as usize & ((1 << BITS) - 1)) << RECORD_BITS;
        &self.words.segment((number >> BITS) as usize)[at..at + (1 << RECORD_BITS)]
    }

    /// Asks the processor to fetch a record.
    #[inline(always)]
    pub(super) fn prefetch(&self, number: u32) {
        self.words.prefetch((number as usize) << RECORD_BITS);
    }

    /// Where a state is stored.
    #[inline(always)]
    pub(super) fn place(&self, number: u32) -> Place {
        self.get(number)[3].load(Ordering::Relaxed) as Place
    }

    /// Takes a block of numbers.
    fn take(&self) -> Result<std::ops::Range<u32>, StoreFull> {
        let first = self.taken.fetch_add(BLOCK, Ordering::Relaxed);
        let end = first + BLOCK;
        if end > 1 << NUMBER_BITS {
            return Err(StoreFull);
        }
        for segment in first >> BITS..=(end - 1) >> BITS {
            self.words.take(segment).ok_or(StoreFull)?;
        }
        Ok(first as u32..end as u32)
    }
}

/// The numbers that a thread has taken and not used, the next one last.
#[derive(Default)]
pub(super) struct FreeNumbers(Vec<u32>);

impl FreeNumbers {
    /// A number for each of so many states that may be new.
    pub(super) fn propose(
        &mut self,
        records: &GraphRecords,
        count: usize,
        out: &mut Vec<u32>,
    ) -> Result<(), StoreFull> {
        while self.0.len() < count {
            let more: Vec<u32> = records.take()?.rev().collect();
            self.0.splice(0..0, more);
        }
        out.clear();
        out.extend(self.0.iter().rev().take(count));
        Ok(())
    }

    /// Gives back the proposed numbers of states that were not new.
    pub(super) fn settle(&mut self, proposed: &[u32], arrivals: &[Pending]) {
        self.0.truncate(self.0.len() - proposed.len());
        let unused = proposed.iter().zip(arrivals).rev().filter(|(_, a)| !a.inserted.new);
        self.0.extend(unused.map(|(number, _)| number));
    }
}
