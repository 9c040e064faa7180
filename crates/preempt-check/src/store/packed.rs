//! A list of pairs of numbers that takes no more bits than the numbers need.
//!
//! Numbers of parts of states are small: two of them take 64 bits only in searches that no memory
//! would hold. Each side of the pairs has a width, which grows when a number does not fit; then all
//! pairs are moved in place, from the last to the first. Numbers are handed out in increasing order,
//! so that happens about once per doubling.
//!
//! Invariant: pair `n` lies in the bits from `n * (left + right)` on, and one word lies behind the
//! last.

use super::pages;

/// A list of pairs of 32-bit numbers, as `left << 32 | right`.
#[derive(Default, Debug)]
pub(crate) struct Packed {
    words: Vec<u64>,
    count: usize,
    /// Bits of the left and the right numbers.
    left: u32,
    right: u32,
}

impl Packed {
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Memory in use, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        // Capacity beyond the length is address space that was never touched.
        self.words.len() * 8
    }

    /// The pair with this number.
    #[inline(always)]
    pub(crate) fn get(&self, number: usize) -> u64 {
        let value = self.bits(number, self.left + self.right);
        value >> self.right << 32 | value & mask(self.right)
    }

    /// Asks the processor to fetch the pair with this number.
    #[inline(always)]
    pub(crate) fn prefetch(&self, number: usize) {
        pages::prefetch(&self.words, number * (self.left + self.right) as usize / 64);
    }

    /// Appends a pair.
    #[inline(always)]
    pub(crate) fn push(&mut self, pair: u64) {
        let (left, right) = (pair >> 32, pair & mask(32));
        if left > mask(self.left) || right > mask(self.right) {
            self.widen(self.left.max(bits_of(left)), self.right.max(bits_of(right)));
        }
        let width = self.left + self.right;
        self.make_room(self.count + 1, width);
        self.set_bits(self.count, width, left << self.right | right);
        self.count += 1;
    }

    #[cold]
    fn widen(&mut self, left: u32, right: u32) {
        self.make_room(self.count, left + right);
        for number in (0..self.count).rev() {
            let pair = self.get(number);
            self.set_bits(number, left + right, pair >> 32 << right | pair & mask(32));
        }
        (self.left, self.right) = (left, right);
    }

    /// Has words for so many pairs of this width.
    #[inline(always)]
    fn make_room(&mut self, count: usize, width: u32) {
        let words = count * width as usize / 64 + 2;
        if words > self.words.len() {
            let more = words - self.words.len();
            pages::make_room(&mut self.words, more);
            self.words.resize(words, 0);
        }
    }

    #[inline(always)]
    fn bits(&self, number: usize, width: u32) -> u64 {
        let at = number * width as usize;
        let (word, shift) = (at / 64, at as u32 % 64);
        (self.words[word] >> shift | self.words[word + 1] << 1 << (63 - shift)) & mask(width)
    }

    #[inline(always)]
    fn set_bits(&mut self, number: usize, width: u32, value: u64) {
        let at = number * width as usize;
        let (word, shift) = (at / 64, at as u32 % 64);
        let low = &mut self.words[word];
        *low = *low & !(mask(width) << shift) | value << shift;
        let high = &mut self.words[word + 1];
        *high = *high & !(mask(width) >> 1 >> (63 - shift)) | value >> 1 >> (63 - shift);
    }
}

/// So many ones, up to 64.
#[inline(always)]
fn mask(bits: u32) -> u64 {
    u64::MAX.checked_shr(64 - bits).unwrap_or(0)
}

/// How many bits a number has.
pub(super) fn bits_of(number: u64) -> u32 {
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

    #[test]
    fn zeroes_take_no_room() {
        let mut packed = Packed::default();
        (0..1000).for_each(|_| packed.push(0));
        assert_eq!((packed.get(999), packed.bytes()), (0, 16));
    }
}
