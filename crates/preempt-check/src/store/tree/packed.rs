//! A list of pairs of numbers that takes no more bits than the numbers need.
//!
//! Numbers of parts of states are small: two of them take 64 bits only in searches that no memory would hold. Pairs come in
//! *chunks*, and each side of the pairs of a chunk has a width. When a number does not fit into the last chunk, the pairs of this
//! one are moved in place, from the last to the first; chunks before it stay as they are. So nothing ever waits for the whole
//! list, and early chunks, with small numbers, stay narrow.
//!
//! Invariant: pair `n` of a chunk lies in the bits from `n * (left + right)` on behind the chunk's start, and one word lies behind
//! the last.

use crate::store::memory::pages;
use crate::store::tree::pairs::{self, Keys, Numbered};

/// Pairs of a chunk; a multiple of 64, so that chunks begin with a word.
const CHUNK: usize = 1 << 12;

/// A set of pairs.
pub(crate) type Pairs = Numbered<Packed>;

/// A list of pairs of 32-bit numbers, as `left << 32 | right`.
#[derive(Default, Debug)]
pub(crate) struct Packed {
    words: Vec<u64>,
    count: usize,
    chunks: Vec<Chunk>,
    /// The one that pairs are appended to.
    last: Chunk,
    /// How many pairs were moved at most for another.
    #[cfg(test)]
    most_moves: usize,
}

/// Where a chunk is, and the bits of its left and right numbers.
#[derive(Clone, Copy, Default, Debug)]
struct Chunk(u64);

impl Chunk {
    fn new(start: usize, left: u32, right: u32) -> Self {
        Chunk((start as u64) << 16 | u64::from(left) << 8 | u64::from(right))
    }

    /// The word that it begins with.
    #[inline(always)]
    fn start(self) -> usize {
        (self.0 >> 16) as usize
    }

    #[inline(always)]
    fn left(self) -> u32 {
        (self.0 >> 8) as u32 & 0xff
    }

    #[inline(always)]
    fn right(self) -> u32 {
        self.0 as u32 & 0xff
    }

    #[inline(always)]
    fn width(self) -> u32 {
        self.left() + self.right()
    }

    /// The word in which a pair begins, and its first bit there.
    #[inline(always)]
    fn place(self, number: usize) -> (usize, u32) {
        let at = number % CHUNK * self.width() as usize;
        (self.start() + at / 64, at as u32 % 64)
    }
}

impl Packed {
    /// So many pairs of zeroes.
    pub(crate) fn zeroes(count: usize) -> Self {
        let chunks = vec![Chunk::default(); count.div_ceil(CHUNK)];
        Packed { words: vec![0; 2], count, chunks, ..Packed::default() }
    }

    #[cold]
    fn begin_chunk(&mut self) {
        // The word behind the chunk before is the first of this one.
        self.last = Chunk::new(self.words.len().saturating_sub(2), 0, 0);
        pages::push(&mut self.chunks, self.last);
    }

    /// Makes the last chunk wide enough for numbers of so many bits.
    #[cold]
    fn widen(&mut self, left: u32, right: u32) {
        let old = self.last;
        let wider = Chunk::new(old.start(), old.left().max(left), old.right().max(right));
        let first = self.count / CHUNK * CHUNK;
        self.last = wider;
        self.make_room(self.count - first);
        for number in (first..self.count).rev() {
            let pair = self.read(old, number);
            self.write(wider, number, pair >> 32 << wider.right() | pair & mask(32));
        }
        if let Some(chunk) = self.chunks.last_mut() {
            *chunk = wider;
        }
        #[cfg(test)]
        {
            self.most_moves = self.most_moves.max(self.count - first);
        }
    }

    /// Has words for so many pairs of the last chunk.
    #[inline(always)]
    fn make_room(&mut self, pairs: usize) {
        let words = self.last.start() + pairs * self.last.width() as usize / 64 + 2;
        if words > self.words.len() {
            let more = words - self.words.len();
            pages::make_room(&mut self.words, more);
            self.words.resize(words, 0);
        }
    }

    #[inline(always)]
    fn read(&self, chunk: Chunk, number: usize) -> u64 {
        let (word, shift) = chunk.place(number);
        let both = self.words[word] >> shift | self.words[word + 1] << 1 << (63 - shift);
        let (right, value) = (chunk.right(), both & mask(chunk.width()));
        value >> right << 32 | value & mask(right)
    }

