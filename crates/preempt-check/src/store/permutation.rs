//! A permutation of the numbers below a power of two, and its inverse.
//!
//! Keys of a tree are regular: small numbers beside small numbers. A table that keeps only part of a key, because the rest
//! follows from where it lies ([`Quotients`](super::quotients)), needs keys that are spread evenly, and must be able to undo
//! what spread them. So a Feistel network: the bits are divided into two halves, and what one half hashes to is added to the
//! other without carry, three times in turns. The same in reverse order undoes it, whatever the hash function is.
//!
//! Invariant: `undo(apply(x)) == x` for every `x` below `2^bits`.

/// A permutation of the numbers of so many bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Permutation {
    /// The bits of the halves.
    upper: u32,
    lower: u32,
    /// What makes the hash functions of the rounds different.
    keys: [u64; 3],
}

const KEYS: [u64; 3] = [0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93, 0xa076_1d64_78bd_642f];

impl Permutation {
    /// Of the numbers below `2^bits`; at most 64 bits. There is another one for each seed.
    pub(super) fn new(bits: u32, seed: u64) -> Self {
        let keys = KEYS.map(|key| hash(seed, key));
        Permutation { upper: bits.div_ceil(2), lower: bits / 2, keys }
    }

    #[inline(always)]
    pub(super) fn apply(&self, number: u64) -> u64 {
        let (mut upper, mut lower) = self.halves(number);
        let [first, second, third] = self.keys;
        upper ^= top(hash(lower, first), self.upper);
        lower ^= top(hash(upper, second), self.lower);
        upper ^= top(hash(lower, third), self.upper);
        upper << self.lower | lower
    }

    #[inline(always)]
    pub(super) fn undo(&self, mixed: u64) -> u64 {
        let (mut upper, mut lower) = self.halves(mixed);
        let [first, second, third] = self.keys;
        upper ^= top(hash(lower, third), self.upper);
        lower ^= top(hash(upper, second), self.lower);
        upper ^= top(hash(lower, first), self.upper);
        upper << self.lower | lower
    }

    #[inline(always)]
    fn halves(&self, number: u64) -> (u64, u64) {
        (number >> self.lower, number & ((1 << self.lower) - 1))
    }
}

/// The uppermost bits are the best ones.
#[inline(always)]
fn hash(number: u64, key: u64) -> u64 {
    let product = (number ^ key).wrapping_mul(0x9fb2_1c65_1e98_df25);
    (product ^ product >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// The uppermost bits of a number, at most 63.
#[inline(always)]
fn top(number: u64, bits: u32) -> u64 {
    number >> 1 >> (63 - bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_permutations_are_permutations() {
        for (bits, seed) in (0..=14).zip([0, 1, 2].into_iter().cycle()) {
            let permutation = Permutation::new(bits, seed);
            let mut met = vec![false; 1 << bits];
            for number in 0..1u64 << bits {
                let mixed = permutation.apply(number);
                let known = std::mem::replace(&mut met[mixed as usize], true);
                assert!(!known, "{bits} bits, {number}");
                assert_eq!(permutation.undo(mixed), number);
            }
        }
    }

    /// Grids, as of pairs of small numbers, fill intervals as evenly as random numbers do: with 64 on average a standard
    /// deviation is 8.
    #[test]
    fn large_ones_can_be_undone_and_spread_regular_numbers() {
        for bits in 17..=64 {
            let permutation = Permutation::new(bits, u64::from(bits % 3));
            for width in [1, 7, 100, 128] {
                let mut buckets = [0u32; 256];
                for number in 0..64 * 256u64 {
                    let number = ((number / width) << (bits / 2)) | (number % width);
                    let number = number & (u64::MAX >> (64 - bits));
                    let mixed = permutation.apply(number);
                    assert_eq!(permutation.undo(mixed), number, "{bits} bits");
                    buckets[((u128::from(mixed) * 256) >> bits) as usize] += 1;
                }
                // In 17 bits, grids that are wrapped around meet the same numbers again.
                if bits > 28 {
                    let square = |count: &u32| (f64::from(*count) - 64.0).powi(2);
                    let variance = buckets.iter().map(square).sum::<f64>() / 256.0;
                    assert!(variance < 96.0, "{bits} bits, {width}: {variance}");
                }
            }
        }
    }
}
