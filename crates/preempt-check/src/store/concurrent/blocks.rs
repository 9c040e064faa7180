//! Pairs of numbers that threads write in blocks, in no more bits than the numbers need.
//!
//! As [`Packed`](crate::store::tree::packed::Packed), for several threads: each block of pairs belongs to one thread, and has a width
//! for each side, which it keeps, as others may be reading. A thread that has to write a wider pair begins another block and
//! leaves the rest of this one empty; numbers become wider about once per doubling, so that this is seldom.
//!
//! Invariant: only its owner writes to a block; the bits of a pair do not change once it is published.

use super::super::StoreFull;
use super::segments::{SEGMENT, SEGMENT_BITS, Segments};
use crate::platform::NUMBER_BLOCK as BLOCK;
use crate::platform::sync::atomic::{AtomicUsize, Ordering};
use crate::store::tree::packed::{bits_of, mask};

/// The pairs.
#[derive(Debug)]
pub(super) struct Blocks {
    words: Segments,
    /// Words handed out to blocks.
    used: AtomicUsize,
    /// Per block: its first word, and the bits of its left and of its right numbers.
    blocks: Segments,
}

/// How wide the pairs of a block are.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Widths {
    left: u32,
    right: u32,
}

impl Widths {
    /// Wide enough for another pair, too.
    pub(super) fn with(self, pair: u64) -> Self {
        let (left, right) = (bits_of(pair >> 32), bits_of(pair & mask(32)));
        Widths { left: self.left.max(left), right: self.right.max(right) }
    }

    #[inline(always)]
    pub(super) fn fits(self, pair: u64) -> bool {
        pair >> 32 <= mask(self.left) && pair & mask(32) <= mask(self.right)
    }
}

impl Blocks {
    /// At most so many pairs.
    pub(super) fn new(pairs: usize) -> Self {
        Blocks {
            words: Segments::new(pairs + pairs / BLOCK),
            used: AtomicUsize::new(0),
            blocks: Segments::new(pairs / BLOCK + 1),
        }
    }

    /// Memory in use, in bytes, but for what is known of the blocks: a word each.
    #[inline(always)]
    pub(super) fn bytes(&self) -> usize {
        self.used.load(Ordering::Relaxed) * 8
    }

    /// Begins a block for pairs of these widths.
    pub(super) fn begin(&self, block: usize, widths: Widths) -> Result<(), StoreFull> {
        // One word more, so that a pair can always be read from two.
        let needed = (BLOCK * (widths.left + widths.right) as usize).div_ceil(64) + 1;
        let start = loop {
            let start = self.used.fetch_add(needed, Ordering::Relaxed);
            if start >> SEGMENT_BITS == (start + needed - 1) >> SEGMENT_BITS {
                break start;
            }
        };
        self.words.take(start >> SEGMENT_BITS).ok_or(StoreFull)?;
        let about = self.blocks.take_word(block).ok_or(StoreFull)?;
        let widths = u64::from(widths.left) << 8 | u64::from(widths.right);
        about.store((start as u64) << 16 | widths, Ordering::Relaxed);
        Ok(())
    }

    /// The first of the two words of a pair, its first bit there, its bits and those of its right number.
    #[inline(always)]
    fn place(&self, number: u32) -> (usize, u32, u32, u32) {
        let block = number as usize / BLOCK;
        // A thread that only fetches a pair ahead may see its number before what is known of its block.
        let about = self.blocks.load(block);
        let (left, right) = ((about >> 8) as u32 & 0xff, about as u32 & 0xff);
        let bit = number as usize % BLOCK * (left + right) as usize;
        ((about >> 16) as usize + bit / 64, bit as u32 % 64, left + right, right)
    }

    /// The pair with this number, of which it is known that it was written.
    #[inline(always)]
    pub(super) fn get(&self, number: u32) -> u64 {
        let (word, shift, width, right) = self.place(number);
        let words = self.words.segment(word >> SEGMENT_BITS);
        let word = word & (SEGMENT - 1);
        let load = |at: usize| words[at].load(Ordering::Relaxed);
        let value = (load(word) >> shift | load(word + 1) << 1 << (63 - shift)) & mask(width);
        value >> right << 32 | value & mask(right)
    }

    /// Writes a pair that fits into the block of this number, which belongs to the calling thread.
    #[inline(always)]
    pub(super) fn set(&self, number: u32, pair: u64) {
        let (word, shift, width, right) = self.place(number);
        let words = self.words.segment(word >> SEGMENT_BITS);
        let (low, high) = (&words[word & (SEGMENT - 1)], &words[(word & (SEGMENT - 1)) + 1]);
        let (value, mask) = (pair >> 32 << right | pair & mask(32), mask(width));
        let others = low.load(Ordering::Relaxed) & !(mask << shift);
        low.store(others | value << shift, Ordering::Relaxed);
        let others = high.load(Ordering::Relaxed) & !(mask >> 1 >> (63 - shift));
        high.store(others | value >> 1 >> (63 - shift), Ordering::Relaxed);
    }

    /// Asks the processor to fetch a pair.
    #[inline(always)]
    pub(super) fn prefetch(&self, number: u32) {
        self.words.prefetch(self.place(number).0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_all_widths() {
        let blocks = Blocks::new(1 << 20);
        let pair = |n: u64| match n % 5 {
            0 => 0,
            1 => n << 32,
            2 => n * n,
            3 if n > 5000 => u64::MAX,
            _ => n << 36 | n,
        };
        let mut widths = Widths::default();
        let (mut block, mut places) = (usize::MAX, Vec::new());
        let mut next = 0;
        for n in 0..10_000 {
            if block == usize::MAX || next % BLOCK == 0 || !widths.fits(pair(n)) {
                block = block.wrapping_add(1);
                widths = widths.with(pair(n));
                blocks.begin(block, widths).expect("there is room");
                next = block * BLOCK;
            }
            // Written over, as a number is that was not published.
            if widths.fits(u64::MAX) {
                blocks.set(next as u32, u64::MAX);
            }
            blocks.set(next as u32, pair(n));
            places.push(next as u32);
            next += 1;
        }
        for (n, place) in places.into_iter().enumerate() {
            assert_eq!(blocks.get(place), pair(n as u64), "pair {n}");
        }
        assert!(blocks.bytes() < 10_000 * 9, "{}", blocks.bytes());
    }
}
