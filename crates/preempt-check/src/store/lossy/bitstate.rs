//! Bitstate hashing: a few bits of one large field stand for a state.
//!
//! A state whose bits are all set already is taken for known. Nothing ever grows: the field has a
//! fixed size, and the more states, the more are missed. All bits of a state lie in one cache
//! line, so a visit costs one memory access however many bits it sets. Paper: [HF] section 3.2
//! uses such a store; Holzmann's supertrace is the origin.
//!
//! The expected number of misses is summed up while the field fills: a new state falls into a line
//! chosen at random, so (set bits / 512)^k of that line is the chance that a state arriving now
//! would have been missed.

use crate::store::hash::{SEED, hash_with_seed};
use crate::store::memory::lines::Lines;
use crate::store::{Inserted, StateId, Store, StoreFull};

/// A lossy store of fixed size.
#[derive(Debug)]
pub struct Bitstate {
    lines: Lines<u64, 8>,
    hashes: u32,
    seed: u64,
    count: usize,
    expected_misses: f64,
}

/// The fill of a line is looked at for one in so many new states.
const SAMPLE: usize = 8;

impl Bitstate {
    /// A field of 2^`bits` bits (at least 512), of which each state sets `hashes` (1 to 16).
    pub fn new(bits: u32, hashes: u32) -> Self {
        Bitstate {
            lines: Lines::zeroed(1 << (bits.clamp(9, 48) - 9)),
            hashes: hashes.clamp(1, 16),
            seed: SEED,
            count: 0,
            expected_misses: 0.0,
        }
    }

    /// The same with hash functions of its own: so that several such stores miss different states.
    pub(crate) fn with_seed(bits: u32, hashes: u32, seed: u64) -> Self {
        Bitstate { seed: seed | 1 << 63, ..Bitstate::new(bits, hashes) }
    }

    /// The largest field, as log2 of its bits, that fits into `bytes` of memory.
    pub fn bits_for(bytes: usize) -> u32 {
        bytes.max(64).ilog2() + 3
    }

    /// How many states are expected to have been missed, not counting those that only they lead
    /// to.
    pub fn expected_misses(&self) -> f64 {
        self.expected_misses
    }

    /// The part of the states met that is expected to have been stored.
    pub fn expected_coverage(&self) -> f64 {
        let stored = self.count as f64;
        stored / (stored + self.expected_misses).max(1.0)
    }

    #[inline(always)]
    fn line(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.lines.len() as u128) >> 64) as usize
    }
}

/// Calls `visit` with the word and the bit in it of every bit that a state sets in its line.
#[inline(always)]
pub(in crate::store) fn bits_of(hash: u64, hashes: u32, mut visit: impl FnMut(usize, u64)) {
    // The line was chosen by the high bits of the hash: mix before using the rest.
    let mut bits = (hash ^ hash >> 32).wrapping_mul(0x9fb2_1c65_1e98_df25);
    bits ^= bits >> 28;
    for number in 0..hashes {
        if number % 7 == 6 {
            bits = (bits ^ hash).wrapping_mul(0xd6e8_feb8_6659_fd93);
            bits ^= bits >> 32;
        }
        visit((bits >> 6 & 7) as usize, 1 << (bits & 63));
        bits >>= 9;
    }
}

impl Store for Bitstate {
    #[inline]
    fn hash(&self, state: &[u8]) -> u64 {
        hash_with_seed(state, self.seed)
    }

    #[inline]
    fn insert_hashed(&mut self, hash: u64, _state: &[u8]) -> Result<Inserted, StoreFull> {
        let at = self.line(hash);
        let line = self.lines.line_mut(at);
        let mut added = 0;
        bits_of(hash, self.hashes, |word, bit| {
            added += u32::from(line[word] & bit == 0);
            line[word] |= bit;
        });
        if added == 0 {
            return Ok(Inserted { id: StateId::UNKNOWN, new: false });
        }
        if self.count.is_multiple_of(SAMPLE) {
            let set: u32 = line.iter().map(|word| word.count_ones()).sum();
            let miss = (f64::from(set - added) / 512.0).powi(self.hashes as i32);
            self.expected_misses += miss * SAMPLE as f64;
        }
        let number = u32::try_from(self.count).unwrap_or(u32::MAX);
        self.count += 1;
        Ok(Inserted { id: StateId(number), new: true })
    }

    #[inline]
    fn lookup_hashed(&self, hash: u64, _state: &[u8]) -> Option<StateId> {
        let line = self.lines.line(self.line(hash));
        let mut known = true;
        bits_of(hash, self.hashes, |word, bit| known &= line[word] & bit != 0);
        known.then_some(StateId::UNKNOWN)
    }

    #[inline]
    fn prefetch(&self, hash: u64) {
        self.lines.prefetch(self.line(hash));
    }

    #[inline]
    fn looks_at_bytes(&self) -> bool {
        false
    }

    #[inline]
    fn accept_hash(&self, hash: u64) -> Option<u64> {
        Some(hash)
    }

    fn load(&self, _id: StateId, _out: &mut Vec<u8>) -> bool {
        false
    }

    fn len(&self) -> usize {
        self.count
    }

    fn bytes(&self) -> usize {
        self.lines.len() * 64
    }

    fn set_limit(&mut self, _bytes: usize) {}

    fn is_exact(&self) -> bool {
        false
    }
}