    #[inline(always)]
    fn write(&mut self, chunk: Chunk, number: usize, value: u64) {
        let ((word, shift), mask) = (chunk.place(number), mask(chunk.width()));
        let low = &mut self.words[word];
        *low = *low & !(mask << shift) | value << shift;
        let high = &mut self.words[word + 1];
        *high = *high & !(mask >> 1 >> (63 - shift)) | value >> 1 >> (63 - shift);
    }
}

impl Keys for Packed {
    type Key = u64;

    fn len(&self) -> usize {
        self.count
    }

    #[inline(always)]
    fn bytes(&self) -> usize {
        // Capacity beyond the length is address space that was never touched.
        (self.words.len() + self.chunks.len()) * 8
    }

    #[inline(always)]
    fn get(&self, number: usize) -> u64 {
        self.read(self.chunks[number / CHUNK], number)
    }

    #[inline(always)]
    fn prefetch(&self, number: usize) {
        if let Some(chunk) = self.chunks.get(number / CHUNK) {
            pages::prefetch(&self.words, chunk.place(number).0);
        }
    }

    #[inline(always)]
    fn push(&mut self, pair: u64) {
        if self.count.is_multiple_of(CHUNK) {
            self.begin_chunk();
        }
        let (left, right) = (pair >> 32, pair & mask(32));
        if left > mask(self.last.left()) || right > mask(self.last.right()) {
            self.widen(bits_of(left), bits_of(right));
        }
        let chunk = self.last;
        self.make_room(self.count % CHUNK + 1);
        self.write(chunk, self.count, left << chunk.right() | right);
        self.count += 1;
    }

    #[inline(always)]
    fn hash(key: u64) -> u64 {
        pairs::hash(key)
    }
}

/// So many ones, up to 64.
#[inline(always)]
pub(in crate::store) fn mask(bits: u32) -> u64 {
    u64::MAX.checked_shr(64 - bits).unwrap_or(0)
}

/// How many bits a number has.
#[inline(always)]
pub(in crate::store) fn bits_of(number: u64) -> u32 {
    u64::BITS - number.leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_grow_and_nothing_is_lost() {
        let mut packed = Packed::default();
        let pair = |n: u64| match n {
            0 => 0,
            1..40 => (n % 3) << 32,
            40..3000 => (n << 32) | (n * 7 % 1000),
            3000 => u64::from(u32::MAX) << 32 | 5,
            3001 => u64::MAX,
            _ => n * 0x1234_5678_9abc,
        };
        for n in 0..5000 {
            packed.push(pair(n));
            if n.is_power_of_two() || n == 3000 || n == 4999 {
                assert!((0..=n).all(|n| packed.get(n as usize) == pair(n)), "after {n}");
            }
        }
        assert_eq!(packed.len(), 5000);
    }

    /// Numbers that become wider all the time, and in between all zero: each chunk has the width it needs, and adding a
    /// number moves the numbers of at most one chunk.
    #[test]
    fn only_one_chunk_is_ever_moved() {
        let mut packed = Packed::default();
        let pair = |n: u64| match n / CHUNK as u64 {
            3 => 0,
            5 => u64::MAX,
            _ => n << 36 | n >> 3,
        };
        let all = 20 * CHUNK as u64 + 77;
        for n in 0..all {
            packed.push(pair(n));
        }
        assert!((0..all).all(|n| packed.get(n as usize) == pair(n)));
        assert!(packed.most_moves < CHUNK && packed.most_moves > 0, "{}", packed.most_moves);
        assert_eq!(packed.chunks[3].width(), 0);
        assert_eq!(packed.chunks[5].width(), 64);
        assert!(packed.chunks[1].width() < packed.chunks[19].width());
    }

    #[test]
    fn zeroes_take_no_room() {
        let mut packed = Packed::default();
        (0..1000).for_each(|_| packed.push(0));
        // Two words, and what is known of the only chunk.
        assert_eq!((packed.get(999), packed.bytes()), (0, 24));
        for count in [0, 1, 77, CHUNK, CHUNK + 1, 3 * CHUNK] {
            let mut packed = Packed::zeroes(count);
            assert_eq!(packed.len(), count);
            for n in 0..5000 {
                packed.push(n);
            }
            assert!((0..count).all(|n| packed.get(n) == 0));
            assert!((0..5000).all(|n| packed.get(count + n) == n as u64), "{count}");
        }
    }
}
