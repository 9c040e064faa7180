//! An array of atomic words that grows without moving, for several threads.
//!
//! Memory comes in segments, each taken from the system by the thread that needs it first; a word never changes its address. What is
//! never written to takes no memory.

use crate::platform::sync::OnceLock;
use crate::platform::sync::atomic::{AtomicU64, Ordering};
use crate::platform::{MOST_SEGMENTS, Words, words};
use crate::store::memory::pages;

pub(crate) use crate::platform::SEGMENT_BITS;

pub(crate) const SEGMENT: usize = 1 << SEGMENT_BITS;

/// Words, all zero at first.
#[derive(Debug)]
pub(crate) struct Segments {
    list: Vec<OnceLock<Words>>,
}

impl Segments {
    /// At most so many words.
    pub(crate) fn new(words: usize) -> Self {
        let count = words.div_ceil(SEGMENT).min(MOST_SEGMENTS);
        Segments { list: (0..count).map(|_| OnceLock::new()).collect() }
    }

    /// A segment, empty where nothing was ever taken from it.
    #[inline(always)]
    pub(crate) fn segment(&self, number: usize) -> &[AtomicU64] {
        self.list.get(number).and_then(OnceLock::get).map_or(&[], |words| &words[..])
    }

    /// A segment that will be written to; `None` beyond the last.
    pub(crate) fn take(&self, number: usize) -> Option<&[AtomicU64]> {
        Some(self.list.get(number)?.get_or_init(|| words(atomic_words(SEGMENT))))
    }

    /// A word of a segment that was taken.
    #[inline(always)]
    pub(crate) fn word(&self, at: usize) -> &AtomicU64 {
        &self.segment(at >> SEGMENT_BITS)[at & (SEGMENT - 1)]
    }

    /// What a word holds, zero where it was never taken.
    #[inline(always)]
    pub(crate) fn load(&self, at: usize) -> u64 {
        let word = self.segment(at >> SEGMENT_BITS).get(at & (SEGMENT - 1));
        word.map_or(0, |word| word.load(Ordering::Relaxed))
    }

    /// A word that will be written to; `None` beyond the last.
    #[inline(always)]
    pub(crate) fn take_word(&self, at: usize) -> Option<&AtomicU64> {
        self.take(at >> SEGMENT_BITS)?.get(at & (SEGMENT - 1))
    }

    /// Asks the processor to fetch a word, if it is there.
    #[inline(always)]
    pub(crate) fn prefetch(&self, at: usize) {
        pages::fetch(self.segment(at >> SEGMENT_BITS).as_ptr().wrapping_add(at & (SEGMENT - 1)));
    }
}

/// Zeroes.
pub(crate) fn atomic_words(count: usize) -> Vec<AtomicU64> {
    let alike = size_of::<AtomicU64>() == 8 && align_of::<AtomicU64>() == align_of::<u64>();
    if !alike {
        return (0..count).map(|_| AtomicU64::new(0)).collect();
    }
    let mut words = std::mem::ManuallyDrop::new(pages::zeroed::<u64>(count));
    // SAFETY: both types have the same size and, as was just seen, the same alignment, and any number
    // is a value of either.
    unsafe { Vec::from_raw_parts(words.as_mut_ptr().cast(), words.len(), words.capacity()) }
}
